#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof run by timers in the processes that it starts, as where Linux refuses perf events."""
import errno
import json
import os
import shutil
import signal
import subprocess
import time

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, program, text

CLOCK_REALTIME_COARSE = 5
FILE = "ntprof.pb.gz"
KILLS_ITSELF = "import os, signal, time\nwhile time.process_time() < 0.4: pass\nos.kill(os.getpid(), signal.SIGKILL)"


class TimerTest(CommandTest):
    def timer_json(self, *words, status=0):
        """The report of a run by timers, every row of it."""
        report = self.folder / "report.json"
        result = self.profile("--hal", "timer", "--json", "--rows", "0", "--report", report, "--", *words)
        self.assertEqual(result.returncode, status, text(result.stderr))
        told = json.loads(report.read_text())
        self.assertEqual(told["hal"], "timer")
        self.assert_statistics(told)
        return told

    def shares(self, report, key="function"):
        shares = {}
        for row in report["rows"]:
            shares[row[key]] = shares.get(row[key], 0) + row["share"]
        return shares

    def refused(self, call, error, *words):
        return self.run_bare([program("refuse"), call, str(error), *self.arguments(*words)])

    def assert_refused(self, result, *words):
        """One line, before the command starts."""
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        for word in words:
            self.assertIn(word, said)


