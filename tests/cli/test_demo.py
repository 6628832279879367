# SPDX-License-Identifier: Apache-2.0
"""The demonstration, at a thousandth of its size; in full when long tests are."""
import os
import pty
import subprocess
import threading

from support import FULL, OK, PROGRAM, USAGE, Case, main, sha256

ROWS = 1200000 if FULL else 1200
TOUCHED = ROWS // 12 * 7


def read_until_closed(terminal, blocks):
    try:
        while block := os.read(terminal, 65536):
            blocks.append(block)
    except OSError:  # how a terminal says that its other end is closed
        pass


class Demo(Case):
    def test_figures(self):
        got = self.recloser_json("demo", "--rows", ROWS, "here")
        self.assertEqual((got["outcome"], got["rows"], got["touched"]), ("done", ROWS, TOUCHED))
        self.assertEqual([f["rows"] for f in got["append"]], [ROWS, 2 * ROWS])
        self.assertEqual([f["rows"] for f in got["merge"]], [ROWS, ROWS + TOUCHED])
        self.assertEqual([f["rows"] for f in got["recloser"]], [ROWS, ROWS, ROWS])
        megawatts = got["append"][0]["capacity_mw"]
        self.assertGreater(megawatts, 0)
        self.assertEqual([f["capacity_mw"] for f in got["append"]], [megawatts, 2 * megawatts])
        self.assertEqual([f["capacity_mw"] for f in got["recloser"]], [megawatts] * 3)
        digests = [f["sha256"] for f in got["recloser"]]
        self.assertNotEqual(digests[0], digests[1])
        self.assertEqual(digests[1], digests[2])
        self.assertEqual(sha256(self.dir / "here" / got["recloser"][2]["file"]), digests[2])
        self.assertEqual(got["pruning"], {"files": 612, "files_opened": 1, "rows": 20})
        self.assertEqual(got["revisions"], {"rows_in": 18, "rows_written": 12, "superseded": 5, "collapsed": 1})
        self.assertNotIn("error", got)

    def on_a_terminal(self, *words):
        """stdout and stderr of a run whose stderr is a terminal."""
        terminal, end = pty.openpty()
        blocks = []
        reader = threading.Thread(target=read_until_closed, args=(terminal, blocks))
        with subprocess.Popen([PROGRAM, *words], cwd=self.dir, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                              stderr=end, env={**os.environ, "TERM": "xterm"}) as child:
            os.close(end)
            reader.start()
            out = child.stdout.read()
        reader.join()
        os.close(terminal)
        self.assertEqual(child.returncode, OK)
        return out, b"".join(blocks)

    def test_text_and_again(self):
        first, progress = self.on_a_terminal("demo", "--rows", "1200", "--threads", "2")
        for line in ("after the second           2,400 rows", "after the second           1,900 rows", "1 of 612 files opened",
                     "18 rows in = 12 written + 5 superseded by a later revision + 1 exact duplicate",
                     "Every figure is what it has to be."):
            self.assertIn(line, first)
        # Progress is one line, rewritten, on stderr, and taken away before anything else is said.
        self.assertNotIn("\x1b", first)
        if progress:  # nothing within the first second, which a fast machine may not need
            self.assertTrue(progress.startswith(b"\r"), progress)
            self.assertTrue(progress.endswith(b"\r\x1b[K"), progress)
            self.assertNotIn(b"\n", progress)
            self.assertIn(b"partition", progress)
        self.recloser("verify", "recloser-demo/queue.yaml")
        self.recloser("verify", "recloser-demo/regions.yaml", "--expect-rows", 612 * 20)
        again = self.recloser("demo", "--quiet", "--rows", "1200", "--threads", "1")
        self.assertEqual(again.err, "")
        digests = lambda out: [word for line in out.splitlines() for word in line.split("sha256 ")[1:]]
        self.assertEqual(digests(again.out), digests(first))
        self.assertEqual(len(digests(first)), 9)

    def test_others_files_are_left_alone(self):
        self.write("mine/thesis.txt", "years of work")
        done = self.recloser("demo", "--rows", "1200", "mine", code=USAGE)
        self.assertIn("files that are not of a demonstration", done.err)
        self.assertIn("thesis.txt", done.err)
        self.write("mine/demo.json", "{}")
        self.recloser("demo", "--rows", "1200", "mine", code=USAGE)
        self.assertEqual(self.files("mine"), ["demo.json", "thesis.txt"])

    def test_rows(self):
        for rows in ("1199", "1201", "0012", "99999996"):
            done = self.recloser("demo", "--rows", rows, code=USAGE)
            self.assertIn("a multiple of 12", done.err)
        self.assertFalse((self.dir / "recloser-demo").exists())


main()
