#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""geopandas as most pipelines have it: a key made with apply() row by row, sort, drop_duplicates, to_parquet in place.

Cannot, as commonly written: stage, verify, promote. Asserts what it wrote once, by its row count.
"""
from job import *

gpd, pd = need("geopandas", "pandas")

if source.endswith(".parquet"):
    frame = gpd.read_parquet(source)
elif source.endswith(".csv"):
    plain = pd.read_csv(source, parse_dates=["queue_date", "published_at"])
    frame = gpd.GeoDataFrame(plain.drop(columns=["lon", "lat"]), geometry=gpd.points_from_xy(plain["lon"], plain["lat"]), crs="OGC:CRS84")
else:
    frame = gpd.read_file(source)
step("read")


def key(row):
    return hashlib.sha256("|".join(str(row[name]) for name in IDENTITY).encode()).hexdigest()[:24]


frame["asset_key"] = frame.apply(key, axis=1)
step("key")
kept = frame.sort_values("published_at").drop_duplicates("asset_key", keep="last")
step("sort and doubles")
parts = 0
for (state, month), group in kept.groupby(["state", "month"]):
    group.to_parquet(f"{folder(state, month)}/part.parquet", index=False, compression=COMPRESSION)
    parts += 1
step("write")
back = sum(need("pyarrow.parquet").ParquetFile(f"{folder(state, month)}/part.parquet").metadata.num_rows
           for state, month in kept[["state", "month"]].drop_duplicates().itertuples(index=False))
require(back == len(kept), "read back", back)
step("re-read")
report(rows_in=len(frame), rows_out=len(kept), partitions=parts)
