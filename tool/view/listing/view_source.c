/* SPDX-License-Identifier: MIT */
/*
 * view_source.c - lists source lines with the hits of their code.
 *
 * For a function all lines are shown from its first to its last with code, as far as
 * profile and debug information know; for a line those around it. Code that was inlined
 * into a line counts at that line.
 */
#include "view/listing/views.h"

#include "base/arithmetic.h"
#include "base/array.h"
#include "base/hash_index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Lines before and after the requested one. */
#define AROUND_LINES 10u
/* A larger distance between lines with code means that something else is between
 * them. */
#define GAP_LINES 200

/* known_line - a line with code or hits. */
struct known_line {
    const char *file; /* owned by the listing: equal files have one pointer */
    uint32_t line;
    size_t hits_at;
    size_t shared_at;
    size_t inlined_at;
    bool has_code;
};

/* known_file - hits of a file; the file with the most is shown first. */
struct known_file {
    const char *file;
    uint64_t hits;
    uint32_t first; /* index into lines */
};

struct source_view {
    struct view *view;
    struct listing *listing;
    struct known_line *lines;
    size_t count;
    size_t room;
    struct hash_index index;
    struct known_file *files;
    size_t file_count;
    struct sym_image *image; /* the target's image; NULL: the target has none, or its
                              * file is missing */
    int64_t newer_than_s; /* sources written later are reported; seconds since 1970 */
    const char *row_file; /* of the line rows that is_shared walks over: the first one's
                           * file and line */
    uint32_t row_line;
    bool several; /* another row has another file or line */
};

static const char *
copy(struct source_view *source, const char *text)
{
    return listing_copy(source->listing, text, strlen(text));
}

/* Find or add a line. Returns NULL if memory runs out, which the listing remembers. */
static struct known_line *
find_line(struct source_view *source, const char *file, uint32_t line)
{
    const uint32_t hash = hash_mix(hash_mix(0, (uintptr_t)file), line);
    struct known_line *larger;
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&source->index, hash, &probe)) != HASH_INDEX_NONE) {
        if (source->lines[at].file == file && source->lines[at].line == line) {
            return &source->lines[at];
        }
    }
    larger = array_grow(source->lines, source->count, &source->room, sizeof(*larger));
    source->lines = larger != NULL ? larger : source->lines;
    if (larger == NULL ||
        !hash_index_add(&source->index, hash, (uint32_t)source->count)) {
        source->listing->private->failed = true;
        return NULL;
    }
    source->lines[source->count] = (struct known_line){
        file, line, LISTING_NO_HITS, LISTING_NO_HITS, LISTING_NO_HITS, true};
    return &source->lines[source->count++];
}

/* Add hits at an index of the listing's hits, which is made the first time. */
static void
sum(struct source_view *source, size_t *at, const uint64_t *hits)
{
    if (*at == LISTING_NO_HITS) {
        *at = listing_add_hits(source->listing);
    }
    listing_sum(source->listing, *at, hits);
}

/* --- lines of the image --- */

/* Note the line of a line row in a bucket; a sym_line_row. Returns false, with several
 * set, at a second line: one is enough to know. */
static bool
note_row_line(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct source_view *source = context;

    (void)address;
    if (source->row_file != NULL &&
        (source->row_line != line || strcmp(source->row_file, file) != 0)) {
        source->several = true;
        return false;
    }
    source->row_file = file;
    source->row_line = line;
    return true;
}

/* Return whether a bucket contains code of more than one line, as far as the image
 * knows. */
static bool
is_shared(struct source_view *source, const struct profile_row *row)
{
    source->row_file = NULL;
    source->several = false;
    if (source->image != NULL && source->view->profile->bucket_bytes > 1) {
        (void)sym_image_line_rows(source->image, row->address,
                                  listing_row_end(source->view->profile, row),
                                  note_row_line, source);
    }
    return source->several;
}

/* Add the lines of the target's function at a line row, with or without hits; a
 * sym_line_row. */
