#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof run on real programs: hits are where the work is, with the right names."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import harness
from harness import CommandTest, for_each_user_if_long, program, text

FILE = "ntprof.pb.gz"


class ProgramTest(CommandTest):
    def shares(self, report, key="function"):
        """Share of the hits of each function (or image, process)."""
        shares = {}
        for row in report["rows"]:
            shares[row[key]] = shares.get(row[key], 0) + row["share"]
        return shares

    def report_by(self, key):
        result = self.ntprof("report", "--by", key, "--json", "--rows", "0", FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return json.loads(result.stdout)

    def tool(self, name):
        path = shutil.which(name, path=harness.bare_environment()["PATH"])
        if path is None:
            self.skipTest(f"no {name} here")
        return path


@for_each_user_if_long
class OneProcess(ProgramTest):
    def test_work_of_three_to_one__has_these_shares(self):
        report = self.report_json("--", program("shares"), "800")
        self.assert_statistics(report)
        shares = self.shares(report)
        both = shares["right_three_units"] + shares["right_one_unit"]
        self.assertGreater(both, 0.7)
        self.assert_counts_time(report, 0.8)
        self.assertAlmostEqual(shares["right_three_units"] / both, 0.75, delta=0.1)

    def test_rows__have_file_line_image_and_build_id(self):
        self.report_json("--", program("shares"), "300")
        rows = [row for row in self.report_by("address")["rows"]
                if row["function"] == "right_three_units"]
        self.assertTrue(rows)
        notes = text(self.run_bare([self.tool("readelf"), "-n", program("shares")]).stdout)
        build_id = re.search("Build ID: ([0-9a-f]+)", notes)
        for row in rows:
            self.assertEqual(row["image"], program("shares"))
            self.assertTrue(row["file"].endswith("shares.c"), row)
            self.assertGreater(row["line"], 0)
            self.assertEqual(row["build_id"], build_id[1] if build_id else "")

    def test_many_threads__every_ones_work_is_seen(self):
        report = self.report_json("--", program("many_threads"))
        self.assert_statistics(report)
        shares = self.shares(report)
        for letter in "abcdefgh":
            self.assertGreater(shares.get(f"worker_{letter}", 0), 0.01, shares)
        self.assertGreater(shares.get("short_thread", 0), 0.05, shares)

    def test_busy_constructor_of_a_loaded_library__is_seen(self):
        report = self.report_json("--", program("loader"), program("hot_library.so"), "5")
        self.assert_statistics(report)
        self.assertGreater(self.shares(report)["hot_constructor"], 0.7)
        self.assertGreater(self.shares(report, "image")[program("hot_library.so")], 0.7)

    def test_mangled_names__are_demangled(self):
        shares = self.shares(self.report_json("--", program("mangled")))
        for name in ("outer::inner<3>::work(int)", "mycrate::legacy_work", "mycrate::v0_work"):
            self.assertGreater(shares.get(name, 0), 0.1, shares)

    def test_python__has_names_or_offsets_for_all_hits(self):
        report = self.report_json("--", "/usr/bin/python3", "-S", "-c",
                                  "for _ in range(100): sum(range(200000))")
        self.assert_statistics(report)
        source, = report["sources"]
        self.assertEqual(sum(row["hits"] for row in report["rows"]), source["taken"])
        self.assertFalse([row for row in report["rows"] if not row["function"]])
        images = [pathlib.Path(image).name for image in self.shares(report, "image")]
        self.assertTrue([name for name in images if "python3" in name], images)

    def test_time_of_the_vdso__is_named(self):
        report = self.report_json("--", program("clock_caller"))
        self.assertGreater(self.shares(report, "image").get("[vdso]", 0), 0.2)
        rows = [row for row in report["rows"] if row["image"] == "[vdso]"]
        self.assertTrue([row for row in rows if "clock_gettime" in row["function"]], rows)

    def test_kernel__is_seen_by_root_only(self):
        report = self.report_json("--", "dd", "if=/dev/zero", "of=copy", "bs=1M", "count=300")
        self.assert_statistics(report)
        images = self.shares(report, "image")
        if self.is_user():
            self.assertNotIn("[kernel]", images)
            self.assertFalse(report["sources"][0]["kernel_included"])
            self.assertGreater(report["sources"][0]["excluded"], 0)
        else:
            self.assertGreater(images["[kernel]"], 0.3)
            names = [row["function"] for row in report["rows"] if row["image"] == "[kernel]"]
            self.assertTrue([name for name in names if not name.startswith("[no symbols]")], names)

    def test_rates__more_hits_at_a_higher_one(self):
        granted = []
        for rate, asked in (("100", 100000), ("2k", 5000)):
            report = self.report_json("-F", rate, "--", program("shares"), "400")
            source, = report["sources"]
            self.assertEqual(source["asked"], asked)
            self.assertGreaterEqual(source["granted"], asked)
            self.assert_counts_time(report, 0.4)
            granted.append(source["granted"])
        self.assertLess(granted[1], granted[0])


@for_each_user_if_long
class Images(ProgramTest):
    # A shell's words: the program runs, and has for a while.
    begun = f"./program 300 & {harness.until_runs('./program')}; sleep 0.1"

    def test_stripped_program__a_row_a_function_and_drops_nothing(self):
        strip = self.tool("strip")
        copy = self.folder / "stripped"
        subprocess.run([strip, "-o", copy, program("shares")], check=True)
        copy.chmod(0o755)
        report = self.report_json("--", copy, "300")
        names = self.shares(report)
        bounds = sum(share for name, share in names.items()
                     if re.fullmatch(r"stripped!0x[0-9a-f]+", name))
        self.assertGreater(bounds, 0.7, names)
        self.assertNotIn("right_three_units", names)

    def test_separate_debug_file__gives_the_names(self):
        objcopy = self.tool("objcopy")
        copy = self.folder / "linked"
        debug = self.folder / "linked.debug"
        subprocess.run([objcopy, "--only-keep-debug", program("shares"), debug], check=True)
        subprocess.run([objcopy, "--strip-all", f"--add-gnu-debuglink={debug}",
                        program("shares"), copy], check=True)
        copy.chmod(0o755)
        debug.chmod(0o644)
        shares = self.shares(self.report_json("--", copy, "300"))
        self.assertGreater(shares.get("right_three_units", 0), 0.4, shares)

    def test_program_replaced_while_it_runs__namesake_gives_no_names(self):
        copy = self.folder / "program"
        shutil.copy(program("shares"), copy)
        shutil.copy(program("shares_namesake"), self.folder / "other")
        report = self.report_json("--", "sh", "-c", f"{self.begun}; mv other program; wait")
        self.assert_statistics(report)
        names = {row["function"]: row["hits"] for row in report["rows"]}
        self.assertFalse([name for name in names if name.startswith("wrong_")], names)
        mine = sum(hits for name, hits in names.items() if name.startswith(("right_", "program")))
        self.assertGreater(mine, 0, names)
        self.assert_has_time(report, mine, 0.3)

    def test_program_deleted_while_it_runs__hits_stay(self):
        copy = self.folder / "program"
        shutil.copy(program("shares"), copy)
        report = self.report_json("--", "sh", "-c", f"{self.begun}; rm program; wait")
        self.assert_statistics(report)
        self.assert_has_time(report, sum(row["hits"] for row in report["rows"]
                                         if row["function"].startswith(("right_", "program"))), 0.3)

    def test_two_programs_of_one_name__keep_apart(self):
        for folder, name in (("one", "shares"), ("two", "shares_namesake")):
            (self.folder / folder).mkdir()
            shutil.copy(program(name), self.folder / folder / "same")
        report = self.report_json("--", "sh", "-c", "one/same 300; two/same 300")
        for name in ("right_three_units", "wrong_three_units"):
            hits = sum(row["hits"] for row in report["rows"] if row["function"] == name)
            self.assert_has_time(report, hits, 0.75 * 0.3)

    def test_go_pprof__reads_the_file(self):
        go = self.tool("go")
        self.profile("-q", "--", program("shares"), "400")
        result = self.run_bare([go, "tool", "pprof", "-top", "-lines", FILE], env={
            **harness.bare_environment(), "HOME": str(self.folder), "GOFLAGS": "-mod=mod"})
        shown = text(result.stdout)
        if result.returncode != 0 and "no such tool" in text(result.stderr):
            self.skipTest("go has no pprof here")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertIn("right_three_units", shown)
        self.assertIn("shares.c:", shown)


class Namespaces(ProgramTest):
    def test_kernel_without_names__the_reason_is_said(self):
        if not harness.is_root():
            self.skipTest("an ordinary user sees no hits in the kernel")
        self.need_mount_namespace()
        for lines, said in (("0000000000000000 T _stext\n0000000000000000 T _etext\n", "kernel.kptr_restrict"),
                            ("", "/proc/kallsyms cannot be read: it is empty")):
            (self.folder / "kallsyms").write_text(lines)
            words = self.arguments("run", "-o", "p", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=20000")
            result = self.run_bare([self.tool("unshare"), "-m", "sh", "-c",
                                    'mount --bind kallsyms /proc/kallsyms && exec "$@"', "sh", *words])
            self.assertEqual(result.returncode, 0, text(result.stderr))
            notes = [line for line in text(result.stderr).splitlines()
                     if "functions of the kernel have no names" in line]
            self.assertEqual(len(notes), 1, text(result.stderr))
            self.assertIn(said, notes[0])
            self.assertIn("/proc/kallsyms had no addresses", text(result.stderr))

    def test_kernel_with_other_names__its_addresses_are_not_blamed(self):
        if not harness.is_root():
            self.skipTest("an ordinary user sees no hits in the kernel")
        self.need_mount_namespace()
        (self.folder / "kallsyms").write_text("ffffffff81000000 T _stext\nffffffff81000001 T other\n"
                                              "ffffffff81000002 T _etext\n")
        words = self.arguments("run", "-o", "p", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=20000")
        result = self.run_bare([self.tool("unshare"), "-m", "sh", "-c",
                                'mount --bind kallsyms /proc/kallsyms && exec "$@"', "sh", *words])
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertNotIn("/proc/kallsyms had no addresses", text(result.stderr))

    def test_namesake_in_another_mount_namespace__the_mapped_file_gives_the_names(self):
        copy = self.folder / "program"
        shutil.copy(program("shares"), copy)
        unshare = ["unshare", "--mount"] if harness.is_root() else ["unshare", "--mount", "--map-root-user"]
        self.need_mount_namespace(*unshare[2:])
        report = self.report_json("--", *unshare, "sh", "-c",
                                  f"mount --bind {program('shares_namesake')} program && "
                                  "exec ./program 400")
        self.assert_statistics(report)
        names = self.shares(report)
        self.assertFalse([name for name in names if name.startswith("right_")], names)
        mine = sum(share for name, share in names.items()
                   if name.startswith(("wrong_", "program")))
        self.assertGreater(mine, 0.5, names)
        if harness.is_root():
            self.assertIn("wrong_three_units", names)


@for_each_user_if_long
class Processes(ProgramTest):
    def test_compiler__its_parts_are_seen(self):
        gcc = self.tool("gcc")
        lines = [f"int f{n}(int a, int b) {{ int s = 0; for (int i = 0; i < a; i++) "
                 f"s += (i * b) % {n + 3} ? i ^ b : a - i; return s; }}" for n in range(700)]
        (self.folder / "big.c").write_text("\n".join(lines) + "\nint main(void) { return 0; }\n")
        report = self.report_json("-F", "5k", "--", gcc, "-O2", "big.c", "-o", "big")
        self.assert_statistics(report)
        self.assertTrue((self.folder / "big").exists())
        processes = self.shares(self.report_by("process"), "process")
        self.assertGreater(processes.get("cc1", 0), 0.4, processes)
        self.assertIn("as", processes)
        self.assertTrue({"collect2", "ld", "ld.bfd"} & set(processes), processes)
        images = [pathlib.Path(image).name for image in self.shares(report, "image")]
        self.assertIn("cc1", images)

    def test_a_thousand_processes__not_one_page_fault_is_missed(self):
        for _ in range(5):
            report = self.report_json("-e", "time,page-faults", "-c", "1", "--", "sh", "-c",
                                      "for i in $(seq 1000); do /bin/true; done")
            self.assert_statistics(report)
            faults = report["sources"][1]
            self.assertEqual(faults["name"], "page-faults")
            self.assertEqual(faults["taken"] + faults["lost"], faults["expected"])
            # Whoever gets no processor for long loses hits, and knows how many.
            if not any(source["lost"] for source in report["sources"]):
                break
        else:
            self.assertIn("ASAN_OPTIONS", os.environ)  # too slow for it beside the programs
            return
        self.assertEqual(report["gaps"], "")
        # What the shell does without programs is a small part.
        before = harness.children_faults()
        self.run_bare(["sh", "-c", "for i in $(seq 100); do /bin/true; done"])
        all_faults = 10 * (harness.children_faults() - before)
        rows = self.report_by("process")["rows"]
        by_process = {row["process"]: row["by_source"]["page-faults"] for row in rows}
        self.assertGreater(by_process["true"] + by_process["sh"] + faults["outside"], all_faults / 2)
        self.assertGreater(by_process["true"], by_process["sh"])
        self.assertIn("sh", by_process)
        # In between two programs, when the old one is gone, hits have no place.
        self.assertLess(faults["outside"], faults["taken"] / 10)

    def test_forks_without_exec__children_are_counted(self):
        script = ("import os, time\n"
                  "for n in range(4):\n"
                  "    if os.fork() == 0:\n"
                  "        while time.process_time() < 0.2: pass\n"
                  "        os._exit(0)\n"
                  "for n in range(4): os.wait()\n")
        report = self.report_json("--", "/usr/bin/python3", "-S", "-c", script)
        self.assert_statistics(report)
        self.assert_counts_time(report, 4 * 0.2, 0.9)

    def test_children_that_outlive_the_command__counted_until_its_end(self):
        result = self.profile("--json", "--report", "report.json", "--", "sh", "-c",
                              f"{program('shares')} 60000 >/dev/null 2>&1 & echo $!; "
                              f"exec {program('shares')} 200")
        child = int(result.stdout)
        self.addCleanup(harness.kill_quietly, child)
        self.assertTrue(harness.is_alive(child))
        report = json.loads((self.folder / "report.json").read_text())
        self.assert_statistics(report)
        self.assertGreater(self.shares(report).get("right_three_units", 0), 0.4)


@for_each_user_if_long
class Jit(ProgramTest):
    def test_node__functions_of_the_script_are_named(self):
        node = self.tool("node")
        (self.folder / "work.js").write_text(
            "function busyScriptFunction(n) {\n"
            "  let s = 0;\n"
            "  for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003;\n"
            "  return s;\n"
            "}\n"
            "let t = 0;\n"
            "for (let i = 0; i < 400; i++) t += busyScriptFunction(100000);\n"
            "console.log(t > 0);\n")
        report = self.report_json("--", "sh", "-c", f"echo $$ >pid; exec {node} "
                                  "--perf-basic-prof work.js")
        pid = int((self.folder / "pid").read_text())
        self.assert_statistics(report)
        self.addCleanup(pathlib.Path(f"/tmp/perf-{pid}.map").unlink, missing_ok=True)
        names = self.shares(report)
        mine = sum(share for name, share in names.items() if "busyScriptFunction" in name)
        self.assertGreater(mine, 0.2, {name: share for name, share in names.items()
                                       if share > 0.01})


if __name__ == "__main__":
    harness.main()
