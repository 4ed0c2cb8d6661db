/* SPDX-License-Identifier: MIT */
/*
 * linked_functions.h - the functions that the linker listed, with the hits of their
 * code. Only tool/view/export includes it.
 */
#ifndef VIEW_EXPORT_LINKED_FUNCTIONS_H
#define VIEW_EXPORT_LINKED_FUNCTIONS_H

#include "view/export/linked_code.h"

#include "symbols/client/symbol_list.h"

/* linked_functions - the functions, with their hits. All zero: nothing is to be freed.
 */
struct linked_functions {
    struct sym_symbol_list list;
    uint32_t *function_of; /* by bucket: index into the list, or LINKED_NO_FUNCTION */
    uint64_t *hits;        /* by function */
    uint64_t unused;       /* hits outside of all functions, or of functions
                            * that were dropped */
};

#define LINKED_NO_FUNCTION UINT32_MAX

/*
 * linked_functions_take - find the function of each bucket: the last that starts in it,
 * or else the one that it lies in; of those at one address a global one. relocations:
 * the file must have them. Returns false if there is no list or relocations are
 * missing, with the reason in messages->error, or if memory runs out.
 * linked_functions_finish must be called in any case.
 */
bool linked_functions_take(struct linked_functions *functions,
                           const struct linked_code *code, bool relocations,
                           const struct export_options *options,
                           struct export_messages *messages);

/* linked_functions_end - return the end of a function: that of its symbol or, if the
 * symbol has no size, the start of the next function. */
uint64_t linked_functions_end(const struct linked_functions *functions,
                              uint32_t function);

/*
 * linked_functions_check_names - drop the hits of functions whose name or source file
 * is not a plain word, as a format of words and lines needs, and add to the note how
 * many hits are left out. Returns false if no hits are left, with the reason in
 * messages->error, or if memory ran out.
 */
bool linked_functions_check_names(struct linked_functions *functions,
                                  const struct linked_code *code,
                                  const struct export_options *options,
                                  struct export_messages *messages);

void linked_functions_finish(struct linked_functions *functions);

#endif
