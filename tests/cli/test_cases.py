# SPDX-License-Identifier: Apache-2.0
"""Faults that users of similar tools met, as small cases with the right answer worked out (cases/*/expected.md): partition
values, repeated and concurrent loads, files that are left or cut. The values inside rows are in test_cases_values.py."""
import fcntl
import os
import pathlib
import re
import subprocess
import threading
import unittest

from loading import Loading
from support import CONFLICT, IO, OK, main, recloser, sha256

TX = "state=TX/month=2026-07"
NM = "state=NM/month=2026-07"


class PartitionValues(Loading):
    def test_01_leading_zero(self):
        spec = self.queue_spec(key="{identity: [plant_id]}", partition="[fips]")
        report = self.load(spec, self.case("01-fips-leading-zero/plants.csv"))
        self.assertEqual((report["outcome"], report["rows_in"], report["rows_written"]), ("loaded", 4, 4))
        self.assertEqual({p["partition"]: p["rows"] for p in report["partitions"]}, {"fips=01": 2, "fips=02": 1, "fips=13": 1})
        self.assertEqual(self.partitions(), ["fips=01", "fips=02", "fips=13"])
        self.assertEqual(self.table("fips=01", "plant_id, fips"), [("P1", "01"), ("P2", "01")])
        self.assertEqual(self.table("fips=02", "fips, typeof(fips)"), [("02", "VARCHAR")])
        self.assertTrue(any("01" in w and "prefix" in w for w in report["warnings"]), report["warnings"])
        self.recloser("verify", spec)

    def test_02_date_and_time(self):
        spec = self.queue_spec(partition="[snapshot_at]", revision=None)
        source = self.case("02-timestamp-partition-value/snap.csv")
        report = self.load(spec, source)
        six, eighteen = "snapshot_at=2026-07-01%2006%3A00%3A00", "snapshot_at=2026-07-01%2018%3A00%3A00"
        self.assertEqual(self.partitions(), [six, eighteen])
        self.assertEqual([p["rows"] for p in report["partitions"]], [2, 1])
        self.assertEqual(self.table(six, "queue_id, snapshot_at"), [("Q1", "2026-07-01 06:00:00"), ("Q2", "2026-07-01 06:00:00")])
        self.assertEqual(self.table(eighteen, "queue_id, snapshot_at"), [("Q1", "2026-07-01 18:00:00")])
        again = self.load(spec, source, "--force")
        self.assertEqual([p["outcome"] for p in again["partitions"]], ["unchanged", "unchanged"])

    def test_03_blank_state(self):
        spec = self.queue_spec(quarantine="{max: 100%}")
        report = self.load(spec, self.case("03-blank-state/queue.csv"))
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (4, 3, 1))
        self.assertEqual(self.partitions(), [NM, TX])
        ((reason, column, value, row, line),) = self.quarantine(report, "reason, \"column\", value, row_number, row")
        self.assertEqual((column, value, row), ("state", None, 4))
        self.assertIn("missing", reason)
        self.assertIn('"Q4"', line)

    def test_04_the_text_null(self):
        spec = self.queue_spec(quarantine="{max: 100%}")
        report = self.load(spec, self.case("04-literal-NULL-text/queue.csv"))
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (4, 3, 1))
        self.assertEqual(self.table("state=NULL/month=2026-07", "queue_id, state"), [("Q2", "NULL"), ("Q3", "NULL")])
        self.assertEqual(self.table(TX, "queue_id, state"), [("Q1", "TX")])
        self.assertIn('"Q4"', self.quarantine(report, "row")[0][0])

    def test_05_slash_and_percent(self):
        spec = self.queue_spec(partition="[area]")
        source = self.case("05-slash-and-percent/areas.csv")
        report = self.load(spec, source)
        self.assertEqual(len(report["partitions"]), 5)
        self.assertEqual({p["rows"] for p in report["partitions"]}, {1})
        folders = sorted(p.name for p in self.tree_path.iterdir())
        self.assertEqual(folders, sorted(["area=AC%2FDC%20Tie", "area=Zone%205", "area=..%2FTX", "area=A%2FB", "area=A%252FB"]))
        self.assertEqual(self.partitions(), folders)
        self.assertEqual(sorted(p.name for p in (self.dir / "lake").iterdir()), ["_recloser", "queue"])
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["lake", "spec.yaml"])
        self.assertEqual(self.table("area=A%252FB", "area"), [("A%2FB",)])
        self.assertEqual(self.table("area=..%2FTX", "area"), [("../TX",)])
        self.assertEqual([p["outcome"] for p in self.load(spec, source, "--force")["partitions"]], ["unchanged"] * 5)

    def test_06_revise_an_escaped_one(self):
        spec = self.queue_spec(partition="[area]")
        folder = self.case("06-revise-escaped-partition")
        partition = "area=Zone%205%2F6%20%40%20Main%20St."
        self.load(spec, folder / "v1.csv")
        first = sha256(self.live(partition))
        report = self.load(spec, folder / "v2.csv")
        self.assertEqual([(p["outcome"], p["seq"], p["revised"]) for p in report["partitions"]], [("replaced", 2, 1)])
        self.assertEqual(self.partitions(), [partition])
        self.assertEqual(self.table(partition, "queue_id, capacity_mw"), [("Q1", 15.0), ("Q2", 10.0)])
        records = self.ledger(partition)
        self.assertEqual([r["file"]["sha256"] for r in records], [first, sha256(self.live(partition))])
        archived = self.archive()
        self.assertEqual(len(archived), 2)
        again = self.load(spec, folder / "v2.csv")
        self.assertEqual(again["outcome"], "unchanged")
        self.assertEqual(self.archive(), archived)

    def test_35_in_file_and_path(self):
        self.load(self.queue_spec(), self.case("35-column-in-file-and-path/july.csv"))
        rows = [("Q1", "TX", "2026-07"), ("Q2", "TX", "2026-07"), ("Q3", "NM", "2026-07")]
        files = f"{self.tree_path}/**/*.parquet"
        for options in ("hive_partitioning=true, hive_types={'state': VARCHAR, 'month': VARCHAR}", "hive_partitioning=false"):
            self.assertEqual(self.query(f"SELECT queue_id, CAST(state AS VARCHAR), CAST(month AS VARCHAR) FROM read_parquet('{files}', {options}) "
                                        "ORDER BY 1"), rows)

    def test_35_pandas_and_arrow(self):
        pandas = self.need("pandas")
        self.need("pyarrow")
        self.load(self.queue_spec(), self.case("35-column-in-file-and-path/july.csv"))
        frame = pandas.read_parquet(self.tree_path)
        self.assertEqual(sorted(c for c in frame.columns if c in ("state", "month")), ["month", "state"])
        self.assertEqual(sorted(zip(frame.queue_id, frame.state.astype(str), frame.month.astype(str))),
                         [("Q1", "TX", "2026-07"), ("Q2", "TX", "2026-07"), ("Q3", "NM", "2026-07")])

    def test_47_more_partitions_than_descriptors(self):
        spec = self.queue_spec(partition="[county, month]")
        source = self.case("47-more-partitions-than-descriptors/counties.csv")
        report = self.load(spec, source, command_prefix=["sh", "-c", 'ulimit -n 40; exec "$@"', "sh"], timeout=300)
        self.assertEqual((report["rows_in"], report["rows_written"], len(report["partitions"])), (600, 600, 600))
        self.assertEqual({(p["rows"], p["outcome"]) for p in report["partitions"]}, {(1, "new")})
        self.assertEqual(len(self.partitions()), 600)

    def test_48_upper_and_lower(self):
        report = self.load(self.queue_spec(), self.case("48-state-upper-lower/case.csv"))
        self.assertEqual({p["partition"]: p["rows"] for p in report["partitions"]},
                         {TX: 2, "state=tx/month=2026-07": 2})
        self.assertEqual(report["rows_written"], 4)
        self.assertTrue(any("letter case" in w and "TX" in w and "tx" in w for w in report["warnings"]), report["warnings"])

    def test_49_composed_and_decomposed(self):
        spec = self.queue_spec({}, partition="[area]", revision=None)
        source = self.case("49-composed-decomposed-partition/nf.csv")
        report = self.load(spec, source)
        self.assertEqual((report["rows_written"], len(report["partitions"])), (2, 2))
        self.assertEqual(len(self.partitions()), 2)
        self.assertTrue(any("Unicode form" in w for w in report["warnings"]), report["warnings"])
        again = self.load(spec, source, "--force")
        self.assertEqual([p["outcome"] for p in again["partitions"]], ["unchanged", "unchanged"])
        self.assertTrue(any("Unicode form" in w for w in again["warnings"]), again["warnings"])


