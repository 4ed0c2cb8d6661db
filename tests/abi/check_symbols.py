#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the library exports is the golden list, no more and no less, and is what the headers say. And it
needs the C library alone, whatever else was there when it was built.

usage: check_symbols.py LIBRARY SYMBOLS.txt HEADER...

A line of the list is "VERSION NAME". A name once released stays; new ones are added to the list,
to src/libntprof.map and to CHANGELOG.md together.
"""
import re
import subprocess
import sys


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                         capture_output=True, text=True).stdout
    names = set()
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":  # the version itself
            symbol, _, version = name.partition("@@")
            names.add(f"{version or 'unversioned'} {symbol}")
    return names


def needed(library):
    """Other libraries than the C library's, and what sanitizers and compilers bring."""
    out = subprocess.run(["readelf", "-d", library], check=True, capture_output=True,
                         text=True).stdout
    names = set(re.findall(r"\(NEEDED\).*\[(.*)\]", out))
    own = r"(libc|libm|libpthread|libdl|librt|ld-linux-.*|libgcc_s|lib(a|t|ub)san)\.so\.\d+"
    return {name for name in names if not re.fullmatch(own, name)}


def declared(header):
    text = re.sub(r"/\*.*?\*/", "", open(header, encoding="utf-8").read(), flags=re.S)
    text = re.sub(r"^#.*(?:\\\n.*)*", "", text, flags=re.M)
    pattern = r"^(?!typedef|static|\s)[A-Za-z_][\w\s*]*?\b([A-Za-z_]\w*)\s*\(([^;{]*)\)\s*;"
    # <ntprof/core.h> names the symbol of each function.
    return {f"ntprof_{name}" if f"NTPROF_CORE_SYMBOL({name}" in rest else name
            for name, rest in re.findall(pattern, text, re.M)}


def complain(what, names):
    for name in sorted(names):
        print(f"{what}: {name}")
    return len(names)


def main():
    library, golden_path, *headers = sys.argv[1:]
    golden = set(open(golden_path, encoding="utf-8").read().splitlines())
    found = exported(library)
    names = {line.split()[1] for line in golden}
    wanted = set().union(*(declared(header) for header in headers))
    faults = complain("in the list, not exported", golden - found)
    faults += complain("exported, not in the list", found - golden)
    faults += complain("declared in a header, not in the list", wanted - names)
    faults += complain("in the list, not declared", names - wanted)
    faults += complain("needed at run time", needed(library))
    print(f"check_symbols: {len(found)} symbols, {faults} faults")
    return 1 if faults or not wanted else 0


sys.exit(main())
