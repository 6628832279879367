# SPDX-License-Identifier: Apache-2.0
"""What the peer scripts share: the words on the command line, the key in plain Python, durable promotion, the report.

Each script is `peers/NAME.py INPUT ROOT [VARIANT]`. It reads INPUT, writes below ROOT/queue and prints one JSON object:
rows_in, rows_out, partitions where there are many, and the seconds of its steps. Exit code 77: a library is not there.

The whole job, of which each does what its library can and says in its docstring what it can't:
  key       asset_key, SHA-256 over queue_id|poi_name|state, 24 digits
  check     key, partition, revision and geometry columns hold no null; one partition is one partition
  doubles   of rows with one key the latest published_at stays
  sort      a total order, so that a load again gives the same rows in the same place
  stage     written aside
  verify    the staged file read back: rows, distinct keys, partition values, geometry
  promote   fsync of the file, rename, fsync of the folder
  re-read   what is live asserted again
"""
import hashlib
import importlib
import json
import os
import sys
import time
import uuid

IDENTITY = ("queue_id", "poi_name", "state")
FILLED = ("queue_id", "poi_name", "state", "month", "published_at")
COMPRESSION, LEVEL, GROUP = "zstd", 3, 122880

source, root = sys.argv[1], sys.argv[2]
variant = sys.argv[3] if len(sys.argv) > 3 else ""
_steps, _last = {}, time.monotonic()


def need(*names):
    """The modules, or the end of the script with a word."""
    try:
        found = [importlib.import_module(name) for name in names]
    except ImportError as why:
        print(why, file=sys.stderr)
        sys.exit(77)
    return found[0] if len(found) == 1 else found


def step(name):
    """The time since the last call belongs to this step."""
    global _last
    now = time.monotonic()
    _steps[name] = round(_steps.get(name, 0) + now - _last, 3)
    _last = now


def report(**counts):
    print(json.dumps({**counts, "steps": _steps}))


def require(condition, *what):
    if not condition:
        sys.exit("refused: " + " ".join(map(str, what)))


def keys(columns):
    """The keys of rows given as lists of values, in Python: what a library without SHA-256 has to do."""
    digest = hashlib.sha256
    return [digest("|".join(values).encode()).hexdigest()[:24] for values in zip(*columns)]


def fingerprint(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder(state, month):
    path = f"{root}/queue/state={state}/month={month}"
    os.makedirs(path, exist_ok=True)
    return path


def aside(path):
    """Where the file of a partition folder is staged."""
    return f"{path}/.staged-{uuid.uuid4().hex}"


def _sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def promote(staged, path):
    """Live, durably; the name."""
    live = f"{path}/part.parquet"
    _sync(staged)
    os.replace(staged, live)
    _sync(path)
    return live
