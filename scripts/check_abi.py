#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the library against the ABI of the last release: a program built with that must run with this.

usage: check_abi.py LIBRARY DUMP HEADERS [--write]

DUMP is what abidw wrote of the release; beside it, DUMP's name with .suppr lists the changes that are compatible.
HEADERS is the folder of the public headers. New functions, and new members at the end of structs that begin with
their size, pass. --write makes DUMP from LIBRARY instead: at a release, and until the first one after any change.
Exits with 77 and a reason where nothing can be compared.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

REMEDY = """check_abi: not compatible with the last release. Change it so that programs built with that still run.
If that is impossible, raise the soversion: HACKING.md, "Releases and the ABI"."""


def skip(reason):
    print("check_abi: not compared: " + reason)
    sys.exit(77)


def write(library, dump, headers):
    """What of the library programs see: exported functions, and types of the public headers."""
    subprocess.run(["abidw", "--exported-interfaces-only", "--drop-private-types", "--headers-dir", headers,
                    "--drop-undefined-syms", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
                    "--out-file", dump, library], check=True)


def architecture(dump):
    return xml.etree.ElementTree.parse(dump).getroot().get("architecture")


def compare(library, dump, headers):
    with tempfile.TemporaryDirectory() as folder:
        # abidiff would take all types of a dump for private ones if it read the library itself.
        current = str(pathlib.Path(folder, "current.abi"))
        write(library, current, headers)
        if architecture(current) != architecture(dump):
            skip(f"the dump is of {architecture(dump)}, the library of {architecture(current)}")
        done = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", pathlib.Path(dump).with_suffix(".suppr"),
                               dump, current], check=False)
    print(REMEDY if done.returncode else "check_abi: compatible with the last release")
    return 1 if done.returncode else 0


def main():
    places = [word for word in sys.argv[1:] if word != "--write"]
    if len(places) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    library = places[0]
    if not shutil.which("abidiff"):
        skip("abidiff is missing; type: apt-get install abigail-tools")
    sections = subprocess.run(["readelf", "-SW", library], check=True, capture_output=True, text=True).stdout
    if ".debug_info" not in sections:
        skip(library + " was built without debug information")
    if "--write" not in sys.argv[1:]:
        return compare(*places)
    write(*places)
    print(f"check_abi: wrote {places[1]}")
    return 0


sys.exit(main())
