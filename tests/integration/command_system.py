#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof system: all processes, those to come and those that have gone, and the kernel."""
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import time

import command_every
import harness
from harness import CommandTest, text, wait_for

FILE = "ntprof.pb.gz"


class Whole(CommandTest):
    """As root: other users are told why they may not, below."""

    hal = "perf"  # what is taken when none is named

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
        self.assert_statistics(report)
        self.assert_rows(sum(row["hits"] for row in report["rows"]), report["sources"][0])
        return report

    def assert_rows(self, hits, source):
        """Rows and statistics are of one moment."""
        self.assertEqual(hits, source["taken"])

    def hits(self, key, value, *words):
        return sum(row["hits"] for row in self.report(*words)["rows"] if row[key] == value)

    def next_file(self):
        """Waits until all of the file was made after this."""
        for _ in range(2):
            inode = (self.folder / FILE).stat().st_ino
            wait_for(lambda: (self.folder / FILE).stat().st_ino != inode, "a new file")


class System(Whole):
    def test_processes_of_before_and_later__are_all_counted(self):
        before = self.start([self.copy("work-before"), "300000"])
        child = self.start_system()
        later = self.run_bare([self.copy("work-later"), "300"], user=harness.USER)
        self.assertEqual(later.returncode, 0)
        said = self.end(child)
        self.assertIn(f"ntprof: {self.hal}", said)
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
                left_out = sum(row["hits"] for row in rows if row["process"] == "[user mode]")
                others = sum(row["hits"] for row in rows) - kernel - left_out
                if words == ("--user",):
                    self.assertEqual(kernel, 0)
                else:
                    self.assertGreater(kernel, 20)
                if words == ("--kernel",):
                    self.assertEqual(others, 0)
                    self.assertEqual(left_out, self.report()["sources"][0]["outside"])
                    self.assertNotIn("in no row", text(result.stderr))

    def test_one_processor__half_of_what_two_have(self):
        began = time.monotonic()
        result = self.ntprof("system", "--duration", "1s", "-C", "0", "--json")
        took_s = time.monotonic() - began
        self.assertEqual(result.returncode, 0)
        self.assertEqual(text(result.stderr), "")
        self.assertEqual(json.loads(result.stdout)["sources"], self.report()["sources"])
        source = self.report()["sources"][0]
        self.assertGreater(source["expected"], 900)
        # It begins and ends as slowly as it likes, and has no more than that time of the processor.
        self.assertLess(source["expected"], 1010 * took_s)

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
        self.assertIn(f"ntprof: {self.hal}", text(result.stderr))
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
                              (["1"], "1: only options"), (["--duration", "0s"], "--duration"),
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


