/* SPDX-License-Identifier: MIT */
/*
 * Random calls and interrupts on the core and on a model of what is published, compared
 * after each step, in every version and word size; and whether all that the rules tell
 * apart was come to.
 *
 *   sim-model [--steps N] [--seconds N] [--seed N] [--trace]
 *
 * A run of its own seed is chosen with --seed or NTPROF_SEED. What differs is told step
 * by step, and the seed of its world, which belongs into the table of those kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STEPS_OF_A_WORLD = 120,
    STEPS_OF_A_LONG_WORLD = 1200,
    STEPS_IN_ALL = 1000000,
    RULES = 60
};

static struct {
    uint64_t seed;
    uint64_t steps;
    uint64_t seconds; /* 0: by steps */
    bool trace;
} options = {.seed = 20240611, .steps = STEPS_IN_ALL};

static struct driver_tally tally;          /* of all */
static struct driver_tally tallies[RULES]; /* of each version and word size */
static const char *const words[] = {"x64", "x86", "Wow64"};

static const char *
words_of(const struct driver_rules *rules)
{
    return words[rules->x86 ? 1 : rules->wow64 ? 2 : 0];
}

static uint64_t
now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* What differs is told once more, step by step. */
static void
fail_run(const struct driver_run *run, uint64_t seed)
{
    struct draw draw = draw_from_seed(seed);
    struct driver_tally none = {0};
    struct driver_run again = *run;

    again.draw = &draw;
    again.tally = &none;
    again.trace = stderr;
    (void)driver_run(&again);
    fail_msg("seed %" PRIu64 ", world's seed 0x%" PRIx64 " (version %u, %s): %s",
             options.seed, seed, run->rules.version, words_of(&run->rules),
             run->difference);
}

static void
run_seed(uint64_t seed, unsigned flags, uint32_t steps,
         const struct driver_rules *rules, struct driver_tally *of_rules)
{
    struct draw draw = draw_from_seed(seed);
    struct driver_run run = {
        .rules = *rules,
        .draw = &draw,
        .most_steps = steps,
        .flags = flags,
        .tally = of_rules,
        .trace = options.trace ? stderr : NULL,
    };

    if (!driver_run(&run)) {
        fail_run(&run, seed);
    }
}

/* Each world has a seed of its own, far from what draw.h steps by. */
static uint64_t
seed_of_world(uint64_t world)
{
    return (options.seed << 32 ^ world) * 0xD1342543DE82EF95;
}

/*
 * Worlds in which each fault shows that was once there, or that this test did not see
 * when it was put there. Index of driver_next_rules, seed of the world, its steps, and
 * what it was.
 *
 * They are as good as long as the same is drawn: who changes that puts each fault back,
 * runs this test, and keeps the seed that it tells.
 */
static const struct {
    size_t rules;
    uint64_t seed;
    uint32_t steps;
    const char *what;
} kept[] = {
    {0, 0x784291f00000000, STEPS_OF_A_LONG_WORLD, "start locked a buffer of 0 bytes"},
    {59, 0x67a46b4c099df9f3, STEPS_OF_A_WORLD,
     "start locked counters that an empty region does not need"},
    {0, 0x784291f00000000, STEPS_OF_A_LONG_WORLD,
     "start took NtCurrentProcess() for no handle at all"},
    {33, 0xff3cf6deaee0e235, STEPS_OF_A_WORLD, "a mask of more than 32 bits on x86"},
    {15, 0x4992581909ac09bb, STEPS_OF_A_WORLD,
     "an absent page behind a bad group hid that it is bad"},
    {10, 0x338d9dc5b11d5bd2, STEPS_OF_A_WORLD,
     "groups behind those read at once were not read"},
    {30, 0x8ba0871313581376, STEPS_OF_A_WORLD,
     "the profile started last was told to have halted"},
    {1, 0xf162821b52936459, STEPS_OF_A_WORLD,
     "hits waited while their process was opened again"},
    {25, 0x8e4600782ed9da51, STEPS_OF_A_WORLD, "hits waited at the end"},
};

