/* SPDX-License-Identifier: MIT */
/* suggest.c - what a word was probably meant to be. */
#include "base/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"function", "line",   "image",  "address",
                                    "process",  "thread", "report", "cycles"};
static const struct suggest_word words[] = {
    {"dso", "image"}, {"comm", "process"}, {"cpu-cycles", "cycles"}, {0}};

static const char *
best(const char *text)
{
    struct suggestion suggestion;

    suggest_begin(&suggestion, text, strlen(text));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        suggest_offer(&suggestion, names[i]);
    }
    suggest_offer_words(&suggestion, words);
    return suggestion.best;
}

static void
suggest__near_words__the_nearest(void **state)
{
    static const struct {
        const char *text;
        const char *best;
    } cases[] = {
        {"functoin", "function"}, /* swapped */
        {"funtion", "function"},  /* left out */
        {"functionn", "function"}, {"Function", "function"},
        {"proces", "process"},     {"repotr", "report"},
        {"imgae", "image"},        {"func", "function"}, /* the start of it */
        {"add", "address"},        {"dso", "image"},     /* of another tool */
        {"DSO", "image"},          {"comm", "process"},
        {"cpu-cycle", "cycles"},   {"lin", "line"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const found = best(cases[i].text);

        if (found == NULL || strcmp(found, cases[i].best) != 0) {
            fail_msg("%s: %s", cases[i].text, found != NULL ? found : "none");
        }
    }
}

static void
suggest__far_words__none(void **state)
{
    static const char *const far[] = {"",        "x",           "fu", "zebra",   "tree",
                                      "fuktiom", "imagination", "--", "\xff\xfe"};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
        if (best(far[i]) != NULL) {
            fail_msg("%s: %s", far[i], best(far[i]));
        }
    }
    memset(text, 'l', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_null(best(text));
}

static void
append__with_and_without_room(void **state)
{
    struct suggestion suggestion;
    char text[40] = "no such key";
    char small[20] = "no such key";

    (void)state;
    suggest_begin(&suggestion, "lines,x", 5);
    assert_false(suggest_append(&suggestion, text, sizeof(text)));
    assert_string_equal(text, "no such key");
    suggest_offer(&suggestion, "line");
    assert_true(suggest_append(&suggestion, text, sizeof(text)));
    assert_string_equal(text, "no such key (did you mean line?)");
    assert_true(suggest_append(&suggestion, small, sizeof(small)));
    assert_string_equal(small, "no such key (did yo");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suggest__near_words__the_nearest),
        cmocka_unit_test(suggest__far_words__none),
        cmocka_unit_test(append__with_and_without_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
