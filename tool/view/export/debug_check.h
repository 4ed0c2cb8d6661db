/* SPDX-License-Identifier: MIT */
/*
 * debug_check.h - whether debug information has what compilers need to find the code
 * of hits again. Only tool/view/export includes it.
 */
#ifndef VIEW_EXPORT_DEBUG_CHECK_H
#define VIEW_EXPORT_DEBUG_CHECK_H

#include "view/export/linked_code.h"

/* debug_missing - what debug information lacks at a place, the worst first. */
enum debug_missing {
    DEBUG_MISSING_NOTHING,
    DEBUG_MISSING_LINE,
    DEBUG_MISSING_DECLARATION, /* its line */
    DEBUG_MISSING_LINKAGE_NAME,
    DEBUG_MISSING_KINDS
};

/* debug_check - hits of places, by what is missing there. */
struct debug_check {
    const char *remedy; /* compiler options that give all of it */
    uint64_t hits[DEBUG_MISSING_KINDS];
    bool discriminators; /* there are some, or none are needed */
};

/* debug_place - the functions at an address, innermost first, and the symbol that
 * covers it or "". */
struct debug_place {
    const struct sym_frame *frames;
    size_t count;
    const char *symbol;
    uint64_t at;    /* the address in a bucket to which all its hits are attributed */
    uint64_t start; /* range of the symbol; empty if there is none */
    uint64_t end;
};

/* If number is the first of a group of buckets, request the names of all buckets of the
 * group at once. */
void debug_expect_buckets(const struct linked_code *code, size_t number);

/* The place of a bucket, or with bytes 1 of an address. Valid until the next lookup. */
struct debug_place debug_place_find(struct sym_image *image, uint64_t address,
                                    uint64_t bytes);

enum debug_missing debug_check_place(const struct debug_place *place);

/* Check the places of all hits of the code, whose file must be open, and whether their
 * functions have discriminators. */
void debug_check_code(struct debug_check *check, const struct linked_code *code);

/*
 * Decide whether most hits have places that lack nothing, and add to the note how many
 * hits are left out.
 *
 *   name  of the image, escaped
 *
 * Returns false if not, with messages->error set to what is missing and the remedy.
 */
bool debug_check_pass(const struct debug_check *check, const char *name,
                      const struct export_options *options,
                      struct export_messages *messages);

#endif
