# SPDX-License-Identifier: Apache-2.0
"""A replace of two partitions, with strace at the kernel's door: killed, or failed, at call N of each system call, for
N = 1, 2, ... until a run gets through; and with allocation N of recloser's own code failing. sweep.py says what must hold."""
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from sweep import FULL, Sweep, preload, tree  # noqa: E402
from support import PROGRAM, main  # noqa: E402

CALLS = ["write", "pwrite64", "fsync", "fdatasync", "syncfs", "link", "linkat", "rename", "renameat", "renameat2", "unlink", "unlinkat",
         "mkdir", "mkdirat", "chmod", "fchmod"]


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
        shim = preload("RECLOSER_FAILING_MALLOC")
        if not shim:
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
        self.assertGreater(self.points, 20, "the library took no call's place")


if not PROGRAM.exists():
    sys.exit(f"{PROGRAM} is not there")
main()
