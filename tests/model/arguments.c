/* SPDX-License-Identifier: MIT */
/*
 * arguments.c - draws arguments near the boundaries of each check, mostly good, so that
 * the later checks are come to as well.
 */
#include "driverp.h"

enum { MOST_GROUPS = 40 }; /* of an array */

static uint64_t
draw_odd_handle(struct driver *d)
{
    const struct model_handle *const any = d->model->handles;
    const uint64_t values[] = {
        0,
        UINT64_MAX,     /* this process */
        UINT64_MAX - 1, /* this thread, which has no meaning here */
        4,
        0xFFFFFFFF,
        0x7FFFFFFFFFFFFFFC,
        d->closed[draw_below(d->draw, DRIVER_CLOSED)],
        (any != NULL ? any->value : 0) + 1 + draw_below(d->draw, 3),
        (any != NULL ? any->value : 0) + 0x100000000,
        (any != NULL ? any->value : 0) | 0xFFFFFFFF00000000,
        (any != NULL ? any->value : 0) + 0x80000000,
        (any != NULL ? any->value : 0) + 0x400000,
    };

    return DRAW_FROM(d->draw, values);
}

static bool
is_wanted(const struct model_handle *handle, enum driver_wanted wanted)
{
    return wanted == DRIVER_WANT_ANY ||
           (wanted == DRIVER_WANT_PROFILE) == (handle->profile != NULL);
}

/* One of the open ones of that kind, or 0. */
static uint64_t
draw_open_handle(struct driver *d, enum driver_wanted wanted)
{
    const struct model_handle *h;
    uint32_t count = 0;
    uint32_t nth;

    for (h = d->model->handles; h != NULL; h = h->next) {
        count += is_wanted(h, wanted);
    }
    if (count == 0) {
        return 0;
    }
    nth = draw_below(d->draw, count);
    for (h = d->model->handles; !is_wanted(h, wanted) || nth-- > 0; h = h->next) {
    }
    return h->value;
}

uint64_t
driver_draw_handle(struct driver *d, enum driver_wanted wanted)
{
    const struct model_handle *const latest = d->model->handles;

    switch (draw_below(d->draw, 16)) {
    case 10:
    case 11:
    case 12:
    case 13:
        return latest != NULL && is_wanted(latest, wanted)
                   ? latest->value
                   : draw_open_handle(d, wanted);
    case 14:
        return draw_open_handle(d, DRIVER_WANT_ANY);
    case 15:
        return draw_odd_handle(d);
    default:
        return draw_open_handle(d, wanted);
    }
}

static uint64_t
draw_bad_pointer(struct driver *d)
{
    const uint64_t highest = d->model->options.highest_user_address;
    const uint64_t pointers[] = {
        0,
        1,
        MACHINE_SCRATCH + MACHINE_SCRATCH_BYTES - 4, /* straddles the end */
        MACHINE_SCRATCH + MACHINE_SCRATCH_BYTES,
        MACHINE_SCRATCH - 4,
        MACHINE_SCRATCH - 1,
        0x50000000,
        highest - 3,
        highest - 7, /* good, if the last page is */
        highest - 4,
        highest + 1,
        0x800000000000,
        d->model->options.system_range_start - 4,
        d->model->options.system_range_start,
        UINT64_MAX - 3,
        UINT64_MAX - 7,
        UINT64_MAX,
    };

    return DRAW_FROM(d->draw, pointers);
}

/* Where something may be read or written, or not; a kernel-mode caller's pointers are
 * good. */
uint64_t
driver_draw_pointer(struct driver *d, bool kernel_mode, uint32_t align)
{
    const uint32_t page = draw_below(d->draw, MACHINE_SCRATCH_BYTES / MODEL_PAGE_BYTES);
    const uint64_t good = MACHINE_SCRATCH + (uint64_t)page * MODEL_PAGE_BYTES +
                          (uint64_t)draw_below(d->draw, 64) * align;

    if (kernel_mode) {
        return good;
    }
    switch (draw_below(d->draw, 16)) {
    case 12:
        return good + 1 + draw_below(d->draw, 3);
    case 13: /* across the page's end, if there is a next one */
        return good / MODEL_PAGE_BYTES * MODEL_PAGE_BYTES + MODEL_PAGE_BYTES - 4;
    case 14:
    case 15:
        return draw_bad_pointer(d);
    default:
        return good;
    }
}

