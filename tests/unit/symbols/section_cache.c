/* SPDX-License-Identifier: MIT */
/*
 * section_cache.c - unpacked sections that are kept: the same names with and without
 * them, and nothing used or kept that others could have put there. Argument: a sample
 * program with packed sections.
 */
#include "fixture.h"

#include "sandbox/process.h"
#include "symbols/client/image.h"
#include "symbols/client/section_cache.h"
#include "symbols/reader/dwarf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *sample;

static const char *
cache(void)
{
    return fixture_path("cache");
}

/* Empty the cache, and make a program that the sample is copied to. */
static int
begin(void **state)
{
    (void)state;
    fixture_build("rm -rf cache program && cp %s program && chmod 755 program", sample);
    return 0;
}

/* The size of the image of the program's sections, as readers find it. */
static uint64_t
image_bytes(const char *program)
{
    const int fd = open(program, O_RDONLY | O_CLOEXEC);
    struct sym_dwarf_image image;
    struct sym_elf file;
    uint64_t bytes;
    char why[256];

    assert_int_equal(sym_elf_open(&file, fd), 0);
    assert_true(
        sym_dwarf_image_copy(&image, &file, false, NULL, NULL, why, sizeof(why)));
    assert_int_equal(image.mapped_bytes, 0);
    bytes = image.size;
    sym_dwarf_image_finish(&image);
    sym_elf_close(&file);
    close(fd);
    return bytes;
}

/* Open the unpacked sections of a program. cpu_ns: out. */
static int
open_kept(const char *program, uint64_t bytes, uint64_t *cpu_ns)
{
    const int fd = open(program, O_RDONLY | O_CLOEXEC);
    const struct section_wanted wanted = {.fd = fd, .bytes = bytes};
    int kept;

    assert_true(fd >= 0);
    *cpu_ns = 0;
    kept = section_cache_open(cache(), &wanted, cpu_ns);
    close(fd);
    return kept;
}

/* Whether sections of the program are kept; fails if they are kept and have another
 * size. */
static bool
is_kept(const char *program)
{
    const uint64_t bytes = image_bytes(program);
    uint64_t cpu_ns;
    const int fd = open_kept(program, bytes, &cpu_ns);
    struct stat status;

    if (fd < 0) {
        assert_int_equal(fd, -ENOENT);
        return false;
    }
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, bytes);
    close(fd);
    return true;
}

static uint64_t
count_files(void)
{
    struct section_cache_size size;
    const char *why;

    assert_true(section_cache_measure(cache(), &size, &why));
    return size.files;
}

/* The lines of the functions of the program, as its readers give them. */
static void
read_lines(const char *folder, uint32_t lines[SAMPLE_PLACES_MAX])
{
    const struct sym_settings settings = {.cache = folder};
    struct sample_place places[SAMPLE_PLACES_MAX];
    const char *const program = fixture_path("program");
    const size_t count = fixture_sample_places(program, places);
    struct sym_image *const image =
        sym_image_open(open(program, O_RDONLY | O_CLOEXEC), program, "", &settings);

    assert_non_null(image);
    memset(lines, 0, SAMPLE_PLACES_MAX * sizeof(*lines));
    for (size_t i = 0; i < count; i++) {
        struct sym_name name;

        if (sym_image_lookup_place(image, places[i].offset, 1, &name)) {
            assert_string_equal(name.name, places[i].name);
        }
        lines[i] = name.line;
    }
    assert_string_equal(sym_image_note(image), "");
    sym_image_close(image);
}

/* Are the lines those that readers give without a cache? */
static void
assert_lines_same(void)
{
    uint32_t wanted[SAMPLE_PLACES_MAX];
    uint32_t got[SAMPLE_PLACES_MAX];

    read_lines(NULL, wanted);
    read_lines(cache(), got);
    assert_int_not_equal(wanted[0], 0);
    assert_memory_equal(got, wanted, sizeof(wanted));
}

/* Run a command on the only file of the cache. */
static void
change_file(const char *command)
{
    fixture_build("file=$(ls cache/sections-*) && %s", command);
}

/* --- what is kept --- */

