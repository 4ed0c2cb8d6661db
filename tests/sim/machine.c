/* SPDX-License-Identifier: MIT */
/*
 * The simulated machine itself: the same seed gives the same trace, statistics add up
 * whatever goes wrong, and notifications come in an order that can be believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"

#include <string.h>

enum { PID = 3000, CHILD = 3001 };

static const KPROFILE_SOURCE watched_sources[] = {ProfileTime, ProfileCacheMisses};
static const ULONG64 watched_processors[1] = {0xF};

static NTSTATUS
watch(struct machine *machine, uint64_t pid, ULONG flags)
{
    const HAL_WATCH wanted = {
        .ProcessId = pid,
        .Flags = flags,
        .SourceCount = 2,
        .Sources = watched_sources,
        .ProcessorCount = 4,
        .Processors = watched_processors,
    };

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(KeRegisterSource(&machine->system.Ke, watched_sources[i]),
                         STATUS_SUCCESS);
    }
    return HalSimBackend.Watch(machine->sim, &wanted);
}

/* A session as `ntprof run` would have one: a script runs until everything has ended.
 */
static void
run_script(const struct sim_options *options, const struct sim_faults *faults,
           struct machine *machine)
{
    const struct machine_options all = {.sim = *options};

    machine_open(machine, &all);
    if (faults != NULL) {
        sim_set_faults(machine->sim, faults);
    }
    assert_int_equal(watch(machine, PID, NTPROF_WATCH_DESCENDANTS), STATUS_SUCCESS);
    for (int i = 0; HalSimBackend.Deliver(machine->sim) >= 0; i++) {
        assert_in_range(i, 0, 1000); /* 10 s of simulated time */
    }
}

static uint64_t
script_hash(const struct sim_options *options)
{
    struct machine machine;
    uint64_t hash;

    run_script(options, NULL, &machine);
    hash = sim_trace_hash(machine.sim);
    machine_close(&machine);
    return hash;
}

static void
trace__same_seed__same_hash(void **state)
{
    uint64_t hashes[20];

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const struct sim_options options = {
            .seed = seed, .scripted = true, .background_processes = 2};

        hashes[seed] = script_hash(&options);
        assert_true(hashes[seed] == script_hash(&options));
        for (uint64_t other = 0; other < seed; other++) {
            assert_true(hashes[seed] != hashes[other]);
        }
    }
}

/* How it is delivered does not change what happens. */
static void
trace__queued_or_at_once__same_hash(void **state)
{
    struct sim_options options = {.seed = 5, .scripted = true};
    const uint64_t at_once = script_hash(&options);

    (void)state;
    options.queue_records = 100000;
    assert_true(script_hash(&options) == at_once);
}

static void
check_statistics(struct machine *machine, KPROFILE_SOURCE source)
{
    KE_STATISTICS taken;
    HAL_SOURCE_STATISTICS statistics;

    KeQueryStatistics(&machine->system.Ke, source, &taken);
    assert_int_equal(HalSimBackend.QuerySourceStatistics(machine->sim, source,
                                                         taken.Taken, &statistics),
                     STATUS_SUCCESS);
    assert_int_equal(taken.Taken, taken.Counted + taken.Outside);
    assert_int_equal(statistics.Expected, taken.Taken + statistics.Lost +
                                              statistics.Throttled + statistics.Missed +
                                              statistics.Excluded);
    assert_true(taken.Taken > 10);
}

struct statistics_row {
    const char *what;
    struct sim_options options;
    struct sim_faults faults;
};

static const struct statistics_row statistics_rows[] = {
    {"all well", {.seed = 1, .scripted = true}, {0}},
    {"user only", {.seed = 2, .scripted = true, .user_only = true}, {0}},
    {"lost", {.seed = 3, .scripted = true}, {.lost_per_mille = 100}},
    {"throttled", {.seed = 4, .scripted = true}, {.throttled_per_mille = 100}},
    {"missed", {.seed = 5, .scripted = true}, {.missed_per_mille = 100}},
    {"all at once",
     {.seed = 6, .scripted = true, .user_only = true, .background_processes = 3},
     {.lost_per_mille = 200, .throttled_per_mille = 200, .missed_per_mille = 200}},
    {"full queue", {.seed = 7, .scripted = true, .queue_records = 50}, {0}},
};

