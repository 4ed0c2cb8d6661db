/* SPDX-License-Identifier: MIT */
/*
 * handles.h - handles as a case has them: those of ex, or (--objects) those of an
 * embedder that has a handle table of its own, above the profile objects of ex. Both
 * answer in the same way, so the same rows are for both.
 */
#ifndef CONFORMANCE_HANDLES_H
#define CONFORMANCE_HANDLES_H

#include "ex/exp.h"

#include <stdbool.h>
#include <stddef.h>

enum { HANDLES_MOST = 2048 };

struct handles {
    KSYSTEM *system;
    bool own;    /* the embedder's table */
    bool narrow; /* its callers have handles of 32 bits */
    struct {
        void *object; /* NULL: closed; a handle's value is never used again */
        const OBJECT_TYPE *type;
        ACCESS_MASK access;
    } entries[HANDLES_MOST];
    size_t count;
};

void handles_open(struct handles *handles, KSYSTEM *system, bool own, bool narrow);

/* handles_finish - close those that are open. */
void handles_finish(struct handles *handles);

/* By service (EX_CREATE_PROFILE_...). */
NTSTATUS handles_create(struct handles *handles, KPROCESSOR_MODE mode, ULONG service,
                        const EX_CREATE_PROFILE *request);
NTSTATUS handles_start(struct handles *handles, KPROCESSOR_MODE mode, HANDLE handle);
NTSTATUS handles_stop(struct handles *handles, KPROCESSOR_MODE mode, HANDLE handle);
NTSTATUS handles_close(struct handles *handles, HANDLE handle);

/* In kernel mode. */
NTSTATUS handles_open_process(struct handles *handles, ACCESS_MASK access, ULONG64 pid,
                              HANDLE *handle);

/* handles_open_again - another handle to an object, with other access. */
NTSTATUS handles_open_again(struct handles *handles, HANDLE handle, ACCESS_MASK access,
                            HANDLE *again);

/* handles_reference - as ObReferenceObjectByHandle; ExDereferenceObject gives back. */
NTSTATUS handles_reference(struct handles *handles, HANDLE handle,
                           const OBJECT_TYPE *type, KPROCESSOR_MODE mode,
                           ACCESS_MASK access, void **object);

#endif
