# SPDX-License-Identifier: Apache-2.0
"""The options of `load` and the fields of a spec that decide what becomes of rows: what is written, counted, refused and said."""
import hashlib
import json
import shutil

from loading import QUEUE_COLUMNS, Loading
from support import HELD, IO, OK, REFUSED, USAGE, main, recloser, sha256

HEAD = "queue_id,state,month,capacity_mw,published_at,lon,lat\n"
TX, NM = "state=TX/month=2026-07", "state=NM/month=2026-07"
QUARANTINE = "{max: 100%}"


def line(queue_id, state="TX", month="2026-07", capacity="1", published="2026-07-02"):
    return f"{queue_id},{state},{month},{capacity},{published},-97,31\n"


class Output(Loading):
    def test_figures_add_up_in_text(self):
        lines = [line(f"Q{i}") for i in range(6)] + [line("Q0"), line("Q1", capacity="7", published="2026-07-03"), line("Q9", capacity="TBD"),
                                                    line("Q10", state="NM"), line("skip me")]
        spec = self.queue_spec(source='{files: "*", skip: "queue_id = \'skip me\'"}', quarantine=QUARANTINE)
        done = self.recloser("load", spec, self.write("july.csv", HEAD + "".join(lines)))
        self.assertEqual(done.err, "")
        head, *rest = done.out.splitlines()
        self.assertRegex(head, r"^queue  11 rows from july\.csv")
        self.assertRegex(rest[0], f"^  {NM} +new +1 row ")
        self.assertRegex(rest[1], f"^  {TX} +new +6 rows ")
        self.assertIn('1 row quarantined: capacity_mw is "TBD": not a number (row 9)', done.out)
        self.assertRegex(rest[-1], r"^11 in = 7 written \+ 1 superseded \+ 1 collapsed \+ 1 filtered \+ 1 quarantined   [0-9.]+ s$")

    def test_json_is_one_object_and_stderr_the_talk(self):
        spec = self.queue_spec()
        done = self.recloser("load", spec, self.write("a.csv", HEAD + line("Q1", capacity="x")), "--json", code=REFUSED)
        report = json.loads(done.out)
        self.assert_adds_up(report)
        self.assertEqual((report["outcome"], report["rows_in"], report["quarantined"], report["held"]), ("refused", 1, 1, 0))
        self.assertEqual(report["error"]["code"], "batch.quarantine")
        self.assertIn('capacity_mw: not a number: x (1); missing: ["x"] would accept them', report["error"]["where"])
        self.assertEqual(done.err.splitlines()[0], "recloser: " + report["error"]["what"])

    def test_good_rows_of_a_refused_run_are_held(self):
        spec = self.queue_spec()
        report = self.load(spec, self.write("a.csv", HEAD + line("Q1") + line("Q2") + line("Q3", capacity="x")), code=REFUSED)
        self.assertEqual((report["rows_in"], report["quarantined"], report["held"], report["rows_written"]), (3, 1, 2, 0))

    def test_usage_errors(self):
        spec = self.queue_spec()
        data = self.write("a.csv", HEAD + line("Q1"))
        for args in (["load"], ["load", spec], ["load", spec, data, "--no-such"], ["load", spec, data, "--set", "month"],
                     ["load", self.dir / "no.yaml", data]):
            done = recloser(*args, cwd=self.dir)
            self.assertIn(done.code, (USAGE, IO), str(done))
            self.assertEqual(done.out, "", str(done))
            self.assertTrue(done.err.startswith("recloser: "), str(done))
        self.assertFalse((self.dir / "lake").exists())


    def test_no_geometry_names_the_way_in(self):
        way = "geometry: {missing: allow} keeps such rows"
        none = line("Q2").replace("-97,31", ",")
        data = self.write("a.csv", HEAD + line("Q1") + none)
        self.refused(self.queue_spec(), data, said=["geometry is missing", way])
        self.assertIn(way, self.recloser("load", self.queue_spec(name="more.yaml", quarantine=QUARANTINE), data).out)
        self.refused(self.queue_spec(name="all.yaml", root="other", quarantine=QUARANTINE), self.write("b.csv", HEAD + none), said=[way])
        kept = self.queue_spec(name="kept.yaml", root="kept", geometry="{crs: EPSG:4326, from: {lon: lon, lat: lat}, missing: allow}")
        self.recloser("load", kept, data)
        # A geometry that is there and wrong is no missing one.
        wrong = self.write("c.csv", HEAD + line("Q1").replace("-97", "-970"))
        error = self.load(self.queue_spec(name="wrong.yaml"), wrong, code=REFUSED)["error"]
        self.assertNotIn(way, error["where"] + error["hint"])

    def test_quarantine_in_words(self):
        """Each reason names its column once; what does not fit is counted."""
        rows = [line("Q1"), line("Q2", state=""), line(""), line("Q4", capacity="-1"), line("Q5").replace("31", "95"), line("Q6", capacity="TBD"),
                line("Q7", capacity="TBD"), line("Q8", published="2 July"), line("Q9").replace("-97,31", ",")]
        columns = {"capacity_mw": "{type: double, check: capacity_mw >= 0}", "published_at": "{type: timestamp}"}
        spec = self.queue_spec(columns, quarantine=QUARANTINE)
        data = self.write("a.csv", HEAD + "".join(rows))
        out = self.recloser("load", spec, data).out.splitlines()
        self.assertIn('  2 rows quarantined: capacity_mw is "TBD": not a number (rows 6, 7)', out)
        self.assertIn('  1 row quarantined: capacity_mw is "-1.0": check failed: capacity_mw >= 0 (row 4)', out)
        self.assertIn("  1 row quarantined: identity field queue_id is missing (row 3)", out)
        self.assertIn("  1 row quarantined: geometry is missing (row 9); geometry: {missing: allow} keeps such rows", out)
        self.assertIn("  and 1 more", out)
        error = self.refused(self.queue_spec(columns), data, said=['capacity_mw: not a number: TBD (2); missing: ["TBD"] would accept them',
                                                                   "geometry is missing (1)", "and 1 more"])
        self.assertEqual(error["what"], "8 of 9 rows would be quarantined, more than the limit of 1 %")

    def test_values_with_digits_are_never_offered_as_missing(self):
        """They say something: what reads them is named, and it does read them. `missing:` is for words."""
        def load(type_, values, more=""):
            shutil.rmtree(self.dir / "lake", ignore_errors=True)
            data = self.write("q.csv", "id;mw\n" + "".join(f"{i};{v}\n" for i, v in enumerate(values)))
            spec = self.spec("dataset: q\nroot: lake\nsource: {files: q.csv, csv: {delimiter: semicolon}}\nkey: {identity: [id]}\npartition: []\n"
                             f"columns:\n  mw: {{type: {type_}{more}}}\n")
            return self.recloser_json("load", spec, data, code=None)

        comma, number = 'decimal: ","', 'match: "[-+]?[0-9.]+|^[^0-9]*$"'
        for type_, values, fields, wanted in [
                ("double", ["200,0", "100,0", "7"], comma, [200, 100, 7]),
                ("double", ["1.200,5", "7,5"], comma + ', thousands: "."', [1200.5, 7.5]),
                ("double", ["1 200", "3 400,5"], comma + ', thousands: " "', [1200, 3400.5]),
                ('"decimal(10,2)"', ["1,25"], comma, [1.25]),
                ("double", ["1,200.5", "30", "2,000"], 'thousands: ","', [1200.5, 30, 2000]),
                ("double", ["1'200'000", "3"], 'thousands: "\'"', [1200000, 3]),
                ("double", ["10%", "5.5%", ""], number, [10, 5.5, None]),
                ("double", ["$9", "-3"], number, [9, -3]),
                ("double", ["3 MW", "4 MW", "n/a"], number, [3, 4, None])]:
            with self.subTest(values=values):
                told = load(type_, values)["error"]["where"]
                words = ["n/a"] if "n/a" in values else []
                self.assertIn(f"; {fields} ", told)
                self.assertEqual('missing: ["n/a"] would accept the words' in told, bool(words), told)
                self.assertEqual(told.count("missing:"), len(words), told)
                report = load(type_, values, f", {fields}" + (', missing: ["", n/a]' if words else ""))
                self.assertEqual((report["outcome"], report["rows_written"]), ("loaded", len(values)))
                duckdb = self.need("duckdb")
                rows = duckdb.sql(f"SELECT CAST(mw AS DOUBLE) FROM '{self.dir}/lake/q/*.parquet' ORDER BY id").fetchall()
                self.assertEqual([row[0] for row in rows], wanted)
        # Either way is possible, or none that a field names: nothing is said that would change a figure.
        self.assertIn('thousands: "," reads 1,200 as 1200, decimal: "," reads it as a fraction', load("double", ["1,200"])["error"]["where"])
        self.assertIn("type: double reads them", load("integer", ["12.5"])["error"]["where"])
        self.assertIn("type: text keeps every digit", load("integer", ["9" * 20])["error"]["where"])
        for values in (["10-20"], ["(5)"], ["5k"], ["12.5 M"], ["3 MW", "4 kW"], ["Phase 2"], ["1,5 MW"]):
            self.assertNotRegex(load("double", values)["error"]["where"], "missing:|match:|decimal:|thousands:")
        self.assertIn('true: [...] and false: [...] say what they mean', load("boolean", ["ja", "nein"])["error"]["where"])


