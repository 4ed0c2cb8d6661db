/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/record.h - parses and checks the kernel's records.
 *
 * All events use the same sample_type, except for what follows the fixed part of a
 * sample, which each event's layout says. So the fixed part of all samples is the
 * same, and all other records end with the same trailer. The bytes are not trusted:
 * lengths in them are checked against the record's size, which ring.h has checked
 * against the ring.
 */
#ifndef HAL_LINUX_RECORD_H
#define HAL_LINUX_RECORD_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sample_type of every event; the layouts below depend on it. */
#define PERF_SAMPLE_LAYOUT \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* A sample in the ring. */
struct perf_sample {
    struct perf_event_header header;
    uint64_t id;
    uint64_t ip;
    uint32_t pid;
    uint32_t tid;
    uint64_t time_ns;
};
_Static_assert(sizeof(struct perf_sample) == 40, "PERF_SAMPLE_LAYOUT without padding");

/* What follows the fixed part of the samples of an event, in this order. */
struct perf_sample_layout {
    bool chain; /* PERF_SAMPLE_CALLCHAIN: a number, and so many addresses */
    /* PERF_SAMPLE_REGS_USER: how many, after their abi; 0: neither. With
     * PERF_SAMPLE_REGS_ABI_NONE only abi is there. */
    uint8_t registers;
    /* PERF_SAMPLE_STACK_USER: how many bytes Linux asked for, at most what the event
     * says; so many bytes; and how many of them it could read. Of 0 bytes only the
     * first number is there. */
    bool stack;
};

/* The layout of samples with the code segment: its offset, and its selector in 16 bits,
 * with flags above them where FRED is. */
enum { PERF_SELECTOR_REGISTERS = 2 };

/* The parts of a sample that follow the fixed one; they point into its bytes. */
struct perf_sample_parts {
    const uint64_t *chain; /* addresses, and PERF_CONTEXT_... before those of a mode */
    size_t chain_count;
    uint64_t abi;              /* PERF_SAMPLE_REGS_ABI_... */
    const uint64_t *registers; /* as many as the layout says; NULL: none */
    const void *stack;
    size_t stack_asked; /* bytes that Linux asked for */
    size_t stack_bytes; /* bytes that it could read, at most stack_asked */
};

/* The end of every record that is no sample (sample_id_all). */
struct perf_trailer {
    uint32_t pid;
    uint32_t tid;
    uint64_t time_ns;
    uint64_t id;
};
_Static_assert(sizeof(struct perf_trailer) == 24, "PERF_SAMPLE_LAYOUT without padding");

/* A record that is no sample. Which members are valid depends on type; name is
 * NUL-terminated and points into the record's bytes. */
struct perf_record {
    uint32_t type; /* PERF_RECORD_... */
    uint16_t misc;
    uint64_t time_ns;
    uint64_t id; /* of the event that wrote it */
    uint32_t pid;
    uint32_t tid;
    uint32_t parent_pid; /* FORK, EXIT */
    const char *name;    /* COMM, MMAP2; never NULL */
    uint64_t base;       /* MMAP2 */
    uint64_t length;
    uint64_t file_offset;
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode;
    uint64_t inode_generation;
    uint64_t count;     /* LOST, LOST_SAMPLES */
    uint64_t stream_id; /* THROTTLE, UNTHROTTLE */
};

/*
 * perf_record_time - return the time of a record, 0 if it is too short to contain one.
 *
 *   bytes  the record, 8-byte aligned
 *   size   as in its header, at least sizeof(struct perf_event_header)
 */
static inline uint64_t
perf_record_time(const void *bytes, size_t size)
{
    const struct perf_event_header *header = bytes;
    const struct perf_sample *sample = bytes;
    const struct perf_trailer *trailer =
        (const void *)((const uint8_t *)bytes + size - sizeof(*trailer));

    if (header->type == PERF_RECORD_SAMPLE) {
        return size >= sizeof(*sample) ? sample->time_ns : 0;
    }
    return size >= sizeof(*header) + sizeof(*trailer) ? trailer->time_ns : 0;
}

/*
 * perf_sample_parse - find the parts of a sample.
 *
 *   sample  in: at least its fixed part
 *   layout  in: of its event
 *   parts   out: complete, or untouched
 *
 * Returns 0; -EBADMSG if its size is not exactly that of its parts, or a part says more
 * than there is.
 */
int perf_sample_parse(const struct perf_sample *sample,
                      const struct perf_sample_layout *layout,
                      struct perf_sample_parts *parts);

/*
 * perf_sample_selector - return the selector of a sample's code segment.
 *
 *   layout, parts  in: of the sample
 *   offset         out: of the instruction in that segment; 0 without a selector
 *
 * Returns 0 if the layout is not that of PERF_SELECTOR_REGISTERS, or the sample has no
 * registers or is not of user mode.
 */
uint32_t perf_sample_selector(const struct perf_sample *sample,
                              const struct perf_sample_layout *layout,
                              const struct perf_sample_parts *parts, uint64_t *offset);

/*
 * perf_record_parse - parse a record that is no sample.
 *
 *   bytes, size  in: as for perf_record_time
 *   record       out: complete, or untouched
 *
 * Returns 0; -EBADMSG if the record is malformed; -ENOTSUP if its type is not used.
 */
int perf_record_parse(const void *bytes, size_t size, struct perf_record *record);

#endif
