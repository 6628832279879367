#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The spec's parser against its published JSON Schema, over the specs in tests/specs.

Usage: test_spec_schema.py SPEC_CHECK [SPEC...]

good/*.yaml must pass both. bad/NAME.yaml must be refused by the parser, and every line of NAME.txt must stand in its
message. What the schema must say of a bad spec follows from its name:
  syntax-*  nothing: YAML itself, or something that a YAML loader hides (a field given twice)
  field-*   refused too: the fault shows in one field
  rule-*    accepted: the fault shows only when parts are compared, which a schema can't
Further arguments are specs that must pass both, and so must the whole specs that docs/spec.md shows.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)


class EditorLoader(yaml.SafeLoader):
    """YAML 1.2's core schema, which editors use: no dates, and no yes or no as truth values."""


EditorLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":bool"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
EditorLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def text_names(value):
    """JSON has only texts as names; `true: [t]` is the field "true"."""
    if isinstance(value, dict):
        return {str(name).lower() if isinstance(name, bool) else str(name): text_names(inner) for name, inner in value.items()}
    return [text_names(inner) for inner in value] if isinstance(value, list) else value


def schema_verdicts(validator, path):
    """Faults of a spec as text-only YAML and as an editor reads it, with numbers and truth values typed."""
    return [
        [f"{'/'.join(map(str, fault.absolute_path))}: {fault.message[:200]}" for fault in validator.iter_errors(loaded)]
        for loaded in (text_names(yaml.load(path.read_text(), loader)) for loader in (yaml.BaseLoader, EditorLoader))
    ]


def parser_verdict(program, path):
    done = subprocess.run([program, str(path)], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise SystemExit(f"{program} {path}: exit {done.returncode}\n{done.stderr}")
    return done.stdout.strip()


def documented(folder):
    """The specs of the reference page as files: its examples that begin with `dataset:`."""
    page = (TESTS.parent / "docs" / "spec.md").read_text()
    examples = [text for text in re.findall("^```yaml\n(.*?)^```", page, re.S | re.M) if text.startswith("dataset:")]
    for number, text in enumerate(examples, 1):
        path = pathlib.Path(folder) / f"docs-spec-{number}.yaml"
        path.write_text(text)
        yield path


def main(program, more):
    schema = json.loads((TESTS.parent / "share" / "recloser-spec.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    faults = []
    good = sorted((TESTS / "specs" / "good").glob("*.yaml")) + [pathlib.Path(path) for path in more]
    bad = sorted((TESTS / "specs" / "bad").glob("*.yaml"))
    folder = tempfile.TemporaryDirectory()
    examples = list(documented(folder.name))
    if len(examples) < 3:
        faults.append("docs/spec.md shows too few whole specs")
    for path in good + examples:
        said = parser_verdict(program, path)
        if said != "OK":
            faults.append(f"{path.name}: the parser refuses it: {said}")
        for verdict in schema_verdicts(validator, path):
            if verdict:
                faults.append(f"{path.name}: the schema refuses it: {verdict}")
    for path in bad:
        said = parser_verdict(program, path)
        if said == "OK":
            faults.append(f"{path.name}: the parser accepts it")
        for line in path.with_suffix(".txt").read_text().splitlines():
            if line not in said:
                faults.append(f"{path.name}: expected {line!r} in {said!r}")
        kind = path.name.split("-")[0]
        if kind == "syntax":
            continue
        for verdict in schema_verdicts(validator, path):
            if kind == "field" and not verdict:
                faults.append(f"{path.name}: the schema accepts it")
            if kind == "rule" and verdict:
                faults.append(f"{path.name}: the schema refuses it: {verdict}")
    for fault in faults:
        print(fault)
    print(f"{len(good) + len(examples)} good and {len(bad)} bad specs, {len(faults)} differences")
    return 1 if faults or not good or not bad else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
