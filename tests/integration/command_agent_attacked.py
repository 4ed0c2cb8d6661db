#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof run --hal timer against programs that attack it: by its memory, environment, descriptors and many processes.

Whatever they do, the command ends with the status of its program, its statistics add up, and it says what it could not
believe. Programs run unharmed where they did no harm to themselves.
"""
import json
import os
import pathlib
import subprocess

import harness
from harness import CommandTest, for_each_user_if_long, program, text

NOT_BELIEVED = "a program wrote into the preload objects' memory"
SEEDS = int(os.environ.get("NTPROF_ATTACKS", "1"))
LONG = SEEDS > 1


class AttackTest(CommandTest):
    given = ()

    def attacked(self, *words, status, **given):
        """What the command says, after checks of what must hold."""
        result = self.profile(*self.given, "-v", "--hal", "timer", "-o", "p", "--", *words, **given)
        said = text(result.stderr)
        self.assertEqual(result.returncode, status, said)
        self.assertNotIn("Sanitizer:", said)  # as each of their reports begins
        self.assertRegex(said, r"(?m)^ntprof: timer .* taken \d+, outside \d+, lost \d+")
        told = self.ntprof("report", "--json", "--rows", "0", "p")
        self.assertEqual(told.returncode, 0, text(told.stderr))
        report = json.loads(told.stdout)
        self.assert_statistics(report)
        self.assertNotIn("\x1b", said)
        return said, result.stdout, report


    def attack(self, name, seed=1):
        said, printed, report = self.attacked(program("agent_attacker"), name, str(seed), status=7)
        self.assertEqual(printed, b"done\n", said)
        return said, report


@for_each_user_if_long
class Memory(AttackTest):
    def test_senseless_records__said(self):
        for name in ("everything", "ones", "plausible", "meanwhile"):
            for seed in range(1, SEEDS + 1):
                with self.subTest((name, seed)):
                    said, _ = self.attack(name, seed)
                    self.assertIn(NOT_BELIEVED, said)

    def test_too_many_hits__said(self):
        said, _ = self.attack("hits")
        self.assertIn(NOT_BELIEVED, said)
        self.assertIn("more hits than the processor time allows", said)

    def test_erased_or_with_holes__hits_are_missing(self):
        """What was erased between two looks is missing; nothing else can be known."""
        for name in ("zeros", "file", "header"):
            with self.subTest(name):
                _, report = self.attack(name)
                source, = report["sources"]
                self.assertTrue(source["taken"] < source["expected"] or source["missed"] == 0)

    def test_paths_of_devices_and_pipes__are_not_read(self):
        said, report = self.attack("paths")
        read = [row["image"] for row in report["rows"] if row["build_id"]]
        self.assertFalse([image for image in read if image.startswith(("/dev", "/proc"))], said)

    def test_header_is_senseless__later_programs_run(self):
        self.attack("exec")

    def test_many_processes__each_is_counted_or_said(self):
        said, _ = self.attack("forks")
        self.assertNotIn(NOT_BELIEVED, said)
        if LONG:
            said, _ = self.attack("many-forks")
            self.assertRegex(said, "no place|refus")


@for_each_user_if_long
class Stacks(AttackTest):
    """Attacks by the ring of stacks and the command's socket, and by the memory beside them."""
    given = ("-g",)

    def test_ring_is_senseless__statistics_add_up(self):
        for name in ("ring", "ready", "everything", "file") if LONG else ("ring", "everything"):
            for seed in range(1, SEEDS + 1):
                with self.subTest((name, seed)):
                    self.attack(name, seed)

    def test_other_files_sent__not_believed(self):
        said, _ = self.attack("descriptors")
        self.assertIn(NOT_BELIEVED, said)


