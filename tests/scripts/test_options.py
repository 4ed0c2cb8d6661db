#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scripts/check_options.py and check_manual.py find what differs, and shells complete values that exist.

NTPROF and PRINT_OPTIONS are in the environment. Nothing of the tree is changed: the checks look at a copy.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
NTPROF = os.environ["NTPROF"]
PRINT_OPTIONS = os.environ["PRINT_OPTIONS"]
SHELLS = ("bash", "zsh", "fish")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, **options)


def missing_shells():
    return [shell for shell in SHELLS if shutil.which(shell) is None]


class Copy(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        for name in ("completions", "docs", "include", "scripts", "tool"):
            shutil.copytree(TREE / name, self.tree / name)

    def change(self, name, old, new):
        path = self.tree / name
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))

    def filtered(self, name, program, script):
        """A command that is PROGRAM with its output through sed."""
        path = self.tree / name
        path.write_text(f"#!/bin/sh\n'{program}' \"$@\" | sed '{script}'\n")
        path.chmod(0o755)
        return path


class CheckOptions(Copy):
    def check(self, *options, ntprof=NTPROF, print_options=PRINT_OPTIONS):
        done = run(sys.executable, self.tree / "scripts/check_options.py", *options, ntprof,
                   print_options)
        return done.returncode, done.stdout

    def assert_fault(self, said, text):
        self.assertIn(text + "\n", said)

    def test_difference_in_any_place__fault_that_names_it(self):
        self.change("docs/man/ntprof-run.1", ".It Fl -bucket Ar bytes\n", ".It Fl -bucket\n")
        self.change("docs/man/ntprof-attach.1", ".It Fl -hal Ar name\n", "")
        self.change("docs/man/ntprof-attach.1", ".Op Fl -every Ar time\n", "")
        self.change("docs/man/ntprof-sources.1", ".Op Fl -json\n", ".Op Fl -json\n.Op Fl -bare\n")
        self.change("docs/man/ntprof-doctor.1", "$ ntprof doctor --json", "$ ntprof doctor --jsn")
        self.change("docs/man/ntprof.1", ".It Cm report\n", ".It Cm reports\n")
        self.change("docs/man/ntprof-run.1", ".Xr ntprof-report 1", ".Xr ntprof-reports 1")
        ntprof = self.filtered("ntprof", NTPROF, "/--max-memory/d; s/^      --every TIME/      --every     /")
        status, said = self.check("--no-shells", ntprof=ntprof)
        self.assertEqual(status, 1)
        self.assert_fault(said, "run: --bucket takes a value, not so in docs/man/ntprof-run.1")
        self.assert_fault(said, "attach: --hal is not in docs/man/ntprof-attach.1")
        self.assert_fault(said, "attach: --every is not in the synopsis of docs/man/ntprof-attach.1")
        self.assert_fault(said, "sources: --bare is in the synopsis of docs/man/ntprof-sources.1 and not "
                          "in its parser")
        self.assert_fault(said, "doctor: an example in docs/man/ntprof-doctor.1 has --jsn, which its "
                          "parser has not")
        self.assert_fault(said, "report: docs/man/ntprof.1 has no line \\.It Cm report")
        self.assert_fault(said, "docs/man/ntprof-run.1: there is no ntprof-reports(1)")
        self.assert_fault(said, "run: --max-memory is not in ntprof help run")
        self.assert_fault(said, "run: --every takes a value, not so in ntprof help run")

    def test_option_gone_from_parser__fault_in_each_place(self):
        parser = self.filtered("print-options", PRINT_OPTIONS, "/^- bucket /d")
        status, said = self.check(print_options=parser)
        self.assertEqual(status, 1)
        for place in ("is in ntprof help run and not in its parser",
                      "is in docs/man/ntprof-run.1 and not in its parser",
                      *(f"is completed by {shell} and not in its parser" for shell in SHELLS
                        if shell not in missing_shells())):
            self.assert_fault(said, f"run: --bucket {place}")

    def test_option_gone_from_completions__fault_of_each_shell(self):
        if missing_shells():
            self.skipTest(f"not installed: {missing_shells()}")
        self.change("completions/ntprof.bash", "--max-memory --no-lines --help", "--max-memory --help")
        self.change("completions/_ntprof", "'--no-lines[", "'--lines[")
        self.change("completions/ntprof.fish", "-l no-lines", "-l lines")
        self.change("completions/_ntprof", "'doctor:", "'nurse:")
        status, said = self.check()
        self.assertEqual(status, 1)
        for shell in SHELLS:
            self.assert_fault(said, f"run: --no-lines is not completed by {shell}")
        self.assert_fault(said, "run: --lines is completed by fish and not in its parser")
        self.assert_fault(said, "doctor: not completed by zsh")
        self.assert_fault(said, "nurse: no command, but completed by zsh")

    def test_new_command__is_looked_for_everywhere(self):
        self.change("tool/cli/main.c", '{"version", cmd_version},',
                    '{"version", cmd_version}, {"push", cmd_push},')
        status, said = self.check("--no-shells")
        self.assertEqual(status, 1)
        self.assert_fault(said, "push: does not read its options by getopt_long, or does more before it")
        self.assert_fault(said, "push: there is no help of it")
        self.assert_fault(said, "push: there is no docs/man/ntprof-push.1")
        self.assert_fault(said, "push: ntprof help does not list it")


