#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""SIGKILL of ntprof at random moments: nothing of it is left, and what it profiled is unharmed.

From the environment: NTPROF_KILLS, how many times for each command; a few unless set.
"""
import os
import pathlib
import random
import subprocess
import time

import breakpoint_registers
import harness
from harness import CommandTest, for_each_user, is_alive, text, wait_for

KILLS = int(os.environ.get("NTPROF_KILLS", "2"))
FILE = "ntprof.pb.gz"

# A killed one has run no longer, however busy the machine is.
LONGEST_S = 0.6

# Short, says when it has begun, and its answer can be told from a wrong one.
COMMAND = ["/usr/bin/python3", "-S", "-c",
           "print('begun', flush=True); print(sum(i * i for i in range(1000000)))"]
BEGUN = b"begun\n"
ANSWER = BEGUN + b"%d\n" % sum(i * i for i in range(1000000))

# Within this time of its beginning the command is at work, or what ntprof has of it is written.
COMMAND_S = 0.3

# Works now and then with two threads, and with children, until its input ends; says how many answers
# were wrong.
WORKER = r"""
import os, sys, threading, time
over, wrong, done = False, 0, 0
def work():
    global wrong, done
    while not over:
        wrong += sum(i * i for i in range(2000)) != 2664667000
        done += 1
        time.sleep(0.003)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
os.write(1, b"ready\n")
while os.read(0, 1):
    if os.fork() == 0:
        os._exit(0 if sum(i * i for i in range(2000)) == 2664667000 else 1)
    wrong += os.wait()[1] != 0
