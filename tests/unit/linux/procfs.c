/* SPDX-License-Identifier: MIT */
/* procfs.c - /proc's text, sound and unsound, and the map of numbers. */
#include "cmocka_all.h"

#include "hal/linux/idmap.h"
#include "hal/linux/procfs.h"

#include <errno.h>
#include <ntprof/notification.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void
parse__maps__executable_lines(void **state)
{
    char text[] =
        "55c05000-55c06000 r--p 00000000 fd:01 77   /bin/a b\n"
        "55c06000-55c08000 r-xp 00001000 fd:01 77   /bin/a b\n"
        "7f000000-7f001000 rwxp 00000000 00:00 0 \n"
        "7f100000-7f101000 r-xp 00000000 fd:01 9    /tmp/new\\012line (deleted)\n"
        "7fff0000-7fff2000 r-xp 00000000 00:00 0    [vdso]\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]";
    struct perf_mappings mappings = {0};

    (void)state;
    assert_int_equal(perf_procfs_parse_mappings(text, &mappings), 0);
    assert_int_equal(mappings.count, 5);
    assert_int_equal(mappings.items[0].base, 0x55c06000);
    assert_int_equal(mappings.items[0].length, 0x2000);
    assert_int_equal(mappings.items[0].file_offset, 0x1000);
    assert_int_equal(mappings.items[0].image->device_major, 0xfd);
    assert_int_equal(mappings.items[0].image->device_minor, 1);
    assert_int_equal(mappings.items[0].image->inode, 77);
    assert_int_equal(mappings.items[0].image->flags, 0);
    assert_string_equal(mappings.items[0].image->name, "/bin/a b");
    assert_string_equal(mappings.items[1].image->name, "//anon");
    assert_int_equal(mappings.items[1].image->flags, NTPROF_IMAGE_ANONYMOUS);
    assert_string_equal(mappings.items[2].image->name, "/tmp/new\nline (deleted)");
    assert_string_equal(mappings.items[3].image->name, "[vdso]");
    assert_string_equal(mappings.items[4].image->name, "[vsyscall]");
    perf_mappings_finish(&mappings);
}

static void
parse__nonsense__passed_over(void **state)
{
    char text[] = "\n\n"
                  "not a line\n"
                  "2000-1000 r-xp 0 0:0 1 /backwards\n"
                  "3000-3000 r-xp 0 0:0 1 /nothing\n"
                  "4000-5000 r-x\n"
                  "5000-6000 r-xp 0 0:0 5 /good\n"
                  "5800-7000 r-xp 0 0:0 6 /overlaps\n"
                  "1000-2000 r-xp 0 0:0 7 /below\n"
                  "99999999999999999999-999999999999999999999 r-xp 0 0:0 1 /huge";
    struct perf_mappings mappings = {0};

    (void)state;
    assert_int_equal(perf_procfs_parse_mappings(text, &mappings), 0);
    assert_int_equal(mappings.count, 2);
    assert_string_equal(mappings.items[0].image->name, "/below");
    assert_string_equal(mappings.items[1].image->name, "/good");
    perf_mappings_finish(&mappings);
}

__attribute__((noinline)) static void
code(void)
{
    __asm__ volatile("");
}

static void
mappings__own_process__holds_own_code(void **state)
{
    struct perf_mappings mappings = {0};
    bool found = false;

    (void)state;
    assert_int_equal(
        perf_procfs_mappings((uint32_t)getpid(), (uint32_t)getpid(), &mappings), 0);
    for (size_t i = 0; i < mappings.count; i++) {
        found = found ||
                (uintptr_t)code - mappings.items[i].base < mappings.items[i].length;
        assert_true(i == 0 ||
                    mappings.items[i].base >=
                        mappings.items[i - 1].base + mappings.items[i - 1].length);
    }
    assert_true(found);
    perf_mappings_finish(&mappings);
}

static void
all__no_such_process__esrch(void **state)
{
    /* Above the highest pid that a kernel can give. */
    const uint32_t none = 4194304 + 1;
    struct perf_mappings mappings = {0};
    struct perf_tids tids = {0};
    char name[8] = "before";

    (void)state;
    assert_int_equal(perf_procfs_mappings(none, none, &mappings), -ESRCH);
    assert_int_equal(perf_procfs_threads(none, &tids), -ESRCH);
    perf_procfs_name(none, name, sizeof(name));
    assert_string_equal(name, "");
    assert_int_equal(mappings.count, 0);
    assert_int_equal(tids.count, 0);
}

static void
threads__own_process__holds_the_caller(void **state)
{
    struct perf_tids tids = {0};

    (void)state;
    assert_int_equal(perf_procfs_threads((uint32_t)getpid(), &tids), 0);
    assert_true(perf_tids_contain(&tids, (uint32_t)gettid()));
    perf_tids_finish(&tids);
}

/* Threads that make the next one and end: at each instant there is at least one of each
 * chain. */
static struct chains {
    atomic_bool over;
    atomic_int running;
    atomic_bool broken; /* the next one could not be made */
} chains;

