/* SPDX-License-Identifier: MIT */
/*
 * symbolize.c - names for a profile that lacks them.
 *
 * Addresses of files are link-time addresses, so the file is enough to name them.
 * Addresses of the kernel and of JIT code can be named only on their machine while it
 * runs.
 */
#include "record/collect/symbolize.h"

#include "base/message.h"
#include "base/open_regular.h"
#include "record/collect/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows between two calls of the progress callback. */
enum { PROGRESS_ROWS = 256 };

/* Rows whose names are looked up at once: few images have more of them. */
enum { EXPECT_ROWS = 4096 };

/* Processor time for all names in seconds, the same as in naming.c. */
enum { NAMES_SECONDS = 30 };

/* work - the profile, and its rows sorted by image. */
struct work {
    struct profile *profile;
    const struct sym_settings *settings;
    struct symbolize_statistics *statistics;
    uint32_t *order;
    size_t count;
};

/* Whether the function of a row has a name. */
static bool
is_named(const struct work *work, const struct profile_row *row)
{
    return work->profile->functions[row->function].name[0] != '\0';
}

/* Whether a row lacks its name or its line; only such rows are named. */
static bool
lacks_name(const struct work *work, const struct profile_row *row)
{
    return !is_named(work, row) || row->line == 0;
}

/* Order rows by image and address; the items are indices into rows. */
static int
compare_rows(const void *left, const void *right, void *rows)
{
    const struct profile_row *a =
        (const struct profile_row *)rows + *(const uint32_t *)left;
    const struct profile_row *b =
        (const struct profile_row *)rows + *(const uint32_t *)right;

    if (a->image != b->image) {
        return a->image < b->image ? -1 : 1;
    }
    return (a->address > b->address) - (a->address < b->address);
}

/* Report that an image cannot be used, and count it. */
static void
report_unusable(const struct work *work, const struct profile_image *image,
                const char *why)
{
    char note[800];

    work->statistics->images++;
    snprintf(note, sizeof(note), "nothing is added for %s: %s", image->path, why);
    if (work->settings->say != NULL) {
        work->settings->say(work->settings->context, note);
    }
}

/* Open the file of the image if it has the image's build-id in the profile. Otherwise
 * report why not and return NULL. */
static struct sym_image *
open_image(const struct work *work, const struct profile_image *image)
{
    struct sym_image *file;
    char why[300];
    int fd;

    if (image->path[0] != '/') {
        report_unusable(work, image,
                        "its names were known only on its machine, while it ran");
        return NULL;
    }
    fd = sym_open_regular("", image->path);
    if (fd < 0) {
        report_unusable(work, image, sym_open_error(fd));
        return NULL;
    }
    file = sym_image_open(fd, image->path, "", work->settings);
    if (file == NULL) {
        report_unusable(work, image, sym_image_error(errno));
        return NULL;
    }
    if (strcmp(sym_image_build_id(file), image->build_id) != 0) {
        snprintf(why, sizeof(why),
                 "the file is of another build: it has build-id %s, the profile %s",
                 sym_image_build_id(file)[0] == '\0' ? "none"
                                                     : sym_image_build_id(file),
                 image->build_id[0] == '\0' ? "none" : image->build_id);
        report_unusable(work, image, why);
        sym_image_close(file);
        return NULL;
    }
    return file;
}

/* Return the bytes of code that a row stands for; without buckets rows have
 * single addresses. */
static uint64_t
bucket_bytes(const struct work *work)
{
    return work->profile->bucket_bytes > 0 ? work->profile->bucket_bytes : 1;
}

/* Have the names of the next rows looked up together: asking the process that reads
 * the file for many costs as much as for one. */
static void
expect_rows(const struct work *work, struct sym_image *file, size_t first, size_t end)
{
    uint64_t addresses[EXPECT_ROWS];
    size_t count = 0;

    for (size_t i = first; i < end && count < EXPECT_ROWS; i++) {
        addresses[count++] = work->profile->rows[work->order[i]].address;
    }
    sym_image_expect(file, /* by_offset */ false, addresses, count, bucket_bytes(work));
}

/* Add the name of a row, with the functions that it was inlined into (caller), if the
 * file has one and the row gains by it: a row with a name only needs a line, and keeps
 * its function if the file has no name for it. Returns false if memory runs out. */
