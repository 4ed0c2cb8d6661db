/* SPDX-License-Identifier: MIT */
/* Trees of flame graphs: of one profile, of two, and with functions that have too few
 * hits. */
#include "../profile/fixture.h"

#include "base/buffer.h"
#include "view/export/flames.h"

/* Print a line for each node: as many blanks as it is deep, its name, and for each side
 * self and total. */
static void
print_tree(const struct flames *flames, struct buffer *out)
{
    const struct flame *const tree = &flames->sources[0].tree;
    uint32_t depths[64] = {0};

    assert_true(tree->count <= 64);
    for (size_t i = 1; i < tree->count; i++) {
        const struct flame_node *const node = &tree->nodes[i];

        assert_true(node->parent < i);
        depths[i] = depths[node->parent] + 1;
        buffer_print(out, "%*s", (int)depths[i] - 1, "");
        if (node->frame == FLAME_REST) {
            buffer_print(out, "+%d", (int)node->rest);
        } else {
            const struct flame_frame *const frame = &flames->frames.items[node->frame];

            buffer_print(out, "%s", flames->frames.names.texts[frame->name]);
        }
        for (int side = 0; side < (flames->compared ? 2 : 1); side++) {
            buffer_print(out, " %d/%d", (int)node->self[side], (int)node->total[side]);
        }
        buffer_append_byte(out, '\n');
    }
}

static void
assert_tree(const struct profile *profile, const struct profile *old,
            const char *expected)
{
    struct flames flames;
    struct buffer text = {0};

    assert_true(flames_read(&flames, profile, old));
    print_tree(&flames, &text);
    assert_string_equal(buffer_text(&text), expected);
    buffer_finish(&text);
    flames_finish(&flames);
}

