# SPDX-License-Identifier: Apache-2.0
"""The project's own scripts: that the checks can fail, and what set-up does where something is missing."""
import os
import pathlib
import shutil
import subprocess

from support import SOURCE, Case, main


def script(name, *args, env=None, cwd=None):
    return subprocess.run([SOURCE / "scripts" / name, *map(str, args)], env={**os.environ, **(env or {})}, cwd=cwd,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)


class Arrows(Case):
    def check(self, path, include):
        self.write("src/base/text.h", "\n")
        self.write(path, f"/* a file */\n{include}\n")
        return script("check-arrows", self.dir)

    def test_the_project(self):
        done = script("check-arrows")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_in_order(self):
        self.assertEqual(self.check("src/commit/a.c", '#include "partition/part.h"').returncode, 0)
        self.assertEqual(self.check("src/engine/a.c", "#include <duckdb.h>").returncode, 0)
        self.assertEqual(self.check("src/cli/a.c", '#include "recloser/recloser.h"').returncode, 0)

    def test_out_of_order(self):
        for path, include in (("src/base/a.c", '#include "spec/spec.h"'), ("src/spec/a.c", '#include "batch/batch.h"'),
                              ("src/store/a.c", '#include "engine/engine.h"'), ("src/batch/a.c", '#include "run/run.h"'),
                              ("src/batch/a.c", "#include <duckdb.h>"), ("src/commit/a.c", "#include <gdal.h>"),
                              ("src/batch/a.c", "#  include <cpl_vsi.h>"), ("src/spec/a.c", "#include <curl/curl.h>"),
                              ("src/cli/a.c", '#include "base/text.h"'), ("src/run/a.c", '#include "cli/options.h"'),
                              ("src/utils/a.c", "")):
            with self.subTest(f"{path}: {include}"):
                done = self.check(path, include)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(path.rsplit("/", 1)[0] if not include else path, done.stdout.replace("src/utils:", "src/utils"))
                shutil.rmtree(self.dir / "src")


class Symbols(Case):
    def check(self, code):
        header = self.write("api.h", "#define RECLOSER_API\nRECLOSER_API int recloser_one(void);\n")
        self.write("x.c", code)
        for words in (["gcc", "-shared", "-fPIC", "x.c", "-o", "x.so"], ["gcc", "-c", "x.c"], ["ar", "qcs", "x.a", "x.o"]):
            subprocess.run(words, cwd=self.dir, check=True)
        return script("check-symbols", header, self.dir / "x.so", self.dir / "x.a")

    def test_right(self):
        done = self.check("int recloser_one(void) { return 1; }\n")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_one_too_many(self):
        done = self.check("int recloser_one(void) { return 1; }\nint text_add(void) { return 2; }\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("x.so exports what the header does not declare: text_add", done.stdout)
        self.assertIn("x.a exports what the header does not declare: text_add", done.stdout)

    def test_one_missing(self):
        done = self.check("int recloser_two;\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lacks what the header declares: recloser_one", done.stdout)


class SetUp(Case):
    """scripts/setup on a machine that is made of a few tools and of commands that only note that they were called."""

    TOOLS = ["bash", "dirname", "uname", "sha256sum", "cut", "cat", "rm", "mkdir", "mktemp", "grep", "basename", "sleep", "env",
             "python3", "mv", "tar"]

    def machine(self, user, installed, commands):
        bin_directory = self.dir / "bin"
        bin_directory.mkdir()
        for tool in self.TOOLS:
            os.symlink(shutil.which(tool), bin_directory / tool)
        self.command("id", f"echo {user}")
        self.command("dpkg-query", f'case " {" ".join(installed)} " in *" $4 "*) printf installed;; *) exit 1;; esac')
        for name in commands:
            self.command(name, "exit 1" if name == "pkg-config" else "exit 0")
        engine = self.dir / "engine"
        for name in ("include/duckdb.h", "lib/libduckdb.so"):
            self.write(f"engine/{name}", "")
        return {"PATH": str(bin_directory), "DUCKDB_ROOT": str(engine)}

    def command(self, name, body):
        path = self.write(f"bin/{name}", f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    LIBRARIES = ["libc6-dev", "libgdal-dev", "libcurl4-openssl-dev", "libyaml-dev", "libjansson-dev", "libssl-dev",
                 "libxxhash-dev", "libzstd-dev", "zlib1g-dev", "libexpat1-dev", "libcmocka-dev"]
    COMMANDS = ["gcc", "make", "cmake", "ninja", "pkg-config", "objcopy"]

    def test_nothing_missing(self):
        done = script("setup", env=self.machine(1000, self.LIBRARIES, self.COMMANDS))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "setup: ready\n"))

    def test_neither_root_nor_sudo(self):
        env = self.machine(1000, [name for name in self.LIBRARIES if name != "libyaml-dev"],
                           [name for name in self.COMMANDS if name != "ninja"] + ["apt-get"])
        done = script("setup", env=env)
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing: ninja-build libyaml-dev", done.stderr)
        self.assertIn("As root, run: apt-get install --no-install-recommends ninja-build libyaml-dev", done.stderr)

    def test_no_apt(self):
        done = script("setup", env=self.machine(0, [], self.COMMANDS))
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing: " + " ".join(self.LIBRARIES), done.stderr)
        self.assertIn("no apt-get here", done.stderr)

    def test_only_what_is_missing_is_installed(self):
        env = self.machine(1000, self.LIBRARIES[1:], self.COMMANDS + ["apt-get"])
        self.command("sudo", f'echo "$@" >> {self.dir}/asked')
        done = script("setup", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        asked = (self.dir / "asked").read_text().splitlines()
        self.assertEqual(asked[0], "apt-get update -qq")
        self.assertTrue(asked[1].endswith("apt-get install -y -qq --no-install-recommends libc6-dev"), asked)

    def test_wrong_engine(self):
        done = script("setup", env={"DUCKDB_ROOT": str(self.dir)})
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no include/duckdb.h and lib/libduckdb.so", done.stderr)

    def test_usage(self):
        self.assertEqual(script("setup", "--nonsense").returncode, 2)


main()
