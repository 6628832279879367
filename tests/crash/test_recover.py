# SPDX-License-Identifier: Apache-2.0
"""`recover` says what it found: a run that was cut short, staging of the dead and the living, foreign bytes and files, lost records."""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from sweep import NEW, OLD, PARTS, SPEC, preload  # noqa: E402
from support import FAULT, IO, UNCLEAR, main, recloser, sha256  # noqa: E402
from loading import Loading  # noqa: E402

NOTHING = {"finished_commit": 0, "finished_partitions": [], "swept": [], "living": [], "foreign": [], "adoptable": [], "missing": [],
           "warnings": []}
# What a record that was made again can't be asked for; see docs/format.md.
TELLS = ("seq", "partition", "kind", "archive")


class Found(Loading):
    def setUp(self):
        super().setUp()
        self.spec(SPEC)
        self.write("old.csv", OLD)
        self.write("new.csv", NEW)
        self.load("spec.yaml", "old.csv")

    def recovered(self, **expected):
        found = self.recloser_json("recover", "spec.yaml")
        found.pop("dataset")
        self.assertEqual(found, {**NOTHING, **expected})
        return found

    def killed(self, calls, path):
        shim = preload("RECLOSER_FAILING_CALL")
        if not shim:
            self.skipTest("RECLOSER_FAILING_CALL does not name the preload library that ctest builds")
        done = recloser("load", "spec.yaml", "new.csv", cwd=self.dir,
                        env={"LD_PRELOAD": shim, "FAULT_ACTION": "kill", "FAULT_CALLS": calls, "FAULT_PATH": path})
        self.assertEqual(done.code, -9, f"\n{done}")
        return [p.name for p in (self.control / "staging").iterdir()]

    def digests(self):
        return {part: sha256(self.live(part)) for part in PARTS}

    def test_nothing(self):
        self.recovered()
        self.assertIn("nothing to recover", self.recloser("recover", "spec.yaml").out)

    def test_a_decided_run(self):
        before = self.digests()
        self.killed("rename", "part.parquet")
        self.assertEqual(self.digests(), before)
        self.recovered(finished_commit=2, finished_partitions=sorted(PARTS))
        self.assertTrue(all(before[part] != digest for part, digest in self.digests().items()))
        self.assert_nothing_staged()
        self.recovered()
        self.assertEqual([len(self.ledger(part)) for part in PARTS], [2, 2])
        self.recloser("verify", "spec.yaml")
        self.assertEqual(self.load("spec.yaml", "new.csv")["outcome"], "unchanged")

    def test_a_run_that_was_not_decided(self):
        before = self.digests()
        runs = self.killed("link,linkat", "/commits/")
        self.assertEqual(len(runs), 1)
        self.recovered(swept=runs)
        self.assertEqual(self.digests(), before)
        self.assert_nothing_staged()
        self.assertEqual([len(self.ledger(part)) for part in PARTS], [1, 1])

    def test_foreign_bytes_are_adopted(self):
        """Another program renames its own file over a live one: found by recover and verify, kept by the next load."""
        old = self.digests()
        self.load("spec.yaml", "new.csv")
        theirs = self.control / self.ledger("state=TX")[0]["archive"]  # a sound file, with the keys and columns of this dataset
        copy = self.copy(theirs, "theirs.parquet")
        copy.replace(self.live("state=TX"))
        self.recovered(adoptable=["state=TX"])
        self.recloser("verify", "spec.yaml", code=FAULT)
        lost = self.ledger("state=TX")[-1]["file"]["sha256"]
        self.write("third.csv", NEW.replace(",2\n", ",2222\n"))
        report = self.load("spec.yaml", "third.csv")
        kinds = [(r["kind"], r["file"]["sha256"]) for r in self.ledger("state=TX")]
        self.assertEqual([kind for kind, _ in kinds][:3], ["version", "version", "adopted"])
        self.assertEqual(kinds[2][1], old["state=TX"])
        self.assertIn(lost, [digest for _, digest in kinds], "the version that was replaced is in the archive")
        self.assertIn("replaced", [p["outcome"] for p in report["partitions"]])
        self.recovered()
        self.recloser("verify", "spec.yaml")

    def test_foreign_files_are_left_alone(self):
        names = ["notes.txt", "state=TX/_SUCCESS", "state=TX/part-0.parquet", "elsewhere/part.parquet"]
        for name in names:
            self.write(f"lake/queue/{name}", "mine")
        self.assertEqual(self.recovered(foreign=sorted(names))["foreign"], sorted(names))
        self.load("spec.yaml", "new.csv")
        for name in names:
            self.assertEqual((self.tree_path / name).read_text(), "mine")

    def test_a_missing_live_file(self):
        digest = sha256(self.live("state=TX"))
        self.live("state=TX").unlink()
        self.recovered(missing=["state=TX"])
        self.recloser("verify", "spec.yaml", code=FAULT)
        self.recloser("restore", "spec.yaml", "state=TX", "1")
        self.assertEqual(sha256(self.live("state=TX")), digest)
        self.recovered()
        self.recloser("verify", "spec.yaml")


