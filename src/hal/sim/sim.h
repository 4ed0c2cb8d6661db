/* SPDX-License-Identifier: MIT */
/*
 * hal/sim/sim.h - a simulated machine that makes profile interrupts: processors, a
 * clock, processes with images, and program counters, all drawn from a seed. The same
 * seed and the same calls make the same hits and notifications.
 *
 * The back end (HalSimBackend) runs it by itself: each delivery is 10 ms of simulated
 * time. Tests let it run step by step, or make single hits.
 *
 * Threads: sim_hit may be called by one thread for each processor, together with
 * passive calls (the HAL table) on one more, as long as nothing is queued or watched.
 * All else is for one thread.
 */
#ifndef HAL_SIM_SIM_H
#define HAL_SIM_SIM_H

#include "hal/backend.h"

#include <stdbool.h>

/* Zero members take the defaults named here. */
struct sim_options {
    uint64_t seed;
    uint32_t processor_count;      /* 64 */
    uint32_t background_processes; /* 0; processes that run from the start */
    /* 0: hits and notifications are delivered at once. Else they are queued until Flush
     * or Deliver, and hits that find this many in the queue are lost. */
    uint32_t queue_records;
    bool user_only; /* no hits in kernel mode: they are excluded */
    bool scripted;  /* watched processes fork, exec, map and exit by themselves */
    void (*notify)(void *context, const ntprof_notification *notification);
    void *notify_context;
};

struct sim;

/* sim_create - make a machine whose hits go to a core. The core may be uninitialised
 * until the machine is used. options may be NULL. Returns NULL if memory runs out. */
struct sim *sim_create(const struct sim_options *options, struct _KE_SYSTEM *ke);
void sim_delete(struct sim *sim);

/* sim_hal - return the machine as a back end, for the core. */
HAL sim_hal(struct sim *sim);

/*
 * sim_hit - make one interrupt of a source, at this address.
 *
 * The interrupt is made only if source was started or is watched on that processor, for
 * this process or for all (pid 0: the processor is idle). If it was for both, one
 * interrupt counts in the profiles of the process and in the global ones. Returns the
 * number of counters incremented; 0 if it was not made, or is queued.
 */
ULONG sim_hit(struct sim *sim, KPROFILE_SOURCE source, ULONG processor, uint64_t pid,
              uint64_t address);

/* sim_hit_segment - do sim_hit in a code segment: address is linear, offset within the
 * segment. */
ULONG sim_hit_segment(struct sim *sim, KPROFILE_SOURCE source, ULONG processor,
                      uint64_t pid, uint64_t address, ULONG selector, uint64_t offset);

/* sim_step - let time pass until this many timers of sources have expired. Returns how
 * many did: fewer only if no source is started any more. */
uint64_t sim_step(struct sim *sim, uint64_t timers);

/* sim_run - let this much simulated time pass. */
void sim_run(struct sim *sim, uint64_t duration_ns);

/* sim_now_ns - return the simulated time. */
uint64_t sim_now_ns(const struct sim *sim);

/* sim_trace_hash - return a hash of all hits and notifications so far, in order. */
uint64_t sim_trace_hash(const struct sim *sim);

/* An image in a process. The name is copied. */
struct sim_image {
    uint64_t base;
    uint64_t length_bytes;
    uint64_t file_offset_bytes;
    char name[32];
};

/* Have processes start, map, fork, exec and exit; those of watched processes are
 * notified, in order. A pid that the machine does not have becomes a new process when
 * it is watched, or when a profile is started for it. */
void sim_add_process(struct sim *sim, uint64_t pid);
void sim_map(struct sim *sim, uint64_t pid, const struct sim_image *image);
void sim_fork(struct sim *sim, uint64_t parent, uint64_t child);
void sim_exec(struct sim *sim, uint64_t pid);
void sim_exit(struct sim *sim, uint64_t pid);

/* sim_image_of - return the index-th image of a process, from 0 on, or NULL. */
const struct sim_image *sim_image_of(struct sim *sim, uint64_t pid, size_t index);

/* sim_set_supported - set whether the machine has this source. */
void sim_set_supported(struct sim *sim, KPROFILE_SOURCE source, bool supported);

/* Which share of the interrupts of sim_step and sim_run makes no hit, and why. */
struct sim_faults {
    uint32_t lost_per_mille;
    uint32_t throttled_per_mille;
    uint32_t missed_per_mille;
};

/* sim_set_faults - set these shares from now on. */
void sim_set_faults(struct sim *sim, const struct sim_faults *faults);

/* sim_fail_start - have the nth call of StartProfileInterrupt from now fail with
 * status; nth 0: none. */
void sim_fail_start(struct sim *sim, uint64_t nth, NTSTATUS status);

/* sim_fail_begin - have all calls of BeginProfileInterrupts fail with status from now
 * on; STATUS_SUCCESS: none. */
void sim_fail_begin(struct sim *sim, NTSTATUS status);

/* sim_is_started - is this source started on a processor for a pid? sim_started - the
 * number of such starts. sim_start_calls, sim_stop_calls - calls of
 * StartProfileInterrupt and of StopProfileInterrupt so far. */
bool sim_is_started(const struct sim *sim, KPROFILE_SOURCE source, ULONG processor,
                    uint64_t pid);
uint64_t sim_started(const struct sim *sim);
uint64_t sim_start_calls(const struct sim *sim);
uint64_t sim_stop_calls(const struct sim *sim);

/* sim_complaint - return the first violation of the HAL contract by the core, such as a
 * source that it started twice; NULL: there was none. */
const char *sim_complaint(const struct sim *sim);

#endif
