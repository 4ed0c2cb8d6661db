#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof attach: processes that run already, until a signal, the time or their end."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, is_alive, kill_quietly, text, wait_for

FILE = "ntprof.pb.gz"

# Works in a function of each role until its input ends: first, a thread that was there before, then, at a
# word, one that comes later and a child.
WORKER = r"""
import os, sys, threading
over = False
def work_main():
    while not over: sum(range(500))
def work_early():
    while not over: sum(range(500))
threading.Thread(target=work_early).start()
threading.Thread(target=work_main).start()
os.write(1, b"ready %d\n" % os.getpid())
while True:
    word = os.read(0, 1)
    if word == b"c":
        pid = os.fork()
        if pid == 0:
            os.execv(sys.argv[1], [sys.argv[1], "300000"])
        os.write(1, b"child %d\n" % pid)
    elif word == b"t":
        threading.Thread(target=work_main).start()
        os.write(1, b"thread\n")
    else:
        over = True
        break
"""

# A process whose name has a newline.
NAMED = """
import ctypes
ctypes.CDLL(None).prctl(15, b"two\\nlines", 0, 0, 0)
print(flush=True)
while True: sum(range(500))
"""


def processor_s(pid):
    """Processor time that a process has taken."""
    return sum(harness.processor_ticks(pid)) / os.sysconf("SC_CLK_TCK")


