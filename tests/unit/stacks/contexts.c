/* SPDX-License-Identifier: MIT */
/* The table of contexts: sums never change, whatever gives its callers up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stacks/contexts.h"

#include <stdio.h>
#include <string.h>

static void
add(struct stack_contexts *contexts, uint64_t address, const struct stack_frame *frames,
    size_t count, enum stack_end end, uint64_t hits)
{
    const struct stack_row row = {.place = {1, address}, .hits = hits};

    assert_true(stack_contexts_add(contexts, &row, frames, count, end, STACK_NO_IMAGE));
}

static const struct stack_row *
find_row(const struct stack_contexts *contexts, uint64_t address, bool other)
{
    const struct stack_row *found = NULL;
    const struct stack_row *rows;
    size_t count;

    rows = stack_contexts_rows(contexts, &count);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].place.address == address &&
            (rows[i].node == STACK_NODE_OTHER) == other) {
            assert_null(found);
            found = &rows[i];
        }
    }
    return found;
}

static void
add__same_stack_twice__one_row(void **state)
{
    const struct stack_frame frames[] = {{10, 1}, {20, 2}, {10, 1}};
    struct stack_contexts *const contexts = stack_contexts_create(64);
    struct stack_node node;
    uint32_t number;

    (void)state;
    add(contexts, 5, frames, 3, STACK_WHOLE, 2);
    add(contexts, 5, frames, 3, STACK_WHOLE, 3);
    assert_int_equal(stack_contexts_count(contexts), 1);
    assert_int_equal(stack_contexts_node_count(contexts), 5);
    number = find_row(contexts, 5, false)->node;
    assert_int_equal(find_row(contexts, 5, false)->hits, 5);
    for (size_t i = 0; i < 3; i++) {
        node = stack_contexts_node(contexts, number);
        assert_int_equal(node.address, frames[i].address);
        assert_int_equal(node.image, frames[i].image);
        number = node.caller;
    }
    node = stack_contexts_node(contexts, number);
    assert_int_equal(node.address, STACK_WHOLE);
    assert_int_equal(node.caller, STACK_NO_NODE);
    stack_contexts_delete(contexts);
}

static void
add__other_end_image_or_owner__other_row(void **state)
{
    struct stack_contexts *const contexts = stack_contexts_create(64);
    const struct stack_frame frame = {10, 1};
    const struct stack_row row = {.place = {1, 5}, .hits = 1};
    const struct stack_row other = {.place = {2, 5}, .hits = 1};

    (void)state;
    assert_true(stack_contexts_add(contexts, &row, &frame, 1, STACK_NO_RULES, 3));
    assert_true(stack_contexts_add(contexts, &row, &frame, 1, STACK_NO_RULES, 4));
    assert_true(stack_contexts_add(contexts, &row, &frame, 1, STACK_UNSUPPORTED, 4));
    assert_true(stack_contexts_add(contexts, &other, &frame, 1, STACK_UNSUPPORTED, 4));
    assert_int_equal(stack_contexts_count(contexts), 4);
    assert_int_equal(stack_contexts_node_count(contexts), 7);
    stack_contexts_delete(contexts);
}

static void
add__table_full__rows_of_fewest_hits_then_addresses_give_up(void **state)
{
    struct stack_contexts *const contexts = stack_contexts_create(64);

    (void)state;
    for (uint64_t i = 0; i < 64; i++) {
        add(contexts, i, NULL, 0, STACK_WHOLE, i < 8 ? 9 : i < 12 ? 1 : 2);
    }
    assert_int_equal(stack_contexts_count(contexts), 64);
    assert_int_equal(stack_contexts_used(contexts), 64);
    add(contexts, 100, NULL, 0, STACK_WHOLE, 1);
    /* Of 8 to 11 with one hit, then of two hits the lowest: 16 in all. */
    assert_int_equal(stack_contexts_count(contexts), 48 + 1);
    for (uint64_t i = 0; i < 64; i++) {
        const bool gave_up = i >= 8 && i < 24;

        assert_true((find_row(contexts, i, true) != NULL) == gave_up);
        assert_true((find_row(contexts, i, false) == NULL) == gave_up);
        assert_int_equal(find_row(contexts, i, gave_up)->hits, i < 8    ? 9
                                                               : i < 12 ? 1
                                                                        : 2);
    }
    stack_contexts_delete(contexts);
}

