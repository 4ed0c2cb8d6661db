/* SPDX-License-Identifier: MIT */
/*
 * preload/execute.c - functions that execute another program.
 *
 * The shared memory gets a record before, so that the command notices if the other
 * program loads no preload object. Of system() and popen(), whose child only libc
 * knows, it gets a count where the environment shows this in advance. Timers are paused
 * during exec: one that expires then would end the process. A child of vfork writes
 * only into the shared memory, and into its thread's failed_exec (preload.c).
 */
#include "preload/preload.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

static struct {
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const *, char *const *);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const *, char *const *);
    int (*addclose)(posix_spawn_file_actions_t *, int);
    int (*addclosefrom)(posix_spawn_file_actions_t *, int); /* NULL: an old libc */
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
} libc;

/* Find libc's own functions for those below. Returns false if one is missing. */
static bool
find_originals(void)
{
    if (libc.popen != NULL) {
        return true;
    }
    (void)preload_find("posix_spawn_file_actions_addclosefrom_np", &libc.addclosefrom);
    return preload_find("execve", &libc.execve) &&
           preload_find("execvpe", &libc.execvpe) &&
           preload_find("fexecve", &libc.fexecve) &&
           preload_find("posix_spawn", &libc.posix_spawn) &&
           preload_find("posix_spawnp", &libc.posix_spawnp) &&
           preload_find("posix_spawn_file_actions_addclose", &libc.addclose) &&
           preload_find("system", &libc.system) && preload_find("popen", &libc.popen);
}

bool
preload_find_exec(void)
{
    return find_originals();
}

/* Take the object out of an environment with which the next program could not load it:
 * its loader would complain. The copy is on the stack, as malloc must not be called in
 * a child of vfork; where it would not fit there, the loader does complain. */
#define KEEP_LOADABLE(environment)                                                 \
    do {                                                                           \
        const size_t bytes =                                                       \
            own_file_loads(environment) ? 0 : own_file_remove_bytes(environment);  \
                                                                                   \
        if (bytes != 0) {                                                          \
            (environment) = own_file_remove(environment, __builtin_alloca(bytes)); \
        }                                                                          \
    } while (0)

/* ---- exec ---- */

/* Let timers run again after an exec that returned, and so failed. Returns result.
 * Keeps errno. */
static int
exec_failed(int result, uint32_t process)
{
    const int saved_errno = errno;

    preload_end_exec(process);
    errno = saved_errno;
    return result;
}

/* Fail as a function that this libc does not have (ENOSYS). */
static int
refuse_exec(void)
{
    errno = ENOSYS;
    return -1;
}

REPLACES int
execve(const char *path, char *const *arguments, char *const *environment)
{
    uint32_t process;

    if (!find_originals()) {
        return refuse_exec();
    }
    KEEP_LOADABLE(environment);
    process = preload_begin_exec();
    return exec_failed(libc.execve(path, arguments, environment), process);
}

REPLACES int
execvpe(const char *file, char *const *arguments, char *const *environment)
{
    uint32_t process;

    if (!find_originals()) {
        return refuse_exec();
    }
    KEEP_LOADABLE(environment);
    process = preload_begin_exec();
    return exec_failed(libc.execvpe(file, arguments, environment), process);
}

REPLACES int
fexecve(int fd, char *const *arguments, char *const *environment)
{
    uint32_t process;

    if (!find_originals()) {
        return refuse_exec();
    }
    KEEP_LOADABLE(environment);
    process = preload_begin_exec();
    return exec_failed(libc.fexecve(fd, arguments, environment), process);
}

/* Declared here, because not each libc does. */
int execveat(int folder, const char *path, char *const arguments[],
             char *const environment[], int flags);

REPLACES int
execveat(int folder, const char *path, char *const arguments[],
         char *const environment[], int flags)
{
    uint32_t process;

    KEEP_LOADABLE(environment);
    process = preload_begin_exec();
    return exec_failed(
        (int)syscall(SYS_execveat, folder, path, arguments, environment, flags),
        process);
}

REPLACES int
execv(const char *path, char *const *arguments)
{
    return execve(path, arguments, environ);
}

REPLACES int
execvp(const char *file, char *const *arguments)
{
    return execvpe(file, arguments, environ);
}

/* Return the number of arguments of execl and the like: the first, which is not in
 * list, those in list, and the NULL at their end. */
static size_t
count_arguments(va_list list)
{
    size_t count = 2;

    while (va_arg(list, char *) != NULL) {
        count++;
    }
    return count;
}

