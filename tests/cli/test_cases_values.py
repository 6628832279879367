# SPDX-License-Identifier: Apache-2.0
"""Faults that users of similar tools met, second part: what becomes of the values inside rows. Keys, missing values, texts that
look like numbers, revisions, encodings, headers, geometries (cases/*/expected.md)."""
import json

from loading import Loading
from support import REFUSED, USAGE, main

TX = "state=TX/month=2026-07"
NM = "state=NM/month=2026-07"
PAIR = "{identity: [queue_id, poi_name]}"
ALL = "{max: 100%}"


class Keys(Loading):
    def test_19_null_empty_and_words(self):
        spec = self.queue_spec(key=PAIR, quarantine=ALL)
        report = self.load(spec, self.case("19-null-empty-words/queue.json"))
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (5, 3, 2))
        self.assertEqual(self.table(TX, "poi_name, capacity_mw", "capacity_mw"), [("None", 3.0), ("nan", 4.0), ("NULL", 5.0)])
        self.assertEqual(self.table(TX, "count(DISTINCT asset_key)"), [(3,)])
        self.assertEqual([(column, row) for _, column, _, row in self.quarantine(report)], [("poi_name", 1), ("poi_name", 2)])

    def test_20_separator_inside(self):
        source = self.case("20-pipe-in-parts/queue.csv")
        report = self.load(self.queue_spec(key="{identity: [queue_id, poi_name], escape: true}"), source)
        self.assertEqual((report["rows_in"], report["rows_written"], report["superseded"], report["collapsed"]), (3, 3, 0, 0))
        self.assertEqual(self.table(TX, "count(DISTINCT asset_key)"), [(3,)])

    def test_20_undeclared_is_refused_not_merged(self):
        error = self.refused(self.queue_spec(key=PAIR), self.case("20-pipe-in-parts/queue.csv"), said=["two identities", "escape: true"])
        self.assertEqual(error["code"], "batch.collision")

    def test_21_blank_part_twice(self):
        spec = self.queue_spec(key=PAIR, quarantine=ALL)
        folder = self.case("21-blank-key-part-twice")
        first = self.load(spec, folder / "day1.csv")
        self.assertEqual((first["rows_in"], first["rows_written"], first["quarantined"]), (3, 2, 1))
        second = self.load(spec, folder / "day2.csv")
        self.assertEqual((second["rows_in"], second["rows_written"], second["quarantined"], second["disappeared"]), (3, 2, 1, 0))
        self.assertEqual(self.table(TX, "queue_id, capacity_mw"), [("Q1", 120.0), ("Q2", 100.0)])

    def test_22_integer_stays_one(self):
        for queue_id in ("{type: text}", "{type: integer}"):
            with self.subTest(queue_id=queue_id):
                self.lake = "lake_" + queue_id[7:11]
                spec = self.queue_spec({"queue_id": queue_id, "published_at": "{type: timestamp}"}, root=self.lake, partition="[state]",
                                       quarantine=ALL)
                folder = self.case("22-int-becomes-float")
                self.load(spec, folder / "july.csv")
                keys = self.table("state=TX", "asset_key, CAST(queue_id AS VARCHAR)")
                self.assertEqual(sorted(k[1] for k in keys), ["101", "102", "103", "104"])
                report = self.load(spec, folder / "august.csv")
                self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"], report["disappeared"]), (5, 4, 1, 0))
                self.assertEqual([(p["new_keys"], p["disappeared"]) for p in report["partitions"]], [(0, 0)])
                self.assertEqual(self.table("state=TX", "asset_key, CAST(queue_id AS VARCHAR)"), keys)
                self.assertEqual(self.recloser("key", "101").out.split()[0], dict((v, k) for k, v in keys)["101"])

    def test_25_zeros_between_years(self):
        folder = self.case("25-boiler-zeros-between-years")
        columns = {"published_at": "{type: timestamp}"}
        spec = self.queue_spec(columns, key="{identity: [plant_id, unit_id]}", partition="[state]")
        self.load(spec, folder / "y1.csv")
        report = self.load(spec, folder / "y2.csv")
        self.assertEqual([(p["rows"], p["disappeared"], p["new_keys"]) for p in report["partitions"]], [(2, 1, 1)])
        self.assertEqual(self.gone(report, "plant_id, unit_id"), [("3", "01")])
        self.lake = "other"
        spec = self.queue_spec(columns, root="other", key="{identity: [plant_id, {sql: \"regexp_replace(unit_id, '^0+([0-9]+)$', '\\\\1')\"}]}",
                               partition="[state]")
        self.load(spec, folder / "y1.csv")
        self.assertEqual(self.table("state=AL", "unit_id"), [("01",), ("2",)])
        report = self.load(spec, folder / "y2.csv")
        self.assertEqual([(p["rows"], p["disappeared"], p["new_keys"]) for p in report["partitions"]], [(2, 0, 0)])
        self.assertEqual(self.table("state=AL", "unit_id"), [("1",), ("2",)])

    def test_44_nineteen_digits(self):
        spec = self.queue_spec({}, key="{identity: [feature_no]}", partition="[state]", revision=None, geometry="{}")
        self.load(spec, self.case("44-geojson-19-digit-id/big.geojson"))
        self.assertEqual(self.table("state=TX", "CAST(feature_no AS VARCHAR)"), [("2305843009223239036",), ("2305843009223239037",)])
        self.assertEqual(self.table("state=TX", "count(DISTINCT asset_key)"), [(2,)])

    def test_52_several_units(self):
        source = self.case("52-several-units-per-position/units.csv")
        spec = self.queue_spec({}, key="{identity: [position]}", partition="[state]", revision="{ties: refuse}")
        error = self.refused(spec, source, said=["position 8 occurs 4 times", "1, 2, 3, 4"])
        self.assertEqual(error["code"], "batch.ties")
        self.assertNotIn("position 9", error["where"])
        spec = self.queue_spec({}, key="{identity: [position, unit]}", partition="[state]", revision=None)
        report = self.load(spec, source)
        self.assertEqual((report["rows_in"], report["rows_written"]), (5, 5))
        self.assertEqual(self.table("state=MA", "count(DISTINCT asset_key)"), [(5,)])

    def test_53_no_key_mutable_key(self):
        folder = self.case("53-no-key-and-mutable-key")
        for key in ("{identity: []}", None):
            spec = self.queue_spec(key=key)
            done = self.recloser("load", spec, folder / "v1.csv", code=USAGE)
            self.assertIn("key", done.err)
            self.assertFalse((self.dir / "lake").exists())
        self.lake = "b"
        spec = self.queue_spec(root="b", key="{identity: [queue_id, status]}")
        self.load(spec, folder / "v1.csv")
        report = self.load(spec, folder / "v2.csv")
        self.assertEqual([(p["rows"], p["new_keys"], p["disappeared"]) for p in report["partitions"]], [(3, 1, 1)])
        self.assertEqual(self.gone(report, "queue_id, status"), [("Q1", "active")])
        self.lake = "c"
        spec = self.queue_spec(root="c")
        self.load(spec, folder / "v1.csv")
        report = self.load(spec, folder / "v2.csv")
        self.assertEqual([(p["rows"], p["new_keys"], p["disappeared"], p["revised"]) for p in report["partitions"]], [(3, 0, 0, 3)])

    def test_56_key_column_there(self):
        source = self.case("56-asset_key-already-there/own.csv")
        spec = self.queue_spec({}, partition="[filename]", revision=None)
        self.refused(spec, source, said=["asset_key", "key:", "column"])
        spec = self.queue_spec({}, partition="[filename]", revision=None, key="{identity: [queue_id], column: row_key}")
        report = self.load(spec, source)
        self.assertEqual([p["partition"] for p in report["partitions"]], ["filename=part_a", "filename=part_b"])
        self.assertEqual(self.table("filename=part_a", "asset_key, filename"), [("mine-1", "part_a")])
        self.assertEqual(self.table("filename=part_b", "asset_key, row_key"), [("mine-2", self.recloser("key", "Q2").out.split()[0])])


