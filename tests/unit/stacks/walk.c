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

/* Registers: the first two saved ones beside the frame pointer, and one that calls do
 * not keep; and where places of saved ones are in a rule. */
enum { FP = SYM_REGISTER_FP, SP = SYM_REGISTER_SP, SCRATCH = 10 };
#if SYM_UNWIND_MACHINE == EM_AARCH64
enum { SAVED = 19, OTHER = 20, LINK = SYM_REGISTER_RETURN };
enum { AT_SAVED = 0, AT_OTHER = 1, AT_FP = 10, AT_LINK = 11 };
#else
enum { SAVED = 3, OTHER = 12 };
enum { AT_SAVED = 0, AT_FP = 1, AT_OTHER = 2 };
#endif

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
        .registers = {[SP] = STACK},
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

/* The CFA is register + offset, and the return address is right below it. */
static struct sym_unwind_rule
usual(uint8_t number, int32_t offset)
{
    return (struct sym_unwind_rule)
    {
        .kind = SYM_UNWIND_CALL, .cfa_register = number, .cfa_offset = offset,
#if SYM_UNWIND_MACHINE == EM_AARCH64
        .places[AT_LINK] = SYM_PLACE_CFA, .offsets[AT_LINK] = -8,
#endif
    };
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
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
    set_rule(LIBRARY, 0, 0x200, usual(SP, 16));
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
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
    set_rule(LIBRARY, 0, 0x50, usual(SP, 8));
    set_kind(LIBRARY, 0x50, 0x200, SYM_UNWIND_UNSUPPORTED);
    stack[0] = IN_LIBRARY(0x50);
    assert_end(1, STACK_WHOLE, STACK_NO_IMAGE);
}

static void
walk__saved_registers__followed_to_whoever_needs_them(void **state)
{
    struct sym_unwind_rule saves = usual(SP, 32);

    (void)state;
    set_place(&saves, AT_FP, SYM_PLACE_CFA, -16);
    set_place(&saves, AT_SAVED, SYM_PLACE_CFA, -24);
    set_rule(PROGRAM, 0, 0x200, saves);
    set_rule(LIBRARY, 0, 0x40, usual(SAVED, 8));
    set_rule(LIBRARY, 0x40, 0x80, usual(FP, 16));
    stack[3] = IN_LIBRARY(0x30);
    stack[1] = STACK + 80; /* SAVED */
    stack[2] = STACK + 160;
    stack[10] = IN_LIBRARY(0x60);
    stack[21] = 0;
    assert_end(2, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x2f);
    assert_frame(1, LIBRARY, 0x5f);
}

/* In an epilogue the slot was popped already. */
static void
walk__saved_below_first_sp__register_has_its_value(void **state)
{
    struct sym_unwind_rule popped = usual(SP, 8);

    (void)state;
    set_place(&popped, AT_FP, SYM_PLACE_CFA, -16);
    set_rule(PROGRAM, 0, 0x200, popped);
    set_rule(LIBRARY, 0, 0x80, usual(FP, 16));
    sample.registers[FP] = STACK + 64;
    stack[0] = IN_LIBRARY(0x30);
    stack[9] = IN_LIBRARY(0x40);
    assert_true(stack_walk(&sample, rules, &walked));
    assert_frame(0, LIBRARY, 0x2f);
    assert_frame(1, LIBRARY, 0x3f);
}

