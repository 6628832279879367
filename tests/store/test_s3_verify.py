# SPDX-License-Identifier: Apache-2.0
"""verify in a bucket: the archive as on disk, replaces beside it, and what it fetches."""
import os
import pathlib
import signal
import subprocess

from lake import Lake, main
from proxy import DROP_BEFORE, PASS
from servers import s3_environment
from support import FAULT, PROGRAM

TX = "state=TX/month=2026-07"


class Verify(Lake):
    def faults(self, *more):
        report = self.call_json("verify", self.spec_path, *more, code=FAULT)
        return {p["partition"]: p["faults"] for p in report["partitions"] if p["faults"]}

    def archived(self, seq):
        (name,) = [n for n in self.objects("_recloser/queue/archive") if f"part.parquet.{seq:08d}." in n]
        return name

    def test_archive_that_is_missing_or_damaged(self):
        self.load(1, states=("NM", "TX"))
        self.load(2)
        self.load(3)
        report = self.call_json("verify", self.spec_path, "--archive")
        self.assertEqual((report["faults"], report["archived"]), (0, 2))
        first = self.archived(1)
        whole = (self.root / first).read_bytes()
        self.remove(first)
        (fault,) = self.faults()[TX]
        self.assertIn("archived file of seq 1 is missing", fault)
        self.assertIn("part.parquet.00000001.", fault)
        self.call("verify", self.spec_path, "--quick")  # which looks at what is live
        self.call("verify", self.spec_path, "state=NM/month=2026-07")
        self.put(first, whole[:-1])
        self.assertEqual(list(self.faults()), [TX])
        self.put(first, whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
        self.call("verify", self.spec_path)
        (fault,) = self.faults("--archive")[TX]
        self.assertIn("archived file of seq 1 has SHA-256", fault)
        self.assertIn(first, fault)
        self.put(first, whole)
        self.call("verify", self.spec_path, "--archive")

    def test_pruned_is_not_missing(self):
        self.load(1)
        self.load(2)
        self.call("prune", self.spec_path, "--keep", "1", "--yes")
        self.assertEqual(self.call_json("verify", self.spec_path, "--archive")["archived"], 0)

    def test_store_that_stops_answering_is_no_fault(self):
        self.load(1)
        self.load(2)
        name = self.archived(1)
        self.proxy.reset(lambda request: 3 if request.method == "GET" and name.rsplit("/", 1)[1] in request.target else PASS)
        done = self.call("verify", self.spec_path, "--archive", code=6)
        self.assertIn("gave no answer", done.err)

    def test_replaced_while_it_is_read(self):
        """At each request of verify another load replaces the version it looks at: no fault, whichever of the two it reads."""
        number, straight = 0, s3_environment(self.gateway.port)
        while True:
            number += 1
            self.fresh(f"-{number}")
            self.proxy.reset()
            self.load(1)

            def replace(request):
                self.recloser_json("load", self.spec_path, self.delivery(2), env={**self.environment, **straight})
                return PASS

            hit = self.at_request(number, replace)
            done = self.call_json("verify", self.spec_path, "--archive", code=None)
            self.assertEqual(done["outcome"], "sound", f"replaced at request {number}: {done}")
            if not hit:
                self.assertGreater(number, 3)
                return

    def test_doctor_finds_a_key_in_two_partitions(self):
        self.load(1)
        text = self.delivery(1).read_text().replace(",TX,", ",OK,")
        self.call("load", self.spec_path, self.write("moved.csv", text))
        told = self.call_json("doctor", self.spec_path)
        (found,) = [f["what"] for f in told["findings"] if f["area"] == "keys"]
        self.assertIn("3 keys are live in more than one partition", found)
        self.assertIn("in state=OK/month=2026-07 and state=TX/month=2026-07", found)

    def cut_short(self, version, record):
        """Killed between the PUT of the live object and that of its record. What other runs announced is as it was."""
        environment = {k: v for k, v in {**os.environ, **self.environment}.items() if v is not None}

        def act(request):
            if not (request.method == "PUT" and request.target.endswith(record)):
                return PASS
            process.send_signal(signal.SIGKILL)
            return DROP_BEFORE

        self.proxy.reset(act)
        process = subprocess.Popen([str(PROGRAM), "load", str(self.spec_path), str(self.delivery(version))], cwd=self.dir, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.wait(60)
        self.proxy.reset()
        (run,) = self.plans()
        return run

    def test_a_run_that_was_cut_short(self):
        """Readers tell of it, take what it put for its version, and record nothing; a tag records first."""
        self.load(1)
        run = self.cut_short(2, "/00000002.json")
        before = self.objects()
        told = f"run {run} was decided and is not finished"
        status = self.call_json("status", self.spec_path)
        self.assertEqual([(p["seq"], p["live"], p["finished"]) for p in status["partitions"]], [(2, "sound", False)])
        self.assertEqual(status["open_run"], run)
        self.assertIn(told, self.call("verify", self.spec_path).out)
        history = self.call("history", self.spec_path).out
        self.assertIn("live, not finished", history)
        self.assertNotIn("lost", history)
        self.assertIn("live, seq 2 of a run that is not finished", self.call("diff", self.spec_path).out)
        self.assertNotIn("did not write", self.call("doctor", self.spec_path).out)
        self.assertEqual(self.objects(), before, "a reader wrote")
        self.call("tag", self.spec_path, "now")
        self.assertEqual(self.call_json("tag", self.spec_path, "--list")["tags"][0]["versions"][0]["seq"], 2)
        self.assert_whole()

    def test_a_first_run_that_was_cut_short(self):
        run = self.cut_short(1, "/00000001.json")
        self.assertNotIn("did not write", self.call("doctor", self.spec_path).out)
        self.assertIn(f"run {run} was decided and is not finished", self.call("verify", self.spec_path).out)

    def test_fetches_are_not_heaped_up(self):
        """No more than one partition is kept locally at a time."""
        states = [f"S{n:02d}" for n in range(12)]
        self.load(1, states=states)
        self.load(2, states=states)
        place = self.dir / "scratch"
        place.mkdir()
        most = []

        def act(request):
            most.append(len(list(pathlib.Path(place).rglob("*.parquet"))))
            return PASS

        self.proxy.reset(act)
        report = self.call_json("verify", self.spec_path, "--archive", env={"TMPDIR": str(place)})
        self.assertEqual((report["faults"], report["archived"]), (0, 12))
        self.assertLessEqual(max(most), 2)
        self.assertGreater(max(most), 0)
        self.proxy.reset()


main()