class Memory(Whole):
    """--max-memory, set so low that it is met."""

    def memory_before_names(self):
        """Bytes of a recording that has named nothing yet: a sanitizer has many of its own."""
        child = self.start_profile("-o", "other.pb.gz", "--", "sh", "-c", "echo; read line",
                                   stdin=subprocess.PIPE)
        child.stdout.readline()
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
        self.tell(child)
        self.end_shell(child)
        return sum(int(line.split()[1]) * 1024 for line in status.splitlines()
                   if line.startswith(("RssAnon:", "RssShmem:")))

    def start_shell(self, command, every="100ms"):
        """A run of few images, all of which are there before memory is measured: that is when names
        have been read, which takes more than what is left until then."""
        # The least of some: on a busy machine one may be measured at a moment of more.
        bound = min(self.memory_before_names() for _ in range(3)) + (256 << 10)
        child = self.start_profile("--every", every, "--max-memory", str(bound), "--", "sh", "-c",
                                   command, stdin=subprocess.PIPE)
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        return child

    def tell(self, child):
        child.stdin.write(b"\n")
        child.stdin.flush()

    def end_shell(self, child):
        said = text(child.communicate(timeout=harness.TIME_LIMIT_S)[1])
        self.assertEqual(child.returncode, 0, said)
        return said

    def test_bound_is_met__what_is_new_is_left_out_and_said(self):
        before, later = self.copy("work-before"), self.copy("work-later")
        child = self.start_shell(f"{before} 300000 & one=$!; read line; {later} 300000 & two=$!; "
                                 "read line; kill $one $two; exit 0")
        wait_for(lambda: self.hits("process", "work-before", "--by", "process") > 20, "hits")
        self.next_file()
        hits = self.hits("process", "work-before", "--by", "process")
        outside = self.report()["sources"][0]["outside"]
        self.tell(child)
        wait_for(lambda: self.report()["sources"][0]["outside"] > outside + 20, "hits outside")
        self.next_file()
        said = self.end_shell(child)
        self.assertRegex(said, r"\d+ mappings? w(as|ere) left out .*--max-memory")
        self.assertEqual(self.hits("process", "work-later", "--by", "process"), 0)
        self.assertGreater(self.hits("process", "work-before", "--by", "process"), hits)

    def test_names_given_up__are_read_again_although_file_and_process_have_gone(self):
        path = self.copy("work-gone")
        child = self.start_shell(f"{path} 300000 & read line; kill $!; exit 0")
        wait_for(lambda: self.hits("process", "work-gone", "--by", "process") > 20, "hits")
        path.unlink()
        self.next_file()
        self.end_shell(child)
        rows = [row for row in self.report("--by", "address")["rows"] if "work-gone" in row["image"]]
        self.assertTrue(rows)
        self.assertIn("right_three_units", {row["function"] for row in rows})

    def test_names_of_a_jit_that_has_ended__given_up_and_said(self):
        (self.folder / "page").write_bytes(command_every.CODE[platform.machine()].ljust(4096, b"\0"))
        maps = []
        self.addCleanup(lambda: [path.unlink(missing_ok=True) for path in maps])
        child = self.start_shell(
            f"{harness.program('page_caller')} 10000000 100000000000 <page & echo $!; read line; "
            "kill -9 $!; wait; read line; exit 0", "1s")
        maps.append(pathlib.Path(f"/tmp/perf-{int(child.stdout.readline())}.map"))
        maps[0].write_text("10000000 1000 jit_work\n")
        wait_for(lambda: (self.folder / FILE).exists() and "jit_work" in
                 {row["function"] for row in self.report("--by", "address")["rows"]}, "the name")
        self.tell(child)
        maps[0].unlink()
        self.next_file()
        said = self.end_shell(child)
        self.assertIn("names of 1 JIT that exited were dropped because of --max-memory", said)
        hits = [row for row in self.report("--by", "address")["rows"] if "[anon" in row["image"]]
        self.assertGreater(sum(row["hits"] for row in hits), 20)

    def test_enough_memory__nothing_is_said(self):
        said = text(self.ntprof("system", "--duration", "300ms", "--max-memory", "4G").stderr)
        self.assertIn(f"ntprof: {self.hal}", said)
        self.assertNotIn("max-memory", said)

    def test_sizes_that_are_none__are_named(self):
        for size in ("0", "1", "1023k", "much", "-1M", ""):
            with self.subTest(size):
                result = self.ntprof("system", "--max-memory", size)
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertIn("--max-memory", said)
                self.assertIn("256M", said)


