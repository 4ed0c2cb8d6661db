#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a large profile costs: seconds and memory of report, merge and every export, and how they grow.

usage: large.py --ntprof EXE --rows EXE

The profiles have 1,000 images and ever more buckets with hits, the last 1,000,000 of them (bench/rows.c). Times
are of processors, so that other work of the machine shows less. Growth is what ten times the buckets
take, in times and in memory: 10 is linear. BENCH_QUICK=1 stops at a hundredth of it: to see that everything works.
Exit status 1 if something did not run.
"""
import argparse
import os
import pathlib
import sys
import tempfile

QUICK = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
SIZES = (1_000, 10_000) if QUICK else (10_000, 100_000, 1_000_000)
IMAGES = 1000
MERGED = 10
FORMATS = ("pprof", "callgrind", "speedscope", "folded", "json", "csv", "openmetrics", "html")
REPORTS = {
    "report by function": ["--by", "function"],
    "report by line": ["--by", "line"],
    "report by address": ["--by", "address"],
    "report by process, image": ["--by", "process,image"],
    "report of one image": ["--image", "libpart7.so.1"],
    "report, all addresses": ["--by", "address", "--rows", "0"],
    "report, all as JSON": ["--by", "address", "--rows", "0", "--json"],
    "report, all as CSV": ["--by", "address", "--rows", "0", "--csv"],
}


class Failed(Exception):
    pass


def run(arguments, output):
    """Processor seconds and megabytes at most of a command whose output goes into a file."""
    actions = [(os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
    pid = os.posix_spawn(arguments[0], arguments, os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise Failed(f"{' '.join(arguments)}: status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Bench:
    def __init__(self, ntprof, rows, folder):
        self.ntprof = ntprof
        self.rows = rows
        self.folder = folder

    def make(self, size, seed):
        path = self.folder / f"{size}-{seed}.pb.gz"
        run([self.rows, str(size), str(IMAGES), str(path), str(seed)], os.devnull)
        return str(path)

    def commands(self, size):
        """Names and arguments, one at a time: what is merged is made only then."""
        profile = self.make(size, 1)
        for name, arguments in REPORTS.items():
            yield name, ["report", *arguments, profile]
        for form in FORMATS:
            yield f"export, {form}", ["export", "--format", form, profile]
        yield "export, gmon of an image", ["export", "--format", "gmon", "-e", "time", "--image",
                                           "libpart7.so.1", profile]
        parts = [self.make(size, seed) for seed in range(1, MERGED + 1)]
        yield f"merge of {MERGED}", ["merge", "-q", "-o", str(self.folder / "sum.pb.gz"), *parts]

    def measure(self, size, before):
        """Prints a line for each command, and returns its seconds and megabytes by its name."""
        output = str(self.folder / "output")
        measured = {}
        for name, arguments in self.commands(size):
            measured[name] = run([self.ntprof, *arguments], output)
            show(name, before.get(name), measured[name], os.path.getsize(output))
        return measured


def show_heading(size):
    print(f"\n{size:,} buckets with hits in {IMAGES:,} images")
    print(f"{'':28}{'seconds':>9}{'growth':>9}{'MB of memory':>14}{'growth':>9}{'MB written':>12}", flush=True)


def show(name, before, after, written):
    growth = [f"{new / max(old, 0.001):.1f}" for old, new in zip(before, after)] if before else ["", ""]
    print(f"{name:28}{after[0]:9.2f}{growth[0]:>9}{after[1]:14.0f}{growth[1]:>9}{written / 1e6:12.1f}",
          flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ntprof", required=True)
    parser.add_argument("--rows", required=True)
    arguments = parser.parse_args()
    before = {}
    with tempfile.TemporaryDirectory(prefix="ntprof-large-") as folder:
        bench = Bench(arguments.ntprof, arguments.rows, pathlib.Path(folder))
        try:
            for size in SIZES:
                show_heading(size)
                before = bench.measure(size, before)
        except Failed as failure:
            print(f"large: {failure}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
