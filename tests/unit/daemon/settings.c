/* SPDX-License-Identifier: MIT */
/* settings.c - the agent's command line and its file together. */
#include "daemon/settings.h"
#include "base/options_place.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS_MAX = 8 };

/* Take a command line that ends with NULL. */
static bool
take(struct agent_settings *settings, const char *const *words)
{
    char *argv[WORDS_MAX + 2] = {(char *)"agent"};
    int argc = 1;
    int status;

    *settings = (struct agent_settings){.words = NULL};
    for (; argc <= WORDS_MAX && words[argc - 1] != NULL; argc++) {
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    }
    return agent_settings_take(settings, argc, argv, &status);
}

static void
write_config(char path[64], const char *text)
{
    FILE *file;
    int fd;

    strcpy(path, "/tmp/ntprof-config-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    fputs(text, file);
    fclose(file);
}

static void
agent_settings_take__nothing__defaults(void **state)
{
    struct agent_settings settings;

    (void)state;
    assert_true(take(&settings, (const char *const[]){"--config=/dev/null/x", NULL}) ==
                false);
    agent_settings_finish(&settings);
    assert_true(take(&settings, (const char *const[]){NULL}));
    assert_int_equal(settings.window_ns, UINT64_C(60000000000));
    assert_string_equal(settings.spool, "/var/lib/ntprof/spool");
    assert_int_equal(settings.spool_bytes, 256 << 20);
    assert_int_equal(settings.spool_age_ns, 7 * 24 * UINT64_C(3600000000000));
    assert_true(settings.max_cpu_percent == 1);
    assert_null(settings.store);
    assert_null(settings.listen);
    assert_true(settings.host[0] != '\0');
    assert_int_equal(settings.record.interval_100ns, (10000000 + 49) / 99);
    assert_int_equal(settings.record.bucket_bytes, 16);
    assert_int_equal(settings.record.memory_max, 128 << 20);
    agent_settings_finish(&settings);
}

static void
agent_settings_take__file_and_command_line__the_command_line_wins(void **state)
{
    struct agent_settings settings;
    char path[64];
    char option[96];

    (void)state;
    write_config(path, "window = 10s\nlabel = site=north\nfrequency = 49\n"
                       "spool-age = 2d\nno-lines = yes\nhost = yes\nmax-cpu = 2.5%\n");
    snprintf(option, sizeof(option), "--config=%s", path);
    assert_true(take(&settings, (const char *const[]){option, "--window", "5m",
                                                      "--label", "role=web=1", NULL}));
    assert_int_equal(settings.window_ns, UINT64_C(300000000000));
    assert_int_equal(settings.record.interval_100ns, (10000000 + 24) / 49);
    assert_int_equal(settings.spool_age_ns, 48 * UINT64_C(3600000000000));
    assert_true(settings.record.names.no_lines);
    assert_string_equal(settings.host, "yes");
    assert_true(settings.max_cpu_percent == 2.5);
    assert_int_equal(settings.label_count, 2);
    assert_string_equal(settings.labels[0].key, "site");
    assert_string_equal(settings.labels[0].value, "north");
    assert_string_equal(settings.labels[1].key, "role");
    assert_string_equal(settings.labels[1].value, "web=1");
    agent_settings_finish(&settings);
    unlink(path);
}

static void
agent_settings_take__addresses__loopback_unless_named(void **state)
{
    static const struct {
        const char *text;
        const char *host;
        int port;
    } rows[] = {{"6070", "127.0.0.1", 6070},
                {":6070", "127.0.0.1", 6070},
                {"0.0.0.0:80", "0.0.0.0", 80},
                {"[::1]:65535", "::1", 65535}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct agent_settings settings;
        const struct sockaddr_in *const v4 = (void *)&settings.address;
        const struct sockaddr_in6 *const v6 = (void *)&settings.address;
        char host[64];

        assert_true(
            take(&settings, (const char *const[]){"--listen", rows[i].text, NULL}));
        assert_non_null(inet_ntop(settings.address.ss_family,
                                  settings.address.ss_family == AF_INET
                                      ? (const void *)&v4->sin_addr
                                      : (const void *)&v6->sin6_addr,
                                  host, sizeof(host)));
        assert_string_equal(host, rows[i].host);
        assert_int_equal(ntohs(v4->sin_port), rows[i].port); /* at the same place */
        agent_settings_finish(&settings);
    }
}

static void
agent_settings_take__what_makes_no_sense__refused(void **state)
{
    static const char *const rows[][2] = {
        {"--window", "100ms"},
        {"--window", "7s"},
        {"--window", "2h"},
        {"--window", "1"},
        {"--spool", "relative"},
        {"--spool-size", "1k"},
        {"--spool-age", "1s"},
        {"--spool-age", "0d"},
        {"--spool-age", "d"},
        {"--max-cpu", "0"},
        {"--max-cpu", "nan"},
        {"--max-cpu", "101%"},
        {"--label", "x"},
        {"--label", "host=a"},
        {"--label", "A=b"},
        {"--label", "=b"},
        {"--label", "a="},
        {"--listen", "0"},
        {"--listen", "65536"},
        {"--listen", "localhost:80"},
        {"--listen", "1.2.3.4"},
        {"--listen", "::1:80"},
        {"--listen", "[::1]"},
        {"--store", "/path"},
        {"--store", "sqlite:x?a=b"},
        {"--host", ""},
        {"-F", "0"},
        {"-F", "max"},
        {"-e", ""},
        {"--bucket", "3"},
        {"--config", "/nonexistent"},
        {"--output", "x"},
        {"word", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct agent_settings settings;

        if (take(&settings, (const char *const[]){rows[i][0], rows[i][1], NULL})) {
            fail_msg("%s %s was accepted", rows[i][0], rows[i][1]);
        }
        agent_settings_finish(&settings);
    }
}

static void
agent_settings_take__file_within_a_file__refused(void **state)
{
    struct agent_settings settings;
    char path[64];

    (void)state;
    write_config(path, "config = /etc/passwd\n");
    assert_false(take(&settings, (const char *const[]){"--config", path, NULL}));
    agent_settings_finish(&settings);
    unlink(path);
}

/* getopt_long would take it for --config, whose file was read before. */
static void
agent_settings_take__short_for_config__refused(void **state)
{
    struct agent_settings settings;
    char path[64];
    char option[96];

    (void)state;
    write_config(path, "window = 10s\n");
    snprintf(option, sizeof(option), "--config=%s", path);
    assert_true(take(&settings, (const char *const[]){option, NULL}));
    agent_settings_finish(&settings);
    snprintf(option, sizeof(option), "--conf=%s", path);
    assert_false(take(&settings, (const char *const[]){option, NULL}));
    agent_settings_finish(&settings);
    unlink(path);
}

static size_t
count_options(const struct options_syntax *syntax)
{
    struct options_cursor cursor = {0};
    const struct options_row *row;
    size_t count = 0;

    while ((row = options_next(syntax, &cursor)) != NULL) {
        count += row->name != NULL;
    }
    return count;
}

/* Two tables, since defaults and so the help are others here. An agent leaves programs
 * their time, whatever its settings. */
static void
agent_options__passed_on__are_those_of_recordings(void **state)
{
    const struct options_row *const event = options_find(&agent_options, "event", 5);
    struct options_cursor cursor = {0};
    const struct options_row *row;
    size_t passed_on = 0;

    (void)state;
    assert_non_null(event);
    while ((row = options_next(&agent_options, &cursor)) != NULL) {
        const struct options_row *const found =
            row->name == NULL
                ? NULL
                : options_find(&agent_recording_options, row->name, strlen(row->name));

        if (row->name == NULL || row->take != event->take) {
            assert_null(found);
            continue;
        }
        assert_non_null(found);
        assert_int_equal(row->letter, found->letter);
        assert_int_equal(options_has_no_value(row), options_has_no_value(found));
        assert_int_equal(options_value_is_optional(row),
                         options_value_is_optional(found));
        passed_on++;
    }
    assert_non_null(options_find(&agent_recording_options, "no-guard", 8));
    assert_int_equal(count_options(&agent_recording_options), passed_on + 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agent_settings_take__nothing__defaults),
        cmocka_unit_test(
            agent_settings_take__file_and_command_line__the_command_line_wins),
        cmocka_unit_test(agent_settings_take__addresses__loopback_unless_named),
        cmocka_unit_test(agent_settings_take__what_makes_no_sense__refused),
        cmocka_unit_test(agent_settings_take__file_within_a_file__refused),
        cmocka_unit_test(agent_settings_take__short_for_config__refused),
        cmocka_unit_test(agent_options__passed_on__are_those_of_recordings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
