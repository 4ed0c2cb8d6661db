/* SPDX-License-Identifier: MIT */
/* unit.c - units and containers by the paths of cgroups, and numbers of programs. */
#include "record/collect/unit.h"

#include "record/collect/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void
unit_of_path__paths_of_systemd_and_engines__what_people_call_it(void **state)
{
    static const struct {
        const char *path;
        const char *unit;
    } rows[] = {
        {"/", ""},
        {"", ""},
        {"//", ""},
        {"/system.slice/ssh.service", "ssh.service"},
        {"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"},
        {"/user.slice/user-1000.slice/session-3.scope", "session-3.scope"},
        {"/user.slice/user-1000.slice/user@1000.service/app.slice/a.service",
         "a.service"},
        {"/system.slice", "system.slice"},
        {"/user.slice/user-1000.slice", "user-1000.slice"},
        {"/system.slice/a.service/workers", "a.service"},
        {"/custom/group", "group"},
        {"/system.slice/docker-" ID ".scope", "0123456789ab"},
        {"/docker/" ID, "0123456789ab"},
        {"/docker/" ID "/system.slice/cron.service", "0123456789ab"},
        {"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope",
         "0123456789ab"},
        {"/x" ID, "x" ID}, /* no separator before it */
        {"/.service", ".service"},
    };
    char unit[UNIT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unit_of_path(rows[i].path, unit);
        assert_string_equal(unit, rows[i].unit);
    }
}

static void
unit_of_path__long_part__cut(void **state)
{
    char path[4096];
    char unit[UNIT_BYTES];

    (void)state;
    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    unit_of_path(path, unit);
    assert_int_equal(strlen(unit), UNIT_BYTES - 1);
}

static void
unit_of_cgroups__both_versions__the_one_that_is_used(void **state)
{
    static const struct {
        const char *text;
        const char *unit;
    } rows[] = {
        {"0::/system.slice/a.service\n", "a.service"},
        {"12:cpu:/b\n1:name=systemd:/system.slice/c.service\n0::/\n", "c.service"},
        {"1:name=systemd:/system.slice/c.service\n0::/d.scope\n", "d.scope"},
        {"5:memory:/x\n", ""},
        {"", ""},
        {"garbage\n:\n::\n0:\n0::\n", ""},
        {"0::/a:b.service\n", "a:b.service"},
    };
    char unit[UNIT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *const text = strdup(rows[i].text);

        unit_of_cgroups(text, unit);
        assert_string_equal(unit, rows[i].unit);
        free(text);
    }
}

static void
unit_read__a_process_and_none__only_that_of_the_process(void **state)
{
    char unit[UNIT_BYTES];

    (void)state;
    assert_true(unit_read((uint32_t)getpid(), unit));
    assert_false(unit_read(UINT32_MAX, unit));
}

static void
program_set__freed_number__given_to_the_next(void **state)
{
    struct program_set *const set = calloc(1, sizeof(*set));
    uint32_t number;

    (void)state;
    assert_non_null(set);
    set->max = PROGRAM_SET_MAX;
    assert_true(program_set_find(set, "a", "u", &number));
    assert_int_equal(number, 0);
    assert_true(program_set_find(set, "a", "v", &number));
    assert_int_equal(number, 1);
    assert_true(program_set_find(set, "a", "u", &number));
    assert_int_equal(number, 0);
    program_set_free(set, 0);
    assert_true(program_set_find(set, "b", "u", &number));
    assert_int_equal(number, 0);
    assert_int_equal(set->count, 2);
    program_set_finish(set);
    free(set);
}

static void
program_set__more_than_max__share_one(void **state)
{
    struct program_set *const set = calloc(1, sizeof(*set));
    uint32_t number;
    char name[16];

    (void)state;
    assert_non_null(set);
    set->max = PROGRAM_SET_MAX;
    for (int i = 0; i < PROGRAM_SET_MAX + 10; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        assert_true(program_set_find(set, name, "", &number));
        assert_int_equal(number, i < PROGRAM_SET_MAX ? i : PROGRAM_SET_MAX);
    }
    assert_string_equal(set->items[PROGRAM_SET_MAX].name, "[other]");
    program_set_finish(set);
    free(set);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            unit_of_path__paths_of_systemd_and_engines__what_people_call_it),
        cmocka_unit_test(unit_of_path__long_part__cut),
        cmocka_unit_test(unit_of_cgroups__both_versions__the_one_that_is_used),
        cmocka_unit_test(unit_read__a_process_and_none__only_that_of_the_process),
        cmocka_unit_test(program_set__freed_number__given_to_the_next),
        cmocka_unit_test(program_set__more_than_max__share_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
