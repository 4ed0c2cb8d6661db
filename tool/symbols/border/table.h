/* SPDX-License-Identifier: MIT */
/*
 * table.h - which symbol covers an address: one sorted array of disjoint ranges.
 *
 * Symbols are added in any order, overlapping as they like; sym_table_build makes them
 * disjoint once, so that a lookup is one binary search whatever the input. Invariants
 * after it: ranges are sorted, not empty, and do not overlap; there are at most twice
 * as many as symbols, and as many more as bounds fill gaps.
 *
 * A bound is a stretch of code that is one function whose name nobody knows. It fills
 * what no symbol covers, and ends symbols without size.
 */
#ifndef SYMBOLS_BORDER_TABLE_H
#define SYMBOLS_BORDER_TABLE_H

#include "base/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much a name is worth beside another one at the same address: larger wins. */
enum sym_rank { SYM_RANK_LOCAL, SYM_RANK_WEAK, SYM_RANK_GLOBAL };

/* The entry is a stub that jumps to the function of that name: "@plt" is shown behind
 * it. */
#define SYM_TAG_STUB UINT32_MAX

/* The name ends with a version, behind its last "@", which is not shown. */
#define SYM_TAG_VERSIONED (UINT32_MAX - 1)

/* sym_bound - of a function without a name. */
struct sym_bound {
    uint64_t start;
    uint64_t end;
};

struct sym_entry {
    uint64_t start;
    uint64_t end; /* first byte behind; of a symbol without size how far it may reach */
    const char *name; /* outlives the table, or given to sym_table_own */
    uint64_t origin;  /* start, set by sym_table_add; may be changed until build */
    uint32_t tag;     /* the caller's, or one of those above */
    uint32_t order;   /* set by sym_table_add */
    uint32_t group;   /* of symbols of one source file; not of the table's interest */
    uint8_t rank;
    bool sized;
    bool chooses; /* an IFUNC: its code gives the address of the function */
};

struct sym_range {
    uint64_t start;
    uint64_t end;
    const char *name; /* NULL: it is a bound */
    char *shown;      /* NULL until asked for; name itself, or owned */
    uint64_t origin;  /* first byte of the symbol that has the name */
    uint32_t tag;
    uint32_t entry; /* number of the symbol: one that is cut has several ranges */
};

/* Who covers an address that several sized symbols claim. */
enum sym_overlap {
    SYM_OVERLAP_INNERMOST, /* the one that starts last, then the better name */
    SYM_OVERLAP_LATEST     /* the one added last */
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
    bool owns_shown;           /* what ranges show is in owned */
    struct sym_budget *budget; /* what entries and ranges are taken from; may be NULL */
    uint64_t taken;            /* of it */
};

/* A table is {0} at first, but for its budget. All that return bool: false if memory or
 * the budget ran out. */

/* A forged name may be as long as the file, and be that of each symbol: readers pass
 * over names of so many bytes and more. */
#define SYM_NAME_BYTES_MAX (UINT32_C(1) << 16)

/* Empty ranges, empty names and names that are too long are passed over. */
bool sym_table_add(struct sym_table *table, const struct sym_entry *entry);

bool sym_table_add_bound(struct sym_table *table, uint64_t start, uint64_t end);

/* Takes bytes of the budget for what is given to the table. */
bool sym_table_take(struct sym_table *table, uint64_t bytes);

/* Takes malloc'd memory over, also on failure. */
bool sym_table_own(struct sym_table *table, void *memory);

bool sym_table_build(struct sym_table *table, enum sym_overlap overlap);

/* How many items have a number below key: items are sorted by the uint64_t that each
 * begins with. */
size_t sym_count_below(const void *items, size_t count, size_t item_bytes,
                       uint64_t key);

/* The range that starts last below end; NULL if there is none. */
struct sym_range *sym_table_find_before(const struct sym_table *table, uint64_t end);

/* NULL if nothing covers address. */
struct sym_range *sym_table_find(const struct sym_table *table, uint64_t address);

/* The length of a name with its tag without the version. */
size_t sym_shown_length(const char *name, uint32_t tag);

/*
 * The name for people (demangled, without symbol version; made at the first call) and
 * the one in the table (of a stub: the one for people). Both live as long as the table.
 * False if memory ran out, or there is none.
 */
bool sym_range_name(struct sym_range *range, const char **name,
                    const char **system_name);

/* Gives back to the budget, which stays. */
void sym_table_finish(struct sym_table *table);

#endif
