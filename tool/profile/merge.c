/* SPDX-License-Identifier: MIT */
/*
 * merge.c - adds profiles up.
 *
 * Invariants: the first profile waits in first, and is added to sum when a second one
 * comes; so sum is NULL or has all profiles up to now. images finds the images of sum
 * by what identifies them.
 *
 * Each rule gives the same result for (a + b) + c and a + (b + c): tables keep the
 * order in which entries first occurred, sums are integers, and of two values that
 * cannot be added the one of the earlier profile is kept, or a third one that does not
 * depend on the order. Only which lines the rows of an address have that buckets of
 * several widths begin at may depend on it.
 */
#include "profile/merge.h"

#include "base/text.h"
#include "profile/image_join.h"
#include "profile/uses.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Separators of different texts that are joined. */
#define COMMAND_SEPARATOR " | "
#define HAL_SEPARATOR ", "
#define SENTENCE_SEPARATOR "; "

struct profile_merger {
    struct profile *first; /* the only profile so far; not in sum yet */
    struct profile *sum;
    uint64_t *totals;         /* sum of the hits of each source in sum */
    struct image_join images; /* of sum */
    bool labelled;            /* sum has labels of the first profile */
    struct pprof_error *error;
};

/* translation - by index in the current profile: index of the same entry in the sum. */
struct translation {
    uint32_t *sources, *images, *processes, *units, *threads;
    /* By kind of function (uses.h): the same function may be two in the sum. */
    uint32_t *functions[FUNCTION_KINDS], *frames[FUNCTION_KINDS];
    uint32_t *calls;
    struct profile_uses uses;
    uint64_t *shifts; /* by image: added to its addresses */
};

struct profile_merger *
profile_merger_new(void)
{
    return calloc(1, sizeof(struct profile_merger));
}

void
profile_merger_delete(struct profile_merger *merger)
{
    if (merger != NULL) {
        profile_delete(merger->first);
        profile_delete(merger->sum);
        image_join_finish(&merger->images);
        free(merger->totals);
        free(merger);
    }
}

/* Set the error. Returns false, so that callers can return its value. */
__attribute__((format(printf, 2, 3))) static bool
fail_sum(struct profile_merger *merger, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(merger->error->text, sizeof(merger->error->text), format, arguments);
    va_end(arguments);
    return false;
}

static bool
fail_memory(struct profile_merger *merger)
{
    return fail_sum(merger, "out of memory for the sum");
}

/* --- sources --- */

/* Report that of two sources with one name only one has a known interval. */
static bool
fail_unknown(struct profile_merger *merger, const struct profile_source *known,
             const struct profile_source *added)
{
    char shown[80];

    return fail_sum(
        merger,
        "its source %s has %s, those before have %s: such hits do not add up; "
        "merge files of one kind, or compare them with ntprof diff",
        text_show(shown, sizeof(shown), added->name),
        added->granted == 0 ? "an interval that is not known" : "an interval",
        known->granted == 0 ? "one that is not known" : "one");
}

/* Check that the hits of a source, and those of its name in the profiles before, stand
 * for something that adds up. */
static bool
check_source(struct profile_merger *merger, const struct profile *before,
             const struct profile_source *added)
{
    const struct profile_source *const known = profile_find_source(before, added->name);
    char shown[80];

    if (known == NULL) {
        return true;
    }
    if (strcmp(known->unit, added->unit) != 0) {
        return fail_sum(
            merger,
            "its source %s counts other units than those before: such hits do "
            "not add up",
            text_show(shown, sizeof(shown), added->name));
    }
    return (known->granted == 0) == (added->granted == 0) ||
           fail_unknown(merger, known, added);
}

static bool
check_sources(struct profile_merger *merger, const struct profile *added)
{
    const struct profile *const before =
        merger->sum != NULL ? merger->sum : merger->first;
    bool correct = true;

    for (size_t i = 0; correct && i < added->source_count; i++) {
        correct = check_source(merger, before, &added->sources[i]);
    }
    return correct;
}

/* Whether the sum has all sources of profile, which is required before rows are
 * added. */
