# SPDX-License-Identifier: MIT
"""Prints figures: a name, the median, the spread, the aim, and whether it is met."""
import statistics

HEADING = ("figure", "median", "min..max", "aim", "met")
LINE = "{:<58} {:>10}  {:<21} {:<14} {}"


def show_heading():
    print(LINE.format(*HEADING).rstrip(), flush=True)


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
    print(LINE.format(name + (f", {unit}" if unit else ""), number(median), spread, aim,
                      judged).rstrip(), flush=True)
    return median


def show_at_most(name, values, most, unit=""):
    return show(name, values, unit, f"<= {most}", lambda median: median <= most)


def show_below(name, values, limit, unit=""):
    return show(name, values, unit, f"< {limit}", lambda median: median < limit)
