/* SPDX-License-Identifier: MIT */
/* segments.c - a program with 32-bit and 16-bit code in segments of its own, told what
 * to run by the words of segment_code.h. */
#include "segment_code.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *
run_in_thread(void *rounds)
{
    segment_run(SELECTOR_32, LOOP_32, *(uint32_t *)rounds);
    return NULL;
}

/* Returns 0, or 1 if there is no thread. */
static uint64_t
run_thread(uint32_t rounds)
{
    pthread_t thread;

    return pthread_create(&thread, NULL, run_in_thread, &rounds) != 0 ||
           pthread_join(thread, NULL) != 0;
}

static int
answer(uint64_t word)
{
    return write(STDOUT_FILENO, &word, sizeof(word)) == sizeof(word);
}

/* The child goes on; the parent waits for its end, and ends as it does. */
static uint64_t
go_on_in_child(void)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return (uint64_t)getpid();
    }
    _exit(child < 0 || waitpid(child, &status, 0) != child || status != 0);
}

static uint64_t
obey(uint64_t word)
{
    const uint32_t rounds = (uint32_t)word;

    switch (word >> 32) {
    case SEGMENT_COMMAND_RUN_32:
        segment_run(SELECTOR_32, LOOP_32, rounds);
        return 0;
    case SEGMENT_COMMAND_RUN_16:
        segment_run(SELECTOR_16, LOOP_16, rounds);
        return 0;
    case SEGMENT_COMMAND_THREAD_32:
        return run_thread(rounds);
    case SEGMENT_COMMAND_FORK:
        return go_on_in_child();
    default:
        return UINT64_MAX;
    }
}

int
main(void)
{
    const int result = segment_make();
    uint64_t word;

    if (!answer((uint64_t)-result)) {
        return 1;
    }
    while (read(STDIN_FILENO, &word, sizeof(word)) == sizeof(word)) {
        if (!answer(obey(word))) {
            return 1;
        }
    }
    return 0;
}
