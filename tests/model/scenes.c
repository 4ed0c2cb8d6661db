/* SPDX-License-Identifier: MIT */
/* scenes.c - what some worlds begin with: what random steps would come to too seldom.
 */
#include "driverp.h"

/* A good request, in the form that the version has. */
static struct model_create_call
good_request(const struct driver *d)
{
    return (struct model_create_call){
        .form = d->model->version <= NTPROF_NT_3_50 ? MODEL_SEVEN : MODEL_NINE,
        .profile_handle = MACHINE_HANDLE,
        .process = UINT64_MAX,
        .base = MACHINE_CODE,
        .size = 16,
        .bucket = 4,
        .buffer = MACHINE_BUFFER,
        .buffer_bytes = 4,
        .affinity = 1,
    };
}

/* The handle made last, or none. */
static uint64_t
last_handle(const struct driver *d)
{
    return d->model->handles != NULL ? d->model->handles->value : 0;
}

static void
create_started(struct driver *d, const struct model_create_call *call)
{
    driver_create(d, call);
    driver_start(d, last_handle(d));
}

static void
hit_at(struct driver *d, uint64_t pid, uint64_t address)
{
    const struct model_hit hit = {.pid = pid, .address = address};

    driver_hit(d, &hit);
}

static void
start_many(struct driver *d, uint32_t count)
{
    const struct model_create_call call = good_request(d);

    for (uint32_t i = 0; i < count && d->run->difference[0] == '\0'; i++) {
        create_started(d, &call);
    }
}

static void
scene_many(struct driver *d)
{
    start_many(d, 9);
}

/* Two profiles alike but for their buffers. Which is started first decides which one is
 * told to have halted. */
static void
start_two(struct driver *d, struct model_create_call call)
{
    uint64_t first;
    uint64_t second;

    driver_create(d, &call);
    first = last_handle(d);
    call.buffer += 2 * MODEL_PAGE_BYTES;
    driver_create(d, &call);
    second = last_handle(d);
    if (draw_one_in(d->draw, 2)) {
        driver_start(d, second);
    }
    driver_start(d, first);
    driver_start(d, second);
}

/* A bucket without a counter is hit, once by the old size check and once by the end
 * that counts; others have one for it. */
static void
scene_behind(struct driver *d)
{
    struct model_create_call call = good_request(d);

    call.size = draw_one_in(d->draw, 2) ? 16 : 19;
    call.process = draw_one_in(d->draw, 2) ? UINT64_MAX : 0;
    if (draw_one_in(d->draw, 2)) {
        call.buffer += MODEL_PAGE_BYTES - 4;
    }
    start_two(d, call);
    call.size = 32;
    call.buffer = MACHINE_BUFFER + 64;
    call.buffer_bytes = 8;
    if (draw_one_in(d->draw, 2)) {
        create_started(d, &call);
    }
    hit_at(d, MACHINE_PID, MACHINE_CODE + 16);
    hit_at(d, MACHINE_PID, MACHINE_CODE);
    driver_deliver(d);
}

/* A process ends, its profile started or not, and another has its pid. */
static void
scene_process(struct driver *d)
{
    struct model_create_call call = good_request(d);

    driver_open(d, false, MACHINE_HANDLE, PROCESS_QUERY_INFORMATION, MACHINE_OTHER_PID);
    call.process = last_handle(d);
    driver_create(d, &call);
    create_started(d, &call);
    hit_at(d, MACHINE_OTHER_PID, MACHINE_CODE);
    driver_end_process(d, MACHINE_OTHER_PID);
    if (draw_one_in(d->draw, 2)) {
        driver_begin_process(d, MACHINE_OTHER_PID);
    }
    if (draw_one_in(d->draw, 2)) { /* the hit may still wait when the end is noticed */
        driver_open(d, false, MACHINE_HANDLE, PROCESS_QUERY_INFORMATION,
                    MACHINE_OTHER_PID);
    }
    create_started(d, &call);
    hit_at(d, MACHINE_OTHER_PID, MACHINE_CODE);
    driver_deliver(d);
}

/* Counters of memory that the caller unmaps, and perhaps maps again. */
static void
scene_passing(struct driver *d)
{
    struct model_create_call call = good_request(d);

    call.buffer = DRIVER_PASSING;
    create_started(d, &call);
    hit_at(d, MACHINE_PID, MACHINE_CODE);
    driver_deliver(d);
    driver_change_mapping(d);
    hit_at(d, MACHINE_PID, MACHINE_CODE);
    driver_deliver(d);
    if (draw_one_in(d->draw, 2)) {
        driver_change_mapping(d);
    }
    hit_at(d, MACHINE_PID, MACHINE_CODE);
    driver_deliver(d);
}

/* A handle that may not start. */
static void
scene_access(struct driver *d)
{
    const struct model_create_call call = good_request(d);
    struct model_duplicate_call duplicate = {
        .source_process = UINT64_MAX,
        .target_process = UINT64_MAX,
        .target_handle = MACHINE_HANDLE,
    };

    driver_create(d, &call);
    duplicate.source = last_handle(d);
    driver_duplicate(d, &duplicate);
    driver_start(d, last_handle(d));
    duplicate.source_process = last_handle(d); /* of another type */
    driver_duplicate(d, &duplicate);
}

/* A page that no counter needs goes between create and start. */
static void
scene_needed(struct driver *d)
{
    struct model_create_call call = good_request(d);

    call.buffer_bytes = 2 * MODEL_PAGE_BYTES;
    driver_create(d, &call);
    driver_protect(d, MACHINE_BUFFER + MODEL_PAGE_BYTES, MODEL_ABSENT);
    driver_start(d, last_handle(d));
}

/* Where there are segments: the computed bucket is one too small, or the end counts. */
static void
scene_segment(struct driver *d)
{
    struct model_create_call call = good_request(d);
    const struct model_hit hit = {
        .pid = MACHINE_PID, .address = MACHINE_CODE, .selector = 0x23, .offset = 32};

    call.base = hit.selector;
    call.bucket = 0;
    call.size = 32 + draw_below(d->draw, 2);
    call.buffer_bytes = 8;
    create_started(d, &call);
    driver_hit(d, &hit);
    driver_deliver(d);
}

void
driver_begin(struct driver *d)
{
    static void (*const scenes[])(struct driver *) = {
        scene_many,    scene_behind, scene_behind, scene_process,
        scene_passing, scene_access, scene_needed, scene_segment,
    };

    if ((d->run->flags & DRIVER_MANY_STARTED) != 0) {
        d->model->active[0] = 1;
        host_sim_set_active(d->machine.host, 0, 1);
        start_many(d, 8194);
    } else if (draw_one_in(d->draw, 4)) {
        DRAW_FROM(d->draw, scenes)(d);
    }
}
