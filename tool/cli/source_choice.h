/* SPDX-License-Identifier: MIT */
/* source_choice.h - finds the source of a profile that -e names. */
#ifndef CLI_SOURCE_CHOICE_H
#define CLI_SOURCE_CHOICE_H

#include "profile/profile.h"

/* source_choose - find the index of the source with this name. Returns false after an
 * error line that lists the existing ones. */
bool source_choose(const char *command, const struct profile *profile, const char *name,
                   size_t *source);

/* source_list - write the escaped names of a profile's sources except the one at
 * left_out into list, for messages. Returns list. */
const char *source_list(char *list, size_t size, const struct profile *profile,
                        size_t left_out);

#endif
