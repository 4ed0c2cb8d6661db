#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Time namespaces, as of containers that CRIU restored: their clocks are ahead of the kernel's, or behind.

The kernel gives its own time to hits. What is counted must not depend on whose clock is read."""
import json
import os
import pathlib
import shutil
import signal
import subprocess

import harness
from harness import CommandTest, for_each_user, text, wait_for

FILE = "ntprof.pb.gz"
FAULTS = 3000
# Seconds; the last is behind, which the kernel allows as far as no clock gets below 0.
OFFSETS = (1, 100000, -20)


def namespace(monotonic, boottime, user=False):
    """The words in front of a command that put it into a time namespace."""
    return ["unshare", *(["--user", "--map-root-user"] if user else []), "--time", "--fork", "--kill-child",
            "--monotonic", str(monotonic), "--boottime", str(boottime)]


class TimeNamespace(CommandTest):
    def within(self, offset, boottime=None):
        words = namespace(offset, offset if boottime is None else boottime, self.is_user())
        if self.run_bare([*words, "true"]).returncode != 0:
            self.skipTest(f"no time namespace can be made here, or not one that is {offset} s off")
        return words

    def hits_in(self, function, report):
        return sum(row["hits"] for row in report["rows"] if row["function"] == function)

    def assert_faults(self, report):
        self.assert_statistics(report)
        self.assertEqual(self.hits_in("touch", report), FAULTS)


@for_each_user
class Run(TimeNamespace):
    def report(self, words, *arguments):
        path = self.folder / "report.json"
        result = self.run_bare([*words, *self.arguments("run", "--json", "--rows", "0", "--report", path, *arguments)])
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return json.loads(path.read_text()), text(result.stderr)

    def test_page_faults__each_is_counted(self):
        command = ["-e", "page-faults", "-c", "1", "--", harness.program("page_faults"), FAULTS]
        self.assert_faults(self.report([], *command)[0])
        for offset in OFFSETS:
            with self.subTest(offset):
                self.assert_faults(self.report(self.within(offset), *command)[0])

    def test_clocks_with_different_offsets__each_is_counted(self):
        command = ["-e", "page-faults", "-c", "1", "--", harness.program("page_faults"), FAULTS]
        self.assert_faults(self.report(self.within(500, 7), *command)[0])

    def test_clock__has_hits(self):
        for offset in OFFSETS:
            with self.subTest(offset):
                report, said = self.report(self.within(offset), "--", harness.program("shares"), "300")
                self.assert_statistics(report)
                hits = self.hits_in("right_three_units", report) + self.hits_in("right_one_unit", report)
                self.assertGreater(hits, 0, said)
                self.assert_has_time(report, hits, 0.3)

    def test_command_in_a_namespace_that_it_makes__each_is_counted(self):
        words = self.within(1000)
        self.assert_faults(self.report([], "-e", "page-faults", "-c", "1", "--", *words,
                                       harness.program("page_faults"), FAULTS)[0])

    def test_children_in_another_namespace__own_offset_is_used_or_refused(self):
        """/proc shows the offset that children will have, and nothing of the caller's own."""
        first = os.stat("/proc/self/ns/time").st_ino
        for outer in ([], self.within(1000)):
            with self.subTest(outer):
                told = self.run_bare([*outer, "python3", "-S", "-c", (
                    "import ctypes, os, sys; c = ctypes.CDLL(None); assert c.unshare(0x80) == 0;"
                    "open('/proc/self/timens_offsets', 'w').write('monotonic 77 0');"
                    "lib = ctypes.CDLL(sys.argv[1]); s = ctypes.c_void_p();"
                    "status = lib.ntprof_session_open(None, ctypes.byref(s)) & 0xffffffff;"
                    "lib.ntprof_session_error.restype = ctypes.c_char_p;"
                    "print(os.stat('/proc/self/ns/time').st_ino, hex(status),"
                    "      lib.ntprof_session_error(None).decode())"),
                    str(harness.stage() / "src" / "libntprof.so.0")])
                if told.returncode != 0:
                    self.skipTest("no second time namespace can be made here: " + text(told.stderr))
                inode, status, why = text(told.stdout).split(" ", 2)
                if int(inode) == first:
                    self.assertEqual(status, "0x0", why)
                else:
                    self.assertNotEqual(status, "0x0")
                    self.assertIn("time namespace", why)
                    self.assertIn("/proc", why)

    def test_doctor__says_the_offset(self):
        said = {offset: text(self.run_bare([*self.within(offset), *self.arguments("doctor")]).stdout)
                for offset in OFFSETS}
        self.assertRegex(said[100000], r"time namespace +of its own +.*100000.*ahead")
        self.assertRegex(said[-20], r"time namespace +of its own +.*20.*behind")
        self.assertRegex(text(self.ntprof("doctor").stdout), "time namespace +the first")