static void
statistics__whatever_goes_wrong__add_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(statistics_rows) / sizeof(statistics_rows[0]); i++) {
        struct machine machine;

        print_message("%s\n", statistics_rows[i].what);
        run_script(&statistics_rows[i].options, &statistics_rows[i].faults, &machine);
        check_statistics(&machine, ProfileTime);
        check_statistics(&machine, ProfileCacheMisses);
        machine_close(&machine);
    }
}

static HAL_SOURCE_STATISTICS
statistics_of(struct machine *machine, KPROFILE_SOURCE source)
{
    HAL_SOURCE_STATISTICS statistics;

    assert_int_equal(
        HalSimBackend.QuerySourceStatistics(machine->sim, source, 0, &statistics),
        STATUS_SUCCESS);
    return statistics;
}

static void
statistics__each_kind_of_loss__told_apart(void **state)
{
    struct machine machine;
    HAL_SOURCE_STATISTICS statistics;

    (void)state;
    run_script(&statistics_rows[2].options, &statistics_rows[2].faults, &machine);
    statistics = statistics_of(&machine, ProfileTime);
    assert_true(statistics.Lost > 0 && statistics.Throttled == 0 &&
                statistics.Missed == 0);
    assert_int_equal(statistics.Excluded, 0);
    machine_close(&machine);
    run_script(&statistics_rows[3].options, &statistics_rows[3].faults, &machine);
    statistics = statistics_of(&machine, ProfileTime);
    assert_true(statistics.Lost == 0 && statistics.Throttled > 0 &&
                statistics.Missed == 0);
    machine_close(&machine);
    run_script(&statistics_rows[1].options, &statistics_rows[1].faults, &machine);
    statistics = statistics_of(&machine, ProfileTime);
    assert_true(statistics.Lost == 0 && statistics.Excluded > 0);
    assert_false(statistics.KernelIncluded);
    machine_close(&machine);
}

/* ---- The order of notifications ---- */

enum { MOST_PIDS = 64 };

struct order {
    struct {
        uint32_t pid;
        bool alive;
        uint64_t bases[16];
        size_t images;
    } seen[MOST_PIDS];
    size_t count;
    uint64_t time_ns;
    unsigned kinds;
    int ends;
};

static size_t
find_pid(const struct order *order, uint32_t pid)
{
    size_t i = 0;

    while (i < order->count && (order->seen[i].pid != pid || !order->seen[i].alive)) {
        i++;
    }
    return i;
}

static void
see_start(struct order *order, const ntprof_notification *notification)
{
    assert_int_equal(find_pid(order, notification->pid), order->count);
    assert_in_range(order->count, 0, MOST_PIDS - 1);
    order->seen[order->count].pid = notification->pid;
    order->seen[order->count].alive = true;
    order->count++;
    if (notification->parent_pid != 0) {
        assert_true(find_pid(order, notification->parent_pid) < order->count);
    }
}

static void
see_image(struct order *order, size_t at, const ntprof_notification *notification)
{
    uint64_t *const bases = order->seen[at].bases;
    size_t i = 0;

    while (i < order->seen[at].images && bases[i] != notification->base) {
        i++;
    }
    if (notification->kind == NTPROF_IMAGE_MAP) {
        assert_int_equal(i, order->seen[at].images);
        assert_in_range(i, 0, 15);
        bases[order->seen[at].images++] = notification->base;
    } else {
        assert_true(i < order->seen[at].images);
        bases[i] = bases[--order->seen[at].images];
    }
}

static void
see(struct machine *machine, const ntprof_notification *notification)
{
    struct order *const order = machine->context;
    size_t at;

    assert_int_equal(notification->size, sizeof(*notification));
    assert_non_null(notification->name);
    assert_true(notification->time_ns >= order->time_ns);
    order->time_ns = notification->time_ns;
    order->kinds |= 1u << notification->kind;
    if (notification->kind == NTPROF_PROCESS_START) {
        see_start(order, notification);
        return;
    }
    at = find_pid(order, notification->pid);
    assert_true(at < order->count);
    switch (notification->kind) {
    case NTPROF_PROCESS_EXEC:
        assert_int_equal(order->seen[at].images, 0);
        break;
    case NTPROF_PROCESS_EXIT:
        assert_int_equal(order->seen[at].images, 0);
        order->seen[at].alive = false;
        order->ends++;
        break;
    default:
        see_image(order, at, notification);
        break;
    }
}

