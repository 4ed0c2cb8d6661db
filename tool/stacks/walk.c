/* SPDX-License-Identifier: MIT */
/*
 * walk.c - one step after the other, from the registers of a function to those of its
 * caller.
 *
 * Addresses are computed with numbers that may be anything: sums wrap, and every read
 * is held against the copy.
 */
#include "stacks/walk.h"

#include <assert.h>
#include <string.h>

enum { WORD_BYTES = 8 };

/* A bit for each register; and for those that are known behind a step by the frame
 * pointer. A frame of arm64 may have its record anywhere. */
#define ALL_REGISTERS (UINT32_MAX >> (32 - SYM_REGISTERS))
enum {
    POINTER_REGISTERS = 1u << SYM_REGISTER_FP |
                        (SYM_UNWIND_MACHINE == EM_AARCH64 ? 0u : 1u << SYM_REGISTER_SP)
};

/* arm64 code may sign return addresses: in the bits from the width of the process's
 * addresses up to SIGNATURE_END. No kernel has narrower addresses than
 * ADDRESS_BITS_MIN. */
enum { SIGNATURE_END = 55, ADDRESS_BITS_MIN = 36 };

/* walker - where a walk is. */
struct walker {
    const struct stack_sample *sample;
    struct stack_rules *rules;
    struct stack_walked *walked;
    uint64_t registers[SYM_REGISTERS];
    uint32_t known;     /* a bit for each register whose value is known; if the stack
                         * pointer is not known, registers has a lower bound of it */
    uint64_t signature; /* the bits of a return address that are none of an address */
    uint64_t next;      /* address of the next instruction */
    const struct stack_mapping *mapping; /* that was found last; NULL: none */
    bool exact;                          /* next was interrupted, not returned to */
    bool by_pointer;                     /* some step was by the frame pointer */
    bool linked; /* the last step read the frame pointer from the chain */
    bool left;   /* a signal came on another stack, to which the walk has gone */
};

/* The result of a step: the walk is at the caller; it has ended; a rule is missing. */
enum step { STEP_TAKEN, STEP_ENDED, STEP_ASKS };

static enum step
end_walk(struct walker *walker, enum stack_end end, uint32_t image)
{
    walker->walked->end = end;
    walker->walked->image = image;
    return STEP_ENDED;
}

static enum step
end_whole(struct walker *walker)
{
    return end_walk(walker, walker->by_pointer ? STACK_BY_FRAME_POINTER : STACK_WHOLE,
                    STACK_NO_IMAGE);
}

/* --- registers and memory --- */

static bool
is_known(const struct walker *walker, unsigned int number)
{
    return (walker->known >> number & 1) != 0;
}

static uint64_t
first_sp(const struct walker *walker)
{
    return walker->sample->registers[SYM_REGISTER_SP];
}

/* Read a word of the copy. Returns false if the copy does not have it. */
static bool
read_word(const struct walker *walker, uint64_t address, uint64_t *word)
{
    const struct stack_sample *const sample = walker->sample;
    const uint64_t offset = address - first_sp(walker);

    if (address < first_sp(walker) || sample->copied_bytes < WORD_BYTES ||
        offset > sample->copied_bytes - WORD_BYTES) {
        return false;
    }
    memcpy(word, sample->copy + offset, WORD_BYTES);
    return true;
}

/* End the walk since a word that the next step needs is not in the copy. */
static enum step
end_unread(struct walker *walker, uint64_t address)
{
    const struct stack_sample *const sample = walker->sample;

    return end_walk(walker,
                    address >= first_sp(walker) && !walker->left &&
                            sample->copied_bytes >= sample->asked_bytes
                        ? STACK_CUT
                        : STACK_NOT_READABLE,
                    STACK_NO_IMAGE);
}

/* --- rules --- */

/* Find the CFA. Returns STEP_TAKEN, or ends the walk if it cannot be computed. */
static enum step
find_cfa(struct walker *walker, const struct sym_unwind_rule *rule, uint32_t image,
         uint64_t *cfa)
{
    const uint64_t base = walker->registers[rule->cfa_register];
    const uint64_t sum = base + (uint64_t)(int64_t)rule->cfa_offset;

    if (!is_known(walker, rule->cfa_register)) {
        return end_walk(walker, STACK_UNSUPPORTED, image);
    }
    switch (rule->cfa) {
    case SYM_CFA_REGISTER:
        *cfa = sum;
        return STEP_TAKEN;
    case SYM_CFA_STUB:
        *cfa = base + WORD_BYTES;
        if ((int64_t)(walker->next & 15) >= rule->cfa_offset) {
            *cfa += WORD_BYTES;
        }
        return STEP_TAKEN;
    default:
        assert(rule->cfa == SYM_CFA_VALUE);
        return read_word(walker, sum, cfa) ? STEP_TAKEN : end_unread(walker, sum);
    }
}