@for_each_user_if_long
class Environment(AttackTest):
    """Variables of the preload object that are wrong, or set already."""

    def child(self, assignments, command="exec $0 30"):
        """Runs a program by a shell that changes the environment first."""
        return self.attacked("/bin/sh", "-c", f"{assignments}; {command}", program("shares"), status=0)[0]

    def test_variable_of_the_agent_is_senseless__the_program_runs(self):
        for value in ("", ":", "1", "1:", ":1", "0:0", "999999999999:3", "1:999999999999999999999", "-1:-1", "1:0x3",
                      "$$:0", "$$:1", "$$:255", "%n%n%s", "a" * 5000):
            with self.subTest(value[:20]):
                self.child(f'export NTPROF_AGENT="{value}"')

    def test_descriptor_of_the_variable_is_another_file__is_left_alone(self):
        """It is not the preload object's memory: neither mapped nor closed."""
        path = self.folder / "file"
        path.write_bytes(b"content")
        path.chmod(0o666)
        before = path.read_bytes()
        said = self.child(f"exec 9<>{path}; export NTPROF_AGENT=$$:9", "$0 30 && [ -e /proc/$$/fd/9 ]")
        self.assertEqual(path.read_bytes(), before, said)

    def test_variables_are_unset__the_program_runs_and_is_not_counted(self):
        self.child("unset NTPROF_AGENT")
        self.child("unset LD_PRELOAD")

    def test_own_variables_of_the_caller__are_replaced_or_kept(self):
        variables = {**harness.bare_environment(), "NTPROF_AGENT": "1:1", "LD_PRELOAD": "/none/at-all.so"}
        result = self.run_bare(self.arguments("run", "--hal", "timer", "-o", "p", "--", program("shares"), "60"),
                               env=variables)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        self.assertIn("right_three_units", said)

    def test_hostile_variables_of_the_loader__run_as_without(self):
        for name, value in (("LD_BIND_NOW", "1"), ("LD_LIBRARY_PATH", "/none:::"), ("MALLOC_PERTURB_", "165"),
                            ("GLIBC_TUNABLES", "glibc.malloc.check=3"), ("LD_DEBUG_OUTPUT", "/dev/null")):
            with self.subTest(name):
                words = [program("shares"), "60"]
                self.attacked("/usr/bin/env", f"{name}={value}", *words, status=0)


@for_each_user_if_long
class Descriptors(AttackTest):
    def test_standard_streams_closed__program_gets_what_it_would(self):
        """The lowest descriptors are free then: the program's first files get them, not the shared memory."""
        for closed in ("<&-", "2>&-", "<&- 2>&-"):
            with self.subTest(closed):
                words = ["/bin/sh", "-c", f'exec "$0" lowest {closed}', program("process_scenarios")]
                wanted = self.run_bare(words)
                self.assertEqual(wanted.returncode, 0)
                _, printed, _ = self.attacked(*words, status=0)
                self.assertEqual(printed, wanted.stdout)

    def test_all_closed_in_a_loop__goes_on(self):
        said, printed, _ = self.attacked(program("process_scenarios"), "close-all", status=0)
        self.assertEqual(printed, b"opened as 3\nopened as 3\nend\n", said)


class PreloadObject(CommandTest):
    def test_loaded_without_the_command__does_nothing(self):
        library = harness.stage() / "preload" / "libntprof-agent.so"
        self.assertTrue(library.exists())
        for value in (None, "1:3", f"{os.getpid()}:0"):
            variables = {**harness.bare_environment(), "LD_PRELOAD": str(library)}
            variables.pop("ASAN_OPTIONS", None)
            if value is not None:
                variables["NTPROF_AGENT"] = value
            result = subprocess.run([program("signal_scenarios"), "all-realtime"], env=variables, capture_output=True,
                                    timeout=harness.TIME_LIMIT_S)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertIn(b"each came once", result.stdout)

    def test_memory_that_is_no_memfd_of_the_command__is_not_used(self):
        """A file of the right size, or a memfd that can be shortened, could be cut while the preload object uses it."""
        library = harness.stage() / "preload" / "libntprof-agent.so"
        path = pathlib.Path(self.folder / "file")
        with path.open("wb") as file:
            file.write((0x31746E656761746E).to_bytes(8, "little"))
            file.truncate(64 + 32768 * (80 + 64) + (16 << 19) + (4 << 20))
        script = ("import os, sys; fd = os.open(sys.argv[1], os.O_RDWR); os.set_inheritable(fd, True); "
                  "os.environ.update(LD_PRELOAD=sys.argv[2], NTPROF_AGENT=f'{os.getpid()}:{fd}'); "
                  "os.execv(sys.argv[3], sys.argv[3:])")
        content = path.read_bytes()
        result = self.run_bare(["/usr/bin/python3", "-S", "-c", script, path, library,
                                program("agent_attacker"), "ones"])
        self.assertEqual((result.returncode, result.stdout), (0, b"none\n"), text(result.stderr))
        self.assertEqual(path.read_bytes(), content)


if __name__ == "__main__":
    harness.main()
