/* SPDX-License-Identifier: MIT */
/*
 * preload_object.c - the preload object as a file that programs can load.
 *
 * A file of memory has the name /proc/self/fd/N. Nobody can change it: it is sealed,
 * and what N is in a program only that program decides. preload/own_file.c has what
 * follows for programs that close N.
 */
#include "record/preload_object.h"

#include "base/embedded.h"
#include "base/installed.h"
#include "base/memory_file.h"
#include "base/whole_file.h"
#include "record/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char object_file[] = "libntprof-agent.so";
static const char object_file_i386[] = "libntprof-agent-i386.so"; /* 32-bit programs */

/* ---- A file of memory ---- */

/* The lowest number for the descriptor: the last one below 1024 that a program may
 * open, as programs take the lowest, and as the kernel's table of descriptors grows
 * with it. A program that may open very few gets any that is free. */
static int
lowest_number(void)
{
    const rlim_t limit = child_file_limit();

    return limit >= 1024 ? 1023 : limit > 16 ? (int)limit - 1 : STDERR_FILENO + 1;
}

/* Write all bytes, and let nobody change them. Returns false and sets errno if that
 * fails. */
static bool
fill_and_seal(int fd, const struct embedded_file *file)
{
    return whole_file_write(fd, file->bytes, file->size) && fchmod(fd, 0444) == 0 &&
           fcntl(fd, F_ADD_SEALS,
                 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0;
}

/* Make the file under a high number. Returns false and sets errno if that fails. */
static bool
make_file(struct preload_object *object, const struct embedded_file *file)
{
    const int low = memory_file_create("ntprof-agent.so");
    int failure;

    if (low < 0) {
        return false;
    }
    object->fd =
        fill_and_seal(low, file) ? fcntl(low, F_DUPFD_CLOEXEC, lowest_number()) : -1;
    failure = errno;
    (void)close(low);
    errno = failure;
    return object->fd >= 0;
}

/* Make the object of a command that is one file. */
static bool
make_object(struct preload_object *object, const char *name, char *why, size_t why_size)
{
    const struct embedded_file *const file = embedded_find(name);

    if (file == NULL) {
        snprintf(
            why, why_size,
            "its preload object %s is not in this ntprof, which was built where no "
            "compiler makes 32-bit programs",
            name);
        return false;
    }
    if (!make_file(object, file)) {
        snprintf(why, why_size, "the file of its preload object cannot be made: %s",
                 strerror(errno));
        return false;
    }
    snprintf(object->path, sizeof(object->path), "/proc/self/fd/%d", object->fd);
    if (access(object->path, R_OK) != 0) {
        snprintf(
            why, why_size,
            "its preload object cannot be reached by /proc/self/fd: %s; mount /proc",
            strerror(errno));
        preload_object_close(object);
        return false;
    }
    return true;
}

/* ---- An installed file ---- */

/* Find a preload object: name is object_file or object_file_i386; path has room for
 * PATH_MAX bytes. Returns false with the reason in why. */
static bool
find_object(const char *name, char *path, char *why, size_t why_size)
{
    snprintf(why, why_size, "its preload object %s is not installed; %s", name,
             name == object_file
                 ? "install ntprof again"
                 : "build ntprof where the compiler makes 32-bit programs too");
    switch (installed_find(name, "../preload", path)) {
    case INSTALLED_MISSING:
        return false;
    case INSTALLED_UNREADABLE:
        snprintf(why, why_size,
                 "its preload object %s cannot be read: %s; install ntprof again", name,
                 strerror(errno));
        return false;
    case INSTALLED_UNTRUSTED:
        snprintf(why, why_size,
                 "others can write its preload object %s or a folder of its path; "
                 "install ntprof again",
                 name);
        return false;
    case INSTALLED_FOUND:
        break;
    }
    if (strpbrk(path, ": \t\n") != NULL) {
        snprintf(why, why_size,
                 "the path of its preload object has a blank or a colon, which "
                 "separate names in LD_PRELOAD; install ntprof elsewhere");
        return false;
    }
    return true;
}

/* ---- Either ---- */

bool
preload_object_open(struct preload_object *object, bool i386, char *why,
                    size_t why_size)
{
    const char *const name = i386 ? object_file_i386 : object_file;

    object->fd = -1;
    return embedded_is_used() ? make_object(object, name, why, why_size)
                              : find_object(name, object->path, why, why_size);
}

void
preload_object_close(struct preload_object *object)
{
    if (object->fd >= 0) {
        (void)close(object->fd);
    }
    object->fd = -1;
}
