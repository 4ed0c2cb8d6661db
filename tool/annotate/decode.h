/* SPDX-License-Identifier: MIT */
/*
 * decode.h - bytes to instructions, by capstone in the process or objdump in a child.
 * For tool/annotate alone.
 *
 * Neither knows all instructions. Where one gives up, nobody knows where the next
 * instruction starts, until a place is reached at which one is known to start: sync.
 */
#ifndef ANNOTATE_DECODE_H
#define ANNOTATE_DECODE_H

#include "sym/sym.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* decode_code - bytes that lie together. */
struct decode_code {
    struct sym_code kind;
    const unsigned char *bytes;
    size_t size;
    uint64_t address;
    const uint64_t *sync; /* addresses at which instructions start, sorted */
    size_t sync_count;
    bool intel;          /* syntax */
    const char *objdump; /* program, for decode_by_objdump */
};

struct decoded {
    uint64_t address;
    uint32_t size;
    const char *text; /* valid during the call; NULL: bytes that are not known */
    bool uncertain;   /* behind such bytes, before the next sync */
};

/* False ends it. */
typedef bool decode_take(void *context, const struct decoded *decoded);

/*
 * Both call take with what the bytes are, from first to last without gaps.
 *
 *   why  out: if false, for people: what did not work
 *
 * False also if take ended it; why is "" then.
 */
bool decode_by_capstone(const struct decode_code *code, decode_take *take,
                        void *context, char *why, size_t why_size);
bool decode_by_objdump(const struct decode_code *code, decode_take *take, void *context,
                       char *why, size_t why_size);

/* What objdump printed, for the latter, tests and fuzzing. Trusts nothing: lines that
 * are none of instructions, or not in order, are passed over. text has a NUL behind it,
 * and is written to. */
bool decode_objdump_text(const struct decode_code *code, char *text, size_t size,
                         decode_take *take, void *context);

/* Is a machine known to the decoder inside? */
bool decode_has_capstone(void);

/* decode_jump - where an instruction leads, by its text. */
struct decode_jump {
    bool has_target;
    bool is_call;
    uint64_t target;
};

struct decode_jump decode_find_jump(const struct sym_code *kind, const char *text);

#endif
