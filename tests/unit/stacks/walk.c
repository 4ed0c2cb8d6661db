/* SPDX-License-Identifier: MIT */
/* Walks of stacks that are made by hand: each form of a rule, each end, and rules that
 * lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stacks/walk.h"

#include <string.h>

/* Code of three images, whose link-time addresses begin at 0x100, 0 and itself. */
enum { PROGRAM = 1, LIBRARY = 2, JIT = 3 };
static const struct stack_mapping mappings[] = {
    {0x10000, 0x20000, 0x100, PROGRAM, false},
    {0x20000, 0x30000, 0, LIBRARY, false},
    {0x50000, 0x60000, 0x50000, JIT, true},
};

enum {
    R10 = 10,
    RBX = SYM_REGISTER_RBX,
    RBP = SYM_REGISTER_RBP,
    RSP = SYM_REGISTER_RSP
};
enum { AT_RBX, AT_RBP, AT_R12 }; /* of saved registers */

#define STACK UINT64_C(0x7fff0000)
#define IN_PROGRAM(address) (UINT64_C(0x10000) + (address))
#define IN_LIBRARY(address) (UINT64_C(0x20000) + (address))
#define IN_JIT(address) (UINT64_C(0x50000) + (address))

static struct stack_rules *rules;
static uint64_t stack[2048];
static struct stack_sample sample;
static struct stack_walked walked;

static int
begin(void **state)
{
    (void)state;
    rules = stack_rules_create();
    assert_non_null(rules);
    memset(stack, 0, sizeof(stack));
    sample = (struct stack_sample){
        .registers = {[RSP] = STACK},
        .address = IN_PROGRAM(0x10),
        .copy = (const uint8_t *)stack,
        .copied_bytes = sizeof(stack),
        .asked_bytes = sizeof(stack),
        .mappings = mappings,
        .mapping_count = sizeof(mappings) / sizeof(mappings[0]),
    };
    return 0;
}

static int
end(void **state)
{
    (void)state;
    stack_rules_delete(rules);
    return 0;
}

static struct sym_unwind_rule
usual(uint8_t number, int32_t offset)
{
    return (struct sym_unwind_rule){
        .kind = SYM_UNWIND_CALL, .cfa_register = number, .cfa_offset = offset};
}

/* The rule of link-time addresses of an image. */
static void
set_rule(uint32_t image, uint64_t start, uint64_t to, struct sym_unwind_rule rule)
{
    const struct sym_unwind_row row = {start, to, rule};

    stack_rules_add(rules, image, &row, 1);
}

static void
set_kind(uint32_t image, uint64_t start, uint64_t to, enum sym_unwind_kind kind)
{
    set_rule(image, start, to, (struct sym_unwind_rule){.kind = (uint8_t)kind});
}

static void
set_place(struct sym_unwind_rule *rule, size_t index, enum sym_unwind_place place,
          int32_t offset)
{
    rule->places[index] = (uint8_t)place;
    rule->offsets[index] = offset;
}

static void
assert_end(size_t count, enum stack_end wanted, uint32_t image)
{
    assert_true(stack_walk(&sample, rules, &walked));
    assert_int_equal(walked.count, count);
    assert_int_equal(walked.end, wanted);
    assert_int_equal(walked.image, image);
}

static void
assert_frame(size_t index, uint32_t image, uint64_t address)
{
    assert_true(index < walked.count);
    assert_int_equal(walked.frames[index].image, image);
    assert_int_equal(walked.frames[index].address, address);
}

/* --- rules --- */

static void
walk__calls__byte_before_each_return_address_as_linked(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 8));
    set_rule(LIBRARY, 0, 0x200, usual(RSP, 16));
    stack[0] = IN_LIBRARY(0x50);
    stack[2] = IN_PROGRAM(0x30);
    stack[3] = 0;
    assert_end(2, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x4f);
    assert_frame(1, PROGRAM, 0x100 + 0x2f);
}

/* A call that does not return is the last code of its function. */
static void
walk__return_address_in_another_row__row_of_the_call(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 8));
    set_rule(LIBRARY, 0, 0x50, usual(RSP, 8));
    set_kind(LIBRARY, 0x50, 0x200, SYM_UNWIND_UNSUPPORTED);
    stack[0] = IN_LIBRARY(0x50);
    assert_end(1, STACK_WHOLE, STACK_NO_IMAGE);
}

