/* SPDX-License-Identifier: MIT */
/*
 * Names in unharmed images. The samples are the arguments: position-independent, fixed,
 * compressed debug sections.
 */
#include "fixture.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static char **samples;
static int sample_count;

static void
check_places(const char *program)
{
    struct sample_place places[SAMPLE_PLACES_MAX];
    const size_t count = fixture_sample_places(program, places);
    struct sym_reader *image = fixture_open(program, "");

    assert_true(sym_reader_has_symbols(image));
    assert_string_equal(sym_reader_note(image), "");
    for (size_t i = 0; i < count; i++) {
        struct sym_name name;

        if (strcmp(places[i].name, "sample_data") == 0) {
            assert_false(fixture_lookup(image, places[i].offset, &name));
            assert_null(name.name);
            continue;
        }
        assert_true(fixture_lookup(image, places[i].offset, &name));
        assert_string_equal(name.name, places[i].name);
        assert_true(fixture_lookup(image, places[i].offset + 1, &name));
        assert_string_equal(name.name, places[i].name);
        if (places[i].line != 0) {
            const size_t length = strlen(name.file);

            assert_true(length > 8);
            assert_string_equal(name.file + length - 8, "sample.c");
            assert_true(name.line >= places[i].line && name.line <= places[i].line + 3);
        }
    }
    sym_reader_close(image);
}

static void
sample_functions__by_file_offset__named_with_lines(void **state)
{
    (void)state;
    for (int i = 0; i < sample_count; i++) {
        check_places(samples[i]);
    }
}

static void
mangled_names__looked_up__both_names_given(void **state)
{
    const uint64_t offset = fixture_offset_of(samples[0], "sample::space(int)");
    struct sym_reader *image = fixture_open(samples[0], "");
    struct sym_name first;
    struct sym_name second;

    (void)state;
    assert_true(fixture_lookup(image, offset, &first));
    assert_string_equal(first.system_name, "_ZN6sample5spaceEi");
    assert_true(fixture_lookup(image, offset, &second));
    assert_ptr_equal(first.name, second.name);
    sym_reader_close(image);
}

static void
build_id__set_by_the_linker__in_hex(void **state)
{
    struct sym_reader *image = fixture_open(samples[0], "");

    (void)state;
    assert_string_equal(sym_reader_build_id(image), SAMPLE_BUILD_ID);
    sym_reader_close(image);
}

static void
file_offset__through_program_headers__link_address(void **state)
{
    const uint64_t offset = fixture_offset_of(samples[1], "sample_global");
    struct sym_reader *fixed = fixture_open(samples[1], "");
    uint64_t address = 1;
    size_t size;
    unsigned char *bytes = fixture_read(samples[1], &size);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
    const Elf64_Phdr *segments =
        (const Elf64_Phdr *)(const void *)(bytes + header->e_phoff);

    (void)state;
    assert_true(fixture_address(fixed, offset, &address));
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) != 0) {
            assert_int_equal(address - offset,
                             segments[i].p_vaddr - segments[i].p_offset);
        }
    }
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) != 0) {
            /* Begins before the code, and before it begins. */
            assert_true(
                sym_reader_bucket(fixed, segments[i].p_offset - 16, 64, &address));
            assert_int_equal(address, segments[i].p_vaddr - 16);
        }
    }
    address = 1;
    assert_false(sym_reader_bucket(fixed, UINT64_MAX - 3, 4, &address));
    assert_false(sym_reader_bucket(fixed, size + 4096, 4096, &address));
    assert_int_equal(address, 1);
    assert_false(fixture_address(fixed, UINT64_MAX, &address));
    assert_false(fixture_address(fixed, size + 4096, &address));
    assert_int_equal(address, 1);
    free(bytes);
    sym_reader_close(fixed);
}

static void
offset__in_no_segment__nothing_known(void **state)
{
    struct sym_reader *image = fixture_open(samples[0], "");
    struct sym_name name = {.address = 7};

    (void)state;
    assert_false(fixture_lookup(image, UINT64_MAX - 1, &name));
    assert_null(name.name);
    assert_string_equal(name.file, "");
    assert_int_equal(name.line, 0);
    sym_reader_close(image);
}

static size_t
count_bytes_named(struct sym_reader *image, size_t size, const char *wanted)
{
    size_t count = 0;

    for (uint64_t offset = 0; offset < size; offset++) {
        struct sym_name name;

        count += fixture_lookup(image, offset, &name) && strcmp(name.name, wanted) == 0;
    }
    return count;
}

static void
linkage_stubs__whole_image__named_after_their_target(void **state)
{
    size_t size;
    struct sym_reader *image;

    (void)state;
#if defined(__x86_64__) || defined(__aarch64__)
    for (int i = 0; i < 2; i++) {
        free(fixture_read(samples[i], &size));
        image = fixture_open(samples[i], "");
        assert_int_equal(count_bytes_named(image, size, "puts@plt"), 16);
        sym_reader_close(image);
    }
#else
    (void)size;
    (void)image;
    skip();
#endif
}

__attribute__((noinline)) static int
own_function(void)
{
    static volatile int calls;

    return ++calls;
}

