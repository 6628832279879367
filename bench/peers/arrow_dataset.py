#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pyarrow: write_dataset(existing_data_behavior="delete_matching"), for one partition and for many.

Cannot: hash (Python does), drop doubles by itself (the last place of each key is found with a group-by), stage (it deletes
what was there and then writes in place), keep the partition columns in the files, make WKB or a `geo` entry of its own.
"""
from job import *

pa, pq, ds, pc = need("pyarrow", "pyarrow.parquet", "pyarrow.dataset", "pyarrow.compute")

if source.endswith(".csv"):
    table = need("pyarrow.csv").read_csv(source)
else:
    table = pq.read_table(source)
step("read")
table = table.append_column("asset_key", pa.array(keys([table[name].to_pylist() for name in IDENTITY])))
step("key")
for name in (*FILLED, *(["geometry"] if "geometry" in table.column_names else [])):
    require(table[name].null_count == 0, name, "is null")
rows = table.num_rows
parts = len(table.select(["state", "month"]).group_by(["state", "month"]).aggregate([]))
step("check")
# Partition first: write_dataset makes a row group of every stretch that it meets.
order = [*(["state", "month"] if parts > 1 else []), "published_at", "asset_key"]
places = pc.sort_indices(table.select(order), [(name, "ascending") for name in order])
ranked = pa.table({"key": table["asset_key"].take(places), "at": pa.array(range(rows), pa.int32())})
last = ranked.group_by("key").aggregate([("at", "max")])["at_max"]
table = table.take(places.take(last.take(pc.sort_indices(last))))
step("sort and doubles")
columns = ds.partitioning(pa.schema([("state", pa.string()), ("month", pa.string())]), flavor="hive")
options = ds.ParquetFileFormat().make_write_options(compression=COMPRESSION, compression_level=LEVEL)
ds.write_dataset(table, f"{root}/queue", format="parquet", partitioning=columns, existing_data_behavior="delete_matching",
                 basename_template="part-{i}.parquet", max_partitions=2000, max_open_files=2000, file_options=options)
step("write")
back = ds.dataset(f"{root}/queue", partitioning="hive").to_table(columns=["asset_key"])
require(back.num_rows == table.num_rows == len(pc.unique(back["asset_key"])), "read back", back.num_rows)
step("re-read")
report(rows_in=rows, rows_out=table.num_rows, partitions=parts)