/* About as much as an MDL can describe. */
static void
draw_large_buffer(struct driver *d, struct model_create_call *c)
{
    const uint32_t most = d->model->version >= NTPROF_NT_6_1   ? 0xFFFFF000
                          : d->model->version == NTPROF_NT_6_0 ? 0x7FFFF000
                          : d->model->options.x86              ? 0x3FF8C00
                                                               : 0x1FF9E00;

    c->kernel_mode = true; /* or it would have to be there */
    c->bucket = 2;
    c->buffer_bytes = most + draw_below(d->draw, 3) / 2 * 4;
    if (draw_one_in(d->draw, 8)) {
        c->buffer_bytes = (uint32_t)draw_bytes(d->draw, 4);
    }
}

/* Bucket, size and buffer size that belong together, give or take one. */
static void
draw_sizes(struct driver *d, struct model_create_call *c)
{
    static const uint8_t odd_buckets[] = {0, 1, 30, 31, 32, 33, 63, 64, 255};
    const uint32_t counters = draw_below(d->draw, 20);
    uint64_t quarter; /* of a bucket */
    uint64_t sizes[10];

    c->bucket = 2 + draw_below(d->draw, 7);
    if (draw_one_in(d->draw, 10)) {
        c->bucket = DRAW_FROM(d->draw, odd_buckets);
    }
    c->buffer_bytes = counters * 4;
    if (draw_one_in(d->draw, 3)) {
        c->buffer_bytes += 1 + draw_below(d->draw, 3);
    }
    if (draw_one_in(d->draw, 16)) {
        draw_large_buffer(d, c);
    }
    quarter = c->bucket >= 2 && c->bucket < 34 ? 1ull << (c->bucket - 2) : 1;
    sizes[0] = sizes[1] = sizes[2] = (uint64_t)c->buffer_bytes / 4 * 4 * quarter;
    sizes[3] = sizes[0] + 1;
    sizes[4] = sizes[0] - (sizes[0] > 0);
    sizes[5] = ((uint64_t)c->buffer_bytes + 1) * quarter - 1; /* the old check's last */
    sizes[6] = sizes[5] + 1;
    sizes[7] = sizes[0] / 2 + draw_below(d->draw, 8);
    sizes[8] = draw_below(d->draw, 4);
    sizes[9] =
        draw_one_in(d->draw, 2) ? draw_bytes(d->draw, 4) : draw_bytes(d->draw, 8);
    c->size = DRAW_FROM(d->draw, sizes);
}

/* Counters to spare, or nearly: the computed bucket takes what there is. */
static void
draw_segment_sizes(struct driver *d, struct model_create_call *c)
{
    static const uint32_t segments[] = {0, 1, 4, 7, 0xF, 0x1B, 0x23, 0xFFFF, 0x10000};
    const uint32_t counters = 1 + draw_below(d->draw, 16);
    const uint64_t sizes[] = {
        0,
        counters - 1, /* no byte for each counter */
        counters,
        counters * 2,
        counters * 4,
        counters * 4 + 1,
        (uint64_t)counters << (2 + draw_below(d->draw, 9)),
        ((uint64_t)counters << (2 + draw_below(d->draw, 9))) +
            1, /* one bucket too small */
        0x10000,
        0xFFFFFFFF,
    };

    c->bucket = 0;
    c->base = DRAW_FROM(d->draw, segments);
    c->buffer_bytes = counters * 4 + draw_below(d->draw, 4);
    if (draw_one_in(d->draw, 12)) {
        c->buffer_bytes = draw_below(d->draw, 4);
    }
    c->size = DRAW_FROM(d->draw, sizes);
}

static void
draw_base(struct driver *d, struct model_create_call *c)
{
    const bool x86 = d->model->options.x86;
    const uint64_t top = x86 ? 0x100000000 : 0; /* 2^64 wraps to 0 */
    const uint64_t user = x86 ? 0x7FFEFFFF : d->model->options.highest_user_address;
    const uint64_t kernel = x86 ? 0x80000000 : d->model->options.system_range_start;
    const uint64_t bases[] = {
        0,
        0xFFFF,
        0x10000,
        top - c->size,
        top - c->size - 1,
        top - c->size + 1,
        top - 1,
        kernel - c->size,
        kernel - c->size + 1,
        kernel - 1,
        kernel,
        kernel + (uint64_t)draw_below(d->draw, 4) * 64,
        user - c->size,
        user,
        user + 1,
        draw_bytes(d->draw, 4),
        draw_bytes(d->draw, 8),
    };

    c->base = MACHINE_CODE + (uint64_t)draw_below(d->draw, 8) * 16;
    if (c->size > 0x7FFFFFFF && draw_one_in(d->draw, 2)) {
        c->base = 0;
    } else if (draw_one_in(d->draw, 4)) {
        c->base = DRAW_FROM(d->draw, bases);
        if (x86 && !draw_one_in(d->draw, 8)) {
            c->base %= 0x100000000;
        }
    } else if (draw_one_in(d->draw, 4)) {
        c->base = draw_one_in(d->draw, 3)
                      ? kernel - c->size / 2
                      : kernel + (uint64_t)draw_below(d->draw, 4) * 64;
    }
}

