#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints what `ntprof run` answers in each environment of tests/integration/environments.py, program by program.

usage: environments.py BUILD [--write | --check] [--short] [WORD...]

A cell is the back end, the hits taken, and how far the shares are from those of root with back end perf (total
variation distance of functions in user mode: the part of the time that is credited to the wrong function, which few
hits alone make too); or a number, which a line below the table explains: a refusal, in ntprof's own words.

--write makes docs/environments.md of it. --check compares with that file what does not vary: back end or refusal.
--short runs two programs in each environment that changes no setting, in about a minute. WORD chooses
environments by name. The status is 1 if a cell is empty, wrong or crashed, or differs with --check; 77 if perf refuses
root here. Needs root.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TREE / "tests/integration"))
FILE = TREE / "docs/environments.md"
MACHINES = "# Kernels and processors\n"  # what follows is of check_machines.py
TIME_LIMIT_S = 60
WORK_MS = 240

# Programs that any Debian has, and what makes each take about WORK_MS of processor time.
PYTHON_WORK = f"""
import json, time
def count(words):
    counts = {{}}
    for word in words:
        counts[word[:3]] = counts.get(word[:3], 0) + 1
    return counts
while time.process_time() < {WORK_MS / 1000}:
    words = [f"{{number * 7919 % 100003:x}}" for number in range(3000)]
    json.loads(json.dumps(sorted(count(words).items())))
"""
NODE_WORK = f"""
let value = 0;
while (process.cpuUsage().user < {WORK_MS} * 1000) {{
    const words = Array.from({{length: 3000}}, (_, i) => (i * 7919 % 100003).toString(16));
    value += JSON.parse(JSON.stringify(words.sort())).length;
}}
"""


class Programs:
    """The columns: name and command of each."""

    def __init__(self, harness):
        def tool(path):
            return str(pathlib.Path(path).resolve())
        work = str(WORK_MS)
        self.commands = {
            "C": [harness.program("shares"), work],
            "threads": [harness.program("shares_threads"), work],
            "python3": [tool("/usr/bin/python3"), "-S", "-E", "-c", PYTHON_WORK],
            "node": [tool("/usr/bin/node"), "--single-threaded", "-e", NODE_WORK],
            "static": [harness.program("shares_static"), work],
        }
        python = pathlib.Path(self.commands["python3"][0])
        # Debian's node reads parts of itself from /usr/share; builds of others hold them.
        parts_of_node = pathlib.Path("/usr/share/nodejs")
        self.folders = [harness.stage(), pathlib.Path("/usr/lib") / python.name]
        if parts_of_node.is_dir():
            self.folders.append(parts_of_node)
        self.files = [*harness.command_files(), "/bin/dash", "/bin/true",
                      self.commands["python3"][0], self.commands["node"][0]]

    def chosen(self, row, short):
        """Names of those that run in a row: a short table has the first, and one of the others in turn."""
        names = list(self.commands)
        return [names[0], names[1 + row % (len(names) - 1)]] if short else names


class Cell:
    def __init__(self, text="", note="", fault=""):
        self.text, self.note, self.fault = text, note, fault

    def kind(self):
        """What does not vary: the back end, or why there is none."""
        return self.note or re.split(r"[ ,]", self.text)[0]


# ---- shares ----


def user_shares(report):
    """{function of an image: hits} in user mode. Code without a file has different names by each back end."""
    shares = collections.Counter()
    for row in report["rows"]:
        image = row["image"]
        if image.startswith("[kernel") or row["function"].startswith("[kernel"):
            continue
        named = re.fullmatch(r".*\+0x[0-9a-f]+", row["function"]) is None
        key = (pathlib.Path(image).name, row["function"] if named else "") if image.startswith("/") else ("", "")
        shares[key] += row["hits"]
    return shares


def grouped(shares, large):
    """Those of large, and the rest as one."""
    total = sum(shares.values())
    result = {key: shares[key] / total for key in large}
    result[None] = 1 - sum(result.values())
    return result


def distance(shares, wanted):
    """Total variation distance of two tables of hits, and what chance alone hardly exceeds."""
    total = sum(wanted.values())
    large = [key for key, hits in wanted.items() if hits >= total / 20]
    one, two = grouped(shares, large), grouped(wanted, large)
    # Half of the sum of absolute deviations; each has a standard deviation of at most sqrt(p (1 - p) / hits).
    chance = sum(math.sqrt(max(two[key] * (1 - two[key]), 0) * (1 / sum(shares.values()) + 1 / total))
                 for key in two) / 2
    return sum(abs(one[key] - two[key]) for key in two) / 2, chance


# ---- cells ----