static void
walk__saved_registers__followed_to_whoever_needs_them(void **state)
{
    struct sym_unwind_rule saves = usual(RSP, 32);

    (void)state;
    set_place(&saves, AT_RBP, SYM_PLACE_CFA, -16);
    set_place(&saves, AT_RBX, SYM_PLACE_CFA, -24);
    set_rule(PROGRAM, 0, 0x200, saves);
    set_rule(LIBRARY, 0, 0x40, usual(RBX, 8));
    set_rule(LIBRARY, 0x40, 0x80, usual(RBP, 16));
    stack[3] = IN_LIBRARY(0x30);
    stack[1] = STACK + 80; /* rbx */
    stack[2] = STACK + 160;
    stack[10] = IN_LIBRARY(0x60);
    stack[21] = 0;
    assert_end(2, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x2f);
    assert_frame(1, LIBRARY, 0x5f);
}

/* In an epilogue the slot was popped already. */
static void
walk__saved_below_first_rsp__register_has_its_value(void **state)
{
    struct sym_unwind_rule popped = usual(RSP, 8);

    (void)state;
    set_place(&popped, AT_RBP, SYM_PLACE_CFA, -16);
    set_rule(PROGRAM, 0, 0x200, popped);
    set_rule(LIBRARY, 0, 0x80, usual(RBP, 16));
    sample.registers[RBP] = STACK + 64;
    stack[0] = IN_LIBRARY(0x30);
    stack[9] = IN_LIBRARY(0x40);
    assert_true(stack_walk(&sample, rules, &walked));
    assert_frame(0, LIBRARY, 0x2f);
    assert_frame(1, LIBRARY, 0x3f);
}

static void
walk__stub__cfa_moves_where_it_pushed(void **state)
{
    struct sym_unwind_rule stub = usual(RSP, 11);

    (void)state;
    stub.cfa = SYM_CFA_STUB;
    set_rule(PROGRAM, 0, 0x200, stub);
    set_rule(LIBRARY, 0, 0x80, usual(RSP, 1024));
    stack[0] = IN_LIBRARY(0x30);
    stack[1] = IN_LIBRARY(0x40);
    sample.address = IN_PROGRAM(0x1a);
    assert_end(1, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x2f);
    sample.address = IN_PROGRAM(0x1b);
    assert_end(1, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x3f);
}

static void
walk__stack_realigned__cfa_in_memory_and_registers_from_base(void **state)
{
    struct sym_unwind_rule realigned = usual(RBP, -16);

    (void)state;
    realigned.cfa = SYM_CFA_VALUE;
    realigned.base = RBP;
    set_place(&realigned, AT_RBP, SYM_PLACE_BASE, 0);
    set_rule(PROGRAM, 0, 0x200, realigned);
    set_rule(LIBRARY, 0, 0x80, usual(RBP, 16));
    sample.registers[RBP] = STACK + 64;
    stack[6] = STACK + 200; /* the CFA */
    stack[8] = STACK + 400; /* the caller's rbp */
    stack[24] = IN_LIBRARY(0x30);
    stack[51] = IN_LIBRARY(0x40);
    assert_true(stack_walk(&sample, rules, &walked));
    assert_frame(0, LIBRARY, 0x2f);
    assert_frame(1, LIBRARY, 0x3f);
}

/* All registers come back, and the address is looked up as it is. */
static void
walk__signal__registers_and_address_of_what_was_interrupted(void **state)
{
    uint64_t *const stored = &stack[1];

    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 8));
    set_kind(LIBRARY, 0, 0x40, SYM_UNWIND_SIGNAL);
    set_kind(LIBRARY, 0x40, 0x50, SYM_UNWIND_UNSUPPORTED);
    set_rule(LIBRARY, 0x50, 0x60, usual(R10, 0));
    set_rule(LIBRARY, 0x60, 0x80, usual(RSP, 8));
    stack[0] = IN_LIBRARY(0x20);
    stored[56 / 8] = STACK + 800; /* r10 */
    stored[168 / 8] = IN_LIBRARY(0x50);
    stack[99] = IN_LIBRARY(0x70);
    stack[100] = 0;
    assert_end(3, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x1f);
    assert_frame(1, LIBRARY, 0x50);
    assert_frame(2, LIBRARY, 0x6f);
    sample.copied_bytes = 8 + 168;
    assert_end(1, STACK_NOT_READABLE, STACK_NO_IMAGE);
}

