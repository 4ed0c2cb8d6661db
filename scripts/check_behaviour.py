#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the rules of docs/behaviour.md against the tests that name them.

usage: check_behaviour.py [--strict] [--where] [--write] [TREE]

Prints the rules that no test names, and names in tests that are no rule ("rule: some-id", or in the
last column of a conformance table). The second is an error; with --strict the first is one too, and
a last column `tests` of docs/behaviour.md that does not name the test files of its rule. --write
writes that column. --where prints the test files of each rule.
"""
import pathlib
import re
import sys

TREES = [pathlib.Path(word) for word in sys.argv[1:] if not word.startswith("--")]
TREE = TREES[0] if TREES else pathlib.Path(__file__).resolve().parent.parent
RULE = re.compile(r"^\| ([a-z]+(?:-[a-z0-9]+)+) \|", re.M)
NAMED = re.compile(r"\b(?:rule|rules): ((?:[a-z]+(?:-[a-z0-9]+)+)(?:, [a-z]+(?:-[a-z0-9]+)+)*)")


def named_in(path, content):
    """The ids that a test says it proves."""
    if path.suffix != ".txt":
        return [name for match in NAMED.finditer(content) for name in match[1].split(", ")]
    rows = [line.split("|") for line in content.splitlines() if "|" in line and line[:1] != "#"]
    return [name for row in rows for name in re.split(r"[,\s]+", row[-1].strip())]


def short(path):
    """tests/unit/ex/create.c is unit/ex/create."""
    return str(pathlib.PurePosixPath(path).relative_to("tests").with_suffix(""))


def with_tests(text, places):
    """The document with the column written: one table at a time, rules are its rows."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "id" and set(lines[number + 1]) <= set("|-"):
            width = len(cells) - (cells[-1] == "tests")
            lines[number] = "| " + " | ".join(cells[:width] + ["tests"]) + " |"
            lines[number + 1] = "|---" * (width + 1) + "|"
        elif cells[0] in places and RULE.match(line):
            names = ", ".join(sorted({short(path) for path in places[cells[0]]}))
            lines[number] = "| " + " | ".join(cells[:width] + [names]) + " |"
            lines[number] = lines[number].replace("|  |", "| |")
    return "\n".join(lines) + "\n"


def stale_rules(text, wanted):
    """The rules whose rows are not as wanted, and the tables' heads."""
    pairs = zip(text.splitlines(), wanted.splitlines())
    return [new.split("|")[1].strip() for old, new in pairs if old != new]


def main():
    document = TREE / "docs/behaviour.md"
    written = document.read_text()
    rules = RULE.findall(written)
    files = [path for path in (TREE / "tests").rglob("*") if path.suffix in (".c", ".h", ".py")]
    files += (TREE / "tests/conformance").glob("*.txt")
    text = {path: path.read_text(encoding="utf-8") for path in files}
    faults = 0

    for rule in sorted({rule for rule in rules if rules.count(rule) > 1}):
        print(f"docs/behaviour.md: {rule} stands there twice")
        faults += 1
    for path, content in text.items():
        for name in named_in(path, content):
            if name not in rules:
                print(f"{path.relative_to(TREE)}: {name or 'a row without a rule'} is no rule")
                faults += 1
    words = {str(path.relative_to(TREE)): set(re.findall(r"[\w-]+", content)) for path, content in text.items()}
    places = {rule: [path for path, in_it in words.items() if rule in in_it] for rule in rules}
    if "--where" in sys.argv:
        for rule, paths in places.items():
            print(f"{rule}: {' '.join(paths)}")
    wanted = with_tests(written, places)
    if "--write" in sys.argv:
        document.write_text(wanted)
        written = wanted
    if "--strict" in sys.argv:
        for rule in stale_rules(written, wanted):
            print(f"docs/behaviour.md: the tests of {rule} are not those that name it: --write")
            faults += 1
    bare = [rule for rule, paths in places.items() if not paths]
    for rule in bare:
        print(f"no test names {rule}")
    print(f"check_behaviour: {len(rules)} rules, {len(rules) - len(bare)} named by tests,"
          f" {faults} faults")
    return 1 if faults or not rules or ("--strict" in sys.argv and bare) else 0


sys.exit(main())
