/* SPDX-License-Identifier: MIT */
/* keys_option.h - the option --by, of commands that record and of those that show. */
#ifndef RECORD_KEYS_OPTION_H
#define RECORD_KEYS_OPTION_H

#include "base/options.h"
#include "profile/grouping.h"

/* Store the value of --by in a struct report_keys: keys_option_take for a table of one
 * profile, the other for one that compares two profiles, whose error line does not
 * offer the key source. */
options_take_one keys_option_take;
options_take_one keys_option_take_compared;

#endif