static void *
make_the_next(void *argument)
{
    pthread_t next;

    if (!atomic_load(&chains.over)) {
        if (pthread_create(&next, NULL, make_the_next, argument) == 0) {
            pthread_detach(next);
            return NULL;
        }
        atomic_store(&chains.broken, true);
    }
    atomic_fetch_sub(&chains.running, 1);
    return NULL;
}

static void
threads__that_make_the_next_and_end__none_missing(void **state)
{
    enum { CHAINS = 3, READINGS = 2000 };
    int whole = 0;

    (void)state;
    atomic_store(&chains.over, false);
    atomic_store(&chains.broken, false);
    atomic_store(&chains.running, CHAINS);
    for (size_t i = 0; i < CHAINS; i++) {
        pthread_t first;

        assert_int_equal(pthread_create(&first, NULL, make_the_next, NULL), 0);
        pthread_detach(first);
    }
    for (int i = 0; i < READINGS; i++) {
        struct perf_tids tids = {0};
        const int result = perf_procfs_threads((uint32_t)getpid(), &tids);

        assert_false(atomic_load(&chains.broken));
        assert_true(result >= 0);
        if (result == 0) {
            assert_true(tids.count >= 1 + CHAINS);
            whole++;
        }
        perf_tids_finish(&tids);
    }
    atomic_store(&chains.over, true);
    while (atomic_load(&chains.running) > 0) {
        usleep(1000);
    }
    assert_true(whole > 0);
}

static void
setting__missing__fallback(void **state)
{
    (void)state;
    assert_int_equal(perf_procfs_setting("kernel/no_such_setting", 42), 42);
    assert_true(perf_procfs_setting("kernel/pid_max", 0) > 0);
}

static void
available__memory__less_than_there_is(void **state)
{
    const uint64_t bytes = perf_procfs_available_bytes();

    (void)state;
    assert_true(bytes > 0);
    assert_true(bytes / (uint64_t)sysconf(_SC_PAGESIZE) <
                (uint64_t)sysconf(_SC_PHYS_PAGES));
}

/* Against a plain array, with ids that collide. */
static void
idmap__random_changes__as_an_array(void **state)
{
    enum { IDS = 700, ROUNDS = 40000 };
    static void *plain[IDS];
    static int values[IDS];
    struct perf_idmap map = {0};
    size_t count = 0;

    (void)state;
    srand(1);
    for (int i = 0; i < ROUNDS; i++) {
        const size_t n = (size_t)rand() % IDS;
        const uint64_t id = (uint64_t)n << 32 | n % 3;

        if (rand() % 2 == 0) {
            assert_int_equal(perf_idmap_put(&map, id, &values[n]), 0);
            count += plain[n] == NULL;
            plain[n] = &values[n];
        } else {
            assert_ptr_equal(perf_idmap_remove(&map, id), plain[n]);
            count -= plain[n] != NULL;
            plain[n] = NULL;
        }
        assert_int_equal(map.count, count);
    }
    for (size_t n = 0; n < IDS; n++) {
        assert_ptr_equal(perf_idmap_find(&map, (uint64_t)n << 32 | n % 3), plain[n]);
    }
    assert_null(perf_idmap_find(&map, 12345678901));
    perf_idmap_finish(&map);
    assert_null(perf_idmap_find(&map, 0));
    assert_null(perf_idmap_remove(&map, 0));
}

/* ---- whole processes ---- */

static void
processes__all__hold_the_caller(void **state)
{
    struct perf_tids pids = {0};

    (void)state;
    assert_int_equal(perf_tids_add(&pids, 77), 0);
    assert_int_equal(perf_procfs_processes(&pids), 0);
    assert_int_equal(pids.items[0], 77);
    assert_true(perf_tids_contain(&pids, (uint32_t)getpid()));
    for (size_t i = 0; i < pids.count; i++) {
        assert_true(pids.items[i] != 0);
    }
    perf_tids_finish(&pids);
}

static void
read__own_process__all_of_it(void **state)
{
    struct perf_reading reading;
    char name[64];

    (void)state;
    assert_int_equal(perf_procfs_read((uint32_t)getpid(), &reading), 0);
    perf_procfs_name((uint32_t)getpid(), name, sizeof(name));
    assert_string_equal(reading.name, name);
    assert_true(perf_tids_contain(&reading.tids, (uint32_t)getpid()));
    assert_true(reading.mappings.count > 0);
    perf_reading_finish(&reading);
    assert_int_equal(reading.tids.count + reading.mappings.count, 0);
}

/* A name may have any bytes but NUL, as perf's records of it have them. */
static void
name__with_newlines__whole(void **state)
{
    static const char *const names[] = {"bad\nname", "\nfirst", "last\n", "\n\n", ""};
    char before[16];
    char name[64];

    (void)state;
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
        perf_procfs_name((uint32_t)getpid(), name, sizeof(name));
        assert_string_equal(name, names[i]);
    }
    assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

/* Waits until the kernel says so of the process's main thread. */
static void
await_state(pid_t pid, char wanted)
{
    char path[64];
    char seen = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (seen != wanted) {
        FILE *const file = fopen(path, "re");

        assert_non_null(file);
        assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &seen), 1);
        fclose(file);
        usleep(1000);
    }
}

