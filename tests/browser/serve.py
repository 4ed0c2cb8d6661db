#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The pages of ntprof serve in Chromium: selecting by fields, by the line over time, by keys alone; comparing."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import harness  # noqa: E402
import profiles  # noqa: E402
from browser import find  # noqa: E402
from pages import READY, PageTest, ntprof  # noqa: E402

HOUR_NS = 3600 * 10**9
START_NS = 1790000000 * 10**9 // HOUR_NS * HOUR_NS  # a full hour in UTC


def window(name, hits, start_ns):
    profile = profiles.Profile(command=name.encode())
    image = profile.add_image("/usr/bin/" + name, 0x1000, 0x9000, "abcdef" if name == "old" else "123456")
    for number, count in enumerate(hits):
        function = profile.add_function(f"step_{number}", "src/work.c", 10 * number)
        profile.add_bucket(image, 0x2000 + 16 * number, function, 10 * number + 1, (count,))
    profile.time_ns = start_ns
    return profile


def zoned(page, zone):
    """The page is shown in this time zone from now on."""
    page.send("Emulation.setTimezoneOverride", timezoneId=zone)


class ServeTest(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.url = f"sqlite:{cls.folder}/s.db"
        ntprof("store", "init", cls.url)
        cls.fill(cls.url)
        port = harness.free_port()
        environment = dict(os.environ, TZ="UTC")
        cls.server = subprocess.Popen([os.environ["NTPROF"], "serve", cls.url, "--listen", str(port)], env=environment,
                                      stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.end)
        cls.address = f"http://127.0.0.1:{port}/"
        harness.wait_for(lambda: harness.listens(port), "the server")

    @classmethod
    def add(cls, host, profile, *options):
        file = cls.folder / "window.pb.gz"
        profile.write(file)
        ntprof("store", "add", cls.url, file, "--host", host, *options)

    @classmethod
    def end(cls):
        cls.server.send_signal(signal.SIGTERM)
        if cls.server.wait(timeout=harness.TIME_LIMIT_S) != 0:
            raise AssertionError("ntprof serve failed")

    def open(self, query="", zone=None, **shape):
        if zone is None:
            return super().open(self.address + query, **shape)
        page = self.browser.page(**shape)
        zoned(page, zone)
        self.go(page, query)
        self.addCleanup(self.assert_quiet, page)
        return page

    def go(self, page, query):
        page.go(self.address + query)
        page.wait(READY)
        page.settle()

    def data(self, page):
        return json.loads(page.text("#selection-data"))

    def seen(self, page):
        """Lines of text that are not hidden."""
        return [line for line in page.run("document.body.innerText").split("\n") if line.strip()]

    def assert_one_message(self, page, part):
        """There is this message, and beside it only what chooses."""
        lines = self.seen(page)
        self.assertEqual(len([line for line in lines if part in line]), 1, lines)
        self.assertIn(part, page.text("#refused"))
        self.assertFalse(page.run("document.querySelector('main').checkVisibility()"))
        for words in ("The profile has no hits", "Nothing chosen", "buckets of", "No source", "1970-"):
            self.assertNotIn(words, "\n".join(lines))

    def assert_requests(self, requests):
        """All of them are pages of the server."""
        for address in requests:
            self.assertTrue(address.startswith(self.address), address)
            self.assertIn(address[len(self.address):][:1], ("", "?"))

    def wait_for(self, page, words):
        page.wait(f"{READY} && document.getElementById('selection-words').textContent.includes({words!r})", words)
        page.settle()

    def functions(self, page):
        """Their names and hits."""
        return [[row[2], row[1]] for row in self.rows(page)]

    def ticks(self, page):
        """Texts of the ticks and their middles in pixels from the left end of the line, which none goes over."""
        boxes = page.run("""(() => {
            const all = document.getElementById('line-ticks').getBoundingClientRect();
            return [...document.querySelectorAll('#line-ticks span')].map((tick) => {
                const box = tick.getBoundingClientRect();
                return [tick.textContent, box.left - all.left, box.right - all.left, all.width];
            });
        })()""")
        for (_, left, right, width), following in zip(boxes, boxes[1:] + [["", boxes[-1][3] + 4, 0, 0]]):
            self.assertGreaterEqual(left, -1)
            self.assertLessEqual(right, width + 1)
            self.assertGreater(following[1], right)
        return [text for text, *_ in boxes]


class Parts(ServeTest):
    @classmethod
    def fill(cls, url):
        cls.add("web1", window("new", (500, 100), START_NS))

    def test_page__has_no_script_of_the_flame_graph(self):
        page = self.open()
        script = page.run("[...document.scripts].map((script) => script.textContent).join('')")
        self.assertFalse("layFlameOut" in script)
        self.assertTrue(page.run("document.getElementById('flame').hidden"))
        page.key("v")  # of no use, and no error


class Serve(ServeTest):
    @classmethod
    def fill(cls, url):
        for number, (host, hits) in enumerate((("web1", (500, 100)), ("web2", (100, 500)), ("web1", (30, 10)))):
            cls.add(host, window("old" if number == 0 else "new", hits, START_NS + number * 60 * 10**9))

    def test_page__has_the_last_hour_and_what_there_is_to_select(self):
        page = self.open()
        self.assertEqual(self.functions(page),
                         [["step_1", "510"], ["step_0", "500"], ["step_0", "130"], ["step_1", "100"]])
        self.assertEqual(page.run("[...document.querySelectorAll('#list-host option')].map((o) => o.value)"),
                         ["web1", "web2"])
        self.assertEqual(page.run("[...document.querySelectorAll('#list-build-id option')].map((o) => o.value).sort()"),
                         ["123456", "abcdef"])
        self.assertIn("hits of time", page.text("#line-tip"))
        offers = {name: page.run(f"[...document.querySelectorAll('#list-{name} option')].map((o) => o.value)")
                  for name in ("since", "until", "source", "image", "interval")}
        self.assertEqual(offers["image"], ["/usr/bin/new", "/usr/bin/old"])
        self.assertIn("time", offers["source"])
        self.assertIn("10000", offers["interval"])
        self.assertEqual(offers["since"][:4], ["15m", "1h", "1d", "7d"])
        self.assertEqual(len(offers["since"] + offers["until"]), 10)
        self.assertIn("time: 1.00 ms", page.run("[...document.querySelectorAll('#list-interval option')]"
                                                ".map((o) => o.label)"))
        # All fields offer something but those of which the store has nothing.
        nothing = page.run("""[...document.querySelectorAll('#form input')]
            .filter((input) => !input.list.options.length).map((input) => input.name)""")
        self.assertEqual(nothing, ["unit", "label", "old.unit", "old.label"])

    def test_fields__select_by_the_mouse(self):
        page = self.open()
        page.run("document.querySelector('[name=host]').focus()")
        page.type("web2")
        page.click("#form button[type=submit]")
        self.wait_for(page, "host web2")
        self.assertEqual(self.functions(page), [["step_1", "500"], ["step_0", "100"]])
        # What is empty does not stand in the address.
        self.assertNotIn("unit=", page.run("location.search"))

    def test_line__a_drag_selects_its_time(self):
        page = self.open()
        x, y, width, height = page.box("#line-canvas")
        slots = page.run("JSON.parse(document.getElementById('selection-data').textContent).hits.length")
        self.assertGreater(slots, 2)
        page.drag(x + 1, y + height / 2, x + width / 3, y + height / 2)
        page.wait("location.search.includes('since=')")
        page.wait(READY)
        page.settle()
        self.assertLess(sum(int(hits) for _, hits in self.functions(page)), 1240)

    def test_keys_alone__select_a_time_and_a_host(self):
        page = self.open()
        page.run("document.getElementById('line').focus()")
        page.key("Home")
        self.assertIn("600 hits", page.text("#line-tip"))
        page.key("End", shift=True)
        self.assertIn("1,240 hits", page.text("#line-tip"))
        page.key("Escape")
        page.key("Home")
        page.key("Enter")
        page.wait("location.search.includes('since=')")
        page.wait(READY)
        self.assertEqual(self.functions(page), [["step_0", "500"], ["step_1", "100"]])
        seen = set()
        for _ in range(60):
            page.key("Tab")
            seen.add(page.run("document.activeElement.id || document.activeElement.name"))
        self.assertLessEqual({"line", "since", "until", "host", "unit", "build-id", "label", "source", "image",
                              "interval", "wider", "whole", "keep", "refresh", "link", "copy", "search", "grid"}, seen)

    def test_comparison__by_the_button_and_a_field(self):
        page = self.open("?host=web1")
        page.click("#keep")
        self.assertEqual(page.run("document.querySelector('[name=\"old.host\"]').value"), "web1")
        page.run("document.querySelector('[name=host]').value = 'web2'")
        page.click("#form button[type=submit]")
        self.wait_for(page, "host web2")
        rows = page.run("[...document.querySelectorAll('#changes-table tr')].slice(1).map((row) => "
                        "[...row.children].map((cell) => cell.textContent))")
        changes = {(row[5], row[6]): row[3] for row in rows}
        self.assertTrue(changes["step_0", "old"].startswith("-"), rows)
        self.assertTrue(changes["step_1", "new"].startswith("+"), rows)

    def test_wider_and_whole__change_the_time(self):
        page = self.open("?host=web1")
        first = page.run("document.querySelector('[name=since]').value")
        page.click("#wider")
        page.wait("location.search.includes('since=')")
        page.wait(READY)
        self.assertLess(page.run("document.querySelector('[name=since]').value"), first)
        page.click("#whole")
        page.wait(f"{READY} && document.querySelector('[name=since]').value >= '{first}'")
        self.assertIn("host=web1", page.run("location.search"))

    def test_what_cannot_be_shown__is_an_alert_and_the_fields_stay(self):
        page = self.open("?since=yesterday&host=web1")
        self.assertIn("is no time", page.text("#refused"))
        self.assertEqual(page.run("document.querySelector('[name=since]').value"), "yesterday")
        self.assertEqual(page.run("document.querySelector('[name=host]').value"), "web1")

    def test_phone__nothing_is_wider_than_the_screen(self):
        page = self.open(width=390, height=780, scale=2, touch=True)
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 390)

    def test_range__before_now_keeps_the_host_and_is_one_message_without_windows(self):
        page = self.open("?host=web1&since=2026-09-01&until=2026-09-30T10:00")
        page.click("[data-since='15m']")
        page.wait("location.search === '?since=15m&host=web1'")
        page.wait(READY)
        self.assert_one_message(page, "no window is selected. The store has windows of 2026-09-21 ")
        self.assertEqual(page.run("[...document.querySelectorAll('[aria-pressed=true]')].map((b) => b.textContent)"),
                         ["15 m"])
        self.assertEqual(page.run("document.querySelector('[name=since]').value"), "15m")
        self.assertFalse(page.run("document.getElementById('line').checkVisibility()"))
        page.click("#whole")
        page.wait("location.search.includes('until=')")
        page.wait(READY)
        self.assertEqual(len(self.functions(page)), 4)

    def test_refusals__are_the_only_message_and_the_fields_stay(self):
        page = self.open()
        for query, part in (("?since=yesterday", "is no time"), ("?colour=red", "is no parameter"),
                            ("?since=2026-02-30", "is no time"), ("?host=none", "no window is selected. The store has"),
                            ("?since=2026-09-22&until=2026-09-21", "since must be earlier than until"),
                            ("?old.label=x", "what to compare with: label=x: is no label"),
                            ("?image=/none", "What is selected has no hits")):
            with self.subTest(query):
                self.go(page, query)
                self.assert_one_message(page, part)
                self.assertEqual(page.run("[...document.querySelectorAll('#list-image option')].map((o) => o.value)"),
                                 ["/usr/bin/new", "/usr/bin/old"])
                page.box("#form button[type=submit]")

    def test_times__are_of_the_browsers_zone_and_go_as_utc(self):
        page = self.open(zone="Asia/Kolkata")
        shown = START_NS // 10**9 + 19800  # as a clock there has it
        self.assertEqual(page.run("document.querySelector('[name=since]').value"),
                         time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(shown)))
        for element in ("#line-tip", "#facts"):
            self.assertIn("Asia/", page.text(element))
            self.assertIn("UTC+5:30", page.text(element))
        minute = time.strftime("%Y-%m-%d %H:%M", time.gmtime(shown + 60))
        page.run(f"document.querySelector('[name=since]').value = '{minute}'")
        page.click("#form button[type=submit]")
        page.wait("location.search.includes('since=')")
        page.wait(READY)
        self.assertEqual(self.data(page)["time"][0], time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                                                   time.gmtime(START_NS // 10**9 + 60)))
        self.assertEqual(self.functions(page), [["step_1", "510"], ["step_0", "130"]])

    def test_link__moves_or_is_fixed_and_shows_the_same_in_another_zone(self):
        page = self.open("?host=web*", zone="America/New_York")
        link = page.run("document.getElementById('link').value")
        self.assertEqual(link, self.address + "?host=web*")
        page.click("#fixed")
        link = page.run("document.getElementById('link').value")
        since, until = self.data(page)["time"]
        self.assertEqual(link, f"{self.address}?host=web*&since={since}&until={until}")
        page.click("#copy")
        page.wait("document.getElementById('copied').textContent")
        self.assertIn(page.text("#copied"), ("copied", "press Ctrl+C"))
        functions = self.functions(page)  # a page behind another draws nothing
        other = self.open(link[len(self.address):], zone="Asia/Tokyo")
        self.assertEqual(self.functions(other), functions)
        self.assertEqual(self.data(other)["time"], [since, until])
        self.assertFalse(other.run("document.getElementById('fixed').checkVisibility()"))
        self.assertEqual(other.run("document.getElementById('link').value"), link)
        # What is not touched goes back as it came.
        other.click("#form button[type=submit]")
        other.wait("location.search.startsWith('?since=')")
        other.wait(READY)
        self.assertEqual(self.data(other)["time"], [since, until])

    def test_scale__round_numbers_beside_and_round_times_below(self):
        page = self.open("?since=2026-09-21T11:00&until=2026-09-21T17:00", zone="UTC")
        self.assertEqual(self.ticks(page), ["11:00", "11:30", "12:00", "12:30", "13:00", "13:30", "14:00", "14:30",
                                            "15:00", "15:30", "16:00", "16:30", "17:00"])
        numbers = page.run("[...document.querySelectorAll('#line-scale span')].map((s) => s.textContent)")
        self.assertEqual(numbers, ["0", "500", "1,000"])
        tops = page.run("[...document.querySelectorAll('#line-scale span')].map((s) => s.getBoundingClientRect().top)")
        self.assertEqual(tops, sorted(tops, reverse=True))
        self.assertGreater(min(above - below for above, below in zip(tops, tops[1:])), 13)
        page.resize(400, 800)
        page.settle()
        page.wait("document.querySelectorAll('#line-ticks span').length < 7")
        self.assertEqual(self.ticks(page), ["12:00", "14:00", "16:00"])
        for element in ("line-ticks", "line-tip", "line-scale", "refused", "selection-words"):
            self.assertNotEqual(page.run(f"getComputedStyle(document.getElementById('{element}')).userSelect"), "none")

    def test_ticks__in_zones_of_half_hours_and_where_clocks_are_set(self):
        for zone, since, until, texts in (
                ("Asia/Kolkata", "2026-09-20T12:00Z", "2026-09-22T12:00Z",
                 ["18:00", "Sep 21", "06:00", "12:00", "18:00", "Sep 22", "06:00", "12:00"]),
                ("UTC", "2026-09-21T13:59:50Z", "2026-09-21T14:00:40Z",
                 ["13:59:50", "13:59:55", "14:00:00", "14:00:05", "14:00:10", "14:00:15", "14:00:20", "14:00:25",
                  "14:00:30", "14:00:35", "14:00:40"]),
                ("America/New_York", "2026-03-08T04:00Z", "2026-10-08T11:00Z",
                 ["Apr 2026", "May 2026", "Jun 2026", "Jul 2026", "Aug 2026", "Sep 2026", "Oct 2026"]),
                ("Europe/Berlin", "2026-09-01Z", "2026-09-22Z",
                 ["Sep 3", "Sep 5", "Sep 7", "Sep 9", "Sep 11", "Sep 13", "Sep 15", "Sep 17", "Sep 19", "Sep 21"]),
                ("Australia/Lord_Howe", "2026-01-01Z", "2199-01-01Z", None)):
            with self.subTest(zone):
                page = self.open(f"?since={since}&until={until}", zone=zone)
                ticks = self.ticks(page)
                self.assertGreater(len(ticks), 1)
                self.assertLess(len(ticks), 17)
                if texts is not None:
                    self.assertEqual(ticks, texts)

    def test_phone__fields_are_folded_and_all_can_be_reached(self):
        page = self.open("?since=2026-09-21", width=400, height=800, scale=2, touch=True)
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 400)
        self.assertFalse(page.run("document.querySelector('[name=host]').checkVisibility()"))
        for element in ("[data-since='7d']", "#whole", "#wider", "#refresh", "#copy", "#line"):
            x, _, width, _ = page.box(element)
            self.assertGreaterEqual(x, 0)
            self.assertLessEqual(x + width, 400)
        page.tap("#choose summary")
        page.wait("document.querySelector('[name=host]').checkVisibility()")
        self.go(page, "?host=none")
        self.assert_one_message(page, "no window is selected")
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 400)


