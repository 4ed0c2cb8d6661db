/* SPDX-License-Identifier: MIT */
/* image_file.c - tries the path in the given folder, then the path itself, and compares
 * build-ids. */
#include "view/listing/image_file.h"

#include "base/buffer.h"
#include "base/open_regular.h"
#include "base/path.h"
#include "view/listing/listingp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return why an image whose path is no file's has no code that can be read now. */
static const char *
why_no_file(const char *path)
{
    if (strncmp(path, "[anon", 5) == 0) {
        return "code that was generated while the program ran no longer exists: hits "
               "are "
               "shown by address";
    }
    if (path[0] == '\0') {
        return "the profile does not say in which file this code is";
    }
    return "the kernel's code has other addresses after each boot, and is not in a "
           "file that could be checked: hits are shown by address";
}

/* Set why there is no file, and the path that was tried. */
static void
refuse_image(struct image_file *file, const char *path, const char *why)
{
    snprintf(file->tried, sizeof(file->tried), "%.400s",
             path[0] != '\0' ? path : "[unknown]");
    snprintf(file->why, sizeof(file->why), "%s", why);
}

/* Keep the file if it has the profile's build-id; otherwise set why not, and close
 * it. */
static void
check_build(struct image_file *file, const char *path, struct sym_image *image)
{
    const char *found = sym_image_build_id(image);
    char why[400];

    if (strcmp(found, file->build_id) == 0) {
        file->image = image;
        file->why[0] = '\0';
        if (found[0] == '\0') {
            snprintf(file->why, sizeof(file->why),
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
    refuse_image(file, path, why);
    sym_image_close(image);
}

/* Try the file at a path: keep it, or set why it cannot be used. Returns false if
 * nothing is there. */
static bool
try_path(struct image_file *file, const char *path, const struct sym_settings *settings)
{
    const int fd = sym_open_regular("", path);
    struct sym_image *image;

    if (fd == -ENOENT || fd == -ENOTDIR) {
        return false;
    }
    if (fd < 0) {
        refuse_image(file, path, sym_open_error(fd));
        return true;
    }
    image = sym_image_open(fd, path, "", settings);
    if (image == NULL) {
        refuse_image(file, path, sym_image_error(errno));
        return true;
    }
    check_build(file, path, image);
    return true;
}

/* Search below folder for a file of the right build. Returns whether there is one. */
static bool
try_folder(struct image_file *file, const char *folder,
           const struct sym_settings *settings)
{
    const char *const names[] = {file->path, path_last_part(file->path)};

    for (size_t i = 0; i < 2 && file->image == NULL; i++) {
        struct buffer path = {0};

        buffer_print(&path, "%s/%s", folder, names[i]);
        if (buffer_text(&path) != NULL) {
            (void)try_path(file, buffer_text(&path), settings);
        }
        buffer_finish(&path);
    }
    return file->image != NULL;
}

/* Find the file of an image: below folder, if that is not NULL, or at its path.
 * Otherwise set why there is none. */
static void
seek(struct image_file *file, const char *folder, const struct sym_settings *settings)
{
    if (strcmp(file->path, "[vdso]") == 0) {
        struct sym_image *const vdso = sym_image_open_vdso(settings);

        if (vdso != NULL) {
            check_build(file, file->path, vdso);
        } else {
            refuse_image(file, file->path, "this process has none");
        }
    } else if (file->path[0] != '/') {
        refuse_image(file, file->path, why_no_file(file->path));
    } else if ((folder == NULL || !try_folder(file, folder, settings)) &&
               !try_path(file, file->path, settings)) {
        refuse_image(file, file->path,
                     "the file is not there; --image-dir DIR looks for it in DIR");
    }
}

bool
image_file_open(struct image_file *file, const char *path, const char *build_id,
                const char *folder, const struct sym_settings *settings)
{
    *file = (struct image_file){.path = strdup(path), .build_id = strdup(build_id)};
    if (file->path == NULL || file->build_id == NULL) {
        return false;
    }
    seek(file, folder, settings);
    return true;
}

void
image_file_close(struct image_file *file)
{
    sym_image_close(file->image);
    free(file->path);
    free(file->build_id);
    *file = (struct image_file){.image = NULL};
}
