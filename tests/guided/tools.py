#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Builds a program by its own profile, with each compiler and linker that is installed, as docs/guided-builds.md
says: that they take what ntprof export writes, and use all of it.

How much faster a program gets is no matter here. What is written byte by byte is held by golden-guided.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
import harness  # noqa: E402
from harness import text  # noqa: E402

COMMAND_LIMIT_S = 300
ROUNDS = "4000"
DEBUG = ["-g1", "-fdebug-info-for-profiling"]
FILES = ["work.c", "one/part.c", "two/part.c"]
HOT = {"interpret", "climb", "compare"}  # some percent of the hits each


def needs(*programs):
    """A decorator: all these tools are there."""
    missing = [name for name in programs if shutil.which(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Guided(harness.CommandTest):
    def setUp(self):
        super().setUp()
        for name in [*FILES, "work.h"]:
            (self.folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(HERE / name, self.folder / name)

    def tool(self, *words):
        """Its standard output and error, together. It succeeds."""
        result = self.run_bare([*map(str, words)], timeout=COMMAND_LIMIT_S, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, capture_output=False)
        self.assertEqual(result.returncode, 0, f"{words}\n{text(result.stdout)}")
        return text(result.stdout)

    def build(self, *words, name="work", files=FILES):
        """Compiles without a word from the compiler."""
        self.assertEqual(self.tool(*words, *files, "-o", name), "")

    def record(self, *words, name="work"):
        """The number that the program prints."""
        result = self.profile("-q", "-F", "4k", "-o", "p.pb.gz", *words, "--", f"./{name}", ROUNDS,
                              timeout=COMMAND_LIMIT_S)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return text(result.stdout)

    def export(self, form, *words, name="work"):
        """The path of what is written, and what is said."""
        result = self.ntprof("export", "--format", form, "--image", name, "-o", f"p.{form}", *words, "p.pb.gz",
                             timeout=COMMAND_LIMIT_S)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return f"p.{form}", text(result.stderr)

    def refused(self, form, name="work"):
        """Why nothing is written."""
        result = self.ntprof("export", "--format", form, "--image", name, "-o", "none", "p.pb.gz",
                             timeout=COMMAND_LIMIT_S)
        self.assertEqual(result.returncode, 125)
        self.assertFalse((self.folder / "none").exists())
        return text(result.stderr)

    def answer(self, name):
        return self.tool(f"./{name}", ROUNDS)

    def hot_functions(self):
        """Functions of the program that have hits, by the symbol table."""
        path, _ = self.export("symbol-order")
        return (self.folder / path).read_text().split()


@needs("clang-16", "llvm-profdata-16")
class Clang(Guided):
    def functions_of(self, path):
        """Of a sample profile, as llvm-profdata reads it."""
        shown = self.tool("llvm-profdata-16", "show", "--sample", path)
        return set(re.findall(r"^Function: ([^:]+):", shown, re.M))

    def overlap(self, one, other):
        """Percent of the hits that two sample profiles share."""
        for number, path in enumerate((one, other)):
            self.tool("llvm-profdata-16", "merge", "--sample", path, "-o", f"merged{number}")
        shown = self.tool("llvm-profdata-16", "overlap", "--sample", "merged0", "merged1")
        return float(re.search(r"Whole program sample overlap: ([0-9.]+)%", shown)[1])

    def profgen(self):
        ranges, _ = self.export("llvm-profgen")
        self.tool("llvm-profgen-16", "--binary=work", f"--unsymbolized-profile={ranges}", "--use-offset=0",
                  "--format=text", "--output=profgen")
        return "profgen"

    def use(self, path, *words):
        """Compiles by the profile; nothing in it is foreign to the source."""
        self.build("clang-16", "-O2", *DEBUG, f"-fprofile-sample-use={path}", *words, name="new")

    @needs("llvm-profgen-16")
    def test_exact_places__llvm_profgen_and_ntprof_agree(self):
        self.build("clang-16", "-O2", *DEBUG)
        answer = self.record()
        profgen, (sample, said) = self.profgen(), self.export("llvm-sample")
        self.assertTrue(HOT <= self.functions_of(profgen), self.functions_of(profgen))
        self.assertTrue(HOT <= self.functions_of(sample), self.functions_of(sample))
        self.assertNotIn("never", self.functions_of(sample))
        percent = self.overlap(sample, profgen)
        print(f"llvm-sample and llvm-profgen overlap: {percent} %; {said.strip()}")
        self.assertGreater(percent, 80)
        for path, words in ((profgen, []), (sample, []), (sample, ["-mllvm", "-sample-profile-use-profi"])):
            self.use(path, *words)
            self.assertEqual(self.answer("new"), answer)

    @needs("llvm-profgen-16")
    def test_wide_buckets__accepted_too(self):
        self.build("clang-16", "-O2", *DEBUG)
        self.record("--bucket", "4")
        profgen, (sample, _) = self.profgen(), self.export("llvm-sample")
        percent = self.overlap(sample, profgen)
        print(f"of buckets of 4 bytes: {percent} %")
        self.assertGreater(percent, 40)
        self.use(profgen)
        self.use(sample)

    def test_several_runs__added_up(self):
        self.build("clang-16", "-O2", *DEBUG)
        self.record()
        (self.folder / "p.pb.gz").rename(self.folder / "one.pb.gz")
        self.record()
        (self.folder / "p.pb.gz").rename(self.folder / "two.pb.gz")
        result = self.ntprof("merge", "-q", "-o", "p.pb.gz", "one.pb.gz", "two.pb.gz")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        sample, _ = self.export("llvm-sample")
        self.assertTrue(HOT <= self.functions_of(sample))
        self.use(sample)

    def test_static_functions_of_one_name__told_apart(self):
        self.build("clang-16", "-O2", *DEBUG, "-funique-internal-linkage-names")
        self.record()
        sample, _ = self.export("llvm-sample")
        steps = [name for name in self.functions_of(sample) if re.search(r"climb.*\.__uniq\.", name)]
        self.assertEqual(len(set(steps)), 2, self.functions_of(sample))
        self.use(sample, "-funique-internal-linkage-names")

    def test_inlined_functions__nested_with_discriminators(self):
        self.build("clang-16", "-O2", *DEBUG)
        self.record()
        sample, _ = self.export("llvm-sample")
        written = (self.folder / sample).read_text()
        body = re.search(r"^interpret:.*\n((?: .*\n)+)", written, re.M)[1]
        self.assertRegex(body, r"(?m)^ \d+(\.\d+)?: mix:\d+\n  \d+(\.\d+)?: \d+$")
        self.assertRegex(body, r"(?m)^ \d+\.\d+: \d+$")
        self.assertRegex(written, r"(?m)^ \d+(\.\d+)?: 0$")

    @needs("clang++-16")
    def test_cplusplus__linkage_names(self):
        (self.folder / "w.cc").write_text("""
            #include <cstdio>
            namespace inner { template <class T> __attribute__((noinline)) T churn(T n) {
              T sum = 0;
              for (T i = 0; i < n; i++) sum += i % 7 == 0 ? sum / 3 : i ^ sum;
              return sum; } }
            struct Work { __attribute__((noinline)) unsigned run(unsigned n); };
            unsigned Work::run(unsigned n) { return inner::churn(n) + inner::churn<unsigned long>(n / 2); }
            int main() { Work w; unsigned s = 0; for (int i = 0; i < 100; i++) s += w.run(1000000 + s % 2);
              std::printf("%u\\n", s); }""")
        self.build("clang++-16", "-O2", *DEBUG, files=["w.cc"])
        self.record()
        sample, _ = self.export("llvm-sample")
        self.assertTrue({"_ZN5inner5churnIjEET_S1_", "_ZN5inner5churnImEET_S1_"} <= self.functions_of(sample))
        self.build("clang++-16", "-O2", *DEBUG, f"-fprofile-sample-use={sample}", name="new", files=["w.cc"])

    def test_what_the_compiler_left_out__named(self):
        for options, said in [
                ([], "has no source lines"),
                (["-g1"], "has no lines where functions are declared"),
                (["-g"], "has no discriminators")]:
            with self.subTest(options):
                self.build("clang-16", "-O2", *options)
                self.record()
                for form in ("llvm-sample", "llvm-profgen"):
                    error = self.refused(form)
                    self.assertIn(said, error)
                    self.assertIn("compile with -g1 -fdebug-info-for-profiling", error)


@needs("gcc-12")
class Gcc(Guided):
    def test_auto_profile__has_counts(self):
        self.build("gcc-12", "-O2", "-g")
        answer = self.record()
        (self.folder / "work").unlink()  # the profile has it all
        afdo, _ = self.export("gcc-afdo")
        self.build("gcc-12", "-O2", "-g", f"-fauto-profile={afdo}", "-fdump-ipa-afdo", name="new")
        dump = "".join(path.read_text() for path in sorted(self.folder.glob("*.afdo")))
        # Both files called part.c have one dump, of the last.
        for name in ("interpret", "order_table", "climb"):
            bodies = re.findall(rf"^[\w *]*\b{name} \([^)]*\)\n\{{(.*?)^\}}", dump, re.M | re.S)
            counts = [int(count) for body in bodies for count in re.findall(r"\[count: (\d+)", body)]
            self.assertGreater(max(counts, default=0), 0, name)
        self.assertEqual(self.answer("new"), answer)

    def test_what_the_compiler_left_out__named(self):
        self.build("gcc-12", "-O2")
        self.record()
        self.assertIn("has no source lines", self.refused("gcc-afdo"))
        self.build("gcc-12", "-O2", "-g")
        self.record("--no-lines")
        self.assertIn("record without --no-lines", self.refused("gcc-afdo"))


@needs("clang-16", "lld-16", "nm")
class Order(Guided):
    def test_order__is_that_of_addresses(self):
        linked = ["clang-16", "-O2", "-ffunction-sections", "-fuse-ld=lld-16"]
        self.build(*linked)
        answer = self.record()
        order = self.hot_functions()
        self.assertTrue(HOT <= set(order), order)
        # climb has a section in each of two files: they stand together.
        self.build(*linked, "-Wl,--symbol-ordering-file=p.symbol-order", name="new")
        shown = self.tool("nm", "-n", "new").split("\n")
        names = [line.split()[2] for line in shown if len(line.split()) == 3 and line.split()[2] in order]
        unique = list(dict.fromkeys(names))
        self.assertEqual(unique, list(dict.fromkeys(name for name in order if name in unique)))
        self.assertTrue(HOT <= set(unique))
        self.assertEqual(self.answer("new"), answer)

    def test_stripped__said(self):
        self.build("clang-16", "-O2", "-s", "-fuse-ld=lld-16")
        self.record()
        self.assertIn("has no symbol table: link it without -s", self.refused("symbol-order"))


@needs("clang-16", "lld-16")
class Bolt(Guided):
    LINK = ["clang-16", "-O2", "-fuse-ld=lld-16", "-Wl,--emit-relocs"]

    def functions_with_profile(self, said):
        """How many functions BOLT found hits for, those that it cannot improve too."""
        found = int(re.search(r"BOLT-INFO: (\d+) out of \d+ functions in the binary \([^)]*\) have non-empty "
                              r"execution profile", said)[1])
        more = re.search(r"BOLT-INFO: (\d+) functions? with profile could not be optimized", said)
        return found + (int(more[1]) if more else 0)

    def hit_functions(self):
        """How many have hits: by the form of functions and offsets, where each has a name of its own."""
        path, _ = self.export("bolt-fdata")
        lines = (self.folder / path).read_text().splitlines()
        self.assertEqual(lines[0], "no_lbr cycles")
        return path, {line.split()[1] for line in lines[1:]}

    @needs("llvm-bolt-16")
    def test_fdata__each_function_with_hits(self):
        self.build(*self.LINK)
        answer = self.record()
        path, functions = self.hit_functions()
        self.assertTrue({"climb/part.c/1", "climb/part.c/2"} <= functions or
                        {"climb/one/part.c/1", "climb/two/part.c/1"} <= functions, functions)
        said = self.tool("llvm-bolt-16", "work", "-o", "new", f"-data={path}", "-reorder-blocks=ext-tsp",
                         "-reorder-functions=hfsort")
        self.assertEqual(self.functions_with_profile(said), len(functions), said)
        self.assertEqual(self.answer("new"), answer)

    @needs("llvm-bolt-16", "gcc-12")
    def test_fdata__two_files_of_one_name__told_apart(self):
        self.build("gcc-12", "-O2", "-Wl,--emit-relocs")
        self.record()
        path, functions = self.hit_functions()
        self.assertTrue({"climb/part.c/1", "climb/part.c/2"} <= functions, functions)
        said = self.tool("llvm-bolt-16", "work", "-o", "new", f"-data={path}")
        self.assertEqual(self.functions_with_profile(said), len(functions), said)

    @needs("perf2bolt-22")
    def test_preaggregated__each_function_with_hits(self):
        self.build(*self.LINK)
        self.record()
        _, functions = self.hit_functions()
        path, _ = self.export("bolt")
        said = self.tool("perf2bolt-22", "work", "-p", path, "--pa", "--ba", "-o", "p.fdata")
        self.assertEqual(self.functions_with_profile(said), len(functions), said)
        self.assertIn("out of range samples recorded in unknown regions: 0 ", said)

    def test_without_relocations__said(self):
        self.build("clang-16", "-O2", "-fuse-ld=lld-16")
        self.record()
        for form in ("bolt", "bolt-fdata"):
            self.assertIn("has no relocations: link it with -Wl,--emit-relocs", self.refused(form))


if __name__ == "__main__":
    harness.main()
