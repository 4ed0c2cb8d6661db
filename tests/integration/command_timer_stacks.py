#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""-g by timers in the processes that ntprof run starts, as where Linux refuses perf events."""
import collections
import errno
import json
import pathlib
import signal
import subprocess

import command_stacks
import harness
from command_stacks import FILE, NOT_RECORDED
from harness import for_each_user, for_each_user_if_long, program, text

NOT_READABLE = "[stack not readable]"
RING = "memfd:ntprof-stacks"

# What a program finds of its ring, of that of a child, and of the command's.
SEARCH = """
import json, os
def rings(pid):
    found = []
    for line in open(f'/proc/{pid}/smaps'):
        if 'memfd:ntprof-stacks' in line:
            found.append({'inode': int(line.split()[4])})
        elif line.startswith('VmFlags') and found and 'flags' not in found[-1]:
            found[-1]['flags'] = line.split()[1:]
    return found
def descriptors(pid):
    names = []
    for fd in os.listdir(f'/proc/{pid}/fd'):
        try:
            names.append(os.readlink(f'/proc/{pid}/fd/{fd}'))
        except OSError:
            pass
    return [name for name in names if 'memfd:ntprof-stacks' in name]
end = os.times().user + 0.3
while os.times().user < end: pass
told = {'own': rings('self'), 'command': rings(os.getppid()),
        'descriptors': descriptors('self') + descriptors(os.getppid())}
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, json.dumps(rings('self')).encode())
    os._exit(0)
os.wait()
told['child'] = json.loads(os.read(read, 65536))
print(json.dumps(told))
"""


class TimerStacks(command_stacks.Stacks):
    def timed(self, *words, **given):
        """ntprof run -g by timers: the line of stacks, and the samples of the file."""
        return self.record("--hal", "timer", *words, **given)

    def scenario(self, name, *options):
        _, samples, ends = self.timed(*options, "--", program("stack_scenarios"), name)
        return samples, ends

    def callers(self, samples, end="whole"):
        """Hits of burn by the function that called it."""
        found = collections.Counter()
        for sample in samples:
            if sample.functions[0] == "burn" and sample.labels["stack"] == end:
                found[sample.functions[1]] += sample.hits
        return found


@for_each_user_if_long
class Callers(TimerStacks):
    def test_known_shares__each_caller_has_its_own(self):
        _, samples, ends = self.timed("--", program("call_shares"), "6000")
        self.shares_of(samples, ends, command_stacks.share_of_work)

    def test_known_shares_of_libc__each_caller_has_its_own(self):
        _, samples, ends = self.timed("--", program("call_shares"), "6000", "memset")
        self.shares_of(samples, ends, command_stacks.share_of_memset)

    def test_threads__each_has_its_own_stack(self):
        samples, _ = self.scenario("threads")
        callers = self.callers(samples)
        for name in ("in_first_thread", "in_thread_a", "in_thread_b", "in_thread_c"):
            self.assertGreater(callers[name], 0, callers)
        for sample in samples:
            if sample.labels["stack"] == "whole" and "in_thread_a" in sample.functions:
                self.assertIn("run_function", sample.functions)
                self.assertNotIn("main", sample.functions)

    def test_forks__child_has_a_ring_of_its_own(self):
        for name in ("forks", "fork-in-thread"):
            with self.subTest(name):
                samples, _ = self.scenario(name)
                callers = self.callers(samples)
                self.assertGreater(callers["in_parent"], 0, callers)
                self.assertGreater(callers["in_child"], 0, callers)

    def test_short_children__are_walked_after_they_exited(self):
        samples, ends = self.scenario("short-children")
        self.assertGreater(self.callers(samples)["in_short_child"], 0, ends)
        self.assertGreater(ends["whole"], 0.8 * sum(ends.values()), ends)

    def test_executed_programs__each_has_its_own(self):
        script = f"{program('call_shares')} 300; exec {program('stack_scenarios')} forks"
        _, samples, _ = self.timed("--", "/bin/sh", "-c", script)
        names = {name for sample in samples if sample.labels["stack"] == "whole" for name in sample.functions}
        self.assertLessEqual({"share_40", "in_parent", "in_child"}, names)

    def test_python__whole_stacks_of_libraries_that_it_loads(self):
        script = ("import json, time\nlist_of_all = [{'a': n} for n in range(300)]\n"
                  "while time.process_time() < 1.5: json.dumps(list_of_all)")
        _, samples, ends = self.timed("--", "/usr/bin/python3", "-S", "-c", script)
        self.assertGreater(ends["whole"], 0.8 * sum(ends.values()), ends)
        # encoder_listencode_obj, or _json.cpython-311-x86_64-linux-gnu.so!0x4a80 without its symbols.
        loaded = [sample for sample in samples if sample.labels["stack"] == "whole" and
                  any("encoder_" in name or "_json" in name for name in sample.functions[1:])]
        self.assertTrue(loaded, ends)

    def test_handler_of_a_signal__callers_of_what_it_interrupted(self):
        samples, _ = self.scenario("handler")
        deep = [sample for sample in samples if sample.labels["stack"] == "whole" and
                sample.functions[:3] == ["burn", "in_handler", "handle_signal"]]
        self.assertTrue(deep)
        for sample in deep:
            self.assertIn("main", sample.functions)

    def test_stack_that_is_not_the_threads__said(self):
        for name in ("alternate-stack", "contexts"):
            with self.subTest(name):
                samples, ends = self.scenario(name)
                self.assertGreater(ends[NOT_READABLE], 0, ends)
                for sample in samples:
                    if sample.labels["stack"] == NOT_READABLE:
                        self.assertEqual(sample.functions[1:], [NOT_READABLE])

    def test_program_of_musl__ends_where_tables_do(self):
        musl = harness.stage() / "programs" / "shares_musl"
        if not musl.exists():
            self.skipTest("no musl here")
        _, samples, ends = self.timed("--", musl, "800")
        self.assertEqual(ends[NOT_RECORDED], 0, ends)
        self.assertTrue([sample for sample in samples if len(sample.functions) > 2])

    def test_together_with_other_options__each_adds_up(self):
        for options in (("--every", "100ms"), ("--bucket", "64"), ("--bucket", "16k"), ("--delay", "100ms"),
                        ("--stack-bytes", "1001"), ("--stack-bytes", "65528"), ("--contexts", "64")):
            with self.subTest(options):
                _, _, ends = self.timed(*options, "--", program("call_shares"), "500")
                self.assertGreater(ends["whole"], 0, ends)

    def test_short_copies__cut_is_said(self):
        _, _, ends = self.timed("--stack-bytes", "512", "--", "/usr/bin/python3", "-S", "-c",
                                command_stacks.TREE, "0.5")
        self.assertGreater(ends["[cut at 512 bytes]"], 0, ends)