/* As a profiler meets a program: by its map and a run-time address. */
static void
own_functions__through_proc_maps__named(void **state)
{
    const uintptr_t address = (uintptr_t)own_function;
    FILE *maps = fopen("/proc/self/maps", "re");
    uintptr_t start = 0;
    uintptr_t end = 0;
    uint64_t offset = 0;
    char line[4096];
    struct sym_reader *image;

    (void)state;
    assert_true(own_function() > 0);
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64, &start, &end,
                   &offset) == 3 &&
            address >= start && address < end) {
            break;
        }
    }
    fclose(maps);
    image = fixture_open("/proc/self/exe", "");
    fixture_assert_name(image, address - start + offset, "own_function");
    sym_reader_close(image);
}

static void
vdso__from_memory__named(void **state)
{
    const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)vdso;
    struct sym_reader *image;
    size_t named = 0;
    size_t size;

    (void)state;
    if (vdso == NULL) {
        skip();
        return;
    }
    size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    image = sym_reader_open_memory(vdso, size, "[vdso]");
    assert_non_null(image);
    assert_true(sym_reader_has_symbols(image));
    assert_true(strlen(sym_reader_build_id(image)) >= 16);
    for (uint64_t offset = 0; offset < size; offset++) {
        struct sym_name name;

        named += fixture_lookup(image, offset, &name) &&
                 strstr(name.name, "clock_gettime") != NULL;
    }
    assert_true(named > 4);
    sym_reader_close(image);
}

static void
no_elf__opened__enoexec_and_descriptor_taken(void **state)
{
    static const char *const texts[] = {"", "#!/bin/sh\n", "\177ELF", "\177ELF\2\1\1",
                                        "!<arch>\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *path = fixture_path("no_elf");
        int fd;

        fixture_write(path, texts[i], strlen(texts[i]));
        fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_null(sym_reader_open(fd, path, ""));
        assert_int_equal(errno, ENOEXEC);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        assert_null(sym_reader_open_memory(texts[i], strlen(texts[i]), "text"));
        assert_int_equal(errno, ENOEXEC);
    }
    assert_null(
        sym_reader_open(open("/dev/null", O_RDONLY | O_CLOEXEC), "/dev/null", ""));
    assert_int_equal(errno, ENOEXEC);
    sym_reader_close(NULL);
}

/* --- code --- */

static void
code__at_a_link_address__bytes_of_the_file(void **state)
{
    size_t size;
    unsigned char *const bytes = fixture_read(samples[0], &size);
    const uint64_t offset = fixture_offset_of(samples[0], "sample_global");
    struct sym_reader *image = fixture_open(samples[0], "");
    unsigned char got[16];
    uint64_t address;

    (void)state;
    assert_true(fixture_address(image, offset, &address));
    assert_int_equal(sym_reader_read(image, address, got, sizeof(got)), sizeof(got));
    assert_memory_equal(got, bytes + offset, sizeof(got));
    assert_int_equal(sym_reader_read(image, UINT64_MAX, got, sizeof(got)), 0);
    assert_int_equal(sym_reader_read(image, 0, got, 0), 0);
    /* The file's header is in no executable segment, and nobody runs it. */
    assert_int_equal(sym_reader_read(image, 0, got, sizeof(got)), 0);
    assert_int_equal(sym_reader_code(image).machine,
                     bytes[18] | (unsigned int)bytes[19] << 8);
    assert_true(sym_reader_code(image).wide);
    sym_reader_close(image);
    free(bytes);
}

static void
range__of_a_symbol__all_of_its_code(void **state)
{
    for (int i = 0; i < sample_count; i++) {
        const uint64_t offset = fixture_offset_of(samples[i], "sample_global");
        struct sym_reader *image = fixture_open(samples[i], "");
        struct sym_name name;
        uint64_t address;
        uint64_t start;
        uint64_t end;

        assert_true(fixture_address(image, offset, &address));
        assert_true(fixture_range(image, address + 1, &start, &end));
        assert_int_equal(start, address);
        assert_true(end > address + 1 && end < address + 64);
        assert_true(sym_reader_lookup_address(image, end - 1, &name));
        assert_string_equal(name.name, "sample_global");
        if (sym_reader_lookup_address(image, end, &name)) {
            assert_string_not_equal(name.name, "sample_global");
        }
        assert_false(fixture_range(image, UINT64_MAX, &start, &end));
        sym_reader_close(image);
    }
    (void)state;
}

/* rows - what a walk has seen. */
struct rows {
    uint64_t start;
    uint64_t end;
    uint32_t first_line;
    uint64_t last;
    size_t count;
    size_t limit;
};

static bool
see_row(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct rows *rows = context;

    assert_true(address < rows->end);
    assert_true(rows->count == 0 || address >= rows->last);
    assert_true(strlen(file) > 8);
    rows->first_line = rows->count == 0 ? line : rows->first_line;
    rows->last = address;
    rows->count++;
    return rows->count < rows->limit;
}

