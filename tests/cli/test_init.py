# SPDX-License-Identifier: Apache-2.0
"""`recloser init`: what it proposes for real files loads as it stands, to the right counts; what it can't know it says."""
import re

from loading import Loading
from support import REFUSED, USAGE, main


def line_of(text, start):
    """The first line that begins with `start`, without the comment behind it."""
    for line in text.splitlines():
        if line.startswith(start):
            return re.split(r"\s+# ", line)[0].rstrip() if not start.startswith("#") else line
    return None


class RealFiles(Loading):
    """Each file: the spec goes to stdout, loads the file without an edit, and a second load says unchanged."""

    def proposal(self, name, *options, edit=None):
        path = self.shared(f"real/{name}")
        text = self.recloser("init", path, *options, "-q").out
        self.text = text
        self.assertIn("Tried: it loads.", text.replace("\n# ", " "))
        self.dataset = re.search(r"^dataset: (.*)$", text, re.M).group(1)
        spec = self.spec(edit(text) if edit else text)
        report = self.load(spec, path)
        self.assertEqual(report["outcome"], "loaded")
        again = self.load(spec, path)
        self.assertEqual(again["outcome"], "unchanged")
        return report

    def says(self, *parts):
        flat = re.sub(r"\s+", " ", self.text)
        joined = re.sub(r"\s+", " ", self.text.replace("\n# ", " "))  # comments that go on in the next line
        for part in parts:
            self.assertTrue(part in flat or part in joined, f"{part!r} is not in\n{self.text}")

    def check(self, name, rows, key, partition, *, written=None, quarantined=0, parts=None, **more):
        report = self.proposal(name, **more)
        self.assertEqual(report["rows_in"], rows)
        self.assertEqual(report["rows_written"], rows if written is None else written)
        self.assertEqual(report["quarantined"], quarantined)
        self.assertEqual(line_of(self.text, "key:"), f"key: {{identity: [{key}]}}")
        self.assertEqual(line_of(self.text, "partition:"), f"partition: [{partition}]")
        if parts is not None:
            self.assertEqual(len(report["partitions"]), parts)

    def test_miso(self):
        # The first row is the publisher's dummy; it alone has times that no microsecond holds.
        self.check("miso-queue/miso_gi_interactive_queue.csv", 3274, "project", "state", written=3273, quarantined=1, parts=18)
        self.says('project: {from: "Project #"}', "queue_date: {from: Queue Date, type: timestamptz}", "summer_mw: {from: Summer MW, type: double}",
                  "125 rows have none", "state: {from: State, default: unknown}", "map: {Michigan: ...")

    def test_pricing_nodes(self):
        self.check("commongrid/pricing-nodes.json", 4065, "id", "state", parts=39)
        self.says("geometry: {crs: EPSG:4326, from: {lon: longitude, lat: latitude}}", "the CRS is assumed", "# or by iso # 7 folders of 233 to 918 rows")

    def test_ercot(self):
        self.check("ercot-gis/GIS_Report_July2025.xlsx", 1881, "inr", "month", parts=1)
        self.assertEqual(self.partitions(), ["month=2025-07"])
        self.says("sheet: Project Details - Large Gen", "header: {find: [INR, Project Name]} # row 31 here", "4 rows under the header explain it",
                  'files: "GIS_Report_*.xlsx"', "capacity_mw: {from: Capacity (MW), type: double}", "column_m: {at: M, type: date}",
                  "# sheet: [Project Details - Large Gen, Project Details - Small Gen]", "series: month")

    def test_ercot_with_the_header_elsewhere(self):
        self.check("ercot-gis/GIS_Report_July_2020.xlsx", 503, "inr", "month", parts=1)
        self.assertEqual(self.partitions(), ["month=2020-07"])
        self.says("# row 28 here", 'format: "%m/%d/%Y"')  # its dates are texts

    def test_caiso(self):
        self.check("caiso-queue/caiso_queue_report.xlsx", 1666, "queue_position", "state", parts=8)
        self.says("the largest of 3 visible sheets", "102A (1)")

    def test_caiso_with_the_one_edit_that_is_offered(self):
        def all_sheets(text):
            text = re.sub(r"^  sheet: .*\n", "", text, flags=re.M)
            return re.sub(r"^  # sheet: (\[.*\]) # instead.*$", r"  sheet: \1", text, flags=re.M)
        self.check("caiso-queue/caiso_queue_report.xlsx", 2279, "queue_position", "state", parts=8, edit=all_sheets)

    def test_pjm(self):
        self.check("pjm-queue/pjm_queue.xlsx", 8190, "project_id", "state", parts=18)
        self.says("sheet: Data # the largest of 2 visible sheets", 'submitted_date: {from: Submitted Date, type: date, format: "%m/%d/%Y"}')

    def test_eia860(self):
        self.check("eia860-plant/2___Plant_Y2017.xlsx", 10127, "plant_code", "state, year", parts=51)
        self.says("row 2 here", 'year: {name: "([0-9]{4})", type: integer}', 'files: "2___Plant_Y*.xlsx"', "from: {lon: longitude, lat: latitude}, missing: allow}")
        self.assertIn("state=TX/year=2017", self.partitions())

    def test_northamerica(self):
        self.check("northamerica/PowerPlantsAllGE100MW_NorthAmerica_201606.xlsx", 2129,
                   "facility_name, state_province_territory, primary_energy_source", "state_province_territory, month", parts=87)
        self.says("text: 93 values begin with a zero", "or by country # 3 folders of 116 to 1,764 rows")

    def test_germany(self):
        # One longitude is no longitude. The first column has no name and is the key.
        self.check("opsd-germany/power_plants_germany.csv", 893, "column_1", "state", written=892, quarantined=1, parts=19)
        self.says("column_1: {at: 1}", "text: 91 values begin with a zero", "1 row has coordinates that are no degrees")

    def test_lbnl(self):
        self.check("lbnl-ercot-2023/ercot_2023_100mw_filtered.csv", 368, "q_id", "year", parts=1)
        self.says("q_date: {type: date, format: excel}", "serial days of a spreadsheet", "# fips_codes # text: numbers that name things")
        self.assertEqual(self.query(f"SELECT count(*) FROM '{self.live('year=2023')}' WHERE q_date BETWEEN DATE '1990-01-01' AND DATE '2024-01-01'"),
                         self.query(f"SELECT count(q_date) FROM '{self.live('year=2023')}'"))

    def test_australia(self):
        self.check("australia/australia_power_plants.geo.json", 536, "feature_id", "", parts=1)
        self.says("not objectid: unique, but counts the rows", "geometry: the file's own, in EPSG:4326", 'missing: ["<Null>"]')

    def test_windows_1252(self):
        self.check("australia/NGER_2017-2018.csv", 523, "facility_name, reporting_entity", "state, period", written=522, quarantined=1)
        self.says("encoding: windows-1252", "in windows-1252: r One - Solar – Qld", "in macintosh: r One - Solar ñ Qld",
                  'thousands: ","', "numbers but for - (97)")

    def test_algeria(self):
        self.check("wri-countries/Algeria.csv", 53, "name", "", parts=1)
        self.says("not power plant id: 49 different values in 53 rows", "17 rows have no geometry", "missing: allow")

    def test_shapefile(self):
        self.check("naturalearth-shp/naturalearth_lowres.shp", 177, "name", "continent", parts=8)
        self.says("geometry: the file's own, in EPSG:4326")

    def test_geopackage(self):
        self.check("osm-power-gpkg/BO/post_graph_power_lines.gpkg", 248, "node0, node1", "", written=243, parts=1)
        self.says("5 exact doubles of other rows", "in EPSG:3857", "# key: {identity: [geometry]}")

    def test_layer_without_names(self):
        self.check("grid-intel-lines/transmission_lines.geojson", 1095, "geometry", "", parts=1)
        self.says("not objectid: unique, but a number that the export gives", "not shape__length: unique, but a number that is not exact")

    def test_single_quotes_and_wkt(self):
        self.check("entsoe-gridkit/links.csv", 62, "link_id", "", parts=1)
        self.says('csv: {quote: "\'"}', "geometry: {crs: EPSG:4326, from: {wkt: ")

    def test_hexadecimal_wkb(self):
        self.check("argentina/argentina_power_plants_general.csv", 449, "central, empresa", "provincia", parts=24)
        self.says("geometry: {crs: EPSG:4326, from: {wkb: geom}, missing: allow}", "the SRID stands in the values",
                  "missing: [SIN DATOS DE POTENCIA]", "numbers but for SIN DATOS DE POTENCIA (27)")

    def test_no_crs(self):
        self.check("flatgeobuf/countries_nocrs.fgb", 179, "id", "", parts=1)
        self.says("geometry: {crs: EPSG:4326}", "the CRS is assumed")

    def test_zip(self):
        self.check("brazil-aneel/UTE.zip", 2924, "description", "", parts=1)

    def test_units(self):
        self.check("eia860-2012-geojson/coal.geojson", 1196, "eia_860_plant_code, generator_id", "state", parts=48)


