#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes libntprof-core.a: the core as one object that has no names but those of <ntprof/core.h>, with their prefix, so
that it links into a kernel that has an ObReferenceObject of its own.

usage: make_core_archive.py ARCHIVE OUTPUT OBJCOPY AR COMPILER...
"""
import pathlib
import subprocess
import sys
import tempfile


def main():
    archive, output, objcopy, ar, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        whole, alone = f"{folder}/whole.o", f"{folder}/ntprof-core.o"
        subprocess.run([*compiler, "-r", "-nostdlib", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive",
                        "-o", whole], check=True)
        subprocess.run([objcopy, "--wildcard", "--keep-global-symbol=ntprof_Ex*", whole, alone],
                       check=True)
        pathlib.Path(output).unlink(missing_ok=True)
        subprocess.run([ar, "crsD", output, alone], check=True)


main()
