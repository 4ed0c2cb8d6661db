/* SPDX-License-Identifier: MIT */
/*
 * gaps.c - code that no unit has, which all line tables would have to be read for: what
 * lies between functions, and what linkers make.
 */
#include "fixture.h"

#include "symbols/reader/dwarf_sequences.h"

#include <string.h>

static const char source[] = "#include <stdio.h>\n"
                             "#include <stdlib.h>\n"
                             "__attribute__((noinline)) int\n"
                             "work(int x)\n"
                             "{\n"
                             "    return x * x + 1;\n"
                             "}\n"
                             "int\n"
                             "main(int argc, char **argv)\n"
                             "{\n"
                             "    return puts(argv[0]) + work(atoi(argv[argc - 1]));\n"
                             "}\n";

static size_t tables_read;

/* Linked in place of the one that reads the line table of a unit. */
bool __wrap_sym_dwarf_add_sequences(const struct sym_dwarf_part *section,
                                    uint64_t offset, const struct sym_elf_code *code,
                                    uint32_t tag, struct sym_table *table, bool *any);
bool __real_sym_dwarf_add_sequences(const struct sym_dwarf_part *section,
                                    uint64_t offset, const struct sym_elf_code *code,
                                    uint32_t tag, struct sym_table *table, bool *any);

bool
__wrap_sym_dwarf_add_sequences(const struct sym_dwarf_part *section, uint64_t offset,
                               const struct sym_elf_code *code, uint32_t tag,
                               struct sym_table *table, bool *any)
{
    tables_read++;
    return __real_sym_dwarf_add_sequences(section, offset, code, tag, table, any);
}

static struct sym_reader *
build(void)
{
    fixture_write(fixture_path("gaps.c"), source, strlen(source));
    fixture_build("gcc -g -O1 -falign-functions=64 -Wl,-z,lazy -fcf-protection=none "
                  "-fplt gaps.c -o gaps");
    tables_read = 0;
    return fixture_open(fixture_path("gaps"), "");
}

static void
bucket__ends_behind_its_function__no_other_table_read(void **state)
{
    struct sym_reader *const image = build();
    struct sym_name name;
    uint64_t start;
    uint64_t end;

    (void)state;
    fixture_find_symbol("gaps", "work", &start, &end);
    assert_true(end % 64 != 0);
    assert_true(sym_reader_lookup_bucket(image, start, 64, &name));
    assert_string_equal(name.name, "work");
    assert_in_range(name.line, 6, 7);
    assert_int_equal(tables_read, 0);
    sym_reader_close(image);
}

/* Where the stub of puts is; 0: there is none. */
static uint64_t
find_stub(struct sym_reader *image)
{
    size_t count;
    const struct sym_segment *const segments = sym_reader_segments(image, &count);

    for (size_t i = 0; i < count; i++) {
        for (uint64_t at = 0; segments[i].holds_code && at < segments[i].bytes; at++) {
            const uint64_t address = segments[i].address + at;
            struct sym_name name;

            if (sym_reader_lookup_address(image, address, &name) &&
                strcmp(name.name, "puts@plt") == 0) {
                return address;
            }
        }
    }
    return 0;
}

static void
stub__of_a_linker__no_table_read(void **state)
{
    struct sym_reader *image = build();
    const uint64_t stub = find_stub(image);

    (void)state;
    assert_int_not_equal(stub, 0);
    sym_reader_close(image);
    image = fixture_open(fixture_path("gaps"), "");
    tables_read = 0;
    for (uint64_t bytes = 1; bytes <= 16; bytes *= 16) {
        struct sym_name name;

        assert_true(sym_reader_lookup_bucket(image, stub, bytes, &name));
        assert_string_equal(name.name, "puts@plt");
        assert_int_equal(name.line, 0);
    }
    assert_int_equal(tables_read, 0);
    sym_reader_close(image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bucket__ends_behind_its_function__no_other_table_read),
        cmocka_unit_test(stub__of_a_linker__no_table_read),
    };

    return cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
}
