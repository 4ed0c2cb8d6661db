# SPDX-License-Identifier: MIT
"""Prints figures: a name, the median, the spread, the aim, and whether it is met.

What is printed is kept as well, so that it can take the place of an older run's in a document.
"""
import os
import pathlib
import statistics

QUICK = os.environ.get("BENCH_QUICK", "0") not in ("", "0")
HEADING = ("figure", "median", "min..max", "aim", "met")
LINE = "{:<58} {:>10}  {:<21} {:<14} {}"


printed = []


def tell(text):
    print(text, flush=True)
    printed.append(text)


def say(text):
    tell(f"  {text}")


def show_heading():
    tell(LINE.format(*HEADING).rstrip())


def record(document, name):
    """Puts what was printed between the document's lines '<!-- figure: NAME -->' and '<!-- end -->'."""
    path = pathlib.Path(document)
    before, begin, rest = path.read_text(encoding="utf-8").partition(f"<!-- figure: {name} -->\n")
    _, end, after = rest.partition("<!-- end -->\n")
    if not begin or not end:
        raise ValueError(f"{document}: no place for figure {name}")
    block = "```\n" + "\n".join(printed) + "\n```\n"
    path.write_text(before + begin + block + end + after, encoding="utf-8")


def number(value):
    """Three or four digits that matter."""
    if value != 0 and abs(value) < 0.1:
        return f"{value:.4f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"


def show(name, values, unit="", aim="", met=None):
    """One line. met is a function of the median, or None for a figure without an aim."""
    median = statistics.median(values)
    spread = f"{number(min(values))}..{number(max(values))}"
    judged = "" if met is None else "yes" if met(median) else "NO"
    tell(LINE.format(name + (f", {unit}" if unit else ""), number(median), spread, aim,
                     judged).rstrip())
    return median


def show_at_most(name, values, most, unit=""):
    return show(name, values, unit, f"<= {most}", lambda median: median <= most)


def show_below(name, values, limit, unit=""):
    return show(name, values, unit, f"< {limit}", lambda median: median < limit)


def turns(actions, count):
    """Runs named actions in turns, every other turn in reverse; [{name: result}]."""
    results = []
    for turn in range(count):
        names = list(actions) if turn % 2 == 0 else list(reversed(actions))
        results.append({name: actions[name]() for name in names})
    return results


def ratios(results, measure, over="ntprof", under="perf"):
    return [measure(turn[over]) / measure(turn[under]) for turn in results]
