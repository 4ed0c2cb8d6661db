#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scripts/check_options.py and check_manual.py find what differs, and shells complete options and values that exist.

NTPROF is in the environment. Nothing of the tree is changed: the checks look at a copy.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
NTPROF = os.environ["NTPROF"]
SHELLS = ("bash", "zsh", "fish")


def run(*words, **options):
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, **options)


def missing_shells():
    return [shell for shell in SHELLS if shutil.which(shell) is None]


def last_word(line):
    """Of a command line, whose last quote may be open."""
    for quote in ("", "'", '"'):
        try:
            return shlex.split(line.rstrip("\n") + quote)[-1]
        except ValueError:
            pass
    return None


class Copy(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.tree)
        for name in ("docs", "include", "scripts", "tool"):
            shutil.copytree(TREE / name, self.tree / name)
        shutil.copy(TREE / "ARCHITECTURE.md", self.tree)

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
    def check(self, ntprof=NTPROF):
        done = run(sys.executable, self.tree / "scripts/check_options.py", ntprof)
        return done.returncode, done.stdout

    def assert_fault(self, said, text):
        self.assertIn(text + "\n", said)

    def test_difference_in_any_page__fault_that_names_it(self):
        self.change("docs/man/ntprof-run.1", ".It Fl -bucket Ar bytes\n", ".It Fl -bucket\n")
        self.change("docs/man/ntprof-attach.1", ".It Fl -hal Ar name\n", "")
        self.change("docs/man/ntprof-attach.1", ".Op Fl -every Ar time\n", "")
        self.change("docs/man/ntprof-sources.1", ".Op Fl -json\n", ".Op Fl -json\n.Op Fl -bare\n")
        self.change("docs/man/ntprof-doctor.1", "$ ntprof doctor --json", "$ ntprof doctor --jsn")
        self.change("docs/man/ntprof.1", ".It Cm report\n", ".It Cm reports\n")
        self.change("docs/man/ntprof-run.1", ".Xr ntprof-report 1", ".Xr ntprof-reports 1")
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assert_fault(said, "run: --bucket takes a value, not so in docs/man/ntprof-run.1")
        self.assert_fault(said, "attach: --hal is not in docs/man/ntprof-attach.1")
        self.assert_fault(said, "attach: --every is not in the synopsis of docs/man/ntprof-attach.1")
        self.assert_fault(said, "sources: --bare is in the synopsis of docs/man/ntprof-sources.1 and not "
                          "in its help")
        self.assert_fault(said, "doctor: an example in docs/man/ntprof-doctor.1 has --jsn, which its "
                          "help has not")
        self.assert_fault(said, "report: docs/man/ntprof.1 has no line \\.It Cm report")
        self.assert_fault(said, "docs/man/ntprof-run.1: there is no ntprof-reports(1)")

    def test_difference_in_the_command__fault_that_names_it(self):
        ntprof = self.filtered("ntprof", NTPROF, "/--max-memory/d; s/^      --every TIME/      --every     /; "
                               "s/^  version .*/&\\n  push      sends it/")
        status, said = self.check(ntprof)
        self.assertEqual(status, 1)
        self.assert_fault(said, "run: --max-memory is in docs/man/ntprof-run.1 and not in its help")
        self.assert_fault(said, "run: --every takes no value, not so in docs/man/ntprof-run.1")
        self.assert_fault(said, "push: there is no docs/man/ntprof-push.1")
        self.assert_fault(said, "push: ntprof help push does not say how it is called")


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
        self.change("docs/man/ntprof-top.1", ".Po\n.Ql * ,\n.Ql \\&? ,\n", ".Po\n.Ql * , Ql \\&? ,\n")
        self.change("ARCHITECTURE.md", "| `ExEndProcess` |", "| `ExEndProcesses` |")
        self.change("include/ntprof/session.h", "const char *ntprof_version(void);",
                    "const char *ntprof_version(void);\nint ntprof_new(void);")
        status, said = self.check()
        self.assertEqual(status, 1)
        for text in ("NtStopProfile: the synopsis of NtStartProfile.3 is not the header's",
                     "NtStartProfile: statuses of NtStartProfile.3 are",
                     "NtStartProfile.3: the example does not compile",
                     "NtStartProfile.3: start-thrice is no rule",
                     "ntprof_session_options: no page has its member simulation_seed",
                     "notification.h: no page has NTPROF_PROCESS_NAME",
                     "ntprof_source_lookup: ntprof_source_lookup.3 does not have text",
                     "ntprof_buffer_alloc.3: does not say at which level",
                     "ntprof-top.1: the quote ends at the end of the line: .Ql * , Ql",
                     "ntprof-profile.5: does not have LABEL_PROCESS, process",
                     "ntprof-profile.5: does not have the key kernel_included of a source",
                     "ntprof-profile.5: ntprof.report has a member row_count, which is not documented",
                     "ntprof-profile.5: ntprof.report has no member rows_count",
                     "docs/man/meson.build: the other names of ntprof_session_watch.3 are",
                     "ExEndProcess: the table of ARCHITECTURE.md, Embedding, has it 0 times",
                     "ExEndProcesses: is in the table of ARCHITECTURE.md, Embedding, and not in <ntprof/core.h>",
                     "ntprof_new: no page has it in its NAME"):
            self.assertIn(text, said)


