#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares known profiles with `ntprof diff` and every byte of it with kept outputs.

usage: check_diff.py GOLDEN_REPORT SCHEMA [--update]

--update writes the kept outputs anew: read the difference before committing it.
"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import validate_schema

HERE = pathlib.Path(__file__).parent
KINDS = ["usual", "newer", "several", "few", "hostile", "empty", "foreign", "events", "threads", "stacks",
         "stacks-newer"]

# Name of the kept output: arguments.
CASES = {
    "diff-function.txt": ["usual", "newer"],
    "diff-all.txt": ["usual", "newer", "--all"],
    "diff-back.txt": ["newer", "usual", "--rows", "1"],
    "diff-normalized.txt": ["usual", "newer", "--normalize"],
    "diff-line.txt": ["usual", "newer", "--by", "line", "--all"],
    "diff-image.txt": ["usual", "newer", "--by", "image", "--all"],
    "diff-address.txt": ["usual", "newer", "--by", "address", "--all"],
    "diff-process-image.txt": ["usual", "newer", "--by", "process,image"],
    "diff-filtered.txt": ["usual", "newer", "--symbol", "clear_*", "--symbol", "memcpy", "--all"],
    "diff-same.txt": ["usual", "usual"],
    "diff-several.txt": ["several", "several", "--all", "--rows", "2"],
    "diff-sources.txt": ["several", "usual"],
    "diff-few.txt": ["few", "usual", "--rows", "2"],
    "diff-empty.txt": ["empty", "empty"],
    "diff-foreign.txt": ["foreign", "newer", "--rows", "1"],
    "diff-threads.txt": ["threads", "threads", "--by", "thread,cpu", "--all"],
    "diff-hostile.txt": ["hostile", "hostile", "--all"],
    "diff-stacks.txt": ["stacks", "stacks-newer"],
    "diff-stacks.json": ["stacks", "stacks-newer", "--json"],
    "diff-stacks.csv": ["stacks", "stacks-newer", "--csv"],
    "diff-function.json": ["usual", "newer", "--json", "--all"],
    "diff-normalized.json": ["usual", "newer", "--json", "--normalize", "--by", "process,line"],
    "diff-several.json": ["several", "usual", "--json", "--rows", "1", "--all"],
    "diff-hostile.json": ["hostile", "hostile", "--json", "--all"],
    "diff-one-source.txt": ["several", "several", "--all", "-e", "page-faults"],
    "diff-empty.json": ["empty", "empty", "--json"],
    "diff-function.csv": ["usual", "newer", "--csv", "--all", "--rows", "0"],
    "diff-several.csv": ["several", "several", "--csv", "--all", "--by", "address"],
    "diff-hostile.csv": ["hostile", "hostile", "--csv", "--all"],
}

# Arguments, words of the one line on standard error. Status 125, nothing on standard output.
MISTAKES = [
    (["--by", "colour", "usual", "newer"], "--by colour: allowed are function, inline, line"),
    (["--by", "source", "usual", "newer"], "--by source: each source is compared by itself"),
    (["--by", "thread", "usual", "newer"], "usual: "),
    (["--rows", "-1", "usual", "newer"], "--rows -1: allowed are 0 (all), 1, 2"),
    (["--fail-above", "5x", "usual", "newer"], "--fail-above 5x: allowed are percentages"),
    (["--fail-above", "-5", "usual", "newer"], "--fail-above -5: allowed are percentages"),
    (["--fail-above", "nan", "usual", "newer"], "--fail-above nan: allowed are percentages"),
    (["--fail-above"], "--fail-above: needs a value; see: ntprof help"),
    (["--json", "--csv", "usual", "newer"], "--json, --csv: only one of them"),
    (["usual", "newer", "few"], "few: only two files can be compared"),
    (["-e", "faults", "several", "several"], "-e faults: the profile has no such source; it has time"),
    (["--symbol", "nothing", "usual", "newer"], "let no row of either profile through"),
    (["--frobnicate", "usual"], "--frobnicate: no such option; see: ntprof help"),
    (["usual", "none"], "none: cannot open it: No such file or directory"),
    (["none", "usual"], "none: cannot open it: No such file or directory"),
    (["usual", "torn"], "torn: truncated"),
    (["events", "usual"], "usual: has no source that the old profile has"),
    (["usual"], "usual.old: cannot open it: No such file or directory"),
    (["-"], "-: what is it to be compared with? Name OLD and NEW"),
    (["-", "-"], "-: standard input can be read only once"),
    ([], "ntprof.pb.gz.old: cannot open it"),
]

# Arguments, exit status with them.
LIMITS = [
    (["usual", "usual", "--fail-above", "0"], 0),
    (["usual", "newer", "--fail-above", "10"], 1),
    (["usual", "newer", "--fail-above", "13%", "--csv"], 0),
    (["usual", "newer", "--fail-above", "10", "--symbol", "memcpy"], 0),
    (["newer", "usual", "--fail-above", "8", "--rows", "1", "--json"], 1),
]


