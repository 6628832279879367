# SPDX-License-Identifier: Apache-2.0
"""Partitions that follow each other: a new month is compared with the month before. With publishers' own files, counted here
anew by scripts that share no line with the program: openpyxl over ERCOT's workbooks, csv over three utilities' tables."""
import collections
import csv
import datetime
import json
import re
import shutil
import zoneinfo

from loading import Loading
from support import HELD, SOURCE, main


def squeezed(value):
    return None if value is None or not str(value).strip() else " ".join(str(value).split())


def compare(older, newer):
    """(gone keys, new keys, revised rows, {column: rows that changed in it}) of two {key: {column: value}}."""
    changed, revised = collections.Counter(), 0
    for key in older.keys() & newer.keys():
        differ = [c for c in older[key].keys() & newer[key].keys() if older[key][c] != newer[key][c]]
        revised += bool(differ)
        changed.update(differ)
    return older.keys() - newer.keys(), newer.keys() - older.keys(), revised, changed


class Publishers(Loading):
    def example(self, name):
        return shutil.copy(SOURCE / "examples" / f"{name}.yaml", self.dir / f"{name}.yaml")

    def workbook(self, path):
        """{INR: {column: value}} of the columns that have a name in all years."""
        book = self.need("openpyxl").load_workbook(path, read_only=True, data_only=True)
        sheet = next(s for s in book.worksheets if s.title.startswith("Project Details") and not s.title.endswith("Small Gen"))
        rows = [list(r) for r in sheet.iter_rows(values_only=True)]
        top = next(i for i, r in enumerate(rows) if "INR" in [squeezed(c) for c in r])
        names = {squeezed(c): i for i, c in enumerate(rows[top]) if squeezed(c)}
        # The table ends at its first blank row.
        start = next(i for i in range(top + 1, len(rows)) if squeezed(rows[i][names["INR"]]))
        found = {}
        for row in rows[start:]:
            if not any(squeezed(c) for c in row):
                break
            found[squeezed(row[names["INR"]])] = {name: row[i] if not isinstance(row[i], str) else squeezed(row[i]) for name, i in names.items()}
        return found


class Ercot(Publishers):
    dataset = "queue_ercot"

    def test_june_then_july(self):
        spec = self.example("ercot")
        june, july = (self.shared(f"real/ercot-gis/GIS_Report_{m}2025.xlsx") for m in ("June", "July"))
        self.assertEqual(self.load(spec, june)["disappeared"], 0)
        report = self.load(spec, july)
        part = report["partitions"][0]
        self.assertEqual(part["partition"], "iso=ERCOT/state=TX/month=2025-07")
        self.assertEqual(part["compared_with"], "iso=ERCOT/state=TX/month=2025-06")
        self.assertEqual([part[n] for n in ("outcome", "rows", "new_keys", "disappeared")], ["new", 1881, 40, 25])
        self.assertEqual([part["changed"][c] for c in ("cod", "capacity_mw", "fuel", "phase", "technology")], [160, 54, 975, 77, 983])
        self.assertEqual((report["disappeared"], report["absent"]), (25, []))
        self.assertEqual(len(self.partitions()), 2)  # June lives on
        gone, new, _, changed = compare(self.workbook(june), self.workbook(july))
        self.assertEqual((len(gone), len(new)), (25, 40))
        self.assertEqual(self.gone(report, "queue_id"), [(k,) for k in sorted(gone)])
        self.assertEqual({r[0] for r in self.gone(report, '"partition"')}, {"iso=ERCOT/state=TX/month=2025-06"})
        for theirs, ours in (("Capacity (MW)", "capacity_mw"), ("Fuel", "fuel"), ("Technology", "technology"), ("GIM Study Phase", "phase"),
                             ("County", "county"), ("POI Location", "poi_name"), ("Project Name", "project_name")):
            self.assertEqual(part["changed"].get(ours, 0), changed[theirs], ours)
        record = self.ledger(part["partition"])[-1]
        self.assertEqual([record[n] for n in ("compared_with", "disappeared", "new_keys", "revised")],
                         [part["compared_with"], 25, 40, part["revised"]])
        self.assertEqual(record["changed"], part["changed"])
        # What disappeared is told as it was last known.
        last = json.loads(self.gone(report, '"row"')[0][0])
        self.assertIn(last["queue_id"], gone)

    def test_correction(self):
        spec = self.example("ercot")
        self.load(spec, self.shared("real/ercot-gis/GIS_Report_July_2020.xlsx"))
        report = self.load(spec, self.shared("real/ercot-gis/GIS_Report_July_2020_CORRECTION.xlsx"))
        part = report["partitions"][0]
        self.assertEqual([part[n] for n in ("outcome", "rows", "new_keys", "disappeared", "revised")], ["replaced", 503, 0, 0, 1])
        self.assertEqual(part["changed"], {"column_m": 1})
        self.assertNotIn("compared_with", part)
        self.assertEqual(report["disappeared_file"], None)


