/* SPDX-License-Identifier: MIT */
/* step.c - see step.h. */
#include "step.h"

#include "call.h"

#include "ex/exp.h"

#include <stdio.h>
#include <string.h>

enum { MOST_CHARS = 160, MOST_COUNTERS_SHOWN = 64 };

/* A step cut up: NAME@ARGUMENT,KEY=VALUE,...!STATUS or NAME=ARGUMENT. */
struct step {
    char text[MOST_CHARS];
    const char *name;
    char *argument; /* "" without one */
    struct table_pair options[8];
    size_t option_count;
    NTSTATUS status;
};

static const struct {
    NTSTATUS status;
    const char *name;
} statuses[] = {
#define STATUS_ROW(name, value, text) {name, #name},
    NTPROF_STATUS_TABLE(STATUS_ROW)
#undef STATUS_ROW
};

enum { PREFIX = sizeof("STATUS_") - 1 };

const char *
step_status_name(NTSTATUS status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (statuses[i].status == status) {
            return statuses[i].name + PREFIX;
        }
    }
    return "?";
}

bool
step_status(const char *name, NTSTATUS *status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (strcmp(statuses[i].name + PREFIX, name) == 0) {
            *status = statuses[i].status;
            return true;
        }
    }
    return false;
}

/* ---- Cutting up ---- */

static void
cut_options(struct world *world, struct step *step, char *text)
{
    while (text != NULL) {
        char *const next = strchr(text, ',');
        char *const equals = strchr(text, '=');

        if (next != NULL) {
            *next = '\0';
        }
        if (equals == NULL || step->option_count == 8) {
            world_fail(world, "not KEY=VALUE: %s", text);
            return;
        }
        *equals = '\0';
        step->options[step->option_count++] = (struct table_pair){text, equals + 1};
        text = next != NULL ? next + 1 : NULL;
    }
}

static void
cut_step(struct world *world, struct step *step, const char *text)
{
    char *mark;

    *step = (struct step){.status = STATUS_SUCCESS, .name = step->text};
    snprintf(step->text, sizeof(step->text), "%s", text);
    step->argument = step->text + strlen(step->text);
    mark = strchr(step->text, '!');
    if (mark != NULL) {
        *mark = '\0';
        if (!step_status(mark + 1, &step->status)) {
            world_fail(world, "no such status: %s", mark + 1);
        }
    }
    mark = strpbrk(step->text, "@=");
    if (mark == NULL) {
        return;
    }
    step->argument = mark + 1;
    if (*mark == '@') {
        char *const comma = strchr(mark, ',');

        if (comma != NULL) {
            *comma = '\0';
            cut_options(world, step, comma + 1);
        }
    }
    *mark = '\0';
}

static const char *
option_text(struct step *step, const char *key)
{
    for (size_t i = 0; i < step->option_count; i++) {
        if (strcmp(step->options[i].key, key) == 0) {
            step->options[i].key = ""; /* used */
            return step->options[i].value;
        }
    }
    return NULL;
}

static uint64_t
option(struct world *world, struct step *step, const char *key, const char *otherwise)
{
    const char *const text = option_text(step, key);

    return world_evaluate(world, text != NULL ? text : otherwise);
}

static uint64_t
argument(struct world *world, const struct step *step)
{
    return world_evaluate(world, step->argument);
}

/* ---- What is done ---- */

static void
check_status(struct world *world, const struct step *step, NTSTATUS status)
{
    if (status != step->status) {
        world_fail(world, "step %s: %s instead of %s", step->name,
                   step_status_name(status), step_status_name(step->status));
    }
}

/* "start", "start2": which profile. */
static HANDLE
profile_of(struct world *world, const struct step *step)
{
    if (step->argument[0] != '\0') {
        return (HANDLE)(uintptr_t)argument(world, step);
    }
    return world_handle(world, step->name[strlen(step->name) - 1] == '2' ? "profile2"
                                                                         : "profile");
}

static void
do_start(struct world *world, struct step *step)
{
    check_status(world, step,
                 handles_start(&world->table, UserMode, profile_of(world, step)));
}

static void
do_stop(struct world *world, struct step *step)
{
    check_status(world, step,
                 handles_stop(&world->table, UserMode, profile_of(world, step)));
}