static void
sections__asked_for_twice__unpacked_once_for_the_caller_alone(void **state)
{
    const uint64_t bytes = image_bytes(fixture_path("program"));
    uint64_t cpu_ns;
    struct stat status;
    int fd = open_kept(fixture_path("program"), bytes, &cpu_ns);

    (void)state;
    assert_true(fd >= 0);
    assert_true(cpu_ns > 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, bytes);
    assert_int_equal(status.st_mode & 07777, 0600);
    close(fd);
    assert_int_equal(stat(cache(), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    fd = open_kept(fixture_path("program"), bytes, &cpu_ns);
    assert_true(fd >= 0);
    assert_int_equal(cpu_ns, 0);
    close(fd);
    assert_int_equal(count_files(), 1);
}

static void
names__with_and_without_cache__the_same(void **state)
{
    (void)state;
    assert_lines_same(); /* that is made now */
    assert_int_equal(count_files(), 1);
    assert_lines_same(); /* that is there */
    assert_int_equal(count_files(), 1);
}

/* A reader takes the sections from the cache: what is planted there shows. */
static void
names__of_a_cache__read_from_it(void **state)
{
    uint32_t wanted[SAMPLE_PLACES_MAX];
    uint32_t got[SAMPLE_PLACES_MAX];

    (void)state;
    read_lines(cache(), wanted);
    change_file("size=$(stat -c %s $file) && head -c 2048 $file >kept && "
                "truncate -s $size kept && cat kept >$file");
    read_lines(cache(), got);
    assert_memory_not_equal(got, wanted, sizeof(wanted));
    assert_int_equal(got[0], 0);
}

static void
sections__of_two_files_with_one_build_id__kept_apart(void **state)
{
    (void)state;
    fixture_build("cp program other");
    assert_true(is_kept(fixture_path("program")));
    assert_true(is_kept(fixture_path("other")));
    assert_int_equal(count_files(), 2);
}

static void
sections__of_a_file_that_was_written_again__unpacked_again(void **state)
{
    const uint64_t bytes = image_bytes(fixture_path("program"));
    uint64_t cpu_ns;

    (void)state;
    assert_true(is_kept(fixture_path("program")));
    fixture_build("cp program copy && cat copy >program");
    close(open_kept(fixture_path("program"), bytes, &cpu_ns));
    assert_true(cpu_ns > 0);
    assert_int_equal(count_files(), 2);
}

static void
sections__of_a_file_that_others_may_write__not_kept(void **state)
{
    (void)state;
    fixture_build("chmod 775 program");
    assert_false(is_kept(fixture_path("program")));
    fixture_build("chmod 757 program");
    assert_false(is_kept(fixture_path("program")));
    assert_int_equal(count_files(), 0);
    assert_lines_same();
}

static void
sections__of_another_users_file__not_kept(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can give a file away\n");
        skip();
    }
    fixture_build("chown 65534 program");
    assert_false(is_kept(fixture_path("program")));
    assert_int_equal(count_files(), 0);
    assert_lines_same();
}

/* --- what fails --- */

static void
sections__of_another_size_than_the_reader_says__not_kept(void **state)
{
    const uint64_t bytes = image_bytes(fixture_path("program"));
    const uint64_t sizes[] = {0, 1, bytes - 8, bytes + 8, UINT64_MAX};
    uint64_t cpu_ns;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(open_kept(fixture_path("program"), sizes[i], &cpu_ns),
                         -ENOENT);
    }
    assert_int_equal(count_files(), 0);
    assert_int_equal(fixture_run("test -z \"$(ls -A %s)\"", cache()), 0);
}

/* What a reader says removes nothing. */
static void
sections__of_another_size_than_the_reader_says__others_stay(void **state)
{
    const uint64_t bytes = image_bytes(fixture_path("program"));
    uint64_t cpu_ns;
    int fd;

    (void)state;
    assert_true(is_kept(fixture_path("program")));
    fixture_build("truncate -s 511M cache/sections-other && chmod 600 cache/*");
    assert_int_equal(open_kept(fixture_path("program"), bytes + 8, &cpu_ns), -ENOENT);
    assert_int_equal(open_kept(fixture_path("program"), 100 << 20, &cpu_ns), -ENOENT);
    assert_int_equal(count_files(), 2);
    fd = open_kept(fixture_path("program"), bytes, &cpu_ns);
    assert_true(fd >= 0);
    assert_int_equal(cpu_ns, 0);
    close(fd);
}

static void
sections__not_packed__not_kept(void **state)
{
    uint64_t cpu_ns;

    (void)state;
    fixture_build("objcopy --decompress-debug-sections program plain");
    assert_int_equal(
        open_kept(fixture_path("plain"), image_bytes(fixture_path("program")), &cpu_ns),
        -ENOENT);
    assert_int_equal(count_files(), 0);
}

