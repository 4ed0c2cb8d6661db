#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Boots kernels of Debian in qemu, tries ntprof on each, and prints a table of what works: step by machine.

usage: check_machines.py BUILD [--short | --write] [--prepare] [--tests SECONDS] [WORD...]

Nothing on this machine changes. Kernels and root file systems come from its own package sources, with another suite,
and are kept in $NTPROF_MACHINES or ~/.cache/ntprof-machines (4 GB): remove a folder there to get newer packages; a
root is made anew where this tree names other packages. The build for arm64 is BUILD-machines-arm64; ntprof as one file
is in BUILD-static and BUILD-static-arm64. Guests are emulated: no processor needs to support virtual machines. The
folder results there has for each machine the console, steps.log, and logs of the steps.

--write puts the table into docs/environments.md if no step failed, and tries the Debian packages for arm64 of what is
committed, which are built in a root that is downloaded anew. --short boots two machines only. --tests runs the
tests of the build on these two as well, for so long on each. WORD chooses machines by name; columns of the others are
of their last boots, if these were of the same commit and settings. What was not run, such as the tests without --tests,
is called so in the table. --prepare makes what is booted, with --write also the packages, and boots nothing.
The status is 1 if a step failed; 77 if guests cannot be made here. Needs root.
"""
import argparse
import inspect
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import typing

TREE = pathlib.Path(__file__).resolve().parent.parent
FILE = TREE / "docs/environments.md"
TITLE = "# Kernels and processors"
PARTS = TREE / "tests/machines"
PROGRAMS = pathlib.Path("tests/integration/programs")
CACHE = pathlib.Path(os.environ.get("NTPROF_MACHINES") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ntprof-machines")
USERLAND = "bookworm"
# What ends a guest that waits for ever; with tests, their time comes on top of the second.
LIMIT_S, LIMIT_WITH_TESTS_S = 3600, 2 * 3600
MODULES = ["virtio_pci", "virtio_blk", "crc32c_generic", "crc32c", "ext4", "9pnet_virtio", "9p", "virtio_rng"]
TOOLS = """base-files base-passwd bash binutils bsdutils busybox-static coreutils dash findutils g++ gawk gdb grep gzip
hostname iproute2 kmod libc-bin linux-perf mawk mount musl ncurses-base ncurses-bin procps python3 sed sqlite3 strace
tar tmux tzdata util-linux xz-utils""".split()


class Machine(typing.NamedTuple):
    """A column: a suite, and the kernel that it has for a processor."""
    name: str
    suite: str
    kernel: str  # linux-image-...
    processors: int = 2
    command_line: str = ""
    instruction_ns_log2: int = 3  # about what an emulated one takes
    tests: bool = False  # one of the two that run the tests of the build, and of --short

    @property
    def arm(self):
        return self.kernel.startswith("arm64")

    @property
    def architecture(self):
        return "arm64" if self.arm else "amd64"


MACHINES = [
    Machine("x86-64, Debian 11", "bullseye", "amd64"),
    Machine("x86-64, Debian 12", "bookworm", "amd64", tests=True),
    Machine("x86-64, Debian 13", "trixie", "amd64"),
    Machine("x86-64, newest", "sid", "amd64"),
    Machine("arm64, Debian 12", "bookworm", "arm64", tests=True),
    Machine("arm64, Debian 13, 16 kB pages", "trixie", "arm64-16k"),
    Machine("arm64, newest", "sid", "arm64"),
    Machine("one processor", "bookworm", "amd64", 1),
    # Debian 13's kernel panics here (int3): it patches its own code while another emulated processor still runs what
    # qemu had translated of it before.
    Machine("64 processors", "bookworm", "amd64", 64),
    Machine("a processor comes later", "bookworm", "amd64", command_line="maxcpus=1"),
    Machine("lockdown", "bookworm", "amd64", command_line="lockdown=confidentiality"),
    Machine("cgroup v1", "bookworm", "amd64", command_line="cgroup_v1"),
    # The processor of this clock counts exactly.
    Machine("PMU", "trixie", "arm64-16k", 1, instruction_ns_log2=1),
]


def run(*words, **given):
    subprocess.run(list(map(str, words)), check=True, stdin=subprocess.DEVNULL, **given)


def text_of(*words):
    return subprocess.run(list(map(str, words)), check=True, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True).stdout


# ---- what guests are made of ----

class Failure(str):
    """Why something could not be made."""


def attempt(make, *given):
    """What make(...) returns, or why it failed: whatever can do without it goes on."""
    try:
        return make(*given)
    except Exception as why:  # noqa: BLE001  of whatever kind
        status = f"{why.cmd[0]}: status {why.returncode}" if isinstance(why, subprocess.CalledProcessError) else why
        said = (getattr(why, "stderr", None) or "").strip().splitlines()
        failure = Failure(" ".join([f"{make.__name__}: {status}", *said[-1:]]))
        print(f"check_machines: FAILED: {failure}", flush=True)
        return failure


def commit_of_tree():
    """Its name, and whether what there is differs; but for the table, which other runs have written."""
    changes = text_of("git", "-C", TREE, "status", "--porcelain", "--", ".", f":!{FILE.relative_to(TREE)}")
    return text_of("git", "-C", TREE, "rev-parse", "--short=12", "HEAD").strip() + " with changes" * bool(changes)


def made(folder, make, recipe=""):
    """The folder, which make(it under another name) makes unless it is there, of this recipe: whole or not at all."""
    kept = folder.with_name(folder.name + ".recipe")
    if not folder.exists() or (kept.read_text() if kept.exists() else "") != recipe:
        print(f"check_machines: making {folder}", flush=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = folder.with_name(folder.name + ".new")
        shutil.rmtree(unfinished, ignore_errors=True)
        make(unfinished)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
        kept.write_text(recipe)
    return folder


def unpack(folder, suite, architecture, packages):
    """Packages of a suite and what they depend on, unpacked: no script of theirs runs, so any processor's do."""
    source = re.search(r"(?m)^deb (\S+) ", text_of("apt-get", "indextargets", "--format", "deb $(REPO_URI) $(CODENAME)",
                                                   "Created-By: Packages", "Origin: Debian", "Label: Debian"))
    # A mirror may be a copy of some day.
    run("mmdebstrap", "--quiet", "--mode=root", "--variant=extract", f"--architectures={architecture}",
        "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", '--aptopt=Acquire::Check-Valid-Until "false"',
        f"--include={','.join(packages)}", suite, folder, f"deb {source[1]} {suite} main")


