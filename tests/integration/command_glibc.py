#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""glibc's own tests of signals, timers, contexts, processes and threads under ntprof run --hal timer.

They come from Debian's package glibc-source, installed or downloaded, and are built against the installed glibc, as far
as that has what they need. Those that pass by themselves must pass with the preload object too, each of several runs.
Skips with the reason where the package cannot be had.
"""
import concurrent.futures
import contextlib
import pathlib
import re
import subprocess
import tarfile

import harness
from harness import CommandTest, text

RUNS = 3
WORKERS = 16  # most of the tests wait
NAMES = ("rt/tst-timer", "rt/tst-cpu", "signal/tst-", "setjmp/tst-", "stdlib/tst-setcontext", "stdlib/tst-makecontext",
         "stdlib/tst-swapcontext", "posix/tst-spawn", "posix/tst-exec", "posix/tst-fork", "posix/tst-vfork",
         "nptl/tst-exec", "nptl/tst-signal", "time/tst-itimer", "time/tst-cpuclock", "sysdeps/pthread/tst-",
         "sysdeps/unix/sysv/linux/tst-sig")
# What the preload object does change, as the manual says.
KNOWN = {"tst-key1": "takes all 1,024 keys, of which the preload object has one",
         "tst-key4": "the same",
         "tst-tss-basic": "uses a key that it has not created",
         "tst-minsigstksz-5": "has no room for another handler on its alternate stack"}
# What glibc's own build defines, for its support library without its build.
PREFACE = """
#include <elf.h>
#include <limits.h>
#define TIMEOUTFACTOR 4
#define libc_hidden_proto(name)
#define libc_hidden_def(name)
#define attribute_hidden
#define DEFAULT_STACK_PERMS (PF_R | PF_W)
#define _STACK_GROWS_DOWN 1
"""
HEADERS = ("intprops.h", "intprops-internal.h", "array_length.h", "libc-diag.h", "verify.h", "scratch_buffer.h")


def find_source(folder):
    """The archive of glibc's source, or a string that says why there is none."""
    for place in (pathlib.Path("/usr/src/glibc"), folder / "usr/src/glibc"):
        if not list(place.glob("glibc-*.tar.xz")) and place != pathlib.Path("/usr/src/glibc"):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(["apt-get", "download", "-q", "glibc-source"], cwd=folder, capture_output=True,
                               timeout=300, check=True)
                for file in folder.glob("glibc-source_*.deb"):
                    subprocess.run(["dpkg-deb", "-x", file, folder], check=True, capture_output=True)
        for archive in place.glob("glibc-*.tar.xz"):
            return archive
    return "package glibc-source is neither installed nor can it be downloaded"


class Glibc(CommandTest):
    def setUp(self):
        super().setUp()
        archive = find_source(self.folder)
        if isinstance(archive, str):
            self.skipTest(archive)
        with tarfile.open(archive) as tar:
            wanted = [member for member in tar if self.is_wanted(member.name.partition("/")[2])]
            tar.extractall(self.folder / "glibc", wanted)
        self.tree, = (self.folder / "glibc").iterdir()
        self.inc = self.folder / "inc"
        self.inc.mkdir()
        for name in HEADERS:
            with contextlib.suppress(FileNotFoundError):
                (self.tree / "include" / name).rename(self.inc / name)
        for name in ("config.h", "stackinfo.h"):
            (self.inc / name).touch()
        (self.inc / "preface.h").write_text(PREFACE)

    def is_wanted(self, name):
        return name.endswith((".c", ".h")) and (name.startswith(("support/", *NAMES)) or name == "test-skeleton.c"
                                                or name in {"include/" + header for header in HEADERS})

    def compile(self, source, output, *words):
        """Whether it could be compiled: what needs glibc's own build cannot."""
        command = ["gcc", "-w", "-O1", "-std=gnu11", "-D_GNU_SOURCE", "-include", "preface.h", f"-I{self.inc}",
                   "-Isupport", "-I.", "-o", str(output), str(source), *words]
        return subprocess.run(command, cwd=self.tree, capture_output=True).returncode == 0

    def build(self, pool):
        """The programs that could be built."""
        places = [f"-D{name}_PATH=\"/\"" for name in
                  ("SRCDIR", "OBJDIR", "OBJDIR_ELF_LDSO", "INSTDIR", "LIBDIR", "SLIBDIR", "BINDIR", "SBINDIR",
                   "ROOTSBINDIR", "COMPLOCALEDIR")]
        support = [file for file in (self.tree / "support").glob("*.c") if not file.name.startswith("tst-")]
        objects = [(file, self.folder / (file.stem + ".o")) for file in support]
        made = list(pool.map(lambda one: self.compile(*one, "-c", *places), objects))
        mains = {"test-container", "test-run-command", "shell-container", "echo-container", "true-container",
                 "links-dso-program", "links-dso-program-c"}
        subprocess.run(["ar", "rcs", self.folder / "libsupport.a",
                        *(one[1] for one, good in zip(objects, made) if good and one[0].stem not in mains)], check=True)
        sources = [file for file in self.tree.rglob("tst-*.c") if file.parent.name != "support"]
        programs = [(file, self.folder / ("glibc-" + file.stem)) for file in sources]
        made = list(pool.map(lambda one: self.compile(*one, f"-I{one[0].parent}", self.folder / "libsupport.a",
                                                      "-pthread", "-lrt", "-lm"), programs))
        return [one[1] for one, good in zip(programs, made) if good]

    # Each has a session of its own: some kill their process group.
    def run_alone(self, program):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.run_bare([program], timeout=40, start_new_session=True).returncode
        return None

    def run_profiled(self, program):
        """How it went, and whether it was counted."""
        file = f"{program}.pb.gz"
        try:
            result = self.profile("--hal", "timer", "-o", file, "--", program, timeout=60, start_new_session=True)
        except subprocess.TimeoutExpired:
            return "does not end"
        said = text(result.stdout) + text(result.stderr)
        if not re.search(r"(?m)^ntprof: timer: ", said):
            return "not profiled: " + said
        return "" if result.returncode == 0 else f"status {result.returncode}: {said[-600:]}"

    def test_glibcs_tests__pass_as_without(self):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            programs = self.build(pool)
            good = [program for program, status in zip(programs, pool.map(self.run_alone, programs))
                    if status == 0 and program.name[len("glibc-"):] not in KNOWN]
            self.assertGreater(len(good), 200, "hardly any test could be built")
            runs = [program for program in good for _ in range(RUNS)]
            failed = {}
            for program, said in zip(runs, pool.map(self.run_profiled, runs)):
                if said:
                    failed.setdefault(program.name, said)
        # What a loaded machine fails by itself is tried once more, alone, both ways.
        failed = {name: said for name, said in failed.items()
                  if self.run_alone(self.folder / name) == 0 and self.run_profiled(self.folder / name)}
        self.assertEqual(failed, {}, "\n".join(f"{name}: {said}" for name, said in failed.items()))
        print(f"tried: {len(good)} of glibc's tests, {RUNS} runs each: all pass as without ntprof")


if __name__ == "__main__":
    harness.main()
