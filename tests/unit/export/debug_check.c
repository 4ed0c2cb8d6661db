/* SPDX-License-Identifier: MIT */
/* debug_check.c - what is missing at a place, and when that is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the ones above, and setjmp.h. */
#include <setjmp.h>

#include <cmocka.h>

#include "view/export/debug_check.h"
#include "view/export/messages.h"

#include <string.h>

static const struct export_options options = {.format = "form"};

static enum debug_missing
look(const char *inner, uint32_t inner_line, const char *outer, uint32_t outer_start,
     const char *symbol)
{
    const struct sym_frame frames[] = {
        {.name = inner, .system_name = inner, .line = inner_line, .start_line = 1},
        {.name = outer, .system_name = outer, .line = 9, .start_line = outer_start}};
    const struct debug_place place = {.frames = frames, .count = 2, .symbol = symbol};

    return debug_check_place(&place);
}

static void
place__lacks_several__the_worst_is_told(void **state)
{
    const struct debug_place nothing = {.symbol = "f"};

    (void)state;
    assert_int_equal(debug_check_place(&nothing), DEBUG_MISSING_LINE);
    assert_int_equal(look("in", 3, "f", 2, "f"), DEBUG_MISSING_NOTHING);
    assert_int_equal(look("in", 3, "f", 2, "f.cold"), DEBUG_MISSING_NOTHING);
    assert_int_equal(look("in", 3, "_Z1fv", 2, "_Z1fv"), DEBUG_MISSING_NOTHING);
    assert_int_equal(look("in", 0, "f", 0, "_Z1fv"), DEBUG_MISSING_LINE);
    assert_int_equal(look("in", 3, "f", 0, "_Z1fv"), DEBUG_MISSING_DECLARATION);
    assert_int_equal(look("in", 3, "f", 2, "_Z1fv"), DEBUG_MISSING_LINKAGE_NAME);
    assert_int_equal(look("in", 3, "f", 2, "_RNv1f"), DEBUG_MISSING_LINKAGE_NAME);
    assert_int_equal(look("ns::in", 3, "f", 2, "f"), DEBUG_MISSING_LINKAGE_NAME);
    assert_int_equal(look("", 3, "f", 2, "f"), DEBUG_MISSING_LINKAGE_NAME);
}

static bool
pass(uint64_t good, uint64_t lines, uint64_t names, bool discriminators,
     struct export_messages *messages)
{
    const struct debug_check check = {
        .remedy = "-x",
        .hits = {[DEBUG_MISSING_NOTHING] = good,
                 [DEBUG_MISSING_LINE] = lines,
                 [DEBUG_MISSING_LINKAGE_NAME] = names},
        .discriminators = discriminators,
    };

    *messages = (struct export_messages){.error = ""};
    return debug_check_pass(&check, "app", &options, messages);
}

static void
hits__half_of_them_useless__refused_with_the_remedy(void **state)
{
    struct export_messages messages;

    (void)state;
    assert_true(pass(5, 0, 0, true, &messages));
    assert_string_equal(messages.note, "");
    assert_true(pass(5, 3, 1, true, &messages));
    assert_string_equal(messages.error, "");
    assert_string_equal(
        messages.note,
        "form: 4 of 9 hits are of no use: their code has no source lines");
    assert_false(pass(4, 1, 3, true, &messages));
    assert_string_equal(messages.error,
                        "form: the debug information of app has no linkage "
                        "names for 3 of 8 hits: compile with -x; gcc gives code "
                        "of local types, such as lambdas, none");
    assert_string_equal(messages.note, "");
    assert_false(pass(4, 3, 1, true, &messages));
    assert_string_equal(messages.error,
                        "form: the debug information of app has no source "
                        "lines for 3 of 8 hits: compile with -x");
    assert_false(pass(5, 0, 0, false, &messages));
    assert_string_equal(messages.error, "form: the debug information of app has no "
                                        "discriminators: compile with -x");
    assert_false(pass(0, 0, 0, true, &messages));
}

/* Whatever is cut, no part of a character stays. */
static void
messages__too_long__end_with_a_character(void **state)
{
    char text[sizeof(((struct export_messages *)0)->note) + 8];

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        struct export_messages messages = {.error = ""};
        size_t size = shift;

        memset(text, 'x', shift);
        while (size + 3 < sizeof(text)) {
            memcpy(text + size, "\xe2\x82\xac", 3); /* the sign of the euro */
            size += 3;
        }
        text[size] = '\0';
        assert_false(export_refuse(&messages, &options, "%s", text));
        assert_true(strlen(messages.error) > sizeof(messages.error) - 8);
        assert_int_equal((unsigned char)messages.error[strlen(messages.error) - 1],
                         0xac);
        export_note(&messages, &options, "%s", text);
        assert_int_equal((unsigned char)messages.note[strlen(messages.note) - 1], 0xac);
        export_note(&messages, &options, "%s", "more");
        export_note(&messages, &options, "%s", "more");
        assert_true(strlen(messages.note) < sizeof(messages.note));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(place__lacks_several__the_worst_is_told),
        cmocka_unit_test(hits__half_of_them_useless__refused_with_the_remedy),
        cmocka_unit_test(messages__too_long__end_with_a_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
