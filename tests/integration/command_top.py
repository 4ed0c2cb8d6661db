#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ntprof top in a real terminal (tmux): what it shows, what keys do, and how it leaves."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

import harness
from harness import CommandTest, children_of, for_each_user, for_each_user_if_long, is_alive, text, wait_for

FILE = "ntprof.pb.gz"
HOT = "right_three_units"
COLD = "right_one_unit"
FIRST_ROW = 4
LISTED_HITS = re.compile(r" *[\d.]+% +\d+ ")
COLUMNS, LINES = 100, 30
HELP_WORD = "the other way round"


INLINED = """\
volatile unsigned sink;
static inline __attribute__((always_inline)) void inner_step(unsigned x)
{
    for (unsigned i = 0; i < 1000; i++) {
        sink += x * i;
    }
}
__attribute__((noinline)) void outer_loop(void)
{
    for (unsigned i = 0; i < 1000; i++) {
        inner_step(i);
    }
}
int main(void)
{
    for (;;) {
        outer_loop();
    }
}
"""


class Top(CommandTest):
    """A terminal with a shell in it."""

    def setUp(self):
        super().setUp()
        if os.environ["NTPROF_CURSES"] == "no" or shutil.which("tmux") is None:
            self.skipTest("needs tmux, and an ntprof built with ncurses")
        # The path of a socket has 107 bytes at most.
        self.socket = self.folder / "t"
        self.turn = 0
        self.addCleanup(self.tmux, "kill-server", check=False)
        # By words, not one text: the caller's own shell, which may be no shell, has no part in it.
        self.tmux("new-session", "-d", "-x", COLUMNS, "-y", LINES,
                  "env", "PS1=> ", "ENV=", "sh", "-i")
        wait_for(lambda: ">" in self.screen(), "a prompt")
        self.shell = int(self.ask("pane_pid"))

    def tmux(self, *words, check=True):
        result = self.run_bare(["tmux", "-S", str(self.socket), "-f", "/dev/null", *map(str, words)])
        if check:
            self.assertEqual(result.returncode, 0, text(result.stderr))
        return text(result.stdout)

    def ask(self, variable):
        return self.tmux("display-message", "-p", "#{" + variable + "}").strip()

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def lines(self):
        return self.screen().splitlines()

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, words):
        self.tmux("send-keys", "-l", words)

    def wait_screen(self, wanted, what=None):
        """Waits for a text on the screen, or for what is true of its lines; gives the lines."""
        def look():
            lines = self.lines()
            fits = wanted in "\n".join(lines) if isinstance(wanted, str) else wanted(lines)
            return lines if fits else None
        try:
            return wait_for(look, what or str(wanted))
        except AssertionError:
            print(self.screen())
            raise

    def wait_row(self, wanted):
        """Waits until the first row has this; gives it."""
        return self.wait_screen(lambda lines: len(lines) > FIRST_ROW and wanted in lines[FIRST_ROW],
                                wanted)[FIRST_ROW]

    def start_worker(self, path=None):
        return self.start([path or harness.program("shares"), "300000"], stderr=subprocess.DEVNULL)

    def type_between(self, command):
        """Has the shell run it and tell how the terminal was before and after; does not wait."""
        self.turn += 1
        self.type(f"clear; stty -a >before; {command}; echo status=$?; stty -a >after; echo over{self.turn}")
        self.press("Enter")

    def type_top(self, *words):
        self.type_between(" ".join(self.arguments("top", *words)))

    def start_top(self, *words):
        self.type_top("-d", "200ms", *words)
        self.wait_screen(lambda lines: self.ask("alternate_on") == "1" and "ntprof top" in lines[0],
                         "its screen")

    def start_with_worker(self, *words):
        worker = self.start_worker()
        self.start_top("-p", worker.pid, *words)
        self.wait_row(HOT)
        return worker

    def top_pid(self):
        return wait_for(lambda: next((pid for pid in children_of(self.shell)), None), "ntprof")

    def wait_left(self):
        """Waits until the shell is back; the terminal must be as it was. Gives what is on it."""
        self.wait_screen(lambda lines: f"over{self.turn}" in lines, "the end")
        wait_for(lambda: self.ask("alternate_on") == "0", "the main screen")
        self.assertEqual(self.ask("cursor_flag"), "1")
        self.assertEqual(self.ask("keypad_flag"), "0")
        self.assertEqual((self.folder / "after").read_text(), (self.folder / "before").read_text())
        wait_for(lambda: not children_of(self.shell), "that nothing of it is left")
        return self.tmux("capture-pane", "-p", "-J")

    def assert_ended_well(self):
        said = self.wait_left()
        self.assertIn("status=0", said)
        self.assertRegex(said, harness.SUMMARY)

    def wait_listing(self, is_title):
        """Waits for the head and hits of an annotated function: a screen may be seen half drawn. Gives its lines."""
        def is_drawn(lines):
            return (is_title(lines[0]) and re.match(r"time: [1-9]\d* hits, [\d.]+% of all", lines[1]) and
                    any(LISTED_HITS.match(line) for line in lines[FIRST_ROW:LINES - 1]))
        return self.wait_screen(is_drawn, "a listing")

    def header_hits(self, lines):
        """-1: none, as on a screen that is half drawn."""
        found = re.match(r"time: (\d+) hits", lines[1])
        return int(found.group(1)) if found else -1

    def wait_paused(self):
        """All is drawn when it is the same twice, for nothing changes any more."""
        seen = []

        def is_drawn(lines):
            seen.append(lines)
            return "[paused]" in "\n".join(lines) and self.header_hits(lines) >= 0 and lines in seen[-2:-1]
        return self.wait_screen(is_drawn, "[paused]")


