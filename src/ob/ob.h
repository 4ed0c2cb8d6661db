/* SPDX-License-Identifier: MIT */
/*
 * ob/ob.h - objects with a type and counted references, and handles to them.
 *
 * Level: passive; calls for one OB_SYSTEM are serialised by the caller. An object lives until its
 * last reference and its last handle are gone; then its type's Delete runs.
 */
#ifndef OB_OB_H
#define OB_OB_H

#include "host/host.h"

typedef struct _OBJECT_TYPE {
    const char *Name;
    ACCESS_MASK GenericRead;
    ACCESS_MASK GenericWrite;
    ACCESS_MASK GenericExecute;
    ACCESS_MASK GenericAll;
    ACCESS_MASK ValidAccess;
    /* Undo what made the body; the memory goes after it. */
    void (*Delete)(void *DeleteContext, void *Body);
    void *DeleteContext;
} OBJECT_TYPE;

struct _OBP_ENTRY;

typedef struct _OB_SYSTEM {
    HOST Host;
    struct _OBP_ENTRY *Entries; /* handle table */
    ULONG EntryCount;
    ULONG FirstFree; /* index, or OBP_NO_ENTRY */
    ULONG64 ObjectCount;
} OB_SYSTEM;

void ObInitializeSystem(OB_SYSTEM *Ob, const HOST *Host);

/* ObFinishSystem - close every handle and free the table. */
void ObFinishSystem(OB_SYSTEM *Ob);

/* ObCreateObject - a zeroed body with one reference. STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS ObCreateObject(OB_SYSTEM *Ob, const OBJECT_TYPE *Type, SIZE_T BodyBytes,
                        void **Body);

void ObReferenceObject(void *Body);

/* ObDereferenceObject - NULL is allowed. */
void ObDereferenceObject(OB_SYSTEM *Ob, void *Body);

/* ObOpenHandle - a handle with GrantedAccess, holding a reference of its own.
 * STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS ObOpenHandle(OB_SYSTEM *Ob, void *Body, ACCESS_MASK GrantedAccess,
                      HANDLE *Handle);

/*
 * ObReferenceObjectByHandle - the object behind a handle, with a reference for the caller.
 *
 * STATUS_INVALID_HANDLE        not an open handle
 * STATUS_OBJECT_TYPE_MISMATCH  another type
 * STATUS_ACCESS_DENIED         DesiredAccess was not granted
 */
NTSTATUS ObReferenceObjectByHandle(OB_SYSTEM *Ob, HANDLE Handle,
                                   const OBJECT_TYPE *Type, ACCESS_MASK DesiredAccess,
                                   void **Body);

/* ObCloseHandle - STATUS_INVALID_HANDLE. */
NTSTATUS ObCloseHandle(OB_SYSTEM *Ob, HANDLE Handle);

/* ObMapGenericAccess - replace generic bits by what the type maps them to. */
ACCESS_MASK ObMapGenericAccess(const OBJECT_TYPE *Type, ACCESS_MASK Access);

#endif
