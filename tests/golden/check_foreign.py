#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads profiles that other tools wrote, kept in foreign/, with every command that shows rows.

usage: check_foreign.py NTPROF [--update]

What report prints is compared with kept outputs, and its hits with what `go tool pprof` makes of the
same file, if that is there. The files are those of busy.go (Go's runtime/pprof: inlined calls), of a C
program under gperftools, converted by `go tool pprof -proto` (positions as they ran, no build-ids), and of
a Node.js program by its pprof package (wall time, neither mappings nor addresses).
"""
import base64
import csv
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "integration"))
import foreign_file
import validate_schema

PROFILE_SCHEMA = json.loads((pathlib.Path(__file__).parents[2] / "docs/schema/profile.schema.json").read_text())
FOREIGN = pathlib.Path(__file__).parent / "foreign"
KINDS = ["go", "gperftools", "node"]
FORMS = ["callgrind", "folded", "html", "json", "csv", "openmetrics", "speedscope", "svg"]

wrong = 0


def expect(good, what):
    global wrong
    if not good:
        wrong += 1
        print(f"FAIL {what}")


class Ntprof:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def __call__(self, *arguments):
        result = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, check=False,
                                env=dict(os.environ, LC_ALL="C.UTF-8", NO_COLOR="1"),
                                capture_output=True, text=True)
        expect(result.returncode == 0, f"{arguments}: {result.returncode} {result.stderr}")
        return result.stdout

    def hits(self, path, *arguments):
        """Hits by function and file:line; not what only calls."""
        report = json.loads(self("report", path, "--json", "--rows", "0", *arguments))
        found = {}
        for row in filter(lambda row: row["hits"], report["rows"]):
            name = row["innermost"] if "inline" in report["by"] else row["function"]
            key = (name, row["file"], row["line"])
            found[key] = found.get(key, 0) + row["hits"]
        return found


def go_hits(folder, path):
    """The same from `go tool pprof -raw`: leaves of all samples."""
    result = subprocess.run(["go", "tool", "pprof", "-raw", str(path)], capture_output=True,
                            text=True, check=True,
                            env=dict(os.environ, HOME=str(folder),
                                     PPROF_TMPDIR=str(folder)))
    samples, locations = result.stdout.split("\nLocations\n")
    leaves = {}
    for line in locations.split("\nMappings")[0].splitlines():
        place = re.match(r" +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(?:(.*) (\S*):(\d+) s=\d+)?$", line)
        if place:
            leaves[int(place[1])] = (place[2] or "", place[3] or "", int(place[4] or 0))
    found = {}
    for line in samples.splitlines():
        sample = re.match(r" +(\d+) +\d+: (\d+)", line)
        if sample:
            leaf = leaves[int(sample[2])]
            found[leaf] = found.get(leaf, 0) + int(sample[1])
    return found


def go_traces(folder, path):
    """Stacks with their values, of which those of ntprof have labels."""
    text = subprocess.run(["go", "tool", "pprof", "-traces", str(path)], capture_output=True, text=True, check=True,
                          env=dict(os.environ, HOME=str(folder), PPROF_TMPDIR=str(folder))).stdout
    traces = re.split(r"^-+\+-+$", text, flags=re.MULTILINE)[1:]
    return sorted(re.sub(r"^ *\w+:  .*\n", "", trace, flags=re.MULTILINE).strip() for trace in traces)


def go_totals(folder, path):
    """Hits by function, flat and with what it calls, of a file whose only or last values are wanted."""
    text = subprocess.run(["go", "tool", "pprof", "-top", "-nodefraction=0", "-nodecount=100000", "-sample_index=0",
                           str(path)], capture_output=True, text=True, check=True,
                          env=dict(os.environ, HOME=str(folder), PPROF_TMPDIR=str(folder))).stdout
    lines = re.findall(r"(?m)^ *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+%  (.*?)(?: \(inline\))?$", text)
    return {name: (int(flat), int(total)) for flat, total, name in lines}


def check_totals(ntprof, folder, path):
    """Those of functions that are in one row: of one that is inlined into several, go adds up the rows."""
    theirs = go_totals(folder, path)
    report = json.loads(ntprof("report", path, "--json", "--rows", "0", "--by", "inline"))
    names = [row["innermost"] for row in report["rows"]]
    ours = {row["innermost"]: (row["hits"], row["total"]) for row in report["rows"]
            if names.count(row["innermost"]) == 1 and row["innermost"] in theirs}
    expect(len(ours) > 2, f"{path.name}: no totals to compare: {ours}, {theirs}")
    expect(ours == {name: theirs[name] for name in ours}, f"{path.name}: totals {ours}, theirs {theirs}")


def check_stacks(ntprof, folder, path):
    ntprof("export", "--format", "pprof", "-o", "stacks.pb.gz", path)
    theirs = go_traces(folder, path)
    expect(any("\n" in trace for trace in theirs), f"{path.name}: no stacks to compare")
    expect(go_traces(folder, folder / "stacks.pb.gz") == theirs, f"{path.name}: stacks are not kept")


def check_against_go(ntprof, folder, path):
    theirs = go_hits(folder, path)
    ours = ntprof.hits(path, "--by", "line,inline")
    named = {key: hits for key, hits in ours.items() if "[no symbols]" not in key[0]}
    expect(named == {key: hits for key, hits in theirs.items() if key[0]},
           f"{path.name}: ours {ours}, theirs {theirs}")
    expect(sum(ours.values()) == sum(theirs.values()), f"{path.name}: totals differ")


def check_report(ntprof, kind, path, update):
    for key in ("function", "inline", "line", "image", "address"):
        output = ntprof("report", path, "--by", key)
        kept = FOREIGN / f"{kind}-{key}.txt"
        if update:
            kept.write_text(output, encoding="utf-8")
        expect(output == kept.read_text(encoding="utf-8"), f"{kept.name}: got\n{output}")


def check_others(ntprof, folder, kind, path):
    plain = folder / f"{kind}.pb"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    once = ntprof.hits(path)
    expect(ntprof.hits(plain) == once, f"{kind}: not the same without gzip")
    ntprof("merge", "-o", "twice", path, plain)
    expect(ntprof.hits("twice") == {key: 2 * hits for key, hits in once.items()},
           f"{kind}: two of them do not add up")
    diff = json.loads(ntprof("diff", path, "twice", "--normalize", "--json"))
    expect(diff["sources"][0]["beyond_chance_count"] == 0, f"{kind}: shares are the same")
    ntprof("report", path, "--csv", "--by", "line")
    title = ntprof("annotate", path).split("\n")[0]
    expect(" in : " not in title, f"{kind}: an image without a name in: {title}")
    for form in FORMS:
        ntprof("export", "--format", form, "-o", f"{kind}.{form}", path)
        expect((folder / f"{kind}.{form}").stat().st_size > 0, f"{kind} as {form} is empty")
    ntprof("export", "--format", "pprof", "-o", "again", path)
    expect(ntprof.hits("again") == once, f"{kind}: exported as pprof it is another")


def tree_of(ntprof, path):
    """Total hits by the functions of a stack, outermost first."""
    nodes = json.loads(ntprof("report", path, "--tree", "--by", "inline", "--json", "--min", "0"))["nodes"]
    paths, found = [], {}
    for node in nodes:
        paths.append((paths[node["parent"]] if paths else ()) + (node["function"],))
        found[paths[-1]] = found.get(paths[-1], 0) + node["total"]
    return found


def flames_of(page):
    """Hits of a page's flame graph by the functions of a stack, as tree_of has them."""
    data = json.loads(re.search(r'id="flame-data">\n(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[1])

    def numbers(column):
        value, shift = 0, 0
        for byte in base64.b64decode(column):
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                yield value
                value, shift = 0, 0

    # Two functions of one name have their files behind it.
    names = [re.sub(r" \([^()]*\)$", "", name) for name in data["frames"]["short"]]
    tree = data["trees"][0]
    totals = list(numbers(tree["self"]))
    ups = list(numbers(tree["up"]))
    for at in reversed(range(1, tree["count"])):
        totals[at - ups[at]] += totals[at]
    paths, found = [], {}
    for at, frame in enumerate(numbers(tree["frame"])):
        paths.append((paths[at - ups[at]] + (names[frame - 1],)) if at > 0 else ("",))
        found[paths[-1]] = found.get(paths[-1], 0) + totals[at]
    return found


def check_stacks_of_others(ntprof, folder, kind, path):
    """As stacks of ntprof's own: in a sum, its tree, a difference and the page."""
    once = tree_of(ntprof, path)
    expect(len(max(once, key=len)) > 3, f"{kind}: no deep stacks: {once}")
    ntprof("merge", "-o", "two", path, path)
    expect(tree_of(ntprof, "two") == {stack: 2 * hits for stack, hits in once.items()}, f"{kind}: the sum's tree")
    rows = json.loads(ntprof("diff", "--json", "--all", path, "two"))["sources"][0]["rows"]
    expect(rows and all(row["total"]["new_hits"] == 2 * row["total"]["old_hits"] > 0 for row in rows),
           f"{kind}: totals of diff: {rows}")
    ntprof("export", "--format", "html", "-o", "two.html", "two")
    found = flames_of(folder / "two.html")
    expect(found == {stack: 2 * hits for stack, hits in once.items()}, f"{kind}: the page: {found}, {once}")


def check_go_now(ntprof, folder):
    """A program that profiles itself, built and run here."""
    environment = dict(os.environ, HOME=str(folder), GOCACHE=str(folder / "cache"),
                       GO111MODULE="off", GOFLAGS="-trimpath")
    subprocess.run(["go", "build", "-o", folder / "busy", FOREIGN / "busy.go"], check=True,
                   env=environment, cwd=folder)
    path = folder / "now.pb.gz"
    subprocess.run([folder / "busy", path], check=True)
    check_against_go(ntprof, folder, path)
    hits = ntprof.hits(path)
    busy = sum(count for key, count in hits.items() if key[0].startswith("main."))
    expect(busy > 0, f"no hit in the program's own functions: {hits}")


def check_without_samples(ntprof, folder):
    """A file of another tool that has no samples at all has no accounting either."""
    path = folder / "nothing.pb"
    path.write_bytes(b"\x0a\x04\x08\x01\x10\x02" + b"\x32\x00" + b"\x32\x07samples" + b"\x32\x05count")
    text = ntprof("report", path)
    expect("0 hits; the file has no accounting" in text, f"without samples: {text}")
    expect("expected" not in text and "run longer\n" in text, f"without samples: {text}")


# Stacks, leaf first, what is dropped and kept, and the leaf that is left.
DROPPED = [
    ("malloc new make_a", "malloc|new", "", "make_a"),
    ("malloc new make_a main", "new", "", "make_a"),
    ("malloc new make_a main", "alloc|ne", "", "malloc"),  # whole names only
    ("malloc runtime.x main", "malloc|runtime\\..*", "runtime\\.x", "runtime.x"),
    ("mid,outer malloc,wrap main", "malloc", "", "wrap"),  # of inlined ones those within
    ("mid,malloc,outer main", "malloc", "", "outer"),
    ("mid,malloc main", "malloc", "", "main"),
    ("malloc new", "malloc|new", "", "malloc"),  # never all
    ("a malloc b malloc c", "malloc", "", "c"),  # the outermost one
    ("f(int) main", "f", "", "main"),
    ("(anonymous+namespace)::f(int) main", "\\(anonymous namespace\\)::f", "", "main"),
    (".f main", "f", "", "main"),
    ("a main", "(", "", "a"),
    ("a main", "\\pL+", "", "a"),
]


def check_dropped_frames(ntprof, folder, has_go):
    for number, (stack, drop, keep, left) in enumerate(DROPPED):
        made = foreign_file.ForeignFile(("inuse_objects", "count"), ("inuse_space", "bytes"))
        made.sample([place.replace("+", " ") for place in stack.split()], 7, 4096)
        made.texts_of(drop_frames=drop, keep_frames=keep)
        path = folder / f"dropped{number}.pb.gz"
        made.write(path)
        hits = ntprof.hits(path, "--by", "function")
        expect([key[0] for key in hits] == [left], f"{stack} without {drop} but {keep}: {hits}")
        obeyed = drop not in ("(", "\\pL+")
        expect(("drop_frames is not obeyed: " in ntprof("report", path)) != obeyed, f"{drop}: obeyed or not")
        # go tool pprof changes such names before it looks at them.
        if has_go and obeyed and "(" not in drop:
            check_against_go(ntprof, folder, path)


def fails(program, folder, *arguments):
    result = subprocess.run([program, *map(str, arguments)], cwd=folder, check=False, capture_output=True, text=True)
    expect(result.returncode == 125, f"{arguments}: {result.returncode}")
    return result.stderr


def check_values(ntprof, folder):
    """--value: one column of any unit."""
    made = foreign_file.ForeignFile(("objects", "count"), ("space", "bytes"), ("space", "pages"),
                                    ("delay", "nanoseconds"))
    made.sample(["a"], 9, 4096, 1, 70)
    made.sample(["b"], 1, 65536, 16, 30)
    made.write(folder / "values.pb.gz")
    made.sample(["a", "main"], 9, 4096, 1, 70)
    made.write(folder / "called.pb.gz")
    for value, hits, unit in [("objects", (9, 1), "hits"), ("space", (4096, 65536), "bytes"),
                              ("space/pages", (1, 16), "pages"), ("delay", (70, 30), "nanoseconds")]:
        found = ntprof.hits("values.pb.gz", "--value", value)
        expect({key[0]: count for key, count in found.items()} == {"a": hits[0], "b": hits[1]}, f"{value}: {found}")
        text = ntprof("report", "values.pb.gz", "--value", value)
        expect(f"; {sum(hits)} {unit}; the file has no accounting" in text, f"{value}: {text}")
        expect((" +- " in text.split("\n")[0]) == (unit == "hits"), f"{value}: {text}")
        ntprof("merge", "--value", value, "-o", "sum.pb.gz", "values.pb.gz", "values.pb.gz")
        text = ntprof("report", "sum.pb.gz")
        expect(f"; {2 * sum(hits)} {unit}; the file" in text, f"{value}, merged: {text}")
        found = json.loads(ntprof("diff", "--json", "--value", value, "values.pb.gz", "values.pb.gz"))
        expect(found["sources"][0]["unit"] == unit, f"{value}, JSON of diff: {found}")
        text = ntprof("report", "--tree", "--value", value, "called.pb.gz")
        expect(f"% of {sum(hits) + hits[0]} {unit} of {value.split('/')[0]}\n" in text, f"{value}, tree: {text}")
        text = ntprof("export", "--format", "svg", "--value", value, "called.pb.gz")
        expect(f", {sum(hits) + hits[0]} {unit}<" in text and f", {hits[0]} {unit}, self " in text, f"{value}: {text}")
        text = ntprof("annotate", "--value", value, "a", "values.pb.gz")
        expect(f": {hits[0]} of {sum(hits)} {unit} (" in text, f"{value}, annotate: {text}")
        unit = "events" if unit == "hits" else unit
        found = json.loads(ntprof("report", "--json", "--value", value, "values.pb.gz"))
        expect(found["sources"][0]["per_hit_unit"] == unit, f"{value}, JSON: {found}")
        text = ntprof("report", "--csv", "--value", value, "values.pb.gz")
        expect(text.count(f",{unit},") == 2, f"{value}, CSV: {text}")
        ntprof("export", "--value", value, "--format", "folded", "-o", "values.folded", "values.pb.gz")
        expect(f"a {hits[0]}\n" in (folder / "values.folded").read_text(), f"{value}, folded")
    for arguments, said in [
            (["values.pb.gz", "--value", "spice"], "--value spice: it has no such value; it has objects (count), space "
                                                   "(bytes), space (pages), delay (nanoseconds)"),
            (["values.pb.gz", "--value", "space/count"], "it has no such value"),
            (["values.pb.gz", "--value", ""], "--value '': an empty name"),
            (["sum.pb.gz", "--value", "space"], "ntprof's own have sources, which -e chooses"),
            (["sqlite:values.db", "--value", "space"], "is a store: --value chooses in files of other tools")]:
        error = fails(ntprof.program, folder, "report", *arguments)
        expect(said in error, f"{arguments}: {error}")


def check_rates(ntprof, folder):
    """Trees have no place for both hits and what they stand for: a line says what their numbers are."""
    for name, period in (("slow", 3000000), ("fast", 1000000)):
        made = foreign_file.ForeignFile(("samples", "count"), ("cpu", "nanoseconds"))
        made.sample(["a", "main"], 10, 10 * period)
        made.period("cpu", "nanoseconds", period)
        made.write(folder / f"{name}.pb.gz")
    ntprof("merge", "-o", "rates.pb.gz", "slow.pb.gz", "fast.pb.gz")
    for file, said in (("rates.pb.gz", "its numbers are hits of 1000 Hz\n"), ("slow.pb.gz", "")):
        for words in (["--tree"], ["--tree", "--json"]):
            done = subprocess.run([ntprof.program, "report", file, *words], cwd=folder, check=True,
                                  capture_output=True, text=True)
            expect(done.stderr.endswith(said) and bool(done.stderr) == bool(said), f"{file} {words}: {done.stderr}")


def check_units(ntprof, folder):
    """Exports that hold all have the systemd units, too."""
    made = foreign_file.ForeignFile(("samples", "count"))
    made.sample(["a"], 3, unit="web.service")
    made.sample(["a"], 4)
    made.write(folder / "units.pb.gz")
    whole = json.loads(ntprof("export", "--format", "json", "units.pb.gz"))
    wrongs = list(validate_schema.check(whole, PROFILE_SCHEMA, PROFILE_SCHEMA, "profile"))
    expect(not wrongs, f"units, JSON: {wrongs}")
    expect(sorted((row["hits"], whole["units"][row.get("unit", 0)]) for row in whole["rows"]) ==
           [([3], "web.service"), ([4], "")], f"units, JSON: {whole}")
    rows = list(csv.DictReader(ntprof("export", "--format", "csv", "units.pb.gz").splitlines()))
    expect(sorted((row["samples"], row["unit"]) for row in rows) == [("3", "web.service"), ("4", "")],
           f"units, CSV: {rows}")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    has_go = shutil.which("go") is not None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ntprof = Ntprof(program, folder)
        for kind in KINDS:
            path = folder / f"{kind}.pb.gz"
            shutil.copy(FOREIGN / path.name, path)
            check_report(ntprof, kind, path, "--update" in sys.argv)
            check_others(ntprof, folder, kind, path)
            check_stacks_of_others(ntprof, folder, kind, path)
            if has_go:
                check_against_go(ntprof, folder, path)
                check_stacks(ntprof, folder, path)
                check_totals(ntprof, folder, path)
        check_without_samples(ntprof, folder)
        check_dropped_frames(ntprof, folder, has_go)
        check_values(ntprof, folder)
        check_rates(ntprof, folder)
        check_units(ntprof, folder)
        if has_go:
            check_go_now(ntprof, folder)
    print(f"{len(KINDS)} files of other tools, {wrong} wrong"
          + ("" if has_go else "; go is not installed: nothing to compare hits with"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
