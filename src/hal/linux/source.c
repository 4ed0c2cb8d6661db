/* SPDX-License-Identifier: MIT */
/* hal/linux/source.c - the table of sources, and sources made by name. */
#include "hal/linux/source.h"

#include "hal/linux/array.h"
#include "hal/linux/procfs.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* SOURCE_NUMBER_LAST: numbers of sources have 16 bits. */
enum { NS_PER_100NS = 100, SOURCE_NUMBER_LAST = 0xFFFF };

/* The kernel silently raises a cpu-clock period below 10 us to 10 us. */
enum {
    TIME_MINIMUM_NS = 10000,
    TIME_DEFAULT_100NS = 10000,   /* 1 ms */
    TIME_MAXIMUM_100NS = 10000000 /* 1 s */
};
/* Intervals of hardware events, in events. */
enum { PMU_MINIMUM = 0x1000, PMU_DEFAULT = 0x10000 };
#define INTERVAL_MAXIMUM 0xFFFFFFFFu /* of all sources but time */

#define CACHE_READ(cache, result)                 \
    ((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | \
     PERF_COUNT_HW_CACHE_RESULT_##result << 16)
#define L1D PERF_COUNT_HW_CACHE_L1D
#define L1I PERF_COUNT_HW_CACHE_L1I

/* A source of the fixed table, or one to be made by name. */
struct row {
    KPROFILE_SOURCE number;
    const char *name;
    const char *nt_name;
    uint32_t type;
    uint64_t config;
    bool kernel_only;
};

static const struct row rows[] = {
    {ProfileTime, "time", "ProfileTime", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
     false},
    {ProfileAlignmentFixup, "alignment-faults", "ProfileAlignmentFixup",
     PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, false},
    {ProfileTotalIssues, "instructions", "ProfileTotalIssues", PERF_TYPE_HARDWARE,
     PERF_COUNT_HW_INSTRUCTIONS, false},
    {ProfilePipelineDry, "stalled-cycles-frontend", "ProfilePipelineDry",
     PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, false},
    {ProfilePipelineFrozen, "stalled-cycles-backend", "ProfilePipelineFrozen",
     PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, false},
    {ProfileBranchInstructions, "branches", "ProfileBranchInstructions",
     PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false},
    {ProfileDcacheMisses, "l1d-misses", "ProfileDcacheMisses", PERF_TYPE_HW_CACHE,
     CACHE_READ(L1D, MISS), false},
    {ProfileIcacheMisses, "l1i-misses", "ProfileIcacheMisses", PERF_TYPE_HW_CACHE,
     CACHE_READ(L1I, MISS), false},
    {ProfileCacheMisses, "cache-misses", "ProfileCacheMisses", PERF_TYPE_HARDWARE,
     PERF_COUNT_HW_CACHE_MISSES, false},
    {ProfileBranchMispredictions, "branch-misses", "ProfileBranchMispredictions",
     PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false},
    {ProfileTotalCycles, "cycles", "ProfileTotalCycles", PERF_TYPE_HARDWARE,
     PERF_COUNT_HW_CPU_CYCLES, false},
    {ProfileIcacheIssues, "l1i-loads", "ProfileIcacheIssues", PERF_TYPE_HW_CACHE,
     CACHE_READ(L1I, ACCESS), false},
    {ProfileDcacheAccesses, "l1d-loads", "ProfileDcacheAccesses", PERF_TYPE_HW_CACHE,
     CACHE_READ(L1D, ACCESS), false},
    {ProfilePageFaults, "page-faults", "", PERF_TYPE_SOFTWARE,
     PERF_COUNT_SW_PAGE_FAULTS, false},
    {ProfileMinorFaults, "minor-faults", "", PERF_TYPE_SOFTWARE,
     PERF_COUNT_SW_PAGE_FAULTS_MIN, false},
    {ProfileMajorFaults, "major-faults", "", PERF_TYPE_SOFTWARE,
     PERF_COUNT_SW_PAGE_FAULTS_MAJ, false},
    {ProfileContextSwitches, "context-switches", "", PERF_TYPE_SOFTWARE,
     PERF_COUNT_SW_CONTEXT_SWITCHES, true},
    {ProfileMigrations, "migrations", "", PERF_TYPE_SOFTWARE,
     PERF_COUNT_SW_CPU_MIGRATIONS, true},
};

/* ---- the list ---- */

/* Set the limits of ProfileTime: its rate is bounded by sample_rate_max, in Hz (0: the
 * kernel's default), and by TIME_MINIMUM_NS. Intervals are rounded up. */
static void
set_time_limits(struct perf_source *source, long sample_rate_max)
{
    const uint64_t rate = sample_rate_max > 0 ? (uint64_t)sample_rate_max : 100000;
    const uint64_t rate_ns = (1000000000 + rate - 1) / rate;
    const uint64_t minimum_ns = rate_ns > TIME_MINIMUM_NS ? rate_ns : TIME_MINIMUM_NS;

    source->unit = NTPROF_UNIT_100NS;
    source->interval_minimum = (minimum_ns + NS_PER_100NS - 1) / NS_PER_100NS;
    source->interval_maximum = TIME_MAXIMUM_100NS;
    source->interval_default = TIME_DEFAULT_100NS;
    if (source->interval_default < source->interval_minimum) {
        source->interval_default = source->interval_minimum;
    }
}

/* Set the limits of a source other than ProfileTime. Events of a PMU are frequent, and
 * each interval costs an interrupt, so their minimum is higher. */
static void
set_event_limits(struct perf_source *source)
{
    const bool pmu = source->type != PERF_TYPE_SOFTWARE &&
                     source->type != PERF_TYPE_BREAKPOINT &&
                     source->type != PERF_TYPE_TRACEPOINT;

    source->unit = NTPROF_UNIT_EVENTS;
    source->interval_minimum = pmu ? PMU_MINIMUM : 1;
    source->interval_default = pmu ? PMU_DEFAULT : 1;
    source->interval_maximum = INTERVAL_MAXIMUM;
}

/* Add a source, with the limits of its type. Returns NULL if memory runs out. */
static struct perf_source *
add_source(struct perf_sources *sources, const struct row *row, long sample_rate_max)
{
    struct perf_source **const items =
        perf_array_grow(sources->items, sources->count, sizeof(struct perf_source *));
    struct perf_source *source;

    if (items == NULL) {
        return NULL;
    }
    sources->items = items;
    source = calloc(1, sizeof(*source));
    if (source == NULL) {
        return NULL;
    }
    source->number = row->number;
    source->type = row->type;
    source->config = row->config;
    source->kernel_only = row->kernel_only;
    snprintf(source->name, sizeof(source->name), "%s", row->name);
    snprintf(source->nt_name, sizeof(source->nt_name), "%s", row->nt_name);
    if (row->number == ProfileTime) {
        set_time_limits(source, sample_rate_max);
    } else {
        set_event_limits(source);
    }
    source->interval = source->interval_default;
    sources->items[sources->count++] = source;
    return source;
}

int
perf_sources_init(struct perf_sources *sources, long sample_rate_max)
{
    *sources = (struct perf_sources){.next_number = ProfileDynamicBase};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (add_source(sources, &rows[i], sample_rate_max) == NULL) {
            perf_sources_finish(sources);
            return -ENOMEM;
        }
    }
    return 0;
}

void
perf_sources_finish(struct perf_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        perf_uprobe_delete(sources->items[i]->uprobe);
        free(sources->items[i]);
    }
    free(sources->items);
    *sources = (struct perf_sources){0};
}

