# SPDX-License-Identifier: MIT
"""stacks: how many stacks are whole, and what -g costs, beside `perf record --call-graph dwarf`."""
import gzip
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time
import zlib

import reading
from commands import NOBODY, Failed
from figures import QUICK, say, show, show_at_most, turns

HZ = 997
TURNS = 2 if QUICK else 7
TIME_TURNS = 2 if QUICK else 20  # of the program's time, which varies most
FEW_TURNS = 1 if QUICK else 3  # where the spread is small
HITS = 500 if QUICK else 5000  # of each of Debian's programs, at least
TRIES = 4  # to have as many
COST_SECONDS = 1 if QUICK else 3
SYSTEM_SECONDS = 2 if QUICK else 4
SHORT_SECONDS, LONG_SECONDS = (2, 6) if QUICK else (10, 60)
PEAK_SECONDS = 10  # until ever new stacks of the deepest kind have filled the default's bound of calls
SHALLOW, DEEP, DEEPEST = 1, 40, 64  # calls
FEW_CONTEXTS = 4096
OTHER_CALLERS = "[other callers]"
MB = 1e6
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
US_EACH = 10  # of own processor time that -g may add for a hit, and for an address
SAMPLE, LOCATION, STRING = 2, 4, 6  # fields of a profile
LOCATION_MAPPING = 2  # field of a location
NOT_WHOLE = re.compile(r"\[(cut |stack not|no unwind|unwind rules|deeper|callers not|other callers)")

QUERY = ("with recursive c(i) as (select 1 union all select i + 1 from c where i < 300000) "
         "select count(*), sum(i * i % 7), group_concat(i % 10, '') from c group by i % 100")


def repeated(command):
    """A shell's words that repeat a command; the number of times follows."""
    return ["sh", "-c", f"i=0; while [ $i -lt \"$1\" ]; do {command} || exit; i=$((i + 1)); done", "sh"]


class Program:
    """A program that is not ours, repeated for some seconds of processor time. whole: the aim in percent, or None."""

    def __init__(self, commands, name, needs, command, whole=None):
        self.commands, self.name, self.needs, self.whole = commands, name, needs, whole
        self.start = command if isinstance(command, list) else repeated(command)
        self.rounds_a_second = None

    def missing(self):
        return shutil.which(self.needs) is None

    def calibrate(self):
        rounds, took = 1, None
        while took is None or took.cpu_ns < 500_000_000:
            rounds *= 2
            took = self.commands.run([*self.start, str(rounds)], stdout="/dev/null")
        self.rounds_a_second = rounds * 1e9 / took.cpu_ns

    def profile(self, seconds):
        if self.rounds_a_second is None:
            self.calibrate()
        self.commands.run([self.commands.ntprof, "run", "-q", "-g", "-F", str(HZ), "-o", "whole.pb.gz", "--",
                           *self.start, str(math.ceil(self.rounds_a_second * seconds))], stdout="/dev/null")
        return "whole.pb.gz"


class SortsWithMusl(Program):
    """A program of ours, if it can be built."""

    def __init__(self, commands):
        super().__init__(commands, "musl", "musl-gcc", [str(commands.folder / "sorts")])

    def calibrate(self):
        self.commands.run(["musl-gcc", "-O2", "-o", *self.start, str(PROGRAMS / "sorts.c")])
        super().calibrate()


class Redis:
    """redis-server, which another program loads."""

    name, needs, whole = "redis", "redis-server", 97

    def __init__(self, commands):
        self.commands = commands

    def missing(self):
        return any(shutil.which(program) is None for program in ("redis-server", "redis-benchmark"))

    @staticmethod
    def cpu_seconds(socket):
        told = subprocess.run(["redis-cli", "-s", socket, "info", "cpu"], capture_output=True, text=True, check=True)
        return sum(float(value) for value in re.findall(r"used_cpu_(?:user|sys):([0-9.]+)", told.stdout))

    def profile(self, seconds):
        socket = str(self.commands.folder / "redis.socket")
        with subprocess.Popen([self.commands.ntprof, "run", "-q", "-g", "-F", str(HZ), "-o", "whole.pb.gz", "--",
                               "redis-server", "--port", "0", "--unixsocket", socket, "--save", ""],
                              stdout=subprocess.DEVNULL, cwd=self.commands.folder) as server:
            for _ in range(100):
                if os.path.exists(socket):
                    break
                time.sleep(0.1)
            while self.cpu_seconds(socket) < seconds:  # it waits for who loads it half of the time
                subprocess.run(["redis-benchmark", "-s", socket, "-n", "20000", "-q", "-t",
                                "set,get,lpush,sadd,zadd,mset"], stdout=subprocess.DEVNULL, check=True)
            subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=False)
        return "whole.pb.gz"


