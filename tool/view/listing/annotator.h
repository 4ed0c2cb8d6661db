/* SPDX-License-Identifier: MIT */
/*
 * annotator.h - the files that listings need: images, checked by build-id, and sources.
 * Only tool/view/listing includes it.
 *
 * Files stay open until the annotator is deleted. For files that cannot be used, it
 * keeps the reason.
 */
#ifndef VIEW_LISTING_ANNOTATOR_H
#define VIEW_LISTING_ANNOTATOR_H

#include "view/listing/listingp.h"
#include "view/listing/source_text.h"

const struct annotator_settings *
annotator_settings_of(const struct annotator *annotator);

/* Return the image's file, or NULL after adding a note with the reason. */
struct sym_image *annotator_image(struct annotator *annotator, struct listing *listing,
                                  const struct profile *profile, uint32_t image);

/* Return the source file, or NULL after adding a note with the reason;
 * annotator_note_missing reports missing files. If the file is newer than newer_than_s,
 * which is not 0, adds a note too. */
const struct source_text *annotator_source(struct annotator *annotator,
                                           struct listing *listing, const char *file,
                                           int64_t newer_than_s);

/* Add one note about all missing sources, once the listing is complete. */
void annotator_note_missing(struct listing *listing);

#endif
