#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs under ntprof run --hal timer behave as they do without it: output, exit status, the signal that ends them.

Each scenario of programs/signal_scenarios.c and programs/process_scenarios.c runs once without ntprof and
NTPROF_RUNS times with it: once, and 60 times in make check-long. Those of processes run as a 32-bit program, too.
"""
import concurrent.futures
import errno
import json
import os
import pathlib
import subprocess
import tempfile

import harness
from harness import CommandTest, text

RUNS = int(os.environ.get("NTPROF_RUNS", "1"))
HAL = os.environ.get("NTPROF_TEST_HAL", "timer")


def scenarios(program):
    listed = subprocess.run([harness.program(program)], check=True, capture_output=True, text=True)
    return listed.stdout.split()


class BothWays(CommandTest):
    given = ()

    def run_both_ways(self, program):
        """Runs the scenarios of a program; says how the runs went that differ, and how many hits there were."""
        words = {name: [harness.program(program), name] for name in scenarios(program)}
        wanted = {name: self.run_bare(words[name]) for name in words}
        for name, result in wanted.items():
            self.assertEqual(result.stderr, b"", name)
            self.assertNotIn(b"failed", result.stdout, name)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            jobs = [pool.submit(self.run_one, words[name], wanted[name])
                    for _ in range(RUNS) for name in words]
            results = [job.result() for job in jobs]
        return [said for said, _ in results if said], sum(hits for _, hits in results), len(results)

    def run_one(self, words, wanted):
        """One run with ntprof: (how it differs or "", hits)."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            report = pathlib.Path(folder) / "report.json"
            got = self.profile(*self.given, "--hal", HAL, "--json", "--report", report, "-o", f"{folder}/p", "--",
                               *words)
            if (got.returncode, got.stdout) != (wanted.returncode, wanted.stdout):
                return (f"{words[1]}: status {got.returncode} instead of {wanted.returncode}; printed:\n"
                        f"{text(got.stdout)}instead of:\n{text(wanted.stdout)}ntprof said: {text(got.stderr)}"), 0
            told = json.loads(report.read_text())
            self.assert_statistics(told)
            return "", sum(source["taken"] for source in told["sources"])

    def check(self, program):
        differing, hits, runs = self.run_both_ways(program)
        self.assertEqual(len(differing), 0, f"{len(differing)} of {runs} runs differ:\n" + "\n".join(differing[:8]))
        self.assertGreater(hits, 0)
        print(f"tried: {runs} runs of {program}, {hits} hits: each as without ntprof")


class SignalSafety(BothWays):
    def test_signals_and_timers__as_without(self):
        self.check("signal_scenarios")

    def test_processes_threads_and_descriptors__as_without(self):
        self.check("process_scenarios")


class WithStacks(SignalSafety):
    given = ("-g",)


class Of32Bits(BothWays):
    def test_processes_threads_and_descriptors__as_without(self):
        if not os.path.exists(harness.program("process_scenarios_i386")):
            self.skipTest("no compiler of 32-bit programs here")
        try:
            scenarios("process_scenarios_i386")
        except OSError as refusal:
            self.assertEqual(refusal.errno, errno.ENOEXEC)
            self.skipTest("the kernel runs no 32-bit programs here")
        self.check("process_scenarios_i386")


if __name__ == "__main__":
    harness.main()
