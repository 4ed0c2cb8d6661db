/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "symbols/border/name_map.h"
#include "symbols/client/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char kallsyms[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81000100 t helper\n"
                               "ffffffff81000200 T __x64_sys_open\n"
                               "ffffffff81000200 t __do_sys_open\n"
                               "ffffffff81000300 d some_data\n"
                               "ffffffff81000400 W weak_one\n"
                               "ffffffff81001000 T _etext\n"
                               "ffffffff82000000 D more_data\n"
                               "ffffffff83000000 T _sinittext\n"
                               "ffffffff83000040 t start_up\n"
                               "ffffffff83000080 T _einittext\n"
                               "not a line\n"
                               "ffffffffc0000000 t mod_init\t[first]\n"
                               "ffffffffc0000040 t mod_work\t[first]\n"
                               "ffffffffc0010000 t other_init\t[second]\n"
                               "ffffffffc0100000 t bpf_prog_1_x\t[bpf]\n"
                               "ffffffff81000500 T\n";
static const char modules[] = "first 4096 0 - Live 0xffffffffc0000000\n"
                              "second 8192 1 first, Live 0xffffffffc0010000 (OE)\n";

static struct sym_map *
parse_wanted(const char *symbols, const char *with_modules,
             const struct sym_wanted *wanted, uint64_t *begin, uint64_t *end)
{
    FILE *const text = fmemopen((void *)(uintptr_t)symbols, strlen(symbols), "r");
    FILE *const others =
        with_modules == NULL
            ? NULL
            : fmemopen((void *)(uintptr_t)with_modules, strlen(with_modules), "r");
    struct sym_map *map;
    int error;

    assert_non_null(text);
    map = sym_map_read_kernel(text, others, wanted, begin, end);
    error = errno;
    fclose(text);
    if (others != NULL) {
        fclose(others);
    }
    errno = error;
    return map;
}

static struct sym_map *
parse(const char *symbols, const char *with_modules, uint64_t *begin, uint64_t *end)
{
    return parse_wanted(symbols, with_modules, NULL, begin, end);
}

static void
symbols__of_core_and_modules__end_with_their_text(void **state)
{
    static const struct {
        uint64_t address;
        const char *name, *module;
    } rows[] = {
        {0xffffffff80ffffff, NULL, ""},
        {0xffffffff81000000, "stext", ""},
        {0xffffffff810001ff, "helper", ""},
        {0xffffffff81000200, "__x64_sys_open", ""},
        {0xffffffff810003ff, "__x64_sys_open", ""},
        {0xffffffff81000fff, "weak_one", ""},
        {0xffffffff82000000, NULL, ""},
        {0xffffffff83000041, "start_up", ""},
        {0xffffffff83000080, "_einittext", ""},
        {0xffffffffc000003f, "mod_init", "first"},
        {0xffffffffc0000fff, "mod_work", "first"},
        {0xffffffffc0001000, NULL, ""},
        {0xffffffffc0011fff, "other_init", "second"},
        {0xffffffffc0012000, NULL, ""},
        {0xffffffffc010ffff, "bpf_prog_1_x", "bpf"},
        {0xffffffffc0110000, NULL, ""},
    };
    uint64_t begin;
    uint64_t end;
    struct sym_map *map = parse(kallsyms, modules, &begin, &end);

    (void)state;
    assert_non_null(map);
    assert_int_equal(begin, 0xffffffff81000000);
    assert_int_equal(end, 0xffffffff81001000);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sym_name name;
        const char *module;
        const bool found = sym_map_lookup(map, rows[i].address, &name, &module);

        assert_int_equal(found, rows[i].name != NULL);
        assert_string_equal(module, rows[i].module);
        if (found && i != 1) {
            assert_string_equal(name.name, rows[i].name);
        }
        assert_int_equal(name.has_start, found);
        assert_true(!found || name.start <= rows[i].address);
        assert_string_equal(name.definition, "");
    }
    sym_map_close(map);
}