/* Find the address of memory where the caller's value of a saved register is. Returns
 * false if it is not in memory, or the address cannot be computed. */
static bool
find_saved(const struct walker *walker, const struct sym_unwind_rule *rule,
           size_t index, uint64_t cfa, uint64_t *address)
{
    const uint64_t offset = (uint64_t)(int64_t)rule->offsets[index];

    if (rule->places[index] == SYM_PLACE_CFA) {
        *address = cfa + offset;
        return true;
    }
    *address = walker->registers[rule->base] + offset;
    return rule->places[index] == SYM_PLACE_BASE && is_known(walker, rule->base);
}

/* Find the return address. Returns STEP_TAKEN, or ends the walk if it is not known. */
static enum step
find_return(struct walker *walker, const struct sym_unwind_rule *rule, uint32_t image,
            uint64_t cfa, uint64_t *address)
{
    uint64_t saved = cfa - WORD_BYTES;

#if SYM_UNWIND_MACHINE == EM_AARCH64
    /* In the link register before it is saved, and, as in restore_registers, behind
     * that. It has another value in code that made a call. */
    if (!find_saved(walker, rule, SYM_SAVED_REGISTERS - 1, cfa, &saved) ||
        saved < first_sp(walker)) {
        *address = walker->registers[SYM_REGISTER_RETURN];
        return is_known(walker, SYM_REGISTER_RETURN)
                   ? STEP_TAKEN
                   : end_walk(walker, STACK_UNSUPPORTED, image);
    }
#else
    (void)rule;
    (void)image;
#endif
    return read_word(walker, saved, address) ? STEP_TAKEN : end_unread(walker, saved);
}

/* Set the saved registers to the values that they have in the caller, as far as these
 * are known. Of all other registers only the stack pointer is known then. */
static void
restore_registers(struct walker *walker, const struct sym_unwind_rule *rule,
                  uint64_t cfa)
{
    uint64_t values[SYM_SAVED_REGISTERS];
    uint32_t known = 1u << SYM_REGISTER_SP;

    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        const unsigned int number = sym_saved_registers[i];
        uint64_t address;

        values[i] = walker->registers[number];
        if (rule->places[i] == SYM_PLACE_SAME) {
            known |= walker->known & 1u << number;
        } else if (find_saved(walker, rule, i, cfa, &address)) {
            /* Below the first sp there are no saved values any more: an epilogue
             * popped this one, which tables do not say, and the register has it. */
            known |= address < first_sp(walker) ? walker->known & 1u << number
                     : read_word(walker, address, &values[i]) ? 1u << number
                                                              : 0;
        }
    }
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        walker->registers[sym_saved_registers[i]] = values[i];
    }
    walker->registers[SYM_REGISTER_SP] = cfa;
    walker->known = known & ~(1u << SYM_REGISTER_RETURN); /* the call changed it */
}

/* Go on where a call returns to. */
static void
return_to(struct walker *walker, uint64_t address)
{
    walker->next = address & ~walker->signature;
    walker->exact = false;
}

/* Go to the caller by a rule. */
static enum step
step_call(struct walker *walker, const struct sym_unwind_rule *rule, uint32_t image)
{
    uint64_t next = 0;
    uint64_t cfa = 0;
    enum step step = find_cfa(walker, rule, image, &cfa);

    if (step == STEP_TAKEN) {
        step = find_return(walker, rule, image, cfa, &next);
    }
    if (step != STEP_TAKEN) {
        return step;
    }
    restore_registers(walker, rule, cfa);
    return_to(walker, next);
    walker->linked = false;
    return STEP_TAKEN;
}

/* Whether a handler has a stack of its own (sigaltstack), and what was interrupted
 * another one: a longer copy would not have that either. The kernel's ucontext says
 * where the first one is, before the registers. stored: the stack pointer there. */
