# SPDX-License-Identifier: MIT
"""What the kernel has of BPF programs, maps and links, and breakpoint events, by its own calls."""
import ctypes
import os
import platform
import struct

_SYSCALLS = {"x86_64": {"bpf": 321, "perf_event_open": 298},
             "aarch64": {"bpf": 280, "perf_event_open": 241}}
_NEXT_ID = {"program": 11, "map": 12, "link": 31}

# Breakpoint registers of a processor that are there at least.
BREAKPOINTS = 4

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name, *arguments):
    result = _libc.syscall(_SYSCALLS[platform.machine()][name], *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _ids_of(kind):
    attributes = ctypes.create_string_buffer(128)
    found = set()
    last = 0
    while True:
        struct.pack_into("II", attributes, 0, last, 0)
        try:
            _call("bpf", _NEXT_ID[kind], attributes, ctypes.c_uint(128))
        except OSError:
            return found  # ENOENT at the end; others may not ask, and have none
        last = struct.unpack_from("II", attributes, 0)[1]
        found.add((kind, last))


def ids():
    """(kind, id) of all that there is."""
    return {one for kind in _NEXT_ID for one in _ids_of(kind)}


def open_breakpoint(pid, processor):
    """A breakpoint register of a process or processor, on an address that nothing runs: a descriptor."""
    attributes = bytearray(128)
    # Type PERF_TYPE_BREAKPOINT; no period; user mode alone; HW_BREAKPOINT_X of sizeof(long).
    struct.pack_into("II", attributes, 0, 5, 128)
    struct.pack_into("Q", attributes, 40, 1 << 5 | 1 << 6)
    struct.pack_into("IIQQ", attributes, 48, 0, 4, 0x7ffffe000000, 8)
    return _call("perf_event_open", ctypes.create_string_buffer(bytes(attributes)), pid, processor,
                 -1, ctypes.c_ulong(8))


def of_process(pid):
    """(kind, id) of all that a process has descriptors of, as far as it can be read."""
    kinds = {"prog_id": "program", "map_id": "map", "link_id": "link"}
    found = set()
    try:
        names = os.listdir(f"/proc/{pid}/fdinfo")
    except OSError:
        return found  # it has ended
    for name in names:
        try:
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as info:
                lines = info.readlines()
        except OSError:
            continue  # closed meanwhile
        for line in lines:
            key, _, value = line.partition(":")
            if key in kinds:
                found.add((kinds[key], int(value)))
    return found
