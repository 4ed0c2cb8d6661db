/* SPDX-License-Identifier: MIT */
/*
 * api/process.c - the pid of the calling process, mostly without a system call: each
 * call checks whether its session belongs to this process, and system calls are most of
 * what a call costs.
 *
 * The pid is kept in a page that the kernel clears in each child of fork and of a bare
 * clone (MADV_WIPEONFORK). A child of vfork, which shares all memory, is taken for its
 * parent.
 */
#include "api/api.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t *kept; /* 0: not asked yet, also in a child; NULL: there is no such page */

/* Make the page that fork clears, so that a forked child finds out that it is one. kept
 * stays NULL where the kernel cannot do that. */
static void
make_page(void)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *const page =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) {
        return;
    }
    if (madvise(page, bytes, MADV_WIPEONFORK) != 0) { /* before Linux 4.14 */
        munmap(page, bytes);
        return;
    }
    kept = page;
}

pid_t
api_process_id(void)
{
    pid_t pid;

    pthread_once(&once, make_page);
    if (kept == NULL) {
        return getpid();
    }
    pid = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (pid == 0) {
        pid = getpid();
        __atomic_store_n(kept, pid, __ATOMIC_RELAXED);
    }
    return pid;
}