static void
line_rows__of_a_function__in_order_and_its_own(void **state)
{
    for (int i = 0; i < sample_count; i++) {
        struct sample_place places[SAMPLE_PLACES_MAX];
        struct sym_reader *image = fixture_open(samples[i], "");
        struct rows rows = {.limit = SIZE_MAX};

        assert_true(fixture_sample_places(samples[i], places) > 0);
        assert_string_equal(places[0].name, "sample_global");
        assert_true(fixture_address(image, places[0].offset, &rows.start));
        assert_true(fixture_range(image, rows.start, &rows.start, &rows.end));
        assert_true(sym_reader_line_rows(image, rows.start, rows.end, see_row, &rows));
        assert_true(rows.count >= 2);
        assert_true(rows.first_line >= places[0].line &&
                    rows.first_line <= places[0].line + 3);
        rows.count = 0;
        rows.limit = 1;
        assert_false(sym_reader_line_rows(image, rows.start, rows.end, see_row, &rows));
        assert_int_equal(rows.count, 1);
        rows.count = 0;
        assert_true(
            sym_reader_line_rows(image, UINT64_MAX - 1, UINT64_MAX, see_row, &rows));
        assert_int_equal(rows.count, 0);
        sym_reader_close(image);
    }
    (void)state;
}

/* starts - of rows of a function, by address. */
struct starts {
    uint64_t starts[4096];
    size_t count;
};

static bool
keep_row(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct starts *const rows = context;

    (void)file;
    (void)line;
    assert_true(rows->count < sizeof(rows->starts) / sizeof(rows->starts[0]));
    rows->starts[rows->count++] = address;
    return true;
}

/* The last row that starts within it, else the one that covers it. */
static void
assert_bucket(struct sym_reader *image, const struct starts *rows, uint64_t address,
              uint64_t bytes)
{
    struct sym_name bucket;
    struct sym_name row;
    uint64_t last = address;

    for (size_t i = 0; i < rows->count; i++) {
        if (rows->starts[i] > last && rows->starts[i] < address + bytes) {
            last = rows->starts[i];
        }
    }
    assert_int_equal(sym_reader_named_address(image, address, bytes), last);
    assert_true(sym_reader_lookup_bucket(image, address, bytes, &bucket));
    assert_true(sym_reader_lookup_address(image, last, &row));
    assert_int_equal(bucket.address, address);
    assert_int_equal(bucket.line, row.line);
    assert_string_equal(bucket.name, row.name);
}

static void
buckets__of_a_function__are_of_what_starts_last_in_them(void **state)
{
    struct sym_reader *image = fixture_open(samples[1], "");
    static struct starts rows;
    uint64_t address;
    uint64_t start;
    uint64_t end;

    (void)state;
    assert_true(fixture_address(image, fixture_offset_of(samples[1], "sample_global"),
                                &address));
    assert_true(fixture_range(image, address, &start, &end));
    assert_true(sym_reader_line_rows(image, start, end, keep_row, &rows));
    assert_true(rows.count >= 2);
    for (uint64_t bytes = 1; bytes <= 16; bytes *= 2) {
        for (address = start; address + bytes <= end; address++) {
            assert_bucket(image, &rows, address, bytes);
        }
    }
    sym_reader_close(image);
}

static void
vdso__opened_by_name__is_what_runs_here(void **state)
{
    struct sym_reader *image = sym_reader_open_vdso();
    const unsigned char *mapped = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    struct sym_name name;
    uint64_t address;
    unsigned char byte;

    (void)state;
    if (mapped == NULL) {
        skip();
    }
    assert_non_null(image);
    assert_true(strlen(sym_reader_build_id(image)) > 0);
    for (address = 0; address < 0x10000; address++) {
        if (sym_reader_lookup_address(image, address, &name) &&
            sym_reader_read(image, address, &byte, 1) == 1) {
            assert_int_equal(byte, mapped[address]);
            break;
        }
    }
    assert_true(address < 0x10000);
    sym_reader_close(image);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_functions__by_file_offset__named_with_lines),
        cmocka_unit_test(mangled_names__looked_up__both_names_given),
        cmocka_unit_test(build_id__set_by_the_linker__in_hex),
        cmocka_unit_test(file_offset__through_program_headers__link_address),
        cmocka_unit_test(offset__in_no_segment__nothing_known),
        cmocka_unit_test(linkage_stubs__whole_image__named_after_their_target),
        cmocka_unit_test(own_functions__through_proc_maps__named),
        cmocka_unit_test(vdso__from_memory__named),
        cmocka_unit_test(code__at_a_link_address__bytes_of_the_file),
        cmocka_unit_test(range__of_a_symbol__all_of_its_code),
        cmocka_unit_test(line_rows__of_a_function__in_order_and_its_own),
        cmocka_unit_test(buckets__of_a_function__are_of_what_starts_last_in_them),
        cmocka_unit_test(vdso__opened_by_name__is_what_runs_here),
        cmocka_unit_test(no_elf__opened__enoexec_and_descriptor_taken),
    };

    samples = argv + 1;
    sample_count = argc - 1;
    if (sample_count < 3) {
        return 2;
    }
    return cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
}
