/* SPDX-License-Identifier: MIT */
/*
 * files.h - the files of a store: FILE, and FILE-journal, FILE-wal and FILE-shm, in
 * which SQLite keeps changes that are not in FILE yet and the locks.
 *
 * SQLite believes all four. It changes FILE by what it finds in a journal, and maps
 * FILE-shm, so that whoever shortens that file kills its users. So they are used only
 * if one trusted user owns them all: the caller, root, or the owner of the folder. In a
 * folder where others may make files, those that are missing are made before SQLite
 * looks for them, and none is removed, so that nobody else can make them.
 */
#ifndef STORE_SQLITE_FILES_H
#define STORE_SQLITE_FILES_H

#include "base/file_place.h"

#include <limits.h>
#include <sys/stat.h>

enum { STORE_FILES_WHY_BYTES = 400 };

struct store_files {
    struct file_place place; /* of FILE */
    struct stat status;      /* of FILE, when it was found */
    bool shared; /* others than FILE's owner and root may make files in the folder */
    char path[NAME_MAX + 64]; /* FILE by way of the open folder, for SQLite */
};

/*
 * store_files_find - find FILE and check whose it is.
 *
 *   why  out: STORE_FILES_WHY_BYTES bytes; why the store is not used
 *
 * Returns false with *why set; then there is nothing to finish.
 */
bool store_files_find(struct store_files *files, const char *path, char *why);

/* store_files_provide - check the files beside a FILE that was found, and make those
 * that are missing. Returns false with *why set, as above. */
bool store_files_provide(const struct store_files *files, char *why);

/*
 * store_files_create - make FILE, readable only to its owner, with these bytes, and in
 * a folder where others may make files those beside it. Such files of an earlier store
 * are removed.
 *
 * Returns false with *why set and without a FILE that was not there before; then there
 * is nothing to finish.
 */
bool store_files_create(struct store_files *files, const char *path, const void *bytes,
                        size_t size, char *why);

/* store_files_finish - close the folder. */
void store_files_finish(struct store_files *files);

#endif
