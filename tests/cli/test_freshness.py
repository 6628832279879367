# SPDX-License-Identifier: Apache-2.0
"""The freshness window: how far back a load replaces partitions that are there already, what --backfill opens, and that a run
which is tried again looks through the window of its first attempt."""
import fcntl
import json
import os
import signal
import subprocess
import time

from loading import Loading
from support import CONFLICT, HELD, PROGRAM, USAGE, main

FIELDS = {"key": "{identity: [id]}", "partition": "[state, month]", "series": "month", "revision": None, "geometry": None}
MONTHS = ("2026-03", "2026-04", "2026-05", "2026-06", "2026-07")


def at(day):
    return {"RECLOSER_TEST_NOW": f"{day}T12:00:00Z"}


JULY = at("2026-07-15")


class Freshness(Loading):
    def windowed(self, window="3 months", column="month", **fields):
        return self.queue_spec({"capacity": "{type: double}"}, **{**FIELDS, "freshness": f"{{column: {column}, window: {window}}}", **fields})

    def publication(self, capacity, months=MONTHS, name=None, ids="AB"):
        lines = ["id,state,month,capacity", *(f"{i},TX,{m},{capacity}" for m in months for i in ids)]
        return self.write(name or f"{capacity}.csv", "\n".join(lines) + "\n")

    def outcomes(self, report):
        return {p["partition"].rsplit("=", 1)[1]: p["outcome"] for p in report["partitions"]}

    def capacities(self):
        return {p.rsplit("=", 1)[1]: self.table(p, "max(capacity)")[0][0] for p in self.partitions()}

    def attempts(self):
        return sorted((self.control / "attempts").glob("*.json"))

    def frozen(self, report):
        return [month for month, outcome in self.outcomes(report).items() if outcome == "frozen"]


