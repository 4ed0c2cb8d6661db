#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds libntprof-core.a against what a kernel can link: names, what it asks for, and registers of the machine code.

usage: check_archive.py ARCHIVE NAMES [NM OBJDUMP]
"""
import pathlib
import re
import subprocess
import sys

MEMORY = {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_"}  # which linkers make
# An interrupt saves neither of these: vector and floating-point registers, and the red zone below the stack pointer.
UNSAVED = re.compile(r"%[xyz]mm\d|%st\b|-0x[0-9a-f]+\(%rsp\)|\b[qsv]\d+\b")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def names(*command):
    return {line.split()[-1] for line in output(*command).splitlines() if " " in line}


def main():
    archive, listed = sys.argv[1], pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    nm, objdump = sys.argv[3:] or ("nm", "objdump")
    wanted = {line.split()[-1] for line in listed.splitlines()}
    found = names(nm, "-g", "--defined-only", archive)
    faults = [f"{name} is global" for name in sorted(found - wanted)]
    faults += [f"{name} is not there" for name in sorted(wanted - found)]
    faults += [f"asks for {name}" for name in sorted(names(nm, "-u", archive) - MEMORY)]
    code = [line.split("\t", 1)[1] for line in output(objdump, "-d", "--no-show-raw-insn", archive).splitlines()
            if "\t" in line]
    faults += [f"not saved in an interrupt: {line}" for line in code if UNSAVED.search(line)]
    for fault in faults[:20]:
        print(f"check_archive: {fault}")
    print(f"check_archive: {len(wanted)} names, {len(code)} instructions, {len(faults)} faults")
    sys.exit(1 if faults or not code else 0)


main()
