# SPDX-License-Identifier: Apache-2.0
"""Other people's Parquet and GeoParquet files: the test data of the GeoParquet specification, of Parquet, and of geopandas. The
good ones load and read back equal, column by column and geometry by geometry; the bad ones are refused or quarantined, each with
the reason that its collection gives for calling it bad."""
import json
import math
import shutil

from support import Case, main

SPEC = """
dataset: t
root: lake
source: {files: "*.parquet"}
key: {identity: [{sql: row_number}]}
partition: []
"""


class Parquet(Case):
    def setUp(self):
        super().setUp()
        self.parquet = self.need("pyarrow.parquet")

    def load(self, path, more="", code=0):
        """Load one file into a dataset of its own; the report."""
        shutil.rmtree(self.dir / "lake", ignore_errors=True)
        return self.recloser_json("load", self.spec(SPEC + more), path, code=code)

    def written(self):
        return self.parquet.ParquetFile(self.dir / "lake/t/part.parquet").read()

    def geo(self, path=None):
        metadata = self.parquet.read_metadata(path or self.dir / "lake/t/part.parquet").metadata or {}
        return json.loads(metadata.get(b"geo", b"null"))

    def rows(self, table, without=()):
        """Rows that compare equal: NaN is a word, and what cannot be compared is left out by name."""
        def plain(value):
            if isinstance(value, float) and math.isnan(value):
                return "NaN"
            if isinstance(value, dict):
                return {k: plain(v) for k, v in value.items()}
            if isinstance(value, list):
                return [tuple(map(plain, v)) if isinstance(v, tuple) else plain(v) for v in value]
            return value
        names = [n for n in table.column_names if n not in without]
        return [{n: plain(row[n]) for n in names} for row in table.select(names).to_pylist()]

    def stored(self, values):
        """WKB of another writer in the form that is stored: little-endian, ISO."""
        shapely = self.need("shapely")
        return [None if v is None else shapely.to_wkb(shapely.from_wkb(v), byte_order=1, flavor="iso", output_dimension=4) for v in values]