class Complete(unittest.TestCase):
    """What ntprof --complete answers, whatever shell asks (tool/cli/complete.h)."""

    def answer(self, *words):
        done = run(NTPROF, "--complete", *words)
        self.assertEqual(done.returncode, 0)
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def test_place_of_the_word__decides_what_is_offered(self):
        for words, wanted in ((["run", ""], [":program 2"]),
                              (["run", "--", "--max"], [":program 3"]),
                              (["run", "-F", "5k", "slee"], [":program 4"]),
                              (["run", "-F5k", "slee"], [":program 3"]),
                              (["run", "-qF", "5k", "slee"], [":program 4"]),
                              (["run", "--frequency=5k", "slee"], [":program 3"]),
                              (["run", "--debuginfod", "slee"], [":program 3"]),
                              (["run", "sleep", "-o", ""], [":program 2"]),
                              (["run", "--hal", ""], ["perf", "timer", "sim"]),
                              (["run", "--hal=t"], ["--hal=perf", "--hal=timer", "--hal=sim"]),
                              (["run", "-qo", ""], [":file 0"]),
                              (["run", "-qoa"], [":file 3"]),
                              (["run", "-oa=b"], [":file 2"]),
                              (["run", "--output=a"], [":file 9"]),
                              (["run", "-qF9"], ["-qF997", "-qF5k", "-qFmax"]),
                              (["report", "-q9"], [*self.answer("report", "-")]),
                              (["run", "--quiet="], []),
                              (["run", "--per", ""], ["cpu"]),
                              (["store", "stat", ""], ["sqlite:", "clickhouse://"]),
                              (["store", "add", "sqlite:x", "one", ""], [":profile 0"]),
                              (["serve", "sqlite:x", ""], []),
                              (["report", "--", "-"], [":profile 0"]),
                              (["annotate", "--image-dir", ""], [":folder 0"]),
                              (["annotate", "--objdump", ""], [":profile 0"]),
                              (["annotate", "--objdump="], [":executable 10"]),
                              (["agent", "--host", ""], [":host 0"]),
                              (["report", "--host", ""], [":host 0"]),
                              (["report", "-"], [*self.answer("report", "--b")]),
                              (["no-such-command", ""], []), ([], [])):
            with self.subTest(words):
                with tempfile.TemporaryDirectory() as folder:
                    done = run(NTPROF, "--complete", *words, cwd=folder)
                self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()], wanted)

    def test_processors__those_that_are_online(self):
        with tempfile.NamedTemporaryFile("w") as online:
            online.write("0,2-3,65\n")
            online.flush()
            # The processors that it may run on are online in any case.
            alone = ["taskset", "-c", "0", "unshare", "--mount"]
            alone += [] if os.geteuid() == 0 else ["--map-root-user"]
            done = run(*alone, "sh", "-c", 'mount --bind "$0" /sys/devices/system/cpu/online || exit 77; exec "$@"',
                       online.name, NTPROF, "--complete", "run", "-C", "")
        if done.returncode != 0:
            self.skipTest(f"no mount namespace can be made here: {done.stdout}")
        self.assertEqual(done.stdout.split(), ["0", "2", "3", "65"])

    def test_actions_of_a_store__are_those_of_its_help(self):
        usage = re.findall(r"^ *(?:usage: )?ntprof store ([a-z|]+) URL", run(NTPROF, "help", "store").stdout, re.M)
        self.assertEqual(sorted(self.answer("store", "")), sorted("|".join(usage).split("|")))

    def test_list__its_last_item_with_what_is_before_it(self):
        items = self.answer("report", "--by", "")
        self.assertEqual(self.answer("report", "--by", "image,cpu,l"), ["image,cpu," + item for item in items])
        self.assertEqual(self.answer("report", "--by=image,"), ["--by=image," + item for item in items])

    def test_word_without_a_command__is_a_command_or_an_option(self):
        self.assertEqual(self.answer("--"), ["--help", "--version"])
        self.assertIn("attach", self.answer(""))
        self.assertEqual(self.answer("help", ""), self.answer(""))


