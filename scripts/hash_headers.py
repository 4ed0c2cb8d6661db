#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes headers_hash.h: a hash of all headers that the command and its modules share, by which they know whether they
are of one build.

usage: hash_headers.py TREE OUTPUT
"""
import hashlib
import pathlib
import sys


def main():
    tree, output = map(pathlib.Path, sys.argv[1:3])
    hashed = hashlib.sha256()
    for folder in ("include", "tool"):
        for path in sorted((tree / folder).rglob("*.h")):
            hashed.update(f"{path.relative_to(tree)}\n".encode() + path.read_bytes())
    text = f'/* Made by hash_headers.py. */\n#define NTPROF_HEADERS_HASH "{hashed.hexdigest()[:32]}"\n'
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


main()
