#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The command where Linux refuses something: each environment of environments.py, entered for real.

doctor, sources and run either answer, or print one line that says what failed, on what, why, and what to do. A program
runs, or the line says that it was not started. What doctor says of run is what run then does.
"""
import json
import os
import pathlib
import subprocess
import sys

import environments
import harness
from harness import CommandTest, text

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden"))
import validate_schema  # noqa: E402

SHELL = "/bin/dash"
PROGRAM = [SHELL, "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; echo ran; exit 7"]
NO_SANITIZER = "AddressSanitizer needs /proc, terabytes of addresses and much memory"  # may_skip.txt names it
SCHEMA = json.loads(pathlib.Path(os.environ["NTPROF_SCHEMA"]).with_name("doctor.schema.json").read_text())


class EnvironmentTest(CommandTest):
    environment = None

    def setUp(self):
        if "ASAN_OPTIONS" in os.environ and (
                not self.environment.proc or "AS" in self.environment.limits or "memory" in self.environment.cgroup):
            self.skipTest(NO_SANITIZER)
        super().setUp()
        self.folder.chmod(0o777)
        files = [*harness.command_files(), SHELL, "/bin/true"]
        self.entered = environments.Entered(self.environment, files, [harness.stage()])
        self.entered.__enter__()
        self.addCleanup(self.entered.__exit__)
        if self.entered.why:
            self.skipTest(self.entered.why)

    def ntprof(self, *words, **given):
        variables = harness.without_leak_check(harness.bare_environment())
        if not self.environment.proc:
            variables["LD_LIBRARY_PATH"] = str(harness.stage() / "src")  # $ORIGIN needs /proc
        result = self.entered.run(self.arguments(*words), cwd=self.folder, env=variables,
                                  timeout=harness.TIME_LIMIT_S, **given)
        self.assertGreaterEqual(result.returncode, 0, text(result.stderr))
        self.assertNotEqual(result.returncode, 99, text(result.stderr))
        return result

    def assert_refusal(self, result, *words):
        """One line, and the right status."""
        said = text(result.stderr)
        self.assertEqual((result.returncode, result.stdout), (125, b""), said)
        self.assertRegex(said, r"\Antprof: [a-z]+: [^\n]+\n\Z")
        for word in words:
            self.assertIn(word, said)

    def doctor(self):
        """What it says, as text and as JSON, which are of one mind."""
        result = self.ntprof("doctor")
        said = text(result.stdout)
        self.assertEqual(result.stderr, b"")
        self.assertEqual("Profiling works" in said.splitlines()[-1], result.returncode == 0, said)
        self.assertIn(result.returncode, (0, 125))
        printed = self.ntprof("doctor", "--json")
        self.assertEqual((printed.returncode, printed.stderr), (result.returncode, b""))
        told = json.loads(printed.stdout)
        self.assertEqual(list(validate_schema.check(told, SCHEMA, SCHEMA)), [])
        self.assertEqual(told["works"], result.returncode == 0)
        return said, told

    def profile_path(self):
        """Of root only in a read-only one: devices' memory can still be written."""
        if not self.environment.read_only:
            return str(self.folder / "p")
        path = pathlib.Path("/dev/shm") / f"{self.folder.name}.pb.gz"
        self.addCleanup(path.unlink, missing_ok=True)
        return str(path)


