/* SPDX-License-Identifier: MIT */
/* The cache of rules: what it gives is what was added last, and what it forgets is what
 * nobody looked up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stacks/rules.h"

#include <string.h>

/* A rule that can be told from others. */
static struct sym_unwind_rule
marked(int32_t mark)
{
    return (struct sym_unwind_rule){.kind = SYM_UNWIND_CALL, .cfa_offset = mark};
}

static void
add(struct stack_rules *rules, uint32_t image, uint64_t start, uint64_t end,
    int32_t mark)
{
    const struct sym_unwind_row row = {start, end, marked(mark)};

    stack_rules_add(rules, image, &row, 1);
}

/* 0: it is not there. */
static int32_t
find(struct stack_rules *rules, uint32_t image, uint64_t address)
{
    const struct sym_unwind_rule *const rule = stack_rules_find(rules, image, address);

    return rule == NULL ? 0 : rule->cfa_offset;
}

static void
find__of_row__from_start_to_end_of_its_image(void **state)
{
    struct stack_rules *const rules = stack_rules_create();

    (void)state;
    assert_int_equal(find(rules, 1, 10), 0);
    add(rules, 1, 10, 20, 7);
    assert_int_equal(find(rules, 1, 9), 0);
    assert_int_equal(find(rules, 1, 10), 7);
    assert_int_equal(find(rules, 1, 19), 7);
    assert_int_equal(find(rules, 1, 20), 0);
    assert_int_equal(find(rules, 0, 10), 0);
    assert_int_equal(find(rules, 2, 10), 0);
    add(rules, 2, 0, UINT64_MAX, 8);
    assert_int_equal(find(rules, 2, 0), 8);
    assert_int_equal(find(rules, 2, UINT64_MAX - 1), 8);
    assert_int_equal(find(rules, 2, UINT64_MAX), 0);
    assert_int_equal(find(rules, 1, 15), 7);
    stack_rules_delete(rules);
}

static void
add__over_rows__those_go_whole(void **state)
{
    struct stack_rules *const rules = stack_rules_create();

    (void)state;
    add(rules, 1, 0, 10, 1);
    add(rules, 1, 10, 20, 2);
    add(rules, 1, 20, 30, 3);
    add(rules, 1, 15, 25, 4);
    assert_int_equal(find(rules, 1, 9), 1);
    assert_int_equal(find(rules, 1, 14), 0);
    assert_int_equal(find(rules, 1, 15), 4);
    assert_int_equal(find(rules, 1, 24), 4);
    assert_int_equal(find(rules, 1, 25), 0);
    assert_int_equal(stack_rules_count(rules), 2);
    stack_rules_delete(rules);
}

static void
forget__image__others_stay(void **state)
{
    struct stack_rules *const rules = stack_rules_create();

    (void)state;
    add(rules, 1, 0, 10, 1);
    add(rules, 2, 0, 10, 2);
    add(rules, 2, 10, UINT64_MAX, 3);
    add(rules, 3, 0, 10, 4);
    stack_rules_forget(rules, 2);
    assert_int_equal(find(rules, 1, 5), 1);
    assert_int_equal(find(rules, 2, 5), 0);
    assert_int_equal(find(rules, 2, 50), 0);
    assert_int_equal(find(rules, 3, 5), 4);
    assert_int_equal(stack_rules_count(rules), 2);
    stack_rules_delete(rules);
}

/* Rows of 4 addresses each, of one image. */
static void
fill(struct stack_rules *rules, uint32_t image, uint64_t first, uint64_t count)
{
    struct sym_unwind_row rows[32];

    for (uint64_t at = first; at < first + count; at += 32) {
        for (uint64_t i = 0; i < 32; i++) {
            rows[i] = (struct sym_unwind_row){4 * (at + i), 4 * (at + i) + 4,
                                              marked((int32_t)(at + i + 1))};
        }
        stack_rules_add(rules, image, rows, 32);
    }
}

