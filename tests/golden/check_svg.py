#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Flame graphs of known stacks as pictures, byte by byte, and as other programs see them.

usage: check_svg.py NTPROF [--update]

Hostile names stay text: the pictures are XML without scripts, references or handlers.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("browser", "integration"):
    sys.path.insert(0, str(HERE.parent / folder))
os.environ.setdefault("NTPROF", sys.argv[1])
import stacks  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [b"<script>alert(1)</script>", b"\"><a href='javascript:x'>&amp;", b"]]><!--", b"a\nb\t\033[31m\xff\xc3(",
           b"\xe2\x80\xaeright to left", b"operator<< <char const*, ...>(std::basic_ostream<char>&, long long)",
           "wide \u6587\u5b57 ".encode() * 30, b"x" * 3000]
wrong = 0


def expect(good, what):
    global wrong
    if not good:
        wrong += 1
        print(f"FAIL {what}")


def hostile():
    made = stacks.Stacks()
    for i in range(len(HOSTILE)):
        made.add_raw([(b"/tmp/" + name, name) for name in HOSTILE[:i + 1]], 1000 >> i)
    return made.profile


def boxes(picture):
    """Of each: the lines of its title, x, y, width, and its text."""
    found = []
    for group in picture.iter(SVG + "g"):
        title, rect = group.find(SVG + "title"), group.find(SVG + "rect")
        if title is not None:
            label = group.find(SVG + "text")
            found.append((title.text.split("\n"), *(float(rect.get(key)) for key in ("x", "y", "width")),
                          "" if label is None else label.text))
    return found


def check_harmless(name, picture):
    for element in picture.iter():
        expect(element.tag in {SVG + tag for tag in ("svg", "title", "g", "rect", "text")}, f"{name}: <{element.tag}>")
        said = [key for key in element.keys() if key.startswith("on") or "href" in key]
        expect(not said, f"{name}: {said}")
        for character in element.text or "":
            expect(character == "\n" or (character.isprintable() and character != "\u202e"), f"{name}: {character!r}")


def check_sums(name, picture):
    """A box lies below its caller, within it, and no box over another one."""
    rows = {}
    for title, x, y, width, _ in boxes(picture):
        rows.setdefault(y, []).append((x, x + width, title[0]))
    above = None
    for y in sorted(rows):
        row = sorted(rows[y])
        for (_, end, one), (start, _, other) in zip(row, row[1:]):
            expect(end <= start + 0.2, f"{name}: {one} and {other} overlap")
        for start, end, one in row:
            expect(above is None or any(left <= start + 0.02 and end <= right + 0.9 for left, right, _ in above),
                   f"{name}: {one} lies below nothing")
        above = row


def check_legend(program, folder):
    """Each way has its own largest change."""
    for name, hits in (("old", (5000, 5000, 0)), ("new", (8000, 1000, 1000))):
        made = stacks.Stacks()
        for function, number in zip("abc", hits):
            made.add(["main", function], number)
        made.profile.write(pathlib.Path(folder, f"{name}.pb.gz"))
    done = subprocess.run([program, "export", "--format", "svg", "--old", "old.pb.gz", "new.pb.gz"], cwd=folder,
                          capture_output=True, check=True, text=True)
    for said in ("shrank, by up to 39.99%", "grew, by up to 29.99%"):
        expect(said in done.stdout, f"legend: no {said}")


def main():
    program = os.path.abspath(sys.argv[1])
    update = "--update" in sys.argv
    with tempfile.TemporaryDirectory() as folder:
        for name, profile, old in (("flame", stacks.known(), None), ("flame-change", stacks.known(0.5), stacks.known()),
                                   ("flame-hostile", hostile(), None)):
            file, before = pathlib.Path(folder, f"{name}.pb.gz"), pathlib.Path(folder, "old.pb.gz")
            profile.write(file)
            if old is not None:
                old.write(before)
            done = subprocess.run([program, "export", "--format", "svg", *(["--old", before] if old else []), file],
                                  capture_output=True, check=False)
            expect(done.returncode == 0 and done.stderr == b"", f"{name}: {done.returncode} {done.stderr}")
            kept = HERE / f"{name}.svg"
            if update:
                kept.write_bytes(done.stdout)
            expect(kept.read_bytes() == done.stdout, f"{name}.svg differs; got {len(done.stdout)} bytes")
            picture = tree.fromstring(done.stdout.decode("utf-8"))
            check_harmless(name, picture)
            check_sums(name, picture)
            titles = {title[0]: title for title, *_ in boxes(picture)}
            if name == "flame":
                cut = titles["[cut at 16 kB]"]
                expect(cut[1:] == ["[stack]", "15.00% ± 0.50%, 3000 hits"], cut)
                expect(titles["parse"][1] == "/usr/bin/app" and "self 10.00%" in titles["parse"][2], titles["parse"])
                expect("[3 functions below 0.02%]" in titles, "what is rare is one box")
            if name == "flame-change":
                expect(titles["idle"][3].startswith("was 19.98%: +15.00% ± 0."), titles["idle"])
        check_legend(program, folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