class TwoPublications(Loading):
    """The columns that change for equal keys; the counts are those that a comparison by pandas gives."""

    def compared(self, old, new):
        report = self.recloser_json("init", self.shared(f"real/{old}"), self.shared(f"real/{new}"))
        return report, {c["source"]: c["changed"] for c in report["columns"] if c.get("changed")}

    def test_snapshots(self):
        folder = "gi-queue-map-snapshots"
        report, changed = self.compared(f"{folder}/20241230_cdecfc6/miso_active_projects.csv", f"{folder}/20250104_a770e40/miso_active_projects.csv")
        self.assertEqual(changed, {"fuel": 277, "join_key": 119})
        self.assertEqual((report["in_both"], report["only_here"], report["only_there"]), (1902, 0, 7))
        self.assertIn("never belong in a key: fuel (277), join_key (119).", re.sub(r"\s+", " ", report["spec"].replace("\n# ", " ")))
        self.assertIn('# columns: {month: {path: "([0-9]{4})([0-9]{2})[0-9]{2}"', report["spec"])
        report, changed = self.compared(f"{folder}/20241230_cdecfc6/isone_active_projects.csv", f"{folder}/20250104_a770e40/isone_active_projects.csv")
        self.assertEqual(changed, {"fuel": 95, "join_key": 22, "service_date": 3, "capacity": 1})
        self.assertEqual((report["in_both"], report["only_here"], report["only_there"]), (427, 0, 0))

    def test_months_of_ercot(self):
        report, changed = self.compared("ercot-gis/GIS_Report_July2025.xlsx", "ercot-gis/GIS_Report_June2025.xlsx")
        self.assertEqual((report["in_both"], report["only_here"], report["only_there"]), (1841, 40, 25))
        self.assertEqual(changed["Capacity (MW)"], 54)
        self.assertEqual(changed["Projected COD"], 160)
        self.assertEqual([k["identity"] for k in report["keys"]], [["inr"]])  # Project Name is unique, and changed for 7
        self.assertEqual(changed["Project Name"], 7)

    def test_a_changing_field_is_dropped(self):
        rows = [(f"Q{i // 2:03}", f"POI {i}", i % 2, "NSRO"[i % 4]) for i in range(60)]
        old = "queue,poi,unit,fuel\n" + "".join(f"{q},{p},{u},{f}\n" for q, p, u, f in rows)
        new = "queue,poi,unit,fuel\n" + "".join(f"{q},{p}{' bis' if i % 5 == 0 else ''},{u},{f}\n" for i, (q, p, u, f) in enumerate(rows))
        a, b = self.write("june.csv", old), self.write("july.csv", new)
        alone = self.recloser_json("init", a)
        self.assertEqual(alone["keys"][0]["identity"], ["poi"])
        both = self.recloser_json("init", a, b)
        self.assertEqual(both["keys"][0]["identity"], ["queue", "unit"])
        self.assertEqual(both["keys"][0]["matched"], 60)
        self.assertIn("not poi: unique, but differs for 12 of 60 rows that are in both files", both["spec"])


