#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--every: the file is rewritten whole while a command runs, and a killed ntprof leaves the last one."""
import ctypes
import gzip
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import tempfile

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, text, wait_for

FILE = "ntprof.pb.gz"

# A function that counts down from 5000, at an address where nothing else is: calls come at a rate that
# no ring is too small for.
PAGE = 0x10000000
CODE = {"x86_64": bytes.fromhex("b988130000 ffc9 75fc c3"),
        "aarch64": bytes.fromhex("00718252 00040071 e1ffff54 c0035fd6")}
CALLS = 40000

# Works until it is told to end, and says when it has begun.
WORKER = ["/usr/bin/python3", "-S", "-c", "import os, select\nos.write(1, b'ready\\n')\n"
          "while not select.select([0], [], [], 0)[0]: sum(range(5000))"]


class Every(CommandTest):
    def setUp(self):
        super().setUp()
        self.go = pathlib.Path(tempfile.mkdtemp(dir=harness.stage())) / "go"
        self.go.parent.chmod(0o755)
        self.go.touch()
        self.addCleanup(shutil.rmtree, self.go.parent)

    def versions(self, child, path, stop_after=None):
        """The contents of a file as it is replaced, until the child has ended, which the go file tells
        to after so many."""
        found = []
        known = None
        while True:
            ended = child.poll() is not None
            try:
                with open(path, "rb") as file:
                    identity = os.fstat(file.fileno()).st_ino, os.fstat(file.fileno()).st_mtime_ns
                    if identity != known:
                        known = identity
                        found.append(file.read())
                        if len(found) == stop_after:
                            self.go.unlink()
            except FileNotFoundError:
                pass
            if ended:
                return found
            wait_for(lambda: child.poll() is not None or not path.exists() or
                     (path.stat().st_ino, path.stat().st_mtime_ns) != known, "a new file")

    def read(self, content, *words):
        """The report of a profile's bytes."""
        path = self.folder / "read.pb.gz"
        path.write_bytes(content)
        if self.user is not None:
            os.chown(path, self.user, self.user)
        result = self.ntprof("report", "--json", "--rows", "0", *words, path)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        path.unlink()
        return json.loads(result.stdout)

    def rows(self, report):
        return {(row["image"], row["address"], row["process"]): row["hits"]
                for row in report["rows"]}

    def assert_grows(self, reports):
        """No row is ever less than it was, and each file's rows are its statistics' counted hits."""
        before = {}
        statistics = None
        for report in reports:
            self.assert_statistics(report)
            source, = report["sources"]
            rows = self.rows(report)
            self.assertEqual(sum(rows.values()), source["taken"], source)
            for key, hits in before.items():
                self.assertGreaterEqual(rows.get(key, 0), hits, key)
            if statistics is not None:
                for part in ("expected", "taken", "counted", "outside"):
                    self.assertGreaterEqual(source[part], statistics[part], part)
            before, statistics = rows, source

    def start_worker(self, *options, **given):
        child = self.start_profile(*options, "--", *WORKER, stdin=subprocess.PIPE, **given)
        self.assertEqual(child.stdout.readline(), b"ready\n")
        return child

    def end_worker(self, child):
        child.stdin.close()
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0)
        return text(child.stderr.read())

    def wait_for_file(self, path):
        wait_for(path.exists, "the first file")
        return path.stat().st_ino