class Repeated(Loading):
    def test_07_twice(self):
        spec = self.queue_spec()
        source = self.case("07-load-twice/july.csv")
        first = self.load(spec, source)
        self.assertEqual({p["partition"]: p["rows"] for p in first["partitions"]}, {TX: 3, NM: 2})
        total = f"SELECT count(*), sum(capacity_mw) FROM read_parquet('{self.tree_path}/**/*.parquet')"
        self.assertEqual(self.query(total), [(5, 375.0)])
        before, archived = self.everything(), self.archive()
        second = self.load(spec, source)
        self.assertEqual((second["outcome"], second["rows_written"], second["rows_unchanged"]), ("unchanged", 0, 5))
        self.assertEqual([p["outcome"] for p in second["partitions"]], ["unchanged", "unchanged"])
        self.assertEqual(self.everything(), before)
        self.assertEqual(self.archive(), archived)
        self.assertEqual(self.query(total), [(5, 375.0)])
        text = self.recloser("load", spec, source)
        self.assertRegex(text.out, r"^queue  unchanged: this file was loaded on 20\d\d-\d\d-\d\d as run " + first["run"])

    def test_08_neighbour(self):
        spec = self.queue_spec()
        folder = self.case("08-neighbour-untouched")
        self.load(spec, folder / "both.csv")
        before = (sha256(self.live(TX)), self.live(TX).stat().st_mtime_ns, self.live(TX).stat().st_ino)
        report = self.load(spec, folder / "nm_only.csv")
        self.assertEqual((sha256(self.live(TX)), self.live(TX).stat().st_mtime_ns, self.live(TX).stat().st_ino), before)
        self.assertEqual(self.table(TX, "count(*)"), [(3,)])
        self.assertEqual(self.table(NM, "queue_id, capacity_mw"), [("Q9", 44.0)])
        self.assertEqual((report["disappeared"], report["absent"]), (2, [TX]))  # TX came with NM before, and is only listed
        self.assertEqual(self.gone(report, "partition, queue_id"), [(NM, "Q4"), (NM, "Q5")])

    def test_09_bad_batch(self):
        spec = self.queue_spec()
        folder = self.case("09-bad-batch-keeps-old")
        self.load(spec, folder / "good.csv")
        error = self.refused(spec, folder / "bad.csv", said=["queue_id", "poi_name"])
        self.assertIn("queue_id", error["what"])
        self.assertEqual(self.table(TX, "count(*)"), [(3,)])

    def test_45_same_size_and_time(self):
        spec = self.queue_spec()
        folder = self.case("45-same-size-other-content")
        time = 1_783_209_600_000_000_000
        first = self.load(spec, self.copy(folder / "v1.csv", "in.csv", time))
        second = self.load(spec, self.copy(folder / "v2.csv", "in.csv", time))
        self.assertEqual((folder / "v1.csv").stat().st_size, (folder / "v2.csv").stat().st_size)
        self.assertEqual([p["outcome"] for p in second["partitions"]], ["replaced"])
        self.assertEqual(self.table(TX, "queue_id, capacity_mw"), [("Q1", 100.0), ("Q2", 151.0)])
        self.assertNotEqual(first["sources"][0]["sha256"], second["sources"][0]["sha256"])
        records = self.ledger(TX)
        self.assertEqual([r["sources"][0]["sha256"] for r in records], [sha256(folder / "v1.csv"), sha256(folder / "v2.csv")])

    def test_46_fresh_roots(self):
        source = self.case("46-fresh-roots-same-bytes/july.csv")
        a = self.queue_spec(root="lake", name="a.yaml")
        b = self.queue_spec(root="other/place/lake", name="b.yaml")
        self.load(a, source)
        copy = self.copy(source, "elsewhere/renamed.csv")
        home = self.dir / "home"
        home.mkdir()
        self.recloser_json("load", b, copy, env={"HOME": home, "USER": "somebody", "LOGNAME": "somebody", "HOSTNAME": "elsewhere"})
        parts = {p: sha256(self.live(p)) for p in self.partitions()}
        self.assertEqual({p: sha256(self.live(p, "other/place/lake")) for p in self.partitions("other/place/lake")}, parts)
        content = b"".join(self.live(p).read_bytes() for p in parts)
        for word in (str(self.dir), "somebody", "july.csv", os.uname().nodename, "lake"):
            self.assertNotIn(word.encode(), content)

    def test_50_header_only(self):
        spec = self.queue_spec()
        folder = self.case("50-header-only-source")
        self.load(spec, folder / "good.csv")
        archived = self.archive()
        error = self.refused(spec, folder / "empty.csv", said=["no rows", "empty.csv", "--allow-empty"])
        self.assertEqual(error["code"], "source.no_rows")
        self.assertEqual(self.table(TX, "count(*)"), [(3,)])
        self.assertEqual(self.archive(), archived)


