# SPDX-License-Identifier: Apache-2.0
"""Default readers just work: the tree, parts of it and single files, with the lines that docs/format.md gives to each reader, for
the three ways in which partition columns can stand in a file. Each column is there once, in its declared type, with equal rows."""
import datetime
import json
import math
import pathlib
import shutil
import subprocess
import sys

from support import Case, main

STATES = ["TX", "OK", "N Y/Q"]
MONTHS = ["2025-06", "2025-07"]
COLUMNS = ["asset_key", "id", "name", "mw", "day", "units", "state", "month", "geometry", "bbox"]
EACH = 20

# A corner to count from and a step, in the units of the system.
SYSTEMS = {"EPSG:4326": (-100.0, 30.0, 0.01), "EPSG:3857": (-11131949.0, 3503549.0, 1000.0), "EPSG:5070": (-400000.0, 900000.0, 1000.0),
           "EPSG:26914": (500000.0, 3320000.0, 1000.0)}


def shape(kind, x, y, step):
    if kind == "TX":
        return f"POINT ({x!r} {y!r})"
    if kind == "OK":
        return f"POINT Z ({x!r} {y!r} 7.5)"
    return f"LINESTRING ({x!r} {y!r}, {x + step!r} {y + step!r})"


def make_rows(crs, nulls=False, mixed=False):
    x0, y0, step = SYSTEMS[crs]
    rows = []
    for s, state in enumerate(STATES):
        for m, month in enumerate(MONTHS):
            for i in range(EACH):
                number = (s * 2 + m) * EACH + i
                kind = STATES[i % 3] if mixed else state
                rows.append({"id": f"{number:04}", "name": "" if i == 3 else f"plant {number}, ü", "mw": None if i == 4 else number / 4,
                             "day": datetime.date(2025, 1, 1) + datetime.timedelta(days=number), "units": number * 10**12,
                             "state": state, "month": month,
                             "wkt": None if nulls and i == 5 else shape(kind, x0 + number * step, y0 + i * step, step)})
    return rows


