/* SPDX-License-Identifier: MIT */
/* line_cost.c - line tables made byte by byte: what they cost, and which are refused.
 */
#include "fixture.h"

#include "sym/line_cost.h"

#include <string.h>

enum { ROW = 112, FILE_COST = 128, LIMIT = 1 << 20 };

/* table - a section of one table. */
struct table {
    unsigned char bytes[4096];
    size_t size;
    size_t header; /* where the length of the header stands */
};

static void
put(struct table *table, const char *bytes, size_t size)
{
    memcpy(table->bytes + table->size, bytes, size);
    table->size += size;
}

#define PUT(table, bytes) put(table, bytes, sizeof(bytes) - 1)

static void
put_length(struct table *table, size_t at)
{
    const uint32_t length = (uint32_t)(table->size - at - 4);

    memcpy(table->bytes + at, &length, 4);
}

/* Up to the folders of version 2, 3 or 4, or the forms of version 5. */
static void
begin(struct table *table, unsigned char version)
{
    const char number[2] = {(char)version, 0};

    *table = (struct table){.size = 0};
    PUT(table, "\0\0\0\0");
    put(table, number, 2);
    if (version == 5) {
        PUT(table, "\x08\0");
    }
    table->header = table->size;
    PUT(table, "\0\0\0\0\x01");
    if (version >= 4) {
        PUT(table, "\x01");
    }
    PUT(table, "\x01\xfb\x0e\x0d\0\1\1\1\1\0\0\0\1\0\0\1");
}

static void
end_header(struct table *table)
{
    put_length(table, table->header);
}

static uint64_t
cost_within(struct table *table, uint64_t folder, uint64_t limit)
{
    struct sym_dwarf_sections sections = {.image = NULL};

    put_length(table, 0);
    sections.items[SYM_DWARF_LINE].bytes = table->bytes;
    sections.items[SYM_DWARF_LINE].size = table->size;
    return sym_line_cost(&sections, 0, 8, folder, limit);
}

static uint64_t
cost(struct table *table)
{
    return cost_within(table, 0, LIMIT);
}

/* Special opcodes, a copy and the end of the sequence are rows; nothing else is. */
static void
rows__of_each_kind__counted(void **state)
{
    (void)state;
    for (unsigned char version = 2; version <= 4; version++) {
        struct table table;

        begin(&table, version);
        PUT(&table, "\0\0"); /* no folders, no files */
        end_header(&table);
        assert_int_equal(cost(&table), 0);
        PUT(&table, "\x0d\x80\xff\x01"); /* three special ones, a copy */
        PUT(&table, "\x02\x85\x01\x03\x7f\x04\x01\x05\x10\x06\x07\x08");
        PUT(&table, "\x09\x01\x02\x0a\x0b\x0c\x01"); /* advances by two bytes */
        PUT(&table, "\0\x09\x02\x01\x01\x01\x01\x01\x01\x01\x01"); /* an address */
        PUT(&table,
            "\0\x02\x04\x0d\0\x04\x80\x0d\x0d\x0d"); /* discriminator, unknown */
        PUT(&table, "\0\x01\x01");
        assert_int_equal(cost(&table), 5 * ROW);
        assert_int_equal(cost_within(&table, 0, 5 * ROW), 5 * ROW);
        assert_int_equal(cost_within(&table, 0, 5 * ROW - 1), 5 * ROW);
    }
}

/* A file's name is joined with that of the longest folder. */
static void
files__of_folders__cost_of_both_names(void **state)
{
    struct table table;

    (void)state;
    begin(&table, 4);
    PUT(&table, "aa\0bbbb\0\0");
    PUT(&table, "f.c\0\1\0\0g.cc\0\2\0\0\0");
    end_header(&table);
    PUT(&table, "\0\x08\x03h.h\0\1\0\0");
    assert_int_equal(cost(&table), 5 * FILE_COST + 3 * 4 + 3 + 4 + 3);
    assert_int_equal(cost_within(&table, 100, LIMIT), 5 * FILE_COST + 3 * 100 + 10);
}

