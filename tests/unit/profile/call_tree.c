/* SPDX-License-Identifier: MIT */
/*
 * Trees of fixture_stacks, whose rows are (hits: functions, innermost first)
 *
 *   150: work                 40: work main                  7: work, code of work
 *    30: rest                 30: work rest main             5: work rest cut
 *    20: code of libwork       9: work work rest main        3: work cut
 *                                                            2: work
 */
#include "profile/call_tree.h"
#include "fixture.h"
#include "profile/display.h"

/* Print a line for each node: as many blanks as it is deep, its name, self,
 * total, and what is merged. */
static void
print_tree(const struct call_tree *tree, struct buffer *out)
{
    for (size_t i = 1; i < tree->count; i++) {
        const struct call_tree_node *const node = &tree->nodes[i];

        buffer_print(out, "%*s", (int)node->depth - 1, "");
        display_function(node->function, node->image, DISPLAY_SHORT, out);
        buffer_print(out, " %d/%d", (int)node->self, (int)node->total);
        if (node->merged > 0) {
            buffer_print(out, " +%d=%d", (int)node->merged, (int)node->merged_hits);
        }
        buffer_append_byte(out, '\n');
        assert_true(node->parent < i);
        assert_int_equal(node->depth, tree->nodes[node->parent].depth + 1);
    }
}

static void
assert_tree(const struct profile *profile, const struct call_tree_options *options,
            uint64_t root, const char *expected)
{
    struct identities identities;
    struct call_tree tree;
    struct buffer text = {0};

    assert_true(identities_find(profile, &identities));
    assert_true(call_tree_build(&tree, profile, &identities, options));
    print_tree(&tree, &text);
    assert_string_equal(buffer_text(&text), expected);
    assert_int_equal(tree.nodes[0].total, root);
    assert_null(tree.nodes[0].function);
    call_tree_finish(&tree);
    identities_finish(&identities);
    buffer_finish(&text);
}

/* Build the tree of the function with an index, which is called in image 1. */
static void
assert_tree_of(uint32_t function, enum call_tree_direction direction, uint64_t root,
               const char *expected)
{
    struct profile *profile = fixture_stacks();
    struct call_tree_options options = {.direction = direction};
    bool *chosen;
    struct identities identities;

    assert_true(identities_find(profile, &identities));
    chosen = calloc(identities.count, sizeof(*chosen));
    assert_non_null(chosen);
    chosen[identity_number(&identities, 1, function, false)] = true;
    options.chosen = chosen;
    assert_tree(profile, &options, root, expected);
    free(chosen);
    identities_finish(&identities);
    profile_delete(profile);
}

static void
down__all_stacks__outermost_first(void **state)
{
    struct profile *profile = fixture_stacks();
    const struct call_tree_options options = {0};

    (void)state;
    assert_tree(profile, &options, 296,
                "work 152/152\n"
                "main 0/79\n"
                " work 40/40\n"
                " rest 0/39\n"
                "  work 30/39\n"
                "   work 9/9\n"
                "rest 30/30\n"
                "[no symbols] in libwork.so.6 20/20\n"
                "[cut at 16 kB] 0/8\n"
                " rest 0/5\n"
                "  work 5/5\n"
                " work 3/3\n"
                "[no symbols] in work 0/7\n"
                " work 7/7\n");
    profile_delete(profile);
}

static void
up__all_stacks__functions_with_hits_first(void **state)
{
    struct profile *profile = fixture_stacks();
    const struct call_tree_options options = {.direction = CALL_TREE_UP};

    (void)state;
    assert_tree(profile, &options, 296,
                "work 152/246\n"
                " main 40/40\n"
                " rest 0/35\n"
                "  main 30/30\n"
                "  [cut at 16 kB] 5/5\n"
                " work 0/9\n"
                "  rest 0/9\n"
                "   main 9/9\n"
                " [no symbols] in work 7/7\n"
                " [cut at 16 kB] 3/3\n"
                "rest 30/30\n"
                "[no symbols] in libwork.so.6 20/20\n");
    profile_delete(profile);
}

