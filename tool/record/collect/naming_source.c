/* SPDX-License-Identifier: MIT */
/* naming_source.c - the statistics of a session's source as a column of a profile. */
#include "record/collect/naming.h"

bool
naming_add_source(struct profile *profile, const ntprof_source_info *info,
                  const char *name, bool user_left_out)
{
    const struct profile_source column = {
        .name = name,
        .nt_name = info->nt_name,
        .unit = info->unit == NTPROF_UNIT_100NS ? "100ns" : "events",
        .kernel_included = info->kernel_included != 0,
        .user_left_out = user_left_out,
        .asked = info->interval_asked,
        .granted = info->interval_granted,
        .measured = info->interval_measured,
        .expected = info->expected,
        .taken = info->taken,
        .counted = info->counted,
        .outside = info->outside,
        .lost = info->lost,
        .throttled = info->throttled,
        .missed = info->missed,
        .unfinished = info->unfinished,
        .excluded = info->excluded,
        .outside_kernel = info->outside_kernel,
    };
    uint32_t index;

    return profile_add_source(profile, &column, &index);
}
