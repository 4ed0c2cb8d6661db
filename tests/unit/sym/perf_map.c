/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sym_map *
parse(const char *text)
{
    struct sym_map *map = sym_map_parse(text, strlen(text));

    assert_non_null(map);
    return map;
}

static void
assert_name(const struct sym_map *map, uint64_t address, const char *name)
{
    struct sym_name found;
    const char *module;
    const bool named = sym_map_lookup(map, address, &found, &module);

    assert_int_equal(named, name != NULL);
    assert_int_equal(found.address, address);
    assert_string_equal(module, "");
    if (name != NULL) {
        assert_string_equal(found.name, name);
    }
}

static void
lines__of_all_forms__parsed(void **state)
{
    struct sym_map *map = parse("1000 20 plain\n"
                                "0x2000 0x10 with spaces (and) ~things\n"
                                "3000 8 _ZN1a1bEv\r\n"
                                "  4000 8 indented\n"
                                "5000\t8\ttabs\n"
                                "ABCDEF00 ff UPPER\n"
                                "6000 10 last without newline");

    (void)state;
    assert_name(map, 0xfff, NULL);
    assert_name(map, 0x1000, "plain");
    assert_name(map, 0x101f, "plain");
    assert_name(map, 0x1020, NULL);
    assert_name(map, 0x200f, "with spaces (and) ~things");
    assert_name(map, 0x3000, "a::b()");
    assert_name(map, 0x4000, NULL);
    assert_name(map, 0x5007, "tabs");
    assert_name(map, 0xabcdef00, "UPPER");
    assert_name(map, 0x6008, "last without newline");
    sym_map_close(map);
}

static void
lines__damaged__passed_over(void **state)
{
    struct sym_map *map = parse("\n\n \n"
                                "1000\n1000 \n1000 10\n1000 10 \n"
                                "zz 10 no_number\n"
                                "1000 xx no_size\n"
                                "10000000000000000 10 too_wide\n"
                                "ffffffffffffffff 2 past_the_end\n"
                                "2000 0 empty\n"
                                "0x 10 nothing_behind_0x\n"
                                "3000 10 good\n");

    (void)state;
    assert_name(map, 0x1000, NULL);
    assert_name(map, 0x2000, NULL);
    assert_name(map, UINT64_MAX, NULL);
    assert_name(map, 0, NULL);
    assert_name(map, 0x3000, "good");
    sym_map_close(map);
    sym_map_close(parse(""));
}

static void
lines__overlapping__later_one_holds(void **state)
{
    struct sym_map *map = parse("1000 100 old\n"
                                "1040 10 middle\n"
                                "1080 100 tail\n"
                                "1048 4 young\n"
                                "1000 8 start\n");

    (void)state;
    assert_name(map, 0x1000, "start");
    assert_name(map, 0x1008, "old");
    assert_name(map, 0x1040, "middle");
    assert_name(map, 0x1048, "young");
    assert_name(map, 0x104c, "middle");
    assert_name(map, 0x1050, "old");
    assert_name(map, 0x1080, "tail");
    assert_name(map, 0x117f, "tail");
    assert_name(map, 0x1180, NULL);
    sym_map_close(map);

    map = parse("1010 10 inside\n1000 100 all_of_it\n");
    assert_name(map, 0x1018, "all_of_it");
    sym_map_close(map);
}

static void
bytes__with_nul_and_control__name_ends_at_nul(void **state)
{
    static const char bytes[] = "1000 10 ab\0cd\n2000 10 e\x1b[31m\n";
    struct sym_map *map = sym_map_parse(bytes, sizeof(bytes) - 1);

    (void)state;
    assert_non_null(map);
    assert_name(map, 0x1000, "ab");
    assert_name(map, 0x2000, "e\x1b[31m");
    sym_map_close(map);
}

static const char *
map_path(void)
{
    static char path[64];

    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    return path;
}

static int
remove_map(void **state)
{
    (void)state;
    unlink(map_path());
    return 0;
}

static void
process__wrote_a_map__names_found(void **state)
{
    static const char text[] = "7000 10 jitted\n";
    struct sym_map *map;

    (void)state;
    fixture_write(map_path(), text, strlen(text));
    map = sym_map_open_perf((uint32_t)getpid());
    assert_non_null(map);
    assert_name(map, 0x7008, "jitted");
    sym_map_close(map);
}

static void
process__wrote_no_map__enoent(void **state)
{
    (void)state;
    errno = 0;
    assert_null(sym_map_open_perf((uint32_t)getpid()));
    assert_int_equal(errno, ENOENT);
}

