# SPDX-License-Identifier: Apache-2.0
"""Publishers' own files through the specs in examples/. Every row is accounted for, a second load changes nothing, and the
numbers are those that the files hold: counted here with Python's csv and json, or stated where a workbook says them.

The files lie outside the repository (support.py: shared); without them every test skips and says so.
"""
import collections
import csv
import datetime
import json
import os
import shutil

from support import SOURCE, Case, main, sha256

OUTCOMES = ["rows_written", "rows_unchanged", "superseded", "collapsed", "filtered", "quarantined", "held", "frozen"]


def csv_rows(path, encoding="utf-8-sig", **more):
    with open(path, newline="", encoding=encoding) as file:
        return list(csv.DictReader(file, **more))


class Real(Case):
    def real(self, name):
        return self.shared("real/" + name)

    def example(self, name):
        target = self.dir / f"{name}.yaml"
        shutil.copy(SOURCE / "examples" / f"{name}.yaml", target)
        return target

    def state(self):
        """{path: (SHA-256, time of last change)} of every file below the root."""
        root = self.dir / "lake"
        return {str(p.relative_to(root)): (sha256(p), os.stat(p).st_mtime_ns) for p in root.rglob("*")
                if p.is_file()}

    def load(self, spec, *arguments, partitions=None, **expected):
        """Load, and hold the report to `expected`; what is not named must be 0."""
        report = self.recloser_json("load", spec, *arguments)
        self.assertEqual(report["outcome"], expected.pop("outcome", "loaded"))
        self.assertEqual({name: report[name] for name in ["rows_in", *OUTCOMES]},
                         {name: expected.get(name, 0) for name in ["rows_in", *OUTCOMES]})
        self.assertEqual(report["rows_in"], sum(report[name] for name in OUTCOMES))
        if partitions is not None:
            self.assertEqual(len(report["partitions"]), partitions)
        return report

    def again(self, spec, *arguments):
        """The same load again: unchanged, and no byte and no time below the root is another."""
        before = self.state()
        report = self.recloser_json("load", spec, *arguments)
        self.assertEqual(report["outcome"], "unchanged")
        self.assertEqual(report["rows_written"], 0)
        self.assertEqual(report["rows_in"], sum(report[name] for name in OUTCOMES))
        self.assertEqual(self.state(), before)
        self.recloser("verify", spec)

    def twice(self, example, *arguments, **expected):
        spec = self.example(example)
        report = self.load(spec, *arguments, **expected)
        self.again(spec, *arguments)
        return report

    def table(self, dataset):
        """All rows of a dataset, as a list of dicts."""
        duckdb = self.need("duckdb")
        files = f"{self.dir}/lake/{dataset}/**/*.parquet"
        rows = duckdb.sql(f"SELECT * FROM read_parquet('{files}', hive_partitioning=false)")
        return [dict(zip(rows.columns, row)) for row in rows.fetchall()]

    def reasons(self, dataset):
        """{(column, reason): rows} of everything in quarantine."""
        duckdb = self.need("duckdb")
        files = f"{self.dir}/lake/_recloser/{dataset}/quarantine/*.pq"
        return {(c, r): n for c, r, n in duckdb.sql(
            f'SELECT "column", reason, count(*) FROM read_parquet(\'{files}\') GROUP BY ALL').fetchall()}


