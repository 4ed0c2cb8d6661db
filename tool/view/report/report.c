/* SPDX-License-Identifier: MIT */
/* report.c - checks that a profile has what the options ask for, groups its rows, and
 * prints them in the format chosen. */
#include "view/report/report.h"

#include "base/text.h"
#include "profile/filter.h"
#include "profile/group.h"
#include "view/report/formats.h"

#include <stdio.h>
#include <string.h>

static uint32_t
data_of(const struct profile_row *row, enum report_key key)
{
    return key == REPORT_BY_THREAD ? row->thread
           : key == REPORT_BY_UNIT ? row->unit
           : key == REPORT_BY_PID  ? row->pid
                                   : row->cpu_plus_1;
}

/* Whether any row has a thread, a unit, a process id or a processor, depending on key.
 */
static bool
has_data_for(const struct profile *profile, enum report_key key)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        if (data_of(&profile->rows[i], key) != 0) {
            return true;
        }
    }
    return profile->row_count == 0;
}

/* Check that the profile has what its rows are to be grouped by. */
static bool
check_keys(const struct profile *profile, const struct report_options *options,
           char *why, size_t size)
{
    static const struct {
        enum report_key key;
        const char *why;
    } needs[] = {
        {REPORT_BY_THREAD,
         "--by thread: the profile has no threads; record it with --threads, as in: "
         "ntprof run --threads -- COMMAND"},
        {REPORT_BY_PID,
         "--by pid: the profile has no process ids; record it with --threads, as in: "
         "ntprof run --threads -- COMMAND; or use --by process"},
        {REPORT_BY_UNIT, "--by unit: the profile has no units: those of ntprof agent "
                         "have, and stores of them"},
        {REPORT_BY_CPU, "--by cpu: the profile has no processors; record it with --per "
                        "cpu, as in: ntprof run --per cpu -- COMMAND"},
    };

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        if (report_has_key(&options->by.keys, needs[i].key) &&
            !has_data_for(profile, needs[i].key)) {
            snprintf(why, size, "%s", needs[i].why);
            return false;
        }
    }
    return true;
}

/* Return the key by which a report shows the names that a filter can match. */
static const char *
view_of(const struct profile *profile, const struct report_filter *filter,
        bool on_stacks)
{
    static const struct report_keys by_inline = {{REPORT_BY_INLINE}, 1};
    bool matched;

    if (filter->kind != REPORT_FILTER_SYMBOL) {
        return filter_kind_name(filter->kind);
    }
    return filter_matches_any(profile, &by_inline, filter, on_stacks, &matched) &&
                   matched
               ? "inline (it is the name of inlined code)"
               : "function";
}

/* Check that each filter matches a name. */
static bool
check_filters(const struct profile *profile, const struct report_options *options,
              char *why, size_t size)
{
    const bool on_stacks = report_shows_totals(profile, &options->by.keys);

    for (size_t i = 0; i < options->by.filter_count; i++) {
        const struct report_filter *filter = &options->by.filters[i];
        const char *kind = filter_kind_name(filter->kind);
        char shown[128];
        bool matched;

        if (!filter_matches_any(profile, &options->by.keys, filter, on_stacks,
                                &matched)) {
            snprintf(why, size, "out of memory");
            return false;
        }
        if (!matched) {
            snprintf(why, size,
                     "--%s %s: no %s of the profile matches; to see them: --by %s",
                     kind, text_show(shown, sizeof(shown), filter->glob), kind,
                     view_of(profile, filter, on_stacks));
            return false;
        }
    }
    return true;
}

/* Check that any row passes all filters together. */
static bool
check_rows(const struct profile *profile, const struct report_options *options,
           char *why, size_t size)
{
    struct row_filter filter;
    bool done = row_filter_init(&filter, profile, &options->by);
    const bool any =
        options->by.filter_count == 0 ||
        (done && row_filter_passes_any(
                     &filter, report_shows_totals(profile, &options->by.keys)));

    done = done && !row_filter_failed(&filter);
    row_filter_finish(&filter);
    if (!done) {
        snprintf(why, size, "out of memory");
    } else if (!any) {
        snprintf(why, size,
                 "no hits in what the filters let through together "
                 "(--image, --process, --symbol)");
    }
    return done && any;
}

bool
report_check(const struct profile *profile, const struct report_options *options,
             char *why, size_t size)
{
    return check_keys(profile, options, why, size) &&
           check_filters(profile, options, why, size) &&
           check_rows(profile, options, why, size);
}

size_t
report_rows_shown(const struct report_options *options, size_t count)
{
    return options->rows == 0 || options->rows > count ? count : options->rows;
}

static bool
print_groups(FILE *out, const struct report_groups *groups,
             const struct report_options *options)
{
    if (options->ready != NULL) {
        options->ready();
    }
    switch (options->format) {
    case REPORT_JSON:
        return report_print_json(out, groups, options);
    case REPORT_CSV:
        return report_print_csv(out, groups, options);
    case REPORT_TABLE:
        break;
    }
    return report_print_table(out, groups, options);
}

bool
report_print(FILE *out, const struct profile *profile,
             const struct report_options *options)
{
    struct report_groups groups;
    const bool done = report_group_rows(profile, &options->by, &groups) &&
                      report_groups_add_outside(&groups) &&
                      print_groups(out, &groups, options);

    report_groups_finish(&groups);
    return done && fflush(out) == 0 && !ferror(out);
}
