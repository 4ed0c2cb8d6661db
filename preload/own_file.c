/* SPDX-License-Identifier: MIT */
/*
 * preload/own_file.c - the object's name in LD_PRELOAD, and its own file, where that
 * names a descriptor.
 *
 * A command that is one file (docs/decisions/0026) has no object on disk. Its programs
 * inherit a sealed memfd, which LD_PRELOAD names /proc/self/fd/N. A program may close
 * it, or execute another one where there is no /proc; the next program's loader would
 * then complain. So before each exec the descriptor is checked by device and inode, as
 * its number may be of another file by now, and opened again from the command. Where
 * that fails the object is taken out of the environment.
 */
#include "preload/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char variable[] = "LD_PRELOAD=";
static const char folder[] = "/proc/self/fd/";

/* A copy of an environment: threads may have stacks of 16 kB. Of 64 bits that is a
 * thousand variables. */
enum { MOST_BYTES = 8192 };

static struct {
    char path[PRELOAD_PATH_MAX]; /* as LD_PRELOAD names it; "": unknown */
    unsigned fd;                 /* 0: the object is no descriptor */
    dev_t device;
    ino_t inode;
} own;

/* Return the length of the name that a list of names in LD_PRELOAD begins with. */
static size_t
name_length(const char *list)
{
    return strcspn(list, ": ");
}

/* Return the descriptor that a path in /proc/self/fd names; 0: none. */
static unsigned
read_descriptor(const char *path)
{
    unsigned fd = 0;

    if (strncmp(path, folder, sizeof(folder) - 1) != 0) {
        return 0;
    }
    for (const char *at = path + sizeof(folder) - 1; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || fd > 99999999) {
            return 0;
        }
        fd = fd * 10 + (unsigned)(*at - '0');
    }
    return fd;
}

void
own_file_begin(void)
{
    const char *const list = getenv("LD_PRELOAD");
    const size_t length = list != NULL ? name_length(list) : 0;
    struct stat status;
    unsigned fd;

    if (length >= sizeof(own.path)) {
        return;
    }
    memcpy(own.path, length != 0 ? list : "", length);
    own.path[length] = '\0';
    fd = read_descriptor(own.path);
    if (fd != 0 && stat(own.path, &status) == 0) {
        own.device = status.st_dev;
        own.inode = status.st_ino;
        own.fd = fd;
    }
}

static bool
is_object(const struct stat *status)
{
    return status->st_dev == own.device && status->st_ino == own.inode;
}

/* Is there a file at a path, and is it the object? */
static bool
is_at(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && is_object(&status);
}

/* Open the descriptor again, as the command has it, under the same number. Another
 * thread may open a file of the program's there meanwhile, which stays. */
static void
open_again(void)
{
    char path[RECORD_PATH_BYTES];
    struct stat status;
    int copy = -1;
    bool same;
    int fd;

    record_put_command_path(path, own.fd);
    if (fcntl((int)own.fd, F_GETFD) >= 0 || !is_at(path)) {
        return;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    /* The command may have another file under its number by now. */
    same = fstat(fd, &status) == 0 && is_object(&status);
    if (same && fd == (int)own.fd) {
        return;
    }
    if (same) {
        copy = fcntl(fd, F_DUPFD, (int)own.fd); /* the next one that is free */
    }
    if (copy >= 0 && copy != (int)own.fd) {
        (void)close(copy);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* Return the name that follows one in a list; NULL: it is the last one. */
static const char *
next_name(const char *name)
{
    const char *const end = name + name_length(name);

    return *end != '\0' ? end + 1 : NULL;
}

/* Find the object in an environment. Returns its name in LD_PRELOAD; NULL: the
 * environment does not ask for it.
 *
 *   index  out: of LD_PRELOAD
 */
static const char *
find_name(char *const *environment, size_t *index)
{
    const size_t length = strlen(own.path);
    const char *name = NULL;

    *index = 0;
    if (length == 0 || environment == NULL) {
        return NULL;
    }
    for (size_t i = 0; environment[i] != NULL && name == NULL; i++) {
        if (strncmp(environment[i], variable, sizeof(variable) - 1) == 0) {
            *index = i;
            name = environment[i] + sizeof(variable) - 1;
        }
    }
    while (name != NULL &&
           (name_length(name) != length || memcmp(name, own.path, length) != 0)) {
        name = next_name(name);
    }
    return name;
}

/* Open the descriptor again if it was closed. Returns false if it is not open. */
static bool
keep_open(void)
{
    if (!is_at(own.path)) {
        open_again();
    }
    /* Checked through its name: the loader goes that way, too. */
    return is_at(own.path);
}

int
own_file_descriptor(void)
{
    const int saved_errno = errno;
    const int fd = own.fd != 0 && keep_open() ? (int)own.fd : -1;

    errno = saved_errno;
    return fd;
}

bool
own_file_loads(char *const *environment)
{
    const int saved_errno = errno;
    size_t index;
    bool loads = true;

    if (own.fd != 0 && find_name(environment, &index) != NULL) {
        loads = keep_open() && fcntl((int)own.fd, F_SETFD, 0) == 0;
    }
    errno = saved_errno;
    return loads;
}

/* Write the list of an LD_PRELOAD without one of its names. */
static void
put_without(char *to, const char *list, const char *name)
{
    const char *const rest = next_name(name);

    memcpy(to, list, (size_t)(name - list));
    strcpy(to + (name - list), rest != NULL ? rest : "");
}

size_t
own_file_remove_bytes(char *const *environment)
{
    size_t index;
    size_t count = 0;
    size_t bytes;

    (void)find_name(environment, &index);
    while (environment[count] != NULL) {
        count++;
    }
    bytes = (count + 1) * sizeof(char *) + strlen(environment[index]) + 1;
    return bytes <= MOST_BYTES ? bytes : 0;
}

char *const *
own_file_remove(char *const *environment, void *memory)
{
    char **const copy = memory;
    size_t index;
    const char *const name = find_name(environment, &index);
    size_t count = 0;

    while (environment[count] != NULL) {
        copy[count] = environment[count];
        count++;
    }
    copy[count] = NULL;
    copy[index] = (char *)(copy + count + 1);
    put_without(copy[index], environment[index], name);
    return copy;
}

bool
own_file_check_own_environment(void)
{
    const int saved_errno = errno;
    size_t index;
    const char *const name = find_name(environ, &index);
    const bool loads = name != NULL && own_file_loads(environ);

    if (name != NULL && !loads) {
        const char *const names = environ[index] + sizeof(variable) - 1;
        char *const list = malloc(strlen(names) + 1);

        if (list != NULL) {
            put_without(list, names, name);
            (void)setenv("LD_PRELOAD", list, 1);
            free(list);
        }
    }
    errno = saved_errno;
    return loads || own.path[0] == '\0';
}
