# SPDX-License-Identifier: Apache-2.0
"""Several programs at one dataset: one partition, overlapping and disjoint ones, one host and two, with a holder that stops or dies.

A preloaded library (failing_call.c) stops a program at a call that is named, so that what is tested does not hang on luck: it
then holds the lock, or has decided, or is still staging, for as long as the test likes.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from sweep import FULL, SPEC, preload  # noqa: E402
from support import CONFLICT, OK, PROGRAM, Case, main, sha256  # noqa: E402

DECIDES = {"FAULT_CALLS": "link,linkat", "FAULT_PATH": "/commits/"}   # holds the lock, has not decided
DECIDED = {"FAULT_CALLS": "rename", "FAULT_PATH": "part.parquet"}     # holds the lock, decided, not live
STAGES = {"FAULT_CALLS": "write", "FAULT_PATH": "/staging/", "FAULT_AT": 3}  # writes part files, has no lock


class Program:
    """The program in the background."""

    def __init__(self, case, *args, cwd=None, prefix=(), **env):
        self.process = subprocess.Popen([*map(str, prefix), str(PROGRAM), *map(str, args)], cwd=cwd or case.dir,
                                        env={**os.environ, **{k: str(v) for k, v in env.items()}}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.args = args
        case.addCleanup(self.end)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def finish(self):
        out, err = self.process.communicate(timeout=300)
        self.code, self.out, self.err = self.process.returncode, out.decode(), err.decode()
        return self

    def __str__(self):
        return f"recloser {' '.join(map(str, self.args))}\nexit code {self.code}\n{self.out}\n{self.err}"


class Writers(Case):
    def setUp(self):
        super().setUp()
        self.spec(SPEC + "guards: {older: allow, key_churn: allow}\n")
        self.batch("seed", TX=1, NM=1, OK=1)

    def batch(self, name, **factors):
        """NAME.csv: 20 rows for each state, whose capacity tells the batch."""
        rows = "".join(f"{state}{i},{state},{i * factor}\n" for state, factor in factors.items() for i in range(20))
        return self.write(f"{name}.csv", "queue_id,state,capacity_mw\n" + rows)

    def live(self, state):
        return sha256(self.dir / f"lake/queue/state={state}/part.parquet")

    def loaded_alone(self, **factors):
        """Digests that these batches have when nothing disturbs, from a lake of their own."""
        place = self.dir / "alone"
        place.mkdir(exist_ok=True)
        shutil.copy(self.dir / "spec.yaml", place)
        self.batch("alone/batch", **factors)
        self.recloser("load", "spec.yaml", "batch.csv", cwd=place)
        found = {p.parent.name.split("=")[1]: sha256(p) for p in (place / "lake/queue").rglob("part.parquet")}
        shutil.rmtree(place)
        return found

    def records(self, state):
        folder = self.dir / f"lake/_recloser/queue/ledger/state={state}"
        return [json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))]

    def assert_sound(self, states=("TX", "NM", "OK")):
        """Once quiet: the ledger is contiguous and describes what is live, each version is archived, nothing is staged."""
        control = self.dir / "lake/_recloser/queue"
        for state in states:
            records = self.records(state)
            self.assertEqual([r["seq"] for r in records], list(range(1, len(records) + 1)))
            self.assertEqual(self.live(state), records[-1]["file"]["sha256"])
            for record in records:
                self.assertEqual(sha256(control / record["archive"]), record["file"]["sha256"])
        self.assertEqual(list((control / "staging").iterdir()), [])
        self.recloser("verify", "spec.yaml")

    def assert_told(self, runs):
        """What a run that says success made is in the ledger under its name; a run that gave up has nothing there."""
        for run in runs:
            self.assertIn(run.code, (OK, CONFLICT), str(run))
            report = json.loads(run.out)
            made = {(p["partition"], p["seq"], p["sha256"]) for p in report["partitions"] if p["outcome"] in ("new", "replaced")}
            found = {(r["partition"], r["seq"], r["file"]["sha256"]) for state in ("TX", "NM", "OK") for r in self.records(state)
                     if r.get("run") == report["run"]}
            self.assertEqual(found, made if run.code == OK else set(), str(run))


class Stopped(Writers):
    """A program that is stopped where the test wants it."""

    def setUp(self):
        self.shim = preload("RECLOSER_FAILING_CALL")
        if not self.shim:
            self.skipTest("RECLOSER_FAILING_CALL does not name the preload library that ctest builds")
        super().setUp()
        self.recloser("load", "spec.yaml", "seed.csv")
        self.batch("one", TX=2, NM=2)
        self.batch("two", TX=3, OK=3)

    def stopped(self, where, *args, **more):
        holder = Program(self, *args, LD_PRELOAD=self.shim, FAULT_ACTION="stop", **where, **more)
        self.wait_until(lambda: self.state_of(holder) in "Tt", "the program never stopped", holder)
        return holder

    def state_of(self, program):
        text = pathlib.Path(f"/proc/{program.process.pid}/stat").read_text()
        return text[text.rindex(")") + 2]

    def wait_until(self, what, otherwise, program):
        end = time.monotonic() + 60
        while not what():
            if program.process.poll() is not None or time.monotonic() > end:
                self.fail(f"{otherwise}\n{program.finish() if program.process.poll() is not None else ''}")
            time.sleep(0.01)

    def go_on(self, program):
        program.process.send_signal(signal.SIGCONT)
        return program.finish()

    def test_the_waiting_one_says_for_whom(self):
        holder = self.stopped(DECIDES, "load", "spec.yaml", "one.csv", "--json")
        start = time.monotonic()
        refused = self.recloser("load", "spec.yaml", "two.csv", "--wait", 1, code=CONFLICT)
        self.assertLess(time.monotonic() - start, 20)
        self.assertIn(f"pid {holder.process.pid}", refused.err)
        self.assertIn(f"host {os.uname().nodename}", refused.err)
        at_once = self.recloser("load", "spec.yaml", "two.csv", "--wait", 0, code=CONFLICT)
        self.assertIn(f"pid {holder.process.pid}", at_once.err)

        waiting = Program(self, "load", "spec.yaml", "two.csv", "--json", "--wait", 60)
        said = b""
        while f"pid {holder.process.pid}".encode() not in said:
            line = waiting.process.stderr.readline()
            self.assertTrue(line, f"the waiting load never said for whom: {said}")
            said += line
        first, second = self.go_on(holder), waiting.finish()
        self.assertEqual((first.code, second.code), (OK, OK), f"{first}\n{second}")
        self.assert_told([first, second])
        self.assert_sound()
        self.assertEqual([len(self.records(state)) for state in ("TX", "NM", "OK")], [3, 2, 2])
        self.assertEqual(self.live("TX"), self.loaded_alone(TX=3)["TX"])

    def test_a_killed_holder_never_blocks(self):
        for where, decided in (DECIDES, False), (DECIDED, True), (STAGES, False):
            with self.subTest(where=where):
                before = {state: len(self.records(state)) for state in ("TX", "NM", "OK")}
                self.batch("one", TX=before["TX"] * 10, NM=before["TX"] * 10)
                self.batch("two", TX=before["TX"] * 10 + 1, OK=before["TX"] * 10 + 1)
                holder = self.stopped(where, "load", "spec.yaml", "one.csv")
                holder.process.kill()
                holder.process.wait()
                start = time.monotonic()
                self.recloser("load", "spec.yaml", "two.csv", "--wait", 30)
                self.assertLess(time.monotonic() - start, 20, "a dead holder was waited for")
                self.assert_sound()
                after = {state: len(self.records(state)) for state in before}
                self.assertEqual(after, {"TX": before["TX"] + 1 + decided, "NM": before["NM"] + decided, "OK": before["OK"] + 1})

    def test_a_killed_one_that_waited(self):
        holder = self.stopped(DECIDES, "load", "spec.yaml", "one.csv", "--json")
        waiting = Program(self, "load", "spec.yaml", "two.csv", "--wait", 60)
        waiting.process.stderr.readline()
        waiting.process.kill()
        waiting.process.wait()
        first = self.go_on(holder)
        self.assertEqual(first.code, OK, str(first))
        self.recloser("recover", "spec.yaml")
        self.assert_sound()
        self.assertEqual([len(self.records(state)) for state in ("TX", "NM", "OK")], [2, 2, 1])

    def test_staging_is_outside_the_lock(self):
        """A load that is stopped while it writes its part files holds nobody up, and its staging is left alone."""
        slow = self.stopped(STAGES, "load", "spec.yaml", "one.csv", "--json")
        self.recloser("load", "spec.yaml", "two.csv", "--wait", 0)
        found = self.recloser_json("recover", "spec.yaml")
        self.assertEqual((len(found["living"]), found["swept"]), (1, []))
        late = self.go_on(slow)
        self.assertEqual(late.code, OK, str(late))
        self.assert_told([late])
        self.assert_sound()
        self.assertEqual([r["base"]["seq"] if r.get("base") else None for r in self.records("TX")], [None, 1, 2])
        self.assertEqual(self.live("TX"), self.loaded_alone(TX=2)["TX"])

    def test_readers_take_no_lock(self):
        holder = self.stopped(DECIDES, "load", "spec.yaml", "one.csv", "--json")
        for command in "status", "verify", "history":
            self.recloser(command, "spec.yaml", *(["state=TX"] if command == "history" else []), timeout=30)
        self.assertEqual(self.go_on(holder).code, OK)

    def test_a_stopped_holder_without_locks(self):
        """Where locks are missing, the decision still has one winner; who comes late loads on top of it or reports a conflict."""
        none = {"LD_PRELOAD": self.shim, "FAULT_ACTION": "ENOLCK", "FAULT_CALLS": "flock", "FAULT_AT": 0}
        holder = self.stopped(DECIDES, "load", "spec.yaml", "one.csv", "--json")
        self.recloser("load", "spec.yaml", "two.csv", env=none)
        late = self.go_on(holder)
        self.assert_told([late])
        self.assert_sound()


class Together(Writers):
    """Real races: programs that start at once, again and again."""
    ROUNDS = 60 if FULL else 6

    def run_rounds(self, batches, places=None):
        """Each round loads all of `batches` at once; each live file is then one whole batch."""
        self.recloser("load", "spec.yaml", "seed.csv")
        for number in range(self.ROUNDS):
            given = {name: {state: factor + number * 10 for state, factor in states.items()} for name, states in batches.items()}
            for name, states in given.items():
                self.batch(name, **states)
            starts = places or [{}] * len(given)
            runs = [Program(self, "load", "spec.yaml", self.dir / f"{name}.csv", "--json", **place)
                    for name, place in zip(given, starts)]
            for run in runs:
                run.finish()
            with self.subTest(round=number):
                self.assert_told(runs)
                self.assert_sound()
                self.assertTrue(any(run.code == OK for run in runs))
                for state in {state for states in given.values() for state in states}:
                    expected = [self.loaded_alone(**{state: states[state]})[state] for states in given.values() if state in states]
                    self.assertIn(self.live(state), expected, f"{state} is not one whole batch")
        return runs

    def test_one_partition_two_writers(self):
        self.run_rounds({"a": {"TX": 2}, "b": {"TX": 3}})

    def test_one_partition_three_writers(self):
        self.run_rounds({"a": {"TX": 2}, "b": {"TX": 3}, "c": {"TX": 4}})

    def test_overlapping_partitions(self):
        self.run_rounds({"a": {"TX": 2, "NM": 2}, "b": {"NM": 3, "OK": 3}})

    def test_disjoint_partitions(self):
        for run in self.run_rounds({"a": {"TX": 2}, "b": {"NM": 3}, "c": {"OK": 4}}):
            self.assertEqual(run.code, OK, f"nothing stood in its way\n{run}")

    def host(self, name):
        """A machine of its own, as far as the program can tell: another host name, and the directory under another path."""
        place = self.dir / name
        place.mkdir()
        script = f"hostname {name} && mount --bind '{self.dir}' '{place}' && cd '{place}' && exec \"$@\""
        return {"prefix": ["unshare", "--mount", "--uts", "sh", "-c", script, "sh"]}

    def test_two_hosts(self):
        first, second = self.host("host-one"), self.host("host-two")
        probe = subprocess.run([*first["prefix"], "hostname"], capture_output=True)
        if probe.stdout.strip() != b"host-one":
            self.skipTest("no namespaces for other hosts here: " + probe.stderr.decode().strip())
        self.run_rounds({"a": {"TX": 2, "NM": 2}, "b": {"TX": 3, "OK": 3}}, [first, second])
        probed = " ".join(p.name for p in (self.dir / "lake/_recloser/queue/probe").iterdir())
        for name in "host-one", "host-two":
            self.assertIn(name, probed, "it did not take itself for another host")


main()
