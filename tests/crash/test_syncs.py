# SPDX-License-Identifier: Apache-2.0
"""How often a run syncs: the same for 1 and for 612 partitions, where the file system has a syncfs that reports (protocol.md)."""
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from sweep import SPEC  # noqa: E402
from support import Case, main  # noqa: E402

SYNCS = ("fsync", "fdatasync", "syncfs", "sync", "sync_file_range", "msync")


class Syncs(Case):
    def setUp(self):
        if not shutil.which("strace"):
            self.skipTest("strace is not here")
        super().setUp()

    def counted(self, place, partitions, factor):
        """Calls by name and folder of a load that writes so many partitions."""
        self.spec(SPEC, f"{place}/spec.yaml")
        self.write(f"{place}/{factor}.csv", "queue_id,state,capacity_mw\n" + "".join(f"Q{i},S{i:03},{i + factor}\n" for i in range(partitions)))
        log = self.dir / "strace.log"
        prefix = ["strace", "-f", "-qq", "-y", "-s", "0", "-o", log, "-e", f"trace={','.join(SYNCS)}"]
        done = self.recloser_json("load", "spec.yaml", f"{factor}.csv", cwd=self.dir / place, command_prefix=prefix,
                                  env={"ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual(len(done["partitions"]), partitions)
        self.assertEqual(done["rows_written"], partitions)
        found = {}
        for call, path in re.findall(r"(\w+)\(\d+<([^>]*)>", log.read_text()):
            folder = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]+", "RUN", path.split("/_recloser/queue")[-1].lstrip("/"))
            found[call, folder] = found.get((call, folder), 0) + 1
        return found

    def test_one_and_many(self):
        for factor, kind in (1, "first"), (2, "second"):
            one, many = self.counted("one", 1, factor), self.counted("many", 612, factor)
            if not any(call == "syncfs" for call, _ in one):
                self.skipTest("no syncfs that reports here: every file is synced by itself")
            print(f"{kind} load: {sum(one.values())} syncs for 1 partition, {sum(many.values())} for 612", file=sys.stderr)
            with self.subTest(load=kind):
                self.assertEqual(many, one)
                # SYNC1 and SYNC3 of all that a run wrote, SYNC2 of the decision; the rest are its report and its caches.
                self.assertEqual(many["syncfs", "staging/RUN"], 2)
                self.assertEqual(many["fsync", "commits"], 1)


main()
