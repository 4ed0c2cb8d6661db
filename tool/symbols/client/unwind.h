/* SPDX-License-Identifier: MIT */
/* unwind.h - asks an image for the unwind rows of its code. The image is hostile. */
#ifndef SYMBOLS_CLIENT_UNWIND_H
#define SYMBOLS_CLIENT_UNWIND_H

#include "symbols/border/unwind.h"
#include "symbols/client/image.h"

/*
 * Asks for the row of a link-time address and rows that follow it.
 *
 *   address  below UINT64_MAX
 *   rows     out: the first one covers address; they are in order and do not overlap
 *
 * At least 1. If the image's process failed, or had no time left, the only one is
 * SYM_UNWIND_UNREAD for all addresses.
 */
size_t sym_image_unwind(struct sym_image *image, uint64_t address,
                        struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX]);

#endif
