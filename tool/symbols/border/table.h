/* SPDX-License-Identifier: MIT */
/*
 * table.h - which symbol covers an address: one sorted array of disjoint ranges.
 *
 * Symbols are added in any order, overlapping as they like; sym_table_build makes them
 * disjoint once, so that a lookup is one binary search whatever the input. Invariants
 * after it: ranges are sorted, not empty, and do not overlap; there are at most twice
 * as many as symbols, and as many more as bounds fill gaps.
 *
 * A bound is the range of a function without a known name, as from unwind tables. It
 * covers what no symbol covers, and ends symbols without a size.
 */
#ifndef SYMBOLS_BORDER_TABLE_H
#define SYMBOLS_BORDER_TABLE_H

#include "base/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of several names at one address, the one with the larger rank is used. */
enum sym_rank { SYM_RANK_LOCAL, SYM_RANK_WEAK, SYM_RANK_GLOBAL };

/* Tag of a stub that jumps to the function of that name: it is shown as "NAME@plt". */
#define SYM_TAG_STUB UINT32_MAX

/* Tag of a name with a symbol version, from its last "@" on, which is not shown. */
#define SYM_TAG_VERSIONED (UINT32_MAX - 1)

/* sym_bound - the range of a function without a name. */
struct sym_bound {
    uint64_t start;
    uint64_t end;
};

struct sym_entry {
    uint64_t start;
    uint64_t end;     /* exclusive; of a symbol without size its largest possible end */
    const char *name; /* outlives the table, or is owned by it (sym_table_own) */
    uint64_t origin;  /* sym_table_add sets it to start; may be changed until build */
    uint32_t tag;     /* the caller's, or one of SYM_TAG_... */
    uint32_t order;   /* number of the call of sym_table_add, which sets it */
    uint32_t group;   /* a number for its source file; for sym_elf_join_parts */
    uint8_t rank;
    bool sized;   /* end is known */
    bool chooses; /* an IFUNC: its code returns the address of the function to call */
};

struct sym_range {
    uint64_t start;
    uint64_t end;
    const char *name; /* NULL: it is a bound */
    char *shown;      /* for people; NULL until sym_range_name; name itself, or owned */
    uint64_t origin;  /* first byte of the symbol that has the name */
    uint32_t tag;
    uint32_t entry; /* number of the symbol: one that is cut has several ranges */
};

/* Which of several overlapping symbols covers an address. */
enum sym_overlap {
    SYM_OVERLAP_INNERMOST, /* the one that starts last; of those the better name */
    SYM_OVERLAP_LATEST     /* the one that was added last */
};

struct sym_table {
    struct sym_entry *entries; /* until build */
    size_t entry_count;
    size_t entry_room;
    struct sym_bound *bounds; /* until build */
    size_t bound_count;
    size_t bound_room;
    struct sym_range *ranges;
    size_t range_count;
    void **owned;
    size_t owned_count;
    bool owns_shown;           /* owned has the shown names of ranges */
    struct sym_budget *budget; /* memory is taken from it; may be NULL */
    uint64_t taken;            /* bytes that the table has taken from it */
};

/* A table is all zero at first, except its budget. Functions that return bool return
 * false if memory or the budget ran out, unless they say something else. */

/* Limit for names, since in a forged file each symbol may have a name as long as the
 * file: readers ignore names of so many bytes or more. */
#define SYM_NAME_BYTES_MAX (UINT32_C(1) << 16)

/* Add a symbol. One with an empty range, an empty name or a name that is too long is
 * ignored. */
bool sym_table_add(struct sym_table *table, const struct sym_entry *entry);

/* Add a bound. An empty one is ignored. */
bool sym_table_add_bound(struct sym_table *table, uint64_t start, uint64_t end);

/* Take bytes from the budget until sym_table_finish, for memory that the table owns. */
bool sym_table_take(struct sym_table *table, uint64_t bytes);

/* Have sym_table_finish free memory from malloc. On failure it is freed at once. */
bool sym_table_own(struct sym_table *table, void *memory);

/* Make the ranges from the symbols and bounds, which are freed. */
bool sym_table_build(struct sym_table *table, enum sym_overlap overlap);

/* Return the number of items whose key is below the given one, by binary search. The
 * key of an item is the uint64_t at its start, by which items are sorted. */
size_t sym_count_below(const void *items, size_t count, size_t item_bytes,
                       uint64_t key);

/* Return the last range that starts below end, or NULL. */
struct sym_range *sym_table_find_before(const struct sym_table *table, uint64_t end);

/* Return the range that covers an address, or NULL. */
struct sym_range *sym_table_find(const struct sym_table *table, uint64_t address);

/* Return the length of a name without its symbol version, which it has if its tag is
 * SYM_TAG_VERSIONED. */
size_t sym_shown_length(const char *name, uint32_t tag);

/*
 * Get the names of a range.
 *
 *   name         for people: demangled and without symbol version; made by the first
 *                call
 *   system_name  as in the table; of a stub the same as name
 *
 * Both live as long as the table. Returns false if the range is a bound, or memory ran
 * out.
 */
bool sym_range_name(struct sym_range *range, const char **name,
                    const char **system_name);

/* Free all and give what was taken back to the budget, which the table keeps. */
void sym_table_finish(struct sym_table *table);

#endif