class Table:
    def __init__(self, harness, environments, programs, short):
        self.harness, self.environments, self.programs, self.short = harness, environments, programs, short
        self.wanted = {}

    def variables(self, environment):
        variables = {**self.harness.bare_environment(), "PYTHONHASHSEED": "0"}
        if not environment.proc:
            variables["LD_LIBRARY_PATH"] = str(self.harness.stage() / "src")
        return variables

    def run(self, entered, words):
        return entered.run(words, cwd=self.folder, env=self.variables(entered.environment), timeout=TIME_LIMIT_S)

    def measure(self, entered, words):
        """(result of run, its report or None)"""
        path = pathlib.Path("/dev/shm" if entered.environment.read_only else self.folder) / "environments.pb.gz"
        path.unlink(missing_ok=True)
        try:
            ntprof = str(self.harness.stage() / "tool" / "ntprof")
            result = self.run(entered, [ntprof, "run", "--rows", "0", "--by", "function", "-o", path, "--", *words])
            report = None
            if path.exists():
                told = subprocess.run([ntprof, "report", "--json", "--rows", "0", path], capture_output=True,
                                      env=self.harness.bare_environment(), timeout=TIME_LIMIT_S)
                report = json.loads(told.stdout) if told.returncode == 0 else None
            return result, report
        finally:
            path.unlink(missing_ok=True)

    def cell(self, entered, name):
        words = self.programs.commands[name]
        try:
            result, report = self.measure(entered, words)
        except subprocess.TimeoutExpired:
            return Cell("hangs", fault=f"still ran after {TIME_LIMIT_S} s")
        said = result.stderr.decode("utf-8", "replace")
        if result.returncode == 125:
            lines = [line for line in said.splitlines() if line.startswith("ntprof: ")]
            note = self.refusal(lines[0], words) if lines else ""
            return Cell("refused", note, "" if note else f"refused without a line: {said[-300:]}")
        if result.returncode != 0:
            if self.run(entered, words).returncode != 0:
                return Cell("does not run", f"{name} itself does not run here, with or without ntprof")
            return Cell("fails", fault=f"status {result.returncode} although it runs without ntprof: {said[-300:]}")
        if report is None:
            return Cell("no profile", fault=f"no profile that can be read: {said[-300:]}")
        return self.compared(name, report, "/proc is not mounted" in said)

    def refusal(self, line, words):
        """The line without the paths of this run."""
        line = line.replace(words[0], "PROGRAM").replace(str(self.harness.stage()), "")
        return re.sub(r"\s+", " ", line)

    def compared(self, name, report, nameless):
        taken, backend = report["sources"][0]["taken"], report["hal"]
        shares = user_shares(report)
        hits = sum(shares.values())
        if hits == 0:
            return Cell(f"{backend}, no hits", fault=f"no hits of {taken} taken")
        if nameless:
            return Cell(f"{backend} {taken}, no names")
        far, chance = distance(shares, self.wanted[name])
        # Back ends differ a little (the tick); chance is what it is. Beyond both, shares are wrong.
        fault = f"shares are off by {far:.1%}" if far > 0.06 + 4 * chance else ""
        return Cell(f"{backend} {taken}, {100 * far:.0f} %", fault=fault)

    def measure_wanted(self):
        """As root with perf, three times the hits. False: perf refuses root here."""
        root = next(self.environments.environments())
        with self.environments.Entered(root, self.programs.files, self.programs.folders) as entered:
            for name, words in self.programs.commands.items():
                self.wanted[name] = collections.Counter()
                for _ in range(3):
                    result, report = self.measure(entered, words)
                    if report is None or report["hal"] != "perf":
                        print(f"environments: perf does not profile {name} as root here: "
                              f"{result.stderr.decode('utf-8', 'replace').strip()[-300:]}")
                        return False
                    self.wanted[name] += user_shares(report)
        return True

    def rows(self, words):
        """(environment, {program: cell} or a reason why it cannot be made here) each"""
        self.folder = self.harness.stage() / "work"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        level = self.environments.PARANOID.read_text().strip()
        if self.short and level != "2":
            print(f"environments: kernel.perf_event_paranoid is {level}, not 2, and other tests count on it meanwhile")
            sys.exit(77)
        with self.environments.paranoid(2):
            if not self.measure_wanted():
                sys.exit(77)
            listed = [one for one in self.environments.environments()
                      if (not words or any(word in one.name for word in words))
                      and not (self.short and one.paranoid not in (None, 2))]
            for number, environment in enumerate(listed):
                with self.environments.Entered(environment, self.programs.files, self.programs.folders) as entered:
                    if entered.why:
                        yield environment, entered.why
                        continue
                    yield environment, {name: self.cell(entered, name)
                                        for name in self.programs.chosen(number, self.short)}


