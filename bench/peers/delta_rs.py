#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""delta-rs: write_deltalake(mode="overwrite"); Polars reads, makes keys and drops doubles before.

Cannot: hash, drop doubles or sort by itself; keep partition columns in the files; give files names of one's own. A plain
reader of the tree finds the files of both versions after a second load.
"""
from job import *

pl, deltalake, pq, pa = need("polars", "deltalake", "pyarrow.parquet", "pyarrow")
need("polars_hash")
from urllib.parse import unquote

frame = pl.scan_parquet(source).with_columns(pl.concat_str(IDENTITY, separator="|").chash.sha2_256().str.slice(0, 24).alias("asset_key")).collect()
require(sum(frame.select(*FILLED, "geometry").null_count().row(0)) == 0, "rows lack a value")
kept = frame.sort("published_at", "asset_key").unique("asset_key", keep="last", maintain_order=True)
parts = frame.select("state", "month").unique()
step("read to doubles")
uri, more = f"{root}/queue", {}
if len(parts) == 1 and deltalake.DeltaTable.is_deltatable(uri):
    more["predicate"] = "state = '{}' AND month = '{}'".format(*parts.row(0))
deltalake.write_deltalake(uri, kept.to_arrow(compat_level=pl.CompatLevel.oldest()), mode="overwrite", partition_by=["state", "month"],
                          writer_properties=deltalake.WriterProperties(compression=COMPRESSION.upper(), compression_level=LEVEL), **more)
step("write")
files = [unquote(file.removeprefix("file://")) for file in deltalake.DeltaTable(uri).file_uris()]
back = pa.concat_tables([pq.ParquetFile(file).read(["asset_key"]) for file in files])["asset_key"]
require(len(back) == len(kept) == len(back.unique()), "read back", len(back))
step("re-read")
report(rows_in=len(frame), rows_out=len(kept), partitions=len(parts))
