# SPDX-License-Identifier: Apache-2.0
"""What the tests of versions over time share: publications loaded at a given time, and the records and files they leave."""
import contextlib
import json

from support import Case

SPEC = """
dataset: queue
root: lake
source: {files: "*.csv"}
key: {identity: [queue_id]}
partition: [state]
disappeared: {policy: allow}
columns:
  capacity_mw: {type: double}
  units: {type: integer}
"""
COLUMNS = ("queue_id", "state", "status", "capacity_mw", "units")


class Publishing(Case):
    dataset = "queue"

    def at(self, moment):
        return {"RECLOSER_TEST_NOW": moment}

    def publish(self, rows, moment, name="queue.csv", spec="spec.yaml", columns=COLUMNS):
        text = ",".join(columns) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
        return self.recloser_json("load", spec, self.write(name, text), env=self.at(moment))

    @property
    def control(self):
        return self.dir / "lake/_recloser" / self.dataset

    def record(self, partition, seq):
        return json.loads((self.control / "ledger" / partition / f"{seq:08}.json").read_text())

    def live(self, partition):
        return self.dir / "lake" / self.dataset / partition / "part.parquet"

    @contextlib.contextmanager
    def unseen(self, partition):
        """Loads do not see what is live there: so a tree comes to have columns of several types, which a load by itself refuses."""
        aside = self.dir / "aside"
        self.live(partition).rename(aside)
        yield
        aside.rename(self.live(partition))

    def rows(self, files, columns=COLUMNS):
        """What another reader finds in the files, sorted."""
        duckdb = self.need("duckdb")
        if not files:
            return []
        sql = f"SELECT {', '.join(columns)} FROM read_parquet(?, hive_partitioning = false)"
        return sorted(duckdb.connect().execute(sql, [[str(f) for f in files]]).fetchall())
