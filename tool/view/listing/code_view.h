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
    bool inlined; /* show only instructions of the target */
    bool symbol;  /* an instruction starts at start */
};

/* insn - one instruction, or bytes that could not be decoded. */
struct insn {
    uint64_t address;
    uint32_t size;
    const char *text; /* owned by the listing; NULL: not decoded */
    bool uncertain;
    bool shown;
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

/* Remember that memory ran out. Returns false, so that callers can return its value. */
bool code_out_of_memory(struct code_view *code);

/* --- code_parts.c --- */

/* Return what to add to addresses of the profile to get those of the file, modulo
 * 2^64. */
uint64_t code_find_shift(const struct code_view *code);

/* Set parts. Returns false if there are none or memory runs out. */
bool code_find_parts(struct code_view *code);

/* --- code_decode.c --- */

/* Set bytes. Returns false if the file has none or memory runs out. */
bool code_read_part(struct code_view *code, const struct part *part);

/* Decode the bytes that code_read_part has read, and set starts and insns. Returns
 * false if it fails, after adding a note. */
bool code_decode_part(struct code_view *code, const struct part *part);

/* Set shown for the instructions of the target. */
void code_choose_insns(struct code_view *code, const struct part *part);

/* --- code_buckets.c --- */

/* Make buckets that do not overlap from the rows of the part. Hits of all processes are
 * added up. */
void code_add_buckets(struct code_view *code, const struct part *part);

/* Count the instructions that start in each bucket. Show all of them or none. */
void code_count_insns(struct code_view *code);

/* Remove buckets that no line shows, and set brackets. Call it when the lines exist. */
void code_finish_buckets(struct code_view *code, const struct part *part);

/* --- code_lines.c --- */

/* Add a line with the part's symbol and addresses, and forget the last place, so that
 * the next instruction shows its own. */
void code_add_heading(struct code_view *code, const struct part *part);

/* Add a line for each shown instruction, after its place and source lines if these
 * changed. */
void code_add_lines(struct code_view *code, const struct part *part);

#endif