static void
walk__stub__cfa_moves_where_it_pushed(void **state)
{
    struct sym_unwind_rule stub = usual(SP, 11);

    (void)state;
    stub.cfa = SYM_CFA_STUB;
    set_rule(PROGRAM, 0, 0x200, stub);
    set_rule(LIBRARY, 0, 0x80, usual(SP, 1024));
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
    struct sym_unwind_rule realigned = usual(FP, -16);

    (void)state;
    realigned.cfa = SYM_CFA_VALUE;
    realigned.base = FP;
    set_place(&realigned, AT_FP, SYM_PLACE_BASE, 0);
    set_rule(PROGRAM, 0, 0x200, realigned);
    set_rule(LIBRARY, 0, 0x80, usual(FP, 16));
    sample.registers[FP] = STACK + 64;
    stack[6] = STACK + 200; /* the CFA */
    stack[8] = STACK + 400; /* the caller's frame pointer */
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
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
    set_kind(LIBRARY, 0, 0x40, SYM_UNWIND_SIGNAL);
    set_kind(LIBRARY, 0x40, 0x50, SYM_UNWIND_UNSUPPORTED);
    set_rule(LIBRARY, 0x50, 0x60, usual(SCRATCH, 0));
    set_rule(LIBRARY, 0x60, 0x80, usual(SP, 8));
    stack[0] = IN_LIBRARY(0x20);
    stored[sym_signal_offsets[SCRATCH] / 8] = STACK + 800;
    stored[sym_signal_offsets[SYM_REGISTERS] / 8] = IN_LIBRARY(0x50);
    stack[99] = IN_LIBRARY(0x70);
    stack[100] = 0;
    assert_end(3, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x1f);
    assert_frame(1, LIBRARY, 0x50);
    assert_frame(2, LIBRARY, 0x6f);
    sample.copied_bytes = 8 + sym_signal_offsets[SYM_REGISTERS];
    assert_end(1, STACK_NOT_READABLE, STACK_NO_IMAGE);
}

/* Interrupted far above: by a deep stack, or on another one, which no copy has. */
static void
walk__signal_on_alternate_stack__not_readable_and_not_cut(void **state)
{
    uint64_t *const stored = &stack[1];
    const uint64_t interrupted = STACK + (1 << 20);

    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
    set_kind(LIBRARY, 0, 0x40, SYM_UNWIND_SIGNAL);
    set_rule(LIBRARY, 0x40, 0x80, usual(SP, 8));
    stack[0] = IN_LIBRARY(0x20);
    stored[sym_signal_offsets[SP] / 8] = interrupted;
    stored[sym_signal_offsets[SYM_REGISTERS] / 8] = IN_LIBRARY(0x50);
    assert_end(2, STACK_CUT, STACK_NO_IMAGE);
    stored[SYM_SIGNAL_STACK / 8] = STACK;
    stored[SYM_SIGNAL_STACK_BYTES / 8] = interrupted - STACK;
    assert_end(2, STACK_NOT_READABLE, STACK_NO_IMAGE);
    assert_frame(1, LIBRARY, 0x50);
    /* Interrupted on the alternate stack itself. */
    stored[SYM_SIGNAL_STACK_BYTES / 8] = interrupted - STACK + 1;
    assert_end(2, STACK_CUT, STACK_NO_IMAGE);
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
walk__code_without_tables__by_frame_pointer_to_its_end(void **state)
{
    (void)state;
    set_kind(LIBRARY, 0, UINT64_MAX, SYM_UNWIND_NO_TABLES);
    sample.address = IN_JIT(0x10);
    sample.registers[FP] = STACK + 32;
    stack[4] = STACK + 64;
    stack[5] = IN_LIBRARY(0x10);
    stack[8] = 0;
    stack[9] = IN_JIT(0x20);
    assert_end(2, STACK_BY_FRAME_POINTER, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0xf);
    assert_frame(1, JIT, 0x5001f);
}

#if SYM_UNWIND_MACHINE != EM_AARCH64

static void
walk__tables_after_frame_pointer__two_registers(void **state)
{
    (void)state;
    set_rule(LIBRARY, 0, 0x40, usual(SP, 16));
    set_rule(LIBRARY, 0x40, 0x80, usual(SAVED, 16));
    sample.address = IN_JIT(0x10);
    sample.registers[FP] = STACK + 32;
    stack[5] = IN_LIBRARY(0x10);
    stack[7] = 0;
    assert_end(1, STACK_BY_FRAME_POINTER, STACK_NO_IMAGE);
    stack[7] = IN_LIBRARY(0x50);
    assert_end(2, STACK_UNSUPPORTED, LIBRARY);
}

#endif

static void
walk__frame_pointer_leads_nowhere__no_rules(void **state)
{
    static const uint64_t pointers[] = {0, STACK - 8, STACK + sizeof(stack) - 8,
                                        STACK + sizeof(stack), UINT64_MAX - 3};

    (void)state;
    sample.address = IN_JIT(0x10);
    for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
        sample.registers[FP] = pointers[i];
        assert_end(0, STACK_NO_RULES, JIT);
    }
    /* One that leads back is followed only upwards. */
    sample.registers[FP] = STACK + 32;
    stack[4] = STACK + 16;
    stack[5] = IN_JIT(0x20);
    assert_end(1, STACK_NO_RULES, JIT);
}

