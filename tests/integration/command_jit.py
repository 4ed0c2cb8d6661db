#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Names of code that programs make or move at run time: perf maps of JITs, and code in large pages."""
import collections
import json
import os
import pathlib
import shutil

import harness
from harness import CommandTest, for_each_user, program, text, wait_for

FILE = "ntprof.pb.gz"
NAME = "Jitted::Method(int) <with spaces>"
# What the code is in: see programs/jit_code.c.
MEMORY = ("anonymous", "shared", "memfd", "shm", "sysv", "heap")
MOVED = {"moved_work", "moved_more", "moved_rest"}

# Runs a program from a memfd.
FROM_MEMFD = """
import os, sys
file = os.memfd_create("program")
os.write(file, open(sys.argv[1], "rb").read())
os.execve(file, ["shares", "300"], os.environ)
"""

SPIN = """
function hotJs(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 1664525 + 1013904223 + (s >>> 7)) | 0; return s; }
let k = 0; const e = Date.now() + 1200 * (process.argv[2] || 1);
while (Date.now() < e) k ^= hotJs(1000000); console.log(k);
"""

JAVA = """
public class Spin {
    static long hot(long n) {
        long s = n;
        for (long i = 0; i < n; i++) s = s * 1664525 + 1013904223 + (s >>> 7);
        return s;
    }
    public static void main(String[] words) {
        long k = 0, end = System.currentTimeMillis() + 1500;
        while (System.currentTimeMillis() < end) k ^= hot(1000000);
        System.out.println(k);
    }
}
"""

PARSE = """
const s = JSON.stringify(Array.from({length: 20000}, (_, i) => ({i, t: "x" + i, n: [i, i * 2]})));
let k = 0; const e = Date.now() + 1500; while (Date.now() < e) k += JSON.parse(s).length; console.log(k);
"""


def counts(pid):
    """Has a process opened events of perf?"""
    folder = pathlib.Path(f"/proc/{pid}/fd")
    try:
        return any("perf_event" in os.readlink(path) for path in folder.iterdir())
    except OSError:  # it has closed one meanwhile, or ended
        return False


class Profiled(CommandTest):
    def rows(self, by, file=FILE):
        result = self.ntprof("report", "--json", "--rows", "0", "--by", by, file)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_statistics(report)
        return report["rows"]

    def assert_jitted(self, said, name=NAME):
        """All hits of code that a program made have this name."""
        rows = [row for row in self.rows("image,function") if row["image"].startswith("[anon:")]
        self.assertGreater(sum(row["hits"] for row in rows), 0, said)
        self.assertEqual({row["function"] for row in rows}, {name}, said)

    def skip_if(self, result):
        if result.returncode == 77:
            self.skipTest(f"the program does not run here: {text(result.stderr)}")

    def run_jit(self, *words, hal="perf"):
        result = self.profile("--hal", hal, "-o", FILE, "--", program("jit_code"), *words)
        self.remove_map(text(result.stdout))
        self.skip_if(result)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return text(result.stderr)

    def remove_map(self, said):
        """Removes the perf map that a program has named first."""
        path = pathlib.Path(said.split("\n")[0])
        if path.name.startswith("perf-") and path.exists():
            path.unlink()

    def node(self):
        node = shutil.which("node", path="/usr/local/bin:/usr/bin:/bin")
        if node is None:
            self.skipTest("needs node")
        return node

    def script(self, name, source):
        path = self.folder / name
        path.write_text(source)
        return path


