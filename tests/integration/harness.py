# SPDX-License-Identifier: MIT
"""What the tests of the command share: users, commands, and a runner that names each case.

Every class that is made with @for_each_user runs as the caller and, if that is root, once more as an
ordinary user: where rights decide what happens. With @for_each_user_if_long it does so in make check-long only. Build
folders may be out of that user's reach, so what is run is copied first.

From the environment, set by meson.build: NTPROF (the command), NTPROF_LIBRARY (what it needs),
NTPROF_AGENT_LIBRARY (what run preloads), NTPROF_PROGRAMS (a list of test programs),
NTPROF_SCHEMA (of its JSON). NTPROF_TEST_USERS=caller
leaves the ordinary user out: for sanitizer runs, in which that shows nothing new. NTPROF_TEST_USERS=all, in
make check-long, adds the ordinary user to the others, to which rights hardly matter.
"""
import gzip
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

USER = 65534
# Preloaded by .ci/run for all of a run, or for one command: breakpoints open and never fire.
NEVER_FIRE = "libtest-never-fire.so"

# A command for the shell that takes this much processor time.
BURN_S = 0.1
BURN = ("/usr/bin/python3 -S -c 'import time; "
        f"[sum(range(10000)) for _ in iter(lambda: time.process_time() < {BURN_S}, False)]'")
TIME_LIMIT_S = 180  # for a machine that is slow and busy
# The line that says how many hits there are and what is missing.
SUMMARY = r"(?m)^ntprof: .*\b\d+ (hits?|taken)\b"
PAGE_DATA = re.compile(rb'<script type="application/json" id="([a-z-]+)">\n(.*?)</script>', re.S)

_stage = None
_breakpoints_fire = None  # until somebody asks
_uprobes_work = None

# Who runs the tests in the background of a script has these ignored, and commands would inherit that.
for _signal in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_signal) == signal.SIG_IGN:
        signal.signal(_signal, signal.SIG_DFL)


def is_root():
    return os.geteuid() == 0


def stage():
    """A folder that all users can read, with the command and the programs in it."""
    global _stage
    if _stage is None:
        _stage = pathlib.Path(tempfile.mkdtemp(prefix="ntprof-tests-"))
        _stage.chmod(0o755)
        for folder in ("tool/modules", "src", "preload", "programs"):
            (_stage / folder).mkdir(parents=True)
        # The command finds its library beside its own folder.
        shutil.copy(os.environ["NTPROF"], _stage / "tool" / "ntprof")
        for module in os.environ.get("NTPROF_MODULES", "").split():
            shutil.copy(module, _stage / "tool" / "modules")
        shutil.copy(os.environ["NTPROF_LIBRARY"], _stage / "src" / "libntprof.so.0")
        if "NTPROF_AGENT_LIBRARY" in os.environ:
            shutil.copy(os.environ["NTPROF_AGENT_LIBRARY"], _stage / "preload" / "libntprof-agent.so")
        if "NTPROF_AGENT_LIBRARY_I386" in os.environ:
            shutil.copy(os.environ["NTPROF_AGENT_LIBRARY_I386"], _stage / "preload" / "libntprof-agent-i386.so")
        if "NTPROF_TEST_NEVER_FIRE" in os.environ:
            shutil.copy(os.environ["NTPROF_TEST_NEVER_FIRE"], _stage / "src" / NEVER_FIRE)
        for program in os.environ.get("NTPROF_PROGRAMS", "").split(":"):
            if program:
                shutil.copy(program, _stage / "programs")
    return _stage


def command_files():
    """The command, and what it loads."""
    return [str(stage() / "tool" / "ntprof"), *map(str, sorted((stage() / "tool" / "modules").iterdir()))]


def remove_stage():
    if _stage is not None:
        shutil.rmtree(_stage, ignore_errors=True)


def program(name):
    return str(stage() / "programs" / name)


