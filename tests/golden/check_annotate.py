#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Shows a program of known bytes with `ntprof annotate` and compares every byte with kept outputs.

usage: check_annotate.py NTPROF SAMPLE [--update]

SAMPLE is tests/unit/listing/sample.S, built. --update writes the kept outputs anew: read the
difference before committing it. Exit status 77 if ntprof has no disassembler built in.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "integration"))
import flat_profile

BUILD_ID = "00112233445566778899aabbccddeeff00112233"
HITS = {0x401000: 12, 0x401004: 40, 0x401008: 900, 0x40100c: 48, 0x401010: 5, 0x40101c: 2}

# Name of the kept output: bytes of a bucket, locale, arguments.
CASES = {
    "annotate-code.txt": (4, "C.UTF-8", ["work"]),
    "annotate-ascii.txt": (4, "C", ["work"]),
    "annotate-intel.txt": (4, "C.UTF-8", ["-M", "intel", "--bytes", "_start", "--context", "all"]),
    "annotate-wide.txt": (16, "C.UTF-8", ["work"]),
    "annotate-folded.txt": (4, "C.UTF-8", ["work", "--rows", "1", "--context", "1"]),
    "annotate-source.txt": (4, "C.UTF-8", ["--source", "work"]),
    "annotate-line.txt": (4, "C.UTF-8", ["sample.S:13"]),
    "annotate-address.txt": (4, "C.UTF-8", ["sample+0x1009", "--context", "2"]),
    "annotate-gone.txt": (4, "C.UTF-8", ["--asm", "gone"]),
    "annotate-sources.txt": (8, "C.UTF-8", ["work"]),
    "annotate-source-alone.txt": (8, "C.UTF-8", ["-e", "page-faults", "--source", "work"]),
    "annotate-code.json": (4, "C.UTF-8", ["--json", "work"]),
}


def run(command, folder, locale="C"):
    environment = dict(os.environ, LC_ALL=locale)
    environment.pop("DEBUGINFOD_URLS", None)
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{command}: {result.returncode}\n{result.stderr.decode()}")
    return result.stdout.decode()


def make_profile(ntprof, folder, bucket_bytes):
    made = flat_profile.FlatProfile(bucket_bytes)
    image = made.image(f"{folder}/sample", BUILD_ID, 0x401000, 0x1000)
    for address, hits in HITS.items():
        if address % bucket_bytes == 0:
            made.hits(image, address, hits)
    if bucket_bytes == 8:
        made.hits(image, 0x401008, 3, source="page-faults")
    gone = made.image("/gone/lib.so", "aa", 0x1000, 0)
    made.hits(gone, 0x1200, 7, made.function("gone", "/gone/lib.c", 3), 5)
    made.write(folder / "bare.pb.gz")
    run([ntprof, "report", "--symbolize", "-o", "ntprof.pb.gz", "bare.pb.gz"], folder)


def show(ntprof, folder, case):
    bucket_bytes, locale, words = case
    make_profile(ntprof, folder, bucket_bytes)
    shown = run([ntprof, "annotate", *words], folder, locale)
    shown = shown.replace(str(folder), "FOLDER")
    return re.sub(r"[^\s\"]*/sample\.S", "SAMPLE.S", shown)


def main():
    ntprof, sample = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        shutil.copy(sample, folder / "sample")
        if "retq" not in show(ntprof, folder, CASES["annotate-code.txt"]):
            print("ntprof was built without capstone: objdump's output is no fixed one")
            return 77
        for kept, case in CASES.items():
            shown = show(ntprof, folder, case)
            if sys.argv[3:] == ["--update"]:
                (HERE / kept).write_text(shown, encoding="utf-8")
            elif (HERE / kept).read_text(encoding="utf-8") != shown:
                wrong += 1
                print(f"FAIL {kept}: now\n{shown}")
    print(f"check_annotate: {len(CASES)} outputs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
