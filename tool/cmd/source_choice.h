/* SPDX-License-Identifier: MIT */
/* source_choice.h - which source of a profile -e means. */
#ifndef CMD_SOURCE_CHOICE_H
#define CMD_SOURCE_CHOICE_H

#include "profile/profile.h"

/* The index of the source that is called so. False after an error line that lists what
 * there is. */
bool source_choose(const char *command, const struct profile *profile, const char *name,
                   size_t *source);

/* The names of a profile's sources but the one at left_out, escaped, for messages;
 * gives list. */
const char *source_list(char *list, size_t size, const struct profile *profile,
                        size_t left_out);

#endif
