# SPDX-License-Identifier: Apache-2.0
"""Where a table ends: blank rows in the middle of a sheet, notes, totals and second tables below it. What is like the records above
is read, what is plainly not is left out and told, and what may be either is refused until the spec says it."""
import zipfile

from loading import Loading
from support import main

HEADER = ["id", "state", "mw"]
ROWS = [[f"Q{i}", "TX", float(i)] for i in range(1, 11)]


class Ends(Loading):
    def ends_spec(self, source='{files: "*"}', **fields):
        return self.queue_spec({}, source=source, key="{identity: [id]}", partition="[state]", revision=None, geometry=None, **fields)

    def book(self, name, rows):
        workbook = self.need("openpyxl").Workbook()
        sheet = workbook.active
        sheet.title = "Q"
        for i, row in enumerate(rows, 1):
            for k, value in enumerate(row, 1):
                if value is not None:
                    sheet.cell(i, k, value)
        workbook.save(self.dir / name)
        return self.dir / name

    def ids(self, state="TX"):
        return [row[0] for row in self.table(f"state={state}", "id")]

    def warned(self, report, *words):
        self.assertEqual(len([w for w in report["warnings"] if all(word in w for word in words)]), 1, report["warnings"])

    # ---- sheets ----

    def test_blank_row_in_the_middle(self):
        for at in range(1, 10):
            path = self.book(f"{at}.xlsx", [HEADER, *ROWS[:at], [], *ROWS[at:]])
            report = self.load(self.ends_spec(), path)
            self.assertEqual(report["rows_in"], 10)
            self.warned(report, 'sheet "Q"', f"{10 - at} row", f"row {at + 3}, \"Q{at + 1} TX {at + 1}\"", "read as well")
        self.assertEqual(sorted(self.ids()), sorted(row[0] for row in ROWS))

    def test_several_blank_rows(self):
        report = self.load(self.ends_spec(), self.book("b.xlsx", [HEADER, *ROWS[:3], [], [], *ROWS[3:5], [], *ROWS[5:], [], ["* note"]]))
        self.assertEqual(report["rows_in"], 10)
        self.warned(report, "7 rows below a blank row")
        self.warned(report, "1 row below the table is left out", 'row 16, "* note"')

    def test_row_with_a_missing_value_stays_with_its_group(self):
        rows = [HEADER, *ROWS[:3], [], *ROWS[3:5], ["Q6", None, 6.0], *ROWS[6:]]
        report = self.load(self.queue_spec({}, key="{identity: [id]}", partition="[]", revision=None, geometry=None), self.book("m.xlsx", rows))
        self.assertEqual((report["rows_in"], report["rows_written"]), (10, 10))

    def test_title_between_groups(self):
        report = self.load(self.ends_spec(), self.book("t.xlsx", [HEADER, *ROWS[:3], [], ["Section B"], [], *ROWS[3:]]))
        self.assertEqual(report["rows_in"], 10)
        self.warned(report, "1 row below the table is left out", 'row 6, "Section B"')

    def test_notes_and_totals_stay_out(self):
        long = "Preliminary, " + "ü" * 100
        for name, below, first in (("note", [["Figures are preliminary"]], "Figures are preliminary"), ("long", [[long]], "Preliminary, " + "ü" * 33 + "..."),
                                   ("total", [["Total", None, 55.0], ["See the web site"]], "Total 55"), ("all", [["TOTAL:", "all", 55.0]], "TOTAL: all 55"),
                                   ("legend", [["Legend:", "PV = photovoltaic"]], "Legend: PV = photovoltaic"), ("sum", [[None, None, 55.0]], "55")):
            with self.subTest(name):
                report = self.load(self.ends_spec(), self.book(f"{name}.xlsx", [HEADER, *ROWS, [], *below]))
                self.assertEqual(report["rows_in"], 10)
                self.warned(report, f"{len(below)} row", 'sheet "Q"', "left out", f'row 13, "{first}"')

    def test_second_table(self):
        """As wide as the first: nobody but the reader of the sheet knows whether it belongs to it."""
        again = [["Q11", "TX", 11.0], ["Q12", "TX", 12.0]]
        for name, below, row in (("titled", [["Withdrawn"], HEADER, *again], 13), ("apart", [["Withdrawn"], [], HEADER, *again], 15),
                                 ("other", [["Name", "Type", "Unit"], ["A", "B", "C"]], 13)):
            with self.subTest(name):
                path = self.book(f"{name}.xlsx", [HEADER, *ROWS, [], *below])
                error = self.refused(self.ends_spec(), path, said=[f"{name}.xlsx", 'sheet "Q"', f"row {row}:", "end: blank", "end: none", "row 12"])
                self.assertEqual(error["code"], "xlsx.end")
        report = self.load(self.ends_spec('{files: "*", end: blank}'), path)
        self.assertEqual(report["rows_in"], 10)
        self.warned(report, "2 rows below the table are left out", 'row 13, "Name Type Unit"')
        report = self.load(self.ends_spec('{files: "*", end: none}'), path)
        self.assertEqual((report["rows_in"], report["warnings"]), (12, []))

    def test_second_table_of_texts(self):
        """Every row is text, so only its words tell the second header from a record."""
        texts = [[f"Q{i}", "TX", "active"] for i in range(1, 6)]
        head = ["id", "state", "status"]
        self.refused(self.ends_spec(), self.book("words.xlsx", [head, *texts, [], head, *texts]), said=["row 8"])

    def test_declared_ends_tell_too(self):
        path = self.book("d.xlsx", [HEADER, *ROWS[:3], [], *ROWS[3:]])
        report = self.load(self.ends_spec('{files: "*", end: blank}'), path)
        self.assertEqual(report["rows_in"], 3)
        self.warned(report, "7 rows below the table are left out", 'row 6, "Q4 TX 4"')
        report = self.load(self.ends_spec('{files: "*", end: {find: "Q8"}}'), path)
        self.assertEqual(report["rows_in"], 7)
        self.warned(report, "3 rows below the table are left out", 'row 10, "Q8 TX 8"')

    def test_real_queue_with_a_blank_row(self):
        openpyxl = self.need("openpyxl")
        workbook = openpyxl.load_workbook(self.shared("real/ercot-gis/GIS_Report_July2025.xlsx"))
        workbook["Project Details - Large Gen"].insert_rows(900)
        workbook.save(self.dir / "GIS_Report_July2025.xlsx")
        spec = self.queue_spec({"queue_id": "{from: INR}"}, partition="[]", revision=None, geometry=None,
                               source='{files: "*", sheet: "Project Details*", not_sheet: "*Small Gen", header: {find: [INR, Project Name]}}')
        report = self.load(spec, self.dir / "GIS_Report_July2025.xlsx")
        self.assertEqual((report["rows_in"], report["rows_written"]), (1881, 1881))
        self.warned(report, "1,017 rows below a blank row are read as well", "row 901")

    # ---- other readers ----

    def test_blank_rows_of_an_ods_sheet(self):
        """GDAL hands out blank rows as features: no records here either, and the rows below keep their numbers."""
        cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
        rows = [HEADER, ["Q1", "TX", "a"], [], [], ["Q2", "TX", "b"], ["Q3", "", "c"], [], ["note"]]
        table = "".join("<table:table-row>" + ("".join(cell.format(v) if v else "<table:table-cell/>" for v in row) or "<table:table-cell/>") + "</table:table-row>"
                        for row in rows)
        names = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in ("office", "table", "text"))
        with zipfile.ZipFile(self.dir / "b.ods", "w") as file:
            file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            file.writestr("content.xml", f'<office:document-content {names}><office:body><office:spreadsheet><table:table table:name="Q">{table}'
                                         "</table:table></office:spreadsheet></office:body></office:document-content>")
        report = self.load(self.ends_spec('{files: "*", header: 1}', quarantine="{max: 100%}"), self.dir / "b.ods")
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (4, 2, 2))
        self.assertEqual({row for _, _, _, row in self.quarantine(report)}, {6, 8})

    def test_rows_below_a_csv_table_are_told(self):
        path = self.write("c.csv", "id,state,mw\nQ1,TX,1\n\nNotes: " + "ü" * 40 + "\nmore\n")
        report = self.load(self.ends_spec('{files: "*", end: blank}'), path)
        self.assertEqual(report["rows_in"], 1)
        self.warned(report, "2 rows below the table are left out", 'line 4, "Notes: ' + "ü" * 26 + '..."')
        path = self.write("d.csv", "id,state,mw\nQ1,TX,1\nNotes\n")
        report = self.load(self.ends_spec('{files: "*", end: {find: Notes}}'), path)
        self.warned(report, '1 row below the table is left out (first: line 3, "Notes")')

    # ---- text that breaks off ----

    def test_cut_csv(self):
        """A short last line without a line end is what a broken download leaves, not a row for the quarantine."""
        self.load(self.ends_spec(), self.write("whole.csv", "id,state,mw\n" + "".join(f"Q{i},TX,{i}\n" for i in range(10))))
        spec = self.ends_spec(quarantine="{max: 100%}")
        for name, last in (("short.csv", "Q2,T"), ("one.csv", "Q2"), ("quoted.csv", '"Q\n2",TX'), ("end.csv", "Q2,")):
            with self.subTest(name):
                path = self.write(name, "id,state,mw\nQ0,TX,0\nQ1,TX,1\n" + last)
                fields = last.count(",") + 1
                error = self.refused(spec, path, said=["seems to be cut off", f"{fields} of 3 fields", f"{name}, line 4", "download it again", "line end"])
                self.assertEqual(error["code"], "csv.cut_off")
        self.assertEqual(len(self.ids()), 10)
        report = self.load(spec, self.write("short.csv", "id,state,mw\nQ0,TX,0\nQ1,TX,1\nQ2,T\n"))
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (3, 2, 1))

    def test_last_line_without_a_line_end(self):
        for name, text in (("whole.csv", "Q2,TX,2"), ("empty.csv", "Q2,TX,"), ("quoted.csv", 'Q2,TX,"2"'), ("blank.csv", "Q2,TX,2\n  ")):
            with self.subTest(name):
                report = self.load(self.ends_spec(), self.write(name, "id,state,mw\nQ1,TX,1\n" + text))
                self.assertEqual((report["rows_in"], report["quarantined"]), (2, 0))
        report = self.load(self.ends_spec('{files: "*", end: {find: "2 rows"}}'), self.write("foot.csv", "id,state,mw\nQ1,TX,1\nQ2,TX,2\n2 rows"))
        self.assertEqual(report["rows_in"], 2)

    def test_cut_real_queue(self):
        whole = self.shared("real/miso-queue/miso_gi_interactive_queue.csv").read_bytes()
        cut = whole[:len(whole) // 2]
        cut = cut[:cut.rindex(b",", 0, cut.rindex(b"\n") + 40)]
        spec = self.queue_spec({"queue_id": '{from: "Project #"}'}, partition="[]", revision=None, geometry=None, quarantine="{max: 100%}",
                               source='{files: "*", encoding: windows-1252}')
        self.assertIn(self.refused(spec, self.write("miso.csv", cut))["code"], ("csv.cut_off", "csv.unclosed_quote"))


main()