class Readers(Case):
    def tree_of(self, copy="dictionary", crs="EPSG:4326", more="", **what):
        """A loaded dataset; its rows by id."""
        shutil.rmtree(self.dir / "lake", ignore_errors=True)
        rows = make_rows(crs, **what)
        lines = ["id;name;mw;day;units;state;month;wkt"]
        for row in rows:
            values = [row["id"], f'"{row["name"]}"', "" if row["mw"] is None else repr(row["mw"]), row["day"].isoformat(), str(row["units"]),
                      row["state"], row["month"], row["wkt"] or ""]
            lines.append(";".join(values))
        source = self.write("rows.csv", "\n".join(lines) + "\n")
        missing = ", missing: allow" if what.get("nulls") else ""
        spec = self.spec(f"""
dataset: plants
root: lake
source: {{files: "*.csv", csv: {{delimiter: semicolon}}, missing: []}}
key: {{id: id}}
partition: [state, month]
partition_columns: {copy}
geometry: {{crs: "{crs}", from: {{wkt: wkt}}, covering: on{missing}}}
columns:
  id:    {{type: text}}
  name:  {{type: text}}
  mw:    {{type: double, missing: [""]}}
  day:   {{type: date}}
  units: {{type: integer}}
{more}""")
        report = self.recloser_json("load", spec, source)
        self.assertEqual((report["rows_written"], len(report["partitions"])), (120, 6))
        self.assertEqual(report["warnings"], [])
        return {row["id"]: row for row in rows}

    @property
    def tree_path(self):
        return str(self.dir / "lake/plants")

    @property
    def file_path(self):
        return str(self.dir / "lake/plants/state=N%20Y%2FQ/month=2025-06/part.parquet")

    # ---- what every reader must give ----

    def expect(self, rows, records, geometry=True, of=None, columns=None):
        """`records`: dicts of one reader; `of`: the ids that it must give (all)."""
        shapely = self.need("shapely")
        ids = sorted(of if of is not None else rows)
        self.assertEqual(sorted(record["id"] for record in records), ids)
        for record in records:
            row = rows[record["id"]]
            for name in columns or ["name", "mw", "day", "units", "state", "month"]:
                value = record[name]
                if isinstance(value, float) and math.isnan(value):
                    value = None
                if isinstance(value, datetime.datetime):
                    value = value.date()
                self.assertEqual(value, row[name], (name, record))
            if geometry:
                bytes_ = record["geometry"]
                if bytes_ is not None and not isinstance(bytes_, bytes):
                    bytes_ = bytes(bytes_) if isinstance(bytes_, (bytearray, memoryview)) else \
                        shapely.to_wkb(bytes_, byte_order=1, flavor="iso")
                self.assertEqual(bytes_, None if row["wkt"] is None else shapely.to_wkb(shapely.from_wkt(row["wkt"]), byte_order=1, flavor="iso"))

    def expect_table(self, rows, table, **more):
        """An Arrow table: each column once, its type as declared."""
        pa = self.need("pyarrow")
        names = more.pop("names", COLUMNS)
        self.assertEqual(sorted(table.column_names), sorted(names))
        for name, type_ in {"id": pa.string(), "mw": pa.float64(), "day": pa.date32(), "units": pa.int64()}.items():
            self.assertEqual(table.schema.field(name).type, type_, name)
        for name in ("state", "month"):
            if name in names:
                type_ = table.schema.field(name).type
                self.assertEqual(type_.value_type if pa.types.is_dictionary(type_) else type_, pa.string(), name)
        self.expect(rows, table.to_pylist(), **more)

    def expect_frame(self, rows, frame, names=COLUMNS, **more):
        """A pandas or geopandas frame."""
        self.assertEqual(sorted(frame.columns), sorted(names))
        self.expect(rows, frame.astype({n: object for n in frame.columns if n in ("state", "month", "day")}).to_dict("records"), **more)

    def expect_geo_frame(self, rows, frame, crs, **more):
        self.assertTrue(frame.crs.equals(crs), frame.crs)
        self.assertEqual(frame.geometry.name, "geometry")
        # geopandas leaves the boxes out by itself
        self.expect_frame(rows, frame, names=more.pop("names", [c for c in COLUMNS if c != "bbox"]), **more)

    def in_tx(self, rows):
        return [i for i, row in rows.items() if row["state"] == "TX"]

    def in_file(self, rows):
        return [i for i, row in rows.items() if row["state"] == "N Y/Q" and row["month"] == "2025-06"]


