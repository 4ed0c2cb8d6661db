/* SPDX-License-Identifier: MIT */
/* hal/sim/simp.h - for hal/sim alone. */
#ifndef HAL_SIM_SIMP_H
#define HAL_SIM_SIMP_H

#include "hal/sim/sim.h"

#include <pthread.h>

enum { SIM_SOURCES = 29, SIM_MOST_IMAGES = 8, SIM_FIRST_PID = 0x40000000 };

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

/* An interrupt that ke asked for on one processor. */
struct sim_start {
    KPROFILE_SOURCE source;
    uint64_t pid; /* 0: all processes */
    bool stale;   /* its process has ended: another one with this pid is not meant */
    bool begun;   /* interrupts come */
};

/* What became of the interrupts of a source on a processor. */
struct sim_tally {
    uint64_t expected;
    uint64_t events;
    uint64_t lost;
    uint64_t throttled;
    uint64_t missed;
    uint64_t excluded;
};

struct sim_processor {
    pthread_mutex_t lock; /* held while it handles an interrupt; guards the next four */
    struct sim_start *starts;
    size_t start_count;
    size_t start_capacity;
    uint64_t hash;
    struct sim_tally tallies[SIM_SOURCES];
    /* For the thread that steps. */
    uint32_t armed[SIM_SOURCES]; /* starts and watches */
    uint32_t armed_total;
    uint64_t due_ns[SIM_SOURCES]; /* 0: not drawn yet */
    uint64_t running_pid;
};

/* What one call of Watch asked for; shared by descendants. */
struct sim_watch {
    struct sim_watch *next;
    uint32_t processes; /* alive and told of */
    bool descendants;
    uint32_t source_mask; /* by row */
    uint64_t *processors; /* bit set */
};

struct sim_process {
    struct sim_process *next;
    uint64_t pid;
    bool alive;
    bool end_told;       /* and so ended for the core, too */
    bool waits_for_exec; /* then it is told of */
    bool untold;         /* all are watched, but this one came within a call */
    struct sim_watch *watch;
    uint32_t image_count;
    uint32_t generation; /* of depth and forks, to bound the tree */
    uint32_t children;
    uint64_t wakes_ns; /* next act of its script; 0: none */
    uint64_t ends_ns;
    char name[24];
    struct sim_image images[SIM_MOST_IMAGES];
};

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
    size_t queue_next; /* delivered so far, within a delivery */
    size_t queue_capacity;
    uint64_t queue_lost;
    bool delivering;
    uint64_t notification_hash;
    struct sim_faults faults;
    uint64_t start_calls;
    uint64_t stop_calls;
    uint64_t fail_start_at;
    NTSTATUS fail_start_status;
    NTSTATUS fail_begin_status; /* STATUS_SUCCESS: it does not */
    const char *complaint;
    char error[160];
};

/* random.c: splitmix64. sim_random_below - 0 to bound - 1; bound is not 0. */
uint64_t sim_random(struct sim *sim);
uint64_t sim_random_below(struct sim *sim, uint64_t bound);
uint64_t sim_hash_add(uint64_t hash, uint64_t value);

/* source.c. sim_source_row_of - row of a source, or -1. */
int sim_source_row_of(KPROFILE_SOURCE source);
int sim_source_row_named(const char *name);
struct sim_limits sim_source_limits(int row);
void sim_sources_init(struct sim *sim);
void sim_source_set_interval(struct sim *sim, int row, uint64_t interval);
uint64_t sim_source_period_ns(const struct sim *sim, int row);

/* interrupt.c. Fate of an interrupt that the machine makes at some place. */
enum sim_fate { SIM_DELIVERED, SIM_LOST, SIM_THROTTLED, SIM_MISSED, SIM_EXCLUDED };
ULONG sim_interrupt(struct sim *sim, int row, const KE_HIT *where, enum sim_fate fate);
NTSTATUS sim_start(struct sim *sim, KPROFILE_SOURCE source, ULONG processor,
                   uint64_t pid);
void sim_begin(struct sim *sim, KPROFILE_SOURCE source, uint64_t pid);
void sim_stop(struct sim *sim, KPROFILE_SOURCE source, ULONG processor, uint64_t pid);
bool sim_has_starts(struct sim *sim, uint64_t pid);
void sim_make_starts_stale(struct sim *sim, uint64_t pid);
void sim_arm_watch(struct sim *sim, const struct sim_watch *watch, bool armed);
void sim_synchronize(struct sim *sim);
struct sim_tally sim_tally_of(struct sim *sim, int row);
void sim_complain(struct sim *sim, const char *text);

/* queue.c. sim_push_hit - false if the hit is lost. */
bool sim_push_hit(struct sim *sim, const KE_HIT *hit);
void sim_push_notification(struct sim *sim, ntprof_notification *notification,
                           const char *name);
void sim_flush(struct sim *sim);

/* process.c. */
struct sim_process *sim_find_process(const struct sim *sim, uint64_t pid);
struct sim_process *sim_adopt_process(struct sim *sim, uint64_t pid);
/* sim_is_ended - no life of this pid goes on, as far as has been told. */
bool sim_is_ended(const struct sim *sim, uint64_t pid);
/* sim_is_known - one goes on, or its end was not told yet. */
bool sim_is_known(const struct sim *sim, uint64_t pid);
void sim_end_told(struct sim *sim, uint64_t pid);
bool sim_has_image_room(const struct sim_process *process);

/* watch.c. */
NTSTATUS sim_watch(struct sim *sim, const HAL_WATCH *wanted);
void sim_release_watch(struct sim *sim, struct sim_process *process);
bool sim_watch_covers(const struct sim_watch *watch, int row, ULONG processor);
/* sim_is_told - are there notifications of this process? */
bool sim_is_told(const struct sim *sim, const struct sim_process *process);
/* sim_tell_newcomers - notify of the start of each process that is untold. */
void sim_tell_newcomers(struct sim *sim);
void sim_finish_watches(struct sim *sim);
void sim_tell_start(struct sim *sim, struct sim_process *process, uint64_t parent);
void sim_act(struct sim *sim, struct sim_process *process);

#endif
