# SPDX-License-Identifier: MIT
"""How long the page of `ntprof export --format html` takes to open, and its flame graph to be drawn, as their tests in
a browser print it."""
import os
import pathlib
import re
import subprocess
import sys

from commands import Failed
from figures import say, show_at_most, show_below

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "browser"
OPENED = re.compile(r"100,000 buckets: open to usable, median of \d+: (\d+) ms, (\d+) to (\d+)")
DRAWN = re.compile(r"50,000 contexts: drawn anew (\d+) ms, zoomed (\d+) ms, reversed (\d+) ms, back (\d+) ms")
SKIPPED = 77


def times_of(commands, test, case, printed):
    """The times in ms that a test prints; None: it is skipped."""
    ended = subprocess.run([sys.executable, str(TESTS / test), case], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False,
                           env=os.environ | {"NTPROF": commands.ntprof, "PYTHONDONTWRITEBYTECODE": "1"})
    if ended.returncode == SKIPPED:
        say(f"left out: {ended.stdout.strip()}")
        return None
    told = printed.search(ended.stdout)
    if ended.returncode != 0 or told is None:
        raise Failed(f"{test}: exit status {ended.returncode}")
    return list(map(int, told.groups()))


def figure_page(commands):
    opened = times_of(commands, "html.py", "Many.test_open__is_timed", OPENED)
    if opened is None:
        return
    say("from opening the file in Chromium to rows that can be clicked, with 100,000 buckets with hits.")
    show_below("open to usable, 100,000 buckets", opened, 1000, "ms")
    drawn = times_of(commands, "flame.py", "Many.test_draw__is_timed", DRAWN)
    if drawn is None:
        return
    say("the flame graph of 50,000 contexts in Chromium, from a key to the end of drawing.")
    for name, took in zip(("drawn anew", "zoomed", "reversed", "back"), drawn):
        show_at_most(f"flame graph, 50,000 contexts: {name}", [took], 500, "ms")