@for_each_user
class Maps(Profiled):
    def test_memory_of_each_kind__named(self):
        for memory in MEMORY:
            with self.subTest(memory):
                self.assert_jitted(self.run_jit(memory, NAME, "100"))

    def test_memory_of_each_kind__by_timers__named(self):
        for memory in MEMORY:
            with self.subTest(memory):
                self.assert_jitted(self.run_jit(memory, NAME, "300", hal="timer"))

    def test_map_that_the_program_removes_or_writes_at_its_end__named(self):
        for how in ("remove", "late"):
            with self.subTest(how):
                self.assert_jitted(self.run_jit("anonymous", NAME, "300", how))

    def test_code_where_a_library_was_unloaded__is_not_taken_for_the_library(self):
        said = self.run_jit("unloaded", NAME, "200")
        self.assert_jitted(said)
        hits = collections.Counter()
        for row in self.rows("image"):
            hits[pathlib.Path(row["image"]).name.split(".")[0].split(":")[0]] += row["hits"]
        # libz itself ran for a moment while it was loaded: a hit or two of that are its own.
        self.assertLess(hits["libz"], hits["[anon"] / 10, hits)

    def test_attach__map_that_is_removed_before_the_end__named(self):
        worker = self.start([program("jit_code"), "memfd", NAME, "300000"])
        path = pathlib.Path(text(worker.stdout.readline()).strip())
        self.assertTrue(path.name, worker.poll())
        child = self.start(self.arguments("attach", "--every", "100ms", "-o", FILE, "-p", str(worker.pid)))
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        path.unlink()
        worker.kill()
        said = text(child.communicate(timeout=harness.TIME_LIMIT_S)[1])
        self.assertEqual(child.returncode, 0, said)
        self.assert_jitted(said)


@for_each_user
class Hints(Profiled):
    def test_runtime_without_a_map__its_option_is_said(self):
        result = self.profile("-o", FILE, "--", self.node(), self.script("spin.js", SPIN))
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        self.assertRegex(said, r"\d+% of the hits have no names, most of them in \[anon:\d+\]: it has no perf map, "
                         r"/tmp/perf-PID.map: start node with --perf-basic-prof\n")

    def test_java__its_option_is_said_and_names_functions(self):
        java = shutil.which("java", path="/usr/local/bin:/usr/bin:/bin")
        if java is None:
            self.skipTest("needs java")
        source = self.script("Spin.java", JAVA)
        dump = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
        result = self.profile("-o", FILE, "--", java, "-XX:TieredStopAtLevel=1", source)
        said = text(result.stderr)
        if result.returncode != 0:
            self.skipTest(f"java does not run this: {said}")
        self.assertIn(" ".join(dump), said)
        result = self.profile("-o", FILE, "--", java, *dump, source)
        if b"Unrecognized VM option" in result.stdout + result.stderr:
            self.skipTest("needs java 17")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        functions = {row["function"] for row in self.rows("image,function") if row["image"].startswith("[anon:")}
        self.assertTrue(any("Spin.hot" in name for name in functions), functions)

    def test_code_of_an_unknown_runtime__what_is_missing_is_said(self):
        result = self.profile("-o", FILE, "--", program("jit_code"), "memfd", NAME, "200", "none")
        self.skip_if(result)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertIn("it has no perf map, /tmp/perf-PID.map, which many runtimes write", text(result.stderr))

    def test_map_that_names_other_code__said(self):
        result = self.profile("-o", FILE, "--", program("jit_code"), "anonymous", NAME, "200", "wrong")
        self.remove_map(text(result.stdout))
        self.skip_if(result)
        self.assertIn(": its perf map does not name them\n", text(result.stderr))

    def test_script__what_shows_its_functions_is_said_once(self):
        result = self.profile("-o", FILE, "--", "/usr/bin/python3", "-S", "-c",
                              "for _ in range(300): sum(range(200000))")
        self.assertEqual(text(result.stderr).count("functions of Python scripts are not seen"), 1, text(result.stderr))
        shown = text(self.ntprof("report", FILE).stderr) + text(self.ntprof("report", FILE).stdout)
        self.assertIn("py-spy shows them", shown)
        result = self.profile("-o", FILE, "--", program("shares"), "200")
        self.assertNotIn("scripts are not seen", text(result.stderr))


class Programs(Profiled):
    def test_program_in_a_memfd__has_the_names_of_its_file(self):
        result = self.profile("-o", FILE, "--", "/usr/bin/python3", "-S", "-c", FROM_MEMFD, program("shares"))
        self.assertEqual(result.returncode, 0, text(result.stderr))
        named = {row["function"] for row in self.rows("image,function") if row["image"].startswith("/memfd:program")}
        self.assertIn("right_three_units", named)


