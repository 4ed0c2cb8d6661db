#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--control, SIGUSR2, --delay and --duration: what changes a recording while it runs."""
import json
import os
import re
import signal
import subprocess
import time

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, text, wait_for

FILE = "ntprof.pb.gz"

# Works until its standard input ends; a line on it is answered after a tenth of a second of work.
WORK_S = 0.1  # of processor time
WORKER = ["/usr/bin/python3", "-S", "-c", f"""
import os, select, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(1000))
os.write(1, b'ready\\n')
while True:
    while not select.select([0], [], [], 0)[0]: work(0.001)
    got = os.read(0, 1)
    if not got: break
    work({WORK_S})
    os.write(1, b'worked\\n')
"""]


class Control(CommandTest):
    def setUp(self):
        super().setUp()
        self.fifo = self.folder / "ctl"
        os.mkfifo(self.fifo, 0o600)
        if self.user is not None:
            os.chown(self.fifo, self.user, self.user)
        self.errors = self.folder / "errors"

    def start_worker(self, *options, command="run"):
        with open(self.errors, "wb") as stream:
            child = self.start(self.arguments(command, *options, "--", *WORKER), stdin=subprocess.PIPE,
                               stderr=stream)
        self.assertEqual(child.stdout.readline(), b"ready\n", self.errors.read_text())
        return child

    def work(self, child):
        child.stdin.write(b".")
        child.stdin.flush()
        self.assertEqual(child.stdout.readline(), b"worked\n")

    def end(self, child):
        child.stdin.close()
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0, self.errors.read_text())
        return self.errors.read_text()

    def say(self, line, answer):
        """Writes a line and waits for its answer."""
        before = len(self.errors.read_text())
        with open(self.fifo, "wb", buffering=0) as fifo:
            fifo.write(line)
        wait_for(lambda: answer in self.errors.read_text()[before:], answer)

    def report(self, path=FILE):
        result = self.ntprof("report", "--json", "--rows", "0", "--by", "address", path)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_statistics(report)
        source, = report["sources"]
        self.assertEqual(sum(row["hits"] for row in report["rows"]), source["taken"])
        return report

    def counted(self, report):
        return report["sources"][0]["counted"]


@for_each_user
class Refused(Control):
    def test_no_fifo_of_this_user__refused_before_the_command_starts(self):
        (self.folder / "file").touch()
        for name, wanted in (("none", "mkfifo"), ("file", "not a FIFO"), ("/dev/null", "not a FIFO"),
                             (".", "not a FIFO"), ("ctl/x", "Not a directory")):
            with self.subTest(name):
                result = self.profile("--control", name, "--", "touch", "started")
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertIn("--control", said)
                self.assertIn(wanted, said)
                self.assert_nothing_left("ctl", "file")

    def test_fifo_of_another_user__refused(self):
        if not harness.is_root():
            self.skipTest("root must give the FIFO to another user")
        os.chown(self.fifo, harness.USER - 1, harness.USER - 1)
        os.chmod(self.fifo, 0o666)
        result = self.profile("--control", "ctl", "--", "touch", "started")
        self.assertEqual(result.returncode, 125)
        self.assertIn("another user's", text(result.stderr))
        self.assert_nothing_left("ctl")

    def test_times__bad_ones_refused(self):
        for option in ("--delay", "--duration"):
            for value in ("0", "0s", "-1", "soon", "", "1x", "9" * 50):
                with self.subTest((option, value)):
                    result = self.profile(option, value, "--", "touch", "started")
                    said = text(result.stderr)
                    self.assertEqual(result.returncode, 125, said)
                    self.assertIn(option, said)
                    self.assert_nothing_left("ctl")