static void
add__no_room__rows_that_were_looked_up_stay(void **state)
{
    struct stack_rules *const rules = stack_rules_create();

    (void)state;
    fill(rules, 1, 0, STACK_RULES_MAX);
    assert_int_equal(stack_rules_count(rules), STACK_RULES_MAX);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(find(rules, 1, 400 * i), 100 * i + 1);
    }
    add(rules, 2, 0, 1, 9);
    assert_int_equal(stack_rules_count(rules), 101);
    assert_int_equal(find(rules, 2, 0), 9);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(find(rules, 1, 400 * i + 3), 100 * i + 1);
        assert_int_equal(find(rules, 1, 400 * i + 4), 0);
    }
    /* Only what was looked up since then stays the next time. */
    fill(rules, 3, 0, STACK_RULES_MAX - 128);
    add(rules, 1, 0, 4, 7);
    fill(rules, 4, 0, 64);
    assert_int_equal(stack_rules_count(rules), 100 + 64);
    fill(rules, 3, 0, STACK_RULES_MAX - 256);
    fill(rules, 4, 0, 256);
    assert_int_equal(find(rules, 1, 403), 0);
    stack_rules_delete(rules);
}

static void
add__no_room_and_all_looked_up__half_goes(void **state)
{
    struct stack_rules *const rules = stack_rules_create();
    size_t there = 0;

    (void)state;
    fill(rules, 1, 0, STACK_RULES_MAX);
    for (uint64_t i = 0; i < STACK_RULES_MAX; i++) {
        assert_int_equal(find(rules, 1, 4 * i), i + 1);
    }
    add(rules, 1, UINT64_MAX - 2, UINT64_MAX, 9);
    assert_int_equal(stack_rules_count(rules), STACK_RULES_MAX / 2 + 1);
    for (uint64_t i = 0; i < STACK_RULES_MAX; i++) {
        const int32_t mark = find(rules, 1, 4 * i);

        assert_true(mark == 0 || mark == (int32_t)i + 1);
        there += mark != 0;
    }
    assert_int_equal(there, STACK_RULES_MAX / 2);
    stack_rules_delete(rules);
}

/* --- against a model --- */

enum { IMAGES = 3, ADDRESSES = 1 << 14, ROUNDS = 60000 };

static int32_t model[IMAGES][ADDRESSES];

static uint32_t
draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

/* Up to 8 rows of up to 4 addresses, with gaps now and then. */
static void
add_some(struct stack_rules *rules, uint64_t *seed, int32_t *mark)
{
    const uint32_t image = draw(seed, IMAGES);
    const size_t count = 1 + draw(seed, 8);
    uint64_t at = draw(seed, ADDRESSES - 64);
    struct sym_unwind_row rows[8];

    for (size_t i = 0; i < count; i++) {
        rows[i].start = at + (draw(seed, 4) == 0);
        rows[i].end = rows[i].start + 1 + draw(seed, 4);
        rows[i].rule = marked(++*mark);
        at = rows[i].end;
    }
    stack_rules_add(rules, image, rows, count);
    for (size_t i = 0; i < count; i++) {
        for (uint64_t to = rows[i].start; to < rows[i].end; to++) {
            model[image][to] = rows[i].rule.cfa_offset;
            assert_int_equal(find(rules, image, to), model[image][to]);
        }
    }
}

static void
rules__random_operations__never_an_old_rule(void **state)
{
    struct stack_rules *const rules = stack_rules_create();
    uint64_t seed = 1;
    int32_t mark = 0;

    (void)state;
    memset(model, 0, sizeof(model));
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t image = draw(&seed, IMAGES);
        const uint32_t address = draw(&seed, ADDRESSES);
        int32_t found;

        if (draw(&seed, 5000) == 0) {
            stack_rules_forget(rules, image);
            memset(model[image], 0, sizeof(model[image]));
        }
        add_some(rules, &seed, &mark);
        found = find(rules, image, address);
        assert_true(found == 0 || found == model[image][address]);
        assert_true(stack_rules_count(rules) <= STACK_RULES_MAX);
    }
    stack_rules_delete(rules);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find__of_row__from_start_to_end_of_its_image),
        cmocka_unit_test(add__over_rows__those_go_whole),
        cmocka_unit_test(forget__image__others_stay),
        cmocka_unit_test(add__no_room__rows_that_were_looked_up_stay),
        cmocka_unit_test(add__no_room_and_all_looked_up__half_goes),
        cmocka_unit_test(rules__random_operations__never_an_old_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
