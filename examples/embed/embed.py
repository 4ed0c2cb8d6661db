#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The core in an emulator that is written in Python, by ctypes: a 32-bit guest, and a handle table of the emulator's.

usage: embed.py [LIBRARY]    libntprof-core.so.0 unless another is named

Calls are made one at a time, under a lock; callbacks come within them, in the calling thread. Only ExProfileInterrupt
may be called by any thread at any time, and calls nothing back.
"""
import ctypes as c
import sys
import threading

lib = c.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libntprof-core.so.0")
PAGE, BASE, CODE, COUNTERS, HANDLE_AT = 4096, 0x10000, 0x401000, 0x11000, 0x10010
ACCESS_VIOLATION, INVALID_HANDLE = 0xC0000005 - 2**32, 0xC0000008 - 2**32
USER, X86, LAYOUT_32, BOTH_SCOPES, WITH_AFFINITY, ALL = 1, 2, 2, 3, 1, 0xFFFFFFFF
guest = bytearray(4 * PAGE)  # the guest's memory, from BASE
running = [1, 2, 1]  # the process on each processor
handles, allocated, mapped = {}, {}, {}
u8, u16, u32, u64, size = c.c_uint8, c.c_uint16, c.c_uint32, c.c_uint64, c.c_size_t
address, number = c.c_void_p, c.c_int32


# ---- structures: <ntprof/host.h>, <ntprof/hal.h> and <ntprof/core.h> ----

def structure(name, **fields):
    return type(name, (c.Structure,), {"_fields_": list(fields.items())})


def function(result, *arguments):
    return c.CFUNCTYPE(result, address, *arguments)


Mdl = structure("Mdl", start=u64, bytes=u32, live=u32, mapped=address, context=address, unwritten=u64)
to_mdl, on_mdl, left_out = function(number, c.POINTER(Mdl)), function(None, c.POINTER(Mdl)), address
HostTable = structure(
    "HostTable", size=u32, page=u32, highest=u64, system=u64, allocate=function(address, size),
    free=function(None, address, size), probe=function(number, u64, size), read=function(number, address, u64, size),
    write=function(number, u64, address, size), lock=to_mdl, map=to_mdl, flush=on_mdl, unmap=on_mdl, unlock=on_mdl,
    privilege=function(number), restricted=function(number, u32), current=function(u64), open=left_out, close=left_out,
    check=left_out, gone=left_out, groups=function(u16), active=function(size, u16), group=function(u16))
Source = structure("Source", supported=u8, now=u64, default=u64, least=u64, most=u64)
HalTable = structure(
    "HalTable", size=u32, capabilities=u32, start=function(number, u32, u32, u64), stop=function(None, u32, u32, u64),
    begin=left_out, query=function(None, u32, c.POINTER(Source)), set=function(None, u32, u64), flush=function(None),
    synchronize=function(None), counting=left_out)
Pair = structure("Pair", table=address, context=address)  # HOST, HAL
Options = structure("Options", size=u32, version=u32, abi=u32, layout=u32, flags=u8 * 8, bug_check_address=u64)
Request = structure("Request", handle=u64, process=address, base=u64, size=u64, bucket=u32, buffer=u64, buffer_size=u32,
                    source=u32, group_count=u16, array=u64, affinity=size)
Handles = structure("Handles", size=u32, reserved=u32, context=address,
                    find=function(number, u8, address, c.POINTER(address)),
                    insert=function(number, address, u32, c.POINTER(address)), close=function(None, address))
Hit = structure("Hit", source=u32, processor=u32, process=u64, address=u64, selector=u32, scope=u32, offset=u64)


def make(kind, **members):
    """Functions get the types of their members; what is not named is 0."""
    types = dict(kind._fields_)
    return kind(size=c.sizeof(kind), **{name: types[name](value) for name, value in members.items()})


# ---- what the core asks for ----

def allocate(_, count):
    memory = c.create_string_buffer(count + 16)
    allocated[c.addressof(memory) + 15 & ~15] = memory
    return c.addressof(memory) + 15 & ~15


def probe(_, start, count):
    return 0 if BASE <= start <= start + count <= BASE + len(guest) else ACCESS_VIOLATION


def read(_, to, source, count):
    c.memmove(to, bytes(guest[source - BASE:source - BASE + count]), count)
    return 0


def write(_, to, source, count):
    guest[to - BASE:to - BASE + count] = c.string_at(source, count)
    return 0


def map_pages(_, mdl):
    mapped[mdl[0].start] = view = (c.c_char * mdl[0].bytes).from_buffer(guest, mdl[0].start - BASE)
    mdl[0].mapped = c.addressof(view)
    return 0


def find(_, mode, handle, process):
    known = handle == ALL  # NtCurrentProcess()
    return lib.ntprof_ExReferenceProcessById(system, u64(running[0]), process) if known else INVALID_HANDLE


def insert(_, profile, access, handle):
    handle[0] = 4 * (len(handles) + 1)
    handles[handle[0]] = profile
    return 0


host_table = make(
    HostTable, page=PAGE, highest=0x7FFEFFFF, system=0x80000000, allocate=allocate, probe=probe, read=read, write=write,
    free=lambda _, memory, count: allocated.pop(memory, None) and None, map=map_pages, flush=lambda *_: None,
    lock=lambda _, mdl: probe(_, mdl[0].start, mdl[0].bytes), unmap=lambda _, mdl: mapped.pop(mdl[0].start) and None,
    unlock=lambda *_: None, privilege=lambda _: 0, restricted=lambda *_: 0, current=lambda _: running[0],
    groups=lambda _: 1, active=lambda *_: 7, group=lambda _: 0)
hal_table = make(  # the threads below do not run during a call, so that there is nothing to synchronize with
    HalTable, capabilities=6, start=lambda *_: 0, stop=lambda *_: None, set=lambda *_: None, flush=lambda _: None,
    synchronize=lambda _: None,
    query=lambda _, source, answer: answer.__setitem__(0, Source(source == 0, 10000, 10000, 10000, 10000)))
handle_table = make(Handles, find=find, insert=insert, close=lambda _, handle: lib.ntprof_ExDereferenceObject(
    system, address(handles.pop(handle))))


def must(status):
    if status:
        sys.exit(f"embed.py: status 0x{status & ALL:08X}")


def run_processor(which):
    """1000 ticks at 16 places."""
    for i in range(1000):
        lib.ntprof_ExProfileInterrupt(system, c.byref(Hit(
            processor=which, process=running[which], address=CODE + i % 16 * 4, scope=BOTH_SCOPES)))


system = address()
must(lib.ntprof_ExCreateSystem(c.byref(Pair(c.addressof(host_table))), c.byref(Pair(c.addressof(hal_table))),
                               c.byref(Options(c.sizeof(Options), 502, X86, LAYOUT_32)), c.byref(system)))
guest[0x14:0x18] = b"next"  # the guest's variable behind its HANDLE of 4 bytes
must(lib.ntprof_ExCreateProfileObject(system, USER, WITH_AFFINITY, c.byref(Request(
    handle=HANDLE_AT, process=ALL, base=CODE, size=64, bucket=4, buffer=COUNTERS, buffer_size=16, affinity=ALL)),
    c.byref(handle_table), None))
written = int.from_bytes(guest[0x10:0x14], "little")
must(lib.ntprof_ExStartProfileObject(system, address(handles[written])))
threads = [threading.Thread(target=run_processor, args=(which,)) for which in range(len(running))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
must(lib.ntprof_ExStopProfileObject(system, address(handles[written])))
counts = [int.from_bytes(guest[0x1000 + i:0x1004 + i], "little") for i in range(0, 16, 4)]
handle_table.close(None, written)
lib.ntprof_ExDeleteSystem(system)
print(f"handle {written}, counters {counts}, {len(allocated)} allocations left")
# Two of three processors run process 1: 1000 ticks each, 63 at each of the first 8 places, 62 at the others.
if counts != [504, 504, 496, 496] or guest[0x14:0x18] != b"next" or allocated:
    sys.exit("embed.py: not what was made")