static void
walk__same_input__same_output(void **state)
{
    struct stack_walked again;

    (void)state;
    walk__signal__registers_and_address_of_what_was_interrupted(state);
    sample.copied_bytes = sizeof(stack);
    memset(&walked, 1, sizeof(walked));
    memset(&again, 2, sizeof(again));
    assert_true(stack_walk(&sample, rules, &walked));
    assert_true(stack_walk(&sample, rules, &again));
    assert_int_equal(walked.count, again.count);
    for (size_t i = 0; i < again.count; i++) {
        assert_frame(i, again.frames[i].image, again.frames[i].address);
    }
    assert_int_equal(walked.end, again.end);
}

/* --- frame pointers --- */

static void
walk__code_without_tables__by_rbp_to_its_end(void **state)
{
    (void)state;
    set_kind(LIBRARY, 0, UINT64_MAX, SYM_UNWIND_NO_TABLES);
    sample.address = IN_JIT(0x10);
    sample.registers[RBP] = STACK + 32;
    stack[4] = STACK + 64;
    stack[5] = IN_LIBRARY(0x10);
    stack[8] = 0;
    stack[9] = IN_JIT(0x20);
    assert_end(2, STACK_BY_FRAME_POINTER, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0xf);
    assert_frame(1, JIT, 0x5001f);
}

static void
walk__tables_after_frame_pointer__rsp_and_rbp_only(void **state)
{
    (void)state;
    set_rule(LIBRARY, 0, 0x40, usual(RSP, 16));
    set_rule(LIBRARY, 0x40, 0x80, usual(RBX, 16));
    sample.address = IN_JIT(0x10);
    sample.registers[RBP] = STACK + 32;
    stack[5] = IN_LIBRARY(0x10);
    stack[7] = 0;
    assert_end(1, STACK_BY_FRAME_POINTER, STACK_NO_IMAGE);
    stack[7] = IN_LIBRARY(0x50);
    assert_end(2, STACK_UNSUPPORTED, LIBRARY);
}

static void
walk__rbp_leads_nowhere__no_rules(void **state)
{
    static const uint64_t pointers[] = {0, STACK - 8, STACK + sizeof(stack) - 8,
                                        STACK + sizeof(stack), UINT64_MAX - 3};

    (void)state;
    sample.address = IN_JIT(0x10);
    for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
        sample.registers[RBP] = pointers[i];
        assert_end(0, STACK_NO_RULES, JIT);
    }
    /* One that leads back is followed only upwards. */
    sample.registers[RBP] = STACK + 32;
    stack[4] = STACK + 16;
    stack[5] = IN_JIT(0x20);
    assert_end(1, STACK_NO_RULES, JIT);
}

/* 0 ends a chain of frame pointers only where it was found in one. */
static void
walk__rbp_is_0_but_not_of_the_chain__no_rules(void **state)
{
    (void)state;
    set_rule(LIBRARY, 0, 0x40, usual(RSP, 8));
    sample.address = IN_JIT(0x10);
    sample.registers[RBP] = STACK + 32;
    stack[4] = 0;
    stack[5] = IN_LIBRARY(0x10);
    stack[6] = IN_JIT(0x20);
    assert_end(2, STACK_NO_RULES, JIT);
}

static void
walk__rbp_was_lost__not_followed(void **state)
{
    struct sym_unwind_rule loses = usual(RSP, 8);

    (void)state;
    set_place(&loses, AT_RBP, SYM_PLACE_LOST, 0);
    set_rule(PROGRAM, 0, 0x200, loses);
    sample.registers[RBP] = STACK + 32;
    stack[0] = IN_JIT(0x10);
    stack[5] = IN_JIT(0x20);
    assert_end(1, STACK_NO_RULES, JIT);
}

/* --- ends --- */

static void
walk__rule_says_outermost__whole(void **state)
{
    (void)state;
    set_kind(PROGRAM, 0, 0x200, SYM_UNWIND_OUTERMOST);
    stack[0] = IN_LIBRARY(0x10);
    assert_end(0, STACK_WHOLE, STACK_NO_IMAGE);
}

