#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs whose files are not where we see them: in a container's own root, deleted, or replaced."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import harness
from harness import CommandTest, children_of, for_each_user, text, wait_for

FILE = "ntprof.pb.gz"
INSIDE = {"right_three_units", "right_one_unit"}
NAMESAKE = {"wrong_three_units", "wrong_one_unit"}

# The files of the folder $1 become those of a container that has them in memory of its own, in namespaces
# of its own; $2 is what its shell does.
CONTAINER = """
mount --make-rprivate / && mount -t tmpfs none "$1/root" && cp -r "$1/files/." "$1/root" &&
exec chroot "$1/root" /bin/dash -c "$2"
"""
# The same on an overlay, as engines make it of an image: an inode there is not the one below.
OVERLAY = """
mount --make-rprivate / && mount -t tmpfs none "$1/root" && cd "$1/root" && mkdir upper spare new &&
mount -t overlay -o lowerdir=../files,upperdir=upper,workdir=spare overlay new &&
exec chroot new /bin/dash -c "$2"
"""


class Profiled(CommandTest):
    def report(self, *words):
        result = self.ntprof("report", "--json", "--rows", "0", *words, FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_statistics(report)
        return report

    def functions(self, process):
        """Function names of a process's own program, and its hits without one."""
        rows = [row for row in self.report("--by", "function")["rows"]
                if pathlib.Path(row["image"]).name == process]
        return ({row["function"] for row in rows if row["function"]},
                sum(row["hits"] for row in rows if not row["function"]),
                sum(row["hits"] for row in rows))

    def assert_named(self, process, wanted, seconds=0):
        """All of a program's hits have names, and are of the functions that work: each has a sixth at
        least, so that all but one in a million runs of 80 hits have each. A virtual machine whose timers
        are late may make fewer in the time that the program took, and reports the others."""
        named, nameless, hits = self.functions(process)
        self.assert_has_time(self.report(), hits, seconds)
        if hits >= 80:
            self.assertLessEqual(wanted, named)
        self.assertEqual(nameless, 0)

    def hits_of(self, process):
        return sum(row["hits"] for row in self.report("--by", "process")["rows"]
                   if row["process"] == process)

    def start_ntprof(self, *words):
        """One that has begun."""
        child = self.start(self.arguments(*words, "--every", "100ms"))
        wait_for(lambda: (self.folder / FILE).exists() or child.poll() is not None, "the first file")
        return child


    def record_until_named(self, process, *words):
        """Records until a process that works on has hits enough for assert_named. Returns what was said."""
        child = self.start_ntprof(*words)
        wait_for(lambda: child.poll() is not None or self.hits_of(process) >= 100, "hits")
        return self.interrupt(child)


class Container(Profiled):
    """A root of its own in namespaces of mounts and processes of its own: as root."""

    script = CONTAINER

    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may make a container")
        super().setUp()
        self.need_mount_namespace()
        self.folder.chmod(0o755)
        files = self.folder / "files"
        (files / "bin").mkdir(parents=True)
        (self.folder / "root").mkdir()
        self.add_program(harness.program("shares"), "work-inside")
        for program in ("/bin/dash", "/bin/sleep"):
            self.add_program(program)

    def add_program(self, program, name=""):
        """Puts a program and the libraries that it needs into the container."""
        files = self.folder / "files"
        shutil.copy(program, files / "bin" / (name or pathlib.Path(program).name))
        said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True)
        for library in re.findall(r"(/\S+) \(0x", said.stdout):
            place = files / library.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)

    def start_container(self, command):
        return self.start(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                           self.script, "sh", self.folder, command], stdin=subprocess.PIPE)

    def find(self, container, name):
        """The pid of a process in the container that runs a program of this name, as we see it."""
        waiting = [container.pid]
        while waiting:
            pid = waiting.pop()
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text() == name + "\n":
                    return pid
            except OSError:
                pass
            waiting += children_of(pid)
        return None

    def test_system__program_of_before__has_names(self):
        container = self.start_container("exec /bin/work-inside 300000")
        wait_for(lambda: self.find(container, "work-inside"), "the program")
        self.record_until_named("work-inside", "system")
        self.assert_named("work-inside", INSIDE)

    def test_system__program_of_later__has_names_although_the_container_is_gone(self):
        child = self.start_ntprof("system")
        container = self.start_container("/bin/work-inside 300; exit 7")
        self.assertEqual(container.wait(harness.TIME_LIMIT_S), 7)
        self.interrupt(child)
        self.assert_named("work-inside", INSIDE, 0.3)

    def test_system__short_lived_programs__have_names(self):
        """Each is gone before anybody can look at it; the container's shell is not."""
        child = self.start_ntprof("system", "-F", "5k")
        container = self.start_container(
            "i=0; while [ $i -lt 100 ]; do /bin/work-inside 2; i=$((i + 1)); done; exit 7")
        self.assertEqual(container.wait(harness.TIME_LIMIT_S), 7)
        self.interrupt(child)
        self.assert_named("work-inside", INSIDE, 100 * 0.002)

    def test_attach__program_inside__has_names(self):
        container = self.start_container("exec /bin/work-inside 300000")
        pid = wait_for(lambda: self.find(container, "work-inside"), "the program")
        self.record_until_named("work-inside", "attach", "-p", pid)
        self.assert_named("work-inside", INSIDE)

    def strip(self):
        """Takes the names out of the program inside, into a debug file beside it."""
        program = self.folder / "files" / "bin" / "work-inside"
        debug = program.parent / ".debug" / "work-inside.debug"
        debug.parent.mkdir()
        for command in (["objcopy", "--only-keep-debug", program, debug], ["strip", program],
                        ["objcopy", f"--add-gnu-debuglink={debug}", program]):
            subprocess.run(command, check=True)

    def lines(self, process):
        """Names of the source files of a process's own program, by the last part."""
        return {pathlib.Path(row["file"]).name for row in self.report("--by", "line")["rows"]
                if pathlib.Path(row["image"]).name == process}

    def test_debug_file_inside__program_has_names_and_lines(self):
        self.strip()
        container = self.start_container("exec /bin/work-inside 300000")
        pid = wait_for(lambda: self.find(container, "work-inside"), "the program")
        self.record_until_named("work-inside", "attach", "-p", pid)
        self.assert_named("work-inside", INSIDE)
        self.assertIn("shares.c", self.lines("work-inside"))

    def test_debug_file_inside__container_is_gone__has_names_and_lines(self):
        self.strip()
        child = self.start_ntprof("system")
        container = self.start_container("/bin/work-inside 300; exit 7")
        self.assertEqual(container.wait(harness.TIME_LIMIT_S), 7)
        self.interrupt(child)
        self.assert_named("work-inside", INSIDE, 0.3)
        self.assertIn("shares.c", self.lines("work-inside"))

    def test_debug_file_inside__of_another_build__said(self):
        self.strip()
        debug = self.folder / "files" / "bin" / ".debug" / "work-inside.debug"
        with debug.open("ab") as file:
            file.write(b"more")
        result = self.profile("--", "unshare", "--mount", "--pid", "--fork", "sh", "-c", self.script,
                              "sh", self.folder, "/bin/work-inside 300; exit 7")
        self.assertIn("debug file /bin/.debug/work-inside.debug of its container is not used: its CRC",
                      text(result.stderr))

    def test_run__container_as_command__has_names(self):
        result = self.profile("--", "unshare", "--mount", "--pid", "--fork", "sh", "-c", self.script,
                              "sh", self.folder, "/bin/work-inside 300; exit 7")
        self.assertEqual(result.returncode, 7, text(result.stderr))
        self.assert_named("work-inside", INSIDE, 0.3)

    def test_namesake_outside__is_not_taken_for_the_program_inside(self):
        """At the path that the program has in there, out here is another one."""
        outside = pathlib.Path("/bin/work-inside")
        shutil.copy(harness.program("shares_namesake"), outside)
        self.addCleanup(outside.unlink)
        child = self.start_ntprof("system")
        container = self.start_container("/bin/work-inside 300; exit 7")
        self.assertEqual(container.wait(harness.TIME_LIMIT_S), 7)
        self.interrupt(child)
        named, _, hits = self.functions("work-inside")
        self.assert_has_time(self.report(), hits, 0.3)
        self.assertFalse(named & NAMESAKE)


