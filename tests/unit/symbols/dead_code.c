/* SPDX-License-Identifier: MIT */
/*
 * dead_code.c - lines and frames of functions that the linker threw away, whose
 * addresses it replaced by another one: none of them reach into real code. And units
 * that do not say where they are.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is inlined into dead() is large enough to grow from 0 into live(). */
static const char source[] =
    "volatile unsigned sink;\n"
    "__attribute__((noinline)) unsigned live(unsigned n)\n"
    "{\n"
    "    unsigned s = n;\n"
    "    for (unsigned i = 0; i < n; i++)\n"
    "        s = s * 1664525u + 1013904223u + (s >> 7);\n"
    "    return s;\n"
    "}\n"
    "int main(void) { return live(12) == 3; }\n"
    "#define INLINE static inline __attribute__((always_inline))\n"
    "INLINE unsigned inner(unsigned x) { if (x & 1) { sink = x; x = x * 3 + 1; } "
    "else { sink += x; x >>= 1; } return x + sink; }\n"
    "INLINE unsigned middle(unsigned x) { x = inner(x); x += inner(x + 1); "
    "x ^= inner(x * 3); x += inner(x ^ 9); return x; }\n"
    "#define A x = middle(x) ^ middle(x * 3);\n"
    "#define B A A A A A A A A\n"
    "unsigned dead(unsigned x) { B B B return x; }\n";

static int
write_source(void **state)
{
    if (fixture_make_folder(state) != 0) {
        return -1;
    }
    fixture_write(fixture_path("a.c"), source, strlen(source));
    return 0;
}

static void
assert_live(const char *name)
{
    struct sym_reader *const image = fixture_open(fixture_path("full"), "");
    bool seen = false;
    uint64_t start;
    uint64_t end;

    fixture_find_symbol("full", "live", &start, &end);
    for (uint64_t at = start; at < end; at++) {
        struct sym_name found;

        assert_true(sym_reader_lookup_address(image, at, &found));
        assert_string_equal(found.name, "live");
        /* clang gives some code line 0. */
        if (found.caller_count > 0 || found.line == 1 || found.line > 8) {
            fail_msg("%s: live+%llu is line %u, %zu deep", name,
                     (unsigned long long)(at - start), found.line, found.caller_count);
        }
        seen |= found.line == 6;
    }
    assert_true(seen);
    fixture_find_symbol("full", "main", &start, &end);
    for (uint64_t at = start; at < end; at++) {
        struct sym_name found;

        assert_true(sym_reader_lookup_address(image, at, &found));
        assert_true(found.line == 9 || found.line == 0);
        assert_int_equal(found.caller_count, 0);
    }
    sym_reader_close(image);
}

#define OPTIONS " -O2 -ffunction-sections -Wl,--gc-sections a.c -o full"

/* Each linker with each of the formats in which it treats dead code differently, and
 * each compiler; the others, which combine the same, with NTPROF_TEST_BUILDS=all. */
static const struct {
    const char *name;
    const char *needs;
    const char *command;
    bool is_combined;
} builds[] = {
    {"gcc", "gcc", "gcc -g" OPTIONS, false},
    {"gcc, version 4", "gcc", "gcc -gdwarf-4" OPTIONS, false},
    {"gcc, no PIE", "gcc", "gcc -g -no-pie" OPTIONS, true},
    {"gcc, gold", "ld.gold", "gcc -g -fuse-ld=gold" OPTIONS, true},
    {"gcc, gold, version 4", "ld.gold", "gcc -gdwarf-4 -fuse-ld=gold" OPTIONS, false},
    {"gcc, lld", "ld.lld", "gcc -g -fuse-ld=lld" OPTIONS, true},
    {"clang", "clang", "clang -g" OPTIONS, true},
    {"clang, version 4", "clang", "clang -gdwarf-4" OPTIONS, true},
    {"clang, gold, version 4", "ld.gold", "clang -gdwarf-4 -fuse-ld=gold" OPTIONS,
     true},
    {"clang, lld", "ld.lld", "clang -g -fuse-ld=lld" OPTIONS, false},
    {"clang, lld, version 4", "ld.lld", "clang -gdwarf-4 -fuse-ld=lld" OPTIONS, false},
};

