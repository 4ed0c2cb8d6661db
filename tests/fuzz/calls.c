/* SPDX-License-Identifier: MIT */
/*
 * calls.c - fuzz target: calls, interrupts and changes of the world, on the core and on
 * the model of it in tests/model, compared after each step.
 *
 * The first byte says whose rules hold; what is done is drawn from all others.
 */
#include "driver.h"

#include <inttypes.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_STEPS = 300 };

static struct driver_tally tally;
static size_t rules_count; /* versions in all word sizes */

static void
tell_tally(void)
{
    (void)fprintf(stderr,
                  "tried: %" PRIu64 " worlds, %" PRIu64 " steps, %" PRIu64
                  " calls, %" PRIu64 " interrupts, %" PRIu64 " changes\n",
                  tally.worlds, tally.steps, tally.calls, tally.hits, tally.changes);
}

static void
initialize(void)
{
    struct driver_rules rules;

    /* An assertion of the machine's, with no test of cmocka's around it. */
    (void)setenv("CMOCKA_TEST_ABORT", "1", 1);
    while (driver_next_rules(rules_count, &rules)) {
        rules_count++;
    }
    (void)atexit(tell_tally);
}

/* What differs is told step by step, and found by the fuzzer. */
static void
tell(struct driver_run *run, const uint8_t *data, size_t size)
{
    struct draw draw = draw_from_bytes(data, size);

    run->draw = &draw;
    run->trace = stderr;
    (void)driver_run(run);
    abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct driver_run run = {.most_steps = MOST_STEPS, .tally = &tally};
    struct draw draw;

    if (rules_count == 0) {
        initialize();
    }
    if (size < 2) {
        return 0;
    }
    (void)driver_next_rules(data[0] % rules_count, &run.rules);
    draw = draw_from_bytes(data + 1, size - 1);
    run.draw = &draw;
    if (!driver_run(&run)) {
        tell(&run, data + 1, size - 1);
    }
    return 0;
}
