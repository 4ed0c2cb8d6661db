# SPDX-License-Identifier: MIT
"""Shares of functions as ntprof and perf print them, and how far two of them lie apart."""

UNNAMED = "?"


def _normalise(rows):
    """{function: share}; what has an address for a name is one row."""
    total = sum(count for _, count in rows) or 1
    shares = {}
    for name, count in rows:
        key = UNNAMED if "+0x" in name or name.startswith("0x") else name
        shares[key] = shares.get(key, 0) + count / total
    return shares


def of_ntprof(report):
    return _normalise([(row["function"], row["hits"]) for row in report["rows"]])


def of_perf(samples):
    return _normalise(samples)


def distance(one, other):
    """0 for the same shares, 1 for nothing in common."""
    return sum(abs(one.get(name, 0) - other.get(name, 0)) for name in one.keys() | other.keys()) / 2