def make_kernel(folder, machine):
    """vmlinuz, and an initial file system that mounts the root."""
    folder.mkdir()
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        root, initial = pathlib.Path(place) / "root", pathlib.Path(place) / "initial"
        unpack(root, machine.suite, machine.kernel.split("-")[0], [f"linux-image-{machine.kernel}", "busybox-static"])
        version = next((root / "usr/lib/modules").iterdir()).name
        run("depmod", "-b", root, version)
        for name in ("bin", "dev", "proc", "sys", "new", "modules"):
            (initial / name).mkdir(parents=True)
        shutil.copy(root / "bin/busybox", initial / "bin")
        shutil.copy(PARTS / "init", initial)
        listed = []
        for name in MODULES:
            found = subprocess.run(["modprobe", "-d", root, "-S", version, "--show-depends", name], capture_output=True,
                                   text=True, check=False)  # it may be built in, or not exist in this version
            listed += re.findall(r"(?m)^insmod (\S+)", found.stdout)
        for path in dict.fromkeys(map(pathlib.Path, listed)):
            unpacker = {".xz": ["xz", "-dc"], ".zst": ["zstd", "-dc"]}.get(path.suffix, ["cat"])
            name = path.name.split(".ko")[0]
            with open(initial / "modules" / name, "wb") as module, open(initial / "modules/list", "a") as names:
                run(*unpacker, path, stdout=module)
                names.write(name + "\n")
        kernels = [path for place in ("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz") for path in root.glob(place)]
        shutil.copy(kernels[0], folder / "vmlinuz")
        files = "\n".join(str(path.relative_to(initial)) for path in initial.rglob("*"))
        with open(folder / "initrd", "wb") as archive:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc"], cwd=initial, input=files.encode(), stdout=archive,
                           check=True)


def packages_of_root():
    """What runs and builds ntprof, of the lists of this tree."""
    return TOOLS + [words[1] for words in map(str.split, open(TREE / "scripts/packages.txt"))
                    if words and (words[0] == "build" and words[1] not in ("meson", "ninja-build")
                                  or words[0] == "check" and re.fullmatch(r"lib(?!clang)[^,]*-dev", words[1]))]


