/* SPDX-License-Identifier: MIT */
/*
 * table.h - the rows of a live screen: functions or images, with the hits of the last
 * look and of all looks.
 *
 * A row is added at its first hit and keeps its index for good. So there are as many
 * rows as different functions were hit, independent of the time, and the cost of a look
 * depends only on its own hits.
 *
 * Hits of idle processors (view/screen/idle.h) are in no row, but in separate sums.
 */
#ifndef VIEW_SCREEN_TABLE_H
#define VIEW_SCREEN_TABLE_H

#include "base/hash_index.h"
#include "base/string_set.h"
#include "profile/profile.h"

enum tui_rows { TUI_FUNCTIONS, TUI_IMAGES };

struct tui_row {
    /* of the function, in strings; TUI_NO_NAME: it has only an address */
    uint32_t name;
    uint32_t image; /* path, in strings */
    /* for functions without a name: address in the image; else 0 */
    uint64_t address;
    /* the address as in reports: an offset in the file, if there is one */
    uint64_t offset;
    uint64_t look; /* the look that recent belongs to; in other looks it had no hits */
};

#define TUI_NO_NAME UINT32_MAX

struct tui_table {
    enum tui_rows kind;
    size_t source_count; /* 0 until the first look */
    struct tui_row *rows;
    size_t count;
    size_t capacity;
    uint64_t *recent; /* source_count entries for each row */
    uint64_t *totals; /* the same */
    /* One for each source, including hits in no row. The four below are in the same
     * block. */
    uint64_t *recent_sums;
    uint64_t *total_sums;
    uint64_t *idle_recent;
    uint64_t *idle_totals;
    uint64_t *outside; /* hits in no row, at the last look */
    uint64_t looks;
    struct string_set strings; /* not escaped */
    struct hash_index index;
};

void tui_table_init(struct tui_table *table, enum tui_rows kind);
void tui_table_finish(struct tui_table *table);

/*
 * Add the hits since the last look. The sources must be the same each time; sums stay
 * at UINT64_MAX when they overflow. Returns false if memory runs out; some hits may be
 * missing then.
 */
bool tui_table_take(struct tui_table *table, const struct profile *recent);

/* Forget all hits; rows keep their indexes. */
void tui_table_clear(struct tui_table *table);

uint64_t tui_table_recent(const struct tui_table *table, size_t row, size_t source);
uint64_t tui_table_total(const struct tui_table *table, size_t row, size_t source);

/* Return the name of the function, or NULL. */
const char *tui_table_name(const struct tui_table *table, size_t row);
const char *tui_table_image(const struct tui_table *table, size_t row);

#endif
