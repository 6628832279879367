# SPDX-License-Identifier: Apache-2.0
"""A load of two partitions, killed or failed at call N of all that change files, whatever the call: N = 1, 2, ... goes through
the run in its own order. A preloaded library (failing_call.c) does it, so that writes can be cut short as well, which strace
can't do, and so that a whole sweep takes a minute. sweep.py says what must hold after each point."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from sweep import FULL, IO, OK, PARTS, TIMES, UNCLEAR, Sweep, preload, recloser  # noqa: E402
from support import main  # noqa: E402


class Calls(Sweep):
    def setUp(self):
        self.shim = preload("RECLOSER_FAILING_CALL")
        if not self.shim:
            self.skipTest("RECLOSER_FAILING_CALL does not name the preload library that ctest builds")
        super().setUp()
        self.log = self.dir / "fault.log"

    def fault(self, action, n):
        self.log.unlink(missing_ok=True)
        return {"LD_PRELOAD": self.shim, "FAULT_ACTION": action, "FAULT_AT": n, "FAULT_LOG": self.log}

    def at_every_call(self, action, step, codes):
        """Reduced: every `step`-th, so that different actions at different steps meet all calls."""
        for n in range(1, 100000, 1 if FULL else step):
            self.reset()
            done = self.load(**self.fault(action, n))
            if not self.log.exists():
                self.assertEqual(done.code, OK, f"\n{done}")
                return n - 1
            where = f"{action} at call {self.log.read_text().strip()}"
            self.assertIn(done.code, codes, f"{where}\n{done}")
            if done.code in (IO, UNCLEAR):
                self.assertTrue(done.err.strip(), f"{where}: failed without a word")
            self.check(where, done.code)
        return self.fail("a run without an end")


class Replaced(Calls):
    def test_killed(self):
        self.assertGreater(self.at_every_call("kill", 3, (-9,)), 40)

    def test_errors(self):
        for step, error in (5, "EIO"), (7, "ENOSPC"), (11, "EDQUOT"), (13, "EINTR"):
            self.at_every_call(error, step, (OK, IO, UNCLEAR))

    def test_short_writes(self):
        """Half a write is no error: the program writes the rest."""
        self.at_every_call("short", 2, (OK,))

    def test_each_write_is_short(self):
        self.reset()
        done = self.load(**self.fault("short", 0))
        self.assertEqual(done.code, OK, f"\n{done}")
        self.assertTrue(self.log.exists())
        self.check("each write is short", done.code)

    def test_link_and_rename_that_lie(self):
        """They take place and report EIO: the names decide, never the error."""
        self.assertGreater(self.at_every_call("lie", 1, (OK,)), 5)

    def test_killed_and_the_next_is_killed_too(self):
        """The load that finishes what another one decided is cut short as well, at every point it has."""
        for first in range(1, 100000, 12 if FULL else 19):
            if not self.killed_twice(first):
                return

    def killed_twice(self, first):
        for second in range(1, 100000, 11 if FULL else 17):
            self.reset()
            self.load(**self.fault("kill", first))
            if not self.log.exists():
                return False
            where = f"kill at call {self.log.read_text().strip()}"
            done = self.load(**self.fault("kill", second))
            if not self.log.exists():
                break
            self.check(f"{where}, then at call {self.log.read_text().strip()}", done.code)
        return True

    def test_killed_then_recover(self):
        """`recover` instead of a load: afterwards the partitions are of one run, all old or all new, and nothing is staged."""
        for n in range(1, 100000, 1 if FULL else 6):
            self.reset()
            self.load(**self.fault("kill", n))
            if not self.log.exists():
                return
            where = f"kill at call {self.log.read_text().strip()}"
            done = recloser("recover", "spec.yaml", "--json", cwd=self.dir, env=TIMES)
            self.assertEqual(done.code, OK, f"{where}\n{done}")
            self.assertEqual(list((self.dir / "lake/_recloser/queue/staging").iterdir()), [], where)
            live = {part: self.bytes_of(part) for part in self.old}
            self.assertIn(live, (self.old, self.new), f"{where}: the run is not whole after recover")
            self.assertEqual(done.json["adoptable"] + done.json["missing"] + done.json["foreign"], [], where)
            self.check(where, None)


class Altered(Calls):
    """A disk, or memory, that keeps another byte than it was given, in a part file: the load is refused, or the file gives every
    value that it was to give (the byte stands in a footer's statistics, a Bloom filter, a name of the writer)."""
    def rows(self, part):
        with self.duckdb.connect() as connection:
            return connection.execute(f"SELECT * FROM read_parquet('{self.live(part)}', file_row_number=true)").fetchall()

    def test_each_byte(self):
        if not self.duckdb:
            self.skipTest("values are compared by DuckDB's package")
        right, refused, harmless = {part: self.rows(part) for part in PARTS}, 0, []
        for n in range(1, 100000, 1 if FULL else 43):
            self.reset()
            done = self.load(**self.fault("alter", n), FAULT_CALLS="write,pwrite", FAULT_PATH="/part")
            if not self.log.exists():
                break
            where = f"byte {self.log.read_text().strip()} altered"
            self.assertIn(done.code, (OK, IO), f"{where}\n{done}")
            if done.code == IO:
                refused += 1
                self.assertIn("the staged file does not hold what was to be written", done.err, where)
                self.check(where, done.code)
            else:
                harmless.append(n)
                self.assertEqual({part: self.rows(part) for part in PARTS}, right, f"{where}: loaded\n{done}")
                self.assertEqual(recloser("verify", "spec.yaml", cwd=self.dir).code, OK, where)
        print(f"{refused} altered bytes were refused, {len(harmless)} change no value: {harmless}", file=sys.stderr)
        self.assertGreater(refused, 800 if FULL else 20)


class First(Calls):
    """The load that makes the dataset: there is no old version, so a partition is new or not there."""
    first = True

    def test_killed(self):
        self.assertGreater(self.at_every_call("kill", 4, (-9,)), 40)

    def test_errors(self):
        for step, error in (9, "EIO"), (11, "ENOSPC"):
            self.at_every_call(error, step, (OK, IO, UNCLEAR))


main()
