# SPDX-License-Identifier: Apache-2.0
"""A ledger that was lost is made again from what else the bucket has; what is left of it is not touched."""
import json

from lake import Lake, main
from support import sha256

TX, NM = "state=TX/month=2026-07", "state=NM/month=2026-07"
# What a record tells that only the load knew, and the report of its run tells as well.
KEPT = ("seq", "partition", "kind", "run", "loaded_at", "rows_in", "rows_written", "superseded", "collapsed")


class Rebuild(Lake):
    def setUp(self):
        super().setUp()
        self.load(1, states=("NM", "TX"))
        self.load(2)
        self.load(3)
        self.before = {TX: self.records(TX), NM: self.records(NM)}
        self.assertEqual([len(r) for r in self.before.values()], [3, 1])

    def lose(self, *below):
        for name in list(self.objects()):
            if any(name.startswith(f"_recloser/queue/{b}") for b in below):
                self.remove(name)

    def rebuild(self):
        found = self.call_json("recover", self.spec_path, "--rebuild")
        self.assertEqual((found["adoptable"], found["missing"], found["foreign"]), ([], [], []))
        return found

    def goes_on(self):
        """verify is clean, a load again changes nothing, the next one is the next version, and the first can be had again."""
        self.call("verify", self.spec_path)
        live = self.objects("queue")
        self.assertEqual(self.load(3)["outcome"], "unchanged")
        self.assertEqual(self.objects("queue"), live)
        self.assertEqual(self.load(4)["partitions"][0]["seq"], 4)
        self.assertEqual(self.call_json("restore", self.spec_path, TX, 1)["seq"], 5)
        self.assertEqual(sha256(self.live()), self.before[TX][0]["file"]["sha256"])
        self.assert_whole([NM, TX])

    def assert_same_bytes(self):
        for partition, records in self.before.items():
            self.assertEqual([r["file"]["sha256"] for r in self.records(partition)], [r["file"]["sha256"] for r in records])

    def test_whole_ledger(self):
        self.lose("ledger/")
        self.assertEqual(sorted(self.rebuild()["finished_partitions"]), [NM, TX])
        self.assert_same_bytes()
        for partition, records in self.before.items():
            made = self.records(partition)
            self.assertEqual([{k: r.get(k) for k in KEPT} for r in made], [{k: r.get(k) for k in KEPT} for r in records])
            self.assertEqual([r["sources"][0]["sha256"] for r in made], [r["sources"][0]["sha256"] for r in records])
            self.assertEqual(made[-1], records[-1])  # known.json has the newest whole
            self.assertEqual([r.get("rebuilt", False) for r in made[:-1]], [True] * (len(made) - 1))
        self.goes_on()

    def test_without_the_cache(self):
        self.lose("ledger/", "known.json")
        self.rebuild()
        self.assert_same_bytes()
        self.assertEqual([{k: r.get(k) for k in KEPT} for r in self.records()], [{k: r.get(k) for k in KEPT} for r in self.before[TX]])
        self.goes_on()

    def test_nothing_but_objects(self):
        """Archived and live objects alone: bytes, numbers and days."""
        self.lose("ledger/", "known.json", "runs/")
        self.rebuild()
        self.assert_same_bytes()
        made = self.records()
        self.assertEqual([(r["seq"], r["kind"], r["run"], r["loaded_at"][:10]) for r in made],
                         [(r["seq"], "version", None, r["loaded_at"][:10]) for r in self.before[TX]])
        self.goes_on()

    def test_a_gap(self):
        """A version whose bytes are gone with its record keeps its number."""
        self.lose("ledger/", "known.json", "runs/")
        (second,) = [name for name in self.objects("_recloser/queue/archive") if "part.parquet.00000002" in name]
        self.remove(second)
        self.rebuild()
        made = self.records()
        # Nothing tells of number 2 but the name that is gone: what is live comes after the newest that is known.
        self.assertEqual([(r["seq"], r["kind"], r["file"]["sha256"]) for r in made],
                         [(n, "version", self.before[TX][i]["file"]["sha256"]) for n, i in ((1, 0), (2, 2))])
        self.call("verify", self.spec_path)
        self.load(4)
        self.assert_whole([NM, TX])

    def test_one_record(self):
        kept = {name: digest for name, digest in self.objects().items() if "/ledger/" in name and not name.endswith("00000002.json")}
        self.remove(f"_recloser/queue/ledger/{TX}/00000002.json")
        self.assertEqual(self.rebuild()["finished_partitions"], [TX])
        self.assertEqual({name: digest for name, digest in self.objects().items() if name in kept}, kept)
        self.assertEqual([r.get("rebuilt", False) for r in self.records()], [False, True, False])
        self.goes_on()

    def test_load_refuses_without_a_record(self):
        """As on disk: numbers are not given away twice, so a load looks for records that are gone, and says who makes them again."""
        for turn, name in enumerate((f"ledger/{TX}/00000003.json", f"ledger/{TX}/00000002.json", "ledger/")):
            for known in (True, False):
                if name == "ledger/" and not known:
                    continue
                self.fresh(f"-{turn}-{known}")
                self.load(1, states=("NM", "TX"))
                self.load(2)
                self.load(3)
                self.lose(name)
                if not known:
                    self.remove("_recloser/queue/known.json")
                before = self.objects()
                refused = self.call("load", self.spec_path, self.delivery(4), code=6)
                self.assertIn("the record of a version that was live is gone", refused.err)
                self.assertIn("recloser recover --rebuild", refused.err)
                self.assertIn(f"ledger/{TX}" if name != "ledger/" else "ledger/", refused.err)
                after = self.objects()
                self.assertEqual({n: d for n, d in after.items() if "known.json" not in n}, {n: d for n, d in before.items() if "known.json" not in n})
                self.rebuild()
                self.assertEqual(self.load(4)["partitions"][0]["seq"], 4)
                self.assert_whole([NM, TX])

    def test_void(self):
        """The record and the bytes of a version in the middle are lost: its number is void, and the rest is as it was."""
        self.remove(f"_recloser/queue/ledger/{TX}/00000002.json")
        (second,) = [name for name in self.objects("_recloser/queue/archive") if "part.parquet.00000002" in name]
        self.remove(second)
        self.rebuild()
        self.assertEqual([json.loads(p.read_text())["kind"] for p in sorted((self.root / "_recloser/queue/ledger" / TX).glob("*"))],
                         ["version", "void", "version"])
        self.call("verify", self.spec_path)
        self.assertEqual(self.load(4)["partitions"][0]["seq"], 4)

    def test_nothing_lost(self):
        before = self.objects()
        before.pop("_recloser/queue/known.json")
        self.assertEqual(self.rebuild()["finished_partitions"], [])
        after = self.objects()
        after.pop("_recloser/queue/known.json", None)
        self.assertEqual(after, before)

    def test_config_too(self):
        self.lose("ledger/", "dataset.json")
        self.rebuild()
        self.assertIn("_recloser/queue/dataset.json", self.objects())
        self.goes_on()


main()
