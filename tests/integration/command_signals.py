#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof run: signals, ends that come early, and processes that stay."""
import fcntl
import os
import pathlib
import pty
import select
import signal
import socket
import time

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, is_alive, kill_quietly, text, wait_for

# Says that it is ready, and works until a signal comes; says which.
WORKER = r"""
import os, signal, sys
caught = []
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), lambda number, frame: caught.append(number))
os.write(1, b"ready %d\n" % os.getpid())
while not caught:
    sum(range(1000))
os.write(1, b"caught %d\n" % caught[0])
sys.exit(42)
"""

# Says each signal that comes, each once; ends at SIGTERM.
LISTENER = r"""
import os, signal, sys
numbers = {int(word) for word in sys.argv[1:]} | {signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
os.write(1, b"ready %d\n" % os.getpid())
number = 0
while number != signal.SIGTERM:
    number = signal.sigwait(numbers)
    os.write(1, b"caught %d\n" % number)
sys.exit(42)
"""

# What ends a process that does not handle it, but for those that Ctrl-C and the like are.
OTHERS = [getattr(signal, name) for name in
          ("SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGABRT", "SIGXCPU", "SIGPWR", "SIGIO",
           "SIGRTMIN", "SIGRTMAX")]


@for_each_user_if_long
class Signals(CommandTest):
    def start_listener(self):
        child = self.start_profile("--report", "table", "--", "/usr/bin/python3", "-S", "-c", LISTENER,
                                   *(str(int(number)) for number in OTHERS))
        line = child.stdout.readline().split()
        self.assertEqual(line[:1], [b"ready"], text(child.stderr.read() if not line else b""))
        return child

    def assert_caught(self, child, number):
        self.assertEqual(child.stdout.readline(), b"caught %d\n" % number, child.poll())

    def test_all_signals_that_would_end_it__are_forwarded(self):
        child = self.start_listener()
        for number in (*OTHERS, signal.SIGTERM):
            with self.subTest(number):
                child.send_signal(number)
                self.assert_caught(child, number)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 42)
        self.assert_report()

    def test_signal_of_the_kernel_for_a_descriptor__is_forwarded(self):
        child = self.start_listener()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            fcntl.fcntl(ours, fcntl.F_SETOWN, child.pid)
            fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            theirs.send(b"x")
            self.assert_caught(child, signal.SIGIO)
        child.send_signal(signal.SIGTERM)  # the close may send one more before it
        self.assertTrue(child.stdout.read().endswith(b"caught %d\n" % signal.SIGTERM))
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 42)
        self.assert_report()

    def test_signal_that_kills_the_command__kills_ntprof_after_the_report(self):
        for number in (signal.SIGALRM, signal.SIGUSR1, signal.SIGRTMIN):
            with self.subTest(number):
                child, _ = self.start_worker()
                child.send_signal(number)
                self.assertEqual(child.wait(harness.TIME_LIMIT_S), -number)
                self.assert_report()
                (self.folder / "ntprof.pb.gz").unlink()

    def start_worker(self, *names, options=("--report", "table"), **given):
        child = self.start_profile(*options, "--", "/usr/bin/python3", "-S", "-c", WORKER,
                                   *names, **given)
        line = child.stdout.readline().split()
        self.assertEqual(line[0], b"ready", text(child.stderr.read() if not line else b""))
        return child, int(line[1])

    def assert_report(self):
        self.assertRegex((self.folder / "table").read_text(), harness.SUMMARY)
        self.assert_profile_file(self.folder / "ntprof.pb.gz")
        self.assert_nothing_left("ntprof.pb.gz", "table")

    def test_signals_sent_to_ntprof__are_forwarded(self):
        for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1"):
            with self.subTest(name):
                number = getattr(signal, name)
                child, _ = self.start_worker(name)
                child.send_signal(number)
                self.assertEqual(child.stdout.read(), b"caught %d\n" % number)
                self.assertEqual(child.wait(harness.TIME_LIMIT_S), 42)
                self.assertRegex((self.folder / "table").read_text(), harness.SUMMARY)

    def test_sigterm_that_kills_the_command__kills_ntprof_after_the_report(self):
        child, _ = self.start_worker()
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), -signal.SIGTERM)
        self.assert_report()

    def test_signals_after_the_end_of_the_command__profile_is_whole(self):
        os.mkfifo(self.folder / "fifo", 0o666)
        if self.user is not None:
            os.chown(self.folder / "fifo", self.user, self.user)
        child = self.start_profile("-q", "-o", "fifo", "--", "echo", "over")
        self.assertEqual(child.stdout.readline(), b"over\n")
        wait_for(lambda: not harness.commands_of(child.pid), "the end of the command")
        status = pathlib.Path(f"/proc/{child.pid}/status")
        for number in OTHERS * 2:
            child.send_signal(number)
            wait_for(lambda: "ShdPnd:\t0000000000000000" in status.read_text(), "that it has come")
            self.assertIsNone(child.poll(), number)
        data = (self.folder / "fifo").read_bytes()
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0)
        (self.folder / "copy").write_bytes(data)
        self.assert_profile_file(self.folder / "copy")

    def test_ignored_sighup__stays_ignored_as_under_nohup(self):
        child, worker = self.start_worker(
            "SIGUSR1", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        child.send_signal(signal.SIGHUP)
        os.kill(worker, signal.SIGHUP)
        os.kill(worker, signal.SIGUSR1)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 42)
        self.assert_report()

    def test_command_killed__what_was_collected_is_reported(self):
        child, worker = self.start_worker()
        time.sleep(0.3)  # hits need some time; none is asserted
        os.kill(worker, signal.SIGKILL)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), -signal.SIGKILL)
        self.assert_report()

    def test_ntprof_killed__command_goes_on_and_nothing_is_left(self):
        child, worker = self.start_worker("SIGUSR1")
        self.addCleanup(kill_quietly, worker)
        child.kill()
        child.wait()
        self.assertTrue(is_alive(worker))
        links = [os.readlink(link) for link in pathlib.Path(f"/proc/{worker}/fd").iterdir()]
        self.assertFalse([link for link in links if "perf" in link or "memfd" in link], links)
        os.kill(worker, signal.SIGUSR1)
        self.assertEqual(child.stdout.read(), b"caught %d\n" % signal.SIGUSR1)
        wait_for(lambda: not is_alive(worker), "the end of the command")
        # The report was opened before; a torn profile must not be there.
        self.assertEqual({path.name for path in self.folder.iterdir()} - {"table"}, set())

    def test_ntprof_killed_before_the_next_run__that_works(self):
        child, worker = self.start_worker()
        child.kill()
        kill_quietly(worker)
        child.wait()
        result = self.profile("-q", "--", "true")
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_children_that_outlive_the_command__are_not_waited_for(self):
        result = self.profile("--report", "table", "--", "sh", "-c",
                              "sleep 300 </dev/null >/dev/null 2>&1 & echo $!; exit 5")
        sleeper = int(result.stdout)
        self.addCleanup(kill_quietly, sleeper)
        self.assertEqual(result.returncode, 5)
        self.assertTrue(is_alive(sleeper))
        self.assert_report()

    def test_stopped_and_continued_command__is_waited_for(self):
        child, worker = self.start_worker("SIGUSR1")
        os.kill(worker, signal.SIGSTOP)
        time.sleep(0.2)
        self.assertIsNone(child.poll())
        os.kill(worker, signal.SIGCONT)
        os.kill(worker, signal.SIGUSR1)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 42)


