# SPDX-License-Identifier: Apache-2.0
"""What a spec says about geometry, from file to file: CRS, transformation, bounds, types, curves, validity, and where it comes from."""
import json
import struct
import warnings

from loading import Loading
from support import main

# By pyproj, which has a PROJ of its own: zone 14 N of NAD83 to degrees, longitude first.
AUSTIN = (620993.5, 3349980.25), (-97.74206238741354, 30.275472267722332)
ORIGIN = (500000.0, 3000000.0), (-99.0, 27.122469642348793)
PLATTE = (250000.0, 4500000.0), (-101.95517810589662, 40.61303028318708)


def feature(geometry, **properties):
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(features, crs=None):
    document = {"type": "FeatureCollection", "features": features}
    if crs:
        document["crs"] = {"type": "name", "properties": {"name": crs}}
    return json.dumps(document)


def point(*at):
    return {"type": "Point", "coordinates": list(at)}


class Geometry(Loading):
    def geometry_spec(self, geometry, columns=None, **fields):
        return self.queue_spec(columns=columns or {}, geometry=geometry, **{"key": "{identity: [id]}", "partition": "[]", "revision": None,
                                                                            "quarantine": "{policy: allow}", **fields})

    def csv(self, header, *rows):
        return self.write("in.csv", header + "\n" + "".join(row + "\n" for row in rows))

    def geo(self):
        return json.loads(self.metadata("")[1]["geo"])["columns"]["geometry"]

    def reasons(self, report):
        return [(row, reason) for row, reason in self.quarantine(report, "row_number, reason")] if report["quarantine"] else []

    def at(self):
        return {i: g and (g.x, g.y) for i, g in self.shapes("", "id")}

    def assert_near(self, found, wanted, places=9):
        for a, b in zip(found, wanted, strict=True):
            self.assertAlmostEqual(a, b, places=places)


