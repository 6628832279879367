# SPDX-License-Identifier: Apache-2.0
"""Versions over time in a bucket: what can be asked of a dataset on disk can be asked of one in S3."""
import os

from lake import Lake, main
from support import FAULT, sha256, tree

TX = "state=TX/month=2026-07"


class History(Lake):
    def setUp(self):
        super().setUp()
        self.digests = []
        for version in (1, 2, 3):
            done = self.load(version, states=("NM", "TX") if version == 1 else ("TX",))  # requests are signed with the true time
            self.digests.append([p["sha256"] for p in done["partitions"] if p["partition"] == TX][0])
        self.times = [record["loaded_at"] for record in self.records()]

    def test_history_and_as_of(self):
        before = self.objects()
        told = self.call_json("history", self.spec_path, TX)
        self.assertEqual([(v["seq"], v["sha256"], v["live"]) for v in told["versions"]],
                         [(3 - i, digest, i == 0) for i, digest in enumerate(reversed(self.digests))])
        for day in (1, 2, 3):
            then = self.call_json("as-of", self.spec_path, self.times[day - 1], "--copy", f"then-{day}")
            copied = tree(self.dir / f"then-{day}")
            self.assertEqual(copied, {f"{p['partition']}/part.parquet": p["sha256"] for p in then["partitions"]})
            self.assertEqual(copied[f"{TX}/part.parquet"], self.digests[day - 1])
            for part in then["partitions"]:
                key = part["file"].removeprefix(f"s3://lake/{self.place_in}/")
                self.assertEqual(sha256(self.root / key), part["sha256"])
        self.assertIn(f"'s3://lake/{self.place_in}/_recloser/queue/archive/", self.call("as-of", self.spec_path, self.times[0], "--sql").out)
        self.assertEqual(self.objects(), before)

    def test_diff(self):
        told = self.call_json("diff", self.spec_path, TX, "1")
        self.assertEqual([told[k] for k in ("added", "removed", "changed")], [0, 0, 3])
        self.assertEqual({(r["column"], r["old"], r["new"]) for r in told["rows"] if r["column"] == "capacity_mw"}, {("capacity_mw", "101.5", "103.5")})
        file = self.delivery(4)
        told = self.call_json("diff", self.spec_path, TX, "--file", file)
        self.assertEqual(told["changed"], 3)

    def test_restore(self):
        done = self.call_json("restore", self.spec_path, TX, 1)
        self.assertEqual((done["outcome"], done["seq"]), ("restored", 4))
        self.assertEqual(sha256(self.live()), self.digests[0])
        self.assertEqual(self.records()[-1]["restored_from"]["seq"], 1)
        self.call("verify", self.spec_path)
        again = self.call_json("restore", self.spec_path, TX, 1)
        self.assertEqual(again["outcome"], "unchanged")

    def test_tag_and_prune(self):
        self.call("tag", self.spec_path, "first", "--at", self.times[0])
        told = self.call_json("prune", self.spec_path, "--keep", "1", "--yes")
        self.assertEqual([(v["partition"], v["seq"]) for v in told["versions"]], [(TX, 2)])
        self.assertEqual(told["freed_bytes"], told["bytes"])
        self.call("verify", self.spec_path, "--tag", "first")
        lost = self.call("as-of", self.spec_path, self.times[1], code=FAULT)
        self.assertIn("pruned on", lost.err)
        self.call("tag", self.spec_path, "first", "--delete")
        told = self.call_json("prune", self.spec_path, "--keep", "1", "--yes")
        self.assertEqual([(v["partition"], v["seq"]) for v in told["versions"]], [(TX, 1)])
        self.assertEqual(self.objects("_recloser/queue/archive"), {})
        self.call("verify", self.spec_path)
        self.load(4)
        self.assertEqual(self.call_json("doctor", self.spec_path)["faults"], 0)

    def test_why(self):
        self.call("as-of", self.spec_path, self.times[1], "--copy", "then")
        os.rename(self.dir / "then" / TX / "part.parquet", self.dir / "some.bin")
        told = self.call_json("why", "some.bin", "--spec", self.spec_path)
        self.assertEqual([(v["partition"], v["seq"], v["replaced_by"]["seq"]) for v in told["versions"]], [(TX, 2, 3)])


main()