def recipe_of_root():
    return "\n".join([USERLAND, *packages_of_root(), inspect.getsource(unpack), inspect.getsource(make_root)])


def make_root(folder, architecture):
    unpack(folder, USERLAND, architecture, packages_of_root())
    # What scripts of packages would have made.
    for name in ("passwd", "group"):
        shutil.copy(folder / f"usr/share/base-passwd/{name}.master", folder / f"etc/{name}")
    (folder / "bin/sh").unlink(missing_ok=True)
    (folder / "bin/sh").symlink_to("dash")
    for name, program in (("awk", "mawk"), ("cc", "gcc"), ("c++", "g++")):
        (folder / "usr/bin" / name).symlink_to(program)
    for link in folder.glob("usr/lib/*-linux-gnu/*.so"):  # of the root, not of this machine
        if link.is_symlink() and os.readlink(link).startswith("/"):
            target = os.path.relpath(f"{folder}{os.readlink(link)}", link.parent)
            link.unlink()
            link.symlink_to(target)
    for name in ("out", "proc", "sys", "dev", "run", "tmp"):
        (folder / name).mkdir(exist_ok=True)


def targets_of_steps(folder):
    """What is installed, examples, and the programs that steps profile or run: half of what there is to compile."""
    wanted = []
    for target in json.loads((folder / "meson-info/intro-targets.json").read_text()):
        place = pathlib.Path(target["defined_in"]).parent.relative_to(TREE)
        if place.parts[:1] not in (("tests",), ("bench",)) and target["build_by_default"] or \
                place == PROGRAMS or target["name"] == "integration-counting":
            wanted += [os.path.relpath(name, folder) for name in target["filename"]]
    return wanted


def cross_build(build, root):
    folder = build.with_name(build.name + "-machines-arm64")
    if not (folder / "build.ninja").exists():
        constants = CACHE / "arm64.ini"
        constants.write_text(f"[constants]\nroot = '{root}'\n")
        run("meson", "setup", "--cross-file", constants, "--cross-file", PARTS / "arm64.ini", "-Dtests=enabled", folder,
            TREE)
    return folder


def compile_all(folder, whole):
    run("ninja", "-C", folder, "--quiet", *([] if whole else targets_of_steps(folder)))


def make_one_file(build, architecture):
    """The command that needs nothing on the machine, of the folder that `make static` makes, too."""
    folder = build.with_name(build.name + {"amd64": "-static", "arm64": "-static-arm64"}[architecture])
    run(TREE / "scripts/make_static.sh", folder, architecture)
    return folder / "tool/ntprof"


def make_packages(commit):
    """The Debian packages for arm64, as archives of their files: nothing of dpkg is in a root. The last ones, if they
    are of this commit."""
    folder = CACHE / "packages-arm64"
    if (folder / "commit").exists() and (folder / "commit").read_text() == commit:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        # Not this tree: the table, which other runs have written, is not committed.
        run("git", "clone", "--quiet", "--shared", TREE, f"{place}/tree")
        run(f"{place}/tree/scripts/check_package.sh", "--for", "arm64", folder)
    for package in folder.glob("*.deb"):
        if "-dbgsym_" not in package.name:
            with open(package.with_suffix(".tar"), "wb") as archive:
                run("dpkg-deb", "--fsys-tarfile", package, stdout=archive)
        package.unlink()
    (folder / "commit").write_text(commit)
    return folder


def has_newer(folder, image, *left_out):
    """Is a file in the folder newer than the image?"""
    pruned = [word for name in left_out for word in ("-name", name, "-prune", "-o")]
    return text_of("find", folder, *pruned, "-type", "f", "-newer", image, "-print", "-quit") != ""


