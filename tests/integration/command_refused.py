#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof run where Linux refuses something: filters, limits, set-uid programs, other profilers."""
import errno
import json
import os
import pathlib
import resource
import shutil
import subprocess

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, text

BURN = ["sh", "-c", f"exec {harness.BURN}"]
FILE = "ntprof.pb.gz"


@for_each_user
class Filter(CommandTest):
    def refused(self, call, error, *words):
        return self.run_bare([harness.program("refuse"), call, str(error),
                              *self.arguments(*words)])

    def test_no_perf_events__said_before_the_command_starts(self):
        for error in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            with self.subTest(errno.errorcode[error]):
                result = self.refused("perf_event_open", error, "run", "--hal", "perf", "--", "touch", "started")
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertIn("perf_event_open", said)
                self.assertIn("seccomp", said)
                self.assert_nothing_left()

    def test_no_perf_events__doctor_and_sources_say_what_refuses(self):
        result = self.refused("perf_event_open", errno.EPERM, "doctor")
        self.assertEqual(result.returncode, 0)
        self.assertIn("seccomp", text(result.stdout))
        self.assertIn("to allow", text(result.stdout))
        self.assertRegex(text(result.stdout), "(?m)^  ntprof run      timer  programs that you start, in user mode$")
        told = json.loads(self.refused("perf_event_open", errno.ENOSYS, "doctor", "--json").stdout)
        perf, = (backend for backend in told["backends"] if backend["name"] == "perf")
        self.assertFalse(perf["usable"])
        commands = {command["name"]: command["backend"] for command in told["commands"]}
        self.assertEqual(commands, {"run": "timer", "attach": "", "system": "", "top": ""})
        self.assertTrue(told["works"])
        result = self.refused("perf_event_open", errno.EPERM, "sources")
        self.assertEqual(result.returncode, 125)

    def test_perf_events_taken_by_another__said(self):
        result = self.refused("perf_event_open", errno.EBUSY, "run", "--hal", "perf", "--", "touch", "started")
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertIn("for itself alone", said)
        self.assert_nothing_left()

    def backend(self, name, refused=(), doctor=("doctor", "--json")):
        """What doctor tells of a back end, when a call fails with an error."""
        result = self.refused(*refused, *doctor) if refused else self.ntprof(*doctor)
        told, = (one for one in json.loads(result.stdout)["backends"] if one["name"] == name)
        return told

    def test_no_bpf__doctor_names_what_refuses(self):
        wanted = {errno.EPERM: "seccomp filter refuses bpf", errno.ENOSYS: "seccomp filter hides bpf",
                  errno.ENOMEM: "control group", errno.EMFILE: "RLIMIT_NOFILE",
                  errno.EINVAL: "older than 5.15"}
        if self.is_user():
            wanted[errno.EPERM] = "lacks CAP_BPF"
        for error, words in wanted.items():
            with self.subTest(errno.errorcode[error]):
                told = self.backend("bpf", ("bpf", error))
                self.assertFalse(told["usable"])
                self.assertIn(words, told["reason"])
                self.assertTrue(told["remedy"])
                said = text(self.refused("bpf", error, "doctor").stdout)
                self.assertIn(words, said)
                self.assertIn("Profiling works", said)  # by another

    def test_hal_that_watches_nothing__refused_in_one_line_with_those_that_do(self):
        self.assertFalse(self.backend("bpf")["watches"])
        self.assertTrue(self.backend("perf")["watches"])
        for words in (["run", "--hal", "bpf", "--", "touch", "started"],
                      ["attach", "--hal=bpf", "-p", str(os.getpid())], ["system", "--hal", "bpf"],
                      ["top", "--hal", "bpf"]):
            with self.subTest(words[0]):
                result = self.ntprof(*words)
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertIn("watches no process; there are perf", said)
                self.assert_nothing_left()

    def test_doctor__no_back_end_that_watches__does_not_work(self):
        """However well bpf works: commands do not use it."""
        told = json.loads(self.refused("timer_create", errno.EPERM, "doctor", "--json").stdout)
        timer, = (backend for backend in told["backends"] if backend["name"] == "timer")
        self.assertEqual((timer["usable"], timer["error"]), (0, "EPERM"))
        self.assertIn("timer_create", timer["reason"])
        result = self.refused("perf_event_open", errno.EPERM, "attach", "-p", "1")
        self.assertEqual(result.returncode, 125)
        self.assertIn("cannot profile here; perf: ", text(result.stderr))

    def test_no_memfd_or_pidfd__works_or_says_what_fails(self):
        for call in ("memfd_create", "pidfd_open"):
            with self.subTest(call):
                result = self.refused(call, errno.EPERM, "run", "-v", "--", *BURN)
                said = text(result.stderr)
                self.assertIn(result.returncode, (0, 125), said)
                self.assertIn("ntprof: ", said)
                if result.returncode == 0:
                    # What could not be profiled must not look complete.
                    self.assertTrue("taken" in said and ("could not be profiled" in said or
                                                         "outside 0" in said), said)


