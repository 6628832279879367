# SPDX-License-Identifier: Apache-2.0
"""The bytes of a version are a function of rows, spec and engine: not of the order of the rows, the number of files or
threads, the memory, the zone, the locale, the umask or the machine's mood. And of many partitions only those are
replaced that changed."""
import random
import subprocess

from loading import Loading
from support import main, sha256

ROWS = 20000
PARTITION = "state=TX/month=2026-07"
HEAD = "queue_id,name,state,month,capacity_mw,in_service,published_at,lon,lat"


def rows():
    """Numbers, dates, quotes, blanks, letters beyond ASCII: what text could be read differently elsewhere."""
    chance = random.Random(7)
    for i in range(ROWS):
        name = ("Río Seco – Norte", "Elm, \"old\"", "ÖPNV Straße", "plain", "I.i ıİ")[i % 5]
        name = '"' + name.replace('"', '""') + f" {i}\""
        capacity = f"{chance.randrange(10 ** 7) / 1000:.3f}" if i % 11 else ""
        day = f"20{26 + i % 9}-{1 + i % 12:02}-{1 + i % 28:02}"
        lon, lat = -100 + chance.random() * 5, 30 + chance.random() * 5
        yield f"Q{i:05},{name},TX,2026-07,{capacity},{day},2026-07-02T{i % 24:02}:30:00Z,{lon:.6f},{lat:.6f}"


class SameBytes(Loading):
    COLUMNS = {"capacity_mw": "{type: double}", "in_service": "{type: date}", "published_at": "{type: timestamptz}",
               "lon": "{type: double}", "lat": "{type: double}"}

    def digest(self, root, files, *options, env=None, prefix=()):
        """Load into a fresh root; the SHA-256 of the one part."""
        self.lake = root
        spec = self.queue_spec(self.COLUMNS, name=f"{root}.yaml", root=root, source='{files: "*", several: union}')
        report = self.load(spec, *files, *options, env=env, command_prefix=prefix)
        self.assertEqual((report["rows_in"], report["rows_written"]), (ROWS, ROWS))
        self.assertEqual([p["partition"] for p in report["partitions"]], [PARTITION])
        return sha256(self.live(PARTITION))

    def csv(self, name, lines):
        return self.write(name, "\n".join([HEAD, *lines]) + "\n")

    def test_one_digest(self):
        lines = list(rows())
        shuffled = lines[:]
        random.Random(11).shuffle(shuffled)
        whole = self.csv("whole.csv", lines)
        other = self.csv("other.csv", shuffled)
        seven = [self.csv(f"seven/part_{i}.csv", shuffled[i::7]) for i in range(7)]
        locales = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
        german = next((name for name in locales if name.lower() in ("de_de.utf8", "de_de.utf-8")), "C.UTF-8")
        digests = {
            "plain": self.digest("plain", [whole]),
            "again": self.digest("again", [whole]),
            "shuffled": self.digest("shuffled", [other]),
            "seven files": self.digest("seven_files", seven),
            "seven files, backwards": self.digest("backwards", reversed(seven)),
            "one thread": self.digest("one_thread", [other], "--threads", 1),
            "two threads": self.digest("two_threads", [other], "--threads", 2),
            "eight threads": self.digest("eight_threads", [other], "--threads", 8),
            "little memory": self.digest("little_memory", [other], "--memory", "300MB"),
            "another zone": self.digest("zone", [whole], env={"TZ": "Asia/Kathmandu"}),
            "another locale": self.digest("locale", [whole], env={"LC_ALL": german, "LANG": german}),
            "another umask": self.digest("umask", [whole], prefix=["sh", "-c", 'umask 077; exec "$@"', "sh"]),
        }
        self.assertEqual(len(set(digests.values())), 1, digests)

    def test_parquet_gives_the_same(self):
        duckdb = self.need("duckdb")
        whole = self.csv("whole.csv", rows())
        duckdb.connect().execute(f"""COPY (SELECT * FROM read_csv('{whole}', all_varchar=true, nullstr='')) TO '{self.dir}/whole.parquet'
            (FORMAT parquet, ROW_GROUP_SIZE 4096, COMPRESSION snappy)""")
        self.assertEqual(self.digest("a", [whole]), self.digest("b", [self.dir / "whole.parquet"]))


