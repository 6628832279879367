# SPDX-License-Identifier: Apache-2.0
"""doctor: each thing that it is there to find, put there, and nothing said where nothing is."""
import datetime
import os

from publishing import Publishing
from support import FAULT, main

SPEC = """
dataset: queue
root: lake
source: {files: "*.csv"}
key: {identity: [queue_id]}
partition: [month]
series: month
columns: {units: {type: integer}}
"""
COLUMNS = ("queue_id", "month", "fuel", "note", "units")


class Doctor(Publishing):
    def setUp(self):
        super().setUp()
        self.spec(SPEC)

    def month(self, month, rows, columns=COLUMNS):
        return self.publish([(key, month, *rest) for key, *rest in rows], f"{month}-15T00:00:00Z", columns=columns)

    def year(self, fuel=lambda month, i: ("SOL", "WND", "OTH")[i % 3], skip=(), key=lambda month, i: f"Q{i}"):
        for number in range(1, 7):
            month = f"2026-{number:02}"
            if month not in skip:
                self.month(month, [(key(month, i), fuel(month, i), f"n{i}", 1) for i in range(60)])

    def findings(self, area, code=0, *words):
        told = self.recloser_json("doctor", "spec.yaml", *words, code=code)
        return [f for f in told["findings"] if f["area"] == area and f["finding"] != "fact"]

    def test_sound(self):
        self.year()
        before = self.tree()
        told = self.recloser_json("doctor", "spec.yaml")
        self.assertEqual([f for f in told["findings"] if f["finding"] != "fact" and f["area"] != "store"], [])
        self.assertEqual(told["faults"], 0)
        grain = [f["what"] for f in told["findings"] if f["area"] == "grain"]
        self.assertIn("6 partitions, 360 rows", grain[0])
        self.assertTrue(any(w.startswith("coarser: without month there would be 1 partition") for w in grain), grain)
        self.assertTrue(any(w.startswith("finer: by fuel the largest would be about 3 files") for w in grain), grain)
        self.assertEqual(self.tree(), before, "doctor changed something")

    def test_a_code_for_one_month(self):
        self.year(fuel=lambda month, i: ("SOL", "WND", "BAT" if month == "2026-04" else "OTH")[i % 3])
        said = [f["what"] for f in self.findings("drift")]
        self.assertEqual(said, ['fuel: "BAT" is there in month=2026-04 only; 20 of its 20 rows were "OTH" in month=2026-03, and 20 are again '
                                'in month=2026-05'])
        self.assertEqual(self.findings("drift", 0, "--quick"), [])

    def test_a_code_under_another_name(self):
        """Gone and new are one event; what becomes only a part of the rows is told from the side that it is seen from."""
        wind = "Wind; 'on'"
        self.year(fuel=lambda month, i: ("SOL", wind if month > "2026-03" else "WND", "BAT" if month > "2026-02" and i % 2 else "OTH")[i % 3])
        self.assertEqual([(f["what"], f["hint"]) for f in self.findings("drift")], [
            ('fuel: "BAT" is new in month=2026-03; 10 of its 10 rows were "OTH" in month=2026-02',
             "if they mean the same: columns: {fuel: {map: {BAT: OTH}}}"),
            ("fuel: \"WND\" became \"Wind; 'on'\" in month=2026-04: 20 of its 20 rows",
             "if they mean the same: columns: {fuel: {map: {\"Wind; 'on'\": WND}}}")])

    def test_a_day_is_no_code(self):
        """Permits: "none" in most rows and a day in some, other days each month."""
        for number in range(1, 4):
            self.month(f"2026-{number:02}", [(f"Q{i}", "SOL", f"2025-{number:02}-{i + 10}" if i < 4 else f"{number}/{i}/2025" if i < 6 else "none", 1)
                                             for i in range(60)])
        told = self.recloser_json("doctor", "spec.yaml")["findings"]
        self.assertEqual([f["what"] for f in told if f["area"] in ("values", "drift")], [])

    def test_gaps_without_hyphens(self):
        for name, values, missing in (("months", ("202601", "202603", "202605", "202606"), "202602, 202604"),
                                      ("days", ("20260101", "20260108", "20260115", "20260129", "20260205"), "20260122")):
            self.spec(SPEC.replace("dataset: queue", f"dataset: {name}"))
            for value in values:
                self.publish([("Q1", value, "SOL", "n", 1)], "2026-07-15T00:00:00Z", columns=COLUMNS)
            self.assertEqual([f["what"].rsplit(": ", 1)[1] for f in self.findings("series")], [missing])

    def test_gaps(self):
        self.year(skip=("2026-02", "2026-04"))
        said = [f["what"] for f in self.findings("series")]
        self.assertEqual(said, ["2 are missing between 2026-01 and 2026-06: 2026-02, 2026-04"])

    def test_columns(self):
        self.month("2026-01", [(f"Q{i}", "SOL", "n", 1) for i in range(9)])
        with self.unseen("month=2026-01"):
            self.month("2026-02", [(f"Q{i}", "SOL", "n", 1) for i in range(9)], columns=("queue_id", "month", "fuel_code", "note", "units"))
        said = [(f["what"], f["hint"]) for f in self.findings("drift")]
        self.assertEqual([w for w, _ in said], ["columns gone in month=2026-02: fuel", "columns new in month=2026-02: fuel_code"])
        self.assertIn("from: [OLD, NEW]", said[0][1])

    def test_keys_that_do_not_last(self):
        self.year(key=lambda month, i: f"Q{i}-{month if i % 2 else ''}")
        said = [f["what"] for f in self.findings("keys")]
        self.assertEqual(said, ["in 5 of 5 steps many keys are gone and as many are new: 30 of 60 keys of month=2026-01 are gone in "
                                "month=2026-02 and 30 are new, the most"])

    def test_keys_whose_field_the_guard_named(self):
        """The guard compares the rows; its word, with the field, is the better one, and holds for a handful as well."""
        self.spec(SPEC.replace("[queue_id]", "[queue_id, fuel]").replace("series: month\n", "").replace("[month]", "[]"))
        for fuels in ("ABCD", "ABXY", "ABXY"):
            self.publish([(f"Q{i}", "2026-01", fuel, f"n{i}", 1) for i, fuel in enumerate(fuels)], "2026-02-01T00:00:00Z", columns=COLUMNS)
        said = self.findings("keys")
        self.assertEqual([f["what"] for f in said], ["in 1 of 1 step many keys are gone and as many are new: 2 of 4 keys of (one file) seq 1 are "
                                                     "gone in (one file) seq 2 and 2 are new"])
        self.assertIn("everything but fuel: fuel changes between publications", said[0]["hint"])

    def test_a_handful_of_keys_proves_nothing(self):
        for number in range(1, 4):
            self.month(f"2026-{number:02}", [(f"Q{i}", "SOL", f"n{i}", i) for i in range(number, number + 8)])
        self.assertEqual(self.findings("keys"), [])

    def test_lost_and_foreign(self):
        self.year()
        archived = self.control / self.record("month=2026-01", 1)["archive"]
        os.unlink(archived)
        os.unlink(self.live("month=2026-02"))
        self.write("lake/queue/month=2026-03/notes.txt", "mine")
        self.write("lake/_recloser/queue/staging/20260301T0000Z-dead/alive", "")
        self.assertEqual([f["what"] for f in self.findings("archive", FAULT)],
                         ["the archived file of a version is gone or has another size, and no prune removed it: month=2026-01, seq 1"])
        self.assertEqual([f["what"] for f in self.findings("live", FAULT)], ["the live file is missing: month=2026-02"])
        self.assertEqual([f["what"] for f in self.findings("foreign", FAULT)], ["a file that is not of this dataset: month=2026-03/notes.txt"])
        self.assertEqual([f["what"] for f in self.findings("leftover", FAULT)], ["staging of a run that died: 20260301T0000Z-dead"])

    def test_nothing_loaded(self):
        self.assertIn("nothing loaded yet", self.recloser("doctor", "spec.yaml").out)
        self.assertFalse((self.dir / "lake").exists())


