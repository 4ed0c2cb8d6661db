/* SPDX-License-Identifier: MIT */
/* name_pattern.c - Go's regular expressions by POSIX's. */
#include "profile/name_pattern.h"
#include "fixture.h"

static bool
matches(const char *text, const char *name)
{
    struct name_pattern pattern;
    enum name_match match;
    char why[80] = "";

    if (!name_pattern_compile(&pattern, text, why, sizeof(why))) {
        fail_msg("%s: %s", text, why);
    }
    match = name_pattern_match(&pattern, name);
    name_pattern_finish(&pattern);
    assert_int_not_equal(match, NAME_MATCH_NO_MEMORY);
    return match == NAME_MATCHES;
}

/* Each as Go's regexp has it. */
static void
match__syntax_of_go__whole_names(void **state)
{
    static const struct {
        const char *text;
        const char *yes;
        const char *no;
    } cases[] = {
        {"malloc", "malloc", "malloc_usable_size"},
        {"malloc|free", "free", "do_free"},
        {"(?:tc_)?malloc", "tc_malloc", "my_malloc"},
        {"(?P<prefix>tc_)malloc", "tc_malloc", "malloc"},
        {"(base::)?Unlock.*", "base::UnlockSlow", "Lock"},
        {"runtime\\..*", "runtime.mallocgc", "runtime_mallocgc"},
        {"runtime\\.call[0-9]*", "runtime.call32", "runtime.callx"},
        {".*?alloc", "a.alloc", "alloc2"},
        {"a{2}", "aa", "a"},
        {"a{2,}", "aaaa", "a"},
        {"a{1,2}?", "aa", "aaa"},
        {"a{b", "a{b", "ab"},
        {"a}]", "a}]", "a"},
        {"v\\d+", "v12", "vd"},
        {"v\\D", "vd", "v1"},
        {"\\w+::\\w+", "a_1::b", "a-1::b"},
        {"a\\sb", "a b", "a_b"},
        {"a\\Sb", "a_b", "a b"},
        {"\\bnew\\b.*", "new[]", "newer"},
        {"operator\\+", "operator+", "operator"},
        {"a\\<b\\>", "a<b>", "ab"},
        {"a\\'b\\`", "a'b`", "ab"},
        {"[a-c]+", "abc", "abd"},
        {"[^a-c]+", "xyz", "xbz"},
        {"[]a]+", "]a", "["},
        {"[^]a]+", "b[", "]"},
        {"[\\]\\-^[]+", "]-^[", "\\"},
        {"[\\^]", "^", "\\"},
        {"[\\^\\[]", "[", "]"},
        {"[\\^-]+", "^-", "+"},
        {"[\\^\\[-]+", "^-[", "."},
        {"[\\w.$]+", "a.b$1", "a b"},
        {"[\\D]", "x", "1"},
        {"[[:alpha:]_]+", "ab_", "ab1"},
        {"[+-/]", ".", "0"},
        {"a\\tb[\\n]", "a\tb\n", "atbn"},
        {"(?i)malloc", "MALLOC", "calloc"},
        {"f.", "f\xff", "f"},
        {"\xc3\xa9+", "\xc3\xa9", "e"},
        {"^a$", "a", "b"},
        {"a|", "", "b"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!matches(cases[i].text, cases[i].yes) ||
            matches(cases[i].text, cases[i].no)) {
            fail_msg("%s: %s or %s", cases[i].text, cases[i].yes, cases[i].no);
        }
    }
}

static void
compile__what_posix_has_not__refused_with_the_reason(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"a\\", "a backslash at the end"},
        {"a\\1", "an escape that is not"},
        {"\\pL", "an escape that is not"},
        {"\\Qa\\E", "an escape that is not"},
        {"a(?i)b", "flags within it"},
        {"(?s:a)", "flags within it"},
        {"(?", "flags within it"},
        {"[a", "a class without an end"},
        {"[", "a class without an end"},
        {"[b-a]", "more than ASCII"},
        {"[\xc3\xa9]", "more than ASCII"},
        {"[[:none:]]", "unknown name"},
        {"[\\s\\S]", NULL},
        {"[^\\s\\S]", "a class without characters"},
        {"(a", "("},
        {"a{9999}{9999}", "too many repetitions"},
        {"((((a{100}){100}){100}){100}){100}", "too many repetitions"},
        {"a{3,2}", "too many repetitions"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct name_pattern pattern;
        char why[80] = "";
        const bool done =
            name_pattern_compile(&pattern, cases[i].text, why, sizeof(why));

        if (done != (cases[i].why == NULL) ||
            (!done && strstr(why, cases[i].why) == NULL)) {
            fail_msg("%s: %s", cases[i].text, why);
        }
        name_pattern_finish(&pattern);
    }
}

static void
compile__hostile_sizes__refused(void **state)
{
    struct name_pattern pattern;
    char text[5000];
    char why[80];

    (void)state;
    memset(text, '(', 60);
    memset(text + 60, ')', 60);
    text[120] = '\0';
    assert_false(name_pattern_compile(&pattern, text, why, sizeof(why)));
    assert_string_equal(why, "groups too deep in each other");
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_false(name_pattern_compile(&pattern, text, why, sizeof(why)));
    assert_string_equal(why, "more than 4 KiB");
    assert_int_equal(name_pattern_match(&pattern, "a"), NAME_DIFFERS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(match__syntax_of_go__whole_names),
        cmocka_unit_test(compile__what_posix_has_not__refused_with_the_reason),
        cmocka_unit_test(compile__hostile_sizes__refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
