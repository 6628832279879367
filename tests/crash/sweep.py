# SPDX-License-Identifier: Apache-2.0
"""A load of two partitions, cut short at every point it has, and what must hold after each of them.

Every partition is whole old or whole new, for plain bytes as for DuckDB and pyarrow where they are here; exit 0 means new, exit 6
means old; the same load succeeds; the tree is byte for byte that of an undisturbed run; nothing is left in staging; every
version that was live is in the archive; verify finds no fault.

Reduced, a spread of the points is tried, always the same; RECLOSER_TEST_FULL=1 tries all of them. How many were tried is printed.
"""
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import FULL, IO, OK, UNCLEAR, Case, recloser, sha256, tree  # noqa: E402

if not os.environ.get("TMPDIR") and os.access("/dev/shm", os.W_OK):
    tempfile.tempdir = "/dev/shm"  # syncs cost nothing there, and names behave as on any file system

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
# What another engine reads of either version: rows and the sum of capacity_mw.
ROWS = {part: ((20, sum(i + 0.5 for i in range(odd, 40, 2))), (22, sum(i * 2.0 for i in range(odd, 44, 2))))
        for part, odd in (("state=TX", 1), ("state=NM", 0))}
TIMES = {"RECLOSER_TEST_NOW": "2026-08-02T04:12:00Z"}


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def preload(name):
    """The path of a library that ctest builds, told by the environment; None when it is not there."""
    path = os.environ.get(name)
    return path if path and pathlib.Path(path).exists() else None


class Sweep(Case):
    first = False  # whether the load that is cut short is the dataset's first

    @classmethod
    def setUpClass(cls):
        cls.points = 0
        cls.duckdb, cls.parquet = optional("duckdb"), optional("pyarrow.parquet")

    @classmethod
    def tearDownClass(cls):
        readers = [name for name, module in (("DuckDB", cls.duckdb), ("pyarrow", cls.parquet)) if module]
        print(f"{cls.__name__}: {cls.points} points tried{'' if FULL else ' (reduced)'}, "
              f"read by {', '.join(['bytes', *readers])}", file=sys.stderr)

    def setUp(self):
        super().setUp()
        self.spec(SPEC)
        self.write("old.csv", OLD)
        self.write("new.csv", NEW)
        if not self.first:
            self.recloser("load", "spec.yaml", "old.csv", env=TIMES)
        self.old = {part: self.bytes_of(part) for part in PARTS}
        (self.dir / "lake").mkdir(exist_ok=True)
        shutil.copytree(self.dir / "lake", self.dir / "before", symlinks=True)
        self.recloser("load", "spec.yaml", "new.csv", env=TIMES)
        self.new = {part: self.bytes_of(part) for part in PARTS}
        self.after = tree(self.dir / "lake" / "queue")
        self.assertTrue(all(self.old[part] != self.new[part] for part in PARTS))

    def live(self, part):
        return self.dir / "lake/queue" / part / "part.parquet"

    def bytes_of(self, part):
        return sha256(self.live(part)) if self.live(part).exists() else None

    def reset(self):
        """The lake as it was before: hard links between archive and live are kept, as cp -a does."""
        shutil.rmtree(self.dir / "lake")
        subprocess.run(["cp", "-a", self.dir / "before", self.dir / "lake"], check=True)

    def load(self, prefix=(), **env):
        return recloser("load", "spec.yaml", "new.csv", "--threads", "1", cwd=self.dir, env={**TIMES, **env}, command_prefix=prefix)

    # ---- what must hold ----

    def check_whole(self, where, code):
        for part in PARTS:
            allowed = {OK: (self.new[part],), IO: (self.old[part],)}.get(code, (self.old[part], self.new[part]))
            self.assertIn(self.bytes_of(part), allowed, f"{where}, exit {code}: {part} is not what the exit code says")
            if self.live(part).exists():
                self.check_rows(where, part)
        found = [p.name for p in (self.dir / "lake/queue").rglob("*") if p.is_file()]
        self.assertEqual(found, ["part.parquet"] * len([part for part in PARTS if self.live(part).exists()]), where)

    def check_rows(self, where, part):
        old_or_new = ROWS[part]
        if self.duckdb:
            with self.duckdb.connect() as connection:
                rows = connection.execute(f"SELECT count(*), sum(capacity_mw) FROM read_parquet('{self.live(part)}')").fetchone()
            self.assertIn(rows, old_or_new, f"{where}: {part} as DuckDB reads it")
        if self.parquet:
            values = self.parquet.ParquetFile(self.live(part)).read(columns=["capacity_mw"])["capacity_mw"].to_pylist()
            self.assertIn((len(values), sum(values)), old_or_new, f"{where}: {part} as pyarrow reads it")

    def check(self, where, code):
        """What must hold after the program was cut short at `where`, and after the next load."""
        type(self).points += 1
        self.check_whole(where, code)
        again = recloser("load", "spec.yaml", "new.csv", cwd=self.dir, env=TIMES)
        self.assertEqual(again.code, OK, f"{where}: the next load\n{again}")
        self.check_end(where)

    def check_end(self, where):
        self.assertEqual(tree(self.dir / "lake/queue"), self.after, where)
        control = self.dir / "lake/_recloser/queue"
        self.assertEqual(list((control / "staging").iterdir()), [], where)
        archived = {sha256(p) for p in (control / "archive").rglob("*") if p.is_file()}
        for part in PARTS:
            self.assertLessEqual({self.old[part], self.new[part]} - {None}, archived, f"{where}: {part}")
        verified = recloser("verify", "spec.yaml", cwd=self.dir)
        self.assertEqual(verified.code, OK, f"{where}\n{verified}")

    # ---- the points ----

    def sweep(self, inject, ended, most):
        """`inject(n)` gives a command prefix and an environment; `ended(run)` tells that call n was never reached."""
        numbers = iter(range(1, 100000)) if FULL else iter(self.spread(inject, ended, most))
        for n in numbers:
            self.reset()
            prefix, env, where = inject(n)
            done = self.load(prefix, **env)
            if ended(done):
                return
            self.check(where, done.code)

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
