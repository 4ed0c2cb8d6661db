#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Shows known profiles with `ntprof report` and compares every byte with kept outputs.

usage: check_report.py GOLDEN_REPORT SCHEMA [--update]

--update writes the kept outputs anew: read the difference before committing it.
"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import validate_schema

HERE = pathlib.Path(__file__).parent
KINDS = ["usual", "left-out", "several", "user", "user-chosen", "user-events", "few", "hostile", "kernel", "empty",
         "foreign", "events", "threads", "wide", "lost-kernel", "lost-kernel-alone", "stacks", "stacks-several",
         "stacks-removed"]

# Name of the kept output: kind of profile, arguments.
CASES = {
    "usual-function.txt": ("usual", []),
    "usual-rows.txt": ("usual", ["--rows", "2"]),
    "usual-image.txt": ("usual", ["--by", "image"]),
    "usual-address.txt": ("usual", ["--by=address"]),
    "usual-process.txt": ("usual", ["--by", "process"]),
    "usual-source.txt": ("usual", ["--by", "source"]),
    "several-function.txt": ("several", []),
    "several-source.txt": ("several", ["--by", "source"]),
    "several-process-function.txt": ("several", ["--by", "process,function"]),
    "several-source-image.txt": ("several", ["--by", "source,image"]),
    "usual-line.txt": ("usual", ["--by", "line"]),
    "usual-bucket.txt": ("usual", ["--by", "bucket"]),
    "usual-filtered.txt": ("usual", ["--image", "plugin.so", "--image", "[kernel]", "--symbol",
                                     "*push_back*", "--symbol", "clear_*"]),
    "several-filtered.txt": ("several", ["--process", "work*", "--by", "source"]),
    "foreign-bucket.txt": ("foreign", ["--by", "bucket", "--rows", "1"]),
    "events-function.txt": ("events", []),
    "events-one-source.txt": ("events", ["-e", "instructions"]),
    "events-one-source.json": ("events", ["--json", "-e", "instructions", "--by", "source,function"]),
    "events-source-function.txt": ("events", ["--by", "function,source"]),
    "threads-thread.txt": ("threads", ["--by", "thread"]),
    "threads-cpu.txt": ("threads", ["--by", "cpu"]),
    "threads-all.txt": ("threads", ["--by", "cpu,thread,process,bucket"]),
    "wide-function.txt": ("wide", []),
    "wide-image.txt": ("wide", ["--by", "image"]),
    "user-function.txt": ("user", ["--rows", "1"]),
    "user-chosen-function.txt": ("user-chosen", []),
    "user-events-function.txt": ("user-events", []),
    "user-events-source.json": ("user-events", ["--json", "--by", "source"]),
    "few-function.txt": ("few", []),
    "empty-function.txt": ("empty", []),
    "foreign-function.txt": ("foreign", ["--rows", "1"]),
    "kernel-function.txt": ("kernel", []),
    "kernel-image.txt": ("kernel", ["--by", "image"]),
    "lost-kernel-function.txt": ("lost-kernel", []),
    "lost-kernel-source.txt": ("lost-kernel", ["--by", "source,process"]),
    "lost-kernel-function.json": ("lost-kernel", ["--json"]),
    "lost-kernel-alone-function.txt": ("lost-kernel-alone", []),
    "hostile-function.txt": ("hostile", []),
    "hostile-address.txt": ("hostile", ["--by", "address"]),
    **{f"short-{kind}.txt": (kind, ["--rows", "1"]) for kind in KINDS
       if kind not in ("threads", "wide", "stacks", "stacks-several", "stacks-removed")},
    "stacks-function.txt": ("stacks", []),
    "stacks-inline.txt": ("stacks", ["--by", "inline"]),
    "stacks-line.txt": ("stacks", ["--by", "line"]),
    "stacks-image.txt": ("stacks", ["--by", "image"]),
    "stacks-process-function.txt": ("stacks", ["--by", "process,function"]),
    "stacks-filtered.txt": ("stacks", ["--symbol", "main", "--symbol", "parse"]),
    "stacks-callers.txt": ("stacks", ["--callers-of", "malloc"]),
    "stacks-callers-of-two.txt": ("stacks", ["--callers-of", "[mw]*o*", "--by", "line"]),
    "stacks-callers-of-end.txt": ("stacks", ["--callers-of", "work"]),
    "stacks-callers-of-outermost.txt": ("stacks", ["--callers-of", "main", "--by", "process"]),
    "stacks-callers-skipped.txt": ("stacks", ["--callers-of", "clear_page*", "--skip-image", "libc.so*"]),
    "stacks-callees.txt": ("stacks", ["--callees-of", "parse"]),
    "stacks-callees-inline.txt": ("stacks", ["--callees-of", "work", "--by", "inline"]),
    "stacks-callees-skipped.txt": ("stacks", ["--callees-of", "main", "--skip-image", "app", "--image", "libc*"]),
    "stacks-callers.json": ("stacks", ["--json", "--callers-of", "malloc", "--skip-image", "a", "--skip-image", "b"]),
    "stacks-tree.txt": ("stacks", ["--tree"]),
    "stacks-tree-up.txt": ("stacks", ["--tree=up", "--min", "7%"]),
    "stacks-tree-callers.txt": ("stacks", ["--tree", "--callers-of", "malloc"]),
    "stacks-tree-callees.txt": ("stacks", ["--tree", "--callees-of", "work", "--by", "inline"]),
    "stacks-tree-skipped.txt": ("stacks", ["--tree", "--skip-image", "app", "--process", "app"]),
    "stacks-tree.json": ("stacks", ["--json", "--tree", "--min", "7%", "--skip-image", "libc*"]),
    "stacks-tree.csv": ("stacks", ["--csv", "--tree=up", "--min", "50%"]),
    "stacks-function.json": ("stacks", ["--json", "--rows", "3"]),
    "stacks-several.json": ("stacks-several", ["--json", "--rows", "3"]),
    "stacks-function.csv": ("stacks", ["--csv"]),
    "usual-function.json": ("usual", ["--json"]),
    "several-function.json": ("several", ["--json", "--rows", "3"]),
    "several-source.json": ("several", ["--json", "--by", "source"]),
    "usual-image.json": ("usual", ["--json", "--by", "image"]),
    "hostile-address.json": ("hostile", ["--json", "--by", "address"]),
    "empty-function.json": ("empty", ["--json"]),
    "several-filtered.json": ("several", ["--json", "--process", "worker", "--symbol", "memcpy",
                                          "--by", "process,line"]),
    "events-function.json": ("events", ["--json"]),
    "threads-all.json": ("threads", ["--json", "--by", "cpu,thread,process,bucket"]),
    "events-function.csv": ("events", ["--csv"]),
    "threads-all.csv": ("threads", ["--csv", "--by", "cpu,thread,process,bucket"]),
    "usual-function.csv": ("usual", ["--csv"]),
    "several-address.csv": ("several", ["--csv", "--by", "address", "--rows", "0"]),
    "several-source.csv": ("several", ["--csv", "--by", "source"]),
    "hostile-function.csv": ("hostile", ["--csv"]),
    "empty-function.csv": ("empty", ["--csv"]),
}