static uint64_t
draw_bad_buffer(struct driver *d, const struct model_create_call *c)
{
    const uint64_t behind = d->model->options.highest_user_address + 1;
    const uint64_t buffers[] = {
        0,
        behind - c->buffer_bytes / 4 * 4, /* good, at the very end of user space */
        behind - c->buffer_bytes / 4 * 4 + 4,
        behind - 4,
        MACHINE_BUFFER + MACHINE_BUFFER_BYTES - 4,
        MACHINE_BUFFER - 4,
        d->model->options.system_range_start,
        UINT64_MAX - 3,
        0x50000000,
        MACHINE_BUFFER + 1 + draw_below(d->draw, 3),
        MACHINE_BUFFER + 1 + draw_below(d->draw, 3),
        MACHINE_BUFFER + MODEL_PAGE_BYTES - 1,
        draw_bad_pointer(d) & ~3ull,
    };

    return DRAW_FROM(d->draw, buffers);
}

/* Where calls write handles and other answers. */
static bool
is_written_to(const struct driver *d, uint64_t address)
{
    return (address >= MACHINE_SCRATCH &&
            address < MACHINE_SCRATCH + MACHINE_SCRATCH_BYTES) ||
           address >= d->top;
}

static void
draw_buffer(struct driver *d, struct model_create_call *c)
{
    /* Only some pages, so that buffers overlap and meet absent pages. */
    const uint64_t page =
        MACHINE_BUFFER + (uint64_t)draw_below(d->draw, 4) * MODEL_PAGE_BYTES;
    const uint64_t whole = (uint64_t)c->buffer_bytes / 4 * 4;

    switch (draw_below(d->draw, 16)) {
    case 8:
    case 9:
        c->buffer =
            DRIVER_PASSING + (uint64_t)draw_below(d->draw, 4) * MODEL_PAGE_BYTES;
        break;
    case 10:
    case 11:
    case 12: /* up to the page's end, or across it */
        c->buffer =
            page + MODEL_PAGE_BYTES - whole + 4 * (uint64_t)draw_below(d->draw, 3);
        break;
    case 13:
    case 14:
        c->buffer = MACHINE_BUFFER + MACHINE_BUFFER_BYTES - whole;
        break;
    case 15:
        c->buffer = draw_bad_buffer(d, c);
        break;
    default:
        c->buffer = page + 4 * (uint64_t)draw_below(d->draw, 64);
        break;
    }
    if (c->kernel_mode) {
        c->buffer &= ~3ull; /* trusted to be aligned */
    }
    if (d->queued && is_written_to(d, c->buffer)) {
        c->buffer =
            page; /* hits that wait count after what is written there meanwhile */
    }
}

KPROFILE_SOURCE
driver_draw_source(struct driver *d)
{
    static const KPROFILE_SOURCE odd[] = {
        1,      1,       1,       2,       19,         23,
        24,     0x1000,  0x1004,  0x1005,  0x7FFF,     0x8000,
        0xFFFF, 0x10000, 0x10002, 0x18000, 0xFFFF8000, 0xFFFFFFFF};

    if (draw_one_in(d->draw, 4)) {
        return DRAW_FROM(d->draw, odd);
    }
    return draw_one_in(d->draw, 3) ? ProfileTotalCycles : ProfileTime;
}

KPROFILE_SOURCE
driver_draw_interval_source(struct driver *d)
{
    static const KPROFILE_SOURCE usual[] = {ProfileTime, ProfileAlignmentFixup,
                                            ProfileTotalCycles, ProfilePageFaults};

    return draw_one_in(d->draw, 4) ? driver_draw_source(d) : DRAW_FROM(d->draw, usual);
}

static uint64_t
draw_mask(struct driver *d, uint32_t group)
{
    const uint64_t active = d->model->active[group % d->model->options.group_count];
    const uint64_t masks[] = {
        active,
        active,
        active & (active - 1), /* all but the first */
        active & ~(active - 1),
        active & draw_bytes(d->draw, 1),
        UINT64_MAX,
        UINT32_MAX,
        0,
        ~active,
        active | 0x80,
        1ull << draw_below(d->draw, 64),
    };

    return DRAW_FROM(d->draw, masks);
}