@for_each_user_if_long
class Shows(Top):
    def test_hot_function__is_first_with_its_share(self):
        worker = self.start_with_worker()
        row = self.wait_screen(lambda lines: self.header_hits(lines) > 300)[FIRST_ROW]
        shares = [float(share) for share in re.findall(r"([\d.]+)%", row)]
        self.assertEqual(len(shares), 2, row)
        self.assertGreater(shares[1], 55)
        self.assertLess(shares[1], 95)
        self.assertTrue(row.rstrip().endswith(" shares"), row)
        lines = self.wait_screen(COLD)
        self.assertIn(f"process {worker.pid} by perf", lines[0])
        self.assertRegex(lines[1], r"outside \d+, missing \d+; ntprof itself: [\d.]+% of a processor")
        self.assertIn("q quit", lines[LINES - 1])
        self.press("q")
        self.assert_ended_well()

    def test_images__have_whole_paths_and_lead_to_their_functions(self):
        self.start_with_worker()
        self.press("i")
        self.wait_row(harness.program("shares"))
        self.press("Enter")
        lines = self.wait_screen("of " + harness.program("shares"))
        self.assertIn(HOT, lines[FIRST_ROW])
        self.assertFalse([line for line in lines[FIRST_ROW:] if "kernel" in line], lines)
        self.press("q")
        self.assert_ended_well()

    def test_processes__have_rows_of_their_own(self):
        self.start_with_worker()
        self.press("P")
        lines = self.wait_screen("processes since the last look")
        self.assertTrue(lines[FIRST_ROW].rstrip().endswith(" shares"), lines)
        self.press("q")
        self.assert_ended_well()

    def test_busy_children_that_are_not_profiled__are_named(self):
        parent = self.start(["sh", "-c", f"{harness.program('shares')} 300000 & echo $!; wait"])
        busy = int(parent.stdout.readline())
        self.addCleanup(harness.kill_quietly, busy)
        self.start_top(parent.pid)
        self.wait_screen(f"children are running: {busy} s")
        self.press("q")
        said = "".join(self.wait_left())
        self.assertIn(f"ntprof top --children {parent.pid}", said)
        self.start_top("--children", parent.pid)
        self.wait_row(HOT)
        self.press("q")
        self.assert_ended_well()

    def test_callers__of_a_function_and_of_its_caller(self):
        worker = self.start(["sh", "-c", f"exec {harness.program('call_shares')} 300000"])
        self.start_top("-g", "-p", worker.pid)
        self.wait_row("work")
        self.press("c")
        names = {"share_10", "share_20", "share_30", "share_40"}

        def is_complete(lines):
            callers = [line for line in lines if " caller share" in line]
            return " with work on the stack" in lines[2] and len(callers) == 4
        self.wait_screen(is_complete, "callers of work")
        self.press("Space")
        lines = self.wait_paused()
        hits = int(re.search(r"; (\d+) hits? ", lines[2]).group(1))
        lines = [line for line in lines if re.match(r"[> ]*[0-9.]+% ", line)]
        for relation, own in ((" caller ", names), (" itself ", {"work"})):
            rows = [line for line in lines if relation in line]
            self.assertLessEqual(own, {line.split()[5] for line in rows}, lines)
        for relations in (" caller ",), (" itself ", " callee "):
            rows = [line for line in lines if any(relation in line for relation in relations)]
            self.assertEqual(sum(int(line.split()[3]) for line in rows), hits, lines)
        self.press("w")
        self.wait_screen("wrote " + FILE)
        self.press("Home", "c")
        lines = self.wait_screen(lambda lines: re.search(r"with share_\d+ on the stack", lines[2]),
                                 "callers of a caller")
        self.assertTrue([line for line in lines if " caller main " in line], lines)
        self.press("q")
        self.wait_screen("functions since the last look")
        self.press("q")
        self.assertIn("stacks: ", self.wait_left())
        folded = text(self.ntprof("export", "--format", "folded", FILE).stdout)
        self.assertRegex(folded, r"main;share_40;work \d+")

    def test_callers_without_g__says_how(self):
        self.start_with_worker()
        self.press("c")
        self.wait_screen("callers are recorded by: ntprof top -g")
        self.press("q")
        self.assert_ended_well()

    def test_orders__by_name_and_back(self):
        self.start_with_worker()
        self.press("/")
        self.type("right")
        self.press("Enter", "s")
        self.wait_screen("functions since the start")
        self.press("s")
        self.wait_screen("functions by name")
        self.wait_row(COLD)
        self.press("r")
        self.wait_row(HOT)
        self.press("Left", "Left")
        self.wait_screen("functions since the last look")
        self.press("q")
        self.assert_ended_well()

    def test_filter__shows_what_fits_alone(self):
        self.start_with_worker()
        self.press("/")
        self.wait_screen("filter: _")
        self.type("one_u")
        self.wait_row(COLD)
        lines = self.wait_screen("filter: one_u_")
        self.assertNotIn(HOT, "\n".join(lines))
        self.press("Enter")
        self.wait_screen("with 'one_u'")
        self.press("Escape")
        self.wait_row(HOT)
        self.press("/")
        self.type("RIGHT*")
        self.wait_screen("nothing with this in its name")
        self.press("C-u")
        self.type("right*")
        self.press("Enter")
        self.wait_screen(lambda lines: re.search(r"; 2 of \d+ with 'right\*'", lines[2]), "two rows")
        self.press("q")
        self.assert_ended_well()

    def test_pause__holds_the_screen_and_nothing_is_lost(self):
        self.start_with_worker()
        self.press("Space")
        held = self.header_hits(self.wait_paused())
        self.press("?")
        self.wait_screen(HELP_WORD)
        self.press("q")
        self.assertEqual(self.header_hits(self.wait_paused()), held)
        self.press("w")
        self.wait_screen("wrote " + FILE)
        self.assertEqual(self.header_hits(self.wait_paused()), held)
        self.press("p")
        self.wait_screen(lambda lines: self.header_hits(lines) > held)
        self.press("q")
        self.assert_ended_well()

    def test_written_file__has_what_was_shown(self):
        self.start_with_worker()
        self.press("i", "Space")
        lines = self.wait_paused()
        self.press("w")
        self.wait_screen("wrote " + FILE)
        result = self.ntprof("report", "--json", "--rows", "0", FILE)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(result.stdout)
        self.assert_statistics(report)
        source = report["sources"][0]
        self.assertEqual(source["taken"], self.header_hits(lines))
        self.assertEqual(sum(row["hits"] for row in report["rows"]), source["taken"])
        shown = [line.split() for line in lines[FIRST_ROW:LINES - 1] if line.strip()]
        self.assertEqual(sum(int(words[3]) for words in shown), source["counted"])
        self.assertIn("the recording ran", report["gaps"])
        # The second time it is the same run's, and no old one.
        self.press("w", "p", "w")
        self.wait_screen("wrote " + FILE)
        self.assert_profile_file(self.folder / FILE)
        self.assertFalse((self.folder / (FILE + ".old")).exists())
        self.press("q")
        self.assert_ended_well()

    def test_file_that_cannot_be_written__is_said_and_it_goes_on(self):
        self.start_with_worker("-o", "missing/x.pb.gz")
        self.press("w")
        self.wait_screen("missing/x.pb.gz")
        self.wait_row(HOT)
        self.press("q")
        self.assert_ended_well()

    def test_help__is_shown_and_left(self):
        self.start_with_worker()
        for key in ("?", "h", "F1"):
            self.press(key)
            lines = self.wait_screen(HELP_WORD)
            self.assertIn("help", lines[0])
            self.press("q")
            self.wait_row(HOT)
        self.press("q")
        self.assert_ended_well()

    def test_annotate__shows_instructions_with_hits_and_goes_on(self):
        self.start_with_worker()
        self.press("Enter")
        lines = self.wait_listing(lambda title: HOT in title and "ntprof top" not in title)
        self.assertTrue([line for line in lines if re.search(r"[0-9a-f]{4,}: +>? *[a-z]+ ", line)], lines)
        before = int(re.match(r"time: (\d+)", lines[1]).group(1))
        self.wait_screen(lambda lines: self.header_hits(lines) > before, "a newer listing")
        self.press("q")
        self.wait_row(HOT)
        self.press("q")
        self.assert_ended_well()

    @unittest.skipIf(shutil.which("gcc") is None, "needs gcc")
    def test_inlined_functions__are_shown_with_what_they_are_in_and_annotated(self):
        source = self.folder / "inlined.c"
        source.write_text(INLINED)
        program = self.folder / "inlined"
        built = self.run_bare(["gcc", "-O2", "-g", "-o", program, source])
        self.assertEqual(built.returncode, 0, text(built.stderr))
        worker = self.start_worker(program)
        self.start_top("-p", worker.pid)
        self.wait_row(" outer_loop ")
        self.press("v")
        self.wait_row(" inner_step inlined in outer_loop ")
        self.press("Enter")
        self.wait_listing(lambda title: title.startswith("inner_step, where it was inlined, in "))
        self.press("q")
        self.wait_row(" inner_step inlined in outer_loop ")
        self.press("v")
        self.wait_row(" outer_loop ")
        self.press("Enter")
        self.wait_listing(lambda title: title.startswith("outer_loop in "))
        self.press("q")
        self.wait_row(" outer_loop ")
        self.press("q")
        self.assert_ended_well()

    def test_annotate_and_back_at_once__is_back_and_goes_on(self):
        self.start_with_worker()
        for _ in range(5):
            self.press("Enter", "q")
        self.wait_screen(lambda lines: "ntprof top" in lines[0] and HOT in lines[FIRST_ROW])
        hits = self.header_hits(self.lines())
        self.wait_screen(lambda lines: self.header_hits(lines) > hits)
        self.press("q")
        self.assert_ended_well()

    def test_several_sources__e_changes_between_them(self):
        self.start_with_worker("-e", "time,page-faults")
        self.press("e")
        self.wait_screen(lambda lines: lines[1].startswith("page-faults: "), "the other source")
        self.press("e")
        self.wait_screen(lambda lines: lines[1].startswith("time: "), "the first source")
        self.press("q")
        self.assert_ended_well()

    def test_resize__follows_and_any_size_is_survived(self):
        worker = self.start_with_worker()
        top = self.top_pid()
        self.tmux("resize-window", "-x", 60, "-y", 12)
        self.wait_screen(lambda lines: len(lines) == 12 and "q quit" in lines[11])
        for columns, lines in ((1, 1), (2, 2), (20, 3), (200, 60)):
            self.tmux("resize-window", "-x", columns, "-y", lines)
        self.wait_screen(lambda lines: len(lines) == 60 and "q quit" in lines[59])
        for size in ("0", "1", "65535"):
            subprocess.run(["stty", "-F", self.ask("pane_tty"), "rows", size, "cols", size], check=True)
            self.press("Down", "Enter")
            self.press("q")
        self.tmux("resize-window", "-x", COLUMNS, "-y", LINES)
        self.wait_screen(lambda lines: len(lines) == LINES and "q quit" in lines[LINES - 1])
        self.wait_screen(HOT)
        self.assertTrue(is_alive(top))
        peak = re.search(r"VmHWM:\s*(\d+) kB", pathlib.Path(f"/proc/{top}/status").read_text())
        if "ASAN_OPTIONS" not in os.environ:
            self.assertLess(int(peak.group(1)), 400 * 1024)
        self.assertIsNone(worker.poll())
        self.press("q")
        self.assert_ended_well()

    def test_hostile_name__is_escaped(self):
        path = self.folder / "x\x1b]0;evil\x07\x1b[31m<b>\n\udcff"
        shutil.copy(harness.program("shares"), path)
        path.chmod(0o755)
        worker = self.start_worker(str(path))
        title = self.ask("pane_title")
        self.tmux("resize-window", "-x", 200)
        self.start_top("-p", worker.pid)
        self.wait_row(HOT)
        self.press("i")
        self.wait_row(r"x\x1b]0;evil\x07\x1b[31m<b>\x0a\xff")
        self.assertEqual(self.ask("pane_title"), title)
        self.press("q")
        self.assert_ended_well()

    def test_end_of_the_process__is_said_and_the_rows_stay(self):
        worker = self.start_with_worker()
        worker.kill()
        worker.wait()
        lines = self.wait_screen("which has ended")
        self.press("s")
        self.wait_row(HOT)
        self.assertIn("by perf", lines[0])
        self.press("q")
        self.assert_ended_well()

    def test_time__ends_it(self):
        worker = self.start_worker()
        self.type_top("-p", worker.pid, "--duration", "1s", "-d", "1")
        self.assert_ended_well()
        self.assertIsNone(worker.poll())


