/* SPDX-License-Identifier: MIT */
/*
 * model.h - a second NT profile facility, for tests to hold the first against: written
 * from what is published (docs/behaviour.md) and from nothing of the core, and as
 * simple as possible. Linear lists, plain arithmetic, no index, nothing shared, one
 * call after the other.
 *
 * The caller's memory, processes, processors and rights are the model's own too. A test
 * changes them here and in the simulated host alike, makes the same call on both, and
 * compares.
 *
 * Members are for tests to read; they are changed by calls alone.
 */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include <ntprof/ntprof.h>

#include <stdbool.h>

#include "branches.h"

enum { MODEL_PAGE_BYTES = 4096, MODEL_MOST_GROUPS = 4 };

/* ---- The world around ---- */

enum model_right { MODEL_ABSENT, MODEL_READ_ONLY, MODEL_WRITABLE };

/* A mapping of the caller. Unmapped ones stay, since a locked buffer may be there. */
struct model_region {
    struct model_region *next;
    uint64_t base;
    uint64_t bytes;
    uint8_t *memory;
    uint8_t *rights; /* enum model_right, one a page */
    bool mapped;
};

/* A process from its beginning to its end; the pid's next user is another one. */
struct model_process {
    struct model_process *next;
    uint64_t pid;
    bool gone;
    bool accessible;
};

/* What the machine can interrupt for, and what came of it. */
struct model_source {
    struct model_source *next;
    KPROFILE_SOURCE number;
    bool supported;
    uint64_t interval; /* in effect */
    uint64_t minimum;
    uint64_t maximum;
    uint64_t taken;
    uint64_t counted;
    uint64_t outside;
};

/* ---- Objects ---- */

struct model_profile {
    struct model_profile *next;
    struct model_process *process; /* NULL: all */
    uint64_t base;
    uint64_t size;
    uint32_t segment; /* 0: base is an address */
    uint32_t log2;
    uint64_t buffer;
    uint32_t buffer_bytes;
    KPROFILE_SOURCE source;
    uint64_t affinity[MODEL_MOST_GROUPS]; /* as given, before 6.1 */

    bool started;
    uint64_t nth_start; /* of all starts, in order */
    /* started, but nothing can count: no source, or its process is no more */
    bool deaf;
    bool told; /* and the core knows, so that it asks for no interrupts */
    uint64_t running[MODEL_MOST_GROUPS]; /* processors at start */
    struct model_region *region; /* that the buffer is in; NULL: nothing locked */
    uint64_t locked_bytes;
};

/* An open handle, to one of the two. */
struct model_handle {
    struct model_handle *next;
    uint64_t value; /* the core chooses it */
    struct model_profile *profile;
    struct model_process *process;
    ACCESS_MASK access;
    ULONG attributes;
};

/* What stopped the simulated NT. */
struct model_halt {
    bool bug_check; /* else corruption */
    uint32_t code;
    uint32_t exception; /* 0x1E */
    /* 0x0A and corruption: the counter's address, as the caller sees it */
    uint64_t counter;
    uint64_t irql;
};

/* ---- Faults to come, for one call: model_forget_faults ---- */

struct model_faults {
    bool memory;         /* no allocation succeeds */
    bool copy_to_caller; /* the next write to the caller fails although it was probed */
    NTSTATUS lock;       /* what the next lock gives, if not 0 */
    NTSTATUS map;        /* and the next mapping */
    uint32_t interrupt_nth;     /* the nth interrupt cannot be started; 0: all can */
    NTSTATUS interrupt_failure; /* and gives this */
};

struct model_options {
    uint32_t version; /* NTPROF_NT_... */
    bool x86;
    bool wow64;
    uint64_t highest_user_address; /* of the host */
    uint64_t system_range_start;
    uint64_t own_pid;
    uint16_t group_count;
    uint64_t *reached; /* MODEL_BRANCHES counts, or NULL */
};

struct model {
    struct model_options options;
    uint32_t version; /* the number, and 1810 for the newest, defects mended */
    struct model_region *regions;
    struct model_process *processes;
    struct model_source *sources;
    struct model_profile *profiles;
    struct model_handle *handles;
    bool privilege;
    uint32_t restricted; /* HOST_RESTRICTED_..., by which the caller is restricted */
    uint64_t active[MODEL_MOST_GROUPS];
    uint16_t current_group;
    uint32_t alignment_fixup;
    struct model_faults faults;
    uint64_t starts; /* so far */
    bool halted;
    struct model_halt halt;
};

/* model_create - the caller's own process exists. NULL without memory. */
struct model *model_create(const struct model_options *options);
void model_delete(struct model *model);

/* ---- Changes of the world ---- */

bool model_map(struct model *model, uint64_t base, uint64_t bytes);
void model_unmap(struct model *model, uint64_t base);
void model_protect(struct model *model, uint64_t address, uint64_t bytes,
                   enum model_right right);

/* model_at - where the model has [address, address + bytes), whatever the rights; or
 * NULL. */
