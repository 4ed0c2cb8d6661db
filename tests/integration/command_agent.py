#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof agent: windows, the spool, stores that come and go, its server, and what it survives.

All windows here are of one second, so that a case takes few of them."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import unittest

import harness
from attack_server import Asking, Dripping
from harness import CommandTest, free_port, text, wait_for

PARTS = ("taken", "lost", "throttled", "missed", "unfinished", "excluded")


class AgentTest(CommandTest):
    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may profile all processes")
        super().setUp()
        self.spool = self.folder / "spool"
        self.folder.chmod(0o755)

    def start_agent(self, *words, window="1s", wait=True):
        """An agent that has begun. What it says goes to the file log."""
        if "--max-cpu" not in words:
            words += "--max-cpu", "100%"  # windows of a second cost too much for the default
        self.log = self.folder / "log"
        with open(self.log, "ab") as log:
            before = self.said().count("windows of")
            child = self.start(self.arguments("agent", "--window", window, "--spool", self.spool, *words), stderr=log)
        if wait:
            wait_for(lambda: self.said().count("windows of") > before or child.poll() is not None, "the start")
            self.assertIsNone(child.poll(), self.said())
        return child

    def kill_agent(self, child):
        """Its children, which see that it has ended a moment later, have its spool until then."""
        children = harness.children_of(child.pid)
        child.send_signal(signal.SIGKILL)
        child.wait()
        wait_for(lambda: not any(harness.is_alive(pid) for pid in children), "the end of its children")

    def said(self):
        return text(self.log.read_bytes()) if self.log.exists() else ""

    def windows(self):
        return sorted(self.spool.glob("*.pb.gz"))

    def wait_windows(self, count):
        return wait_for(lambda: len(self.windows()) >= count and self.windows(), f"{count} windows")

    def end(self, child, number=signal.SIGTERM):
        child.send_signal(number)
        child.wait(timeout=harness.TIME_LIMIT_S)
        self.assertEqual(child.returncode, 0, self.said())

    def read(self, path):
        """A profile as JSON, whose figures add up."""
        result = self.ntprof("export", "--format", "json", path)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        profile = json.loads(result.stdout)
        for number, source in enumerate(profile["sources"]):
            self.assertEqual(source["taken"], source["counted"] + source["outside"], source)
            self.assertEqual(source["expected"], sum(source[part] for part in PARTS), source)
            self.assertEqual(sum(row["hits"][number] for row in profile["rows"]), source["counted"], source)
        return profile

    def labels(self, path):
        """Those of all samples, as go tool pprof sees them: text of the first sample's labels."""
        raw = self.run_bare(["go", "tool", "pprof", "-raw", path]).stdout
        return text(raw)

    def busy(self, name="work-agent"):
        path = self.folder / name
        if not path.exists():
            shutil.copy(harness.program("shares"), path)
        return self.start([path, "300000"])

    def hits_of(self, profile, name):
        numbers = [number for number, process in enumerate(profile["processes"]) if process == name]
        return sum(row["hits"][0] for row in profile["rows"] if row["process"] in numbers)