static bool
name_row(const struct work *work, struct sym_image *file, struct profile_row *row)
{
    struct profile_place place = {.function = row->function};
    struct sym_name name;

    const bool found =
        sym_image_lookup_bucket(file, row->address, bucket_bytes(work), &name);

    if ((!found && (row->function != 0 || !name.has_start)) ||
        (is_named(work, row) && name.line == 0)) {
        return true;
    }
    if (!place_set_name(work->profile, &name, &place)) {
        return false;
    }
    row->function = place.function;
    row->line = place.line;
    row->caller = place.caller;
    work->statistics->named++;
    return true;
}

/* Report that done rows have their names. */
static void
report_progress(const struct work *work, const struct profile_image *image, size_t done)
{
    if (work->settings->progress != NULL) {
        work->settings->progress(work->settings->context, image->path, done,
                                 work->count);
    }
}

/* Whether the rows order[first] to order[end - 1] have all the names that they can
 * have: code of the kernel and of JITs has no lines. */
static bool
has_names(const struct work *work, const struct profile_image *image, size_t first,
          size_t end)
{
    bool named = image->path[0] != '/';

    for (size_t i = first; named && i < end; i++) {
        named = is_named(work, &work->profile->rows[work->order[i]]);
    }
    return named;
}

/* Name the rows order[first] to order[end - 1], which are of one image. Rows of an
 * image that cannot be opened stay without names. Returns false if memory runs out. */
static bool
name_image(const struct work *work, size_t first, size_t end)
{
    struct profile_row *const rows = work->profile->rows;
    struct profile_image *image =
        &work->profile->images[rows[work->order[first]].image];
    struct sym_image *file;
    bool complete = true;

    if (has_names(work, image, first, end)) {
        return true;
    }
    report_progress(work, image, first);
    file = open_image(work, image);
    if (file == NULL) {
        return true;
    }
    for (size_t i = first; complete && i < end; i++) {
        if (i % PROGRESS_ROWS == 0) {
            report_progress(work, image, i);
        }
        if ((i - first) % EXPECT_ROWS == 0) {
            expect_rows(work, file, i, end);
        }
        complete = name_row(work, file, &rows[work->order[i]]);
    }
    image->named |= sym_image_has_symbols(file);
    if (work->settings->say != NULL && sym_image_note(file)[0] != '\0') {
        work->settings->say(work->settings->context, sym_image_note(file));
    }
    sym_image_close(file);
    return complete;
}

/* Name all rows, image by image. Returns false if memory runs out. */
static bool
name_images(struct work *work)
{
    const struct profile_row *const rows = work->profile->rows;
    bool complete = true;

    for (size_t first = 0, end; complete && first < work->count; first = end) {
        for (end = first + 1; end < work->count && rows[work->order[end]].image ==
                                                       rows[work->order[first]].image;
             end++) {
        }
        complete = name_image(work, first, end);
    }
    return complete;
}

bool
symbolize(struct profile *profile, const struct sym_settings *settings,
          struct symbolize_statistics *statistics)
{
    struct sym_settings limited = *settings;
    struct work work = {
        .profile = profile, .settings = &limited, .statistics = statistics};
    struct sym_clock clock = {.round = 0};
    bool complete;

    sym_clock_start(&clock, NAMES_SECONDS);
    limited.clock = &clock;

    *statistics = (struct symbolize_statistics){.rows = 0};
    work.order = calloc(profile->row_count + 1, sizeof(*work.order));
    if (work.order == NULL) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        if (lacks_name(&work, &profile->rows[i])) {
            work.order[work.count++] = (uint32_t)i;
        }
    }
    statistics->rows = work.count;
    qsort_r(work.order, work.count, sizeof(*work.order), compare_rows, profile->rows);
    complete = name_images(&work);
    free(work.order);
    return complete;
}

bool
symbolize_for_command(const char *command, const char *about,
                      const struct names_options *options, struct profile *profile,
                      struct symbolize_statistics *statistics)
{
    struct names names;
    bool done = names_open(&names, command, options, /* quiet */ false);

    if (done) {
        names_begin(&names);
        done = symbolize(profile, &names.settings, statistics) ||
               cmd_refuse(command, about, "out of memory for its names");
        names_end(&names);
    }
    names_close(&names);
    return done;
}
