# SPDX-License-Identifier: Apache-2.0
"""Driver of the command-line tests: each runs the program as a user does and looks at what it said and left.

A test file is `tests/cli/test_NAME.py` plus `tests/cli/NAME.cmake` with the line `cli_test(NAME)`:

    from support import Case, main

    class Loading(Case):
        def test_twice(self):
            spec = self.spec("dataset: queue\\nroot: lake\\n...")
            data = self.write("july.csv", "id,state,month\\n1,TX,2026-07\\n")
            first = self.recloser("load", spec, data)            # asserts exit code 0
            before = self.tree("lake")                           # {path: sha256} of every file below
            second = self.recloser_json("load", spec, data)      # the parsed object of --json
            self.assertEqual(second["outcome"], "unchanged")
            self.assertEqual(self.tree("lake"), before)
            refused = self.recloser("load", spec, "no.csv", code=6)
            self.assertIn("no.csv", refused.err)

    main()

Each test has a directory of its own, self.dir, in which the program runs; it is gone afterwards (RECLOSER_KEEP=1 keeps it).
The standard library only. Tests that want pandas, duckdb and so on say so: self.need("duckdb") skips where it is absent.
Real inputs and worked cases lie outside the repository: self.shared("real/...") gives a path or skips the test. A file in
which every test skipped ends with code 77, which ctest shows as skipped.

Environment: RECLOSER_PROGRAM (default: build/recloser), RECLOSER_SHARED (default: ../shared beside the source),
RECLOSER_TEST_FULL=1 (long tests in full), RECLOSER_KEEP=1.
"""
import hashlib
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("RECLOSER_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
PROGRAM = pathlib.Path(os.environ.get("RECLOSER_PROGRAM", SOURCE / "build" / "recloser")).resolve()
SHARED = pathlib.Path(os.environ.get("RECLOSER_SHARED", SOURCE.parent / "shared"))
FULL = os.environ.get("RECLOSER_TEST_FULL") == "1"

# The exit codes, by the names of the public header.
OK, FAULT, USAGE, REFUSED, HELD, CONFLICT, IO, UNCLEAR = range(8)


class Run:
    """What one call of the program came to."""

    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    def __str__(self):
        words = " ".join(str(a) for a in self.args)
        return f"recloser {words}\nexit code {self.code}\n-- stdout\n{self.out}-- stderr\n{self.err}"


def recloser(*args, cwd=None, env=None, stdin=None, timeout=600, command_prefix=()):
    """Run the program. `env` is added to the environment (None removes a name); `stdin` is bytes or a file."""
    environment = dict(os.environ)
    for name, value in (env or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = str(value)
    given = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin or subprocess.DEVNULL}
    done = subprocess.run([*map(str, command_prefix), str(PROGRAM), *map(str, args)], cwd=cwd, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **given)
    return Run(args, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def tree(directory, without=()):
    """{relative path: SHA-256} of every file below; `without` names top folders to leave out, such as "_recloser"."""
    directory = pathlib.Path(directory)
    found = {}
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        if path.is_file() and relative.parts[0] not in without:
            found[str(relative)] = sha256(path)
    return found


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="recloser-test-"))
        if os.environ.get("RECLOSER_KEEP") == "1":
            print(f"{self.id()}: {self.dir}", file=sys.stderr)
        else:
            self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def recloser(self, *args, code=OK, **more):
        """Run in self.dir and assert the exit code (None: any)."""
        done = recloser(*args, **{"cwd": self.dir, **more})
        if code is None:
            return done
        missing = re.search("this GDAL has no .* driver", done.err)
        if missing and done.code != code:  # GDAL builds differ
            self.skipTest(missing.group())
        self.assertEqual(done.code, code, f"\n{done}")
        return done

    def recloser_json(self, *args, code=OK, **more):
        """The same with --json; the object."""
        done = self.recloser(*args, "--json", code=code, **more)
        try:
            return done.json
        except ValueError as why:
            self.fail(f"stdout is not one JSON object: {why}\n{done}")

    def write(self, name, content):
        """A file below self.dir, from text or bytes; its path."""
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def rot(self, file):
        """Other bytes, and nothing that a look at size and time would show."""
        before = file.stat()
        content = bytearray(file.read_bytes())
        content[4:-4] = bytes(0xAA for _ in content[4:-4])
        with open(file, "r+b") as out:  # in place: also what other names of it hold
            out.write(content)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def spec(self, text, name="spec.yaml"):
        return self.write(name, text)

    def tree(self, name="lake", without=()):
        return tree(self.dir / name, without)

    def files(self, name="lake"):
        """Relative paths below, without the hashing."""
        root = self.dir / name
        return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())

    def shared(self, name):
        path = SHARED / name
        if not path.exists():
            self.skipTest(f"{path} is not here; RECLOSER_SHARED says where the shared inputs are")
        return path

    def need(self, module):
        try:
            return importlib.import_module(module)
        except ImportError:
            self.skipTest(f"Python has no {module} here; scripts/setup --test installs it")


def main():
    """Run the file's tests; exit 0, 1, or 77 when each of them skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun > 0 and len(result.skipped) == result.testsRun else 0)