@for_each_user
class Limits(CommandTest):
    def test_no_locked_memory_and_another_ntprof__works_or_says_it(self):
        def no_memory():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))

        first = self.start_profile("-q", "-o", "first.pb.gz", "--", "sh", "-c",
                                   "echo ready; read line", stdin=subprocess.PIPE,
                                   preexec_fn=no_memory)
        began = first.stdout.readline()
        second = self.profile("-v", "-o", "second.pb.gz", "--", *BURN, preexec_fn=no_memory)
        first.stdin.close()
        first.wait(harness.TIME_LIMIT_S)
        said = text(second.stderr)
        if second.returncode == 0:
            self.assertIn("taken", said)
            self.assert_profile_file(self.folder / "second.pb.gz")
        else:
            self.assertTrue(self.is_user(), said)
            self.assertEqual(second.returncode, 125)
            self.assertIn("perf_event_mlock_kb", said)
            self.assertIn("RLIMIT_MEMLOCK", said)
        if began:
            self.assertEqual(first.returncode, 1)  # read at the end of its input
            self.assert_profile_file(self.folder / "first.pb.gz")

    def test_two_at_once__both_have_their_own_statistics(self):
        ends = [self.start_profile("--json", "--report", f"{name}.json", "-o", f"{name}.pb.gz",
                                   "--", *BURN) for name in ("one", "two")]
        for end, name in zip(ends, ("one", "two")):
            self.assertEqual(end.wait(harness.TIME_LIMIT_S), 0)
            report = json.loads((self.folder / f"{name}.json").read_text())
            self.assert_statistics(report)
            self.assert_counts_time(report, harness.BURN_S)

    def test_few_descriptors__works_or_says_it(self):
        for limit in (8, 16, 32):
            with self.subTest(limit):
                result = self.profile("-v", "--", *BURN, preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_NOFILE, (limit, limit)))
                said = text(result.stderr)
                self.assertIn(result.returncode, (0, 125), said)
                if result.returncode == 125:
                    self.assertRegex(said, "descriptors|open files")
                else:
                    self.assertIn("taken", said)

    def run_with_descriptors(self, limit, *words):
        result = self.profile("-v", *words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                                 (limit, limit)))
        return result.returncode, text(result.stderr)

    def test_descriptors__where_some_are_enough_more_are(self):
        """Those that a watch takes leave enough for what comes after it."""
        limits = range(12, 24 + 2 * os.cpu_count())
        statuses = {limit: self.run_with_descriptors(limit, "--", "true")[0] for limit in limits}
        enough = min(limit for limit in limits if statuses[limit] == 0)
        self.assertEqual([limit for limit in limits if limit >= enough and statuses[limit] != 0], [])

    def test_too_few_descriptors_to_watch__timers_and_says_why(self):
        """What the events of a thread on all processors need depends on the machine: this finds the highest such
        limit, where a session can still measure what a hit costs."""
        limits = reversed(range(8, 24 + 2 * os.cpu_count()))
        perf = ["--hal", "perf", "-o", "/dev/null", "--", "true"]
        refused = (limit for limit in limits if "cannot watch" in self.run_with_descriptors(limit, *perf)[1])
        limit = next(refused, None)
        if limit is None:
            self.skipTest("back end perf watches nothing here")
        status, said = self.run_with_descriptors(limit, "--", "touch", "started")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, f"ntprof: timer \\(perf: .*RLIMIT_NOFILE is {limit}; raise the limit on open files")
        self.assertTrue((self.folder / "started").exists())
        (self.folder / "started").unlink()
        (self.folder / FILE).unlink()
        status, said = self.run_with_descriptors(limit, "-F", "max", "--", "true")
        self.assertEqual(status, 0, said)
        self.assertIn("what a hit costs cannot be measured here", said)
        (self.folder / FILE).unlink()
        status, said = self.run_with_descriptors(limit, "-e", "page-faults", "--", "touch", "started")
        self.assertEqual(status, 125, said)
        self.assertRegex(said, f"not started; perf: .*RLIMIT_NOFILE is {limit}; .*; timer: it counts only source time")
        self.assert_nothing_left()

    def test_little_address_space__ends_well_or_says_it(self):
        if "ASAN_OPTIONS" in os.environ:
            return  # which needs a lot of it
        for megabytes in (16, 64, 256):
            with self.subTest(megabytes):
                def little(size=megabytes << 20):
                    resource.setrlimit(resource.RLIMIT_AS, (size, size))

                result = self.profile("--", "true", preexec_fn=little)
                self.assertGreaterEqual(result.returncode, 0, text(result.stderr))
                self.assertTrue(result.stderr)


