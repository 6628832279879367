# SPDX-License-Identifier: Apache-2.0
"""Versions over time: two years of publications, kept at the same time by a few lines of plain Python; whatever recloser says
was live then must be, row for row and byte for byte, what those lines kept."""
import atexit
import calendar
import json
import os
import random
import shutil
import stat
import subprocess
import tempfile

from publishing import COLUMNS, SPEC, Publishing
from support import CONFLICT, FAULT, USAGE, main, sha256, tree

STATES = ("MA", "NY", "TX")


def months(count=24, year=2024, month=7):
    for _ in range(count):
        yield year, month
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


class TwoYears(Publishing):
    """One publication a month on a day of its own; in some months a second one. A state is left out now and then, or is as before."""

    built = None  # (directory, what was kept), made once: each test works on a copy with its hard links

    def setUp(self):
        super().setUp()
        self.need("duckdb")
        if TwoYears.built is None:
            self.build()
            TwoYears.built = (tempfile.mkdtemp(prefix="recloser-two-years-"), self.kept, self.history)
            atexit.register(shutil.rmtree, TwoYears.built[0], ignore_errors=True)
            self.copy(self.dir, TwoYears.built[0])
        else:
            self.copy(TwoYears.built[0], self.dir)
        self.kept, self.history = TwoYears.built[1:]

    def copy(self, source, target):
        subprocess.run(["cp", "-a", f"{source}/.", target], check=True)

    def build(self):
        self.spec(SPEC)
        chance = random.Random(2024)
        queue = {state: {} for state in STATES}
        live, self.kept, self.history, self.number = {}, {}, {state: [] for state in STATES}, 0
        for year, month in months():
            last = calendar.monthrange(year, month)[1]
            for day in sorted(chance.sample(range(1, last + 1), 1 + (chance.random() < 0.25))):
                publication = []
                for state in STATES:
                    if live and chance.random() < 0.15:
                        continue  # not in this publication: what was live stays
                    if not queue[state] or chance.random() < 0.85:
                        self.move_on(queue[state], chance)
                    rows = sorted((key, state, *values) for key, values in queue[state].items())
                    publication += rows
                    if live.get(state) != rows:
                        self.history[state].append(rows)
                    live[state] = rows
                if publication:
                    chance.shuffle(publication)
                    self.publish(publication, f"{year}-{month:02}-{day:02}T09:30:00Z")
            self.kept[f"{year}-{month:02}-{last:02}"] = {state: list(rows) for state, rows in live.items()}

    def move_on(self, of_state, chance):
        """A month in the life of a queue: some leave it, some are revised, some are new."""
        for key in [key for key in of_state if chance.random() < 0.05]:
            del of_state[key]
        for key in of_state:
            if chance.random() < 0.2:
                of_state[key] = (chance.choice(["active", "done"]), chance.randrange(1, 4000) / 8, chance.randrange(1, 9))
        for _ in range(chance.randrange(2, 9)):
            self.number += 1
            of_state[f"Q{self.number:04}"] = ("active", chance.randrange(1, 4000) / 8, chance.randrange(1, 9))

    def flat(self, kept):
        return sorted(row for rows in kept.values() for row in rows)

    def test_as_of_each_month_end(self):
        duckdb = self.need("duckdb")
        self.assertEqual(len(self.kept), 24)
        before = self.tree()
        for day, kept in self.kept.items():
            told = self.recloser_json("as-of", "spec.yaml", day)
            self.assertEqual({p["partition"].partition("=")[2] for p in told["partitions"]}, set(kept), day)
            for part in told["partitions"]:
                file = self.dir / part["file"]
                self.assertEqual(self.rows([file]), kept[part["partition"].partition("=")[2]], (day, part))
                self.assertEqual((sha256(file), file.stat().st_size), (part["sha256"], part["bytes"]))
            sql = self.recloser("as-of", "spec.yaml", day, "--sql").out
            connection = duckdb.connect()
            connection.execute(sql)
            name = "queue_" + day.replace("-", "_")
            self.assertEqual(sorted(connection.execute(f"SELECT {', '.join(COLUMNS)} FROM {name}").fetchall()), self.flat(kept))
        self.assertEqual(self.tree(), before, "as-of changed something")
        self.assertEqual(self.recloser_json("as-of", "spec.yaml", "2024-06-30")["partitions"], [])
        for words in (("--sql",), ("--copy", "nothing")):
            self.assertIn("nothing was live at 2024-06-30", self.recloser("as-of", "spec.yaml", "2024-06-30", *words, code=USAGE).err)
        self.assertFalse((self.dir / "nothing").exists())

    def test_copied_tree(self):
        arrow = self.need("pyarrow.dataset")
        for day in list(self.kept)[::7]:
            told = self.recloser_json("as-of", "spec.yaml", day, "--copy", f"copies/{day}")
            copied = tree(self.dir / "copies" / day)
            self.assertEqual(copied, {f"{p['partition']}/part.parquet": p["sha256"] for p in told["partitions"]})
            table = arrow.dataset(self.dir / "copies" / day, partitioning=None).to_table(columns=list(COLUMNS))
            rows = sorted(tuple(row[c] for c in COLUMNS) for row in table.to_pylist())
            self.assertEqual(rows, self.flat(self.kept[day]))
        refused = self.recloser("as-of", "spec.yaml", day, "--copy", f"copies/{day}", code=USAGE)
        self.assertIn("not empty", refused.err)
        self.assertEqual(tree(self.dir / "copies" / day), copied)
        inode = {p.stat().st_ino for p in (self.dir / "copies").rglob("*.parquet")}
        self.assertFalse(inode & {p.stat().st_ino for p in (self.dir / "lake").rglob("part.parquet*")}, "a copy shares its bytes")

    def test_restore_each_and_back(self):
        versions = self.recloser_json("history", "spec.yaml", "state=TX")["versions"]
        count = len(versions)
        self.assertEqual(count, len(self.history["TX"]))
        others = {s: sha256(self.live(f"state={s}")) for s in ("MA", "NY")}
        newest, seq = versions[0], count
        for version in reversed(versions[1:]):
            done = self.recloser_json("restore", "spec.yaml", "state=TX", version["seq"])
            self.assertEqual((done["outcome"], done["seq"], done["restored_from"]), ("restored", seq + 1, version["seq"]))
            self.assertEqual(sha256(self.live("state=TX")), version["sha256"])
            self.assertEqual(self.rows([self.live("state=TX")]), self.history["TX"][version["seq"] - 1])
            record = self.record("state=TX", seq + 1)
            self.assertEqual((record["kind"], record["restored_from"]["seq"], record["base"]["seq"]), ("restored", version["seq"], seq))
            self.assertEqual(record["file"]["rows"], version["rows"])
            self.assertEqual(record["sources"], version["sources"])
            back = self.recloser_json("restore", "spec.yaml", "state=TX", newest["seq"])
            self.assertEqual((back["outcome"], back["seq"]), ("restored", seq + 2))
            self.assertEqual(sha256(self.live("state=TX")), newest["sha256"])
            seq += 2
        again = self.recloser_json("restore", "spec.yaml", "state=TX", newest["seq"])
        self.assertEqual(again["outcome"], "unchanged")
        self.assertEqual({s: sha256(self.live(f"state={s}")) for s in ("MA", "NY")}, others)
        self.recloser("verify", "spec.yaml")
        self.assertEqual(stat.S_IMODE(self.live("state=TX").stat().st_mode), 0o444)

    def test_prune_to_twelve(self):
        histories = {s: self.recloser_json("history", "spec.yaml", f"state={s}")["versions"] for s in STATES}
        before = self.tree()
        told = self.recloser_json("prune", "spec.yaml", "--keep", "12")
        self.assertEqual(told["outcome"], "dry_run")
        self.assertEqual(self.tree(), before)
        goes = {(f"state={s}", v["seq"]): v for s in STATES for v in histories[s][12:]}
        self.assertGreater(len(goes), 10)
        self.assertEqual({(v["partition"], v["seq"]) for v in told["versions"]}, set(goes))
        self.assertEqual(told["freed_bytes"], sum(v["bytes"] for v in goes.values()))
        used = sum(p.stat().st_size for p in (self.dir / "lake/_recloser/queue/archive").rglob("part.parquet.*"))
        done = self.recloser_json("prune", "spec.yaml", "--keep", "12", "--yes")
        self.assertEqual((done["outcome"], done["versions"]), ("pruned", told["versions"]))
        left = sum(p.stat().st_size for p in (self.dir / "lake/_recloser/queue/archive").rglob("part.parquet.*"))
        self.assertEqual(used - left, done["freed_bytes"])
        after = self.tree()
        gone = {f"_recloser/queue/{v['archive']}" for v in goes.values()}
        run = f"_recloser/queue/prunes/{done['run']}.json"
        self.assertEqual(set(before) - set(after), gone)
        self.assertEqual({p for p in set(after) - set(before)} - {run}, {p for p in set(after) - set(before) if "/probe/" in p})
        same = [path for path in after if path in before and not path.endswith("/lock")]
        self.assertEqual([path for path in same if after[path] != before[path]], [])
        self.assertEqual(json.loads((self.dir / "lake" / run).read_text())["state"], "done")
        self.recloser("verify", "spec.yaml")
        for state in STATES:
            for version in self.recloser_json("history", "spec.yaml", f"state={state}")["versions"]:
                if (f"state={state}", version["seq"]) in goes:
                    self.assertIsNone(version["file"])
                    self.assertIn(done["run"], version["pruned"])
                    refused = self.recloser("restore", "spec.yaml", f"state={state}", version["seq"], code=FAULT)
                    self.assertIn("pruned on", refused.err)
                else:
                    self.assertEqual(sha256(self.dir / version["file"]), version["sha256"])
        lost = self.recloser_json("as-of", "spec.yaml", list(self.kept)[0], code=FAULT)
        self.assertIn("pruned on", lost["partitions"][0]["lost"])
        self.recloser("as-of", "spec.yaml", list(self.kept)[0], "--copy", "no", code=FAULT)
        self.assertFalse((self.dir / "no").exists())
        self.assertEqual(self.recloser_json("prune", "spec.yaml", "--keep", "12", "--yes")["outcome"], "unchanged")
        self.recloser("doctor", "spec.yaml", "--quick")

    def test_prune_by_age_keeps_as_of(self):
        """A version that was still live on the day must stay, however old it is."""
        days = list(self.kept)
        middle = days[12]
        done = self.recloser_json("prune", "spec.yaml", "--older-than", middle, "--yes")
        self.assertGreater(len(done["versions"]), 5)
        for day in days[12:]:
            told = self.recloser_json("as-of", "spec.yaml", day)
            self.assertEqual(self.rows([self.dir / p["file"] for p in told["partitions"]]), self.flat(self.kept[day]), day)
        both = self.recloser_json("prune", "spec.yaml", "--older-than", days[-1], "--keep", "1000")
        self.assertEqual(both["versions"], [], "a version goes only when both rules let it")
        span = self.recloser_json("prune", "spec.yaml", "--older-than", "6 months", env=self.at("2026-07-01T00:00:00Z"))
        day = self.recloser_json("prune", "spec.yaml", "--older-than", "2026-01-01")
        self.assertEqual(span["versions"], day["versions"])
        self.recloser("prune", "spec.yaml", code=USAGE)
        self.recloser("prune", "spec.yaml", "--older-than", "soon", code=USAGE)