static void
notifications__scripted_life__believable_order(void **state)
{
    unsigned kinds = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        const struct machine_options options = {
            .sim = {.seed = seed, .scripted = true}};
        struct order order = {.count = 0};
        struct machine machine;

        machine_open(&machine, &options);
        machine.notify = see;
        machine.context = &order;
        assert_int_equal(watch(&machine, PID, NTPROF_WATCH_DESCENDANTS),
                         STATUS_SUCCESS);
        while (HalSimBackend.Deliver(machine.sim) >= 0) {
        }
        assert_int_equal(order.ends, order.count);
        kinds |= order.kinds;
        machine_close(&machine);
    }
    assert_int_equal(kinds, 0x7E & ~(1u << NTPROF_PROCESS_NAME));
}

static void
watch__on_exec__silent_until_then(void **state)
{
    struct order order = {.count = 0};
    struct machine machine;

    (void)state;
    machine_open(&machine, NULL);
    machine.notify = see;
    machine.context = &order;
    assert_int_equal(watch(&machine, PID, NTPROF_WATCH_ON_EXEC), STATUS_SUCCESS);
    assert_int_equal(order.kinds, 0);
    sim_exec(machine.sim, PID);
    assert_int_equal(order.kinds, 1u << NTPROF_PROCESS_START |
                                      1u << NTPROF_PROCESS_EXEC |
                                      1u << NTPROF_IMAGE_MAP);
    sim_exit(machine.sim, PID);
    machine_close(&machine);
}

static void
watch__without_descendants__children_not_told(void **state)
{
    struct order order = {.count = 0};
    struct machine machine;

    (void)state;
    machine_open(&machine, NULL);
    machine.notify = see;
    machine.context = &order;
    assert_int_equal(watch(&machine, PID, 0), STATUS_SUCCESS);
    sim_fork(machine.sim, PID, CHILD);
    sim_exec(machine.sim, CHILD);
    sim_exit(machine.sim, CHILD);
    assert_int_equal(order.count, 1);
    assert_int_equal(sim_hit(machine.sim, ProfileTime, 0, CHILD, 1), 0);
    sim_exit(machine.sim, PID);
    assert_int_equal(watch(&machine, PID, 0), STATUS_PROCESS_IS_TERMINATING);
    machine_close(&machine);
}

static NTSTATUS
watch_all(struct machine *machine)
{
    return watch(machine, 0, 0);
}

static void
watch_all__who_lives_and_who_comes__all_are_told(void **state)
{
    const struct machine_options options = {.sim = {.background_processes = 2}};
    struct order order = {.count = 0};
    HAL_STATISTICS statistics;
    struct machine machine;

    (void)state;
    machine_open(&machine, &options);
    machine.notify = see;
    machine.context = &order;
    sim_add_process(machine.sim, PID);
    assert_int_equal(watch(&machine, CHILD, NTPROF_WATCH_ON_EXEC), STATUS_SUCCESS);
    assert_int_equal(order.count, 0);
    assert_int_equal(watch_all(&machine), STATUS_SUCCESS);
    assert_int_equal(order.count, 5); /* what idles is the first */
    assert_int_equal(order.seen[0].pid, 0);
    assert_int_equal(order.seen[0].images, 0);
    assert_true(find_pid(&order, PID) < order.count);
    assert_true(find_pid(&order, CHILD) < order.count);

    assert_int_equal(watch_all(&machine), STATUS_SUCCESS);
    assert_int_equal(watch(&machine, PID, NTPROF_WATCH_DESCENDANTS), STATUS_SUCCESS);
    sim_exec(machine.sim, CHILD);
    assert_int_equal(order.count, 5); /* nobody twice */
    sim_add_process(machine.sim, CHILD + 1);
    sim_fork(machine.sim, PID, CHILD + 2);
    sim_fork(machine.sim, CHILD, CHILD + 3);
    assert_int_equal(order.count, 8);
    sim_exit(machine.sim, PID);
    sim_exit(machine.sim, CHILD);
    assert_int_equal(order.ends, 2);
    HalSimBackend.QueryStatistics(machine.sim, &statistics);
    assert_int_equal(statistics.Processes, 5);
    machine_close(&machine);
}