static void
do_close(struct world *world, struct step *step)
{
    check_status(world, step, handles_close(&world->table, profile_of(world, step)));
}

/* hit@ADDRESS: how many counters it counts in, and how often. */
static void
make_hits(struct world *world, struct step *step, const char *counters)
{
    const KPROFILE_SOURCE source =
        (KPROFILE_SOURCE)option(world, step, "source", "time");
    const ULONG processor = (ULONG)option(world, step, "cpu", "0");
    const uint64_t pid = option(world, step, "pid", "pidown");
    const ULONG selector = (ULONG)option(world, step, "selector", "0");
    const uint64_t offset = option(world, step, "offset", "0");
    const uint64_t times = option(world, step, "times", "1");
    const uint64_t expected = option(world, step, "counters", counters);
    const uint64_t address = argument(world, step);

    for (uint64_t i = 0; i < times; i++) {
        const ULONG counted = sim_hit_segment(world->machine.sim, source, processor,
                                              pid, address, selector, offset);

        if (counted != expected) {
            world_fail(world, "a hit at 0x%llx counts in %u counters instead of %llu",
                       (unsigned long long)address, (unsigned)counted,
                       (unsigned long long)expected);
            return;
        }
    }
}

static void
do_hit(struct world *world, struct step *step)
{
    make_hits(world, step, "1");
}

static void
do_miss(struct world *world, struct step *step)
{
    make_hits(world, step, "0");
}

static BOOLEAN
has_sources(const struct world *world)
{
    return world->test->form != WORLD_SEVEN;
}

/* As a kernel-mode caller, which needs no right. */
static void
do_set(struct world *world, struct step *step)
{
    KSYSTEM *const system = &world->machine.system;
    const ULONG interval = (ULONG)option(world, step, "value", "0");

    check_status(world, step,
                 has_sources(world)
                     ? ExSetIntervalProfile(system, KernelMode, interval,
                                            (KPROFILE_SOURCE)argument(world, step))
                     : ExSetIntervalProfile310(system, KernelMode, interval));
}

static void
do_query(struct world *world, struct step *step)
{
    KSYSTEM *const system = &world->machine.system;
    const uint64_t expected = option(world, step, "value", "0");
    ULONG interval = ~0u;
    const ULONG64 address = (ULONG64)(uintptr_t)&interval;

    check_status(world, step,
                 has_sources(world)
                     ? ExQueryIntervalProfile(system, KernelMode,
                                              (KPROFILE_SOURCE)argument(world, step),
                                              address)
                     : ExQueryIntervalProfile310(system, KernelMode, address));
    if (interval != expected) {
        world_fail(world, "the interval is %u instead of %llu", (unsigned)interval,
                   (unsigned long long)expected);
    }
}

static void
do_active(struct world *world, struct step *step)
{
    host_sim_set_active(world->machine.host,
                        (uint16_t)option(world, step, "group", "0"),
                        (KAFFINITY)argument(world, step));
}

static void
do_end(struct world *world, struct step *step)
{
    const uint64_t pid = argument(world, step);

    host_sim_end_process(world->machine.host, pid);
    sim_exit(world->machine.sim, pid);
}

/* The pid is another process's from now on. */
static void
do_reuse(struct world *world, struct step *step)
{
    const uint64_t pid = argument(world, step);

    do_end(world, step);
    host_sim_add_process(world->machine.host, pid);
    sim_add_process(world->machine.sim, pid);
}

static void
do_exec(struct world *world, struct step *step)
{
    sim_exec(world->machine.sim, argument(world, step));
}

static void
do_deny(struct world *world, struct step *step)
{
    host_sim_set_accessible(world->machine.host, argument(world, step), false);
}

static void
do_unmap(struct world *world, struct step *step)
{
    host_sim_unmap(world->machine.host, argument(world, step));
}

static void
do_protect(struct world *world, struct step *step)
{
    host_sim_protect(world->machine.host, argument(world, step), 1, HOST_SIM_READ_ONLY);
}

static void
do_writable(struct world *world, struct step *step)
{
    host_sim_protect(world->machine.host, argument(world, step), 1, HOST_SIM_WRITABLE);
}

