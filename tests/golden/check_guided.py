#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Exports a profile of a program of known bytes for compilers and linkers, and compares every byte.

usage: check_guided.py NTPROF SAMPLE PLAIN [--update]

SAMPLE is guided/sample.s, built; PLAIN is the same without debug information and relocations. What
compilers and linkers make of such files is tried by tests/guided. --update writes the kept outputs
anew: read the difference before committing it.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
import flat_profile

BUILD_ID = "00112233445566778899aabbccddeeff00112233"
PLAIN_ID = "77" * 20
# Of settle, of weigh in it, of churn, of weigh in it, and of main; the last is behind all functions.
HITS = {0x401000: 12, 0x401005: 4, 0x401008: 40, 0x40101a: 9, 0x401022: 7, 0x40102c: 2, 0x401046: 1,
        0x401070: 100, 0x401078: 150, 0x40107f: 210, 0x401096: 90, 0x4010a3: 170, 0x4010a9: 80,
        0x4010d8: 30, 0x401200: 1}

# Name of the kept output: bytes of a bucket, arguments.
CASES = {
    "llvm-profgen.txt": (1, ["--format", "llvm-profgen"]),
    "llvm-profgen-4.txt": (4, ["--format", "llvm-profgen"]),
    "llvm-sample.txt": (1, ["--format", "llvm-sample"]),
    "llvm-sample-16.txt": (16, ["--format", "llvm-sample"]),
    "gcc-afdo.txt": (1, ["--format", "gcc-afdo"]),
    "gcc-afdo-lost.txt": (4, ["--format", "gcc-afdo", "--image", "/gone/known"]),
    "llvm-profgen-lost.txt": (1, ["--format", "llvm-profgen", "--image", "lost"]),
    "bolt.txt": (1, ["--format", "bolt"]),
    "bolt-fdata.txt": (1, ["--format", "bolt-fdata"]),
    "bolt-fdata-16.txt": (16, ["--format", "bolt-fdata"]),
    "symbol-order.txt": (1, ["--format", "symbol-order"]),
    "symbol-order-faults.txt": (4, ["--format", "symbol-order", "-e", "page-faults"]),
    "symbol-order-folder.txt": (4, ["--format", "symbol-order", "--image", "/gone/sample", "--image-dir", "."]),
}
NO_FILE = "the file is not there; --image-dir DIR looks for it in DIR"

# Arguments, and what is said: nothing is written.
REFUSED = [
    (["--format", "bolt", "--image", "plain"], "bolt: FOLDER/plain has no relocations: link it with -Wl,--emit-relocs"),
    (["--format", "bolt-fdata", "--image", "plain"],
     "bolt-fdata: FOLDER/plain has no relocations: link it with -Wl,--emit-relocs"),
    (["--format", "llvm-profgen", "--image", "plain"],
     "llvm-profgen: the debug information of FOLDER/plain has no source lines for 5 of 5 hits: compile with "
     "-g1 -fdebug-info-for-profiling"),
    (["--format", "llvm-sample", "--image", "plain"],
     "llvm-sample: the debug information of FOLDER/plain has no source lines for 5 of 5 hits: compile with "
     "-g1 -fdebug-info-for-profiling"),
    (["--format", "gcc-afdo", "--image", "plain"],
     "gcc-afdo: the debug information of FOLDER/plain has no source lines for 5 of 5 hits: compile with -g, and "
     "record without --no-lines"),
    (["--format", "llvm-sample", "--image", "lost"], f"llvm-sample: it needs /gone/lost: {NO_FILE}"),
    (["--format", "symbol-order", "--image", "stripped"],
     "symbol-order: FOLDER/stripped has no symbol table: link it without -s, and do not strip it"),
    (["--format", "symbol-order", "--image", "lost"], f"symbol-order: it needs /gone/lost: {NO_FILE}"),
    (["--format", "bolt", "--image", "lost"], f"bolt: it needs /gone/lost: {NO_FILE}"),
    (["--format", "symbol-order", "--image", "*kernel*"],
     "--image *kernel*: no image of a file with hits has such a path, name or build-id"),
    (["--format", "symbol-order", "--image", "other"],
     f"symbol-order: it needs FOLDER/other: the file is of another build: it has build-id {PLAIN_ID}, the profile 78; "
     "--image-dir DIR looks for the right one in DIR"),
]


