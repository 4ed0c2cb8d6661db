/* SPDX-License-Identifier: MIT */
/* stacks.c - tables of a profile with stacks are those without, but for totals. */
#include "../profile/fixture.h"

#include "profile/group.h"
#include "view/report/report.h"

/* Return a report by these keys, to be freed. */
static char *
report(const struct profile *profile, const char *keys, enum report_format format)
{
    struct report_options options = {.format = format, .verbose = true};
    char *text = NULL;
    size_t size;
    FILE *const out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_true(report_keys_parse(keys, &options.by.keys));
    assert_true(report_print(out, profile, &options));
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Reports of profiles that differ in nothing but the stacks of rows. */
struct pair {
    struct profile *with;
    struct profile *without;
};

static struct pair
begin(void)
{
    const struct pair it = {fixture_stacks(), fixture_stacks()};

    assert_true(profile_remove_stacks(it.without));
    it.with->sources[0].stack_bytes = 0;
    it.with->sources[0].contexts = 0;
    it.with->sources[0].contexts_max = 0;
    assert_true(it.without->row_count < it.with->row_count);
    return it;
}

static void
end(struct pair it)
{
    profile_delete(it.with);
    profile_delete(it.without);
}

static bool
shows_totals(const struct profile *profile, enum report_key key)
{
    return report_shows_totals(profile, &(struct report_grouping){.keys = {{key}, 1}});
}

static void
report__keys_that_callers_have_no_part_in__as_without_stacks(void **state)
{
    const struct pair it = begin();
    size_t keys = 0;

    (void)state;
    for (enum report_key key = 0; key < REPORT_KEY_COUNT; key++) {
        for (enum report_format format = REPORT_TABLE;
             !shows_totals(it.with, key) && format <= REPORT_CSV; format++) {
            char *const with = report(it.with, report_key_name(key), format);
            char *const without = report(it.without, report_key_name(key), format);

            assert_string_equal(with, without);
            free(with);
            free(without);
            keys++;
        }
        assert_false(shows_totals(it.without, key));
    }
    assert_int_equal(keys, 8 * 3);
    end(it);
}

/* Each line of a table without stacks is there with a total behind it. */
static void
report__keys_of_functions_lines_and_images__rows_get_totals(void **state)
{
    const struct pair it = begin();

    (void)state;
    for (enum report_key key = 0; key < REPORT_KEY_COUNT; key++) {
        if (shows_totals(it.with, key)) {
            char *const with = report(it.with, report_key_name(key), REPORT_CSV);
            char *const without = report(it.without, report_key_name(key), REPORT_CSV);
            struct buffer line = {0};

            for (char *at = strtok(without, "\n"); at != NULL;
                 at = strtok(NULL, "\n")) {
                line.size = 0;
                buffer_print(&line, "%s,", at);
                assert_non_null(strstr(with, buffer_text(&line)));
            }
            buffer_finish(&line);
            free(with);
            free(without);
        }
    }
    end(it);
}

static void
report__by_function__callers_have_totals(void **state)
{
    const struct pair it = begin();
    char *const text = report(it.with, "function", REPORT_TABLE);

    (void)state;
    /* 74 of 296: rest itself, and the stacks that it is on; 79 and 8 likewise. */
    assert_non_null(strstr(text, " 10.14%  3.96%  25.00%    30  30.1ms  rest "));
    assert_non_null(strstr(text, "  0.00%  1.28%  26.69%     0      0s  main "));
    assert_non_null(
        strstr(text, "  0.00%  1.28%   2.70%     0      0s  [cut at 16 kB] "));
    assert_non_null(strstr(text, "\nstacks: 29.7% whole, 67.6% no stack, 2.7% "
                                 "cut at 16 kB\n"));
    free(text);
    end(it);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report__keys_that_callers_have_no_part_in__as_without_stacks),
        cmocka_unit_test(report__keys_of_functions_lines_and_images__rows_get_totals),
        cmocka_unit_test(report__by_function__callers_have_totals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
