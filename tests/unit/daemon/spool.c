/* SPDX-License-Identifier: MIT */
/* spool.c - windows in a folder: order, bounds, restarts, and no room. */
#include "daemon/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HOUR UINT64_C(3600000000000)

static const struct spool_limits wide = {.bytes = 1 << 30, .windows = 1000};

struct place {
    char path[64];
    struct spool spool;
};

static void
open_at(struct place *place, const struct spool_limits *limits)
{
    struct spool_error error;

    if (!spool_open(&place->spool, place->path, limits, &error)) {
        fail_msg("%s", error.text);
    }
}

static int
set_up(void **state)
{
    struct place *const place = calloc(1, sizeof(*place));

    strcpy(place->path, "/tmp/ntprof-spool-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    open_at(place, &wide);
    *state = place;
    return 0;
}

static int
tear_down(void **state)
{
    struct place *const place = *state;
    DIR *const folder = opendir(place->path);
    const struct dirent *found;

    spool_close(&place->spool);
    while ((found = readdir(folder)) != NULL) {
        unlinkat(dirfd(folder), found->d_name, 0);
    }
    closedir(folder);
    assert_int_equal(rmdir(place->path), 0);
    free(place);
    return 0;
}

static bool
put(struct place *place, uint64_t start_ns, size_t size)
{
    return spool_put(&place->spool, start_ns, "e", calloc(1, size), size);
}

/* Take all, and assert that their starts are these. */
static void
assert_starts(struct place *place, const uint64_t *starts, size_t count)
{
    char name[SPOOL_NAME_BYTES] = "";
    struct spool_statistics statistics;
    void *bytes;
    size_t size;
    size_t found = 0;

    while (spool_take(&place->spool, name, name, &bytes, &size)) {
        assert_non_null(bytes);
        assert_true(found < count);
        assert_int_equal(strtoull(name, NULL, 10), starts[found++]);
        free(bytes);
        assert_true(spool_done(&place->spool, name, SPOOL_KEEP));
    }
    assert_int_equal(found, count);
    spool_get_statistics(&place->spool, &statistics);
    assert_int_equal(statistics.files, count);
}

static void
spool_put__in_any_order__taken_oldest_first(void **state)
{
    struct place *const place = *state;

    assert_true(put(place, 300, 10));
    assert_true(put(place, 100, 10));
    assert_true(put(place, UINT64_C(1700000000000000000), 10));
    assert_true(put(place, 200, 10));
    assert_starts(place,
                  (const uint64_t[]){100, 200, 300, UINT64_C(1700000000000000000)}, 4);
}

static void
spool_done__removed__gone_and_the_others_stay(void **state)
{
    struct place *const place = *state;
    char name[SPOOL_NAME_BYTES] = "";
    void *bytes;
    size_t size;

    assert_true(put(place, 1, 10));
    assert_true(put(place, 2, 10));
    assert_true(spool_take(&place->spool, "", name, &bytes, &size));
    assert_int_equal(size, 10);
    free(bytes);
    assert_true(spool_done(&place->spool, name, SPOOL_REMOVE));
    assert_starts(place, (const uint64_t[]){2}, 1);
}

static void
spool_open__again__finished_windows_stay_and_half_ones_go(void **state)
{
    struct place *const place = *state;
    char path[128];

    assert_true(put(place, 5, 10));
    snprintf(path, sizeof(path), "%s/.00000000000000000006-e.pb.gz.new", place->path);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    spool_close(&place->spool);
    open_at(place, &wide);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_starts(place, (const uint64_t[]){5}, 1);
}

static void
spool_open__another_has_it__refused(void **state)
{
    struct place *const place = *state;
    struct spool_error error;
    struct spool second;

    assert_false(spool_open(&second, place->path, &wide, &error));
    assert_non_null(strstr(error.text, "another agent"));
    spool_close(&second);
}

static void
spool_open__foreign_files__left_alone(void **state)
{
    struct place *const place = *state;
    static const char *const names[] = {"x.pb.gz", "00000000000000000001-e.txt",
                                        "1-e.pb.gz", "notes"};
    char path[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", place->path, names[i]);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    place->spool.limits = (struct spool_limits){.bytes = 0, .windows = 0};
    spool_drop_excess(&place->spool);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", place->path, names[i]);
        assert_int_equal(access(path, F_OK), 0);
    }
    assert_starts(place, NULL, 0);
}

/* A fifo would block whoever opens it, and a folder would be tried for ever. */
static void
spool_take__no_regular_file__left_out(void **state)
{
    struct place *const place = *state;
    const int folder = open(place->path, O_RDONLY | O_DIRECTORY);

    assert_int_equal(mkfifoat(folder, "00000000000000000001-fifo.pb.gz", 0600), 0);
    assert_int_equal(symlinkat("/etc/passwd", folder, "00000000000000000002-l.pb.gz"),
                     0);
    close(folder);
    assert_true(put(place, 3, 10));
    assert_starts(place, (const uint64_t[]){3}, 1);
}

/* A link in a folder where others may write: this user's is followed, another's is not,
 * even to a folder that is private. */
static void
spool_open__link__only_of_the_same_user_is_followed(void **state)
{
    struct place *const place = *state;
    char folder[] = "/tmp/ntprof-shared-XXXXXX";
    char link[64];
    struct spool_error error;
    struct spool second;

    spool_close(&place->spool);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 01777), 0);
    snprintf(link, sizeof(link), "%s/spool", folder);
    assert_int_equal(symlink(place->path, link), 0);
    strcat(link, "//");
    assert_true(spool_open(&second, link, &wide, &error));
    spool_close(&second);
    link[strlen(link) - 2] = '\0';
    if (geteuid() == 0) { /* only root can give it away, and owns the folder then */
        assert_int_equal(lchown(link, 65533, 65533), 0);
        assert_false(spool_open(&second, link, &wide, &error));
        assert_non_null(strstr(error.text, "link of another user"));
        spool_close(&second);
    }
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(folder), 0);
    open_at(place, &wide);
}

