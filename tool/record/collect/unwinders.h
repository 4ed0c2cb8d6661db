/* SPDX-License-Identifier: MIT */
/*
 * unwinders.h - asks the files of images for unwind rows, each by a reader of its own,
 * which lives as long as there is room for it. Used by one thread, which waits for
 * readers.
 *
 * Rows are in places of their image (enum image_kind), as the places of hits are.
 */
#ifndef RECORD_COLLECT_UNWINDERS_H
#define RECORD_COLLECT_UNWINDERS_H

#include "symbols/client/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* unwind_file - leads to the tables of an image. */
struct unwind_file {
    bool vdso;        /* it is that of this machine's processes, and no file */
    int fd;           /* the mapped file, perhaps O_PATH; of who asks; -1: there is
                       * no file */
    uint64_t key;     /* of calls that may wait for it (base/time_limit.h) */
    const char *path; /* valid as long as the images are */
};

/* unwind_gaps - images whose tables could not be read at some place. */
struct unwind_gaps {
    uint64_t images;
    char why[256]; /* of the first one, with its path, which is hostile */
};

/* Find the file of an image by its number. Returns false if there is one and it was not
 * opened; its path is set also then. */
typedef bool unwinders_find(void *context, uint32_t image, struct unwind_file *file);

struct unwinders;

/* Returns NULL if memory runs out. */
struct unwinders *unwinders_new(unwinders_find *find, void *context);
void unwinders_delete(struct unwinders *unwinders); /* NULL is allowed */

/*
 * Get the row of a place and rows that follow it; the first one covers the place.
 * Returns how many, at least 1: code whose tables cannot be read has a row of
 * SYM_UNWIND_UNREAD, and is in the gaps.
 */
size_t unwinders_ask(struct unwinders *unwinders, uint32_t image, uint64_t place,
                     struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX]);

const struct unwind_gaps *unwinders_gaps(const struct unwinders *unwinders);

#endif
