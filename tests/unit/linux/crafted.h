/* SPDX-License-Identifier: MIT */
/* crafted.h - makes records byte by byte, as the kernel would or would not. */
#ifndef TESTS_UNIT_PERF_CRAFTED_H
#define TESTS_UNIT_PERF_CRAFTED_H

#include "hal/linux/record.h"

#include <stdint.h>
#include <string.h>

struct crafted {
    _Alignas(8) uint8_t bytes[1024];
    size_t size;
};

static inline void
craft_bytes(struct crafted *record, const void *bytes, size_t size)
{
    memcpy(record->bytes + record->size, bytes, size);
    record->size += size;
}

static inline void
craft_u32(struct crafted *record, uint32_t value)
{
    craft_bytes(record, &value, sizeof(value));
}

static inline void
craft_u64(struct crafted *record, uint64_t value)
{
    craft_bytes(record, &value, sizeof(value));
}

/* A name, padded with NULs to a multiple of 8. */
static inline void
craft_name(struct crafted *record, const char *name)
{
    const size_t size = (strlen(name) + 8) / 8 * 8;

    memset(record->bytes + record->size, 0, size);
    memcpy(record->bytes + record->size, name, strlen(name));
    record->size += size;
}

static inline void
craft_begin(struct crafted *record, uint32_t type, uint16_t misc)
{
    const struct perf_event_header header = {.type = type, .misc = misc};

    record->size = 0;
    craft_bytes(record, &header, sizeof(header));
}

/* Put the size into the header; less or more than what is there, to lie. */
static inline void
craft_size(struct crafted *record, size_t size)
{
    const uint16_t size16 = (uint16_t)size;

    memcpy(record->bytes + offsetof(struct perf_event_header, size), &size16,
           sizeof(size16));
}

static inline void
craft_end(struct crafted *record, uint32_t pid, uint32_t tid, uint64_t time_ns,
          uint64_t id)
{
    craft_u32(record, pid);
    craft_u32(record, tid);
    craft_u64(record, time_ns);
    craft_u64(record, id);
    craft_size(record, record->size);
}

static inline void
craft_sample(struct crafted *record, uint64_t id, uint64_t ip, uint64_t time_ns)
{
    craft_begin(record, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    craft_u64(record, id);
    craft_u64(record, ip);
    craft_u32(record, 10);
    craft_u32(record, 11);
    craft_u64(record, time_ns);
    craft_size(record, record->size);
}

/* The same with registers behind it; none with an abi of 0. */
static inline void
craft_sample_registers(struct crafted *record, uint16_t misc, uint64_t abi, uint64_t ip,
                       uint64_t cs)
{
    craft_sample(record, 1, 2, 3);
    craft_u64(record, abi);
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
        craft_u64(record, ip);
        craft_u64(record, cs);
    }
    memcpy(record->bytes + offsetof(struct perf_event_header, misc), &misc,
           sizeof(misc));
    craft_size(record, record->size);
}

/* What follows the fixed part of a sample: addresses 200.., registers 100.., and a
 * stack of asked bytes of which some were read. */
struct craft_parts {
    struct perf_sample_layout layout;
    uint64_t chain_count;
    uint64_t abi;
    uint64_t asked;
    uint64_t read;
};

static inline void
craft_sample_parts(struct crafted *record, uint64_t id, uint64_t time_ns,
                   const struct craft_parts *parts)
{
    craft_sample(record, id, 2, time_ns);
    if (parts->layout.chain) {
        craft_u64(record, parts->chain_count);
        for (uint64_t i = 0; i < parts->chain_count; i++) {
            craft_u64(record, 200 + i);
        }
    }
    if (parts->layout.registers != 0) {
        craft_u64(record, parts->abi);
        for (uint64_t i = 0; parts->abi != 0 && i < parts->layout.registers; i++) {
            craft_u64(record, 100 + i);
        }
    }
    if (parts->layout.stack) {
        craft_u64(record, parts->asked);
        memset(record->bytes + record->size, 0x5A, parts->asked);
        record->size += parts->asked;
        if (parts->asked != 0) {
            craft_u64(record, parts->read);
        }
    }
    craft_size(record, record->size);
}

static inline void
craft_comm(struct crafted *record, uint16_t misc, uint32_t pid, uint32_t tid,
           const char *name, uint64_t time_ns)
{
    craft_begin(record, PERF_RECORD_COMM, misc);
    craft_u32(record, pid);
    craft_u32(record, tid);
    craft_name(record, name);
    craft_end(record, pid, tid, time_ns, 1);
}

static inline void
craft_task(struct crafted *record, uint32_t type, uint32_t pid, uint32_t parent_pid,
           uint32_t tid, uint64_t time_ns)
{
    craft_begin(record, type, 0);
    craft_u32(record, pid);
    craft_u32(record, parent_pid);
    craft_u32(record, tid);
    craft_u32(record, parent_pid);
    craft_u64(record, time_ns);
    craft_end(record, parent_pid, parent_pid, time_ns, 1);
}

static inline void
craft_mmap2(struct crafted *record, uint32_t pid, uint64_t base, uint64_t length,
            uint64_t inode, const char *name, uint64_t time_ns)
{
    craft_begin(record, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    craft_u32(record, pid);
    craft_u32(record, pid);
    craft_u64(record, base);
    craft_u64(record, length);
    craft_u64(record, 0x1000); /* file offset */
    craft_u32(record, 8);      /* device */
    craft_u32(record, 1);
    craft_u64(record, inode);
    craft_u64(record, 7); /* generation */
    craft_u32(record, 5); /* read, execute */
    craft_u32(record, 2); /* private */
    craft_name(record, name);
    craft_end(record, pid, pid, time_ns, 1);
}

#endif