class Window(Freshness):
    def test_older_partitions_are_frozen(self):
        spec = self.windowed()
        first = self.load(spec, self.publication(1), env=JULY)
        self.assertEqual((first["frozen"], first["warnings"]), (0, []))  # nothing was there: nothing to protect
        report = self.load(spec, self.publication(2), env=JULY)
        self.assertEqual(self.outcomes(report), {"2026-03": "frozen", **{m: "replaced" for m in MONTHS[1:]}})
        self.assertEqual((report["rows_in"], report["rows_written"], report["frozen"]), (10, 8, 2))
        self.assertEqual(report["warnings"],
                         ["1 partition before the freshness window differs in the source: state=TX/month=2026-03; --backfill loads it"])
        self.assertTrue(report["partitions"][0]["differs"])
        self.assertEqual(self.capacities(), {"2026-03": 1, **{m: 2 for m in MONTHS[1:]}})
        self.assertEqual(self.attempts(), [])
        # Not taken for unchanged: what is frozen is said again.
        again = self.load(spec, self.dir / "2.csv", env=JULY)
        self.assertEqual((again["outcome"], again["frozen"], len(again["warnings"])), ("unchanged", 2, 1))
        self.assertNotIn("equals_run", again)

    def test_frozen_and_equal_is_no_warning(self):
        spec = self.windowed()
        self.load(spec, self.publication(1), env=JULY)
        report = self.load(spec, self.dir / "1.csv", "--force", env=JULY)
        self.assertEqual((self.frozen(report), report["warnings"]), (["2026-03"], []))

    def test_backfill(self):
        spec = self.windowed("1 months")
        late = at("2026-12-01")
        self.load(spec, self.publication(1), env=late)
        for capacity, argument, expected in (
                (2, "--backfill=2026-04..2026-05", {"2026-04", "2026-05"}), (3, "--backfill=2026-06..", {"2026-06", "2026-07"}),
                (4, "--backfill=..2026-03", {"2026-03"}), (5, "--backfill=2026-05", {"2026-05"}),
                (6, "--backfill=2026-04-10..2026-05-02", {"2026-04", "2026-05"}), (7, "--backfill", set(MONTHS))):
            with self.subTest(argument=argument):
                file = self.publication(capacity)
                self.assertEqual(self.frozen(self.load(spec, file, env=late)), list(MONTHS))
                report = self.load(spec, file, argument, env=late)
                self.assertEqual({m for m, o in self.outcomes(report).items() if o == "replaced"}, expected)
                self.assertEqual(set(self.frozen(report)), set(MONTHS) - expected)

    def test_backfill_of_no_date(self):
        spec = self.windowed()
        said = self.recloser("load", spec, self.publication(1), "--backfill=spring..2026-05", code=USAGE).err
        self.assertIn('--backfill: "spring" is no date', said)
        self.assertFalse((self.dir / "lake").exists())

    def test_many_frozen_are_one_warning(self):
        months = [f"{year}-{month:02}" for year in (2024, 2025) for month in range(1, 13)]
        spec = self.windowed()
        self.load(spec, self.publication(1, months), env=JULY)
        self.publication(2, months[1:], name="half.csv")
        with open(self.dir / "half.csv", "a") as file:
            file.writelines(f"{i},TX,2024-01,1\n" for i in "AB")
        report = self.load(spec, self.dir / "half.csv", env=JULY)
        self.assertEqual(report["warnings"], ["23 partitions before the freshness window differ in the source: state=TX/month=2024-02, "
                                              "state=TX/month=2024-03, state=TX/month=2024-04, ...; --backfill loads them"])
        self.assertEqual([p["differs"] for p in report["partitions"]], [False] + 23 * [True])

    def test_backfill_of_a_range_that_is_turned_round(self):
        spec = self.windowed()
        for argument in ("2026-05..2026-01", "2026-05-02..2026-04", "2027..2026-12"):
            said = self.recloser("load", spec, self.publication(1), f"--backfill={argument}", code=USAGE).err
            self.assertIn("the range ends before it begins", said)
        self.load(spec, self.publication(1), "--backfill=2026-05-02..2026-05")

    def test_backfill_without_a_window(self):
        report = self.load(self.windowed(freshness=None), self.publication(1), "--backfill")
        self.assertEqual(report["warnings"], ["--backfill has nothing to open: the spec has no freshness window"])

    def test_ends_of_months(self):
        """Three months before 31 May is the last day of February, not the third of March."""
        spec = self.windowed()
        months = ("2026-01", "2026-02", "2026-03")
        self.load(spec, self.publication(1, months), env=at("2026-05-31"))
        self.assertEqual(self.frozen(self.load(spec, self.publication(2, months), env=at("2026-05-31"))), ["2026-01"])

    def test_units_and_forms(self):
        for window, form, inside, outside in (("10 days", "{0}-{1}-{2}", "2026-07-05", "2026-07-04"), ("2 weeks", "{0}{1}{2}", "20260701", "20260630"),
                                              ("1 years", "{0}", "2025", "2024"), ("12 months", "{0}{1}", "202507", "202506")):
            with self.subTest(window=window):
                self.lake = "lake_" + window.replace(" ", "_")
                spec = self.windowed(window, root=self.lake)
                values = (outside, inside)
                self.load(spec, self.publication(1, values), env=JULY)
                report = self.load(spec, self.publication(2, values), env=JULY)
                self.assertEqual(self.outcomes(report), {outside: "frozen", inside: "replaced"})

    def test_what_is_no_date_is_not_frozen(self):
        spec = self.windowed()
        self.load(spec, self.publication(1, ["07-2026", "unknown"]), env=JULY)
        report = self.load(spec, self.publication(2, ["07-2026", "unknown"]), env=JULY)
        self.assertEqual(self.outcomes(report), {"07-2026": "replaced", "unknown": "replaced"})
        self.assertIn('month is "07-2026", which is no date (2026, 2026-07, 2026-07-15): the freshness window does not hold for it',
                      report["warnings"])

    def test_carry_leaves_frozen_partitions_alone(self):
        spec = self.windowed(disappeared="carry")
        self.load(spec, self.publication(1), env=JULY)
        report = self.recloser_json("load", spec, self.publication(2, ids="A"), env=JULY)
        self.assertEqual((report["rows_in"], report["carried"], report["rows_written"], report["frozen"]), (5, 4, 8, 1))
        self.assertEqual(self.table("state=TX/month=2026-03", "id, carried", "id"), [("A", False), ("B", False)])


