/* SPDX-License-Identifier: MIT */
/* Unwind rows of code in assembly, whose tables are known: each form of a rule, and
 * what has none. */
#include "fixture.h"

#include "symbols/client/unwind.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Rules that compilers have no names for are bytes: CFA 0x0f, register 0x10. */
static const char source[] =
    ".text\n"
    ".macro function name\n.balign 16\n.globl \\name\n.type \\name, @function\n"
    "\\name:\n.cfi_startproc\n.endm\n"
    ".macro end name\n.cfi_endproc\n.size \\name, . - \\name\n.endm\n"
    "function usual\n push %rbx\n .cfi_adjust_cfa_offset 8\n .cfi_offset rbx, -16\n"
    " push %rbp\n .cfi_adjust_cfa_offset 8\n .cfi_offset rbp, -24\n"
    " mov %rsp, %rbp\n .cfi_def_cfa_register rbp\n nop\n"
    " .cfi_same_value rbx\n .cfi_undefined r12\n nop\nend usual\n"
    "function realigned\n .cfi_escape 0x0f, 3, 0x76, 0x58, 0x06\n"
    " .cfi_escape 0x10, 6, 2, 0x76, 0\n .cfi_escape 0x10, 3, 2, 0x76, 0x60\n"
    " nop\nend realigned\n"
    "function two_bases\n .cfi_escape 0x10, 6, 2, 0x76, 0\n"
    " .cfi_escape 0x10, 3, 2, 0x77, 0x60\n nop\nend two_bases\n"
    "function stub\n .cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a,"
    " 0x33, 0x24, 0x22\n nop\nend stub\n"
    "function computed\n .cfi_escape 0x0f, 3, 0x77, 8, 0x1f\n nop\nend computed\n"
    "function outermost\n .cfi_undefined rip\n nop\nend outermost\n"
    "function elsewhere\n .cfi_register rip, rdx\n nop\nend elsewhere\n"
    "function moved_rsp\n .cfi_register rsp, r8\n nop\nend moved_rsp\n"
    ".macro stored number, offset\n .cfi_escape 0x10, \\number, 3, 0x77,"
    " 0x80 | (\\offset & 0x7f), \\offset >> 7\n.endm\n"
    ".macro all_stored rbx\n .cfi_signal_frame\n"
    " .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6\n stored 3, \\rbx\n stored 6, 120\n"
    " stored 12, 72\n stored 13, 80\n stored 14, 88\n stored 15, 96\n stored 16, 168\n"
    ".endm\n"
    "function interrupted\n all_stored 128\n nop\nend interrupted\n"
    "function other_signal\n all_stored 136\n nop\nend other_signal\n"
    "function restored\n nop\n .cfi_remember_state\n .cfi_adjust_cfa_offset 8\n"
    " nop\n .cfi_adjust_cfa_offset 8\n nop\n .cfi_restore_state\n nop\n nop\n"
    "end restored\n"
    "function many\n.rept 40\n nop\n .cfi_adjust_cfa_offset 8\n.endr\nend many\n"
    ".balign 16\n.globl bare\n.type bare, @function\nbare: nop\n.size bare, . - bare\n"
    ".section .note.GNU-stack, \"\", @progbits\n";

static int
make_libraries(void **state)
{
    FILE *file;

    if (fixture_make_folder(state) != 0) {
        return -1;
    }
    file = fopen(fixture_path("source.s"), "we");
    assert_non_null(file);
    assert_true(fputs(source, file) >= 0);
    assert_int_equal(fclose(file), 0);
    fixture_build("cc -nostdlib -shared -o usual source.s && "
                  "{ echo .cfi_sections .debug_frame; cat source.s; } >debug.s && "
                  "cc -nostdlib -shared -Wl,--no-ld-generated-unwind-info -o debug "
                  "debug.s && "
                  "objcopy --compress-debug-sections debug packed && "
                  "grep -v cfi_ source.s | sed '/stored [0-9]/d' >none.s && "
                  "cc -nostdlib -shared -o none none.s");
    return 0;
}

static struct sym_image *
open_library(const char *name)
{
    const int fd = open(fixture_path("%s", name), O_RDONLY | O_CLOEXEC);
    struct sym_image *image;

    assert_true(fd >= 0);
    image = sym_image_open(fd, name, "", NULL);
    assert_non_null(image);
    return image;
}

/* Ask about one address. */
static size_t
ask(struct sym_image *image, uint64_t address,
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX])
{
    struct sym_unwind_answer answer;

    assert_int_equal(sym_image_unwind(image, &address, 1, &answer), 1);
    memcpy(rows, answer.rows, sizeof(answer.rows));
    return answer.count;
}