# Arguments, words of the one line on standard error. Status 125, nothing on standard output.
MISTAKES = [
    (["--by", "colour", "usual"], "--by colour: allowed are function, inline, line, image, address"),
    (["--by", "function,", "usual"], "--by function,: allowed are function, inline, line"),
    (["--by", "image,image", "usual"], "--by image,image: allowed are function"),
    (["--by", "cpu", "usual"], "--by cpu: the profile has no processors"),
    (["--by", "function,thread", "usual"], "--by thread: the profile has no threads"),
    (["--image", "nothing*", "usual"], "--image nothing*: no image of the profile matches"),
    (["--image", "*", "--process", "\033", "usual"], "--process \\x1b: no process of the profile"),
    (["--symbol", "memcp", "usual"], "--symbol memcp: no symbol of the profile matches"),
    (["--symbol", "memcpy", "--image", "plugin.so", "usual"], "no hits in what the filters let"),
    (["--callers-of", "malloc", "usual"], "--callers-of: the profile has no stacks; record it with -g, as in: ntprof"),
    (["--callees-of", "malloc", "usual"], "--callees-of: the profile has no stacks"),
    (["--callees-of", "mallo", "stacks"], "--callees-of mallo: no function on a stack matches; to see them: --by"),
    (["--callers-of", "hot", "stacks"], "to see them: --by inline (it is the name of inlined code)"),
    (["--callers-of", "malloc", "--image", "[kernel]", "stacks"], "--callers-of malloc: no hits that the filters let"),
    (["--callers-of", "a", "--callees-of", "b", "stacks"], "--callers-of, --callees-of: only one of them"),
    (["--skip-image", "a", "stacks"], "--skip-image: needs --callers-of, --callees-of or --tree"),
    (["--tree", "usual"], "--tree: the profile has no stacks; record it with -g, as in: ntprof run -g -- COMMAND"),
    (["--tree=left", "stacks"], "--tree left: allowed are down and up"),
    (["--tree", "--by", "line", "stacks"], "--tree: only by function, or by inline"),
    (["--tree", "--symbol", "main", "stacks"], "--symbol: not with --tree; --callers-of and --callees-of choose"),
    (["--tree=down", "--callers-of", "main", "stacks"], "--tree: callers are up, callees down: leave the"),
    (["--min", "1%", "stacks"], "--min: needs --tree"),
    (["--tree", "--min", "x", "stacks"], "--min x: allowed are percentages"),
    (["-e", "faults", "several"], "-e faults: the profile has no such source; it has time, page-faults"),
    (["--image"], "--image: needs a value; see: ntprof help"),
    (["--rows", "-1", "usual"], "--rows -1: allowed are 0 (all), 1, 2"),
    (["--rows", "", "usual"], "--rows '': allowed are"),
    (["--rows"], "--rows: needs a value; see: ntprof help"),
    (["--json", "--csv", "usual"], "--json, --csv: only one of them"),
    (["usual", "few"], "few: only one FILE can be shown"),
    (["--frobnicate", "usual"], "--frobnicate: no such option; see: ntprof help"),
    (["-x", "usual"], "-x: no such option; see: ntprof help"),
    (["--json=yes", "usual"], "--json=yes: takes no value"),
    (["none"], "none: cannot open it: No such file or directory"),
    (["."], ".: cannot read it: Is a directory"),
    (["torn"], "torn: truncated"),
    (["text"], "text: a text file, not a profile"),
    ([], "ntprof.pb.gz: cannot open it"),
]