class Texts(Loading):
    def test_23_number_cells(self):
        self.load_ids("23-xlsx-first-row-blank-id/ids.xlsx", ["100123837", "100143190", "100143192"], quarantined=1)

    def test_24_quoted_zeros(self):
        self.load_ids("24-quoted-zeros/ids.csv", ["001", "002", "003", "1"])
        keys = dict(self.table(TX, "queue_id, asset_key"))
        self.assertEqual(len(set(keys.values())), 4)
        self.assertEqual(self.recloser("key", "001").out.split()[0], keys["001"])

    def load_ids(self, case, ids, quarantined=0):
        # The sheet's first data row has no id: `data: next` makes it a row, which then is quarantined, and not a part of the head.
        source = '{files: "*", data: next}' if case.endswith("xlsx") else '{files: "*"}'
        report = self.load(self.queue_spec(source=source, quarantine=ALL), self.case(case))
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (len(ids) + quarantined, len(ids), quarantined))
        self.assertEqual(self.table(TX, "queue_id, typeof(queue_id)"), [(i, "VARCHAR") for i in ids])

    def test_26_called_na(self):
        report = self.load(self.queue_spec(key=PAIR), self.case("26-project-called-NA/queue.csv"))
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (6, 6, 0))
        self.assertEqual(self.table(TX, "poi_name", "capacity_mw"), [(t,) for t in ("NA", "N/A", "null", "None", "nan", "-")])
        self.assertEqual(self.table(TX, "count(DISTINCT asset_key)"), [(6,)])

    def test_30_byte_order_mark(self):
        folder = self.case("30-bom-first-column")
        self.load(self.queue_spec(), folder / "bom.csv")
        self.recloser("load", self.queue_spec(root="plain"), folder / "plain.csv")
        self.assertEqual(self.table(TX, "asset_key, queue_id"), self.table(TX, "asset_key, queue_id", lake="plain"))
        self.assertEqual(self.table(TX, "count(queue_id)"), [(2,)])
        self.assertEqual(self.live(TX).read_bytes(), self.live(TX, "plain").read_bytes())

    def test_31_windows_1252(self):
        source = self.case("31-windows-1252/w.csv")
        error = self.refused(self.queue_spec(key=PAIR), source, said=["w.csv", "UTF-8", "encoding:", "in windows-1252"])
        offset = next(i for i, byte in enumerate(source.read_bytes()) if byte >= 128)
        self.assertIn(str(offset), error["what"] + error["where"])
        report = self.load(self.queue_spec(key=PAIR, source='{files: "*", encoding: windows-1252}'), source)
        self.assertEqual(report["rows_written"], 3)
        self.assertEqual(self.table(TX, "poi_name", "queue_id"), [("Río Seco – Norte",), ("Café €5",), ("Niño",)])

    def test_32_header_on_row_four(self):
        source = self.case("32-header-on-row-four/queue.xlsx")
        columns = {"Queue ID": "{type: text}", "Published": "{type: timestamp}", "Capacity": "{type: double}"}
        fields = {"key": '{identity: ["Queue ID"]}', "partition": "[State, Month]", "revision": "Published",
                  "geometry": "{crs: EPSG:4326, from: {lon: Lon, lat: Lat}}"}
        self.refused(self.queue_spec(columns, **fields), source, said=["Queue ID", "not found"])
        spec = self.queue_spec(columns, source='{files: "*", header: 4, data: 6}', **fields)
        report = self.load(spec, source)
        self.assertEqual((report["rows_in"], report["rows_written"]), (3, 3))
        self.assertEqual(self.table("State=TX/Month=2026-07", '"Queue ID", "POI Name", Capacity'), [("Q1", "Elm", 10.0), ("Q2", "Oak", 20.0)])
        self.assertEqual(self.table("State=NM/Month=2026-07", '"Queue ID", "POI Name", Capacity'), [("Q3", "Ash", 30.0)])
        # The notes after the table are rows without a key when the sheet is said to have no end.
        self.lake = "open"
        spec = self.queue_spec(columns, root="open", quarantine=ALL, source='{files: "*", header: 4, data: 6, end: none}', **fields)
        report = self.load(spec, source)
        self.assertEqual((report["rows_written"], report["rows_in"] - report["quarantined"] - report["filtered"]), (3, 3))

    def test_54_semicolons(self):
        source = self.case("54-semicolon-with-comma-in-header/semi.csv")
        columns = {"lon": "{type: double}", "lat": "{type: double}"}
        self.refused(self.queue_spec(columns, revision=None), source, said=["not found", "delimiter: semicolon"])
        report = self.load(self.queue_spec(columns, revision=None, source="{files: \"*\", csv: {delimiter: \";\"}}"), source)
        self.assertEqual(report["rows_written"], 2)
        self.assertEqual(self.table(TX, '"capacity (MW, ac)"'), [("10",), ("20",)])


