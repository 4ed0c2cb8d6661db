# SPDX-License-Identifier: MIT
"""Callers of the same samples, found by us and by `perf record --call-graph dwarf,32768`: of the stacks that are whole
for both, the first caller is equal in at least 99.9 %, and all are in 99.5 %.

perf does not say whether a stack is whole: one of a program's main thread is if it ends in the code at its entry. Of
some recordings perf 6.1 reads no unwind tables of libc, and then leaves callers out or ends there.
"""
import collections
import os
import pathlib
import re
import shutil
import struct
import subprocess

import harness
from harness import CommandTest, program, text

SOURCES = pathlib.Path(__file__).resolve().parent / "programs"
TIME_LIMIT_S = 900
FIRST, WHOLE = 0.999, 0.995
SAMPLES = 200  # at least; most programs have far more
WHOLE_ENDS = {0, 1}  # of tool/stacks/stack.h: whole, by frame pointer
PLACE = 0xFFF  # what addresses at run time and in an image have in common
ENTRY_BYTES = 64  # of the code at a program's entry, which calls what never returns
NO_CALLER = 0xFFFFFFFFFFFFFFFF  # perf's last frame of a stack that is cut

Stack = collections.namedtuple("Stack", "whole places")


def entry_of(path):
    """The address of an ELF program's entry, in its image."""
    header = pathlib.Path(path).read_bytes()[:32]
    return struct.unpack("<Q", header[24:32])[0]


class Peers(CommandTest):
    def ours(self, data):
        """{(time, thread): Stack}"""
        told = self.run_bare([program("stack_peer"), data], timeout=TIME_LIMIT_S)
        self.assertEqual(told.returncode, 0, text(told.stderr))
        stacks = {}
        for line in text(told.stdout).splitlines():
            time, thread, end, *places = line.split()
            stacks[int(time), int(thread)] = Stack(int(end) in WHOLE_ENDS, [int(place, 16) & PLACE for place in places])
        return stacks

    def perfs(self, data, entry):
        told = self.run_bare(["perf", "script", "-i", data, "--ns", "--no-inline", "-F", "tid,time,ip"],
                             timeout=TIME_LIMIT_S)
        self.assertEqual(told.returncode, 0, text(told.stderr))
        stacks, places = {}, []
        for line in text(told.stdout).splitlines():
            head = re.match(r"\s*(\d+)\s+(\d+)\.(\d{9}):", line)
            if head:
                places = []
                stacks[int(head[2] + head[3]), int(head[1])] = places
            elif line.strip():
                places.append(int(line.split()[0], 16))
        return {key: Stack(bool(places) and (places[-1] - entry) & PLACE < ENTRY_BYTES,
                           [place & PLACE for place in places if place != NO_CALLER])
                for key, places in stacks.items()}

    def compare(self, *command, limit=()):
        data = self.folder / "perf.data"
        told = self.run_bare([*limit, "perf", "record", "-q", "-o", data, "-e", "cpu-clock:u", "-F", "997", "-m", "32M",
                              "--call-graph", "dwarf,32768", "--", *map(str, command)], timeout=TIME_LIMIT_S)
        if not data.exists() or "not supported" in text(told.stderr):
            self.skipTest(f"perf record does not work: {text(told.stderr)}")
        ours, perfs = self.ours(data), self.perfs(data, entry_of(shutil.which(command[0])))
        both = [(ours[key], perfs[key]) for key in ours.keys() & perfs.keys()]
        self.assertGreaterEqual(len(both), SAMPLES)
        whole = [(one.places, other.places) for one, other in both if one.whole and other.whole]
        called = [(one[1], other[1]) for one, other in whole if min(len(one), len(other)) > 1]
        first_equal = sum(one == other for one, other in called)
        all_equal = sum(one == other for one, other in whole)
        print(f"{command[0]}: {len(both)} samples, whole for us {sum(one.whole for one, _ in both)}, for perf "
              f"{sum(other.whole for _, other in both)}; first caller equal in {first_equal} of {len(called)}, all in "
              f"{all_equal} of {len(whole)}")
        different = [pair for pair in whole if pair[0] != pair[1]]
        self.assertGreater(sum(one.whole for one, _ in both), 0.9 * len(both))
        if len(whole) < len(both) / 2:
            self.skipTest(f"perf finds {len(whole)} whole stacks in {len(both)} samples")
        self.assertGreaterEqual(first_equal, FIRST * len(called), different[:3])
        self.assertGreaterEqual(all_equal, WHOLE * len(whole), different[:3])

    def need(self, name):
        if shutil.which(name) is None:
            self.skipTest(f"needs {name}")
        return name

    def setUp(self):
        super().setUp()
        self.need("perf")

    def test_sqlite(self):
        self.compare(self.need("sqlite3"), ":memory:",
                     "with recursive c(i) as (select 1 union all select i + 1 from c where i < 5000000) "
                     "select count(*), sum(i * i % 7) from c")

    def test_git(self):
        source = self.folder / "source"
        shutil.copytree(SOURCES, source)
        git = [self.need("git"), "-C", source, "-c", "user.name=test", "-c", "user.email=test@localhost"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "test"]):
            subprocess.run([*git, *words], check=True, timeout=60)
        (self.folder / "more").write_text("word and word\n" * 1600000)
        (self.folder / "less").write_text("word and word\nother\n" * 800000)
        self.compare("git", "diff", "--no-index", "--patience", self.folder / "less", self.folder / "more")

    def test_python(self):
        self.compare("/usr/bin/python3", "-S", "-c", "import re, json\n"
                     "for i in range(200000): re.sub('a|b', 'c', 'abc' * 9); json.dumps([i, {'a': i}])")

    def test_rust(self):
        built = self.folder / "walked"
        subprocess.run([self.need("rustc"), "-Copt-level=2", SOURCES / "walked.rs", "-o", built], check=True,
                       timeout=TIME_LIMIT_S, capture_output=True, cwd=self.folder)
        # perf ends the program when it is interrupted, and writes its file.
        self.compare(built, limit=["timeout", "--signal=INT", "3"])

    def test_zstd(self):
        self.compare(self.need("zstd"), "-19", "-q", "--single-thread", "-c", program("stack_peer"))

    def test_cc1(self):
        self.need("gcc")
        cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True, check=True,
                             timeout=60).stdout.strip()
        unit = self.folder / "unit.c"
        unit.write_text("".join(
            f"int f{i}(int *a, int n) {{ int s = {i}; for (int j = 0; j < n; j++) if (a[j] % {i + 2}) s += a[j] * {i}; "
            f"else a[j] ^= s; return s; }}\n" for i in range(400)))
        self.compare(cc1, "-quiet", "-O2", "-o", os.devnull, unit)


if __name__ == "__main__":
    harness.main()