def programs(commands):
    large = commands.folder / "large"
    large.write_bytes(pathlib.Path(commands.ntprof).read_bytes())
    source = commands.folder / "source"
    shutil.copytree(pathlib.Path(__file__).resolve().parent.parent / "src", source / "src")
    git = ["git", "-C", str(source), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "bench"], check=True)
    yield Program(commands, "python3", "/usr/bin/python3", ["/usr/bin/python3", str(reading.PYTHON_WORK)], 97)
    yield Program(commands, "sqlite3", "sqlite3", f"sqlite3 :memory: \"{QUERY}\"", 97)
    yield Program(commands, "git", "git", f"git -C {source} log -p --stat", 97)
    yield Program(commands, "xz", "xz", f"xz -6 -c {large}", 97)
    yield Program(commands, "zstd", "zstd", f"zstd -15 -q -c {large}", 97)
    yield Redis(commands)
    yield Program(commands, "gcc", "/usr/bin/gcc", f"/usr/bin/gcc -O2 -S -o - {unit_of_gcc(commands)}", 94)
    yield Program(commands, "rustc", "rustc", f"rustc -O --crate-name work --emit=obj -o {commands.folder}/work.o "
                  f"{PROGRAMS / 'rust_work.rs'}")
    yield Program(commands, "Go (gofmt)", "gofmt", f"gofmt -l {source_of_go() / 'net' / 'http'}")
    yield Program(commands, "node", "node", ["node", str(PROGRAMS / "node_work.js")])
    yield SortsWithMusl(commands)


def source_of_go():
    """Beside the programs of Go."""
    return pathlib.Path(os.path.realpath(shutil.which("gofmt") or "/")).parent.parent / "src"


def unit_of_gcc(commands):
    """A unit of some thousand lines that needs no header of ours."""
    path = commands.folder / "unit.c"
    functions = []
    for number in range(60):
        functions.append(f"""
static unsigned mix_{number}(unsigned *values, unsigned count)
{{
    unsigned sum = {number};
    for (unsigned i = 0; i < count; i++) {{
        if (values[i] % {number + 3} == 1) sum += values[i] << ({number} % 7);
        else if (values[i] > sum) values[i] ^= sum * {number * 7 + 1}u;
        else switch (values[i] % 5) {{
        case 0: sum -= i; break;
        case 1: sum ^= values[i]; break;
        case 3: values[(i + 1) % count] += sum; break;
        default: sum = sum * 31 + values[i];
        }}
    }}
    return sum;
}}
""")
    calls = "".join(f"    sum += mix_{number}(values, count);\n" for number in range(60))
    path.write_text("".join(functions) + f"unsigned all(unsigned *values, unsigned count)\n{{\n    unsigned sum = 0;\n"
                    f"{calls}    return sum;\n}}\n")
    return path


def stacks_of(commands, profile):
    """[(frames, hits)], the outermost frame first."""
    text = commands.folder / "folded"
    commands.run([commands.ntprof, "export", "--format", "folded", profile], stdout=text)
    stacks = []
    for line in text.read_text(errors="replace").splitlines():
        frames, _, hits = line.rpartition(" ")
        stacks.append((frames.split(";")[1:], int(hits)))
    return stacks


def long_enough(commands, program):
    """Stacks of a profile of the program that has as many hits as are wanted, if that can be had."""
    seconds, stacks = HITS / HZ, []
    for _ in range(TRIES):
        seconds *= 1.1 * HITS / (hits_of(stacks) or HITS)
        stacks = stacks_of(commands, program.profile(seconds))
        if hits_of(stacks) >= HITS:
            break
    return stacks


def hits_of(stacks):
    return sum(count for _, count in stacks)


def share(stacks, wanted):
    """How many hits have frames as wanted, in percent."""
    return 100 * hits_of(stack for stack in stacks if wanted(stack[0])) / hits_of(stacks)


