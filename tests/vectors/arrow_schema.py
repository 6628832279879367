"""Check arrow_schema.tsv with pyarrow: each line is a SELECT, the schema as pyarrow prints it (line breaks as \\n), and the
ARROW:schema entry that the library makes of it. Without pyarrow there is nothing to check, and exit code 77 says so.

arrow_schema.py          check
arrow_schema.py SELECTS  (made with a build of the library) print the lines anew: SELECTS has a SELECT, a tab and the entry a line
"""
import base64
import pathlib
import sys

try:
    import pyarrow as pa
except ImportError:
    sys.exit(77)

FILE = pathlib.Path(__file__).parent / "arrow_schema.tsv"


def shown(entry):
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(entry)))
    return schema.to_string(truncate_metadata=False).replace("\n", "\\n")


def main():
    if len(sys.argv) > 1:
        for line in open(sys.argv[1], encoding="utf-8"):
            select, entry = line.rstrip("\n").split("\t")
            print(select, shown(entry), entry, sep="\t")
        return 0
    faults = 0
    for line in FILE.read_text(encoding="utf-8").splitlines():
        select, expected, entry = line.split("\t")
        if shown(entry) != expected:
            print(f"{select}\n  expected {expected}\n  got      {shown(entry)}")
            faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
