#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the rules of docs/behaviour.md against the tests that name them.

usage: check_behaviour.py [--strict] [--where]

Prints the rules that no test names, and names in tests that are no rule ("rule: some-id"). The
second is an error; with --strict the first is one too. --where prints the test files of each rule.
"""
import pathlib
import re
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
RULE = re.compile(r"^\| ([a-z]+(?:-[a-z0-9]+)+) \|", re.M)
NAMED = re.compile(r"\b(?:rule|rules): ((?:[a-z]+(?:-[a-z0-9]+)+)(?:, [a-z]+(?:-[a-z0-9]+)+)*)")


def main():
    rules = RULE.findall((TREE / "docs/behaviour.md").read_text())
    files = [path for path in (TREE / "tests").rglob("*") if path.suffix in (".c", ".h", ".py")]
    text = {path: path.read_text(encoding="utf-8") for path in files}
    faults = 0

    for rule in sorted({rule for rule in rules if rules.count(rule) > 1}):
        print(f"docs/behaviour.md: {rule} stands there twice")
        faults += 1
    for path, content in text.items():
        for match in NAMED.finditer(content):
            for name in match[1].split(", "):
                if name not in rules:
                    print(f"{path.relative_to(TREE)}: {name} is no rule")
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
