/* SPDX-License-Identifier: MIT */
/* private_folder.c - folders that are made: for whom, with those above them. */
#include "base/private_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned int
mode_of(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void
make__with_folders_above__those_of_root_for_all_to_read(void **state)
{
    const mode_t mask = umask(022);
    char root[] = "/tmp/ntprof-folder-XXXXXX";
    char above[64];
    char folder[64];
    const char *why;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(root));
    snprintf(above, sizeof(above), "%s/above", root);
    snprintf(folder, sizeof(folder), "%s/above/own", root);
    fd = private_folder_make(folder, &why);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(mode_of(folder), 0700);
    assert_int_equal(mode_of(above), geteuid() == 0 ? 0755 : 0700);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(rmdir(above), 0);
    assert_int_equal(rmdir(root), 0);
    umask(mask);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make__with_folders_above__those_of_root_for_all_to_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
