# SPDX-License-Identifier: MIT
"""lost: hits that are lost in storms, beside what perf record loses in the same turn."""
import json
import re
import subprocess

from figures import QUICK, say, show, turns

TURNS = 1 if QUICK else 7
STORMS = {
    "64 processes, page faults": (["faults", "64", "20480"], ["-e", "page-faults", "-c", "1"]),
    "20,000 mappings, 997 Hz": (["mappings", "20000"], ["-F", "997"]),
}


def run(command, **given):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **given)


def source_of(commands, options, storm):
    run([commands.ntprof, "run", "-q", "-o", "lost.pb.gz", *options, "--", *storm], stderr=subprocess.PIPE)
    shown = run([commands.ntprof, "report", "--json", "lost.pb.gz"], stdout=subprocess.PIPE).stdout
    return json.loads(shown)["sources"][0]


def samples_of(commands, options, storm):
    if "-e" not in options:
        options = ["-e", "cpu-clock", *options]
    run([commands.perf, "record", "-q", "-o", "lost.data", *options, *storm], stderr=subprocess.PIPE)
    shown = run([commands.perf, "report", "-i", "lost.data", "--stats"], stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True).stdout
    return int(re.search(r"SAMPLE events: +(\d+)", shown)[1])


def figure_lost(commands):
    say("hits lost of those expected; perf record's are what it has fewer than ntprof expects.")
    for name, (words, options) in STORMS.items():
        storm = [commands.storm, *words]
        actions = {"ntprof": lambda o=options, s=storm: source_of(commands, o, s)}
        if commands.perf:
            actions["perf"] = lambda o=options, s=storm: samples_of(commands, o, s)
        results = turns(actions, TURNS)
        expected = [turn["ntprof"]["expected"] for turn in results]
        show(f"{name}: ntprof", [100 * turn["ntprof"]["lost"] / all_of
                                 for turn, all_of in zip(results, expected)], "%")
        if commands.perf:
            show(f"{name}: perf record", [100 * max(0, all_of - turn["perf"]) / all_of
                                          for turn, all_of in zip(results, expected)], "%")
