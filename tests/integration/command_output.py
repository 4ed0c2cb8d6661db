#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof run: its table, its JSON and its file, also where they cannot be written."""
import ctypes
import gzip
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, text

BURN = ["sh", "-c", f"exec {harness.BURN}"]
FILE = "ntprof.pb.gz"


def check_schema(schema, value, where="report", root=None):
    """Raises AssertionError where value is not what the JSON schema says. Knows what ours uses."""
    root = root or schema
    known = {"$schema", "$id", "title", "description", "type", "properties", "required", "items",
             "enum", "const", "minimum", "maximum", "pattern", "additionalProperties", "$ref",
             "$defs", "minItems", "oneOf", "anyOf", "exclusiveMinimum", "format"}
    assert not set(schema) - known, f"{where}: the schema says {set(schema) - known}"
    if "$ref" in schema:
        part = root
        for word in schema["$ref"].removeprefix("#/").split("/"):
            part = part[word]
        check_schema(part, value, where, root)
    types = {"object": dict, "array": list, "string": str, "boolean": bool,
             "integer": int, "number": (int, float), "null": type(None)}
    if "type" in schema:
        wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        fits = any(isinstance(value, types[name]) and
                   (name == "boolean" or not isinstance(value, bool)) for name in wanted)
        assert fits, f"{where}: {value!r} is no {wanted}"
    assert "const" not in schema or value == schema["const"], f"{where}: {value!r}"
    assert "enum" not in schema or value in schema["enum"], f"{where}: {value!r}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        assert value >= schema.get("minimum", value), f"{where}: {value!r}"
        assert value <= schema.get("maximum", value), f"{where}: {value!r}"
    if isinstance(value, str) and "pattern" in schema:
        assert re.search(schema["pattern"], value), f"{where}: {value!r}"
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for name in schema.get("required", []):
            assert name in value, f"{where}: {name} is missing"
        for name, part in value.items():
            if name in properties:
                check_schema(properties[name], part, f"{where}.{name}", root)
            elif isinstance(schema.get("additionalProperties"), dict):
                check_schema(schema["additionalProperties"], part, f"{where}.{name}", root)
            else:
                assert schema.get("additionalProperties", True), f"{where}: {name} is not known"
    if isinstance(value, list):
        assert len(value) >= schema.get("minItems", 0), f"{where}: {value!r}"
        for number, part in enumerate(value):
            check_schema(schema.get("items", {}), part, f"{where}[{number}]", root)


