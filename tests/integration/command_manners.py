#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof run: the command behaves as without it - streams, status, everything that it inherits; and progress."""
import os
import pty
import resource
import select
import signal
import subprocess
import threading
import time

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, text

SHELL = ["sh", "-c"]


@for_each_user_if_long
class Streams(CommandTest):
    def test_input_and_outputs__are_the_commands_own(self):
        payload = bytes(range(256)) * 1000
        command = [*SHELL, "cat; echo problem >&2"]
        result = self.profile("-q", "--", *command, input=payload)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout, payload)
        self.assertEqual(result.stderr, b"problem\n")

    def test_report__goes_to_standard_error_behind_the_commands(self):
        result = self.profile("--", *SHELL, f"echo out; echo problem >&2; exec {harness.BURN}")
        self.assertEqual(result.stdout, b"out\n")
        lines = text(result.stderr).splitlines()
        self.assertEqual(lines[0], "problem")
        self.assertRegex("\n".join(lines), harness.SUMMARY)
        self.assertTrue(any("share" in line and "function" in line for line in lines), lines)

    def test_report_option__keeps_standard_error_clean(self):
        result = self.profile("--report", "table", "--", *SHELL, "echo problem >&2; pwd")
        self.assertEqual(result.stderr, b"problem\n")
        self.assertEqual(text(result.stdout), f"{self.folder}\n")
        self.assertRegex((self.folder / "table").read_text(), harness.SUMMARY)

    def test_closed_streams__stay_closed_for_the_command(self):
        for closing in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closing):
                bare = self.descriptors(closing, [])
                behind = self.descriptors(closing, self.arguments("run", "--"))
                self.assertEqual(bare, behind)

    def descriptors(self, closing, prefix):
        script = 'import os; open("list", "w").write(repr([n for n in range(50) ' \
                 'if os.path.exists("/proc/self/fd/%d" % n)]))'
        words = " ".join("'" + word + "'" for word in
                         [*prefix, "/usr/bin/python3", "-S", "-c", script])
        result = self.run_bare([*SHELL, f"{words} {closing}"])
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return (self.folder / "list").read_text()

    def test_closed_standard_error__our_messages_ask_for_no_snapshot(self):
        """They would if the descriptor of SIGUSR2 had the number of standard error."""
        os.mkfifo(self.folder / "ctl")
        if self.user is not None:
            os.chown(self.folder / "ctl", self.user, self.user)
        fifo = os.open(self.folder / "ctl", os.O_RDWR)
        self.addCleanup(os.close, fifo)
        words = " ".join(self.arguments("run", "--control", "ctl", "-o", "out", "--", "cat"))
        child = self.start([*SHELL, f"exec {words} 2>&-"], stdin=subprocess.PIPE)
        for _ in range(3):  # what the first one caused shows when the last one was read
            os.write(fifo, b"wrong\n")
            harness.wait_for(lambda: not select.select([fifo], [], [], 0)[0], "a line was read")
            time.sleep(0.1)
        self.assertFalse((self.folder / "out").exists())
        child.communicate()
        self.assertEqual(child.returncode, 0)
        self.assertTrue((self.folder / "out").exists())

    def test_closed_standard_output__no_profile_there_and_nothing_runs(self):
        for words in (["-o", "-"], ["-o", "/dev/stdout"]):
            with self.subTest(words):
                line = " ".join(self.arguments("run", *words, "--", "touch", "started"))
                result = self.run_bare([*SHELL, f"{line} >&-"])
                self.assertEqual(result.returncode, 125)
                self.assertRegex(text(result.stderr), "Bad file descriptor|is a folder")
                self.assert_nothing_left()

    def test_reader_of_the_report_gone__status_is_the_commands(self):
        read, write = os.pipe()
        os.close(read)
        result = self.profile("--", *SHELL, "exit 7", stderr=write, capture_output=False)
        os.close(write)
        self.assertEqual(result.returncode, 7)
        self.assertTrue((self.folder / "ntprof.pb.gz").exists())