class Attach(CommandTest):
    hal = "perf"  # what is taken when none is named

    def start_worker(self):
        """A process that works; its pid."""
        worker = self.start(["/usr/bin/python3", "-S", "-c", WORKER,
                             harness.program("shares")], stdin=subprocess.PIPE)
        line = worker.stdout.readline().split()
        self.assertEqual(line[0], b"ready", text(worker.stderr.read() if not line else b""))
        return worker

    def tell(self, worker, word):
        worker.stdin.write(word)
        worker.stdin.flush()
        line = worker.stdout.readline()
        self.assertTrue(line)
        return line

    def start_attach(self, *words, **given):
        """ntprof attach that has begun: the profiled process is watched by it."""
        child = self.start(self.arguments("attach", "--every", "100ms", *words), **given)
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        return child

    def attach(self, *words, **given):
        return self.ntprof("attach", *words, **given)

    def attach_until_hits(self, *words, processes=1):
        """What was said by an attach that ended when so many names of processes had hits."""
        child = self.start_attach(*map(str, words))
        wait_for(lambda: child.poll() is not None or
                 len([row for row in self.report("--by", "process")["rows"] if row["hits"]]) >= processes, "hits")
        return self.interrupt(child)

    def report(self, *words):
        result = self.ntprof("report", "--json", "--rows", "0", *words, FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_statistics(report)
        return report

    def hits(self, report):
        return sum(row["hits"] for row in report["rows"])


@for_each_user_if_long
class Ends(Attach):
    def test_time__deliver_and_the_target_goes_on(self):
        worker = self.start_worker()
        began = time.monotonic()
        words = ["attach", "-p", worker.pid, "--duration", "500ms"]
        result = self.ntprof(*words)
        self.assertGreaterEqual(time.monotonic() - began, 0.5)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertRegex(text(result.stderr), harness.SUMMARY)
        self.assertEqual(result.stdout, b"")
        report = self.report("--by", "address")
        self.assertEqual(self.hits(report), report["sources"][0]["taken"])
        self.assertEqual(report["hal"], self.hal)
        self.assertEqual(report["command"], " ".join(self.arguments(*words)[1:]))
        self.assertEqual(report["gaps"], "")
        self.assertIsNone(worker.poll())
        self.assert_nothing_left(FILE)

    def test_name_with_a_newline__is_whole_and_escaped(self):
        worker = self.start(["/usr/bin/python3", "-S", "-c", NAMED], stdout=subprocess.PIPE)
        worker.stdout.readline()
        self.attach_until_hits("-p", worker.pid)
        self.assertEqual({row["process"] for row in self.report("--by", "process")["rows"]}, {r"two\x0alines"})
        shown = text(self.ntprof("report", "--by", "process", FILE).stdout)
        self.assertIn(r"two\x0alines", shown)
        self.assertIsNone(worker.poll())

    def test_process_without_an_option__the_same(self):
        worker = self.start_worker()
        result = self.ntprof("attach", worker.pid, "--duration", "500ms", "--by", "process", "--json")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assertEqual(report["by"], "process")
        self.assertLessEqual(len(report["rows"]), 1)

    def test_json__standard_error_by_name__goes_there(self):
        worker = self.start_worker()
        result = self.ntprof("attach", worker.pid, "--duration", "500ms", "--json", "--report", "/dev/stderr")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertEqual(result.stdout, b"")
        self.assertIn('"rows"', text(result.stderr))

    def test_signal__deliver_and_succeed(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                worker = self.start_worker()
                child = self.start_attach("-p", str(worker.pid))
                child.send_signal(number)
                said = text(child.communicate(timeout=harness.TIME_LIMIT_S)[1])
                self.assertEqual(child.returncode, 0, said)
                self.assertRegex(said, harness.SUMMARY)
                self.assertNotIn("the recording ran", self.report()["gaps"])
                self.assertIsNone(worker.poll())
                (self.folder / FILE).unlink()

    def test_all_other_signals_that_would_end_it__deliver_and_succeed(self):
        worker = self.start_worker()
        for name in ("SIGQUIT", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGABRT", "SIGXCPU",
                     "SIGPWR", "SIGIO", "SIGRTMIN", "SIGRTMAX"):
            with self.subTest(name):
                child = self.start_attach("-p", str(worker.pid))
                child.send_signal(getattr(signal, name))
                said = text(child.communicate(timeout=harness.TIME_LIMIT_S)[1])
                self.assertEqual(child.returncode, 0, said)
                self.assertNotIn("the recording ran", self.report()["gaps"])
                (self.folder / FILE).unlink()

    def test_ignored_sighup__stays_ignored_as_under_nohup(self):
        worker = self.start_worker()
        child = self.start_attach("-p", str(worker.pid), preexec_fn=lambda: signal.signal(
            signal.SIGHUP, signal.SIG_IGN))
        child.send_signal(signal.SIGHUP)
        inode = (self.folder / FILE).stat().st_ino
        wait_for(lambda: (self.folder / FILE).stat().st_ino != inode, "one more file")
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0)

    def test_end_of_all_targets__not_of_one(self):
        workers = [self.start_worker(), self.start_worker()]
        child = self.start_attach("-p", ",".join(str(worker.pid) for worker in workers))
        workers[1].kill()
        workers[1].wait()
        inode = (self.folder / FILE).stat().st_ino
        wait_for(lambda: (self.folder / FILE).stat().st_ino != inode, "one more file")
        self.assertIsNone(child.poll())
        workers[0].kill()
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0, text(child.stderr.read()))
        self.assertGreater(self.hits(self.report()), 0)

    def test_target_killed_while_profiled__names_stay(self):
        worker = self.start_worker()
        child = self.start_attach("-p", str(worker.pid))
        worker.kill()
        worker.wait()
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0, text(child.stderr.read()))
        report = self.report("--by", "address")
        self.assertTrue([row for row in report["rows"] if row["function"]])

    def test_ntprof_killed__target_goes_on_and_the_file_is_whole(self):
        worker = self.start_worker()
        child = self.start_attach("-p", str(worker.pid))
        child.kill()
        child.wait()
        self.assertIn("the recording ran", self.report()["gaps"])
        self.assertIsNone(worker.poll())
        links = [os.readlink(link) for link in pathlib.Path(f"/proc/{worker.pid}/fd").iterdir()]
        self.assertFalse([link for link in links if "perf" in link], links)
        self.tell(worker, b"t")

    def test_target_without_hits__said_and_succeeds(self):
        sleeper = self.start(["sleep", "300"])
        result = self.attach("-p", sleeper.pid, "--duration", "100ms")
        self.assertEqual(result.returncode, 0)
        self.assertIn("too few hits", text(result.stderr))


