/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "base/command_log.h"
#include "symbols/client/kernel_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char kallsyms[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81000100 t work\n"
                               "ffffffff81000500 t work.cold\n"
                               "ffffffff81001000 T _etext\n"
                               "ffffffffc0000000 t work\t[first]\n"
                               "ffffffffc0000100 t work.cold\t[first]\n"
                               "ffffffffc0100000 t bpf_prog_1_x\t[bpf]\n";
static const char modules[] = "first 8192 1 - Live 0xffffffffc0000000 (OE)\n";
static const char boot[KERNEL_BOOT_BYTES] = "boot\n";
static const char another[KERNEL_BOOT_BYTES] = "another\n";

static const char *
cache_folder(void)
{
    return fixture_path("cache");
}

static const char *
cache_file(void)
{
    return fixture_path("cache/kernel");
}

static void
read_text(struct kernel_table *table)
{
    FILE *const symbols =
        fmemopen((void *)(uintptr_t)kallsyms, sizeof(kallsyms) - 1, "r");
    FILE *const others = fmemopen((void *)(uintptr_t)modules, sizeof(modules) - 1, "r");

    assert_non_null(symbols);
    assert_non_null(others);
    *table = (struct kernel_table){.core = {0}};
    assert_int_equal(kernel_table_read(table, symbols, others), 0);
    fclose(symbols);
    fclose(others);
}

/* A cache of the text above, in a new folder. */
static void
write_cache(void)
{
    struct kernel_table table;

    assert_int_equal(fixture_run("rm -rf %s", cache_folder()), 0);
    read_text(&table);
    kernel_cache_write(cache_folder(), boot, &table);
    kernel_table_finish(&table);
}

/* Of all of the core's text above. */
static const uint64_t core_start = 0xffffffff81000000;
static const struct sym_wanted core = {&core_start, 1, 0x1000};

/* Look for buckets; the symbols are dropped. */
static int
find(const char *of_boot, const struct sym_wanted *wanted)
{
    struct kernel_table table = {.core = {0}};
    const int error = kernel_cache_find(cache_folder(), of_boot, wanted, &table);

    kernel_table_finish(&table);
    return error;
}

static bool
is_read(const char *of_boot)
{
    return find(of_boot, &core) == 0;
}

