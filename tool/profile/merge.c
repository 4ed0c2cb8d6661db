/* SPDX-License-Identifier: MIT */
/*
 * merge.c - adds profiles up.
 *
 * Invariants: sum is NULL or contains everything added before first; by_image finds the
 * images of sum by the key that identifies them. Each rule gives the same result for (a
 * + b) + c and a + (b + c): tables keep the order in which entries first occurred, sums
 * are integers, and of two values that cannot be added the first one is kept, or a
 * third one that does not depend on the order.
 */
#include "profile/merge.h"

#include "base/hash_index.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
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
    uint64_t *totals; /* sum of the hits of each source in sum */
    struct hash_index by_image;
    bool labelled; /* sum has labels of the first profile */
    struct pprof_error *error;
};

/* translation - by index in the current profile: index of the same entry in the sum. */
struct translation {
    uint32_t *sources, *images, *functions, *frames, *processes, *units, *threads;
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
        hash_index_finish(&merger->by_image);
        free(merger->totals);
        free(merger);
    }
}

/* Set the error. Returns false, so that callers can return its value. */
__attribute__((format(printf, 2, 3))) static bool
fail(struct profile_merger *merger, const char *format, ...)
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
    return fail(merger, "out of memory for the sum");
}

/* --- sources --- */

static void
print_interval(char *text, size_t size, const struct profile_source *source)
{
    if (source->granted == 0) {
        snprintf(text, size, "an interval that is not known");
    } else if (strcmp(source->unit, "100ns") == 0) {
        snprintf(text, size, "one hit each %.6g ms", (double)source->granted / 1e4);
    } else {
        snprintf(text, size, "one hit each %" PRIu64 " events", source->granted);
    }
}

/* Check that hits of both sources stand for the same: only then can they be added. */
static bool
check_source(struct profile_merger *merger, const struct profile_source *known,
             const struct profile_source *added)
{
    char before[80];
    char now[80];
    char shown[80];

    if (strcmp(known->unit, added->unit) == 0 && known->granted == added->granted) {
        return true;
    }
    print_interval(before, sizeof(before), known);
    print_interval(now, sizeof(now), added);
    return fail(merger,
                "its source %s has %s, those before have %s: such hits do not add up; "
                "merge files of one interval, or compare them with ntprof diff",
                text_show(shown, sizeof(shown), added->name), now, before);
}

/* Whether the sum has all sources of profile, which is required before rows are
 * added. */
