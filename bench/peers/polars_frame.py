#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Polars: reads, sorts, drops doubles and writes; SHA-256 comes from polars-hash where that is installed, else from Python.

One partition: the whole job, its staging and verification by hand. Many: PartitionBy writes in place, with no staging and no
removal of what is no longer there. Cannot: make WKB of lon and lat (a CSV's stay two columns), or a bbox for `geo`, whose
text is handed on from the input.
"""
from job import *

pl = need("polars")
try:
    import polars_hash  # noqa: F401, registers the expressions' chash
    DIGEST = pl.concat_str(IDENTITY, separator="|").chash.sha2_256().str.slice(0, 24).alias("asset_key")
except ImportError:
    DIGEST = None


def read():
    if source.endswith(".csv"):
        return pl.scan_csv(source, try_parse_dates=True), None
    return pl.scan_parquet(source), {"geo": pl.read_parquet_metadata(source)["geo"]}


def verified(path, rows, state, month, geometry):
    found = pl.scan_parquet(path, hive_partitioning=False).select(
        pl.len().alias("rows"), pl.col("asset_key").n_unique().alias("keys"), pl.col("state").n_unique().alias("states"),
        pl.col("state").first(), pl.col("month").n_unique().alias("months"), pl.col("month").first(),
        *([pl.col("geometry").null_count().alias("holes")] if geometry else [])).collect().row(0, named=True)
    want = {"rows": rows, "keys": rows, "states": 1, "state": state, "months": 1, "month": month} | ({"holes": 0} if geometry else {})
    require(found == want, path, found, "expected", want)


lazy, geo = read()
if DIGEST is not None:
    frame = lazy.with_columns(DIGEST).collect()
else:
    frame = lazy.collect()
    frame = frame.with_columns(asset_key=pl.Series(keys([frame[name] for name in IDENTITY])))
step("read and key")
require(sum(frame.select(*FILLED, *(["geometry"] if geo else [])).null_count().row(0)) == 0, "rows lack a value")
parts = frame.select("state", "month").unique()
step("check")
kept = frame.sort("published_at", "asset_key").unique("asset_key", keep="last", maintain_order=True)
step("sort and doubles")
if len(parts) == 1:
    state, month = parts.row(0)
    path = folder(state, month)
    staged = aside(path)
    kept.write_parquet(staged, compression=COMPRESSION, compression_level=LEVEL, row_group_size=GROUP, metadata=geo)
    step("stage")
    verified(staged, len(kept), state, month, geo)
    step("verify")
    live = promote(staged, path)
    step("promote")
    verified(live, len(kept), state, month, geo)
else:
    kept.lazy().sink_parquet(pl.PartitionBy(f"{root}/queue", key=["state", "month"], include_key=True, approximate_bytes_per_file=None),
                             compression=COMPRESSION, compression_level=LEVEL, metadata=geo, mkdir=True)
    step("write")
    found = pl.scan_parquet(f"{root}/queue/**/*.parquet", hive_partitioning=False).select(pl.len(), pl.col("asset_key").n_unique()).collect().row(0)
    require(found == (len(kept), len(kept)), found)
step("re-read")
report(rows_in=len(frame), rows_out=len(kept), partitions=len(parts))
