/* SPDX-License-Identifier: MIT */
/* grouping.h - which rows of a profile are added up, and which are left out. */
#ifndef PROFILE_GROUPING_H
#define PROFILE_GROUPING_H

#include "base/suggest.h"

#include <stdbool.h>
#include <stddef.h>

enum report_key {
    REPORT_BY_FUNCTION, /* in whose machine code the hits are */
    REPORT_BY_INLINE,   /* innermost, which may be inlined */
    REPORT_BY_LINE,
    REPORT_BY_IMAGE,
    REPORT_BY_ADDRESS,
    REPORT_BY_BUCKET, /* like by address, but shown as a range */
    REPORT_BY_PROCESS,
    REPORT_BY_THREAD,
    REPORT_BY_CPU,
    REPORT_BY_SOURCE,
    REPORT_BY_UNIT,
    REPORT_BY_PID, /* process id; shown with the name of the process */
    REPORT_KEY_COUNT
};

/* report_keys - rows that agree in all these keys are added up. All zero: by
 * function. */
struct report_keys {
    enum report_key list[REPORT_KEY_COUNT]; /* each once */
    size_t count;
};

enum report_filter_kind {
    REPORT_FILTER_IMAGE,   /* its path, or the last part of it */
    REPORT_FILTER_PROCESS, /* name */
    REPORT_FILTER_SYMBOL,  /* a function, demangled or not */
    REPORT_FILTER_KINDS
};

/*
 * report_filter - lets rows pass whose name equals glob or matches it (*, ?, [...]), in
 * the form in which names are printed. A row passes if it passes one filter of each
 * kind that has filters.
 */
struct report_filter {
    enum report_filter_kind kind;
    const char *glob;
};

enum report_relation_kind { REPORT_CALLERS, REPORT_CALLEES };

/*
 * report_relation - rows are of who calls a function, or of what it calls: the first
 * function outside of it on a stack, outwards or inwards.
 */
struct report_relation {
    enum report_relation_kind kind;
    const char *glob;           /* names of the function, as of a filter; NULL: none */
    const char *const *skipped; /* globs of images whose functions are passed over */
    size_t skipped_count;
};

/* report_grouping - all zero: every row, by function. */
struct report_grouping {
    struct report_keys keys;
    const struct report_filter *filters;
    size_t filter_count;
    struct report_relation relation; /* without a glob: rows are of where hits are */
    bool join_builds;                /* rows of images are not apart by build */
};

/* Parse "function", "process,function" and so on. Returns false if a word is unknown or
 * repeated. */
bool report_keys_parse(const char *text, struct report_keys *keys);

/* Offer what the first word of text that is no key may have been meant to be. */
void report_keys_suggest(const char *text, struct suggestion *suggestion);

/* Append the names of all keys to text, which has room for size bytes, with commas;
 * without by_source those that a difference has. */
void report_keys_list(char *text, size_t size, bool by_source);

/* Return the keys that rows are added up by: these, or function if there are none. */
const struct report_keys *report_keys_used(const struct report_keys *keys);

bool report_has_key(const struct report_keys *keys, enum report_key key);

const char *report_key_name(enum report_key key);

#endif
