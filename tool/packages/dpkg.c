/* SPDX-License-Identifier: MIT */
/*
 * dpkg.c - which package owns a file, by /var/lib/dpkg.
 *
 * Each package has a list of its files in info/PACKAGE.list or PACKAGE:ARCH.list. Where
 * /lib is a link to /usr/lib, a file may be listed by either path.
 */
#include "packages/packagesp.h"

#include "base/buffer.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATTERN_BYTES = PATH_MAX + 8, LIST_BYTES_MAX = 32 << 20 };

/* pattern - a path between newlines, as package lists have it, so that memmem finds
 * only whole lines. */
struct pattern {
    char text[PATTERN_BYTES];
    size_t length; /* 0: there is no such path */
};

/* wanted - the two paths by which a list may have a file: its own, and the other one
 * where /lib and the like are links into /usr. */
struct wanted {
    struct pattern own;
    struct pattern alias;
    bool by_own; /* the owner is known by the file's own path, and stays */
};

static void
make_pattern(struct pattern *pattern, const char *prefix, const char *path)
{
    const int length =
        snprintf(pattern->text, sizeof(pattern->text), "\n%s%s\n", prefix, path);

    pattern->length =
        length > 0 && (size_t)length < sizeof(pattern->text) ? (size_t)length : 0;
}

static bool
is_below(const char *path, const char *folder)
{
    const size_t length = strlen(folder);

    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* Make both paths of a file: /usr/lib/x and /lib/x for either, and so on. */
static void
make_wanted(struct wanted *wanted, const char *path)
{
    static const char *const folders[] = {"/lib",    "/lib64", "/lib32", "/libx32",
                                          "/libo32", "/bin",   "/sbin"};
    const char *const below_usr = is_below(path, "/usr") ? path + 4 : NULL;

    *wanted = (struct wanted){.by_own = false};
    if (strchr(path, '\n') != NULL) {
        return; /* no list has such a path */
    }
    make_pattern(&wanted->own, "", path);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (below_usr != NULL && is_below(below_usr, folders[i])) {
            make_pattern(&wanted->alias, "", below_usr);
        } else if (is_below(path, folders[i])) {
            make_pattern(&wanted->alias, "/usr", path);
        }
    }
}

/* Read a package's list of files between newlines, so that each path in it stands
 * between two. Returns false if it cannot be read whole or the bounds ended it. */
static bool
read_list(struct package_bounds *bounds, int at, const char *name, struct buffer *list)
{
    const int fd = package_open(at, name);
    struct stat status;
    ssize_t got = 1;
    bool whole = false;

    list->size = 0;
    if (fd < 0) {
        return false;
    }
    buffer_append_byte(list, '\n');
    if (fstat(fd, &status) == 0 && status.st_size <= LIST_BYTES_MAX &&
        package_bounds_take(bounds, (uint64_t)status.st_size)) {
        uint8_t *const room = buffer_reserve(list, (size_t)status.st_size + 1);
        size_t used = 0;

        while (room != NULL && got > 0 && used < (size_t)status.st_size) {
            got = read(fd, room + used, (size_t)status.st_size - used);
            used += got > 0 ? (size_t)got : 0;
        }
        whole = room != NULL && got >= 0;
        list->size += whole ? used : 0;
        buffer_append_byte(list, '\n');
    }
    close(fd);
    return whole && !list->failed;
}

static bool
list_has(const struct buffer *list, const struct pattern *pattern)
{
    return pattern->length != 0 &&
           memmem(list->data, list->size, pattern->text, pattern->length) != NULL;
}

/* Set the owner of each file that a package's list has. A list with the file's own path
 * is believed rather than one with the other path. name: of the list, length bytes
 * without its ending; it is PACKAGE or PACKAGE:ARCH. */
static void
search_list(const struct buffer *list, const char *name, size_t length,
            struct package_file *files, struct wanted *wanted, size_t count)
{
    const char *const colon = memchr(name, ':', length);
    const size_t package = colon != NULL ? (size_t)(colon - name) : length;

    for (size_t i = 0; i < count; i++) {
        const bool own = list_has(list, &wanted[i].own);

        if (!wanted[i].by_own && (own || list_has(list, &wanted[i].alias))) {
            wanted[i].by_own = own;
            (void)package_name_copy(files[i].owner, sizeof(files[i].owner), name,
                                    package);
        }
    }
}

/* Search all packages' lists for the wanted files. Returns false if the bounds or
 * memory ended that. */
static bool
search_lists(struct package_bounds *bounds, DIR *folder, struct package_file *files,
             struct wanted *wanted, size_t count)
{
    static const char ending[] = ".list";
    struct buffer list = {0};
    const struct dirent *entry;
    bool whole = true;

