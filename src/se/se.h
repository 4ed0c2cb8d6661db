/* SPDX-License-Identifier: MIT */
/*
 * se/se.h - rights of the caller. Level: passive.
 */
#ifndef SE_SE_H
#define SE_SE_H

#include "host/host.h"

/* SeCheckSystemProfilePrivilege - may the caller profile all processes? Kernel mode
 * always may. STATUS_PRIVILEGE_NOT_HELD, STATUS_INSUFFICIENT_RESOURCES. */
static inline NTSTATUS
SeCheckSystemProfilePrivilege(const HOST *Host, KPROCESSOR_MODE PreviousMode)
{
    return PreviousMode == KernelMode
               ? STATUS_SUCCESS
               : Host->Table->CheckSystemProfilePrivilege(Host->Context);
}

/*
 * SeCheckRestrictedCaller - may the caller profile kernel space?
 *
 *   Rule  in: HOST_RESTRICTED_...; 0: a version without restricted callers
 *
 * STATUS_ACCESS_DENIED, STATUS_INSUFFICIENT_RESOURCES.
 */
static inline NTSTATUS
SeCheckRestrictedCaller(const HOST *Host, KPROCESSOR_MODE PreviousMode, ULONG Rule)
{
    return PreviousMode == KernelMode || Rule == 0
               ? STATUS_SUCCESS
               : Host->Table->CheckRestrictedCaller(Host->Context, Rule);
}

#endif
