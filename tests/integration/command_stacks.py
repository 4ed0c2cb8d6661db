#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""-g: who called the code that is hit, of run, attach and system."""
import collections
import gzip
import json
import math
import pathlib
import os
import re
import resource
import secrets
import shutil
import subprocess
import time
import unittest

import harness
from harness import CommandTest, for_each_user, for_each_user_if_long, program, text

FILE = "ntprof.pb.gz"
# The line of a recording with stacks.
LINE = re.compile(r"(?m)^stacks: (?:(?:<?[\d.]+% [^(]+)+|none[^(]*)\(([\d,]+) of ([\d,]+) contexts\)$")
NOT_RECORDED = "[callers not recorded]"

# Many callers: a function calls itself or another by the digits of a number, to the end of which the work is.
TREE = r"""
import sys, time
def one(digits, turns):
    return walk(digits, turns)
def two(digits, turns):
    return sum((walk(digits, turns),))
def walk(digits, turns):
    if not digits:
        return sum(i * i for i in range(turns))
    return (one if digits & 1 else two)(digits >> 1, turns)
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    for digits in range(256):
        walk(digits, 200)
"""

# The same through C functions of the interpreter, whose stacks are deep and have few calls in common.
DEEP_TREE = r"""
import time
def walk(digits):
    if digits == 1:
        return sum(i * i for i in range(200))
    return (next if digits & 1 else sum)(map(walk, (digits >> 1,)))
end = time.process_time() + 0.5
while time.process_time() < end:
    for digits in range(256, 512):
        walk(digits)
"""

# Calls leaf_a through one library and leaf_b through another, one of which is loaded at a time, at the same address.
LIBRARY = """\
void NAME(void (*leaf)(void))
{
    volatile char room[ROOM];
    room[0] = 1;
    leaf();
    room[1] = 1;
}
"""
LOADS = """\
#include <dlfcn.h>
#include <time.h>
volatile unsigned sink;
__attribute__((noinline)) void leaf_a(void) { for (int i = 0; i < 3000000; i++) { sink++; } }
__attribute__((noinline)) void leaf_b(void) { for (int i = 0; i < 3000000; i++) { sink--; } }
int main(void)
{
    while (clock() < CLOCKS_PER_SEC) {
        for (int i = 0; i < 2; i++) {
            void *const library = dlopen(i ? "./b.so" : "./a.so", RTLD_NOW);
            void (*const call)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, i ? "in_b" : "in_a");
            call(i ? leaf_b : leaf_a);
            dlclose(library);
        }
    }
    return 0;
}
"""

# 1,000 threads that exist at the same time, two of which run; each works at the end of calls that are its own half's.
THREADS = """\
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
enum { COUNT = 1000 };
static pthread_barrier_t all;
static sem_t running;
static volatile unsigned sink;
__attribute__((noinline)) void leaf(unsigned turns) { while (turns-- > 0) { sink++; } }
#define CALLER(name) __attribute__((noinline)) void name(int depth) \\
    { if (depth > 0) { name(depth - 1); } else { leaf(500000); } sink++; }
CALLER(even)
CALLER(odd)
void *thread_main(void *number)
{
    pthread_barrier_wait(&all);
    sem_wait(&running);
    ((long)number % 2 == 0 ? even : odd)(10);
    sem_post(&running);
    pthread_barrier_wait(&all);
    return 0;
}
int main(void)
{
    pthread_t threads[COUNT];
    pthread_attr_t small;
    pthread_barrier_init(&all, 0, COUNT + 1);
    sem_init(&running, 0, 2);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (long i = 0; i < COUNT; i++) {
        if (pthread_create(&threads[i], &small, thread_main, (void *)i) != 0) { return 1; }
    }
    WAIT;
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    for (int i = 0; i < COUNT; i++) { pthread_join(threads[i], 0); }
    return 0;
}
"""

# Works while its stack cannot be read.
BLIND = """\
#define _GNU_SOURCE
#include <sys/mman.h>
static char room[3 * 4096] __attribute__((aligned(4096)));
__attribute__((noinline)) void blind(void *stack, long turns)
{
    __asm__ volatile("mov %%rsp, %%r12\\n mov %0, %%rsp\\n mov %1, %%r13\\n"
                     "lea -4096(%%rsp), %%rdi\\n mov $8192, %%rsi\\n xor %%edx, %%edx\\n"
                     "mov %2, %%eax\\n syscall\\n"
                     "1: dec %%r13\\n jnz 1b\\n mov %%r12, %%rsp\\n"
                     : : "r"(stack), "r"(turns), "i"(CALL)
                     : "r12", "r13", "rdi", "rsi", "rdx", "rax", "rcx", "r11", "memory");
}
int main(void)
{
    blind(room + 4096, 1500000000);
    return 0;
}
"""