static void
kept_seeds__core_does_as_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        struct driver_tally none = {0};
        struct driver_rules rules;

        assert_true(driver_next_rules(kept[i].rules, &rules));
        run_seed(kept[i].seed, 0, kept[i].steps, &rules, &none);
    }
}

static void
add_tally(const struct driver_tally *one)
{
    tally.worlds += one->worlds;
    tally.steps += one->steps;
    tally.calls += one->calls;
    tally.hits += one->hits;
    tally.changes += one->changes;
    for (size_t i = 0; i < DRIVER_CALL_COUNT * (size_t)DRIVER_STATUS_COUNT; i++) {
        (&tally.statuses[0][0])[i] += (&one->statuses[0][0])[i];
    }
    for (size_t i = 0; i < MODEL_BRANCH_COUNT; i++) {
        tally.reached[i] += one->reached[i];
    }
}

static bool
is_enough(uint64_t begin_s, uint64_t steps)
{
    return options.seconds > 0 ? now_s() - begin_s >= options.seconds
                               : steps >= options.steps;
}

static void
random_calls__every_version__core_does_as_model(void **state)
{
    const uint64_t begin_s = now_s();
    uint64_t steps = 0;

    (void)state;
    print_message("seed %" PRIu64 "\n", options.seed);
    for (uint64_t world = 0; !is_enough(begin_s, steps); world++) {
        struct driver_tally *const of_rules = &tallies[world % RULES];
        const uint64_t before = of_rules->steps;
        /* Some go on for long, with many profiles. */
        const uint32_t most =
            world % 61 == 0 ? STEPS_OF_A_LONG_WORLD : STEPS_OF_A_WORLD;
        struct driver_rules rules;

        assert_true(driver_next_rules(world % RULES, &rules));
        run_seed(seed_of_world(world), 0, most, &rules, of_rules);
        steps += of_rules->steps - before;
    }
    for (size_t i = 0; i < RULES; i++) {
        add_tally(&tallies[i]);
    }
    print_message("tried: %" PRIu64 " worlds, %" PRIu64 " steps, %" PRIu64
                  " calls, %" PRIu64 " interrupts, %" PRIu64
                  " changes: all as the model\n",
                  tally.worlds, tally.steps, tally.calls, tally.hits, tally.changes);
}

/* rules: start-limit, start-limit-counts-started */
static void
random_calls__close_to_the_limit__core_does_as_model(void **state)
{
    static const uint32_t versions[] = {NTPROF_NT_6_0, NTPROF_NT_6_1, NTPROF_NT_NEWEST};

    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        const struct driver_rules rules = {.version = versions[i]};
        struct driver_tally one = {0};

        run_seed(seed_of_world(i), DRIVER_MANY_STARTED, 200, &rules, &one);
        assert_true((one.reached[MODEL_START_LIMIT] > 0) ==
                    (versions[i] != NTPROF_NT_6_0));
    }
}

/* ---- What was come to ---- */

struct branch {
    const char *name;
    uint32_t first;
    uint32_t last;
    enum model_words words;
    const char *rule;
};

