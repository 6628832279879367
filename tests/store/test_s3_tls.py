# SPDX-License-Identifier: Apache-2.0
"""TLS under a private authority, and the bucket in the host's name, on loopback."""
import shutil
import subprocess
import tempfile
import unittest

from lake import SPEC, Case, csv, main
from servers import BUCKET, Gateway, s3_environment

NAMES = ["localhost", f"{BUCKET}.localhost"]  # curl takes all that ends in .localhost for loopback


def make_certificate(folder, name, hosts):
    """An authority of its own and a certificate by it; the paths of authority, certificate and key."""
    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}-ca.key", "-out", f"{name}-ca.pem", "-days", "2",
            "-subj", f"/CN={name} authority")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={hosts[0]}")
    (folder / f"{name}.ext").write_text("subjectAltName=" + ",".join(f"DNS:{host}" for host in hosts) + "\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{name}-ca.pem", "-CAkey", f"{name}-ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", f"{name}.ext", "-out", f"{name}.pem")
    return [str(folder / f"{name}{ending}") for ending in ("-ca.pem", ".pem", ".key")]


@unittest.skipUnless(shutil.which("openssl"), "no openssl here")
class Tls(Case):
    def setUp(self):
        if Gateway.missing():
            self.skipTest(Gateway.missing())
        super().setUp()
        self.authority, self.gateway = self.served("ours", NAMES)
        self.env = {**s3_environment(self.gateway.port), "AWS_HTTPS": "YES", "AWS_S3_ENDPOINT": f"localhost:{self.gateway.port}",
                    "CURL_CA_BUNDLE": self.authority, "SSL_CERT_FILE": None, "GDAL_HTTP_MAX_RETRY": "1"}
        self.spec_path = self.spec(SPEC.format(root=f"s3://{BUCKET}/x"))

    def served(self, name, hosts):
        """A gateway with a certificate for these hosts, and the authority that vouches for it."""
        authority, certificate, key = make_certificate(self.dir, name, hosts)
        place = tempfile.TemporaryDirectory(prefix="recloser-store-")
        self.addCleanup(place.cleanup)
        gateway = Gateway(place.name, "--cert", certificate, "--key", key, "--virtual-domain", "localhost:{port}")
        self.addCleanup(gateway.stop)
        return authority, gateway

    def load(self, version, code=0, **env):
        return self.recloser("load", self.spec_path, self.write(f"v{version}.csv", csv(version)), "--json", code=code, env={**self.env, **env})

    def live(self):
        return self.gateway.root / "x/queue/state=TX/month=2026-07/part.parquet"

    def test_bucket_in_the_path(self):
        self.assertEqual(self.load(1).json["outcome"], "loaded")
        self.assertEqual(self.load(1).json["outcome"], "unchanged")

    def test_bucket_in_the_host(self):
        """The certificate names the bucket's host, and the server finds the bucket nowhere else."""
        host = {"AWS_VIRTUAL_HOSTING": "TRUE"}
        first = self.load(1, **host).json
        self.assertEqual((first["outcome"], first["store"]["server"]), ("loaded", f"{BUCKET}.localhost:{self.gateway.port}/{BUCKET}"))
        self.assertEqual(self.load(2, **host).json["partitions"][0]["outcome"], "replaced")
        self.assertTrue(self.live().exists())
        self.assertEqual(self.load(2).json["outcome"], "unchanged")  # the same bucket by its other address
        self.recloser("verify", self.spec_path, env={**self.env, **host})

    def refused(self, **env):
        self.load(1)
        before = self.live().read_bytes()
        done = self.load(2, code=6, **env)
        self.assertIn("no trusted connection", done.err)
        self.assertIn("CURL_CA_BUNDLE", done.err)
        self.assertLessEqual(len(done.err.strip().splitlines()), 3, done.err)
        self.assertEqual(self.live().read_bytes(), before)

    def test_unknown_authority(self):
        self.refused(CURL_CA_BUNDLE=None)

    def test_certificate_of_another_host(self):
        authority, other = self.served("other", ["other.example"])
        self.refused(CURL_CA_BUNDLE=authority, AWS_S3_ENDPOINT=f"localhost:{other.port}")

    def test_no_such_bundle(self):
        self.refused(CURL_CA_BUNDLE=str(self.dir / "none.pem"))

    def test_no_tls_there(self):
        with tempfile.TemporaryDirectory(prefix="recloser-store-") as place:
            plain = Gateway(place)
            self.addCleanup(plain.stop)
            self.refused(AWS_S3_ENDPOINT=f"localhost:{plain.port}")

    def test_tls_is_meant(self):
        """Plain HTTP to a port that wants TLS."""
        self.load(1)
        done = self.load(2, code=6, AWS_HTTPS="NO")
        self.assertIn("AWS_HTTPS", done.err)


main()
