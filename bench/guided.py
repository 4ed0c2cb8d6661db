# SPDX-License-Identifier: MIT
"""guided: what builds guided by ntprof's counts gain, beside plain -O2 and instrumented builds.

Programs are Debian's sources of SQLite (speedtest1) and Lua. They are trained with one workload and measured with
another. A gain is a ratio to the plain build of the same compiler: of the instructions that cachegrind counts, and
of the processor time in paired turns.
"""
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess

from commands import Failed
from figures import QUICK, say, show, turns

TURNS = 3 if QUICK else 15
TRAIN = 1 if QUICK else 4
TRAIN_HZ = "4000"
CLANG = ["clang-16", "-O2", "-g1", "-fdebug-info-for-profiling", "-funique-internal-linkage-names",
         "-fuse-ld=lld-16", "-ffunction-sections", "-Wl,--emit-relocs"]
GCC = ["gcc-12", "-O2", "-g"]
TOOLS = ("clang-16", "ld.lld-16", "llvm-profgen-16", "llvm-profdata-16", "llvm-bolt-16", "gcc-12", "valgrind",
         "dpkg-source", "tclsh")
PROGRAMS = pathlib.Path(__file__).parent / "programs" / "guided"


def run(command, folder, **given):
    shown = " ".join(map(str, command))
    done = subprocess.run(list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **given)
    if done.returncode != 0:
        raise Failed(f"{shown}: exit status {done.returncode}: {done.stdout[-600:]}")
    return done.stdout


def fetch(folder, package):
    """The folder of a source package of Debian's, fetched once."""
    found = [path for path in folder.glob(f"{package}-*") if path.is_dir()]
    if found:
        return found[0]
    parts = folder / "sources"
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    parts.mkdir(exist_ok=True)
    for path in pathlib.Path("/etc/apt/sources.list.d").glob("*.sources"):
        text = path.read_text()
        if "debian" in text:
            (parts / path.name).write_text(re.sub(r"^Types:.*", "Types: deb-src", text, flags=re.M))
    lines = pathlib.Path("/etc/apt/sources.list")
    if lines.exists():
        text = "".join(re.sub(r"^deb ", "deb-src ", line) for line in lines.open() if line.startswith("deb "))
        (parts / "all.list").write_text(text)
    apt = ["apt-get", "-q", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}",
           "-o", f"Dir::State::lists={folder / 'lists'}"]
    run([*apt, "update"], folder)
    run([*apt, "source", "--only-source", package], folder)
    return next(path for path in folder.glob(f"{package}-*") if path.is_dir())


class Sqlite:
    """speedtest1: trained with its main set, measured with cte.

    Not with orm: its time is that of printing a long double, which doubles with the alignment of the stack.
    """
    name = "sqlite"
    options = ["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-w"]
    libraries = ["-lm"]

    def __init__(self, folder):
        tree = fetch(folder, "sqlite3")
        amalgamation = tree / "made"
        if not (amalgamation / "sqlite3.c").exists():
            amalgamation.mkdir(exist_ok=True)
            run(["../configure", "-q"], amalgamation)
            run(["make", "sqlite3.c"], amalgamation)
        self.sources = [amalgamation / "sqlite3.c", tree / "test" / "speedtest1.c"]
        self.includes = [f"-I{amalgamation}"]

    @staticmethod
    def train(program):
        return [[program, "--memdb", "--testset", "main", "--size", str(25 * TRAIN)]]

    @staticmethod
    def measure(program, scale=1):
        return [[program, "--memdb", "--testset", "cte", "--size", str(10 * scale)]]


class Lua:
    """The interpreter: trained with train.lua, measured with measure.lua."""
    name = "lua"
    options = ["-DLUA_USE_POSIX", "-w"]
    libraries = ["-lm"]

    def __init__(self, folder):
        tree = fetch(folder, "lua5.4") / "src"
        self.sources = sorted(path for path in tree.glob("*.c") if path.name != "luac.c")
        # Debian's header of paths, which its rules make.
        (folder / "lua5.4-deb-multiarch.h").write_text('#define DEB_HOST_MULTIARCH ""\n')
        self.includes = [f"-I{tree}", f"-I{folder}"]

    @staticmethod
    def train(program):
        return [[program, PROGRAMS / "train.lua", str(5 * TRAIN)]]

    @staticmethod
    def measure(program, scale=1):
        return [[program, PROGRAMS / "measure.lua", str(2 * scale)]]