static void
files__of_version_5__cost_of_both_names(void **state)
{
    struct table table;

    (void)state;
    begin(&table, 5);
    PUT(&table, "\1\1\x08\2/aa\0b\0");            /* one form, a string; two folders */
    PUT(&table, "\3\1\x08\2\x0b\5\x1e\1f.c\0\1"); /* a path, a folder, an MD5 */
    PUT(&table, "0123456789abcdef");
    end_header(&table);
    PUT(&table, "\x0d");
    assert_int_equal(cost(&table), 3 * FILE_COST + 3 + 3 + ROW);
}

static void
assert_refused(const char *header, size_t header_size, const char *program, size_t size)
{
    struct table table;

    begin(&table, 4);
    put(&table, header, header_size);
    end_header(&table);
    put(&table, program, size);
    assert_true(cost(&table) == SYM_LINE_COST_UNKNOWN);
}

#define REFUSED(header, program) \
    assert_refused(header, sizeof(header) - 1, program, sizeof(program) - 1)

/* Where a reader that goes by the length and one that goes by the operands would part.
 */
static void
tables__damaged_or_of_two_meanings__refused(void **state)
{
    struct table table;

    (void)state;
    REFUSED("\0", "\x0d");
    REFUSED("aa", "\x0d");
    REFUSED("\0f.c", "\x0d");
    REFUSED("\0f.c\0\1\0", "");
    REFUSED("\0\0", "\0");
    REFUSED("\0\0", "\0\0\1");
    REFUSED("\0\0", "\0\2\1\x0d");     /* an end that is longer */
    REFUSED("\0\0", "\0\5\2\1\1\1\1"); /* an address of four bytes */
    REFUSED("\0\0", "\0\2\4\x80\1");   /* a number beyond its length */
    REFUSED("\0\0", "\0\2\x90\1");     /* NVIDIA's */
    REFUSED("\0\0", "\x02\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    REFUSED("\0\0", "\x02");

    begin(&table, 4);
    PUT(&table, "\0\0");
    end_header(&table);
    PUT(&table, "\x01\x05");
    table.bytes[table.header + 10]++; /* opcode 1 has an operand */
    assert_true(cost(&table) == SYM_LINE_COST_UNKNOWN);
    begin(&table, 4);
    PUT(&table, "\0\0");
    end_header(&table);
    table.bytes[table.header + 3] = 1; /* a header beyond the table */
    assert_true(cost(&table) == SYM_LINE_COST_UNKNOWN);
    table.bytes[4] = 6;
    assert_true(cost(&table) == SYM_LINE_COST_UNKNOWN);
}

static void
table__beyond_the_section__refused(void **state)
{
    const struct sym_dwarf_sections none = {.image = NULL};

    (void)state;
    assert_true(sym_line_cost(&none, 0, 8, 0, LIMIT) == SYM_LINE_COST_UNKNOWN);
    assert_true(sym_line_cost(&none, 1, 8, 0, LIMIT) == SYM_LINE_COST_UNKNOWN);
}

static void
random_bytes__walked__never_beyond_the_limit(void **state)
{
    uint64_t seed = 11;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct table table;
        uint64_t found;

        begin(&table, (unsigned char)(2 + fixture_random(&seed) % 4));
        PUT(&table, "\0\0");
        end_header(&table);
        for (int i = 0; i < 60; i++) {
            table.bytes[table.size++] = (unsigned char)(fixture_random(&seed) % 20);
        }
        if (round % 3 == 0) {
            table.bytes[fixture_random(&seed) % table.size] =
                (unsigned char)fixture_random(&seed);
        }
        found = cost_within(&table, 0, 10000);
        assert_true(found <= 10001 || found == SYM_LINE_COST_UNKNOWN);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__of_each_kind__counted),
        cmocka_unit_test(files__of_folders__cost_of_both_names),
        cmocka_unit_test(files__of_version_5__cost_of_both_names),
        cmocka_unit_test(tables__damaged_or_of_two_meanings__refused),
        cmocka_unit_test(table__beyond_the_section__refused),
        cmocka_unit_test(random_bytes__walked__never_beyond_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