/* fails@KIND: the next call of that kind, as README.md names it. */
static void
do_fails(struct world *world, struct step *step)
{
    const char *const text = option_text(step, "status");
    NTSTATUS status = STATUS_INSUFFICIENT_RESOURCES;
    int kind = 0;

    while (kind < CALL_KINDS && strcmp(call_kind_names[kind], step->argument) != 0) {
        kind++;
    }
    if (kind == CALL_KINDS || (text != NULL && !step_status(text, &status))) {
        world_fail(world, "step %s: no such kind or status", step->name);
        return;
    }
    if (kind == CALL_HAL_START) {
        sim_fail_start(world->machine.sim, 1, status);
        return;
    }
    if (text != NULL) {
        host_sim_set_failure(world->machine.host, (enum host_sim_call)kind, status);
    }
    host_sim_fail(world->machine.host, (enum host_sim_call)kind, 1, false);
}

static void
do_privilege(struct world *world, struct step *step)
{
    host_sim_set_privilege(world->machine.host, strcmp(step->argument, "yes") == 0);
}

static void
do_fill(struct world *world, struct step *step)
{
    const ULONG value = (ULONG)argument(world, step);
    const uint64_t bytes = world->buffer_bytes[0] / sizeof(ULONG) * sizeof(ULONG);
    char *const memory = world_memory(world, world->buffers[0], bytes);

    for (uint64_t i = 0; memory != NULL && i < bytes; i += sizeof(value)) {
        memcpy(memory + i, &value, sizeof(value));
    }
}

/* As if so many other profiles were started. */
static void
do_started(struct world *world, struct step *step)
{
    const uint64_t more = argument(world, step);

    world->machine.system.StartedCount += more;
    world->started_elsewhere += more;
}

/* The simulated NT has stopped for some other reason. */
static void
do_halt(struct world *world, struct step *step)
{
    const KE_HALT halt = {.Kind = KE_HALT_BUG_CHECK, .Code = KE_IRQL_NOT_LESS_OR_EQUAL};

    (void)step;
    KeHalt(&world->machine.system.Ke, &halt);
}

/* So many more handles, to bring the table near its growth. */
static void
do_handles(struct world *world, struct step *step)
{
    for (uint64_t i = argument(world, step); i > 0; i--) {
        HANDLE handle;

        check_status(
            world, step,
            handles_open_process(&world->table, 0, MACHINE_OTHER_PID, &handle));
    }
}

/* ---- What is looked at ---- */

static void
check(struct world *world, const struct step *step, uint64_t value, uint64_t expected)
{
    if (value != expected) {
        world_fail(world, "%s is 0x%llx instead of 0x%llx", step->name,
                   (unsigned long long)value, (unsigned long long)expected);
    }
}

static void
check_argument(struct world *world, const struct step *step, uint64_t value)
{
    check(world, step, value, argument(world, step));
}

/* counts=1,0,2: the whole counters of a buffer; those not named are 0. Behind them
 * nothing has changed: world_check_memory looks at it with the pattern. */
static void
look_counts(struct world *world, struct step *step)
{
    const size_t which = step->name[strlen(step->name) - 1] == '2';
    const uint64_t counters = world->buffer_bytes[which] / sizeof(ULONG);
    const char *const memory =
        world_memory(world, world->buffers[which], counters * sizeof(ULONG));
    char *rest = NULL;
    const char *word = strtok_r(step->argument, ",", &rest);

    if (memory == NULL && counters != 0) {
        world_fail(world, "no counters to look at");
        return;
    }
    for (uint64_t i = 0; i < counters && i < MOST_COUNTERS_SHOWN; i++) {
        const uint64_t expected = word != NULL ? world_evaluate(world, word) : 0;
        ULONG counter;

        memcpy(&counter, memory + i * sizeof(counter), sizeof(counter));
        if (counter != expected) {
            world_fail(world, "counter %llu is %u instead of %llu",
                       (unsigned long long)i, (unsigned)counter,
                       (unsigned long long)expected);
        }
        word = word != NULL ? strtok_r(NULL, ",", &rest) : NULL;
    }
    if (word != NULL) {
        world_fail(world, "more counts than counters");
    }
}

/* The object that a handle is for; its reference is given back at once: the handle has
 * one. */