def run(command, folder, returncode=0):
    environment = dict(os.environ, LC_ALL="C")
    environment.pop("DEBUGINFOD_URLS", None)
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    if result.returncode != returncode:
        sys.exit(f"{command}: {result.returncode}\n{result.stderr.decode()}")
    return result


def make_profile(ntprof, folder, bucket_bytes, stacks):
    made = flat_profile.FlatProfile(bucket_bytes, stacks)
    image = made.image(f"{folder}/sample", BUILD_ID, 0x401000, 0x1000)
    for address, hits in HITS.items():
        made.hits(image, address - address % bucket_bytes, hits)
    made.hits(image, 0x401020, 3, source="page-faults")
    made.hits(made.image("/gone/sample", BUILD_ID, 0x401000, 0x1000), 0x401050, 1)
    for name, build_id in (("plain", PLAIN_ID), ("other", "78"), ("stripped", PLAIN_ID)):
        made.hits(made.image(f"{folder}/{name}", build_id, 0x401000, 0x1000), 0x401000, 5)
    made.hits(made.image("/gone/lost", "79", 0x1000, 0), 0x1000, 7)
    # What gcc makes of a function belongs to it; declared in line 3. Of .f only the empty name is left.
    known = made.image("/gone/known", "7a", 0x1000, 0)
    for address, name, line, hits in ((0x1000, "f", 5, 20), (0x1010, "f.part.0", 5, 30), (0x1020, "f", 2, 4),
                                      (0x1030, ".f", 5, 6)):
        made.hits(known, address, hits, made.function(name, "/gone/f.c", 3), line)
    made.hits(made.image("[kernel]", "", 0x1000, 0), 0x1000, 9994)
    made.write(folder / "bare.pb.gz")
    run([ntprof, "report", "--symbolize", "-o", "ntprof.pb.gz", "bare.pb.gz"], folder)


def show(ntprof, folder, case, stacks=False):
    bucket_bytes, words = case
    make_profile(ntprof, folder, bucket_bytes, stacks)
    result = run([ntprof, "export", *words], folder)
    shown = result.stdout
    if b"\0" in shown:
        shown = "".join(f"{shown[i:i + 16].hex(' ', 4)}\n" for i in range(0, len(shown), 16)).encode()
    said = result.stderr.decode().replace(str(folder), "FOLDER")
    return said + shown.decode()


def check_refused(ntprof, folder, words, said):
    result = run([ntprof, "export", *words, "-o", "out"], folder, 125)
    now = result.stderr.decode().replace(str(folder), "FOLDER")
    if now == f"ntprof: export: {said}\n" and not (folder / "out").exists():
        return True
    print(f"FAIL {words}: now\n{now}")
    return False


def main():
    ntprof, sample, plain = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        shutil.copy(sample, folder / "sample")
        for copy in ("plain", "other", "stripped"):
            shutil.copy(plain, folder / copy)
        run(["strip", "stripped"], folder)
        for kept, case in CASES.items():
            shown = show(ntprof, folder, case)
            path = HERE / "guided" / kept
            if sys.argv[4:] == ["--update"]:
                path.write_text(shown, encoding="utf-8")
            elif path.read_text(encoding="utf-8") != shown:
                wrong += 1
                print(f"FAIL {kept}: now\n{shown}")
            # Callers change nothing.
            if show(ntprof, folder, case, stacks=True) != shown:
                wrong += 1
                print(f"FAIL {kept}: with stacks\n{show(ntprof, folder, case, stacks=True)}")
        wrong += sum(not check_refused(ntprof, folder, words, said) for words, said in REFUSED)
    print(f"check_guided: {len(CASES)} outputs, {len(REFUSED)} refusals, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