class Days(Publishing):
    """What a day and a time mean."""

    def test_ends(self):
        self.spec(SPEC)
        times = ["2026-03-01T00:00:00Z", "2026-03-01T12:00:30Z", "2026-03-01T23:59:59Z", "2026-03-02T00:00:00Z"]
        for i, moment in enumerate(times):
            self.publish([("Q1", "TX", "active", i + 1, 1)], moment)
        for when, seq in (("2026-02-28", 0), ("2026-03-01", 3), ("2026-03-02", 4), ("2026-03-01T12:00Z", 2), ("2026-03-01T12:00:29Z", 1),
                          ("2026-03-01 12:00:30", 2), ("2026-03-01T11:59Z", 1), ("2026-03-01T00:00Z", 1)):
            told = self.recloser_json("as-of", "spec.yaml", when)["partitions"]
            self.assertEqual([p["seq"] for p in told], [seq] if seq else [], when)
        for when in ("2026-02-30", "march", "2026-3-1", "2026-03-01T25:00Z"):
            refused = self.recloser("as-of", "spec.yaml", when, code=USAGE)
            self.assertIn("neither a time nor a tag", refused.err)

    def test_partition_columns_that_are_not_in_the_file(self):
        """The archive's paths are not those of the partition: the view must not take load_date for a column, nor lose one."""
        duckdb = self.need("duckdb")
        for mode in ("path", "dictionary", "plain"):
            spec = self.spec(SPEC.replace("partition: [state]", "partition: [state, year]").replace("lake", f"lake-{mode}")
                             + f"  year: {{type: integer}}\npartition_columns: {mode}\n", f"{mode}.yaml")
            columns = (*COLUMNS, "year")
            rows = [("Q1", "TX", "a", 1.5, 1, 2026), ("Q2", "TX", "a", 2.5, 1, 2027), ("Q3", "N/Y", "a", 3.5, 1, 2026)]
            self.publish(rows, "2026-03-01T00:00:00Z", spec=spec, columns=columns)
            self.publish([(*r[:3], 9.0, *r[4:]) for r in rows], "2026-03-02T00:00:00Z", spec=spec, columns=columns)
            connection = duckdb.connect()
            connection.execute(self.recloser("as-of", spec, "2026-03-01", "--sql").out)
            got = connection.execute("SELECT * EXCLUDE (asset_key) FROM queue_2026_03_01")
            self.assertEqual(sorted(d[0] for d in got.description), sorted(columns), mode)
            names = [d[0] for d in got.description]
            self.assertEqual(sorted(tuple(row[names.index(c)] for c in columns) for row in got.fetchall()), sorted(rows), mode)


