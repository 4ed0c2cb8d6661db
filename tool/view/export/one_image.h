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

/* one_image - the choice. All zero: nothing is to be freed. */
struct one_image {
    const struct profile *profile;
    uint32_t *first_of; /* by image: index of the first entry of the same file */
    uint64_t *hits;     /* by index of the first entry of a file: hits of
                         * options->source; 0 at other indexes */
    bool *named;        /* by image: its kind and options->image allow to choose it */
    uint32_t chosen;    /* index of the first entry of the chosen file */
};

/* one_image_of - what may be chosen: any image, or only one with a file. */
enum one_image_of { ONE_IMAGE_OF_ANY, ONE_IMAGE_OF_FILE };

/*
 * one_image_choose - choose an image with hits of options->source: the one that
 * options->image names, or the one with most of them. Returns false if it fails, with
 * the reason in messages->error unless memory ran out. one_image_finish must be called
 * in any case.
 */
bool one_image_choose(struct one_image *choice, const struct profile *profile,
                      const struct export_options *options, enum one_image_of of,
                      struct export_messages *messages);

/* one_image_note - add to the note which image was chosen, unless options->image named
 * it, and how many hits other images have. */
void one_image_note(const struct one_image *choice,
                    const struct export_options *options,
                    struct export_messages *messages);
void one_image_finish(struct one_image *choice);

#endif