class Revisions(Loading):
    def test_27_later_row_wins(self):
        source = self.case("27-same-timestamp-later-row-wins/ties.csv")
        digests = set()
        for threads in (1, 2, 8):
            self.lake = f"lake{threads}"
            report = self.load(self.queue_spec(root=self.lake), source, "--threads", threads)
            self.assertEqual((report["rows_in"], report["rows_written"], report["superseded"], report["ties"]), (60, 30, 30, 30))
            self.assertEqual(self.table(TX, "sum(capacity_mw), bool_and(capacity_mw = 1000 + CAST(substr(queue_id, 2) AS INTEGER))"),
                             [(30435.0, True)])
            digests.add(report["partitions"][0]["sha256"])
        self.assertEqual(len(digests), 1)

    def test_28_month_day_year(self):
        source = self.case("28-month-day-year-text/mdy.csv")
        error = self.refused(self.queue_spec(), source, said=["published_at", "9/28/2026"])
        self.assertIn("format:", error["where"])
        report = self.load(self.queue_spec({"published_at": '{type: timestamp, format: "%m/%d/%Y"}', "capacity_mw": "{type: double}"}), source)
        self.assertEqual((report["rows_written"], report["superseded"], report["ties"]), (1, 2, 0))
        self.assertEqual(self.table(TX, "capacity_mw, strftime(published_at, '%Y-%m-%d')"), [(300.0, "2026-10-01")])

    def test_28_undeclared_text_does_not_order(self):
        source = self.case("28-month-day-year-text/mdy.csv")
        error = self.refused(self.queue_spec({"capacity_mw": "{type: double}"}), source, said=["9/28/2026", "type: timestamp, format:"])
        self.assertIn("published_at can't say which row is later: it is text that is not an ISO date", error["what"])
        self.assertFalse((self.dir / "lake").exists())

    def test_29_near_midnight(self):
        source = self.case("29-explicit-month-near-midnight/edge.csv")
        digests = set()
        for zone in ("UTC", "America/Chicago", "Asia/Kolkata"):
            self.lake = zone.replace("/", "_")
            spec = self.queue_spec({"published_at": "{type: timestamptz}", "capacity_mw": "{type: double}"}, root=self.lake)
            report = self.load(spec, source, env={"TZ": zone})
            self.assertEqual([(p["partition"], p["rows"]) for p in report["partitions"]], [(TX, 2)])
            digests.add(report["partitions"][0]["sha256"])
        self.assertEqual(len(digests), 1)
        self.assertEqual(self.table(TX, "epoch(published_at)", "queue_id"), [(1785558600.0,), (1785520800.0,)])


