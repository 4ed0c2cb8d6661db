#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof annotate on programs that are compiled here: which lines and instructions have which hits."""
import json
import os
import pathlib
import re
import sys

import flat_profile
import harness
from harness import CommandTest, for_each_user_if_long, text

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden"))
import validate_schema

SCHEMA = pathlib.Path(os.environ["NTPROF_SCHEMA"]).parent / "annotate.schema.json"

SOURCE = """\
volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned inner(unsigned x)
{
    for (unsigned i = 0; i < 1000; i++) {
        sink += x * i;
    }
    return sink;
}
__attribute__((noinline)) unsigned outer(unsigned x)
{
    return inner(x) * 2;
}
int main(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 60000; i++) {
        sum += outer(i);
    }
    return sum == 1;
}
"""
HITS = 640


class AnnotateTest(CommandTest):
    def check(self, command, **given):
        result = self.run_bare(command, **given)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return text(result.stdout)

    def make(self, name="app", *options, folder=None):
        """The program, built in a folder of its own, so that sources are told by whole paths."""
        source = (folder or self.folder) / "app.c"
        source.write_text(SOURCE)
        program = self.folder / name
        self.check(["gcc", "-O2", "-g", *options, "-o", program, source])
        return program

    def build_id(self, path):
        return self.check(["readelf", "-n", path]).split("Build ID:")[1].split()[0]

    def instructions(self, program, function="outer"):
        """[(address, text)] of a function, by objdump."""
        out = self.check(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", program])
        found = re.findall(r"^ +([0-9a-f]+):\t(.*)$", out, re.M)
        self.assertGreater(len(found), 5, out)
        return [(int(address, 16), words) for address, words in found]

    def places(self, program, address):
        """[(function, line)], innermost first, by addr2line."""
        out = self.check(["addr2line", "-fie", program, hex(address)]).split("\n")
        return [(out[i], int(re.search(r":(\d+)", out[i + 1])[1])) for i in range(0, len(out) - 1, 2)]

    def alone(self, program, size=4):
        """An instruction of inner, inlined into outer, that has a bucket of its own: address, text."""
        all_of_it = self.instructions(program)
        starts = [address for address, _ in all_of_it]
        for address, words in all_of_it:
            same = [start for start in starts if start // size == address // size]
            if same == [address] and self.places(program, address)[0][0] == "inner" and \
                    self.places(program, address // size * size)[0][0] == "inner":
                return address, words
        self.fail(f"no instruction has a bucket of its own: {all_of_it}")

    def profile_of(self, program, hits, bucket_bytes=4, path=None):
        """A profile without names, {address: hits}, and then with the names that ntprof finds."""
        made = flat_profile.FlatProfile(bucket_bytes)
        image = made.image(str(path or program), self.build_id(program), 0x1000, 0x1000)
        for address, count in hits.items():
            made.hits(image, address // bucket_bytes * bucket_bytes, count)
        made.write(self.folder / "bare.pb.gz")
        result = self.ntprof("report", "--symbolize", "-o", self.folder / "p.pb.gz",
                             self.folder / "bare.pb.gz")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return self.folder / "p.pb.gz"

    def annotate(self, *words, **given):
        """The listing, checked against its schema."""
        result = self.ntprof("annotate", "--json", *words, **given)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        listing = json.loads(result.stdout)
        wrong = list(validate_schema.check(listing, schema := json.loads(SCHEMA.read_text()), schema))
        self.assertEqual(wrong, [])
        return listing

    def refused(self, *words):
        result = self.ntprof("annotate", *words)
        self.assertEqual(result.returncode, 125, text(result.stdout))
        self.assertEqual(result.stdout, b"")
        return text(result.stderr)

    def hits_of(self, listing, kind):
        """{place: hits} of lines of a kind: by line number, or by address."""
        key = "line" if kind == "source" else "address"
        return {line[key]: line["hits"][0] for line in listing["lines"]
                if line["kind"] == kind and "hits" in line}

    def notes(self, listing, kind):
        return " | ".join(note["text"] for note in listing["notes"] if note["kind"] == kind)


@for_each_user_if_long
class Code(AnnotateTest):
    def test_instruction__alone_in_its_bucket__has_the_hits(self):
        program = self.make()
        address, words = self.alone(program)
        listing = self.annotate("outer", self.profile_of(program, {address: HITS}))
        self.assertEqual(listing["view"], "instructions")
        self.assertEqual(self.hits_of(listing, "instruction"), {hex(address): HITS})
        self.assertEqual(listing["sources"][0]["hits"], HITS)
        self.assertEqual(listing["sources"][0]["inlined"], HITS)
        shown = [line["address"] for line in listing["lines"] if line["kind"] == "instruction"]
        self.assertEqual(shown, [hex(start) for start, _ in self.instructions(program)])
        line = next(line for line in listing["lines"] if line.get("address") == hex(address))
        self.assertEqual(line["function"], "inner")
        self.assertEqual(line["line"], self.places(program, address)[0][1])
        self.assertTrue(line["file"].endswith("/app.c"), line)

    def test_objdump__the_same_instructions_and_hits(self):
        program = self.make()
        address, words = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        listing = self.annotate("--objdump", "outer", profile)
        self.assertEqual(self.hits_of(listing, "instruction"), {hex(address): HITS})
        shown = {line["address"]: line["text"] for line in listing["lines"]
                 if line["kind"] == "instruction"}
        self.assertEqual(list(shown), [hex(start) for start, _ in self.instructions(program)])
        self.assertEqual(shown[hex(address)].split()[0], words.split()[0])
        inside = self.annotate("outer", profile)
        jumps = [[(line["address"], line.get("target_address"), line["jumps_here"])
                  for line in each["lines"] if line["kind"] == "instruction"]
                 for each in (listing, inside)]
        self.assertEqual(*jumps)
        self.assertTrue(any(jump[2] > 0 for jump in jumps[0]), jumps)

    def test_objdump__named_and_missing__only_that_is_said(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        said = text(self.ntprof("annotate", "--objdump=/nosuch", "outer", profile).stdout)
        self.assertIn("cannot start /nosuch: No such file or directory", said)
        self.assertNotIn("binutils", said)

    def test_objdump__standard_descriptors_closed__works(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        for closed in ("2>&-", "<&-", "<&- 2>&-"):
            shell = 'exec "$0" annotate --objdump --json outer "$1" ' + closed
            out = self.check(["sh", "-c", shell, *self.arguments(profile)])
            self.assertEqual(self.hits_of(json.loads(out), "instruction"), {hex(address): HITS})

    def test_large_bucket__bracket__hits_once(self):
        program = self.make()
        first = self.instructions(program)[0][0]
        self.assertEqual(first % 16, 0)
        listing = self.annotate("outer", self.profile_of(program, {first: HITS}, 16))
        bucket, = listing["buckets"]
        inside = [start for start, _ in self.instructions(program) if start < first + 16]
        self.assertEqual((bucket["start"], bucket["end"]), (hex(first), hex(first + 16)))
        self.assertEqual(bucket["instructions"], len(inside))
        self.assertEqual(self.hits_of(listing, "instruction"), {hex(first): HITS})
        self.assertEqual([line["address"] for line in listing["lines"] if line.get("bucket") == 0],
                         [hex(start) for start in inside])
        result = self.ntprof("annotate", "outer", self.folder / "p.pb.gz")
        shown = text(result.stdout)
        self.assertRegex(shown, rf"100\.00%  +{HITS} +┌ .* {first:x}  ")
        self.assertRegex(shown, rf"(?m)^ +└ .* {inside[-1]:x}  ")
        self.assertIn("note: a bracket is a bucket in which several instructions start", shown)

    def test_inlined_function__only_its_instructions(self):
        program = self.make()
        address, _ = self.alone(program)
        listing = self.annotate("inner", self.profile_of(program, {address: HITS}))
        shown = [int(line["address"], 16) for line in listing["lines"]
                 if line["kind"] == "instruction"]
        wanted = [start for start, _ in self.instructions(program)
                  if self.places(program, start)[0][0] == "inner"]
        self.assertEqual(shown, wanted)
        self.assertIn("inlined into outer", listing["lines"][0]["text"])

    def test_offset__without_names__function_around(self):
        program = self.make()
        address, _ = self.alone(program)
        self.profile_of(program, {address: HITS})
        listing = self.annotate(f"app+{address:#x}", self.folder / "bare.pb.gz")
        self.assertEqual(self.hits_of(listing, "instruction"), {hex(address): HITS})
        chosen, = [line for line in listing["lines"] if line.get("chosen")]
        self.assertEqual(chosen["address"], hex(address))

    def test_no_debug_info__instructions_without_lines(self):
        program = self.make()
        address, _ = self.alone(program)
        self.check(["strip", "-g", program])
        profile = self.profile_of(program, {address: HITS})
        listing = self.annotate("outer", profile)
        self.assertEqual(self.hits_of(listing, "instruction"), {hex(address): HITS})
        self.assertFalse([line for line in listing["lines"] if line["kind"] == "source"])
        listing = self.annotate("--source", "outer", profile)
        self.assertEqual(listing["view"], "buckets")
        self.assertEqual(self.hits_of(listing, "bucket"), {hex(address // 4 * 4): HITS})
        self.assertIn("knows no source lines", self.notes(listing, "names"))

    def test_no_symbols__offset__function_by_its_bounds(self):
        program = self.make()
        address, _ = self.alone(program)
        self.check(["strip", program])
        profile = self.profile_of(program, {address: HITS})
        listing = self.annotate(f"app+{address:#x}", profile)
        self.assertEqual(sum(line["hits"][0] for line in listing["lines"] if "hits" in line), HITS)
        self.assertNotIn("no symbol says where code starts", self.notes(listing, "decoder"))

    def test_no_symbols_and_no_bounds__offset__near_code(self):
        program = self.make()
        address, _ = self.alone(program)
        self.check(["strip", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", program])
        profile = self.profile_of(program, {address: HITS})
        listing = self.annotate(f"app+{address:#x}", profile)
        self.assertEqual(sum(line["hits"][0] for line in listing["lines"] if "hits" in line), HITS)
        self.assertIn("no symbol says where code starts", self.notes(listing, "decoder"))


@for_each_user_if_long
class Source(AnnotateTest):
    def test_source__inlined_function__its_line_has_the_hits(self):
        program = self.make()
        address, _ = self.alone(program)
        places = self.places(program, address // 4 * 4)
        profile = self.profile_of(program, {address: HITS})
        listing = self.annotate("--source", "inner", profile)
        self.assertEqual(self.hits_of(listing, "source"), {places[0][1]: HITS})
        line, = [line for line in listing["lines"] if line.get("line") == places[0][1]]
        self.assertEqual(line["text"], SOURCE.splitlines()[line["line"] - 1])
        listing = self.annotate("--source", "outer", profile)
        self.assertEqual(self.hits_of(listing, "source"), {places[1][1]: HITS})
        line, = [line for line in listing["lines"] if line.get("line") == places[1][1]]
        self.assertEqual(line["inlined"], [HITS])

    def test_line__all_that_is_of_it(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        number = self.places(program, address // 4 * 4)[0][1]
        listing = self.annotate(f"app.c:{number}", profile)
        self.assertEqual(listing["view"], "source")
        self.assertEqual(self.hits_of(listing, "source")[number], HITS)
        listing = self.annotate("--asm", f"app.c:{number}", profile)
        self.assertEqual(self.hits_of(listing, "instruction"), {hex(address): HITS})

    def test_source_by_a_path_with_dots__clean_and_found(self):
        for name in ("src", "build"):
            (self.folder / name).mkdir()
            (self.folder / name).chmod(0o777)
        source = self.folder / "src" / "app.c"
        source.write_text(SOURCE)
        program = self.folder / "build" / "app"
        self.check(["gcc", "-O2", "-g", "-Wl,--build-id", "-o", program, "../src/.//app.c"],
                   cwd=self.folder / "build")
        address = self.instructions(program)[0][0]
        profile = self.profile_of(program, {address: HITS})
        listed = json.loads(self.ntprof("report", "--json", "--by", "line", profile).stdout)
        self.assertEqual({row["file"] for row in listed["rows"]}, {str(source)})
        listing = self.annotate("--source", "outer", profile)
        self.assertEqual(self.notes(listing, "source"), "")
        self.assertTrue(any(line["kind"] == "source" and line["text"] for line in listing["lines"]))
        # Old files and those of other tools have such paths: one file is one row.
        made = flat_profile.FlatProfile()
        image = made.image("/lib/libone.so", "aa", 0x1000, 0)
        for number, path in enumerate(("/src/a.c", "/src/x/../a.c", "/src//a.c")):
            made.hits(image, 0x1000 + 16 * number, 5, made.function("copy", path, 1), 3)
        made.write(self.folder / "old.pb.gz")
        row, = json.loads(self.ntprof("report", "--json", "--by", "line", "old.pb.gz").stdout)["rows"]
        self.assertEqual((row["file"], row["hits"]), ("/src/a.c", 15))

    def test_source_gone__said__source_dir_finds_it(self):
        (self.folder / "built").mkdir(mode=0o777)
        (self.folder / "built").chmod(0o777)
        program = self.make(folder=self.folder / "built")
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        (self.folder / "built").rename(self.folder / "moved")
        listing = self.annotate("--source", "inner", profile)
        self.assertIn(f"no source {self.folder}/built/app.c: not there; if it is elsewhere: "
                      f"--source-dir {self.folder}/built=DIR", self.notes(listing, "source"))
        self.assertEqual(sum(self.hits_of(listing, "source").values()), HITS)
        self.assertTrue(all(line["missing"] for line in listing["lines"] if line["kind"] == "source"))
        listing = self.annotate("--source", "--source-dir", f"{self.folder}/built={self.folder}/moved",
                                "inner", profile)
        self.assertEqual(self.notes(listing, "source"), "")
        self.assertFalse(any(line["missing"] for line in listing["lines"] if line["kind"] == "source"))

    def test_source_changed__said(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        os.utime(self.folder / "app.c", (4000000000, 4000000000))
        self.assertIn("app.c was changed after", self.notes(self.annotate("outer", profile), "source"))
        (self.folder / "app.c").write_text("short\n")
        self.assertIn("has only 1 lines", self.notes(self.annotate("--source", "outer", profile),
                                                     "source"))

    def test_source_is_a_pipe__said(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        (self.folder / "app.c").unlink()
        os.mkfifo(self.folder / "app.c")
        self.assertIn("app.c: it is no regular file",
                      self.notes(self.annotate("outer", profile), "source"))


@for_each_user_if_long
class Missing(AnnotateTest):
    def test_other_build__said__source_is_left(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        wanted = self.build_id(program)
        self.make("app", "-DOTHER=1", "-fno-inline")
        listing = self.annotate("inner", profile)
        self.assertEqual(listing["view"], "source")
        self.assertEqual(sum(self.hits_of(listing, "source").values()), HITS)
        self.assertRegex(self.notes(listing, "image"),
                         rf"of another build: it has build-id {self.build_id(program)}, "
                         rf"the profile {wanted}; --image-dir DIR")

    def test_image_gone__said__image_dir_finds_it(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        (self.folder / "kept").mkdir(mode=0o777)
        program.rename(self.folder / "kept" / "app")
        listing = self.annotate("outer", profile)
        self.assertIn("the file is not there", self.notes(listing, "image"))
        listing = self.annotate("--image-dir", self.folder / "kept", "outer", profile)
        self.assertEqual(self.hits_of(listing, "instruction"), {hex(address): HITS})

    def test_image_is_no_program__said(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        for make, words in ((lambda: program.write_text("#!/bin/sh\n"), "no program or library"),
                            (lambda: os.mkfifo(program), "no regular file"),
                            (lambda: program.symlink_to(program), "symbolic link"),
                            (program.mkdir, "no regular file")):
            program.unlink()
            make()
            with self.subTest(words):
                self.assertIn(words, self.notes(self.annotate("outer", profile), "image"))

    def test_disassembler__prints_for_ever_or_fails__said(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        script = self.folder / "objdump.sh"
        script.write_text("#!/bin/sh\nexec yes\n")
        script.chmod(0o755)
        listing = self.annotate(f"--objdump={script}", "outer", profile)
        self.assertEqual(listing["view"], "source")
        self.assertIn(f"{script} failed: it took too long, or printed too much",
                      self.notes(listing, "decoder"))
        script.write_text("#!/bin/sh\nprintf '\\033[31mno\\nmore\\n' >&2\nexit 3\n")
        listing = self.annotate(f"--objdump={script}", "outer", profile)
        self.assertIn(f"{script} failed: \\x1b[31mno", self.notes(listing, "decoder"))
        self.assertNotIn("more", self.notes(listing, "decoder"))

    def test_line_behind_the_end__not_told_to_be_of_another_file(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        self.assertIn("app.c has only 20 lines: it is another one now, or has never had line 99",
                      self.notes(self.annotate("app.c:99", profile), "source"))

    def test_no_disassembler__said(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        listing = self.annotate("--objdump=/nonexistent/objdump", "outer", profile)
        self.assertEqual(listing["view"], "source")
        self.assertIn("cannot start /nonexistent/objdump: No such file",
                      self.notes(listing, "decoder"))


@for_each_user_if_long
class Choosing(AnnotateTest):
    def make_two(self):
        made = flat_profile.FlatProfile()
        one = made.image("/lib/libone.so", "aa", 0x1000, 0)
        two = made.image("/lib/libtwo.so", "bb", 0x1000, 0)
        copy = made.function("copy", "/gone/copy.c", 1)
        made.hits(one, 0x1000, 10, copy, 3)
        made.hits(two, 0x1000, 20, copy, 3)
        made.hits(two, 0x2000, 70, made.function("paste", "/gone/paste.c", 1), 3)
        made.write(self.folder / "ntprof.pb.gz")

    def test_several__listed_with_hits_and_how_to_choose(self):
        self.make_two()
        said = self.refused("copy")
        self.assertIn("ntprof: annotate: copy may be one of 2; choose by --image GLOB", said)
        self.assertRegex(said, r"(?s)20  copy  /lib/libtwo\.so\n.*10  copy  /lib/libone\.so\n")
        listing = self.annotate("copy", "--image", "libone*")
        self.assertEqual(listing["target"]["image"], "/lib/libone.so")
        self.assertEqual(listing["sources"][0]["hits"], 10)

    def test_two_builds_of_one_path__told_apart_by_build_id(self):
        made = flat_profile.FlatProfile()
        copy = made.function("copy", "/gone/copy.c", 1)
        for number, build_id in enumerate(("aabbccdd0011223344", "aabb00000011223344")):
            made.hits(made.image("/lib/libone.so", build_id, 0x1000, 0), 0x1000, 10 + number, copy, 3)
        made.write(self.folder / "ntprof.pb.gz")
        said = self.refused("copy")
        self.assertIn("11  copy  /lib/libone.so  build aabb00000011\n", said)
        self.assertIn("10  copy  /lib/libone.so  build aabbccdd0011\n", said)
        listing = self.annotate("copy", "--image", "aabbccdd0011")
        self.assertEqual(listing["target"]["build_id"], "aabbccdd0011223344")

    def test_nothing_named__the_hottest(self):
        self.make_two()
        self.assertEqual(self.annotate()["target"]["function"], "paste")
        self.assertEqual(self.annotate("--image", "libone*")["target"]["function"], "copy")
        (self.folder / "ntprof.pb.gz").rename(self.folder / "x.pb.gz")
        self.assertEqual(self.annotate("x.pb.gz")["target"]["function"], "paste")

    def test_file_before_the_name__understood(self):
        self.make_two()
        (self.folder / "ntprof.pb.gz").rename(self.folder / "x.pb.gz")
        wanted = self.annotate("copy", "x.pb.gz", "--image", "libone*")
        self.assertEqual(self.annotate("x.pb.gz", "copy", "--image", "libone*"), wanted)
        (self.folder / "x.pb.gz").rename(self.folder / "profile")
        self.assertEqual(self.annotate("profile", "copy", "--image", "libone*"), wanted)

    def test_nothing_named__code_without_a_name_has_most__its_buckets(self):
        made = flat_profile.FlatProfile()
        image = made.image("/lib/libone.so", "aa", 0x1000, 0)
        made.hits(image, 0x2000, 99)
        made.hits(image, 0x1000, 1, made.function("copy", "/gone/copy.c", 1), 3)
        made.write(self.folder / "x.pb.gz")
        target = self.annotate("x.pb.gz")["target"]
        self.assertEqual((target["kind"], target["function"]), ("function", "[no symbols] in libone.so"))
        shown = text(self.ntprof("annotate", "x.pb.gz").stdout)
        self.assertTrue(shown.startswith("[no symbols] in /lib/libone.so: 99 of 100 hits"), shown)
        self.assertRegex(shown, r"(?m)^100\.00% +99 +2000$")
        self.assertIn("ntprof annotate libone.so+0x1000\n", shown)

    def test_offset__neither_code_nor_hits__refused(self):
        program = self.make()
        address, _ = self.alone(program)
        profile = self.profile_of(program, {address: HITS})
        for words in ([], ["--json"], ["--source"]):
            with self.subTest(words):
                said = self.refused("app+0x999999", profile, *words)
                self.assertIn("ntprof: annotate: app+0x999999: there are neither code nor hits; "
                              "ntprof report --by bucket", said)
                if not words or words[0] != "--source":
                    self.assertIn("no code at 0x999999\n", said)

    def test_not_there__said_with_what_is_near(self):
        self.make_two()
        said = self.refused("past")
        self.assertIn("past: nothing called so has hits in ntprof.pb.gz", said)
        self.assertIn("70  paste  /lib/libtwo.so", said)
        self.assertIn("--image nosuch: no image of that name", self.refused("copy", "--image", "nosuch"))

    def test_mistakes__one_line(self):
        self.make_two()
        for words, said in ((["--source", "--asm", "copy"], "--source, --asm: only one of them"),
                            (["-e", "cycles", "paste"], "-e cycles: the profile has no such source"),
                            (["--rows", "x", "paste"], "--rows x: allowed are"),
                            (["--context", "-1", "paste"], "--context -1: allowed are"),
                            (["-M", "arm", "paste"], "-M arm: allowed are att and intel"),
                            (["--source-dir", "a=", "paste"], "--source-dir a=: OLD=NEW is needed"),
                            (["--frobnicate"], "--frobnicate: no such option; see: ntprof help"),
                            (["paste", "none.pb.gz"], "none.pb.gz: cannot open it"),
                            (["a", "b", "c"], "c: only one thing and one FILE")):
            with self.subTest(words):
                error = self.refused(*words)
                self.assertIn("ntprof: annotate: " + said, error)
                self.assertEqual(error.count("\n"), 1, error)

    def test_hostile_names__harmless_everywhere(self):
        bad = "\033[31m<script>\n\u202e\x9b\\x41"
        made = flat_profile.FlatProfile()
        image = made.image("/tmp/" + bad, bad, 0x1000, 0)
        made.hits(image, 0x1000, 10, made.function(bad, "/no/" + bad, 1), 3)
        made.hits(image, 0x1004, 10, made.function(bad + bad, "/no/" + bad, 1), 4)
        made.write(self.folder / "ntprof.pb.gz")
        for words in (["*script*"], ["*script*", "--json"], [bad], [bad, "--json"], [bad, "--source"]):
            result = self.ntprof("annotate", *words)
            for char in text(result.stdout + result.stderr):
                self.assertTrue(char == "\n" or (char.isprintable() and char != "\u202e"),
                                (words, char, result))

    def test_help__starts_with_examples(self):
        result = self.ntprof("annotate", "--help")
        self.assertEqual(result.returncode, 0)
        self.assertTrue(text(result.stdout).startswith("Examples\n"))


CPLUSPLUS = """\
#include <cstddef>
namespace app {
template <typename T> struct Engine { T sum = 0; T run(const T *from, size_t count); };
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
    for (unsigned i = 0; i < 20; i++) { x ^= x >> 3; x *= 0xff51afd7u; }
    return x;
}
template <typename T> __attribute__((noinline)) T Engine<T>::run(const T *from, size_t count)
{
    for (size_t i = 0; i < count; i++) { sum += mix(from[i]); }
    return sum;
}
}
static __attribute__((noinline)) unsigned work(unsigned x) { return app::mix(x) + x; }
static __attribute__((noinline)) unsigned over(unsigned x) { asm volatile(""); return x * 3; }
static __attribute__((noinline)) unsigned over(char x) { asm volatile(""); return x * 5u; }
unsigned other(unsigned x);
int main()
{
    static unsigned from[100];
    app::Engine<unsigned> engine;
    return engine.run(from, 100) + work(from[1]) + other(from[2]) + over(from[3]) + over((char)from[4]) == 1;
}
"""
OTHER = """\
static __attribute__((noinline)) unsigned work(unsigned x) { asm volatile(""); return x ^ 7; }
unsigned other(unsigned x) { return work(x) + 1; }
"""


class AsTheTable(AnnotateTest):
    """Each row of the report, by all that it is called, has a listing with as many hits."""

    def setUp(self):
        super().setUp()
        (self.folder / "one.cpp").write_text(CPLUSPLUS)
        (self.folder / "two.cpp").write_text(OTHER)
        self.program = self.folder / "app"
        self.check(["g++", "-O2", "-g", "-o", self.program, self.folder / "one.cpp", self.folder / "two.cpp"])
        hits = {}
        for line in self.check(["nm", "-S", self.program]).splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tTwW" and any(
                    part in words[3] for part in ("work", "over", "other", "run", "main")):
                for at in range(int(words[0], 16), int(words[0], 16) + int(words[1], 16)):
                    hits[at] = len(hits) + 1
        self.assertGreater(len(hits), 100)
        self.path = self.profile_of(self.program, hits, bucket_bytes=1)

    def table(self, *words):
        """[(hits, name)] as the text has them."""
        shown = text(self.ntprof("report", "--rows", "0", *words, self.path).stdout)
        found = re.findall(r"^ *[0-9.]+%(?: +[0-9.]+%)? +([0-9]+)  +[0-9.]+[num]?s  +(.*?)  +app$", shown, re.M)
        self.assertGreater(len(found), 4, shown)
        return [(int(hits), name) for hits, name in found]

    def total(self, name):
        listing = self.annotate(name, self.path)
        self.assertEqual(sum(line["hits"][0] for line in listing["lines"] if "hits" in line),
                         listing["sources"][0]["hits"], name)
        return listing["sources"][0]["hits"]

    def test_outer_functions__by_their_names_in_the_table(self):
        rows = self.table() + self.table("--full-names")
        names = {name for _, name in rows}
        self.assertIn("app::Engine<unsigned int>::run", names)
        self.assertEqual(len([name for name in names if re.fullmatch(r"work\(.*\) \((one|two)\.cpp:[0-9]+\)", name)]),
                         2, names)
        for hits, name in rows:
            with self.subTest(name):
                self.assertEqual(self.total(name), hits)

    def test_outer_functions__by_their_names_in_the_symbol_table(self):
        rows = json.loads(self.ntprof("report", "--json", "--rows", "0", self.path).stdout)["rows"]
        for row in rows:
            with self.subTest(row["system_name"]):
                if "4work" in row["system_name"]:
                    said = self.refused(row["system_name"], self.path)
                    self.assertRegex(said, r"(?m)^ +[0-9]+  work\(.*\) \(one\.cpp:[0-9]+\) ")
                    self.assertRegex(said, r"(?m)^ +[0-9]+  work\(.*\) \(two\.cpp:[0-9]+\) ")
                else:
                    self.assertEqual(self.total(row["system_name"]), row["hits"])

    def test_inlined_functions__where_they_were_inlined(self):
        rows = [(hits, name) for hits, name in self.table("--by", "inline") if " inlined in " in name]
        self.assertGreaterEqual(len(rows), 2)
        for hits, name in rows:
            with self.subTest(name):
                self.assertEqual(self.total(name), hits)
        self.assertEqual(self.total("mix"), sum(hits for hits, name in rows if "mix" in name.split(" inlined in ")[0]))

    def test_nothing_named__the_first_row(self):
        first, _ = self.table()[0]
        self.assertEqual(self.annotate(self.path)["sources"][0]["hits"], first)


@for_each_user_if_long
class Real(AnnotateTest):
    def test_recorded__hot_loop__found(self):
        program = self.make()
        result = self.profile("-q", "--", program)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        listing = self.annotate("inner")
        source = listing["sources"][0]
        self.assertGreater(source["hits"], 0.5 * source["total"])
        shown = sum(line["hits"][0] for line in listing["lines"] if "hits" in line)
        self.assertGreaterEqual(shown, source["hits"])
        result = self.ntprof("annotate", "inner", "--rows", "1")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertNotIn(b"\033", result.stdout)


if __name__ == "__main__":
    harness.main()
