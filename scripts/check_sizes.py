#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Fails if a file has more than 800 lines of code, or a function more than 60, and prints the lines of each folder.

usage: check_sizes.py [COMMIT]

Lines of code are those of .c and .h that were written by hand, without comments and empty lines, so that no comment
is ever left out for a limit; no folder has a limit. The table shows for each folder its lines of code, how many more
or fewer these are than in COMMIT, its lines of comments, and their share of both and of both then. Without COMMIT it
compares with the last tag, or where there is none with 100 commits before HEAD.
"""
import collections
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("agent", "preload", "src", "tool")  # preload was called agent in older commits
GENERATED = {"src/hal/bpf/instructions.h"}
FILE_MAX, FUNCTION_MAX = 800, 60

# Strings and characters are looked for too: what looks like a comment in them is none.
TOKEN = re.compile(r"""(?P<comment>/\*.*?\*/|//[^\n]*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def git(*arguments, **options):
    return subprocess.run(["git", "-C", TREE, *arguments], capture_output=True, check=True, **options).stdout


def is_counted(name):
    return name.startswith(tuple(folder + "/" for folder in FOLDERS)) and name.endswith((".c", ".h")) and \
        name not in GENERATED


def files_now():
    names = git("ls-files", "--", *FOLDERS, text=True).splitlines()
    return {name: (TREE / name).read_text(encoding="utf-8") for name in names if is_counted(name)}


def base_commit(asked):
    """None where the clone has no commits that old."""
    for words in ([["rev-parse", "--verify", asked + "^{commit}"]] if asked else
                  [["describe", "--tags", "--abbrev=0"], ["rev-parse", "--verify", "HEAD~100"]]):
        try:
            return git(*words, text=True).strip()
        except subprocess.CalledProcessError as error:
            if asked:
                sys.exit(f"check_sizes: no commit is called {asked}: {error.stderr.strip()}")
    return None


def files_of(commit):
    names = [name for name in git("ls-tree", "-r", "--name-only", commit, text=True).splitlines() if is_counted(name)]
    answers = git("cat-file", "--batch", input="".join(f"{commit}:{name}\n" for name in names).encode())
    contents = {}
    for name in names:
        header, answers = answers.split(b"\n", 1)
        size = int(header.split()[2])
        contents[name], answers = answers[:size].decode("utf-8"), answers[size + 1:]
    return contents


def without_comments(text):
    """The text with the same lines, of which those of comments are empty."""
    return TOKEN.sub(lambda found: "\n" * found[0].count("\n") if found["comment"] else found[0], text)


def count(text):
    """Lines of code, and lines that have nothing but a comment."""
    code = comments = 0
    for line, rest in zip(text.split("\n"), without_comments(text).split("\n")):
        code += rest.strip() != ""
        comments += rest.strip() == "" and line.strip() != ""
    return code, comments


def long_functions(name, text):
    """In this tree a function's braces stand in the first column, and a name before its parameters."""
    title, lines = "", None
    for line in without_comments(text).split("\n"):
        match = re.match(r"^(\w+)\(", line)
        if match:
            title = match[1]
        if line == "{" and title:
            lines = 0
        elif line == "}" and lines is not None:
            if lines > FUNCTION_MAX:
                yield f"{name}: {title} has {lines} lines of code, more than {FUNCTION_MAX}"
            lines, title = None, ""
        elif lines is not None and line.strip() != "":
            lines += 1


def by_folder(contents):
    sums = collections.defaultdict(lambda: [0, 0])
    for name, text in contents.items():
        for folder in (str(pathlib.PurePosixPath(name).parent), "all"):
            for i, lines in enumerate(count(text)):
                sums[folder][i] += lines
    return sums


def share(code, comments):
    return f"{100 * comments / (code + comments):.0f} %" if code + comments else "-"


def print_table(now, then, commit):
    print(f"{'folder':28}{'code':>8}{'change':>9}{'comments':>10}{'share':>8}{'was':>8}"
          f"   ({'compared with ' + commit[:12] if commit else 'nothing to compare with'})")
    folders = sorted(folder for folder in set(now) | set(then) if folder != "all") + ["all"]
    for folder in folders:
        code, comments = now.get(folder, (0, 0))
        code_then, comments_then = then.get(folder, (0, 0))
        change = f"{code - code_then:+d}" if commit else "-"
        was = share(code_then, comments_then) if commit else "-"
        print(f"{folder:28}{code:8}{change:>9}{comments:10}{share(code, comments):>8}{was:>8}")


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    faults = []
    contents = files_now()
    commit = base_commit(sys.argv[1] if len(sys.argv) > 1 else None)
    for name, text in contents.items():
        code, _ = count(text)
        if code > FILE_MAX:
            faults.append(f"{name}: {code} lines of code, more than {FILE_MAX}")
        faults += long_functions(name, text)
    print_table(by_folder(contents), by_folder(files_of(commit)) if commit else {}, commit)
    print("\n".join(faults + [f"check_sizes: {len(contents)} files, {len(faults)} faults"]))
    return 1 if faults or not contents else 0


sys.exit(main())
