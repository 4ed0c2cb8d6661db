#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Options and arguments: what is wrong is named with what is allowed, and nothing is started."""
import json
import os
import pathlib
import sys

import harness
from harness import CommandTest, for_each_user, text

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import validate_schema  # noqa: E402

# Options, and words that the message must have.
WRONG = [
    (["--bucket", "3"], ["--bucket 3:", "power of two", "1"]),
    (["--bucket", "0"], ["--bucket 0:", "power of two"]),
    (["--bucket", "-4"], ["--bucket"]),
    (["--bucket", "99999999999999999999"], ["--bucket", "power of two"]),
    (["--bucket", "4x"], ["--bucket"]),
    (["--bucket", ""], ["--bucket"]),
    (["--interval", "0"], ["--interval 0:", "100ns"]),
    (["--interval", "1"], ["--interval"]),
    (["--interval", "-1ms"], ["--interval"]),
    (["--interval", "1parsec"], ["--interval", "1ms"]),
    (["--interval", "nan"], ["--interval"]),
    (["-F", "0"], ["-F 0:", "997"]),
    (["-F", "-5"], ["-F"]),
    (["-F", "1e400"], ["-F"]),
    (["-F", "many"], ["-F", "997"]),
    (["-F", "997", "--interval", "1ms"], ["-F", "--interval"]),
    (["-c", "0", "-e", "page-faults"], ["-c", "1 or more"]),
    (["-c", "ten", "-e", "page-faults"], ["-c"]),
    (["-c", "10"], ["-c", "-F"]),
    (["-F", "997", "-e", "page-faults"], ["-F", "-c"]),
    (["-e", "no-such-source"], ["-e no-such-source: there is no such source", "ntprof sources"]),
    (["-e", ""], ["-e", "ntprof sources"]),
    (["-e", "time,"], ["-e"]),
    (["-e", "time,time"], ["-e", "twice"]),
    (["-e", "time,ProfileTime"], ["-e", "twice"]),
    (["-e", "time", "-e", "page-faults"], ["-e", "-e page-faults:", "with commas"]),
    (["-e", "breakpoint:"], ["-e", "breakpoint:"]),
    (["-e", "breakpoint:0xzz"], ["-e", "breakpoint:0xzz"]),
    (["-e", "," * 100], ["-e"]),
    (["--hal", "no-such-hal"], ["--hal", "no-such-hal", "perf"]),
    (["--hal", ""], ["--hal", "perf"]),
    (["-C", "99"], ["-C", "-C 99:", "there are 0"]),
    (["-C", "0-"], ["-C", "0,2-3"]),
    (["-C", "1-0"], ["-C"]),
    (["-C", ""], ["-C"]),
    (["-C", "0,"], ["-C"]),
    (["-C", "4294967296"], ["-C"]),
    (["-C", "-1"], ["-C"]),
    (["--per", "core"], ["--per", "--per core:", "cpu"]),
    (["--per"], ["--per: needs a value", "ntprof help run"]),
    (["--rows", "-1"], ["--rows -1:", "0 (all)"]),
    (["--rows", "many"], ["--rows"]),
    (["--rows"], ["--rows: needs a value"]),
    (["--by", "colour"], ["--by colour: allowed are function", "source"]),
    (["--by", "thread"], ["--by thread:", "--threads"]),
    (["--by", "function,cpu"], ["--by cpu: needs --per cpu"]),
    (["-o"], ["-o", "value"]),
    (["--no-such-option"], ["--no-such-option: no such option", "ntprof help run"]),
    (["-Z"], ["-Z: no such option", "ntprof help run"]),
    (["--c", "5"], ["--c: short for more than one option", "ntprof help run"]),
    (["--cx"], ["--cx: no such option"]),
    (["-Zq"], ["-Z: no such option"]),
    (["-qZ"], ["-Z: no such option"]),
    (["--quiet=1"], ["--quiet=1: takes no value", "ntprof help run"]),
    (["--hal", ""], ["--hal '':"]),
    (["--frequenzy", "99"], ["--frequenzy: no such option (did you mean --frequency?)", "ntprof help run"]),
    (["--durration=1s"], ["--durration=1s: no such option (did you mean --duration?)"]),
    (["-p", "1"], ["-p: what runs already: ntprof attach -p PID, or ntprof top -p PID"]),
    (["-a"], ["-a: the whole machine: ntprof system"]),
    (["--by", "symbol"], ["--by symbol: allowed are", "(did you mean function?)"]),
    (["--by", "process,srcline"], ["(did you mean line?)"]),
    (["--by", "dso"], ["(did you mean image?)"]),
    (["--by", "comm"], ["(did you mean process?)"]),
    (["--by", "Proccess"], ["(did you mean process?)"]),
    (["-e", "cpu-clock"], ["-e cpu-clock: there is no such source", "(did you mean time?)"]),
    (["-e", "time,faults"], ["-e faults:", "(did you mean page-faults?)"]),
    (["-e", "page-fault"], ["(did you mean page-faults?)"]),
    (["-e", "cs"], ["(did you mean context-switches?)"]),
    (["-e", "cpu-cycles"], ["(did you mean cycles?)"]),
    # What stands as a value and is none: -o -- COMMAND would write a file called so.
    (["-o"], ["-o: needs a value before --;", "./-x"]),
    (["-o", "-q"], ["-o: needs a value before -q;"]),
    (["--output", "--by"], ["--output: needs a value before --by;"]),
    (["--report", "--json"], ["--report: needs a value before --json;"]),
    (["-e", "-F"], ["-e: needs a value before -F;"]),
    (["--output=-x"], ["-x: starts with -", "./-x"]),
]


