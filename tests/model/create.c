/* SPDX-License-Identifier: MIT */
/*
 * create.c - the model of NtCreateProfile in its three forms: its checks, one after the
 * other, each with the versions that have it.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* A call on its way through the checks. */
struct request {
    struct model *model;
    const struct model_create_call *call;
    uint32_t version;
    bool user;
    uint64_t base; /* 0 for a segment */
    uint32_t segment;
    bool defaulted; /* the bucket was computed */
    uint32_t log2;
    KPROFILE_SOURCE source;
    uint64_t affinity[MODEL_MOST_GROUPS];
    struct model_process *process;
};

static NTSTATUS
fail(const struct request *r, enum model_branch branch, NTSTATUS status)
{
    model_reach(r->model, branch);
    return status;
}

/* Went past a check that another version, or a small change, would have failed at. */
static void
note(const struct request *r, enum model_branch branch)
{
    model_reach(r->model, branch);
}

static NTSTATUS
check_service(struct request *r)
{
    const bool seven = r->call->form == MODEL_SEVEN;

    if (seven != (r->version <= NTPROF_NT_3_50)) {
        return fail(r,
                    seven ? MODEL_CREATE_SEVEN_NOT_THERE : MODEL_CREATE_NINE_NOT_THERE,
                    STATUS_INVALID_SYSTEM_SERVICE);
    }
    if (r->call->form == MODEL_TEN && r->version < NTPROF_NT_6_1) {
        return fail(r, MODEL_CREATE_TEN_NOT_THERE, STATUS_INVALID_SYSTEM_SERVICE);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS
check_words(struct request *r)
{
    const uint64_t mask = r->call->form == MODEL_NINE && r->call->affinity != UINT64_MAX
                              ? r->call->affinity
                              : 0;

    if (!r->model->options.x86) {
        return STATUS_SUCCESS;
    }
    if (mask > UINT32_MAX) {
        return fail(r, MODEL_CREATE_WIDE_AFFINITY, STATUS_INVALID_PARAMETER);
    }
    if (r->call->base > UINT32_MAX || r->call->size > UINT32_MAX) {
        return fail(r, MODEL_CREATE_WIDE_PARAMETER, STATUS_INVALID_PARAMETER);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS
check_buffer_given(struct request *r)
{
    if (r->call->buffer_bytes != 0) {
        return STATUS_SUCCESS;
    }
    if (r->version >= NTPROF_NT_4_0_SP4) {
        return fail(r, MODEL_CREATE_NO_BUFFER, STATUS_INVALID_PARAMETER_7);
    }
    note(r, MODEL_CREATE_NO_BUFFER_OLD);
    return STATUS_SUCCESS;
}

static NTSTATUS
divide_by_zero(struct request *r)
{
    const struct model_halt halt = {
        .bug_check = true,
        .code = 0x1E,
        .exception = (uint32_t)STATUS_INTEGER_DIVIDE_BY_ZERO,
    };

    model_halt(r->model, &halt);
    return fail(r, MODEL_CREATE_SEGMENT_DIVIDES, STATUS_SYSTEM_SHUTDOWN);
}

/* The least bucket of 4 bytes or more that spans, by the old arithmetic in 32 bits. */
static void
compute_bucket(struct request *r)
{
    const uint32_t counters = r->call->buffer_bytes / 4;
    const uint32_t bytes = (uint32_t)r->call->size / counters;
    uint32_t rest = bytes - 1;
    uint32_t log2 = 0;

    while (rest > 1) {
        rest /= 2;
        log2++;
    }
    r->log2 = log2 + 1;
    if (r->log2 < 2) {
        r->log2 = 2;
    }
    note(r, bytes == 0   ? MODEL_CREATE_SEGMENT_BUCKET_0
            : bytes == 1 ? MODEL_CREATE_SEGMENT_BUCKET_1
            : bytes <= 4 ? MODEL_CREATE_SEGMENT_BUCKET_4
                         : MODEL_CREATE_SEGMENT_BUCKET_MORE);
}

static NTSTATUS
check_segment(struct request *r)
{
    r->base = r->call->base;
    r->log2 = r->call->bucket;
    if (!r->model->options.x86 || r->call->bucket != 0 || r->call->base >= 0x10000) {
        return STATUS_SUCCESS;
    }
    if (r->call->buffer_bytes >= 4) {
        r->segment = (uint32_t)r->call->base;
        r->base = 0;
        r->defaulted = true;
        compute_bucket(r);
        return STATUS_SUCCESS;
    }
    if (r->version <= NTPROF_NT_4_0) {
        return divide_by_zero(r);
    }
    if (r->version <= NTPROF_NT_5_2) {
        return fail(r, MODEL_CREATE_SEGMENT_SHORT_OLD, STATUS_INVALID_PARAMETER_7);
    }
    note(r, MODEL_CREATE_SEGMENT_SHORT);
    return STATUS_SUCCESS; /* the bucket of 0 fails next */
}

static NTSTATUS
check_bucket(struct request *r)
{
    if (r->log2 >= 2 && r->log2 <= 31) {
        return STATUS_SUCCESS;
    }
    if (r->log2 == 0) {
        return fail(r, MODEL_CREATE_NO_SEGMENT, STATUS_INVALID_PARAMETER);
    }
    return fail(r, r->log2 < 2 ? MODEL_CREATE_BUCKET_SMALL : MODEL_CREATE_BUCKET_LARGE,
                STATUS_INVALID_PARAMETER);
}

static NTSTATUS
check_counters(struct request *r)
{
    const uint64_t size = r->call->size;
    const uint64_t bytes = r->call->buffer_bytes;
    const uint64_t bucket = 1ull << r->log2;
    const uint64_t buckets = size / bucket + (size % bucket != 0);
    const bool fits = buckets <= bytes / 4;

    if (r->version > NTPROF_NT_1607) {
        if (!fits) {
            return fail(r,
                        buckets <= bytes / 4 + (bytes % 4 != 0)
                            ? MODEL_CREATE_PARTIAL_COUNTER
                            : MODEL_CREATE_BUFFER_SMALL,
                        STATUS_BUFFER_TOO_SMALL);
        }
        return STATUS_SUCCESS;
    }
    if (size / (bucket / 4) > bytes) {
        return fail(r, MODEL_CREATE_BUFFER_SMALL_OLD, STATUS_BUFFER_TOO_SMALL);
    }
    if (!fits) {
        note(r, MODEL_CREATE_BUFFER_SMALL_PASSES);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS
check_wrap(struct request *r)
{
    const uint64_t top = r->model->options.x86 ? UINT32_MAX : UINT64_MAX;
    const uint64_t behind = top - r->base; /* bytes after the first that there are */

    if (r->call->size > behind) {
        return fail(r,
                    r->call->size - behind == 1 ? MODEL_CREATE_ENDS_AT_TOP
                                                : MODEL_CREATE_WRAPS,
                    STATUS_BUFFER_OVERFLOW);
    }
    if (r->call->size == behind) {
        note(r, MODEL_CREATE_ENDS_BELOW_TOP);
    }
    return STATUS_SUCCESS;
}

static bool
is_supported(struct model *model, KPROFILE_SOURCE number)
{
    const struct model_source *const source = model_find_source(model, number);

    return source != NULL && source->supported;
}

static NTSTATUS
check_source(struct request *r)
{
    const KPROFILE_SOURCE given =
        r->call->form == MODEL_SEVEN ? ProfileTime : r->call->source;

    r->source = given;
    if (r->version >= NTPROF_NT_6_2) {
        if (!is_supported(r->model, given)) {
            return fail(r, MODEL_CREATE_SOURCE_UNSUPPORTED, STATUS_NOT_SUPPORTED);
        }
        return STATUS_SUCCESS;
    }
    if (!is_supported(r->model, given)) {
        note(r, MODEL_CREATE_SOURCE_UNCHECKED);
    }
    /* It is kept in 16 bits, with a sign. */
    r->source =
        given % 0x10000 < 0x8000 ? given % 0x10000 : given % 0x10000 + 0xFFFF0000;
    return STATUS_SUCCESS;
}

/* branch is for an address that is not the caller's, the next one for one that is not
 * writable. */
static NTSTATUS
check_writable(const struct request *r, uint64_t address, uint64_t bytes,
               enum model_branch branch)
{
    if (!model_is_user(r->model, address, bytes)) {
        return fail(r, branch, STATUS_ACCESS_VIOLATION);
    }
    if (!model_can_write(r->model, address, bytes)) {
        return fail(r, branch + 1, STATUS_ACCESS_VIOLATION);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS
check_pointers(struct request *r)
{
    const struct model_create_call *const c = r->call;
    NTSTATUS status;

    if (!r->user) {
        return STATUS_SUCCESS;
    }
    status = check_writable(r, c->profile_handle, sizeof(HANDLE),
                            MODEL_CREATE_HANDLE_NOT_USER);
    if (status != STATUS_SUCCESS) {
        return status;
    }
    if (c->profile_handle % sizeof(HANDLE) != 0) {
        note(r, MODEL_CREATE_HANDLE_UNALIGNED);
    }
    if (c->buffer_bytes > 0 && c->buffer % 4 != 0) { /* of nothing nothing is probed */
        return fail(r, MODEL_CREATE_BUFFER_UNALIGNED, STATUS_DATATYPE_MISALIGNMENT);
    }
    status =
        check_writable(r, c->buffer, c->buffer_bytes, MODEL_CREATE_BUFFER_NOT_USER);
    if (status != STATUS_SUCCESS || c->form != MODEL_TEN || c->group_count == 0) {
        return status;
    }
    /* Only where it is; what cannot be read shows when it is read. */
    if (c->array % 4 != 0) {
        return fail(r, MODEL_CREATE_ARRAY_UNALIGNED, STATUS_DATATYPE_MISALIGNMENT);
    }
    if (!model_is_user(r->model, c->array,
                       (uint64_t)c->group_count * sizeof(GROUP_AFFINITY))) {
        return fail(r, MODEL_CREATE_ARRAY_NOT_USER, STATUS_ACCESS_VIOLATION);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS
add_group(struct request *r, const GROUP_AFFINITY *group)
{
    if (group->Group >= r->model->options.group_count) {
        return fail(r, MODEL_CREATE_GROUP_NOT_THERE, STATUS_INVALID_PARAMETER);
    }
    if (group->Mask == 0) {
        return fail(r, MODEL_CREATE_MASK_EMPTY, STATUS_INVALID_PARAMETER);
    }
    if ((group->Mask & ~r->model->active[group->Group]) != 0) {
        return fail(r, MODEL_CREATE_MASK_INACTIVE, STATUS_INVALID_PARAMETER);
    }
    if (group->Reserved[0] != 0 || group->Reserved[1] != 0 || group->Reserved[2] != 0) {
        return fail(r, MODEL_CREATE_RESERVED, STATUS_INVALID_PARAMETER);
    }
    r->affinity[group->Group] |= group->Mask;
    return STATUS_SUCCESS;
}

static NTSTATUS
check_array(struct request *r)
{
    NTSTATUS status = STATUS_SUCCESS;

    if (r->call->group_count == 0) {
        note(r, MODEL_CREATE_AFFINITY_NONE);
        memcpy(r->affinity, r->model->active, sizeof(r->affinity));
        return STATUS_SUCCESS;
    }
    for (uint16_t i = 0; i < r->call->group_count && status == STATUS_SUCCESS; i++) {
        const uint64_t address = r->call->array + i * sizeof(GROUP_AFFINITY);
        GROUP_AFFINITY group;

        if (r->user && !model_can_read(r->model, address, sizeof(group))) {
            return fail(r, MODEL_CREATE_ARRAY_NOT_READABLE, STATUS_ACCESS_VIOLATION);
        }
        memcpy(&group, model_at(r->model, address, sizeof(group)), sizeof(group));
        status = add_group(r, &group);
    }
    return status;
}

/* A 32-bit caller has 32 bits. A 64-bit NT sees them extended with zeros; to a 32-bit
 * one all of them are all processors. */
static uint64_t
take_mask(const struct request *r)
{
    const uint64_t mask = r->call->affinity;

    if (r->model->options.wow64) {
        return mask % (1ull << 32);
    }
    return r->model->options.x86 && mask == UINT32_MAX ? UINT64_MAX : mask;
}

/* One mask, for the processors of the current group. */
static NTSTATUS
check_mask(struct request *r)
{
    GROUP_AFFINITY group = {.Mask = take_mask(r), .Group = r->model->current_group};
    const uint64_t active = r->model->active[group.Group];

    if (r->model->options.wow64) {
        note(r, group.Mask != UINT32_MAX      ? MODEL_CREATE_WOW64_SOME
                : (group.Mask & ~active) == 0 ? MODEL_CREATE_WOW64_ALL
                                              : MODEL_CREATE_WOW64_NOT_ALL);
    } else if (group.Mask == UINT64_MAX) {
        note(r, MODEL_CREATE_AFFINITY_ALL);
        group.Mask = active;
    }
    if (group.Group != 0) {
        note(r, MODEL_CREATE_AFFINITY_GROUP);
    }
    return add_group(r, &group);
}

static NTSTATUS
check_affinity(struct request *r)
{
    if (r->version < NTPROF_NT_6_1) {
        r->affinity[0] = take_mask(r);
        if (r->call->form == MODEL_SEVEN) {
            r->affinity[0] = 0; /* all */
        } else if ((r->affinity[0] & ~r->model->active[0]) != 0 ||
                   r->affinity[0] == 0) {
            note(r, MODEL_CREATE_AFFINITY_UNCHECKED);
        }
        return STATUS_SUCCESS;
    }
    return r->call->form == MODEL_TEN ? check_array(r) : check_mask(r);
}

static NTSTATUS
check_process(struct request *r)
{
    NTSTATUS status;

    if (r->call->process == 0) {
        return STATUS_SUCCESS;
    }
    status = model_find_process_object(r->model, r->call->kernel_mode, r->call->process,
                                       PROCESS_QUERY_INFORMATION, &r->process);
    switch (status) {
    case STATUS_INVALID_HANDLE:
        note(r, MODEL_CREATE_PROCESS_HANDLE);
        break;
    case STATUS_OBJECT_TYPE_MISMATCH:
        note(r, MODEL_CREATE_PROCESS_TYPE);
        break;
    case STATUS_ACCESS_DENIED:
        note(r, MODEL_CREATE_PROCESS_ACCESS);
        break;
    default:
        break;
    }
    return status;
}

/* The address space that is profiled, which is not the host's in an x86 session. */
static uint64_t
highest_profiled_user_address(const struct request *r)
{
    return r->model->options.x86 && r->version < MODEL_NEWEST
               ? 0x7FFEFFFF
               : r->model->options.highest_user_address;
}

static uint64_t
profiled_kernel_start(const struct request *r)
{
    return r->model->options.x86 && r->version < MODEL_NEWEST
               ? 0x80000000
               : r->model->options.system_range_start;
}

static NTSTATUS
check_global(struct request *r)
{
    if (r->call->process != 0) {
        return STATUS_SUCCESS;
    }
    if (r->defaulted && r->segment != 0) {
        return fail(r, MODEL_CREATE_SEGMENT_GLOBAL, STATUS_INVALID_PARAMETER);
    }
    if (r->defaulted) {
        note(r, MODEL_CREATE_SEGMENT_ZERO_GLOBAL);
    }
    if (r->model->privilege) {
        return STATUS_SUCCESS;
    }
    if (!r->user) {
        note(r, MODEL_CREATE_GLOBAL_BY_KERNEL);
        return STATUS_SUCCESS;
    }
    if (r->base <= highest_profiled_user_address(r)) {
        return fail(r, MODEL_CREATE_PRIVILEGE, STATUS_PRIVILEGE_NOT_HELD);
    }
    note(r, MODEL_CREATE_GLOBAL_KERNEL);
    return STATUS_SUCCESS;
}

static NTSTATUS
check_restricted(struct request *r)
{
    const uint32_t rule = r->version == NTPROF_NT_6_3 ? 1 : 2; /* HOST_RESTRICTED_... */
    const uint64_t start = profiled_kernel_start(r);
    const uint64_t last = r->call->size > 0 ? r->base + r->call->size - 1 : r->base;

    if (last < start || (r->model->restricted & 3) == 0) {
        return STATUS_SUCCESS;
    }
    if (r->version < NTPROF_NT_6_3) {
        note(r, MODEL_CREATE_UNRESTRICTED);
        return STATUS_SUCCESS;
    }
    if (!r->user) {
        note(r, MODEL_CREATE_RESTRICTED_BY_KERNEL);
        return STATUS_SUCCESS;
    }
    if ((r->model->restricted & rule) == 0) {
        note(r, MODEL_CREATE_RESTRICTED_OTHER_RULE);
        return STATUS_SUCCESS;
    }
    return fail(r,
                r->base < start ? MODEL_CREATE_RESTRICTED_REACHES
                                : MODEL_CREATE_RESTRICTED_WITHIN,
                STATUS_ACCESS_DENIED);
}

static NTSTATUS
check_memory(struct request *r)
{
    return r->model->faults.memory
               ? fail(r, MODEL_CREATE_NO_MEMORY, STATUS_INSUFFICIENT_RESOURCES)
               : STATUS_SUCCESS;
}

/* It was probed, but may have gone bad since. A kernel-mode caller's is trusted. */
static NTSTATUS
check_write(struct request *r)
{
    return r->user && r->model->faults.copy_to_caller
               ? fail(r, MODEL_CREATE_HANDLE_FAULT, STATUS_ACCESS_VIOLATION)
               : STATUS_SUCCESS;
}

/* In the order in which they are made. */
static NTSTATUS (*const checks[])(struct request *) = {
    check_service,  check_words,  check_buffer_given, check_segment,  check_bucket,
    check_counters, check_wrap,   check_source,       check_pointers, check_affinity,
    check_process,  check_global, check_restricted,   check_memory,   check_write,
};

static struct model_profile *
make_profile(const struct request *r)
{
    struct model_profile *const profile = calloc(1, sizeof(*profile));

    if (profile == NULL) {
        return NULL;
    }
    profile->process = r->process;
    profile->base = r->base;
    profile->size = r->call->size;
    profile->segment = r->segment;
    profile->log2 = r->log2;
    profile->buffer = r->call->buffer;
    profile->buffer_bytes = r->call->buffer_bytes;
    profile->source = r->source;
    memcpy(profile->affinity, r->affinity, sizeof(profile->affinity));
    profile->next = r->model->profiles;
    r->model->profiles = profile;
    return profile;
}

NTSTATUS
model_create_profile(struct model *model, const struct model_create_call *call,
                     struct model_handle **made)
{
    struct request request = {
        .model = model,
        .call = call,
        .version = model->version,
        .user = !call->kernel_mode,
    };

    if (model->halted) {
        return fail(&request, MODEL_CREATE_HALTED, STATUS_SYSTEM_SHUTDOWN);
    }
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        const NTSTATUS status = checks[i](&request);

        if (status != STATUS_SUCCESS) {
            return status;
        }
    }
    *made = model_make_handle(model);
    if (*made == NULL || ((*made)->profile = make_profile(&request)) == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    (*made)->access = PROFILE_CONTROL;
    if (call->kernel_mode) {
        note(&request, MODEL_CREATE_BY_KERNEL);
    }
    if (call->size == 0) {
        note(&request, MODEL_CREATE_EMPTY_REGION);
    }
    if (request.segment != 0) {
        note(&request, MODEL_CREATE_SEGMENT);
    }
    return STATUS_SUCCESS;
}
