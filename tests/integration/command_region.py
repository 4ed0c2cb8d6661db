#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--region: one profile object of exactly a function, a part of it or a range, and its table by instruction."""
import json
import os
import pathlib
import re
import shutil

import harness
from command_output import check_schema
from harness import CommandTest, for_each_user, program, text, wait_for

CALLS = 100
THREADS = 2
ALL = CALLS * (3 + THREADS)  # main, its threads, the child, and what that becomes
INSTRUCTION = re.compile(r"^ *\d+\.\d\d% +\d+ .*[0-9a-f]+  +\S", re.M)


class RegionTest(CommandTest):
    def region_json(self, region, *words):
        report = self.report_json("--region", region, *words)
        self.assert_statistics(report)
        self.assert_in_region(report)
        return report

    def assert_in_region(self, report):
        """Each hit that was counted is in a bucket of the region and in a row, and all others are outside."""
        region = report["region"]
        start, end = int(region["start"], 16), int(region["end"], 16)
        buckets = [bucket for listing in region["listings"] for bucket in listing["buckets"]]
        for bucket in buckets:
            self.assertTrue(start <= int(bucket["start"], 16) < int(bucket["end"], 16) <= end, (bucket, region))
        for at, source in enumerate(report["sources"]):
            self.assertEqual(sum(bucket["hits"][at] for bucket in buckets), source["counted"], source)
        rows = sum(row["hits"] for row in report["rows"] if row["image"] != "[outside of the region]")
        self.assertEqual(rows, report["sources"][0]["counted"])

    def refused(self, *words):
        result = self.ntprof(*words)
        self.assertEqual(result.returncode, 125, text(result.stderr))
        self.assert_nothing_left()
        return text(result.stderr)


@for_each_user
class Places(RegionTest):
    def test_library_mapped_twice__by_path_by_link_and_by_glob(self):
        library = pathlib.Path(program("hot_library.so"))
        link = self.folder / "link.so"
        link.symlink_to(library)
        for image in (library, link, f"{library.parent}/hot_lib*.so"):
            with self.subTest(image=image):
                report = self.region_json(f"{image}:hot_constructor", "-F", "2k", "--", program("loader"), library, 2)
                self.assertGreater(report["sources"][0]["counted"], 0)
                self.assertEqual(report["region"]["image"], str(library))

    def test_attach__the_running_program(self):
        child = self.start([program("shares"), "60000"])
        path = self.folder / "report.json"
        recorder = self.start(self.arguments("attach", "-p", child.pid, "--region", "right_three_units", "-F", "5k",
                                             "--every", "100ms", "--json", "--rows", 0, "--report", path))

        def counted():
            if not (self.folder / "ntprof.pb.gz").exists():
                return recorder.poll() is not None
            return json.loads(self.ntprof("report", "--json").stdout)["sources"][0]["counted"] > 0

        harness.wait_for(counted, "hits")
        self.interrupt(recorder)
        report = json.loads(path.read_text())
        self.assert_statistics(report)
        self.assert_in_region(report)
        self.assertGreater(report["sources"][0]["counted"], 0)
        self.assertEqual(os.path.basename(report["region"]["image"]), "shares")