#if SYM_UNWIND_MACHINE != EM_AARCH64

/* 0 ends a chain of frame pointers only where it was found in one. */
static void
walk__frame_pointer_is_0_but_not_of_the_chain__no_rules(void **state)
{
    (void)state;
    set_rule(LIBRARY, 0, 0x40, usual(SP, 8));
    sample.address = IN_JIT(0x10);
    sample.registers[FP] = STACK + 32;
    stack[4] = 0;
    stack[5] = IN_LIBRARY(0x10);
    stack[6] = IN_JIT(0x20);
    assert_end(2, STACK_NO_RULES, JIT);
}

#endif

static void
walk__frame_pointer_was_lost__not_followed(void **state)
{
    struct sym_unwind_rule loses = usual(SP, 8);

    (void)state;
    set_place(&loses, AT_FP, SYM_PLACE_LOST, 0);
    set_rule(PROGRAM, 0, 0x200, loses);
    sample.registers[FP] = STACK + 32;
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
    set_rule(PROGRAM, 0, 0x200, usual(SP, 64));
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

/* Put a deep stack: code that moves the stack pointer and saves the frame pointer was
 * called by code that keeps one, and so on. Returns the number of callers; at: out, the
 * offset of each return address, and behind them that of 0, which ends the stack. */
static size_t
put_deep_stack(size_t at[STACK_FRAMES_MAX + 1])
{
    enum { BY_SP = 40, BY_FP = 72 };
    struct sym_unwind_rule saves = usual(SP, BY_SP);
    struct sym_unwind_rule keeps = usual(FP, 16);
    size_t start = 0;
    size_t count = 0;

    set_place(&saves, AT_FP, SYM_PLACE_CFA, -16);
    set_place(&keeps, AT_FP, SYM_PLACE_CFA, -16);
    set_rule(PROGRAM, 0, 0x200, saves);
    set_rule(LIBRARY, 0, 0x200, keeps);
    while (start + BY_SP + BY_FP < sizeof(stack)) {
        stack[(start + BY_SP - 16) / 8] = STACK + start + BY_SP + BY_FP - 16;
        at[count++] = start + BY_SP - 8;
        at[count++] = start + BY_SP + BY_FP - 8;
        stack[at[count - 2] / 8] = IN_LIBRARY(0x20);
        stack[at[count - 1] / 8] = IN_PROGRAM(0x20);
        start += BY_SP + BY_FP;
    }
    stack[at[--count] / 8] = 0;
    return count;
}

/* Each copy has the callers whose return addresses are in it, as the whole stack has
 * them. */
static void
walk__copies_of_all_lengths__first_callers_and_cut(void **state)
{
    size_t at[STACK_FRAMES_MAX + 1];
    const size_t count = put_deep_stack(at);
    struct stack_walked whole;
    size_t found = 0;

    (void)state;
    assert_end(count, STACK_WHOLE, STACK_NO_IMAGE);
    assert_true(count > 250);
    whole = walked;
    for (size_t bytes = 512; bytes <= sizeof(stack); bytes += 8) {
        while (found < count && at[found] + 8 <= bytes) {
            found++;
        }
        sample.copied_bytes = sample.asked_bytes = bytes;
        assert_end(found, at[count] + 8 <= bytes ? STACK_WHOLE : STACK_CUT,
                   STACK_NO_IMAGE);
        for (size_t i = 0; i < found; i++) {
            assert_frame(i, whole.frames[i].image, whole.frames[i].address);
        }
    }
    assert_int_equal(walked.end, STACK_WHOLE);
}

#if SYM_UNWIND_MACHINE != EM_AARCH64

/* On another stack: below the copy nothing was asked for. */
static void
walk__below_the_copy__not_readable(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(SAVED, 0));
    sample.registers[SAVED] = STACK - 4096;
    assert_end(0, STACK_NOT_READABLE, STACK_NO_IMAGE);
}

#endif

