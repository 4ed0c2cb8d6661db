/* SPDX-License-Identifier: MIT */
/*
 * decode.h - decodes instructions, with capstone in a process without rights, or with
 * objdump.
 * Only tool/view/listing includes it.
 *
 * Neither knows all instructions. After unknown bytes it is uncertain where the next
 * instruction starts, until an address is reached at which one is known to start: a
 * known start, such as the address of a row in the line table.
 */
#ifndef VIEW_LISTING_DECODE_H
#define VIEW_LISTING_DECODE_H

#include "symbols/client/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* decode_code - a contiguous range of bytes to decode. */
struct decode_code {
    struct sym_code kind;
    const unsigned char *bytes;
    size_t size;
    uint64_t address;
    const uint64_t *starts; /* known starts, sorted */
    size_t start_count;
    bool intel;          /* Intel syntax */
    const char *objdump; /* program of decode_by_objdump */
};

/* decoded - one instruction, or bytes that the decoder does not know. */
struct decoded {
    uint64_t address;
    uint32_t size;
    const char *text; /* valid during the call; NULL: unknown bytes */
    bool uncertain;   /* after unknown bytes, before the next known start */
};

/* decode_take - receive one instruction, or unknown bytes. Returns false to stop. */
typedef bool decode_take(void *context, const struct decoded *decoded);

enum decode_result {
    DECODE_DONE,
    DECODE_FAILED,
    DECODE_ABSENT /* there is no capstone here */
};

/*
 * decode_by_capstone, decode_by_objdump - call take for all bytes in order, without
 * gaps.
 *
 *   why  out: unless they succeed, the reason for the user
 *
 * They fail also if take returned false; why is "" then.
 */
enum decode_result decode_by_capstone(const struct decode_code *code, decode_take *take,
                                      void *context, char *why, size_t why_size);
bool decode_by_objdump(const struct decode_code *code, decode_take *take, void *context,
                       char *why, size_t why_size);

/* capstone_module - the work of decode_by_capstone, in this process. */
struct capstone_module {
    bool (*decode)(const struct decode_code *code, decode_take *take, void *context,
                   char *why, size_t why_size);
};

/* decode_objdump_text - decode the output of objdump, for decode_by_objdump, tests and
 * fuzzing. The output is not trusted: lines without instructions or out of order are
 * skipped. text ends with NUL and is modified. Returns false if take did. */
bool decode_objdump_text(const struct decode_code *code, char *text, size_t size,
                         decode_take *take, void *context);

/* decode_jump - where a jump or call leads. */
struct decode_jump {
    bool has_target;
    bool is_call;
    uint64_t target;
};

/* decode_find_jump - find the target in the text of an instruction; has_target is false
 * if it is no jump or call, or its target is not in the text. */
struct decode_jump decode_find_jump(const struct sym_code *kind, const char *text);

#endif