class Crs(Geometry):
    def test_refused_without_one(self):
        error = self.refused(self.geometry_spec("{from: {lon: x, lat: y}}"), self.csv("id,x,y", "a,1,2"), said=["no CRS"])
        self.assertEqual(error["code"], "source.no_crs")
        self.assertIn("crs: unknown", error["hint"])

    def test_declared(self):
        self.load(self.geometry_spec("{crs: EPSG:26914, from: {lon: x, lat: y}}"), self.csv("id,x,y", f"a,{AUSTIN[0][0]},{AUSTIN[0][1]}"))
        self.assertEqual(self.geo()["crs"]["id"], {"authority": "EPSG", "code": 26914})
        self.assertEqual(self.at(), {"a": AUSTIN[0]})

    def test_unknown_is_written_as_null(self):
        self.load(self.geometry_spec("{crs: unknown, from: {lon: x, lat: y}}"), self.csv("id,x,y", "a,1e9,2"))
        self.assertIn("crs", self.geo())
        self.assertIsNone(self.geo()["crs"])
        self.assertEqual(self.at(), {"a": (1e9, 2)})

    def test_the_files_own(self):
        data = self.write("in.geojson", collection([feature(point(1, 2), id="a")], "urn:ogc:def:crs:EPSG::3857"))
        self.load(self.geometry_spec(None), data)
        self.assertEqual(self.geo()["crs"]["id"], {"authority": "EPSG", "code": 3857})

    def test_against_the_files_own(self):
        data = self.write("in.geojson", collection([feature(point(1, 2), id="a")], "urn:ogc:def:crs:EPSG::3857"))
        error = self.refused(self.geometry_spec("{crs: EPSG:4326}"), data, said=["EPSG:3857", "EPSG:4326"])
        self.assertIn("to_crs: EPSG:4326", error["hint"])

    def test_two_sources_in_two_systems(self):
        a = self.write("a.geojson", collection([feature(point(-99, 30), id="a")]))
        b = self.write("b.geojson", collection([feature(point(*AUSTIN[0]), id="b")], "urn:ogc:def:crs:EPSG::26914"))
        several = '{files: "*.geojson", several: union}'
        self.refused(self.geometry_spec(None, source=several), a, b, said=["b.geojson is in another CRS"])
        self.load(self.geometry_spec("{to_crs: EPSG:4326}", source=several), a, b)
        self.assertEqual(self.at()["a"], (-99, 30))
        self.assert_near(self.at()["b"], AUSTIN[1])

    def test_a_code_that_is_none(self):
        spec = self.geometry_spec("{crs: EPSG:999999, from: {lon: x, lat: y}}")
        self.refused(spec, self.csv("id,x,y", "a,1,2"), code=2, said=["EPSG:999999", "spec.yaml, line"])
        spec = self.geometry_spec("{crs: EPSG:4326, to_crs: EPSG:999999, from: {lon: x, lat: y}}")
        self.refused(spec, self.csv("id,x,y", "a,1,2"), code=2, said=["EPSG:999999", "spec.yaml, line"])

    def test_a_system_without_known_bounds(self):
        # Local coordinates: nothing is outside of them.
        wkt = 'LOCAL_CS["plant grid",UNIT["metre",1]]'
        self.need("geopandas")
        import geopandas
        import shapely
        with warnings.catch_warnings(action="ignore"):  # that it has no CRS
            geopandas.GeoDataFrame({"id": ["a"]}, geometry=[shapely.Point(1e7, -1e8)], crs=None).to_file(self.dir / "in.shp")
        (self.dir / "in.prj").write_text(wkt)
        self.load(self.geometry_spec(None), self.dir / "in.shp")
        self.assertEqual(self.at(), {"a": (1e7, -1e8)})

    def test_axis_order_of_a_transformation(self):
        rows = [f"{name},{x},{y}" for name, ((x, y), _) in (("austin", AUSTIN), ("origin", ORIGIN), ("platte", PLATTE))]
        self.load(self.geometry_spec("{crs: EPSG:26914, to_crs: EPSG:4326, from: {lon: x, lat: y}}"), self.csv("id,x,y", *rows))
        self.assertEqual(self.geo()["crs"]["id"], {"authority": "EPSG", "code": 4326})
        for name, (_, wanted) in (("austin", AUSTIN), ("origin", ORIGIN), ("platte", PLATTE)):
            self.assert_near(self.at()[name], wanted)  # longitude first, whatever the authority's axis order

    def test_and_back(self):
        self.load(self.geometry_spec("{crs: EPSG:4326, to_crs: EPSG:26914, from: {lon: x, lat: y}}"),
                  self.csv("id,x,y", f"a,{AUSTIN[1][0]!r},{AUSTIN[1][1]!r}"))
        self.assert_near(self.at()["a"], AUSTIN[0], places=4)

    def test_z_and_m_through_a_transformation(self):
        line = self.shapes_wkt("LINESTRING ZM (500000 3000000 10 1, 500000 3000000 20 2)", "{crs: EPSG:26914, to_crs: EPSG:4326, from: {wkt: wkt}}")
        self.assertEqual(line[0][2:], (10, 1))
        self.assertEqual(line[1][2:], (20, 2))
        self.assert_near(line[0][:2], ORIGIN[1])

    def shapes_wkt(self, wkt, geometry):
        """The coordinates of one ZM line as they are stored."""
        self.load(self.geometry_spec(geometry), self.csv("id,wkt", f'a,"{wkt}"'))
        read = self.need("pyarrow.parquet").ParquetFile(self.live("")).read(columns=["geometry"]).to_pylist()[0]["geometry"]
        self.assertEqual(struct.unpack("<BI", read[:5]), (1, 3002))
        count, = struct.unpack("<I", read[5:9])
        return [struct.unpack("<4d", read[9 + 32 * i:41 + 32 * i]) for i in range(count)]

    def test_the_dataset_keeps_its_system(self):
        self.load(self.geometry_spec("{crs: EPSG:26914, from: {lon: x, lat: y}}"), self.csv("id,x,y", "a,500000,3000000"))
        self.refused(self.geometry_spec("{crs: EPSG:4326, from: {lon: x, lat: y}}"), self.csv("id,x,y", "a,-99,30"),
                     said=["the dataset is in EPSG:26914"])


