/* SPDX-License-Identifier: MIT */
#include "symbols/border/demangle.h"
#include "fixture.h"

#include <stdio.h>
#include <string.h>

static void
mangled_names__of_each_language__for_people(void **state)
{
    static const struct {
        const char *mangled, *text;
    } rows[] = {
        {"_ZN3foo3barEv", "foo::bar()"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi",
         "std::vector<int, std::allocator<int> >::push_back(int const&)"},
        {"_ZN3foo3barEv.cold", "foo::bar() [clone .cold]"},
        {"_Z1fIJidEEvDpT_", "void f<int, double>(int, double)"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.99",
         "core::fmt::Formatter::pad"},
        {"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"},
        {"_RNvMCs1234_1aNtB2_1S1f", "<a::S>::f"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = sym_demangle(rows[i].mangled);

        assert_non_null(text);
        assert_string_equal(text, rows[i].text);
        free(text);
    }
}

static void
other_names__are_no_mangled_ones__null(void **state)
{
    static const char *const rows[] = {"",   "_",      "main",  "_start",
                                       "_Z", "_ZZ",    "_R",    "ZN3fooE",
                                       "i",  "_ZN3fo", "_Z1fDp"};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_null(sym_demangle(rows[i]));
    }
}

static void
long_names__deep_or_endless__no_crash(void **state)
{
    static const char *const pieces[] = {"P",  "F",  "N", "I",   "T_",
                                         "1a", "Dp", "K", "A1_", "M"};
    char *name = malloc(100001);

    (void)state;
    assert_non_null(name);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        static const char *const starts[] = {"_Z1f", "_ZN", "_RMC1a", "_RINvC1a1b"};
        const size_t step = strlen(pieces[i]);

        for (size_t start = 0; start < 4; start++) {
            for (size_t length = 500; length <= 100000; length *= 5) {
                size_t at = strlen(starts[start]);

                memcpy(name, starts[start], at);
                for (; at + step < length; at += step) {
                    memcpy(name + at, pieces[i], step);
                }
                name[at] = '\0';
                free(sym_demangle(name));
            }
        }
    }
    free(name);
}

/* A real name longer than libiberty's own limit of 1024 bytes. */
static void
long_name__honest__demangled(void **state)
{
    char name[2100] = "_ZN";
    char *text;

    (void)state;
    for (int i = 0; i < 150; i++) {
        strcat(name, "10abcdefghij");
    }
    strcat(name, "Ev");
    text = sym_demangle(name);
    assert_non_null(text);
    assert_int_equal(strlen(text), 150 * 12 - 2 + 2);
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mangled_names__of_each_language__for_people),
        cmocka_unit_test(other_names__are_no_mangled_ones__null),
        cmocka_unit_test(long_names__deep_or_endless__no_crash),
        cmocka_unit_test(long_name__honest__demangled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