def make_image(image, root, build):
    """A file system of the root, this tree and the build, where these are on this machine; the last one, if it is of
    these and nothing has changed."""
    places, kept = f"{TREE}\n{build}\n", image.with_suffix(".places")
    if image.exists() and kept.exists() and kept.read_text() == places and \
            root.stat().st_ctime < image.stat().st_mtime and \
            not has_newer(build, image, "*.p", ".ninja_*", "meson-logs") and \
            not has_newer(TREE, image, ".git", "build*", "__pycache__"):
        return image
    image.unlink(missing_ok=True)
    kept.write_text(places)
    unfinished = image.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        run("cp", "-al", f"{root}/.", place)
        # Ordinary users reach it, whatever this machine allows them.
        for folder, pack in ((TREE, "git ls-files -z | tar --null --mode=a+rX -T - -c"),
                             (build, "tar --mode=a+rX --exclude=*.p -c .")):
            inside = place / folder.relative_to("/")
            inside.mkdir(parents=True, exist_ok=True)
            for parent in (inside, *inside.parents):
                if parent.is_relative_to(place):
                    parent.chmod(0o755)
            run("bash", "-euo", "pipefail", "-c", f"{pack} | tar -C {shlex.quote(str(inside))} -x", cwd=folder)
        size_kib = int(text_of("du", "-sk", place).split()[0])
        run("mke2fs", "-q", "-t", "ext4", "-d", place, unfinished, f"{size_kib * 5 // 4 + 500000}k")
    return unfinished.rename(image)


def prepare_architecture(architecture, build, commit, packages, whole):
    """(image, build, {name: file or folder that the steps find beside them, or its Failure})"""
    root = made(CACHE / f"root-{architecture}", lambda to: make_root(to, architecture), recipe_of_root())
    files = {"one-file": attempt(make_one_file, build, architecture)}
    if architecture == "arm64":
        if packages:
            files["packages"] = attempt(make_packages, commit)
        build = cross_build(build, root)
    compile_all(build, whole)
    return make_image(CACHE / f"{architecture}.img", root, build), build, files


def prepare_kernel(machine):
    return made(CACHE / f"kernel-{machine.suite}-{machine.kernel}", lambda to: make_kernel(to, machine))


def prepare(machines, *given):
    """{machine: arguments of boot(), or a Failure}. All is made before the first boot."""
    prepared, of_architecture = {}, {}
    for machine in machines:
        if machine.architecture not in of_architecture:
            of_architecture[machine.architecture] = attempt(prepare_architecture, machine.architecture, *given)
        kernel, rest = attempt(prepare_kernel, machine), of_architecture[machine.architecture]
        prepared[machine] = next((one for one in (kernel, rest) if isinstance(one, Failure)), None) or (kernel, *rest)
    return prepared


# ---- boots ----


def arguments(machine, kernel, image, out):
    if machine.arm:  # whose own way to sign return addresses takes an emulator long
        qemu = ["qemu-system-aarch64", "-machine", "virt,gic-version=3", "-cpu", "max,pauth-impdef=on"]
        console = "console=ttyAMA0"
    else:
        # A busy host is late for what the kernel tries with the timer.
        qemu = ["qemu-system-x86_64", "-machine", "q35", "-cpu", "max"]
        console = "console=ttyS0 no_timer_check tsc=reliable"
    # A clock that goes by what is executed: a host that gives the guest no time makes nothing late. With several
    # processors guests stop at times, or do not start.
    clock = ["-accel", "tcg,thread=multi"]
    if machine.processors == 1:
        clock = ["-icount", f"shift={machine.instruction_ns_log2}"]
    return [*qemu, "-smp", str(machine.processors), "-m", "4G" if machine.processors > 2 else "2G",
            *clock, "-nographic", "-no-reboot", "-nic", "none", "-device", "virtio-rng-pci",
            "-kernel", kernel / "vmlinuz", "-initrd", kernel / "initrd",
            "-append", f"{console} panic=-1 quiet {machine.command_line}",
            "-drive", f"file={image},format=raw,if=none,id=root,snapshot=on", "-device", "virtio-blk-pci,drive=root",
            "-virtfs", f"local,path={out},mount_tag=out,security_model=mapped-xattr"]


def read_results(out):
    """{step: (result, what it says)} of whole lines: the guest may be writing one, or have ended in it."""
    path = out / "results"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return {step: tuple(rest) for step, *rest in (json.loads(line) for line in lines if line.endswith("\n"))}


def write_results(out, results):
    (out / "results").write_text("".join(json.dumps([step, *rest]) + "\n" for step, rest in results.items()))


def results_of(machine):
    return CACHE / "results" / re.sub(r"[^a-z0-9]+", "-", machine.name.lower())