static bool
contains_sources(const struct profile *sum, const struct profile *profile)
{
    for (size_t i = 0; i < profile->source_count; i++) {
        if (profile_find_source(sum, profile->sources[i].name) == NULL) {
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

        if (profile_find_source(merger->sum, from->name) == NULL &&
            !profile_add_source(merger->sum, &declared, &index)) {
            return fail_memory(merger);
        }
    }
    return true;
}

/* Number of events that the kernel counted. It is an integer, since measured is an
 * integer divided by taken. */
static double
counted_events(const struct profile_source *source)
{
    const double events = source->measured * (double)source->taken;

    return isfinite(events) && events > 0 ? round(events) : 0;
}

static bool
add_statistics(struct profile_merger *merger, struct profile_source *sum,
               const struct profile_source *more)
{
    const double events = counted_events(sum) + counted_events(more);
    char shown[80];

    if (!profile_source_add(sum, more)) {
        return fail(merger, "the statistics of source %s add up to more than 64 bits",
                    text_show(shown, sizeof(shown), sum->name));
    }
    sum->measured = sum->taken > 0 ? events / (double)sum->taken : 0;
    /* Different requests were granted the same interval. */
    sum->asked = sum->asked == more->asked ? sum->asked : sum->granted;
    return true;
}

static bool
add_sources(struct profile_merger *merger, const struct profile *profile,
            struct translation *to)
{
    struct profile *sum = merger->sum;

    for (size_t i = 0; i < profile->source_count; i++) {
        const struct profile_source *from = &profile->sources[i];
        struct profile_source *known = profile_find_source(sum, from->name);

        if (known == NULL || !check_source(merger, known, from) ||
            !add_statistics(merger, known, from)) {
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

/* --- images --- */

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Whether the image is a mapped file, not the kernel, the vdso or JIT code. */
static bool
is_file(const struct profile_image *image)
{
    return image->path[0] != '\0' && image->path[0] != '[';
}

/* Whether the image is a file of a known build: such files have the same code at the
 * same place in each run. */
static bool
is_build(const struct profile_image *image)
{
    return is_file(image) && image->build_id[0] != '\0';
}

/* Difference between addresses and file offsets of an image. */
static uint64_t
load_bias(const struct profile_image *image)
{
    return image->start - image->offset;
}

/* Whether two images of a file have the same addresses: its segments may have different
 * ones. An unknown range matches any. */
static bool
same_place(const struct profile_image *a, const struct profile_image *b)
{
    return a->limit <= a->start || b->limit <= b->start || load_bias(a) == load_bias(b);
}

/* Whether the profile has run-time addresses, as those of other tools; ours have
 * link-time addresses of files. */
static bool
has_run_addresses(const struct profile *profile)
{
    return profile->bucket_bytes == 0;
}

static bool
same_image(const struct profile_merger *merger, const struct profile_image *a,
           const struct profile_image *b)
{
    if (strcmp(a->build_id, b->build_id) != 0) {
        return false;
    }
    if (is_build(a) && is_build(b)) {
        return strcmp(base_name(a->path), base_name(b->path)) == 0 &&
               (has_run_addresses(merger->sum) || same_place(a, b));
    }
    return strcmp(a->path, b->path) == 0 &&
           (!is_file(a) || !has_run_addresses(merger->sum) ||
            load_bias(a) == load_bias(b));
}

static uint32_t
hash_image(const struct profile_image *image)
{
    const char *name = is_build(image) ? base_name(image->path) : image->path;

    return hash_mix(hash_bytes(image->build_id, strlen(image->build_id)),
                    hash_bytes(name, strlen(name)));
}

/* Extend the image of the sum to cover the other one, after shifting that to its
 * addresses. */
static void
widen_image(struct profile_image *sum, const struct profile_image *image,
            uint64_t shift)
{
    const uint64_t start = image->start + shift;
    const uint64_t limit = image->limit + shift;

    sum->named |= image->named;
    if (image->limit <= image->start) {
        return;
    }
    if (sum->limit <= sum->start) {
        sum->start = start;
        sum->limit = limit;
        sum->offset = image->offset;
        return;
    }
    if (start < sum->start) {
        sum->start = start;
        sum->offset = image->offset;
    }
    if (limit > sum->limit) {
        sum->limit = limit;
    }
}

static bool
add_image(struct profile_merger *merger, const struct profile_image *image,
          uint32_t *index, uint64_t *shift)
{
    const uint32_t hash = hash_image(image);
    size_t probe = 0;

    *shift = 0;
    while ((*index = hash_index_find(&merger->by_image, hash, &probe)) !=
           HASH_INDEX_NONE) {
        struct profile_image *known = &merger->sum->images[*index];

        if (same_image(merger, known, image)) {
            if (is_build(image) && has_run_addresses(merger->sum)) {
                *shift = load_bias(known) - load_bias(image);
            }
            widen_image(known, image, *shift);
            return true;
        }
    }
    return (profile_add_image(merger->sum, image, index) &&
            hash_index_add(&merger->by_image, hash, *index)) ||
           fail_memory(merger);
}

/* --- names --- */

static bool
add_functions(struct profile_merger *merger, const struct profile *profile,
              struct translation *to)
{
    for (size_t i = 0; i < profile->function_count; i++) {
        if (!profile_add_function(merger->sum, &profile->functions[i],
                                  &to->functions[i])) {
            return fail_memory(merger);
        }
    }
    for (size_t i = 1; i < profile->frame_count; i++) {
        const struct profile_frame frame = {
            .function = to->functions[profile->frames[i].function],
            .line = profile->frames[i].line,
            .caller = to->frames[profile->frames[i].caller],
        };

        if (!profile_add_frame(merger->sum, &frame, &to->frames[i])) {
            return fail_memory(merger);
        }
    }
    return true;
}

static bool
add_tables(struct profile_merger *merger, const struct profile *profile,
           struct translation *to)
{
    for (size_t i = 0; i < profile->image_count; i++) {
        if (!add_image(merger, &profile->images[i], &to->images[i], &to->shifts[i])) {
            return false;
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
    return add_functions(merger, profile, to);
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

/* Whether the place has more detail about the same code than the row. */
static bool
has_more_detail(const struct profile *profile, const struct profile_place *place,
                const struct profile_row *row)
{
    if ((place->function != 0) != (row->function != 0)) {
        return place->function != 0;
    }
    if ((place->line != 0) != (row->line != 0)) {
        return place->line != 0;
    }
    return chain_length(profile, place->caller) > chain_length(profile, row->caller);
}

static bool
add_hits(struct profile_merger *merger, struct profile_row *row, uint32_t source,
         uint64_t hits)
{
    char shown[80];

    /* The format has 63-bit numbers, and the sum of all rows must fit too. */
    if (hits > INT64_MAX - merger->totals[source]) {
        return fail(merger, "the hits of source %s add up to more than a file holds",
                    text_show(shown, sizeof(shown), merger->sum->sources[source].name));
    }
    merger->totals[source] += hits;
    row->hits[source] += hits;
    return true;
}

static bool
add_row(struct profile_merger *merger, const struct profile *profile,
        const struct profile_row *from, const struct translation *to)
{
    struct profile *sum = merger->sum;
    const struct profile_place place = {
        .image = to->images[from->image],
        .process = to->processes[from->process],
        .address = from->address + to->shifts[from->image],
        .function = to->functions[from->function],
        .line = from->line,
        .caller = to->frames[from->caller],
        .unit = to->units[from->unit],
        .thread = to->threads[from->thread],
        .cpu_plus_1 = from->cpu_plus_1,
    };
    const bool build = is_build(&sum->images[place.image]);
    struct profile_row *row = profile_row_at(sum, &place, !build);

    if (row == NULL) {
        return fail_memory(merger);
    }
    if (build && has_more_detail(sum, &place, row)) {
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

/* Keep only the labels that all profiles have with the same value. */
static bool
add_labels(struct profile_merger *merger, const struct profile *profile)
{
    struct profile *sum = merger->sum;
    size_t kept = 0;

    if (!merger->labelled) {
        merger->labelled = true;
        for (size_t i = 0; i < profile->label_count; i++) {
            if (!profile_set_label(sum, profile->labels[i].key,
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
        return fail(merger, "the durations add up to more than a file holds");
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
    to->functions = calloc(profile->function_count + 1, sizeof(*to->functions));
    to->frames = calloc(profile->frame_count + 1, sizeof(*to->frames));
    to->processes = calloc(profile->process_count + 1, sizeof(*to->processes));
    to->units = calloc(profile->unit_count + 1, sizeof(*to->units));
    to->threads = calloc(profile->thread_count + 1, sizeof(*to->threads));
    return to->sources != NULL && to->images != NULL && to->shifts != NULL &&
           to->functions != NULL && to->frames != NULL && to->processes != NULL &&
           to->units != NULL && to->threads != NULL;
}

static void
translation_finish(struct translation *to)
{
    free(to->sources);
    free(to->images);
    free(to->shifts);
    free(to->functions);
    free(to->frames);
    free(to->processes);
    free(to->units);
    free(to->threads);
}

static bool
add_content(struct profile_merger *merger, const struct profile *profile)
{
    struct translation to = {0};
    bool done = translation_init(&to, profile);

    if (!done) {
        fail_memory(merger);
    }
    done = done && add_sources(merger, profile, &to) &&
           add_tables(merger, profile, &to) && add_rows(merger, profile, &to) &&
           add_texts(merger, profile) && add_labels(merger, profile) &&
           add_times(merger, profile);
    translation_finish(&to);
    return done;
}

/* Make a sum with the sources of both profiles, and add the first one to it. */
static bool
start_sum(struct profile_merger *merger, const struct profile *before,
          const struct profile *added)
{
    hash_index_clear(&merger->by_image);
    merger->labelled = false;
    merger->sum = profile_new();
    if (merger->sum == NULL) {
        return fail_memory(merger);
    }
    merger->sum->bucket_bytes = before->bucket_bytes;
    if (!declare_sources(merger, before) || !declare_sources(merger, added)) {
        return false;
    }
    free(merger->totals);
    merger->totals = calloc(merger->sum->source_count + 1, sizeof(*merger->totals));
    return merger->totals != NULL ? add_content(merger, before) : fail_memory(merger);
}

/* Make sure that sum contains everything added so far, and has the sources of the next
 * profile. */
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

static void
print_bucket(char *text, size_t size, const struct profile *profile)
{
    if (profile->bucket_bytes == 0) {
        snprintf(text, size, "of another tool, which has no buckets");
    } else {
        snprintf(text, size, "with buckets of %" PRIu32 " bytes",
                 profile->bucket_bytes);
    }
}

/* Bucket sizes must agree: a large bucket cannot be divided, and small ones would lose
 * their names in a large one. */
static bool
check_bucket(struct profile_merger *merger, const struct profile *added)
{
    const struct profile *before = merger->sum != NULL ? merger->sum : merger->first;
    char known[64];
    char now[64];

    if (before->bucket_bytes == added->bucket_bytes) {
        return true;
    }
    print_bucket(known, sizeof(known), before);
    print_bucket(now, sizeof(now), added);
    return fail(merger,
                "is a profile %s, those before are %s: merge files of one kind, taken "
                "with the same --bucket",
                now, known);
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
    done = check_bucket(merger, profile) && prepare_sum(merger, profile) &&
           add_content(merger, profile);
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
    hash_index_clear(&merger->by_image);
    if (taken == NULL) {
        fail(merger, "there is no profile to merge");
    }
    return taken;
}
