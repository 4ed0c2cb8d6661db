/* SPDX-License-Identifier: MIT */
/*
 * table.h - the rows of a live screen: functions or images, with the hits of the last
 * look and of all looks.
 *
 * Rows are made as their first hits come and stay for good, under the same number: so
 * there are as many as different functions were hit, whatever the time. A look costs
 * what its own hits cost.
 *
 * Hits of processors that rest (tui/idle.h) are in no row, but in sums of their own.
 */
#ifndef TUI_TABLE_H
#define TUI_TABLE_H

#include "profile/profile.h"
#include "util/hash_index.h"
#include "util/string_set.h"

enum tui_rows { TUI_FUNCTIONS, TUI_IMAGES };

struct tui_row {
    uint32_t name;  /* of the function, into strings; TUI_NO_NAME: address tells */
    uint32_t image; /* path, into strings */
    /* of functions without a name: in the image's addresses; else 0 */
    uint64_t address;
    uint64_t offset; /* the same as reports show it: in the file, if there is one */
    uint64_t look;   /* the look that recent is of; of any other look it is 0 */
};

#define TUI_NO_NAME UINT32_MAX

struct tui_table {
    enum tui_rows kind;
    size_t source_count; /* 0 until the first look */
    struct tui_row *rows;
    size_t count;
    size_t capacity;
    uint64_t *recent; /* source_count for each row */
    uint64_t *totals; /* the same */
    uint64_t *
        /* one per source, those in no row too; the four below are in its block */
        recent_sums;
    uint64_t *total_sums;
    uint64_t *idle_recent;
    uint64_t *idle_totals;
    uint64_t *outside; /* in no row, at the last look */
    uint64_t looks;
    struct string_set strings; /* hostile */
    struct hash_index index;
};

void tui_table_init(struct tui_table *table, enum tui_rows kind);
void tui_table_finish(struct tui_table *table);

/*
 * Adds what came since the last look. The sources must be the same each time; hits are
 * added up to UINT64_MAX. False: out of memory; some of them may be missing then.
 */
bool tui_table_take(struct tui_table *table, const struct profile *recent);

uint64_t tui_table_recent(const struct tui_table *table, size_t row, size_t source);
uint64_t tui_table_total(const struct tui_table *table, size_t row, size_t source);

/* Name of the function, or NULL. */
const char *tui_table_name(const struct tui_table *table, size_t row);
const char *tui_table_image(const struct tui_table *table, size_t row);

#endif
