/* SPDX-License-Identifier: MIT */
/* annotator.c - finds the files of listings and keeps them open. */
#include "view/listing/annotator.h"
#include "view/listing/image_file.h"

#include "base/buffer.h"
#include "base/hash_index.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source_file {
    char *path; /* as debug information has it */
    struct source_text text;
    int error;    /* 0 or a negative errno */
    char *opened; /* path on this machine */
};

/* annotator - the files that were opened. Both lists are short: a listing opens only
 * the files of what the user chose. */
struct annotator {
    struct annotator_settings settings;
    struct image_file **images;
    size_t image_count;
    struct source_file **sources;
    size_t source_count;
};

struct annotator *
annotator_new(const struct annotator_settings *settings)
{
    struct annotator *const annotator = calloc(1, sizeof(*annotator));

    if (annotator != NULL && settings != NULL) {
        annotator->settings = *settings;
    }
    return annotator;
}

void
annotator_delete(struct annotator *annotator)
{
    if (annotator == NULL) {
        return;
    }
    for (size_t i = 0; i < annotator->image_count; i++) {
        image_file_close(annotator->images[i]);
        free(annotator->images[i]);
    }
    for (size_t i = 0; i < annotator->source_count; i++) {
        source_text_finish(&annotator->sources[i]->text);
        free(annotator->sources[i]->path);
        free(annotator->sources[i]->opened);
        free(annotator->sources[i]);
    }
    free(annotator->images);
    free(annotator->sources);
    free(annotator);
}

const struct annotator_settings *
annotator_settings_of(const struct annotator *annotator)
{
    return &annotator->settings;
}

/* --- images --- */

/* Open an image's file, and keep it or the reason why there is none. Returns NULL if
 * memory runs out. */
static struct image_file *
new_image(struct annotator *annotator, const struct profile_image *image)
{
    struct image_file **const larger =
        reallocarray(annotator->images, annotator->image_count + 1, sizeof(*larger));
    struct image_file *file;

    if (larger == NULL) {
        return NULL;
    }
    annotator->images = larger;
    file = calloc(1, sizeof(*file));
    if (file == NULL) {
        return NULL;
    }
    if (!image_file_open(file, image->path, image->build_id,
                         annotator->settings.image_dir, annotator->settings.symbols)) {
        image_file_close(file);
        free(file);
        return NULL;
    }
    annotator->images[annotator->image_count++] = file;
    return file;
}

/* Return an image's file, which is opened the first time. Returns NULL if memory runs
 * out. */
static struct image_file *
find_image(struct annotator *annotator, const struct profile_image *image)
{
    for (size_t i = 0; i < annotator->image_count; i++) {
        struct image_file *const file = annotator->images[i];

        if (strcmp(file->path, image->path) == 0 &&
            strcmp(file->build_id, image->build_id) == 0) {
            return file;
        }
    }
    return new_image(annotator, image);
}

struct sym_image *
annotator_image(struct annotator *annotator, struct listing *listing,
                const struct profile *profile, uint32_t image)
{
    const struct image_file *const file =
        find_image(annotator, &profile->images[image]);

    if (file == NULL) {
        listing->private->failed = true;
        return NULL;
    }
    if (file->image == NULL) {
        listing_add_note(listing, LISTING_NOTE_IMAGE, "no instructions of %s: %s",
                         file->tried, file->why);
    } else if (file->why[0] != '\0') {
        listing_add_note(listing, LISTING_NOTE_IMAGE, "%s", file->why);
    }
    if (file->image != NULL && sym_image_note(file->image)[0] != '\0') {
        listing_add_note(listing, LISTING_NOTE_NAMES, "%s",
                         sym_image_note(file->image));
    }
    return file->image;
}

/* --- sources --- */

/* Return the path of a source on this machine, for free(): the longest prefix of the
 * settings that matches is replaced. Returns NULL if memory runs out. */
static char *
map_path(const struct annotator *annotator, const char *file)
{
    const struct listing_prefix *best = NULL;
    struct buffer path = {0};
    size_t length = 0;

    for (size_t i = 0; i < annotator->settings.prefix_count; i++) {
        const struct listing_prefix *prefix = &annotator->settings.prefixes[i];
        size_t size = strlen(prefix->from);

        while (size > 0 && prefix->from[size - 1] == '/') {
            size--;
        }
        /* "" is for relative paths; "/", whose slash was cut, for absolute ones. */
        if (strncmp(file, prefix->from, size) == 0 &&
            (prefix->from[0] == '\0' ? file[0] != '/' : file[size] == '/') &&
            (best == NULL || size > length)) {
            best = prefix;
            length = size;
        }
    }
    if (best != NULL) {
        buffer_print(&path, "%s%s", best->to, file[length] == '/' ? "" : "/");
    }
    buffer_append_text(&path, file + length);
    if (buffer_text(&path) == NULL) {
        buffer_finish(&path);
        return NULL;
    }
    return (char *)path.data; /* malloc'd and terminated by NUL */
}

