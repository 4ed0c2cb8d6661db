# SPDX-License-Identifier: MIT
"""Breakpoint events, by the kernel's own call."""
import ctypes
import os
import platform
import struct

_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}

# Breakpoint registers of a processor that are there at least.
BREAKPOINTS = 4

_libc = ctypes.CDLL(None, use_errno=True)


def open_breakpoint(pid, processor):
    """A breakpoint register of a process or processor, on an address that nothing runs: a descriptor."""
    attributes = bytearray(128)
    # Type PERF_TYPE_BREAKPOINT; no period; user mode alone; HW_BREAKPOINT_X of sizeof(long).
    struct.pack_into("II", attributes, 0, 5, 128)
    struct.pack_into("Q", attributes, 40, 1 << 5 | 1 << 6)
    struct.pack_into("IIQQ", attributes, 48, 0, 4, 0x7ffffe000000, 8)
    result = _libc.syscall(_EVENT_OPEN[platform.machine()],
                           ctypes.create_string_buffer(bytes(attributes)), pid, processor, -1,
                           ctypes.c_ulong(8))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
