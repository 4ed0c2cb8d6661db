#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--threads: processes and threads of one name, told apart by run, attach and system."""
import csv
import gzip
import io
import json
import subprocess

import harness
from harness import CommandTest, for_each_user_if_long, text, wait_for

FILE = "ntprof.pb.gz"

# Two named threads that compute without the interpreter's lock, in each of some processes, as long as its input is
# open. It says the numbers of all.
WORKER = r"""
import ctypes, hashlib, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
lock = threading.Lock()
def work(name):
    libc.prctl(15, name.encode())
    with lock:
        os.write(1, b"%s %d %d\n" % (name.encode(), os.getpid(), threading.get_native_id()))
    while True:
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 20000)
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        break
for name in ("first;one", "second (2)"):
    threading.Thread(target=work, args=(name,), daemon=True).start()
os.read(0, 1)
os._exit(0)
"""


class Threads(CommandTest):
    def start_worker(self, processes):
        """[(name, pid, tid)] of the threads of these processes, and the first process."""
        worker = self.start(["/usr/bin/python3", "-S", "-c", WORKER, str(processes)], stdin=subprocess.PIPE)
        lines = [worker.stdout.readline().split() for _ in range(2 * processes)]
        threads = [(text(b" ".join(line[:-2])), int(line[-2]), int(line[-1])) for line in lines]
        self.assertEqual(len(set(pid for _, pid, _ in threads)), processes)
        return worker, threads

    def report(self, *words):
        result = self.ntprof("report", "--json", "--rows", "0", *words, FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_statistics(report)
        self.assertEqual(sum(row["hits"] for row in report["rows"]), report["sources"][0]["taken"])
        return report["rows"]

    def sums(self, key, rows):
        found = {}
        for row in rows:
            found[row.get(key)] = found.get(row.get(key), 0) + row["hits"]
        return found

    def wait_for_all(self, child, threads):
        """Until each of the threads has a hit in the file."""
        def all_hit():
            if not (self.folder / FILE).exists():
                return child.poll() is not None
            rows = self.sums("thread", self.report("--by", "thread"))
            return all(rows.get(f"{name} ({tid})", 0) > 0 for name, _, tid in threads)

        wait_for(all_hit, "hits of all threads")

    def assert_told_apart(self, threads):
        """Rows of the file are of these threads, and sums over them are those without threads."""
        by_thread = self.sums("thread", self.report("--by", "thread"))
        by_pid = self.sums("pid", self.report("--by", "pid"))
        both = self.report("--by", "pid,thread,process")
        for name, pid, tid in threads:
            self.assertGreater(by_thread.get(f"{name} ({tid})", 0), 0, (name, by_thread))
            self.assertGreater(by_pid.get(pid, 0), 0, by_pid)
            self.assertTrue([row for row in both if row.get("pid") == pid and row["thread"] == f"{name} ({tid})"])
        self.assertEqual(self.sums("thread", both), by_thread)
        self.assertEqual(self.sums("pid", both), by_pid)
        self.assertEqual(self.sums("process", both), self.sums("process", self.report("--by", "process")))


@for_each_user_if_long
class Apart(Threads):
    def test_run__each_thread_and_process_has_rows(self):
        child = self.start_profile("--threads", "--every", "100ms", "--", "/usr/bin/python3", "-S", "-c", WORKER, "2",
                                   stdin=subprocess.PIPE)
        lines = [child.stdout.readline().split() for _ in range(4)]
        threads = [(text(b" ".join(line[:-2])), int(line[-2]), int(line[-1])) for line in lines]

        self.wait_for_all(child, threads)
        child.stdin.close()
        child.wait(timeout=harness.TIME_LIMIT_S)
        self.assert_told_apart(threads)
        table = text(self.ntprof("report", "--by", "pid", FILE).stdout)
        for _, pid, _ in threads:
            self.assertIn(f"python3 ({pid})", table)

    def test_attach__the_same_and_other_forms_have_it(self):
        _, threads = self.start_worker(1)
        child = self.start(self.arguments("attach", "-p", threads[0][1], "--threads", "--every", "100ms", "--by",
                                          "thread"))
        self.wait_for_all(child, threads)
        said = self.interrupt(child)
        first = next(tid for name, _, tid in threads if name == "first;one")  # lines come in any order
        self.assertIn(f"first;one ({first})", said)
        self.assert_told_apart(threads)
        pid = threads[0][1]
        rows = json.loads(self.ntprof("export", "--format", "json", FILE).stdout)["rows"]
        self.assertEqual({row.get("pid") for row in rows}, {pid})
        lines = list(csv.DictReader(io.StringIO(text(self.ntprof("export", "--format", "csv", FILE).stdout))))
        self.assertEqual({line["pid"] for line in lines}, {str(pid)})
        lines = list(csv.DictReader(io.StringIO(text(self.ntprof("report", "--csv", "--by", "pid", FILE).stdout))))
        self.assertEqual([line["pid"] for line in lines], [str(pid)])
        self.assertIn(b"pid", gzip.decompress((self.folder / FILE).read_bytes()))
        merged = self.ntprof("merge", "-o", "sum.pb.gz", FILE, FILE)
        self.assertEqual(merged.returncode, 0, text(merged.stderr))
        rows = json.loads(self.ntprof("report", "--json", "--by", "pid", "sum.pb.gz").stdout)["rows"]
        self.assertEqual([row["pid"] for row in rows], [pid])

    def test_without_it__what_to_type_is_said(self):
        result = self.profile("--", harness.program("shares"), "200")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        for key in ("pid", "thread"):
            with self.subTest(key):
                said = text(self.ntprof("report", "--by", key, FILE).stderr)
                self.assertIn("ntprof run --threads -- COMMAND", said)
                said = text(self.profile("--by", key, "--", "true").stderr)
                self.assertIn(f"--by {key}: needs --threads", said)

    def test_difference_by_pid__is_refused(self):
        said = text(self.ntprof("diff", "--by", "pid", "a", "b").stderr)
        self.assertIn("--by process", said)

    def test_back_ends_that_cannot__are_refused(self):
        for hal in ("timer", "sim"):
            with self.subTest(hal):
                result = self.profile("--threads", "--hal", hal, "--", "touch", "started")
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertIn("--threads", said)
                self.assertFalse((self.folder / "started").exists())


class Machine(Threads):
    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may profile all processes")
        super().setUp()

    def test_system__threads_of_all_with_their_kernel_time(self):
        _, threads = self.start_worker(2)
        child = self.start(self.arguments("system", "--threads", "--every", "100ms"))
        self.wait_for_all(child, threads)
        self.interrupt(child)
        self.assert_told_apart(threads)
        names = {row["thread"] for row in self.report("--by", "thread,process") if row["process"] == "[idle]"}
        self.assertLessEqual(names, {"[idle]"})
        pids = {row.get("pid") for row in self.report("--by", "pid,process") if row["process"] == "python3"}
        self.assertLessEqual({pid for _, pid, _ in threads}, pids)


if __name__ == "__main__":
    harness.main()
