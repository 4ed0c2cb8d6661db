/* SPDX-License-Identifier: MIT */
/*
 * unwinders.h - asks the files of images for unwind rows, each by a reader of its own,
 * which lives as long as there is room for it. Several threads wait for readers, each
 * for those of other images.
 *
 * Rows are in places of their image (enum image_kind), as the places of hits are.
 */
#ifndef RECORD_COLLECT_UNWINDERS_H
#define RECORD_COLLECT_UNWINDERS_H

#include "record/collect/mapped_file.h"
#include "symbols/client/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* unwind_file - leads to the tables of an image. */
struct unwind_file {
    bool vdso;             /* it is that of this machine's processes, and no file */
    struct mapped_way way; /* its fd is of who asks, -1: there is no file; the rest is
                            * valid as long as the images are */
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

/* Returns NULL if memory runs out. symbols: how files are read, for who takes readers;
 * copied, but for the clock, which is none; NULL: all zero. */
struct unwinders *unwinders_new(unwinders_find *find, void *context,
                                const struct sym_settings *symbols);
void unwinders_delete(struct unwinders *unwinders); /* NULL is allowed */

/*
 * Get the rows of places of an image, about which no other thread asks meanwhile. Each
 * has an answer whose first row covers the place: code whose tables cannot be read has
 * a row of SYM_UNWIND_UNREAD, and is in the gaps.
 *
 *   places  count of them, 1 to SYM_UNWIND_ASKED_MAX
 */
void unwinders_ask(struct unwinders *unwinders, uint32_t image, const uint64_t *places,
                   size_t count, struct sym_unwind_answer *answers);

/* Take over the reader of an image, which may be asked for names, too. Returns NULL if
 * there is none, or a thread uses it. Any thread. */
struct sym_image *unwinders_take(struct unwinders *unwinders, uint32_t image);

/* Get what could not be read until now. Any thread. */
struct unwind_gaps unwinders_gaps(struct unwinders *unwinders);

#endif
