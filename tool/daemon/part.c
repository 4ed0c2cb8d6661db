/* SPDX-License-Identifier: MIT */
/* part.c - adds looks up by a merger; where memory runs out, their hits are lost. */
#include "daemon/part.h"

#include "profile/merge.h"

#include <assert.h>
#include <stdlib.h>

/* Return the taken hits of all sources of a look. */
static uint64_t
taken_hits(const struct profile *look)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < look->source_count; i++) {
        hits += look->sources[i].taken;
    }
    return hits;
}

/* Count the hits of the part as lost, and empty it. */
static void
drop_hits(struct part *part)
{
    profile_merger_delete(part->merger);
    part->merger = NULL;
    part->lost += part->hits;
    part->hits = 0;
}

void
part_add(struct part *part, struct profile *look)
{
    struct pprof_error error;

    assert(part->merger != NULL || part->hits == 0);
    part->hits += taken_hits(look);
    if (part->merger == NULL) {
        part->merger = profile_merger_new();
    }
    if (part->merger == NULL) {
        profile_delete(look);
        drop_hits(part);
    } else if (!profile_merger_add(part->merger, look, &error)) {
        drop_hits(part);
    }
}

struct profile *
part_take(struct part *part)
{
    struct pprof_error error;
    struct profile *sum = NULL;

    if (part->merger != NULL) {
        sum = profile_merger_take(part->merger, &error);
    }
    if (sum != NULL) {
        part->hits = 0;
    }
    drop_hits(part);
    assert(part->merger == NULL && part->hits == 0);
    return sum;
}

struct profile *
part_copy_look(const struct profile *look)
{
    struct pprof_error error;
    struct profile *copy = NULL;
    void *bytes;
    size_t size;

    if (pprof_encode(look, &bytes, &size)) {
        copy = pprof_decode(bytes, size, &error);
        free(bytes);
    }
    return copy;
}
