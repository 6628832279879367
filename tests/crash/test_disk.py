# SPDX-License-Identifier: Apache-2.0
"""Disks that are full, read-only, elsewhere, or lie; and readers that look while a partition is replaced."""
import contextlib
import os
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import FULL, Case, main, recloser, sha256, tree  # noqa: E402

SPEC = """\
dataset: queue
root: lake
source: {files: "*.csv"}
key: {identity: [queue_id]}
partition: [state]
disappeared: {policy: allow}
guards: {older: allow}
columns: {capacity_mw: {type: double}}
"""


def rows(count, factor):
    return "queue_id,state,capacity_mw,note\n" + "".join(
        f"Q{i:06},{'TX' if i % 2 else 'NM'},{i * factor},{(i * 2654435761) % 2**32:08x}{(i * 40503) % 2**32:08x}\n" for i in range(count))


class Lake(Case):
    def setUp(self):
        super().setUp()
        self.spec(SPEC)
        self.write("small.csv", rows(20, 1))
        self.write("other.csv", rows(20, 3))

    def live(self):
        return {part: sha256(self.dir / f"lake/queue/{part}/part.parquet") for part in ("state=NM", "state=TX")}

    def mount(self, target, *options):
        target.mkdir(parents=True, exist_ok=True)
        if subprocess.run(["mount", *options, str(target)], capture_output=True).returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(target)], capture_output=True)

    def refused_and_old(self, before, done):
        self.assertEqual(done.code, 6, f"\n{done}")
        self.assertTrue(done.err.strip(), done)
        self.assertEqual(self.live(), before)


class FullDisk(Lake):
    """A file system of 1 MB, with less and less room left: it is full while staging, archiving, writing the plan, the record."""

    def test_one_megabyte(self):
        lake = self.dir / "lake"
        self.mount(lake, "-t", "tmpfs", "-o", "size=1m", "tmpfs")
        self.recloser("load", "spec.yaml", "small.csv")
        self.write("big.csv", rows(60000, 2))
        before = self.live()
        done = self.recloser("load", "spec.yaml", "big.csv", code=6)
        self.assertIn("space", done.err)
        self.refused_and_old(before, done)
        self.assertEqual(list((lake / "_recloser/queue/staging").iterdir()), [])

        failed = 0
        free = os.statvfs(lake).f_bavail * os.statvfs(lake).f_frsize
        for left in range(0, min(free, 120_000), 2048 if FULL else 6144):
            filler = lake / "_recloser" / "filler"
            filler.write_bytes(b"x" * max(0, free - left))
            done = recloser("load", "spec.yaml", "other.csv", cwd=self.dir)
            filler.unlink()
            if done.code == 0:
                break
            self.assertIn(done.code, (6, 7), f"{left} bytes left\n{done}")
            failed += 1
            if done.code == 6:
                self.assertEqual(self.live(), before, f"{left} bytes left\n{done}")
        self.assertGreater(failed, 3)
        self.recloser("load", "spec.yaml", "other.csv")
        self.assertNotEqual(self.live(), before)
        self.recloser("verify", "spec.yaml")


class Elsewhere(Lake):
    def test_another_mount_below_a_partition(self):
        self.recloser("load", "spec.yaml", "small.csv")
        before = self.live()
        target = self.dir / "lake/queue/state=TX"
        self.mount(target, "-t", "tmpfs", "tmpfs")
        subprocess.run(["cp", str(next((self.dir / "lake/_recloser/queue/archive").rglob("state=TX/*"))), str(target / "part.parquet")], check=True)
        self.refused_and_old(before, recloser("load", "spec.yaml", "other.csv", cwd=self.dir))

    def test_a_bind_mount_below_a_partition(self):
        self.recloser("load", "spec.yaml", "small.csv")
        before = self.live()
        target = self.dir / "lake/queue/state=TX"
        self.mount(target, "--bind", str(target))
        self.refused_and_old(before, recloser("load", "spec.yaml", "other.csv", cwd=self.dir))

    def test_read_only(self):
        self.recloser("load", "spec.yaml", "small.csv")
        before = self.live()
        lake = self.dir / "lake"
        self.mount(lake, "--bind", str(lake))
        if subprocess.run(["mount", "-o", "remount,ro,bind", str(lake)], capture_output=True).returncode != 0:
            self.skipTest("remounting is not allowed here")
        done = self.recloser("load", "spec.yaml", "other.csv", code=6)
        self.assertIn("ead-only", done.err)
        self.assertEqual(self.live(), before)
        self.recloser("verify", "spec.yaml")

    def test_limit_on_the_size_of_files(self):
        self.recloser("load", "spec.yaml", "small.csv")
        before = self.live()
        self.write("big.csv", rows(60000, 2))
        done = recloser("load", "spec.yaml", "big.csv", cwd=self.dir, command_prefix=["sh", "-c", 'trap "" XFSZ; ulimit -f 64; exec "$@"', "sh"])
        self.refused_and_old(before, done)
        self.recloser("load", "spec.yaml", "big.csv")


class Liar(Lake):
    def test_rename_that_took_place_and_failed(self):
        shim = os.environ.get("RECLOSER_LYING_RENAME")
        if not shim or not pathlib.Path(shim).exists():
            self.skipTest("RECLOSER_LYING_RENAME does not name the preload library that ctest builds")
        self.recloser("load", "spec.yaml", "small.csv")
        self.recloser("load", "spec.yaml", "other.csv", env={"LD_PRELOAD": shim})
        self.assertEqual(self.recloser_json("load", "spec.yaml", "other.csv")["outcome"], "unchanged")
        self.recloser("verify", "spec.yaml")


class Readers(Lake):
    def test_reader_during_replaces(self):
        """A reader that opens the partition in a loop has whole old or whole new bytes, every time."""
        rounds = 1000 if FULL else 40
        self.recloser("load", "spec.yaml", "small.csv")
        first = sha256(self.dir / "lake/queue/state=TX/part.parquet")
        self.recloser("load", "spec.yaml", "other.csv")
        known = {first, sha256(self.dir / "lake/queue/state=TX/part.parquet")}
        totals = {sum(i * factor for i in range(1, 20, 2)) for factor in (1, 3)}
        self.assertEqual(len(known), 2)
        stop, faults, seen = threading.Event(), [], {}

        def read_bytes():
            while not stop.is_set():
                digest = sha256(self.dir / "lake/queue/state=TX/part.parquet")
                seen[digest] = seen.get(digest, 0) + 1
                if digest not in known:
                    faults.append(digest)

        def read_rows(parquet):
            while not stop.is_set():
                try:
                    with open(self.dir / "lake/queue/state=TX/part.parquet", "rb") as file:
                        table = parquet.read_table(file, columns=["capacity_mw"])
                    total = sum(table["capacity_mw"].to_pylist())
                    if total not in totals:
                        faults.append(total)
                except Exception as why:
                    faults.append(repr(why))

        readers = [threading.Thread(target=read_bytes)]
        with contextlib.suppress(ImportError):
            import pyarrow.parquet
            readers.append(threading.Thread(target=read_rows, args=(pyarrow.parquet,)))
        for reader in readers:
            reader.start()
        try:
            for i in range(rounds):
                self.recloser("load", "spec.yaml", "small.csv" if i % 2 == 0 else "other.csv", "--force")
        finally:
            stop.set()
            for reader in readers:
                reader.join()
        self.assertEqual(faults, [])
        self.assertEqual(set(seen), known)
        print(f"{rounds} replaces, {sum(seen.values())} reads", file=sys.stderr)


main()
