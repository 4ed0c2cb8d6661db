/* SPDX-License-Identifier: MIT */
/* Unwind rows of arm64 code in assembly, read by what is compiled for that machine. */
#include "fixture.h"

#include "base/budget.h"
#include "symbols/reader/unwind.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char source[] =
    ".text\n"
    ".macro function name\n.balign 16\n.globl \\name\n.type \\name, @function\n"
    "\\name:\n.cfi_startproc\n.endm\n"
    ".macro end name\n.cfi_endproc\n.size \\name, . - \\name\n.endm\n"
    "function usual\n paciasp\n .cfi_negate_ra_state\n"
    " stp x29, x30, [sp, -48]!\n .cfi_def_cfa_offset 48\n .cfi_offset 29, -48\n"
    " .cfi_offset 30, -40\n stp x19, x20, [sp, 16]\n .cfi_offset 19, -32\n"
    " .cfi_offset 20, -24\n mov x29, sp\n .cfi_def_cfa_register 29\n bl outside\n"
    " ldp x29, x30, [sp], 48\n .cfi_restore 30\n .cfi_restore 29\n"
    " .cfi_def_cfa 31, 0\n autiasp\n .cfi_negate_ra_state\n ret\nend usual\n"
    "function resolver\n .cfi_rel_offset 30, 8\n nop\n .cfi_adjust_cfa_offset 208\n"
    " .cfi_rel_offset 19, 0\n nop\nend resolver\n"
    "function longjmp\n .cfi_def_cfa x0, 0\n .cfi_offset 30, 88\n nop\nend longjmp\n"
    "function outermost\n .cfi_undefined x30\n nop\nend outermost\n"
    "function elsewhere\n .cfi_register x30, x9\n nop\nend elsewhere\n"
    "function interrupted\n .cfi_signal_frame\n .cfi_def_cfa x29, 0\n"
    " .cfi_offset x29, 0\n .cfi_offset x30, 8\n nop\nend interrupted\n"
    "function other_signal\n .cfi_signal_frame\n .cfi_def_cfa x29, 16\n"
    " .cfi_offset x29, -16\n .cfi_offset x30, -8\n nop\nend other_signal\n"
    ".balign 16\n.globl bare\n.type bare, @function\nbare: nop\n.size bare, . - bare\n"
    /* What looks like it and is not aligned; and more than a megabyte in between. */
    ".balign 16\n.2byte 0\n.8byte 0xd4000001d2801168\n.skip 0x180000\n"
    ".balign 16\n.globl trampoline\n.type trampoline, @function\nnop\n"
    "trampoline: mov x8, 139\n svc 0\n nop\n.size trampoline, . - trampoline\n"
    ".section .note.GNU-stack, \"\", @progbits\n";

enum { AT_X19 = 0, AT_X21 = 2, AT_X29 = 10, AT_X30 = 11 };

#if defined(__aarch64__)
#define COMPILER "cc"
#define NEEDS "cc"
#else
#define COMPILER "clang --target=aarch64-linux-gnu -fuse-ld=lld"
#define NEEDS "ld.lld"
#endif

static struct sym_budget budget;
static struct sym_unwind_tables tables;
static struct sym_elf file;
static int fd = -1;

