# SPDX-License-Identifier: Apache-2.0
"""Two writers of one partition at once, and a reader of a partition that is being replaced."""
import hashlib
import json
import os
import subprocess
import threading

from lake import FULL, Lake, main
from servers import signed_get
from support import PROGRAM

ROUNDS = 1000 if FULL else 20
REPLACES = 500 if FULL else 20


class Race(Lake):
    def start(self, delivery):
        environment = {k: v for k, v in {**os.environ, **self.environment}.items() if v is not None}
        return subprocess.Popen([str(PROGRAM), "load", "--accept", "older", "--json", str(self.spec_path), str(delivery)], cwd=self.dir,
                                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def setUp(self):
        super().setUp()
        if not self.gateway.one_step:
            self.skipTest("no extended attributes here: the server writes an ETag before its bytes")

    def test_two_writers(self):
        self.load(0)
        self.two_writers()

    def test_two_writers_of_a_large_ledger(self):
        """More than a page of records, so that known.json is taken for a listing."""
        self.load(0, states=("TX", "NM"))
        self.grow_ledger("state=NM/month=2026-07", 1005)
        self.two_writers()

    def two_writers(self):
        before, conflicts = 1, 0
        for turn in range(ROUNDS):
            deliveries = [self.delivery(1 + 2 * turn), self.delivery(2 + 2 * turn)]
            writers = [self.start(d) for d in deliveries]
            results = [(*w.communicate(timeout=120), w.returncode) for w in writers]
            codes = [code for _, _, code in results]
            self.assertTrue(set(codes) <= {0, 5} and 0 in codes, [r[1].decode("utf-8", "replace") for r in results])
            conflicts += 5 in codes
            self.assert_whole(story=f"round {turn}")
            records = self.records()
            self.assertEqual(len(records) - before, codes.count(0), f"round {turn}: {codes}, {json.dumps(records[before - 1:], indent=1)}")
            before = len(records)
            loaded = {r["sources"][0]["name"] for r in records[-codes.count(0):]}
            self.assertEqual(loaded, {d.name for d, code in zip(deliveries, codes) if code == 0})
        self.assertEqual(self.plans(), [])
        print(f"{ROUNDS} rounds, {conflicts} conflicts", flush=True)

    def test_equal_writers(self):
        """Both bring the same: one version, and nobody fails."""
        self.load(0)
        for turn in range(ROUNDS // 4):
            writers = [self.start(self.delivery(turn + 1)) for _ in range(2)]
            results = [(*w.communicate(timeout=120), w.returncode) for w in writers]
            self.assertEqual([code for _, _, code in results], [0, 0], [r[1].decode("utf-8", "replace") for r in results])
            self.assertEqual(len(self.records()), turn + 2)
            self.assert_whole(story=f"round {turn}")

    def test_first_loads_meet(self):
        self.load(0)
        for turn in range(ROUNDS // 4):
            self.fresh(f"-{turn}")
            writers = [self.start(self.delivery(v)) for v in (1, 2)]
            results = [(*w.communicate(timeout=120), w.returncode) for w in writers]
            codes = [code for _, _, code in results]
            self.assertTrue(set(codes) <= {0, 5} and 0 in codes, [r[1].decode("utf-8", "replace") for r in results])
            self.assert_whole(story=f"round {turn}")

    def test_reader_during_replaces(self):
        """Worked case 16, in a loop: whole old or whole new, never an error or a part of one."""
        self.load(1)
        key, stop, seen, faults = f"{self.place_in}/queue/state=TX/month=2026-07/part.parquet", threading.Event(), {}, []

        def read():
            while not stop.is_set():
                status, body = signed_get(self.gateway.port, key)
                digest = hashlib.sha256(body).hexdigest()
                if status != 200:
                    faults.append((status, body[:200]))
                seen[digest] = seen.get(digest, 0) + 1

        reader = threading.Thread(target=read)
        reader.start()
        try:
            for turn in range(REPLACES):
                self.call("load", "--accept", "older", self.spec_path, self.delivery(2 + turn % 2))
        finally:
            stop.set()
            reader.join()
        self.assertEqual(faults, [])
        known = {r["file"]["sha256"] for r in self.records()}
        self.assertTrue(set(seen) <= known, "a reader got bytes that no version has")
        self.assertGreater(sum(seen.values()), REPLACES)
        self.assertEqual(list(self.objects("queue")), ["queue/state=TX/month=2026-07/part.parquet"])


main()
