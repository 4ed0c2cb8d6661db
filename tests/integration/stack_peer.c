/* SPDX-License-Identifier: MIT */
/*
 * stack_peer.c - walks the samples of a file of `perf record --call-graph dwarf` as the
 * recorder walks its own, so that both can be compared on the same samples.
 *
 *   stack_peer PERF-DATA [BYTES]
 *
 * With BYTES of each copy only, as if no more had been asked for.
 * For each sample of the program one line: its time in ns, thread, end, and addresses:
 * the hit, then each call (the byte before its return address). The file is one of a
 * command and of one event of user mode; it is trusted. Layouts: perf_event_open(2) and
 * perf.data-file-format.txt of the kernel's tools.
 */
#include "stack_images.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTERS = 64 };

struct section {
    uint64_t offset;
    uint64_t bytes;
};

struct header {
    char magic[8];
    uint64_t bytes;
    uint64_t attribute_bytes;
    struct section attributes;
    struct section data;
};

/* record - of a mapping, an exec or a sample, with the time that orders them. */
struct record {
    uint64_t time;
    size_t number; /* in the file */
    const struct perf_event_header *header;
};

static struct perf_event_attr attribute;
static struct record *records;
static size_t record_count;
static uint32_t program_pid; /* 0: there was no exec yet */
static size_t bytes_max;     /* of each copy */

static void
fail(const char *what)
{
    fprintf(stderr, "stack_peer: %s\n", what);
    exit(2);
}

static size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static uint64_t
word(const void *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static uint8_t *
read_file(const char *path, size_t *bytes)
{
    FILE *const file = fopen(path, "re");
    uint8_t *data = NULL;
    long size;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) <= 0) {
        fail("the file cannot be read");
    }
    data = malloc((size_t)size);
    rewind(file);
    if (data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
        fail("the file cannot be read");
    }
    fclose(file);
    *bytes = (size_t)size;
    return data;
}

