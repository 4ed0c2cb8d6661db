# SPDX-License-Identifier: MIT
"""speedscope's own page, as npm has it, opens what ntprof export --format speedscope writes: it finds all
profiles, their sums and functions, and no name gets out of its place.

The package is what package-lock.json names, by its hash; npm finds it where this machine's npm looks.
"""
import atexit
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
import harness  # noqa: E402
from browser import Browser, find  # noqa: E402

INSTALL_TIME_LIMIT_S = 180
# It draws by WebGL, which a machine without a graphics card has in software.
ARGUMENTS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
ROWS = "Array.from(document.querySelectorAll('tr')).map((row) => Array.from(row.cells).map((cell) => cell.innerText))"
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="ntprof-speedscope-"))
READBACK = "GPU stall due to ReadPixels"  # what the software says of drawing to a file


def seconds(shown):
    """Of "1.50s (75%)"."""
    return float(shown.split("s")[0])


def install(folder):
    """The page. Skips where there is no npm, or it gets nothing."""
    if shutil.which("npm") is None:
        raise unittest.SkipTest("no npm to get speedscope with")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=INSTALL_TIME_LIMIT_S, check=False)
    if done.returncode != 0:
        said = [line for line in harness.text(done.stdout).splitlines() if line.startswith("npm error")]
        raise unittest.SkipTest("npm cannot get speedscope: " + "; ".join(said[:2]))
    return folder / "node_modules" / "speedscope" / "dist" / "release" / "index.html"


atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


class Page(unittest.TestCase):
    page_address = None  # once it is there

    def setUp(self):
        if find() is None:
            self.skipTest("no chromium")
        if Page.page_address is None:
            Page.page_address = install(FOLDER).as_uri()

    def export(self, *words):
        """The hits of each source of the profile that is made, and the file of it."""
        made = subprocess.run([os.environ["NTPROF_PROFILE_MAKER"], *words[:1], "p", *words[1:]],
                              cwd=FOLDER, stdout=subprocess.PIPE, check=True)
        exported = FOLDER / "p.speedscope.json"
        subprocess.run([os.environ["NTPROF"], "export", "--format", "speedscope", "-o", exported, "p"],
                       cwd=FOLDER, check=True)
        return [int(line) for line in made.stdout.split()], exported

    def open(self, browser, path):
        """speedscope's page with a file that was chosen from the disk."""
        page = browser.open(self.page_address, height=3000)
        page.wait("document.querySelector('#file')")
        root = page.send("DOM.getDocument")["root"]["nodeId"]
        chooser = page.send("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
        page.send("DOM.setFileInputFiles", nodeId=chooser, files=[str(path)])
        page.wait("document.title.includes(' - speedscope')", "the profile")
        return page

    def table(self, page):
        """Total, self and name of each function, in the view called sandwich."""
        page.key("3")
        # The rows come a moment after their head.
        page.wait("((rows) => rows.findIndex((row) => row.innerText.includes('Symbol')) >>> 0 < rows.length - 1)"
                  "(Array.from(document.querySelectorAll('tr')))", "the table")
        rows = page.run(ROWS)
        head = rows.index(["Total", "Self", "Symbol Name"])
        return [(total.strip(), own.strip(), name.strip()) for total, own, name in rows[head + 1:]]

    def assert_quiet(self, page):
        self.assertEqual([problem for problem in page.problems if READBACK not in problem], [])
        self.assertEqual(page.requests, [])

    def test_hard_profile__all_sources_add_up(self):
        hits, path = self.export("hard")
        with Browser(ARGUMENTS) as browser:
            page = self.open(browser, path)
            functions = self.table(page)
            rows = page.run(ROWS)
            sums = {name: total for number, name, total in
                    [row for row in rows if len(row) == 3 and row[0].isdigit()]}
            self.assert_quiet(page)
        minutes, seconds = divmod(hits[0] // 1000, 60)  # a hit is 1 ms
        self.assertEqual(sums.pop("time"), f"{minutes}:{seconds:02}")
        self.assertEqual(sums.pop("page-faults"), f"{hits[1]:,}")
        self.assertEqual(sums.pop("a;b.c_d"), f"{hits[3]:,}")
        (hostile, total), = sums.items()
        self.assertEqual(total, f"{hits[2]:,}")
        self.assertIn("\\x1b[31m<script>", hostile)
        names = {name for _, _, name in functions}
        self.assertLessEqual({"inner", "middle;x", "outer", "</script>", "\\xff", "L" * (1 << 20)}, names)

    def test_inlined_code__lies_above_what_it_was_inlined_into(self):
        _, path = self.export("hard")
        # Two functions of the profile are called outer: the second is shown with its file and line.
        totals = collections.Counter()
        owns = collections.Counter()
        with Browser(ARGUMENTS) as browser:
            for total, own, name in self.table(self.open(browser, path)):
                name = name.partition(" (")[0]
                if name in ("outer", "middle;x", "inner"):
                    totals[name] += seconds(total)
                    owns[name] += seconds(own)
        expected = 0
        for name in ("inner", "middle;x", "outer"):
            expected += owns[name]
            self.assertGreater(owns[name], 1)
            self.assertAlmostEqual(totals[name], expected, delta=0.03, msg=name)  # each is rounded

    def test_time__of_functions_images_and_processes(self):
        _, path = self.export("image", "/usr/bin/app", "10000", "0x1000:1500", "0x1004:500")
        with Browser(ARGUMENTS) as browser:
            page = self.open(browser, path)
            functions = {name: (total, own) for total, own, name in self.table(page)}
            self.assert_quiet(page)
        self.assertEqual(functions["[no symbols] in app"], ("2.00s (100%)", "2.00s (100%)"))
        self.assertEqual(functions["app"][0], "2.00s (100%)")
        self.assertEqual(functions["one"][0], "2.00s (100%)")


if __name__ == "__main__":
    harness.main()
