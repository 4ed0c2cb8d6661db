/* SPDX-License-Identifier: MIT */
/* openmetrics.c - writes the text format of OpenMetrics to a buffer. */
#include "base/openmetrics.h"

#include "base/json.h"
#include "base/text.h"

void
openmetrics_put_family(struct buffer *text, const char *name, const char *type,
                       const char *unit, const char *help)
{
    buffer_print(text, "# TYPE %s %s\n", name, type);
    if (unit[0] != '\0') {
        buffer_print(text, "# UNIT %s %s\n", name, unit);
    }
    buffer_print(text, "# HELP %s %s\n", name, help);
}

void
openmetrics_put_escaped_label(struct buffer *text, const char *key,
                              const struct buffer *value)
{
    const bool first = text->size > 0 && text->data[text->size - 1] == '{';

    buffer_print(text, "%s%s=", first ? "" : ",", key);
    /* Without control characters in it, a label is escaped as a string of JSON. */
    json_put_escaped(text, value);
}

void
openmetrics_put_label(struct buffer *text, const char *key, const char *value)
{
    struct buffer escaped = {0};

    text_escape(&escaped, value);
    openmetrics_put_escaped_label(text, key, &escaped);
    buffer_finish(&escaped);
}
