# SPDX-License-Identifier: Apache-2.0
"""What must not be loaded: files that are cut, empty, something else, or not there. Each gives an error that says what, where
and what to do, or goes to quarantine row by row; and the dataset stays byte for byte what it was, or absent if it was not there."""
import json
import os
import shutil
import unittest
import zipfile

from loading import Loading
from support import IO, OK, REFUSED, USAGE, main

HEAD = "queue_id,state,month,capacity_mw,published_at,lon,lat\n"
GOOD = HEAD + "Q1,TX,2026-07,1,2026-07-02,-97,31\nQ2,TX,2026-07,2,2026-07-02,-97,31\n"
TX = "state=TX/month=2026-07"
HTML = "<!DOCTYPE html>\n<html><head><title>403 Forbidden</title></head>\n<body><h1>Forbidden</h1>\n<p>queue_id,state</p></body></html>\n"


class BadFiles(Loading):
    """Each is tried on a dataset that does not exist yet and on one that does."""

    def refuse(self, file, code=REFUSED, said=(), **fields):
        spec = self.queue_spec(**fields)
        error = self.refused(spec, file, code=code, said=said)
        self.assertFalse((self.dir / "lake").exists(), "a first load that was refused left something")
        self.load(spec, self.write("good.csv", GOOD))
        again = self.refused(spec, file, code=code, said=said)
        self.assertEqual(again["code"], error["code"])
        done = self.recloser("load", spec, file, code=code)
        self.assertEqual(done.out, "")
        self.assertIn(error["what"].split("\n")[0], done.err)
        self.assertEqual(self.table(TX, "queue_id"), [("Q1",), ("Q2",)])
        return error

    def test_truncated_parquet(self):
        duckdb = self.need("duckdb")
        whole = self.dir / "whole.parquet"
        duckdb.connect().execute(f"COPY (SELECT 'Q' || range AS queue_id, 'TX' AS state FROM range(50000)) TO '{whole}' (FORMAT parquet)")
        cut = self.write("cut.parquet", whole.read_bytes()[:-20000])
        self.refuse(cut, said=["cut.parquet", "Parquet"])

    def test_parquet_with_damaged_middle(self):
        duckdb = self.need("duckdb")
        whole = self.dir / "whole.parquet"
        duckdb.connect().execute(f"""COPY (SELECT 'Q' || range AS queue_id, 'TX' AS state, '2026-07' AS month, md5(range::VARCHAR) AS note,
            TIMESTAMP '2026-07-02' AS published_at, -97.0 AS lon, 31.0 AS lat FROM range(50000)) TO '{whole}' (FORMAT parquet, COMPRESSION zstd)""")
        content = bytearray(whole.read_bytes())
        middle = len(content) // 2  # inside the pages of `note`
        content[middle:middle + 4000] = b"\xff" * 4000
        self.refuse(self.write("damaged.parquet", bytes(content)), said=["damaged.parquet"])

    def test_page_that_goes_on_behind_the_end(self):
        """A length in the header of a page, made as large as its two bytes can say."""
        parquet = self.need("pyarrow.parquet")
        path = self.dir / "long.parquet"
        parquet.write_table(self.need("pyarrow").table({"queue_id": range(100)}), path, compression="none", use_dictionary=False)
        chunk = parquet.ParquetFile(path).metadata.row_group(0).column(0)
        data, at = bytearray(path.read_bytes()), chunk.data_page_offset
        header = bytes(data[at:at + 8])
        self.assertEqual((header[0], header[2], header[5]), (0x15, 0x15, 0x15), header)  # type, length, length compressed: i32 each
        data[at + 6:at + 8] = b"\xfe\x7f"  # 8,191
        self.refuse(self.write("behind.parquet", bytes(data)), said=["begins no page", "behind.parquet", "column queue_id"])

    def two_pages(self, **more):
        """A list column and a plain one, uncompressed; the footer's chunks."""
        pa, parquet = self.need("pyarrow"), self.need("pyarrow.parquet")
        path = self.dir / "whole.parquet"
        rows = {"queue_id": [f"Q{i}" for i in range(400)], "state": ["TX"] * 400, "month": ["2026-07"] * 400,
                "published_at": ["2026-07-02"] * 400, "lon": [-97.0] * 400, "lat": [31.0] * 400, "capacity_mw": [1.0] * 400,
                "n": [i if i % 7 else None for i in range(400)],
                "l": [[i] * (i % 3) for i in range(400)]}
        parquet.write_table(pa.table(rows), path, **{"compression": "none", "use_dictionary": False, "data_page_version": "2.0", **more})
        group = parquet.ParquetFile(path).metadata.row_group(0)
        return bytearray(path.read_bytes()), {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}

    def refuse_byte(self, data, at, old, new, said):
        """A copy with one byte altered, which must be the one that is meant."""
        self.assertEqual(data[at], old, data[at - 8:at + 8].hex(" "))
        copy = bytearray(data)
        copy[at] = new
        self.refused(self.queue_spec(), self.write("altered.parquet", bytes(copy)), said=["altered.parquet", *said])
        self.assertFalse((self.dir / "lake").exists(), "a first load that was refused left something")

    def test_page_header_with_an_altered_byte(self):
        """What the engine goes by and does not check: it would give other values, and say nothing. The header of such a page is
        15 06, 15 and length, 15 and length compressed, 5c, then 15 and number each: values, nulls, rows, encoding, lengths of the
        levels."""
        data, chunks = self.two_pages()
        at = chunks["l.list.element"].data_page_offset
        header = data.index(b"\x5c", at)
        encoding = data.index(b"\x15\x00\x15", header)
        definition = encoding + 3
        self.assertEqual(data[header + 1:header + 4].hex(), "15aa08", "533 values")
        said = ["contradicts itself", f"byte {at}", "column l, list, element"]
        levels = data[definition]
        self.refuse_byte(data, definition, levels, levels + 4, said=[*said, "its levels"])
        repetition = definition + 3
        self.refuse_byte(data, repetition, data[repetition], data[repetition] - 2, said=[*said, "its levels"])
        self.refuse_byte(data, encoding + 1, 0, 18, said=[*said, "BYTE_STREAM_SPLIT"])
        at = chunks["n"].data_page_offset
        self.refuse_byte(data, at + 5, 0x15, 0x25, said=["contradicts itself", "column n"])  # no compressed length

    def test_page_that_is_said_to_be_uncompressed(self):
        data, chunks = self.two_pages(compression="zstd")
        at = chunks["n"].data_page_offset
        said = data.index(b"\x11\x1c", at)  # field 7, true
        self.assertLess(said, at + 40)
        self.refuse_byte(data, said, 0x11, 0x12, said=["not compressed", f"byte {at}", "column n"])

    def test_crc(self):
        for version in ("1.0", "2.0"):
            with self.subTest(version):
                data, chunks = self.two_pages(write_page_checksum=True, data_page_version=version)
                self.load(self.queue_spec(), self.dir / "whole.parquet")
                shutil.rmtree(self.dir / "lake")
                end = chunks["n"].data_page_offset + chunks["n"].total_compressed_size
                self.refuse_byte(data, end - 8, data[end - 8], data[end - 8] ^ 1, said=["CRC", "column n"])

    def test_rows_of_the_footer(self):
        """The file's own number, and a row group's: 16 a0 06 is a field of 400."""
        data, _ = self.two_pages()
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        own, group = data.index(b"\x16\xa0\x06", footer), data.rindex(b"\x16\xa0\x06\x26")
        self.refuse_byte(data, own + 1, 0xa0, 0x9e, said=["contradicts itself", "399 rows", "400"])
        for number in (0x9e, 0xa2):
            self.refuse_byte(data, group + 1, 0xa0, number, said=["contradicts itself"])

    def test_column_name_that_is_not_utf8(self):
        """In the schema, and in a chunk's path, which the engine looks at when its chunks are listed."""
        data, _ = self.two_pages()
        footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        for at in (data.index(b"published_at", footer), data.rindex(b"published_at")):
            with self.subTest(at):
                self.refuse_byte(data, at + 3, ord("l"), 0xc3, said=[])

    def test_web_page(self):
        error = self.refuse(self.write("queue.csv", HTML), said=["queue.csv"])
        self.assertRegex(error["what"] + error["where"] + error["hint"], "HTML|html")

    def test_header_only(self):
        self.refuse(self.write("head.csv", HEAD), said=["no rows", "head.csv", "--allow-empty"])

    def test_empty_file(self):
        self.refuse(self.write("empty.csv", ""), said=["empty.csv", "empty"])

    def test_blank_lines_only(self):
        self.refuse(self.write("blank.csv", "\n\n\n"), said=["blank.csv"])

    def test_empty_json(self):
        self.refuse(self.write("empty.json", "[]"), said=["empty.json"])

    def test_cut_json(self):
        self.refuse(self.write("cut.json", '[{"queue_id": "Q1", "state": "TX", "mon'), said=["cut.json", "seems to be cut off", "download it again"])
        self.refused(self.queue_spec(), self.write("word.json", '[{"queue_id": "Q1", "state": t'), said=["word.json", "seems to be cut off"])

    def test_cut_json_lines(self):
        """As in CSV: a last line that breaks off without a line end is no row for the quarantine."""
        lines = '{"queue_id": "Q1", "state": "TX", "month": "2026-07", "published_at": "2026-07-02"}\n' * 3
        spec = self.queue_spec({}, revision=None, geometry=None, quarantine="{max: 100%}")
        for last in ('{"queue_id": "Q4", "state": "T', '{"queue_id": "Q4"', "{", '{"queue_id": "Q4", "lon": -97.'):
            self.refused(spec, self.write("cut.ndjson", lines + last), said=["cut.ndjson, line 4", "seems to be cut off"])
        report = self.load(spec, self.write("cut.ndjson", lines + '{"queue_id": "Q4"\n'))
        self.assertEqual((report["rows_in"], report["quarantined"]), (4, 1))
        report = self.load(spec, self.write("nan.ndjson", lines + '{"queue_id": NaN}'))
        self.assertEqual((report["rows_in"], report["quarantined"]), (4, 1))

    def test_empty_workbook(self):
        error = self.load(self.queue_spec(), self.write("empty.xlsx", ""), code=REFUSED)["error"]
        self.assertEqual((error["what"], error["hint"]), ("empty.xlsx is empty", "the download has probably failed: get the file again"))

    # ---- formats that GDAL reads ----

    def shapefile(self, lines=40):
        """A Shapefile of points whose parts have their own names: {ending: path}."""
        geopandas = self.need("geopandas")
        frame = geopandas.read_file(self.write("points.geojson", json.dumps({"type": "FeatureCollection", "features": [
            {"type": "Feature", "properties": {"queue_id": f"Q{i}", "state": "TX", "month": "2026-07", "note": "x" * 60},
             "geometry": {"type": "Point", "coordinates": [-97 - i / 100, 31]}} for i in range(lines)]})))
        frame.to_file(self.dir / "points.shp")
        return {ending: self.dir / f"points.{ending}" for ending in ("shp", "shx", "dbf", "prj", "cpg")}

    def shape_fields(self):
        return {"columns": {}, "revision": None, "geometry": "{crs: EPSG:4326}"}

    def zipped(self, parts, name):
        with zipfile.ZipFile(self.dir / name, "w") as file:
            for path in parts.values():
                if path.exists():
                    file.write(path, "points" + path.suffix)
        return self.dir / name

    def refuse_shape(self, parts, said, code):
        spec = self.queue_spec(**self.shape_fields())
        for path in (parts["shp"], self.zipped(parts, "points.zip")):
            self.assertEqual(self.refused(spec, path, said=said)["code"], code)
        self.assertFalse((self.dir / "lake").exists())

    def test_cut_shapefile(self):
        """Each of its parts cut anywhere, by itself and in a zip: GDAL gave empty rows, or died."""
        whole = {ending: path.read_bytes() for ending, path in self.shapefile().items()}
        parts = {ending: self.dir / f"points.{ending}" for ending in whole}
        for ending in ("dbf", "shp", "shx"):
            size = len(whole[ending])
            for length in (0, 20, size // 3, size * 2 // 3, size - 2):
                parts[ending].write_bytes(whole[ending][:length])
                promised = f"{size - (ending == 'dbf'):,}" if length > 31 else "header alone"
                with self.subTest(ending=ending, length=length):
                    self.refuse_shape(parts, [f"points.{ending} is cut off: it has {length:,} bytes", promised, "download it again"], "ogr.cut")
            self.assertIn("is cut off", self.recloser("init", parts["shp"], code=REFUSED).err)
            parts[ending].write_bytes(whole[ending])
        self.assertEqual(self.load(self.queue_spec(**self.shape_fields()), parts["shp"])["rows_written"], 40)

    def test_shapefile_of_two_editions(self):
        parts = self.shapefile()
        records = bytearray(parts["dbf"].read_bytes())
        head, each = int.from_bytes(records[8:10], "little"), int.from_bytes(records[10:12], "little")
        parts["dbf"].write_bytes(records[:4] + (30).to_bytes(4, "little") + records[8:head + 30 * each])
        self.refuse_shape(parts, ["points.dbf has 30 records and points.shx has 40 shapes"], "ogr.cut")

    def test_shapefile_without_a_part(self):
        parts = self.shapefile()
        index = parts["shx"].read_bytes()
        parts["shx"].unlink()
        self.refuse_shape(parts, ["points.shx is missing"], "ogr.missing")
        parts["shx"].write_bytes(index)
        parts["dbf"].unlink()
        error = self.refused(self.queue_spec(**self.shape_fields()), parts["shp"], said=["points.dbf, which holds the columns, is missing"])
        self.assertEqual(error["code"], "source.missing_column")
        spec = self.queue_spec({"queue_id": "{sql: CAST(row_number AS VARCHAR)}"}, revision=None, geometry="{crs: EPSG:4326}", partition="[]")
        self.assertIn("points.dbf is not there, so the shapes have no columns", self.load(spec, parts["shp"])["warnings"])

    def test_cut_table_by_itself(self):
        table = self.shapefile()["dbf"].rename(self.dir / "table.dbf").read_bytes()
        error = self.refused(self.queue_spec(**self.shape_fields()), self.write("cut.dbf", table[:len(table) // 2]), said=["cut.dbf is cut off"])
        self.assertEqual(error["code"], "ogr.cut")

    def test_other_formats_cut_at_ten_places(self):
        """None makes the program die, and none that lost rows is loaded; a .mif alone can be cut between two rows without a trace."""
        geopandas = self.need("geopandas")
        self.need("pyogrio")
        self.shapefile(300)
        frame = geopandas.read_file(self.dir / "points.geojson")
        spec = self.queue_spec(**self.shape_fields())
        for name, driver in (("w.gpkg", "GPKG"), ("w.fgb", "FlatGeobuf"), ("w.kml", "KML"), ("w.gml", "GML"), ("w.jml", "JML"), ("w.mif", "MapInfo File"),
                             ("w.ods", "ODS")):
            try:
                frame.to_file(self.dir / name, driver=driver)
            except Exception as problem:  # a GDAL without that driver, or that may not write it
                print(f"{driver}: {problem}")
                continue
            whole = (self.dir / name).read_bytes()
            for k in range(1, 11):
                path = self.write(name, whole[:len(whole) * k // 11])
                done = self.recloser("load", "--dry-run", spec, path, code=None)
                with self.subTest(name, length=path.stat().st_size):
                    self.assertIn(done.code, (OK, REFUSED) if name == "w.mif" else (REFUSED,), done)
                    self.assertNotIn("ERROR 1", done.err)

    def test_not_there(self):
        self.refuse(self.dir / "nowhere.csv", code=IO, said=["nowhere.csv"])

    def test_folder_without_files(self):
        folder = self.dir / "folder"
        folder.mkdir()
        self.refuse(folder, code=USAGE, said=["folder"])

    def test_folder_with_other_files(self):
        self.write("folder/readme.txt", "x")
        self.refuse(self.dir / "folder", code=USAGE, said=["folder", "files"], source='{files: "*.csv"}')

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_unreadable(self):
        path = self.write("closed.csv", GOOD)
        path.chmod(0)
        self.refuse(path, code=IO, said=["closed.csv", "ermission"])

    def test_unreadable_for_another_user(self):
        if os.geteuid() != 0 or not os.access("/usr/bin/setpriv", os.X_OK):
            self.skipTest("needs root and setpriv to become somebody else")
        self.dir.chmod(0o777)
        path = self.write("closed.csv", GOOD.replace("Q1", "Q7"))
        path.chmod(0)
        spec = self.queue_spec()
        prefix = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        if self.recloser("version", code=None, command_prefix=prefix).code not in (0, 2):
            self.skipTest("another user may not run the program where it lies")
        self.refused(spec, path, code=IO, said=["closed.csv", "ermission"], command_prefix=prefix)
        self.assertFalse((self.dir / "lake").exists())

    def test_nul_bytes(self):
        self.refuse(self.write("nul.csv", GOOD.replace("Q2", "Q\0")), said=["queue_id", "NUL byte"])

    def test_binary(self):
        self.refuse(self.write("noise.csv", bytes(range(256)) * 64), said=["noise.csv"])

    def test_open_quote(self):
        self.refuse(self.write("quote.csv", GOOD + '"Q3,TX,2026-07,1,2026-07-02,-97,31\n'), said=["quote.csv", "quote"])

    def test_short_line(self):
        """Cells that a line does not have are missing; the row has no month and goes to quarantine."""
        spec = self.queue_spec(quarantine="{max: 100%}")
        report = self.load(spec, self.write("short.csv", GOOD + "Q3,TX\n"))
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (3, 2, 1))
        self.assertEqual({row for _, _, _, row in self.quarantine(report)}, {3})

    def test_long_line(self):
        """More cells than the header has names for: nobody knows which is which."""
        spec = self.queue_spec(quarantine="{max: 100%}")
        report = self.load(spec, self.write("long.csv", GOOD + "Q3,TX,2026-07,1,2026-07-02,-97,31,8,9,10\n"))
        self.assertEqual((report["rows_in"], report["rows_written"], report["quarantined"]), (3, 2, 1))
        self.assertEqual({row for _, _, _, row in self.quarantine(report)}, {3})

    def test_no_coordinates(self):
        lines = [f"N{i},TX,2026-07,1,2026-07-02,{lon},{lat}\n" for i, (lon, lat) in enumerate([("NaN", "31"), ("-97", "nan"), ("", ""), ("-97", ""),
                                                                                           ("inf", "31"), ("1e999", "31")])]
        path = self.write("nan.csv", GOOD + "".join(lines))
        error = self.refuse(path, said=["lon"])
        self.assertEqual(error["code"], "batch.quarantine")
        spec = self.queue_spec(quarantine="{max: 100%}")
        report = self.load(spec, path)
        self.assertEqual((report["rows_in"], report["rows_unchanged"] + report["rows_written"], report["quarantined"]), (8, 2, 6))
        self.assertEqual({row for _, _, _, row in self.quarantine(report)}, {3, 4, 5, 6, 7, 8})

    def test_huge_cell(self):
        big = "x" * (10 << 20)
        spec = self.queue_spec()
        path = self.write("big.csv", HEAD.replace("capacity_mw", "note") + f"Q1,TX,2026-07,\"{big}\",2026-07-02,-97,31\n")
        spec = self.queue_spec({"published_at": "{type: timestamp}"})
        report = self.load(spec, path)
        self.assertEqual(report["rows_written"], 1)
        self.assertEqual(self.table(TX, "length(note)"), [(len(big),)])

    def test_five_thousand_columns(self):
        more = [f"c{i}" for i in range(5000)]
        text = HEAD.strip() + "," + ",".join(more) + "\nQ1,TX,2026-07,1,2026-07-02,-97,31," + ",".join(str(i) for i in range(5000)) + "\n"
        report = self.load(self.queue_spec(), self.write("wide.csv", text))
        self.assertEqual(report["rows_written"], 1)
        self.assertEqual(self.table(TX, "c0, c4999"), [("0", "4999")])


class Outside(Loading):
    """What goes wrong around the file."""

    def test_root_that_can_not_be_made(self):
        self.write("lake", "a file, no folder")
        spec = self.queue_spec()
        report = self.recloser_json("load", spec, self.write("good.csv", GOOD), code=IO)
        self.assertEqual(report["outcome"], "failed")
        self.assertIn("lake", report["error"]["what"])
        self.assertIn("not a folder", report["error"]["hint"])
        self.assertEqual((self.dir / "lake").read_text(), "a file, no folder")

    def test_same_file_twice(self):
        good = self.write("good.csv", GOOD)
        self.refused(self.queue_spec(), good, self.write("copy.csv", GOOD), code=USAGE, said=["good.csv", "copy.csv", "same"])

    def test_file_size_limit(self):
        """A disk that is full in the middle of staging, played by the limit on the size of a file."""
        lines = [f"Q{i},TX,2026-07,{i * 7919 % 10007}.{i},2026-07-02,{-97 - i / 9973:.6f},31.{i}\n" for i in range(20000)]
        path = self.write("big.csv", HEAD + "".join(lines))
        spec = self.queue_spec()
        self.load(spec, self.write("good.csv", GOOD))
        before = self.everything()
        limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 64; exec "$@"', "sh"]
        report = self.load(spec, path, code=IO, command_prefix=limited)
        self.assertEqual(report["outcome"], "failed")
        self.assertEqual(self.everything(), before)


if __name__ == "__main__":
    main()
