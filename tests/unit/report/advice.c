/* SPDX-License-Identifier: MIT */
/* advice.c - how to get the names of stripped images, below a table. */
#include "../profile/fixture.h"

#include "view/report/report.h"

static size_t asked;

static void
advise(struct report_advice *list, size_t count)
{
    asked = count;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].image->path, "/lib/unknown.so") != 0) {
            snprintf(list[i].text, sizeof(list[i].text), "install %s-dbgsym",
                     strrchr(list[i].image->path, '/') + 1);
            snprintf(list[i].server, sizeof(list[i].server), "https://server");
        }
    }
}

static void
advise_hostile(struct report_advice *list, size_t count)
{
    asked = count;
    snprintf(list[0].text, sizeof(list[0].text), "install \033[31m");
}

/* The lines below the table of a profile in which these images have so many hits
 * without names. */
static char *
lines_of(const char *const *paths, const uint64_t *hits, report_advise *advise_by)
{
    struct profile *const profile = profile_new();
    const uint32_t time = fixture_source(profile, "time", "100ns", 10000);
    const uint32_t process = fixture_process(profile, "p");
    const uint32_t function = fixture_function(profile, "main", "main");
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);

    assert_non_null(out);
    profile->bucket_bytes = 4;
    for (size_t i = 0; paths[i] != NULL; i++) {
        const uint32_t image =
            fixture_image(profile, paths[i], paths[i][0] == '/' ? "ab" : "");

        assert_true(
            profile_add_hits(profile, image, 0x10, process, 0, 0, time, hits[i]));
    }
    assert_true(profile_add_hits(profile, 0, 0x20, process, function, 0, time, 300));
    asked = 0;
    assert_true(report_print_statistics(out, profile, advise_by, false));
    assert_int_equal(fclose(out), 0);
    profile_delete(profile);
    return text;
}

static void
several_images__each_with_a_part_that_counts__is_asked_for(void **state)
{
    static const char *const paths[] = {"/lib/few.so", "/lib/libz.so",
                                        "/bin/python", "/lib/unknown.so",
                                        "[anon:7]",    NULL};
    static const uint64_t hits[] = {5, 100, 400, 95, 100};
    char *const text = lines_of(paths, hits, advise);

    (void)state;
    assert_int_equal(asked, 3);
    assert_non_null(strstr(text,
                           "ntprof: 70% of the hits have no names, most of them in "
                           "python: its symbols were stripped; install "
                           "python-dbgsym\n"));
    assert_non_null(strstr(text, "ntprof: 10% are in libz.so, stripped too; install "
                                 "libz.so-dbgsym\n"));
    assert_null(strstr(text, "unknown.so"));
    assert_null(strstr(text, "few.so"));
    assert_non_null(strstr(text, "report --symbolize adds names to a profile; with "
                                 "--debuginfod=https://server it"));
    free(text);
}

static void
nobody_knows__no_package_is_named(void **state)
{
    static const char *const paths[] = {"/lib/unknown.so", NULL};
    static const uint64_t hits[] = {700};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *const text = lines_of(paths, hits, i == 0 ? advise : NULL);

        assert_non_null(
            strstr(text, "its symbols were stripped, install its debug package\n"));
        assert_null(strstr(text, "--symbolize"));
        free(text);
    }
}

static void
few_without_names__nobody_is_asked(void **state)
{
    static const char *const paths[] = {"/lib/libz.so", NULL};
    static const uint64_t hits[] = {30};
    char *const text = lines_of(paths, hits, advise);

    (void)state;
    assert_int_equal(asked, 0);
    assert_null(strstr(text, "have no names"));
    free(text);
}

static void
hostile_advice__escaped(void **state)
{
    static const char *const paths[] = {"/lib/libz.so", NULL};
    static const uint64_t hits[] = {300};
    char *const text = lines_of(paths, hits, advise_hostile);

    (void)state;
    assert_non_null(strstr(text, "; install \\x1b[31m\n"));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_images__each_with_a_part_that_counts__is_asked_for),
        cmocka_unit_test(nobody_knows__no_package_is_named),
        cmocka_unit_test(few_without_names__nobody_is_asked),
        cmocka_unit_test(hostile_advice__escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
