/* SPDX-License-Identifier: MIT */
/* report.c - checks that a profile has what the options ask for, groups its rows, and
 * prints them in the format chosen. */
#include "view/report/report.h"

#include "base/text.h"
#include "profile/filter.h"
#include "profile/group.h"
#include "profile/match.h"
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

/* Whether any row has a thread, a unit, a process id or a processor, depending on key,
 * or there are no rows. */
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
        const char *why_of_store;
    } needs[] = {
        {REPORT_BY_THREAD,
         "--by thread: the profile has no threads; record it with --threads, as in: "
         "ntprof run --threads -- COMMAND",
         "--by thread: stores keep no threads; files of recordings with --threads do"},
        {REPORT_BY_PID,
         "--by pid: the profile has no process ids; record it with --threads, as in: "
         "ntprof run --threads -- COMMAND; or use --by process",
         "--by pid: stores keep no process ids; use --by process"},
        {REPORT_BY_UNIT,
         "--by unit: the profile has no units: those of ntprof agent have, and stores "
         "of them",
         "--by unit: nothing selected has units: profiles of ntprof agent have them"},
        {REPORT_BY_CPU,
         "--by cpu: the profile has no processors; record it with --per cpu, as in: "
         "ntprof run --per cpu -- COMMAND",
         "--by cpu: stores keep no processors; files of recordings with --per cpu do"},
    };

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        if (report_has_key(&options->by.keys, needs[i].key) &&
            !has_data_for(profile, needs[i].key)) {
            snprintf(why, size, "%s",
                     profile->of_store ? needs[i].why_of_store : needs[i].why);
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
    const bool on_stacks = report_shows_totals(profile, &options->by);

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
    const bool any = options->by.filter_count == 0 ||
                     (done && row_filter_passes_any(
                                  &filter, report_shows_totals(profile, &options->by)));

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

/* --- callers and callees --- */

static const char *
relation_option(const struct report_options *options)
{
    return options->by.relation.kind == REPORT_CALLERS ? "--callers-of"
                                                       : "--callees-of";
}

/* Return whether a function matches, which is then only there by inline: none matches
 * of those that have the machine code on a stack. */
static bool
matches_inlined(const struct profile *profile, const char *glob)
{
    struct buffer scratch = {0};
    bool matched = false;

    for (size_t i = 1; i < profile->function_count && !matched; i++) {
        matched =
            match_function(glob, &profile->functions[i], /* image */ NULL, &scratch);
    }
    buffer_finish(&scratch);
    return matched;
}

/* Check that a function with the name is on a stack, of hits that pass the filters. */
static bool
check_relation(const struct profile *profile, const struct report_options *options,
               char *why, size_t size)
{
    const char *const glob = options->by.relation.glob;
    struct report_groups groups;
    char shown[128];
    const bool done = report_group_rows(profile, &options->by, &groups);
    const bool any = done && groups.count > 0;

    report_groups_finish(&groups);
    if (!done) {
        snprintf(why, size, "out of memory");
    } else if (!any && options->by.filter_count > 0) {
        snprintf(why, size, "%s %s: no hits that the filters let through",
                 relation_option(options), text_show(shown, sizeof(shown), glob));
    } else if (!any) {
        snprintf(
            why, size, "%s %s: no function on a stack matches; to see them: --by %s",
            relation_option(options), text_show(shown, sizeof(shown), glob),
            matches_inlined(profile, glob) ? "inline (it is the name of inlined code)"
                                           : "function");
    }
    return any;
}

bool
report_check_stacks(const struct profile *profile, const char *option, char *why,
                    size_t size)
{
    if (!profile_has_stacks(profile)) {
        snprintf(why, size, "%s: %s", option,
                 profile->of_store
                     ? "stores keep no stacks; files of recordings with -g do"
                     : "the profile has no stacks; record it with -g, as in: "
                       "ntprof run -g -- COMMAND");
    }
    return profile_has_stacks(profile);
}

bool
report_check(const struct profile *profile, const struct report_options *options,
             char *why, size_t size)
{
    if (!check_keys(profile, options, why, size)) {
        return false;
    }
    if (options->by.relation.glob != NULL) {
        return report_check_stacks(profile, relation_option(options), why, size) &&
               check_relation(profile, options, why, size);
    }
    return check_filters(profile, options, why, size) &&
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
