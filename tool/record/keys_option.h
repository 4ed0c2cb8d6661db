/* SPDX-License-Identifier: MIT */
/* keys_option.h - the option --by, of commands that record and of those that show. */
#ifndef RECORD_KEYS_OPTION_H
#define RECORD_KEYS_OPTION_H

#include "base/options.h"
#include "profile/grouping.h"

/* Take it into report_keys: of one profile, or of two that are compared, which are
 * not compared by source. */
options_take_one keys_option_take;
options_take_one keys_option_take_compared;

#endif