def varints(data):
    """The numbers of a packed field."""
    number, shift = 0, 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number
            number, shift = 0, 0


def fields(data):
    """(number, value) of the fields of a message; a value is a number or bytes."""
    at = 0

    def take():
        nonlocal at
        begin = at
        while data[at] > 127:
            at += 1
        at += 1
        return next(varints(data[begin:at]))

    while at < len(data):
        key = take()
        value = take()
        if key & 7 == 2:
            at += value
            value = data[at - value:at]
        yield key >> 3, value


# A sample: functions of its places, the innermost first, its hits, labels, and the address of the first place.
Sample = collections.namedtuple("Sample", "functions hits labels address")


def read_pprof(path):
    """The samples of a file whose first column is hits, without code of ntprof."""
    top = collections.defaultdict(list)
    for number, value in fields(gzip.decompress(pathlib.Path(path).read_bytes())):
        top[number].append(value)
    texts = [value.decode("utf-8", "surrogateescape") for value in top[6]]
    functions = {message[1]: texts[message.get(2, 0)] for message in map(dict, map(fields, top[5]))}
    places = {}
    for location in map(list, map(fields, top[4])):
        lines = [functions[dict(fields(value))[1]] for number, value in location if number == 4]
        places[dict(location)[1]] = (lines or ["?"], dict(location).get(3, 0))
    samples = []
    for sample in map(list, map(fields, top[2])):
        ids = [place for number, value in sample if number == 1 for place in varints(value)]
        hits = [next(varints(value)) for number, value in sample if number == 2][0]
        labels = {texts[label[1]]: texts[label[2]] for number, value in sample if number == 3
                  for label in [dict(fields(value))] if 2 in label}
        samples.append(Sample([name for place in ids for name in places[place][0]], hits, labels, places[ids[0]][1]))
    return samples


def share_of_work(sample):
    """The caller of a leaf of call_shares, or None."""
    return sample.functions[1] if sample.functions[0] == "work" else None


def share_of_memset(sample):
    """The same of libc's, which has another name for each processor. A processor whose stores wait may take the
    interrupt at the instruction behind the call, in the share itself: a fifth of all, at times."""
    return next((name for name in sample.functions[:2] if name.startswith("share_")), None)


