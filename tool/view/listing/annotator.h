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

/* annotator_settings_of - return the settings. */
const struct annotator_settings *
annotator_settings_of(const struct annotator *annotator);

/* annotator_image - return the image's file; NULL after adding a note with the reason,
 * or if memory runs out, which the listing remembers. */
struct sym_image *annotator_image(struct annotator *annotator, struct listing *listing,
                                  const struct profile *profile, uint32_t image);

/* annotator_source - return the source file; NULL if file is "", or after noting the
 * reason: annotator_note_missing reports the missing files. If the file was written
 * after newer_than_s, in seconds since 1970, a note is added, too; 0: that is not
 * checked. */
const struct source_text *annotator_source(struct annotator *annotator,
                                           struct listing *listing, const char *file,
                                           int64_t newer_than_s);

/* annotator_note_missing - add one note about all missing sources. Call it once, when
 * the listing is complete. */
void annotator_note_missing(struct listing *listing);

#endif