@for_each_user_if_long
class Lines(Control):
    def test_hostile_lines__reported_and_the_run_goes_on(self):
        child = self.start_worker("--control", "ctl")
        for line, wanted in ((b"halt\n", "--control: halt: no such line"), (b"START\n", "START: no such line"),
                             (b"start now\n", "start now: no such line"), (b" stop\n", "no such line"),
                             (b"\x1b[2J\xff\n", "\\x1b[2J\\xff: no such line"), (b"st\0op\n", "byte of 0"),
                             (b"x" * 129 + b"\n", "more than 128 bytes"), (b"y" * 5000 + b"\n", "more than 128"),
                             (b"x" * 128 + b"\n", "no such line"), (b"interval\n", "no such line"),
                             (b"interval 0s\n", "100ns or more"), (b"interval often\n", "100ns or more"),
                             (b"interval 99ns\n", "100ns or more")):
            with self.subTest(line):
                self.say(line, wanted)
        self.say(b"\n\n\nstart\n", "start: counting already")
        said = self.end(child)
        self.assertRegex(said, harness.SUMMARY)
        self.assertNotIn("counted for", said)
        self.report()

    def test_several_writers_that_come_and_go__each_line_is_obeyed(self):
        child = self.start_worker("--control", "ctl")
        with open(self.fifo, "wb", buffering=0) as one, open(self.fifo, "wb", buffering=0) as other:
            one.write(b"stop\n")
            other.write(b"stop\n")
            one.write(b"start\nstop\nstart\n")
        wait_for(lambda: self.errors.read_text().count("start: counting\n") == 2, "two starts")
        self.say(b"sto", "")
        self.say(b"p\n", "stop: counted for")
        said = self.end(child)
        self.assertEqual(said.count("stop: counted for"), 3)
        self.assertEqual(said.count("stop: not counting already"), 1)

    def test_stop__nothing_counts_until_start(self):
        child = self.start_worker("--control", "ctl", "-F", "5k")
        self.work(child)
        self.say(b"stop\n", "stop: counted for")
        self.say(b"snapshot\n", "snapshot: profile of")
        before = self.report()
        self.assert_counts_time(before, WORK_S)
        for _ in range(3):
            self.work(child)
        self.say(b"snapshot\n", "snapshot: profile of")
        after = self.report()
        self.assertEqual(after["sources"][0]["taken"], before["sources"][0]["taken"])
        self.assertEqual(after["rows"], before["rows"])
        self.assertEqual(after["duration_ns"], before["duration_ns"])
        self.assertIn("counted for", after["gaps"])
        self.say(b"start\n", "start: counting")
        self.work(child)
        said = self.end(child)
        last = self.report()
        self.assertGreater(self.counted(last), self.counted(before))
        self.assert_counts_time(last, 2 * WORK_S, 0.7)
        self.assertGreater(last["duration_ns"], before["duration_ns"])
        self.assertRegex(last["gaps"], r"counted for [0-9.]+ of [0-9.]+ s")
        self.assertIn("warning: counted for", said)
        self.assert_nothing_left(FILE, "ctl", "errors")

    def test_interval__granted_one_is_answered_and_counts(self):
        child = self.start_worker("--control", "ctl", "-F", "100")
        self.say(b"interval 250us\n", "interval: 250.0 us, 4000 Hz")
        self.work(child)
        said = self.end(child)
        report = self.report()
        self.assertEqual(report["sources"][0]["granted"], 2500)
        self.assert_counts_time(report, WORK_S)
        self.assertIn("the interval changed 1 time:", said)

    def test_interval_without_time__refused(self):
        child = self.start_worker("--control", "ctl", "-e", "page-faults")
        self.say(b"interval 1ms\n", "source time is not recorded")
        self.end(child)

    def test_quiet__only_errors(self):
        child = self.start_worker("-q", "--control", "ctl")
        self.say(b"stop\nstart\nsnapshot\nfoo\n", "foo: no such line")
        self.assertEqual(len(self.end(child).splitlines()), 1)

    def test_fifo_removed__the_run_goes_on(self):
        child = self.start_worker("--control", "ctl")
        self.fifo.unlink()
        self.end(child)
        self.report()


