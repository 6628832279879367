# SPDX-License-Identifier: Apache-2.0
"""The command line by itself: help, versions, options, and what is refused before anything is opened."""
import json
import re
import subprocess

from support import IO, PROGRAM, SOURCE, USAGE, Case, main

COMMANDS = ["load", "verify", "status", "recover", "key", "demo"]


class Help(Case):
    def test_program(self):
        for words in (["--help"], ["-h"], ["help"]):
            done = self.recloser(*words)
            self.assertEqual(done.err, "")
            for command in COMMANDS + ["help", "version"]:
                self.assertRegex(done.out, rf"(?m)^  {command} +\S")
            for code in range(8):
                self.assertRegex(done.out, rf"(?m)^  {code}  \S")

    def test_every_command_two_ways(self):
        for command in COMMANDS:
            with self.subTest(command):
                asked = self.recloser(command, "--help")
                self.assertTrue(asked.out.startswith(f"usage: recloser {command} [options]"), asked.out)
                self.assertEqual(asked.err, "")
                self.assertEqual(self.recloser("help", command).out, asked.out)
                self.assertEqual(self.recloser(command, "one", "two", "-h", "--nonsense").out, asked.out)

    def test_no_line_is_wider_than_a_terminal(self):
        for command in COMMANDS:
            text = self.recloser("help", command).out.split("\nExamples\n")[0]
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])

    def test_options_of_load(self):
        text = self.recloser("help", "load").out
        for option in ("--set COLUMN=VALUE", "--source NAME", "--only PARTITION", "--dry-run", "--backfill[=A..B]",
                       "--accept GUARD", "--allow-empty", "--force", "--wait SECONDS", "--threads N", "--memory SIZE",
                       "--json", "-q, --quiet", "-h, --help"):
            self.assertIn(f"  {option}", text)

    def test_help_ends_at_two_dashes(self):
        done = self.recloser("load", "--", "--help", code=USAGE)
        self.assertEqual(done.out, "")
        self.assertIn("something is missing: recloser load SPEC FILE...", done.err)


class Version(Case):
    def test_text_and_json(self):
        self.assertRegex(self.recloser("version").out, r"^recloser \d+\.\d+\.\d+, DuckDB v\d+\.\d+\.\d+\n$")
        self.assertEqual(self.recloser("--version").out, self.recloser("version").out)
        versions = json.loads(self.recloser("version", "--json").out)
        self.assertEqual(sorted(versions), ["engine", "recloser"])
        self.assertIn(versions["recloser"], self.recloser("version").out)

    def test_argument_too_many(self):
        self.recloser("version", "please", code=USAGE)


