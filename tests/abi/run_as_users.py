#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs a program as the caller and, if that is root, once more as an ordinary user without rights.

usage: run_as_users.py LIBRARY PROGRAM PRIVILEGED-TEXT OTHER-TEXT

Each run must succeed and print one of the texts: an ordinary user's the second one, unless this
machine gives the privilege to everybody. Build folders may be out of that user's reach, so what is
run is copied first.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

USER = 65534
TIME_LIMIT_S = 100


def everybody_is_privileged():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        return int(file.read()) < 1


def run(program, environment, texts, **identity):
    done = subprocess.run([program], env=environment, capture_output=True, text=True,
                          timeout=TIME_LIMIT_S, stdin=subprocess.DEVNULL, cwd="/", **identity)
    good = done.returncode == 0 and any(text in done.stdout for text in texts)
    who = identity.get("user", os.geteuid())
    print(f"as {who}: {'good' if good else 'FAILED'}, exit {done.returncode}\n{done.stdout}{done.stderr}")
    return good


def main():
    library, program, *texts = sys.argv[1:]
    others = texts if everybody_is_privileged() else texts[1:]
    with tempfile.TemporaryDirectory(prefix="ntprof-abi-") as folder:
        os.chmod(folder, 0o755)
        shutil.copy(library, pathlib.Path(folder) / "libntprof.so.0")
        copy = shutil.copy(program, folder)
        environment = dict(os.environ, LD_LIBRARY_PATH=folder)
        if os.geteuid() != 0:
            return 0 if run(copy, environment, texts) else 1
        good = run(copy, environment, texts)
        good = run(copy, environment, others, user=USER, group=USER, extra_groups=[]) and good
        return 0 if good else 1


sys.exit(main())