class Queues(Real):
    def test_miso(self):
        path = self.real("miso-queue/miso_gi_interactive_queue.csv")
        source = [r for r in csv_rows(path) if r["Project #"] != "AA1234"]
        blank = sum(not r["State"].strip() for r in source)
        self.assertEqual((len(source), blank), (3273, 125))
        self.twice("miso", path, rows_in=3274, rows_written=3148, filtered=1, quarantined=125, partitions=16)
        self.assertEqual(self.reasons("queue_miso"), {("state", "partition column state is missing"): 125})
        written = collections.Counter(row["state"] for row in self.table("queue_miso"))
        wanted = collections.Counter(r["State"].strip().replace("Michigan", "MI") for r in source if r["State"].strip())
        self.assertEqual(written, wanted)
        self.assertNotIn("Michigan", written)

    def test_miso_with_a_default_for_the_state(self):
        path = self.real("miso-queue/miso_gi_interactive_queue.csv")
        spec = self.example("miso")
        spec.write_text(spec.read_text().replace("map: {Michigan: MI}}", "map: {Michigan: MI}, default: unknown}")
                        .replace("quarantine: {max: 5%}", ""))
        self.load(spec, path, rows_in=3274, rows_written=3273, filtered=1, partitions=17)
        self.again(spec, path)

    def test_miso_is_refused_at_the_default_limit(self):
        path = self.real("miso-queue/miso_gi_interactive_queue.csv")
        spec = self.example("miso")
        spec.write_text(spec.read_text().replace("quarantine: {max: 5%}", ""))
        refused = self.recloser("load", spec, path, code=3)
        self.assertIn("125 of 3,274 rows", refused.err)
        self.assertEqual(self.files("lake/queue_miso") if (self.dir / "lake/queue_miso").exists() else [], [])

    def test_ercot_month_after_month(self):
        june, july = self.real("ercot-gis/GIS_Report_June2025.xlsx"), self.real("ercot-gis/GIS_Report_July2025.xlsx")
        spec = self.example("ercot")
        self.load(spec, june, rows_in=1866, rows_written=1866, partitions=1)
        before = self.state()
        self.load(spec, july, rows_in=1881, rows_written=1881, partitions=1)
        after = self.state()
        self.assertEqual({p: s for p, s in after.items() if "month=2025-06" in p},
                         {p: s for p, s in before.items() if "month=2025-06" in p})
        self.again(spec, july)
        self.again(spec, june)
        keys = collections.defaultdict(set)
        for row in self.table("queue_ercot"):
            keys[row["month"]].add(row["asset_key"])
        self.assertEqual(len(keys["2025-07"] - keys["2025-06"]), 40)
        self.assertEqual(len(keys["2025-06"] - keys["2025-07"]), 25)

    def test_ercot_correction_revises_one_row(self):
        first = self.real("ercot-gis/GIS_Report_July_2020.xlsx")
        second = self.real("ercot-gis/GIS_Report_July_2020_CORRECTION.xlsx")
        spec = self.example("ercot")
        self.load(spec, first, rows_in=503, rows_written=503, partitions=1)
        report = self.load(spec, second, rows_in=503, rows_written=503, partitions=1)
        part = report["partitions"][0]
        self.assertEqual((part["outcome"], part["seq"]), ("replaced", 2))
        self.assertEqual((part["new_keys"], part["revised"], part["disappeared"]), (0, 1, 0))
        self.again(spec, second)
        self.assertIn("NA", {row["project_name"] for row in self.table("queue_ercot")})

    def test_caiso_sheets_become_one_dataset(self):
        self.twice("caiso", self.real("caiso-queue/caiso_queue_report.xlsx"), rows_in=2279, rows_written=2275, quarantined=4,
                   partitions=7)
        self.assertEqual(self.reasons("queue_caiso"), {("state", "partition column state is missing"): 4})
        rows = self.table("queue_caiso")
        sheets = collections.Counter(row["sheet_name"] for row in rows)
        self.assertEqual(set(sheets), {"Grid GenerationQueue", "Completed Generation Projects", "Withdrawn Generation Projects"})
        self.assertEqual({str(row["published_at"]) for row in rows}, {"2025-01-23"})
        self.assertTrue({"22", "1A"} <= {row["queue_id"] for row in rows})

    def test_pjm(self):
        self.twice("pjm", self.real("pjm-queue/pjm_queue.xlsx"), rows_in=8190, rows_written=8190, partitions=18)
        rows = self.table("queue_pjm")
        self.assertEqual(sum(row["state"] == "unknown" for row in rows), 17)
        self.assertTrue(all(row["asset_key"] == row["project_id"] for row in rows))

    def test_four_operators_in_one_dataset(self):
        spec = self.example("queues")
        loads = [(["--set", "month=2025-01", self.real("caiso-queue/caiso_queue_report.xlsx")], 2279, 2279, 0, 8),
                 (["--set", "month=2025-01", self.real("miso-queue/miso_gi_interactive_queue.csv")], 3274, 3273, 1, 17),
                 (["--set", "month=2025-01", self.real("pjm-queue/pjm_queue.xlsx")], 8190, 8190, 0, 18),
                 ([self.real("ercot-gis/GIS_Report_June2025.xlsx")], 1866, 1866, 0, 1),
                 ([self.real("ercot-gis/GIS_Report_July2025.xlsx")], 1881, 1881, 0, 1)]
        for arguments, rows, written, filtered, partitions in loads:
            before = self.state()
            self.load(spec, *arguments, rows_in=rows, rows_written=written, filtered=filtered, partitions=partitions)
            data = {p: s for p, s in self.state().items() if not p.startswith("_recloser")}
            # What was there before is there still, untouched: no operator's load reaches another's partitions.
            self.assertEqual({p: s for p, s in data.items() if p in before}, {p: s for p, s in before.items() if p in data})
        for arguments, *_ in loads:
            self.again(spec, *arguments)
        self.assertEqual(collections.Counter(row["iso"] for row in self.table("queues")),
                         {"CAISO": 2279, "MISO": 3273, "PJM": 8190, "ERCOT": 1866 + 1881})

    def test_queue_map_two_publications(self):
        spec = self.example("gi_queue_map")
        folders = [self.real("gi-queue-map-snapshots/20241230_cdecfc6"), self.real("gi-queue-map-snapshots/20250104_a770e40")]
        counts = [{p.name.split("_")[0].upper(): len(csv_rows(p)) for p in sorted(f.glob("*.csv"))} for f in folders]
        self.assertEqual(counts, [{"ISONE": 427, "MISO": 1902, "PJM": 2362}, {"ISONE": 427, "MISO": 1909, "PJM": 2362}])
        self.load(spec, folders[0], rows_in=4691, rows_written=4691, partitions=3)
        before = self.state()
        self.load(spec, folders[1], rows_in=4698, rows_written=4698, partitions=3)
        after = self.state()
        self.assertEqual({p: s for p, s in after.items() if p in before and not p.startswith("_recloser")},
                         {p: s for p, s in before.items() if not p.startswith("_recloser")})
        for folder in folders:
            self.again(spec, folder)
        rows = self.table("queue_map")
        self.assertEqual(collections.Counter((row["snapshot"], row["iso"]) for row in rows),
                         {(s, iso): n for s, c in zip(["2024-12-30", "2025-01-04"], counts) for iso, n in c.items()})
        # The publisher's own label is wrong in ISO-NE's file, and is kept beside the right one.
        self.assertEqual({row["iso_utility"] for row in rows if row["iso"] == "ISONE"}, {"PJM"})
        self.assertNotIn("moved", " ".join(row["queue_id"] for row in rows))

    def test_lbnl_serial_dates_and_codes(self):
        path = self.real("lbnl-ercot-2023/ercot_2023_100mw_filtered.csv")
        source = {row["q_id"]: row for row in csv_rows(path)}
        self.twice("ercot_lbnl", path, rows_in=368, rows_written=368, partitions=3)
        rows = {row["q_id"]: row for row in self.table("queue_lbnl")}
        self.assertEqual({q: row["fips"] or "" for q, row in rows.items()}, {q: row["fips_codes"] for q, row in source.items()})
        self.assertEqual(str(rows["23INR0368"]["q_date"]), "2023-10-04")    # 45203


