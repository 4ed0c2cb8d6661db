#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rates asked for, granted and measured; the guard against starvation and --max-overhead."""
import json
import re
import subprocess

import harness
from harness import CommandTest, for_each_user_if_long, text

FILE = "ntprof.pb.gz"
WORK = ["/usr/bin/python3", "-S", "-c", "for _ in range(200): sum(range(10000))"]


@for_each_user_if_long
class Rates(CommandTest):
    def run_for_source(self, *words):
        """What a run says, and its source of time."""
        result = self.profile("-v", *words, "--", *WORK)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(self.ntprof("report", "--json", FILE).stdout)
        self.assert_statistics(report)
        return text(result.stderr), report["sources"][0], report

    def test_bad_values__refused_before_the_command_starts(self):
        for words, wanted in ((["--max-overhead", "0"], "0.01 to 50"), (["--max-overhead", "51"], "0.01 to 50"),
                              (["--max-overhead", "much"], "0.01 to 50"), (["--max-overhead", "nan"], "0.01 to 50"),
                              (["--max-overhead", "-1"], "0.01 to 50"),
                              (["--max-overhead", "1", "-F", "100"], "chooses the rate"),
                              (["--max-overhead", "1", "--interval", "1ms"], "chooses the rate"),
                              (["--max-overhead", "1", "-e", "page-faults"], "source time")):
            with self.subTest(words):
                result = self.profile(*words, "--", "touch", "started")
                self.assertEqual(result.returncode, 125)
                self.assertIn(wanted, text(result.stderr))
                self.assert_nothing_left()

    def test_usual_rate__all_three_in_the_summary(self):
        said, source, _ = self.run_for_source("-F", "500")
        self.assertRegex(said, r"time asked 500 Hz, granted 500 Hz")
        self.assertEqual((source["asked"], source["granted"]), (20000, 20000))
        self.assertNotIn("was granted", said)

    def test_high_rate__its_share_of_the_time_is_said(self):
        result = self.profile("-F", "20k", "--no-guard", "--", *WORK)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        found = re.search(r"at (\d+) Hz hits take about (\d+)% of the program's time, ([0-9.]+) us each", said)
        if found is None:
            # A hit takes less than 2.5 us here, or cannot be measured.
            self.assertNotIn("hits take about", said)
            self.skipTest("hits cost little here")
        self.assertAlmostEqual(int(found[2]), int(found[1]) * float(found[3]) / 1e4, delta=2)
        self.assertGreaterEqual(int(found[2]), 5)
        self.assertIn(found[0], json.loads(self.ntprof("report", "--json", FILE).stdout)["limits"])
        self.assertNotIn("hits take about", text(self.profile("--", *WORK).stderr))

    def test_interval_that_starves__lengthened_and_said(self):
        said, source, report = self.run_for_source("--interval", "100ns")
        found = re.search(r"granted (\d+) Hz: a hit costs ([0-9.]+) us here", said)
        self.assertTrue(found, said)
        self.assertEqual(source["asked"], 1)
        self.assertGreaterEqual(source["granted"] / 10, 2 * float(found[2]) - 0.2)
        self.assertIn("a hit costs", report["limits"])
        self.assertIn("because of what a hit costs here", said)
        self.assertIn("below 10000000 Hz", said)

    def back_ends(self):
        """Those that can watch a program here, for this user."""
        found = [name for name in ("perf", "timer")
                 if self.profile("-q", "--hal", name, "-o", "probe.pb.gz", "--", "true").returncode == 0]
        self.assertTrue(found)
        return found

    def test_rate_max__every_back_end__the_program_ends_and_all_rates_are_said(self):
        for name in self.back_ends():
            with self.subTest(name):
                said, source, report = self.run_for_source("--hal", name, "-F", "max")
                self.assertEqual(report["hal"], name)
                self.assertGreater(source["taken"], 0)
                for rate in ("asked", "granted", "measured"):
                    self.assertGreater(source[rate], 0)
                self.assertRegex(said, r"time asked [0-9.]+ Hz, granted [0-9.]+ Hz, measured [0-9.]+ Hz")
                if abs(source["granted"] / source["asked"] - 1) > 0.06:
                    self.assertRegex(said, "was granted .* (above|below) .*: ")

    def test_interval_that_is_lengthened__same_in_a_report_of_the_file(self):
        said, _, _ = self.run_for_source("--interval", "100ns")
        summary, = [line for line in said.splitlines() if "a hit costs" in line and "asked" in line]
        self.assertIn(summary, text(self.ntprof("report", "-v", FILE).stdout))

    def test_no_guard__as_asked_within_limits(self):
        said, source, report = self.run_for_source("--no-guard", "--interval", "20us")
        self.assertEqual((source["asked"], source["granted"]), (200, 200))
        self.assertNotIn("a hit costs", said + report["limits"])

    def test_interval_shorter_than_the_kernel_has__nearest_one_is_said(self):
        said, source, _ = self.run_for_source("--interval", "24h", "-e", "time")
        if source["granted"] == source["asked"]:
            self.skipTest("the back end has intervals of a day")
        self.assertIn("the nearest that the back end and the kernel have", said)

    def test_overhead__rate_follows_from_the_cost(self):
        for percent in (1, 5):
            with self.subTest(percent):
                said, source, _ = self.run_for_source("--max-overhead", f"{percent}%")
                found = re.search(rf"granted (\d+) Hz by --max-overhead {percent}%: a hit costs ([0-9.]+) us", said)
                self.assertTrue(found, said)
                share = 100 * float(found[2]) / (source["granted"] / 10)
                self.assertGreater(share, percent * 0.7)
                self.assertLess(share, percent * 1.3)

    def test_overhead__cost_that_cannot_be_measured__said(self):
        if "timer" not in self.back_ends():
            self.skipTest("back end timer does not work here")
        said, source, report = self.run_for_source("--hal", "timer", "--max-overhead", "1%")
        self.assertIn("so --max-overhead is not applied", report["limits"])
        self.assertIn("so --max-overhead is not applied", said)
        self.assertEqual(source["asked"], 10030)

    def test_control_interval__guard_applies(self):
        fifo = self.folder / "ctl"
        self.run_bare(["mkfifo", fifo])
        child = self.start_profile("--control", "ctl", "--", "/bin/cat", stdin=subprocess.PIPE)
        with open(fifo, "wb", buffering=0) as stream:
            stream.write(b"interval 100ns\n")
            answer = text(child.stderr.readline())
        _, said = child.communicate(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(child.returncode, 0, text(said))
        self.assertIn("interval: ", answer)
        self.assertIn("a hit costs", answer + text(said))


if __name__ == "__main__":
    harness.main()