uint8_t *model_at(struct model *model, uint64_t address, uint64_t bytes);

bool model_add_process(struct model *model, uint64_t pid);
/* Nobody is told: the core may find out, and give the interrupts back, or not. */
void model_end_process(struct model *model, uint64_t pid);
/* It runs a new program, of which the core is told. */
void model_exec(struct model *model, uint64_t pid);

/* model_find_process - who has the pid now, or NULL. */
struct model_process *model_find_process(struct model *model, uint64_t pid);

bool model_add_source(struct model *model, const struct model_source *source);
struct model_source *model_find_source(struct model *model, KPROFILE_SOURCE number);

/* ---- Calls ---- */

enum model_form { MODEL_TEN, MODEL_NINE, MODEL_SEVEN }; /* how many arguments */

/* A kernel-mode caller's pointers are trusted: they must be to the model's memory. */
struct model_create_call {
    enum model_form form;
    bool kernel_mode;
    uint64_t profile_handle;
    uint64_t process;
    uint64_t base;
    uint64_t size;
    uint32_t bucket;
    uint64_t buffer;
    uint32_t buffer_bytes;
    KPROFILE_SOURCE source;
    uint16_t group_count;
    uint64_t array;
    uint64_t affinity; /* nine arguments */
};

/* The three that make a handle return it in *made, for model_name_handle, on success.
 */
NTSTATUS model_create_profile(struct model *model, const struct model_create_call *call,
                              struct model_handle **made);
NTSTATUS model_open_process(struct model *model, bool kernel_mode,
                            uint64_t process_handle, ACCESS_MASK access, uint64_t pid,
                            struct model_handle **made);

struct model_duplicate_call {
    bool kernel_mode;
    uint64_t source_process;
    uint64_t source;
    uint64_t target_process;
    uint64_t target_handle;
    ACCESS_MASK access;
    ULONG attributes;
    ULONG options;
};
NTSTATUS model_duplicate(struct model *model, const struct model_duplicate_call *call,
                         struct model_handle **made);

/* model_name_handle - the value that the core gave it, now written at address. False:
 * no good value, or another open handle has it. */
bool model_name_handle(struct model *model, struct model_handle *handle, uint64_t value,
                       uint64_t address);

NTSTATUS model_start(struct model *model, uint64_t handle);
NTSTATUS model_stop(struct model *model, uint64_t handle);
NTSTATUS model_close(struct model *model, uint64_t handle);
NTSTATUS model_query_object(struct model *model, bool kernel_mode, uint64_t handle,
                            ULONG class, uint64_t information, ULONG length,
                            uint64_t return_length);

/* old: the forms of 3.10 and 3.50, with no source. */
NTSTATUS model_query_interval(struct model *model, bool kernel_mode, bool old,
                              KPROFILE_SOURCE source, uint64_t interval);
NTSTATUS model_set_interval(struct model *model, bool kernel_mode, bool old,
                            uint32_t interval, KPROFILE_SOURCE source);

/* ---- Interrupts ---- */

struct model_hit {
    KPROFILE_SOURCE source;
    uint32_t processor; /* group times 64 plus number */
    uint64_t pid;
    uint64_t address;
    uint32_t selector; /* 0: not told */
    uint64_t offset;   /* in its segment */
};

/* model_take_hit - the counters incremented. */
uint32_t model_take_hit(struct model *model, const struct model_hit *hit);

/* model_stop_all - what a halt comes to, after the hits that were under way. */
void model_stop_all(struct model *model);

/* ---- What to compare ---- */

uint64_t model_count_profiles(const struct model *model);
uint64_t model_count_started(const struct model *model);

/* model_count_interrupts - different (source, processor, process or all) that must be
 * started; and of processes that are gone those that may still be. */
uint64_t model_count_interrupts(const struct model *model, bool gone);
uint64_t model_locked_bytes(const struct model *model);

/* ---- For the model's own files ---- */

void model_reach(struct model *model, enum model_branch branch);
bool model_is_user(const struct model *model, uint64_t address, uint64_t bytes);
bool model_can_read(struct model *model, uint64_t address, uint64_t bytes);
bool model_can_write(struct model *model, uint64_t address, uint64_t bytes);
struct model_region *model_find_region(struct model *model, uint64_t address,
                                       uint64_t bytes);
/* model_handle_value - the 32 bits of a handle that count, without the low two. */
uint64_t model_handle_value(uint64_t value);

struct model_handle *model_find_handle(struct model *model, uint64_t value);
struct model_handle *model_make_handle(struct model *model);

/* model_find_process_object - the process behind a handle or pseudo handle, with that
 * access unless the call comes from kernel mode. */
NTSTATUS model_find_process_object(struct model *model, bool kernel_mode,
                                   uint64_t handle, ACCESS_MASK access,
                                   struct model_process **process);

/* model_stop_profile - it is started. */
void model_stop_profile(struct model_profile *profile);

/* model_halt - it is not halted yet. */
void model_halt(struct model *model, const struct model_halt *halt);

#endif
