/* SPDX-License-Identifier: MIT */
/* objects.c - the model's handles: open, duplicate, query and close. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

enum {
    PSEUDO_ACCESS = 0x001FFFFF, /* what the pseudo handle grants */
    OBJECT_BASIC_BYTES = sizeof(OBJECT_BASIC_INFORMATION),
    OBJECT_NAME_BYTES = sizeof(OBJECT_NAME_INFORMATION)
};

static const uint64_t pseudo_handle = UINT64_MAX;

uint64_t
model_handle_value(uint64_t value)
{
    return value & 0xFFFFFFFC;
}

struct model_handle *
model_find_handle(struct model *model, uint64_t value)
{
    value = model_handle_value(value);
    for (struct model_handle *h = model->handles; h != NULL; h = h->next) {
        if (h->value == value && value != 0) {
            return h;
        }
    }
    return NULL;
}

struct model_handle *
model_make_handle(struct model *model)
{
    struct model_handle *const handle = calloc(1, sizeof(*handle));

    if (handle != NULL) {
        handle->next = model->handles;
        model->handles = handle;
    }
    return handle;
}

bool
model_name_handle(struct model *model, struct model_handle *handle, uint64_t value,
                  uint64_t address)
{
    uint8_t *const place = model_at(model, address, sizeof(value));

    /* Bit 31 is that of pseudo handles. */
    if (value == 0 || value >= 0x80000000 || value % 4 != 0 || place == NULL ||
        model_find_handle(model, value) != NULL) {
        return false;
    }
    handle->value = value;
    memcpy(place, &value, sizeof(value));
    return true;
}

NTSTATUS
model_find_process_object(struct model *model, bool kernel_mode, uint64_t value,
                          ACCESS_MASK access, struct model_process **process)
{
    const struct model_handle *const handle = model_find_handle(model, value);

    if (value == pseudo_handle) {
        *process = model_find_process(model, model->options.own_pid);
        return STATUS_SUCCESS;
    }
    if (handle == NULL) {
        return STATUS_INVALID_HANDLE;
    }
    if (handle->process == NULL) {
        return STATUS_OBJECT_TYPE_MISMATCH;
    }
    if (!kernel_mode && (handle->access & access) != access) {
        return STATUS_ACCESS_DENIED;
    }
    *process = handle->process;
    return STATUS_SUCCESS;
}