static void
symbols__either_name_of_the_begin__stext_if_both(void **state)
{
    static const char *const texts[] = {
        "ffffffff81000000 T _text\nffffffff81002000 T _etext\n",
        "ffffffff81000000 T _stext\nffffffff81002000 T _etext\n",
        "ffffffff80ff0000 T _text\nffffffff81000000 T _stext\n"
        "ffffffff81002000 T _etext\n",
        "ffffffff81000000 T _stext\nffffffff81000010 T _text\n"
        "ffffffff81002000 T _etext\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t begin = 0;
        uint64_t end = 0;
        struct sym_map *const map = parse(texts[i], NULL, &begin, &end);

        assert_non_null(map);
        assert_int_equal(begin, 0xffffffff81000000);
        assert_int_equal(end, 0xffffffff81002000);
        sym_map_close(map);
    }
}

static void
symbols__addresses_hidden__eacces(void **state)
{
    uint64_t begin = 1;
    uint64_t end = 2;

    (void)state;
    assert_null(parse("0000000000000000 T _stext\n0000000000000000 T _etext\n", NULL,
                      &begin, &end));
    assert_int_equal(errno, EACCES);
    assert_int_equal(begin, 1);
    assert_int_equal(end, 2);
}

static void
symbols__none_at_all__enodata(void **state)
{
    uint64_t begin;
    uint64_t end;

    (void)state;
    assert_null(parse("", NULL, &begin, &end));
    assert_int_equal(errno, ENODATA);
}

