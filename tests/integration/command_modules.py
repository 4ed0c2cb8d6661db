#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Modules that are missing, cannot be loaded or may be anybody's: who needs them says so, the rest works."""
import json
import os
import shutil

import harness
from harness import CommandTest, for_each_user, text

# Modules by what needs each of them.
STORE = ("store", "init", "sqlite:s.db")
SERVER = ("store", "stat", "clickhouse://127.0.0.1:1/d")


@for_each_user
class Modules(CommandTest):
    def setUp(self):
        super().setUp()
        built = os.environ.get("NTPROF_MODULES", "")
        if "ntprof-sqlite" not in built or "ntprof-clickhouse" not in built:
            self.skipTest("this ntprof was built without SQLite or libcurl")
        self.copied = self.folder / "copied"
        for folder in ("tool", "src"):
            shutil.copytree(harness.stage() / folder, self.copied / folder)
        self.modules = self.copied / "tool" / "modules"

    def arguments(self, *words):
        return [str(self.copied / "tool" / "ntprof"), *map(str, words)]

    def refuse(self, words, *parts):
        result = self.ntprof(*words)
        said = text(result.stderr)
        self.assertEqual(result.returncode, 125, said)
        self.assertEqual(said.count("\n"), 1, said)
        for part in parts:
            self.assertIn(part, said)

    def test_missing__says_what_to_install(self):
        shutil.rmtree(self.modules)
        self.refuse(STORE, "without SQLite", "libsqlite3-dev")
        self.refuse(SERVER, "without libcurl", "libcurl4-openssl-dev")
        result = self.ntprof("run", "-o", "p", "--", harness.program("shares"), "300")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertRegex(text(result.stderr), "cannot read the symbol names of .*: the module of ntprof that reads it")
        self.assertEqual(self.ntprof("report", "p").returncode, 0)

    def test_cannot_be_loaded__says_so(self):
        for module in self.modules.iterdir():
            module.write_bytes(b"\x7fELF is all that is left")
        self.refuse(STORE, "ntprof-sqlite.so cannot be loaded", "install ntprof again")
        self.refuse(SERVER, "ntprof-clickhouse.so cannot be loaded", "install ntprof again")

    def test_library_is_missing__says_what_to_install(self):
        """A module that needs a library of another name."""
        for module in self.modules.iterdir():
            module.write_bytes(module.read_bytes().replace(b"libcurl.so.4\0", b"libcurl.so.9\0"))
        self.refuse(SERVER, "install Debian's libcurl4, which the module ntprof-clickhouse.so needs")

    def names(self):
        """Functions of a program that was profiled, by name."""
        result = self.ntprof("run", "-q", "-o", "p", "--", harness.program("shares"), "300")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        report = json.loads(self.ntprof("report", "--json", "p").stdout)
        return {row["function"] for row in report["rows"] if row["image"].endswith("/shares")}

    def test_of_another_build__refused(self):
        source = self.folder / "other.c"
        source.write_text('const char ntprof_headers_sqlite[] = "other"; const char ntprof_module_sqlite[1024];')
        made = self.run_bare(["gcc", "-shared", "-fPIC", "-o", self.folder / "other.so", source])
        self.assertEqual(made.returncode, 0, text(made.stderr))
        shutil.copy(self.folder / "other.so", self.modules / "ntprof-sqlite.so")
        self.refuse(STORE, "ntprof-sqlite.so is of another build", "install ntprof again")

    def test_others_can_write_it_or_a_folder__refused(self):
        for place in (self.modules / "ntprof-sqlite.so", self.modules, self.copied):
            with self.subTest(place.name):
                place.chmod(0o777)
                self.refuse(STORE, "others can write the module ntprof-sqlite.so or a folder of its path")
                place.chmod(0o755)

    def test_of_another_user__refused(self):
        if not harness.is_root():
            self.skipTest("only root can give files away")
        os.chown(self.modules / "ntprof-sqlite.so", 12345, 12345)
        self.refuse(STORE, "others can write the module ntprof-sqlite.so")

    def test_cannot_be_read__said(self):
        if not self.is_user():
            self.skipTest("root reads all")
        (self.modules / "ntprof-sqlite.so").chmod(0)
        self.refuse(STORE, "ntprof-sqlite.so cannot be read: Permission denied")

    def test_root_in_a_home_of_another_user__loaded(self):
        if not harness.is_root() or self.is_user():
            self.skipTest("only root enters the homes of others")
        self.copied.chmod(0o700)
        os.chown(self.copied, 12345, 12345)
        self.assertIn("right_one_unit", self.names())


if __name__ == "__main__":
    harness.main()