class ManyRows(Loading):
    """A part of more than one row group, where text that repeats goes through the sort as numbers, and parts whose rows were
    put into their order before they were written."""
    COLUMNS = {"published_at": "{type: timestamp}", "position": "{type: integer}"}
    ROWS = 130_000

    def lines(self, states):
        """Few words, just too many, many that are not seen in the first rows, words that are missing, and one that only occurs in a row which
        loses to a later revision."""
        for i in range(self.ROWS):
            place = states[i % len(states)]
            yield f"Q{i * 7919 % self.ROWS:06},{place},2026-07,{('Active', 'On hold', '')[i % 3]},{f'Río {i % 4000}'},{i % 5000},{i if i > 70_000 else i % 3000},{i},2026-07-02"
        place = states[pow(7919, -1, self.ROWS) % len(states)]
        yield f"Q000001,{place},2026-07,A word that is not to be seen,gone,gone,gone,0,2026-06-01"

    def csv(self, name, lines):
        return self.write(name, "queue_id,state,month,status,owner,county,note,position,published_at\n" + "\n".join(lines) + "\n")

    def load_into(self, root, path, *options):
        self.lake = root
        spec = self.queue_spec(self.COLUMNS, name=f"{root}.yaml", root=root, geometry=None, revision="published_at")
        report = self.load(spec, path, *options)
        self.assertEqual(report["rows_written"], self.ROWS)
        self.assertIn("all as recorded", self.recloser("verify", spec).out)  # the order of the rows is looked at, too
        return {p["partition"]: p["sha256"] for p in report["partitions"]}

    def same(self, states):
        lines = list(self.lines(states))
        mixed = lines[:]
        random.Random(3).shuffle(mixed)
        whole, other = self.csv("whole.csv", lines), self.csv("mixed.csv", mixed)
        alone = self.csv("alone.csv", [line for line in lines if "not to be seen" not in line])
        first = self.load_into("first", whole)
        for root, path, options in (("mixed", other, ["--threads", 1]), ("threads", other, ["--threads", 8]),
                                    ("memory", whole, ["--memory", "300MB"]), ("alone", alone, [])):
            self.assertEqual(self.load_into(root, path, *options), first, root)
        return first

    def test_one_part(self):
        duckdb = self.need("duckdb")
        self.same(["TX"])
        self.lake = "first"
        file = self.live("state=TX/month=2026-07")
        query = lambda sql: duckdb.sql(sql.replace("FILE", f"read_parquet('{file}', hive_partitioning=false)")).fetchall()
        source = f"read_csv('{self.dir}/alone.csv', all_varchar=true, nullstr='')"
        for less, more in (("FILE", source), (source, "FILE")):
            self.assertEqual(query(f"""SELECT count(*) FROM (SELECT queue_id, state, month, status, owner, county, note, CAST(position AS VARCHAR) FROM {less}
                EXCEPT ALL SELECT queue_id, state, month, status, owner, county, note, CAST(position AS VARCHAR) FROM {more})"""), [(0,)])
        encodings = dict(duckdb.sql(f"""SELECT path_in_schema, string_agg(DISTINCT encodings, ' ') FROM parquet_metadata('{file}')
            GROUP BY 1""").fetchall())
        self.assertEqual((encodings["status"], encodings["owner"]), ("RLE_DICTIONARY", "RLE_DICTIONARY"))
        extremes = dict(duckdb.sql(f"""SELECT path_in_schema, count(DISTINCT stats_max_value) FROM parquet_metadata('{file}') GROUP BY 1""").fetchall())
        self.assertEqual((extremes["owner"], extremes["queue_id"]), (1, 2))  # extremes of the file for words, of the row group for what it is sorted by

    def test_long_words(self):
        """Each row group would repeat them all: 80 kB of them stay text, of which a row group has its own extremes."""
        duckdb = self.need("duckdb")
        duckdb.connect().execute(f"""COPY (SELECT printf('Q%06d', i) AS queue_id, 'TX' AS state, '2026-07' AS month, TIMESTAMP '2026-07-02' AS published_at,
            i AS position, printf('%0200d', i // 325) AS long, printf('%d', i // 325) AS short FROM range({self.ROWS}) r(i))
            TO '{self.dir}/long.parquet' (FORMAT parquet)""")
        self.load_into("long", self.dir / "long.parquet")
        extremes = dict(duckdb.sql(f"""SELECT path_in_schema, count(DISTINCT stats_max_value)
            FROM parquet_metadata('{self.live("state=TX/month=2026-07")}') GROUP BY 1""").fetchall())
        self.assertEqual((extremes["long"], extremes["short"]), (2, 1))

    def test_parts_in_order(self):
        self.assertEqual(len(self.same(["TX", "OK", "NM", "AZ", "KS"])), 5)


