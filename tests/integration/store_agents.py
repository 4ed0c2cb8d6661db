#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Synthetic agents write to one store while everything around them is killed, and each hit counts once.

In a round each agent has windows of known content. It sends earlier states first, windows twice and out of order,
at times from two processes at once; these are killed by SIGKILL, the server too, and the disk is full at times. When
all was acknowledged, the sums in the store are those of the agents' own accounting, to the hit.

NTPROF_TEST_ROUNDS says how many rounds there are, NTPROF_TEST_AGENTS how many agents.
"""
import json
import os
import random
import resource
import subprocess
import threading
import time

import clickhouse
import harness
from harness import CommandTest, program, text

ROUNDS = int(os.environ.get("NTPROF_TEST_ROUNDS", "1"))
AGENTS = int(os.environ.get("NTPROF_TEST_AGENTS", "5"))
WINDOWS = 2
ROUND_LIMIT_S = 240
FULL_BYTES = 1 << 30


class Sender:
    """One process that sends lines; it may die at any time."""

    def __init__(self, url, chance, limit):
        self.url, self.chance, self.limit = url, chance, limit
        self.process = None

    def _limits(self):
        if self.limit and self.chance.random() < 0.3:
            # Larger files cannot be written, as on a full disk.
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, resource.RLIM_INFINITY))

    def send(self, line, kill):
        """Whether the line was acknowledged."""
        if self.process is None:
            self.process = subprocess.Popen([program("synthetic-agent"), self.url], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            env=harness.bare_environment(), preexec_fn=self._limits)
        timer = threading.Timer(self.chance.random() / 20, self.process.kill) if kill else None
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
            if timer is not None:
                timer.start()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if timer is not None:
            timer.join()
        if answer != b"added\n" or kill:
            self.end()
        return answer == b"added\n"

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None


class Agent:
    """One host, its windows, and what it counted by address."""

    def __init__(self, number, chance):
        self.number, self.chance = number, chance
        self.counted = {}
        self.lines = []  # of windows, each with its earlier states
        for i in range(WINDOWS):
            final = {0x1000 + 16 * chance.randrange(300): chance.randrange(1, 100) for _ in range(40)}
            early = {address: (hits + 1) // 2 for address, hits in final.items() if chance.random() < 0.7}
            for address, hits in final.items():
                self.counted[address] = self.counted.get(address, 0) + hits
            self.lines.append([self._line(i, early), self._line(i, final)])

    def _line(self, window, rows):
        # The clock of an agent that was started again begins a new epoch at the same start.
        return (f"host{self.number} epoch{window % 2} {100000 + window // 2 * 60} 60 10000 unit{self.number % 3} - "
                f"/bin/image{self.number} - " + " ".join(f"{address:#x}:{hits}" for address, hits in rows.items()))

    def run(self, url, seed, limit, end):
        chance = random.Random(seed)
        sender = Sender(url, chance, limit)
        windows = list(self.lines)
        chance.shuffle(windows)
        try:
            for states in windows + chance.sample(windows, 1):
                for line in states if chance.random() < 0.5 else states[1:]:
                    while not sender.send(line, chance.random() < 0.1):
                        if time.monotonic() > end:
                            raise AssertionError("a window is not accepted")
        finally:
            sender.end()


class AgentsCase(CommandTest):
    def check_sums(self, url, agents):
        result = self.ntprof("report", url, "--json", "--rows", "0", "--by", "image,address")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        stored = {(row["image"], int(row["address"], 16)): row["hits"] for row in report["rows"] if row["hits"]}
        counted = {(f"/bin/image{agent.number}", address): hits
                   for agent in agents for address, hits in agent.counted.items()}
        self.assertEqual(stored, counted)
        total = sum(counted.values())
        self.assertEqual([report["sources"][0][name] for name in ("taken", "counted", "expected")], [total] * 3)
        checked = self.ntprof("store", "check", url)
        self.assertEqual(checked.returncode, 0, text(checked.stderr))

    def run_round(self, urls, seed, limit, disturb):
        """One or two processes for each agent send all of its windows, each to one of the URLs, while disturb()
        disturbs them."""
        chance = random.Random(seed)
        agents = [Agent(number, chance) for number in range(AGENTS)]
        end = time.monotonic() + ROUND_LIMIT_S
        failures = []

        def run(agent, seed):
            try:
                agent.run(urls[seed % len(urls)], seed, limit, end)
            except Exception as failure:  # pylint: disable=broad-except
                failures.append(failure)

        threads = [threading.Thread(target=run, args=(agent, seed * 1000 + agent.number * 2 + i))
                   for agent in agents for i in range(1 + agent.number % 2)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            disturb(chance)
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        return agents


class Agents(AgentsCase):
    def test_sqlite__each_hit_once(self):
        for round_number in range(ROUNDS):
            url = f"sqlite:{self.folder}/s{round_number}.db"
            made = self.ntprof("store", "init", url)
            if b"without SQLite" in made.stderr:
                self.skipTest("this ntprof was built without SQLite")
            self.assertEqual(made.returncode, 0, text(made.stderr))
            agents = self.run_round([url], round_number, 65536, lambda chance: time.sleep(0.05))
            self.check_sums(url, agents)
            os.unlink(self.folder / f"s{round_number}.db")

    def small_disk(self):
        """A file system of its own for the server, where that can be had."""
        place = self.folder / "server"
        place.mkdir()
        mounted = harness.is_root() and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={FULL_BYTES}", "tmpfs", place], check=False,
            stderr=subprocess.DEVNULL).returncode == 0
        if mounted:
            self.addCleanup(subprocess.run, ["umount", "-l", place], check=False)
        else:
            print("the disk is never full: no file system can be mounted here")
        return place, mounted

    def test_clickhouse__each_hit_once(self):
        place, full = self.small_disk()
        server = clickhouse.Server(place / "data")
        self.addCleanup(server.kill)
        server.start()

        def fill(chance):
            try:
                with open(place / "filler", "wb", buffering=0) as filler:
                    while True:
                        filler.write(bytes(1 << 24))
            except OSError:
                pass
            time.sleep(chance.random() / 3)
            os.unlink(place / "filler")

        def disturb(chance):
            time.sleep(chance.random() * 3)
            if full and chance.random() < 0.3:
                fill(chance)
            elif chance.random() < 0.6:
                server.kill()
                time.sleep(chance.random() / 5)
                server.start()

        for round_number in range(ROUNDS):
            url = f"clickhouse://{server.address()}/round{round_number}?timeout=20s"
            made = self.ntprof("store", "init", url)
            if b"without libcurl" in made.stderr:
                self.skipTest("this ntprof was built without libcurl")
            self.assertEqual(made.returncode, 0, text(made.stderr))
            agents = self.run_round([url], round_number, 0, disturb)
            self.check_sums(url, agents)
            server.ask(f"DROP DATABASE round{round_number}")


if __name__ == "__main__":
    harness.main()
