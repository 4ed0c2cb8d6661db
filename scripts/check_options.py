#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds what the command takes against its help, its manual pages and its completions.

usage: check_options.py [--no-shells] NTPROF PRINT_OPTIONS [TREE]

NTPROF is the built command, PRINT_OPTIONS the same with a getopt_long that tells what it was asked to
find (tests/scripts/print_options.c). The commands are those of TREE/tool/main.c, so a new one is found
by itself. For each: every option of its parser, by all its names and with or without a value, is in
`ntprof help COMMAND`, in the list and the synopsis of docs/man/ntprof-COMMAND.1 and in what bash, zsh and
fish complete, and nothing else is. Examples use options that exist. Cross references lead somewhere.

Exit status 77 if all that could be compared agrees and a shell is missing.
"""
import pathlib
import re
import shutil
import subprocess
import sys

HELP_COLUMNS = 80
KINDS = {0: "no value", 1: "a value", 2: "a value if it likes"}
# Every command has it, and ntprof help and ntprof(1) tell of it once for all.
COMMON = ("-", "help", 0)
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


def parser_options(print_options, command, *words):
    """What the command's parser knows: a set of (letter, long name, kind of value)."""
    status, out, _ = run(print_options, command, *words)
    lines = [line.split() for line in out.splitlines()]
    if status != 0 or not lines or any(len(line) != 3 for line in lines):
        fault(f"{command}: does not read its options by getopt_long, or does more before it")
        return set()
    options = {(letter, name, int(kind)) for letter, name, kind in lines}
    if COMMON not in options:
        fault(f"{command}: its parser has no --help")
    return options - {COMMON}


def compare(command, wanted, found, place):
    """Differences by name first, so that one with another kind of value is not told twice."""
    by_name = {option[:2]: option for option in found}
    for option in sorted(wanted):
        other = by_name.pop(option[:2], None)
        if other is None:
            fault(f"{command}: {show(option)} is not in {place}")
        elif other != option:
            fault(f"{command}: {show(option)} takes {KINDS[option[2]]}, not so in {place}")
    for option in sorted(by_name.values()):
        fault(f"{command}: {show(option)} is in {place} and not in its parser")


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
                fault(f"{command}: an example in {place} has {word}, which its parser has not")


def check_help(ntprof, command, options):
    place = f"ntprof help {command}"
    status, text, _ = run(ntprof, "help", command)
    lines = text.splitlines()
    found = set()

    if status != 0 or not lines:
        fault(f"{command}: there is no help of it")
        return
    if lines[0] != "Examples":
        fault(f"{command}: {place} does not begin with examples")
    if f"usage: ntprof {command}" not in text:
        fault(f"{command}: {place} does not say how it is called")
    for line in lines:
        if len(line) > HELP_COLUMNS:
            fault(f"{command}: {place} has a line of {len(line)} columns: {line}")
        if re.match(r" {2,6}-", line):
            match = HELP_LINE.match(line)
            if not match or not (match["letter"] or match["long"]):
                fault(f"{command}: {place} has an option in another form: {line}")
                continue
            value = match["value"] or ""
            found.add((match["letter"] or "-", match["long"] or "-",
                       2 if value.startswith("[") else 1 if value else 0))
    compare(command, options, found, place)
    if "" in lines:
        check_examples(command, [line.strip() for line in lines[1:lines.index("")]], options, place)
    if run(ntprof, command, "--help")[1] != text:
        fault(f"{command}: --help prints something else than {place}")


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
        fault(f"{command}: {word} is in the synopsis of {name} and not in its parser")
    check_examples(command, re.findall(r"^\.Dl \$ (.*)$", section(text, "EXAMPLES"), re.M),
                   options, name)


def check_overview(ntprof, tree, commands):
    """What lists all commands."""
    general = run(ntprof, "help")[1]
    page = (tree / "docs/man/ntprof.1").read_text()
    unknown = run(ntprof, "no-such-command")[2]
    if not general.startswith("Examples\n"):
        fault("ntprof help does not begin with examples")
    for command in commands:
        if not re.search(rf"^  {command}  ", general, re.M):
            fault(f"{command}: ntprof help does not list it")
        if not re.search(rf"\b{command}\b", unknown):
            fault(f"{command}: what is said of an unknown command does not name it")
        for need in [rf"^\.Cm {command}$", rf"^\.It Cm {command}$"] + \
                    ([] if command in WITHOUT_PAGE else [rf"^\.Xr ntprof-{command} 1"]):
            if not re.search(need, page, re.M):
                fault(f"{command}: docs/man/ntprof.1 has no line {need.strip('^$')}")
    for match in re.finditer(r"^  ([a-z]+)  ", general, re.M):
        if match[1] not in commands and match[1] != "ntprof":
            fault(f"ntprof help lists {match[1]}, which is no command")


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


def check_shell(tree, shell, commands, options):
    """False: there is no such shell."""
    if shutil.which(shell) is None:
        return False
    lines = ["ntprof "] + [f"ntprof {command} -" for command in commands]
    status, out, said = run(sys.executable, tree / "scripts/complete_in_shell.py", shell,
                            tree / "completions", *lines)
    if status != 0:
        fault(f"{shell}: completions cannot be asked for: {said.strip() or out.strip()}")
        return True
    answers = [answer.split("\n") for answer in out.split("\f\n")]
    completed = {word for word in answers[0] if re.match(r"[a-z]", word)}
    for command in sorted(set(commands) ^ completed):
        fault(f"{command}: {'not completed' if command in commands else 'no command, but completed'}"
              f" by {shell}")
    for command, answer in zip(commands, answers[1:]):
        wanted = {"-" + letter for letter, _, _ in options[command] if letter != "-"}
        wanted |= {"--" + name for _, name, _ in options[command] | {COMMON} if name != "-"}
        found = {word.rstrip("= ") for word in answer if word.startswith("-")} - {"-", "--"}
        for word in sorted(wanted - found):
            fault(f"{command}: {word} is not completed by {shell}")
        for word in sorted(found - wanted):
            fault(f"{command}: {word} is completed by {shell} and not in its parser")
    return True


def main():
    words = [word for word in sys.argv[1:] if word != "--no-shells"]
    shells = () if "--no-shells" in sys.argv else ("bash", "zsh", "fish")
    if len(words) not in (2, 3):
        sys.exit(__doc__)
    ntprof, print_options = words[:2]
    tree = pathlib.Path(words[2] if len(words) > 2 else pathlib.Path(__file__).parent.parent)
    commands = re.findall(r'\{"([a-z]+)", cmd_\w+\}', (tree / "tool/cli/main.c").read_text())
    options = {command: parser_options(print_options, command) for command in commands}
    options["top"] |= parser_options(print_options, "top", "sqlite:p.db")  # a parser of its own

    for command in commands:
        check_help(ntprof, command, options[command])
        if command not in WITHOUT_PAGE:
            check_page(tree, command, options[command])
        elif options[command]:
            fault(f"{command}: has options, so it needs a page of its own")
    check_overview(ntprof, tree, commands)
    check_references(tree)
    missing = [shell for shell in shells if not check_shell(tree, shell, commands, options)]
    count = sum(len(known) for known in options.values())
    print(f"check_options: {len(commands)} commands, {count} options, {len(faults)} faults")
    if missing and not faults:
        print(f"not compared, as they are not installed: completions of {', '.join(missing)}")
        sys.exit(77)
    sys.exit(1 if faults or not commands else 0)


main()
