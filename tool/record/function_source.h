/* SPDX-License-Identifier: MIT */
/*
 * function_source.h - "function:NAME" of -e: finds the uprobe and the breakpoint that
 * count its executions.
 */
#ifndef RECORD_FUNCTION_SOURCE_H
#define RECORD_FUNCTION_SOURCE_H

#include "record/program_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* function_source - a function as sources of the session. */
struct function_source {
    /* "uprobe:IMAGE+0xOFFSET", IMAGE being a path of the descriptor; NULL: not a
     * function */
    char *uprobe;
    char breakpoint[40]; /* "breakpoint:0xADDRESS"; "": the address is unknown */
    int image;           /* descriptor of the file, open while uprobe is not NULL */
};

/* function_source_is - return whether text is "function:...". */
bool function_source_is(const char *text);

/*
 * function_source_resolve - find the function, and name the sources that count it.
 * Returns false with the reason in why.
 *
 *   text        in: "function:NAME", in the program or that of the processes;
 *               "function:/IMAGE:NAME"
 *   choice      in: the program, and the processes that a breakpoint is for
 *   memory_max  in: limit of the memory for symbols in bytes; 0: 1 GiB
 *   why         out: why the function was not found, for the user
 */
bool function_source_resolve(struct function_source *source, const char *text,
                             const struct program_choice *choice, uint64_t memory_max,
                             char *why, size_t why_size);

/* Free the names and close the image, if it is a function. */
void function_source_finish(struct function_source *source);

#endif