static bool
wants_all(void)
{
    const char *const wanted = getenv("NTPROF_TEST_BUILDS");

    return wanted != NULL && strcmp(wanted, "all") == 0;
}

static void
dead_code__each_way_to_link__gives_nothing_to_live_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
        if (builds[i].is_combined && !wants_all()) {
            continue;
        }
        if (!fixture_can_build(builds[i].name, builds[i].needs)) {
            continue;
        }
        fixture_build("%s", builds[i].command);
        assert_live(builds[i].name);
        fixture_build("objcopy --only-keep-debug full app.debug && cp full whole && "
                      "strip --strip-debug -o full whole && mkdir -p .debug && "
                      "mv app.debug .debug/ && "
                      "objcopy --add-gnu-debuglink=.debug/app.debug full");
        assert_live(builds[i].name);
        /* Which units may do without, as those of clang do. */
        fixture_build("objcopy --remove-section .debug_aranges .debug/app.debug && "
                      "objcopy --remove-section .gnu_debuglink full && "
                      "objcopy --add-gnu-debuglink=.debug/app.debug full && "
                      "! readelf -SW .debug/app.debug | grep -F .debug_aranges");
        assert_live(builds[i].name);
    }
}

/* What linkers have written in place of addresses, or might; in both versions of the
 * format, or in make check each in one of them. */
static void
dead_code__each_address_instead__gives_nothing_to_live_code(void **state)
{
    static const char *const instead[] = {
        "0", "1", "0xffffffffffffffff", "0xfffffffffffffffe", "16", "0x1000"};

    (void)state;
    if (!fixture_has("ld.lld")) {
        skip();
    }
    for (size_t i = 0; i < sizeof(instead) / sizeof(instead[0]); i++) {
        for (size_t version = 4; version <= 5; version++) {
            if (version % 2 == i % 2 && !wants_all()) {
                continue;
            }
            fixture_build("clang -gdwarf-%zu -fuse-ld=lld "
                          "-Wl,-z,dead-reloc-in-nonalloc='.debug_*=%s'" OPTIONS,
                          version, instead[i]);
            assert_live(instead[i]);
        }
    }
}

static void
unit__does_not_say_where_it_is__found_by_its_rows(void **state)
{
    struct sym_reader *image;
    struct sym_name found;
    uint64_t start;
    uint64_t end;

    (void)state;
    /* Other attributes in place of DW_AT_low_pc, high_pc and ranges of the unit, and no
     * .debug_aranges, which would say it too. */
    fixture_build("gcc -gdwarf-4 -O2 -S a.c -o - | awk '"
                  "/section\t.debug_abbrev/ { abbrev = 1 } "
                  "abbrev && /uleb128 0x2$/ { abbrev = 0 } "
                  "abbrev == 2 && /uleb128 0x(55|11|12)$/ "
                  "{ sub(/0x(55|11|12)/, \"0x3f01\") } "
                  "abbrev == 1 && /byte\t0x1$/ { abbrev = 2 } { print }' > b.s && "
                  "gcc b.s -o full && objcopy --remove-section .debug_aranges full && "
                  "! readelf -SW full | grep -F .debug_aranges && "
                  "readelf --debug-dump=info full > info && "
                  "! head -30 info | grep -E '^ *<[0-9a-f]+> +DW_AT_(ranges|low_pc)'");
    image = fixture_open(fixture_path("full"), "");
    fixture_find_symbol("full", "live", &start, &end);
    assert_true(sym_reader_lookup_address(image, end - 1, &found));
    assert_int_equal(found.line, 8);
    assert_int_equal(found.start_line, 2);
    sym_reader_close(image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_code__each_way_to_link__gives_nothing_to_live_code),
        cmocka_unit_test(dead_code__each_address_instead__gives_nothing_to_live_code),
        cmocka_unit_test(unit__does_not_say_where_it_is__found_by_its_rows),
    };

    return cmocka_run_group_tests(tests, write_source, fixture_remove_folder);
}
