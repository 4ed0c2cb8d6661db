# SPDX-License-Identifier: MIT
"""What reading a profile of a large program costs, beside perf: names, source lines, what is inlined."""
import json
import pathlib
import shutil
import sys

from figures import QUICK, say, show, show_below, turns

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "programs"))
import million  # noqa: E402

HZ = 4000  # perf's own
TURNS = 1 if QUICK else 3
WORK_SECONDS = 0.5 if QUICK else 3
LIMIT_SECONDS = 10 if QUICK else 120  # for a report by source line of perf's
UNITS = 20 if QUICK else 411
BY_FUNCTION, BY_LINE = "by function", "by line"
AIMS = {BY_FUNCTION: 0.5, BY_LINE: 0.02}
PYTHON_WORK = pathlib.Path(__file__).resolve().parent / "programs" / "python_work.py"


class Program:
    """A program, and how many rounds of its work take so many seconds of processor time."""

    def __init__(self, commands, name, start, seconds=WORK_SECONDS):
        self.commands, self.name, self.start = commands, name, start
        self.rounds = self._calibrate(seconds)

    def _calibrate(self, seconds):
        rounds, took = 1, None
        while took is None or took.work_cpu_ns < 500_000_000:
            rounds *= 4
            took = self.commands.run([*self.start, str(rounds)])
        return max(1, round(rounds * seconds * 1e9 / took.work_cpu_ns))

    @property
    def command(self):
        return [*self.start, str(self.rounds)]


class Reading:
    """The commands of one turn. perf's report by line is not tried again once it hit the limit."""

    def __init__(self, commands, program):
        self.commands, self.program = commands, program
        self.cut = None
        self.actions = {
            "run": lambda: self.run("reading.pb.gz"),
            "run --no-lines": lambda: self.run("no-lines.pb.gz", "--no-lines"),
            (BY_FUNCTION, "ntprof"): lambda: self.report("reading.pb.gz"),
            ("no lines", "ntprof"): lambda: self.report("no-lines.pb.gz"),
            (BY_LINE, "ntprof"): lambda: self.report("reading.pb.gz", "--by", "line"),
        }
        if commands.perf:
            self.actions |= {
                "record": self.record,
                (BY_FUNCTION, "perf"): lambda: self.perf_report("symbol"),
                (BY_LINE, "perf"): self.perf_lines,
            }

    def run(self, profile, *options):
        return self.commands.run([self.commands.ntprof, "run", "-q", "-F", str(HZ), "-o", profile, *options, "--",
                                  *self.program.command])

    def record(self):
        return self.commands.run([self.commands.perf, "record", "-q", "-o", "reading.data", "-e", "cpu-clock", "-c",
                                  str(round(1e9 / HZ)), "--", *self.program.command])

    def report(self, profile, *options):
        return self.commands.run([self.commands.ntprof, "report", *options, profile], stdout="/dev/null")

    def perf_report(self, key, limit_s=None):
        return self.commands.run([self.commands.perf, "report", "--stdio", "-i", "reading.data", "--sort", key],
                                 stdout="/dev/null", limit_s=limit_s)

    def perf_lines(self):
        if self.cut is not None:
            return self.cut
        took = self.perf_report("srcline", LIMIT_SECONDS)
        if took.cut:
            self.cut = took
        return took

    def begin(self):
        """Files for turns that begin with a report, perf's cache of images, and how many places there are."""
        for action in ("run", "run --no-lines", "record"):
            if action in self.actions:
                self.actions[action]()
        text = self.commands.folder / "places.json"
        self.commands.run([self.commands.ntprof, "report", "--by", "address", "--rows", "0", "--json",
                           "reading.pb.gz"], stdout=text)
        return len(json.loads(text.read_text())["rows"])


def show_tools(what, values, aim, bound=""):
    """Rows of both tools and of their ratio. values: {tool: ([value in each turn], unit)}."""
    for tool, (numbers, unit) in values.items():
        show(f"{what}, {tool}", numbers, unit)
    if len(values) == 2:
        ours, theirs = (numbers for numbers, _ in values.values())
        show_below(f"{what}, ntprof/perf{bound}", [one / other for one, other in zip(ours, theirs)], aim)