class Plants(Real):
    def test_pricing_nodes(self):
        path = self.real("commongrid/pricing-nodes.json")
        nodes = json.loads(path.read_text())
        self.assertEqual(len(nodes), 4065)
        self.twice("pricing_nodes", path, rows_in=4065, rows_written=4065, partitions=len({n["iso"] for n in nodes}))
        rows = {row["id"]: row for row in self.table("pricing_nodes")}
        self.assertEqual({i: (r["latitude"], r["longitude"], r["voltage_kv"], r["plant"]) for i, r in rows.items()},
                         {n["id"]: (n["latitude"], n["longitude"], n["voltageKv"],
                                    None if n["eiaPlantCode"] is None else str(n["eiaPlantCode"])) for n in nodes})

    def test_eia860(self):
        self.twice("eia860_plants", self.real("eia860-plant/2___Plant_Y2017.xlsx"), rows_in=10127, rows_written=10127, partitions=51)
        rows = self.table("plants")
        self.assertEqual(sum(row["latitude"] is None for row in rows), sum(row["geometry"] is None for row in rows))
        self.assertEqual({len(row["zip"]) for row in rows if row["zip"]}, {5})
        self.assertEqual({row["plant_code"] for row in rows if row["plant_name"] == "Barry"}, {"3"})

    def test_north_america(self):
        self.twice("plants_northamerica", self.real("northamerica/PowerPlantsAllGE100MW_NorthAmerica_201606.xlsx"),
                   rows_in=2129, rows_written=2129, partitions=3)

    def test_argentina_hexadecimal_ewkb(self):
        shapely = self.need("shapely")
        path = self.real("argentina/argentina_power_plants_general.csv")
        source = csv_rows(path)
        self.assertEqual(len(source), 449)
        self.twice("argentina", path, rows_in=449, rows_written=449, partitions=24)
        rows = self.table("plants_argentina")
        wanted = collections.Counter(shapely.to_wkb(shapely.from_wkb(r["geom"]), include_srid=False) for r in source if r["geom"])
        self.assertEqual(collections.Counter(self.wkb(row["geometry"]) for row in rows if row["geometry"] is not None), wanted)
        self.assertEqual(sum(row["geometry"] is None for row in rows), sum(not r["geom"] for r in source))

    def test_nger_in_windows_1252(self):
        path = self.real("australia/NGER_2017-2018.csv")
        source = [r for r in csv_rows(path, encoding="windows-1252") if r["Facility Name"].strip()]
        totals = sum(r["Type"] == "C" for r in source)
        self.assertEqual((len(source), totals), (522, 97))
        self.twice("nger", path, rows_in=522, rows_written=425, filtered=97, partitions=8)
        mwh = sum(float(r["Electricity Production (MWh)"].replace(",", "").replace("-", "0")) for r in source if r["Type"] != "C")
        self.assertEqual(sum(row["mwh"] or 0 for row in self.table("nger")), mwh)

    def test_germany(self):
        path = self.real("opsd-germany/power_plants_germany.csv")
        source = {r[""]: r for r in csv_rows(path)}
        self.assertEqual(len(source), 893)
        # One latitude has lost its decimal point.
        wrong = [r for r in source.values() if r["lat"] and abs(float(r["lat"])) > 90]
        self.assertEqual([r["lat"] for r in wrong], ["480261021.0"])
        self.twice("opsd_germany", path, rows_in=893, rows_written=892, quarantined=1, partitions=19)
        self.assertEqual(self.reasons("plants_germany"), {("geometry", "latitude 480261021 is outside -90 to 90"): 1})
        rows = {row["bna_id"]: row for row in self.table("plants_germany")}
        self.assertEqual({b: row["postcode"] or "" for b, row in rows.items()},
                         {b: r["postcode"] for b, r in source.items() if r not in wrong})
        self.assertIn("Baden-Württemberg", {row["state"] for row in rows.values()})
        self.assertTrue((self.dir / "lake/plants_germany/state=Baden-W%C3%BCrttemberg/part.parquet").is_file())

    def test_wri_countries(self):
        spec = self.example("wri_country")
        algeria, burkina = self.real("wri-countries/Algeria.csv"), self.real("wri-countries/Burkina_Faso.csv")
        self.load(spec, algeria, rows_in=len(csv_rows(algeria)), rows_written=53, partitions=1)
        self.load(spec, burkina, rows_in=len(csv_rows(burkina)), rows_written=5, partitions=1)
        self.again(spec, algeria)
        self.again(spec, burkina)

    def test_entsoe_links(self):
        shapely = self.need("shapely")
        path = self.real("entsoe-gridkit/links.csv")
        source = {r["link_id"]: r for r in csv_rows(path, quotechar="'")}
        self.twice("entsoe_links", path, rows_in=62, rows_written=62, partitions=1)
        rows = {row["link_id"]: row for row in self.table("links_entsoe")}
        self.assertEqual({i: self.wkb(row["geometry"]) for i, row in rows.items()},
                         {i: shapely.to_wkb(shapely.from_wkt(r["geometry"])) for i, r in source.items()})
        self.assertEqual({i: row["tags"] or "" for i, row in rows.items()}, {i: r["tags"] for i, r in source.items()})

    def test_entsoe_generators(self):
        path = self.real("entsoe-gridkit/generators.csv")
        source = csv_rows(path, quotechar="'")
        unknown = sum(r["capacity"] in ("", "-1") for r in source)
        self.assertEqual(len(source), 2582)
        self.twice("entsoe_generators", path, rows_in=2582, rows_written=2582, partitions=len({r["technology"] for r in source}))
        self.assertEqual(sum(row["capacity_mw"] is None for row in self.table("generators_entsoe")), unknown)

    @staticmethod
    def wkb(value):
        """DuckDB hands a GEOMETRY out as its WKB."""
        return bytes(value) if value is not None else None


