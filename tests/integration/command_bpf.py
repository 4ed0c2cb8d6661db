#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""run, attach and system with back end bpf: what hal/perf counts, counted in the interrupt. For those who may.

Exact counts come from page_caller, which makes code at an address by mprotect, of which nothing tells the
interrupt, and calls it at once: every call is a hit of a breakpoint.
"""
import json
import math
import os
import platform
import signal
import subprocess
import time

import harness
from harness import CommandTest, text, wait_for

FILE = "ntprof.pb.gz"
HALS = ("perf", "bpf")
RETURN = {"x86_64": b"\xc3", "aarch64": b"\xc0\x03\x5f\xd6"}
PROCESSES, CALLS = 40, 7


class Bpf(CommandTest):
    def setUp(self):
        super().setUp()
        probe = self.profile("-q", "--hal", "bpf", "-o", "/dev/null", "--", "true")
        if probe.returncode == 125:
            self.skipTest(text(probe.stderr))
        slot = RETURN.get(platform.machine())
        if slot is None:
            self.skipTest("no code for this machine")
        self.page = self.folder / "page"
        self.page.write_bytes((slot * 4096)[:4096])
        # Where nothing else on the machine has code, other tests' processes included.
        self.address = 0x7ec000000000 + (os.getpid() & 0xFFFFF) * 4096

    def callers(self, count=PROCESSES, calls=CALLS):
        caller = harness.program("page_caller")
        return ["/bin/sh", "-c", f"i=0; while [ $i -lt {count} ]; do "
                f"{caller} {self.address:x} {calls} < {self.page} || exit 9; i=$((i+1)); done"]

    def source(self):
        return f"breakpoint:0x{self.address:x}"

    def report(self, *words):
        result = self.ntprof("report", "--json", "--rows", "0", *words, FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_books(report)
        return report

    def assert_exact(self, report, hits):
        source = report["sources"][0]
        if source["missed"] or source["lost"]:
            self.fail(source)
        self.assertEqual(source["taken"], hits, source)
        self.assertEqual(source["counted"], hits, source)
        self.assertEqual(sum(row["hits"] for row in report["rows"]), hits, report["rows"])

    def test_run__short_programs_that_make_code__every_hit_on_either_hal(self):
        for hal in HALS:
            with self.subTest(hal):
                report = self.report_json("--hal", hal, "-e", self.source(), "--", *self.callers())
                self.assertEqual(report["hal"], hal)
                self.assert_exact(report, PROCESSES * CALLS)

    def test_run__others_call_the_same__only_the_commands_hits(self):
        """The events are on all processors; what others do there is nobody's."""
        other = self.start(self.callers(100000, 1))
        time.sleep(0.1)
        report = self.report_json("--hal", "bpf", "-e", self.source(), "--", *self.callers())
        self.assertIsNone(other.poll())
        self.assert_exact(report, PROCESSES * CALLS)

    def test_run__of_time__shares_as_perf_has_them(self):
        for hal in HALS:
            with self.subTest(hal):
                report = self.report_json("--hal", hal, "-F", "2k", "--",
                                          harness.program("shares"), "100")
                hits = {row["function"]: row["hits"] for row in report["rows"]}
                one, three = hits["right_one_unit"], hits["right_three_units"]
                sigma = math.sqrt(0.75 * 0.25 / (one + three))
                self.assertLess(abs(three / (one + three) - 0.75), 5 * sigma + 0.03, hits)
                self.assertEqual(report["sources"][0]["lost"], 0)

    def attach_or_system(self, *words):
        child = self.start(self.arguments(*words, "--hal", "bpf", "-e", self.source(),
                                          "--every", "100ms"))
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        return child

    def end(self, child):
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(child.returncode, 0, text(error))

    def test_system__short_programs_that_make_code__every_hit(self):
        child = self.attach_or_system("system")
        self.assertEqual(self.run_bare(self.callers()).returncode, 0)
        self.end(child)
        self.assert_exact(self.report(), PROCESSES * CALLS)

    def test_attach__to_who_starts_programs__every_hit_of_its_children(self):
        shell = self.start(["/bin/sh", "-c", 'read line; exec "$@"', "sh", *self.callers()],
                           stdin=subprocess.PIPE)
        child = self.attach_or_system("attach", "-p", str(shell.pid))
        shell.stdin.write(b"go\n")
        shell.stdin.flush()
        self.assertEqual(shell.wait(harness.TIME_LIMIT_S), 0)
        _, error = child.communicate(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(child.returncode, 0, text(error))
        self.assert_exact(self.report(), PROCESSES * CALLS)


if __name__ == "__main__":
    harness.main()
