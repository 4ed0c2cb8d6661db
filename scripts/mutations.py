#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes faults in a copy of the tree, one at a time, each of which a named test must find.

usage: mutations.py FOLDER [NAME...]

The copy, of what is committed or changed, and its build are in FOLDER/tree and FOLDER/build. Each mutation replaces one
text, which must stand in its file exactly once. A mutation that its test does not find is an error;
so is a test that fails without one, or one that does not build with it.
"""
import pathlib
import shutil
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent

# name: file, text, what replaces it, test
MUTATIONS = {
    "stop-does-not-wait": (
        "src/ke/pool.c", "    KiWaitForHits(Ke);\n", "", "sim-waits"),
    "end-of-a-process-does-not-wait": (
        "src/ke/profobj.c", "    KiWaitForHits(Ke);\n", "", "sim-waits"),
    "second-throttle-counts-twice": (
        "src/hal/linux/statistics.c", "    perf_throttles_end(throttles, stream_id, time_ns);\n", "",
        "unit-linux-statistics"),
    "equal-time-is-late": (
        "src/hal/linux/stream.c", "time_ns >= stream->last_ns", "time_ns > stream->last_ns",
        "unit-linux-ring"),
    "offset-of-anonymous-memory-alone": (
        "src/hal/linux/mapping.c", "(found->image->flags & NTPROF_IMAGE_ANONYMOUS) != 0)",
        "(found->image->flags & NTPROF_IMAGE_ANONYMOUS) == 0)", "unit-linux-mapping"),
    "overrun-of-1-is-not-missed": (
        "src/hal/timer/backend.c", "if (overrun != 0) {", "if (overrun > 1) {", "unit-timer-own_process"),
    "overrun-of-1-is-not-told": (
        "src/hal/timer/thread_timer.c", "info->si_overrun > 0", "info->si_overrun > 1",
        "unit-timer-thread_timer"),
    "hits-on-every-processor": (
        "src/hal/timer/backend.c", "if (!is_started(hal, queued.processor)) {", "if (queued.processor >= 1u << 31) {",
        "unit-timer-own_process"),
    "error-of-another-session": (
        "src/api/reason.c", "session == NULL || thread_reason.session == session ? thread_reason.text",
        "session == session ? thread_reason.text", "unit-api-session"),
    "wide-interval-is-cut": (
        "src/ex/interval.c", "return Source.Interval > 0xFFFFFFFFu ? 0xFFFFFFFFu : (ULONG)Source.Interval;",
        "return (ULONG)Source.Interval;", "unit-ex-interval"),
    "fixup-interval-is-not-given": (
        "src/ex/interval.c", "        System->AlignmentFixupInterval = Interval;\n",
        "        System->AlignmentFixupInterval = Interval;\n        return STATUS_SUCCESS;\n", "unit-ex-interval"),
}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **options)


def copy_tree(folder):
    for name in ("tree", "build"):
        shutil.rmtree(folder / name, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TREE,
                           check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (TREE / name).is_file():
            (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TREE / name, folder / "tree" / name, follow_symlinks=False)


def built(folder, tests):
    """Whether the tests' programs build."""
    targets = subprocess.run(["ninja", "-C", folder / "build", "-t", "targets", "all"], check=True,
                             capture_output=True, text=True).stdout.splitlines()
    programs = [line.split(":")[0] for line in targets if line.split(":")[0].split("/")[-1] in tests]
    done = run("ninja", "-C", folder / "build", *programs)
    if done.returncode or len(programs) != len(tests):
        print(done.stdout[-3000:])
    return done.returncode == 0 and len(programs) == len(tests)


def passes(folder, test):
    return run("meson", "test", "-C", folder / "build", "--no-rebuild", test).returncode == 0


def found(folder, name):
    """What happened with a mutation: "" if its test found it."""
    file, text, replaced, test = MUTATIONS[name]
    path = folder / "tree" / file
    original = path.read_text()
    if original.count(text) != 1:
        return f"{file} has its text {original.count(text)} times"
    path.write_text(original.replace(text, replaced))
    try:
        if not built(folder, {test}):
            return "it does not build"
        return f"{test} does not find it" if passes(folder, test) else ""
    finally:
        path.write_text(original)


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(MUTATIONS):
        sys.exit(__doc__.split("\n\n")[1] + "\n\n" + "\n".join(MUTATIONS))
    folder = pathlib.Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or list(MUTATIONS)
    tests = {MUTATIONS[name][3] for name in names}
    copy_tree(folder)
    done = run("meson", "setup", folder / "build", folder / "tree", "-Dtool=disabled", "-Dtests=enabled")
    if done.returncode or not built(folder, tests):
        sys.exit(done.stdout[-3000:] + "mutations: the tree does not build")
    failed = [f"{test} fails without a mutation" for test in sorted(tests) if not passes(folder, test)]
    for name in names if not failed else []:
        fault = found(folder, name)
        print(f"{name}: {fault or 'found by ' + MUTATIONS[name][3]}", flush=True)
        failed += [f"{name}: {fault}"] if fault else []
    print("\n".join(failed + [f"mutations: {len(names)}, {len(failed)} faults"]))
    return 1 if failed else 0


sys.exit(main())