class Company(Loading):
    """A part has the bytes that it has alone, whatever else is loaded with it: also about the size of a row group, where rows that came
    in order would be cut where their table happens to be."""

    def load_into(self, root, path, *options):
        self.lake = root
        spec = self.queue_spec({}, name=f"{root}.yaml", root=root, geometry=None, revision=None, partition="[state]")
        report = self.load(spec, path, *options)
        return {p["partition"]: p["sha256"] for p in report["partitions"]}["state=TX"]

    def test_about_a_row_group(self):
        small = "".join(f"S{i},{state}\n" for i, state in enumerate(("AZ", "KS", "NM", "OK", "UT")))
        for rows in (118_784, 118_785, 122_880, 130_000):
            large = "".join(f"Q{i * 100_003 % rows:06},TX\n" for i in range(rows))
            alone = self.write("alone.csv", "queue_id,state\n" + large)
            both = self.write("both.csv", "queue_id,state\n" + small + large)
            expected = self.load_into(f"alone{rows}", alone)
            for name, options in (("one", ["--threads", 1]), ("two", ["--threads", 2]), ("little", ["--threads", 2, "--memory", "300MB"])):
                self.assertEqual(self.load_into(f"{name}{rows}", both, *options), expected, (rows, name))
            self.load_into(f"later{rows}", self.write("small.csv", "queue_id,state\nQ1,TX\n" + small))
            self.assertEqual(self.load_into(f"later{rows}", both, "--accept", "totals", "--accept", "key_churn"), expected, (rows, "later"))
            groups = self.need("duckdb").sql(f"SELECT list(DISTINCT row_group_num_rows) FROM parquet_metadata('{self.live('state=TX')}')")
            self.assertEqual(sorted(groups.fetchone()[0], reverse=True), [rows] if rows <= 122_880 else [122_880, rows - 122_880])

    def test_zeros(self):
        """Of numbers, 0.0 and -0.0 have no order, but a key each."""
        head, lines = "queue_id,state,x\n", ["Q,TX,0.0\n", "Q,TX,-0.0\n", "Q,TX,1\n", "P,TX,-0.0\n", "P,TX,0.0\n"]
        found = set()
        for i, mixed in enumerate((lines, lines[::-1], lines[2:] + lines[:2])):
            self.lake = f"zeros{i}"
            spec = self.queue_spec({"x": "{type: double}"}, name=f"{self.lake}.yaml", root=self.lake, geometry=None, revision=None, partition="[state]",
                                   key="{identity: [queue_id, x]}")
            report = self.load(spec, self.write(f"zeros{i}.csv", head + "".join(mixed)))
            self.assertEqual(report["rows_written"], 5)
            self.assertIn("all as recorded", self.recloser("verify", spec).out)
            found.add(report["partitions"][0]["sha256"])
        self.assertEqual(len(found), 1)


