/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/kernel.h - the session's BPF maps, their memory, and its BPF programs.
 *
 * The system call bpf() creates them, without libbpf:
 * docs/decisions/0016-load-bpf-programs-without-libbpf.md. Each stage can be refused
 * for reasons of its own, so the refusal names the stage.
 */
#ifndef HAL_BPF_KERNEL_H
#define HAL_BPF_KERNEL_H

#include "hal/bpf/profile.h"
#include "hal/linux/refusal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

union bpf_attr;

/* bpf_call - the system call, or a test's. Returns a descriptor, 0 or negative
 * errno. */
typedef long bpf_call(int command, union bpf_attr *attr, size_t bytes);

/* bpf_call_kernel - the system call. */
bpf_call bpf_call_kernel;

/* The programs. */
enum bpf_program {
    BPF_PROGRAM_SAMPLE, /* counts a hit; for perf events */
    BPF_PROGRAM_EXEC,   /* at each exec */
    BPF_PROGRAM_EXIT,   /* at each exit of a thread */
    BPF_PROGRAM_REPLAY, /* counts a hit from its arguments; for tests */
    BPF_PROGRAMS
};

/* What was asked of the kernel when it refused. */
enum bpf_stage {
    BPF_STAGE_MAP, /* also its memory, and the types of programs */
    BPF_STAGE_PROGRAM,
    BPF_STAGE_EVENT,     /* perf_event_open */
    BPF_STAGE_ATTACH,    /* a program to an event */
    BPF_STAGE_TRACEPOINT /* a program to a tracepoint */
};

/* bpf_refusal_explain - say why a stage failed. error: negative errno. Does not change
 * refusal->log. */
void bpf_refusal_explain(int error, enum bpf_stage stage, struct perf_refusal *refusal);

/* bpf_refusal_is_by_age - is a kernel of this release (of uname) one that charges maps
 * to RLIMIT_MEMLOCK, and refuses them with EPERM whatever the rights? Those before 5.11
 * do. Distributions bring parts of newer kernels to the ones behind that. */
bool bpf_refusal_is_by_age(const char *release);

/* Which programs are loaded. */
enum bpf_purpose {
    BPF_FOR_EVENTS,
    BPF_FOR_REPLAY /* only that for tests */
};

struct bpf_kernel {
    bpf_call *call;
    uint32_t processors; /* number of the highest possible processor, plus 1 */
    uint32_t set_words;  /* of a set of so many processors */
    int maps[BPF_MAPS];  /* -1: not created */
    void *memory[BPF_MAPS];
    size_t bytes[BPF_MAPS]; /* mapped */
    int programs[BPF_PROGRAMS];
};

/*
 * bpf_kernel_make - create the maps and load the programs.
 *
 *   processors  in: number of the highest possible processor, plus 1
 *   refusal     out: on failure
 *
 * Returns 0 or negative errno; then nothing is left.
 */
int bpf_kernel_make(struct bpf_kernel *kernel, bpf_call *call, uint32_t processors,
                    enum bpf_purpose purpose, struct perf_refusal *refusal);

/* bpf_kernel_finish - close and unmap everything. A kernel of zeros is allowed. */
void bpf_kernel_finish(struct bpf_kernel *kernel);

/* The maps' memory. */
static inline union bpf_shared *
bpf_shared_of(const struct bpf_kernel *kernel)
{
    return kernel->memory[BPF_MAP_SHARED];
}

static inline struct bpf_control *
bpf_control_of(const struct bpf_kernel *kernel)
{
    return &bpf_shared_of(kernel)->control;
}

static inline struct bpf_processor *
bpf_processors_of(const struct bpf_kernel *kernel)
{
    return kernel->memory[BPF_MAP_PROCESSORS];
}

/*
 * bpf_kernel_add_map - create a map, map its memory, and put it into one of the arrays
 * of maps.
 *
 *   into      in: BPF_MAP_CHUNKS or BPF_MAP_POOLS
 *   at        in: its index there
 *   elements  in: how many it has
 *   memory    out: the caller unmaps it
 *
 * Returns its descriptor or negative errno. Waits for the kernel's readers (RCU), which
 * takes milliseconds.
 */
int bpf_kernel_add_map(struct bpf_kernel *kernel, enum bpf_map into, uint32_t at,
                       size_t elements, void **memory);

/* bpf_kernel_drop_map - remove the map at index at from an array of maps, and close fd,
 * its descriptor. */
void bpf_kernel_drop_map(struct bpf_kernel *kernel, enum bpf_map from, uint32_t at,
                         int fd);

/* bpf_kernel_attach_event - have each hit of an event run BPF_PROGRAM_SAMPLE, which
 * gets the cookie (profile.h). Returns the descriptor of a link, or negative errno. */
int bpf_kernel_attach_event(const struct bpf_kernel *kernel, int event_fd,
                            uint64_t cookie);

/* bpf_kernel_attach_tracepoint - have each exec run BPF_PROGRAM_EXEC, or each exit of a
 * thread BPF_PROGRAM_EXIT. Returns the descriptor of a link, or negative errno. */
int bpf_kernel_attach_tracepoint(const struct bpf_kernel *kernel,
                                 enum bpf_program program);

/* bpf_kernel_wait - return when each program that was running has ended; all that start
 * later see what was stored before the call. */
void bpf_kernel_wait(const struct bpf_kernel *kernel);

#endif
