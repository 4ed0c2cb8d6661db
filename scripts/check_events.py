#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Forbids PERF_EVENT_IOC_REFRESH: on a cpu-clock or task-clock event it hangs a machine with Linux 6.16 or 6.17.

usage: check_events.py [TREE]

The ioctl is found by its name and by its number, in C and in Python, but not in comments. Which event a descriptor is
of cannot be seen in the text, so no use is allowed: PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE are there.
"""
import pathlib
import re
import sys

TREE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
FOLDERS = ("include", "src", "tool", "tests", "bench", "examples", "scripts")
# The name; the number as it is written, of any case; the macro that makes it.
REFRESH = re.compile(r"IOC_REFRESH|\b0x2402\b|_IO\s*\(\s*'\$'\s*,\s*2\s*\)", re.I)
COMMENTS = {".c": re.compile(r"/\*.*?\*/|//[^\n]*", re.S), ".py": re.compile(r"(?m)^\s*#[^\n]*")}
COMMENTS[".h"] = COMMENTS[".c"]
# This one, and its test.
NAMED = {"scripts/check_events.py", "tests/scripts/test_scripts.py"}


def blanked(match):
    return re.sub(r"[^\n]", " ", match[0])


def main():
    files = [path for folder in FOLDERS for path in sorted((TREE / folder).rglob("*"))
             if path.suffix in COMMENTS and str(path.relative_to(TREE)) not in NAMED]
    faults = 0
    for path in files:
        text = COMMENTS[path.suffix].sub(blanked, path.read_text(encoding="utf-8", errors="replace"))
        for number, line in enumerate(text.splitlines(), 1):
            if REFRESH.search(line):
                print(f"{path.relative_to(TREE)}:{number}: PERF_EVENT_IOC_REFRESH hangs Linux 6.16 and 6.17 on a clock "
                      "event; use PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE")
                faults += 1
    print(f"check_events: {len(files)} files, {faults} faults")
    return 1 if faults or not files else 0


sys.exit(main())
