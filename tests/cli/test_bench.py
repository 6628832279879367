# SPDX-License-Identifier: Apache-2.0
"""The measurements run: their small profile once, its ratios in the log. No figure of it can fail."""
import re
import subprocess
import sys

from support import PROGRAM, SOURCE, Case, main


class Bench(Case):
    def test_small_profile(self):
        self.need("duckdb")
        done = subprocess.run([sys.executable, str(SOURCE / "bench" / "run"), str(PROGRAM.parent), "--profile", "small", "--python", sys.executable,
                               "--data", str(self.dir / "data"), "--json", str(self.dir / "figures.json")], capture_output=True, text=True)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)
        for case in ("One partition", "612 partitions", "CSV"):
            self.assertIn(f"### {case}\n", done.stdout)
        row = r"\| %s \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \| [0-9]+ \| [0-9.]+ \| [0-9.]+ \|"
        for name in ("DuckDB script", r"bare COPY \.\.\. ORDER BY", "bare COPY, PARTITION_BY", "bare CSV read into a table"):
            self.assertRegex(done.stdout, row % name)
        self.assertTrue(re.search(r"^- commit ", done.stdout, re.M), done.stdout)
        self.assertTrue((self.dir / "figures.json").exists())


main()
