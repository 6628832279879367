#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the inputs of the measurements: the same bytes on every machine.

    bench/gen.py DIRECTORY [--rows N] [--only NAME...] [--huge N...]

    one.parquet       1,200,000 rows x 13 columns, one partition; 1,176,000 identities, 23,000 of them published again and
                      1,000 of those a second time; a point a row
    many.parquet      the same identities over 51 states x 12 months: 612 partitions, some five times as large as others
    many_next.parquet the next edition of many.parquet: other capacities in exactly three partitions
    fine.parquet      200,000 rows over 100 states x 100 months: 10,000 partitions of some twenty rows
    fine_few.parquet  as many rows a partition over 51 states x 12 months: 612 partitions
    one.csv           the rows of one.parquet, the point as two columns
    one.geojson       100,000 rows of one.parquet
    huge-N.parquet    N rows of one partition, for loads that do not fit into memory; only with --huge

--rows changes the number of rows of all but the last, in proportion; a tenth is what CI takes.

Every value is a function of the row's number: a row's place is multiplied by a prime, modulo the number of rows, and the
product is the identity, so that rows come in no useful order without anything having been sorted; the rest are digests of
the identity by the engine's hash(), which is why the engine's version is pinned (tests/requirements.txt). Nothing is held
as a whole: a hundred million rows need the memory of a million.
"""
import argparse
import json
import pathlib
import sys

try:
    import duckdb
except ImportError:
    sys.exit("bench/gen.py: Python has no duckdb here; scripts/setup --test installs it into .venv")

ROWS, GEOJSON_ROWS, FINE_ROWS = 1_200_000, 100_000, 200_000
FINE_STATES, FINE_MONTHS = 100, 100
CHANGED = (("AL", "2026-01"), ("MT", "2026-06"), ("TX", "2026-12"))
STRIDE = 1_000_000_007  # a prime above every number of rows: no two places meet
NAMES = ["queue_id", "poi_name", "state", "month", "status", "capacity_mw", "fuel", "queue_date", "published_at", "queue_position",
         "developer", "county"]
BOX = [-106.0, 25.8, -93.0, 36.5]  # where the points lie; GeoParquet allows a box larger than its points

WORDS = {
    "states": "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
              "RI SC SD TN TX UT VT VA WA WV WI WY".split(),
    "fuels": ["Solar", "Wind", "Battery", "Solar+Battery", "Gas", "Nuclear", "Hydro", "Offshore Wind", "Geothermal", "Other"],
    "statuses": ["Active", "Active", "Active", "Withdrawn", "Suspended", "In Service", "Under Construction"],
    "counties": "Adams Bell Brazos Cameron Cass Clay Cooke Crane Dallas Deaf_Smith Dickens Duval Ector Ellis Fannin Floyd Gaines Garza "
                "Gray Hale Harris Hays Hill Howard Irion Jack Jones Karnes Kent King Knox Lamb Lee Leon Llano Lynn Marion Martin Mason "
                "Mills Moore Nolan Oldham Panola Pecos Polk Potter Reagan Reeves Runnels Rusk Scurry Smith Starr Sutton Taylor Terrell "
                "Travis Upton Uvalde Ward Webb Wharton Wichita Wilbarger Winkler Wise Yoakum Young Zapata".replace("_", " ").split(),
    "kilovolts": ["69", "115", "138", "161", "230", "345", "500"],
}


class Maker:
    """One engine and the macros that make values of an identity `i`."""

    def __init__(self, directory):
        self.directory = directory
        self.engine = duckdb.connect(config={"threads": 2, "memory_limit": "2GB", "temp_directory": str(directory / "spill")})
        # hash() of two values is that of the first with bits of it turned over by the second: hashed once more, else columns
        # would go together.
        self.run("CREATE MACRO any_of(i, salt, n) AS CAST(hash(hash(i, salt)) % n AS INTEGER)")
        self.run("CREATE MACRO part_of(i, salt) AS (hash(hash(i, salt)) % 1000003) / 1000003.0")
        for name, words in WORDS.items():
            listed = ", ".join("'" + word + "'" for word in words)
            self.run(f"CREATE MACRO {name}(i) AS [{listed}][1 + any_of(i, '{name}', {len(words)})]")

    def run(self, sql):
        return self.engine.execute(sql)

    def rows(self, rows, state, month, publisher, capacity="mw"):
        """SQL of the 12 plain columns with lon and lat. `state`, `month` and `publisher` are SQL over i; `capacity` also over
        mw, the capacity as it is, state and month."""
        again = rows // 1200  # identities that were published three times; 23 times as many were published at least twice
        identities = rows - 24 * again
        return f"""
            WITH places AS (SELECT CAST((range * {STRIDE}::HUGEINT + 17) % {rows} AS BIGINT) AS p FROM range({rows})),
            numbers AS (SELECT CASE WHEN p < {identities} THEN p WHEN p < {identities + 23 * again} THEN (p - {identities}) * 51
                                    ELSE (p - {identities + 23 * again}) * 51 END AS i,
                               CASE WHEN p < {identities} THEN 0 WHEN p < {identities + 23 * again} THEN 1 ELSE 2 END AS revision
                        FROM places),
            made AS (SELECT i, revision, {state} AS state, {month} AS month,
                            round(1 + 499 * part_of(i + revision * 104729, 'mw') ** 2, 1) AS mw FROM numbers)
            SELECT {publisher} || '-' || lpad(CAST(i AS VARCHAR), 9, '0') AS queue_id,
                   counties(i + 1) || ' ' || (100 + any_of(i, 'station', 900)) || ' ' || kilovolts(i) || 'kV' AS poi_name,
                   state, month, statuses(i + revision * 7919) AS status, {capacity} AS capacity_mw, fuels(i) AS fuel,
                   DATE '2010-01-01' + any_of(i, 'queued', 6000) AS queue_date,
                   TIMESTAMP '2026-07-01' + to_seconds(any_of(i, 'published', 864000)) + to_days(10 * revision) AS published_at,
                   1 + any_of(i, 'position', 5000) AS queue_position,
                   'Developer ' || lpad(CAST(any_of(i, 'developer', 700) AS VARCHAR), 3, '0') || ' LLC' AS developer,
                   counties(i) AS county,
                   round({BOX[0]} + {BOX[2] - BOX[0]:.1f} * part_of(i, 'lon'), 6) AS lon,
                   round({BOX[1]} + {BOX[3] - BOX[1]:.1f} * part_of(i, 'lat'), 6) AS lat
            FROM made"""

    def one(self, rows):
        return self.rows(rows, "'TX'", "'2026-07'", "'ERCOT'")

    def many(self, rows, next_edition=False):
        # The power makes the first states' partitions larger.
        count = len(WORDS["states"])
        listed = ", ".join("'" + word + "'" for word in WORDS["states"])
        state = f"[{listed}][1 + CAST(floor({count} * part_of(i, 'state') ** 1.5) AS INTEGER)]"
        changed = " OR ".join(f"(state = '{s}' AND month = '{m}')" for s, m in CHANGED)
        capacity = f"CASE WHEN i % 10 = 0 AND ({changed}) THEN mw + 1 ELSE mw END" if next_edition else "mw"
        return self.rows(rows, state, "'2026-' || lpad(CAST(1 + any_of(i, 'month', 12) AS VARCHAR), 2, '0')", "'PJM'", capacity)

    def fine(self, rows, states=FINE_STATES, months=FINE_MONTHS):
        month = ("strftime(DATE '2018-01-01' + to_months(any_of(i, 'month', %d)), '%%Y-%%m')" % months)
        return self.rows(rows, f"'Z' || lpad(CAST(any_of(i, 'state', {states}) AS VARCHAR), 2, '0')", month, "'ISO'")

    # ---- files ----

    def parquet(self, name, sql):
        geo = {"version": "1.1.0", "primary_column": "geometry",
               "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"], "bbox": BOX}}}
        self.run(f"""COPY (SELECT {', '.join(NAMES)}, CAST(ST_AsWKB(CAST('POINT(' || lon || ' ' || lat || ')' AS GEOMETRY)) AS BLOB) AS geometry
                           FROM ({sql}))
                     TO '{self.directory / name}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880, GEOPARQUET_VERSION 'NONE',
                     KV_METADATA {{geo: '{json.dumps(geo)}'}})""")

    def csv(self, name, sql):
        self.run(f"COPY ({sql}) TO '{self.directory / name}' (FORMAT csv, HEADER)")

    def geojson(self, name, sql, rows):
        found = self.run(f"{sql} LIMIT {rows}")
        with open(self.directory / name, "w", encoding="utf-8") as file:
            file.write('{"type":"FeatureCollection","name":"queue","features":[')
            before = "\n"
            while block := found.fetchmany(10_000):
                for row in block:
                    properties = {n: v.isoformat() if hasattr(v, "isoformat") else v for n, v in zip(NAMES, row)}
                    feature = {"type": "Feature", "properties": properties, "geometry": {"type": "Point", "coordinates": list(row[-2:])}}
                    file.write(before + json.dumps(feature, separators=(",", ":")))
                    before = ",\n"
            file.write("\n]}\n")


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("directory", type=pathlib.Path)
    parse.add_argument("--rows", type=int, default=ROWS, help="rows of one.parquet; the other inputs in proportion")
    parse.add_argument("--only", action="append", default=[], metavar="NAME", help="make this file only; may be repeated")
    parse.add_argument("--huge", type=int, nargs="+", default=[], metavar="N", help="make huge-N.parquet instead of the others")
    args = parse.parse_args()
    args.directory.mkdir(parents=True, exist_ok=True)
    maker, rows = Maker(args.directory), args.rows
    files = {
        "one.parquet": lambda name: maker.parquet(name, maker.one(rows)),
        "many.parquet": lambda name: maker.parquet(name, maker.many(rows)),
        "many_next.parquet": lambda name: maker.parquet(name, maker.many(rows, next_edition=True)),
        "fine.parquet": lambda name: maker.parquet(name, maker.fine(FINE_ROWS * rows // ROWS)),
        "fine_few.parquet": lambda name: maker.parquet(name, maker.fine(FINE_ROWS * 612 // 10_000 * rows // ROWS, 51, 12)),
        "one.csv": lambda name: maker.csv(name, maker.one(rows)),
        "one.geojson": lambda name: maker.geojson(name, maker.one(rows), GEOJSON_ROWS * rows // ROWS),
    }
    if args.huge:
        files = {f"huge-{count}.parquet": lambda name, count=count: maker.parquet(name, maker.one(count)) for count in args.huge}
    for name, make in files.items():
        if args.only and name not in args.only:
            continue
        make(name)
        print(f"{(args.directory / name).stat().st_size / 1e6:10.1f} MB  {args.directory / name}")


main()