static void
draw_group(struct driver *d, GROUP_AFFINITY *group)
{
    group->Group = (USHORT)draw_below(d->draw, d->model->options.group_count);
    group->Mask = draw_mask(d, group->Group);
    if (draw_one_in(d->draw, 8)) {
        group->Group =
            (USHORT)(d->model->options.group_count + draw_below(d->draw, 2) * 0xFF00);
    }
    if (draw_one_in(d->draw, 12)) {
        group->Reserved[draw_below(d->draw, 3)] = 0x100;
    }
}

/* More than anybody reads at once: good ones, and mostly one that is drawn. */
static void
draw_many_groups(struct driver *d, struct model_create_call *c,
                 GROUP_AFFINITY groups[MOST_GROUPS])
{
    c->group_count = (uint16_t)(1 + draw_below(d->draw, MOST_GROUPS));
    for (uint32_t i = 0; i < c->group_count; i++) {
        groups[i].Group = (USHORT)(i % d->model->options.group_count);
        groups[i].Mask = d->model->active[groups[i].Group];
    }
    draw_group(d, &groups[draw_below(d->draw, c->group_count)]);
}

/* The first of them are on a page, and the others on the next one, which may be absent.
 */
static void
draw_parted_array(struct driver *d, struct model_create_call *c)
{
    const uint64_t next =
        MACHINE_SCRATCH + (1 + (uint64_t)draw_below(d->draw, 2)) * MODEL_PAGE_BYTES;

    c->array = next - draw_below(d->draw, c->group_count + 1) * sizeof(GROUP_AFFINITY);
    if (draw_one_in(d->draw, 2)) {
        driver_protect(d, next, MODEL_ABSENT);
    }
}

static void
draw_array(struct driver *d, struct model_create_call *c)
{
    GROUP_AFFINITY groups[MOST_GROUPS] = {{0}};

    c->group_count = (uint16_t)(draw_below(d->draw, 8) / 2);
    c->array = driver_draw_pointer(d, c->kernel_mode, 16);
    if (!c->kernel_mode && draw_one_in(d->draw, 8)) {
        draw_many_groups(d, c, groups);
        draw_parted_array(d, c);
    } else {
        for (uint32_t i = 0; i < c->group_count; i++) {
            draw_group(d, &groups[i]);
        }
    }
    driver_write(d, c->array, groups, c->group_count * sizeof(groups[0]));
    if (!c->kernel_mode && draw_one_in(d->draw, 24)) {
        c->group_count = draw_one_in(d->draw, 2) ? 0xFFFF : 4096;
    }
}

static uint64_t
draw_process(struct driver *d)
{
    switch (draw_below(d->draw, 8)) {
    case 0:
    case 1:
    case 2:
        return UINT64_MAX;
    case 3:
    case 4:
        return 0;
    case 5:
        return driver_draw_handle(d, DRIVER_WANT_ANY);
    default:
        return driver_draw_handle(d, DRIVER_WANT_PROCESS);
    }
}

/* The same region as one that is there, with a counter more or a larger bucket. */
static void
draw_twin(struct driver *d, struct model_create_call *c)
{
    const struct model_profile *const p = d->model->profiles;

    c->base = p->base;
    c->size = p->size;
    c->bucket = p->log2 + draw_below(d->draw, 2);
    c->buffer_bytes = p->buffer_bytes / 4 * 4 + 4;
    c->source = p->source;
    c->process = p->process == NULL ? 0 : UINT64_MAX;
}

void
driver_draw_create(struct driver *d, struct model_create_call *c)
{
    const uint32_t version = d->model->version;
    const enum model_form usual = version <= NTPROF_NT_3_50 ? MODEL_SEVEN
                                  : version < NTPROF_NT_6_1 ? MODEL_NINE
                                  : draw_one_in(d->draw, 3) ? MODEL_NINE
                                                            : MODEL_TEN;

    c->form = draw_one_in(d->draw, 40) ? draw_below(d->draw, 3) : usual;
    c->kernel_mode = draw_one_in(d->draw, 10);
    if (draw_one_in(d->draw, d->model->options.x86 ? 3 : 40)) {
        draw_segment_sizes(d, c);
    } else {
        draw_sizes(d, c);
        draw_base(d, c);
    }
    c->profile_handle = driver_draw_pointer(d, c->kernel_mode, 8);
    c->process = draw_process(d);
    c->source = driver_draw_source(d);
    if (d->model->profiles != NULL && draw_one_in(d->draw, 8)) {
        draw_twin(d, c);
    }
    draw_buffer(d, c);
    c->affinity = draw_mask(d, d->model->current_group);
    if (d->model->options.x86 && !draw_one_in(d->draw, 16)) {
        c->affinity %= 1ull << 32;
    }
    if (c->form == MODEL_TEN) {
        draw_array(d, c);
    }
}