static bool
contains_sources(const struct profile *sum, const struct profile *profile)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        if (profile_find_interval(sum, &profile->sources[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Add the sources of profile that the sum lacks, with empty statistics. */
static bool
declare_sources(struct profile_merger *merger, const struct profile *profile)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        const struct profile_source *from = &profile->sources[i];
        const struct profile_source declared = {
            .name = from->name,
            .nt_name = from->nt_name,
            .unit = from->unit,
            .kernel_included = from->kernel_included,
            .user_left_out = from->user_left_out,
            .asked = from->asked,
            .granted = from->granted,
        };
        uint32_t index;

        if (profile_find_interval(merger->sum, from) == NULL &&
            !profile_add_source(merger->sum, &declared, &index)) {
            return fail_memory(merger);
        }
    }
    return merger->sum->source_count <= PROFILE_SOURCES_MAX ||
           fail_sum(merger, "with those before it has more than %d sources",
                    PROFILE_SOURCES_MAX);
}

static bool
add_statistics(struct profile_merger *merger, struct profile_source *sum,
               const struct profile_source *more)
{
    char shown[80];

    if (!profile_source_add(sum, more)) {
        return fail_sum(merger,
                        "the statistics of source %s add up to more than 64 bits",
                        text_show(shown, sizeof(shown), sum->name));
    }
    /* Different requests were granted the same interval. */
    sum->asked = sum->asked == more->asked ? sum->asked : sum->granted;
    return true;
}

/* Add the statistics of the sources of profile, all of which the sum has, and set
 * to->sources. */
static bool
add_sources(struct profile_merger *merger, const struct profile *profile,
            struct translation *to)
{
    struct profile *sum = merger->sum;

    for (size_t i = 0; i < profile->source_count; i++) {
        const struct profile_source *from = &profile->sources[i];
        struct profile_source *known = profile_find_interval(sum, from);

        if (known == NULL || !add_statistics(merger, known, from)) {
            return false;
        }
        if (known->nt_name[0] == '\0' && from->nt_name[0] != '\0') {
            known->nt_name = profile_string(sum, from->nt_name);
            if (known->nt_name == NULL) {
                known->nt_name = "";
                return fail_memory(merger);
            }
        }
        to->sources[i] = (uint32_t)(known - sum->sources);
    }
    return true;
}

/* --- names --- */

/* Return the kind of the functions of an image: with addresses if it is a known build
 * that has the same addresses in the sum. */
static unsigned
function_kind(const struct profile_merger *merger, uint32_t image,
              const struct translation *to)
{
    return image_join_is_build(&merger->sum->images[to->images[image]]) &&
                   to->shifts[image] == 0
               ? FUNCTION_WITH_ADDRESS
               : FUNCTION_WITHOUT_ADDRESS;
}

/* Add to the sum the functions and frames that rows of one kind (uses.h) need. Frame 0
 * is none. */
static bool
add_functions(struct profile_merger *merger, const struct profile *profile,
              struct translation *to, unsigned kind)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct profile_function function =
            profile_uses_function(profile, i, kind);

        if (to->uses.functions[FUNCTION_KINDS * i + kind] &&
            !profile_add_function(merger->sum, &function, &to->functions[kind][i])) {
            return fail_memory(merger);
        }
    }
    for (size_t i = 1; i < profile->frame_count; i++) {
        const struct profile_frame frame = {
            .function = to->functions[kind][profile->frames[i].function],
            .line = profile->frames[i].line,
            .caller = to->frames[kind][profile->frames[i].caller],
        };

        if (frame.function != 0 && to->uses.frames[FUNCTION_KINDS * i + kind] &&
            !profile_add_frame(merger->sum, &frame, &to->frames[kind][i])) {
            return fail_memory(merger);
        }
    }
    return true;
}

/* Add images, names, functions and frames to the sum, and set what their indexes
 * become. */
