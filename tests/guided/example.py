#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""examples/guided: SQLite, built by its own profile in each way for which there are tools.

SQLite's source comes with an npm package, which is known by its hash; npm finds it where this machine's npm
looks. NTPROF_SQLITE names a folder that has it instead.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
import harness  # noqa: E402
from harness import text  # noqa: E402

EXAMPLE = HERE.parent.parent / "examples" / "guided"
WAY_LIMIT_S = 1200
INSTALL_LIMIT_S = 120
WAYS = {
    "profgen": ["clang-16", "llvm-profgen-16"],
    "sample": ["clang-16"],
    "gcc": ["gcc-12"],
    "order": ["clang-16", "lld-16"],
    "bolt": ["clang-16", "lld-16", "llvm-bolt-16"],
}

PACKAGE = "better-sqlite3@12.11.1"
INTEGRITY = "sha512-dq9AtApgg5PGFtBzPFSBl3HZQjHok5gaQCM6zh2Yk0aSmDCs1CbnVI8/HgASQkNKsWFpseIO9beg5xxpYhbIfA=="

_source = None


def source():
    """The folder of sqlite3.c. Skips where it cannot be got."""
    global _source
    if _source is None:
        given = os.environ.get("NTPROF_SQLITE")
        _source = pathlib.Path(given) if given else get_source()
    return _source


def get_source():
    if shutil.which("npm") is None:
        raise unittest.SkipTest("no npm to get SQLite's source with")
    folder = harness.stage() / "sqlite"
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["npm", "pack", "--json", PACKAGE], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=INSTALL_LIMIT_S, check=False)
    if done.returncode != 0:
        said = [line for line in text(done.stderr).splitlines() if line.startswith("npm error")]
        raise unittest.SkipTest("npm cannot get SQLite's source: " + "; ".join(said[:2]))
    packed, = json.loads(done.stdout)
    if packed["integrity"] != INTEGRITY:
        raise AssertionError(f"{PACKAGE} is {packed['integrity']}")
    with tarfile.open(folder / packed["filename"]) as archive:
        for name in ("sqlite3.c", "sqlite3.h"):
            with archive.extractfile(f"package/deps/sqlite3/{name}") as member:
                (folder / name).write_bytes(member.read())
    return folder


class Example(harness.CommandTest):
    def check(self, way):
        missing = [name for name in WAYS[way] if shutil.which(name) is None]
        if missing:
            self.skipTest(f"not installed: {', '.join(missing)}")
        ntprof = self.arguments()[0]
        result = self.run_bare(["make", "-C", str(EXAMPLE), f"SQLITE={source()}", f"NTPROF={ntprof}",
                                f"B={harness.stage() / 'built'}", "ROWS=300000", way],
                               timeout=WAY_LIMIT_S)
        self.assertEqual(result.returncode, 0, text(result.stdout)[-2000:] + text(result.stderr)[-2000:])
        self.assertRegex(text(result.stdout), rf"(?m)^{way}: the same answers as ")
        if way == "gcc":
            self.assertRegex(text(result.stdout), r"(?m)^gcc: [1-9][0-9]* blocks with counts$")
        print(text(result.stdout).split(f"{way}: ", 1)[1])

    def test_profgen(self):
        self.check("profgen")

    def test_sample(self):
        self.check("sample")

    def test_gcc(self):
        self.check("gcc")

    def test_order(self):
        self.check("order")

    def test_bolt(self):
        self.check("bolt")


if __name__ == "__main__":
    harness.main()
