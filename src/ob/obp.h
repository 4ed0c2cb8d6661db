/* SPDX-License-Identifier: MIT */
/* ob/obp.h - functions and types within ob. */
#ifndef OB_OBP_H
#define OB_OBP_H

#include "ob/ob.h"

/* OBJECT_HEADER - precedes the body, which is aligned for any type. */
typedef struct _OBJECT_HEADER {
    OBJECT_TYPE *Type;
    SIZE_T Bytes;         /* of header and body */
    ULONG64 PointerCount; /* references, including one for each handle */
    ULONG64 HandleCount;
} OBJECT_HEADER;

enum { OBP_HEADER_BYTES = (sizeof(OBJECT_HEADER) + 15) / 16 * 16 };

/* ObpHeader - return the header of an object. */
static inline OBJECT_HEADER *
ObpHeader(void *Body)
{
    return (OBJECT_HEADER *)(void *)((char *)Body - OBP_HEADER_BYTES);
}

#define OBP_NO_ENTRY 0xFFFFFFFFu

/* OBP_ENTRY - one slot of the handle table; free if Body is NULL. */
typedef struct _OBP_ENTRY {
    void *Body;
    ACCESS_MASK GrantedAccess;
    ULONG Attributes;
    ULONG Generation; /* of the handle that is open here, or of the next one */
    ULONG NextFree;
} OBP_ENTRY;

#endif