@for_each_user_if_long
class Stores(Top):
    URL = "sqlite:s.db"

    def setUp(self):
        super().setUp()
        result = self.ntprof("store", "init", self.URL)
        if b"without SQLite" in result.stderr:
            self.skipTest("this ntprof was built without SQLite")
        self.assertEqual(result.returncode, 0, text(result.stderr))

    def add(self, host, minutes_ago, *rows):
        start = int(time.time()) - 60 * minutes_ago - 60
        line = f"{host} epoch-{host} {start} 60 10000 - - /bin/x aa11 {' '.join(rows)}\n"
        added = self.run_bare([harness.program("synthetic-agent"), self.URL], input=line.encode())
        self.assertEqual(added.stdout, b"added\n", text(added.stderr))

    def names(self, lines):
        return [line.split()[2] for line in lines[FIRST_ROW:] if line.endswith(" x")]

    def test_last_minutes__are_shown_and_change_with_the_store(self):
        self.add("web1", 2, "0x1000:6", "0x1040:2")
        self.add("web2", 30, "0x2000:100")  # older than what is shown
        self.type_top("-d", "1", self.URL)
        lines = self.wait_screen(lambda lines: self.ask("alternate_on") == "1" and len(self.names(lines)) == 2)
        self.assertIn("1 window of 1 host", lines[0])
        self.assertIn("8 hits", lines[1])
        self.assertNotIn("total", lines[3])
        self.assertEqual([line.split()[:2] for line in lines[FIRST_ROW:FIRST_ROW + 2]],
                         [["75.00%", "6"], ["25.00%", "2"]])
        self.add("web3", 1, "0x1000:2", "0x3000:20")
        lines = self.wait_screen(lambda lines: len(self.names(lines)) == 3)
        self.assertIn("2 windows of 2 hosts", lines[0])
        self.assertEqual([line.split()[1] for line in lines[FIRST_ROW:FIRST_ROW + 3]], ["20", "8", "2"])
        self.press("w")
        self.wait_screen("wrote " + FILE)
        self.press("q")
        said = self.wait_left()
        self.assertIn("status=0", said)
        self.assertIn("all of what was followed: 30 hits", said)
        report = self.ntprof("report", FILE, "--json")
        self.assertEqual(sorted(row["hits"] for row in json.loads(report.stdout)["rows"]), [2, 8, 20])

    def test_selected__by_options_and_in_the_url(self):
        self.add("web1", 30, "0x1000:6")
        self.add("db", 30, "0x2000:7")
        for words in (["--since", "1h", "--host", "web*", self.URL], [f"'{self.URL}?since=1h&host=web1'"]):
            self.type_between(" ".join([self.arguments("top")[0], "top", *words]))
            self.wait_row("100.00%         6")
            self.press("q")
            self.assertIn("status=0", self.wait_left())

    def test_nothing_any_more__is_said_and_the_rows_stay(self):
        self.add("web1", 1, "0x1000:6")
        self.type_top("-d", "1", self.URL)
        self.wait_row("100.00%         6")
        (self.folder / "s.db").rename(self.folder / "away.db")
        self.wait_screen("s.db")
        self.wait_screen("no such")
        self.wait_row("100.00%         6")
        (self.folder / "away.db").rename(self.folder / "s.db")
        self.add("web1", 0, "0x1000:4")
        self.wait_row("100.00%        10")
        self.press("q")
        self.assertIn("status=0", self.wait_left())

    def test_what_cannot_be_read__is_a_line_before_the_screen(self):
        ntprof = self.arguments("top")[0]
        for words, wanted in (("sqlite:none.db", "none.db"), (self.URL, "no window is selected"),
                              (f"--since soon {self.URL}", "--since"), (f"-d 1ms {self.URL}", "1s to a day"),
                              (f"'{self.URL}?what=1'", "what"), (f"-p 1 {self.URL}", "-p: no such option"),
                              (f"{self.URL} {self.URL}", "only one store")):
            with self.subTest(words):
                self.type_between(f"{ntprof} top {words}")
                said = self.wait_left()
                self.assertIn("status=125", said)
                self.assertIn(wanted, said)


