# SPDX-License-Identifier: Apache-2.0
"""Inputs that lie in a bucket or on the web, loaded into a bucket and onto disk."""
import http.server
import threading

from lake import Lake, SPEC, csv, main
from servers import signed


class Web(http.server.BaseHTTPRequestHandler):
    files = {}

    def do_GET(self):
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", "/" + self.path[len("/moved/"):])
            self.end_headers()
            return
        if self.path == "/refused.csv":
            self.send_error(403)
            return
        body = self.files.get(self.path.split("?")[0])
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.send_header("ETag", '"of-the-web"')
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


class Inputs(Lake):
    def source(self, done):
        record = self.records()[-1]
        self.assertEqual(record["sources"][0]["sha256"], done["sources"][0]["sha256"])
        return record["sources"][0]

    def test_from_a_bucket(self):
        for path in (f"{self.place_in}-drop/a=b/july 1.csv",):
            self.assertEqual(signed("PUT", self.gateway.port, path, csv(1).encode())[0], 200)
            done = self.call_json("load", self.spec_path, f"s3://lake/{path}")
            source = self.source(done)
            self.assertEqual(source["name"], "july 1.csv")
            self.assertRegex(source["etag"], r'^"[0-9a-f]{32}"$')
            self.assertEqual(self.call_json("load", self.spec_path, f"/vsis3/lake/{path}")["outcome"], "unchanged")
            self.assertEqual(self.call_json("load", self.spec_path, self.write("same.csv", csv(1)))["outcome"], "unchanged")

    def test_from_the_web(self):
        Web.files = {"/july.csv": csv(1).encode()}
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        base = f"http://127.0.0.1:{server.server_port}"
        done = self.call_json("load", self.spec_path, f"{base}/moved/july.csv?a=b/c")
        self.assertEqual((self.source(done)["name"], self.source(done)["etag"]), ("july.csv", '"of-the-web"'))
        self.assertEqual(self.call_json("load", self.spec_path, f"/vsicurl/{base}/july.csv")["outcome"], "unchanged")
        done = self.call("load", self.spec_path, f"{base}/none.csv", code=6)
        self.assertIn("there is no such object", done.err)
        done = self.call("load", self.spec_path, f"{base}/refused.csv", code=6)
        self.assertIn("refuses to hand this file out (403)", done.err)
        self.assertNotIn("key", done.err)
        on_disk = self.spec(SPEC.format(root="lake"), "disk.yaml")
        self.assertEqual(self.call_json("load", on_disk, f"{base}/july.csv")["outcome"], "loaded")

    def test_missing_and_incomplete_names(self):
        done = self.call("load", self.spec_path, f"s3://lake/{self.place_in}/none.csv", code=6)
        self.assertIn("there is no such object", done.err)
        done = self.call("load", self.spec_path, "s3://lake.csv", code=6)
        self.assertIn("names a bucket", done.err)


main()
