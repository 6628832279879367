# SPDX-License-Identifier: Apache-2.0
"""Progress: one rewritten line on a terminal, whole lines elsewhere, nothing with --quiet; rows, bytes, time left."""
import os
import pty
import re
import subprocess

from loading import Loading
from support import FULL, PROGRAM, main

ROWS = 4_000_000 if FULL else 1_500_000


class Progress(Loading):
    def setUp(self):
        super().setUp()
        with open(self.dir / "many.csv", "w") as file:
            file.write("queue_id,state,month,capacity_mw,published_at,lon,lat\n")
            file.writelines(f"Q{i},TX,2026-07,{i % 500},2026-07-02,-97.5,31.5\n" for i in range(ROWS))
        self.queue_spec()

    def on_a_terminal(self, *words):
        terminal, end = pty.openpty()
        with open(self.dir / "out", "w") as out:
            child = subprocess.Popen([str(PROGRAM), *words], cwd=self.dir, stdout=out, stderr=end, env={**os.environ, "TERM": "xterm"})
        os.close(end)
        said = b""
        while True:
            try:
                block = os.read(terminal, 65536)
            except OSError:
                break
            if not block:
                break
            said += block
        os.close(terminal)
        self.assertEqual(child.wait(), 0, said)
        return said.decode()

    def test_terminal(self):
        said = self.on_a_terminal("load", "--threads", "1", "spec.yaml", "many.csv")
        if not said:
            self.skipTest("this machine loads it within the first second, in which nothing is said")
        self.assertNotIn("\n", said)
        self.assertTrue(said.startswith("\r") and said.endswith("\r\x1b[K"), said)
        lines = [line.removesuffix("\x1b[K") for line in said.split("\r") if line != "\x1b[K" and line]
        for line in lines:
            self.assertRegex(line, r"^(hash|read|check|stage|commit) .*[0-9] s(, about [0-9]+ (s|min) left)?$")
            self.assertLess(len(line), 80)
        # Before the first rows there is the time alone, on a machine that is busy with other things.
        read = [line for line in lines if line.startswith("read") and not re.fullmatch("read +[0-9]+ s", line)]
        for line in read:
            self.assertRegex(line, r"^read     [0-9,]+ rows  [0-9.]+ of [0-9.]+ MB  [0-9]+ s")
        done = [int(re.search(r"([0-9,]+) rows", line).group(1).replace(",", "")) for line in read]
        self.assertEqual(done, sorted(done))
        self.assertLessEqual(max(done, default=0), ROWS)
        self.assertEqual(self.on_a_terminal("load", "--quiet", "--force", "--threads", "1", "spec.yaml", "many.csv"), "")

    def test_no_terminal(self):
        """Plain lines, none of them before five seconds; --quiet: none at all."""
        said = self.recloser("load", "--threads", 1, "spec.yaml", "many.csv").err
        self.assertNotIn("\r", said)
        self.assertNotIn("\x1b", said)
        for line in said.splitlines():
            self.assertRegex(line, r"^(hash|read|check|stage|verify|commit) .* ([5-9]|[0-9]{2,}) s(, about [0-9]+ (s|min) left)?$")
        self.assertEqual(self.recloser("load", "--quiet", "--force", "spec.yaml", "many.csv").err, "")


main()