static void
walk__end_of_copy__cut_or_not_readable(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 64));
    stack[7] = IN_PROGRAM(0x10);
    sample.copied_bytes = sample.asked_bytes = 64;
    assert_end(1, STACK_CUT, STACK_NO_IMAGE);
    sample.asked_bytes = 72;
    assert_end(1, STACK_NOT_READABLE, STACK_NO_IMAGE);
    sample.copied_bytes = sample.asked_bytes = 63;
    assert_end(0, STACK_CUT, STACK_NO_IMAGE);
    sample.copied_bytes = sample.asked_bytes = 0;
    assert_end(0, STACK_CUT, STACK_NO_IMAGE);
}

/* On another stack: below the copy nothing was asked for. */
static void
walk__below_the_copy__not_readable(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RBX, 0));
    sample.registers[RBX] = STACK - 4096;
    assert_end(0, STACK_NOT_READABLE, STACK_NO_IMAGE);
}

static void
walk__no_row__no_rules_of_the_image(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 8));
    set_kind(LIBRARY, 0x4f, 0x50, SYM_UNWIND_NONE);
    stack[0] = IN_LIBRARY(0x50);
    assert_end(1, STACK_NO_RULES, LIBRARY);
}

static void
walk__tables_not_read__not_recorded_from_there(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 8));
    set_kind(LIBRARY, 0x4f, 0x50, SYM_UNWIND_UNREAD);
    stack[0] = IN_LIBRARY(0x50);
    assert_end(1, STACK_NOT_RECORDED, STACK_NO_IMAGE);
}

static void
walk__rule_not_followed__unsupported_of_the_image(void **state)
{
    struct sym_unwind_rule loses = usual(RSP, 8);

    (void)state;
    set_kind(PROGRAM, 0, 0x200, SYM_UNWIND_UNSUPPORTED);
    assert_end(0, STACK_UNSUPPORTED, PROGRAM);
    /* A register that is lost. */
    set_place(&loses, AT_R12, SYM_PLACE_LOST, 0);
    set_rule(PROGRAM, 0, 0x200, loses);
    set_rule(LIBRARY, 0, 0x80, usual(SYM_REGISTER_R12, 8));
    sample.registers[SYM_REGISTER_R12] = STACK;
    stack[0] = IN_LIBRARY(0x30);
    assert_end(1, STACK_UNSUPPORTED, LIBRARY);
}

/* A register whose place is relative to one that is not known. */
static void
walk__base_is_not_known__register_is_lost(void **state)
{
    struct sym_unwind_rule based = usual(RSP, 8);

    (void)state;
    based.base = R10;
    set_place(&based, AT_RBP, SYM_PLACE_BASE, 0);
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 8));
    set_rule(LIBRARY, 0, 0x40, based);
    set_rule(LIBRARY, 0x40, 0x80, usual(RBP, 16));
    sample.registers[R10] = STACK + 64;
    stack[0] = IN_LIBRARY(0x10);
    stack[1] = IN_LIBRARY(0x50);
    stack[8] = STACK + 128;
    stack[17] = IN_LIBRARY(0x60);
    assert_end(2, STACK_UNSUPPORTED, LIBRARY);
}

/* It has its value where code was interrupted, and not in a caller. */
static void
walk__register_that_calls_do_not_keep__unsupported_in_callers(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(R10, 8));
    sample.registers[R10] = STACK;
    stack[0] = IN_PROGRAM(0x20);
    assert_end(1, STACK_UNSUPPORTED, PROGRAM);
}

static void
walk__address_in_no_mapping__no_frame(void **state)
{
    static const uint64_t secrets[] = {1, 0x30000, 0x4ffff, 0x60001, UINT64_MAX, STACK};

    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 8));
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        stack[0] = secrets[i];
        if (secrets[i] != 0x30000) {
            assert_end(0, STACK_NO_RULES, STACK_NO_IMAGE);
        }
        sample.address = secrets[i];
        assert_end(0, STACK_NO_RULES, STACK_NO_IMAGE);
        sample.address = IN_PROGRAM(0x10);
    }
}

