#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each public header compiles alone, as C11 and as C++17, with all warnings as errors.

usage: check_headers.py INCLUDE-FOLDER HEADER...
"""
import os
import shutil
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wundef", "-Werror"]
LANGUAGES = [(["-x", "c", "-std=c11", "-Wstrict-prototypes"], [os.environ.get("CC", "cc")]),
             (["-x", "c++", "-std=c++17"], ["c++", "g++", "clang++"])]


def main():
    include, *headers = sys.argv[1:]
    failed, ran = 0, 0
    for flags, compilers in LANGUAGES:
        compiler = next((path for path in map(shutil.which, compilers) if path), None)
        if compiler is None:
            print(f"no compiler for {flags[1]}")
            return 77
        for header in headers:
            # Twice, for its guard; then used, so that it is more than text.
            text = f"#include <ntprof/{header}>\n" * 2 + "int ntprof_test_translation_unit;\n"
            done = subprocess.run([compiler, *flags, *WARNINGS, "-I", include, "-fsyntax-only", "-"],
                                  input=text, capture_output=True, text=True)
            ran += 1
            if done.returncode != 0:
                failed += 1
                print(f"{header}, {flags[2]}: {done.stderr}")
    print(f"check_headers: {ran} compilations, {failed} failed")
    return 1 if failed or not ran else 0


sys.exit(main())
