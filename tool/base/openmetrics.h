/* SPDX-License-Identifier: MIT */
/*
 * openmetrics.h - writes the text format of OpenMetrics to a buffer.
 *
 * Texts are escaped as in every other output (text.h) before they get the escapes of
 * labels.
 */
#ifndef BASE_OPENMETRICS_H
#define BASE_OPENMETRICS_H

#include "base/buffer.h"

/*
 * Append the lines that introduce a family.
 *
 *   type  in: "counter" or "gauge"
 *   unit  in: what the name ends with; "": none
 */
void openmetrics_put_family(struct buffer *text, const char *name, const char *type,
                            const char *unit, const char *help);

/* Append key="value", after a comma unless it is the first behind '{'. */
void openmetrics_put_label(struct buffer *text, const char *key, const char *value);

/* Append a label whose value is escaped already (text.h). */
void openmetrics_put_escaped_label(struct buffer *text, const char *key,
                                   const struct buffer *value);

#endif
