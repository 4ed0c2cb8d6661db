#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The project's own checks find what they are there to find, and the installer does no more than
it says. Each test works in a folder of its own; nothing is installed."""
import contextlib
import importlib
import io
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

TREE = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPTS = TREE / "scripts"
sys.path[:0] = [str(SCRIPTS), str(TREE / "tests/machines")]
LICENCE = "/* SPDX-License-Identifier: MIT */\n"


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60, **options)
    return done.returncode, done.stdout


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class MakeBpf(Folder):
    """The committed instructions are those of the source, or it is said that nobody looked."""

    def setUp(self):
        super().setUp()
        for name in ("include", "src", "scripts"):
            shutil.copytree(TREE / name, self.folder / name)
        self.source = self.folder / "src/hal/bpf/profile.bpf.c"
        self.target = self.folder / "src/hal/bpf/instructions.h"

    def check(self, **options):
        return run(self.folder / "scripts/make_bpf.py", "--check", **options)

    def skip_without_clang(self):
        status, said = self.check()
        if status == 77:
            self.skipTest(said.strip())

    def test_no_clang__said_and_not_passed(self):
        status, said = self.check(env={"PATH": "/nowhere"})
        self.assertEqual(status, 77)
        self.assertIn("not compared", said)

    def test_committed__same_as_the_source_gives(self):
        self.skip_without_clang()
        self.assertEqual(self.check()[0], 0)

    def test_source_changed__fault_until_made_again(self):
        self.skip_without_clang()
        text = self.source.read_text()
        self.assertEqual(text.count("own->cut++;"), 1)
        self.source.write_text(text.replace("own->cut++;", "own->cut += 2;"))
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn("run scripts/make_bpf.py", said)
        self.assertEqual(run(self.folder / "scripts/make_bpf.py")[0], 0)
        self.assertEqual(self.check()[0], 0)

    def test_instructions_changed__fault(self):
        self.skip_without_clang()
        text = self.target.read_text()
        self.target.write_text(text.replace("0x", "0X", 1))
        self.assertEqual(self.check()[0], 1)


class CheckBehaviour(Folder):
    COMMENT = "/* " + "rules: "  # in one piece it would name rules itself
    RULES = "| id | rule |\n|---|---|\n| create-this | | \n| start-that | ... |\n"

    def check(self, table, test="", option="--write"):
        if option == "--write":
            self.write("docs/behaviour.md", self.RULES)
        self.write("tests/conformance/create.txt", table)
        self.write("tests/unit/ex/create.c", test)
        return run(SCRIPTS / "check_behaviour.py", "--strict", option, self.folder)

    def test_column_of_tests__written_once(self):
        row = "row | all | both | - | SUCCESS | - | create-this, start-that\n"
        for _ in range(2):
            self.assertEqual(self.check(row, self.COMMENT + "start-that */\n")[0], 0)
            self.assertEqual((self.folder / "docs/behaviour.md").read_text(),
                             "| id | rule | tests |\n|---|---|---|\n"
                             "| create-this | | conformance/create |\n"
                             "| start-that | ... | conformance/create, unit/ex/create |\n")

    def test_column_of_tests_stale__fault(self):
        row = "row | all | both | - | SUCCESS | - | create-this, start-that\n"
        self.check(row, self.COMMENT + "start-that */\n")
        self.assertEqual(self.check(row, self.COMMENT + "start-that */\n", "--strict")[0], 0)
        status, text = self.check(row, "", "--strict")
        self.assertEqual(status, 1)
        self.assertIn("the tests of start-that", text)

    def test_no_column_of_tests__fault(self):
        self.write("docs/behaviour.md", self.RULES)
        row = "row | all | both | - | SUCCESS | - | create-this, start-that\n"
        status, text = self.check(row, "", "--strict")
        self.assertEqual(status, 1)
        self.assertIn("the tests of id", text)

    def test_rules_in_rows_and_comments__all_named(self):
        status, text = self.check("# a | b\nrow | all | both | - | SUCCESS | - | create-this\n",
                                  self.COMMENT + "start-that */\n")
        self.assertEqual(status, 0, text)
        self.assertIn("2 named by tests", text)

    def test_rule_in_neither__named(self):
        status, text = self.check("row | all | both | - | SUCCESS | - | create-this\n")
        self.assertEqual(status, 1)
        self.assertIn("no test names start-that", text)

    def test_row_with_no_rule_or_a_wrong_one__fault(self):
        status, text = self.check("row | all | both | - | SUCCESS | - | create-this, start-what\n",
                                  self.COMMENT + "start-that */\n")
        self.assertEqual(status, 1)
        self.assertIn("tests/conformance/create.txt: start-what is no rule", text)
        self.assertEqual(self.check("row | all | both | - | SUCCESS | - |\n",
                                    self.COMMENT + "create-this, start-that */\n")[0], 1)


class CheckAbi(Folder):
    """Programs built with the last release run with this library, or it is said what keeps them from it."""
    HEADER = """
#include <stddef.h>
typedef struct ntprof_session_info { size_t size; int first; int second; } ntprof_session_info;
int one(ntprof_session_info *info);
int two(int number);
"""
    SOURCE = """
