#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof store: databases of profiles, as sums, with several writers, and from hostile hands."""
import csv
import json
import os
import random
import resource
import sqlite3
import time
import unittest

import harness
from harness import CommandTest, for_each_user_if_long, program, text

URL = "sqlite:s.db"


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


@for_each_user_if_long
class Store(CommandTest):
    def setUp(self):
        super().setUp()
        if b"without SQLite" in self.ntprof("store", "init", URL).stderr:
            raise unittest.SkipTest("this ntprof was built without SQLite")

    def succeed(self, *words, **given):
        result = self.ntprof(*words, **given)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return result

    def refuse(self, part, *words):
        """The command fails with one line that contains part."""
        result = self.ntprof(*words)
        self.assertEqual(result.returncode, 125, text(result.stderr))
        self.assertEqual(result.stdout, b"")
        self.assertIn(part, text(result.stderr))
        self.assertEqual(len(result.stderr.splitlines()), 1, text(result.stderr))

    def make(self, name, path, interval, *hits):
        made = self.run_bare([program("profile-maker"), "image", name, path, str(interval), *hits])
        self.assertEqual(made.returncode, 0, text(made.stderr))

    def rows(self, name):
        """Those with hits: a store has no others. Nor has it addresses of functions that move."""
        rows = json.loads(self.succeed("report", name, "--json", "--rows", "0",
                                       "--by", "image,address,process").stdout)["rows"]
        for row in rows:
            if row["image"].startswith("["):
                del row["function_address"]
        return sorted(json.dumps(row, sort_keys=True) for row in rows
                      if row["hits"] or any(row.get("by_source", {}).values()))

    def statistics(self):
        return json.loads(self.succeed("store", "stat", URL, "--json").stdout)

    def test_files__the_same_sum_as_merge(self):
        for name, command in ("a", "sum(range(3000000))"), ("b", "[str(i) for i in range(900000)]"):
            result = self.profile("-q", "-o", name, "--", "/usr/bin/python3", "-S", "-c", command)
            self.assertEqual(result.returncode, 0, text(result.stderr))
        self.succeed("merge", "-q", "-o", "sum", "a", "b")
        self.succeed("store", "add", URL, "a", "b")
        self.assertEqual(self.rows(URL), self.rows("sum"))
        merged, stored = (json.loads(self.succeed("report", name, "--json").stdout)["sources"][0]
                          for name in ("sum", URL))
        for figure in ("expected", "taken", "counted", "outside", "lost", "throttled", "missed"):
            self.assertEqual(stored[figure], merged[figure], figure)

    def test_hostile_names__the_same_rows(self):
        made = self.run_bare([program("profile-maker"), "hard", "a"])
        self.assertEqual(made.returncode, 0, text(made.stderr))
        self.succeed("store", "add", URL, "a")
        self.assertEqual(self.rows(URL), self.rows("a"))
        self.succeed("store", "check", URL)

    def test_hits_beyond_53_bits__not_stored(self):
        """The sum of many such windows would not fit in the 63 bits of a database."""
        for start, count, answer in (1000, 2**53, "added"), (2000, 2**53 + 1, "failed a window with more than 2^53"):
            line = f"web1 e1 {start} 60 10000 - - /bin/x aa11 0x1000:{count}"
            done = self.run_bare([program("synthetic-agent"), URL], input=line.encode())
            self.assertTrue(text(done.stdout).startswith(answer), text(done.stdout + done.stderr))
        self.assertEqual(self.statistics()["windows"], 1)

    def test_units__are_rows_of_report_and_diff(self):
        lines = ("web1 e1 1000 60 10000 nginx.service - /bin/x aa11 0x1000:1 0x1040:2",
                 "web1 e1 1060 60 10000 cron.service - /bin/x aa11 0x1000:4",
                 "web2 e2 1000 60 10000 nginx.service - /bin/x bb22 0x1000:800",
                 "db e3 1060 60 10000 - - /bin/y - 0x1000:16")
        self.agent(*lines)
        report = json.loads(self.succeed("report", URL, "--json", "--by", "unit").stdout)
        self.assertEqual([(row["unit"], row["hits"]) for row in report["rows"]],
                         [("nginx.service", 803), ("", 16), ("cron.service", 4)])
        self.assertIn("nginx.service", text(self.succeed("report", URL, "--by", "unit,image").stdout))
        table = text(self.succeed("report", URL, "--csv", "--by", "unit").stdout).splitlines()
        self.assertEqual(next(csv.DictReader(table))["unit"], "nginx.service")
        diff = json.loads(self.succeed("diff", URL + "?host=web1", URL + "?host=web2", "--json", "--all", "--by",
                                       "unit").stdout)["sources"][0]["rows"]
        self.assertEqual({row["unit"]: (row["old_hits"], row["new_hits"]) for row in diff},
                         {"nginx.service": (3, 800), "cron.service": (4, 0)})
        self.make("a", "/bin/x", 10000, "0x1000:1")
        self.refuse("--by unit: the profile has no units", "report", "a", "--by", "unit")

    def test_added_again__changes_nothing(self):
        self.make("a", "/bin/x", 10000, "0x1000:5", "0x2000:7")
        for _ in range(3):
            self.succeed("store", "add", URL, "a")
        self.assertEqual(self.rows(URL), self.rows("a"))
        self.assertEqual(self.statistics()["windows"], 1)

    def test_two_states_of_a_window__the_later_one_whole_in_either_order(self):
        """Code of a JIT compiler has its name in the later state only: its rows have other keys there."""
        first = "web1 {} 1000 30 10000 - - [anon:7]@0x7000 - 0x7000-:5 0x7040-:7 0x7080:1"
        later = "web1 {} 1000 60 10000 - - [anon:7]@0x7000 - 0x7000:6 0x7040:8 0x7080:3"
        for epoch, states in ("e1", (first, later)), ("e2", (later, first)), ("e3", (first, later, first, later)):
            with self.subTest(epoch):
                self.agent(*(state.format(epoch) for state in states))
                self.succeed("store", "check", URL)
                self.assertEqual({row["function"]: row["hits"] for row in self.report("--rows", "0")["rows"]},
                                 {"work_1c0": 6, "work_1c1": 8, "work_1c2": 3})
                self.assertEqual(self.report()["duration_ns"], 60 * 10**9)
                self.succeed("store", "prune", URL, "--before", "0s")

    def test_hosts__are_windows_of_their_own(self):
        self.make("a", "/bin/x", 10000, "0x1000:5")
        for host in "web1", "web2", "db'; DROP TABLE hits; --":
            self.succeed("store", "add", URL, "--host", host, "a")
        for url, hits in ((URL, 15), (URL + "?host=web*", 10), (URL + "?host=db'*", 5)):
            rows = json.loads(self.succeed("report", url, "--json", "-e", "time").stdout)["rows"]
            total = sum(row["hits"] for row in rows if row["image"] == "/bin/x")
            self.assertEqual(total, hits, url)
        self.refuse("no window is selected", "report", URL + "?host=other")

    def test_several_intervals_and_buckets__values_add_up(self):
        """As where an agent changes its rate: in every command that reads a store."""
        self.agent("web1 e1 1000 60 10000 - - /bin/x aa11 0x1000:100 0x1040:50",
                   "web1 e1 1060 60 20000 - - /bin/x aa11 0x1000:100 0x1080:50")
        self.make("a", "/bin/y", 15000, "0x1000:10")  # in buckets of 4 bytes, these of 16
        self.succeed("store", "add", URL, "--host", "two", "a")
        for folded in False, True:
            if folded:
                self.succeed("store", "fold", URL)
            report = self.report()
            source = next(one for one in report["sources"] if one["name"] == "time")
            self.assertEqual(sorted(part["granted"] for part in source["intervals"]), [10000, 15000, 20000])
            # Hits times interval, and what is outside and lost of a's.
            one = 10**6 * (1 + 5 * 15000 / (150 * 10000 + 150 * 20000 + 13 * 15000))
            found = {row["function"]: (row["by_source"]["time"], row["estimate"] / one) for row in report["rows"]}
            for name, hits, ms in (("work_40", 200, 300), ("work_41", 50, 50), ("work_42", 50, 100),
                                   ("[no symbols] in y", 10, 15), ("[no image]", 3, 4.5)):
                self.assertEqual(found[name][0], hits)
                self.assertAlmostEqual(found[name][1], ms, places=5)
            self.assertIn("time at 3 rates: 1000 Hz, 500 Hz, 667 Hz (shares are of time)",
                          text(self.succeed("report", URL).stdout))
        self.succeed("merge", "-q", "-o", "sum", URL)
        self.assertEqual(self.rows(URL), self.rows("sum"))
        same = json.loads(self.succeed("diff", URL, "sum", "--all", "--json").stdout)["sources"][0]
        self.assertEqual({row["change"] for row in same["rows"]}, {0})
        exported = self.succeed("export", "--format", "csv", URL)
        self.assertIn("time at 3 rates", text(exported.stderr))
        # In units of 5000, which all three are multiples of.
        self.assertEqual(sum(int(line.split(",")[0]) for line in text(exported.stdout).splitlines()
                             if ",time," in line and "work_40" in line), 600)
        page = self.page()["sources"]
        self.assertEqual([one["granted"] for one in page if one["name"] == "time"], ["5000"])
        self.succeed("export", "--format", "pprof", "-o", "again", URL)
        self.assertEqual(self.rows(URL), self.rows("again"))
        self.succeed("store", "check", URL)

    def test_what_a_store_does_not_keep__said(self):
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.succeed("store", "add", URL, "a")
        self.refuse("--tree: stores keep no stacks", "report", "--tree", URL)
        self.refuse("--callers-of: stores keep no stacks", "report", "--callers-of", "x", URL)
        self.refuse("--by thread: stores keep no threads", "report", "--by", "thread", URL)
        self.refuse("stores keep no stacks, so there is no flame graph", "export", "--format", "svg", URL)

    def test_every_reading_command__takes_a_store(self):
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.succeed("store", "add", URL, "a")
        self.succeed("diff", URL, "a")
        self.succeed("merge", "-q", "-o", "sum", URL)
        self.succeed("export", "--format", "csv", URL)
        self.assertEqual(self.rows("sum"), self.rows("a"))

    def agent(self, *windows):
        """Adds windows: HOST EPOCH START_S LENGTH_S INTERVAL UNIT LABEL IMAGE BUILD ADDRESS:HITS..."""
        done = self.run_bare([program("synthetic-agent"), URL], input="\n".join(windows).encode())
        self.assertEqual(done.stdout.split(), [b"added"] * len(windows), text(done.stdout + done.stderr))

    def report(self, *words):
        return json.loads(self.succeed("report", URL, "--json", *words).stdout)

    def hits(self, *words):
        return sum(row["hits"] for row in self.report("--rows", "0", *words)["rows"])

    def test_selections__as_options_and_in_urls(self):
        self.agent("web1 e1 1000 60 10000 nginx.service env=prod /bin/x aa11 0x1000:1 0x1040:2",
                   "web1 e1 1060 60 10000 cron.service env=prod /bin/x aa11 0x1000:4",
                   "web2 e2 1000 60 10000 nginx.service env=test /bin/x bb22 0x1000:8",
                   "db e3 1060 60 10000 - - /bin/y - 0x1000:16")
        for words, hits in (
                ((), 31), (("--host", "web*"), 15), (("--unit", "nginx*"), 11), (("--label", "env=prod"), 7),
                (("--label", "env=pro"), 0), (("--label", "env=prod", "--label", "boot=boot-1"), 7),
                (("--label", "boot=other"), 0), (("--build-id", "bb"), 8),
                (("--host", "web1", "--unit", "nginx.service", "--build-id", "aa"), 3)):
            with self.subTest(words=words):
                if hits == 0:
                    self.refuse("no window is selected", "report", URL, *words)
                    continue
                self.assertEqual(self.hits(*words), hits)
                query = "&".join(f"{name[2:]}={value}" for name, value in zip(words[::2], words[1::2]))
                rows = json.loads(self.succeed("report", f"{URL}?{query}" if query else URL, "--json",
                                               "--rows", "0").stdout)["rows"]
                self.assertEqual(sum(row["hits"] for row in rows), hits)
        rows = json.loads(self.succeed("report", URL + "?build=aa11", "--json", "--host", "*").stdout)["rows"]
        self.assertEqual(sum(row["hits"] for row in rows), 7)
        for words, named in ((("--unit", "ssh.service"), "unit ssh.service"), (("--build-id", "zz"), "build-id zz"),
                             (("--unit", "cron*", "--build-id", "bb"), "unit cron* and build-id bb")):
            self.refuse(f"nothing selected has {named}", "report", URL, *words)
        self.refuse("nothing selected has image busy", "report", URL + "?image=busy")
        # The other side, or file, may have the rows.
        self.succeed("diff", URL + "?build=aa11", URL + "?build=zz", "--all")
        self.succeed("merge", "-q", "-o", "sum", URL + "?build=aa11", URL + "?build=zz")
        self.refuse("select no row of either profile", "diff", URL, URL, "--unit", "none")
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.refuse("--since selects only in a store", "report", "a", "--since", "1h")
        self.refuse("write KEY=VALUE", "report", URL, "--label", "env")

    def test_long_label__selects_what_has_it(self):
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.succeed("store", "add", URL, "a", "--label", "k=" + 1500 * "v")
        self.assertEqual(self.hits("--label", "k=" + 1500 * "v"), 8)
        self.refuse("no window is selected", "report", URL, "--label", "k=" + 1499 * "v")

    def test_missing_windows__are_reported(self):
        self.agent(*(f"web1 e1 {1000 + 60 * i} 60 10000 - - /bin/x - 0x1000:1" for i in range(10)),
                   *(f"web2 e2 {1000 + 60 * i} 60 10000 - - /bin/x - 0x1000:1" for i in range(10) if i not in (3, 4)),
                   "web3 e3 100 60 10000 - - /bin/x - 0x1000:1")
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.succeed("store", "add", URL, "--host", "laptop", "a")
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(1000))
        until = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(1600))
        report = self.report("--since", since, "--until", until)
        self.assertEqual(report["gaps"], "no windows of web3; of 10m windows are missing on web2 (2m)")
        self.assertIn("18 windows of 2 hosts", report["limits"])
        self.assertEqual(self.report("--since", since, "--until", until, "--host", "web1")["gaps"], "")
        self.assertEqual(self.report("--host", "laptop")["gaps"], "")

    def test_copies_of_a_file__hits_are_added_up(self):
        self.agent("web1 e1 1000 60 10000 a - /opt/one/x aa11 0x1000:1",
                   "web1 e1 1060 60 10000 b - /opt/two/x aa11 0x1000:2",
                   "web1 e1 1120 60 10000 a - /opt/two/x aa11 0x1000:1")
        self.assertEqual(self.hits(), 4)

    def page(self, *words):
        """The profile in the page of a store."""
        self.succeed("export", "--format", "html", "-o", "page.html", URL, *words)
        return harness.page_data((self.folder / "page.html").read_bytes())["profile"]

    def test_kernel_of_several_boots__one_image_in_rows_and_pages(self):
        self.agent("web1 e1 1000 60 10000 - - [kernel]@0xffffffff81000000 - 0xffffffff81000040:1 0xffffffff81000080:2",
                   "web1 e2 2000 60 10000 - - [kernel]@0xffffffff91000000 - 0xffffffff81000040:4 0xffffffff91000080:8",
                   "web1 e3 3000 60 10000 - - [anon:7]@0x7000 - 0x7040:16",
                   "web1 e4 4000 60 10000 - - [anon:7]@0x8000 - 0x8040:32",
                   "web1 e5 5000 60 10000 - - /bin/old@0x1000 - 0x1040:64",
                   "web1 e6 6000 60 10000 - - /bin/old@0x2000 - 0x2040:128")
        page = self.page()
        self.assertEqual(sorted(page["texts"][image[0]] for image in page["images"]),
                         ["/bin/old", "[anon:7]", "[kernel]"])
        self.succeed("merge", "-q", "-o", "sum", URL)
        self.assertEqual(self.rows(URL), self.rows("sum"))
        functions = {row["function"]: row["hits"]
                     for row in self.report("--image", "[[]kernel*", "--rows", "0")["rows"]}
        self.assertEqual(len(functions), 3)
        self.assertEqual(sum(functions.values()), 15)
        self.assertIn(5, functions.values())

    def test_interval__one_is_selected(self):
        self.agent("a e 1000 60 10000 - - /bin/x - 0x1000:1", "a e 1060 60 20000 - - /bin/x - 0x1000:2")
        self.assertEqual(self.hits(), 3)
        rows = json.loads(self.succeed("report", URL + "?interval=20000", "--json").stdout)["rows"]
        self.assertEqual(sum(row["hits"] for row in rows), 2)

    def test_symbolize__adds_names_of_files(self):
        self.profile("-q", "--no-lines", "-o", "a", "--", "/usr/bin/python3", "-S", "-c", "sum(range(3000000))")
        self.succeed("store", "add", URL, "a")
        for name, what in ("a", "ntprof report --symbolize adds"), (URL, "ntprof store symbolize adds"):
            for key in "line", "inline":
                self.assertIn(what, text(self.succeed("report", name, "--by", key).stdout))
            self.assertNotIn("no lines are stored", text(self.succeed("report", name).stdout))
        # Nothing is advised that was done just now.
        for result in (self.succeed("report", "a", "--symbolize", "--by", "line"),
                       self.profile("--by", "line", "--", "/usr/bin/python3", "-S", "-c", "sum(range(3000000))")):
            self.assertNotIn("symbolize adds", text(result.stdout) + text(result.stderr))
        self.database().execute("UPDATE place SET function = (SELECT id FROM function WHERE name = ''), line = 0, "
                                "quality = 0, frame = (SELECT id FROM frame WHERE function = (SELECT id FROM function "
                                "WHERE name = '')) WHERE variant = 0")
        nameless = self.rows(URL)
        said = text(self.succeed("store", "symbolize", URL).stderr)
        self.assertIn("places without a name or a line have one now", said)
        self.assertNotEqual(self.rows(URL), nameless)
        named = self.ntprof("report", "a", "--symbolize", "-o", "b")
        self.assertEqual(named.returncode, 0, text(named.stderr))
        self.assertEqual(self.rows(URL), self.rows("b"))
        self.succeed("store", "check", URL)

    # What version 3 of the tables lacks.
    TO_VERSION_3 = """
        CREATE TABLE function_3(id INTEGER PRIMARY KEY, name TEXT NOT NULL, system_name TEXT NOT NULL,
            file TEXT NOT NULL, start_line INTEGER NOT NULL, UNIQUE(system_name, name, file, start_line));
        INSERT INTO function_3 SELECT id, name, system_name, file, start_line FROM function;
        DROP TABLE function; ALTER TABLE function_3 RENAME TO function;
        ALTER TABLE place DROP COLUMN quality; ALTER TABLE accounting DROP COLUMN outside_kernel;
        PRAGMA user_version=3;"""

    def test_store_of_the_version_before__read_as_it_is_and_upgraded_by_a_command(self):
        self.agent("web1 e1 1000 60 10000 - - /bin/x aa11 0x1000:1 0x1040:2")
        self.make("a", "/bin/x", 10000, "0x1000:5")
        rows = self.rows(URL)
        self.database().executescript(self.TO_VERSION_3)
        self.assertEqual(self.rows(URL), rows)
        self.succeed("store", "check", URL)
        self.refuse("to convert it, once: ntprof store upgrade sqlite:", "store", "add", URL, "a")
        for _ in range(2):
            self.succeed("store", "upgrade", URL)
            self.assertEqual(self.rows(URL), rows)
        self.succeed("store", "check", URL)
        # The same places again, by an agent that knows where functions begin.
        self.agent("web1 e2 2000 60 10000 - - /bin/x aa11 0x1000@0x1000:4 0x1040@0x1040:8")
        self.assertEqual([(row["function"], row["hits"], row["function_address"])
                          for row in self.report("--image", "/bin/x", "--build-id", "aa")["rows"]],
                         [("work_41", 10, "0x1040"), ("work_40", 5, "0x1000")])
        self.succeed("store", "prune", URL, "--before", "0s")
        self.assertEqual(self.statistics()["places"], 0)

    def make_outside(self, name, outside, kernel, *words):
        made = self.run_bare([program("profile-maker"), "outside", name, str(outside), str(kernel), *words])
        self.assertEqual(made.returncode, 0, text(made.stderr))

    def outside(self, name):
        """Rows of hits outside, and the statistics of these."""
        report = json.loads(self.succeed("report", name, "--json", "--rows", "0").stdout)
        return ({row["function"]: row["hits"] for row in report["rows"] if row["image"].startswith("[")},
                report["sources"][0]["outside"], report["sources"][0]["outside_kernel"])

    def test_outside_in_kernel_mode__as_in_the_files(self):
        self.make_outside("a", 90, 60)
        self.make_outside("b", 7, 7)
        self.succeed("merge", "-q", "-o", "sum", "a", "b")
        self.succeed("store", "add", URL, "--host", "a", "a")
        self.assertEqual(self.outside(URL), ({"[kernel, unknown]": 60, "[no image]": 30}, 90, 60))
        self.succeed("store", "add", URL, "--host", "b", "b")
        self.assertEqual(self.outside(URL), self.outside("sum"))
        self.assertEqual(self.outside(URL), ({"[kernel, unknown]": 67, "[no image]": 30}, 97, 67))
        self.assertEqual(self.outside(URL + "?host=b"), ({"[kernel, unknown]": 7}, 7, 7))
        self.succeed("store", "fold", URL)
        self.assertEqual(self.outside(URL), self.outside("sum"))

    def test_rows_that_are_selected__hits_in_no_row_are_none_of_them(self):
        self.make_outside("a", 90, 60)
        self.succeed("store", "add", URL, "a")
        rows = json.loads(self.succeed("report", URL, "--json", "--rows", "0").stdout)["rows"]
        image = next(row["image"] for row in rows if row["image"].startswith("/"))
        self.assertEqual(self.outside(f"{URL}?image={image}"), ({}, 90, 60))
        for selected, named in (
                ("image=/none", "image /none"), ("unit=none", "unit none"), ("build=00", "build-id 00")):
            with self.subTest(selected):
                self.refuse(f"nothing selected has {named}\n", "report", f"{URL}?{selected}")
        self.succeed("store", "fold", URL)
        self.assertEqual(self.outside(f"{URL}?image={image}"), ({}, 90, 60))

    def test_user_mode_left_out__only_where_all_windows_left_it_out(self):
        self.make_outside("a", 90, 60, "--kernel")
        self.make_outside("b", 7, 3)
        self.succeed("merge", "-q", "-o", "sum", "a", "b")
        self.succeed("store", "add", URL, "--host", "a", "a")
        self.assertEqual(self.outside(URL), ({"[kernel, unknown]": 60, "[user mode]": 30}, 90, 60))
        self.succeed("store", "add", URL, "--host", "b", "b")
        self.assertEqual(self.outside(URL), ({"[kernel, unknown]": 63, "[no image]": 34}, 97, 63))
        self.assertEqual(self.outside(URL), self.outside("sum"))

    def test_outside_in_kernel_mode_of_agents__the_later_state_counts(self):
        window = "web1 e1 1000 60 10000 - - /bin/x aa11 0x1000:1 outside:"
        self.agent(window + "5:2", window + "9:4", window + "3:1")
        self.assertEqual(self.outside(URL), ({"[kernel, unknown]": 4, "[no image]": 5}, 9, 4))

    def test_outside_in_kernel_mode__unknown_in_the_version_before(self):
        self.make_outside("a", 90, 60)
        self.succeed("store", "add", URL, "--host", "a", "a")
        self.database().executescript(self.TO_VERSION_3)
        self.assertEqual(self.outside(URL), ({"[no image]": 90}, 90, 0))
        self.succeed("store", "check", URL)
        self.succeed("store", "upgrade", URL)
        self.assertEqual(self.outside(URL), ({"[no image]": 90}, 90, 0))
        self.make_outside("b", 7, 3)
        self.succeed("store", "add", URL, "--host", "b", "b")
        self.assertEqual(self.outside(URL), ({"[kernel, unknown]": 3, "[no image]": 94}, 97, 3))

    def test_figures_that_contradict__refused(self):
        self.make_outside("a", 90, 60)
        self.succeed("store", "add", URL, "a")
        for change in "outside_kernel = 91", "outside_kernel = -1", "outside = 92":
            with self.subTest(change):
                self.database().executescript("CREATE TABLE kept AS SELECT * FROM accounting;"
                                              f"UPDATE accounting SET {change};")
                for words in ("report", URL), ("store", "check", URL):
                    self.refuse("has more hits outside than taken, or more of them in kernel mode", *words)
                self.database().executescript("DELETE FROM accounting; INSERT INTO accounting SELECT * FROM kept;"
                                              "DROP TABLE kept;")
        self.succeed("report", URL)

    def test_functions__are_those_of_the_files(self):
        """Two functions of one name, code without a name, and inlined code, as rows of each kind."""
        for name in "ab":
            made = self.run_bare([program("profile-maker"), "functions", name])
            self.assertEqual(made.returncode, 0, text(made.stderr))
            self.succeed("store", "add", URL, "--host", name, name)
        self.succeed("merge", "-q", "-o", "sum", "a", "b")
        for keys in "function", "inline", "function,inline", "line", "image", "address":
            with self.subTest(keys=keys):
                stored, merged = (json.loads(self.succeed("report", name, "--json", "--rows", "0", "--by",
                                                          keys).stdout)["rows"] for name in (URL, "sum"))
                self.assertEqual(sorted(json.dumps(row, sort_keys=True) for row in stored),
                                 sorted(json.dumps(row, sort_keys=True) for row in merged))
        rows = [row for row in self.report("--rows", "0")["rows"] if row["image"] == "/usr/bin/app"]
        self.assertEqual(sorted((row["function"], row["function_address"], row["hits"]) for row in rows),
                         [("app!0x4000", "0x4000", 8), ("outer", "0x3000", 16), ("same", "0x1000", 2),
                          ("same", "0x2000", 4)])
        self.assertEqual(self.hits("--by", "inline", "--symbol", "inner", "--image", "/usr/bin/app"), 16)
        self.succeed("diff", URL + "?host=a", URL + "?host=b", "--all")
        self.succeed("store", "check", URL)

    def test_max_size__the_oldest_go(self):
        rows = " ".join(f"{0x1000 + 16 * k:#x}:1" for k in range(3000))
        self.agent(*(f"web1 e1 {1000 + 60 * i} 60 10000 - - /bin/x - {rows}" for i in range(40)))
        limit = self.statistics()["bytes"] // 2
        self.succeed("store", "prune", URL, "--max-size", str(limit))
        left = self.statistics()
        self.assertLessEqual(left["bytes"], limit)
        self.assertGreater(left["windows"], 5)
        self.assertEqual(left["last_ns"], (1000 + 60 * 40) * 10**9)
        self.succeed("store", "check", URL)

    def test_prune__removes_old_windows_and_their_names(self):
        self.make("a", "/bin/x", 10000, *(f"{0x1000 + 16 * i:#x}:1" for i in range(5000)))
        self.succeed("store", "add", URL, "a")
        before = self.statistics()
        self.assertIn(b"removed 1 window", self.succeed("store", "prune", URL, "--before", "0s").stderr)
        after = self.statistics()
        self.assertEqual((after["windows"], after["rows"], after["places"]), (0, 0, 0))
        self.assertLess(after["bytes"], before["bytes"])
        self.succeed("store", "check", URL)

    def change(self, *statements):
        database = sqlite3.connect(self.folder / "s.db")
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()

    TWO_DAYS = ("web1 e1 1000 60 10000 nginx.service env=prod /bin/x aa11 0x1000:1 0x1040:2",
                "web1 e1 86300 60 10000 cron.service env=prod /bin/x aa11 0x1000:4",
                "web1 e1 87000 60 10000 cron.service env=test /bin/x aa11 0x1000:8",
                "web2 e2 1000 60 10000 nginx.service env=test /bin/x bb22 0x1000:16")

    def test_fold__sums_are_the_same_and_follow_later_windows(self):
        self.agent(*self.TWO_DAYS)
        rows = self.rows(URL)
        self.assertIn(b"folded 2 days", self.succeed("store", "fold", URL).stderr)
        self.assertIn(b"folded 0 days", self.succeed("store", "fold", URL).stderr)
        self.succeed("store", "check", URL)
        self.assertEqual(self.rows(URL), rows)
        # That sums are what is read of whole days, and nothing else: more hits in them are seen.
        self.change("UPDATE sums SET count = count + 100 WHERE host = (SELECT id FROM host WHERE name = 'web2')")
        self.refuse("sums of days are not those of their windows", "store", "check", URL)
        for selected, hits in (((), 131), (("--host", "web1"), 15), (("--label", "env=test"), 124),
                               (("--label", "env=prod"), 7), (("--unit", "nginx*"), 119), (("--build-id", "bb"), 116),
                               (("--since", "1970-01-02T00:05"), 8)):
            self.assertEqual(self.hits(*selected), hits, selected)
        self.agent("web2 e3 5000 60 10000 - - /bin/x aa11 0x1000:1000")
        self.assertEqual(self.hits(), 1031)
        self.assertIn(b"folded 1 day", self.succeed("store", "fold", URL).stderr)
        self.assertEqual(self.hits(), 1031)
        self.succeed("store", "check", URL)
        self.agent("web2 e3 5000 60 10000 - - /bin/x aa11 0x1000:1500")  # the same window has more by now
        self.assertEqual(self.hits(), 1531)

    def test_fold_of_days_that_go_on__waits(self):
        now = int(time.time())
        self.agent(*self.TWO_DAYS, f"web1 e1 {now - 120} 60 10000 - - /bin/x aa11 0x1000:32")
        self.assertIn(b"folded 2 days", self.succeed("store", "fold", URL).stderr)
        self.assertEqual(self.hits(), 63)

    def test_prune_of_folded_days__sums_go(self):
        self.agent(*self.TWO_DAYS)
        self.succeed("store", "fold", URL)
        self.succeed("store", "prune", URL, "--before", "1970-01-01T12:00")
        self.assertEqual(self.hits(), 12)
        self.succeed("store", "check", URL)
        self.succeed("store", "fold", URL)
        self.succeed("store", "check", URL)
        self.assertEqual(self.hits(), 12)

    def test_folds_and_writers_at_once__sums_are_whole(self):
        self.agent(*self.TWO_DAYS)
        for count in range(1, 6):
            folds = [self.start(self.arguments("store", "fold", URL)) for _ in range(2)]
            self.agent(*(f"web{k} e9 {2000 + 60 * count} 60 10000 - - /bin/x aa11 0x1000:100" for k in range(1, 6)))
            if count == 3:
                folds[0].kill()
            for fold in folds:
                fold.wait(timeout=harness.TIME_LIMIT_S)
            self.assertEqual(self.hits(), 31 + 500 * count)
        self.succeed("store", "fold", URL)
        self.assertEqual(self.hits(), 2531)
        self.succeed("store", "check", URL)

    def test_writers_at_once_killed_at_random__sums_are_whole(self):
        names = []
        for i in range(8):
            names.append(f"p{i}")
            self.make(names[-1], f"/bin/x{i}", 10000, *(f"{0x1000 + 16 * k:#x}:{i + 1}" for k in range(400)))
        chance = random.Random(7)
        for _ in range(6):
            writers = [self.start(self.arguments("store", "add", URL, "--host", name, name)) for name in names]
            time.sleep(chance.random() / 20)
            for writer in writers:
                writer.kill()
            for writer in writers:
                writer.wait()
            self.succeed("store", "check", URL)
        for name in names:
            self.succeed("store", "add", URL, "--host", name, name)
        self.succeed("merge", "-q", "-o", "sum", *names)
        self.assertEqual(self.rows(URL), self.rows("sum"))

    def test_refusals__say_what_to_do(self):
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.succeed("store", "add", URL, "a")
        for part, *words in (
                ("store init", "report", "sqlite:none.db"),
                ("nothing stands behind the colon", "report", "sqlite:"),
                ("is no parameter", "report", URL + "?sinc=1h"),
                ("is no time", "report", URL + "?since=soon"),
                ("is no time", "report", URL + "?since=1hZ"),
                ("is no time", "report", URL + "?since=2026-02-29"),
                ("is no time", "report", URL + "?until=2026-11-31T10:30Z"),
                ("is no time", "report", URL + "?since=2026-11-23T10:30+01:00"),
                ("is no time", "report", URL + "?since=2026-11-23T10:30ZZ"),
                ("since must be earlier than until", "report", URL + "?since=2026-11-23&until=2026-11-22"),
                ("since must be earlier than until", "report", URL, "--since", "1h", "--until", "2h"),
                ("has no value", "report", URL + "?host"),
                ("exists already", "store", "init", URL),
                ("no FILE was named", "store", "add", URL),
                ("takes no word", "store", "stat", URL, "a"),
                ("both are missing", "store", "prune", URL),
                ("is no time", "store", "prune", URL, "--before", "x"),
                ("is none of", "store", "grow", URL),
                ("sqlite:PATH", "store", "stat", "s.db"),
                ("select what is read", "store", "stat", URL + "?host=x"),
                ("not a database; a file with a profile is named without sqlite:", "report", "sqlite:a"),
                ("is no regular file", "report", "sqlite:/dev/null")):
            self.refuse(part, *words)

    def test_no_store__nothing_is_made_beside_it(self):
        """As if sqlite: stood before a file by mistake."""
        self.make("a", "/bin/x", 10000, "0x1000:5")
        other = sqlite3.connect(self.folder / "other.db")
        other.execute("CREATE TABLE t (x)")
        other.commit()
        other.close()
        (self.folder / "empty").touch()
        before = sorted(os.listdir(self.folder))
        for part, name in (("is not a database", "a"), ("of another program", "other.db"),
                           ("of another program", "empty")):
            for words in (["report"], ["store", "check"], ["store", "stat"]):
                self.refuse(part, *words, "sqlite:" + name)
            self.refuse(part, "store", "add", "sqlite:" + name, "a")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_name_that_an_address_would_read_otherwise__a_store(self):
        name = "sqlite:a%41b#c d&e=f.db"
        self.succeed("store", "init", name)
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.succeed("store", "add", name, "a")
        self.assertEqual(self.rows(name), self.rows("a"))

    def test_local_times_that_are_twice__are_the_first_whatever_was_read_before(self):
        # In Berlin 02:29 is 00:29 and 01:29 UTC on this day, which begin these windows.
        self.agent("web1 e1 1792888140 60 10000 - - /bin/x aa11 0x1000:1",
                   "web1 e1 1792891740 60 10000 - - /bin/x aa11 0x1000:2")
        for before in ("", "until=2026-12-24&", "until=2027-07-01&"):
            for since, hits in (("2026-10-25T02:29", 3), ("2026-10-25T02:30", 2), ("2026-10-25T00:30Z", 2)):
                with self.subTest(since, before=before):
                    told = self.succeed("report", f"{URL}?{before}since={since}", "--json",
                                        env=dict(os.environ, TZ="Europe/Berlin"))
                    self.assertEqual(json.loads(told.stdout)["sources"][0]["taken"], hits)

    def test_times_of_utc__whatever_the_zone_is(self):
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.succeed("store", "add", URL, "a")
        with self.database() as store:
            store.execute("UPDATE window SET start_ns = 1790000000000000000, end_ns = 1790000001000000000")
        store.close()
        for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
            with self.subTest(zone):
                for name, part in (("since=2026-09-21T14:13:20Z", None), ("since=2026-09-21T14:13:21Z", "no window"),
                                   ("until=2026-09-21T14:13:21Z", None), ("until=2026-09-21T14:13:20Z", "no window"),
                                   ("until=2026-09-21Z", "no window"), ("since=2026-09-21T14:13Z", None)):
                    result = self.ntprof("report", f"{URL}?{name}", env=dict(os.environ, TZ=zone))
                    self.assertEqual(result.returncode, 125 if part else 0, name + text(result.stderr))
                    self.assertIn(part or "", text(result.stderr))

    def test_init__follows_no_link_and_leaves_nothing_after_a_failure(self):
        os.symlink(self.folder / "aim.db", self.folder / "link.db")
        self.refuse("exists already", "store", "init", "sqlite:link.db")
        self.assertFalse((self.folder / "aim.db").exists())
        full = self.ntprof("store", "init", "sqlite:full.db", preexec_fn=limit_files)
        self.assertEqual(full.returncode, 125)
        self.assertFalse((self.folder / "full.db").exists())
        (self.folder / "real").mkdir()
        if self.user is not None:
            os.chown(self.folder / "real", self.user, self.user)
        os.symlink("real", self.folder / "way")
        self.succeed("store", "init", "sqlite:way/s.db")
        self.succeed("store", "stat", "sqlite:way/s.db")

    def database(self):
        return sqlite3.connect(os.path.join(self.folder, "s.db"), isolation_level=None)

    def test_files__are_their_owners_alone_whatever_the_umask(self):
        for mode, folder in (0o755, "private"), (0o1777, "common"):
            (self.folder / folder).mkdir()
            (self.folder / folder).chmod(mode)
            if self.user is not None:
                os.chown(self.folder / folder, self.user, self.user)
            url = f"sqlite:{folder}/s.db"
            self.succeed("store", "init", url, preexec_fn=lambda: os.umask(0))
            self.succeed("store", "prune", url, "--before", "1d", preexec_fn=lambda: os.umask(0))
            files = sorted((self.folder / folder).iterdir())
            self.assertEqual({file.stat().st_mode & 0o7777 for file in files}, {0o600}, files)
            # Where others could make them, the files beside it stay.
            self.assertEqual([file.name for file in files],
                             ["s.db"] + ["s.db-journal", "s.db-shm", "s.db-wal"] * (mode == 0o1777))
        (self.folder / "common").chmod(0o777)
        self.refuse("every user may write to the folder", "store", "stat", "sqlite:common/s.db")

    def test_files_in_a_folder_of_another_user__made_first_and_kept(self):
        """That user may make files there, whatever the mode of the folder."""
        if self.user is not None or not harness.is_root():
            self.skipTest("needs root")
        (self.folder / "own").mkdir(0o755)
        os.chown(self.folder / "own", harness.USER, harness.USER)
        self.succeed("store", "init", "sqlite:own/s.db")
        self.succeed("store", "stat", "sqlite:own/s.db")
        files = sorted((self.folder / "own").iterdir())
        self.assertEqual([file.name for file in files], ["s.db", "s.db-journal", "s.db-shm", "s.db-wal"])
        self.assertEqual({file.stat().st_uid for file in files}, {os.geteuid()})

    def test_files_beside_it__must_be_regular_files_of_the_same_owner(self):
        for name in "s.db-wal", "s.db-shm", "s.db-journal":
            for make in os.mkfifo, os.mkdir, lambda path: os.symlink("a", path):
                make(self.folder / name)
                self.refuse(f"{name} beside it is no regular file", "store", "stat", URL)
                self.assertEqual(len(list(self.folder.glob("s.db*"))), 2)
                if (self.folder / name).is_dir():
                    (self.folder / name).rmdir()
                else:
                    (self.folder / name).unlink()
        if harness.is_root() and self.user is None:
            (self.folder / "s.db-wal").touch()
            os.chown(self.folder / "s.db-wal", harness.USER, harness.USER)
            self.refuse("belongs to another user", "store", "stat", URL)
            (self.folder / "s.db-wal").unlink()
            os.chown(self.folder / "s.db", harness.USER, harness.USER)
            self.refuse("ntprof serve", "store", "stat", URL)
            # The owner of a service's folder may do there what he likes anyway.
            os.chown(self.folder, harness.USER, harness.USER)
            self.succeed("store", "stat", URL)
            self.assertEqual({file.stat().st_uid for file in self.folder.glob("s.db*")}, {harness.USER})

    def test_init__does_not_use_what_an_old_store_left(self):
        for suffix in "-wal", "-shm", "-journal":
            (self.folder / f"new.db{suffix}").write_bytes(b"left over" * 100)
            if self.user is not None:
                os.chown(self.folder / f"new.db{suffix}", self.user, self.user)
        self.succeed("store", "init", "sqlite:new.db")
        self.succeed("store", "check", "sqlite:new.db")
        os.mkfifo(self.folder / "other.db-wal")
        self.refuse("there is a file other.db-wal already", "store", "init", "sqlite:other.db")
        self.assertFalse((self.folder / "other.db").exists())

    def test_foreign_or_changed_tables__refused(self):
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.succeed("store", "add", URL, "a")
        for part, statement in (
                ("another program", "PRAGMA application_id=5"),
                ("another version", "PRAGMA user_version=1"),
                ("triggers", "CREATE TRIGGER t AFTER INSERT ON hits BEGIN DELETE FROM hits; END"),
                ("triggers", "CREATE VIEW v AS SELECT 1"),
                ("no such table", "DROP TABLE image"),
                ("inlined calls", "UPDATE frame SET caller = id"),
                ("hits", "UPDATE hits SET count = -1")):
            os.rename(os.path.join(self.folder, "s.db"), os.path.join(self.folder, "kept"))
            with open(os.path.join(self.folder, "kept"), "rb") as kept, \
                    open(os.path.join(self.folder, "s.db"), "wb") as copy:
                copy.write(kept.read())
            if self.user is not None:
                os.chown(self.folder / "s.db", self.user, self.user)
            with self.subTest(statement=statement):
                database = self.database()
                database.execute(statement)
                database.close()
                self.refuse(part, "store", "check", URL)
            os.replace(os.path.join(self.folder, "kept"), os.path.join(self.folder, "s.db"))

    def test_damaged_bytes__a_line_and_no_crash(self):
        self.make("a", "/bin/x", 10000, *(f"{0x1000 + 16 * i:#x}:1" for i in range(300)))
        self.succeed("store", "add", URL, "a")
        with open(os.path.join(self.folder, "s.db"), "rb") as file:
            whole = file.read()
        chance = random.Random(3)
        for _ in range(40):
            damaged = bytearray(whole[:chance.choice([len(whole), len(whole) // 2, 5000])])
            for _ in range(chance.randrange(1, 30)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            with open(os.path.join(self.folder, "s.db"), "wb") as file:
                file.write(damaged)
            result = self.ntprof("report", URL, "--rows", "0")
            self.assertIn(result.returncode, (0, 125), text(result.stderr))


if __name__ == "__main__":
    harness.main()