class Bounds(Geometry):
    def test_broken_text_is_not_missing(self):
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: w}}"), self.csv("id,w", "a,POINT (1 2)", "b,POINT (1 2", "c,"))
        self.assertEqual(self.reasons(report), [(2, "not well-known text"), (3, "geometry is missing")])

    def test_outside(self):
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {lon: x, lat: y}}"),
                           self.csv("id,x,y", "a,-99,30", "b,-181,30", "c,-99,9999", "d,180,90", "e,,", "f,1,", "g,x,1"))
        self.assertEqual(self.reasons(report), [(2, "longitude -181 is outside -180 to 180"), (3, "latitude 9999 is outside -90 to 90"),
                                                (5, "geometry is missing"), (6, "geometry is missing"), (6, "only one of the two coordinates is there"),
                                                (7, "geometry is missing"), (7, "not a number"), (7, "only one of the two coordinates is there")])
        self.assertEqual(sorted(self.at()), ["a", "d"])
        self.assertFalse([w for w in report["warnings"] if "swapped" in w])

    def test_outside_of_a_zone(self):
        report = self.load(self.geometry_spec("{crs: EPSG:26914, from: {lon: x, lat: y}}"), self.csv("id,x,y", "a,500000,3000000", "b,5000000,3000000"))
        (row, reason), = self.reasons(report)
        self.assertEqual(row, 2)
        self.assertRegex(reason, "^x 5000000 is outside -?[0-9.]+ to [0-9.]+$")

    def test_looked_at_before_a_transformation(self):
        # PROJ makes longitude 261 of -99; here it is a wrong number.
        report = self.load(self.geometry_spec("{crs: EPSG:4326, to_crs: EPSG:3857, from: {lon: x, lat: y}}"), self.csv("id,x,y", "a,-99,30", "b,261,30"))
        self.assertEqual(self.reasons(report), [(2, "longitude 261 is outside -180 to 180")])

    SWAPPED = [f"q{i},{30 + i / 10},{-97 - i / 10}" for i in range(20)]

    def test_swapped(self):
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {lon: x, lat: y}}"), self.csv("id,x,y", "a,-99,30", *self.SWAPPED))
        self.assertEqual(report["quarantined"], 20)
        self.assertEqual(self.reasons(report)[0], (2, "latitude -97 is outside -90 to 90, but inside with x and y exchanged"))
        self.assertEqual(report["warnings"], ["20 rows lie outside of the CRS's bounds and inside with x and y exchanged: are longitude and latitude "
                                              "swapped? geometry: {from: {lon: y, lat: x}} would take them the other way round",
                                              "more rows are quarantined than the spec's limit"][:len(report["warnings"])])

    def test_swapped_and_refused(self):
        error = self.refused(self.geometry_spec("{crs: EPSG:4326, from: {lon: x, lat: y}}", quarantine=None), self.csv("id,x,y", *self.SWAPPED))
        self.assertIn("are longitude and latitude swapped?", error["hint"])

    def test_swapped_before_a_transformation(self):
        report = self.load(self.geometry_spec("{crs: EPSG:4326, to_crs: EPSG:3857, from: {lon: x, lat: y}}"),
                           self.csv("id,x,y", "a,-99,30", *self.SWAPPED))
        self.assertTrue(any("swapped" in w for w in report["warnings"]), report["warnings"])

    def test_swapped_in_a_file_of_its_own(self):
        features = [feature(point(30, -97 - i), id=f"q{i}") for i in range(5)] + [feature(point(-97, 30), id="a")]
        report = self.load(self.geometry_spec(None), self.write("in.geojson", collection(features)))
        self.assertTrue(any("the other way round than its CRS says" in w for w in report["warnings"]), report["warnings"])