def in_new_session():
    """For the child of a terminal: it becomes the one that Ctrl-C reaches."""
    os.setsid()
    os.close(os.open(os.ttyname(0), os.O_RDWR))


@for_each_user
class Terminal(CommandTest):
    """What is typed at a terminal goes to the command and to ntprof, both in its foreground."""

    def start_at_terminal(self, *words, **environment):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        if self.user is not None:
            os.fchown(theirs, self.user, self.user)
        child = self.start_profile(*words, stdin=theirs, stdout=theirs, stderr=theirs,
                                   preexec_fn=in_new_session,
                                   env={**harness.bare_environment(), **environment})
        os.close(theirs)
        return child, ours

    def read_until(self, terminal, wanted):
        """What the terminal shows, up to this; None: up to the end."""
        shown = b""
        end = time.monotonic() + harness.TIME_LIMIT_S
        while wanted is None or wanted not in shown:
            ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, shown)
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the other side is closed
                data = b""
            if not data:
                break
            shown += data
        if wanted is not None:
            self.assertIn(wanted, shown)
        return shown

    def test_ctrl_c__reaches_the_command_and_the_report_comes(self):
        child, terminal = self.start_at_terminal(
            "--", "/usr/bin/python3", "-S", "-c", WORKER, "SIGINT")
        self.read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        shown = self.read_until(terminal, None)
        self.assertIn(b"caught 2", shown)
        self.assertRegex(text(shown), harness.SUMMARY)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 42)
        self.assert_profile_file(self.folder / "ntprof.pb.gz")

    def test_ctrl_c__that_kills_the_command__kills_ntprof_after_the_report(self):
        child, terminal = self.start_at_terminal("--", "sh", "-c", "echo ready; exec sleep 300")
        self.read_until(terminal, b"ready")
        # The shell becomes sleep; either dies of it.
        os.write(terminal, b"\x03")
        shown = self.read_until(terminal, None)
        self.assertRegex(text(shown), harness.SUMMARY)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), -signal.SIGINT)
        self.assertTrue((self.folder / "ntprof.pb.gz").exists())

    def test_colours__on_a_terminal_only_and_not_with_no_color(self):
        def shown(*words, **environment):
            child, terminal = self.start_at_terminal(*words, **environment)
            seen = self.read_until(terminal, None)
            self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0)
            return seen

        words = ("--", "sh", "-c", f"exec {harness.BURN}")
        colour = rb"\x1b\[[0-9;]*m"
        self.assertRegex(shown(*words, TERM="xterm"), colour)
        # A slow machine shows a line of progress, which is cleared.
        self.assertNotRegex(shown(*words, NO_COLOR="1"), colour)
        self.assertNotIn(b"\x1b[", shown(*words, TERM="dumb"))
        self.assertNotIn(b"\x1b[", self.profile(*words).stderr)


if __name__ == "__main__":
    harness.main()
