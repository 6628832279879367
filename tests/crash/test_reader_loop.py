# SPDX-License-Identifier: Apache-2.0
"""Readers that open a partition in a loop while it is replaced, each in a process of its own.

Plain bytes, pyarrow, DuckDB by a descriptor, DuckDB by the view that `as-of` writes, and `recloser verify`: none ever fails, and
none ever sees anything but one of the two versions. DuckDB by the name of the live file opens it twice, for its footer and for
its rows; a replace in between makes that query fail (docs/reliability.md). Its loop counts those, and must see no other rows.

RECLOSER_TEST_FULL=1: 1,000 replaces, else 60.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from sweep import FULL, NEW, OLD, PARTS, ROWS, SPEC, optional  # noqa: E402
from support import PROGRAM, Case, main, sha256  # noqa: E402

REPLACES = 1000 if FULL else 60

# Read for ever; print "ready" at first, and how often each version was seen once stdin is closed. Anything else is the end.
LOOP = """
import os, select, subprocess, sys
path, known = sys.argv[1], sys.argv[2:]
seen, failed = dict.fromkeys(known, 0), 0
READ
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    found = read()
    if found not in known:
        sys.exit(f"read {seen} times well, then {found} instead of one of {known}")
    seen[found] += 1
print(*seen.values(), failed)
"""
QUERY = "SELECT count(*), sum(capacity_mw) FROM "
READ = {
    "bytes": """
import hashlib
def read():
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
""",
    "pyarrow": """
import pyarrow.parquet
def read():
    with open(path, "rb") as file:
        values = pyarrow.parquet.ParquetFile(file).read(columns=["capacity_mw"])["capacity_mw"].to_pylist()
    return str((len(values), sum(values)))
""",
    "DuckDB by descriptor": f"""
import duckdb
def read():
    with open(path, "rb") as file, duckdb.connect() as connection:
        return str(connection.execute(f"{QUERY} read_parquet('/proc/self/fd/{{file.fileno()}}')").fetchone())
""",
    "DuckDB by as-of": f"""
import duckdb
def read():
    view = subprocess.run([os.environ["RECLOSER_PROGRAM"], "as-of", "spec.yaml", "9999-12-31", "--sql"], check=True, capture_output=True, text=True)
    with duckdb.connect() as connection:
        connection.execute(view.stdout)
        return str(connection.execute("{QUERY} queue_9999_12_31 WHERE state = 'TX'").fetchone())
""",
    "DuckDB by name": f"""
import duckdb
def read():
    global failed
    while True:
        try:
            with duckdb.connect() as connection:
                return str(connection.execute(f"{QUERY} read_parquet('{{path}}')").fetchone())
        except duckdb.Error:
            failed += 1
""",
    "verify": """
def read():
    done = subprocess.run([os.environ["RECLOSER_PROGRAM"], "verify", "spec.yaml"], capture_output=True, text=True)
    return "sound" if done.returncode == 0 else f"{done.returncode} {done.stdout} {done.stderr}"
""",
}


class Readers(Case):
    def reader(self, name, path, known):
        environment = {**os.environ, "RECLOSER_PROGRAM": str(PROGRAM)}
        process = subprocess.Popen([sys.executable, "-c", LOOP.replace("READ", READ[name]), str(path), *map(str, known)], text=True,
                                   cwd=self.dir, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.__exit__, None, None, None)  # closes its pipes
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n", f"{name}: {process.poll()}")
        return process

    def test_readers_during_replaces(self):
        self.spec(SPEC + "guards: {older: allow}\n")
        digests = []
        for name, content in ("old.csv", OLD), ("new.csv", NEW):
            self.write(name, content)
            self.recloser("load", "spec.yaml", name)
            digests.append({part: sha256(self.dir / f"lake/queue/{part}/part.parquet") for part in PARTS})
        live = self.dir / "lake/queue/state=TX/part.parquet"
        rows = [str(version) for version in ROWS["state=TX"]]
        readers = {"bytes": self.reader("bytes", live, [digest["state=TX"] for digest in digests]),
                   "verify": self.reader("verify", "", ["sound"])}
        if optional("pyarrow.parquet"):
            readers["pyarrow"] = self.reader("pyarrow", live, rows)
        if optional("duckdb"):
            readers.update((name, self.reader(name, live, rows)) for name in READ if name.startswith("DuckDB"))
        for i in range(REPLACES):
            version = i % 2
            report = self.recloser_json("load", "spec.yaml", ("old.csv", "new.csv")[version], "--force", "--threads", "1")
            self.assertEqual(report["outcome"], "loaded")
            self.assertEqual(sha256(live), digests[version]["state=TX"])
            for name, process in readers.items():
                self.assertIsNone(process.poll(), f"{name}, replace {i}: {process.stderr.read() if process.poll() is not None else ''}")
        for name, process in readers.items():
            out, err = process.communicate()
            self.assertEqual(process.returncode, 0, f"{name}: {err}")
            *seen, failed = map(int, out.split())
            self.assertTrue(all(seen), f"{name} saw one version only: {seen}")
            tail = f", {failed} failed" if name == "DuckDB by name" else ""
            print(f"{REPLACES} replaces: {name} read {' + '.join(map(str, seen))} times{tail}", file=sys.stderr)
        self.assertEqual(len(list((self.dir / "lake/_recloser/queue/ledger/state=TX").iterdir())), REPLACES + 2)
        self.recloser("verify", "spec.yaml")


main()
