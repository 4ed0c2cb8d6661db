/* SPDX-License-Identifier: MIT */
/* runtimes.h - what runtimes and interpreters can do to have their functions named.
 * Only files beside it include it. */
#ifndef VIEW_REPORT_RUNTIMES_H
#define VIEW_REPORT_RUNTIMES_H

#include "base/buffer.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Find out how the runtime of an image's processes is made to write a perf map. Returns
 * false if memory runs out.
 *
 *   image   index of the image, code that its processes made
 *   option  out: text such as "start node with --perf-basic-prof"; NULL: the runtime is
 *           unknown
 */
bool runtimes_find_option(const struct profile *profile, size_t image,
                          const char **option);

/* If an interpreter has many of the first source's hits, of which there are total,
 * append a line that functions of its scripts are not seen, and what shows them. */
void runtimes_put_scripts(struct buffer *line, const struct profile *profile,
                          uint64_t total);

#endif
