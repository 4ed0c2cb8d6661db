#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the rules of docs/behaviour.md against the tests that name them.

usage: check_behaviour.py [--strict] [--where] [TREE]

Prints the rules that no test names, and names in tests that are no rule ("rule: some-id", or in the
last column of a conformance table). The second is an error; with --strict the first is one too.
--where prints the test files of each rule.
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


def main():
    rules = RULE.findall((TREE / "docs/behaviour.md").read_text())
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
    places = {rule: [str(path.relative_to(TREE)) for path, content in text.items()
                     if re.search(rf"(?<![\w-]){rule}(?![\w-])", content)] for rule in rules}
    if "--where" in sys.argv:
        for rule, paths in places.items():
            print(f"{rule}: {' '.join(paths)}")
    bare = [rule for rule, paths in places.items() if not paths]
    for rule in bare:
        print(f"no test names {rule}")
    print(f"check_behaviour: {len(rules)} rules, {len(rules) - len(bare)} named by tests,"
          f" {faults} faults")
    return 1 if faults or not rules or ("--strict" in sys.argv and bare) else 0


sys.exit(main())