def is_whole(frames):
    return not NOT_WHOLE.match(frames[0])


def has_caller(frames):
    return is_whole(frames) or len(frames) > 2


def show_share(name, percents, least):
    if least is None:
        show(name, percents, "%")
    else:
        show(name, percents, "%", f">= {least}", lambda median: median >= least)


def show_whole(commands):
    say(f"hits at {HZ} Hz, 16 kB of stack: with a whole stack, and with at least the first caller, %.")
    for program in programs(commands):
        if program.missing():
            say(f"{program.name} is left out: {program.needs} is not there")
            continue
        try:
            profiles = [long_enough(commands, program) for _ in range(FEW_TURNS)]
        except Failed as failure:
            if program.whole is not None:
                raise
            say(f"{program.name} is left out: {failure}")
            continue
        hits = [hits_of(stacks) for stacks in profiles]
        show(f"{program.name}: hits", hits, "", f">= {HITS}", lambda _, least=min(hits): least >= HITS)
        show_share(f"{program.name}: whole", [share(stacks, is_whole) for stacks in profiles], program.whole)
        show_share(f"{program.name}: first caller", [share(stacks, has_caller) for stacks in profiles],
                   None if program.whole is None else 99)


def nest(commands, depth, seconds):
    """The words that work so long at the end of stacks of this depth."""
    took = commands.run([commands.nest, str(depth), "20000"])
    return [commands.nest, str(depth), str(max(1, round(20000 * seconds * 1e9 / took.work_cpu_ns)))]


def run(commands, command, *options, uid=0, profile="stacks"):
    return commands.run([commands.ntprof, "run", "-q", "-F", str(HZ), "-o", f"{profile}-{uid}.pb.gz", *options, "--",
                         *command], uid)


def record(commands, command):
    return commands.run([commands.perf, "record", "-q", "-o", "stacks.data", "-e", "cpu-clock", "-c",
                         str(round(1e9 / HZ)), "--call-graph", "dwarf", "--", *command])


def hits_and_addresses(commands, profile):
    """Hits, and how many addresses were hit or called from: each needs a rule and a name. Ends of stacks, which are
    locations without a mapping, are none."""
    text = commands.folder / "rows.json"
    commands.run([commands.ntprof, "report", "--json", profile], stdout=text)
    return (json.loads(text.read_text())["sources"][0]["counted"],
            sum(number == LOCATION and any(number == LOCATION_MAPPING for number, _, _ in fields_in(contents))
                for number, _, contents in fields_of(commands.folder / profile)))


def show_cost(commands):
    say(f"{COST_SECONDS} s of work at {HZ} Hz, {DEEP} calls deep: -g beside flat, and beside perf.")
    work = nest(commands, DEEP, COST_SECONDS)
    python = reading.Program(commands, "python3", ["/usr/bin/python3", str(reading.PYTHON_WORK)], COST_SECONDS).command
    for name, command in (("deep", work), ("python3", python)):
        actions = {"flat": lambda command=command: run(commands, command, profile="flat"),
                   "stacks": lambda command=command: run(commands, command, "-g")}
        if commands.perf:
            actions["record"] = lambda command=command: record(commands, command)
            actions["report"] = lambda: commands.run([commands.perf, "report", "--stdio", "-i", "stacks.data"],
                                                     stdout="/dev/null")
            record(commands, command)
        results = turns(actions, TURNS)
        hits, addresses = hits_and_addresses(commands, "stacks-0.pb.gz")
        say(f"{name}: {hits:,} hits, {addresses:,} addresses that were hit or called from: -g may add {US_EACH} us of "
            f"own time for each of both, {(hits + addresses) * US_EACH / 1e3:.0f} ms")
        more = turns({tool: actions[tool] for tool in ("flat", "stacks")}, TIME_TURNS - TURNS)
        times = [turn["stacks"].work_cpu_ns / turn["flat"].work_cpu_ns for turn in results + more]
        show(f"{name}: program's time, -g / flat", times)
        show_at_most(f"{name}: that, mean and two standard errors",
                     [statistics.mean(times) + 2 * statistics.stdev(times) / math.sqrt(len(times))], 1.01)
        show_at_most(f"{name}: own time added by -g / (hits + addresses)",
                     [(turn["stacks"].profiler_cpu_ns - turn["flat"].profiler_cpu_ns) / 1e3 / (hits + addresses)
                      for turn in results], US_EACH, "us")
        show(f"{name}: own processor time, flat", [turn["flat"].profiler_cpu_ns / 1e6 for turn in results], "ms")
        show(f"{name}: own processor time, -g", [turn["stacks"].profiler_cpu_ns / 1e6 for turn in results], "ms")
        show(f"{name}: peak memory, -g", [turn["stacks"].resident_bytes / MB for turn in results], "MB")
        if commands.perf:
            show(f"{name}: perf record and report", [
                (turn["record"].profiler_cpu_ns + turn["report"].cpu_ns) / 1e6 for turn in results], "ms")
            show_at_most(f"{name}: processor time, ntprof -g / perf record and report", [
                turn["stacks"].profiler_cpu_ns / (turn["record"].profiler_cpu_ns + turn["report"].cpu_ns)
                for turn in results], 0.3)
        show(f"{name}: written, -g", [turn["stacks"].written_bytes / 1e3 for turn in results], "kB")


