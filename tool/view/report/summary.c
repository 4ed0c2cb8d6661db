/* SPDX-License-Identifier: MIT */
#include "view/report/summary.h"

#include "base/text.h"
#include "profile/estimate.h"
#include "view/report/rates.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* From this percentage on, unfinished intervals distort a profile. */
#define UNFINISHED_PERCENT_MAX 5.0

bool
report_has_statistics(const struct profile *profile,
                      const struct profile_source *source, uint64_t total)
{
    /* Without hits, only the back end distinguishes our profiles from those of other
     * tools. */
    return source->expected > 0 || source->taken > 0 ||
           (total == 0 && profile->hal != NULL && profile->hal[0] != '\0');
}

static bool
has_gaps(const struct profile *profile)
{
    return profile->gaps != NULL && profile->gaps[0] != '\0';
}

bool
report_is_region(const struct profile *profile)
{
    return profile->limits != NULL &&
           strstr(profile->limits, PROFILE_REGION_ONLY) != NULL;
}

bool
report_is_complete(const struct profile *profile, const struct profile_source *source)
{
    return !has_gaps(profile) && source->taken > 0 &&
           source->expected == source->taken && source->lost == 0 &&
           source->throttled == 0 && source->missed == 0 && source->unfinished == 0 &&
           source->excluded == 0 && (source->outside == 0 || source->user_left_out) &&
           source->counted <= source->taken &&
           source->outside == source->taken - source->counted;
}

static void
put_part(struct buffer *line, const char *name, uint64_t hits)
{
    if (hits > 0) {
        buffer_print(line, ", %s %" PRIu64, name, hits);
    }
}

static void
put_statistics(struct buffer *line, const struct profile_source *source)
{
    buffer_print(line,
                 "expected %" PRIu64 ", taken %" PRIu64 ", outside %" PRIu64
                 ", lost %" PRIu64,
                 source->expected, source->taken, source->outside, source->lost);
    put_part(line, "throttled", source->throttled);
    put_part(line, "missed", source->missed);
    put_part(line, "unfinished", source->unfinished);
}

static double
percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part * 100 / (double)whole : 0;
}

/* Report that nothing is missing except intervals that ended with their threads. */
static void
put_unfinished(struct buffer *line, const struct profile *profile,
               const struct profile_source *source)
{
    const double share = percent(source->unfinished, source->expected);

    if (share < UNFINISHED_PERCENT_MAX) {
        const char *const rest = source->outside > 0 ? "nothing lost"
                                 : has_gaps(profile) ? "all of what was followed"
                                                     : "complete";

        buffer_print(line, ": %s but for %" PRIu64 " cut short at the end of threads",
                     rest, source->unfinished);
    } else {
        buffer_print(
            line,
            ": nothing lost, but %.0f%% of the intervals ended with their threads: "
            "short-lived ones need a shorter interval",
            share);
    }
}

/* Report hits that were taken and are in no row. */
static void
put_outside(struct buffer *line, const struct profile *profile,
            const struct profile_source *source)
{
    const char *const where = source->user_left_out
                                  ? "in user mode, left out by --kernel"
                              : report_is_region(profile)
                                  ? "outside of the region, left out by --region"
                                  : "in no row: in code that moved or was not reported";

    if (source->outside > 0) {
        buffer_print(line, "; %" PRIu64 " hit%s (%.2f%%) %s", source->outside,
                     source->outside == 1 ? "" : "s",
                     percent(source->outside, source->taken), where);
    }
}

/* Print "complete", or what is missing. */
static void
put_verdict(struct buffer *line, const struct profile *profile,
            const struct profile_source *source)
{
    uint64_t missing = source->lost;

    if (report_is_complete(profile, source)) {
        buffer_append_text(line, ": complete");
        return;
    }
    if (__builtin_add_overflow(missing, source->throttled, &missing) ||
        __builtin_add_overflow(missing, source->missed, &missing)) {
        missing = UINT64_MAX;
    }
    if (missing > 0) {
        buffer_print(line, ": %" PRIu64 " hit%s missing (%.2f%%)", missing,
                     missing == 1 ? "" : "s", percent(missing, source->expected));
    }
    if (missing == 0 && source->unfinished > 0) {
        put_unfinished(line, profile, source);
    } else if (source->excluded > 0) {
        /* Without the kernel's hits these two cases cannot be distinguished. */
        buffer_print(
            line,
            "%s user mode only: %" PRIu64
            " hits in kernel mode, or cut short at the end of threads, not seen",
            missing > 0 ? ";" : ":", source->excluded);
    } else if (missing == 0 && has_gaps(profile) && source->outside == 0) {
        buffer_append_text(line, ": all of what was followed");
    } else if (missing == 0 && source->expected == source->taken &&
               source->counted <= source->taken && source->outside > 0 &&
               source->outside == source->taken - source->counted) {
        buffer_append_text(line, ": nothing lost");
    } else if (missing == 0 && source->taken > 0) {
        buffer_append_text(line, ": the statistics do not add up");
    }
}

