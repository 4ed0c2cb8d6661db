#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints how large the parts of the tree are that may not grow, and fails above their ceilings.

usage: check_sizes.py [--aims]

A part has an aim and, until that is reached, a ceiling: what it has now, which only goes down. --aims fails above the
aims.

Lines are those of .c and .h that were written by hand, comments and empty ones too. No file of src and tool has
more than 800 lines, no function more than 60 from its brace to the closing one.
"""
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
GENERATED = {"src/hal/bpf/instructions.h"}
PARTS = [  # folders, aim, ceiling
    (("src/hal/linux", "src/hal/perf", "src/hal/bpf"), 11500, 11500),
    (("src/host/linux",), 2500, 2500),
    (("tool/symbols/reader",), 6000, 6000),
]
FILE_MAX, FUNCTION_MAX = 800, 60


def files(*folders):
    listed = subprocess.run(["git", "-C", TREE, "ls-files", "--", *folders], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if name.endswith((".c", ".h")) and name not in GENERATED]


def lines_of(name):
    return (TREE / name).read_text(encoding="utf-8").splitlines()


def long_functions(name):
    """In this tree a function's braces stand in the first column, and a name before its parameters."""
    title, begin = "", None
    for number, line in enumerate(lines_of(name), 1):
        match = re.match(r"^(\w+)\(", line)
        if match:
            title = match[1]
        if line == "{" and title:
            begin = number
        elif line == "}" and begin is not None:
            if number - begin - 1 > FUNCTION_MAX:
                yield f"{name}: {title} has {number - begin - 1} lines, more than {FUNCTION_MAX}"
            begin, title = None, ""


def main():
    faults = []
    for folders, aim, ceiling in PARTS:
        limit = aim if "--aims" in sys.argv[1:] else ceiling
        count = sum(len(lines_of(name)) for name in files(*folders))
        print(f"{' + '.join(folders)}: {count} lines, at most {ceiling}, aim {aim}")
        if count > limit:
            faults.append(f"{' + '.join(folders)}: {count} lines, more than {limit}")
    names = files("src", "tool")
    for name in names:
        if len(lines_of(name)) > FILE_MAX:
            faults.append(f"{name}: {len(lines_of(name))} lines, more than {FILE_MAX}")
        faults += long_functions(name)
    print("\n".join(faults + [f"check_sizes: {len(names)} files, {len(faults)} faults"]))
    return 1 if faults or not names else 0


sys.exit(main())