class Windows(AgentTest):
    def test_windows__add_up_and_name_a_program_with_its_labels(self):
        self.busy()
        child = self.start_agent("--label", "role=test", "--host", "web1")
        self.wait_windows(3)
        self.end(child)
        found = self.windows()
        profiles = [self.read(path) for path in found]
        self.assertGreater(sum(self.hits_of(profile, "work-agent") for profile in profiles), 0)
        functions = {profile["functions"][row["function"]]["name"]
                     for profile in profiles for row in profile["rows"]}
        self.assertIn("right_three_units", functions)
        told = self.labels(found[1])
        for label in ("host:[web1]", "role:[test]", "boot:["):
            self.assertIn(label, told)
        self.assertNotIn("epoch:[", told)
        self.assertIn("ntprof.label epoch ", told)
        unit = pathlib.Path("/proc/self/cgroup").read_text().strip().rsplit("/", 1)[1]
        if unit:
            self.assertIn("unit:[", told)

    def test_windows__follow_each_other_without_overlap(self):
        child = self.start_agent()
        self.wait_windows(3)
        self.end(child)
        starts = [int(path.name[:20]) for path in self.windows()]
        ends = [start + self.read(path)["duration_ns"] for start, path in zip(starts, self.windows())]
        self.assertEqual(starts, sorted(starts))
        self.assertEqual(len({path.name[21:] for path in self.windows()}), 1)  # one epoch
        for end, start in zip(ends, starts[1:]):
            self.assertLessEqual(end, start)

    def test_sigkill__loses_no_finished_window_and_the_next_has_another_epoch(self):
        child = self.start_agent()
        before = self.wait_windows(2)
        self.kill_agent(child)
        (self.spool / ".00000000000000000001-x.pb.gz.new").write_bytes(b"half")
        child = self.start_agent()
        self.wait_windows(len(before) + 1)
        self.end(child)
        for path in before:
            self.read(path)
        self.assertEqual(len({path.name[21:] for path in self.windows()}), 2)
        self.assertFalse(list(self.spool.glob(".*.new")))

    def test_max_cpu__lengthens_the_interval_and_says_so(self):
        self.busy()
        child = self.start_agent("--max-cpu", "0.01%")
        wait_for(lambda: "instead of" in self.said(), "a longer interval")
        usual = 200000
        wait_for(lambda: any(self.read(path)["sources"][0]["granted"] > 2 * usual for path in self.windows()),
                 "twice the interval")
        self.end(child)
        intervals = []
        for path in self.windows():
            source = self.read(path)["sources"][0]
            intervals.append(source["granted"])
            if source["granted"] > usual:
                self.assertIn("--max-cpu 0.01%", text(self.ntprof("report", path).stdout))
        self.assertEqual(intervals, sorted(intervals))
        self.assertGreater(intervals[-1], 2 * usual)

    def test_max_cpu__interval_below_the_guard__begins_with_the_one_in_effect(self):
        self.busy()
        child = self.start_agent("--interval", "100ns", "--max-cpu", "0.01%")
        said = wait_for(lambda: re.search(r"interval \S+ ms instead of (\S+) ms", self.said()), "a longer interval")
        self.end(child)
        granted = self.read(self.windows()[0])["sources"][0]["granted"]
        self.assertAlmostEqual(float(said.group(1)), granted / 1e4, delta=granted / 1e7)

    def test_frequency_max__refused(self):
        result = self.ntprof("agent", "-F", "max", "--check-config")
        self.assertEqual(result.returncode, 125)
        self.assertIn("-F max: not in the agent", text(result.stderr))

    def test_max_cpu__is_exceeded_by_new_processes__the_interval_stays_useful(self):
        self.start(["sh", "-c", "while :; do /bin/true; done"])
        child = self.start_agent("--max-cpu", "1%")
        wait_for(lambda: "a longer interval does not change" in self.said(), "the reason")
        count = len(self.windows())
        self.wait_windows(count + 3)
        self.end(child)
        last = self.read(self.windows()[-1])
        self.assertLessEqual(last["sources"][0]["granted"], 500000)
        self.assertIn("--max-cpu 1%", text(self.ntprof("report", self.windows()[-1]).stdout))

    def test_second_agent__is_refused_the_spool(self):
        child = self.start_agent()
        second = self.ntprof("agent", "--spool", self.spool)
        self.assertEqual(second.returncode, 125)
        self.assertIn("another agent", text(second.stderr))
        self.end(child)


