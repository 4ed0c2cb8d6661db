/* SPDX-License-Identifier: MIT */
/*
 * table.h - the rows of a live screen: functions, inlined functions, images or
 * processes, with the hits of the last look and of all looks.
 *
 * A row is added at its first hit and keeps its index for good. So there are as many
 * rows as different functions were hit, independent of the time, and the cost of a look
 * depends only on its own hits.
 *
 * Which rows are the same function is known only when others of its name were seen
 * (identity.h). Then the first of them, its head, is shown, and has the hits of all.
 *
 * Hits of idle processors (view/screen/idle.h) are in no row, but in separate sums.
 *
 * A table of callers and callees (calls.h) has a row for each function that calls its
 * target or is called by it; rows stay until another target is set. Sums are those of
 * the target with all that it calls: the sum of callers, and also that of callees with
 * the target's own hits.
 */
#ifndef VIEW_SCREEN_TABLE_H
#define VIEW_SCREEN_TABLE_H

#include "base/buffer.h"
#include "base/hash_index.h"
#include "profile/profile.h"
#include "view/screen/target.h"

enum tui_rows {
    TUI_FUNCTIONS, /* in whose machine code the hits are */
    TUI_IMAGES,
    TUI_PROCESSES, /* of one name, with what the kernel did for them */
    TUI_INLINED,   /* innermost functions, each with what it is inlined in */
    TUI_CALLS,     /* callers and callees of one function; none without a target */
    TUI_KINDS
};

/* tui_relation - what a row of TUI_CALLS is to the target. Other rows have the first.
 */
enum tui_relation { TUI_CALLER, TUI_ITSELF, TUI_CALLEE, TUI_RELATIONS };

/* tui_row - indexes of images and functions are those of tui_table.seen. */
struct tui_row {
    uint32_t image; /* of processes: one whose path is their name */
    uint32_t
        function;   /* in whose machine code hits are; 0: not known, or no functions */
    uint32_t inner; /* of inlined functions: the innermost; else function */
    bool inlined;   /* inner was inlined into function */
    bool end;       /* of TUI_CALLS: the end of stacks, named by function; no image */
    uint8_t relation; /* enum tui_relation */
    uint32_t head;    /* the first row of the same function; may be this one */
    uint32_t next;    /* the next row of the same function; TUI_NO_ROW: none */
    size_t text;      /* of heads of functions: offset in texts, or none: too large */
    uint64_t look; /* the look that recent belongs to; in other looks it had no hits */
};

#define TUI_NO_ROW UINT32_MAX

static inline bool
tui_rows_are_functions(enum tui_rows kind)
{
    return kind == TUI_FUNCTIONS || kind == TUI_INLINED || kind == TUI_CALLS;
}

struct tui_table {
    enum tui_rows kind;
    struct tui_target target; /* of TUI_CALLS; its image is NULL if there is none */
    size_t source_count;      /* 0 until the first look */
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
    /* Images and functions of the rows; row i is there the row at address i. */
    struct profile *seen;
    size_t head_count;   /* rows that are shown */
    size_t settled;      /* rows whose heads and names are known */
    struct buffer texts; /* names of heads, escaped, each with its NUL */
    struct hash_index index;
};

void tui_table_init(struct tui_table *table, enum tui_rows kind);
void tui_table_finish(struct tui_table *table);

/* Give a table of TUI_CALLS a target, which is copied, and remove all rows. Returns
 * false if memory runs out; it has no target then. */
bool tui_table_aim(struct tui_table *table, const struct tui_target *target);

/* Return the function of a row. The table owns the strings. */
struct tui_target tui_table_target(const struct tui_table *table, size_t row);

/*
 * Add the hits since the last look. The sources must be the same each time; sums stay
 * at UINT64_MAX when they overflow. Returns false if memory runs out; some hits may be
 * missing then.
 */
bool tui_table_take(struct tui_table *table, const struct profile *recent);

/* Forget all hits, but those of rows at the last look until there is another. Rows keep
 * their indexes. */
void tui_table_clear(struct tui_table *table);

/* Forget which hits are those of the last look, but not that there were some. */
void tui_table_clear_recent(struct tui_table *table);

/* Return whether a row is shown, with the hits of its function. */
bool tui_table_is_head(const struct tui_table *table, size_t row);

/* Return whether a row is the end of stacks, and no function. */
bool tui_table_is_end(const struct tui_table *table, size_t row);

/* Return the hits of the function of a head. */
uint64_t tui_table_recent(const struct tui_table *table, size_t row, size_t source);
uint64_t tui_table_total(const struct tui_table *table, size_t row, size_t source);

/* Return the name of the function of a head as it is shown: escaped, and different
 * from those of other functions. It is valid until the next look. NULL: rows are
 * images or processes. */
const char *tui_table_name(const struct tui_table *table, size_t row);

/* These are not escaped, and valid as long as the table. */
const char *tui_table_image(const struct tui_table *table, size_t row);
const char *tui_table_full_name(const struct tui_table *table, size_t row);

#endif
