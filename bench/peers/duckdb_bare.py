#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bare engine, as a bound: one COPY ... ORDER BY of the input's rows, in place. Nothing of the job but sort and write.

`each`: one COPY with PARTITION_BY instead. `read`: no writing, a CSV's rows read into a table in their types.
"""
from job import *

duckdb = need("duckdb")
engine = duckdb.connect()
engine.execute("SET threads = 2")
WRITE = f"FORMAT parquet, COMPRESSION {COMPRESSION}, COMPRESSION_LEVEL {LEVEL}, ROW_GROUP_SIZE {GROUP}"

if variant == "read":
    engine.execute(f"""CREATE TABLE rows AS SELECT * FROM read_csv('{source}', header = true, columns = {{queue_id: 'VARCHAR', poi_name: 'VARCHAR',
        state: 'VARCHAR', month: 'VARCHAR', status: 'VARCHAR', capacity_mw: 'DOUBLE', fuel: 'VARCHAR', queue_date: 'DATE', published_at:
        'TIMESTAMP', queue_position: 'INTEGER', developer: 'VARCHAR', county: 'VARCHAR', lon: 'DOUBLE', lat: 'DOUBLE'}})""")
    rows = engine.execute("SELECT count(*) FROM rows").fetchone()[0]
elif variant == "each":
    os.makedirs(root, exist_ok=True)
    rows = engine.execute(f"""COPY (FROM read_parquet('{source}') ORDER BY state, month, queue_id, poi_name) TO '{root}/queue'
        ({WRITE}, PARTITION_BY (state, month), WRITE_PARTITION_COLUMNS true, FILENAME_PATTERN 'part')""").fetchone()[0]
else:
    os.makedirs(f"{root}/queue", exist_ok=True)
    rows = engine.execute(f"""COPY (FROM read_parquet('{source}') ORDER BY queue_id, poi_name, published_at)
        TO '{root}/queue/part.parquet' ({WRITE})""").fetchone()[0]
report(rows_in=rows, rows_out=rows)
