/* SPDX-License-Identifier: MIT */
/*
 * online.c - processors that go offline and come online while a recording counts.
 *
 * A profile object is for processors that are online when it is created: others are
 * refused. So one that is created while a processor is offline does not count there
 * later, and is created again once the processor is online. The session samples such a
 * processor, and may know of it later than this file, by less than CHECK_NS.
 *
 * Invariant: usable has no processor of came.
 */
#include "record/collect/collectorp.h"

#include "base/clock.h"
#include "base/cpu_list.h"

#include <string.h>

/* The session takes a second at most to sample a processor that has come online. */
#define CHECK_NS UINT64_C(125000000)

/* Read which processors are online. Returns whether one has gone offline. */
static bool
online_read(struct online *online)
{
    uint64_t now[CPU_LIST_GROUPS] = {0};
    char text[CPU_LIST_TEXT_BYTES];
    bool gone = false;

    if (!cpu_list_read_online(text, now)) {
        return false;
    }
    for (size_t i = 0; i < CPU_LIST_GROUPS; i++) {
        gone = gone || (online->usable[i] & ~now[i]) != 0;
        online->all = online->all && !gone;
        online->usable[i] &= now[i];
        online->came[i] = now[i] & ~online->usable[i];
    }
    return gone;
}

void
online_init(struct online *online)
{
    /* Without a list, no processor counts as offline. */
    memset(online->usable, 0xff, sizeof(online->usable));
    (void)online_read(online);
    memcpy(online->seen, online->usable, sizeof(online->seen));
    online->all = true;
    online->checked_ns = clock_now_ns();
}

bool
online_has_shrunk(struct collector *collector)
{
    return online_read(&collector->online);
}

bool
online_get_affinity(const struct collector *collector, uint32_t cpu_at,
                    GROUP_AFFINITY affinity[CPU_LIST_GROUPS], uint16_t *count)
{
    const struct collector_options *const options = &collector->options;
    const uint32_t cpu = collector->cpus != NULL ? collector->cpus[cpu_at] : 0;
    const GROUP_AFFINITY one = {.Mask = (KAFFINITY)1 << cpu % CPUS_A_GROUP,
                                .Group = (uint16_t)(cpu / CPUS_A_GROUP)};
    const GROUP_AFFINITY *const wanted =
        collector->cpus != NULL ? &one : options->affinity;
    const uint16_t wanted_count = collector->cpus != NULL ? 1 : options->affinity_count;

    *count = 0;
    for (uint16_t i = 0; i < wanted_count; i++) {
        GROUP_AFFINITY usable = wanted[i];

        usable.Mask &= (KAFFINITY)collector->online.usable[usable.Group];
        if (usable.Mask != 0) {
            affinity[(*count)++] = usable;
        }
    }
    return *count != 0 || wanted_count == 0;
}

/* Are profile objects with this index for one of these processors? */
static bool
is_for_any(const struct collector *collector, uint32_t cpu_at,
           const uint64_t processors[CPU_LIST_GROUPS])
{
    if (collector->cpus != NULL) {
        const uint32_t cpu = collector->cpus[cpu_at];

        return (processors[cpu / CPUS_A_GROUP] >> cpu % CPUS_A_GROUP & 1) != 0;
    }
    for (size_t i = 0; i < CPU_LIST_GROUPS; i++) {
        if (processors[i] != 0) {
            return true;
        }
    }
    return false;
}

/* Create the profile objects with this index again, for all mappings. */
static void
renew_profiles(struct collector *collector, uint32_t cpu_at)
{
    for (size_t i = 0; i < PROCESS_BUCKETS; i++) {
        for (struct process *process = collector->processes[i]; process != NULL;
             process = process->next) {
            mapping_renew_all(collector, process, cpu_at);
        }
    }
    mapping_renew_all(collector, &collector->machine, cpu_at);
}

void
online_look(struct collector *collector)
{
    struct online *const online = &collector->online;
    const uint64_t now_ns = clock_now_ns();
    uint64_t settled[CPU_LIST_GROUPS];

    if (now_ns - online->checked_ns < CHECK_NS) {
        return;
    }
    online->checked_ns = now_ns;
    memcpy(settled, online->came, sizeof(settled));
    (void)online_read(online);
    online->all = true;
    online->newcomer = false;
    for (size_t i = 0; i < CPU_LIST_GROUPS; i++) {
        /* The session knows those that two checks found online. */
        settled[i] &= online->came[i];
        online->usable[i] |= settled[i];
        online->came[i] &= ~settled[i];
        online->newcomer = online->newcomer || (settled[i] & ~online->seen[i]) != 0;
        online->seen[i] |= settled[i];
        online->all = online->all && (online->seen[i] & ~online->usable[i]) == 0;
    }
    for (uint32_t at = 0; at < collector->cpu_count; at++) {
        if (is_for_any(collector, at, settled)) {
            renew_profiles(collector, at);
        }
    }
}
