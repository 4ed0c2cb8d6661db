/* SPDX-License-Identifier: MIT */
/* hal/linux/record.c - parses the kernel's records without trusting their lengths. */
#include "hal/linux/record.h"

#include <errno.h>
#include <string.h>

/* The fixed part of each record, between the header and the name or trailer. */
struct comm_body {
    uint32_t pid;
    uint32_t tid;
};

struct task_body {
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t tid;
    uint32_t parent_tid;
    uint64_t time_ns;
};

struct lost_body {
    uint64_t id;
    uint64_t count;
};

struct throttle_body {
    uint64_t time_ns;
    uint64_t id;
    uint64_t stream_id;
};

struct mmap2_body {
    uint32_t pid;
    uint32_t tid;
    uint64_t base;
    uint64_t length;
    uint64_t file_offset;
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode;
    uint64_t inode_generation;
    uint32_t protection;
    uint32_t flags;
};

/* The bytes of a sample that have not been parsed. */
struct rest {
    const uint8_t *bytes;
    size_t size;
};

/* Remove so many bytes from the front of the rest. Returns them, or NULL if there are
 * fewer. */
static const void *
take(struct rest *rest, uint64_t size)
{
    const void *const taken = rest->bytes;

    if (size > rest->size) {
        return NULL;
    }
    rest->bytes += size;
    rest->size -= (size_t)size;
    return taken;
}

/* Take a number, which behind a stack may be unaligned. Returns false if there are too
 * few bytes. */
static bool
take_number(struct rest *rest, uint64_t *number)
{
    const void *const bytes = take(rest, sizeof(*number));

    if (bytes != NULL) {
        memcpy(number, bytes, sizeof(*number));
    }
    return bytes != NULL;
}

/* Take a call chain: a number, and so many addresses. Returns false if it has more than
 * there are bytes. */
static bool
take_chain(struct rest *rest, struct perf_sample_parts *parts)
{
    uint64_t count;

    if (!take_number(rest, &count) || count > rest->size / sizeof(uint64_t)) {
        return false;
    }
    parts->chain_count = (size_t)count;
    parts->chain = take(rest, count * sizeof(uint64_t));
    return true;
}

/* Take registers: their abi, and count of them unless that says there are none. Returns
 * false if there are too few bytes. */
static bool
take_registers(struct rest *rest, size_t count, struct perf_sample_parts *parts)
{
    if (!take_number(rest, &parts->abi)) {
        return false;
    }
    if (parts->abi == PERF_SAMPLE_REGS_ABI_NONE) {
        return true;
    }
    parts->registers = take(rest, count * sizeof(uint64_t));
    return parts->registers != NULL;
}

/* Take a stack: the size that Linux asked for, so many bytes, and how many of them it
 * could read. Returns false if there are too few bytes, or the two sizes disagree. */
static bool
take_stack(struct rest *rest, struct perf_sample_parts *parts)
{
    uint64_t asked;
    uint64_t bytes;

    if (!take_number(rest, &asked)) {
        return false;
    }
    if (asked == 0) {
        return true;
    }
    parts->stack = take(rest, asked);
    if (parts->stack == NULL || !take_number(rest, &bytes) || bytes > asked) {
        return false;
    }
    parts->stack_asked = (size_t)asked;
    parts->stack_bytes = (size_t)bytes;
    return true;
}

int
perf_sample_parse(const struct perf_sample *sample,
                  const struct perf_sample_layout *layout,
                  struct perf_sample_parts *parts)
{
    struct perf_sample_parts parsed = {0};
    struct rest rest = {.bytes = (const uint8_t *)(sample + 1),
                        .size = sample->header.size - sizeof(*sample)};

    if ((layout->chain && !take_chain(&rest, &parsed)) ||
        (layout->registers != 0 &&
         !take_registers(&rest, layout->registers, &parsed)) ||
        (layout->stack && !take_stack(&rest, &parsed)) || rest.size != 0) {
        return -EBADMSG;
    }
    *parts = parsed;
    return 0;
}

uint32_t
perf_sample_selector(const struct perf_sample *sample,
                     const struct perf_sample_layout *layout,
                     const struct perf_sample_parts *parts, uint64_t *offset)
{
    /* In kernel mode the registers are those of the system call or exception. */
    if (layout->registers != PERF_SELECTOR_REGISTERS || parts->registers == NULL ||
        (sample->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) !=
            PERF_RECORD_MISC_USER) {
        *offset = 0;
        return 0;
    }
    *offset = parts->registers[0];
    return parts->registers[1] & 0xFFFF;
}

