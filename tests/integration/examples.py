#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The programs in examples/ that run on the real back end, as root and as an ordinary user.

rules: create-buffer-too-small, create-buffer-too-small-defect, create-310, create-351
rules: hit-region, hit-region-end-inside, hit-behind-counters, hit-bug-check, hit-corruption
rules: hit-halted, halted-calls
"""
import errno
import json
import os
import re
import shutil
import sys
import threading
import urllib.error
import urllib.request

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, program, text

# In order; those around the limits of each rule that the demonstrations meet.
VERSIONS = ["3.10", "3.50", "3.51", "5.2", "6.0", "6.1", "6.2", "6.3", "1607", "1703", "1803", "1809",
            "newest"]
CLOCK_ALONE = VERSIONS[:2]
DEFECTIVE = {"1": VERSIONS[:VERSIONS.index("1607") + 1],
             "2": VERSIONS[VERSIONS.index("6.2"):VERSIONS.index("1803") + 1]}
ABIS = ["x64", "x86"] if sys.maxsize > 2**32 else ["x86"]
PAGE_BYTES = 4096
BUG_CHECK = re.compile(r"^bug check 0x0A \(0x([0-9a-f]+), (\d+), 1, 0x[0-9a-f]+\)", re.M)
CORRUPTION = re.compile(r"^memory corruption: NT would have added 1 at 0x([0-9a-f]+)", re.M)
UNCHANGED = "no byte outside the counter has changed: as published"


def irql(version, abi):
    if abi == "x64":
        return 15
    return 27 if VERSIONS.index(version) <= VERSIONS.index("5.2") else 31


@for_each_user_if_long
class Procrash(CommandTest):

    def setUp(self):
        super().setUp()
        if not os.path.exists(program("procrash")):
            self.skipTest("procrash has no code for this processor")

    def show(self, *words):
        """What procrash prints; it must find everything as published."""
        result = self.run_bare([program("procrash"), *words])
        errors = text(result.stderr)
        if "no breakpoints" in errors:
            self.skipTest(errors)
        said = text(result.stdout)
        self.assertEqual((result.returncode, errors), (0, ""), said)
        self.assertEqual(said.splitlines()[-1], UNCHANGED, said)
        return said

    def assert_counts(self, version, said, line):
        """Executions inside are counted, which the clock alone cannot make exactly."""
        inside = 0 if version in CLOCK_ALONE else 3
        self.assertIn(f"counter: {inside}\n", said)
        if inside:
            self.assertIn("hits: 3 counted, 1 outside\n", said)
        self.assertIn(line, said)

    def for_versions(self, number, is_defective, check, *options):
        versions = [name for name in VERSIONS if (name in DEFECTIVE[number]) == is_defective]
        for version in versions:
            for abi in ABIS:
                with self.subTest(version=version, abi=abi):
                    check(version, abi, self.show(number, "--nt", version, "--abi", abi, *options))

    def check_bug_check(self, version, abi, said):
        found = BUG_CHECK.search(said)
        self.assertIsNotNone(found, said)
        self.assertEqual(int(found[1], 16) % PAGE_BYTES, 0, said)
        self.assertEqual(int(found[2]), irql(version, abi), said)
        self.assert_counts(version, said, "next call: STATUS_SYSTEM_SHUTDOWN\n")

    def check_corruption(self, version, _, said):
        found = CORRUPTION.search(said)
        self.assertIsNotNone(found, said)
        self.assertIsNone(BUG_CHECK.search(said), said)
        self.assertEqual(int(found[1], 16) % PAGE_BYTES, PAGE_BYTES // 2 + 4, said)
        self.assert_counts(version, said, "next call: STATUS_SYSTEM_SHUTDOWN\n")

    def check_refused(self, _version, _abi, said):
        self.assertIn("create: STATUS_BUFFER_TOO_SMALL\n", said)
        self.assertNotIn("executed", said)

    def check_outside(self, version, _, said):
        self.assertIn("create: STATUS_SUCCESS\n", said)
        self.assertIn("nothing outside the region was counted\n", said)
        self.assert_counts(version, said, "next call: STATUS_SUCCESS\n")

    def test_partial_bucket__defective_version__bug_check(self):
        self.for_versions("1", True, self.check_bug_check)

    def test_partial_bucket__defective_version_and_middle_of_page__corruption(self):
        self.for_versions("1", True, self.check_corruption, "--corrupt")

    def test_partial_bucket__mended_version__refused(self):
        self.for_versions("1", False, self.check_refused)
        self.for_versions("1", False, self.check_refused, "--corrupt")

    def test_region_end__defective_version__bug_check(self):
        self.for_versions("2", True, self.check_bug_check)

    def test_region_end__defective_version_and_middle_of_page__corruption(self):
        self.for_versions("2", True, self.check_corruption, "--corrupt")

    def test_region_end__other_version__is_outside(self):
        self.for_versions("2", False, self.check_outside)
        self.for_versions("2", False, self.check_outside, "--corrupt")

    def test_no_version__rules_of_the_newest(self):
        self.check_refused("newest", None, self.show("1"))
        self.check_outside("newest", None, self.show("2"))

    def test_bad_words__usage(self):
        for words in ([], ["3"], ["1", "--nt"], ["1", "--nt", "9.9"], ["1", "--abi", "arm"],
                      ["--nt", "1607"], ["1", "--crash"], ["2", ""]):
            with self.subTest(words=words):
                result = self.run_bare([program("procrash"), *words])
                self.assertEqual(result.returncode, 2)
                self.assertEqual(text(result.stdout), "")
                self.assertTrue(text(result.stderr).startswith("usage: procrash 1|2 "))


@for_each_user_if_long
class Self(CommandTest):

    def test_self_profile__most_hits_where_most_work_is(self):
        self.check_hits([program("self")])

    def test_no_perf_events__counted_by_timers(self):
        for error in (errno.EPERM, errno.ENOSYS):
            with self.subTest(errno.errorcode[error]):
                self.check_hits([program("refuse"), "perf_event_open", str(error), program("self")])

    def test_neither_perf_events_nor_timers__both_refusals_told(self):
        result = self.run_bare([program("refuse"), "perf_event_open", "1",
                                program("refuse"), "timer_create", "1", program("self")])
        said = text(result.stderr)
        self.assertEqual(result.returncode, 1, said)
        self.assertRegex(said, "ntprof_session_open: .* perf: a seccomp filter refuses .*; timer: cannot make a timer")

    def check_hits(self, command):
        result = self.run_bare(command)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        hits = {name: int(count) for count, name
                in re.findall(r"(\d+) hits in (\w+)", text(result.stdout))}
        self.assertEqual(set(hits), {"mix", "collatz"}, text(result.stdout))
        self.assertGreater(hits["mix"], hits["collatz"])
        self.assertGreater(hits["collatz"], 0)


class Live(CommandTest):
    user = harness.USER if harness.is_root() else None  # they need no right

    def test_counters__read_while_they_count__they_grow_and_are_final_after_the_stop(self):
        result = self.run_bare([program("live")])
        said = text(result.stdout)
        self.assertEqual((result.returncode, text(result.stderr)), (0, ""), said)
        readings = [int(count) for count in re.findall(r"(\d+) hits so far", said)]
        last = int(re.search(r"(\d+) hits in all", said)[1])
        self.assertEqual(readings, sorted(readings))
        self.assertGreater(len({reading for reading in readings if reading > 0}), 1, said)
        self.assertGreaterEqual(last, readings[-1])


class Scoped(CommandTest):
    user = harness.USER if harness.is_root() else None  # they need no right

    def test_scope__left_by_end_and_by_exception__counts_only_inside(self):
        if not os.path.exists(program("scoped")):
            self.skipTest("no C++ compiler")
        result = self.run_bare([program("scoped")])
        said = text(result.stdout)
        self.assertEqual((result.returncode, text(result.stderr)), (0, ""), said)
        self.assertGreater(int(re.search(r"(\d+) hits while it ran", said)[1]), 0)
        self.assertEqual(int(re.search(r"(\d+) more when it did not", said)[1]), 0)
        self.assertGreater(int(re.search(r"(\d+) more until an exception", said)[1]), 0)


class PprofServer(CommandTest):
    user = harness.USER if harness.is_root() else None  # they need no right

    def setUp(self):
        super().setUp()
        if not os.path.exists(program("pprof_server")):
            self.skipTest("built without libmicrohttpd")
        self.server = self.start([program("pprof_server"), "0", *self.arguments()])
        self.url = text(self.server.stdout.readline()).strip()
        self.assertRegex(self.url, "^http://127.0.0.1:[0-9]+/debug/pprof/profile$")

    def get(self, query):
        """Status and body of an answer."""
        try:
            with urllib.request.urlopen(self.url + query, timeout=harness.TIME_LIMIT_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def test_profile__of_a_second__names_the_servers_work(self):
        status, body = self.get("?seconds=1")
        self.assertEqual(status, 200, body)
        (self.folder / "server.pb.gz").write_bytes(body)
        self.assert_profile_file(self.folder / "server.pb.gz")
        rows = json.loads(text(self.ntprof("report", "--json", "server.pb.gz").stdout))["rows"]
        self.assertEqual(rows[0]["function"], "mix", rows)

    def test_profile__go_tool_pprof__reads_the_url(self):
        go = shutil.which("go", path=harness.bare_environment()["PATH"])
        if go is None:
            self.skipTest("go is not installed")
        result = self.run_bare([go, "tool", "pprof", "-top", self.url + "?seconds=1"],
                               env={**harness.bare_environment(), "HOME": str(self.folder), "GOFLAGS": "-mod=mod"})
        if "no such tool" in text(result.stderr):
            self.skipTest("go has no pprof here")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertIn("mix", text(result.stdout))

    def test_bad_questions__answered_so(self):
        for query in ("?seconds=0", "?seconds=301", "?seconds=1s", "?seconds="):
            self.assertEqual(self.get(query)[0], 400, query)
        self.assertEqual(self.get("/elsewhere")[0], 404)

    def test_two_at_a_time__the_second_is_refused(self):
        answers = []
        first = threading.Thread(target=lambda: answers.append(self.get("?seconds=2")[0]))
        first.start()
        harness.wait_for(lambda: harness.children_of(self.server.pid), "the first profile")
        self.assertEqual(self.get("?seconds=1")[0], 503)
        first.join()
        self.assertEqual(answers, [200])

    def test_sigterm__ends_it(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(harness.TIME_LIMIT_S), 0)


@for_each_user
class WindowsStyle(CommandTest):

    def test_windows_style__code_section__profiled_to_the_end(self):
        result = self.run_bare([program("windows_style")])
        said = text(result.stdout)
        self.assertEqual((result.returncode, text(result.stderr)), (0, ""), said)
        self.assertRegex(said, r"source  0: interval [1-9]")
        self.assertTrue("the privilege is not held" in said or "interval: 5000 x 100 ns" in said or
                        ", the nearest here" in said, said)


class WindowsStyleAtLowRate(CommandTest):

    def test_windows_style__maximum_rate_lowered__goes_on(self):
        """As the kernel lowers it by itself, where hits take it long."""
        self.need_mount_namespace()
        rate = self.folder / "rate"
        rate.write_text("250\n")
        result = self.run_bare(["unshare", "--mount", "sh", "-ec", 'mount --bind "$1" "$2"; exec "$3"', "sh", rate,
                                "/proc/sys/kernel/perf_event_max_sample_rate", program("windows_style")])
        said = text(result.stdout)
        self.assertEqual((result.returncode, text(result.stderr)), (0, ""), said)
        self.assertIn("interval: 40000 x 100 ns, the nearest here\n", said)


if __name__ == "__main__":
    harness.main()
