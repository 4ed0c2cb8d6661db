/* SPDX-License-Identifier: MIT */
/*
 * debug_file.c - debug files by build-id and by debuglink.
 */
#include "symbols/reader/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#define DEBUG_FOLDER "/usr/lib/debug"
#define LINK_BYTES_MAX (UINT64_C(1) << 16)

/* A sparse file may have more than anybody can read. */
#define CRC_BYTES_MAX (UINT64_C(1) << 32)

/* search - the parameters and results of a search. A candidate is a file of a name that
 * the debug file may have. */
struct search {
    const struct sym_elf *image;
    const char *path;
    const char *root;
    const struct sym_files *files;
    unsigned char id[SYM_ELF_BUILD_ID_BYTES_MAX];
    size_t id_size;
    const char *link; /* file name of the debuglink; NULL while searching by build-id */
    uint32_t link_crc;
    struct sym_debug_file *found;
    char *note;
    size_t note_size;
};

/* --- one candidate --- */

static bool
crc_fits(const struct sym_elf *file, uint32_t expected)
{
    return file->size <= CRC_BYTES_MAX &&
           (uint32_t)crc32_z(0, file->bytes, (size_t)file->size) == expected;
}

/* Return what is wrong with a candidate, or NULL. */
static const char *
check_elf(const struct search *search, const struct sym_elf *candidate)
{
    unsigned char id[SYM_ELF_BUILD_ID_BYTES_MAX];
    const size_t size = sym_elf_build_id(candidate, id);
    const bool same = size == search->id_size && memcmp(id, search->id, size) == 0;

    /* Without build-ids the CRC decides. */
    if (!same && (search->link == NULL || (size != 0 && search->id_size != 0))) {
        return size == 0 ? "it has no build-id" : "it has another build-id";
    }
    return search->link == NULL || crc_fits(candidate, search->link_crc)
               ? NULL
               : "its CRC is not the one in the debuglink";
}

/* Return what is wrong with the file of a descriptor, which stays open, or NULL. */
static const char *
check_candidate(const struct search *search, int fd)
{
    struct sym_elf candidate;
    const char *complaint;

    if (sym_elf_open(&candidate, fd) != 0) {
        return "it is no readable ELF file";
    }
    complaint = check_elf(search, &candidate);
    sym_elf_close(&candidate);
    return complaint;
}

/* Open a candidate. Returns true, with found set, if it is the debug file. If it exists
 * and is not, the search's note says why. */
static bool
try_file(const struct search *search, const char *root, const char *path)
{
    const struct sym_files *const files = search->files;
    const int fd = files->open == NULL ? -1 : files->open(files->context, root, path);
    const char *complaint;

    if (fd < 0) {
        return false;
    }
    complaint = check_candidate(search, fd);
    if (complaint != NULL) {
        snprintf(search->note, search->note_size, "debug file %s%s is not used: %s",
                 path, root[0] != '\0' ? " of its container" : "", complaint);
        close(fd);
        return false;
    }
    search->note[0] = '\0';
    search->found->fd = fd;
    search->found->root = root;
    snprintf(search->found->path, sizeof(search->found->path), "%s", path);
    return true;
}

/* Try a file in the image's root, then in ours. */
static bool
try_both_roots(const struct search *search, const char *path)
{
    return try_file(search, search->root, path) ||
           (search->root[0] != '\0' && try_file(search, "", path));
}

/* --- folders --- */

/* Try .build-id/XX/REST.debug in the folder of debug files. */
static bool
search_by_build_id(const struct search *search)
{
    char path[sizeof(DEBUG_FOLDER) + 32 + 2 * SYM_ELF_BUILD_ID_BYTES_MAX];
    int length;

    if (search->id_size < 2) {
        return false;
    }
    length =
        snprintf(path, sizeof(path), DEBUG_FOLDER "/.build-id/%02x/", search->id[0]);
    for (size_t i = 1; i < search->id_size; i++) {
        length += snprintf(path + length, sizeof(path) - (size_t)length, "%02x",
                           search->id[i]);
    }
    snprintf(path + length, sizeof(path) - (size_t)length, ".debug");
    return try_both_roots(search, path);
}

/* Try the file prefix + folder of the image + middle + link, in both roots or only the
 * image's. */
static bool
try_beside(const struct search *search, const char *prefix, const char *middle,
           bool both_roots)
{
    const char *slash = strrchr(search->path, '/');
    char path[PATH_MAX];
    int length;

    if (slash == NULL || search->path[0] != '/') {
        return false;
    }
    length = snprintf(path, sizeof(path), "%s%.*s/%s%s", prefix,
                      (int)(slash - search->path), search->path, middle, search->link);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        return false;
    }
    return both_roots ? try_both_roots(search, path)
                      : try_file(search, search->root, path);
}

