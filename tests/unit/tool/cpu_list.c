/* SPDX-License-Identifier: MIT */
/* cpu_list.c - the kernel's list of processors: read whole, or not at all. */
#include "base/cpu_list.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char list[3 * CPU_LIST_TEXT_BYTES]; /* the kernel's */

FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

FILE *
__wrap_fopen64(const char *path, const char *mode)
{
    return strcmp(path, "/sys/devices/system/cpu/online") == 0
               ? fmemopen(list, strlen(list), "r")
               : __real_fopen64(path, mode);
}

static unsigned allowed; /* the only processor that this program may run on */

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);

int
__wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    CPU_ZERO_S(size, set);
    CPU_SET_S(allowed, size, set);
    return 0;
}

/* Every second processor from 0 on; as many characters as the list may have, or fewer
 * by less than those of a number. Returns their number. */
static unsigned long
fill(size_t characters)
{
    unsigned long cpus = 0;
    size_t size = 0;

    for (;;) {
        char item[16];
        const size_t length = (size_t)snprintf(item, sizeof(item), "%s%lu",
                                               size == 0 ? "" : ",", 2 * cpus);

        if (size + length > characters) {
            return cpus;
        }
        memcpy(list + size, item, length + 1);
        size += length;
        cpus++;
    }
}

static void
online__list_of_a_page__all_processors(void **state)
{
    const unsigned long cpus = fill(CPU_LIST_TEXT_BYTES - 2);
    uint64_t words[CPU_LIST_GROUPS] = {0};
    char text[CPU_LIST_TEXT_BYTES];
    unsigned long found = 0;

    (void)state;
    strcat(list, "\n");
    assert_true(cpu_list_read_online(text, words));
    assert_null(strchr(text, '\n'));
    for (size_t i = 0; i < CPU_LIST_GROUPS; i++) {
        found += (unsigned long)__builtin_popcountll(words[i]);
    }
    assert_int_equal(found, cpus);
}

/* As lxcfs makes it for a container that may use so many processors. */
static void
online__list_without_the_own_processor__it_is_added(void **state)
{
    static const struct {
        const char *list;
        unsigned allowed;
        const char *wanted;
    } rows[] = {
        {"0\n", 0, "0"},          {"0\n", 1, "0-1"},   {"0\n", 8191, "0,8191"},
        {"0-3\n", 64, "0-3,64"},  {"0,2\n", 1, "0-2"}, {"4-7,9\n", 2, "2,4-7,9"},
        {"62-63\n", 64, "62-64"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t words[CPU_LIST_GROUPS] = {0};
        uint64_t again[CPU_LIST_GROUPS] = {0};
        char text[CPU_LIST_TEXT_BYTES];

        strcpy(list, rows[i].list);
        allowed = rows[i].allowed;
        assert_true(cpu_list_read_online(text, words));
        assert_string_equal(text, rows[i].wanted);
        assert_true(cpu_list_parse(text, again));
        assert_memory_equal(words, again, sizeof(words));
    }
    allowed = 0;
}

static void
online__longer_list__not_taken_for_a_shorter_one(void **state)
{
    uint64_t words[CPU_LIST_GROUPS] = {0};
    char text[CPU_LIST_TEXT_BYTES];

    (void)state;
    (void)fill(CPU_LIST_TEXT_BYTES + 100);
    strcat(list, "\n");
    assert_false(cpu_list_read_online(text, words));
}

static void
parse__lists__their_processors_or_refused(void **state)
{
    static const char *const wrong[] = {"", ",", "1,", "2-1", "1-", "x", "0 ", "8192"};
    uint64_t words[CPU_LIST_GROUPS] = {0};

    (void)state;
    assert_true(cpu_list_parse("0,2-3,64\n", words));
    assert_int_equal(words[0], 13);
    assert_int_equal(words[1], 1);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(cpu_list_parse(wrong[i], words));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(online__list_of_a_page__all_processors),
        cmocka_unit_test(online__list_without_the_own_processor__it_is_added),
        cmocka_unit_test(online__longer_list__not_taken_for_a_shorter_one),
        cmocka_unit_test(parse__lists__their_processors_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
