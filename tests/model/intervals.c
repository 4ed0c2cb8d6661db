/* SPDX-License-Identifier: MIT */
/* intervals.c - the model of NtQueryIntervalProfile and NtSetIntervalProfile. */
#include "model.h"

#include <string.h>

enum { TIME_MINIMUM = 1221, TIME_MAXIMUM = 10000000, COUNTER_MINIMUM = 0x1000 };

static bool
is_there(struct model *model, bool old)
{
    if (old == (model->version <= NTPROF_NT_3_50)) {
        return true;
    }
    model_reach(model, old ? MODEL_INTERVAL_OLD_NOT_THERE : MODEL_INTERVAL_NOT_THERE);
    return false;
}

static uint32_t
interval_of(struct model *model, KPROFILE_SOURCE number)
{
    const struct model_source *const source = model_find_source(model, number);

    if (number == ProfileAlignmentFixup) {
        model_reach(model, model->alignment_fixup != 0 ? MODEL_QUERY_FIXUP_SET
                                                       : MODEL_QUERY_FIXUP_UNSET);
        return model->alignment_fixup;
    }
    if (source == NULL || !source->supported) {
        model_reach(model, MODEL_QUERY_UNSUPPORTED);
        return 0;
    }
    return (uint32_t)source->interval;
}

NTSTATUS
model_query_interval(struct model *model, bool kernel_mode, bool old,
                     KPROFILE_SOURCE source, uint64_t interval)
{
    const KPROFILE_SOURCE number = old ? ProfileTime : source;
    uint32_t value;

    if (model->halted) {
        model_reach(model, MODEL_QUERY_HALTED);
        return STATUS_SYSTEM_SHUTDOWN;
    }
    if (!is_there(model, old)) {
        return STATUS_INVALID_SYSTEM_SERVICE;
    }
    if (!kernel_mode && interval % 4 != 0) {
        model_reach(model, MODEL_QUERY_UNALIGNED);
        return STATUS_DATATYPE_MISALIGNMENT;
    }
    if (!kernel_mode && (!model_is_user(model, interval, sizeof(value)) ||
                         !model_can_write(model, interval, sizeof(value)))) {
        model_reach(model, MODEL_QUERY_POINTER);
        return STATUS_ACCESS_VIOLATION;
    }
    if (!kernel_mode && model->faults.copy_to_caller) {
        model_reach(model, MODEL_QUERY_LATE_FAULT);
        return STATUS_SUCCESS;
    }
    value = interval_of(model, number);
    if (!model->privilege) {
        model_reach(model, MODEL_QUERY_UNPRIVILEGED);
    }
    memcpy(model_at(model, interval, sizeof(value)), &value, sizeof(value));
    return STATUS_SUCCESS;
}

/* branch is for a value that is too small, the next one for one that is too large. */
static uint64_t
clamp(struct model *model, uint64_t value, uint64_t least, uint64_t most,
      enum model_branch branch)
{
    if (value < least) {
        model_reach(model, branch);
        return least;
    }
    if (value > most) {
        model_reach(model, branch + 1);
        return most;
    }
    return value;
}

NTSTATUS
model_set_interval(struct model *model, bool kernel_mode, bool old, uint32_t interval,
                   KPROFILE_SOURCE number)
{
    struct model_source *const source =
        model_find_source(model, old ? ProfileTime : number);
    uint64_t value = interval;

    if (model->halted) {
        model_reach(model, MODEL_SET_HALTED);
        return STATUS_SYSTEM_SHUTDOWN;
    }
    if (!is_there(model, old)) {
        return STATUS_INVALID_SYSTEM_SERVICE;
    }
    if (!model->privilege && model->version >= NTPROF_NT_6_2 && !kernel_mode) {
        model_reach(model, MODEL_SET_PRIVILEGE);
        return STATUS_PRIVILEGE_NOT_HELD;
    }
    if (!model->privilege) {
        model_reach(model, kernel_mode ? MODEL_SET_BY_KERNEL : MODEL_SET_UNPRIVILEGED);
    }
    if (!old && number == ProfileAlignmentFixup) {
        model->alignment_fixup = interval;
        return STATUS_SUCCESS;
    }
    if (source == NULL) {
        model_reach(model, MODEL_SET_UNKNOWN);
        return STATUS_SUCCESS;
    }
    if (model->version < MODEL_NEWEST && source->number == ProfileTime) {
        value = clamp(model, value, TIME_MINIMUM, TIME_MAXIMUM, MODEL_SET_TIME_SMALL);
    } else if (model->version < MODEL_NEWEST && source->number < 0x1000) {
        value =
            clamp(model, value, COUNTER_MINIMUM, UINT64_MAX, MODEL_SET_COUNTER_SMALL);
    }
    source->interval =
        clamp(model, value, source->minimum, source->maximum, MODEL_SET_HAL_SMALL);
    return STATUS_SUCCESS;
}