/* Try the three folders in which gdb looks for the file that a debuglink names. */
static bool
search_by_link(const struct search *search)
{
    return try_beside(search, "", "", /* both_roots */ false) ||
           try_beside(search, "", ".debug/", /* both_roots */ false) ||
           try_beside(search, DEBUG_FOLDER, "", /* both_roots */ true);
}

/* Search the file that .gnu_debuglink names. A name with a slash in it would lead out
 * of the three folders. */
static void
search_by_link_section(struct search *search)
{
    GElf_Word crc;

    search->link = dwelf_elf_gnu_debuglink(search->image->elf, &crc);
    if (search->link != NULL && search->link[0] != '\0' &&
        strchr(search->link, '/') == NULL) {
        search->link_crc = crc;
        (void)search_by_link(search);
    }
}

/* Return a search in which nothing is found yet. */
static struct search
begin_search(const struct sym_elf *file, const char *path, const char *root,
             const struct sym_files *files, struct sym_debug_file *found, char *note,
             size_t note_size)
{
    found->fd = -1;
    found->root = "";
    found->path[0] = '\0';
    note[0] = '\0';
    return (struct search){.image = file,
                           .path = path,
                           .root = root,
                           .files = files,
                           .found = found,
                           .note = note,
                           .note_size = note_size};
}

/* --- servers --- */

/* Return why no server has sent the file, or NULL if they only do not have it. */
static const char *
explain_failure(int error)
{
    switch (error) {
    case -ENOENT:
        return NULL;
    case -ETIME:
        return "no answer within the time for downloads";
    case -ENOSYS:
        return "no server is named";
    default:
        return strerror(-error);
    }
}

/* Ask servers for the file. Returns true, with found set, if one sent it. Why it was
 * not sent, or is not used, is in the search's note. */
static bool
search_servers(struct search *search)
{
    const struct sym_files *const files = search->files;
    struct sym_debug_file *const found = search->found;
    const char *complaint;
    int fd;

    if (files->download == NULL || search->id_size == 0) {
        return false;
    }
    search->link = NULL;
    fd = files->download(files->context, search->id, search->id_size, found->path,
                         sizeof(found->path));
    complaint = fd < 0 ? explain_failure(fd) : check_candidate(search, fd);

    if (complaint != NULL) {
        snprintf(search->note, search->note_size,
                 fd < 0 ? "no debug file of %s from servers: %s"
                        : "debug file %s from a server is not used: %s",
                 fd < 0 ? search->path : found->path, complaint);
    }
    if (fd < 0 || complaint != NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    search->note[0] = '\0'; /* of a local file that was refused */
    found->fd = fd;
    found->root = "";
    return true;
}

/* --- whole searches --- */

/* Try the file that .gnu_debugaltlink names: by an absolute path, or relative to the
 * folder of the file that has the section. */
static bool
search_by_name(const struct search *search, const char *name)
{
    const char *slash = strrchr(search->path, '/');
    char path[PATH_MAX];
    int length;

    if (name[0] == '/') {
        return try_both_roots(search, name);
    }
    if (slash == NULL || search->path[0] != '/') {
        return false;
    }
    length = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - search->path),
                      search->path, name);
    return length > 0 && (size_t)length < sizeof(path) &&
           try_file(search, search->root, path);
}

/* Search the file that .gnu_debugaltlink names. The section holds its name, a NUL, and
 * its build-id. */
static void
search_supplement(struct search *search, const char *section, size_t size)
{
    const size_t name_size = strnlen(section, size) + 1;

    if (name_size == 1 || name_size >= size ||
        size - name_size > SYM_ELF_BUILD_ID_BYTES_MAX) {
        return;
    }
    search->id_size = size - name_size;
    memcpy(search->id, section + name_size, search->id_size);
    if (!search_by_name(search, section) && !search_by_build_id(search) &&
        !search_servers(search) && search->note[0] == '\0') {
        snprintf(search->note, search->note_size,
                 "%s, which debug file %s needs, is not there", section, search->path);
    }
}

void
sym_debug_file_open(const struct sym_elf *image, const char *path, const char *root,
                    const struct sym_files *files, struct sym_debug_file *found,
                    char *note, size_t note_size)
{
    struct search search =
        begin_search(image, path, root, files, found, note, note_size);

    search.id_size = sym_elf_build_id(image, search.id);
    if (!search_by_build_id(&search)) {
        search_by_link_section(&search);
    }
    if (found->fd < 0) {
        (void)search_servers(&search);
    }
}

void
sym_debug_file_open_supplement(const struct sym_elf *file, const char *path,
                               const char *root, const struct sym_files *files,
                               struct sym_debug_file *found, char *note,
                               size_t note_size)
{
    const size_t index = sym_elf_find_section(file, ".gnu_debugaltlink");
    struct search search =
        begin_search(file, path, root, files, found, note, note_size);
    size_t size;
    char *section;

    section =
        index == 0 ? NULL : sym_elf_section_copy(file, index, LINK_BYTES_MAX, &size);
    if (section != NULL) {
        search_supplement(&search, section, size);
        free(section);
    }
}
