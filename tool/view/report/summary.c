/* SPDX-License-Identifier: MIT */
/* summary.c - puts the sentence together: hits taken and missing, why they are missing,
 * code without names, and what to do about it. */
#include "view/report/summary.h"

#include "base/arithmetic.h"
#include "base/text.h"
#include "profile/estimate.h"
#include "view/report/rates.h"
#include "view/report/runtimes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* From this percentage on, unfinished intervals distort a profile. */
#define UNFINISHED_PERCENT_MAX 5.0

static bool
starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* --- is all of it there? --- */

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

/* Whether hits in kernel mode were refused and their number is not known: `excluded`
 * is one for time only. limits say why, or that the user left the kernel out, which
 * nothing refused then. Probes have no hits in kernel mode. */
static bool
lacks_kernel(const struct profile *profile, const struct profile_source *source)
{
    static const char *const probes[] = {"breakpoint:", "uprobe:", "function:"};

    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        if (starts_with(source->name, probes[i])) {
            return false;
        }
    }
    return !source->kernel_included && !report_is_time(source) &&
           profile->limits != NULL && profile->limits[0] != '\0' &&
           strstr(profile->limits, PROFILE_USER_ONLY) == NULL;
}

bool
report_is_complete(const struct profile *profile, const struct profile_source *source)
{
    return !has_gaps(profile) && source->taken > 0 &&
           source->expected == source->taken && source->lost == 0 &&
           source->throttled == 0 && source->missed == 0 && source->unfinished == 0 &&
           source->excluded == 0 && !lacks_kernel(profile, source) &&
           (source->outside == 0 ||
            (source->user_left_out && source->outside_kernel == 0)) &&
           source->counted <= source->taken &&
           source->outside == source->taken - source->counted;
}

/* --- one line for all hits --- */

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
        const char *const rest = source->outside == 0 && has_gaps(profile)
                                     ? "all of what was followed"
                                     : "nothing lost";

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

static void
put_outside_part(struct buffer *line, const struct profile_source *source,
                 uint64_t hits, const char *where)
{
    if (hits > 0) {
        buffer_print(line, "; %" PRIu64 " hit%s (%.2f%%) %s", hits,
                     hits == 1 ? "" : "s", percent(hits, source->taken), where);
    }
}

/* Report hits that were taken and are in no row. */
static void
put_outside(struct buffer *line, const struct profile *profile,
            const struct profile_source *source)
{
    const bool region = report_is_region(profile);
    const uint64_t in_kernel = region ? 0 : source->outside_kernel;
    /* The warning then has the cause, in words of tool/record. */
    const bool explained =
        has_gaps(profile) && strstr(profile->gaps, PROFILE_GAP_MAPPING) != NULL;

    put_outside_part(line, source, source->outside - in_kernel,
                     source->user_left_out ? "in user mode, left out by --kernel"
                     : region    ? "outside of the region, left out by --region"
                     : explained ? "in no row"
                                 : "in no row: in code that moved or was not reported");
    put_outside_part(line, source, in_kernel,
                     "in kernel mode, in code whose place is not known");
}

/* Return how many hits are missing: lost, throttled or missed. */
static uint64_t
missing_of(const struct profile_source *source)
{
    uint64_t missing = source->lost;

    add_clamped(&missing, source->throttled);
    add_clamped(&missing, source->missed);
    return missing;
}

/* Whether all that was expected was taken, and what is in no row is outside. */
static bool
only_outside(const struct profile_source *source)
{
    return source->expected == source->taken && source->counted <= source->taken &&
           source->outside > 0 && source->outside == source->taken - source->counted;
}

/* Print "complete", or what is missing. */
static void
put_verdict(struct buffer *line, const struct profile *profile,
            const struct profile_source *source)
{
    const uint64_t missing = missing_of(source);

    if (report_is_complete(profile, source)) {
        buffer_append_text(line, ": complete");
        return;
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
    } else if (missing == 0 && lacks_kernel(profile, source)) {
        buffer_append_text(line, ": user mode only");
    } else if (missing == 0 && has_gaps(profile) && source->outside == 0) {
        buffer_append_text(line, ": all of what was followed");
    } else if (missing == 0 && only_outside(source)) {
        buffer_append_text(line, ": nothing lost");
    } else if (missing == 0 && source->taken > 0) {
        buffer_append_text(line, ": the statistics do not add up");
    }
    if (lacks_kernel(profile, source)) {
        buffer_append_text(line, "; hits in kernel mode are not counted");
    }
}

