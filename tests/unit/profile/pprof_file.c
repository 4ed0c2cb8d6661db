/* SPDX-License-Identifier: MIT */
/* pprof_file.c - files: replaced whole, the old one kept, nothing left behind on
 * failure. */
#include "fixture.h"

#include "profile/gzip.h"
#include "profile/pprof.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each test has a folder of its own and works in it. */
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

/* Takes the folder away, with one level of folders in it. */
static int
leave_folder(void **state)
{
    char command[256];

    snprintf(command, sizeof(command), "chmod -R u+w '%s' && rm -r '%s'",
             (char *)*state, (char *)*state);
    free(*state);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static size_t
count_entries(const char *folder)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(entries);
    while ((entry = readdir(entries)) != NULL) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(entries);
    return count;
}

static struct profile *
profile_with_hits(uint64_t hits)
{
    struct profile *profile = fixture_small();

    assert_true(profile_add_hits(profile, 0, 0x8000, 0, 0, 0, 0, hits));
    return profile;
}

static bool
write_hits(const char *path, uint64_t hits, struct pprof_error *error)
{
    struct profile *profile = profile_with_hits(hits);
    bool done;

    memset(error, 0, sizeof(*error));
    done = pprof_write(profile, path, error);
    profile_delete(profile);
    return done;
}

static void
assert_holds(const char *path, uint64_t hits)
{
    struct profile *expected = profile_with_hits(hits);
    struct pprof_error error;
    struct profile *profile = pprof_read(path, &error);

    if (profile == NULL) {
        fail_msg("%s", error.text);
    }
    fixture_assert_equal(profile, expected);
    profile_delete(profile);
    profile_delete(expected);
}

static void
assert_says(const struct pprof_error *error, const char *words)
{
    if (strstr(error->text, words) == NULL) {
        fail_msg("expected \"%s\", got \"%s\"", words, error->text);
    }
}

static void
write__new_file__whole_and_alone(void **state)
{
    struct pprof_error error;

    (void)state;
    assert_true(pprof_check_writable("new.pb.gz", &error));
    assert_int_equal(count_entries("."), 0);
    assert_true(write_hits("new.pb.gz", 1, &error));
    assert_holds("new.pb.gz", 1);
    assert_int_equal(count_entries("."), 1);
}

/* Another process reads files and sends what it read. */
static void
read__stacks__sent_whole(void **state)
{
    struct profile *expected = fixture_stacks();
    struct profile *profile;
    struct pprof_error error;

    (void)state;
    assert_true(pprof_write(expected, "p.pb.gz", &error));
    profile = pprof_read("p.pb.gz", &error);
    fixture_assert_equal(expected, profile);
    profile_delete(profile);
    profile_delete(expected);
}

static void
write__existing_file__kept_as_old(void **state)
{
    struct pprof_error error;

    (void)state;
    for (uint64_t round = 1; round <= 3; round++) {
        assert_true(write_hits("p", round, &error));
    }
    assert_holds("p", 3);
    assert_holds("p.old", 2);
    assert_int_equal(count_entries("."), 2);
}

static void
write__old_is_the_same_file__nothing_left(void **state)
{
    struct pprof_error error;

    (void)state;
    assert_true(write_hits("p", 1, &error));
    assert_int_equal(link("p", "p.old"), 0);
    assert_true(write_hits("p", 2, &error));
    assert_holds("p", 2);
    assert_holds("p.old", 1);
    assert_int_equal(count_entries("."), 2);
}

static void
write__old_cannot_be_kept__file_stays(void **state)
{
    struct pprof_error error;

    (void)state;
    assert_true(write_hits("p", 1, &error));
    assert_int_equal(mkdir("p.old", 0755), 0);
    assert_int_equal(mkdir("p.old/full", 0755), 0);
    assert_false(write_hits("p", 2, &error));
    assert_says(&error, "p.old: cannot keep the old profile there");
    assert_holds("p", 1);
    assert_int_equal(count_entries("."), 2);
}