class Good(Parquet):
    def compare(self, path, geometry="geometry"):
        report = self.load(path, "geometry: {missing: allow}\n")
        source, result = self.parquet.ParquetFile(path).read(), self.written()
        self.assertEqual(report["rows_written"], source.num_rows)
        theirs = (self.geo(path) or {}).get("columns", {})
        covering = theirs.get(geometry, {}).get("covering", {}).get("bbox", {}).get("xmin", [None])[0]
        left_out = {geometry, covering}
        self.assertEqual(self.rows(result, left_out | {"asset_key", "bbox", "geometry"}), self.rows(source, left_out))
        mine = self.geo()
        self.assertEqual(mine["version"], "1.1.0")
        column = mine["columns"]["geometry"]
        self.assertEqual(column["encoding"], "WKB")
        for member in ("edges", "orientation", "epoch"):
            self.assertEqual(column.get(member), theirs.get(geometry, {}).get(member), member)
        if "NATIVE" not in path.name and theirs.get(geometry, {}).get("encoding", "WKB") == "WKB":
            self.assertEqual(result["geometry"].to_pylist(), self.stored(source[geometry].to_pylist()))
        self.recloser("verify", self.dir / "spec.yaml")
        return theirs.get(geometry, {}), column

    def test_geoparquet_test_data(self):
        files = sorted(self.shared("real/geoparquet-testing/data").rglob("*.parquet"))
        self.assertEqual(len(files), 34)
        for path in files:
            with self.subTest(path.name):
                theirs, column = self.compare(path, "footprint" if path.parent.name == "multi_geometry" else "geometry")
                crs = theirs.get("crs", {"id": {"authority": "OGC", "code": "CRS84"}})
                if "id" in crs:
                    self.assertEqual(column["crs"]["id"], crs["id"])
                else:
                    self.assertEqual(column["crs"]["name"], crs["name"])

    def test_a_second_geometry_column_is_kept_as_bytes(self):
        path = self.shared("real/geoparquet-testing/data/multi_geometry/two-geom-columns-different-crs.parquet")
        report = self.load(path)
        self.assertIn("centroid", " ".join(report["warnings"]))
        self.load(path, "geometry: {from: {column: footprint}, column: footprint}\n")
        self.assertEqual(self.geo()["primary_column"], "footprint")

    def test_dimensions_are_kept_and_declared(self):
        folder = self.shared("real/geoparquet-testing/data/zm")
        for name, types, sides in [("xyz", ["LineString Z"], 6), ("xym", [], 4), ("xyzm", [], 6)]:
            with self.subTest(name):
                self.load(folder / f"linestring-{name}-native-geometry.parquet")
                column = self.geo()["columns"]["geometry"]
                # The format has no word for M: an empty list says that the types are not known.
                self.assertEqual(column["geometry_types"], types)
                self.assertEqual(len(column["bbox"]), sides)

    def test_ogc_examples(self):
        folder = self.shared("real/ogc-geoparquet")
        shapely = self.need("shapely")
        for path in sorted(folder.rglob("*.parquet")):
            with self.subTest(path.name):
                self.compare(path)
                twin = path.with_name(path.name.replace("-encoding_wkb.parquet", "-wkt.csv"))
                if twin != path:
                    import csv
                    with open(twin, newline="") as file:
                        wanted = [row["geometry"] for row in csv.DictReader(file)]
                    got = [None if g is None else shapely.from_wkb(g).wkt for g in self.written()["geometry"].to_pylist()]
                    self.assertEqual(got, [shapely.from_wkt(w).wkt if w else None for w in wanted])

    def test_five_generations_of_metadata(self):
        files = sorted(self.shared("real/geopandas").glob("test_data_*.parquet"))
        self.assertEqual(len(files), 5)
        for path in files:
            with self.subTest(path.name):
                _, column = self.compare(path)
                self.assertIn(column["crs"]["id"], [{"authority": "EPSG", "code": 4326}, {"authority": "OGC", "code": "CRS84"}])

    def test_geoarrow_encodings(self):
        geopandas = self.need("geopandas")
        files = sorted(self.shared("real/geopandas").glob("data-*-encoding_native.parquet"))
        self.assertEqual(len(files), 4)
        for path in files:
            with self.subTest(path.name):
                self.compare(path)
                source = geopandas.read_parquet(path)
                self.assertEqual(self.written()["geometry"].to_pylist(), [None if g is None else g.wkb for g in source.geometry])

    def test_parquets_own_geometry_types(self):
        shapely = self.need("shapely")
        folder = self.shared("real/parquet-testing/data/geospatial")
        for name, crs, edges in [("crs-default", "CRS84", None), ("crs-geography", "CRS84", "spherical"), ("crs-projjson", 5070, None),
                                 ("crs-srid", 5070, None), ("geography-points", "CRS84", "spherical"),
                                 ("geography-lines", "CRS84", "spherical"), ("geography-polygons", "CRS84", "spherical")]:
            with self.subTest(name):
                path = folder / f"{name}.parquet"
                source = self.parquet.ParquetFile(path).read()
                self.load(path)
                column = self.geo()["columns"]["geometry"]
                self.assertEqual(column["crs"]["id"]["code"], crs)
                self.assertEqual(column.get("edges"), edges)
                geometry = "geography" if name == "crs-geography" else "geometry"
                self.assertEqual(self.written()["geometry"].to_pylist(), self.stored(source[geometry].to_pylist()))
        path = folder / "geospatial.parquet"
        self.assertEqual(self.load(path, "geometry: {missing: allow}\n")["rows_written"], 196)
        for row in self.written().to_pylist():
            if row["geometry"] is not None:
                self.assertEqual(shapely.from_wkb(row["geometry"]).wkt, shapely.from_wkt(row["wkt"]).wkt)

    def test_a_file_of_its_own_making(self):
        path = self.shared("real/ogc-geoparquet/examples/example.parquet")
        self.load(path)
        (self.dir / "lake/t/part.parquet").rename(self.dir / "own.parquet")
        before = self.parquet.ParquetFile(self.dir / "own.parquet").read()
        self.load(self.dir / "own.parquet", "other_columns: keep\n".replace("keep", "drop"))
        self.load(self.dir / "own.parquet", "columns: {old_key: {from: asset_key, keep: false}}\n")
        self.assertEqual(self.written().sort_by("name"), before.sort_by("name"))

    def test_plain_parquet(self):
        """Codecs, page versions, encodings and nested types: as many rows as pyarrow reads, and where the types are the same,
        the same values."""
        unreadable = {"byte_stream_split_extended.gzip.parquet": "BYTE_STREAM_SPLIT", "map_no_value.parquet": "MAP_KEY_VALUE",
                      "hadoop_lz4_compressed.parquet": "LZ4", "hadoop_lz4_compressed_larger.parquet": "LZ4",
                      "non_hadoop_lz4_compressed.parquet": "LZ4", "column_chunk_key_value_metadata.parquet": "no rows",
                      "repeated_no_annotation.parquet": "it holds 0 rows, its row groups say 6",
                      # Pyarrow reads these two unless it is told to look at the CRC, which is made to be wrong.
                      "datapage_v1-corrupt-checksum.parquet": "CRC", "rle-dict-uncompressed-corrupt-checksum.parquet": "CRC"}
        compared = 0
        for path in sorted(self.shared("real/parquet-testing/data").glob("*.parquet")):
            if path.name == "large_string_map.brotli.parquet":
                continue  # two texts of a gigabyte each
            with self.subTest(path.name):
                if path.name in unreadable:
                    report = self.load(path, "geometry: none\n", code=3)
                    self.assertIn(unreadable[path.name], report["error"]["what"])
                    continue
                report = self.load(path, "geometry: none\n")
                try:
                    source = self.parquet.ParquetFile(path).read()
                except Exception:  # the engine reads what this pyarrow does not
                    continue
                self.assertEqual(report["rows_written"], source.num_rows)
                result = self.written()
                same = [n for n in source.column_names if n in result.column_names and source.schema.field(n).type == result.schema.field(n).type]
                compared += len(same)
                self.assertEqual(self.rows(result.select(same)), self.rows(source.select(same)))
        self.assertGreater(compared, 100)