@for_each_user_if_long
class Snapshots(Control):
    def test_sigusr2__whole_file_and_not_for_the_command(self):
        child = self.start_worker("-F", "5k")
        for count in range(1, 4):
            self.work(child)
            child.send_signal(signal.SIGUSR2)
            wait_for(lambda: self.errors.read_text().count("SIGUSR2: profile of") == count, "a snapshot")
            report = self.report()
            self.assert_counts_time(report, WORK_S * count)
            self.assertIn("the recording ran", report["gaps"])
        self.work(child)  # the signal would have killed it
        self.end(child)
        self.assertNotIn("the recording ran", self.report()["gaps"])
        self.assert_nothing_left(FILE, "ctl", "errors")

    def test_sigusr2_that_was_ignored__stays_so(self):
        with open(self.errors, "wb") as stream:
            child = self.start(self.arguments("run", "--", *WORKER), stdin=subprocess.PIPE, stderr=stream,
                               preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN))
        self.assertEqual(child.stdout.readline(), b"ready\n")
        child.send_signal(signal.SIGUSR2)
        command, = harness.commands_of(child.pid)
        os.kill(command, signal.SIGUSR2)
        self.work(child)
        self.assertNotIn("SIGUSR2", self.end(child))

    def test_file_that_cannot_be_rewritten__said_and_the_run_goes_on(self):
        child = self.start_worker("-o", "/dev/null", "--control", "ctl")
        child.send_signal(signal.SIGUSR2)
        wait_for(lambda: "SIGUSR2: no snapshot" in self.errors.read_text(), "the error")
        self.say(b"snapshot\n", "snapshot: no snapshot")
        self.end(child)

    def test_attach__sigusr2_does_not_end_it(self):
        worker = self.start(WORKER, stdin=subprocess.PIPE)
        self.assertEqual(worker.stdout.readline(), b"ready\n")
        with open(self.errors, "wb") as stream:
            child = self.start(self.arguments("attach", "--every", "100ms", "--control", "ctl", worker.pid),
                               stderr=stream)
        wait_for((self.folder / FILE).exists, "the first file")
        child.send_signal(signal.SIGUSR2)
        wait_for(lambda: "SIGUSR2: profile of" in self.errors.read_text(), "a snapshot")
        self.say(b"stop\n", "stop: counted for")
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0)
        self.assertIn("counted for", self.report()["gaps"])


@for_each_user_if_long
class Times(Control):
    def test_delay__longer_than_the_command__no_hits(self):
        child = self.start_worker("--delay", "1h")
        self.work(child)
        said = self.end(child)
        report = self.report()
        self.assertEqual(report["sources"][0]["expected"], 0)
        self.assertEqual(report["rows"], [])
        self.assertIn("counted for 0.000 of", said)

    def test_delay__start_comes_before_it(self):
        child = self.start_worker("--delay", "1h", "--control", "ctl", "-F", "5k")
        self.work(child)
        self.say(b"start\n", "start: counting")
        self.work(child)
        self.end(child)
        self.assert_counts_time(self.report(), WORK_S)

    def test_delay__stop_before_its_end__never_starts(self):
        for delay_s in (0.3, 3, 30):
            began = time.monotonic()
            child = self.start_worker("--delay", f"{delay_s}s", "--control", "ctl")
            self.say(b"stop\n", "stop: ")
            if "--delay will not start it" in self.errors.read_text():
                break
            self.assertGreater(time.monotonic() - began, delay_s)
            self.end(child)  # it had started before the line was read
        else:
            self.fail("no line is obeyed before the end of --delay")
        time.sleep(max(0, began + delay_s - time.monotonic()))
        self.work(child)
        self.end(child)
        self.assertEqual(self.report()["sources"][0]["expected"], 0)

    def test_duration__start_after_a_stop_does_not_cancel_it(self):
        for duration_s in (1, 10, 60):
            child = self.start_worker("--duration", f"{duration_s}s", "--control", "ctl")
            self.say(b"stop\n", "stop: ")
            self.say(b"start\n", "start: counting")
            over = "--duration: profile of" in self.errors.read_text()
            wait_for(lambda: "--duration: profile of" in self.errors.read_text(), "the end of the time")
            self.end(child)
            if not over:
                break
        self.assertFalse(over, "no line is obeyed before the end of --duration")

    def test_delay_and_duration__a_part_is_counted_and_the_command_runs_on(self):
        for duration_s in (0.3, 3, 30):
            child = self.start_worker("--delay", "0.2", "--duration", f"{duration_s}s", "-F", "5k")
            wait_for(lambda: "--duration: profile of" in self.errors.read_text(), "the end of the time")
            first = self.report()
            if self.counted(first) > 0:
                break
            self.end(child)  # it got no processor meanwhile
        self.assertGreater(self.counted(first), 0)
        self.work(child)
        said = self.end(child)
        last = self.report()
        self.assertEqual(last["rows"], first["rows"])
        counted, whole = map(float, re.search(r"counted for ([0-9.]+) of ([0-9.]+) s", said).groups())
        self.assertGreaterEqual(counted, duration_s)
        self.assertGreaterEqual(whole, counted + 0.2)


if __name__ == "__main__":
    harness.main()