#include "api.h"
int one(ntprof_session_info *info) { return info->first; }
int two(int number) { return number; }
"""

    def setUp(self):
        super().setUp()
        if shutil.which("abidw") is None:
            self.skipTest("abidw is missing; type: apt-get install abigail-tools")
        shutil.copy(TREE / "tests/abi/libntprof.suppr", self.folder / "release.suppr")
        status, said = self.check(self.HEADER, self.SOURCE, "--write")
        self.assertEqual(status, 0, said)

    def check(self, header, source, *options, flags=("-g",)):
        self.write("include/api.h", header)
        self.write("library.c", source)
        library = self.folder / "library.so"
        status, said = run("gcc", *flags, "-shared", "-fPIC", "-I", self.folder / "include", "-o", library,
                           self.folder / "library.c")
        self.assertEqual(status, 0, said)
        return run(SCRIPTS / "check_abi.py", library, self.folder / "release.abi", self.folder / "include", *options)

    def test_unchanged__compatible(self):
        self.assertEqual(self.check(self.HEADER, self.SOURCE)[0], 0)

    def test_function_added__compatible(self):
        status, said = self.check(self.HEADER + "int three(void);\n", self.SOURCE + "int three(void) { return 3; }\n")
        self.assertEqual(status, 0, said)

    def test_member_added_at_the_end_of_a_sized_struct__compatible(self):
        status, said = self.check(self.HEADER.replace("int second;", "int second; long third;"), self.SOURCE)
        self.assertEqual(status, 0, said)

    def test_member_added_in_between__fault(self):
        status, said = self.check(self.HEADER.replace("int first;", "int zeroth; int first;"), self.SOURCE)
        self.assertEqual(status, 1, said)
        self.assertIn("ntprof_session_info", said)
        self.assertIn("raise the soversion", said)

    def test_function_removed__fault(self):
        status, said = self.check(self.HEADER.replace("int two(int number);", ""),
                                  self.SOURCE.replace("int two(", "static int two("))
        self.assertEqual(status, 1, said)
        self.assertIn("two", said)

    def test_parameter_changed__fault(self):
        self.assertEqual(self.check(self.HEADER.replace("two(int ", "two(long "),
                                    self.SOURCE.replace("two(int ", "two(long "))[0], 1)

    def test_no_debug_information__skipped(self):
        status, said = self.check(self.HEADER, self.SOURCE, flags=())
        self.assertEqual(status, 77)
        self.assertIn("without debug information", said)


class CheckLayers(Folder):
    def check(self, name, include, *others):
        for other in others:
            self.write(other, LICENCE)
        self.write(name, f"{LICENCE}#include {include}\n")
        return run(SCRIPTS / "check_layers.py", self.folder)

    def test_allowed_include__no_breach(self):
        self.assertEqual(self.check("src/ex/start.c", '"ke/ke.h"', "src/ke/ke.h")[0], 0)

    def test_lower_layer_includes_higher__breach(self):
        status, text = self.check("src/rtl/list.c", '"ex/ex.h"', "src/ex/ex.h")
        self.assertEqual(status, 1)
        self.assertIn('src/rtl/list.c: rtl may not include "ex/ex.h"', text)

    def test_private_header_of_another_layer__breach(self):
        status, text = self.check("src/ex/start.c", '"ke/ki.h"', "src/ke/ki.h")
        self.assertEqual(status, 1)
        self.assertIn("private to ke", text)

    def test_private_header_beside_the_file__no_breach(self):
        self.assertEqual(self.check("src/ke/system.c", '"ki.h"', "src/ke/ki.h")[0], 0)

    def test_libc_in_core__breach(self):
        status, text = self.check("src/mm/lock.c", "<string.h>")
        self.assertEqual(status, 1)
        self.assertIn("freestanding", text)

    def test_libc_in_back_end__no_breach(self):
        self.assertEqual(self.check("src/hal/linux/ring.c", "<string.h>")[0], 0)

    def test_back_end_perf__only_headers_of_files_before__else_breach(self):
        self.assertEqual(self.check("src/hal/perf/deliver.c", '"hal/perf/watch.h"', "src/hal/perf/watch.h")[0], 0)
        status, text = self.check("src/hal/perf/target.c", '"hal/perf/opening.h"', "src/hal/perf/opening.h")
        self.assertEqual(status, 1)
        self.assertIn("target comes before opening in hal/perf", text)

    def test_tool_includes_library_inside__breach(self):
        status, text = self.check("tool/cli/run.c", '"ke/ke.h"', "src/ke/ke.h")
        self.assertEqual(status, 1)
        self.assertIn("public headers only", text)

    def test_tool__rooms_below__no_breach(self):
        for path, name in (("view/report/table.c", "profile/group.h"), ("store/sqlite/add.c", "store/engine.h"),
                           ("record/collect/preloaded.c", "preload/shared.h"), ("cli/run.c", "record/run.h")):
            root = "" if name.startswith("preload/") else "tool/"
            self.assertEqual(self.check(f"tool/{path}", f'"{name}"', root + name)[0], 0, path)

    def test_tool__rooms_above__breach(self):
        for path, name in (("base/text.c", "profile/profile.h"), ("symbols/reader/elf.c", "symbols/client/image.h"),
                           ("daemon/daemon.c", "cli/cmd.h"), ("daemon/daemon.c", "serve/serve.h"),
                           ("cli/run.c", "symbols/reader/reader.h"), ("record/collect/hits.c", "record/pace.h")):
            status, text = self.check(f"tool/{path}", f'"{name}"', f"tool/{name}")
            self.assertEqual(status, 1, path)
            self.assertIn(f'may not include "{name}"', text)

    def test_tool__public_headers_and_shared_memory__only_where_recorded(self):
        for name in ("<ntprof/ntprof.h>", '"preload/shared.h"'):
            status, text = self.check("tool/profile/x.c", name, "preload/shared.h")
            self.assertEqual(status, 1, name)
            self.assertIn("profile may not include", text)

    def test_tool__folder_without_rule__breach(self):
        status, text = self.check("tool/misc/x.c", "<stdio.h>")
        self.assertEqual(status, 1)
        self.assertIn("no rule for tool/misc", text)

    def test_tool__private_header_of_another_room__breach(self):
        self.write("tool/view/listing/listing.h", LICENCE)
        self.assertEqual(self.check("tool/view/listing/make.c", '"view/listing/listingp.h"',
                                    "tool/view/listing/listingp.h")[0], 0)
        status, text = self.check("tool/cli/run.c", '"view/listing/listingp.h"')
        self.assertEqual(status, 1)
        self.assertIn("private to view/listing", text)

    def test_two_headers__one_name_or_guard__breach(self):
        self.write("tool/ke/x.h", LICENCE)
        status, text = self.check("src/ke/ke.c", '"ke/x.h"', "src/ke/x.h")
        self.assertEqual(status, 1)
        self.assertIn("included by one name with src/ke/x.h", text)
        for name in ("tool/base/a.h", "tool/base/b.h"):
            self.write(name, f"{LICENCE}#ifndef BASE_A_H\n#define BASE_A_H\n#endif\n")
        status, text = run(SCRIPTS / "check_layers.py", self.folder)
        self.assertIn("tool/base/b.h: of one include guard with tool/base/a.h", text)

    def test_embedder_includes_core__no_breach(self):
        for include in ("<ntprof/core.h>", "<ntprof/hal.h>", "<unicorn/unicorn.h>"):
            self.assertEqual(self.check("examples/embed/embed.c", include)[0], 0)
            self.assertEqual(self.check("examples/emulator/nt32.c", include)[0], 0)

    def test_embedder_includes_inside_of_core__breach(self):
        for name in ("ex/ex.h", "ke/ki.h", "api/api.h"):
            status, text = self.check("examples/embed/embed.c", f'"{name}"', f"src/{name}")
            self.assertEqual(status, 1)
            self.assertIn("public headers only", text)

    def test_other_example_includes_core__breach(self):
        for include in ('"ex/ex.h"', "<ntprof/core.h>", "<ntprof/hal.h>"):
            self.assertEqual(self.check("examples/self.c", include, "src/ex/ex.h")[0], 1)

    def test_include_in_indented_directive__is_seen(self):
        self.write("src/mm/lock.c", f"{LICENCE}#if 1\n#  include <stdio.h>\n#endif\n")
        self.assertEqual(run(SCRIPTS / "check_layers.py", self.folder)[0], 1)

    def test_empty_tree__is_an_error(self):
        self.assertEqual(run(SCRIPTS / "check_layers.py", self.folder)[0], 1)


class Repository(Folder):
    """A folder with a repository of its own and one script in it."""

    script = None

    def setUp(self):
        super().setUp()
        if shutil.which("git") is None:
            self.skipTest("git is missing; type: apt-get install git")
        (self.folder / "scripts").mkdir()
        shutil.copy(SCRIPTS / self.script, self.folder / "scripts")
        self.git("init", "-q")

    def try_git(self, *words):
        return run("git", "-C", self.folder, "-c", "user.name=somebody", "-c", "user.email=a@b.invalid", *words)

    def git(self, *words):
        status, said = self.try_git(*words)
        self.assertEqual(status, 0, said)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")


class CheckSizes(Repository):
    """Code has limits, comments and folders have none; the table shows both."""

    script = "check_sizes.py"

    def check(self, text, *words):
        self.write("src/ke/index.c", text)
        self.git("add", "-A")
        return run(self.folder / "scripts/check_sizes.py", *words)

    def row(self, said, folder):
        return next(line.split()[1:] for line in said.splitlines() if line.split()[:1] == [folder])

    def test_800_lines_of_code__no_fault__801__fault(self):
        self.assertEqual(self.check("int a;\n" * 800)[0], 0)
        status, said = self.check("int a;\n" * 801)
        self.assertEqual(status, 1)
        self.assertIn("src/ke/index.c: 801 lines of code, more than 800", said)

    def test_comments_and_empty_lines__not_counted(self):
        status, said = self.check("/* one\n * two\n */\n\n// three\n" * 400 + "int a; /* here */\n" * 800)
        self.assertEqual(status, 0, said)
        self.assertEqual(self.row(said, "src/ke"), ["800", "-", "1600", "67", "%", "-"])

    def test_comment_in_a_string__is_code(self):
        status, said = self.check("const char *a = \"/*\";\n" + "int a;\n" * 800 + "char b = '\"'; /* \" */\n")
        self.assertEqual(status, 1)
        self.assertIn("802 lines of code", said)

    def test_function_of_60_lines_and_comments__no_fault__of_61__fault(self):
        body = "    a();\n" * 60 + "    /* why\n     * so */\n\n" * 10
        self.assertEqual(self.check(f"void\nlong_one(void)\n{{\n{body}}}\n")[0], 0)
        status, said = self.check(f"void\nlong_one(void)\n{{\n{body}    a();\n}}\n")
        self.assertEqual(status, 1)
        self.assertIn("src/ke/index.c: long_one has 61 lines of code, more than 60", said)

    def test_commit__change_since_then(self):
        self.check("int a;\n/* b */\n" * 30)
        self.git("commit", "-q", "-m", "then")
        status, said = self.check("int a;\n" * 20 + "/* b */\n" * 60, "HEAD")
        self.assertEqual(status, 0, said)
        self.assertEqual(self.row(said, "src/ke"), ["20", "-10", "60", "75", "%", "50", "%"])
        self.git("tag", "v1")
        self.assertEqual(self.row(self.check("int a;\n" * 31)[1], "all"), ["31", "+1", "0", "0", "%", "50", "%"])

    def test_no_such_commit__refused(self):
        status, said = self.check("int a;\n", "nowhere")
        self.assertEqual(status, 1)
        self.assertIn("no commit is called nowhere", said)

    def test_empty_tree__is_an_error(self):
        self.assertEqual(run(self.folder / "scripts/check_sizes.py")[0], 1)


class CheckHeaders(Folder):
    def check(self, text):
        self.write("include/ntprof/x.h", text)
        return run(SCRIPTS / "check_headers.py", self.folder)

    def test_documented__no_breach(self):
        text = LICENCE + "/* ntprof_x - does x. */\nint ntprof_x(int a,\n             int b);\n"
        self.assertEqual(self.check(text), (0, "check_headers: 1 public headers, 0 breaches\n"))

    def test_undocumented__breach(self):
        status, text = self.check(LICENCE + "/* Does x. */\nint ntprof_x(void);\n")
        self.assertEqual(status, 1)
        self.assertIn("ntprof_x has no doc comment", text)

    def test_zw_twin_of_documented__no_breach(self):
        text = LICENCE + "/* NtX - does x. */\nint NtX(void);\nint ZwX(void);\n"
        self.assertEqual(self.check(text)[0], 0)

    def test_no_licence__breach(self):
        status, text = self.check("/* ntprof_x - does x. */\nint ntprof_x(void);\n")
        self.assertEqual(status, 1)
        self.assertIn("no SPDX line", text)


class CheckNames(Folder):
    def check(self, text):
        self.write("a.txt", text)
        run("git", "init", "-q", cwd=self.folder)
        run("git", "add", "a.txt", cwd=self.folder)
        return run(SCRIPTS / "check_names.sh", self.folder)[0]

    def test_plain_text__no_find(self):
        self.assertEqual(self.check("work and rework/here\n"), 0)

    def test_machine_path__found(self):
        self.assertEqual(self.check("see /" + "work/x\n"), 1)

    def test_registry_host__found(self):
        self.assertEqual(self.check("https://py" + "pi.org/x\n"), 1)


class CheckEvents(Folder):
    """Refreshing a clock event hangs some kernels."""

    def check(self, text, name="src/hal/perf/x.c"):
        self.write(name, LICENCE + text)
        return run(SCRIPTS / "check_events.py", self.folder)

    def test_enable_and_disable__no_fault(self):
        status, said = self.check("ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);\nioctl(fd, PERF_EVENT_IOC_DISABLE, 0);\n")
        self.assertEqual((status, said), (0, "check_events: 1 files, 0 faults\n"))

    def test_refresh_by_name_number_or_macro__fault_with_its_line(self):
        for call in ("PERF_EVENT_IOC_REFRESH", "0x2402", "_IO('$', 2)"):
            with self.subTest(call):
                status, said = self.check(f"int f(void)\n{{\n    return ioctl(fd, {call}, 1);\n}}\n")
                self.assertEqual(status, 1)
                self.assertIn("src/hal/perf/x.c:4: PERF_EVENT_IOC_REFRESH hangs", said)

    def test_refresh_in_python__fault(self):
        self.assertEqual(self.check("fcntl.ioctl(fd, 0x2402, 1)\n", "tests/integration/x.py")[0], 1)

    def test_refresh_in_a_comment__no_fault(self):
        self.assertEqual(self.check("/* Never\n * PERF_EVENT_IOC_REFRESH. */\n// IOC_REFRESH\n")[0], 0)

    def test_empty_tree__is_an_error(self):
        self.assertEqual(run(SCRIPTS / "check_events.py", self.folder)[0], 1)


class PreCommit(Repository):
    """git refuses a commit for which make quick fails, where somebody asked for that."""

    script = "pre-commit"

    def setUp(self):
        super().setUp()
        if shutil.which("make") is None:
            self.skipTest("make is missing; type: apt-get install make")

    def try_commit(self, recipe):
        self.write("Makefile", f"quick:\n\t@{recipe}\n")
        self.git("add", "-A")
        return self.try_git("-c", "core.hooksPath=scripts", "commit", "-q", "-m", "change")

    def test_quick_fails__no_commit(self):
        status, said = self.try_commit("echo that is wrong; false")
        self.assertNotEqual(status, 0)
        self.assertIn("that is wrong", said)
        self.assertNotEqual(self.try_git("rev-parse", "HEAD")[0], 0)

    def test_quick_passes__commit(self):
        self.assertEqual(self.try_commit("true")[0], 0)
        self.git("rev-parse", "HEAD")

    def test_tests_that_use_git__are_not_led_to_this_repository(self):
        status, said = self.try_commit('test -z "$$GIT_DIR$$GIT_INDEX_FILE"')
        self.assertEqual(status, 0, said)


class MakeDist(Repository):
    """The archive is what is committed, and the same commit gives the same bytes."""

    script = "make_dist.sh"

    def setUp(self):
        super().setUp()
        self.write("meson.build", "project('ntprof', 'c',\n  version : '1.2.3',\n  license : 'MIT')\n")
        self.results = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.results)
        self.commit()

    def make(self):
        status, said = run(self.folder / "scripts/make_dist.sh", self.results)
        self.assertEqual(status, 0, said)
        archive = self.results / "ntprof-1.2.3.tar.gz"
        self.assertEqual(list(self.results.iterdir()), [archive])
        return archive.read_bytes()

    def test_same_commit__same_bytes(self):
        first = self.make()
        for path in self.folder.rglob("*.build"):
            os.utime(path, (1, 1))
        self.assertEqual(self.make(), first)

    def test_contents__files_of_the_commit_in_a_folder_of_the_version(self):
        self.make()
        status, said = run("tar", "-tzf", self.results / "ntprof-1.2.3.tar.gz")
        self.assertEqual((status, [name for name in said.split() if not name.endswith("/")]),
                         (0, ["ntprof-1.2.3/meson.build", "ntprof-1.2.3/scripts/make_dist.sh"]))

    def write_make_static(self, machines):
        self.write("scripts/make_static.sh", f'case $2 in {machines}) ;; *) echo "$2: no root"; exit 77 ;; esac\n'
                   'mkdir -p "$1/tool" && echo one >"$1/tool/ntprof"\n').chmod(0o755)
        self.commit()

    def test_build_folder__one_file_of_each_machine_and_sums(self):
        self.write_make_static("*")
        status, said = run(self.folder / "scripts/make_dist.sh", self.results, self.results / "build")
        self.assertEqual(status, 0, said)
        sums = (self.results / "SHA256SUMS").read_text()
        self.assertEqual([line.split()[1] for line in sums.splitlines()],
                         ["ntprof-1.2.3.tar.gz", "ntprof-1.2.3-amd64", "ntprof-1.2.3-arm64"])

    def test_machine_that_cannot_be_built_for__refused(self):
        self.write_make_static("amd64")
        (self.results / "SHA256SUMS").write_text("of the last run\n")
        status, said = run(self.folder / "scripts/make_dist.sh", self.results, self.results / "build")
        self.assertEqual(status, 1, said)
        self.assertIn("make_dist: arm64: no root; to leave it out: scripts/make_dist.sh --some ", said)
        self.assertFalse((self.results / "SHA256SUMS").exists())

    def test_some__machine_that_cannot_be_built_for_is_left_out(self):
        self.write_make_static("amd64")
        status, said = run(self.folder / "scripts/make_dist.sh", "--some", self.results, self.results / "build")
        self.assertEqual(status, 0, said)
        self.assertIn("left out: arm64: no root", said)
        self.assertEqual((self.results / "ntprof-1.2.3-amd64").read_text(), "one\n")
        sums = (self.results / "SHA256SUMS").read_text()
        self.assertEqual([line.split()[1] for line in sums.splitlines()], ["ntprof-1.2.3.tar.gz", "ntprof-1.2.3-amd64"])
        self.assertEqual(subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=self.results).returncode, 0)

    def test_file_not_committed__refused_and_named(self):
        self.write("new.c", "")
        status, said = run(self.folder / "scripts/make_dist.sh", self.results)
        self.assertEqual(status, 1)
        self.assertIn("?? new.c", said)
        self.assertEqual(list(self.results.iterdir()), [])


class Release(Folder):
    """All files name one version, and a release writes a later one into each."""

    CHANGES = "# Changelog\n\n## Not yet released\n\n### Added\n\n- A thing.\n\n## 1.2.3 - 2026-01-02\n\n- First.\n"

    def setUp(self):
        super().setUp()
        self.write("meson.build", "project('ntprof', 'c',\n  version : '1.2.3',\n  meson_version : '>=1.0')\n")
        self.write("CHANGELOG.md", self.CHANGES)
        self.write("debian/changelog", "ntprof (1.2.3) unstable; urgency=medium\n\n  * First.\n\n"
                                       " -- somebody <a@b.invalid>  Fri, 02 Jan 2026 12:00:00 +0000\n")

    def release(self, *words):
        return run(SCRIPTS / "release.py", *words, self.folder)

    def text(self, name):
        return (self.folder / name).read_text()

    def test_this_tree__one_version(self):
        self.assertEqual(run(SCRIPTS / "release.py", "--check")[0], 0)

    def test_later_version__in_each_file(self):
        status, said = self.release("1.10.0")
        self.assertEqual(status, 0, said)
        self.assertIn("  version : '1.10.0',\n  meson_version : '>=1.0'", self.text("meson.build"))
        self.assertRegex(self.text("CHANGELOG.md"), r"\A# Changelog\n\n## Not yet released\n\n"
                         r"## 1\.10\.0 - \d{4}-\d\d-\d\d\n\n### Added\n\n- A thing\.\n\n## 1\.2\.3 - 2026-01-02\n")
        self.assertRegex(self.text("debian/changelog"),
                         r"\Antprof \(1\.10\.0\) .*\n\n.*\n\n -- somebody <a@b\.invalid>  .*\n\nntprof \(1\.2\.3\)")
        self.assertEqual(self.release("--check")[0], 0)

    def test_no_later_version__refused_and_nothing_changed(self):
        for version in ("1.2.3", "1.2.2", "2", "1.2.3.4", "v2.0.0"):
            with self.subTest(version):
                self.assertEqual(self.release(version)[0], 1)
                self.assertIn("'1.2.3'", self.text("meson.build"))
                self.assertEqual(self.text("CHANGELOG.md"), self.CHANGES)

    def test_no_changes__refused(self):
        self.write("CHANGELOG.md", self.CHANGES.replace("### Added\n\n- A thing.\n\n", ""))
        status, said = self.release("1.3.0")
        self.assertEqual(status, 1)
        self.assertIn("no changes", said)

    def test_versions_differ__named(self):
        self.write("meson.build", "project('ntprof', 'c',\n  version : '1.2.4',\n  meson_version : '>=1.0')\n")
        status, said = self.release("--check")
        self.assertEqual(status, 1)
        self.assertIn("meson.build '1.2.4', debian/changelog '1.2.3'", said)

    def test_changes_without_a_section__fault(self):
        self.write("CHANGELOG.md", self.CHANGES.replace("## Not yet released\n\n### Added\n\n- A thing.\n\n", ""))
        self.assertEqual(self.release("--check")[0], 1)


class TestSummary(Folder):
    def summary(self, *tests, options=("--counts",)):
        lines = "".join(json.dumps(test) + "\n" for test in tests)
        return run(SCRIPTS / "test_summary.py", *options, self.write("log.json", lines))

    def test_cases_are_counted__each(self):
        out = "[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[  FAILED  ] b\n"
        status, text = self.summary({"name": "p:u / x", "stdout": out, "result": "FAIL"})
        self.assertEqual(status, 1)
        self.assertIn("counts 1 1", text)

    def test_crash_between_cases__is_a_failure(self):
        out = "[ RUN      ] a\n[       OK ] a\n"
        self.assertIn("counts 1 1", self.summary({"name": "x", "stdout": out, "result": "FAIL"})[1])

    def test_skip__reason_is_what_was_printed(self):
        out = "[ RUN      ] a\nno PMU here\n[  SKIPPED ] a\n"
        status, text = self.summary({"name": "x", "stdout": out, "result": "OK"})
        self.assertEqual(status, 0)
        self.assertIn("  x/a: no PMU here\n", text)
        self.assertIn("counts 0 0", text)

    def test_strict_skip_not_listed__is_a_failure(self):
        out = "[ RUN      ] a\nno PMU here\n[  SKIPPED ] a\n"
        test = {"name": "x", "stdout": out, "result": "OK"}
        self.assertIn("counts 0 1", self.summary(test, options=("--strict", "--counts"))[1])

    def test_strict_skip_for_a_reason_that_any_may_give__passes(self):
        out = "[ RUN      ] a\nbreakpoints do not fire here\n[  SKIPPED ] a\n"
        test = {"name": "x", "stdout": out, "result": "OK"}
        self.assertIn("counts 0 0", self.summary(test, options=("--strict", "--counts"))[1])

    def test_program_without_cases__counts_once(self):
        self.assertIn("counts 1 0", self.summary({"name": "x", "stdout": "", "result": "OK"})[1])

    def again(self, second, listed="x: waits 10 ms for a signal\n"):
        out = "[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[  FAILED  ] b\n"
        path = self.write("second.json", json.dumps({"name": "p / x", **second}) + "\n")
        return self.summary({"name": "p / x", "stdout": out, "result": "FAIL"},
                            options=("--counts", "--again", str(path), "--unstable",
                                     str(self.write("unstable.txt", "# comment\n\n" + listed))))

    PASSED = "[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[       OK ] b\n"

    def test_second_run_passes_and_is_listed__counted_and_first_failure_named(self):
        status, text = self.again({"stdout": self.PASSED, "result": "OK"})
        self.assertEqual(status, 0)
        self.assertIn("counts 2 0", text)
        self.assertIn("unstable: x is listed: waits 10 ms for a signal\n", text)
        self.assertIn("unstable: x: FAIL\nunstable:   case b\n", text)
        self.assertIn(", 1 unstable", text)

    def test_second_run_passes_and_is_not_listed__is_a_failure(self):
        for listed in ("", "y: another program\n", "#x: no longer\n"):
            status, text = self.again({"stdout": self.PASSED, "result": "OK"}, listed)
            self.assertEqual(status, 1)
            self.assertIn("counts 2 1", text)
            self.assertIn("unstable:   case b\n", text)
            self.assertIn("failed: x: failed, then passed alone;", text)

    def test_listed_without_a_cause__refused(self):
        for listed in ("x\n", "x:\n"):
            status, text = self.again({"stdout": self.PASSED, "result": "OK"}, listed)
            self.assertEqual(status, 1)
            self.assertIn("unstable.txt:3: a line is PROGRAM: CAUSE", text)
            self.assertNotIn("counts", text)

    def test_unstable_list_of_the_tree__can_be_read(self):
        status, text = self.summary({"name": "x", "stdout": "", "result": "OK"})
        self.assertEqual((status, text.count("counts 1 0")), (0, 1))

    def test_second_run_fails__is_a_failure(self):
        out = "[ RUN      ] a\n[  FAILED  ] a\n"
        status, text = self.again({"stdout": out, "result": "FAIL"})
        self.assertEqual(status, 1)
        self.assertIn("counts 0 1", text)
        self.assertNotIn("unstable", text)

    def failed(self, **test):
        return self.summary({"name": "x", "result": "FAIL", "returncode": 1, **test},
                            {"name": "y", "result": "OK", "returncode": 0}, options=("--failed",))[1]

    def test_failed_programs__named_for_a_second_run(self):
        self.assertEqual(self.failed(), "x\n")

    def test_crash_or_report_of_a_sanitizer__no_second_run(self):
        self.assertEqual(self.failed(returncode=-11), "")
        self.assertEqual(self.failed(returncode=-5), "x\n")
        self.assertEqual(self.failed(stderr="==1==ERROR: AddressSanitizer: heap-use"), "")
        self.assertEqual(self.failed(stderr="x.c:1:2: runtime error: overflow"), "")


class RunTests(Folder):
    """With a meson of its own, whose first run has failed programs and whose second run passes."""

    def run_tests(self, listed, failed=("x",)):
        logs = self.folder / "build" / "meson-logs"
        logs.mkdir(parents=True, exist_ok=True)
        log = "\n".join(json.dumps({"name": name, "result": "FAIL", "returncode": 1}) for name in failed)
        again = json.dumps({"name": failed[0], "result": "OK", "returncode": 0})
        meson = self.write("meson", f"""#!/bin/sh
