/* SPDX-License-Identifier: MIT */
/* scenarios.h - what the programs of tests/integration/command_signal_safety.py share.
 * Each has scenarios, which print the same text whenever nothing disturbs them. */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct scenario {
    const char *name;
    void (*run)(void);
};

static volatile uint64_t scenario_sink;

/* Use milliseconds of this thread's processor time: long enough to be interrupted. */
__attribute__((noinline)) static void
burn(long milliseconds)
{
    struct timespec now;
    uint64_t value = scenario_sink;
    long long end;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    end = now.tv_sec * 1000000LL + now.tv_nsec / 1000 + milliseconds * 1000;
    do {
        for (int i = 0; i < 20000; i++) {
            value = value * UINT64_C(6364136223846793005) + 1;
        }
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000000LL + now.tv_nsec / 1000 < end);
    scenario_sink = value;
}

/* End the program if something did not go as it must. */
static inline void
must(int holds, const char *what)
{
    if (!holds) {
        const int error = errno;

        printf("%s: failed (%s)\n", what, strerror(error));
        fflush(stdout);
        _Exit(3);
    }
}

/* A handler for a signal, with flags of sigaction. */
static inline void
handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | flags};

    action.sa_sigaction = handler;
    sigemptyset(&action.sa_mask);
    must(sigaction(number, &action, NULL) == 0, "sigaction");
}

/* Run the scenario that the command line names. */
static inline int
run_scenario(const struct scenario *scenarios, int argc, char **argv)
{
    for (; scenarios->name != NULL; scenarios++) {
        if (argc == 1) {
            puts(scenarios->name);
        } else if (strcmp(scenarios->name, argv[1]) == 0) {
            scenarios->run();
            puts("end");
            return 0;
        }
    }
    return argc == 1 ? 0 : 2;
}

#endif
