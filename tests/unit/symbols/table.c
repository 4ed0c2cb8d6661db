/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "symbols/border/table.h"

#include <string.h>

struct symbol {
    uint64_t start, end;
    const char *name;
    uint8_t rank;
    bool sized;
};

static void
build(struct sym_table *table, const struct symbol *symbols, size_t count,
      enum sym_overlap overlap)
{
    *table = (struct sym_table){0};
    for (size_t i = 0; i < count; i++) {
        assert_true(
            sym_table_add(table, &(struct sym_entry){.start = symbols[i].start,
                                                     .end = symbols[i].end,
                                                     .name = symbols[i].name,
                                                     .rank = symbols[i].rank,
                                                     .sized = symbols[i].sized}));
    }
    assert_true(sym_table_build(table, overlap));
}

static const char *
name_at(const struct sym_table *table, uint64_t address)
{
    const struct sym_range *range = sym_table_find(table, address);

    return range == NULL ? "" : range->name;
}

struct expectation {
    uint64_t address;
    const char *name;
};

static void
expect(const struct sym_table *table, const struct expectation *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(name_at(table, rows[i].address), rows[i].name);
    }
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
sized_symbols__nested_and_crossing__innermost_covers(void **state)
{
    static const struct symbol symbols[] = {
        {60, 70, "late", SYM_RANK_LOCAL, true},
        {0, 300, "outer", SYM_RANK_GLOBAL, true},
        {10, 50, "inner", SYM_RANK_LOCAL, true},
        {20, 30, "core", SYM_RANK_WEAK, true},
        {290, 310, "across", SYM_RANK_LOCAL, true},
    };
    static const struct expectation rows[] = {
        {0, "outer"},  {9, "outer"},     {10, "inner"},   {19, "inner"},
        {20, "core"},  {29, "core"},     {30, "inner"},   {49, "inner"},
        {50, "outer"}, {59, "outer"},    {60, "late"},    {69, "late"},
        {70, "outer"}, {289, "outer"},   {290, "across"}, {309, "across"},
        {310, ""},     {UINT64_MAX, ""},
    };
    struct sym_table table;

    (void)state;
    build(&table, symbols, COUNT(symbols), SYM_OVERLAP_INNERMOST);
    expect(&table, rows, COUNT(rows));
    sym_table_finish(&table);
}

static void
names_at_one_address__sized_global_plain__preferred_in_that_order(void **state)
{
    static const struct symbol symbols[] = {
        {0, 100, "bare_global", SYM_RANK_GLOBAL, false},
        {0, 16, "local", SYM_RANK_LOCAL, true},
        {16, 32, "a_weak", SYM_RANK_WEAK, true},
        {16, 32, "strong", SYM_RANK_GLOBAL, true},
        {32, 48, "__plain", SYM_RANK_GLOBAL, true},
        {32, 48, "plain", SYM_RANK_GLOBAL, true},
        {32, 48, "_plain", SYM_RANK_GLOBAL, true},
        {48, 60, "z_same", SYM_RANK_LOCAL, true},
        {48, 60, "b_same", SYM_RANK_LOCAL, true},
        {60, 64, "a_short", SYM_RANK_LOCAL, true},
        {60, 64, "the_longest", SYM_RANK_LOCAL, true},
        {60, 64, "b_longer", SYM_RANK_LOCAL, true},
    };
    static const struct expectation rows[] = {{0, "local"},        {16, "strong"},
                                              {32, "plain"},       {48, "b_same"},
                                              {60, "the_longest"}, {64, ""}};
    struct sym_table table;

    (void)state;
    build(&table, symbols, COUNT(symbols), SYM_OVERLAP_INNERMOST);
    expect(&table, rows, COUNT(rows));
    sym_table_finish(&table);
}