/* Words of a sample before its time, and of the identity behind other records. */
static size_t
words_before_time(void)
{
    size_t words = 0;

    words += (attribute.sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
    words += (attribute.sample_type & PERF_SAMPLE_IP) != 0;
    words += (attribute.sample_type & PERF_SAMPLE_TID) != 0;
    return words;
}

static size_t
identity_words(void)
{
    const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                            PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                            PERF_SAMPLE_IDENTIFIER;

    return (size_t)__builtin_popcountll(attribute.sample_type & fields);
}

static uint64_t
time_of(const struct perf_event_header *header)
{
    const uint8_t *const start = (const uint8_t *)header;

    if (header->type == PERF_RECORD_SAMPLE) {
        return word(start + sizeof(*header) + 8 * words_before_time());
    }
    /* The identity is the record's end, its time behind the thread. */
    return word(start + header->size - 8 * identity_words() +
                8 * ((attribute.sample_type & PERF_SAMPLE_TID) != 0));
}

static int
compare_records(const void *left, const void *right)
{
    const struct record *const one = left;
    const struct record *const other = right;

    if (one->time != other->time) {
        return one->time < other->time ? -1 : 1;
    }
    return one->number < other->number ? -1 : 1;
}

static void
find_records(const uint8_t *data, size_t bytes)
{
    for (size_t at = 0; at + sizeof(struct perf_event_header) <= bytes;) {
        const struct perf_event_header *const header = (const void *)(data + at);

        if (header->size < sizeof(*header) || at + header->size > bytes) {
            fail("a record has no size");
        }
        if (header->type == PERF_RECORD_SAMPLE || header->type == PERF_RECORD_MMAP2 ||
            header->type == PERF_RECORD_COMM) {
            struct record *const more =
                realloc(records, (record_count + 1) * sizeof(*records));

            if (more == NULL) {
                fail("out of memory");
            }
            records = more;
            records[record_count] =
                (struct record){time_of(header), record_count, header};
            record_count++;
        }
        at += header->size;
    }
    qsort(records, record_count, sizeof(*records), compare_records);
}

/* A mapping of the program's code. */
static void
take_mapping(const struct perf_event_header *header)
{
    const uint8_t *const at = (const uint8_t *)(header + 1);
    uint32_t pid;
    uint32_t rights;

    memcpy(&pid, at, sizeof(pid));
    /* pid, tid, address, length, offset, 24 bytes of the file, rights, flags, path */
    memcpy(&rights, at + 56, sizeof(rights));
    if (pid == program_pid && (rights & 4) != 0) {
        const uint64_t start = word(at + 8);

        stack_images_map(start, start + word(at + 16), word(at + 24),
                         (const char *)at + 64);
    }
}

static void
take_exec(const struct perf_event_header *header)
{
    if ((header->misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
        memcpy(&program_pid, header + 1, sizeof(program_pid));
        stack_images_unmap_all();
    }
}

/* From perf's numbers (asm/perf_regs.h) to DWARF's. Those of arm64 are the same. */
static void
take_registers(struct stack_sample *sample, const uint8_t *at, uint64_t mask)
{
#if defined(__aarch64__)
    for (unsigned i = 0; i < REGISTERS; i++) {
        if ((mask >> i & 1) == 0) {
            continue;
        }
        if (i < SYM_REGISTERS) {
            sample->registers[i] = word(at);
        } else if (i == SYM_REGISTERS) {
            sample->address = word(at);
        }
        at += 8;
    }
#else
    static const uint8_t dwarf[] = {0, 3, 2, 1, 4, 5, 6, 7};
    enum { IP = 8, R8 = 16, R15 = 23 };

    for (unsigned i = 0; i < REGISTERS; i++) {
        if ((mask >> i & 1) == 0) {
            continue;
        }
        if (i < sizeof(dwarf)) {
            sample->registers[dwarf[i]] = word(at);
        } else if (i == IP) {
            sample->address = word(at);
        } else if (i >= R8 && i <= R15) {
            sample->registers[i - R8 + 8] = word(at);
        }
        at += 8;
    }
#endif
}

static void
show(const struct stack_sample *sample, const struct stack_walked *walked,
     uint64_t time, uint32_t tid)
{
    printf("%" PRIu64 " %u %d %" PRIx64, time, tid, walked->end, sample->address);
    for (size_t i = 0; i < walked->count; i++) {
        /* As perf's, they are compared by their place in a page. */
        printf(" %" PRIx64, walked->frames[i].address);
    }
    putchar('\n');
}

static void
take_sample(const struct perf_event_header *header, uint64_t time)
{
    const uint64_t type = attribute.sample_type;
    const uint8_t *at = (const uint8_t *)(header + 1);
    struct stack_sample sample = {.asked_bytes =
                                      least(attribute.sample_stack_user, bytes_max)};
    struct stack_walked walked;
    uint32_t ids[2];
    uint64_t abi;

    at += 8 * (words_before_time() - 1);
    memcpy(ids, at, sizeof(ids));
    at += 2 * 8; /* thread, time */
    at += 8 * (size_t)__builtin_popcountll(
                  type & (PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                          PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD));
    if ((type & PERF_SAMPLE_CALLCHAIN) != 0) {
        at += 8 * (1 + word(at));
    }
    abi = word(at);
    at += 8;
    if (ids[0] != program_pid || abi != PERF_SAMPLE_REGS_ABI_64) {
        return;
    }
    take_registers(&sample, at, attribute.sample_regs_user);
    at += 8 * (size_t)__builtin_popcountll(attribute.sample_regs_user);
    if (word(at) != 0) {
        sample.copy = at + 8;
        sample.copied_bytes = least(word(at + 8 + word(at)), bytes_max);
    }
    stack_images_walk(&sample, &walked);
    show(&sample, &walked, time, ids[1]);
}

int
main(int argc, char **argv)
{
    const uint64_t needed = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                            PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    const uint64_t known = needed | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR |
                           PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                           PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
                           PERF_SAMPLE_DATA_SRC; /* behind what is read */
    struct header header;
    uint8_t *data;
    size_t bytes;

    if (argc < 2 || argc > 3 || stack_images_init() != 0) {
        fail("usage: stack_peer PERF-DATA [BYTES]");
    }
    bytes_max = argc == 3 ? strtoul(argv[2], NULL, 10) : SIZE_MAX;
    data = read_file(argv[1], &bytes);
    if (bytes < sizeof(header)) {
        fail("the file is short");
    }
    memcpy(&header, data, sizeof(header));
    if (memcmp(header.magic, "PERFILE2", 8) != 0 ||
        header.attributes.offset + sizeof(attribute) > bytes ||
        header.data.offset + header.data.bytes > bytes) {
        fail("the file is none of perf record");
    }
    memcpy(&attribute, data + header.attributes.offset, sizeof(attribute));
    if ((attribute.sample_type & needed) != needed ||
        (attribute.sample_type & ~known) != 0) {
        fail("the file is none of perf record --call-graph dwarf");
    }
    find_records(data + header.data.offset, header.data.bytes);
    for (size_t i = 0; i < record_count; i++) {
        const struct perf_event_header *const record = records[i].header;

        if (record->type == PERF_RECORD_MMAP2) {
            take_mapping(record);
        } else if (record->type == PERF_RECORD_COMM) {
            take_exec(record);
        } else {
            take_sample(record, records[i].time);
        }
    }
    free(records);
    free(data);
    stack_images_finish();
    return 0;
}
