#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The benchmarks: what ntprof costs, beside perf and beside nothing.

usage: run.py --ntprof EXE --work EXE --measure EXE --drain EXE --calls EXE [FIGURE...]

Figures: cost growth drain calls table start shares; all if none is named. What is compared runs in turns
within one run, on the same work, and ratios are made within a turn. BENCH_QUICK=1 in the environment
makes runs short and few: to see that everything works, not to quote. BENCH_RECORD=FILE puts what is
printed into that document too (docs/performance.md has places for it). A figure that misses its aim
is printed as it is; the exit status is 1 only if something did not run.
"""
import argparse
import math
import os
import pathlib
import platform
import statistics
import sys

import figures
import shares
from commands import NOBODY, Commands, Failed
from figures import show, show_at_most, show_below, show_heading, tell

QUICK = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
RECORD = None if QUICK else os.environ.get("BENCH_RECORD")
TURNS = 2 if QUICK else 7
LONG_TURNS = 1 if QUICK else 3
START_TURNS = 5 if QUICK else 20
DRAIN_ROUNDS = 5 if QUICK else 41
CALL_TURNS = 2 if QUICK else 7
CALL_LIVES = (1, 1024, 16384)
CALL_LIMIT = 8192 * os.cpu_count()  # NT's, of started profiles
WORK_SECONDS = 0.3 if QUICK else 2.5
SHORT_SECONDS, LONG_SECONDS = (2, 6) if QUICK else (10, 60)
STORM_MS = 80
PROCESSORS = len(os.sched_getaffinity(0))


def name_rate(hz):
    return f"{hz // 1000} kHz"


def name_threads(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


def say(text):
    tell(f"  {text}")


def turns(actions, count):
    """Runs named actions in turns, every other turn in reverse; [{name: result}]."""
    results = []
    for turn in range(count):
        names = list(actions) if turn % 2 == 0 else list(reversed(actions))
        results.append({name: actions[name]() for name in names})
    return results


def ratios(results, measure, over="ntprof", under="perf"):
    return [measure(turn[over]) / measure(turn[under]) for turn in results]


# ---- cost: slowdown of the program, processor time of the profiler ----


def cost_one(commands, hz, threads):
    actions = {
        "bare": lambda: commands.run_bare(WORK_SECONDS, threads),
        "ntprof": lambda: commands.run_ntprof(hz, WORK_SECONDS, threads),
        "perf": lambda: commands.run_perf(hz, WORK_SECONDS, threads),
        "bare again": lambda: commands.run_bare(WORK_SECONDS, threads),
    }
    if not commands.perf:
        del actions["perf"]
    results = turns(actions, TURNS)
    what = f"{name_rate(hz)}, {name_threads(threads)}"

    def program(took):
        return took.work_wall_ns

    def profiler(took):
        return took.profiler_cpu_ns

    for turn in results:
        turn["bare"].work_wall_ns = (turn["bare"].work_wall_ns + turn["bare again"].work_wall_ns) / 2
    noise = statistics.median(abs(turn["bare again"].work_wall_ns / turn["bare"].work_wall_ns - 1)
                              for turn in results)
    show(f"slowdown, {what}: ntprof/bare", ratios(results, program, "ntprof", "bare"))
    for tool in ("ntprof", "perf") if commands.perf else ("ntprof",):
        show(f"program's time for each hit, {what}: {tool}",
             [(turn[tool].work_wall_ns - turn["bare"].work_wall_ns)
              / (turn[tool].work_wall_ns * hz / 1e9) / 1e3 for turn in results], "us")
    show(f"processor time of ntprof, {what}",
         [turn["ntprof"].profiler_cpu_ns / 1e6 for turn in results], "ms")
    if commands.perf:
        show(f"slowdown, {what}: perf/bare", ratios(results, program, "perf", "bare"))
        show(f"slowdown, {what}: ntprof/perf", ratios(results, program), "",
             f"<= 1.00 +{noise:.3f}", lambda median: median <= 1 + noise)
        show(f"processor time of perf record, {what}",
             [turn["perf"].profiler_cpu_ns / 1e6 for turn in results], "ms")
        show_below(f"processor time, {what}: ntprof/perf", ratios(results, profiler), 0.5)


def cost_as_user(commands, hz):
    """The profiler's time again, without the right to see the kernel: no names of it are read."""
    results = turns({
        "ntprof": lambda: commands.run_ntprof(hz, WORK_SECONDS, uid=NOBODY),
        "perf": lambda: commands.run_perf(hz, WORK_SECONDS, uid=NOBODY),
    }, TURNS)
    what = f"{name_rate(hz)}, as user {NOBODY}"

    for tool in ("ntprof", "perf"):
        show(f"processor time, {what}: {tool}",
             [turn[tool].profiler_cpu_ns / 1e6 for turn in results], "ms")
    show_below(f"processor time, {what}: ntprof/perf",
               ratios(results, lambda took: took.profiler_cpu_ns), 0.5)


