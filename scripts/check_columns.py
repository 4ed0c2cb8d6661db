#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds lines against their widths: C 88 columns, all else that people write 120, commits 60 and 72.

usage: check_columns.py [COMMITS]

Left out are generated files, tables of Markdown, what clang-format is asked to leave, output shown in code
blocks, and lines that are one word. Of commits the last COMMITS are read, 40 if not given; where there is no
history, none.
"""
import pathlib
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
GENERATED = {"src/hal/bpf/instructions.h"}
WIDTHS = {".c": 88, ".h": 88, ".py": 120, ".sh": 120, ".md": 120, ".js": 120, ".build": 120}
SUBJECT, BODY = 60, 72


def git(*words):
    result = subprocess.run(["git", "-C", TREE, *words], capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else ""


def is_left_out(line, kind, state):
    """state: whether lines are within a part that is left out."""
    if kind in (".c", ".h"):
        if "clang-format off" in line or "clang-format on" in line:
            state["off"] = "clang-format off" in line
        return state["off"] or " " not in line.strip().rstrip("\\").strip()
    if kind == ".md":
        if line.lstrip().startswith("```"):
            state["off"] = not state["off"]
        return state["off"] or line.startswith(("|", "    "))
    return " " not in line.strip()


def check_file(name):
    kind = pathlib.Path(name).suffix
    state = {"off": False}
    wide = []
    for number, line in enumerate((TREE / name).read_text(encoding="utf-8").splitlines(), 1):
        if not is_left_out(line, kind, state) and len(line) > WIDTHS[kind]:
            wide.append(f"{name}:{number}: {len(line)} columns, more than {WIDTHS[kind]}")
    return wide


def check_commits(count):
    wide = []
    for commit in git("log", f"-{count}", "--no-merges", "--format=%h%n%B%x00").split("\0"):
        name, _, text = commit.strip().partition("\n")
        for number, line in enumerate(text.splitlines()):
            most = BODY if number > 0 else SUBJECT
            if len(line) > most:
                wide.append(f"commit {name}: {len(line)} columns, more than {most}: {line[:40]}...")
    return wide


def main():
    names = [name for name in git("ls-files").splitlines()
             if pathlib.Path(name).suffix in WIDTHS and name not in GENERATED]
    wide = [line for name in names for line in check_file(name)]
    wide += check_commits(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
    print("\n".join(wide + [f"check_columns: {len(names)} files, {len(wide)} faults"]))
    return 1 if wide or not names else 0


sys.exit(main())
