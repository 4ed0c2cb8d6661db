/* SPDX-License-Identifier: MIT */
/* config.c - the configuration file as words of a command line. */
#include "daemon/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
assert_refused(const char *text, const char *part)
{
    struct config config = {0};
    char error[300] = "";

    assert_false(config_parse(&config, text, error, sizeof(error)));
    if (strstr(error, part) == NULL) {
        fail_msg("%s: not in: %s", part, error);
    }
    config_finish(&config);
}

static void
config_parse__settings__words_in_their_order(void **state)
{
    struct config config = {0};
    char error[300];

    (void)state;
    assert_true(config_parse(&config,
                             "# a comment = 1\n\n  window = 10s  \r\nlabel=a=b c\n"
                             "no-lines = yes\n\tstore\t=\tsqlite:/x # y\nlabel = k=yes",
                             error, sizeof(error)));
    assert_int_equal(config.count, 5);
    assert_string_equal(config.words[0], "--window=10s");
    assert_string_equal(config.words[1], "--label=a=b c");
    assert_string_equal(config.words[2], "--no-lines=yes");
    assert_string_equal(config.words[3], "--store=sqlite:/x # y");
    assert_string_equal(config.words[4], "--label=k=yes");
    config_finish(&config);
    assert_null(config.words);
}

static void
config_parse__nothing__no_words(void **state)
{
    struct config config = {0};
    char error[300];

    (void)state;
    assert_true(config_parse(&config, "", error, sizeof(error)));
    assert_true(config_parse(&config, "\n\n#\n   ", error, sizeof(error)));
    assert_int_equal(config.count, 0);
    config_finish(&config);
}

static void
config_parse__what_is_no_setting__refused_with_its_line(void **state)
{
    (void)state;
    assert_refused("window = 1m\nwindow\n", "line 2");
    assert_refused("= 1\n", "line 1");
    assert_refused("\n\n[agent]\n", "line 3");
    assert_refused("--window = 1m\nWindow = 1m", "line 2");
    assert_refused("window = \n", "has no value");
    assert_refused("F = 49", "line 1: F is no long option's name");
    assert_refused("e = time", "e is no long option's name");
    assert_refused("max_cpu = 1%", "max_cpu is no long option's name");
    assert_refused("window 1m", "window 1m is not of the form name = value");
    assert_refused("\033[31m", "\\x1b");
}

static void
config_parse__too_many_settings__refused(void **state)
{
    char text[7 * (CONFIG_LINES_MAX + 2)] = "";
    char *end = text;

    (void)state;
    for (int i = 0; i <= CONFIG_LINES_MAX; i++) {
        end = stpcpy(end, "aa = b\n");
    }
    assert_refused(text, "line 1001");
}

static void
config_read__no_file_or_none_of_text__refused(void **state)
{
    static const struct {
        const char *path;
        const char *part;
    } rows[] = {
        {"/nonexistent", "No such file"},
        {"/dev/zero", "no regular file"},
        {"/", "no regular file"},
        {"/bin/sh", "too large"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct config config = {0};
        char error[300] = "";

        assert_false(config_read(&config, rows[i].path, error, sizeof(error)));
        if (strstr(error, rows[i].part) == NULL) {
            fail_msg("%s: %s", rows[i].path, error);
        }
        assert_int_equal(config.count, 0);
        config_finish(&config);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_parse__settings__words_in_their_order),
        cmocka_unit_test(config_parse__nothing__no_words),
        cmocka_unit_test(config_parse__what_is_no_setting__refused_with_its_line),
        cmocka_unit_test(config_parse__too_many_settings__refused),
        cmocka_unit_test(config_read__no_file_or_none_of_text__refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