class CheckManual(Copy):
    def check(self):
        done = run(sys.executable, self.tree / "scripts/check_manual.py")
        return done.returncode, done.stdout

    def test_difference_in_any_place__fault_that_names_it(self):
        page = "docs/man/NtStartProfile.3"
        self.change(page, '.Fn NtStopProfile "HANDLE ProfileHandle"',
                    '.Fn NtStopProfile "HANDLE *ProfileHandle"')
        self.change(page, ".It Bq Er STATUS_PROFILING_NOT_STOPPED\n", ".It Bq Er STATUS_NOT_FOUND\n")
        self.change(page, "    HANDLE profile;\n", "    HANDLE profil;\n")
        self.change(page, "Rule start-twice", "Rule start-thrice")
        self.change("docs/man/ntprof_session_open.3", ".It Va simulation_seed\n", ".It Va seed\n")
        self.change("docs/man/ntprof_session_watch.3", "NTPROF_PROCESS_NAME", "NTPROF_PROCESS_NOM")
        self.change("docs/man/ntprof_source_lookup.3", "Fa text\n", "Fa words\n")
        self.change("docs/man/ntprof_buffer_alloc.3", "Level: passive.", "")
        self.change("docs/man/ntprof-profile.5", ".It Va process\n", ".It Va task\n")
        self.change("docs/man/ntprof-profile.5", ".It Va kernel_included\n1", ".It Va kernel\n1")
        self.change("docs/man/ntprof-profile.5", ".It Va row_count\n", ".It Va rows_count\n")
        self.change("docs/man/meson.build", "'ntprof_session_set_notify'", "")
        self.change("include/ntprof/session.h", "const char *ntprof_version(void);",
                    "const char *ntprof_version(void);\nint ntprof_new(void);")
        status, said = self.check()
        self.assertEqual(status, 1)
        for text in ("NtStopProfile: the synopsis of NtStartProfile.3 is not the header's",
                     "NtStartProfile: statuses of NtStartProfile.3 are",
                     "NtStartProfile.3: the example does not compile",
                     "NtStartProfile.3: start-thrice is no rule",
                     "ntprof_session_options: no page tells of its member simulation_seed",
                     "notification.h: no page tells of NTPROF_PROCESS_NAME",
                     "ntprof_source_lookup: ntprof_source_lookup.3 does not tell of text",
                     "ntprof_buffer_alloc.3: does not say at which level",
                     "ntprof-profile.5: does not tell of LABEL_PROCESS, process",
                     "ntprof-profile.5: does not tell of the key kernel_included of a source",
                     "ntprof-profile.5: ntprof.report has a member row_count, which is not told",
                     "ntprof-profile.5: ntprof.report has no member rows_count",
                     "docs/man/meson.build: the other names of ntprof_session_watch.3 are",
                     "ntprof_new: no page has it in its NAME"):
            self.assertIn(text, said)