class Shapes(Geometry):
    def test_z_and_m_are_kept_and_declared(self):
        wkts = {"a": "POINT Z (1 2 3)", "b": "POINT M (1 2 4)", "c": "LINESTRING ZM (0 0 1 2, 1 1 3 4)", "d": "POLYGON ((0 0, 1 0, 1 1, 0 0))"}
        self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: wkt}}"), self.csv("id,wkt", *(f'{i},"{w}"' for i, w in wkts.items())))
        self.assertEqual(self.geo()["geometry_types"], [])  # GeoParquet has no words for M: any type
        read = self.need("pyarrow.parquet").ParquetFile(self.live("")).read(columns=["id", "geometry"]).to_pylist()
        self.assertEqual({r["id"]: struct.unpack("<I", r["geometry"][1:5])[0] for r in read}, {"a": 1001, "b": 2001, "c": 3002, "d": 3})
        self.assertNotIn("wkt", self.metadata("")[0].names)

    def test_line_zm_of_a_geopackage(self):
        self.load(self.geometry_spec(None, key="{identity: [geometry]}"), self.shared("real/pyogrio/line_zm.gpkg"))
        self.assertEqual(self.geo()["geometry_types"], [])
        (wkb,), = self.need("pyarrow.parquet").ParquetFile(self.live("")).read(columns=["geometry"]).to_pandas().itertuples(index=False)
        self.assertEqual(struct.unpack("<BI", wkb[:5]), (1, 3002))

    def test_z_is_declared(self):
        self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: wkt}}"), self.csv("id,wkt", 'a,"POINT Z (1 2 3)"', 'b,"POINT (1 2)"', 'c,"POLYGON ((0 0, 1 0, 1 1, 0 0))"'))
        self.assertEqual(sorted(self.geo()["geometry_types"]), ["Point", "Point Z", "Polygon"])

    def test_nulls_and_empties(self):
        rows = ['a,"POINT (1 2)"', "b,", 'c,"POINT EMPTY"', 'd,"GEOMETRYCOLLECTION EMPTY"', 'e,"POLYGON EMPTY"']
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: wkt}}"), self.csv("id,wkt", *rows))
        self.assertEqual(self.reasons(report), [(2, "geometry is missing"), *((n, "the geometry is empty") for n in (3, 4, 5))])
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: wkt}, missing: allow}"), self.csv("id,wkt", *rows))
        self.assertEqual(report["quarantined"], 0)
        self.assertEqual({i: None if g is None else g.is_empty for i, g in self.shapes("", "id")}, {"a": False, "b": None, "c": True, "d": True, "e": True})

    def test_null_geometry_of_geojson(self):
        report = self.load(self.geometry_spec(None, key="{identity: [Name]}"), self.shared("real/geopandas/null_geom.geojson"))
        self.assertEqual([reason for _, reason in self.reasons(report)], ["geometry is missing"])

    def test_curves(self):
        data = self.shared("real/pyogrio/curve.gpkg")
        error = self.refused(self.geometry_spec(None, key="{identity: [fid]}", quarantine=None), data, said=["curve"])
        self.assertEqual(error["code"], "batch.quarantine")
        self.load(self.geometry_spec("{curves: linearize}", key="{identity: [fid]}"), data)
        (_, line), = self.shapes("", "fid")
        self.assertEqual(line.geom_type, "LineString")  # of a compound curve whose one part is straight
        self.assert_near(line.bounds, (-123.1235809326, 49.0147628784, -95.2533721924, 49.0147705078), places=4)

    def test_curves_of_text(self):
        row = 'a,"CIRCULARSTRING (0 0, 1 1, 2 0)"'
        report = self.load(self.geometry_spec("{crs: unknown, from: {wkt: wkt}}"), self.csv("id,wkt", row, 'b,"POINT (1 1)"'))
        (number, reason), = self.reasons(report)
        self.assertEqual(number, 1)
        self.assertIn("curve", reason)
        self.load(self.geometry_spec("{crs: unknown, from: {wkt: wkt}, curves: linearize}"), self.csv("id,wkt", row))
        (_, line), = self.shapes("", "id")
        self.assertEqual((line.coords[0], line.coords[-1]), ((0, 0), (2, 0)))
        for x, y in line.coords:
            self.assertAlmostEqual((x - 1) ** 2 + y ** 2, 1, places=9)  # on the circle

    def test_types(self):
        rows = ['a,"POINT (1 2)"', 'b,"LINESTRING (0 0, 1 1)"', 'c,"MULTIPOINT ((0 0), (1 1))"', 'd,"POINT Z (1 2 3)"']
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: wkt}, types: [Point, MultiPoint]}"), self.csv("id,wkt", *rows))
        self.assertEqual(self.quarantine(report, "row_number, reason, value"),
                         [(2, "a geometry type that the spec does not allow (Point, MultiPoint)", "LineString")])

    def test_validity(self):
        rows = ['a,"POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))"', 'b,"POLYGON ((0 0, 2 0, 2 2, 0 0))"']
        self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: wkt}}"), self.csv("id,wkt", *rows))
        self.assertEqual(len(self.shapes("", "id")), 2)  # not asked for
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: wkt}, check_valid: true}"), self.csv("id,wkt", *rows))
        (number, reason), = self.reasons(report)
        self.assertEqual(number, 1)
        self.assertRegex(reason, "(?i)self-intersection")

    def test_malformed(self):
        rows = ['a,"POINT (1 2)"', 'b,"POINT (1 2"', "c,nowhere", 'd,"POINT (1 2x)"']
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: wkt}}"), self.csv("id,wkt", *rows))
        self.assertEqual({n for n, r in self.reasons(report) if r == "not well-known text"}, {2, 3, 4})
        self.assertEqual(list(self.at()), ["a"])


