#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Back end timer: shares of functions beside those of perf record, and hits beside processor time.

The bound of each share is that of chance: it comes from the numbers of hits, whatever the machine does meanwhile.
"""
import json
import math
import shutil

import harness
from harness import CommandTest, for_each_user, program, text

DEVIATIONS = 5  # one in two million differences of chance is greater
# Of work in step with the tick, and of hits that back end timer counts where a system call returns.
SYSTEMATIC = 0.02
NODE_WORK = """
function hotLoop(rounds) {
    let value = 1;
    for (let i = 0; i < rounds; i++) value = (value * 1103515245 + 12345) % 2147483648;
    return value;
}
let sum = 0;
while (process.cpuUsage().user < 800000) sum += hotLoop(100000);
"""


# Runs a program, and prints what both have taken of the processor.
MEASURES = """
import os, resource, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
assert os.waitpid(child, 0)[1] == 0
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(one.ru_utime + one.ru_stime for one in used))
"""


def within_chance(first, second, total_first, total_second):
    """Do two samples agree in a share, as far as chance goes?"""
    both = (first + second) / (total_first + total_second)
    deviation = math.sqrt(both * (1 - both) * (1 / total_first + 1 / total_second))
    return abs(first / total_first - second / total_second) <= DEVIATIONS * deviation + SYSTEMATIC


@for_each_user
class Accuracy(CommandTest):
    def timer_json(self, *words):
        report = self.report_json("--hal", "timer", "--", *words)
        self.assert_statistics(report)
        return report

    def perf_hits(self, words):
        """{function: hits} of perf record in user mode."""
        perf = shutil.which("perf")
        if perf is None:
            self.skipTest("perf is not installed")
        recorded = self.run_bare([perf, "record", "-q", "-o", "data", "-e", "cpu-clock:u", "-F", "997", "--", *words])
        if recorded.returncode != 0:
            self.skipTest(f"perf does not record here: {text(recorded.stderr)[-200:]}")
        told = self.run_bare([perf, "script", "-i", "data", "-F", "ip,sym"])
        self.assertEqual(told.returncode, 0, text(told.stderr))
        hits = {}
        for line in text(told.stdout).splitlines():
            name = line.split(maxsplit=1)[1]
            hits[name] = hits.get(name, 0) + 1
        return hits

    def assert_as_perf(self, functions, *words):
        """Each of the functions has its share of what all of them have."""
        ours, perf = dict.fromkeys(functions, 0), self.perf_hits(words)
        all_hits = sum(perf.values())
        report = self.timer_json(*words)
        for row in report["rows"]:
            if row["function"] in ours:
                ours[row["function"]] += row["hits"]
        perf = {name: perf.get(name, 0) for name in functions}
        print(f"timer {ours}, perf {perf}")
        totals = sum(ours.values()), sum(perf.values())
        for total, whole in zip(totals, (report["sources"][0]["taken"], all_hits)):
            self.assertGreater(total, whole / 2, "the functions are not where the program works")
        for name in functions:
            self.assertTrue(within_chance(ours[name], perf[name], *totals), (name, ours, perf))

    def test_one_thread__has_the_shares_of_perf_record(self):
        self.assert_as_perf(["multiply_matrices", "count_primes", "hash_text"], program("busy"), "3")

    def test_two_threads__have_the_shares_of_perf_record(self):
        self.assert_as_perf(["right_three_units", "right_one_unit"], program("shares_threads"), "3000")

    def test_many_threads__have_the_shares_of_perf_record(self):
        self.assert_as_perf([f"worker_{letter}" for letter in "abcdefgh"], program("many_threads"))

    def test_hits_times_interval__are_the_processor_time_of_the_program(self):
        """But for what the statistics name: late expirations, and the last interval of each thread."""
        result = self.profile("--hal", "timer", "--json", "--report", "report.json", "--", "/usr/bin/python3", "-S",
                              "-c", MEASURES, program("shares_threads"), "1600")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        used = float(result.stdout)
        report = json.loads((self.folder / "report.json").read_text())
        self.assert_statistics(report)
        source, = report["sources"]
        interval = source["granted"] / 1e7
        explained = sum(source[part] for part in ("taken", "lost", "missed", "unfinished"))
        self.assertEqual(source["expected"], explained)
        self.assertAlmostEqual(explained * interval, used, delta=0.1 * used)

    def test_node__has_names_of_its_code(self):
        node = shutil.which("node")
        if node is None:
            self.skipTest("node is not installed")
        report = self.timer_json(node, "--single-threaded", "--perf-basic-prof", "-e", NODE_WORK)
        hits = sum(row["hits"] for row in report["rows"])
        hot = sum(row["hits"] for row in report["rows"] if "hotLoop" in row["function"])
        print(f"{hot} of {hits} hits in hotLoop, {report['sources'][0]['outside']} outside")
        self.assertGreater(hot, hits / 3, json.dumps(report["rows"][:20]))


if __name__ == "__main__":
    harness.main()