static int
open_library(void **state)
{
    FILE *text;

    if (!fixture_has(NEEDS)) {
        return 0; /* each test skips */
    }
    assert_int_equal(fixture_make_folder(state), 0);
    text = fopen(fixture_path("source.s"), "we");
    assert_non_null(text);
    assert_true(fputs(source, text) >= 0);
    assert_int_equal(fclose(text), 0);
    fixture_build(COMPILER " -nostdlib -shared -o library source.s && "
                           "grep -v cfi_ source.s >none.s && " COMPILER
                           " -nostdlib -shared -o none none.s");
    fd = open(fixture_path("library"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(sym_elf_open(&file, fd), 0);
    sym_budget_begin(&budget, 0);
    return 0;
}

static int
close_library(void **state)
{
    if (fd < 0) {
        return 0;
    }
    sym_unwind_tables_finish(&tables);
    sym_elf_close(&file);
    close(fd);
    return fixture_remove_folder(state);
}

static struct sym_unwind_rule
rule_of_address(uint64_t address)
{
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];

    assert_true(sym_unwind_tables_find(&tables, &file, &budget, address, rows) >= 1);
    assert_true(rows[0].start <= address && address < rows[0].end);
    return rows[0].rule;
}

/* The rule at an instruction of a function. */
static struct sym_unwind_rule
rule_at(const char *function, uint64_t instruction)
{
    uint64_t start;
    uint64_t end;

    fixture_find_symbol("library", function, &start, &end);
    return rule_of_address(start + 4 * instruction);
}

static void
need_library(void)
{
    if (fd < 0) {
        print_message(NEEDS " is not installed\n");
        skip();
    }
}

static void
assert_cfa(const struct sym_unwind_rule *rule, int number, int32_t offset)
{
    assert_int_equal(rule->kind, SYM_UNWIND_CALL);
    assert_int_equal(rule->cfa, SYM_CFA_REGISTER);
    assert_int_equal(rule->cfa_register, number);
    assert_int_equal(rule->cfa_offset, offset);
}

static void
assert_place(const struct sym_unwind_rule *rule, size_t index,
             enum sym_unwind_place place, int32_t offset)
{
    assert_int_equal(rule->places[index], place);
    assert_int_equal(rule->offsets[index], offset);
}

/* Signed or not: tables say where the return address is all the same. */
static void
arm64__function__cfa_saved_registers_and_link(void **state)
{
    struct sym_unwind_rule rule;

    (void)state;
    need_library();
    for (uint64_t first = 0; first < 2; first++) {
        rule = rule_at("usual", first);
        assert_cfa(&rule, SYM_REGISTER_SP, 0);
        for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
            assert_place(&rule, i, SYM_PLACE_SAME, 0);
        }
    }
    rule = rule_at("usual", 3);
    assert_cfa(&rule, SYM_REGISTER_SP, 48);
    assert_place(&rule, AT_X19, SYM_PLACE_CFA, -32);
    assert_place(&rule, AT_X21, SYM_PLACE_SAME, 0);
    assert_place(&rule, AT_X29, SYM_PLACE_CFA, -48);
    assert_place(&rule, AT_X30, SYM_PLACE_CFA, -40);
    rule = rule_at("usual", 4);
    assert_cfa(&rule, SYM_REGISTER_FP, 48);
    rule = rule_at("usual", 6);
    assert_cfa(&rule, SYM_REGISTER_SP, 0);
    assert_place(&rule, AT_X30, SYM_PLACE_SAME, 0);
}

/* glibc's _dl_runtime_resolve, for which .plt has pushed x16 and x30. */
static void
arm64__return_address_above_cfa__cfa_above_what_plt_pushed(void **state)
{
    struct sym_unwind_rule rule;

    (void)state;
    need_library();
    rule = rule_at("resolver", 0);
    assert_cfa(&rule, SYM_REGISTER_SP, 16);
    assert_place(&rule, AT_X30, SYM_PLACE_CFA, -8);
    rule = rule_at("resolver", 1);
    assert_cfa(&rule, SYM_REGISTER_SP, 224);
    assert_place(&rule, AT_X30, SYM_PLACE_CFA, -8);
    assert_place(&rule, AT_X19, SYM_PLACE_CFA, -224);
    assert_int_equal(rule_at("longjmp", 0).kind, SYM_UNWIND_UNSUPPORTED);
}

static void
arm64__other_rules__outermost_or_unsupported(void **state)
{
    (void)state;
    need_library();
    assert_int_equal(rule_at("outermost", 0).kind, SYM_UNWIND_OUTERMOST);
    assert_int_equal(rule_at("elsewhere", 0).kind, SYM_UNWIND_UNSUPPORTED);
    assert_int_equal(rule_at("bare", 0).kind, SYM_UNWIND_NONE);
}