static void
map__no_plain_file__refused_without_blocking(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(map_path(), 0600), 0);
    assert_null(sym_map_open_perf((uint32_t)getpid()));
    assert_int_equal(errno, EINVAL);
    unlink(map_path());

    assert_int_equal(symlink("/proc/self/status", map_path()), 0);
    assert_null(sym_map_open_perf((uint32_t)getpid()));
    assert_int_equal(errno, ELOOP);
}

static void
map__of_another_user__refused(void **state)
{
    static const char text[] = "7000 10 forged\n";

    (void)state;
    fixture_write(map_path(), text, strlen(text));
    if (chown(map_path(), 12345, 12345) != 0) {
        skip(); /* only root can give a file away */
    }
    errno = 0;
    assert_null(sym_map_open_perf((uint32_t)getpid()));
    assert_int_equal(errno, EPERM);
}

/* The child is pid 1 of its namespace, with a root of its own. */
static void
sit_in_container(const char *root, int ready)
{
    const pid_t child = fork();

    if (child == 0) {
        if (chroot(root) == 0 && chdir("/") == 0) {
            (void)!write(ready, "", 1);
        }
        pause();
    }
    waitpid(child, NULL, 0);
    _exit(0);
}

static uint32_t
find_child_of(pid_t parent)
{
    char path[64];
    unsigned int child = 0;
    FILE *children;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    children = fopen(path, "re");
    if (children != NULL) {
        if (fscanf(children, "%u", &child) != 1) {
            child = 0;
        }
        fclose(children);
    }
    return child;
}

static void
process__in_a_container__its_root_and_its_own_pid(void **state)
{
    static const char text[] = "7000 10 contained\n";
    struct sym_map *map;
    int ready[2];
    char byte;
    pid_t parent;
    uint32_t child;

    fixture_make_folder(state);
    fixture_make_path("root/tmp");
    fixture_write(fixture_path("root/tmp/perf-1.map"), text, strlen(text));
    assert_int_equal(pipe(ready), 0);
    parent = fork();
    if (parent == 0) {
        close(ready[0]);
        if (unshare(CLONE_NEWPID) == 0) {
            sit_in_container(fixture_path("root"), ready[1]);
        }
        _exit(1);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1) {
        waitpid(parent, NULL, 0);
        close(ready[0]);
        fixture_remove_folder(state);
        skip(); /* not root */
    }
    child = find_child_of(parent);
    map = child == 0 ? NULL : sym_map_open_perf(child);
    if (child != 0) {
        kill((pid_t)child, SIGKILL);
    }
    waitpid(parent, NULL, 0);
    close(ready[0]);
    fixture_remove_folder(state);
    assert_non_null(map);
    assert_name(map, 0x7000, "contained");
    sym_map_close(map);
}

static void
process__has_ended__map_of_ours_is_read(void **state)
{
    static const char text[] = "7000 10 of_the_dead\n";
    const pid_t child = fork();
    struct sym_map *map;
    char path[64];

    (void)state;
    if (child == 0) {
        _exit(0);
    }
    waitpid(child, NULL, 0);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)child);
    fixture_write(path, text, strlen(text));
    map = sym_map_open_perf((uint32_t)child);
    unlink(path);
    assert_non_null(map);
    assert_name(map, 0x7000, "of_the_dead");
    sym_map_close(map);
}

static void
random_bytes__parsed__never_crash(void **state)
{
    static const char letters[] = "0123456789abcdefx \n\t\r";
    uint64_t seed = 7;
    char bytes[400];

    (void)state;
    for (int round = 0; round < 3000; round++) {
        const size_t size = fixture_random(&seed) % sizeof(bytes);
        struct sym_name name;
        const char *module;
        struct sym_map *map;

        for (size_t i = 0; i < size; i++) {
            bytes[i] = letters[fixture_random(&seed) % sizeof(letters)];
        }
        map = sym_map_parse(bytes, size);
        assert_non_null(map);
        for (uint64_t address = 0; address < 64; address++) {
            if (sym_map_lookup(map, address, &name, &module)) {
                assert_true(strlen(name.name) > 0);
            }
        }
        sym_map_close(map);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines__of_all_forms__parsed),
        cmocka_unit_test(lines__damaged__passed_over),
        cmocka_unit_test(lines__overlapping__later_one_holds),
        cmocka_unit_test(bytes__with_nul_and_control__name_ends_at_nul),
        cmocka_unit_test_teardown(process__wrote_a_map__names_found, remove_map),
        cmocka_unit_test(process__wrote_no_map__enoent),
        cmocka_unit_test_teardown(map__no_plain_file__refused_without_blocking,
                                  remove_map),
        cmocka_unit_test_teardown(map__of_another_user__refused, remove_map),
        cmocka_unit_test(process__in_a_container__its_root_and_its_own_pid),
        cmocka_unit_test(process__has_ended__map_of_ours_is_read),
        cmocka_unit_test(random_bytes__parsed__never_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
