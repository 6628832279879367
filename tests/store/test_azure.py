# SPDX-License-Identifier: Apache-2.0
"""Azure Blob Storage, against the emulator Azurite. Optional: the emulator is fetched by scripts/setup-stores --more."""
import base64
import datetime
import hashlib
import hmac
import os
import re
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from lake import Case, SPEC, csv, main
from proxy import DROP_AFTER, DROP_BEFORE, PASS, Proxy
from servers import Azurite
from support import PROGRAM

CONTAINER = "lake"


class Azure(Case):
    @classmethod
    def setUpClass(cls):
        cls.why = Azurite.missing()
        if cls.why:
            return
        cls.place = tempfile.TemporaryDirectory(prefix="recloser-store-")
        cls.server = Azurite(cls.place.name)
        cls.proxy = Proxy(cls.server.port)
        status, body = cls.request("PUT", f"/{CONTAINER}", {"restype": "container"})
        assert status == 201, body
        cls.environment = {"AZURE_STORAGE_CONNECTION_STRING": cls.server.environment["AZURE_STORAGE_CONNECTION_STRING"]
                           .replace(f":{cls.server.port}/", f":{cls.proxy.port}/"), "http_proxy": None}

    @classmethod
    def tearDownClass(cls):
        if not cls.why:
            cls.proxy.stop()
            cls.server.stop()
            cls.place.cleanup()

    @classmethod
    def request(cls, method, path, query=None, body=b""):
        """By a signature of the test's own."""
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT")
        headers = {"x-ms-date": date, "x-ms-version": "2021-08-06"}
        resource = f"/{Azurite.account}/{Azurite.account}{path}" + "".join(f"\n{k}:{v}" for k, v in sorted((query or {}).items()))
        text = "\n".join([method, "", "", str(len(body)) if body else "", "", "", "", "", "", "", "", "",
                          *[f"{k}:{headers[k]}" for k in sorted(headers)], resource])
        signature = base64.b64encode(hmac.new(base64.b64decode(Azurite.key), text.encode(), hashlib.sha256).digest()).decode()
        headers["Authorization"] = f"SharedKey {Azurite.account}:{signature}"
        headers["Content-Length"] = str(len(body))
        url = cls.server.endpoint + path + ("?" + urllib.parse.urlencode(query) if query else "")
        request = urllib.request.Request(url, method=method, headers=headers, data=body or None)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def setUp(self):
        super().setUp()
        if self.why:
            self.skipTest(self.why)
        self.proxy.reset()
        self.fresh()

    def fresh(self, suffix=""):
        self.prefix = hashlib.sha256(self.id().encode()).hexdigest()[:12] + suffix
        self.spec_path = self.spec(SPEC.format(root=f"az://{CONTAINER}/{self.prefix}"), f"spec{suffix}.yaml")

    def load(self, version, code=0, states=("TX",)):
        data = self.write(f"v{version}.csv", csv(version, states))
        return self.recloser_json("load", self.spec_path, data, code=code, env=self.environment)

    def blobs(self):
        """{name below the prefix: (type, length)}"""
        status, body = self.request("GET", f"/{CONTAINER}", {"restype": "container", "comp": "list", "prefix": self.prefix + "/"})
        self.assertEqual(status, 200, body)
        found = {}
        for blob in re.findall(r"<Blob>.*?</Blob>", body.decode("utf-8-sig"), re.S):
            name = re.search(r"<Name>(.*?)</Name>", blob).group(1)
            found[name[len(self.prefix) + 1:]] = (re.search(r"<BlobType>(.*?)</BlobType>", blob).group(1),
                                                  int(re.search(r"<Content-Length>(.*?)</Content-Length>", blob).group(1)))
        return found

    def count_records(self):
        return sum("/ledger/" in name for name in self.blobs())

    def assert_sound(self, versions, plans=0):
        self.assertEqual(self.recloser_json("verify", self.spec_path, env=self.environment)["outcome"], "sound")
        blobs = self.blobs()
        self.assertEqual(self.count_records(), versions, blobs)
        self.assertEqual({kind for kind, _ in blobs.values()}, {"BlockBlob"})
        self.assertLessEqual(sum("/plans/" in n for n in blobs), plans)
        self.assertGreaterEqual(sum("/archive/" in n for n in blobs), versions - 1)

    def test_load_again_and_replace(self):
        self.assertEqual(self.load(1)["outcome"], "loaded")
        self.assertEqual(self.load(1)["outcome"], "unchanged")
        self.assertEqual(self.load(2)["partitions"][0]["seq"], 2)
        self.assert_sound(2)

    def test_killed_between_requests(self):
        self.load(0)
        for after in (False, True):
            number, hit = 0, [True]
            while hit:
                number += 1
                hit = []
                self.fresh(f"-{after}-{number}")
                self.proxy.reset()
                self.load(1)

                def act(request):
                    if request.number < number:
                        return PASS
                    if not hit:
                        hit.append(request)
                        if not after:
                            process.kill()
                        return DROP_AFTER if after else DROP_BEFORE
                    process.kill()
                    return DROP_BEFORE

                self.proxy.reset(act)
                environment = {k: v for k, v in {**os.environ, **self.environment}.items() if v is not None}
                process = subprocess.Popen([str(PROGRAM), "load", str(self.spec_path), str(self.write("v2.csv", csv(2)))], cwd=self.dir,
                                           env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                process.wait(60)
                self.proxy.reset()
                self.load(2)
                self.assert_sound(2, plans=1)  # of the dead run: its PUT may still be on its way

    def test_two_writers(self):
        self.load(0)
        environment = {k: v for k, v in {**os.environ, **self.environment}.items() if v is not None}
        versions = 1
        for turn in range(5):
            writers = [subprocess.Popen([str(PROGRAM), "load", "--accept", "older", str(self.spec_path), str(self.write(f"w{v}.csv", csv(v)))], cwd=self.dir,
                                        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                       for v in (1 + 2 * turn, 2 + 2 * turn)]
            errors = [w.communicate(timeout=60)[1] for w in writers]
            codes = [w.returncode for w in writers]
            self.assertTrue(set(codes) <= {0, 5} and 0 in codes, errors)
            versions += codes.count(0)
            self.assert_sound(versions)

    def test_wrong_key_and_missing_container(self):
        self.load(1)
        wrong = re.sub("AccountKey=[^;]*", "AccountKey=" + base64.b64encode(b"x" * 64).decode(), self.environment["AZURE_STORAGE_CONNECTION_STRING"])
        done = self.recloser("load", self.spec_path, self.write("v2.csv", csv(2)), code=6, env={"AZURE_STORAGE_CONNECTION_STRING": wrong})
        self.assertIn("account key is wrong", done.err)
        spec = self.spec(SPEC.format(root="az://no-such-lake/x"), "other.yaml")
        done = self.recloser("load", spec, self.dir / "v2.csv", code=6, env=self.environment)
        self.assertIn("no such container", done.err)


main()