class Clocks(ServeTest):
    """Windows where clocks are set forward and back."""

    @classmethod
    def fill(cls, url):
        for start in (1793511000, 1772951400, 1791039600):  # 2026-11-01T05:30Z, 2026-03-08T06:30Z, 2026-10-03T15:00Z
            cls.add("web1", window("old", (5, 1), start * 10**9))

    def test_ticks__where_clocks_are_set(self):
        for zone, since, until, texts in (
                ("America/New_York", "2026-11-01T03:00Z", "2026-11-01T10:00Z",
                 "23:00 23:30 Nov_1 00:30 01:00 01:30 02:00 02:30 03:00 03:30 04:00 04:30 05:00"),
                ("America/New_York", "2026-03-08T05:00Z", "2026-03-08T11:00Z",
                 "Mar_8 00:30 01:00 01:30 03:00 03:30 04:00 04:30 05:00 05:30 06:00 06:30 07:00"),
                ("Australia/Lord_Howe", "2026-10-03T13:00Z", "2026-10-03T18:00Z",
                 "23:30 Oct_4 00:30 01:00 01:30 02:30 03:00 03:30 04:00 04:30 05:00")):
            with self.subTest(zone + since):
                page = self.open(f"?since={since}&until={until}", zone=zone)
                self.assertEqual([text.replace(" ", "_") for text in self.ticks(page)], texts.split())
                # A text of the field may have two meanings: it goes back as it came.
                page.click("#form button[type=submit]")
                page.wait("location.search.includes('%3A00Z')")  # sent by the form
                page.wait(READY)
                self.assertEqual(self.data(page)["time"], [since[:-1] + ":00Z", until[:-1] + ":00Z"])


