/* SPDX-License-Identifier: MIT */
/* table.c - adds looks up by function or image. */
#include "view/screen/table.h"
#include "view/screen/idle.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_AT_FIRST = 256,
    SUM_ARRAYS = 5, /* from recent_sums to outside: one block */
};

void
tui_table_init(struct tui_table *table, enum tui_rows kind)
{
    *table = (struct tui_table){.kind = kind};
}

void
tui_table_finish(struct tui_table *table)
{
    free(table->rows);
    free(table->recent);
    free(table->totals);
    free(table->recent_sums);
    string_set_finish(&table->strings);
    hash_index_finish(&table->index);
    *table = (struct tui_table){.kind = table->kind};
}

static uint64_t
add_hits(uint64_t hits, uint64_t more)
{
    return more > UINT64_MAX - hits ? UINT64_MAX : hits + more;
}

static bool
table_begin(struct tui_table *table, const struct profile *recent)
{
    if (table->recent_sums != NULL) {
        return recent->source_count == table->source_count;
    }
    table->recent_sums =
        calloc(recent->source_count + 1, SUM_ARRAYS * sizeof(uint64_t));
    if (table->recent_sums == NULL) {
        return false;
    }
    table->source_count = recent->source_count;
    table->total_sums = table->recent_sums + table->source_count;
    table->idle_recent = table->total_sums + table->source_count;
    table->idle_totals = table->idle_recent + table->source_count;
    table->outside = table->idle_totals + table->source_count;
    return true;
}