/* Append the number of hits of a source in a profile of another tool, which has no
 * statistics. */
static void
put_foreign(struct buffer *line, const struct profile_source *source, uint64_t total)
{
    text_escape(line, source->name);
    if (source->granted > 0 && !report_is_value(source)) {
        buffer_append_text(line, " ");
        report_put_granted(line, source);
    }
    buffer_print(line, "; %" PRIu64 " ", total);
    if (report_is_value(source)) {
        text_escape(line, source->unit);
    } else {
        buffer_append_text(line, total == 1 ? "hit" : "hits");
    }
    buffer_append_text(line, "; the file has no accounting of what is missing");
}

/* --- sources --- */

/* Report rates and all sums. */
static void
put_source_whole(struct buffer *line, const struct profile *profile,
                 const struct profile_source *source)
{
    text_escape(line, source->name);
    buffer_append_text(line, " ");
    report_put_rates(line, source);
    buffer_append_text(line, "; ");
    put_statistics(line, source);
    put_verdict(line, profile, source);
    put_outside(line, profile, source);
}

static void
put_hits(struct buffer *line, uint64_t hits)
{
    buffer_print(line, "%" PRIu64 " hit%s", hits, hits == 1 ? "" : "s");
}

/* Report hits that did not arrive: "13 hits missing (0.6 %)". */
static void
put_missing(struct buffer *line, const struct profile_source *source, uint64_t missing)
{
    const double share = percent(missing, source->expected);

    put_hits(line, missing);
    if (share > 0 && share < 0.05) {
        buffer_append_text(line, " missing (under 0.1 %), ");
    } else {
        buffer_print(line, " missing (%.1f %%), ", share);
    }
    buffer_print(line, "%" PRIu64 " taken", source->taken);
}

/* Report in a few words how many hits there are, and whether that is all. */
static void
put_source_short(struct buffer *line, const struct profile *profile,
                 const struct profile_source *source)
{
    const uint64_t missing = missing_of(source);
    const double unfinished = percent(source->unfinished, source->expected);
    const bool no_kernel = lacks_kernel(profile, source);

    if (missing > 0) {
        put_missing(line, source, missing);
    } else {
        const bool adds_up = source->counted <= source->taken &&
                             source->outside == source->taken - source->counted &&
                             (source->unfinished > 0 || source->excluded > 0 ||
                              source->expected == source->taken);

        buffer_append_text(line, report_is_complete(profile, source) ? "complete: "
                                 : source->excluded > 0 || no_kernel
                                     ? "user mode only: "
                                 : has_gaps(profile) ? "all of what was followed: "
                                 : adds_up           ? "nothing lost: "
                                           : "the statistics do not add up: ");
        put_hits(line, source->taken);
    }
    if (missing == 0 && source->unfinished > 0) {
        buffer_print(line,
                     unfinished < UNFINISHED_PERCENT_MAX
                         ? ", %.1f %% more cut short at the end of threads"
                         : ", but %.0f %% of the intervals ended with their threads: "
                           "short-lived ones need a shorter interval",
                     unfinished);
    } else if (source->excluded > 0) {
        buffer_print(line,
                     "; %" PRIu64
                     " in kernel mode, or cut short at the end of threads, not seen",
                     source->excluded);
    }
    if (no_kernel) {
        buffer_append_text(line, "; those in kernel mode are not counted");
    }
    put_outside(line, profile, source);
}

static void
put_source(struct buffer *line, const struct profile *profile, size_t at,
           uint64_t total, bool verbose)
{
    const struct profile_source *const source = &profile->sources[at];

    if (!report_has_statistics(profile, source, total)) {
        put_foreign(line, source, total);
    } else if (verbose) {
        put_source_whole(line, profile, source);
    } else {
        if (source->part_count > 0) {
            /* Shares are then not those of the hits that the table shows. */
            text_escape(line, source->name);
            buffer_append_text(line, " ");
            report_put_granted(line, source);
            buffer_append_text(line, "; ");
        } else if (profile->source_count > 1 || !report_is_time(source)) {
            text_escape(line, source->name);
            buffer_append_text(line, ": ");
        }
        put_source_short(line, profile, source);
    }
}

