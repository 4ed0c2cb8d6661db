/* SPDX-License-Identifier: MIT */
/* runtimes.c - runtimes are recognised by names of processes and files. */
#include "view/report/runtimes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Adds hits of a process in an image at address 16. Returns the image's index. */
static uint32_t
add(struct profile *profile, const char *process, const char *path, uint64_t hits)
{
    const struct profile_image image = {.path = path, .build_id = "", .limit = 4096};
    struct profile_place place = {.address = 16};

    assert_true(profile_add_image(profile, &image, &place.image));
    assert_true(profile_add_process(profile, process, &place.process));
    assert_true(profile_add_hits_at(profile, &place, 0, hits));
    return place.image;
}

static struct profile *
begin(void)
{
    const struct profile_source source = {.name = "time", .unit = "nanoseconds"};
    struct profile *const profile = profile_new();
    uint32_t index;

    assert_non_null(profile);
    assert_true(profile_add_source(profile, &source, &index));
    return profile;
}

/* The option for a process of this name with hits in a file. */
static const char *
option_of(const char *process, const char *path)
{
    struct profile *const profile = begin();
    const uint32_t image = add(profile, process, "[anon:7]", 10);
    const char *option;

    add(profile, process, path, 1);
    assert_true(runtimes_find_option(profile, image, &option));
    profile_delete(profile);
    return option;
}

static void
find_option__each_runtime__its_own(void **state)
{
    static const char *const cases[][3] = {
        {"MainThread", "/usr/bin/node", "--perf-basic-prof"},
        {"MainThread", "/usr/lib/libnode.so.108", "--perf-basic-prof"},
        {"node", "/lib/libc.so.6", "--perf-basic-prof"},
        {"java", "/opt/jdk/lib/server/libjvm.so", "-XX:+DumpPerfMapAtExit"},
        {"app", "/usr/share/dotnet/libcoreclr.so", "DOTNET_PerfMapEnabled=1"},
        {"nginx", "/usr/lib/libluajit-5.1.so.2.1.0", "LUAJIT_USE_PERFTOOLS"},
        {"app", "/usr/bin/luajit-2.1.0-beta3", "LUAJIT_USE_PERFTOOLS"},
        {"1_scheduler", "/usr/lib/erlang/erts-13/bin/beam.smp", "+JPperf true"},
        {"app", "/usr/sbin/php-fpm8.2 (deleted)", "opcache.jit_debug=16"},
        {"app", "/usr/lib/libruby-3.3.so.3.3", "--yjit-perf"},
        {"app", "/usr/bin/qemu-system-x86_64", "-perfmap"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const option = option_of(cases[i][0], cases[i][1]);

        assert_non_null(option);
        assert_non_null(strstr(option, cases[i][2]));
    }
}

static void
find_option__others__none(void **state)
{
    (void)state;
    assert_null(option_of("app", "/usr/bin/app"));
    assert_null(option_of("node_exporter", "/usr/bin/node_exporter"));
    assert_null(option_of("nodejs-thing", "/usr/bin/javac"));
    assert_null(option_of("", "[kernel]"));
}

/* Files of other processes do not count. */
static void
find_option__other_process_has_a_runtime__none(void **state)
{
    struct profile *const profile = begin();
    const uint32_t image = add(profile, "app", "[anon:7]", 10);
    const char *option;

    (void)state;
    add(profile, "other", "/usr/bin/node", 1000);
    add(profile, "other", "[anon:7]", 1);
    assert_true(runtimes_find_option(profile, image, &option));
    assert_null(option);
    profile_delete(profile);
}

static char *
scripts(const char *path, uint64_t inside, uint64_t outside)
{
    struct profile *const profile = begin();
    struct buffer line = {0};
    char *text;

    if (inside > 0) {
        add(profile, "app", path, inside);
    }
    add(profile, "app", "/lib/libc.so.6", outside);
    runtimes_put_scripts(&line, profile, inside + outside);
    assert_false(line.failed);
    text = line.size > 0 ? strndup((const char *)line.data, line.size) : strdup("");
    buffer_finish(&line);
    profile_delete(profile);
    return text;
}

static void
put_scripts__many_hits_in_an_interpreter__said(void **state)
{
    static const char *const cases[][2] = {
        {"/usr/bin/python3.11", "Python scripts are not seen, 20% of the hits"},
        {"/usr/lib/libpython3.12.so.1.0", "py-spy"},
        {"/usr/bin/ruby3.1", "rbspy"},
        {"/usr/bin/php8.2", "Xdebug"},
        {"/usr/lib/libperl.so.5.36.0", "Devel::NYTProf"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *const text = scripts(cases[i][0], 20, 80);

        assert_non_null(strstr(text, cases[i][1]));
        assert_int_equal(text[strlen(text) - 1], '\n');
        free(text);
    }
}

static void
put_scripts__few_hits_or_no_interpreter__nothing(void **state)
{
    static const char *const paths[] = {"/usr/bin/python3.11", "/usr/bin/perlbench",
                                        "/usr/bin/pythonic"};
    static const uint64_t inside[] = {19, 100, 100};

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char *const text = scripts(paths[i], inside[i], 81);

        assert_string_equal(text, "");
        free(text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find_option__each_runtime__its_own),
        cmocka_unit_test(find_option__others__none),
        cmocka_unit_test(find_option__other_process_has_a_runtime__none),
        cmocka_unit_test(put_scripts__many_hits_in_an_interpreter__said),
        cmocka_unit_test(put_scripts__few_hits_or_no_interpreter__nothing),
    };

    return cmocka_run_group_tests_name("runtimes", tests, NULL, NULL);
}
