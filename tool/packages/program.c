/* SPDX-License-Identifier: MIT */
/* program.c - asks a program of the system, such as rpm. */
#include "packages/packagesp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

/* Start a program with its output in a pipe, without input, error output, environment
 * or blocked and ignored signals of the caller. Returns its pid, or -1. */
static pid_t
start(const char *path, char *const *words, int output)
{
    static char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                                        "LC_ALL=C", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    pid_t pid = -1;

    if (posix_spawn_file_actions_init(&actions) != 0) {
        return -1;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return -1;
    }
    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, output, 1) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) != 0 ||
        posix_spawnattr_setsigmask(&attributes, &none) != 0 ||
        posix_spawnattr_setsigdefault(&attributes, &all) != 0 ||
        posix_spawnattr_setflags(&attributes,
                                 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) != 0 ||
        posix_spawn(&pid, path, &actions, &attributes, words, environment) != 0) {
        pid = -1;
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

bool
package_run(struct package_bounds *bounds, const char *root, char *const *words,
            package_line *take, void *context)
{
    char path[PATH_MAX];
    int ends[2];
    int status;
    bool whole;
    pid_t pid;

    if ((size_t)snprintf(path, sizeof(path), "%s%s", root, words[0]) >= sizeof(path) ||
        access(path, X_OK) != 0 || pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid = start(path, words, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    whole = package_read_lines(bounds, ends[0], take, context);
    /* The program has ended, or nobody reads any more what it prints. */
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return whole;
}