case "$*" in
*second*) echo "alone: $*"; echo '{again}' >{logs}/second.json ;;
*) echo '{log}' >{logs}/testlog.json; exit 1 ;;
esac
""")
        meson.chmod(0o755)
        environment = {**os.environ, "MESON": str(meson),
                       "NTPROF_UNSTABLE": str(self.write("unstable.txt", listed))}
        return run(SCRIPTS / "run_tests.sh", str(self.folder / "build"), env=environment)

    def test_unstable_program_that_is_not_listed__fails_the_run(self):
        status, said = self.run_tests("")
        self.assertEqual(status, 1)
        self.assertRegex(said, r"alone: test .* --num-processes 1 .* x\n")
        self.assertIn("failed: x: failed, then passed alone;", said)

    def test_unstable_program_that_is_listed__passes(self):
        status, said = self.run_tests("x: waits 10 ms for a signal\n")
        self.assertEqual(status, 0, said)
        self.assertIn("unstable: x is listed: waits 10 ms for a signal\n", said)

    def test_more_than_three_failed__not_run_again(self):
        status, said = self.run_tests("x: waits 10 ms for a signal\n", failed=("x", "a", "b", "c"))
        self.assertEqual(status, 1)
        self.assertNotIn("alone: ", said)


class FindI386Compiler(Folder):
    """By compilers that are scripts: what they lack decides."""

    def compiler(self, name, body):
        path = self.write(name, f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return str(path)

    def find(self, *commands):
        return run(TREE / "preload" / "find_i386_compiler.sh", *commands)

    def test_links_but_has_no_headers_of_the_kernel__the_next_one(self):
        native = self.compiler("native", 'case "$*" in *preload/*.c*)\n'
                               'echo "x.h:1: fatal error: asm/errno.h: No such" >&2; exit 1 ;; esac')
        cross = self.compiler("cross", "exit 0")
        status, said = self.find(native + " -m32", cross)
        self.assertEqual(status, 0)
        self.assertEqual(said.splitlines(), [f"{native} -m32: x.h:1: fatal error: asm/errno.h: No such", cross])

    def test_builds_the_preload_object_but_no_program__no_compiler(self):
        native = self.compiler("native", 'case "$*" in *main.c*) echo "ld: cannot find crt1.o" >&2; exit 1 ;; esac')
        status, said = self.find(native, str(self.folder / "none"))
        self.assertEqual(status, 1)
        self.assertIn("cannot find crt1.o", said)
        self.assertIn("not found", said)

    def test_flags__are_given_to_the_preload_object(self):
        native = self.compiler("native", 'case "$*" in *preload/*.c*-Wl,-z,now*|*main.c*) ;; *) exit 1 ;; esac')
        self.assertEqual(self.find(native, "--", "-Wl,-z,now"), (0, native + "\n"))
        self.assertEqual(self.find(native)[0], 1)


class CheckMachines(Folder):
    """What check_machines.py shows of boots that there were, and does about what it cannot make."""

    def setUp(self):
        super().setUp()
        self.script = importlib.import_module("check_machines")
        self.replace("CACHE", self.folder)
        self.first, self.second = self.script.MACHINES[:2]

    def replace(self, name, value):
        patch = unittest.mock.patch.object(self.script, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def boot(self, machine, *results):
        folder = self.script.begin_results(machine, "abc")
        (folder / "results").write_text("".join(json.dumps(result) + "\n" for result in results))

    def kept(self, machine, commit="abc"):
        return self.script.kept_results(machine, commit)[0]

    def test_results__of_this_commit_these_settings_and_a_whole_boot_only(self):
        self.assertEqual(self.kept(self.first), {})
        self.boot(self.first, ["kernel", "ok", "6.1"])
        self.assertEqual(self.kept(self.first), {})
        self.boot(self.first, ["kernel", "ok", "6.1"], ["end", "ok", ""])
        self.assertEqual(list(self.kept(self.first)), ["kernel", "end"])
        self.assertEqual(self.kept(self.first, "def"), {})
        self.assertEqual(self.kept(self.first._replace(command_line="nosmp")), {})

    def main(self, *words, commit="abc", boot=None, results=(["kernel", "ok", "6.1"], ["end", "ok", ""])):
        """(status, what it says, the file of the table) of the command; each of its two machines has these results."""
        self.replace("MACHINES", [self.first, self.second])
        self.replace("FILE", self.folder / "environments.md")
        self.replace("commit_of_tree", lambda: commit)
        self.replace("prepare", lambda machines, *_: {one: ("kernel", "image", "build", {}) for one in machines})
        self.replace("boot", boot or (lambda machine, *_: self.boot(machine, *results)))
        said = io.StringIO()
        with unittest.mock.patch("os.geteuid", return_value=0), unittest.mock.patch("shutil.which"), \
                unittest.mock.patch("signal.signal"), contextlib.redirect_stdout(said), \
                contextlib.redirect_stderr(said), \
                unittest.mock.patch("sys.argv", ["check_machines.py", "build", *words]):
            try:
                status = self.script.main()
            except SystemExit as end:
                status = end.code
        return status, said.getvalue(), self.script.FILE.read_text() if self.script.FILE.exists() else None

    def test_write__table_replaces_the_last_one_below_the_others(self):
        self.write("environments.md", "# Others\n\nA line.\n\n")
        for _ in range(2):
            status, said, table = self.main("--write")
            self.assertEqual(status, 0, said)
            self.assertTrue(table.startswith("# Others\n\nA line.\n\n" + self.script.HEAD), table)
            self.assertEqual(table.count("| kernel | 6.1 | 6.1 |\n"), 1)
        self.assertIn("4 passed, 0 failed\n", said)

    def test_write_word__other_machines_are_not_run(self):
        self.write("environments.md", "")
        status, said, table = self.main("--write", self.second.name)
        self.assertEqual(status, 0, said)
        self.assertIn(f"Not run: {self.first.name}: all.", table)
        self.assertIn("| kernel | not run | 6.1 |\n", table)

    def test_write__a_step_failed__no_table(self):
        self.write("environments.md", "before")
        status, said, table = self.main("--write", results=(["kernel", "FAILED", "x [kernel.log]"], ["end", "ok", ""]))
        self.assertEqual((status, table), (1, "before"))
        self.assertIn("2 passed, 2 failed\n", said)

    def test_write__changes_in_the_tree__refused(self):
        status, said, table = self.main("--write", commit="abc with changes")
        self.assertEqual((status, table), (1, None))
        self.assertIn("commit what the table is to be of", said)

    def test_short__some_machines_and_no_table(self):
        status, said, table = self.main("--short")
        self.assertEqual((status, table), (0, None), said)
        self.assertIn("2 passed, 0 failed\n", said)

    def test_word_of_no_machine__refused(self):
        status, said, _ = self.main("--write", "Debain")
        self.assertEqual(status, 2)
        self.assertIn("no machine has Debain in its name", said)

    def test_steps_with_nothing_to_try__not_passed(self):
        said = self.main(results=(["kernel", "ok", "6.1"], ["packages", "ok", "-"], ["end", "ok", ""]))[1]
        self.assertIn("4 passed, 0 failed, 2 with nothing to try (-)\n", said)

    def test_boot_that_cannot_be_followed__others_go_on(self):
        def boot(machine, *_):
            if machine == self.first:
                raise OSError(28, "No space left on device")
            self.boot(machine, ["kernel", "ok", "6.1"], ["end", "ok", ""])

        status, said, _ = self.main(boot=boot)
        self.assertEqual(status, 1)
        self.assertEqual(self.kept(self.first)["preparation"], ("FAILED", "boot: [Errno 28] No space left on device"))
        self.assertIn("| kernel | not run | 6.1 |\n", said)

    def boot_guest(self, guest, **files):
        """Results of a machine that is a shell's program, whose folder is $1."""
        self.replace("arguments", lambda machine, kernel, image, out: ["sh", "-c", guest, "sh", out])
        sleep = self.script.time.sleep
        with unittest.mock.patch.object(self.script.time, "sleep", lambda _: sleep(0.01)), \
                contextlib.redirect_stdout(io.StringIO()):
            self.script.boot(self.first, "abc", 0, "kernel", "image", "build", files)
        return self.kept(self.first)

    def test_guest_ends_in_the_middle_of_a_line__its_lines_count(self):
        results = self.boot_guest("""printf '["kernel", "ok", "6.1"]\\n["run, ro' >"$1/results"; exit 3""")
        self.assertEqual(results, {"kernel": ("ok", "6.1"), "end": (
            "FAILED", "the guest ended in the middle, by status 3 [console]")})

    def test_guest_does_not_end__killed_in_time(self):
        self.replace("LIMIT_S", 0)
        results = self.boot_guest("""sleep 1000 & wait""")
        self.assertEqual(results, {"end": ("FAILED", "the guest had not ended after 0 s [console]")})

    def test_guest__has_what_was_made_and_why_not(self):
        self.write("made/one.tar", "x")
        guest = """echo '["end", "ok", ""]' >"$1/results"; ls "$1/packages"; cat "$1/one-file.failed" """
        results = self.boot_guest(guest, packages=self.folder / "made",
                                  **{"one-file": self.script.Failure("no clang")})
        self.assertEqual(results, {"end": ("ok", "")})
        self.assertEqual((self.script.results_of(self.first) / "console").read_text(), "one.tar\nno clang")

    def test_made__again_with_another_recipe_only(self):
        def make(folder):
            folder.mkdir()
            recipes.append(recipe)

        recipes = []
        with contextlib.redirect_stdout(io.StringIO()):
            for recipe in ("a", "a", "b"):
                self.assertTrue(self.script.made(self.folder / "root", make, recipe).is_dir())
        self.assertEqual(recipes, ["a", "b"])

    def test_image__made_again_of_another_tree_or_build_only(self):
        def run(*words, **_):
            if words[0] == "mke2fs":
                made.append(words)
                words[6].touch()
                os.utime(words[6], (4e9, 4e9))

        made = []
        self.replace("run", run)
        for name in ("root", "a", "b"):
            (self.folder / name).mkdir()
        for tree, build in ("aa", "aa", "ab", "bb", "bb"):
            self.replace("TREE", self.folder / tree)
            self.script.make_image(self.folder / "amd64.img", self.folder / "root", self.folder / build)
        self.assertEqual(len(made), 3)

    def test_table__what_was_not_run_is_told(self):
        columns = {"first": {"kernel": ("ok", "6.1"), "tests": ("not run", ""), "end": ("ok", "")},
                   "second": {"kernel": ("ok", "6.12"), "end": ("ok", "")}, "third": {}}
        table = self.script.format_table(columns)
        self.assertIn("| kernel | 6.1 | 6.12 | not run |", table)
        self.assertIn("| tests | not run | - | not run |", table)
        self.assertEqual(self.script.format_origin(columns, "abc", ["2026-01-02", "2026-01-03"]),
                         "Of commit abc, 2026-01-02 to 2026-01-03. Not run: first: tests; third: all.\n")

    def test_prepare__what_fails_is_missing_for_its_machine_only(self):
        def make_kernel(folder, machine):
            if machine == self.first:
                raise subprocess.CalledProcessError(2, ["mmdebstrap"], stderr="E: no mirror\n")
            folder.mkdir()

        self.replace("make_kernel", make_kernel)
        self.replace("prepare_architecture", lambda *given: ("image", "build", {}))
        prepared = self.script.prepare([self.first, self.second], "build", "abc", False, False)
        self.assertEqual(prepared[self.first], "prepare_kernel: mmdebstrap: status 2 E: no mirror")
        self.assertEqual(prepared[self.second][1:], ("image", "build", {}))

    def test_table__each_refusal_once_below_it(self):
        table = self.script.format_table({
            "old": {"kernel": ("ok", "5.10"), "run": ("ok", ""), "bpf": ("refused", "too old"),
                    "top": ("refused", "too old"), "end": ("ok", "")},
            "new": {"kernel": ("ok", "7.2"), "bpf": ("FAILED", "sources/a: status 1 [bpf.log]"),
                    "tests": ("ok", "9 passed"), "end": ("ok", "")}})
        self.assertEqual(table.splitlines(), [
            "| step | old | new |", "|---|---|---|", "| kernel | 5.10 | 7.2 |", "| run | ok | - |",
            "| bpf | [1] | FAILED: bpf.log |", "| top | [1] | - |", "| tests | - | 9 passed |",
            "| end | ok | ok |", "", "| line | what ntprof says |", "|---|---|", "| [1] | `too old` |"])


