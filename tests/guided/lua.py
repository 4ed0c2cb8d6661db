#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Lua, built by its own profile: gcc takes what export --format gcc-afdo writes for each of its files.

Lua's source is Debian's, got by apt-get with lists of its own, as make bench does. NTPROF_LUA names a folder that
has its *.c instead.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
sys.path.insert(0, str(HERE.parent.parent / "bench"))
import flat_profile  # noqa: E402
import harness  # noqa: E402
from harness import text  # noqa: E402

LIMIT_S = 600
# It is called and inlined. The profile's first function: gcc 12 ended where such a one had name 0.
FIRST = "index2value"
WORK = """
local sum = 0
for i = 1, 100000 do sum = sum + #tostring(i) % 7 end
print(sum)
"""


def source():
    """The folder of lapi.c. Skips where it cannot be got."""
    if "NTPROF_LUA" in os.environ:
        return pathlib.Path(os.environ["NTPROF_LUA"])
    if shutil.which("dpkg-source") is None:
        raise unittest.SkipTest("no dpkg-source to unpack Lua's source with")
    import guided
    folder = harness.stage() / "sources"
    folder.mkdir()
    try:
        return guided.fetch(folder, "lua5.4") / "src"
    except (guided.Failed, OSError, StopIteration) as why:
        raise unittest.SkipTest(f"apt-get cannot get Lua's source: {str(why)[-200:]}") from why


class Lua(harness.CommandTest):
    def tool(self, *words):
        """Its output. It succeeds."""
        result = self.run_bare([*map(str, words)], timeout=LIMIT_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               capture_output=False)
        self.assertEqual(result.returncode, 0, f"{words}\n{text(result.stdout)}")
        return text(result.stdout)

    def record(self, name):
        """As if all of each function had been hit, FIRST before the others."""
        made = flat_profile.FlatProfile(1)
        build_id = re.search(r"Build ID: ([0-9a-f]+)", self.tool("readelf", "-n", name))[1]
        image = made.image(str(self.folder / name), build_id, 0, 0)
        functions = re.findall(r"(?m)^(\w+) (\w+) [tT] (\w+)$", self.tool("nm", "-S", name))
        for start, size, _ in sorted(functions, key=lambda function: function[2] != FIRST):
            for address in range(int(start, 16), int(start, 16) + int(size, 16), 8):
                made.hits(image, address, 5)
        made.write(self.folder / "bare.pb.gz")
        self.tool(self.arguments()[0], "report", "--symbolize", "-o", "p.pb.gz", "bare.pb.gz")

    @unittest.skipIf(shutil.which("gcc-12") is None, "not installed: gcc-12")
    def test_all_files__compiled_by_gcc_afdo(self):
        folder = source()
        files = sorted(path for path in folder.glob("*.c") if path.name != "luac.c")
        # Debian's header of paths, which its rules make.
        (self.folder / "lua5.4-deb-multiarch.h").write_text('#define DEB_HOST_MULTIARCH ""\n')
        compiler = ["gcc-12", "-O2", "-g", "-DLUA_USE_POSIX", "-w", f"-I{folder}", f"-I{self.folder}"]
        self.tool(*compiler, *files, "-o", "lua", "-lm")
        (self.folder / "work.lua").write_text(WORK)
        answer = self.tool("./lua", "work.lua")
        self.record("lua")
        self.tool(self.arguments()[0], "export", "--format", "gcc-afdo", "-o", "lua.afdo", "p.pb.gz")
        self.assertIn(FIRST.encode() + b"\0", (self.folder / "lua.afdo").read_bytes())
        objects = []
        for path in files:
            objects.append(f"{path.stem}.o")
            self.assertEqual(self.tool(*compiler, "-fauto-profile=lua.afdo", "-c", path, "-o", objects[-1]), "")
        self.tool("gcc-12", *objects, "-o", "new", "-lm")
        self.assertEqual(self.tool("./new", "work.lua"), answer)


if __name__ == "__main__":
    harness.main()