static void
walk__depth__512_callers_and_no_more(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 8));
    for (size_t i = 0; i < STACK_FRAMES_MAX; i++) {
        stack[i] = IN_PROGRAM(0x20);
    }
    assert_end(STACK_FRAMES_MAX, STACK_WHOLE, STACK_NO_IMAGE);
    stack[STACK_FRAMES_MAX] = IN_PROGRAM(0x20);
    assert_end(STACK_FRAMES_MAX, STACK_DEEP, STACK_NO_IMAGE);
}

/* A forged rule that comes back to the same frame. */
static void
walk__rule_that_does_not_move__ends(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(RBX, 8));
    sample.registers[RBX] = STACK;
    stack[0] = IN_PROGRAM(0x20);
    assert_end(STACK_FRAMES_MAX, STACK_DEEP, STACK_NO_IMAGE);
}

static void
walk__offsets_that_wrap__nothing_but_the_copy_is_read(void **state)
{
    static const int32_t offsets[] = {INT32_MIN, INT32_MAX, -1, 1, 7};
    static const uint64_t bases[] = {0, UINT64_MAX, UINT64_MAX - 7, 1 << 30, STACK + 1};

    (void)state;
    for (size_t i = 0; i < 5 * 5 * SYM_CFA_FORMS; i++) {
        struct sym_unwind_rule rule = usual(RBX, offsets[i % 5]);

        rule.cfa = (uint8_t)(i / 25);
        rule.base = RBP;
        set_place(&rule, AT_RBX, SYM_PLACE_BASE, offsets[i / 5 % 5]);
        set_place(&rule, AT_RBP, SYM_PLACE_CFA, offsets[i / 5 % 5]);
        set_rule(PROGRAM, 0, 0x200, rule);
        sample.registers[RBX] = bases[i / 5 % 5];
        sample.registers[RBP] = bases[(i + 1) % 5];
        assert_true(stack_walk(&sample, rules, &walked));
        assert_int_equal(walked.count, 0);
    }
}

/* --- rules that are not there --- */

static void
walk__rule_not_in_cache__asks_for_it(void **state)
{
    (void)state;
    assert_false(stack_walk(&sample, rules, &walked));
    assert_int_equal(walked.image, PROGRAM);
    assert_int_equal(walked.address, 0x110);
    set_rule(PROGRAM, 0, 0x200, usual(RSP, 8));
    stack[0] = IN_LIBRARY(0x30);
    assert_false(stack_walk(&sample, rules, &walked));
    assert_int_equal(walked.image, LIBRARY);
    assert_int_equal(walked.address, 0x2f);
    set_rule(LIBRARY, 0, 0x200, usual(RSP, 8));
    assert_end(1, STACK_WHOLE, STACK_NO_IMAGE);
}

int
main(void)
{
#define WALK(name) cmocka_unit_test_setup_teardown(walk__##name, begin, end)
    const struct CMUnitTest tests[] = {
        WALK(calls__byte_before_each_return_address_as_linked),
        WALK(return_address_in_another_row__row_of_the_call),
        WALK(saved_registers__followed_to_whoever_needs_them),
        WALK(saved_below_first_rsp__register_has_its_value),
        WALK(stub__cfa_moves_where_it_pushed),
        WALK(stack_realigned__cfa_in_memory_and_registers_from_base),
        WALK(signal__registers_and_address_of_what_was_interrupted),
        WALK(same_input__same_output),
        WALK(code_without_tables__by_rbp_to_its_end),
        WALK(tables_after_frame_pointer__rsp_and_rbp_only),
        WALK(rbp_leads_nowhere__no_rules),
        WALK(rbp_is_0_but_not_of_the_chain__no_rules),
        WALK(rbp_was_lost__not_followed),
        WALK(rule_says_outermost__whole),
        WALK(end_of_copy__cut_or_not_readable),
        WALK(below_the_copy__not_readable),
        WALK(no_row__no_rules_of_the_image),
        WALK(tables_not_read__not_recorded_from_there),
        WALK(rule_not_followed__unsupported_of_the_image),
        WALK(base_is_not_known__register_is_lost),
        WALK(register_that_calls_do_not_keep__unsupported_in_callers),
        WALK(address_in_no_mapping__no_frame),
        WALK(depth__512_callers_and_no_more),
        WALK(rule_that_does_not_move__ends),
        WALK(offsets_that_wrap__nothing_but_the_copy_is_read),
        WALK(rule_not_in_cache__asks_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
