#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof system: all processes, those to come and those that have gone, and the kernel."""
import collections
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import tempfile
import time

import command_every
import harness
from harness import CommandTest, processor_ticks, text, wait_for

FILE = "ntprof.pb.gz"


# Processes in the table that are none: hits in no row of the file.
NO_ROW = {"[no image]", "[user mode]", "[kernel, unknown]"}


def kernel_hits(rows, process=None):
    """Of the kernel and its modules, all of which have names in brackets."""
    return sum(row["hits"] for row in rows
               if row["image"].startswith("[") and row["image"] not in ("[vdso]", "[vdso32]") and
               not row["image"].startswith("[anon") and row["process"] not in NO_ROW and
               process in (None, row["process"]))


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

    def copy_of(self, program, name):
        """A program of the machine, by another name."""
        path = self.folder / name
        shutil.copy(shutil.which(program), path)
        return path

    def start_system(self, *words, **given):
        """ntprof system that has begun."""
        child = self.start(self.arguments("system", "--every", "100ms", *words), **given)
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        return child

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
        before_s = harness.children_s()
        later = self.run_bare([self.copy("work-later"), "300"], user=harness.USER)
        used_s = harness.children_s() - before_s
        self.assertEqual(later.returncode, 0)
        said = self.interrupt(child)
        self.assertRegex(said, harness.SUMMARY)
        self.assertIsNone(before.poll())
        report = self.report("--by", "process")
        hits = {row["process"]: row["hits"] for row in report["rows"]}
        self.assertGreater(hits.get("work-before", 0), 0, report)
        self.assert_has_time(report, hits.get("work-later", 0), used_s)

    def test_short_lived_processes__each_is_counted(self):
        """Two hundred of them have the processor time that all of them took; until each executes its
        program it is the shell."""
        path = self.copy("work-short")
        shell = self.copy_of("sh", "work-sh")
        child = self.start_system("-F", "5k")
        before_s = harness.children_s()
        self.run_bare([shell, "-c", f"for i in $(seq 200); do {path} 4; done"])
        used_s = harness.children_s() - before_s
        self.interrupt(child)
        report = self.report("--by", "process")
        hits = {row["process"]: row["hits"] for row in report["rows"]}
        self.assert_has_time(report, hits["work-short"] + hits.get("work-sh", 0), used_s, 0.7)
        self.assertGreater(hits["work-short"], hits.get("work-sh", 0))

    def test_program_that_is_gone__keeps_its_names(self):
        path = self.copy("work-gone")
        child = self.start_system()
        worker = self.start([path, "300000"])
        wait_for(lambda: self.hits("process", "work-gone", "--by", "process") > 20, "hits")
        path.unlink()
        worker.kill()
        worker.wait()
        self.interrupt(child)
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
                rows = self.report("--by", "process,image")["rows"]
                kernel = kernel_hits(rows)
                left_out = sum(row["hits"] for row in rows if row["process"] == "[user mode]")
                others = sum(row["hits"] for row in rows) - kernel - left_out
                if words == ("--user",):
                    self.assertEqual(kernel, 0)
                    self.assertIn("only user mode was profiled", self.report()["limits"])
                else:
                    self.assertGreater(kernel, 0)
                if words == ("--kernel",):
                    self.assertEqual(others, 0)
                    self.assertEqual(left_out, self.report()["sources"][0]["outside"])
                    self.assertNotIn("in no row", text(result.stderr))

    def test_kernel_time__belongs_to_the_process_that_was_interrupted(self):
        """A row of a process is its user and kernel time, as the kernel accounts it."""
        writer = self.start([self.copy_of("dd", "work-dd"), "if=/dev/zero", "of=/dev/null", "bs=64k"],
                            stderr=subprocess.DEVNULL)
        child = self.start_system()
        began = processor_ticks(writer.pid)
        wait_for(lambda: self.hits("process", "work-dd", "--by", "process") > 400, "hits")
        user, system = (now - before for now, before in zip(processor_ticks(writer.pid), began))
        self.interrupt(child)
        rows = self.report("--by", "process,image")["rows"]
        hits = sum(row["hits"] for row in rows if row["process"] == "work-dd")
        kernel = kernel_hits(rows, "work-dd")
        self.assertAlmostEqual(kernel / hits, system / (user + system), delta=0.25)
        self.assertGreater(kernel, 0.3 * hits)
        nobody = sum(row["hits"] for row in rows if row["process"] == "[kernel]")
        self.assertLess(nobody, 0.05 * sum(row["hits"] for row in rows))

    def test_kernel_of_short_lived_processes__is_theirs_to_the_end(self):
        """Most of what they do is the kernel's work to make and to free them."""
        path = self.copy_of("true", "work-true")
        shell = self.copy_of("sh", "work-sh")
        child = self.start_system("-F", "5k")
        before_s = harness.children_s()
        self.run_bare([shell, "-c", f"for i in $(seq 400); do {path}; done"])
        used_s = harness.children_s() - before_s
        self.interrupt(child)
        report = self.report("--by", "process,image")
        rows = report["rows"]
        self.assertGreater(kernel_hits(rows, "work-true"), 0)
        self.assert_has_time(report, sum(row["hits"] for row in rows if row["process"] in ("work-true", "work-sh")),
                             used_s)
        # Others' short processes are made and freed at the same time.
        nobody = kernel_hits(rows, "[kernel]")
        self.assertLess(nobody, 0.2 * (kernel_hits(rows) - nobody - kernel_hits(rows, "[idle]")))

    def test_idle_processors__are_a_row_and_no_process(self):
        result = self.ntprof("system", "--duration", "500ms")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        rows = self.report("--by", "process,image")["rows"]
        idle = [row for row in rows if row["process"] == "[idle]"]
        self.assertEqual(sum(row["hits"] for row in idle), kernel_hits(rows, "[idle]"))
        self.assertNotIn("swapper", {row["process"] for row in rows})

    def test_pid_namespace__all_outside_are_one_row(self):
        """They have no numbers in it, so nothing tells them apart."""
        self.start(["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"], stderr=subprocess.DEVNULL)
        command = ["unshare", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("unshare makes no pid namespace here")
        result = self.run_bare([*command, *self.arguments("system", "--duration", "500ms")])
        self.assertEqual(result.returncode, 0, text(result.stderr))
        rows = self.report("--by", "process,image")["rows"]
        self.assertGreater(kernel_hits(rows, "[others]"), 0)
        self.assertEqual(kernel_hits(rows, "dd") + kernel_hits(rows, "[idle]"), 0)

    def test_one_processor__half_of_what_two_have(self):
        began = time.monotonic()
        result = self.ntprof("system", "--duration", "1s", "-C", "0", "--json")
        took_s = time.monotonic() - began
        self.assertEqual(result.returncode, 0)
        self.assertEqual(text(result.stderr), "")
        self.assertEqual(json.loads(result.stdout)["sources"], self.report()["sources"])
        source = self.report()["sources"][0]
        self.assertGreater(source["expected"] * source["granted"] / 1e7, 0.9)
        # It begins and ends as slowly as it likes, and has no more than that time of the processor.
        self.assert_has_at_most(self.report(), took_s)

    def test_name_with_a_newline__is_whole(self):
        name = "import ctypes; ctypes.CDLL(None).prctl(15, b'two\\nlines', 0, 0, 0); print(flush=True)\n"
        worker = self.start(["/usr/bin/python3", "-S", "-c", name + "while True: sum(range(500))"])
        worker.stdout.readline()
        child = self.start_system()
        wait_for(lambda: self.hits("process", r"two\x0alines", "--by", "process") > 0, "its hits")
        self.interrupt(child)
        self.assertGreater(self.hits("process", r"two\x0alines", "--by", "process"), 0)

    def test_files__only_grow(self):
        self.start([self.copy("work-on"), "300000"])
        child = self.start_system()
        before = {}
        for _ in range(4):
            inode = (self.folder / FILE).stat().st_ino
            # Of all processes: hits of one that was not known when they were counted become its own.
            rows = collections.Counter()
            for row in self.report("--by", "address")["rows"]:
                rows[row["image"], row["address"]] += row["hits"]
            for key, hits in before.items():
                self.assertGreaterEqual(rows[key], hits, key)
            before = rows
            wait_for(lambda: (self.folder / FILE).stat().st_ino != inode, "a new file")
        self.interrupt(child)

    def test_many_processes__all_are_there_and_it_begins_and_ends(self):
        sleepers = self.start(["sh", "-c", "for i in $(seq 500); do sleep 300 & done; echo; wait"],
                              preexec_fn=os.setsid)
        self.addCleanup(os.killpg, sleepers.pid, signal.SIGKILL)
        sleepers.stdout.readline()
        result = self.ntprof("system", "--duration", "500ms")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertRegex(text(result.stderr), harness.SUMMARY)
        self.report()

    def test_more_names_than_are_told_apart__the_rest_is_other(self):
        child = self.start_system("-F", "5k")
        path = self.copy("work-0")
        for number in range(1, 300):
            path = path.rename(self.folder / f"work-{number}")
            self.run_bare([path, "3"])
        self.interrupt(child)
        names = {row["process"] for row in self.report("--by", "process")["rows"]}
        self.assertIn("[other]", names)
        self.assertLessEqual(len(names - NO_ROW), 257)

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


class Processors(Whole):
    """Those that go offline and come online, as a list says that is in the place of the kernel's."""

    def setUp(self):
        super().setUp()
        self.need_mount_namespace()
        self.first, self.second = [*sorted(os.sched_getaffinity(0)), None, None][:2]
        if self.second is None or len(str(self.second)) != len(str(self.first)):
            self.skipTest("two processors with numbers of one length are needed")
        self.both, self.one = f"{self.first},{self.second}\n", f"{self.first}-{self.first}\n"
        self.online = self.folder / "online"
        self.online.write_text(self.both)

    def with_list(self, *words):
        """ntprof that reads this list, and may run on the first processor only: those are online in any case."""
        return ["taskset", "-c", str(self.first), *self.with_false_list(*words)]

    def with_false_list(self, *words):
        script = 'mount --bind "$0" /sys/devices/system/cpu/online && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, self.online, *self.arguments(*words)]

    def function_hits(self, name):
        """Of a program's own functions."""
        return sum(row["hits"] for row in self.report("--by", "process,function")["rows"]
                   if row["process"] == name and row["function"] in ("right_three_units", "right_one_unit"))

    def assert_rows_of_later(self, script, processor, *words):
        """Of a program that begins after this script, in which nobody reads half of a list."""
        script = f'to() {{ printf "$1" 1<>"{self.online}"; }}; {script} exec taskset -c {processor} "$0" 1500'
        result = self.run_bare(self.with_list("run", *words, "--", "sh", "-c", script, self.copy("work-later"),
                                              self.one, self.both))
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertNotIn("could not be profiled", text(result.stderr))
        self.assertGreater(self.function_hits("work-later"), 0)

    def test_list_of_a_container_without_the_one_that_runs__counted(self):
        self.online.write_text(self.one)
        for words in ([], ["--per", "cpu"], ["-C", self.second]):
            with self.subTest(words):
                result = self.run_bare(self.with_false_list("run", *words, "--", "taskset", "-c", str(self.second),
                                                            self.copy("work-there"), "1500"))
                self.assertEqual(result.returncode, 0, text(result.stderr))
                self.assertGreater(self.function_hits("work-there"), 0, text(result.stderr))

    def test_one_of_several_goes__later_programs_have_rows(self):
        for words in (["--per", "cpu"], ["-C", f"{self.first},{self.second}"]):
            with self.subTest(words):
                self.online.write_text(self.both)
                self.assert_rows_of_later('to "$1"; sleep 0.3;', self.first, *words)

    def test_one_comes_back__programs_of_meanwhile_have_rows(self):
        for words in (["--per", "cpu"], ["-C", f"{self.first},{self.second}"], ["-C", self.second]):
            with self.subTest(words):
                self.online.write_text(self.both)
                self.assert_rows_of_later('to "$1"; sleep 0.3; (sleep 0.5; to "$2") &', self.second, *words)

    def test_one_comes__programs_of_before_have_rows(self):
        self.online.write_text(self.one)
        self.start(["taskset", "-c", str(self.second), self.copy("work-on"), "300000"])
        child = self.start(self.with_list("system", "--every", "100ms"))
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        self.online.write_text(self.both)
        wait_for(lambda: self.function_hits("work-on") >= 100, "hits on the processor that came")
        self.interrupt(child)


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

    def test_names_of_a_jit_that_has_ended__read_again_from_the_map_that_was_kept(self):
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
        self.assertNotIn("were dropped because of --max-memory", said)
        rows = [row for row in self.report("--by", "address")["rows"] if "[anon" in row["image"]]
        self.assertGreater(sum(row["hits"] for row in rows), 0)
        self.assertEqual({row["function"] for row in rows}, {"jit_work"})

    def test_enough_memory__nothing_is_said(self):
        said = text(self.ntprof("system", "--duration", "300ms", "--max-memory", "4G").stderr)
        self.assertRegex(said, harness.SUMMARY)
        self.assertNotIn("max-memory", said)

    def test_sizes_that_are_none__are_named(self):
        for size in ("0", "1", "255k", "much", "-1M", ""):
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
            self.mount = tempfile.mkdtemp(prefix="ntprof-cgroup2-")  # not in the folder, whose files are looked at
            self.addCleanup(os.rmdir, self.mount)
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
                (self.folder / FILE).unlink(missing_ok=True)
                child = self.start_system("-G", group)
                wait_for(lambda: self.hits("process", "work-below", "--by", "process") > 0, "its hits")
                self.interrupt(child)
                self.assertGreater(self.hits("process", "work-below", "--by", "process"), 0)
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
        self.interrupt(child)

    def test_kernel__for_the_cgroup_alone(self):
        def join():
            (self.directory / "cgroup.procs").write_text(str(os.getpid()))

        writer = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"]
        self.start(writer, stderr=subprocess.DEVNULL)
        self.start(writer, stderr=subprocess.DEVNULL)

        def kernel():
            return kernel_hits(self.report("--by", "process,image")["rows"])

        result = self.ntprof("system", "--kernel", "-G", self.name, "--duration", "400ms")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertEqual(kernel(), 0)
        (self.folder / FILE).unlink()
        self.start(writer, stderr=subprocess.DEVNULL, preexec_fn=join)
        child = self.start_system("--kernel", "-G", self.name)
        wait_for(lambda: kernel() > 0, "hits in the kernel")
        self.interrupt(child)
        self.assertGreater(kernel(), 0)

    def test_cgroup_without_processes_or_gone_meanwhile__ends_well(self):
        child = self.start_system("-G", self.name)
        self.directory.rmdir()
        self.next_file()
        said = self.interrupt(child)
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
            self.assertRegex(said, harness.SUMMARY)
            return
        self.assertEqual(result.returncode, 125, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertIn("perf_event_paranoid", said)
        self.assertIn("CAP_PERFMON", said)
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
