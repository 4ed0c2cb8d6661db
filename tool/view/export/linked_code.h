/* SPDX-License-Identifier: MIT */
/*
 * linked_code.h - the hits of one image by address as linked, for compilers and
 * linkers, and the image's file. Only tool/view/export includes it.
 *
 * The address of a hit is known up to its bucket, in which several instructions may
 * start.
 */
#ifndef VIEW_EXPORT_LINKED_CODE_H
#define VIEW_EXPORT_LINKED_CODE_H

#include "view/export/one_image.h"

#include "base/budget.h"
#include "view/listing/image_file.h"

/* linked_bucket - the hits of linked_code.bytes bytes from address on. */
struct linked_bucket {
    uint64_t address;
    uint64_t hits;
};

/* linked_code - the hits and the file. All zero: nothing is to be freed. */
struct linked_code {
    struct one_image choice;
    struct image_file file;        /* the image's file; its member image is NULL if
                                    * it was not opened */
    struct sym_clock clock;        /* what limits the time for reading names */
    struct linked_bucket *buckets; /* sorted by address, one for each that has hits;
                                    * there is one at least */
    size_t count;
    uint64_t bytes; /* length of a bucket, at least 1 */
    uint64_t hits;  /* of all buckets */
};

enum linked_file {
    LINKED_FILE_WANTED, /* it may be missing, unless it is needed to find addresses */
    LINKED_FILE_NEEDED,
};

/*
 * linked_code_take - collect the hits of options->source in the image that options
 * choose, and open its file. Code without a file cannot be chosen. Returns false if it
 * fails, with the reason in messages->error unless memory ran out. linked_code_finish
 * must be called in any case.
 */
bool linked_code_take(struct linked_code *code, const struct profile *profile,
                      const struct export_options *options, enum linked_file need,
                      struct export_messages *messages);

/* linked_code_check_read - check that the names of the file could be read
 * completely. Returns false, with the reason in messages->error, if they took too
 * much memory or time. */
bool linked_code_check_read(const struct linked_code *code,
                            const struct export_options *options,
                            struct export_messages *messages);

/* linked_code_name - return the path of the image in the profile, escaped. */
const char *linked_code_name(const struct linked_code *code, char *shown, size_t size);

void linked_code_finish(struct linked_code *code);

#endif
