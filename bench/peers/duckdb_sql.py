#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DuckDB, SQL by hand: the yardstick, 1.0 in every table.

One partition: the whole job, step by step, with a fingerprint of the input in the file's own metadata.
`each`: many partitions, the whole job with one PARTITION_BY into a staging folder, verified there, then promoted file by file.
Cannot: tell an unchanged partition from a changed one. A crash between two promotions leaves some partitions new and some
old, and nobody knows.
"""
import glob
import shutil

from job import *

duckdb = need("duckdb")
engine = duckdb.connect()
engine.execute("SET threads = 2")
KEY = "substr(sha256(concat_ws('|', " + ", ".join(IDENTITY) + ")), 1, 24) AS asset_key"
POINT = "CAST('POINT(' || lon || ' ' || lat || ')' AS GEOMETRY) AS geometry"
PLAIN = {"queue_id": "VARCHAR", "poi_name": "VARCHAR", "state": "VARCHAR", "month": "VARCHAR", "status": "VARCHAR", "capacity_mw": "DOUBLE",
         "fuel": "VARCHAR", "queue_date": "DATE", "published_at": "TIMESTAMP", "queue_position": "INTEGER", "developer": "VARCHAR",
         "county": "VARCHAR"}
WRITE = f"FORMAT parquet, COMPRESSION {COMPRESSION}, COMPRESSION_LEVEL {LEVEL}, ROW_GROUP_SIZE {GROUP}, GEOPARQUET_VERSION 'V1'"
KEPT = "FROM rows LEFT JOIN doubles USING (asset_key) WHERE latest IS NULL OR published_at = latest"


def one(sql):
    return engine.execute(sql).fetchone()


def select():
    """SQL that gives the input's rows with the geometry as one and the key."""
    if source.endswith(".parquet"):
        return f"SELECT *, {KEY} FROM read_parquet('{source}')"
    if source.endswith(".csv"):
        types = PLAIN | {"lon": "DOUBLE", "lat": "DOUBLE"}
        return f"SELECT * EXCLUDE (lon, lat), {POINT}, {KEY} FROM read_csv('{source}', header = true, columns = {types})"
    properties = ", ".join(f"{name} {kind}" for name, kind in PLAIN.items())
    point = POINT.replace("lon", "f.geometry.coordinates[1]").replace("lat", "f.geometry.coordinates[2]")
    feature = f"STRUCT(properties STRUCT({properties}), geometry STRUCT(coordinates DOUBLE[]))[]"
    return f"""SELECT *, {KEY} FROM (SELECT unnest(f.properties), {point} FROM (SELECT unnest(features) AS f
               FROM read_json('{source}', maximum_object_size = 2000000000, columns = {{features: '{feature}'}})))"""


def read():
    engine.execute(f"CREATE TABLE rows AS {select()}")
    step("read and key")
    empty = " OR ".join(f"{name} IS NULL" for name in (*FILLED, "geometry"))
    count, bad, parts = one(f"SELECT count(*), count(*) FILTER ({empty}), count(DISTINCT (state, month)) FROM rows")
    require(count and not bad, bad, "rows lack a value")
    engine.execute("CREATE TABLE doubles AS SELECT asset_key, max(published_at) AS latest FROM rows GROUP BY 1 HAVING count(*) > 1")
    tied = one("""SELECT count(*) FROM (SELECT 1 FROM rows JOIN doubles USING (asset_key) WHERE published_at = latest
                  GROUP BY asset_key HAVING count(*) > 1)""")[0]
    require(not tied, tied, "keys have two latest rows")
    step("check and doubles")
    return count, parts


def verified(files, want):
    """Rows, keys, partitions, geometries and the total capacity of what was written, against what was to be."""
    got = one(f"""SELECT count(*), count(DISTINCT asset_key), count(DISTINCT (state, month)), count(geometry), sum(CAST(capacity_mw AS DECIMAL(18, 3)))
                  FROM read_parquet({files}, hive_partitioning = false)""")
    require(got == want, "written", got, "expected", want)


def expected():
    return one(f"SELECT count(*), count(*), count(DISTINCT (state, month)), count(geometry), sum(CAST(capacity_mw AS DECIMAL(18, 3))) {KEPT}")


def verified_each(pattern, want):
    """Rows and keys of every partition, and no row in a folder of another one."""
    written = f"read_parquet('{pattern}', hive_partitioning = false, filename = true)"
    got = one(f"""SELECT count(*), count(*) FILTER (rows = due AND rows = keys AND strays = 0)
                  FROM (SELECT state, month, count(*) AS rows, count(DISTINCT asset_key) AS keys,
                               count(*) FILTER (NOT contains(filename, '/state=' || state || '/month=' || month || '/')) AS strays
                        FROM {written} GROUP BY state, month)
                  JOIN (SELECT state, month, count(*) AS due {KEPT} GROUP BY state, month) USING (state, month)""")
    require(got == (want[2], want[2]), "partitions that are right:", got, "expected", want[2])
    verified(f"'{pattern}'", want)


def one_partition():
    mark = fingerprint(source)
    step("fingerprint")
    rows, parts = read()
    require(parts == 1, parts, "partitions instead of one")
    path = folder(*one("SELECT min(state), min(month) FROM rows"))
    staged, want = aside(path), expected()
    engine.execute(f"COPY (SELECT rows.* {KEPT} ORDER BY published_at, asset_key) TO '{staged}' ({WRITE}, KV_METADATA {{source: '{mark}'}})")
    step("sort and stage")
    verified(f"['{staged}']", want)
    step("verify")
    live = promote(staged, path)
    step("promote")
    verified(f"['{live}']", want)
    step("re-read")
    report(rows_in=rows, rows_out=want[0])


def each_partition():
    fingerprint(source)
    step("fingerprint")
    rows, _ = read()
    staging, want = f"{root}/staging-{uuid.uuid4().hex}", expected()
    engine.execute("SET partitioned_write_max_open_files = 1000")
    os.makedirs(root, exist_ok=True)
    engine.execute(f"""COPY (SELECT rows.* {KEPT} ORDER BY state, month, published_at, asset_key) TO '{staging}'
                       ({WRITE}, PARTITION_BY (state, month), WRITE_PARTITION_COLUMNS true, FILENAME_PATTERN 'part')""")
    step("sort and stage")
    verified_each(f"{staging}/*/*/*.parquet", want)
    step("verify")
    for staged in sorted(glob.glob(f"{staging}/*/*/*.parquet")):
        state, month = staged.split("/")[-3:-1]
        promote(staged, folder(state.partition("=")[2], month.partition("=")[2]))
    shutil.rmtree(staging)
    step("promote")
    verified_each(f"{root}/queue/*/*/*.parquet", want)
    step("re-read")
    report(rows_in=rows, rows_out=want[0], partitions=want[2])


each_partition() if variant == "each" else one_partition()
