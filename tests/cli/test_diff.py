# SPDX-License-Identifier: Apache-2.0
"""What changed, and where a file comes from: diff and why, on small publications and on ERCOT's own."""
import json
import os
import shutil

from publishing import SPEC, Publishing
from support import FAULT, REFUSED, USAGE, main, sha256

ERCOT = """
dataset: ercot
root: lake
source:
  files: "GIS_Report_*.xlsx"
  sheet: "Project Details*"
  not_sheet: "*Small Gen"
  header: {find: [INR, Project Name], within: 60}
  space: squeeze
key: {identity: [queue_id]}
partition: [month]
series: month
columns:
  queue_id: {from: INR, type: text, required: true}
  capacity_mw: {from: Capacity (MW), type: double}
  month: {name: "GIS_Report_([A-Za-z]+)_?([0-9]{4})", format: "%B %Y", as: "%Y-%m"}
"""


class Small(Publishing):
    columns = ("queue_id", "state", "name", "applied", "capacity_mw")

    def setUp(self):
        super().setUp()
        self.spec(SPEC.replace("  units: {type: integer}\n", ""))

    def load(self, rows, moment, **more):
        return self.publish(rows, moment, columns=more.pop("columns", self.columns), **more)

    def diff(self, *words, **more):
        return self.recloser_json("diff", "spec.yaml", *words, **more)

    def test_added_removed_changed(self):
        self.load([("Q1", "TX", "Alpha", "2026-01-05", 10), ("Q2", "TX", "Beta", "2026-01-06", 20), ("Q3", "TX", "Gamma", "", 30)], "2026-03-01T00:00:00Z")
        self.load([("Q1", "TX", "Alpha", "2026-01-05", 12.5), ("Q3", "TX", "Gamma 2", "2026-02-01", 30), ("Q4", "TX", "Delta", "", 40)], "2026-03-02T00:00:00Z")
        before = self.tree()
        told = self.diff("state=TX")
        self.assertEqual([told[k] for k in ("added", "removed", "changed", "unchanged")], [1, 1, 2, 0])
        self.assertEqual((told["older"]["seq"], told["newer"]["seq"]), (1, 2))
        got = {(r["change"], r["identity"]["queue_id"], r["column"]): (r["old"], r["new"]) for r in told["rows"]}
        whole = {k: json.loads(v[0] or v[1]) for k, v in got.items() if k[0] != "changed"}
        self.assertEqual({k: v for k, v in got.items() if k[0] == "changed"},
                         {("changed", "Q1", "capacity_mw"): ("10.0", "12.5"), ("changed", "Q3", "applied"): (None, "2026-02-01"),
                          ("changed", "Q3", "name"): ("Gamma", "Gamma 2")})
        self.assertEqual({k: (v["name"], v["capacity_mw"]) for k, v in whole.items()},
                         {("added", "Q4", None): ("Delta", 40.0), ("removed", "Q2", None): ("Beta", 20.0)})
        self.assertEqual({c["column"]: c["changed"] for c in told["columns"]}, {"capacity_mw": 1, "applied": 1, "name": 1})
        back = self.diff("state=TX", "2", "1")
        self.assertEqual([back[k] for k in ("added", "removed", "changed")], [1, 1, 2])
        self.assertEqual(self.diff("state=TX", "2", "live")["outcome"], "same")
        self.assertEqual(self.tree(), before, "diff changed something")

    def test_form_only(self):
        self.load([("Q1", "TX", "Big Sky", "2026-01-05", 1), ("Q2", "TX", "Low Hill", "01/07/2026", 1), ("Q3", "TX", "Same", "x", 1),
                   ("Q4", "TX", "", "5 Feb 2026", 1)], "2026-03-01T00:00:00Z")
        self.load([("Q1", "TX", "Big  Sky ", "01/05/2026", 1), ("Q2", "TX", "LOW HILL", "2026-01-07", 1), ("Q3", "TX", "Same", "x", 1),
                   ("Q4", "TX", " ", "05/02/2026", 1)], "2026-03-02T00:00:00Z")
        told = self.diff("state=TX")
        self.assertTrue(told["form_only"])
        forms = {c["column"]: (c["white_space"], c["letter_case"], c["date_style"], c["value"]) for c in told["columns"]}
        self.assertEqual(forms, {"name": (2, 1, 0, 0), "applied": (0, 0, 3, 0)})
        self.assertIn("white space, letter case or date style only", self.recloser("diff", "spec.yaml", "state=TX").out)
        self.load([("Q1", "TX", "Big Sky", "01/06/2026", 1), ("Q2", "TX", "LOW HILL", "2026-01-07", 1), ("Q3", "TX", "Same", "x", 1),
                   ("Q4", "TX", "", "05/02/2026", 1)], "2026-03-03T00:00:00Z")
        self.assertFalse(self.diff("state=TX")["form_only"])

    def test_a_text_that_is_declared_a_date(self):
        """The next month is refused where it has other types; trees of before have them."""
        text = SPEC.replace("  units: {type: integer}\n", "")
        self.load([("Q1", "TX", "Alpha", "01/05/2026", 1), ("Q2", "TX", "Beta", "01/06/2026", 1), ("Q3", "TX", "C", "", 1)], "2026-03-01T00:00:00Z")
        self.spec(text + '  applied: {type: date, format: ["%m/%d/%Y", iso]}\n')
        with self.unseen("state=TX"):
            self.load([("Q1", "NY", "Alpha", "01/05/2026", 1), ("Q2", "NY", "Beta", "01/07/2026", 1), ("Q3", "NY", "C", "", 1)], "2026-03-02T00:00:00Z")
        told = self.diff("state=TX", "state=NY")
        self.assertEqual([(c["column"], c["changed"], c["date_style"], c["value"]) for c in told["columns"]], [("applied", 2, 1, 1)])

    def test_sorted_by_identity(self):
        self.load([("Q0", "TX", "n", "x", 1)], "2026-03-01T00:00:00Z")
        self.load([(f"Q{i}", "TX", "n", "x", 1) for i in range(30)], "2026-03-02T00:00:00Z")
        ids = [r["identity"]["queue_id"] for r in self.diff("state=TX")["rows"]]
        self.assertEqual((len(ids), ids), (29, sorted(ids)))

    def test_names_of_the_list_itself(self):
        """An identity column called as one of diff's own, in any case, is not taken for it."""
        for column in ("Kind", "OLD"):
            self.lake = column
            self.spec(f"dataset: queue\nroot: {column}\nsource: {{files: '*.csv'}}\nkey: {{identity: [{column}]}}\npartition: [state]\n")
            for i, value in enumerate(("a", "b")):
                self.publish([("Q1", "TX", value), ("Q2", "TX", "same")], f"2026-03-0{i + 1}T00:00:00Z", columns=(column, "state", "name"))
            told = self.diff("state=TX")
            self.assertEqual([(c["column"], c["changed"], c["value"]) for c in told["columns"]], [("name", 1, 1)])
            self.assertEqual([(r["old"], r["new"]) for r in told["rows"]], [("a", "b")])

    def test_columns_come_and_go(self):
        self.load([("Q1", "TX", "Alpha", "x", 1)], "2026-03-01T00:00:00Z")
        self.load([("Q1", "TX", "Alpha", "x", 1, "wind")], "2026-03-02T00:00:00Z", columns=(*self.columns, "fuel"))
        told = self.diff("state=TX")
        self.assertEqual((told["columns_added"], told["columns_removed"], told["changed"], told["outcome"]), (["fuel"], [], 0, "different"))

    def test_output_has_all(self):
        duckdb = self.need("duckdb")
        self.load([(f"Q{i}", "TX", "n", "x", i) for i in range(1500)], "2026-03-01T00:00:00Z")
        self.load([(f"Q{i}", "TX", "n", "x", i + 0.5) for i in range(1500)], "2026-03-02T00:00:00Z")
        told = self.diff("state=TX", "--output", "changes.pq")
        self.assertEqual((told["changed"], len(told["rows"]), told["rows_complete"]), (1500, 1000, False))
        rows = duckdb.connect().execute(f"SELECT change, queue_id, \"column\", old, new FROM read_parquet('{self.dir}/changes.pq')").fetchall()
        self.assertEqual(sorted(rows), sorted(("changed", f"Q{i}", "capacity_mw", f"{i}.0", f"{i}.5") for i in range(1500)))
        self.assertEqual(len(self.diff("state=TX", "--limit", "7")["rows"]), 7)
        self.assertIn("1,500 lines in all", self.recloser("diff", "spec.yaml", "state=TX").out)

    def test_file_that_is_not_loaded(self):
        self.load([("Q1", "TX", "Alpha", "x", 1), ("Q2", "NY", "Beta", "x", 2)], "2026-03-01T00:00:00Z")
        before = {path: digest for path, digest in self.tree().items() if not path.endswith("/lock")}
        file = self.write("next.csv", ",".join(self.columns) + "\nQ1,TX,Alpha,x,1.5\nQ3,TX,New,x,3\n")
        told = self.diff("state=TX", "--file", file)
        self.assertEqual([told[k] for k in ("added", "removed", "changed", "unchanged")], [1, 0, 1, 0])
        self.assertEqual(told["newer"]["label"], "next.csv, not loaded")
        after = {path: digest for path, digest in self.tree().items() if not path.endswith("/lock")}
        self.assertEqual(after, before, "a look at a file changed something")
        refused = self.recloser("diff", "spec.yaml", "state=NY", "--file", file, code=USAGE)
        self.assertIn("no rows of state=NY", refused.err)
        self.recloser("diff", "spec.yaml", "state=TX", "--file", self.write("bad.csv", "a,b\n1,2\n"), code=REFUSED)

    def test_what_can_not_be_compared(self):
        self.load([("Q1", "TX", "Alpha", "x", 1)], "2026-03-01T00:00:00Z")
        for words, code, said in ((("state=TX",), USAGE, "one version"), (("state=TX", "5"), USAGE, "no version 5"),
                                  (("state=TX", "old"), USAGE, "no version"), (("state=CA",), USAGE, "no partition")):
            self.assertIn(said, self.recloser("diff", "spec.yaml", *words, code=code).err)
        os.unlink(self.live("state=TX"))
        self.assertIn("recloser restore", self.recloser("diff", "spec.yaml", "state=TX", "1", code=FAULT).err)


