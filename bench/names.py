# SPDX-License-Identifier: MIT
"""What start-up and names cost: processor time of a run beyond that of the command, and what it waits for them."""
import os
import pathlib
import selectors
import shutil
import subprocess
import sys
import time

import reading
from commands import NEW_RUN, NOBODY, Failed
from figures import QUICK, say, show, show_at_most, turns

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "programs"))
import templates  # noqa: E402

HZ = 997
C_SECONDS, SECONDS = 2, 0.4  # of work; the others are larger, and have as many functions hit in less time
UNITS = 2 if QUICK else 46  # of C++, for 100 MB of debug sections
TURNS = 1 if QUICK else 5
FIRST, LATER = ", at first", ""  # without what earlier commands kept, and with it
OWN_MS = {FIRST: 100, LATER: 40}  # at most
OF_PERF = {FIRST: 0.45, LATER: 0.3}  # of what perf record and perf report take
TABLE_MS, PROMPT_MS = 50, 250  # from the end of the command, at first
IN_KERNEL = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=1000"]  # some ms, most of them in the kernel
START_MS = {FIRST: 60, LATER: 25}
VERSION_MS = 2
# Of the largest process, with step 2 of docs/decisions/0025-keep-the-kernels-functions-until-the-next-boot.md.
PEAK_MB = {"Debian's Python": 39, "Python -g": 45, "C++": 92}
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
KERNEL_CACHE = pathlib.Path("/run/ntprof/kernel")


def forget(commands, uid=0):
    """What ntprof keeps, as on a new machine after its boot. Linux still has the files in memory."""
    commands.run([commands.ntprof, "cache", "clear"], uid)
    if os.geteuid() == 0:
        KERNEL_CACHE.unlink(missing_ok=True)


class Waited:
    """How long after the end of a command the table came, and the prompt."""

    def __init__(self, command, folder):
        self.ended = self.table = None
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=folder, env=os.environ | NEW_RUN) as run:
            self._read(run)
            run.wait()
        self.prompt = time.monotonic()
        if run.returncode != 0 or self.ended is None or self.table is None:
            raise Failed(f"{' '.join(command)}: exit status {run.returncode}")

    def _read(self, run):
        """Until both streams have ended. A command's last line is that of its work; a table ends with a sum."""
        with selectors.DefaultSelector() as selector:
            for stream in run.stdout, run.stderr:
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select():
                    text = os.read(key.fd, 1 << 16)
                    if not text:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is run.stdout:
                        self.ended = time.monotonic()
                    elif b" in all" in text and self.table is None:
                        self.table = time.monotonic()

    @property
    def table_ms(self):
        return (self.table - self.ended) * 1e3

    @property
    def prompt_ms(self):
        return (self.prompt - self.ended) * 1e3


class Workload:
    """A command, bare and under each profiler, as one user."""

    def __init__(self, commands, name, command, uid=0):
        self.commands, self.name, self.command, self.uid = commands, name, command, uid
        self.actions = {
            "bare": lambda: commands.run(command, uid),
            "run" + FIRST: self.first,
            "run": self.run,
            "no lines": lambda: self.run("--no-lines"),
        }
        if uid == 0:
            self.actions["waited"] = self.wait
        if commands.perf:
            self.actions |= {"record": self.record, "report": self.report}

    def run_command(self, *options):
        return [self.commands.ntprof, "run", "-F", str(HZ), "-o", f"names-{self.uid}.pb.gz", *options, "--",
                *self.command]

    def run(self, *options):
        return self.commands.run(self.run_command(*options), self.uid)

    def first(self):
        forget(self.commands, self.uid)
        return self.run()

    def wait(self):
        forget(self.commands, self.uid)
        return Waited(self.run_command(), self.commands.folder)

    def record(self):
        return self.commands.run([self.commands.perf, "record", "-q", "-o", f"names-{self.uid}.data", "-e",
                                  "cpu-clock", "-c", str(round(1e9 / HZ)), "--", *self.command], self.uid)

    def report(self):
        return self.commands.run([self.commands.perf, "report", "--stdio", "-i", f"names-{self.uid}.data"], self.uid,
                                 stdout="/dev/null")


def all_ms(turn, action):
    """Processor time beyond that of the bare command, hits included."""
    return (turn[action].cpu_ns - turn["bare"].cpu_ns) / 1e6


def own_ms(turn, action):
    """The same less what the program itself took, which is interrupted by hits, and by other work on the machine."""
    return (turn[action].profiler_cpu_ns - turn["bare"].profiler_cpu_ns) / 1e6


def show_ratios(name, results, what, measure):
    for when in FIRST, LATER:
        show_at_most(f"{name}: run{when} / perf, {what}",
                     [measure(turn, "run" + when) / (measure(turn, "record") + turn["report"].cpu_ns / 1e6)
                      for turn in results], OF_PERF[when])


