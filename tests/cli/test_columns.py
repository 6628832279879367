# SPDX-License-Identifier: Apache-2.0
"""One type a column in all of a tree: a partition that is new, or brings a new column, is held against what is live beside it."""
import json
import os
import shutil

from loading import Loading
from support import OK, main, recloser

JAN, FEB, MARCH = "month=2025-01", "month=2025-02", "month=2025-03"
MONTH = ("--set", "month=2025-01"), ("--set", "month=2025-02"), ("--set", "month=2025-03")


class Columns(Loading):
    def months(self, name="spec.yaml", columns=None, **fields):
        return self.queue_spec({"month": "{set: required}", **(columns or {})}, name=name,
                               **{"key": "{identity: [id]}", "partition": "[month]", "revision": None, "geometry": None, **fields})

    def csv(self, name, header, *lines):
        return self.write(name, "\n".join([header, *lines]) + "\n")

    def readable(self):
        """As another engine reads the tree: a table, columns by their place in the first file."""
        return self.query(f"SELECT count(*) FROM read_parquet('{self.tree_path}/**/part.parquet')")

    def units(self):
        pa, parquet = self.need("pyarrow"), self.need("pyarrow.parquet")
        for name, capacity in (("u1.parquet", [5, 6]), ("u2.parquet", ["TBD", "6"])):
            parquet.write_table(pa.table({"id": ["1", "2"], "capacity": capacity}), self.dir / name)
        return self.dir / "u1.parquet", self.dir / "u2.parquet"

    def test_a_new_month_of_another_type(self):
        one, two = self.units()
        for series in (None, "month"):
            with self.subTest(series=series):
                self.lake = f"lake_{series}"
                spec = self.months(root=self.lake, series=series)
                self.load(spec, one, *MONTH[0])
                for more in ((), ("--dry-run",)):
                    error = self.refused(spec, two, *MONTH[1], *more, said=(
                        "column capacity is BIGINT in the live version of month=2025-01 and VARCHAR in this load",
                        "month=2025-02, compared with seq 1 of month=2025-01", "columns: {capacity: {type: integer}}"))
                    self.assertEqual(error["code"], "schema.retyped")
                # The hint's way out is one.
                typed = self.months("typed.yaml", {"capacity": "{type: integer}"}, root=self.lake, series=series, quarantine="{max: 50%}")
                self.assertEqual(self.load(typed, two, *MONTH[1])["quarantined"], 1)
                self.assertEqual(self.readable(), [(3,)])

    def test_a_file_for_each_state(self):
        spec = self.queue_spec({}, key="{identity: [id]}", partition="[state]", revision=None, geometry=None)
        files = []
        for state, kv in (("TX", 345), ("CA", "345/138")):
            feature = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [-97, 31]}, "properties": {"id": state, "state": state, "kv": kv}}
            files.append(self.write(f"{state}.geojson", json.dumps({"type": "FeatureCollection", "features": [feature]})))
        self.load(spec, files[0])
        self.refused(spec, files[1], said=("column kv", "state=CA, compared with seq 1 of state=TX"))

    def test_a_spec_that_was_edited(self):
        one = self.csv("one.csv", "id,capacity", "1,5")
        self.load(self.months(), one, *MONTH[0])
        typed = self.months("typed.yaml", {"capacity": "{type: double}"})
        self.refused(typed, one, *MONTH[1], said=("column capacity is VARCHAR in the live version of month=2025-01 and DOUBLE in this load",))

    def test_a_column_that_is_gone(self):
        one, two = self.csv("one.csv", "id,fuel", "1,NG"), self.csv("two.csv", "id,fuel type", "1,NG")
        for series in (None, "month"):
            with self.subTest(series=series):
                self.lake = f"lake_{series}"
                spec = self.months(root=self.lake, series=series)
                self.load(spec, one, *MONTH[0])
                error = self.refused(spec, two, *MONTH[1], said=("column fuel is in the live version of month=2025-01 but not in this load",
                                                                 "from: [fuel, NEW NAME]", "optional: true"))
                self.assertEqual(error["code"], "schema.missing")
                renamed = self.months("renamed.yaml", {"fuel": "{from: [fuel, fuel type]}"}, root=self.lake, series=series)
                self.load(renamed, two, *MONTH[1])
                gone = self.months("gone.yaml", {"fuel": "{optional: true}"}, root=self.lake, series=series)
                self.load(gone, self.csv("three.csv", "id", "1"), *MONTH[2])
                self.assertEqual(self.readable(), [(3,)])

    def test_a_column_that_is_new(self):
        one, two = self.csv("one.csv", "id,fuel", "1,NG"), self.csv("two.csv", "id,fuel,note", "1,NG,x")
        for series in (None, "month"):
            with self.subTest(series=series):
                self.lake = f"lake_{series}"
                self.load(self.months(root=self.lake), one, *MONTH[0])
                frozen = self.months("frozen.yaml", root=self.lake, series=series, schema="freeze")
                error = self.refused(frozen, two, *MONTH[1], said=("column note is new", "schema: grow", "keep: false"))
                self.assertEqual(error["code"], "schema.new")
                self.assertEqual(self.load(self.months(root=self.lake, series=series), two, *MONTH[1])["warnings"], ["column note is new"])
                self.assertEqual(self.load(frozen, self.csv("three.csv", "id,fuel,note", "1,NG,x"), *MONTH[2])["outcome"], "loaded")

    def test_a_new_column_of_a_live_month_has_the_type_that_others_have(self):
        self.load(self.months(), self.csv("one.csv", "id", "1"), *MONTH[0])
        self.load(self.months(columns={"mw": "{type: double}"}), self.csv("two.csv", "id,mw", "1,5"), *MONTH[1])
        self.refused(self.months(), self.csv("three.csv", "id,mw", "1,TBD"), *MONTH[0],
                     said=("column mw is DOUBLE in the live version of month=2025-02 and VARCHAR in this load", "month=2025-01, compared with"))

    def test_compared_with_what_a_reader_meets(self):
        """Not with a version that is restored, nor with a file that somebody removed."""
        spec = self.months(columns={"mw": "{type: double, optional: true}"})
        for name, lines in (("one.csv", ("id", "1")), ("two.csv", ("id,note", "1,x"))):
            self.load(spec, self.csv(name, *lines), *MONTH[0])
        self.load(spec, self.csv("three.csv", "id,note", "1,x"), *MONTH[1])
        self.recloser("restore", spec, JAN, 1)
        self.assertEqual(self.load(spec, self.csv("four.csv", "id,note", "2,x"), *MONTH[2])["warnings"], [])
        os.unlink(self.live(FEB))
        os.unlink(self.live(MARCH))
        text = self.months("text.yaml", columns={"mw": "{type: text, optional: true}"})
        self.assertEqual(recloser("load", text, self.dir / "four.csv", "--set", "month=2025-04", cwd=self.dir).code, OK)

    def test_publishers_have_columns_of_their_own(self):
        def spec(name, mw="double", **fields):
            return self.queue_spec({"mw": f"{{type: {mw}, optional: true}}"}, name=name, revision=None, geometry=None, source=None, publisher="iso",
                                   sources='{A: {files: "a*.csv"}, B: {files: "b*.csv"}, C: {files: "c*.csv"}}',
                                   key="{identity: [iso, id]}", partition="[iso, month]", **fields)
        plain = spec("plain.yaml")
        a, b = self.csv("a1.csv", "id,month,x,mw", "1,2025-01,5,5"), self.csv("b1.csv", "id,month,y", "1,2025-01,5")
        self.load(plain, a, b)  # both partitions have the columns of both
        frozen = spec("frozen.yaml", schema="freeze")
        self.assertEqual(self.load(frozen, self.csv("a2.csv", "id,month,x,mw", "1,2025-02,5,5"))["warnings"], [])
        self.assertEqual(self.load(frozen, self.csv("b2.csv", "id,month,y", "1,2025-02,5"))["warnings"], [])
        self.assertEqual(self.load(frozen, self.csv("c1.csv", "id,month,z", "1,2025-02,5"))["warnings"], [])
        self.assertEqual(self.load(plain, self.csv("b3.csv", "id,month,y,v", "1,2025-03,5,6"))["warnings"], ["column v is new"])
        self.refused(plain, self.csv("a4.csv", "id,month,mw", "1,2025-04,5"), said=("column x is in the live version of iso=A/month=2025-02",))
        # Types are the tree's: B's file against what A alone has values of.
        self.refused(spec("text.yaml", "text"), self.csv("b4.csv", "id,month,y,v,mw", "1,2025-04,5,6,TBD"), said=("column mw is DOUBLE in",))

    def test_after_the_records_were_made_again(self):
        """Such a record may have no columns: the file has."""
        one, two = self.units()
        spec = self.months()
        self.load(spec, one, *MONTH[0])
        path = self.control / "ledger" / JAN / "00000001.json"
        record = json.loads(path.read_text())
        del record["schema"]
        os.chmod(path, 0o644)
        path.write_text(json.dumps(record))
        self.refused(spec, two, *MONTH[1], said=("column capacity is BIGINT in the live version of month=2025-01",))
        self.load(self.months(columns={"capacity": "{type: integer}"}), one, *MONTH[1])

    def test_bounded(self):
        """A commit of thousands is scanned to its first entry, one of several publishers as far as it goes; the ledger is not walked."""
        spec = self.queue_spec({}, guards="{moved: allow}", key="{identity: [id]}", partition="[state]", revision=None, geometry=None)
        self.load(spec, self.csv("one.csv", "id,state,mw", *(f"{i},S{i:03},1" for i in range(300))))
        traced = self.dir / "trace"
        new = self.csv("two.csv", "id,state,mw", *(f"N{i},N{i:03},1" for i in range(20)))
        if not shutil.which("strace"):
            self.skipTest("no strace")
        done = recloser("load", spec, new, cwd=self.dir, command_prefix=("strace", "-f", "-qq", "-e", "trace=openat", "-o", traced))
        self.assertEqual(done.code, OK, str(done))
        records = {line.split('"')[1] for line in traced.read_text().splitlines() if "/ledger/state=S" in line and line.split('"')[1].endswith(".json")}
        self.assertLessEqual(len(records), 1, records)


main()