class Others(Profiled):
    """Processes of other users and in containers, which end before they are named: as root."""

    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may profile all processes")
        super().setUp()
        self.folder.chmod(0o755)
        shutil.copy(program("jit_code"), self.folder / "jitter")  # a name that no other process has

    def profile_jitter(self, before, kind, *after, **given):
        return self.profile_long_enough(
            lambda times: [*before, "./jitter", kind, NAME, str(300 * times), *after], **given)

    def profile_long_enough(self, command, **given):
        """What ntprof system said, and where a map was. On a busy machine, it may look for the map too late: then what
        is profiled is command(times) for many times as long."""
        for times in (1, 10, 100):
            said, shown = self.profile_all(command(times), **given)
            self.remove_map(shown)
            if "exited before its perf map was looked for" not in said:
                break
            (self.folder / FILE).unlink()
        return said, shown

    def profile_all(self, command, **given):
        """What ntprof system said, while which a command ran."""
        child = self.start(self.arguments("system", "-o", FILE))
        wait_for(lambda: child.poll() is not None or counts(child.pid), "the first event")
        result = self.run_bare(command, **given)
        self.skip_if(result)
        said = self.interrupt(child)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return said, text(result.stdout)

    def assert_process_jitted(self, said):
        rows = [row for row in self.rows("image,function,process")
                if row["image"].startswith("[anon:") and row["process"] == "jitter"]
        self.assertGreater(sum(row["hits"] for row in rows), 0, said)
        self.assertEqual({row["function"] for row in rows}, {NAME}, said)

    def test_other_user__named(self):
        said, _ = self.profile_jitter([], "anonymous", user=harness.USER, group=harness.USER)
        self.assert_process_jitted(said)

    def test_other_user_who_was_root_first__named(self):
        said, _ = self.profile_jitter(["setpriv", "--reuid", str(harness.USER), "--clear-groups"], "memfd", "remove")
        self.assert_process_jitted(said)

    def test_pid_namespace__named(self):
        said, shown = self.profile_jitter(["unshare", "--pid", "--fork"], "memfd")
        self.assertEqual(shown, "/tmp/perf-1.map\n")
        self.assert_process_jitted(said)

    def test_tmp_of_its_own__named(self):
        """As systemd's PrivateTmp, whose namespace ends with the process."""
        self.need_mount_namespace()
        said, shown = self.profile_jitter(
            ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /tmp && exec "$0" "$@"'], "anonymous")
        self.assertFalse(pathlib.Path(shown.strip()).exists())
        self.assert_process_jitted(said)

    def test_map_left_by_an_earlier_process__not_used_but_one_written_later(self):
        """In a PID namespace whose next processes all find a map in /tmp, three seconds older than they."""
        self.need_mount_namespace()
        script = ('mount -t tmpfs none /tmp && for pid in $(seq 99); do '
                  'echo "1000 7fffffff0000 left_over" > /tmp/perf-$pid.map; done && sleep 3 && "$0" "$@"; exit $?')
        before = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script]
        said, _ = self.profile_jitter(before, "anonymous", "none")
        self.assertRegex(said, r"the perf map of process \d+ is not used: it is older than the process")
        self.assertNotIn("left_over", {row["function"] for row in self.rows("function")})
        (self.folder / FILE).unlink()
        said, _ = self.profile_jitter(before, "anonymous")
        self.assertNotIn("older than the process", said)
        self.assert_process_jitted(said)

    def test_user_namespace__named(self):
        probe = self.run_bare(["unshare", "--user", "--map-root-user", "--mount", "true"], user=harness.USER,
                              group=harness.USER)
        if probe.returncode != 0:
            self.skipTest(f"no user namespaces here: {text(probe.stderr)}")
        said, _ = self.profile_jitter(
            ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c",
             'mount -t tmpfs none /tmp && "$0" "$@"'], "shm", user=harness.USER, group=harness.USER)
        self.assert_process_jitted(said)

    def test_node_of_another_user__its_functions_have_names(self):
        command = [self.node(), "--perf-basic-prof", self.script("spin.js", SPIN)]
        said, _ = self.profile_long_enough(lambda times: [*command, str(times)], user=harness.USER,
                                           group=harness.USER, cwd="/")
        names = {}
        for row in self.rows("image,function,process"):
            if row["image"].startswith("[anon:") and row["process"] in ("node", "MainThread"):
                names[row["function"]] = names.get(row["function"], 0) + row["hits"]
        hot = sum(hits for name, hits in names.items() if "hotJs" in name)
        self.assertGreater(hot, sum(names.values()) / 2, said)

    def test_map_of_another_user__said(self):
        """A process that removes what it has written, and has another user's file there."""
        forge = ('import os, subprocess, sys\n'
                 'p = subprocess.Popen(sys.argv[1:], user=65534, stdout=subprocess.PIPE)\n'
                 'path = p.stdout.readline().decode().strip()\n'
                 'os.unlink(path); open(path, "w").close(); os.chown(path, 12345, 12345)\n'
                 'p.wait(); os.unlink(path)\n')
        child = self.start(["/usr/bin/python3", "-S", "-c", forge, program("jit_code"), "anonymous", NAME,
                            "300000"])
        worker = wait_for(lambda: harness.children_of(child.pid), "the program")[0]
        self.addCleanup(harness.kill_quietly, worker)
        wait_for(lambda: pathlib.Path(f"/tmp/perf-{worker}.map").exists() and
                 os.stat(f"/tmp/perf-{worker}.map").st_uid == 12345, "the file")
        result = self.ntprof("attach", "-p", worker, "--duration", "300ms")
        harness.kill_quietly(worker)
        child.wait(harness.TIME_LIMIT_S)
        said = text(result.stderr)
        self.assertIn(f"the perf map of process {worker} is not read: its owner is neither the process's user nor "
                      "root", said)
        self.assertIn("the perf map of 1 process was not read (its owner is neither", said)


