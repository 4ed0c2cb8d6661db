# SPDX-License-Identifier: MIT
"""Work that is all over the interpreter and its libraries: python_work.py ROUNDS. Prints its own times."""
import ast
import collections
import decimal
import json
import os
import random
import re
import sys
import time
import zlib

SOURCE = "def mean(values, weight):\n    return [value * weight for value in values if value % 2]\n" * 5


def work(number):
    records = {str(i): [i, i * 2.5, {"next": str(i + number)}] for i in range(60)}
    text = json.dumps(records)
    json.loads(text)
    re.findall(r'(\d+)[^"]*"next": ?"(\d)', text)
    zlib.decompress(zlib.compress(text.encode()))
    sorted(random.random() for _ in range(200))
    exec(compile(ast.parse(SOURCE), "source", "exec"), {})
    decimal.Decimal(number + 2).sqrt()
    collections.Counter(text).most_common(5)
    "".join(reversed(text)).upper().split(",")
    pow(3, 300 + number, 7 ** 50)


def main():
    begun_ns = time.monotonic_ns()
    for number in range(int(sys.argv[1])):
        work(number)
    print(f"work wall_ns={time.monotonic_ns() - begun_ns} cpu_ns={time.process_time_ns()}", flush=True)
    os._exit(0)  # what it takes to end would count as the profiler's


main()