/* --- hostile caches --- */

static void
folder__of_others__not_used(void **state)
{
    (void)state;
    assert_true(is_kept(fixture_path("program")));
    fixture_build("chmod 755 cache");
    assert_false(is_kept(fixture_path("program")));
    assert_lines_same();
    fixture_build("chmod 700 cache && mv cache real && ln -s real cache");
    assert_false(is_kept(fixture_path("program")));
    assert_lines_same();
    fixture_build("rm cache && mv real cache");
    if (geteuid() == 0) {
        fixture_build("chown 65534 cache");
        assert_false(is_kept(fixture_path("program")));
        assert_lines_same();
        fixture_build("chown 0 cache");
    }
    assert_true(is_kept(fixture_path("program")));
}

/* A file that could be somebody else's is not used; names are as without it. */
static void
file__not_the_callers_alone__not_used(void **state)
{
    static const char *const changes[] = {
        "chmod 644 $file",
        "ln $file cache/second",
        "mv $file real && ln -s ../real $file",
        "rm $file && mkfifo -m 600 $file",
        "rm $file && mkdir -m 700 $file",
        "chown 65534 $file",
    };
    const uint64_t bytes = image_bytes(fixture_path("program"));

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        uint64_t cpu_ns;
        int fd;

        if (strncmp(changes[i], "chown", 5) == 0 && geteuid() != 0) {
            continue;
        }
        begin(state);
        assert_true(is_kept(fixture_path("program")));
        change_file(changes[i]);
        fd = open_kept(fixture_path("program"), bytes, &cpu_ns);
        /* It is made anew in its place, or not at all. */
        assert_true(fd < 0 || cpu_ns > 0);
        if (fd >= 0) {
            close(fd);
        }
        assert_lines_same();
    }
}

static void
file__cut_or_with_another_build_id__names_as_without_it(void **state)
{
    static const char *const changes[] = {
        "truncate -s -1 $file",
        "truncate -s 0 $file",
        "truncate -s +4096 $file",
        "tr '\\000' x <$file >forged && cat forged >$file",
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        begin(state);
        assert_true(is_kept(fixture_path("program")));
        change_file(changes[i]);
        assert_lines_same();
    }
}

/* A file that is replaced while a reader has it is read to its end. */
static void
file__replaced_while_it_is_open__the_old_one_is_read(void **state)
{
    const uint64_t bytes = image_bytes(fixture_path("program"));
    unsigned char first[4096];
    unsigned char again[4096];
    uint64_t cpu_ns;
    int fd;

    (void)state;
    fd = open_kept(fixture_path("program"), bytes, &cpu_ns);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, first, sizeof(first), 0), sizeof(first));
    change_file("printf x >new && mv new $file");
    assert_int_equal(pread(fd, again, sizeof(again), 0), sizeof(again));
    assert_memory_equal(again, first, sizeof(first));
    close(fd);
    assert_lines_same();
}

/* The pages of a file that is cut while a reader has it mapped are gone: only the
 * reader ends, by SIGBUS, or by what cmocka's handler of that has no right to. */
static void
file__cut_while_it_is_mapped__reader_ends_and_is_told(void **state)
{
    const struct sym_settings settings = {.cache = cache()};
    struct sample_place places[SAMPLE_PLACES_MAX];
    const char *const program = fixture_path("program");
    const size_t count = fixture_sample_places(program, places);
    struct sym_image *image;
    struct sym_name name;

    (void)state;
    assert_true(is_kept(program));
    image = sym_image_open(open(program, O_RDONLY | O_CLOEXEC), program, "", &settings);
    assert_non_null(image);
    assert_true(sym_image_lookup_place(image, places[0].offset, 1, &name));
    assert_int_not_equal(name.line, 0);
    assert_string_equal(sym_image_note(image), "");
    change_file("truncate -s 0 $file");
    for (size_t i = 1; i < count; i++) {
        assert_false(sym_image_lookup_place(image, places[i].offset, 1, &name));
        assert_int_equal(name.line, 0);
    }
    assert_non_null(strstr(sym_image_note(image), "the process that read the symbols"));
    sym_image_close(image);
    assert_lines_same();
}

/* --- bounds --- */