class Twice(Publishing):
    """A code was respelled in the spec: the rows are in a partition of its new spelling, and in that of the old one still."""

    SPEC = """
dataset: queue
root: lake
source: {files: "*.csv", columns: {state: {from: State, map: {Ohio: OH}}}}
key: {identity: [queue_id]}
partition: [state]
"""

    def load_both(self, spec, columns=("queue_id", "State"), rows=None):
        rows = rows or [(f"Q{i}", "Michigan" if i < 5 else "WI") for i in range(9)]
        self.spec(spec)
        self.publish(rows, "2026-03-01T00:00:00Z", columns=columns)
        self.assertEqual(self.keys(), [])
        self.spec(spec.replace("Ohio: OH", "Michigan: MI"))
        self.publish(rows, "2026-03-02T00:00:00Z", columns=columns)

    def keys(self, *words):
        told = self.recloser_json("doctor", "spec.yaml", *words)
        return [f for f in told["findings"] if f["area"] == "keys"]

    def test_a_key_in_two_partitions(self):
        self.load_both(self.SPEC)
        (found,) = self.keys()
        self.assertRegex(found["what"], "^5 keys are live in more than one partition: "
                                        "([0-9a-f]{24} in state=MI and state=Michigan(; )?){3}$")
        self.assertIn("absent partitions", found["hint"])
        self.assertEqual(found["finding"], "advice")
        self.assertEqual(self.keys("--quick"), [])
        os.unlink(self.live("state=Michigan"))
        told = self.recloser_json("doctor", "spec.yaml", code=FAULT)
        self.assertEqual([f for f in told["findings"] if f["area"] == "keys"], [], "a file that is not there has no keys")

    def test_a_file_that_rots(self):
        """It is told, and the rest of the dataset is looked at all the same."""
        self.load_both(self.SPEC)
        self.rot(self.live("state=WI"))
        told = self.recloser_json("doctor", "spec.yaml", code=FAULT)
        (found,) = [f for f in told["findings"] if f["area"] == "files"]
        self.assertEqual(found["finding"], "fault")
        self.assertIn("recloser verify", found["hint"])
        self.assertTrue({"grain", "archive", "store"} <= {f["area"] for f in told["findings"]}, told["findings"])

    def test_the_steps_of_a_series_share_keys(self):
        spec = self.SPEC.replace("partition: [state]", "partition: [state, month]\nseries: month")
        months = [(f"Q{i}", "Michigan" if i < 5 else "WI", month) for i in range(9) for month in ("2026-01", "2026-02")]
        self.load_both(spec, ("queue_id", "State", "month"), months)
        found = self.keys()
        self.assertEqual([f["what"].partition(":")[0] for f in found],
                         ["5 keys are live in more than one partition of 2026-01", "5 keys are live in more than one partition of 2026-02"])
        self.assertIn("state=MI/month=2026-01 and state=Michigan/month=2026-01", found[0]["what"])

    def test_a_key_that_tells_the_partitions_apart(self):
        self.load_both(self.SPEC.replace("[queue_id]", "[queue_id, state]"))
        self.assertEqual(self.keys(), [])

    def test_no_more_memory_than_is_given(self):
        rows = [(f"Q{i:06}", "Michigan" if i % 2 else "WI") for i in range(60000)]
        self.load_both(self.SPEC, rows=rows)
        told = self.recloser_json("doctor", "spec.yaml", "--memory", "64MB")
        (found,) = [f for f in told["findings"] if f["area"] == "keys"]
        self.assertIn("30,000 keys are live in more than one partition", found["what"])


main()