@for_each_user_if_long
class Progress(CommandTest):
    """A profile that comes so slowly that ntprof says what it waits for: its end is kept back until then."""

    def setUp(self):
        super().setUp()
        self.run_bare([harness.program("profile-maker"), "large", "whole", "2000", "3"], check=True)

    def begin(self, words, stdout):
        """One that has all but the end of its profile; what it shows on standard error is a terminal's."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        child = self.start(self.arguments(*words), stdin=subprocess.PIPE, stderr=theirs,
                           stdout=theirs if stdout == "terminal" else subprocess.PIPE)
        os.close(theirs)
        child.stdin.write((self.folder / "whole").read_bytes()[:-1])
        child.stdin.flush()
        return child, ours

    def finish(self, child, ours):
        """Gives it the end once it has said what it waits for: its status, and all that it showed."""
        said = b""
        while b"standard input" not in said:
            said += os.read(ours, 4096)
        last = (self.folder / "whole").read_bytes()[-1:]
        drain = threading.Thread(target=lambda: child.communicate(last))
        drain.start()
        while True:
            try:
                said += os.read(ours, 65536)
            except OSError:  # all of it, and nobody has the terminal any more
                break
        drain.join()
        return child.returncode, said

    def test_reading_takes_long__told_on_a_terminal_and_taken_away(self):
        page = ["export", "--format", "html", "--listings", "0", "-o", "out", "-"]
        begun = []  # all of them wait at the same time
        for words, stdout in ((["report", "-"], "terminal"), (["report", "--json", "-"], "pipe"),
                              (["diff", "whole", "-"], "terminal"),
                              (["export", "--format", "csv", "-"], "terminal"), (page, "pipe"),
                              (["annotate", "/usr/lib/lib1.so+0x1000", "-"], "terminal")):
            begun.append((words, *self.begin(words, stdout)))
        for words, child, ours in begun:
            with self.subTest(words=words):
                _, said = self.finish(child, ours)
                self.assertIn(b"\r\x1b[Kntprof: reading standard input", said)
                last = said.rpartition(b"\x1b[Kntprof: ")[2]
                self.assertRegex(last, rb"^[a-z ]+\r\x1b\[K")

    def test_what_is_read_is_broken__error_on_a_line_of_its_own(self):
        (self.folder / "whole").write_bytes((self.folder / "whole").read_bytes()[:-9] + b"x")
        status, said = self.finish(*self.begin(["report", "-"], "terminal"))
        self.assertEqual(status, 125)
        self.assertRegex(said, rb"input\r\x1b\[Kntprof: report: -: [^\r]*truncated[^\r]*\r\n$")


@for_each_user
class Status(CommandTest):
    def test_every_status__is_passed_on(self):
        # As an ordinary user, and slowly with a sanitizer, the ones that mean something to us and to shells.
        every = not self.is_user() and "ASAN_OPTIONS" not in os.environ
        statuses = range(256) if every else (0, 1, 2, 124, 125, 126, 127, 128, 255)
        for status in statuses:
            result = self.profile("-q", "--", *SHELL, f"exit {status}")
            self.assertEqual(result.returncode, status)
            self.assertEqual(result.stderr, b"")

    def test_death_by_signal__is_passed_on(self):
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT,
                       signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGTERM,
                       signal.SIGUSR1, signal.SIGRTMIN):
            with self.subTest(number):
                result = self.profile("--", *SHELL, f"kill -{int(number)} $$")
                self.assertEqual(result.returncode, -number)
                self.assertRegex(text(result.stderr), harness.SUMMARY)

    def test_command_not_found__127_and_one_line(self):
        result = self.profile("--", "no-such-command-anywhere")
        self.assertEqual(result.returncode, 127)
        self.assertEqual(len(text(result.stderr).splitlines()), 1)
        self.assertIn("no-such-command-anywhere", text(result.stderr))
        self.assert_nothing_left()

    def test_command_not_executable__126_and_one_line(self):
        (self.folder / "plain").write_text("no program\n")
        for name in ("./plain", "."):
            with self.subTest(name):
                result = self.profile("--", name)
                self.assertEqual(result.returncode, 126)
                self.assertEqual(len(text(result.stderr).splitlines()), 1)
                self.assertIn(name, text(result.stderr))

    def test_no_command__125(self):
        for words in ([], ["--"], ["-q", "--"]):
            result = self.profile(*words)
            self.assertEqual(result.returncode, 125)
            self.assertIn("no command", text(result.stderr))


# What a process sees of itself, but for what differs from one process to the next.
SEE = r"""
import os, resource, signal, sys
skip = ("Pid:", "Tgid:", "PPid:", "NSpid:", "NStgid:", "NSpgid:", "Vm", "Rss", "Hugetlb",
        "Threads", "SigQ", "voluntary", "nonvoluntary", "Speculation", "x86_", "FDSize",
        "untag", "CoreDump", "THP")
