/* SPDX-License-Identifier: MIT */
/* driver.c - see driver.h: worlds, and all that is compared. */
#include "driverp.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const uint64_t driver_pids[DRIVER_PIDS] = {MACHINE_PID, MACHINE_OTHER_PID, 3000, 3001};

#define CALL_NAME(symbol, name) name,
static const char *const call_names[] = {DRIVER_CALLS(CALL_NAME)};
#undef CALL_NAME

#define STATUS_VALUE(name, value, text) name,
static const NTSTATUS statuses[] = {NTPROF_STATUS_TABLE(STATUS_VALUE)};
#undef STATUS_VALUE

static const uint32_t versions[] = {
    NTPROF_NT_3_10, NTPROF_NT_3_50, NTPROF_NT_3_51, NTPROF_NT_4_0,  NTPROF_NT_4_0_SP4,
    NTPROF_NT_5_0,  NTPROF_NT_5_1,  NTPROF_NT_5_2,  NTPROF_NT_6_0,  NTPROF_NT_6_1,
    NTPROF_NT_6_2,  NTPROF_NT_6_3,  NTPROF_NT_10_0, NTPROF_NT_1511, NTPROF_NT_1607,
    NTPROF_NT_1703, NTPROF_NT_1709, NTPROF_NT_1803, NTPROF_NT_1809, NTPROF_NT_NEWEST,
};

enum { VERSION_COUNT = sizeof(versions) / sizeof(versions[0]) };

const char *
driver_call_name(enum driver_call call)
{
    return call_names[call];
}

size_t
driver_status_index(NTSTATUS status)
{
    size_t i = 0;

    while (i < DRIVER_STATUS_COUNT && statuses[i] != status) {
        i++;
    }
    return i;
}

bool
driver_next_rules(size_t index, struct driver_rules *rules)
{
    *rules = (struct driver_rules){
        .version = versions[index % VERSION_COUNT],
        .x86 = index / VERSION_COUNT == 1,
        .wow64 = index / VERSION_COUNT == 2,
    };
    return index < (size_t)VERSION_COUNT * 3;
}

/* ---- Differences ---- */