static void
put_source(struct buffer *line, const struct profile *profile,
           const struct profile_source *source, uint64_t total)
{
    text_escape(line, source->name);
    if (!report_has_statistics(profile, source, total)) {
        if (source->granted > 0) {
            buffer_append_text(line, " ");
            report_put_interval(line, source, (double)source->granted);
        }
        buffer_print(
            line, "; %" PRIu64 " hit%s; the file has no accounting of what is missing",
            total, total == 1 ? "" : "s");
        return;
    }
    buffer_append_text(line, " ");
    report_put_rates(line, source);
    buffer_append_text(line, "; ");
    put_statistics(line, source);
    put_verdict(line, profile, source);
    put_outside(line, profile, source);
}

static void
put_back_end(struct buffer *line, const struct profile *profile)
{
    if (profile->hal == NULL || profile->hal[0] == '\0') {
        return;
    }
    text_escape(line, profile->hal);
    if (profile->limits != NULL && profile->limits[0] != '\0') {
        buffer_append_text(line, " (");
        text_escape(line, profile->limits);
        buffer_append_text(line, ")");
    }
    buffer_append_text(line, ": ");
}

static void
put_warning(struct buffer *line, const struct profile *profile,
            const struct profile_source *source, uint64_t total)
{
    const char *const finer =
        report_is_time(source) ? " or with a higher -F" : " or with a smaller -c";

    if (total >= REPORT_FEW_HITS) {
        return;
    }
    buffer_append_text(line, "ntprof: warning: ");
    if (total == 0) {
        buffer_append_text(line, "no hits of ");
    } else {
        buffer_print(line, "only %" PRIu64 " hit%s of ", total, total > 1 ? "s" : "");
    }
    text_escape(line, source->name);
    buffer_print(line, ": too few hits to mean anything: run longer%s\n",
                 report_has_statistics(profile, source, total) ? finer : "");
}

/* Count the hits of the first source without a function; *most_at is the image with the
 * most of them. Returns false if memory runs out. */
static bool
count_unnamed(const struct profile *profile, uint64_t *unnamed, size_t *most_at)
{
    uint64_t *const hits = calloc(profile->image_count + 1, sizeof(*hits));

    *unnamed = 0;
    *most_at = 0;
    for (size_t i = 0; hits != NULL && i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        if (row->function != 0 ||
            __builtin_add_overflow(*unnamed, row->hits[0], unnamed)) {
            continue;
        }
        hits[row->image] += row->hits[0];
        if (hits[row->image] > hits[*most_at]) {
            *most_at = row->image;
        }
    }
    free(hits);
    return hits != NULL;
}

/* Only this many rows are searched for a function. */
enum { FIRST_ROWS = 5 };

/* Functions are usually aligned to 16 bytes, so larger buckets may contain several. */
enum { BUCKET_OF_ONE_FUNCTION_BYTES = 16 };

static bool
starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* If many rows are bare addresses, print how to get names for them. */
static void
put_unnamed(struct buffer *line, const struct profile *profile, uint64_t total)
{
    const struct profile_image *image;
    uint64_t unnamed;
    size_t most_at;

    if (total < REPORT_FEW_HITS || profile->image_count == 0) {
        return;
    }
    if (!count_unnamed(profile, &unnamed, &most_at)) {
        line->failed = true;
        return;
    }
    if (percent(unnamed, total) < REPORT_UNNAMED_PERCENT) {
        return;
    }
    image = &profile->images[most_at];
    buffer_print(line, "ntprof: %.0f%% of the hits have no names, most of them in ",
                 percent(unnamed, total));
    report_image_name(image, line);
    if (starts_with(image->path, "[anon:") &&
        strstr(image->path, ":path-too-long") != NULL) {
        buffer_append_text(line,
                           ": Linux does not report which file has a path of more "
                           "than 4000 bytes, use a shorter one\n");
    } else if (starts_with(image->path, "[anon:")) {
        buffer_append_text(line, ": no perf map of it was read; a JIT writes one, such "
                                 "as node with --perf-basic-prof\n");
    } else if (strcmp(image->path, "[kernel]") == 0 && !image->named) {
        buffer_append_text(line, ": /proc/kallsyms had no addresses for the caller "
                                 "(kernel.kptr_restrict, CAP_SYSLOG)\n");
    } else if (starts_with(image->path, "/memfd:")) {
        buffer_append_text(line,
                           ": it is memory that a program put code into (a memfd), "
                           "which has no symbols\n");
    } else if (image->named && profile->bucket_bytes > BUCKET_OF_ONE_FUNCTION_BYTES) {
        buffer_append_text(line, ": no function is at an end of its buckets, record "
                                 "with a smaller --bucket\n");
    } else if (image->build_id[0] == '\0') {
        buffer_append_text(line, ": it could not be read, or has neither symbols nor a "
                                 "build-id\n");
    } else {
        buffer_append_text(line,
                           ": its symbols were stripped, install its debug package\n");
    }
}