static void
add__rows_gave_up__hits_of_the_place_join(void **state)
{
    struct stack_contexts *const contexts = stack_contexts_create(64);

    (void)state;
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 64; i++) {
            const struct stack_frame frame = {100 * round + i, 1};

            add(contexts, 7, &frame, 1, STACK_WHOLE, 1);
        }
    }
    assert_true(find_row(contexts, 7, true)->hits > 64);
    add(contexts, 7, NULL, 0, STACK_OTHER, 1000);
    assert_true(find_row(contexts, 7, true)->hits > 1064);
    stack_contexts_delete(contexts);
}

static void
take__rows_give_up__what_was_taken_stays_taken(void **state)
{
    struct stack_contexts *const contexts = stack_contexts_create(64);
    const struct stack_row late = {.place = {1, 7}, .hits = 3, .taken = 3};
    const struct stack_row *row;

    (void)state;
    add(contexts, 7, NULL, 0, STACK_WHOLE, 2);
    stack_contexts_take(contexts);
    row = find_row(contexts, 7, false);
    assert_int_equal(row->taken, 2);
    assert_true(
        stack_contexts_add(contexts, &late, NULL, 0, STACK_WHOLE, STACK_NO_IMAGE));
    add(contexts, 7, NULL, 0, STACK_WHOLE, 1);
    row = find_row(contexts, 7, false);
    assert_int_equal(row->hits, 6);
    assert_int_equal(row->taken, 5);
    for (uint64_t i = 0; i < 128; i++) {
        const struct stack_frame frame = {i, 1};

        add(contexts, 7, &frame, 1, STACK_WHOLE, 10);
    }
    assert_int_equal(find_row(contexts, 7, true)->taken, 5);
    stack_contexts_delete(contexts);
}

static void
add__stack_of_more_nodes_than_half_the_bound__other_callers(void **state)
{
    struct stack_contexts *const contexts = stack_contexts_create(64);
    struct stack_frame frames[STACK_FRAMES_MAX];

    (void)state;
    for (size_t i = 0; i < STACK_FRAMES_MAX; i++) {
        frames[i] = (struct stack_frame){i, 1};
    }
    add(contexts, 1, frames, 31, STACK_WHOLE, 1);
    add(contexts, 2, frames, 32, STACK_WHOLE, 1);
    add(contexts, 3, frames, STACK_FRAMES_MAX, STACK_DEEP, 1);
    assert_non_null(find_row(contexts, 1, false));
    assert_int_equal(find_row(contexts, 2, true)->hits, 1);
    assert_int_equal(find_row(contexts, 3, true)->hits, 1);
    stack_contexts_delete(contexts);
}

static void
add__nodes_full__unused_ones_go_and_shared_ones_stay(void **state)
{
    struct stack_contexts *const contexts = stack_contexts_create(64);
    struct stack_frame frames[20];

    (void)state;
    /* Two stacks of 20 nodes with an outer half that both have: hot and cold. */
    for (uint64_t i = 0; i < 20; i++) {
        frames[i] = (struct stack_frame){i, 1};
    }
    add(contexts, 1, frames, 20, STACK_WHOLE, 50);
    for (uint64_t i = 0; i < 10; i++) {
        frames[i].address += 100;
    }
    add(contexts, 2, frames, 20, STACK_WHOLE, 5);
    assert_int_equal(stack_contexts_node_count(contexts), 1 + 1 + 20 + 10);
    for (uint64_t i = 0; i < 20; i++) {
        frames[i].address += 1000;
    }
    add(contexts, 3, frames, 20, STACK_WHOLE, 7);
    assert_int_equal(stack_contexts_node_count(contexts), 52);
    for (uint64_t i = 0; i < 20; i++) {
        frames[i].address += 1000;
    }
    add(contexts, 4, frames, 20, STACK_WHOLE, 1);
    /* 2 gave up, which freed the 10 nodes that 1 has not. */
    assert_non_null(find_row(contexts, 1, false));
    assert_null(find_row(contexts, 2, false));
    assert_int_equal(find_row(contexts, 2, true)->hits, 5);
    assert_null(find_row(contexts, 3, true));
    assert_int_equal(stack_contexts_node_count(contexts), 62);
    stack_contexts_delete(contexts);
}