@for_each_user_if_long
class Leaves(Top):
    def test_signals_that_end_it__table_is_left_in_order(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM):
            with self.subTest(number):
                self.start_with_worker()
                os.kill(self.top_pid(), number)
                self.assert_ended_well()

    def test_control_c__ends_it(self):
        self.start_with_worker()
        self.press("C-c")
        said = self.wait_left()
        self.assertRegex(said, harness.SUMMARY)

    def test_stopped_and_continued__comes_back_to_its_screen(self):
        self.start_with_worker()
        top = self.top_pid()
        self.press("C-z")
        wait_for(lambda: self.ask("alternate_on") == "0", "the shell's screen")
        # Only then is the terminal's mode the shell's again.
        self.wait_screen("Stopped")
        self.type("stty -a >stopped; echo then")
        self.press("Enter")
        self.wait_screen(lambda lines: "then" in lines)
        self.assertEqual((self.folder / "stopped").read_text(), (self.folder / "before").read_text())
        self.type("fg")
        self.press("Enter")
        wait_for(lambda: self.ask("alternate_on") == "1", "its screen")
        self.wait_row(HOT)
        self.assertEqual(self.top_pid(), top)
        self.press("q")
        wait_for(lambda: self.ask("alternate_on") == "0", "the shell's screen")

    def test_terminal_closed__nothing_is_left(self):
        worker = self.start_with_worker()
        top = self.top_pid()
        self.tmux("kill-session")
        wait_for(lambda: not is_alive(top), "its end")
        self.assertIsNone(worker.poll())


