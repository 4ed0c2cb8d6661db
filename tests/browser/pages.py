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

# Names that a program or a file may have.
HOSTILE = [
    b"<script>window.hacked=1</script>", b"</script><script>window.hacked=2</script>",
    b"<img src=x onerror=window.hacked=3>", b"\"><svg onload=window.hacked=4>", b"<!--<script>", b"]]>",
    b"${window.hacked=5}`'\"\\", b"\033[31mred\033[0m\033]0;title\007", b"line\xe2\x80\xa8separator\xe2\x80\xa9end",
    b"\xff\xfe\xc3(\xed\xa0\x80", b"\xe2\x80\xaeright to left", b"__proto__", b"constructor",
    b"javascript:window.hacked=6",
    b"a\nb\tc\rd", b"x" * (1 << 20), ("\N{GRINNING FACE}" * 2000).encode(), b"&lt;b&gt;&#60;", b" ",
]
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


class FilePageTest(PageTest):
    """Of pages that ntprof export writes."""

    def export(self, profile, *options):
        """The profile's file, and its page."""
        file = self.folder / f"{self._testMethodName}.pb.gz"
        page = file.with_suffix(".html")
        profile.write(file)
        ntprof("export", "--format", "html", *options, "-o", page, file)
        return file, page

    def open(self, page, **shape):
        return super().open(page.as_uri(), **shape)

    def show(self, profile, **shape):
        return self.open(self.export(profile)[1], **shape)

    def assert_requests(self, requests):
        self.assertEqual(requests, [])
