/* SPDX-License-Identifier: MIT */
/*
 * moved_code.c - moves its own code to anonymous memory at the same addresses, as
 * programs do to use large pages, and works there.
 *
 *   moved_code HOW MILLISECONDS
 *
 *   map      maps anonymous memory over the code, and copies it there
 *   protect  the same, but the memory can be executed only afterwards
 *   remap    copies the code, and has mremap put the copy in its place
 *   pieces   as map, but page by page
 *   fork     as map, and works in a child
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 65536, PAGES = 2 }; /* the largest page of any machine */

/* What is moved: two of three pages, each with one function, wherever the linker puts
 * them. Their constants differ, so that no compiler makes one function of them. */
#define MOVED_FUNCTION(name, factor, summand, shift)                                 \
    __attribute__((noinline, aligned(PAGE), section(".text.moved"))) static unsigned \
    name(unsigned rounds)                                                            \
    {                                                                                \
        unsigned sum = rounds;                                                       \
                                                                                     \
        for (unsigned i = 0; i < rounds; i++) {                                      \
            sum = sum * (factor) + (summand) + (sum >> (shift));                     \
        }                                                                            \
        return sum;                                                                  \
    }

MOVED_FUNCTION(moved_work, 1664525U, 1013904223U, 7)
MOVED_FUNCTION(moved_more, 22695477U, 1U, 5)
MOVED_FUNCTION(moved_rest, 69069U, 5U, 3)

/* No call of a library, and not in what is moved. */
static void
copy(volatile char *to, const volatile char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = from[i];
    }
}

static char *
map(char *at, size_t bytes, int protection)
{
    char *const memory =
        mmap(at, bytes, protection,
             MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);

    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return memory;
}

static void
move(char *code, size_t bytes, const char *how)
{
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    char *const kept = map(NULL, bytes, all);

    copy(kept, code, bytes);
    if (strcmp(how, "remap") == 0) {
        if (mremap(kept, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, code) != code) {
            perror("mremap");
            exit(2);
        }
        return;
    }
    if (strcmp(how, "protect") == 0) {
        copy(map(code, bytes, PROT_READ | PROT_WRITE), kept, bytes);
        mprotect(code, bytes, PROT_READ | PROT_EXEC);
    } else {
        copy(map(code, bytes, all), kept, bytes);
    }
    munmap(kept, bytes);
}

static unsigned
work(long milliseconds)
{
    const clock_t end = clock() + milliseconds * CLOCKS_PER_SEC / 1000;
    unsigned sum = 0;

    while (clock() < end) {
        sum += moved_work(1000000) + moved_more(1000000) + moved_rest(1000000);
    }
    return sum;
}

/* The first of the pages. */
static char *
find_code(void)
{
    const uintptr_t functions[] = {(uintptr_t)moved_work, (uintptr_t)moved_more,
                                   (uintptr_t)moved_rest};
    uintptr_t first = UINTPTR_MAX;

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        first = functions[i] < first ? functions[i] : first;
    }
    return (char *)first;
}

int
main(int count, char **words)
{
    const char *const how = count > 2 ? words[1] : "";
    char *const code = find_code();
    const size_t step = strcmp(how, "pieces") == 0 ? PAGE : PAGES * PAGE;
    pid_t child;

    if (count < 3 || (uintptr_t)main - (uintptr_t)code < PAGES * PAGE) {
        return 77;
    }
    for (size_t at = 0; at < PAGES * PAGE; at += step) {
        move(code + at, step, how);
    }
    puts("moved");
    fflush(stdout);
    child = strcmp(how, "fork") == 0 ? fork() : 0;
    if (child > 0) {
        waitpid(child, NULL, 0);
        return 0;
    }
    return work(atol(words[2])) == 1;
}
