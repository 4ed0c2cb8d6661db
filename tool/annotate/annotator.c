/* SPDX-License-Identifier: MIT */
/* annotator.c - finds and keeps the files of listings. */
#include "annotate/annotator.h"

#include "sym/open_regular.h"
#include "util/buffer.h"
#include "util/hash_index.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* image_file - the file of an image, or why there is none. */
struct image_file {
    char *path; /* of the image, in the profile */
    char *build_id;
    struct sym_image *image; /* NULL: note says why */
    char note[1024];
};

struct source_file {
    char *path; /* as in debug information */
    struct source_text text;
    int error; /* 0, or negative errno */
    char *opened;
};

/* annotator - both are few: those that somebody looks at. */
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
        sym_image_close(annotator->images[i]->image);
        free(annotator->images[i]->path);
        free(annotator->images[i]->build_id);
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

/* Files and the vdso have code that can be read later; why the others have not. */
static const char *
why_no_file(const char *path)
{
    if (strncmp(path, "[anon", 5) == 0) {
        return "code that was made while the program ran is gone with it: hits are "
               "shown by "
               "address";
    }
    if (path[0] == '\0') {
        return "the profile does not tell in which file this code is";
    }
    return "the kernel's code lies elsewhere each time that it starts, and is not in a "
           "file "
           "that could be checked: hits are shown by address";
}

static void
refuse(struct image_file *file, const char *path, const char *why)
{
    snprintf(file->note, sizeof(file->note), "no instructions of %.400s: %s",
             path[0] != '\0' ? path : "[unknown]", why);
}

/* Keeps the image if it is the one that was profiled. */
static void
check_build(struct image_file *file, const char *path, struct sym_image *image)
{
    const char *found = sym_image_build_id(image);
    char why[400];

    if (strcmp(found, file->build_id) == 0) {
        file->image = image;
        if (found[0] == '\0') {
            snprintf(file->note, sizeof(file->note),
                     "%.400s has no build-id: whether it is the file that was profiled "
                     "cannot be checked",
                     path);
        }
        return;
    }
    snprintf(
        why, sizeof(why),
        "the file is of another build: it has build-id %.100s, the profile %.100s; "
        "--image-dir DIR looks for the right one in DIR",
        found[0] == '\0' ? "none" : found,
        file->build_id[0] == '\0' ? "none" : file->build_id);
    refuse(file, path, why);
    sym_image_close(image);
}

/* False if there is no such file. */
static bool
try_path(struct image_file *file, const char *path)
{
    const int fd = sym_open_regular("", path);
    struct sym_image *image;

    if (fd == -ENOENT || fd == -ENOTDIR) {
        return false;
    }
    if (fd < 0) {
        refuse(file, path, sym_open_error(fd));
        return true;
    }
    image = sym_image_open(fd, path, "");
    if (image == NULL) {
        refuse(file, path,
               errno == ENOEXEC ? "it is no program or library (ELF file)"
                                : strerror(errno));
        return true;
    }
    check_build(file, path, image);
    return true;
}

/* Is there one below folder, of the right build? */
static bool
try_folder(struct image_file *file, const char *folder)
{
    const char *const names[] = {file->path, listing_last_part(file->path)};

    for (size_t i = 0; i < 2 && file->image == NULL; i++) {
        struct buffer path = {0};

        buffer_print(&path, "%s/%s", folder, names[i]);
        if (buffer_text(&path) != NULL) {
            (void)try_path(file, buffer_text(&path));
        }
        buffer_finish(&path);
    }
    return file->image != NULL;
}

static void
open_image(const struct annotator *annotator, struct image_file *file)
{
    if (strcmp(file->path, "[vdso]") == 0) {
        struct sym_image *const vdso = sym_image_open_vdso();

        if (vdso != NULL) {
            check_build(file, file->path, vdso);
        } else {
            refuse(file, file->path, "this process has none");
        }
    } else if (file->path[0] != '/') {
        refuse(file, file->path, why_no_file(file->path));
    } else if ((annotator->settings.image_dir == NULL ||
                !try_folder(file, annotator->settings.image_dir)) &&
               !try_path(file, file->path)) {
        refuse(file, file->path,
               "the file is not there; --image-dir DIR looks for it in DIR");
    }
    if (file->image != NULL && annotator->settings.symbols != NULL) {
        sym_image_configure(file->image, annotator->settings.symbols);
    }
}

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
    file->path = strdup(image->path);
    file->build_id = strdup(image->build_id);
    if (file->path == NULL || file->build_id == NULL) {
        free(file->path);
        free(file->build_id);
        free(file);
        return NULL;
    }
    annotator->images[annotator->image_count++] = file;
    open_image(annotator, file);
    return file;
}

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
    if (file->note[0] != '\0') {
        listing_add_note(listing, LISTING_NOTE_IMAGE, "%s", file->note);
    }
    if (file->image != NULL && sym_image_note(file->image)[0] != '\0') {
        listing_add_note(listing, LISTING_NOTE_NAMES, "%s",
                         sym_image_note(file->image));
    }
    return file->image;
}

/* --- sources --- */

/* Where a source is here: the longest prefix that fits wins. NULL: out of memory. */
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
        if (strncmp(file, prefix->from, size) == 0 &&
            (file[size] == '/' || (prefix->from[0] == '\0' && file[0] != '/')) &&
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
    return (char *)path.data; /* malloc'd, with a NUL behind it */
}

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

/* Says why there is no source. Of those that are not there one note is for all. */
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

/* Bytes of the folder that all of the paths are below. */
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
    const int common = missing->count == 0 ? 0 : common_folder(missing);
    const char *what = missing->count == 1 ? "it is elsewhere" : "they are elsewhere";
    const char *more = "";

    if (missing->count == 0) {
        return;
    }
    if (missing->count > 1) {
        more = listing_format(listing, ", nor %zu more", missing->count - 1);
    }
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
