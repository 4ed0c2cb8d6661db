#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Has `go tool pprof` read our files: the names, hits and times it shows are ours.

usage: check_go.py GOLDEN_REPORT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def pprof(folder, *arguments):
    environment = dict(os.environ, PPROF_TMPDIR=folder, PPROF_BINARY_PATH=folder, HOME=folder)
    result = subprocess.run(["go", "tool", "pprof", *arguments], cwd=folder, env=environment,
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"go tool pprof {arguments}: {result.returncode}\n{result.stderr}")
    return result.stdout


def require(output, *patterns):
    for pattern in patterns:
        if not re.search(pattern, output, re.M):
            sys.exit(f"{pattern!r} is not in\n{output}")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    if shutil.which("go") is None:
        print("go is not installed: nothing else reads pprof files like its own tool")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("usual", "several", "hostile", "empty"):
            subprocess.run([program, "make", kind, kind], cwd=folder, check=True)
        # 2001 + 2 hits of 1.003 ms each.
        require(pprof(folder, "-top", "-lines", "usual"), r"^Type: cpu$",
                r"^ *2009\.01ms .*_PyEval_EvalFrameDefault .*ceval\.c:1702", r"memcpy")
        require(pprof(folder, "-top", "-sample_index=samples", "usual"),
                r"^ +2253 .* _PyEval_EvalFrameDefault$", r"of 3394 total")
        require(pprof(folder, "-top", "-sample_index=page-faults", "several"),
                r"^ +1240 .* memcpy$")
        require(pprof(folder, "-tags", "several"), r"source", r"page-faults", r"worker",
                r"bucket_bytes")
        require(pprof(folder, "-comments", "usual"), r"^flat bucket profile, no call stacks$",
                r"^ntprof\.source time .*granted=10030 ")
        require(pprof(folder, "-raw", "usual"), r"/usr/bin/python3\.11 a1b2c3d4e5f6 ",
                r"0x4f1230 M=1 ")
        hostile = pprof(folder, "-top", "-sample_index=0", "hostile")
        if "\033" in hostile:
            sys.exit(f"an escape came through:\n{hostile!r}")
        # Written anew by pprof and read by us, the statistics are still there; two runs add up.
        pprof(folder, "-proto", "-output", "merged", "usual", "usual")
        shown = subprocess.run([program, "report", "merged"], cwd=folder, check=True,
                               capture_output=True, text=True).stdout
        require(shown, r"^ *66\.\d+% +1\.13% +4506 +4\.52s +_PyEval_EvalFrameDefault +python3\.11$")
    return 0


if __name__ == "__main__":
    sys.exit(main())
