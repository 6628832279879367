# SPDX-License-Identifier: Apache-2.0
"""The guards of a load, each policy of each: what it says, what becomes of the partition, how --accept lets it pass once, and
that report and record tell of it. docs/guards.md is what these tests hold true."""
import fcntl
import json
import re
import subprocess
import time

from loading import Loading
from support import CONFLICT, HELD, IO, OK, PROGRAM, SOURCE, USAGE, main, recloser

PLAIN = {"key": "{identity: [id]}", "partition": "[state]", "revision": None, "geometry": None}
TX = "state=TX"


def rows(header, *lines):
    return "\n".join([header, *lines]) + "\n"


def queue(*projects, state="TX"):
    """Projects as (id, capacity[, status]) of one state."""
    return rows("id,state,capacity,status", *(f"{p[0]},{state},{p[1]},{p[2] if len(p) > 2 else 'active'}" for p in projects))


class Guards(Loading):
    columns = {"capacity": "{type: double}"}

    def plain(self, name="spec.yaml", **fields):
        return self.queue_spec({**self.columns, **fields.pop("columns", {})}, name=name, **{**PLAIN, **fields})

    def first(self, spec, text, name="one.csv"):
        return self.load(spec, self.write(name, text))

    def part(self, report, path=TX):
        return next(p for p in report["partitions"] if p["partition"] == path)

    def ids(self, path=TX):
        return [i for i, in self.table(path, "id", "id")]

    def run_report(self, report):
        return json.loads((self.control / "runs" / f"{report['run']}.json").read_text())

    def assert_did(self, report, guard, did, path=TX):
        """What the guard did to the partition stands in the report, in the run's file, and, if it went live, in the record."""
        entries = [e for e in self.part(report, path).get("guards", []) if e["guard"] == guard]
        self.assertEqual([e["did"] for e in entries], [did], self.part(report, path))
        stored = self.part(self.run_report(report), path)
        self.assertEqual([e["did"] for e in stored["guards"] if e["guard"] == guard], [did])
        self.assertTrue(any(entries[0]["what"] in w for w in report["warnings"]), report["warnings"])
        if did == "held":
            self.assertEqual(self.part(report, path)["held_by"], guard)
            return entries[0]["what"]
        record = self.ledger(path)[-1]
        self.assertEqual([e["did"] for e in record["guards"] if e["guard"] == guard], [did])
        accepted = [guard] if did == "accepted" else []
        self.assertEqual([a for a in record.get("accepted", []) if a == guard], accepted)
        self.assertEqual([a for a in report["accepted"] if a == guard], accepted)
        return entries[0]["what"]

    def four_policies(self, policy_spec, guard, one, two, words):
        """The same two publications under allow, warn, hold and refuse; the last two let pass by --accept."""
        for policy in ("allow", "warn", "hold", "refuse"):
            with self.subTest(policy=policy):
                self.lake = f"lake_{policy}"
                spec = policy_spec(policy, root=self.lake)
                self.first(spec, one)
                second = self.write("two.csv", two)
                if policy in ("allow", "warn"):
                    report = self.load(spec, second)
                    self.assertEqual(self.part(report)["outcome"], "replaced")
                    if policy == "warn":
                        self.assertIn(words, self.assert_did(report, guard, "warned"))
                    else:
                        self.assertFalse([w for w in report["warnings"] if words in w])
                        self.assertNotIn("guards", self.part(report))
                    continue
                if policy == "hold":
                    before = self.tree(f"{self.lake}/queue")
                    report = self.load(spec, second, code=HELD)
                    self.assertEqual(report["outcome"], "held")
                    self.assertEqual(self.part(report)["outcome"], "held")
                    self.assertEqual(report["held"], report["rows_in"])
                    self.assertIn(words, self.assert_did(report, guard, "held"))
                    self.assertIn(f"--accept {guard}", "\n".join(report["warnings"]))
                    self.assertEqual(self.tree(f"{self.lake}/queue"), before)
                    again = self.load(spec, second, code=HELD)  # not taken for unchanged
                    self.assertEqual(again["held"], report["held"])
                else:
                    error = self.refused(spec, second, said=(words, f"--accept {guard}", TX))
                    self.assertEqual(error["code"], f"guard.{guard}")
                report = self.load(spec, second, "--accept", guard)
                self.assertEqual(self.part(report)["outcome"], "replaced")
                self.assertIn(words, self.assert_did(report, guard, "accepted"))
                self.assertEqual(self.load(spec, second, "--accept", guard)["outcome"], "unchanged")
        self.lake = "lake"