static void
put_wide_buckets(struct buffer *line, const struct report_groups *groups)
{
    if (groups->profile->bucket_bytes > BUCKET_OF_ONE_FUNCTION_BYTES &&
        (report_groups_by(groups, REPORT_BY_FUNCTION) ||
         report_groups_by(groups, REPORT_BY_LINE))) {
        buffer_print(
            line,
            "ntprof: a bucket of %" PRIu32
            " bytes may hold several functions: its hits are reported as those "
            "of one\n",
            groups->profile->bucket_bytes);
    }
}

/* Prefixes of Linux functions that enable interrupts. */
static bool
enables_interrupts(const char *function)
{
    static const char *const names[] = {
        "_raw_spin_unlock_irqrestore",
        "_raw_spin_unlock_irq",
        "__raw_spin_unlock_irqrestore",
        "__raw_spin_unlock_irq",
        "finish_task_switch",
        "handle_softirqs",
        "__do_softirq",
        "pvm_irq_enable",
        "pv_native_irq_enable",
        "native_irq_enable",
        "xen_irq_enable_direct",
        "arch_local_irq_enable",
        "arch_local_irq_restore",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t length = strlen(names[i]);

        /* The compiler splits functions into parts such as
         * finish_task_switch.isra.0. */
        if (strncmp(function, names[i], length) == 0 &&
            (function[length] == '\0' || function[length] == '.')) {
            return true;
        }
    }
    return false;
}

/* Explain hits of functions that enable interrupts: the clock is in software, so its
 * interrupt is delayed while the kernel has them disabled. */
static void
put_enabling(struct buffer *line, const struct report_groups *groups)
{
    const struct profile *const profile = groups->profile;

    if (profile->source_count == 0 || !report_is_time(&profile->sources[0]) ||
        profile->hal == NULL || profile->hal[0] == '\0') {
        return;
    }
    for (size_t i = 0; i < groups->count && i < FIRST_ROWS; i++) {
        const struct report_group *const group = &groups->groups[i];

        if (group->function != NULL && strcmp(group->image->path, "[kernel]") == 0 &&
            report_group_hits(groups, group, 0) > 0 &&
            enables_interrupts(group->function->name)) {
            buffer_append_text(line, "ntprof: time with interrupts disabled shows at ");
            text_escape(line, group->function->name);
            buffer_append_text(line, ", which enables them: the clock's interrupt "
                                     "waits until then\n");
            return;
        }
    }
}

bool
report_print_summary(FILE *out, const struct profile *profile,
                     const struct report_groups *groups)
{
    struct buffer line = {0};
    bool done;

    for (size_t i = 0; i < profile->source_count; i++) {
        buffer_append_text(&line, "ntprof: ");
        if (i == 0) {
            put_back_end(&line, profile);
        }
        put_source(&line, profile, &profile->sources[i], groups->totals[i]);
        buffer_append_text(&line, "\n");
    }
    if (has_gaps(profile)) {
        buffer_append_text(&line, "ntprof: warning: ");
        text_escape(&line, profile->gaps);
        buffer_append_text(&line, "\n");
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        if (report_has_statistics(profile, &profile->sources[i], groups->totals[i])) {
            report_put_rate_warnings(&line, profile, &profile->sources[i]);
        }
        put_warning(&line, profile, &profile->sources[i], groups->totals[i]);
    }
    put_wide_buckets(&line, groups);
    put_enabling(&line, groups);
    if (profile->source_count > 0) {
        put_unnamed(&line, profile, groups->totals[0]);
    }
    done = !line.failed;
    if (done && line.size > 0) {
        fwrite(line.data, 1, line.size, out);
    }
    buffer_finish(&line);
    return done;
}