/* Between two deliveries a call may make a process: nothing is told within it. */
static void
watch_all__process_made_by_a_start__told_at_the_next_delivery(void **state)
{
    struct order order = {.count = 0};
    struct machine machine;

    (void)state;
    machine_open(&machine, NULL);
    machine.notify = see;
    machine.context = &order;
    assert_int_equal(watch_all(&machine), STATUS_SUCCESS);
    assert_int_equal(
        HalSimBackend.Hal->StartProfileInterrupt(machine.sim, ProfileTime, 0, PID),
        STATUS_SUCCESS);
    assert_int_equal(find_pid(&order, PID), order.count);
    assert_true(HalSimBackend.Deliver(machine.sim) >= 0);
    assert_true(find_pid(&order, PID) < order.count);
    HalSimBackend.Hal->StopProfileInterrupt(machine.sim, ProfileTime, 0, PID);
    machine_close(&machine);
}

static void
watch_all__hit__counts_once_in_each_list(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    struct machine machine;
    KE_STATISTICS statistics;
    HANDLE own;
    HANDLE global;

    (void)state;
    machine_open(&machine, NULL);
    assert_int_equal(watch_all(&machine), STATUS_SUCCESS);
    own = machine_create_started(&machine, &request);
    request.Process = NULL;
    request.Buffer = MACHINE_BUFFER;
    global = machine_create_started(&machine, &request);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 2);
    assert_int_equal(
        sim_hit(machine.sim, ProfileTime, 0, MACHINE_OTHER_PID, MACHINE_CODE), 1);
    assert_int_equal(sim_hit(machine.sim, ProfileTime, 0, 0, MACHINE_CODE), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, own), STATUS_SUCCESS);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 1);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, global), STATUS_SUCCESS);
    assert_int_equal(machine_hit(&machine, MACHINE_CODE), 0);
    KeQueryStatistics(&machine.system.Ke, ProfileTime, &statistics);
    assert_int_equal(statistics.Taken, 5);
    assert_int_equal(statistics.Counted, 4);
    machine_close(&machine);
}

/* Processes come, act and go by their scripts; the machine never rests, since what
 * idles stays. */
static void
watch_all__scripted_lives__believable_order_and_statistics(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        const struct machine_options options = {
            .sim = {.seed = seed, .scripted = true, .background_processes = 3}};
        struct order order = {.count = 0};
        struct machine machine;

        machine_open(&machine, &options);
        machine.notify = see;
        machine.context = &order;
        assert_int_equal(watch_all(&machine), STATUS_SUCCESS);
        while ((size_t)order.ends + 1 < order.count) {
            assert_true(HalSimBackend.Deliver(machine.sim) >= 0);
        }
        assert_true(order.count > 4);
        check_statistics(&machine, ProfileTime);
        check_statistics(&machine, ProfileCacheMisses);
        machine_close(&machine);
    }
}

static void
watch__source_not_there__refused_with_reason(void **state)
{
    struct machine machine;

    (void)state;
    machine_open(&machine, NULL);
    sim_set_supported(machine.sim, ProfileCacheMisses, false);
    assert_int_equal(watch(&machine, PID, 0), STATUS_NOT_SUPPORTED);
    assert_string_not_equal(HalSimBackend.Error(machine.sim), "");
    assert_int_equal(HalSimBackend.Deliver(machine.sim), -1);
    machine_close(&machine);
}

static void
image__mapped_over_another__that_one_unmapped_first(void **state)
{
    const struct sim_image images[] = {
        {.base = 0x10000, .length_bytes = 0x4000, .name = "/sim/lib/a"},
        {.base = 0x12000, .length_bytes = 0x4000, .name = "/sim/lib/b"},
    };
    struct order order = {.count = 0};
    struct machine machine;

    (void)state;
    machine_open(&machine, NULL);
    machine.notify = see;
    machine.context = &order;
    assert_int_equal(watch(&machine, PID, 0), STATUS_SUCCESS);
    sim_map(machine.sim, PID, &images[0]);
    assert_int_equal(order.seen[0].images, 3);
    sim_map(machine.sim, PID, &images[1]);
    assert_int_equal(order.seen[0].images, 3);
    assert_string_equal(sim_image_of(machine.sim, PID, 2)->name, "/sim/lib/b");
    sim_exit(machine.sim, PID);
    machine_close(&machine);
}

/* ---- Interrupts ---- */