static bool
add_tables(struct profile_merger *merger, const struct profile *profile,
           struct translation *to)
{
    for (size_t i = 0; i < profile->image_count; i++) {
        if (!image_join_add(&merger->images, merger->sum, &profile->images[i],
                            &to->images[i], &to->shifts[i])) {
            return fail_memory(merger);
        }
    }
    for (size_t i = 0; i < profile->process_count; i++) {
        if (!profile_add_process(merger->sum, profile->processes[i],
                                 &to->processes[i])) {
            return fail_memory(merger);
        }
    }
    for (size_t i = 0; i < profile->unit_count; i++) {
        if (!profile_add_unit(merger->sum, profile->units[i], &to->units[i])) {
            return fail_memory(merger);
        }
    }
    for (size_t i = 0; i < profile->thread_count; i++) {
        if (!profile_add_thread(merger->sum, profile->threads[i], &to->threads[i])) {
            return fail_memory(merger);
        }
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        profile_uses_mark(&to->uses, profile, row,
                          function_kind(merger, row->image, to));
    }
    for (size_t i = 1; i < profile->call_count; i++) {
        const struct profile_call *const call = &profile->calls[i];

        if (call->end == NULL) {
            profile_uses_mark_call(&to->uses, profile, call,
                                   function_kind(merger, call->image, to));
        }
    }
    return add_functions(merger, profile, to, FUNCTION_WITHOUT_ADDRESS) &&
           add_functions(merger, profile, to, FUNCTION_WITH_ADDRESS);
}

/* --- rows --- */

static uint32_t
chain_length(const struct profile *profile, uint32_t caller)
{
    uint32_t length = 0;

    for (; caller != 0; caller = profile->frames[caller].caller) {
        length++;
    }
    return length;
}

/* names - what is known of the code at an address: as a row or a call has it. */
struct names {
    uint32_t function, line, caller;
};

/* Whether a has more detail than b about the same code. */
static bool
has_more_detail(const struct profile *profile, const struct names *a,
                const struct names *b)
{
    /* Code of which only the bounds are known is a function, without a name. */
    const bool a_named = profile->functions[a->function].name[0] != '\0';
    const bool b_named = profile->functions[b->function].name[0] != '\0';

    if (a_named != b_named) {
        return a_named;
    }
    if ((a->function != 0) != (b->function != 0)) {
        return a->function != 0;
    }
    if ((a->line != 0) != (b->line != 0)) {
        return a->line != 0;
    }
    return chain_length(profile, a->caller) > chain_length(profile, b->caller);
}

static bool
add_hits(struct profile_merger *merger, struct profile_row *row, uint32_t source,
         uint64_t hits)
{
    char shown[80];

    /* The format has 63-bit numbers, and the sum of all rows must fit too. */
    if (hits > INT64_MAX - merger->totals[source]) {
        return fail_sum(
            merger, "the hits of source %s add up to more than a file holds",
            text_show(shown, sizeof(shown), merger->sum->sources[source].name));
    }
    merger->totals[source] += hits;
    row->hits[source] += hits;
    return true;
}

/* Whether the buckets of a profile have another width than some of the sum. */
static bool
has_other_buckets(const struct profile *sum, const struct profile *added)
{
    return sum->bucket_least != 0 || added->bucket_least != 0 ||
           sum->bucket_bytes != added->bucket_bytes;
}

/* Whether both have functions that differ, as buckets of two widths may have at one
 * address. The same first byte is the same function, of which one may have no name. */
static bool
has_other_function(const struct profile *sum, const struct profile_row *row,
                   const struct profile_place *place)
{
    const struct profile_function *const a = &sum->functions[row->function];
    const struct profile_function *const b = &sum->functions[place->function];

    if (row->function == 0 || place->function == 0 || a == b) {
        return false;
    }
    return (a->name[0] != '\0') == (b->name[0] != '\0') || !a->has_address ||
           !b->has_address || a->address != b->address;
}

/* Add a row to the sum. In an image of a known build a bucket has one name, of which
 * the one with more detail is kept; elsewhere rows with different names stay apart. */
static bool
add_row(struct profile_merger *merger, const struct profile *profile,
        const struct profile_row *from, const struct translation *to)
{
    struct profile *sum = merger->sum;
    const bool is_build = image_join_is_build(&sum->images[to->images[from->image]]);
    const unsigned kind = function_kind(merger, from->image, to);
    const struct profile_place place = {
        .image = to->images[from->image],
        .process = to->processes[from->process],
        .address = from->address + to->shifts[from->image],
        .function = to->functions[kind][from->function],
        .line = from->line,
        .caller = to->frames[kind][from->caller],
        .unit = to->units[from->unit],
        .thread = to->threads[from->thread],
        .cpu_plus_1 = from->cpu_plus_1,
        .pid = from->pid,
        .stack = to->calls[from->stack],
    };
    struct profile_row *row = profile_row_at(sum, &place, !is_build);

    if (row != NULL && is_build && has_other_buckets(sum, profile) &&
        has_other_function(sum, row, &place)) {
        row = profile_row_at(sum, &place, true);
    }
    if (row == NULL) {
        return fail_memory(merger);
    }
    if (is_build && !row->by_name &&
        has_more_detail(sum, &(struct names){place.function, place.line, place.caller},
                        &(struct names){row->function, row->line, row->caller})) {
        row->function = place.function;
        row->line = place.line;
        row->caller = place.caller;
    }
    for (size_t i = 0; i < profile->source_count; i++) {
        if (!add_hits(merger, row, to->sources[i], from->hits[i])) {
            return false;
        }
    }
    return true;
}

