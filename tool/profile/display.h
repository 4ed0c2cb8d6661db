/* SPDX-License-Identifier: MIT */
/*
 * display.h - how functions read in tables: short names, unless two would read alike.
 */
#ifndef PROFILE_DISPLAY_H
#define PROFILE_DISPLAY_H

#include "base/buffer.h"
#include "profile/profile.h"

/* display_detail - how much of a name is shown. */
enum display_detail {
    DISPLAY_SHORT,        /* C++ without return type, parameters and "[clone ...]" */
    DISPLAY_FULL,         /* as demangled */
    DISPLAY_FILE,         /* short, with the file and line of the definition */
    DISPLAY_ADDRESS,      /* the same with the address */
    DISPLAY_FULL_FILE,    /* full, with the file and line */
    DISPLAY_FULL_ADDRESS, /* the same with the address */
    DISPLAY_DETAILS
};

/* Append the name of a function, escaped: that of the symbol table; of code with bounds
 * only IMAGE!0xADDRESS; of code without, "[no symbols] in IMAGE". */
void display_function(const struct profile_function *function,
                      const struct profile_image *image, enum display_detail detail,
                      struct buffer *out);

/*
 * Append escaped text with at most this many characters: template arguments are cut in
 * their middle, the longest first, then what stands in parentheses; if that is not
 * enough, the whole name is cut in its middle.
 */
void display_shorten(const char *text, size_t columns, struct buffer *out);

/* Return whether text is what a table leaves of an escaped name, with "..." instead of
 * parts. */
bool display_is_cut(const char *text, const char *name);

/* Append the last part of the image's path, escaped. */
void display_image(const struct profile_image *image, struct buffer *out);

/* display_name - a function that a table shows. */
struct display_name {
    const struct profile_function *function;
    const struct profile_image *image;
    uint32_t identity; /* of the function: see identity.h */
    /* In and out: short or full, or with a file; it is raised as needed. A name that is
     * full stays so. */
    enum display_detail detail;
};

/* Raise the details of names that read alike, in images that read alike, and are
 * different functions. Returns false if memory runs out. */
bool display_tell_apart(struct display_name *names, size_t count);

/*
 * Find the texts that are equal to another one. Returns false if memory runs out.
 *
 *   texts   all of them, each with its NUL
 *   starts  where each begins
 *   alike   out: by text
 */
bool display_find_alike(const struct buffer *texts, const size_t *starts, size_t count,
                        bool *alike);

#endif
