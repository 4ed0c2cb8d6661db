#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy (.clang-tidy) over every C file that a build folder compiles, but for tests: they
run under the sanitizers, and would take two thirds of the time.

usage: check_tidy.py BUILD [--no-analyzer | FILE...]

--no-analyzer leaves out clang's static analyzer, which takes nine tenths of the time.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys


def compiled(build):
    commands = json.loads((build / "compile_commands.json").read_text())
    files = {os.path.realpath(os.path.join(c["directory"], c["file"])) for c in commands}
    tests = f"{pathlib.Path(__file__).resolve().parent.parent}/tests/"
    return sorted(file for file in files if file.endswith(".c") and not file.startswith(tests))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1])
    without = ["--checks=-clang-analyzer-*"] if "--no-analyzer" in sys.argv else []
    files = [os.path.realpath(file) for file in sys.argv[2 + len(without):]] or compiled(build)
    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if tidy is None:
        sys.exit("check_tidy: clang-tidy is missing")

    def run(file):
        command = [tidy, "--quiet", "-p", str(build), "--warnings-as-errors=*", *without,
                   "--extra-arg=-Wno-unknown-warning-option", file]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, done in zip(files, pool.map(run, files)):
            if done.returncode != 0:
                failed += 1
                print(done.stdout.strip() or f"{file}: {done.stderr.strip()}")
    print(f"check_tidy: {len(files)} files, {failed} with findings")
    return 1 if failed or not files else 0


sys.exit(main())
