# SPDX-License-Identifier: MIT
"""Environments in which Linux refuses something: rights, namespaces, seccomp filters, limits.

An environment is a description (Environment), and this file run as a program is what enters it and then becomes the
command: environments.py DESCRIPTION COMMAND [ARGUMENT...], where DESCRIPTION is JSON. Tests and scripts/environments.py
use the same list. What a container engine's default profile refuses comes from the engine's own JSON, in a Debian
package.
"""
import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

USER = 65532  # not that of other tests, with whom limits of a user would be shared
PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
PYTHON = "/usr/bin/python3"  # the one that Debian's packages are for

CAPABILITIES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7,
                "SETPCAP": 8, "NET_BIND_SERVICE": 10, "NET_RAW": 13, "IPC_LOCK": 14, "SYS_CHROOT": 18,
                "SYS_PTRACE": 19, "SYS_ADMIN": 21, "MKNOD": 27, "AUDIT_WRITE": 29, "SETFCAP": 31, "SYSLOG": 34,
                "PERFMON": 38, "BPF": 39}
LAST_CAPABILITY = 40
# What Docker gives a container unless it is told otherwise.
DOCKER = ("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP",
          "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE")
PROFILES = {
    "docker": ("golang-github-docker-docker-dev",
               "usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json"),
    "podman": ("golang-github-containers-common", "usr/share/containers/seccomp.json"),
}


@dataclasses.dataclass
class Environment:
    name: str
    title: str
    user: int = None  # None: who we are
    capabilities: tuple = None  # of the user, all others dropped; None: as they are
    unshare: tuple = ()  # user, mount, pid, net
    root: str = ""  # "own": a minimal root file system of its own; "overlay": the same as an overlay's lower layer
    read_only: bool = False
    proc: bool = True
    sys: bool = True
    limits: dict = dataclasses.field(default_factory=dict)  # RLIMIT_NAME: value
    filter: str = ""  # CALL=ERRNO, or a profile of PROFILES, with "+perf" allowing perf_event_open in it
    paranoid: int = None  # kernel.perf_event_paranoid meanwhile
    cgroup: dict = dataclasses.field(default_factory=dict)  # controller: (file of version 1, of version 2, value)
    refuses: str = ""  # a word that doctor says here, as perf is not what it could be; "": perf can do everything
    runs: bool = True  # whether run can count by perf


def user(name, title, refuses="", **more):
    return Environment(name, title, user=USER, refuses=refuses, **more)


def own(name, title, refuses="", **more):
    """A container of root without a filter, as far as an engine's namespaces go."""
    settings = {"unshare": ("mount", "pid", "net"), "root": "own", "capabilities": DOCKER, **more}
    return Environment(name, title, refuses=refuses, **settings)


def environments():
    """All of them, in the order of the table."""
    paranoid = "perf_event_paranoid"
    yield Environment("root", "root")
    for level in (-1, 0, 1, 2, 3, 4):
        # Only distributions' kernels know levels above 2.
        yield user(f"paranoid{level}", f"user, perf_event_paranoid {level}", paranoid if level > 0 else "",
                   paranoid=level)
    for capability in ("PERFMON", "SYS_ADMIN", "BPF", "SYS_PTRACE", "SYSLOG"):
        yield user(f"cap-{capability.lower()}", f"user with CAP_{capability} only",
                   "" if capability in ("PERFMON", "SYS_ADMIN") else paranoid, capabilities=(capability,))
    yield Environment("user-namespace", "root of a user namespace", user=USER, unshare=("user", "mount", "pid", "net"),
                      root="own", refuses="user namespace")
    yield own("container", "container: own root, mount, pid and network namespace", paranoid)
    yield own("overlay", "container on an overlay file system", paranoid, root="overlay")
    yield own("perfmon", "container with CAP_PERFMON", capabilities=(*DOCKER, "PERFMON"))
    for error in ("EPERM", "ENOSYS"):
        yield user(f"filter-{error.lower()}", f"user, seccomp: perf_event_open gives {error}", "seccomp",
                   filter=f"perf_event_open={error}", runs=False)
    for engine in PROFILES:
        yield own(engine, f"{engine.capitalize()}'s default profile and capabilities", "seccomp", filter=engine,
                  root="overlay", runs=False)
        yield own(f"{engine}-perfmon", f"{engine.capitalize()} with CAP_PERFMON, default profile", "seccomp",
                  filter=engine, root="overlay", capabilities=(*DOCKER, "PERFMON"), runs=False)
        yield own(f"{engine}-advice", f"{engine.capitalize()} as doctor advises", filter=engine + "+perf",
                  root="overlay", capabilities=(*DOCKER, "PERFMON", "SYS_PTRACE", "SYSLOG"))
    yield own("read-only", "container with a read-only root", paranoid, read_only=True)
    yield own("no-proc", "container without /proc", "/proc", proc=False)
    yield own("no-sys", "container without /sys", paranoid, sys=False)
    yield user("memory-limit", "user, memory limit 64 MiB", paranoid,
               cgroup={"memory": ("memory.limit_in_bytes", "memory.max", 64 << 20)})
    yield user("pids-limit", "user, pids limit 14", paranoid, cgroup={"pids": ("pids.max", "pids.max", 14)})
    for name, value in (("NOFILE", 64), ("MEMLOCK", 0), ("AS", 1 << 30), ("NPROC", 24)):
        yield user(f"limit-{name.lower()}", f"user, RLIMIT_{name} {value}", paranoid, limits={name: value})


