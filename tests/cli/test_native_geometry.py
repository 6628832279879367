# SPDX-License-Identifier: Apache-2.0
"""`geoparquet: 2.0`: the geometry is of Parquet's own type, explained by a `geo` entry of version 2.0.0, and everything that
is compared with the live version understands it."""
import glob
import json

from support import Case, main

SPEC = """\
dataset: points
root: lake
source: {files: "*.csv"}
key: {identity: [id]}
partition: [state]
geoparquet: 2.0
disappeared: {policy: allow}
geometry: {crs: EPSG:4326, from: {lon: lon, lat: lat}, covering: on}
columns:
  lon: {type: double}
  lat: {type: double}
"""


class NativeGeometry(Case):
    def part(self):
        return glob.glob(str(self.dir / "lake/points/state=TX/part.parquet"))[0]

    def test_type_and_entry(self):
        duckdb = self.need("duckdb")
        spec = self.spec(SPEC)
        self.recloser("load", spec, self.write("a.csv", "id,state,lon,lat\nA,TX,-97.5,31.5\nB,TX,-98,30\n"))
        logical = duckdb.execute("select logical_type from parquet_schema(?) where name = 'geometry'", [self.part()]).fetchall()
        self.assertTrue(logical[0][0].startswith("GeometryType("), logical)
        entries = duckdb.execute("select decode(value) from parquet_kv_metadata(?) where key = 'geo'::blob", [self.part()]).fetchall()
        self.assertEqual(len(entries), 1)
        geo = json.loads(entries[0][0])
        self.assertEqual(geo["version"], "2.0.0")
        self.assertEqual(geo["columns"]["geometry"]["bbox"], [-98, 30, -97.5, 31.5])
        self.recloser("verify", spec)

    def test_geopandas_reads_it(self):
        geopandas = self.need("geopandas")
        self.recloser("load", self.spec(SPEC), self.write("a.csv", "id,state,lon,lat\nA,TX,-97.5,31.5\nB,TX,-98,30\n"))
        frame = geopandas.read_parquet(self.dir / "lake/points", bbox=(-97.6, 31, -97, 32))
        self.assertEqual(frame.crs.to_epsg(), 4326)
        self.assertEqual([(p.x, p.y) for p in frame.geometry], [(-97.5, 31.5)])

    def test_compared_with_the_live_version(self):
        spec = self.spec(SPEC)
        self.recloser("load", spec, self.write("a.csv", "id,state,lon,lat\nA,TX,-97.5,31.5\nB,TX,-98,30\nC,TX,-99,30\n"))
        second = self.recloser_json("load", spec, self.write("b.csv", "id,state,lon,lat\nA,TX,-97.5,31.5\nB,TX,-98,30.25\n"))
        part = second["partitions"][0]
        self.assertEqual((part["outcome"], part["disappeared"], part["new_keys"], part["revised"]), ("replaced", 1, 0, 1))
        self.assertEqual(part["changed"], {"geometry": 1, "lat": 1})
        third = self.recloser_json("load", spec, self.write("c.csv", "id,state,lon,lat\nB,TX,-98,30.25\nA,TX,-97.5,31.5\n"))
        self.assertEqual(third["partitions"][0]["outcome"], "unchanged")

    def test_unknown_crs_is_refused(self):
        spec = self.spec(SPEC.replace("crs: EPSG:4326", "crs: unknown"))
        refused = self.recloser("load", spec, self.write("a.csv", "id,state,lon,lat\nA,TX,1,2\n"), code=3)
        self.assertIn("GeoParquet 2.0", refused.err)


main()