/* --- notes --- */

/* Append the back end and its limits. With verbose they start the line of the sources:
 * "HAL (LIMITS): ". Otherwise they are a line of their own, and only if there are
 * limits: "ntprof: HAL: LIMITS". */
static void
put_back_end(struct buffer *line, const struct profile *profile, bool verbose)
{
    const bool limited = profile->limits != NULL && profile->limits[0] != '\0';

    if (profile->hal == NULL || profile->hal[0] == '\0' || (!limited && !verbose)) {
        return;
    }
    buffer_append_text(line, verbose ? "" : "ntprof: ");
    text_escape(line, profile->hal);
    if (limited) {
        buffer_append_text(line, verbose ? " (" : ": ");
        text_escape(line, profile->limits);
        buffer_append_text(line, verbose ? ")" : "");
    }
    buffer_append_text(line, verbose ? ": " : "\n");
}

/* Whether every event is a hit: then few hits are no sample that could be larger. */
static bool
is_every_event(const struct profile_source *source)
{
    return !report_is_time(source) && source->part_count == 0 && source->granted == 1;
}

/* Warn of too few hits; of sums of another tool's values and of sources of which every
 * event is a hit, only if there are none. */
static void
put_warning(struct buffer *line, const struct profile *profile,
            const struct profile_source *source, uint64_t total)
{
    const char *const finer =
        report_is_time(source) ? " or with a higher -F" : " or with a smaller -c";

    if (total >= REPORT_FEW_HITS ||
        (total > 0 && (report_is_value(source) || is_every_event(source)))) {
        return;
    }
    buffer_append_text(line, "ntprof: warning: ");
    if (total == 0) {
        buffer_append_text(line, "no hits of ");
    } else {
        buffer_print(line, "only %" PRIu64 " hit%s of ", total, total > 1 ? "s" : "");
    }
    text_escape(line, source->name);
    if (is_every_event(source)) {
        buffer_append_text(line, "\n");
        return;
    }
    buffer_append_text(line, ": too few hits to mean anything");
    if (has_gaps(profile) && strstr(profile->gaps, PROFILE_CHILDREN_RUN) != NULL) {
        /* More time would show no more: those that work were named. */
        buffer_append_text(line, "\n");
        return;
    }
    buffer_print(line, ": run longer%s\n",
                 report_has_statistics(profile, source, total) ? finer : "");
}

/* Hits of the first source without a function, by image. */
struct unnamed {
    uint64_t *hits;
    uint64_t total;
    size_t most_at; /* the image with the most of them */
};

/* Count the hits of the first source without a function, by image. Returns false if
 * memory runs out. */
static bool
count_unnamed(const struct profile *profile, struct unnamed *unnamed)
{
    *unnamed = (struct unnamed){
        .hits = calloc(profile->image_count + 1, sizeof(*unnamed->hits))};
    for (size_t i = 0; unnamed->hits != NULL && i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        if (profile->functions[row->function].name[0] != '\0' ||
            __builtin_add_overflow(unnamed->total, row->hits[0], &unnamed->total)) {
            continue;
        }
        unnamed->hits[row->image] += row->hits[0];
        if (unnamed->hits[row->image] > unnamed->hits[unnamed->most_at]) {
            unnamed->most_at = row->image;
        }
    }
    return unnamed->hits != NULL;
}

/* Only this many rows are searched for a function. */
enum { FIRST_ROWS = 5 };

/* Functions are usually aligned to 16 bytes, so larger buckets may contain several. */
enum { BUCKET_OF_ONE_FUNCTION_BYTES = 16 };

/* Print why code that processes made has no names, and what would name it. Names of
 * such images, and the words about perf maps in gaps, are those of tool/record. */