class Disappeared(Guards):
    ten = queue(*((f"Q{i:02}", 10 * i) for i in range(1, 11)))
    seven = queue(*((f"Q{i:02}", 10 * i) for i in range(1, 8)))

    def test_policies(self):
        self.four_policies(lambda policy, root: self.plain(root=root, disappeared=policy), "disappeared", self.ten, self.seven,
                           "3 of 10 keys of the live version are gone: Q08, Q09, Q10")

    def test_default_warns_at_the_first(self):
        spec = self.plain()
        self.first(spec, self.ten)
        nine = self.write("nine.csv", queue(*((f"Q{i:02}", 10 * i) for i in range(1, 10))))
        self.assertIn("1 of 10 keys", self.assert_did(self.load(spec, nine), "disappeared", "warned"))

    def test_share(self):
        """30 % are gone: at the limit it is only counted and listed, below it the policy applies."""
        for limit, code in (("30%", OK), ("29.9%", HELD)):
            with self.subTest(limit=limit):
                self.lake = f"lake{limit.strip('%')}"
                spec = self.plain(root=self.lake, disappeared=f"{{policy: hold, max: {limit}}}")
                self.first(spec, self.ten)
                report = self.load(spec, self.write("two.csv", self.seven), code=code)
                self.assertEqual(report["disappeared"], 3)
                self.assertEqual(self.gone(report, "id"), [("Q08",), ("Q09",), ("Q10",)])

    def test_count(self):
        for limit, code in ((3, OK), (2, HELD)):
            with self.subTest(limit=limit):
                self.lake = f"lake{limit}"
                spec = self.plain(root=self.lake, disappeared=f"{{policy: hold, max: {limit}}}")
                self.first(spec, self.ten)
                self.load(spec, self.write("two.csv", self.seven), code=code)

    def test_list(self):
        """The list: partition, key, identity fields, last seq, last row."""
        spec = self.plain(key="{identity: [state, id, row]}", partition="[state, month]", columns={"row": "{type: integer}"})
        header = "id,state,month,row,capacity"
        self.first(spec, rows(header, "A,TX,2026-07,1,5", "A,TX,2026-07,2,6.5", "B,TX,2026-07,1,7"))
        self.first(spec, rows(header, "A,TX,2026-07,1,5.5", "A,TX,2026-07,2,6.5", "B,TX,2026-07,1,7"), "two.csv")
        report = self.first(spec, rows(header, "A,TX,2026-07,1,5.5"), "three.csv")
        found = self.query(f"SELECT * FROM read_parquet('{self.control / report['disappeared_file']}') ORDER BY 2")
        names = [d[0] for d in self.query(f"DESCRIBE SELECT * FROM read_parquet('{self.control / report['disappeared_file']}')")]
        self.assertEqual(names, ["partition", "asset_key", "state", "id", "row_", "last_seq", "row"])
        self.assertEqual(sorted(r[2:6] for r in found), [("TX", "A", "2", 2), ("TX", "B", "1", 2)])
        self.assertEqual({r[0] for r in found}, {"state=TX/month=2026-07"})
        key = recloser("key", "TX", "A", "2").out.strip()
        last = json.loads(next(r[6] for r in found if r[1] == key))
        self.assertEqual(last, {"asset_key": key, "id": "A", "row": 2, "capacity": 6.5})

    def test_numbers_that_json_does_not_have(self):
        """In the list, and in what diff writes: each row is JSON by the letter, and says what quarantine would say."""
        pa, parquet = self.need("pyarrow"), self.need("pyarrow.parquet")
        nan, inf = float("nan"), float("inf")
        gone = {"A": (nan, [1.5, -inf], {"x": inf}), "B": (-inf, [1.5], {"x": 2.0}), "C": (2.5, [None], None), "D": (None, None, {"x": None})}
        for name, rows in (("one", {**gone, "Z": (0.5, [0.5], {"x": 0.5})}), ("two", {"Z": (0.5, [0.5], {"x": 0.5})})):
            columns = {"id": list(rows), "state": ["TX"] * len(rows), "month": ["2026-07"] * len(rows), "capacity": [1.0] * len(rows)}
            columns |= {column: [row[i] for row in rows.values()] for i, column in enumerate(("n", "l", "s"))}
            parquet.write_table(pa.table(columns), self.dir / f"{name}.parquet")
            report = self.load(self.plain(), self.dir / f"{name}.parquet")
        said = {"A": ("nan", "[1.5, -inf]", "{'x': inf}"), "B": ("-inf", [1.5], {"x": 2.0}), "C": (2.5, [None], None), "D": (None, None, {"x": None})}
        self.recloser("diff", "spec.yaml", TX, "1", "2", "--output", "changes.pq")
        for sql in (f"SELECT row FROM read_parquet('{self.control / report['disappeared_file']}')",
                    f"SELECT old FROM read_parquet('{self.dir}/changes.pq') WHERE change = 'removed'"):
            rows = [json.loads(text, parse_constant=lambda word: self.fail(f"{word} is not JSON")) for text, in self.query(sql)]
            self.assertEqual({row["id"]: (row["n"], row["l"], row["s"]) for row in rows}, said)

    def test_held_lists_too(self):
        spec = self.plain(disappeared="hold")
        self.first(spec, self.ten)
        report = self.load(spec, self.write("two.csv", self.seven), code=HELD)
        self.assertEqual(self.gone(report, "id"), [("Q08",), ("Q09",), ("Q10",)])

    def test_partition_columns_in_the_path_only(self):
        spec = self.plain(key="{identity: [state, id]}", partition_columns="path")
        self.first(spec, self.ten)
        report = self.load(spec, self.write("two.csv", self.seven))
        self.assertEqual(self.gone(report, "state, id"), [("TX", "Q08"), ("TX", "Q09"), ("TX", "Q10")])

    def test_one_file(self):
        spec = self.plain(partition="[]", disappeared="hold")
        self.first(spec, self.ten)
        report = self.load(spec, self.write("two.csv", self.seven), code=HELD)
        self.assertEqual(self.part(report, "")["held_by"], "disappeared")
        self.assertIn("the one partition: 3 of 10", report["warnings"][0])
        self.load(spec, self.dir / "two.csv", "--accept", "disappeared")
        self.assertEqual(len(self.ids("")), 7)

    def test_sudden_drop(self):
        """Case 51."""
        case = self.case("51-sudden-drop")
        spec = self.queue_spec(disappeared="allow")
        self.load(spec, case / "v1.csv")
        report = self.load(spec, case / "v2.csv")
        partition = report["partitions"][0]["partition"]
        self.assertEqual(len(self.table(partition)), 4)
        self.assertEqual(self.gone(report, "queue_id"), [(f"D{i:02}",) for i in range(5, 11)])
        self.lake = "refusing"
        spec = self.queue_spec(root="refusing", disappeared="{policy: refuse, max: 50%}")
        self.load(spec, case / "v1.csv")
        self.refused(spec, case / "v2.csv", said=("6 of 10 keys", "D05, D06, D07, ..."))
        self.assertEqual(len(self.table(partition)), 10)

    def test_unknown_guard(self):
        spec = self.plain()
        data = self.write("one.csv", self.ten)
        said = self.recloser("load", spec, data, "--accept", "disapeared", code=USAGE).err
        self.assertIn('did you mean "disappeared"?', said)

    def test_a_held_partition_keeps_the_others_going(self):
        spec = self.plain(disappeared="hold")
        self.first(spec, self.ten + queue(("N1", 1), ("N2", 2), state="NM").split("\n", 1)[1])
        two = self.write("two.csv", self.seven + queue(("N1", 1), ("N2", 5), state="NM").split("\n", 1)[1])
        report = self.load(spec, two, code=HELD)
        self.assertEqual([(p["partition"], p["outcome"]) for p in report["partitions"]], [("state=NM", "replaced"), ("state=TX", "held")])
        self.assertEqual((report["rows_in"], report["rows_written"], report["held"]), (9, 2, 7))
        self.assertEqual(len(self.ids()), 10)
        report = self.load(spec, two, "--accept", "disappeared")
        self.assertEqual([(p["partition"], p["outcome"]) for p in report["partitions"]], [("state=NM", "unchanged"), ("state=TX", "replaced")])
        self.assertEqual(report["accepted"], ["disappeared"])
        self.assertNotIn("accepted", self.ledger("state=NM")[-1])

    def test_dry_run_says_it(self):
        spec = self.plain(disappeared="hold")
        self.first(spec, self.ten)
        before = self.everything()
        report = self.recloser_json("load", spec, self.write("two.csv", self.seven), "--dry-run")
        self.assertEqual(self.part(report)["held_by"], "disappeared")
        self.assertEqual(self.everything(), before)


