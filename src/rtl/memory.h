/* SPDX-License-Identifier: MIT */
/*
 * rtl/memory.h - the memory functions that a compiler may call even without libc; a
 * freestanding embedder provides them, as any kernel does.
 */
#ifndef RTL_MEMORY_H
#define RTL_MEMORY_H

#include <ntprof/nt_types.h>

void *memcpy(void *To, const void *From, size_t Bytes);
void *memmove(void *To, const void *From, size_t Bytes);

#define RtlCopyMemory(To, From, Bytes) ((void)memcpy((To), (From), (Bytes)))
#define RtlMoveMemory(To, From, Bytes) ((void)memmove((To), (From), (Bytes)))

#endif