/* Read a source file, which is kept for later listings. Returns NULL if memory runs
 * out; file->error says why it cannot be read. */
static struct source_file *
new_source(struct annotator *annotator, const char *path)
{
    struct source_file **const larger =
        reallocarray(annotator->sources, annotator->source_count + 1, sizeof(*larger));
    struct source_file *file;

    if (larger == NULL) {
        return NULL;
    }
    annotator->sources = larger;
    file = calloc(1, sizeof(*file));
    if (file == NULL) {
        return NULL;
    }
    file->path = strdup(path);
    file->opened = map_path(annotator, path);
    if (file->path == NULL || file->opened == NULL) {
        free(file->path);
        free(file->opened);
        free(file);
        return NULL;
    }
    annotator->sources[annotator->source_count++] = file;
    file->error = source_text_read(&file->text, file->opened);
    return file;
}

/* Return a source file, which is read the first time. Returns NULL if memory runs
 * out. */
static struct source_file *
find_source(struct annotator *annotator, const char *path)
{
    for (size_t i = annotator->source_count; i > 0; i--) {
        if (strcmp(annotator->sources[i - 1]->path, path) == 0) {
            return annotator->sources[i - 1];
        }
    }
    return new_source(annotator, path);
}

/* Add a note why a source cannot be used. Missing sources are only remembered, for one
 * note about all. */
static void
note_source(struct listing *listing, const struct source_file *file)
{
    if (file->error == -ENOENT || file->error == -ENOTDIR) {
        listing->private->failed |=
            string_set_add(&listing->private->missing, file->path,
                           strlen(file->path)) == HASH_INDEX_NONE;
        return;
    }
    listing_add_note(listing, LISTING_NOTE_SOURCE, "no source %s: %s", file->opened,
                     file->error == -EINVAL   ? "it is no regular file"
                     : file->error == -EFBIG  ? "it is larger than 64 MiB"
                     : file->error == -EILSEQ ? "it is no text"
                                              : strerror(-file->error));
}

/* Return the length of the longest path of a folder, without a slash at its end, that
 * contains all paths; 0 if there is none. */
static int
common_folder(const struct string_set *paths)
{
    const char *const first = paths->texts[0];
    size_t size = strlen(first);

    for (size_t i = 1; i < paths->count; i++) {
        size_t same = 0;

        while (same < size && paths->texts[i][same] == first[same]) {
            same++;
        }
        size = same;
    }
    while (size > 0 && first[size - 1] != '/') {
        size--;
    }
    return size == 0 || size > INT_MAX ? 0 : (int)(size - 1);
}

void
annotator_note_missing(struct listing *listing)
{
    const struct string_set *const missing = &listing->private->missing;
    const char *const first = missing->count == 0 ? "" : missing->texts[0];
    /* The length of the folder that --source-dir can replace for all of them. */
    const int common = missing->count == 0 ? 0 : common_folder(missing);
    const char *what = missing->count == 1 ? "it is elsewhere" : "they are elsewhere";
    const char *more = "";

    if (missing->count == 0) {
        return;
    }
    if (missing->count > 1) {
        more = listing_format(listing, ", nor %zu more", missing->count - 1);
    }
    /* Relative paths have no OLD: --source-dir DIR is for all of them. */
    if (first[0] == '/' && common == 0) {
        listing_add_note(listing, LISTING_NOTE_SOURCE,
                         "no source %s: not there%s; if %s: --source-dir OLD=NEW",
                         first, more, what);
    } else {
        listing_add_note(listing, LISTING_NOTE_SOURCE,
                         "no source %s: not there%s; if %s: --source-dir %.*s%sDIR",
                         first, more, what, first[0] == '/' ? common : 0, first,
                         first[0] == '/' ? "=" : "");
    }
}

const struct source_text *
annotator_source(struct annotator *annotator, struct listing *listing, const char *file,
                 int64_t newer_than_s)
{
    const struct source_file *const source =
        file[0] == '\0' ? NULL : find_source(annotator, file);

    if (source == NULL) {
        listing->private->failed |= file[0] != '\0';
        return NULL;
    }
    if (source->error != 0) {
        note_source(listing, source);
        return NULL;
    }
    if (newer_than_s != 0 && source->text.written_s > newer_than_s) {
        listing_add_note(
            listing, LISTING_NOTE_SOURCE,
            "%s was changed after what was profiled: lines may be others now",
            source->opened);
    }
    return &source->text;
}
