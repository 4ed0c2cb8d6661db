/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include "report/formats.h"

#include <string.h>

static const char *const KEY_NAMES[] = {
    [REPORT_BY_FUNCTION] = "function", [REPORT_BY_IMAGE] = "image",
    [REPORT_BY_ADDRESS] = "address",   [REPORT_BY_PROCESS] = "process",
    [REPORT_BY_SOURCE] = "source",     [REPORT_BY_LINE] = "line",
};

bool
report_key_parse(const char *text, enum report_key *key)
{
    for (size_t i = 0; i < sizeof(KEY_NAMES) / sizeof(KEY_NAMES[0]); i++) {
        if (strcmp(text, KEY_NAMES[i]) == 0) {
            *key = (enum report_key)i;
            return true;
        }
    }
    return false;
}

const char *
report_key_name(enum report_key key)
{
    return KEY_NAMES[key];
}

size_t
report_rows_shown(const struct report_options *options, size_t count)
{
    return options->rows == 0 || options->rows > count ? count : options->rows;
}

static bool
print_groups(FILE *out, const struct profile *profile,
             const struct report_groups *groups, const struct report_options *options)
{
    switch (options->format) {
    case REPORT_JSON:
        return report_print_json(out, profile, groups, options);
    case REPORT_CSV:
        return report_print_csv(out, profile, groups, options);
    case REPORT_TABLE:
        break;
    }
    return report_print_table(out, profile, groups, options);
}

bool
report_print(FILE *out, const struct profile *profile,
             const struct report_options *options)
{
    struct report_groups groups;
    const bool done = report_group_rows(profile, options->key, &groups) &&
                      print_groups(out, profile, &groups, options);

    report_groups_finish(&groups);
    return done && fflush(out) == 0 && !ferror(out);
}