@for_each_user_if_long
class Losses(TimerStacks):
    """What has no callers is counted all the same."""

    def test_killed_program__keeps_its_stacks(self):
        script = ("import os, signal, time\nwhile time.process_time() < 0.4: pass\n"
                  "os.kill(os.getpid(), signal.SIGKILL)")
        result = self.profile("-g", "--hal", "timer", "-o", FILE, "--", "/usr/bin/python3", "-S", "-c", script)
        self.assertEqual(result.returncode, -signal.SIGKILL, text(result.stderr))
        _, _, ends = self.check(text(result.stderr))
        self.assertGreater(ends["whole"], 0.5 * sum(ends.values()), ends)

    def test_command_does_not_look__full_ring_counts_without_callers(self):
        """At a rate that any kernel's tick allows, the smallest ring fills in 0.64 s: 64 hits."""
        child = self.start_profile("-g", "--hal", "timer", "-F", "100", "-o", FILE, "--",
                                   program("call_shares"), "6000")
        running, = harness.wait_for(lambda: self.rings_of_children(child.pid), "a ring")
        child.send_signal(signal.SIGSTOP)
        full = harness.processor_time_s(running) + 2
        harness.wait_for(lambda: harness.processor_time_s(running) > full, "hits that fill a ring")
        child.send_signal(signal.SIGCONT)
        said = text(child.communicate(timeout=harness.TIME_LIMIT_S)[1])
        self.assertEqual(child.returncode, 0, said)
        _, _, ends = self.check(said)
        self.assertGreater(ends[NOT_RECORDED], 0, said)
        self.assertGreater(ends["whole"], 0, said)

    def rings_of_children(self, pid):
        children = self.run_bare(["pgrep", "--parent", str(pid), "call_shares"]).stdout.split()
        return [pid for pid in map(text, children) if RING in pathlib.Path(f"/proc/{pid}/maps").read_text()]

    def test_limit_of_file_sizes__program_runs_without_callers(self):
        """A ring would be a file beyond it, for which the kernel sends a signal."""
        _, _, ends = self.timed("--", "/bin/sh", "-c", f"ulimit -f 8; exec {program('call_shares')} 300")
        self.assertGreater(ends[NOT_RECORDED], 0, ends)

    def test_no_descriptors__program_runs_without_callers(self):
        _, _, ends = self.timed("--", "/bin/sh", "-c", f"{program('call_shares')} 100; ulimit -n 3; "
                                f"exec 3>&-; {program('call_shares')} 100; true")
        self.assertGreater(ends["whole"], 0, ends)

    def test_rights_given_up__its_children_are_counted_without_callers(self):
        if self.user is not None or not harness.is_root():
            self.skipTest("only root has rights to give up")
        samples, ends = self.scenario("gives-up-rights")
        self.assertGreater(ends[NOT_RECORDED], 0, ends)
        self.assertGreater(self.callers(samples)["in_parent"], 0, ends)
        self.assertEqual(self.callers(samples)["without_rights"], 0)