def show_peak(name, megabytes):
    """Of the largest process: a reader, or the program if that is larger."""
    what, most = f"{name}: peak memory of the largest process", PEAK_MB.get(name.partition(",")[0])
    if most is None:
        show(what, megabytes, "MB")
    else:
        show_at_most(what, megabytes, most, "MB")


def show_workload(workload):
    if workload.commands.perf:  # so that each turn has a file to report
        workload.record()
    results = turns(workload.actions, TURNS)
    name = workload.name
    show(f"{name}: run --no-lines, own", [own_ms(turn, "no lines") for turn in results], "ms")
    for when in FIRST, LATER:
        show_at_most(f"{name}: run{when}, own", [own_ms(turn, "run" + when) for turn in results], OWN_MS[when], "ms")
        show(f"{name}: run{when}, with hits", [all_ms(turn, "run" + when) for turn in results], "ms")
    if "waited" in workload.actions:
        show_at_most(f"{name}: from its end to the table{FIRST}", [turn["waited"].table_ms for turn in results],
                     TABLE_MS, "ms")
        show_at_most(f"{name}: from its end to the prompt{FIRST}", [turn["waited"].prompt_ms for turn in results],
                     PROMPT_MS, "ms")
    show_peak(name, [turn["run"].resident_bytes / 1e6 for turn in results])
    if not workload.commands.perf:
        return
    show(f"{name}: perf record, own", [own_ms(turn, "record") for turn in results], "ms")
    show(f"{name}: perf report", [turn["report"].cpu_ns / 1e6 for turn in results], "ms")
    show_ratios(name, results, "own", own_ms)
    show_ratios(name, results, "with hits", all_ms)


def show_start(commands):
    """What a start costs, and with hits in the kernel, which have to be named."""
    def run():
        return commands.run([commands.ntprof, "run", "-F", str(HZ), "-o", "start.pb.gz", "--", *IN_KERNEL])

    def first():
        forget(commands)
        took = run()
        if os.geteuid() == 0 and not KERNEL_CACHE.exists():
            raise Failed(f"{' '.join(IN_KERNEL)} had no hit in the kernel's own code: {KERNEL_CACHE} was not written")
        return took

    actions = {"true": lambda: commands.run(["true"]),
               "--version": lambda: commands.run([commands.ntprof, "--version"]),
               "dd": lambda: commands.run(IN_KERNEL),
               "run" + FIRST: first,
               "run": run}
    results = turns(actions, 4 * TURNS)
    show_at_most("`ntprof --version` over `true`, wall",
                 [(turn["--version"].wall_ns - turn["true"].wall_ns) / 1e6 for turn in results], VERSION_MS, "ms")
    for when, most in START_MS.items():
        show_at_most(f"`ntprof run -- dd` over `dd`, wall{when}",
                     [(turn["run" + when].wall_ns - turn["dd"].wall_ns) / 1e6 for turn in results], most, "ms")


def workloads(commands):
    yield "C", commands.work_command(C_SECONDS)
    for python, what in (("python3-dbg", "Python -g"), ("/usr/bin/python3", "Debian's Python")):
        if shutil.which(python) is None:
            say(f"{what} is left out: {python} is not there")
        else:
            start = [python, str(reading.PYTHON_WORK)]
            yield what, reading.Program(commands, what, start, SECONDS).command
    for what, make in (("C++", make_templates), ("Rust", make_rust)):
        start = make(commands)
        if start is not None:
            yield what, reading.Program(commands, what, start, SECONDS).command


def make_templates(commands):
    compiler = shutil.which("g++")
    if compiler is None:
        say("C++ is left out: g++ is not there")
        return None
    path = commands.kept.resolve() / f"templates-{UNITS}"
    size = templates.make(path, UNITS, compiler)
    say(f"C++: {UNITS} units with {size / 1e6:.0f} MB of debug sections")
    return [str(path)]


def make_rust(commands):
    compiler = shutil.which("rustc")
    path = commands.kept.resolve() / "rust_work"
    if compiler is None or subprocess.run([compiler, "-O", "-g", "-o", path, PROGRAMS / "rust_work.rs"], check=False,
                                          stderr=subprocess.DEVNULL).returncode != 0:
        say("Rust is left out: rustc is not there or does not work")
        return None
    return [str(path)]


def figure_names(commands):
    say(f"processor time of `ntprof run` at {HZ} Hz beyond the bare command, and of `perf record` and `perf report`.")
    say("own: without the program's time by its own account, in which hits interrupt it. at first: with nothing kept.")
    say(f"perf: record and report. C works for {C_SECONDS} s, the others for {SECONDS}. A user has no kernel hits.")
    if not pathlib.Path("/usr/lib/debug/.build-id").is_dir():
        say("libc and Debian's Python have no debug information here (packages libc6-dbg and python3.11-dbg)")
    show_start(commands)
    users = [(0, "")] if os.geteuid() != 0 else [(0, ""), (NOBODY, ", as user")]
    for name, command in workloads(commands):
        for uid, who in users:
            show_workload(Workload(commands, name + who, command, uid))