class Restoring(Publishing):
    def setUp(self):
        super().setUp()
        self.spec(SPEC)
        for i in range(3):
            self.publish([("Q1", "TX", "active", i + 1.5, 1), ("Q2", "NY", "active", 7, 1)], f"2026-03-0{i + 1}T00:00:00Z")

    def test_missing_live_file(self):
        digest = sha256(self.live("state=TX"))
        os.unlink(self.live("state=TX"))
        self.assertIn("brings it back", self.recloser("history", "spec.yaml", "state=TX").out)
        done = self.recloser_json("restore", "spec.yaml", "state=TX", 3)
        self.assertEqual((done["outcome"], done["seq"]), ("restored", 4))
        self.assertEqual(sha256(self.live("state=TX")), digest)
        self.recloser("verify", "spec.yaml")

    def test_damaged_archive_is_not_made_live(self):
        archived = self.control / self.record("state=TX", 1)["archive"]
        os.chmod(archived, 0o644)
        content = bytearray(archived.read_bytes())
        content[40] ^= 1
        archived.write_bytes(content)
        before = self.tree(without=("_recloser",))
        refused = self.recloser("restore", "spec.yaml", "state=TX", 1, code=FAULT)
        self.assertIn("SHA-256", refused.err)
        self.assertEqual(self.tree(without=("_recloser",)), before)
        self.recloser("as-of", "spec.yaml", "2026-03-01", "--copy", "out", code=FAULT)
        self.assertEqual([p.name for p in self.dir.iterdir() if p.name.startswith("out")], [])

    def test_wrong_words(self):
        for words, said in ((("state=TX", 9), "no version 9"), (("state=CA", 1), "no partition state=CA"), (("state=TX", "one"), "SEQ"),
                            (("state=TX", 0), "SEQ")):
            self.assertIn(said, self.recloser("restore", "spec.yaml", *words, code=USAGE).err)

    def test_foreign_live_file_is_adopted_first(self):
        foreign = self.control / self.record("state=TX", 1)["archive"]
        os.unlink(self.live("state=TX"))
        shutil.copy(foreign, self.live("state=TX"))
        done = self.recloser_json("restore", "spec.yaml", "state=TX", 2)
        self.assertEqual((done["outcome"], done["seq"]), ("restored", 5))
        versions = self.recloser_json("history", "spec.yaml", "state=TX")["versions"]
        self.assertEqual([v["kind"] for v in versions], ["restored", "adopted", "version", "version", "version"])
        self.assertEqual(versions[1]["why"], "adopted: another program put the bytes of seq 1 back")

    def test_adopted_by_a_restore(self):
        """Whoever records foreign bytes reads how many rows they are; bytes that nobody can read have an unknown number."""
        duckdb = self.need("duckdb")
        os.unlink(self.live("state=TX"))
        duckdb.connect().execute(f"COPY (SELECT 'x' AS queue_id FROM range(7)) TO '{self.live('state=TX')}' (FORMAT parquet)")
        self.recloser("restore", "spec.yaml", "state=TX", 1)
        self.assertEqual((self.record("state=TX", 4)["kind"], self.record("state=TX", 4)["file"]["rows"]), ("adopted", 7))
        again = self.recloser_json("restore", "spec.yaml", "state=TX", 4)
        self.assertEqual((again["rows"], again["warnings"]), (7, ["seq 4 was written by another program; recloser verify tells what it lacks"]))
        self.recloser("verify", "spec.yaml", "state=TX", code=FAULT)
        os.unlink(self.live("state=TX"))
        self.live("state=TX").write_text("no Parquet")
        self.recloser("restore", "spec.yaml", "state=TX", 2)
        versions = self.recloser_json("history", "spec.yaml", "state=TX")["versions"]
        self.assertEqual([(v["kind"], v["rows"]) for v in versions[:4]], [("restored", 1), ("adopted", None), ("restored", 7), ("restored", 1)])
        self.assertIn("unknown rows", self.recloser("history", "spec.yaml", "state=TX").out)

    def test_restored_record_is_of_its_own(self):
        """What was said of the step to the earlier version is not said of the step back to it."""
        self.spec(SPEC.replace("{policy: allow}", "{policy: hold}") + "totals: {capacity_mw: {max_change: 20%}}\n")
        self.write("queue.csv", ",".join(COLUMNS) + "\nQ9,TX,active,100,1\nQ2,NY,active,7,1\n")
        self.recloser("load", "spec.yaml", "queue.csv", "--accept", "totals", "--accept", "disappeared", env=self.at("2026-03-05T00:00:00Z"))
        told = self.recloser_json("history", "spec.yaml", "state=TX")["versions"][0]
        self.assertEqual((told["accepted"], [g["guard"] for g in told["guards"]]), 2 * (["totals", "disappeared"],))
        text = self.recloser("history", "spec.yaml", "state=TX").out
        self.assertIn("disappeared accepted: state=TX: 1 of 1 keys", text)
        self.recloser("restore", "spec.yaml", "state=TX", 3)
        self.recloser("restore", "spec.yaml", "state=TX", 4)
        record = self.record("state=TX", 6)
        self.assertEqual([name for name in ("guards", "accepted", "changed", "disappeared", "new_keys", "compared_with") if name in record], [])
        self.assertEqual(record["totals"], {"capacity_mw": {"now": 100.0}})
        self.assertEqual(record["sources"], self.record("state=TX", 4)["sources"])

    def test_history(self):
        told = self.recloser_json("history", "spec.yaml", "state=TX")
        self.assertEqual([(v["seq"], v["live"], v["rows"]) for v in told["versions"]], [(3, True, 1), (2, False, 1), (1, False, 1)])
        self.assertEqual([v["why"] for v in told["versions"]], ["keys: 1 revised, from queue.csv"] * 2 + ["first version, from queue.csv"])
        self.assertEqual(told["versions"][0]["sources"][0]["sha256"], sha256(self.dir / "queue.csv"))
        self.assertEqual(len(self.recloser_json("history", "spec.yaml", "state=NY")["versions"]), 1)
        self.assertIn("the dataset has 2 partitions: which one?", self.recloser("history", "spec.yaml", code=USAGE).err)
        self.assertIn("no partition state=T", self.recloser("history", "spec.yaml", "state=T", code=USAGE).err)


