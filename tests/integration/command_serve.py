#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof serve: pages of a store, what they select, what hostile clients get, and that the store is only read."""
import hashlib
import http.client
import json
import os
import signal
import socket
import sqlite3
import urllib.parse

import harness
from harness import CommandTest, for_each_user_if_long, free_port, listens, program, text, wait_for

URL = "sqlite:s.db"


@for_each_user_if_long
class Serve(CommandTest):
    def setUp(self):
        super().setUp()
        if b"without SQLite" in self.ntprof("store", "init", URL).stderr:
            self.skipTest("this ntprof was built without SQLite")
        probe = self.ntprof("serve", URL, "--listen", "1.2.3.4:1")
        if b"without libmicrohttpd" in probe.stderr:
            self.skipTest("this ntprof was built without libmicrohttpd")

    def make(self, name, path, *hits, interval=10000):
        made = self.run_bare([program("profile-maker"), "image", name, path, str(interval), *hits])
        self.assertEqual(made.returncode, 0, text(made.stderr))

    def add(self, name, host, *options):
        result = self.ntprof("store", "add", URL, name, "--host", host, *options)
        self.assertEqual(result.returncode, 0, text(result.stderr))

    def add_two(self):
        self.make("a", "/bin/old", "4096:300", "8192:100")
        self.make("b", "/bin/new", "4096:50", "8192:950")
        self.add("a", "web1", "--label", "role=web")
        self.add("b", "web2")

    def serve(self, url=URL, *options):
        self.port = free_port()
        self.log = self.folder / "log"
        with open(self.log, "wb") as log:
            child = self.start(self.arguments("serve", url, "--listen", str(self.port), *options), stderr=log)
        wait_for(lambda: child.poll() is not None or listens(self.port), "the start")
        self.assertIsNone(child.poll(), text(self.log.read_bytes()))
        return child

    def get(self, path="/", method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.TIME_LIMIT_S)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def page(self, **selected):
        """The data of a page by the ids of their elements."""
        status, _, body = self.get("/?" + urllib.parse.urlencode(selected, doseq=True))
        self.assertEqual(status, 200, body[:500])
        return harness.page_data(body)

    def hits(self, page):
        """Of the line over time, which has the windows that are selected."""
        return sum(page["selection-data"]["hits"])

    def test_selections__as_in_the_report(self):
        self.add_two()
        self.serve()
        for selected in ({}, {"host": "web1"}, {"host": "web*"}, {"label": "role=web"}, {"image": "/bin/new"},
                         {"source": "time", "host": "web2"}):
            with self.subTest(selected):
                query = "&".join(f"{name}={value}" for name, value in selected.items())
                report = self.ntprof("report", "--json", f"{URL}?{query}" if query else URL)
                source = json.loads(report.stdout)["sources"][0]
                page = self.page(**selected)
                line = page["profile"]["lines"][0]
                for figure in ("expected", "taken", "outside", "lost"):
                    self.assertIn(f"{figure} {source[figure]}", line)
                self.assertEqual(page["selection-data"]["refused"], "")
        data = self.page()["selection-data"]
        self.assertEqual(data["hosts"], ["web1", "web2"])
        self.assertEqual(data["labels"], ["role=web"])
        self.assertIn("time", data["sources"])
        self.assertEqual(data["images"], ["/bin/new", "/bin/old"])
        self.assertIn("10000 100ns time", data["intervals"])
        self.assertEqual(sum(data["hits"]), 1400)
        self.assertEqual(len(data["times"]), len(data["hits"]) + 1)
        self.assertLess(data["wider"][0], data["times"][0])

    def test_several_intervals__values_add_up(self):
        self.make("a", "/bin/x", "4096:300")
        self.make("b", "/bin/x", "4096:50", "8192:100", interval=20000)
        self.add("a", "web1")
        self.add("b", "web2")
        self.serve()
        page = self.page(host="web1", **{"old.host": "web?"})
        self.assertEqual([page["diff"]["sources"][0][key] for key in ("old_total_hits", "new_total_hits")], [456, 303])
        page = self.page()
        self.assertIn("time at 2 rates: 1000 Hz, 500 Hz (shares are of time)", page["profile"]["lines"][0])
        source = next(one for one in page["profile"]["sources"] if one["name"] == "time")
        self.assertEqual((source["granted"], source["total"], source["outside"], source["outside_units"]),
                         ("10000", "600", "6", "9"))
        self.assertAlmostEqual(source["units_of_hit"], (300 + 150 * 4) / 600)
        # The line is in hits of the shorter interval.
        self.assertEqual(self.hits(page), 600)
        offered = [text.split(" ") for text in page["selection-data"]["intervals"] if text.endswith(" time")]
        self.assertEqual(offered, [["10000", "100ns", "time"], ["20000", "100ns", "time"]])
        for interval, hits in (("10000", 300), ("20000", 150)):
            page = self.page(interval=interval)
            source = next(one for one in page["profile"]["sources"] if one["name"] == "time")
            self.assertEqual((source["granted"], source["counted"]), (interval, str(hits)))

    def test_url_that_selects__holds_for_every_page(self):
        self.add_two()
        self.serve(URL + "?image=/bin/new")
        status, _, body = self.get()
        self.assertEqual(status, 200)
        self.assertIn(b"/bin/new", body)
        self.assertNotIn(b"/bin/old\"", harness.PAGE_DATA.findall(body)[1][1])

    def test_label_of_a_page__replaces_those_of_the_url(self):
        self.make("a", "/bin/old", "4096:300")
        self.make("b", "/bin/new", "4096:50")
        self.add("a", "web1", "--label", "role=web", "--label", "env=prod")
        self.add("b", "web2", "--label", "role=db", "--label", "env=prod")
        self.serve(URL + "?label=role=web")
        for label, hits in (("", 300), ("role=db", 50), ("env=prod", 350), (["env=prod", "role=web"], 300)):
            with self.subTest(label):
                self.assertEqual(self.hits(self.page(label=label)), hits)
        page = self.page(**{"old.label": "role=db"})
        self.assertEqual([page["diff"]["sources"][0][key] for key in ("old_total_hits", "new_total_hits")], [53, 303])

    def test_comparison__as_diff_has_it(self):
        self.add_two()
        self.serve()
        page = self.page(host="web2", **{"old.host": "web1"})
        compared = self.ntprof("diff", "--json", "--normalize", f"{URL}?host=web1", f"{URL}?host=web2")
        mine = [(row["old_hits"], row["new_hits"], row["image"]) for row in page["diff"]["sources"][0]["rows"]]
        theirs = [(row["old_hits"], row["new_hits"], row["image"])
                  for row in json.loads(compared.stdout)["sources"][0]["rows"]]
        self.assertEqual(mine, theirs)
        self.assertGreater(len(mine), 0)

    def rows(self, page):
        return page["profile"]["rows"]["count"]

    def test_empty_store__says_what_to_type(self):
        self.serve()
        for selected in ({}, {"since": "15m"}, {"host": "none"}, {"since": "2026-01-02", "until": "2026-01-01"}):
            with self.subTest(selected):
                status, _, body = self.get("/?" + urllib.parse.urlencode(selected))
                self.assertEqual(status, 200)
                page = harness.page_data(body)
                data = page["selection-data"]
                self.assertIn("the store has no windows yet", data["refused"])
                for name in ("time", "old_time", "wider", "whole", "times", "hits"):
                    self.assertEqual(data[name], [], name)
                self.assertEqual([name for name, _ in data["given"]], list(selected))
                self.assertNotIn(b"1970-", body)
                self.assertEqual(self.rows(page), 0)
        url = "sqlite:" + os.path.realpath(self.folder / "s.db")
        self.assertEqual([command for _, command in data["commands"]],
                         [f"sudo ntprof agent --store {url}",
                          f"ntprof run -o ntprof.pb.gz -- COMMAND && ntprof store add {url} ntprof.pb.gz",
                          f"ntprof store add {url} --host NAME FILE..."])

    def test_command_to_type__is_right_for_any_path(self):
        """What the page says, run by a shell in another folder."""
        folder = self.folder / "it's a $(touch x) <b>&\"store\""
        folder.mkdir()
        if self.user is not None:
            os.chown(folder, self.user, self.user)
        self.assertEqual(self.ntprof("store", "init", f"sqlite:{folder}/s.db").returncode, 0)
        self.serve(f"sqlite:{folder}/../{folder.name}/s.db?host=x*")
        _, _, body = self.get()
        self.assertNotIn(b"<b>", body)
        command = harness.page_data(body)["selection-data"]["commands"][2][1]
        self.make("a", "/bin/old", "4096:300")
        words = self.run_bare(["sh", "-c", "set -- " + command + '; printf "%s\\n" "$4"'])
        self.assertEqual(text(words.stdout), f"sqlite:{folder}/s.db\n", command)
        self.assertFalse((self.folder / "x").exists())
        added = self.ntprof("store", "add", text(words.stdout)[:-1], "a", "--host", "xy")
        self.assertEqual(added.returncode, 0, text(added.stderr))
        data = self.page()["selection-data"]
        self.assertEqual((data["refused"], data["commands"], data["hosts"]), ("", [], ["xy"]))

    def test_refusal__is_all_that_a_page_shows_but_for_the_fields(self):
        self.add_two()
        self.serve()
        offered = {name: self.page()["selection-data"][name] for name in
                   ("hosts", "labels", "builds", "sources", "images", "intervals", "units", "whole")}
        for selected, said in (
                ({"since": "soon"}, "since=soon: is no time"), ({"host": "none"}, "no window is selected"),
                ({"since": "2026-01-02", "until": "2026-01-01"}, "since must be earlier than until"),
                ({"since": "1h", "until": "2h"}, "since must be earlier than until"),
                ({"since": "1m", "until": "2026-01-01T00:00Z"}, "since must be earlier than until"),
                ({"until": "1970-01-02Z"}, "no window is selected"), ({"since": "2190-01-01"}, "no window is selected"),
                ({"old.host": "[z"}, "what to compare with: no window is selected"),
                ({"old.since": "soon"}, "what to compare with: since=soon: is no time"),
                ({"old.since": "1h", "old.until": "2h"}, "what to compare with: the selected time ends before")):
            with self.subTest(selected):
                status, _, body = self.get("/?" + urllib.parse.urlencode(selected))
                self.assertEqual(status, 200)
                page = harness.page_data(body)
                data = page["selection-data"]
                self.assertIn(said, data["refused"])
                self.assertIn(f'<noscript><p class="noscript">{data["refused"]}</p></noscript>', text(body))
                self.assertNotIn("store stat", data["refused"])
                self.assertEqual(data["elsewhere"], "no window" in said)
                self.assertEqual(bool(data["time"]), "no window" in said)
                self.assertEqual(bool(data["times"]), "no window" in said)
                self.assertEqual({name: data[name] for name in offered}, offered)
                self.assertEqual(data["commands"], [])
                self.assertEqual(self.rows(page), 0)
                self.assertEqual(page["profile"]["sources"], [])
                self.assertNotIn("diff", page)
                if selected.get("until", "")[:4] != "1970":
                    self.assertNotIn(b"1970-", body)

        # What was asked is no reason.
        data = self.page(since="no window is selected")["selection-data"]
        self.assertIn("is no time", data["refused"])
        self.assertFalse(data["elsewhere"])

    def test_times__are_of_utc_and_begin_before_they_end(self):
        self.add_two()
        with sqlite3.connect(self.folder / "s.db") as store:
            store.execute("UPDATE window SET start_ns = 1790000000000000000, end_ns = 1790000060000000000")
        store.close()
        os.environ["TZ"] = "Asia/Tokyo"
        self.addCleanup(os.environ.pop, "TZ")
        self.serve()
        hour = ["2026-09-21T14:13:20Z", "2026-09-21T14:14:20Z"]
        for selected, time, given in (
                ({}, hour, hour),
                ({"since": "2026-09-21T23:14"}, ["2026-09-21T14:14:00Z", hour[1]], ["2026-09-21T14:14:00Z"]),
                ({"since": "2026-09-21T14:14Z"}, ["2026-09-21T14:14:00Z", hour[1]], ["2026-09-21T14:14:00Z"]),
                ({"until": "2026-09-22"}, [hour[0], "2026-09-21T15:00:00Z"], ["2026-09-21T15:00:00Z"])):
            with self.subTest(selected):
                data = self.page(**selected)["selection-data"]
                self.assertEqual((data["refused"], data["time"], data["whole"]), ("", time, hour))
                self.assertEqual([value for _, value in data["given"]], given)
        for selected in ({"since": "15m"}, {"since": "7d"}, {"until": "2020-01-01"}, {"since": "2190-01-01"}):
            data = self.page(**selected)["selection-data"]
            self.assertEqual([[*pair] for pair in selected.items()][0][0], data["given"][0][0])
            self.assertLess(data["time"][0], data["time"][1])
        self.assertEqual(self.page(since="15m")["selection-data"]["given"], [["since", "15m"]])

    def test_what_cannot_be_shown__is_said_in_the_page(self):
        self.serve()
        self.assertIn("no windows yet", self.page()["selection-data"]["refused"])
        self.add_two()
        for selected, part in (({"since": "yesterday"}, "is no time"), ({"host": "none"}, "no window is selected"),
                               ({"colour": "red"}, "is no parameter"), ({"interval": "x"}, "is no number"),
                               ({"label": "x"}, "is no label"), ({"old.host": "none"}, "no window is selected"),
                               ({"label": [f"a{n}=b" for n in range(17)]}, "one label too many")):
            with self.subTest(selected):
                data = self.page(**selected)["selection-data"]
                self.assertIn(part, data["refused"])
                self.assertIn(list(selected)[0], [name for name, _ in data["given"]])

    def test_more_rows_than_a_page_holds__refused(self):
        """The window of web1 has 500,002 rows, that of web2 two."""
        self.add_two()
        database = sqlite3.connect(self.folder / "s.db")
        database.executescript(
            "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 500000) "
            "INSERT INTO place SELECT 1000 + n, image, 16384 + 16 * n, variant, function, line, frame, quality "
            "FROM place JOIN number WHERE place.id = (SELECT min(id) FROM place);"
            "INSERT INTO hits SELECT window, source, process, unit, place.id, 1 FROM hits JOIN place "
            "WHERE place.id > 1000 AND hits.place = (SELECT min(id) FROM place)")
        database.close()
        self.serve()
        for selected, refused in (({}, True), ({"host": "web1"}, True), ({"host": "web2"}, False),
                                  ({"host": "web2", "old.host": "web1"}, True)):
            with self.subTest(selected):
                said = self.page(**selected)["selection-data"]["refused"]
                self.assertEqual("more rows are selected than are shown" in said, refused, said)

    def test_hostile_names_and_arguments__stay_texts(self):
        made = self.run_bare([program("profile-maker"), "hard", "a"])
        self.assertEqual(made.returncode, 0, text(made.stderr))
        self.add("a", "<script>alert(1)</script>", "--label", "a=</script><b>&'\"")
        with sqlite3.connect(self.folder / "s.db") as store:
            store.execute("UPDATE image SET path = '/</script><script>alert(1)</script>' || id")
            store.execute("UPDATE source SET unit = '</script><script>alert(1)</script>'")
        store.close()
        self.serve()
        attack = "');DROP TABLE hit;--</script><script>x"
        for selected in ({}, {"host": attack}, {"image": attack}, {"label": "a=" + attack}, {"unit": attack},
                         {"source": attack}, {attack: "x"}, {"build-id": attack}, {"since": attack}):
            status, headers, body = self.get("/?" + urllib.parse.urlencode(selected))
            self.assertEqual(status, 200)
            self.assertEqual(body.count(b"<script>"), 1)  # the page's own
            self.assertNotIn(b"alert(1)</script>", body)
            self.assertNotIn(b"DROP TABLE hit;--<", body)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(self.ntprof("store", "check", URL).returncode, 0)

    def test_contents_of_files__only_if_asked_for(self):
        """Debug information could name any file that the server can read."""
        result = self.profile("-q", "-o", "p", "--", program("shares"), "300")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.add("p", "web1")
        for options, there in (((), False), (("--listings", "5"), True)):
            child = self.serve(URL, *options)
            body = self.get()[2]
            self.assertIn(b"right_three_units", body)
            self.assertEqual(b"uint64_t value = sink" in body, there)
            child.send_signal(signal.SIGTERM)
            child.wait(timeout=harness.TIME_LIMIT_S)

    def test_times_of_any_year__are_limited(self):
        self.add_two()
        self.serve()
        for selected in ({"since": "1970-01-02", "until": "2262-04-11"}, {"until": "2262-04-11"},
                         {"until": "1970-01-02"}, {"since": "2262-04-11"},
                         {"since": "2026-01-02", "until": "2026-01-01"}):
            with self.subTest(selected):
                data = self.page(**selected)["selection-data"]
                self.assertEqual(len(data["times"]), len(data["hits"]) + 1 if data["hits"] else 0)
                self.assertLessEqual(max(data["wider"]), "2200-01-02")
        with sqlite3.connect(self.folder / "s.db") as store:
            store.execute("UPDATE window SET start_ns = -9223372036854775808, end_ns = 9223372036854775807")
        store.close()
        data = self.page()["selection-data"]
        self.assertLessEqual(max(data["whole"] + data["wider"] + data["times"]), "2200-01-02")

    def test_requests__only_the_page_is_there_and_only_for_local_names(self):
        self.add_two()
        child = self.serve()
        for path in ("/etc/passwd", "/../../etc/passwd", "/s.db", "/%2e%2e/x", "/favicon.ico"):
            self.assertEqual(self.get(path)[0], 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.assertEqual(self.get("/", method)[0], 405, method)
        for host in ("evil.example", "localhost:x@evil.example", "[::1]evil.example"):
            self.assertEqual(self.get("/", Host=host)[0], 403, host)
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}):
            self.assertEqual(self.get("/", **headers)[0], 403, headers)
        link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        self.assertEqual(self.get("/", **link)[0], 403)  # a script's window
        self.assertEqual(self.get("/", **link, **{"Sec-Fetch-User": "?1"})[0], 200)  # a link that was clicked
        self.assertEqual(self.get("/?" + "&".join(f"a{n}=b" for n in range(65)))[0], 400)
        self.assertIn(self.get("/?host=" + "x" * 100000)[0], (400, 414, 431, 500))
        for argument in ("host=%00", "host=xy%00z", "ho%00st=xy"):
            self.assertEqual(self.get("/?" + argument)[0], 400, argument)
        self.assertEqual(self.get("/", "HEAD")[0], 200)
        self.assertIsNone(child.poll())

    def test_store__is_not_changed_and_may_grow(self):
        self.add_two()

        def content():
            return hashlib.sha256((self.folder / "s.db").read_bytes()).hexdigest()

        before = content()
        self.serve()
        self.assertEqual(self.hits(self.page()), 1400)
        self.page(host="web1")
        self.assertEqual(content(), before)
        self.make("c", "/bin/new", "4096:7")
        self.add("c", "web3")
        self.assertEqual(self.hits(self.page(host="web3")), 7)

    def test_signals__end_it(self):
        self.add_two()
        for number in (signal.SIGTERM, signal.SIGINT):
            child = self.serve()
            self.page()
            child.send_signal(number)
            child.wait(timeout=harness.TIME_LIMIT_S)
            self.assertEqual(child.returncode, 0, text(self.log.read_bytes()))

    def test_mistakes__one_line_each(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            for words, part in ((("serve",), "no store is named"), (("serve", "s.db"), "is no store"),
                                (("serve", "sqlite:none.db"), "there is no such store"),
                                (("serve", URL, "--listen", "x"), "must be a port"),
                                (("serve", URL, "--listen", port), "ddress already in use"),
                                (("serve", URL + "?colour=red"), "is no parameter"),
                                (("serve", URL, URL), "only one store")):
                with self.subTest(words):
                    result = self.ntprof(*words)
                    self.assertEqual(result.returncode, 125, text(result.stderr))
                    self.assertIn(part, text(result.stderr))

    def test_store_that_goes__said_and_served_when_it_is_back(self):
        self.add_two()
        self.serve()
        os.rename(self.folder / "s.db", self.folder / "away")
        status, _, body = self.get()
        self.assertEqual(status, 503)
        self.assertIn(b"there is no such store", body)
        os.rename(self.folder / "away", self.folder / "s.db")
        self.assertEqual(self.hits(self.page()), 1400)


if __name__ == "__main__":
    harness.main()
