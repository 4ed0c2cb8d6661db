#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes a C file of what the command carries inside (tool/base/embedded.h): files by their names, and descriptions of
terminals as texts that curses reads from the environment variable TERMINFO.

usage: embed_files.py OUTPUT FILE... [--terminals terminfo/TYPE...]
"""
import pathlib
import subprocess
import sys


def description(name):
    """The compiled description of a terminal: hex:..."""
    command = ["infocmp", "-0", "-Q1", "-q", name.removeprefix("terminfo/")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.strip()


def main():
    words = sys.argv[2:]
    end = words.index("--terminals") if "--terminals" in words else len(words)
    files = [(pathlib.Path(word).name, pathlib.Path(word).read_bytes()) for word in words[:end]]
    files += [(name, description(name)) for name in words[end + 1:]]
    lines = ["/* Made by embed_files.py. */", '#include "base/embedded.h"', "",
             "extern const struct embedded_file ntprof_embedded_files[];", ""]
    for number, (_, content) in enumerate(files):
        lines.append(f"static const unsigned char file_{number}[] = {{")
        for at in range(0, len(content), 32):
            lines.append("".join(f"{byte}," for byte in content[at:at + 32]))
        lines += ["0};", ""]
    lines.append("const struct embedded_file ntprof_embedded_files[] = {")
    lines += [f'    {{"{name}", file_{number}, {len(content)}}},' for number, (name, content) in enumerate(files)]
    lines += ["    {NULL, NULL, 0},", "};", ""]
    pathlib.Path(sys.argv[1]).write_text("\n".join(lines))


main()
