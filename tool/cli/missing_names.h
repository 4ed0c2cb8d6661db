/* SPDX-License-Identifier: MIT */
/* missing_names.h - how to get the names of images that were stripped. */
#ifndef CLI_MISSING_NAMES_H
#define CLI_MISSING_NAMES_H

#include "view/report/report.h"

/* missing_names_advise - set the advice of each image in the list; for
 * report_options.advise. An image gets advice only if this machine has the file that
 * was profiled, by its build-id. Files of a container or of another machine get none:
 * they belong to packages of another distribution. */
void missing_names_advise(struct report_advice *list, size_t count);

#endif