class Carry(Guards):
    one = queue(("A", 1), ("B", 2), ("C", 3))
    two = queue(("A", 1), ("C", 3.5), ("D", 4))

    def carried(self, path=TX):
        return self.table(path, "id, capacity, carried", "id")

    def adds_up(self, report):
        fates = ("rows_written", "rows_unchanged", "superseded", "collapsed", "filtered", "quarantined", "held", "frozen")
        self.assertEqual(report["rows_in"] + report["carried"], sum(report[f] for f in fates), report)
        for part in report["partitions"]:
            self.assertEqual(part["rows_in"] + part["carried"], part["rows"] + part["superseded"] + part["collapsed"], part)

    assert_adds_up = adds_up

    def test_kept_marked_and_back(self):
        spec = self.plain(disappeared="carry")
        self.first(spec, self.one)
        self.assertEqual(self.carried(), [("A", 1, False), ("B", 2, False), ("C", 3, False)])
        report = self.load(spec, self.write("two.csv", self.two))
        self.assertEqual(self.carried(), [("A", 1, False), ("B", 2, True), ("C", 3.5, False), ("D", 4, False)])
        self.assertEqual([report[n] for n in ("rows_in", "carried", "rows_written", "disappeared")], [3, 1, 4, 0])
        part = self.part(report)
        self.assertEqual([part[n] for n in ("carried", "disappeared", "new_keys", "revised", "rows")], [1, 0, 1, 1, 4])
        self.assertEqual(part["changed"], {"capacity": 1})
        self.assertEqual(self.ledger(TX)[-1]["carried"], 1)
        self.recloser("verify", spec)
        # The same again: skipped whole; read again: carried again, and equal.
        before = self.tree("lake/queue")
        self.assertEqual(self.load(spec, self.dir / "two.csv")["outcome"], "unchanged")
        report = self.load(spec, self.dir / "two.csv", "--force")
        self.assertEqual(report["outcome"], "unchanged")
        self.assertEqual([report[n] for n in ("rows_in", "carried", "rows_unchanged")], [3, 1, 4])
        self.assertEqual(self.tree("lake/queue"), before)
        # The row comes back as it was, and is no revision.
        report = self.load(spec, self.write("three.csv", queue(("A", 1), ("B", 2), ("C", 3.5), ("D", 4))))
        self.assertEqual(self.carried()[1], ("B", 2, False))
        self.assertEqual([self.part(report)[n] for n in ("carried", "new_keys", "revised")], [0, 0, 0])
        self.recloser("verify", spec)

    def test_text_says_it(self):
        spec = self.plain(disappeared="carry")
        self.first(spec, self.one)
        said = self.recloser("load", spec, self.write("two.csv", self.two)).out
        self.assertIn("3 in + 1 carried = 4 written", said)

    def test_a_moved_row_is_not_carried(self):
        spec = self.plain(disappeared="carry")
        self.first(spec, self.one + queue(("X", 9), state="CA").split("\n", 1)[1])
        report = self.load(spec, self.write("two.csv", queue(("A", 1), ("C", 3)) + queue(("X", 9), ("B", 2), state="CA").split("\n", 1)[1]))
        self.assertEqual((self.ids(), self.ids("state=CA")), (["A", "C"], ["B", "X"]))
        self.assertEqual((report["carried"], report["moved"]), (0, 1))

    def test_the_same_key_in_two_months_is_no_move(self):
        spec = self.plain(disappeared="carry", partition="[state, month]", series="month")
        header = "id,state,month,capacity"
        self.first(spec, rows(header, "A,TX,2026-06,1", "B,TX,2026-06,1", "A,TX,2026-07,1", "B,TX,2026-07,1"))
        report = self.first(spec, rows(header, "A,TX,2026-06,2", "B,TX,2026-06,1", "A,TX,2026-07,1"), "two.csv")
        self.assertEqual((report["carried"], report["moved"]), (1, 0))
        self.assertEqual(self.ids("state=TX/month=2026-07"), ["A", "B"])

    def test_churn_is_seen_though_all_is_carried(self):
        spec = self.plain(disappeared="carry", key="{identity: [id, status]}")
        self.first(spec, self.one)
        report = self.load(spec, self.write("two.csv", queue(("A", 1, "built"), ("B", 2), ("C", 3))))
        self.assertIn("everything but status", self.assert_did(report, "key_churn", "warned"))

    def test_an_older_publication_is_seen_behind_what_was_carried(self):
        spec = self.queue_spec({"published": "{type: date}"}, **{**PLAIN, "disappeared": "carry", "revision": "published"})
        header = "id,state,published"
        self.first(spec, rows(header, "A,TX,2026-07-02", "B,TX,2026-07-02"))
        self.load(spec, self.write("old.csv", rows(header, "A,TX,2026-07-01")), code=HELD)
        report = self.load(spec, self.write("new.csv", rows(header, "A,TX,2026-07-03")))
        self.assertEqual(report["carried"], 1)
        self.load(spec, self.write("old2.csv", rows(header, "A,TX,2026-07-02", "C,TX,2026-07-02")), code=HELD)

    def test_expression_and_geometry_in_the_identity(self):
        spec = self.queue_spec({"lon": "{type: double}", "lat": "{type: double}"}, revision=None, partition="[state]", disappeared="carry",
                               key="""{identity: [{sql: "ltrim(unit, '0')"}, geometry]}""", partition_columns="path")
        header = "unit,state,lon,lat"
        self.first(spec, rows(header, "01,TX,-97,30", "02,TX,-98,31"))
        report = self.first(spec, rows(header, "1,TX,-97,30"), "two.csv")
        self.assertEqual((report["carried"], self.part(report)["revised"]), (1, 1))
        self.assertEqual(self.table(TX, "unit, carried", "unit"), [("02", True), ("1", False)])
        self.recloser("verify", spec)

    def test_no_longer_carrying(self):
        self.first(self.plain(disappeared="carry"), self.one)
        self.load(self.plain(disappeared="carry"), self.write("two.csv", self.two))
        report = self.load(self.plain(), self.dir / "two.csv")
        self.assertEqual(self.gone(report, "id"), [("B",)])
        self.assertEqual(self.ids(), ["A", "C", "D"])


class DamagedElsewhere(Guards):
    """A live file of another partition that can't be read: no load of a new one is in danger."""

    def test_it_is_said_and_stops_who_wants_to_know(self):
        one, two = rows("id,state,capacity", "A,TX,1", "B,TX,2"), self.write("two.csv", rows("id,state,capacity", "C,OK,3"))
        for policy in ("warn", "refuse"):
            self.lake = f"lake_{policy}"
            spec = self.plain(root=self.lake, guards=f"{{moved: {policy}}}")
            self.first(spec, one)
            self.rot(self.live(TX))
            if policy == "warn":
                report = self.load(spec, two)
                self.assertEqual(self.ids("state=OK"), ["C"])
                self.assertTrue(any("recloser verify" in w for w in report["warnings"]), report["warnings"])
            else:
                self.refused(spec, two, code=IO, said=["recloser verify", "nothing was changed"])


class OwnCarried(Guards):
    """A source may have a column called `carried`: it is the dataset's mark only where `disappeared: carry` has added it."""
    columns = {"rv": "{type: integer}", "flag": "{type: integer}"}

    def spec_of(self, **fields):
        return self.queue_spec(self.columns, **{**PLAIN, "revision": "rv", "source": '{files: "*", several: union}', **fields})

    def test_it_is_a_column_like_any_other(self):
        spec = self.spec_of()
        self.load(spec, self.write("1.csv", rows("id,state,rv,carried,flag", "1,TX,1,yes,1", "3,TX,9,no,0")), self.write("2.csv", rows("id,state,rv,flag", "2,TX,1,")))
        self.assertEqual(self.table(TX, "id, carried, flag"), [("1", "yes", 1), ("2", None, None), ("3", "no", 0)])
        # Compared, by content and by the guard of older publications.
        report = self.load(spec, self.write("3.csv", rows("id,state,rv,carried,flag", "1,TX,1,no,1", "2,TX,1,,", "3,TX,9,no,0")))
        self.assertEqual((self.part(report)["revised"], self.part(report)["changed"]), (1, {"carried": 1}))
        older = self.load(spec, self.write("4.csv", rows("id,state,rv,carried,flag", "1,TX,1,no,1", "2,TX,1,,", "3,TX,8,yes,0")), code=HELD)
        self.assertTrue(any("older publication" in w for w in older["warnings"]), older["warnings"])
        # And missed.
        self.refused(spec, self.write("5.csv", rows("id,state,rv,flag", "1,TX,2,1")), said=["column carried is in the live version but not in this load"])
        self.recloser("verify", spec)

    def test_beside_the_mark(self):
        spec = self.spec_of(disappeared="carry")
        head = "id,state,rv,Carried,flag"
        first = self.recloser_json("load", spec, self.write("1.csv", rows(head, "1,TX,1,yes,1", "2,TX,1,no,1")))
        self.assertTrue(any("Carried is kept as Carried_2" in w for w in first["warnings"]), first["warnings"])
        self.recloser_json("load", spec, self.write("2.csv", rows(head, "1,TX,1,yes,1")))
        self.assertEqual(self.table(TX, "id, Carried_2, carried"), [("1", "yes", False), ("2", "no", True)])
        self.recloser("verify", spec)
        for fields in ({"key": "{identity: [id], column: carried}"}, {}):
            columns = {"rv": "{type: integer}", **({} if fields else {"carried": "{type: text}"})}
            spec = self.queue_spec(columns, name="bad.yaml", **{**PLAIN, "revision": "rv", "disappeared": "carry", **fields})
            self.assertIn("carry", self.recloser("load", spec, self.dir / "1.csv", code=USAGE).err)


