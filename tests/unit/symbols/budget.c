/* SPDX-License-Identifier: MIT */
/* budget.c - what is taken, given back and refused. */
#include "fixture.h"

#include "base/budget.h"

static void
bytes__taken_and_given_back__never_more_than_there_are(void **state)
{
    struct sym_budget budget;

    (void)state;
    sym_budget_begin(&budget, 100);
    assert_true(sym_budget_take(&budget, 60));
    assert_false(sym_budget_take(&budget, 41));
    assert_true(budget.refused);
    assert_int_equal(budget.left, 40);
    assert_false(sym_budget_take(&budget, UINT64_MAX));
    assert_true(sym_budget_take(&budget, 40));
    sym_budget_give(&budget, 60);
    assert_int_equal(budget.left, 60);
    sym_budget_begin(&budget, 0);
    assert_int_equal(budget.left, UINT64_C(1) << 30);
    assert_false(budget.refused);
}

static void
budget__of_none__without_end(void **state)
{
    (void)state;
    assert_true(sym_budget_take(NULL, UINT64_MAX));
    sym_budget_give(NULL, 1);
}

/* What stands in the array stays, and what it grew by is taken. */
static void
array__grows__until_it_is_too_much(void **state)
{
    struct sym_budget budget;
    uint64_t *items = NULL;
    uint64_t *larger;
    size_t room = 0;
    size_t count = 0;

    (void)state;
    sym_budget_begin(&budget, 8192);
    while ((larger = sym_budget_grow(&budget, items, count, &room, sizeof(*items))) !=
           NULL) {
        items = larger;
        items[count] = count;
        count++;
    }
    assert_true(budget.refused);
    assert_int_equal(count, 1024);
    assert_int_equal(room, 1024);
    assert_int_equal(budget.left, 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i], i);
    }
    free(items);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes__taken_and_given_back__never_more_than_there_are),
        cmocka_unit_test(budget__of_none__without_end),
        cmocka_unit_test(array__grows__until_it_is_too_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
