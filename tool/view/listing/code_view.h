/* SPDX-License-Identifier: MIT */
/*
 * code_view.h - a listing of instructions while it is built, from parts to lines. Only
 * view_code.c and code_*.c include it.
 *
 * A target consists of parts: the symbol of a function, and each symbol that the
 * function was inlined into; of the latter only instructions of the function are shown.
 * If one instruction of a bucket is shown, all that start in it are, since the hits may
 * be of any of them.
 */
#ifndef VIEW_LISTING_CODE_VIEW_H
#define VIEW_LISTING_CODE_VIEW_H

#include "view/listing/views.h"

/* part - a contiguous range of code. Addresses are those of the file. */
struct part {
    uint64_t start;
    uint64_t end;
    bool target_only; /* other instructions are not shown */
    bool symbol; /* start is that of a symbol, so that an instruction starts there */
};

/* insn - one instruction, or bytes that could not be decoded. */
struct insn {
    uint64_t address;
    uint32_t size;
    const char *text; /* owned by the listing; NULL: not decoded */
    bool uncertain;   /* it may be wrong: see decode.h */
    bool shown;       /* it gets a line */
};

/* code_view - the listing and its current part. */
struct code_view {
    struct view *view;
    struct listing *listing;
    uint32_t image_index;
    struct sym_image *image;
    /* add to an address of the profile to get one of the file, modulo 2^64 */
    uint64_t shift;
    struct view_row *rows;
    size_t row_count;
    struct part *parts;
    size_t part_count;
    /* of the current part: */
    unsigned char *bytes;
    size_t size;
    uint64_t *starts; /* known starts of instructions (decode.h) */
    size_t start_count;
    size_t start_room;
    struct insn *insns;
    size_t insn_count;
    size_t insn_room;
    size_t first_bucket; /* index in the listing */
    /* of the last place that was shown: */
    const char *file;
    const char *function;
    uint32_t line;
    uint64_t code_bytes; /* of all parts so far */
    size_t first_line;   /* index in the listing: first line of the image */
};

/* code_out_of_memory - have the listing remember that memory ran out. Returns false. */
bool code_out_of_memory(struct code_view *code);

/* --- code_parts.c --- */

/* code_find_shift - return what to add to addresses of the profile to get those of the
 * file, modulo 2^64. */
uint64_t code_find_shift(const struct code_view *code);

/* code_find_parts - set parts. Returns false if there are none or memory runs out. */
bool code_find_parts(struct code_view *code);

/* --- code_decode.c --- */

/* code_read_part - set bytes. A part that is too large is cut, with a note. Returns
 * false after adding a note if no bytes can be shown, or if memory runs out. */
bool code_read_part(struct code_view *code, const struct part *part);

/* code_decode_part - decode the bytes that code_read_part has read, and set starts and
 * insns. Returns false after adding a note, or if memory runs out. */
bool code_decode_part(struct code_view *code, const struct part *part);

/* code_choose_insns - set shown of the instructions of the target, and of all that
 * start in its buckets; and uncertain of those in front of the first known start. */
void code_choose_insns(struct code_view *code, const struct part *part);

/* --- code_buckets.c --- */

/* code_add_buckets - make buckets that do not overlap from the rows of the part. Hits
 * of all processes are added up. */
void code_add_buckets(struct code_view *code, const struct part *part);

/* code_count_insns - count the instructions that start in each bucket. If one of them
 * is shown, all of the bucket are. */
void code_count_insns(struct code_view *code);

/* code_finish_buckets - remove the part's buckets that no line shows, and set brackets.
 * Call it when the part's lines exist. */
void code_finish_buckets(struct code_view *code, const struct part *part);

/* --- code_lines.c --- */

/* code_add_heading - add a line with the part's symbol and addresses, and forget the
 * last place that was shown, so that the next instruction shows its own. */
void code_add_heading(struct code_view *code, const struct part *part);

/* code_add_lines - add a line for each shown instruction, with its place and source
 * line before it if they differ from the instruction before; one for instructions that
 * are not shown; and one for each bucket in which none starts, unless it is among
 * those. */
void code_add_lines(struct code_view *code, const struct part *part);

#endif