class Kept(Publishing):
    """Seq 1 was restored as seq 3, then pruned: its bytes are in the archive as seq 3, and that is where all who read it look."""

    def setUp(self):
        super().setUp()
        self.need("duckdb")
        self.spec(SPEC)
        self.first = [("Q1", "TX", "active", 1.5, 1)]
        self.second = [("Q1", "TX", "active", 2.5, 1)]
        self.publish(self.first, "2026-03-01T00:00:00Z")
        self.publish(self.second, "2026-03-02T00:00:00Z")
        self.recloser("restore", "spec.yaml", "state=TX", 1, env=self.at("2026-03-03T00:00:00Z"))
        self.pruned = self.recloser_json("prune", "spec.yaml", "--keep", "1", "--yes", env=self.at("2026-03-04T00:00:00Z"))

    def view(self, sql):
        connection = self.need("duckdb").connect()
        connection.execute(sql)
        return connection.execute(f"SELECT {', '.join(COLUMNS)} FROM queue_2026_03_01").fetchall()

    def test_a_view_stays_as_it_is(self):
        sql = self.recloser("as-of", "spec.yaml", "2026-03-01", "--sql").out
        self.assertNotIn("live file", sql)
        self.assertEqual(self.view(sql), self.first)
        self.write("queue.csv", ",".join(COLUMNS) + "\nQ1,TX,active,9.5,1\n")
        self.recloser("load", "spec.yaml", "queue.csv", env=self.at("2026-03-05T00:00:00Z"))
        self.assertEqual(self.view(sql), self.first, "the next load has changed the view")
        part = self.recloser_json("as-of", "spec.yaml", "2026-03-01")["partitions"][0]
        self.assertEqual((part["seq"], part["file"].endswith(self.record("state=TX", 3)["archive"]), part["live_file"]), (1, True, False))
        self.recloser("as-of", "spec.yaml", "2026-03-01", "--copy", "then")
        self.assertEqual(sha256(self.dir / "then/state=TX/part.parquet"), part["sha256"])
        self.recloser("diff", "spec.yaml", "state=TX", "1", "4")
        self.assertEqual(self.recloser_json("restore", "spec.yaml", "state=TX", 1)["seq"], 5)
        self.assertEqual(sha256(self.live("state=TX")), part["sha256"])

    def test_prune_history_and_doctor_agree(self):
        self.assertEqual([v["seq"] for v in self.pruned["versions"]], [1, 2])
        told = {v["seq"]: v for v in self.recloser_json("history", "spec.yaml", "state=TX")["versions"]}
        self.assertEqual({seq: v["pruned"] is not None for seq, v in told.items()}, {1: True, 2: True, 3: False})
        self.assertEqual((told[1]["kept_as"], told[2]["file"], "kept_as" in told[2], "kept_as" in told[3]), (3, None, False, False))
        self.assertRegex(self.recloser("history", "spec.yaml", "state=TX").out, "pruned on 2026-03-04 by run .*; its bytes are kept as seq 3")
        self.assertIn("3 versions, ", self.recloser("doctor", "spec.yaml").out)
        self.assertIn("2 were pruned, 1 of them kept as another version", self.recloser("doctor", "spec.yaml").out)
        why = self.recloser("why", "--spec", "spec.yaml", self.live("state=TX")).out
        self.assertRegex(why, "pruned on 2026-03-04 by run .*; its bytes are kept as seq 3")
        self.recloser("verify", "spec.yaml", "--archive")

    def test_a_tag_keeps_what_is_left(self):
        self.publish([("Q1", "TX", "active", 3.5, 1)], "2026-03-05T00:00:00Z")
        self.recloser("tag", "spec.yaml", "q1", "--at", "2026-03-01")
        self.assertEqual(self.recloser_json("prune", "spec.yaml", "--keep", "1", "--yes")["versions"], [])
        self.recloser("verify", "spec.yaml", "--tag", "q1")
        self.recloser("tag", "spec.yaml", "q1", "--delete")
        self.assertEqual([v["seq"] for v in self.recloser_json("prune", "spec.yaml", "--keep", "1", "--yes")["versions"]], [3])
        lost = self.recloser("as-of", "spec.yaml", "2026-03-01", code=FAULT)
        self.assertIn("1 of 1 versions that were live then are not to be had any more", lost.err)

    def test_only_the_live_file_is_left(self):
        os.unlink(self.control / self.record("state=TX", 3)["archive"])
        said = "the live file of state=TX, which no archived one equals: the next load of it changes this view"
        sql = self.recloser("as-of", "spec.yaml", "2026-03-01", "--sql").out
        self.assertIn(said, sql)
        self.assertEqual(self.view(sql), self.first)
        self.assertIn("which the next load of the partition replaces", self.recloser("as-of", "spec.yaml", "2026-03-01").out)
        self.assertTrue(self.recloser_json("as-of", "spec.yaml", "2026-03-01")["partitions"][0]["live_file"])


