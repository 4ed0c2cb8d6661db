# SPDX-License-Identifier: MIT
"""Callers found by unwind rules, at every instruction of a part of real programs, beside a shadow stack that is kept
from their calls and returns: on x86-64 no caller may be wrong, and stacks that are not whole end in code without rules.

NTPROF_TEST_STACKS=long: ten times as many instructions, of more programs.
"""
import json
import os
import pathlib
import shutil
import subprocess

import harness
from harness import CommandTest, program, text

SOURCES = pathlib.Path(__file__).resolve().parent / "programs"
LONG = os.environ.get("NTPROF_TEST_STACKS") == "long"
INSTRUCTIONS = 200000 if LONG else 20000
# On arm64 linkers write no rules for .plt, and the caller of glibc's code that finds a function when it is first called
# may be wrong: docs/decisions/0023.
ARM64 = os.uname().machine == "aarch64"
WHOLE = 0.99 if ARM64 else 0.999
WRONG = 0.001 if ARM64 else 0
LANDING = 0.003  # of instructions by which exceptions leave frames: stack_oracle.c
JUMPING = 0.0005  # of those of longjmp, whose frame is in its buffer: docs/decisions/0023
TIME_LIMIT_S = 1500


class Oracle(CommandTest):
    def ask(self, *command, start="entry", passed=INSTRUCTIONS // 10, unsupported=0):
        """What the oracle counted of a command, behind so many instructions from its exec or entry on. A program begins
        with a few that have no rules."""
        told = self.run_bare([program("stack_oracle"), str(INSTRUCTIONS), str(passed), start, *map(str, command)],
                             timeout=TIME_LIMIT_S)
        said = text(told.stderr)
        self.assertEqual(told.returncode, 0, said)
        counts = json.loads(text(told.stdout).splitlines()[-1])
        print(command[0], counts)
        self.assertLessEqual(counts["wrong"], WRONG * INSTRUCTIONS, said)
        self.assertLessEqual(counts["unsupported"], unsupported * INSTRUCTIONS, said)
        self.assertEqual(counts["asked"], INSTRUCTIONS, said)
        self.assertGreaterEqual(counts["whole"], WHOLE * (counts["asked"] - counts["landing"]), said)
        self.assertLessEqual(counts["landing"], LANDING * counts["asked"], said)
        ends = ("whole", "no_rules", "unsupported", "landing", "wrong")
        self.assertEqual(sum(counts[end] for end in ends), counts["asked"], said)
        return counts

    def need(self, name):
        if shutil.which(name) is None:
            self.skipTest(f"needs {name}")

    def build(self, compiler, source, *options):
        """A program in this test's folder."""
        self.need(compiler)
        built = self.folder / "walked"
        subprocess.run([compiler, *options, SOURCES / source, "-o", built], check=True, timeout=TIME_LIMIT_S,
                       stdin=subprocess.DEVNULL, capture_output=True, cwd=self.folder)
        return built


class Stacks(Oracle):
    def test_signals_jumps_and_frames_of_any_size(self):
        counts = self.ask(self.build("cc", "walked.c", "-O2"), unsupported=JUMPING)
        self.assertGreater(counts["signals"], 5)

    def test_sqlite(self):
        self.need("sqlite3")
        self.ask("sqlite3", ":memory:",
                 "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n", passed=INSTRUCTIONS)

    def test_python(self):
        # What is in PATH may be a script.
        self.ask("/usr/bin/python3", "-S", "-c", "import re\nwhile True: re.sub('a|b', 'c', 'abc' * 9)")

    def test_loader(self):
        self.ask("/usr/bin/python3", "-S", "-c", "1", start="exec", passed=INSTRUCTIONS)


class Compilers(Oracle):
    """For make check-long."""

    def test_clang(self):
        self.ask(self.build("clang", "walked.c", "-O2"), unsupported=JUMPING)

    def test_cxx(self):
        self.ask(self.build("g++", "walked.cc", "-O2"))

    def test_rust(self):
        self.ask(self.build("rustc", "walked.rs", "-Copt-level=2"))


if __name__ == "__main__":
    harness.main()
