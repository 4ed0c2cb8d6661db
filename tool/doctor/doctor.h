/* SPDX-License-Identifier: MIT */
/* doctor.h - what ntprof doctor found out, and its form as JSON. */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include "doctor/advice.h"
#include "doctor/machine.h"

#include <ntprof/ntprof.h>

enum { DOCTOR_BACKENDS_MAX = 8, DOCTOR_COMMANDS = 4, DOCTOR_GROUPS_MAX = 32 };

/* doctor_command - a command that measures. */
struct doctor_command {
    const char *name;
    const char *backend; /* that it uses; NULL: it cannot be used here */
    char what[256];      /* it measures, or why it cannot be used */
};

/* doctor_sources - sources that work, or that are refused for the same reason. */
struct doctor_sources {
    char reason[192]; /* "": they work */
    char names[1024]; /* a blank between two */
};

struct doctor {
    ntprof_backend_info backends[DOCTOR_BACKENDS_MAX];
    size_t backend_count;
    struct doctor_command commands[DOCTOR_COMMANDS];
    char backend[16]; /* that a session uses; "": none */
    struct doctor_sources groups[DOCTOR_GROUPS_MAX];
    size_t group_count;
    unsigned sources;
    unsigned sources_supported;
    struct machine_facts facts;
    enum machine_container container;
    char failure[512]; /* why no session can be opened; "": one can */
    bool works;        /* one of the commands does */
    bool lacks;        /* something is refused */
};

/* Find it out. Returns NULL if memory runs out; to be freed. */
struct doctor *doctor_look(void);

/* Find out whether execution breakpoints work here: info is of one on our own code,
 * with the name breakpoint:0xADDRESS; its reason says why it does not work. */
void doctor_query_breakpoints(ntprof_session *session, ntprof_source_info *info);

/* doctor_print_json - print it on standard output, as docs/schema/doctor.schema.json
 * says. */
void doctor_print_json(const struct doctor *doctor);

#endif