class Churn(Guards):
    one = queue(("A", 1), ("B", 2), ("C", 3))
    two = queue(("A", 1, "built"), ("B", 2), ("C", 3))

    def test_policies(self):
        self.four_policies(lambda policy, root: self.plain(root=root, key="{identity: [id, status]}", disappeared="allow", guards=f"{{key_churn: {policy}}}"),
                           "key_churn", self.one, self.two, "1 key is gone and has come again equal in everything but status")

    def test_right_key_is_silent(self):
        spec = self.plain()
        self.first(spec, self.one)
        report = self.load(spec, self.write("two.csv", self.two))
        self.assertEqual(report["warnings"], [])
        self.assertEqual(self.part(report)["changed"], {"status": 1})

    def test_case_53(self):
        case = self.case("53-no-key-and-mutable-key")
        none = self.recloser("load", self.queue_spec(key="{identity: []}"), case / "v1.csv", code=USAGE)
        self.assertFalse((self.dir / "lake").exists(), none)
        self.lake = "b"
        spec = self.queue_spec(root="b", key="{identity: [queue_id, status]}")
        self.load(spec, case / "v1.csv")
        report = self.load(spec, case / "v2.csv")
        part = report["partitions"][0]
        self.assertEqual([part[n] for n in ("rows", "new_keys", "disappeared")], [3, 1, 1])
        self.assertIn("everything but status: status changes", self.assert_did(report, "key_churn", "warned", part["partition"]))
        self.lake = "c"
        spec = self.queue_spec(root="c")
        self.load(spec, case / "v1.csv")
        report = self.load(spec, case / "v2.csv")
        part = report["partitions"][0]
        self.assertEqual([part[n] for n in ("rows", "new_keys", "disappeared", "revised")], [3, 0, 0, 3])
        self.assertEqual(report["warnings"], [])

    def test_threshold(self):
        """One row in five is 20 %: only above it."""
        five = [("A", 1), ("B", 2), ("C", 3), ("D", 4), ("E", 5)]
        spec = self.plain(key="{identity: [id, status]}", disappeared="allow")
        self.first(spec, queue(*five))
        self.assertEqual(self.load(spec, self.write("two.csv", queue(("A", 1, "built"), *five[1:])))["warnings"], [])
        report = self.load(spec, self.write("three.csv", queue(("A", 1, "built"), ("B", 2, "built"), ("C", 3, "built"), *five[3:])))
        self.assert_did(report, "key_churn", "warned")

    def test_one_mutable_id(self):
        """The source numbers its rows anew: the whole id is what changes."""
        spec = self.plain(key="{id: id}", disappeared="allow")
        named = "id,state,capacity,name"
        self.first(spec, rows(named, "1,TX,5,Anson", "2,TX,6,Brady", "3,TX,7,Coleman"))
        report = self.load(spec, self.write("two.csv", rows(named, "7,TX,5,Anson", "8,TX,6,Brady", "9,TX,7,Coleman")))
        self.assertIn("equal in everything but id", self.assert_did(report, "key_churn", "warned"))

    def test_rows_that_look_alike_prove_nothing(self):
        """Some leave and others come that differ in nothing but the id, as do those that stay."""
        spec = self.plain(key="{id: id}", disappeared="allow")
        self.first(spec, queue(*((f"Q{i}", 10) for i in range(10))))
        report = self.load(spec, self.write("two.csv", queue(*((f"Q{i}", 10) for i in range(5, 15)))))
        self.assertEqual(report["warnings"], [])

    def test_a_column_that_always_changes_hides_nothing(self):
        spec = self.queue_spec({}, **{**PLAIN, "key": "{identity: [id, status]}", "disappeared": "allow"})
        header = "id,state,status,asof"
        self.first(spec, rows(header, *(f"{i},TX,active,2026-06" for i in "ABCDEFG")))
        report = self.load(spec, self.write("two.csv", rows(header, *(f"{i},TX,{'built' if i < 'D' else 'active'},2026-07" for i in "ABCDEFG"))))
        self.assertIn("3 keys are gone and have come again equal in everything but status", self.assert_did(report, "key_churn", "warned"))

    def test_case_25(self):
        case = self.case("25-boiler-zeros-between-years")
        fields = {"partition": "[state]", "columns": {"published_at": "{type: timestamp}", "lon": "{type: double}", "lat": "{type: double}"}}
        spec = self.queue_spec(key="{identity: [plant_id, unit_id]}", **fields)
        self.load(spec, case / "y1.csv")
        report = self.load(spec, case / "y2.csv")
        part = report["partitions"][0]
        self.assertEqual([part[n] for n in ("disappeared", "new_keys", "rows")], [1, 1, 2])
        self.assertEqual(self.gone(report, "unit_id"), [("01",)])
        self.lake = "rule"
        spec = self.queue_spec(root="rule", key="""{identity: [plant_id, {sql: "CASE WHEN regexp_full_match(unit_id, '[0-9]+') THEN ltrim(unit_id, '0') ELSE unit_id END"}]}""", **fields)
        self.load(spec, case / "y1.csv")
        report = self.load(spec, case / "y2.csv")
        part = report["partitions"][0]
        self.assertEqual([part[n] for n in ("disappeared", "new_keys", "rows")], [0, 0, 2])
        self.assertEqual(self.table(part["partition"], "unit_id", "unit_id"), [("1",), ("2",)])


class Identity(Guards):
    """Another key in the spec: every row changes its key, and no field of the source is to blame."""
    one = rows("id,poi,state,capacity", "1,a,TX,5", "2,b,TX,6", "3,c,TX,7")
    two = one.replace(",7", ",8")

    def other(self, name="other.yaml", **fields):
        return self.plain(name=name, **{"key": "{identity: [id, poi]}", "disappeared": "allow", **fields})

    def test_both_are_named(self):
        self.first(self.plain(), self.one)
        report = self.load(self.other(), self.write("two.csv", self.two))
        what = self.assert_did(report, "key_churn", "warned")
        for words in ("{identity: [id, poi]} now", "was {identity: [id]} in seq 1", "3 keys are gone and 3 new", "write the key as it was"):
            self.assertIn(words, what)
        self.assertNotIn("changes between publications", " ".join(report["warnings"]))
        self.assertEqual(self.ledger(TX)[-1]["key"], {"identity": ["id", "poi"]})
        # Said once: the next load is compared with a version of the same identity.
        report = self.load(self.other(), self.write("three.csv", self.one.replace(",7", ",9")))
        self.assertNotIn("now and was", " ".join(report["warnings"]))

    def test_kinds_of_a_key(self):
        self.first(self.plain(key="{id: id}"), self.one)
        what = self.load(self.other(), self.write("two.csv", self.two))["warnings"]
        self.assertIn("{identity: [id, poi]} now and was {id: id}", " ".join(what))
        what = self.load(self.other(key="{identity: [id, poi], escape: true}"), self.write("x.csv", self.one.replace(",a,", ",a|b,")))["warnings"]
        self.assertIn("{identity: [id, poi], escape: true} now and was {identity: [id, poi]}", " ".join(what))

    def test_policies(self):
        self.first(self.plain(), self.one)
        held = self.load(self.other(guards="{key_churn: hold}"), self.write("two.csv", self.two), code=HELD)
        self.assert_did(held, "key_churn", "held")
        self.refused(self.other(guards="{key_churn: refuse}"), self.dir / "two.csv", said=["{identity: [id, poi]} now"])
        self.assertEqual(self.load(self.other(guards="{key_churn: allow}"), self.dir / "two.csv")["warnings"], [])

    def test_nothing_is_carried_under_two_keys(self):
        self.first(self.plain(disappeared="carry"), self.one)
        self.refused(self.other(disappeared="carry"), self.write("two.csv", self.two),
                     said=["{identity: [id, poi]} now and was {identity: [id]}", "disappeared: {policy: warn}"])
        self.load(self.other(), self.dir / "two.csv")
        self.load(self.other(disappeared="carry"), self.write("three.csv", self.two.replace(",8", ",9")))
        self.assertEqual(self.table(TX, "count(*)"), [(3,)])