static void
symbols_without_size__between_sized_ones__fill_gaps_only(void **state)
{
    static const struct symbol symbols[] = {
        {10, 20, "sized", SYM_RANK_LOCAL, true},
        {12, 100, "label", SYM_RANK_LOCAL, false},
        {0, 100, "first", SYM_RANK_LOCAL, false},
        {30, 100, "second", SYM_RANK_LOCAL, false},
        {40, 100, "third", SYM_RANK_LOCAL, false},
        {50, 60, "other", SYM_RANK_LOCAL, true},
    };
    static const struct expectation rows[] = {
        {0, "first"},  {9, "first"},  {10, "sized"},  {12, "sized"},  {19, "sized"},
        {20, ""},      {29, ""},      {30, "second"}, {39, "second"}, {40, "third"},
        {49, "third"}, {50, "other"}, {60, ""},
    };
    struct sym_table table;

    (void)state;
    build(&table, symbols, COUNT(symbols), SYM_OVERLAP_INNERMOST);
    expect(&table, rows, COUNT(rows));
    sym_table_finish(&table);
}

static void
empty_ranges_and_names__added__cover_nothing(void **state)
{
    static const struct symbol symbols[] = {{5, 5, "empty", SYM_RANK_LOCAL, true},
                                            {9, 3, "backwards", SYM_RANK_LOCAL, true},
                                            {0, 10, "", SYM_RANK_LOCAL, true}};
    struct sym_table table;

    (void)state;
    build(&table, symbols, COUNT(symbols), SYM_OVERLAP_INNERMOST);
    assert_int_equal(table.range_count, 0);
    assert_null(sym_table_find(&table, 5));
    sym_table_finish(&table);
}

/* The model looks at every symbol for every address. */
static const char *
model_at(const struct symbol *symbols, size_t count, uint64_t address,
         enum sym_overlap overlap)
{
    const struct symbol *best = NULL;

    for (size_t i = 0; i < count; i++) {
        if (address < symbols[i].start || address >= symbols[i].end) {
            continue;
        }
        if (best == NULL || overlap == SYM_OVERLAP_LATEST ||
            symbols[i].start > best->start ||
            (symbols[i].start == best->start &&
             strcmp(symbols[i].name, best->name) < 0)) {
            best = &symbols[i];
        }
    }
    return best == NULL ? "" : best->name;
}

static void
compare_with_model(uint64_t *seed, enum sym_overlap overlap)
{
    static char names[40][4];
    struct symbol symbols[40];
    struct sym_table table;

    for (size_t i = 0; i < COUNT(symbols); i++) {
        const uint64_t start = fixture_random(seed) % 200;

        names[i][0] = 'n';
        names[i][1] = (char)('A' + i % 26);
        names[i][2] = (char)('A' + i / 26);
        symbols[i] = (struct symbol){start, start + 1 + fixture_random(seed) % 60,
                                     names[i], SYM_RANK_LOCAL, true};
    }
    build(&table, symbols, COUNT(symbols), overlap);
    for (uint64_t address = 0; address < 270; address++) {
        assert_string_equal(name_at(&table, address),
                            model_at(symbols, COUNT(symbols), address, overlap));
    }
    assert_true(table.range_count <= 2 * COUNT(symbols));
    for (size_t i = 1; i < table.range_count; i++) {
        assert_true(table.ranges[i - 1].end <= table.ranges[i].start);
    }
    sym_table_finish(&table);
}

static void
random_symbols__every_address__as_in_model(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int round = 0; round < 300; round++) {
        compare_with_model(&seed, SYM_OVERLAP_INNERMOST);
        compare_with_model(&seed, SYM_OVERLAP_LATEST);
    }
}