class Trees(Readers):
    """The whole tree."""

    def test_pandas(self):
        pandas = self.need("pandas")
        for copy, line in {"dictionary": {}, "path": {}, "plain": {"partitioning": None}}.items():
            with self.subTest(copy):
                rows = self.tree_of(copy)
                self.expect_frame(rows, pandas.read_parquet(self.tree_path, **line))
                self.expect_frame(rows, pandas.read_parquet(self.tree_path, filters=[("state", "==", "TX")], **line), of=self.in_tx(rows))
                frame = pandas.read_parquet(self.tree_path, columns=["id", "mw"], **line)
                self.assertTrue({"id", "mw"} <= set(frame.columns) <= {"id", "mw", "state", "month"})
        with self.assertRaises(Exception):
            self.tree_of("plain")
            pandas.read_parquet(self.tree_path)

    def test_geopandas(self):
        geopandas = self.need("geopandas")
        for copy, crs, what in [("dictionary", "EPSG:4326", {}), ("dictionary", "EPSG:3857", {"nulls": True}),
                                ("dictionary", "EPSG:5070", {"mixed": True}), ("dictionary", "EPSG:26914", {"nulls": True, "mixed": True}),
                                ("path", "EPSG:4326", {"nulls": True}), ("plain", "EPSG:5070", {"mixed": True})]:
            line = {"partitioning": None} if copy == "plain" else {}
            with self.subTest((copy, crs)):
                rows = self.tree_of(copy, crs, **what)
                self.expect_geo_frame(rows, geopandas.read_parquet(self.tree_path, **line), crs)
                self.expect_geo_frame(rows, geopandas.read_parquet(self.tree_path, filters=[("state", "==", "TX")], **line), crs, of=self.in_tx(rows))
                frame = geopandas.read_parquet(self.tree_path, columns=["id", "mw", "geometry"], **line)
                self.assertTrue({"id", "mw", "geometry"} <= set(frame.columns) <= {"id", "mw", "geometry", "state", "month"})
                self.expect(rows, frame.to_dict("records"), columns=["mw"])
                x0, y0, step = SYSTEMS[crs]
                box = (x0 - step / 2, y0 - step / 2, x0 + step * 9.5, y0 + step * 30)
                inside = geopandas.read_parquet(self.tree_path, bbox=box, **line)
                self.expect_geo_frame(rows, inside, crs, of=[i for i, row in rows.items() if int(i) <= 9 and row["wkt"]])

    def test_pyarrow_table(self):
        parquet = self.need("pyarrow.parquet")
        for copy, line in {"dictionary": {}, "path": {}, "plain": {"partitioning": None}}.items():
            with self.subTest(copy):
                rows = self.tree_of(copy, nulls=True)
                self.expect_table(rows, parquet.read_table(self.tree_path, **line))
                self.expect_table(rows, parquet.read_table(self.tree_path, filters=[("state", "==", "TX")], **line), of=self.in_tx(rows))

    def test_pyarrow_dataset(self):
        dataset = self.need("pyarrow.dataset")
        # As docs/format.md has it: the discovery that pandas uses, where the files hold dictionaries.
        lines = {"dictionary": dataset.HivePartitioning.discover(infer_dictionary=True), "plain": "hive", "path": "hive"}
        for copy, partitioning in lines.items():
            with self.subTest(copy):
                rows = self.tree_of(copy, mixed=True)
                found = dataset.dataset(self.tree_path, format="parquet", partitioning=partitioning)
                self.expect_table(rows, found.to_table())
                self.expect_table(rows, found.to_table(filter=dataset.field("state") == "TX"), of=self.in_tx(rows))
        self.tree_of("dictionary")
        with self.assertRaises(Exception):
            dataset.dataset(self.tree_path, format="parquet", partitioning="hive").to_table()
        rows = self.tree_of("dictionary")
        self.expect_table(rows, dataset.dataset(self.tree_path, format="parquet").to_table())

    def test_duckdb(self):
        duckdb = self.need("duckdb")
        for copy in ("dictionary", "plain", "path"):
            with self.subTest(copy):
                rows = self.tree_of(copy, "EPSG:5070", nulls=True)
                found = duckdb.sql(f"SELECT * FROM '{self.tree_path}/**/*.parquet'")
                self.assertEqual(sorted(found.columns), sorted(COLUMNS))
                types = dict(zip(found.columns, map(str, found.types)))
                self.assertEqual([types[c] for c in ("id", "name", "mw", "day", "units", "state", "month")],
                                 ["VARCHAR", "VARCHAR", "DOUBLE", "DATE", "BIGINT", "VARCHAR", "VARCHAR"])
                self.assertIn("GEOMETRY", types["geometry"])
                self.expect(rows, [dict(zip(found.columns, row)) for row in found.fetchall()])
                where = found.filter("state = 'N Y/Q' AND month = '2025-06'")
                self.expect(rows, [dict(zip(found.columns, row)) for row in where.fetchall()], of=self.in_file(rows))
                box = duckdb.sql(f"SELECT count(*) FROM '{self.tree_path}/**/*.parquet' WHERE bbox.xmin <= -395500").fetchone()
                self.assertEqual(box[0], 5)

    def test_polars(self):
        polars = self.need("polars")
        for copy in ("dictionary", "plain", "path"):
            with self.subTest(copy):
                rows = self.tree_of(copy)
                frame = polars.scan_parquet(self.tree_path).collect()
                self.assertEqual(sorted(frame.columns), sorted(COLUMNS))
                self.assertEqual([frame.schema[c] for c in ("id", "mw", "day", "units")], [polars.String, polars.Float64, polars.Date, polars.Int64])
                for column in ("state", "month"):
                    self.assertIn(frame.schema[column].base_type(), {polars.String, polars.Categorical})
                self.expect(rows, frame.to_dicts())
                where = polars.scan_parquet(self.tree_path).filter(polars.col("state").cast(polars.String) == "TX").collect()
                self.expect(rows, where.to_dicts(), of=self.in_tx(rows))

    def test_an_integer_partition_column(self):
        pandas, dataset, duckdb, polars = self.need("pandas"), self.need("pyarrow.dataset"), self.need("duckdb"), self.need("polars")
        self.write("y.csv", "id,year\na,2024\nb,2025\n")
        spec = self.spec("dataset: y\nroot: lake\nsource: {files: y.csv}\nkey: {id: id}\npartition: [year]\ncolumns: {year: {type: integer}}\n")
        self.assertEqual(self.recloser_json("load", spec, "y.csv")["warnings"], [])
        path, wanted = str(self.dir / "lake/y"), [("a", 2024), ("b", 2025)]
        self.assertEqual(sorted((r["id"], int(r["year"])) for r in pandas.read_parquet(path).to_dict("records")), wanted)
        self.assertEqual(sorted((r["id"], r["year"]) for r in dataset.dataset(path, partitioning="hive").to_table().to_pylist()), wanted)
        self.assertEqual(duckdb.sql(f"SELECT id, year FROM '{path}/**/*.parquet' ORDER BY id").fetchall(), wanted)
        self.assertEqual(sorted(polars.read_parquet(path).select("id", "year").rows()), wanted)

    def test_values_that_look_like_something_else(self):
        """They load, the file holds text, and one warning says what a path alone would be taken for."""
        self.write("l.csv", "id,fips\na,01\nb,10\n")
        spec = self.spec("dataset: l\nroot: lake\nsource: {files: l.csv}\nkey: {id: id}\npartition: [fips]\n")
        warnings = self.recloser_json("load", spec, "l.csv")["warnings"]
        self.assertEqual(len(warnings), 1)
        self.assertIn("some readers take fips=01 in a path for a number", warnings[0])
        parquet = self.need("pyarrow.parquet")
        table = parquet.ParquetFile(self.dir / "lake/l/fips=01/part.parquet").read()
        self.assertEqual(table["fips"].to_pylist(), ["01"])


    # ---- numbers in a path: the table in docs/format.md ----

    def of_values(self, values, copy, column):
        shutil.rmtree(self.dir / "lake", ignore_errors=True)
        data = self.write("v.csv", "id,v\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values)))
        spec = self.spec(f"dataset: v\nroot: lake\nsource: {{files: v.csv}}\nkey: {{id: id}}\npartition: [p]\npartition_columns: {copy}\n"
                         f"columns:\n  {column}\n")
        return str(self.dir / "lake/v"), self.recloser_json("load", spec, data)["warnings"]

    def found(self, path, reader):
        """The values of p by their reader's plain line, sorted; None when it refuses."""
        pandas, parquet, dataset, arrow = self.need("pandas"), self.need("pyarrow.parquet"), self.need("pyarrow.dataset"), self.need("pyarrow")
        read = {"pandas": lambda: pandas.read_parquet(path)["p"].tolist(),
                "pandas, None": lambda: pandas.read_parquet(path, partitioning=None)["p"].tolist(),
                "table": lambda: parquet.read_table(path)["p"].to_pylist(),
                "hive": lambda: dataset.dataset(path, partitioning="hive").to_table()["p"].to_pylist(),
                "bare": lambda: dataset.dataset(path).to_table()["p"].to_pylist(),
                "duckdb": lambda: [row[0] for row in self.need("duckdb").sql(f"SELECT p FROM '{path}/**/*.parquet'").fetchall()],
                "polars": lambda: self.need("polars").read_parquet(path)["p"].to_list()}[reader]
        try:
            return sorted(read())
        except arrow.lib.ArrowTypeError:
            return None

    def test_numbers_in_a_path(self):
        years, codes = ["2024", "2025"], ["01", "10"]
        readers = ["pandas", "table", "pandas, None", "hive", "bare", "duckdb", "polars"]
        cases = [(years, "dictionary", "p: {from: v, type: integer}", {r: [2024, 2025] for r in readers if r not in ("pandas, None", "bare")}, None)]
        for copy in ("dictionary", "plain"):
            text = {"pandas": None, "table": None, "hive": None, "pandas, None": years, "bare": years, "duckdb": [2024, 2025], "polars": years}
            cases.append((years, copy, "p: {from: v, type: text}", text, "p: {type: integer} makes it a number to all of them"))
            text = {"pandas": None, "table": None, "hive": None, "pandas, None": codes, "bare": codes, "duckdb": codes, "polars": codes}
            cases.append((codes, copy, "p: {from: v, type: text}", text, "A prefix keeps it text"))
        cases.append((years, "path", "p: {from: v, type: text}", {r: [2024, 2025] for r in ("pandas", "table", "hive", "duckdb", "polars")},
                      "p: {type: integer}"))
        cases.append((codes, "path", "p: {from: v, type: text}", {"pandas": [1, 10], "table": [1, 10], "hive": [1, 10], "duckdb": codes, "polars": [1, 10]},
                      "A prefix keeps it text"))
        cases.append((codes, "dictionary", "p: {sql: \"'US' || v\"}", {r: ["US01", "US10"] for r in readers if r != "hive"}, None))
        for values, copy, column, wanted, said in cases:
            path, warnings = self.of_values(values, copy, column)
            with self.subTest(copy=copy, column=column, values=values):
                self.assertEqual(len(warnings), 1 if said else 0, warnings)
                if said:
                    self.assertIn(f"some readers take p={values[0]} in a path for a number", warnings[0])
                    self.assertIn(said, warnings[0])
                    self.assertEqual("partitioning=None" in warnings[0], copy != "path")
                for reader, values_read in wanted.items():
                    self.assertEqual(self.found(path, reader), values_read, reader)

    def test_what_init_proposes_is_read(self):
        """A year in the file's name, numbers and padded codes in a column: every reader reads what comes of it by its plain line."""
        rows = [(f"u{i}", i % 3 + 1, i) for i in range(12)]
        self.write("plants_2024.csv", "id,mw\na,1\nb,2\nc,3\n")
        self.write("numbers.csv", "id,region,mw\n" + "".join(f"{i},{r},{m}\n" for i, r, m in rows))
        self.write("codes.csv", "id,state,mw\n" + "".join(f"{i},{r:02},{m}\n" for i, r, m in rows))
        self.write("own.json", json.dumps([{"id": i, "region": r, "mw": m} for i, r, m in rows]))
        self.need("duckdb").sql(f"COPY (SELECT * FROM '{self.dir}/numbers.csv') TO '{self.dir}/typed.parquet'")
        for name, partition in {"plants_2024.csv": "[year]", "numbers.csv": "[region]", "codes.csv": "[]", "own.json": "[region]",
                                "typed.parquet": "[region]"}.items():
            with self.subTest(name):
                dataset = name.split("_2")[0].split(".")[0]
                spec = self.recloser("init", self.dir / name, "-o", f"{dataset}.yaml").out.split()[0]
                self.assertIn(f"partition: {partition}", (self.dir / spec).read_text())
                self.assertEqual(self.recloser_json("load", spec, self.dir / name)["warnings"], [])
                path = str(self.dir / "lake" / dataset)
                count = len(self.need("pandas").read_parquet(path))
                self.assertEqual(self.need("duckdb").sql(f"SELECT count(*) FROM '{path}/**/*.parquet'").fetchall(), [(count,)])
                self.assertEqual(self.need("polars").read_parquet(path).height, count)
                self.assertEqual(count, 3 if dataset == "plants" else 12)


class Files(Readers):
    """One part.parquet by itself, as somebody would copy it."""

    def alone(self):
        shutil.copy(self.file_path, self.dir / "alone.parquet")
        return str(self.dir / "alone.parquet")

    def test_with_the_partition_columns_in_it(self):
        pandas, geopandas, duckdb, polars = self.need("pandas"), self.need("geopandas"), self.need("duckdb"), self.need("polars")
        parquet = self.need("pyarrow.parquet")
        for copy in ("dictionary", "plain"):
            with self.subTest(copy):
                rows = self.tree_of(copy)
                path, of = self.alone(), self.in_file(rows)
                self.expect_frame(rows, pandas.read_parquet(path), of=of)
                self.expect_geo_frame(rows, geopandas.read_parquet(path), "EPSG:4326", of=of)
                self.expect_table(rows, parquet.read_table(path), of=of)
                found = duckdb.sql(f"SELECT * FROM '{path}'")
                self.expect(rows, [dict(zip(found.columns, row)) for row in found.fetchall()], of=of)
                self.expect(rows, polars.read_parquet(path).to_dicts(), of=of)

    def test_without(self):
        pandas, parquet = self.need("pandas"), self.need("pyarrow.parquet")
        rows = self.tree_of("path")
        path, of = self.alone(), self.in_file(rows)
        names = [c for c in COLUMNS if c not in ("state", "month")]
        self.expect_frame(rows, pandas.read_parquet(path), names=names, of=of, columns=["name", "mw", "day", "units"])
        metadata = parquet.read_metadata(path).metadata
        self.assertEqual(json.loads(metadata[b"recloser:partition"]), {"state": "N Y/Q", "month": "2025-06"})

    def test_footer(self):
        parquet = self.need("pyarrow.parquet")
        for copy in ("dictionary", "plain", "path"):
            with self.subTest(copy):
                self.tree_of(copy)
                file = parquet.ParquetFile(self.file_path)
                metadata = file.metadata.metadata
                self.assertEqual(list(json.loads(metadata[b"recloser:partition"]).items()), [("state", "N Y/Q"), ("month", "2025-06")])
                self.assertEqual(b"ARROW:schema" in metadata, copy == "dictionary")
                geo = json.loads(metadata[b"geo"])
                self.assertEqual(geo["version"], "1.1.0")
                self.assertEqual(geo["columns"]["geometry"]["geometry_types"], ["LineString"])
                self.assertEqual(geo["columns"]["geometry"]["covering"]["bbox"]["xmin"], ["bbox", "xmin"])
                self.assertEqual(file.schema_arrow.metadata[b"geo"], metadata[b"geo"])
                self.assertEqual({file.metadata.row_group(0).column(i).compression for i in range(file.metadata.num_columns)}, {"ZSTD"})
                self.assertEqual([c for c in file.schema_arrow.names if c in ("state", "month")], [] if copy == "path" else ["state", "month"])

    def test_gdal(self):
        if not shutil.which("ogrinfo") or "Parquet" not in subprocess.run(["ogrinfo", "--formats"], capture_output=True, text=True).stdout:
            self.skipTest("no ogrinfo with the Parquet driver here")
        for copy in ("plain", "path"):
            with self.subTest(copy):
                self.tree_of(copy)
                told = subprocess.run(["ogrinfo", "-so", "-al", self.alone()], capture_output=True, text=True, check=True).stdout
                self.assertIn("Feature Count: 20", told)
                self.assertIn("Line String", told)

    def validator(self, name):
        """A program beside this Python or on the path; skips where there is none."""
        beside = pathlib.Path(sys.executable).with_name(name)
        program = str(beside) if beside.exists() else shutil.which(name)
        return program or self.skipTest(f"{name} is not installed; scripts/setup --test installs what tests/requirements.txt names")

    def test_a_validator(self):
        """The abstract tests of the specification, by an independent validator: 1.1 and 2.0, shapes mixed, in four systems."""
        program = self.validator("geoparquet-validator")
        for crs in SYSTEMS:
            for version in ("1.1", "2.0"):
                with self.subTest(crs, version=version):
                    self.tree_of("dictionary", crs, more=f"geoparquet: {version}\n", mixed=True)
                    done = subprocess.run([program, "check", "--json", "--class", "all", self.alone()], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertNotIn("NOT CONFORMANT", done.stdout)
        # It does find faults: a box that does not hold the shapes.
        parquet = self.need("pyarrow.parquet")
        table = parquet.ParquetFile(self.dir / "alone.parquet").read()
        geo = json.loads(table.schema.metadata[b"geo"])
        geo["columns"]["geometry"]["bbox"] = [0, 0, 1, 1]
        parquet.write_table(table.replace_schema_metadata({b"geo": json.dumps(geo).encode()}), self.dir / "wrong.parquet")
        done = subprocess.run([program, "check", "--class", "all", str(self.dir / "wrong.parquet")], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_another_validator(self):
        """geoparquet-io's checks, where it is installed and has the extension of its engine."""
        program = self.validator("gpio")
        for crs in SYSTEMS:
            with self.subTest(crs):
                self.tree_of("dictionary", crs, mixed=True)
                done = subprocess.run([program, "check", "spec", self.alone()], capture_output=True, text=True)
                if "extension" in done.stdout + done.stderr:
                    self.skipTest("geoparquet-io can't fetch the extension that its checks need")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


main()
