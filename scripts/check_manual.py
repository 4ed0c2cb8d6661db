#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the manual pages of the library and of its files against headers, schemas and each other.

usage: check_manual.py [--examples FOLDER] [TREE]

Section 3: each function of include/ntprof/*.h has a page, by its own name, whose synopsis is the header's;
each parameter, constant and member is documented; statuses stand in the header's order, and rules are rules of
docs/behaviour.md; each page has threads and an example. Examples compile without a warning ($CC or cc).
The calls of <ntprof/core.h> are in the table of ARCHITECTURE.md, Embedding.
Section 5: labels and comments are those of tool/profile/pprof_fields.h, as in docs/format.md; keys of
a source those that pprof_encode.c writes, members of JSON those of docs/schema. What is installed under several
names is what the pages say.
All sections: no quote ends later than it means to.

With --examples the programs among the examples are written to FOLDER, and nothing is checked.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
# NT's calls under other names; their pages have only their names.
TWIN = re.compile(r"^(?:Zw|ntprof_Nt)(?!.*310$)")
# Types of functions: they are documented where they are passed.
PASSED = ("ntprof_notify", "ntprof_on_hit", "ntprof_on_stack", "ntprof_log")
# Members of these have a page each; what only embedders see is documented by the headers.
DOCUMENTED = re.compile(r"^(?:ntprof_\w+|OBJECT_(?:BASIC|TYPE)_INFORMATION|KE_HIT|HOST_TABLE|HAL_TABLE)$")
# groff closes a quote at the end of the line, behind the macros that follow it there; Ns continues what is quoted.
OPEN_QUOTE = re.compile(r"^\.(?:[A-Z][a-z] (?:.* )?)?[QSD][lq] .* "
                        r"(?:Ql|[SD]q|No|Fl|Ar|Cm|Ev|Pa|Em|Xr|Va|Fa|Fn|Er|Li|Ic|Nm) .*$", re.M)
RULE = re.compile(r"^\| ([a-z]+(?:-[a-z0-9]+)+) \|", re.M)

faults = []


def fault(text):
    faults.append(text)
    print(text)


def squeeze(text):
    return re.sub(r"\s*\*\s*", " *", re.sub(r"\s+", " ", text)).replace("* ", "*").strip()


def code_of(header):
    """The header's declarations alone, with the contents of braces left out."""
    text = COMMENT.sub("", header)
    text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", text, flags=re.M)
    text = re.sub(r'extern "C" \{', "", text)
    text = re.sub(r"NTPROF_CORE_SYMBOL\(\w+\)", "", text)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", "", text)
    return text


def prototypes(header):
    """name: (return type, [arguments]) of the functions and function types that a header declares."""
    found = {}
    for declaration in code_of(header).split(";"):
        match = re.match(r"^(.*?)\b(\w+)\s*\(([^()]*)\)$", squeeze(declaration.strip(" }\n")))
        if match and match[1] and "STATIC_ASSERT" not in match[2]:
            found[match[2]] = (squeeze(match[1]), [squeeze(word) for word in match[3].split(",")])
    return found


def statuses(header):
    """name: the statuses of its comment, in their order."""
    found = {}
    for comment in COMMENT.findall(header):
        head = re.match(r"/\*\s*\*?\s*(\w+(?:,\s[\s*]*\w+)*) -\s", comment)
        lines = re.findall(r"^ \* (STATUS_\w+(?:, STATUS_\w+)*)", comment, re.M)
        if head:
            for name in re.findall(r"\w+", head[1]):
                found[name] = [word for line in lines for word in line.split(", ")]
    return found


def constants(header):
    text = COMMENT.sub("", header)
    bodies = re.findall(r"\benum\s*\{(.*?)\}", text, re.S)
    return [name for body in bodies for name in re.findall(r"(?:^|,)\s*(\w+)\s*(?==|,|$)", body)]


def structs(header):
    """name: members, of the structs that a header defines."""
    found = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", COMMENT.sub("", header), re.S):
        if not DOCUMENTED.match(name):
            continue
        found[name] = []
        for member in body.split(";"):
            match = re.search(r"\(\s*\*\s*(\w+)\s*\)|(\w+)\s*(?:\[\w+\]\s*)?$", member.strip())
            if match:
                found[name].append(match[1] or match[2])
    return found


def section(text, name):
    match = re.search(rf"^\.Sh {name}\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S)
    return match[1] if match else ""


def page_names(text):
    return [name.strip(" ,") for name in re.findall(r"^\.Nm (.*)$", section(text, "NAME"), re.M)]


def page_prototypes(text):
    found = {}
    kind = name = None
    arguments = []
    for line in section(text, "SYNOPSIS").splitlines():
        words = shlex.split(line) if line.startswith(".F") else [""]
        if words[0] == ".Ft":
            kind = squeeze(" ".join(words[1:]))
        elif words[0] == ".Fn":
            found[words[1]] = (kind, [squeeze(word) for word in words[2:]])
        elif words[0] == ".Fo":
            name, arguments = words[1], []
        elif words[0] == ".Fa":
            arguments += [squeeze(word) for word in words[1:]]
        elif words[0] == ".Fc":
            found[name] = (kind, arguments)
    return found


def page_statuses(text):
    """name: statuses of its list in ERRORS. A list belongs to the function named last before it."""
    found = {}
    name = None
    listed = False
    for line in section(text, "ERRORS").splitlines():
        if line.startswith(".Fn ") and not listed:
            name = line.split()[1]
        elif line.startswith(".Bl"):
            listed = True
            found[name] = []
        elif line.startswith(".El"):
            listed = False
        elif line.startswith(".It Bq Er "):
            found[name].append(line.split()[3])
    return found


def examples(text):
    shown = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed$", section(text, "EXAMPLES"), re.M | re.S)
    return [example.replace("\\e", "\\").replace("\\&", "") for example in shown]


def core_of_page(header):
    """Where <ntprof/core.h> has the function that has a page."""
    found = re.search(r"/\*\n \* ExProfileInterrupt - .*?;\n", header, re.S)
    return found.span() if found else (0, 0)


def check_guide(core, guide):
    """The table of ARCHITECTURE.md, Embedding, has each call of <ntprof/core.h>, once."""
    calls = re.findall(r"NTPROF_CORE_SYMBOL\((Ex\w+)\)", core)
    part = guide.partition("\n## Embedding\n")[2].partition("\n## ")[0]
    named = re.findall(r"`(Ex\w+)`", "\n".join(row.split("|")[1] for row in re.findall(r"^\|.*", part, re.M)))
    for name in calls:
        if named.count(name) != 1:
            fault(f"{name}: the table of ARCHITECTURE.md, Embedding, has it {named.count(name)} times")
    for name in sorted(set(named) - set(calls)):
        fault(f"{name}: is in the table of ARCHITECTURE.md, Embedding, and not in <ntprof/core.h>")


def check_functions(headers, pages):
    declared = {name: form for header in headers.values() for name, form in prototypes(header).items()}
    documented = {name: order for header in headers.values() for name, order in statuses(header).items()}
    named = {}
    for page, text in pages.items():
        for name in page_names(text):
            named.setdefault(name, []).append(page)
    for name, form in declared.items():
        places = named.get(name, [])
        if name in PASSED:
            places = [page for page, text in pages.items() if name in page_prototypes(text)]
        if len(places) != 1:
            fault(f"{name}: {'no page' if not places else ' and '.join(places)} has it in its NAME")
            continue
        text = pages[places[0]]
        if TWIN.match(name):
            twin = re.sub(r"^(?:Zw|ntprof_Nt)", "Nt", name)
            if declared.get(twin) != form:
                fault(f"{name}: its prototype is not that of {twin}")
            continue
        if page_prototypes(text).get(name) != form:
            fault(f"{name}: the synopsis of {places[0]} is not the header's: {form[0]} {form[1]}")
        body = text[text.index(".Sh DESCRIPTION"):]
        for argument in form[1]:
            word = re.search(r"(\w+)$", argument)[1]
            if word != "void" and not re.search(rf"\bFa {word}\b", body):
                fault(f"{name}: {places[0]} does not have {word}")
        if page_statuses(text).get(name, []) != documented.get(name, []) and \
                (name in page_statuses(text) or form[0] == "NTSTATUS" and documented.get(name)):
            fault(f"{name}: statuses of {places[0]} are {page_statuses(text).get(name)}, "
                  f"the header has {documented.get(name)}")
    for page, text in pages.items():
        for name in list(page_prototypes(text)) + [n for n in page_names(text) if n != page[:-2]]:
            if name not in declared:
                fault(f"{page}: there is no function {name}")
    return declared


def check_words(headers, pages):
    whole = "\n".join(pages.values())
    for file, header in headers.items():
        for name in constants(header):
            if not re.search(rf"\bDv {name}\b", whole):
                fault(f"{file}: no page has {name}")
        for name, members in structs(header).items():
            part = re.search(rf"^\.Ss {name}\n(.*?)(?=^\.S[hs] |\Z)", whole, re.M | re.S)
            if part is None and name == "KE_HIT":
                part = re.search(r"^\.It Fa Hit\n(.*?)^\.Ss ", whole, re.M | re.S)
            if part is None and name == "ntprof_source_interval":
                part = re.search(r"(.*)", whole, re.S)
            if part is None:
                fault(f"{file}: no page has members of {name}")
                continue
            for member in members:
                if not re.search(rf"\bV[at] (?:\w+ , )*{member}\b", part[1]):
                    fault(f"{name}: no page has its member {member}")


def check_page(page, text, rules):
    for name in ("SYNOPSIS", "DESCRIPTION", "THREADS", "RETURN VALUES", "EXAMPLES", "SEE ALSO"):
        if not section(text, name):
            fault(f"{page}: has no section {name}")
    if "Level: " not in section(text, "THREADS"):
        fault(f"{page}: does not say at which level")
    if not examples(text):
        fault(f"{page}: has no example")
    named = re.findall(r"\b[Rr]ules? ([a-z]+-[a-z0-9-]+(?:, [a-z]+-[a-z0-9-]+)*)", text)
    for name in [name for group in named for name in group.split(", ")]:
        if name not in rules:
            fault(f"{page}: {name} is no rule")
    if page.startswith("Nt") and not named:
        fault(f"{page}: names no rule")


def compile_examples(tree, pages):
    compiler = shlex.split(os.environ.get("CC", "cc"))
    for page, text in pages.items():
        for example in examples(text):
            done = subprocess.run([*compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                   f"-I{tree / 'include'}", "-x", "c", "-"], input=example, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                fault(f"{page}: the example does not compile\n{done.stdout}")


def schema_members(node):
    """Every name under "properties", wherever it is."""
    if isinstance(node, list):
        return {name for item in node for name in schema_members(item)}
    if not isinstance(node, dict):
        return set()
    below = {name for key, item in node.items() for name in schema_members(item)}
    return below | set(node.get("properties", {}))


def check_files(tree):
    """Section 5."""
    path = tree / "docs/man/ntprof-profile.5"
    text = path.read_text()
    fields = (tree / "tool/profile/pprof_fields.h").read_text()
    prose = (tree / "docs/format.md").read_text()
    for name, value in re.findall(r'#define ((?:COMMENT|LABEL)_\w+) "([^"]*)"', fields):
        listed = ".It Va " if name.startswith("LABEL") else ".It Li "
        if listed + value not in section(text, name.split("_")[0] + "S"):
            fault(f"{path.name}: does not have {name}, {value}")
        if f"`{value}" not in prose:
            fault(f"docs/format.md: does not have {name}, {value}")
    encoder = (tree / "tool/profile/pprof_encode.c").read_text()
    for key in re.findall(r'[" ]([a-z_]+)=["%]', encoder):
        if not re.search(rf"^\.It Va (?:\w+ , )*{key}\b", section(text, "COMMENTS"), re.M):
            fault(f"{path.name}: does not have the key {key} of a source")
    for schema in sorted((tree / "docs/schema").glob("*.schema.json")):
        content = json.loads(schema.read_text())
        name = content["properties"]["schema"]["const"]
        part = re.search(rf"^\.Ss {re.escape(name)}\n(.*?)(?=^\.S[hs] |\Z)", text, re.M | re.S)
        if part is None:
            fault(f"{path.name}: has no subsection {name}, of {schema.name}")
            continue
        listed = {word for line in re.findall(r"^\.It Va (.*)$", part[1], re.M)
                  for word in line.split(" , ")}
        for member in sorted(schema_members(content) - listed):
            fault(f"{path.name}: {name} has a member {member}, which is not documented")
        for member in sorted(listed - schema_members(content)):
            fault(f"{path.name}: {name} has no member {member}")


def check_quotes(tree):
    for path in sorted((tree / "docs/man").glob("*.[0-9]")):
        for line in OPEN_QUOTE.findall(path.read_text()):
            if " Ns " not in line:
                fault(f"{path.name}: the quote ends at the end of the line: {line}")


def check_installed(tree, pages):
    """The pages and their other names in docs/man/meson.build."""
    build = (tree / "docs/man/meson.build").read_text()
    for path in sorted((tree / "docs/man").glob("*.[0-9]")):
        if f"'{path.name}'" not in build:
            fault(f"docs/man/meson.build does not install {path.name}")
    for page, text in pages.items():
        entry = re.search(rf"'{page}' : \[(.*?)\]", build, re.S)
        wanted = sorted(name for name in page_names(text) if name != page[:-2])
        if sorted(re.findall(r"'(\w+)'", entry[1] if entry else "")) != wanted:
            fault(f"docs/man/meson.build: the other names of {page} are {', '.join(wanted)}")


def main():
    words = sys.argv[1:]
    folder = words.pop(1) if words[:1] == ["--examples"] and len(words) > 1 else None
    words = words[1:] if folder else words
    tree = pathlib.Path(words[0] if words else pathlib.Path(__file__).resolve().parent.parent)
    pages = {path.name: path.read_text() for path in sorted((tree / "docs/man").glob("*.3"))}

    if folder:
        for page, text in pages.items():
            for example in examples(text):
                if "\nmain(" in example:
                    (pathlib.Path(folder) / f"{page[:-2]}.c").write_text(example)
        return
    headers = {path.name: path.read_text() for path in sorted((tree / "include/ntprof").glob("*.h"))}
    check_guide(headers["core.h"], (tree / "ARCHITECTURE.md").read_text())
    # The core's services have their documents there; one page leads to them.
    headers["core.h"] = headers["core.h"][slice(*core_of_page(headers["core.h"]))]
    rules = set(RULE.findall((tree / "docs/behaviour.md").read_text()))
    declared = check_functions(headers, pages)
    check_words(headers, pages)
    for page, text in pages.items():
        check_page(page, text, rules)
    compile_examples(tree, pages)
    check_files(tree)
    check_installed(tree, pages)
    check_quotes(tree)
    print(f"check_manual: {len(pages)} pages, {len(declared)} functions, {len(faults)} faults")
    sys.exit(1 if faults or not pages or not declared else 0)


main()
