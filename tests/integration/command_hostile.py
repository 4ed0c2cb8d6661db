#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every command that reads profiles: hostile names in every form, files that are none, and full disks.

profile-maker's kind `hard` has hostile names of everything that has one: functions, source files, images,
build-ids, processes, threads, sources, the command line, the notes.
"""
import bz2
import csv
import ctypes
import fcntl
import gzip
import html.parser
import io
import json
import lzma
import os
import pathlib
import pty
import re
import struct
import sys
import termios
import zipfile

import harness
from harness import text, wait_for

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import validate_schema  # noqa: E402

SCHEMAS = pathlib.Path(os.environ["NTPROF_SCHEMA"]).parent
HOSTILE = "a;b\nc\"d\\e,\\xff\033[31m<script>\u202e \\x41"
LONG = "L" * (1 << 20)
KEYS = ("function", "line", "image", "address", "bucket", "process", "thread", "cpu", "source")
FORMS = ("pprof", "gmon", "callgrind", "speedscope", "folded", "json", "csv", "html", "openmetrics")
SANITIZED = b"__asan_init" in pathlib.Path(os.environ["NTPROF"]).read_bytes()
TURNS = {*range(0x202a, 0x202f), *range(0x2066, 0x206a), 0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0xfeff}


def harmful(output):
    """The characters of an output that a terminal or a reader of lines would obey."""
    return [ascii(character) for character in sorted(set(output.decode("utf-8")))
            if (ord(character) < 32 and character != "\n") or 127 <= ord(character) < 160 or
            ord(character) in TURNS]


class Page(html.parser.HTMLParser):
    """Which elements a page has, and the texts of its scripts that do not run."""

    def __init__(self, page):
        super().__init__()
        self.elements = []
        self.data = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, sorted(name for name, _ in attrs)))

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] == "script":
            self.data.append(data)


class Hostile(harness.CommandTest):
    def make(self, *words):
        self.run_bare([harness.program("profile-maker"), *map(str, words)], check=True)

    def setUp(self):
        super().setUp()
        self.make("hard", "hard")
        csv.field_size_limit(1 << 24)

    def succeed(self, *words):
        """Standard output; there and on standard error is nothing that drives a terminal."""
        result = self.ntprof(*words)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertEqual(harmful(result.stderr), [], words)
        return result.stdout

    def printed(self, *words):
        output = self.succeed(*words)
        self.assertEqual(harmful(output), [], words)
        return output

    def json(self, schema, *words):
        told = json.loads(self.printed(*words))
        schema = json.loads((SCHEMAS / schema).read_text())
        self.assertEqual(list(validate_schema.check(told, schema, schema)), [], words)
        return told

    def csv(self, *words):
        """The lines; each has the columns of the first, and none is a formula."""
        lines = list(csv.reader(io.StringIO(self.printed(*words).decode(), newline=""), strict=True))
        self.assertGreater(len(lines), 1)
        self.assertEqual({len(line) for line in lines}, {len(lines[0])}, words)
        for line in lines[1:]:
            for field in line:
                self.assertNotRegex(field[:80], r"^([=+@]|-[^0-9])", "a formula")
        return lines

    def functions(self, file):
        told = self.json("report.schema.json", "report", "--json", "--rows", "0", file)
        return {row["function"] for row in told["rows"]}


class Names(Hostile):
    def test_report__every_key_and_form(self):
        for key in (*KEYS, ",".join(KEYS)):
            with self.subTest(key):
                words = ["report", "--rows", "0", "--by", key, "hard"]
                self.printed(*words)
                self.json("report.schema.json", *words, "--json")
                self.csv(*words, "--csv")
        self.assertLessEqual({LONG, "\\x1b]0;t\\x07\\x0d\\x7f\\xc2\\x9b[1m", "\\x09=1", "</script>", "\\xff"},
                             self.functions("hard"))

    def test_report__filters_by_hostile_names(self):
        for option in ("--symbol", "--process", "--image"):
            with self.subTest(option):
                self.printed("report", option, "*" + HOSTILE[:3] + "*", "hard")
                said = self.ntprof("report", option, "\033[2J\n\u202e", "hard").stderr
                self.assertEqual((harmful(said), said.count(b"\n")), ([], 1))

    def test_report__on_a_terminal_of_any_width__colours_alone(self):
        for columns in (1, 20, 80, 65535):
            with self.subTest(columns):
                master, slave = pty.openpty()
                self.set_columns(slave, columns)
                child = self.start(self.arguments("report", "hard"), stdout=slave, stderr=slave)
                os.close(slave)
                shown = self.read_all(master)
                self.assertEqual(child.wait(harness.TIME_LIMIT_S), 0)
                plain = re.sub(rb"\033\[[0-9;]*m", b"", shown.replace(b"\r\n", b"\n"))
                self.assertEqual(harmful(plain), [])
                self.assertIn(b"100.00%", plain)

    @staticmethod
    def set_columns(terminal, columns):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    @staticmethod
    def read_all(descriptor):
        parts = []
        while True:
            try:
                part = os.read(descriptor, 65536)
            except OSError:  # the other side is closed
                part = b""
            if not part:
                os.close(descriptor)
                return b"".join(parts)
            parts.append(part)

    def test_diff__every_form(self):
        self.make("image", "other", "/usr/bin/app", 10000, "0x1000:5")
        for pair in (["hard", "hard"], ["hard", "other"], ["other", "hard"]):
            for more in ([], ["--normalize"], ["--by", "line"], ["--by", "image,process"]):
                with self.subTest((pair, more)):
                    words = ["diff", "--all", "--rows", "0", *more, *pair]
                    self.printed(*words)
                    self.json("diff.schema.json", *words, "--json")
                    self.csv(*words, "--csv")

    def test_annotate__by_names_and_places(self):
        for what in (HOSTILE, "*script*", "LL*", "=1+1", "-x", "app+0x1000", HOSTILE + ":11", LONG[:100000]):
            for form in ([], ["--json"], ["--source"]):
                with self.subTest((what[:40], form)):
                    result = self.ntprof("annotate", *form, "--", what, "hard")
                    self.assertIn(result.returncode, (0, 125))
                    self.assertEqual(harmful(result.stdout) + harmful(result.stderr), [])
                    self.assertEqual(result.returncode == 0, result.stdout != b"")

    def test_merge__names_come_through_and_back(self):
        names = self.functions("hard")
        self.printed("merge", "-o", "sum", "hard", "hard")
        self.assertEqual(self.functions("sum"), names)
        self.assertEqual(self.printed("merge", "-q", "-o", "again", "sum"), b"")
        before = self.json("profile.schema.json", "export", "--format", "json", "hard")
        after = self.json("profile.schema.json", "export", "--format", "json", "again")
        for table, key in (("functions", "name"), ("images", "path")):
            self.assertEqual(sorted(entry[key] for entry in after[table]),
                             sorted(entry[key] for entry in before[table]))
        self.assertEqual(sorted(after["threads"]), sorted(before["threads"]))

    def test_exports__text_is_harmless_and_pprof_comes_back(self):
        for form in FORMS:
            with self.subTest(form):
                one = ["-e", "time"] if form in ("gmon", "folded") else []
                image = ["--image", "/opt/app"] if form == "gmon" else []
                words = ["export", "--format", form, *one, *image]
                output = self.succeed(*words, "hard")
                self.succeed(*words, "-o", "out", "hard")
                self.assertEqual((self.folder / "out").read_bytes(), output)
                if form not in ("pprof", "gmon"):
                    self.assertEqual(harmful(output), [])
        (self.folder / "back").write_bytes(self.succeed("export", "--format", "pprof", "hard"))
        self.assertEqual(self.functions("back"), self.functions("hard"))
        self.csv("export", "--format", "csv", "back")

    def test_page__names_make_no_elements(self):
        self.make("image", "plain", "/usr/bin/app", 10000, "0x1000:5")
        plain = Page(text(self.succeed("export", "--format", "html", "plain")))
        page = Page(text(self.succeed("export", "--format", "html", "hard")))
        listing = ("script", ["class", "data-fn", "data-image", "data-view", "type"])
        self.assertIn(listing, page.elements)
        self.assertEqual([element for element in page.elements if element != listing],
                         [element for element in plain.elements if element != listing])
        self.assertTrue(any("script" in data and "<script" not in data for data in page.data))


# A program whose names are as long as what is put over them.
PROGRAM = """
volatile unsigned long sink;
#line 1 "SOURCE____________.c"
__attribute__((noinline)) void FUNCTION________________(void)
{
    for (int i = 0; i < 400000; i++) { sink = sink / 3 + 7; }
}
int main(void)
{
    for (int i = 0; i < 60; i++) { FUNCTION________________(); }
    return 0;
}
"""
PLANTED = {b"FUNCTION________________": b"\033[31m\033]0;t\a\n\xff<b>;\",%n \xc2\x9b",
           b"SOURCE____________.c": b"\033[2J\n\xff<script>;.c\xe2\x80\xae"}


# Runs 200 ms of processor time.
WORK = """
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) void work(void) { for (int i = 0; i < 1000000; i++) sum += i; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 5) work(); return 0; }
"""


class RealProgram(Hostile):
    """Hostile symbols, and names of source, file and process, of a program that runs."""

    def setUp(self):
        super().setUp()
        (self.folder / "app.c").write_text(PROGRAM)
        result = self.run_bare(["gcc", "-O1", "-g", "-o", "app", "app.c"])
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.program = self.folder / "\033[31m;\n<b>"
        (self.folder / "app").rename(self.program)
        content = self.program.read_bytes()
        for name, planted in PLANTED.items():
            self.assertEqual(len(name), len(planted))
            self.assertIn(name, content)
            content = content.replace(name, planted)
        self.program.write_bytes(content)

    def test_recorded_and_read__harmless_everywhere(self):
        result = self.profile("-o", "p", "--", self.program)
        self.assertEqual((result.returncode, harmful(result.stderr)), (0, []))
        self.assertIn("\\x1b[31m\\x1b]0;t\\x07\\x0a\\xff<b>;\",%n \\xc2\\x9b", text(result.stderr))
        for key in (*KEYS[:6], "source"):  # it tells neither threads nor processors
            self.json("report.schema.json", "report", "--json", "--by", key, "p")
            self.csv("report", "--csv", "--by", key, "p")
        lines = text(self.printed("report", "--by", "line", "p"))
        self.assertIn("\\x1b[2J\\x0a\\xff<script>;.c\\xe2\\x80\\xae", lines)
        self.assertIn("\\x1b[31m;\\x0a<b>", text(self.printed("report", "--by", "process", "p")))
        for words in ([], ["--objdump"], ["--source"], ["--json"]):
            listing = self.printed("annotate", *words, "*<b>*", "p")
            self.assertIn(b"<b>;", listing)
        for form in FORMS[2:]:
            self.assertEqual(harmful(self.succeed("export", "--format", form, "p")), [], form)


class ProfileBombs(Hostile):
    """Profiles that are small in the file and large in memory: refused, in little of it."""

    TYPE = b"\x0a\x04\x08\x01\x10\x02"  # samples, count
    STRINGS = b"\x32\x00" + b"\x32\x07samples" + b"\x32\x05count"
    PEAK_KB = 1_200_000  # with a sanitizer, too; without a bound some GB

    def assert_refused(self, name, why):
        for words in (["report"], ["merge", "-q", "-o", "sum"], ["export", "--format", "csv"], ["diff", name]):
            child = self.start(self.arguments(*words, name))
            said = text(child.stderr.read())
            shown = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual((child.returncode, said.count("\n"), shown), (125, 1, b""), said)
            self.assertIn(why, said)
            self.assertLess(usage.ru_maxrss, self.PEAK_KB)

    def test_entries_of_two_bytes__counted_as_they_are_read(self):
        for name, entry in (("strings", b"\x32\x00"), ("mappings", b"\x1a\x00"), ("functions", b"\x2a\x00")):
            plain = self.TYPE + self.STRINGS + entry * 9_000_000
            (self.folder / name).write_bytes(gzip.compress(plain, 1))
            self.assert_refused(name, "more memory than a file of its size may")

    def test_zeros__refused_while_they_unpack(self):
        (self.folder / "zeros").write_bytes(gzip.compress(bytes(1 << 24), 1) * 200)
        self.assert_refused("zeros", "expands to more than 100 times its size")

    def test_hits_beyond_63_bits__refused(self):
        sample = b"\x12\x0a\x10" + b"\xff" * 8 + b"\x7f"  # 2^63 - 1
        (self.folder / "sums").write_bytes(self.TYPE + self.STRINGS + sample * 3)
        self.assert_refused("sums", "add up to more than a file holds")


class Bombs(Hostile):
    """Programs whose debug information is small in the file and large when it is read."""

    def setUp(self):
        super().setUp()
        (self.folder / "work.c").write_text(WORK)
        self.build("gcc", "-O1", "-g", "-gdwarf-4", "-o", "app", "work.c")

    def build(self, *words):
        result = self.run_bare(list(words))
        self.assertEqual(result.returncode, 0, text(result.stderr))

    def replace(self, file, section=".debug_line"):
        """The file becomes that section, packed."""
        self.build("objcopy", "--update-section", f"{section}={file}", "app")
        self.build("objcopy", "--compress-debug-sections=zlib", "app")
        self.assertLess((self.folder / "app").stat().st_size, 1_000_000)

    def recorded(self, *words):
        """What was said, and the rows by function and line."""
        result = self.profile(*words, "-o", "p", "--", self.folder / "app")
        self.assertEqual((result.returncode, harmful(result.stderr)), (0, []), text(result.stderr))
        rows = self.json("report.schema.json", "report", "--json", "--rows", "0", "--by", "line", "p")["rows"]
        return text(result.stderr), rows

    def add_rows(self, count):
        """To the last sequence of the line table, a byte each."""
        self.build("objcopy", "--dump-section", ".debug_line=lines", "app")
        table = bytearray((self.folder / "lines").read_bytes())
        length, = struct.unpack_from("<I", table)
        end = 4 + length - 3
        self.assertEqual(bytes(table[end:4 + length]), b"\x00\x01\x01")  # DW_LNE_end_sequence
        table[end:end] = b"\x20" * count
        struct.pack_into("<I", table, 0, length + count)
        (self.folder / "lines").write_bytes(table)
        self.replace("lines")

    def test_line_program_of_many_rows__functions_alone_and_said(self):
        self.add_rows(10_000_000)
        said, rows = self.recorded("--max-memory", "256M")
        self.assertIn("code has function names only", said)
        self.assertIn("1 image would have cost too much memory or time", said)
        self.assertTrue([row for row in rows if row["function"] == "work"], rows)
        self.assertEqual([row for row in rows if row["function"] == "work" and row["file"]], [])

    def add_abbreviations(self, count):
        """In front of those that the unit has, which libdw keeps when it looks for them."""
        self.build("objcopy", "--dump-section", ".debug_abbrev=abbrev", "app")
        table = bytearray()
        for code in range(1 << 14, (1 << 14) + count):
            table += bytes((0x80 | code & 0x7f, 0x80 | code >> 7 & 0x7f, 0x80 | code >> 14 & 0x7f, code >> 21))
            table += b"\x34\x00" + b"\x03\x0e" * 6 + b"\x00\x00"  # DW_TAG_variable of six names
        (self.folder / "abbrev").write_bytes(table + (self.folder / "abbrev").read_bytes())
        self.build("objcopy", "--update-section", ".debug_abbrev=abbrev", "app")
        self.build("objcopy", "--compress-debug-sections=zlib", "app")

    def test_memory_runs_out_in_libdw__costs_the_names_of_that_file_and_is_said(self):
        if SANITIZED:
            self.skipTest("memory has no limit")
        self.add_abbreviations(2_800_000)
        said, rows = self.recorded("--no-cache", "--max-memory", "256M")  # kept sections are mapped: they take none
        # Where it is not the entry but libdw's table of them that finds no room, libdw aborts.
        self.assertRegex(said, "app failed: it (needs more memory than it may take|tried what it has no right to)")
        self.assertIn("1 image would have cost too much memory or time", said)
        self.assertEqual([row for row in rows if row["function"] == "work"], [])

    def test_section_that_unpacks_to_more_than_memory__functions_alone_and_said(self):
        with open(self.folder / "strings", "wb") as strings:
            strings.truncate(140 << 20)
        self.replace("strings", ".debug_str")
        result = self.profile("--max-memory", "256M", "-o", "p", "--", self.folder / "app")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertIn("code has function names only", text(result.stderr))
        self.assertIn("work", self.functions("p"))


COMMANDS = {
    "report": ["report"],
    "annotate": ["annotate", "main"],
    "diff": ["diff", "good"],
    "merge": ["merge", "-o", "sum", "good"],
    "export": ["export", "--format", "csv"],
    "symbolize": ["report", "--symbolize", "-o", "sum"],
}


class Files(Hostile):
    def refused(self, *words):
        """What is said: one line."""
        result = self.ntprof(*words)
        self.assertEqual((result.returncode, result.stdout), (125, b""), (words, text(result.stderr)))
        said = text(result.stderr)
        self.assertEqual((said.count("\n"), harmful(result.stderr)), (1, []), said)
        self.assertTrue(said.startswith(f"ntprof: {words[0]}: "), said)
        return said

    def test_no_profiles__one_line_and_nothing_is_written(self):
        self.make("image", "good", "/usr/bin/app", 10000, "0x1000:5")
        whole = (self.folder / "good").read_bytes()
        bad = {"empty": b"", "half": whole[:len(whole) // 2], "head": whole[:5], "words": b"hello\n" * 50,
               "changed": whole[:30] + bytes(byte ^ 255 for byte in whole[30:40]) + whole[40:],
               "trailer": whole[:-4] + b"\0\0\0\1", "zeros": bytes(4096), "program": b"\x7fELF" + bytes(200),
               "x\033[31m\n\u202e": b"no"}
        for name, content in bad.items():
            (self.folder / name).write_bytes(content)
        (self.folder / "folder").mkdir()
        (self.folder / "loop").symlink_to("loop")
        (self.folder / "sum").write_text("old")
        kept = sorted(path.name for path in self.folder.iterdir())
        for command, words in COMMANDS.items():
            for name in (*bad, "missing", "missing\033[2J\n", "folder", "loop", "good/below", "n" * 300):
                with self.subTest((command, name)):
                    said = self.refused(*words, name)
                    self.assertIn(name.split("\033")[0][:100], said)
        self.assertEqual((self.folder / "sum").read_text(), "old")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), kept)

    def test_files_of_other_kinds__it_is_said_what_they_are(self):
        (self.folder / "whole").write_bytes(b"x")
        with zipfile.ZipFile(self.folder / "zip", "w") as archive:
            archive.write(self.folder / "whole", "whole")
        kinds = {"zstd": b"\x28\xb5\x2f\xfd\x04\0", "xz": lzma.compress(b"x"), "bzip2": bz2.compress(b"x"),
                 "ELF": b"\x7fELF\2\1\1", "perf record": b"PERFILE2\x68\0\0\0"}
        for kind, content in kinds.items():
            (self.folder / kind).write_bytes(content)
        for kind in ("zip", *kinds):
            with self.subTest(kind):
                said = self.refused("report", kind)
                self.assertIn(f"{kind} file" if kind != "perf record" else "file of perf record", said)
                self.assertIn(", not a profile", said)

    def test_profiles_that_do_not_fit__said_and_nothing_is_written(self):
        self.make("image", "good", "/usr/bin/app", 10000, "0x1000:5")
        self.make("image", "unknown", "/usr/bin/app", 0, "0x1000:5")
        self.assertIn("an interval that is not known", self.refused("merge", "-o", "sum", "good", "unknown"))
        self.assertFalse((self.folder / "sum").exists())
        self.make("image", "faster", "/usr/bin/app", 5000, "0x1000:5")
        result = self.ntprof("diff", "good", "faster")  # by time, since hits are of different worth
        self.assertEqual((result.returncode, harmful(result.stdout + result.stderr)), (0, []))


class FullDisk(Hostile):
    """What was on a disk before it was full is there afterwards, and nothing else."""

    def setUp(self):
        super().setUp()
        if not harness.is_root():
            self.skipTest("only root mounts a file system")
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"none", bytes(self.disk), b"tmpfs", 0, b"size=16k") != 0:
            self.skipTest("tmpfs cannot be mounted: " + os.strerror(ctypes.get_errno()))
        self.addCleanup(libc.umount2, bytes(self.disk), 2)
        (self.disk / "out").write_bytes(b"old")
        (self.disk / "filler").write_bytes(bytes(12 * 1024))

    def check(self, result, status, *words):
        said = [line for line in text(result.stderr).splitlines() if os.strerror(28) in line]
        # Of a file that is rewritten the first failure is told too, if there was time for one.
        self.assertIn(len(said), (1, 2) if "--every" in words else (1,), (words, text(result.stderr)))
        self.assertTrue(all("disk/out" in line for line in said), said)
        self.assertEqual(result.returncode, status, words)
        self.assertEqual((self.disk / "out").read_bytes(), b"old")
        self.assertEqual(sorted(path.name for path in self.disk.iterdir()), ["filler", "out"])

    def test_what_reads_profiles(self):
        for words in (["merge", "-q", "-o", "disk/out", "hard"],
                      ["report", "--symbolize", "-o", "disk/out", "hard"],
                      *(["export", "--format", form, "-o", "disk/out", "hard"]
                        for form in FORMS if form not in ("gmon", "folded"))):
            with self.subTest(words):
                self.check(self.ntprof(*words), 125, *words)

    def test_what_records(self):
        worker = self.start([harness.program("shares"), "300000"])
        wait_for(lambda: os.readlink(f"/proc/{worker.pid}/exe").endswith("/shares"), "the program")
        burn = ["--", "sh", "-c", f"{harness.BURN}; exit 9"]
        for status, words in ((9, ["run", "-o", "disk/out", *burn]),
                              (9, ["run", "-o", "disk/out", "--every", "100ms", *burn]),
                              (9, ["run", "-q", "-o", "/dev/null", "--report", "disk/out", "--rows", "0",
                                   "--json", *burn]),
                              (125, ["attach", "-p", worker.pid, "--duration", "300ms", "-o", "disk/out"]),
                              (125, ["system", "--duration", "300ms", "-o", "disk/out"])):
            with self.subTest(words):
                self.check(self.ntprof(*words), status, *words)


if __name__ == "__main__":
    harness.main()
