/* SPDX-License-Identifier: MIT */
/* mapped_file.h - opens the files of images while a process leads to them. Each call
 * for that may wait for a file system that does not answer, so the time of all is
 * limited (base/time_limit.h). */
#ifndef RECORD_COLLECT_MAPPED_FILE_H
#define RECORD_COLLECT_MAPPED_FILE_H

#include "record/collect/image.h"
#include "symbols/client/image.h"

/* Return the key of calls that may wait for the file of an image
 * (base/time_limit.h): its device. */
uint64_t mapped_file_key(const struct image *image);

/* Open the file of an image unless it was opened before, so that the addresses in it
 * can be named later, and set image->fd, root and what is known of the file. Failures
 * are counted in image->misses; after some, or if files_max files are open already, the
 * image is never opened. Parameters as of image_set_find. */
void mapped_file_open(struct image_set *set, struct image *image,
                      const ntprof_notification *map, const uint32_t *ancestors,
                      size_t count);

/* mapped_way - leads to the file of an image and to its debug files. */
struct mapped_way {
    int fd;           /* the file, perhaps O_PATH */
    int root;         /* root directory of its container; -1: that of the command */
    uint64_t key;     /* mapped_file_key */
    const char *path; /* as it was notified */
};

/* Have a reader open the file of an image, and look up wanted, if it is not NULL; debug
 * files are searched for in the root of its container, too. Returns NULL with errno set
 * if it cannot be read. */
struct sym_image *mapped_file_read(const struct mapped_way *way,
                                   const struct sym_settings *settings,
                                   const struct sym_wanted *wanted);

/* Whether a mapping is of memory without a file, where JITs put code. */
bool mapped_file_is_none(const ntprof_notification *map);

/* Whether a mapping is of a file in memory only: .NET's code is in a memfd, or in a
 * file of /dev/shm that it has removed. */
bool mapped_file_is_memory(const ntprof_notification *map);

/* Whether a mapped file in memory, such as a memfd, holds a program or library. False
 * if it cannot be opened; true if it is on a disk, whose files are not read here. */
bool mapped_file_holds_elf(const struct image *image, const ntprof_notification *map,
                           const uint32_t *ancestors, size_t count);

#endif
