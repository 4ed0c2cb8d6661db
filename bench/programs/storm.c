/* SPDX-License-Identifier: MIT */
/*
 * storm.c - what makes more hits or mappings at once than a profiler may bear.
 *
 * usage: storm faults PROCESSES PAGES   each process touches so many fresh pages
 *        storm mappings COUNT           maps so many executable pages, then works for 3
 *                                       s
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGES_AT_ONCE = 256, WORK_SECONDS = 3 };

static void
touch_pages(long pages)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (long done = 0; done < pages; done += PAGES_AT_ONCE) {
        volatile char *const area =
            mmap(NULL, page * PAGES_AT_ONCE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (area == MAP_FAILED) {
            _exit(1);
        }
        for (size_t i = 0; i < PAGES_AT_ONCE; i++) {
            area[i * page] = 1;
        }
        munmap((void *)area, page * PAGES_AT_ONCE);
    }
}

static int
make_faults(long processes, long pages)
{
    for (long i = 0; i < processes; i++) {
        const pid_t child = fork();

        if (child == 0) {
            touch_pages(pages);
            _exit(0);
        }
        if (child < 0) {
            return 1;
        }
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}

static int
make_mappings(long count)
{
    const long page = sysconf(_SC_PAGESIZE);
    char name[] = "/tmp/storm-XXXXXX";
    const int fd = mkstemp(name);

    if (fd < 0 || unlink(name) != 0 || ftruncate(fd, 2 * page) != 0) {
        return 1;
    }
    /* Every other page of the file, so that the kernel cannot join them. */
    for (long i = 0; i < count; i++) {
        if (mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
                 i % 2 * page) == MAP_FAILED) {
            return 1;
        }
    }
    while (clock() < WORK_SECONDS * CLOCKS_PER_SEC) {
    }
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "faults") == 0) {
        return make_faults(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
    }
    if (argc == 3 && strcmp(argv[1], "mappings") == 0) {
        return make_mappings(strtol(argv[2], NULL, 10));
    }
    (void)fprintf(stderr, "usage: %s faults PROCESSES PAGES | mappings COUNT\n",
                  argv[0]);
    return 2;
}