@for_each_user_if_long
class Files(Every):
    def count_calls(self, *options):
        """Calls of one instruction, which a breakpoint counts one by one, or where these do not fire a uprobe."""
        page = self.folder / "page"
        page.write_bytes(CODE[platform.machine()].ljust(4096, b"\0"))
        words = [harness.program("page_caller"), f"{PAGE:x}", str(CALLS)]
        source = f"breakpoint:{PAGE:#x}"
        if not harness.breakpoints_fire():
            source = f"uprobe:{page}+0x0"
            words.append("0")
        with open(page, "rb") as code:
            return self.start_profile("-e", source, "-c", "1", *options, "--", *words, stdin=code)

    def test_exact_counts__same_sum_as_without_and_files_only_grow(self):
        if platform.machine() not in CODE:
            self.skipTest("no code for this machine")
        self.need_exact_source()
        child = self.count_calls("-o", "plain.pb.gz")
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0, text(child.stderr.read()))
        plain = self.read((self.folder / "plain.pb.gz").read_bytes(), "--by", "address")
        child = self.count_calls("--every", "200ms")
        reports = [self.read(content, "--by", "address")
                   for content in self.versions(child, self.folder / FILE)]
        self.assertEqual(child.returncode, 0, text(child.stderr.read()))
        self.assertTrue(reports)
        self.assert_grows(reports)
        for report in (plain, reports[-1]):
            source, = report["sources"]
            self.assertEqual(source["taken"] + source["lost"], CALLS)
            hits = {row["address"]: row["hits"] for row in report["rows"]}
            # Of a file that is mapped, addresses are in the file.
            address = PAGE if harness.breakpoints_fire() else 0
            self.assertEqual(hits, {f"{address:#x}": CALLS - source["lost"]})
        self.assertIn("the recording ran", reports[0]["gaps"])
        self.assertNotIn("the recording ran", reports[-1]["gaps"])

    def test_time__files_only_grow_and_names_stay_when_processes_go(self):
        command = f"while [ -e {self.go} ]; do {harness.BURN}; done"
        child = self.start_profile("--every", "100ms", "--", "sh", "-c", command)
        contents = self.versions(child, self.folder / FILE, 5)
        self.assertEqual(child.returncode, 0, text(child.stderr.read()))
        reports = [self.read(content, "--by", "address") for content in contents]
        self.assertGreaterEqual(len(reports), 6)
        self.assert_grows(reports)
        last = {(row["image"], row["address"]): row["function"] for row in reports[-1]["rows"]}
        named = 0
        for report in reports[:-1]:
            for row in report["rows"]:
                named += row["function"] != ""
                self.assertEqual(last[row["image"], row["address"]], row["function"], row)
        self.assertGreater(named, 0)
        self.assert_nothing_left(FILE)

    def assert_statistics_of_rows(self, content):
        """Each source's rows are its statistics' counted hits."""
        report = self.read(content, "--by", "source")
        self.assert_statistics(report)
        hits = {row["source"]: row["hits"] for row in report["rows"]}
        for source in report["sources"]:
            self.assertEqual(hits.get(source["name"], 0), source["counted"], source["name"])

    def test_two_sources__each_has_its_own_statistics_at_each_time(self):
        for options in ([], ["--threads"]):
            with self.subTest(options):
                self.go.touch()
                child = self.start_profile("--every", "100ms", "-e", "time,page-faults", "-c", "1", *options, "--",
                                           "/usr/bin/python3", "-S", "-c", "import os\n"
                                           f"while os.path.exists({str(self.go)!r}): b'x' * 3000000")
                contents = self.versions(child, self.folder / FILE, 5)
                self.assertEqual(child.returncode, 0, text(child.stderr.read()))
                self.assertGreaterEqual(len(contents), 6)
                for content in contents:
                    self.assert_statistics_of_rows(content)

    def test_two_sources_and_threads__a_pause_divides_rows_and_statistics_at_the_same_hit(self):
        for _ in range(5):
            result = self.profile("--threads", "-e", "time,page-faults", "-F", "10k", "--duration", "0.2s", "--",
                                  "/usr/bin/python3", "-S", "-c", "import time\n"
                                  "while time.process_time() < 0.5: b'x' * 3000000")
            self.assertEqual(result.returncode, 0, text(result.stderr))
            self.assert_statistics_of_rows((self.folder / FILE).read_bytes())

    def test_old_file__kept_once_not_at_every_rewrite(self):
        self.profile("-q", "--", "true")
        before = (self.folder / FILE).read_bytes()
        first = (self.folder / FILE).stat().st_ino
        child = self.start_worker("--every", "100ms")
        for _ in range(3):
            inode = (self.folder / FILE).stat().st_ino
            wait_for(lambda: (self.folder / FILE).stat().st_ino != inode, "a new file")
        self.end_worker(child)
        self.assertEqual((self.folder / (FILE + ".old")).read_bytes(), before)
        self.assertNotEqual((self.folder / FILE).stat().st_ino, first)
        self.assert_nothing_left(FILE, FILE + ".old")