NTSTATUS
model_open_process(struct model *model, bool kernel_mode, uint64_t process_handle,
                   ACCESS_MASK access, uint64_t pid, struct model_handle **made)
{
    struct model_process *const process = model_find_process(model, pid);

    if (model->halted) {
        model_reach(model, MODEL_OPEN_HALTED);
        return STATUS_SYSTEM_SHUTDOWN;
    }
    if (!kernel_mode && (!model_is_user(model, process_handle, sizeof(HANDLE)) ||
                         !model_can_write(model, process_handle, sizeof(HANDLE)))) {
        model_reach(model, MODEL_OPEN_POINTER);
        return STATUS_ACCESS_VIOLATION;
    }
    if (process == NULL) {
        model_reach(model, MODEL_OPEN_NOBODY);
        return STATUS_INVALID_CID;
    }
    if (!kernel_mode && !process->accessible) {
        model_reach(model, MODEL_OPEN_DENIED);
        return STATUS_ACCESS_DENIED;
    }
    if (!kernel_mode && model->faults.copy_to_caller) {
        model_reach(model, MODEL_OPEN_HANDLE_FAULT);
        return STATUS_ACCESS_VIOLATION;
    }
    *made = model_make_handle(model);
    if (*made == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    (*made)->process = process;
    (*made)->access = access;
    return STATUS_SUCCESS;
}

/* ---- Close ---- */

static ULONG
count_handles(const struct model *model, const void *object)
{
    ULONG count = 0;

    for (const struct model_handle *h = model->handles; h != NULL; h = h->next) {
        count += h->profile == object || h->process == object;
    }
    return count;
}

static void
delete_profile(struct model *model, struct model_profile *profile)
{
    struct model_profile **place = &model->profiles;

    if (profile->started) {
        model_reach(model, MODEL_CLOSE_STOPS);
        model_stop_profile(profile);
    }
    while (*place != profile) {
        place = &(*place)->next;
    }
    *place = profile->next;
    free(profile);
}

static void
close_handle(struct model *model, struct model_handle *handle)
{
    struct model_handle **place = &model->handles;
    struct model_profile *const profile = handle->profile;

    while (*place != handle) {
        place = &(*place)->next;
    }
    *place = handle->next;
    free(handle);
    if (profile != NULL && count_handles(model, profile) == 0) {
        delete_profile(model, profile);
    } else if (profile != NULL && profile->started) {
        model_reach(model, MODEL_CLOSE_NOT_LAST);
    }
}

NTSTATUS
model_close(struct model *model, uint64_t value)
{
    struct model_handle *const handle = model_find_handle(model, value);

    if (value == pseudo_handle) {
        model_reach(model, MODEL_CLOSE_PSEUDO);
        return STATUS_SUCCESS;
    }
    if (handle == NULL) {
        model_reach(model, MODEL_CLOSE_NOT_OPEN);
        return STATUS_INVALID_HANDLE;
    }
    if (model->halted) {
        model_reach(model, MODEL_CLOSE_HALTED);
    }
    close_handle(model, handle);
    return STATUS_SUCCESS;
}

/* ---- Duplicate ---- */

/* What SourceHandle stands for; the pseudo handle is one to the caller's process. */
static bool
resolve(struct model *model, uint64_t value, struct model_handle *source)
{
    const struct model_handle *const handle = model_find_handle(model, value);

    if (value == pseudo_handle) {
        *source = (struct model_handle){
            .process = model_find_process(model, model->options.own_pid),
            .access = PSEUDO_ACCESS,
        };
        model_reach(model, MODEL_DUPLICATE_PSEUDO);
        return true;
    }
    if (handle == NULL) {
        return false;
    }
    *source = *handle;
    return true;
}

static NTSTATUS
check_duplicate_process(struct model *model, bool kernel_mode, uint64_t handle,
                        struct model_process **process)
{
    const NTSTATUS status = model_find_process_object(model, kernel_mode, handle,
                                                      PROCESS_DUP_HANDLE, process);

    switch (status) {
    case STATUS_INVALID_HANDLE:
        model_reach(model, MODEL_DUPLICATE_PROCESS_HANDLE);
        break;
    case STATUS_OBJECT_TYPE_MISMATCH:
        model_reach(model, MODEL_DUPLICATE_PROCESS_TYPE);
        break;
    case STATUS_ACCESS_DENIED:
        model_reach(model, MODEL_DUPLICATE_PROCESS_ACCESS);
        break;
    default:
        break;
    }
    return status;
}

static NTSTATUS
check_duplicate(struct model *model, const struct model_duplicate_call *c)
{
    if (model->halted) {
        model_reach(model, MODEL_DUPLICATE_HALTED);
        return STATUS_SYSTEM_SHUTDOWN;
    }
    if (!c->kernel_mode &&
        (!model_is_user(model, c->target_handle, sizeof(HANDLE)) ||
         !model_can_write(model, c->target_handle, sizeof(HANDLE)))) {
        model_reach(model, MODEL_DUPLICATE_POINTER);
        return STATUS_ACCESS_VIOLATION;
    }
    if ((c->options & ~7u) != 0 || (c->attributes & ~OBJ_INHERIT) != 0) {
        model_reach(model, MODEL_DUPLICATE_OPTIONS);
        return STATUS_INVALID_PARAMETER;
    }
    return STATUS_SUCCESS;
}

/* *own: SourceHandle is one of the caller's handles, whatever comes of the rest. */
static NTSTATUS
check_duplicate_processes(struct model *model, const struct model_duplicate_call *c,
                          bool *own)
{
    const struct model_process *const caller =
        model_find_process(model, model->options.own_pid);
    struct model_process *source = NULL;
    struct model_process *target = NULL;
    NTSTATUS status =
        check_duplicate_process(model, c->kernel_mode, c->source_process, &source);

    *own = status == STATUS_SUCCESS && source == caller;
    if (status == STATUS_SUCCESS) {
        status =
            check_duplicate_process(model, c->kernel_mode, c->target_process, &target);
    }
    if (status == STATUS_SUCCESS && (source != caller || target != caller)) {
        model_reach(model, MODEL_DUPLICATE_FOREIGN);
        return STATUS_NOT_SUPPORTED;
    }
    return status;
}

/* Access asked for; generic bits stand for what the type maps them to. */
static ACCESS_MASK
map_access(const struct model_handle *source, ACCESS_MASK access)
{
    static const GENERIC_MAPPING of_profile = {0x20001, 0x20001, 0x20001, 0xF0001};
    static const GENERIC_MAPPING of_process = {0x20410, 0x20BEB, 0x121001, 0x1FFFFF};
    const GENERIC_MAPPING *const map =
        source->profile != NULL ? &of_profile : &of_process;
    ACCESS_MASK mapped = access & 0x0DFFFFFF;

    mapped |= (access & 0x80000000) != 0 ? map->GenericRead : 0;
    mapped |= (access & 0x40000000) != 0 ? map->GenericWrite : 0;
    mapped |= (access & 0x20000000) != 0 ? map->GenericExecute : 0;
    mapped |= (access & 0x10000000) != 0 ? map->GenericAll : 0;
    mapped |= (access & 0x02000000) != 0 ? source->access : 0; /* MAXIMUM_ALLOWED */
    return mapped;
}

static NTSTATUS
grant(struct model *model, const struct model_duplicate_call *c,
      const struct model_handle *source, struct model_handle **made)
{
    const ACCESS_MASK access = (c->options & DUPLICATE_SAME_ACCESS) != 0
                                   ? source->access
                                   : map_access(source, c->access);

    if ((access & ~source->access) != 0) {
        model_reach(model, MODEL_DUPLICATE_ACCESS);
        return STATUS_ACCESS_DENIED;
    }
    if (!c->kernel_mode && model->faults.copy_to_caller) {
        model_reach(model, MODEL_DUPLICATE_HANDLE_FAULT);
        return STATUS_ACCESS_VIOLATION;
    }
    *made = model_make_handle(model);
    if (*made == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    (*made)->profile = source->profile;
    (*made)->process = source->process;
    (*made)->access = access;
    (*made)->attributes = (c->options & DUPLICATE_SAME_ATTRIBUTES) != 0
                              ? source->attributes
                              : c->attributes;
    return STATUS_SUCCESS;
}

static NTSTATUS
duplicate(struct model *model, const struct model_duplicate_call *c,
          struct model_handle **made)
{
    struct model_handle source;

    if (!resolve(model, c->source, &source)) {
        model_reach(model, MODEL_DUPLICATE_SOURCE);
        return STATUS_INVALID_HANDLE;
    }
    return grant(model, c, &source, made);
}

NTSTATUS
model_duplicate(struct model *model, const struct model_duplicate_call *c,
                struct model_handle **made)
{
    struct model_handle *open;
    bool own = false;
    NTSTATUS status = check_duplicate(model, c);

    if (status != STATUS_SUCCESS) {
        return status;
    }
    status = check_duplicate_processes(model, c, &own);
    if (status == STATUS_SUCCESS) {
        status = duplicate(model, c, made);
    }
    open = model_find_handle(model, c->source);
    if ((c->options & DUPLICATE_CLOSE_SOURCE) != 0 && own && open != NULL) {
        model_reach(model, status == STATUS_SUCCESS ? MODEL_DUPLICATE_CLOSES
                                                    : MODEL_DUPLICATE_FAILS_AND_CLOSES);
        close_handle(model, open);
    }
    return status;
}

/* ---- Query ---- */

static bool
probe_output(struct model *model, uint64_t address, uint64_t bytes, NTSTATUS *status)
{
    if (address % 4 != 0) {
        model_reach(model, MODEL_QUERY_OBJECT_UNALIGNED);
        *status = STATUS_DATATYPE_MISALIGNMENT;
        return false;
    }
    if (!model_is_user(model, address, bytes) ||
        !model_can_write(model, address, bytes)) {
        model_reach(model, MODEL_QUERY_OBJECT_POINTER);
        *status = STATUS_ACCESS_VIOLATION;
        return false;
    }
    return true;
}

static ULONG
count_references(const struct model *model, const void *object)
{
    ULONG count = count_handles(model, object);

    for (const struct model_profile *p = model->profiles; p != NULL; p = p->next) {
        count += p->process == object;
    }
    return count;
}

static void
write_number(struct model *model, uint64_t address, ULONG number)
{
    uint8_t *const place = model_at(model, address, sizeof(number));

    if (address != 0 && place != NULL) {
        memcpy(place, &number, sizeof(number));
    }
}

static ULONG
type_bytes(const struct model_handle *handle)
{
    const char *const name = handle->profile != NULL ? "Profile" : "Process";

    return (ULONG)(sizeof(OBJECT_TYPE_INFORMATION) + 2 * (strlen(name) + 1));
}

static void
write_basic(struct model *model, const struct model_handle *handle, uint64_t address)
{
    const void *const object = handle->profile != NULL ? (const void *)handle->profile
                                                       : (const void *)handle->process;
    const OBJECT_BASIC_INFORMATION basic = {
        .Attributes = handle->attributes,
        .GrantedAccess = handle->access,
        .HandleCount = count_handles(model, object),
        .PointerCount = count_references(model, object),
        .TypeInfoSize = type_bytes(handle),
    };
    uint8_t *const place = model_at(model, address, sizeof(basic));

    if (place != NULL) {
        memcpy(place, &basic, sizeof(basic));
    }
}

/* No object has one. */
static void
write_name(struct model *model, uint64_t address)
{
    uint8_t *const place = model_at(model, address, OBJECT_NAME_BYTES);

    if (place != NULL) {
        memset(place, 0, OBJECT_NAME_BYTES);
    }
}

NTSTATUS
model_query_object(struct model *model, bool kernel_mode, uint64_t value, ULONG class,
                   uint64_t information, ULONG length, uint64_t return_length)
{
    const bool name = class == ObjectNameInformation;
    const ULONG bytes = name ? OBJECT_NAME_BYTES : OBJECT_BASIC_BYTES;
    struct model_handle handle;
    NTSTATUS status;

    if (model->halted) {
        model_reach(model, MODEL_QUERY_OBJECT_HALTED);
        return STATUS_SYSTEM_SHUTDOWN;
    }
    if (!kernel_mode && !probe_output(model, information, length, &status)) {
        return status;
    }
    if (!kernel_mode && return_length != 0 &&
        !probe_output(model, return_length, sizeof(ULONG), &status)) {
        return status;
    }
    if (class != ObjectBasicInformation && !name) {
        model_reach(model, MODEL_QUERY_OBJECT_CLASS);
        return STATUS_INVALID_INFO_CLASS;
    }
    if (!resolve(model, value, &handle)) {
        model_reach(model, MODEL_QUERY_OBJECT_HANDLE);
        return STATUS_INVALID_HANDLE;
    }
    write_number(model, return_length, bytes);
    if (name ? length < bytes : length != bytes) {
        model_reach(model, MODEL_QUERY_OBJECT_LENGTH);
        return STATUS_INFO_LENGTH_MISMATCH;
    }
    if (name) {
        model_reach(model, MODEL_QUERY_OBJECT_NAME);
        write_name(model, information);
    } else {
        write_basic(model, &handle, information);
    }
    return STATUS_SUCCESS;
}