class Others(TimeNamespace):
    """Processes in other namespaces than the profiler's, and the whole machine."""

    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may profile all processes")
        super().setUp()
        self.folder.chmod(0o755)

    def worker(self, words):
        """A process that touches pages at a word, in the namespace of those words; and its pid."""
        child = self.start([*words, harness.program("page_faults"), str(FAULTS), "wait"], stdin=subprocess.PIPE)
        if not words:
            return child, child.pid
        return child, wait_for(lambda: next(iter(harness.children_of(child.pid)), None), "the program")

    def attach(self, words, pid, child):
        recorder = self.start([*words, *self.arguments("attach", "-p", pid, "-e", "page-faults", "-c", "1",
                                                       "--every", "100ms")])
        wait_for(lambda: (self.folder / FILE).exists() or recorder.poll() is not None, "the first file")
        child.communicate(b"x", timeout=harness.TIME_LIMIT_S)
        said = text(recorder.communicate(timeout=harness.TIME_LIMIT_S)[1])
        self.assertEqual(recorder.returncode, 0, said)
        result = self.ntprof("report", "--json", "--rows", "0", FILE)
        (self.folder / FILE).unlink()
        return json.loads(result.stdout)

    def test_attach__whoever_is_in_a_namespace(self):
        for offset in OFFSETS:
            for ours, theirs in (([], self.within(offset)), (self.within(offset), []),
                                 (self.within(offset), self.within(300))):
                with self.subTest(ours=ours, theirs=theirs):
                    child, pid = self.worker(theirs)
                    exe = pathlib.Path(f"/proc/{pid}/exe")
                    wait_for(lambda: os.readlink(exe).endswith("page_faults"), "the program")
                    self.assert_faults(self.attach(ours, pid, child))

    def test_system__all_processes_are_counted(self):
        for offset in OFFSETS:
            with self.subTest(offset):
                recorder = self.start([*self.within(offset), *self.arguments("system", "-e", "page-faults", "-c", "1",
                                                                             "--user", "--every", "100ms")])
                wait_for(lambda: (self.folder / FILE).exists() or recorder.poll() is not None, "the first file")
                self.run_bare([harness.program("page_faults"), str(FAULTS)])
                for pid in harness.children_of(recorder.pid):
                    os.kill(pid, signal.SIGINT)
                said = text(recorder.communicate(timeout=harness.TIME_LIMIT_S)[1])
                self.assertEqual(recorder.returncode, 0, said)
                result = self.ntprof("report", "--json", "--rows", "0", FILE)
                (self.folder / FILE).unlink()
                self.assert_faults(json.loads(result.stdout))

    def test_agent__its_windows_have_hits(self):
        path = self.folder / "work-agent"
        shutil.copy(harness.program("shares"), path)
        self.start([path, "300000"])
        spool = self.folder / "spool"
        agent = self.start([*self.within(-20), *self.arguments("agent", "--window", "1s", "--max-cpu", "100%",
                                                               "--spool", spool)])

        def all_hits():
            """Of the program in each window of the agent."""
            for window in sorted(spool.glob("*.pb.gz")):
                told = self.ntprof("report", "--json", "--rows", "0", "--by", "process", window)
                yield sum(row["hits"] for row in json.loads(told.stdout)["rows"] if row["process"] == "work-agent")

        wait_for(lambda: any(hits for hits in all_hits()), "a window with hits")
        for pid in harness.children_of(agent.pid):
            os.kill(pid, signal.SIGTERM)
        said = text(agent.communicate(timeout=harness.TIME_LIMIT_S)[1])
        self.assertEqual(agent.returncode, 0, said)
        self.assertGreater(sum(all_hits()), 0)


if __name__ == "__main__":
    harness.main()
