/* SPDX-License-Identifier: MIT */
/*
 * host/linux/processors.c - the online processors, in groups of 64: processor n is
 * number n % 64 of group n / 64. A KAFFINITY of 32 bits cannot name those from 32 on in
 * a group.
 *
 * Processors go online and offline. Reading the list takes tens of microseconds, so it
 * is read at most every 100 ms.
 */
#include "host/linux/linuxp.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    GROUP_PROCESSORS = 64,
    WORD_BITS = 8 * sizeof(long),
    FRESH_MS = 100, /* how long a list is used */
    TEXT_BYTES = 8192,
    /* A USHORT numbers the groups. */
    PROCESSOR_COUNT_MAX = 65536 * GROUP_PROCESSORS
};

/* Add an online processor. Returns 0 or -ENOMEM. */
static int
processors_include(struct host_processors *processors, unsigned long number)
{
    const size_t group = number / GROUP_PROCESSORS;

    if (group >= processors->count) {
        uint64_t *groups = realloc(processors->groups, (group + 1) * sizeof(*groups));

        if (groups == NULL) {
            return -ENOMEM;
        }
        memset(groups + processors->count, 0,
               (group + 1 - processors->count) * sizeof(*groups));
        processors->groups = groups;
        processors->count = group + 1;
    }
    processors->groups[group] |= (uint64_t)1 << number % GROUP_PROCESSORS;
    return 0;
}

/* Parse a decimal number below PROCESSOR_COUNT_MAX, and advance text. */
static bool
processors_parse_number(const char **text, unsigned long *number)
{
    char *end;

    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    errno = 0;
    *number = strtoul(*text, &end, 10);
    *text = end;
    return errno == 0 && *number < PROCESSOR_COUNT_MAX;
}

/* Parse "N" or "N-M", where no number is below *least; add these processors and advance
 * text and *least. Returns 0, -EINVAL or -ENOMEM. */
static int
processors_parse_range(const char **text, unsigned long *least,
                       struct host_processors *processors)
{
    unsigned long first;
    unsigned long last;
    int error;

    if (!processors_parse_number(text, &first) || first < *least) {
        return -EINVAL;
    }
    last = first;
    if (**text == '-') {
        ++*text;
        if (!processors_parse_number(text, &last) || last < first) {
            return -EINVAL;
        }
    }
    *least = last + 1;
    error = processors_include(processors, last); /* allocates the array for all */
    for (unsigned long number = first; number < last && error == 0; number++) {
        error = processors_include(processors, number);
    }
    return error;
}

/* Replace the list of processors by another, whose array it takes over. */
static void
processors_replace(struct host_processors *processors, struct host_processors *by)
{
    free(processors->groups);
    processors->groups = by->groups;
    processors->count = by->count;
}

int
host_processors_parse(const char *text, struct host_processors *processors)
{
    struct host_processors parsed = {0};
    unsigned long least = 0;
    int error;

    do {
        error = processors_parse_range(&text, &least, &parsed);
    } while (error == 0 && *text++ == ',');
    /* Now text is behind the character that ended the list. */
    if (error == 0 && text[-1] == '\n') {
        text++;
    }
    if (error == 0 && text[-1] != 0) {
        error = -EINVAL;
    }
    if (error != 0) {
        free(parsed.groups);
        return error;
    }
    processors_replace(processors, &parsed);
    return 0;
}

/* Add the processors that this thread may run on. The kernel says only those that are
 * online. Returns 0 or -ENOMEM. */
static int
processors_add_allowed(struct host_processors *processors)
{
    /* The kernel needs room for all processors that it was built for. */
    static const size_t most_bytes = PROCESSOR_COUNT_MAX / 8;
    unsigned long *const mask = calloc(1, most_bytes);
    long got;
    int error = 0;

    if (mask == NULL) {
        return -ENOMEM;
    }
    got = syscall(SYS_sched_getaffinity, 0, most_bytes, mask);
    for (long number = 0; number < got * 8 && error == 0; number++) {
        if ((mask[number / WORD_BITS] >> number % WORD_BITS & 1) != 0) {
            error = processors_include(processors, (unsigned long)number);
        }
    }
    free(mask);
    return error;
}

static int64_t
processors_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Read the list of the kernel, and add the processors that this thread may run on: in
 * containers with lxcfs or Sysbox, the list has as many processors as the container may
 * use, but those from 0 on, whichever it runs on. Without /sys, the latter are all that
 * is known, and if they are unknown too, processor 0. Returns 0 or negative errno.
 */
static int
processors_read(struct host_processors *processors)
{
    char text[TEXT_BYTES];
    ssize_t result =
        host_file_read("/sys/devices/system/cpu/online", text, sizeof(text));

    if (result >= 0) {
        result = host_processors_parse(text, processors);
    }
    if (result < 0 && host_is_shortage((int)result)) {
        return (int)result;
    }
    result = processors_add_allowed(processors);
    if (result == 0 && processors->count == 0) {
        result = processors_include(processors, 0);
    }
    return (int)result;
}

int
host_processors_refresh(struct host_processors *processors)
{
    const int64_t now_ms = processors_clock_ms();
    struct host_processors found = {0};
    int result;

    if (processors->read_ms >= 0 && now_ms - processors->read_ms < FRESH_MS) {
        return 0;
    }
    result = processors_read(&found);
    if (result == 0) {
        processors_replace(processors, &found);
    } else {
        free(found.groups);
    }
    if (processors->count == 0) {
        return result;
    }
    processors->read_ms = now_ms;
    return 0;
}

void
host_processors_finish(struct host_processors *processors)
{
    free(processors->groups);
    *processors = (struct host_processors){.read_ms = -1};
}

USHORT
host_group_count(void *Context)
{
    struct host_linux *host = Context;

    (void)host_processors_refresh(&host->processors);
    return (USHORT)host->processors.count;
}

KAFFINITY
host_active_processors(void *Context, USHORT Group)
{
    struct host_linux *host = Context;

    (void)host_processors_refresh(&host->processors);
    return Group < host->processors.count ? (KAFFINITY)host->processors.groups[Group]
                                          : 0;
}

USHORT
host_current_group(void *Context)
{
    const int cpu = sched_getcpu();

    (void)Context;
    return cpu < 0 ? 0 : (USHORT)(cpu / GROUP_PROCESSORS);
}