class Utilities(Publishers):
    dataset = "queue_map"
    snapshots = ("20241230_cdecfc6", "20250104_a770e40")

    def day(self, text, zone):
        if not squeezed(text):
            return None
        if re.match(r"\d+/\d+/\d+", text):
            return datetime.datetime.strptime(text.split()[0], "%m/%d/%Y").date()
        moment = datetime.datetime.fromisoformat(text)
        return moment.astimezone(zoneinfo.ZoneInfo(zone)).date() if zone and moment.tzinfo else moment.date()

    def table_of(self, snapshot, utility):
        found = {}
        path = self.shared(f"real/gi-queue-map-snapshots/{snapshot}/{utility.lower()}_active_projects.csv")
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                row = {name: squeezed(value) for name, value in row.items()}
                if utility == "PJM":
                    row["id"] = re.match(r"[A-Z0-9]+-[A-Z]*[0-9]+[A-Z0-9_]*", row["id"]).group()
                row["capacity"] = None if row["capacity"] is None else float(row["capacity"])
                row["submitted_date"] = self.day(row["submitted_date"], "America/New_York" if utility == "MISO" else None)
                found[row["id"], row["name"] or ""] = {**row, "name": row["name"] or ""}
        return found

    def test_two_snapshots(self):
        spec = self.example("gi_queue_map")
        for snapshot in self.snapshots:
            report = self.load(spec, self.shared(f"real/gi-queue-map-snapshots/{snapshot}"))
        for part in report["partitions"]:
            utility = re.match("iso=([A-Z]+)/", part["partition"]).group(1)
            with self.subTest(utility=utility):
                self.assertEqual(part["compared_with"], f"iso={utility}/snapshot=2024-12-30")
                older, newer = (self.table_of(s, utility) for s in self.snapshots)
                gone, new, revised, changed = compare(older, newer)
                self.assertEqual((part["rows"], part["disappeared"], part["new_keys"], part["revised"]), (len(newer), len(gone), len(new), revised))
                names = {"submitted_date": "submitted", "id": "queue_id"}
                self.assertEqual(part["changed"], {names.get(c, c): n for c, n in changed.items()})
        self.assertEqual([(p["rows"], p["disappeared"], p["new_keys"]) for p in report["partitions"]], [(427, 0, 0), (1909, 0, 7), (2362, 0, 0)])