@for_each_user_if_long
class Table(CommandTest):
    def rows(self, *words):
        """Rows of the table, without its head and the sum."""
        result = self.profile(*words, "--", *BURN)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return [line for line in text(result.stderr).splitlines()
                if re.match(r" *\d+\.\d+%", line) and not line.startswith("100.00%")]

    def test_quiet__a_report_that_is_named_is_written(self):
        result = self.profile("--quiet", "--report", "table", "--", "true")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertRegex((self.folder / "table").read_text(), harness.SUMMARY)

    def test_rows__as_many_as_asked_for(self):
        self.assertEqual(len(self.rows("--rows", "1")), 1)
        self.assertLessEqual(len(self.rows()), 20)
        result = self.ntprof("report", "--json", "--rows", "0", FILE)
        everything = json.loads(result.stdout)
        shown = self.ntprof("report", "--rows", "0", FILE)
        self.assertEqual(everything["row_count"], len(everything["rows"]))
        lines = [line for line in text(shown.stdout).splitlines() if re.match(r" *\d+\.\d+%", line)]
        self.assertEqual(len([line for line in lines if not line.startswith("100.00%")]),
                         len(everything["rows"]))

    def test_quiet__says_nothing_and_writes_the_file(self):
        result = self.profile("-q", "--", *BURN)
        self.assertEqual((result.stdout, result.stderr), (b"", b""))
        self.assert_profile_file(self.folder / FILE)
        self.assert_nothing_left(FILE)

    def test_output_that_is_no_file__no_advice_to_read_it(self):
        result = self.profile("-o", "/dev/null", "--", "true")
        self.assertEqual(text(result.stderr).splitlines()[-1], "profile in /dev/null")

    def test_summary__statistics_rate_and_back_end_are_told(self):
        result = self.profile("-v", "-F", "500", "--", *BURN)
        line = [line for line in text(result.stderr).splitlines()
                if line.startswith("ntprof: perf")]
        self.assertEqual(len(line), 1)
        for word in ("asked 500 Hz", "measured", "expected", "taken", "outside", "lost"):
            self.assertIn(word, line[0])
        # Whoever sees user mode only is told why, and what would allow more.
        self.assertEqual("perf_event_paranoid" in line[0], self.is_user())

    def test_summary__short_without_v(self):
        result = self.profile("-F", "500", "--", *BURN)
        report = self.ntprof("report")
        self.assertEqual(report.returncode, 0, text(report.stderr))
        source, = json.loads(self.ntprof("report", "--json").stdout)["sources"]
        for said in (text(result.stderr), text(report.stdout)):
            line, = (line for line in said.splitlines()
                     if re.search(harness.SUMMARY, line) and "warning" not in line)
            self.assertLessEqual(len(line), 120, line)
            self.assertIn(str(source["taken"]), line)
            self.assertEqual(line.startswith("ntprof: complete: "), source["complete"], line)
            self.assertNotIn("asked", said)
            self.assertEqual("ntprof: perf: kernel.perf_event_paranoid" in said, self.is_user())

    def test_standard_error__has_the_table_in_one_piece(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            self.run_bare(self.arguments("run", "--", *BURN), capture_output=False, stdout=subprocess.DEVNULL,
                          stderr=theirs)
            theirs.close()
            pieces = [text(piece) for piece in iter(lambda: ours.recv(1 << 20), b"")]
        self.assertRegex(pieces[-1], "^profile in ")
        self.assertRegex(pieces[-2], "%")
        self.assertRegex(pieces[-2], harness.SUMMARY)

    def test_few_hits__are_warned_of(self):
        result = self.profile("-F", "10", "--", "true")  # which may take long on a slow machine
        self.assertIn("too few hits to mean anything", text(result.stderr))


@for_each_user
class Rights(CommandTest):
    def test_events_of_the_kernel_not_counted__not_complete(self):
        """Of those of dd nearly all are in kernel mode, which writes zeros into the buffer."""
        result = self.profile("-e", "page-faults", "-c", "1", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=32M",
                              "count=1")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        source, = json.loads(self.ntprof("report", "--json").stdout)["sources"]
        said = f"page-faults: user mode only: {source['taken']} hits; those in kernel mode are not counted\n"
        self.assertEqual(said not in text(result.stderr), source["kernel_included"], text(result.stderr))
        if not source["kernel_included"]:
            self.assertFalse(source["complete"])


@for_each_user_if_long
class Json(CommandTest):
    def setUp(self):
        super().setUp()
        self.schema = json.loads(pathlib.Path(os.environ["NTPROF_SCHEMA"]).read_text())

    def test_report_of_run__fits_the_schema_and_adds_up(self):
        for words in ([], ["-e", "time,page-faults", "-c", "1"], ["--bucket", "64"]):
            with self.subTest(words):
                report = self.report_json(*words, "--", *BURN)
                check_schema(self.schema, report)
                self.assert_statistics(report)
                self.assertEqual(report["schema"], "ntprof.report")
                self.assertEqual(report["row_count"], len(report["rows"]))
                hits = sum(row["hits"] for row in report["rows"])
                self.assertEqual(hits, report["sources"][0]["taken"])
                self.assertGreater(hits, 0)

    def test_report_of_file__is_the_same(self):
        report = self.report_json("--", *BURN)
        result = self.ntprof("report", "--json", "--rows", "0", FILE)
        again = json.loads(result.stdout)
        check_schema(self.schema, again)
        self.assertEqual(again, report)

    def test_per_cpu__hits_are_where_the_command_was_pinned(self):
        for cpu in sorted(os.sched_getaffinity(0))[:2]:
            report = self.report_json("--per", "cpu", "--", "taskset", "-c", str(cpu), *BURN)
            result = self.ntprof("report", "--json", "--by", "cpu,process", FILE)
            rows = json.loads(result.stdout)["rows"]
            check_schema(self.schema, json.loads(result.stdout))
            self.assertEqual(sum(row["hits"] for row in rows), report["sources"][0]["taken"])
            self.assert_statistics(report)
            # Only taskset itself may have run elsewhere, before it moved.
            pinned = sum(row["hits"] for row in rows if row["cpu"] == cpu)
            self.assertGreater(pinned, sum(row["hits"] for row in rows) * 0.8, rows)

    def test_per_cpu_and_only_some__no_others_are_told(self):
        cpu = max(os.sched_getaffinity(0))
        self.report_json("--per", "cpu", "-C", str(cpu), "--", "taskset", "-c", str(cpu), *BURN)
        result = self.ntprof("report", "--json", "--by", "cpu", FILE)
        self.assertEqual([row["cpu"] for row in json.loads(result.stdout)["rows"]], [cpu])

    def test_report_by_cpu__of_a_profile_that_does_not_tell__says_what_would(self):
        self.report_json("--", *BURN)
        result = self.ntprof("report", "--by", "cpu", FILE)
        self.assertEqual((result.returncode, result.stdout), (125, b""))
        self.assertIn("record it with --per cpu", text(result.stderr))

    def test_on_standard_error__nothing_but_json(self):
        result = self.profile("--json", "--", "true")
        check_schema(self.schema, json.loads(result.stderr))
        self.assertEqual(result.stdout, b"")

    def test_hostile_names__stay_valid_json(self):
        odd = self.folder / 'a "b\\c\n\x1b[31m\u00e9'
        os.symlink("/usr/bin/python3", odd)
        copy = self.folder / 'copy "b\\c\n\x1b[31m'
        copy.write_bytes(pathlib.Path("/usr/bin/python3").resolve().read_bytes())
        copy.chmod(0o755)
        for path in (odd, copy):
            report = self.report_json("--", str(path), "-S", "-c",
                                      "for _ in range(40): sum(range(200000))")
            check_schema(self.schema, report)
            raw = (self.folder / "report.json").read_bytes()
            self.assertNotIn(b"\x1b", raw)
            table = self.ntprof("report", FILE)
            self.assertNotIn(b"\x1b", table.stdout)


@for_each_user_if_long
class Sources(CommandTest):
    def test_interval_of_one__page_faults_are_counted_each(self):
        # 500 fresh pages, touched one by one.
        script = ("import mmap; page = mmap.PAGESIZE; m = mmap.mmap(-1, 500 * page); m.madvise(15)\n"
                  "for n in range(0, 500 * page, page): m[n] = 1")
        report = self.report_json("-e", "page-faults", "-c", "1", "--", "/usr/bin/python3", "-S",
                                  "-c", script)
        source, = report["sources"]
        self.assert_statistics(report)
        self.assertEqual(source["name"], "page-faults")
        self.assertEqual(source["granted"], 1)
        self.assertGreaterEqual(source["taken"], 500)

    def test_two_sources__both_have_statistics_and_columns(self):
        report = self.report_json("-e", "time,page-faults", "-c", "10", "-F", "2k", "--", *BURN)
        self.assert_statistics(report)
        self.assertEqual([source["name"] for source in report["sources"]],
                         ["time", "page-faults"])
        for number, name in enumerate(("time", "page-faults")):
            total = sum(row["by_source"][name] for row in report["rows"])
            self.assertEqual(total, report["sources"][number]["taken"])
            self.assertGreater(total, 0)

    def test_max__is_the_rate_that_the_machine_bears_and_said(self):
        result = self.profile("-F", "max", "--", *BURN)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        said = re.search(r"granted (\d+) Hz by -F max: a hit costs ([0-9.]+) us here", text(result.stderr))
        self.assertTrue(said, text(result.stderr))
        report = json.loads(self.ntprof("report", "--json", FILE).stdout)
        source, = report["sources"]
        self.assertAlmostEqual(float(said[1]), 1e7 / source["asked"], delta=1)
        self.assertGreaterEqual(source["asked"] / 10, 3 * float(said[2]) - 0.3)
        self.assertGreaterEqual(source["granted"], source["asked"])
        self.assertGreater(source["taken"], 0)
        self.assert_statistics(report)

    def test_interval__is_the_same_as_a_rate(self):
        for words in (["-F", "500"], ["--interval", "2ms"], ["--interval", "2000us"]):
            report = self.report_json(*words, "--", "true")
            self.assertEqual(report["sources"][0]["asked"], 20000)
            self.assertEqual(report["sources"][0]["granted"], 20000)

    def test_bucket__addresses_are_multiples_of_it(self):
        self.profile("-q", "--bucket", "64", "--", *BURN)
        result = self.ntprof("report", "--by", "address", "--json", "--rows", "0", FILE)
        report = json.loads(result.stdout)
        self.assertEqual(report["bucket_bytes"], 64)
        addresses = [int(row["address"], 16) for row in report["rows"] if row["address"]]
        self.assertTrue(addresses)
        self.assertFalse([address for address in addresses if address % 64])

    def test_processors__only_the_chosen_ones_count(self):
        usable = sorted(os.sched_getaffinity(0))
        if len(usable) < 2:
            self.skipTest("needs two processors")
        for chosen, elsewhere in (usable[:2], usable[1::-1]):
            here = self.report_json("-C", chosen, "--", "taskset", "-c", chosen, *BURN)
            there = self.report_json("-C", chosen, "--", "taskset", "-c", elsewhere, *BURN)
            self.assert_counts_time(here, harness.BURN_S)
            # What taskset itself did before it moved.
            self.assertLess(there["sources"][0]["taken"], here["sources"][0]["taken"] / 2)


@for_each_user_if_long
class File(CommandTest):
    def test_second_run__keeps_the_first_as_old(self):
        for name in (FILE, "other.pb.gz"):
            options = [] if name == FILE else ["-o", name]
            path = self.folder / name
            self.profile("-q", *options, "--", "true")
            first = path.read_bytes()
            self.profile("-q", *options, "--", *BURN)
            second = path.read_bytes()
            self.assertEqual((self.folder / (name + ".old")).read_bytes(), first)
            self.profile("-q", *options, "--", "true")
            self.assertEqual((self.folder / (name + ".old")).read_bytes(), second)
        self.assert_nothing_left(FILE, FILE + ".old", "other.pb.gz", "other.pb.gz.old")

    def test_folder_missing_or_read_only__said_before_the_command_starts(self):
        (self.folder / "locked").mkdir()
        os.chmod(self.folder / "locked", 0o555)
        if self.user is not None:
            os.chown(self.folder / "locked", 0, 0)
        places = ["missing/x", "/proc/x", "/dev/null/x"]
        if self.is_user():
            places.append("locked/x")
        for place in places:
            with self.subTest(place):
                result = self.profile("-o", place, "--", "touch", "started")
                self.assertEqual(result.returncode, 125)
                self.assertEqual(len(text(result.stderr).splitlines()), 1, text(result.stderr))
                self.assertIn(place.rpartition("/")[0], text(result.stderr))
                self.assertFalse((self.folder / "started").exists())

    def test_folder_that_cannot_be_written__default_goes_to_a_new_one(self):
        locked = self.folder / "locked"
        locked.mkdir()
        if self.is_user():
            locked.chmod(0o555)
            if self.user is not None:
                os.chown(locked, 0, 0)
        else:
            locked = "/proc"
        other = self.folder / "tmp"
        other.mkdir()
        if self.user is not None:
            os.chown(other, self.user, self.user)
        environment = {**harness.bare_environment(), "TMPDIR": str(other)}
        result = self.ntprof("run", "--", *BURN, cwd=locked, env=environment)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        folder, = other.iterdir()
        path = folder / FILE
        self.assertRegex(said.splitlines()[0], rf"^ntprof: run: .*: the profile goes to {re.escape(str(path))}$")
        self.assertEqual(said.splitlines()[-1], f"profile in {path}; see it again: ntprof report {path}")
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        self.assert_profile_file(path)
        # Where the user named it, it is refused; so it is where nothing can be made, and no folder is left.
        result = self.ntprof("run", "-o", FILE, "--", "true", cwd=locked, env=environment)
        self.assertEqual(result.returncode, 125)
        result = self.ntprof("run", "-e", "none", "--", "true", cwd=locked, env=environment)
        self.assertEqual((result.returncode, list(other.iterdir())), (125, [folder]))

    def test_report_that_cannot_be_opened__said_before_the_command_starts(self):
        result = self.profile("--report", "missing/x", "--", "touch", "started")
        self.assertEqual(result.returncode, 125)
        self.assertIn("--report", text(result.stderr))
        self.assertFalse((self.folder / "started").exists())

    def test_report__killed__old_one_is_whole(self):
        (self.folder / "table").write_text("old")
        result = self.profile("--report", "table", "-o", "p", "--", "sh", "-c",
                              "cat table; kill -9 $PPID; sleep 0.1")
        self.assertEqual((result.returncode, result.stdout), (-signal.SIGKILL, b"old"))
        self.assertEqual((self.folder / "table").read_text(), "old")
        self.assert_nothing_left("table")

    def test_report__too_large_for_the_limit__said_and_old_one_stays(self):
        (self.folder / "table").write_text("old")
        result = self.profile("--report", "table", "--", "true", preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8)))
        self.assertIn("cannot write the report: File too large", text(result.stderr))
        self.assertEqual((self.folder / "table").read_text(), "old")
        self.assert_nothing_left("table")

    def test_report__over_a_link__its_file_is_replaced(self):
        (self.folder / "target").write_text("x" * 100000)
        os.symlink("target", self.folder / "table")
        result = self.profile("--report", "table", "--", "true")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue((self.folder / "table").is_symlink())
        shown = (self.folder / "target").read_text()
        self.assertRegex(shown, harness.SUMMARY)
        self.assertNotIn("x" * 100, shown)

    def test_report__command_cannot_start__old_one_stays(self):
        (self.folder / "table").write_text("old")
        result = self.profile("--report", "table", "--", "./nothing")
        self.assertEqual(result.returncode, 127)
        self.assertEqual((self.folder / "table").read_text(), "old")
        self.assert_nothing_left("table")

    def test_report__standard_streams_by_name__go_there(self):
        for name, number in (("/dev/stderr", 2), ("/dev/stdout", 1), ("/dev/fd/2", 2)):
            with self.subTest(name), open(self.folder / "out", "wb") as out:
                stream = {"stderr": out} if number == 2 else {"stdout": out}
                other = {"stdout": subprocess.PIPE} if number == 2 else {"stderr": subprocess.PIPE}
                result = self.profile("--report", name, "--", "sh", "-c", f"echo early >&{number}",
                                      capture_output=False, **stream, **other)
                self.assertEqual(result.returncode, 0)
                shown = (self.folder / "out").read_text()
                self.assertTrue(shown.startswith("early\n"), shown)
                self.assertRegex(shown, harness.SUMMARY)

    def test_report__into_a_pipe__comes_through(self):
        result = self.run_bare(["bash", "-c", '"$0" "$@" --report >(cat) -- true | cat',
                                *self.arguments("run")])
        self.assertRegex(text(result.stdout), harness.SUMMARY)

    def test_report__whose_reader_has_gone__is_no_error(self):
        worker = self.start(["sleep", "300"], user=self.user)
        for words in (["--json", "--rows", "0"], ["--report", "-"], ["--report", "/dev/stdout"]):
            with self.subTest(words):
                read, write = os.pipe()
                os.close(read)
                result = self.run_bare(self.arguments("attach", *words, "--duration", "100ms", worker.pid),
                                       capture_output=False, stdout=write, stderr=subprocess.PIPE)
                os.close(write)
                self.assertEqual(result.returncode, 0, text(result.stderr))
                self.assertNotIn("Broken pipe", text(result.stderr))

    def test_folder_that_becomes_unwritable__table_still_comes(self):
        (self.folder / "place").mkdir()
        if self.user is not None:
            os.chown(self.folder / "place", self.user, self.user)
        result = self.profile("-o", "place/x", "--", "sh", "-c", "rmdir place; exit 9")
        self.assertEqual(result.returncode, 9)
        self.assertRegex(text(result.stderr), harness.SUMMARY)
        self.assertIn("place", text(result.stderr))
        self.assert_nothing_left()

    def test_relative_name__is_the_folder_of_the_start(self):
        self.profile("-q", "-o", "here.pb.gz", "--", "sh", "-c", "cd /")
        self.assert_profile_file(self.folder / "here.pb.gz")

    def test_file_size_limit__table_comes_and_old_file_stays(self):
        (self.folder / FILE).write_bytes(b"old")
        result = self.profile("--", *BURN, preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)))
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertRegex(text(result.stderr), harness.SUMMARY)
        self.assertEqual((self.folder / FILE).read_bytes(), b"old")
        self.assert_nothing_left(FILE)

    def test_symbolic_link__leads_to_the_file_that_is_replaced(self):
        (self.folder / "target").write_bytes(b"precious")
        os.symlink("target", self.folder / FILE)
        self.profile("-q", "--", "true")
        self.assertTrue((self.folder / FILE).is_symlink())
        self.assert_profile_file(self.folder / "target")
        self.assertEqual((self.folder / "target.old").read_bytes(), b"precious")


@for_each_user_if_long
class DiskFull(CommandTest):
    def test_disk_full__table_comes_and_old_file_stays(self):
        if not harness.is_root():
            self.skipTest("root must mount a small disk")
        disk = self.folder / "disk"
        disk.mkdir()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"none", bytes(disk), b"tmpfs", 0, b"size=16k,mode=777") != 0:
            self.skipTest("tmpfs cannot be mounted: " + os.strerror(ctypes.get_errno()))
        self.addCleanup(libc.umount2, bytes(disk), 2)
        old = disk / "old.pb.gz"
        self.profile("-q", "-o", old, "--", "true")
        before = old.read_bytes()
        command = "head -c 1M /dev/zero >disk/filler 2>/dev/null; " + f"exec {harness.BURN}"
        result = self.profile("-o", old, "--", "sh", "-c", command)
        self.assertEqual(result.returncode, 0)
        self.assertRegex(text(result.stderr), harness.SUMMARY)
        self.assertIn(os.strerror(28), text(result.stderr))
        self.assertEqual(old.read_bytes(), before)
        self.assertEqual(sorted(path.name for path in disk.iterdir()), ["filler", "old.pb.gz"])
        gzip.decompress(before)


if __name__ == "__main__":
    harness.main()
