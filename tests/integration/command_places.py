# SPDX-License-Identifier: MIT
"""Where hits are: function, line and inlined frames, beside addr2line and perf record.

Nothing here depends on how fast the machine is: the exact cases compare each hit's place with what the
program's debug information says about its address, however many hits there are. The shares of two
recordings may differ by chance: the bounds are those that independent samples, as many as there were,
exceed once in a million.
"""
import json
import math
import pathlib
import re
import shutil
import subprocess
import unittest

import harness
from harness import CommandTest, for_each_user_if_long, text

SOURCES = pathlib.Path(__file__).resolve().parent / "programs"
OWN = {"compare", "draw", "triple", "divide", "fill", "sort", "work"}
EXACT_MS = 300
SHARES_MS = 1000
FEW_HITS = 50  # may all be of the program's start
ONE_IN_A_MILLION = math.log(1e6)
COMMAND_LIMIT_S = 250

_built = {}


def tool(words, **given):
    """A tool of the developer's, by the caller with the caller's own PATH; its output."""
    return subprocess.run(words, check=True, timeout=COMMAND_LIMIT_S, stdin=subprocess.DEVNULL,
                          capture_output=True, **given)


class Program:
    """places, built by a compiler; what its symbols and debug information say."""

    def __init__(self, compiler, options):
        self.path = harness.stage() / "programs" / f"places-{compiler}{''.join(options).replace('/', '')}"
        if compiler == "rustc":
            words = ["-g", "-Crelocation-model=static", "-Copt-level=2", SOURCES / "places.rs"]
        else:
            words = ["-g", "-no-pie", *options, SOURCES / "places.c"]
        tool([compiler, *words, "-o", self.path], cwd=harness.stage())
        self.path.chmod(0o755)
        rows = [line.split() for line in text(tool(["nm", "-S", self.path]).stdout).splitlines()]
        #: {first address: (end, name)} of the functions of places
        self.functions = {int(row[0], 16): (int(row[0], 16) + int(row[1], 16), row[3])
                          for row in rows if len(row) == 4 and row[3].split(".")[0] in OWN}
        lines = text(tool(["objdump", "--dwarf=decodedline", self.path]).stdout)
        #: where a function or a row of the line table starts
        self.starts = {int(found, 16) for found in re.findall(r"\s(0x[0-9a-f]+)(?:\s|$)", lines)}
        self.starts |= set(self.functions)

    def function(self, address):
        """The name of the function of places that holds an address, or None."""
        return next((name for start, (end, name) in self.functions.items() if start <= address < end), None)

    def start_in(self, address, size):
        """What starts last in a bucket, else its first byte."""
        return max((start for start in self.starts if address <= start < address + size), default=address)

    def places(self, addresses):
        """{address: [(function, line)]}, innermost first."""
        if not addresses:
            return {}
        told = text(tool(["addr2line", "-afie", self.path, *map(hex, addresses)]).stdout).splitlines()
        places = {}
        for i, line in enumerate(told):
            if line.startswith("0x"):
                chain = places.setdefault(int(line, 16), [])
                pair = i + 1
                while pair + 1 < len(told) and not told[pair].startswith("0x"):
                    number = re.search(r":(\d+)", told[pair + 1])
                    chain.append((told[pair], int(number[1]) if number else 0))
                    pair += 2
        return places


def program_of(compiler, options):
    for name in (compiler, "nm", "objdump", "addr2line"):
        if shutil.which(name) is None:
            raise unittest.SkipTest(f"{name} is not installed")
    key = (compiler, *options)
    if key not in _built:
        _built[key] = Program(compiler, options)
    return _built[key]


def share_of(weights):
    total = sum(weights.values()) or 1
    return {key: weight / total for key, weight in weights.items()}


def distance(one, other):
    """0 for the same shares, 1 for nothing in common."""
    one, other = share_of(one), share_of(other)
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys()) / 2


def chance(one, other):
    """
    How far the distance of two recordings is above its mean once in a million, at most: one of n
    samples moves it by 1 / n, so this is McDiarmid's inequality.
    """
    counts = [sum(side.values()) for side in (one, other)]
    return math.sqrt(ONE_IN_A_MILLION / 2 * sum(1 / count for count in counts))


