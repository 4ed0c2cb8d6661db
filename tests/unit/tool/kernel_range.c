/* SPDX-License-Identifier: MIT */
/* kernel_range.c - where kernel code may be, by /proc/kallsyms. */
#include "record/collect/kernel_range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static bool
read_range(const char *symbols, struct kernel_range *range)
{
    FILE *const file = fmemopen((void *)(uintptr_t)symbols, strlen(symbols), "r");
    bool found;

    assert_non_null(file);
    found = kernel_range_around_text(file, range);
    fclose(file);
    return found;
}

static void
around_text__moved_kernel__two_gigabytes_on_each_side(void **state)
{
    struct kernel_range range = {1, 2};

    (void)state;
    assert_true(read_range("ffffa3c4d0000000 t _head\n"
                           "ffffa3c4d0010000 T _text_of_another\n"
                           "ffffa3c4d0210000 T _text\n"
                           "ffffa3c4d0300000 T _text\n",
                           &range));
    assert_int_equal(range.begin, UINT64_C(0xffffa3c4d0200000) - (UINT64_C(2) << 30));
    assert_int_equal(range.length, UINT64_C(4) << 30);
}

/* As on Debian 12's kernel for arm64. */
static void
around_text__either_symbol__the_same_range(void **state)
{
    static const char *const symbols[] = {
        "ffffa3c4d0210000 T _text\nffffa3c4d0220000 T _stext\n",
        "ffffa3c4d0200000 t _head\nffffa3c4d0220000 T _stext\n",
        "ffffa3c4d0220000 t _stext\nffffa3c4d0220000 T _text\n",
        "ffffa3c4d0200000 T _stext_\nffffa3c450000000 t _stext\t[module]\n"
        "ffffa3c4d0220000 T _stext\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        struct kernel_range range = {1, 2};

        assert_true(read_range(symbols[i], &range));
        assert_int_equal(range.begin,
                         UINT64_C(0xffffa3c4d0200000) - (UINT64_C(2) << 30));
        assert_int_equal(range.length, UINT64_C(4) << 30);
    }
}

static void
doubt__symbols__says_what_is_missing(void **state)
{
    static const struct {
        const char *symbols;
        const char *doubt; /* a part of it; NULL: none */
    } cases[] = {
        {"ffffa3c4d0210000 T _text\n", NULL},
        {"ffffa3c4d0210000 T _stext\n", NULL},
        {"ffffa3c4d0210000 T start\n", "neither _text nor _stext"},
        {"0000000000000000 T _text\n0000000000000000 T _stext\n", "kptr_restrict"},
        {"\n", "kptr_restrict"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FILE *const file = fmemopen((void *)(uintptr_t)cases[i].symbols,
                                    strlen(cases[i].symbols), "r");
        const char *const doubt = kernel_range_doubt_of(file);

        assert_int_equal(doubt != NULL, cases[i].doubt != NULL);
        assert_true(doubt == NULL || strstr(doubt, cases[i].doubt) != NULL);
        fclose(file);
    }
    assert_non_null(strstr(kernel_range_doubt_of(NULL), "cannot be read"));
}

static void
around_text__hidden_or_missing_or_wrapping__left(void **state)
{
    static const char *const symbols[] = {
        "0000000000000000 T _text\n",
        "ffffa3c4d0210000 T main\n",
        "ffffffffffff0000 T _text\n",
        "_text\n",
        "0000000000000000 T _stext\n",
        "ffffa3c4d0210000 T _text\t[module]\n",
        "ffffa3c4d0210000",
        "ffffa3c4d0210000 \n",
        "x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        struct kernel_range range = {1, 2};

        assert_false(read_range(symbols[i], &range));
        assert_int_equal(range.begin, 1);
        assert_int_equal(range.length, 2);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(around_text__moved_kernel__two_gigabytes_on_each_side),
        cmocka_unit_test(around_text__either_symbol__the_same_range),
        cmocka_unit_test(doubt__symbols__says_what_is_missing),
        cmocka_unit_test(around_text__hidden_or_missing_or_wrapping__left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