class Checker:
    def __init__(self, program, schema, folder):
        self.program = program
        self.schema = json.load(open(schema, encoding="utf-8"))
        self.folder = folder
        self.wrong = 0
        self.good = 0

    def expect(self, good, what):
        if good:
            self.good += 1
        else:
            self.wrong += 1
            print(f"FAIL {what}")

    def run(self, *arguments, **options):
        environment = dict(os.environ, LC_ALL="C.UTF-8", NO_COLOR="")
        return subprocess.run([self.program, *arguments], cwd=self.folder, env=environment,
                              stdout=options.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, check=False, **options)

    def compare(self, name, arguments, update):
        result = self.run("diff", *arguments)
        kept = HERE / name
        self.expect(result.returncode == 0 and result.stderr == b"",
                    f"{name}: status {result.returncode}, {result.stderr!r}")
        if update:
            kept.write_bytes(result.stdout)
        self.expect(result.stdout == kept.read_bytes(),
                    f"{name}: got\n{result.stdout.decode(errors='replace')}")
        bad = [c for c in result.stdout.decode("utf-8")
               if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c == "\u202e"]
        self.expect(not bad, f"{name}: has {bad}")
        if name.endswith(".json"):
            self.check_json(name, result.stdout)
        elif name.endswith(".csv"):
            rows = list(csv.reader(io.StringIO(result.stdout.decode("utf-8"), newline="")))
            columns = 28 if "stacks" in name else 20
            self.expect(all(len(row) == columns for row in rows), f"{name}: columns differ")

    def check_long(self):
        """A name of 100,000 bytes is printed where it is, and pads no other row."""
        self.run("make", "long", "long")
        result = self.run("diff", "--all", "--rows", "0", "--by", "image,process", "long", "long")
        lengths = [len(line) for line in result.stdout.splitlines()]
        # The titles, its row, the other one, the sum, and the summary line that names the source.
        self.expect(result.returncode == 0 and [length > 1000 for length in lengths]
                    == [False, True, False, False, True], f"long: {lengths}")

    def check_json(self, name, output):
        diff = json.loads(output)
        errors = list(validate_schema.check(diff, self.schema, self.schema))
        self.expect(not errors, f"{name}: {errors}")
        for source in diff["sources"]:
            if len(source["rows"]) < source["row_count"]:
                continue
            for side in ("old_hits", "new_hits"):
                self.expect(sum(row[side] for row in source["rows"]) == source["whole"][side],
                            f"{name}: {side} do not add up")
                self.expect(sum(row[side] for row in source["rows"] if not row["beyond_chance"])
                            == source["rest"][side], f"{name}: {side} of the rest")

    def check_mistakes(self):
        whole = (self.folder / "usual").read_bytes()
        (self.folder / "torn").write_bytes(whole[: len(whole) // 2])
        for arguments, words in MISTAKES:
            result = self.run("diff", *arguments, stdin=subprocess.DEVNULL)
            said = result.stderr.decode()
            self.expect(result.returncode == 125 and result.stdout == b""
                        and said.startswith("ntprof: diff: ") and words in said
                        and said.count("\n") == 1,
                        f"{arguments}: status {result.returncode}, {said!r}")

    def check_limits(self):
        for arguments, status in LIMITS:
            result = self.run("diff", *arguments)
            self.expect(result.returncode == status and result.stdout != b"",
                        f"{arguments}: status {result.returncode}")

    def check_names(self):
        """Files that are not named: what is kept when a profile is written anew."""
        os.rename(self.folder / "few", self.folder / "ntprof.pb.gz.old")
        os.rename(self.folder / "usual", self.folder / "ntprof.pb.gz")
        named = self.run("diff", "ntprof.pb.gz.old", "ntprof.pb.gz")
        for arguments in ([], ["ntprof.pb.gz"]):
            result = self.run("diff", *arguments)
            self.expect(result.returncode == 0 and result.stdout == named.stdout,
                        f"{arguments} is not old against new")

    def check_streams(self):
        with open("/dev/full", "wb") as full:
            result = self.run("diff", "usual", "newer", stdout=full)
        self.expect(result.returncode == 125 and b"No space left" in result.stderr,
                    f"/dev/full: {result.returncode} {result.stderr!r}")
        with open(self.folder / "usual", "rb") as file:
            result = self.run("diff", "-", "newer", "--rows", "1", stdin=file)
        self.expect(result.returncode == 0 and b"EvalFrame" in result.stdout, "from a pipe")
        result = self.run("diff", "--help")
        self.expect(result.returncode == 0 and b"usage: ntprof diff" in result.stdout, "--help")


def main():
    program, schema = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(program, schema, pathlib.Path(folder))
        for kind in KINDS:
            checker.run("make", kind, kind)
        for name, arguments in CASES.items():
            checker.compare(name, arguments, "--update" in sys.argv)
        checker.check_mistakes()
        checker.check_limits()
        checker.check_streams()
        checker.check_names()
        checker.check_long()
    print(f"{checker.good} checks good, {checker.wrong} wrong")
    return 1 if checker.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
