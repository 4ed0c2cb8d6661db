#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Sums up a meson test log: cases passed and failed, and every skip with its reason.

usage: test_summary.py [--strict] [--counts] [--again LOG.json] [--unstable FILE] LOG.json
       test_summary.py --failed LOG.json

A skip's reason is what the test printed before it skipped. With --strict a skip counts as a
failure unless it gives a reason and tests/may_skip.txt names it. With --counts the last line is
"counts PASSED FAILED". --again names the log of a second run of programs that failed: their
second result counts, and the first failure is printed as "unstable" and counted beside the
others. An unstable program that tests/unstable.txt (or FILE) does not list with its cause is a
failure. --failed only prints the names of the programs that failed, or nothing if one of them
crashed or a sanitizer reported an error: such a failure stands, whatever a second run does.
"""
import argparse
import fnmatch
import json
import pathlib
import re
import sys

GOOD = ("OK", "EXPECTEDFAIL")
SAID_LINES = 12
TESTS = pathlib.Path(__file__).parent.parent / "tests"
MAY_SKIP = TESTS / "may_skip.txt"
UNSTABLE = TESTS / "unstable.txt"


def read_cases(output):
    """(passed, [failed case], [(case, reason)]) of one cmocka program."""
    passed, failed, skips = 0, [], []
    runs = re.split(r"^\[ RUN      \] ", output, flags=re.M)[1:]
    for run in runs:
        lines = run.splitlines()
        name, rest = lines[0].strip(), lines[1:]
        if any(line.startswith("[       OK ] " + name) for line in rest):
            passed += 1
        elif f"[  SKIPPED ] {name}" in rest:
            said = rest[: rest.index(f"[  SKIPPED ] {name}")]
            skips.append((name, " ".join(line.strip() for line in said if line.strip())))
        else:
            failed.append(name)
    return passed, failed, skips


def describe_failure(name, test, cases):
    """What failed in a test program, and its last words: a log's tail must show why."""
    said = [line.rstrip() for line in test.get("stderr", "").splitlines() if line.strip()]
    return [f"{name}: {test['result']}", *(f"  case {case}" for case in cases),
            *(f"  | {line}" for line in said[-SAID_LINES:])]


def read_tests(path):
    """{name of a program: its entry in the log}"""
    tests = [json.loads(line) for line in open(path, encoding="utf-8")]
    return {test["name"].split(" / ")[-1]: test for test in tests}


def failed_programs(tests):
    return [name for name, test in tests.items() if test["result"] not in (*GOOD, "SKIP")]


def crashed(test):
    output = test.get("stdout", "") + test.get("stderr", "")
    # The kernel sends SIGTRAP, too, if a breakpoint hits while another processor closes it.
    by_signal = test["returncode"] < 0 or test["returncode"] > 128
    return by_signal and test["returncode"] not in (-5, 128 + 5) or any(
        text in output for text in ("Sanitizer: ", "runtime error: ", "Assertion `"))


def read_results(tests):
    """(cases passed, cases failed, [(skipped case, reason)], [text of a failure])"""
    passed, failed, skips, bad = 0, 0, [], []
    for name, test in tests.items():
        output = test.get("stdout", "")
        p, cases, s = read_cases(output)
        f = len(cases)
        if test["result"] == "SKIP":
            said = (output + test.get("stderr", "")).strip().splitlines()
            s = [("", said[-1].strip() if said else "")]
        elif test["result"] not in GOOD:
            f = max(f, 1)
            bad += describe_failure(name, test, cases)
        elif p + f + len(s) == 0:
            p = 1
        passed += p
        failed += f
        skips += [(f"{name}/{case}" if case else name, reason) for case, reason in s]
    return passed, failed, skips, bad


def read_patterns(path):
    """([PROGRAM/CASE pattern], [reason that any test may give])"""
    if not path.exists():
        return [], []
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    return ([line for line in lines if line and not line.startswith('"')],
            [line.strip('"') for line in lines if line.startswith('"')])


def read_unstable(path):
    """{program: cause}"""
    listed = {}
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            program, _, cause = (part.strip() for part in line.partition(":"))
            if not cause:
                sys.exit(f"{path}:{number}: a line is PROGRAM: CAUSE, not '{line}'")
            listed[program] = cause
    return listed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--again", metavar="LOG")
    parser.add_argument("--unstable", metavar="FILE", default=UNSTABLE)
    parser.add_argument("--failed", action="store_true")
    parser.add_argument("log")
    options = parser.parse_args()

    tests = read_tests(options.log)
    if options.failed:
        failed = failed_programs(tests)
        if not any(crashed(tests[name]) for name in failed):
            print(*failed, sep="\n")
        return 0
    second = read_tests(options.again) if options.again else {}
    unstable = [name for name in failed_programs(tests)
                if name in second and name not in failed_programs(second)]
    first_failures = read_results({name: tests[name] for name in unstable})[3]
    passed, failed, skips, bad = read_results({**tests, **second})
    patterns, reasons = read_patterns(MAY_SKIP)
    print(f"skipped: {len(skips) or 'none'}")
    for name, reason in skips:
        print(f"  {name}: {reason or 'no reason given'}")
        allowed = (any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
                   or any(text in reason for text in reasons))
        if options.strict and not (reason and allowed):
            failed += 1
            bad.append(f"{name}: must not skip (tests/may_skip.txt)")
    listed = read_unstable(options.unstable)
    for name in unstable:
        if name in listed:
            print(f"unstable: {name} is listed: {listed[name]}")
        else:
            failed += 1
            bad.append(f"{name}: failed, then passed alone; find the cause, and mend it or list it in "
                       "tests/unstable.txt")
    for text in first_failures:
        print(f"unstable: {text}")
    for text in bad:
        print(f"failed: {text}")
    print(f"tests: {passed} passed, {failed} failed, {len(skips)} skipped"
          + (f", {len(unstable)} unstable (failed, then passed alone)" if unstable else ""))
    if options.counts:
        print(f"counts {passed} {failed}")
    return 1 if failed else 0


sys.exit(main())
