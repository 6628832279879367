# SPDX-License-Identifier: Apache-2.0
"""Disks that are full, read-only, elsewhere, or lie; and readers that look while a partition is replaced."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from sweep import FULL, SPEC, preload  # noqa: E402
from loading import Loading  # noqa: E402
from support import IO, OK, PROGRAM, UNCLEAR, main, recloser, sha256  # noqa: E402


def rows(count, factor):
    return "queue_id,state,capacity_mw,note\n" + "".join(
        f"Q{i:06},{'TX' if i % 2 else 'NM'},{i * factor},{(i * 2654435761) % 2**32:08x}{(i * 40503) % 2**32:08x}\n" for i in range(count))


TX = "state=TX/month=2026-07"


class Lake(Loading):
    def setUp(self):
        super().setUp()
        self.spec(SPEC + "guards: {older: allow}\n")
        self.write("small.csv", rows(20, 1))
        self.write("other.csv", rows(20, 3))

    def digests(self):
        return {part: sha256(self.live(part)) for part in ("state=NM", "state=TX")}

    def mount(self, target, *options):
        target.mkdir(parents=True, exist_ok=True)
        if subprocess.run(["mount", *options, str(target)], capture_output=True).returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(target)], capture_output=True)

    def unmount(self, target):
        subprocess.run(["umount", "-l", str(target)], check=True)

    def refused_and_old(self, before, done):
        self.assertEqual(done.code, IO, f"\n{done}")
        self.assertTrue(done.err.strip(), done)
        self.assertEqual(self.digests(), before)

    def assert_next_load(self, before, source="other.csv"):
        """The cause is gone: the same load does what it would have done, and nothing is left of the one that failed."""
        self.recloser("load", "spec.yaml", source)
        self.assertTrue(all(before[part] != digest for part, digest in self.digests().items()))
        self.assert_nothing_staged()
        for part in before:
            self.assertIn(before[part], [record["file"]["sha256"] for record in self.ledger(part)])
        self.recloser("verify", "spec.yaml")


class FullDisk(Lake):
    def small_disk(self, *options):
        self.mount(self.dir / "lake", "-t", "tmpfs", "-o", ",".join(("size=1m", *options)), "tmpfs")
        return self.dir / "lake"

    def test_14_disk_full_while_staging(self):
        case = self.shared("cases/14-disk-full-while-staging")
        spec = self.queue_spec(name="queue.yaml", guards="{key_churn: allow}")
        self.mount(self.dir / "lake", "-t", "tmpfs", "-o", "size=160k", "tmpfs")
        self.load(spec, case / "small.csv")
        small = sha256(self.live(TX))
        done = self.recloser("load", spec, case / "big.csv", code=IO)
        self.assertRegex(done.err, "[Nn]o space left|disk is full")
        self.assertEqual(sha256(self.live(TX)), small)
        self.assertEqual(self.table(TX, "count(*)"), [(2,)])
        self.assertEqual(self.partitions(), [TX])
        self.assertEqual([p.name for p in self.live(TX).parent.iterdir()], ["part.parquet"])
        self.assert_nothing_staged()
        self.recloser("verify", spec, "--expect-rows", 2)

    def test_too_large_for_it(self):
        self.small_disk()
        self.recloser("load", "spec.yaml", "small.csv")
        self.write("big.csv", rows(60000, 2))
        before = self.digests()
        done = self.recloser("load", "spec.yaml", "big.csv", code=IO)
        self.assertIn("space", done.err)
        self.refused_and_old(before, done)
        self.assert_nothing_staged()
        self.assert_next_load(before)

    def fill(self, limits, squeeze, release):
        """A load at each of `limits`, until one gets through; the words and files that the errors named."""
        self.recloser("load", "spec.yaml", "small.csv")
        before, named = self.digests(), []
        for limit in limits:
            squeeze(limit)
            done = recloser("load", "spec.yaml", "other.csv", cwd=self.dir)
            release()
            if done.code == OK:
                break
            self.assertIn(done.code, (IO, UNCLEAR), f"{limit} left\n{done}")
            self.assertIn("space", done.err, f"{limit} left\n{done}")
            named.append((done.code, " ".join(re.findall(r"part\b|plan\.json|record\.json|alive|commits|archive|ledger", done.err))))
            if done.code == UNCLEAR:  # decided: finished once there is room, and then the next round begins anew
                self.recloser("recover", "spec.yaml")
                self.assertTrue(all(before[part] != digest for part, digest in self.digests().items()), f"{limit} left\n{done}")
                self.recloser("restore", "spec.yaml", *before, "--seq", 1, code=None)
                self.recloser("load", "spec.yaml", "small.csv", "--force")
            else:
                self.assertEqual(self.digests(), before, f"{limit} left\n{done}")
        print(f"{len(named)} loads met a full disk: {sorted(set(named))}", file=sys.stderr)
        self.assert_next_load(before) if done.code != OK else self.recloser("verify", "spec.yaml")
        return named

    def test_less_and_less_room(self):
        """Bytes run out while part files, records, the plan are written."""
        lake = self.small_disk()
        filler = lake / "_recloser" / "filler"

        def squeeze(left):
            free = os.statvfs(lake).f_bavail * os.statvfs(lake).f_frsize
            filler.write_bytes(b"x" * max(0, free - left))
        named = self.fill(range(0, 120_000, 4096), squeeze, lambda: filler.unlink())
        self.assertGreater(len(named), 3)

    def test_less_and_less_names(self):
        """Names run out, which a link takes as well: while staging, at the decision, in the archive, in the ledger."""
        lake = self.small_disk("nr_inodes=10k")

        def limit(count):
            subprocess.run(["mount", "-o", f"remount,size=1m,nr_inodes={count}", str(lake)], check=True)

        def squeeze(left):
            limit(os.statvfs(lake).f_files - os.statvfs(lake).f_ffree + left)
        named = self.fill(range(1, 60), squeeze, lambda: limit(10000))
        self.assertGreater(len(named), 5)
        self.assertEqual({code for code, _ in named}, {IO, UNCLEAR}, "both before and after the decision")


class Elsewhere(Lake):
    def setUp(self):
        super().setUp()
        self.recloser("load", "spec.yaml", "small.csv")
        self.before = self.digests()

    def test_another_mount_below_a_partition(self):
        target = self.dir / "lake/queue/state=TX"
        self.mount(target, "-t", "tmpfs", "tmpfs")
        shutil.copy(next((self.dir / "lake/_recloser/queue/archive").rglob("state=TX/*")), target / "part.parquet")
        done = recloser("load", "spec.yaml", "other.csv", cwd=self.dir)
        self.refused_and_old(self.before, done)
        self.assertIn("state=TX", done.err)
        self.unmount(target)
        self.assert_next_load(self.before)

    def test_a_bind_mount_below_a_partition(self):
        target = self.dir / "lake/queue/state=TX"
        self.mount(target, "--bind", str(target))
        done = recloser("load", "spec.yaml", "other.csv", cwd=self.dir)
        self.refused_and_old(self.before, done)
        self.assertIn("state=TX", done.err)
        self.unmount(target)
        self.assert_next_load(self.before)

    def test_read_only(self):
        lake = self.dir / "lake"
        self.mount(lake, "--bind", str(lake))
        if subprocess.run(["mount", "-o", "remount,ro,bind", str(lake)], capture_output=True).returncode != 0:
            self.skipTest("remounting is not allowed here")
        done = recloser("load", "spec.yaml", "other.csv", cwd=self.dir)
        self.refused_and_old(self.before, done)
        self.assertIn("ead-only", done.err)
        self.recloser("verify", "spec.yaml")
        self.reads_without_writing(lambda *args: recloser(*args, cwd=self.dir))
        self.unmount(lake)
        self.assert_next_load(self.before)

    def reads_without_writing(self, call):
        """What changes nothing needs no right to write: it works in a scratch directory."""
        before = self.tree("lake")
        ahead = call("load", "spec.yaml", "other.csv", "--dry-run", "--json")
        self.assertEqual((ahead.code, ahead.json["outcome"]), (OK, "dry_run"), ahead)
        self.assertEqual({p["outcome"] for p in ahead.json["partitions"]}, {"replaced"})
        partition = ahead.json["partitions"][0]["partition"]
        difference = call("diff", "spec.yaml", partition, "--file", "other.csv", "--json")
        self.assertEqual(difference.code, OK, difference)
        self.assertGreater(difference.json["changed"] + difference.json["added"] + difference.json["removed"], 0)
        self.assertIn(call("doctor", "spec.yaml").code, (OK,))
        self.assertEqual(self.tree("lake"), before)

    def as_another(self, *args):
        """The program as a user who owns nothing here; a writer who is not root, or root's own kind of nobody."""
        prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        self.dir.chmod(0o755)
        for path in self.dir.glob("*.*"):
            path.chmod(0o644)
        if os.geteuid() != 0 or not shutil.which("setpriv") or recloser("version", command_prefix=prefix, cwd=self.dir).code != OK:
            self.skipTest(f"{PROGRAM} can't be run as another user here")
        return recloser(*args, command_prefix=prefix, cwd=self.dir, env={"HOME": "/nonexistent"})

    def test_directory_of_another_user(self):
        done = self.as_another("load", "spec.yaml", "other.csv")
        self.refused_and_old(self.before, done)
        self.assertIn("ermission denied", done.err)
        self.assertIn("lake", done.err)
        self.assertEqual(self.as_another("verify", "spec.yaml").code, OK, "readers need no right to write")
        self.reads_without_writing(self.as_another)
        self.assert_next_load(self.before)

    def test_partition_of_another_user(self):
        """All but one partition's directory may be written: nothing changes, in the others either."""
        for path in [self.dir / "lake", *(self.dir / "lake").rglob("*")]:
            os.chown(path, 65534, 65534)
        locked = self.dir / "lake/queue/state=TX"
        os.chown(locked, 0, 0)
        done = self.as_another("load", "spec.yaml", "other.csv")
        self.refused_and_old(self.before, done)
        self.assertIn("ermission denied", done.err)
        os.chown(locked, 65534, 65534)
        self.assertEqual(self.as_another("load", "spec.yaml", "other.csv").code, OK)
        self.recloser("verify", "spec.yaml")

    def test_limit_on_the_size_of_files(self):
        self.write("big.csv", rows(60000, 2))
        limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 64; exec "$@"', "sh"]
        self.refused_and_old(self.before, recloser("load", "spec.yaml", "big.csv", cwd=self.dir, command_prefix=limited))
        self.assert_next_load(self.before, "big.csv")

    def test_limit_that_kills(self):
        """Without the trap the limit is a signal, which ends the program in the middle of a write."""
        self.write("big.csv", rows(60000, 2))
        done = recloser("load", "spec.yaml", "big.csv", cwd=self.dir, command_prefix=["sh", "-c", 'ulimit -f 64; exec "$@"', "sh"])
        self.assertNotEqual(done.code, OK)
        self.assertEqual(self.digests(), self.before)
        self.assert_next_load(self.before, "big.csv")


class Liar(Lake):
    def test_18_rename_lies(self):
        """The rename onto part.parquet takes place and reports EIO; test_calls.py does that at every link and rename."""
        shim = preload("RECLOSER_FAILING_CALL")
        if not shim:
            self.skipTest("RECLOSER_FAILING_CALL does not name the preload library that ctest builds")
        case, log = self.shared("cases/18-rename-lies"), self.dir / "fault.log"
        spec = self.queue_spec(name="queue.yaml", guards="{key_churn: allow}")
        self.load(spec, case / "v1.csv")
        report = self.load(spec, case / "v2.csv", env={"LD_PRELOAD": shim, "FAULT_ACTION": "lie", "FAULT_LOG": log,
                                                       "FAULT_CALLS": "rename,renameat,renameat2", "FAULT_PATH": "part.parquet"})
        self.assertIn("part.parquet", log.read_text())
        self.assertEqual(report["rows_written"], 2)
        self.assertEqual(self.table(TX, "count(*)"), [(2,)])
        self.assertEqual(len(self.ledger(TX)), 2)
        self.recloser("verify", spec, "--expect-rows", 2)


main()