static bool
add_rows(struct profile_merger *merger, const struct profile *profile,
         const struct translation *to)
{
    for (size_t i = 0; i < profile->row_count; i++) {
        if (!add_row(merger, profile, &profile->rows[i], to)) {
            return false;
        }
    }
    return true;
}

/* --- calls --- */

/* Add a call: equal ones have equal callers, image and address and, unless the image is
 * of a known build, equal names. */
static bool
add_call(struct profile_merger *merger, const struct profile *profile, size_t index,
         const struct translation *to)
{
    const struct profile_call *const from = &profile->calls[index];
    struct profile *const sum = merger->sum;
    const bool is_build = image_join_is_build(&sum->images[to->images[from->image]]);
    const unsigned kind = function_kind(merger, from->image, to);
    const struct profile_call added = {
        .address = from->address + to->shifts[from->image],
        .image = to->images[from->image],
        .function = to->functions[kind][from->function],
        .line = from->line,
        .inlined = to->frames[kind][from->inlined],
        .caller = to->calls[from->caller],
        .by_name = !is_build,
    };
    struct profile_call *known;

    if (!profile_add_call(sum, &added, &to->calls[index])) {
        return fail_memory(merger);
    }
    known = &sum->calls[to->calls[index]];
    if (is_build &&
        has_more_detail(
            sum, &(struct names){added.function, added.line, added.inlined},
            &(struct names){known->function, known->line, known->inlined})) {
        known->function = added.function;
        known->line = added.line;
        known->inlined = added.inlined;
    }
    return true;
}

static bool
add_calls(struct profile_merger *merger, const struct profile *profile,
          const struct translation *to)
{
    for (size_t i = 1; i < profile->call_count; i++) {
        const struct profile_call end = {.end = profile->calls[i].end};

        if (end.end == NULL ? !add_call(merger, profile, i, to)
                            : !profile_add_call(merger->sum, &end, &to->calls[i])) {
            return fail_memory(merger);
        }
    }
    return true;
}

/* --- texts and times --- */

/* Whether text contains the part, of length bytes, between separators. */
static bool
contains_part(const char *text, const char *part, size_t length, const char *separator)
{
    const size_t separator_length = strlen(separator);
    const char *end;

    do {
        end = strstr(text, separator);
        if ((end != NULL ? (size_t)(end - text) : strlen(text)) == length &&
            memcmp(text, part, length) == 0) {
            return true;
        }
        text = end != NULL ? end + separator_length : NULL;
    } while (text != NULL);
    return false;
}

/* Append a part to a text that is joined by separators, unless it has that part. */
static void
append_part(struct buffer *text, const char *part, size_t length, const char *separator)
{
    const char *known = buffer_text(text);

    if (length == 0 || known == NULL || contains_part(known, part, length, separator)) {
        return;
    }
    buffer_append_text(text, text->size > 0 ? separator : "");
    buffer_append(text, part, length);
}

/* Append to *text those parts of more that it lacks. Either may be NULL. */
static bool
join_texts(struct profile_merger *merger, char **text, const char *more,
           const char *separator)
{
    struct buffer joined = {0};
    const char *end;

    buffer_append_text(&joined, *text != NULL ? *text : "");
    for (const char *part = more; part != NULL && *part != '\0';
         part = end != NULL ? end + strlen(separator) : NULL) {
        end = strstr(part, separator);
        append_part(&joined, part, end != NULL ? (size_t)(end - part) : strlen(part),
                    separator);
    }
    if (buffer_text(&joined) == NULL) {
        buffer_finish(&joined);
        return fail_memory(merger);
    }
    free(*text);
    *text = (char *)joined.data;
    return true;
}