class Stacks(CommandTest):
    def record(self, *words, **given):
        """ntprof run -g: the line of stacks, and the samples of the file."""
        result = self.profile("-g", "-o", FILE, *words, **given)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        return self.check(said)

    def report(self, *words):
        result = self.ntprof("report", *words, FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return json.loads(result.stdout)

    def stack_words(self, name):
        """What the comment of source time says of stacks."""
        found = [value.decode("utf-8", "surrogateescape").split(" ")
                 for number, value in fields(gzip.decompress((self.folder / name).read_bytes()))
                 if number == 6 and value.startswith(b"ntprof.source time ")]
        self.assertEqual(len(found), 1)
        words = {"ends": collections.Counter()}
        for key, _, value in (word.partition("=") for word in found[0][2:]):
            if key == "stack_end":
                hits, _, end = value.partition(":")
                words["ends"][end.replace(r"\x20", " ")] += int(hits)
            elif key in ("stack_bytes", "contexts", "contexts_max"):
                words[key] = int(value)
        return words

    def shares_of(self, samples, ends, share_of, errors=5):
        """Hits of leaves of call_shares by their callers, of which each has its share, but for so many standard errors.
        Three fail once in a hundred runs, of four shares."""
        callers = collections.Counter()
        for sample in samples:
            share = share_of(sample)
            if sample.labels["stack"] == "whole" and share is not None:
                self.assertIn("main", sample.functions[sample.functions.index(share) + 1:])
                self.assertEqual(sample.functions[-1], "_start")
                callers[share] += sample.hits
        hits = sum(callers.values())
        self.assertGreater(hits, 0.9 * sum(ends.values()), ends)
        self.assertEqual(sorted(callers), ["share_10", "share_20", "share_30", "share_40"])
        for name, found in callers.items():
            share = int(name[-2:]) / 100
            self.assertLess(abs(found / hits - share), errors * math.sqrt(share * (1 - share) / hits), callers)
        return callers

    def record_shares(self, share_of, *words):
        """The same of a recording of call_shares; in the long suite within three errors, in one of two recordings."""
        errors, tries = (3, 2) if harness.is_long() else (5, 1)
        while True:
            _, samples, ends = self.record("--", program("call_shares"), *words)
            tries -= 1
            try:
                return self.shares_of(samples, ends, share_of, errors)
            except AssertionError:
                if tries == 0:
                    raise

    def assert_recorded_whole(self, ends):
        """All stacks that are recorded: but for the entry of the dynamic loader, which has no unwind tables."""
        for end in ends:
            self.assertTrue(end in ("whole", NOT_RECORDED) or "no unwind rules" in end, ends)

    def check(self, said):
        """Whatever was recorded: each hit has an end, and is where it is without stacks."""
        line = LINE.search(said)
        self.assertIsNotNone(line, said)
        samples = [sample for sample in read_pprof(self.folder / FILE) if sample.labels.get("source") == "time"]
        result = self.ntprof("report", "--json", "--rows", "0", "--by", "address", FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_statistics(report)
        time = next(source for source in report["sources"] if source["name"] == "time")
        # counted = sum over ends
        ends = collections.Counter()
        for sample in samples:
            ends[sample.labels["stack"]] += sample.hits
            if sample.labels["stack"].startswith("["):
                self.assertEqual(sample.functions[-1], sample.labels["stack"])
        self.assertEqual(sum(ends.values()), time["counted"])
        # which the comment of the source has as well, with what the line says
        words = self.stack_words(FILE)
        self.assertEqual(words.pop("ends"), +ends)
        self.assertEqual({key: time[key] for key in words}, words)
        contexts = [int(number.replace(",", "")) for number in line.groups()]
        self.assertEqual([words["contexts"], words["contexts_max"]], contexts)
        # counter of a bucket = sum of its rows, which the table by address has
        by_address = collections.Counter()
        for sample in samples:
            by_address[sample.address] += sample.hits
        rows = collections.Counter()
        for row in report["rows"]:
            if row["address"]:  # else of hits outside
                rows[int(row["address"], 16)] += row["hits"]
        self.assertEqual(+by_address, +rows)
        return line.group(0), samples, ends


@for_each_user
class Run(Stacks):
    def test_known_shares__each_caller_has_its_own(self):
        callers = self.record_shares(share_of_work, "4000")
        # Folded stacks have the same sums, from the process to the function.
        folded = collections.Counter()
        result = self.ntprof("export", "--format", "folded", FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        for line in text(result.stdout).splitlines():
            stack, _, count = line.rpartition(" ")
            if re.fullmatch(r"call_shares;(.*;)?main;(.*;)?share_\d+;(.*;)?work", stack):
                folded[re.search(r"share_\d+", stack).group(0)] += int(count)
        self.assertEqual(folded, callers)

    def test_known_shares_of_libc__each_caller_has_its_own(self):
        self.record_shares(share_of_memset, "4000", "memset")

    def test_python__whole_stacks_of_the_interpreter(self):
        _, samples, ends = self.record("--", "/usr/bin/python3", "-S", "-c", TREE, "1.5")
        self.assertGreater(ends["whole"], 0.8 * sum(ends.values()), ends)
        deepest = max(samples, key=lambda sample: len(sample.functions))
        self.assertGreater(len(deepest.functions), 10)
        whole = [sample for sample in samples if sample.labels["stack"] == "whole" and
                 any("PyEval" in name for name in sample.functions)]
        self.assertTrue(whole)
        for sample in whole:
            self.assertEqual(sample.functions[-1], "_start", sample)

    def test_short_copies__cut_is_said(self):
        _, _, ends = self.record("--stack-bytes", "512", "--", "/usr/bin/python3", "-S", "-c", TREE, "0.5")
        self.assertGreater(ends["[cut at 512 bytes]"], 0, ends)

    def test_what_has_no_stacks__refused_before_the_start(self):
        for options, why in ((("-e", "page-faults"), "only source time has stacks"),
                             (("--hal", "sim"), "-g needs back end perf or timer"),
                             (("--stack-bytes", "256"), "512"), (("--stack-bytes", "64k"), "65528"),
                             (("--contexts", "63"), "64")):
            with self.subTest(options):
                result = self.profile("-g", *options, "--", "touch", "started")
                said = text(result.stderr)
                self.assertEqual(result.returncode, 125, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertIn(why, said)
                self.assertFalse((self.folder / "started").exists())
        for option in ("--stack-bytes", "--contexts"):
            result = self.profile(option, "4096", "--", "true")
            self.assertEqual(result.returncode, 125)
            self.assertIn("give -g too", text(result.stderr))

    def test_attach__callers_of_a_running_process(self):
        child = self.start([program("call_shares"), "60000"])
        result = self.ntprof("attach", "-g", "-o", FILE, "--duration", "1s", child.pid)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        _, samples, ends = self.check(said)
        self.assertGreater(ends["whole"], 0, ends)
        self.assertLessEqual({"share_30", "share_40"}, {name for sample in samples for name in sample.functions})


@for_each_user_if_long
class Views(Stacks):
    """What is kept and shown of stacks, which no right changes."""

    def test_report__callers_and_callees_as_the_samples_have_them(self):
        _, samples, ends = self.record("--", program("call_shares"), "1000")
        hits = sum(ends.values())
        on_stack = collections.Counter()
        callers = collections.Counter()
        for sample in samples:
            for name in set(sample.functions):
                on_stack[name] += sample.hits
            if "work" in sample.functions:
                callers[sample.functions[sample.functions.index("work") + 1]] += sample.hits
        rows = self.report("--json", "--rows", "0")["rows"]
        totals = {row["function"]: row["total"] for row in rows if row["image"].endswith("/call_shares")}
        for name in ("main", "work", "share_10", "share_40"):
            self.assertEqual(totals[name], on_stack[name], (name, rows))
        self.assertGreater(totals["main"], 0.9 * hits)
        for words, expected in ((["--callers-of", "work"], callers), (["--callees-of", "main"], on_stack)):
            found = {row["function"]: row["hits"] for row in self.report("--json", "--rows", "0", *words)["rows"]}
            for name in ("share_10", "share_20", "share_30", "share_40"):
                self.assertEqual(found[name], expected[name], (words, found))
        # The tree up from work begins with the same callers; that down has main above them.
        nodes = self.report("--json", "--tree", "--callers-of", "work", "--min", "0")["nodes"]
        self.assertEqual({node["function"]: node["total"] for node in nodes if node["depth"] == 2}, callers)
        nodes = self.report("--json", "--tree", "--min", "0")["nodes"]
        share = next(node for node in nodes if node["function"] == "share_40")
        self.assertEqual(nodes[share["parent"]]["function"], "main")
        self.assertEqual(nodes[0]["total"], hits)

    @unittest.skipUnless(shutil.which("callgrind_annotate"), "callgrind_annotate is not installed")

    def test_callgrind__inclusive_hits_are_the_totals(self):
        self.record("--", program("call_shares"), "500")
        self.assertEqual(self.ntprof("export", "--format", "callgrind", "-o", "out", FILE).returncode, 0)
        for words, key in (["--inclusive=yes"], "total"), ([], "hits"):
            shown = text(subprocess.run(
                ["callgrind_annotate", "--threshold=100", "--auto=no", "--show-percs=no", *words, self.folder / "out"],
                cwd="/", capture_output=True, check=True).stdout)
            found = collections.Counter()
            for count, name in re.findall(r"(?m)^ *([\d,]+)  .*:(\w+) \[", shown):
                found[name] += int(count.replace(",", ""))
            for row in self.report("--json", "--rows", "0", "--symbol", "share_40", "--symbol", "work",
                                   "--symbol", "main")["rows"]:
                self.assertEqual(found[row["function"]], row[key], shown)

    def test_table_at_the_end__self_and_total(self):
        result = self.profile("-g", "-o", FILE, "--", program("call_shares"), "300")
        said = text(result.stderr)
        self.assertRegex(said, r"(?m)^ *self .* total +hits +time +function")
        # main calls clock, and may have a hit of its own.
        self.assertRegex(said, r"(?m)^ *0\.00% .* _start +call_shares$")
        self.assertEqual(len(re.findall(r"(?m)^stacks: ", said)), 1, said)

    def test_annotate__a_function_that_only_calls(self):
        _, samples, _ = self.record("--", program("call_shares"), "300")
        below = sum(sample.hits for sample in samples if "main" in sample.functions[1:])
        for words in ([], ["--source"], ["--asm"]):
            result = self.ntprof("annotate", "--json", *words, "main", FILE)
            self.assertEqual(result.returncode, 0, text(result.stderr))
            listing = json.loads(result.stdout)
            self.assertEqual(sum(sum(line.get("below", [])) for line in listing["lines"]), below, words)
        result = self.ntprof("annotate", "nothing_of_this_name", FILE)
        self.assertEqual(result.returncode, 125)
        self.assertIn("nothing called so has hits", text(result.stderr))

    def test_without_stacks__callers_are_refused(self):
        self.profile("-o", FILE, "--", program("call_shares"), "100")
        for words in (["--callers-of", "work"], ["--tree"]):
            result = self.ntprof("report", *words, FILE)
            self.assertEqual(result.returncode, 125)
            self.assertIn("the profile has no stacks; record it with -g", text(result.stderr))

    def test_many_rules_are_missing__asked_together(self):
        environment = dict(harness.bare_environment(), NTPROF_LOG=f"debug:{self.folder}/log")
        self.record("--", "/usr/bin/python3", "-S", "-c", TREE, "1", env=environment)
        rules, requests = map(int, re.search(r"callers: .*; (\d+) rules in (\d+) requests",
                                             (self.folder / "log").read_text()).groups())
        self.assertGreater(rules, 2 * requests)

    def test_bound_of_contexts__rarest_give_their_callers_up(self):
        line, _, ends = self.record("--contexts", "64", "-F", "5k", "--", "/usr/bin/python3", "-S", "-c", TREE, "1")
        self.assertIn(" of 64 contexts)", line)
        self.assertLessEqual(int(LINE.search(line).group(1)), 64)
        self.assertGreater(ends["[other callers]"], 0, ends)

    def test_bound_of_calls__the_line_says_that_it_is_reached(self):
        line, samples, ends = self.record("--contexts", "1024", "--", "/usr/bin/python3", "-S", "-c", DEEP_TREE)
        self.assertGreater(ends["[other callers]"], 0, ends)
        rows = [sample for sample in samples if sample.labels["stack"] != "[other callers]"]
        used = int(LINE.search(line).group(1).replace(",", ""))
        self.assertGreater(used, len(rows))
        self.assertGreater(used, 600)  # a quarter is made free at a time, and then some of the last stack
        self.assertLessEqual(used, 1024)

    def test_merge__stacks_and_how_they_end_add_up(self):
        _, samples, ends = self.record("--", program("call_shares"), "500")
        result = self.ntprof("merge", "-o", "sum.pb.gz", FILE, FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        sums = collections.Counter()
        for sample in read_pprof(self.folder / "sum.pb.gz"):
            sums[tuple(sample.functions)] += sample.hits
        once = collections.Counter()
        for sample in samples:
            once[tuple(sample.functions)] += sample.hits
        self.assertEqual(sums, once + once)
        alone, both = self.stack_words(FILE), self.stack_words("sum.pb.gz")
        self.assertEqual(both, {"ends": ends + ends, "stack_bytes": alone["stack_bytes"],
                                "contexts": 2 * alone["contexts"], "contexts_max": 2 * alone["contexts_max"]})
        result = self.ntprof("report", "sum.pb.gz")
        share = f"{100 * ends['whole'] / sum(ends.values()):.1f}"
        self.assertIn(f"\nstacks: {share}% whole", text(result.stdout + result.stderr))

    def test_store__sums_over_stacks_and_says_so(self):
        if b"without SQLite" in self.ntprof("store", "init", "sqlite:s.db").stderr:
            self.skipTest("this ntprof was built without SQLite")
        self.record("--", program("call_shares"), "300")
        result = self.ntprof("store", "add", "sqlite:s.db", FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        said = [line for line in text(result.stderr).splitlines() if "stack" in line]
        self.assertEqual(said, [f"ntprof: store: {FILE}: its stacks are left out: a store has none"])

        def rows(name):
            told = self.ntprof("report", "--json", "--rows", "0", "--by", "address", name)
            self.assertEqual(told.returncode, 0, text(told.stderr))
            # A store has no addresses in images that are loaded anywhere, as the vdso.
            return sorted((row["image"], row["address"], row["hits"]) for row in json.loads(told.stdout)["rows"]
                          if row["hits"] and not row["image"].startswith("["))
        self.assertEqual(rows("sqlite:s.db"), rows(FILE))

    def test_together_with_other_options__each_adds_up(self):
        for options in (("--per", "cpu"), ("--threads",), ("-e", "time,page-faults"), ("--every", "100ms"),
                        ("--bucket", "64"), ("--bucket", "16k"), ("--region", "work"), ("--delay", "100ms"),
                        ("--max-memory", "64M")):
            with self.subTest(options):
                _, _, ends = self.record(*options, "--", program("call_shares"), "500")
                self.assertGreater(ends["whole"], 0, ends)

    def test_without_stacks__no_line(self):
        result = self.profile("-o", FILE, "--", program("call_shares"), "100")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertNotIn("stacks:", text(result.stderr))
        self.assertTrue(all("stack" not in sample.labels for sample in read_pprof(self.folder / FILE)))


class Readers(Stacks):
    """Readers of unwind tables that do what they may not, in a build of the command for that."""

    def hostile(self, what, *words):
        environment = harness.bare_environment()
        # With handle_segv AddressSanitizer ends a reader that faults by a status of its own.
        environment.update(NTPROF_TEST_HOSTILE=what, LD_LIBRARY_PATH=str(harness.stage() / "src"),
                           ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0")
        result = self.run_bare([harness.program("ntprof-hostile"), "run", "-g", "-o", FILE, *words], env=environment)
        self.said = text(result.stderr)
        self.assertEqual(result.returncode, 0, self.said)
        return self.check(self.said)

    def test_reader_that_ends__callers_of_that_file_not_recorded(self):
        for action, why in (("end", "what it sends makes no sense, or it was killed"), ("fault", "Segmentation fault"),
                            ("lie", "what it sends makes no sense, or it was killed")):
            with self.subTest(action):
                _, samples, ends = self.hostile(f"other:{action}:/call_shares", "--", program("call_shares"), "500")
                self.assert_recorded_whole(ends)
                self.assertEqual({sample.labels["stack"] for sample in samples if sample.functions[0] == "work"},
                                 {NOT_RECORDED})
                self.assertRegex(self.said, r"the unwind tables of 1 image could not be read \(\S+/call_shares: "
                                 + why + r"\): who called its code is not recorded")

    def test_reader_that_cannot_start__said_and_not_recorded(self):
        _, _, ends = self.hostile("start:end", "--", program("call_shares"), "500")
        self.assertEqual(set(ends), {NOT_RECORDED}, ends)
        self.assertRegex(self.said, r"the unwind tables of \d+ images? could not be read \(")

    def test_reader_that_hangs__its_hits_stay_and_other_files_go_on(self):
        both = f'{program("call_shares")} 1000 & /usr/bin/python3 -S -c "$0" 1; wait'
        _, samples, ends = self.hostile("other:hang:/call_shares", "--", "sh", "-c", both, TREE)
        self.assertGreater(ends[NOT_RECORDED], 0, ends)
        whole = sum(sample.hits for sample in samples if sample.labels["stack"] == "whole" and
                    any("PyEval" in name for name in sample.functions))
        self.assertGreater(whole, 100, ends)

    def test_killed_reader__another_answers(self):
        child = self.start(self.arguments("run", "-g", "-o", FILE, "--", "/usr/bin/python3", "-S", "-c", TREE, "2"),
                           stderr=subprocess.PIPE)
        killed = harness.wait_for(lambda: self.kill_readers(child.pid), "readers")
        said = text(child.communicate(timeout=harness.TIME_LIMIT_S)[1])
        self.assertEqual(child.returncode, 0, said)
        self.assertTrue(killed)
        _, _, ends = self.check(said)
        self.assertGreater(ends["whole"], 0.5 * sum(ends.values()), ends)

    def kill_readers(self, pid):
        """Kill the command's readers; how many there were."""
        found = self.run_bare(["pgrep", "--parent", str(pid), "--exact", "ntprof-reader"])
        readers = found.stdout.split()
        if readers:
            self.run_bare(["kill", "-KILL", *map(text, readers)])
        return len(readers)


class Faults(Stacks):
    """Whatever happens to a program and its files, no caller is false."""

    def build(self, name, source, *options):
        path = self.folder / (name + ".c")
        path.write_text(source)
        self.run_bare(["cc", "-O2", "-fomit-frame-pointer", *options, str(path), "-o", str(self.folder / name), "-ldl"],
                      check=True)
        return self.folder / name

    def callers(self, samples, leaf):
        return {sample.functions[1] for sample in samples
                if sample.functions[0] == leaf and sample.labels["stack"] == "whole"}

    def test_library_unloaded__calls_through_the_next_one_are_its_own(self):
        for name, room in (("a", 64), ("b", 4000)):
            self.build(name + ".so", LIBRARY, "-shared", "-fPIC", f"-DNAME=in_{name}", f"-DROOM={room}")
        _, samples, ends = self.record("--", self.build("loads", LOADS))
        self.assertGreater(ends["whole"], 0.9 * sum(ends.values()), ends)
        self.assertEqual(self.callers(samples, "leaf_a"), {"in_a"})
        self.assertEqual(self.callers(samples, "leaf_b"), {"in_b"})

    def test_file_replaced_while_it_runs__rules_are_those_of_the_mapped_one(self):
        copy = self.folder / "copy"
        other = self.folder / "other"
        shutil.copy(program("call_shares"), copy)
        shutil.copy("/usr/bin/python3", other)
        child = self.start(self.arguments("run", "-g", "-o", FILE, "--", copy, "1500"), stderr=subprocess.PIPE)
        time.sleep(0.3)
        os.replace(other, copy)
        said = text(child.communicate(timeout=harness.TIME_LIMIT_S)[1])
        self.assertEqual(child.returncode, 0, said)
        _, samples, ends = self.check(said)
        self.assertGreater(ends["whole"], 0.9 * sum(ends.values()), ends)
        self.assertEqual(self.callers(samples, "work"), {"share_10", "share_20", "share_30", "share_40"})

    def test_exec_deep_on_a_stack__callers_of_the_new_program_only(self):
        code = (f"import os, sys\ndef deep(n):\n    deep(n - 1) if n else os.execv({program('call_shares')!r}, "
                "['call_shares', '1000'])\nx = sum(i * i for i in range(1000000))\ndeep(200)")
        _, samples, ends = self.record("--", "/usr/bin/python3", "-S", "-c", code)
        self.assertEqual(self.callers(samples, "work"), {"share_10", "share_20", "share_30", "share_40"})
        for sample in samples:
            if sample.functions[0] == "work":
                self.assertFalse([name for name in sample.functions if "Py" in name], sample)

    @unittest.skipUnless(os.uname().machine == "x86_64", "the program is of x86-64")
    def test_stack_that_cannot_be_read__said(self):
        for name, call in (("protected", 10), ("unmapped", 11)):  # by mprotect and munmap
            with self.subTest(name):
                _, samples, _ = self.record("--", self.build(name, BLIND, f"-DCALL={call}"))
                blind = {sample.labels["stack"] for sample in samples if sample.functions[0] == "blind"}
                self.assertEqual(blind, {"[stack not readable]"})

    def test_32_bit_program__its_callers_are_not_recorded(self):
        work = program("shares_i386")
        if not os.path.exists(work):
            self.skipTest("no compiler of 32-bit programs here")
        _, samples, _ = self.record("--", work, "200")
        self.assertEqual({sample.labels["stack"] for sample in samples if "units" in sample.functions[0]},
                         {NOT_RECORDED})

    def test_little_memory__hits_stay_and_callers_are_not_recorded(self):
        """Contexts are within --max-memory, which is looked at every 4,096 hits: later hits have their counter."""
        if "ASAN_OPTIONS" in os.environ:
            self.skipTest("a sanitizer's shadow memory is counted as if it was used")
        _, _, ends = self.record("-F", "10k", "--stack-bytes", "2k", "--max-memory", "2M", "--", "/usr/bin/python3",
                                 "-S", "-c", TREE, "2")
        self.assertGreater(ends[NOT_RECORDED], 0, ends)

    def test_copies_of_any_length__each_adds_up(self):
        for size, said in (("520", "520 bytes"), ("4k", "4 kB"), ("65528", "65528 bytes")):
            with self.subTest(size):
                _, _, ends = self.record("--stack-bytes", size, "--", "/usr/bin/python3", "-S", "-c", TREE, "0.3")
                cut = {end for end in ends if end.startswith("[cut")}
                self.assertLessEqual(cut, {f"[cut at {said}]"})
                if size == "520":
                    self.assertTrue(cut, ends)

    def follow(self, command):
        """Of a command until its end: what it says, its most open descriptors and its most memory in MB."""
        descriptors, memory = 0, 0
        while command.poll() is None:
            try:
                descriptors = max(descriptors, len(os.listdir(f"/proc/{command.pid}/fd")))
                status = pathlib.Path(f"/proc/{command.pid}/status").read_text()
                memory = max(memory, *map(int, re.findall(r"VmHWM:\s+(\d+)", status)), 0)
            except OSError:
                pass
            time.sleep(0.05)
        said = text(command.stderr.read())
        self.assertEqual(command.returncode, 0, said)
        return said, descriptors, memory / 1e3

    def assert_memory(self, taken, most):
        """In MB. AddressSanitizer takes much of its own."""
        if "ASAN_OPTIONS" not in os.environ:
            self.assertLess(taken, most)

    def assert_halves(self, said):
        """Hits of all threads add up, and have the callers of their thread; of the first ones rules may be late."""
        _, samples, ends = self.check(said)
        self.assert_recorded_whole(ends)
        self.assertEqual(self.callers(samples, "leaf"), {"even", "odd"})
        for sample in samples:
            if sample.functions[0] == "leaf" and sample.labels["stack"] == "whole":
                self.assertEqual(sample.functions[1:12], [sample.functions[1]] * 11, sample)
                self.assertEqual(sample.functions[12], "thread_main", sample)

    def test_1000_threads__each_has_its_callers(self):
        work = self.build("threads", THREADS, "-pthread", "-DWAIT=")
        for hal in ("perf", "timer"):
            with self.subTest(hal):
                command = self.start(self.arguments("run", "-g", "--hal", hal, "-o", FILE, "--", work),
                                     stderr=subprocess.PIPE)
                said, descriptors, memory = self.follow(command)
                self.assert_halves(said)
                # Threads inherit events, and stacks are those of few images.
                self.assertLess(descriptors, 200 + 10 * os.cpu_count())
                self.assert_memory(memory, 64)

    def test_attach_to_1000_threads__each_has_its_callers(self):
        wanted = 1100 * os.cpu_count()  # an event for each thread on each processor
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < wanted:
            self.skipTest(f"{wanted} descriptors are not allowed")
        work = self.build("threads", THREADS, "-pthread", "-DWAIT=getchar()")
        target = self.start([work], stdin=subprocess.PIPE)
        while len(os.listdir(f"/proc/{target.pid}/task")) <= 1000:
            time.sleep(0.05)
        command = self.start(self.arguments("attach", "-g", "-o", FILE, target.pid), stderr=subprocess.PIPE)
        time.sleep(0.5)
        target.stdin.close()
        said, _, memory = self.follow(command)
        self.assert_halves(said)
        self.assert_memory(memory, 128)

    def test_many_short_threads_and_processes__each_adds_up(self):
        _, _, ends = self.record("--", program("many_threads"))
        self.assertGreater(ends["whole"], 0.5 * sum(ends.values()), ends)
        storm = f'i=0; while [ $i -lt 60 ]; do {program("call_shares")} 5 & i=$((i + 1)); done; wait'
        _, samples, ends = self.record("--", "sh", "-c", storm)
        self.assertGreater(ends["whole"], 0, ends)
        callers = self.callers(samples, "work")
        self.assertIn("share_40", callers)
        self.assertLessEqual(callers, {"share_10", "share_20", "share_30", "share_40"})


@for_each_user_if_long
class Secrets(Stacks):
    """What is on a stack goes nowhere, but for the addresses of code in it that are callers."""

    def forms(self, word):
        """How a word might be written, or the address before it."""
        for number in (word, word - 1):
            varint = bytes((number >> shift & 127) | (128 if number >> shift > 127 else 0)
                           for shift in range(0, number.bit_length(), 7))
            for form in (number.to_bytes(8, "little")[:6], number.to_bytes(8, "big")[-6:], varint, b"%d" % number,
                         b"%x" % number, b"%X" % number):
                yield form

    def assert_absent(self, data, words, where):
        for word in words:
            for form in self.forms(word):
                self.assertNotIn(form, data, where)

    def record_secrets(self, hal, mode):
        """The samples of a program with two words all over its stack, which are nowhere else."""
        # The second one may be the address of a library.
        words = [secrets.randbits(64) | 1 << 63, 0x7f << 40 | secrets.randbits(40)]
        given = ":".join(f"{word:x}" for word in words)
        environment = dict(harness.bare_environment(), SECRET=given, NTPROF_LOG=f"debug:{self.folder}/log")
        result = self.profile("-g", "--hal", hal, "-o", FILE, "--", program("secret_stack"), mode, "500",
                              env=environment)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        _, samples, _ = self.check(said)
        file = (self.folder / FILE).read_bytes()
        for where, data in (("output", result.stdout + result.stderr), ("file", file),
                            ("unpacked file", gzip.decompress(file)), ("log", (self.folder / "log").read_bytes())):
            self.assert_absent(data, words, (hal, mode, where))
            self.assertNotIn(given.encode(), data, (hal, mode, where))
        return samples

    @unittest.skipUnless(os.uname().machine == "x86_64", "the program is of x86-64")
    def test_words_of_a_stack__are_in_nothing_that_is_written(self):
        for hal in ("perf", "timer"):
            for mode, leaf, end in (("plain", "spin", "whole"), ("rules", "lying", "[no unwind rules in unknown code]"),
                                    ("pointer", None, "[no unwind rules in unknown code]")):
                with self.subTest((hal, mode)):
                    samples = self.record_secrets(hal, mode)
                    walked = [sample for sample in samples if sample.labels["stack"] == end and
                              (sample.functions[0] == leaf or (leaf is None and len(sample.functions) == 2))]
                    self.assertGreater(sum(sample.hits for sample in walked), 30, samples)
                    for sample in samples:
                        self.assertNotIn("never_runs", sample.functions)
                    if mode == "plain":
                        self.assertTrue(all("with_secrets" in sample.functions for sample in walked), walked)


class Machine(Stacks):
    def setUp(self):
        if not harness.is_root():
            self.skipTest("only root may profile all processes")
        super().setUp()

    def test_system__user_and_kernel_callers(self):
        self.start([program("call_shares"), "60000"])
        self.start(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL)
        result = self.ntprof("system", "-g", "-o", FILE, "--duration", "2s")
        said = text(result.stderr)
        self.assertEqual(result.returncode, 0, said)
        _, samples, ends = self.check(said)
        self.assertGreater(ends["whole"], 0, ends)
        callers = {name for sample in samples for name in sample.functions[1:]}
        self.assertIn("share_40", callers)
        self.assertTrue({"vfs_read", "ksys_read"} & callers, callers)

    def test_kernel__calls_of_programs_and_of_the_kernel(self):
        """dd spends its time in system calls."""
        _, samples, _ = self.record("--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=20000")
        deep = [sample for sample in samples if "main" in sample.functions or "read" in sample.functions]
        self.assertTrue([sample for sample in deep if any("vfs_read" in name or "ksys_read" in name
                                                          for name in sample.functions)])


if __name__ == "__main__":
    harness.main()
