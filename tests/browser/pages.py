# SPDX-License-Identifier: MIT
"""What the tests of our own pages share: one browser, pages that are ready, and what they may not do."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import harness  # noqa: E402
from browser import Browser  # noqa: E402

READY = "document.body?.dataset.ready"  # between two pages there is no body


def ntprof(*words):
    done = subprocess.run([os.environ["NTPROF"], *map(str, words)], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=harness.TIME_LIMIT_S)
    if done.returncode != 0:
        raise AssertionError(f"ntprof {words}: {harness.text(done.stderr)}")
    return done.stdout


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ntprof-page-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, address, **shape):
        page = self.browser.open(address, **shape)
        page.wait(READY)
        page.settle()
        self.addCleanup(self.assert_quiet, page)
        return page

    def assert_quiet(self, page):
        """Nothing was said on the console, and nothing was loaded that should not be."""
        self.browser.listen(0)
        self.assertEqual(page.problems, [])
        self.assert_requests(page.requests)

    def rows(self, page):
        """Cells of the rows that are made, from first to last."""
        page.settle()
        return page.run("""[...document.querySelectorAll('#grid .spacer .row:not([hidden])')]
            .sort((a, b) => a.index - b.index).map((row) => [...row.children].map((cell) => cell.textContent))""")