class Small(Loading):
    def propose(self, name, content, *options):
        path = self.write(name, content)
        report = self.recloser_json("init", path, *options)
        self.assertTrue(report["loads"], report["spec"])
        self.dataset = re.search(r"^dataset: (.*)$", report["spec"], re.M).group(1)
        self.load(self.spec(report["spec"]), path)
        return report

    def types(self, report):
        return {c["name"]: c["type"] for c in report["columns"]}

    def test_types(self):
        rows = "".join(f"A{i},0{i:04},{i},{i}.5,\"1,{i:03}\",{i}.7.2024,2024-03-{i % 28 + 1:02},3/{i % 28 + 1}/2024,{i % 12 + 1}/{i % 12 + 1}/2024,"
                       f"{'true' if i % 2 else 'false'},{10 ** 17 + i},{'N/A' if i % 7 == 0 else i},{'TBD 2' if i % 7 == 0 else i},2024-03-01T1{i % 9}:00:00Z\n"
                       for i in range(1, 31))
        report = self.propose("plants.csv", "id,zip,n,x,big,german,day,us,undecided,flag,long,na,mixed,at\n" + rows)
        self.assertEqual(self.types(report), {
            "id": None, "zip": None, "n": "integer", "x": "double", "big": "integer", "german": "date", "day": "date", "us": "date", "undecided": None,
            "flag": "boolean", "long": None, "na": "integer", "mixed": None, "at": "timestamptz"})
        reasons = {c["name"]: c["reason"] for c in report["columns"]}
        self.assertEqual(reasons["zip"], "text: 30 values begin with a zero")
        self.assertEqual(reasons["long"], "text: 30 values have more than 15 digits")
        self.assertEqual(reasons["na"], "whole numbers but for N/A (4)")
        self.assertEqual(reasons["mixed"], "text: 26 of 30 are whole numbers, but not TBD 2 (4)")
        self.assertIn("no value decides between month/day and day/month", reasons["undecided"])
        self.assertIn('us: {type: date, format: "%m/%d/%Y"}', report["spec"])
        self.assertIn('german: {type: date, format: "%d.%m.%Y"}', report["spec"])
        self.assertIn('big: {type: integer, thousands: ","}', report["spec"])

    def test_semicolons_decimal_commas_and_mac_roman(self):
        rows = "".join(f"W{i};Centrale n° {i} à Orléans;{i},5\n" for i in range(40))
        report = self.propose("centrales.csv", ("id;nom;puissance\n" + rows).encode("mac_roman"))
        self.assertIn("csv: {delimiter: semicolon}", report["spec"])
        self.assertIn("encoding: macintosh", report["spec"])
        self.assertIn('puissance: {type: double, decimal: ","}', report["spec"])
        self.assertEqual(self.types(report), {"id": None, "nom": None, "puissance": "double"})

    def test_title_above_and_footer_below(self):
        rows = "".join(f"P{i:03},Plant {i},{100 + i},{'TX' if i % 3 else 'OK'}\n" for i in range(60))
        report = self.propose("report_2024-05.csv", "Queue report,,,\nRun 5/1/2024,,,\nId,Plant,MW,State\n" + rows + "Total 60 plants,,,\n")
        self.assertIn("header: {find: [Id, Plant]}", report["spec"])
        self.assertIn("# row 3 here", report["spec"])
        self.assertIn('end: {find: "Total ?? plants*"}', report["spec"])
        self.assertEqual(report["rows"], 60)
        self.assertEqual(self.partitions(), ["state=OK/month=2024-05", "state=TX/month=2024-05"])

    def test_names_that_yaml_takes_apart(self):
        report = self.propose("odd.csv", 'Project #,"a, b",no: no,"say ""hi""",on\n' + "".join(f"{i // 2},x{i},{i // 3},{i % 7},{i % 5}\n" for i in range(30)))
        self.assertEqual(report["keys"][0]["identity"], ["a_b"])
        self.assertIn('a_b: {from: "a, b"}', report["spec"])
        self.assertIn('say_hi: {from: "say \\"hi\\"", type: integer}', report["spec"])

    def test_counter_without_a_name(self):
        report = self.propose("dump.csv", ",plant,unit\n" + "".join(f"{i},Plant {i // 2},{i % 2 + 1}\n" for i in range(40)))
        self.assertEqual(report["keys"][0]["identity"], ["plant", "unit"])
        self.assertIn("not column_1: unique, but counts the rows", report["spec"])

    def test_nothing_but_a_counter(self):
        report = self.propose("dump.csv", "OBJECTID,fuel\n" + "".join(f"{i},{'gas' if i % 2 else 'coal'}\n" for i in range(40)))
        self.assertEqual(report["keys"][0]["identity"], ["objectid"])
        self.assertIn("Nothing but a count of the rows identifies them", report["spec"])

    def test_key_column_of_the_source(self):
        report = self.propose("own.csv", "asset_key,queue_id\n" + "".join(f"k{i % 7},Q{i}\n" for i in range(30)))
        self.assertIn("key: {identity: [queue_id], column: row_key}", report["spec"])
        self.assertEqual(self.metadata("")[0].names, ["row_key", "queue_id", "asset_key"])

    def test_no_column_needs_a_line(self):
        report = self.propose("plain.csv", "id,name\n1,a\n2,b\n3,c\n")
        self.assertNotRegex(report["spec"], "(?m)^columns:")

    def test_heading_row_in_a_short_table(self):
        path = self.shared("cases/32-header-on-row-four/queue.xlsx")
        report = self.recloser_json("init", path)
        self.assertEqual((report["loads"], report["rows"], report["keys"][0]["identity"]), (True, 3, ["queue_id"]))
        self.assertIn("1 row under the header explains it; data begin at row 6.", report["spec"])

    def test_what_can_not_be_read(self):
        broken = self.shared("real/parquet-testing/bad_data/ARROW-GH-41317.parquet")
        self.assertIn("ARROW-GH-41317.parquet", self.recloser("init", broken, code=REFUSED).err)
        shape = self.shared("cases/43-dbf-encoding/nocpg.shp")
        self.assertIn("--encoding windows-1252", self.recloser("init", shape, code=REFUSED).err)
        told = self.recloser_json("init", shape, "--encoding", "windows-1252")
        self.assertTrue(told["loads"])
        self.assertIn("  encoding: windows-1252\n", told["spec"])

    def test_a_refused_proposal_says_so(self):
        # Nothing in it is exact enough for a key, and a time is missing.
        report = self.recloser_json("init", self.shared("real/parquet-testing/data/int96_from_spark.parquet"))
        self.assertFalse(report["loads"])
        self.assertIn("# Tried: it does not load yet.", report["spec"])

    def test_options_and_refusals(self):
        data = self.write("x.csv", "id,v\n" + "".join(f"A{i},{i}\n" for i in range(30)))
        out = self.recloser("init", data, "--output", "x.yaml", "--dataset", "mine", "--root", "far/lake").out
        self.assertTrue(out.startswith("x.yaml\n"))
        text = (self.dir / "x.yaml").read_text()
        self.assertIn("dataset: mine\nroot: far/lake\n", text)
        again = self.recloser("init", data, "--output", "x.yaml", code=USAGE)
        self.assertIn("is there already", again.err)
        self.assertEqual((self.dir / "x.yaml").read_text(), text)
        self.assertIn("standard input", self.recloser("init", "-", code=USAGE).err)
        empty = self.write("empty.csv", "id,v\n")
        self.assertIn("no rows", self.recloser("init", empty, code=REFUSED).err)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["empty.csv", "x.csv", "x.yaml"])


main()
