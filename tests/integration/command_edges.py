#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof run at its edges: files that clash or wait, JIT code anywhere, lost records of mappings."""
import json
import os
import pathlib
import platform
import subprocess
import time
import unittest

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, text

# Code that runs some 40 ms in memory mapped with the flags of argv[1], and a perf map for it.
JIT = """
import ctypes, mmap, os, sys
loop = bytes.fromhex("48c7c00000400048ffc875fbc3")
memory = mmap.mmap(-1, 4096, flags=getattr(mmap, sys.argv[1]) | mmap.MAP_ANONYMOUS, prot=7)
memory.write(loop)
base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
path = "/tmp/perf-%d.map" % os.getpid()
with open(path, "x") as file:
    file.write("%x 20 jitted_loop\\n" % base)
print(path, flush=True)
for _ in range(40):
    ctypes.CFUNCTYPE(None)(base)()
"""

# The same code for 0.5 s of processor time, in memory that mremap moves: Linux reports no mapping where it runs. Once
# at first, or to ever new places.
MOVED = """
import ctypes, mmap, sys, time
loop = bytes.fromhex("48c7c00000400048ffc875fbc3")
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
free = libc.mmap(None, 4096 * 8192, 0, private, -1, 0)
code = libc.mmap(None, 4096, 7, private, -1, 0)
ctypes.memmove(code, loop, len(loop))
MAYMOVE, FIXED = 1, 2
def move():
    global free, code
    assert libc.mremap(code, 4096, 4096, MAYMOVE | FIXED, free) == free
    code = free
    free += 4096
move()
begin = time.process_time()
while time.process_time() - begin < 0.5:
    ctypes.CFUNCTYPE(None)(code)()
    if sys.argv[1] == "always":
        move()
"""

# The same code, in a file that is no ELF file: of its folder, of memory, of a path that is longer than Linux tells.
RAW = """
import ctypes, mmap, os, sys, time
loop = bytes.fromhex("48c7c00000400048ffc875fbc3")
if sys.argv[1] == "deep":
    for _ in range(20):
        os.mkdir("d" * 250)
        os.chdir("d" * 250)
file = os.memfd_create("code") if sys.argv[1] == "memfd" else os.open("raw", os.O_RDWR | os.O_CREAT, 0o700)
os.write(file, loop.ljust(4096, b"\\0"))
memory = mmap.mmap(file, 4096, flags=mmap.MAP_PRIVATE, prot=7)
base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
begin = time.process_time()
while time.process_time() - begin < 0.3:
    ctypes.CFUNCTYPE(None)(base)()
"""

# The same in four processes for 200 ms of processor time each, whose perf maps are one file of argv[1] bytes, by
# hard links.
JITS = """
import ctypes, mmap, os, sys, time
loop = bytes.fromhex("48c7c00000400048ffc875fbc3")
memory = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
memory.write(loop)
base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
def path_of(pid):
    path = "/tmp/perf-%d.map" % pid
    if os.path.lexists(path):
        os.unlink(path)  # of a process that had the pid before
    return path
shared = path_of(os.getpid())
with open(shared, "x") as file:
    file.truncate(int(sys.argv[1]))
    file.seek(0, 2)
    file.write("\\n%x 20 jitted_loop\\n" % base)
paths = [shared]
for _ in range(3):
    child = os.fork()
    if child == 0:
        break
    paths.append(path_of(child))
    os.link(shared, paths[-1])
else:
    child = 1
    print(*paths, flush=True)
begin = time.process_time()
while time.process_time() - begin < 0.2:
    ctypes.CFUNCTYPE(None)(base)()
if child:
    for _ in range(3):
        os.wait()
"""

# Executable mappings, faster than they can be told.
MAPS = """
import mmap
kept = [mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=prot)
        for prot in [5, 1] * 10000]
"""