@for_each_user
class Faults(Every):
    def test_ntprof_killed__last_file_is_whole_and_the_command_goes_on(self):
        for wait_s in (0.05, 0.13, 0.21, 0.29, 0.34):
            with self.subTest(wait_s):
                child = self.start_worker("--every", "100ms")
                self.wait_for_file(self.folder / FILE)
                try:
                    child.wait(wait_s)
                except subprocess.TimeoutExpired:
                    pass
                child.kill()
                child.wait()
                report = self.read((self.folder / FILE).read_bytes(), "--by", "address")
                self.assert_grows([report])
                child.stdin.close()
                (self.folder / FILE).unlink()
                (self.folder / (FILE + ".old")).unlink(missing_ok=True)

    def test_folder_vanishes__said_once_and_tried_again(self):
        place = self.folder / "place"
        place.mkdir()
        if self.user is not None:
            os.chown(place, self.user, self.user)
        errors = self.folder / "errors"
        with open(errors, "wb") as stream:
            child = self.start_worker("--every", "100ms", "-o", "place/x.pb.gz", stderr=stream)
            self.wait_for_file(place / "x.pb.gz")
            place.rename(self.folder / "away")
            wait_for(lambda: b"--every" in errors.read_bytes(), "the message")
            try:
                child.wait(0.5)  # time for some more
            except subprocess.TimeoutExpired:
                pass
            (self.folder / "away").rename(place)
            inode = (place / "x.pb.gz").stat().st_ino
            wait_for(lambda: (place / "x.pb.gz").stat().st_ino != inode, "a new file")
            child.stdin.close()
            self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0)
        said = [line for line in errors.read_text().splitlines() if "--every" in line]
        self.assertEqual(len(said), 1, said)
        self.assertIn("place/x.pb.gz", said[0])
        self.assert_profile_file(place / "x.pb.gz")

    def test_full_disk__said_once_and_the_file_of_before_stays(self):
        if not harness.is_root():
            self.skipTest("root must mount a small disk")
        disk = self.folder / "disk"
        disk.mkdir()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"none", bytes(disk), b"tmpfs", 0, b"size=64k,mode=777") != 0:
            self.skipTest("tmpfs cannot be mounted: " + os.strerror(ctypes.get_errno()))
        self.addCleanup(libc.umount2, bytes(disk), 2)
        path = disk / "x.pb.gz"
        errors = self.folder / "errors"
        with open(errors, "wb") as stream:
            child = self.start_worker("--every", "100ms", "-o", path, stderr=stream)
            self.wait_for_file(path)
            filler = open(disk / "filler", "wb", buffering=0)
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass
            filler.close()
            wait_for(lambda: b"--every" in errors.read_bytes(), "the message")
            self.read(path.read_bytes())
            inode = path.stat().st_ino
            (disk / "filler").unlink()
            wait_for(lambda: path.stat().st_ino != inode, "a new file")
            child.stdin.close()
            self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0)
        said = [line for line in errors.read_text().splitlines() if "--every" in line]
        self.assertEqual(len(said), 1, said)
        self.assertIn(os.strerror(28), said[0])
        self.assertEqual([entry.name for entry in disk.iterdir()], ["x.pb.gz"])
        gzip.decompress(path.read_bytes())

    def test_what_cannot_be_rewritten__refused_before_the_command_starts(self):
        for words, wanted in ((["-o", "-"], "again and again"), (["-o", "/dev/null"], "/dev/null"),
                              (["--every", "1"], "100ms"), (["--every", "99ms"], "100ms"),
                              (["--every", "0s"], "100ms"), (["--every", "-1s"], "100ms"),
                              (["--every", "often"], "10s")):
            with self.subTest(words):
                result = self.profile("--every", "1s", *words, "--", "touch", "started")
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertIn("--every", said)
                self.assertIn(wanted, said)
                self.assert_nothing_left()

    def test_command_shorter_than_the_interval__one_file_at_the_end(self):
        result = self.profile("--every", "1h", "--", "sh", "-c", f"exec {harness.BURN}")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(text(result.stderr), harness.SUMMARY)
        report = self.read((self.folder / FILE).read_bytes(), "--by", "address")
        self.assertNotIn("the recording ran", report["gaps"])
        self.assert_grows([report])

    def test_signal_that_ends_the_command__last_file_is_the_end(self):
        child = self.start_worker("--every", "100ms")
        self.wait_for_file(self.folder / FILE)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(harness.TIME_LIMIT_S), -signal.SIGTERM)
        report = self.read((self.folder / FILE).read_bytes(), "--by", "address")
        self.assertNotIn("the recording ran", report["gaps"])
        self.assert_grows([report])


if __name__ == "__main__":
    harness.main()