static bool
add_code_row(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct source_view *source = context;
    const struct listing_target *target = source->view->target;
    struct sym_name name;

    (void)file;
    (void)line;
    if (!sym_image_lookup_address(source->image, address, &name)) {
        return true;
    }
    if (name.line > 0 && strcmp(name.name, target->name) == 0 &&
        strcmp(name.system_name, target->system_name) == 0) {
        (void)find_line(source, copy(source, name.file), name.line);
    }
    for (size_t i = 0; i < name.caller_count; i++) {
        const struct sym_frame *frame = &name.callers[i];

        if (frame->line > 0 && strcmp(frame->name, target->name) == 0 &&
            strcmp(frame->system_name, target->system_name) == 0) {
            (void)find_line(source, copy(source, frame->file), frame->line);
        }
    }
    return !listing_failed(source->listing);
}

/* Add the lines of the target's function that have no hits, from the symbols in which
 * it has hits. */
static void
add_code_lines(struct source_view *source)
{
    struct view *view = source->view;
    uint64_t added_end = 0; /* of the symbol whose lines were added last */
    size_t count;
    struct view_row *const rows = view_rows(view, view->target->image, &count);

    for (size_t i = 0; rows != NULL && i < count; i++) {
        uint64_t start;
        uint64_t end;

        if (rows[i].of_target && rows[i].start >= added_end &&
            sym_image_range(source->image, rows[i].start, &start, &end)) {
            (void)sym_image_line_rows(source->image, start, end, add_code_row, source);
            added_end = end;
        }
    }
    free(rows);
}

/* --- hits --- */

/* Return whether a place is at most AROUND_LINES from the requested line. */
static bool
is_near(const struct source_view *source, const struct listing_place *place)
{
    const struct listing_target *target = source->view->target;
    const char *const file = source->view->profile->functions[place->function].file;

    return place->line > 0 && strcmp(file, target->file) == 0 &&
           (place->line > target->line ? place->line - target->line
                                       : target->line - place->line) <= AROUND_LINES;
}

/* Add the hits of a row to the line of one of its places. innermost: the place is that
 * of the code itself. Returns false if memory runs out. */
static bool
count_row(struct source_view *source, const struct profile_row *row,
          const struct listing_place *place, bool innermost)
{
    const char *file = source->view->profile->functions[place->function].file;
    struct known_line *line = find_line(source, copy(source, file), place->line);

    if (line == NULL) {
        return false;
    }
    sum(source, &line->hits_at, row->hits);
    if (!innermost) {
        sum(source, &line->inlined_at, row->hits);
    } else if (is_shared(source, row)) {
        sum(source, &line->shared_at, row->hits);
    }
    return true;
}

static void
count_shown(struct source_view *source, const struct profile_row *row)
{
    add_all_clamped(source->listing->shown, row->hits, source->listing->source_count);
}

/* Count a row once, at the innermost line of the target's function, if it is of that
 * function, which listing_find_place finds out. */
static void
add_row_of_function(struct source_view *source, const struct profile_row *row)
{
    const struct view *const view = source->view;
    struct listing_place place;

    if (listing_find_place(view->profile, view->identities, view->target, row,
                           &place) &&
        place.function != 0 && place.line > 0) {
        count_shown(source, row);
        (void)count_row(source, row, &place, place.depth == 0);
    }
}

/* Count a row once at each of its lines that is near the requested one. The caller has
 * checked its image. */
static void
add_row(struct source_view *source, const struct profile_row *row)
{
    const struct listing_target *target = source->view->target;
    struct listing_place place = listing_first_place(row);
    uint32_t counted = 0; /* one bit for each of the 21 lines nearby */
    bool innermost = true;

    do {
        const uint32_t bit = (place.line + AROUND_LINES - target->line) & 31;

        if (is_near(source, &place) && (counted >> bit & 1) == 0) {
            if (counted == 0) {
                count_shown(source, row);
            }
            counted |= UINT32_C(1) << bit;
            if (!count_row(source, row, &place, innermost)) {
                return;
            }
        }
        innermost = false;
    } while (listing_next_place(source->view->profile, &place));
}