static void
table__written_and_read__name_the_same(void **test)
{
    static const uint64_t address = 0xffffffff81000508;
    const struct sym_wanted wanted = {&address, 1, 1};
    struct stat status;
    struct kernel_table table = {.core = {0}};
    struct sym_map *map;
    struct sym_name name;
    const char *module;
    uint64_t begin;
    uint64_t end;

    (void)test;
    write_cache();
    assert_int_equal(stat(cache_folder(), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(stat(cache_file(), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(kernel_cache_find(cache_folder(), boot, &wanted, &table), 0);
    map = kernel_table_map(&table, &begin, &end);
    assert_non_null(map);
    assert_int_equal(begin, 0xffffffff81000000);
    assert_int_equal(end, 0xffffffff81001000);
    assert_true(sym_map_lookup(map, address, &name, &module));
    assert_string_equal(module, "");
    assert_string_equal(name.name, "work");
    sym_map_close(map);
}

/* Modules and programs of BPF come and go, and are not in the file: one bucket that
 * is not in the core's text as a whole, and nothing is taken from it. */
static void
bucket__at_the_bounds_of_the_core__found_inside_only(void **test)
{
    static const struct {
        uint64_t places[2];
        uint64_t bytes;
        int error;
    } rows[] = {
        {{0xffffffff81000000, 0xffffffff81000fff}, 1, 0},
        {{0xffffffff81000000, 0xffffffff81000ff8}, 8, 0},
        {{0xffffffff81000100, 0xffffffff81000ffc}, 8, -ENXIO},
        {{0xffffffff80ffffff, 0xffffffff81000100}, 1, -ENXIO},
        {{0xffffffff80fffffc, 0xffffffff81000100}, 8, -ENXIO},
        {{0xffffffff81000100, 0xffffffff81001000}, 1, -ENXIO},
        {{0xffffffff81000100, 0xffffffffc0000108}, 1, -ENXIO},
        {{0xffffffff81000100, 0xffffffffc0100008}, 1, -ENXIO},
        {{0xffffffff81000100, UINT64_MAX}, 1, -ENXIO},
        {{0xffffffff81000000, 0xffffffff81000001}, UINT64_MAX, -ENXIO},
    };

    (void)test;
    write_cache();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct sym_wanted wanted = {rows[i].places, 2, rows[i].bytes};

        assert_int_equal(find(boot, &wanted), rows[i].error);
        assert_int_not_equal(find(another, &wanted), -ENXIO);
    }
}

static void
table__of_another_boot__not_read(void **test)
{
    static const char others[][KERNEL_BOOT_BYTES] = {"", "boot", "Boot\n", "boot\n\n"};

    (void)test;
    write_cache();
    assert_true(is_read(boot));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(is_read(others[i]));
    }
}

/* Without the bounds of the core it is not known what would last. */
static void
table__without_a_core__not_written(void **test)
{
    static const char text[] = "ffffffff81000100 t work\n";
    FILE *const file = fmemopen((void *)(uintptr_t)text, sizeof(text) - 1, "r");
    struct kernel_table table = {.core = {0}};

    (void)test;
    assert_int_equal(fixture_run("rm -rf %s", cache_folder()), 0);
    assert_non_null(file);
    assert_int_equal(kernel_table_read(&table, file, NULL), 0);
    fclose(file);
    kernel_cache_write(cache_folder(), boot, &table);
    kernel_table_finish(&table);
    assert_int_equal(access(cache_file(), F_OK), -1);
}

/* Others may have put it there, or may read or change it. */
static void
file__not_the_callers_alone__not_read(void **test)
{
    static const char *const commands[] = {
        "chmod 640 %s/kernel",
        "chmod 602 %s/kernel",
        "chmod 750 %s",
        "chmod 701 %s",
        "ln %s/kernel %s/other",
        "mv %s/kernel %s/other; ln -s other %s/kernel",
        "mv %s %s-other; ln -s cache-other %s",
        "rm %s/kernel; mkfifo -m 600 %s/kernel",
        "rm %s/kernel; mkdir -m 700 %s/kernel",
        "rm %s/kernel; mknod -m 600 %s/kernel c 1 5",
        "chown 65534 %s/kernel",
        "chown 65534 %s",
    };
    const size_t count = sizeof(commands) / sizeof(commands[0]);

    (void)test;
    for (size_t i = 0; i < (geteuid() == 0 ? count : count - 3); i++) {
        const char *const folder = cache_folder();

        write_cache();
        assert_true(is_read(boot));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        assert_int_equal(fixture_run(commands[i], folder, folder, folder), 0);
#pragma GCC diagnostic pop
        assert_false(is_read(boot));
        assert_int_equal(fixture_run("rm -rf %s-other", folder), 0);
    }
}

/* Whether the log ends with this text. */
static bool
log_ends_with(const char *log, const char *text)
{
    FILE *const file = fopen(log, "r");
    char line[2 * PATH_MAX] = "";
    size_t length;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
    }
    fclose(file);
    length = strlen(line);
    return length >= strlen(text) && strcmp(line + length - strlen(text), text) == 0;
}

/* A folder that is not the caller's alone is not written to, and the log says why. */
static void
folder__not_the_callers_alone__not_written(void **test)
{
    const char *const log = fixture_path("cache.log");
    struct whole_file_error error;
    struct kernel_table table;
    char setting[PATH_MAX + 16];

    (void)test;
    snprintf(setting, sizeof(setting), "debug:%s", log);
    assert_true(command_log_open(setting, &error));
    assert_int_equal(
        fixture_run("rm -rf %s; mkdir -m 755 %s", cache_folder(), cache_folder()), 0);
    read_text(&table);
    kernel_cache_write(cache_folder(), boot, &table);
    kernel_table_finish(&table);
    assert_int_equal(access(cache_file(), F_OK), -1);
    assert_int_equal(errno, ENOENT);
    assert_true(log_ends_with(
        log, "/kernel: the folder must belong to the caller and have mode 0700\n"));
    assert_false(is_read(boot));
    assert_true(log_ends_with(
        log, "/kernel: the folder must belong to the caller and have mode 0700\n"));
    assert_int_equal(chmod(cache_folder(), 0700), 0);
    table = (struct kernel_table){.core = {0}};
    kernel_cache_write(cache_folder(), boot, &table);
    assert_true(
        log_ends_with(log, "/kernel: there are no symbols outside of modules\n"));
    command_log_stop();
}

static size_t
read_file(unsigned char *bytes, size_t size)
{
    FILE *const file = fopen(cache_file(), "rb");
    size_t got;

    assert_non_null(file);
    got = fread(bytes, 1, size, file);
    fclose(file);
    return got;
}

static void
write_file(const unsigned char *bytes, size_t size)
{
    FILE *const file = fopen(cache_file(), "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void
file__of_any_other_length__not_read(void **test)
{
    static unsigned char bytes[4096];
    size_t size;

    (void)test;
    write_cache();
    size = read_file(bytes, sizeof(bytes) - 1);
    assert_in_range(size, 100, sizeof(bytes) - 2);
    for (size_t i = 0; i <= size + 1; i++) {
        write_file(bytes, i);
        assert_int_equal(is_read(boot), i == size);
    }
}

/* Reads a cache, and looks up all that it has if it is read. */
static void
look_at_all(void)
{
    struct kernel_table table = {.core = {0}};
    struct sym_map *map;
    uint64_t begin;
    uint64_t end;

    if (kernel_cache_find(cache_folder(), boot, &core, &table) != 0) {
        return;
    }
    map = kernel_table_map(&table, &begin, &end);
    assert_non_null(map);
    for (size_t i = 0; i < map->table.range_count; i++) {
        struct sym_name name;
        const char *module;

        assert_true(sym_map_lookup(map, map->table.ranges[i].start, &name, &module));
        assert_in_range(strlen(name.name) + strlen(module), 1, 100);
    }
    sym_map_close(map);
}

static void
file__with_any_byte_changed__no_harm(void **test)
{
    static const unsigned char changes[] = {1, 0x80, 0xff};
    static unsigned char bytes[4096];
    size_t size;

    (void)test;
    write_cache();
    size = read_file(bytes, sizeof(bytes));
    for (size_t i = 0; i < 3 * size; i++) {
        bytes[i / 3] ^= changes[i % 3];
        write_file(bytes, size);
        look_at_all();
        bytes[i / 3] ^= changes[i % 3];
    }
}

/* Each symbol copies its name, and each part of a name that ends with .cold. */
static void
file__with_a_longer_name_than_linux_has__not_read(void **test)
{
    char line[2100] = "ffffffff81000010 T ";
    const size_t begins = strlen(line);

    (void)test;
    for (size_t bytes = 1000; bytes <= 2000; bytes += 1000) {
        struct kernel_table table = {.core = {0}};
        char text[2200];
        FILE *file;

        memset(line + begins, 'n', bytes);
        line[begins + bytes] = '\0';
        snprintf(text, sizeof(text), "%s%s\n%s", "ffffffff81000000 T _stext\n", line,
                 "ffffffff81001000 T _etext\n");
        file = fmemopen(text, strlen(text), "r");
        assert_non_null(file);
        assert_int_equal(kernel_table_read(&table, file, NULL), 0);
        fclose(file);
        kernel_cache_write(cache_folder(), boot, &table);
        kernel_table_finish(&table);
        assert_int_equal(is_read(boot), bytes < 1024);
    }
}

/* What a command wrote before it was killed is in nobody's way, and a new cache takes
 * the place of the old one, whatever mode that has got. */
static void
cache__written_twice__one_file(void **test)
{
    struct kernel_table table;
    const char *const folder = cache_folder();

    (void)test;
    write_cache();
    assert_int_equal(fixture_run("touch %s/.kernel.ntprof-aaaaaa", folder), 0);
    assert_int_equal(fixture_run("chmod 644 %s/kernel", folder), 0);
    read_text(&table);
    kernel_cache_write(folder, another, &table);
    kernel_table_finish(&table);
    assert_false(is_read(boot));
    assert_true(is_read(another));
    assert_int_equal(fixture_run("test \"$(ls -A %s)\" = kernel", folder), 0);
}

static void
boot__asked_twice__the_same(void **test)
{
    char once[KERNEL_BOOT_BYTES];
    char twice[KERNEL_BOOT_BYTES];

    (void)test;
    assert_true(kernel_cache_boot(once));
    assert_true(kernel_cache_boot(twice));
    assert_memory_equal(once, twice, sizeof(once));
    assert_int_equal(strlen(once), 37); /* with the end of the line */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table__written_and_read__name_the_same),
        cmocka_unit_test(bucket__at_the_bounds_of_the_core__found_inside_only),
        cmocka_unit_test(table__of_another_boot__not_read),
        cmocka_unit_test(table__without_a_core__not_written),
        cmocka_unit_test(file__not_the_callers_alone__not_read),
        cmocka_unit_test(folder__not_the_callers_alone__not_written),
        cmocka_unit_test(file__of_any_other_length__not_read),
        cmocka_unit_test(file__with_any_byte_changed__no_harm),
        cmocka_unit_test(file__with_a_longer_name_than_linux_has__not_read),
        cmocka_unit_test(cache__written_twice__one_file),
        cmocka_unit_test(boot__asked_twice__the_same),
    };

    return cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
}
