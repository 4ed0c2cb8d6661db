/* SPDX-License-Identifier: MIT */
/*
 * one_image.h - which image a form of one image holds. Only tool/view/export includes
 * it.
 *
 * A file can have several entries in a profile, one for each range of addresses: they
 * are one image here.
 */
#ifndef VIEW_EXPORT_ONE_IMAGE_H
#define VIEW_EXPORT_ONE_IMAGE_H

#include "view/export/export.h"

/* one_image - the choice. All zero is none. */
struct one_image {
    const struct profile *profile;
    uint32_t *first_of; /* index of the first entry of the same file, by image */
    uint64_t *hits;     /* of a source, by that index; 0 at all others */
    bool *named;        /* by image: it may be chosen, by kind and by options->image */
    uint32_t chosen;    /* such an index */
};

enum one_image_of { ONE_IMAGE_OF_ANY, ONE_IMAGE_OF_FILE };

/*
 * Chooses an image with hits of options->source: the one that options->image names, or
 * the one with most of them. False: messages->error says why not, or memory ran out;
 * finish it in any case.
 */
bool one_image_choose(struct one_image *choice, const struct profile *profile,
                      const struct export_options *options, enum one_image_of of,
                      struct export_messages *messages);

/* Notes which one was taken, if that was not asked for, and what is in others. */
void one_image_note(const struct one_image *choice,
                    const struct export_options *options,
                    struct export_messages *messages);
void one_image_finish(struct one_image *choice);

#endif