class TwoWriters(Loading):
    ROUNDS = 20

    def test_10_two_writers(self):
        # From the second round on, both files were live before: the guard `older` would rightly hold them back.
        spec = self.queue_spec(guards="{older: allow, key_churn: allow}")
        folder = self.case("10-two-writers-existing")
        self.load(spec, folder / "seed.csv")
        known = len(self.ledger(TX))
        for i in range(self.ROUNDS):
            runs = {}

            def one(name):
                runs[name] = recloser("load", spec, folder / f"{name}.csv", "--json", cwd=self.dir)

            threads = [threading.Thread(target=one, args=(name,)) for name in ("a", "b")]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            with self.subTest(round=i):
                self.assertIn(self.table(TX, "queue_id"), ([(f"A{n}",) for n in range(1, 5)], [(f"B{n}",) for n in range(1, 6)]))
                for run in runs.values():
                    self.assertIn(run.code, (OK, CONFLICT), str(run))
                    self.assert_adds_up(run.json)
                    if run.code == CONFLICT:
                        self.assertIn("another", run.json["error"]["what"] + run.json["error"]["where"], str(run))
                self.assert_nothing_staged()
                records = self.ledger(TX)
                made = {p["seq"] for run in runs.values() if run.code == OK for p in run.json["partitions"] if p["outcome"] == "replaced"}
                self.assertEqual({r["seq"] for r in records[known:]}, made)
                self.assertEqual(sha256(self.live(TX)), records[-1]["file"]["sha256"])
                known = len(records)
        self.assertGreater(known, self.ROUNDS)