class PlacesTest(CommandTest):
    def rows(self, program, milliseconds, *words):
        """[(address, [(function, line)], hits)] of what ntprof counts in places, and all hits that it counts."""
        result = self.profile("-o", "p.pb.gz", *words, "--", program.path, milliseconds,
                              timeout=COMMAND_LIMIT_S)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        result = self.ntprof("export", "--format", "json", "-o", "p.json", "p.pb.gz",
                             timeout=COMMAND_LIMIT_S)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        profile = json.loads((self.folder / "p.json").read_text())
        rows = []
        for row in profile["rows"]:
            address = int(row["address"], 16)
            at = program.start_in(address, profile["bucket_bytes"])
            if profile["images"][row["image"]]["path"] != str(program.path) or program.function(at) is None:
                continue
            chain, frame = [], row
            while True:
                chain.append((profile["functions"][frame["function"]]["system_name"], frame["line"]))
                if frame["caller"] == 0:
                    break
                frame = profile["frames"][frame["caller"]]
            rows.append((address, chain, row["hits"][0]))
        return rows, profile["sources"][0]["counted"]

    def assert_exact(self, program, size):
        bucket = ["--bucket", str(size)] if size > 1 else []
        rows, counted = self.rows(program, EXACT_MS, *bucket)
        self.assertTrue(rows or counted < FEW_HITS, f"none of {counted} hits is in places")
        named = {address: program.start_in(address, size) for address, _, _ in rows}
        places = program.places(sorted(set(named.values())))
        for address, chain, _ in rows:
            self.assertEqual(address % size, 0)
            where = named[address]
            self.assertEqual(chain[-1][0], program.function(where), hex(address))
            plain = [(name.split(".")[0], line) for name, line in chain]
            wanted = [(name.split(".")[0], line) for name, line in places[where]]
            self.assertEqual(plain, wanted, hex(address))

    def assert_places(self, compiler, *options):
        program = program_of(compiler, options)
        for size in (1, 4, 16):
            with self.subTest(size=size):
                self.assert_exact(program, size)


@for_each_user_if_long
class ExactForAll(PlacesTest):
    def test_gcc_Os(self):
        self.assert_places("gcc", "-Os")


class Exact(PlacesTest):
    def test_gcc_O1(self):
        self.assert_places("gcc", "-O1")

    def test_gcc_O2(self):
        self.assert_places("gcc", "-O2")

    def test_clang_O2(self):
        self.assert_places("clang", "-O2")

    def test_rust(self):
        self.assert_places("rustc")


class Shares(PlacesTest):
    def perf_hits(self, program):
        """{address: hits} of what perf samples in places."""
        perf = shutil.which("perf")
        if perf is None:
            self.skipTest("perf is not installed")
        data = self.folder / "perf.data"
        recorded = self.run_bare([perf, "record", "-q", "-o", data, "-e", "cpu-clock:u", "-c", "1003000", "--",
                                  program.path, str(SHARES_MS)], timeout=COMMAND_LIMIT_S)
        if recorded.returncode != 0:
            self.skipTest(f"perf does not record here: {text(recorded.stderr)[-200:]}")
        told = self.run_bare([perf, "script", "-i", data, "-F", "ip"], timeout=COMMAND_LIMIT_S)
        self.assertEqual(told.returncode, 0, text(told.stderr))
        hits = {}
        for word in text(told.stdout).split():
            address = int(word, 16)
            if program.function(address) is not None:
                hits[address] = hits.get(address, 0) + 1
        return hits

    def perf_shares(self, program):
        """({function: hits}, {line: hits})"""
        hits = self.perf_hits(program)
        places = program.places(sorted(hits))
        functions, lines = {}, {}
        for address, count in hits.items():
            name, line = program.function(address), places[address][0][1]
            functions[name] = functions.get(name, 0) + count
            lines[line] = lines.get(line, 0) + count
        return functions, lines

    def ntprof_shares(self, program):
        functions, lines = {}, {}
        for _, chain, count in self.rows(program, SHARES_MS)[0]:
            name, line = chain[-1][0], chain[0][1]
            functions[name] = functions.get(name, 0) + count
            lines[line] = lines.get(line, 0) + count
        return functions, lines

    def assert_as_perf(self, compiler, *options):
        program = program_of(compiler, options)
        perf = self.perf_shares(program)
        ours = self.ntprof_shares(program)
        again = self.perf_shares(program)
        for what, first, own, second in zip(("functions", "lines"), perf, ours, again):
            if not first or not own or not second:
                self.skipTest("a recording has no hits: this machine stood still")
            apart = distance(first, second)
            between = (distance(own, first) + distance(own, second)) / 2
            bound = 1.5 * (apart + chance(first, second)) + max(chance(own, first), chance(own, second))
            print(f"{what}: ntprof to perf {between:.4f}, perf to perf {apart:.4f}, at most {bound:.4f} by "
                  f"{sum(own.values())}, {sum(first.values())} and {sum(second.values())} hits")
            self.assertLessEqual(between, bound, what)

    def test_gcc_O1(self):
        self.assert_as_perf("gcc", "-O1")

    def test_gcc_Os(self):
        self.assert_as_perf("gcc", "-Os")

    def test_gcc_O2(self):
        self.assert_as_perf("gcc", "-O2")

    def test_clang_O2(self):
        self.assert_as_perf("clang", "-O2")

    def test_rust(self):
        self.assert_as_perf("rustc")


if __name__ == "__main__":
    harness.main()