static bool
leaves_stack(const struct walker *walker, uint64_t stored, uint64_t interrupted)
{
    uint64_t start;
    uint64_t size;

    return read_word(walker, stored + SYM_SIGNAL_STACK, &start) &&
           read_word(walker, stored + SYM_SIGNAL_STACK_BYTES, &size) &&
           stored - start < size && interrupted - start >= size;
}

/* Go from the code that a signal handler returns to, to the code that the signal
 * interrupted: all of its registers are on the stack. */
static enum step
step_signal(struct walker *walker, uint32_t image)
{
    const uint64_t stored = walker->registers[SYM_REGISTER_SP];
    uint64_t values[SYM_REGISTERS + 1];

    if (!is_known(walker, SYM_REGISTER_SP)) {
        return end_walk(walker, STACK_UNSUPPORTED, image);
    }
    for (size_t i = 0; i <= SYM_REGISTERS; i++) {
        if (!read_word(walker, stored + sym_signal_offsets[i], &values[i])) {
            return end_unread(walker, stored + sym_signal_offsets[i]);
        }
    }
    walker->left |= leaves_stack(walker, stored, values[SYM_REGISTER_SP]);
    memcpy(walker->registers, values, sizeof(walker->registers));
    walker->known = ALL_REGISTERS;
    walker->next = values[SYM_REGISTERS];
    walker->exact = true;
    walker->linked = false;
    return STEP_TAKEN;
}

/* Find the return address of interrupted code of a mapping if it is certain to be in
 * the link register: an address in the same mapping may be left from a call that the
 * code made. If the record at the frame pointer has the same address, the code may have
 * saved it already: then that record is used. */
static bool
find_link(const struct walker *walker, const struct stack_mapping *mapping,
          uint64_t *address)
{
#if SYM_UNWIND_MACHINE == EM_AARCH64
    const struct stack_sample *const sample = walker->sample;
    const uint64_t link = walker->registers[SYM_REGISTER_RETURN];
    const struct stack_mapping *const found = stack_mapping_find(
        sample->mappings, sample->mapping_count, (link & ~walker->signature) - 1);
    uint64_t saved;

    *address = link;
    return is_known(walker, SYM_REGISTER_RETURN) && found != NULL && found != mapping &&
           !(read_word(walker, walker->registers[SYM_REGISTER_FP] + WORD_BYTES,
                       &saved) &&
             saved == link);
#else
    (void)walker;
    (void)mapping;
    (void)address;
    return false;
#endif
}

/* Go to the caller by the chain of frame pointers, which ends with 0. In code without
 * frame pointers the register may be anything: it must lead upwards in the copy. */
static enum step
step_pointer(struct walker *walker, const struct stack_mapping *mapping)
{
    const uint64_t pointer = walker->registers[SYM_REGISTER_FP];
    uint64_t next;
    uint64_t saved;

    if (walker->linked && pointer == 0) {
        return end_whole(walker);
    }
    walker->by_pointer = true;
    if (find_link(walker, mapping, &next)) {
        walker->known = 1u << SYM_REGISTER_FP;
        return_to(walker, next);
        return STEP_TAKEN;
    }
    if (!is_known(walker, SYM_REGISTER_FP) ||
        pointer < walker->registers[SYM_REGISTER_SP] ||
        !read_word(walker, pointer, &saved) ||
        !read_word(walker, pointer + WORD_BYTES, &next)) {
        return end_walk(walker, STACK_NO_RULES, mapping->image);
    }
    walker->registers[SYM_REGISTER_FP] = saved;
    walker->registers[SYM_REGISTER_SP] = pointer + (uint64_t)2 * WORD_BYTES;
    walker->known = POINTER_REGISTERS;
    return_to(walker, next);
    walker->linked = true;
    return STEP_TAKEN;
}

/* --- frames --- */