class Following(Loading):
    def following(self, **fields):
        return self.queue_spec({"capacity": "{type: double}"}, key="{identity: [id]}", revision=None, geometry=None,
                               **{"partition": "[state, month]", "series": "month", **fields})

    def month(self, month, *projects, state="TX", name=None):
        lines = ["id,state,month,capacity", *(f"{p},{state},{month},1" for p in projects)]
        return self.write(name or f"{state}-{month}-{''.join(projects)}.csv", "\n".join(lines) + "\n")

    def only(self, report):
        self.assertEqual(len(report["partitions"]), 1)
        return report["partitions"][0]

    def test_nearest_before(self):
        spec = self.following()
        for month, projects in (("2025-12", "A"), ("2026-04", "ABC"), ("2026-09", "Z")):
            self.load(spec, self.month(month, *projects))
        self.load(spec, self.month("2026-05", "Q", state="NM"))
        part = self.only(self.load(spec, self.month("2026-06", "A", "B", "D")))
        self.assertEqual((part["compared_with"], part["disappeared"], part["new_keys"]), ("state=TX/month=2026-04", 1, 1))

    def test_correction_looks_at_its_own_month(self):
        spec = self.following()
        self.load(spec, self.month("2026-06", "A", "B"))
        self.load(spec, self.month("2026-07", "A", "C"))
        part = self.only(self.load(spec, self.month("2026-07", "A", "C", "D")))
        self.assertEqual((part["disappeared"], part["new_keys"], part["seq"]), (0, 1, 2))
        self.assertNotIn("compared_with", part)

    def test_numbers_in_their_order(self):
        spec = self.queue_spec({"week": "{from: month, type: integer}"}, key="{identity: [id]}", revision=None, geometry=None,
                               partition="[state, week]", series="week")
        for week in ("2", "9"):
            self.load(spec, self.month(week, "A"))
        self.assertEqual(self.only(self.load(spec, self.month("10", "B")))["compared_with"], "state=TX/week=9")
        self.assertEqual(self.recloser_json("diff", spec, "week=10")["older"]["partition"], "state=TX/week=9")

    def test_several_months_in_one_load(self):
        """Only the first of them follows a live one; the others follow each other, and nothing of them is live yet."""
        spec = self.following()
        self.load(spec, self.month("2026-04", "A", "B"))
        text = "id,state,month,capacity\nA,TX,2026-05,1\nA,TX,2026-06,1\nC,TX,2026-06,1\n"
        parts = self.load(spec, self.write("both.csv", text))["partitions"]
        self.assertEqual([(p.get("compared_with"), p["disappeared"], p["new_keys"]) for p in parts],
                         [("state=TX/month=2026-04", 1, 0), (None, 0, 0)])

    def test_held_month_is_held(self):
        """There is no live version to fall back on, and still: held is held."""
        spec = self.following(disappeared="{policy: hold, max: 10%}")
        self.load(spec, self.month("2026-06", "A", "B"))
        july = self.month("2026-07", "A")
        report = self.load(spec, july, code=HELD)
        self.assertEqual((report["outcome"], report["held"], self.only(report)["outcome"]), ("held", 1, "held"))
        self.assertEqual(self.partitions(), ["state=TX/month=2026-06"])
        self.assertEqual(self.gone(report, "id, last_seq"), [("B", 1)])
        # August is compared with what is live: June.
        self.assertEqual(self.only(self.load(spec, self.month("2026-08", "A", "B")))["compared_with"], "state=TX/month=2026-06")
        report = self.load(spec, july, "--accept", "disappeared")
        self.assertEqual(self.ledger("state=TX/month=2026-07")[0]["accepted"], ["disappeared"])

    def test_carry_is_for_versions_not_for_months(self):
        spec = self.following(disappeared="carry")
        self.load(spec, self.month("2026-06", "A", "B"))
        report = self.load(spec, self.month("2026-07", "A"))
        self.assertEqual((report["carried"], self.only(report)["disappeared"]), (0, 1))
        self.assertIn("1 of 2 keys of state=TX/month=2026-06 are gone: B", report["warnings"][0])

    def test_a_move_between_states_over_the_months(self):
        spec = self.following(disappeared="allow")
        text = "id,state,month,capacity\nA,TX,2026-06,1\nB,TX,2026-06,1\nC,NM,2026-06,1\n"
        self.load(spec, self.write("june.csv", text))
        report = self.load(spec, self.write("july.csv", "id,state,month,capacity\nA,TX,2026-07,1\nB,NM,2026-07,1\nC,NM,2026-07,1\n"))
        self.assertEqual(report["warnings"], ["1 key moved from state=TX/month=2026-06 to state=NM/month=2026-07"])

    def test_without_a_series_no_month_is_compared(self):
        spec = self.following(series=None)
        self.load(spec, self.month("2026-06", "A", "B"))
        report = self.load(spec, self.month("2026-07", "A"))
        self.assertEqual((report["disappeared"], report["warnings"]), (0, []))


if __name__ == "__main__":
    main()
