#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the manual pages against the options of the command.

usage: check_options.py NTPROF [TREE]

NTPROF is the built command. Parser, help and completions come from one table a command (tool/base/options.h), so its
help has all options. For each command that `ntprof help` lists: every option, by all its names and with or without a
value, is in the list and the synopsis of docs/man/ntprof-COMMAND.1, and nothing else is. Examples use options that
exist, and the help has them first. Cross references lead somewhere.
"""
import pathlib
import re
import subprocess
import sys

HELP_COLUMNS = 80
KINDS = {0: "no value", 1: "a value", 2: "a value if it likes"}
# Their options are in ntprof(1): they have none but --help.
WITHOUT_PAGE = {"help", "version"}

HELP_LINE = re.compile(r"^ {2}(?:-(?P<letter>\w)(?:, |(?= |$))| {4})(?:--(?P<long>[a-z][a-z0-9-]*))?"
                       r"(?P<value>\[=[^ \]]+\]| \S+|=\S+)?(?: {2}|$)")

faults = []


def fault(text):
    faults.append(text)
    print(text)


def show(option):
    letter, name, _ = option
    return "/".join(word for word in ("-" + letter if letter != "-" else "",
                                      "--" + name if name != "-" else "") if word)


def run(*words):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def compare(command, wanted, found, place):
    """Differences by name first, so that one with another kind of value is not reported twice."""
    by_name = {option[:2]: option for option in found}
    for option in sorted(wanted):
        other = by_name.pop(option[:2], None)
        if other is None:
            fault(f"{command}: {show(option)} is not in {place}")
        elif other != option:
            fault(f"{command}: {show(option)} takes {KINDS[option[2]]}, not so in {place}")
    for option in sorted(by_name.values()):
        fault(f"{command}: {show(option)} is in {place} and not in its help")


def example_options(line):
    """The words of an example that are options of ntprof COMMAND."""
    words = re.sub(r"\$\(.*?\)", "X", line).split(" -- ")[0]
    words = re.split(r"  +|[|>;]", words.strip())[0].split()
    return [re.split("=", word)[0] for word in words[2:] if re.match(r"-[\w-]", word)]


def check_examples(command, lines, options, place):
    names = {"-" + letter for letter, _, _ in options} | {"--" + name for _, name, _ in options}
    own = [line for line in lines if re.match(rf"ntprof {command}\b", line)]
    if not own:
        fault(f"{command}: {place} has no example of it")
    for line in own:
        for word in example_options(line):
            if word[:2 if word[1] != "-" else None] not in names:
                fault(f"{command}: an example in {place} has {word}, which its help has not")


def check_help(ntprof, command):
    """Returns the options that it lists: a set of (letter, long name, kind of value)."""
    place = f"ntprof help {command}"
    lines = run(ntprof, "help", command)[1].splitlines()
    options = set()

    if not any(line.startswith(f"usage: ntprof {command}") for line in lines):
        fault(f"{command}: {place} does not say how it is called")
    for line in lines:
        if len(line) > HELP_COLUMNS:
            fault(f"{command}: {place} has a line of {len(line)} columns: {line}")
        match = HELP_LINE.match(line)
        if match and (match["letter"] or match["long"]):
            value = match["value"] or ""
            option = (match["letter"] or "-", match["long"] or "-",
                      2 if value.startswith("[=") else 1 if value else 0)
            if option[1] in {name for _, name, _ in options}:
                fault(f"{command}: {place} has {show(option)} twice")
            options.add(option)
    if not lines or lines[0] != "Examples":
        fault(f"{command}: {place} does not begin with examples")
    elif "" in lines:
        check_examples(command, [line.strip() for line in lines[1:lines.index("")]], options, place)
    return options


def flags(text):
    """What .Fl of mdoc shows, which puts a dash before each of its arguments."""
    names = []
    for line in text.splitlines():
        listed = False
        for word in line.split():
            if word in ("Fl", ".Fl") or listed and word == ",":
                listed = True
            elif listed and re.fullmatch(r"\w|-[\w-]*", word):
                names.append(word)
            else:
                listed = False
    return names


def page_option(line):
    """An .It of mdoc: (letter, long name, kind)."""
    names = flags(line)
    letter = next((name for name in names if not name.startswith("-")), "-")
    name = next((name[1:] for name in names if name.startswith("-")), "-")
    kind = 2 if re.search(r"Ns O[po] = ", line) else 1 if re.search(r"\b(?:Ar|Cm) ", line) else 0
    return letter, name, kind


def section(text, name):
    match = re.search(rf"^\.Sh {name}\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S)
    return match[1] if match else ""


def check_page(tree, command, options):
    name = f"docs/man/ntprof-{command}.1"
    path = tree / name
    if not path.exists():
        fault(f"{command}: there is no {name}")
        return
    text = path.read_text()
    compare(command, options,
            {page_option(line) for line in text.splitlines() if line.startswith(".It Fl ")}, name)
    shown = {"-" + word for word in flags(section(text, "SYNOPSIS"))} - {"--"}
    for option in sorted(options):
        names = set(show(option).split("/"))
        if not shown & names:
            fault(f"{command}: {show(option)} is not in the synopsis of {name}")
        shown -= names
    for word in sorted(shown):
        fault(f"{command}: {word} is in the synopsis of {name} and not in its help")
    check_examples(command, re.findall(r"^\.Dl \$ (.*)$", section(text, "EXAMPLES"), re.M),
                   options, name)


def check_overview(tree, commands):
    """The page that lists all commands."""
    page = (tree / "docs/man/ntprof.1").read_text()
    for command in commands:
        for need in [rf"^\.Cm {command}$", rf"^\.It Cm {command}$"] + \
                    ([] if command in WITHOUT_PAGE else [rf"^\.Xr ntprof-{command} 1"]):
            if not re.search(need, page, re.M):
                fault(f"{command}: docs/man/ntprof.1 has no line {need.strip('^$')}")


def check_references(tree):
    """Every cross reference to a page of ours leads to one."""
    pages = {path.name for path in (tree / "docs/man").glob("*.[0-9]")}
    aliases = set()
    for path in (tree / "docs/man").glob("*.3"):
        head = section(path.read_text(), "NAME")
        aliases |= {name.strip(" ,") + ".3" for name in re.findall(r"^\.Nm (.*)$", head, re.M)}
    for path in sorted((tree / "docs/man").glob("*.[0-9]")):
        for name, number in re.findall(r"\bXr (\S+) (\d)", path.read_text()):
            ours = re.match(r"(?:lib)?ntprof|Nt[A-Z]|Zw[A-Z]|Ke[A-Z]", name)
            if ours and f"{name}.{number}" not in pages | aliases:
                fault(f"{path.relative_to(tree)}: there is no {name}({number})")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    ntprof = sys.argv[1]
    tree = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parent.parent)
    commands = re.findall(r"^  (?!ntprof)([a-z]+)  ", run(ntprof, "help")[1], re.M)
    count = 0

    for command in commands:
        options = check_help(ntprof, command)
        count += len(options)
        if command not in WITHOUT_PAGE:
            check_page(tree, command, options)
        elif options:
            fault(f"{command}: has options, so it needs a page of its own")
    check_overview(tree, commands)
    check_references(tree)
    print(f"check_options: {len(commands)} commands, {count} options, {len(faults)} faults")
    sys.exit(1 if faults or not commands else 0)


main()
