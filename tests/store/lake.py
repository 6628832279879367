# SPDX-License-Identifier: Apache-2.0
"""What tests of object stores share: a store for the whole file, a bucket prefix for each test, and what must hold."""
import hashlib
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from support import Case, FULL, main  # noqa: E402,F401

from proxy import PASS, Proxy  # noqa: E402
from servers import S3_SERVERS, listed, s3_environment, signed  # noqa: E402

SPEC = """\
dataset: queue
root: {root}
source:
  files: "*.csv"
  csv: {{delimiter: ","}}
publisher: {{column: iso, value: ERCOT}}
key: {{identity: [queue_id]}}
partition: [state, month]
revision: published_at
geometry: {{column: geometry, crs: EPSG:4326, from: {{lon: lon, lat: lat}}}}
columns:
  capacity_mw: {{type: double}}
  published_at: {{type: date}}
"""


def csv(version, states=("TX",), rows=3):
    """A delivery; equal versions give equal bytes."""
    lines = ["queue_id,state,month,capacity_mw,published_at,lon,lat"]
    for state in states:
        for row in range(rows):
            lines.append(f"{state}{row},{state},2026-07,{100 + version}.5,2026-07-{1 + version % 28:02d},-97.5,{30 + row}.25")
    return "\n".join(lines) + "\n"


class Lake(Case):
    """A server and a proxy before it, for all tests of a class; each test has a prefix of its own."""

    @classmethod
    def setUpClass(cls):
        server = S3_SERVERS[os.environ.get("RECLOSER_TEST_STORE", "versitygw")]
        cls.why = server.missing()
        if cls.why:
            return
        cls.place = tempfile.TemporaryDirectory(prefix="recloser-store-")
        cls.gateway = server(cls.place.name)
        cls.proxy = Proxy(cls.gateway.port)
        cls.environment = {**s3_environment(cls.proxy.port), "GDAL_HTTP_MAX_RETRY": "3", "GDAL_HTTP_RETRY_DELAY": "0"}

    @classmethod
    def tearDownClass(cls):
        if not cls.why:
            cls.proxy.stop()
            cls.gateway.stop()
            cls.place.cleanup()

    def setUp(self):
        super().setUp()
        if self.why:
            self.skipTest(self.why)
        self.proxy.reset()
        self.mirrored = {}  # {prefix: {key: ETag}}
        self.prefix = hashlib.sha256(self.id().encode()).hexdigest()[:12]
        self.fresh()

    def fresh(self, suffix=""):
        """Another root, empty."""
        self.place_in = f"{self.prefix}{suffix}"
        self.spec_path = self.spec(SPEC.format(root=f"s3://lake/{self.place_in}") + self.gateway.words, f"spec{suffix}.yaml")

    def call(self, *args, **more):
        more["env"] = {**self.environment, **more.get("env", {})}
        return self.recloser(*args, **more)

    def call_json(self, *args, **more):
        more["env"] = {**self.environment, **more.get("env", {})}
        return self.recloser_json(*args, **more)

    def at_request(self, number, answer):
        """From now on the proxy asks `answer` what to do at request `number`, and lets all others pass. Gives a list that is empty
        as long as there was no such request."""
        hit = []

        def act(request):
            if request.number != number or hit:
                return PASS
            hit.append(request)
            return answer(request)

        self.proxy.reset(act)
        return hit

    def load(self, version, code=0, states=("TX",), **more):
        return self.call_json("load", self.spec_path, self.delivery(version, states), code=code, **more)

    def delivery(self, version, states=("TX",)):
        return self.write(f"v{version}-{len(states)}.csv", csv(version, states))

    # ---- what is stored, looked at behind the server's back where it keeps objects as files, else as it is now

    @property
    def root(self):
        if self.gateway.root:
            return self.gateway.root / self.place_in
        mirror, tokens = self.dir / "mirror" / self.place_in, self.mirrored.setdefault(self.place_in, {})
        now = listed(self.gateway.port, f"{self.place_in}/")
        for key in tokens.keys() - now.keys():
            (self.dir / "mirror" / key).unlink()
        for key in [k for k, token in now.items() if tokens.get(k) != token]:
            status, body = signed("GET", self.gateway.port, key)
            self.assertEqual(status, 200, body)
            path = self.dir / "mirror" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        self.mirrored[self.place_in] = now
        return mirror

    def plans(self):
        """Of runs that have not ended, or died."""
        return [p.stem for p in sorted((self.root / "_recloser/queue/runs").glob("*.json")) if "entries" in json.loads(p.read_text())]

    def grow_ledger(self, partition, count):
        """As if a partition of one version had so many."""
        known = json.loads((self.root / "_recloser/queue/known.json").read_text())
        old = json.loads((self.root / f"_recloser/queue/ledger/{partition}/00000001.json").read_text())
        for seq in range(1, count + 1):
            self.put(f"_recloser/queue/ledger/{partition}/{seq:08d}.json", json.dumps({**old, "seq": seq}).encode())
        known["records"][partition]["seq"] = count
        self.put("_recloser/queue/known.json", json.dumps(known).encode())

    def put(self, name, content):
        """By another program."""
        status, body = signed("PUT", self.gateway.port, f"{self.place_in}/{name}", content)
        self.assertEqual(status, 200, body)

    def remove(self, name):
        status, body = signed("DELETE", self.gateway.port, f"{self.place_in}/{name}")
        self.assertEqual(status, 204, body)

    def objects(self, below=""):
        base = self.root / below
        return {str(p.relative_to(self.root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(base.rglob("*")) if p.is_file()}

    def live(self, partition="state=TX/month=2026-07"):
        return self.root / "queue" / partition / "part.parquet"

    def records(self, partition="state=TX/month=2026-07"):
        found = sorted((self.root / "_recloser/queue/ledger" / partition).glob("*.json"))
        self.assertEqual([p.name for p in found], [f"{n:08d}.json" for n in range(1, len(found) + 1)], "the ledger has a gap")
        return [json.loads(p.read_text()) for p in found]

    def assert_whole(self, partitions=("state=TX/month=2026-07",), story=""):
        """The newest record describes what is live; every version is live or archived; nothing else is in the tree."""
        archive = set(self.objects("_recloser/queue/archive").values())
        for partition in partitions:
            records, live = self.records(partition), hashlib.sha256(self.live(partition).read_bytes()).hexdigest()
            self.assertEqual(records[-1]["file"]["sha256"], live, f"{story}: the ledger does not describe {partition}")
            for record in records:
                self.assertTrue(record["file"]["sha256"] in archive | {live}, f"{story}: seq {record['seq']} is lost")
            for one, other in zip(records, records[1:]):
                self.assertNotEqual(one["file"]["sha256"], other["file"]["sha256"], f"{story}: a version is there twice")
                self.assertLessEqual(one["loaded_at"], other["loaded_at"])
        for name in self.objects("queue"):
            self.assertTrue(name.endswith("/part.parquet"), f"{story}: {name} is in the tree")