class Bad(Parquet):
    # What the collection's manifest calls the failure, and words of the reason that is given here.
    WORDS = {"bbox_mismatch": "outside the bbox", "schema_validation_error": "GeoParquet metadata",
             "metadata_invalid_json": "not a valid JSON", "metadata_invalid_utf8": "not UTF-8", "geometry_type_mismatch": "geometry_types:",
             "orientation_mismatch": "wound clockwise", "version_feature_mismatch": "epoch", "epoch_unsupported": "epoch",
             "version_unknown": "version 99.0.0, which is not known", "wkb_parse_error": "WKB", "zm_mismatch": "geometry_types:",
             "crs-invalid-projjson.parquet": "CRS is none that PROJ understands"}

    def test_geoparquet_bad_data(self):
        folder = self.shared("real/geoparquet-testing/bad_data")
        manifest = json.loads((folder / "manifest.json").read_text())
        files = sorted(folder.glob("*.parquet"))
        self.assertEqual(len(files), 11)
        for path in files:
            with self.subTest(path.name):
                kind = manifest[path.name]["expected_failure"]
                if kind == "edges_mismatch":
                    # A line from -179 to 179. The collection's good file edges-spherical.parquet has one from 170 to -170: both
                    # go over the antimeridian, nothing tells them apart, so both load, and both draw a warning.
                    self.assertIn("crosses the antimeridian", " ".join(self.load(path)["warnings"]))
                    continue
                error = self.load(path, code=3)["error"]
                self.assertIn(self.WORDS.get(path.name, self.WORDS[kind]), f'{error["what"]}\n{error["where"]}')
                self.assertFalse((self.dir / "lake/t").exists() and list((self.dir / "lake/t").rglob("*.parquet")))

    def test_one_bad_geometry_is_one_bad_row(self):
        folder = self.shared("real/geoparquet-testing/bad_data")
        for name in ("wkb-truncated", "wkb-wrong-type-byte"):
            with self.subTest(name):
                report = self.load(folder / f"{name}.parquet", "quarantine: {max: 50%}\n")
                self.assertEqual((report["rows_written"], report["quarantined"]), (1, 1))

    def test_claims_that_do_not_hold(self):
        """Made here from one good file, for what the collection has no file of."""
        pa = self.need("pyarrow")
        geopandas, shapely = self.need("geopandas"), self.need("shapely")
        frame = geopandas.GeoDataFrame({"id": [1, 2]}, geometry=[shapely.Point(1, 2), shapely.Point(3, 4)], crs=4326)
        frame.to_parquet(self.dir / "good.parquet")
        table = self.parquet.read_table(self.dir / "good.parquet")
        claims = [({"bbox": [100, 100, 101, 101]}, "outside the bbox"), ({"bbox": [1, 2, 3]}, "bbox"), ({"geometry_types": ["Polygon"]}, "geometry_types: Polygon"),
                  ({"edges": "geodesic"}, "edges"), ({"orientation": "clockwise"}, "orientation"), ({"epoch": "soon"}, "epoch"),
                  ({"crs": 4326}, "crs"), ({"encoding": "WKT"}, "WKT"), ({"encoding": "point"}, "encoded as point"), ({"epoch": 2020.5}, "epoch")]
        for claim, words in claims:
            with self.subTest(claim):
                geo = json.loads(table.schema.metadata[b"geo"])
                geo["columns"]["geometry"].update(claim)
                self.parquet.write_table(table.replace_schema_metadata({b"geo": json.dumps(geo).encode()}), self.dir / "claim.parquet")
                error = self.load(self.dir / "claim.parquet", code=3)["error"]
                self.assertIn(words, f'{error["what"]}\n{error["where"]}')
        for changed, words in [(lambda geo: geo.update(version="99.0.0"), "99.0.0"), (lambda geo: geo.pop("version"), "no `version`"),
                               (lambda geo: geo.update(primary_column="shape"), "shape")]:
            geo = json.loads(table.schema.metadata[b"geo"])
            changed(geo)
            self.parquet.write_table(table.replace_schema_metadata({b"geo": json.dumps(geo).encode()}), self.dir / "claim.parquet")
            self.assertIn(words, self.load(self.dir / "claim.parquet", code=3)["error"]["what"])
        self.parquet.write_table(table.replace_schema_metadata({b"geo": b'{"version": "1.0.0\xff"}'}), self.dir / "claim.parquet")
        self.assertIn("not UTF-8", self.load(self.dir / "claim.parquet", code=3)["error"]["what"])
        # A float's rounding of the box is no contradiction, and a box across the antimeridian holds every longitude.
        for bbox in ([1, 2, 3 - 1e-7, 4 - 1e-7], [170, -90, -170, 90]):
            geo = json.loads(table.schema.metadata[b"geo"])
            geo["columns"]["geometry"]["bbox"] = bbox
            self.parquet.write_table(table.replace_schema_metadata({b"geo": json.dumps(geo).encode()}), self.dir / "claim.parquet")
            self.assertEqual(self.load(self.dir / "claim.parquet")["rows_written"], 2)

    def test_parquet_bad_data(self):
        folder = self.shared("real/parquet-testing/bad_data")
        report = self.load(folder / "ARROW-GH-47662.parquet", "geometry: none\n", code=3)
        self.assertIn("could not read", report["error"]["what"])
        drop = "geometry: none\nother_columns: drop\ncolumns: {a: {from: timestamp_us_no_tz}}\n"
        report = self.load(folder / "ARROW-GH-41317.parquet", drop, code=3)
        self.assertRegex(report["error"]["what"], "contradicts itself: 0 of 3 values are there, then byte [0-9]+ begins no page")
        report = self.load(folder / "ARROW-RS-GH-6229-LEVELS.parquet", "geometry: none\n", code=3)
        self.assertIn("its pages hold 21 values, its footer says 1", report["error"]["what"])
        self.assertIn("row group 0, column outer, list, item, c", report["error"]["where"])
        # An index of no bits means the first word of the dictionary: Arrow calls it readable since, and reads the same.
        self.load(folder / "ARROW-GH-43605.parquet", "geometry: none\n")
        self.assertEqual(self.written()["min_fl"].to_pylist(), self.parquet.read_table(folder / "ARROW-GH-43605.parquet")["min_fl"].to_pylist())

    def test_nan_in_a_point_is_quarantined(self):
        path = self.shared("real/parquet-testing/data/geospatial/geospatial-with-nan.parquet")
        error = self.load(path, code=3)["error"]
        self.assertIn("not finite", error["where"])

    def test_cut_anywhere(self):
        path = self.shared("real/geoparquet-testing/data/crs/crs-epsg-4326.parquet")
        whole = path.read_bytes()
        for size in (0, 3, 8, 100, len(whole) // 2, len(whole) - 1):
            with self.subTest(size):
                self.load(self.write("cut.parquet", whole[:size]), code=3)


main()