@for_each_user
class Covers(Attach):
    def test_threads_of_before_and_later_and_children__are_counted(self):
        """Each of them, by the processor time that it takes: what was missed would be missing."""
        worker = self.start_worker()
        child = self.start_attach("-p", str(worker.pid), "--bucket", "4k")
        offspring = int(self.tell(worker, b"c").split()[1])
        self.addCleanup(kill_quietly, offspring)
        self.tell(worker, b"t")

        def ticks():
            """Processor time in user mode of both since they began."""
            return sum(harness.processor_ticks(pid)[0] for pid in (worker.pid, offspring))

        def expected_s():
            """What hits stand for, with those that are reported as dropped."""
            source = self.report()["sources"][0]
            return source["expected"] * source["granted"] / 1e7

        first_ticks, first_s = ticks(), expected_s()
        wait_for(lambda: ticks() >= first_ticks + os.sysconf("SC_CLK_TCK"), "a second of work")
        second_ticks = ticks()
        self.interrupt(child)
        spent_s = (second_ticks - first_ticks) / os.sysconf("SC_CLK_TCK")
        # The clock of processor time is read every 4 ms, and the first file was a bit older.
        self.assertGreater(expected_s() - first_s, 0.6 * spent_s)
        self.assertTrue(is_alive(offspring))

    def test_target__is_neither_stopped_nor_traced_nor_changed(self):
        """What could be told of it from outside, all along: its state, its mappings, descriptors and threads."""
        worker = self.start_worker()
        process = pathlib.Path(f"/proc/{worker.pid}")

        def look():
            status = dict(line.split(":", 1) for line in
                          (process / "status").read_text().splitlines())
            states = {(task / "stat").read_text().rsplit(")", 1)[1].split()[0]
                      for task in (process / "task").iterdir()}
            self.assertFalse(states & set("tTXZ"), states)
            self.assertEqual(status["TracerPid"].strip(), "0")
            code = [line for line in (process / "maps").read_text().splitlines() if " r-xp" in line]
            return (code, sorted(os.readlink(link) for link in (process / "fd").iterdir()),
                    status["Threads"], status["SigCgt"], status["SigBlk"], status["Seccomp"])

        before = look()
        child = self.start(self.arguments("attach", "-p", worker.pid, "--every", "100ms"))
        while child.poll() is None and not ((self.folder / FILE).exists() and self.hits(self.report()) > 0):
            self.assertEqual(look(), before)
        self.assertEqual(look(), before)
        child.send_signal(signal.SIGINT)
        while child.poll() is None:
            self.assertEqual(look(), before)
        self.assertEqual(child.returncode, 0, text(child.stderr.read()))
        self.assertEqual(look(), before)
        self.assertGreater(self.hits(self.report()), 0)

    def test_child_by_itself__is_counted(self):
        worker = self.start_worker()
        child = self.start_attach("-p", str(worker.pid))
        offspring = int(self.tell(worker, b"c").split()[1])
        self.addCleanup(kill_quietly, offspring)
        wait_for(lambda: any(row["process"] == "shares" and row["hits"] > 0
                             for row in self.report("--by", "process")["rows"]), "hits")
        before = self.hits(self.report())
        worker.stdin.close()
        worker.wait(harness.TIME_LIMIT_S)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0, text(child.stderr.read()))
        self.assertTrue(is_alive(offspring))
        self.assertGreaterEqual(self.hits(self.report()), before)

    def test_processes_not_named__are_not_counted(self):
        other = self.start_worker()
        sleeper = self.start(["sleep", "300"])
        wait_for(lambda: os.readlink(f"/proc/{sleeper.pid}/exe").endswith("sleep"), "the program")
        before_s = processor_s(other.pid)
        child = self.start_attach("-p", str(sleeper.pid))
        wait_for(lambda: processor_s(other.pid) > before_s + 0.3, "work of the other")
        self.interrupt(child)
        report = self.report("--by", "process")
        self.assertLessEqual({row["process"] for row in report["rows"]}, {"sleep"})
        self.assert_has_at_most(report, processor_s(sleeper.pid) + 1 / os.sysconf("SC_CLK_TCK"))
        self.assertIsNone(other.poll())

    def test_two_at_once_on_the_same_process__both_have_their_hits(self):
        worker = self.start_worker()
        both = [self.start(self.arguments("attach", "-q", "-o", name, "-p", worker.pid, "--every", "100ms"))
                for name in ("one", "two")]

        def taken(name):
            if not (self.folder / name).exists():
                return 0
            report = json.loads(self.ntprof("report", "--json", "--rows", "0", name).stdout)
            self.assert_statistics(report)
            return report["sources"][0]["taken"]

        # Both are there, so that hits from then on are both's.
        before = [wait_for(lambda: taken(name), "hits") for name in ("one", "two")]
        for name, count in zip(("one", "two"), before):
            wait_for(lambda: taken(name) > count, "more hits")
        for child in both:
            self.interrupt(child)


