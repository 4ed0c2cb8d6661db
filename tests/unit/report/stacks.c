/* SPDX-License-Identifier: MIT */
/* stacks.c - tables of a profile with stacks are those without. */
#include "../profile/fixture.h"

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

static void
report__each_key_with_stacks__as_without(void **state)
{
    struct profile *const profile = fixture_stacks();
    struct profile *const flat = fixture_stacks();

    (void)state;
    assert_true(profile_remove_stacks(flat));
    assert_true(flat->row_count < profile->row_count);
    for (enum report_key key = 0; key < REPORT_KEY_COUNT; key++) {
        for (enum report_format format = REPORT_TABLE; format <= REPORT_CSV; format++) {
            char *const with = report(profile, report_key_name(key), format);
            char *const without = report(flat, report_key_name(key), format);

            assert_string_equal(with, without);
            free(with);
            free(without);
        }
    }
    profile_delete(flat);
    profile_delete(profile);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report__each_key_with_stacks__as_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
