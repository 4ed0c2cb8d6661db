/* SPDX-License-Identifier: MIT */
/* aranges.c - .debug_aranges that is written here, honest and damaged. */
#include "fixture.h"

#include "symbols/reader/dwarf_aranges.h"

#include <string.h>

/* A set of two ranges. */
static void
put_set(struct section *section, uint64_t unit, uint64_t start, unsigned int version)
{
    section_put(section, 12 - 4 + 4 + 3 * 16, 4);
    section_put(section, version, 2);
    section_put(section, unit, 4);
    section_put(section, 8, 1);
    section_put(section, 0, 1);
    section_put(section, 0, 4); /* pairs are aligned to 16 bytes */
    section_put(section, start, 8);
    section_put(section, 0x10, 8);
    section_put(section, start + 0x100, 8);
    section_put(section, UINT64_MAX, 8);
    section_put(section, 0, 16 - 8);
    section_put(section, 0, 8);
}

static void
read_section(struct sym_dwarf_aranges *aranges, struct section *section, size_t size,
             struct sym_budget *budget)
{
    const struct sym_dwarf_image image = {
        .parts = {[SYM_DWARF_ARANGES] = {section->bytes, size}}, .budget = budget};

    sym_dwarf_aranges_read(aranges, &image);
}

static void
sets__in_any_order__by_unit(void **state)
{
    struct section section = {.size = 0};
    struct sym_dwarf_aranges aranges;

    (void)state;
    put_set(&section, 0x500, 0x2000, 2);
    put_set(&section, 0, 0x1000, 2);
    read_section(&aranges, &section, section.size, NULL);
    assert_int_equal(aranges.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct sym_dwarf_arange *const range = &aranges.items[i];
        const uint64_t start = i < 2 ? 0x1000 : 0x2000;

        assert_int_equal(range->unit, i < 2 ? 0 : 0x500);
        assert_int_equal(range->start, i % 2 == 0 ? start : start + 0x100);
        /* A length does not wrap. */
        assert_true(range->end == (i % 2 == 0 ? start + 0x10 : UINT64_MAX));
    }
    sym_dwarf_aranges_finish(&aranges);
}

static void
section__damaged_or_unknown__none(void **state)
{
    struct section section = {.size = 0};
    struct sym_dwarf_aranges aranges;

    (void)state;
    put_set(&section, 0, 0x1000, 2);
    put_set(&section, 0x500, 0x2000, 2);
    for (size_t size = 0; size < section.size; size++) {
        read_section(&aranges, &section, size, NULL);
        assert_int_equal(aranges.count, size == section.size / 2 ? 2 : 0);
        sym_dwarf_aranges_finish(&aranges);
    }
    put_set(&section, 0x900, 0x3000, 3);
    read_section(&aranges, &section, section.size, NULL);
    assert_int_equal(aranges.count, 0);
    sym_dwarf_aranges_finish(&aranges);
}

static void
section__too_much__none_and_all_given_back(void **state)
{
    struct section section = {.size = 0};
    struct sym_dwarf_aranges aranges;
    struct sym_budget budget;

    (void)state;
    put_set(&section, 0, 0x1000, 2);
    sym_budget_begin(&budget, 1);
    read_section(&aranges, &section, section.size, &budget);
    assert_int_equal(aranges.count, 0);
    assert_false(budget.refused);
    sym_dwarf_aranges_finish(&aranges);
    sym_budget_begin(&budget, 1 << 20);
    read_section(&aranges, &section, section.size, &budget);
    assert_int_equal(aranges.count, 2);
    sym_dwarf_aranges_finish(&aranges);
    assert_int_equal(budget.left, 1 << 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets__in_any_order__by_unit),
        cmocka_unit_test(section__damaged_or_unknown__none),
        cmocka_unit_test(section__too_much__none_and_all_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
