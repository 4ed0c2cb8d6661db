/* SPDX-License-Identifier: MIT */
/* first_windows.c - what a page says to type for an empty store. */
#include "serve/page_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The commands for a store as JSON; the caller frees it. NULL if this build has no such
 * stores. */
static char *
commands(const char *text)
{
    struct buffer json = {0};
    struct pprof_error error = {.text = ""};
    struct store_url url;
    char *line = NULL;

    if (store_url_parse(text, INT64_MAX, &url, &error)) {
        page_data_put_commands(&json, text, &url);
        assert_false(json.failed);
        line = strdup(buffer_text(&json));
    } else {
        assert_non_null(strstr(error.text, "is without"));
    }
    store_url_finish(&url);
    buffer_finish(&json);
    return line;
}

static void
check(const char *text, const char *there, const char *not_there)
{
    char *const line = commands(text);

    if (line == NULL) {
        print_message("no such stores\n");
        skip();
    }
    if (strstr(line, there) == NULL || strstr(line, not_there) != NULL) {
        print_message("%s\n", line);
        fail();
    }
    free(line);
}

static void
commands__of_a_file__have_its_path_as_a_shell_takes_it(void **state)
{
    (void)state;
    check("sqlite:/none/s.db?since=1h&host=x", "agent --store sqlite:/none/s.db\"],",
          "since");
    check("sqlite:/none/it's $(x)", "store add 'sqlite:/none/it'\\\\''s $(x)' --host",
          "***");
    check("sqlite:/none/u:p@x/s.db", "sqlite:/none/u:p@x/s.db ", "***");
}

static void
commands__of_a_relative_path__make_it_absolute(void **state)
{
    char folder[] = "/tmp/ntprof-first-XXXXXX";
    char wanted[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    snprintf(wanted, sizeof(wanted), "--store sqlite:%s\"]", folder);
    check("sqlite:.", wanted, "sqlite:.");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void
commands__of_a_server__tell_neither_secrets_nor_where_they_are(void **state)
{
    (void)state;
    check("clickhouse://u@db/p?password-file=/etc/secret&host=x",
          "--store 'clickhouse://u@db/p?password-file=FILE'\"]", "/etc/secret");
    check("clickhouse://db/p", "store add clickhouse://db/p ntprof.pb.gz", "password");
}

static void
url__with_a_password__refused_without_it(void **state)
{
    struct pprof_error error = {.text = ""};
    struct store_url url;

    (void)state;
    assert_false(
        store_url_parse("clickhouses://u:hunter2@db/p", INT64_MAX, &url, &error));
    assert_string_not_equal(error.text, "");
    assert_null(strstr(error.text, "hunter2"));
    store_url_finish(&url);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands__of_a_file__have_its_path_as_a_shell_takes_it),
        cmocka_unit_test(commands__of_a_relative_path__make_it_absolute),
        cmocka_unit_test(
            commands__of_a_server__tell_neither_secrets_nor_where_they_are),
        cmocka_unit_test(url__with_a_password__refused_without_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
