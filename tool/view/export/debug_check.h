/* SPDX-License-Identifier: MIT */
/*
 * debug_check.h - whether debug information says of code what compilers need to find it
 * again. For tool/view/export alone.
 */
#ifndef VIEW_EXPORT_DEBUG_CHECK_H
#define VIEW_EXPORT_DEBUG_CHECK_H

#include "view/export/linked_code.h"

/* debug_lack - what is missing at a place, the worst first. */
enum debug_lack {
    DEBUG_LACKS_NOTHING,
    DEBUG_LACKS_LINE,
    DEBUG_LACKS_DECLARATION, /* its line */
    DEBUG_LACKS_LINKAGE_NAME,
    DEBUG_LACK_KINDS
};

/* debug_check - hits of places, by what is missing there. */
struct debug_check {
    const char *remedy; /* compiler options that give all of it */
    uint64_t hits[DEBUG_LACK_KINDS];
    bool discriminators; /* there are some, or none are needed */
};

/* debug_place - functions at an address, innermost first, and the symbol around them or
 * "". */
struct debug_place {
    const struct sym_frame *frames;
    size_t count;
    const char *symbol;
};

/* Valid until the next lookup. */
struct debug_place debug_place_find(struct sym_image *image, uint64_t address);

enum debug_lack debug_check_place(const struct debug_place *place);

/* Looks at all hits of the code, whose file is open, and for discriminators in the
 * functions around them. */
void debug_check_code(struct debug_check *check, const struct linked_code *code);

/*
 * Has most of the hits places that lack nothing? Else said->error names what is missing
 * and the remedy. Notes how many hits are left out.
 *
 *   name  of the image, escaped
 */
bool debug_check_pass(const struct debug_check *check, const char *name,
                      const struct export_options *options, struct export_said *said);

#endif
