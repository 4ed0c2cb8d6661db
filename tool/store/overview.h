/* SPDX-License-Identifier: MIT */
/*
 * overview.h - what there is to select in a store, and its hits over time, so that a
 * person can choose.
 */
#ifndef STORE_OVERVIEW_H
#define STORE_OVERVIEW_H

#include "store/store.h"

#include "base/string_set.h"

/* Later times, which a store or a client may name, are this one: the year 2200. So
 * differences and sums of times fit into their type. */
#define OVERVIEW_TIME_MAX_NS INT64_C(7258118400000000000)

enum {
    OVERVIEW_NAMES_MAX = 2000, /* of each kind; more are left out */
    OVERVIEW_SLOTS_MAX = 240,  /* of the timeline */
};

/* store_overview - all zero before store_get_overview. */
struct store_overview {
    struct string_set hosts;
    struct string_set units;
    struct string_set builds; /* "BUILD-ID PATH" */
    struct string_set labels; /* key=value */
    struct string_set sources;
    struct string_set images;    /* paths */
    struct string_set intervals; /* "INTERVAL UNIT SOURCE" */
    /* The timeline: hits of the selected hosts and labels, of all units and images, by
     * the time when their windows started. Times are since 1970, UTC. */
    const char *source; /* the source whose hits are counted; "": there is none */
    int64_t start_ns;   /* of the first slot */
    int64_t slot_ns;
    size_t slot_count;
    uint64_t hits[OVERVIEW_SLOTS_MAX];
    uint64_t interval; /* the shortest interval in the windows, of which hits are */
};

/* overview_limit_time - return the time, or the nearer of 0 and OVERVIEW_TIME_MAX_NS if
 * it is not between them. */
static inline int64_t
overview_limit_time(int64_t time_ns)
{
    return time_ns < 0                      ? 0
           : time_ns > OVERVIEW_TIME_MAX_NS ? OVERVIEW_TIME_MAX_NS
                                            : time_ns;
}

/*
 * store_get_extent - get the time that the store has windows of.
 *
 *   first_ns, last_ns  out: start of the first window and end of the last one in UTC; 0
 *                      without any
 */
bool store_get_extent(struct store *store, int64_t *first_ns, int64_t *last_ns,
                      struct pprof_error *error);

/*
 * store_get_overview - read an overview.
 *
 *   selection  in: with since_ns and until_ns
 *   overview   out: store_overview_finish frees it, also after a failure
 */
bool store_get_overview(struct store *store, const struct store_selection *selection,
                        struct store_overview *overview, struct pprof_error *error);
void store_overview_finish(struct store_overview *overview);

/* ---- for engines ---- */

/* overview_add - add a name to a set, unless it is full. Returns false if memory runs
 * out. */
bool overview_add(struct string_set *set, const char *name);

/* overview_add_hits - add hits to a slot of the timeline. The shortest interval must be
 * added first. A hit of a longer interval counts as interval / overview->interval hits.
 * Slots beyond the last are ignored: a store may be forged. */
void overview_add_hits(struct store_overview *overview, uint64_t slot,
                       uint64_t interval, uint64_t hits);

/* overview_add_labels - add each line, which is a label key=value, to the labels.
 * Returns false if memory runs out. */
bool overview_add_labels(struct store_overview *overview, const char *lines);

#endif
