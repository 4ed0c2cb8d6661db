/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "sym/name_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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
parse(const char *symbols, const char *with_modules, uint64_t *begin, uint64_t *end)
{
    char *changed = with_modules == NULL ? NULL : strdup(with_modules);
    struct sym_map *map = sym_map_parse_kernel(strdup(symbols), changed, begin, end);
    const int error = errno;

    free(changed);
    errno = error;
    return map;
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
    }
    sym_map_close(map);
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
    map = sym_map_open_kernel(&begin, &end);
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
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols__of_core_and_modules__end_with_their_text),
        cmocka_unit_test(symbols__addresses_hidden__eacces),
        cmocka_unit_test(symbols__none_at_all__enodata),
        cmocka_unit_test(this_kernel__opened__names_or_eacces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
