/* SPDX-License-Identifier: MIT */
/* overview.c - chooses slots of a round length and a source, and adds up what engines
 * read. */
#include "store/overview.h"
#include "store/engine.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool
store_get_extent(struct store *store, int64_t *first_ns, int64_t *last_ns,
                 struct pprof_error *error)
{
    bool read;

    *first_ns = 0;
    *last_ns = 0;
    read = store->engine->get_extent(store, first_ns, last_ns, error);
    *first_ns = overview_limit_time(*first_ns);
    *last_ns = overview_limit_time(*last_ns);
    return read;
}

/* Set slots of the shortest round length of which OVERVIEW_SLOTS_MAX hold the selected
 * time; the first begins at a multiple of that length. */
static void
set_slots(struct store_overview *overview, const struct store_selection *selection)
{
    static const int64_t lengths_s[] = {1,    5,    10,    30,    60,    300,   600,
                                        1800, 3600, 10800, 21600, 43200, 86400, 604800};
    const int64_t until_ns = selection->until_ns > selection->since_ns
                                 ? selection->until_ns
                                 : selection->since_ns + STORE_SECOND_NS;
    int64_t start_ns;
    size_t i = 0;

    do {
        overview->slot_ns = i < sizeof(lengths_s) / sizeof(lengths_s[0])
                                ? lengths_s[i] * STORE_SECOND_NS
                                : overview->slot_ns * 2;
        i++;
        start_ns = selection->since_ns - selection->since_ns % overview->slot_ns;
    } while ((until_ns - 1 - start_ns) / overview->slot_ns >= OVERVIEW_SLOTS_MAX);
    overview->start_ns = start_ns;
    overview->slot_count = (size_t)((until_ns - 1 - start_ns) / overview->slot_ns) + 1;
    assert(overview->slot_count <= OVERVIEW_SLOTS_MAX);
}

/* Set the timeline's source: the selected one; or else time, if the store has it; or
 * else the first one. */
static void
choose_source(struct store_overview *overview, const struct store_selection *selection)
{
    const struct string_set *const sources = &overview->sources;

    overview->source = selection->source;
    for (size_t i = 0; i < sources->count && overview->source == NULL; i++) {
        overview->source =
            strcmp(sources->texts[i], "time") == 0 ? sources->texts[i] : NULL;
    }
    if (overview->source == NULL) {
        overview->source = sources->count > 0 ? sources->texts[0] : "";
    }
}

bool
store_get_overview(struct store *store, const struct store_selection *selection,
                   struct store_overview *overview, struct pprof_error *error)
{
    *overview = (struct store_overview){0};
    set_slots(overview, selection);
    if (!store->engine->get_names(store, selection, overview, error)) {
        return false;
    }
    choose_source(overview, selection);
    return store->engine->get_timeline(store, selection, overview, error);
}

void
store_overview_finish(struct store_overview *overview)
{
    string_set_finish(&overview->hosts);
    string_set_finish(&overview->units);
    string_set_finish(&overview->builds);
    string_set_finish(&overview->labels);
    string_set_finish(&overview->sources);
    string_set_finish(&overview->images);
    string_set_finish(&overview->intervals);
}

bool
overview_add(struct string_set *set, const char *name)
{
    return name[0] == '\0' || set->count >= OVERVIEW_NAMES_MAX ||
           string_set_add(set, name, strlen(name)) != HASH_INDEX_NONE;
}

void
overview_add_hits(struct store_overview *overview, uint64_t slot, uint64_t interval,
                  uint64_t hits)
{
    double scaled; /* hits, at the shortest interval */

    if (overview->interval == 0) {
        overview->interval = interval;
    }
    if (slot >= overview->slot_count || hits > STORE_FIGURE_MAX) {
        return;
    }
    scaled = overview->interval > 0 ? (double)interval / (double)overview->interval : 1;
    scaled *= (double)hits;
    overview->hits[slot] +=
        scaled < (double)STORE_FIGURE_MAX ? (uint64_t)(scaled + 0.5) : STORE_FIGURE_MAX;
}

bool
overview_add_labels(struct store_overview *overview, const char *lines)
{
    bool added = true;

    while (*lines != '\0' && added) {
        const size_t size = strcspn(lines, "\n");

        added = size == 0 || overview->labels.count >= OVERVIEW_NAMES_MAX ||
                string_set_add(&overview->labels, lines, size) != HASH_INDEX_NONE;
        lines += size + (lines[size] == '\n');
    }
    return added;
}
