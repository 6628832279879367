# SPDX-License-Identifier: Apache-2.0
"""What `verify` finds: live files that are not what their records say, and files that no record tells of; and that a load under
another layout can't put such files beside the live ones."""
import json
import os
import shutil

from loading import Loading
from support import FAULT, USAGE, main

HEAD = "queue_id,state,month,capacity_mw,published_at,lon,lat\n"
ROWS = HEAD + "".join(f"Q{i},{state},2026-07,{i},2026-07-02,-97,31\n" for i, state in enumerate(("TX", "TX", "OK")))
TX, OKLAHOMA = "state=TX/month=2026-07", "state=OK/month=2026-07"


class Verify(Loading):
    def setUp(self):
        super().setUp()
        self.spec_path = self.queue_spec()
        self.load(self.spec_path, self.write("a.csv", ROWS))

    def faults(self, *more):
        """The faults of each partition that has some, from the report of a verify that found at least one."""
        report = self.recloser_json("verify", self.spec_path, *more, code=FAULT)
        self.assertEqual(report["outcome"], "fault")
        found = {p["partition"]: p["faults"] for p in report["partitions"] if p["faults"]}
        self.assertEqual(sum(map(len, found.values())), report["faults"])
        return found

    def record(self, partition, change):
        path = self.control / "ledger" / partition / "00000001.json"
        record = json.loads(path.read_text())
        change(record)
        path.unlink()
        path.write_text(json.dumps(record))

    def test_two_parts_exchanged(self):
        one, other = self.live(TX), self.live(OKLAHOMA)
        aside = self.dir / "aside"
        os.rename(one, aside)
        os.rename(other, one)
        os.rename(aside, other)
        found = self.faults()
        self.assertEqual(sorted(found), [OKLAHOMA, TX])
        self.assertIn("the footer says state=OK, the path TX", found[TX])

    def test_totals_are_of_what_lies_there(self):
        """Of another program's file the rows that were read; by the records only where that is said."""
        duckdb = self.need("duckdb")
        self.live(TX).unlink()
        duckdb.connect().execute(f"COPY (SELECT 'x' AS queue_id FROM range(70)) TO '{self.live(TX)}' (FORMAT parquet)")
        report = self.recloser_json("verify", self.spec_path, "--expect-rows", "71", code=FAULT)
        self.assertEqual({p["partition"]: p["rows"] for p in report["partitions"]}, {OKLAHOMA: 1, TX: 70})
        self.assertEqual((report["rows"], report["bytes"]), (71, self.live(TX).stat().st_size + self.live(OKLAHOMA).stat().st_size))
        self.assertNotIn("71 expected", self.recloser("verify", self.spec_path, "--expect-rows", "71", code=FAULT).out)
        self.assertIn(" by the records, ", self.recloser("verify", self.spec_path, "--quick", code=FAULT).out)
        status = self.recloser("status", self.spec_path).out
        self.assertRegex(status, "3 rows   [0-9.]+ kB   by the records: 1 live file is not what its record says")
        self.assertEqual(self.recloser_json("status", self.spec_path)["not_as_recorded"], 1)
        self.live(TX).unlink()
        self.assertEqual(self.recloser_json("verify", self.spec_path, code=FAULT)["rows"], 1)
        self.assertIn("by the records", self.recloser("status", self.spec_path).out)

    def test_part_without_record(self):
        shutil.copytree(self.tree_path / "state=TX", self.tree_path / "state=ZZ")
        self.assertEqual(list(self.faults()), ["state=ZZ/month=2026-07"])
        self.recloser("verify", self.spec_path, TX)  # only this was asked

    def test_record_that_is_gone(self):
        shutil.rmtree(self.control / "ledger" / TX)
        found = self.faults()
        self.assertEqual(list(found), [TX])
        self.assertIn("no record", found[TX][0])

    def test_other_parquet_files(self):
        for name in ("other.parquet", ".hidden.parquet", "_SUCCESS"):
            shutil.copy(self.live(TX), self.tree_path / TX / name)
        self.assertEqual(sorted(self.faults()), [f"{TX}/.hidden.parquet", f"{TX}/other.parquet"])

    def test_figures_of_the_record(self):
        self.record(TX, lambda r: r["file"].update(bytes=1))
        self.record(OKLAHOMA, lambda r: r["file"].update(rows=7))
        found = self.faults()
        self.assertRegex(found[TX][0], "^[0-9]+ bytes, the record says 1$")
        self.assertEqual(found[OKLAHOMA], ["1 rows instead of 7"])

    def test_adopted_rows_are_counted(self):
        shutil.rmtree(self.dir / "lake" / "_recloser")
        self.recloser_json("load", self.spec_path, self.dir / "a.csv")
        report = self.recloser_json("verify", self.spec_path)
        self.assertEqual((report["rows"], report["faults"]), (3, 0))
        self.assertEqual({p["partition"]: p["rows"] for p in report["partitions"]}, {TX: 2, OKLAHOMA: 1})

    def test_archive_that_is_missing_or_damaged(self):
        self.load(self.spec_path, self.write("b.csv", ROWS.replace("Q0,TX", "Q9,TX")))
        report = self.recloser_json("verify", self.spec_path, "--archive")
        self.assertEqual((report["faults"], report["archived"]), (0, 3))
        first = self.control / json.loads((self.control / "ledger" / TX / "00000001.json").read_text())["archive"]
        whole = first.read_bytes()
        os.unlink(first)
        self.assertIn("archived file of seq 1 is missing", self.faults()[TX][0])
        self.assertIn(first.name, self.faults(TX)[TX][0])
        self.recloser("verify", self.spec_path, "--quick")  # which looks at what is live
        self.recloser("verify", self.spec_path, OKLAHOMA)
        first.write_bytes(whole[:-1])
        self.assertEqual(list(self.faults()), [TX])
        first.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
        self.recloser("verify", self.spec_path)
        self.assertIn("archived file of seq 1 has SHA-256", self.faults("--archive")[TX][0])
        first.write_bytes(whole)
        self.recloser("verify", self.spec_path, "--archive")
        # The newest version is live still, but the next load would take the last of it away.
        newest = self.control / json.loads((self.control / "ledger" / TX / "00000002.json").read_text())["archive"]
        os.unlink(newest)
        self.assertIn("archived file of seq 2 is missing", self.faults()[TX][0])

    def test_pruned_is_not_missing(self):
        self.load(self.spec_path, self.write("b.csv", ROWS.replace("Q0,TX", "Q9,TX")))
        self.recloser("prune", self.spec_path, "--keep", "1", "--yes")
        self.assertEqual(self.recloser_json("verify", self.spec_path, "--archive")["archived"], 2)

    def test_options_that_do_not_go_together(self):
        for more in (["--quick"], ["--tag", "t"]):
            self.assertIn("--archive", self.recloser("verify", self.spec_path, "--archive", *more, code=USAGE).err)

    def test_other_layout_is_refused(self):
        before = self.partitions()
        other = self.queue_spec(name="other.yaml", partition="[]")
        self.refused(other, self.dir / "a.csv", code=USAGE, said=["[state, month]", "[]", "dataset:"])
        self.refused(self.queue_spec(name="other.yaml", partition="[month, state]"), self.dir / "a.csv", code=USAGE,
                     said=["[state, month]", "[month, state]"])
        self.refused(self.queue_spec(name="other.yaml", key="{identity: [queue_id], column: id}"), self.dir / "a.csv", code=USAGE,
                     said=["asset_key", "id"])
        self.assertEqual(self.partitions(), before)
        self.recloser("verify", self.spec_path)


if __name__ == "__main__":
    main()
