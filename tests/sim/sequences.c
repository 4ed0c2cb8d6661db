/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of calls against a model that is written from the documents alone: each status,
 * each hit's number of counters and each counter must be the same.
 *
 * NTPROF_TEST_SEED=N runs another first seed, NTPROF_TEST_ROUNDS=N so many of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { MODELLED = 24, CALLS = 1500, PIDS = 3, ROUNDS = 25, POOL = 0x800 };
enum { FIRST_PID = 5000 };

/* The model of a profile. */
struct modelled {
    bool open;
    bool started;
    bool silent; /* its program or process is gone since the start */
    HANDLE handle;
    EX_CREATE_PROFILE request;
    int pid_slot;  /* -1: all processes */
    unsigned life; /* of the process that it is for */
    ULONG64 processors;
};

struct model {
    struct machine machine;
    uint64_t random;
    bool queued; /* hits wait in the back end */
    bool privileged;
    bool restricted;
    KAFFINITY active;
    unsigned lives[PIDS]; /* life that each pid leads now */
    bool alive[PIDS];
    HANDLE process[PIDS]; /* handle to the life named beside it */
    unsigned process_life[PIDS];
    struct modelled profiles[MODELLED];
    ULONG counters[POOL];
};

static uint64_t
draw(struct model *model, uint64_t bound)
{
    model->random = model->random * 6364136223846793005u + 1442695040888963407u;
    return (model->random >> 33) % bound;
}

static bool
chance(struct model *model, uint64_t one_in)
{
    return draw(model, one_in) == 0;
}

/* ---- Create ---- */

static const KPROFILE_SOURCE some_sources[] = {ProfileTime, ProfileTotalCycles,
                                               ProfileTime + 0x10000};

static void
draw_region(struct model *model, EX_CREATE_PROFILE *request)
{
    request->BucketSize = (ULONG)(2 + draw(model, 6));
    request->ProfileSize = draw(model, 0x300);
    request->ProfileBase = MACHINE_CODE + draw(model, 0x300);
    request->BufferSize = (ULONG)(1 + draw(model, 0x200));
    request->Buffer = MACHINE_BUFFER + draw(model, POOL - 0x80) * 4;
    if (chance(model, 30)) {
        request->BucketSize = (ULONG)draw(model, 40);
    }
    if (chance(model, 30)) {
        request->BufferSize = 0;
    }
    if (chance(model, 30)) {
        request->ProfileBase = ~(ULONG64)0 - draw(model, 0x300);
    }
    if (chance(model, 40)) {
        request->Buffer += draw(model, 4);
    }
    if (chance(model, 60)) {
        request->Buffer = 0x50000000;
    }
}

static EX_CREATE_PROFILE
draw_request(struct model *model, int *pid_slot, GROUP_AFFINITY *group)
{
    EX_CREATE_PROFILE request = {.ProfileHandle = MACHINE_HANDLE};

    draw_region(model, &request);
    request.ProfileSource = some_sources[chance(model, 20) ? 2 : draw(model, 2)];
    *group = (GROUP_AFFINITY){.Mask = (KAFFINITY)draw(model, 16)};
    if (chance(model, 40)) {
        group->Group = 1;
    }
    request.GroupCount = (USHORT)draw(model, 2);
    request.AffinityArray = MACHINE_ARRAY;
    machine_write(&model->machine, MACHINE_ARRAY, group, sizeof(*group));
    *pid_slot = (int)draw(model, PIDS + 1) - 1;
    if (*pid_slot >= 0) {
        request.Process = model->process[*pid_slot];
        if (chance(model, 30)) {
            request.Process = (HANDLE)0x7654320;
        }
    }
    return request;
}

/* The documents' checks, one after the other. */
static NTSTATUS
predict_create(const struct model *model, const EX_CREATE_PROFILE *request,
               const GROUP_AFFINITY *group)
{
    const unsigned __int128 room = (unsigned __int128)(request->BufferSize / 4)
                                   << request->BucketSize % 64;
    const bool kernel =
        request->ProfileBase + request->ProfileSize > 0xFFFF800000000000;

    if (request->BufferSize == 0) {
        return STATUS_INVALID_PARAMETER_7;
    }
    if (request->BucketSize < 2 || request->BucketSize > 31) {
        return STATUS_INVALID_PARAMETER;
    }
    if (request->ProfileSize > room) {
        return STATUS_BUFFER_TOO_SMALL;
    }
    if (request->ProfileSize != 0 &&
        request->ProfileBase > ~(ULONG64)0 - request->ProfileSize) {
        return STATUS_BUFFER_OVERFLOW;
    }
    if (request->ProfileSource != ProfileTime &&
        request->ProfileSource != ProfileTotalCycles) {
        return STATUS_NOT_SUPPORTED;
    }
    if (request->Buffer % 4 != 0) {
        return STATUS_DATATYPE_MISALIGNMENT;
    }
    if (request->Buffer == 0x50000000) {
        return STATUS_ACCESS_VIOLATION;
    }
    if (request->GroupCount != 0 && (group->Group != 0 || group->Mask == 0 ||
                                     (group->Mask & ~model->active) != 0)) {
        return STATUS_INVALID_PARAMETER;
    }
    if (request->Process == (HANDLE)0x7654320) {
        return STATUS_INVALID_HANDLE;
    }
    if (request->Process == NULL && request->ProfileBase <= 0x7FFFFFFEFFFF &&
        !model->privileged) {
        return STATUS_PRIVILEGE_NOT_HELD;
    }
    return kernel && model->restricted ? STATUS_ACCESS_DENIED : STATUS_SUCCESS;
}

