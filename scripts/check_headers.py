#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks the licence line of every source file and the doc comment of every public function.

usage: check_headers.py [TREE]

A function is documented if a comment of its header has its name followed by " - "; the Zw and
ntprof_Nt names are documented by their Nt twins.
"""
import pathlib
import re
import subprocess
import sys

SPDX = "SPDX-License-Identifier: MIT"
SPDX_DUAL = "SPDX-License-Identifier: GPL-2.0 OR MIT"
KINDS = {".c", ".h", ".cc", ".py", ".sh", ".build", ".map", ".1", ".3", ".5", ".bash", ".fish", ".ini", ".js", ".go"}
NAMES = {"Makefile", "run", "meson_options.txt", "packages.txt"}
COMMENT = re.compile(r"/\*.*?\*/", re.S)
PROTOTYPE = re.compile(r"^(?!typedef|static|#|\s)[A-Za-z_][\w\s*]*?\b([A-Za-z_]\w*)\s*\([^;{]*\)\s*;",
                       re.M)


def tracked(tree):
    try:
        out = subprocess.run(["git", "-C", str(tree), "ls-files", "-z"], check=True,
                             capture_output=True).stdout
        return [tree / name.decode() for name in out.split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):
        return [path for path in tree.rglob("*") if path.is_file()]


def check_licence(path):
    if path.suffix not in KINDS and path.name not in NAMES:
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        head = [file.readline(), file.readline()]
    first = head[1] if head[0].startswith("#!") else head[0]
    return None if SPDX in first or SPDX_DUAL in first else "no SPDX line at the top"


def undocumented(path):
    text = path.read_text(encoding="utf-8")
    comments = " ".join(COMMENT.findall(text))
    # Keep the line structure, so that prototypes still begin lines.
    code = COMMENT.sub("", text)
    code = re.sub(r"^#.*(?:\\\n.*)*", "", code, flags=re.M)
    for name in PROTOTYPE.findall(code):
        twin = re.sub(r"^(Zw|ntprof_Nt)", "Nt", name)
        if not re.search(rf"\b{name}(,[\w,\s*]+)? -\s", comments) and f"{twin} - " not in comments:
            yield name


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    tree = tree.resolve()
    breaches = 0
    for path in tracked(tree):
        text = check_licence(path) if path.is_file() else None
        if text:
            breaches += 1
            print(f"{path.relative_to(tree)}: {text}")
    headers = sorted((tree / "include").rglob("*.h"))
    for path in headers:
        for name in undocumented(path):
            breaches += 1
            print(f"{path.relative_to(tree)}: {name} has no doc comment (\"{name} - ...\")")
    print(f"check_headers: {len(headers)} public headers, {breaches} breaches")
    return 1 if breaches or not headers else 0


sys.exit(main())
