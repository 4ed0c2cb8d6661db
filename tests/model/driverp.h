/* SPDX-License-Identifier: MIT */
/*
 * driverp.h - a world under way: the core on its simulated host and machine, and the
 * model beside it. For driver.c, which holds them against each other, and steps.c,
 * which draws what they do.
 */
#ifndef TESTS_MODEL_DRIVERP_H
#define TESTS_MODEL_DRIVERP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver.h"
#include "machine.h"

/* The caller's memory: machine.h's two regions, one that comes and goes, one at the
 * very end. */
#define DRIVER_PASSING 0x40000000ull
#define DRIVER_TOP_BYTES 0x2000ull
enum {
    DRIVER_PASSING_BYTES = 0x4000,
    DRIVER_CLOSED = 16,      /* handles kept that were closed */
    DRIVER_QUEUE = 256,      /* hits that may wait */
    DRIVER_PIDS = 4,         /* its own, and others that come and go */
    DRIVER_STEPS_AFTER = 12, /* once halted */
};

struct driver {
    struct driver_run *run;
    struct draw *draw;
    struct model *model;
    struct machine machine;
    uint64_t top; /* the region at the end of user space */
    uint64_t closed[DRIVER_CLOSED];
    unsigned closed_count;
    bool queued;  /* hits wait to be delivered, so what they change is not seen yet */
    bool abrupt;  /* the end comes while some wait */
    bool pending; /* some do */
    bool noticed; /* the halt, and all was stopped */
    unsigned waiting; /* hits */
};

extern const uint64_t driver_pids[DRIVER_PIDS];

/* driver_differ - remember the first difference. */
void driver_differ(struct driver *driver, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void driver_trace(struct driver *driver, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* driver_settle - a call was made on both: compare its statuses, forget faults. */
void driver_settle(struct driver *driver, enum driver_call call, NTSTATUS expected,
                   NTSTATUS got);

/* driver_deliver - all hits that wait, and what a halt among them comes to. */
void driver_deliver(struct driver *driver);

/* driver_write - the caller writes into its own memory, of both. */
void driver_write(struct driver *driver, uint64_t address, const void *bytes,
                  size_t count);

/* ---- arguments.c ---- */

#define DRAW_FROM(draw, list) \
    ((list)[draw_below(draw, sizeof(list) / sizeof((list)[0]))])

enum driver_wanted { DRIVER_WANT_ANY, DRIVER_WANT_PROFILE, DRIVER_WANT_PROCESS };

uint64_t driver_draw_handle(struct driver *driver, enum driver_wanted wanted);
uint64_t driver_draw_pointer(struct driver *driver, bool kernel_mode, uint32_t align);
KPROFILE_SOURCE driver_draw_source(struct driver *driver);
KPROFILE_SOURCE driver_draw_interval_source(struct driver *driver);
void driver_draw_create(struct driver *driver, struct model_create_call *call);
void driver_draw_duplicate(struct driver *driver, struct model_duplicate_call *call);
void driver_draw_hit(struct driver *driver, struct model_hit *hit);

/* driver_draw_started - one of those started, or NULL. */
const struct model_profile *driver_draw_started(struct driver *driver);

/* ---- calls.c: one call on both ---- */

struct driver_query_object_call {
    bool kernel_mode;
    uint64_t handle;
    ULONG class;
    uint64_t information;
    ULONG length;
    uint64_t returned;
};

void driver_create(struct driver *driver, const struct model_create_call *call);
void driver_start(struct driver *driver, uint64_t handle);
void driver_stop(struct driver *driver, uint64_t handle);
void driver_close(struct driver *driver, uint64_t handle);
void driver_open(struct driver *driver, bool kernel_mode, uint64_t address,
                 ACCESS_MASK access, uint64_t pid);
void driver_duplicate(struct driver *driver, const struct model_duplicate_call *call);
void driver_query_object(struct driver *driver,
                         const struct driver_query_object_call *call);
void driver_query(struct driver *driver, bool kernel_mode, bool old,
                  KPROFILE_SOURCE source, uint64_t address);
void driver_set(struct driver *driver, bool kernel_mode, bool old, uint32_t interval,
                KPROFILE_SOURCE source);
void driver_hit(struct driver *driver, const struct model_hit *hit);

/* ---- changes.c ---- */

void driver_change(struct driver *driver);
void driver_begin_process(struct driver *driver, uint64_t pid);
void driver_end_process(struct driver *driver, uint64_t pid);

/* driver_protect - one page of the caller's. */
void driver_protect(struct driver *driver, uint64_t page, enum model_right right);

/* driver_change_mapping - the passing region comes or goes. */
void driver_change_mapping(struct driver *driver);

/* ---- steps.c, scenes.c ---- */

/* driver_step - one step, drawn. */
void driver_step(struct driver *driver);

/* driver_begin - what a world begins with: often a scene that random steps seldom make.
 */
void driver_begin(struct driver *driver);

#endif
