/* SPDX-License-Identifier: MIT */
/*
 * function_caller.c - calls a function an exact number of times.
 *
 * usage: function_caller CALLS [THREADS [wait]]
 *
 * CALLS in the main thread. With THREADS, as many in each of them, in a forked child,
 * and in what that becomes by exec. With wait it prints a line first, and begins when
 * its input ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long calls;

__attribute__((noinline, noclone)) void counted(void);
__attribute__((noinline, noclone)) void mangled(void) __asm__("_ZN5space7mangledEi");

void
counted(void)
{
    __asm__ volatile("" ::: "memory");
}

void
mangled(void)
{
    __asm__ volatile("" ::: "memory");
}

static void *
call_all(void *argument)
{
    for (unsigned long i = 0; i < calls; i++) {
        counted();
    }
    return argument;
}

static void
call_in_threads(int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, call_all, NULL) != 0 ||
            pthread_join(thread, NULL) != 0) {
            exit(3);
        }
    }
}

static int
call_in_child(char **argv)
{
    int status = 1;
    const pid_t pid = fork();

    if (pid == 0) {
        call_all(NULL);
        execl("/proc/self/exe", argv[0], argv[1], (char *)NULL);
        _exit(4);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 4;
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    calls = strtoul(argv[1], NULL, 10);
    if (argc > 3) {
        puts("ready");
        fflush(stdout);
        while (getchar() != EOF) {
        }
    }
    call_all(NULL);
    mangled();
    if (argc > 2) {
        call_in_threads(atoi(argv[2]));
        return call_in_child(argv);
    }
    return 0;
}