/* The address of a function that every kernel has, as kallsyms says. */
static uint64_t
real_address(const char *wanted)
{
    FILE *file = fopen("/proc/kallsyms", "re");
    unsigned long long address;
    uint64_t found = 0;
    char line[1024];
    char name[512];
    char type;

    while (file != NULL && found == 0 && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "%llx %c %511s", &address, &type, name) == 3 &&
            strcmp(name, wanted) == 0) {
            found = address;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/* Parts stand far from their functions, which nobody may have asked for. */
static void
parts__of_core_and_modules__count_to_their_functions(void **state)
{
    static const char text[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81000100 t work\n"
                               "ffffffff81000200 T next\n"
                               "ffffffff81000300 t twice\n"
                               "ffffffff81000400 t twice\n"
                               "ffffffff81000500 t work.cold\n"
                               "ffffffff81000600 t twice.cold\n"
                               "ffffffff81000700 t next.part.0.cold\n"
                               "ffffffff81000800 t end_mark\n"
                               "ffffffff81001000 T _etext\n"
                               "ffffffffc0000000 t work\t[first]\n"
                               "ffffffffc0000100 t work.cold\t[first]\n";
    static const struct {
        uint64_t address;
        const char *name;
        uint64_t start;
        const char *module;
    } rows[] = {
        {0xffffffff81000508, "work", 0xffffffff81000100, ""},
        {0xffffffff81000608, "twice", 0xffffffff81000600, ""},
        {0xffffffff81000708, "next", 0xffffffff81000200, ""},
        {0xffffffffc0000108, "work", 0xffffffffc0000000, "first"},
    };
    static const char with_modules[] = "first 8192 1 - Live 0xffffffffc0000000 (OE)\n";

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        const struct sym_wanted wanted = {&rows[i / 2].address, 1, 1};
        struct sym_name name;
        const char *module;
        uint64_t begin;
        uint64_t end;
        struct sym_map *const map =
            parse_wanted(text, with_modules, i % 2 == 0 ? NULL : &wanted, &begin, &end);

        assert_non_null(map);
        assert_true(sym_map_lookup(map, rows[i / 2].address, &name, &module));
        assert_string_equal(name.name, rows[i / 2].name);
        assert_string_equal(module, rows[i / 2].module);
        assert_int_equal(name.start, rows[i / 2].start);
        sym_map_close(map);
    }
}

/* What cannot be read again, as it takes Linux long to write it. */
static void
parts__of_a_pipe__count_to_their_functions(void **state)
{
    static const char text[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81000100 t work\n"
                               "ffffffff81000200 t other\n"
                               "ffffffff81000500 t work.cold\n"
                               "ffffffff81001000 T _etext\n";
    const uint64_t place = UINT64_C(0xffffffff81000508);
    const struct sym_wanted wanted = {&place, 1, 1};
    struct sym_name name;
    struct sym_map *map;
    const char *module;
    uint64_t begin;
    uint64_t end;
    int ends[2];
    FILE *file;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[1]);
    file = fdopen(ends[0], "r");
    assert_non_null(file);
    map = sym_map_read_kernel(file, NULL, &wanted, &begin, &end);
    fclose(file);
    assert_non_null(map);
    assert_true(sym_map_lookup(map, place, &name, &module));
    assert_string_equal(name.name, "work");
    assert_int_equal(name.start, UINT64_C(0xffffffff81000100));
    sym_map_close(map);
}

/* Is a place named by both maps, and in the same way? */
static void
assert_same_name(const struct sym_map *all, const struct sym_map *some, uint64_t place)
{
    struct sym_name expected;
    struct sym_name name;
    const char *expected_module;
    const char *module;
    const bool found = sym_map_lookup(all, place, &expected, &expected_module);

    assert_int_equal(sym_map_lookup(some, place, &name, &module), found);
    if (found) {
        assert_string_equal(name.name, expected.name);
        assert_string_equal(name.system_name, expected.system_name);
        assert_string_equal(module, expected_module);
    }
}

/* Names each wanted place by all symbols and by those that are kept for it. */
static void
assert_names_same(const char *text, const struct sym_wanted *wanted)
{
    uint64_t begins[2];
    uint64_t ends[2];
    struct sym_map *const all = parse(text, modules, &begins[0], &ends[0]);
    struct sym_map *const some =
        parse_wanted(text, modules, wanted, &begins[1], &ends[1]);

    assert_non_null(all);
    assert_non_null(some);
    assert_true(begins[0] == begins[1] && ends[0] == ends[1]);
    for (size_t i = 0; i < wanted->count; i++) {
        assert_same_name(all, some, wanted->places[i]);
        assert_same_name(all, some, wanted->places[i] + (wanted->bytes - 1));
    }
    sym_map_close(all);
    sym_map_close(some);
}

/* Each place of a text, those between and beside its symbols too; alone, and all
 * together. */
static void
assert_names_all(const char *text, uint64_t bytes)
{
    static const uint64_t firsts[] = {0xffffffff80ffff00, 0xffffffff81000f00,
                                      0xffffffff82fffff0, 0xffffffffbfffff00,
                                      0xffffffffc000ff00, 0xffffffffc00fff00};
    enum { FIRSTS = sizeof(firsts) / sizeof(firsts[0]), EACH = 97 };
    static uint64_t places[FIRSTS * EACH];
    size_t count = 0;

    for (size_t i = 0; i < FIRSTS; i++) {
        for (size_t k = 0; k < EACH; k++) {
            places[count++] = firsts[i] + k * 16;
        }
    }
    for (size_t i = 0; i < count; i += 5) {
        assert_names_same(text, &(struct sym_wanted){&places[i], 1, bytes});
    }
    assert_names_same(text, &(struct sym_wanted){places, count, bytes});
}

static void
wanted__names_of_each_place__the_same(void **state)
{
    /* As modules may be: not by address. */
    static const char disordered[] = "ffffffffc0010100 t late\t[second]\n"
                                     "ffffffffc0010000 t early\t[second]\n"
                                     "ffffffffc0010080 t between\t[second]\n"
                                     "ffffffff81000000 T _stext\n"
                                     "ffffffff81000010 T last_of_all\n"
                                     "ffffffff81001000 T _etext\n"
                                     "ffffffffc0010000 T alias\t[second]\n";

    (void)state;
    for (uint64_t bytes = 1; bytes <= 64; bytes *= 8) {
        assert_names_all(kallsyms, bytes);
        assert_names_all(disordered, bytes);
    }
}

static void
wanted__one_place__no_other_symbol_kept(void **state)
{
    static const uint64_t place = 0xffffffff81000210;
    uint64_t begin;
    uint64_t end;
    struct sym_map *const map = parse_wanted(
        kallsyms, modules, &(struct sym_wanted){&place, 1, 8}, &begin, &end);

    (void)state;
    assert_non_null(map);
    assert_int_equal(map->table.range_count, 1);
    assert_int_equal(begin, 0xffffffff81000000);
    assert_int_equal(end, 0xffffffff81001000);
    sym_map_close(map);
}

static void
kallsyms__cannot_be_read__eio(void **state)
{
    FILE *const folder = fopen("/", "re");
    uint64_t begin;
    uint64_t end;

    (void)state;
    assert_non_null(folder);
    assert_null(sym_map_read_kernel(folder, NULL, NULL, &begin, &end));
    assert_int_equal(errno, EIO);
    fclose(folder);
}

static void
this_kernel__opened__names_or_eacces(void **state)
{
    const uint64_t address = real_address("schedule");
    uint64_t begin;
    uint64_t end;
    struct sym_map *map;
    struct sym_name name;
    const char *module;

    (void)state;
    errno = 0;
    map = sym_map_open_kernel(NULL, &begin, &end);
    if (address == 0) {
        assert_null(map);
        assert_true(errno == EACCES || errno == ENOENT);
        return;
    }
    assert_non_null(map);
    assert_true(begin < end && begin <= address && address < end);
    assert_true(sym_map_lookup(map, address + 1, &name, &module));
    assert_string_equal(name.name, "schedule");
    assert_string_equal(module, "");
    assert_false(sym_map_lookup(map, 0x1000, &name, &module));
    sym_map_close(map);

    map = sym_map_open_kernel(&(struct sym_wanted){&address, 1, 8}, &begin, &end);
    assert_non_null(map);
    assert_true(begin < end && begin <= address && address < end);
    assert_true(sym_map_lookup(map, address + 7, &name, &module));
    assert_string_equal(name.name, "schedule");
    sym_map_close(map);
}

/* Whatever few places are asked for, all of /proc/kallsyms says the same. */
static void
wanted__names_of_this_kernel__the_same_as_of_all(void **state)
{
    const uint64_t address = real_address("schedule");
    const char *module;
    uint64_t begin;
    uint64_t end;

    (void)state;
    if (address == 0) {
        return; /* hidden */
    }
    for (uint64_t i = 0; i < 64; i++) {
        const uint64_t place = address + i * 4096;
        struct sym_map *const all = sym_map_open_kernel(NULL, &begin, &end);
        struct sym_map *const some =
            sym_map_open_kernel(&(struct sym_wanted){&place, 1, 1}, &begin, &end);
        struct sym_name expected;
        struct sym_name found;

        assert_non_null(all);
        assert_non_null(some);
        if (sym_map_lookup(all, place, &expected, &module)) {
            assert_true(sym_map_lookup(some, place, &found, &module));
            assert_string_equal(found.name, expected.name);
        } else {
            assert_false(sym_map_lookup(some, place, &found, &module));
        }
        sym_map_close(all);
        sym_map_close(some);
        i += 15;
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts__of_core_and_modules__count_to_their_functions),
        cmocka_unit_test(parts__of_a_pipe__count_to_their_functions),
        cmocka_unit_test(symbols__of_core_and_modules__end_with_their_text),
        cmocka_unit_test(symbols__either_name_of_the_begin__stext_if_both),
        cmocka_unit_test(symbols__addresses_hidden__eacces),
        cmocka_unit_test(symbols__none_at_all__enodata),
        cmocka_unit_test(wanted__names_of_each_place__the_same),
        cmocka_unit_test(wanted__one_place__no_other_symbol_kept),
        cmocka_unit_test(kallsyms__cannot_be_read__eio),
        cmocka_unit_test(this_kernel__opened__names_or_eacces),
        cmocka_unit_test(wanted__names_of_this_kernel__the_same_as_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