class Options(Loading):
    def test_dry_run_writes_nothing(self):
        spec = self.queue_spec()
        data = self.write("a.csv", HEAD + line("Q1") + line("Q2", state="NM"))
        report = self.load(spec, data, "--dry-run")
        self.assertEqual((report["outcome"], report["rows_written"], report["loaded_at"]), ("dry_run", 2, None))
        self.assertEqual({p["partition"]: p["outcome"] for p in report["partitions"]}, {TX: "new", NM: "new"})
        self.assertFalse((self.dir / "lake").exists())
        self.load(spec, data)
        before = self.everything()
        report = self.load(spec, self.write("b.csv", HEAD + line("Q1", capacity="5") + line("Q2", state="NM")), "--dry-run")
        self.assertEqual({p["partition"]: p["outcome"] for p in report["partitions"]}, {TX: "replaced", NM: "unchanged"})
        self.assertEqual(self.everything(), before)
        seqs = {p["partition"]: p["seq"] for p in report["partitions"]}
        self.assertEqual(seqs, {TX: 2, NM: 1})  # what the load itself makes of it, below
        text = self.recloser("load", spec, self.dir / "b.csv", "--dry-run").out
        self.assertIn("1 to be written + 1 unchanged", text)
        self.assertEqual({p["partition"]: p["seq"] for p in self.load(spec, self.dir / "b.csv")["partitions"]}, seqs)

    def test_dry_run_over_a_file_that_is_adopted(self):
        spec = self.queue_spec()
        data = self.write("a.csv", HEAD + line("Q1"))
        self.load(spec, data)
        shutil.rmtree(self.dir / "lake" / "_recloser")
        ahead = self.load(spec, self.write("b.csv", HEAD + line("Q2")), "--dry-run")["partitions"][0]["seq"]
        done = self.load(spec, self.dir / "b.csv")["partitions"][0]
        self.assertEqual((ahead, done["outcome"], done["seq"]), (2, "replaced", 2))

    def test_equal_bytes_that_are_adopted(self):
        """The live file is what the load makes, and no record tells of it: it is recorded, and the report says as what."""
        spec = self.queue_spec()
        data = self.write("a.csv", HEAD + line("Q1"))
        self.load(spec, data)
        shutil.rmtree(self.dir / "lake" / "_recloser")
        part = self.load(spec, data)["partitions"][0]
        self.assertEqual((part["outcome"], part["seq"], part["rows_written"]), ("unchanged", 1, 0))
        self.assertEqual((part["sha256"], part["bytes"]), (sha256(self.live(TX)), self.live(TX).stat().st_size))
        self.assertEqual([r["kind"] for r in self.ledger(TX)], ["adopted"])
        self.assertEqual(self.load(spec, data)["outcome"], "unchanged")

    def test_force_reads_again(self):
        spec = self.queue_spec()
        data = self.write("a.csv", HEAD + line("Q1"))
        first = self.load(spec, data)
        self.assertEqual(self.load(spec, data)["equals_run"], first["run"])
        forced = self.load(spec, data, "--force")
        self.assertNotIn("equals_run", forced)
        self.assertEqual([p["outcome"] for p in forced["partitions"]], ["unchanged"])

    def test_what_reads_no_source_loads_no_gdal(self):
        """It takes longer to load than an unchanged input to be told."""
        def loads_gdal(*args):
            log = self.dir / "libraries"
            self.recloser(*args, env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": log})
            logs = list(self.dir.glob("libraries.*"))
            if not logs:
                self.skipTest("this C library does not log what it loads")
            text = "".join(path.read_text(errors="replace") for path in logs)
            for path in logs:
                path.unlink()
            self.assertIn("libduckdb", text)
            return "libgdal" in text
        spec, data = self.queue_spec(), self.write("a.csv", HEAD + line("Q1"))
        self.assertTrue(loads_gdal("load", spec, data))
        for args in (["version"], ["load", spec, data], ["status", spec], ["verify", "--quick", spec], ["verify", spec], ["history", spec]):
            self.assertFalse(loads_gdal(*args), args)

    def test_unchanged_is_found_again_after_a_live_file_was_changed(self):
        spec = self.queue_spec()
        data = self.write("a.csv", HEAD + line("Q1"))
        self.load(spec, data)
        before = sha256(self.live(TX))
        live = self.live(TX)
        content = live.read_bytes()
        live.unlink()  # the archive shares the inode: replace, do not write into it
        live.write_bytes(content[:-8] + b"XXXXPAR1")
        report = self.load(spec, data)
        self.assertEqual(report["outcome"], "loaded")
        self.assertEqual(sha256(self.live(TX)), before)
        self.assertTrue(any("adopted" in w for w in report["warnings"]), report["warnings"])

    def test_words_of_a_spec_that_only_the_engine_can_judge(self):
        data = self.write("a.csv", HEAD + line("Q1"))
        for column, said in (("{match: '('}", ["match: (", "RE2"]), ("{name: 'a[.csv'}", ["name: a[.csv"]), ("{type: timestamptz, zone: Mars/X}", ["Mars/X"]),
                             ("{sql: queue_id + lon}", ["`queue_id + lon`", "text"]), ("{value: x, check: note + 1 > 0}", ["`note + 1 > 0`"])):
            spec = self.queue_spec({**QUEUE_COLUMNS, "note": column})
            with self.subTest(column=column):
                self.refused(spec, data, code=USAGE, said=[*said, "spec.yaml, line"])
        self.refused(self.queue_spec(source="{files: '*', skip: queue_id + state}"), data, code=USAGE, said=["skip"])
        self.refused(self.queue_spec(key="{identity: [{sql: queue_id + state}]}"), data, code=USAGE, said=["key"])

    def test_years_that_readers_know(self):
        rows = [line("Q1", published="0001-01-01"), line("Q2", published="9999-12-31"), line("Q3", published="0000-01-01")]
        report = self.load(self.queue_spec(quarantine="{max: 1}"), self.write("a.csv", HEAD + "".join(rows)))
        self.assertEqual((report["rows_written"], report["quarantined"]), (2, 1))

    def test_head_names_a_source_only_when_there_is_one(self):
        two = "columns: {published_at: {type: timestamp}}\nsources:\n  A: {files: 'a*'}\n  B: {files: 'b*'}\npublisher: iso\n"
        spec = self.spec(two + "dataset: queue\nroot: lake\nkey: {identity: [iso, queue_id]}\npartition: [iso]\n", "two.yaml")
        files = [self.write(name, HEAD + line(name)) for name in ("a.csv", "b.csv")]
        self.assertIn("queue  2 rows from a.csv and 1 more file\n", self.recloser("load", spec, *files).out)
        self.assertIn("queue  B  1 row from b.csv\n", self.recloser("load", spec, "--force", files[1]).out)

    def test_set(self):
        columns = {"month": "{set: required}", "published_at": "{type: timestamp}"}
        spec = self.queue_spec(columns)
        data = self.write("a.csv", "queue_id,state,published_at,lon,lat\nQ1,TX,2026-07-02,-97,31\n")
        self.refused(spec, data, code=USAGE, said=["month", "--set month="])
        self.refused(spec, data, "--set", "mnoth=2026-07", code=USAGE, said=["mnoth"])
        report = self.load(spec, data, "--set", "month=2026-08")
        self.assertEqual([p["partition"] for p in report["partitions"]], ["state=TX/month=2026-08"])
        self.assertEqual(self.load(spec, data, "--set", "month=2026-08")["outcome"], "unchanged")
        self.assertEqual(self.load(spec, data, "--set", "month=2026-09")["outcome"], "loaded")
        self.assertEqual(self.partitions(), ["state=TX/month=2026-08", "state=TX/month=2026-09"])

    def test_only(self):
        spec = self.queue_spec()
        data = self.write("a.csv", HEAD + line("Q1") + line("Q2", state="NM") + line("Q3", month="2026-06"))
        report = self.load(spec, data, "--only", TX)
        self.assertEqual((report["rows_in"], report["rows_written"], report["filtered"]), (3, 1, 2))
        self.assertEqual(self.partitions(), [TX])
        report = self.load(spec, data, "--only", "state=TX")
        self.assertEqual({p["partition"]: p["outcome"] for p in report["partitions"]}, {TX: "unchanged", "state=TX/month=2026-06": "new"})
        # A slip of the pen is exit 2; a partition of the dataset, or one whose rows are bad, of which nothing is left is exit 3.
        error = self.refused(spec, data, "--only", "state=Tx", code=USAGE, said=["--only state=Tx", "state=TX"])
        self.assertEqual(error["code"], "cli.only")
        self.refused(spec, data, "--only", TX, "--only", "state=T", code=USAGE, said=["--only state=T:"])
        ohio = self.write("oh.csv", HEAD + line("Q1", state="OH"))
        self.assertEqual(self.refused(spec, ohio, "--only", "state=TX", said=["no row is left"])["code"], "batch.nothing_left")
        bad = self.queue_spec(name="bad.yaml", quarantine=QUARANTINE)
        self.refused(bad, self.write("bad.csv", HEAD + line("Q1", state="CA", capacity="x")), "--only", "state=CA", said=["no row is left"])

    def test_allow_empty(self):
        spec = self.queue_spec()
        self.load(spec, self.write("a.csv", HEAD + line("Q1")))
        before = self.tree(without=("_recloser",))
        report = self.load(spec, self.write("empty.csv", HEAD), "--allow-empty")
        self.assertEqual((report["outcome"], report["rows_in"], report["partitions"]), ("unchanged", 0, []))
        self.assertEqual(self.tree(without=("_recloser",)), before)

    def test_standard_input(self):
        spec = self.queue_spec()
        report = self.load(spec, "-", stdin=(HEAD + line("Q1")).encode())
        self.assertEqual(report["rows_written"], 1)
        self.assertEqual(self.load(spec, "-", stdin=(HEAD + line("Q1")).encode())["outcome"], "unchanged")

    def test_folder(self):
        self.write("in/a.csv", HEAD + line("Q1"))
        self.write("in/b.csv", HEAD + line("Q2", state="NM"))
        self.write("in/notes.txt", "not a table")
        report = self.load(self.queue_spec(source='{files: "*.csv"}'), self.dir / "in")
        self.assertEqual({p["partition"] for p in report["partitions"]}, {TX, NM})
        self.assertEqual([s["name"] for s in report["sources"]], ["a.csv", "b.csv"])


class Rows(Loading):
    def test_several(self):
        a, b = self.write("a.csv", HEAD + line("Q1") + line("Q2")), self.write("b.csv", HEAD + line("Q2", capacity="5") + line("Q3"))
        self.refused(self.queue_spec(), a, b, said=[TX, "a.csv", "b.csv", "several: union"])
        for several, written, superseded, rows in (("union", 3, 1, [("Q1", 1.0), ("Q2", 5.0), ("Q3", 1.0)]), ("last", 2, 2, [("Q2", 5.0), ("Q3", 1.0)])):
            with self.subTest(several=several):
                self.lake = several
                spec = self.queue_spec(root=several, source=f'{{files: "*", several: {several}}}')
                report = self.load_uneven(spec, a, b)
                self.assertEqual((report["rows_in"], report["rows_written"], report["superseded"]), (4, written, superseded))
                self.assertEqual(self.table(TX, "queue_id, capacity_mw"), rows)

    def load_uneven(self, spec, *files):
        """Rows of a file that does not count are superseded, and belong to no partition's own figures."""
        report = self.recloser_json("load", spec, *files)
        self.assertEqual(report["rows_in"], report["rows_written"] + report["superseded"])
        self.assert_nothing_staged()
        return report

    def test_ties(self):
        data = self.write("a.csv", HEAD + line("Q1") + line("Q1", capacity="2") + line("Q2") + line("Q2"))
        error = self.refused(self.queue_spec(revision="{column: published_at, ties: refuse}"), data, said=["Q1", "1, 2"])
        self.assertNotIn("Q2", error["where"])
        report = self.load(self.queue_spec(), data)
        self.assertEqual((report["rows_written"], report["superseded"], report["collapsed"], report["ties"]), (2, 1, 1, 1))
        self.assertEqual(self.table(TX, "queue_id, capacity_mw"), [("Q1", 2.0), ("Q2", 1.0)])

    def test_a_key_in_two_partitions(self):
        """Allowed, since a project may be listed under two states, and said; where the state is part of the key, these are two."""
        said = "in more than one partition of this load"
        data = self.write("a.csv", HEAD + line("Q1") + line("Q1", state="NM") + line("Q2") + line("Q3") + line("Q3", state="OK"))
        report = self.load(self.queue_spec(partition="[state]"), data)
        self.assertEqual(report["rows_written"], 5)
        self.assertEqual([w for w in report["warnings"] if said in w], [f"2 keys are {said}"])
        other = {"one": (line("Q1") + line("Q1", state="NM"), {}, [f"1 key is {said}"]),
                 "none": (line("Q1") + line("Q2", state="NM"), {}, []),
                 "both": (line("Q1") + line("Q1", state="NM"), {"key": "{identity: [queue_id, state]}"}, []),
                 "series": (line("Q1") + line("Q1", month="2026-08"), {"partition": "[state, month]", "series": "month"}, [])}
        for name, (rows, fields, expected) in other.items():
            spec = self.queue_spec(name=f"{name}.yaml", root=name, **{"partition": "[state]", **fields})
            self.lake = name
            report = self.load(spec, self.write(f"{name}.csv", HEAD + rows))
            self.assertEqual([w for w in report["warnings"] if said in w], expected, name)

    def test_key_made_again_and_key_stored(self):
        """Where the identity's columns say the key to the letter it is not held while a load runs, else it is: nobody can tell."""
        text = {"key": "{identity: [queue_id]}"}
        kinds = {"text": text, "escaped": {"key": "{identity: [queue_id, state], escape: true}"},
                 "number": {"key": "{identity: [queue_id, capacity_mw]}"},
                 "expression": {"key": '{identity: [{sql: "lower(queue_id)"}, state]}'},
                 "carried": {**text, "disappeared": "carry"}}
        for kind, fields in kinds.items():
            for states in (["TX"], ["TX", "NM", "OK", "LA", "AR", "KS"]):
                self.lake = f"{kind}{len(states)}"
                spec = self.queue_spec(name=f"{self.lake}.yaml", root=self.lake, **{"partition": "[state]", **fields})
                first = "".join(line(f"Q{state}{i}", state=state) for state in states for i in range(5))
                again = line("QTX1", published="2026-07-03") + line("QTX2")  # superseded, collapsed
                report = self.load(spec, self.write(f"{self.lake}-1.csv", HEAD + first + again))
                self.assertEqual((report["superseded"], report["collapsed"]), (1, 1), self.lake)
                keys = "queue_id, asset_key"
                before = dict(self.table("state=TX", keys))
                self.assertEqual(len(set(before.values())), 5, self.lake)
                second = first.replace(line("QTX0"), "").replace(line("QTX3"), line("QTX3").replace(",31", ",32")) + line("QTX9")
                load = self.recloser_json if kind == "carried" else lambda *args: self.load(*args[1:])  # a carried row came in earlier
                report = load("load", spec, self.write(f"{self.lake}-2.csv", HEAD + second + again))
                after = dict(self.table("state=TX", keys))
                gone = set() if kind == "carried" else {"QTX0"}
                self.assertEqual(set(after), set(before) - gone | {"QTX9"}, self.lake)
                self.assertEqual({k: after[k] for k in before if k in after}, {k: v for k, v in before.items() if k not in gone}, self.lake)
                part = [p for p in report["partitions"] if p["partition"] == "state=TX"][0]
                self.assertEqual((part["outcome"], part["disappeared"]), ("replaced", len(gone)), part)
                if kind in ("text", "carried"):
                    self.assertEqual(after["QTX9"], hashlib.sha256(b"QTX9").hexdigest()[:24])
                self.recloser("verify", spec)

    def test_a_column_to_partition_by_is_not_there(self):
        data = self.write("a.csv", "queue_id,state,published_at,lon,lat,capacity_mw\nQ1,TX,2026-07-02,-97,31,1\n")
        error = self.refused(self.queue_spec(), data, said=["month", "queue_id, state, published_at"])
        self.assertEqual(error["code"], "source.missing_column")

    def test_values_that_can_not_partition(self):
        long = "x" * 300
        data = self.write("a.csv", HEAD + line("Q1") + line("Q2", state="  ") + line("Q3", state="__HIVE_DEFAULT_PARTITION__") + line("Q4", state=long))
        report = self.load(self.queue_spec(quarantine=QUARANTINE), data)
        self.assertEqual((report["rows_written"], report["quarantined"]), (1, 3))
        self.assertEqual([(row, column) for _, column, _, row in self.quarantine(report)], [(2, "state"), (3, "state"), (4, "state")])
        self.assertEqual(self.partitions(), [TX])

    def test_a_zero_byte_can_not_partition(self):
        """Text may hold one; a path may not, and T is not what was meant."""
        table = self.need("pyarrow").table({"queue_id": ["Q1", "Q2", "Q3"], "state": ["TX", "T\0X", "T"], "month": ["2026-07"] * 3,
                                            "published_at": ["2026-07-02"] * 3, "capacity_mw": [1.0, 2.0, 3.0], "note": ["a\0b", "c", "d"]})
        self.need("pyarrow.parquet").write_table(table, self.dir / "zero.parquet")
        columns = {"published_at": "{type: timestamp}", "capacity_mw": "{type: double}"}
        report = self.load(self.queue_spec(columns, geometry=None, quarantine=QUARANTINE), self.dir / "zero.parquet")
        self.assertEqual([(reason, column, row) for reason, column, _, row in self.quarantine(report)], [("a zero byte, which no path may hold", "state", 2)])
        self.assertEqual(self.partitions(), ["state=T/month=2026-07", TX])
        self.assertEqual(self.table(TX, "queue_id, note"), [("Q1", "a\0b")])

    def test_columns_called_as_others_are(self):
        """Names that the engine, GeoParquet or another policy have a use for are the source's to use."""
        data = self.write("a.csv", "queue_id,state,file_row_number,bbox,carried,lon,lat\nQ1,TX,7,left,yes,-97,31\nQ2,TX,5,right,no,-97,31\n")
        columns = {"file_row_number": "{type: integer}", "bbox": "{type: text}", "lon": "{type: double}", "lat": "{type: double}"}
        geometry = '{crs: "EPSG:4326", from: {lon: lon, lat: lat}, covering: off}'
        for key in ("[queue_id]", "[file_row_number]"):
            self.lake = "frn" if "file" in key else "lake"
            spec = self.queue_spec(columns, name=f"{self.lake}.yaml", root=self.lake, partition="[state]", revision=None, geometry=geometry,
                                   key=f"{{identity: {key}}}")
            self.load(spec, data)
            self.assertIn("all as recorded", self.recloser("verify", spec).out)
            self.assertEqual(sorted(self.table("state=TX", "file_row_number, bbox, carried")), [(5, "right", "no"), (7, "left", "yes")])
        # A covering and a column of that name do not go together.
        spec = self.queue_spec(columns, name="both.yaml", partition="[state]", revision=None)
        self.assertIn("covering", self.recloser("load", spec, data, code=USAGE).err)
        # The engine itself can't read such a Parquet file: said before anything is.
        table = self.need("pyarrow").table({"queue_id": ["Q1"], "state": ["TX"], "File_Row_Number": [1]})
        self.need("pyarrow.parquet").write_table(table, self.dir / "a.parquet")
        self.refused(self.queue_spec({}, name="pq.yaml", root="pq", partition="[state]", revision=None, geometry=None), self.dir / "a.parquet",
                     said=["File_Row_Number", "rename"])

    def test_unlisted_columns(self):
        data = self.write("a.csv", "Plant Code,queue_id,state,month,published_at,lon,lat,Net  MW (ac)\n007,Q1,TX,2026-07,2026-07-02,-97,31,1.50\n")
        columns = {"published_at": "{type: timestamp}"}
        self.load(self.queue_spec(columns), data)
        self.assertEqual(self.table(TX, '"Plant Code", "Net  MW (ac)"'), [("007", "1.50")])
        self.lake = "snake"
        self.load(self.queue_spec(columns, root="snake", source='{files: "*", names: snake}'), data)
        self.assertEqual(self.table(TX, "plant_code, net_mw_ac"), [("007", "1.50")])
        self.lake = "drop"
        self.load(self.queue_spec(columns, root="drop", other_columns="drop"), data)
        names = self.metadata(TX)[0].names
        self.assertNotIn("Plant Code", names)
        self.assertIn("queue_id", names)

    def test_snake_names_that_meet(self):
        data = self.write("a.csv", "Plant Code,plant_code,queue_id,state,month,published_at,lon,lat\n1,2,Q1,TX,2026-07,2026-07-02,-97,31\n")
        spec = self.queue_spec({"published_at": "{type: timestamp}"}, source='{files: "*", names: snake}')
        report = recloser("load", spec, data, "--json", cwd=self.dir)
        if report.code == OK:  # both are kept, under different names, and it is said
            self.assertTrue(any("plant_code" in w for w in report.json["warnings"]), report.json["warnings"])
            self.assertEqual(len([n for n in self.metadata(TX)[0].names if n.startswith("plant_code")]), 2)
        else:
            self.assertEqual(report.code, REFUSED, str(report))
            self.assertIn("plant_code", report.err)

    def test_a_column_disappears_or_changes_its_type(self):
        spec = self.queue_spec({"published_at": "{type: timestamp}"})
        self.load(spec, self.write("a.csv", HEAD + line("Q1")))
        gone = self.write("b.csv", "queue_id,state,month,published_at,lon,lat\nQ1,TX,2026-07,2026-07-03,-97,31\n")
        self.refused(spec, gone, said=["capacity_mw", "optional: true"])
        retyped = self.queue_spec({"published_at": "{type: timestamp}", "capacity_mw": "{type: double}"}, name="retyped.yaml")
        self.refused(retyped, self.write("c.csv", HEAD + line("Q1", capacity="2")), said=["capacity_mw", "DOUBLE", "VARCHAR"])
        # The hint's way out is one.
        self.refused(retyped, self.dir / "c.csv", said=["columns: {capacity_mw: {type: text}}", "`dataset:`"])
        kept = self.queue_spec({"published_at": "{type: timestamp}", "capacity_mw": "{type: text}"}, name="kept.yaml")
        self.load(kept, self.dir / "c.csv")
        more = self.write("d.csv", HEAD.replace("lat\n", "lat,fuel\n") + line("Q1").replace("31\n", "31,wind\n"))
        report = self.load(spec, more)
        self.assertTrue(any("fuel is new" in w for w in report["warnings"]), report["warnings"])
        frozen = self.queue_spec({"published_at": "{type: timestamp}"}, name="frozen.yaml", schema="freeze")
        more = self.write("e.csv", HEAD.replace("lat\n", "lat,fuel,note\n") + line("Q1").replace("31\n", "31,wind,x\n"))
        report = self.load(frozen, more, code=REFUSED)
        self.assertIn("note", report["error"]["what"])

    def test_held_by_a_policy(self):
        spec = self.queue_spec(disappeared="{policy: hold, max: 10%}")
        self.load(spec, self.write("a.csv", HEAD + "".join(line(f"Q{i}") for i in range(10)) + line("N1", state="NM")))
        before = sha256(self.live(TX))
        data = self.write("b.csv", HEAD + line("Q0", published="2026-07-20") + line("N1", state="NM", capacity="4", published="2026-07-20"))
        report = self.load(spec, data, code=HELD)
        self.assertEqual((report["outcome"], report["rows_written"], report["held"], report["disappeared"]), ("held", 1, 1, 9))
        self.assertEqual({p["partition"]: p["outcome"] for p in report["partitions"]}, {TX: "held", NM: "replaced"})
        self.assertEqual(sha256(self.live(TX)), before)
        self.assertEqual(self.gone(report, "queue_id"), [(f"Q{i}",) for i in range(1, 10)])
        report = self.load(spec, data, "--accept", "disappeared")
        self.assertEqual({p["partition"]: p["outcome"] for p in report["partitions"]}, {TX: "replaced", NM: "unchanged"})
        self.assertEqual(self.table(TX, "queue_id"), [("Q0",)])


if __name__ == "__main__":
    main()