class Overlay(Container):
    """The same on an overlay file system."""

    script = OVERLAY

    def setUp(self):
        super().setUp()
        for program in ("/bin/mv", "/bin/touch"):
            self.add_program(program)
        (self.folder / "files" / "dev").mkdir()
        (self.folder / "files" / "dev" / "null").touch()  # what shells give to programs in the background
        tried = self.start_container("exit 7")
        if tried.wait(harness.TIME_LIMIT_S) != 7:
            self.skipTest("no overlay can be mounted here")

    def profile_after(self, command):
        """Attaches to work-inside after its container has done a command."""
        container = self.start_container(f"/bin/work-inside 300000 & read line; {command}; /bin/touch /bin/done; wait")
        pid = wait_for(lambda: self.find(container, "work-inside"), "the program")
        container.stdin.write(b"\n")
        container.stdin.flush()
        wait_for(lambda: pathlib.Path("/proc", str(pid), "root", "bin", "done").exists(), "the command")
        self.record_until_named("work-inside", "attach", "-p", pid)

    def test_copied_up_after_start__has_names(self):
        """A change of its file makes a copy in the upper layer; the program goes on with the one below."""
        self.profile_after("/bin/touch /bin/work-inside")
        self.assert_named("work-inside", INSIDE)

    def test_replaced_after_start__has_its_own_names(self):
        shutil.copy(harness.program("shares_namesake"), self.folder / "files" / "bin" / "other")
        self.profile_after("/bin/mv /bin/other /bin/work-inside")
        names = {row["function"] for row in self.report("--by", "address")["rows"] if "work-inside" in row["image"]}
        self.assertFalse(names & NAMESAKE)
        self.assertLessEqual(INSIDE, names)


