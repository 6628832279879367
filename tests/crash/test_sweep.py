# SPDX-License-Identifier: Apache-2.0
"""A replace of two partitions, cut short at every point it has.

The program is killed, or one of its system calls or allocations fails, at call N for N = 1, 2, ... until a run gets through.
After each of them: every partition is whole old or whole new; the same load succeeds; the tree is byte for byte that of an
undisturbed run; nothing is left in staging; every version that was live is in the archive; verify finds no fault.

Reduced, a spread of the points is tried; RECLOSER_TEST_FULL=1 tries all of them. How many were tried is printed.
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import FULL, PROGRAM, Case, main, recloser, sha256, tree  # noqa: E402

SPEC = """\
dataset: queue
root: lake
source: {files: "*.csv"}
key: {identity: [queue_id]}
partition: [state]
disappeared: {policy: allow}
columns: {capacity_mw: {type: double}}
"""
OLD = "queue_id,state,capacity_mw\n" + "".join(f"Q{i},{'TX' if i % 2 else 'NM'},{i}.5\n" for i in range(40))
NEW = "queue_id,state,capacity_mw\n" + "".join(f"Q{i},{'TX' if i % 2 else 'NM'},{i * 2}\n" for i in range(44))
PARTS = ("state=TX", "state=NM")
TIMES = {"RECLOSER_TEST_NOW": "2026-08-02T04:12:00Z"}
CALLS = ["write", "pwrite64", "fsync", "fdatasync", "syncfs", "link", "linkat", "rename", "renameat", "renameat2", "unlink", "unlinkat",
         "mkdir", "mkdirat", "chmod", "fchmod"]


class Sweep(Case):
    @classmethod
    def setUpClass(cls):
        cls.points = 0

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.__name__}: {cls.points} points tried{'' if FULL else ' (reduced)'}", file=sys.stderr)

    def setUp(self):
        super().setUp()
        self.spec(SPEC)
        self.write("old.csv", OLD)
        self.write("new.csv", NEW)
        self.recloser("load", "spec.yaml", "old.csv", env=TIMES)
        self.old = {part: sha256(self.live(part)) for part in PARTS}
        shutil.copytree(self.dir / "lake", self.dir / "before", symlinks=True)
        self.recloser("load", "spec.yaml", "new.csv", env=TIMES)
        self.new = {part: sha256(self.live(part)) for part in PARTS}
        self.after = tree(self.dir / "lake" / "queue")
        self.assertTrue(all(self.old[part] != self.new[part] for part in PARTS))

    def live(self, part):
        return self.dir / "lake/queue" / part / "part.parquet"

    def reset(self):
        """The lake as it was before: hard links between archive and live are kept, as cp -a does."""
        shutil.rmtree(self.dir / "lake")
        subprocess.run(["cp", "-a", self.dir / "before", self.dir / "lake"], check=True)

    def load(self, prefix=(), **env):
        return recloser("load", "spec.yaml", "new.csv", "--threads", "1", cwd=self.dir, env={**TIMES, **env}, command_prefix=prefix)

    def check(self, where):
        """What must hold after the program was cut short at `where`, and after the next load."""
        type(self).points += 1
        for part in PARTS:
            self.assertIn(sha256(self.live(part)), (self.old[part], self.new[part]), f"{where}: {part} is neither old nor new")
        found = [p.name for p in (self.dir / "lake/queue").rglob("*") if p.is_file()]
        self.assertEqual(found, ["part.parquet"] * len(PARTS), where)
        again = recloser("load", "spec.yaml", "new.csv", cwd=self.dir, env=TIMES)
        self.assertEqual(again.code, 0, f"{where}: the next load\n{again}")
        self.assertEqual(tree(self.dir / "lake/queue"), self.after, where)
        control = self.dir / "lake/_recloser/queue"
        self.assertEqual(list((control / "staging").iterdir()), [], where)
        archived = {sha256(p) for p in (control / "archive").rglob("*") if p.is_file()}
        for part in PARTS:
            self.assertLessEqual({self.old[part], self.new[part]}, archived, f"{where}: {part}")
        verified = recloser("verify", "spec.yaml", cwd=self.dir)
        self.assertEqual(verified.code, 0, f"{where}\n{verified}")

    def sweep(self, inject, ended, most):
        """`inject(n)` gives a command prefix and an environment; `ended(run)` tells that call n was never reached."""
        numbers = iter(range(1, 100000)) if FULL else iter(self.spread(inject, ended, most))
        for n in numbers:
            self.reset()
            prefix, env, where = inject(n)
            done = self.load(prefix, **env)
            if ended(done):
                return
            self.check(where)

    def spread(self, inject, ended, most):
        """Find the number of calls by doubling, then take `most` of them, both ends and a spread between."""
        last = 1
        while last < 100000:
            self.reset()
            prefix, env, _ = inject(last)
            if ended(self.load(prefix, **env)):
                break
            last *= 2
        low, high = last // 2, last
        while low + 1 < high:
            middle = (low + high) // 2
            self.reset()
            prefix, env, _ = inject(middle)
            low, high = (low, middle) if ended(self.load(prefix, **env)) else (middle, high)
        step = max(1, low // most)
        return sorted({1, low, *range(1, low + 1, step)} - {0}) if low else []


def strace(call, action):
    def inject(n):
        prefix = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{action}:when={n}"]
        return prefix, {}, f"{action} at {call} {n}"
    return inject


class WithStrace(Sweep):
    def setUp(self):
        if not shutil.which("strace"):
            self.skipTest("strace is not here")
        super().setUp()
        if self.load(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=rename"]).code != 0:
            self.skipTest("strace may not trace here")


class Killed(WithStrace):
    def test_kill_at_every_call(self):
        # In full, between the calls that change something as well: where a file is opened, closed, looked at or locked.
        for call in CALLS + (["openat", "close", "statx", "flock", "ftruncate", "getdents64"] if FULL else []):
            self.sweep(strace(call, "signal=KILL"), lambda done: done.code not in (-9, 137), most=3)
        self.assertGreaterEqual(self.points, 200 if FULL else 15)


class Failing(WithStrace):
    def fails(self, call, error, most):
        """A failed call is told (exit 6 or 7), or made good; never a crash, never a success that is none."""
        clean = []

        def ended(done):
            self.assertIn(done.code, (0, 5, 6, 7), f"{call} {error}\n{done}")
            clean.append(done.code == 0)
            return done.code == 0 and self.undisturbed(call, error)
        self.sweep(strace(call, f"error={error}"), ended, most)

    def undisturbed(self, call, error):
        """Was the call ever reached? strace says so in its own log of what it injected."""
        return tree(self.dir / "lake/queue") == self.after and not self.reached()

    def reached(self):
        return self.log.exists() and b"(INJECTED)" in self.log.read_bytes()

    @property
    def log(self):
        return self.dir / "strace.log"

    def load(self, prefix=(), **env):
        self.log.unlink(missing_ok=True)
        return super().load([str(self.log) if word == "/dev/null" else word for word in prefix], **env)

    def test_errors(self):
        for call in ["fsync", "fdatasync", "syncfs", "link", "linkat", "rename", "renameat2", "unlink", "mkdir", "write", "pwrite64"]:
            for error in ["EIO", "ENOSPC", "EDQUOT"] if FULL else ["EIO"]:
                self.fails(call, error, most=2)

    def test_no_space_while_writing(self):
        for call in ["write", "pwrite64"]:
            self.fails(call, "ENOSPC", most=4)

    def test_interrupted(self):
        for call in ["write", "pwrite64"]:
            self.fails(call, "EINTR", most=3)


class Memory(Sweep):
    """Allocation N of the program's own code fails."""

    def test_every_allocation(self):
        shim = os.environ.get("RECLOSER_FAILING_MALLOC")
        if not shim or not pathlib.Path(shim).exists():
            self.skipTest("RECLOSER_FAILING_MALLOC does not name the preload library that ctest builds")
        counter = self.dir / "allocations"

        def inject(n):
            counter.unlink(missing_ok=True)
            return (), {"LD_PRELOAD": shim, "FAIL_MALLOC_AT": n, "FAIL_MALLOC_COUNT": counter}, f"allocation {n} fails"

        def ended(done):
            self.assertIn(done.code, (0, 6, 7), f"\n{done}")
            if done.code != 0:
                self.assertIn("memory", done.err, f"\n{done}")
                return False
            return int(counter.read_text()) < self.asked

        def asked(n):
            self.asked = n
            return inject(n)
        self.sweep(asked, ended, most=25)


if not PROGRAM.exists():
    sys.exit(f"{PROGRAM} is not there")
main()