@for_each_user
class Moved(Profiled):
    def assert_moved(self, said):
        rows = self.rows("image,function")
        hits = {row["function"]: row["hits"] for row in rows if row["image"].endswith("/moved_code")}
        self.assertLessEqual(MOVED, set(hits), said)
        self.assertEqual([row for row in rows if row["image"].startswith("[anon:")], [], said)

    def test_code_moved_to_anonymous_memory__is_of_its_file(self):
        for how in ("map", "protect", "remap", "pieces", "fork"):
            with self.subTest(how):
                result = self.profile("-o", FILE, "--", program("moved_code"), how, "200")
                self.skip_if(result)
                self.assertEqual(result.returncode, 0, text(result.stderr))
                self.assert_moved(text(result.stderr))

    def test_attach__code_was_moved_before__is_of_its_file(self):
        for how in ("map", "remap"):
            with self.subTest(how):
                worker = self.start([program("moved_code"), how, "300000"])
                self.assertEqual(worker.stdout.readline(), b"moved\n")
                (self.folder / FILE).unlink(missing_ok=True)
                child = self.start(self.arguments("attach", "-o", FILE, "-p", worker.pid, "--every", "100ms"))
                wait_for(lambda: child.poll() is not None or ((self.folder / FILE).exists() and MOVED <= {
                    row["function"] for row in self.rows("image,function")}), "hits of all that moved")
                said = self.interrupt(child)
                worker.kill()
                self.assert_moved(said)

    def test_region_of_moved_code__counts(self):
        result = self.profile("-o", FILE, "--region", "moved_work", "--", program("moved_code"), "map", "300")
        self.skip_if(result)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        hits = {row["function"]: row["hits"] for row in self.rows("function")}
        self.assertEqual(set(hits), {"moved_work", "[outside of the region]"}, text(result.stderr))
        self.assertGreater(hits["moved_work"], hits["[outside of the region]"] / 8)

    def test_node_in_large_pages__its_own_code_is_no_jit(self):
        result = self.profile("-o", FILE, "--", self.node(), "--use-largepages=on", "--perf-basic-prof",
                              self.script("parse.js", PARSE))
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        rows = self.rows("image,function")
        own = sum(row["hits"] for row in rows if "node" in pathlib.Path(row["image"]).name)
        jitted = sum(row["hits"] for row in rows if row["image"].startswith("[anon:"))
        self.assertGreater(own, 4 * jitted, said)


if __name__ == "__main__":
    harness.main()