static void
walk__no_row__no_rules_of_the_image(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
    set_kind(LIBRARY, 0x4f, 0x50, SYM_UNWIND_NONE);
    stack[0] = IN_LIBRARY(0x50);
    assert_end(1, STACK_NO_RULES, LIBRARY);
}

static void
walk__tables_not_read__not_recorded_from_there(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
    set_kind(LIBRARY, 0x4f, 0x50, SYM_UNWIND_UNREAD);
    stack[0] = IN_LIBRARY(0x50);
    assert_end(1, STACK_NOT_RECORDED, STACK_NO_IMAGE);
}

static void
walk__rule_not_followed__unsupported_of_the_image(void **state)
{
    struct sym_unwind_rule loses = usual(SP, 8);

    (void)state;
    set_kind(PROGRAM, 0, 0x200, SYM_UNWIND_UNSUPPORTED);
    assert_end(0, STACK_UNSUPPORTED, PROGRAM);
    /* A register that is lost. */
    set_place(&loses, AT_OTHER, SYM_PLACE_LOST, 0);
    set_rule(PROGRAM, 0, 0x200, loses);
    set_rule(LIBRARY, 0, 0x80, usual(OTHER, 8));
    sample.registers[OTHER] = STACK;
    stack[0] = IN_LIBRARY(0x30);
    assert_end(1, STACK_UNSUPPORTED, LIBRARY);
}

/* A register whose place is relative to one that is not known. */
static void
walk__base_is_not_known__register_is_lost(void **state)
{
    struct sym_unwind_rule based = usual(SP, 8);

    (void)state;
    based.base = SCRATCH;
    set_place(&based, AT_FP, SYM_PLACE_BASE, 0);
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
    set_rule(LIBRARY, 0, 0x40, based);
    set_rule(LIBRARY, 0x40, 0x80, usual(FP, 16));
    sample.registers[SCRATCH] = STACK + 64;
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
    set_rule(PROGRAM, 0, 0x200, usual(SCRATCH, 8));
    sample.registers[SCRATCH] = STACK;
    stack[0] = IN_PROGRAM(0x20);
    assert_end(1, STACK_UNSUPPORTED, PROGRAM);
}

static void
walk__address_in_no_mapping__no_frame(void **state)
{
    static const uint64_t secrets[] = {1, 0x30000, 0x4ffff, 0x60001, UINT64_MAX, STACK};

    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
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
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
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
    set_rule(PROGRAM, 0, 0x200, usual(SAVED, 8));
    sample.registers[SAVED] = STACK;
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
        struct sym_unwind_rule rule = usual(SAVED, offsets[i % 5]);

        rule.cfa = (uint8_t)(i / 25);
        rule.base = FP;
        set_place(&rule, AT_SAVED, SYM_PLACE_BASE, offsets[i / 5 % 5]);
        set_place(&rule, AT_FP, SYM_PLACE_CFA, offsets[i / 5 % 5]);
        set_rule(PROGRAM, 0, 0x200, rule);
        sample.registers[SAVED] = bases[i / 5 % 5];
        sample.registers[FP] = bases[(i + 1) % 5];
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
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
    stack[0] = IN_LIBRARY(0x30);
    assert_false(stack_walk(&sample, rules, &walked));
    assert_int_equal(walked.image, LIBRARY);
    assert_int_equal(walked.address, 0x2f);
    set_rule(LIBRARY, 0, 0x200, usual(SP, 8));
    assert_end(1, STACK_WHOLE, STACK_NO_IMAGE);
}

#if SYM_UNWIND_MACHINE == EM_AARCH64

/* --- the link register --- */

/* The rule of a function that has not saved it. */
static struct sym_unwind_rule
leaf(int32_t offset)
{
    struct sym_unwind_rule rule = usual(SP, offset);

    set_place(&rule, AT_LINK, SYM_PLACE_SAME, 0);
    return rule;
}

static void
walk__not_saved__return_address_in_link_register(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x120, leaf(16));
    set_rule(LIBRARY, 0, 0x80, usual(SP, 8));
    sample.registers[LINK] = IN_LIBRARY(0x50);
    stack[2] = IN_PROGRAM(0x30);
    set_kind(PROGRAM, 0x12f, 0x130, SYM_UNWIND_OUTERMOST);
    assert_end(2, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x4f);
    assert_frame(1, PROGRAM, 0x12f);
}

