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
    const char *backend; /* the back end that it uses; NULL: the command cannot be used
                          * here */
    char what[256];      /* what the command measures, or why it cannot be used */
};

/* doctor_sources - sources that work, or that are refused for the same reason. */
struct doctor_sources {
    char reason[192]; /* "": they work */
    char names[1024]; /* the sources, with a blank between two */
};

struct doctor {
    ntprof_backend_info backends[DOCTOR_BACKENDS_MAX];
    size_t backend_count;
    struct doctor_command commands[DOCTOR_COMMANDS];
    char backend[16]; /* the back end that a session uses; "": no session can be
                       * opened */
    struct doctor_sources groups[DOCTOR_GROUPS_MAX];
    size_t group_count;
    unsigned sources; /* number of sources, without breakpoints */
    unsigned sources_supported;
    struct machine_facts facts;
    enum machine_container container;
    char failure[512]; /* why no session can be opened; "": one can */
    bool works;        /* one of the commands works */
    bool lacks;        /* something is refused */
};

/* doctor_examine - find out what works here. Returns NULL if memory runs out; the
 * caller frees it. */
struct doctor *doctor_examine(void);

/* doctor_query_breakpoints - find out whether execution breakpoints work here: get the
 * info of one on our own code, under the name breakpoint:0xADDRESS. Its reason says why
 * it does not work. */
void doctor_query_breakpoints(ntprof_session *session, ntprof_source_info *info);

/* doctor_print_json - print what was found out on standard output, as
 * docs/schema/doctor.schema.json says. */
void doctor_print_json(const struct doctor *doctor);

#endif
