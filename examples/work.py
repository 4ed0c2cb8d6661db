# SPDX-License-Identifier: MIT
"""Ordinary Python at work, for `make demo`: a table is built, sorted, written and packed."""
import json
import re
import sys
import time
import zlib


def make_rows(count):
    seed = 12345
    for number in range(count):
        seed = (seed * 1103515245 + 12345) % (1 << 31)
        yield {"id": number, "name": f"item-{seed % 9973}", "value": seed / 7}


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    end = time.process_time() + seconds
    rounds = packed = words = 0
    while time.process_time() < end:
        rows = sorted(make_rows(4000), key=lambda row: (row["name"], row["value"]))
        text = json.dumps(rows)
        packed += len(zlib.compress(text.encode(), 6))
        words += len(re.findall(r"item-\d+7\b", text))
        rounds += 1
    print(f"work.py: {rounds} rounds, {packed} bytes packed, {words} words found")


main()