static void
spool_open__names_of_a_folder__opened_or_made(void **state)
{
    static const char *const ends[] = {"/", "/.", "/new/..", "/new", "/new//"};
    struct place *const place = *state;
    char path[96];
    struct spool_error error;
    struct spool second;

    spool_close(&place->spool);
    snprintf(path, sizeof(path), "%s/new", place->path);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char name[96];

        snprintf(name, sizeof(name), "%s%s", place->path, ends[i]);
        if (!spool_open(&second, name, &wide, &error)) {
            assert_int_equal(i, 2); /* there is no folder new yet */
            assert_int_equal(mkdir(path, 0700), 0);
        }
        spool_close(&second);
    }
    snprintf(path, sizeof(path), "%s/new/.lock", place->path);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/new", place->path);
    assert_int_equal(rmdir(path), 0);
    open_at(place, &wide);
}

static void
spool_open__no_parent_folder__said(void **state)
{
    const struct place *const place = *state;
    char name[96];
    char wanted[160];
    struct spool_error error;
    struct spool second;

    snprintf(name, sizeof(name), "%s/none/spool/", place->path);
    snprintf(wanted, sizeof(wanted), "%s/none/spool: its parent folder does not exist",
             place->path);
    assert_false(spool_open(&second, name, &wide, &error));
    assert_string_equal(error.text, wanted);
    spool_close(&second);
}

static void
spool_open__others_can_write__refused(void **state)
{
    struct place *const place = *state;
    struct spool_error error;

    spool_close(&place->spool);
    assert_int_equal(chmod(place->path, 0777), 0);
    assert_false(spool_open(&place->spool, place->path, &wide, &error));
    assert_non_null(strstr(error.text, "other users can write there"));
}