/* shapes - by type of record, what is between header and trailer: a fixed part, and for
 * some a name. */
static const struct shape {
    size_t fixed_bytes; /* 0: the type is not used */
    bool named;
} shapes[] = {
    [PERF_RECORD_LOST] = {sizeof(struct lost_body), false},
    [PERF_RECORD_COMM] = {sizeof(struct comm_body), true},
    [PERF_RECORD_EXIT] = {sizeof(struct task_body), false},
    [PERF_RECORD_THROTTLE] = {sizeof(struct throttle_body), false},
    [PERF_RECORD_UNTHROTTLE] = {sizeof(struct throttle_body), false},
    [PERF_RECORD_FORK] = {sizeof(struct task_body), false},
    [PERF_RECORD_MMAP2] = {sizeof(struct mmap2_body), true},
    [PERF_RECORD_LOST_SAMPLES] = {sizeof(uint64_t), false},
};

/* Copy the fixed part of an MMAP2 record. Returns -EBADMSG if its range is invalid. */
static int
take_mmap2(const struct mmap2_body *map, struct perf_record *record)
{
    if (map->length == 0 || map->base + map->length < map->base) {
        return -EBADMSG;
    }
    record->pid = map->pid;
    record->tid = map->tid;
    record->base = map->base;
    record->length = map->length;
    record->file_offset = map->file_offset;
    /* A record with a build-id, which no event asks for, has no inode. */
    if ((record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) == 0) {
        record->device_major = map->device_major;
        record->device_minor = map->device_minor;
        record->inode = map->inode;
        record->inode_generation = map->inode_generation;
    }
    return 0;
}

/* Copy the fixed part of a record of the type in record. Returns 0 or -EBADMSG. */
static int
take_fixed(const void *fixed, struct perf_record *record)
{
    const struct comm_body *const comm = fixed;
    const struct task_body *const task = fixed;

    switch (record->type) {
    case PERF_RECORD_COMM:
        record->pid = comm->pid;
        record->tid = comm->tid;
        return 0;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        record->pid = task->pid;
        record->tid = task->tid;
        record->parent_pid = task->parent_pid;
        return 0;
    case PERF_RECORD_MMAP2:
        return take_mmap2(fixed, record);
    case PERF_RECORD_LOST:
        record->count = ((const struct lost_body *)fixed)->count;
        return 0;
    case PERF_RECORD_LOST_SAMPLES:
        record->count = *(const uint64_t *)fixed;
        return 0;
    default: /* THROTTLE, UNTHROTTLE */
        record->stream_id = ((const struct throttle_body *)fixed)->stream_id;
        return 0;
    }
}

int
perf_record_parse(const void *bytes, size_t size, struct perf_record *record)
{
    const struct perf_event_header *const header = bytes;
    const char *const body = (const char *)bytes + sizeof(*header);
    const struct perf_trailer *trailer;
    struct perf_record parsed = {.name = ""};
    struct shape shape = {0};
    size_t body_bytes;
    int result;

    if (size < sizeof(*header) + sizeof(*trailer) || size % 8 != 0) {
        return -EBADMSG;
    }
    body_bytes = size - sizeof(*header) - sizeof(*trailer);
    trailer = (const void *)(body + body_bytes);
    parsed.type = header->type;
    parsed.misc = header->misc;
    parsed.time_ns = trailer->time_ns;
    parsed.id = trailer->id;
    parsed.pid = trailer->pid;
    parsed.tid = trailer->tid;

    if (header->type < sizeof(shapes) / sizeof(shapes[0])) {
        shape = shapes[header->type];
    }
    if (shape.fixed_bytes == 0) {
        return -ENOTSUP;
    }
    if (body_bytes < shape.fixed_bytes) {
        return -EBADMSG;
    }
    if (shape.named) {
        parsed.name = body + shape.fixed_bytes;
        if (memchr(parsed.name, 0, body_bytes - shape.fixed_bytes) == NULL) {
            return -EBADMSG;
        }
    }
    result = take_fixed(body, &parsed);
    if (result == 0) {
        *record = parsed;
    }
    return result;
}