def system(commands, tool, work):
    if tool == "ntprof":
        profiler = [commands.ntprof, "system", "-q", "-g", "-F", str(HZ), "-o", "system.pb.gz", "--duration", "1h"]
    else:
        profiler = [commands.perf, "record", "-q", "-a", "-o", "system.data", "-e", "cpu-clock", "-c",
                    str(round(1e9 / HZ)), "--call-graph", "dwarf"]
    return commands.run_beside(profiler, work)


def show_system(commands):
    if os.geteuid() != 0 or not commands.perf:
        say("the machine is left out: it needs root and perf")
        return
    for name, depth in (("shallow", SHALLOW), ("deep", DEEP)):
        work = nest(commands, depth, SYSTEM_SECONDS)
        results = turns({tool: lambda tool=tool: system(commands, tool, work) for tool in ("ntprof", "perf")}, TURNS)
        show(f"system, {name}: ntprof system -g", [turn["ntprof"].cpu_ns / 1e6 for turn in results], "ms")
        show(f"system, {name}: perf record -a", [turn["perf"].cpu_ns / 1e6 for turn in results], "ms")
        show_at_most(f"system, {name}: ntprof / perf record",
                     [turn["ntprof"].cpu_ns / turn["perf"].cpu_ns for turn in results], 0.5)


def varint(data, at):
    number, shift = 0, 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def fields_in(data):
    """(number, bytes, contents) of each field of a message; numbers have no contents."""
    at = 0
    while at < len(data):
        begin = at
        key, at = varint(data, at)
        value, at = varint(data, at)
        contents = data[at:at + value] if key & 7 == 2 else b""
        at += len(contents)
        yield key >> 3, data[begin:at], contents


def fields_of(path):
    return fields_in(gzip.decompress(path.read_bytes()))


def bytes_of_row(path):
    """What a profile's file has of each row beside its strings: (bytes, rows)."""
    rows, rest = 0, bytearray()
    for number, field, _ in fields_of(path):
        rows += number == SAMPLE
        rest += field if number != STRING else b""
    return len(zlib.compress(bytes(rest))) / rows, rows