/* The rule at a byte of a function. */
static struct sym_unwind_rule
rule_at(const char *library, const char *function, uint64_t byte)
{
    struct sym_image *const image = open_library(library);
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
    uint64_t start;
    uint64_t end;
    size_t count;

    fixture_find_symbol(library, function, &start, &end);
    count = ask(image, start + byte, rows);
    assert_true(count >= 1 && count <= SYM_UNWIND_ROWS_MAX);
    assert_true(rows[0].start <= start + byte && start + byte < rows[0].end);
    for (size_t i = 1; i < count; i++) {
        assert_true(rows[i].start == rows[i - 1].end && rows[i].start < rows[i].end);
    }
    sym_image_close(image);
    return rows[0].rule;
}

static void
assert_place(const struct sym_unwind_rule *rule, size_t index,
             enum sym_unwind_place place, int32_t offset)
{
    assert_int_equal(rule->places[index], place);
    assert_int_equal(rule->offsets[index], offset);
}

static void
assert_cfa(const struct sym_unwind_rule *rule, enum sym_unwind_cfa form, int number,
           int32_t offset)
{
    assert_int_equal(rule->kind, SYM_UNWIND_CALL);
    assert_int_equal(rule->cfa, form);
    assert_int_equal(rule->cfa_register, number);
    assert_int_equal(rule->cfa_offset, offset);
}

enum { RBX, RBP, R12 };

static void
assert_usual(const char *library)
{
    struct sym_unwind_rule rule = rule_at(library, "usual", 0);

    assert_cfa(&rule, SYM_CFA_REGISTER, SYM_REGISTER_SP, 8);
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        assert_place(&rule, i, SYM_PLACE_SAME, 0);
    }
    rule = rule_at(library, "usual", 2);
    assert_cfa(&rule, SYM_CFA_REGISTER, SYM_REGISTER_SP, 24);
    assert_place(&rule, RBX, SYM_PLACE_CFA, -16);
    assert_place(&rule, RBP, SYM_PLACE_CFA, -24);
    assert_place(&rule, R12, SYM_PLACE_SAME, 0);
    rule = rule_at(library, "usual", 5);
    assert_cfa(&rule, SYM_CFA_REGISTER, SYM_REGISTER_FP, 24);
    rule = rule_at(library, "usual", 6);
    assert_place(&rule, RBX, SYM_PLACE_SAME, 0);
    assert_place(&rule, R12, SYM_PLACE_LOST, 0);
}

static void
unwind__of_exceptions_debug_information_or_packed__same_rows(void **state)
{
    (void)state;
    assert_usual("usual");
    assert_usual("debug");
    assert_usual("packed");
}

static void
unwind__stack_realigned__value_in_memory_and_one_base(void **state)
{
    struct sym_unwind_rule rule = rule_at("usual", "realigned", 0);

    (void)state;
    assert_cfa(&rule, SYM_CFA_VALUE, SYM_REGISTER_FP, -40);
    assert_int_equal(rule.base, SYM_REGISTER_FP);
    assert_place(&rule, RBP, SYM_PLACE_BASE, 0);
    assert_place(&rule, RBX, SYM_PLACE_BASE, -32);
    rule = rule_at("usual", "two_bases", 0);
    assert_int_equal(rule.kind, SYM_UNWIND_UNSUPPORTED);
}

static void
unwind__stub__pushed_from_byte(void **state)
{
    struct sym_unwind_rule rule = rule_at("usual", "stub", 0);

    (void)state;
    assert_cfa(&rule, SYM_CFA_STUB, SYM_REGISTER_SP, 11);
}

static void
unwind__signal_frame__the_kernels_places_only(void **state)
{
    (void)state;
    assert_int_equal(rule_at("usual", "interrupted", 0).kind, SYM_UNWIND_SIGNAL);
    assert_int_equal(rule_at("usual", "other_signal", 0).kind, SYM_UNWIND_UNSUPPORTED);
}

static void
unwind__other_rules__unsupported(void **state)
{
    (void)state;
    assert_int_equal(rule_at("usual", "computed", 0).kind, SYM_UNWIND_UNSUPPORTED);
    assert_int_equal(rule_at("usual", "elsewhere", 0).kind, SYM_UNWIND_UNSUPPORTED);
    assert_int_equal(rule_at("usual", "moved_rsp", 0).kind, SYM_UNWIND_UNSUPPORTED);
    assert_int_equal(rule_at("usual", "outermost", 0).kind, SYM_UNWIND_OUTERMOST);
}

static void
unwind__nothing_covers_the_address__one_row_says_why(void **state)
{
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
    struct sym_image *image = open_library("none");

    (void)state;
    assert_int_equal(rule_at("usual", "bare", 0).kind, SYM_UNWIND_NONE);
    assert_int_equal(ask(image, 5, rows), 1);
    assert_int_equal(rows[0].rule.kind, SYM_UNWIND_NO_TABLES);
    assert_int_equal(rows[0].start, 0);
    assert_int_equal(rows[0].end, UINT64_MAX);
    sym_image_close(image);
}

/* Compilers write so behind an epilogue. libdw says that the row that is restored
 * begins where it was saved. */