@unittest.skipIf(missing_shells(), f"not installed: {missing_shells()}")
class Shells(unittest.TestCase):
    """What the three shells complete is what the command takes."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def ask(self, *words, commands=pathlib.Path(NTPROF).parent):
        """commands: the folder that has ntprof."""
        done = subprocess.run([sys.executable, TREE / "scripts/complete_in_shell.py", *words],
                              stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, timeout=120,
                              cwd=self.folder, env=dict(os.environ, PATH=f"{commands}:{os.environ['PATH']}"))
        self.assertEqual(done.returncode, 0)
        return done.stdout.split("\f\n")

    def complete(self, shell, *lines):
        return [{word.rstrip() for word in answer.splitlines()} - {""}
                for answer in self.ask(shell, TREE / "completions", *lines)]

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

    def test_commands_and_their_options__are_those_of_the_help(self):
        commands = re.findall(r"^  (?!ntprof)([a-z]+)  ", run(NTPROF, "help").stdout, re.M)
        lines = [("ntprof ", commands)]
        for command in commands:
            text = run(NTPROF, "help", command).stdout
            names = re.findall(r"^ {2,6}(?:(-\w), )?(--[a-z-]+)", text, re.M)
            lines.append((f"ntprof {command} -", {"--help"} | {name for pair in names for name in pair if name}))
        self.check(lines)

    def test_value_behind_an_equals_sign__is_completed(self):
        for shell in SHELLS: # bash has only what is behind the sign in its place
            found, = self.complete(shell, "ntprof run --hal=ti")
            self.assertIn(found, ({"--hal=timer"}, {"timer"}))

    def check_line(self, lines, **options):
        """lines: pairs of a line and the last word of what it becomes."""
        for shell in SHELLS:
            found = self.ask("--line", shell, TREE / "completions", *(line for line, _ in lines), **options)
            self.assertEqual(len(found), len(lines))
            for (line, wanted), became in zip(lines, found):
                with self.subTest(shell=shell, line=line):
                    self.assertEqual(last_word(became), wanted)

    def test_value_behind_its_letter_or_name__is_completed_the_same(self):
        for name in ("alpha", "one=1", "two words"):
            (self.folder / name).write_text("")
        (self.folder / "in side").mkdir()
        self.check_line([(line + begun, before + whole)
                         for begun, whole in (("al", "alpha"), ("one=", "one=1"), ("two\\ w", "two words"),
                                              ("'two w", "two words"), ("in", "in side/"))
                         for line, before in (("ntprof run -o ", ""), ("ntprof run -o", "-o"),
                                              ("ntprof run -qo", "-qo"), ("ntprof run --output=", "--output="))] +
                        [("ntprof system -qepage", "-qepage-faults"), ("ntprof run --hal=ti", "--hal=timer")])

    def test_names_that_a_shell_reads_otherwise__are_quoted(self):
        command = self.folder / "ntprof"
        names = ["two words/", "dev-a\\x2db.slice/", "it's/", "$(touch ran)/", "a=b;c=d/"]
        command.write_text("#!/bin/sh\ncat <<'END'\n" + "".join(name + "\n" for name in names) + "END\n")
        command.chmod(0o755)
        self.check_line([(f"ntprof system -G {begun}", whole)
                         for begun, whole in zip(("tw", "de", "it", "'$", "a="), names)] +
                        [("ntprof system -G dev-a\\\\x", names[1]), ("ntprof system -G 'dev-a\\x", names[1]),
                         ("ntprof system -G \"it's", names[2])], commands=self.folder)
        self.assertFalse((self.folder / "ran").exists())

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
            for line in ("ntprof run git --ver", "ntprof run -F 5k -- git --ver",
                         "ntprof run --hal=perf --output=a -- git --ver"):
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