class Rebuilt(Found):
    def lose(self, *names):
        for name in names:
            path = self.control / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def check(self, *lost):
        """After `lost`: --rebuild makes each record again, verify is clean, and the next loads go on from there."""
        self.load("spec.yaml", "new.csv")
        known = {part: [{key: record[key] for key in TELLS} for record in self.ledger(part)] for part in PARTS}
        live = self.digests()
        untouched = {p: p.read_bytes() for p in (self.control / "ledger").rglob("*.json")}
        self.lose(*lost)
        found = self.recloser_json("recover", "spec.yaml", "--rebuild")
        self.assertEqual(found["foreign"] + found["adoptable"] + found["missing"], [])
        for part in PARTS:
            records = self.ledger(part)
            self.assertEqual([{key: record[key] for key in TELLS} for record in records], known[part])
            for record in records:
                path = self.control / "ledger" / part / f"{record['seq']:08}.json"
                again = path.read_bytes() != untouched[path]
                self.assertEqual(bool(record.get("rebuilt")), again, "a record that was made again says so, and no other")
        self.assertEqual(self.digests(), live)
        self.recloser("verify", "spec.yaml")
        self.recovered()
        self.load("spec.yaml", "new.csv", "--force")
        self.assertEqual(self.digests(), live, "the same rows keep their bytes")
        self.load("spec.yaml", "old.csv", "--force", "--accept", "older")
        self.assertEqual([r["seq"] for r in self.ledger("state=TX")], [1, 2, 3])
        self.recloser("verify", "spec.yaml")
        return found

    def test_the_whole_ledger(self):
        self.check("ledger")

    def test_one_record(self):
        self.check("ledger/state=TX/00000001.json")

    def test_the_newest_record(self):
        self.check("ledger/state=TX/00000002.json")

    def test_the_ledger_and_all_commits(self):
        """Then the names, sizes and digests of the archived files are all there is."""
        self.check("ledger", "commits")

    def test_all_but_the_archive(self):
        self.check("ledger", "commits", "runs", "sources", "seen.json", "probe")

    def test_a_load_without_its_ledger_is_refused(self):
        """It would give away numbers that archived versions have."""
        self.load("spec.yaml", "new.csv")
        archived = sorted(p.name for p in (self.control / "archive").rglob("part.parquet.*"))
        self.lose("ledger")
        self.assertIn("rebuild", self.recloser_json("recover", "spec.yaml")["warnings"][0])
        done = self.recloser("load", "spec.yaml", "old.csv", "--force", "--accept", "older", code=IO)
        self.assertIn("recover --rebuild", done.err)
        self.assertEqual(sorted(p.name for p in (self.control / "archive").rglob("part.parquet.*")), archived)
        self.recloser("recover", "spec.yaml", "--rebuild")
        self.recloser("restore", "spec.yaml", "state=TX", "1")
        self.recloser("verify", "spec.yaml")

    def test_a_number_that_a_load_called_void_after_the_loss(self):
        """The newest record and the live file are gone, and a load finds the archive name of its number taken. Another commit came
        since: records of the newest one are looked for (next test)."""
        self.load("spec.yaml", "new.csv")
        self.write("nm.csv", "queue_id,state,capacity_mw\nQ0,NM,1\n")
        self.load("spec.yaml", "nm.csv")
        self.write("newer.csv", NEW.replace("\n", "0\n").replace("capacity_mw0", "capacity_mw"))
        lost = sha256(self.live("state=TX"))
        self.live("state=TX").unlink()
        self.lose("ledger/state=TX/00000002.json")
        self.recloser("load", "spec.yaml", "newer.csv", "--force", code=None)
        void = json.loads((self.control / "ledger/state=TX/00000002.json").read_text())
        self.assertEqual(void["kind"], "void")
        self.recloser("recover", "spec.yaml", "--rebuild")
        again = self.ledger("state=TX")[1]
        self.assertEqual((again["kind"], again["file"]["sha256"]), ("version", lost))
        self.assertEqual(self.recloser_json("recover", "spec.yaml", "--rebuild")["finished_partitions"], [], "once is enough")
        self.recloser("restore", "spec.yaml", "state=TX", "2")
        self.assertEqual(sha256(self.live("state=TX")), lost)
        self.recloser("verify", "spec.yaml")

    def test_a_load_without_a_record_of_the_newest_commit_is_refused(self):
        """On a later day the archive name of that number would be free, and the version behind it out of reach."""
        self.load("spec.yaml", "new.csv")
        before, record = self.digests(), self.control / "ledger/state=TX/00000002.json"
        record.unlink()
        later = {"RECLOSER_TEST_NOW": "2026-09-02T04:12:00Z"}
        done = self.recloser("load", "spec.yaml", "old.csv", "--force", "--accept", "older", env=later, code=IO)
        self.assertIn("00000002.json", done.err)
        self.assertIn("recover --rebuild", done.err)
        self.assertEqual(self.digests(), before)
        self.recloser("recover", "spec.yaml", "--rebuild")
        self.load("spec.yaml", "old.csv", "--force", "--accept", "older", env=later)
        self.recloser("restore", "spec.yaml", "state=TX", "2")
        self.assertEqual(self.digests()["state=TX"], before["state=TX"])
        self.recloser("verify", "spec.yaml")

    def test_damaged_files_are_told_and_set_aside(self):
        self.load("spec.yaml", "new.csv")
        for name in ("ledger/state=TX/00000002.json", "commits/00000002.json"):
            for text in ("", '{"run": "20', "[]"):
                path = self.control / name
                path.chmod(0o644)
                path.write_text(text)
                if name.startswith("ledger"):
                    told = {part["partition"]: part["faults"] for part in self.recloser_json("verify", "spec.yaml", code=FAULT)["partitions"]}
                    self.assertIn("recover --rebuild", told["state=TX"][0])
                    self.assertEqual(told["state=NM"], [], "one that can't be read keeps none from being looked at")
                done = self.recloser("load", "spec.yaml", "old.csv", "--force", "--accept", "older", code=IO)
                self.assertIn("recover --rebuild", done.err)
                self.recloser("recover", "spec.yaml", "--rebuild")
                self.assertEqual(path.with_name(path.name + ".unreadable").read_text(), text)
                self.recloser("verify", "spec.yaml")
        self.load("spec.yaml", "old.csv", "--force", "--accept", "older")
        self.assertEqual(self.ledger("state=TX")[-1]["commit"], 3, "never a number twice")
        self.recloser("verify", "spec.yaml")

    def test_a_decided_run_reports_the_numbers_it_decided(self):
        """It can't replace what is live: decided, and to be finished once it can."""
        shim = preload("RECLOSER_FAILING_CALL")
        if not shim:
            self.skipTest("RECLOSER_FAILING_CALL does not name the preload library that ctest builds")
        before = self.digests()
        fault = {"LD_PRELOAD": shim, "FAULT_ACTION": "EIO", "FAULT_CALLS": "rename", "FAULT_PATH": "part.parquet", "FAULT_AT": 0}
        report = self.recloser_json("load", "spec.yaml", "new.csv", env=fault, code=UNCLEAR)
        self.assertEqual([part["seq"] for part in report["partitions"]], [2, 2])
        self.assertEqual(self.digests(), before)
        self.assertEqual(self.recloser_json("recover", "spec.yaml")["finished_commit"], 2)
        self.assertEqual([self.ledger(part)[-1]["seq"] for part in PARTS], [2, 2])
        self.recloser("verify", "spec.yaml")

    def test_a_place_in_the_archive_that_is_none(self):
        """The folder that the archived file goes to is a file: refused before anything is decided."""
        before, day = self.digests(), next((self.control / "archive").glob("load_date=*"))
        moved = day.rename(day.with_name("aside"))
        day.write_text("in the way")
        done = self.recloser("load", "spec.yaml", "new.csv", code=IO)
        self.assertIn(day.name, done.err)
        self.assertEqual(self.digests(), before)
        self.assertEqual(len(list((self.control / "commits").iterdir())), 1)
        day.unlink()
        moved.rename(day)
        self.load("spec.yaml", "new.csv")
        self.recloser("verify", "spec.yaml")

    def test_a_report_that_can_not_be_kept(self):
        """Exit 7, and the words say that the load itself stands."""
        runs = self.control / "runs"
        kept = runs.rename(self.control / "kept")
        runs.write_text("in the way")
        done = self.recloser("load", "spec.yaml", "new.csv", code=UNCLEAR)
        self.assertIn("live and recorded", done.err)
        runs.unlink()
        kept.rename(runs)
        self.assertEqual([self.ledger(part)[-1]["seq"] for part in PARTS], [2, 2])
        self.recloser("verify", "spec.yaml")


main()
