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

/* ---- samples ---- */

/* Return the registers after the fixed part; NULL if there are none. */
static const struct perf_sample_registers *
sample_registers(const struct perf_event_header *sample)
{
    const struct perf_sample *fixed = (const void *)sample;

    return sample->size >= sizeof(*fixed) + sizeof(uint64_t) ? (const void *)(fixed + 1)
                                                             : NULL;
}

bool
perf_sample_is_whole(const struct perf_event_header *sample)
{
    const struct perf_sample_registers *registers = sample_registers(sample);
    size_t size = sizeof(struct perf_sample);

    if (registers != NULL) {
        size += registers->abi == PERF_SAMPLE_REGS_ABI_NONE ? sizeof(registers->abi)
                                                            : sizeof(*registers);
    }
    return sample->size == size;
}

uint32_t
perf_sample_selector(const struct perf_event_header *sample, uint64_t *offset)
{
    const struct perf_sample_registers *registers = sample_registers(sample);

    /* In kernel mode the registers are those of the system call or exception. */
    if (registers == NULL || registers->abi == PERF_SAMPLE_REGS_ABI_NONE ||
        (sample->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER) {
        *offset = 0;
        return 0;
    }
    *offset = registers->ip;
    return registers->cs & 0xFFFF;
}

/* ---- other records ---- */

/* The bytes between header and trailer. */
struct body {
    const uint8_t *bytes;
    size_t size;
};

/* Return the fixed part; NULL if the body is smaller. */
static const void *
body_fixed(struct body body, size_t size)
{
    return body.size >= size ? body.bytes : NULL;
}

/* Return the string after the fixed part; NULL if it is not terminated in the body. */
static const char *
body_name(struct body body, size_t fixed)
{
    const char *name = (const char *)body.bytes + fixed;

    return memchr(name, 0, body.size - fixed) != NULL ? name : NULL;
}

static int
parse_comm(struct body body, struct perf_record *record)
{
    const struct comm_body *comm = body_fixed(body, sizeof(*comm));

    if (comm == NULL) {
        return -EBADMSG;
    }
    record->pid = comm->pid;
    record->tid = comm->tid;
    record->name = body_name(body, sizeof(*comm));
    return record->name != NULL ? 0 : -EBADMSG;
}

static int
parse_task(struct body body, struct perf_record *record)
{
    const struct task_body *task = body_fixed(body, sizeof(*task));

    if (task == NULL) {
        return -EBADMSG;
    }
    record->pid = task->pid;
    record->tid = task->tid;
    record->parent_pid = task->parent_pid;
    return 0;
}

static int
parse_lost(struct body body, struct perf_record *record)
{
    const struct lost_body *lost = body_fixed(body, sizeof(*lost));

    if (lost == NULL) {
        return -EBADMSG;
    }
    record->count = lost->count;
    return 0;
}

static int
parse_lost_samples(struct body body, struct perf_record *record)
{
    const uint64_t *count = body_fixed(body, sizeof(*count));

    if (count == NULL) {
        return -EBADMSG;
    }
    record->count = *count;
    return 0;
}

static int
parse_throttle(struct body body, struct perf_record *record)
{
    const struct throttle_body *throttle = body_fixed(body, sizeof(*throttle));

    if (throttle == NULL) {
        return -EBADMSG;
    }
    record->stream_id = throttle->stream_id;
    return 0;
}

static int
parse_mmap2(struct body body, struct perf_record *record)
{
    const struct mmap2_body *map = body_fixed(body, sizeof(*map));

    if (map == NULL || map->length == 0 || map->base + map->length < map->base) {
        return -EBADMSG;
    }
    record->pid = map->pid;
    record->tid = map->tid;
    record->base = map->base;
    record->length = map->length;
    record->file_offset = map->file_offset;
    /* A build-id, which no event asks for, would be in the place of the inode. */
    if ((record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) == 0) {
        record->device_major = map->device_major;
        record->device_minor = map->device_minor;
        record->inode = map->inode;
        record->inode_generation = map->inode_generation;
    }
    record->name = body_name(body, sizeof(*map));
    return record->name != NULL ? 0 : -EBADMSG;
}

static int
parse_body(struct body body, struct perf_record *record)
{
    switch (record->type) {
    case PERF_RECORD_COMM:
        return parse_comm(body, record);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        return parse_task(body, record);
    case PERF_RECORD_MMAP2:
        return parse_mmap2(body, record);
    case PERF_RECORD_LOST:
        return parse_lost(body, record);
    case PERF_RECORD_LOST_SAMPLES:
        return parse_lost_samples(body, record);
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
        return parse_throttle(body, record);
    case PERF_RECORD_SWITCH:
        return 0; /* the trailer has all of it */
    default:
        return -ENOTSUP;
    }
}

int
perf_record_parse(const void *bytes, size_t size, struct perf_record *record)
{
    const struct perf_event_header *header = bytes;
    const struct perf_trailer *trailer;
    struct perf_record parsed = {.name = ""};
    struct body body;
    int result;

    if (size < sizeof(*header) + sizeof(*trailer) || size % 8 != 0) {
        return -EBADMSG;
    }
    body.bytes = (const uint8_t *)bytes + sizeof(*header);
    body.size = size - sizeof(*header) - sizeof(*trailer);
    trailer = (const void *)(body.bytes + body.size);

    parsed.type = header->type;
    parsed.misc = header->misc;
    parsed.time_ns = trailer->time_ns;
    parsed.id = trailer->id;
    parsed.pid = trailer->pid;
    parsed.tid = trailer->tid;
    result = parse_body(body, &parsed);
    if (result == 0) {
        *record = parsed;
    }
    return result;
}