    while (whole && (entry = readdir(folder)) != NULL) {
        const size_t length = strlen(entry->d_name);

        if (!text_ends_with(entry->d_name, length, ending)) {
            continue;
        }
        if (read_list(bounds, dirfd(folder), entry->d_name, &list)) {
            search_list(&list, entry->d_name, length - strlen(ending), files, wanted,
                        count);
        }
        whole = bounds->bytes_left > 0 && !list.failed;
    }
    buffer_finish(&list);
    return whole;
}

/* ---- status: what is installed ---- */

/* status_reader - what is known while /var/lib/dpkg/status is read by paragraphs. */
struct status_reader {
    struct package_file *files;
    size_t count;
    char package[160]; /* name of the present paragraph's package; "": none yet */
};

/* Return the value of a line "Key: value" with this key; NULL if it has another. */
static const char *
value_of(const char *line, const char *key)
{
    const size_t length = strlen(key);

    return strncmp(line, key, length) == 0 && line[length] == ':'
               ? line + length + 1 + strspn(line + length + 1, " \t")
               : NULL;
}

static bool
is_version(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789.+-~:")] == '\0';
}

/* Return whether a package is a file's debug package: the one that apt's lists have,
 * or, if they have none, OWNER-dbgsym, which may be installed without any list. */
static bool
is_debug_package(const struct package_file *file, const char *package)
{
    const size_t length = strlen(file->owner);

    return file->debug[0] != '\0'
               ? strcmp(file->debug, package) == 0
               : length > 0 && strncmp(package, file->owner, length) == 0 &&
                     strcmp(package + length, "-dbgsym") == 0;
}

/* Take a line of the status file; for package_read_lines. It notes which debug packages
 * are installed, and the source and version of owners. */
static bool
take_status(void *context, char *line)
{
    struct status_reader *const reader = context;
    const char *const package = value_of(line, "Package");
    const char *const status = value_of(line, "Status");
    const char *const source = value_of(line, "Source");
    const char *const version = value_of(line, "Version");

    if (package != NULL || line[0] == '\0') {
        (void)package_name_copy(reader->package, sizeof(reader->package),
                                package != NULL ? package : "",
                                package != NULL ? strlen(package) : 0);
        return true;
    }
    for (size_t i = 0; i < reader->count && reader->package[0] != '\0'; i++) {
        struct package_file *const file = &reader->files[i];
        const bool owns = strcmp(file->owner, reader->package) == 0;

        if (status != NULL && strstr(status, " installed") != NULL &&
            is_debug_package(file, reader->package)) {
            file->installed = true;
            snprintf(file->debug, sizeof(file->debug), "%s", reader->package);
        }
        if (owns && source != NULL) { /* "python3.11 (3.11.2)" */
            (void)package_name_copy(file->source, sizeof(file->source), source,
                                    strcspn(source, " "));
        }
        if (owns && version != NULL && is_version(version)) {
            snprintf(file->version, sizeof(file->version), "%.95s", version);
        }
    }
    return true;
}

static void
read_status(struct package_bounds *bounds, const char *root, struct package_file *files,
            size_t count)
{
    struct status_reader reader = {.files = files, .count = count};
    char path[PATH_MAX];
    int fd = -1;

    if ((size_t)snprintf(path, sizeof(path), "%s/var/lib/dpkg/status", root) <
        sizeof(path)) {
        fd = package_open(AT_FDCWD, path);
    }
    if (fd >= 0) {
        (void)package_read_lines(bounds, fd, take_status, &reader);
    }
}

void
dpkg_find_installed(struct package_bounds *bounds, const char *root,
                    struct package_file *files, size_t count)
{
    read_status(bounds, root, files, count);
}

bool
dpkg_find_owners(struct package_bounds *bounds, const char *root,
                 struct package_file *files, size_t count)
{
    char path[PATH_MAX];
    struct wanted *wanted;
    DIR *folder = NULL;
    bool whole;

    if ((size_t)snprintf(path, sizeof(path), "%s/var/lib/dpkg/info", root) <
        sizeof(path)) {
        folder = opendir(path);
    }
    if (folder == NULL) {
        return false;
    }
    wanted = calloc(count, sizeof(*wanted));
    for (size_t i = 0; wanted != NULL && i < count; i++) {
        make_wanted(&wanted[i], files[i].path);
    }
    whole = wanted != NULL && search_lists(bounds, folder, files, wanted, count);
    closedir(folder);
    free(wanted);
    if (whole) {
        read_status(bounds, root, files, count);
    }
    return whole;
}
