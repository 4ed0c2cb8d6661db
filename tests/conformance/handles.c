/* SPDX-License-Identifier: MIT */
/* handles.c - see handles.h. */
#include "handles.h"

void
handles_open(struct handles *handles, KSYSTEM *system, bool own, bool narrow)
{
    *handles = (struct handles){.system = system, .own = own, .narrow = narrow};
}

/* ---- the embedder's table ---- */

static bool
is_current_process(const struct handles *handles, HANDLE handle)
{
    return handle == NtCurrentProcess() ||
           (handles->narrow && (uintptr_t)handle == UINT32_MAX);
}

static HANDLE
value_of(size_t index)
{
    return (HANDLE)(uintptr_t)((index + 1) * 4);
}

/* The number of an open entry, or HANDLES_MOST. As in ex, 32 bits are significant, and
 * of these not the low two. */
static size_t
find(const struct handles *handles, HANDLE handle)
{
    const size_t number = (ULONG)(uintptr_t)handle / 4;

    return number != 0 && number <= handles->count &&
                   handles->entries[number - 1].object != NULL
               ? number - 1
               : HANDLES_MOST;
}

/* Takes over a reference. */
static NTSTATUS
insert(struct handles *handles, void *object, const OBJECT_TYPE *type,
       ACCESS_MASK access, HANDLE *handle)
{
    const size_t index = handles->count;

    if (index == HANDLES_MOST) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    handles->entries[index].object = object;
    handles->entries[index].type = type;
    handles->entries[index].access = access;
    handles->count++;
    *handle = value_of(index);
    return STATUS_SUCCESS;
}

static NTSTATUS
close_entry(struct handles *handles, size_t index)
{
    void *const object = handles->entries[index].object;

    handles->entries[index].object = NULL;
    ExDereferenceObject(handles->system, object);
    return STATUS_SUCCESS;
}

NTSTATUS
handles_reference(struct handles *handles, HANDLE handle, const OBJECT_TYPE *type,
                  KPROCESSOR_MODE mode, ACCESS_MASK access, void **object)
{
    const size_t index = find(handles, handle);

    if (!handles->own) {
        return ObReferenceObjectByHandle(&handles->system->Ob, handle, type, mode,
                                         access, object);
    }
    if (index == HANDLES_MOST) {
        return STATUS_INVALID_HANDLE;
    }
    if (handles->entries[index].type != type) {
        return STATUS_OBJECT_TYPE_MISMATCH;
    }
    if (mode == UserMode && (access & ~handles->entries[index].access) != 0) {
        return STATUS_ACCESS_DENIED;
    }
    *object = handles->entries[index].object;
    ExReferenceObject(*object);
    return STATUS_SUCCESS;
}

/* ---- what ex asks of it ---- */

static NTSTATUS
reference_process(void *context, KPROCESSOR_MODE mode, HANDLE handle,
                  EPROCESS **process)
{
    struct handles *const handles = context;
    const HOST *const host = &handles->system->Host;
    void *object;
    NTSTATUS status;

    if (is_current_process(handles, handle)) {
        return ExReferenceProcessById(
            handles->system, host->Table->CurrentProcessId(host->Context), process);
    }
    status = handles_reference(handles, handle, &handles->system->ProcessType, mode,
                               PROCESS_QUERY_INFORMATION, &object);
    if (NT_SUCCESS(status)) {
        *process = object;
    }
    return status;
}

static NTSTATUS
insert_profile(void *context, EPROFILE *profile, ACCESS_MASK access, HANDLE *handle)
{
    struct handles *const handles = context;

    return insert(handles, profile, &handles->system->ProfileType, access, handle);
}

static void
close_handle(void *context, HANDLE handle)
{
    (void)handles_close(context, handle);
}

/* ---- the calls ---- */

NTSTATUS
handles_create(struct handles *handles, KPROCESSOR_MODE mode, ULONG service,
               const EX_CREATE_PROFILE *request)
{
    const EX_HANDLE_TABLE table = {
        .Size = sizeof(table),
        .Context = handles,
        .ReferenceProcess = reference_process,
        .InsertHandle = insert_profile,
        .CloseHandle = close_handle,
    };

    if (handles->own) {
        return ExCreateProfileObject(handles->system, mode, service, request, &table,
                                     NULL);
    }
    switch (service) {
    case EX_CREATE_PROFILE_EX:
        return ExCreateProfileEx(handles->system, mode, request);
    case EX_CREATE_PROFILE_AFFINITY:
        return ExCreateProfile(handles->system, mode, request, request->Affinity);
    default:
        return ExCreateProfile310(handles->system, mode, request);
    }
}

static NTSTATUS
on_profile(struct handles *handles, KPROCESSOR_MODE mode, HANDLE handle,
           NTSTATUS (*work)(KSYSTEM *system, EPROFILE *profile))
{
    void *profile;
    NTSTATUS status;

    if (ExNoticeHalt(handles->system)) {
        return STATUS_SYSTEM_SHUTDOWN;
    }
    if (is_current_process(handles, handle)) {
        return STATUS_OBJECT_TYPE_MISMATCH;
    }
    status = handles_reference(handles, handle, &handles->system->ProfileType, mode,
                               PROFILE_CONTROL, &profile);
    if (NT_SUCCESS(status)) {
        status = work(handles->system, profile);
        ExDereferenceObject(handles->system, profile);
    }
    return status;
}

NTSTATUS
handles_start(struct handles *handles, KPROCESSOR_MODE mode, HANDLE handle)
{
    return handles->own ? on_profile(handles, mode, handle, ExStartProfileObject)
                        : ExStartProfile(handles->system, mode, handle);
}

NTSTATUS
handles_stop(struct handles *handles, KPROCESSOR_MODE mode, HANDLE handle)
{
    return handles->own ? on_profile(handles, mode, handle, ExStopProfileObject)
                        : ExStopProfile(handles->system, mode, handle);
}

NTSTATUS
handles_close(struct handles *handles, HANDLE handle)
{
    const size_t index = find(handles, handle);

    if (!handles->own) {
        return ExClose(handles->system, handle);
    }
    if (is_current_process(handles, handle)) {
        return STATUS_SUCCESS;
    }
    return index == HANDLES_MOST ? STATUS_INVALID_HANDLE : close_entry(handles, index);
}

NTSTATUS
handles_open_process(struct handles *handles, ACCESS_MASK access, ULONG64 pid,
                     HANDLE *handle)
{
    EPROCESS *process;
    NTSTATUS status;

    if (!handles->own) {
        return ExOpenProcess(handles->system, KernelMode, (ULONG64)(uintptr_t)handle,
                             access, pid);
    }
    status = ExReferenceProcessById(handles->system, pid, &process);
    if (NT_SUCCESS(status)) {
        status =
            insert(handles, process, &handles->system->ProcessType, access, handle);
    }
    return status;
}

NTSTATUS
handles_open_again(struct handles *handles, HANDLE handle, ACCESS_MASK access,
                   HANDLE *again)
{
    const OBJECT_TYPE *const type = &handles->system->ProfileType;
    void *object;
    NTSTATUS status = handles_reference(handles, handle, type, KernelMode, 0, &object);

    if (!NT_SUCCESS(status)) {
        return status;
    }
    if (handles->own) {
        return insert(handles, object, type, access, again);
    }
    status = ObOpenHandle(&handles->system->Ob, object, access, again);
    ExDereferenceObject(handles->system, object);
    return status;
}

void
handles_finish(struct handles *handles)
{
    for (size_t i = 0; i < handles->count; i++) {
        if (handles->entries[i].object != NULL) {
            (void)close_entry(handles, i);
        }
    }
}
