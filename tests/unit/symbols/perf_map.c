/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "base/open_regular.h"
#include "symbols/client/perf_map.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A file with that text, which asserts read anew. */
static int
parse_bytes(const char *bytes, size_t size)
{
    const int fd = memfd_create("perf.map", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    return fd;
}

static int
parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static uint64_t
size_of(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    return (uint64_t)status.st_size;
}

static void
assert_named(const struct sym_map *map, uint64_t address, const char *name)
{
    struct sym_name found;
    const char *module;
    const bool named = sym_map_lookup(map, address, &found, &module);

    assert_int_equal(named, name != NULL);
    assert_int_equal(found.address, address);
    assert_string_equal(module, "");
    assert_false(found.has_start);
    if (name != NULL) {
        assert_string_equal(found.name, name);
    }
}

static void
assert_name(int fd, uint64_t address, const char *name)
{
    const struct sym_wanted wanted = {&address, 1, 1};
    struct sym_map *const map = sym_reader_perf_map(fd, size_of(fd), &wanted);

    assert_non_null(map);
    assert_named(map, address, name);
    sym_map_close(map);
}

static void
lines__of_all_forms__parsed(void **state)
{
    const int map = parse("1000 20 plain\n"
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
    close(map);
}

static void
lines__damaged__passed_over(void **state)
{
    int map = parse("\n\n \n"
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
    close(map);
    map = parse("");
    assert_name(map, 0, NULL);
    close(map);
}

static void
lines__overlapping__later_one_holds(void **state)
{
    int map = parse("1000 100 old\n"
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
    close(map);

    map = parse("1010 10 inside\n1000 100 all_of_it\n");
    assert_name(map, 0x1018, "all_of_it");
    close(map);
}

static void
bytes__with_nul_and_control__name_ends_at_nul(void **state)
{
    static const char bytes[] = "1000 10 ab\0cd\n2000 10 e\x1b[31m\n";
    const int map = parse_bytes(bytes, sizeof(bytes) - 1);

    (void)state;
    assert_name(map, 0x1000, "ab");
    assert_name(map, 0x2000, "e\x1b[31m");
    close(map);
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

/* Opens the perf map of a process, even of one that has exited. */
static int
open_file(uint32_t pid, struct sym_perf_file *file)
{
    struct sym_perf_target target;
    int error;

    if (sym_perf_target_read(pid, &target) != 0) {
        sym_perf_target_guess(pid, &target);
    }
    error = sym_perf_file_open(&target, file);
    close(target.folder);
    return error;
}

static int
open_map(uint32_t pid)
{
    struct sym_perf_file file;
    const int error = open_file(pid, &file);

    return error != 0 ? error : file.fd;
}

static void
process__wrote_a_map__names_found(void **state)
{
    static const char text[] = "7000 10 jitted\n";
    struct sym_perf_file file;
    struct stat status;

    (void)state;
    fixture_write(map_path(), text, strlen(text));
    assert_int_equal(open_file((uint32_t)getpid(), &file), 0);
    assert_int_equal(stat(map_path(), &status), 0);
    assert_int_equal(file.device, status.st_dev);
    assert_int_equal(file.inode, status.st_ino);
    assert_int_equal(file.size, strlen(text));
    assert_name(file.fd, 0x7008, "jitted");
    close(file.fd);
}

static void
process__wrote_no_map__enoent(void **state)
{
    (void)state;
    assert_int_equal(open_map((uint32_t)getpid()), -ENOENT);
}

static void
map__no_plain_file__refused_without_blocking(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(map_path(), 0600), 0);
    assert_int_equal(open_map((uint32_t)getpid()), -EINVAL);
    unlink(map_path());

    assert_int_equal(symlink("/proc/self/status", map_path()), 0);
    assert_int_equal(open_map((uint32_t)getpid()), -ELOOP);
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
    assert_int_equal(open_map((uint32_t)getpid()), -EPERM);
}

/* Who is root in a user namespace may write the perf maps of all its processes. */
static void
map__of_root_in_the_user_namespace__read(void **state)
{
    const struct sym_perf_target target = {.uid = 1000, .root_uid = 100000};
    static const uid_t owners[] = {0, 1000, 100000, 1001, 65534};
    struct sym_perf_file file;
    const int fd = memfd_create("perf.map", MFD_CLOEXEC);

    (void)state;
    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
        if (fchown(fd, owners[i], owners[i]) != 0) {
            close(fd);
            print_message("only root can give a file away\n");
            skip();
        }
        assert_int_equal(sym_perf_file_check(fd, &target, &file), i < 3 ? 0 : -EPERM);
    }
    close(fd);
}

/* The file was changed now, whatever mtime it is given. */
static void
map__changed_before_the_process_started__refused(void **state)
{
    static const struct timespec past[] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct sym_perf_target target = {.uid = geteuid()};
    struct sym_perf_file file;
    struct stat status;
    const int fd = memfd_create("perf.map", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(futimens(fd, past), 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(sym_perf_file_check(fd, &target, &file), 0);
    target.started_s = (uint64_t)status.st_ctim.tv_sec + 1;
    assert_int_equal(sym_perf_file_check(fd, &target, &file), 0);
    target.started_s++;
    assert_int_equal(sym_perf_file_check(fd, &target, &file), -EOWNERDEAD);
    close(fd);
}

/* A process's name may look like the fields of /proc/PID/stat that follow it. */
static void
process__start__read(void **state)
{
    const time_t before = time(NULL);
    struct sym_perf_target target;
    char name[16];
    pid_t child;

    (void)state;
    assert_int_equal(prctl(PR_GET_NAME, name), 0);
    assert_int_equal(prctl(PR_SET_NAME, "a) R 1 1 1 1 1"), 0);
    child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_int_equal(prctl(PR_SET_NAME, name), 0);
    assert_int_equal(sym_perf_target_read((uint32_t)child, &target), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(target.folder);
    /* It is known to a clock tick, so it may seem to be in the second before. */
    assert_in_range(target.started_s, before - 1, time(NULL));
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
    int map;
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
    map = child == 0 ? -1 : open_map(child);
    if (child != 0) {
        kill((pid_t)child, SIGKILL);
    }
    waitpid(parent, NULL, 0);
    close(ready[0]);
    fixture_remove_folder(state);
    assert_true(map >= 0);
    assert_name(map, 0x7000, "contained");
    close(map);
}

static void
process__has_ended__map_of_ours_is_read(void **state)
{
    static const char text[] = "7000 10 of_the_dead\n";
    const pid_t child = fork();
    char path[64];
    int map;

    (void)state;
    if (child == 0) {
        _exit(0);
    }
    waitpid(child, NULL, 0);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)child);
    fixture_write(path, text, strlen(text));
    map = open_map((uint32_t)child);
    unlink(path);
    assert_true(map >= 0);
    assert_name(map, 0x7000, "of_the_dead");
    close(map);
}

/* Bytes that the reader takes at once, as in perf_map.c. */
#define CHUNK_BYTES 65536

static void
lines__across_pieces_of_the_file__whole(void **state)
{
    char *const text = malloc((size_t)4 * CHUNK_BYTES);
    char want[40];

    (void)state;
    assert_non_null(text);
    /* The line begins at each place around the end of what is read first. */
    for (size_t before = 0; before < 40; before++) {
        const size_t size = (size_t)2 * CHUNK_BYTES;
        const size_t at = CHUNK_BYTES - 30 + before;
        int fd;

        memset(text, '\n', size);
        snprintf(want, sizeof(want), "line number %zu", before);
        snprintf(text + at, 64, "7000 10 %s", want);
        text[at + strlen(text + at)] = '\n';
        fd = parse_bytes(text, size);
        assert_name(fd, 0x700f, want);
        close(fd);
    }
    free(text);
}

static void
line__longer_than_is_kept__its_beginning(void **state)
{
    static const size_t sizes[] = {1000,  1023,   1024,   1025,
                                   65535, 131072, 200000, 262144};
    static const uint64_t places[] = {0x6000, 0x7000, 0x8000};
    const struct sym_wanted wanted = {places, 3, 4};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *const text = malloc(sizes[i] + 64);
        struct sym_name name;
        struct sym_map *map;
        const char *module;
        size_t size;
        int fd;

        assert_non_null(text);
        size = (size_t)sprintf(text, "6000 8 before\n7000 10 ");
        memset(text + size, 'x', sizes[i]);
        size += sizes[i];
        size += (size_t)sprintf(text + size, "\n8000 8 after\n");
        fd = parse_bytes(text, size);
        map = sym_reader_perf_map(fd, size, &wanted);
        assert_non_null(map);
        assert_named(map, 0x6000, "before");
        assert_named(map, 0x8003, "after");
        assert_true(sym_map_lookup(map, 0x7000, &name, &module));
        assert_int_equal(strspn(name.name, "x"), strlen(name.name));
        assert_int_equal(strlen(name.name), sizes[i] > 1016 ? 1016 : sizes[i]);
        sym_map_close(map);
        close(fd);
        free(text);
    }
}

/* Ranges that begin and end within a bucket name it too. */
static void
lines__of_code_within_a_bucket__kept(void **state)
{
    const uint64_t places[] = {0x2000, 0x1000, UINT64_MAX - 15};
    const struct sym_wanted wanted = {places, 3, 16};
    const int fd = parse("1004 4 inside\n100c 0 empty\n1010 4 behind\nffc 4 before\n"
                         "2002 2 first\n2006 2 second\nfffffffffffffff4 4 last\n");
    struct sym_map *const map = sym_reader_perf_map(fd, size_of(fd), &wanted);
    struct sym_name name;
    const char *module;

    (void)state;
    assert_non_null(map);
    assert_named(map, 0x1004, "inside");
    assert_named(map, 0xffc, NULL);
    assert_named(map, 0x1010, NULL);
    assert_named(map, UINT64_MAX - 11, "last");
    assert_true(sym_map_lookup_bucket(map, 0x1000, 16, &name, &module));
    assert_string_equal(name.name, "inside");
    assert_true(sym_map_lookup_bucket(map, 0x2000, 16, &name, &module));
    assert_string_equal(name.name, "second");
    sym_map_close(map);
    close(fd);
}

/* A bucket is named by code that has some of its bytes. */
static void
lines__of_what_is_not_wanted__not_kept(void **state)
{
    const uint64_t places[] = {0x2000, 0x1000, 0x1ffe};
    const struct sym_wanted wanted = {places, 3, 4};
    const int fd = parse("1000 10 first\n1100 10 never\n1ff0 11 first_byte\n"
                         "2001 10 last_byte\n3000 10 never\n");
    struct sym_map *const map = sym_reader_perf_map(fd, size_of(fd), &wanted);

    (void)state;
    assert_non_null(map);
    assert_named(map, 0x1000, "first");
    assert_named(map, 0x1100, NULL);
    assert_named(map, 0x1ffe, "first_byte");
    assert_named(map, 0x2000, "first_byte");
    assert_named(map, 0x2003, "last_byte");
    assert_named(map, 0x3000, NULL);
    sym_map_close(map);
    close(fd);
}

/* 200,000 lines that each cover all of 100,000 places: each pair would take minutes. */
static void
lines__that_cover_everything__each_place_found_once(void **state)
{
    const size_t places_count = 100000;
    uint64_t *const places = calloc(places_count, sizeof(*places));
    struct sym_wanted wanted = {places, places_count, 4};
    struct sym_map *map;
    FILE *stream;
    int fd;

    (void)state;
    fd = memfd_create("perf.map", MFD_CLOEXEC);
    stream = fdopen(dup(fd), "w");
    assert_non_null(stream);
    assert_non_null(places);
    for (size_t i = 0; i < places_count; i++) {
        places[i] = 0x1000 + 16 * i;
    }
    for (int i = 0; i < 200000; i++) {
        fprintf(stream, "0 ffffffff all_%d\n", i);
    }
    fclose(stream);
    map = sym_reader_perf_map(fd, size_of(fd), &wanted);
    assert_non_null(map);
    assert_named(map, 0x1000, "all_199999");
    assert_named(map, 0x1000 + 16 * 99999, "all_199999");
    sym_map_close(map);
    close(fd);
    free(places);
}

/* Code that was reused again and again: parts of older lines lie around the newest one.
 * As sent by the process that reads the map. */
static void
lines__of_reused_code__the_places_keep_their_names(void **state)
{
    const uint64_t places[] = {0x10f0, 0x1050, 0x1050};
    const struct sym_wanted wanted = {places, 3, 1};
    const int fd =
        parse("1000 100 oldest\n1008 f0 older\n1010 e0 old\n1018 d0 late\n"
              "1020 c0 later\n1028 b0 latest\n1030 a0 newer\n1038 90 newest\n");
    struct sym_map *const map = sym_map_read_perf(fd, size_of(fd), &wanted);

    (void)state;
    assert_non_null(map);
    assert_named(map, 0x1050, "newest");
    assert_named(map, 0x10f0, "older");
    assert_named(map, 0x1004, NULL);
    sym_map_close(map);
    close(fd);
}

static void
map__shorter_than_it_was__estale(void **state)
{
    const uint64_t place = 0x1000;
    const struct sym_wanted wanted = {&place, 1, 4};
    const int fd = parse("1000 10 first\n");

    (void)state;
    errno = 0;
    assert_null(sym_reader_perf_map(fd, 1000, &wanted));
    assert_int_equal(errno, ESTALE);
    close(fd);
}

static void
map__shared__closed_by_each(void **state)
{
    const uint64_t place = 0x1000;
    const struct sym_wanted wanted = {&place, 1, 4};
    const int fd = parse("1000 10 first\n");
    struct sym_map *const map = sym_reader_perf_map(fd, size_of(fd), &wanted);

    (void)state;
    assert_non_null(map);
    assert_ptr_equal(sym_map_share(map), map);
    sym_map_close(map);
    assert_named(map, 0x1000, "first");
    sym_map_close(map);
    close(fd);
}

/* In a namespace of its own has a file mounted over its perf map, and says so. */
static void
sit_with_mount(const char *from, int ready)
{
    char path[64];

    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    fixture_write(path, "7000 10 hidden\n", 15);
    if (unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount(from, path, NULL, MS_BIND, NULL) == 0) {
        (void)!write(ready, "", 1);
        pause();
    }
    _exit(1);
}

/* What opening its perf map gives; -ENOTSUP: nobody may mount here. */
static int
open_mounted(const char *from)
{
    int result = -ENOTSUP;
    char path[64];
    int ready[2];
    pid_t child;
    char byte;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        close(ready[0]);
        sit_with_mount(from, ready[1]);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1) {
        result = open_map((uint32_t)child);
    }
    close(ready[0]);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)child);
    unlink(path);
    return result;
}