static void
write__umask__respected(void **state)
{
    struct pprof_error error;
    struct stat status;
    const mode_t before = umask(027);

    (void)state;
    assert_true(write_hits("p", 1, &error));
    umask(before);
    assert_int_equal(stat("p", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(status.st_nlink, 1);
}

static void
write__symbolic_link__target_replaced(void **state)
{
    struct pprof_error error;
    struct stat status;

    (void)state;
    assert_int_equal(mkdir("real", 0755), 0);
    assert_int_equal(symlink("real/p", "link"), 0);
    assert_int_equal(symlink("link", "link2"), 0);
    assert_true(pprof_check_writable("link2", &error));
    assert_true(write_hits("link2", 1, &error));
    assert_true(write_hits("link2", 2, &error));
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_holds("real/p", 2);
    assert_holds("real/p.old", 1);
    assert_int_equal(count_entries("."), 3);
}

static void
write__link_to_itself__error(void **state)
{
    struct pprof_error error;

    (void)state;
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_false(pprof_check_writable("loop", &error));
    assert_says(&error, "loop: cannot write the profile: Too many levels");
    assert_false(write_hits("loop", 1, &error));
    assert_says(&error, "loop: cannot write the profile: Too many levels");
}

static void
write__full_device__error_in_words(void **state)
{
    struct pprof_error error;

    (void)state;
    assert_true(pprof_check_writable("/dev/full", &error));
    assert_false(write_hits("/dev/full", 1, &error));
    assert_says(&error, "/dev/full: cannot write the profile: No space left on device");
    assert_true(write_hits("/dev/null", 1, &error));
    assert_int_equal(access("/dev/full.old", F_OK), -1);
    assert_int_equal(access("/dev/null.old", F_OK), -1);
}

/* A file size limit fails a write just as a full disk does, in the middle. */
static void
write__disk_full__old_file_stays(void **state)
{
    struct pprof_error error;
    int status;
    pid_t child;

    (void)state;
    assert_true(write_hits("p", 1, &error));
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {100, 100};

        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(write_hits("p", 2, &error) ||
              strstr(error.text, "File too large") == NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_holds("p", 1);
    assert_int_equal(count_entries("."), 1);
}

static void
write__folder_missing__error(void **state)
{
    struct pprof_error error;

    (void)state;
    assert_false(pprof_check_writable("none/p", &error));
    assert_says(&error, "none/p: no file can be made in its folder: No such file");
    assert_false(write_hits("none/p", 1, &error));
    assert_says(&error, "none/p: cannot write the profile: No such file");
    assert_false(pprof_check_writable("none/", &error));
    assert_false(pprof_check_writable("", &error));
    assert_false(pprof_check_writable(".", &error));
    assert_says(&error, "is a folder");
    assert_int_equal(count_entries("."), 0);
}

/* As an ordinary user, since root writes everywhere. */
static void
write__read_only_folder__error_and_file_stays(void **state)
{
    struct pprof_error error;
    int status;
    pid_t child;

    (void)state;
    assert_int_equal(mkdir("sealed", 0755), 0);
    assert_true(write_hits("sealed/p", 1, &error));
    assert_int_equal(chmod("sealed", 0555), 0);
    assert_int_equal(chmod(".", 0755), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(2);
        }
        _exit(pprof_check_writable("sealed/p", &error) ||
              strstr(error.text, "Permission denied") == NULL ||
              write_hits("sealed/p", 2, &error) ||
              strstr(error.text, "Permission denied") == NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_holds("sealed/p", 1);
    assert_int_equal(count_entries("sealed"), 1);
}

static void
write__longest_name__works(void **state)
{
    struct pprof_error error;
    char name[252];

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_true(pprof_check_writable(name, &error));
    assert_true(write_hits(name, 1, &error));
    assert_true(write_hits(name, 2, &error));
    assert_holds(name, 2);
    assert_int_equal(count_entries("."), 2);
}

static void
write__pipe__in_place(void **state)
{
    struct pprof_error error;
    struct stat status;
    int reader;

    (void)state;
    assert_int_equal(mkfifo("pipe", 0644), 0);
    reader = open("pipe", O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_true(write_hits("pipe", 1, &error));
    assert_int_equal(stat("pipe", &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(count_entries("."), 1);
    close(reader);
}

static void
read__not_there_or_no_file__error_names_it(void **state)
{
    struct pprof_error error;

    (void)state;
    assert_null(pprof_read("none", &error));
    assert_says(&error, "none: cannot open it: No such file or directory");
    assert_null(pprof_read(".", &error));
    assert_says(&error, ".: cannot read it: Is a directory");
    assert_null(pprof_read("/dev/null", &error));
    assert_says(&error, "/dev/null: not a profile: it is empty");
    assert_null(pprof_read("/dev/zero", &error));
    assert_says(&error, "/dev/zero: not a profile: neither gzip nor pprof");
    assert_null(pprof_read("\033[2J", &error));
    assert_says(&error, "\\x1b[2J: cannot open it");
}

static void
read__own_format_of_gperftools__told_how_to_convert_it(void **state)
{
    static const uint64_t words[] = {0, 3, 0, 10000, 0, 1, 1, 0x1234, 0, 1, 0};
    struct pprof_error error;
    FILE *file = fopen("cpu.prof", "w");

    (void)state;
    assert_non_null(file);
    assert_int_equal(fwrite(words, sizeof(words), 1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_null(pprof_read("cpu.prof", &error));
    assert_says(&error, "cpu.prof: a CPU profile of gperftools; make it pprof first");
}

/* What a file is called in its error, behind the name. */
static void
assert_kind(const void *bytes, size_t size, const char *what)
{
    struct pprof_error error;
    FILE *file = fopen("other", "w");
    char expected[300];

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_null(pprof_read("other", &error));
    snprintf(expected, sizeof(expected), "other: %s", what);
    if (strncmp(error.text, expected, strlen(expected)) != 0) {
        fail_msg("%s, not: %s", error.text, expected);
    }
}

static void
gzip_text(struct buffer *out, const void *bytes, size_t size)
{
    struct gzip_writer writer;

    assert_true(gzip_begin(&writer, out));
    gzip_put(&writer, bytes, size);
    assert_true(gzip_end(&writer));
}

static void
read__files_of_other_profilers__named(void **state)
{
    static const struct {
        const char *bytes;
        const char *what;
    } files[] = {
        {"heap profile: 1: 2 [3: 4] @ heap/1048576\n", "a heap profile as text, of"},
        {"heap_v2/524288\n  t*: 28106: 56637512\n", "a heap profile as text, of"},
        {"--- heapz 1 ---\nformat = java\n", "a heap profile as text"},
        {"--- contention:\ncycles/second=1\n", "a contention profile as text"},
        {"--- contentionz 1 ---\n", "a contention profile as text"},
        {"--- mutex:\ncycles/second=1\n", "a mutex profile as text"},
        {"--- threadz 1 ---\n", "a thread profile as text"},
        {"goroutine profile: total 5\n1 @ 0x43\n", "a goroutine profile as text"},
        {"threadcreate profile: total 5\n", "a thread profile as text"},
        {"PERFILE2 and more", "a file of perf record, not a profile"},
        {"# To display the perf.data header info,\n", "what perf report printed"},
        {"perl 1234 [002] 5.123456:     250000 cpu-clock:u: \n\t55 f (x)\n",
         "what perf script printed"},
        {"app 5/6 123.456789: cycles: \n", "what perf script printed"},
        {"main;work;inner 12\nmain;idle 3\n", "folded stacks as text"},
        {"main 12\n", "folded stacks as text"},
        {"h;main 12\n", "folded stacks as text"},
        {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\"}",
         "a file of speedscope"},
        {"{\"nodes\":[{\"id\":1,\"callFrame\":{}}]}", "a CPU profile of Chrome"},
        {"{\"traceEvents\":[]}", "a trace of Chrome"},
        {"[{\"name\":\"x\",\"ph\":\"B\"}]", "a trace of Chrome"},
        {"{\"meta\":{\"preprocessedProfileVersion\":40}}",
         "a profile of the Firefox Profiler"},
        {"{\"schema\":\"ntprof.report\",\"version\":1}", "JSON that ntprof printed"},
        {" [1, 2]", "a JSON file, not a profile"},
        {"<?xml version=\"1.0\"?>\n<svg xmlns=\"\">", "a picture (SVG)"},
        {"<!DOCTYPE html>", "a page or XML file"},
        {"# callgrind format\nversion: 1\n", "a file of callgrind"},
        {"version: 1\ncreator: callgrind-3.19\n", "a file of callgrind"},
        {"positions: line\nevents: Ir\nfl=x.c\n", "a file of callgrind"},
        {"desc: I1 cache: 32768 B\n", "a file of cachegrind or massif"},
        {"gmon\1", "a file of gprof"},
        {"Flat profile:\n\nEach sample counts\n", "what gprof printed"},
        {"SQLite format 3", "a database; if it is a store"},
        {"  share  hits  function  image\n", "what ntprof report printed"},
        {"samples,share,source\n", "what ntprof report printed"},
        {"hello, world\n", "a text file, not a profile"},
        {"zebra\n", "a text file, not a profile"},
        {"\n\n", "a text file, not a profile"},
        {"\x80\x01", "not a profile: neither gzip nor pprof"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const size_t size = strlen(files[i].bytes);
        struct buffer once = {0};
        struct buffer twice = {0};

        assert_kind(files[i].bytes, size, files[i].what);
        gzip_text(&once, files[i].bytes, size);
        /* Bytes that are nothing known fail as any that are damaged do. */
        assert_kind(once.data, once.size,
                    (unsigned char)files[i].bytes[0] < 0x80 ? files[i].what
                                                            : "not a profile");
        gzip_text(&twice, once.data, once.size);
        assert_kind(twice.data, twice.size, "compressed by gzip more than once");
        buffer_finish(&once);
        buffer_finish(&twice);
    }
}

#define IN_FOLDER(test) \
    cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(write__new_file__whole_and_alone),
        IN_FOLDER(read__stacks__sent_whole),
        IN_FOLDER(write__existing_file__kept_as_old),
        IN_FOLDER(write__old_is_the_same_file__nothing_left),
        IN_FOLDER(write__old_cannot_be_kept__file_stays),
        IN_FOLDER(write__umask__respected),
        IN_FOLDER(write__symbolic_link__target_replaced),
        IN_FOLDER(write__link_to_itself__error),
        IN_FOLDER(write__full_device__error_in_words),
        IN_FOLDER(write__disk_full__old_file_stays),
        IN_FOLDER(write__folder_missing__error),
        IN_FOLDER(write__read_only_folder__error_and_file_stays),
        IN_FOLDER(write__longest_name__works),
        IN_FOLDER(write__pipe__in_place),
        IN_FOLDER(read__not_there_or_no_file__error_names_it),
        IN_FOLDER(read__own_format_of_gperftools__told_how_to_convert_it),
        IN_FOLDER(read__files_of_other_profilers__named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
