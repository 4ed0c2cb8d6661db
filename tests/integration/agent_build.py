#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof agent under a build loop, for minutes: flat memory, figures that add up, no window missing.

NTPROF_LONG_SECONDS=3600 for an hour. Thousands of processes start and end meanwhile, of programs that are
compiled anew each time, so images and programs come and go."""
import os
import pathlib
import re
import signal
import time

import harness
from command_agent import AgentTest

SECONDS = float(os.environ.get("NTPROF_LONG_SECONDS", "150"))
FORKS = 1000  # at least, however long that takes
WINDOW_S = 5
SLACK = 1.25  # of memory, between a third of the time and its end,
READER = 8 << 20  # besides one more reader of symbols, for what else runs on the machine

BUILD = """
i=0
while :; do
    i=$((i+1))
    printf 'int main(void) { volatile unsigned n = 0; while (n < 3000000) n++; return %d; }' $((i % 2)) > a$i.c
    cc -O1 -g a$i.c -o program$((i % 700)) && ./program$((i % 700)) || :
    j=0
    while [ $j -lt 20 ]; do /bin/true; j=$((j+1)); done
    rm -f a$i.c
done
"""


class Build(AgentTest):
    def memory(self, pid):
        """Private bytes of the agent and of its readers."""
        total = 0
        for process in [pid, *harness.children_of(pid)]:
            try:
                status = pathlib.Path(f"/proc/{process}/status").read_text()
            except OSError:
                continue
            total += sum(int(kilobytes) for kilobytes in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+)", status, re.M))
        return total * 1024

    def test_builds__memory_is_flat_and_windows_are_complete(self):
        work = self.folder / "work"
        work.mkdir()
        self.start(["sh", "-c", BUILD], cwd=work, process_group=0)
        agent = self.start_agent("--spool-age", "3650d", "--spool-size", "1G", window=f"{WINDOW_S}s")
        self.addCleanup(os.killpg, self.children[0].pid, signal.SIGKILL)
        forks = self.forks()
        samples = []
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or self.forks() - forks < FORKS:
            time.sleep(WINDOW_S)
            self.assertIsNone(agent.poll(), self.said())
            samples.append(self.memory(agent.pid))
        forks = self.forks() - forks
        self.end(agent)
        self.assert_windows()
        third = sorted(samples[len(samples) // 3:len(samples) // 2])
        last = sorted(samples[-len(samples) // 6:])
        print(f"{forks} processes, {len(self.windows())} windows, memory in MB:",
              " ".join(f"{sample / 1e6:.1f}" for sample in samples))
        self.assertLess(last[len(last) // 2], SLACK * third[len(third) // 2] + READER)

    def forks(self):
        return int(re.search(r"^processes (\d+)", pathlib.Path("/proc/stat").read_text(), re.M)[1])

    def assert_windows(self):
        """Each begins where the one before ended, and all have rows of what was built."""
        profiles = [self.read(path) for path in self.windows()]
        shortest_ns = min(profile["duration_ns"] for profile in profiles)
        for before, after in zip(profiles, profiles[1:]):
            gap = after["time_ns"] - before["time_ns"] - before["duration_ns"]
            self.assertGreaterEqual(gap, 0)
            self.assertLess(gap, shortest_ns)  # no window is missing
        names = {name for profile in profiles for name in profile["processes"]}
        self.assertTrue([name for name in names if name.startswith("program")], names)
        self.assertIn("cc1", names)
        self.assertNotIn("out of memory", self.said())


if __name__ == "__main__":
    harness.main()