over = True
for thread in threads: thread.join()
print(wrong, done > 0, threading.active_count())
"""


def descriptors():
    """(pid, descriptor, is it ours) of each perf event that some process has open. Ours are
    those of ntprof of this test; others may be at work on the same machine."""
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            ours = os.readlink(process / "exe").startswith(str(harness.stage()))
            for link in (process / "fd").iterdir():
                if "perf_event" in os.readlink(link):
                    found.add((process.name, link.name, ours))
        except OSError:
            pass  # it has ended, or is another user's
    return found


def others_are_at_work():
    return any(not ours for _, _, ours in descriptors())


@for_each_user
class Killed(CommandTest):
    def setUp(self):
        super().setUp()
        self.seed = random.randrange(1 << 32)
        self.random = random.Random(self.seed)

    def assert_nothing_is_left(self):
        wait_for(lambda: not any(ours for _, _, ours in descriptors()), "the end of descriptors")

    def assert_registers_are_free(self, pid):
        """Each breakpoint register of a process, and of each processor, can be had: no event is left
        that nobody has a descriptor of."""
        if not harness.breakpoints_fire():
            return
        for target, processor in [(pid, -1)] + ([] if self.is_user() else
                                                [(-1, cpu) for cpu in os.sched_getaffinity(0)]):
            opened = []
            try:
                for _ in range(breakpoint_registers.BREAKPOINTS):
                    opened.append(breakpoint_registers.open_breakpoint(target, processor))
            finally:
                for descriptor in opened:
                    os.close(descriptor)

    def events(self):
        """What to count; breakpoint registers are what may be left in use."""
        if harness.breakpoints_fire():
            return "-e", "time,breakpoint:0x7fffff000000", "-c", "1"
        return "-e", "time,page-faults"

    def kill_at_random(self, child, until_s, recording=False):
        """SIGKILL after at most this time, or, once it has written its file, within the time to the next.
        True: it still ran."""
        if recording:
            wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the file")
            until_s = 0.1
        time.sleep(self.random.uniform(0, until_s))
        running = child.poll() is None
        child.kill()
        child.wait()
        return running

    def time_of(self, words, **given):
        """How long the command takes that is to be killed, with some more, within bounds."""
        began = time.monotonic()
        self.run_bare(words, **given)
        return min((time.monotonic() - began) * 1.2, LONGEST_S)

    def start_quiet(self, words, **given):
        """A child whose process group is its own."""
        return subprocess.Popen(words, **self.options({
            "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL, "start_new_session": True, **given}))

    def kill_run(self):
        words = self.arguments("run", "-q", "--every", "100ms", "--", *COMMAND)
        until_s = self.time_of(words)
        answers = 0
        for number in range(KILLS):
            child = self.start_quiet(words, stdout=subprocess.PIPE)
            # Every other one is met when the command has begun, however late that is.
            begun = child.stdout.read(len(BEGUN)) if number % 2 == 0 else b""
            self.kill_at_random(child, COMMAND_S if begun else until_s)
            # To its end: the command has ended, or never begun.
            answer = begun + child.stdout.read()
            child.stdout.close()
            self.assertIn(answer, (b"", ANSWER))
            answers += answer == ANSWER
            wait_for(lambda: not self.group_lives(child.pid), "the end of all that it started")
        self.assertGreaterEqual(answers, KILLS // 2)
        print(f"run: killed {KILLS} times, {answers} commands had begun and were right")

    def group_lives(self, group):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        return True

    def kill_watching(self, *words):
        """Kills a command that watches, while the worker works."""
        worker = self.start(["/usr/bin/python3", "-S", "-c", WORKER], stdin=subprocess.PIPE)
        self.assertEqual(worker.stdout.readline(), b"ready\n")
        arguments = self.arguments(*(str(worker.pid) if word == "PID" else word for word in words),
                                   "-q", "--every", "100ms", "--duration", "200ms")
        until_s = self.time_of(arguments)
        running = 0
        for number in range(KILLS):
            (self.folder / FILE).unlink(missing_ok=True)
            child = self.start_quiet(arguments)
            worker.stdin.write(b"c")
            worker.stdin.flush()
            # Those that are late in beginning are met at work, too.
            running += self.kill_at_random(child, until_s, number % 5 == 0)
            self.assertTrue(is_alive(worker.pid))
        # Registers that the kernel is still giving back are waited for; those that others hold, who have
        # descriptors, tell nothing.
        wait_for(lambda: self.tries(self.assert_registers_are_free, worker.pid) or
                 others_are_at_work(), "free registers")
        links = [os.readlink(link) for link in pathlib.Path(f"/proc/{worker.pid}/fd").iterdir()]
        self.assertFalse([link for link in links if "perf" in link], links)
        said = worker.communicate(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(said, (b"0 True 1\n", b""))
        self.assertEqual(worker.returncode, 0)
        print(f"{words[0]}: killed {KILLS} times, {running} of them at work")

    def tries(self, function, *arguments):
        try:
            function(*arguments)
        except OSError:
            return False
        return True

    def assert_file_is_whole(self):
        """What was written last, if anything, is a whole profile; a torn one has another name."""
        if (self.folder / FILE).exists():
            self.assert_profile_file(self.folder / FILE)

    def test_run__command_has_the_right_answer_or_never_began(self):
        with self.subTest(seed=self.seed):
            self.kill_run()
            self.assert_nothing_is_left()
            self.assert_file_is_whole()

    def test_attach__target_is_unharmed(self):
        with self.subTest(seed=self.seed):
            self.kill_watching("attach", "-p", "PID", *self.events())
            self.assert_nothing_is_left()
            self.assert_file_is_whole()

    def test_system__processes_are_unharmed(self):
        if self.is_user():
            return  # it may not, as command_system.py has it
        with self.subTest(seed=self.seed):
            self.kill_watching("system", *self.events())
            self.assert_nothing_is_left()
            self.assert_file_is_whole()

    def test_next_run__works(self):
        """Whatever a killed one left behind, such as locked memory, is no hindrance."""
        words = self.arguments("run", "-q", "--", *COMMAND)
        until_s = self.time_of(words)
        for _ in range(KILLS):
            child = self.start_quiet(words)
            self.kill_at_random(child, until_s)
            wait_for(lambda: not self.group_lives(child.pid), "the end of all that it started")
        result = self.profile("-q", "--", *COMMAND)
        self.assertEqual((result.returncode, result.stdout, text(result.stderr)), (0, ANSWER, ""))


if __name__ == "__main__":
    harness.main()
