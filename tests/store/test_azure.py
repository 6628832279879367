# SPDX-License-Identifier: Apache-2.0
"""Azure Blob Storage, against the emulator Azurite. Optional: the emulator is fetched by scripts/setup-stores --more."""
import base64
import datetime
import hashlib
import hmac
import os
import random
import re
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from lake import FULL, Case, SPEC, csv, main
from proxy import DROP_AFTER, DROP_BEFORE, PASS, Proxy
from servers import Azurite
from support import PROGRAM

CONTAINER = "lake"
ROUNDS = 100 if FULL else 5
ROWS = 45_000  # of the blobs in blocks: more than a megabyte


class Azure(Case):
    sides = (False, True)  # killed before the server acts on a request, and after

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
        last = sorted(n for n in blobs if "/runs/" in n)[-4:]
        bodies = [self.request("GET", f"/{CONTAINER}/{self.prefix}/{n}")[1] for n in last]
        self.assertLessEqual(sum(b'"entries"' in b for b in bodies), plans)
        self.assertGreaterEqual(sum("/archive/" in n for n in blobs), versions - 1)

    def test_load_again_and_replace(self):
        self.assertEqual(self.load(1)["outcome"], "loaded")
        self.assertEqual(self.load(1)["outcome"], "unchanged")
        self.assertEqual(self.load(2)["partitions"][0]["seq"], 2)
        self.assert_sound(2)

    def start(self, version, rows=0):
        environment = {k: v for k, v in {**os.environ, **self.environment}.items() if v is not None}
        data = self.write(f"s{version}-{rows}.csv", self.content(version, rows))
        return subprocess.Popen([str(PROGRAM), "load", "--accept", "older", str(self.spec_path), str(data)], cwd=self.dir, env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def content(self, version, rows):
        return csv(version)

    def killed_at_each(self, after, numbers=None):
        """Kill -9 when a request comes, before or after the server acts on it; returns how many points there were."""
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
            process = self.start(2)
            process.communicate(timeout=120)
            self.proxy.reset()
            self.load(2)
            self.assert_sound(2, plans=1)  # of the dead run: its PUT may still be on its way
        return number - 1

    def test_killed_between_requests(self):
        self.load(0)
        points = [self.killed_at_each(after) for after in self.sides]
        self.assertGreaterEqual(min(points), 10)  # of a load that replaces
        print(f"killed at {points} requests", flush=True)

    def test_two_writers(self):
        self.load(0)
        versions, conflicts = 1, 0
        for turn in range(ROUNDS):
            writers = [self.start(v) for v in (1 + 2 * turn, 2 + 2 * turn)]
            errors = [w.communicate(timeout=120)[1] for w in writers]
            codes = [w.returncode for w in writers]
            self.assertTrue(set(codes) <= {0, 5} and 0 in codes, errors)
            versions += codes.count(0)
            conflicts += codes.count(5)
            self.assert_sound(versions)
        print(f"{ROUNDS} rounds, {conflicts} conflicts", flush=True)

    def test_wrong_key_and_missing_container(self):
        self.load(1)
        wrong = re.sub("AccountKey=[^;]*", "AccountKey=" + base64.b64encode(b"x" * 64).decode(), self.environment["AZURE_STORAGE_CONNECTION_STRING"])
        done = self.recloser("load", self.spec_path, self.write("v2.csv", csv(2)), code=6, env={"AZURE_STORAGE_CONNECTION_STRING": wrong})
        self.assertIn("account key is wrong", done.err)
        late = b"HTTP/1.1 403 Forbidden\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nx-ms-error-code: AuthenticationFailed\r\nContent-Length: 0\r\n\r\n"
        self.proxy.reset(lambda request: lambda head, body: (late, b""))
        done = self.recloser("load", self.spec_path, self.dir / "v2.csv", code=6, env=self.environment)
        self.assertIn("clock of this machine is", done.err)
        self.proxy.reset()
        spec = self.spec(SPEC.format(root="az://no-such-lake/x"), "other.yaml")
        done = self.recloser("load", spec, self.dir / "v2.csv", code=6, env=self.environment)
        self.assertIn("no such container", done.err)


def is_block(request):
    return re.search(r"[?&]comp=block(&|$)", request.target) is not None


class Blocks(Azure):
    """Blobs that are put in blocks, as those over 64 MB are: here those over one megabyte, and in full one of 70."""

    sides = (False, True) if FULL else (True,)
    test_wrong_key_and_missing_container = None

    def setUp(self):
        super().setUp()
        self.environment = {**self.environment, "VSIAZ_CHUNK_SIZE": "1"}

    def content(self, version, rows=0, chance=None):
        """Rows that no compression makes short."""
        chance = random.Random(version)
        lines = ["queue_id,state,month,capacity_mw,published_at,lon,lat"]
        lines += [f"{row},TX,2026-07,{chance.random()},2026-07-{1 + version % 28:02d},-97.5,{30 + chance.random()}" for row in range(rows or ROWS)]
        return "\n".join(lines) + "\n"

    def load(self, version, code=0, states=("TX",), rows=0):
        data = self.write(f"v{version}-{rows}.csv", self.content(version, rows))
        return self.recloser_json("load", self.spec_path, data, code=code, env=self.environment)

    def live(self):
        return self.request("GET", f"/{CONTAINER}/{self.prefix}/queue/state=TX/month=2026-07/part.parquet")

    def test_whole_or_nothing(self):
        """While a blob grows block by block a reader sees the one before, or none."""
        self.load(1)
        seen = []

        def look(request):
            if is_block(request) and "/queue/state=" in urllib.parse.unquote(request.target):
                status, body = self.live()
                seen.append((status, hashlib.sha256(body).hexdigest() if status == 200 else None))
            return PASS

        first = hashlib.sha256(self.live()[1]).hexdigest()
        self.proxy.reset(look)
        self.load(2)
        blocks = [r for r in self.proxy.requests if is_block(r)]
        self.assertGreater(len(blocks), 1)
        self.assertTrue(all(r.header("content-md5") for r in blocks))
        self.assertEqual(set(seen), {(200, first)})
        self.fresh("-new")
        seen.clear()
        self.proxy.reset(look)
        self.load(1)
        self.assertEqual(set(seen), {(404, None)})
        self.assertEqual(hashlib.sha256(self.live()[1]).hexdigest(), first)

    def test_altered_block(self):
        """A block that is not what its digest says is refused, and sent again with the rest."""
        self.load(1)
        altered = []

        def act(request):
            if is_block(request) and not altered:
                altered.append(request)
                request.body = bytes([request.body[0] ^ 1]) + request.body[1:]
            return PASS

        self.proxy.reset(act)
        done = self.recloser("load", self.spec_path, self.write("v2.csv", self.content(2)), code=None, env=self.environment)
        self.assertTrue(altered)
        self.assertIn(done.code, (0, 6), done)
        self.proxy.reset()
        self.load(2)
        self.assert_sound(2, plans=1)

    def test_more_than_64_megabytes(self):
        if not FULL:
            self.skipTest("RECLOSER_TEST_FULL=1")
        del self.environment["VSIAZ_CHUNK_SIZE"]
        self.load(1, rows=2_200_000)
        size = [length for name, (_, length) in self.blobs().items() if name.endswith("part.parquet")][0]
        self.assertGreater(size, 64 << 20)
        self.load(2, rows=2_200_000)
        self.assert_sound(2)


main()