/* Code that made a call has another value in it, and would be its own caller. */
static void
walk__not_saved_in_caller__unsupported(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(SP, 8));
    set_rule(LIBRARY, 0, 0x80, leaf(16));
    sample.registers[LINK] = IN_LIBRARY(0x50);
    stack[0] = IN_LIBRARY(0x50);
    assert_end(1, STACK_UNSUPPORTED, LIBRARY);
}

static void
walk__link_register_was_popped__has_its_value(void **state)
{
    (void)state;
    set_rule(PROGRAM, 0, 0x200, usual(SP, 0));
    set_kind(LIBRARY, 0, 0x80, SYM_UNWIND_OUTERMOST);
    sample.registers[LINK] = IN_LIBRARY(0x50);
    assert_end(1, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x4f);
}

static void
walk__signal_in_leaf__its_link_register(void **state)
{
    (void)state;
    set_kind(PROGRAM, 0, 0x200, SYM_UNWIND_SIGNAL);
    set_rule(LIBRARY, 0, 0x40, leaf(0));
    set_kind(LIBRARY, 0x40, 0x80, SYM_UNWIND_OUTERMOST);
    stack[sym_signal_offsets[LINK] / 8] = IN_LIBRARY(0x50);
    stack[sym_signal_offsets[SYM_REGISTERS] / 8] = IN_LIBRARY(0x10);
    assert_end(2, STACK_WHOLE, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x10);
    assert_frame(1, LIBRARY, 0x4f);
}

/* --- signed return addresses --- */

/* A signature has bits up to 54 that no mapping has. */
static void
walk__signed_address__frame_without_signature(void **state)
{
    const uint64_t all_bits = (UINT64_C(1) << 55) - (UINT64_C(1) << 36);

    (void)state;
    set_rule(PROGRAM, 0, 0x200, leaf(0));
    set_rule(LIBRARY, 0, 0x50, usual(SP, 8));
    sample.registers[LINK] = IN_LIBRARY(0x50) | all_bits;
    sample.registers[FP] = STACK + 64;
    stack[0] = IN_JIT(0x10) | UINT64_C(1) << 54;
    stack[9] = IN_LIBRARY(0x60) | UINT64_C(1) << 48;
    set_kind(LIBRARY, 0x5f, 0x60, SYM_UNWIND_OUTERMOST);
    assert_end(3, STACK_BY_FRAME_POINTER, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0x4f);
    assert_frame(1, JIT, 0x5000f);
    assert_frame(2, LIBRARY, 0x5f);
}

static void
walk__bits_of_no_signature__no_frame(void **state)
{
    static const struct stack_mapping high[] = {
        {0x10000, 0x20000, 0x100, PROGRAM, false},
        {UINT64_C(0xffff00000000), UINT64_C(0xffff00001000), 0, LIBRARY, false}};

    (void)state;
    set_rule(PROGRAM, 0, 0x120, leaf(0));
    sample.registers[LINK] = IN_LIBRARY(0x50) | UINT64_C(1) << 55;
    assert_end(0, STACK_NO_RULES, STACK_NO_IMAGE);
    /* Another address where addresses have 48 bits. */
    sample.mappings = high;
    sample.mapping_count = 2;
    sample.registers[LINK] = IN_PROGRAM(0x50) | UINT64_C(1) << 47;
    assert_end(0, STACK_NO_RULES, STACK_NO_IMAGE);
    set_kind(PROGRAM, 0x14f, 0x150, SYM_UNWIND_OUTERMOST);
    sample.registers[LINK] = IN_PROGRAM(0x50) | UINT64_C(1) << 48;
    assert_end(1, STACK_WHOLE, STACK_NO_IMAGE);
}

/* --- the stack pointer, which is not known behind a step by the frame pointer --- */