static void
spool_drop_excess__too_large__oldest_dropped_and_counted(void **state)
{
    struct place *const place = *state;
    struct spool_statistics statistics;

    for (uint64_t i = 1; i <= 5; i++) {
        assert_true(put(place, i, 1000));
    }
    place->spool.limits.bytes = 2500;
    spool_drop_excess(&place->spool);
    assert_starts(place, (const uint64_t[]){4, 5}, 2);
    spool_get_statistics(&place->spool, &statistics);
    assert_int_equal(statistics.dropped, 3);
    assert_int_equal(statistics.written, 5);
    assert_int_equal(statistics.bytes, 2000);
}

/* Age is a number of windows: a clock that jumps makes none of them old. */
static void
spool_drop_excess__too_many__oldest_dropped_whatever_the_clock_says(void **state)
{
    struct place *const place = *state;
    struct spool_statistics statistics;

    assert_true(put(place, 1 * HOUR, 10));
    assert_true(put(place, 5 * HOUR, 10));
    assert_true(put(place, 5000000 * HOUR, 10));
    place->spool.limits.windows = 2;
    spool_drop_excess(&place->spool);
    assert_starts(place, (const uint64_t[]){5 * HOUR, 5000000 * HOUR}, 2);
    spool_get_statistics(&place->spool, &statistics);
    assert_int_equal(statistics.dropped, 1);
}

static void
spool_done__cannot_be_set_aside__false_and_it_stays(void **state)
{
    struct place *const place = *state;
    char name[SPOOL_NAME_BYTES] = "";
    char aside[SPOOL_NAME_BYTES + 16];
    void *bytes;
    size_t size;

    assert_true(put(place, 1, 10));
    assert_true(spool_take(&place->spool, "", name, &bytes, &size));
    free(bytes);
    snprintf(aside, sizeof(aside), "refused-%s", name);
    assert_int_equal(mkdirat(place->spool.folder, aside, 0700), 0);
    assert_false(spool_done(&place->spool, name, SPOOL_SET_ASIDE));
    assert_int_equal(errno, EISDIR);
    assert_starts(place, (const uint64_t[]){1}, 1);
    assert_int_equal(unlinkat(place->spool.folder, aside, AT_REMOVEDIR), 0);
}

/* A file that is larger than any window. */
static void
spool_take__too_large__no_bytes_and_the_reason(void **state)
{
    struct place *const place = *state;
    char name[SPOOL_NAME_BYTES] = "";
    void *bytes;
    size_t size;
    int fd;

    assert_true(put(place, 1, 10));
    assert_true(spool_take(&place->spool, "", name, &bytes, &size));
    free(bytes);
    assert_true(spool_done(&place->spool, name, SPOOL_KEEP));
    fd = openat(place->spool.folder, name, O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)1 << 30), 0);
    close(fd);
    assert_true(spool_take(&place->spool, "", name, &bytes, &size));
    assert_int_equal(errno, EFBIG);
    assert_null(bytes);
    assert_true(spool_done(&place->spool, name, SPOOL_REMOVE));
}

static void
spool_done__set_aside__not_taken_again_but_bounded(void **state)
{
    struct place *const place = *state;
    char name[SPOOL_NAME_BYTES] = "";
    struct spool_statistics statistics;
    void *bytes;
    size_t size;

    assert_true(put(place, 1, 10));
    assert_true(put(place, 2, 20));
    assert_true(spool_take(&place->spool, "", name, &bytes, &size));
    free(bytes);
    assert_true(spool_done(&place->spool, name, SPOOL_SET_ASIDE));
    assert_starts(place, (const uint64_t[]){2}, 1);
    spool_get_statistics(&place->spool, &statistics);
    assert_int_equal(statistics.refused, 1);
    assert_int_equal(statistics.bytes, 30);
    place->spool.limits.windows = 1;
    spool_drop_excess(&place->spool);
    assert_starts(place, (const uint64_t[]){2}, 1);
    spool_get_statistics(&place->spool, &statistics);
    assert_int_equal(statistics.refused, 0);
}