void
driver_draw_duplicate(struct driver *d, struct model_duplicate_call *c)
{
    static const ACCESS_MASK accesses[] = {
        0,     1, 0x400,      0x40,       0x80000000, 0xF0001,    0x10000000, 0x100000,
        0x440, 2, 0x02000000, 0x02000001, 0x82000000, 0x01000000, 0xFFFFFFFF};
    static const ULONG options[] = {0, 0, 0, 2, 2, 3, 1, 6, 4, 7, 8, 0x80000000};
    static const ULONG attributes[] = {0, 0, 0, 2, 0x40, 0x100};

    c->kernel_mode = draw_one_in(d->draw, 10);
    c->source_process = draw_one_in(d->draw, 6)
                            ? driver_draw_handle(d, DRIVER_WANT_PROCESS)
                            : UINT64_MAX;
    c->source =
        draw_one_in(d->draw, 8)
            ? UINT64_MAX
            : driver_draw_handle(d, draw_one_in(d->draw, 3) ? DRIVER_WANT_ANY
                                                            : DRIVER_WANT_PROFILE);
    c->target_process = draw_one_in(d->draw, 6)
                            ? driver_draw_handle(d, DRIVER_WANT_PROCESS)
                            : UINT64_MAX;
    c->target_handle = driver_draw_pointer(d, c->kernel_mode, 8);
    c->access = DRAW_FROM(d->draw, accesses);
    c->options = DRAW_FROM(d->draw, options);
    c->attributes = DRAW_FROM(d->draw, attributes);
}

/* One of the started ones, or NULL. */
const struct model_profile *
driver_draw_started(struct driver *d)
{
    const uint64_t count = model_count_started(d->model);
    const struct model_profile *p = d->model->profiles;
    uint32_t nth;

    if (count == 0) {
        return NULL;
    }
    nth = draw_below(d->draw, count);
    while (!p->started || nth-- > 0) {
        p = p->next;
    }
    return p;
}

static uint32_t
draw_processor(struct driver *d)
{
    const uint32_t group = draw_below(d->draw, d->model->options.group_count);
    uint32_t number = draw_below(d->draw, 64);

    if (d->model->active[group] == 0) {
        return group * 64;
    }
    while ((d->model->active[group] >> number % 64 & 1) == 0) {
        number++;
    }
    return group * 64 + number % 64;
}

/* Near the boundaries of a started profile, mostly. */
static uint64_t
draw_offset(struct driver *d, const struct model_profile *p)
{
    const uint64_t bucket = 1ull << p->log2;
    const uint64_t offsets[] = {
        0,
        p->size,
        p->size,
        p->size - 1,
        p->size + 1,
        p->size - 1 - p->size % bucket,
        (uint64_t)p->buffer_bytes / 4 * bucket, /* the first without a counter */
        (uint64_t)p->buffer_bytes / 4 * bucket - 1,
        bucket * draw_below(d->draw, 16),
        bucket * draw_below(d->draw, 16) + draw_below(d->draw, 8),
        UINT64_MAX,
        0x100000000 + draw_below(d->draw, 16), /* wraps in 32 bits */
        p->size > 0 ? draw_bytes(d->draw, 4) % p->size : 0,
    };

    return DRAW_FROM(d->draw, offsets);
}

void
driver_draw_hit(struct driver *d, struct model_hit *hit)
{
    const struct model_profile *const p = driver_draw_started(d);
    const bool near = p != NULL && !draw_one_in(d->draw, 12);
    const uint64_t offset = near ? draw_offset(d, p) : draw_bytes(d->draw, 1);

    hit->source = near ? p->source : driver_draw_source(d);
    hit->processor = draw_processor(d);
    hit->pid = near && p->process != NULL && !draw_one_in(d->draw, 6)
                   ? p->process->pid
                   : DRAW_FROM(d->draw, driver_pids);
    if (draw_one_in(d->draw, 16)) {
        hit->pid = 4444;
    }
    hit->address = near && p->segment == 0 ? p->base + offset
                                           : MACHINE_CODE + draw_bytes(d->draw, 1);
    if (near ? p->segment != 0 || draw_one_in(d->draw, 8) : draw_one_in(d->draw, 4)) {
        hit->selector = near && p->segment != 0 && !draw_one_in(d->draw, 6)
                            ? p->segment
                            : 0x1B + draw_below(d->draw, 2) * 8;
        hit->offset = offset;
    }
}