static void
walk__tables_after_frame_pointer__by_rule_of_it_or_chain(void **state)
{
    (void)state;
    set_rule(LIBRARY, 0, 0x40, usual(SP, 16));
    set_rule(LIBRARY, 0x40, 0x80, usual(FP, 16));
    sample.address = IN_JIT(0x10);
    sample.registers[FP] = STACK + 32;
    stack[4] = STACK + 64;
    stack[5] = IN_LIBRARY(0x10);
    stack[7] = IN_JIT(0x10); /* not this one */
    stack[8] = STACK + 128;
    stack[9] = IN_LIBRARY(0x60);
    stack[17] = IN_PROGRAM(0x20);
    set_kind(PROGRAM, 0, 0x200, SYM_UNWIND_OUTERMOST);
    assert_end(3, STACK_BY_FRAME_POINTER, STACK_NO_IMAGE);
    assert_frame(0, LIBRARY, 0xf);
    assert_frame(1, LIBRARY, 0x5f);
    assert_frame(2, PROGRAM, 0x11f);
}

/* Functions of the vdso have no tables, and call nothing. */
static void
walk__leaf_without_tables__link_register_then_chain(void **state)
{
    (void)state;
    set_kind(LIBRARY, 0, UINT64_MAX, SYM_UNWIND_NO_TABLES);
    set_rule(PROGRAM, 0, 0x200, usual(SP, 64));
    sample.address = IN_LIBRARY(0x10);
    sample.registers[LINK] = IN_PROGRAM(0x20);
    sample.registers[FP] = STACK + 32;
    stack[5] = IN_PROGRAM(0x40);
    assert_end(2, STACK_BY_FRAME_POINTER, STACK_NO_IMAGE);
    assert_frame(0, PROGRAM, 0x11f);
    assert_frame(1, PROGRAM, 0x13f);
    /* Left from its own call, or saved already. */
    sample.registers[LINK] = IN_LIBRARY(0x20);
    assert_end(1, STACK_BY_FRAME_POINTER, STACK_NO_IMAGE);
    assert_frame(0, PROGRAM, 0x13f);
    sample.registers[LINK] = IN_PROGRAM(0x40);
    assert_end(1, STACK_BY_FRAME_POINTER, STACK_NO_IMAGE);
    assert_frame(0, PROGRAM, 0x13f);
}

static void
walk__signal_after_frame_pointer__unsupported(void **state)
{
    (void)state;
    set_kind(LIBRARY, 0, 0x40, SYM_UNWIND_SIGNAL);
    sample.address = IN_JIT(0x10);
    sample.registers[FP] = STACK + 32;
    stack[5] = IN_LIBRARY(0x10);
    assert_end(1, STACK_UNSUPPORTED, LIBRARY);
}

#endif

int
main(void)
{
#define WALK(name) cmocka_unit_test_setup_teardown(walk__##name, begin, end)
    const struct CMUnitTest tests[] = {
        WALK(calls__byte_before_each_return_address_as_linked),
        WALK(return_address_in_another_row__row_of_the_call),
        WALK(saved_registers__followed_to_whoever_needs_them),
        WALK(saved_below_first_sp__register_has_its_value),
        WALK(stub__cfa_moves_where_it_pushed),
        WALK(stack_realigned__cfa_in_memory_and_registers_from_base),
        WALK(signal__registers_and_address_of_what_was_interrupted),
        WALK(signal_on_alternate_stack__not_readable_and_not_cut),
        WALK(same_input__same_output),
        WALK(code_without_tables__by_frame_pointer_to_its_end),
        WALK(frame_pointer_leads_nowhere__no_rules),
        WALK(frame_pointer_was_lost__not_followed),
        WALK(rule_says_outermost__whole),
        WALK(end_of_copy__cut_or_not_readable),
        WALK(copies_of_all_lengths__first_callers_and_cut),
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
#if SYM_UNWIND_MACHINE == EM_AARCH64
        WALK(not_saved__return_address_in_link_register),
        WALK(not_saved_in_caller__unsupported),
        WALK(link_register_was_popped__has_its_value),
        WALK(signal_in_leaf__its_link_register),
        WALK(signed_address__frame_without_signature),
        WALK(bits_of_no_signature__no_frame),
        WALK(tables_after_frame_pointer__by_rule_of_it_or_chain),
        WALK(leaf_without_tables__link_register_then_chain),
        WALK(signal_after_frame_pointer__unsupported),
#else
        WALK(tables_after_frame_pointer__two_registers),
        WALK(frame_pointer_is_0_but_not_of_the_chain__no_rules),
        WALK(below_the_copy__not_readable),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
