/* SPDX-License-Identifier: MIT */
/*
 * forking.c - with AddressSanitizer: forks while no other thread allocates.
 *
 * The sanitizer's allocator in gcc 12 knows nothing of fork(): a child that is made
 * while another thread has a lock of the allocator's waits for that lock for ever, as
 * soon as it allocates. A session's thread sleeps nearly always, so a fork waits for a
 * moment at which all others do.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES_MAX = 5000, PAUSE_US = 200 };

static char
state_of(const char *tid)
{
    char path[64];
    char text[512];
    const char *behind_name;
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%.16s/stat", tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 'X'; /* it has ended */
    }
    got = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (got <= 0) {
        return 'X';
    }
    text[got] = 0;
    behind_name = strrchr(text, ')');
    return behind_name != NULL && behind_name[1] == ' ' ? behind_name[2] : 'R';
}

static bool
others_sleep(void)
{
    const long own = syscall(SYS_gettid);
    DIR *const threads = opendir("/proc/self/task");
    const struct dirent *thread;
    bool sleep = true;

    while (threads != NULL && sleep && (thread = readdir(threads)) != NULL) {
        const long tid = strtol(thread->d_name, NULL, 10);

        if (tid != 0 && tid != own) {
            sleep = strchr("SXZ", state_of(thread->d_name)) != NULL;
        }
    }
    if (threads != NULL) {
        closedir(threads);
    }
    return sleep;
}

/* Of threads that are never at rest, as in a storm, none is waited for longer than
 * about a second. */
static void
wait_for_others(void)
{
    for (int i = 0; i < TRIES_MAX && !others_sleep(); i++) {
        usleep(PAUSE_US);
    }
}

static void __attribute__((constructor)) fork_in_peace(void)
{
    /* What a program registers later, and locks before its forks, is done before this.
     */
    (void)pthread_atfork(wait_for_others, NULL, NULL);
}
