#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs a test and adds a line to processor_time.txt, in the build folder if meson runs it: processor seconds
of the test and of the descendants that were waited for, seconds that passed, and the command.

usage: meson test -C BUILD NAME... --wrapper $PWD/scripts/processor_time.py; sort -rn BUILD/processor_time.txt
"""
import os
import resource
import subprocess
import sys
import time


def main():
    began = time.monotonic()
    status = subprocess.call(sys.argv[1:])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = " ".join(os.path.basename(word) for word in sys.argv[1:])
    with open("processor_time.txt", "a", encoding="utf-8") as log:
        log.write(f"{used.ru_utime + used.ru_stime:8.1f} {time.monotonic() - began:8.1f}  {words[:100]}\n")
    # A signal's number is what a shell makes of it.
    return status if status >= 0 else 128 - status


sys.exit(main())