class Everywhere(EnvironmentTest):
    """One class for each environment is made of it below."""

    def test_doctor_sources_and_run(self):
        said, told = self.doctor()
        perf, = (backend for backend in told["backends"] if backend["name"] == "perf")
        if self.environment.refuses:
            self.assertIn(self.environment.refuses, said)
            self.assertTrue(perf["reason"] and perf["cause"], perf)
        else:
            self.assertEqual((perf["reason"], perf["error"], perf["cause"]), ("", "", ""))
        self.assertEqual(bool(perf["usable"]), self.environment.runs)
        self.check_sources(told)
        self.check_run(told)

    def check_sources(self, told):
        result = self.ntprof("sources")
        if told["failure"]:
            self.assert_refusal(result, "ntprof doctor")
        else:
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertRegex(text(result.stdout), r"(?m)^time ")

    def check_run(self, told):
        backend = {command["name"]: command for command in told["commands"]}["run"]["backend"]
        path = self.profile_path()
        result = self.ntprof("run", "-v", "-o", path, "--", *PROGRAM)
        said = text(result.stderr)
        if not backend:
            self.assertFalse(self.environment.runs)
            self.assert_refusal(result, f"cannot profile {SHELL}, which was not started", "to allow: ")
            return
        self.assertEqual((result.returncode, result.stdout), (7, b"ran\n"), said)
        self.assertRegex(said, rf"(?m)^ntprof: {backend}\b.* taken \d")
        report = self.ntprof("report", path)
        if self.environment.proc:
            self.assertEqual(report.returncode, 0, text(report.stderr))
        else:
            self.assertIn("/proc is not mounted, without which no image is opened", said)
            self.assert_refusal(report, "/proc is not mounted")


class Floors(EnvironmentTest):
    """Limits with which little can work."""

    def test_commands__answer_or_refuse(self):
        self.doctor()
        sources = self.ntprof("sources")
        if sources.returncode != 0:
            self.assert_refusal(sources)
        result = self.ntprof("run", "-o", "p", "--", *PROGRAM)
        if result.returncode == 125:
            self.assert_refusal(result)
            self.assertRegex(text(result.stderr), "raise|was not started")
        else:
            self.assertEqual((result.returncode, result.stdout), (7, b"ran\n"), text(result.stderr))


class ReadOnly(EnvironmentTest):
    environment = next(one for one in environments.environments() if one.name == "read-only")

    def test_profile_cannot_be_written__said_before_the_program_starts(self):
        self.assert_refusal(self.ntprof("run", "--", *PROGRAM), "ntprof.pb.gz", "read-only", "name a file elsewhere")


class Advice(CommandTest):
    """The line of jq that doctor prints, on the profiles themselves."""

    def test_line_of_jq__allows_perf_event_open_and_changes_nothing_else(self):
        told = json.loads(self.ntprof("doctor", "--json").stdout)
        for engine in environments.PROFILES:
            with self.subTest(engine):
                profile = environments.find_profile(engine)
                if isinstance(profile, str):
                    self.skipTest(profile)
                lines, = (advice["lines"] for advice in told["advice"] if advice["subject"] == engine)
                command, = (line["line"] for line in lines if line["line"].startswith("jq "))
                content = json.loads(profile.read_text())
                (self.folder / "default.json").write_text(json.dumps(content))
                subprocess.run(["sh", "-c", command], cwd=self.folder, check=True)
                self.assertEqual(json.loads((self.folder / "profile.json").read_text()),
                                 environments.allow_perf(content))


class Settings(CommandTest):
    def test_paranoid__restored_when_the_test_is_killed(self):
        if not harness.is_root():
            self.skipTest("needs root")
        before = environments.PARANOID.read_text()
        child = os.fork()
        if child == 0:
            with environments.paranoid(1):
                os.kill(os.getpid(), 9)
        os.waitpid(child, 0)
        harness.wait_for(lambda: environments.PARANOID.read_text() == before, "the setting of before")


def make_cases():
    for case, listed in ((Everywhere, environments.environments()), (Floors, environments.floors())):
        for environment in listed:
            # Those that change a setting of the machine run alone: meson.build tells them by this word.
            kind = case.__name__ if environment.paranoid is None else "Settings"
            name = kind + "_" + environment.name.replace("-", "_")
            globals()[name] = type(name, (case,), {"environment": environment, "__module__": __name__})


make_cases()
del Everywhere, Floors, EnvironmentTest  # only those with an environment are cases

if __name__ == "__main__":
    harness.main()