/* realloc frees the old block, so each new one is stored at once. */
static bool
grow_hits(uint64_t **hits, size_t rows, size_t source_count)
{
    size_t items;
    uint64_t *grown;

    if (__builtin_mul_overflow(rows, source_count, &items)) {
        return false;
    }
    grown = reallocarray(*hits, items + 1, sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    *hits = grown;
    return true;
}

static bool
table_make_room(struct tui_table *table)
{
    const size_t capacity = table->capacity == 0 ? ROWS_AT_FIRST : table->capacity * 2;
    struct tui_row *rows;

    if (table->count < table->capacity) {
        return true;
    }
    rows = reallocarray(table->rows, capacity, sizeof(*rows));
    if (rows == NULL) {
        return false;
    }
    table->rows = rows;
    if (!grow_hits(&table->recent, capacity, table->source_count) ||
        !grow_hits(&table->totals, capacity, table->source_count)) {
        return false;
    }
    table->capacity = capacity;
    return true;
}

static bool
row_equals(const struct tui_row *row, const struct tui_row *wanted)
{
    return row->name == wanted->name && row->image == wanted->image &&
           row->address == wanted->address;
}

/* Find or add a row. Returns its index, or HASH_INDEX_NONE if memory runs out. */
static uint32_t
table_row(struct tui_table *table, const struct tui_row *wanted)
{
    const uint32_t hash =
        hash_mix(hash_mix(hash_mix(0, wanted->name), wanted->image), wanted->address);
    const uint32_t added = (uint32_t)table->count;
    size_t probe = 0;
    uint32_t found;

    do {
        found = hash_index_find(&table->index, hash, &probe);
        if (found != HASH_INDEX_NONE && row_equals(&table->rows[found], wanted)) {
            return found;
        }
    } while (found != HASH_INDEX_NONE);
    if (table->count >= HASH_INDEX_NONE || !table_make_room(table) ||
        !hash_index_add(&table->index, hash, added)) {
        return HASH_INDEX_NONE;
    }
    table->rows[added] = *wanted;
    for (size_t i = 0; i < table->source_count; i++) {
        table->recent[added * table->source_count + i] = 0;
        table->totals[added * table->source_count + i] = 0;
    }
    table->count++;
    return added;
}

static uint32_t
table_string(struct tui_table *table, const char *text)
{
    return string_set_add(&table->strings, text, strlen(text));
}

/* Find the key of the row that a row of a profile is added to. Returns false if memory
 * runs out. */
static bool
find_key(struct tui_table *table, const struct profile *recent,
         const struct profile_row *row, struct tui_row *key)
{
    *key = (struct tui_row){.name = TUI_NO_NAME};
    key->image = table_string(table, recent->images[row->image].path);
    if (key->image == HASH_INDEX_NONE || table->kind == TUI_IMAGES) {
        return key->image != HASH_INDEX_NONE;
    }
    if (row->function == 0) {
        const struct profile_image *const image = &recent->images[row->image];

        key->address = row->address;
        key->offset = row->address - image->start + image->offset;
        return true;
    }
    key->name = table_string(table, recent->functions[row->function].name);
    return key->name != HASH_INDEX_NONE;
}

static void
table_add(struct tui_table *table, uint32_t at, const uint64_t *hits)
{
    const size_t sources = table->source_count;
    uint64_t *const recent = &table->recent[at * sources];
    uint64_t *const totals = &table->totals[at * sources];

    if (table->rows[at].look != table->looks) {
        table->rows[at].look = table->looks;
        memset(recent, 0, sources * sizeof(*recent));
    }
    for (size_t i = 0; i < sources; i++) {
        recent[i] = add_hits(recent[i], hits[i]);
        totals[i] = add_hits(totals[i], hits[i]);
        table->recent_sums[i] = add_hits(table->recent_sums[i], hits[i]);
        table->total_sums[i] = add_hits(table->total_sums[i], hits[i]);
    }
}

static void
table_add_idle(struct tui_table *table, const uint64_t *hits)
{
    for (size_t i = 0; i < table->source_count; i++) {
        table->idle_recent[i] = add_hits(table->idle_recent[i], hits[i]);
        table->idle_totals[i] = add_hits(table->idle_totals[i], hits[i]);
    }
}

/* Shares are of all hits, including those in no row. */
static void
table_add_outside(struct tui_table *table, const struct profile *recent)
{
    for (size_t i = 0; i < table->source_count; i++) {
        const uint64_t outside = recent->sources[i].outside;
        const uint64_t more =
            outside > table->outside[i] ? outside - table->outside[i] : 0;

        table->outside[i] = outside;
        table->recent_sums[i] = add_hits(table->recent_sums[i], more);
        table->total_sums[i] = add_hits(table->total_sums[i], more);
    }
}

bool
tui_table_take(struct tui_table *table, const struct profile *recent)
{
    if (!table_begin(table, recent)) {
        return false;
    }
    table->looks++;
    memset(table->recent_sums, 0, table->source_count * sizeof(uint64_t));
    memset(table->idle_recent, 0, table->source_count * sizeof(uint64_t));
    for (size_t i = 0; i < recent->row_count; i++) {
        const struct profile_row *const row = &recent->rows[i];
        struct tui_row key;
        uint32_t at;

        if (tui_is_idle(recent, row)) {
            table_add_idle(table, row->hits);
            continue;
        }
        if (!find_key(table, recent, row, &key)) {
            return false;
        }
        at = table_row(table, &key);
        if (at == HASH_INDEX_NONE) {
            return false;
        }
        table_add(table, at, row->hits);
    }
    table_add_outside(table, recent);
    return true;
}

void
tui_table_clear(struct tui_table *table)
{
    const size_t sources = table->source_count;

    if (table->looks > 0) {
        memset(table->totals, 0, table->count * sources * sizeof(*table->totals));
        memset(table->recent_sums, 0,
               SUM_ARRAYS * sources * sizeof(*table->recent_sums));
    }
}

uint64_t
tui_table_recent(const struct tui_table *table, size_t row, size_t source)
{
    return table->rows[row].look == table->looks
               ? table->recent[row * table->source_count + source]
               : 0;
}

uint64_t
tui_table_total(const struct tui_table *table, size_t row, size_t source)
{
    return table->totals[row * table->source_count + source];
}

const char *
tui_table_name(const struct tui_table *table, size_t row)
{
    const uint32_t name = table->rows[row].name;

    return name == TUI_NO_NAME ? NULL : table->strings.texts[name];
}

const char *
tui_table_image(const struct tui_table *table, size_t row)
{
    return table->strings.texts[table->rows[row].image];
}