static void
cache__full__oldest_removed_first(void **state)
{
    (void)state;
    fixture_build("mkdir -m 700 cache && cd cache && truncate -s 300M sections-old && "
                  "truncate -s 212M sections-new && touch -d 2001-01-01 sections-old "
                  "&& echo >other");
    assert_true(is_kept(fixture_path("program")));
    assert_int_equal(fixture_run("test -e %s/sections-old", cache()), 1);
    assert_int_equal(fixture_run("test -e %s/sections-new", cache()), 0);
    assert_int_equal(fixture_run("test -e %s/other", cache()), 0);
    assert_int_equal(count_files(), 2);
}

static void
cache__cleared__other_files_stay(void **state)
{
    struct section_cache_size removed;
    const char *why;
    uint64_t bytes;

    (void)state;
    assert_true(section_cache_clear(cache(), &removed, &why)); /* there is none */
    assert_int_equal(removed.files, 0);
    assert_true(is_kept(fixture_path("program")));
    bytes = image_bytes(fixture_path("program"));
    fixture_build("cd cache && echo >other && echo >.sections-1.ntprof-XXXXXX");
    assert_true(section_cache_clear(cache(), &removed, &why));
    assert_int_equal(removed.files, 2);
    assert_int_equal(removed.bytes, bytes + 1);
    assert_int_equal(fixture_run("test \"$(ls -A %s)\" = other", cache()), 0);
}

static void
folder__not_the_callers_alone__neither_measured_nor_cleared(void **state)
{
    static const char *const changes[] = {
        "chmod 755 cache", "rmdir cache && ln -s . cache", "rm cache && echo >cache"};
    static const char *const words[] = {"mode 0700", "Not a directory",
                                        "Not a directory"};

    (void)state;
    fixture_build("mkdir -m 700 cache");
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct section_cache_size size;
        const char *why = "";

        fixture_build("%s", changes[i]);
        assert_false(section_cache_measure(cache(), &size, &why));
        assert_non_null(strstr(why, words[i]));
        assert_int_equal(size.files, 0);
        why = "";
        assert_false(section_cache_clear(cache(), &size, &why));
        assert_non_null(strstr(why, words[i]));
    }
}

static void
folder__by_environment__of_root_none_of_it(void **state)
{
    const char *why = "";
    char path[64];

    (void)state;
    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/y", 1);
    assert_true(section_cache_folder(path, sizeof(path), &why));
    assert_string_equal(path, geteuid() == 0 ? "/var/cache/ntprof" : "/x/ntprof");
    assert_false(section_cache_folder(path, 5, &why));
    assert_string_equal(why, "its path is too long");
    if (geteuid() != 0) {
        setenv("XDG_CACHE_HOME", "relative", 1);
        assert_true(section_cache_folder(path, sizeof(path), &why));
        assert_string_equal(path, "/y/.cache/ntprof");
        unsetenv("HOME");
        assert_false(section_cache_folder(path, sizeof(path), &why));
        assert_string_equal(why, "neither XDG_CACHE_HOME nor HOME is an absolute path");
    }
}

int
main(int argc, char **argv)
{
#define CACHED(test) cmocka_unit_test_setup(test, begin)
    const struct CMUnitTest tests[] = {
        CACHED(sections__asked_for_twice__unpacked_once_for_the_caller_alone),
        CACHED(names__with_and_without_cache__the_same),
        CACHED(names__of_a_cache__read_from_it),
        CACHED(sections__of_two_files_with_one_build_id__kept_apart),
        CACHED(sections__of_a_file_that_was_written_again__unpacked_again),
        CACHED(sections__of_a_file_that_others_may_write__not_kept),
        CACHED(sections__of_another_users_file__not_kept),
        CACHED(sections__of_another_size_than_the_reader_says__not_kept),
        CACHED(sections__of_another_size_than_the_reader_says__others_stay),
        CACHED(sections__not_packed__not_kept),
        CACHED(folder__of_others__not_used),
        CACHED(file__not_the_callers_alone__not_used),
        CACHED(file__cut_or_with_another_build_id__names_as_without_it),
        CACHED(file__replaced_while_it_is_open__the_old_one_is_read),
        CACHED(file__cut_while_it_is_mapped__reader_ends_and_is_told),
        CACHED(cache__full__oldest_removed_first),
        CACHED(cache__cleared__other_files_stay),
        CACHED(folder__not_the_callers_alone__neither_measured_nor_cleared),
        CACHED(folder__by_environment__of_root_none_of_it),
    };
    int status;

    sample = argc == 2 ? realpath(argv[1], NULL) : NULL; /* commands have a folder */
    if (sample == NULL) {
        return EXIT_FAILURE;
    }
    status = cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
    free(sample);
    return status;
}
