/* SPDX-License-Identifier: MIT */
/* Every allocation of the table of contexts fails in turn: hits are added or they are
 * not, and nothing else changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "stacks/contexts.h"

enum { STACKS = 2000, DEPTH = 3 };

static uint64_t
sum(const struct stack_contexts *contexts)
{
    const struct stack_row *rows;
    uint64_t hits = 0;
    size_t count;

    rows = stack_contexts_rows(contexts, &count);
    for (size_t i = 0; i < count; i++) {
        uint32_t node = rows[i].node;

        hits += rows[i].hits;
        while (node != STACK_NO_NODE) {
            node = stack_contexts_node(contexts, node).caller;
        }
    }
    return hits;
}

/* Adds many stacks. The number that failed. */
static size_t
add_all(struct stack_contexts *contexts)
{
    uint64_t added = 0;
    size_t failures = 0;

    for (uint64_t i = 0; i < STACKS; i++) {
        const struct stack_frame frames[DEPTH] = {{i, 1}, {i / 7, 1}, {i / 50, 1}};
        const struct stack_row row = {.place = {0, i % 90}, .hits = 1};
        const size_t nodes = stack_contexts_node_count(contexts);

        if (stack_contexts_add(contexts, &row, frames, DEPTH, STACK_WHOLE,
                               STACK_NO_IMAGE)) {
            added++;
        } else {
            failures++;
            assert_int_equal(sum(contexts), added);
            assert_true(stack_contexts_node_count(contexts) <= nodes);
        }
    }
    assert_int_equal(sum(contexts), added);
    return failures;
}

static void
contexts__allocation_fails__hits_are_not_added(void **state)
{
    bool failed = true;

    (void)state;
    for (size_t at = 1; failed; at++) {
        struct stack_contexts *contexts;
        size_t failures = 0;

        fail_at = at;
        made = 0;
        contexts = stack_contexts_create(500);
        if (contexts != NULL) {
            failures = add_all(contexts);
            assert_true(failures <= 1);
        }
        failed = contexts == NULL || failures > 0;
        stack_contexts_delete(contexts);
        assert_true(at > 3 || failed);
    }
    fail_at = 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts__allocation_fails__hits_are_not_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