static void
deep_nesting__hundred_thousand_symbols__found_at_both_ends(void **state)
{
    const uint64_t count = 100000;
    struct sym_table table = {0};

    (void)state;
    for (uint64_t i = 0; i < count; i++) {
        assert_true(
            sym_table_add(&table, &(struct sym_entry){.start = i,
                                                      .end = 4 * count - i,
                                                      .name = i == 0 ? "outer" : "in",
                                                      .sized = true}));
    }
    assert_true(sym_table_build(&table, SYM_OVERLAP_INNERMOST));
    assert_string_equal(name_at(&table, 0), "outer");
    assert_string_equal(name_at(&table, 4 * count - 1), "outer");
    assert_string_equal(name_at(&table, 2 * count), "in");
    sym_table_finish(&table);
}

static void
shown_name__versions_stubs_mangling__for_people(void **state)
{
    static const struct {
        const char *name, *shown, *system_name;
        uint32_t tag;
    } rows[] = {
        {"memcpy@@GLIBC_2.14", "memcpy", "memcpy@@GLIBC_2.14", SYM_TAG_VERSIONED},
        {"_ZN1a1bEv@VERSION", "a::b()", "_ZN1a1bEv@VERSION", SYM_TAG_VERSIONED},
        {"a@b@VERSION", "a@b", "a@b@VERSION", SYM_TAG_VERSIONED},
        {"@odd", "@odd", "@odd", SYM_TAG_VERSIONED},
        {"*Foo@Bar#baz<Int32>:Nil", "*Foo@Bar#baz<Int32>:Nil",
         "*Foo@Bar#baz<Int32>:Nil", 0},
        {"memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14", 0},
        {"fib@/srv/app/fib.rb:3", "fib@/srv/app/fib.rb:3@plt",
         "fib@/srv/app/fib.rb:3@plt", SYM_TAG_STUB},
        {"puts", "puts@plt", "puts@plt", SYM_TAG_STUB},
        {"_ZN1a1bEv", "a::b()@plt", "a::b()@plt", SYM_TAG_STUB},
        {"plain", "plain", "plain", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct sym_table table = {0};
        const char *shown;
        const char *system_name;

        assert_true(sym_table_add(&table, &(struct sym_entry){.end = 1,
                                                              .name = rows[i].name,
                                                              .tag = rows[i].tag,
                                                              .sized = true}));
        assert_true(sym_table_build(&table, SYM_OVERLAP_INNERMOST));
        assert_true(sym_range_name(sym_table_find(&table, 0), &shown, &system_name));
        assert_string_equal(shown, rows[i].shown);
        assert_string_equal(system_name, rows[i].system_name);
        sym_table_finish(&table);
    }
}

static void
expect_bound(const struct sym_table *table, uint64_t address, uint64_t origin)
{
    struct sym_range *const range = sym_table_find(table, address);
    const char *name = "";
    const char *system_name = "";

    assert_non_null(range);
    assert_int_equal(range->origin, origin);
    assert_false(sym_range_name(range, &name, &system_name));
    assert_null(name);
    assert_null(system_name);
}

static void
bounds__around_symbols__fill_gaps_and_end_those_without_size(void **state)
{
    static const struct symbol symbols[] = {
        {10, 20, "sized", SYM_RANK_LOCAL, true},
        {40, 100, "bare", SYM_RANK_LOCAL, false},
        {60, 64, "inner", SYM_RANK_LOCAL, true},
        {70, 100, "label", SYM_RANK_LOCAL, false},
    };
    static const struct expectation rows[] = {
        {10, "sized"}, {19, "sized"}, {40, "bare"},  {49, "bare"},
        {60, "inner"}, {63, "inner"}, {70, "label"}, {79, "label"},
    };
    struct sym_table table = {0};

    (void)state;
    assert_true(sym_table_add_bound(&table, 50, 80));
    assert_true(sym_table_add_bound(&table, 5, 30));
    assert_true(sym_table_add_bound(&table, 7, 7));
    assert_true(sym_table_add_bound(&table, 25, 35)); /* reaches out of another one */
    for (size_t i = 0; i < COUNT(symbols); i++) {
        assert_true(
            sym_table_add(&table, &(struct sym_entry){.start = symbols[i].start,
                                                      .end = symbols[i].end,
                                                      .name = symbols[i].name,
                                                      .sized = symbols[i].sized}));
    }
    assert_true(sym_table_build(&table, SYM_OVERLAP_INNERMOST));
    expect(&table, rows, COUNT(rows));
    expect_bound(&table, 5, 5);
    expect_bound(&table, 29, 5);
    expect_bound(&table, 34, 30);
    expect_bound(&table, 50, 50);
    expect_bound(&table, 69, 50);
    assert_null(sym_table_find(&table, 4));
    assert_null(sym_table_find(&table, 35));
    assert_null(sym_table_find(&table, 80));
    sym_table_finish(&table);
}

/* Bounds cover what nothing else does, and change no name where all have sizes. */
static void
bounds__random__every_address_as_without_or_bounded(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct sym_table plain = {0};
        struct sym_table table = {0};
        bool bounded[64] = {false};

        for (int i = 0; i < 12; i++) {
            const uint64_t start = fixture_random(&seed) % 60;
            const struct sym_entry entry = {.start = start,
                                            .end = start + fixture_random(&seed) % 20,
                                            .name = i % 2 == 0 ? "one" : "two",
                                            .sized = true};

            if (i % 3 != 0) {
                assert_true(sym_table_add(&plain, &entry));
                assert_true(sym_table_add(&table, &entry));
                continue;
            }
            assert_true(sym_table_add_bound(&table, entry.start, entry.end));
            for (uint64_t at = entry.start; at < entry.end && at < 64; at++) {
                bounded[at] = true;
            }
        }
        assert_true(sym_table_build(&plain, SYM_OVERLAP_INNERMOST));
        assert_true(sym_table_build(&table, SYM_OVERLAP_INNERMOST));
        for (uint64_t at = 0; at < 64; at++) {
            const struct sym_range *const range = sym_table_find(&table, at);
            const struct sym_range *const named = sym_table_find(&plain, at);

            assert_int_equal(range != NULL, named != NULL || bounded[at]);
            if (range != NULL) {
                assert_true((named == NULL ? NULL : named->name) == range->name);
                assert_true(range->origin <= at);
            }
        }
        sym_table_finish(&plain);
        sym_table_finish(&table);
    }
}

