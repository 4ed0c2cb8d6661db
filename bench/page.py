# SPDX-License-Identifier: MIT
"""How long the page of `ntprof export --format html` takes to open, as its test in a browser prints it."""
import os
import pathlib
import re
import subprocess
import sys

from commands import Failed
from figures import say, show_below

TEST = pathlib.Path(__file__).resolve().parent.parent / "tests" / "browser" / "html.py"
PRINTED = re.compile(r"100,000 buckets: open to usable, median of \d+: (\d+) ms, (\d+) to (\d+)")
SKIPPED = 77


def figure_page(commands):
    ended = subprocess.run([sys.executable, str(TEST), "Many.test_open__is_timed"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False,
                           env=os.environ | {"NTPROF": commands.ntprof, "PYTHONDONTWRITEBYTECODE": "1"})
    if ended.returncode == SKIPPED:
        say(f"left out: {ended.stdout.strip()}")
        return
    told = PRINTED.search(ended.stdout)
    if ended.returncode != 0 or told is None:
        raise Failed(f"{TEST.name}: exit status {ended.returncode}")
    median, least, most = map(int, told.groups())
    say("from opening the file in Chromium to rows that can be clicked, with 100,000 buckets with hits.")
    show_below("open to usable, 100,000 buckets", [least, median, most], 1000, "ms")
