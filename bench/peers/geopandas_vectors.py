#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""geopandas as well as it can be written: nothing row by row but the digest, a total order, staged, verified, promoted.

Many partitions: each staged, verified and promoted by itself, one read of all at the end. Cannot: know that nothing changed;
undo the partitions already promoted when a later one fails.
"""
from job import *

gpd, pd, pq, pc = need("geopandas", "pandas", "pyarrow.parquet", "pyarrow.compute")

if source.endswith(".parquet"):
    frame = gpd.read_parquet(source)
elif source.endswith(".csv"):
    plain = pd.read_csv(source, parse_dates=["queue_date", "published_at"], engine="pyarrow")
    frame = gpd.GeoDataFrame(plain.drop(columns=["lon", "lat"]), geometry=gpd.points_from_xy(plain["lon"], plain["lat"]), crs="OGC:CRS84")
else:
    frame = gpd.read_file(source, use_arrow=True)
step("read")
frame["asset_key"] = keys([frame[name].to_list() for name in IDENTITY])
step("key")
require(not frame[list(FILLED)].isna().any().any() and not frame.geometry.isna().any(), "rows lack a value")
step("check")
kept = frame.sort_values(["published_at", "asset_key"], kind="stable", ignore_index=True).drop_duplicates("asset_key", keep="last", ignore_index=True)
step("sort and doubles")


def verified(path, rows, state, month):
    table = pq.ParquetFile(path).read(["asset_key", "state", "month", "geometry"])
    require(table.num_rows == rows == len(pc.unique(table["asset_key"])) and table["geometry"].null_count == 0, path)
    require(pc.unique(table["state"]).to_pylist() == [state] and pc.unique(table["month"]).to_pylist() == [month], path)


live = []
for (state, month), group in kept.groupby(["state", "month"], sort=True):
    path = folder(state, month)
    staged = aside(path)
    group.to_parquet(staged, index=False, compression=COMPRESSION, compression_level=LEVEL, row_group_size=GROUP)
    step("stage")
    verified(staged, len(group), state, month)
    step("verify")
    live.append((promote(staged, path), len(group), state, month))
    step("promote")
for one in live:
    verified(*one)
step("re-read")
report(rows_in=len(frame), rows_out=len(kept), partitions=len(live))
