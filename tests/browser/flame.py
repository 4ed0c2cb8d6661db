#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The flame graph on the page of ntprof export --format html in Chromium: of stacks whose sums are known, by mouse,
touch and keys; nothing is loaded, no name gets out of its place, nothing is said on the console."""
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import harness  # noqa: E402
import pages  # noqa: E402
import profiles  # noqa: E402
from browser import find  # noqa: E402
from pages import HOSTILE, ntprof  # noqa: E402
from stacks import Stacks, known  # noqa: E402

PHONE = {"width": 400, "height": 800, "scale": 2, "touch": True}
BOXES = """[...document.querySelectorAll('.flame-label:not([hidden])')].map((label) => {
    const box = label.getBoundingClientRect();
    const faint = label.classList.contains('dim');
    return { name: label.textContent, x: box.x, y: box.y, width: box.width, faint }; })"""
CONTEXTS = 50_000


class FlameTest(pages.FilePageTest):
    def boxes(self, page):
        page.settle()
        return page.run(BOXES)

    def box(self, page, name, index=0):
        """Of those with this name the first, from above and from the left."""
        boxes = [box for box in self.boxes(page) if box["name"] == name]
        return sorted(boxes, key=lambda box: (box["y"], box["x"]))[index]

    def share(self, page, name, index=0):
        return self.box(page, name, index)["width"] / page.box("#flame-space")[2]

    def click_box(self, page, name, index=0):
        box = self.box(page, name, index)
        page.click_at(box["x"] + box["width"] - 3, box["y"] + 8)
        page.settle()

    def levels(self, page):
        """Names in each row, from above, in each from left to right."""
        rows = {}
        for box in self.boxes(page):
            rows.setdefault(round(box["y"]), []).append((box["x"], box["name"]))
        return [[name for _, name in sorted(rows[y])] for y in sorted(rows)]

    def focus(self, page):
        page.run("document.getElementById('flame-graph').focus()")

    def numbers(self, page):
        page.settle()
        return page.text("#flame-numbers")


class Graph(FlameTest):
    def test_boxes__are_as_wide_as_their_hits(self):
        page = self.show(known())
        self.assertEqual(self.levels(page), [
            ["all"], ["main", "[cut at 16 kB]"], ["eval", "parse", "idle", "worker"], ["eval", "malloc", "malloc"],
            ["malloc"]])
        for name, hits in (("all", 20000), ("main", 17000), ("eval", 7000), ("parse", 6000), ("idle", 3997)):
            self.assertAlmostEqual(self.share(page, name), hits / 20000, delta=0.002)
        self.assertTrue(page.run("document.getElementById('picture').offsetParent === null"))

    def test_rare_functions__are_one_that_says_so(self):
        page = self.show(known())
        data = page.run("JSON.parse(document.getElementById('flame-data').textContent)")
        self.assertFalse([name for name in data["frames"]["short"] if name.startswith("rare")])
        page.run("document.body.style.width = '40000px'")  # so that it is more than half a pixel wide
        page.settle()
        self.focus(page)
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
            page.key(key)
        self.assertEqual(page.text("#flame-name"), "[3 functions below 0.02%]")
        self.assertIn("3 hits", self.numbers(page))

    def test_rest_of_the_page__is_that_of_rows_without_stacks(self):
        made = []
        for with_stacks in (True, False):
            page = self.export(known(with_stacks=with_stacks), "--listings", "0")[1].read_text()
            made.append(re.sub(r'<script type="application/json" id="flame-data">.*?</script>\n', "", page, flags=re.S))
        self.assertEqual(*made)

    def test_without_stacks__no_graph_and_no_word_of_it(self):
        page = self.show(known(with_stacks=False))
        self.assertTrue(page.run("document.getElementById('flame').hidden"))
        self.assertTrue(page.run("document.getElementById('to-flame').hidden"))
        page.key("v")
        page.settle()
        self.assertGreater(page.box("#map")[3], 100)

    def test_other_source__its_own_graph(self):
        stacks = Stacks(("time", "page-faults"))
        stacks.add(["main", "work"], 900, 0)
        stacks.add(["main", "load"], 100, 50)
        page = self.show(stacks.profile)
        self.assertEqual(self.levels(page), [["all"], ["main"], ["work", "load"]])
        page.run("source.value = '1'; source.dispatchEvent(new Event('change'))")
        self.assertEqual(self.levels(page), [["all"], ["main"], ["load"]])

    def test_inlined_functions__are_boxes_of_their_own(self):
        stacks = Stacks()
        image, address, main = stacks.place("main")
        _, _, inner = stacks.place("inner")
        _, _, leaf = stacks.place("leaf")
        call = stacks.profile.add_call(image, address + 8, [inner, main])
        stacks.profile.add_bucket(image, address + 64, leaf, 4, (10,), stack=[call])
        self.assertEqual(self.levels(self.show(stacks.profile)), [["all"], ["main"], ["inner"], ["leaf"]])


class Moving(FlameTest):
    def test_click__zooms_and_back(self):
        page = self.show(known())
        self.click_box(page, "parse")
        self.assertEqual(self.levels(page), [["all"], ["main"], ["parse"], ["malloc"]])
        self.assertAlmostEqual(self.share(page, "parse"), 1, delta=0.005)
        self.assertAlmostEqual(self.share(page, "malloc"), 4 / 6, delta=0.005)
        self.assertIn("30.0%", self.numbers(page))
        page.click("#flame-back")
        self.assertAlmostEqual(self.share(page, "parse"), 0.3, delta=0.005)
        self.click_box(page, "parse")
        self.click_box(page, "main")  # what is above goes there
        self.assertAlmostEqual(self.share(page, "parse"), 6 / 17, delta=0.005)
        self.focus(page)
        page.key("Escape")
        page.key("Escape")
        self.assertAlmostEqual(self.share(page, "parse"), 0.3, delta=0.005)
        self.assertTrue(page.run("document.getElementById('flame-back').disabled"))

    def test_keys__go_everywhere(self):
        page = self.show(known())
        page.click("#to-addresses")
        page.settle()
        self.assertGreater(page.box("#map")[3], 100)
        page.key("v")
        page.settle()  # what is drawn first begins at "all"
        self.assertEqual(page.run("document.activeElement.id"), "flame-graph")
        self.assertNotEqual(page.run("getComputedStyle(document.getElementById('flame')).boxShadow"), "none")
        steps = (("ArrowDown", "main"), ("ArrowDown", "eval"), ("ArrowRight", "parse"), ("ArrowDown", "malloc"),
                 ("ArrowUp", "parse"), ("ArrowLeft", "eval"), ("ArrowUp", "main"), ("ArrowRight", "[cut at 16 kB]"))
        for key, name in steps:
            page.key(key)
            self.assertEqual(page.text("#flame-name"), name)
        self.assertEqual(page.text("#flame-image"), "[stack]")
        page.key("Enter")
        self.assertAlmostEqual(self.share(page, "worker"), 1, delta=0.005)
        page.key("0")
        self.assertAlmostEqual(self.share(page, "worker"), 0.15, delta=0.005)
        page.key("u")
        self.assertEqual(self.levels(page)[-1], ["all"])
        page.key("ArrowUp")
        self.assertEqual(page.text("#flame-name"), "main")
        page.key("w")
        page.settle()
        self.assertTrue(page.run("document.getElementById('list').offsetParent === null"))
        for _ in range(4):
            page.key("Escape")
        self.assertEqual(page.run("document.activeElement.id"), "grid")

    def test_box_that_is_chosen__is_the_row_of_the_table(self):
        page = self.show(known())
        row = "document.querySelector('#grid [aria-selected=true] .name').textContent"
        self.assertEqual(page.run(row), "malloc")
        self.click_box(page, "parse")
        self.assertEqual(page.run(row), "parse")
        self.assertEqual(page.text("#chosen"), "parse")
        self.click_box(page, "main")  # has no hits of its own
        self.assertEqual(page.run(row), "parse")
        self.focus(page)
        for key in ("ArrowDown", "Enter"):
            page.key(key)
        page.settle()
        self.assertEqual(page.run(row), "eval")

    def test_row_that_is_chosen__is_the_box_of_its_function(self):
        page = self.show(known())
        self.assertEqual(page.text("#flame-name"), "all")  # nobody has chosen
        self.click_box(page, "parse")
        page.run("document.getElementById('grid').focus()")
        page.key("Home")
        page.settle()
        self.assertEqual(page.text("#flame-name"), "malloc")
        self.assertIn("20.0%", self.numbers(page))  # that of parse, which is seen
        for name in ("idle", "eval"):
            page.run(f"""[...document.querySelectorAll('#grid .row .name')]
                .find((cell) => cell.textContent === '{name}').click()""")
            page.settle()
            self.assertEqual(page.text("#flame-name"), name)
        self.assertAlmostEqual(self.share(page, "parse"), 0.3, delta=0.005)  # zoomed out
        page.click("#flame-back")
        self.assertAlmostEqual(self.share(page, "parse"), 1, delta=0.005)

    def test_inlined_functions__are_chosen_in_what_they_are_inlined_in(self):
        stacks = Stacks()
        stacks.add_inlined("leaf", "main", 10)
        stacks.add(["main", "work"], 90)
        page = self.show(stacks.profile)
        row = "document.querySelector('#grid [aria-selected=true] .name').textContent"
        self.click_box(page, "leaf")
        self.assertEqual(page.run(row), "main")
        page.click("#inlined")
        self.click_box(page, "leaf")
        self.assertEqual(page.run(row), "leaf inlined in main")

    def test_function_that_is_inlined_too__is_one_row(self):
        stacks = Stacks()
        stacks.add_inlined("leaf", "main", 10)
        stacks.add(["main", "leaf"], 40)
        stacks.add(["main", "work"], 90)
        page = self.show(stacks.profile)
        row = "document.querySelector('#grid [aria-selected=true] .name').textContent"
        self.click_box(page, "leaf (app.c:11)")  # the graph has both, so it says which file
        self.assertEqual(page.run(row), "leaf")
        self.click_box(page, "main")
        for name in ("work", "leaf"):
            page.run(f"""[...document.querySelectorAll('#grid .row .name')]
                .find((cell) => cell.textContent === '{name}').click()""")
            page.settle()
            self.assertEqual(page.text("#flame-name").split(" ")[0], name)

    def test_names__can_be_selected(self):
        page = self.show(known())
        box = self.box(page, "parse")
        page.drag(box["x"] + 5, box["y"] + 8, box["x"] + 60, box["y"] + 8)
        self.assertEqual(page.run("getSelection().toString()"), "parse")
        self.assertAlmostEqual(self.share(page, "parse"), 0.3, delta=0.005)  # that was no click

    def test_pointer__says_what_is_there(self):
        page = self.show(known())
        box = self.box(page, "worker")
        page.hover_at(box["x"] + 5, box["y"] + 8)
        self.assertRegex(self.numbers(page), r"15\.0% ± [0-9.]+%  ·  3,000 hits")
        self.assertEqual(page.text("#flame-image"), "/usr/bin/app")
        page.hover_at(5, 5)
        page.settle()
        self.assertEqual(page.text("#flame-name"), "all")


class Search(FlameTest):
    def test_search__share_of_the_stacks_that_match(self):
        page = self.show(known())
        self.focus(page)
        page.key("/")
        page.type("libc mal")
        page.wait("document.getElementById('flame-found').textContent === '65.0% of the hits, 1 function'")
        self.assertEqual({box["name"] for box in self.boxes(page) if not box["faint"]}, {"malloc"})
        page.key("Enter")
        self.assertEqual(page.run("document.activeElement.id"), "flame-graph")
        self.assertIn("30.0%", self.numbers(page))  # the widest
        page.key("Escape")
        page.settle()
        self.assertEqual(page.text("#flame-found"), "")
        page.key("/")
        page.type("eval")  # of a function that calls itself, each stack once
        page.wait("document.getElementById('flame-found').textContent === '35.0% of the hits, 1 function'")
        page.key("Escape")
        page.type("nothing_such")
        page.wait("document.getElementById('flame-found').textContent === 'nothing matches'")

    def test_table_search__stays_another_one(self):
        page = self.show(known())
        page.key("/")
        self.assertEqual(page.run("document.activeElement.id"), "search")


class Reversed(FlameTest):
    def test_reversed__functions_with_their_callers(self):
        page = self.show(known())
        page.click("#flame-reversed")
        self.assertEqual(self.levels(page), [
            ["all"], ["malloc", "idle", "parse", "eval"], ["eval", "parse", "worker", "main", "main", "main"],
            ["eval", "main", "[cut at 16 kB]"], ["main"]])
        self.assertAlmostEqual(self.share(page, "malloc"), 0.65, delta=0.005)
        page.click("#flame-reversed")
        self.assertAlmostEqual(self.share(page, "malloc"), 0.2, delta=0.005)

    def test_callers__of_a_function_each_stack_once(self):
        page = self.show(known())
        self.click_box(page, "malloc")
        page.click("#flame-callers")
        self.assertEqual(page.text("#flame-found"), "Callers of malloc")
        self.assertEqual(self.levels(page), [
            ["malloc"], ["eval", "parse", "worker"], ["eval", "main", "[cut at 16 kB]"], ["main"]])
        self.assertIn("65.0%", self.numbers(page))
        self.focus(page)
        page.key("ArrowDown")
        self.assertEqual(page.text("#flame-name"), "eval")
        page.key("k")
        self.assertEqual(self.levels(page), [["eval"], ["main"]])
        self.assertIn("35.0%", self.numbers(page))
        page.key("Escape")
        self.assertEqual(page.text("#flame-found"), "Callers of malloc")


class Difference(FlameTest):
    def compare(self, old, new):
        file = self.folder / "old.pb.gz"
        old.write(file)
        return self.open(self.export(new, "--old", file)[1])

    def colour(self, page, name):
        """Of a box: red, green, blue."""
        box = self.box(page, name)
        return page.run(f"""(() => {{ const canvas = document.getElementById('flame-canvas');
            const at = canvas.getBoundingClientRect();
            const copy = document.createElement('canvas').getContext('2d', {{ willReadFrequently: true }});
            copy.drawImage(canvas, {box["x"] + box["width"] - 4} - at.x, {box["y"]} - at.y + 9, 1, 1, 0, 0, 1, 1);
            return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3); }})()""")

    def test_change__width_is_new_and_colour_what_changed(self):
        page = self.compare(known(1), known(0.5))
        self.assertAlmostEqual(self.share(page, "eval"), 4000 / 20000, delta=0.005)
        red, _, blue = self.colour(page, "idle")
        self.assertGreater(red, blue + 40)
        red, _, blue = self.colour(page, "eval")
        self.assertGreater(blue, red + 40)
        red, _, blue = self.colour(page, "parse")
        self.assertLess(abs(red - blue), 20)
        self.click_box(page, "eval")
        self.assertRegex(self.numbers(page), r"was 35\.0%: −15\.0% ± 0\.\d+%$")
        self.focus(page)
        page.key("d")  # by image
        page.settle()
        self.assertIn("libc.so.6", page.text("#flame-legend"))
        page.key("d")
        page.settle()
        self.assertIn("grew, by up to 15.0%", page.text("#flame-legend"))
        page.key("r")
        page.settle()
        self.assertEqual(page.text("#flame-name"), "all")
        self.assertRegex(self.numbers(page), r"^100\.0% ± 0\.\d+%  ·  20,000 hits  ·  20\.0 s$")
        self.click_box(page, "idle")  # in the graph from below
        self.assertRegex(self.numbers(page), r"was 20\.0%: \+15\.0% ± 0\.\d+%$")

    def test_chance__has_no_colour(self):
        page = self.compare(known(1), known(0.99))
        red, _, blue = self.colour(page, "eval")
        self.assertLess(abs(red - blue), 20)
        self.click_box(page, "eval")
        self.assertIn("which chance explains", self.numbers(page))

    def test_gone__is_said(self):
        page = self.compare(known(1), known(0))
        self.assertNotIn("eval", [name for names in self.levels(page)[3:] for name in names])
        self.assertIn("only in the old profile: 30.0%", page.text("#flame-legend"))


class Reach(FlameTest):
    def test_phone__table_graph_and_back(self):
        page = self.show(known(), **PHONE)
        page.tap("#list-to-flame")
        page.wait("document.body.dataset.view === 'flame'")
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 400)
        self.assertGreater(page.box("#flame-graph")[3], 350)
        seen = page.run("""[...document.querySelectorAll('#flame button, #flame input')]
            .filter((element) => element.offsetParent).map((element) => {
                const box = element.getBoundingClientRect(); return [box.x, box.right, box.height]; })""")
        self.assertGreaterEqual(len(seen), 6)
        for left, right, height in seen:
            self.assertTrue(left >= 0 and right <= 400 and height >= 34, seen)
        box = self.box(page, "parse")
        x, y = box["x"] + box["width"] / 2, box["y"] + 12
        page.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        page.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        page.wait("document.getElementById('flame-name').textContent === 'parse'")
        self.assertAlmostEqual(self.share(page, "parse"), 1, delta=0.01)
        page.tap("#flame-back")
        page.tap("#flame-to-list")
        page.wait("document.body.dataset.view === 'list'")
        self.assertGreater(page.box("#grid")[3], 300)

    def test_roles_and_names__are_there(self):
        page = self.show(known())
        nameless = page.run("""[...document.querySelectorAll('#flame :is(button, input, [tabindex="0"])')]
            .filter((element) => !(element.getAttribute('aria-label') || element.textContent.trim()))
            .map((element) => element.outerHTML)""")
        self.assertEqual(nameless, [])
        self.assertEqual(page.run("document.getElementById('flame-chosen').getAttribute('role')"), "status")

    def test_dark__other_colours(self):
        page = self.show(known())
        light = page.run("getComputedStyle(document.querySelector('.flame-key i')).backgroundColor")
        page.prefer("dark")
        page.settle()
        self.assertNotEqual(page.run("getComputedStyle(document.querySelector('.flame-key i')).backgroundColor"), light)


class Hostile(FlameTest):
    def test_names__stay_names(self):
        stacks = Stacks()
        path = []
        for i, name in enumerate(HOSTILE):
            image = stacks.profile.add_image(b"/tmp/" + name, 0x1000, 0x2000, name[:64])
            function = stacks.profile.add_function(name, name, 5)
            path.insert(0, stacks.profile.add_call(image, 0x1000 + 64 * i, function))
            stacks.profile.add_bucket(image, 0x1000, function, 7, (100,), name, stack=path[1:])
        _, made = self.export(stacks.profile)
        raw = made.read_bytes()
        self.assertIsNone(re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", raw))
        self.assertEqual(len(re.findall(rb"</script", raw)), len(re.findall(rb"<script", raw)))
        page = self.open(made)
        self.focus(page)
        for key in ["ArrowDown"] * (len(HOSTILE) + 1) + ["k", "Escape", "r", "d", "u"]:
            page.key(key)
            page.settle()
        self.assertIsNone(page.run("window.hacked === undefined ? null : window.hacked"))
        self.assertEqual(page.run("document.querySelectorAll('img, iframe, [onerror], [onload]').length"), 0)
        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), 1280)


class Many(FlameTest):
    """50,000 places with different callers. Times are printed, for docs/performance.md; nothing depends on them."""

    def test_draw__is_timed(self):
        chance = random.Random(7)
        stacks = Stacks()
        names = [f"{'/lib/libc.so.6!' if i % 5 == 0 else ''}{profiles.make_name(i, chance)}" for i in range(3000)]
        path = ["main"]
        for _ in range(CONTEXTS):
            del path[max(1, len(path) - int(chance.paretovariate(1))):]
            while len(path) < 60 and chance.random() < 0.7:
                path.append(chance.choice(names))
            stacks.add([*path, chance.choice(names)], 1 + int(chance.paretovariate(0.8)) % 1000)
        file, made = self.export(stacks.profile)
        page = self.open(made)
        print(f"50,000 contexts: {made.stat().st_size / 1e6:.2f} MB, page usable after {page.run(pages.READY)} ms,"
              f" {page.run('document.getElementById(`flame-graph`).dataset.drawn')} boxes")
        told = []
        for name, key in (("drawn anew", "u"), ("zoomed", "Enter"), ("reversed", "r"), ("back", "Escape")):
            took = page.run("""(async () => { const graph = document.getElementById('flame-graph');
                const begun = performance.now();
                graph.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}));
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                return performance.now() - begun; })()""" % key)
            told.append(f"{name} {took:.0f} ms")
        print("50,000 contexts: " + ", ".join(told) + "; aim: below 500")
        ntprof("export", "--format", "html", "--old", file, "-o", made, file)


if __name__ == "__main__":
    if find() is None:
        print("no chromium: apt-get install chromium")
        sys.exit(77)
    harness.main()
