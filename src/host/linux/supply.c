/* SPDX-License-Identifier: MIT */
/*
 * host/linux/supply.c - memory of page sources, and when it may go back to them.
 *
 * A source uses again what it gets back, for somebody else's counters. So what anybody
 * but the source can still see must not go back: the caller may have moved a page
 * elsewhere, or there was no memory to take it from its place. Such a supply is kept,
 * and looked at again when others are taken. The kernel tells in /proc/self/pagemap
 * whether a page is mapped more than once; where it does not, a kept supply stays until
 * its source goes.
 *
 * Why: decisions/0013.
 *
 * Invariant, with the mutex of arena.c held: used has the supplies with references,
 * kept those without; of the latter each has a source.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the word that pagemap has for each page. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_ALONE (UINT64_C(1) << 56)

enum { PAGES_AT_ONCE = 256, KEPT_AT_ONCE = 4 };

TAILQ_HEAD(supply_list, host_supply);

static struct supply_list used = TAILQ_HEAD_INITIALIZER(used);
static struct supply_list kept = TAILQ_HEAD_INITIALIZER(kept);

static bool
words_are_alone(const uint64_t *words, size_t count)
{
    const uint64_t wanted = PAGE_PRESENT | PAGE_ALONE;

    for (size_t i = 0; i < count; i++) {
        if ((words[i] & wanted) != wanted) {
            return false;
        }
    }
    return true;
}

/* Has nobody but the source a mapping of these pages? */
static bool
pages_are_alone(int pagemap, const char *memory, size_t bytes)
{
    const size_t page_bytes = host_page_bytes();
    size_t page = (uintptr_t)memory / page_bytes;
    size_t left = (bytes + (page_bytes - 1)) / page_bytes;
    uint64_t words[PAGES_AT_ONCE];

    while (left > 0) {
        const size_t count = left < PAGES_AT_ONCE ? left : PAGES_AT_ONCE;
        const size_t word_bytes = count * sizeof(words[0]);
        const off_t at = (off_t)(page * sizeof(words[0]));

        if (pread(pagemap, words, word_bytes, at) != (ssize_t)word_bytes ||
            !words_are_alone(words, count)) {
            return false;
        }
        page += count;
        left -= count;
    }
    return true;
}

/* Those at the front that are alone by now go back; others have to wait for their turn
 * again. */
static void
kept_look_again(void)
{
    int pagemap;

    if (TAILQ_EMPTY(&kept)) {
        return;
    }
    pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (int i = 0; pagemap >= 0 && i < KEPT_AT_ONCE && !TAILQ_EMPTY(&kept); i++) {
        struct host_supply *const supply = TAILQ_FIRST(&kept);

        TAILQ_REMOVE(&kept, supply, links);
        if (pages_are_alone(pagemap, supply->memory, supply->bytes)) {
            supply->source->give(supply->source->context, supply->memory,
                                 supply->bytes);
            free(supply);
        } else {
            TAILQ_INSERT_TAIL(&kept, supply, links);
        }
    }
    if (pagemap >= 0) {
        close(pagemap);
    }
}

int
host_supply_take(const struct host_page_source *source, size_t bytes,
                 struct host_supply **supply)
{
    struct host_supply *const made = malloc(sizeof(*made));
    void *memory;
    int error;

    if (made == NULL) {
        return -ENOMEM;
    }
    kept_look_again();
    error = source->take(source->context, bytes, &memory);
    if (error != 0) {
        free(made);
        return error;
    }
    *made = (struct host_supply){
        .source = source, .memory = memory, .bytes = bytes, .references = 1};
    TAILQ_INSERT_TAIL(&used, made, links);
    *supply = made;
    return 0;
}

void
host_supply_release(struct host_supply *supply)
{
    if (supply == NULL) {
        return;
    }
    supply->references--;
    if (supply->references > 0) {
        return;
    }
    TAILQ_REMOVE(&used, supply, links);
    if (supply->source != NULL && supply->seen) {
        TAILQ_INSERT_HEAD(&kept, supply, links);
        return;
    }
    if (supply->source != NULL) {
        supply->source->give(supply->source->context, supply->memory, supply->bytes);
    }
    free(supply);
}

int
host_supply_map(const struct host_supply *supply, const char *supplied, size_t bytes,
                char **mapping)
{
    void *made;
    const int error =
        supply->source->map(supply->source->context, supplied, bytes, &made);

    if (error == 0) {
        *mapping = made;
    }
    return error;
}

void
host_supplies_disown(const struct host_page_source *source)
{
    struct host_supply *supply = TAILQ_FIRST(&kept);

    while (supply != NULL) {
        struct host_supply *const next = TAILQ_NEXT(supply, links);

        if (source == NULL || supply->source == source) {
            TAILQ_REMOVE(&kept, supply, links);
            free(supply);
        }
        supply = next;
    }
    TAILQ_FOREACH(supply, &used, links)
    {
        if (source == NULL || supply->source == source) {
            supply->source = NULL;
        }
    }
}