class Totals(Guards):
    def totals(self, policy="hold", **fields):
        return self.plain(totals=f"{{capacity: {{max_change: 20%, policy: {policy}}}}}", **fields)

    def test_policies(self):
        self.four_policies(lambda policy, root: self.totals(policy, root=root), "totals", queue(("A", 60), ("B", 40)), queue(("A", 60), ("B", 60.5)),
                           "the total of capacity is 120.5, it was 100.0 in the live version: a change of 20.5 %, more than 20")

    def test_at_the_limit(self):
        for now, code in ((120, OK), (80, OK), (79.9, HELD), (120.1, HELD)):
            with self.subTest(now=now):
                self.lake = f"lake_{now}"
                spec = self.totals(root=self.lake)
                self.first(spec, queue(("A", 100)))
                report = self.load(spec, self.write("two.csv", queue(("A", now))), code=code)
                self.assertEqual(self.part(report)["totals"], {"capacity": {"now": now, "before": 100.0}})

    def test_recorded(self):
        spec = self.totals()
        self.first(spec, queue(("A", 0.1), ("B", 0.2)))
        self.assertEqual(self.ledger(TX)[-1]["totals"], {"capacity": {"now": 0.3, "before": None}})

    def test_nothing_at_all(self):
        """No value counts as 0; from 0 to anything is a change beyond any share; from nothing to 0 is none."""
        spec = self.totals()
        self.first(spec, queue(("A", "")))
        self.load(spec, self.write("zero.csv", queue(("A", 0))))
        report = self.load(spec, self.write("some.csv", queue(("A", 5))), code=HELD)
        self.assertIn("the total of capacity is 5.0, it was 0.0 in the live version", self.assert_did(report, "totals", "held"))
        self.load(spec, self.dir / "some.csv", "--accept", "totals")
        report = self.load(spec, self.write("none.csv", queue(("A", ""))), code=HELD)
        self.assertIn("is nothing, it was 5.0", report["warnings"][0])

    def test_first_month_of_a_series_is_held_as_well(self):
        spec = self.totals(partition="[state, month]", series="month")
        header = "id,state,month,capacity"
        self.first(spec, rows(header, "A,TX,2026-06,100"))
        july = self.write("july.csv", rows(header, "A,TX,2026-07,200"))
        report = self.load(spec, july, code=HELD)
        what = self.assert_did(report, "totals", "held", "state=TX/month=2026-07")
        self.assertIn("it was 100.0 in state=TX/month=2026-06", what)
        self.assertIn("held: nothing is live there yet", report["warnings"][0])
        self.assertEqual(self.partitions(), ["state=TX/month=2026-06"])
        self.load(spec, july, "--accept", "totals")
        self.assertEqual(self.partitions(), ["state=TX/month=2026-06", "state=TX/month=2026-07"])


class Older(Guards):
    columns = {"published": "{type: date}"}
    header = "id,state,published,note"
    new = rows(header, "A,TX,2026-07-05,x", "B,TX,2026-07-01,x")
    old = rows(header, "A,TX,2026-07-04,y", "B,TX,2026-07-01,y")

    def test_policies(self):
        self.four_policies(lambda policy, root: self.plain(root=root, revision="published", guards=f"{{older: {policy}}}"), "older",
                           self.new, self.old, "the newest published is 2026-07-04, the live version has 2026-07-05: an older publication")

    def test_default_holds(self):
        spec = self.plain(revision="published")
        self.first(spec, self.new)
        self.assert_did(self.load(spec, self.write("old.csv", self.old), code=HELD), "older", "held")

    def test_same_file_again_after_another(self):
        """No revision column: the ledger knows that this file has been replaced since."""
        spec = self.plain(columns={})
        self.first(spec, self.new)
        self.load(spec, self.write("two.csv", self.old))
        report = self.load(spec, self.dir / "one.csv", code=HELD)
        self.assertIn("one.csv was loaded as seq 1 and has been replaced since by seq 2", self.assert_did(report, "older", "held"))
        report = self.load(spec, self.dir / "one.csv", "--accept", "older")
        self.assertEqual(self.part(report)["seq"], 3)
        self.assert_did(report, "older", "accepted")

    def test_another_publishers_file_tells_nothing(self):
        """Files that came in one run are not sources of each other's partitions: A.2 came alone, B.1 comes again beside A.3."""
        spec = self.spec('dataset: queue\nroot: lake\nsources: {A: {files: "a*.csv"}, B: {files: "b*.csv"}}\npublisher: iso\n'
                         'key: {identity: [iso, id]}\npartition: [iso]\n')
        a1, a2, a3, b1 = (self.write(name, f"id,note\n1,{name}\n") for name in ("a1.csv", "a2.csv", "a3.csv", "b1.csv"))
        self.load(spec, a1, b1)
        self.load(spec, a2)
        report = self.load(spec, a3, b1)
        self.assertEqual({p["partition"]: p["outcome"] for p in report["partitions"]}, {"iso=A": "replaced", "iso=B": "unchanged"})
        names = lambda partition: [[s["name"] for s in record["sources"]] for record in self.ledger(partition)]
        self.assertEqual((names("iso=A"), names("iso=B")), ([["a1.csv"], ["a2.csv"], ["a3.csv"]], [["b1.csv"]]))
        self.assertIn("a2.csv was loaded as seq 2", self.assert_did(self.load(spec, a2, code=HELD), "older", "held", "iso=A"))
        self.assertIn("b1.csv", self.recloser("status", spec).out)

    def test_sources_of_a_union(self):
        spec = self.plain(source='{files: "*", several: union}', columns={})
        one, two = (self.write(name, rows(self.header, *lines)) for name, lines in
                    (("one.csv", ["A,TX,2026-07-05,x", "B,NM,2026-07-05,x"]), ("two.csv", ["C,TX,2026-07-05,x", "D,OK,2026-07-05,x"])))
        self.load(spec, one, two)
        told = {p: [s["name"] for s in self.ledger(p)[0]["sources"]] for p in ("state=NM", "state=OK", TX)}
        self.assertEqual(told, {"state=NM": ["one.csv"], "state=OK": ["two.csv"], TX: ["one.csv", "two.csv"]})

    def test_same_file_under_another_spec_is_none(self):
        self.first(self.plain(revision="published"), self.new)
        report = self.load(self.plain(revision="published", columns={"note": "{map: {x: z}}"}), self.dir / "one.csv")
        self.assertEqual((self.part(report)["outcome"], report["warnings"]), ("replaced", []))

    def test_partition_as_revision(self):
        spec = self.plain(partition="[state, month]", revision="month", partition_columns="path")
        self.first(spec, rows("id,state,month,published", "A,TX,2026-07,2026-07-01"))
        report = self.first(spec, rows("id,state,month,published", "A,TX,2026-07,2026-07-02"), "two.csv")
        self.assertEqual(report["outcome"], "loaded")


