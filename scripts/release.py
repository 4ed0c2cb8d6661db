#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prepares a release, or checks that all files name the same version.

usage: release.py VERSION [TREE]
       release.py --check [TREE]

With VERSION it dates the first section of CHANGELOG.md and puts an empty one above it, and writes the version into
meson.build and debian/changelog; then it prints what is left to do. HACKING.md, "Releases and the ABI", says what a
release is. --check fails if meson.build, CHANGELOG.md and debian/changelog name different versions, or CHANGELOG.md
does not begin with a section of changes that are not yet released.
"""
import datetime
import email.utils
import pathlib
import re
import sys

UNRELEASED = "## Not yet released"
VERSION = re.compile(r"\d+\.\d+\.\d+")
IN_MESON = re.compile(r"(?m)^( *version : ')([^']*)(',)$")
IN_DEBIAN = re.compile(r"\Antprof \(([^)]*)\)")
REMAINING = """release.py: {version} is in CHANGELOG.md, meson.build and debian/changelog. Left to do:
    meson compile -C build && scripts/check_abi.py build/src/libntprof.so tests/abi/libntprof.abi include --write
    scripts/check_abi.py build/src/libntprof-core.so tests/abi/libntprof-core.abi include --write
    git commit -a -m 'release: {version}'
    make check-machines                     # of what is committed; writes its table into docs/environments.md
    git commit -a --amend --no-edit
    .ci/run && make check-long              # the Debian packages are built and tried in it
    git tag -a -m 'ntprof {version}' v{version}
    make dist                               # ntprof-{version}.tar.gz, the one file of each machine, SHA256SUMS
    scripts/check_package.sh FOLDER         # the packages that are published"""


def fail(text):
    sys.exit("release.py: " + text)


class Tree:
    def __init__(self, folder):
        self.paths = {name: folder / name for name in ("meson.build", "CHANGELOG.md", "debian/changelog")}
        self.texts = {name: path.read_text(encoding="utf-8") for name, path in self.paths.items()}

    def sections(self):
        return re.findall(r"(?m)^## (.*)$", self.texts["CHANGELOG.md"])

    def versions(self):
        """file: the version that it names last; "" for none."""
        meson = IN_MESON.search(self.texts["meson.build"])
        debian = IN_DEBIAN.search(self.texts["debian/changelog"])
        dated = [VERSION.match(title) for title in self.sections()[1:2]]
        return {"meson.build": meson[2] if meson else "", "debian/changelog": debian[1] if debian else "",
                "CHANGELOG.md": dated[0][0] if dated and dated[0] else ""}

    def check(self):
        if "## " + "".join(self.sections()[:1]) != UNRELEASED:
            fail(f"CHANGELOG.md does not begin with a section '{UNRELEASED}'")
        versions = self.versions()
        if len(set(versions.values())) != 1 or "" in versions.values():
            fail("files name different versions: " +
                 ", ".join(f"{name} '{version}'" for name, version in versions.items()))
        return versions["meson.build"]

    def put(self, version, now):
        before, _, after = self.texts["CHANGELOG.md"].partition(UNRELEASED)
        if not re.search(r"(?m)^- ", after.partition("\n## ")[0]):
            fail("CHANGELOG.md has no changes that are not yet released")
        self.texts["CHANGELOG.md"] = f"{before}{UNRELEASED}\n\n## {version} - {now:%Y-%m-%d}{after}"
        self.texts["meson.build"] = IN_MESON.sub(rf"\g<1>{version}\g<3>", self.texts["meson.build"], count=1)
        old = self.texts["debian/changelog"]
        who = re.search(r"(?m)^ -- (.*?)  ", old)[1]
        self.texts["debian/changelog"] = (f"ntprof ({version}) unstable; urgency=medium\n\n  * New release.\n\n"
                                          f" -- {who}  {email.utils.format_datetime(now)}\n\n{old}")
        for name, path in self.paths.items():
            path.write_text(self.texts[name], encoding="utf-8")


def main():
    words = sys.argv[1:]
    if not words or len(words) > 2:
        sys.exit(__doc__.split("\n\n")[1])
    tree = Tree(pathlib.Path(words[1]) if len(words) == 2 else pathlib.Path(__file__).resolve().parent.parent)
    old = tree.check()
    if words[0] == "--check":
        print(f"release.py: all files name {old}")
        return
    if not VERSION.fullmatch(words[0]):
        fail(f"not a version: '{words[0]}'; such as 0.2.0")
    if tuple(map(int, words[0].split("."))) <= tuple(map(int, old.split("."))):
        fail(f"{words[0]} is not later than {old}")
    tree.put(words[0], datetime.datetime.now(datetime.timezone.utc))
    print(REMAINING.format(version=words[0]))


main()
