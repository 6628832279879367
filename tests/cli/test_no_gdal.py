# SPDX-License-Identifier: Apache-2.0
"""Where GDAL is not installed: what needs it says so and changes nothing, and all else works. The program under test is one of its
own (no_gdal.cmake); the usual one is the check that a case is sound but for GDAL."""
import json
import os
import pathlib
import struct

import support
from support import IO, Case, main

USUAL, NO_GDAL = support.PROGRAM, pathlib.Path(os.environ.get("RECLOSER_NO_GDAL", "recloser_no_gdal"))

POINT = struct.pack("<BIdd", 1, 1, -97.5, 31.25)
HEAD = "dataset: d\nroot: lake\nsource:\n  files: \"*\"\nkey: {identity: [id]}\npartition: []\n"


def feature(i):
    return {"type": "Feature", "properties": {"id": i}, "geometry": {"type": "Point", "coordinates": [-97.5, 31.25]}}


class NoGdal(Case):
    def setUp(self):
        super().setUp()
        if not NO_GDAL.exists():
            self.skipTest("the program without GDAL is not built")
        self.addCleanup(self.use, USUAL)
        self.use(NO_GDAL)

    @staticmethod
    def use(program):
        support.PROGRAM = program

    def told(self, *args):
        """Exit code 6 with the reason, and the same call works where GDAL is."""
        told = self.recloser(*args, code=IO)
        self.assertIn("GDAL can't be loaded", told.err)
        self.assertIn("libgdal.so.none", told.err)
        self.assertNotIn("say crs", told.err)
        self.assertFalse((self.dir / "lake" / "d").exists())
        self.use(USUAL)
        self.recloser(*args, "--dry-run") if args[0] == "load" else self.recloser(*args)
        self.use(NO_GDAL)

    def load(self, name, text, geometry, columns=""):
        self.told("load", self.spec(HEAD + f"geometry: {geometry}\n{columns}"), self.write(name, text))

    def test_geometry_that_is_made_or_judged(self):
        wkt = "id,g\n1,POINT (-97.5 31.25)\n"
        place = "id,lon,lat\n1,-97.5,31.25\n"
        self.load("a.csv", wkt, "{crs: unknown, from: {wkt: g}}")
        self.load("b.csv", "id,g\n1," + POINT.hex() + "\n", "{crs: unknown, from: {wkb: g}, check_valid: true}")
        self.load("c.csv", "id,g\n1," + POINT.hex() + "\n", "{crs: unknown, from: {wkb: g}, check_valid: true, curves: linearize}")
        self.load("d.csv", "id,g\n1," + POINT.hex() + "\n", "{crs: unknown, from: {wkb: g}, curves: linearize}")
        self.load("e.csv", place, "{crs: unknown, from: {lon: lon, lat: lat}, check_valid: true}")
        self.load("f.csv", place, "{crs: EPSG:4326, from: {lon: lon, lat: lat}}")
        self.load("g.csv", place, "{crs: EPSG:4326, to_crs: EPSG:3857, from: {lon: lon, lat: lat}}")

    def test_lookup(self):
        area = {"type": "FeatureCollection", "crs": None, "features": [feature(1)]}
        self.write("areas.geojson", json.dumps(area))
        for how in ("point_on_surface", "centroid"):
            self.load("a.csv", "id\n1\n", "{crs: unknown, from: {lookup: {file: areas.geojson, on: {id: id}, as: %s}}}" % how)

    def test_an_expression_that_calls_it(self):
        """The engine has the functions for whoever writes their names."""
        self.load("a.csv", "id,g\n1,POINT (1 2)\n", "none", "columns:\n  s: {type: integer, sql: \"rc_wkt_srid('SRID=' || id || ';' || g)\"}\n")

    def test_files_that_bring_geometry(self):
        self.load("a.geojson", json.dumps({"type": "FeatureCollection", "features": [feature(1), feature(2)]}), "{missing: allow}")
        self.load("a.kml", "<?xml version='1.0'?><kml xmlns='http://www.opengis.net/kml/2.2'><Document><Placemark><name>1</name>"
                  "<Point><coordinates>-97.5,31.25</coordinates></Point></Placemark></Document></kml>",
                  "{missing: allow}", "columns:\n  id: {type: text, from: Name}\n")

    def test_geoparquet(self):
        duckdb = self.need("duckdb")
        geo = {"version": "1.0.0", "primary_column": "geometry",
               "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"]}}}
        duckdb.sql("SET enable_geoparquet_conversion = false")
        path = self.dir / "a.parquet"
        duckdb.sql(f"COPY (SELECT 1 AS id, unhex('{POINT.hex()}') AS geometry) TO '{path}' (KV_METADATA {{geo: '{json.dumps(geo)}'}})")
        spec = self.spec(HEAD)
        self.told("load", spec, path)
        self.told("init", path)

    def test_init(self):
        rows = "".join(f"u{i},POINT ({-90 - i} 31.25),{i}\n" for i in range(12))
        self.told("init", self.write("wkt.csv", "unit,shape,mw\n" + rows))
        self.told("init", self.write("coal.geojson", json.dumps({"type": "FeatureCollection", "features": [feature(i) for i in range(12)]})))
        self.told("init", self.write("place.csv", "unit,lon,lat\n" + "".join(f"u{i},{-90 - i}.5,31.25\n" for i in range(12))))

    def test_all_else_works(self):
        data = self.write("plants.csv", "id,mw\n" + "".join(f"p{i},{i}.5\n" for i in range(12)))
        spec = self.spec(HEAD)
        self.assertEqual(self.recloser_json("load", spec, data)["rows_written"], 12)
        self.assertEqual(self.recloser_json("load", spec, data)["outcome"], "unchanged")
        self.recloser("verify", spec)
        self.recloser("status", spec)
        parts = list((self.dir / "lake" / "d").rglob("part.parquet"))
        again = self.spec(HEAD.replace("dataset: d", "dataset: copy") + "other_columns: drop\ncolumns:\n  mw: {type: double}\n  id: {type: text}\n", "copy.yaml")
        self.assertEqual(self.recloser_json("load", again, *parts)["rows_written"], 12)
        self.recloser("init", data)
        # Coordinates that are stored as they are need none either.
        place = self.spec(HEAD.replace("dataset: d", "dataset: place") + "geometry: {crs: unknown, from: {lon: lon, lat: lat}}\n", "place.yaml")
        self.assertEqual(self.recloser_json("load", place, self.write("place.csv", "id,lon,lat\n1,-97.5,31.25\n"))["rows_written"], 1)


main()