void
driver_differ(struct driver *driver, const char *format, ...)
{
    va_list arguments;

    if (driver->run->difference[0] != '\0') {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(driver->run->difference, sizeof(driver->run->difference), format,
                    arguments);
    va_end(arguments);
    driver_trace(driver, "differs: %s", driver->run->difference);
}

void
driver_trace(struct driver *driver, const char *format, ...)
{
    va_list arguments;

    if (driver->run->trace == NULL) {
        return;
    }
    va_start(arguments, format);
    (void)vfprintf(driver->run->trace, format, arguments);
    va_end(arguments);
    (void)fputc('\n', driver->run->trace);
}

static bool
has_differed(const struct driver *driver)
{
    return driver->run->difference[0] != '\0';
}

static void
compare_number(struct driver *driver, const char *what, uint64_t expected, uint64_t got)
{
    if (expected != got) {
        driver_differ(driver, "%s: expected %" PRIu64 ", got %" PRIu64, what, expected,
                      got);
    }
}

/* ---- The caller's memory ---- */

void
driver_write(struct driver *driver, uint64_t address, const void *bytes, size_t count)
{
    uint8_t *const place = count > 0 ? model_at(driver->model, address, count) : NULL;

    if (place != NULL) {
        memcpy(place, bytes, count);
        memcpy(host_sim_at(driver->machine.host, address, count), bytes, count);
    }
}

static void
tell_memory(struct driver *driver, const struct model_region *region,
            const uint8_t *memory)
{
    uint64_t at = 0;
    uint32_t expected;
    uint32_t got;

    while (region->memory[at] == memory[at]) {
        at++;
    }
    at -= at % 4;
    memcpy(&expected, region->memory + at, sizeof(expected));
    memcpy(&got, memory + at, sizeof(got));
    driver_differ(driver,
                  "memory at 0x%" PRIx64 ": expected 0x%" PRIx32 ", got 0x%" PRIx32,
                  region->base + at, expected, got);
}

/* Under AddressSanitizer memcmp goes byte by byte, and nearly all of a run would be
 * spent in it. */
#if defined(__SANITIZE_ADDRESS__)
#define UNSANITIZED __attribute__((no_sanitize("address", "undefined")))
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNSANITIZED __attribute__((no_sanitize("address", "undefined", "coverage")))
#endif
#endif

#if defined(UNSANITIZED)
UNSANITIZED static bool
is_same(const uint8_t *one, const uint8_t *other, uint64_t bytes)
{
    const uint64_t *const a = (const uint64_t *)(const void *)one;
    const uint64_t *const b = (const uint64_t *)(const void *)other;
    uint64_t different = 0;

    for (uint64_t i = 0; i < bytes / sizeof(uint64_t); i++) {
        different |= a[i] ^ b[i];
    }
    return different == 0;
}
#else
static bool
is_same(const uint8_t *one, const uint8_t *other, uint64_t bytes)
{
    return memcmp(one, other, bytes) == 0;
}
#endif

static void
compare_memory(struct driver *driver)
{
    for (const struct model_region *r = driver->model->regions; r != NULL;
         r = r->next) {
        const uint8_t *const memory =
            r->mapped ? host_sim_at(driver->machine.host, r->base, r->bytes) : NULL;

        if (r->mapped && memory == NULL) {
            driver_differ(driver, "no memory at 0x%" PRIx64, r->base);
        } else if (r->mapped && !is_same(r->memory, memory, r->bytes)) {
            tell_memory(driver, r, memory);
        }
    }
}

/* Guards are before and behind all that is mapped, and take long to read. */
static void
compare_guards(struct driver *driver)
{
    if (!host_sim_guards_intact(driver->machine.host)) {
        driver_differ(driver, "a guard was written to");
    }
}

/* ---- Halts ---- */

static bool
is_that_halt(const struct model_halt *halt, const KE_HALT *got)
{
    if (got->Kind != (halt->bug_check ? KE_HALT_BUG_CHECK : KE_HALT_CORRUPTION) ||
        got->Code != halt->code) {
        return false;
    }
    /* Which instruction it was is the core's own. */
    return halt->code == KE_KMODE_EXCEPTION_NOT_HANDLED
               ? (uint32_t)got->Parameters[0] == halt->exception
               : got->Parameters[0] == halt->counter &&
                     got->Parameters[1] == halt->irql && got->Parameters[2] == 1;
}

static void
compare_halt(struct driver *driver)
{
    const struct model *const model = driver->model;
    KE_HALT got;

    if (KeQueryHalt(&driver->machine.system.Ke, &got) != model->halted) {
        driver_differ(driver, "halted: expected %d", model->halted);
        return;
    }
    if (model->halted && !is_that_halt(&model->halt, &got)) {
        driver_differ(driver,
                      "halt: expected code 0x%x irql %" PRIu64 " counter 0x%" PRIx64
                      ", got kind %u code 0x%x (0x%" PRIx64 ", %" PRIu64 ", %" PRIu64
                      ", 0x%" PRIx64 ")",
                      model->halt.code, model->halt.irql, model->halt.counter, got.Kind,
                      got.Code, got.Parameters[0], got.Parameters[1], got.Parameters[2],
                      got.Parameters[3]);
    }
}

static void
notice_halt(struct driver *driver)
{
    const bool halted = ExNoticeHalt(&driver->machine.system) != FALSE;

    if (halted != driver->model->halted) {
        driver_differ(driver, "notices a halt: expected %d", driver->model->halted);
    }
    if (halted && !driver->noticed) {
        driver->noticed = true;
        model_stop_all(driver->model);
    }
}

void
driver_deliver(struct driver *driver)
{
    KeFlushHits(&driver->machine.system.Ke);
    ExFlushProfiles(&driver->machine.system);
    driver->pending = false;
    driver->waiting = 0;
    notice_halt(driver);
}

/* ---- All else ---- */

static void
compare_statistics(struct driver *driver)
{
    for (const struct model_source *s = driver->model->sources; s != NULL;
         s = s->next) {
        KE_STATISTICS statistics;

        KeQueryStatistics(&driver->machine.system.Ke, s->number, &statistics);
        if (statistics.Taken != s->taken || statistics.Counted != s->counted ||
            statistics.Outside != s->outside) {
            driver_differ(driver,
                          "statistics of source 0x%x: expected %" PRIu64 " %" PRIu64
                          " %" PRIu64 ", got %" PRIu64 " %" PRIu64 " %" PRIu64,
                          s->number, s->taken, s->counted, s->outside, statistics.Taken,
                          statistics.Counted, statistics.Outside);
        }
    }
}

static void
compare_interrupts(struct driver *driver)
{
    const uint64_t least = model_count_interrupts(driver->model, false);
    const uint64_t stale = model_count_interrupts(driver->model, true);
    const uint64_t got = sim_started(driver->machine.sim);

    if (got < least || got > least + stale) {
        driver_differ(driver,
                      "interrupts: expected %" PRIu64 " to %" PRIu64 ", got %" PRIu64,
                      least, least + stale, got);
    }
}

static void
compare_objects(struct driver *driver)
{
    const struct model *const model = driver->model;
    const KSYSTEM *const system = &driver->machine.system;

    compare_number(driver, "profiles", model_count_profiles(model),
                   system->ProfileCount);
    compare_number(driver, "started", model_count_started(model), system->StartedCount);
    compare_number(driver, "locks", model_count_started(model),
                   host_sim_balance(driver->machine.host).locks);
    compare_number(driver, "mappings", model_count_started(model),
                   host_sim_balance(driver->machine.host).mappings);
    compare_number(driver, "locked bytes", model_locked_bytes(model),
                   host_sim_locked_bytes(driver->machine.host));
    compare_interrupts(driver);
}

static void
compare_complaints(struct driver *driver)
{
    const char *const of_host = host_sim_complaint(driver->machine.host);
    const char *const of_machine = sim_complaint(driver->machine.sim);

    if (of_host != NULL || of_machine != NULL) {
        driver_differ(driver, "complaint: %s", of_host != NULL ? of_host : of_machine);
    }
}

/* Hits that wait change memory and statistics later, and nothing else: a halt does not
 * wait. */
static void
compare(struct driver *driver)
{
    if (driver->pending) {
        return;
    }
    compare_halt(driver);
    compare_objects(driver);
    compare_statistics(driver);
    compare_memory(driver);
    compare_complaints(driver);
}

static void
forget_faults(struct driver *driver)
{
    const struct model_faults *const faults = &driver->model->faults;

    if (faults->interrupt_nth != 0) {
        sim_fail_start(driver->machine.sim, 0, STATUS_SUCCESS);
    }
    if (faults->memory || faults->copy_to_caller || faults->lock != 0 ||
        faults->map != 0) {
        host_sim_clear_failures(driver->machine.host);
    }
    driver->model->faults = (struct model_faults){0};
}

void
driver_settle(struct driver *driver, enum driver_call call, NTSTATUS expected,
              NTSTATUS got)
{
    const size_t index = driver_status_index(got);

    forget_faults(driver);
    driver->run->tally->calls++;
    if (index < DRIVER_STATUS_COUNT) {
        driver->run->tally->statuses[call][index]++;
    }
    driver_trace(driver, "    %s", ntprof_status_name(got));
    if (got != expected) {
        driver_differ(driver, "%s: expected %s, got %s", driver_call_name(call),
                      ntprof_status_name(expected), ntprof_status_name(got));
    }
    notice_halt(driver);
}

/* ---- Worlds ---- */

static void
open_machine(struct driver *driver, const struct model_options *model_options)
{
    const struct driver_rules *const rules = &driver->run->rules;
    const struct machine_options options = {
        .host = {.group_count = model_options->group_count},
        .sim = {.processor_count = 64u * model_options->group_count,
                .queue_records = driver->queued ? DRIVER_QUEUE : 0},
        .ex = {.Version = rules->version,
               .Abi = rules->x86 ? EX_ABI_X86 : EX_ABI_X64,
               .Wow64 = rules->wow64},
    };

    machine_open(&driver->machine, &options);
    driver->top = model_options->highest_user_address + 1 - DRIVER_TOP_BYTES;
    assert_non_null(
        host_sim_map(driver->machine.host, DRIVER_PASSING, DRIVER_PASSING_BYTES));
    assert_non_null(host_sim_map(driver->machine.host, driver->top, DRIVER_TOP_BYTES));
    for (int i = 1; i < DRIVER_PIDS; i++) {
        if (driver_pids[i] != MACHINE_OTHER_PID) {
            host_sim_add_process(driver->machine.host, driver_pids[i]);
        }
    }
}

/* What the machine can do is read from it; the model decides what comes of it. */
static void
learn_sources(struct driver *driver)
{
    const HAL hal = sim_hal(driver->machine.sim);
    KPROFILE_SOURCE number;

    for (ULONG i = 0;
         NT_SUCCESS(HalSimBackend.NextSource(driver->machine.sim, i, &number)); i++) {
        HAL_SOURCE found;
        struct model_source source = {.number = number};

        hal.Table->QuerySource(hal.Context, number, &found);
        source.supported = found.Supported != FALSE;
        source.interval = found.Interval;
        source.minimum = found.MinimumInterval;
        source.maximum = found.MaximumInterval;
        assert_true(model_add_source(driver->model, &source));
    }
}

static void
open_world(struct driver *driver)
{
    const struct driver_rules *const rules = &driver->run->rules;
    const bool many = (driver->run->flags & DRIVER_MANY_STARTED) != 0;
    const struct model_options options = {
        .version = rules->version,
        .x86 = rules->x86,
        .wow64 = rules->wow64,
        .highest_user_address = 0x7FFFFFFEFFFF,
        .system_range_start = 0xFFFF800000000000,
        .own_pid = MACHINE_PID,
        .group_count = many ? 1 : (uint16_t)(1 + draw_below(driver->draw, 3) / 2),
        .reached = driver->run->tally->reached,
    };

    driver->queued = draw_one_in(driver->draw, 4);
    driver->abrupt = driver->queued && draw_one_in(driver->draw, 2);
    open_machine(driver, &options);
    driver->model = model_create(&options);
    assert_non_null(driver->model);
    assert_true(model_map(driver->model, MACHINE_SCRATCH, MACHINE_SCRATCH_BYTES));
    assert_true(model_map(driver->model, MACHINE_BUFFER, MACHINE_BUFFER_BYTES));
    assert_true(model_map(driver->model, DRIVER_PASSING, DRIVER_PASSING_BYTES));
    assert_true(model_map(driver->model, driver->top, DRIVER_TOP_BYTES));
    for (int i = 1; i < DRIVER_PIDS; i++) {
        assert_true(model_add_process(driver->model, driver_pids[i]));
    }
    learn_sources(driver);
    driver_trace(driver, "world: version %u%s%s, %u groups%s", rules->version,
                 rules->x86 ? " x86" : "", rules->wow64 ? " Wow64" : "",
                 options.group_count, driver->queued ? ", hits wait" : "");
}

/* Everything was given back. */
static void
compare_end(struct driver *driver)
{
    const struct host_sim_balance balance = host_sim_balance(driver->machine.host);

    compare_number(driver, "at the end: locks", 0, balance.locks);
    compare_number(driver, "at the end: mappings", 0, balance.mappings);
    compare_number(driver, "at the end: allocations", 0, balance.allocations);
    compare_number(driver, "at the end: open processes", 0, balance.open_processes);
    compare_number(driver, "at the end: interrupts", 0,
                   sim_started(driver->machine.sim));
    compare_memory(driver);
    compare_guards(driver);
    compare_complaints(driver);
}

static void
close_world(struct driver *driver)
{
    ExFinishSystem(&driver->machine.system);
    compare_end(driver);
    sim_delete(driver->machine.sim);
    host_sim_delete(driver->machine.host);
    model_delete(driver->model);
}

bool
driver_run(struct driver_run *run)
{
    struct driver *const driver = calloc(1, sizeof(*driver));
    uint32_t left = run->most_steps;

    assert_non_null(driver);
    driver->run = run;
    driver->draw = run->draw;
    run->difference[0] = '\0';
    run->tally->worlds++;
    open_world(driver);
    driver_begin(driver);
    for (; left > 0 && !draw_is_over(run->draw) && !has_differed(driver); left--) {
        driver_step(driver);
        compare(driver);
        if (left % 16 == 0 || driver->model->halted) {
            compare_guards(driver);
        }
        run->tally->steps++;
        if (driver->model->halted && left > DRIVER_STEPS_AFTER) {
            left = DRIVER_STEPS_AFTER;
        }
    }
    if (!has_differed(driver) && !driver->abrupt) {
        driver_deliver(driver);
        compare(driver);
    }
    close_world(driver);
    free(driver);
    return run->difference[0] == '\0';
}
