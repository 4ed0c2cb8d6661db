#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof system: all processes, those to come and those that have gone, and the kernel."""
import json
import os
import shutil
import signal
import subprocess

import harness
from harness import CommandTest, text, wait_for

FILE = "ntprof.pb.gz"


class System(CommandTest):
    """As root: other users are told why they may not, below."""

    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may profile all processes")
        super().setUp()
        self.folder.chmod(0o755)

    def copy(self, name):
        """A program of this name, which no other process has."""
        path = self.folder / name
        shutil.copy(harness.program("shares"), path)
        return path

    def start_system(self, *words, **given):
        """ntprof system that has begun."""
        child = self.start(self.arguments("system", "--every", "100ms", *words), **given)
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        return child

    def end(self, child):
        child.send_signal(signal.SIGINT)
        said = text(child.communicate(timeout=harness.TIME_LIMIT_S)[1])
        self.assertEqual(child.returncode, 0, said)
        return said

    def report(self, *words):
        result = self.ntprof("report", "--json", "--rows", "0", *words, FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_books(report)
        self.assertEqual(sum(row["hits"] for row in report["rows"]),
                         report["sources"][0]["counted"])
        return report

    def hits(self, key, value, *words):
        return sum(row["hits"] for row in self.report(*words)["rows"] if row[key] == value)

    def test_processes_of_before_and_later__are_all_counted(self):
        before = self.start([self.copy("work-before"), "300000"])
        child = self.start_system()
        later = self.run_bare([self.copy("work-later"), "300"], user=harness.USER)
        self.assertEqual(later.returncode, 0)
        said = self.end(child)
        self.assertIn("ntprof: perf", said)
        self.assertIsNone(before.poll())
        for name in ("work-before", "work-later"):
            self.assertGreater(self.hits("process", name, "--by", "process"), 20, name)

    def test_short_lived_processes__each_is_counted(self):
        """Two hundred of them have the processor time that all of them took."""
        path = self.copy("work-short")
        child = self.start_system("-F", "5k")
        self.run_bare(["sh", "-c", f"for i in $(seq 200); do {path} 4; done"])
        self.end(child)
        counted = self.hits("process", "work-short", "--by", "process")
        self.assertGreater(counted, 0.5 * 200 * 0.004 * 5000)

    def test_program_that_is_gone__keeps_its_names(self):
        path = self.copy("work-gone")
        child = self.start_system()
        worker = self.start([path, "300000"])
        wait_for(lambda: self.hits("process", "work-gone", "--by", "process") > 20, "hits")
        path.unlink()
        worker.kill()
        worker.wait()
        self.end(child)
        rows = [row for row in self.report("--by", "address")["rows"] if "work-gone" in row["image"]]
        self.assertTrue(rows)
        functions = {row["function"] for row in rows}
        self.assertIn("right_three_units", functions)

    def test_kernel__is_counted_and_alone_with_kernel(self):
        writer = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"]
        self.start(writer, stderr=subprocess.DEVNULL)
        for words in ((), ("--kernel",), ("--user",)):
            with self.subTest(words):
                result = self.ntprof("system", "--duration", "500ms", *words)
                self.assertEqual(result.returncode, 0, text(result.stderr))
                kernel = self.hits("process", "[kernel]", "--by", "process")
                rows = self.report("--by", "process")["rows"]
                others = sum(row["hits"] for row in rows) - kernel
                if words == ("--user",):
                    self.assertEqual(kernel, 0)
                else:
                    self.assertGreater(kernel, 20)
                if words == ("--kernel",):
                    self.assertEqual(others, 0)

    def test_one_processor__half_of_what_two_have(self):
        result = self.ntprof("system", "--duration", "1s", "-C", "0", "--json")
        self.assertEqual(result.returncode, 0)
        source = self.report()["sources"][0]
        self.assertGreater(source["expected"], 900)
        self.assertLess(source["expected"], 1300)

    def test_files__only_grow(self):
        self.start([self.copy("work-on"), "300000"])
        child = self.start_system()
        before = {}
        for _ in range(4):
            inode = (self.folder / FILE).stat().st_ino
            rows = {(row["image"], row["address"], row["process"]): row["hits"]
                    for row in self.report("--by", "address")["rows"]}
            for key, hits in before.items():
                self.assertGreaterEqual(rows.get(key, 0), hits, key)
            before = rows
            wait_for(lambda: (self.folder / FILE).stat().st_ino != inode, "a new file")
        self.end(child)

    def test_many_processes__all_are_there_and_it_begins_and_ends(self):
        sleepers = self.start(["sh", "-c", "for i in $(seq 500); do sleep 300 & done; echo; wait"],
                              preexec_fn=os.setsid)
        self.addCleanup(os.killpg, sleepers.pid, signal.SIGKILL)
        sleepers.stdout.readline()
        result = self.ntprof("system", "--duration", "500ms")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertIn("ntprof: perf", text(result.stderr))
        self.report()

    def test_more_names_than_are_told_apart__the_rest_is_other(self):
        child = self.start_system("-F", "5k")
        path = self.copy("work-0")
        for number in range(1, 300):
            path = path.rename(self.folder / f"work-{number}")
            self.run_bare([path, "3"])
        self.end(child)
        names = {row["process"] for row in self.report("--by", "process")["rows"]}
        self.assertIn("[other]", names)
        self.assertLessEqual(len(names), 257)

    def test_mistakes__are_named(self):
        for words, wanted in ((["--kernel", "--user"], "--kernel and --user"), (["-p", "1"], "-p"),
                              (["1"], "'1'"), (["--duration", "0s"], "--duration"),
                              (["-e", "no-such-source"], "no-such-source"),
                              (["-o", "missing/x"], "missing/x")):
            with self.subTest(words):
                result = self.ntprof("system", *words)
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertTrue(said.startswith("ntprof: system: "), said)
                self.assertIn(wanted, said)
                self.assert_nothing_left()


class Refused(CommandTest):
    user = harness.USER if harness.is_root() else None

    def test_ordinary_user__what_would_allow_it_is_said(self):
        result = self.ntprof("system", "--duration", "100ms")
        said = text(result.stderr)
        if result.returncode == 0:  # where perf_event_paranoid is 0 or less
            self.assertIn("ntprof: perf", said)
            return
        self.assertEqual(result.returncode, 125, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertIn("perf_event_paranoid", said)
        self.assertIn("CAP_PERFMON", said)
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
