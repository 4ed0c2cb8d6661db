/* SPDX-License-Identifier: MIT */
/*
 * host/linux/table.c - the host table of a Linux process, and where its address space
 * ends.
 *
 * Limits: the end of user space is Linux's, not Windows's, because memory of a Linux
 * program can be right below it (the stack, where addresses are not randomised).
 *
 *   x86-64   47 bits less a page; kernel: the upper half. With 5-level paging programs
 *            get higher addresses only on request; ntprof does not count them as user
 *            space.
 *   arm64    48 bits each; fewer where the kernel has fewer: probes then find no
 *            memory.
 *   64 bits  otherwise: the halves of the address space.
 *   32 bits  3 GB of user space; nearly all 4 GB under a 64-bit kernel, whose own
 *            addresses are then out of reach.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>

NTSTATUS
host_status(int error)
{
    switch (error) {
    case 0:
        return STATUS_SUCCESS;
    case -EFAULT:
        return STATUS_ACCESS_VIOLATION;
    case -EAGAIN:
        return STATUS_WORKING_SET_QUOTA;
    case -EACCES:
    case -EPERM:
        return STATUS_ACCESS_DENIED;
    case -ESRCH:
        return STATUS_INVALID_CID;
    default:
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

NTSTATUS
host_refuse(void *Context, int what, ULONG64 subject, int error, NTSTATUS status)
{
    struct host_linux *const host = Context;

    if (error != 0) {
        host->refusal = (struct host_linux_refusal){what, error, status, subject};
    }
    return status;
}

bool
host_is_shortage(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

const struct host_linux_refusal *
host_linux_refusal(const HOST *Host)
{
    const struct host_linux *const host = Host->Context;

    return &host->refusal;
}

void
host_linux_forget_refusal(const HOST *Host)
{
    struct host_linux *const host = Host->Context;

    host->refusal.what = HOST_REFUSED_NOTHING;
}

/* Set where user space ends and kernel space begins (see above). */
static void
table_set_limits(HOST_TABLE *table)
{
#if defined(__x86_64__) && defined(__LP64__)
    table->HighestUserAddress = 0x00007FFFFFFFEFFF;
    table->SystemRangeStart = 0xFFFF800000000000;
#elif defined(__aarch64__) && defined(__LP64__)
    table->HighestUserAddress = 0x0000FFFFFFFFFFFF;
    table->SystemRangeStart = 0xFFFF000000000000;
#elif UINTPTR_MAX > 0xFFFFFFFFu
    table->HighestUserAddress = 0x7FFFFFFFFFFFFFFF;
    table->SystemRangeStart = 0x8000000000000000;
#else
    /* The program's name is the first string on the stack, at the top of user space. */
    if (getauxval(AT_EXECFN) >= 0xC0000000u) {
        table->HighestUserAddress = 0xFFFFDFFF;
        table->SystemRangeStart = 0xFFFF800000000000;
    } else {
        table->HighestUserAddress = 0xBFFFFFFF;
        table->SystemRangeStart = 0xC0000000;
    }
#endif
}

static const HOST_TABLE table_of_functions = {
    .Size = sizeof(HOST_TABLE),
    .Allocate = host_allocate,
    .Free = host_free,
    .ProbeForWrite = host_probe_for_write,
    .CopyFromCaller = host_copy_from_caller,
    .CopyToCaller = host_copy_to_caller,
    .LockPages = host_lock_pages,
    .MapPages = host_map_pages,
    .FlushPages = host_flush_pages,
    .UnmapPages = host_unmap_pages,
    .UnlockPages = host_unlock_pages,
    .CheckSystemProfilePrivilege = host_check_system_profile_privilege,
    .CheckRestrictedCaller = host_check_restricted_caller,
    .CurrentProcessId = host_current_process_id,
    .OpenProcess = host_open_process,
    .CloseProcess = host_close_process,
    .CheckProcessAccess = host_check_process_access,
    .IsProcessGone = host_is_process_gone,
    .GroupCount = host_group_count,
    .ActiveProcessors = host_active_processors,
    .CurrentGroup = host_current_group,
};

NTSTATUS
host_linux_create(HOST *Host)
{
    struct host_linux *host = calloc(1, sizeof(*host));
    int error;

    if (host == NULL) {
        errno = ENOMEM;
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    host->table = table_of_functions;
    host->table.PageSize = (ULONG)host_page_bytes();
    table_set_limits(&host->table);
    host->processors.read_ms = -1;
    error = host_processors_refresh(&host->processors);
    if (error != 0) {
        free(host);
        errno = -error;
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    *Host = (HOST){.Table = &host->table, .Context = host};
    return STATUS_SUCCESS;
}

void
host_linux_use_pages(HOST *Host, const struct host_page_supplier *Supplier)
{
    struct host_linux *const host = Host->Context;

    host_buffers_leave(&host->pages);
    host->pages = Supplier != NULL ? *Supplier : (struct host_page_supplier){0};
}

void
host_linux_delete(HOST *Host)
{
    struct host_linux *host = Host->Context;

    if (host != NULL) {
        host_processors_finish(&host->processors);
        free(host);
    }
    *Host = (HOST){0};
}