class Clock(RegionTest):
    def test_function_of_a_program__its_hits_and_no_others(self):
        report = self.region_json("right_three_units", "-F", "5k", "--", program("shares"), 200)
        source = report["sources"][0]
        self.assert_counts_time(report, 0.2)
        self.assertGreater(source["counted"], source["outside"])
        self.assertGreater(source["outside"], 0)
        self.assertEqual({row["function"] for row in report["rows"]},
                         {"right_three_units", "[outside of the region]"})
        self.assertEqual(report["region"]["symbol"], "right_three_units")
        self.assertIn("only the region right_three_units was profiled", report["limits"])
        listing, = report["region"]["listings"]
        self.assertEqual(listing["schema"], "ntprof.annotate")
        self.assertEqual(listing["target"]["kind"], "range")
        self.assertIn(listing["view"], ("instructions", "buckets"))

    def test_function_with_a_cold_part__found_by_its_name(self):
        """What a compiler split off has a symbol that demangles to the same name and [clone .cold]."""
        (self.folder / "app.c").write_text(
            'void foo(void) __asm__("_ZN2ns3fooEv");\nvoid cold(void) __asm__("_ZN2ns3fooEv.cold");\n'
            "__attribute__((noinline)) void cold(void) { __asm__ volatile(\"\"); }\n"
            "__attribute__((noinline)) void foo(void) { for (volatile int i = 0; i < 100000000; i++) { } }\n"
            "int main(int n, char **v) { (void)v; n > 9 ? cold() : foo(); return 0; }\n")
        built = self.run_bare(["cc", "-O1", "-o", "app", "app.c"])
        self.assertEqual(built.returncode, 0, text(built.stderr))
        report = self.region_json("ns::foo", "--", self.folder / "app")
        self.assertEqual(report["region"]["symbol"], "ns::foo")
        self.assertGreater(report["sources"][0]["counted"], 0)

    def test_table__a_row_for_each_instruction_and_what_is_outside(self):
        result = self.profile("--region", "right_three_units", "-F", "5k", "--", program("shares"), 200)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        self.assertRegex(said, r"right_three_units in \S+shares: \d+ of \d+ hits")
        self.assertRegex(said, INSTRUCTION)
        self.assertRegex(said, r"\d+ hits \(\d+\.\d\d%\) outside of the region, left out by --region")
        shown = text(self.ntprof("report").stdout)
        self.assertIn("[outside of the region]", shown)
        self.assertIn("right_three_units", shown)

    def test_part_of_a_function__no_hit_behind_it(self):
        whole = self.region_json("right_three_units", "-F", "5k", "--", program("shares"), 200)["region"]
        part = self.region_json("right_three_units+4", "-F", "5k", "--", program("shares"), 200)["region"]
        self.assertEqual(part["start"], whole["start"])
        self.assertEqual(int(part["end"], 16), int(part["start"], 16) + 4)

    def test_range_of_addresses__the_same_as_its_function(self):
        image = program("shares")
        wanted = self.region_json("right_one_unit", "-F", "5k", "--", image, 200)["region"]
        start, end = int(wanted["start"], 16), int(wanted["end"], 16)
        report = self.region_json(f"{image}:0x{start:x}-{end:x}", "-F", "5k", "--", image, 200)
        self.assertEqual({row["function"] for row in report["rows"]}, {"right_one_unit", "[outside of the region]"})
        self.assertEqual((report["region"]["start"], report["region"]["end"]), (wanted["start"], wanted["end"]))

    def test_buckets_of_several_instructions__none_reaches_beyond_the_end(self):
        image = program("shares")
        whole = self.region_json("right_three_units", "--", image, 1)["region"]
        start, end = (int(whole[name], 16) for name in ("start", "end"))
        start = (start + 15) // 16 * 16
        report = self.region_json(f"{image}:{start:x}-{end - end % 16 + 15:x}", "--bucket", 16, "-F", "5k", "--",
                                  image, 200)
        starts = [int(bucket["start"], 16) for bucket in report["region"]["listings"][0]["buckets"]]
        self.assertTrue(starts and all(at % 16 == 0 for at in starts), starts)

    def test_code_that_never_runs__no_hits_is_said(self):
        result = self.profile("--region", f"{program('hot_library.so')}:hot_constructor", "--", program("shares"), 100)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertRegex(text(result.stderr), r"hot_constructor, 0x[0-9a-f]+ to 0x[0-9a-f]+ in \S+: no hits")
        report = self.region_json(f"{program('hot_library.so')}:hot_constructor", "--", program("shares"), 100)
        self.assertEqual(report["region"]["listings"], [])
        self.assertEqual(report["sources"][0]["counted"], 0)

    def test_schema__report_with_a_region(self):
        report = self.region_json("right_one_unit", "--", program("shares"), 100)
        path = pathlib.Path(os.environ["NTPROF_SCHEMA"])
        check_schema(json.loads(path.read_text()), report)
        for listing in report["region"]["listings"]:
            check_schema(json.loads(path.with_name("annotate.schema.json").read_text()), listing)


