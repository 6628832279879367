# SPDX-License-Identifier: Apache-2.0
"""The memory budget holds: a partition larger than --memory loads, verifies and compares, gives the same bytes as with plenty,
and the process stays within the budget plus what lies beside the engine's pool.

Beside the pool lie the program and its libraries, buffers of the encoder and the reader, and 16 bytes a row for the keys of
the partition that is checked (docs/performance.md). A CSV is mapped, and its pages count as resident although the kernel
may take them back at any time: hence Parquet here.
"""
import os
import subprocess

from loading import Loading
from support import FULL, PROGRAM, main, sha256

ROWS = 3_000_000 if FULL else 1_000_000
BUDGET_MB = 300
BESIDE_MB, KEY_BYTES = 200, 2 * 16  # digests of the keys, in a list that grows by doubling
PARTITION = "state=TX/month=2026-07"
LANES = 6  # text of as many columns, which no encoding makes small: some 250 bytes a row


class Memory(Loading):
    def measured(self, *words):
        """Peak resident MB of one call."""
        with open(self.dir / "said", "wb") as out:
            child = subprocess.Popen([str(PROGRAM), *map(str, words)], cwd=self.dir, stdout=out, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0, (self.dir / "said").read_text())
        return usage.ru_maxrss / 1024

    def input(self, name, more=0):
        duckdb = self.need("duckdb")
        texts = ", ".join(f"md5(CAST(i * {LANES} + {k} AS VARCHAR)) AS text_{k}" for k in range(LANES))
        engine = duckdb.connect(config={"memory_limit": "500MB", "temp_directory": str(self.dir / "made")})
        engine.execute(f"""COPY (SELECT 'Q' || ((i * 1000003) % {ROWS}) AS queue_id, 'TX' AS state, '2026-07' AS month, CAST(i % 500 + {more} AS DOUBLE) AS capacity_mw,
            TIMESTAMP '2026-07-02' AS published_at, -97.5 AS lon, 31.5 AS lat, {texts} FROM range({ROWS}) t(i)) TO '{self.dir / name}' (FORMAT parquet)""")
        return self.dir / name

    def test_larger_than_memory(self):
        allowed = BUDGET_MB + BESIDE_MB + ROWS * KEY_BYTES / 1e6
        first, second = self.input("first.parquet"), self.input("second.parquet", more=1)
        digests, peaks = [], {}
        for root, budget in (("little", f"{BUDGET_MB}MB"), ("plenty", "4GB")):
            self.lake = root
            spec = self.queue_spec(name=f"{root}.yaml", root=root, source='{files: "*"}')
            options = ("--quiet", "--memory", budget, "--threads", 2)
            peaks[root] = {
                "first load": self.measured("load", *options, spec, first),
                "next edition": self.measured("load", *options, spec, second),
                "verify": self.measured("verify", *options, spec),
                "diff": self.measured("diff", "--memory", budget, spec, PARTITION, 1, 2),
            }
            digests.append(sha256(self.live(PARTITION)))
        print(f"budget {BUDGET_MB} MB, allowed {allowed:.0f} MB", peaks)
        self.assertEqual(digests[0], digests[1])
        for step, peak in peaks["little"].items():
            self.assertLess(peak, allowed, (step, peaks))
        self.assertGreater(peaks["plenty"]["first load"], allowed, "the input is too small to show anything")


main()