def floors():
    """Limits so low that nothing can be expected but a clear refusal."""
    for name, values in (("NOFILE", (4, 5, 8, 16)), ("AS", (16 << 20, 64 << 20)), ("NPROC", (0, 1))):
        for value in values:
            yield user(f"floor-{name.lower()}-{value}", f"RLIMIT_{name} {value}", limits={name: value})
    for value in (1, 2, 3):
        yield user(f"floor-pids-{value}", f"pids limit {value}", cgroup={"pids": ("pids.max", "pids.max", value)})


# ---- what they need ----


def find_profile(engine):
    """The engine's default profile, from its package: installed, or downloaded. A string says why there is none."""
    package, path = PROFILES[engine]
    installed = pathlib.Path("/") / path
    if installed.exists():
        return installed
    folder = folder_of("profiles")
    found = folder / path
    if not found.exists():
        folder.mkdir(exist_ok=True)
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(["apt-get", "download", "-q", package], cwd=folder, capture_output=True, timeout=60,
                           check=True)
            for file in folder.glob(package + "_*.deb"):
                subprocess.run(["dpkg-deb", "-x", file, folder], check=True, capture_output=True)
    return found if found.exists() else f"package {package} is neither installed nor can it be downloaded"


def allow_perf(content):
    """A profile in which perf_event_open is allowed: what `ntprof doctor` prints a line of jq for."""
    rules = [{**rule, "names": [name for name in rule["names"] if name != "perf_event_open"]}
             for rule in content["syscalls"]]
    return {**content, "syscalls": [*(rule for rule in rules if rule["names"]),
                                    {"names": ["perf_event_open"], "action": "SCMP_ACT_ALLOW"}]}


def translated(engine, capabilities, allowing_perf):
    """The BPF of a profile for these capabilities, as libseccomp makes it. A string says why there is none."""
    profile = find_profile(engine)
    if isinstance(profile, str):
        return profile
    content = json.loads(profile.read_text())
    if allowing_perf:
        content = allow_perf(content)
    made = subprocess.run([PYTHON, "-c", TRANSLATE, json.dumps([content, list(capabilities)])], capture_output=True)
    if made.returncode != 0:
        return "python3-seccomp cannot translate it: " + made.stderr.decode()[-200:]
    return made.stdout


# Runs by Debian's Python, whatever runs the tests: libseccomp's module is there. Rules are chosen as runc does.
TRANSLATE = """
import json, platform, seccomp, sys, tempfile
profile, held = json.loads(sys.argv[1])
def action(name, error):
    return seccomp.ALLOW if name == "SCMP_ACT_ALLOW" else seccomp.ERRNO(error or 1)
architectures = {"x86_64": {"amd64", "x86", "x32"}, "aarch64": {"arm64", "arm"}}.get(platform.machine(), set())
held = {"CAP_" + name for name in held}
default = action(profile["defaultAction"], profile.get("defaultErrnoRet"))
made = seccomp.SyscallFilter(default)
for rule in profile["syscalls"]:
    wanted, unwanted = rule.get("includes") or {}, rule.get("excludes") or {}
    if ("arches" in wanted and not architectures & set(wanted["arches"])
            or not set(wanted.get("caps", ())) <= held
            or architectures & set(unwanted.get("arches", ()))
            or held & set(unwanted.get("caps", ()))):
        continue
    what = action(rule["action"], rule.get("errnoRet"))
    if what == default:
        continue
    for name in rule["names"]:
        tests = [seccomp.Arg(one["index"], getattr(seccomp, one["op"][len("SCMP_CMP_"):]), one["value"],
                             one.get("valueTwo", 0)) for one in rule.get("args") or ()]
        try:
            made.add_rule(what, name, *tests)
        except (RuntimeError, ValueError, OSError):
            pass  # of another architecture, or contradicting an earlier rule
with tempfile.TemporaryFile() as file:
    made.export_bpf(file)
    file.seek(0)
    sys.stdout.buffer.write(file.read())
"""


_folder = None


