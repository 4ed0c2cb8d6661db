#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""-e function:NAME and -e uprobe:IMAGE+OFFSET: calls of a function, each counted, in all that is profiled."""
import json
import pathlib
import shutil
import subprocess

import harness
from harness import CommandTest, for_each_user, text, wait_for

CALLS = 100
THREADS = 2
ALL = CALLS * (3 + THREADS)  # main, its threads, the child, and what that becomes


def caller():
    return harness.program("function_caller")


def fixed_caller():
    return harness.program("function_caller_fixed")


class Functions(CommandTest):
    def rows(self, report):
        return [(row["function"], row["hits"]) for row in report["rows"]]

    def assert_exact(self, report, hits):
        self.assert_statistics(report)
        source = report["sources"][0]
        self.assertEqual([source[name] for name in ("expected", "taken", "counted", "lost")],
                         [hits, hits, hits, 0], source)
        self.assertEqual(self.rows(report), [("counted", hits)])

    def refused(self, *words, **given):
        result = self.ntprof(*words, **given)
        self.assertEqual(result.returncode, 125, text(result.stderr))
        self.assert_nothing_left()
        return text(result.stderr)

    def start_waiting(self, program):
        waiting = self.start([program, str(CALLS), str(THREADS), "wait"], stdin=subprocess.PIPE)
        self.assertEqual(waiting.stdout.readline(), b"ready\n")
        return waiting

    def attach(self, source, *waiting):
        """What a profile of them has, from when they wait to their ends."""
        pids = [word for one in waiting for word in ("-p", one.pid)]
        report = self.folder / "report.json"
        child = self.start(self.arguments("attach", "-e", source, "--every", "100ms", "--json", "--rows", "0",
                                          "--report", report, *pids))
        wait_for(lambda: (self.folder / "ntprof.pb.gz").exists() or child.poll() is not None, "the first file")
        for one in waiting:
            one.stdin.close()
            one.wait(harness.TIME_LIMIT_S)
            one.stdin = None
            self.assertEqual(one.returncode, 0)
        _, errors = child.communicate(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(child.returncode, 0, text(errors))
        return json.loads(report.read_text())


class Uprobes(Functions):
    def test_run__threads_fork_and_exec__each_call(self):
        self.need_uprobes()
        for program in (caller(), fixed_caller()):
            report = self.report_json("-e", "function:counted", "--", program, CALLS, THREADS)
            self.assertEqual(report["sources"][0]["name"], "function:counted")
            self.assert_exact(report, ALL)

    def test_function_of_an_image__spaces_and_colons_in_its_path(self):
        self.need_uprobes()
        folder = self.folder / "a +b"
        folder.mkdir()
        shutil.copy(caller(), folder / "c d")
        report = self.report_json("-e", f"function:{folder}/c d:counted", "--", folder / "c d", CALLS)
        self.assert_exact(report, CALLS)

    def test_several__each_its_own(self):
        self.need_uprobes()
        report = self.report_json("-e", "function:counted,function:space::mangled", "--", caller(), CALLS, THREADS)
        self.assertEqual([source["taken"] for source in report["sources"]], [ALL, 2])

    def test_every_tenth__a_tenth(self):
        self.need_uprobes()
        report = self.report_json("-e", "function:counted", "-c", 10, "--", caller(), CALLS)
        self.assertEqual(report["sources"][0]["taken"], CALLS // 10)

    def test_attach_to_two__each_call_of_both(self):
        self.need_uprobes()
        report = self.attach("function:counted", self.start_waiting(caller()), self.start_waiting(caller()))
        self.assert_exact(report, 2 * ALL)

    def test_system__calls_of_all(self):
        self.need_uprobes()
        shutil.copy(caller(), self.folder / "alone")
        report = self.folder / "report.json"
        child = self.start(self.arguments("system", "-e", f"function:{self.folder}/alone:counted", "--every", "100ms",
                                          "--json", "--rows", "0", "--report", report))
        wait_for(lambda: (self.folder / "ntprof.pb.gz").exists() or child.poll() is not None, "the first file")
        result = self.run_bare([self.folder / "alone", str(CALLS), str(THREADS)])
        self.assertEqual(result.returncode, 0)
        child.terminate()
        _, errors = child.communicate(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(child.returncode, 0, text(errors))
        report = json.loads(report.read_text())
        self.assert_statistics(report)
        self.assertEqual(self.rows(report), [("counted", ALL)])

    def test_no_instruction__refused(self):
        self.need_uprobes()
        for image, why in ((self.folder / "none", "cannot be opened"), (self.folder, "no regular file")):
            self.assertIn(why, self.refused("run", "-e", f"uprobe:{image}+0x10", "--", caller(), CALLS))


class Breakpoints(Functions):
    user = harness.USER if harness.is_root() else None  # root has uprobes

    def test_run_of_a_program_at_a_fixed_address__each_call(self):
        self.need_breakpoints()
        self.assert_exact(self.report_json("-e", "function:counted", "--", fixed_caller(), CALLS, THREADS), ALL)

    def test_attach__each_call(self):
        self.need_breakpoints()
        # The last ones run after an exec, elsewhere unless addresses are not random (setarch -R).
        fixed = int(pathlib.Path("/proc/self/personality").read_text(), 16) & 0x0040000
        calls = ALL if fixed else ALL - CALLS
        self.assert_exact(self.attach("function:counted", self.start_waiting(caller())), calls)

    def test_attach_to_a_file_on_overlayfs__each_call(self):
        """Its mappings show another device than stat of the file."""
        self.need_breakpoints()
        as_root = {"user": None, "group": None, "extra_groups": None}
        script = ('mount -t tmpfs none "$1" && mkdir "$1/a" "$1/b" "$1/new" && mount -t tmpfs none "$1/a" && '
                  'cp "$2" "$1/a/caller" && mount -t overlay -o "lowerdir=$1/a:$1/b" overlay "$1/new" && '
                  'exec setpriv --reuid=$3 --regid=$3 --clear-groups "$1/new/caller" "$4" 0 wait')
        if not harness.is_root():
            self.skipTest("only root mounts a file system")
        waiting = self.start(["unshare", "--mount", "sh", "-c", script, "sh", self.folder, caller(),
                              str(harness.USER), str(CALLS)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, **as_root)
        if waiting.stdout.readline() != b"ready\n":
            self.skipTest("no overlay can be mounted here: " + text(waiting.stderr.read()))
        report = self.attach("function:counted", waiting)
        self.assert_exact(report, report["sources"][0]["expected"])
        self.assertGreaterEqual(report["sources"][0]["expected"], CALLS)

    def test_address_unknown__says_what_it_takes(self):
        said = self.refused("run", "-e", "function:counted", "--", caller(), CALLS)
        self.assertIn("uprobes take root", said)
        self.assertIn("-no-pie", said)

    def test_breakpoints_never_fire__refused_not_empty(self):
        environment = harness.never_firing(harness.bare_environment())
        said = self.refused("run", "-e", "function:counted", "--", fixed_caller(), CALLS, env=environment)
        self.assertIn("opens, but never fires: this machine does not pass debug registers through", said)
        self.assertIn("as root, a uprobe would count it", said)


@for_each_user
class Mistakes(Functions):
    def test_each__is_named(self):
        (self.folder / "script").write_text("#!/bin/sh\n")
        (self.folder / "script").chmod(0o755)
        script = self.folder / "script"
        rows = [
            (["run", "-e", "function:nowhere", "--", caller(), CALLS], "has no function of this name"),
            (["run", "-e", "function:counted", "--", script], "is no ELF program"),
            (["run", "-e", "function:counted", "--", "no-such-program"], "no program"),
            (["run", "-e", "function:/no/such:counted", "--", caller(), CALLS], "cannot be opened"),
            (["run", "-e", "uprobe:/bin/true", "--", caller(), CALLS],
             "the source does not take the value after the colon"),
        ]
        for words, why in rows:
            with self.subTest(words=words):
                result = self.ntprof(*words)
                self.assertEqual(result.returncode, 125)
                self.assertIn(why, text(result.stderr))


if __name__ == "__main__":
    harness.main()
