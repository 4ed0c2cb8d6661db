/* SPDX-License-Identifier: MIT */
/* input.c - see input.h. */
#include "cmd/input.h"

#include "store/store.h"

struct profile *
input_read(const char *word, struct pprof_error *error)
{
    return store_is_url(word) ? store_read_url(word, error) : pprof_read(word, error);
}