class Exact(RegionTest):
    """Calls, each counted: with uprobes as root, with breakpoints as another user."""

    def check_calls(self, image, calls, *words):
        inside = self.region_json("counted", "-e", "function:counted", "--", image, CALLS, *words)
        source = inside["sources"][0]
        self.assertEqual((source["expected"], source["counted"], source["outside"]), (calls, calls, 0))
        bucket, = inside["region"]["listings"][0]["buckets"]
        self.assertEqual((bucket["start"], bucket["hits"]), (inside["region"]["start"], [calls]))
        outside = self.region_json("main", "-e", "function:counted", "--", image, CALLS, *words)["sources"][0]
        self.assertEqual((outside["expected"], outside["counted"], outside["outside"]), (calls, 0, calls))

    def test_uprobe__each_call_of_all_processes_and_threads(self):
        self.need_uprobes()
        for name in ("function_caller", "function_caller_fixed"):
            self.check_calls(program(name), ALL, THREADS)

    def test_two_copies__only_the_file_that_was_named(self):
        """Images are told apart by their files, whatever their contents."""
        copy = self.folder / "copy"
        shutil.copy(program("shares"), copy)
        report = self.region_json(f"{copy}:right_three_units", "--", program("shares"), 100)
        self.assertEqual(report["sources"][0]["counted"], 0)
        report = self.region_json(f"{copy}:right_three_units", "-F", "5k", "--", copy, 100)
        self.assertGreater(report["sources"][0]["counted"], 0)


class ExactAsUser(RegionTest):
    user = harness.USER if harness.is_root() else None

    def test_breakpoint__each_call_of_all_processes_and_threads(self):
        self.need_breakpoints()
        Exact.check_calls(self, program("function_caller_fixed"), ALL, THREADS)


@for_each_user
class Mistakes(RegionTest):
    def test_each__is_named_with_what_was_searched(self):
        image = program("shares")
        (self.folder / "script").write_text("#!/bin/sh\n")
        (self.folder / "script").chmod(0o755)
        folder = pathlib.Path(image).parent
        rows = [
            ("nowhere", [image], "no function of this name is in " + image),
            ("nowhere", [self.folder / "script"], "is no ELF program"),
            ("main", ["no-such-program"], "there is no program to find it in"),
            ("/no/such/file:main", [image], "no file matches IMAGE"),
            (f"{folder}/*:main", [image], "IMAGE matches "),
            (f"{folder}:main", [image], "no regular file"),
            (f"{image}:10-10", [image], "END is not above START"),
            (f"{image}:0-8", [image], "has no code at 0x0"),
            ("main+0x10000000", [image], "bytes of code follow"),
            ("main+0", [image], "no number of bytes"),
            ("", [image], "is neither [IMAGE:]SYMBOL[+SIZE] nor IMAGE:START-END"),
        ]
        for region, words, why in rows:
            with self.subTest(region=region):
                result = self.ntprof("run", "--region", region, "--", *words)
                self.assertEqual(result.returncode, 125, text(result.stderr))
                self.assertIn(why, text(result.stderr))

    def test_start_within_a_bucket__refused(self):
        image = program("shares")
        start = int(self.region_json("main", "--", image, 1)["region"]["start"], 16)
        said = self.ntprof("run", "-o", "b.pb.gz", "--bucket", 16, "--region", f"{image}:{start | 1:x}-{start + 9:x}",
                           "--", image, 1)
        self.assertEqual(said.returncode, 125)
        self.assertIn("no multiple of --bucket 16", text(said.stderr))

    def test_by__has_a_table_of_its_own(self):
        self.assertIn("leave out --by", self.refused("run", "--region", "main", "--by", "line", "--", "true"))

    def test_attach_to_two_programs__names_an_image(self):
        children = [self.start([program(name), "60000"]) for name in ("shares", "shares_namesake")]
        wait_for(lambda: all(os.path.basename(os.readlink(f"/proc/{child.pid}/exe")).startswith("shares")
                             for child in children) or None, "both programs")
        said = self.refused("attach", "--region", "main", *[word for child in children for word in ("-p", child.pid)])
        self.assertIn("the processes run different programs", said)


if __name__ == "__main__":
    harness.main()
