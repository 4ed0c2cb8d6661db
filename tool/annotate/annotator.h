/* SPDX-License-Identifier: MIT */
/*
 * annotator.h - the files that listings need: images, checked by build-id, and sources.
 * For tool/annotate alone.
 *
 * Files stay open and read until the annotator goes. Of those that cannot be used the
 * reason stays.
 */
#ifndef ANNOTATE_ANNOTATOR_H
#define ANNOTATE_ANNOTATOR_H

#include "annotate/listingp.h"
#include "annotate/source_text.h"

const struct annotator_settings *
annotator_settings_of(const struct annotator *annotator);

/* The image's file, or NULL after a note on why there is none. */
struct sym_image *annotator_image(struct annotator *annotator, struct listing *listing,
                                  const struct profile *profile, uint32_t image);

/* The source file, or NULL: annotator_note_missing says so, or a note why.
 * newer_than_s: a note says that the file is; 0: no matter. */
const struct source_text *annotator_source(struct annotator *annotator,
                                           struct listing *listing, const char *file,
                                           int64_t newer_than_s);

/* Says which sources were not there, all in one note, when the listing is made. */
void annotator_note_missing(struct listing *listing);

#endif