class Tags(Publishing):
    def setUp(self):
        super().setUp()
        self.spec(SPEC)
        for i in range(4):
            self.publish([("Q1", "TX", "active", i + 1.5, 1), ("Q2", "NY", "active", 7 + i // 2, 1)], f"2026-03-0{i + 1}T00:00:00Z")

    def test_tag_then_prune(self):
        self.assertEqual(self.recloser_json("tag", "spec.yaml", "q1", "--at", "2026-03-02")["versions"], 2)
        self.assertEqual(self.recloser_json("tag", "spec.yaml", "now")["versions"], 2)
        told = self.recloser_json("prune", "spec.yaml", "--keep", "1")
        self.assertEqual([(v["partition"], v["seq"]) for v in told["versions"]], [("state=TX", 1), ("state=TX", 3)])
        self.assertEqual(told["kept_by_tags"], 2)
        self.recloser("prune", "spec.yaml", "--keep", "1", "--yes")
        pinned = self.recloser_json("as-of", "spec.yaml", "q1")
        self.assertEqual([(p["partition"], p["seq"]) for p in pinned["partitions"]], [("state=NY", 1), ("state=TX", 2)])
        self.assertEqual(self.recloser_json("verify", "spec.yaml", "--tag", "q1")["rows"], 2)
        self.assertIn("CREATE OR REPLACE VIEW \"queue_q1\"", self.recloser("as-of", "spec.yaml", "q1", "--sql").out)
        damaged = self.dir / pinned["partitions"][1]["file"]
        os.chmod(damaged, 0o644)
        damaged.write_bytes(damaged.read_bytes().replace(b"PAR1", b"PAR2"))
        self.recloser("verify", "spec.yaml")
        self.assertIn("state=TX", self.recloser("verify", "spec.yaml", "--tag", "q1", code=FAULT).out)
        self.recloser("tag", "spec.yaml", "q1", "--delete")
        self.assertEqual(len(self.recloser_json("prune", "spec.yaml", "--keep", "1", "--yes")["versions"]), 2)

    def test_names(self):
        self.recloser("tag", "spec.yaml", "board_2026.v1")
        self.assertEqual(self.recloser_json("tag", "spec.yaml", "board_2026.v1")["outcome"], "unchanged")
        self.publish([("Q1", "TX", "active", 99, 1), ("Q2", "NY", "active", 8, 1)], "2026-03-09T00:00:00Z")
        self.assertIn("does not move", self.recloser("tag", "spec.yaml", "board_2026.v1", code=USAGE).err)
        for name in ("2026-03-01", "../up", ".hidden", "with space", "x" * 101):
            self.assertIn("name of a tag", self.recloser("tag", "spec.yaml", name, code=USAGE).err)
        listed = self.recloser_json("tag", "spec.yaml", "--list")["tags"]
        self.assertEqual([(t["tag"], len(t["versions"])) for t in listed], [("board_2026.v1", 2)])
        self.assertIn("no tag other", self.recloser("tag", "spec.yaml", "other", "--delete", code=USAGE).err)
        self.assertIn("no tag other", self.recloser("verify", "spec.yaml", "--tag", "other", code=USAGE).err)

    def test_tag_meets_prune(self):
        """A prune that has announced what it deletes: a tag that would pin it is taken back. The next prune settles what one that
        died has left announced."""
        prunes = self.control / "prunes"
        prunes.mkdir()
        record = self.record("state=TX", 2)
        announced = {"run": "20260304T0000Z-dead", "at": "2026-03-04T00:00:00Z", "state": "announced",
                     "versions": [{"partition": "state=TX", "seq": 2, "archive": record["archive"]}]}
        (prunes / "20260304T0000Z-dead.json").write_text(json.dumps(announced))
        refused = self.recloser("tag", "spec.yaml", "q1", "--at", "2026-03-02", code=CONFLICT)
        self.assertIn("being pruned", refused.err)
        self.assertEqual(self.recloser_json("tag", "spec.yaml", "--list")["tags"], [])
        self.recloser("prune", "spec.yaml", "--keep", "3", "--yes")
        settled = json.loads((prunes / "20260304T0000Z-dead.json").read_text())
        self.assertEqual((settled["state"], settled["versions"]), ("cut short", []))
        self.recloser("tag", "spec.yaml", "q1", "--at", "2026-03-02")

    def test_shared_bytes_come_free_with_the_last_name(self):
        self.recloser("restore", "spec.yaml", "state=TX", 1)
        told = self.recloser_json("prune", "spec.yaml", "--keep", "4")
        self.assertEqual([(v["partition"], v["seq"]) for v in told["versions"]], [("state=TX", 1)])
        self.assertEqual(told["freed_bytes"], 0, "seq 5 is the same file under another name")
        self.recloser("prune", "spec.yaml", "--keep", "4", "--yes")
        self.assertEqual(sha256(self.live("state=TX")), self.record("state=TX", 1)["file"]["sha256"])
        self.recloser("verify", "spec.yaml")


main()