static void
put_unnamed_code(struct buffer *line, const struct profile *profile, size_t at)
{
    const struct profile_image *const image = &profile->images[at];
    const char *option;

    if (!runtimes_find_option(profile, at, &option)) {
        line->failed = true;
    } else if (image->named) {
        buffer_append_text(line, ": its perf map does not name them\n");
    } else if (strcmp(image->path, "[anon:other]") == 0) {
        buffer_append_text(line,
                           ": code of more processes than are distinguished has no "
                           "names\n");
    } else if (has_gaps(profile) && strstr(profile->gaps, "perf map") != NULL) {
        buffer_append_text(line, ": the warning says why a perf map was not read\n");
    } else if (option != NULL) {
        buffer_print(line, ": it has no perf map, /tmp/perf-PID.map: %s\n", option);
    } else {
        buffer_append_text(line, ": it has no perf map, /tmp/perf-PID.map, which many "
                                 "runtimes write if asked to\n");
    }
}

/* --- hits without names --- */

/* Print why an image that was not stripped has no names, from the colon on. Returns
 * false if it was stripped. */
static bool
put_reason(struct buffer *line, const struct profile *profile,
           const struct profile_image *image)
{
    if (starts_with(image->path, "[anon:") &&
        strstr(image->path, ":path-too-long") != NULL) {
        buffer_append_text(line,
                           ": Linux does not report which file has a path of more "
                           "than 4000 bytes, use a shorter one\n");
    } else if (starts_with(image->path, "[anon:")) {
        put_unnamed_code(line, profile, (size_t)(image - profile->images));
    } else if (strcmp(image->path, "[kernel]") == 0 && !image->named) {
        buffer_append_text(line, ": /proc/kallsyms had no addresses for the caller "
                                 "(kernel.kptr_restrict, CAP_SYSLOG)\n");
    } else if (image->named && profile->bucket_bytes > BUCKET_OF_ONE_FUNCTION_BYTES) {
        buffer_append_text(line, ": no function is at an end of its buckets, record "
                                 "with a smaller --bucket\n");
    } else if (image->build_id[0] == '\0') {
        buffer_append_text(line, ": it could not be read, or has neither symbols nor a "
                                 "build-id\n");
    } else {
        return false;
    }
    return true;
}

/* Ask for advice on the stripped images with the most unnamed hits, the one with the
 * most first. Returns how many. */
static size_t
ask_for_advice(const struct profile *profile, const struct unnamed *unnamed,
               uint64_t total, report_advise *advise, struct report_advice *list)
{
    size_t count = 0;

    list[count++].image = &profile->images[unnamed->most_at];
    for (size_t i = 0; i < profile->image_count && count < REPORT_ADVICES_MAX; i++) {
        const struct profile_image *const image = &profile->images[i];

        if (i != unnamed->most_at && image->path[0] == '/' &&
            image->build_id[0] != '\0' && !starts_with(image->path, "/memfd:") &&
            percent(unnamed->hits[i], total) >= REPORT_ADVICE_PERCENT) {
            list[count++].image = image;
        }
    }
    advise(list, count);
    return count;
}

/* Print what adds the names to a profile. */
static void
put_later(struct buffer *line, const char *server)
{
    buffer_append_text(
        line, "ntprof: once they are there, ntprof report --symbolize adds names to a "
              "profile");
    if (server[0] != '\0') {
        buffer_append_text(line, "; with --debuginfod=");
        text_escape(line, server);
        buffer_append_text(line, " it gets them from a server");
    }
    buffer_append_text(line, "\n");
}

/* Print what was advised for stripped images, from the colon of the first one on. */
static void
put_advice(struct buffer *line, const struct profile *profile,
           const struct unnamed *unnamed, uint64_t total, report_advise *advise)
{
    struct report_advice list[REPORT_ADVICES_MAX] = {{NULL, "", ""}};
    const size_t count =
        advise != NULL ? ask_for_advice(profile, unnamed, total, advise, list) : 0;
    const char *server = NULL; /* NULL: there was no advice; else the first, or "" */

    buffer_append_text(line, ": its symbols were stripped");
    buffer_append_text(line, list[0].text[0] == '\0' ? ", install its debug package\n"
                                                     : "; ");
    for (size_t i = 0; i < count; i++) {
        if (list[i].text[0] == '\0') {
            continue;
        }
        if (i > 0) {
            const size_t at = (size_t)(list[i].image - profile->images);

            buffer_print(line, "ntprof: %.0f%% are in ",
                         percent(unnamed->hits[at], total));
            display_image(list[i].image, line);
            buffer_append_text(line, ", stripped too; ");
        }
        text_escape(line, list[i].text);
        buffer_append_text(line, "\n");
        server = server == NULL || server[0] == '\0' ? list[i].server : server;
    }
    if (server != NULL) {
        put_later(line, server);
    }
}

