#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""run, attach and system with back end bpf: what hal/perf counts, counted in the interrupt. For those who may.

Exact counts come from page_caller, which makes code at an address by mprotect, of which nothing tells the
interrupt, and calls it at once: every call is a hit of a breakpoint.
"""
import json
import math
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import time

import bpf_objects
import command_system
import harness
from harness import CommandTest, text, wait_for

FILE = "ntprof.pb.gz"
HALS = ("perf", "bpf")
RETURN = {"x86_64": b"\xc3", "aarch64": b"\xc0\x03\x5f\xd6"}
PROCESSES, CALLS = 40, 7


class Recorded(CommandTest):
    """Callers of one address, and what is recorded of them."""

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

    def callers(self, count=PROCESSES, calls=CALLS, size=4096):
        caller = harness.program("page_caller")
        return ["/bin/sh", "-c", f"i=0; while [ $i -lt {count} ]; do "
                f"{caller} {self.address:x} {calls} {size} < {self.page} || exit 9; i=$((i+1)); done"]

    def source(self, offset=0):
        return f"breakpoint:0x{self.address + offset:x}"

    def report(self, *words):
        result = self.ntprof("report", "--json", "--rows", "0", *words, FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_books(report)
        return report

    def assert_exact(self, report, hits):
        for source in report["sources"]:
            if source["missed"] or source["lost"]:
                self.fail(source)
            self.assertEqual(source["taken"], hits, source)
            self.assertEqual(source["counted"], hits, source)
            self.assertEqual(source["hits"], hits, source)
        self.assertEqual(sum(row["hits"] for row in report["rows"]), hits, report["rows"])

    def attach_or_system(self, *words):
        child = self.start(self.arguments(*words, "--hal", "bpf", "-e", self.source(),
                                          "--every", "100ms"))
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        return child

    def end(self, child):
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(child.returncode, 0, text(error))

    def caller_without_end(self, size=4096):
        with open(self.page, "rb") as page:
            return self.start([harness.program("page_caller"), f"{self.address:x}", "1000000000000",
                               str(size)], stdin=page)

    def rows_and_books(self):
        report = self.report()
        return sum(row["hits"] for row in report["rows"]), report["sources"][0]

    def hits_of(self, process):
        return sum(row["hits"] for row in self.report("--by", "process")["rows"]
                   if row["process"] == process)

    def attach_to_who_starts_programs(self, *prefix):
        shell = self.start([*prefix, "/bin/sh", "-c", 'read line; exec "$@"', "sh", *self.callers()],
                           stdin=subprocess.PIPE)
        child = self.attach_or_system("attach", "-p", str(shell.pid))
        shell.stdin.write(b"go\n")
        shell.stdin.flush()
        self.assertEqual(shell.wait(harness.TIME_LIMIT_S), 0)
        _, error = child.communicate(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(child.returncode, 0, text(error))
        self.assert_exact(self.report(), PROCESSES * CALLS)


class Bpf(Recorded):
    def test_run__short_programs_that_make_code__every_hit_on_either_hal(self):
        for hal in HALS:
            with self.subTest(hal):
                report = self.report_json("--hal", hal, "-e", self.source(), "--", *self.callers())
                self.assertEqual(report["hal"], hal)
                self.assert_exact(report, PROCESSES * CALLS)

    def test_run__both_ends_of_much_code__every_hit_of_either(self):
        """Code is counted in pieces, which get their counters one by one."""
        size = 5 << 20
        report = self.report_json("--hal", "bpf", "-e", f"{self.source()},{self.source(size - 4096)}", "--",
                                  *self.callers(size=size))
        self.assertEqual(len(report["sources"]), 2)
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

    def test_system__short_programs_that_make_code__every_hit(self):
        child = self.attach_or_system("system")
        self.assertEqual(self.run_bare(self.callers()).returncode, 0)
        self.end(child)
        self.assert_exact(self.report(), PROCESSES * CALLS)

    def test_attach__to_who_starts_programs__every_hit_of_its_children(self):
        self.attach_to_who_starts_programs()

    def test_system__ends_amid_hits__none_is_outside_and_books_are_of_the_rows(self):
        """Profiles are closed when no hit comes any more."""
        caller = self.caller_without_end()
        child = self.attach_or_system("system")
        wait_for(lambda: self.rows_and_books()[0] > 1000, "hits")
        self.end(child)
        self.assertIsNone(caller.poll())
        rows, source = self.rows_and_books()
        self.assertEqual(source["outside"], 0, source)
        self.assertEqual(source["counted"], rows, source)

    def test_system__files_on_the_way__no_row_has_hits_that_are_in_no_books(self):
        self.caller_without_end()
        child = self.attach_or_system("system")
        wait_for(lambda: self.rows_and_books()[0] > 1000, "hits")
        before = 0
        for _ in range(10):
            inode = (self.folder / FILE).stat().st_ino
            wait_for(lambda: (self.folder / FILE).stat().st_ino != inode, "a new file")
            rows, source = self.rows_and_books()
            self.assertLessEqual(rows, source["counted"], source)
            self.assertGreaterEqual(rows, before)
            before = rows
        self.end(child)
        rows, source = self.rows_and_books()
        self.assertEqual(source["counted"], rows, source)

    def pool_bytes(self, ntprof):
        """Memory of counters: the maps that ntprof has none else of with pages as values."""
        total = 0
        for entry in pathlib.Path(f"/proc/{ntprof.pid}/fdinfo").iterdir():
            try:
                lines = entry.read_text().splitlines()
            except FileNotFoundError:  # a file that was read, and is closed
                continue
            fields = dict(line.split(":\t") for line in lines if ":\t" in line)
            if fields.get("value_size") == "4096":
                total += int(fields["memlock"])
        return total

    def interpreter(self, number):
        """A program of its own name, with some megabytes of code."""
        link = self.folder / f"python-{number}"
        link.symlink_to(os.path.realpath("/usr/bin/python3"))
        return link

    def start_sleepers(self, count):
        sleepers = []
        for number in range(count):
            sleepers.append(self.start([self.interpreter(number), "-S", "-c",
                                        "import time; print(flush=True); time.sleep(300)"]))
        for sleeper in sleepers:
            sleeper.stdout.readline()

    def test_system__processes_that_do_nothing__take_no_memory_for_counters(self):
        """They had three megabytes and more each."""
        child = self.attach_or_system("system")
        alone = self.pool_bytes(child)
        self.end(child)
        (self.folder / FILE).unlink()
        self.start_sleepers(40)
        child = self.attach_or_system("system")
        beside = self.pool_bytes(child)
        self.end(child)
        self.assertLessEqual(beside, alone + (8 << 20))

    def test_system__much_code_hit_in_one_place__counters_of_a_part(self):
        self.caller_without_end(64 << 20)
        child = self.attach_or_system("system")
        wait_for(lambda: self.rows_and_books()[0] > 1000, "hits")
        self.assertLess(self.pool_bytes(child), 16 << 20)
        self.end(child)

    def test_system__short_programs_of_many_names__counters_keep_to_their_half(self):
        child = self.start(self.arguments("system", "--hal", "bpf", "--user", "-F", "5k",
                                          "--max-memory", "128M", "--every", "100ms"))
        wait_for(lambda: (self.folder / FILE).exists(), "the first file")
        for number in range(60):
            self.run_bare([self.interpreter(number), "-S", "-c", "sum(range(2000000))"])
        pools = self.pool_bytes(child)
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=harness.TIME_LIMIT_S)
        said = text(error)
        self.assertEqual(child.returncode, 0, said)
        self.assertRegex(said, r"\d+ mappings? w(as|ere) left out .*--max-memory")
        # With a sanitizer in it most of the memory is not the counters'.
        self.assertGreater(pools, 1 << 20)
        # What is asked for at a time is 64 MB at most; the maps themselves take some pages.
        self.assertLess(pools, (64 + 64 + 1) << 20)
        self.assertEqual(self.hits_of("python-59"), 0)

    def test_system__process_that_begins_to_work__has_its_counters_then(self):
        self.start_sleepers(1)
        shutil.copy(harness.program("shares"), self.folder / "work-later")
        worker = self.start(["/bin/sh", "-c", "read line; exec ./work-later 300000"],
                            stdin=subprocess.PIPE)
        child = self.start(self.arguments("system", "--hal", "bpf", "--every", "100ms"))
        wait_for(lambda: (self.folder / FILE).exists(), "the first file")
        worker.stdin.write(b"go\n")
        worker.stdin.flush()
        wait_for(lambda: self.hits_of("work-later") > 50, "hits")
        self.end(child)
        names = {row["function"] for row in self.report("--by", "function")["rows"]
                 if "work-later" in row["image"]}
        self.assertIn("right_three_units", names)


# An ordinary user; one with no capabilities but the two that it takes, in any set.
USER = ["setpriv", f"--reuid={harness.USER}", f"--regid={harness.USER}", "--clear-groups"]
TWO = "-all,+bpf,+perfmon"
CAPABLE = [*USER, f"--inh-caps={TWO}", f"--ambient-caps={TWO}", f"--bounding-set={TWO}"]


class Capable(Recorded):
    """CAP_BPF and CAP_PERFMON are enough, for who is not root and has nothing else."""

    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may give capabilities")
        super().setUp()
        os.chown(self.folder, harness.USER, harness.USER)

    def arguments(self, *words):
        return [*CAPABLE, *super().arguments(*words)]

    def test_doctor__works(self):
        told = json.loads(self.ntprof("doctor", "--json").stdout)
        bpf, = (backend for backend in told["backends"] if backend["name"] == "bpf")
        self.assertTrue(bpf["usable"], bpf)

    def test_run__every_hit_with_these_two_alone(self):
        report = self.report_json("--hal", "bpf", "-e", self.source(), "--", *self.callers())
        self.assert_exact(report, PROCESSES * CALLS)
        said = text(self.profile("-q", "--hal", "bpf", "--", "grep", "Cap", "/proc/self/status").stdout)
        self.assertEqual({int(line.split()[1], 16) for line in said.splitlines()},
                         {1 << 38 | 1 << 39}, said)

    def test_system__every_hit_of_others(self):
        child = self.attach_or_system("system")
        self.assertEqual(self.run_bare(self.callers()).returncode, 0)
        self.end(child)
        self.assert_exact(self.report(), PROCESSES * CALLS)

    def test_attach__every_hit_of_its_children(self):
        self.attach_to_who_starts_programs(*USER)


class Cgroup(command_system.Cgroup):
    """-G, over bpf: what holds for perf."""

    def arguments(self, *words):
        if words and words[0] == "system":
            words = ("system", "--hal", "bpf", *words[1:])
        return super().arguments(*words)

    def assert_books(self, report):
        super().assert_books(report)
        self.assertEqual(report["hal"], "bpf")

    def test_idle_cgroup__its_events_are_left_alone(self):
        child = self.start_system("-G", self.name)
        before = bpf_objects.of_process(child.pid)
        time.sleep(2.5)  # they are looked at once a second
        self.assertEqual(bpf_objects.of_process(child.pid), before)
        self.assertTrue({kind for kind, _ in before} >= {"link", "program"}, before)
        self.start_in(self.directory, "work-in")
        wait_for(lambda: self.hits("process", "work-in", "--by", "process") > 20, "hits")
        self.end(child)

    def assert_rows(self, hits, source):
        """Files on the way have what is counted between rows and books in the books alone."""
        self.assertLessEqual(hits, source["counted"])


class Namespaces(Recorded):
    """Of pids: the session in the first one and in one of its own, what it profiles there and below."""

    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may make pid namespaces")
        super().setUp()

    def caller(self, calls):
        return f"{harness.program('page_caller')} {self.address:x} {calls} <{self.page}"

    def in_namespace(self, command):
        """What a shell does in pid and mount namespaces of its own, with a /proc of its own."""
        return ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child",
                "/bin/sh", "-c", command]

    def record(self, *words):
        return " ".join([*self.arguments(*words, "--hal", "bpf", "-e", self.source())])

    def test_system__process_in_a_namespace_below_the_first__every_hit_by_its_name(self):
        if os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:
            self.skipTest("not in the first pid namespace")
        child = self.attach_or_system("system")
        self.assertEqual(self.run_bare(["unshare", "--pid", "--fork", "/bin/sh", "-c",
                                        self.caller(CALLS)]).returncode, 0)
        self.end(child)
        report = self.report("--by", "process")
        self.assert_exact(report, CALLS)
        self.assertEqual({row["process"] for row in report["rows"]}, {"page_caller"})

    def test_run__in_a_namespace_of_ones_own__every_hit_and_the_limit_is_told(self):
        result = self.run_bare(self.in_namespace(
            f"{self.record('run')} -- /bin/sh -c '{self.caller(CALLS)}; exit 0'"))
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        self.assert_exact(self.report(), CALLS)
        self.assertIn("namespaces below", said)
        self.assertNotIn("could not be read", said)

    def test_run__process_below_a_namespace_of_ones_own__is_told_as_not_read(self):
        result = self.run_bare(self.in_namespace(
            f"{self.record('run')} -- /bin/sh -c 'unshare --pid --fork /bin/sh -c "
            f'"sleep 0.2; {self.caller(5)}"; {self.caller(CALLS)}; exit 0\''))
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        self.assert_exact(self.report(), CALLS)
        self.assertRegex(said, r"\d process(es)? could not be read")

    def test_system__process_below_a_namespace_of_ones_own__hits_are_told_as_outside(self):
        result = self.run_bare(self.in_namespace(
            f"{self.record('system')} --every 100ms & one=$!; "
            f"while ! test -s {FILE}; do sleep 0.05; done; "
            f"{self.caller(CALLS)}; unshare --pid --fork /bin/sh -c '{self.caller(11)}; exit 0'; "
            "kill -TERM $one; wait $one"))
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        source = self.report()["sources"][0]
        self.assertEqual((source["counted"], source["outside"]), (CALLS, 11), source)
        self.assertIn("11 hits outside are of processes of other pid namespaces", said)

    def test_doctor__in_a_namespace_of_ones_own__tells_the_limit(self):
        said = text(self.run_bare(self.in_namespace(" ".join(self.arguments("doctor")))).stdout)
        self.assertIn("namespaces below", said)
        self.assertIn("use back end perf", said)


if __name__ == "__main__":
    harness.main()
