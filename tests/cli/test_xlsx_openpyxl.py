#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The workbook reader's cells against known answers and against openpyxl.

usage: test_xlsx_openpyxl.py XLSX_DUMP [FOLDER_OF_WORKBOOKS]

First small workbooks, written here as literal XML, with the right answer beside each cell. Then, cell by cell, every
workbook in the folder against openpyxl: value, kind, dates to the millisecond. The folder is `real` in RECLOSER_SHARED
(default: ../shared beside the project) unless named. Exit 77: the first part passed and the second could not run.
"""
import datetime
import os
import re
import subprocess
import sys
import tempfile
import zipfile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STRICT_OFFICE = "http://purl.oclc.org/ooxml/officeDocument/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"

# Cell formats by their index: 0 General, 1 date, 2 date and time, 3 time, 4 duration, 5 built-in date, 6 built-in [h]:mm:ss,
# 7 East Asian date, 8 text with letters of a date in quotes.
STYLES = (
    '<styleSheet xmlns="%s"><numFmts count="6"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="[$-409]d/m/yyyy h:mm:ss;@"/><numFmt numFmtId="166" formatCode="h:mm AM/PM"/>'
    '<numFmt numFmtId="167" formatCode="[h]:mm"/><numFmt numFmtId="168" formatCode="0.0 &quot;MW, d&quot;"/></numFmts>'
    '<cellStyleXfs count="1"><xf numFmtId="14"/></cellStyleXfs>'
    '<cellXfs count="9"><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="167"/>'
    '<xf numFmtId="14"/><xf numFmtId="46"/><xf numFmtId="57"/><xf numFmtId="168"/></cellXfs>'
    '<dxfs count="1"><dxf><numFmt numFmtId="0" formatCode="yyyy"/></dxf></dxfs></styleSheet>' % MAIN
)


def write_book(path, sheets, shared="", date_1904=False, states=(), folder="xl", main=MAIN, office=OFFICE, prefix="",
               extra=()):
    """`sheets`: {name: inner XML of the worksheet}. `prefix`: namespace prefix in the sheets, with its colon."""
    declare = 'xmlns%s="%s"' % (":" + prefix[:-1] if prefix else "", main)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("_rels/.rels", '<Relationships xmlns="%s"><Relationship Id="r1" Type="%s/officeDocument" Target="%s/workbook.xml"/>'
                   "</Relationships>" % (PACKAGE, office, folder))
        listed, relations = "", ""
        for i, (name, inner) in enumerate(sheets.items()):
            state = ' state="%s"' % states[i] if i < len(states) and states[i] else ""
            listed += '<sheet name="%s" sheetId="%d"%s r:id="s%d"/>' % (name, i + 1, state, i)
            # Relative, absolute and with a detour: all three ways are legal.
            target = ["worksheets/Sheet%d.xml", "/" + folder + "/worksheets/sheet%d.xml", "../" + folder + "/worksheets/./sheet%d.xml"][i % 3] % i
            target = target.replace("/./", "/")
            relations += '<Relationship Id="s%d" Type="%s/worksheet" Target="%s"/>' % (i, office, target)
            z.writestr("%s/worksheets/sheet%d.xml" % (folder, i), '<?xml version="1.0"?><%sworksheet %s>%s</%sworksheet>' % (prefix, declare, inner, prefix))
        relations += '<Relationship Id="st" Type="%s/styles" Target="styles.xml"/>' % office
        z.writestr("%s/styles.xml" % folder, STYLES.replace(MAIN, main))
        if shared:
            relations += '<Relationship Id="ss" Type="%s/sharedStrings" Target="sharedStrings.xml"/>' % office
            z.writestr("%s/sharedStrings.xml" % folder, '<sst xmlns="%s">%s</sst>' % (main, shared))
        z.writestr("%s/_rels/workbook.xml.rels" % folder, '<Relationships xmlns="%s">%s</Relationships>' % (PACKAGE, relations))
        z.writestr("%s/workbook.xml" % folder, '<workbook xmlns="%s" xmlns:r="%s"><workbookPr%s/><sheets>%s</sheets></workbook>'
                   % (main, office, ' date1904="1"' if date_1904 else "", listed))
        for name, content in extra:
            z.writestr(name, content)


def unescape(text):
    return re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m.group(1), 16)), text)


def dump(program, path):
    """[(sheet, row, column, kind, value, fault)], or the refusal as a text."""
    done = subprocess.run([program, path], capture_output=True, timeout=300)
    if done.returncode == 3:
        return done.stderr.decode("utf-8")
    if done.returncode != 0:
        raise SystemExit("%s %s: exit %d\n%s" % (program, path, done.returncode, done.stderr.decode("utf-8", "replace")))
    cells = []
    for line in done.stdout.decode("utf-8").split("\n")[:-1]:
        sheet, row, column, kind, value, fault = line.split("\t")
        cells.append((unescape(sheet), int(row), int(column), kind, unescape(value), fault))
    return cells


# ---- known answers ----

def column(cells, start=1):
    """Cells under each other in column A: [(xml of the cell without its name, kind, value, fault)]."""
    xml = "".join('<row r="%d"><c r="A%d"%s</c></row>' % (i, i, c[0]) for i, c in enumerate(cells, start))
    return "<sheetData>%s</sheetData>" % xml, [("S", i, 1) + tuple(c[1:]) for i, c in enumerate(cells, start) if len(c) > 1]


def number(value, style=0):
    return ' s="%d"><v>%s</v>' % (style, value)


NEVER = "1900-02-29 never was, except in this calendar"
CALENDAR_1900 = [
    (number(1, 1), "date", "1900-01-01", ""),
    (number(59, 1), "date", "1900-02-28", ""),
    (number(60, 1), "date", "60", NEVER),
    (number("60.5", 2), "date", "60.5", NEVER),
    (number(61, 1), "date", "1900-03-01", ""),
    (number(45203, 5), "date", "2023-10-04", ""),
    (number(45203, 7), "date", "2023-10-04", ""),
    (number("45203.291666666664", 1), "date", "2023-10-04T07:00:00", ""),
    (number("45203.99999999999", 2), "date", "2023-10-05", ""),
    (number("45203.00000578704", 2), "date", "2023-10-04T00:00:00.500", ""),
    (number(2958465, 1), "date", "9999-12-31", ""),
    (number(2958466, 1), "date", "2958466", "a date after 9999-12-31"),
    (number("1E+300", 1), "date", "1e+300", "a date after 9999-12-31"),
    (number(-1, 1), "date", "-1", "a date before the workbook's calendar begins"),
    (number("0.75", 1), "date", "18:00:00", ""),
    (number("0.5", 3), "time", "12:00:00", ""),
    (number("0.9999999999", 3), "time", "1900-01-01", ""),
    (number("1.5625", 4), "duration", "37:30:00", ""),
    (number("1.5625", 6), "duration", "37:30:00", ""),
    (number("-0.0625", 4), "duration", "-01:30:00", ""),
    (number("100.00000578704", 4), "duration", "2400:00:00.500", ""),
    (number(45203), "number", "45203", ""),
    (number(45203, 8), "number", "45203", ""),
    (number(45203, 99), "number", "45203", ""),
    (' t="d"><v>2025-07-01T00:00:00</v>', "iso", "2025-07-01", ""),
    (' t="d"><v>2025-07-01T07:00:00.250</v>', "iso", "2025-07-01T07:00:00.250", ""),
    (' t="d"><v>soon</v>', "iso", "soon", "a date cell that holds no date"),
]
CALENDAR_1904 = [
    (number(0, 1), "date", "1904-01-01", ""),
    (number(60, 1), "date", "1904-03-01", ""),
    (number("0.5", 2), "date", "1904-01-01T12:00:00", ""),
    (number("0.5", 3), "time", "12:00:00", ""),
    (number(43741, 1), "date", "2023-10-04", ""),
    (number(2957003, 1), "date", "9999-12-31", ""),
    (number(2957004, 1), "date", "2957004", "a date after 9999-12-31"),
]
SHARED = (
    "<si><t>plain</t></si>"
    '<si><r><t xml:space="preserve">rich </t></r><r><rPr><b/></rPr><t>text</t></r><rPh sb="0" eb="1"><t>furi</t></rPh></si>'
    "<si><t>a_x000D_b_x005F_x000D_</t></si>"
    "<si><t/></si>"
    "<si><t>_xD83D__xDE00_ _xD83D_ _x12G4_</t></si>"
    '<si><t xml:space="preserve"> blanks &amp; \u00fcml\u00e4ut </t></si>'
)
VALUES = [
    (' t="s"><v>0</v>', "text", "plain", ""),
    (' t="s"><v>1</v>', "text", "rich text", ""),
    (' t="s"><v>2</v>', "text", "a\rb_x000D_", ""),
    (' t="s"><v>3</v>', "text", "", ""),
    (' t="s"><v>4</v>', "text", "\U0001F600 _xD83D_ _x12G4_", ""),
    (' t="s"><v>5</v>', "text", " blanks & \u00fcml\u00e4ut ", ""),
    (' t="s"><v>6</v>', "malformed", "6", "the cell's content is not of its type"),
    (' t="s"><v>-1</v>', "malformed", "-1", "the cell's content is not of its type"),
    (' t="inlineStr"><is><t>in</t></is>', "text", "in", ""),
    (' t="inlineStr"><is><r><t>one </t></r><r><t>two_x0041_</t></r><rPh sb="0" eb="1"><t>no</t></rPh></is>', "text", "one twoA", ""),
    (' t="str"><f>A1</f><v>formula_x000A_text</v>', "text", "formula\ntext", ""),
    (' t="str"><f>IF(1,"","")</f><v></v>', "text", "", ""),
    ("><f>1+1</f><v>2</v>", "number", "2", ""),
    ("><f>1+1</f>", "formula", "", "the formula was saved without its result"),
    ("><f>1+1</f><v/>", "formula", "", "the formula was saved without its result"),
    ('><f t="shared" ref="A16:A17" si="0">B16*2</f><v>8.5</v>', "number", "8.5", ""),
    ('><f t="shared" si="0"/><v>9</v>', "number", "9", ""),
    (' t="b"><v>1</v>', "boolean", "true", ""),
    (' t="b"><f>TRUE()</f><v>0</v>', "boolean", "false", ""),
    (' t="b"><v>maybe</v>', "malformed", "maybe", "the cell's content is not of its type"),
    (' t="e"><v>#N/A</v>', "error", "#N/A", "the cell holds an error"),
    (' t="e"><f>1/0</f><v>#DIV/0!</v>', "error", "#DIV/0!", "the cell holds an error"),
    (' t="n"><v>1,5</v>', "malformed", "1,5", "the cell's content is not of its type"),
    (number("100143192.0"), "number", "100143192", ""),
    (number("33.458665000000003"), "number", "33.458665", ""),
    (number("1.2345678901234568E+17"), "number", "123456789012345680", ""),
    (number("0.1"), "number", "0.1", ""),
    (number("-0"), "number", "0", ""),
    (number("1E-10"), "number", "1e-10", ""),
    ('><v> 7 </v>', "number", "7", ""),
    (' s="1">',),  # a format alone is nothing
    ("><v></v>",),
]


class Checks:
    def __init__(self, program, folder):
        self.program, self.folder, self.failed, self.count = program, folder, 0, 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def equal(self, what, got, expected):
        self.count += 1
        if got == expected:
            return
        self.failed += 1
        print("%s:" % what)
        if isinstance(got, list) and isinstance(expected, list):
            for g, e in zip(got + [None] * len(expected), expected + [None] * len(got)):
                if g != e:
                    print("  got      %r\n  expected %r" % (g, e))
        else:
            print("  got      %r\n  expected %r" % (got, expected))

    def book(self, what, expected, **arguments):
        path = self.path(what + ".xlsx")
        write_book(path, **arguments)
        self.equal(what, dump(self.program, path), expected)

    def refused(self, what, word, content=None, **arguments):
        path = self.path(what + ".xlsx")
        if content is not None:
            with open(path, "wb") as f:
                f.write(content)
        else:
            write_book(path, **arguments)
        got = dump(self.program, path)
        self.count += 1
        if not isinstance(got, str) or word not in got:
            self.failed += 1
            print("%s: expected a refusal with %r, got %r" % (what, word, got))


def known_answers(check):
    xml, expected = column(CALENDAR_1900)
    check.book("calendar-1900", expected, sheets={"S": xml})
    xml, expected = column(CALENDAR_1904)
    check.book("calendar-1904", expected, sheets={"S": xml}, date_1904=True)
    xml, expected = column(VALUES)
    check.book("values", expected, sheets={"S": xml}, shared=SHARED)
    check.book("elsewhere", expected, sheets={"S": xml}, shared=SHARED, folder="a/b")
    strict = dict(main=STRICT, office=STRICT_OFFICE)
    check.book("strict", expected, sheets={"S": xml}, shared=SHARED, **strict)
    prefixed = re.sub(r"<(/?)(\w)", r"<\1x:\2", xml)
    check.book("prefixed", expected, sheets={"S": prefixed}, shared=SHARED, prefix="x:")

    places = ('<sheetData><row><c><v>1</v></c><c><v>2</v></c></row><row/><row r="5"><c r="C5"><v>3</v></c><c><v>4</v></c></row>'
              '<row><c r="B9"><v>5</v></c></row><row r="12"><c r="B12"><v>7</v></c><c r="A12"><v>6</v></c></row>'
              '<row r="11"><c r="XFD11"><v>8</v></c></row></sheetData>')
    check.book("places", [("S", r, c, "number", str(v), "") for r, c, v in
                          [(1, 1, 1), (1, 2, 2), (5, 3, 3), (5, 4, 4), (9, 2, 5), (11, 16384, 8), (12, 1, 6), (12, 2, 7)]],
               sheets={"S": places})
    one = "<sheetData><row r='1'><c r='A1'><v>%d</v></c></row></sheetData>"
    check.book("hidden", [(n, 1, 1, "number", str(i), "") for i, n in enumerate("ABC")],
               sheets={n: one % i for i, n in enumerate("ABC")}, states=("", "hidden", "veryHidden"))

    row = "<sheetData><row r='1'>%s</row></sheetData>"
    check.refused("twice", "a cell stands twice", sheets={"S": row % "<c r='A1'><v>1</v></c><c r='A1'><v>2</v></c>"})
    check.refused("row-twice", "stands twice", sheets={"S": "<sheetData><row r='1'><c r='A1'><v>1</v></c></row><row r='1'><c r='B1'><v>1</v></c></row></sheetData>"})
    check.refused("other-row", "another row", sheets={"S": row % "<c r='A2'><v>1</v></c>"})
    check.refused("beyond", "a name that is none", sheets={"S": row % "<c r='XFE1'><v>1</v></c>"})
    check.refused("row-zero", "a number that no sheet has", sheets={"S": "<sheetData><row r='0'/></sheetData>"})
    check.refused("unclosed", "in line 1", sheets={"S": "<sheetData>"})
    check.refused("xlsb", ".xlsb", sheets={"S": ""}, extra=[("xl/workbook.bin", b"\0")])
    check.refused("ods", ".ods", sheets={}, extra=[("mimetype", "application/vnd.oasis"), ("content.xml", "<a/>")])
    check.refused("empty", "is empty", content=b"")
    check.refused("text", "no zip archive", content=b"queue_id,state\n1,TX\n")
    # A compound file: sectors of 512 bytes, its directory in sector 2.
    compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 22 + b"\x09\0" + b"\0" * 16 + b"\x02\0\0\0" + b"\0" * (512 * 3 - 52)
    check.refused("old", "(.xls)", content=compound + "Workbook".encode("utf-16-le") + b"\0" * 99)
    check.refused("locked", "password", content=compound + "EncryptedPackage".encode("utf-16-le") + b"\0" * 99)
    check.refused("stub", "(.xls)", content=compound[:40])
    doctype = check.path("doctype.xlsx")
    write_book(doctype, {"S": ""}, extra=[])
    with zipfile.ZipFile(doctype) as z:
        parts = {n: z.read(n) for n in z.namelist()}
    parts["xl/worksheets/sheet0.xml"] = (b'<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]>' b'<worksheet xmlns="%s">&b;</worksheet>' % MAIN.encode())
    with zipfile.ZipFile(doctype, "w") as z:
        for name, content in parts.items():
            z.writestr(name, content)
    check.refused("doctype", "document type", content=open(doctype, "rb").read())
    bomb = "<sheetData><row r='1'><c r='A1'><v>1</v></c></row></sheetData>" + " " * (200 << 20)
    check.refused("bomb", "times its size", sheets={"S": bomb})


# ---- openpyxl ----

def clock(value):
    text = "%02d:%02d:%02d" % (value.hour, value.minute, value.second)
    return text + (".%03d" % (value.microsecond // 1000) if value.microsecond // 1000 else "")


def expected_of(cell):
    """(kinds, text or number) as this reader should say it, or None for a cell without a value."""
    value = cell.value
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return ("boolean",), "true" if value else "false"
    if isinstance(value, (int, float)):
        return ("number",), float(value)
    if isinstance(value, datetime.datetime):
        time = clock(value)
        return ("date", "time"), value.strftime("%Y-%m-%d").rjust(10, "0") + ("" if time == "00:00:00" else "T" + time)
    if isinstance(value, datetime.time):
        return ("date", "time"), clock(value)
    if isinstance(value, datetime.timedelta):
        ms = round(value / datetime.timedelta(milliseconds=1))
        sign, ms = ("-", -ms) if ms < 0 else ("", ms)
        text = "%s%02d:%02d:%02d" % (sign, ms // 3600000, ms // 60000 % 60, ms // 1000 % 60)
        return ("duration",), text + (".%03d" % (ms % 1000) if ms % 1000 else "")
    if cell.data_type == "e":
        return ("error",), value
    return ("text",), re.sub("_x([0-9A-Fa-f]{4})_", lambda m: chr(int(m.group(1), 16)), value)


def same(kinds, value, kind, text):
    if kind not in kinds:
        return False
    if kinds == ("number",):
        return float(text) == value and ("." not in text or value != int(value))
    return text == value


def compare(openpyxl, program, path):
    """Number of cells compared and of differences."""
    ours = {(s, r, c): (kind, value) for s, r, c, kind, value, _ in dump(program, path) if (kind, value) != ("text", "")}
    book = openpyxl.load_workbook(path, data_only=True, read_only=True)
    count = different = 0
    for sheet in book.worksheets:
        sheet.reset_dimensions()
        for row in sheet.iter_rows():
            for cell in row:
                expected = expected_of(cell)
                if expected is None:
                    continue
                count += 1
                kind, text = ours.pop((sheet.title, cell.row, cell.column), ("nothing", ""))
                if not same(expected[0], expected[1], kind, text):
                    different += 1
                    if different <= 10:
                        print("%s %s!%s: openpyxl %r, here %s %r" % (os.path.basename(path), sheet.title, cell.coordinate, expected, kind, text))
    for place, (kind, text) in ours.items():
        if kind != "formula":  # openpyxl has nothing for a formula without its result
            different += 1
            if different <= 10:
                print("%s %s: only here: %s %r" % (os.path.basename(path), place, kind, text))
    return count, different


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    program = sys.argv[1]
    here = os.path.dirname(os.path.abspath(__file__))
    shared = os.environ.get("RECLOSER_SHARED", os.path.join(here, "../../../shared"))
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(shared, "real")
    with tempfile.TemporaryDirectory() as temporary:
        check = Checks(program, temporary)
        known_answers(check)
    print("%d small workbooks, %d wrong" % (check.count, check.failed))
    if check.failed:
        return 1
    books = sorted(os.path.join(d, n) for d, _, names in os.walk(folder) for n in names if n.endswith(".xlsx"))
    if not books:
        print("SKIPPED: no workbooks in %s" % folder)
        return 77
    try:
        import openpyxl
    except ImportError:
        print("SKIPPED: this Python has no openpyxl to compare with")
        return 77
    total = wrong = 0
    for path in books:
        count, different = compare(openpyxl, program, path)
        print("%-60s %8d cells  %d different" % (os.path.basename(path), count, different))
        total += count
        wrong += different
    print("%d cells, %d different" % (total, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