/* If many rows are bare addresses, print how to get names for them. */
static void
put_unnamed(struct buffer *line, const struct profile *profile, uint64_t total,
            report_advise *advise)
{
    struct unnamed unnamed;

    if (total < REPORT_FEW_HITS || profile->image_count == 0) {
        return;
    }
    if (!count_unnamed(profile, &unnamed)) {
        line->failed = true;
        return;
    }
    if (percent(unnamed.total, total) >= REPORT_UNNAMED_PERCENT) {
        const struct profile_image *const image = &profile->images[unnamed.most_at];

        buffer_print(line, "ntprof: %.0f%% of the hits have no names, most of them in ",
                     percent(unnamed.total, total));
        display_image(image, line);
        if (!put_reason(line, profile, image)) {
            put_advice(line, profile, &unnamed, total, advise);
        }
    }
    free(unnamed.hits);
}

/* --- what a reader may take wrongly --- */

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

/* Whether code of files has names, and no line is known of any. */
static bool
lacks_lines(const struct profile *profile)
{
    bool named = false;

    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        if (row->line != 0) {
            return false;
        }
        named = named || (profile->images[row->image].path[0] == '/' &&
                          profile->functions[row->function].name[0] != '\0');
    }
    return named;
}

/* Print why the column of lines, or of inlined code, is empty. */
static void
put_no_lines(struct buffer *line, const struct report_groups *groups)
{
    const struct profile *const profile = groups->profile;

    if (profile->bucket_bytes != 0 &&
        (report_groups_by(groups, REPORT_BY_LINE) ||
         report_groups_by(groups, REPORT_BY_INLINE)) &&
        lacks_lines(profile)) {
        buffer_append_text(line, "ntprof: no lines are stored: ");
        if (profile->symbolized) {
            buffer_append_text(line, "no debug information was found\n");
            return;
        }
        buffer_print(line,
                     "it was recorded with --no-lines, or without debug information; "
                     "ntprof %s adds what there is now\n",
                     profile->of_store ? "store symbolize" : "report --symbolize");
    }
}

/* Whether a function of Linux, or a part of one, enables interrupts. */
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
 * interrupt is delayed while the kernel has them disabled. Of other tools' profiles,
 * which name no back end, the clock is not known. */
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

/* --- the summary --- */

bool
report_print_summary(FILE *out, const struct profile *profile,
                     const struct report_groups *groups, report_advise *advise,
                     bool verbose)
{
    struct buffer line = {0};
    bool done;

    if (!verbose && profile->source_count > 0) {
        put_back_end(&line, profile, /* verbose */ false);
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        buffer_append_text(&line, "ntprof: ");
        if (verbose && i == 0) {
            put_back_end(&line, profile, /* verbose */ true);
        }
        put_source(&line, profile, i, report_total(groups, i).hits, verbose);
        buffer_append_text(&line, "\n");
    }
    if (has_gaps(profile)) {
        buffer_append_text(&line, "ntprof: warning: ");
        text_escape(&line, profile->gaps);
        buffer_append_text(&line, "\n");
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        const uint64_t total = report_total(groups, i).hits;

        if (report_has_statistics(profile, &profile->sources[i], total)) {
            report_put_rate_warnings(&line, profile, &profile->sources[i], verbose);
        }
        put_warning(&line, profile, &profile->sources[i], total);
    }
    put_wide_buckets(&line, groups);
    put_no_lines(&line, groups);
    put_enabling(&line, groups);
    if (profile->source_count > 0) {
        put_unnamed(&line, profile, groups->totals[0], advise);
        if (groups->totals[0] >= REPORT_FEW_HITS) {
            runtimes_put_scripts(&line, profile, groups->totals[0]);
        }
    }
    done = !line.failed;
    if (done && line.size > 0) {
        fwrite(line.data, 1, line.size, out);
    }
    buffer_finish(&line);
    return done;
}