static void
hit__source_not_started_there__not_made(void **state)
{
    static const GROUP_AFFINITY group = {.Mask = 2};
    EX_CREATE_PROFILE request = machine_request();
    struct machine machine;

    (void)state;
    machine_open(&machine, NULL);
    machine_write(&machine, MACHINE_ARRAY, &group, sizeof(group));
    request.GroupCount = 1;
    request.AffinityArray = MACHINE_ARRAY;
    (void)machine_create_started(&machine, &request);
    assert_int_equal(sim_hit(machine.sim, ProfileTime, 0, MACHINE_PID, MACHINE_CODE),
                     0);
    assert_int_equal(
        sim_hit(machine.sim, ProfileTotalCycles, 1, MACHINE_PID, MACHINE_CODE), 0);
    assert_int_equal(
        sim_hit(machine.sim, ProfileTime, 1, MACHINE_OTHER_PID, MACHINE_CODE), 0);
    assert_int_equal(statistics_of(&machine, ProfileTime).Expected, 0);
    assert_int_equal(sim_hit(machine.sim, ProfileTime, 1, MACHINE_PID, MACHINE_CODE),
                     1);
    assert_int_equal(statistics_of(&machine, ProfileTime).Expected, 1);
    assert_int_equal(sim_hit(machine.sim, ProfileTime, 99999, MACHINE_PID, 0), 0);
    machine_close(&machine);
}

/* A set holds on all 4 processors, which are started. rules: interval-units,
 * set-all-processors */
static void
step__period__as_the_interval_says(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    struct machine machine;
    uint64_t begin_ns;

    (void)state;
    machine_open(&machine, NULL);
    assert_int_equal(sim_step(machine.sim, 5), 0); /* nothing is started */
    request.Process = NULL;
    (void)machine_create_started(&machine, &request);
    (void)sim_step(machine.sim, 4);
    begin_ns = sim_now_ns(machine.sim);
    /* 1 ms on each of 4 processors. */
    assert_int_equal(sim_step(machine.sim, 4000), 4000);
    assert_int_equal(sim_now_ns(machine.sim) - begin_ns, 1000000000);
    assert_int_equal(ExSetIntervalProfile(&machine.system, UserMode, 1221, ProfileTime),
                     STATUS_SUCCESS);
    (void)sim_step(machine.sim, 8);
    begin_ns = sim_now_ns(machine.sim);
    assert_int_equal(sim_step(machine.sim, 8000), 8000);
    assert_int_equal(sim_now_ns(machine.sim) - begin_ns, 2000 * 122100);
    /* Events: 100 ns for each hit, at the interval that held. */
    assert_int_equal(statistics_of(&machine, ProfileTime).Expected,
                     4 + 4000 + 8 + 8000);
    machine_close(&machine);
}

/* Every hit of a run lands in the profile that spans all of memory but its last byte.
 */
static void
step__profile_of_everything__statistics_equal_counters(void **state)
{
    EX_CREATE_PROFILE request = machine_request();
    const struct machine_options options = {
        .sim = {.seed = 9, .background_processes = 4}};
    struct machine machine;
    KE_STATISTICS statistics;

    (void)state;
    machine_open(&machine, &options);
    request.Process = NULL;
    request.ProfileBase = 0x555500000000;
    request.ProfileSize = 0x200000000;
    request.BucketSize = 20;
    request.BufferSize = 0x200000000 / 0x100000 * 4;
    request.Buffer = MACHINE_BUFFER + MACHINE_BUFFER_BYTES - request.BufferSize;
    (void)machine_create_started(&machine, &request);
    assert_int_equal(sim_step(machine.sim, 5000), 5000);
    KeQueryStatistics(&machine.system.Ke, ProfileTime, &statistics);
    {
        uint64_t sum = 0;

        for (size_t i = 0; i < request.BufferSize / 4; i++) {
            sum += machine_counter(&machine, i);
        }
        assert_int_equal(statistics.Taken, 5000);
        assert_int_equal(statistics.Counted, sum);
        assert_true(sum > 500 && sum < 4500);
    }
    machine_close(&machine);
}