class Checker:
    def __init__(self, program, schema, folder):
        self.program = program
        self.schema = json.load(open(schema, encoding="utf-8"))
        self.tree_schema = json.load(open(pathlib.Path(schema).parent / "tree.schema.json", encoding="utf-8"))
        self.folder = folder
        self.wrong = 0
        self.good = 0

    def expect(self, good, what):
        if good:
            self.good += 1
        else:
            self.wrong += 1
            print(f"FAIL {what}")

    def run(self, *arguments, **options):
        environment = dict(os.environ, LC_ALL="C.UTF-8", NO_COLOR="")
        return subprocess.run([self.program, *arguments], cwd=self.folder, env=environment,
                              stdout=options.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, check=False, **options)

    def compare(self, name, kind, arguments, update):
        verbose = ["-v"] if name.endswith(".txt") and not name.startswith("short-") else []
        result = self.run("report", *arguments, *verbose, kind)
        kept = HERE / name
        self.expect(result.returncode == 0 and result.stderr == b"",
                    f"{name}: status {result.returncode}, {result.stderr!r}")
        if update:
            kept.write_bytes(result.stdout)
        expected = kept.read_bytes()
        self.expect(result.stdout == expected,
                    f"{name}: got\n{result.stdout.decode(errors='replace')}")
        self.check_harmless(name, result.stdout)
        if name.endswith(".json"):
            self.check_json(name, result.stdout)
        elif name.endswith(".csv"):
            self.check_csv(name, result.stdout)

    def check_harmless(self, name, output):
        text = output.decode("utf-8")
        bad = [c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160
               or c == "\u202e"]
        self.expect(not bad, f"{name}: has {bad}")

    def check_json(self, name, output):
        report = json.loads(output)
        schema = self.tree_schema if "tree" in name else self.schema
        errors = list(validate_schema.check(report, schema, schema))
        self.expect(not errors, f"{name}: {errors}")
        if "tree" in name:
            self.check_tree(name, report["nodes"])
            return
        for source in report["sources"]:
            self.expect(source["taken"] == source["counted"] + source["outside"],
                        f"{name}: taken does not add up")
            self.expect(source["selected"] <= source["hits"], f"{name}: more selected than there is")
            missing = sum(source[k] for k in ("lost", "throttled", "missed", "unfinished", "excluded"))
            self.expect(source["expected"] == source["taken"] + missing,
                        f"{name}: expected does not add up")

    def check_tree(self, name, nodes):
        """What a node has is its own, that of those below it, and what is merged."""
        sums = [node["self"] + node["merged_hits"] for node in nodes]
        for node in nodes[1:]:
            sums[node["parent"]] += node["total"]
            self.expect(node["depth"] == nodes[node["parent"]]["depth"] + 1, f"{name}: depth of {node}")
        self.expect(sums == [node["total"] for node in nodes], f"{name}: {sums}")

    def check_sums(self):
        """All rows, by whatever keys, add up to what the filters let through."""
        for keys in ("function", "line,process", "address", "bucket,source", "cpu,thread,image"):
            for kind in ("several", "events", "threads"):
                if "cpu" in keys and kind != "threads":
                    continue
                result = self.run("report", "--json", "--rows", "0", "--by", keys, kind)
                report = json.loads(result.stdout)
                first = report["sources"][0]
                hits = sum(row["hits"] for row in report["rows"]
                           if row.get("source", first["name"]) == first["name"])
                self.expect(hits == first["selected"] == first["hits"], f"{kind} by {keys}: {hits}")
                self.expect(report["row_count"] == len(report["rows"]), f"{kind} by {keys}: rows")

    def check_stacks(self):
        """Hits of each row are those without stacks, whatever rows are."""
        def rows(kind, keys):
            report = json.loads(self.run("report", "--json", "--rows", "0", "--by", keys, kind).stdout)
            kept = [{key: value for key, value in row.items() if not key.startswith("total")}
                    for row in report["rows"] if row["hits"]]
            of_stacks = ("stack_bytes", "contexts", "contexts_max")
            sources = [{key: value for key, value in source.items() if key not in of_stacks}
                       for source in report["sources"]]
            return sorted(kept, key=repr), sources

        for keys in ("function", "inline", "line", "image", "address", "bucket", "process", "source",
                     "process,function", "source,function", "image,line"):
            with_stacks, without = rows("stacks", keys), rows("stacks-removed", keys)
            self.expect(with_stacks == without, f"by {keys}: {with_stacks} is not {without}")

    def check_long(self):
        """A name of 100,000 bytes is printed where it is, and pads no other row."""
        self.run("make", "long", "long")
        for keys in ("image,process", "process,line,image", "address", "process,function"):
            result = self.run("report", "--rows", "0", "--by", keys, "long")
            lengths = sorted(map(len, result.stdout.splitlines()), reverse=True)
            self.expect(result.returncode == 0 and lengths[0] >= 100000, f"long by {keys}: {lengths[:3]}")
            # Whole names are in its own row, the titles, and the summary line alone.
            self.expect(lengths[4] < 1000, f"long by {keys}: {lengths[:6]}")

    def check_csv(self, name, output):
        rows = list(csv.reader(io.StringIO(output.decode("utf-8"), newline="")))
        columns = 11 if "tree" in name else 23 if name.startswith("stacks") else 21
        self.expect(all(len(row) == columns for row in rows), f"{name}: columns differ")
        self.expect(rows[0][0] == ("node" if "tree" in name else "samples"), f"{name}: no header")

    def check_mistakes(self):
        whole = (self.folder / "usual").read_bytes()
        (self.folder / "torn").write_bytes(whole[: len(whole) // 2])
        (self.folder / "text").write_text("int main(void);\n", encoding="utf-8")
        for arguments, words in MISTAKES:
            result = self.run("report", *arguments)
            said = result.stderr.decode()
            self.expect(result.returncode == 125 and result.stdout == b""
                        and said.startswith("ntprof: report: ") and words in said
                        and said.count("\n") == 1,
                        f"{arguments}: status {result.returncode}, {said!r}")

    def check_streams(self):
        with open("/dev/full", "wb") as full:
            result = self.run("report", "usual", stdout=full)
        self.expect(result.returncode == 125 and b"No space left" in result.stderr,
                    f"/dev/full: {result.returncode} {result.stderr!r}")
        with open(self.folder / "usual", "rb") as file:
            result = self.run("report", "-", "--rows", "1", stdin=file)
        self.expect(result.returncode == 0 and b"EvalFrame" in result.stdout, "from a pipe")
        reader, writer = os.pipe()
        os.close(reader)
        result = self.run("report", "usual", stdout=writer)
        os.close(writer)
        self.expect(result.returncode in (0, -13) and result.stderr == b"",
                    f"closed pipe: {result.returncode} {result.stderr!r}")
        result = self.run("report", "--help")
        self.expect(result.returncode == 0 and b"usage: ntprof report" in result.stdout,
                    "--help")


def main():
    program, schema = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(program, schema, pathlib.Path(folder))
        for kind in KINDS:
            checker.run("make", kind, kind)
        for name, (kind, arguments) in CASES.items():
            checker.compare(name, kind, arguments, "--update" in sys.argv)
        checker.check_sums()
        checker.check_stacks()
        checker.check_long()
        checker.check_mistakes()
        checker.check_streams()
    print(f"{checker.good} checks good, {checker.wrong} wrong")
    return 1 if checker.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
