#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""NTPROF_LOG: what it shows of back ends, processes, readers and stores, where its lines go, what is refused."""
import os
import pathlib
import re
import resource
import stat
import subprocess

import harness
from harness import CommandTest, for_each_user, text

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z ntprof\[\d+\] (error|warning|info|debug): [^\x00-\x1f\x7f]+")


@for_each_user
class Log(CommandTest):
    def logged(self, setting, *words, **given):
        return self.ntprof(*words, env={**harness.bare_environment(), "NTPROF_LOG": setting}, **given)

    def lines(self, log):
        """Those of a log, which has no others."""
        for line in log.splitlines():
            self.assertRegex(line, rf"^{LINE.pattern}$")
        return log

    def to_file(self, *words, status=0):
        """The log of a command, in the file `log`."""
        result = self.logged("debug:log", *words)
        self.assertEqual(result.returncode, status, text(result.stderr))
        self.assertIsNone(LINE.search(text(result.stderr)))
        return self.lines((self.folder / "log").read_text())

    def test_not_set_or_empty__no_line(self):
        for environment in (harness.bare_environment(), {**harness.bare_environment(), "NTPROF_LOG": ""}):
            result = self.ntprof("sources", env=environment)
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_standard_error__back_ends_and_events(self):
        result = self.logged("debug", "sources")
        self.assertEqual(result.returncode, 0)
        log = self.lines(text(result.stderr))
        self.assertRegex(log, r"debug: ntprof [0-9.]+: sources begins\n")
        self.assertRegex(log, r"debug: back end perf: (opened|refused: .+)\n")
        self.assertRegex(log, r"debug: event (opened|refused): type 1, config 0x0")
        self.assertRegex(log, r"debug: exit status 0\n$")
        self.assertNotRegex(text(result.stdout), LINE)

    def test_full_disk__exit_status_is_that_of_the_last_write(self):
        with open("/dev/full", "wb") as full:
            result = self.logged("debug", "version", stdout=full, capture_output=False, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 125)
        self.assertRegex(text(result.stderr), r"cannot write to standard output.*\n.*debug: exit status 125\n$")

    def test_lower_level__nothing_of_debug(self):
        result = self.logged("warning", "sources")
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_run_and_report__processes_mappings_and_readers(self):
        log = self.to_file("run", "-q", "--", "sh", "-c", f"exec {harness.BURN}")
        self.assertRegex(log, r"debug: session opened: back end (perf|timer), NT newest, polled\n|"
                              r"debug: no session: ")
        if "back end perf: opened" in log:
            for what in (r"process \d+ runs sh", r"process \d+ maps /\S+ at 0x", r"process \d+ \(\S+\) exited",
                         r"rings of \d+ bytes, one a processor: made", r"event opened: ", r"descriptor \d+ closed",
                         "session closed"):
                self.assertRegex(log, "debug: " + what)
        self.assertRegex(log, r"debug: reader \d+: started, for at most \d+ bytes of memory\n")
        self.assertRegex(log, r"debug: reader \d+: reads symbols of /\S+\n")
        asked = re.findall(r"debug: reader (\d+): asked for names of \d+ places\n", log)
        self.assertTrue(asked)
        self.assertEqual(sorted(asked), sorted(set(asked)), "each is asked once")
        self.assertRegex(log, r"debug: reader \d+: ended after \d+ ms of processor time\n")
        self.assert_profile_file(self.folder / "ntprof.pb.gz")
        before = len(log)
        again = self.to_file("report")
        self.assertEqual(again[:before], log)
        self.assertRegex(again[before:], r"debug: reader \d+: reads profile ntprof.pb.gz\n")

    def test_run_over_timers__processes_and_mappings_of_preload_objects(self):
        log = self.to_file("run", "-q", "--hal", "timer", "--", "sh", "-c", f"exec {harness.BURN}")
        self.assertRegex(log, r"debug: \S+/libntprof-agent\S* is preloaded, interval \d+ ns\n")
        self.assertRegex(log, r"debug: process \d+ \(\S+\) is followed by its preload object; ")
        self.assertRegex(log, r"debug: process \d+ maps /\S+, \d+ bytes from offset \d+\n")

    def test_names_from_outside__escaped(self):
        program = self.folder / "a\n\x1b[31mb"
        program.write_bytes(pathlib.Path(harness.program("shares")).read_bytes())
        program.chmod(0o755)
        log = self.to_file("run", "-q", "--", str(program), "1")
        if "back end perf: opened" in log:
            self.assertRegex(log, r"runs a\?\?\[31mb")

    def test_store__statements_and_no_secret(self):
        made = self.ntprof("store", "init", "sqlite:s.db")
        if made.returncode != 0:
            self.skipTest("this build has no SQLite")
        log = self.to_file("store", "stat", "sqlite:s.db")
        self.assertRegex(log, r"debug: store: (SELECT|PRAGMA|BEGIN)")
        (self.folder / "password").write_text("hunter2\n")
        url = f"clickhouse://u@127.0.0.1:{harness.free_port()}/d"
        log = self.to_file("store", "stat", f"{url}?password-file=password", status=125)
        self.assertNotIn("hunter2", log)
        log = self.to_file("store", "stat", url.replace("u@", "u:hunter2@"), status=125)
        self.assertNotIn("hunter2", log)

    def test_file__made_for_its_owner_and_appended_to(self):
        os.umask(0o022)
        first = self.to_file("version")
        path = self.folder / "log"
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        path.chmod(0o640)
        self.assertEqual(self.to_file("version").count("\n"), 2 * first.count("\n"))
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)

    def test_file_that_standard_error_is_too__neither_overwrites_the_other(self):
        path = self.folder / "log"
        with open(path, "wb") as stream:
            if self.user is not None:
                os.fchown(stream.fileno(), self.user, self.user)
            result = self.logged(f"debug:{path}", "sourcse", capture_output=False, stderr=stream)
        self.assertEqual(result.returncode, 125)
        lines = path.read_text().splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("ntprof: ")]), 1, lines)
        self.assertRegex(lines[0], r" debug: ntprof .* begins$|^ntprof: ")
        self.assertTrue(all(line.startswith("ntprof: ") or " debug: " in line for line in lines), lines)

    def refused(self, setting, why):
        result = self.logged(setting, "run", "--", "touch", "started")
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertRegex(said, rf"\Antprof: NTPROF_LOG={re.escape(setting[:20])}.*: .*{why}.*\n\Z")
        self.assertFalse((self.folder / "started").exists())

    def test_bad_settings__refused_before_anything_is_done(self):
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        (self.folder / "twice").write_text("")
        os.link(self.folder / "twice", self.folder / "other")
        for name in ("folder", "pipe", "twice"):
            if self.user is not None:
                os.chown(self.folder / name, self.user, self.user)
        for setting, why in (("loud", "LEVEL is error, warning, info or debug"), ("debug:", "LEVEL:FILE"),
                             ("debu", "LEVEL is"), ("debugs", "LEVEL is"), (":log", "LEVEL is"),
                             ("debug:none/log", "No such file or directory"), ("debug:folder", "directory"),
                             ("debug:pipe", "No such device|no regular file"),
                             ("debug:/dev/stderr", "is not followed; a level without a FILE logs to standard error"),
                             ("debug:/dev/null", "no regular file"), ("debug:twice", "has other names")):
            with self.subTest(setting):
                self.refused(setting, why)
        self.assertEqual((self.folder / "twice").read_text(), "")

    def test_file_of_another_user__refused(self):
        if not harness.is_root():
            self.skipTest("only root can make one")
        path = self.folder / "log"
        path.write_text("")
        os.chown(path, 1 if self.user else harness.USER, -1)
        path.chmod(0o666)
        self.refused("debug:log", "belongs to another user")
        self.assertEqual(path.read_text(), "")

    def test_link_of_another_user_in_a_folder_for_all__not_followed(self):
        if not harness.is_root():
            self.skipTest("only root can make one")
        self.folder.chmod(0o1777)
        link = self.folder / "log"
        link.symlink_to("target")
        os.chown(link, 1, 1, follow_symlinks=False)
        self.refused("debug:log", "")
        self.assertFalse((self.folder / "target").exists())

    def test_file_cannot_grow__said_once_and_the_command_goes_on(self):
        result = self.logged("debug:log", "version",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
        self.assertEqual(result.returncode, 0)
        self.assertRegex(text(result.stderr), r"\Antprof: the log that NTPROF_LOG asks for ends here: .+\n\Z")
        self.assertRegex(text(result.stdout), r"\Antprof \d")


class KernelSymbols(CommandTest):
    FILE = pathlib.Path("/run/ntprof/kernel")

    def log(self):
        """What a run with hits in the kernel did for their names."""
        result = self.ntprof("run", "-q", "-o", "kernel.pb.gz", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M",
                             "count=4000", env={**harness.bare_environment(), "NTPROF_LOG": "debug"})
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return re.findall(r"debug: symbols of the kernel: (.*)\n", text(result.stderr))

    def test_hits_in_the_core__written_once_then_read(self):
        if not harness.is_root():
            self.skipTest("only root has the file")
        self.FILE.unlink(missing_ok=True)
        first = self.log()
        if not first:
            self.skipTest("no hit is in the kernel, or its symbols are hidden")
        # Another test's command may have written it meanwhile.
        self.assertTrue(f"written to {self.FILE}" in first or f"read from {self.FILE}" in first, first)
        self.assertTrue(self.FILE.exists())
        # Some runs have a hit outside of the core, in a program of BPF.
        later = [self.log() for _ in range(5)]
        self.assertIn([f"read from {self.FILE}"], later)
        for lines in later:
            self.assertIn(lines, ([f"read from {self.FILE}"], [f"not from {self.FILE}: a hit is outside of the core"]))


if __name__ == "__main__":
    harness.main()
