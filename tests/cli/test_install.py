# SPDX-License-Identifier: Apache-2.0
"""The installed tree: the program runs from it, and a C program builds against both forms of the library."""
import os
import pathlib
import shutil
import subprocess

from support import PROGRAM, SOURCE, Case, main

BUILD = PROGRAM.parent

HOST = r"""
#include <recloser/recloser.h>
#include <stdio.h>
#include <string.h>

/* Names that the library has inside as well: each must keep its own. */
int text_add(void) { return 42; }
int json_text(void) { return 43; }

int main(void)
{
	const char *values[] = {"ercot", "25INR0001"};
	char key[25];
	recloser_error error = {0};
	recloser_result *result = NULL;
	if (recloser_key(values, 2, false, key, &error) != RECLOSER_OK)
		return 1;
	recloser_common common = {.spec_path = "no such spec.yaml"};
	recloser_status status = recloser_status_of(&common, &result, &error);
	recloser_result_free(result);
	printf("%s %s %d %d %d\n", recloser_version(), key, (int)status, text_add(), json_text());
	return error.what[0] == '\0';
}
"""


class Installed(Case):
    def setUp(self):
        super().setUp()
        self.prefix = self.dir / "prefix"
        self.run_words("cmake", "--install", BUILD, "--prefix", self.prefix)
        found = list(self.prefix.rglob("recloser.pc"))
        self.assertEqual(len(found), 1)
        self.library = found[0].parent.parent
        self.env = {**os.environ, "PKG_CONFIG_PATH": str(found[0].parent)}

    def run_words(self, *words, env=None, **more):
        done = subprocess.run([str(w) for w in words], cwd=self.dir, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, **more)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}")
        return done.stdout

    def engine_directory(self):
        """Where the loader finds the engine: installed along, or where the build found it."""
        if (self.library / "libduckdb.so").exists():
            return self.library
        for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
            if line.startswith("DuckDB_LIBRARY:"):
                return pathlib.Path(line.split("=", 1)[1]).parent
        self.fail("no engine in the build's cache")

    def test_files(self):
        names = {str(p.relative_to(self.prefix)) for p in self.prefix.rglob("*") if not p.is_dir()}
        library = self.library.relative_to(self.prefix)
        for name in ("bin/recloser", "include/recloser/recloser.h", f"{library}/librecloser.so", f"{library}/librecloser.a",
                     f"{library}/pkgconfig/recloser-static.pc", "share/recloser/recloser-spec.schema.json"):
            self.assertIn(name, names)
        self.assertEqual([name for name in names if name.startswith("include/") and name != "include/recloser/recloser.h"], [])

    def test_program_runs_where_it_was_put(self):
        moved = self.dir / "moved here"
        shutil.move(self.prefix, moved)
        out = self.run_words(moved / "bin" / "recloser", "key", "ercot", "25INR0001")
        self.assertEqual(out, "add80d16c9e35b01b0531a8d\n")
        linked = self.run_words("ldd", moved / "bin" / "recloser")
        self.assertNotIn("not found", linked)
        if (moved / "lib" / "libduckdb.so").exists():
            self.assertIn(str(moved), linked)

    def build_and_run(self, package, compiler="gcc", standard="-std=c11"):
        self.write("host.c", HOST)
        flags = self.run_words("pkg-config", "--cflags", "--libs", package, env=self.env).split()
        self.run_words(compiler, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "host.c", "-o", "host", *flags)
        env = {**os.environ, "LD_LIBRARY_PATH": f"{self.library}:{self.engine_directory()}"}
        out = self.run_words(self.dir / "host", env=env)
        self.assertRegex(out, r"^\d+\.\d+\.\d+ add80d16c9e35b01b0531a8d [26] 42 43\n$")

    def test_shared(self):
        self.build_and_run("recloser")

    def test_static(self):
        self.build_and_run("recloser-static")

    def test_header_in_cplusplus(self):
        if shutil.which("g++") is None:
            self.skipTest("no g++ here")
        self.write("x.cc", "#include <recloser/recloser.h>\nint main() { return recloser_version() == nullptr; }\n")
        flags = self.run_words("pkg-config", "--cflags", "recloser", env=self.env).split()
        self.run_words("g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "x.cc", *flags)


main()