# Has a child that works, and one that sleeps; it waits for both.
PARENT = r"""
import os, sys
pids = []
for words in ([sys.argv[1], "300000"], ["/bin/sleep", "300"]):
    pid = os.fork()
    if pid == 0:
        os.execv(words[0], words)
    pids.append(pid)
os.write(1, b"%d %d\n" % tuple(pids))
os.wait()
"""


@for_each_user_if_long
class Children(Attach):
    def start_parent(self):
        """A process that only waits; its pid, and those of a busy child and of an idle one."""
        parent = self.start(["/usr/bin/python3", "-S", "-c", PARENT, harness.program("shares")])
        busy, idle = map(int, parent.stdout.readline().split())
        for pid in (busy, idle):
            self.addCleanup(kill_quietly, pid)
        wait_for(lambda: pathlib.Path(f"/proc/{busy}/comm").read_text() == "shares\n", "the child")
        return parent.pid, busy, idle

    def test_busy_children_of_before__are_named_with_what_profiles_them(self):
        parent, busy, idle = self.start_parent()
        result = self.attach("-p", parent, "--duration", "1s")
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        self.assertRegex(said, rf"children are running: {busy} shares \(\d+% of a processor\); "
                               rf"to profile them: ntprof attach --children {parent}\n")
        self.assertNotIn("run longer", said)
        self.assertNotIn(str(idle), said)
        again = self.ntprof("report", FILE)
        self.assertIn(f"ntprof attach --children {parent}", text(again.stderr) + text(again.stdout))

    def test_with_children__those_of_before_are_profiled(self):
        parent, _, _ = self.start_parent()
        said = self.attach_until_hits("--children", parent)
        self.assertIn("2 children found", said)
        self.assertNotIn("are running", said)
        report = self.report("--by", "process")
        hits = {row["process"]: row["hits"] for row in report["rows"]}
        self.assertGreater(hits["shares"], 0)
        self.assertEqual(self.hits(report), report["sources"][0]["taken"])

    def test_children_of_children__and_later_ones_are_counted_once(self):
        """The worker is a grandchild; it starts another one under way."""
        worker = self.start(["/bin/sh", "-c", "/usr/bin/python3 -S -c \"$0\" $1; true", WORKER,
                             harness.program("shares")], stdin=subprocess.PIPE)
        worker.stdout.readline()
        child = self.start_attach("--children", "-p", worker.pid)
        wait_for(lambda: self.hits(self.report()) > 0, "hits")
        pid = int(self.tell(worker, b"c").split()[1])
        self.addCleanup(kill_quietly, pid)
        wait_for(lambda: {"shares", "python3"} <=
                 {row["process"] for row in self.report("--by", "process")["rows"]}, "both")
        said = self.interrupt(child)
        report = self.report("--by", "process")
        source = report["sources"][0]
        self.assertEqual(self.hits(report), source["taken"])
        self.assertLessEqual(source["taken"], source["expected"])

    def test_target_that_works_itself__nothing_is_said(self):
        worker = self.start_worker()
        self.tell(worker, b"t")
        said = text(self.attach("-p", worker.pid, "--duration", "500ms").stderr)
        self.assertNotIn("children", said)