static void
create(struct model *model, struct modelled *profile)
{
    GROUP_AFFINITY group;
    int pid_slot;
    const EX_CREATE_PROFILE request = draw_request(model, &pid_slot, &group);
    const NTSTATUS expected = predict_create(model, &request, &group);

    assert_int_equal(ExCreateProfileEx(&model->machine.system, UserMode, &request),
                     expected);
    if (NT_SUCCESS(expected)) {
        *profile = (struct modelled){
            .open = true,
            .handle = machine_read_handle(&model->machine, MACHINE_HANDLE),
            .request = request,
            .pid_slot = pid_slot,
            .life = pid_slot >= 0 ? model->process_life[pid_slot] : 0,
            .processors = request.GroupCount != 0 ? group.Mask : model->active,
        };
    }
}

/* ---- Start, stop, close ---- */

static void
start(struct model *model, struct modelled *profile)
{
    const NTSTATUS expected = !profile->open     ? STATUS_INVALID_HANDLE
                              : profile->started ? STATUS_PROFILING_NOT_STOPPED
                                                 : STATUS_SUCCESS;

    assert_int_equal(ExStartProfile(&model->machine.system, profile->handle), expected);
    if (NT_SUCCESS(expected)) {
        profile->started = true;
        profile->silent = false;
    }
}

static void
stop(struct model *model, struct modelled *profile)
{
    const NTSTATUS expected = !profile->open      ? STATUS_INVALID_HANDLE
                              : !profile->started ? STATUS_PROFILING_NOT_STARTED
                                                  : STATUS_SUCCESS;

    assert_int_equal(ExStopProfile(&model->machine.system, profile->handle), expected);
    profile->started = profile->started && !NT_SUCCESS(expected);
}

static void
close_profile(struct model *model, struct modelled *profile)
{
    assert_int_equal(ExClose(&model->machine.system, profile->handle),
                     profile->open ? STATUS_SUCCESS : STATUS_INVALID_HANDLE);
    profile->open = false;
    profile->started = false;
}

/* ---- Hits ---- */

/* Is the interrupt made at all? Some started profile must need it. */
static bool
needs(const struct model *model, const struct modelled *profile, KPROFILE_SOURCE source,
      ULONG processor, int slot)
{
    return profile->started && !profile->silent &&
           profile->request.ProfileSource == source &&
           (profile->processors >> processor & 1) != 0 &&
           (profile->pid_slot < 0 || (profile->pid_slot == slot && model->alive[slot] &&
                                      profile->life == model->lives[slot]));
}

static void
hit(struct model *model)
{
    const KPROFILE_SOURCE source = some_sources[draw(model, 2)];
    const ULONG processor = (ULONG)draw(model, 4);
    const int slot = (int)draw(model, PIDS);
    const ULONG64 address = MACHINE_CODE - 8 + draw(model, 0x610);
    ULONG expected = 0;

    for (size_t i = 0; i < MODELLED; i++) {
        const struct modelled *const profile = &model->profiles[i];
        const EX_CREATE_PROFILE *const request = &profile->request;

        if (needs(model, profile, source, processor, slot) &&
            address >= request->ProfileBase &&
            address - request->ProfileBase < request->ProfileSize) {
            const ULONG64 bucket =
                (address - request->ProfileBase) >> request->BucketSize;

            model->counters[(request->Buffer - MACHINE_BUFFER) / 4 + bucket]++;
            expected++;
        }
    }
    assert_int_equal(sim_hit(model->machine.sim, source, processor,
                             FIRST_PID + (uint64_t)slot, address),
                     model->queued ? 0 : expected);
}

/* ---- Processes and rights ---- */

static void
begin_life(struct model *model, int slot)
{
    const uint64_t pid = FIRST_PID + (uint64_t)slot;

    host_sim_add_process(model->machine.host, pid);
    sim_add_process(model->machine.sim, pid);
    model->lives[slot]++;
    model->alive[slot] = true;
}

static void
end_or_begin(struct model *model, int slot)
{
    if (model->alive[slot]) {
        host_sim_end_process(model->machine.host, FIRST_PID + (uint64_t)slot);
        sim_exit(model->machine.sim, FIRST_PID + (uint64_t)slot);
        model->alive[slot] = false;
    } else {
        begin_life(model, slot);
    }
}