static void
unwind__restored_row__begins_behind_the_rows_between(void **state)
{
    static const int32_t offsets[] = {8, 16, 24, 8, 8};

    (void)state;
    for (uint64_t asked = 0; asked < sizeof(offsets) / sizeof(offsets[0]); asked++) {
        struct sym_image *const image = open_library("usual");
        struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
        uint64_t start;
        uint64_t end;
        size_t count;

        fixture_find_symbol("usual", "restored", &start, &end);
        count = ask(image, start + asked, rows);
        assert_true(rows[0].start <= start + asked);
        for (size_t i = 0; i < count; i++) {
            const uint64_t last = rows[i].end < end ? rows[i].end : end;

            for (uint64_t at = rows[i].start; at < last; at++) {
                assert_int_equal(rows[i].rule.cfa_offset, offsets[at - start]);
            }
        }
        sym_image_close(image);
    }
}

static void
unwind__many_rows__the_address_and_32_more(void **state)
{
    struct sym_image *const image = open_library("usual");
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
    uint64_t start;
    uint64_t end;

    (void)state;
    fixture_find_symbol("usual", "many", &start, &end);
    assert_int_equal(ask(image, start, rows), SYM_UNWIND_ROWS_MAX);
    for (size_t i = 0; i < SYM_UNWIND_ROWS_MAX; i++) {
        assert_int_equal(rows[i].start, start + i);
        assert_int_equal(rows[i].rule.cfa_offset, 8 + 8 * i);
    }
    assert_int_equal(ask(image, end - 1, rows), 1);
    assert_int_equal(rows[0].rule.cfa_offset, 8 + 8 * 39);
    sym_image_close(image);
}

static void
unwind__several_addresses__each_as_alone(void **state)
{
    struct sym_image *const image = open_library("usual");
    struct sym_unwind_answer answers[SYM_UNWIND_ASKED_MAX];
    uint64_t addresses[SYM_UNWIND_ASKED_MAX];
    uint64_t start;
    uint64_t end;

    (void)state;
    fixture_find_symbol("usual", "many", &start, &end);
    for (size_t i = 0; i < SYM_UNWIND_ASKED_MAX; i++) {
        addresses[i] = start + (i * 7) % SYM_UNWIND_ASKED_MAX;
    }
    assert_int_equal(sym_image_unwind(image, addresses, SYM_UNWIND_ASKED_MAX, answers),
                     SYM_UNWIND_ASKED_MAX);
    for (size_t i = 0; i < SYM_UNWIND_ASKED_MAX; i++) {
        struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];

        assert_int_equal(ask(image, addresses[i], rows), answers[i].count);
        assert_int_equal(rows[0].start, addresses[i]);
        for (size_t at = 0; at < answers[i].count; at++) {
            assert_int_equal(answers[i].rows[at].start, rows[at].start);
            assert_int_equal(answers[i].rows[at].end, rows[at].end);
            assert_int_equal(answers[i].rows[at].rule.cfa_offset,
                             rows[at].rule.cfa_offset);
        }
    }
    sym_image_close(image);
}

static void
unwind__code_of_another_machine__unsupported(void **state)
{
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
    struct sym_reader *reader;
    unsigned char *bytes;
    size_t size;

    (void)state;
    bytes = fixture_read(fixture_path("usual"), &size);
    ((Elf64_Ehdr *)(void *)bytes)->e_machine = EM_AARCH64;
    reader = sym_reader_open_memory(bytes, size, "other");
    assert_non_null(reader);
    assert_int_equal(sym_reader_unwind(reader, 0x1000, rows), 1);
    assert_int_equal(rows[0].rule.kind, SYM_UNWIND_UNSUPPORTED);
    sym_reader_close(reader);
    free(bytes);
}

static void
unwind__own_vdso__has_rows(void **state)
{
    struct sym_image *const image = sym_image_open_vdso(NULL);
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
    struct sym_name name;
    uint64_t place = 0;

    (void)state;
    assert_non_null(image);
    while (place < 0x2000 && !sym_image_lookup_address(image, place, &name)) {
        place += 16;
    }
    assert_true(place < 0x2000);
    assert_true(ask(image, place, rows) >= 1);
    assert_int_equal(rows[0].rule.kind, SYM_UNWIND_CALL);
    sym_image_close(image);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unwind__of_exceptions_debug_information_or_packed__same_rows),
        cmocka_unit_test(unwind__stack_realigned__value_in_memory_and_one_base),
        cmocka_unit_test(unwind__stub__pushed_from_byte),
        cmocka_unit_test(unwind__signal_frame__the_kernels_places_only),
        cmocka_unit_test(unwind__other_rules__unsupported),
        cmocka_unit_test(unwind__nothing_covers_the_address__one_row_says_why),
        cmocka_unit_test(unwind__restored_row__begins_behind_the_rows_between),
        cmocka_unit_test(unwind__many_rows__the_address_and_32_more),
        cmocka_unit_test(unwind__several_addresses__each_as_alone),
        cmocka_unit_test(unwind__code_of_another_machine__unsupported),
        cmocka_unit_test(unwind__own_vdso__has_rows),
    };

    return cmocka_run_group_tests(tests, make_libraries, fixture_remove_folder);
}
