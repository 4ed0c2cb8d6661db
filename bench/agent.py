# SPDX-License-Identifier: MIT
"""agent: processor time and memory of ntprof agent with 200 processes, by its own metrics, and beside a build.

Two minutes of each, or BENCH_SECONDS=3600 for an hour: half of the processes sleep, half wake up ten
times a second, and two keep a processor busy each. The build compiles small units again and again, so
that programs start all the time.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request

from commands import Failed
from figures import QUICK, say, show_below

PROCESSES = 200
BUSY = 2
SETTLE_SECONDS = 2 if QUICK else 70  # its start reads all processes, and the first window all symbols
SECONDS = float(os.environ.get("BENCH_SECONDS", "4" if QUICK else "120"))
WINDOW = "1s" if QUICK else "1m"
LOOKS, LOOK_SECONDS = (3, 0.1) if QUICK else (11, 5)
CPU_PERCENT, MEMORY_MB, GROWTH_MB = 0.3, 64, 4
UNITS = 20


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def metric(port, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        found = re.search(rf"^ntprof_agent_{name} (\S+)$", answer.read().decode(), re.MULTILINE)
    return float(found[1])


def memory(port):
    """The median of some looks: a reader of symbols may be there at one of them."""
    found = []
    for _ in range(LOOKS):
        time.sleep(LOOK_SECONDS)
        found.append(metric(port, "memory_bytes"))
    return statistics.median(found)


def wait_for_start(agent, port):
    for _ in range(200):
        if agent.poll() is not None:
            raise Failed("the agent ended: " + agent.stderr.read().decode())
        try:
            metric(port, "windows_total")
            return
        except OSError:
            time.sleep(0.1)
    raise Failed("the agent does not answer")


def start_processes():
    processes = []
    for number in range(PROCESSES):
        if number < BUSY:
            command = ["sh", "-c", "while :; do :; done"]
        elif number % 2 == 0:
            command = ["python3", "-S", "-c", "import time\nwhile 1: time.sleep(0.1)"]
        else:
            command = ["sleep", "100000"]
        processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL))
    return processes


def start_build(folder):
    """A shell that compiles units without end, and writes a line to the file `compiled` for each."""
    (folder / "compiled").touch()
    for number in range(UNITS):
        body = f'return printf("%d", n * {number});'
        (folder / f"unit{number}.c").write_text(f"#include <stdio.h>\nint unit{number}(int n) {{ {body} }}\n")
    return subprocess.Popen(["sh", "-c", "while :; do for unit in unit*.c; do gcc -O2 -c -o unit.o $unit && "
                             "echo >> compiled; done; done"], cwd=folder, stdin=subprocess.DEVNULL,
                            start_new_session=True)


def measure(port, beside=""):
    begun, cpu = time.monotonic(), metric(port, "cpu_seconds_total")
    middle = memory(port)
    time.sleep(max(0, begun + SECONDS - LOOKS * LOOK_SECONDS - time.monotonic()))
    end = memory(port)
    cpu = metric(port, "cpu_seconds_total") - cpu
    share = 100 * cpu / (time.monotonic() - begun)
    say(f"{metric(port, 'processes'):.0f} processes watched at 99 Hz, {SECONDS:.0f} s in windows of {WINDOW}")
    show_below(f"processor time of ntprof agent{beside}, of one processor", [share], CPU_PERCENT, "%")
    show_below(f"memory of ntprof agent with its readers{beside}", [end / 1e6], MEMORY_MB, "MB")
    show_below(f"growth of it{beside}", [(end - middle) / 1e6], GROWTH_MB, "MB")


def measure_build(port, folder):
    if shutil.which("gcc") is None:
        say("the build is left out: gcc is not there")
        return
    build = start_build(folder)
    try:
        time.sleep(SETTLE_SECONDS)
        before, begun = (folder / "compiled").stat().st_size, time.monotonic()
        measure(port, ", build")
        units = (folder / "compiled").stat().st_size - before
        say(f"the build compiled {units / (time.monotonic() - begun):.1f} units a second, each by three programs")
    finally:
        os.killpg(build.pid, signal.SIGKILL)
        build.wait()


def figure_agent(commands):
    if os.geteuid() != 0:
        say("only root may profile all processes")
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ntprof-bench-"))
    processes = start_processes()
    port = free_port()
    agent = subprocess.Popen([commands.ntprof, "agent", "--window", WINDOW, "--spool", folder / "spool", "--listen",
                              str(port), "--max-cpu", "100%"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_for_start(agent, port)
        time.sleep(SETTLE_SECONDS)
        measure(port)
        measure_build(port, folder)
    finally:
        agent.terminate()
        agent.wait()
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
