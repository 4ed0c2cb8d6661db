/* SPDX-License-Identifier: MIT */
/* sample_tree.c - counts of locations in order, and LLVM's names of them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the ones above, and setjmp.h. */
#include <setjmp.h>

#include <cmocka.h>

#include "view/export/llvm_names.h"
#include "view/export/sample_tree.h"

#include <string.h>

static struct sample_location
at(uint32_t line, uint32_t discriminator)
{
    return (struct sample_location){line, discriminator};
}

static const struct sample_node *
child(const struct sample_tree *tree, const struct sample_node *node, uint32_t number)
{
    assert_true(number < node->child_count);
    return &tree->nodes[tree->children[node->first_child + number]];
}

/* f, larger than e, has two copies of g in one line and one in another. */
static void
fill(struct sample_tree *tree)
{
    const uint32_t none = SAMPLE_TREE_NONE;
    const uint32_t e = sample_tree_enter(tree, none, at(0, 0), "e");
    const uint32_t f = sample_tree_enter(tree, none, at(0, 0), "f");
    const uint32_t later = sample_tree_enter(tree, f, at(9, 0), "g");
    const uint32_t second = sample_tree_enter(tree, f, at(4, 2), "g");
    const uint32_t first = sample_tree_enter(tree, f, at(4, 1), "g");

    assert_int_equal(sample_tree_enter(tree, f, at(4, 2), "g"), second);
    assert_int_equal(sample_tree_enter(tree, none, at(0, 0), "f"), f);
    assert_true(sample_tree_count(tree, e, at(1, 0), 7));
    assert_true(sample_tree_count(tree, f, at(3, 0), 5));
    assert_true(sample_tree_count(tree, f, at(1, 2), 0));
    assert_true(sample_tree_count(tree, f, at(3, 0), 2));
    assert_true(sample_tree_count(tree, f, at(3, 0), 4));
    assert_true(sample_tree_count(tree, second, at(1, 0), 3));
    assert_true(sample_tree_count(tree, first, at(1, 0), 1));
    assert_true(sample_tree_count(tree, later, at(1, 0), 0));
}

static void
counts__of_several_places__largest_or_sum_in_order(void **state)
{
    (void)state;
    for (int sums = 0; sums < 2; sums++) {
        struct sample_tree tree = {.sums = sums != 0};
        const struct sample_node *f;

        fill(&tree);
        assert_true(sample_tree_sort(&tree));
        assert_int_equal(tree.function_count, 2);
        f = &tree.nodes[tree.children[0]];
        assert_string_equal(tree.names.texts[f->name], "f");
        assert_int_equal(f->total, sums != 0 ? 15 : 9);
        assert_int_equal(f->count_count, 2);
        assert_int_equal(tree.counts[f->first_count].at.line, 1);
        assert_int_equal(tree.counts[f->first_count].hits, 0);
        assert_int_equal(tree.counts[f->first_count + 1].hits, sums != 0 ? 11 : 5);
        assert_int_equal(f->child_count, 3);
        assert_int_equal(child(&tree, f, 0)->call.discriminator, 1);
        assert_int_equal(child(&tree, f, 1)->total, 3);
        assert_int_equal(child(&tree, f, 2)->call.line, 9);
        assert_int_equal(tree.nodes[tree.children[1]].total, 7);
        sample_tree_finish(&tree);
    }
}

static void
counts__too_large__clamped(void **state)
{
    struct sample_tree tree = {.sums = true};
    const uint32_t f = sample_tree_enter(&tree, SAMPLE_TREE_NONE, at(0, 0), "f");

    (void)state;
    assert_true(sample_tree_count(&tree, f, at(1, 0), UINT64_MAX - 1));
    assert_true(sample_tree_count(&tree, f, at(1, 0), 2));
    assert_true(sample_tree_count(&tree, f, at(2, 0), 2));
    assert_true(sample_tree_sort(&tree));
    assert_true(tree.counts[0].hits == UINT64_MAX);
    assert_true(tree.nodes[0].total == UINT64_MAX);
    sample_tree_finish(&tree);
}

static void
tree__beyond_the_budget__refused(void **state)
{
    struct sym_budget budget;
    struct sample_tree tree = {.budget = &budget};
    uint32_t f;
    bool done = true;

    (void)state;
    sym_budget_begin(&budget, 4096);
    f = sample_tree_enter(&tree, SAMPLE_TREE_NONE, at(0, 0), "f");
    for (uint32_t i = 0; done && i < 10000; i++) {
        done = sample_tree_count(&tree, f, at(i, 0), 1);
    }
    assert_false(done);
    assert_true(budget.refused);
    sample_tree_finish(&tree);
}

/* By the code of prefixes: 0 is the bit 1; up to 31 five bits and a 0 below; else 12
 * bits. */
static void
discriminators__of_three_numbers__unpacked(void **state)
{
    (void)state;
    assert_int_equal(llvm_base_discriminator(0), 0);
    assert_int_equal(llvm_base_discriminator(2), 1);
    assert_int_equal(llvm_base_discriminator(31 << 1), 31);
    /* 70 is 0x46: its low five bits, the mark, and the rest. */
    assert_int_equal(llvm_base_discriminator((0x06 | 0x20 | 2 << 6) << 1), 70);
    assert_int_equal(llvm_copies(0), 1);
    assert_int_equal(llvm_copies(2), 1);
    /* base 0 (one bit), 4 copies; base 3 (seven bits), 4 copies; base 70 (14 bits). */
    assert_int_equal(llvm_base_discriminator(1 | (4 << 1) << 1), 0);
    assert_int_equal(llvm_copies(1 | (4 << 1) << 1), 4);
    assert_int_equal(llvm_base_discriminator(3 << 1 | (4 << 1) << 7), 3);
    assert_int_equal(llvm_copies(3 << 1 | (4 << 1) << 7), 4);
    assert_int_equal(llvm_copies((0x06 | 0x20 | 2 << 6) << 1 | (4 << 1) << 14), 4);
}

static void
suffixes__that_llvm_gives__cut(void **state)
{
    static const char *const names[][2] = {
        {"f", "f"},
        {"f.llvm.123", "f"},
        {"f.part.0", "f"},
        {"f.part.0.llvm.77", "f"},
        {"f.__uniq.123", "f.__uniq.123"},
        {"f.__uniq.123.llvm.4", "f.__uniq.123"},
        {"f.llvm.1.cold", "f.llvm.1.cold"},
        {"f.llvm", "f.llvm"},
        {".llvm.1", ".llvm.1"},
        {"f.", "f."},
        {".", "."},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char name[32];

        strcpy(name, names[i][0]);
        llvm_cut_suffixes(name);
        assert_string_equal(name, names[i][1]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts__of_several_places__largest_or_sum_in_order),
        cmocka_unit_test(counts__too_large__clamped),
        cmocka_unit_test(tree__beyond_the_budget__refused),
        cmocka_unit_test(discriminators__of_three_numbers__unpacked),
        cmocka_unit_test(suffixes__that_llvm_gives__cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