def resident(pid):
    """Memory of a command and of its readers in kB; what they share is counted once."""
    try:
        memory = re.search(r"Pss:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text())
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        names = {child: pathlib.Path(f"/proc/{child}/comm").read_text() for child in children}
    except OSError:
        return 0
    return int(memory.group(1) if memory else 0) + sum(
        resident(child) for child, name in names.items() if name.startswith("ntprof"))


def require_full(commands, profile):
    if all(frames[0] != OTHER_CALLERS for frames, _ in stacks_of(commands, profile)):
        raise Failed(f"{profile}: no stack has given its callers up, so the bound was not reached")


def watch(commands, command, look, *options):
    """Calls look with the process and the seconds since its start, until ntprof run has ended."""
    begun = time.monotonic()
    with subprocess.Popen([commands.ntprof, "run", "-q", "-F", str(HZ), *options, "--", *command],
                          stdout=subprocess.DEVNULL, cwd=commands.folder) as started:
        while started.poll() is None:
            look(started.pid, time.monotonic() - begun)
            time.sleep(0.05)
    if started.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit status {started.returncode} of ntprof run")


def peak_of_all(commands, command, profile, *options):
    """The most memory of ntprof run and its readers together, in MB."""
    peaks = []
    watch(commands, command, lambda pid, _: peaks.append(resident(pid)), "-o", profile, *options)
    return max(peaks) / 1e3


def watch_growth(commands):
    """Of one run that writes its file again and again: (seconds since the start, kB of the file, MB of memory)."""
    path, early = commands.folder / "growth.pb.gz", commands.folder / "early.pb.gz"
    seen = {}  # by the file's identity

    def look(pid, seconds):
        try:
            file = path.stat()
        except FileNotFoundError:
            return
        seen.setdefault((file.st_ino, file.st_mtime_ns), (seconds, file.st_size / 1e3, resident(pid) / 1e3))
        if not early.exists() and seconds > SHORT_SECONDS / 2:
            shutil.copyfile(path, early)

    watch(commands, nest(commands, DEEP, LONG_SECONDS + SHORT_SECONDS / 2), look, "-g", "--contexts", str(FEW_CONTEXTS),
          "--every", "100ms", "-o", path.name)
    for profile in early, path:
        require_full(commands, profile)
    return list(seen.values())


def show_growth(commands):
    """One pair of files would be judged by chance: a full table has three quarters of the bound to all of it, and with
    many calls a stack goes from one to the other many times a second. So medians of many lengths are compared."""
    seen = watch_growth(commands)
    sizes, memory = {}, {}
    for around in SHORT_SECONDS, LONG_SECONDS:
        near = [(kb, mb) for seconds, kb, mb in seen if abs(seconds - around) <= SHORT_SECONDS / 2]
        if not near:
            raise Failed(f"no file was written around {around} s")
        sizes[around] = show(f"file, around {around} s", [kb for kb, _ in near], "kB")
        memory[around] = max(mb for _, mb in near)
    short, long = SHORT_SECONDS, LONG_SECONDS
    show_at_most(f"peak memory, {long} s / {short} s", [memory[long] / memory[short]], 1.05)
    show_at_most(f"file, {long} s / {short} s", [sizes[long] / sizes[short]], 1.05)


def show_peak(commands):
    say(f"peak memory at the default's bound, which {DEEPEST} calls a stack reach in {PEAK_SECONDS} s.")
    command = nest(commands, DEEPEST, PEAK_SECONDS)
    results = turns({"flat": lambda: peak_of_all(commands, command, "flat.pb.gz"),
                     "stacks": lambda: peak_of_all(commands, command, "full.pb.gz", "-g")}, FEW_TURNS)
    require_full(commands, "full.pb.gz")
    show_at_most("peak memory of command and readers, -g over flat",
                 [turn["stacks"] - turn["flat"] for turn in results], 64, "MB")


def show_rows(commands):
    command = nest(commands, DEEP, SHORT_SECONDS)
    path = commands.folder / "rows-0.pb.gz"
    sizes = []
    for _ in range(FEW_TURNS):
        run(commands, command, "-g", profile="rows")
        sizes.append(bytes_of_row(path))
    say(f"file of {SHORT_SECONDS} s, {DEEP} calls: {path.stat().st_size:,} bytes, {sizes[-1][1]:,} rows")
    show_at_most("file, of a row beside strings, bytes", [each for each, _ in sizes], 25)


def show_bound(commands):
    say(f"contexts without end ({DEEP} calls, each by one of two ways) in {FEW_CONTEXTS} contexts, files of many "
        "lengths.")
    show_growth(commands)
    show_peak(commands)
    show_rows(commands)


def show_user(commands):
    """Two busy processors, as an ordinary user."""
    uid = NOBODY if os.geteuid() == 0 else os.geteuid()
    both = ["sh", "-c", '"$@" & "$@"; wait', "sh", *nest(commands, DEEP, COST_SECONDS)]
    text = commands.folder / "user.json"
    lost = []
    for _ in range(FEW_TURNS):
        run(commands, both, "-g", uid=uid, profile="user")
        commands.run([commands.ntprof, "report", "--json", f"user-{uid}.pb.gz"], stdout=text)
        lost.append(json.loads(text.read_text())["sources"][0]["lost"])
    show("lost as an ordinary user, two busy processors", lost, "", "each 0", lambda _: max(lost) == 0)


def figure_stacks(commands):
    show_whole(commands)
    show_cost(commands)
    show_system(commands)
    show_bound(commands)
    show_user(commands)