# ---- the file ----

HEAD = """# Where it runs

What `ntprof run` answers where Linux refuses something: rows are environments that
[tests/integration/environments.py](../tests/integration/environments.py) makes with real namespaces, capabilities,
control groups, limits and the default seccomp profiles of Docker and Podman, columns are programs. A cell has the back
end, the hits taken, and the distance of the shares of functions in user mode to those of root with perf: the part of
the time that went to the wrong function. Few hits alone make a distance of some percent. A number in brackets is a
line below the table: why there is no profile.

`scripts/environments.py BUILD --write` makes this file, on a kernel with kernel.perf_event_paranoid = 2 where a row
does not say otherwise. CI runs two programs a row and compares back ends and refusals. Only kernels of distributions
know levels above 2; the rows of 3 and 4 say *timer* on them.
"""


def format_table(rows, names):
    notes = []
    lines = ["| environment | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for environment, cells in rows:
        texts = []
        for name in names:
            cell = Cell("", f"cannot be made: {cells}") if isinstance(cells, str) else cells.get(name)
            if cell is not None and cell.note and cell.note not in notes:
                notes.append(cell.note)
            texts.append("-" if cell is None else f"[{notes.index(cell.note) + 1}]" if cell.note else cell.text)
        lines.append(f"| {environment.title} | " + " | ".join(texts) + " |")
    lines += ["", "| line | what ntprof says |", "|---|---|"]
    lines += [f"| [{number}] | `{note}` |" for number, note in enumerate(notes, 1)]
    return "\n".join(lines) + "\n"


def read_table(text):
    """{title: {program: kind}} of the file."""
    notes = dict(re.findall(r"(?m)^\| \[(\d+)\] \| `(.*)` \|$", text))
    table, names = {}, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if cells and cells[0] == "environment":
            names = cells[1:]
        elif cells and names and len(cells) == len(names) + 1:
            table[cells[0]] = {name: notes.get(cell.strip("[]"), "") if cell.startswith("[") else Cell(cell).kind()
                               for name, cell in zip(names, cells[1:])}
    return table


def compare(rows, table):
    """What differs from the file, a line each. Environments that cannot be made here are left out."""
    for environment, cells in rows:
        if isinstance(cells, str):
            continue
        wanted = table.get(environment.title)
        if wanted is None:
            yield f"{environment.title}: no row in {FILE.name}"
            continue
        for name, cell in cells.items():
            # Only distributions' kernels know levels above 2.
            if cell.kind() != wanted.get(name) and environment.paranoid not in (3, 4):
                yield f"{environment.title}, {name}: {cell.kind()}, but {FILE.name} says {wanted.get(name)}"


def faults(rows):
    for environment, cells in rows:
        for name, cell in cells.items() if not isinstance(cells, str) else ():
            if cell.fault:
                yield f"{environment.title}, {name}: {cell.fault}"


def find_build(build):
    """What the build gave, for harness; meson's tests have set it."""
    if "NTPROF" in os.environ:
        return
    build = pathlib.Path(build).resolve()
    found = build / "tests/integration/programs"
    os.environ.update(NTPROF=str(build / "tool/ntprof"), NTPROF_LIBRARY=str(build / "src/libntprof.so.0"),
                      NTPROF_MODULES=" ".join(map(str, (build / "tool/modules").glob("*.so"))),
                      NTPROF_AGENT_LIBRARY=str(build / "preload/libntprof-agent.so"),
                      NTPROF_PROGRAMS=":".join(str(found / name) for name in
                                               ("shares", "shares_threads", "shares_static")))


def main():
    parser = argparse.ArgumentParser(description="What run answers in each environment.")
    parser.add_argument("build")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("words", nargs="*")
    given = parser.parse_intermixed_args()
    if os.geteuid() != 0:
        print("environments: needs root")
        return 77
    find_build(given.build)
    import environments  # noqa: PLC0415
    import harness  # noqa: PLC0415  it reads the variables
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    programs = Programs(harness)
    rows = []
    try:
        for row in Table(harness, environments, programs, given.short).rows(given.words):
            rows.append(row)
    finally:
        harness.remove_stage()
    made = format_table(rows, list(programs.commands))
    print(made)
    wrong = list(faults(rows))
    if given.check:
        wrong += compare(rows, read_table(FILE.read_text().partition(MACHINES)[0]))
    elif given.write and not wrong:
        _, machines, rest = FILE.read_text().partition(MACHINES)
        FILE.write_text(HEAD + "\n" + made + (machines and "\n") + machines + rest)
    print("\n".join([*wrong, f"environments: {len(rows)} environments, {len(wrong)} faults"]))
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
