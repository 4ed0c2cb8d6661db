#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof where a file system stops answering, in calls that no signal ends: it costs names, and nothing else."""
import http.client
import os
import pathlib
import re
import shlex
import signal
import subprocess

import harness
from command_agent import AgentTest
from harness import free_port, text, wait_for

JITTER = """#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>

static void loop(void) { for (;;) { __asm__ volatile(""); } }

int main(int argc, char **argv)
{
    char *code;

    if (argc != 2 || unshare(CLONE_NEWNS) != 0 || mount(0, "/", 0, MS_REC | MS_PRIVATE, 0) != 0 ||
        mount(argv[1], "/tmp", 0, MS_BIND, 0) != 0) {
        return 1;
    }
    code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, (void *)loop, 64);
    __builtin___clear_cache(code, code + 64);
    ((void (*)(void))code)();
}
"""


def runs(pid):
    """Has the process used some ticks of processor time?"""
    return harness.processor_ticks(pid)[0] > 5


class HangingTest(AgentTest):
    """A file system that stops answering, as NFS and FUSE do, costs names and nothing else."""

    def setUp(self):
        if "ASAN_OPTIONS" in os.environ:
            self.skipTest("at the end AddressSanitizer waits for threads, also for those in calls that hang")
        super().setUp()
        self.mount = self.folder / "mount"
        self.mount.mkdir()
        program = self.folder / "spin"
        (self.folder / "spin.c").write_text("int main(void) { for (volatile unsigned long n = 0;; n++) { } }\n")
        built = self.run_bare(["gcc", "-O1", "-static", "-o", program, "spin.c"])
        self.assertEqual(built.returncode, 0, text(built.stderr))
        script = pathlib.Path(__file__).with_name("hanging_files.py")
        self.server = self.start(["/usr/bin/python3", script, program, self.mount], stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.ismount(self.mount) or self.server.poll() is not None, "the file system")
        if self.server.poll() is not None:
            self.skipTest("no file system of FUSE can be mounted here, or there is no fusepy")
        self.addCleanup(self.run_bare, ["umount", "-l", self.mount])
        self.addCleanup(self.server.kill)

    def start_programs(self, count=3):
        programs = [self.start([self.mount / f"hanging{number}"]) for number in range(count)]
        wait_for(lambda: all(runs(program.pid) for program in programs), "programs that run")
        return programs

    def stop_server(self, what="hang"):
        pathlib.Path(f"{self.mount}.{what}").touch()

    def read_system(self, *words):
        path = self.folder / "out.pb.gz"
        result = self.ntprof(*words, "-F", "100", "-o", path)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return self.read(path), text(result.stderr)


class Hanging(HangingTest):
    def test_mapped_files__windows_go_on_and_signals_end_the_agent(self):
        self.start_programs()
        self.stop_server()
        port = free_port()
        child = self.start_agent("--listen", str(port))
        self.wait_windows(3)
        hits = sum(self.hits_of(self.read(path), "hanging0") for path in self.windows())
        self.assertGreater(hits, 0)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.TIME_LIMIT_S)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        self.assertRegex(answer.read(), rb"^ok\nthe last window ended \d+\.\d s ago\n$")
        connection.close()
        self.end(child)
        self.assertRegex(self.said(), r"cannot read the symbol names of \S*/hanging\d: its file system does not answer")

    def test_store_on_it__windows_stay_in_the_spool(self):
        self.stop_server()
        child = self.start_agent("--store", f"sqlite:{self.mount}/hanging")
        count = len(self.wait_windows(2))
        self.end(child)
        self.assertGreaterEqual(len(self.windows()), count)
        self.assertIn("--store: it does not answer; windows wait in the spool", self.said())

    def test_killed__a_process_keeps_its_spool_until_the_call_ends(self):
        """Nothing ends the call, and what is in it never runs again: then all of the agent is gone."""
        self.stop_server()
        child = self.start_agent("--store", f"sqlite:{self.mount}/hanging")
        count = len(self.wait_windows(2))
        children = harness.children_of(child.pid)
        child.kill()
        child.wait()
        self.assertTrue(any(harness.is_alive(pid) for pid in children), children)
        self.assertEqual(self.start_agent(wait=False).wait(harness.TIME_LIMIT_S), 125)
        self.assertIn("keeps its spool until the file system answers", self.said())
        pathlib.Path(f"{self.mount}.hang").unlink()
        wait_for(lambda: not any(harness.is_alive(pid) for pid in children), "the end of the call")
        child = self.start_agent()
        self.wait_windows(count + 1)
        self.end(child)

    def test_system__ends_and_names_what_it_left_out(self):
        self.start_programs()
        self.stop_server()
        profile, said = self.read_system("system", "--duration", "2s")
        self.assertGreater(self.hits_of(profile, "hanging0"), 0)
        self.assertRegex(said, r"cannot read the symbol names of \S*/hanging\d: its file system does not answer")