def figure_cost(commands):
    say("slowdown: the program's own wall time. +n in the aim is the noise: half of how far two bare")
    say("runs of a turn lie apart. Processor time: all of the profiler but the program.")
    for hz in (1000, 10000):
        for threads in (1, 2):
            cost_one(commands, hz, threads)
        if commands.perf and os.geteuid() == 0:
            cost_as_user(commands, hz)


# ---- growth: bytes written and resident memory over time ----


def figure_growth(commands):
    say("written: all bytes through write calls, temporary files and standard error included.")
    hz, short, long = 10000, SHORT_SECONDS, LONG_SECONDS
    actions = {
        ("ntprof", short): lambda: commands.run_ntprof(hz, short),
        ("perf", short): lambda: commands.run_perf(hz, short),
        ("ntprof", long): lambda: commands.run_ntprof(hz, long),
        ("perf", long): lambda: commands.run_perf(hz, long),
    }
    if not commands.perf:
        actions = {key: action for key, action in actions.items() if key[0] != "perf"}
    results = turns(actions, LONG_TURNS)
    for seconds in (short, long):
        for tool in ("ntprof", "perf") if commands.perf else ("ntprof",):
            show(f"written in {seconds} s at {name_rate(hz)}: {tool}",
                 [turn[tool, seconds].written_bytes / 1e3 for turn in results], "kB")
        if commands.perf:
            show_below(f"written in {seconds} s at {name_rate(hz)}: ntprof/perf",
                       ratios(results, lambda took: took.written_bytes, ("ntprof", seconds),
                              ("perf", seconds)), 0.05)
    show_at_most(f"growth of ntprof's bytes, {long} s / {short} s",
                 ratios(results, lambda took: took.written_bytes, ("ntprof", long),
                        ("ntprof", short)), 1.2)
    for seconds in (short, long):
        show(f"resident memory of ntprof in {seconds} s",
             [turn["ntprof", seconds].resident_bytes / 1e6 for turn in results], "MB")
    show_at_most(f"growth of ntprof's memory, {long} s / {short} s",
                 ratios(results, lambda took: took.resident_bytes, ("ntprof", long),
                        ("ntprof", short)), 1.05)


# ---- drain: what a hit costs, and whether any is lost ----


def drain_costs(commands):
    """{storm: [ns a hit]} of the program in drain.c."""
    text = commands.folder / "drain.txt"
    commands.run([commands.drain, str(DRAIN_ROUNDS), str(STORM_MS)], stdout=text)
    costs = {}
    for line in text.read_text().splitlines():
        kind, hits, ns = line.split()
        hits, ns = int(hits.partition("=")[2]), int(ns.partition("=")[2])
        if hits > 0:
            costs.setdefault(kind, []).append(ns / hits)
    return costs


def figure_drain(commands):
    for kind, costs in drain_costs(commands).items():
        show_at_most(f"drain cost of a hit, storm by {kind}", costs, 20, "ns")
    books = [commands.ntprof_json(10000, SHORT_SECONDS / 2, PROCESSORS)["sources"][0]
             for _ in range(LONG_TURNS)]
    for key in ("taken", "throttled", "missed"):
        show(f"hits {key} at 10 kHz, {PROCESSORS} processors busy", [book[key] for book in books])
    show(f"hits lost at 10 kHz, {PROCESSORS} processors busy", [book["lost"] for book in books], "",
         "none", lambda _: all(book["lost"] == 0 for book in books))


# ---- calls: what create, start, stop and close cost while many profiles are started ----


