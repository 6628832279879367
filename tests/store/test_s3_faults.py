# SPDX-License-Identifier: Apache-2.0
"""Networks and servers at their worst, by a proxy before the store; and the program killed at each request it makes.

Whatever happened, the next load comes to its end, nothing is lost, and nothing is there twice.
"""
import json
import os
import random
import re
import signal
import subprocess
import time

from lake import FULL, Lake, main
from proxy import ACCESS_DENIED, BUSY_503, DROP_AFTER, DROP_BEFORE, ERROR_500, PASS, SLOW, STALE, TRUNCATE
from support import PROGRAM

NAMES = {ERROR_500: "500", BUSY_503: "503", DROP_BEFORE: "dropped before the server saw it", DROP_AFTER: "dropped after the server acted",
         TRUNCATE: "half a body", SLOW: "slow", STALE: "an old listing"}
CLEAR = {0, 5, 6, 7}


class Killed(Lake):
    def start(self, version):
        environment = {k: v for k, v in {**os.environ, **self.environment}.items() if v is not None}
        return subprocess.Popen([str(PROGRAM), "load", str(self.spec_path), str(self.delivery(version))], cwd=self.dir, env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def killed_at(self, number, after, version):
        """Kill -9 when request `number` comes, before or after the server acts on it. False: there were not so many."""
        hit = []

        def act(request):
            if request.number < number:
                return PASS
            if not hit:
                hit.append(request)
                if not after:
                    process.send_signal(signal.SIGKILL)
                return DROP_AFTER if after else DROP_BEFORE
            if after:
                process.send_signal(signal.SIGKILL)
            return DROP_BEFORE

        self.proxy.reset(act)
        process = self.start(version)
        process.wait(60)
        return bool(hit)

    def everywhere(self, after, first):
        number = 0
        while True:
            number += 1
            self.fresh(f"-{'a' if after else 'b'}{number}")
            if first:
                self.proxy.reset()
                self.load(1)
            story = f"killed {'after' if after else 'before'} request {number}"
            hit = self.killed_at(number, after, 2)
            self.proxy.reset()
            again = self.load(2)
            self.assertIn(again["outcome"], ("loaded", "unchanged"), story)
            self.assert_whole(story=story)
            # The dead run's plan may stay: its PUT may still be on its way.
            self.assertLessEqual(len(self.plans()), 1, story)
            other = self.load(3)
            self.assertEqual(other["outcome"], "loaded", story)
            self.assert_whole(story=story)
            self.assertEqual(len(self.records()), 3 if first else 2, story)
            if not hit:
                self.assertGreater(number, 10)
                print(f"killed {'after' if after else 'before'} each of {number - 1} requests", flush=True)
                return

    def test_before_each_request(self):
        self.everywhere(after=False, first=True)

    def test_after_each_request(self):
        self.everywhere(after=True, first=True)

    def test_first_load(self):
        self.load(9)  # the probe of this store is another test's
        self.everywhere(after=True, first=False)


class Faults(Lake):
    def gone_from_the_put_on(self):
        """The store makes a version live, and nobody hears of it or anything else."""
        gone = []

        def act(request):
            if request.live_put:
                gone.append(request)
            return DROP_AFTER if gone else PASS

        self.proxy.reset(act)

    def each_request(self, action):
        self.load(0)
        number = 0
        while True:
            number += 1
            self.fresh(f"-{action}-{number}")
            self.proxy.reset()
            self.load(1)
            hit = self.at_request(number, lambda request: action)
            story = f"{NAMES[action]} at request {number}"
            done = self.call_json("load", self.spec_path, self.delivery(2), code=0)
            self.assertEqual(done["outcome"], "loaded", story)
            self.assert_whole(story=story)
            self.assertEqual(len(self.records()), 2, story)
            if not hit:
                return

    def test_500(self):
        self.each_request(ERROR_500)

    def test_503(self):
        self.each_request(BUSY_503)

    def test_dropped_before(self):
        self.each_request(DROP_BEFORE)

    def test_dropped_after(self):
        self.each_request(DROP_AFTER)

    def test_half_a_body(self):
        self.each_request(TRUNCATE)

    def test_first_load_loses_its_connection(self):
        """The first conditional put of a dataset, after the silence of staging: sent again once it is sure that it did not act."""
        for action in (DROP_BEFORE, DROP_AFTER):
            self.fresh(f"-{action}")
            hit = []

            def act(request):
                if request.method == "PUT" and request.target.endswith("/dataset.json") and not hit:
                    hit.append(request)
                    return action
                return PASS

            self.proxy.reset(act)
            self.assertEqual(self.load(1)["outcome"], "loaded")
            self.assertTrue(hit)
            self.assert_whole()

    def test_slow(self):
        self.load(1)
        self.proxy.reset(lambda request: SLOW)
        self.load(2)
        self.assert_whole()

    def test_old_listings(self):
        """Once seen, a listing stays as it was for ever."""
        self.load(1)
        self.proxy.reset(lambda request: STALE if "list-type=2" in request.target else PASS)
        for version in (2, 3, 4, 2):
            self.remove("_recloser/queue/known.json")
            self.load(version, code=4 if version == 2 and len(self.records()) > 2 else 0)
            self.assert_whole()
        self.assertEqual(len(self.records()), 4)

    def test_listing_that_breaks_off(self):
        """More is promised, and no word of where it begins: not taken for all there is."""
        self.load(1)
        before = self.objects()
        shorter, word = (lambda head: re.sub(rb"(?im)^(content-length:[ \t]*)(\d+)", lambda m: m[1] + b"%d" % (int(m[2]) - 1), head),
                        b"<IsTruncated>true<")
        self.proxy.reset(lambda request: (lambda head, body: (shorter(head), body.replace(b"<IsTruncated>false<", word)))
                         if "list-type=2" in request.target else PASS)
        done = self.call("load", self.spec_path, self.delivery(2), code=6)
        self.assertIn("no list that can be read", done.err)
        self.assertEqual(self.objects(), before)

    def test_no_etag(self):
        """Nothing is replaced on the condition of nothing."""
        self.load(1)
        before = self.objects("queue")
        self.proxy.reset(lambda request: (lambda head, body: (re.sub(rb"(?im)^etag:[^\r\n]*\r\n", b"", head), body))
                         if request.target.endswith("/part.parquet") else PASS)
        done = self.call("load", self.spec_path, self.delivery(2), code=6)
        self.assertIn("by an ETag", done.err)
        self.assertEqual(self.objects("queue"), before)
        self.assertFalse([r for r in self.proxy.requests if r.live_put and r.header("if-match") == ""])
        self.proxy.reset()
        self.load(2)
        self.assert_whole()

    def test_live_put_is_refused(self):
        """Plainly: nothing was changed, and nothing is unclear."""
        self.load(1)
        before = self.objects("queue")
        self.proxy.reset(lambda request: ACCESS_DENIED if request.live_put else PASS)
        done = self.call("load", self.spec_path, self.delivery(2), code=6)
        self.assertIn("the store does not allow this", done.err)
        self.assertEqual(self.objects("queue"), before)
        self.proxy.reset()
        self.assertEqual(self.load(2)["partitions"][0]["seq"], 2)
        self.assert_whole()

    def test_pauses_are_as_long_as_told(self):
        self.load(1)
        self.proxy.reset(lambda request: BUSY_503 if request.number <= 2 else PASS)
        begin = time.monotonic()
        self.load(2, env={"GDAL_HTTP_RETRY_DELAY": "0.4"})
        self.assertGreater(time.monotonic() - begin, 0.75 * (0.4 + 0.8))

    def test_plan_of_many_megabytes(self):
        """As of a dead run of thousands of partitions: read all the same."""
        self.load(1)
        self.gone_from_the_put_on()
        self.call("load", self.spec_path, self.delivery(2), code=7)
        self.proxy.reset()
        (run,) = self.plans()
        plan = json.loads((self.root / f"_recloser/queue/runs/{run}.json").read_text())
        self.put(f"_recloser/queue/runs/{run}.json", json.dumps({**plan, "more": "x" * (20 << 20)}).encode())
        done = self.load(2)
        self.assertEqual(done["outcome"], "unchanged")
        self.assertEqual(self.records()[1]["run"], run)
        self.assertTrue(any("cut short" in warning for warning in done["warnings"]), done["warnings"])

    def test_all_mixed(self):
        """Every third request goes wrong somehow; the load may give up, but only with a clear word."""
        self.load(0)
        for seed in range(100 if FULL else 12):
            self.fresh(f"-{seed}")
            self.proxy.reset()
            self.load(1)
            chance = random.Random(seed)
            kinds = [ERROR_500, BUSY_503, DROP_BEFORE, DROP_AFTER, TRUNCATE]
            self.proxy.reset(lambda request, c=chance: c.choice(kinds) if c.random() < 0.33 else PASS)
            done = self.call("load", self.spec_path, self.delivery(2), code=None)
            self.assertIn(done.code, CLEAR, done)
            self.assertTrue(done.code == 0 or done.err.strip(), done)
            self.proxy.reset()
            self.load(2)
            self.assert_whole(story=f"seed {seed}, exit {done.code}")
            self.assertEqual(len(self.records()), 2)

    def test_the_store_goes_away_for_good(self):
        self.load(1)
        self.gone_from_the_put_on()
        done = self.call("load", self.spec_path, self.delivery(2), code=7)
        self.assertIn("run the same load again", done.err)
        self.proxy.reset()
        self.assertEqual(self.load(2)["outcome"], "unchanged")  # it had acted; the plan tells whose it was
        self.assert_whole()
        one, two = self.records()
        self.assertEqual((two["kind"], len(two["sources"])), ("version", 1))


main()