def origin_of(machine, commit):
    """What results are of: not to be shown as those of another commit, or of a guest that was made otherwise."""
    return {"commit": commit, **machine._asdict()}


def kept_results(machine, commit):
    """(results of its last boot, the day), both empty if it did not end, or was of something else."""
    out = results_of(machine)
    results = read_results(out)
    try:
        origin = json.loads((out / "origin").read_text())
    except (OSError, ValueError):
        origin = {}
    day = origin.pop("day", "")
    if not results:
        why = "it was not booted"
    elif origin != origin_of(machine, commit):
        why = "its last boot was of another commit or with other settings"
    elif "end" not in results:
        why = "its last boot did not end"
    else:
        return results, day
    print(f"{machine.name}: not run: {why}")
    return {}, ""


def begin_results(machine, commit):
    """The folder, of which nothing is left but the origin."""
    out = results_of(machine)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    day = time.strftime("%Y-%m-%d", time.gmtime())
    (out / "origin").write_text(json.dumps({"day": day, **origin_of(machine, commit)}))
    return out


def fail_machine(machine, commit, why):
    """Results of one that cannot be booted, or whose boot could not be followed."""
    print(f"{machine.name}: preparation: FAILED: {why}", flush=True)
    write_results(begin_results(machine, commit), {"preparation": ("FAILED", why), "end": ("not run", "")})


def boot(machine, commit, tests_s, kernel, image, build, files):
    """Takes the steps, whose results are printed as they come. The last one tells how the guest ended."""
    out = begin_results(machine, commit)
    for part in (PARTS / "guest.sh", PARTS / "steps.py"):
        shutil.copy(part, out)
    for name, path in files.items():
        if isinstance(path, Failure):
            (out / f"{name}.failed").write_text(path)
        else:
            (shutil.copytree if path.is_dir() else shutil.copy)(path, out / name)
    words = [build, "--processors", machine.processors, "--page-bytes", 16384 if "16k" in machine.kernel else 4096]
    words += ["--tests", tests_s] if machine.tests else []
    (out / "steps").write_text(" ".join(map(str, words)) + "\n")
    limit_s = LIMIT_WITH_TESTS_S + tests_s if machine.tests and tests_s else LIMIT_S
    begin, shown = time.monotonic(), 0
    with open(out / "console", "wb") as console, \
            subprocess.Popen(list(map(str, arguments(machine, kernel, image, out))), stdin=subprocess.DEVNULL,
                             stdout=console, stderr=console, start_new_session=True) as qemu:
        try:
            while True:
                ended = qemu.poll() is not None
                results = read_results(out)
                for step, (result, what) in list(results.items())[shown:]:
                    print(f"{machine.name}: {step}: {result}{what and f': {what}'}", flush=True)
                shown = len(results)
                late = time.monotonic() - begin > limit_s
                if ended or late:
                    break
                time.sleep(1)
        finally:  # also of Ctrl-C
            if qemu.poll() is None:
                os.killpg(qemu.pid, signal.SIGKILL)
    if "end" not in results:
        why = f"had not ended after {limit_s} s" if late and not ended else \
            f"ended in the middle, by status {qemu.returncode}"
        results["end"] = ("FAILED", f"the guest {why} [console]")
        print(f"{machine.name}: end: FAILED: {results['end'][1]}")
        write_results(out, results)
    print(f"{machine.name}: {time.monotonic() - begin:.0f} s; logs in {out}", flush=True)


# ---- the table ----

HEAD = f"""{TITLE}

What `make check-machines` found on kernels of Debian, booted in qemu with a root of Debian 12. Steps are tried as root
and as an ordinary user; shares, counts and names are held against how the programs are made. A number in brackets is
a line below the table: what ntprof says where the kernel cannot, or may not, do it.
"""


def result_of(results, step):
    """(result, what it says) of a step that this machine may not have, or not have come to."""
    ended = results.get("end", ("", ""))[0] == "ok"
    return results.get(step, ("-" if ended else "not run", ""))


def steps_of(columns):
    steps = dict.fromkeys(step for results in columns.values() for step in results)
    return sorted(steps, key=lambda step: step == "end")