@for_each_user
class Options(CommandTest):
    def test_wrong_ones__are_named_and_the_command_is_not_started(self):
        for words, wanted in WRONG:
            # The last option takes the command as its value where one is missing.
            command = [] if words[-1] in ("--rows", "--per") else ["--", "touch", "started"]
            with self.subTest(words):
                result = self.profile(*words, *command)
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertTrue(said.startswith("ntprof: run: "), said)
                for word in wanted:
                    self.assertIn(word, said)
                self.assertEqual(result.stdout, b"")
                self.assert_nothing_left()

    def test_names_that_are_suggested__are_those_of_sources(self):
        listed = json.loads(self.ntprof("sources", "--json").stdout)["sources"]
        for name in (source["name"] for source in listed):
            if name.startswith("breakpoint:"):
                continue
            said = text(self.profile("-e", name + "y", "--", "true").stderr)
            self.assertIn(f"(did you mean {name}?)", said)

    def test_source_that_the_machine_lacks__says_why(self):
        listed = json.loads(self.ntprof("sources", "--json").stdout)
        lacking = [source for source in listed["sources"] if not source["supported"]]
        for source in lacking[:3]:
            result = self.profile("-e", source["name"], "--", "touch", "started")
            self.assertEqual(result.returncode, 125)
            self.assertIn(source["reason"], text(result.stderr))
            self.assert_nothing_left()

    def test_hostile_arguments__are_shown_escaped(self):
        for words in (["-e", "a\x1b[31mb\nc"], ["--bucket", "\x1b]0;x\x07"], ["--\x1bx"]):
            said = text(self.profile(*words, "--", "true").stderr)
            self.assertNotIn("\x1b", said)
            self.assertEqual(len(said.splitlines()), 1, said)

    def test_good_ones__in_all_spellings(self):
        for words in (["--bucket=4"], ["--bucket", "1M"], ["-F997"], ["-F", "1kHz"],
                      ["--frequency", "1k"], ["--interval", "250us"], ["-e", "ProfileTime"],
                      ["-e", "TIME"], ["--event=page-faults", "--count=10"], ["-C", "0"],
                      ["--cpu=0"], ["--hal", "perf"], ["--rows=0"], ["--output=x.pb.gz"],
                      ["--quiet"], ["--json"]):
            with self.subTest(words):
                result = self.profile(*words, "--", "true")
                self.assertEqual(result.returncode, 0, text(result.stderr))