@unittest.skipIf(missing_shells(), f"not installed: {missing_shells()}")
class Values(unittest.TestCase):
    """What the three shells complete for values is what the command takes."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def complete(self, shell, *lines):
        path = f"{pathlib.Path(NTPROF).parent}:{os.environ['PATH']}"
        done = subprocess.run([sys.executable, TREE / "scripts/complete_in_shell.py", shell,
                               TREE / "completions", *lines], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, timeout=120, cwd=self.folder,
                              env=dict(os.environ, PATH=path))
        self.assertEqual(done.returncode, 0)
        return [{word.rstrip() for word in answer.splitlines()} - {""}
                for answer in done.stdout.split("\f\n")]

    def check(self, lines):
        """lines: pairs of a line and what it is completed to."""
        for shell in SHELLS:
            for (line, wanted), found in zip(lines, self.complete(shell, *(line for line, _ in lines))):
                with self.subTest(shell=shell, line=line):
                    self.assertEqual(found, set(wanted))

    def allowed(self, *words):
        """What the command says is allowed when it is given something else."""
        said = run(NTPROF, *words).stdout
        said = re.split(r"there are |allowed are ", said.strip())[-1]
        return re.split(r",? ", re.sub(r", each once.*", "", said))

    def test_back_ends__are_those_that_the_command_knows(self):
        self.check([("ntprof run --hal ", self.allowed("run", "--hal", "?", "true"))])

    def test_keys_and_formats__are_those_that_the_command_knows(self):
        lines = []
        for words in (["report", "--by"], ["diff", "--by"], ["export", "--format"]):
            names = self.allowed(*words, "?")
            names = [name for name in names if re.fullmatch("[a-z]+(-[a-z]+)*", name)]
            self.assertGreater(len(names), 5)
            lines.append((f"ntprof {' '.join(words)} ", names))
        self.check(lines)

    def test_sources__are_those_that_work_here(self):
        listed = json.loads(run(NTPROF, "sources", "--json").stdout)["sources"]
        names = [source["name"] for source in listed
                 if source["supported"] and ":" not in source["name"]]
        self.check([("ntprof run -e ", names),
                    ("ntprof system --event mi", [name for name in names if name.startswith("mi")])])
        for shell in SHELLS: # fish completes the whole list, zsh what is behind its last comma
            found, = self.complete(shell, "ntprof run -e time,page")
            self.assertIn(found, ({"time,page-faults"}, {"page-faults"}))

    def test_profiles__are_offered(self):
        for name in ("one.pb.gz", "two.txt", "three.pb.gz.old"):
            (self.folder / name).write_text("")
        for shell in SHELLS:
            found, = self.complete(shell, "ntprof report ")
            self.assertIn("one.pb.gz", found)
        self.check([("ntprof report one", ["one.pb.gz"])])

    def test_functions_to_annotate__are_those_with_hits(self):
        shutil.copy(TREE / "tests/golden/foreign/gperftools.pb.gz", self.folder / "ntprof.pb.gz")
        for shell in SHELLS:
            found, some = self.complete(shell, "ntprof annotate ", "ntprof annotate tw")
            self.assertLessEqual({"spin", "twist", "ntprof.pb.gz"}, found)
            self.assertEqual(some, {"twist"})

    def test_processes__are_those_that_run(self):
        child = subprocess.Popen(["sleep", "100"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        for shell in SHELLS:
            found, = self.complete(shell, f"ntprof attach -p {str(child.pid)[:-1]}")
            self.assertIn(str(child.pid), found)

    def test_program_of_run__is_completed_as_ever(self):
        for shell in SHELLS:
            for line in ("ntprof run git --ver", "ntprof run -F 5k -- git --ver"):
                with self.subTest(shell=shell, line=line):
                    found = self.complete(shell, line.replace("git --ver", "slee"))[0]
                    self.assertIn("sleep", found)

    def test_options_without_a_command__are_those_of_main(self):
        for shell in SHELLS:
            found, = self.complete(shell, "ntprof --")
            self.assertEqual(found & {"--help", "--version", "--json"}, {"--help", "--version"})
        for word in ("--help", "--version"):
            self.assertEqual(run(NTPROF, word).returncode, 0)

    def test_options_of_the_program__are_not_ours(self):
        self.check([("ntprof run -- sleep --max-m", []), ("ntprof run sleep --max-m", [])])


if __name__ == "__main__":
    unittest.main()