class Now(ServeTest):
    """A store that is being filled."""

    @classmethod
    def fill(cls, url):
        cls.add("web1", window("old", (500, 100), (int(time.time()) - 60) * 10**9))

    def test_refresh__shows_what_came_since(self):
        page = self.open()
        page.click("[data-since='7d']")
        page.wait("location.search === '?since=7d'")
        page.wait(READY)
        self.assertEqual([hits for _, hits in self.functions(page)], ["500", "100"])
        self.add("web2", window("old", (7, 5), (int(time.time()) - 30) * 10**9))
        page.run("document.body.dataset.ready = ''")
        page.click("#refresh")
        page.wait(READY)
        self.assertEqual([hits for _, hits in self.functions(page)], ["507", "105"])
        self.assertEqual(page.run("location.search"), "?since=7d")
        self.assertEqual(page.run("document.getElementById('link').value"), self.address + "?since=7d")
        page.click("#fixed")
        self.assertRegex(page.run("document.getElementById('link').value"), r"\?since=\d{4}-.*Z&until=\d{4}-.*Z$")


class Empty(ServeTest):
    @classmethod
    def fill(cls, url):
        pass

    def test_empty__says_what_to_type_until_something_is_there(self):
        for shape in ({}, {"width": 400, "height": 800, "touch": True}):
            page = self.open(**shape)
            self.assert_one_message(page, "the store has no windows yet")
            lines = self.seen(page)
            for words in ("sudo ntprof agent --store ", "ntprof store add "):
                self.assertTrue(any(words + self.url in line for line in lines), lines)
            self.assertFalse(page.run("document.getElementById('form').checkVisibility()"))
            self.assertLessEqual(page.run("document.documentElement.scrollWidth"), shape.get("width", 1280))
        self.add("<img src=x onerror=alert(1)>", window("</datalist><script>alert(1)</script>", (5, 7), START_NS),
                 "--label", "a=<b>")
        page.run("document.body.dataset.ready = ''")
        page.tap("#refresh")
        page.wait(READY)
        self.assertEqual([hits for _, hits in self.functions(page)][:1], ["7"])
        self.assertEqual(page.run("document.querySelectorAll('img, #selection script').length"), 0)
        self.assertEqual(self.data(page)["hosts"], ["<img src=x onerror=alert(1)>"])


if __name__ == "__main__":
    if find() is None:
        print("no chromium: apt-get install chromium")
        sys.exit(77)
    harness.main()