@for_each_user
class Names(Attach):
    def copy(self, name, program=None):
        path = self.folder / name
        path.write_bytes(pathlib.Path(program or harness.program("shares")).read_bytes())
        path.chmod(0o755)
        return path

    def start_called(self, name, **given):
        worker = self.start([self.copy(name) if not (self.folder / name).exists() else self.folder / name, "300000"],
                            **given)
        return worker

    def attach_all(self, *words, processes=1):
        said = self.attach_until_hits(*words, processes=processes)
        return said, {row["process"]: row["hits"] for row in self.report("--by", "process")["rows"]}

    def test_name__all_that_are_called_so(self):
        pids = sorted(self.start_called("nt-one").pid for _ in range(2))
        self.start_called("nt-one-more")
        said, hits = self.attach_all("nt-one")
        self.assertIn(f"ntprof: attach: nt-one: 2 processes: {pids[0]}, {pids[1]}\n", said)
        self.assertEqual(set(hits), {"nt-one"})

    def test_glob__all_that_match(self):
        for name in ("nt-first", "nt-second"):
            self.start_called(name)
        said, hits = self.attach_all("-p", "nt-[fs]*", processes=2)
        self.assertIn("2 processes", said)
        self.assertEqual(set(hits), {"nt-first", "nt-second"})

    def test_name_and_number__each_once(self):
        worker = self.start_called("nt-both")
        _, hits = self.attach_all(worker.pid, "nt-both", "nt-b*")
        self.assertEqual(set(hits), {"nt-both"})

    def test_name_longer_than_linux_keeps__is_found_whole(self):
        self.start_called("nt-has-a-long-name")
        said, _ = self.attach_all("nt-has-a-long-name")
        self.assertIn("1 process:", said)
        self.assertIn("no running process", text(self.attach("nt-has-a-long-n?").stderr))

    def attach_sleepers(self, limits, *words):
        """What attach does about 12 processes with these limits of descriptors."""
        self.copy("nt-asleep", "/bin/sleep")
        for _ in range(12):
            self.start([self.folder / "nt-asleep", "300"])
        return self.attach("nt-asleep", *words, env=harness.without_leak_check(harness.bare_environment()),
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits))

    def test_processes_that_cannot_be_opened__refused_with_the_reason(self):
        result = self.attach_sleepers((10, 10), "--duration", "10s")
        self.assertEqual(result.returncode, 125)
        self.assertRegex(text(result.stderr), "nt-asleep: cannot be profiled: process [0-9]+: pidfd_open: too many "
                                              "open files; raise RLIMIT_NOFILE")

    def test_low_soft_limit_of_descriptors__raised_before_processes_are_opened(self):
        result = self.attach_sleepers((9, 4096), "--duration", "100ms")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertIn("nt-asleep: 12 processes", text(result.stderr))

    def test_other_users_processes__left_out_and_said(self):
        if not harness.is_root():
            self.skipTest("another user's process needs root")
        self.folder.chmod(0o755)
        own = self.start_called("nt-mixed")
        other = self.start_called("nt-mixed", user="root" if self.is_user() else harness.USER)
        said, hits = self.attach_all("nt-mixed")
        self.assertGreater(hits["nt-mixed"], 0)
        if not self.is_user():
            self.assertIn("2 processes", said)
            return
        self.assertIn(f"nt-mixed: 1 process: {own.pid}\n", said)
        self.assertRegex(said, rf"nt-mixed: 1 left out: {other.pid}: .*CAP_SYS_PTRACE")
        own.kill()
        own.wait()
        result = self.attach("nt-mixed")
        self.assertEqual(result.returncode, 125)
        self.assertIn("CAP_SYS_PTRACE", text(result.stderr))