class Settings(AgentTest):
    def test_sighup__reads_the_file_again_and_keeps_old_settings_for_a_bad_one(self):
        config = self.folder / "agent.conf"
        config.write_text("label = phase=one\n")
        child = self.start_agent("--config", config)
        self.wait_windows(1)
        config.write_text("label = phase=two\n")
        child.send_signal(signal.SIGHUP)
        wait_for(lambda: self.said().count("windows of") == 2, "a new start")
        count = len(self.windows())
        self.wait_windows(count + 1)
        config.write_text("label phase\n")
        child.send_signal(signal.SIGHUP)
        wait_for(lambda: self.said().count("windows of") == 3, "a third start")
        self.assertIn("line 1", self.said())
        self.assertIn("the settings stay", self.said())
        count = len(self.windows())
        self.wait_windows(count + 1)
        self.end(child)
        # Of the window, not of its samples: with a sanitizer the memory of the agent before is still in use, and
        # --max-memory may leave no room for any.
        phases = ["two" if "ntprof.label phase two" in self.labels(path) else "one" for path in self.windows()]
        self.assertEqual(phases, sorted(phases))
        self.assertEqual({"one", "two"}, set(phases))

    def test_sighup__settings_that_do_not_start_are_given_up(self):
        config = self.folder / "agent.conf"
        if b"without libmicrohttpd" in self.ntprof("agent", "--listen", "1.2.3.4:1", "--spool", self.spool).stderr:
            self.skipTest("this ntprof was built without libmicrohttpd")
        config.write_text("label = phase=one\n")
        child = self.start_agent("--config", config)
        for times in (2, 3):
            config.write_text("label = phase=two\nlisten = 192.0.2.1:1\n")  # an address of nobody
            child.send_signal(signal.SIGHUP)
            wait_for(lambda: self.said().count("windows of") == times or child.poll() is not None, "a new start")
            self.assertIsNone(child.poll(), self.said())
            self.assertEqual(self.said().count("the settings stay"), times - 1)
        count = len(self.windows())
        path = self.wait_windows(count + 1)[-1]
        self.assertIn("ntprof.label phase one", self.labels(path))
        config.write_text("label = phase=three\n")
        child.send_signal(signal.SIGHUP)
        wait_for(lambda: self.said().count("windows of") == 4, "a new start")
        count = len(self.windows())
        path = self.wait_windows(count + 1)[-1]
        self.assertIn("ntprof.label phase three", self.labels(path))
        self.end(child)

    def test_check_config__says_what_is_wrong_and_starts_nothing(self):
        config = self.folder / "agent.conf"
        for lines, part in (("window = 1m\n", None), ("window = 7s\n", "--window"), ("windw = 1m\n", "no such option"),
                            ("[x]\n", "line 1"), ("help = yes\n", "agent.conf: help has no meaning there")):
            is_option = lines.startswith("wind")
            config.write_text(lines)
            result = self.ntprof("agent", "--check-config", "--config", config, "--spool", self.spool)
            self.assertEqual(result.returncode, 0 if part is None else 125, text(result.stderr))
            if part is not None:
                said = text(result.stderr).splitlines()
                self.assertIn(part, said[0])
                self.assertEqual(len(said), 2 if is_option else 1)
                self.assertIn("agent.conf", said[-1])
        self.assertFalse(self.spool.exists())

    def test_service_manager__is_told_of_start_and_end(self):
        path = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(path))
            manager.settimeout(harness.TIME_LIMIT_S)
            environment = dict(harness.bare_environment(), NOTIFY_SOCKET=str(path), WATCHDOG_USEC="200000")
            child = self.start(self.arguments("agent", "--window", "1s", "--spool", self.spool), env=environment)
            told = [manager.recv(1000)]
            while b"WATCHDOG=1" not in told:
                told.append(manager.recv(1000))
            child.send_signal(signal.SIGTERM)
            while b"STOPPING=1" not in told:
                told.append(manager.recv(1000))
            child.wait()
        self.assertTrue(told[0].startswith(b"READY=1"))

    def test_unit_file__is_one(self):
        unit = os.environ["NTPROF_SERVICE"]
        if shutil.which("systemd-analyze") is None:
            self.skipTest("no systemd-analyze here")
        # Its program is not installed here, which is all that may be wrong.
        copy = self.folder / "ntprof-agent.service"
        copy.write_text("\n".join("ExecStart=/bin/true" if line.startswith("ExecStart=") else line
                                  for line in pathlib.Path(unit).read_text().splitlines()))
        result = self.run_bare(["systemd-analyze", "verify", "--man=no", copy])
        said = [line for line in text(result.stderr).splitlines() if "ntprof-agent" in line]
        self.assertEqual((result.returncode, said), (0, []), text(result.stderr))