def call_costs(commands, memory, processes, lives):
    """{(pair of calls, live): [ns in each turn]} of the program in calls.c."""
    text = commands.folder / "calls.txt"
    commands.run([commands.calls, str(CALL_TURNS), memory, str(processes), *map(str, lives)],
                 stdout=text)
    costs = {}
    for line in text.read_text().splitlines():
        pair, live, ns = line.split()
        key = pair, int(live.partition("=")[2])
        costs.setdefault(key, []).append(int(ns.partition("=")[2]))
    return costs


def calls_one(commands, memory, processes):
    lives = [live for live in CALL_LIVES if live <= CALL_LIMIT]
    costs = call_costs(commands, memory, processes, lives)
    few, many = lives[-2:]
    doublings = math.log2(many / few)
    bound = math.log2(many) / math.log2(few)
    where = f"{memory}, {processes:,} process{'es' if processes > 1 else ''}"
    for pair in ("create-close", "start-stop"):
        for live in lives:
            show(f"{pair}, {where}, {live:,} live", costs[pair, live], "ns")
        growths = [after / before for before, after in zip(costs[pair, few], costs[pair, many])]
        show_at_most(f"{pair}, {where}: {many:,} / {few:,} live", growths, round(bound, 2))
        show(f"{pair}, {where}: for each doubling", [growth ** (1 / doublings) for growth in growths])
    for call in ("start", "stop"):
        show_below(f"{call} alone, {where}, {many:,} live", [ns / 1e3 for ns in costs[call, many]], 40, "us")
    show_below(f"{many:,} starts, then as many stops, {where}",
               [(starts + stops) / 1e9 for starts, stops in zip(costs["all-start", many], costs["all-stop", many])],
               2, "s")


def figure_calls(commands):
    say("both calls of a pair together, on the simulated machine, among so many started profiles.")
    say("shared: buffers of ntprof_buffer_alloc, a page each; slices: pages of one such buffer.")
    say("pages: whole pages of the caller's own, each another profile's; plain: 16 bytes each.")
    say("the aim is what growth with the logarithm of their number comes to, at the most.")
    for memory, processes in (("shared", 1), ("slices", 1), ("pages", 1), ("plain", 1), ("shared", 1000)):
        calls_one(commands, memory, processes)


# ---- table: from command to finished table ----


def table_one(commands, hz):
    actions = {
        "bare": lambda: commands.run_bare(WORK_SECONDS),
        "ntprof": lambda: commands.run_ntprof(hz, WORK_SECONDS),
        "perf": lambda: commands.run_perf(hz, WORK_SECONDS).then(commands.run_perf_report()),
    }
    if not commands.perf:
        del actions["perf"]
    results = turns(actions, TURNS)
    rate = name_rate(hz)
    tools = [tool for tool in ("ntprof", "perf") if tool in actions]

    for tool in tools:
        show(f"to the table at {rate}, whole: {tool}",
             [turn[tool].wall_ns / 1e6 for turn in results], "ms")
    for tool in tools:
        show(f"to the table at {rate}, beyond bare: {tool}",
             [(turn[tool].wall_ns - turn["bare"].wall_ns) / 1e6 for turn in results], "ms")
    for tool in tools:
        show(f"to the table at {rate}, beside the program's run: {tool}",
             [turn[tool].beyond_work_ns / 1e6 for turn in results], "ms")
    if commands.perf:
        show(f"to the table at {rate}, whole: ntprof/perf",
             ratios(results, lambda took: took.wall_ns))
        show_below(f"to the table at {rate}, beyond bare: ntprof/perf",
                   [(turn["ntprof"].wall_ns - turn["bare"].wall_ns)
                    / max(turn["perf"].wall_ns - turn["bare"].wall_ns, 1) for turn in results], 0.5)
        show_below(f"to the table at {rate}, beside the program's run: ntprof/perf",
                   ratios(results, lambda took: took.beyond_work_ns), 0.5)
        show(f"processor time to the table at {rate}: ntprof/perf",
             ratios(results, lambda took: took.profiler_cpu_ns))


def figure_table(commands):
    say(f"wall time of `ntprof run` against `perf record` and `perf report --stdio`, on {WORK_SECONDS} s")
    say("of work. whole: all of it. beyond bare: less a bare run of the same turn, so the program's")
    say("slowdown is in it. beside the program's run: less that run's own time in the program.")
    say("processor time: of the profilers alone, recording and reporting.")
    for hz in (1000, 10000):
        table_one(commands, hz)