/* A forged name may be as long as its file. */
static void
name__longer_than_64_kib__not_added(void **state)
{
    struct sym_table table = {0};
    char *name = malloc(UINT16_MAX + 2);

    (void)state;
    assert_non_null(name);
    memset(name, 'x', UINT16_MAX + 1);
    name[UINT16_MAX + 1] = '\0';
    assert_true(sym_table_own(&table, name));
    assert_true(sym_table_add(
        &table, &(struct sym_entry){.end = 1, .name = name, .sized = true}));
    assert_true(sym_table_add(
        &table,
        &(struct sym_entry){.start = 1, .end = 2, .name = name + 1, .sized = true}));
    assert_true(sym_table_build(&table, SYM_OVERLAP_INNERMOST));
    assert_null(sym_table_find(&table, 0));
    assert_non_null(sym_table_find(&table, 1));
    sym_table_finish(&table);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sized_symbols__nested_and_crossing__innermost_covers),
        cmocka_unit_test(
            names_at_one_address__sized_global_plain__preferred_in_that_order),
        cmocka_unit_test(symbols_without_size__between_sized_ones__fill_gaps_only),
        cmocka_unit_test(empty_ranges_and_names__added__cover_nothing),
        cmocka_unit_test(random_symbols__every_address__as_in_model),
        cmocka_unit_test(deep_nesting__hundred_thousand_symbols__found_at_both_ends),
        cmocka_unit_test(shown_name__versions_stubs_mangling__for_people),
        cmocka_unit_test(bounds__around_symbols__fill_gaps_and_end_those_without_size),
        cmocka_unit_test(bounds__random__every_address_as_without_or_bounded),
        cmocka_unit_test(name__longer_than_64_kib__not_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