@for_each_user
class OtherCommands(CommandTest):
    def refused(self, *words):
        """The one line that is said of these words."""
        result = self.ntprof(*words)
        said = text(result.stderr)
        self.assertEqual((result.returncode, result.stdout), (125, b""), (words, said))
        self.assertEqual(len(said.splitlines()), 1, said)
        return said

    def test_no_or_unknown_command__125_and_one_line(self):
        for words in ([], ["no-such"], ["\x1b[1m"], ["--no-such"]):
            self.assertNotIn("\x1b", self.refused(*words))

    def test_words_of_perf__told_what_to_type_instead(self):
        for words, wanted in ((["record", "-g", "true"], "; with callers: ntprof run -g -- COMMAND"),
                              (["stat", "true"], "ntprof run -e SOURCE --by source -- COMMAND"),
                              (["-g", "true"], "-g: callers are recorded by: ntprof run -g"),
                              (["--call-graph=dwarf"], "callers are recorded by: ntprof run -g"),
                              (["top", "--call-graph"], "top: --call-graph: callers are recorded by: "),
                              (["system", "--call-graph", "fp"], "system: --call-graph: callers are recorded by: "),
                              (["report", "-g"], "report: -g: callers are recorded by: ntprof run -g")):
            with self.subTest(words):
                self.assertIn(wanted, self.refused(*words))

    def test_commands_of_others__what_to_type_instead(self):
        for words, wanted in (
                (["script"], "script: the rows of a profile for other tools: ntprof export --format folded"),
                (["list"], "list: the sources that work here: ntprof sources"),
                (["probe"], "ntprof run -e function:NAME"), (["trace", "ls"], "records no single events"),
                (["sched", "record"], "-e context-switches"), (["mem"], "-e cache-misses"),
                (["c2c"], "-e cache-misses"), (["lock"], "ntprof run -- COMMAND"), (["evlist"], "--by source"),
                (["buildid-list"], "--by image"), (["archive"], "--symbolize"), (["inject"], "--symbolize"),
                (["kvm"], "ntprof system --kernel"), (["timechart"], "hits over time"),
                (["ftrace"], "ntprof system --kernel"), (["kmem"], "ntprof system --kernel"),
                (["bench"], "no benchmarks"), (["config"], "ntprof doctor"), (["data"], "ntprof export"),
                (["test"], "test: what works here: ntprof doctor; the program of that name: ntprof run -- test"),
                (["repotr"], "no command named repotr (did you mean report?); see: ntprof help"),
                ([""], "no command named ''; there are run, "), (["help", ""], "help: '': no such command"),
                (["report", ""], "report: '': cannot open it"),
                (["annotat"], "(did you mean annotate?)"), (["flamegraph"], "(did you mean export?)"),
                (["help", "diffs"], "help: diffs: no such command (did you mean diff?); see: ntprof help")):
            with self.subTest(words):
                self.assertIn(wanted, self.refused(*words))

    def test_options_before_the_command__the_line_to_type(self):
        for words, line in ((["-F", "99", "ls", "-l"], "-F: options stand behind a command: ntprof run -F 99 ls -l"),
                            (["-o", "x", "--", "sh", "-c", "a b"], "ntprof run -o x -- sh -c 'a b'"),
                            (["-p", "12"], "ntprof attach -p 12, or to look at it now: ntprof top -p 12"),
                            (["--pid=12", "-F", "99"], "ntprof attach --pid=12 -F 99, or to look at it now: ntprof "
                                                       "top --pid=12 -F 99"),
                            (["-F", "99", "-a"], "ntprof system -F 99"),
                            (["--json", "report", "x"], "ntprof report --json x"),
                            (["-o", "\x1b"], "ntprof run -o '\\x1b'")):
            with self.subTest(words):
                said = self.refused(*words)
                self.assertTrue(said.endswith(line + "\n"), said)

    def test_options_of_others__what_to_type_instead(self):
        for words, wanted in ((["report", "-i", "x"], "-i: the file is a word: ntprof report FILE"),
                              (["report", "--input=x"], "ntprof report FILE"),
                              (["annotate", "-i", "x", "f"], "ntprof annotate NAME FILE"),
                              (["diff", "-i", "x"], "ntprof diff OLD NEW"),
                              (["report", "--sort", "dso"], "--sort: what a row is: --by process,image,function"),
                              (["report", "--no-children"], "leave it out"), (["report", "--stdio"], "leave it out"),
                              (["report", "--dsos=libc"], "--image GLOB"), (["attach", "-a"], "ntprof system"),
                              (["report", "--ros", "3"], "(did you mean --rows?)"),
                              (["export", "--format", "collapsed"], "(did you mean folded?)"),
                              (["export", "--format", "flamegraph"], "(did you mean svg?)"),
                              (["export", "--format", "speedscop"], "(did you mean speedscope?)"),
                              (["export", "-o", "--format", "csv"], "-o: needs a value before --format;")):
            with self.subTest(words):
                self.assertIn(wanted, self.refused(*words))

    def test_program_as_first_word__is_run(self):
        (self.folder / "program").write_text("#!/bin/sh\necho \"$@\"\nexit 7\n")
        (self.folder / "program").chmod(0o755)
        for words, path in ((["./program", "-F", "two words"], None), (["program", "-F", "two words"], ".:/usr/bin")):
            with self.subTest(words):
                environment = dict(harness.bare_environment(), **({"PATH": path} if path else {}))
                result = self.ntprof(*words, env=environment)
                self.assertEqual((result.returncode, result.stdout), (7, b"-F two words\n"), text(result.stderr))
                said = text(result.stderr).splitlines()
                self.assertEqual(said[0], f"ntprof: running {words[0]}, short for: ntprof run -- {words[0]}")
                self.assertTrue((self.folder / "ntprof.pb.gz").exists())
                (self.folder / "ntprof.pb.gz").unlink()
        result = self.ntprof("./none")
        self.assertEqual(result.returncode, 127)
        self.assertIn("cannot run ./none: No such file", text(result.stderr))
        # Neither a folder nor what cannot be executed is a program.
        (self.folder / "plain").write_text("no program\n")
        (self.folder / "folder").mkdir()
        for name in ("plain", "folder"):
            result = self.ntprof(name, env=dict(harness.bare_environment(), PATH="."))
            self.assertEqual(result.returncode, 125)
            self.assertIn(f"no command named {name};", text(result.stderr))

    def test_keys__of_the_table(self):
        result = self.profile("--by", "process,image", "--json", "--report", "r.json", "--", "true")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["by"], "process,image")

    def test_help_and_version__on_standard_output(self):
        for words in (["help"], ["help", "run"], ["run", "--help"], ["--help"], ["version"],
                      ["--version"], ["-v"], ["help", "report"], ["report", "--help"]):
            result = self.ntprof(*words)
            self.assertEqual((result.returncode, result.stderr), (0, b""), words)
            self.assertIn(b"ntprof", result.stdout)

    def test_help_of_each_command__begins_with_examples(self):
        for words in (["help"], ["--help"], ["help", "run"], ["run", "--help"], ["help", "--help"],
                      ["version", "--help"], ["sources", "--help"], ["doctor", "--json", "--help"]):
            result = self.ntprof(*words)
            self.assertEqual((result.returncode, result.stderr), (0, b""), words)
            self.assertTrue(result.stdout.startswith(b"Examples\n  ntprof "), words)

    def test_what_plain_commands_do_not_take__125_and_its_name(self):
        for words in (["sources", "--jsn"], ["doctor", "x\x1b"], ["version", "--json"],
                      ["version", "1"], ["help", "-q"], ["help", "no-such"], ["help", "a", "b"],
                      ["sources", "--json=1"]):
            self.assertNotIn("\x1b", self.refused(*words))

    def test_sources__lists_time_and_reasons(self):
        listed = json.loads(self.ntprof("sources", "--json").stdout)
        sources = {source["name"]: source for source in listed["sources"]}
        self.assertTrue(sources["time"]["supported"])
        self.assertTrue(sources["page-faults"]["supported"])
        for source in sources.values():
            self.assertEqual(source["supported"], source["reason"] == "")
        table = text(self.ntprof("sources").stdout)
        for name in sources:
            self.assertIn(name, table)

    def test_json_of_sources_and_doctor__as_their_schemas_say(self):
        for command in ("sources", "doctor"):
            path = pathlib.Path(os.environ["NTPROF_SCHEMA"]).with_name(f"{command}.schema.json")
            schema = json.loads(path.read_text())
            printed = json.loads(self.ntprof(command, "--json").stdout)
            self.assertEqual(list(validate_schema.check(printed, schema, schema)), [])

    def test_context_switches__as_user_is_refused_with_the_setting(self):
        result = self.profile("-e", "context-switches", "-c", "1", "--", "sleep", "0.01")
        if self.is_user():
            self.assertEqual(result.returncode, 125)
            self.assertIn("perf_event_paranoid", text(result.stderr))
        else:
            self.assertEqual(result.returncode, 0, text(result.stderr))

    def test_doctor__says_what_works_and_what_is_refused(self):
        result = self.ntprof("doctor")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        said = text(result.stdout)
        self.assertIn("perf_event_paranoid", said)
        self.assertIn("Profiling works", said)
        self.assertNotRegex(said, r"(?m)^ *sim\b")
        self.assertEqual("no more, because: kernel.perf_event_paranoid" in said, self.is_user())
        told = json.loads(self.ntprof("doctor", "--json").stdout)
        perf, = (backend for backend in told["backends"] if backend["name"] == "perf")
        self.assertTrue(perf["usable"])
        self.assertEqual(perf["kernel"], not self.is_user())
        self.assertEqual("perf_event_paranoid" in perf["reason"], self.is_user())
        self.assertEqual((perf["error"], perf["cause"]),
                         ("EACCES", "perf_event_paranoid") if self.is_user() else ("", ""))
        commands = {command["name"]: command for command in told["commands"]}
        for name in ("run", "attach", "top"):
            self.assertEqual(commands[name]["backend"], "perf")
            self.assertTrue(commands[name]["scope"])
        self.assertEqual(commands["system"]["backend"], "" if self.is_user() else "perf")
        self.assertIn("time", [name for group in told["source_groups"] if not group["reason"]
                               for name in group["names"]])

    def test_doctor__lines_for_the_engine_that_it_runs_in(self):
        """Found by a variable that the engine sets: files of others cannot be made here."""
        environment = {**harness.bare_environment(), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        told = json.loads(self.ntprof("doctor", "--json", env=environment).stdout)["advice"]
        self.assertEqual([advice["subject"] for advice in told],
                         ["sysctl", "docker", "podman", "kubernetes", "systemd"])
        applies = [advice["subject"] for advice in told if advice["applies"]]
        self.assertEqual(applies, ["sysctl", "kubernetes"])
        lines = {advice["subject"]: " ".join(line["line"] for line in advice["lines"])
                 for advice in told}
        for subject, line in (("docker", "--cap-add PERFMON"), ("docker", "seccomp=profile.json"),
                              ("podman", "--cap-add PERFMON"), ("kubernetes", "securityContext"),
                              ("systemd", "AmbientCapabilities=CAP_PERFMON"),
                              ("systemd", "SystemCallFilter=perf_event_open")):
            self.assertIn(line, lines[subject])

    def test_breakpoints_that_never_fire__said_everywhere(self):
        environment = harness.never_firing(harness.bare_environment())
        why = "opens, but never fires: this machine does not pass debug registers through"
        result = self.profile("-e", "breakpoint:0x401136", "--", "touch", "started",
                              env=environment)
        self.assertEqual(result.returncode, 125)
        self.assertIn(f"-e breakpoint:0x401136: {why}", text(result.stderr))
        self.assert_nothing_left()
        sources = text(self.ntprof("sources", env=environment).stdout)
        self.assertRegex(sources, rf"(?m)^breakpoint:0xADDRESS .* no: {why}$")
        told = json.loads(self.ntprof("sources", "--json", env=environment).stdout)["sources"]
        self.assertIn(("breakpoint:0xADDRESS", False, why),
                      [(one["name"], one["supported"], one["reason"]) for one in told])
        self.assertIn(why, text(self.ntprof("doctor", env=environment).stdout))

    def test_report_of_bad_files__125_and_one_line(self):
        self.profile("-q", "--", "sh", "-c", f"exec {harness.BURN}")
        whole = (self.folder / "ntprof.pb.gz").read_bytes()
        bad = {"empty": b"", "cut": whole[:len(whole) // 2], "text": b"hello\n" * 100,
               "changed": whole[:40] + b"\xff" * 16 + whole[56:]}
        for name, content in bad.items():
            (self.folder / name).write_bytes(content)
        for name in [*bad, "missing", "/", "/dev/null", "/etc/passwd"]:
            with self.subTest(name):
                result = self.ntprof("report", name)
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertEqual(result.stdout, b"")


if __name__ == "__main__":
    harness.main()