# ---- start: the least that a run costs ----


def start_one(commands, uid, who):
    def bare():
        return commands.run(["true"], uid)

    def ntprof():
        return commands.run([commands.ntprof, "run", "-o", f"true-{uid}.pb.gz", "--", "true"], uid)

    results = turns({"bare": bare, "ntprof": ntprof}, START_TURNS)
    show(f"`true` {who}", [turn["bare"].wall_ns / 1e6 for turn in results], "ms")
    show_at_most(f"`ntprof run -- true` over `true` {who}",
                 [(turn["ntprof"].wall_ns - turn["bare"].wall_ns) / 1e6 for turn in results], 30,
                 "ms")


def figure_start(commands):
    if os.geteuid() != 0:
        start_one(commands, 0, f"as user {os.geteuid()}")
        say("not root: the other kind of user is left out")
        return
    start_one(commands, 0, "as root")
    start_one(commands, NOBODY, f"as user {NOBODY}")


# ---- shares: does it say what perf says? ----


def shares_one(commands, hz):
    results = turns({
        "perf": lambda: shares.of_perf(commands.perf_samples(hz, WORK_SECONDS)),
        "ntprof": lambda: shares.of_ntprof(commands.ntprof_json(hz, WORK_SECONDS)),
        "perf again": lambda: shares.of_perf(commands.perf_samples(hz, WORK_SECONDS)),
    }, TURNS)
    apart = [shares.distance(turn["perf"], turn["perf again"]) for turn in results]
    ours = [(shares.distance(turn["ntprof"], turn["perf"])
             + shares.distance(turn["ntprof"], turn["perf again"])) / 2 for turn in results]
    rate = name_rate(hz)
    show(f"distance of shares at {rate}, perf to perf", [100 * value for value in apart], "%")
    show(f"distance of shares at {rate}, ntprof to perf", [100 * value for value in ours], "%")
    between = statistics.median(ours) / max(statistics.median(apart), 1e-9)
    show_at_most(f"distance of shares at {rate}: ratio of the medians", [between], 1.5)


def figure_shares(commands):
    if not commands.perf:
        say("no perf: nothing to compare with")
        return
    say("half the sum over all functions of the difference of their shares; names as each tool tells.")
    for hz in (1000, 10000):
        shares_one(commands, hz)


FIGURES = {"cost": figure_cost, "growth": figure_growth, "drain": figure_drain,
           "calls": figure_calls, "table": figure_table, "start": figure_start, "shares": figure_shares}


def read_line(path, key):
    try:
        for line in pathlib.Path(path).read_text().splitlines():
            if line.startswith(key):
                return line[len(key):].strip(" \t:")
    except OSError:
        pass
    return "unknown"


def show_machine(commands):
    rate = read_line("/proc/sys/kernel/perf_event_max_sample_rate", "")
    tell(f"{read_line('/proc/cpuinfo', 'model name')}, {PROCESSORS} processors, Linux "
         f"{platform.release().partition('-')[0]}, perf_event_max_sample_rate {rate}, "
         f"load {os.getloadavg()[0]:.2f} before{', QUICK: not to be quoted' if QUICK else ''}")
    if not commands.perf:
        tell("perf is not there (package linux-perf): what compares with it is left out")


def run_figure(commands, name):
    figures.printed.clear()
    show_machine(commands)
    show_heading()
    try:
        FIGURES[name](commands)
    except Failed as failure:
        print(f"{name}: {failure}", flush=True)
        return False
    if RECORD:
        figures.record(RECORD, name)
    return True


def main():
    parser = argparse.ArgumentParser()
    for name in ("ntprof", "work", "measure", "drain", "calls"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    parser.add_argument("figures", nargs="*", choices=[*FIGURES, []], metavar="FIGURE")
    options = parser.parse_args()

    commands = Commands(options.ntprof, options.work, options.measure)
    commands.drain, commands.calls = options.drain, options.calls
    names = options.figures or list(FIGURES)
    failed = False
    try:
        if names != ["calls"]:
            commands.calibrate()
            if commands.perf:
                commands.run_perf(1000, WORK_SECONDS)  # fills perf's cache of images
        for name in names:
            failed = not run_figure(commands, name) or failed
    finally:
        commands.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