static EPROFILE *
profile_body(struct world *world)
{
    KSYSTEM *const system = &world->machine.system;
    void *body = NULL;

    if (!NT_SUCCESS(handles_reference(&world->table, world_handle(world, "profile"),
                                      &system->ProfileType, UserMode, PROFILE_CONTROL,
                                      &body))) {
        world_fail(world, "there is no profile");
        return NULL;
    }
    ExDereferenceObject(system, body);
    return body;
}

static void
look_profile(struct world *world, struct step *step)
{
    const EPROFILE *const profile = profile_body(world);

    if (profile == NULL) {
        return;
    }
    if (strcmp(step->name, "bucket") == 0) {
        check_argument(world, step, profile->BucketSize);
    } else if (strcmp(step->name, "segment") == 0) {
        check_argument(world, step, profile->Segment);
    } else if (strcmp(step->name, "base") == 0) {
        check_argument(world, step, profile->RangeBase);
    } else {
        check_argument(world, step, profile->ProfileSource);
    }
}

/* Which access the handle that the call made has: each bit is tried. */
static void
look_access(struct world *world, struct step *step)
{
    KSYSTEM *const system = &world->machine.system;
    const HANDLE handle = world_handle(world, "made");
    ACCESS_MASK access = 0;

    for (ULONG bit = 0; bit < 32; bit++) {
        const OBJECT_TYPE *const types[] = {&system->ProfileType, &system->ProcessType};

        for (size_t i = 0; i < 2; i++) {
            void *body;

            if (NT_SUCCESS(handles_reference(&world->table, handle, types[i], UserMode,
                                             1u << bit, &body))) {
                access |= 1u << bit;
                ExDereferenceObject(system, body);
            }
        }
    }
    check_argument(world, step, access);
}

static void
look_locked(struct world *world, struct step *step)
{
    check_argument(world, step, host_sim_locked_bytes(world->machine.host));
}

/* on=MASK, on1=MASK: processors of group 0 and 1 on which the HAL makes the row's
 * source. */
static void
look_on(struct world *world, struct step *step)
{
    static const uint64_t pids[] = {0, MACHINE_PID, MACHINE_OTHER_PID};
    const ULONG first = step->name[strlen(step->name) - 1] == '1' ? 64 : 0;
    const KPROFILE_SOURCE source = has_sources(world)
                                       ? (KPROFILE_SOURCE)world_number(world, "source")
                                       : (KPROFILE_SOURCE)ProfileTime;
    uint64_t mask = 0;

    for (ULONG i = 0; i < 64; i++) {
        for (size_t k = 0; k < 3; k++) {
            if (sim_is_started(world->machine.sim, source, first + i, pids[k])) {
                mask |= (uint64_t)1 << i;
            }
        }
    }
    check_argument(world, step, mask);
}

static void
look_off(struct world *world, struct step *step)
{
    const struct world_balance balance = world_balance(world);

    check(world, step, balance.hal_started + balance.locks + balance.mappings, 0);
}

/* halt=none, bugcheck or corruption; halt alone does it. */
static void
look_halt(struct world *world, struct step *step)
{
    KE_HALT halt = {0};
    ULONG expected = KE_HALT_NONE;

    if (step->argument[0] == '\0') {
        do_halt(world, step);
        return;
    }
    (void)KeQueryHalt(&world->machine.system.Ke, &halt);
    if (strcmp(step->argument, "bugcheck") == 0) {
        expected = KE_HALT_BUG_CHECK;
    } else if (strcmp(step->argument, "corruption") == 0) {
        expected = KE_HALT_CORRUPTION;
    } else if (strcmp(step->argument, "none") != 0) {
        world_fail(world, "no such halt: %s", step->argument);
    }
    check(world, step, halt.Kind, expected);
}

static void
look_halt_detail(struct world *world, struct step *step)
{
    KE_HALT halt = {0};

    if (!KeQueryHalt(&world->machine.system.Ke, &halt)) {
        world_fail(world, "nothing has halted");
    } else if (strcmp(step->name, "code") == 0) {
        check_argument(world, step, halt.Code);
    } else if (strcmp(step->name, "at") == 0) {
        check_argument(world, step, halt.Parameters[0]);
    } else if (strcmp(step->name, "irql") == 0) {
        check_argument(world, step, halt.Parameters[1]);
    } else {
        check_argument(world, step, halt.Parameters[2]);
    }
}