class Repeated(Guards):
    """Last month's file under a new name. What a value of the file's name or of --set says, the rows do not."""
    columns = {"month": '{name: "_([0-9]{4}-[0-9]{2})"}'}
    june = rows("id,state,note", "A,TX,x", "B,NM,x")
    july = rows("id,state,note", "A,TX,y", "B,NM,y")

    def named(self, **fields):
        return self.plain(**{"partition": "[state, month]", **fields})

    def words(self, report, month="2025-06", now="2025-08", state="TX"):
        said = [w for w in report["warnings"] if "these bytes were loaded" in w]
        self.assertEqual(len(said), 1 if month else 0, report["warnings"])
        if month:
            record = self.ledger(f"state={state}/month={month}")[-1]
            self.assertIn(f"these bytes were loaded as month={month} on {record['loaded_at'][:10]} (run {record['run']}) and are live there; "
                          f"now they come as month={now}", said[0])

    def test_policies(self):
        for policy in ("allow", "warn", "hold", "refuse"):
            for series in (None, "month"):
                with self.subTest(policy=policy, series=series):
                    self.lake = f"lake_{policy}_{series}"
                    spec = self.named(root=self.lake, series=series, **({"guards": f"{{repeated: {policy}}}"} if policy != "warn" else {}))
                    self.load(spec, self.write("q_2025-06.csv", self.june))
                    self.load(spec, self.write("q_2025-07.csv", self.july))
                    august = self.write("q_2025-08.csv", self.june)
                    if policy == "hold":
                        report = self.load(spec, august, code=HELD)
                        self.assertEqual({p["held_by"] for p in report["partitions"]}, {"repeated"})
                        self.words(report)
                    elif policy == "refuse":
                        self.assertEqual(self.refused(spec, august, said=("loaded as month=2025-06", "--accept repeated"))["code"], "guard.repeated")
                    if policy in ("hold", "refuse"):
                        report = self.load(spec, august, "--accept", "repeated")
                        self.assert_did(report, "repeated", "accepted", "state=TX/month=2025-08")
                    else:
                        self.words(self.load(spec, august, "--dry-run"), policy == "warn" and "2025-06")
                        report = self.load(spec, august)
                        self.words(report, policy == "warn" and "2025-06")
                        if policy == "warn":
                            self.assert_did(report, "repeated", "warned", "state=TX/month=2025-08")
                    self.assertEqual(self.load(spec, august, "--force")["warnings"], [])
                    self.assertEqual(self.load(spec, self.dir / "q_2025-06.csv", "--force")["warnings"], [])
        self.lake = "lake"

    def test_another_setting(self):
        spec = self.plain(partition="[month]", columns={"month": "{set: required}"})
        one = self.write("one.csv", self.june)
        self.load(spec, one, "--set", "month=2025-01")
        said = self.load(spec, one, "--set", "month=2025-02")["warnings"]
        self.assertIn("one.csv: these bytes were loaded as month=2025-01 on", said[0])
        self.assertIn("now they come as month=2025-02", said[0])

    def test_among_several_files(self):
        spec = self.named(source='{files: "*", several: union}')
        self.load(spec, self.write("q_2025-06.csv", self.june), self.write("q_2025-07.csv", self.july))
        other = self.write("q_2025-09.csv", rows("id,state,note", "A,TX,z"))
        self.words(self.load(spec, self.write("q_2025-08.csv", self.july), other), "2025-07")

    def test_held_in_part(self):
        """A run that held something is not one that may be recalled, but what it loaded counts."""
        spec = self.named(disappeared="hold", series="month")
        self.load(spec, self.write("q_2025-05.csv", rows("id,state,note", "A,TX,z", "C,NM,z")))
        self.load(spec, self.write("q_2025-06.csv", self.june), code=HELD)
        self.words(self.load(spec, self.write("q_2025-08.csv", self.june), code=HELD))

    def test_nothing_is_said(self):
        june, july = self.write("q_2025-06.csv", self.june), self.write("q_2025-07.csv", self.june)
        spec = self.named()
        self.load(spec, june, "--only", "state=TX")
        self.assertEqual(self.load(spec, june)["warnings"], [])  # the rest of it
        self.words(self.load(spec, july), "2025-06", "2025-07", "NM")
        # Another spec for the same partitions.
        self.assertEqual(self.load(self.named(columns={"note": "{map: {x: z}}"}), june)["warnings"], [])
        # The wrong file was loaded as June, and has been replaced since.
        self.lake = "other"
        spec = self.named(root="other")
        self.load(spec, june)
        self.load(spec, self.write("q_2025-06.csv", self.july), "--accept", "older")
        self.words(self.load(spec, july), None)

    def test_months_in_the_rows(self):
        spec = self.plain(partition="[month]", columns={"month": "{}"})
        all_of_it = self.write("all.csv", rows("id,month", "A,2025-01", "B,2025-02"))
        self.load(spec, all_of_it, "--only", "month=2025-01")
        self.assertEqual(self.load(spec, all_of_it)["warnings"], [])
        self.assertEqual(self.load(spec, self.copy(all_of_it, "again.csv"))["warnings"], [])

    def test_index_is_no_more_than_that(self):
        spec = self.named()
        self.load(spec, self.write("q_2025-06.csv", self.june))
        (index,) = (self.control / "inputs").iterdir()
        self.assertTrue(index.samefile(self.control / "runs" / f"{self.ledger('state=TX/month=2025-06')[0]['run']}.json"))
        index.unlink()
        self.words(self.load(spec, self.write("q_2025-08.csv", self.june)), None)


class Moved(Guards):
    def both(self, *lines):
        return rows("id,state,capacity", *lines)

    one = "A,TX,1", "B,TX,2", "C,TX,3", "X,CA,4", "Y,CA,4"
    two = "A,TX,1", "B,TX,2", "C,CA,3", "X,CA,4", "Y,CA,4"

    def fields(self, policy):
        return {"disappeared": "allow", "guards": f"{{moved: {policy}}}"}

    def outcomes(self, report):
        return {p["partition"]: p["outcome"] for p in report["partitions"]}

    def test_policies(self):
        words = "1 key moved from state=TX to state=CA"
        for policy in ("allow", "warn", "hold", "refuse"):
            with self.subTest(policy=policy):
                self.lake = f"lake_{policy}"
                spec = self.plain(root=self.lake, **self.fields(policy))
                self.first(spec, self.both(*self.one))
                two = self.write("two.csv", self.both(*self.two))
                if policy == "refuse":
                    self.refused(spec, two, said=(words, "--accept moved"))
                elif policy == "hold":
                    report = self.load(spec, two, code=HELD)
                    # Both: held alone, one would leave the key in neither of them.
                    self.assertEqual(self.outcomes(report), {"state=CA": "held", "state=TX": "held"})
                    self.assertEqual((self.ids(), self.ids("state=CA")), (["A", "B", "C"], ["X", "Y"]))
                    self.assert_did(report, "moved", "held", "state=CA")
                if policy in ("hold", "refuse"):
                    report = self.load(spec, two, "--accept", "moved")
                    self.assertIn(words, self.assert_did(report, "moved", "accepted", "state=CA"))
                else:
                    report = self.load(spec, two)
                    if policy == "warn":
                        self.assertIn(words, self.assert_did(report, "moved", "warned", "state=CA"))
                        self.assertEqual(report["moved"], 1)
                    else:
                        self.assertEqual(report["warnings"], [])
                self.assertEqual((self.ids(), self.ids("state=CA")), (["A", "B"], ["C", "X", "Y"]))

    def test_default_warns(self):
        spec = self.plain(disappeared="allow")
        self.first(spec, self.both(*self.one))
        self.assert_did(self.load(spec, self.write("two.csv", self.both(*self.two))), "moved", "warned", "state=CA")

    def test_threshold(self):
        spec = self.plain(disappeared="allow", guards="{moved: {policy: hold, max: 1}}")
        self.first(spec, self.both(*self.one))
        report = self.load(spec, self.write("two.csv", self.both(*self.two)))
        self.assertEqual((report["moved"], report["warnings"]), (1, []))

    def test_out_of_a_partition_that_is_absent(self):
        """The last project of a state moves: its old partition is not in the load at all, and still has the key."""
        spec = self.plain(partition="[iso, state]", publisher="{column: iso, value: ERCOT}", disappeared="allow")
        self.first(spec, self.both("A,TX,1", "B,CA,2", "C,NM,3", "D,CA,1"))
        report = self.load(spec, self.write("two.csv", self.both("A,TX,1", "B,CA,2", "C,CA,3", "D,CA,1")))
        self.assertEqual((report["absent"], report["moved"]), (["iso=ERCOT/state=NM"], 1))
        said = "\n".join(report["warnings"])
        self.assertIn("1 key moved from iso=ERCOT/state=NM to iso=ERCOT/state=CA", said)
        self.assertIn("1 key is now in iso=ERCOT/state=NM, which the source no longer mentions, and in iso=ERCOT/state=CA", said)

    def test_partitions_that_are_all_new(self):
        """A file of other states with keys that are live in those of the file before, which none of the two mentions together."""
        for policy in ("warn", "hold", "refuse"):
            with self.subTest(policy=policy):
                self.lake = f"lake_{policy}"
                spec = self.plain(root=self.lake, guards=f"{{moved: {policy}}}")
                self.first(spec, self.both("1,TX,5", "2,TX,6", "3,OK,7"))
                two = self.write("two.csv", self.both("1,CA,5", "2,NV,6", "4,NV,6"))
                words = "1 key moved from state=TX to state=CA"
                if policy == "refuse":
                    self.refused(spec, two, said=(words, "--accept moved"))
                elif policy == "hold":
                    self.assertEqual(self.outcomes(self.load(spec, two, code=HELD)), {"state=CA": "held", "state=NV": "held"})
                else:
                    report = self.load(spec, two)
                    self.assertEqual((report["moved"], report["absent"]), (2, []))
                    self.assertIn(words, self.assert_did(report, "moved", "warned", "state=CA"))
                    self.assertIn("1 key is now in state=TX, which the source does not mention, and in state=NV", report["warnings"])
                one = self.write("three.csv", self.both("3,KS,7"))
                if policy == "warn":
                    self.assertIn("1 key moved from state=OK to state=KS", self.load(spec, one)["warnings"])
                    self.assertEqual(self.first(spec, self.both("9,IA,7"), "four.csv")["warnings"], [])

    def test_keys_that_recur_by_nature(self):
        """In another month, whether the spec calls it a series or not, of another publisher, or as the caller says."""
        header, lake = "id,state,month,year,place", 0
        one, two = (rows(header, f"1,TX,{m},{y},{p}", f"2,OK,{m},{y},{p}") for m, y, p in (("2025-01", "2025", "x"), ("2025-02", "2026", "y")))
        for fields in ({"partition": "[month]"}, {"partition": "[state, month]"}, {"partition": "[year]", "columns": {"year": "{type: integer}"}},
                       {"partition": "[file]", "columns": {"file": '{name: "(.)"}'}}):
            with self.subTest(**fields):
                lake += 1
                self.lake = f"lake{lake}"
                optional = {"capacity": "{type: double, optional: true}", **fields.get("columns", {})}
                spec = self.plain(**{"root": self.lake, **fields, "columns": optional})
                self.first(spec, one, "a.csv")
                self.assertEqual(self.first(spec, two, "b.csv")["warnings"], [])
        self.lake = "several"
        spec = self.queue_spec({}, root=self.lake, source=None, publisher="iso", revision=None, geometry=None, partition="[iso, state]",
                               sources='{A: {files: "a*.csv"}, B: {files: "b*.csv"}}', key="{identity: [id]}")
        self.load(spec, self.write("a1.csv", self.both("1,TX,5")))
        self.assertEqual(self.load(spec, self.write("b1.csv", self.both("1,OK,5")))["warnings"], [])
        self.assertIn("1 key moved from iso=A/state=TX to iso=A/state=NM", self.load(spec, self.write("a2.csv", self.both("1,NM,5")))["warnings"])

    def test_a_key_torn_by_another_guard(self):
        spec = self.plain(disappeared="allow", totals="{capacity: {max_change: 10%}}")
        self.first(spec, self.both(*self.one))
        report = self.load(spec, self.write("two.csv", self.both("A,TX,3", "B,TX,3", "C,CA,3", "X,CA,4", "Y,CA,4")), code=HELD)
        self.assertIn("1 key of state=TX is in no partition while state=CA is held", "\n".join(report["warnings"]))

    def test_held_then_loaded_without_the_move(self):
        spec = self.plain(**self.fields("hold"))
        self.first(spec, self.both(*self.one))
        self.load(spec, self.write("two.csv", self.both(*self.two)), code=HELD)
        report = self.load(spec, self.write("three.csv", self.both("A,TX,9", *self.one[1:])))
        self.assertEqual(self.outcomes(report), {"state=CA": "unchanged", "state=TX": "replaced"})