class HangingLong(HangingTest):
    """In make check-long: the same of other files, and of other commands."""

    def test_reads_of_many_files__cost_a_window_two_waits(self):
        """Files that can be opened: each is read by a process that hangs, and is waited for."""
        self.start_programs(6)
        self.stop_server("hang-reads")
        child = self.start_agent()
        self.wait_windows(2)
        self.end(child)
        hung = re.findall(r"failed: it does not answer|cannot read the symbol names of \S*/hanging\d", self.said())
        self.assertGreaterEqual(len(hung), 2, self.said())

    def start_jitter(self):
        """A process that runs code without a file and has the file system as its /tmp."""
        path = self.folder / "jitter"
        if not path.exists():
            (self.folder / "jitter.c").write_text(JITTER)
            built = self.run_bare(["gcc", "-O1", "-static", "-o", path, "jitter.c"])
            self.assertEqual(built.returncode, 0, text(built.stderr))
        child = self.start([path, self.mount])
        wait_for(lambda: runs(child.pid) or child.poll() is not None, "a program that runs")
        if child.poll() is not None:
            self.skipTest("no mount namespaces here")

    def assert_jitter_counted(self, paths):
        self.assertGreater(sum(self.hits_of(self.read(path), "jitter") for path in paths), 0)

    def test_perf_maps__windows_go_on_and_signals_end_the_agent(self):
        for _ in range(2):
            self.start_jitter()
        self.stop_server()
        child = self.start_agent()
        self.assert_jitter_counted(self.wait_windows(3))
        self.end(child)

    def test_perf_map_that_was_found_before__signals_end_the_agent(self):
        self.start_jitter()
        child = self.start_agent()
        before = self.wait_windows(2)
        self.stop_server()
        self.wait_windows(len(before) + 3)
        self.end(child)
        self.assert_jitter_counted(self.windows()[len(before) + 1:])

    def test_attach__ends_and_names_what_it_left_out(self):
        program = self.start_programs(1)[0]
        self.stop_server()
        profile, said = self.read_system("attach", "-p", str(program.pid), "--duration", "2s")
        self.assertGreater(self.hits_of(profile, "hanging0"), 0)
        self.assertRegex(said, r"cannot read the symbol names of \S*/hanging0: its file system does not answer")

    def test_top__ends(self):
        self.start_programs(1)
        self.stop_server()
        result = self.run_bare(["script", "-qec", shlex.join(self.arguments("top", "-d", "500ms", "--duration", "2s")),
                                "/dev/null"], env=dict(os.environ, TERM="xterm"))
        self.assertEqual(result.returncode, 0, text(result.stderr))

    def test_command_on_it__a_signal_ends_its_profile(self):
        child = self.start_profile("-F", "100", "-o", self.folder / "out.pb.gz", "--", self.mount / "hanging0")
        wait_for(lambda: any(runs(pid) for pid in harness.commands_of(child.pid)), "a program that runs")
        self.stop_server()
        child.send_signal(signal.SIGTERM)
        said = text(child.communicate(timeout=harness.TIME_LIMIT_S)[1])  # so its streams have ended, too
        self.assertEqual(child.returncode, -signal.SIGTERM, said)
        self.assertGreater(self.hits_of(self.read(self.folder / "out.pb.gz"), "hanging0"), 0)


if __name__ == "__main__":
    harness.main()