static void
look_statistics(struct world *world, struct step *step)
{
    KE_STATISTICS statistics;

    KeQueryStatistics(&world->machine.system.Ke,
                      (KPROFILE_SOURCE)world_number(world, "source"), &statistics);
    check(world, step, statistics.Taken, statistics.Counted + statistics.Outside);
    if (strcmp(step->name, "taken") == 0) {
        check_argument(world, step, statistics.Taken);
    } else if (strcmp(step->name, "counted") == 0) {
        check_argument(world, step, statistics.Counted);
    } else {
        check_argument(world, step, statistics.Outside);
    }
}

/* u32@ADDRESS,value=V and u16: the caller's memory. */
static void
look_memory(struct world *world, struct step *step)
{
    const uint64_t address = argument(world, step);
    const size_t bytes = strcmp(step->name, "u16") == 0   ? 2
                         : strcmp(step->name, "u32") == 0 ? 4
                                                          : 8;
    const uint64_t expected = option(world, step, "value", "0");
    const void *const memory = world_mode(world) == KernelMode
                                   ? (const void *)(uintptr_t)address
                                   : world_memory(world, address, bytes);
    uint64_t value = 0;

    if (memory == NULL) {
        world_fail(world, "no memory at %s", step->argument);
        return;
    }
    memcpy(&value, memory, bytes);
    check(world, step, value, expected);
}

/* name@ADDRESS,value=TEXT: a UNICODE_STRING there. */
static void
look_name(struct world *world, struct step *step)
{
    const uint64_t word = world_word(world);
    const char *const name = world_memory(world, argument(world, step), 2 * word);
    const char *const expected = option_text(step, "value");
    const USHORT *text;
    USHORT length;

    if (name == NULL || expected == NULL) {
        world_fail(world, "no name to look at");
        return;
    }
    memcpy(&length, name, sizeof(length));
    text = world_memory(world, world_read_word(world, name + word), length);
    check(world, step, length, 2 * strlen(expected));
    for (size_t i = 0; text != NULL && i < strlen(expected); i++) {
        check(world, step, text[i], (unsigned char)expected[i]);
    }
    if (text == NULL) {
        world_fail(world, "the name is not in the caller's memory");
    }
}

static const struct {
    const char *name;
    void (*run)(struct world *world, struct step *step);
} steps[] = {
    {"start", do_start},
    {"start2", do_start},
    {"stop", do_stop},
    {"stop2", do_stop},
    {"close", do_close},
    {"close2", do_close},
    {"hit", do_hit},
    {"miss", do_miss},
    {"set", do_set},
    {"query", do_query},
    {"active", do_active},
    {"end", do_end},
    {"reuse", do_reuse},
    {"exec", do_exec},
    {"deny", do_deny},
    {"unmap", do_unmap},
    {"protect", do_protect},
    {"writable", do_writable},
    {"fails", do_fails},
    {"privilege", do_privilege},
    {"fill", do_fill},
    {"started", do_started},
    {"handles", do_handles},
    {"counts", look_counts},
    {"counts2", look_counts},
    {"bucket", look_profile},
    {"segment", look_profile},
    {"base", look_profile},
    {"source", look_profile},
    {"access", look_access},
    {"locked", look_locked},
    {"on", look_on},
    {"on1", look_on},
    {"off", look_off},
    {"halt", look_halt},
    {"code", look_halt_detail},
    {"at", look_halt_detail},
    {"irql", look_halt_detail},
    {"write", look_halt_detail},
    {"taken", look_statistics},
    {"counted", look_statistics},
    {"outside", look_statistics},
    {"u16", look_memory},
    {"u32", look_memory},
    {"u64", look_memory},
    {"name", look_name},
};

void
step_run(struct world *world, const char *text)
{
    struct step step;

    cut_step(world, &step, text);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (strcmp(steps[i].name, step.name) != 0) {
            continue;
        }
        steps[i].run(world, &step);
        for (size_t k = 0; k < step.option_count; k++) {
            if (step.options[k].key[0] != '\0') {
                world_fail(world, "%s does not know %s", step.name,
                           step.options[k].key);
            }
        }
        return;
    }
    world_fail(world, "no such step: %s", text);
}