@for_each_user
class Files(CommandTest):
    def test_profile_and_report_in_one_file__refused_before_the_command_starts(self):
        for report in ("one", "./one"):
            with self.subTest(report):
                (self.folder / "one").write_bytes(b"old")
                result = self.profile("-o", "one", "--report", report, "--", "touch", "started")
                self.assertEqual(result.returncode, 125)
                self.assertIn("-o and --report", text(result.stderr))
                self.assertEqual((self.folder / "one").read_bytes(), b"old")
                self.assert_nothing_left("one")

    def test_report_to_dash__is_standard_output(self):
        result = self.profile("--json", "--report", "-", "--", "true")
        self.assertEqual(result.returncode, 0)
        self.assertIn("ntprof.report", text(result.stdout))
        self.assertEqual(result.stderr, b"")
        self.assert_nothing_left("ntprof.pb.gz")

    def test_fifo_without_a_reader__can_be_interrupted(self):
        os.mkfifo(self.folder / "fifo", 0o666)
        if self.user is not None:
            os.chown(self.folder / "fifo", self.user, self.user)
        child = self.start_profile("-q", "-o", "fifo", "--", "true")
        with self.assertRaises(subprocess.TimeoutExpired):
            child.wait(0.5)

        def ended():
            child.terminate()  # a signal that comes before the file is opened is passed on to the command
            time.sleep(0.2)
            return child.poll() is not None
        harness.wait_for(ended, "the end")
        _, said = child.communicate(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(child.returncode, 0)
        self.assertIn("fifo", text(said))

    def test_full_disk__status_of_what_prints_to_standard_output(self):
        for command in ("help", "doctor", "sources", "version"):
            with self.subTest(command), open("/dev/full", "wb") as full:
                result = self.ntprof(command, stdout=full, capture_output=False,
                                     stderr=subprocess.PIPE)
                self.assertEqual(result.returncode, 125)
                self.assertIn("cannot write", text(result.stderr))


@for_each_user_if_long
class Mappings(CommandTest):
    @unittest.skipUnless(platform.machine() == "x86_64", "the code is for x86-64")
    def test_jit_code__is_named_in_private_and_in_shared_memory(self):
        for flags in ("MAP_PRIVATE", "MAP_SHARED"):
            with self.subTest(flags):
                result = self.profile("--", "/usr/bin/python3", "-S", "-c", JIT, flags)
                os.unlink(text(result.stdout).strip())
                self.assertIn("jitted_loop", text(result.stderr))

    @unittest.skipUnless(platform.machine() == "x86_64", "the code is for x86-64")
    def test_code_in_files_that_are_no_elf_files__said_what_they_are(self):
        for kind, said in {"file": "it could not be read, or has neither symbols nor a build-id",
                           "memfd": "it has no perf map, /tmp/perf-PID.map, which many runtimes write",
                           "deep": "Linux does not report which file has a path of more than 4000 bytes"}.items():
            with self.subTest(kind):
                result = self.profile("-o", "p", "--", "/usr/bin/python3", "-S", "-c", RAW, kind)
                self.assertEqual(result.returncode, 0, text(result.stderr))
                self.assertIn(said, text(result.stderr))
                self.assertNotIn("debug package", text(result.stderr))

    @unittest.skipUnless(platform.machine() == "x86_64", "the code is for x86-64")
    def test_code_that_mremap_moved__it_is_found_and_named(self):
        result = self.profile("-o", "p", "--", "/usr/bin/python3", "-S", "-c", MOVED, "once")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(self.ntprof("report", "--json", "--by", "image", "p").stdout)
        self.assert_statistics(report)
        source, = report["sources"]
        moved = sum(row["hits"] for row in report["rows"] if row["image"].startswith("[anon:"))
        self.assertGreater(moved, source["taken"] / 2, text(result.stderr))
        self.assertLess(source["outside"], source["taken"] / 20)

    @unittest.skipUnless(platform.machine() == "x86_64", "the code is for x86-64")
    def test_code_that_mremap_always_moves__its_hits_are_said_and_nothing_is_complete(self):
        result = self.profile("-v", "-o", "p", "--", "/usr/bin/python3", "-S", "-c", MOVED, "always")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        for said in (text(result.stderr), text(self.ntprof("report", "-v", "p").stdout)):
            line, = (line for line in said.splitlines() if ", taken " in line and ", outside " in line)
            self.assertRegex(line, r"; \d+ hits? \([\d.]+%\) in no row: in code that moved")
            self.assertNotIn("complete", line)
        report = json.loads(self.ntprof("report", "--json", "p").stdout)
        self.assert_statistics(report)
        source, = report["sources"]
        self.assertGreater(source["outside"], 0)
        self.assertFalse(source["complete"])

    def run_jits(self, size):
        """What was said, and the rows of JIT code."""
        result = self.profile("-o", "p", "--", "/usr/bin/python3", "-S", "-c", JITS, str(size))
        for path in text(result.stdout).split("\n")[0].split():
            pathlib.Path(path).unlink(missing_ok=True)  # another test may have cleaned up
        self.assertEqual(result.returncode, 0, text(result.stderr))
        shown = self.ntprof("report", "--json", "--rows", "0", "--by", "image,function", "p")
        rows = [row for row in json.loads(shown.stdout)["rows"] if row["image"].startswith("[anon:")]
        return text(result.stderr), rows

    @unittest.skipUnless(platform.machine() == "x86_64", "the code is for x86-64")
    def test_perf_maps_that_are_one_file__it_is_read_once_for_all(self):
        said, rows = self.run_jits(100 << 20)
        named = {row["image"] for row in rows if row["function"] == "jitted_loop"}
        self.assertEqual(len(named), 4, said)
        self.assertNotIn("perf map", said)

    @unittest.skipUnless(platform.machine() == "x86_64", "the code is for x86-64")
    def test_perf_map_of_more_than_is_read__said_and_all_else_is_there(self):
        said, rows = self.run_jits(257 << 20)
        self.assertEqual(len({row["image"] for row in rows}), 4, said)
        self.assertNotIn("jitted_loop", {row["function"] for row in rows})
        self.assertEqual(said.count("is not read: all perf maps together have more than 256 MiB"), 4, said)
        self.assertIn("the perf maps of 4 processes were not read", said)

    def test_storm_of_mappings__statistics_add_up_and_lost_records_are_no_hits(self):
        began = time.monotonic()
        report = self.report_json("--", "/usr/bin/python3", "-S", "-c", MAPS)
        took_s = time.monotonic() - began
        self.assert_statistics(report)
        # Its one thread has no more hits than time has passed; the records of the mappings are many more.
        self.assert_has_at_most(report, took_s)


if __name__ == "__main__":
    harness.main()