static bool
add_texts(struct profile_merger *merger, const struct profile *profile)
{
    struct profile *sum = merger->sum;

    return join_texts(merger, &sum->command, profile->command, COMMAND_SEPARATOR) &&
           join_texts(merger, &sum->hal, profile->hal, HAL_SEPARATOR) &&
           join_texts(merger, &sum->limits, profile->limits, SENTENCE_SEPARATOR) &&
           join_texts(merger, &sum->gaps, profile->gaps, SENTENCE_SEPARATOR);
}

/* Keep only the labels that all profiles have with the same value. The epoch is left
 * out: with host and start it identifies a window of an agent, and the sum is none. */
static bool
add_labels(struct profile_merger *merger, const struct profile *profile)
{
    struct profile *sum = merger->sum;
    size_t kept = 0;

    if (!merger->labelled) {
        merger->labelled = true;
        for (size_t i = 0; i < profile->label_count; i++) {
            if (strcmp(profile->labels[i].key, PROFILE_LABEL_EPOCH) != 0 &&
                !profile_set_label(sum, profile->labels[i].key,
                                   profile->labels[i].value)) {
                return fail_memory(merger);
            }
        }
        return true;
    }
    for (size_t i = 0; i < sum->label_count; i++) {
        const char *const value = profile_label(profile, sum->labels[i].key);

        if (value != NULL && strcmp(value, sum->labels[i].value) == 0) {
            sum->labels[kept++] = sum->labels[i];
        }
    }
    sum->label_count = kept;
    return true;
}

/* Keep the earliest start, and add the durations, as hits are added. */
static bool
add_times(struct profile_merger *merger, const struct profile *profile)
{
    struct profile *sum = merger->sum;

    if (sum->time_ns == 0 ||
        (profile->time_ns != 0 && profile->time_ns < sum->time_ns)) {
        sum->time_ns = profile->time_ns;
    }
    if (profile->duration_ns > INT64_MAX ||
        sum->duration_ns > INT64_MAX - profile->duration_ns) {
        return fail_sum(merger, "the durations add up to more than a file holds");
    }
    sum->duration_ns += profile->duration_ns;
    return true;
}

/* --- profiles --- */

static bool
translation_init(struct translation *to, const struct profile *profile)
{
    /* One more than needed, so that an empty table does not look like a failure. */
    to->sources = calloc(profile->source_count + 1, sizeof(*to->sources));
    to->images = calloc(profile->image_count + 1, sizeof(*to->images));
    to->shifts = calloc(profile->image_count + 1, sizeof(*to->shifts));
    for (size_t i = 0; i < FUNCTION_KINDS; i++) {
        to->functions[i] =
            calloc(profile->function_count + 1, sizeof(*to->functions[i]));
        to->frames[i] = calloc(profile->frame_count + 1, sizeof(*to->frames[i]));
    }
    to->calls = calloc(profile->call_count, sizeof(*to->calls));
    to->processes = calloc(profile->process_count + 1, sizeof(*to->processes));
    to->units = calloc(profile->unit_count + 1, sizeof(*to->units));
    to->threads = calloc(profile->thread_count + 1, sizeof(*to->threads));
    return to->sources != NULL && to->images != NULL && to->shifts != NULL &&
           to->functions[FUNCTION_WITHOUT_ADDRESS] != NULL &&
           to->functions[FUNCTION_WITH_ADDRESS] != NULL &&
           to->frames[FUNCTION_WITHOUT_ADDRESS] != NULL &&
           to->frames[FUNCTION_WITH_ADDRESS] != NULL &&
           profile_uses_init(&to->uses, profile) && to->calls != NULL &&
           to->processes != NULL && to->units != NULL && to->threads != NULL;
}

static void
translation_finish(struct translation *to)
{
    free(to->sources);
    free(to->images);
    free(to->shifts);
    for (size_t i = 0; i < FUNCTION_KINDS; i++) {
        free(to->functions[i]);
        free(to->frames[i]);
    }
    profile_uses_finish(&to->uses);
    free(to->calls);
    free(to->processes);
    free(to->units);
    free(to->threads);
}