class Builds:
    """The builds of one program, each beside the plain one of its compiler."""

    def __init__(self, commands, program, folder):
        self.ntprof = commands.ntprof
        self.program = program
        self.folder = folder
        self.made = {}  # name: (file, name of the plain build)
        folder.mkdir(parents=True, exist_ok=True)

    def compile(self, name, compiler, options, plain=None):
        output = self.folder / name.replace(" ", "-").replace(",", "")
        run([*compiler, *self.program.options, *options, *self.program.includes, *self.program.sources, "-o", output,
             *self.program.libraries], self.folder)
        self.made[name] = (output, plain or name)
        return output

    def train(self, program, under=(), environment=None):
        for words in self.program.train(program):
            run([*under, *words], self.folder, env=environment)

    def count(self, program, profile):
        """Profiles the training, the sum of its commands."""
        parts = []
        for index, words in enumerate(self.program.train(program)):
            parts.append(self.folder / f"part{index}.pb.gz")
            run([self.ntprof, "run", "-q", "-F", TRAIN_HZ, "-o", parts[-1], "--", *words], self.folder)
        run([self.ntprof, "merge", "-q", "-o", profile, *parts], self.folder)

    def export(self, form, profile, program, output):
        run([self.ntprof, "export", "--format", form, "--image", program.name, "-o", output, profile], self.folder)

    def with_clang(self):
        plain = self.compile("clang -O2", CLANG, [])
        profile = self.folder / "clang.pb.gz"
        self.count(plain, profile)

        ranges, sample = self.folder / "ranges.prof", self.folder / "profgen.prof"
        self.export("llvm-profgen", profile, plain, ranges)
        run(["llvm-profgen-16", f"--binary={plain}", f"--unsymbolized-profile={ranges}", "--use-offset=0",
             "--format=text", f"--output={sample}"], self.folder)
        self.compile("clang, llvm-profgen", CLANG, [f"-fprofile-sample-use={sample}"], "clang -O2")

        sample = self.folder / "sample.prof"
        self.export("llvm-sample", profile, plain, sample)
        self.compile("clang, llvm-sample", CLANG,
                     [f"-fprofile-sample-use={sample}", "-mllvm", "-sample-profile-use-profi"], "clang -O2")

        order = self.folder / "order.txt"
        self.export("symbol-order", profile, plain, order)
        self.compile("clang, symbol-order", CLANG, [f"-Wl,--symbol-ordering-file={order}"], "clang -O2")

        fdata, bolted = self.folder / "bolt.fdata", self.folder / "clang-bolt"
        self.export("bolt-fdata", profile, plain, fdata)
        run(["llvm-bolt-16", plain, f"-data={fdata}", "-o", bolted, "-reorder-blocks=ext-tsp",
             "-reorder-functions=hfsort", "-split-functions"], self.folder)
        self.made["clang, bolt-fdata"] = (bolted, "clang -O2")

        counted = self.compile("clang, counting", CLANG, ["-fprofile-generate"])
        del self.made["clang, counting"]
        raw = self.folder / "counted-%p.profraw"
        for old in self.folder.glob("*.profraw"):
            old.unlink()
        self.train(counted, environment={**os.environ, "LLVM_PROFILE_FILE": str(raw)})
        data = self.folder / "counted.profdata"
        run(["llvm-profdata-16", "merge", "-o", data, *self.folder.glob("*.profraw")], self.folder)
        self.compile("clang, instrumented", CLANG, [f"-fprofile-use={data}"], "clang -O2")

    def with_gcc(self):
        plain = self.compile("gcc -O2", GCC, [])
        profile, afdo = self.folder / "gcc.pb.gz", self.folder / "gcc.afdo"
        self.count(plain, profile)
        self.export("gcc-afdo", profile, plain, afdo)
        self.compile("gcc, gcc-afdo", GCC, [f"-fauto-profile={afdo}"], "gcc -O2")

        data = self.folder / "gcda"
        shutil.rmtree(data, ignore_errors=True)
        # gcc names the files of counts after its output, which both builds must share.
        self.compile("gcc, instrumented", GCC, ["-fprofile-generate", f"-fprofile-dir={data}",
                                                "-fprofile-update=single"], "gcc -O2")
        self.train(self.made["gcc, instrumented"][0])
        self.compile("gcc, instrumented", GCC, [f"-fprofile-use={data}", f"-fprofile-dir={data}",
                                                "-Wno-missing-profile"], "gcc -O2")

    def instructions(self, program):
        """valgrind of Debian 12 does not read all debug information of clang 16; strip breaks what BOLT wrote."""
        stripped = self.folder / "stripped"
        if program.name == "clang-bolt":
            shutil.copy(program, stripped)
        else:
            run(["strip", "-g", program, "-o", stripped], self.folder)
        counted = 0
        for words in self.program.measure(stripped):
            text = run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *words],
                       self.folder)
            counted += int(re.search(r"I +refs: +([\d,]+)", text)[1].replace(",", ""))
        return counted

    def time(self, program):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for words in self.program.measure(program, 2 if QUICK else 6):
            run(words, self.folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def show(self):
        results = turns({name: lambda f=path: self.time(f) for name, (path, _) in self.made.items()}, TURNS)
        counts = {name: self.instructions(path) for name, (path, _) in self.made.items()}
        for name, (_, plain) in self.made.items():
            if name != plain:
                show(f"{self.program.name}: {name}: instructions", [100 * (counts[name] / counts[plain] - 1)], "%")
                show(f"{self.program.name}: {name}: time",
                     [100 * (turn[name] / turn[plain] - 1) for turn in results], "%")


def figure_guided(commands):
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        say(f"left out, as not installed: {' '.join(missing)}; make check-long installs them")
        return
    say("more or less than the plain -O2 build of the same compiler, with other work than was trained; flags of clang: "
        + shlex.join(CLANG[1:]))
    folder = commands.kept.resolve() / "guided"
    folder.mkdir(parents=True, exist_ok=True)
    for kind in (Sqlite, Lua):
        builds = Builds(commands, kind(folder), folder / kind.name)
        builds.with_clang()
        builds.with_gcc()
        builds.show()
