#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The pages of ntprof serve in Chromium: selecting by fields, by the line over time, by keys alone; comparing."""
import os
import pathlib
import signal
import subprocess
import sys

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


class Serve(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        url = f"sqlite:{cls.folder}/s.db"
        ntprof("store", "init", url)
        for number, (host, hits) in enumerate((("web1", (500, 100)), ("web2", (100, 500)), ("web1", (30, 10)))):
            file = cls.folder / f"{number}.pb.gz"
            window("old" if number == 0 else "new", hits, START_NS + number * 60 * 10**9).write(file)
            ntprof("store", "add", url, file, "--host", host)
        port = harness.free_port()
        environment = dict(os.environ, TZ="UTC")
        cls.server = subprocess.Popen([os.environ["NTPROF"], "serve", url, "--listen", str(port)], env=environment,
                                      stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.end)
        cls.address = f"http://127.0.0.1:{port}/"
        harness.wait_for(lambda: harness.listens(port), "the server")

    @classmethod
    def end(cls):
        cls.server.send_signal(signal.SIGTERM)
        if cls.server.wait(timeout=harness.TIME_LIMIT_S) != 0:
            raise AssertionError("ntprof serve failed")

    def open(self, query="", **shape):
        return super().open(self.address + query, **shape)

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

    def test_page__has_the_last_hour_and_what_there_is_to_select(self):
        page = self.open()
        self.assertEqual(self.functions(page),
                         [["step_1", "510"], ["step_0", "500"], ["step_0", "130"], ["step_1", "100"]])
        self.assertEqual(page.run("[...document.querySelectorAll('#list-host option')].map((o) => o.value)"),
                         ["web1", "web2"])
        self.assertEqual(page.run("[...document.querySelectorAll('#list-build-id option')].map((o) => o.value).sort()"),
                         ["123456", "abcdef"])
        self.assertIn("hits of time", page.text("#line-tip"))

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
                              "interval", "wider", "whole", "keep", "search", "grid"}, seen)

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


if __name__ == "__main__":
    if find() is None:
        print("no chromium: apt-get install chromium")
        sys.exit(77)
    harness.main()