class Absent(Guards):
    header = "id,state,month,capacity"

    def spec_of(self, **fields):
        return self.plain(partition="[state, month]", **fields)

    def july(self, *states, capacity=1):
        return rows(self.header, *(f"{s}1,{s},2026-07,{capacity}" for s in states))

    def test_a_state_goes_missing_within_its_month(self):
        spec = self.spec_of()
        self.first(spec, self.july("TX", "NM", "OK"))
        report = self.first(spec, self.july("TX", "OK", capacity=2), "two.csv")
        self.assertEqual(report["absent"], ["state=NM/month=2026-07"])
        self.assertEqual(report["disappeared"], 0)  # its keys are still live
        self.assertIn("no longer in the source: state=NM/month=2026-07", self.recloser("load", spec, "two.csv", "--force").out)

    def test_another_month_says_nothing(self):
        spec = self.spec_of()
        self.first(spec, self.july("TX", "NM"))
        report = self.first(spec, self.july("TX", "OK").replace("2026-07", "2026-08"), "two.csv")
        self.assertEqual(report["absent"], [])

    def test_a_state_without_successor_in_the_series(self):
        spec = self.spec_of(series="month")
        self.first(spec, self.july("TX", "NM", "OK"))
        report = self.first(spec, self.july("TX", "OK").replace("2026-07", "2026-08"), "two.csv")
        self.assertEqual(report["absent"], ["state=NM/month=2026-07"])

    def test_only_one_state_is_left(self):
        """One partition tells no scope; that the others came in one run with it does."""
        spec = self.spec_of(series="month")
        self.first(spec, self.july("TX", "NM"))
        report = self.first(spec, self.july("TX", capacity=3), "two.csv")
        self.assertEqual(report["absent"], ["state=NM/month=2026-07"])
        report = self.first(spec, self.july("TX").replace("2026-07", "2026-08"), "three.csv")
        self.assertEqual(report["absent"], [])  # the run before brought Texas alone

    def test_a_file_for_each_state_is_no_loss(self):
        spec = self.spec_of()
        self.first(spec, self.july("TX"), "tx.csv")
        self.first(spec, self.july("NM"), "nm.csv")
        self.assertEqual(self.first(spec, self.july("TX", capacity=4), "tx2.csv")["absent"], [])

    def test_a_source_without_rows_mentions_nothing(self):
        """Let pass by --allow-empty: all that it could speak for is absent, of its publisher, in the newest month of a series."""
        empty = self.write("empty.csv", self.header + "\n")
        spec = self.spec_of()
        self.first(spec, self.july("TX", "NM"))
        live = self.tree("lake/queue")
        self.refused(spec, empty, said=("--allow-empty",))
        report = self.load(spec, empty, "--allow-empty")
        self.assertEqual((report["outcome"], report["absent"]), ("unchanged", ["state=NM/month=2026-07", "state=TX/month=2026-07"]))
        self.assertEqual(self.tree("lake/queue"), live)
        spec = self.spec_of(series="month")
        self.load(spec, self.write("august.csv", self.july("OK").replace("2026-07", "2026-08")))
        self.assertEqual(self.load(spec, empty, "--allow-empty")["absent"], ["state=OK/month=2026-08"])
        spec = self.spec_of(source='{files: "*", columns: {month: {set: required}}}')
        self.assertEqual(self.load(spec, empty, "--allow-empty", "--set", "month=2026-07")["absent"], report["absent"])

    def test_a_source_without_rows_for_one_file(self):
        spec = self.plain(partition="[]")
        self.first(spec, self.july("TX"))
        empty = self.write("empty.csv", self.header + "\n")
        self.assertEqual(self.load(spec, empty, "--allow-empty")["absent"], [""])
        self.assertIn("no longer in the source: (one file)", self.recloser("load", spec, empty, "--allow-empty").out)

    def test_only(self):
        spec = self.spec_of(disappeared="hold")
        self.first(spec, self.july("TX", "NM"))
        two = self.write("two.csv", self.july("TX", "OK", capacity=2))
        report = self.load(spec, two, "--only", "state=TX")
        self.assertEqual((report["absent"], report["filtered"], self.part(report, "state=TX/month=2026-07")["outcome"]), ([], 1, "replaced"))