#define BRANCH_ROW(name, first, last, words, rule) \
    {#name, first, last, MODEL_##words, rule},
static const struct branch branches[] = {MODEL_BRANCHES(BRANCH_ROW)};
#undef BRANCH_ROW

static bool
has_branch(const struct driver_rules *rules, const struct branch *branch)
{
    const uint32_t version =
        rules->version == NTPROF_NT_NEWEST ? MODEL_NEWEST : rules->version;
    const bool words_have[] = {
        [MODEL_ANY] = true,
        [MODEL_X86] = rules->x86,
        [MODEL_X64] = !rules->x86,
        [MODEL_WOW64] = rules->wow64,
        [MODEL_PLAIN] = !rules->wow64,
        [MODEL_KERNEL] = !rules->x86 || version < MODEL_NEWEST,
    };

    return version >= branch->first && version <= branch->last &&
           words_have[branch->words];
}

static void
random_calls__every_rule__come_to(void **state)
{
    int missing = 0;

    (void)state;
    for (size_t i = 0; i < RULES; i++) {
        struct driver_rules rules;

        assert_true(driver_next_rules(i, &rules));
        for (size_t b = 0; b < MODEL_BRANCH_COUNT; b++) {
            const bool reached = tallies[i].reached[b] > 0;

            if (has_branch(&rules, &branches[b]) != reached) {
                print_message("%s version %u %s: %s (%s)\n",
                              reached ? "come to, but not its rule:" : "not come to:",
                              rules.version, words_of(&rules), branches[b].name,
                              branches[b].rule);
                missing++;
            }
        }
    }
    assert_int_equal(missing, 0);
}
/* All that each call can give, in some version. */
struct outcomes {
    enum driver_call call;
    NTSTATUS statuses[20]; /* STATUS_SUCCESS is not listed: each call has it */
};

#define CREATE_OUTCOMES                                                                \
    STATUS_INVALID_PARAMETER_7, STATUS_INVALID_PARAMETER, STATUS_BUFFER_TOO_SMALL,     \
        STATUS_BUFFER_OVERFLOW, STATUS_ACCESS_VIOLATION, STATUS_DATATYPE_MISALIGNMENT, \
        STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED,      \
        STATUS_PRIVILEGE_NOT_HELD, STATUS_INSUFFICIENT_RESOURCES,                      \
        STATUS_SYSTEM_SHUTDOWN, STATUS_INVALID_SYSTEM_SERVICE

static const struct outcomes outcomes[] = {
    {DRIVER_TEN, {CREATE_OUTCOMES, STATUS_NOT_SUPPORTED}},
    {DRIVER_NINE, {CREATE_OUTCOMES, STATUS_NOT_SUPPORTED}},
    {DRIVER_START,
     {STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED,
      STATUS_PROFILING_NOT_STOPPED, STATUS_INSUFFICIENT_RESOURCES,
      STATUS_ACCESS_VIOLATION, STATUS_WORKING_SET_QUOTA, STATUS_PRIVILEGE_NOT_HELD,
      STATUS_PROCESS_IS_TERMINATING, STATUS_NOT_SUPPORTED, STATUS_SYSTEM_SHUTDOWN}},
    {DRIVER_STOP,
     {STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED,
      STATUS_PROFILING_NOT_STARTED, STATUS_SYSTEM_SHUTDOWN}},
    {DRIVER_CLOSE, {STATUS_INVALID_HANDLE}},
    {DRIVER_OPEN,
     {STATUS_ACCESS_VIOLATION, STATUS_INVALID_CID, STATUS_ACCESS_DENIED,
      STATUS_SYSTEM_SHUTDOWN}},
    {DRIVER_DUPLICATE,
     {STATUS_ACCESS_VIOLATION, STATUS_INVALID_PARAMETER, STATUS_INVALID_HANDLE,
      STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED, STATUS_NOT_SUPPORTED,
      STATUS_SYSTEM_SHUTDOWN}},
    {DRIVER_QUERY_OBJECT,
     {STATUS_DATATYPE_MISALIGNMENT, STATUS_ACCESS_VIOLATION, STATUS_INVALID_INFO_CLASS,
      STATUS_INVALID_HANDLE, STATUS_INFO_LENGTH_MISMATCH, STATUS_SYSTEM_SHUTDOWN}},
    {DRIVER_QUERY,
     {STATUS_DATATYPE_MISALIGNMENT, STATUS_ACCESS_VIOLATION, STATUS_SYSTEM_SHUTDOWN,
      STATUS_INVALID_SYSTEM_SERVICE}},
    {DRIVER_SET,
     {STATUS_PRIVILEGE_NOT_HELD, STATUS_SYSTEM_SHUTDOWN,
      STATUS_INVALID_SYSTEM_SERVICE}},
    {DRIVER_QUERY_OLD,
     {STATUS_DATATYPE_MISALIGNMENT, STATUS_ACCESS_VIOLATION, STATUS_SYSTEM_SHUTDOWN,
      STATUS_INVALID_SYSTEM_SERVICE}},
    {DRIVER_SET_OLD, {STATUS_SYSTEM_SHUTDOWN, STATUS_INVALID_SYSTEM_SERVICE}},
    /* 3.10's create knows no source; before 4.0 SP4 no INVALID_PARAMETER_7. */
    {DRIVER_SEVEN,
     {STATUS_INVALID_PARAMETER, STATUS_BUFFER_TOO_SMALL, STATUS_BUFFER_OVERFLOW,
      STATUS_ACCESS_VIOLATION, STATUS_DATATYPE_MISALIGNMENT, STATUS_INVALID_HANDLE,
      STATUS_OBJECT_TYPE_MISMATCH, STATUS_ACCESS_DENIED, STATUS_PRIVILEGE_NOT_HELD,
      STATUS_INSUFFICIENT_RESOURCES, STATUS_SYSTEM_SHUTDOWN,
      STATUS_INVALID_SYSTEM_SERVICE}},
};

static bool
can_give(const struct outcomes *row, NTSTATUS status)
{
    bool listed = status == STATUS_SUCCESS;

    for (size_t i = 0; i < sizeof(row->statuses) / sizeof(row->statuses[0]); i++) {
        listed = listed || row->statuses[i] == status;
    }
    return listed;
}

static void
random_calls__every_status_of_every_call__come_to(void **state)
{
#define STATUS_VALUE(name, value, text) name,
    static const NTSTATUS statuses[] = {NTPROF_STATUS_TABLE(STATUS_VALUE)};
#undef STATUS_VALUE
    int missing = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        for (size_t s = 0; s < DRIVER_STATUS_COUNT; s++) {
            const uint64_t count = tally.statuses[outcomes[i].call][s];

            if ((count > 0) != can_give(&outcomes[i], statuses[s])) {
                print_message("%s gave %s %" PRIu64 " times\n",
                              driver_call_name(outcomes[i].call),
                              ntprof_status_name(statuses[s]), count);
                missing++;
            }
        }
    }
    assert_int_equal(missing, 0);
    assert_int_equal(sizeof(outcomes) / sizeof(outcomes[0]), DRIVER_CALL_COUNT);
}

