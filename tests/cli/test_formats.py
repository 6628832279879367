# SPDX-License-Identifier: Apache-2.0
"""One table and one point layer, saved by other programs as CSV, XLSX, GeoJSON, GeoPackage, Shapefile and FlatGeobuf, load to the
same keys and, where the format can hold the values, to the same content fingerprint. What a format can't hold is stated here."""
import csv
import datetime
import warnings

from loading import Loading
from support import REFUSED, main

UTC = datetime.timezone.utc
COUNT = 60
# Longitudes and latitudes that six decimals write exactly: GeoJSON by the letter of its RFC has seven.
TYPES = {"site_id": "{type: text, required: true}", "name": "{type: text}", "units": "{type: integer}", "mw": "{type: double}",
         "opened": "{type: date}"}
# What a Shapefile can't hold: a name of more than ten letters, a time of day, and in older GDALs a boolean.
MORE = {"in_service_since": "{type: timestamptz, zone: UTC}",
        "online": "{type: boolean, true: ['true', 'TRUE', '1'], false: ['false', 'FALSE', '0']}"}


def make_rows():
    for i in range(COUNT):
        yield {"site_id": f"{i * 37 % COUNT:04}", "state": ("TX", "NM", "OK")[i % 3], "name": None if i == 7 else f"Cañón {i}, Söder \"{i}\"",
               "units": None if i == 11 else (i - 9) * 10**6, "mw": None if i == 13 else i / 8 + 0.1,
               "opened": None if i == 17 else datetime.date(1999, 12, 31) + datetime.timedelta(days=97 * i),
               "in_service_since": None if i == 19 else datetime.datetime(2024, 6, 30, 23, 59, 58, 250000) + datetime.timedelta(hours=i * 7),
               "online": None if i == 23 else i % 2 == 0,
               "lon": round(-103 + i / 7, 6), "lat": round(29 + i / 9, 6)}