static void
add__stack_of_more_than_a_quarter__so_much_is_freed(void **state)
{
    struct stack_contexts *const contexts = stack_contexts_create(64);
    struct stack_frame frames[28];

    (void)state;
    for (uint64_t i = 0; i < 12; i++) {
        for (uint64_t at = 0; at < 4; at++) {
            frames[at] = (struct stack_frame){100 * i + at, 1};
        }
        add(contexts, i, frames, 4, STACK_WHOLE, i + 1);
    }
    for (uint64_t at = 0; at < 28; at++) {
        frames[at] = (struct stack_frame){10000 + at, 1};
    }
    add(contexts, 50, frames, 28, STACK_WHOLE, 1);
    /* 2 + 4 * 12 nodes were there, of which 35 may stay. */
    assert_int_equal(stack_contexts_node_count(contexts), 2 + 4 * 8 + 28);
    assert_int_equal(stack_contexts_count(contexts), 9);
    assert_int_equal(stack_contexts_used(contexts), 1 + 4 * 8 + 28);
    assert_non_null(find_row(contexts, 50, false));
    assert_non_null(find_row(contexts, 3, true));
    assert_non_null(find_row(contexts, 4, false));
    stack_contexts_delete(contexts);
}

/* --- against a model --- */

enum { PLACES = 40, DEPTHS = 12, CALLERS = 6, ROUNDS = 20000 };

/* Hits of each stack that was added, by its text. */
struct seen {
    char text[8 * (DEPTHS + 4)];
    uint64_t hits;
};
static struct seen seen[ROUNDS];
static size_t seen_count;
static uint64_t place_hits[PLACES];

static uint32_t
draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

static uint64_t
hits_of(const char *text)
{
    for (size_t i = 0; i < seen_count; i++) {
        if (strcmp(seen[i].text, text) == 0) {
            return seen[i].hits;
        }
    }
    return 0;
}

static void
note(const char *text, uint64_t hits)
{
    size_t i = 0;

    while (i < seen_count && strcmp(seen[i].text, text) != 0) {
        i++;
    }
    if (i == seen_count) {
        seen_count++;
        strcpy(seen[i].text, text);
    }
    seen[i].hits += hits;
}

/* What the model knows of a row, innermost first. */
static void
describe(const struct stack_contexts *contexts, const struct stack_row *row, char *text,
         size_t size)
{
    size_t at = (size_t)snprintf(text, size, "%u", (unsigned int)row->place.address);
    uint32_t number = row->node;

    while (number != STACK_NO_NODE) {
        const struct stack_node node = stack_contexts_node(contexts, number);

        assert_true(node.caller == STACK_NO_NODE || node.caller < number);
        at += (size_t)snprintf(text + at, size - at,
                               node.caller == STACK_NO_NODE ? " e%u" : " %u",
                               (unsigned int)node.address);
        number = node.caller;
    }
}