/* Declare arguments, and fill it with those of a variadic function. The array is on the
 * stack, as in libc: malloc must not be called in a child of vfork. The caller ends
 * list, which is then behind the arguments: a function that it was passed to would have
 * advanced a copy, except where a va_list is an array, as on x86-64. */
#define LIST_ARGUMENTS(first)                                 \
    const char **arguments;                                   \
    size_t count;                                             \
    va_list list;                                             \
                                                              \
    va_start(list, first);                                    \
    count = count_arguments(list);                            \
    va_end(list);                                             \
    arguments = __builtin_alloca(count * sizeof(*arguments)); \
    arguments[0] = first;                                     \
    va_start(list, first);                                    \
    for (size_t i = 1; i < count; i++) {                      \
        arguments[i] = va_arg(list, char *);                  \
    }

REPLACES int
execl(const char *path, const char *first, ...)
{
    LIST_ARGUMENTS(first);
    va_end(list);
    return execve(path, (char *const *)arguments, environ);
}

REPLACES int
execlp(const char *file, const char *first, ...)
{
    LIST_ARGUMENTS(first);
    va_end(list);
    return execvpe(file, (char *const *)arguments, environ);
}

REPLACES int
execle(const char *path, const char *first, ...)
{
    char *const *environment;

    LIST_ARGUMENTS(first);
    environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, (char *const *)arguments, environment);
}

/* ---- posix_spawn ---- */

/* Record a child that posix_spawn made: libc does that without a call of the functions
 * above. Returns failure, the result of libc's function. */
static int
note_spawned(int failure, pid_t child, pid_t *pid)
{
    if (failure == 0) {
        preload_record_spawned(child);
        if (pid != NULL) {
            *pid = child;
        }
    }
    return failure;
}

REPLACES int
posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
            const posix_spawnattr_t *attributes, char *const *arguments,
            char *const *environment)
{
    pid_t child = 0;
    int failure;

    if (!find_originals()) {
        return ENOSYS;
    }
    KEEP_LOADABLE(environment);
    failure =
        libc.posix_spawn(&child, path, actions, attributes, arguments, environment);
    return note_spawned(failure, child, pid);
}

REPLACES int
posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
             const posix_spawnattr_t *attributes, char *const *arguments,
             char *const *environment)
{
    pid_t child = 0;
    int failure;

    if (!find_originals()) {
        return ENOSYS;
    }
    KEEP_LOADABLE(environment);
    failure =
        libc.posix_spawnp(&child, file, actions, attributes, arguments, environment);
    return note_spawned(failure, child, pid);
}

/* A child would close the object after it was looked at. It leaves that one open. */

REPLACES int
posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *actions, int fd)
{
    if (!find_originals()) {
        return ENOSYS;
    }
    return fd >= 0 && fd == own_file_descriptor() ? 0 : libc.addclose(actions, fd);
}

/* Declared here, because not each libc does. */
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions,
                                             int from);

REPLACES int
posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from)
{
    const int own = own_file_descriptor();
    int failure;

    if (!find_originals() || libc.addclosefrom == NULL) {
        return ENOSYS;
    }
    if (from < 0 || from > own) {
        return libc.addclosefrom(actions, from);
    }
    if (from == own) {
        return libc.addclosefrom(actions, from + 1);
    }
    /* The object is at from meanwhile, which is the first one to be closed. */
    failure = posix_spawn_file_actions_adddup2(actions, own, from);
    if (failure == 0) {
        failure = libc.addclosefrom(actions, from + 1);
    }
    if (failure == 0) {
        failure = posix_spawn_file_actions_adddup2(actions, from, own);
    }
    return failure == 0 ? libc.addclose(actions, from) : failure;
}

/* ---- Shells ---- */

/* libc executes these with the process's own environment. Count the shell as unloaded
 * if that does not lead to the object and the memory. */
static void
check_shell(void)
{
    if (!own_file_check_own_environment() || getenv(PRELOAD_VARIABLE) == NULL) {
        preload_record_unloaded();
    }
}

REPLACES int
system(const char *command)
{
    if (!find_originals()) {
        return refuse_exec();
    }
    if (command != NULL) { /* else it asks whether there is a shell */
        check_shell();
    }
    return libc.system(command);
}

REPLACES FILE *
popen(const char *command, const char *mode)
{
    if (!find_originals()) {
        errno = ENOSYS;
        return NULL;
    }
    check_shell();
    return libc.popen(command, mode);
}
