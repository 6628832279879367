# SPDX-License-Identifier: Apache-2.0
"""Loading into S3: what works on disk works in a bucket, and costs what it should."""
import hashlib
import json
import re
import shutil

from lake import Lake, main
from servers import KEY

# Requests, of a run that writes and of each partition it touches (docs/object-stores.md).
RUN, REPLACED, NEW, UNCHANGED = 5, 5, 3, 1


class Loading(Lake):
    def test_first_again_and_replaced(self):
        first = self.load(1, states=("NM", "TX"))
        self.assertEqual(first["outcome"], "loaded")
        self.assertEqual([p["target"] for p in first["partitions"]],
                         [f"s3://lake/{self.place_in}/queue/state={s}/month=2026-07/part.parquet" for s in ("NM", "TX")])
        before = self.objects()
        again = self.load(1, states=("NM", "TX"))
        self.assertEqual(again["outcome"], "unchanged")
        self.assertEqual(self.objects(), before)
        replaced = self.load(2)
        self.assertEqual([p["outcome"] for p in replaced["partitions"]], ["replaced"])
        self.assertEqual(replaced["partitions"][0]["seq"], 2)
        self.assert_whole(["state=NM/month=2026-07", "state=TX/month=2026-07"])
        self.assertEqual(self.call_json("verify", self.spec_path)["outcome"], "sound")
        status = self.call_json("status", self.spec_path)
        self.assertEqual([(p["partition"], p["seq"], p["live"]) for p in status["partitions"]],
                         [("state=NM/month=2026-07", 1, "sound"), ("state=TX/month=2026-07", 2, "sound")])
        self.assertEqual(self.plans(), [])

    def test_dry_run_writes_no_version(self):
        self.load(1)
        before = self.objects()
        done = self.call_json("load", self.spec_path, self.delivery(2), "--dry-run")
        self.assertEqual(done["outcome"], "dry_run")
        self.assertEqual(self.objects(), before)

    def test_foreign_object_is_adopted(self):
        self.load(1)
        self.load(2)
        archived = next((self.root / "_recloser/queue/archive").rglob("part.parquet.*"))
        self.put("queue/state=TX/month=2026-07/part.parquet", archived.read_bytes())
        done = self.load(3)
        self.assertTrue(any("adopted" in w for w in done["warnings"]), done["warnings"])
        kinds = [r["kind"] for r in self.records()]
        self.assertEqual(kinds, ["version", "version", "adopted", "version"])

    def test_foreign_object_that_is_no_parquet(self):
        self.load(1)
        self.put("queue/state=TX/month=2026-07/part.parquet", b"by hand")
        done = self.load(2)
        self.assertEqual(done["partitions"][0]["outcome"], "replaced")
        self.assertEqual([r["kind"] for r in self.records()], ["version", "adopted", "version"])
        self.assertEqual(self.load(3)["partitions"][0]["seq"], 4)
        self.assertIn(hashlib.sha256(b"by hand").hexdigest(), self.objects("_recloser/queue/archive").values())

    def test_verify_finds_altered_bytes(self):
        self.load(1)
        data = bytearray(self.live().read_bytes())
        data[len(data) // 2] ^= 1
        if self.gateway.root:
            self.live().write_bytes(bytes(data))  # and the server says that nothing has changed
        else:
            self.put("queue/state=TX/month=2026-07/part.parquet", bytes(data))
        self.assertEqual(self.call_json("verify", self.spec_path, code=1)["outcome"], "fault")

    def test_partition_values_with_slash_and_percent(self):
        data = self.write("odd.csv", "queue_id,state,month,capacity_mw,published_at,lon,lat\n"
                                     "1,A/B,50%,1,2026-07-01,-97.5,30.5\n2,a b=c&d+é,2026-07,2,2026-07-01,-97.5,30.5\n")
        self.call_json("load", self.spec_path, data)
        self.assertEqual(self.call_json("load", self.spec_path, data)["outcome"], "unchanged")
        self.assertEqual(self.call_json("verify", self.spec_path)["outcome"], "sound")
        self.assertEqual(sorted(self.objects("queue")),
                         ["queue/state=A%2FB/month=50%25/part.parquet", "queue/state=a%20b%3Dc%26d%2B%C3%A9/month=2026-07/part.parquet"])

    def test_quarantine_is_kept(self):
        data = self.write("bad.csv", "queue_id,state,month,capacity_mw,published_at,lon,lat\n"
                          + "".join(f"{n},TX,2026-07,1,2026-07-01,-97.5,30.5\n" for n in range(200)) + "x,TX,2026-07,TBD,2026-07-01,-97.5,30.5\n")
        done = self.call_json("load", self.spec_path, data)
        self.assertEqual(done["quarantined"], 1)
        self.assertTrue((self.root / "_recloser/queue" / done["quarantine"]).read_bytes().startswith(b"PAR1"))


class Beside(Lake):
    """What a new partition is held against: the columns of others, and the bytes of other names. known.json tells both."""
    SPEC = ('dataset: queue\nroot: s3://lake/{}\nsource: {{files: "*"}}\nkey: {{identity: [id]}}\npartition: [month]\n'
            'columns: {{month: {{name: "_([0-9]{{4}}-[0-9]{{2}})"}}{}}}\n')

    def setUp(self):
        super().setUp()
        self.text = self.spec(self.SPEC.format(self.place_in, "") + self.gateway.words, "text.yaml")
        self.typed = self.spec(self.SPEC.format(self.place_in, ", mw: {type: double}") + self.gateway.words, "typed.yaml")

    def months(self, spec, month, mw, code=0):
        return self.call_json("load", spec, self.write(f"q_{month}.csv", f"id,mw\nA,{mw}\n"), code=code)

    def test_columns(self):
        for forgotten in (False, True):
            with self.subTest(forgotten=forgotten):
                if forgotten:
                    self.remove("_recloser/queue/known.json")
                else:
                    self.months(self.typed, "2026-01", 1)
                before = self.objects("queue")
                error = self.months(self.text, "2026-02", 1, code=3)["error"]
                self.assertEqual(error["what"], "column mw is DOUBLE in the live version of month=2026-01 and VARCHAR in this load")
                self.assertEqual(self.objects("queue"), before)
        self.months(self.typed, "2026-02", 2)
        # Before it refuses for another partition's sake, the store is asked whether that is there.
        for month in ("2026-01", "2026-02"):
            self.remove(f"queue/month={month}/part.parquet")
        self.assertEqual(self.months(self.text, "2026-03", 3)["outcome"], "loaded")

    def test_bytes_that_come_again(self):
        self.months(self.typed, "2026-01", 1)
        self.months(self.typed, "2026-02", 2)
        said = self.months(self.typed, "2026-03", 1)["warnings"]
        self.assertEqual(len(said), 1, said)
        self.assertIn("q_2026-03.csv: these bytes were loaded as month=2026-01 on ", said[0])


class Costs(Lake):
    """Requests, by the server's log: so many a partition that is touched, whatever else is there."""

    def setUp(self):
        super().setUp()
        if not hasattr(self.gateway, "requests"):
            self.skipTest("this server has no log to count in")

    def cost(self, version, states):
        before = len(self.gateway.requests())
        done = self.load(version, states=states)
        after = self.gateway.requests()[before:]
        self.assertEqual(done["store"]["requests"], len(after), after)
        return len(after), after

    def test_constant_counts(self):
        self.load(0, states=("WY",))  # the probe is cached
        for states in (("AA",), ("BA", "BB", "BC", "BD")):
            first, log = self.cost(1, states)
            self.assertEqual(first, RUN + NEW * len(states), log)
        for states in (("AA",), ("BA", "BB", "BC", "BD")):
            replaced, log = self.cost(2, states)
            self.assertEqual(replaced, RUN + REPLACED * len(states), log)
        # One of four has changed: the other three cost one each.
        self.write("v3-4.csv", self.delivery(2, ("BA", "BB", "BC", "BD")).read_text().replace("BB0,BB,2026-07,102.5", "BB0,BB,2026-07,103.5"))
        before = len(self.gateway.requests())
        self.call_json("load", self.spec_path, self.dir / "v3-4.csv")
        log = self.gateway.requests()[before:]
        self.assertEqual(len(log), RUN + 3 * UNCHANGED + REPLACED, log)
        operations = sorted(operation for operation, _ in log)
        # A version: GET, copy, PUT, GET, PUT record; unchanged: HEAD; a run: GET known.json, LIST, PUT plan, PUT report, PUT known.json.
        self.assertEqual({o: operations.count(o) for o in operations},
                         {"ListObjectsV2": 1, "GetObject": 2 + 1, "HeadObject": 3, "CopyObject": 1, "PutObject": 2 + 3})

    def test_never_more_than_promised(self):
        """Replaced 7, first 5, unchanged 2, and 3 a run: for one partition as for many."""
        self.load(0, states=("WY",))
        for count in (1, 2, 7):
            states = [f"S{count}{n}" for n in range(count)]
            for version, most in ((1, 5), (2, 7)):
                cost, log = self.cost(version, states)
                self.assertLessEqual(cost, most * count + 3, log)
            head, *rows = self.delivery(2, states).read_text().splitlines()
            other = self.write("other.csv", "\n".join([head, *reversed(rows), ""]))
            before = len(self.gateway.requests())
            self.assertEqual(self.call_json("load", self.spec_path, other)["outcome"], "unchanged")
            log = self.gateway.requests()[before:]
            self.assertLessEqual(len(log), 2 * count + 3, log)

    def test_ledger_of_more_than_a_page(self):
        """Over a thousand records: nobody lists them; known.json tells what is live, and what is live is listed instead."""
        self.load(1, states=("AA", "AB"))
        self.grow_ledger("state=AB/month=2026-07", 1005)
        first, log = self.cost(2, ("AC",))
        self.assertEqual(first, RUN - 1 + NEW, log)  # compared with nothing, so nothing is listed
        self.proxy.reset()
        replaced, log = self.cost(3, ("AA",))
        self.assertEqual(replaced, RUN + REPLACED, log)
        (listing,) = [r.target for r in self.proxy.requests if "list-type=2" in r.target]
        self.assertTrue(listing.endswith(f"prefix={self.place_in}%2Fqueue%2F"), listing)
        replaced, log = self.cost(4, ("AB",))
        self.assertEqual(replaced, RUN + REPLACED, log)
        self.assertEqual(self.records("state=AB/month=2026-07")[-1]["seq"], 1006)
        self.remove("_recloser/queue/known.json")
        self.load(5, states=("AA", "AB", "AC"))  # asks for each then
        self.assertEqual(self.records("state=AB/month=2026-07")[-1]["seq"], 1007)
        self.assertEqual(len(self.records("state=AA/month=2026-07")), 3)

    def test_unchanged_costs_one(self):
        """Equal rows in another file: each partition is looked at."""
        states = ("AA", "BB", "CC", "DD")
        self.load(0, states=states)
        head, *rows = self.delivery(0, states).read_text().splitlines()
        other = self.write("other.csv", "\n".join([head, *reversed(rows), ""]))
        before = len(self.gateway.requests())
        done = self.call_json("load", self.spec_path, other)
        log = self.gateway.requests()[before:]
        self.assertEqual({p["outcome"] for p in done["partitions"]}, {"unchanged"})
        self.assertEqual(len(log), 4 * UNCHANGED + RUN - 1, log)  # a run without a plan

    def test_skipped_whole_costs_two(self):
        """The same load again: one listing, however many partitions it had made; one that is gone or another's is looked at."""
        for states in (("AA",), tuple(f"S{n:02d}" for n in range(40))):
            self.fresh(f"-{len(states)}")
            self.load(0, states=states)
            before = len(self.gateway.requests())
            done = self.load(0, states=states)
            log = self.gateway.requests()[before:]
            self.assertEqual(done["outcome"], "unchanged")
            self.assertEqual(len(log), 2, log)  # known.json, which has the run; what is live
        seven = self.live("state=S07/month=2026-07").read_bytes()
        key = "queue/state=S07/month=2026-07/part.parquet"
        self.put(key, self.live("state=S08/month=2026-07").read_bytes())
        held = self.load(0, states=states, code=4)
        self.assertEqual([p["partition"] for p in held["partitions"] if p["outcome"] != "unchanged"], ["state=S07/month=2026-07"])
        self.put(key, seven)
        self.remove("queue/state=S09/month=2026-07/part.parquet")
        done = self.load(0, states=states)
        self.assertEqual([p["partition"] for p in done["partitions"] if p["outcome"] == "replaced"], ["state=S09/month=2026-07"])

    def test_known_is_a_cache(self):
        """Lost, cut or of another time: the same outcome, at more requests."""
        self.load(1)
        known = "_recloser/queue/known.json"
        old = (self.root / known).read_bytes()
        self.load(2)
        for bytes_ in (None, b"", b"{", b"[]", b'{"records": 3, "runs": [], "sources": "x", "dataset": 1}', old):
            if bytes_ is None:
                self.remove(known)
            else:
                self.put(known, bytes_)
            before = self.objects("queue")
            self.assertEqual(self.load(2)["outcome"], "unchanged", bytes_)
            self.assertEqual(self.objects("queue"), before)
        self.assertEqual(self.load(3)["partitions"][0]["seq"], 3)
        self.assert_whole()

    def test_grow_with_what_is_touched(self):
        few = [f"S{n:02d}" for n in range(10)]
        many = [f"S{n:02d}" for n in range(100)]
        self.load(1, states=few)
        cost_of_few, _ = self.cost(2, few[:1])
        self.fresh("b")
        self.load(1, states=many)
        cost_of_many, log = self.cost(2, many[:1])
        self.assertEqual(cost_of_few, cost_of_many, log)

    def test_report_counts_bytes(self):
        done = self.load(1)
        size = self.live().stat().st_size
        self.assertGreater(done["store"]["bytes_sent"], size)
        self.assertGreaterEqual(done["store"]["bytes_received"], size)  # read back
        self.assertEqual(done["store"]["retries"], 0)


class Refusals(Lake):
    """One clear line each, and nothing changed."""

    def setUp(self):
        super().setUp()
        if self.gateway.lets_anybody_in:
            self.skipTest("this server looks at no signature")

    def refused(self, words, env=None, spec=None):
        self.load(1)
        before = self.objects()
        done = self.call("load", spec or self.spec_path, self.delivery(2), code=6, env=env or {})
        for word in words:
            self.assertIn(word, done.err)
        self.assertLessEqual(len(done.err.strip().splitlines()), 3, done.err)
        self.assertNotIn("secret", done.err.replace("the secret key is wrong", "").replace("AWS_SECRET", ""))
        self.assertEqual(self.objects(), before)

    def test_wrong_secret(self):
        self.refused(["secret key is wrong", "AWS_SECRET_ACCESS_KEY"], {"AWS_SECRET_ACCESS_KEY": "other"})

    def test_unknown_key(self):
        self.refused(["does not know this access key"], {"AWS_ACCESS_KEY_ID": "nobody"})

    def test_no_credentials(self):
        self.refused(["no credentials for s3"], {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None, "HOME": str(self.dir)})

    def test_missing_bucket(self):
        spec = self.spec(self.spec_path.read_text().replace("s3://lake/", "s3://no-such-lake/"), "other.yaml")
        self.refused(["no such bucket", "no-such-lake"], spec=spec)

    def test_no_network(self):
        self.refused(["can't be reached", "127.0.0.1:1"], {"AWS_S3_ENDPOINT": "127.0.0.1:1", "GDAL_HTTP_MAX_RETRY": "1"})

    def test_no_network_is_found_out_once(self):
        """Tried three times, as was asked for, and then not once more by the next that would need the store."""
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        self.load(1)
        seen = self.dir / "connects"
        env = {"AWS_S3_ENDPOINT": "127.0.0.1:1", "GDAL_HTTP_MAX_RETRY": "2", "GDAL_HTTP_RETRY_DELAY": "0.1"}
        self.call("load", self.spec_path, self.delivery(2), code=6, env=env,
                  command_prefix=["strace", "-f", "-qq", "-o", seen, "-e", "trace=connect"])
        self.assertEqual(seen.read_text().count("sin_port=htons(1)"), 3)

    def test_clock(self):
        self.refused(["clock of this machine is", "behind"], {"RECLOSER_TEST_NOW": "2020-01-01T00:00:00Z"})

    def test_profile(self):
        self.load(1)
        self.write("aws/credentials", f"[default]\naws_access_key_id = x\naws_secret_access_key = x\n[grid]\naws_access_key_id = {KEY}\n"
                                      f"aws_secret_access_key = {self.environment['AWS_SECRET_ACCESS_KEY']}\n")
        env = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None, "AWS_PROFILE": "grid",
               "AWS_SHARED_CREDENTIALS_FILE": str(self.dir / "aws/credentials"), "AWS_CONFIG_FILE": str(self.dir / "none")}
        self.assertEqual(self.load(1, env=env)["outcome"], "unchanged")


main()
