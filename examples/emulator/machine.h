/* SPDX-License-Identifier: MIT */
/*
 * machine.h - an emulator of NT with three processors and two processes, by Unicorn:
 * what its guests of 32 and of 64 bits have in common. The processors take turns.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <ntprof/core.h>

#include <unicorn/unicorn.h>

#include <stdbool.h>

enum { PROCESSORS = 3, PROCESSES = 2, PAGE = 4096, MOST_PAGES = 24, MOST_HANDLES = 8 };

struct machine {
    bool wide; /* a 64-bit guest */
    uint64_t kernel;
    int pc, sp, cx; /* registers */
    /* Sets a processor up, so that its calls come to machine_call. */
    bool (*prepare)(struct machine *machine, uc_engine *cpu);
    uc_engine *cpu[PROCESSORS];
    KSYSTEM *system;
    void *pages[MOST_PAGES];
    unsigned page_count;
    EPROFILE *handles[MOST_HANDLES];    /* a handle is 4 times the index plus 1 */
    bool on[PROCESSORS][PROCESSES + 1]; /* ticks, by process; 0: of all */
    bool yields, ended;
    uint32_t status; /* of EXIT */
};

/* machine_run - with an image, from start, until it exits or the simulated NT has
 * stopped; false: it cannot be. machine_finish in either case. */
bool machine_run(struct machine *machine, uint32_t version, const char *image,
                 uint64_t start);
void machine_finish(struct machine *machine);

/* machine_call - a service; returns what the guest gets in eax. */
uint32_t machine_call(struct machine *machine, uint32_t service,
                      const uint64_t arguments[10]);

/* machine_check - print a row of numbers that must agree; returns whether they do. */
bool machine_check(const char *what, uint64_t construction, uint64_t counted);

/* machine_counts, machine_crash - what both guests do: counters, and a bug check. */
bool machine_counts(struct machine *machine);
bool machine_crash(struct machine *machine, const char *what);

#endif
