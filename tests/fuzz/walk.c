/* SPDX-License-Identifier: MIT */
/*
 * walk.c - fuzz target: a stack that is walked by forged rules, and counted.
 *
 * An input is a byte, the number of rules; those, which are given to whatever is asked
 * for, one after the other; registers and the address, of two bytes each; a byte, how
 * much more than the copy was asked for; and the copy.
 */
#include "stacks/walk.h"
#include "stacks/contexts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RULES_MAX = 64, STACK = 0x8000 };

static const struct stack_mapping mappings[] = {
    {0x1000, 0x2000, 0, 0, false},
    {0x2000, 0x3000, 0x5000, 1, false},
    {0x3800, 0x3900, 0x3800, 2, true},
};
enum { MAPPINGS = sizeof(mappings) / sizeof(mappings[0]) };

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

/* input - what is left of it. */
struct input {
    const uint8_t *data;
    size_t size;
};

/* A number of so many bytes; 0 at the end. */
static uint64_t
take(struct input *input, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes && input->size > 0; i++) {
        number |= (uint64_t)*input->data++ << 8 * i;
        input->size--;
    }
    return number;
}

/* Offsets are small or, if the byte is one, anything. */
static int32_t
take_offset(struct input *input)
{
    const int32_t offset = (int8_t)take(input, 1);

    return offset == 1 ? (int32_t)take(input, 4) : offset * 8;
}

static struct sym_unwind_rule
take_rule(struct input *input)
{
    struct sym_unwind_rule rule = {.kind = (uint8_t)(take(input, 1) % SYM_UNWIND_KINDS),
                                   .cfa = (uint8_t)(take(input, 1) % SYM_CFA_FORMS)};

    rule.cfa_register = (uint8_t)(take(input, 1) % SYM_REGISTERS);
    rule.cfa_offset = take_offset(input);
    rule.base = (uint8_t)(take(input, 1) % SYM_REGISTERS);
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        rule.places[i] = (uint8_t)(take(input, 1) % SYM_PLACES);
        rule.offsets[i] = take_offset(input);
    }
    return rule;
}

/* A frame is an address with code, as its image has it. */
static bool
is_code(const struct stack_frame *frame)
{
    for (size_t i = 0; i < MAPPINGS; i++) {
        if (mappings[i].image == frame->image) {
            return frame->address - mappings[i].address <
                   mappings[i].end - mappings[i].start;
        }
    }
    return false;
}

static void
check(const struct stack_walked *walked)
{
    require(walked->count <= STACK_FRAMES_MAX && walked->end < STACK_NOT_RECORDED);
    require(walked->end != STACK_DEEP || walked->count == STACK_FRAMES_MAX);
    require(walked->image == STACK_NO_IMAGE || walked->end == STACK_NO_RULES ||
            walked->end == STACK_UNSUPPORTED);
    for (size_t i = 0; i < walked->count; i++) {
        require(is_code(&walked->frames[i]));
    }
}

static void
count(const struct stack_walked *walked)
{
    struct stack_contexts *const contexts = stack_contexts_create(STACK_CONTEXTS_MIN);
    const struct stack_row *rows;
    uint64_t hits = 0;
    size_t number;

    require(contexts != NULL);
    for (uint64_t i = 0; i < 3; i++) {
        const struct stack_row row = {.place = {0, i}, .hits = 1};
        const size_t less = i < walked->count ? (size_t)i : 0;

        require(stack_contexts_add(contexts, &row, walked->frames, walked->count - less,
                                   walked->end, walked->image));
    }
    rows = stack_contexts_rows(contexts, &number);
    for (size_t i = 0; i < number; i++) {
        hits += rows[i].hits;
    }
    require(hits == 3);
    stack_contexts_delete(contexts);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const uint64_t rule_count = take(&input, 1) % RULES_MAX;
    static struct stack_rules *rules; /* large, so that it stays */
    struct stack_sample sample = {.mappings = mappings, .mapping_count = MAPPINGS};
    struct sym_unwind_rule forged[RULES_MAX];
    struct stack_walked walked;
    uint8_t *copy;

    rules = rules == NULL ? stack_rules_create() : rules;
    require(rules != NULL);
    stack_rules_forget(rules, 0);
    stack_rules_forget(rules, 1);
    for (uint64_t i = 0; i < rule_count; i++) {
        forged[i] = take_rule(&input);
    }
    for (size_t i = 0; i < SYM_REGISTERS; i++) {
        sample.registers[i] = take(&input, 2);
    }
    sample.registers[SYM_REGISTER_SP] += STACK;
    sample.address = 0x1000 + take(&input, 2) % 0x3000;
    sample.copied_bytes = input.size > 0 ? input.size - 1 : 0;
    sample.asked_bytes = sample.copied_bytes + take(&input, 1);
    /* Exactly so long, so that a sanitizer sees what is read beyond it. */
    copy = malloc(sample.copied_bytes + (sample.copied_bytes == 0));
    require(copy != NULL);
    memcpy(copy, input.data, sample.copied_bytes);
    sample.copy = copy;
    for (uint64_t asked = 0; !stack_walk(&sample, rules, &walked); asked++) {
        struct sym_unwind_row row = {
            walked.address, walked.address + 64, {.kind = SYM_UNWIND_NONE}};

        require(walked.image < 2 && asked <= 0x2000);
        if (asked < rule_count) {
            row.rule = forged[asked];
        }
        stack_rules_add(rules, walked.image, &row, 1);
    }
    check(&walked);
    count(&walked);
    free(copy);
    return 0;
}
