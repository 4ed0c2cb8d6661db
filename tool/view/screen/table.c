/* SPDX-License-Identifier: MIT */
/* table.c - adds looks up by function or image. */
#include "view/screen/table.h"

#include "profile/display.h"
#include "profile/identity.h"
#include "profile/join.h"
#include "profile/stack_ends.h"
#include "view/screen/calls.h"
#include "view/screen/idle.h"

#include <assert.h>
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
    profile_delete(table->seen);
    buffer_finish(&table->texts);
    hash_index_finish(&table->index);
    *table = (struct tui_table){.kind = table->kind};
}

bool
tui_table_aim(struct tui_table *table, const struct tui_target *target)
{
    struct tui_table aimed = {.kind = table->kind, .seen = profile_new()};
    const struct profile_image image = {.path = target->image,
                                        .build_id = target->build_id};
    uint32_t at;
    uint32_t function;

    /* The target may be a row of this table. */
    if (aimed.seen != NULL && profile_add_image(aimed.seen, &image, &at) &&
        profile_add_function(aimed.seen, &target->function, &function)) {
        aimed.target = (struct tui_target){
            .image = aimed.seen->images[at].path,
            .build_id = aimed.seen->images[at].build_id,
            .function = aimed.seen->functions[function],
        };
    }
    tui_table_finish(table);
    *table = aimed;
    return table->target.image != NULL;
}

struct tui_target
tui_table_target(const struct tui_table *table, size_t row)
{
    const struct tui_row *const known = &table->rows[row];
    const struct profile_image *const image = &table->seen->images[known->image];

    return (struct tui_target){
        .image = image->path,
        .build_id = image->build_id,
        .function = table->seen->functions[known->function],
    };
}

static uint64_t
add_hits(uint64_t hits, uint64_t more)
{
    return more > UINT64_MAX - hits ? UINT64_MAX : hits + more;
}

/* Make room for the sums at the first look. Returns false if memory runs out or the
 * sources are others than then. */
