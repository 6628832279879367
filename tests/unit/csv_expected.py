# SPDX-License-Identifier: Apache-2.0
"""What Python's csv module reads from a file: csv_expected.py FILE ENCODING QUOTE.

One line a row: the number of fields, then each field as LENGTH:BYTES in UTF-8. Blank lines are left out."""
import csv
import gzip
import io
import sys

path, encoding, quote = sys.argv[1:4]
csv.field_size_limit(1 << 30)
data = open(path, "rb").read()
if data[:2] == b"\x1f\x8b":
    data = gzip.decompress(data)
out = sys.stdout.buffer
for row in csv.reader(io.StringIO(data.decode(encoding), newline=""), quotechar=quote):
    if row:
        out.write(b"%d " % len(row))
        for cell in row:
            cell = cell.encode("utf-8")
            out.write(b"%d:%s" % (len(cell), cell))
        out.write(b"\n")
