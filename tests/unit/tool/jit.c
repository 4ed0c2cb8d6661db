/* SPDX-License-Identifier: MIT */
/* jit.c - perf maps that are remembered while their processes run. */
#include "record/collect/jit.h"

#include "base/time_limit.h"
#include "record/collect/jit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t start_ns = 1000000000;
static unsigned int stat_fails; /* at this call; 0: at none */

int __real_fstat64(int fd, struct stat *status);
int __wrap_fstat64(int fd, struct stat *status);

int
__wrap_fstat64(int fd, struct stat *status)
{
    if (stat_fails > 0 && --stat_fails == 0) {
        errno = EOVERFLOW;
        return -1;
    }
    return __real_fstat64(fd, status);
}

static const char *
path_of(pid_t pid)
{
    static char path[64];

    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
    return path;
}

static void
write_map(pid_t pid, const char *text)
{
    FILE *const file = fopen(path_of(pid), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int
remove_map(void **state)
{
    (void)state;
    unlink(path_of(getpid()));
    return 0;
}

static struct jits
begin(struct jit *jit, size_t maps_max)
{
    jit_init(jit);
    return (struct jits){.maps_max = maps_max, .next_ns = UINT64_MAX};
}

static void
end(struct jits *jits, struct jit *jit)
{
    jit_finish(jit);
    assert_int_equal(jits->maps_open, 0);
    jits_finish(jits);
}

/* Opens the perf map: what its text is, or NULL with errno. */
static const char *
read_map(struct jit *jit, pid_t pid)
{
    static char text[64];
    struct sym_perf_file file;
    const int error = jit_open(jit, (uint32_t)pid, &file);
    ssize_t size;

    if (error != 0) {
        errno = -error;
        return NULL;
    }
    size = pread(file.fd, text, sizeof(text) - 1, 0);
    assert_int_equal(size, file.size);
    text[size] = '\0';
    close(file.fd);
    return text;
}

static void
open__map_removed__the_one_that_was_kept(void **state)
{
    struct jit jit;
    struct jits jits = begin(&jit, 1);

    (void)state;
    write_map(getpid(), "one");
    jit_remember(&jits, &jit, (uint32_t)getpid(), NULL, 0, start_ns);
    assert_true(jit.settled);
    assert_int_equal(jits.maps_open, 1);
    assert_int_equal(jits.next_ns, UINT64_MAX); /* no look is needed */
    unlink(path_of(getpid()));
    for (int i = 0; i < 2; i++) {
        assert_string_equal(read_map(&jit, getpid()), "one");
    }
    end(&jits, &jit);
}

static void
open__kept_map_fails__its_reason(void **state)
{
    struct jit_file file = {.guessed = true, .pid = UINT32_MAX, .target.folder = -1};
    struct rlimit limit, less;

    (void)state;
    file.kept = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    assert_true(file.kept >= 0);
    stat_fails = 2; /* after that of sym_open_found */
    assert_int_equal(jit_file_open(1, &file), -EOVERFLOW);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    less = limit;
    less.rlim_cur = 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
    assert_int_equal(jit_file_open(1, &file), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    close(file.kept);
}

static void
open__map_replaced__the_one_with_the_name(void **state)
{
    struct jit jit;
    struct jits jits = begin(&jit, 1);

    (void)state;
    write_map(getpid(), "old");
    jit_remember(&jits, &jit, (uint32_t)getpid(), NULL, 0, start_ns);
    unlink(path_of(getpid()));
    write_map(getpid(), "new");
    assert_string_equal(read_map(&jit, getpid()), "new");
    unlink(path_of(getpid()));
    assert_string_equal(read_map(&jit, getpid()), "new"); /* kept instead */
    assert_int_equal(jits.maps_open, 1);
    end(&jits, &jit);
}

static void
open__no_room_to_keep_maps__by_name_only(void **state)
{
    struct jit jit;
    struct jits jits = begin(&jit, 0);

    (void)state;
    write_map(getpid(), "one");
    jit_remember(&jits, &jit, (uint32_t)getpid(), NULL, 0, start_ns);
    assert_true(jit.settled);
    assert_int_equal(jits.maps_open, 0);
    assert_string_equal(read_map(&jit, getpid()), "one");
    unlink(path_of(getpid()));
    assert_null(read_map(&jit, getpid()));
    assert_int_equal(errno, ENOENT);
    end(&jits, &jit);
}

static void
find_map__map_created_later__found_when_a_search_is_due(void **state)
{
    struct jit jit;
    struct jits jits = begin(&jit, 1);
    uint64_t first_ns;

    (void)state;
    jit_remember(&jits, &jit, (uint32_t)getpid(), NULL, 0, start_ns);
    assert_false(jit.settled);
    first_ns = jits.next_ns;
    assert_true(first_ns > start_ns);
    jit_find_map(&jit, (uint32_t)getpid(), first_ns);
    assert_true(jit.next_ns - first_ns > first_ns - start_ns); /* rarer */
    write_map(getpid(), "late");
    jit_find_map(&jit, (uint32_t)getpid(), jit.next_ns - 1);
    assert_false(jit.settled);
    jit_find_map(&jit, (uint32_t)getpid(), jit.next_ns);
    assert_true(jit.settled);
    unlink(path_of(getpid()));
    assert_string_equal(read_map(&jit, getpid()), "late");
    end(&jits, &jit);
}

static void
take__map_is_open__moved(void **state)
{
    struct jit taken;
    struct jit jit;
    struct jits jits = begin(&jit, 2);

    (void)state;
    jit_init(&taken);
    write_map(getpid(), "one");
    jit_remember(&jits, &jit, (uint32_t)getpid(), NULL, 0, start_ns);
    jit_take(&jit, &taken);
    jit_take(&jit, &taken); /* nothing new */
    assert_int_equal(jit.map, -1);
    assert_int_equal(jits.maps_open, 1);
    unlink(path_of(getpid()));
    assert_string_equal(read_map(&taken, getpid()), "one");
    /* The process executes another program, which has a perf map too. */
    write_map(getpid(), "two");
    jit_remember(&jits, &jit, (uint32_t)getpid(), NULL, 0, start_ns);
    assert_int_equal(jits.maps_open, 2);
    jit_take(&jit, &taken);
    assert_int_equal(jits.maps_open, 1);
    unlink(path_of(getpid()));
    assert_string_equal(read_map(&taken, getpid()), "two");
    jit_finish(&taken);
    end(&jits, &jit);
}

/* A pid that no process has, for now. */
static pid_t
exited_pid(void)
{
    const pid_t child = fork();

    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    unlink(path_of(child)); /* of a process that had the number before */
    return child;
}

static void
remember__process_exited__by_its_parent(void **state)
{
    const uint32_t ancestors[] = {(uint32_t)exited_pid(), (uint32_t)getpid()};
    const pid_t child = exited_pid();
    struct jit jit;
    struct jits jits = begin(&jit, 1);

    (void)state;
    write_map(child, "child");
    jit_remember(&jits, &jit, (uint32_t)child, ancestors, 2, start_ns);
    assert_true(jit.known);
    assert_int_equal(jit.target.pid, child);
    assert_int_equal(jit.target.uid, geteuid());
    unlink(path_of(child));
    assert_string_equal(read_map(&jit, child), "child");
    end(&jits, &jit);
}

/* Nothing is known of the user of the child. */
static void
open__process_exited_and_map_is_of_another_user__not_said_to_be_wrong(void **state)
{
    const uint32_t ancestors[] = {(uint32_t)getpid()};
    const pid_t child = exited_pid();
    struct jit jit;
    struct jits jits = begin(&jit, 1);

    (void)state;
    write_map(child, "child");
    if (chown(path_of(child), 12345, 12345) != 0) {
        unlink(path_of(child));
        print_message("only root may give a file away\n");
        skip();
    }
    jit_remember(&jits, &jit, (uint32_t)child, ancestors, 1, start_ns);
    assert_true(jit.known);
    assert_null(read_map(&jit, child));
    assert_int_equal(errno, ESRCH);
    unlink(path_of(child));
    end(&jits, &jit);
}

static void
remember__nobody_is_left__what_is_ours(void **state)
{
    const pid_t child = exited_pid();
    struct jit jit;
    struct jits jits = begin(&jit, 1);

    (void)state;
    jit_remember(&jits, &jit, (uint32_t)child, NULL, 0, start_ns);
    assert_false(jit.known);
    assert_null(read_map(&jit, child));
    assert_int_equal(errno, ESRCH);
    write_map(child, "child");
    assert_string_equal(read_map(&jit, child), "child");
    if (chown(path_of(child), 12345, 12345) == 0) {
        assert_null(read_map(&jit, child));
        assert_int_equal(errno, ESRCH);
    }
    unlink(path_of(child));
    end(&jits, &jit);
}

/* The user of this process changes after it was read. */
static void
open__user_changed__read_again(void **state)
{
    struct jit jit;
    struct jits jits = begin(&jit, 1);

    (void)state;
    if (geteuid() != 0) {
        print_message("only root may become another user\n");
        skip();
    }
    jit_remember(&jits, &jit, (uint32_t)getpid(), NULL, 0, start_ns);
    assert_int_equal(seteuid(12345), 0);
    write_map(getpid(), "user");
    jit_find_map(&jit, (uint32_t)getpid(), jit.next_ns);
    assert_int_equal(seteuid(0), 0);
    assert_true(jit.settled);
    assert_int_equal(jit.target.uid, 12345);
    end(&jits, &jit);
}

/* The last test, since what is refused stays so. */
static void
remember__file_system_does_not_answer__opens_nothing(void **state)
{
    const uint32_t pid = (uint32_t)getpid();
    struct jit jit;
    struct jits jits = begin(&jit, 1);

    (void)state;
    write_map(getpid(), "one");
    jit_remember(&jits, &jit, pid, NULL, 0, start_ns);
    assert_true(jit.settled);
    time_limit_set_late(jit_file_key(&pid, 1));
    assert_null(read_map(&jit, getpid()));
    assert_int_equal(errno, ETIMEDOUT);
    jit_finish(&jit);
    jit_init(&jit);
    jit_remember(&jits, &jit, pid, NULL, 0, start_ns);
    assert_false(jit.known);
    assert_null(read_map(&jit, getpid())); /* nor is it guessed */
    assert_int_equal(errno, ETIMEDOUT);
    end(&jits, &jit);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(open__map_removed__the_one_that_was_kept, remove_map),
        cmocka_unit_test(open__kept_map_fails__its_reason),
        cmocka_unit_test_teardown(open__map_replaced__the_one_with_the_name,
                                  remove_map),
        cmocka_unit_test_teardown(open__no_room_to_keep_maps__by_name_only, remove_map),
        cmocka_unit_test_teardown(
            find_map__map_created_later__found_when_a_search_is_due, remove_map),
        cmocka_unit_test_teardown(take__map_is_open__moved, remove_map),
        cmocka_unit_test(remember__process_exited__by_its_parent),
        cmocka_unit_test(
            open__process_exited_and_map_is_of_another_user__not_said_to_be_wrong),
        cmocka_unit_test(remember__nobody_is_left__what_is_ours),
        cmocka_unit_test_teardown(open__user_changed__read_again, remove_map),
        cmocka_unit_test_teardown(remember__file_system_does_not_answer__opens_nothing,
                                  remove_map),
    };

    return cmocka_run_group_tests_name("jit", tests, NULL, NULL);
}
