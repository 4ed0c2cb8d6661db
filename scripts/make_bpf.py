#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes src/hal/bpf/instructions.h from src/hal/bpf/profile.bpf.c, or checks that it is up to date.

usage: make_bpf.py [--check]

Needs clang 14, which Debian 12 has: another would make other instructions of the same source. The
result is committed, so that building ntprof needs no clang and running it no libbpf. With --check
nothing is written; where clang 14 is missing, that is said, nothing is compared, and the exit
status is 77.

Of the object file only this is used: sections program.NAME and functions, which is put behind those
that call it, and the places in them where the loader puts a map (symbols of sections map.NAME) or the
address of a map's value (of value.NAME). The verifier looks once at functions that have types (BTF), so each
program comes with types of its functions: all take an int and return one.
"""
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parent.parent
SOURCE = TREE / "src/hal/bpf/profile.bpf.c"
TARGET = TREE / "src/hal/bpf/instructions.h"
MACHINES = {"X86_64": "__x86_64__", "ARM64": "__aarch64__"}
# The kernel's headers ask for some of the machine's; any machine's do.
HEADERS = [path for path in pathlib.Path("/usr/include").glob("*-linux-gnu") if path.is_dir()]
WARNINGS = "-Wall -Wextra -Wshadow -Wconversion -Wundef -Wvla -Werror".split()
LOAD_64, CALL, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE, PSEUDO_CALL = 0x18, 0x85, 1, 2, 1
FUNCTIONS = "functions"
# BTF: kinds, and the numbers of the types that are the same for all programs; those of functions follow.
KIND_INT, KIND_FUNCTION, KIND_PROTOTYPE, GLOBAL = 1 << 24, 12 << 24, 13 << 24, 1
TYPE_INT, TYPE_PROGRAM, TYPE_FUNCTION, TYPE_FIRST = 1, 2, 3, 4
SKIPPED = 77


def find_clang():
    for name in ("clang-14", "clang"):
        path = shutil.which(name)
        if path:
            version = subprocess.run([path, "--version"], check=True, capture_output=True,
                                     text=True).stdout
            if "clang version 14." in version:
                return path
    return None


def compile_for(clang, machine, target):
    # Unrolled loops are more cache lines of a program that finds none of itself in a cache.
    subprocess.run([clang, "-target", "bpf", "-mcpu=v3", "-O2", "-fno-unroll-loops", "-std=gnu11",
                    "-ffreestanding", *WARNINGS, f"-DBPF_TARGET_{machine}", f"-I{TREE / 'include'}",
                    f"-I{TREE / 'src'}", *(f"-idirafter{path}" for path in HEADERS),
                    "-c", str(SOURCE), "-o", str(target)], check=True)


class Object:
    """The sections, symbols and relocations of an ELF file, 64 bits, little-endian."""

    def __init__(self, data):
        offset, = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size)
                   for i in range(count)]
        text = self.content(data, headers[names])
        self.sections = [(self.string(text, header[0]), header, self.content(data, header))
                         for header in headers]

    @staticmethod
    def content(data, header):
        return data[header[4]:header[4] + header[5]]

    @staticmethod
    def string(text, offset):
        return text[offset:text.index(b"\0", offset)].decode()

    def names(self, prefix):
        return [name for name, _, content in self.sections
                if name.startswith(prefix) and content]

    def named(self, name):
        return next(section for section in self.sections if section[0] == name)

    def symbol(self, number):
        """The section that a symbol is in, and where."""
        content = self.named(".symtab")[2]
        _, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", content, number * 24)
        return self.sections[section][0] if section < len(self.sections) else None, value

    def relocations(self, name):
        """(instruction, section of the symbol, place in it) of a section."""
        if ".rel" + name not in (section[0] for section in self.sections):
            return
        content = self.named(".rel" + name)[2]
        for at in range(0, len(content), 16):
            offset, info = struct.unpack_from("<QQ", content, at)
            yield (offset // 8, *self.symbol(info >> 32))

    def functions(self):
        """(first instruction, name) of the functions, in order."""
        symbols, text = self.named(".symtab")[2], self.named(".strtab")[2]
        found = []
        for at in range(0, len(symbols), 24):
            name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", symbols, at)
            if info & 15 == 2 and self.sections[section][0] == FUNCTIONS:
                found.append((value // 8, self.string(text, name)))
        return sorted(found)

    def words(self, name):
        content = self.named(name)[2]
        return list(struct.unpack(f"<{len(content) // 8}Q", content))


def place_map(name, words, at, section, value):
    """Prepares an instruction for the loader; returns the map that goes there."""
    kind, map_name = section.split(".")
    addend = words[at] >> 32
    if words[at] & 0xFF != LOAD_64 or (kind == "map" and (value or addend)):
        sys.exit(f"make_bpf: {name}: no map is loaded at {at}")
    source = PSEUDO_MAP_FD if kind == "map" else PSEUDO_MAP_VALUE
    words[at] = (words[at] & 0xFFF) | source << 12
    words[at + 1] = ((value + addend) << 32) | (words[at + 1] & 0xFFFFFFFF)
    return "BPF_MAP_" + map_name.upper()


def place_call(name, words, at, target):
    if words[at] & 0xFFFF != CALL | PSEUDO_CALL << 12:
        sys.exit(f"make_bpf: {name}: no function is called at {at}")
    words[at] = (words[at] & 0xFFFFFFFF) | ((target - at - 1) & 0xFFFFFFFF) << 32


def program(elf, name):
    """The instructions of a program, which maps go where, and its functions."""
    words = elf.words(name)
    base = len(words)
    relocations = list(elf.relocations(name))
    functions = [(0, name.split(".")[1])]
    if any(section == FUNCTIONS for _, section, _ in relocations):
        words += elf.words(FUNCTIONS)
        relocations += [(at + base, section, value)
                        for at, section, value in elf.relocations(FUNCTIONS)]
        functions += [(at + base, function) for at, function in elf.functions()]
    places = []
    for at, section, value in relocations:
        if section == FUNCTIONS:
            place_call(name, words, at, base + value // 8)
        elif section is not None and section.split(".")[0] in ("map", "value"):
            places.append((at, place_map(name, words, at, section, value)))
        else:
            sys.exit(f"make_bpf: {name}: what is {section} at {at}?")
    return words, places, functions


def types(functions):
    """The BTF of a program and its functions, as words of 32 bits."""
    names = ["int", *(name for _, name in functions)]
    at = {name: 1 + sum(len(before) + 1 for before in names[:i]) for i, name in enumerate(names)}
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    strings += bytes(-len(strings) % 4)
    made = [at["int"], KIND_INT, 4, 32, 0, KIND_PROTOTYPE, TYPE_INT,
            0, KIND_PROTOTYPE | 1, TYPE_INT, at["int"], TYPE_INT]
    for i, (_, name) in enumerate(functions):
        made += [at[name], KIND_FUNCTION | GLOBAL, TYPE_FUNCTION if i else TYPE_PROGRAM]
    data = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, 4 * len(made), 4 * len(made), len(strings))
    data += struct.pack(f"<{len(made)}I", *made) + strings
    return struct.unpack(f"<{len(data) // 4}I", data)


def write_program(name, words, places, functions):
    short = name.split(".")[1]
    yield f"static const uint64_t {short}_instructions[] = {{"
    for at in range(0, len(words), 4):
        yield "    " + " ".join(f"{word:#018x}," for word in words[at:at + 4])
    yield "};"
    yield ""
    yield f"static const struct bpf_map_place {short}_maps[] = {{"
    for at in range(0, len(places), 3):
        yield "    " + " ".join(f"{{{index}, {name}}}," for index, name in places[at:at + 3])
    yield "};"
    yield ""
    yield f"static const struct bpf_func_info {short}_functions[] = {{"
    for i, (at, function) in enumerate(functions):
        yield f"    {{{at}, {TYPE_FIRST + i}}}, /* {function} */"
    yield "};"
    yield ""
    made = types(functions)
    yield f"static const uint32_t {short}_types[] = {{"
    for at in range(0, len(made), 8):
        yield "    " + " ".join(f"{word:#010x}," for word in made[at:at + 8])
    yield "};"
    yield ""


def write_machine(elf):
    if elf.named(".text")[2]:
        sys.exit("make_bpf: a function is neither inline nor in its section")
    names = sorted(elf.names("program."))
    for name in names:
        yield from write_program(name, *program(elf, name))
    yield "static const struct bpf_program_text bpf_programs[BPF_PROGRAMS] = {"
    for name in names:
        short = name.split(".")[1]
        yield f"    [BPF_PROGRAM_{short.upper()}] = BPF_PROGRAM_TEXT({short}),"
    yield "};"


def make(clang):
    lines = ["/* SPDX-License-Identifier: GPL-2.0 OR MIT */",
             "/*",
             " * hal/bpf/instructions.h - made of profile.bpf.c by scripts/make_bpf.py: change that, and run it.",
             " */", "/* clang-format off */"]
    with tempfile.TemporaryDirectory() as folder:
        for number, (machine, macro) in enumerate(MACHINES.items()):
            target = pathlib.Path(folder) / "object"
            compile_for(clang, machine, target)
            lines.append(f"#{'el' if number else ''}if defined({macro})")
            lines.extend(write_machine(Object(target.read_bytes())))
    lines += ["#else", "#define BPF_NO_PROGRAMS", "#endif", "/* clang-format on */"]
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    clang = find_clang()
    if clang is None:
        if sys.argv[1:]:
            print("make_bpf: no clang 14: instructions.h is not compared")
            sys.exit(SKIPPED)
        sys.exit("make_bpf: this needs clang 14")
    made = make(clang)
    if not sys.argv[1:]:
        TARGET.write_text(made, encoding="utf-8")
    elif made != TARGET.read_text(encoding="utf-8"):
        sys.exit("make_bpf: instructions.h is not what profile.bpf.c gives: run scripts/make_bpf.py")
    print(f"make_bpf: {TARGET.name}: {len(made.splitlines())} lines")


main()
