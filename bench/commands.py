# SPDX-License-Identifier: MIT
"""Runs the work bare, under ntprof and under perf, and says what each took."""
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

NOBODY = 65534
BEGIN_SECONDS = 1  # until a profiler of the machine is at work
TIMED_OUT = 124  # the exit status of timeout
NEW_RUN = {"LC_ALL": "C", "DEBUGINFOD_URLS": ""}


class Failed(Exception):
    """A command of the benchmark did not work."""


@dataclasses.dataclass
class Took:
    """What one command took, with all that it waited for. The work's own numbers are its own."""

    wall_ns: int
    cpu_ns: int
    resident_bytes: int
    written_bytes: int
    work_wall_ns: int = 0
    work_cpu_ns: int = 0
    cut: bool = False  # stopped at a time limit
    work: dict = dataclasses.field(default_factory=dict)  # all numbers of the work's line

    @property
    def profiler_cpu_ns(self):
        return self.cpu_ns - self.work_cpu_ns

    @property
    def beyond_work_ns(self):
        return self.wall_ns - self.work_wall_ns

    def then(self, other):
        """This command and then another."""
        return Took(self.wall_ns + other.wall_ns, self.cpu_ns + other.cpu_ns,
                    max(self.resident_bytes, other.resident_bytes),
                    self.written_bytes + other.written_bytes,
                    self.work_wall_ns + other.work_wall_ns, self.work_cpu_ns + other.work_cpu_ns)


def read_numbers(line):
    """{'wall_ns': 1} of a line such as 'work wall_ns=1 result=0f'."""
    words = (word.partition("=") for word in line.split())
    return {key: int(value) for key, _, value in words if value.isdigit()}


def read_rows(path):
    """[(first word, numbers)] of a program's lines."""
    return [(line.split()[0], read_numbers(line)) for line in path.read_text().splitlines() if line]


class Commands:
    """The programs of the benchmark, with a folder of their own to write into."""

    def __init__(self, ntprof, work, measure):
        self.ntprof, self.work, self.measure = ntprof, work, measure
        self.perf = self._find_perf()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ntprof-bench."))
        self.folder.chmod(0o777)
        os.environ["XDG_CACHE_HOME"] = str(self.folder)  # of users; that of root is the machine's
        self.rounds_a_second = 0

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def _find_perf():
        perf = shutil.which("perf")
        if perf is None:
            return None
        said = subprocess.run([perf, "version"], capture_output=True, check=False)
        return perf if said.returncode == 0 else None

    def run_beside(self, profiler, command):
        """Runs a command while a profiler that waits for a signal to end is at work. What the profiler took, with
        the command's own times."""
        result = self.folder / "beside"
        result.unlink(missing_ok=True)
        with subprocess.Popen([self.measure, str(result), "0", *profiler], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, cwd=self.folder,
                              env=os.environ | NEW_RUN) as measure:
            time.sleep(BEGIN_SECONDS)
            took = self.run(command)
            children = pathlib.Path(f"/proc/{measure.pid}/task/{measure.pid}/children").read_text()
            for child in children.split():  # not SIGINT, which whoever starts us may have had ignored
                os.kill(int(child), signal.SIGTERM)
        if not result.exists():
            raise Failed(f"{' '.join(profiler)}: exit status {measure.returncode}")
        beside = Took(**read_numbers(result.read_text()))
        beside.work_wall_ns, beside.work_cpu_ns = took.work_wall_ns, took.work_cpu_ns
        return beside

    def run(self, command, uid=0, stdout=None, limit_s=None):
        """Runs a command by way of `measure`; stdout is a path, or None to read the work's line. What takes longer
        than the limit is stopped, and cut."""
        limit = ["timeout", "--kill-after=5", str(limit_s)] if limit_s else []
        result = self.folder / "result"
        result.unlink(missing_ok=True)
        into = open(stdout, "wb") if stdout else subprocess.PIPE
        ended = subprocess.run([self.measure, str(result), str(uid), *limit, *command], stdout=into,
                               stderr=subprocess.PIPE, cwd=self.folder, check=False,
                               env=os.environ | NEW_RUN)
        cut = limit_s is not None and ended.returncode == TIMED_OUT
        if (ended.returncode != 0 and not cut) or not result.exists():
            said = ended.stderr.decode(errors="replace").strip().splitlines()
            raise Failed(f"{' '.join(command)}: exit status {ended.returncode}"
                         + (f": {said[-1]}" if said else ""))
        took = Took(**read_numbers(result.read_text()), cut=cut)
        for line in (ended.stdout or b"").decode(errors="replace").splitlines():
            if line.startswith("work "):
                numbers = read_numbers(line)
                took.work_wall_ns, took.work_cpu_ns = numbers["wall_ns"], numbers["cpu_ns"]
                took.work = numbers
        return took

    def calibrate(self):
        """Finds how many rounds the work makes in a second."""
        rounds, took = 100, None
        while took is None or took.work_wall_ns < 300_000_000:
            rounds *= 2
            took = self.run([self.work, str(rounds), "1"])
        self.rounds_a_second = rounds * 1e9 / took.work_wall_ns

    def work_command(self, seconds, threads=1):
        return [self.work, str(max(1, round(self.rounds_a_second * seconds))), str(threads)]

    def run_bare(self, seconds, threads=1):
        return self.run(self.work_command(seconds, threads))

    def run_ntprof(self, hz, seconds, threads=1, options=(), uid=0):
        return self.run([self.ntprof, "run", "-F", str(hz), "-o", f"bench-{uid}.pb.gz", *options,
                         "--", *self.work_command(seconds, threads)], uid)

    def run_perf(self, hz, seconds, threads=1, uid=0, event="cpu-clock"):
        return self.run([self.perf, "record", "-q", "-o", f"bench-{uid}.data", "-e", event,
                         "-c", str(round(1e9 / hz)), "--", *self.work_command(seconds, threads)],
                        uid)

    def run_perf_report(self):
        return self.run([self.perf, "report", "--stdio", "-i", "bench-0.data"], stdout="/dev/null")

    def ntprof_json(self, hz, seconds, threads=1, options=()):
        """The report of a run of ntprof: rows by function, and the statistics of its source."""
        self.run_ntprof(hz, seconds, threads, ("--rows", "0", "--json", "--report", "bench.json", *options))
        return json.loads((self.folder / "bench.json").read_text())

    def perf_samples(self, hz, seconds, threads=1, event="cpu-clock"):
        """[(function, samples)] of a run of perf record, by perf report."""
        self.run_perf(hz, seconds, threads, event=event)
        text = self.folder / "bench.txt"
        self.run([self.perf, "report", "--stdio", "-i", "bench-0.data", "--no-children",
                  "-F", "sample,sym", "--field-separator", "\t"], stdout=text)
        rows = []
        for line in text.read_text(errors="replace").splitlines():
            count, _, symbol = line.strip().partition("\t")
            if count.strip().isdigit():
                rows.append((symbol.strip()[4:], int(count)))
        return rows
