# SPDX-License-Identifier: MIT
"""What the preload object of `ntprof run --hal timer` costs: the start of a process, and a hit."""
import subprocess
import sys

from figures import QUICK, say, show_at_most, show_below

STARTS = 50 if QUICK else 400
# Under run: starts a program with the preload object and without, in turn, and prints pairs of milliseconds.
STARTER = """
import os, sys, time
bare = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "NTPROF_AGENT")}
def start(environment):
    begin = time.perf_counter()
    os.waitpid(os.posix_spawn("/bin/true", ["true"], environment), 0)
    return (time.perf_counter() - begin) * 1e3
for _ in range(int(sys.argv[1])):
    print(start(os.environ), start(bare))
"""


def figure_preload(commands):
    printed = subprocess.run([commands.ntprof, "run", "-q", "--hal", "timer",
                              "-o", str(commands.folder / "preload.pb.gz"), "--", sys.executable, "-c", STARTER,
                              str(STARTS)],
                             check=True, capture_output=True, text=True).stdout
    pairs = [tuple(map(float, line.split())) for line in printed.splitlines()]
    show_at_most("`true` with the preload object over `true` without", [agent - bare for agent, bare in pairs], 2, "ms")
    say(f"of {STARTS} starts each, in turn")
    costs = {"hot": [], "spread": []}
    for _ in range(5):
        told = subprocess.run([commands.agent_hit], check=True, capture_output=True, text=True).stdout
        for name, value in (word.split("=") for word in told.split()):
            if name in costs:
                costs[name].append(float(value))
    show_below("a hit beyond its signal, the same address again", costs["hot"], 1000, "ns")
    show_below("a hit beyond its signal, 65536 addresses", costs["spread"], 1000, "ns")