class Cgroup(Whole):
    """-G: hits of what runs in a cgroup alone."""

    def setUp(self):
        super().setUp()
        self.mount = next((line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text()
                           .splitlines() if line.split()[2] == "cgroup2"), None)
        if self.mount is None:
            self.mount = str(self.folder / "cgroup2")
            os.mkdir(self.mount)
            subprocess.run(["mount", "-t", "cgroup2", "none", self.mount], check=True)
            self.addCleanup(subprocess.run, ["umount", self.mount], check=True)
        self.name = f"ntprof-test-{os.getpid()}"
        self.directory = pathlib.Path(self.mount) / self.name
        self.directory.mkdir()
        self.addCleanup(self.remove)

    def remove(self):
        """What is in it moves up, and it goes."""
        for group in sorted(self.directory.glob("**/"), reverse=True):
            for pid in (group / "cgroup.procs").read_text().split():
                (pathlib.Path(self.mount) / "cgroup.procs").write_text(pid)
            group.rmdir()

    def start_in(self, group, name):
        """A program of this name, which works in the cgroup."""
        return self.start([self.copy(name), "300000"],
                          preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))

    def start_out(self, name):
        return self.start([self.copy(name), "300000"])

    def test_cgroup__its_processes_and_those_below_alone(self):
        below = self.directory / "below"
        below.mkdir()
        self.start_in(self.directory, "work-in")
        self.start_in(below, "work-below")
        self.start_out("work-out")
        for group, others in ((self.name, []), ("/" + self.name, []), (str(self.directory), []),
                              (f"{self.name}/below", ["work-in"])):
            with self.subTest(group):
                result = self.ntprof("system", "-G", group, "--duration", "400ms")
                self.assertEqual(result.returncode, 0, text(result.stderr))
                self.assertGreater(self.hits("process", "work-below", "--by", "process"), 20)
                for name in ["work-out", *others]:
                    self.assertEqual(self.hits("process", name, "--by", "process"), 0, name)

    def test_processes_that_join_and_leave__counted_while_in_it(self):
        """Names too: mappings are told of all, also of those that come into it later."""
        worker = self.start_out("work-joins")
        child = self.start_system("-G", self.name)
        self.assertEqual(self.hits("process", "work-joins", "--by", "process"), 0)
        (self.directory / "cgroup.procs").write_text(str(worker.pid))
        wait_for(lambda: self.hits("process", "work-joins", "--by", "process") > 20, "hits")
        rows = [row for row in self.report("--by", "address")["rows"] if "work-joins" in row["image"]]
        self.assertIn("right_three_units", {row["function"] for row in rows})
        (pathlib.Path(self.mount) / "cgroup.procs").write_text(str(worker.pid))
        self.next_file()
        before = self.hits("process", "work-joins", "--by", "process")
        self.next_file()
        self.next_file()
        self.assertEqual(self.hits("process", "work-joins", "--by", "process"), before)
        self.end(child)

    def test_kernel__for_the_cgroup_alone(self):
        def join():
            (self.directory / "cgroup.procs").write_text(str(os.getpid()))

        writer = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"]
        self.start(writer, stderr=subprocess.DEVNULL)
        self.start(writer, stderr=subprocess.DEVNULL)

        def kernel():
            result = self.ntprof("system", "--kernel", "-G", self.name, "--duration", "400ms")
            self.assertEqual(result.returncode, 0, text(result.stderr))
            return self.hits("process", "[kernel]", "--by", "process")

        self.assertEqual(kernel(), 0)
        self.start(writer, stderr=subprocess.DEVNULL, preexec_fn=join)
        self.assertGreater(kernel(), 20)

    def test_cgroup_without_processes_or_gone_meanwhile__ends_well(self):
        child = self.start_system("-G", self.name)
        self.directory.rmdir()
        self.next_file()
        said = self.end(child)
        self.assertIn("too few hits", said)
        self.directory.mkdir()

    def test_what_is_no_cgroup__is_named(self):
        for name, wanted in (("no-such", self.mount), ("", "system.slice"), ("/tmp", "no such"),
                             (f"{self.name}/cgroup.procs", "no such"),
                             ("/proc", "no such")):
            with self.subTest(name):
                result = self.ntprof("system", "-G", name, "--duration", "100ms")
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                shown = name or "''"
                self.assertTrue(said.startswith(f"ntprof: system: -G {shown}: "), said)
                self.assertIn(wanted, said)
                self.assert_nothing_left()

    def test_cgroup_that_events_do_not_know__is_said(self):
        """One of a hierarchy of version 1 without perf_event."""
        other = next((line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text()
                      .splitlines() if line.split()[2] == "cgroup"
                      and "perf_event" not in line.split()[3].split(",")), None)
        if other is None:
            return  # none such here
        result = self.ntprof("system", "-G", other, "--duration", "100ms")
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertIn("perf_event", said)

    def test_other_commands__have_no_such_option(self):
        for command in (["run", "-G", "/", "--", "true"], ["attach", "-G", "/", "-p", "1"]):
            result = self.ntprof(*command)
            self.assertEqual(result.returncode, 125)
            self.assertIn("-G: no such option", text(result.stderr))


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
