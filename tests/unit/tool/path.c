/* SPDX-License-Identifier: MIT */
/* path.c - paths without what people do not read. */
#include "base/path.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void
same_file__regular_files_by_any_name(void **state)
{
    char folder[] = "/tmp/ntprof-path-XXXXXX";
    char file[64];
    char other[64];
    char link[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/file", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    snprintf(link, sizeof(link), "%s/link", folder);
    assert_false(path_is_same_file(file, file)); /* that is not there */
    assert_int_equal(close(creat(file, 0600)), 0);
    assert_int_equal(close(creat(other, 0600)), 0);
    assert_int_equal(symlink("file", link), 0);
    assert_true(path_is_same_file(file, file));
    assert_true(path_is_same_file(file, link));
    assert_false(path_is_same_file(file, other));
    assert_false(path_is_same_file(folder, folder));
    assert_false(path_is_same_file("/dev/null", "/dev/null"));
    assert_int_equal(unlink(file) | unlink(other) | unlink(link) | rmdir(folder), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean__by_the_text_alone),
        cmocka_unit_test(file_name__behind_the_last_slash),
        cmocka_unit_test(last_part__all_of_a_path_that_ends_with_a_slash),
        cmocka_unit_test(same_file__regular_files_by_any_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