static bool
table_begin(struct tui_table *table, const struct profile *recent)
{
    uint32_t process;

    if (table->recent_sums != NULL) {
        return recent->source_count == table->source_count;
    }
    if (table->seen == NULL) {
        table->seen = profile_new();
    }
    if (table->seen == NULL || !profile_add_process(table->seen, "", &process)) {
        return false;
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

/* --- finding the row of a hit --- */

static bool
row_equals(const struct tui_row *row, const struct tui_row *wanted)
{
    return row->function == wanted->function && row->inner == wanted->inner &&
           row->image == wanted->image && row->inlined == wanted->inlined &&
           row->end == wanted->end && row->relation == wanted->relation;
}

/* Add the row to seen, at the same index. */
static bool
add_to_seen(struct tui_table *table, const struct tui_row *row)
{
    struct profile_place place = {
        .image = row->image, .function = row->inner, .address = table->count};
    const struct profile_frame frame = {.function = row->function};

    return (!row->inlined || profile_add_frame(table->seen, &frame, &place.caller)) &&
           profile_row_at(table->seen, &place, /* exact */ false) != NULL;
}

/* Find or add a row. Returns its index, or HASH_INDEX_NONE if memory runs out: nothing
 * is added then, and the next look may add other rows. */
static uint32_t
find_or_add_row(struct tui_table *table, const struct tui_row *wanted)
{
    const uint32_t hash =
        hash_mix(hash_mix(hash_mix(wanted->relation, wanted->function), wanted->image),
                 wanted->inner);
    const uint32_t added = (uint32_t)table->count;
    size_t probe = 0;
    uint32_t found;

    do {
        found = hash_index_find(&table->index, hash, &probe);
        if (found != HASH_INDEX_NONE && row_equals(&table->rows[found], wanted)) {
            return found;
        }
    } while (found != HASH_INDEX_NONE);
    /* A row that is in seen must be added here too: so add_to_seen fails last. */
    if (table->count >= HASH_INDEX_NONE || !table_make_room(table) ||
        !hash_index_reserve(&table->index, 1) || !add_to_seen(table, wanted)) {
        return HASH_INDEX_NONE;
    }
    (void)hash_index_add(&table->index, hash, added);
    table->rows[added] = *wanted;
    /* A function of its own until settle_rows joins it with others. */
    table->rows[added].head = added;
    table->rows[added].next = TUI_NO_ROW;
    table->rows[added].text = SIZE_MAX;
    for (size_t i = 0; i < table->source_count; i++) {
        table->recent[added * table->source_count + i] = 0;
        table->totals[added * table->source_count + i] = 0;
    }
    table->count++;
    return added;
}

/* taking - a look that is being added to a table. */
struct taking {
    struct tui_table *table;
    const struct profile *recent; /* the profile of the look */
    uint32_t *images; /* by index in recent: index in table->seen; UINT32_MAX: none */
    uint32_t *functions;    /* the same */
    struct tui_calls calls; /* of TUI_CALLS */
};

/* Return an array of count times UINT32_MAX; NULL if memory runs out. */
static uint32_t *
unknown_indexes(size_t count)
{
    uint32_t *const indexes = calloc(count + 1, sizeof(*indexes));

    if (indexes != NULL) {
        memset(indexes, 0xff, (count + 1) * sizeof(*indexes));
    }
    return indexes;
}

/* Find or add an image of the look in table->seen. Its addresses are left out, and its
 * build too if rows are images, so that all mappings of a file are one image. Returns
 * false if memory runs out. */
static bool
take_image(struct taking *taking, uint32_t image, uint32_t *index)
{
    const struct profile_image *const known = &taking->recent->images[image];
    const struct profile_image added = {
        .path = known->path,
        .build_id = tui_rows_are_functions(taking->table->kind) ? known->build_id : "",
    };

    if (taking->images[image] == UINT32_MAX &&
        !profile_add_image(taking->table->seen, &added, &taking->images[image])) {
        taking->images[image] = UINT32_MAX;
        return false;
    }
    *index = taking->images[image];
    return true;
}

/* In a table of processes a row's image stands for its process: find or add one whose
 * path is the process's name. Returns false if memory runs out. */
static bool
take_process(struct taking *taking, uint32_t process, uint32_t *index)
{
    const struct profile_image added = {.path = taking->recent->processes[process],
                                        .build_id = ""};

    return profile_add_image(taking->table->seen, &added, index);
}

/* Find or add a function of the look in table->seen. Returns false if memory runs out.
 */
static bool
take_function(struct taking *taking, uint32_t function, uint32_t *index)
{
    if (taking->functions[function] == UINT32_MAX &&
        !profile_add_function(taking->table->seen, &taking->recent->functions[function],
                              &taking->functions[function])) {
        taking->functions[function] = UINT32_MAX;
        return false;
    }
    *index = taking->functions[function];
    return true;
}

/* Find the key of the row that a row of a profile is added to. Returns false if memory
 * runs out. */
static bool
find_key(struct taking *taking, const struct profile_row *row, struct tui_row *key)
{
    const enum tui_rows kind = taking->table->kind;

    *key = (struct tui_row){.image = 0};
    if (kind == TUI_PROCESSES) {
        return take_process(taking, row->process, &key->image);
    }
    if (!take_image(taking, row->image, &key->image)) {
        return false;
    }
    if (!tui_rows_are_functions(kind)) {
        return true;
    }
    if (!take_function(taking, profile_outer_function(taking->recent, row),
                       &key->function)) {
        return false;
    }
    key->inner = key->function;
    key->inlined = kind == TUI_INLINED && row->caller != 0;
    return !key->inlined || take_function(taking, row->function, &key->inner);
}

/* Add hits, one number for each source, to the row at an index and to the sums; but not
 * those of callees or the target itself to the sums, which have them from callers. */
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
    }
    for (size_t i = 0; table->rows[at].relation == TUI_CALLER && i < sources; i++) {
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

/* Add the hits outside of all rows to the sums, since shares are shares of all hits.
 * The look has their number since the start, of which only the increase is added. */
static void
table_add_outside(struct tui_table *table, const struct profile *recent)
{
    for (size_t i = 0; i < table->source_count; i++) {
        const uint64_t outside = profile_outside(recent, &recent->sources[i]);
        const uint64_t more =
            outside > table->outside[i] ? outside - table->outside[i] : 0;

        table->outside[i] = outside;
        table->recent_sums[i] = add_hits(table->recent_sums[i], more);
        table->total_sums[i] = add_hits(table->total_sums[i], more);
    }
}

/* Add hits to the row of a key. Returns false if memory runs out. */
static bool
add_to_row(struct tui_table *table, const struct tui_row *key, const uint64_t *hits)
{
    const uint32_t at = find_or_add_row(table, key);

    if (at == HASH_INDEX_NONE) {
        return false;
    }
    table_add(table, at, hits);
    return true;
}

/* Make the key of an end of stacks, which has the place of the outermost caller.
 * Returns false if memory runs out. */
static bool
find_end_key(struct taking *taking, const char *end, struct tui_row *key)
{
    const struct profile_image nowhere = {.path = "", .build_id = ""};
    const struct profile_function named = {
        .name = profile_end_is_shown(end) ? end : "[no caller]",
        .system_name = "",
        .file = "",
    };

    key->end = true;
    return profile_add_image(taking->table->seen, &nowhere, &key->image) &&
           profile_add_function(taking->table->seen, &named, &key->function);
}

/* Add the hits of a row to a caller or a callee. Returns false if memory runs out. */
static bool
add_related(struct taking *taking, const struct tui_related *related,
            enum tui_relation relation, const uint64_t *hits)
{
    struct tui_row key = {.relation = (uint8_t)relation};
    const bool found =
        related->end != NULL
            ? find_end_key(taking, related->end, &key)
            : take_image(taking, related->image, &key.image) &&
                  take_function(taking, related->function, &key.function);

    key.inner = key.function;
    return found && add_to_row(taking->table, &key, hits);
}

/* Add the hits of a row to the caller and the callee of the target, if that is on the
 * row's stack. Returns false if memory runs out. */
static bool
take_calls(struct taking *taking, const struct profile_row *row)
{
    const struct tui_calls *const calls = &taking->calls;
    struct tui_related caller, callee;

    if (row->stack == 0) {
        return true;
    }
    caller = tui_calls_related(calls, REPORT_CALLERS, row);
    if (caller.found == RELATION_NONE) {
        return true;
    }
    callee = tui_calls_related(calls, REPORT_CALLEES, row);
    return add_related(taking, &caller, TUI_CALLER, row->hits) &&
           add_related(taking, &callee,
                       callee.found == RELATION_ITSELF ? TUI_ITSELF : TUI_CALLEE,
                       row->hits);
}

/* Add a row of a look. Returns false if memory runs out. */
static bool
take_row(struct taking *taking, const struct profile_row *row)
{
    struct tui_row key;

    if (tui_is_idle(taking->recent, row)) {
        table_add_idle(taking->table, row->hits);
        return true;
    }
    if (taking->table->kind == TUI_CALLS) {
        return take_calls(taking, row);
    }
    return find_key(taking, row, &key) && add_to_row(taking->table, &key, row->hits);
}

/* Add the rows of a look. Returns false if memory runs out. */
static bool
take_rows(struct taking *taking)
{
    struct tui_table *const table = taking->table;

    if (table->kind == TUI_CALLS &&
        !tui_calls_find(&taking->calls, taking->recent, &table->target)) {
        return false;
    }
    for (size_t i = 0; i < taking->recent->row_count; i++) {
        if (!take_row(taking, &taking->recent->rows[i])) {
            return false;
        }
    }
    return true;
}

/* --- which rows are the same function, and how they read --- */

/* Whether rows with these identities are one function, or end, of one relation. */
static bool
is_same_function(const struct tui_table *table, const struct identities *identities,
                 uint32_t a, uint32_t b)
{
    return table->rows[a].relation == table->rows[b].relation &&
           table->rows[a].end == table->rows[b].end &&
           identities->outer[a] == identities->outer[b] &&
           identities->inner[a] == identities->inner[b];
}

/* Set head and next of all rows. Returns false if memory runs out. */
static bool
join_rows(struct tui_table *table, const struct identities *identities)
{
    struct hash_index heads = {0};
    bool done = true;

    table->head_count = 0;
    for (uint32_t i = 0; done && i < table->count; i++) {
        struct tui_row *const row = &table->rows[i];
        const uint32_t hash = hash_mix(hash_mix(row->relation, identities->outer[i]),
                                       identities->inner[i]);
        size_t probe = 0;
        uint32_t at;

        while ((at = hash_index_find(&heads, hash, &probe)) != HASH_INDEX_NONE &&
               !is_same_function(table, identities, at, i)) {
        }
        row->head = at != HASH_INDEX_NONE ? at : i;
        row->next = TUI_NO_ROW;
        if (at != HASH_INDEX_NONE) {
            row->next = table->rows[at].next;
            table->rows[at].next = i;
        } else {
            table->head_count++;
            done = hash_index_add(&heads, hash, i);
        }
    }
    hash_index_finish(&heads);
    return done;
}

/* List the names of head rows: of their outer functions, or with inlined, of the
 * inlined functions of those that have one. Returns the number of names. */
static size_t
name_heads(const struct tui_table *table, const struct identities *identities,
           bool inlined, struct display_name *names)
{
    const struct profile *const seen = table->seen;
    size_t count = 0;

    for (size_t i = 0; i < table->count; i++) {
        const struct tui_row *const row = &table->rows[i];

        if (row->head == i && (!inlined || row->inlined)) {
            names[count++] = (struct display_name){
                .function = &seen->functions[inlined ? row->inner : row->function],
                .image = &seen->images[row->image],
                .identity = inlined ? identities->inner[i] : identities->outer[i],
                .detail = DISPLAY_SHORT,
            };
        }
    }
    return count;
}

static void
put_name(const struct display_name *name, struct buffer *texts)
{
    display_function(name->function, name->image, name->detail, texts);
}

/* Make the text of each head. Both lists are in the order of heads; inlined has only
 * those of heads with an inlined function. */
static void
put_texts(struct tui_table *table, const struct display_name *outer,
          const struct display_name *inlined)
{
    buffer_finish(&table->texts);
    for (size_t i = 0; i < table->count; i++) {
        struct tui_row *const row = &table->rows[i];

        if (row->head != i) {
            continue;
        }
        row->text = table->texts.size;
        if (row->inlined) {
            put_name(inlined++, &table->texts);
            buffer_append_text(&table->texts, " inlined in ");
        }
        put_name(outer++, &table->texts);
        buffer_append_byte(&table->texts, '\0');
    }
}

/* Make the names of all rows, distinguished as in the report. */
static bool
name_rows(struct tui_table *table, const struct identities *identities)
{
    const size_t heads = table->head_count;
    struct display_name *const outer = calloc(heads + 1, sizeof(*outer));
    struct display_name *const inlined = calloc(heads + 1, sizeof(*inlined));
    bool done = false;

    if (outer != NULL && inlined != NULL) {
        (void)name_heads(table, identities, /* inlined */ false, outer);
        done = display_tell_apart(outer, heads) &&
               display_tell_apart(
                   inlined, name_heads(table, identities, /* inlined */ true, inlined));
    }
    if (done) {
        put_texts(table, outer, inlined);
        done = !table->texts.failed;
    }
    free(outer);
    free(inlined);
    return done;
}

/* Find out anew which rows are the same function, and name them, if there are new rows:
 * these can be the function of earlier ones, and read as they do. */
static bool
settle_rows(struct tui_table *table)
{
    struct identities identities = {0};
    bool done;

    assert(table->seen->row_count == table->count);
    if (!tui_rows_are_functions(table->kind)) {
        table->head_count = table->count;
        return true;
    }
    if (table->settled == table->count) {
        return true;
    }
    done = identities_find(table->seen, &identities) && join_rows(table, &identities) &&
           name_rows(table, &identities);
    identities_finish(&identities);
    table->settled = done ? table->count : 0;
    return done;
}

bool
tui_table_take(struct tui_table *table, const struct profile *recent)
{
    struct taking taking = {.table = table, .recent = recent};
    bool done;

    if (table->kind == TUI_CALLS && table->target.image == NULL) {
        return true;
    }
    if (!table_begin(table, recent)) {
        return false;
    }
    table->looks++;
    memset(table->recent_sums, 0, table->source_count * sizeof(uint64_t));
    memset(table->idle_recent, 0, table->source_count * sizeof(uint64_t));
    taking.images = unknown_indexes(recent->image_count);
    taking.functions = unknown_indexes(recent->function_count);
    done = taking.images != NULL && taking.functions != NULL && take_rows(&taking);
    if (done && table->kind != TUI_CALLS) {
        table_add_outside(table, recent);
    }
    tui_calls_finish(&taking.calls);
    free(taking.images);
    free(taking.functions);
    return settle_rows(table) && done;
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

void
tui_table_clear_recent(struct tui_table *table)
{
    if (table->looks > 0) {
        table->looks++;
        memset(table->recent_sums, 0, table->source_count * sizeof(uint64_t));
        memset(table->idle_recent, 0, table->source_count * sizeof(uint64_t));
    }
}

bool
tui_table_is_head(const struct tui_table *table, size_t row)
{
    return table->rows[row].head == row;
}

bool
tui_table_is_end(const struct tui_table *table, size_t row)
{
    return table->rows[row].end;
}

static uint64_t
own_recent(const struct tui_table *table, size_t row, size_t source)
{
    return table->rows[row].look == table->looks
               ? table->recent[row * table->source_count + source]
               : 0;
}

uint64_t
tui_table_recent(const struct tui_table *table, size_t row, size_t source)
{
    uint64_t sum = 0;

    for (; row != TUI_NO_ROW; row = table->rows[row].next) {
        sum = add_hits(sum, own_recent(table, row, source));
    }
    return sum;
}

uint64_t
tui_table_total(const struct tui_table *table, size_t row, size_t source)
{
    uint64_t sum = 0;

    for (; row != TUI_NO_ROW; row = table->rows[row].next) {
        sum = add_hits(sum, table->totals[row * table->source_count + source]);
    }
    return sum;
}

const char *
tui_table_name(const struct tui_table *table, size_t row)
{
    const size_t text = table->rows[row].text;

    if (!tui_rows_are_functions(table->kind)) {
        return NULL;
    }
    return text < table->texts.size ? (const char *)table->texts.data + text : "";
}

const char *
tui_table_image(const struct tui_table *table, size_t row)
{
    return table->seen->images[table->rows[row].image].path;
}

const char *
tui_table_full_name(const struct tui_table *table, size_t row)
{
    return table->seen->functions[table->rows[row].inner].name;
}
