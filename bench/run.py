#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The benchmarks: what ntprof costs, beside perf and beside nothing.

usage: run.py --ntprof EXE --work EXE --measure EXE --drain EXE --calls EXE --hits EXE --walk EXE
              --breakpoint EXE --rows EXE --storm EXE --folder FOLDER --compiler COMMAND [FIGURE...]

Figures: cost growth drain calls hits whole delay system table start shares reading large page places
lost guided agent preload names stacks; all if none is named.
FOLDER keeps a large program that is compiled once, by COMMAND. What is compared runs in
turns within one run, on the same work, and ratios are made within a turn. In the
environment: BENCH_QUICK=1 makes runs short and few: to see that everything works, not to quote;
BENCH_SECONDS=N is how long the machine is watched, for tries too; BENCH_HALS=perf leaves out back
ends; BENCH_RECORD=FILE puts what is printed into that document too (docs/performance.md has places for
it). A figure that misses its aim is printed as it is; the exit status is 1 only if something did not run.
"""
import argparse
import math
import os
import pathlib
import platform
import shlex
import statistics
import sys
import time

import agent
import figures
import guided
import large
import lost
import names
import page
import preload
import reading
import shares
import stacks
from commands import NOBODY, Commands, Failed, read_rows
from figures import QUICK, ratios, say, show, show_at_most, show_below, show_heading, tell, turns

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
SYSTEM_SECONDS = float(os.environ.get("BENCH_SECONDS", "4" if QUICK else "60"))
HALS = os.environ.get("BENCH_HALS", "bpf,perf").split(",")
HIT_PROFILES = (1, 64, 1024, 16384)
HIT_LIMITS = {1: 60, 64: 200, 1024: 300, 16384: 1000}  # ns, of the BPF program
MATCHES = (16, 256)
BREAKPOINT_CALLS = 4000 if QUICK else 20000
DELAY_CALLS = 5 if QUICK else 40
# From a hit to the caller's memory at the latest, and 50 for the machine to run our thread.
DELAYS_MS = {("bpf", "shared"): 0, ("bpf", "own"): 200, ("perf", "shared"): 300, ("perf", "own"): 200}
SYSTEM_TURNS = 1 if QUICK else 3
STORM_MS = 80
PROCESSORS = len(os.sched_getaffinity(0))
CLOCK_REALTIME_COARSE = 5


def name_rate(hz):
    return f"{hz // 1000} kHz"


def name_threads(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


def usable(commands):
    """The back ends that count here; why another does not is said."""
    works = []
    for hal in HALS:
        try:
            commands.run([commands.breakpoint, "cost", hal, "1"])
            works.append(hal)
        except Failed as failure:
            say(f"hal/{hal} is left out: {failure}")
    return works


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
    statistics = [commands.ntprof_json(10000, SHORT_SECONDS / 2, PROCESSORS)["sources"][0]
             for _ in range(LONG_TURNS)]
    for key in ("taken", "throttled", "missed"):
        show(f"hits {key} at 10 kHz, {PROCESSORS} processors busy", [book[key] for book in statistics])
    show(f"hits lost at 10 kHz, {PROCESSORS} processors busy", [book["lost"] for book in statistics], "",
         "none", lambda _: all(book["lost"] == 0 for book in statistics))


# ---- calls: what create, start, stop and close cost while many profiles are started ----


def call_costs(commands, hal, memory, processes, lives, count):
    """{(pair of calls, live): [ns in each turn]} of the program in calls.c."""
    text = commands.folder / "calls.txt"
    commands.run([commands.calls, hal, str(count), memory, str(processes), *map(str, lives)],
                 stdout=text)
    costs = {}
    for pair, row in read_rows(text):
        costs.setdefault((pair, row["live"]), []).append(row["ns"])
    return costs


def show_latency(costs, where, live):
    for call in ("start", "stop"):
        show_below(f"{call} alone, {where}, {live:,} live", [ns / 1e3 for ns in costs[call, live]], 40, "us")
    show_below(f"{live:,} starts, then as many stops, {where}",
               [(starts + stops) / 1e9 for starts, stops in zip(costs["all-start", live], costs["all-stop", live])],
               2, "s")


def calls_one(commands, memory, processes):
    lives = [live for live in CALL_LIVES if live <= CALL_LIMIT]
    costs = call_costs(commands, "sim", memory, processes, lives, CALL_TURNS)
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
    show_latency(costs, where, many)


def calls_real(commands, hal, memory):
    """The same on the real machine, whose events run: the first start opens them, the last stop closes."""
    most = min(CALL_LIVES[-1], CALL_LIMIT)
    costs = call_costs(commands, hal, memory, 1, (1, most), LONG_TURNS)
    for call in ("start", "stop"):
        show(f"{call} alone, hal/{hal}, {memory}, the only one", [ns / 1e3 for ns in costs[call, 1]], "us")
    show_latency(costs, f"hal/{hal}, {memory}", most)


def figure_calls(commands):
    say("both calls of a pair together, on the simulated machine, among so many started profiles.")
    say("shared: buffers of ntprof_buffer_alloc, a page each; slices: pages of one such buffer.")
    say("pages: whole pages of the caller's own, each another profile's; plain: 16 bytes each.")
    say("the aim is what growth with the logarithm of their number comes to, at the most.")
    for memory, processes in (("shared", 1), ("slices", 1), ("pages", 1), ("plain", 1), ("shared", 1000)):
        calls_one(commands, memory, processes)
    for hal in usable(commands):
        for memory in ("shared", "pages", "plain"):
            calls_real(commands, hal, memory)


# ---- hits: what a hit costs among many profiles ----


def hit_costs(commands, hal, shape, profiles):
    """{(kind, profiles): ns a hit, ("matches", profiles): counters for a hit} of the program in hits.c."""
    text = commands.folder / "hits.txt"
    commands.run([commands.hits, hal, shape, *map(str, profiles)], stdout=text)
    costs = {}
    for kind, row in read_rows(text):
        if row["hits"] > 0:
            costs.setdefault((kind, row["profiles"]), []).append(row["ns"] / row["hits"])
        if row["hits"] > 0 and kind not in ("empty", "direct"):
            costs.setdefault(("matches", row["profiles"]), []).append(row["matches"] / row["hits"])
    # The first storm of several touches fresh memory.
    return {key: statistics.median(values[1:] or values) for key, values in costs.items()}


def hit_turns(commands, hals, shape, profiles):
    """[{hal: {profiles: ns a hit}}]; of a BPF program, what it takes more than an empty one."""
    results = turns({hal: lambda hal=hal: hit_costs(commands, hal, shape, profiles)
                     for hal in hals}, TURNS)
    for result in results:
        if "bpf" in result:
            costs = result["bpf"]
            result["empty"] = {count: costs["empty", count] for count in profiles}
            result["matches"] = {count: costs["matches", count] for count in profiles}
            result["bpf"] = {count: costs["bpf", count] - costs["empty", count] for count in profiles}
            result["direct"] = {count: costs["direct", count] - costs["empty", count]
                                for count in profiles if ("direct", count) in costs}
        if "perf" in result:
            result["perf"] = {count: result["perf"]["perf", count] for count in profiles}
    return results


def hits_spread(commands, hals):
    results = hit_turns(commands, hals, "spread", HIT_PROFILES)
    for count in HIT_PROFILES if "bpf" in hals else ():
        show(f"empty program, jumps in {count:,} regions", [result["empty"][count] for result in results], "ns")
    for count in HIT_PROFILES if "bpf" in hals else ():
        show_at_most(f"BPF program less an empty one, {count:,} profiles",
                     [result["bpf"][count] for result in results], HIT_LIMITS[count], "ns")
    for count in HIT_PROFILES if "bpf" in hals else ():
        show(f"counting without a search, {count:,} counters", [result["direct"][count] for result in results], "ns")
    for count in HIT_PROFILES if "bpf" in hals else ():
        show(f"what the search and the statistics add, {count:,} profiles",
             [result["bpf"][count] - result["direct"][count] for result in results], "ns")
    if "bpf" in hals:
        show("of these hits were in a profile, all rows",
             [100 * share for result in results for share in result["matches"].values()], "%")
    for count in HIT_PROFILES if "perf" in hals else ():
        show(f"delivery by hal/perf, {count:,} profiles", [result["perf"][count] for result in results], "ns")
    for count in HIT_PROFILES if len(hals) == 2 else ():
        show_at_most(f"delivery / BPF program, {count:,} profiles",
                     [result["perf"][count] / result["bpf"][count] for result in results], 1.0)


def hits_same(commands, hals):
    few, many = MATCHES
    results = hit_turns(commands, hals, "same", MATCHES)
    for hal, what in (("bpf", "BPF program"), ("perf", "delivery by hal/perf")):
        if hal in hals:
            show_at_most(f"{what}, each further matching profile",
                         [(result[hal][many] - result[hal][few]) / (many - few) for result in results],
                         30, "ns")


def hits_walk(commands):
    text = commands.folder / "walk.txt"
    ratio = []
    for _ in range(TURNS):
        commands.run([commands.walk, str(HIT_PROFILES[-1]), "200000", "500"], stdout=text)
        cost = {kind: row["ns"] / row["hits"] for kind, row in read_rows(text)}
        ratio.append(cost["walk"] / cost["core"])
    show(f"walk over {HIT_PROFILES[-1]:,} profiles / the core's routine", ratio, "", "> 100",
         lambda median: median > 100)


def figure_hits(commands):
    say("a worker jumps at random among the regions of all profiles, hit by the clock at 20 kHz: cold hits.")
    say("BPF: the kernel's own time of the program; less an empty one's in the same work, as most of that is")
    say("the kernel's two readings of the clock. Counting without a search: a program that is given the process")
    say("it is and where its counter is, so the least that there is to do. Delivery: processor time of")
    say("ntprof_session_poll.")
    hals = usable(commands)
    hits_spread(commands, hals)
    hits_same(commands, hals)
    hits_walk(commands)


# ---- whole: all of a hit's handling ----


def breakpoint_cost(commands, how):
    """{"ns": of the program, "own": of the profiler} for a hit, of the program in breakpoint.c."""
    row = commands.run([commands.breakpoint, "cost", how, str(BREAKPOINT_CALLS)]).work
    if row["hits"] != row["calls"]:
        raise Failed(f"{how} counted {row['hits']} hits of {row['calls']}")
    return {"ns": row["batch_ns"] / row["batch"], "own": row.get("delivery_ns", 0) / row["calls"]}


def breakpoint_perf(commands):
    """The same of perf record, but its own time: that of so few hits is lost in that of its start and end."""
    row = commands.run([commands.perf, "record", "-q", "-o", "breakpoint.data", "-c", "1", "-e",
                        "mem:0x10000000:x", "--", commands.breakpoint, "cost", "none",
                        str(BREAKPOINT_CALLS)]).work
    return {"ns": row["batch_ns"] / row["batch"]}


def figure_whole(commands):
    say("each call of a function is a hit, by an execution breakpoint at interval 1: the program's time")
    say("for a call, and the profiler's own. bare: an event that nobody reads. All is processor time.")
    hals = usable(commands)
    actions = {"bare": lambda: breakpoint_cost(commands, "event")}
    actions |= {hal: lambda hal=hal: breakpoint_cost(commands, hal) for hal in hals}
    if commands.perf:
        actions["perf record"] = lambda: breakpoint_perf(commands)
    results = turns(actions, TURNS)
    names = {"bare": "bare event", "bpf": "ntprof, hal/bpf", "perf": "ntprof, hal/perf"}
    for key in actions:
        show(f"program's time for a hit: {names.get(key, key)}", [result[key]["ns"] / 1e3 for result in results],
             "us")
        if key in hals:
            show(f"own processor time for a hit: {names[key]}",
                 [result[key]["own"] / 1e3 for result in results], "us")
    for hal in hals if commands.perf else ():
        show_below(f"all for a hit: hal/{hal} / perf record without its own",
                   [sum(result[hal].values()) / result["perf record"]["ns"] for result in results], 1.0)


# ---- delay: when the caller's memory shows a hit ----


def figure_delay(commands):
    say("from the return of a function that was hit to the caller's counter showing it. shared: counters")
    say("of ntprof_buffer_alloc; own: four counters in memory of the caller's own.")
    for hal in usable(commands):
        for memory in ("shared", "own"):
            text = commands.folder / "delay.txt"
            commands.run([commands.breakpoint, "delay", hal, memory, str(DELAY_CALLS)], stdout=text)
            delays = [row["ns"] / 1e6 for _, row in read_rows(text)]
            bound = DELAYS_MS[hal, memory]
            show(f"hit to visible, hal/{hal}, {memory}", delays, "ms",
                 "same instant" if bound == 0 else f"each <= {bound}",
                 lambda _: max(delays) <= bound)


# ---- system: the whole machine for a minute ----


def system_actions(commands, hz, seconds):
    work = commands.work_command(seconds, PROCESSORS)
    actions = {"bare": lambda: commands.run(work)}
    command = [commands.ntprof, "system", "-F", str(hz), "-o", "system.pb.gz"]
    actions["ntprof"] = lambda: commands.run_beside(command, work)
    if commands.perf:
        actions["perf record"] = lambda: system_perf(commands, hz, work)
    return actions


def system_perf(commands, hz, work):
    """perf record of the machine, and beside its own times that of the report, which finds the names."""
    took = commands.run_beside([commands.perf, "record", "-q", "-a", "-o", "system.data", "-e", "cpu-clock",
                                "-c", str(round(1e9 / hz))], work)
    report = commands.run([commands.perf, "report", "--stdio", "-i", "system.data"], stdout="/dev/null")
    took.work["report_ns"] = report.cpu_ns
    return took


def figure_system(commands):
    if os.geteuid() != 0:
        say("not root: the machine is left out")
        return
    say(f"{SYSTEM_SECONDS:.0f} s of work on all processors while the machine is profiled at 10 kHz; the profilers'")
    say("own processor time and all bytes that they write, with names for ntprof and without for perf.")
    say("Each further second: what the whole watch takes more than one of a third of the time.")
    actions = system_actions(commands, 10000, SYSTEM_SECONDS)
    results = turns(actions, SYSTEM_TURNS)
    shorter = system_actions(commands, 10000, SYSTEM_SECONDS / 3)
    del shorter["bare"]
    shorter = turns(shorter, SYSTEM_TURNS)
    names = {"ntprof": "ntprof system"} | ({"perf record": "perf record -a"} if commands.perf else {})
    for tool, name in names.items():
        show(f"slowdown: {name}", ratios(results, lambda took: took.work_wall_ns, tool, "bare"))
        show(f"processor time: {name}", [result[tool].cpu_ns / 1e6 for result in results], "ms")
        show(f"written: {name}", [result[tool].written_bytes / 1e3 for result in results], "kB")
    if commands.perf:
        show("processor time: perf report",
             [result["perf record"].work["report_ns"] / 1e6 for result in results], "ms")
    further = {tool: [(long[tool].cpu_ns - short[tool].cpu_ns) / (long[tool].work_wall_ns - short[tool].work_wall_ns)
                      for long, short in zip(results, shorter)] for tool in names}
    for tool, name in names.items():
        show(f"each further second: {name}", [1e3 * cost for cost in further[tool]], "ms")
    if commands.perf:
        show_below("each further second: ntprof / perf record",
                   [own / perf for own, perf in zip(further["ntprof"], further["perf record"])], 0.1)
        slowdowns = ratios(results, lambda took: took.work_wall_ns, "ntprof", "perf record")
        noise = (max(slowdowns) - min(slowdowns)) / 2
        show("slowdown: ntprof / perf record", slowdowns, "", f"<= 1.00 +{noise:.3f}",
             lambda median, noise=noise: median <= 1 + noise)
        show_below("processor time: ntprof / perf record",
                   ratios(results, lambda took: took.cpu_ns, "ntprof", "perf record"), 0.1)
        show("processor time: ntprof / perf record and report",
             [result["ntprof"].cpu_ns / (result["perf record"].cpu_ns + result["perf record"].work["report_ns"])
              for result in results])
        show_below("written: ntprof / perf record",
                   ratios(results, lambda took: took.written_bytes, "ntprof", "perf record"), 0.01)


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


def start_of_one_file(commands):
    """Of the ntprof that is one file, if `make static` has built it beside this build."""
    build = pathlib.Path(commands.ntprof).resolve().parent.parent
    file = build.with_name(build.name + "-static") / "tool" / "ntprof"
    if not file.exists():
        say(f"no {file} (make static): the one file is left out")
        return
    results = turns({"bare": lambda: commands.run(["true"], 0),
                     "version": lambda: commands.run([file, "--version"], 0),
                     "run": lambda: commands.run([file, "run", "-o", "one.pb.gz", "--", "true"], 0)}, START_TURNS)
    show_at_most("size of the one file", [file.stat().st_size / 1e6], 16, "MB")
    show("one file: processor time of `ntprof --version` over `true`",
         [(turn["version"].cpu_ns - turn["bare"].cpu_ns) / 1e6 for turn in results], "ms")
    show_at_most("one file: `ntprof run -- true` over `true`",
                 [(turn["run"].wall_ns - turn["bare"].wall_ns) / 1e6 for turn in results], 30, "ms")


def figure_start(commands):
    start_of_one_file(commands)
    if os.geteuid() != 0:
        start_one(commands, 0, f"as user {os.geteuid()}")
        say("not root: the other kind of user is left out")
        return
    start_one(commands, 0, "as root")
    start_one(commands, NOBODY, f"as user {NOBODY}")


# ---- shares: does it say what perf says? ----


def shares_one(commands, hz, rate, threads=1, options=(), event="cpu-clock"):
    def perf():
        return shares.of_perf(commands.perf_samples(hz, WORK_SECONDS, threads, event))

    def ntprof():
        return shares.of_ntprof(commands.ntprof_json(hz, WORK_SECONDS, threads, options))

    results = turns({"perf": perf, "ntprof": ntprof, "perf again": perf}, TURNS)
    apart = [shares.distance(turn["perf"], turn["perf again"]) for turn in results]
    ours = [(shares.distance(turn["ntprof"], turn["perf"])
             + shares.distance(turn["ntprof"], turn["perf again"])) / 2 for turn in results]
    show(f"distance of shares at {rate}, perf to perf", [100 * value for value in apart], "%")
    show(f"distance of shares at {rate}, ntprof to perf", [100 * value for value in ours], "%")
    between = statistics.median(ours) / max(statistics.median(apart), 1e-9)
    show_at_most(f"distance of shares at {rate}: ratio of the medians", [between], 1.5)


def figure_shares(commands):
    if not commands.perf:
        say("no perf: nothing to compare with")
        return
    say("half the sum over all functions of the difference of their shares; names as each tool prints.")
    for hz in (1000, 10000):
        shares_one(commands, hz, name_rate(hz))
    say("by timers: in user mode, at the rate of the kernel's tick.")
    hz = round(1 / time.clock_getres(CLOCK_REALTIME_COARSE))
    for threads in (1, 2 * PROCESSORS):
        shares_one(commands, hz, f"{hz} Hz by timers, {name_threads(threads)}", threads, ("--hal", "timer"),
                   "cpu-clock:u")


# ---- places: what a counter for each byte of code takes in memory ----


def places_actions(commands, bucket):
    """{command: action} with these words for --bucket; top in a terminal of its own."""
    work = commands.work_command(WORK_SECONDS, PROCESSORS)
    actions = {"run": lambda: commands.run_ntprof(10000, WORK_SECONDS, PROCESSORS, bucket)}
    if os.geteuid() == 0:
        options = ["-F", "10000", *bucket]
        top = shlex.join([commands.ntprof, "top", "--duration", f"{WORK_SECONDS}s", *options])
        actions["system"] = lambda: commands.run_beside(
            [commands.ntprof, "system", "-o", "places.pb.gz", *options], work)
        actions["top"] = lambda: commands.run(["env", "TERM=vt100", "script", "-qec", top, "/dev/null"],
                                              stdout="/dev/null")
    return actions


def figure_places(commands):
    say("peak resident memory with buckets of one byte, the default, and of four.")
    four = places_actions(commands, ("--bucket", "4"))
    one = places_actions(commands, ())
    for name in one:
        results = turns({"one byte": one[name], "four bytes": four[name]}, LONG_TURNS)
        for size in ("one byte", "four bytes"):
            show(f"peak of {name}, buckets of {size}",
                 [turn[size].resident_bytes / 1e6 for turn in results], "MB")
        show_at_most(f"peak of {name}: one byte / four bytes",
                     ratios(results, lambda took: took.resident_bytes, "one byte", "four bytes"), 1.3)


FIGURES = {"cost": figure_cost, "growth": figure_growth, "drain": figure_drain,
           "calls": figure_calls, "hits": figure_hits, "whole": figure_whole, "delay": figure_delay,
           "system": figure_system, "table": figure_table, "start": figure_start, "shares": figure_shares,
           "reading": reading.figure_reading, "large": large.figure_large, "page": page.figure_page,
           "places": figure_places, "lost": lost.figure_lost, "guided": guided.figure_guided,
           "agent": agent.figure_agent, "preload": preload.figure_preload, "names": names.figure_names,
           "stacks": stacks.figure_stacks}

WITHOUT_WORK = {"calls", "hits", "whole", "delay", "reading", "large", "page", "lost", "guided", "agent",
                "preload", "stacks"}


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
    programs = ("drain", "calls", "hits", "walk", "breakpoint", "rows", "storm", "nest", "agent_hit")
    for name in ("ntprof", "work", "measure", *programs):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    parser.add_argument("--folder", required=True, type=pathlib.Path, dest="kept")
    parser.add_argument("--compiler", required=True, type=shlex.split)
    parser.add_argument("figures", nargs="*", choices=[*FIGURES, []], metavar="FIGURE")
    options = parser.parse_args()

    commands = Commands(options.ntprof, options.work, options.measure)
    for name in (*programs, "kept", "compiler"):
        setattr(commands, name, getattr(options, name))
    names = options.figures or list(FIGURES)
    failed = False
    try:
        if set(names) - WITHOUT_WORK:
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
