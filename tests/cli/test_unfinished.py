# SPDX-License-Identifier: Apache-2.0
"""A run that was killed after it was decided and before it was finished: some of its files are live, none has a record. Whoever
reads says that the run is not finished, and takes what it made live for its versions; whoever writes finishes it."""
import os
import shutil

from publishing import SPEC, Publishing
from support import CONFLICT, FAULT, main, sha256

STATES = ("MA", "NY", "TX")


class Unfinished(Publishing):
    """MA went live, NY did not; TX is as it was."""

    def setUp(self):
        super().setUp()
        self.need("duckdb")
        self.spec(SPEC)
        self.publish([(f"Q{i}", state, "active", 1.5, 1) for i, state in enumerate(STATES)], "2026-03-01T00:00:00Z")
        self.first = self.dir / "before"
        shutil.copytree(self.dir / "lake/queue", self.first)
        rows = [("Q0", "MA", "active", 2.5, 1), ("Q7", "MA", "active", 2.5, 1), ("Q1", "NY", "active", 2.5, 1), ("Q2", "TX", "active", 1.5, 1)]
        self.run_id = self.publish(rows, "2026-03-02T00:00:00Z")["run"]
        self.cut_short({"state=MA": True, "state=NY": False})
        self.told = f"run {self.run_id} was decided and is not finished: `recloser recover` or the next load finishes it"

    def cut_short(self, went_live):
        """As a kill -9 leaves it: the records in staging, and so the bytes of what did not go live."""
        for partition, live in went_live.items():
            staging = self.control / "staging" / self.run_id / partition
            staging.mkdir(parents=True)
            record = max((self.control / "ledger" / partition).iterdir())
            archive = self.control / self.record(partition, int(record.stem))["archive"]
            record.rename(staging / "record.json")
            if live:
                continue
            os.link(archive, staging / "part")
            archive.unlink()
            self.live(partition).unlink()
            if (self.first / partition).exists():
                os.link(self.control / self.record(partition, 1)["archive"], self.live(partition))
        (self.control / "staging" / self.run_id / "alive").touch()
        (self.control / "runs" / f"{self.run_id}.json").unlink()
        for cache in self.control.glob("seen.json"):
            cache.unlink()

    def test_readers_tell_and_count_it(self):
        before = self.tree()
        status = self.recloser_json("status", "spec.yaml")
        self.assertEqual([(p["partition"], p["seq"], p["rows"], p["live"], p["finished"]) for p in status["partitions"]],
                         [("state=MA", 2, 2, "sound", False), ("state=NY", 1, 1, "sound", True), ("state=TX", 1, 1, "sound", True)])
        self.assertEqual((status["rows"], status["open_run"], status["not_as_recorded"]), (4, self.run_id, 0))
        self.assertIn(self.told, self.recloser("status", "spec.yaml").out)
        for words in ((), ("--quick",), ("--expect-rows", "4")):
            self.assertIn(self.told, self.recloser("verify", "spec.yaml", *words).out)
        self.assertEqual(self.recloser_json("verify", "spec.yaml")["open_run"], self.run_id)
        history = self.recloser("history", "spec.yaml", "state=MA").out
        self.assertIn("live, not finished", history)
        self.assertIn(self.told, history)
        self.assertNotIn("another program", history)
        versions = self.recloser_json("history", "spec.yaml", "state=MA")["versions"]
        self.assertEqual([(v["seq"], v["live"], v["finished"]) for v in versions], [(2, True, False), (1, False, True)])
        versions = self.recloser_json("history", "spec.yaml", "state=NY")["versions"]
        self.assertEqual([(v["seq"], v["live"], v["finished"]) for v in versions], [(1, True, True)])
        diff = self.recloser_json("diff", "spec.yaml", "state=MA")
        self.assertEqual((diff["older"]["seq"], diff["newer"]["seq"], diff["added"]), (1, 2, 1))
        self.assertIn("live, seq 2 of a run that is not finished", self.recloser("diff", "spec.yaml", "state=MA").out)
        why = self.recloser_json("why", "--spec", "spec.yaml", self.live("state=MA"))["versions"]
        self.assertEqual([(v["seq"], v["run"], v["live"]) for v in why], [(2, self.run_id, True)])
        why = self.recloser_json("why", "--spec", "spec.yaml", self.first / "state=MA/part.parquet")["versions"]
        self.assertEqual([(v["seq"], v["live"], v["replaced_by"]["seq"]) for v in why], [(1, False, 2)])
        doctor = self.recloser("doctor", "spec.yaml", code=FAULT).out
        self.assertIn(f"run {self.run_id} was decided and cut short before it was finished", doctor)
        self.assertNotIn("did not write", doctor)
        self.assertIn(self.told, self.recloser("as-of", "spec.yaml", "2026-04-01").out)
        self.assertIn(f"-- {self.told}", self.recloser("as-of", "spec.yaml", "2026-04-01", "--sql").out)
        self.assertEqual({k: v for k, v in self.tree().items() if not k.endswith("seen.json")}, before, "a reader changed something")

    def test_a_tag_finishes_first(self):
        self.recloser("tag", "spec.yaml", "now")
        self.assertEqual(self.recloser_json("status", "spec.yaml")["open_run"], None)
        pins = {v["partition"]: v["seq"] for v in self.recloser_json("tag", "spec.yaml", "--list")["tags"][0]["versions"]}
        self.assertEqual(pins, {"state=MA": 2, "state=NY": 2, "state=TX": 1})
        self.recloser("verify", "spec.yaml", "--tag", "now")

    def test_what_is_foreign_stays_foreign(self):
        os.unlink(self.live("state=MA"))
        shutil.copy(self.first / "state=NY/part.parquet", self.live("state=MA"))
        self.assertIn("another program", self.recloser("history", "spec.yaml", "state=MA").out)
        self.recloser("verify", "spec.yaml", code=FAULT)
        status = self.recloser_json("status", "spec.yaml")
        self.assertEqual((status["partitions"][0]["live"], status["not_as_recorded"]), ("foreign", 1))

    def test_tag_where_nothing_can_be_finished_now(self):
        holder = self.hold_lock()
        refused = self.recloser("tag", "spec.yaml", "now", code=CONFLICT)
        self.assertIn(self.run_id, refused.err)
        self.assertEqual(self.recloser_json("tag", "spec.yaml", "--list")["tags"], [])
        holder.close()

    def hold_lock(self):
        import fcntl
        lock = open(self.control / "lock", "a+", encoding="utf-8")
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock


