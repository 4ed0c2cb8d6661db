/* SPDX-License-Identifier: MIT */
/*
 * ob/ob.h - objects with a type and counted references, and handles to them.
 *
 * Level: passive; calls for one OB_SYSTEM are serialised by the caller. An object
 * exists until its last reference is dropped and its last handle closed; then its
 * type's Delete runs.
 */
#ifndef OB_OB_H
#define OB_OB_H

#include "host/host.h"
#include "se/se.h"

/* OBJECT_TYPE - what all objects of one type have in common. */
typedef struct _OBJECT_TYPE {
    const char *Name;
    ACCESS_MASK GenericRead;
    ACCESS_MASK GenericWrite;
    ACCESS_MASK GenericExecute;
    ACCESS_MASK GenericAll;
    ACCESS_MASK ValidAccess;
    ULONG InvalidAttributes; /* OBJ_... that are invalid for handles and objects of this
                              * type */
    /* Finish the body; then ob frees the memory. */
    void (*Delete)(void *DeleteContext, void *Body);
    void *DeleteContext;
    /* Current and highest numbers, maintained by ob. */
    ULONG64 ObjectCount;
    ULONG64 HandleCount;
    ULONG64 MostObjects;
    ULONG64 MostHandles;
} OBJECT_TYPE;

struct _OBP_ENTRY;

typedef struct _OB_SYSTEM {
    HOST Host;
    struct _OBP_ENTRY *Entries; /* handle table */
    ULONG EntryCount;
    ULONG FirstFree; /* slot that is used next, or OBP_NO_ENTRY */
    ULONG LastFree;  /* meaningful while there is a first */
    ULONG64 ObjectCount;
} OB_SYSTEM;

/* ObInitializeSystem - make an instance without objects and handles. */
void ObInitializeSystem(OB_SYSTEM *Ob, const HOST *Host);

/* ObFinishSystem - close every handle and free the table. */
void ObFinishSystem(OB_SYSTEM *Ob);

/* ObCreateObject - make an object with a zeroed body and one reference, which is the
 * caller's. STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS ObCreateObject(OB_SYSTEM *Ob, OBJECT_TYPE *Type, SIZE_T BodyBytes,
                        void **Body);

/* ObReferenceObject - add a reference. */
void ObReferenceObject(void *Body);

/* ObDereferenceObject - drop a reference; the last one deletes the object. NULL is
 * allowed. */
void ObDereferenceObject(OB_SYSTEM *Ob, void *Body);

/* ObOpenHandle - make a handle with GrantedAccess and no attributes, which has a
 * reference of its own. STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS ObOpenHandle(OB_SYSTEM *Ob, void *Body, ACCESS_MASK GrantedAccess,
                      HANDLE *Handle);

/*
 * ObReferenceObjectByHandle - find the object behind a handle, and add a reference for
 * the caller.
 *
 *   Mode  in: whose request it is; kernel mode has any access
 *
 * STATUS_INVALID_HANDLE        not an open handle
 * STATUS_OBJECT_TYPE_MISMATCH  another type
 * STATUS_ACCESS_DENIED         user mode, and DesiredAccess was not granted
 */
NTSTATUS ObReferenceObjectByHandle(OB_SYSTEM *Ob, HANDLE Handle,
                                   const OBJECT_TYPE *Type, KPROCESSOR_MODE Mode,
                                   ACCESS_MASK DesiredAccess, void **Body);

/* ObSetHandleAttributes - set the attributes of an open handle: OBJ_INHERIT or 0. */
void ObSetHandleAttributes(OB_SYSTEM *Ob, HANDLE Handle, ULONG Attributes);

/* OB_HANDLE_FACTS - an open handle: its object, access and attributes. */
typedef struct _OB_HANDLE_FACTS {
    void *Body;
    ACCESS_MASK GrantedAccess;
    ULONG Attributes;
} OB_HANDLE_FACTS;

/* ObQueryHandle - get the object, access and attributes of a handle. Adds no reference:
 * Body lives as long as the handle. STATUS_INVALID_HANDLE. */
NTSTATUS ObQueryHandle(const OB_SYSTEM *Ob, HANDLE Handle, OB_HANDLE_FACTS *Facts);

/* OB_OBJECT_FACTS - an object; its references include one for each handle. */
typedef struct _OB_OBJECT_FACTS {
    const OBJECT_TYPE *Type;
    ULONG64 PointerCount;
    ULONG64 HandleCount;
} OB_OBJECT_FACTS;

/* ObQueryObject - get type and counts of an object. */
void ObQueryObject(const void *Body, OB_OBJECT_FACTS *Facts);

/* ObCloseHandle - close a handle and drop its reference. STATUS_INVALID_HANDLE. */
NTSTATUS ObCloseHandle(OB_SYSTEM *Ob, HANDLE Handle);

/*
 * ObMapDesiredAccess - convert requested access to granted access.
 *
 *   Desired  in: rights, generic rights (replaced by what the type maps them to),
 *            MAXIMUM_ALLOWED (replaced by Most)
 *   Most     in: all that may be granted
 *   Granted  out
 *
 * STATUS_ACCESS_DENIED if that is more than Most.
 */
NTSTATUS ObMapDesiredAccess(const OBJECT_TYPE *Type, ACCESS_MASK Desired,
                            ACCESS_MASK Most, ACCESS_MASK *Granted);

#endif