class Geometry(Publishing):
    def test_moved_point(self):
        self.spec("dataset: queue\nroot: lake\nsource: {files: '*.csv'}\nkey: {identity: [queue_id]}\npartition: [state]\n"
                  "geometry: {crs: EPSG:4326, covering: on, from: {lon: lon, lat: lat}}\ncolumns: {lon: {type: double, keep: false}, lat: {type: double, keep: false}}\n")
        for i, lon in enumerate((-97, -97.5)):
            self.publish([("Q1", "TX", lon, 31), ("Q2", "TX", -98, 32)], f"2026-03-0{i + 1}T00:00:00Z", columns=("queue_id", "state", "lon", "lat"))
        told = self.recloser_json("diff", "spec.yaml", "state=TX")
        self.assertEqual([(c["column"], c["changed"]) for c in told["columns"]], [("geometry", 1)], "the covering is no change of its own")
        self.assertEqual(told["rows"][0]["old"], "0101000000" + "00000000004058c0" + "0000000000003f40")


class Ercot(Publishing):
    dataset = "ercot"

    def load(self, name, day):
        return self.recloser_json("load", "spec.yaml", self.shared(f"real/ercot-gis/{name}"), env=self.at(f"2026-03-{day:02}T00:00:00Z"))

    def test_correction_changes_one_row(self):
        self.spec(ERCOT)
        self.load("GIS_Report_July_2020.xlsx", 1)
        self.load("GIS_Report_July_2020_CORRECTION.xlsx", 2)
        told = self.recloser_json("diff", "spec.yaml", "month=2020-07")
        self.assertEqual([told[k] for k in ("added", "removed", "changed", "unchanged")], [0, 0, 1, 502])
        self.assertEqual(len({r["key"] for r in told["rows"]}), 1)
        self.assertEqual([(r["identity"]["queue_id"], r["old"], r["new"]) for r in told["rows"]], [("20INR0308", None, "2020-03-30")])
        self.assertIn("GIS_Report_July_2020_CORRECTION.xlsx", self.recloser("history", "spec.yaml", "month=2020-07").out)

    def test_june_to_july(self):
        """Two months of a series: against a comparison of the two live files in plain Python; 40 and 25 are known from the sheets."""
        self.spec(ERCOT)
        self.load("GIS_Report_June2025.xlsx", 1)
        self.load("GIS_Report_July2025.xlsx", 2)
        told = self.recloser_json("diff", "spec.yaml", "month=2025-06", "month=2025-07", "--limit", "5000")
        self.assertEqual((told["added"], told["removed"]), (40, 25))
        self.assertEqual({c["column"]: c["changed"] for c in told["columns"]}["Fuel"],
                         sum(r["column"] == "Fuel" for r in told["rows"]))
        same = self.recloser_json("diff", "spec.yaml", "month=2025-07")
        self.assertEqual([same[k] for k in ("added", "removed", "changed")], [told[k] for k in ("added", "removed", "changed")],
                         "one version: compared with the month before")
        june, july = ({row[0]: row[1:] for row in self.rows([self.live(f"month={m}")], ("queue_id", "Fuel", "capacity_mw"))}
                      for m in ("2025-06", "2025-07"))
        self.assertEqual((len(july.keys() - june.keys()), len(june.keys() - july.keys())), (40, 25))
        both = june.keys() & july.keys()
        columns = {c["column"]: c["changed"] for c in told["columns"]}
        self.assertEqual((columns["Fuel"], columns["capacity_mw"]), tuple(sum(june[k][i] != july[k][i] for k in both) for i in (0, 1)))


