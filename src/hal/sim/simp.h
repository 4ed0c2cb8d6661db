/* SPDX-License-Identifier: MIT */
/* hal/sim/simp.h - the state of the simulated machine, for the files of hal/sim. */
#ifndef HAL_SIM_SIMP_H
#define HAL_SIM_SIMP_H

#include "hal/sim/sim.h"

#include <pthread.h>

/* Rows of sim_source_rows; images of a process; pid of the first process that the
 * machine makes by itself, above those of real ones. */
enum { SIM_SOURCES = 29, SIM_MOST_IMAGES = 8, SIM_FIRST_PID = 0x40000000 };

/* Where hits in kernel mode are. */
#define SIM_KERNEL_BASE 0xFFFFFFFF81000000ull
#define SIM_KERNEL_BYTES 0x1000000ull

/* The constant properties of a source; struct sim has its changing state. */
struct sim_source_row {
    KPROFILE_SOURCE number;
    const char *name;
    const char *nt_name;
    bool supported;
    uint64_t events_per_second; /* of a running processor; 0 for time */
};

extern const struct sim_source_row sim_source_rows[SIM_SOURCES];

struct sim_source {
    bool supported;
    uint64_t interval;
    uint64_t interval_asked;
};

struct sim_limits {
    uint64_t minimum;
    uint64_t initial;
    uint64_t maximum;
};

/* A profile interrupt that the core has started on one processor. */
struct sim_start {
    KPROFILE_SOURCE source;
    uint64_t pid; /* 0: all processes */
    bool stale;   /* its process has ended; it is not for a later one with this pid */
    bool begun;   /* interrupts come */
};

/* What became of the interrupts of a source on a processor. */
struct sim_tally {
    uint64_t expected; /* all interrupts: delivered ones and the four below */
    uint64_t events;   /* the intervals that they stand for */
    uint64_t lost;
    uint64_t throttled;
    uint64_t missed;
    uint64_t excluded;
};

struct sim_processor {
    pthread_mutex_t lock; /* held while it handles an interrupt; guards the next five */
    struct sim_start *starts;
    size_t start_count;
    size_t start_capacity;
    uint64_t hash; /* of the hits made so far: sim_trace_hash */
    struct sim_tally tallies[SIM_SOURCES];
    /* Not used by interrupts: only by starts, stops, watches and where time passes. */
    uint32_t armed[SIM_SOURCES]; /* starts and watches that want the source */
    uint32_t armed_total;
    uint64_t due_ns[SIM_SOURCES]; /* when its timer expires next; 0: not drawn yet */
    uint64_t running_pid;         /* 0: the processor is idle */
};

/* What one call of Watch asked for. A process and its watched descendants share it. */
struct sim_watch {
    struct sim_watch *next;
    uint32_t processes; /* running ones that it covers; 1 for the watch of all */
    bool descendants;
    uint32_t source_mask; /* by row */
    uint64_t *processors; /* bit set */
};

struct sim_process {
    struct sim_process *next;
    uint64_t pid;
    bool alive;
    bool end_notified;   /* its exit was delivered, or nobody was to be notified */
    bool waits_for_exec; /* watched, but notified only from its next exec on */
    bool start_pending;  /* all processes are watched; its start is to be notified */
    struct sim_watch *watch;
    uint32_t image_count;
    uint32_t generation; /* forks between it and its first ancestor */
    uint32_t children;
    uint64_t wakes_ns; /* when it acts next (sim_act); 0: never */
    uint64_t ends_ns;  /* it exits at its first act after this */
    char name[24];
    struct sim_image images[SIM_MOST_IMAGES];
};

/* A hit or notification that waits in the queue. */
struct sim_record {
    bool is_hit;
    KE_HIT hit;
    ntprof_notification notification;
    char name[32]; /* what notification.name points at once it is delivered */
};

struct sim {
    struct _KE_SYSTEM *ke;
    struct sim_options options;
    uint64_t random;
    uint64_t now_ns;
    uint32_t processor_count;
    struct sim_processor *processors;
    struct sim_source sources[SIM_SOURCES];
    struct sim_process *processes;
    struct sim_watch *watches;
    struct sim_watch *all; /* the one of all processes, or NULL */
    uint64_t next_pid;
    struct sim_record *queue;
    size_t queue_count;
    size_t queue_next; /* within a delivery: records that have been delivered */
    size_t queue_capacity;
    uint64_t queue_lost; /* records without room, not notified yet */
    bool delivering;
    uint64_t outside_kernel[SIM_SOURCES]; /* hits in kernel mode and in no profile */
    uint64_t notification_hash;
    struct sim_faults faults;
    uint64_t start_calls;
    uint64_t stop_calls;
    uint64_t fail_start_at; /* the value of start_calls that fails; 0: none */
    NTSTATUS fail_start_status;
    NTSTATUS fail_begin_status; /* STATUS_SUCCESS: it does not */
    const char *complaint;
    char error[160];
};

/* ---- random.c ---- */

/* sim_random - draw 64 random bits. sim_random_below - draw 0 to bound - 1; bound is
 * not 0. */
uint64_t sim_random(struct sim *sim);
uint64_t sim_random_below(struct sim *sim, uint64_t bound);

/* sim_hash_add - continue a hash (0 at first) with a value. */
uint64_t sim_hash_add(uint64_t hash, uint64_t value);

/* ---- source.c: a row is an index in sim_source_rows ---- */

/* sim_source_row_of, sim_source_row_named - return the row of a source by its number,
 * or by its name or NT name; -1 if there is none. */
int sim_source_row_of(KPROFILE_SOURCE source);
int sim_source_row_named(const char *name);