static void
arm64__signal_frame__the_kernels_only(void **state)
{
    (void)state;
    need_library();
    assert_int_equal(rule_at("interrupted", 0).kind, SYM_UNWIND_SIGNAL);
    assert_int_equal(rule_at("other_signal", 0).kind, SYM_UNWIND_UNSUPPORTED);
}

/* The walk looks for it at the byte before its first one. */
static void
arm64__signal_trampoline_without_tables__by_its_instructions(void **state)
{
    uint64_t start;
    uint64_t end;

    (void)state;
    need_library();
    fixture_find_symbol("library", "trampoline", &start, &end);
    assert_int_equal(rule_of_address(start - 5).kind, SYM_UNWIND_NONE);
    for (uint64_t at = start - 4; at < start + 8; at++) {
        assert_int_equal(rule_of_address(at).kind, SYM_UNWIND_SIGNAL);
    }
    assert_int_equal(rule_of_address(start + 8).kind, SYM_UNWIND_NONE);
}

/* As in the kernel's vdso. */
static void
arm64__image_without_tables__trampoline_and_two_rows(void **state)
{
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
    struct sym_unwind_tables none = {.opened = false};
    struct sym_elf image;
    uint64_t start;
    uint64_t end;
    int other;

    (void)state;
    need_library();
    other = open(fixture_path("none"), O_RDONLY | O_CLOEXEC);
    assert_true(other >= 0);
    assert_int_equal(sym_elf_open(&image, other), 0);
    fixture_find_symbol("none", "trampoline", &start, &end);
    assert_int_equal(sym_unwind_tables_find(&none, &image, &budget, start, rows), 1);
    assert_int_equal(rows[0].rule.kind, SYM_UNWIND_SIGNAL);
    assert_int_equal(rows[0].start, start - 4);
    assert_int_equal(rows[0].end, start + 8);
    assert_int_equal(sym_unwind_tables_find(&none, &image, &budget, 16, rows), 1);
    assert_int_equal(rows[0].rule.kind, SYM_UNWIND_NO_TABLES);
    assert_int_equal(rows[0].end, start - 4);
    assert_int_equal(sym_unwind_tables_find(&none, &image, &budget, start + 8, rows),
                     1);
    assert_int_equal(rows[0].rule.kind, SYM_UNWIND_NO_TABLES);
    assert_int_equal(rows[0].start, start + 8);
    assert_int_equal(rows[0].end, UINT64_MAX);
    sym_unwind_tables_finish(&none);
    sym_elf_close(&image);
    close(other);
}

/* Its head pushes, and its stubs change nothing. */
static void
arm64__stub_of_plt__link_register(void **state)
{
    struct sym_unwind_rule rule;
    size_t index;
    uint64_t start;

    (void)state;
    need_library();
    index = sym_elf_find_section(&file, ".plt");
    assert_int_not_equal(index, 0);
    start = file.sections[index].sh_addr;
    assert_int_equal(rule_of_address(start + 28).kind, SYM_UNWIND_NONE);
    rule = rule_of_address(start + 32);
    assert_cfa(&rule, SYM_REGISTER_SP, 0);
    assert_place(&rule, AT_X30, SYM_PLACE_SAME, 0);
    rule = rule_of_address(start + file.sections[index].sh_size - 4);
    assert_cfa(&rule, SYM_REGISTER_SP, 0);
    rule = rule_of_address(start + file.sections[index].sh_size);
    assert_int_equal(rule.kind, SYM_UNWIND_NONE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arm64__function__cfa_saved_registers_and_link),
        cmocka_unit_test(arm64__return_address_above_cfa__cfa_above_what_plt_pushed),
        cmocka_unit_test(arm64__other_rules__outermost_or_unsupported),
        cmocka_unit_test(arm64__signal_frame__the_kernels_only),
        cmocka_unit_test(arm64__signal_trampoline_without_tables__by_its_instructions),
        cmocka_unit_test(arm64__image_without_tables__trampoline_and_two_rows),
        cmocka_unit_test(arm64__stub_of_plt__link_register),
    };

    return cmocka_run_group_tests(tests, open_library, close_library);
}
