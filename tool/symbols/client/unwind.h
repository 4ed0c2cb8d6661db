/* SPDX-License-Identifier: MIT */
/* unwind.h - asks an image for unwind rows of its code. The image is hostile. */
#ifndef SYMBOLS_CLIENT_UNWIND_H
#define SYMBOLS_CLIENT_UNWIND_H

#include "symbols/border/unwind.h"
#include "symbols/client/image.h"

/*
 * Ask for the rows of link-time addresses. The reader works on all of them without
 * waiting for the command in between.
 *
 *   addresses  count of them, 1 to SYM_UNWIND_ASKED_MAX, each below UINT64_MAX
 *   answers    out: one for each address
 *
 * Returns how many were answered: fewer than count if the image's process has ended, by
 * the first question that it did not answer.
 */
size_t sym_image_unwind(struct sym_image *image, const uint64_t *addresses,
                        size_t count, struct sym_unwind_answer *answers);

#endif
