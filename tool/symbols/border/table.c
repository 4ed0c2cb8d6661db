/* SPDX-License-Identifier: MIT */
/*
 * table.c - makes overlapping symbols disjoint and finds addresses in them.
 *
 * Sized symbols are swept in order of their start with a heap of those that are open;
 * the top of the heap covers the stretch to the next event. Symbols without size then
 * fill only gaps, and bounds what is left.
 */
#include "symbols/border/table.h"

#include "base/arithmetic.h"
#include "symbols/border/demangle.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory that a symbol may need at most: its entry twice while the array grows, 4 bytes
 * in the heap, and the two ranges that it may become. */
#define ENTRY_COST (2 * sizeof(struct sym_entry) + 4 + 2 * sizeof(struct sym_range))

/* --- adding --- */

bool
sym_table_take(struct sym_table *table, uint64_t bytes)
{
    if (!sym_budget_take(table->budget, bytes)) {
        return false;
    }
    table->taken += bytes;
    return true;
}

bool
sym_table_add(struct sym_table *table, const struct sym_entry *entry)
{
    struct sym_entry *larger;

    if (entry->start >= entry->end || entry->name[0] == '\0' ||
        strnlen(entry->name, SYM_NAME_BYTES_MAX) == SYM_NAME_BYTES_MAX) {
        return true;
    }
    if (!sym_table_take(table, ENTRY_COST)) {
        return false;
    }
    /* ENTRY_COST was taken from the budget for it already. */
    larger = sym_budget_grow(/* budget */ NULL, table->entries, table->entry_count,
                             &table->entry_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    table->entries = larger;
    table->entries[table->entry_count] = *entry;
    table->entries[table->entry_count].origin = entry->start;
    table->entries[table->entry_count].order = (uint32_t)table->entry_count;
    table->entry_count++;
    return true;
}

bool
sym_table_add_bound(struct sym_table *table, uint64_t start, uint64_t end)
{
    struct sym_bound *larger;

    if (start >= end) {
        return true;
    }
    if (!sym_table_take(table, 2 * sizeof(*larger))) {
        return false;
    }
    /* Its memory was taken from the budget already. */
    larger = sym_budget_grow(/* budget */ NULL, table->bounds, table->bound_count,
                             &table->bound_room, sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    table->bounds = larger;
    table->bounds[table->bound_count++] = (struct sym_bound){start, end};
    return true;
}

bool
sym_table_own(struct sym_table *table, void *memory)
{
    void **larger;

    if (memory == NULL) {
        return false;
    }
    larger = realloc(table->owned, (table->owned_count + 1) * sizeof(*larger));
    if (larger == NULL) {
        free(memory);
        return false;
    }
    table->owned = larger;
    table->owned[table->owned_count++] = memory;
    return true;
}

/* --- which of several names --- */

/* Only so many bytes of names are compared, since forged names may be very long. */
#define WORTH_BYTES 256

/* Count the underscores that a name begins with: of names of one symbol, those with
 * fewer are better. */
static size_t
leading_underscores(const char *name)
{
    size_t count = 0;

    while (count < WORTH_BYTES && name[count] == '_') {
        count++;
    }
    return count;
}

/* Order two symbols at one address: the one with the better name comes later. If
 * nothing else decides that is the longer one, as in perf, so that users of both see
 * the same name. */
static int
compare_worth(const struct sym_entry *left, const struct sym_entry *right)
{
    int order = compare_numbers(left->rank, right->rank);

    if (order == 0) {
        order = compare_numbers(leading_underscores(right->name),
                                leading_underscores(left->name));
    }
    if (order == 0) {
        order = compare_numbers(strnlen(left->name, WORTH_BYTES),
                                strnlen(right->name, WORTH_BYTES));
    }
    return order != 0 ? order : strncmp(right->name, left->name, WORTH_BYTES);
}

/* Order symbols as the sweep needs them: those with a size first, then by start; of
 * those at one address the one that is to cover it last: with the better name, or of
 * two with the same name the one that was added first. */
static int
compare_entries(const void *left, const void *right)
{
    const struct sym_entry *a = left;
    const struct sym_entry *b = right;
    int order = compare_numbers(b->sized, a->sized); /* sized ones first */

    if (order == 0) {
        order = compare_numbers(a->start, b->start);
    }
    if (order == 0) {
        order = compare_worth(a, b);
    }
    return order != 0 ? order : compare_numbers(b->order, a->order);
}

/* sweep - open symbols as a heap, the covering one on top. */
struct sweep {
    const struct sym_entry *entries;
    const struct sym_bound *bounds; /* disjoint */
    size_t bound_count;
    enum sym_overlap overlap;
    uint32_t *heap;
    size_t heap_count;
    uint64_t cursor; /* all below is written */
    struct sym_range *ranges;
    size_t range_count;
};

/* Of the open symbols, the one with the highest priority covers an address. Entries are
 * sorted by their start and then by how good their name is, so the index of one is its
 * priority where the innermost one covers. */
static uint32_t
sweep_priority(const struct sweep *sweep, uint32_t entry)
{
    return sweep->overlap == SYM_OVERLAP_LATEST ? sweep->entries[entry].order : entry;
}

/* Whether the symbol at one position of the heap has a higher priority than that at
 * another. */
static bool
sweep_covers(const struct sweep *sweep, size_t left, size_t right)
{
    return sweep_priority(sweep, sweep->heap[left]) >
           sweep_priority(sweep, sweep->heap[right]);
}

/* --- overlapping symbols --- */

static void
sweep_swap(struct sweep *sweep, size_t left, size_t right)
{
    const uint32_t kept = sweep->heap[left];

    sweep->heap[left] = sweep->heap[right];
    sweep->heap[right] = kept;
}

static void
sweep_push(struct sweep *sweep, uint32_t entry)
{
    size_t at = sweep->heap_count++;

    sweep->heap[at] = entry;
    while (at > 0 && sweep_covers(sweep, at, (at - 1) / 2)) {
        sweep_swap(sweep, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/* Remove the top of the heap. */
static void
sweep_pop(struct sweep *sweep)
{
    size_t at = 0;

    sweep->heap[0] = sweep->heap[--sweep->heap_count];
    for (;;) {
        size_t best = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < sweep->heap_count && sweep_covers(sweep, child, best)) {
                best = child;
            }
        }
        if (best == at) {
            return;
        }
        sweep_swap(sweep, at, best);
        at = best;
    }
}

/* Write a range of an entry, from the cursor to end. */
static void
sweep_write(struct sweep *sweep, uint32_t entry, uint64_t end)
{
    const struct sym_entry *source = &sweep->entries[entry];
    struct sym_range *last =
        sweep->range_count > 0 ? &sweep->ranges[sweep->range_count - 1] : NULL;

    if (last != NULL && last->entry == entry && last->end == sweep->cursor) {
        last->end = end;
    } else {
        sweep->ranges[sweep->range_count++] = (struct sym_range){
            sweep->cursor, end, source->name, NULL, source->origin, source->tag, entry};
    }
    sweep->cursor = end;
}

/* Write the ranges of the open symbols from the cursor to limit, and close those that
 * end before. */
static void
sweep_advance(struct sweep *sweep, uint64_t limit)
{
    while (sweep->heap_count > 0 && sweep->cursor < limit) {
        const uint32_t top = sweep->heap[0];
        const uint64_t end = sweep->entries[top].end;

        if (end <= sweep->cursor) {
            sweep_pop(sweep);
        } else {
            sweep_write(sweep, top, end < limit ? end : limit);
        }
    }
}

/* Write the ranges of all symbols with a size, in order of their starts. */
static void
sweep_sized(struct sweep *sweep, size_t sized_count)
{
    for (size_t i = 0; i < sized_count; i++) {
        sweep_advance(sweep, sweep->entries[i].start);
        sweep->cursor = sweep->entries[i].start;
        sweep_push(sweep, (uint32_t)i);
    }
    sweep_advance(sweep, UINT64_MAX);
}

/* Return the first address after start at which a bound ends or starts. next: in and
 * out, the first bound that may end behind start, which rises from call to call; 0
 * first. */
static uint64_t
next_bound(const struct sweep *sweep, uint64_t start, size_t *next)
{
    while (*next < sweep->bound_count && sweep->bounds[*next].end <= start) {
        (*next)++;
    }
    if (*next == sweep->bound_count) {
        return UINT64_MAX;
    }
    return sweep->bounds[*next].start <= start ? sweep->bounds[*next].end
                                               : sweep->bounds[*next].start;
}

/* Write the ranges of symbols without a size, where no sized one is. Each ends at the
 * next symbol, or at the end of the bound that it is in. */
static void
fill_gaps(struct sweep *sweep, size_t first, size_t count)
{
    const size_t sized_ranges = sweep->range_count;
    size_t next = 0;
    size_t bound = 0;

    for (size_t i = first; i < count; i++) {
        const struct sym_entry *entry = &sweep->entries[i];
        const uint64_t function_end = next_bound(sweep, entry->start, &bound);
        uint64_t end = entry->end < function_end ? entry->end : function_end;

        if (i + 1 < count && sweep->entries[i + 1].start < end) {
            end = sweep->entries[i + 1].start;
        }
        while (next < sized_ranges && sweep->ranges[next].end <= entry->start) {
            next++;
        }
        if (next < sized_ranges && sweep->ranges[next].start < end) {
            end = sweep->ranges[next].start;
        }
        if (end > entry->start) {
            sweep->cursor = entry->start;
            sweep_write(sweep, (uint32_t)i, end);
        }
    }
}

static int
compare_ranges(const void *left, const void *right)
{
    const struct sym_range *a = left;
    const struct sym_range *b = right;

    return compare_numbers(a->start, b->start);
}

/* Return how many entries have a size: they are sorted first. */
static size_t
count_sized(const struct sym_table *table)
{
    size_t count = 0;

    while (count < table->entry_count && table->entries[count].sized) {
        count++;
    }
    return count;
}

/* --- bounds --- */

static int
compare_bounds(const void *left, const void *right)
{
    const struct sym_bound *a = left;
    const struct sym_bound *b = right;
    const int order = compare_numbers(a->start, b->start);

    return order != 0 ? order : compare_numbers(a->end, b->end);
}

/* Sort the bounds and make them disjoint: of two that overlap, the one that starts
 * first keeps what both cover. */
static void
separate_bounds(struct sym_table *table)
{
    uint64_t end = 0;
    size_t kept = 0;

    if (table->bound_count > 0) {
        qsort(table->bounds, table->bound_count, sizeof(*table->bounds),
              compare_bounds);
    }
    for (size_t i = 0; i < table->bound_count; i++) {
        struct sym_bound bound = table->bounds[i];

        bound.start = bound.start > end ? bound.start : end;
        if (bound.start < bound.end) {
            table->bounds[kept++] = bound;
            end = bound.end;
        }
    }
    table->bound_count = kept;
}

/* Write the ranges in order to the array to, and between them a range for each stretch
 * that only a bound covers. Returns how many there are; if to is NULL, they are only
 * counted. */
static size_t
merge_bounds(const struct sym_table *table, struct sym_range *to)
{
    const struct sym_range *const ranges = table->ranges;
    size_t count = 0;
    size_t next = 0;

    for (size_t i = 0; i < table->bound_count; i++) {
        const struct sym_bound *const bound = &table->bounds[i];
        uint64_t at = bound->start;

        while (at < bound->end) {
            const bool any = next < table->range_count;
            const uint64_t end = any && ranges[next].start < bound->end
                                     ? ranges[next].start
                                     : bound->end;

            if (any && ranges[next].end <= at) {
                if (to != NULL) {
                    to[count] = ranges[next];
                }
                count++;
                next++;
            } else if (at < end) {
                if (to != NULL) {
                    to[count] = (struct sym_range){.start = at,
                                                   .end = end,
                                                   .origin = bound->start,
                                                   /* unlike that of any symbol */
                                                   .entry = (uint32_t)(UINT32_MAX - i)};
                }
                count++;
                at = end;
            } else {
                at = ranges[next].end;
            }
        }
    }
    if (to != NULL && next < table->range_count) {
        memcpy(to + count, ranges + next, (table->range_count - next) * sizeof(*to));
    }
    return count + table->range_count - next;
}

/* Add what only bounds cover to the ranges. If memory is too little, they are left out:
 * names stay. */
static void
add_bounds(struct sym_table *table)
{
    const size_t count = merge_bounds(table, /* to */ NULL);
    const size_t more = count - table->range_count;
    struct sym_range *merged = NULL;

    if (more > 0 && sym_table_take(table, more * sizeof(*merged))) {
        merged = calloc(count, sizeof(*merged));
    }
    if (merged != NULL) {
        table->range_count = merge_bounds(table, merged);
        free(table->ranges);
        table->ranges = merged;
    }
}

/* --- the table --- */

/* Free what only building the table needs. */
static void
give_back_unused(struct sym_table *table)
{
    struct sym_range *smaller;

    free(table->entries);
    table->entries = NULL;
    table->entry_count = table->entry_room = 0;
    free(table->bounds);
    table->bounds = NULL;
    table->bound_count = table->bound_room = 0;
    smaller = realloc(table->ranges, (table->range_count + 1) * sizeof(*smaller));
    if (smaller != NULL) {
        table->ranges = smaller;
    }
}

#ifndef NDEBUG
/* Assert that the ranges are what table.h promises after sym_table_build. */
static bool
assert_ranges_state(const struct sym_table *table)
{
    for (size_t i = 0; i < table->range_count; i++) {
        const struct sym_range *const range = &table->ranges[i];

        assert(range->start < range->end);
        assert(i == 0 || table->ranges[i - 1].end <= range->start);
    }
    return true;
}
#endif

bool
sym_table_build(struct sym_table *table, enum sym_overlap overlap)
{
    const size_t count = table->entry_count;
    struct sweep sweep = {0};
    size_t sized_count;

    sweep.heap = calloc(count + 1, sizeof(*sweep.heap));
    sweep.ranges = calloc(2 * count + 1, sizeof(*sweep.ranges));
    if (sweep.heap == NULL || sweep.ranges == NULL) {
        free(sweep.heap);
        free(sweep.ranges);
        return false;
    }

    if (count > 0) {
        qsort(table->entries, count, sizeof(*table->entries), compare_entries);
    }
    sized_count = count_sized(table);
    separate_bounds(table);
    sweep.entries = table->entries;
    sweep.bounds = table->bounds;
    sweep.bound_count = table->bound_count;
    sweep.overlap = overlap;
    sweep_sized(&sweep, sized_count);
    fill_gaps(&sweep, sized_count, count);
    /* fill_gaps wrote its ranges behind those of the symbols with a size. */
    qsort(sweep.ranges, sweep.range_count, sizeof(*sweep.ranges), compare_ranges);
    free(sweep.heap);

    table->ranges = sweep.ranges;
    table->range_count = sweep.range_count;
    assert(table->range_count <= 2 * count);
    add_bounds(table);
    assert(assert_ranges_state(table));
    give_back_unused(table);
    return true;
}

size_t
sym_count_below(const void *items, size_t count, size_t item_bytes, uint64_t key)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        uint64_t number;

        memcpy(&number, (const char *)items + middle * item_bytes, sizeof(number));
        if (number < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct sym_range *
sym_table_find_before(const struct sym_table *table, uint64_t end)
{
    const size_t below =
        sym_count_below(table->ranges, table->range_count, sizeof(*table->ranges), end);

    return below == 0 ? NULL : &table->ranges[below - 1];
}

struct sym_range *
sym_table_find(const struct sym_table *table, uint64_t address)
{
    struct sym_range *const range =
        address == UINT64_MAX ? NULL : sym_table_find_before(table, address + 1);

    return range != NULL && range->end > address ? range : NULL;
}

/* --- names that are shown --- */

size_t
sym_shown_length(const char *name, uint32_t tag)
{
    const char *end = tag == SYM_TAG_VERSIONED ? strrchr(name, '@') : NULL;

    if (end == NULL || end == name) {
        return strlen(name);
    }
    /* Of "NAME@@VERSION", neither sign is shown. */
    return (size_t)(end - name) - (end[-1] == '@' && end - 1 > name);
}

/* Return a name as it is shown, for free(): demangled, and "memcpy" for
 * "memcpy@@GLIBC_2.14". Returns NULL if it is shown unchanged, or memory ran out. */
static char *
name_for_people(const char *name, uint32_t tag)
{
    char *demangled;
    char *cut;

    if (tag != SYM_TAG_VERSIONED) {
        return sym_demangle(name);
    }
    cut = strndup(name, sym_shown_length(name, tag));
    demangled = cut == NULL ? NULL : sym_demangle(cut);
    if (demangled == NULL) {
        return cut;
    }
    free(cut);
    return demangled;
}

/* Return TARGET@plt, with target as it is shown, for free(); NULL: out of memory. */
static char *
name_of_stub(const char *target)
{
    char *shown = name_for_people(target, 0);
    char *name = NULL;

    if (asprintf(&name, "%s@plt", shown != NULL ? shown : target) < 0) {
        name = NULL;
    }
    free(shown);
    return name;
}

bool
sym_range_name(struct sym_range *range, const char **name, const char **system_name)
{
    const bool is_stub = range->tag == SYM_TAG_STUB;

    *name = NULL;
    *system_name = NULL;
    if (range->name == NULL) {
        return false;
    }
    if (range->shown == NULL) {
        range->shown = is_stub ? name_of_stub(range->name)
                               : name_for_people(range->name, range->tag);
    }
    if (range->shown == NULL && is_stub) {
        return false;
    }
    if (range->shown == NULL) {
        range->shown = (char *)(uintptr_t)range->name;
    }
    *name = range->shown;
    *system_name = is_stub ? range->shown : range->name;
    return true;
}

void
sym_table_finish(struct sym_table *table)
{
    for (size_t i = 0; i < table->range_count; i++) {
        if (!table->owns_shown && table->ranges[i].shown != table->ranges[i].name) {
            free(table->ranges[i].shown);
        }
    }
    for (size_t i = 0; i < table->owned_count; i++) {
        free(table->owned[i]);
    }
    free(table->owned);
    free(table->ranges);
    free(table->entries);
    free(table->bounds);
    sym_budget_give(table->budget, table->taken);
    *table = (struct sym_table){.budget = table->budget};
}