class Origins(Geometry):
    def test_ewkt(self):
        rows = ['a,"SRID=4326;POINT (1 2)"', 'b,"SRID=3857;POINT (1 2)"', 'c,"POINT (3 4)"']
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkt: wkt}}"), self.csv("id,wkt", *rows))
        self.assertEqual(self.quarantine(report, "row_number, reason, value"), [(2, "the SRID inside is not the declared EPSG:4326", "3857")])
        self.assertEqual(self.at(), {"a": (1, 2), "c": (3, 4)})

    def test_hexadecimal_wkb(self):
        iso = struct.pack("<BIdd", 1, 1, 1, 2).hex().upper()
        ewkb = struct.pack("<BIIdd", 1, 0x20000001, 4326, 3, 4).hex()
        other = struct.pack("<BIIdd", 1, 0x20000001, 3857, 3, 4).hex()
        big = struct.pack(">BIdd", 0, 1, 5, 6).hex()
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkb: geom}}"),
                           self.csv("id,geom", f"a,{iso}", f"b,{ewkb}", f"c,{other}", f"d,{big}", f"e,{iso[:-2]}", "f,zz"))
        self.assertEqual(self.at(), {"a": (1, 2), "b": (3, 4), "d": (5, 6)})
        bad = self.reasons(report)
        self.assertEqual(sorted({n for n, _ in bad}), [3, 5, 6])
        self.assertIn((3, "the SRID inside is not the declared EPSG:4326"), bad)
        self.assertIn((6, "not hexadecimal WKB"), bad)

    def test_argentina(self):
        data = self.shared("real/argentina/argentina_power_plants_general.csv")
        report = self.load(self.geometry_spec("{crs: EPSG:4326, from: {wkb: geom}, missing: allow}", key="{identity: [central, empresa]}"), data)
        self.assertEqual((report["rows_written"], report["quarantined"]), (449, 0))
        west, south, east, north = self.geo()["bbox"]
        self.assertTrue(-74 < west < east < -53 and -70 < south < north < -21, self.geo()["bbox"])

    def test_line_of_end_points(self):
        self.load(self.geometry_spec("{crs: EPSG:4326, from: {line: [x0, y0, x1, y1]}}"), self.csv("id,x0,y0,x1,y1", "a,1,2,3,4"))
        (_, line), = self.shapes("", "id")
        self.assertEqual(list(line.coords), [(1, 2), (3, 4)])
        self.assertEqual(self.geo()["geometry_types"], ["LineString"])

    def test_column_names_of_source_and_dataset(self):
        data = self.csv("id,Longitude (deg),lat", "a,-99,30")
        self.load(self.geometry_spec("{crs: EPSG:4326, from: {lon: longitude (DEG), lat: lat}}"), data)
        self.assertEqual(self.at(), {"a": (-99, 30)})
        self.refused(self.geometry_spec("{crs: EPSG:4326, from: {lon: lon, lat: lat}}"), data, said=["the geometry's column lon is not there"])

    def test_none(self):
        data = self.write("in.geojson", collection([feature(point(1, 2), id="a")]))
        self.load(self.geometry_spec("none"), data)
        self.assertNotIn("geo", self.metadata("")[1])


main()