class Formats(Loading):
    dataset = "sites"

    def setUp(self):
        super().setUp()
        self.pandas, self.pyogrio, self.shapely = self.need("pandas"), self.need("pyogrio"), self.need("shapely")
        self.need("pyarrow")
        self.rows = list(make_rows())

    # ---- other programs' files ----

    def as_csv(self, names):
        path = self.dir / "sites.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(names)
            for row in self.rows:
                out.writerow(["" if row[n] is None else str(row[n]).lower() if n == "online" else row[n].isoformat() if hasattr(row[n], "isoformat")
                              else repr(row[n]) if isinstance(row[n], float) else row[n] for n in names])
        return path

    def as_xlsx(self, names):
        book = self.need("openpyxl").Workbook()
        book.active.append(names)
        for row in self.rows:
            book.active.append([row[n] for n in names])
        path = self.dir / "sites.xlsx"
        book.save(path)
        return path

    def as_layer(self, names, driver, suffix, geometry, **options):
        """By pyogrio, whose GDAL is another than the program's; without the driver a load skips the test (support.py)."""
        if driver not in self.pyogrio.list_drivers():
            self.skipTest(f"pyogrio's GDAL has no {driver} driver")
        frame = self.pandas.DataFrame({n: self.column(n) for n in names if n not in ("lon", "lat")})
        if geometry:
            points = [self.shapely.Point(r["lon"], r["lat"]) for r in self.rows]
            frame = self.need("geopandas").GeoDataFrame(frame, geometry=points, crs="EPSG:4326")
        path = self.dir / f"sites.{suffix}"
        self.pyogrio.write_dataframe(frame, path, driver=driver, **options)
        return path

    def column(self, name):
        values = [row[name] for row in self.rows]
        if name == "units":
            return self.pandas.array(values, dtype="Int64")
        if name == "online":
            return self.pandas.array(values, dtype="boolean")
        if name == "in_service_since":
            return self.pandas.to_datetime(values, utc=True)
        if name == "opened":
            pyarrow = self.need("pyarrow")
            return self.pandas.array(values, dtype=self.pandas.ArrowDtype(pyarrow.date32()))
        return values

    # ---- loads ----

    def load_as(self, label, path, types, geometry):
        """Into a lake of its own: {partition: content fingerprint}, and all keys."""
        self.lake = f"lake_{label}"
        columns = dict(types)
        if geometry and path.suffix in (".csv", ".xlsx"):
            columns.update(lon="{type: double, keep: false}", lat="{type: double, keep: false}")
            where = "{crs: EPSG:4326, from: {lon: lon, lat: lat}}"
        else:
            where = "{crs: EPSG:4326}" if geometry else "none"
        spec = self.queue_spec(columns, name=f"{label}.yaml", dataset=self.dataset, root=self.lake, key="{identity: [state, site_id]}",
                               partition="[state]", revision=None, geometry=where)
        report = self.load(spec, path)
        self.assertEqual((report["rows_in"], report["rows_written"]), (COUNT, COUNT))
        self.recloser("verify", spec)
        keys = sorted(key for partition in self.partitions() for key, in self.table(partition, "asset_key"))
        return {p["partition"]: p["content_fingerprint"] for p in report["partitions"]}, keys

    def compare(self, geometry, types, formats):
        names = ["site_id", "state", *[n for n in types if n != "site_id"], *(["lon", "lat"] if geometry else [])]
        wanted = self.load_as("csv", self.as_csv(names), types, geometry)
        self.assertEqual((len(wanted[0]), len(set(wanted[1]))), (3, COUNT))
        for label, make in formats.items():
            with self.subTest(label):
                found = self.load_as(label, make(names), types, geometry)
                self.assertEqual(found[1], wanted[1], "keys")
                self.assertEqual(found[0], wanted[0], "content fingerprints")
        return wanted

    def layers(self, geometry):
        return {"geojson": lambda names: self.as_layer(names, "GeoJSON", "geojson", geometry),
                "gpkg": lambda names: self.as_layer(names, "GPKG", "gpkg", geometry),
                # a spatial index wants a shape of every feature
                "fgb": lambda names: self.as_layer(names, "FlatGeobuf", "fgb", geometry, **({} if geometry else {"SPATIAL_INDEX": "NO"}))}

    FULL = {**TYPES, **MORE}

    def test_points(self):
        self.compare(True, self.FULL, {"xlsx": self.as_xlsx, **self.layers(True)})

    def test_table(self):
        self.compare(False, self.FULL, {"xlsx": self.as_xlsx, **self.layers(False)})

    def test_points_as_a_shapefile(self):
        """With the columns that it can hold, equal to all others."""
        self.compare(True, TYPES, {"shp": lambda names: self.as_layer(names, "ESRI Shapefile", "shp", True, encoding="UTF-8"), **self.layers(True)})

    def test_table_as_a_dbase_file(self):
        """A Shapefile without shapes is its .dbf."""
        self.compare(False, TYPES, {"dbf": lambda names: self.as_layer(names, "ESRI Shapefile", "dbf", False, encoding="UTF-8")})

    def test_what_a_shapefile_does_not_hold(self):
        """Names are cut at ten letters and a time of day goes as text: with both said in the spec even that comes to the same."""
        names = ["site_id", "state", "in_service_since"]
        types = {"site_id": TYPES["site_id"], "in_service_since":
                 "{type: timestamptz, zone: UTC, from: [in_service_since, in_service], format: [iso, '%Y/%m/%d %H:%M:%S.%f%z']}"}
        with warnings.catch_warnings(action="ignore"):  # pyogrio says both as well
            path = self.as_layer(names, "ESRI Shapefile", "shp", True, encoding="UTF-8")
        self.assertEqual([n for n in self.pyogrio.read_info(path)["fields"] if n.startswith("in_")], ["in_service"])
        plain = self.queue_spec({}, name="plain.yaml", root="plain", key="{identity: [in_service_since]}", partition="[]", revision=None,
                                geometry="{crs: EPSG:4326}")
        self.assertIn("in_service", self.load(plain, path, code=REFUSED)["error"]["hint"])  # the near one is named
        self.assertEqual(self.load_as("shp", path, types, True), self.load_as("csv", self.as_csv([*names, "lon", "lat"]), types, True))

    def test_a_driver_that_is_not_there(self):
        """GDAL builds differ: what is missing is said by name, before another driver makes something else of the file."""
        for driver, suffix in (("FlatGeobuf", "fgb"), ("GPKG", "gpkg"), ("ESRI Shapefile", "shp")):
            with self.subTest(driver):
                path = self.as_layer(["site_id", "state"], driver, suffix, True)
                spec = self.queue_spec({}, name="no.yaml", root="no", key="{identity: [site_id]}", partition="[]", revision=None, geometry=None)
                error = self.recloser_json("load", spec, path, code=REFUSED, env={"GDAL_SKIP": f"{driver},SQLite"})["error"]
                self.assertEqual(error["code"], "ogr.driver")
                self.assertIn(f"no {driver} driver", error["what"])


main()