class Layers(Real):
    """What comes as GeoJSON, or through GDAL."""

    def test_aep_ohio_upgrades(self):
        path = self.real("aep-ohio/aep_ohio_transmission_upgrades_points.geojson")
        features = json.loads(path.read_text())["features"]
        self.assertEqual(len(features), 967)
        self.twice("aep_ohio_upgrades", path, rows_in=967, rows_written=967,
                   partitions=len({f["properties"]["status_bucket"] for f in features}))

    def test_empty_feature_list_is_refused(self):
        path = self.real("aep-ohio/aep_ohio_stalled_upgrades.geojson")
        spec = self.example("aep_ohio_upgrades")
        spec.write_text(spec.read_text().replace("aep_ohio_transmission_upgrades_points.geojson", "*.geojson"))
        self.assertIn("it may be empty", self.recloser("load", spec, path, code=3).err)

    def test_hifld_lines(self):
        path = self.real("grid-intel-lines/transmission_lines.geojson")
        features = json.loads(path.read_text())["features"]
        unknown = sum(f["properties"]["VOLTAGE"] == -999999 for f in features)
        self.assertEqual((len(features), unknown), (1095, 109))
        self.twice("hifld_lines", path, rows_in=1095, rows_written=1095, partitions=len({f["properties"]["VOLT_CLASS"] for f in features}))
        self.assertEqual(sum(row["voltage_kv"] is None for row in self.table("lines_hifld")), 109)

    def test_coal_units(self):
        path = self.real("eia860-2012-geojson/coal.geojson")
        features = [f["properties"] for f in json.loads(path.read_text())["features"]]
        keys = {(f["EIA-860 PLANT_CODE"], f["GENERATOR_ID"]) for f in features}
        self.assertEqual((len(features), len(keys)), (1196, 1196))
        self.twice("coal_units", path, rows_in=1196, rows_written=1196, partitions=len({f["STATE"] for f in features}))
        # Two plants of one site, each with units 1 and 2.
        calaveras = {(row["plant"], row["unit"]) for row in self.table("coal_units") if row["name"] == "CALAVERAS POWER STATION"}
        self.assertEqual(calaveras, {(plant, unit) for plant in ("6181", "7097") for unit in ("1", "2")})
        self.assertEqual(sorted({row["zip"] for row in self.table("coal_units")} & {"37660-5265", "991330620", "98801"})[:1], ["37660-5265"])

    def test_australia(self):
        path = self.real("australia/australia_power_plants.geo.json")
        features = [f["properties"] for f in json.loads(path.read_text())["features"]]
        self.assertEqual(len(features), 536)
        self.twice("plants_australia", path, rows_in=536, rows_written=536, partitions=len({f["class"] for f in features}))

    def test_osm_substations(self):
        self.twice("osm_substations", "--set", "country=BO", self.real("osm-power-gpkg/BO/osm_brut_power_substation.gpkg"),
                   rows_in=231, rows_written=231, partitions=1)
        types = self.geo("substations_osm/country=BO")["geometry_types"]
        self.assertEqual(types, ["Point", "Polygon", "MultiPolygon"])
        names = set(self.table("substations_osm")[0])
        self.assertFalse(names & {"user", "uid"})
        refused = self.recloser("load", self.dir / "osm_substations.yaml",
                                self.real("osm-power-gpkg/BO/osm_brut_power_substation.gpkg"), code=2)
        self.assertIn("--set country=", refused.err)

    def test_osm_lines(self):
        self.twice("osm_lines", "--set", "country=BO", self.real("osm-power-gpkg/BO/osm_brut_power_line.gpkg"),
                   rows_in=361, rows_written=361, partitions=1)

    def test_web_mercator_is_transformed(self):
        pyogrio = self.need("pyogrio")
        path = self.real("osm-power-gpkg/BO/post_graph_power_lines.gpkg")
        self.twice("grid_graph_lines", path, rows_in=248, rows_written=243, collapsed=5, partitions=1)
        source = pyogrio.read_dataframe(path).to_crs(4326)
        bbox = self.geo("grid_edges")["bbox"]
        for mine, theirs in zip(bbox, source.total_bounds):
            self.assertAlmostEqual(mine, theirs, places=7)
        self.assertEqual(self.geo("grid_edges")["crs"]["id"], {"authority": "EPSG", "code": 4326})

    def test_web_mercator_is_kept(self):
        path = self.real("osm-power-gpkg/BO/post_graph_power_nodes.gpkg")
        spec = self.spec("dataset: nodes\nroot: lake\nsource: {files: '*.gpkg'}\nkey: {id: osmid}\npartition: [grid_role]\n"
                         "columns: {grid_role: {default: none}}\n")
        report = self.load(spec, path, rows_in=470, rows_written=470)
        self.again(spec, path)
        geo = self.geo("nodes/" + report["partitions"][0]["partition"])
        self.assertEqual(geo["crs"]["id"], {"authority": "EPSG", "code": 3857})

    def test_call_areas_with_heights(self):
        self.twice("call_areas", self.real("boem-shp/CA_OSW_BOEM_CallAreas.shp"), rows_in=5, rows_written=5, partitions=1)
        geo = self.geo("call_areas")
        self.assertTrue(all(name.endswith(" Z") for name in geo["geometry_types"]), geo["geometry_types"])
        self.assertEqual(len(geo["bbox"]), 6)

    def test_countries(self):
        self.twice("countries", self.real("naturalearth-shp/naturalearth_lowres.shp"), rows_in=177, rows_written=177, partitions=8)
        rows = self.table("countries")
        self.assertEqual(sum(row["iso_a3"] is None for row in rows), 5)
        self.assertIn("Côte d'Ivoire", {row["name"] for row in rows})
        self.assertTrue((self.dir / "lake/countries/continent=Seven%20seas%20%28open%20ocean%29/part.parquet").is_file())

    def test_kml_in_a_zip(self):
        report = self.twice("brazil_thermal", self.real("brazil-aneel/UTE.zip"), rows_in=2924, rows_written=2923, superseded=1,
                            partitions=1)
        self.assertEqual(report["ties"], 0)
        rows = self.table("plants_brazil")
        self.assertEqual({row["process"] for row in rows if row["Name"] == "Itacoatiara"}, {"29000.028121/1991-91", "48500.003158/2001-27"})
        twice = [row["updated"] for row in rows if row["Name"] == "Brado Colombo"]
        self.assertEqual(twice, [datetime.datetime(2015, 12, 3, 18, 42, 57)])

    def test_flatgeobuf(self):
        spec = self.spec("dataset: fgb\nroot: lake\nsource: {files: '*.fgb'}\nkey: {identity: [{sql: row_number}]}\npartition: []\n"
                         "geometry: {crs: unknown, missing: allow}\n")
        for name, rows in {"countries_nocrs": 179, "heterogeneous": 3, "alldatatypes": 1}.items():
            self.load(spec, self.real(f"flatgeobuf/{name}.fgb"), rows_in=rows, rows_written=rows)
            self.assertIsNone(self.geo("fgb")["crs"])
            shutil.rmtree(self.dir / "lake")
        self.assertIn("no rows", self.recloser("load", spec, self.real("flatgeobuf/empty.fgb"), code=3).err)

    def test_curves_are_refused_or_made_lines(self):
        path = self.real("pyogrio/curve.gpkg")
        text = "dataset: c\nroot: lake\nsource: {files: '*.gpkg'}\nkey: {identity: [{sql: row_number}]}\npartition: []\n"
        self.assertIn("curve", self.recloser("load", self.spec(text), path, code=3).err)
        self.load(self.spec(text + "geometry: {curves: linearize}\n"), path, rows_in=1, rows_written=1)
        self.assertEqual(self.geo("c")["geometry_types"], ["LineString"])

    def test_integers_of_every_width_with_nulls(self):
        path = self.real("pyogrio/test_gpkg_nulls.gpkg")
        spec = self.spec("dataset: n\nroot: lake\nsource: {files: '*.gpkg'}\nkey: {identity: [{sql: row_number}]}\npartition: []\n")
        self.load(spec, path, rows_in=4, rows_written=4)
        source = self.need("pyogrio").read_dataframe(path)
        rows = self.table("n")
        for column in source.columns.drop("geometry"):
            self.assertEqual(sum(row[column] is None for row in rows), int(source[column].isna().sum()), column)

    def geo(self, partition):
        """The `geo` entry's description of the geometry column."""
        parquet = self.need("pyarrow.parquet")
        metadata = parquet.read_metadata(self.dir / "lake" / partition / "part.parquet").metadata
        return json.loads(metadata[b"geo"])["columns"]["geometry"]


main()