static void
map__mounted_over__refused(void **state)
{
    char path[] = "/tmp/ntprof-XXXXXX";
    const int fd = mkstemp(path);
    int result;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    result = open_mounted(path);
    unlink(path);
    if (result == -ENOTSUP) {
        skip(); /* only root can mount */
    }
    assert_int_equal(result, -EXDEV);
    assert_int_equal(open_mounted("/proc/version"), -EXDEV);
}

static void
file__of_proc_or_sys__refused(void **state)
{
    int folder;
    int fd;

    (void)state;
    assert_int_equal(sym_open_regular("", "/proc/version"), -EMEDIUMTYPE);
    assert_int_equal(sym_open_regular("/proc/self/root", "/proc/version"),
                     -EMEDIUMTYPE);
    folder = sym_open_folder("", "/proc");
    assert_true(folder >= 0);
    assert_int_equal(sym_open_regular_in(folder, "version"), -EMEDIUMTYPE);
    close(folder);
    if (access("/sys/kernel/profiling", F_OK) == 0) {
        assert_int_equal(sym_open_regular("", "/sys/kernel/profiling"), -EMEDIUMTYPE);
    }
    fd = sym_open_regular("", "/proc/self/exe");
    assert_true(fd >= 0);
    close(fd);
}

static void
random_bytes__parsed__never_crash(void **state)
{
    static const char letters[] = "0123456789abcdefx \n\t\r";
    uint64_t places[64];
    const struct sym_wanted wanted = {places, 64, 1};
    uint64_t seed = 7;
    char bytes[400];

    (void)state;
    for (uint64_t i = 0; i < 64; i++) {
        places[i] = i;
    }
    for (int round = 0; round < 3000; round++) {
        const size_t size = fixture_random(&seed) % sizeof(bytes);
        struct sym_name name;
        const char *module;
        struct sym_map *map;
        int fd;

        for (size_t i = 0; i < size; i++) {
            bytes[i] = letters[fixture_random(&seed) % sizeof(letters)];
        }
        fd = parse_bytes(bytes, size);
        map = sym_reader_perf_map(fd, size, &wanted);
        assert_non_null(map);
        for (uint64_t address = 0; address < 64; address++) {
            if (sym_map_lookup(map, address, &name, &module)) {
                assert_true(strlen(name.name) > 0);
            }
        }
        sym_map_close(map);
        close(fd);
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
        cmocka_unit_test(map__changed_before_the_process_started__refused),
        cmocka_unit_test(process__start__read),
        cmocka_unit_test(map__of_root_in_the_user_namespace__read),
        cmocka_unit_test(process__in_a_container__its_root_and_its_own_pid),
        cmocka_unit_test(process__has_ended__map_of_ours_is_read),
        cmocka_unit_test(lines__across_pieces_of_the_file__whole),
        cmocka_unit_test(line__longer_than_is_kept__its_beginning),
        cmocka_unit_test(lines__of_code_within_a_bucket__kept),
        cmocka_unit_test(lines__of_what_is_not_wanted__not_kept),
        cmocka_unit_test(lines__that_cover_everything__each_place_found_once),
        cmocka_unit_test(lines__of_reused_code__the_places_keep_their_names),
        cmocka_unit_test(map__shorter_than_it_was__estale),
        cmocka_unit_test(map__shared__closed_by_each),
        cmocka_unit_test(map__mounted_over__refused),
        cmocka_unit_test(file__of_proc_or_sys__refused),
        cmocka_unit_test(random_bytes__parsed__never_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