static void
up__of_a_function__its_callers(void **state)
{
    (void)state;
    assert_tree_of(2, CALL_TREE_UP, 74,
                   "rest 30/74\n"
                   " main 39/39\n"
                   " [cut at 16 kB] 5/5\n");
}

static void
up__of_a_function_that_calls_itself__callers_of_the_outermost(void **state)
{
    (void)state;
    assert_tree_of(1, CALL_TREE_UP, 246,
                   "work 152/246\n"
                   " rest 0/44\n"
                   "  main 39/39\n"
                   "  [cut at 16 kB] 5/5\n"
                   " main 40/40\n"
                   " [no symbols] in work 7/7\n"
                   " [cut at 16 kB] 3/3\n");
}

static void
down__of_a_function__what_it_calls(void **state)
{
    (void)state;
    assert_tree_of(1, CALL_TREE_DOWN, 246,
                   "work 237/246\n"
                   " work 9/9\n");
}

static void
minimum__nodes_with_less__are_merged_into_their_parents(void **state)
{
    struct profile *profile = fixture_stacks();
    const struct call_tree_options options = {.minimum = 0.1}; /* 29.6 hits */
    struct identities identities;
    struct call_tree tree;

    (void)state;
    assert_tree(profile, &options, 296,
                "work 152/152\n"
                "main 0/79\n"
                " work 40/40\n"
                " rest 0/39\n"
                "  work 30/39 +1=9\n"
                "rest 30/30\n");
    assert_true(identities_find(profile, &identities));
    assert_true(call_tree_build(&tree, profile, &identities, &options));
    assert_int_equal(tree.hits, 296);
    assert_int_equal(tree.nodes[0].merged, 3);
    assert_int_equal(tree.nodes[0].merged_hits, 20 + 8 + 7);
    call_tree_finish(&tree);
    identities_finish(&identities);
    profile_delete(profile);
}

/* Hits of functions that are passed over are their callers'. */
static void
skipped__outwards_of_others__part_of_their_callers(void **state)
{
    struct profile *profile = fixture_stacks();
    struct call_tree_options options = {0};
    struct identities identities;
    bool *skipped;

    (void)state;
    assert_true(identities_find(profile, &identities));
    skipped = calloc(identities.count, sizeof(*skipped));
    assert_non_null(skipped);
    skipped[identity_number(&identities, 1, 1, false)] = true; /* work */
    options.skipped = skipped;
    assert_tree(profile, &options, 296,
                "main 40/79\n"
                " rest 39/39\n"
                "rest 30/30\n"
                "[no symbols] in libwork.so.6 20/20\n"
                "[cut at 16 kB] 3/8\n"
                " rest 5/5\n"
                "[no symbols] in work 7/7\n"); /* and 152 hits in work only */
    free(skipped);
    identities_finish(&identities);
    profile_delete(profile);
}

static void
rows__some_are_taken__the_tree_of_their_stacks(void **state)
{
    struct profile *profile = fixture_stacks();
    bool *const rows = calloc(profile->row_count, sizeof(*rows));
    const struct call_tree_options options = {.rows = rows};

    (void)state;
    assert_non_null(rows);
    for (size_t i = 0; i < profile->row_count; i++) {
        rows[i] = profile->rows[i].hits[0] == 40 || profile->rows[i].hits[0] == 3;
    }
    assert_tree(profile, &options, 43,
                "main 0/40\n"
                " work 40/40\n"
                "[cut at 16 kB] 0/3\n"
                " work 3/3\n");
    free(rows);
    profile_delete(profile);
}

/* --- inlined functions --- */

/* A hit in deep, inlined into middle, inlined into work, called from rest inlined into
 * main. */
