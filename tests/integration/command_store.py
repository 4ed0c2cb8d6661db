#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof store: databases of profiles, as sums, with several writers, and from hostile hands."""
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
        """Those with hits: a store has no others."""
        rows = json.loads(self.succeed("report", name, "--json", "--rows", "0",
                                       "--by", "image,address,process").stdout)["rows"]
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
        self.assertTrue(text(self.succeed("report", URL, "--csv", "--by", "unit").stdout).splitlines()[1]
                        .endswith(",nginx.service"))
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

    def test_hosts__are_windows_of_their_own(self):
        self.make("a", "/bin/x", 10000, "0x1000:5")
        for host in "web1", "web2", "db'; DROP TABLE hits; --":
            self.succeed("store", "add", URL, "--host", host, "a")
        for url, hits in ((URL, 15), (URL + "?host=web*", 10), (URL + "?host=db'*", 5)):
            rows = json.loads(self.succeed("report", url, "--json", "-e", "time").stdout)["rows"]
            total = sum(row["hits"] for row in rows if row["image"] == "/bin/x")
            self.assertEqual(total, hits, url)
        self.refuse("no window is selected", "report", URL + "?host=other")

    def test_other_interval__is_not_added_silently(self):
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.make("b", "/bin/y", 20000, "0x1000:5")
        self.succeed("store", "add", URL, "--host", "one", "a")
        self.succeed("store", "add", URL, "--host", "two", "b")
        self.refuse("several intervals", "report", URL)
        self.succeed("report", URL + "?host=two")

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
        self.make("a", "/bin/x", 10000, "0x1000:5")
        self.refuse("--since selects only in a store", "report", "a", "--since", "1h")
        self.refuse("write KEY=VALUE", "report", URL, "--label", "env")

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
                   "web1 e1 1000 60 10000 b - /opt/two/x aa11 0x1000:2",
                   "web1 e1 1000 60 10000 a - /opt/two/x aa11 0x1000:1")
        self.assertEqual(self.hits(), 3)

    def test_interval__one_is_selected(self):
        self.agent("a e 1000 60 10000 - - /bin/x - 0x1000:1", "a e 1060 60 20000 - - /bin/x - 0x1000:2")
        self.refuse("select one by interval=", "report", URL)
        rows = json.loads(self.succeed("report", URL + "?interval=20000", "--json").stdout)["rows"]
        self.assertEqual(sum(row["hits"] for row in rows), 2)

    def test_symbolize__adds_names_of_files(self):
        self.profile("-q", "--no-lines", "-o", "a", "--", "/usr/bin/python3", "-S", "-c", "sum(range(3000000))")
        self.succeed("store", "add", URL, "a")
        self.database().execute("UPDATE place SET function = (SELECT id FROM function WHERE name = ''), line = 0, "
                                "frame = (SELECT id FROM frame WHERE function = (SELECT id FROM function WHERE "
                                "name = '')) WHERE variant = 0")
        nameless = self.rows(URL)
        said = text(self.succeed("store", "symbolize", URL).stderr)
        self.assertIn("places without a name or a line have one now", said)
        self.assertNotEqual(self.rows(URL), nameless)
        named = self.ntprof("report", "a", "--symbolize", "-o", "b")
        self.assertEqual(named.returncode, 0, text(named.stderr))
        self.assertEqual(self.rows(URL), self.rows("b"))
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
                ("has no value", "report", URL + "?host"),
                ("exists already", "store", "init", URL),
                ("no FILE was named", "store", "add", URL),
                ("takes no word", "store", "stat", URL, "a"),
                ("both are missing", "store", "prune", URL),
                ("is no time", "store", "prune", URL, "--before", "x"),
                ("is none of", "store", "grow", URL),
                ("sqlite:PATH", "store", "stat", "s.db"),
                ("select what is read", "store", "stat", URL + "?host=x"),
                ("not a database", "report", "sqlite:a"),
                ("is no regular file", "report", "sqlite:/dev/null")):
            self.refuse(part, *words)

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