const struct stack_mapping *
stack_mapping_find(const struct stack_mapping *mappings, size_t count, uint64_t address)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (mappings[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < mappings[low - 1].end ? &mappings[low - 1] : NULL;
}

/* Find the mapping of the code that the walk is in, or NULL, and its address in the
 * image. Of a call it is that of a byte of the call, since a call that does not return
 * may be the last code of its function. Most callers are in the image of the callee. */
static void
find_code(struct walker *walker, uint64_t *address)
{
    const uint64_t mapped = walker->exact ? walker->next : walker->next - 1;
    const struct stack_mapping *mapping = walker->mapping;

    if (mapping == NULL || mapped < mapping->start || mapped >= mapping->end) {
        mapping = stack_mapping_find(walker->sample->mappings,
                                     walker->sample->mapping_count, mapped);
        walker->mapping = mapping;
    }
    if (mapping != NULL) {
        *address = mapped - mapping->start + mapping->address;
    }
}

/* Go to the caller of code at an address of the mapping's image. */
static enum step
step_from(struct walker *walker, uint64_t address)
{
    const struct stack_mapping *const mapping = walker->mapping;
    const struct sym_unwind_rule *rule;

    if (mapping->anonymous) {
        return step_pointer(walker, mapping);
    }
    rule = stack_rules_find(walker->rules, mapping->image, address);
    if (rule == NULL) {
        walker->walked->image = mapping->image;
        walker->walked->address = address;
        return STEP_ASKS;
    }
    switch (rule->kind) {
    case SYM_UNWIND_CALL:
        /* Not known behind a step by the frame pointer on arm64, where compilers keep
         * frame pointers in code with tables, too. */
        return rule->cfa_register == SYM_REGISTER_SP &&
                       !is_known(walker, SYM_REGISTER_SP)
                   ? step_pointer(walker, mapping)
                   : step_call(walker, rule, mapping->image);
    case SYM_UNWIND_SIGNAL:
        return step_signal(walker, mapping->image);
    case SYM_UNWIND_OUTERMOST:
        return end_whole(walker);
    case SYM_UNWIND_NO_TABLES:
        return step_pointer(walker, mapping);
    case SYM_UNWIND_NONE:
        return end_walk(walker, STACK_NO_RULES, mapping->image);
    case SYM_UNWIND_UNREAD:
        return end_walk(walker, STACK_NOT_RECORDED, STACK_NO_IMAGE);
    default:
        assert(rule->kind == SYM_UNWIND_UNSUPPORTED);
        return end_walk(walker, STACK_UNSUPPORTED, mapping->image);
    }
}

/* Add the frame that a step came to, or end the walk if that is none. */
static enum step
add_frame(struct walker *walker, uint64_t address)
{
    const struct stack_mapping *const mapping = walker->mapping;
    struct stack_walked *const walked = walker->walked;

    if (walker->next == 0) {
        return end_whole(walker);
    }
    if (mapping == NULL) {
        return end_walk(walker, STACK_NO_RULES, STACK_NO_IMAGE);
    }
    if (walked->count == STACK_FRAMES_MAX) {
        return end_walk(walker, STACK_DEEP, STACK_NO_IMAGE);
    }
    walked->frames[walked->count++] = (struct stack_frame){address, mapping->image};
    return STEP_TAKEN;
}

bool
stack_walk_possible(void)
{
    return SYM_UNWIND_MACHINE != EM_NONE;
}

/* Return the bits of a return address that may be a signature: no mapping has them. */
static uint64_t
signature_of(const struct stack_sample *sample)
{
    uint64_t used = (UINT64_C(1) << ADDRESS_BITS_MIN) - 1;

    if (SYM_UNWIND_MACHINE != EM_AARCH64 || sample->mapping_count == 0) {
        return 0;
    }
    used |= sample->mappings[sample->mapping_count - 1].end - 1;
    for (unsigned int bits = 1; bits < 64; bits *= 2) {
        used |= used >> bits;
    }
    return ((UINT64_C(1) << SIGNATURE_END) - 1) & ~used;
}

bool
stack_walk(const struct stack_sample *sample, struct stack_rules *rules,
           struct stack_walked *walked)
{
    struct walker walker = {
        .sample = sample,
        .rules = rules,
        .walked = walked,
        .known = ALL_REGISTERS,
        .signature = signature_of(sample),
        .next = sample->address,
        .exact = true,
    };
    uint64_t address = 0;
    enum step step = STEP_TAKEN;

    memcpy(walker.registers, sample->registers, sizeof(walker.registers));
    walked->count = 0;
    find_code(&walker, &address);
    if (walker.mapping == NULL) {
        step = end_walk(&walker, STACK_NO_RULES, STACK_NO_IMAGE);
    }
    while (step == STEP_TAKEN) {
        step = step_from(&walker, address);
        if (step == STEP_TAKEN) {
            find_code(&walker, &address);
            step = add_frame(&walker, address);
        }
    }
    return step == STEP_ENDED;
}