static struct profile *
inlined_stacks(void)
{
    struct profile *profile = fixture_stacks();
    struct profile_frame frame = {.function = 1, .line = 3};
    struct profile_place place = {.image = 1, .address = 0x1204};
    struct profile_call call = {.address = 0x1510, .image = 1};
    uint32_t outer;

    place.function = fixture_function(profile, "deep", "deep");
    assert_true(profile_add_frame(profile, &frame, &outer));
    frame.caller = outer;
    frame.function = fixture_function(profile, "middle", "middle");
    assert_true(profile_add_frame(profile, &frame, &place.caller));
    call.function = 2;
    call.caller = fixture_end(profile, PROFILE_STACK_WHOLE);
    frame = (struct profile_frame){.function = 3, .line = 8};
    assert_true(profile_add_frame(profile, &frame, &call.inlined));
    assert_true(profile_add_call(profile, &call, &place.stack));
    for (size_t i = 0; i < profile->row_count; i++) {
        profile->rows[i].hits[0] = 0;
    }
    assert_true(profile_add_hits_at(profile, &place, 0, 6));
    return profile;
}

static void
inlined__left_out__functions_with_the_code(void **state)
{
    struct profile *profile = inlined_stacks();
    const struct call_tree_options options = {0};

    (void)state;
    assert_tree(profile, &options, 6, "main 0/6\n work 6/6\n");
    profile_delete(profile);
}

static void
inlined__asked_for__nodes_of_their_own(void **state)
{
    struct profile *profile = inlined_stacks();
    const struct call_tree_options options = {.inlined = true};

    (void)state;
    assert_tree(profile, &options, 6,
                "main 0/6\n"
                " rest 0/6\n"
                "  work 0/6\n"
                "   middle 0/6\n"
                "    deep 6/6\n");
    profile_delete(profile);
}

/* --- sums --- */

static void
assert_sums(const struct profile *profile, const struct identities *identities,
            uint32_t number, uint64_t self, uint64_t total)
{
    uint64_t *const selves = calloc(identities->count, sizeof(*selves));
    uint64_t *const totals = calloc(identities->count, sizeof(*totals));

    assert_true(call_tree_sums(profile, identities, 0, false, selves, totals));
    assert_int_equal(selves[number], self);
    assert_int_equal(totals[number], total);
    free(selves);
    free(totals);
}

static void
sums__of_each_function__recursion_counts_once(void **state)
{
    struct profile *profile = fixture_stacks();
    struct identities identities;

    (void)state;
    assert_true(identities_find(profile, &identities));
    assert_sums(profile, &identities, identity_number(&identities, 1, 1, false), 246,
                246);
    assert_sums(profile, &identities, identity_number(&identities, 1, 2, false), 30,
                74);
    assert_sums(profile, &identities, identity_number(&identities, 1, 3, false), 0, 79);
    assert_sums(profile, &identities, identity_number(&identities, 1, 0, false), 0, 7);
    assert_sums(profile, &identities, identity_number(&identities, 0, 0, false), 20,
                20);
    assert_sums(profile, &identities,
                identities.calls[fixture_end(profile, "[cut at 16 kB]")], 0, 8);
    identities_finish(&identities);
    profile_delete(profile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(down__all_stacks__outermost_first),
        cmocka_unit_test(up__all_stacks__functions_with_hits_first),
        cmocka_unit_test(up__of_a_function__its_callers),
        cmocka_unit_test(up__of_a_function_that_calls_itself__callers_of_the_outermost),
        cmocka_unit_test(down__of_a_function__what_it_calls),
        cmocka_unit_test(minimum__nodes_with_less__are_merged_into_their_parents),
        cmocka_unit_test(skipped__outwards_of_others__part_of_their_callers),
        cmocka_unit_test(rows__some_are_taken__the_tree_of_their_stacks),
        cmocka_unit_test(inlined__left_out__functions_with_the_code),
        cmocka_unit_test(inlined__asked_for__nodes_of_their_own),
        cmocka_unit_test(sums__of_each_function__recursion_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