static void
spool_drop_excess__window_that_is_read__stays(void **state)
{
    struct place *const place = *state;
    char name[SPOOL_NAME_BYTES] = "";
    void *bytes;
    size_t size;

    assert_true(put(place, 1, 10));
    assert_true(spool_take(&place->spool, "", name, &bytes, &size));
    free(bytes);
    place->spool.limits.bytes = 0;
    spool_drop_excess(&place->spool);
    spool_done(&place->spool, name, SPOOL_KEEP);
    assert_starts(place, (const uint64_t[]){1}, 1);
}

/* Have writes of more than so many bytes fail. */
static void
limit_files(rlim_t bytes)
{
    struct rlimit limit;

    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
spool_put__no_room__waits_in_memory_and_is_written_later(void **state)
{
    struct place *const place = *state;
    struct spool_statistics statistics;

    limit_files(100);
    assert_true(put(place, 1, 50));
    assert_false(put(place, 2, 500));
    assert_false(put(place, 3, 50)); /* in order: behind the one that waits */
    assert_int_not_equal(place->spool.failure[0], '\0');
    assert_starts(place, (const uint64_t[]){1}, 1);
    spool_get_statistics(&place->spool, &statistics);
    assert_int_equal(statistics.waiting, 2);
    assert_int_equal(statistics.dropped, 0);
    limit_files(RLIM_INFINITY);
    assert_true(spool_retry(&place->spool));
    assert_starts(place, (const uint64_t[]){1, 2, 3}, 3);
    assert_int_equal(place->spool.failure[0], '\0');
}

/* Without a full disk, to drop a file would not let a window be written. */
static void
spool_put__fails_for_long__longest_waiting_dropped_and_counted(void **state)
{
    struct place *const place = *state;
    struct spool_statistics statistics;

    assert_true(put(place, 1, 500));
    limit_files(100);
    for (uint64_t i = 2; i < 2 + SPOOL_WAITING_MAX + 2; i++) {
        assert_false(put(place, i, 500));
    }
    spool_get_statistics(&place->spool, &statistics);
    assert_int_equal(statistics.waiting, SPOOL_WAITING_MAX);
    assert_int_equal(statistics.dropped, 2);
    assert_int_equal(statistics.files, 1);
    limit_files(RLIM_INFINITY);
    assert_true(spool_retry(&place->spool));
    spool_get_statistics(&place->spool, &statistics);
    assert_int_equal(statistics.files, SPOOL_WAITING_MAX + 1);
    assert_int_equal(statistics.written, SPOOL_WAITING_MAX + 1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(spool_put__in_any_order__taken_oldest_first),
        TEST(spool_done__removed__gone_and_the_others_stay),
        TEST(spool_open__again__finished_windows_stay_and_half_ones_go),
        TEST(spool_open__another_has_it__refused),
        TEST(spool_open__foreign_files__left_alone),
        TEST(spool_take__no_regular_file__left_out),
        TEST(spool_take__too_large__no_bytes_and_the_reason),
        TEST(spool_done__cannot_be_set_aside__false_and_it_stays),
        TEST(spool_open__link__only_of_the_same_user_is_followed),
        TEST(spool_open__names_of_a_folder__opened_or_made),
        TEST(spool_open__no_parent_folder__said),
        TEST(spool_open__others_can_write__refused),
        TEST(spool_drop_excess__too_large__oldest_dropped_and_counted),
        TEST(spool_drop_excess__too_many__oldest_dropped_whatever_the_clock_says),
        TEST(spool_done__set_aside__not_taken_again_but_bounded),
        TEST(spool_drop_excess__window_that_is_read__stays),
        TEST(spool_put__no_room__waits_in_memory_and_is_written_later),
        TEST(spool_put__fails_for_long__longest_waiting_dropped_and_counted),
    };

    signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