class ForeignVersions(Guards):
    def test_restored_file_without_a_key(self):
        """A version that recloser did not write may have no key: nothing to compare, and a word about it."""
        duckdb = self.need("duckdb")
        live = self.live(TX)
        live.parent.mkdir(parents=True)
        duckdb.sql(f"COPY (SELECT 'A' AS id, 'TX' AS state, 1.0::DOUBLE AS capacity, 'active' AS status) TO '{live}' (FORMAT parquet)")
        spec = self.plain()
        self.first(spec, queue(("A", 1)))
        self.recloser("restore", spec, TX, "1")
        report = self.recloser_json("load", spec, self.write("two.csv", queue(("A", 2))))
        self.assertIn("has no column asset_key", "\n".join(report["warnings"]))
        self.assertEqual(self.table(TX, "capacity"), [(2.0,)])


class Race(Guards):
    """Two loads that were compared with the same live version; the second finds the first one's instead, and is asked again."""

    def race(self, spec, *files, words=()):
        """Both wait for the lock with all staged; the reports, the one that was first ahead."""
        with open(self.control / "lock", "a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            running = [subprocess.Popen([PROGRAM, "load", spec, f, "--wait", "60", "--json", *words], cwd=self.dir, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE) for f in files]
            for _ in range(300):
                if len([p for p in self.control.glob("staging/*/**/part") if p.is_file()]) >= 4:
                    break
                time.sleep(0.1)
            time.sleep(1)  # verified and waiting
        ended = [(p.communicate(timeout=120)[0], p.returncode) for p in running]
        reports = sorted(((code, json.loads(out)) for out, code in ended), key=lambda e: (e[0], e[1]["disappeared"]))
        for _, report in reports:
            report["warnings"] = [w for w in report["warnings"] if "another writer holds the dataset" not in w]  # the lock of above
        return reports

    def two(self):
        base = [(f"Q{i}", i) for i in range(1, 6)]
        lines = [queue(*base, (mine, 9)) + queue((mine, 1), state=mine).split("\n", 1)[1] for mine in ("NM", "OK")]
        return queue(*base), [self.write(f"{i}.csv", text) for i, text in enumerate(lines)]

    def test_held_against_the_version_that_came_between(self):
        spec = self.plain(disappeared="hold")
        base, files = self.two()
        self.first(spec, base)
        (code, first), (held, second) = self.race(spec, *files)
        self.assertEqual((code, held), (OK, HELD))
        self.assertEqual((first["disappeared"], second["disappeared"]), (0, 1))
        self.assertEqual((first["rows_written"], second["rows_written"], second["held"]), (7, 1, 6))
        self.assert_adds_up(second)
        self.assertEqual(self.part(second)["held_by"], "disappeared")
        self.assertEqual(len(self.partitions()), 3)  # what is not held goes on
        winner = "NM" if self.live("state=NM").exists() and "NM" in self.ids() else "OK"
        self.assertEqual(self.gone(second, "id, last_seq"), [(winner, 2)])
        self.assertEqual(len(self.ledger(TX)), 2)

    def test_recorded_against_the_version_that_came_between(self):
        spec = self.plain(disappeared="warn")
        base, files = self.two()
        self.first(spec, base)
        (_, first), (code, second) = self.race(spec, *files)
        self.assertEqual((code, first["disappeared"], second["disappeared"]), (OK, 0, 1))
        record = self.ledger(TX)[-1]
        self.assertEqual((record["seq"], record["base"]["seq"], record["disappeared"], record["new_keys"]), (3, 2, 1, 1))
        self.assertEqual([g["guard"] for g in record["guards"]], ["disappeared"])
        self.assertEqual(self.gone(second, "last_seq"), [(2,)])

    def test_carried_rows_are_those_of_the_live_version(self):
        """What was carried was carried from a version that is not live any more: nothing is written, and the next try is right."""
        spec = self.plain(disappeared="carry")
        base, files = self.two()
        self.first(spec, base)
        (_, first), (code, second) = self.race(spec, *files)
        self.assertEqual((code, second["rows_written"]), (CONFLICT, 0))
        self.assertEqual(second["error"]["code"], "commit.carry")
        loser = next(f for f in files if f.name == second["sources"][0]["name"])
        report = self.recloser_json("load", spec, loser)
        self.assertEqual(self.part(report)["carried"], 1)
        self.assertEqual({"NM", "OK"} - set(self.ids()), set())


    def test_what_is_accepted_is_accepted_once(self):
        """The same load twice at once: the second one's partitions are unchanged, and nothing of it was let pass."""
        spec = self.plain()
        first, second = (self.write(f"{i}.csv", queue(("A", i)) + queue(("B", i), state="NM").split("\n", 1)[1]) for i in (1, 2))
        self.load(spec, first)
        self.load(spec, second)
        (code, one), (other, two) = self.race(spec, first, first, words=("--accept", "older"))
        self.assertEqual((code, other), (OK, OK))
        won, lost = sorted((one, two), key=lambda r: r["rows_unchanged"])
        self.assertEqual((won["rows_written"], lost["rows_unchanged"]), (2, 2))
        self.assertEqual((won["accepted"], len(won["warnings"])), (["older"], 2))
        self.assertEqual((lost["accepted"], lost["warnings"]), ([], []))
        self.assertEqual([p["outcome"] for p in lost["partitions"] if "guards" not in p], ["unchanged"] * 2)
        self.assertEqual([r.get("accepted") for r in self.ledger(TX)], [None, None, ["older"]])

    def test_what_is_said_is_said_of_the_version_that_was_live(self):
        """Two loads of earlier files: what the second says of the version before the first one's is not said any more."""
        spec = self.plain(totals="{capacity: {max_change: 10%, policy: warn}}")
        files = [self.write(f"{i}.csv", queue(("A", i)) + queue(("B", i), state="NM").split("\n", 1)[1]) for i in (10, 20, 40)]
        for file in files:
            self.load(spec, file)
        race = self.race(spec, *files[:2], words=("--accept", "older"))
        self.assertEqual([code for code, _ in race], [OK, OK])
        first, second = sorted((report for _, report in race), key=lambda r: self.part(r)["seq"])
        self.assertEqual([self.part(r)["seq"] for r in (first, second)], [4, 5])
        for report, live in ((first, 3), (second, 4)):
            self.assertEqual(len(report["warnings"]), 4, report["warnings"])
            self.assertEqual(sum(f"replaced since by seq {live}; accepted" in w for w in report["warnings"]), 2, report["warnings"])
            self.assertEqual(len([e for p in report["partitions"] for e in p["guards"]]), 4)


class Page(Guards):
    def test_names_of_the_page_are_those_of_the_program(self):
        """docs/guards.md has a heading for each guard that --accept knows, and what it quotes is what the program says."""
        page = (SOURCE / "docs" / "guards.md").read_text()
        listed = re.search(r"let this guard pass once \(([^)]*)\)", " ".join(self.recloser("load", "--help").out.split())).group(1)
        self.assertEqual(re.findall(r"^### ([a-z_]+)$", page, re.M), listed.split(", "))
        spec = self.plain(totals="{capacity: {max_change: 20%, policy: warn}}")
        self.first(spec, queue(("A", 60), ("B", 40)))
        said = self.load(spec, self.write("two.csv", queue(("A", 60), ("B", 60.5))))["warnings"][0]
        self.assertIn(said.replace("capacity", "capacity_mw"), page)


class ManyPartitions(Guards):
    def test_hundreds(self):
        """A few statements a partition, whatever the guards: 300 partitions that all change are loaded in seconds."""
        spec = self.plain(partition="[county]", totals="{capacity: {max_change: 50%}}", disappeared="{max: 60%}")
        header = "id,county,capacity"
        self.first(spec, rows(header, *(f"{c}-{i},C{c:03},{i}" for c in range(300) for i in range(1, 11))))
        started = time.monotonic()
        report = self.first(spec, rows(header, *(f"{c}-{i},C{c:03},{i + 0.5}" for c in range(300) for i in range(2, 11))), "two.csv")
        self.assertEqual((report["disappeared"], report["rows_written"]), (300, 2700))
        self.assertEqual(report["warnings"], [])
        self.assertLess(time.monotonic() - started, 60)


if __name__ == "__main__":
    main()