@for_each_user
class Files(Profiled):
    def copy(self, program, name):
        path = self.folder / name
        shutil.copy(harness.program(program), path)
        path.chmod(0o755)
        return path

    def test_deleted_before__has_names(self):
        """Its file has no name any more when it is attached to."""
        path = self.copy("shares", "work-deleted")
        worker = self.start([path, "300000"])
        wait_for(lambda: os.readlink(f"/proc/{worker.pid}/exe") == str(path), "the program")
        path.unlink()
        child = self.start_ntprof("attach", "-p", worker.pid)
        wait_for(lambda: child.poll() is not None or self.hits_of("work-deleted") >= 80, "hits")
        said = self.interrupt(child)
        names = {row["function"] for row in self.report("--by", "address")["rows"]
                 if "work-deleted" in row["image"]}
        if self.is_user():
            # The way to a mapped file that has no name is for root.
            self.assertTrue(INSIDE <= names or "work-deleted" in said, said)
        else:
            self.assertLessEqual(INSIDE, names)

    def test_deleted_while_it_runs__has_names(self):
        path = self.copy("shares", "work-deleted")
        result = self.profile("--", "sh", "-c", f"{path} 300 & {harness.until_runs(path)}; rm {path}; wait")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        if self.is_user():
            return  # who may be too late for it
        names = {row["function"] for row in self.report("--by", "address")["rows"]
                 if "work-deleted" in row["image"]}
        self.assertLessEqual(INSIDE, names)

    def test_replaced_while_it_runs__each_has_its_own_names(self):
        """As an installation does it: the old program goes on with its file, the new one has another."""
        path = self.copy("shares", "work-replaced")
        new = self.copy("shares_namesake", "new")
        result = self.profile("--", "sh", "-c",
                              f"{path} 400 & {harness.until_runs(path)}; sleep 0.2; "
                              f"mv {new} {path}; {path} 400; wait")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        rows = [row for row in self.report("--by", "address")["rows"]
                if "work-replaced" in row["image"]]
        hits = {name: sum(row["hits"] for row in rows if row["function"] in name)
                for name in (frozenset(INSIDE), frozenset(NAMESAKE))}
        for name in hits:
            self.assertGreater(hits[name], 0, hits)


if __name__ == "__main__":
    harness.main()