class Columns(Loading):
    def test_33_key_column_renamed(self):
        folder = self.case("33-key-column-renamed")
        spec = self.queue_spec(key='{identity: [queue_id, "Interconnection Point"]}')
        self.load(spec, folder / "june.csv")
        self.assertEqual(self.table("state=TX/month=2026-06", "count(*)"), [(2,)])
        error = self.refused(spec, folder / "july.csv", said=["Interconnection Point", "Points of Interconnection", "from:"])
        self.assertEqual(error["code"], "source.missing_column")
        self.assertEqual(self.partitions(), ["state=TX/month=2026-06"])

    def test_34_all_blank_month(self):
        folder = self.case("34-all-blank-month")
        spec = self.queue_spec()
        self.load(spec, folder / "may.csv")
        self.load(spec, folder / "june.csv")
        may, june = "state=TX/month=2026-05", "state=TX/month=2026-06"
        types = {str(self.metadata(p)[0].column(list(self.metadata(p)[0].names).index("capacity_mw"))) for p in (may, june)}
        self.assertEqual(len(types), 1)
        self.assertEqual(self.table(may, "capacity_mw"), [(None,), (None,)])
        self.assertEqual(self.table(june, "capacity_mw"), [(10.0,), (20.5,)])
        self.assertEqual(self.query(f"SELECT count(*), sum(capacity_mw) FROM read_parquet('{self.tree_path}/**/*.parquet')"), [(4, 30.5)])


class Geometries(Loading):
    def test_37_all_null(self):
        for share in (None, ALL):
            spec = self.queue_spec({}, key="{identity: [asset]}", revision=None, geometry="{}", quarantine=share)
            report = self.load(spec, self.case("37-all-geometries-null/allnull.geojson"), code=REFUSED)
            self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (2, 0, 2))
            self.assertIn("geometry", report["error"]["what"] + report["error"]["where"])
            self.assertFalse((self.dir / "lake").exists())

    def test_40_out_of_range(self):
        spec = self.queue_spec({"kv": "{type: integer}"}, key="{identity: [asset]}", revision=None, quarantine=ALL)
        report = self.load(spec, self.case("40-out-of-range/ll.csv"))
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (7, 3, 4))
        self.assertEqual(self.table(TX, "asset"), [("L1",), ("L6",), ("L7",)])
        reasons = {row: reason for reason, _, _, row in self.quarantine(report)}
        self.assertEqual(sorted(reasons), [2, 3, 4, 5])
        geo = json.loads(self.metadata(TX)[1]["geo"])
        self.assertEqual(geo["columns"]["geometry"]["bbox"], [-97, 0, 0, 51.5])


if __name__ == "__main__":
    main()