@for_each_user
class Refused(Attach):
    def assert_refused(self, words, *wanted):
        result = self.attach(*words)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertTrue(said.startswith("ntprof: attach: "), said)
        for word in wanted:
            self.assertIn(word, said)
        self.assertEqual(result.stdout, b"")
        self.assert_nothing_left()

    def test_lists_that_are_none__are_named(self):
        for words in ("", ",", "1,", ",1", "1,,2", "x", "-1", "0", "1 2", "0x1", "4294967297",
                      "99999999999999999999", "1.5"):
            with self.subTest(words):
                self.assert_refused(["-p", words], "-p", f"-p {words}:" if words else "-p '':", "1234,5678")
        self.assert_refused([], "ntprof attach PID")
        self.assert_refused(["-p"], "-p", "value")
        self.assert_refused(["no-such-server"], "no-such-server: no running process")
        self.assert_refused(["no-such-*"], "no-such-*: no running process")
        self.assert_refused(["-p", "1", "--", "no-such"], "no-such: no running process")
        self.assert_refused(["--children"], "--children PID")
        self.assert_refused(["1", "1"], "1: 1 is given twice")
        self.assert_refused(["1", "--by", "thread"], "--by thread: needs --threads")
        self.assert_refused(["1", "--by", "cpu"], "--by cpu: needs --per cpu")

    def test_given_twice__is_named(self):
        pid = os.getpid()
        self.assert_refused(["-p", f"{pid},{pid}"], f"{pid} is given twice")
        self.assert_refused(["-p", pid, "-p", pid], f"{pid} is given twice")

    def test_times_that_are_none__are_named(self):
        for words in ("0s", "0", "-1s", "soon", "", "1e99h"):
            with self.subTest(words):
                self.assert_refused(["-p", "1", "--duration", words], "--duration",
                                    f"--duration {words}:" if words else "'':")

    def test_no_such_process__is_named(self):
        ended = self.start(["true"])
        ended.wait()
        self.assert_refused(["-p", ended.pid], f"-p {ended.pid}", "no such process")
        self.assert_refused(["-p", 2 ** 31 - 1], "no such process")

    def test_one_of_several__is_named_and_none_is_profiled(self):
        worker = self.start_worker()
        ended = self.start(["true"])
        ended.wait()
        self.assert_refused(["-p", f"{worker.pid},{ended.pid}"], f"-p {ended.pid}")
        self.assert_refused(["-p", f"{ended.pid},{worker.pid}"], f"-p {ended.pid}")

    def test_ended_and_not_waited_for__is_said(self):
        ended = self.start(["true"])
        wait_for(lambda: not is_alive(ended.pid), "its end")
        self.assert_refused(["-p", ended.pid], f"-p {ended.pid}", "ended already")

    def test_thread__its_process_is_named(self):
        worker = self.start_worker()
        thread = max(int(task.name) for task in pathlib.Path(f"/proc/{worker.pid}/task").iterdir())
        self.assert_refused(["-p", thread], f"-p {thread}", f"thread of process {worker.pid}",
                            f"try: -p {worker.pid}")

    def test_process_of_another_user__root_may_and_a_user_is_told_what_would_allow_it(self):
        worker = self.start_worker()
        if self.is_user():
            self.assert_refused(["-p", "1"], "-p 1", "another user's", "CAP_SYS_PTRACE")
            self.assert_refused(["-p", f"{worker.pid},1"], "-p 1", "none of them")
            return
        sleeper = self.start(["sleep", "300"], user=harness.USER)
        self.attach_until_hits("-p", f"{worker.pid},{sleeper.pid}")
        self.assertGreater(self.hits(self.report()), 0)

    def test_options_of_other_commands__are_none_here(self):
        self.assert_refused(["-p", "1", "--kernel"], "--kernel: no such option", "ntprof help attach")
        for option in (["-p", "1"], ["--pid", "1"], ["--user"]):
            result = self.profile(*option, "--", "touch", "started")
            self.assertEqual(result.returncode, 125)
            self.assertIn(option[0], text(result.stderr))
            self.assert_nothing_left()

    def test_targets_that_end_while_attached_to__end_well_or_are_said(self):
        ended = 0
        for _ in range(30):
            target = self.start(["/bin/true"])
            result = self.attach("-p", target.pid, "-o", "x.pb.gz")
            said = text(result.stderr)
            if result.returncode == 0:
                self.assertRegex(said, harness.SUMMARY)
            else:
                self.assertEqual(result.returncode, 125, said)
                self.assertIn("ended", said)
                ended += 1
            target.wait()
        self.assertLessEqual(ended, 30)

    def test_outputs_that_cannot_be_written__said_before(self):
        worker = self.start_worker()
        self.assert_refused(["-p", worker.pid, "-o", "missing/x"], "missing/x")
        self.assert_refused(["-p", worker.pid, "--report", "missing/x"], "--report")


if __name__ == "__main__":
    harness.main()
