#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Small inputs that a field trial found wrong, each as a person would try it: a case a line.

Their sources are in the folder cases: compiled, run and read here as they are. scripts/cases.sh runs them alone.
"""
import gzip
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import harness
from harness import text
from protobuf import field, varint

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden"))
import foreign_file  # noqa: E402

CASES = pathlib.Path(__file__).parent / "cases"


class CaseTest(harness.CommandTest):
    def source(self, name):
        """A case's file, in the test's folder."""
        path = self.folder / name
        shutil.copy(CASES / (name + ".case"), path)
        return path

    def tool(self, *names):
        for name in names:
            found = shutil.which(name)
            if found:
                return found
        self.skipTest("needs " + " or ".join(names))
        return None

    def build(self, compiler, *words):
        result = subprocess.run([compiler, *words], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)

    def rows(self, *words, by="function"):
        """Shares of a run, by what the key shows."""
        report = self.folder / "report.json"
        result = self.profile("--json", "--rows", "0", "--by", by, "--report", report, *words)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return json.loads(report.read_text())["rows"]

    def share(self, rows, key, pattern):
        return sum(row["share"] for row in rows if re.search(pattern, row[key]))


class Rows(CaseTest):
    def test_lambda_cc__two_lambdas_are_two_rows_and_names_have_scopes(self):
        self.source("lambda.cc")
        self.build(self.tool("g++"), "-g", "-O2", "lambda.cc", "-o", "lambda")
        rows = [row for row in self.rows("--", "./lambda", by="inline") if row["share"] > 0.1]
        names = sorted(row["innermost"] for row in rows)
        self.assertEqual(len(rows), 3, rows)
        self.assertRegex(names[0], r"\(anonymous namespace\)::Work::run")
        self.assertEqual([re.search(r"main.*lambda.*::operator\(\)", name) is not None for name in names[1:]],
                         [True, True], names)
        self.assertEqual({row["line"] for row in rows if "lambda" in row["innermost"]}, {6, 7}, rows)

    def test_gen_cc__the_users_own_functions_are_rows(self):
        self.source("gen.cc")
        self.build(self.tool("g++"), "-g", "-O2", "gen.cc", "-o", "gen")
        rows = self.rows("--", "./gen")
        self.assertGreater(self.share(rows, "function", r"^Engine<long, .*>::run"), 0.05, rows)
        self.assertGreater(self.share(rows, "function", r"std::__introsort_loop"), 0.2, rows)

    def test_rsjob_rs__quicksort_is_a_row(self):
        self.source("rsjob.rs")
        self.build(self.tool("rustc"), "-O", "-g", "rsjob.rs")
        rows = self.rows("--duration", "1s", "--", "./rsjob")
        self.assertGreater(self.share(rows, "function", r"::quicksort"), 0.1, rows)

    def test_fde__an_unnamed_function_is_one_row(self):
        self.source("gcdead.c")
        self.build(self.tool("gcc"), "-O2", "gcdead.c", "-s", "-o", "stripped")
        rows = self.rows("--", "./stripped")
        best = max(rows, key=lambda row: row["share"])
        self.assertRegex(best["function"], r"^stripped!0x[0-9a-f]+$")
        self.assertGreater(best["share"], 0.5, rows)


class Lines(CaseTest):
    def test_gcdead_c__no_line_of_code_that_was_thrown_away(self):
        self.source("gcdead.c")
        self.build(self.tool("gcc"), "-g", "-O2", "-ffunction-sections", "-Wl,--gc-sections", "gcdead.c", "-o",
                   "gcdead")
        rows = [row for row in self.rows("--", "./gcdead", by="line") if row["function"] == "live"]
        self.assertTrue(rows)
        self.assertLessEqual({row["line"] for row in rows}, {6, 7, 8, 9, 10}, rows)
        self.assertEqual({row["innermost"] for row in rows}, {"live"}, rows)

    def test_enumfn_ll__function_in_any_entry(self):
        self.source("enumfn.ll")
        self.build(self.tool("clang-14", "clang"), "-O2", "enumfn.ll", "-o", "enumfn")
        rows = self.rows("--", "./enumfn", by="inline")
        best = max(rows, key=lambda row: row["share"])
        self.assertEqual((best["innermost"], best["function"]), ("mixed", "paint"), rows)

    def test_norange_s__unit_without_ranges_has_lines(self):
        self.source("norange.s")
        self.build(self.tool("gcc"), "norange.s", "-o", "norange")
        self.build(self.tool("objcopy"), "--remove-section", ".debug_aranges", "norange")
        rows = self.rows("--", "./norange", by="line")
        self.assertGreater(self.share(rows, "file", r"w\.c$"), 0.9, rows)
        self.assertIn(5, {row["line"] for row in rows}, rows)

    def test_plt_sh__stubs_have_the_names_of_their_slots(self):
        self.source("pltarm.c")
        clang = self.tool("clang-14")
        self.tool("ld.lld-14")
        dump = self.tool("llvm-objdump-14")
        self.build(clang, "--target=aarch64-linux-gnu", "-O1", "-fPIC", "-mbranch-protection=standard", "-c",
                   "pltarm.c", "-o", "pltarm.o")
        self.build("ld.lld-14", "-shared", "--build-id=sha1", "-z", "lazy", "pltarm.o", "-o", "pltarm.so")
        listed = subprocess.run([dump, "-d", "-j", ".plt", "--no-show-raw-insn", "pltarm.so"], cwd=self.folder,
                                capture_output=True, text=True, check=True).stdout
        wanted = {int(address, 16): name
                  for address, name in re.findall(r"^([0-9a-f]+) <(f\d@plt)>:", listed, re.M)}
        self.assertEqual(len(wanted), 6, listed)
        rows = self.symbolized(self.folder / "pltarm.so", sorted(wanted))
        self.assertEqual({int(row["address"], 16): row["function"] for row in rows}, wanted)

    def symbolized(self, path, addresses):
        """What report --symbolize says of single addresses in a file."""
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
        texts = ["", "samples", "count", str(path), re.search(r"Build ID: (\w+)", notes)[1]]
        made = field(1, field(1, 1) + field(2, 2))
        made += field(3, field(1, 1) + field(3, 1 << 40) + field(5, 3) + field(6, 4))
        for number, address in enumerate(addresses, 1):
            made += field(4, field(1, number) + field(2, 1) + field(3, address))
            made += field(2, field(1, varint(number)) + field(2, varint(1)))
        made += b"".join(field(6, value.encode()) for value in texts)
        (self.folder / "places.pb.gz").write_bytes(gzip.compress(made))
        result = self.ntprof("report", "--symbolize", "--json", "--rows", "0", "--by", "address", "places.pb.gz")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return json.loads(result.stdout)["rows"]


class Jit(CaseTest):
    def test_jitmap_c__names_are_whole(self):
        self.source("jitmap.c")
        self.build(self.tool("gcc"), "-O2", "jitmap.c", "-o", "jitmap")
        for name in ("JS:*parse /srv/app/node_modules/@babel/parser/lib/index.js:10:20", "fib@/srv/app/fib.rb:3",
                     "TRACE_1::@bench.lua:12"):
            with self.subTest(name):
                rows = self.rows("--", "./jitmap", name, "0.3")
                self.assertGreater(self.share(rows, "function", "^" + re.escape(name) + "$"), 0.5, rows)

    def test_jitmem_c__code_in_memory_of_each_kind_is_named(self):
        self.source("jitmem.c")
        self.build(self.tool("gcc"), "-O2", "jitmem.c", "-o", "jitmem")
        for kind in ("anon", "memfd", "shared", "named", "heap"):
            with self.subTest(kind):
                rows = self.rows("--", "./jitmem", kind)
                self.assertGreater(self.share(rows, "function", r"^Jitted::Method\(int\)$"), 0.5, rows)

    def test_spin_js__named_while_another_user_runs_it(self):
        if self.is_user():
            self.skipTest("only root sees other users' processes")
        node = self.tool("node")
        self.source("spin.js").chmod(0o644)
        self.folder.chmod(0o755)
        options = self.options({"user": harness.USER, "group": harness.USER, "extra_groups": []})
        recording = self.start(self.arguments("system", "--every", "100ms", "--json", "--rows", "0", "-o", "s.pb.gz"))
        harness.wait_for(lambda: (self.folder / "s.pb.gz").exists() or recording.poll() is not None, "the first file")
        spin = subprocess.Popen([node, "--perf-basic-prof", str(self.folder / "spin.js")], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.assertEqual(spin.wait(timeout=harness.TIME_LIMIT_S), 0)
        recording.send_signal(signal.SIGINT)
        out, said = recording.communicate(timeout=harness.TIME_LIMIT_S)
        pathlib.Path(f"/tmp/perf-{spin.pid}.map").unlink(missing_ok=True)
        rows = json.loads(out)["rows"]
        self.assertGreater(self.share(rows, "function", r"hotJs"), 0, text(said))

    def test_hp_c__code_moved_to_anonymous_memory_is_of_its_image(self):
        self.source("hp.c")
        self.build(self.tool("gcc"), "-O2", "hp.c", "-o", "hp")
        for how in ("anon", "remap", "back"):
            with self.subTest(how):
                rows = self.rows("--", "./hp", how)
                self.assertGreater(self.share(rows, "function", r"^churn$"), 0.9, rows)

    def test_n2_js__text_in_large_pages_is_of_its_image(self):
        node = self.tool("node")
        self.source("n2.js")
        rows = self.rows("--", node, "--use-largepages=on", "--perf-basic-prof", "n2.js")
        self.assertGreater(self.share(rows, "image", r"/(node|libnode\.so\.\d+)$"), 0.5, rows[:20])
        self.assertLess(self.share(rows, "function", r"^\[no symbols\] in \[anon:"), 0.1, rows[:20])


class Others(CaseTest):
    def test_mkpprof_drop__frames_that_the_file_drops_are_dropped(self):
        made = foreign_file.ForeignFile(("inuse_objects", "count"))
        made.sample(["tc_malloc", "operator new", "make_a"], 10)
        made.sample(["tc_malloc", "operator new", "make_b"], 20)
        made.texts_of(drop_frames="tc_malloc|operator new")
        made.write(self.folder / "drop.pb.gz")
        result = self.ntprof("report", "--json", "drop.pb.gz")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        rows = json.loads(result.stdout)["rows"]
        self.assertEqual({row["function"]: row["hits"] for row in rows}, {"make_a": 10, "make_b": 20})

    def test_pageimages__a_store_and_a_merge_have_the_same_images(self):
        if self.is_user():
            self.skipTest("an ordinary user sees nothing of the kernel")
        self.assertEqual(self.ntprof("store", "init", "sqlite:p.db").returncode, 0)
        for number in range(3):
            result = self.profile("-q", "-o", f"{number}.pb.gz", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M",
                                  "count=2000")
            self.assertEqual(result.returncode, 0, text(result.stderr))
        files = [f"{number}.pb.gz" for number in range(3)]
        self.assertEqual(self.ntprof("store", "add", "sqlite:p.db", *files).returncode, 0)
        self.assertEqual(self.ntprof("merge", "-o", "all.pb.gz", *files).returncode, 0)
        images = []
        for what in ("sqlite:p.db", "all.pb.gz"):
            self.assertEqual(self.ntprof("export", "--format", "html", "-o", "p.html", what).returncode, 0)
            data = harness.page_data((self.folder / "p.html").read_bytes())["profile"]
            images.append(sorted(data["texts"][image[0]] for image in data["images"]))
        self.assertEqual(images[0].count("[kernel]"), 1, images[0])
        self.assertEqual(images[0], images[1])

    def test_childtrap__running_children_are_named(self):
        parent = self.start(["sh", "-c", "while :; do :; done & echo $!; wait"])
        child = int(parent.stdout.readline())
        self.addCleanup(harness.kill_quietly, child)
        result = self.ntprof("attach", "-p", parent.pid, "--duration", "2s", "-o", "c.pb.gz")
        said = text(result.stderr)
        self.assertIn(f"{child} sh", said)
        self.assertIn(f"ntprof attach --children {parent.pid}", said)
        self.assertNotIn("run longer", said)

    def test_lua_afdo__name_0_is_of_no_function(self):
        self.source("gcdead.c")
        self.build(self.tool("gcc"), "-g", "-O2", "gcdead.c", "-o", "gcdead")
        self.assertEqual(self.profile("-q", "-o", "g.pb.gz", "--", "./gcdead").returncode, 0)
        result = self.ntprof("export", "--format", "gcc-afdo", "-o", "g.afdo", "g.pb.gz")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        # Magic, version, a word, the tag of the names and their length; then the count, and each with its length.
        words = (self.folder / "g.afdo").read_bytes()
        count = int.from_bytes(words[20:24], "little")
        self.assertGreater(count, 1)
        self.assertEqual(int.from_bytes(words[24:28], "little") <= 1, True, words[:64])
        self.build("gcc", "-O2", "-g", "-fauto-profile=g.afdo", "-c", "gcdead.c")


if __name__ == "__main__":
    harness.main()
