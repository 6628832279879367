# SPDX-License-Identifier: Apache-2.0
"""The demonstration's own deliveries loaded into a bucket: the figures it must give, and byte for byte the files it makes on disk."""
import json
import re

from lake import FULL, Lake, main
from support import sha256, tree

ROWS = 1200000 if FULL else 1200
TX = "state=TX/month=2026-07"


class Demo(Lake):
    def in_bucket(self, name):
        text = (self.dir / "here" / f"{name}.yaml").read_text()
        return self.spec(re.sub(r"(?m)^root: .*$", f"root: s3://lake/{self.place_in}", text), f"{name}-bucket.yaml")

    def digest(self, dataset, partition):
        return sha256(self.root / dataset / partition / "part.parquet")

    def test_as_on_disk(self):
        disk = self.recloser_json("demo", "--rows", ROWS, "here")
        published = self.dir / "here" / "published"
        spec = self.in_bucket("queue")
        expected = [f["sha256"] for f in disk["recloser"]]
        outcomes = []
        for delivery, digest in zip(("queue_2026-07-01", "queue_2026-07-15", "queue_2026-07-15"), expected):
            done = self.call_json("load", spec, published / f"{delivery}.parquet")
            outcomes.append((done["outcome"], done["partitions"][0]["outcome"], done["partitions"][0]["rows"]))
            self.assertEqual(self.digest("queue", TX), digest, "other bytes than on disk")
        self.assertEqual(outcomes, [("loaded", "new", ROWS), ("loaded", "replaced", ROWS), ("unchanged", "unchanged", ROWS)])
        self.assertEqual(self.call_json("verify", spec)["outcome"], "sound")
        self.assertEqual([r["kind"] for r in self.records_of("queue", TX)], ["version", "version"])
        revised = self.call_json("load", spec, published / "queue_2026-07_revised.parquet")
        self.assertEqual({name: revised[name] for name in disk["revisions"]}, disk["revisions"])

    def test_612_partitions(self):
        self.recloser("demo", "--quiet", "--rows", 1200, "here")
        spec, source = self.in_bucket("regions"), self.dir / "here" / "published" / "regions_2025.parquet"
        done = self.call_json("load", spec, source)
        self.assertEqual((len(done["partitions"]), done["rows_written"]), (612, 612 * 20))
        disk = self.dir / "here" / "lake" / "regions"
        self.assertEqual(tree(self.root / "regions"), tree(disk))
        self.proxy.reset()
        again = self.call_json("load", spec, source)
        self.assertEqual(again["outcome"], "unchanged")
        self.assertEqual(len(self.proxy.requests), again["store"]["requests"])
        self.assertLessEqual(again["store"]["requests"], 3)  # the run's report may be too long to be kept in known.json

    def records_of(self, dataset, partition):
        found = sorted((self.root / "_recloser" / dataset / "ledger" / partition).glob("*.json"))
        return [json.loads(path.read_text()) for path in found]


main()