for line in open("/proc/self/status"):
    if not line.startswith(skip):
        sys.stdout.write(line)
sys.stdout.write(open("/proc/self/limits").read())
sys.stdout.write(open("/proc/self/personality").read())
print(os.getcwd(), os.umask(0), os.getpriority(os.PRIO_PROCESS, 0), os.getsid(0), os.getpgrp())
print(sorted(os.sched_getaffinity(0)), os.sched_getscheduler(0))
print(open("/proc/self/oom_score_adj").read(), open("/proc/self/timerslack_ns").read())
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
for number in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        print(number, os.readlink("/proc/self/fd/" + number).split(":")[0])
    except OSError:
        pass
"""


@for_each_user_if_long
class Inheritance(CommandTest):
    def assert_same(self, command, **given):
        bare = self.run_bare(command, **given)
        behind = self.profile("-q", "--", *command, **given)
        self.assertEqual(behind.returncode, bare.returncode)
        self.assertEqual(text(behind.stdout), text(bare.stdout))
        self.assertEqual(behind.stderr, bare.stderr)

    def test_environment__is_untouched(self):
        self.assert_same(["/usr/bin/env", "-0"])
        self.assert_same(["/usr/bin/env", "-0"], env={})
        odd = {**harness.bare_environment(), "EMPTY": "", "LINES\n": "a\nb", "A" * 5000: "="}
        self.assert_same(["/usr/bin/env", "-0"], env=odd)

    def test_what_a_process_sees_of_itself__is_the_same(self):
        self.assert_same(["/usr/bin/python3", "-S", "-c", SEE])

    def test_limits_on_files__are_the_callers(self):
        for soft in (64, 256, 1024):
            with self.subTest(soft):
                self.assert_same([*SHELL, "ulimit -Sn; ulimit -Hn"], preexec_fn=lambda:
                                 resource.setrlimit(resource.RLIMIT_NOFILE, (soft, 4096)))

    def test_masks_and_ignored_signals__are_the_callers(self):
        def odd_signals():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])

        self.assert_same(["/bin/grep", "^Sig[BIC]", "/proc/self/status"],
                         preexec_fn=odd_signals)

    def test_inherited_descriptors__reach_the_command_and_ours_do_not(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        self.addCleanup(os.close, write)
        self.assert_same(["/usr/bin/python3", "-S", "-c", SEE], pass_fds=(read, write))

    def test_options_of_the_command__are_left_to_it(self):
        for words in (["echo", "-e", "-F", "--json"], ["printf", "%s|", "--", "-q", ""]):
            self.assertEqual(self.profile("-q", *words).stdout, self.run_bare(words).stdout)
            self.assertEqual(self.profile("-q", "--", *words).stdout,
                             self.run_bare(words).stdout)

    def test_command_that_closes_all_descriptors__works(self):
        script = "import os; os.closerange(0, 4096); sum(range(300000)); os._exit(3)"
        result = self.profile("--", "/usr/bin/python3", "-S", "-c", script)
        self.assertEqual(result.returncode, 3)
        self.assertRegex(text(result.stderr), harness.SUMMARY)


if __name__ == "__main__":
    harness.main()
