# SPDX-License-Identifier: Apache-2.0
"""The memory budget holds for every command: a partition larger than --memory loads, verifies, compares and comes back, gives
the same bytes as with plenty, and the process stays within the budget plus what lies beside the engine's pool.

Beside the pool lie the program and its libraries and buffers of the encoder and the reader (docs/performance.md); nothing of
it grows with the rows. A CSV is mapped, and its pages count as resident although the kernel may take them back at any time:
hence Parquet here.
"""
import os
import re
import subprocess
import sys

from loading import Loading
from support import FULL, PROGRAM, main, sha256

ROWS = 3_000_000 if FULL else 1_000_000
BUDGET_MB, BESIDE_MB, BESIDE_WIDE_MB = 300, 200, 300
PARTITION = "state=TX/month=2026-07"
LANES = 6  # text of as many columns, which no encoding makes small: some 250 bytes a row


class Memory(Loading):
    def measured(self, *words, code=0):
        """Peak resident MB of one call."""
        with open(self.dir / "said", "wb") as out:
            child = subprocess.Popen([str(PROGRAM), *map(str, words)], cwd=self.dir, stdout=out, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, code, (self.dir / "said").read_bytes()[-2000:].decode("utf-8", "replace"))
        return usage.ru_maxrss / 1024

    def made(self, name, select, options=""):
        """A Parquet file from SQL. In a process of its own: a child begins with the peak of the process that it was forked from."""
        self.need("duckdb")
        made = (f"import duckdb; duckdb.connect(config={{'memory_limit': '500MB', 'temp_directory': {str(self.dir / 'made')!r}}})"
                f".execute({f'COPY ({select}) TO {chr(39)}{self.dir / name}{chr(39)} (FORMAT parquet{options})'!r})")
        subprocess.run([sys.executable, "-c", made], check=True)
        return self.dir / name

    def input(self, name, more=0):
        texts = ", ".join(f"md5(CAST(i * {LANES} + {k} AS VARCHAR)) AS text_{k}" for k in range(LANES))
        # Every hundredth row was published again: what is taken out lies all over the batch.
        row = lambda published, step: f"""SELECT 'Q' || ((i * 1000003) % {ROWS}) AS queue_id, 'TX' AS state, '2026-07' AS month, CAST(i % 500 + {more} AS DOUBLE) AS capacity_mw,
            TIMESTAMP '{published}' AS published_at, -97.5 AS lon, 31.5 AS lat, {texts} FROM range(0, {ROWS}, {step}) t(i)"""
        return self.made(name, f"{row('2026-07-02', 1)} UNION ALL {row('2026-07-03', 100)}")

    def test_larger_than_memory(self):
        allowed = BUDGET_MB + BESIDE_MB
        first, second = self.input("first.parquet"), self.input("second.parquet", more=1)
        digests, peaks = [], {}
        for root, budget in (("little", f"{BUDGET_MB}MB"), ("plenty", "4GB")):
            self.lake = root
            spec = self.queue_spec(name=f"{root}.yaml", root=root, source='{files: "*"}')
            options = ("--memory", budget, "--threads", 2)
            peaks[root] = {
                "first load": self.measured("load", "--quiet", *options, spec, first),
                "next edition": self.measured("load", "--quiet", *options, spec, second),
                "verify": self.measured("verify", "--quiet", *options, spec),
                "diff": self.measured("diff", *options, spec, PARTITION, 1, 2),
            }
            digests.append(sha256(self.live(PARTITION)))
        print(f"budget {BUDGET_MB} MB, allowed {allowed} MB", peaks)
        self.assertEqual(digests[0], digests[1])
        for step, peak in peaks["little"].items():
            self.assertLess(peak, allowed, (step, peaks))
        self.assertGreater(peaks["plenty"]["first load"], allowed, "the input is too small to show anything")
        self.look_back(self.dir / "little.yaml", allowed)

    def wide(self, name, parts, rows, more=0):
        """Rows of 4 kB that no encoding makes small. Of a later edition a third has another text, a third is gone, and some are bad."""
        text = "array_to_string(list_transform(range(128), k -> md5(CAST(i * 128 + k AS VARCHAR))), '')"
        return self.made(name, f"""SELECT 'Q' || i AS queue_id, 'S' || (i % {parts}) AS state, CASE WHEN {more} AND i % 400 = 0 THEN 'TBD' ELSE '1.5' END AS capacity_mw,
            CASE WHEN {more} AND i % 3 = 1 THEN 'x' ELSE '' END || {text} AS w FROM range({parts * rows}) t(i) WHERE NOT ({more} AND i % 3 = 2)""",
            ", ROW_GROUP_SIZE 8192")

    def said_in(self, path):
        """Number and sum of the rows of a Parquet file; in a process of its own, for the same reason."""
        query = f"SELECT count(*), CAST(sum(hash(t)) AS VARCHAR) FROM read_parquet('{path}') t"
        return subprocess.run([sys.executable, "-c", f"import duckdb; print(duckdb.sql({query!r}).fetchone())"], check=True, capture_output=True, text=True).stdout

    def test_wide_rows(self):
        """The engine holds 122,880 rows in each thread that sorts, whatever it could spill, and all of a join's one side: 500 MB here."""
        allowed, rows = BUDGET_MB + BESIDE_WIDE_MB, 122_880 if FULL else 61_440
        for parts in (2, 6):
            first, second = self.wide("wide1.parquet", parts, rows), self.wide("wide2.parquet", parts, rows, more=1)
            found, lists = [], []
            for root, budget in ((f"little{parts}", f"{BUDGET_MB}MB"), (f"plenty{parts}", "6GB")):
                self.lake = root
                spec = self.queue_spec({"capacity_mw": "{type: double}"}, name=f"{root}.yaml", root=root, partition="[state]", revision=None, geometry=None,
                                       source='{files: "*"}', quarantine="{max: 1%}", disappeared="{policy: warn}")
                options = ("--memory", budget, "--threads", 2)
                changes = self.dir / f"{root}.pq"
                steps = {
                    "first load": ("load", "--quiet", *options, spec, first),
                    "next edition": ("load", "--quiet", "--accept", "disappeared", "--accept", "totals", *options, spec, second),
                    "verify": ("verify", "--quiet", *options, spec),
                    "all changes": ("diff", *options, "--output", changes, spec, "state=S1", 1, 2),
                    "doctor": ("doctor", *options, spec),
                }
                for step, words in steps.items():
                    peak = self.measured(*words)
                    print(f"{root}, {step}: {peak:.0f} MB")
                    if budget != "6GB":
                        self.assertLess(peak, allowed, step)
                found.append([sha256(self.live(f"state=S{i}")) for i in range(parts)])
                report = self.recloser_json("history", spec, "state=S1")
                lists.append([*report["versions"][0]["changed"], *map(self.said_in, (changes, *self.control.glob("quarantine/*.pq"), *self.control.glob("disappeared/*.pq")))])
            self.assertEqual(found[0], found[1])
            self.assertEqual(lists[0], lists[1])
            self.assertEqual([lists[0][0], len(lists[0]), len(set(lists[0]))], ["w", 4, 4])

    def test_wide_lists(self):
        """Lists can't stand aside: the error says what is held and what is needed, and that is enough."""
        path = self.made("lists.parquet", "SELECT 'Q' || i AS queue_id, list_transform(range(400), k -> CAST(hash(i * 400 + k) AS DOUBLE)) AS v FROM range(122_880) t(i)",
                         ", ROW_GROUP_SIZE 8192")
        spec = self.queue_spec({}, partition="[]", revision=None, geometry=None)
        self.measured("load", "--quiet", "--memory", "300MB", spec, path, code=6)
        said = (self.dir / "said").read_text()
        self.assertRegex(said, r"its rows are wide, 32[0-9]{2} bytes each: the engine holds 122880 of them \(39[0-9] MB\)")
        enough = re.search(r"--memory ([0-9]+MB) --threads 1", said)[1]
        self.measured("load", "--quiet", "--memory", enough, "--threads", 1, spec, path)

    def look_back(self, spec, allowed):
        """Every other command on the two versions that are there."""
        options = ("--memory", f"{BUDGET_MB}MB", "--threads", 2)
        copied = self.made("copied.parquet", f"SELECT * FROM read_parquet('{self.live(PARTITION)}', hive_partitioning=false)", ", COMPRESSION snappy")
        steps = {  # those without an engine take no budget and must do with less than any
            "status": ("status", spec),
            "history": ("history", spec, PARTITION),
            "all changes": ("diff", *options, "--output", self.dir / "changes.pq", spec, PARTITION, 1, 2),
            "as-of": ("as-of", "--copy", self.dir / "copy", spec, "2100-01-01"),
            "why": ("why", *options, "--spec", spec, copied),
            "doctor": ("doctor", *options, spec),
            "restore": ("restore", spec, PARTITION, 1),
            "verify after it": ("verify", "--quiet", *options, spec),
            "prune": ("prune", "--keep", 1, "--yes", spec),
        }
        for step, words in steps.items():
            peak = self.measured(*words)
            print(f"{step}: {peak:.0f} MB")
            self.assertLess(peak, allowed, step)


main()
