# SPDX-License-Identifier: MIT
"""What start-up and names cost: processor time of a run beyond the bare command, less that of the hits themselves."""
import os
import pathlib
import shutil

import reading
from commands import NOBODY
from figures import QUICK, say, show, show_at_most, turns

HZ, FEW_HZ = 997, 10
TURNS = 1 if QUICK else 5
FIRST, LATER = ", at first", ""  # without what root keeps until the next boot, and with it
OWN_MS = {FIRST: 100, LATER: 40}  # at most
OF_PERF = {FIRST: 0.45, LATER: 0.3}  # of what perf record and perf report take
START_MS = {"--version": 2, "run -- true" + FIRST: 60, "run -- true": 25}
KERNEL_CACHE = pathlib.Path("/run/ntprof/kernel")


def forget():
    """As after a boot."""
    if os.geteuid() == 0:
        KERNEL_CACHE.unlink(missing_ok=True)


class Workload:
    """A command, bare and under each profiler, as one user."""

    def __init__(self, commands, name, command, uid=0):
        self.commands, self.name, self.command, self.uid = commands, name, command, uid
        self.actions = {
            "bare": lambda: commands.run(command, uid),
            "run" + FIRST: self.first,
            "run": lambda: self.run(HZ),
            "no lines": lambda: self.run(HZ, "--no-lines"),
            "no lines, few hits": lambda: self.run(FEW_HZ, "--no-lines"),
        }
        if commands.perf:
            self.actions |= {"record": self.record, "report": self.report}

    def run(self, hz, *options):
        return self.commands.run([self.commands.ntprof, "run", "-F", str(hz), "-o", f"names-{self.uid}.pb.gz", *options,
                                  "--", *self.command], self.uid)

    def first(self):
        forget()
        return self.run(HZ)

    def record(self):
        return self.commands.run([self.commands.perf, "record", "-q", "-o", f"names-{self.uid}.data", "-e",
                                  "cpu-clock", "-c", str(round(1e9 / HZ)), "--", *self.command], self.uid)

    def report(self):
        return self.commands.run([self.commands.perf, "report", "--stdio", "-i", f"names-{self.uid}.data"], self.uid,
                                 stdout="/dev/null")


def own_ms(turn, action):
    """Processor time beyond that of the bare command."""
    return (turn[action].cpu_ns - turn["bare"].cpu_ns) / 1e6


def hits_ms(turn):
    """That of the hits: of many less of few, without lines."""
    return own_ms(turn, "no lines") - own_ms(turn, "no lines, few hits")


def show_workload(workload):
    if workload.commands.perf:  # so that each turn has a file to report
        workload.record()
    results = turns(workload.actions, TURNS)
    name = workload.name
    show(f"{name}: run --no-lines", [own_ms(turn, "no lines") for turn in results], "ms")
    for when in FIRST, LATER:
        show(f"{name}: run{when}", [own_ms(turn, "run" + when) for turn in results], "ms")
        show_at_most(f"{name}: run{when}, less its hits",
                     [own_ms(turn, "run" + when) - hits_ms(turn) for turn in results], OWN_MS[when], "ms")
        show(f"{name}: wall time of run{when} beyond bare",
             [(turn["run" + when].wall_ns - turn["bare"].wall_ns) / 1e6 for turn in results], "ms")
    show(f"{name}: peak memory", [turn["run"].resident_bytes / 1e6 for turn in results], "MB")
    if not workload.commands.perf:
        return
    show(f"{name}: perf record", [own_ms(turn, "record") for turn in results], "ms")
    show(f"{name}: perf report", [turn["report"].cpu_ns / 1e6 for turn in results], "ms")
    for when in FIRST, LATER:
        show_at_most(f"{name}: run{when} / (perf record + report)",
                     [own_ms(turn, "run" + when) / (own_ms(turn, "record") + turn["report"].cpu_ns / 1e6)
                      for turn in results], OF_PERF[when])


def show_start(commands):
    def run():
        return commands.run([commands.ntprof, "run", "-o", "true.pb.gz", "--", "true"])

    def first():
        forget()
        return run()

    actions = {"true": lambda: commands.run(["true"]),
               "--version": lambda: commands.run([commands.ntprof, "--version"]),
               "run -- true" + FIRST: first,
               "run -- true": run}
    results = turns(actions, 4 * TURNS)
    for name, most in START_MS.items():
        show_at_most(f"`ntprof {name}` over `true`, wall",
                     [(turn[name].wall_ns - turn["true"].wall_ns) / 1e6 for turn in results], most, "ms")


def workloads(commands):
    yield "C, 2 s", commands.work_command(2)
    for python, what in (("python3-dbg", "Python built with -g"), ("/usr/bin/python3", "Debian's python3")):
        if shutil.which(python) is None:
            say(f"{what} is left out: {python} is not there")
        else:
            start = [python, str(reading.PYTHON_WORK)]
            yield f"{what}, 0.4 s", reading.Program(commands, what, start, 0.4).command
    yield "large, 0.4 s", reading.million_lines(commands, 0.4).command


def figure_names(commands):
    say(f"processor time of `ntprof run` at {HZ} Hz beyond the bare command, and of `perf record` and `perf report`.")
    say(f"less its hits: less what {HZ} Hz take beyond {FEW_HZ} Hz, without lines.")
    show_start(commands)
    users = [(0, "")] if os.geteuid() != 0 else [(0, ""), (NOBODY, ", as user")]
    for name, command in workloads(commands):
        for uid, who in users:
            show_workload(Workload(commands, name + who, command, uid))
