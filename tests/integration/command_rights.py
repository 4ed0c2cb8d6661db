#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Processes that read foreign files: what they may not do, and what their end costs.

ntprof-hostile is the command with a hook: a reader of the file that is named does, at the stage that is named, what
one that was taken over might do. It costs the names of that file alone, and is said.
"""
import json
import os
import pathlib

import harness
from harness import text

CALLS = ("open", "exec", "socket", "ptrace", "kill", "write", "fork", "code", "limit", "send", "crash")
STAGES = ("open", "names", "answer")
# A sanitizer wants to open files before it says what a fault was, and its memory has no limit.
SANITIZED = b"__asan_init" in pathlib.Path(os.environ["NTPROF"]).read_bytes()
FAULT = "no right to" if SANITIZED else "Segmentation fault"
OTHERS = {"fault": FAULT, "eat": FAULT, "lie": "makes no sense", "end": "makes no sense", "hang": "does not answer"}

# Every command that reads profiles.
EVERY = (["report", "p"], ["annotate", "work", "p"], ["diff", "p", "p"], ["export", "--format", "csv", "p"],
         ["merge", "-o", "sum", "p"])

APP = """
#include <time.h>
volatile unsigned long sum;
void other(void);
__attribute__((noinline)) void work(void) { for (int i = 0; i < 1000000; i++) sum += i; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 10) { work(); other(); } return 0; }
"""
OTHER = """
static volatile unsigned long sum;
void other(void) { for (int i = 0; i < 1000000; i++) sum += i; }
"""


class Rights(harness.CommandTest):
    def setUp(self):
        super().setUp()
        (self.folder / "app.c").write_text(APP)
        (self.folder / "other.c").write_text(OTHER)
        self.build("gcc", "-g", "-O1", "-fPIC", "-shared", "-o", "libother.so", "other.c")
        self.build("gcc", "-g", "-O1", "-o", "app", "app.c", "./libother.so", "-Wl,-rpath,$ORIGIN")

    def build(self, *words):
        result = self.run_bare(list(words))
        self.assertEqual(result.returncode, 0, text(result.stderr))

    def hostile(self, what, *words):
        """The command with the hook, ended."""
        environment = harness.bare_environment()
        environment.update(NTPROF_TEST_HOSTILE=what, LD_LIBRARY_PATH=str(harness.stage() / "src"))
        return self.run_bare([harness.program("ntprof-hostile"), *map(str, words)], env=environment)

    def rows(self, file="p"):
        result = self.ntprof("report", "--json", "--rows", "0", file)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return json.loads(result.stdout)

    def run_app(self, what):
        """What was said, and the hits by function and by image."""
        result = self.hostile(what, "run", "-o", "p", "--", self.folder / "app")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        told = self.rows()
        named = {row["function"] for row in told["rows"]}
        self.assertEqual(sum(source["taken"] for source in told["sources"]),
                         sum(source["counted"] + source["outside"] for source in told["sources"]))
        return text(result.stderr), named

    def check(self, what, why, lost="work"):
        said, named = self.run_app(what)
        self.assertIn("other", named, said)
        self.assertNotIn(lost, named, said)
        warnings = [line for line in said.splitlines() if "process that read" in line or "no time" in line]
        self.assertEqual(len(warnings), 1, said)
        self.assertIn(str(self.folder / "app"), warnings[0])
        self.assertIn(why, warnings[0])

    def test_without_a_hostile_file__all_is_named(self):
        said, named = self.run_app("names:open:/none")
        self.assertLessEqual({"work", "other"}, named, said)
        self.assertNotIn("process that read", said)

    def test_forbidden_calls__end_the_reader_of_that_file_only(self):
        for stage in STAGES[1:]:
            for action in CALLS if stage == "names" else CALLS[:3]:
                with self.subTest((stage, action)):
                    self.check(f"{stage}:{action}:/app", "no right to")

    def test_crash_lie_and_memory__cost_that_file_only(self):
        for action, why in OTHERS.items():
            with self.subTest(action):
                self.check(f"names:{action}:/app", why)

    def test_time__is_up_for_that_file_only(self):
        self.check("names:spin:/app", "no time is left")

    def test_end_while_opening__addresses_alone(self):
        for action in ("open", "fault", "lie", "hang", "end"):
            for stage in ("start", "open"):
                with self.subTest((stage, action)):
                    said, named = self.run_app(f"{stage}:{action}" + (":/app" if stage == "open" else ""))
                    self.assertNotIn("work", named)
                    self.assertEqual("other" in named, stage == "open")
                    self.assertIn("process that read", said)

    def test_debug_file_that_is_asked_for__reader_ends(self):
        self.build("objcopy", "--only-keep-debug", "app", "app.debug")
        self.build("strip", "app")
        self.build("objcopy", "--add-gnu-debuglink=app.debug", "app")
        _, named = self.run_app("names:none:/none")
        self.assertIn("work", named)
        for action, why in (("open", "no right to"), ("fault", FAULT)):
            with self.subTest(action):
                self.check(f"file:{action}:/app", why)

    def test_only_programs_are_handed_over(self):
        """A link in a file to one that is no program leads nowhere: its reader might be the attacker's."""
        self.build("objcopy", "--only-keep-debug", "app", "app.debug")
        self.build("strip", "--remove-section=.note.gnu.build-id", "app")
        self.build("objcopy", "--add-gnu-debuglink=app.debug", "app")
        (self.folder / "app.debug").write_text("secret\n")
        result = self.ntprof("run", "-o", "p", "--", self.folder / "app")
        self.assertNotIn("CRC", text(result.stderr))
        (self.folder / "app.debug").write_bytes(b"\x7fELF" + bytes(100))
        result = self.ntprof("run", "-o", "p", "--", self.folder / "app")
        self.assertIn("app.debug is not used", text(result.stderr))

    def test_functions_and_profiles__are_refused_and_said(self):
        self.assertEqual(self.profile("-q", "-o", "p", "--", self.folder / "app").returncode, 0)
        for action in (*CALLS, *OTHERS):
            with self.subTest(action):
                if action == "hang":  # a reader may wait for a pipe as long as it likes
                    continue
                for words in (EVERY if action == "open" else EVERY[:1]):
                    result = self.hostile(f"profile:{action}:p", *words)
                    said = text(result.stderr)
                    self.assertEqual((result.returncode, result.stdout), (125, b""), said)
                    self.assertIn("p: the process that read it failed: ", said)
                self.assertFalse((self.folder / "sum").exists())
        for action in ("open", "fault", "lie", "hang"):
            with self.subTest(("function", action)):
                result = self.hostile(f"function:{action}", "run", "-e", "function:work", "-o", "f", "--",
                                      self.folder / "app")
                self.assertEqual(result.returncode, 125, text(result.stderr))
                self.assertIn("function:work", text(result.stderr))

    def test_instructions__are_missing_and_said(self):
        if os.environ["NTPROF_CAPSTONE"] == "no":
            self.skipTest("built without capstone")
        self.assertEqual(self.profile("-q", "-o", "p", "--", self.folder / "app").returncode, 0)
        self.assertIn("ret", text(self.hostile("decode:none", "annotate", "work", "p").stdout))
        for action, why in (("open", "no right to"), *OTHERS.items()):
            with self.subTest(action):
                result = self.hostile(f"decode:{action}", "annotate", "work", "p")
                said = text(result.stdout + result.stderr)
                self.assertEqual(result.returncode, 0, said)
                self.assertIn("no instructions: the process that decodes them failed: ", said)
                self.assertIn(why, said)

    def test_release__has_no_hook(self):
        content = pathlib.Path(os.environ["NTPROF"]).read_bytes()
        self.assertNotIn(b"NTPROF_TEST_HOSTILE", content)
        self.assertIn(b"NTPROF_TEST_HOSTILE", pathlib.Path(harness.program("ntprof-hostile")).read_bytes())


if __name__ == "__main__":
    harness.main()
