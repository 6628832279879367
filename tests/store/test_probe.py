# SPDX-License-Identifier: Apache-2.0
"""Stores are told apart by trial: what does not honour conditions is refused. moto is optional (scripts/setup-stores --more)."""
import json
import tempfile
import urllib.request

from lake import Lake, SPEC, main
from proxy import PASS
from servers import Moto, s3_environment
from support import Case


class Honest(Lake):
    def test_gateway_passes(self):
        self.load(1)
        found = json.loads(next((self.root / "_recloser/queue/probe").glob("*.json")).read_text())
        self.assertEqual({k: found[k] for k in ("create_once", "match", "checksum", "list_current")},
                         {"create_once": True, "match": True, "checksum": True, "list_current": True})
        self.assertEqual(found["sentences"], [])
        self.assertEqual(len(list((self.root / "_recloser/queue/probe").rglob("*.json"))), 1)

    def test_probed_once(self):
        self.load(1)
        self.proxy.reset()
        self.load(2)
        self.assertFalse([r.target for r in self.proxy.requests if "/probe/" in r.target])


class Deaf(Lake):
    """The gateway behind something that takes the conditions away."""

    def setUp(self):
        super().setUp()

        def act(request):
            for name in (b"If-None-Match", b"If-Match"):
                if request.method == "PUT":
                    request.head = request.head.replace(name + b":", b"X-" + name + b":")
            return PASS

        self.deaf = act
        self.proxy.reset(act)

    def test_refused(self):
        done = self.call("load", self.spec_path, self.delivery(1), code=6)
        self.assertIn("does not honour If-None-Match and If-Match", done.err)
        self.assertIn("single_writer: true", done.err)
        self.assertEqual(self.objects(), {})

    def test_declared_single_writer(self):
        self.spec_path.write_text(self.spec_path.read_text() + "store: {single_writer: true}\n")
        for version in (1, 2, 3):
            self.load(version)
        self.assert_whole()


class OtherServer(Case):
    def test_moto(self):
        """It honours conditions, and keeps a body whose checksum is wrong: named, and made up for by reading back."""
        if Moto.missing():
            self.skipTest(Moto.missing())
        with tempfile.TemporaryDirectory(prefix="recloser-store-") as place:
            server = Moto(place)
            self.addCleanup(server.stop)
            made = urllib.request.Request(f"http://127.0.0.1:{server.port}/lake", method="PUT")
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(made, timeout=20).read()
            spec = self.spec(SPEC.format(root="s3://lake/x"))
            data = self.write("a.csv", "queue_id,state,month,capacity_mw,published_at,lon,lat\n1,TX,2026-07,1,2026-07-01,-97.5,30.5\n")
            env = s3_environment(server.port)
            self.assertEqual(self.recloser_json("load", spec, data, env=env)["outcome"], "loaded")
            self.assertEqual(self.recloser_json("load", spec, data, env=env)["outcome"], "unchanged")
            self.assertEqual(self.recloser_json("verify", spec, env=env)["outcome"], "sound")


main()