static bool
read_arguments(int argc, char **argv)
{
    const char *const seed = getenv("NTPROF_SEED");
    const char *const steps = getenv("NTPROF_STEPS");

    if (steps != NULL) {
        options.steps = strtoull(steps, NULL, 0);
    }
    if (seed != NULL) {
        options.seed = strtoull(seed, NULL, 0);
    }
    for (int i = 1; i < argc; i++) {
        uint64_t *number = NULL;

        if (strcmp(argv[i], "--trace") == 0) {
            options.trace = true;
            continue;
        }
        number = strcmp(argv[i], "--steps") == 0     ? &options.steps
                 : strcmp(argv[i], "--seconds") == 0 ? &options.seconds
                 : strcmp(argv[i], "--seed") == 0    ? &options.seed
                                                     : NULL;
        if (number == NULL || ++i == argc) {
            (void)fprintf(stderr,
                          "usage: %s [--steps N] [--seconds N] [--seed N] "
                          "[--trace]\n",
                          argv[0]);
            return false;
        }
        *number = strtoull(argv[i], NULL, 0);
    }
    return true;
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_seeds__core_does_as_model),
        cmocka_unit_test(random_calls__every_version__core_does_as_model),
        cmocka_unit_test(random_calls__close_to_the_limit__core_does_as_model),
    };
    const struct CMUnitTest coverage[] = {
        cmocka_unit_test(random_calls__every_rule__come_to),
        cmocka_unit_test(random_calls__every_status_of_every_call__come_to),
    };
    int failed;

    if (!read_arguments(argc, argv)) {
        return 2;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (tally.steps < STEPS_IN_ALL) {
        print_message("too few steps to say what was not come to\n");
        return failed;
    }
    return failed + cmocka_run_group_tests(coverage, NULL, NULL);
}