static void
add_rows(struct source_view *source)
{
    const struct listing_target *target = source->view->target;
    const struct profile *profile = source->view->profile;

    for (size_t i = 0; i < profile->row_count && !listing_failed(source->listing);
         i++) {
        const struct profile_row *row = &profile->rows[i];

        if (target->kind == LISTING_OF_FUNCTION) {
            add_row_of_function(source, row);
        } else if (row->function != 0 &&
                   (target->image == LISTING_NONE ||
                    listing_same_image(profile, target->image, row->image))) {
            add_row(source, row);
        }
    }
}

/* --- files and lines, sorted --- */

static int
compare_lines(const void *left, const void *right)
{
    const struct known_line *a = left;
    const struct known_line *b = right;

    if (a->file != b->file) {
        return strcmp(a->file, b->file);
    }
    return (a->line > b->line) - (a->line < b->line);
}

static int
compare_files(const void *left, const void *right)
{
    const struct known_file *a = left;
    const struct known_file *b = right;

    if (a->hits != b->hits) {
        return a->hits > b->hits ? -1 : 1;
    }
    return (a->first > b->first) - (a->first < b->first);
}

/* Sort lines by file and number, and files by hits. The hash index is invalid then.
 * Returns false if memory runs out. */
static bool
sort_lines(struct source_view *source)
{
    if (source->lines == NULL) {
        return false;
    }
    qsort(source->lines, source->count, sizeof(*source->lines), compare_lines);
    source->files = calloc(source->count + 1, sizeof(*source->files));
    if (source->files == NULL) {
        source->listing->private->failed = true;
        return false;
    }
    for (size_t i = 0; i < source->count; i++) {
        const struct known_line *line = &source->lines[i];
        struct known_file *file = &source->files[source->file_count];

        if (i == 0 || line->file != line[-1].file) {
            *file = (struct known_file){line->file, 0, (uint32_t)i};
            source->file_count++;
        }
        file = &source->files[source->file_count - 1];
        if (line->hits_at != LISTING_NO_HITS && source->listing->source_count > 0) {
            const uint64_t hits = source->listing->hits[line->hits_at];

            add_clamped(&file->hits, hits);
        }
    }
    qsort(source->files, source->file_count, sizeof(*source->files), compare_files);
    return true;
}

/* Add one line of a file. text: NULL if the file cannot be read; known: its hits, NULL
 * without code. */
static void
add_line(struct source_view *source, const struct source_text *text, const char *file,
         uint32_t number, const struct known_line *known)
{
    struct listing_line *line = listing_add_line(source->listing, LISTING_SOURCE);
    const struct listing_target *target = source->view->target;
    const char *copied;

    line->file = file;
    line->line = number;
    line->missing = true;
    line->chosen = target->kind == LISTING_OF_LINE && number == target->line;
    if (known != NULL) {
        line->hits_at = known->hits_at;
        line->shared_at = known->shared_at;
        line->inlined_at = known->inlined_at;
        line->has_code = known->has_code;
    }
    copied = text == NULL ? NULL : view_copy_line(source->view, text, number);
    if (copied != NULL) {
        line->text = copied;
        line->missing = false;
    }
}

/* Add the lines from from up to to, which have no code, if the file has them; one line
 * for all if they are too many. The line behind the largest number has 33 bits. */
static void
add_between(struct source_view *source, const struct source_text *text,
            const char *file, uint64_t from, uint64_t to)
{
    if (to - from > GAP_LINES) {
        listing_add_line(source->listing, LISTING_GAP)->text =
            listing_format(source->listing, "%" PRIu64 " lines", to - from);
        return;
    }
    for (uint64_t i = from; i < to && text != NULL && i <= text->count; i++) {
        add_line(source, text, file, (uint32_t)i, /* known */ NULL);
    }
}

/* Return the first line to show: the one where the function begins or, for a line, some
 * lines before it. */