class Why(Publishing):
    def setUp(self):
        super().setUp()
        self.spec(SPEC + "archive: {sources: true}\n")
        for i in range(3):
            self.publish([("Q1", "TX", "active", i + 1, 1), ("Q2", "NY", "active", 7, 1)], f"2026-03-0{i + 1}T08:00:00Z", name=f"queue_{i + 1}.csv")

    def test_copied_and_renamed(self):
        copy = self.dir / "elsewhere" / "figures.bin"
        copy.parent.mkdir()
        shutil.copy(self.control / self.record("state=TX", 2)["archive"], copy)
        told = self.recloser_json("why", copy, "--root", "lake")
        self.assertEqual((told["found_by"], len(told["versions"])), ("bytes", 1))
        version = told["versions"][0]
        self.assertEqual([version[k] for k in ("dataset", "partition", "seq", "live")], ["queue", "state=TX", 2, False])
        self.assertEqual(version["loaded_at"], "2026-03-02T08:00:00.000000Z")
        self.assertEqual((version["replaced_by"]["seq"], version["replaced_by"]["loaded_at"]), (3, "2026-03-03T08:00:00.000000Z"))
        self.assertEqual(version["spec_sha256"], sha256(self.dir / "spec.yaml"))
        source = version["sources"][0]
        self.assertEqual((source["name"], source["sha256"]), ("queue_2.csv", sha256(self.dir / "queue_2.csv")))
        self.assertEqual(sha256(self.dir / source["archived"]), source["sha256"])
        by_spec = self.recloser_json("why", copy, "--spec", "spec.yaml")
        self.assertEqual(by_spec["versions"][0]["run"], version["run"])
        text = self.recloser("why", copy).out  # the root is found beside the working directory
        for words in ("state=TX   seq 2", "queue_2.csv", "replaced on 2026-03-03", version["spec_sha256"]):
            self.assertIn(words, text)
        # One dataset is told of once, however the ways to it are spelled.
        (self.dir / "link").symlink_to("lake")
        for words in ("lake/queue/state=TX/part.parquet", "link/../lake/queue/state=TX/part.parquet", "link/queue/state=TX/part.parquet"):
            self.assertEqual([v["seq"] for v in self.recloser_json("why", words)["versions"]], [3], words)
        live = self.recloser_json("why", self.live("state=TX"), cwd="/")
        self.assertEqual([(v["seq"], v["live"]) for v in live["versions"]], [(3, True)])

    def test_written_again_by_another_program(self):
        duckdb = self.need("duckdb")
        again = self.dir / "again.parquet"
        source = self.control / self.record("state=TX", 1)["archive"]
        read = f"read_parquet('{source}', hive_partitioning = false)"
        duckdb.connect().execute(f"COPY (SELECT * FROM {read} ORDER BY asset_key DESC) TO '{again}' (FORMAT parquet, COMPRESSION gzip)")
        told = self.recloser_json("why", again)
        self.assertEqual((told["found_by"], [(v["partition"], v["seq"]) for v in told["versions"]]), ("rows", [("state=TX", 1)]))
        duckdb.connect().execute(f"COPY (SELECT * REPLACE (capacity_mw + 1 AS capacity_mw) FROM {read}) TO '{again}' (FORMAT parquet)")
        told = self.recloser_json("why", again)
        self.assertEqual([(v["partition"], v["seq"]) for v in told["versions"]], [("state=TX", 2)], "the rows are those of seq 2 now")
        duckdb.connect().execute(f"COPY (SELECT * REPLACE (capacity_mw + 50 AS capacity_mw) FROM {read}) TO '{again}' (FORMAT parquet)")
        unknown = self.recloser("why", again, code=FAULT)
        self.assertIn("looked in: queue", unknown.err)

    def test_without_commits(self):
        """A ledger alone is enough: the commits are only the shorter way."""
        for commit in (self.control / "commits").iterdir():
            commit.unlink()
        told = self.recloser_json("why", self.control / self.record("state=TX", 1)["archive"], "--root", "lake")
        self.assertEqual([v["seq"] for v in told["versions"]], [1])

    def test_not_a_part_file(self):
        self.recloser("why", self.dir / "spec.yaml", code=FAULT)
        self.recloser("why", self.dir / "absent", code=6)
        self.recloser("why", self.dir / "spec.yaml", "--root", "nowhere", code=6)

    def test_sources_are_kept_once(self):
        kept = sorted(p.name for p in (self.control / "sources-archive").iterdir())
        self.assertEqual(kept, sorted(sha256(self.dir / f"queue_{i}.csv") for i in (1, 2, 3)))
        self.recloser("load", "spec.yaml", "queue_1.csv", "--force", "--accept", "older")
        self.assertEqual(sorted(p.name for p in (self.control / "sources-archive").iterdir()), kept)


main()