class SetUidProgram(CommandTest):
    def make_burner(self):
        """A set-uid program of root, and words that keep it busy and have it say who it is."""
        if not harness.is_root():
            self.skipTest("root must make a set-uid program")
        program = self.folder / "burner"
        shutil.copy(pathlib.Path("/usr/bin/python3").resolve(), program)
        os.chown(program, 0, 0)
        os.chmod(program, 0o4755)
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest("set-uid programs do not work in the folder for temporary files")
        return [str(program), "-S", "-c", "import os\nfor n in range(40): sum(range(200000))\n"
                "print(os.geteuid())"]


@for_each_user
class SetUid(SetUidProgram):
    def test_set_uid_program__its_loss_is_said_or_it_is_profiled(self):
        result = self.profile("--", *self.make_burner())
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        self.assertEqual(result.stdout, b"0\n")
        if self.is_user():
            self.assertNotIn("complete", said)
            self.assertRegex(said, "set-uid|other user|privilege")
        else:
            self.assertIn("burner", said)


class SetUidOfRoot(SetUidProgram):
    def test_set_uid_program_that_root_starts_as_another_user__true_reason_is_said(self):
        words = self.make_burner()
        result = self.profile("--", "setpriv", "--reuid", str(harness.USER), "--clear-groups", *words)
        said = text(result.stderr)
        self.assertEqual((result.returncode, result.stdout), (0, b"0\n"), said)
        self.assertIn("1 program could not be followed", said)
        self.assertIn("Linux ends the counters of such a process, also root's", said)
        self.assertNotIn("run ntprof as root", said)


@for_each_user_if_long
class OtherProfilers(CommandTest):
    def test_ntprof_within_ntprof__both_work(self):
        inner = self.arguments("run", "--json", "--rows", "0", "--report", "inner.json",
                               "-o", "inner.pb.gz", "--", *BURN)
        outer = self.report_json("--", *inner)
        self.assert_statistics(outer)
        report = json.loads((self.folder / "inner.json").read_text())
        self.assert_statistics(report)
        for one in (outer, report):
            self.assert_counts_time(one, harness.BURN_S)

    def test_perf_within_ntprof__both_work(self):
        perf = shutil.which("perf", path=harness.bare_environment()["PATH"])
        if perf is None or self.run_bare([perf, "record", "-e", "cpu-clock:u", "-o", "try",
                                          "true"]).returncode != 0:
            self.skipTest("no perf that works here")
        report = self.report_json("--", perf, "record", "-q", "-e", "cpu-clock:u", "-o",
                                  "perf.data", *BURN)
        self.assert_statistics(report)
        self.assert_counts_time(report, harness.BURN_S)
        self.assertGreater((self.folder / "perf.data").stat().st_size, 1000)


class Memory(CommandTest):
    # As root, the counters of the kernel's two gigabytes are too much for valgrind.
    user = harness.USER if harness.is_root() else None

    def test_short_run__leaks_nothing(self):
        if "ASAN_OPTIONS" in os.environ:
            return  # every test looks for leaks then
        valgrind = shutil.which("valgrind", path=harness.bare_environment()["PATH"])
        if valgrind is None:
            self.skipTest("no valgrind here")
        # What the kernel wrote into rings and probed memory looks undefined to valgrind.
        result = self.run_bare([valgrind, "--quiet", "--leak-check=full", "--error-exitcode=99",
                                "--undef-value-errors=no", "--log-file=log",
                                "--show-leak-kinds=definite,indirect",
                                "--errors-for-leak-kinds=definite,indirect",
                                *self.arguments("run", "-e", "time,page-faults", "--", "sh", "-c",
                                                "/bin/true; exit 3")])
        self.assertEqual(result.returncode, 3,
                         (self.folder / "log").read_text() + text(result.stderr))
        self.assert_profile_file(self.folder / FILE)


if __name__ == "__main__":
    harness.main()
