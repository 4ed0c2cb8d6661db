/* SPDX-License-Identifier: MIT */
/*
 * section_cache.h - keeps debug sections, unpacked, for later commands: unpacking them
 * is most of what names of a packed file cost.
 *
 * A file of the cache is of one file, by device, inode, size and time of the last
 * change; its build-id is in it. It is an image of that file's debug sections
 * (reader/dwarf_image.h), which a process makes that reads nothing else: so a file that
 * takes its readers over can lie about its own sections only. Readers take it as a
 * foreign file. Files are unpacked if they are root's or the caller's, and for nobody
 * else to change.
 */
#ifndef SYMBOLS_CLIENT_SECTION_CACHE_H
#define SYMBOLS_CLIENT_SECTION_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of all files together, beside the one that is being made, and of one. */
#define SECTION_CACHE_BYTES_MAX (UINT64_C(512) << 20)
#define SECTION_CACHE_FILE_BYTES_MAX (UINT64_C(128) << 20)

/* section_cache_size - what is in a cache. */
struct section_cache_size {
    uint64_t files;
    uint64_t bytes;
};

/* Get the caller's cache: /var/cache/ntprof of root, else $XDG_CACHE_HOME/ntprof or
 * $HOME/.cache/ntprof. Returns false with *why, a reason for people, if there is none:
 * of a program with more rights than its caller, or without these variables. */
bool section_cache_folder(char *path, size_t size, const char **why);

/* section_wanted - sections that a reader wants unpacked. */
struct section_wanted {
    int fd;         /* of the file that has them */
    bool split;     /* those of split units */
    uint64_t bytes; /* size of the image of them, as the reader has found it */
};

/*
 * Open the image of the sections of a file, which is made if the cache has none.
 *
 *   cache   its folder, which is made if it is not there
 *   cpu_ns  increased by the processor time that unpacking took
 *
 * Returns a descriptor (close-on-exec), or -ENOENT if there is none: the file or the
 * folder may be somebody else's, the file too large or damaged, the disk full.
 */
int section_cache_open(const char *cache, const struct section_wanted *wanted,
                       uint64_t *cpu_ns);

/* Get what is in a cache, which may not be there. Returns false with *why, as functions
 * of base/private_folder.h do, if the folder cannot be opened or is not the caller's
 * alone. */
bool section_cache_measure(const char *cache, struct section_cache_size *found,
                           const char **why);

/* Remove all files of a cache. removed: out. Returns false as above, or if one could
 * not be removed. */
bool section_cache_clear(const char *cache, struct section_cache_size *removed,
                         const char **why);

#endif