def folder_of(name):
    """A folder for files that all users can read, gone when the program ends."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="ntprof-environments-")
        os.chmod(_folder.name, 0o755)
    return pathlib.Path(_folder.name) / name


def minimal_root(programs, folders=()):
    """A root file system of these programs, of what ldd says that they need, and of folders (mounted when entered)."""
    root = folder_of("root")
    if root.exists():
        return root
    for name in ("proc", "sys", "dev", "tmp", "etc", "old", *(str(folder).lstrip("/") for folder in folders)):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/:/bin/sh\n")
    for program in programs:
        files = {str(program): pathlib.Path(program).resolve()}
        told = subprocess.run(["ldd", program], capture_output=True, text=True)
        for name in re.findall(r"(/\S+) \(0x", told.stdout):
            files[name] = pathlib.Path(name).resolve()
        for name, content in files.items():
            place = root / name.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                shutil.copy(content, place)
    return root


@contextlib.contextmanager
def paranoid(value):
    """Sets kernel.perf_event_paranoid. A process of its own restores it, also if this one is killed."""
    before = PARANOID.read_text()
    ours, theirs = os.pipe()
    guard = os.fork()
    if guard == 0:
        os.close(theirs)
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.read(ours, 1)  # ends when all who have the other end are gone
        PARANOID.write_text(before)
        os._exit(0)
    os.close(ours)
    os.set_inheritable(theirs, False)
    try:
        PARANOID.write_text(str(value))
        yield
    finally:
        os.close(theirs)
        os.waitpid(guard, 0)


class Group:
    """A control group with one limit, of version 1 or 2."""

    def __init__(self, controller, settings):
        one, two, value = settings
        below = f"ntprof-test-{os.getpid()}"
        first = pathlib.Path("/sys/fs/cgroup") / controller
        self.folder = (first if first.is_dir() else pathlib.Path("/sys/fs/cgroup")) / below
        self.folder.mkdir()
        (self.folder / (one if first.is_dir() else two)).write_text(str(value))

    def close(self):
        for line in (self.folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(line), signal.SIGKILL)
        for _ in range(200):
            try:
                self.folder.rmdir()
                return
            except OSError:
                subprocess.run(["sleep", "0.01"])


class Entered:
    """An environment that commands can be run in; with. why is a reason why it cannot be made here, or ""."""

    def __init__(self, environment, programs, folders):
        self.environment = environment
        self.stack = contextlib.ExitStack()
        self.why = ""
        self.description = dataclasses.asdict(environment)
        self.programs, self.folders = programs, folders

    def __enter__(self):
        try:
            self._prepare()
        except OSError as error:
            self.why = f"this machine does not allow it: {error}"
        return self

    def _prepare(self):
        environment = self.environment
        if os.geteuid() != 0:
            self.why = "needs root"
            return
        if environment.paranoid is not None:
            self.stack.enter_context(paranoid(environment.paranoid))
        groups = []
        for controller, settings in environment.cgroup.items():
            group = Group(controller, settings)
            self.stack.callback(group.close)
            groups.append(str(group.folder / "cgroup.procs"))
        self.description["groups"] = groups
        self.description["folders"] = [str(folder) for folder in self.folders]
        if environment.root:
            self.description["root_folder"] = str(minimal_root(self.programs, self.folders))
        if environment.filter.split("+")[0] in PROFILES:
            made = translated(environment.filter.split("+")[0], environment.capabilities or (),
                              environment.filter.endswith("+perf"))
            if isinstance(made, str):
                self.why = made
                return
            path = folder_of(environment.name + ".bpf")
            path.write_bytes(made)
            self.description["filter_file"] = str(path)
        tried = self.run(["/bin/true"])
        if tried.returncode != 0 and not environment.name.startswith("floor-"):
            self.why = "this machine does not allow it: " + tried.stderr.decode("utf-8", "replace").strip()[-200:]

    def __exit__(self, *_):
        self.stack.close()

    def command(self, words):
        return [PYTHON, "-SE", __file__, json.dumps(self.description), *map(str, words)]

    def run(self, words, **options):
        options = {"capture_output": True, "timeout": 60, "stdin": subprocess.DEVNULL, "cwd": "/", **options}
        return subprocess.run(self.command(words), **options)


# ---- entering: this file as a program ----

CLONE = {"mount": 0x20000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_CAPBSET_DROP = 4, 8, 22, 24
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 38, 47
PIVOT_ROOT, CAPSET = {"x86_64": (155, 126), "aarch64": (41, 91)}.get(os.uname().machine, (-1, -1))
libc = ctypes.CDLL(None, use_errno=True)


def call(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0, data=None):
    words = [None if word is None else str(word).encode() for word in (source, target, kind, data)]
    call(libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), f"mount {target}")


def unshare(spec):
    uid, gid = os.getuid(), os.getgid()
    call(libc.unshare(sum(CLONE[name] for name in spec["unshare"])), "unshare")
    if "user" in spec["unshare"]:
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def bind(source, target):
    mount(source, target, None, MS_BIND | MS_REC)


def make_root(spec):
    """Mounts the new root; the process's working folder becomes it."""
    top = "/mnt"  # is there already, so that nothing stays behind
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("none", top, "tmpfs")
    new = f"{top}/new"
    os.mkdir(new)
    if spec["root"] == "overlay":
        os.mkdir(f"{top}/upper")
        os.mkdir(f"{top}/work")
        mount("overlay", new, "overlay", 0, f"lowerdir={spec['root_folder']},upperdir={top}/upper,workdir={top}/work")
    else:
        bind(spec["root_folder"], new)
    bind("/dev", f"{new}/dev")
    if spec["sys"]:
        bind("/sys", f"{new}/sys")
    for folder in spec["folders"]:
        bind(folder, new + folder)
    if spec["proc"]:
        mount("proc", f"{new}/proc", "proc")
    if spec["read_only"]:
        for folder in ("", *spec["folders"]):
            mount(None, new + folder, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
    os.chdir(new)
    call(libc.syscall(PIVOT_ROOT, b".", b"."), "pivot_root")
    call(libc.umount2(b".", 2), "umount")
    os.chdir("/")


def fork_into_pid_namespace():
    """The child goes on as process 1; this one passes its end on."""
    child = os.fork()
    if child == 0:
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def filter_of(spec):
    if "filter_file" in spec:
        return spec["filter_code"]
    name, error = spec["filter"].split("=")
    number = {"perf_event_open": {"x86_64": 298, "aarch64": 241}[os.uname().machine]}[name]
    error = {"EPERM": 1, "ENOSYS": 38}[error]

    def one(code, yes, no, value):
        return code.to_bytes(2, "little") + bytes([yes, no]) + value.to_bytes(4, "little")
    return (one(0x20, 0, 0, 0) + one(0x15, 0, 1, number) + one(0x06, 0, 0, 0x50000 | error)
            + one(0x06, 0, 0, 0x7FFF0000))


def set_filter(spec):
    code = filter_of(spec)
    if os.geteuid() != 0:
        call(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    call(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(Program(len(code) // 8, code)), 0, 0), "seccomp")


def set_capabilities(numbers):
    """These only, on through the next exec."""
    low = sum(1 << number for number in numbers if number < 32)
    high = sum(1 << number - 32 for number in numbers if number >= 32)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    call(libc.syscall(CAPSET, header, (ctypes.c_uint32 * 6)(low, low, low, high, high, high)), "capset")
    if os.geteuid() != 0:
        for number in numbers:
            call(libc.prctl(PR_CAP_AMBIENT, 2, number, 0, 0), "ambient capability")


def become(spec):
    numbers = None if spec["capabilities"] is None else [CAPABILITIES[name] for name in spec["capabilities"]]
    in_namespace = "user" in spec["unshare"]
    if numbers is not None:
        for number in range(LAST_CAPABILITY + 1):
            if number not in numbers:
                libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    if spec["user"] is not None and not in_namespace:
        libc.prctl(PR_SET_KEEPCAPS, 1 if numbers is not None else 0, 0, 0, 0)
        os.setgroups([])
        os.setresgid(spec["user"], spec["user"], spec["user"])
        os.setresuid(spec["user"], spec["user"], spec["user"])
    if numbers is not None:
        set_capabilities(numbers)


def enter(spec, command):
    for group in spec["groups"]:
        pathlib.Path(group).write_text(str(os.getpid()))
    if "filter_file" in spec:
        spec["filter_code"] = pathlib.Path(spec["filter_file"]).read_bytes()
    if "user" in spec["unshare"]:
        os.setgroups([])
        os.setresgid(spec["user"], spec["user"], spec["user"])
        os.setresuid(spec["user"], spec["user"], spec["user"])
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # or /proc/self is root's
    if spec["unshare"]:
        unshare(spec)
    if "pid" in spec["unshare"]:
        fork_into_pid_namespace()
    working = os.getcwd()
    if spec["root"]:
        make_root(spec)
    if os.path.isdir(working):
        os.chdir(working)
    if spec["filter"] and os.geteuid() == 0 and spec["user"] is None:
        set_filter(spec)  # engines set it with their own rights
        become(spec)
    else:
        become(spec)
        if spec["filter"]:
            set_filter(spec)
    for name, value in spec["limits"].items():
        number = getattr(resource, "RLIMIT_" + name)
        resource.setrlimit(number, (value, value))
    os.execv(command[0], command)


if __name__ == "__main__":
    try:
        enter(json.loads(sys.argv[1]), sys.argv[2:])
    except OSError as failure:
        print(f"environments: {failure}", file=sys.stderr)
        os._exit(99)