static void
open_again(struct model *model, int slot)
{
    const uint64_t pid = FIRST_PID + (uint64_t)slot;
    const NTSTATUS expected = model->alive[slot] ? STATUS_SUCCESS : STATUS_INVALID_CID;

    assert_int_equal(ExOpenProcess(&model->machine.system, UserMode, MACHINE_HANDLE,
                                   PROCESS_QUERY_INFORMATION, pid),
                     expected);
    if (NT_SUCCESS(expected)) {
        assert_int_equal(ExClose(&model->machine.system, model->process[slot]),
                         STATUS_SUCCESS);
        model->process[slot] = machine_read_handle(&model->machine, MACHINE_HANDLE);
        model->process_life[slot] = model->lives[slot];
    }
}

static void
exec(struct model *model, int slot)
{
    if (!model->alive[slot]) {
        return;
    }
    sim_exec(model->machine.sim, FIRST_PID + (uint64_t)slot);
    for (size_t i = 0; i < MODELLED; i++) {
        struct modelled *const profile = &model->profiles[i];

        if (profile->started && profile->pid_slot == slot &&
            profile->life == model->lives[slot]) {
            profile->silent = true;
        }
    }
}

static void
change_rights(struct model *model)
{
    model->privileged = draw(model, 3) != 0;
    model->restricted = chance(model, 3);
    host_sim_set_privilege(model->machine.host, model->privileged);
    host_sim_set_restricted(model->machine.host,
                            model->restricted ? HOST_RESTRICTED_BY_ACCESS_CHECK : 0);
}

static void
set_interval(struct model *model)
{
    const NTSTATUS status = ExSetIntervalProfile(
        &model->machine.system, UserMode, (ULONG)draw(model, 20000000), ProfileTime);

    assert_int_equal(status,
                     model->privileged ? STATUS_SUCCESS : STATUS_PRIVILEGE_NOT_HELD);
}

/* ---- A whole run ---- */

static void
call_something(struct model *model)
{
    struct modelled *const profile = &model->profiles[draw(model, MODELLED)];
    const int slot = (int)draw(model, PIDS);

    switch (draw(model, 40)) {
    case 0:
        end_or_begin(model, slot);
        break;
    case 1:
        open_again(model, slot);
        break;
    case 2:
        exec(model, slot);
        break;
    case 3:
        change_rights(model);
        break;
    case 4:
        set_interval(model);
        break;
    case 5:
        close_profile(model, profile);
        break;
    case 6:
    case 7:
    case 8:
    case 9:
        if (!profile->open) {
            create(model, profile);
        }
        break;
    case 10:
    case 11:
    case 12:
    case 13:
        start(model, profile);
        break;
    case 14:
    case 15:
        stop(model, profile);
        break;
    default:
        hit(model);
        break;
    }
}

static void
check_model(struct model *model)
{
    uint64_t open = 0;
    uint64_t started = 0;
    KE_BOOKS books;

    for (size_t i = 0; i < MODELLED; i++) {
        open += model->profiles[i].open;
        started += model->profiles[i].started;
    }
    KeFlushHits(&model->machine.system.Ke);
    assert_int_equal(model->machine.system.ProfileCount, open);
    assert_int_equal(model->machine.system.StartedCount, started);
    assert_int_equal(host_sim_balance(model->machine.host).locks, started);
    assert_memory_equal(host_sim_at(model->machine.host, MACHINE_BUFFER, 4),
                        model->counters, sizeof(model->counters));
    KeQueryBooks(&model->machine.system.Ke, ProfileTime, &books);
    assert_int_equal(books.Taken, books.Counted + books.Outside);
}

static void
run(uint64_t seed, bool queued)
{
    const struct machine_options options = {
        .sim = {.queue_records = queued ? CALLS : 0}};
    struct model *const model = calloc(1, sizeof(*model));

    assert_non_null(model);
    print_message("seed %llu%s\n", (unsigned long long)seed, queued ? ", queued" : "");
    machine_open(&model->machine, &options);
    model->queued = queued;
    model->random = seed;
    model->privileged = true;
    model->active = 0x7;
    host_sim_set_active(model->machine.host, 0, model->active);
    for (int slot = 0; slot < PIDS; slot++) {
        begin_life(model, slot);
        model->process[slot] =
            machine_open_process(&model->machine, FIRST_PID + (uint64_t)slot);
        model->process_life[slot] = model->lives[slot];
    }
    for (int i = 0; i < CALLS; i++) {
        call_something(model);
        if (i % 50 == 0) {
            check_model(model);
        }
    }
    check_model(model);
    machine_close(&model->machine);
    free(model);
}

static uint64_t
number_from(const char *name, uint64_t otherwise)
{
    const char *const text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static void
calls__random_sequences__as_the_model_says(void **state)
{
    const uint64_t first = number_from("NTPROF_TEST_SEED", 1);
    const uint64_t rounds = number_from("NTPROF_TEST_ROUNDS", ROUNDS);

    (void)state;
    for (uint64_t i = 0; i < rounds; i++) {
        run(first + i, false);
        run(first + i, true);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls__random_sequences__as_the_model_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
