/* SPDX-License-Identifier: MIT */
/*
 * code_view.h - a listing of instructions in the making, from parts to lines. For
 * view_code.c and code_*.c.
 *
 * A target is made of parts: the symbol that a function is, and each symbol that it was
 * inlined into, of which only instructions of the function are shown. A bucket in which
 * an instruction that is shown starts is shown with all instructions that start in it,
 * or its hits would seem to be of that one.
 */
#ifndef ANNOTATE_CODE_VIEW_H
#define ANNOTATE_CODE_VIEW_H

#include "annotate/views.h"

/* part - code that lies together. Addresses are the file's. */
struct part {
    uint64_t start;
    uint64_t end;
    bool inlined; /* only what is of the target is shown */
    bool symbol;  /* start is where an instruction starts */
};

/* insn - one instruction, or bytes that are not known. */
struct insn {
    uint64_t address;
    uint32_t size;
    const char *text; /* the listing's; NULL: not known */
    bool uncertain;
    bool shown;
};

/* code_view - what is being listed, and the part at hand. */
struct code_view {
    struct view *view;
    struct listing *listing;
    uint32_t image_index;
    struct sym_image *image;
    /* from addresses of the profile to those of the file, modulo 2^64 */
    uint64_t shift;
    struct view_row *rows;
    size_t row_count;
    struct part *parts;
    size_t part_count;
    /* of the part at hand: */
    unsigned char *bytes;
    size_t size;
    uint64_t *sync;
    size_t sync_count;
    size_t sync_room;
    struct insn *insns;
    size_t insn_count;
    size_t insn_room;
    size_t first_bucket; /* of the listing's */
    /* of what was told last: */
    const char *file;
    const char *function;
    uint32_t line;
    uint64_t code_bytes; /* of all parts until now */
    size_t first_line;   /* of the image, in the listing */
};

/* False, for return; it sticks. */
bool code_out_of_memory(struct code_view *code);

/* --- code_parts.c --- */

/* From addresses of the profile to those of the file, modulo 2^64. */
uint64_t code_find_shift(const struct code_view *code);

/* Sets parts. False: there are none, or out of memory. */
bool code_find_parts(struct code_view *code);

/* --- code_decode.c --- */

/* Sets bytes. False: there are none in the file, or out of memory. */
bool code_read_part(struct code_view *code, const struct part *part);

/* Sets insns. False after a note. */
bool code_decode_part(struct code_view *code, const struct part *part);

/* Sets shown of insns by what they are of. */
void code_choose_insns(struct code_view *code, const struct part *part);

/* --- code_buckets.c --- */

/* Rows of the part as buckets that do not overlap. Hits of all who ran there are added
 * up. */
void code_add_buckets(struct code_view *code, const struct part *part);

/* Counts the instructions that start in each bucket, and shows all of a bucket or none.
 */
void code_count_insns(struct code_view *code);

/* When the lines are there: forgets buckets that none shows, and sets brackets. */
void code_finish_buckets(struct code_view *code, const struct part *part);

/* --- code_lines.c --- */

void code_add_heading(struct code_view *code, const struct part *part);

/* The instructions that are shown, with places and source lines before them. */
void code_add_lines(struct code_view *code, const struct part *part);

#endif