@for_each_user
class Secrets(TimerStacks):
    def test_rings__nobody_elses_and_in_no_core_dump(self):
        result = self.profile("-g", "--hal", "timer", "-o", FILE, "--", "/usr/bin/python3", "-S", "-c", SEARCH)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        told = json.loads(result.stdout)
        own, = told["own"]
        child, = told["child"]
        self.assertNotEqual(own["inode"], child["inode"])
        self.assertIn(own["inode"], {ring["inode"] for ring in told["command"]})
        self.assertEqual(told["descriptors"], [])
        for ring in [own, child, *told["command"]]:
            self.assertLessEqual({"dd", "dc"}, set(ring["flags"]), ring)  # in no dump, and not copied by fork

    def test_core_dump__has_no_ring(self):
        pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
        if "/" in pattern or "|" in pattern or "%" in pattern:
            self.skipTest("core dumps go elsewhere here")
        script = "ulimit -c unlimited; exec /usr/bin/python3 -S -c \"$0\""
        work = ("import os, time\nwhile time.process_time() < 0.3: pass\n"
                "size = [line for line in open('/proc/self/maps') if 'ntprof-stacks' in line]\n"
                "print(size[0].split()[0], flush=True)\nos.abort()")
        result = self.profile("-g", "--hal", "timer", "-q", "-o", FILE, "--", "/bin/sh", "-c", script, work)
        self.assertEqual(result.returncode, -signal.SIGABRT, text(result.stderr))
        begin = int(text(result.stdout).split("-")[0], 16)
        cores = list(self.folder.glob("core*"))
        if not cores:
            self.skipTest("the kernel writes no core dump here")
        headers = text(self.run_bare(["readelf", "-lW", str(cores[0])]).stdout)
        sizes = [int(line.split()[4], 16) for line in headers.splitlines()
                 if line.split()[:1] == ["LOAD"] and int(line.split()[2], 16) == begin]
        self.assertEqual(sum(sizes), 0, headers)

    def test_descriptors__are_those_without_the_preload_object(self):
        listing = ["/bin/sh", "-c", "ls /proc/$$/fd"]
        self.assertEqual(self.profile("-g", "--hal", "timer", "-q", "-o", FILE, "--", *listing).stdout,
                         self.run_bare(listing).stdout)


@for_each_user
class Choice(TimerStacks):
    def test_perf_events_refused__stacks_by_timers(self):
        result = self.run_bare([program("refuse"), "perf_event_open", str(errno.EPERM),
                                *self.arguments("run", "-g", "-o", FILE, "--", program("call_shares"), "500")])
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        self.assertIn("timer: perf: ", said)
        _, _, ends = self.check(said)
        self.assertGreater(ends["whole"], 0, ends)

    def test_no_folder_for_the_socket__refused_before_the_start(self):
        result = self.run_bare([program("refuse"), "bind", str(errno.EACCES),
                                *self.arguments("run", "-g", "--hal", "timer", "--", "touch", "started")])
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertIn("its socket for stacks cannot be made", said)
        self.assertFalse((self.folder / "started").exists())

    def test_32_bit_program__refused_with_the_reason(self):
        shares_i386 = harness.stage() / "programs" / "shares_i386"
        if not shares_i386.exists():
            self.skipTest("no compiler of 32-bit programs here")
        result = self.profile("-g", "--hal", "timer", "--", shares_i386, "10")
        self.assertEqual(result.returncode, 125)
        self.assertIn("32-bit program, whose stacks are not walked", text(result.stderr))

    def test_attach_and_system__refused_with_the_reason(self):
        for words in (["attach", "-p", "1"], ["system"]):
            result = self.ntprof(words[0], "-g", "--hal", "timer", *words[1:])
            self.assertEqual(result.returncode, 125)
            self.assertIn("only in programs that ntprof run starts", text(result.stderr))


if __name__ == "__main__":
    harness.main()
