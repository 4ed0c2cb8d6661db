/* SPDX-License-Identifier: MIT */
/* main_image.h - the image that readers of pprof files should take for the program. */
#ifndef PROFILE_MAIN_IMAGE_H
#define PROFILE_MAIN_IMAGE_H

#include "profile/profile.h"

/* Find the program with the most hits; without a program, the image with the most. The
 * profile has images. Returns false if memory runs out. */
bool main_image_find(const struct profile *profile, size_t *found);

#endif