class Leftovers(Loading):
    def test_lists_of_a_run_that_decided_nothing(self):
        """Quarantine and disappeared keys lie in their places before a run decides; without a decision they are gone again."""
        spec = self.queue_spec(quarantine="{max: 100%}")
        head = "queue_id,state,month,capacity_mw,published_at,lon,lat\n"
        self.load(spec, self.write("a.csv", head + "Q1,TX,2026-07,1,2026-07-02,-97,31\nQ2,TX,2026-07,1,2026-07-02,-97,31\n"))
        news = self.write("b.csv", head + "Q1,TX,2026-07,2,2026-07-03,-97,31\nQ3,TX,2026-07,x,2026-07-03,-97,31\n")
        lists = lambda: sorted(p.name for folder in ("quarantine", "disappeared") for p in (self.control / folder).glob("*.pq"))
        with open(self.control / "lock", "a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            report = self.load(spec, news, "--wait", "0", code=CONFLICT)
        self.assertEqual((report["quarantine"], report["disappeared_file"], report["quarantined"]), (None, None, 1))
        part = report["partitions"][0]
        self.assertEqual((part["outcome"], part["seq"], part["sha256"]), ("conflict", 1, sha256(self.live(TX))))
        self.assertEqual(lists(), [])
        # A killed run's go with its staging, unless it has a report that names them.
        for run in ("20260101T0000Z-dead", "20260101T0001Z-told"):
            for name in (f"staging/{run}/alive", f"quarantine/{run}.pq", f"disappeared/{run}.pq"):
                self.write(f"lake/_recloser/queue/{name}", "")
        self.write("lake/_recloser/queue/runs/20260101T0001Z-told.json", "{}")
        report = self.load(spec, news)
        own = [report["quarantine"].split("/")[1], report["disappeared_file"].split("/")[1]]
        self.assertEqual(lists(), sorted(own + ["20260101T0001Z-told.pq"] * 2))

    def test_11_hidden_neighbours(self):
        folder = self.case("11-hidden-neighbours")
        self.copy_tree(folder / "root", "lake/queue")
        stale = ".staging-00000000000000000000000000000000.parquet"
        old = sha256(self.live(TX))
        spec = self.queue_spec()
        report = self.load(spec, folder / "july.csv")
        self.assertEqual(self.table(TX, "queue_id"), [("Q1",), ("Q2",), ("Q3",)])
        left = sorted(p.name for p in (self.tree_path / TX).iterdir())
        self.assertEqual(left, [".DS_Store", stale, "_SUCCESS", "part.parquet"])
        self.assertTrue(any(stale in w for w in report["warnings"]), report["warnings"])
        records = self.ledger(TX)
        self.assertEqual([(r["kind"], r["file"]["sha256"]) for r in records], [("adopted", old), ("version", sha256(self.live(TX)))])
        self.assertEqual([r["file"]["rows"] for r in records], [1, 3])
        self.recloser("verify", spec, TX, "--expect-rows", 3)
        found = self.recloser_json("recover", spec)
        self.assertEqual(sorted(found["foreign"]), sorted(f"{TX}/{name}" for name in (".DS_Store", stale, "_SUCCESS")))

    def test_12_stale_staging(self):
        folder = self.case("12-stale-staging-sweep")
        self.copy_tree(folder / "root", "lake/queue")
        stale = [f".staging-{letter * 32}.parquet" for letter in "abc"]
        spec = self.queue_spec()
        report = self.load(spec, folder / "july.csv")
        self.assertEqual(self.table(TX, "queue_id"), [("Q1",), ("Q2",)])
        for name in stale:
            self.assertTrue(any(name in w for w in report["warnings"]), report["warnings"])
        found = self.recloser_json("recover", spec)
        self.assertEqual(sorted(found["foreign"]), [f"{TX}/{name}" for name in stale])
        text = self.recloser("recover", spec)
        for name in stale:
            self.assertIn(name, text.out)
        self.assertEqual(sorted(p.name for p in (self.tree_path / TX).iterdir()), [*stale, "part.parquet"])

    def test_13_cut_last_byte(self):
        spec = self.queue_spec()
        folder = self.case("13-cut-last-byte")
        self.load(spec, folder / "good.csv")
        error = self.refused(spec, folder / "cut.parquet", said=["cut.parquet", "Parquet"])
        self.assertRegex(error["what"], "complete|cut|end")
        self.assertEqual(self.table(TX, "count(*)"), [(2,)])


@unittest.skipUnless(os.access("/usr/bin/strace", os.X_OK), "no strace here")
class Traced(Loading):
    def trace(self, calls, spec, source, env=None):
        log = self.dir / "trace"
        prefix = ["strace", "-f", "-y", "-s", "0", "-e", f"trace={calls}", "-o", log]
        # A sanitizer's search for leaks does not work under a tracer.
        report = self.load(spec, source, command_prefix=prefix, env={"ASAN_OPTIONS": "detect_leaks=0", **(env or {})})
        return report, log.read_text(errors="replace").splitlines()

    def test_15_temp_folder_elsewhere(self):
        memory = pathlib.Path("/dev/shm")
        if not os.access(memory, os.W_OK) or memory.stat().st_dev == self.dir.stat().st_dev:
            self.skipTest("no second file system to write to")
        elsewhere = memory / self.dir.name
        elsewhere.mkdir()
        self.addCleanup(elsewhere.rmdir)
        report, lines = self.trace("openat,creat,rename,renameat,renameat2,link,linkat,copy_file_range,sendfile,mkdir,mkdirat", self.queue_spec(),
                                   self.case("15-tmpdir-elsewhere/july.csv"), {"TMPDIR": elsewhere})
        self.assertEqual(report["rows_written"], 2)
        self.assertEqual(self.table(TX, "count(*)"), [(2,)])
        done = [line for line in lines if re.search(r"= -?\d", line) and "= -1" not in line]
        renames = [line for line in done if re.search(r" rename\w*\(", line) and line.count("part.parquet") and "/queue/state=TX" in line]
        self.assertEqual(len(renames), 1, renames)
        self.assertFalse([line for line in done if re.search("copy_file_range|sendfile", line)])
        live = str(self.live(TX).relative_to(self.dir))
        self.assertFalse([line for line in done if live in line and "O_CREAT" in line], "the live file was written in place")
        self.assertTrue([line for line in done if "lake/_recloser/queue/staging/" in line and "O_CREAT" in line and "state=TX" in line])
        self.assertFalse([line for line in done if str(elsewhere) in line and "O_CREAT" in line], "something was made in TMPDIR")
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_17_sync_before_rename(self):
        _, lines = self.trace("write,pwrite64,writev,pwritev,fsync,fdatasync,syncfs,rename,renameat,renameat2,link,linkat", self.queue_spec(),
                              self.case("17-fsync-before-rename/july.csv"))
        def at(pattern):
            found = [i for i, line in enumerate(lines) if re.search(pattern, line) and "= -1" not in line]
            self.assertTrue(found, f"no call like {pattern}")
            return found
        staged = r"staging/[^>]*state=TX[^>]*/part>"
        written = at(rf"write(v|64)?\(\d+<[^>]*{staged}")
        synced = [i for i in at(rf"(fsync|fdatasync)\(\d+<[^>]*{staged}|syncfs\(") if i > written[-1]]
        decided = at(r"link(at)?\(.*commits/\d+\.json")
        renamed = at(r"rename\w*\(.*state=TX/month=2026-07/part\.parquet")
        self.assertTrue(synced, "the staged file is not synced after its last write")
        self.assertLess(synced[0], decided[0], "decided before the data are on disk")
        self.assertLess(decided[0], renamed[0])
        after = [i for i in at(r"fsync\(|syncfs\(") if i > renamed[-1]]
        self.assertTrue(after, "the folder is not synced after the rename")


if __name__ == "__main__":
    main()