static void
read__stacks__those_with_the_most_hits_first(void **state)
{
    struct profile *profile = fixture_stacks();

    (void)state;
    assert_tree(profile, NULL,
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
read__older_profile__beside_the_new_hits(void **state)
{
    struct profile *profile = fixture_small();
    struct profile *old = fixture_stacks();
    const uint32_t by_new =
        fixture_call(profile, 0x1700, fixture_function(profile, "fresh", "fresh"),
                     fixture_end(profile, PROFILE_STACK_WHOLE));

    (void)state;
    fixture_stack_hits(profile, by_new, 170);
    assert_tree(profile, old,
                "fresh 0/170 0/0\n"
                " work 170/170 0/0\n"
                "work 150/150 152/152\n"
                "rest 30/30 30/30\n"
                "[no symbols] in libwork.so.6 20/20 20/20\n"
                "main 0/0 0/79\n"
                " work 0/0 40/40\n"
                " rest 0/0 0/39\n"
                "  work 0/0 30/39\n"
                "   work 0/0 9/9\n"
                "[cut at 16 kB] 0/0 0/8\n"
                " rest 0/0 0/5\n"
                "  work 0/0 5/5\n"
                " work 0/0 3/3\n"
                "[no symbols] in work 0/0 0/7\n"
                " work 0/0 7/7\n");
    profile_delete(old);
    profile_delete(profile);
}

/* A profile of a program in a folder: main calls the static functions of one name of
 * two files; the second one is left out without both. */
static struct profile *
with_helpers(const char *path, uint32_t line, bool both)
{
    struct profile *profile = profile_new();
    const uint32_t time = fixture_source(profile, "time", "100ns", 10000);
    const uint32_t process = fixture_process(profile, "app");
    uint32_t library, image, caller;

    library = fixture_image(profile, "/lib/libwork.so.6", "");
    image = fixture_image(profile, path, "");
    assert_int_equal(library, 0);
    caller = fixture_call(profile, 0x1100, fixture_function(profile, "main", "main"),
                          fixture_end(profile, PROFILE_STACK_WHOLE));
    for (unsigned i = 0; i < (both ? 2 : 1); i++) {
        const struct profile_function helper = {.name = "helper",
                                                .system_name = "helper",
                                                .file = i == 0 ? "a.c" : "b.c",
                                                .start_line = line};
        struct profile_place place = {.image = image,
                                      .process = process,
                                      .address = 0x1200 + 0x100 * i,
                                      .stack = caller};

        assert_true(profile_add_function(profile, &helper, &place.function));
        assert_true(profile_add_hits_at(profile, &place, time, 10));
    }
    return profile;
}

/* Builds have folders of their own, lines of definitions move, and one function may
 * have no name in common with others any more. */
static void
read__other_build__same_functions_by_name_and_file(void **state)
{
    struct profile *const profile = with_helpers("/new/app", 12, true);
    struct profile *const same = with_helpers("/old/app", 10, true);
    struct profile *const one = with_helpers("/new/app", 12, false);

    (void)state;
    assert_tree(profile, same,
                "main 0/20 0/20\n"
                " helper (a.c:12) 10/10 10/10\n"
                " helper (b.c:12) 10/10 10/10\n");
    assert_tree(one, same,
                "main 0/10 0/20\n"
                " helper (a.c:12) 10/10 10/10\n"
                " helper (b.c:10) 0/0 10/10\n");
    profile_delete(profile);
    profile_delete(same);
    profile_delete(one);
}

/* As in files of other tools, which may know a line only. */
static void
read__inlined_into_code_without_name__compared(void **state)
{
    struct profile *const profile = fixture_stacks();
    const struct profile_function nameless = {
        .name = "", .system_name = "", .file = "", .start_line = 7};
    struct profile_frame frame = {.line = 3};
    struct profile_place place = {.image = 1, .address = 0x1800, .function = 1};
    struct flames flames;

    (void)state;
    assert_true(profile_add_function(profile, &nameless, &frame.function));
    assert_true(profile_add_frame(profile, &frame, &place.caller));
    assert_true(profile_add_hits_at(profile, &place, 0, 100));
    assert_true(flames_read(&flames, profile, profile));
    for (size_t i = 0; i < flames.sources[0].tree.count; i++) {
        const struct flame_node *const node = &flames.sources[0].tree.nodes[i];

        assert_int_equal(node->total[FLAME_OLD], node->total[FLAME_NEW]);
    }
    flames_finish(&flames);
    profile_delete(profile);
}

static void
read__few_hits__one_node_for_each_caller(void **state)
{
    struct profile *profile = fixture_stacks();
    struct profile *old = fixture_stacks();

    (void)state;
    /* Those with 30,000 hits and less of 150 million are rare: 0.02%. */
    assert_true(profile_add_hits_at(
        profile, &(struct profile_place){.image = 1, .address = 0x1200, .function = 1},
        0, 149999848));
    assert_tree(profile, NULL,
                "work 150000000/150000000\n"
                "+5 144/144\n");
    assert_int_equal(profile->rows[0].hits[0], 149999998);

    /* What one of both profiles has enough of is there with both sides. */
    assert_tree(profile, old,
                "work 150000000/150000000 152/152\n"
                "main 0/79 0/79\n"
                " work 40/40 40/40\n"
                " rest 0/39 0/39\n"
                "  work 30/39 30/39\n"
                "   work 9/9 9/9\n"
                "rest 30/30 30/30\n"
                "[no symbols] in libwork.so.6 20/20 20/20\n"
                "[cut at 16 kB] 0/8 0/8\n"
                " rest 0/5 0/5\n"
                "  work 5/5 5/5\n"
                " work 3/3 3/3\n"
                "[no symbols] in work 0/7 0/7\n"
                " work 7/7 7/7\n");
    profile_delete(old);
    profile_delete(profile);
}

static void
change__of_shares__beyond_chance_or_not(void **state)
{
    struct flames_source source = {
        .all = {10000, 5000},
        .counted = {10000, 5000},
    };
    const struct flame_node grown = {.total = {3000, 1000}};
    const struct flame_node same = {.total = {2010, 1000}};
    double change, error;

    (void)state;
    assert_true(flames_change(&source, &grown, &change, &error));
    assert_float_equal(change, 0.1, 1e-9);
    assert_float_equal(error, 0.01426, 1e-4); /* 1.96 sqrt(.3*.7/10000 + .2*.8/5000) */
    assert_false(flames_change(&source, &same, &change, &error));
    source.exact = true;
    assert_true(flames_change(&source, &same, &change, &error));
    assert_float_equal(error, 0, 1e-9);
    source.all[FLAME_OLD] = 0; /* the older profile does not have this source */
    assert_true(flames_change(&source, &same, &change, &error));
    assert_float_equal(change, 0.201, 1e-9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__stacks__those_with_the_most_hits_first),
        cmocka_unit_test(read__older_profile__beside_the_new_hits),
        cmocka_unit_test(read__other_build__same_functions_by_name_and_file),
        cmocka_unit_test(read__inlined_into_code_without_name__compared),
        cmocka_unit_test(read__few_hits__one_node_for_each_caller),
        cmocka_unit_test(change__of_shares__beyond_chance_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