# A process that is forked where /proc is that of a new PID namespace.
FORKS_INSIDE = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
NEW_PID, NEW_MOUNT, PRIVATE = 0x20000000, 0x20000, 0x44000
def in_child(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
def burn():
    while time.process_time() < 0.4: pass
def mount():
    assert libc.mount(b"proc", b"/proc", b"proc", 0, None) == 0
    in_child(burn)
assert libc.unshare(NEW_PID | NEW_MOUNT) == 0 and libc.mount(None, b"/", None, PRIVATE, None) == 0
in_child(mount)
"""


class PidNamespaces(TimerTest):
    """Programs that have other numbers than the command knows."""

    def setUp(self):
        super().setUp()
        if self.run_bare(["unshare", "--pid", "--mount", "--fork", "true"]).returncode != 0:
            self.skipTest("this user may not make PID namespaces here")

    def assert_believed(self, words, hal="timer"):
        """400 ms of processor time are counted, but for a tick of each of few threads, once, with what it takes to
        start, which a run without ntprof tells. Returns the report."""
        before_s = harness.children_s()
        self.run_bare(words)
        bare_s = harness.children_s() - before_s
        report = self.report_json("--hal", hal, "--", *words)
        self.assert_statistics(report)
        self.assertEqual(report["gaps"], "")
        source, = report["sources"]
        self.assertEqual(source["outside"], 0)
        counted_s = source["expected"] * source["granted"] / 1e7
        self.assertGreater(counted_s, 0.3)
        self.assertLess(counted_s, 1.5 * bare_s)
        return report

    def test_program__has_its_shares_and_all_its_time(self):
        report = self.assert_believed(["unshare", "--pid", "--fork", program("shares"), "400"])
        shares = self.shares(report)
        self.assertGreater(shares["right_three_units"], shares["right_one_unit"])

    def test_perf__has_the_same(self):
        command = ["unshare", "--pid", "--fork", program("shares"), "400"]
        if self.profile("--hal", "perf", "-q", "--", "true").returncode != 0:
            self.skipTest("no perf events here")
        self.assert_believed(command, "perf")

    def test_library_loaded_inside__is_named(self):
        report = self.timer_json("unshare", "--pid", "--fork", program("loader"), program("hot_library.so"), "20")
        self.assertGreater(self.shares(report).get("hot_constructor", 0), 0.3, report["rows"])

    def test_killed_inside__is_believed(self):
        """The number of process 1 there is that of another process here."""
        self.assert_believed(["unshare", "--pid", "--fork", "/bin/sh", "-c",
                              f"/usr/bin/python3 -S -c '{KILLS_ITSELF}'; exit 0"])

    def test_forked_with_another_proc__is_counted_by_its_own_clock(self):
        self.assert_believed(["/usr/bin/python3", "-S", "-c", FORKS_INSIDE])

    def test_executed_with_another_proc__said_as_not_counted(self):
        report = self.timer_json("unshare", "--pid", "--fork", "--mount-proc", program("shares"), "50")
        self.assertIn("loaded no preload object", report["gaps"])


@for_each_user_if_long
class Counted(TimerTest):
    def test_work_of_three_to_one__has_these_shares(self):
        report = self.timer_json(program("shares"), "1600")
        shares = self.shares(report)
        both = shares["right_three_units"] + shares["right_one_unit"]
        self.assertGreater(both, 0.7)
        self.assertAlmostEqual(shares["right_three_units"] / both, 0.75, delta=0.1)
        source, = report["sources"]
        self.assertEqual((source["lost"], source["outside"]), (0, 0))
        # All of the program's time is accounted for.
        self.assertAlmostEqual(source["expected"] * source["granted"] / 1e7, 1.6, delta=0.2)

    def test_perf_events_refused__run_counts_by_timers_and_says_so(self):
        for error in (errno.EPERM, errno.ENOSYS):
            with self.subTest(errno.errorcode[error]):
                result = self.refused("perf_event_open", error, "run", "--", program("shares"), "400")
                said = text(result.stderr)
                self.assertEqual(result.returncode, 0, said)
                self.assertRegex(said, r"(?m)^ntprof: timer: perf: .*seccomp.*; to allow: .*kernel tick ")
                self.assertIn("right_three_units", said)

    def test_granted_rate__is_that_of_the_kernel_tick_with_its_cause(self):
        tick_100ns = round(time.clock_getres(CLOCK_REALTIME_COARSE) * 1e7)
        report = self.timer_json(program("shares"), "400")
        self.assertEqual((report["sources"][0]["asked"], report["sources"][0]["granted"]), (10030, tick_100ns))
        said = text(self.ntprof("report", FILE).stderr) + text(self.ntprof("report", FILE).stdout)
        self.assertIn("because of the kernel tick", said)

    def test_many_threads__every_ones_work_is_seen(self):
        report = self.timer_json(program("many_threads"))
        shares = self.shares(report)
        seen = [letter for letter in "abcdefgh" if shares.get(f"worker_{letter}", 0) > 0]
        self.assertGreater(len(seen), 5, shares)

    def test_forks_and_execs__count_by_the_name_of_each_program(self):
        script = f"{program('shares')} 400; {program('shares_namesake')} 400"
        shares = self.shares(self.timer_json("/bin/sh", "-c", script))
        for function in ("right_three_units", "wrong_three_units"):
            self.assertGreater(shares.get(function, 0), 0.2, shares)

    def test_processes_hardly_longer_than_the_tick__some_are_hit(self):
        """How many depends on the scheduler: on a busy machine it starts them at a tick, and they end or wait before
        the next. What has no hit is said to be unfinished or missed."""
        tick_ms = time.clock_getres(CLOCK_REALTIME_COARSE) * 1000
        script = f"i=0; while [ $i -lt 150 ]; do {program('shares')} {1.5 * tick_ms:.0f}; i=$((i + 1)); done"
        report = self.timer_json("/bin/sh", "-c", script)
        hits = {row["function"]: row["hits"] for row in report["rows"]}
        both = hits.get("right_three_units", 0) + hits.get("right_one_unit", 0)
        self.assertGreater(both, report["sources"][0]["expected"] * 0.1, report)

    def test_programs_without_preload_object__said_as_not_counted(self):
        static = harness.stage() / "programs" / "shares_static"
        if not static.exists():
            self.skipTest("no static C library here")
        spawn = f"import os; os.waitpid(os.posix_spawn('{static}', ['s', '50'], os.environ), 0)"
        for words in (["/bin/sh", "-c", f"{static} 50; exec {static} 50"],
                      ["/bin/sh", "-c", f"{static} 50; env -i {program('shares')} 50"],
                      ["/usr/bin/python3", "-S", "-c", f"{spawn}; {spawn}"]):
            with self.subTest(words):
                report = self.timer_json(*words)
                self.assertIn("2 processes executed a program that loaded no preload object", report["gaps"])
        report = self.timer_json("/bin/sh", "-c", f"{program('shares')} 50; exec {program('shares')} 50")
        self.assertEqual(report["gaps"], "")

    def test_shells_without_the_environment_of_the_preload_object__said_as_not_counted(self):
        for change in ("os.environ.clear()", "del os.environ['LD_PRELOAD']", "del os.environ['NTPROF_AGENT']"):
            with self.subTest(change):
                report = self.timer_json("/usr/bin/python3", "-S", "-c",
                                         f"import os; os.system('true'); {change}; os.system('true')")
                self.assertIn("1 process executed a program that loaded no preload object", report["gaps"])

    def test_question_for_a_shell__is_no_program(self):
        report = self.timer_json("/usr/bin/python3", "-S", "-c",
                                 "import ctypes, os; os.environ.clear(); print(ctypes.CDLL(None).system(None))")
        self.assertNotIn("loaded no preload object", report["gaps"])

    def test_threads_without_timers__counted_by_cause(self):
        limit = ("import os, resource; resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0)); "
                 f"os.execv('{program('shares_threads')}', ['shares', '10'])")
        for words, told in (
                ([program("signal_scenarios"), "all-realtime-in-a-thread"],
                 "3 threads got no timer or lost it, so hits are missing: the program has to leave a real-time signal"),
                (["/usr/bin/python3", "-S", "-c", limit], "threads got no timer, so hits are missing: raise RLIMIT_")):
            with self.subTest(told):
                self.assertIn(told, self.timer_json(*words)["gaps"])

    def test_child_of_vfork_whose_exec_fails_often__has_one_record(self):
        report = self.timer_json(program("process_scenarios"), "vfork-failing-execs")
        self.assertEqual(report["gaps"], "")

    def test_loaded_library__is_named(self):
        shares = self.shares(self.timer_json(program("loader"), program("hot_library.so"), "20"))
        self.assertGreater(shares.get("hot_constructor", 0), 0.3, shares)

    def test_32_bit_program__is_seen_or_its_preload_object_is_missed(self):
        shares_i386 = harness.stage() / "programs" / "shares_i386"
        library = harness.stage() / "preload" / "libntprof-agent-i386.so"
        if not shares_i386.exists():
            self.skipTest("no compiler of 32-bit programs here")
        hidden = library.rename(library.with_suffix(".hidden"))
        try:
            refused = self.ntprof("run", "--hal", "timer", "--", shares_i386, "10")
        finally:
            hidden.rename(library)
        self.assertEqual(refused.returncode, 125)
        self.assertIn("libntprof-agent-i386.so is not installed", text(refused.stderr))
        try:
            subprocess.run([shares_i386, "1"], check=True, stdout=subprocess.DEVNULL)
        except OSError:
            self.skipTest("the kernel runs no 32-bit programs here")
        shares = self.shares(self.timer_json(shares_i386, "800"))
        self.assertGreater(shares["right_three_units"], shares["right_one_unit"])

    def test_program_of_musl__is_seen(self):
        musl = harness.stage() / "programs" / "shares_musl"
        if not musl.exists():
            self.skipTest("no musl here")
        shares = self.shares(self.timer_json(musl, "800"))
        self.assertGreater(shares["right_three_units"], shares["right_one_unit"])

    def test_waiting_for_all_signals__gets_that_of_the_program(self):
        script = ("import os, signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
                  "while time.process_time() < 0.2: pass\nos.kill(os.getpid(), signal.SIGUSR1)\n"
                  "print(signal.sigpending(), signal.sigwait(signal.valid_signals()))")
        words = ["/usr/bin/python3", "-S", "-c", script]
        self.assertEqual(self.profile("--hal", "timer", "-q", "--", *words).stdout, self.run_bare(words).stdout)

    def test_signals_blocked__later_work_is_seen(self):
        for scenario in ("all-but-one", "all-but-handled", "all-but-handled-next", "all-and-handled"):
            with self.subTest(scenario):
                report = self.timer_json(program("signal_scenarios"), scenario)
                self.assertGreater(self.shares(report).get("work_later", 0), 0.3, report["rows"])
                self.assertEqual(report["gaps"], "")

    def test_python__is_seen(self):
        report = self.timer_json("/usr/bin/python3", "-S", "-c",
                                 "import time\nwhile time.process_time() < 0.5: sum(range(20000))")
        self.assert_counts_time(report, 0.5)
        self.assertGreater(len(report["rows"]), 3)

    def test_killed_program__keeps_its_hits(self):
        result = self.profile("--hal", "timer", "--", "/usr/bin/python3", "-S", "-c", KILLS_ITSELF)
        self.assertEqual(result.returncode, -signal.SIGKILL, text(result.stderr))
        report = json.loads(self.ntprof("report", "--json", FILE).stdout)
        self.assert_statistics(report)
        self.assert_counts_time(report, 0.4)

    def test_exit_status_and_output__are_the_programs(self):
        result = self.profile("--hal", "timer", "-q", "--", "/bin/sh", "-c", "echo out; exit 7")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (7, b"out\n", b""))

    def test_descriptors__are_those_without_the_preload_object(self):
        listing = ["/bin/sh", "-c", "ls /proc/$$/fd"]
        self.assertEqual(self.profile("--hal", "timer", "-q", "--", *listing).stdout,
                         self.run_bare(listing).stdout)

    def test_preloaded_already__stays_after_the_preload_object(self):
        environment = harness.bare_environment()
        environment["LD_PRELOAD"] = program("hot_library.so")
        environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"  # of ntprof itself, where it has a sanitizer
        result = self.profile("--hal", "timer", "--", "/bin/sh", "-c", "echo $LD_PRELOAD", env=environment)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        first, second = text(result.stdout).strip().split(":")
        self.assertTrue(first.endswith("/libntprof-agent.so"))
        self.assertEqual(second, program("hot_library.so"))


@for_each_user
class Refused(TimerTest):
    def test_static_program__one_line_that_says_why(self):
        static = harness.stage() / "programs" / "shares_static"
        if not static.exists():
            self.skipTest("no static C library here")
        self.assert_refused(self.profile("--hal", "timer", "--", static, "10"), "statically", "was not started")

    def test_program_of_another_word_size__one_line_that_says_why(self):
        other = bytearray((harness.stage() / "programs" / "shares").read_bytes())
        other[4] = 3 - other[4]
        path = self.folder / "other"
        path.write_bytes(other)
        path.chmod(0o755)
        self.assert_refused(self.profile("--hal", "timer", "--", path), "another machine or word size")

    def test_set_user_id_program__one_line_that_says_why(self):
        if self.user is None:
            self.skipTest("only root can make one, and only others get rights from it")
        path = self.folder / "shares"
        shutil.copy(program("shares"), path)
        path.chmod(0o4755)  # of root, who runs this
        self.assert_refused(self.profile("--hal", "timer", "--", path, "10"), "set-user-ID", "a copy without")

    def test_address_sanitizer__refuses_the_preload_object_unless_told_otherwise(self):
        (self.folder / "work.c").write_text("int main(void) { volatile long n = 0; while (n < 200000000) n++; }\n")
        built = self.run_bare(["gcc", "-fsanitize=address", "work.c", "-o", "work"])
        if built.returncode != 0:
            self.skipTest("gcc makes no program with AddressSanitizer here")
        result = self.profile("--hal", "timer", "--", self.folder / "work")
        self.assertEqual(result.returncode, 1)
        self.assertIn("verify_asan_link_order=0", text(result.stderr).split("ntprof: warning: ", 1)[1])
        report = self.report_json("--hal", "timer", "--", "env", "ASAN_OPTIONS=verify_asan_link_order=0", "./work")
        self.assertGreater(sum(row["hits"] for row in report["rows"] if row["function"] == "main"), 0)

    def test_other_sources__refused_with_the_reason(self):
        for words, reason in ((["-e", "page-faults"], "only source time"), (["-e", "time,page-faults"], "only source"),
                              (["--per", "cpu"], "on which processor")):
            with self.subTest(words):
                self.assert_refused(self.profile("--hal", "timer", *words, "--", "touch", "started"), reason)
                self.assert_nothing_left()

    def test_other_commands__refused_with_the_reason(self):
        for words in (["attach", "-p", str(os.getpid())], ["system"], ["top"]):
            with self.subTest(words[0]):
                self.assert_refused(self.ntprof(words[0], "--hal", "timer", *words[1:]),
                                    "only in programs that ntprof run starts")

    def test_no_memory_of_its_own__one_line_that_says_why(self):
        self.assert_refused(self.refused("memfd_create", errno.EPERM, "run", "--hal", "timer", "--", "true"),
                            "memory cannot be made")

    def test_no_timers__said_with_what_is_missing(self):
        result = self.refused("timer_create", errno.EPERM, "run", "--hal", "timer", "--", program("shares"), "100")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertIn("1 thread got no timer, so hits are missing: a system call filter", text(result.stderr))


if __name__ == "__main__":
    harness.main()
