# SPDX-License-Identifier: Apache-2.0
"""What Python's json module reads from a file: json_expected.py FILE [MEMBER].

First a line with the column names, then one line a record; each cell as LENGTH:BYTES in UTF-8, and `-` for null or
absent. Numbers keep the source's spelling; of objects and arrays only their beginning is told, `{` or `[`."""
import json
import sys


class Spelled(str):
    pass


def cell(value):
    if value is None:
        return b"-"
    if value is True or value is False:
        text = b"true" if value else b"false"
    elif isinstance(value, (dict, list)):
        text = b"{" if isinstance(value, dict) else b"["
    else:
        text = value.encode("utf-8")
    return b"%d:%s" % (len(text), text)


data = open(sys.argv[1], encoding="utf-8-sig").read()
document = json.loads(data, parse_int=Spelled, parse_float=Spelled)
if len(sys.argv) > 2:
    document = document[sys.argv[2]]
features = isinstance(document, dict) and document.get("type") == "FeatureCollection"
records = document["features"] if features else document
rows = [record["properties"] or {} if features else record for record in records]
names = list(dict.fromkeys(name for row in rows for name in row))
if features and any("id" in record for record in records):
    names.append("feature_id")
    for row, record in zip(rows, records):
        row["feature_id"] = record.get("id")
out = sys.stdout.buffer
out.write(b"".join(cell(name) for name in names) + b"\n")
for row in rows:
    out.write(b"".join(cell(row.get(name)) for name in names) + b"\n")