class Attempts(Freshness):
    """A load that failed in July and is tried again in October is July's load."""

    def hold_lock(self):
        lock = open(self.control / "lock", "a+")
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def start(self, window="3 months", **fields):
        spec = self.windowed(window, **fields)
        self.load(spec, self.publication(1, MONTHS), env=at("2026-07-01"))
        return spec

    def assert_july(self, report):
        self.assertEqual(self.outcomes(report), {"2026-03": "frozen", **{m: "replaced" for m in MONTHS[1:]}})

    def test_conflict_then_again(self):
        spec = self.start()
        file = self.publication(2)
        with self.hold_lock():
            report = self.recloser_json("load", spec, file, "--wait", "0", code=CONFLICT, env=JULY)
            self.assertEqual((report["outcome"], report["rows_written"]), ("conflict", 0))
        self.assertEqual(len(self.attempts()), 1)
        self.assertEqual(json.loads(self.attempts()[0].read_text())["first"][:10], "2026-07-15")
        self.assertEqual(self.frozen(self.recloser_json("load", spec, file, "--dry-run", env=at("2026-10-15"))), ["2026-03"])
        self.assert_july(self.load(spec, file, env=at("2026-10-15")))
        self.assertEqual(self.attempts(), [])
        # It is through: the next publication has a window of its own.
        self.assertEqual(self.frozen(self.load(spec, self.publication(3), env=at("2026-10-15"))), list(MONTHS[:4]))

    def test_killed_after_staging(self):
        spec = self.start()
        file = self.publication(2)
        with self.hold_lock():
            running = subprocess.Popen([PROGRAM, "load", spec, file, "--wait", "60"], cwd=self.dir, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env={**os.environ, **JULY})
            deadline = time.monotonic() + 30
            while not list(self.control.glob("staging/*/plan.json")) and not self.attempts() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.3)
            running.send_signal(signal.SIGKILL)
            running.wait()
        self.assertEqual(len(self.attempts()), 1)
        self.assertEqual(set(self.capacities().values()), {1})
        self.assert_july(self.load(spec, file, env=at("2026-10-15")))
        self.assertEqual(self.attempts(), [])

    def test_held_then_accepted(self):
        spec = self.start(disappeared="hold")
        file = self.publication(2, ids="A")
        report = self.load(spec, file, code=HELD, env=JULY)
        self.assertEqual((self.frozen(report), report["held"]), (["2026-03"], 4))
        self.assert_july(self.load(spec, file, "--accept", "disappeared", env=at("2026-10-15")))
        self.assertEqual(self.attempts(), [])

    def test_refused_leaves_nothing(self):
        spec = self.start(disappeared="refuse")
        self.refused(spec, self.publication(2, ids="A"), env=JULY)
        self.assertFalse((self.control / "attempts").exists() and self.attempts())


class Foreign(Freshness):
    def test_a_file_without_ledger_is_frozen_as_well(self):
        duckdb = self.need("duckdb")
        live = self.live("state=TX/month=2026-01")
        live.parent.mkdir(parents=True)
        duckdb.sql(f"COPY (SELECT 'A' AS id, 1.0::DOUBLE AS capacity) TO '{live}' (FORMAT parquet)")
        before = self.tree("lake/queue")
        report = self.load(self.windowed(), self.publication(2, ["2026-01"]), env=JULY)
        self.assertEqual(self.frozen(report), ["2026-01"])
        self.assertEqual(self.tree("lake/queue"), before)


if __name__ == "__main__":
    main()