static void
queue__full__hits_lost_and_told(void **state)
{
    static const struct machine_options options = {.sim = {.queue_records = 10}};
    const EX_CREATE_PROFILE request = machine_request();
    struct machine machine;
    HANDLE handle;

    (void)state;
    machine_open(&machine, &options);
    handle = machine_create_started(&machine, &request);
    for (int i = 0; i < 25; i++) {
        (void)machine_hit(&machine, MACHINE_CODE);
    }
    assert_int_equal(statistics_of(&machine, ProfileTime).Lost, 15);
    assert_int_equal(ExStopProfile(&machine.system, UserMode, handle), STATUS_SUCCESS);
    assert_int_equal(machine_counter(&machine, 0), 10);
    assert_int_equal(statistics_of(&machine, ProfileTime).Expected, 25);
    machine_close(&machine);
}

static void
count_lost(struct machine *machine, const ntprof_notification *notification)
{
    uint64_t *const lost = machine->context;

    assert_int_equal(notification->kind, NTPROF_RECORDS_LOST);
    *lost += notification->count;
}

static void
queue__records_lost__count_told_once(void **state)
{
    static const struct machine_options options = {.sim = {.queue_records = 4}};
    const EX_CREATE_PROFILE request = machine_request();
    struct machine machine;
    uint64_t lost = 0;

    (void)state;
    machine_open(&machine, &options);
    machine.notify = count_lost;
    machine.context = &lost;
    (void)machine_create_started(&machine, &request);
    for (int i = 0; i < 9; i++) {
        (void)machine_hit(&machine, MACHINE_CODE);
    }
    KeFlushHits(&machine.system.Ke);
    assert_int_equal(lost, 5);
    KeFlushHits(&machine.system.Ke);
    assert_int_equal(lost, 5);
    machine_close(&machine);
}

static void
sources__walk__each_found_by_number_and_names(void **state)
{
    struct machine machine;
    KPROFILE_SOURCE source;
    KPROFILE_SOURCE found;
    HAL_SOURCE_STATISTICS statistics;
    ULONG count = 0;

    (void)state;
    machine_open(&machine, NULL);
    while (NT_SUCCESS(HalSimBackend.NextSource(machine.sim, count, &source))) {
        assert_int_equal(
            HalSimBackend.QuerySourceStatistics(machine.sim, source, 0, &statistics),
            STATUS_SUCCESS);
        assert_int_equal(
            HalSimBackend.LookupSource(machine.sim, statistics.Name, &found),
            STATUS_SUCCESS);
        assert_int_equal(found, source);
        if (statistics.NtName[0] != '\0') {
            assert_int_equal(
                HalSimBackend.LookupSource(machine.sim, statistics.NtName, &found),
                STATUS_SUCCESS);
            assert_int_equal(found, source);
        }
        count++;
    }
    assert_int_equal(count, ProfileMaximum + 5);
    assert_int_equal(HalSimBackend.LookupSource(machine.sim, "", &found),
                     STATUS_NOT_FOUND);
    assert_int_equal(HalSimBackend.LookupSource(machine.sim, "TIME", &found),
                     STATUS_SUCCESS);
    assert_int_equal(
        HalSimBackend.QuerySourceStatistics(machine.sim, 999, 0, &statistics),
        STATUS_NOT_FOUND);
    machine_close(&machine);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace__same_seed__same_hash),
        cmocka_unit_test(trace__queued_or_at_once__same_hash),
        cmocka_unit_test(statistics__whatever_goes_wrong__add_up),
        cmocka_unit_test(statistics__each_kind_of_loss__told_apart),
        cmocka_unit_test(notifications__scripted_life__believable_order),
        cmocka_unit_test(watch__on_exec__silent_until_then),
        cmocka_unit_test(watch__without_descendants__children_not_told),
        cmocka_unit_test(watch__source_not_there__refused_with_reason),
        cmocka_unit_test(watch_all__who_lives_and_who_comes__all_are_told),
        cmocka_unit_test(watch_all__process_made_by_a_start__told_at_the_next_delivery),
        cmocka_unit_test(watch_all__hit__counts_once_in_each_list),
        cmocka_unit_test(watch_all__scripted_lives__believable_order_and_statistics),
        cmocka_unit_test(image__mapped_over_another__that_one_unmapped_first),
        cmocka_unit_test(hit__source_not_started_there__not_made),
        cmocka_unit_test(step__period__as_the_interval_says),
        cmocka_unit_test(step__profile_of_everything__statistics_equal_counters),
        cmocka_unit_test(queue__full__hits_lost_and_told),
        cmocka_unit_test(queue__records_lost__count_told_once),
        cmocka_unit_test(sources__walk__each_found_by_number_and_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
