/* SPDX-License-Identifier: MIT */
/* missing_names.h - how to get the names of images that were stripped. */
#ifndef CLI_MISSING_NAMES_H
#define CLI_MISSING_NAMES_H

#include "view/report/report.h"

/* For report_options.advise. An image gets advice if this machine has the file that was
 * profiled, by its build-id: one of a container, or of another machine, is of another
 * distribution's packages. */
void missing_names_advise(struct report_advice *list, size_t count);

#endif
