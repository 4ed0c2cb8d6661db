/* SPDX-License-Identifier: MIT */
/* hal/sim/source.c - the sources of the simulated machine: all of NT's, and ntprof's
 * own. */
#include "hal/sim/simp.h"

#include <string.h>
#include <strings.h>

/* COUNTER_MINIMUM and _INITIAL: counters are of frequent events, and each interval
 * costs an interrupt. */
enum {
    TIME_MINIMUM_100NS = 1221, /* 8192 a second */
    TIME_INITIAL_100NS = 10000,
    TIME_MAXIMUM_100NS = 10000000,
    COUNTER_MINIMUM = 0x1000,
    COUNTER_INITIAL = 0x10000,
    COUNTER_MAXIMUM = 0x7FFFFFFF
};

/* The names are those of hal/linux/source.c; the rates are those of some machine. */
const struct sim_source_row sim_source_rows[SIM_SOURCES] = {
    {ProfileTime, "time", "ProfileTime", true, 0},
    {ProfileAlignmentFixup, "alignment-faults", "ProfileAlignmentFixup", true, 1000},
    {ProfileTotalIssues, "instructions", "ProfileTotalIssues", true, 2000000000},
    {ProfilePipelineDry, "stalled-cycles-frontend", "ProfilePipelineDry", true,
     300000000},
    {ProfileLoadInstructions, "loads", "ProfileLoadInstructions", false, 0},
    {ProfilePipelineFrozen, "stalled-cycles-backend", "ProfilePipelineFrozen", true,
     500000000},
    {ProfileBranchInstructions, "branches", "ProfileBranchInstructions", true,
     400000000},
    {ProfileTotalNonissues, "nonissues", "ProfileTotalNonissues", false, 0},
    {ProfileDcacheMisses, "l1d-misses", "ProfileDcacheMisses", true, 40000000},
    {ProfileIcacheMisses, "l1i-misses", "ProfileIcacheMisses", true, 10000000},
    {ProfileCacheMisses, "cache-misses", "ProfileCacheMisses", true, 5000000},
    {ProfileBranchMispredictions, "branch-misses", "ProfileBranchMispredictions", true,
     8000000},
    {ProfileStoreInstructions, "stores", "ProfileStoreInstructions", false, 0},
    {ProfileFpInstructions, "fp-instructions", "ProfileFpInstructions", false, 0},
    {ProfileIntegerInstructions, "integer-instructions", "ProfileIntegerInstructions",
     false, 0},
    {Profile2Issue, "2-issue", "Profile2Issue", false, 0},
    {Profile3Issue, "3-issue", "Profile3Issue", false, 0},
    {Profile4Issue, "4-issue", "Profile4Issue", false, 0},
    {ProfileSpecialInstructions, "special-instructions", "ProfileSpecialInstructions",
     false, 0},
    {ProfileTotalCycles, "cycles", "ProfileTotalCycles", true, 3000000000},
    {ProfileIcacheIssues, "l1i-loads", "ProfileIcacheIssues", true, 900000000},
    {ProfileDcacheAccesses, "l1d-loads", "ProfileDcacheAccesses", true, 700000000},
    {ProfileMemoryBarrierCycles, "barrier-cycles", "ProfileMemoryBarrierCycles", false,
     0},
    {ProfileLoadLinkedIssues, "load-linked", "ProfileLoadLinkedIssues", false, 0},
    {ProfilePageFaults, "page-faults", "", true, 2000},
    {ProfileMinorFaults, "minor-faults", "", true, 1900},
    {ProfileMajorFaults, "major-faults", "", true, 100},
    {ProfileContextSwitches, "context-switches", "", true, 1000},
    {ProfileMigrations, "migrations", "", true, 50},
};

int
sim_source_row_of(KPROFILE_SOURCE source)
{
    for (int row = 0; row < SIM_SOURCES; row++) {
        if (sim_source_rows[row].number == source) {
            return row;
        }
    }
    return -1;
}

int
sim_source_row_named(const char *name)
{
    for (int row = 0; row < SIM_SOURCES; row++) {
        /* NT's name of ntprof's own sources is "", which names none. */
        if (strcasecmp(sim_source_rows[row].name, name) == 0 ||
            (name[0] != '\0' && strcasecmp(sim_source_rows[row].nt_name, name) == 0)) {
            return row;
        }
    }
    return -1;
}

struct sim_limits
sim_source_limits(int row)
{
    if (sim_source_rows[row].number == ProfileTime) {
        return (struct sim_limits){TIME_MINIMUM_100NS, TIME_INITIAL_100NS,
                                   TIME_MAXIMUM_100NS};
    }
    /* Faults and what the scheduler does are rare: each may be a hit, as on Linux
     * (hal/linux/source.c). */
    if (sim_source_rows[row].number == ProfileAlignmentFixup ||
        sim_source_rows[row].number >= ProfileNtprofBase) {
        return (struct sim_limits){1, 1, COUNTER_MAXIMUM};
    }
    return (struct sim_limits){COUNTER_MINIMUM, COUNTER_INITIAL, COUNTER_MAXIMUM};
}

void
sim_sources_init(struct sim *sim)
{
    for (int row = 0; row < SIM_SOURCES; row++) {
        sim->sources[row].supported = sim_source_rows[row].supported;
        sim->sources[row].interval = sim_source_limits(row).initial;
    }
}

void
sim_source_set_interval(struct sim *sim, int row, uint64_t interval)
{
    const struct sim_limits limits = sim_source_limits(row);
    struct sim_source *const source = &sim->sources[row];

    source->interval_asked = interval;
    source->interval = interval;
    if (interval < limits.minimum) {
        source->interval = limits.minimum;
    } else if (interval > limits.maximum) {
        source->interval = limits.maximum;
    }
}

uint64_t
sim_source_period_ns(const struct sim *sim, int row)
{
    const uint64_t rate = sim_source_rows[row].events_per_second;
    const uint64_t interval = sim->sources[row].interval;
    uint64_t period_ns;

    if (sim_source_rows[row].number == ProfileTime) {
        return interval * 100;
    }
    /* Without a rate: a test has made the source supported. */
    period_ns = interval * 1000000000 / (rate != 0 ? rate : 1000000);
    return period_ns != 0 ? period_ns : 1;
}

void
sim_set_supported(struct sim *sim, KPROFILE_SOURCE source, bool supported)
{
    const int row = sim_source_row_of(source);

    if (row >= 0) {
        sim->sources[row].supported = supported;
    }
}
