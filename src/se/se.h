/* SPDX-License-Identifier: MIT */
/*
 * se/se.h - rights of the caller. Level: passive.
 */
#ifndef SE_SE_H
#define SE_SE_H

#include "host/host.h"

/* Who makes a request: an embedding kernel, or the library's caller. NT's KPROCESSOR_MODE. */
typedef UCHAR KPROCESSOR_MODE;
enum { KernelMode = 0, UserMode = 1 };

/* SeHasSystemProfilePrivilege - kernel mode always has it. */
static inline BOOLEAN
SeHasSystemProfilePrivilege(const HOST *Host, KPROCESSOR_MODE PreviousMode)
{
    return PreviousMode == KernelMode ||
           Host->Table->HasSystemProfilePrivilege(Host->Context);
}

/* SeIsRestrictedCaller - a caller that may not learn about kernel execution, by
 * HOST_RESTRICTED_... Rule; 0: a version without such callers. */
static inline BOOLEAN
SeIsRestrictedCaller(const HOST *Host, KPROCESSOR_MODE PreviousMode, ULONG Rule)
{
    return PreviousMode != KernelMode && Rule != 0 &&
           Host->Table->IsRestrictedCaller(Host->Context, Rule);
}

#endif
