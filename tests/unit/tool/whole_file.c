/* SPDX-License-Identifier: MIT */
/*
 * whole_file.c - files that are written whole or not at all, where the system refuses links too.
 *
 * pprof_file.c of the profile's tests has the rest: links, devices, folders, rights. Linked with --wrap
 * for linkat and link.
 */
#include "util/whole_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_linkat(int from_folder, const char *from, int to_folder, const char *to,
                  int flags);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to,
                  int flags);
int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);

static bool links_refused;

int
__wrap_linkat(int from_folder, const char *from, int to_folder, const char *to,
              int flags)
{
    if (links_refused) {
        errno = EPERM;
        return -1;
    }
    return __real_linkat(from_folder, from, to_folder, to, flags);
}

int
__wrap_link(const char *from, const char *to)
{
    if (links_refused) {
        errno = EPERM;
        return -1;
    }
    return __real_link(from, to);
}

static int
enter_folder(void **state)
{
    char folder[] = "/tmp/ntprof-test-XXXXXX";

    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        return -1;
    }
    *state = strdup(folder);
    return *state != NULL ? 0 : -1;
}

static int
leave_folder(void **state)
{
    char command[256];

    links_refused = false;
    snprintf(command, sizeof(command), "rm -r '%s'", (char *)*state);
    free(*state);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static size_t
count_entries(void)
{
    DIR *entries = opendir(".");
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(entries);
    return count;
}

/* More than a stream holds back, ended by text. */
static void
write_text(struct whole_file *file, const char *path, const char *text)
{
    struct whole_file_error error;

    assert_true(whole_file_open(file, path, "text", &error));
    for (int i = 0; i < 100000; i++) {
        fputs("line\n", file->stream);
    }
    fputs(text, file->stream);
}

static void
assert_holds(const char *path, const char *text)
{
    FILE *file = fopen(path, "r");
    struct stat status;
    char found[16] = "";

    assert_non_null(file);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 500000 + (off_t)strlen(text));
    assert_int_equal(fseek(file, 500000, SEEK_SET), 0);
    assert_int_equal(fread(found, 1, sizeof(found), file), strlen(text));
    assert_string_equal(found, text);
    fclose(file);
}

static void
replace__without_keeping__old_is_gone(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    write_text(&file, "f", "one");
    assert_true(whole_file_replace(&file, false, &error));
    write_text(&file, "f", "two");
    assert_holds("f", "one");
    assert_true(whole_file_replace(&file, false, &error));
    assert_holds("f", "two");
    assert_int_equal(count_entries(), 1);
}

static void
replace__links_refused__copied_and_whole(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    links_refused = true;
    write_text(&file, "f", "one");
    assert_true(whole_file_replace(&file, true, &error));
    assert_holds("f", "one");
    write_text(&file, "f", "two");
    assert_true(whole_file_replace(&file, true, &error));
    assert_holds("f", "two");
    assert_holds("f.old", "one");
    assert_int_equal(count_entries(), 2);
}

static void
discard__in_the_middle__nothing_left(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    for (int round = 0; round < 2; round++) {
        write_text(&file, "new", "one");
        whole_file_discard(&file);
        assert_int_equal(count_entries(), 0);
        links_refused = true;
    }
    write_text(&file, "f", "one");
    assert_true(whole_file_replace(&file, false, &error));
    write_text(&file, "f", "two");
    whole_file_discard(&file);
    assert_holds("f", "one");
    assert_int_equal(count_entries(), 1);
}

static void
replace__folder_in_its_place__said_and_nothing_left(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    write_text(&file, "f", "one");
    assert_int_equal(mkdir("f", 0755), 0);
    assert_int_equal(mkdir("f/full", 0755), 0);
    assert_false(whole_file_replace(&file, false, &error));
    assert_non_null(strstr(error.text, "f: cannot rename the new text to it: "));
    assert_int_equal(count_entries(), 1);
    /* It is not moved out of the way as an old file is. */
    assert_int_equal(rename("f", "g"), 0);
    write_text(&file, "f", "one");
    assert_int_equal(rename("g", "f"), 0);
    assert_false(whole_file_replace(&file, true, &error));
    assert_string_equal(error.text, "f: is a folder; name a file");
    assert_int_equal(access("f/full", F_OK), 0);
    assert_int_equal(count_entries(), 1);
}

static void
replace__write_failed_early__first_reason_told(void **state)
{
    struct whole_file_error error;
    struct whole_file file;

    (void)state;
    write_text(&file, "/dev/full", "one");
    assert_true(ferror(file.stream));
    errno = 0;
    assert_false(whole_file_replace(&file, false, &error));
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(error.text,
                        "/dev/full: cannot write the text: No space left on device");
}

/* As a shell's >(command) gives it: the link's text is no name. */
static void
open__link_to_a_pipe__written_in_place(void **state)
{
    struct whole_file_error error;
    struct whole_file file;
    char found[8] = "";
    char path[64];
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
    assert_true(whole_file_check(path, "text", &error));
    assert_true(whole_file_open(&file, path, "text", &error));
    fputs("one", file.stream);
    assert_true(whole_file_replace(&file, true, &error));
    assert_int_equal(read(ends[0], found, sizeof(found) - 1), 3);
    assert_string_equal(found, "one");
    assert_int_equal(count_entries(), 0);
    close(ends[0]);
    close(ends[1]);
}

#define IN_FOLDER(test) \
    cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(replace__without_keeping__old_is_gone),
        IN_FOLDER(replace__links_refused__copied_and_whole),
        IN_FOLDER(discard__in_the_middle__nothing_left),
        IN_FOLDER(replace__folder_in_its_place__said_and_nothing_left),
        IN_FOLDER(replace__write_failed_early__first_reason_told),
        IN_FOLDER(open__link_to_a_pipe__written_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