def format_origin(columns, commit, days):
    """Of when and of what the table is, and what is missing in it."""
    missing = []
    for name, results in columns.items():
        left_out = [step for step in steps_of(columns) if result_of(results, step)[0] == "not run"]
        if left_out:
            missing.append(f"{name}: {', '.join(left_out) if 'kernel' in results else 'all'}")
    text = f"Of commit {commit}, {' to '.join(sorted({min(days), max(days)}))}."
    return textwrap.fill(text + f" Not run: {'; '.join(missing)}." * bool(missing), 120, break_on_hyphens=False) + "\n"


def format_table(columns):
    """columns: {machine's name: results}"""
    refusals = []
    lines = ["| step | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for step in steps_of(columns):
        cells = []
        for results in columns.values():
            result, what = result_of(results, step)
            if result == "refused":
                if what not in refusals:
                    refusals.append(what)
                result = f"[{refusals.index(what) + 1}]"
            elif result == "FAILED":  # what is said ends with the log, in brackets
                result = f"FAILED: {what.rpartition('[')[2].rstrip(']') if what.endswith(']') else what}"
            cells.append(what if result == "ok" and what else result)
        lines.append(f"| {step} | " + " | ".join(cells) + " |")
    lines += ["", "| line | what ntprof says |", "|---|---|"]
    lines += [f"| [{number}] | `{what}` |" for number, what in enumerate(refusals, 1)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="What works on which kernel.")
    parser.add_argument("build", type=pathlib.Path)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--short", action="store_true")
    kind.add_argument("--write", action="store_true")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--tests", type=int, default=0)
    parser.add_argument("words", nargs="*")
    given = parser.parse_intermixed_args()
    offered = [machine for machine in MACHINES if machine.tests or not given.short]
    unknown = [word for word in given.words if not any(word in machine.name for machine in offered)]
    if unknown:
        parser.error(f"no machine has {unknown[0]} in its name, of: {'; '.join(machine.name for machine in offered)}")
    needed = ("mmdebstrap", "qemu-system-x86_64", "qemu-system-aarch64", "mke2fs", "cpio", "modprobe")
    missing = [name for name in needed if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        print(" ".join(["check_machines: needs root, and what make packages-machines packages-static installs;",
                        "missing:", *missing]))
        return 77
    commit = commit_of_tree()
    if given.write and commit.endswith("changes"):
        print(f"check_machines: {commit}: commit what the table is to be of, or remove it: see git status")
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # with the guest
    CACHE.mkdir(parents=True, exist_ok=True)
    begin, seconds = time.monotonic(), {}
    chosen = [machine for machine in offered
              if not given.words or any(word in machine.name for word in given.words)]
    prepared = prepare(chosen, given.build.resolve(), commit, given.write, given.tests > 0)
    if given.prepare:
        failures = [one for one in prepared.values() if isinstance(one, Failure) or
                    any(isinstance(file, Failure) for file in one[-1].values())]
        print(f"check_machines: {len(prepared) - len(failures)} machines prepared, {len(failures)} failed")
        return 1 if failures or not prepared else 0
    for machine, parts in prepared.items():
        booted = time.monotonic()
        failure = parts if isinstance(parts, Failure) else attempt(boot, machine, commit, given.tests, *parts)
        if failure:
            fail_machine(machine, commit, failure)
        seconds[machine.name] = time.monotonic() - booted
    kept = {machine.name: kept_results(machine, commit) for machine in MACHINES if given.write or machine in prepared}
    columns = {name: results for name, (results, _) in kept.items()}
    table = format_table(columns)
    print(table)
    cells = [result_of(results, step) for results in columns.values() for step in steps_of(columns)]
    results = ["-" if what == "-" else result for result, what in cells]
    failed, not_run, nothing = (results.count(result) for result in ("FAILED", "not run", "-"))
    passed = len(results) - failed - not_run - nothing
    if given.write and not failed and passed:
        before, _, _ = FILE.read_text().partition(TITLE + "\n")
        origin = format_origin(columns, commit, [day for _, day in kept.values() if day])
        FILE.write_text(before + HEAD + "\n" + origin + "\n" + table)
    for name, taken in seconds.items():
        print(f"{taken:6.0f} s  {name}")
    print(f"{time.monotonic() - begin:6.0f} s  all of it, with what was built and downloaded")
    print(f"check_machines: {passed} passed, {failed} failed{not_run and f', {not_run} not run' or ''}"
          f"{nothing and f', {nothing} with nothing to try (-)' or ''}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
