#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reads every #include of src, include, preload, tool and examples and holds it against ARCHITECTURE.md. Two headers
may not be included by one name, nor have one include guard.

usage: check_layers.py [TREE]

Only what a file names itself is judged. Our own headers are named from src/ or tool/, or from
the folder of the file. Says each breach, then how many files were read.
"""
import pathlib
import re
import sys

FREESTANDING = {
    "float.h", "iso646.h", "limits.h", "stdalign.h", "stdarg.h", "stdatomic.h", "stdbool.h",
    "stddef.h", "stdint.h", "stdnoreturn.h",
}
EMBEDDING = {"ntprof/core.h", "ntprof/hal.h", "ntprof/host.h"}
CORE_PUBLIC = {"nt_types.h", "nt_status.h", "nt_profile.h"}
PRELOAD_HEADERS = {"hal/timer/thread_timer.h", "ke/bucket.h", "rtl/assert.h"}
TOOL_PRELOAD_HEADERS = {"preload/shared.h", "preload/stack_ring.h"}
ANY = None

# layer: (our headers of other layers, public headers, may use libc)
LAYERS = {
    "rtl": ([], {"nt_types.h", "nt_status.h"}, False),
    "ke": (["rtl/*", "hal/hal.h", "host/host.h"], CORE_PUBLIC | {"hal.h"}, False),
    "mm": (["rtl/*", "host/host.h"], CORE_PUBLIC | {"host.h"}, False),
    "se": (["rtl/*", "host/host.h"], CORE_PUBLIC | {"host.h"}, False),
    # EPROCESS begins with a KPROCESS, as in NT: docs/decisions/0002.
    "ps": (["rtl/*", "host/host.h", "ke/ke.h"], CORE_PUBLIC | {"host.h"}, False),
    "ob": (["rtl/*", "se/se.h", "host/host.h"], CORE_PUBLIC | {"host.h"}, False),
    "ex": (["rtl/*", "ob/ob.h", "ke/ke.h", "ke/bucket.h", "mm/mm.h", "se/se.h", "ps/ps.h",
            "host/host.h", "hal/hal.h"],
           CORE_PUBLIC | {"core.h", "hal.h", "host.h", "notification.h"}, False),
    "log": ([], {"session.h"}, True),
    "hal": (["rtl/*"], ANY, False),
    "hal/linux": (["rtl/*", "hal/*", "log/log.h"], ANY, True),
    "hal/sim": (["rtl/*", "hal/*", "ke/profint.h", "ke/bucket.h", "ke/index.h", "ke/pool.h"], ANY, True),
    "hal/*": (["rtl/*", "hal/*", "hal/linux/*", "log/log.h", "ke/profint.h", "ke/bucket.h", "ke/index.h", "ke/pool.h"],
              ANY, True),
    "host": (["rtl/*"], {"host.h", "nt_types.h", "nt_status.h"}, False),
    "host/*": (["rtl/*", "host/host.h"], ANY, True),
    "api": (["rtl/*", "*/{layer}.h", "ex/version.h", "hal/backend.h", "hal/linux/refusal.h", "host/linux/linux.h",
             "host/sim/sim.h", "hal/sim/sim.h"], ANY, True),
}
# Within hal/perf a file includes the headers only of those before it: hal/perf/perf.h.
PERF_ORDER = ["perf", "stacks", "rings", "target", "duplicate", "thread_scan", "opening", "start", "interval",
              "watch", "whole_machine", "deliver", "backend"]
# Room of tool: the rooms whose headers it may include. Only cli may name all; nobody may name cli or symbols/reader.
PUBLIC = "<ntprof/*.h>"
TOOL_ROOMS = {
    "base": [],
    "sandbox": ["base"],
    "profile": ["base", "sandbox"],
    "packages": ["base"],
    "symbols/border": ["base", "sandbox"],
    "symbols/reader": ["base", "sandbox", "symbols/border"],
    "symbols/client": ["base", "sandbox", "symbols/border"],
    "stacks": ["base", "symbols/border"],
    "record/collect": [PUBLIC, "preload", "base", "profile", "stacks", "symbols/client"],
    "record": [PUBLIC, "base", "profile", "stacks", "symbols/client", "record/collect"],
    "view/report": ["base", "profile"],
    "view/listing": ["base", "sandbox", "profile", "symbols/client"],
    "view/export": [PUBLIC, "base", "profile", "symbols/client", "view/report", "view/listing"],
    "view/screen": ["base", "profile", "view/listing"],
    "http": ["base"],
    "store": ["base", "profile"],
    "serve": ["base", "profile", "http", "store", "view/report", "view/export"],
    "daemon": ["base", "sandbox", "profile", "http", "store", "record", "record/collect"],
    "doctor": [PUBLIC, "base", "record"],
    "input": ["base", "profile", "store", "view/report"],
    "top": [PUBLIC, "base", "profile", "symbols/client", "record", "record/collect", "view/report", "view/listing",
            "view/screen", "input"],
    "cli": [PUBLIC, "base", "sandbox", "profile", "packages", "symbols/client", "record", "record/collect",
            "view/report", "view/listing", "view/export", "view/screen", "http", "store", "serve", "daemon", "doctor",
            "input", "top"],
}
GENERATED = {"base/headers_hash.h"}  # made in the build folder
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def layer_of(path):
    """'ke' for ke/x.c, 'hal/*' for hal/perf/x.c, unless hal/perf has a rule of its own."""
    folder = "/".join(path.parts[:-1])
    return folder if folder in LAYERS or "/" not in folder else path.parts[0] + "/*"


def allows(patterns, header):
    folder, name = header.rsplit("/", 1)
    for pattern in patterns:
        if pattern in (header, folder + "/*"):
            return True
        if pattern == "*/{layer}.h" and name == folder.split("/")[-1] + ".h":
            return True
    return False


def own_header(tree, path, name, roots):
    """The included header, as a path from its root; None if it is not ours."""
    for root in roots:
        if (tree / root / name).is_file():
            return pathlib.Path(name)
    beside = path.parent / name
    for root in roots:
        if beside.is_file() and beside.is_relative_to(tree / root):
            return beside.relative_to(tree / root)
    return None


def check_src(tree, path, sign, name):
    inside = path.relative_to(tree / "src")
    layer = layer_of(inside)
    if layer not in LAYERS:
        return f"no rule for src/{inside.parent}"
    ours, public, libc = LAYERS[layer]
    if name.startswith("ntprof/"):
        ok = public is ANY or name[len("ntprof/"):] in public
        return None if ok else f"{layer} may not include <{name}>"
    if sign == "<":
        ok = libc or name in FREESTANDING
        return None if ok else f"{layer} is freestanding: <{name}>"
    header = own_header(tree, path, name, ["src"])
    if header is None:
        return f'"{name}" is not found from src'
    if header.parent == inside.parent:
        return check_perf_order(inside, header)
    if header.parts[0] != inside.parts[0] and is_private(header):
        return f'"{name}" is private to {header.parent}'
    return None if allows(ours, str(header)) else f'{layer} may not include "{name}"'


def check_perf_order(inside, header):
    if inside.parent != pathlib.Path("hal/perf"):
        return None
    if inside.stem not in PERF_ORDER or header.stem not in PERF_ORDER:
        return f"the order of hal/perf lacks {inside.stem} or {header.stem}"
    ok = PERF_ORDER.index(header.stem) <= PERF_ORDER.index(inside.stem)
    return None if ok else f"{inside.stem} comes before {header.stem} in hal/perf"


def is_private(header):
    """ke/ki.h, mm/mi.h and x/xp.h belong to their layer alone."""
    return header.name in ("ki.h", "mi.h", header.parent.name + "p.h")


def check_public(tree, path, sign, name):
    if name.startswith("ntprof/") or (sign == "<" and name in FREESTANDING):
        return None
    return f"a public header may not include {name}"


def check_preload(tree, path, sign, name):
    """The preload object: libc, and what it shares with the back ends."""
    if sign == "<" and not name.startswith("ntprof/"):
        return None
    header = own_header(tree, path, name, [".", "src"]) if sign == '"' else None
    if header and (header.parts[0] == "preload" or str(header) in PRELOAD_HEADERS):
        return None
    return f"preload may not include {name}"


def room_of(folder):
    """'view/report' for view/report, 'store' for store/sqlite; None if there is no such room."""
    names = [str(folder), *map(str, folder.parents)]
    return next((name for name in names if name in TOOL_ROOMS), None)


def check_tool(tree, path, sign, name):
    """A client in rooms, which reads the memory that preload objects count into."""
    room = room_of(path.parent.relative_to(tree / "tool"))
    if room is None:
        return f"no rule for {path.parent.relative_to(tree)}"
    allowed = TOOL_ROOMS[room]
    if name in TOOL_PRELOAD_HEADERS:
        return None if "preload" in allowed else f"{room} may not include {name}"
    if name in GENERATED:
        return None
    fault = check_client(tree, path, sign, name)
    if fault:
        return fault
    if name.startswith("ntprof/"):
        return None if PUBLIC in allowed else f"{room} may not include <{name}>"
    if sign == "<":
        return None
    header = own_header(tree, path, name, ["tool"])
    other = room_of(header.parent)
    if other != room and other not in allowed:
        return f'{room} may not include "{name}"'
    if header.parent != path.parent.relative_to(tree / "tool") and is_of_room(tree, header):
        return f'"{name}" is private to {header.parent}'
    return None


def is_of_room(tree, header):
    """listingp.h, beside listing.h, belongs to its folder alone."""
    return header.stem.endswith("p") and (tree / "tool" / header.parent / f"{header.stem[:-1]}.h").is_file()


def check_client(tree, path, sign, name):
    """tool and examples: the public headers without those for embedding."""
    if name in EMBEDDING:
        return f"<{name}> is for those who embed the core"
    if sign == '"' and own_header(tree, path, name, [path.relative_to(tree).parts[0]]) is None:
        return f'"{name}" is not in {path.relative_to(tree).parts[0]}: public headers only'
    return None


def check_example(tree, path, sign, name):
    """A client, but for those who embed the core, who have <ntprof/core.h>."""
    if path.parent in (tree / "examples" / "embed", tree / "examples" / "emulator") and name in EMBEDDING:
        return None
    return check_client(tree, path, sign, name)


CHECKS = {"src": check_src, "include": check_public, "preload": check_preload, "tool": check_tool,
          "examples": check_example}


def include_names(tree):
    """Each header with the name by which it is included and its guard."""
    for root, folder in (("src", "src"), ("include", "include"), (".", "preload"), ("tool", "tool")):
        for path in sorted((tree / folder).rglob("*.h")):
            guard = re.search(r"^#ifndef (\w+)\n#define \1$", path.read_text(encoding="utf-8"), re.M)
            yield path.relative_to(tree), str(path.relative_to(tree / root)), guard[1] if guard else None


def check_names(tree):
    names, guards = {}, {}
    for path, name, guard in include_names(tree):
        for seen, key, what in ((names, name, "included by one name"), (guards, guard, "of one include guard")):
            if key is not None and seen.setdefault(key, path) != path:
                yield f"{path}: {what} with {seen[key]}: {key}"


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    tree = tree.resolve()
    breaches, files = 0, 0
    for folder, check in CHECKS.items():
        for path in sorted((tree / folder).rglob("*.[ch]")):
            files += 1
            for match in INCLUDE.finditer(path.read_text(encoding="utf-8")):
                text = check(tree, path, match[1], match[2])
                if text:
                    breaches += 1
                    print(f"{path.relative_to(tree)}: {text}")
    for text in check_names(tree):
        breaches += 1
        print(text)
    print(f"check_layers: {files} files, {breaches} breaches")
    return 1 if breaches or not files else 0


sys.exit(main())