/* Add a profile to the sum, which has all of its sources. */
static bool
add_content(struct profile_merger *merger, const struct profile *profile)
{
    struct translation to = {0};
    bool done = translation_init(&to, profile);

    if (!done) {
        fail_memory(merger);
    }
    done = done && add_sources(merger, profile, &to) &&
           add_tables(merger, profile, &to) && add_calls(merger, profile, &to) &&
           add_rows(merger, profile, &to) && add_texts(merger, profile) &&
           add_labels(merger, profile) && add_times(merger, profile);
    translation_finish(&to);
    return done;
}

/* Make a new sum with the sources of both profiles, and add before to it, which has the
 * profiles up to now. It may be the old sum: the caller owns and deletes it. */
static bool
start_sum(struct profile_merger *merger, const struct profile *before,
          const struct profile *added)
{
    image_join_clear(&merger->images);
    merger->labelled = false;
    merger->sum = profile_new();
    if (merger->sum == NULL) {
        return fail_memory(merger);
    }
    merger->sum->bucket_bytes = before->bucket_bytes;
    merger->sum->bucket_least = before->bucket_least;
    if (!declare_sources(merger, before) || !declare_sources(merger, added)) {
        return false;
    }
    free(merger->totals);
    merger->totals = calloc(merger->sum->source_count + 1, sizeof(*merger->totals));
    return merger->totals != NULL ? add_content(merger, before) : fail_memory(merger);
}

/* Make sure that sum contains everything added so far, and has the sources of the next
 * profile: rows have room for the sources that there were, so a sum that lacks one is
 * made anew. */
static bool
prepare_sum(struct profile_merger *merger, const struct profile *added)
{
    struct profile *before = merger->sum != NULL ? merger->sum : merger->first;
    bool done;

    if (before == merger->sum && contains_sources(before, added)) {
        return true;
    }
    merger->first = NULL;
    done = start_sum(merger, before, added);
    profile_delete(before);
    return done;
}

/* Check that all files are ntprof's or none is: addresses in files of other tools are
 * those of one run. */
static bool
check_bucket(struct profile_merger *merger, const struct profile *added)
{
    const struct profile *before = merger->sum != NULL ? merger->sum : merger->first;

    if ((before->bucket_bytes == 0) == (added->bucket_bytes == 0)) {
        return true;
    }
    return fail_sum(
        merger, "is a profile of %s, those before are of %s: merge files of one kind",
        added->bucket_bytes == 0 ? "another tool" : "ntprof",
        before->bucket_bytes == 0 ? "another tool" : "ntprof");
}

/* Return the width of a profile's narrowest buckets. */
static uint32_t
least_bucket(const struct profile *profile)
{
    return profile->bucket_least != 0 ? profile->bucket_least : profile->bucket_bytes;
}

/* Set the widths of buckets in sum to the widest and the narrowest of both. Rows keep
 * their own addresses; only the widest can show all. */
static void
merge_bucket_widths(struct profile *sum, const struct profile *added)
{
    const uint32_t known = least_bucket(sum);
    const uint32_t now = least_bucket(added);
    const uint32_t least = now < known ? now : known;

    if (added->bucket_bytes > sum->bucket_bytes) {
        sum->bucket_bytes = added->bucket_bytes;
    }
    sum->bucket_least = least != sum->bucket_bytes ? least : 0;
}

bool
profile_merger_add(struct profile_merger *merger, struct profile *profile,
                   struct pprof_error *error)
{
    bool done;

    merger->error = error;
    if (merger->first == NULL && merger->sum == NULL) {
        merger->first = profile;
        return true;
    }
    done = check_bucket(merger, profile) && check_sources(merger, profile) &&
           prepare_sum(merger, profile) && add_content(merger, profile);
    if (done) {
        merge_bucket_widths(merger->sum, profile);
    }
    profile_delete(profile);
    return done;
}

struct profile *
profile_merger_take(struct profile_merger *merger, struct pprof_error *error)
{
    struct profile *taken = merger->sum != NULL ? merger->sum : merger->first;

    merger->error = error;
    merger->first = NULL;
    merger->sum = NULL;
    image_join_clear(&merger->images);
    if (taken == NULL) {
        fail_sum(merger, "there is no profile to merge");
    }
    return taken;
}