struct perf_source *
perf_sources_find(const struct perf_sources *sources, KPROFILE_SOURCE number)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (sources->items[i]->number == number) {
            return sources->items[i];
        }
    }
    return NULL;
}

/* ---- names ---- */

/* Find a source by its name or NT name; case does not matter. */
static struct perf_source *
find_name(const struct perf_sources *sources, const char *name)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct perf_source *source = sources->items[i];

        if (strcasecmp(source->name, name) == 0 ||
            (source->nt_name[0] != 0 && strcasecmp(source->nt_name, name) == 0)) {
            return source;
        }
    }
    return NULL;
}

/* Parse a whole text as a number: hexadecimal with 0x, or decimal. Returns 0 or
 * -EINVAL. */
static int
parse_parameter(const char *text, uint64_t *value)
{
    char *end;
    unsigned long long number;

    if (*text < '0' || *text > '9') {
        return -EINVAL;
    }
    errno = 0;
    number = strtoull(text, &end, *text == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
    if (errno != 0 || *end != 0) {
        return -EINVAL;
    }
    *value = number;
    return 0;
}

/* Add a source that has been named for the first time. Returns 0 or negative errno. */
static int
add_named(struct perf_sources *sources, struct row row, struct perf_source **source)
{
    if (sources->next_number > SOURCE_NUMBER_LAST) {
        return -ENOSPC;
    }
    row.nt_name = "";
    row.number = sources->next_number;
    *source = add_source(sources, &row, 0);
    if (*source == NULL) {
        return -ENOMEM;
    }
    sources->next_number++;
    return 0;
}

/* Find or make a source that takes a parameter. */
static int
lookup_parameter(struct perf_sources *sources, const char *prefix, uint32_t type,
                 const char *parameter, struct perf_source **source)
{
    char name[sizeof((*source)->name)];
    struct row row = {.name = name, .type = type};
    uint64_t value;
    int result;

    result = parse_parameter(parameter, &value);
    if (result < 0) {
        return result;
    }
    snprintf(name, sizeof(name), "%s0x%" PRIx64, prefix, value);
    *source = find_name(sources, name);
    if (*source != NULL) {
        return 0;
    }
    row.config = type == PERF_TYPE_RAW ? value : 0;
    result = add_named(sources, row, source);
    if (result == 0 && type == PERF_TYPE_BREAKPOINT) {
        (*source)->breakpoint_address = value;
    }
    return result;
}

/* Return the source of a uprobe at the same offset of the same image; NULL: none. */
static struct perf_source *
find_uprobe(const struct perf_sources *sources, const struct perf_uprobe *uprobe)
{
    for (size_t i = 0; i < sources->count; i++) {
        const struct perf_uprobe *const one = sources->items[i]->uprobe;

        if (one != NULL && one->offset == uprobe->offset &&
            strcmp(one->image, uprobe->image) == 0) {
            return sources->items[i];
        }
    }
    return NULL;
}

/* Name the source of a uprobe. Of a path that does not fit, keep the end, which
 * identifies the file better. */
static void
name_uprobe(char *name, size_t size, const struct perf_uprobe *uprobe)
{
    const size_t without_image =
        (size_t)snprintf(name, size, "uprobe:+0x%" PRIx64, uprobe->offset);
    const size_t room = size - 1 - without_image;
    const size_t length = strlen(uprobe->image);
    const char *image = uprobe->image;
    const char *dots = "";

    if (length > room) {
        dots = "...";
        image += length - (room - strlen(dots));
        while ((*image & 0xC0) == 0x80) {
            image++; /* not amid a character */
        }
    }
    snprintf(name, size, "uprobe:%s%.*s+0x%" PRIx64, dots, (int)room, image,
             uprobe->offset);
}

/* Find or make the source of "IMAGE+OFFSET". */
static int
lookup_uprobe(struct perf_sources *sources, const char *parameter,
              struct perf_source **source)
{
    char name[sizeof((*source)->name)];
    const struct row row = {.name = name, .type = PERF_TYPE_TRACEPOINT};
    const char *const plus = strrchr(parameter, '+');
    struct perf_uprobe *uprobe;
    uint64_t offset;
    int result = 0;

    if (plus == NULL || plus == parameter || parse_parameter(plus + 1, &offset) < 0) {
        return -EINVAL;
    }
    uprobe = perf_uprobe_create(parameter, (size_t)(plus - parameter), offset);
    if (uprobe == NULL) {
        return -ENOMEM;
    }
    *source = find_uprobe(sources, uprobe);
    if (*source == NULL) {
        name_uprobe(name, sizeof(name), uprobe);
        result = add_named(sources, row, source);
        if (result == 0) {
            (*source)->uprobe = uprobe;
            return 0;
        }
    }
    perf_uprobe_delete(uprobe);
    return result;
}

int
perf_sources_lookup(struct perf_sources *sources, const char *text,
                    struct perf_source **source)
{
    static const struct {
        const char *prefix;
        uint32_t type;
    } named[] = {{"breakpoint:", PERF_TYPE_BREAKPOINT},
                 {"raw:", PERF_TYPE_RAW},
                 {"uprobe:", PERF_TYPE_TRACEPOINT}};
    struct perf_source *found = find_name(sources, text);
    int result = found != NULL ? 0 : -ENOENT;

    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        const size_t length = strlen(named[i].prefix);

        if (strncasecmp(text, named[i].prefix, length) == 0) {
            result = named[i].type == PERF_TYPE_TRACEPOINT
                         ? lookup_uprobe(sources, text + length, &found)
                         : lookup_parameter(sources, named[i].prefix, named[i].type,
                                            text + length, &found);
        }
    }
    if (result == 0) {
        *source = found;
    }
    return result;
}

/* ---- intervals and attributes ---- */

uint64_t
perf_source_ask_interval(struct perf_source *source, uint64_t interval)
{
    source->interval_asked = interval;
    if (interval < source->interval_minimum) {
        return source->interval_minimum;
    }
    return interval < source->interval_maximum ? interval : source->interval_maximum;
}

uint64_t
perf_source_period(const struct perf_source *source)
{
    return source->unit == NTPROF_UNIT_100NS ? source->interval * NS_PER_100NS
                                             : source->interval;
}

bool
perf_source_answer(struct perf_source *source, int result)
{
    const bool unanswered = perf_is_shortage(result);

    source->probed = !unanswered;
    source->supported = result == 0 || unanswered;
    return source->supported;
}

void
perf_source_attr(const struct perf_source *source, struct perf_event_attr *attr)
{
    attr->type = source->type;
    attr->config = source->config;
    attr->sample_period = perf_source_period(source);
    if (source->type == PERF_TYPE_BREAKPOINT) {
        attr->bp_type = HW_BREAKPOINT_X;
        attr->bp_addr = source->breakpoint_address;
        /* The only length that the kernel takes for execution breakpoints. */
        attr->bp_len = sizeof(long);
    }
}