static void
add_random(struct stack_contexts *contexts, uint64_t *seed)
{
    struct stack_frame frames[DEPTHS];
    const uint32_t place = draw(seed, 2) == 0 ? draw(seed, 3) : draw(seed, PLACES);
    const size_t count = draw(seed, DEPTHS + 1);
    const uint32_t end = draw(seed, STACK_NOT_RECORDED + 1);
    const uint64_t hits = 1 + draw(seed, 3);
    char text[sizeof(seen[0].text)];
    size_t at = (size_t)snprintf(text, sizeof(text), "%u", place);

    for (size_t i = 0; i < count; i++) {
        frames[i] = (struct stack_frame){draw(seed, i < 3 ? CALLERS : 2), 1};
        at += (size_t)snprintf(text + at, sizeof(text) - at, " %u",
                               (unsigned int)frames[i].address);
    }
    snprintf(text + at, sizeof(text) - at, " e%u", end);
    note(text, hits);
    place_hits[place] += hits;
    add(contexts, place, frames, count, end, hits);
}

/* Sums of places are the model's; no row has more hits than its stack had. */
static void
check(const struct stack_contexts *contexts, size_t bound)
{
    uint64_t sums[PLACES] = {0};
    const struct stack_row *rows;
    size_t callers = 0;
    size_t count;

    rows = stack_contexts_rows(contexts, &count);
    for (size_t i = 0; i < count; i++) {
        sums[rows[i].place.address] += rows[i].hits;
        if (rows[i].node != STACK_NODE_OTHER) {
            char text[sizeof(seen[0].text)];

            describe(contexts, &rows[i], text, sizeof(text));
            assert_true(rows[i].hits <= hits_of(text));
            callers++;
        }
    }
    assert_memory_equal(sums, place_hits, sizeof(sums));
    assert_int_equal(callers, stack_contexts_count(contexts));
    assert_true(callers <= bound && count - callers <= PLACES);
    assert_true(stack_contexts_node_count(contexts) <= bound);
}

static void
contexts__random_stacks__sums_are_those_of_the_model(void **state)
{
    static const size_t bounds[] = {64, 100, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        struct stack_contexts *const contexts = stack_contexts_create(bounds[i]);
        uint64_t seed = i + 1;

        seen_count = 0;
        memset(seen, 0, sizeof(seen));
        memset(place_hits, 0, sizeof(place_hits));
        for (int round = 0; round < ROUNDS / 10; round++) {
            add_random(contexts, &seed);
            if (round % 10 == 0) {
                check(contexts, bounds[i]);
            }
        }
        stack_contexts_delete(contexts);
    }
}

/* A bound that is never reached: each stack has its own row. */
static void
contexts__room_for_all__rows_are_those_of_the_model(void **state)
{
    struct stack_contexts *const contexts = stack_contexts_create(1 << 20);
    const struct stack_row *rows;
    uint64_t seed = 9;
    size_t count;

    (void)state;
    seen_count = 0;
    memset(seen, 0, sizeof(seen));
    for (int round = 0; round < ROUNDS / 10; round++) {
        add_random(contexts, &seed);
    }
    rows = stack_contexts_rows(contexts, &count);
    assert_int_equal(count, seen_count);
    for (size_t i = 0; i < count; i++) {
        char text[sizeof(seen[0].text)];

        describe(contexts, &rows[i], text, sizeof(text));
        assert_int_equal(rows[i].hits, hits_of(text));
    }
    stack_contexts_delete(contexts);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add__same_stack_twice__one_row),
        cmocka_unit_test(add__other_end_image_or_owner__other_row),
        cmocka_unit_test(add__table_full__rows_of_fewest_hits_then_addresses_give_up),
        cmocka_unit_test(add__rows_gave_up__hits_of_the_place_join),
        cmocka_unit_test(take__rows_give_up__what_was_taken_stays_taken),
        cmocka_unit_test(add__stack_of_more_nodes_than_half_the_bound__other_callers),
        cmocka_unit_test(add__nodes_full__unused_ones_go_and_shared_ones_stay),
        cmocka_unit_test(add__stack_of_more_than_a_quarter__so_much_is_freed),
        cmocka_unit_test(contexts__random_stacks__sums_are_those_of_the_model),
        cmocka_unit_test(contexts__room_for_all__rows_are_those_of_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
