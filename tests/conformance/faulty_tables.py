#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The conformance runner finds what is wrong with a table, and fails when a row does not hold.

usage: faulty_tables.py RUNNER RULES.md
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER, RULES = sys.argv[1:3]
HEAD = ("call create\n"
        "default handle=var process=self base=code size=256 bucket=4 buffer=buf n=64 source=time\n")
ID = "create-" + "handle-access"  # in one piece this would look like its test
GOOD = f"sound | all | both | - | SUCCESS | - | {ID}\n"


class Runner(unittest.TestCase):
    def run_table(self, text, rules=RULES):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.txt"
            path.write_text(text)
            every = {**os.environ, "NTPROF_TEST_VERSIONS": "all"}
            done = subprocess.run([RUNNER, rules, str(path)], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=60, env=every)
            return done.returncode, done.stdout

    def fails(self, text, *said):
        status, output = self.run_table(text)
        self.assertEqual(status, 1, output)
        for word in said:
            self.assertIn(word, output)

    def row(self, **cells):
        columns = dict(name="a-row", versions="all", abi="both", inputs="-", status="SUCCESS",
                       effect="-", rules=ID)
        columns.update(cells)
        return HEAD + " | ".join(columns.values()) + "\n"

    def test_sound_table__passes(self):
        status, output = self.run_table(HEAD + GOOD)
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"1 rows, 62 cases, 0 failed; [1-9]\d* failures injected")

    def test_what_no_table_may_have__told_with_its_line(self):
        for cells, said in (
                ({"inputs": "colour=red"}, "no such key: colour"),
                ({"inputs": "at=code"}, "no such key: at"),
                ({"inputs": "n=4 n=8"}, "n is given twice"),
                ({"inputs": "n"}, "not KEY=VALUE"),
                ({"inputs": "n=8..4"}, "no list of values"),
                ({"inputs": "n=4,,8"}, "no list of values"),
                ({"inputs": "mode=loud"}, "mode is one of"),
                ({"inputs": "affinity=1"}, "affinity needs call=nine"),
                ({"inputs": "groupcount=1"}, "groupcount needs call=ex"),
                ({"inputs": "wow64=yes"}, "wow64 needs x64"),
                ({"versions": "6.4"}, "no such versions: 6.4"),
                ({"versions": "6.1-5.0"}, "no such versions: 6.1"),
                ({"abi": "arm"}, "abi is x64, x86 or both"),
                ({"status": "FINE"}, "no such status: FINE"),
                ({"rules": "create-nothing"}, ": create-nothing"),
                ({"rules": ""}, "not seven columns"),
                ({"effect": "- | -"}, "not seven columns")):
            with self.subTest(**cells):
                self.fails(self.row(**cells), "table.txt:3: ", said, "0 rows")

    def test_heads__told(self):
        self.fails(HEAD + GOOD + GOOD, "table.txt:4: the name sound is that of line 3")
        self.fails("call dance\n" + GOOD, "no such call: dance")
        self.fails(GOOD, "no call")
        self.fails(HEAD, "no row")
        self.fails(HEAD + "a sentence\n" + GOOD, "table.txt:3: neither row")
        self.assertEqual(self.run_table(HEAD + GOOD, "/nonexistent")[0], 1)

    def test_what_only_a_run_finds__told_with_its_line(self):
        for cells, said in (
                ({"inputs": "n=size*"}, "no value: size*"),
                ({"inputs": "base=nowhere"}, "no value: nowhere"),
                ({"inputs": "base=size size=base"}, "no value"),
                ({"inputs": "call=ex", "versions": "-6.0"}, "INVALID_SYSTEM_SERVICE instead of"),
                ({"inputs": "before=dance"}, "no such step: dance"),
                ({"effect": "dance"}, "no such step: dance"),
                ({"effect": "start hit@code,colour=1"}, "hit does not know colour"),
                ({"effect": "start!FINE"}, "no such status: FINE")):
            with self.subTest(**cells):
                self.fails(self.row(**cells), "table.txt:3: a-row [", said)

    def test_row_that_does_not_hold__fails(self):
        for cells, said in (
                ({"status": "ACCESS_DENIED"}, "SUCCESS instead of ACCESS_DENIED"),
                ({"inputs": "n=0", "versions": "6.0-"}, "INVALID_PARAMETER_7 instead of SUCCESS"),
                ({"effect": "bucket=5"}, "bucket is 0x4 instead of 0x5"),
                ({"effect": "start hit@code counts=2"}, "counter 0 is 1 instead of 2"),
                ({"effect": "start miss@code"}, "counts in 1 counters instead of 0"),
                ({"effect": "stop"}, "PROFILING_NOT_STARTED instead of SUCCESS"),
                ({"effect": "start on=0x7"}, "on is 0xf instead of 0x7"),
                ({"effect": "start off"}, "off is"),
                ({"effect": "halt=bugcheck"}, "halt is"),
                ({"effect": "access=3"}, "access is 0x1 instead of 0x3")):
            with self.subTest(**cells):
                self.fails(self.row(**cells), "table.txt:3: a-row [", said)

    def test_row_without_a_case__fails(self):
        self.fails(self.row(versions="3.10", inputs="call=any").replace("3.10", ","),
                   "a row without a case")


unittest.main(argv=sys.argv[:1])
