#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Stores on a ClickHouse server: what is selected, folded, removed; and servers that lie, dawdle or are others."""
import http.server
import json
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.request

import clickhouse
import harness
from harness import CommandTest, program, text

WINDOWS = ("web1 e1 1000 60 10000 nginx.service env=prod /bin/x aa11 0x1000:1 0x1040:2",
           "web1 e1 1060 60 10000 cron.service env=prod /bin/x aa11 0x1000:4",
           "web2 e2 1000 60 10000 nginx.service env=test /bin/x bb22 0x1000:8",
           "db'; e3 1060 60 10000 - - /bin/y'\\ - 0x1000:16")


class ServerCase(CommandTest):
    def succeed(self, *words):
        result = self.ntprof(*words)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return result

    def refuse(self, part, *words):
        result = self.ntprof(*words)
        self.assertEqual(result.returncode, 125, text(result.stderr))
        self.assertEqual(result.stdout, b"")
        self.assertIn(part, text(result.stderr))
        self.assertEqual(len(result.stderr.splitlines()), 1, text(result.stderr))


class Stores(ServerCase):
    """One server for all cases, a database for each."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="ntprof-server-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.server = clickhouse.Server(cls.place + "/server")
        cls.addClassCleanup(cls.server.kill)
        cls.server.start()

    def setUp(self):
        super().setUp()
        self.base = "case_" + self._testMethodName.split("__")[0][5:]
        self.url = f"clickhouse://{self.server.address()}/{self.base}"
        made = self.ntprof("store", "init", self.url)
        if b"without libcurl" in made.stderr:
            self.skipTest("this ntprof was built without libcurl")
        self.assertEqual(made.returncode, 0, text(made.stderr))

    def agent(self, *windows):
        done = self.run_bare([program("synthetic-agent"), self.url], input="\n".join(windows).encode())
        self.assertEqual(done.stdout.split(), [b"added"] * len(windows), text(done.stdout + done.stderr))

    def report(self, *words):
        return json.loads(self.succeed("report", self.url, "--json", "--rows", "0", *words).stdout)

    def rows(self, url):
        rows = json.loads(self.succeed("report", url, "--json", "--rows", "0", "--by", "image,address,process").stdout)
        return sorted(json.dumps(row, sort_keys=True) for row in rows["rows"])

    def hits(self, *words):
        return sum(row["hits"] for row in self.report(*words)["rows"])

    def test_selections__as_in_sqlite(self):
        self.agent(*WINDOWS)
        for words, hits in (
                ((), 31), (("--host", "web*"), 15), (("--host", "web[12]"), 15), (("--host", "w?b1"), 7),
                (("--host", "db'*"), 16), (("--unit", "nginx*"), 11), (("--label", "env=prod"), 7),
                (("--label", "env=prod", "--label", "boot=boot-1"), 7), (("--build-id", "bb"), 8),
                (("--image", "*/y*"), 16), (("--host", "web1", "--unit", "nginx.service"), 3)):
            with self.subTest(words=words):
                self.assertEqual(self.hits(*words), hits)
        for words in (("--host", "web"), ("--label", "env=pro"), ("--label", "' OR '1'='1")):
            self.refuse("no window is selected", "report", self.url, *words)
        report = self.report()
        self.assertEqual({row["function"] for row in report["rows"]}, {"work_40", "work_41"})
        self.assertEqual(report["sources"][0]["taken"], 31)
        self.succeed("store", "check", self.url)

    def test_sqlite__has_the_same_rows(self):
        made = self.run_bare([program("profile-maker"), "hard", "a"])
        self.assertEqual(made.returncode, 0, text(made.stderr))
        self.succeed("store", "init", "sqlite:s.db")
        rows = []
        for url in (self.url, "sqlite:s.db"):
            self.succeed("store", "add", url, "a")
            found = json.loads(self.succeed("report", url, "--json", "--rows", "0", "--by",
                                            "image,address,process").stdout)
            rows.append((sorted(json.dumps(row, sort_keys=True) for row in found["rows"]),
                         sorted(json.dumps(source, sort_keys=True) for source in found["sources"])))
        self.assertEqual(rows[0], rows[1])

    def test_intervals__values_add_up(self):
        self.agent(WINDOWS[0], WINDOWS[1].replace("10000", "20000"))
        for folded in False, True:
            if folded:
                self.succeed("store", "fold", self.url)
            report = self.report()
            self.assertEqual({row["function"]: (row["hits"], row["estimate"]) for row in report["rows"]},
                             {"work_40": (5, 9 * 10**6), "work_41": (2, 2 * 10**6)})
            self.assertEqual([part["granted"] for part in report["sources"][0]["intervals"]], [10000, 20000])
        one = json.loads(self.succeed("report", self.url + "?interval=20000", "--json").stdout)
        self.assertEqual([row["hits"] for row in one["rows"]], [4])

    def test_fold__sums_are_the_same_and_follow_later_windows(self):
        self.agent(*WINDOWS)
        rows = self.report()["rows"]
        self.assertIn(b"folded 1 day", self.succeed("store", "fold", self.url).stderr)
        self.assertEqual(self.server.ask(f"SELECT sum(count) FROM {self.base}.sums"), "31\n")
        self.assertEqual(self.report()["rows"], rows)
        # That these are read: one more hit in them is seen.
        self.server.ask(f"INSERT INTO {self.base}.sums SELECT day, hour, host, source, period, process, unit, image, "
                        f"bias, address, variant, toUInt64(100) FROM {self.base}.sums WHERE source != '' LIMIT 1")
        self.assertEqual(self.hits(), 131)
        self.assertEqual(self.hits("--label", "env=prod"), 7)
        self.agent("web3 e9 2000 60 10000 - - /bin/x aa11 0x1000:1000")
        self.assertEqual(self.hits(), 1031)
        for _ in range(2):
            self.succeed("store", "fold", self.url)
            self.assertEqual(self.hits(), 1031)

    def test_fold_of_a_late_window__counts_whatever_the_clocks_say(self):
        self.agent(*WINDOWS)
        self.succeed("store", "fold", self.url)
        for table in "hits", "accounting", "windows":
            columns = self.server.ask(f"SELECT name FROM system.columns WHERE database = '{self.base}' AND "
                                      f"table = '{table}'").split()
            late = ", ".join("'late' AS host" if name == "host" else name for name in columns)
            self.server.ask(f"INSERT INTO {self.base}.{table} SELECT {late} FROM {self.base}.{table}")
        self.assertEqual(self.hits(), 62)
        self.assertIn(b"folded 1 day", self.succeed("store", "fold", self.url).stderr)
        self.assertEqual(self.hits(), 62)

    def fill(self, hosts):
        """A window of 4,000 addresses for each host, beside one of one address."""
        self.agent("web1 e1 1000 60 10000 nginx.service - /bin/x aa11 0x1000:3")
        rows = {name: self.server.ask(f"SELECT name FROM system.columns WHERE database = '{self.base}' "
                                      f"AND table = '{name}'").split() for name in ("windows", "accounting", "hits")}
        numbers = f"(SELECT number AS n FROM system.numbers LIMIT {hosts})"
        addresses = "(SELECT number AS m FROM system.numbers LIMIT 4000)"
        host = "concat('host', toString(n))"
        for table, source in (("windows", numbers), ("accounting", numbers),
                              ("hits", f"(SELECT n, m FROM {numbers} CROSS JOIN {addresses})")):
            values = [{"host": host, "address": "address + 64 * (4000 * n + m) + 64"}.get(name, name)
                      for name in rows[table]]
            self.server.ask(f"INSERT INTO {self.base}.{table} SELECT {', '.join(values)} FROM {self.base}.{table} "
                            f"CROSS JOIN {source}")

    def test_fold_of_millions__host_by_host(self):
        """More rows than are added up at a time."""
        self.fill(300)
        self.assertEqual(self.server.ask(f"SELECT count() FROM {self.base}.hits"), "1200001\n")
        self.assertIn(b"folded 1 day", self.succeed("store", "fold", self.url).stderr)
        self.assertEqual(self.server.ask(f"SELECT count(), sum(count), uniqExact(host), uniqExact(host, address) FROM "
                                         f"{self.base}.sums WHERE source != ''"), "1200001\t3600003\t301\t1200001\n")
        self.assertEqual(self.hits("--host", "host299"), 12000)

    def test_more_rows_than_a_page_holds__refused(self):
        self.fill(125)
        page = self.serve()
        self.assertIn("more rows are selected than are shown", page("")["refused"])
        self.assertEqual(page("?host=host12*")["refused"], "")

    def test_folds_at_once__no_window_is_missing(self):
        self.agent(*WINDOWS)
        for count in range(1, 7):
            folds = [self.start(self.arguments("store", "fold", self.url), stderr=subprocess.PIPE) for _ in range(3)]
            self.agent(f"web3 e9 {2000 + 60 * count} 60 10000 - - /bin/x aa11 0x1000:1000")
            for fold in folds:
                said = fold.communicate(timeout=harness.TIME_LIMIT_S)[1]
                self.assertEqual(fold.returncode, 0, text(said))
            self.assertEqual(self.hits(), 31 + 1000 * count)
        self.assertEqual(self.server.ask(f"SELECT count() FROM system.tables WHERE database = '{self.base}' AND "
                                         "name LIKE 'folding%'"), "0\n")

    def serve(self):
        """Returns what gives the data of a page by its query."""
        port = harness.free_port()
        if b"without libmicrohttpd" in self.ntprof("serve", self.url, "--listen", "1.2.3.4:1").stderr:
            self.skipTest("this ntprof was built without libmicrohttpd")
        self.server_of_pages = self.start(self.arguments("serve", self.url, "--listen", str(port)),
                                          stderr=subprocess.DEVNULL)

        def page(query):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{query}", timeout=60) as answer:
                return json.loads(answer.read().split(b'id="selection-data">\n', 1)[1].split(b"</script>", 1)[0])

        harness.wait_for(lambda: harness.listens(port), "the server")
        return page

    def test_pages__have_what_the_server_has(self):
        page = self.serve()
        data = page("")
        self.assertIn("the store has no windows yet", data["refused"])
        self.assertEqual(data["commands"][0][1], "sudo ntprof agent --store " + self.url)
        self.agent(*WINDOWS)
        data = page("")
        self.assertEqual(data["refused"], "")
        self.assertEqual(data["hosts"], ["db';", "web1", "web2"])
        self.assertEqual(data["labels"], ["env=prod", "env=test"])
        self.assertEqual(data["sources"], ["time"])
        self.assertEqual([build.split()[0] for build in data["builds"]], ["aa11", "bb22"])
        self.assertIn("nginx.service", data["units"])
        self.assertEqual(data["images"], ["/bin/x", "/bin/y'\\"])
        self.assertEqual(data["intervals"], ["10000 100ns time"])
        self.assertEqual(sum(data["hits"]), 31)
        self.assertEqual(sum(page("?host=web1")["hits"]), 7)
        self.assertEqual(page("?host=web1&old.host=web2")["refused"], "")
        self.assertIn("no window is selected", page("?host=')%20OR%20('1'%3D'1")["refused"])
        self.agent("web1 e1 86370 60 10000 - - /bin/x aa11 0x1000:50")  # from one day into the next
        self.assertEqual(sum(page("?since=1970-01-02T00:00&until=1970-01-02T00:10")["hits"]), 50)
        self.server_of_pages.send_signal(signal.SIGTERM)
        self.assertEqual(self.server_of_pages.wait(timeout=harness.TIME_LIMIT_S), 0)

    def test_half_a_window__is_not_there(self):
        self.agent(*WINDOWS)
        self.server.ask(f"INSERT INTO {self.base}.hits SELECT day, hour, host, 'other' AS epoch, start_ns, source, "
                        f"period, process, unit, image, bias, address, variant, count FROM {self.base}.hits")
        self.assertEqual(self.hits(), 31)

    def test_prune__removes_days(self):
        day = 86400
        self.agent(*(f"web1 e1 {day * i + 1000} 60 10000 - - /bin/x aa11 0x1000:1" for i in range(4)))
        self.assertIn(b"removed 2 windows", self.succeed("store", "prune", self.url, "--before", "1970-01-03").stderr)
        self.assertEqual(self.hits(), 2)
        self.succeed("store", "prune", self.url, "--max-size", "1")
        self.assertEqual(json.loads(self.succeed("store", "stat", self.url, "--json").stdout)["rows"], 0)

    def test_prune_by_size__no_day_more_than_needed(self):
        """The first day has nearly all hits, and a window that ends on the next one."""
        day = 86400
        many = " ".join(f"{0x1000 + 64 * i:#x}:{1 + i % 1000}" for i in range(10000))
        self.agent(f"web1 e1 {day + 1000} 60 10000 - - /bin/x aa11 {many}",
                   *(f"web1 e1 {day * i + start} 60 10000 - - /bin/x aa11 0x1000:1" for i in range(1, 5)
                     for start in (1060, day - 30)))
        self.server.ask(f"OPTIMIZE TABLE {self.base}.hits FINAL")
        sizes = {line.split()[0].strip("'"): int(line.split()[1]) for line in self.server.ask(
            f"SELECT partition, sum(bytes_on_disk) FROM system.parts WHERE active AND database = '{self.base}' AND "
            "table = 'hits' GROUP BY partition").splitlines()}
        size = json.loads(self.succeed("store", "stat", self.url, "--json").stdout)["bytes"]
        first = sizes["1970-01-02"]
        self.assertIn(b"removed 3 windows",
                      self.succeed("store", "prune", self.url, "--max-size", str(size - first // 2)).stderr)
        self.assertEqual(self.hits(), 6)
        harness.wait_for(lambda: "6 windows of 1 host" in self.report()["limits"], "the end of the window at midnight")

    def test_prune_of_folded_days__sums_go(self):
        """The last window of a day ends on the next one, and stays."""
        self.agent("web1 e1 1000 60 10000 - - /bin/x aa11 0x1000:1", "web1 e1 86370 60 10000 - - /bin/x aa11 0x1000:8")
        self.succeed("store", "fold", self.url)
        self.succeed("store", "prune", self.url, "--before", "1970-01-02")
        self.assertEqual(self.hits(), 8)
        self.succeed("store", "fold", self.url)
        self.assertEqual(self.hits(), 8)

    def test_symbolize__adds_names_of_files(self):
        made = self.profile("-q", "--no-lines", "-o", "a", "--", "/usr/bin/python3", "-S", "-c", "sum(range(3000000))")
        self.assertEqual(made.returncode, 0, text(made.stderr))
        self.succeed("store", "add", self.url, "a")
        lines = f"SELECT count() FROM {self.base}.places WHERE line > 0"
        before = int(self.server.ask(lines))
        said = text(self.succeed("store", "symbolize", self.url).stderr)
        self.assertIn("places without a name or a line have one now", said)
        if " 0 of" not in said:
            self.assertGreater(int(self.server.ask(lines)), before)

    def test_foreign_tables__refused(self):
        self.refuse("exists already", "store", "init", self.url)
        self.server.ask(f"CREATE DATABASE {self.base}_other")
        self.refuse("there is no such store", "report", self.url + "_other")
        self.server.ask(f"CREATE TABLE {self.base}_other.hits (a UInt8) ENGINE = MergeTree ORDER BY a")
        self.refuse("does not have the columns", "store", "init", self.url + "_other")
        self.server.ask(f"INSERT INTO {self.base}.ntprof VALUES (4)")
        self.refuse("another version", "report", self.url)

    def test_store_of_the_version_before__upgraded_by_a_command(self):
        made = self.run_bare([program("profile-maker"), "functions", "a"])
        self.assertEqual(made.returncode, 0, text(made.stderr))
        self.succeed("store", "add", self.url, "--host", "inlined", "a")
        self.agent(*WINDOWS)
        agents = self.url + "?host=web*"
        rows = self.rows(agents)
        for column in ("definition", "has_address", "function_address", "caller_definitions",
                       "caller_has_addresses", "caller_addresses"):
            self.server.ask(f"ALTER TABLE {self.base}.places DROP COLUMN {column}")
        self.server.ask(f"ALTER TABLE {self.base}.accounting DROP COLUMN outside_kernel")
        self.server.ask(f"TRUNCATE TABLE {self.base}.ntprof")
        self.server.ask(f"INSERT INTO {self.base}.ntprof VALUES (2)")
        self.refuse("to convert it, once: ntprof store upgrade clickhouse:", "report", self.url)
        for _ in range(2):
            self.succeed("store", "upgrade", self.url)
            self.succeed("store", "check", self.url)
            self.assertEqual(self.rows(agents), rows)
        self.assertEqual([(row["innermost"], row["hits"]) for row in
                          self.report("--host", "inlined", "--by", "inline", "--image", "/usr/bin/app")["rows"]],
                         [("inner", 8), ("[no symbols] in app", 4), ("same", 2), ("same", 1)])
        # The same place again, by an agent that knows where its function begins.
        self.agent("web1 e7 2000 60 10000 - - /bin/x aa11 0x1000@0x1000:400")
        row = json.loads(self.succeed("report", agents, "--json", "--build-id", "aa").stdout)["rows"][0]
        self.assertEqual((row["function"], row["function_address"]), ("work_40", "0x1000"))
        self.assertEqual(self.outside("--host", "web*"), ({}, 0, 0))
        self.agent("web1 e8 2000 60 10000 - - /bin/x aa11 0x1000:1 outside:9:4")
        self.assertEqual(self.outside("--host", "web*"), ({"[kernel, unknown]": 4, "[no image]": 5}, 9, 4))

    def outside(self, *words):
        """Rows of hits outside, and the statistics of these."""
        report = self.report(*words)
        return ({row["function"]: row["hits"] for row in report["rows"]
                 if row["image"] in ("[kernel, unknown]", "[no image]", "[user mode]")},
                report["sources"][0]["outside"], report["sources"][0]["outside_kernel"])

    def test_outside_in_kernel_mode__as_in_the_files(self):
        for name, outside, kernel in ("a", "90", "60"), ("b", "7", "7"):
            made = self.run_bare([program("profile-maker"), "outside", name, outside, kernel])
            self.assertEqual(made.returncode, 0, text(made.stderr))
            self.succeed("store", "add", self.url, "--host", name, name)
        # Of the states of one window the largest counts.
        window = "web1 e1 1000 60 10000 - - /bin/x aa11 0x1000:1 outside:"
        self.agent(window + "5:2", window + "9:4", window + "3:1")
        self.assertEqual(self.outside(), ({"[kernel, unknown]": 71, "[no image]": 35}, 106, 71))
        self.assertEqual(self.outside("--host", "a"), ({"[kernel, unknown]": 60, "[no image]": 30}, 90, 60))
        self.assertEqual(self.outside("--host", "b"), ({"[kernel, unknown]": 7}, 7, 7))
        self.succeed("store", "check", self.url)

    def test_user_mode_left_out__only_where_all_windows_left_it_out(self):
        for name, outside, kernel, *more in ("a", "90", "60", "--kernel"), ("b", "7", "3"):
            made = self.run_bare([program("profile-maker"), "outside", name, outside, kernel, *more])
            self.assertEqual(made.returncode, 0, text(made.stderr))
            self.succeed("store", "add", self.url, "--host", name, name)
        self.assertEqual(self.outside("--host", "a"), ({"[kernel, unknown]": 60, "[user mode]": 30}, 90, 60))
        self.assertEqual(self.outside(), ({"[kernel, unknown]": 63, "[no image]": 34}, 97, 63))

    def test_figures_that_contradict__refused(self):
        self.agent(WINDOWS[0] + " outside:9:4")
        columns = "day, host, epoch, start_ns, source, period, nt_name, unit, kernel, user_left_out, asked, measured"
        for outside, kernel in (9, 10), (100, 4):
            with self.subTest((outside, kernel)):
                self.server.ask(f"INSERT INTO {self.base}.accounting ({columns}, expected, taken, outside, "
                                f"outside_kernel, version) SELECT {columns}, expected, taken, toUInt64({outside}), "
                                f"toUInt64({kernel}), version + 100 FROM {self.base}.accounting LIMIT 1")
                for words in ("report", self.url), ("store", "check", self.url):
                    self.refuse("has more hits outside than taken, or more of them in kernel mode", *words)
                self.server.ask(f"TRUNCATE TABLE {self.base}.accounting")
                self.agent(WINDOWS[0] + " outside:9:4")
        self.succeed("report", self.url)

    def test_functions__are_those_of_the_files(self):
        for name in "ab":
            made = self.run_bare([program("profile-maker"), "functions", name])
            self.assertEqual(made.returncode, 0, text(made.stderr))
            self.succeed("store", "add", self.url, "--host", name, name)
        self.succeed("merge", "-q", "-o", "sum", "a", "b")
        for keys in "function", "inline", "function,inline", "line", "address":
            with self.subTest(keys=keys):
                stored, merged = (json.loads(self.succeed("report", name, "--json", "--rows", "0", "--by",
                                                          keys).stdout)["rows"] for name in (self.url, "sum"))
                self.assertEqual(sorted(json.dumps(row, sort_keys=True) for row in stored),
                                 sorted(json.dumps(row, sort_keys=True) for row in merged))

    def test_passwords__from_a_file(self):
        (self.folder / "right").write_text("se'cret\n")
        (self.folder / "wrong").write_text("x\n")
        url = self.url.replace("//", "//secret@")
        self.succeed("store", "stat", url + "?password-file=right")
        self.refuse("assword", "store", "stat", url + "?password-file=wrong")
        self.refuse("password-file: No such file", "store", "stat", url + "?password-file=none")


class Hostile(ServerCase):
    """Servers that are none of ClickHouse."""

    def serve(self, answer, certificate=None):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                try:
                    answer(self)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"clickhouse://127.0.0.1:{server.server_port}/d?timeout=2s"

    def setUp(self):
        super().setUp()
        if b"without libcurl" in self.ntprof("report", "clickhouse://x/d").stderr:
            self.skipTest("this ntprof was built without libcurl")

    @staticmethod
    def reply(handler, status, body, **headers):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def test_answers__end_in_a_line(self):
        def drip(handler):
            handler.send_response(200)
            handler.end_headers()
            while True:
                handler.wfile.write(b"x")
                time.sleep(0.05)

        def endless_header(handler):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while True:
                handler.wfile.write(b"x" * 65536)

        for part, answer in (
                ("a header that is longer than libcurl takes", endless_header),
                ("what no server of ClickHouse does", lambda h: self.reply(h, 200, b"<html>hello")),
                ("what no server of ClickHouse does", lambda h: self.reply(h, 200, b"")),
                ("no such store", lambda h: self.reply(h, 200, bytes(8))),
                ("what no server of ClickHouse does", lambda h: self.reply(h, 200, b"\x01" + bytes(7))),
                ("redirects", lambda h: self.reply(h, 302, b"", Location="http://127.0.0.1:1/")),
                ("HTTP status 500: \\x1b[31m", lambda h: self.reply(h, 500, b"\x1b[31mCode: 1\nmore")),
                ("imed out", drip),
                ("imed out", lambda h: time.sleep(5))):
            with self.subTest(part=part):
                self.refuse(part, "report", self.serve(answer))
        self.refuse("127.0.0.1:1/d: ", "report", "clickhouse://127.0.0.1:1/d")

    def test_urls__are_checked(self):
        for url in ("clickhouse:x", "clickhouse://h", "clickhouse://h/", "clickhouse://h/d;x", "clickhouse://h/d/e",
                    "clickhouse://h x/d", "clickhouse://a b@h/d", "clickhouse:///d", "clickhouse://h%00/d",
                    "clickhouse://[::1/d", "clickhouse://[::1]:x/d"):
            self.refuse("is named as", "report", url)
        self.refuse("no time such as", "report", "clickhouse://h/d?timeout=x")
        self.refuse("is no parameter", "report", "clickhouse://h/d?x=1")

    def test_secrets__are_never_shown(self):
        secret = "s3cr3t"
        (self.folder / "password").write_text(secret + "\n")
        self.refuse("so the answer is not shown", "report", self.serve(
            lambda h: self.reply(h, 500, h.headers["X-ClickHouse-Key"].encode())) + "&password-file=password")
        logging = {**harness.bare_environment(), "NTPROF_LOG": "debug"}
        url = self.serve(lambda h: self.reply(h, 500, h.headers["X-ClickHouse-Key"].encode()))
        logged = text(self.ntprof("report", url + "&password-file=password", env=logging).stderr)
        self.assertRegex(logged, r"debug: store 127.0.0.1:\d+/\w+: SELECT ")
        self.assertRegex(logged, r"debug: store 127.0.0.1:\d+/\w+: HTTP status 500, ")
        self.assertNotIn(secret, logged)
        pages = self.folder / "pages"
        for url in (f"clickhouse://u:{secret}@h/d", f"clickhouse://u:{secret}/x@h/d", f"clickhouse://u:1/{secret}@h/d",
                    f"clickhouse://u:a@{secret}@h/d", f"clickhouse://u:a {secret}@h/d", f"clickhouse:u:{secret}@h/d",
                    f"clickhouses://u:{secret}@h/d?since=1h", f"clickhouse://u:{secret}", f"clickhouse://u:{secret}/d",
                    f"clickhouse://h/d?password={secret}", f"clickhouse://h/d?Password={secret}&host=x",
                    f"clickhouse://h/d?password=a&{secret}", f"clickhouse://h/d?token={secret}",
                    f"clickhouse://h/d?host=x&api_key={secret}", f"clickhouse://u@h/d?secret={secret}",
                    f"https://u:{secret}@h/d", f"https://{secret}@h/d", f"sqlite:x?password={secret}"):
            for command in (("report",), ("store", "stat"), ("store", "init"), ("store", "prune", "--before", "1d"),
                            ("diff", "none"), ("merge", "-o", "x"), ("export", "-o", pages), ("top",), ("serve",),
                            ("annotate",), ("agent", "--spool", self.folder / "spool", "--check-config", "--store")):
                result = self.ntprof(*command, url, env=logging)
                self.assertNotEqual(result.returncode, 0, (command, url))
                self.assertNotIn(secret, text(result.stderr) + text(result.stdout), (command, url))

    def test_certificates__must_be_believed(self):
        made = self.run_bare(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out",
                              "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                              "subjectAltName=IP:127.0.0.1"])
        self.assertEqual(made.returncode, 0, text(made.stderr))
        both = self.folder / "both.pem"
        both.write_bytes((self.folder / "key.pem").read_bytes() + (self.folder / "cert.pem").read_bytes())
        url = self.serve(lambda h: self.reply(h, 200, bytes(8)), both).replace("clickhouse:", "clickhouses:")
        self.refuse("certificate", "report", url)
        self.refuse("no such store", "report", url + "&ca=cert.pem")
        result = self.ntprof("report", url + "&ca=none.pem")
        self.assertIn("ca: the file cannot be read", text(result.stderr))
        self.assertNotIn("none.pem", text(result.stderr))


if __name__ == "__main__":
    harness.main()