class WideRows(Loading):
    """Long values stand aside while rows are sorted, where there is not the memory for them; and fewer wide rows make a row group.
    Neither shows in the bytes, which are those of a load with plenty of memory."""
    ROWS, LENGTH = 60_000, 4096

    def wide(self, name, where):
        duckdb = self.need("duckdb")
        duckdb.connect(config={"memory_limit": "500MB", "temp_directory": str(self.dir / "made")}).execute(f"""COPY (
            SELECT 'Q' || i AS queue_id, CASE WHEN i < {self.ROWS} THEN 'TX' ELSE 'S' || (i % 5) END AS state, i % 7 AS n,
                CASE WHEN i % 11 > 0 THEN rpad(md5(CAST(i AS VARCHAR)), {self.LENGTH}, 'z') END AS w, md5(CAST(i // 20000 AS VARCHAR)) AS word,
                CAST(rpad(md5(CAST(-i AS VARCHAR)), {self.LENGTH // 8}, 'y') AS BLOB) AS bytes
            FROM range({self.ROWS + 50}) t(i) WHERE {where} ORDER BY hash(i)) TO '{self.dir}/{name}' (FORMAT parquet, ROW_GROUP_SIZE 2048)""")
        return self.dir / name

    def load_into(self, root, path, *options, **fields):
        self.lake = root
        spec = self.queue_spec({}, name=f"{root}.yaml", root=root, geometry=None, revision=None, partition="[state]", **fields)
        report = self.load(spec, path, *options)
        self.assertIn("all as recorded", self.recloser("verify", *options, spec).out)
        return {p["partition"]: p["sha256"] for p in report["partitions"]}["state=TX"]

    def test_same_bytes(self):
        duckdb = self.need("duckdb")
        alone, both = self.wide("alone.parquet", f"i < {self.ROWS}"), self.wide("both.parquet", "true")
        expected = self.load_into("plenty", alone, "--memory", "4GB")
        for root, path, options in (("little", alone, ["--memory", "300MB"]), ("gathered", both, ["--memory", "300MB"]),
                                    ("company", both, ["--memory", "4GB", "--threads", 2]), ("one", both, ["--memory", "1GB", "--threads", 1])):
            self.assertEqual(self.load_into(root, path, *options), expected, root)
        file = self.live("state=TX")
        # 48 MiB of values: 4,096 bytes in ten rows of eleven, 512, 32, and one of two digits: in whole thousands of 2,048.
        mean = (self.LENGTH * 10 / 11 + self.LENGTH / 8 + 32 + sum(len(f"Q{i}") for i in range(self.ROWS)) / self.ROWS)
        group = int(48 * 1024 * 1024 / mean / 2048) * 2048
        groups = duckdb.sql(f"SELECT row_group_num_rows FROM parquet_metadata('{file}') GROUP BY row_group_id, row_group_num_rows"
                            " ORDER BY row_group_id").fetchall()
        self.assertEqual([n for n, in groups], [group] * (self.ROWS // group) + [self.ROWS % group])
        ours, source = f"read_parquet('{file}', hive_partitioning=false)", f"read_parquet('{alone}')"
        for less, more in ((ours, source), (source, ours)):
            self.assertEqual(duckdb.sql(f"SELECT count(*) FROM (SELECT queue_id, n, w, word, bytes FROM {less} EXCEPT ALL"
                                        f" SELECT queue_id, n, w, word, bytes FROM {more})").fetchone(), (0,))

    def test_about_a_row_group(self):
        """Several threads leave a last stretch whole that is longer than a group by less than 2,048 rows; one thread would cut it."""
        duckdb = self.need("duckdb")
        for rows, groups in ((10_240, [10_240]), (10_241, [10_241]), (12_287, [12_287]), (12_288, [10_240, 2_048]), (21_000, [10_240, 10_240, 520])):
            duckdb.sql(f"""COPY (SELECT 'Q' || i AS queue_id, 'TX' AS state, rpad(md5(CAST(i AS VARCHAR)), {self.LENGTH}, 'z') AS w FROM range({rows}) t(i)
                ORDER BY hash(i)) TO '{self.dir}/about.parquet' (FORMAT parquet, ROW_GROUP_SIZE 2048)""")
            found = {self.load_into(f"{name}{rows}", self.dir / "about.parquet", *options)
                     for name, options in (("one", ["--threads", 1]), ("two", ["--threads", 2]), ("little", ["--memory", "300MB"]))}
            self.assertEqual(len(found), 1, rows)
            told = duckdb.sql(f"""SELECT row_group_num_rows FROM parquet_metadata('{self.live("state=TX")}') GROUP BY row_group_id, row_group_num_rows
                ORDER BY row_group_id""").fetchall()
            self.assertEqual([n for n, in told], groups)

    def test_long_identity(self):
        """The key of gathered rows is made of a value that stands aside."""
        self.need("duckdb").sql(f"""COPY (SELECT 'S' || (i % 4) AS state, rpad(md5(CAST(i AS VARCHAR)), 256, 'x') AS "Queue ""Id's",
            rpad(md5(CAST(-i AS VARCHAR)), {self.LENGTH}, 'z') AS w FROM range(30000) t(i)) TO '{self.dir}/long.parquet' (FORMAT parquet)""")
        found = set()
        for root, memory in (("longlittle", "300MB"), ("longplenty", "4GB")):
            self.lake = root
            spec = self.queue_spec({}, name=f"{root}.yaml", root=root, geometry=None, revision=None, partition="[state]", key="""{identity: ['Queue "Id''s']}""")
            report = self.load(spec, self.dir / "long.parquet", "--memory", memory)
            found.add(tuple(p["sha256"] for p in report["partitions"]))
        self.assertEqual(len(found), 1)

    def test_changes_of_native_geometry(self):
        """Parquet's own geometry type stands aside as well where two versions are compared."""
        duckdb, lines = self.need("duckdb"), "array_to_string(list_transform(range(250), k -> (k / 10.0) || ' ' || (i % 60 + k % 7 / 10.0)), ',')"
        found = []
        for root, memory in (("nativelittle", "300MB"), ("nativeplenty", "4GB")):
            self.lake = root
            spec = self.queue_spec({}, name=f"{root}.yaml", root=root, geometry="{crs: EPSG:4326, from: {wkt: line}}", revision=None, partition="[]", geoparquet="2.0")
            for edition in (0, 5):
                if root == "nativelittle":
                    duckdb.sql(f"""COPY (SELECT 'Q' || i AS queue_id, 'LINESTRING(' || {lines} || CASE WHEN i % 50 < {edition} THEN ',1 1)' ELSE ')' END AS line
                        FROM range(12000) t(i)) TO '{self.dir}/edition{edition}.parquet' (FORMAT parquet)""")
                report = self.load(spec, self.dir / f"edition{edition}.parquet", "--memory", memory)
            self.assertEqual(report["partitions"][0]["revised"], 1200)  # by digests where there is little memory
            told = self.recloser_json("diff", "--memory", memory, spec, "", 1, 2, "--output", self.dir / f"{root}.pq")
            self.assertEqual(told["changed"], 1200)
            found.append(duckdb.sql(f"SELECT count(*), sum(hash(t)) FROM read_parquet('{self.dir}/{root}.pq') t").fetchall())
        self.assertEqual(found[0], found[1])

    def test_with_rows_carried_over(self):
        """They are put into the batch later, and so the rows of many partitions are not brought together where they are wide."""
        both, fewer = self.wide("both.parquet", "true"), self.wide("fewer.parquet", "i % 5 > 0")
        found = set()
        for root, memory in (("carried", "300MB"), ("easily", "4GB")):
            self.load_into(root, both, "--memory", memory, disappeared="carry")
            report = self.recloser_json("load", self.dir / f"{root}.yaml", fewer, "--memory", memory)
            self.assertEqual((report["rows_in"], report["carried"]), (self.ROWS * 4 // 5 + 40, self.ROWS // 5))
            self.assertEqual(sum(p["rows"] for p in report["partitions"]), self.ROWS + 40)
            found.add(tuple(p["sha256"] for p in report["partitions"]))
        self.assertEqual(len(found), 1)


class ManyPartitions(Loading):
    PARTITIONS = 612

    def line(self, state, month, row, capacity):
        return f"Q{row},S{state:02},2026-{month:02},{capacity},2026-07-02,{-97 - row / 1000},31"

    def file(self, name, changed=()):
        lines = [self.line(state, month, row, 999 if (state, month) in changed and row == 1 else row)
                 for state in range(51) for month in range(1, 13) for row in range(2)]
        return self.write(name, "\n".join(["queue_id,state,month,capacity_mw,published_at,lon,lat", *lines]) + "\n")

    def look(self):
        return {p: (sha256(self.live(p)), self.live(p).stat().st_mtime_ns, self.live(p).stat().st_ino) for p in self.partitions()}

    def test_only_what_changed(self):
        spec = self.queue_spec()
        few = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]
        report = self.load(spec, self.file("july.csv"), command_prefix=few)
        self.assertEqual((len(report["partitions"]), report["rows_written"]), (self.PARTITIONS, 2 * self.PARTITIONS))
        before = self.look()
        self.assertEqual(len(before), self.PARTITIONS)
        changed = {(3, 1), (17, 12), (50, 7)}
        report = self.load(spec, self.file("august.csv", changed), command_prefix=few)
        replaced = {f"state=S{state:02}/month=2026-{month:02}" for state, month in changed}
        self.assertEqual({p["partition"] for p in report["partitions"] if p["outcome"] == "replaced"}, replaced)
        self.assertEqual({p["outcome"] for p in report["partitions"]}, {"replaced", "unchanged"})
        self.assertEqual((report["rows_written"], report["rows_unchanged"]), (6, 2 * (self.PARTITIONS - 3)))
        after = self.look()
        self.assertEqual({p for p in before if before[p] != after[p]}, replaced)
        for partition in replaced:
            self.assertNotEqual(before[partition][0], after[partition][0])


if __name__ == "__main__":
    main()
