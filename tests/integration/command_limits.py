#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Limits and settings that get in the way of a recording: before it begins, and while it goes on.

Each ends well or with a line that says what refused; the statistics stay true, and what was profiled is unharmed.
Settings of the machine are changed for moments only, while no other test runs, and put back.
"""
import errno
import json
import os
import pathlib
import re
import resource
import signal

import breakpoint_registers
import harness
from harness import CommandTest, for_each_user, is_alive, text, wait_for

FILE = "ntprof.pb.gz"
SETTINGS = pathlib.Path("/proc/sys/kernel")


class Limited(CommandTest):
    def start_worker(self):
        worker = self.start([harness.program("shares"), "300000"])
        wait_for(lambda: os.readlink(f"/proc/{worker.pid}/exe").endswith("/shares"), "the program")
        return worker

    def report(self):
        result = self.ntprof("report", "--json", "--rows", "0", FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_statistics(report)
        self.assertEqual(sum(row["hits"] for row in report["rows"]), report["sources"][0]["taken"])
        return report

    def start_recording(self, *words, **given):
        """One that has written its file once."""
        child = self.start(self.arguments(*words, "--every", "100ms"), **given)
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        return child

    def next_file(self):
        for _ in range(2):
            inode = (self.folder / FILE).stat().st_ino
            wait_for(lambda: (self.folder / FILE).stat().st_ino != inode, "a new file")

    def end(self, child):
        said = self.interrupt(child)
        (self.folder / FILE).rename(self.folder / "last")
        (self.folder / "last").rename(self.folder / FILE)
        report = self.report()
        (self.folder / FILE).unlink()
        return said, report

    def assert_ends(self, result, wanted):
        """Well, or with a line that says why; not by a signal, and not in silence."""
        said = text(result.stderr)
        self.assertIn(result.returncode, (0, 125), said)
        if result.returncode == 125:
            lines = said.splitlines()
            self.assertRegex(lines[-1], wanted)
            if " rows in all" not in said:  # it is the file alone that could not be
                notes = re.compile("no lines from|addresses are shown instead")  # one an image
                self.assertLessEqual(sum(not notes.search(line) for line in lines), 3, said)
        else:
            self.report()


@for_each_user
class Before(Limited):
    """What is short from the beginning."""

    def watching(self, worker):
        """The commands that watch what runs already."""
        commands = [["attach", "-p", worker.pid, "--duration", "100ms"]]
        return commands if self.is_user() else [*commands, ["system", "--duration", "100ms"]]

    def assert_under(self, limit, values, wanted):
        worker = self.start_worker()
        for words in self.watching(worker):
            for value in values:
                with self.subTest((words[0], value)):
                    result = self.ntprof(*words, env=harness.without_leak_check(harness.bare_environment()),
                                         preexec_fn=lambda: resource.setrlimit(limit, (value, value)))
                    self.assert_ends(result, wanted)
        self.assertTrue(is_alive(worker.pid))

    def test_few_descriptors__said(self):
        self.assert_under(resource.RLIMIT_NOFILE, (4, 8, 12, 16, 24, 48), "descriptors|open files")

    def test_little_locked_memory__said(self):
        self.assert_under(resource.RLIMIT_MEMLOCK, (0, 65536), "RLIMIT_MEMLOCK")

    def test_little_address_space__said(self):
        if "ASAN_OPTIONS" in os.environ:
            return  # which needs a lot of it
        self.assert_under(resource.RLIMIT_AS, [size << 20 for size in (24, 48, 100, 400)],
                          "memory|shared librar|descriptors")

    def take_register(self, pid, held):
        """One more, for every processor. False: all are taken, by us or others."""
        try:
            held.append(breakpoint_registers.open_breakpoint(pid, -1))
        except OSError as error:
            self.assertEqual(error.errno, errno.ENOSPC)
            return False
        return True

    def test_all_breakpoint_registers_taken__said(self):
        self.need_breakpoints()
        worker = self.start_worker()
        held = []
        self.addCleanup(lambda: [os.close(one) for one in held])
        while self.take_register(worker.pid, held):
            pass
        result = self.ntprof("attach", "-p", worker.pid, "-e", "breakpoint:0x10000", "-c", "1",
                             "--duration", "100ms")
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertIn("breakpoint registers are taken", said)
        while held:
            os.close(held.pop())
        wait_for(lambda: self.ntprof("attach", "-p", worker.pid, "-e", "breakpoint:0x10000", "-c", "1",
                                     "--duration", "100ms").returncode == 0, "a free register")

    def test_more_breakpoints_than_registers__said_before_the_command_starts(self):
        self.need_breakpoints()
        sources = ",".join(f"breakpoint:{0x10000 + 16 * i:#x}"
                           for i in range(breakpoint_registers.BREAKPOINTS + 1))
        result = self.profile("-e", sources, "-c", "1", "--", "touch", "started")
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertIn("breakpoint registers are taken", said)
        self.assert_nothing_left()


class Memory(Limited):
    """A control group with little memory: the kernel refuses what the group cannot have, or ends what asks."""

    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may make control groups")
        super().setUp()
        self.group = None
        for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
            _, mount, kind, options = line.split()[:4]
            names = {"cgroup": "memory.limit_in_bytes", "cgroup2": "memory.max"}
            if kind in names and (kind == "cgroup2" or "memory" in options.split(",")):
                group = pathlib.Path(mount) / f"ntprof-limits-{os.getpid()}"
                group.mkdir()
                if (group / names[kind]).exists():
                    self.group, self.limit = group, names[kind]
                    self.addCleanup(self.remove)
                    break
                group.rmdir()
        if self.group is None:
            self.skipTest("no control groups that limit memory")

    def remove(self):
        wait_for(lambda: not (self.group / "cgroup.procs").read_text().strip(), "its processes' end")
        wait_for(self.try_remove, "the group's end")

    def try_remove(self):
        try:
            self.group.rmdir()
        except OSError:
            return False
        return True

    def test_little_memory__said_or_the_last_file_is_whole(self):
        if "ASAN_OPTIONS" in os.environ:
            return  # which needs a lot of it
        worker = self.start_worker()
        ended = set()
        for megabytes in (1, 4, 12, 24, 256):
            with self.subTest(megabytes):
                (self.group / self.limit).write_text(str(megabytes << 20))
                result = self.ntprof(
                    "system", "--duration", "400ms", "--every", "100ms",
                    preexec_fn=lambda: (self.group / "cgroup.procs").write_text(str(os.getpid())))
                ended.add(result.returncode)
                if result.returncode == -signal.SIGKILL:
                    if (self.folder / FILE).exists():
                        self.assert_profile_file(self.folder / FILE)
                else:
                    self.assert_ends(result, "memory")
                (self.folder / FILE).unlink(missing_ok=True)
        self.assertIn(0, ended)  # there is an amount that does
        self.assertTrue(is_alive(worker.pid))


class Settings(Limited):
    """The machine's settings change while it goes on, so it runs alone: meson.build tells it by its name."""

    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may change settings")
        super().setUp()

    def change(self, name, value):
        """Sets it until the test ends."""
        before = {path: path.read_text() for path in
                  (SETTINGS / name, SETTINGS / "perf_event_max_sample_rate")}
        for path in before:
            self.addCleanup(path.write_text, before[path])
        (SETTINGS / name).write_text(value)

    def recordings(self, worker):
        return [[*words, "-v", "-F", "2k"] for words in (["attach", "-p", str(worker.pid)], ["system"])]

    def test_sample_rate_lowered__throttled_hits_are_told(self):
        worker = self.start_worker()
        for words in self.recordings(worker):
            with self.subTest(words):
                child = self.start_recording(*words)
                self.change("perf_event_max_sample_rate", "100")
                seen = wait_for(lambda: self.report()["sources"][0]["throttled"], "throttled hits")
                self.doCleanups_of_settings()
                said, report = self.end(child)
                self.assertGreaterEqual(report["sources"][0]["throttled"], seen)
                self.assertRegex(said, r"throttled \d+")
        self.assertTrue(is_alive(worker.pid))

    def doCleanups_of_settings(self):
        """Puts back what change() has changed, at once."""
        kept = [cleanup for cleanup in self._cleanups if cleanup[0].__name__ != "write_text"]
        for function, arguments, named in reversed(
                [cleanup for cleanup in self._cleanups if cleanup[0].__name__ == "write_text"]):
            function(*arguments, **named)
        self._cleanups = kept

    def test_paranoid_raised__goes_on_as_it_began(self):
        worker = self.start_worker()
        for words in self.recordings(worker):
            with self.subTest(words):
                child = self.start_recording(*words)
                before = self.report()["sources"][0]["taken"]
                self.change("perf_event_paranoid", "4")
                wait_for(lambda: self.report()["sources"][0]["taken"] > before, "more hits")
                self.doCleanups_of_settings()
                self.end(child)

    def test_processor_time_lowered__statistics_stay_true(self):
        worker = self.start_worker()
        for words in self.recordings(worker):
            with self.subTest(words):
                child = self.start_recording(*words)
                self.change("perf_cpu_time_max_percent", "1")
                self.next_file()
                self.doCleanups_of_settings()
                self.end(child)

    def test_locked_memory_lowered__goes_on(self):
        worker = self.start_worker()
        for words in self.recordings(worker):
            with self.subTest(words):
                child = self.start_recording(*words)
                self.change("perf_event_mlock_kb", "1")
                self.next_file()
                self.doCleanups_of_settings()
                self.end(child)


if __name__ == "__main__":
    harness.main()