def show_reading(program, results, by, tools):
    what = f"{by}, {program.name}"
    first = {"ntprof": "run", "perf": "record"}
    bound = ", at most" if any(turn[by, tool].cut for turn in results for tool in tools) else ""

    def of(measure):
        return {tool: ([measure(turn, tool) for turn in results]) for tool in tools}

    def with_unit(numbers, scale, unit):
        return {tool: ([value / scale for value in values], unit) for tool, values in numbers.items()}

    def wall(turn, tool):
        return turn[by, tool].wall_ns

    def both_cpu(turn, tool):
        report = turn[by, tool]
        # What was stopped was waited for all the time, and reported nothing of the processes that it had started.
        return turn[first[tool]].profiler_cpu_ns + (report.wall_ns if report.cut else report.cpu_ns)

    def memory(turn, tool):
        return turn[by, tool].resident_bytes

    def both_memory(turn, tool):
        return max(turn[first[tool]].resident_bytes, turn[by, tool].resident_bytes)

    show_tools(f"{what}: report", with_unit(of(wall), 1e6, "ms"), AIMS[by], bound)
    show_tools(f"{what}: both", with_unit(of(both_cpu), 1e6, "ms"), AIMS[by], bound)
    show_tools(f"{what}: memory, report", with_unit(of(memory), 1e6, "MB"), 1, bound)
    show_tools(f"{what}: memory, both", with_unit(of(both_memory), 1e6, "MB"), 1, bound)


def show_no_lines(program, results, tools):
    """What names alone cost, as perf's report by function needs no more."""
    what = f"{BY_FUNCTION}, {program.name}: both, --no-lines"
    ours = [turn["run --no-lines"].profiler_cpu_ns + turn["no lines", "ntprof"].cpu_ns for turn in results]
    show(f"{what}, ntprof", [value / 1e6 for value in ours], "ms")
    if "perf" in tools:
        theirs = [turn["record"].profiler_cpu_ns + turn[BY_FUNCTION, "perf"].cpu_ns for turn in results]
        show_below(f"{what}, ntprof/perf", [one / other for one, other in zip(ours, theirs)], AIMS[BY_FUNCTION])
    show(f"{BY_FUNCTION}, {program.name}: memory, both, --no-lines, MB",
         [turn["run --no-lines"].resident_bytes / 1e6 for turn in results])


def read_one(commands, program):
    reading = Reading(commands, program)
    say(f"{program.name}: {reading.begin():,} places in the profile")
    results = turns(reading.actions, TURNS)
    tools = ["ntprof", "perf"] if commands.perf else ["ntprof"]
    show_reading(program, results, BY_FUNCTION, tools)
    show_no_lines(program, results, tools)
    show_reading(program, results, BY_LINE, tools)
    if reading.cut is not None:
        say(f"perf report --sort srcline of {program.name} was stopped after {LIMIT_SECONDS} s, and not tried again")


def large_programs(commands):
    python = shutil.which("python3-dbg")
    if python is None:
        say("python3-dbg is left out: it is not there (package python3-dbg)")
    else:
        if not pathlib.Path("/usr/lib/debug/.build-id").is_dir():
            say("libc has no debug information here (package libc6-dbg)")
        yield Program(commands, "python3-dbg", [python, str(PYTHON_WORK)])
    yield million_lines(commands, WORK_SECONDS)


def million_lines(commands, seconds):
    path = commands.kept.resolve() / f"million-{UNITS}"
    lines = million.make(path, UNITS, commands.compiler)
    say(f"large: a program of {lines:,} source lines in {UNITS} units, built with -g")
    return Program(commands, "large", [str(path)], seconds)


def figure_reading(commands):
    say(f"profiles of {WORK_SECONDS} s of processor time at {HZ:,} Hz. report: wall time of `ntprof report` against")
    say("`perf report --stdio --sort symbol`, or `srcline`. both: processor time of `ntprof run` and report,")
    say("less the program's own, against `perf record` and report: ntprof names what was hit at the end of a run,")
    say("with lines and what is inlined, perf in each report. --no-lines: with names alone.")
    for program in large_programs(commands):
        read_one(commands, program)
