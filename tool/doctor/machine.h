/* SPDX-License-Identifier: MIT */
/*
 * machine.h - settings, rights and limits of this machine and user that decide what can
 * be profiled.
 */
#ifndef DOCTOR_MACHINE_H
#define DOCTOR_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* machine_fact - a setting, and what it means for profiling. */
struct machine_fact {
    const char *name;
    char value[64];
    char meaning[200];
};

enum { MACHINE_FACTS_MAX = 32 };

struct machine_facts {
    struct machine_fact list[MACHINE_FACTS_MAX];
    size_t count;
};

/* machine_container - what this process runs in. */
enum machine_container {
    MACHINE_NONE, /* no sign of a container */
    MACHINE_DOCKER,
    MACHINE_PODMAN,
    MACHINE_KUBERNETES,
    MACHINE_SYSTEMD, /* a unit of systemd, or systemd-nspawn */
    MACHINE_UNKNOWN  /* a container of an engine that left no sign */
};

/* machine_add - add a fact; meaning is a format. */
void machine_add(struct machine_facts *facts, const char *name, const char *value,
                 const char *meaning, ...) __attribute__((format(printf, 4, 5)));

/* machine_add_all - add all facts that need no session. */
void machine_add_all(struct machine_facts *facts);

/* machine_find_container - find out what this process runs in, by the files and
 * variables that engines leave. A container may lack or forge them, so only advice
 * depends on the answer. */
enum machine_container machine_find_container(void);

#endif