def bare_environment():
    """Ours without what the build system added."""
    environment = dict(os.environ)
    for name in list(environment):
        if name.startswith(("NTPROF", "MESON", "MALLOC_PERTURB_", "LD_LIBRARY_PATH", "ASAN_", "UBSAN_",
                            "TSAN_")):
            del environment[name]
    environment["LC_ALL"] = "C.UTF-8"
    environment["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    if NEVER_FIRE in os.environ.get("LD_PRELOAD", ""):
        return never_firing(environment)
    return environment


def never_firing(environment):
    """The environment on a machine whose breakpoints open and never fire."""
    changed = {**environment, "LD_PRELOAD": str(stage() / "src" / NEVER_FIRE)}
    if "ASAN_OPTIONS" in changed:
        changed["ASAN_OPTIONS"] += ":verify_asan_link_order=0"
    return changed


def without_leak_check(environment):
    """A sanitizer looks for leaks by a process that reads /proc, which limits do not leave room for."""
    if "ASAN_OPTIONS" in environment:
        environment["ASAN_OPTIONS"] += ":detect_leaks=0"
    return environment


def breakpoints_fire():
    """Whether execution breakpoints fire here: ntprof finds that out by using one."""
    global _breakpoints_fire
    if _breakpoints_fire is None:
        told = subprocess.run([stage() / "tool" / "ntprof", "sources", "--json"], check=True,
                              env=bare_environment(), capture_output=True, timeout=TIME_LIMIT_S)
        _breakpoints_fire = any(source["name"].startswith("breakpoint:") and source["supported"]
                                for source in json.loads(told.stdout)["sources"])
    return _breakpoints_fire


def uprobes_work():
    """Whether root can have uprobes here: found out by using one."""
    global _uprobes_work
    if _uprobes_work is None:
        with tempfile.TemporaryDirectory(dir=stage()) as folder:
            tried = subprocess.run([stage() / "tool" / "ntprof", "run", "-e", f"uprobe:{program('page_caller')}+0x40",
                                    "--", "/bin/true"], cwd=folder, stdin=subprocess.DEVNULL, env=bare_environment(),
                                   capture_output=True, check=False, timeout=TIME_LIMIT_S)
        _uprobes_work = "no uprobe_events" not in text(tried.stderr)
    return _uprobes_work


class CommandTest(unittest.TestCase):
    """A test with a folder of its own, as one user."""

    user = None  # None: the caller

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ntprof-test-", dir=stage()))
        if self.user is not None:
            os.chown(self.folder, self.user, self.user)
        self.children = []
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self._end_children)

    def _end_children(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream is not None:
                    stream.close()

    def need_breakpoints(self):
        if not breakpoints_fire():
            self.skipTest("breakpoints do not fire here")

    def need_mount_namespace(self, *options):
        """Where / is no mount point, as below chroot, none can be made private, by root either."""
        probe = self.run_bare(["unshare", "--mount", *options, "true"])
        if probe.returncode != 0:
            self.skipTest(f"no mount namespace can be made here: {text(probe.stderr).strip()}")

    def need_exact_source(self):
        """Breakpoints, or uprobes: for a test of exact counts that can take either."""
        if self.is_user():
            self.need_breakpoints()
        elif not breakpoints_fire():
            self.need_uprobes()

    def need_uprobes(self):
        if self.is_user():
            self.skipTest("uprobes do not work here: not root")
        if not uprobes_work():
            self.skipTest("uprobes do not work here: the kernel has no uprobe_events")

    def is_user(self):
        """An ordinary one?"""
        return self.user is not None or not is_root()

    def options(self, given):
        """Arguments of Popen: whose process it is, where it runs, what it sees."""
        options = {"cwd": self.folder, "env": bare_environment()}
        if self.user is not None:
            options.update(user=self.user, group=self.user, extra_groups=[])
        options.update(given)
        return options

    def run_bare(self, command, **given):
        options = self.options({"timeout": TIME_LIMIT_S, "capture_output": True})
        options.update(given)
        if "input" not in options and "stdin" not in options:
            options["stdin"] = subprocess.DEVNULL
        return subprocess.run(command, **options)

    def arguments(self, *words):
        return [str(stage() / "tool" / "ntprof"), *map(str, words)]

    def ntprof(self, *words, **given):
        """ntprof with these words, ended."""
        return self.run_bare(self.arguments(*words), **given)

    def profile(self, *words, **given):
        """ntprof run with these words, ended."""
        return self.ntprof("run", *words, **given)

    def start(self, command, **given):
        """A command that goes on; it ends with the test."""
        options = self.options({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                "stderr": subprocess.PIPE})
        options.update(given)
        child = subprocess.Popen(command, **options)
        self.children.append(child)
        return child

    def start_profile(self, *words, **given):
        return self.start(self.arguments("run", *words), **given)

    def interrupt(self, child):
        """Has a recording end, as Ctrl-C does, and well. Returns what it said."""
        child.send_signal(signal.SIGINT)
        said = text(child.communicate(timeout=TIME_LIMIT_S)[1])
        self.assertEqual(child.returncode, 0, said)
        return said

    def report_json(self, *words, **given):
        """The report of a run as JSON, every row of it; the run must end well."""
        report = self.folder / "report.json"
        result = self.profile("--json", "--rows", "0", "--report", report, *words, **given)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return json.loads(report.read_text())

    def assert_statistics(self, report):
        for source in report["sources"]:
            self.assertEqual(source["taken"], source["counted"] + source["outside"], source)
            parts = ("taken", "lost", "throttled", "missed", "unfinished", "excluded")
            self.assertEqual(source["expected"], sum(source[part] for part in parts), source)

    def assert_counts_time(self, report, seconds, share=0.5):
        """Time was counted for at least this share of so many processor seconds, in hits or in hits that are
        reported as dropped: how many there are depends on the machine, what they add up to does not."""
        source = report["sources"][0]
        self.assertGreater(source["taken"], 0)
        self.assertGreater(source["expected"] * source["granted"] / 1e7, share * seconds, source)

    def assert_has_time(self, report, hits, seconds, share=0.5):
        """So many hits of a report, with all that were dropped, are at least this share of so many processor
        seconds."""
        source = report["sources"][0]
        dropped = source["expected"] - source["taken"]
        self.assertGreater(hits, 0, source)
        self.assertGreater((hits + dropped) * source["granted"] / 1e7, share * seconds, source)

    def assert_has_at_most(self, report, seconds):
        """Hits, and those that are reported as dropped, are at most this time and an interval."""
        source = report["sources"][0]
        interval_s = source["granted"] / 1e7
        self.assertLessEqual(source["expected"] * interval_s, 1.01 * seconds + interval_s, source)

    def assert_profile_file(self, path):
        """A whole profile that the command reads itself."""
        gzip.decompress(path.read_bytes())
        result = self.ntprof("report", path)
        self.assertEqual(result.returncode, 0, text(result.stderr))

    def assert_nothing_left(self, *but):
        """No temporary file is in the folder."""
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(names, sorted(but))


def is_long():
    """In make check-long."""
    return os.environ.get("NTPROF_TEST_USERS") == "all"


def for_each_user(case):
    """A class decorator: makes the variant for an ordinary user, beside the class."""
    module = sys.modules[case.__module__]
    if is_root() and os.environ.get("NTPROF_TEST_USERS") != "caller":
        name = case.__name__ + "AsUser"
        variant = type(name, (case,), {"user": USER, "__module__": case.__module__})
        setattr(module, name, variant)
    return case


def for_each_user_if_long(case):
    """for_each_user in make check-long only: for what does not depend on rights, such as commands that only read."""
    return for_each_user(case) if is_long() else case


def children_s():
    """Processor seconds of all our children that ended and were waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def children_faults():
    """Page faults of the same that needed no disk."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


def processor_time_s(pid):
    """Processor seconds of a process that runs."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def text(raw):
    return raw.decode("utf-8", "replace")


def page_data(page):
    """The data in a page of `export --format html` or of serve, by the ids of their elements."""
    return {text(name): json.loads(data) for name, data in PAGE_DATA.findall(page)}


def free_port():
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    """Does a server take connections there?"""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except ConnectionRefusedError:
        return False


def wait_for(condition, what):
    """Waits until condition() is true; what is said if that does not happen."""
    end = time.monotonic() + TIME_LIMIT_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("waited in vain: " + what)
        time.sleep(0.01)


def is_alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def processor_ticks(pid):
    """User and system time that a process has used so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]), int(fields[12])