static uint32_t
start_line_of(const struct source_view *source, const char *file, uint32_t first)
{
    const struct listing_target *target = source->view->target;
    const struct profile *profile = source->view->profile;
    uint32_t start = first;

    if (target->kind == LISTING_OF_LINE) {
        return target->line > AROUND_LINES ? target->line - AROUND_LINES : 1;
    }
    for (size_t i = 1; i < profile->function_count; i++) {
        const struct profile_function *function = &profile->functions[i];

        if (function->start_line > 0 && function->start_line < start &&
            listing_same_function(function, &profile->functions[target->function]) &&
            strcmp(function->file, file) == 0) {
            start = function->start_line;
        }
    }
    return start;
}

/* Add a note if a source file ends before the last line with code. */
static void
note_short(struct source_view *source, const struct source_text *text,
           const struct known_line *last)
{
    const struct listing_target *target = source->view->target;

    if (text == NULL || last->line <= text->count) {
        return;
    }
    if (target->kind == LISTING_OF_LINE && last->line == target->line) {
        listing_add_note(
            source->listing, LISTING_NOTE_SOURCE,
            "%s has only %" PRIu32
            " lines: it is another one now, or has never had line %" PRIu32,
            last->file, text->count, last->line);
    } else {
        listing_add_note(source->listing, LISTING_NOTE_SOURCE,
                         "%s has only %" PRIu32 " lines, and %" PRIu32
                         " was compiled: it is another one now",
                         last->file, text->count, last->line);
    }
}

/* List the lines of a file from the first to the last one with code, with those between
 * them. */
static void
list_file(struct source_view *source, const struct known_file *file)
{
    const struct listing_target *target = source->view->target;
    struct listing *listing = source->listing;
    const struct source_text *text = annotator_source(source->view->annotator, listing,
                                                      file->file, source->newer_than_s);
    const struct known_line *line = &source->lines[file->first];
    const struct known_line *const end = source->lines + source->count;
    const uint64_t behind = (uint64_t)target->line + AROUND_LINES + 1;
    uint64_t next = start_line_of(source, file->file, line->line);

    listing_add_line(listing, LISTING_HEADING)->text = file->file;
    for (; line < end && line->file == file->file; line++) {
        if (line->line > next) {
            add_between(source, text, file->file, next, line->line);
        }
        add_line(source, text, file->file, line->line, line);
        next = (uint64_t)line->line + 1;
    }
    if (target->kind == LISTING_OF_LINE && next < behind) {
        add_between(source, text, file->file, next, behind);
    }
    note_short(source, text, line - 1);
}

/* Open the target's image, and set the time that sources should not be newer than: that
 * of the image's file, or of the profile if the image is missing. */
static void
open_image(struct source_view *source)
{
    struct view *view = source->view;

    source->newer_than_s = (int64_t)(view->profile->time_ns / 1000000000);
    if (view->target->image == LISTING_NONE) {
        return;
    }
    source->image = annotator_image(view->annotator, view->listing, view->profile,
                                    view->target->image);
    if (source->image != NULL && sym_image_written_s(source->image) != 0) {
        source->newer_than_s = sym_image_written_s(source->image);
    }
}

/* Add the requested line even if it has no code. */
static void
add_asked_line(struct source_view *source)
{
    const struct listing_target *target = source->view->target;
    struct known_line *const line =
        find_line(source, copy(source, target->file), target->line);

    if (line != NULL) {
        line->has_code = line->hits_at != LISTING_NO_HITS;
    }
}

bool
view_source(struct view *view)
{
    struct source_view source = {.view = view, .listing = view->listing};
    bool any = false;

    open_image(&source);
    add_rows(&source);
    any = source.count > 0;
    if (any && source.image != NULL && view->target->kind == LISTING_OF_FUNCTION &&
        view->profile->bucket_bytes > 0) {
        add_code_lines(&source);
    }
    if (view->target->kind == LISTING_OF_LINE) {
        add_asked_line(&source);
        any = true;
    }
    if (any && !listing_failed(view->listing) && sort_lines(&source)) {
        for (size_t i = 0; i < source.file_count; i++) {
            list_file(&source, &source.files[i]);
        }
        view_below_source(view);
    }
    hash_index_finish(&source.index);
    free(source.lines);
    free(source.files);
    return any;
}