class MachinesOfTree(Repository):
    """What check_machines.py takes of a checkout."""

    script = "check_package.sh"

    def setUp(self):
        super().setUp()
        self.module = importlib.import_module("check_machines")
        self.cache = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.cache)
        self.write("docs/environments.md", "a table\n")
        self.write("scripts/check_package.sh", '#!/bin/sh\ncd "$(dirname "$0")/.."\n'
                   'git status --porcelain >"$3/status"; cp docs/environments.md "$3"\n').chmod(0o755)
        self.commit()
        table = self.folder / "docs/environments.md"
        for name, value in (("TREE", self.folder), ("FILE", table), ("CACHE", self.cache)):
            patch = unittest.mock.patch.object(self.module, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def test_commit__with_changes_if_a_file_but_the_table_differs(self):
        commit = self.module.commit_of_tree()
        self.assertRegex(commit, "^[0-9a-f]{12}$")
        self.write("docs/environments.md", "a newer table\n")
        self.assertEqual(self.module.commit_of_tree(), commit)
        path = self.write("new.c", "")
        self.assertEqual(self.module.commit_of_tree(), commit + " with changes")
        path.unlink()
        self.write("scripts/check_package.sh", "")
        self.assertEqual(self.module.commit_of_tree(), commit + " with changes")

    def test_packages__of_what_is_committed_beside_a_newer_table(self):
        self.write("docs/environments.md", "a newer table\n")
        folder = self.module.make_packages("abc")
        self.assertEqual((folder / "status").read_text(), "")
        self.assertEqual((folder / "environments.md").read_text(), "a table\n")


class MachineSteps(Folder):
    """What steps.py makes of results of tests."""

    def setUp(self):
        super().setUp()
        self.steps = importlib.import_module("steps")
        self.replace("BUILD", self.folder)

    def replace(self, name, value):
        patch = unittest.mock.patch.object(self.steps, name, value, create=True)
        patch.start()
        self.addCleanup(patch.stop)

    def run_tests(self, **statuses):
        """statuses: those of each test, of one run after the other."""
        def run_test(test, end=math.inf):
            self.ends.append(end)
            return test["name"], statuses[test["name"]].pop(0), ""

        self.ends = []
        self.replace("TESTS_END", None)
        self.replace("run_test", run_test)
        self.replace("listed_tests", lambda: [{"name": name, "suite": ["ntprof:unit"], "is_parallel": True}
                                              for name in statuses])
        with contextlib.redirect_stdout(io.StringIO()):
            return self.steps.run_tests("unit", 10)

    def test_all_left_out_for_time__not_run(self):
        with self.assertRaises(self.steps.NotRun):
            self.run_tests(a=[None], b=[None])
        with self.assertRaises(self.steps.NotRun):
            self.run_tests(a=[None], b=[77])
        self.assertEqual(self.run_tests(a=[0], b=[None]), "1 passed, 1 left out for time")

    def test_no_tests_or_all_skipped__fail(self):
        with self.assertRaisesRegex(AssertionError, "no tests"):
            self.run_tests()
        with self.assertRaisesRegex(AssertionError, "1 skipped"):
            self.run_tests(a=[77])

    def test_failed__once_more_whatever_time_is_left(self):
        self.assertEqual(self.run_tests(a=[0], b=[1, 0], c=["hangs", 0]), "1 passed, 2 passed only alone")
        self.assertEqual(self.ends[3:], [math.inf, math.inf])
        self.assertEqual(self.run_tests(a=[-5, 0]), "1 passed only alone")
        with self.assertRaisesRegex(AssertionError, "^b$"):
            self.run_tests(a=[1, 0], b=[1, 1], c=[None])

    def test_crash_or_more_than_three__no_second_try(self):
        for crash in (-11, 134):
            with self.assertRaisesRegex(AssertionError, "^a b$"):
                self.run_tests(a=[crash], b=[1], c=[0])
        with self.assertRaisesRegex(AssertionError, "^a b c d$"):
            self.run_tests(a=[1], b=[1], c=[1], d=[1])

    def test_test_that_hangs__what_it_printed_is_kept(self):
        test = {"name": "a", "cmd": ["sh", "-c", "echo begun; exec sleep 1000"], "env": {}, "timeout": 1}
        self.assertEqual(self.steps.run_test(test), ("a", "hangs", "begun\n"))

    def test_command_that_hangs__what_it_printed_is_in_the_log(self):
        self.replace("STEP_LIMIT_S", 2)
        self.replace("show_hanging", lambda _: None)
        log = io.StringIO()
        with contextlib.redirect_stdout(log), self.assertRaises(subprocess.TimeoutExpired):
            self.steps.run("sh", "-c", "echo begun; exec sleep 1000")
        self.assertIn("begun", log.getvalue().splitlines())

    def test_packages_that_are_not_there__not_run_on_arm64(self):
        self.replace("HERE", self.folder)
        self.replace("ARM", False)
        self.assertEqual(self.steps.debian_packages(), "-")
        self.replace("ARM", True)
        with self.assertRaises(self.steps.NotRun):
            self.steps.debian_packages()


class InstallPackages(Folder):
    """With commands of its own on PATH: dpkg-query knows what `installed` says."""

    def install(self, *installed, tier="build", user=0, sudo=False, packages=None, apt_status=0):
        self.bin = self.folder / "bin"
        self.bin.mkdir(exist_ok=True)
        for name in ["sh", "dirname", "sed", "tr", "grep", "printf", "env", "cat"]:
            target = self.bin / name
            if not target.exists():
                target.symlink_to(shutil.which(name))
        known = "".join(f"echo '{name}:amd64 installed'\n" for name in installed)
        self.command("dpkg-query", known)
        self.command("id", f"echo {user}")
        log = self.folder / "apt.log"
        self.command("apt-get", f'echo "$DEBIAN_FRONTEND apt-get $*" >>{log}\n'
                     f'case "$*" in *install*) exit {apt_status} ;; esac')
        if sudo:
            self.command("sudo", f'echo "sudo $*" >>{log}\n"$@"')
        packages = packages or "build one\nbuild two twocmd\ncheck three\nbench four\n"
        environment = {"PATH": str(self.bin),
                       "NTPROF_PACKAGES": str(self.write("packages.txt", packages))}
        status, text = run(SCRIPTS / "install_packages.sh", tier, env=environment)
        return status, text, log.read_text() if log.exists() else ""

    def command(self, name, body):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def test_all_there__nothing_is_said_or_done(self):
        self.assertEqual(self.install("one", "two"), (0, "", ""))

    def test_one_missing__only_it_is_installed(self):
        status, text, log = self.install("one")
        self.assertEqual(status, 0)
        self.assertEqual(text, "install_packages: installing: two\n")
        self.assertEqual(log.splitlines()[0].strip(), "apt-get -q update")
        self.assertEqual(log.splitlines()[1], "noninteractive apt-get -q -y --no-remove "
                         "--no-install-recommends install two")

    def test_command_is_there__its_package_is_not_wanted(self):
        (self.folder / "bin").mkdir()
        self.bin = self.folder / "bin"
        self.command("twocmd", "")
        self.assertEqual(self.install("one"), (0, "", ""))

    def test_check_tier__includes_build(self):
        self.assertEqual(self.install("one", tier="check")[1], "install_packages: installing: two three\n")

    def test_bench_tier__includes_check(self):
        self.assertEqual(self.install("one", tier="bench")[1], "install_packages: installing: two three four\n")

    def test_long_tier__with_what_the_lists_have(self):
        self.install("one", "two")  # makes the folder of commands
        self.command("apt-cache", '[ "$2" = six ]')
        packages = "build one\ncheck three\nbench four\nlong five\nlong? six\nlong? seven\n"
        self.assertEqual(self.install(tier="long", packages=packages)[1],
                         "install_packages: installing: one three five six\n")
        self.assertEqual(self.install("one", packages=packages)[1], "")

    def refuse(self, *packages):
        """apt-get will install nothing that has one of these in it."""
        conflicts = "|".join(f"*' {package}'|*' {package} '*" for package in packages)
        self.command("apt-get", f'echo "apt-get $*" >>{self.folder}/apt.log\n'
                     f'case "$*" in {conflicts}) exit 100 ;; esac')
        self.command("apt-cache", "")
        self.write("apt.log", "")
        environment = {"PATH": str(self.bin), "NTPROF_PACKAGES": str(self.folder / "packages.txt")}
        status, said = run(SCRIPTS / "install_packages.sh", "check", env=environment)
        log = (self.folder / "apt.log").read_text().splitlines()
        return status, said, [line.split(" install ")[1] for line in log if " install " in line and " -s " not in line]

    def test_optional_packages_conflict__they_are_left_out_and_said(self):
        packages = "build one\ncheck? cross,headers\ncheck? other\n"
        self.install("one", packages=packages)
        status, said, installed = self.refuse("cross")
        self.assertEqual((status, installed), (0, ["other"]), said)
        self.assertIn("left out, since apt-get cannot install it beside what is installed: cross headers\n", said)
        self.install("one", packages="build one\ncheck? cross,headers\n")
        self.assertEqual(self.refuse("cross")[2], [])

    def test_package_of_tests_conflicts__the_others_are_installed(self):
        self.install("two", packages="build one\ncheck two\ncheck three\ncheck four\n")
        status, said, installed = self.refuse("three")
        self.assertEqual((status, installed), (0, ["one three four", "one four"]), said)
        self.assertIn("installed: three\n", said)

    def test_package_of_tests_conflicts__nobody_without_rights_is_told_to_install_it(self):
        self.install("two", packages="build one\ncheck two\ncheck three\ncheck four\n")
        self.command("id", "echo 1000")
        status, said, installed = self.refuse("three")
        self.assertEqual((status, installed), (1, []), said)
        self.assertIn("install --no-install-recommends one four\n", said)

    def test_package_of_the_build_conflicts__is_an_error(self):
        self.install("two", packages="build one\ncheck two\ncheck three\n")
        status, said, _ = self.refuse("one")
        self.assertEqual(status, 1)
        self.assertIn("could not install: one", said)

    def test_command_that_serves_as_well__is_run(self):
        self.install("one")
        for answer, installed in ((0, []), (1, ["cross headers"])):
            probe = self.write("probe", f"#!/bin/sh\nexit {answer}\n")
            probe.chmod(0o755)
            self.install("one", packages=f"build one\ncheck? cross,headers {probe}\n")
            self.assertEqual(self.refuse("nothing")[2], installed)

    def test_build_tier__leaves_check_alone(self):
        self.assertEqual(self.install("one", "two", tier="build"), (0, "", ""))

    def test_user_with_sudo__uses_it(self):
        status, _, log = self.install("one", user=1000, sudo=True)
        self.assertEqual(status, 0)
        self.assertIn("sudo apt-get -q update", log)

    def test_user_without_sudo__tells_what_to_type(self):
        status, text, log = self.install("one", user=1000)
        self.assertEqual((status, log), (1, ""))
        self.assertIn("apt-get install --no-install-recommends two", text)

    def test_apt_fails__status_and_names(self):
        status, text, _ = self.install("one", apt_status=100)
        self.assertEqual(status, 1)
        self.assertIn("could not install: two", text)

    def test_name_that_begins_like_an_installed_one__is_missing(self):
        status, text, _ = self.install("one-extra", "two")
        self.assertIn("installing: one", text)

    def test_unknown_tier__usage(self):
        self.assertEqual(self.install(tier="all")[0], 2)


if __name__ == "__main__":
    unittest.main()
