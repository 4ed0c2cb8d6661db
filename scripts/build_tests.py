#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compiles what some tests need, and no more: meson test compiles everything first.

usage: build_tests.py BUILD [--suite NAME]... [--no-suite NAME]... [TEST]...   as for meson test, whose other options
are ignored
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

MESON = "/usr/bin/meson" if os.access("/usr/bin/meson", os.X_OK) else shutil.which("meson")


def introspect(build, what):
    return json.loads(subprocess.run([MESON, "introspect", what, build], check=True, stdout=subprocess.PIPE).stdout)


def values_of(option, words):
    return {value for word, value in zip(words, words[1:]) if word == option}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    wanted = values_of("--suite", sys.argv[2:])
    unwanted = values_of("--no-suite", sys.argv[2:]) | {"long"} - wanted
    tests = introspect(build, "--tests")
    names = {test["name"] for test in tests} & set(sys.argv[2:]) - wanted - unwanted
    needed = set()
    for test in tests:
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        if (not names or test["name"] in names) and (not wanted or suites & wanted) and not suites & unwanted:
            needed.update(test["depends"])
    files = [os.path.relpath(name, build) for target in introspect(build, "--targets") if target["id"] in needed
             for name in target["filename"]]
    return subprocess.run(["ninja", "-C", build, *files]).returncode if files else 0


if __name__ == "__main__":
    sys.exit(main())