class Stores(AgentTest):
    def setUp(self):
        super().setUp()
        self.url = f"sqlite:{self.folder}/s.db"

    def init(self):
        result = self.ntprof("store", "init", self.url)
        if b"without SQLite" in result.stderr:
            raise unittest.SkipTest("this ntprof was built without SQLite")
        self.assertEqual(result.returncode, 0, text(result.stderr))

    def stored(self):
        return json.loads(self.ntprof("store", "stat", self.url, "--json").stdout)["windows"]

    def test_store__takes_each_window_once(self):
        self.init()
        self.busy()
        child = self.start_agent("--store", self.url)
        wait_for(lambda: self.stored() >= 3, "windows in the store")
        self.end(child)
        self.assertEqual(self.windows(), [])
        report = json.loads(self.ntprof("report", "--json", "--rows", "0", "--by", "process", self.url).stdout)
        source = report["sources"][0]
        self.assertEqual(sum(row["hits"] for row in report["rows"]), source["taken"])
        self.assertEqual(source["expected"], sum(source[part] for part in PARTS))
        self.assertIn("work-agent", {row["process"] for row in report["rows"]})

    def test_sum_of_windows__is_a_window_of_its_own(self):
        self.init()
        child = self.start_agent()
        windows = self.wait_windows(2)[:2]
        self.end(child)
        for words in (("store", "add", self.url, *windows), ("merge", "-q", "-o", "sum", *windows),
                      ("store", "add", self.url, "sum"), ("store", "check", self.url)):
            result = self.ntprof(*words)
            self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertEqual(self.stored(), 3)
        stored, summed = (json.loads(self.ntprof("report", "--json", name).stdout)["sources"][0]["taken"]
                          for name in (self.url, "sum"))
        self.assertEqual(stored, 2 * summed)

    def test_no_memory_for_images__what_was_in_kernel_mode_is_in_the_store(self):
        self.init()
        self.start(["dd", "if=/dev/zero", "of=/dev/null", "bs=1"], stderr=subprocess.DEVNULL)
        child = self.start_agent("--store", self.url, "--max-memory", "256K")
        wait_for(lambda: self.stored() >= 3, "windows in the store")
        self.end(child)
        report = json.loads(self.ntprof("report", "--json", "--rows", "0", self.url).stdout)
        source = report["sources"][0]
        if source["counted"]:
            self.skipTest("images have room in 256K here")
        self.assertGreater(source["outside_kernel"], 0)
        self.assertEqual({row["function"]: row["hits"] for row in report["rows"]},
                         {"[kernel, unknown]": source["outside_kernel"],
                          "[no image]": source["outside"] - source["outside_kernel"]})

    def test_store_that_is_away__windows_wait_and_come_in(self):
        child = self.start_agent("--store", self.url)
        waiting = len(self.wait_windows(2))
        self.assertIn("wait in the spool", self.said())
        self.assertEqual(self.said().count("--store:"), 1)
        self.init()
        wait_for(lambda: self.stored() >= waiting, "windows in the store")
        self.end(child)
        self.assertEqual(self.windows(), [])
        self.assertIn("takes windows again", self.said())

    def test_store_that_is_locked__windows_wait_and_the_metrics_say_so(self):
        import sqlite3
        from urllib.request import urlopen
        self.init()
        port = free_port()
        if b"without libmicrohttpd" in self.ntprof("agent", "--listen", "1.2.3.4:1", "--spool", self.spool).stderr:
            self.skipTest("this ntprof was built without libmicrohttpd")

        def is_said():
            with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                return b"\nntprof_agent_store_busy_total 0\n" not in answer.read()
        other = sqlite3.connect(self.folder / "s.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        child = self.start_agent("--store", self.url, "--listen", str(port))
        self.assertFalse(is_said())
        wait_for(is_said, "the metric")
        self.assertIn("another program keeps it locked", self.said())
        waiting = len(self.windows())
        self.assertGreaterEqual(waiting, 2)
        other.execute("ROLLBACK")
        other.close()
        wait_for(lambda: self.stored() >= waiting, "windows in the store")
        self.end(child)
        self.assertEqual(self.windows(), [])

    def test_store_that_is_locked__a_reload_goes_on_and_the_end_comes_in_time(self):
        import sqlite3
        self.init()
        other = sqlite3.connect(self.folder / "s.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        child = self.start_agent("--store", self.url)
        self.wait_windows(2)
        child.send_signal(signal.SIGHUP)
        wait_for(lambda: self.said().count("windows of") == 2 or child.poll() is not None, "a new start")
        self.assertIsNone(child.poll(), self.said())
        self.wait_windows(len(self.windows()) + 2)
        self.end(child)
        self.assertNotIn("does not answer", self.said())
        other.execute("ROLLBACK")
        other.close()
        waiting = len(self.windows())
        child = self.start_agent("--store", self.url)
        wait_for(lambda: self.stored() >= waiting, "windows in the store")
        self.end(child)

    def test_window_that_is_refused_for_good__set_aside_and_later_ones_come_in(self):
        self.init()
        self.spool.mkdir()
        foreign = pathlib.Path(__file__).parent.parent / "golden" / "foreign" / "go.pb.gz"
        name = "00000000000000000001-x.pb.gz"
        shutil.copy(foreign, self.spool / name)
        child = self.start_agent("--store", self.url)
        wait_for(lambda: self.stored() >= 2, "later windows in the store")
        self.end(child)
        self.assertEqual([path.name for path in self.windows()], [f"refused-{name}"])
        self.assertEqual(self.said().count(f"stays in the spool as refused-{name}"), 1)
        self.assertIn("1 older window was refused by the store", self.gaps())

    def gaps(self):
        """What the windows in the store say of themselves."""
        return json.loads(self.ntprof("report", "--json", self.url).stdout)["gaps"]

    def test_server_that_never_answers__does_not_keep_the_agent(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            child = self.start_agent("--store", f"clickhouse://127.0.0.1:{port}/d?timeout=5m")
            try:
                server.settimeout(harness.TIME_LIMIT_S)
                with server.accept()[0]:
                    count = len(self.wait_windows(1))
                    self.end(child)  # waits less than a timeout
            finally:
                child.kill()
        if "without libcurl" in self.said():
            self.skipTest("this ntprof was built without libcurl")
        self.assertGreaterEqual(len(self.windows()), count)
        self.assertIn("did not answer before the end", self.said())

    def test_killed_between_spool_and_store__nothing_counted_twice(self):
        self.init()
        child = self.start_agent()
        kept = self.wait_windows(2)
        self.kill_agent(child)
        copies = [(path.name, path.read_bytes()) for path in kept]
        for _ in range(2):  # the second time as if the agent had died before it removed them
            for name, content in copies:
                (self.spool / name).write_bytes(content)
            child = self.start_agent("--store", self.url)
            wait_for(lambda: not [name for name, _ in copies if (self.spool / name).exists()], "an empty spool")
            self.kill_agent(child)
        hits = 0
        for name, content in copies:
            path = self.folder / "copy.pb.gz"
            path.write_bytes(content)
            hits += self.read(path)["sources"][0]["taken"]
        report = json.loads(self.ntprof("report", "--json", f"{self.url}?until=2100-01-01").stdout)
        start = min(int(name[:20]) for name, _ in copies)
        self.assertGreater(start, 0)
        self.assertGreaterEqual(report["sources"][0]["taken"], hits)
        names = {name[21:-6] for name, _ in copies}
        self.assertEqual(len(names), 1)
        self.assert_epoch_hits(names.pop(), hits)

    def assert_epoch_hits(self, epoch, hits):
        import sqlite3
        with sqlite3.connect(self.folder / "s.db") as database:
            stored = database.execute("SELECT sum(taken) FROM accounting JOIN window ON window.id = accounting.window "
                                      "WHERE epoch = ?", (epoch,)).fetchone()[0]
        self.assertEqual(stored, hits)

    def test_file_that_is_no_profile__removed_and_said(self):
        self.init()
        self.spool.mkdir()
        (self.spool / "00000000000000000001-x.pb.gz").write_bytes(b"garbage")
        child = self.start_agent("--store", self.url)
        wait_for(lambda: "is no profile" in self.said(), "a word about it")
        wait_for(lambda: self.stored() >= 1, "a window in the store")
        self.end(child)


class FullDisk(AgentTest):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("tmpfs cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], capture_output=True)
        self.spool = self.disk / "spool"

    def fill(self):
        filler = self.disk / "filler"
        out = os.open(filler, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            while True:
                os.write(out, bytes(4096))
        except OSError:
            os.close(out)
        return filler

    def test_full_disk__windows_wait_in_memory_and_come_in(self):
        child = self.start_agent()
        self.wait_windows(1)
        filler = self.fill()
        wait_for(lambda: "wait in memory" in self.said(), "a window that waits")
        count = len(self.windows())
        filler.unlink()
        self.wait_windows(count + 2)
        self.end(child)
        self.assertIn("written to the spool again", self.said())
        starts = [int(path.name[:20]) for path in self.windows()]
        durations = [self.read(path)["duration_ns"] for path in self.windows()]
        for start, duration, later in zip(starts, durations, starts[1:]):
            self.assertLess(later - start - duration, min(durations))  # no window is missing

    def test_disk_that_stays_full__the_oldest_go_and_a_line_says_so(self):
        self.spool.mkdir()
        oldest = self.spool / f"{1:020}-old.pb.gz"
        oldest.write_bytes(bytes(100 << 10))
        child = self.start_agent()
        self.wait_windows(2)
        self.fill()
        wait_for(lambda: "dropped" in self.said(), "a word about what was dropped")
        self.end(child)
        self.assertFalse(oldest.exists())
        self.assertRegex(self.said(), r"dropped \d+ of the oldest windows of the spool: .*, or its disk is full\n")


class Limits(AgentTest):
    def fresh(self):
        return [path for path in self.windows() if not path.name.endswith("-old.pb.gz")]

    def drop(self, count, size, *options):
        """Old windows in the spool of an agent. Returns those that were kept."""
        self.spool.mkdir()
        for number in range(1, count + 1):
            (self.spool / f"{number:020}-old.pb.gz").write_bytes(bytes(size))
        child = self.start_agent(*options)
        wait_for(lambda: "dropped" in self.said(), "a word about what was dropped")
        # For each of its own another is dropped, once there are as many as may be.
        wait_for(lambda: len(self.fresh()) > 1, "a later window")
        self.end(child)
        fresh = self.fresh()
        self.assertIn("older windows were dropped from the spool",
                      "".join(text(self.ntprof("report", path).stdout) for path in fresh))
        return sorted(int(path.name[:20]) for path in self.windows() if path not in fresh)

    def test_spool_size__oldest_dropped_and_said_in_the_next_window(self):
        kept = self.drop(5, 300 << 10, "--spool-size", "1M")
        self.assertIn(kept, ([3, 4, 5], [4, 5]))

    def test_spool_age__as_many_windows_as_fit_in_it(self):
        kept = self.drop(70, 10, "--spool-age", "1m")
        self.assertEqual(kept, list(range(71 - len(kept), 71)))
        self.assertLess(len(kept), 60)


class Server(AgentTest):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        probe = self.ntprof("agent", "--listen", "1.2.3.4:1", "--spool", self.spool)
        if b"without libmicrohttpd" in probe.stderr:
            self.skipTest("this ntprof was built without libmicrohttpd")
        self.child = self.start_agent("--listen", str(self.port))

    def ask(self, raw, limit=200000):
        """What the server sends until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=harness.TIME_LIMIT_S) as connection:
            try:
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                while len(answer) < limit:
                    more = connection.recv(65536)
                    if not more:
                        break
                    answer += more
            except OSError:  # it was reset
                return b""
        return answer

    def get(self, path, method="GET"):
        answer = self.ask(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), head, body

    def test_paths__answer_what_they_should(self):
        status, _, body = self.get("/healthz")
        self.assertEqual(status, 200)
        self.assertRegex(body, rb"^ok\nthe last window ended \d+\.\d s ago\n$")
        self.assertEqual(self.get("/metrics", "HEAD")[0], 200)
        for path in ("/", "/etc/passwd", "/../../etc/passwd", "/debug/pprof/", "/metrics/x", "/%2e%2e/x"):
            self.assertEqual(self.get(path)[0], 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.assertEqual(self.get("/metrics", method)[0], 405, method)
        for size in (5, 60000):  # pprof asks so for names
            sent = f"POST /debug/pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode()
            self.assertEqual(self.ask(sent + b"+" * size)[9:12], b"405")
        for value in ("0", "301", "-1", "x", "1e9", "99999999999999999999", ""):
            self.assertEqual(self.get("/debug/pprof/profile?seconds=" + value)[0], 400, value)

    def test_host_that_is_not_loopback__is_refused(self):
        """A site whose name leads to 127.0.0.1 would otherwise read it by its visitors' browsers."""
        def status(host):
            return self.ask(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())[9:12]
        for host in ("localhost", "LocalHost:6070", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:6070"):
            self.assertEqual(status(host), b"200", host)
        for host in ("evil.example", "evil.example:6070", "localhost.evil.example", "127.0.0.1.evil.example",
                     "10.0.0.1", "[::2]", "", ":6070", "[", "[::1", "6070", "x" * 300, "localhost:x@evil.example",
                     "localhost:80@evil.example", "[::1]evil.example", "[::1]x:6070", "localhost:6070x",
                     "127.0.0.1:99999",
                     "127.0.0.1:+80", "localhost:6070:6070", "[127.0.0.1]", "::1", "user@localhost", "localhost/x",
                     "localhost evil.example", "[::1%25lo]", "127.1"):
            self.assertIn(status(host), (b"403", b"400"), host)
        self.assertEqual(status("localhost:"), b"200")  # RFC 3986: a port may be empty
        self.assertEqual(status("localhost\r\nHost: localhost"), b"400")
        self.assertEqual(self.ask(b"GET /healthz HTTP/1.0\r\n\r\n")[9:12], b"200")  # no browser

    def test_pages_of_other_sites__are_refused(self):
        def status(*headers, path="/healthz"):
            lines = "".join(f"{header}\r\n" for header in headers)
            return self.ask(f"GET {path} HTTP/1.1\r\nHost: localhost:{self.port}\r\n{lines}"
                            "Connection: close\r\n\r\n".encode())[9:12]
        own = f"http://localhost:{self.port}"
        for headers in (["Sec-Fetch-Site: none"], ["Sec-Fetch-Site: same-origin"], [f"Origin: {own}"],
                        [f"Origin: {own.upper()}", "Sec-Fetch-Site: same-origin"]):
            self.assertEqual(status(*headers), b"200", headers)
        link = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document",
                "Sec-Fetch-User: ?1"]
        for headers in (["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"], ["Sec-Fetch-Site: x"],
                        ["Sec-Fetch-Site:"], ["Origin: null"], ["Origin: http://evil.example"], [f"Origin: {own}x"],
                        ["Origin: http://localhost"], [f"Origin: {own}", "Sec-Fetch-Site: cross-site"],
                        [f"Origin: ftp://localhost:{self.port}"], [f"Origin: {own}/"], link):
            self.assertEqual(status(*headers), b"403", headers)
            self.assertEqual(status(*headers, path="/debug/pprof/profile?seconds=300"), b"403", headers)

    def test_clients_that_hung_up__leave_their_places(self):
        path = "/debug/pprof/profile?seconds="

        def status(seconds):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.TIME_LIMIT_S)
            try:
                connection.request("GET", path + str(seconds))
                return connection.getresponse().status
            finally:
                connection.close()
        for end in ("close", "reset"):
            with self.subTest(end):
                waiting = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(4)]
                for connection in waiting:
                    connection.sendall(f"GET {path}300 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                wait_for(lambda: status(1) == 503, "a refusal")
                for connection in waiting:
                    if end == "reset":
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()
                wait_for(lambda: status(1) == 200, "a place")

    def test_connections_that_drip__are_closed_in_bounded_time(self):
        wait_for(Dripping(self.port, "/healthz").send, "the end of all")
        self.assertEqual(self.get("/healthz")[0], 200)

    def test_connections_that_ask_again__keep_no_place(self):
        asking = Asking(self.port, "/healthz")
        self.assertEqual(asking.ask(), 16)
        wait_for(lambda: asking.ask() == 0, "the end of all")
        self.assertEqual(self.get("/healthz")[0], 200)

    def test_metrics__are_openmetrics_and_add_up(self):
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
        wait_for(lambda: b"ntprof_agent_windows_total 0" not in self.get("/metrics")[2], "a window")
        status, head, body = self.get("/metrics")
        self.assertEqual(status, 200)
        self.assertIn(b"application/openmetrics-text; version=1.0.0", head)
        families = {family.name: family for family in text_string_to_metric_families(text(body))}
        hits = {sample.labels["kind"]: sample.value for sample in families["ntprof_agent_hits"].samples}
        self.assertEqual(hits["taken"], hits["counted"] + hits["outside"])
        self.assertEqual(hits["expected"], sum(hits[part] for part in PARTS))
        self.assertGreater(families["ntprof_agent_cpu_seconds"].samples[0].value, 0)
        self.assertGreaterEqual(families["ntprof_agent_windows"].samples[0].value, 1)
        self.assertGreater(families["ntprof_agent_memory_bytes"].samples[0].value, 1 << 20)

    def test_profile__is_read_by_go_and_its_hits_are_in_windows_too(self):
        if shutil.which("go") is None:
            self.skipTest("no go here")
        self.busy()
        environment = dict(harness.bare_environment(), HOME=str(self.folder), PPROF_TMPDIR=str(self.folder))
        # Of the whole machine: on a busy one this program's functions are not among the first.
        result = self.run_bare(["go", "tool", "pprof", "-timeout", str(harness.TIME_LIMIT_S), "-top",
                                "-nodecount=100000", "-nodefraction=0",
                                f"http://127.0.0.1:{self.port}/debug/pprof/profile?seconds=2"], env=environment)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertIn("right_three_units", text(result.stdout))
        self.assertRegex(text(result.stdout), r"Duration: ([2-9]|\d\d)")
        self.wait_windows(2)
        self.end(self.child)
        sums = sum(self.hits_of(self.read(path), "work-agent") for path in self.windows())
        self.assertGreater(sums, 0)

    def test_too_many_profiles__are_refused_and_end_with_the_agent(self):
        waiting = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(4)]
        for connection in waiting:
            connection.sendall(b"GET /debug/pprof/profile?seconds=300 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: self.get("/debug/pprof/profile?seconds=1")[0] == 503, "a refusal")
        self.end(self.child)
        for connection in waiting:
            with connection:
                self.assertIn(b"503", connection.recv(100))

    def test_garbage__is_refused_and_harms_nobody(self):
        for raw in (b"\0" * 1000, b"GET /metrics HTTP/9.9\r\n\r\n", b"GET " + b"/a" * 20000 + b" HTTP/1.1\r\n\r\n",
                    b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n", b"\r\n\r\n", b"", os.urandom(4096),
                    b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\nx",
                    b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            answer = self.ask(raw)
            self.assertNotIn(b"200 OK", answer[:20], raw[:40])
        idle = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(40)]  # more than it serves
        for connection in idle:
            connection.close()
        self.assertEqual(wait_for(lambda: self.get("/healthz")[0], "an answer"), 200)
        self.assertIsNone(self.child.poll())
        self.end(self.child)


if __name__ == "__main__":
    harness.main()
