#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Names and lines in profiles: stored when they are made, left out, added later, got from servers."""
import http.server
import json
import os
import re
import shutil
import threading

import harness
from harness import CommandTest, for_each_user_if_long, text

SOURCE = """\
volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned inner(unsigned x)
{
    for (unsigned i = 0; i < 5000; i++) {
        sink += x * i;
    }
    return sink;
}
static inline __attribute__((always_inline)) unsigned middle(unsigned x)
{
    return inner(x) + 1;
}
__attribute__((noinline)) unsigned outer(unsigned x)
{
    return middle(x) * 2;
}
int main(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 40000; i++) {
        sum += outer(i);
    }
    return sum == 1;
}
"""
LOOP_LINES = {4, 5, 6}


class Server(http.server.ThreadingHTTPServer):
    """debuginfod as far as ntprof asks: /buildid/ID/debuginfo."""

    daemon_threads = True

    def __init__(self, files, silent=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files  # build-id: path
        self.silent = silent  # until it closes
        self.answers_late = False
        self.asked = []
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def close(self):
        self.closing.set()
        self.shutdown()
        self.server_close()
        self.thread.join()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        words = self.path.split("/")
        self.server.asked.append(self.path)
        if self.server.silent:
            self.server.closing.wait()
            if not self.server.answers_late:
                return
        path = self.server.files.get(words[2]) if words[3:] == ["debuginfo"] else None
        if path is None:
            self.send_error(404)
            return
        body = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class NamesTest(CommandTest):
    def make(self, name="app", *options):
        """The program, built."""
        source = self.folder / "app.c"
        source.write_text(SOURCE)
        program = self.folder / name
        self.check(["gcc", "-O2", "-g", *options, "-o", program, source])
        return program

    def check(self, command):
        result = self.run_bare(command)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return text(result.stdout)

    def build_id(self, path):
        notes = self.check(["readelf", "-n", path])
        return notes.split("Build ID:")[1].split()[0]

    def record(self, *words):
        result = self.profile("-q", "-o", self.folder / "p.pb.gz", *words)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return self.folder / "p.pb.gz"

    def report(self, *words, by="line", **given):
        """The rows of app, and what was said."""
        result = self.ntprof("report", "--json", "--rows", "0", "--by", by, *words, **given)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        rows = json.loads(result.stdout)["rows"]
        return ([row for row in rows if row["image"].endswith("/app")], text(result.stderr))

    def assert_lines(self, rows):
        """Nearly all hits are in the loop of inner."""
        inside = sum(row["hits"] for row in rows if row["innermost"] == "inner" and
                     row["line"] in LOOP_LINES and row["file"].endswith("/app.c"))
        self.assertGreater(inside, 0.9 * sum(row["hits"] for row in rows), rows)

    def assert_no_lines(self, rows):
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual((row["file"], row["line"]), ("", 0), row)


@for_each_user_if_long
class Recording(NamesTest):
    def test_lines__files_gone_at_report__still_shown(self):
        program = self.make()
        profile = self.record("--", program)
        program.unlink()
        (self.folder / "app.c").unlink()
        rows, said = self.report(profile)
        self.assert_lines(rows)
        self.assertEqual(said, "")

    def test_by_function__inlined__counts_for_the_outermost(self):
        profile = self.record("--", self.make())
        rows, _ = self.report(profile, by="function")
        best = max(rows, key=lambda row: row["hits"])
        self.assertEqual((best["function"], best["line"]), ("outer", 13), rows)
        hits = best["hits"]
        rows, _ = self.report(profile, by="inline")
        inlined = [row for row in rows if row["function"] == "outer"]
        best = max(inlined, key=lambda row: row["hits"])
        self.assertEqual((best["innermost"], best["line"]), ("inner", 2), rows)
        self.assertEqual(sum(row["hits"] for row in inlined), hits, rows)
        table = text(self.ntprof("report", "--by", "inline", profile).stdout)
        self.assertIn("inner inlined in outer", table)

    def test_pprof__inlined__chain_is_in_the_file(self):
        if shutil.which("go") is None:
            self.skipTest("needs go")
        profile = self.record("--", self.make())
        traces = self.check(["go", "tool", "pprof", "-traces", profile])
        names = [line.split()[-1] if "(inline)" not in line else line.split()[-2]
                 for line in traces.splitlines()]
        self.assertTrue(any(names[i:i + 3] == ["inner", "middle", "outer"]
                            for i in range(len(names))), traces)

    def test_buckets__segment_elsewhere_than_in_the_file__told_where_they_are(self):
        program = self.make("app", "-no-pie", "-Wl,-Ttext-segment=0x40f000")
        symbols = self.check(["nm", program]).splitlines()
        outer = int(next(line for line in symbols if line.endswith(" outer")).split()[0], 16)
        for size in (4096, 65536, 1 << 20):
            profile = self.record("--bucket", size, "--", program)
            rows, _ = self.report(profile, by="bucket")
            best = max(rows, key=lambda row: row["hits"])
            begin, end = (int(best[name], 16) for name in ("address", "bucket_end"))
            self.assertEqual((begin - 0x40f000) % size, 0, best)  # as in the file
            self.assertEqual(end - begin, size, best)
            self.assertTrue(begin <= outer < end, (hex(outer), best))

    def test_no_lines__functions_alone(self):
        profile = self.record("--no-lines", "--", self.make())
        rows, _ = self.report(profile)
        self.assert_no_lines(rows)
        names = {row["function"] for row in rows}
        self.assertIn("outer", names)
        self.assertFalse(names & {"inner", "middle"})

    def test_debug_file__of_another_build__said(self):
        program = self.make()
        self.check(["objcopy", "--only-keep-debug", program, self.folder / "app.debug"])
        self.check(["strip", program])
        self.check(["objcopy", f"--add-gnu-debuglink={self.folder}/app.debug", program])
        with open(self.folder / "app.debug", "ab") as debug_file:
            debug_file.write(b"x")
        result = self.profile("-o", self.folder / "p.pb.gz", "--", program)
        self.assertIn("app.debug is not used: its CRC", text(result.stderr))


@for_each_user_if_long
class Symbolizing(NamesTest):
    def test_symbolize__lines_missing__added(self):
        profile = self.record("--no-lines", "--", self.make())
        rows, said = self.report("--symbolize", profile)
        self.assert_lines(rows)
        self.assertEqual(said, "")
        rows, _ = self.report(profile)
        self.assert_no_lines(rows)  # the file is as it was

    def test_symbolize__output__keeps_them(self):
        program = self.make()
        profile = self.record("--no-lines", "--", program)
        self.report("--symbolize", "-o", self.folder / "named.pb.gz", profile)
        program.unlink()
        rows, _ = self.report(self.folder / "named.pb.gz")
        self.assert_lines(rows)

    def test_symbolize__file_gone__said_and_shown_without(self):
        program = self.make()
        profile = self.record("--no-lines", "--", program)
        program.unlink()
        rows, said = self.report("--symbolize", profile)
        self.assert_no_lines(rows)
        self.assertIn(f"nothing is added for {program}: No such file", said)

    def test_symbolize__another_build__refused(self):
        profile = self.record("--no-lines", "--", self.make("app", "-Wl,--build-id=0x1234abcd"))
        self.make("app", "-Wl,--build-id=0x56789abc")
        rows, said = self.report("--symbolize", profile)
        self.assert_no_lines(rows)
        self.assertIn("of another build: it has build-id 56789abc, the profile 1234abcd", said)

    def test_options_of_symbolize__without_it__refused(self):
        for words, option in ((["-o", "x"], "-o"), (["--debuginfod"], "--debuginfod"), (["--no-cache"], "--no-cache")):
            result = self.ntprof("report", *words, "y")
            self.assertEqual(result.returncode, 125)
            self.assertIn(f"{option}: needs --symbolize", text(result.stderr))

    def test_output__that_cannot_be__refused_and_nothing_moved(self):
        profile = self.record("--no-lines", "--", self.make())
        folder = self.folder / "folder"
        folder.mkdir()
        (folder / "file").write_text("kept")
        for output, said in [(folder, "folder: is a folder; name a file"), ("", "an empty name"),
                             ("-", "-o -: standard output has the report")]:
            result = self.ntprof("report", "--symbolize", "-o", output, profile)
            self.assertEqual((result.returncode, result.stdout), (125, b""), output)
            self.assertIn(said, text(result.stderr))
        self.assertEqual((folder / "file").read_text(), "kept")


class CacheTest(NamesTest):
    """Unpacked sections: of root they are in /var/cache, where other commands put theirs meanwhile."""

    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.home.mkdir(mode=0o700)
        if self.user is not None:
            os.chown(self.home, self.user, self.user)

    def options(self, given):
        options = super().options(given)
        options["env"] = options["env"] | {"XDG_CACHE_HOME": str(self.home)}
        return options

    def kept(self):
        """Files in the cache, and where it is."""
        result = self.ntprof("cache")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        folder, files, noun = re.fullmatch(r"(/\S+): (\d+) (files?), [\d.]+ MB\n", text(result.stdout)).groups()
        self.assertEqual(folder, f"{self.home}/ntprof" if self.is_user() else "/var/cache/ntprof")
        self.assertEqual(noun, "file" if files == "1" else "files")
        return int(files)

    def packed(self):
        """The program with packed sections, and a profile of it without lines."""
        program = self.make("app", "-gz=zlib")
        if self.user is not None:
            os.chown(program, self.user, self.user)
        return self.record("--no-lines", "--", program)


@harness.for_each_user
class Caching(CacheTest):
    def test_packed_sections__kept_and_used__the_same_lines(self):
        profile = self.packed()
        self.assertEqual(self.ntprof("cache", "clear").returncode, 0)
        without = self.report("--symbolize", "--no-cache", profile)
        if self.is_user():
            self.assertEqual(self.kept(), 0)
        self.assert_lines(without[0])
        self.assertEqual(self.report("--symbolize", profile), without)
        self.assertGreater(self.kept(), 0)
        self.assertEqual(self.report("--symbolize", profile), without)

    def test_clear__nothing_is_kept(self):
        self.report("--symbolize", self.packed())
        self.assertGreater(self.kept(), 0)
        result = self.ntprof("cache", "clear")
        self.assertEqual(result.returncode, 0, text(result.stderr))
        self.assertIn(": removed: ", text(result.stdout))
        if self.is_user():
            self.assertEqual(self.kept(), 0)

    def test_other_word__refused(self):
        result = self.ntprof("cache", "empty")
        self.assertEqual(result.returncode, 125)
        self.assertIn("empty: is no action of ntprof cache; the only one is clear", text(result.stderr))


class CachingOfUsers(CacheTest):
    user = harness.USER if harness.is_root() else None

    def test_folder__of_others__not_used(self):
        profile = self.packed()
        folder = self.home / "ntprof"
        folder.mkdir(mode=0o755)
        os.chmod(folder, 0o755)
        if self.user is not None:
            os.chown(folder, self.user, self.user)
        rows, said = self.report("--symbolize", profile)
        self.assert_lines(rows)
        self.assertEqual((said, list(folder.iterdir())), ("", []))
        for words, failed in ((["cache"], "use"), (["cache", "clear"], "clear")):
            result = self.ntprof(*words)
            self.assertEqual((result.returncode, result.stdout), (125, b""))
            self.assertEqual(text(result.stderr), f"ntprof: cache: cannot {failed} {folder}: the folder must belong to "
                                                  "the caller and have mode 0700\n")

    def test_no_absolute_path__said(self):
        environment = self.options({})["env"] | {"XDG_CACHE_HOME": "cache", "HOME": ""}
        result = self.ntprof("cache", env=environment)
        self.assertEqual((result.returncode, result.stdout), (125, b""))
        self.assertEqual(text(result.stderr), "ntprof: cache: there is none: neither XDG_CACHE_HOME nor HOME is an "
                                              "absolute path\n")


@for_each_user_if_long
class Downloading(NamesTest):
    def setUp(self):
        super().setUp()
        if os.environ["NTPROF_DEBUGINFOD"] == "no":
            self.skipTest("this ntprof was built without libdebuginfod")
        self.program = self.make()
        self.debug = self.folder / "kept"
        self.check(["objcopy", "--only-keep-debug", self.program, self.debug])
        self.check(["strip", self.program])
        self.profile_path = self.record("--", self.program)

    def serve(self, files, **options):
        server = Server(files, **options)
        self.addCleanup(server.close)
        return server

    def download(self, server, *words, **environment):
        given = harness.bare_environment()
        given.pop("DEBUGINFOD_URLS", None)
        given["DEBUGINFOD_CACHE_PATH"] = str(self.folder / "cache")
        given.update(environment)
        return self.report("--symbolize", *words, self.profile_path, env=given)

    def test_not_asked__no_request(self):
        server = self.serve({})
        rows, _ = self.download(server)
        self.assert_no_lines(rows)
        self.assertEqual(server.asked, [])

    def test_option__file_is_there__lines(self):
        identity = self.build_id(self.program)
        server = self.serve({identity: self.debug})
        rows, _ = self.download(server, f"--debuginfod={server.url()}")
        self.assert_lines(rows)
        self.assertEqual(server.asked, [f"/buildid/{identity}/debuginfo"])

    def test_environment__file_is_there__lines(self):
        server = self.serve({self.build_id(self.program): self.debug})
        rows, _ = self.download(server, DEBUGINFOD_URLS=server.url())
        self.assert_lines(rows)

    def test_server_has_none__shown_without(self):
        server = self.serve({})
        rows, _ = self.download(server, f"--debuginfod={server.url()}")
        self.assert_no_lines(rows)
        self.assertEqual(len(server.asked), 1)

    def test_server_sends_another_build__refused(self):
        other = self.make("other", "-Wl,--build-id=0x56789abc")
        server = self.serve({self.build_id(self.program): other})
        rows, said = self.download(server, f"--debuginfod={server.url()}")
        self.assert_no_lines(rows)
        self.assertIn("is not used: it has another build-id", said)

    def test_server_is_silent__comes_to_an_end(self):
        server = self.serve({}, silent=True)
        rows, _ = self.download(server, f"--debuginfod={server.url()}", DEBUGINFOD_TIMEOUT="1")
        self.assert_no_lines(rows)

    def test_takes_long__told_on_a_terminal_and_taken_away(self):
        server = self.serve({self.build_id(self.program): self.debug}, silent=True)
        server.answers_late = True
        environment = harness.bare_environment()
        environment["DEBUGINFOD_CACHE_PATH"] = str(self.folder / "cache")
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        child = self.start(self.arguments("report", "--symbolize", f"--debuginfod={server.url()}",
                                          "--by", "line", self.profile_path),
                           stderr=theirs, env=environment)
        os.close(theirs)
        said = b""
        while b"asking for the debug file of" not in said:
            said += os.read(ours, 4096)
        server.closing.set()
        table = text(child.communicate(timeout=harness.TIME_LIMIT_S)[0])
        self.assertEqual(child.returncode, 0, table)
        self.assertIn("app.c:", table)
        while True:
            try:
                said += os.read(ours, 4096)
            except OSError:  # all of it, and nobody has the terminal any more
                break
        self.assertIn(b"\r\x1b[K", said.rpartition(b"asking for")[2])

    def test_server_is_not_there__said(self):
        server = Server({})
        server.close()
        rows, said = self.download(server, f"--debuginfod={server.url()}")
        self.assert_no_lines(rows)
        self.assertRegex(said, r"no debug file of \S+/app from servers: \w+")

    def test_file_that_it_shares_with_others__from_the_server_too(self):
        if shutil.which("dwz") is None:
            self.skipTest("needs dwz")
        identity = self.build_id(self.program)
        for name in ("one", "two"):
            self.make(name, f"-Wl,--build-id=0x{identity}")
        self.check(["dwz", "-m", self.folder / "common", self.folder / "one", self.folder / "two"])
        common = self.folder / "moved"
        (self.folder / "common").rename(common)
        self.check(["objcopy", "--only-keep-debug", self.folder / "one", self.debug])
        files = {identity: self.debug, self.build_id(common): common}
        server = self.serve(files)
        rows, said = self.download(server, f"--debuginfod={server.url()}")
        self.assert_lines(rows)
        self.assertEqual(said, "")
        self.assertEqual(len(server.asked), 2)

    def test_option__no_server_named__said(self):
        environment = harness.bare_environment()
        environment.pop("DEBUGINFOD_URLS", None)
        result = self.ntprof("report", "--symbolize", "--debuginfod", self.profile_path,
                             env=environment)
        self.assertEqual(result.returncode, 125)
        self.assertIn("DEBUGINFOD_URLS names no server", text(result.stderr))


# Works in a library of the system until its processor time is over.
PACK = "import time, zlib\nwhile time.process_time() < .5: zlib.compress(bytes(range(256)) * 4000, 9)"


@for_each_user_if_long
class DebugPackages(CommandTest):
    """What brings names, where symbols were stripped."""

    def stripped(self, folder):
        path = folder / "stripped"
        if shutil.which("strip") is None:
            self.skipTest("no strip is installed")
        self.assertEqual(self.run_bare(["strip", "-o", path, harness.program("shares")]).returncode, 0)
        return path

    def said_of(self, *command):
        result = self.profile("--", *command)
        self.assertEqual(result.returncode, 0, text(result.stderr))
        return text(result.stderr)

    def test_library_of_a_package__it_and_its_version_are_named(self):
        if shutil.which("dpkg-query") is None:
            self.skipTest("no dpkg is installed")
        said = self.said_of("/usr/bin/python3", "-S", "-c", PACK)
        found = re.search(r"libz\.so\S*(: its symbols were stripped|, stripped too); "
                          r"install (\S+), version (\S+?)[,\n]", said)
        if found is None and "libz" not in said.partition("have no names")[2]:
            self.skipTest("zlib has names here, or Python its own")
        self.assertIsNotNone(found, said)
        told = self.run_bare(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", "zlib1g"])
        self.assertRegex(found[2], "^zlib1g-dbg(sym)?$")
        self.assertEqual(f"zlib1g {found[3]}", text(told.stdout).strip().splitlines()[0])
        self.assertRegex(said, "report --symbolize adds names to a profile; with --debuginfod=https://")
        self.assertIn(f"install {found[2]}", text(self.ntprof("report").stdout))

    def test_file_of_no_package__said(self):
        if shutil.which("dpkg-query") is None:
            self.skipTest("no dpkg is installed")
        said = self.said_of(self.stripped(self.folder), "300")
        self.assertIn("no package owns it: build it without stripping it", said)

    def test_file_of_a_container__no_package_is_named(self):
        """It has a path of ours, but is another file."""
        path = self.stripped(self.folder)
        ours = self.folder / "ours"
        shutil.copy("/bin/true", ours)
        mount = ["unshare", "--mount"] if not self.is_user() else ["unshare", "--mount", "--map-root-user"]
        self.need_mount_namespace(*mount[2:])
        said = self.said_of(*mount, "sh", "-c", f"mount --bind {path} {ours} && exec {ours} 300")
        self.assertRegex(said, "in (ours|stripped): its symbols were stripped, install its debug package\n")


if __name__ == "__main__":
    harness.main()
