/* SPDX-License-Identifier: MIT */
/* Lists of processors, groups of 64, and where the caller runs. */
#include "fixture.h"

#include <sched.h>

static const char *online; /* instead of the kernel's list, if it is not NULL */

ssize_t __real_host_file_read(const char *path, char *text, size_t capacity);
ssize_t __wrap_host_file_read(const char *path, char *text, size_t capacity);

ssize_t
__wrap_host_file_read(const char *path, char *text, size_t capacity)
{
    return online != NULL ? snprintf(text, capacity, "%s", online)
                          : __real_host_file_read(path, text, capacity);
}

static void
parse__lists__groups_of_64(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        uint64_t first;
        uint64_t last;
    } rows[] = {
        {"0\n", 1, 1, 1},
        {"0", 1, 1, 1},
        {"0-3\n", 1, 0xF, 0xF},
        {"0-1,3,5-6\n", 1, 0x6B, 0x6B},
        {"63\n", 1, (uint64_t)1 << 63, (uint64_t)1 << 63},
        {"0-63\n", 1, UINT64_MAX, UINT64_MAX},
        {"0,64\n", 2, 1, 1},
        {"60-67\n", 2, (uint64_t)0xF << 60, 0xF},
        {"1,191\n", 3, 2, (uint64_t)1 << 63},
        {"0-8191\n", 128, UINT64_MAX, UINT64_MAX},
        {"0,4194303\n", 65536, 1, (uint64_t)1 << 63},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct host_processors processors = {0};

        assert_int_equal(host_processors_parse(rows[i].text, &processors), 0);
        assert_int_equal(processors.count, rows[i].count);
        assert_true(processors.groups[0] == rows[i].first);
        assert_true(processors.groups[processors.count - 1] == rows[i].last);
        host_processors_finish(&processors);
    }
}

static void
parse__hostile_text__refused_and_untouched(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        ",",
        "-",
        "0-",
        "-1",
        "0,",
        "0,,1",
        "3-1",
        "0 1",
        "0-1-2",
        "0x1",
        "a",
        "0\n1",
        "0-1\nx",
        " 0",
        "+1",
        "0,-1",
        "4194304",
        "0-4194304",
        "99999999999999999999999",
        "0-18446744073709551615",
        "1,0", /* the kernel's lists ascend */
        "0-2,2",
        "0-4194303,0-4194303",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t group = 5;
        struct host_processors processors = {.groups = &group, .count = 1};

        assert_int_equal(host_processors_parse(texts[i], &processors), -EINVAL);
        assert_ptr_equal(processors.groups, &group);
        assert_int_equal(processors.count, 1);
        assert_int_equal(group, 5);
    }
}

static size_t
count_active(void)
{
    size_t count = 0;

    for (USHORT i = 0; i < host.Table->GroupCount(host.Context); i++) {
        count +=
            (size_t)__builtin_popcountll(host.Table->ActiveProcessors(host.Context, i));
    }
    return count;
}

static void
active__this_machine__those_online(void **state)
{
    (void)state;
    assert_int_equal(count_active(), sysconf(_SC_NPROCESSORS_ONLN));
    assert_int_equal(host.Table->ActiveProcessors(host.Context,
                                                  host.Table->GroupCount(host.Context)),
                     0);
    assert_int_equal(host.Table->ActiveProcessors(host.Context, 65535), 0);
}

static void
current_group__this_thread__has_an_active_processor(void **state)
{
    const USHORT group = host.Table->CurrentGroup(host.Context);

    (void)state;
    assert_true(group < host.Table->GroupCount(host.Context));
    assert_true(host.Table->ActiveProcessors(host.Context, group) != 0);
}

static int
refresh_without_sys(void *argument)
{
    struct host_processors processors = {.read_ms = -1};
    cpu_set_t allowed;
    size_t count = 0;

    (void)argument;
    if (refuse_call(SYS_openat, ENOENT) ||
        sched_getaffinity(0, sizeof(allowed), &allowed)) {
        return 1;
    }
    host_processors_refresh(&processors);
    for (size_t i = 0; i < processors.count; i++) {
        count += (size_t)__builtin_popcountll(processors.groups[i]);
        for (unsigned int j = 0; j < 64; j++) {
            if ((processors.groups[i] >> j & 1) != 0 &&
                !CPU_ISSET(i * 64 + j, &allowed)) {
                return 2;
            }
        }
    }
    return count == (size_t)CPU_COUNT(&allowed) ? 0 : 3;
}

static int
refresh_without_anything(void *argument)
{
    struct host_processors processors = {.read_ms = -1};

    (void)argument;
    if (refuse_call(SYS_openat, ENOENT) || refuse_call(SYS_sched_getaffinity, EPERM)) {
        return 1;
    }
    host_processors_refresh(&processors);
    return processors.count == 1 && processors.groups[0] == 1 ? 0 : 2;
}

static void
refresh__no_sysfs__those_allowed_or_the_first(void **state)
{
    (void)state;
    assert_child_returns_0(refresh_without_sys, NULL);
    assert_child_returns_0(refresh_without_anything, NULL);
}

/* As lxcfs makes it for a container that may use so many processors. */
static void
refresh__list_without_the_own_processors__they_are_added(void **state)
{
    struct host_processors processors = {.read_ms = -1};
    cpu_set_t allowed;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    for (unsigned listed = 0; listed < 2; listed++) {
        online = listed == 0 ? "0\n" : "1023\n";
        processors.read_ms = -1;
        assert_int_equal(host_processors_refresh(&processors), 0);
        for (unsigned i = 0; i < 64 * processors.count; i++) {
            assert_int_equal(processors.groups[i / 64] >> i % 64 & 1,
                             i == 1023 * listed || CPU_ISSET(i, &allowed));
        }
    }
    assert_int_equal(processors.count, 16);
    online = NULL;
    host_processors_finish(&processors);
}

/* Within 100 ms the file is not read again; afterwards it is. */
static void
refresh__recently_read__kept(void **state)
{
    struct host_processors processors = {.read_ms = -1};
    uint64_t *groups;

    (void)state;
    host_processors_refresh(&processors);
    groups = processors.groups;
    groups[0] ^= 1;
    processors.read_ms += 1000000; /* read in the future: recent for a long time */
    host_processors_refresh(&processors);
    assert_ptr_equal(processors.groups, groups);
    assert_int_equal(processors.groups[0] & 1,
                     (host.Table->ActiveProcessors(host.Context, 0) & 1) ^ 1);
    processors.read_ms -= 1000000 + 101;
    host_processors_refresh(&processors);
    assert_int_equal(processors.groups[0] & 1,
                     host.Table->ActiveProcessors(host.Context, 0) & 1);
    host_processors_finish(&processors);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__lists__groups_of_64),
        cmocka_unit_test(parse__hostile_text__refused_and_untouched),
        host_test(active__this_machine__those_online),
        host_test(current_group__this_thread__has_an_active_processor),
        host_test(refresh__no_sysfs__those_allowed_or_the_first),
        host_test(refresh__list_without_the_own_processors__they_are_added),
        host_test(refresh__recently_read__kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
