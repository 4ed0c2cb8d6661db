/* SPDX-License-Identifier: MIT */
/* top_store.h - the options of ntprof top for a store. */
#ifndef CLI_TOP_STORE_H
#define CLI_TOP_STORE_H

#include "top/store.h"

/* top_store_is_named - return whether a word of the command line is a store's URL. */
bool top_store_is_named(int argc, char **argv);

/* top_store_take - read the command line. Returns as record_options_take does;
 * top_store_finish must be called in any case. */
bool top_store_take(struct top_store *store, int argc, char **argv, int *exit_status);

#endif