class Refused(Case):
    """Exit code 2, a reason and where the help is on stderr, nothing on stdout."""

    def refused(self, *words, says):
        done = self.recloser(*words, code=USAGE)
        self.assertEqual(done.out, "")
        self.assertTrue(done.err.startswith("recloser: "), done.err)
        self.assertIn(says, done.err)
        self.assertRegex(done.err, r"\n  recloser .*--help\n$")

    def test_commands(self):
        self.refused(says="a command is needed")
        self.refused("laod", says="did you mean load?")
        self.refused("verfy", says="did you mean verify?")
        self.refused("help", "stauts", says="did you mean status?")
        self.refused("frobnicate", says='there is no command "frobnicate"\n')
        self.refused("--json", "load", says="options come after the command")

    def test_unknown_options(self):
        self.refused("load", "--dryrun", "a", "b", says="there is no option --dryrun; did you mean --dry-run?")
        self.refused("load", "--jsno", "a", "b", says="did you mean --json?")
        self.refused("load", "--back", "a", "b", says="did you mean --backfill?")
        self.refused("verify", "--expected-rows=3", "a", says="did you mean --expect-rows?")
        self.refused("status", "--threads", "2", "a", says="there is no option --threads")
        self.refused("status", "-x", "a", says="there is no option -x\n")
        self.refused("load", "--zzzzzz", "a", "b", says="there is no option --zzzzzz\n")

    def test_values(self):
        self.refused("load", "a", "b", "--set", says="--set needs a value: --set COLUMN=VALUE")
        self.refused("load", "a", "b", "--set", "--", says="--set needs a value")
        self.refused("load", "a", "b", "--set", "month", says="--set wants COLUMN=VALUE")
        self.refused("load", "a", "b", "--set", "=2026", says="--set wants COLUMN=VALUE")
        self.refused("load", "a", "b", "--dry-run=yes", says="--dry-run takes no value")
        self.refused("load", "a", "b", "--backfill=", says="--backfill wants A..B")
        self.refused("load", "a", "b", "--source=", says="--source wants")
        for text in ("0", "-1", "1.5", "two", "0x2", "1025", "", " 2", "2 ", "+2", "99999999999999999999"):
            self.refused("load", "a", "b", f"--threads={text}", says="--threads wants a whole number from 1 to 1024")
        for text in ("0", "-1GB", "GB", "1.GB", ".5GB", "2XB", "1e9", "inf", "nan", "0x10", "1,5GB", "2GB ", "99999999TiB",
                     "9999999999999999999"):
            self.refused("load", "a", "b", f"--memory={text}", says="--memory wants a size")
        for text in ("-1", "ten", "1e3", "inf", "1:00", "5 s"):
            self.refused("load", "a", "b", f"--wait={text}", says="--wait wants seconds")
        for text in ("-1", "1,000", "3.0", "9223372036854775808"):
            self.refused("verify", "a", f"--expect-rows={text}", says="--expect-rows wants a whole number")

    def test_operands(self):
        self.refused("load", says="something is missing: recloser load SPEC FILE...")
        self.refused("load", "spec.yaml", says="something is missing")
        self.refused("verify", says="something is missing")
        self.refused("key", says="something is missing")
        self.refused("status", "a", "b", says='one argument too many: "b"')
        self.refused("recover", "a", "b", says='one argument too many: "b"')
        self.refused("demo", "a", "b", says='one argument too many: "b"')
        self.refused("verify", "a", "--quick", "--cold", says="--quick reads no file")


class Key(Case):
    # SHA-256 of the values joined by "|", first 24 digits.
    def test_values(self):
        self.assertEqual(self.recloser("key", "ercot", "25INR0001").out, "add80d16c9e35b01b0531a8d\n")
        self.assertEqual(self.recloser("key", "--", "-1", "north").out, "26d00eab642f98aed6b98ef7\n")
        self.assertEqual(self.recloser("key", "münchen").out, "f75c175f552c8b2bf46ef4b2\n")
        self.assertEqual(json.loads(self.recloser("key", "ercot", "25INR0001", "--json").out),
                         {"key": "add80d16c9e35b01b0531a8d"})

    def test_locale_and_zone_do_not_matter(self):
        plain = self.recloser("key", "a", "1.5").out
        self.assertEqual(self.recloser("key", "a", "1.5", env={"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"}).out, plain)


class Failed(Case):
    def test_no_such_spec(self):
        done = self.recloser("status", "no.yaml", code=IO)
        self.assertEqual(done.out, "")
        self.assertTrue(done.err.startswith("recloser: "), done.err)
        self.assertIn("no.yaml", done.err)

    def test_help_and_readme_give_the_codes_one_meaning(self):
        readme = re.findall(r"^\| ([0-7]) \| (.*) \|$", (SOURCE / "README.md").read_text(), re.M)
        told = re.findall(r"^  ([0-7])  (.*)$", self.recloser("help").out.split("Exit codes\n")[1], re.M)
        self.assertEqual(readme, told)
        self.assertEqual([code for code, _ in told], [str(i) for i in range(8)])
        self.assertIn("the spec included", dict(told)["6"])

    def test_json_object_even_then(self):
        for words in (["status", "no.yaml"], ["load", "no.yaml", "a.csv"], ["verify", "no.yaml"]):
            done = self.recloser(*words, "--json", code=IO)
            error = done.json["error"]
            self.assertEqual(sorted(error), ["code", "hint", "what", "where"])
            self.assertIn("no.yaml", f"{error['what']} {error['where']}")
            self.assertIn("no.yaml", done.err)

    def test_stdout_that_takes_nothing(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, IO)
        self.assertIn(b"cannot write to stdout", done.stderr)


main()