static void
read__ended_and_not_waited_for__told_apart(void **state)
{
    const pid_t child = fork();
    struct perf_reading reading;
    siginfo_t end;

    (void)state;
    if (child == 0) {
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
    assert_int_equal(perf_procfs_read((uint32_t)child, &reading), -ECHILD);
    perf_reading_finish(&reading);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(perf_procfs_read((uint32_t)child, &reading), -ESRCH);
    perf_reading_finish(&reading);
}

/* Is it on its way out, but not at the end of it? */
static bool
is_ending(pid_t pid)
{
    char path[64];
    char letter = 0;
    unsigned flags = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(
        fscanf(file, "%*d (%*[^)]) %c %*s %*s %*s %*s %*s %u", &letter, &flags), 2);
    fclose(file);
    return letter != 'Z' && (flags & 4) != 0;
}

/* What tells of its end may have been told already: who read it as running would never
 * hear of it. */
static void
read__ending__told_as_ended(void **state)
{
    enum { BYTES = 64 << 20 };
    bool seen = false;

    (void)state;
    while (!seen) {
        const pid_t child = fork();
        siginfo_t end = {0};

        if (child == 0) {
            /* So that its end takes a while. */
            char *const memory =
                mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

            _exit(memory == MAP_FAILED);
        }
        assert_true(child > 0);
        while (!seen && end.si_pid == 0) {
            if (is_ending(child)) {
                struct perf_reading reading;

                assert_int_equal(perf_procfs_read((uint32_t)child, &reading), -ECHILD);
                perf_reading_finish(&reading);
                seen = true;
            }
            assert_int_equal(
                waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT | WNOHANG), 0);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
}

static void *
sleep_for_ever(void *argument)
{
    for (;;) {
        pause();
    }
    return argument;
}

static void
read__main_thread_ended__the_others_are_there(void **state)
{
    const pid_t child = fork();
    struct perf_reading reading;

    (void)state;
    if (child == 0) {
        pthread_t thread;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0) {
            _exit(1);
        }
        syscall(SYS_exit, 0);
    }
    assert_true(child > 0);
    await_state(child, 'Z');
    assert_int_equal(perf_procfs_read((uint32_t)child, &reading), 0);
    assert_true(reading.tids.count > 0);
    assert_false(perf_tids_contain(&reading.tids, (uint32_t)child));
    assert_true(reading.mappings.count > 0);
    perf_reading_finish(&reading);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* The threads that a reading has seen may all have ended before their mappings are
 * read. */
static void
read__main_thread_ended_and_a_chain_goes_on__has_not_ended(void **state)
{
    enum { READINGS = 300 };
    const pid_t child = fork();
    int whole = 0;

    (void)state;
    if (child == 0) {
        pthread_t first;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        atomic_store(&chains.over, false);
        if (pthread_create(&first, NULL, make_the_next, NULL) != 0) {
            _exit(1);
        }
        syscall(SYS_exit, 0);
    }
    assert_true(child > 0);
    await_state(child, 'Z');
    for (int i = 0; i < READINGS; i++) {
        struct perf_reading reading;
        const int result = perf_procfs_read((uint32_t)child, &reading);

        assert_true(result == 0 || result == -EAGAIN);
        whole += result == 0;
        perf_reading_finish(&reading);
    }
    assert_true(whole > 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void
read__kernel_thread__has_no_mappings(void **state)
{
    struct perf_reading reading;
    char name[64];

    (void)state;
    perf_procfs_name(2, name, sizeof(name));
    if (strcmp(name, "kthreadd") != 0) {
        print_message("kernel threads are not of this pid namespace\n");
        skip();
    }
    assert_int_equal(perf_procfs_read(2, &reading), 0);
    assert_string_equal(reading.name, "kthreadd");
    assert_int_equal(reading.tids.count, 1);
    assert_int_equal(reading.mappings.count, 0);
    perf_reading_finish(&reading);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__maps__executable_lines),
        cmocka_unit_test(parse__nonsense__passed_over),
        cmocka_unit_test(mappings__own_process__holds_own_code),
        cmocka_unit_test(all__no_such_process__esrch),
        cmocka_unit_test(threads__own_process__holds_the_caller),
        cmocka_unit_test(threads__that_make_the_next_and_end__none_missing),
        cmocka_unit_test(setting__missing__fallback),
        cmocka_unit_test(available__memory__less_than_there_is),
        cmocka_unit_test(idmap__random_changes__as_an_array),
        cmocka_unit_test(processes__all__hold_the_caller),
        cmocka_unit_test(read__own_process__all_of_it),
        cmocka_unit_test(name__with_newlines__whole),
        cmocka_unit_test(read__ended_and_not_waited_for__told_apart),
        cmocka_unit_test(read__ending__told_as_ended),
        cmocka_unit_test(read__main_thread_ended__the_others_are_there),
        cmocka_unit_test(read__main_thread_ended_and_a_chain_goes_on__has_not_ended),
        cmocka_unit_test(read__kernel_thread__has_no_mappings),
    };

    return cmocka_run_group_tests_name("procfs", tests, NULL, NULL);
}
