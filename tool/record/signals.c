/* SPDX-License-Identifier: MIT */
/* signals.c - sets of signals. */
#include "record/signals.h"

#include <stddef.h>

void
signals_termination(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGQUIT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

void
signals_others(sigset_t *set)
{
    static const int numbers[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1,   SIGUSR2,
                                  SIGABRT, SIGXCPU,   SIGPWR,  SIGSTKFLT, SIGIO};

    sigemptyset(set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaddset(set, numbers[i]);
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        sigaddset(set, number);
    }
}
