"""Write key.tsv and pystr_powers.tsv: what plain Python says. Run by hand when a form is added; the files are checked in.

key.tsv has a line a vector: type, the value as a literal that the tests can read, str(value) and the key of
[value, "x"], tab-separated, with backslash escapes in the texts.
"""
import datetime as dt
import decimal
import hashlib
import pathlib
import uuid

HERE = pathlib.Path(__file__).parent
UTC = dt.timezone.utc


def key(fields):
    return hashlib.sha256("|".join(str(field) for field in fields).encode("utf-8")).hexdigest()[:24]


def escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


VECTORS = [
    ("none", "", None),
    ("bool", "1", True),
    ("bool", "0", False),
    *[("int", str(n), n) for n in (0, 1, -1, 42, 101, -2147483648, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))],
    *[("uint", str(n), n) for n in (0, 2**63, 2**64 - 1)],
    *[("huge", str(n), n) for n in (0, -1, 2**64, 2**127 - 1, -(2**127), 10**30)],
    *[
        ("double", float.hex(x), x)
        for x in (
            0.0, -0.0, 0.1, 0.5, 1.0, -1.0, 1.5, 100.0, 1e15, 123456789012345.6, 1e16, 9999999999999998.0, 1e17, 1e22, 1e23, 5e-324,
            2.0**81, 2.0**91, 2.0**807, -(2.0**81), 1e-4, 1e-5, 0.00012345, 1.7976931348623157e308, 2.2250738585072014e-308,
            2.225073858507201e-308, 1 / 3, 2 / 3, 33.458665000000003, -97.7430608, 9007199254740993.0, 0.1 + 0.2, 4.35, 1e300, 3.14159,
            float("inf"), float("-inf"), float("nan"), 2.0**-1074 * 3, 9.5367431640625e-07, 123456.789,
        )
    ],
    *[
        ("decimal", f"{int(x.scaleb(scale))}/{scale}", x.quantize(decimal.Decimal(1).scaleb(-scale)))
        for x, scale in (
            (decimal.Decimal("0"), 0), (decimal.Decimal("0"), 2), (decimal.Decimal("0"), 6), (decimal.Decimal("0"), 7),
            (decimal.Decimal("12.50"), 2), (decimal.Decimal("-12.5"), 1), (decimal.Decimal("0.05"), 2), (decimal.Decimal("-0.00012"), 5),
            (decimal.Decimal("0.0000001"), 7), (decimal.Decimal("0.000001"), 6), (decimal.Decimal("0.0000012"), 7),
            (decimal.Decimal("0.00000012"), 8), (decimal.Decimal("123456789012345678"), 0), (decimal.Decimal("-1"), 0),
        )
    ],
    *[
        ("date", str((d - dt.date(1970, 1, 1)).days), d)
        for d in (dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2000, 2, 29),
                  dt.date(1900, 3, 1), dt.date(2026, 7, 1), dt.date(999, 9, 9))
    ],
    *[
        ("timestamp", str((t - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)), t)
        for t in (dt.datetime(2026, 7, 1), dt.datetime(2026, 7, 1, 6), dt.datetime(2026, 7, 1, 6, 0, 0, 500000), dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
                  dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(2000, 2, 29, 12, 34, 56, 7))
    ],
    *[
        ("timestamptz", str((t - dt.datetime(1970, 1, 1, tzinfo=UTC)) // dt.timedelta(microseconds=1)), t)
        for t in (dt.datetime(2026, 7, 1, 6, tzinfo=UTC), dt.datetime(2026, 7, 1, 6, 0, 0, 1, tzinfo=UTC), dt.datetime(1955, 5, 5, 5, 5, 5, tzinfo=UTC))
    ],
    *[
        ("time", str(((t.hour * 60 + t.minute) * 60 + t.second) * 1000000 + t.microsecond), t)
        for t in (dt.time(0), dt.time(6, 30), dt.time(23, 59, 59, 999999), dt.time(1, 2, 3, 400))
    ],
    *[("uuid", u, uuid.UUID(u)) for u in ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "6F9619FF-8B86-D011-B42D-00C04FC964FF")],
    *[
        ("text", escaped(t), t)
        for t in ("", "None", "a", "a|b", "|", "a\\b", "Żółć", "日本", "e\u0301", "é", "line\nbreak", "tab\there", " blank ", "x" * 600, "24INR0001", "01", "😀")
    ],
]


def main():
    with open(HERE / "key.tsv", "w", encoding="utf-8", newline="\n") as out:
        for kind, literal, value in VECTORS:
            out.write(f"{kind}\t{literal}\t{escaped(str(value))}\t{key([value, 'x'])}\n")
    with open(HERE / "pystr_powers.tsv", "w", encoding="utf-8", newline="\n") as out:
        for power in range(-1074, 1024):
            out.write(f"{power}\t{2.0 ** power!r}\n")


if __name__ == "__main__":
    main()