def children_of(pid):
    try:
        return [int(word) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                for word in (task / "children").read_text().split()]
    except OSError:
        return []


def commands_of(pid):
    """Its children without those that are ntprof's own: what files are read by."""
    found = []
    for child in children_of(pid):
        try:
            name = pathlib.Path(f"/proc/{child}/comm").read_text()
        except OSError:
            continue
        if not name.startswith("ntprof-"):
            found.append(child)
    return found


def kill_quietly(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def until_runs(path):
    """For the shell: waits until what it has put into the background has become this program."""
    return f"until [ /proc/$!/exe -ef {path} ]; do :; done"


class _CaseResult(unittest.TestResult):
    """Prints each case as cmocka does, which scripts/test_summary.py reads."""

    def _name(self, test):
        return f"{type(test).__name__}.{getattr(test, '_testMethodName', test.id())}"

    def startTest(self, test):
        super().startTest(test)
        print("[ RUN      ]", self._name(test), flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        print("[       OK ]", self._name(test), flush=True)

    def addSkip(self, test, reason):
        """A case that skips in several of its subtests is skipped once."""
        case = getattr(test, "test_case", test)
        if (case, reason) in self.skipped:
            return
        super().addSkip(case, reason)
        print(reason)
        print("[  SKIPPED ]", self._name(case), flush=True)

    def _fail(self, test, error):
        print("".join(traceback.format_exception(*error)))
        print("[  FAILED  ]", self._name(test), flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._fail(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._fail(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            print(subtest)
            self._fail(test, error)


def main():
    """Runs the cases of the calling script, or those whose names hold a word of the command line; a word after a
    hyphen leaves cases out."""
    os.umask(0o022)
    left_out = [word[1:] for word in sys.argv[1:] if word.startswith("-")]
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")] or [""]
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    chosen = unittest.TestSuite()
    for group in suite:
        for test in group:
            name = f"{type(test).__name__}.{test._testMethodName}"
            if any(word in name for word in wanted) and not any(word in name for word in left_out):
                chosen.addTest(test)
    result = _CaseResult()
    try:
        chosen.run(result)
    finally:
        remove_stage()
    print(f"{result.testsRun} cases, {len(result.failures) + len(result.errors)} failed,"
          f" {len(result.skipped)} skipped")
    sys.exit(0 if result.wasSuccessful() else 1)
