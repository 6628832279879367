# SPDX-License-Identifier: Apache-2.0
"""What the tests of `load` share: specs from a few words, loads whose numbers must add up, and eyes of another reader.

    class Units(Loading):
        def test_one(self):
            spec = self.queue_spec(key="{identity: [position, unit]}", partition="[state]", revision=None)
            report = self.load(spec, self.shared("cases/52-several-units-per-position/units.csv"))
            self.assertEqual(self.table("state=MA", "unit"), [("Unit A1",), ...])
"""
import json
import os
import pathlib
import shutil

from support import OK, HELD, Case, sha256

# What became of the rows of a load; their sum is rows_in.
FATES = ("rows_written", "rows_unchanged", "superseded", "collapsed", "filtered", "quarantined", "held", "frozen")

QUEUE_COLUMNS = {"published_at": "{type: timestamp}", "capacity_mw": "{type: double}", "lon": "{type: double}", "lat": "{type: double}"}


def spec_text(columns=None, **fields):
    """A spec whose fields are given as YAML; None leaves one out that would be there by default."""
    given = {"dataset": "queue", "root": "lake", "source": '{files: "*"}', "key": "{identity: [queue_id]}", "partition": "[state, month]",
             "revision": "published_at", "geometry": "{crs: EPSG:4326, from: {lon: lon, lat: lat}}", **fields}
    columns = dict(QUEUE_COLUMNS if columns is None else columns)
    if given["revision"] is None:
        columns.pop("published_at", None)
    lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
    if columns:
        lines += ["columns:", *(f"  {name}: {value}" for name, value in columns.items())]
    return "\n".join(lines) + "\n"


class Loading(Case):
    lake = "lake"
    dataset = "queue"

    @property
    def tree_path(self):
        return self.dir / self.lake / self.dataset

    @property
    def control(self):
        return self.dir / self.lake / "_recloser" / self.dataset

    def queue_spec(self, columns=None, name="spec.yaml", **fields):
        return self.spec(spec_text(columns, **fields), name)

    def case(self, name):
        return self.shared(f"cases/{name}")

    # ---- loads ----

    def assert_adds_up(self, report):
        """Nothing is dropped silently: every row that came in is in exactly one of the counts, in all and in each partition."""
        self.assertEqual(report["rows_in"], sum(report[fate] for fate in FATES), {name: report[name] for name in ("rows_in", *FATES)})
        for part in report["partitions"]:
            self.assertEqual(part["rows_in"], part["rows"] + part["superseded"] + part["collapsed"], part)
        written = sum(part["rows_written"] for part in report["partitions"])
        self.assertEqual(report["rows_written"], written, report["partitions"])

    def assert_nothing_staged(self):
        for folder in ("staging", "tmp"):
            left = sorted(str(p.relative_to(self.control)) for p in (self.control / folder).rglob("*"))
            self.assertEqual(left, [], "left behind")

    def load(self, spec, *files, code=OK, **more):
        """The report of a load, after what must hold for every load was looked at."""
        report = self.recloser_json("load", spec, *files, code=code, **more)
        self.assert_adds_up(report)
        self.assert_nothing_staged()
        if code in (OK, HELD):
            self.assertNotIn("error", report)
            for part in report["partitions"]:
                if part["outcome"] in ("new", "replaced", "unchanged") and report["outcome"] != "dry_run":
                    self.assertEqual(sha256(self.live(part["partition"])), part["sha256"], part)
        else:
            self.assertEqual(sorted(report["error"]), ["code", "hint", "what", "where"])
        return report

    def refused(self, spec, *files, code=3, said=(), **more):
        """A load that must change nothing: its error, which must say `said`."""
        before = self.everything()
        report = self.load(spec, *files, code=code, **more)
        self.assertEqual(report["outcome"], "failed" if code in (2, 6) else "refused")
        self.assertEqual((report["rows_written"], report["loaded_at"], report["partitions"]), (0, None, []))
        self.assertEqual(self.everything(), before, "a refused run changed something")
        error = report["error"]
        self.assertTrue(error["what"] and error["hint"], error)
        self.assertTrue(error["where"] or "cannot" in error["what"], error)  # a system call's error names its path in `what`
        text = "\n".join(error[name] or "" for name in ("what", "where", "hint"))
        for words in said:
            self.assertIn(words, text)
        return error

    def everything(self):
        """Every file and folder of the lake with content and mtime (of files)."""
        root = self.dir / self.lake
        found = {}
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            found[name] = (sha256(path), path.stat().st_mtime_ns) if path.is_file() else "folder"
        return found

    # ---- what is stored ----

    def live(self, partition, lake=None):
        return self.dir / (lake or self.lake) / self.dataset / partition / "part.parquet"

    def partitions(self, lake=None):
        root = self.dir / (lake or self.lake) / self.dataset
        return sorted(str(p.parent.relative_to(root)) for p in root.rglob("part.parquet"))

    def query(self, sql):
        connection = self.need("duckdb").connect()
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def table(self, partition, columns="*", order="ALL", lake=None):
        """Rows of one partition as another engine reads them, without what its path says."""
        path = self.live(partition, lake)
        return self.query(f"SELECT {columns} FROM read_parquet('{path}', hive_partitioning=false) ORDER BY {order}")

    def shapes(self, partition, *columns, geometry="geometry"):
        """(columns..., geometry by shapely or None) of each row, sorted by the columns; the stored bytes, whatever the CRS."""
        shapely = self.need("shapely")
        read = self.need("pyarrow.parquet").ParquetFile(self.live(partition)).read(columns=[*columns, geometry]).to_pylist()
        rows = [(*(row[c] for c in columns), None if row[geometry] is None else shapely.from_wkb(row[geometry])) for row in read]
        return sorted(rows, key=lambda row: tuple(map(str, row[:-1])))

    def metadata(self, partition, lake=None):
        """(Arrow-free schema of the file, its key-value metadata as text)."""
        file = self.need("pyarrow.parquet").ParquetFile(self.live(partition, lake))
        return file.schema, {k.decode(): v.decode("utf-8", "replace") for k, v in (file.metadata.metadata or {}).items()}

    def quarantine(self, report, columns="reason, \"column\", value, row_number"):
        path = self.control / report["quarantine"]
        return self.query(f"SELECT {columns} FROM read_parquet('{path}') ORDER BY row_number, 2, 1")

    def gone(self, report, columns):
        path = self.control / report["disappeared_file"]
        return self.query(f"SELECT {columns} FROM read_parquet('{path}') ORDER BY ALL")

    def archive(self):
        root = self.control / "archive"
        return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())

    def ledger(self, partition):
        """The records of a partition by seq; contiguous, and each archived version is what its record says."""
        records = [json.loads(p.read_text()) for p in sorted((self.control / "ledger" / partition).glob("*.json"))]
        self.assertEqual([r["seq"] for r in records], list(range(1, len(records) + 1)))
        for record in records:
            self.assertEqual(sha256(self.control / record["archive"]), record["file"]["sha256"])
        return records

    def copy(self, source, target, mtime_ns=None):
        """A copy that may be written to, whatever the modes of the shared inputs."""
        target = pathlib.Path(self.dir / target)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        if mtime_ns is not None:
            os.utime(target, ns=(mtime_ns, mtime_ns))
        return target

    def copy_tree(self, source, target):
        for path in sorted(source.rglob("*")):
            if path.is_file():
                self.copy(path, self.dir / target / path.relative_to(source))
