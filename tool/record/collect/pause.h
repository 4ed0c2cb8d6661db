/* SPDX-License-Identifier: MIT */
/*
 * pause.h - the statistics of a source without the time in which counting was paused.
 *
 * The session continues to take hits meanwhile, so that its statistics have to be
 * reduced by what they grew between a pause and the next resumption.
 */
#ifndef RECORD_COLLECT_PAUSE_H
#define RECORD_COLLECT_PAUSE_H

#include <ntprof/ntprof.h>
#include <stdbool.h>

/* Number of members of the statistics that a pause reduces. */
enum { PAUSE_PARTS = 9 };

/* pause - the pauses of one source; all zero: there was none. */
struct pause {
    bool paused;
    ntprof_source_info begin; /* the statistics when the last pause began */
    /* What pauses left out of the members of part_offsets, modulo 2^64, since a member
     * such as missed may also become smaller. */
    uint64_t left_out[PAUSE_PARTS];
    double events_left_out;
};

/* Begin or end (pause_end) a pause; now are the session's statistics at that moment. */
void pause_begin(struct pause *pause, const ntprof_source_info *now);
void pause_end(struct pause *pause, const ntprof_source_info *now);

/* Reduce the session's statistics, of this moment, to those of the time without pauses.
 * Afterwards they add up as before (source.h). */
void pause_apply(const struct pause *pause, ntprof_source_info *info);

#endif
