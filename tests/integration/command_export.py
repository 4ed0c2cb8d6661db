# SPDX-License-Identifier: MIT
"""ntprof export: each form as the tool that reads it sees it, and its hits added up.

profile-maker prints the hits of each source, so that no reader or writer of ours says what is right. Its
kind `hard` has hostile names, inlined code, and several sources, processes, ranges and builds.
"""
import csv
import gzip
import io
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import struct
import subprocess
import sys
import unittest

import flat_profile
import harness
from harness import text

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
import validate_schema  # noqa: E402

HOSTILE = "a;b\nc\"d\\e,\\xff\033[31m<script>\u202e \\x5cx41"  # as escapes leave the rest
SCHEMA = pathlib.Path(os.environ["NTPROF_SCHEMA"]).with_name("profile.schema.json")


def escaped(name):
    """A name as all outputs show it; what is no UTF-8 is written as an escape in name already."""
    shown = []
    for character in name:
        if ord(character) < 32 or character == "\u202e":
            shown.extend(f"\\x{byte:02x}" for byte in character.encode())
        else:
            shown.append(character)
    return "".join(shown)


def needs(*programs):
    """A decorator: all these tools are there."""
    missing = [name for name in programs if shutil.which(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Export(harness.CommandTest):
    def make(self, *words):
        """Hits of each source of the profile that is made."""
        result = self.run_bare([harness.program("profile-maker"), *map(str, words)], check=True)
        return [int(line) for line in result.stdout.split()]

    def make_hard(self):
        return self.make("hard", "hard")

    def export(self, form, *words, said=None):
        """What is exported. said: the words on standard error, of which there is one line or none."""
        result = self.ntprof("export", "--format", form, *words)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        if said is None:
            self.assertEqual(text(result.stderr), "")
        else:
            self.assertIn(said, text(result.stderr))
        return result.stdout

    def assert_harmless(self, output):
        """UTF-8 without what drives a terminal."""
        for character in set(output.decode("utf-8")):
            self.assertFalse(ord(character) < 32 and character != "\n", ascii(character))
            self.assertFalse(127 <= ord(character) < 160 or character == "\u202e", ascii(character))

    def read(self, command, **options):
        """What a tool prints about a file of ours; it has nothing to complain about."""
        result = self.run_bare(command, **options)
        self.assertEqual((result.returncode, text(result.stderr)), (0, ""), command)
        return text(result.stdout)


def make_alike(path):
    """Two static functions of one name, and code without a name."""
    made = flat_profile.FlatProfile()
    image = made.image("/usr/bin/app", "aa", 0x1000, 0)
    made.hits(image, 0x1000, 10, made.function("work", "a.c", 1), 7)
    made.hits(image, 0x1100, 11, made.function("work", "b.c", 1), 7)
    made.hits(image, 0x2000, 3)
    made.hits(image, 0x2004, 4)
    made.write(path)


class Folded(Export):
    def stacks(self, *words, said=None):
        """Stacks, as tuples of frames, and hits."""
        output = self.export("folded", *words, "hard", said=said)
        self.assert_harmless(output)
        found = {}
        for line in output.decode().splitlines():
            stack, hits = re.fullmatch(r"([^;\n]+(?:;[^;\n]+){2,}) ([1-9][0-9]*)", line).groups()
            self.assertNotIn(stack, found, "a stack has one line")
            found[stack] = int(hits)
        return {tuple(stack.split(";")): hits for stack, hits in found.items()}

    def test_each_source__adds_up(self):
        hits = self.make_hard()
        first = self.stacks(said="folded holds one source: time; left out: page-faults, a;b")
        self.assertEqual(sum(first.values()), hits[0])
        for source, expected in zip(["time", "page-faults", escaped(HOSTILE), "a;b.c_d"], hits):
            self.assertEqual(sum(self.stacks("-e", source).values()), expected, source)

    def test_inlined_code__lies_above_what_it_was_inlined_into(self):
        self.make_hard()
        functions = {stack[2:] for stack in self.stacks("-e", "time")}
        self.assertIn(("outer", "middle\\x3bx", "inner"), functions)
        self.assertIn(("outer", "middle\\x3bx"), functions)
        self.assertIn(("outer",), functions)

    def test_hostile_names__one_frame_each_and_whole(self):
        self.make_hard()
        stacks = self.stacks("-e", "time")
        frames = {frame for stack in stacks for frame in stack}
        self.assertIn(escaped(HOSTILE).replace(";", "\\x3b"), frames)
        self.assertIn("[unknown]", {stack[0] for stack in stacks})
        self.assertIn("[unknown]", {stack[1] for stack in stacks})
        self.assertIn("name 12 34", frames)
        self.assertIn("L" * (1 << 20), frames)


    def test_functions_of_one_name_or_none__told_apart_as_in_the_report(self):
        make_alike(self.folder / "hard")
        self.assertEqual(self.stacks(), {
            ("app", "app", "work (a.c:1)"): 10, ("app", "app", "work (b.c:1)"): 11,
            ("app", "app", "[no symbols] in app"): 7})


class Callgrind(Export):
    @needs("callgrind_annotate")
    def test_callgrind_annotate__has_all_hits_and_functions(self):
        hits = self.make_hard()
        self.export("callgrind", "-o", "out", "hard")
        self.assert_harmless((self.folder / "out").read_bytes())
        shown = self.read(["callgrind_annotate", "--threshold=100", "--auto=no", "--show-percs=no", "out"])
        events = re.search(r"^Events recorded: +(.*)$", shown, re.M).group(1).split()
        self.assertEqual(len(events), 4)
        self.assertEqual((events[0], events[1], events[3]), ("time", "page-faults", "a_b.c_d"))
        self.assertEqual(self.numbers(re.search(r"^(.*)PROGRAM TOTALS$", shown, re.M).group(1)), hits)
        functions = [self.numbers(line) for line in shown.split("file:function\n")[1].splitlines()[1:] if line]
        self.assertEqual([sum(column) for column in zip(*functions)], hits)
        for name in ("outer.c:outer", escaped(HOSTILE)):
            self.assertIn(name, shown)
        written = (self.folder / "out").read_text()
        self.assertRegex(written, r"(?m)^fi=\([0-9]+\) inner\.h$")  # of lines that were inlined
        self.assertNotRegex(written, r"(?m)^fn=\([0-9]+\) inner$")

    @staticmethod
    def numbers(line):
        """Four columns of numbers; a dot is 0."""
        found = [0 if word == "." else int(word.replace(",", ""))
                 for word in re.findall(r"(?:^|\s)(\.|[0-9][0-9,]*)(?=\s|$)", line)[:4]]
        return found

    @needs("callgrind_annotate")
    def test_several_times_the_address__added_up(self):
        self.make("image", "p", "/usr/bin/app", 10000, "0x1000:5", "0x1004:6")
        self.export("callgrind", "-o", "out", "p")
        shown = self.read(["callgrind_annotate", "--show-percs=no", "out"])
        self.assertRegex(shown, r"(?m)^ *11 +22 +\?\?\?:\[no symbols\] in app \[/usr/bin/app\]$")


class Gmon(Export):
    def addresses(self, *names):
        """Link-time addresses of functions of the program that makes profiles."""
        shown = self.read(["nm", harness.program("profile-maker")])
        found = {line.split()[2]: int(line.split()[0], 16) for line in shown.splitlines()
                 if len(line.split()) == 3}
        return [found[name] for name in names]

    def records(self, path, word="Q"):
        """(low, bins, rate, dimension) of each record; all that a gmon.out is."""
        raw = (self.folder / path).read_bytes()
        self.assertEqual(raw[:8], b"gmon" + struct.pack("=I", 1))
        at, found = 20, []
        head = struct.Struct(f"={word}{word}II15sc")
        while at < len(raw):
            self.assertEqual(raw[at], 0, "a histogram")
            low, high, count, rate, dimension, letter = head.unpack_from(raw, at + 1)
            at += 1 + head.size
            bins = struct.unpack_from(f"={count}H", raw, at)
            at += 2 * count
            self.assertEqual((high - low) % count, 0)
            self.assertEqual((high - low) // count, 4)
            self.assertEqual(letter, dimension[:1])
            found.append((low, bins, rate, dimension.rstrip(b"\0")))
        return found

    @needs("gprof", "nm")
    def test_gprof__has_functions_and_hits(self):
        program = harness.program("profile-maker")
        main, = self.addresses("main")
        # gprof divides a bin between the functions that share it: one that begins where a bin does.
        shown = self.read(["nm", "-S", program]).splitlines()
        name, other = next((line.split()[3], int(line.split()[0], 16)) for line in shown
                           if line.split()[2:3] == ["T"] and int(line.split()[1], 16) >= 32
                           and int(line.split()[0], 16) > main and (int(line.split()[0], 16) - main) % 4 == 0)
        # 200,000 is more than 16 bits hold, and 65,535 is just what they do.
        hits = self.make("image", "p", program, 100000, f"{main}:200000", f"{main + 4}:3",
                         f"{other}:65535", f"{other + 8}:1")
        self.export("gmon", "-e", "time", "-o", "gmon.out", "p",
                    said="1 bucket has more hits than 16 bits hold and is in several records")
        shown = self.read(["gprof", "-p", "-b", program, "gmon.out"])
        self.assertIn("Each sample counts as 0.01 seconds", shown)
        self.assertEqual(self.flat(shown), {"main": 2000.03, name: 655.36})
        self.assertEqual(round(sum(self.flat(shown).values()) * 100), hits[0])
        self.export("gmon", "-e", "page-faults", "-o", "gmon.out", "p", said="gmon: 2 buckets have more hits")
        shown = self.read(["gprof", "-p", "-b", program, "gmon.out"])
        self.assertEqual(self.flat(shown), {"main": 400006, name: 131072})
        self.assertEqual(sum(self.flat(shown).values()), hits[1])

    def test_gmon_of_buckets_of_4_gigabytes__one_bin(self):
        self.make("image", "p", harness.program("profile-maker"), 100000, "4096:7")
        raw = gzip.decompress((self.folder / "p").read_bytes())
        at = raw.index(b"ntprof.bucket_bytes ")
        sizes = b"ntprof.bucket_bytes 4294967295"
        forged = raw[:at - 1] + bytes([len(sizes)]) + sizes + raw[at + raw[at - 1]:]
        (self.folder / "p").write_bytes(gzip.compress(forged))
        result = self.ntprof("export", "--format", "gmon", "-o", "gmon.out", "p")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        raw = (self.folder / "gmon.out").read_bytes()
        low, high, count = struct.unpack_from("=QQI", raw, 21)
        self.assertEqual((high - low, count, raw[-2:]), (1 << 32, 1, b"\x07\x00"))

    @staticmethod
    def flat(shown):
        """Function to self, of a flat profile."""
        rows = re.findall(r"^ *[0-9.]+ +[0-9.]+ +([0-9.]+) .*?([A-Za-z_]\w*)$", shown, re.M)
        return {name: float(value) for value, name in rows}

    def test_each_image_and_source__adds_up(self):
        hits = self.make_hard()
        sums = [0, 0]
        profile = json.loads(self.export("json", "hard"))
        for source, name in enumerate(["time", "page-faults"]):
            for image in {(image["path"], image["build_id"]) for image in profile["images"]}:
                rows = [row for row in profile["rows"]
                        if (profile["images"][row["image"]]["path"],
                            profile["images"][row["image"]]["build_id"]) == image]
                expected = sum(row["hits"][source] for row in rows)
                sums[source] += expected
                if max(row["hits"][source] for row in rows) >= 1 << 31:
                    continue  # gprof cannot: below
                chosen = image[1] or image[0]
                result = self.ntprof("export", "--format", "gmon", "-e", name, "--image", chosen,
                                     "-o", "out", "hard")
                self.assertEqual(result.returncode, 0, text(result.stderr))
                bins = [one for record in self.records("out") for one in record[1]]
                self.assertEqual(sum(bins), expected, image)
        self.assertEqual(sums, hits[:2])

    def test_more_than_gprof_holds__refused(self):
        self.make_hard()
        result = self.ntprof("export", "--format", "gmon", "-e", "page-faults", "--image", "aaaa", "-o", "out",
                             "hard")
        self.assertEqual(result.returncode, 125)
        self.assertIn("gprof counts up to 2147483647 hits in a bin, and 0x80004 has 5000000000",
                      text(result.stderr))
        self.assertFalse((self.folder / "out").exists())

    def test_several_images__choice_asked_for(self):
        self.make_hard()
        for words, said in [(["--image", "app"], "--image chooses it: /"),
                            (["--image", "/usr/bin/app"], "--image chooses it: aaaa ("),
                            (["--image", "none"], "--image none: no image with hits has such a path"),
                            (["--image", "/usr/bin/a?p"], "--image chooses it: aaaa ("),
                            (["--image", "*"], "--image chooses it: /")]:
            result = self.ntprof("export", "--format", "gmon", "-e", "time", *words, "-o", "out", "hard")
            self.assertEqual(result.returncode, 125)
            self.assertIn(said, text(result.stderr))
            self.assertEqual(text(result.stderr).count("\n"), 1)

    def test_several_images__the_one_with_most_hits(self):
        self.make("image", "p", "/none/most", 10000, "0x1000:5")
        self.make("image", "q", "/none/less", 10000, "0x1000:1")
        self.assertEqual(self.ntprof("merge", "-q", "-o", "both", "q", "p").returncode, 0)
        self.export("gmon", "-e", "time", "-o", "out", "both",
                    said="gmon: it holds one image: most, with most hits (--image chooses another); "
                         "1 hit in other images is left out")
        self.assertEqual(self.records("out"), [(0x1000, (5,), 1000, b"seconds")])

    def test_32_bit_image__addresses_of_32_bits(self):
        image = self.folder / "small"
        image.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(45))
        self.make("image", "p", image, 10000, "0x1000:5")
        self.export("gmon", "-e", "time", "-o", "out", "p")
        self.assertEqual(self.records("out", "I"), [(0x1000, (5,), 1000, b"seconds")])

    def test_rate_that_is_not_whole__hits(self):
        self.make("image", "p", "/none", 15000000, "0x1000:5", "0x100000:6")
        self.export("gmon", "-e", "time", "-o", "out", "p")
        self.assertEqual(self.records("out"), [(0x1000, (5,), 1, b"hits"), (0x100000, (6,), 1, b"hits")])


class Pprof(Export):
    @needs("go")
    def test_go_tool_pprof__has_all_hits(self):
        hits = self.make_hard()
        self.export("pprof", "-o", "out.pb.gz", "hard")
        environment = dict(harness.bare_environment(), HOME=str(self.folder))
        for index, column in enumerate(["samples", "page-faults", None, "a;b.c_d"]):
            if column is not None:
                shown = self.run_bare(["go", "tool", "pprof", "-top", f"-sample_index={column}",
                                       "-unit=count", "out.pb.gz"], env=environment, check=True)
                self.assertRegex(text(shown.stdout), rf" {hits[index]} total")

    def test_there_and_back__the_same(self):
        self.make_hard()
        self.export("pprof", "-o", "again", "hard")
        self.assertEqual(self.export("json", "again"), self.export("json", "hard"))


class Speedscope(Export):
    def test_profiles__add_up_and_are_what_the_page_wants(self):
        hits = self.make_hard()
        output = self.export("speedscope", "hard")
        self.assert_harmless(output)
        shown = json.loads(output)
        frames = shown["shared"]["frames"]
        self.assertEqual(shown["$schema"], "https://www.speedscope.app/file-format-schema.json")
        self.assertEqual([profile["name"] for profile in shown["profiles"]],
                         ["time", "page-faults", escaped(HOSTILE), "a;b.c_d"])
        for profile, expected in zip(shown["profiles"], hits):
            factor = 1000000 if profile["name"] == "time" else 1  # ns
            self.assertEqual(profile["unit"], "nanoseconds" if factor > 1 else "none")
            self.assertEqual(sum(profile["weights"]), expected * factor)
            self.assertEqual(profile["endValue"], expected * factor)
            self.assertEqual(len(profile["weights"]), len(profile["samples"]))
            self.assertTrue(all(0 <= at < len(frames) for stack in profile["samples"] for at in stack))
        stacks = {tuple(frames[at]["name"] for at in stack[2:]) for stack in shown["profiles"][0]["samples"]}
        self.assertIn(("outer", "middle;x", "inner"), stacks)
        self.assertIn({"name": "inner", "file": "inner.h", "line": 7}, frames)


    def test_stacks__callers_lie_below(self):
        made = flat_profile.FlatProfile(stacks=True)
        made.hits(made.image("/usr/bin/app", "aa", 0x1000, 0), 0x1000, 10, made.function("work", "a.c", 1), 7)
        made.write(self.folder / "p")
        shown = json.loads(self.export("speedscope", "p"))
        frames = [frame["name"] for frame in shown["shared"]["frames"]]
        found = {tuple(frames[at] for at in stack)[-3:]: weight
                 for stack, weight in zip(shown["profiles"][0]["samples"], shown["profiles"][0]["weights"])}
        self.assertEqual(found, {("app", "first", "work"): 5000000, ("first", "second", "work"): 5000000})


class Json(Export):
    def test_all_of_it__as_the_schema_says_and_adds_up(self):
        hits = self.make_hard()
        output = self.export("json", "hard")
        self.assert_harmless(output)
        profile = json.loads(output)
        schema = json.loads(SCHEMA.read_text())
        self.assertEqual(list(validate_schema.check(profile, schema, schema)), [])
        for source, expected in enumerate(hits):
            self.assertEqual(sum(row["hits"][source] for row in profile["rows"]), expected)
            self.assertEqual(profile["sources"][source]["counted"], expected)
            self.assertEqual(profile["sources"][source]["expected"], expected + 8)
        tables = {"image": "images", "process": "processes", "function": "functions", "caller": "frames",
                  "thread": "threads"}
        for row in profile["rows"]:
            for key, table in tables.items():
                self.assertLess(row.get(key, 0), len(profile[table]))
        names = [function["name"] for function in profile["functions"]]
        for name in ("", escaped(HOSTILE), "\\xff", "L" * (1 << 20)):
            self.assertIn(name, names)
        inner, = (row for row in profile["rows"] if row["hits"][0] > 0 and row["image"] == 0 and
                  names[row["function"]] == "inner")
        frame = profile["frames"][inner["caller"]]
        outer = profile["frames"][frame["caller"]]
        self.assertEqual((names[frame["function"]], frame["line"]), ("middle;x", 50))
        self.assertEqual((names[outer["function"]], outer["line"], outer["caller"]), ("outer", 100, 0))
        self.assertEqual(inner["outer"], outer["function"])


class Csv(Export):
    def test_lines__are_csv_and_add_up(self):
        hits = self.make_hard()
        output = self.export("csv", "hard")
        self.assert_harmless(output)
        csv.field_size_limit(1 << 24)
        lines = list(csv.DictReader(io.StringIO(output.decode(), newline=""), strict=True))
        sources = ["time", "page-faults", escaped(HOSTILE), "a;b.c_d"]
        for source, expected in zip(sources, hits):
            self.assertEqual(sum(int(line["samples"]) for line in lines if line["source"] == source), expected)
        self.assertEqual({line["source"] for line in lines}, set(sources))
        for line in lines:
            self.assertEqual(len(line), 18)
            self.assertNotIn(None, line)
            for field in line.values():
                self.assertFalse(field.startswith(("=", "+", "-", "@")), "a formula")
        self.assertIn("middle;x < outer", {line["inlined_into"] for line in lines})
        inlined = {(line["function"], line["innermost"], line["inlined_into"]) for line in lines
                   if line["inlined_into"]}
        self.assertEqual(inlined, {("outer", "inner", "middle;x < outer"), ("outer", "middle;x", "outer")})
        for line in lines:
            if not line["inlined_into"]:
                self.assertEqual((line["innermost"], line["innermost_system_name"]),
                                 (line["function"], line["system_name"]))
        self.assertIn("\\x3d1+1", {line["function"] for line in lines})
        self.assertIn(escaped(HOSTILE), {line["function"] for line in lines})
        self.assertEqual({line["cpu"] for line in lines}, {"", "0", "1"})
        self.assertEqual({line["thread"] for line in lines}, {"", "worker;1", escaped(HOSTILE)})


class Openmetrics(Export):
    def families(self, *words):
        try:
            from prometheus_client.openmetrics import parser
        except ImportError:
            self.skipTest("not installed: python3-prometheus-client")
        output = self.export("openmetrics", *words, "hard")
        self.assert_harmless(output)
        return {family.name: family for family in
                parser.text_string_to_metric_families(output.decode())}

    def test_hits__add_up_however_many_series(self):
        hits = self.make_hard()
        sources = ["time", "page-faults", escaped(HOSTILE), "a;b.c_d"]
        for rows in (0, 1, 5, 100, 10000):
            samples = self.families("--rows", str(rows))["ntprof_hits"].samples
            for source, expected in zip(sources, hits):
                found = [sample for sample in samples if sample.labels["source"] == source]
                self.assertEqual(sum(sample.value for sample in found), expected)
                if rows > 0:
                    self.assertLessEqual(len(found), rows + 1)
                labels = {tuple(sorted(sample.labels.items())) for sample in found}
                self.assertEqual(len(labels), len(found))

    def test_functions__most_hits_first_and_the_rest_together(self):
        self.make_hard()
        everything = self.families("--rows", "0")["ntprof_hits"].samples
        values = sorted((sample.value for sample in everything if sample.labels["source"] == "time"
                         and sample.labels["function"] != "[other]"), reverse=True)
        few = [sample for sample in self.families("--rows", "3")["ntprof_hits"].samples
               if sample.labels["source"] == "time"]
        self.assertEqual([sample.value for sample in few[:3]], values[:3])
        self.assertEqual(few[3].labels["function"], "[other]")
        self.assertIn(escaped(HOSTILE), {sample.labels["function"] for sample in everything})

    def test_functions_of_one_name__one_series_each_as_in_the_report(self):
        made = flat_profile.FlatProfile()
        image = made.image("/usr/bin/app", "aa", 0x1000, 0)
        ctor = "Engine::Engine()"
        functions = [made.function("work", "a.c", 1), made.function("work", "b.c", 1),
                     made.function(ctor, "e.cpp", 5, "_ZN6EngineC1Ev"),
                     made.function(ctor, "e.cpp", 5, "_ZN6EngineC2Ev")]
        for i, function in enumerate(functions):
            made.hits(image, 0x1000 + 16 * i, 10 + i, function, 7)
        made.hits(image, 0x2000, 3)
        made.hits(image, 0x2004, 4)
        made.write(self.folder / "hard")
        samples = [sample for sample in self.families("--rows", "0")["ntprof_hits"].samples
                   if sample.labels["function"] != "[other]"]
        found = {(sample.labels["function"], sample.labels["file"], sample.labels.get("system_name")): sample.value
                 for sample in samples}
        self.assertEqual(found, {("work", "a.c", None): 10, ("work", "b.c", None): 11,
                                 (ctor, "e.cpp", "_ZN6EngineC1Ev"): 12, (ctor, "e.cpp", "_ZN6EngineC2Ev"): 13,
                                 ("[no symbols] in app", "", None): 7})
        report = json.loads(self.ntprof("report", "--json", "--rows", "0", "hard").stdout)
        self.assertEqual(sorted(row["hits"] for row in report["rows"]), sorted(found.values()))

    def test_inlined_code__counts_for_what_it_is_inlined_in(self):
        self.make_hard()
        report = json.loads(self.ntprof("report", "--json", "--rows", "0", "-e", "time", "hard").stdout)
        outer = sum(row["hits"] for row in report["rows"] if row["function"] == "outer")
        samples = self.families("--rows", "0")["ntprof_hits"].samples
        self.assertEqual(sum(sample.value for sample in samples if sample.labels["source"] == "time" and
                             sample.labels["function"] == "outer"), outer)
        self.assertNotIn("inner", {sample.labels["function"] for sample in samples})

    def test_statistics_and_intervals__as_in_the_profile(self):
        hits = self.make_hard()
        families = self.families()
        statistics = {sample.labels["book"]: sample.value for sample in families["ntprof_book_hits"].samples
                 if sample.labels["source"] == "time"}
        self.assertEqual((statistics["counted"], statistics["taken"], statistics["expected"], statistics["lost"]),
                         (hits[0], hits[0] + 3, hits[0] + 8, 5))
        interval = families["ntprof_interval_seconds"].samples
        self.assertEqual([(sample.labels["kind"], sample.value) for sample in interval],
                         [("granted", 0.001), ("measured", 0.001)])
        self.assertEqual(families["ntprof_duration_seconds"].samples[0].value, 5.012345678)


class RealProgram(Export):
    """A program that was profiled: readers find in it what the report does."""

    def setUp(self):
        super().setUp()
        self.report = self.report_json("-F", "100", "-o", "p", "--", harness.program("shares"), "1500")
        # Hits of each function of the program.
        self.hits = {row["function"]: row["hits"] for row in self.report["rows"]
                     if row["image"].endswith("/shares")}
        self.assert_has_time(self.report, self.hits["right_three_units"], 1.5)

    @needs("gprof")
    def test_gprof__names_by_the_addresses_of_the_image(self):
        result = self.ntprof("export", "--format", "gmon", "--image", "shares", "-o", "gmon.out", "p")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        shown = Gmon.flat(self.read(["gprof", "-p", "-b", harness.program("shares"), "gmon.out"]))
        for name in ("right_three_units", "right_one_unit"):
            self.assertEqual(round(100 * shown[name]), self.hits[name])  # a hit is 10 ms

    @needs("callgrind_annotate")
    def test_callgrind_annotate__puts_hits_at_their_source(self):
        self.export("callgrind", "-o", "out", "p")
        shown = self.read(["callgrind_annotate", "--show-percs=no", "out"])
        found = re.search(r"^ *([0-9,]+) +(\S+/shares\.c):right_three_units \[", shown, re.M)
        self.assertEqual(int(found.group(1).replace(",", "")), self.hits["right_three_units"])
        if pathlib.Path(found.group(2)).exists():
            self.assertIn("-- Auto-annotated source: " + found.group(2), shown)

    def test_folded__has_what_the_report_has(self):
        stacks = self.export("folded", "p").decode().splitlines()
        self.assertIn(f"shares;shares;right_three_units {self.hits['right_three_units']}", stacks)


FORMS = ["pprof", "gmon", "callgrind", "speedscope", "folded", "json", "csv", "openmetrics"]


class Manners(Export):
    def fail(self, *words, **options):
        """The one line on standard error of an export that must fail."""
        result = self.ntprof("export", *words, **options)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertTrue(said.startswith("ntprof: export: "), said)
        self.assertEqual(said.count("\n"), 1, said)
        return said

    def test_mistakes__one_line_that_helps(self):
        self.make("image", "p", "/usr/bin/app", 10000, "0x1000:5")
        for words, said in [
                (["p"], "--format is missing: there are pprof, gmon"),
                (["--format", "xml", "p"], "--format xml: there are pprof, gmon"),
                (["--format", "csv", "-e", "time", "p"], "csv does not take -e: it holds all sources"),
                (["--format", "csv", "--image", "app", "p"], "csv does not take --image: it holds all"),
                (["--format", "csv", "--image-dir", ".", "p"], "csv does not take --image-dir: it reads no programs"),
                (["--format", "gcc-afdo", "--image-dir", ".", "p"], "gcc-afdo does not take --image-dir"),
                (["--format", "bolt", "--source-dir", ".", "p"], "bolt does not take --source-dir: it holds no code"),
                (["--format", "csv", "--rows", "3", "p"], "csv does not take --rows: it holds all rows"),
                (["--format", "openmetrics", "--rows", "x", "p"], "--rows x: allowed are 0 (all)"),
                (["--format", "folded", "-e", "faults", "p"], "-e faults: the profile has no such source; "
                                                              "it has time, page-faults"),
                (["--format", "folded", "--old", "p", "p"], "folded does not take --old: it has no flame graph"),
                (["--format", "html", "-o", "x", "--old", "p", "p"], "p: has no stacks, so there is no flame graph"),
                (["--format", "svg", "p"], "the profile has no stacks, so there is no flame graph: record it with -g"),
                (["--format", "csv", "p", "q"], "q: only one FILE"),
                (["--format", "csv", "--frob", "p"], "--frob: no such option; see: ntprof help"),
                (["--format"], "--format: needs a value; see: ntprof help"),
                (["--format", "csv", "none"], "none: cannot open it"),
                (["--format", "csv", "."], ".: cannot read it"),
                (["--format", "csv", "-o", "none/x", "p"], "none/x: no file can be made in its folder: No such"),
                (["--format", "csv", "-o", ".", "p"], ".: is a folder; name a file"),
                (["--format", "csv", "-o", "./p", "p"], "./p: is the profile itself, which would be lost"),
                (["--format", "html", "-o", "p", "--old", "p", "-"], "p: is the profile itself"),
                (["--format", "csv", "-o", "", "p"], "'': an empty name"),
                (["--format", "gmon", "--image", "none", "p"], "--image none: no image with hits"),
                (["--format", "csv", "\033[2J"], "\\x1b[2J: cannot open it")]:
            with self.subTest(words):
                self.assertIn(said, self.fail(*words))

    def test_example_of_the_help_with_an_image__works(self):
        self.make("image", "ntprof.pb.gz", "/usr/bin/app", 10000, "0x1000:5")
        told = text(self.ntprof("help", "export").stdout)
        example, = (line.split("  ")[0] for line in map(str.strip, told.splitlines()) if "--format gmon" in line)
        result = self.ntprof(*example.split()[1:])
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertTrue((self.folder / "gmon.out").exists())

    def test_full_standard_output__said(self):
        self.make("image", "p", "/usr/bin/app", 10000, "0x1000:5")
        for form in FORMS:
            with open("/dev/full", "wb") as full, self.subTest(form):
                said = self.fail("--format", form, "p", stdout=full, stderr=subprocess.PIPE,
                                 capture_output=False) if form not in ("gmon", "folded") else \
                    self.fail("--format", form, "-e", "time", "p", stdout=full,
                              stderr=subprocess.PIPE, capture_output=False)
                self.assertIn("standard output: cannot write the export: No space left on device", said)

    def test_full_disk__old_file_stays(self):
        self.make("large", "p", "20000", "1")
        old = self.folder / "out"
        old.write_text("old")
        limit = 8 * 1024

        def bound():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        for form in FORMS:
            with self.subTest(form):
                words = ["--rows", "0"] if form == "openmetrics" else []
                # A file that is too large fails as a full disk does, in the middle.
                said = self.fail("--format", form, *words, "-o", "out", "p", preexec_fn=bound)
                self.assertIn("out: cannot write the export: File too large", said)
                self.assertEqual(old.read_text(), "old")
                self.assert_nothing_left("out", "p")

    def test_full_file_system__old_file_stays(self):
        if not harness.is_root():
            self.skipTest("only root mounts a file system")
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = self.run_bare(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)])
        if mounted.returncode != 0:
            self.skipTest("mount is refused: " + text(mounted.stderr))
        self.addCleanup(self.run_bare, ["umount", str(disk)])
        self.make("large", "p", "20000", "1")
        (disk / "out").write_text("old")
        for form in ("csv", "json", "callgrind"):
            said = self.fail("--format", form, "-o", disk / "out", "p")
            self.assertIn("cannot write the export: No space left on device", said)
            self.assertEqual((disk / "out").read_text(), "old")
            self.assertEqual([path.name for path in disk.iterdir()], ["out"])

    def test_existing_file__replaced_and_alone(self):
        self.make("image", "p", "/usr/bin/app", 10000, "0x1000:5")
        (self.folder / "out").write_text("old")
        self.assertEqual(self.export("csv", "-o", "out", "p"), b"")
        self.assertEqual((self.folder / "out").read_bytes(), self.export("csv", "p"))
        self.assertEqual(self.export("csv", "-o", "-", "p"), self.export("csv", "p"))
        self.assert_nothing_left("out", "p")

    def test_stacks__forms_without_them_are_those_of_the_rows(self):
        for stacks in (False, True):
            made = flat_profile.FlatProfile(stacks=stacks)
            image = made.image("/gone/app", "aa", 0x1000, 0)
            for i, name in enumerate(("work", "rest", "work")):
                made.hits(image, 0x1000 + 16 * i, 10 + i, made.function(name, "a.c", 1), 7)
            made.write(self.folder / f"p{stacks:d}")
        for form in ("gmon", "gcc-afdo", "csv", "openmetrics"):
            self.assertEqual(self.export(form, "p1"), self.export(form, "p0"), form)

    def test_form_that_nobody_reads__not_to_a_terminal(self):
        self.make("image", "p", "/usr/bin/app", 10000, "0x1000:5")
        for form in ("pprof", "gmon", "html", "gcc-afdo"):
            master, slave = pty.openpty()
            words = ["-e", "time"] if form in ("gmon", "gcc-afdo") else []
            said = self.fail("--format", form, *words, "p", stdout=slave, stderr=subprocess.PIPE,
                             capture_output=False)
            os.close(slave)
            os.close(master)
            self.assertIn("standard output: is a terminal", said)
            self.assertIn("-o, or use a pipe", said)

    def test_reader_that_had_enough__no_complaint(self):
        self.make("large", "p", "20000", "1")
        reader, writer = os.pipe()
        os.close(reader)
        result = self.ntprof("export", "--format", "csv", "p", stdout=writer, stderr=subprocess.PIPE,
                             capture_output=False)
        os.close(writer)
        self.assertIn(result.returncode, (0, -13))
        self.assertEqual(result.stderr, b"")

    def test_file_from_a_pipe__and_the_default_file(self):
        self.make("image", "ntprof.pb.gz", "/usr/bin/app", 10000, "0x1000:5")
        expected = self.export("csv", "ntprof.pb.gz")
        self.assertEqual(self.export("csv"), expected)
        with open(self.folder / "ntprof.pb.gz", "rb") as file:
            result = self.ntprof("export", "--format", "csv", "-", stdin=file)
        self.assertEqual(result.stdout, expected)


if __name__ == "__main__":
    harness.main()
