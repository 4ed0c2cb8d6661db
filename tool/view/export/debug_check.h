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
    DEBUG_MISSING_DECLARATION, /* the line where a function is declared */
    DEBUG_MISSING_LINKAGE_NAME,
    DEBUG_MISSING_PLAIN_NAME, /* one that does not begin with a dot; gcc-afdo only */
    DEBUG_MISSING_KINDS
};

/* debug_check - the hits of places, by what is missing there. */
struct debug_check {
    const char *remedy; /* compiler options with which nothing is missing */
    uint64_t hits[DEBUG_MISSING_KINDS];
    bool discriminators; /* a discriminator was found, or none is needed */
};

/* debug_place - the functions at an address, innermost first, and the symbol that
 * covers it or "". */
struct debug_place {
    const struct sym_frame *frames;
    size_t count;
    const char *symbol;
    uint64_t at;    /* the address in the bucket to which all its hits are attributed */
    uint64_t start; /* range of the symbol; empty if there is none */
    uint64_t end;
};

/* debug_expect_buckets - if number is the first of a group of buckets, request the
 * names of all buckets of the group at once. */
void debug_expect_buckets(const struct linked_code *code, size_t number);

/* debug_place_find - return the place of a bucket or, with bytes 1, of an address.
 * Valid until the next lookup in the image. */
struct debug_place debug_place_find(struct sym_image *image, uint64_t address,
                                    uint64_t bytes);

/* debug_check_place - return the worst that a place lacks. */
enum debug_missing debug_check_place(const struct debug_place *place);

/* debug_check_code - add the hits of all places of the code, whose file must be open,
 * to the check, and look for a discriminator in their functions. */
void debug_check_code(struct debug_check *check, const struct linked_code *code);

/*
 * debug_check_pass - decide whether most hits have places that lack nothing, and there
 * is a discriminator. If so, add to the note how many hits are left out.
 *
 *   name  of the image, escaped
 *
 * Returns false otherwise, with messages->error set to what is missing and the remedy.
 */
bool debug_check_pass(const struct debug_check *check, const char *name,
                      const struct export_options *options,
                      struct export_messages *messages);

#endif
