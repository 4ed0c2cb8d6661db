/* SPDX-License-Identifier: MIT */
/* record_cpus.c - the processors of -C and --per cpu. */
#include "record/record_cpus.h"
#include "base/cpu_list.h"
#include "base/message.h"

#include <stdio.h>

static bool
refuse_value(const struct record_options *options, const char *option, const char *text,
             const char *allowed)
{
    return cmd_refuse_value(options->command, option, text, allowed);
}

bool
record_cpus_parse(struct record_options *options, const char *text)
{
    uint64_t wanted[RECORD_GROUPS_MAX] = {0};
    uint64_t online[RECORD_GROUPS_MAX] = {0};
    char list[CPU_LIST_TEXT_BYTES];
    char allowed[CPU_LIST_TEXT_BYTES + 76];

    if (!cpu_list_read_online(list, online)) {
        return refuse_value(options, "-C", text,
                            "cannot find out which processors there are: "
                            "/sys/devices/system/cpu/online cannot be read, or is "
                            "too long");
    }
    snprintf(allowed, sizeof(allowed),
             "must be a list of processors such as 0,2-3; there are %s", list);
    if (!cpu_list_parse(text, wanted)) {
        return refuse_value(options, "-C", text, allowed);
    }
    options->affinity_count = 0;
    for (uint16_t group = 0; group < RECORD_GROUPS_MAX; group++) {
        if ((wanted[group] & ~online[group]) != 0) {
            return refuse_value(options, "-C", text, allowed);
        }
        if (wanted[group] != 0) {
            options->affinity[options->affinity_count++] =
                (GROUP_AFFINITY){.Mask = (KAFFINITY)wanted[group], .Group = group};
        }
    }
    return true;
}

bool
record_cpus_list(struct record_options *options)
{
    uint64_t online[RECORD_GROUPS_MAX] = {0};
    char list[CPU_LIST_TEXT_BYTES];

    if (!options->per_cpu || options->affinity_count != 0) {
        return true;
    }
    if (!cpu_list_read_online(list, online)) {
        return refuse_value(options, "--per", "cpu",
                            "cannot find out which processors there are: "
                            "/sys/devices/system/cpu/online cannot be read, or is "
                            "too long");
    }
    return record_cpus_parse(options, list);
}