/* sim_source_limits - return the first interval of a source, and its bounds. */
struct sim_limits sim_source_limits(int row);

/* sim_sources_init - give all sources their first interval. */
void sim_sources_init(struct sim *sim);

/* sim_source_set_interval - set the interval within its limits. */
void sim_source_set_interval(struct sim *sim, int row, uint64_t interval);

/* sim_source_period_ns - return the time between two interrupts of a source. */
uint64_t sim_source_period_ns(const struct sim *sim, int row);

/* ---- interrupt.c ---- */

/* What becomes of an interrupt: only SIM_DELIVERED makes a hit. */
enum sim_fate { SIM_DELIVERED, SIM_LOST, SIM_THROTTLED, SIM_MISSED, SIM_EXCLUDED };

/*
 * sim_interrupt - interrupt a processor, if a start or a watch wants that.
 *
 *   row    in: the source's index in the table of sources
 *   where  in: the hit; its Scope is ignored, and found out here
 *   fate   in: what becomes of the interrupt
 *
 * Returns how many counters were incremented; 0 also if the hit is queued.
 */
ULONG sim_interrupt(struct sim *sim, int row, const KE_HIT *where, enum sim_fate fate);

/* sim_start, sim_begin, sim_stop - see StartProfileInterrupt, BeginProfileInterrupts
 * and StopProfileInterrupt of HAL_TABLE. pid 0: all processes. */
NTSTATUS sim_start(struct sim *sim, KPROFILE_SOURCE source, ULONG processor,
                   uint64_t pid);
void sim_begin(struct sim *sim, KPROFILE_SOURCE source, uint64_t pid);
void sim_stop(struct sim *sim, KPROFILE_SOURCE source, ULONG processor, uint64_t pid);

/* sim_has_starts - is anything started for the process that has this pid now? */
bool sim_has_starts(struct sim *sim, uint64_t pid);

/* sim_make_starts_stale - after the exit of a process, mark its starts as stale: they
 * are not for a later process with its pid. */
void sim_make_starts_stale(struct sim *sim, uint64_t pid);

/* sim_arm_watch - have the sources of a watch interrupt its processors; armed false: no
 * longer. */
void sim_arm_watch(struct sim *sim, const struct sim_watch *watch, bool armed);

/* sim_synchronize - wait until each processor has handled the interrupt that it is
 * in. */
void sim_synchronize(struct sim *sim);

/* sim_tally_of - add up what became of a source's interrupts on all processors. */
struct sim_tally sim_tally_of(struct sim *sim, int row);

/* sim_complain - record the first violation of the HAL contract. text is not copied. */
void sim_complain(struct sim *sim, const char *text);

/* ---- queue.c ---- */

/* sim_deliver_hit - pass a hit to the core, and count it if it is in kernel mode and in
 * no profile. Returns the number of counters incremented. */
ULONG sim_deliver_hit(struct sim *sim, const KE_HIT *hit);

/* sim_push_hit - queue a hit. Returns false if it is lost because the queue is full. */
bool sim_push_hit(struct sim *sim, const KE_HIT *hit);

/* sim_push_notification - queue a notification with this name and the present time, and
 * deliver it at once if the machine keeps no queue. */
void sim_push_notification(struct sim *sim, ntprof_notification *notification,
                           const char *name);

/* sim_flush - deliver all that is queued; does nothing within a delivery. */
void sim_flush(struct sim *sim);

/* ---- process.c ---- */

/* sim_find_process - return the process with this pid that has not exited, or NULL. */
struct sim_process *sim_find_process(const struct sim *sim, uint64_t pid);

/* sim_adopt_process - return the process with this pid, made with images if there is
 * none. NULL if memory runs out. */
struct sim_process *sim_adopt_process(struct sim *sim, uint64_t pid);

/* sim_is_ended - was there a process with this pid, and has each exited, with no
 * notification of it still to be delivered? */
bool sim_is_ended(const struct sim *sim, uint64_t pid);

/* sim_is_known - is there a process with this pid whose exit was not notified? */
bool sim_is_known(const struct sim *sim, uint64_t pid);

/* sim_set_end_notified - note that the exit of the process with this pid has been
 * delivered. */
void sim_set_end_notified(struct sim *sim, uint64_t pid);

/* sim_has_image_room - can the process map one more image? */
bool sim_has_image_room(const struct sim_process *process);

/* sim_is_watched - is the process watched, so that its changes are notified? Not while
 * its start is pending. */
bool sim_is_watched(const struct sim *sim, const struct sim_process *process);

/* sim_notify_start - if the process is watched, notify of its start and its images. */
void sim_notify_start(struct sim *sim, struct sim_process *process, uint64_t parent);

/* ---- watch.c ---- */

/* sim_watch - see HAL_BACKEND.Watch. */
NTSTATUS sim_watch(struct sim *sim, const HAL_WATCH *wanted);

/* sim_release_watch - stop watching a process. A watch that covers no other process is
 * deleted. */
void sim_release_watch(struct sim *sim, struct sim_process *process);

/* sim_watch_covers - does a watch count a source, by its row, on this processor? */
bool sim_watch_covers(const struct sim_watch *watch, int row, ULONG processor);

/* sim_notify_pending_starts - notify of the start of each process with start_pending,
 * and clear that. */
void sim_notify_pending_starts(struct sim *sim);

/* sim_finish_watches - free the watch of all processes, if there is one. */
void sim_finish_watches(struct sim *sim);

/* sim_act - have a process do what its script draws: exec, fork, load a library, or
 * exit when its time has come. */
void sim_act(struct sim *sim, struct sim_process *process);

#endif