class FirstRun(Unfinished):
    """The first run of all: a partition that is live has no record at all."""

    def setUp(self):
        Publishing.setUp(self)
        self.need("duckdb")
        self.spec(SPEC)
        self.first = self.dir / "none"
        self.run_id = self.publish([("Q0", "MA", "active", 1.5, 1), ("Q1", "NY", "active", 1.5, 1)], "2026-03-01T00:00:00Z")["run"]
        self.cut_short({"state=MA": True, "state=NY": False})
        self.told = f"run {self.run_id} was decided and is not finished"

    def test_readers_tell_and_count_it(self):
        status = self.recloser_json("status", "spec.yaml")
        self.assertEqual([(p["partition"], p["seq"], p["finished"]) for p in status["partitions"]], [("state=MA", 1, False)])
        self.assertIn(self.told, self.recloser("verify", "spec.yaml", "--expect-rows", "1").out)
        self.assertIn("live, not finished", self.recloser("history", "spec.yaml", "state=MA").out)
        self.assertNotIn("did not write", self.recloser("doctor", "spec.yaml", code=FAULT).out)
        self.assertEqual(sha256(self.live("state=MA")), status["partitions"][0]["sha256"])

    def test_a_tag_finishes_first(self):
        self.assertEqual(self.recloser_json("tag", "spec.yaml", "now")["versions"], 2)
        self.recloser("verify", "spec.yaml")

    test_what_is_foreign_stays_foreign = None


main()
