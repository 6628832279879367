# SPDX-License-Identifier: Apache-2.0
"""Stores are told apart by trial: what does not honour conditions or checksums is refused. Other servers than the gateway are
optional (scripts/setup-stores --more)."""
import json
import tempfile

from lake import Lake, SPEC, csv, main
from proxy import PASS
from servers import Moto, S3s, SeaweedFS, listed, s3_environment
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


class OtherServers(Case):
    """Told apart by what they do, not by their names."""

    def started(self, server):
        if server.missing():
            self.skipTest(server.missing())
        place = tempfile.TemporaryDirectory(prefix="recloser-store-")
        self.addCleanup(place.cleanup)
        self.server = server(place.name)
        self.addCleanup(self.server.stop)
        self.env = s3_environment(self.server.port)
        self.data = self.write("a.csv", csv(1))

    def with_words(self, words=""):
        return self.spec(SPEC.format(root="s3://lake/x") + words)

    def refused(self, spec, *words):
        before = listed(self.server.port, "")
        done = self.recloser("load", spec, self.data, code=6, env=self.env)
        for word in words:
            self.assertIn(word, done.err)
        self.assertEqual(listed(self.server.port, ""), before)

    def test_moto(self):
        """It keeps a body whose checksum is wrong, and honours conditions, unless it is very busy."""
        self.started(Moto)
        self.refused(self.with_words(), "does not honour", "checksums")
        self.refused(self.with_words("store: {single_writer: true}\n"), "does not honour checksums", "no_checksums: true")
        spec = self.with_words(Moto.words)
        self.assertEqual(self.recloser_json("load", spec, self.data, env=self.env)["outcome"], "loaded")
        self.assertEqual(self.recloser_json("load", spec, self.data, env=self.env)["outcome"], "unchanged")
        self.assertEqual(self.recloser_json("verify", spec, env=self.env)["outcome"], "sound")
        store = self.recloser_json("doctor", spec, env=self.env)["store"]
        self.assertFalse(store["checksum"])
        self.assertIn("checksum", "\n".join(store["sentences"]))

    def test_s3s_fs(self):
        """It looks at a condition first and writes then: several of those who come at once are told that they made the object."""
        self.started(S3s)
        self.refused(self.with_words(), "does not honour If-None-Match", "single_writer: true")
        spec = self.with_words("store: {single_writer: true, no_checksums: true}\n")
        self.assertEqual(self.recloser_json("load", spec, self.data, env=self.env)["outcome"], "loaded")
        self.assertEqual(self.recloser_json("load", spec, self.data, env=self.env)["outcome"], "unchanged")
        self.assertEqual(self.recloser_json("verify", spec, env=self.env)["outcome"], "sound")
        store = self.recloser_json("doctor", spec, env=self.env)["store"]
        self.assertFalse(store["create_once"] and store["match"])
        self.assertIn("two loads can lose each other's version", "\n".join(store["sentences"]))

    def test_seaweedfs(self):
        self.started(SeaweedFS)
        spec = self.with_words()
        self.assertEqual(self.recloser_json("load", spec, self.data, env=self.env)["outcome"], "loaded")
        store = self.recloser_json("doctor", spec, env=self.env)["store"]
        self.assertEqual(store["sentences"], [])


main()