@for_each_user
class Refused(Top):
    def test_whole_machine__is_shown_or_what_would_allow_it_is_said(self):
        if not self.is_user():
            self.start_worker()
            self.start_top("-a")
            lines = self.wait_screen(HOT)
            self.assertIn("all processes by perf", lines[0])
            self.press("q")
            self.assert_ended_well()
            return
        self.type_top()
        said = self.wait_left()
        self.assertIn("status=125", said)
        self.assertIn("CAP_PERFMON", said)
        self.assertIn("ntprof top -p PID", said)

    def assert_refused(self, words, *wanted, **given):
        result = self.ntprof("top", *words, **given)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertTrue(said.startswith("ntprof: top: "), said)
        for word in wanted:
            self.assertIn(word, said)
        self.assertEqual(result.stdout, b"")

    def assert_refused_there(self, command, *wanted):
        """The same in the terminal; the shell's words before and behind the command are in it."""
        self.type_between(command)
        said = self.wait_left()
        self.assertIn("status=125", said)
        for word in wanted:
            self.assertIn(word, said)

    def test_wrong_options__are_named(self):
        for words, wanted in ((["-d", "0"], "-d 0:"), (["-d", "1ms"], "100ms"), (["-d", "-1"], "-d"),
                              (["-d", ""], "''"), (["-d", "soon"], "-d soon:"), (["-d", "9" * 60], "-d"),
                              (["-d"], "value"), (["-d", "2d"], "a day"),
                              (["-a", "-p", "1"], "-a is for all"), (["-p", "x"], "-p x:"),
                              (["--kernel", "--user"], "--kernel"), (["--json"], "--json"),
                              (["-q"], "-q: no such option"), (["--every", "1s"], "--every"),
                              (["--", "no-such"], "no-such: no running process"),
                              (["--host", "web1"], "--host"), (["--children"], "--children PID"),
                              (["nothing:p.db"], "no running process"),
                              (["-e", "nonsense,"], "-e")):
            with self.subTest(words):
                self.assert_refused(words, wanted)

    def test_no_terminal__is_said_before_anything_else(self):
        self.assert_refused([], "standard output is no terminal", "ntprof system")
        self.assert_refused(["-p", "1"], "standard output is no terminal")
        self.assert_refused(["sqlite:s.db"], "standard output is no terminal", "there is: ntprof report URL")
        ntprof = self.arguments("top", "-p", "1")[0]
        self.assert_refused_there(f"{ntprof} top -p 1 </dev/null", "standard input is no terminal")

    def test_description_without_a_size__shows(self):
        """That of the Linux console has none."""
        words = self.arguments("top", "-d", "200ms", "-p", self.start_worker().pid)
        self.type_between("TERM=linux " + " ".join(map(str, words)))
        self.wait_row(HOT)
        self.press("q")
        wait_for(lambda: not children_of(self.shell), "that nothing of it is left")

    def test_terminals_that_are_none__are_named(self):
        ntprof = self.arguments("top")[0]
        self.assert_refused_there(f"TERM=nonsense {ntprof} top", "TERM is 'nonsense'")
        self.assert_refused_there(f"TERM=dumb {ntprof} top", "TERM is 'dumb'")
        self.assert_refused_there(f"env -u TERM {ntprof} top", "TERM is not set")
        self.assert_refused_there(f"TERM=$(printf 'x\\033[31m') {ntprof} top", "x\\x1b[31m")

    def test_processes_that_cannot_be_profiled__terminal_is_not_taken(self):
        ended = self.start(["true"])
        ended.wait()
        ntprof = self.arguments("top")[0]
        self.assert_refused_there(f"{ntprof} top -p {ended.pid}", f"-p {ended.pid}", "no such process")
        if self.is_user():
            self.assert_refused_there(f"{ntprof} top -p 1", "-p 1", "CAP_SYS_PTRACE")


if __name__ == "__main__":
    harness.main()
