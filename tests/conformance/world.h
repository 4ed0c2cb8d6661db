/* SPDX-License-Identifier: MIT */
/*
 * world.h - the machine that one case runs on: what the row's keys ask for, the
 * caller's memory, handles by name, and what must be the same after a call that fails.
 *
 * Regions of memory and handles come to be when a value names them, so that a call
 * under test finds as little prepared as can be: each allocation that it may need is
 * there to fail.
 */
#ifndef CONFORMANCE_WORLD_H
#define CONFORMANCE_WORLD_H

#include "handles.h"
#include "machine.h"
#include "table.h"
#include "value.h"

enum { WORLD_MOST_INPUTS = 48, WORLD_MOST_REGIONS = 16, WORLD_MOST_HANDLES = 16 };

/* Which of the three create calls. */
enum world_form { WORLD_EX, WORLD_NINE, WORLD_SEVEN };

/* A case: a row for one version, word size and create call, with one value for each
 * key. */
struct world_case {
    const struct table_row *row;
    int version; /* index in table_versions */
    unsigned abi;
    enum world_form form;
    bool objects; /* by an embedder's handles: handles.h */
    bool narrow;  /* user-mode callers have the layout of 32 bits */
    size_t input_count;
    struct {
        const char *key;
        char value[VALUE_MOST_CHARS];
    } inputs[WORLD_MOST_INPUTS];
};

struct world_region {
    uint64_t address;
    uint64_t bytes;
    uint8_t *memory;
    uint8_t *before; /* a copy; NULL while none was taken, or too large for one */
};

/* What a call that fails must not change. */
struct world_balance {
    uint64_t objects;
    uint64_t profiles;
    uint64_t started;
    uint64_t hal_started;
    uint64_t locks;
    uint64_t mappings;
    uint64_t open_processes;
};

struct world {
    const struct world_case *test;
    struct machine machine;
    struct handles table;
    struct world_region regions[WORLD_MOST_REGIONS];
    size_t region_count;
    struct {
        char name[16];
        HANDLE handle;
    } handles[WORLD_MOST_HANDLES];
    size_t handle_count;
    uint64_t buffers[2];      /* caller's addresses of the profiles' counters */
    uint64_t buffer_bytes[2]; /* as BufferSize says */
    uint64_t started_elsewhere;
    struct world_balance before;
    KE_HALT halt_before;
    unsigned depth; /* of keys that name keys */
    char note[64];  /* what was made to fail, for messages */
    unsigned failures;
};

/* world_fail - the case fails. */
void world_fail(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void world_open(struct world *world, const struct world_case *test);

/* world_close - checks that nothing is left, whatever the case did. */
void world_close(struct world *world);

/* world_text - a key's value: the row's, the table's default, else what README.md says;
 * NULL. */
const char *world_text(struct world *world, const char *key);
bool world_is(struct world *world, const char *key, const char *value);

/* world_number - the same as a number; a case that lacks it, or has none, fails. */
uint64_t world_number(struct world *world, const char *key);
uint64_t world_evaluate(struct world *world, const char *text);

/* world_prepare - make the row's profile, and the second one if there is one: handles
 * "profile" and "profile2". The caller has every right meanwhile. */
void world_prepare(struct world *world);

/* world_apply_rights - privilege and restriction as the row has them; prepared is done
 * with all. */
void world_apply_rights(struct world *world);

/* world_request - the request of the row, or (second) of its keys that begin with "2.".
 */
EX_CREATE_PROFILE world_request(struct world *world, bool second);

/* world_create - by the call that the case is about. */
NTSTATUS world_create(struct world *world, KPROCESSOR_MODE mode,
                      const EX_CREATE_PROFILE *request, bool second);
KPROCESSOR_MODE world_mode(struct world *world);

/* world_word - bytes of the caller's pointers. */
uint64_t world_word(struct world *world);

/* world_read_word - from the caller's memory, which is there. */
uint64_t world_read_word(struct world *world, const void *memory);

/* world_handle - by name, opened when it is not yet; NULL if there is no such name. */
HANDLE world_handle(struct world *world, const char *name);
void world_set_handle(struct world *world, const char *name, HANDLE handle);

/* The caller's memory. An address of a kernel-mode caller is a real one. */
uint64_t world_caller_address(struct world *world, uint64_t address);
void *world_memory(struct world *world, uint64_t address, uint64_t bytes);

/* world_remember, world_check_same - around a call. What it may write is in ranges. */
struct world_range {
    uint64_t address;
    uint64_t bytes;
};
void world_remember(struct world *world);
void world_check_memory(struct world *world, const struct world_range *ranges,
                        size_t range_count);
void world_check_balance(struct world *world);
bool world_has_halted(struct world *world);
struct world_balance world_balance(struct world *world);

#endif
