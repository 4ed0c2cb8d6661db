/* SPDX-License-Identifier: MIT */
/* path.c - paths without what people do not read. */
#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
clean__by_the_text_alone(void **state)
{
    static const struct {
        const char *path;
        const char *clean;
    } cases[] = {
        {"/a/b", "/a/b"},
        {"/build/x/../src/a.c", "/build/src/a.c"},
        {"/build/x/../../src/a.c", "/src/a.c"},
        {"/a/b/c/../../d/./e//f.c", "/a/d/e/f.c"},
        {"/../../a.c", "/a.c"},
        {"//a.c", "/a.c"},
        {"/a/..", "/"},
        {"/a/b/..", "/a/"},
        {"/a/b/.", "/a/b/"},
        {"/a//", "/a/"},
        {"/", "/"},
        {"//", "/"},
        {"/.", "/"},
        {"/a/", "/a/"},
        {"/a/..b/...c/.d", "/a/..b/...c/.d"},
        {"", ""},
        {"../a//b.c", "../a//b.c"},
        {"file:///srv/../a.js", "file:///srv/../a.js"},
        {"[kernel]", "[kernel]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[64];

        strcpy(path, cases[i].path);
        assert_int_equal(path_is_unclean(path), strcmp(path, cases[i].clean) != 0);
        path_clean(path);
        assert_string_equal(path, cases[i].clean);
        assert_false(path_is_unclean(path));
    }
}

static void
file_name__behind_the_last_slash(void **state)
{
    (void)state;
    assert_string_equal(path_file_name("/lib/libc.so.6"), "libc.so.6");
    assert_string_equal(path_file_name("libc.so.6"), "libc.so.6");
    assert_string_equal(path_file_name("/lib/"), "");
    assert_string_equal(path_file_name(""), "");
}

static void
last_part__all_of_a_path_that_ends_with_a_slash(void **state)
{
    (void)state;
    assert_string_equal(path_last_part("/lib/libc.so.6"), "libc.so.6");
    assert_string_equal(path_last_part("libc.so.6"), "libc.so.6");
    assert_string_equal(path_last_part("/lib/"), "/lib/");
    assert_string_equal(path_last_part(""), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean__by_the_text_alone),
        cmocka_unit_test(file_name__behind_the_last_slash),
        cmocka_unit_test(last_part__all_of_a_path_that_ends_with_a_slash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
