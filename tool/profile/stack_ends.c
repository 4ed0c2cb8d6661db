/* SPDX-License-Identifier: MIT */
/* stack_ends.c - how the stacks of a profile end. */
#include "profile/stack_ends.h"

#include "base/array.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ENDS_LISTED = 6 }; /* each image may have an end of its own */

const char *
profile_end_of(const struct profile *profile, uint32_t stack)
{
    assert(stack != 0);
    while (profile->calls[stack].end == NULL) {
        assert(profile->calls[stack].caller < stack);
        stack = profile->calls[stack].caller;
    }
    return profile->calls[stack].end;
}

bool
profile_end_is_shown(const char *end)
{
    return end[0] == '[';
}

/* Ends of whole stacks first, then those with more hits. */
static int
compare_ends(const void *left, const void *right)
{
    const struct stack_end_hits *const a = left;
    const struct stack_end_hits *const b = right;
    const bool a_shown = profile_end_is_shown(a->name);
    const bool b_shown = profile_end_is_shown(b->name);

    if (a_shown != b_shown) {
        return a_shown ? 1 : -1;
    }
    if (a->hits != b->hits) {
        return a->hits > b->hits ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

/* List "no stack" and all ends, without hits, and set which of these each call has.
 * Returns false if memory runs out. */
static bool
list_all_ends(const struct profile *profile, struct stack_ends *ends, uint32_t *end_of)
{
    size_t room = 0;

    for (uint32_t i = 0; i < profile->call_count; i++) {
        const struct profile_call *const call = &profile->calls[i];

        if (i > 0 && call->end == NULL) {
            end_of[i] = end_of[call->caller]; /* which is before it */
            continue;
        }
        if (!array_reserve((void **)&ends->list, ends->count, &room,
                           sizeof(*ends->list), UINT32_MAX)) {
            return false;
        }
        end_of[i] = (uint32_t)ends->count;
        ends->list[ends->count++] =
            (struct stack_end_hits){i > 0 ? call->end : PROFILE_STACK_NONE, 0};
    }
    return true;
}

/* Leave the ends that have hits, in order. */
static void
keep_ends_with_hits(struct stack_ends *ends)
{
    const size_t count = ends->count;

    ends->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct stack_end_hits end = ends->list[i];

        if (end.hits > 0) {
            ends->list[ends->count++] = end;
            ends->hits += end.hits;
            ends->unknown += profile_end_is_shown(end.name) ? end.hits : 0;
        }
    }
    qsort(ends->list, ends->count, sizeof(*ends->list), compare_ends);
}

bool
stack_ends_find(const struct profile *profile, size_t source, struct stack_ends *ends)
{
    uint32_t *const end_of = malloc(profile->call_count * sizeof(*end_of));
    bool done;

    *ends = (struct stack_ends){0};
    done = end_of != NULL && list_all_ends(profile, ends, end_of);
    for (size_t i = 0; done && i < profile->row_count; i++) {
        const struct profile_row *const row = &profile->rows[i];

        ends->list[end_of[row->stack]].hits += row->hits[source];
    }
    if (done) {
        keep_ends_with_hits(ends);
    }
    free(end_of);
    return done;
}

void
stack_ends_finish(struct stack_ends *ends)
{
    free(ends->list);
    *ends = (struct stack_ends){0};
}

void
stack_ends_put_share(struct buffer *line, uint64_t hits, uint64_t all)
{
    const double percent = 100 * (double)hits / (double)all;

    if (percent < 0.05) {
        buffer_append_text(line, "<0.1% ");
    } else {
        buffer_print(line, "%.1f%% ", percent);
    }
}

/* Append a share, and the name of its end without brackets. */
static void
put_end(struct buffer *line, uint64_t hits, uint64_t all, const char *name)
{
    const size_t length = strlen(name);
    struct buffer words = {0};

    buffer_append(&words, name, length);
    if (profile_end_is_shown(name) && length > 2 && name[length - 1] == ']') {
        words.size = 0;
        buffer_append(&words, name + 1, length - 2);
    }
    stack_ends_put_share(line, hits, all);
    if (buffer_text(&words) != NULL) {
        text_escape(line, buffer_text(&words));
    } else {
        line->failed = true;
    }
    buffer_finish(&words);
}

/* Append a number with commas between thousands. */
static void
put_number(struct buffer *line, uint64_t number)
{
    if (number >= 1000) {
        put_number(line, number / 1000);
        buffer_print(line, ",%03" PRIu64, number % 1000);
    } else {
        buffer_print(line, "%" PRIu64, number);
    }
}

void
stack_ends_put_contexts(struct buffer *line, uint64_t contexts, uint64_t contexts_max)
{
    buffer_append_text(line, " (");
    put_number(line, contexts);
    buffer_append_text(line, " of ");
    put_number(line, contexts_max);
    buffer_append_text(line, " contexts)");
}

void
stack_ends_put(const struct stack_ends *ends, const struct profile_source *source,
               struct buffer *line)
{
    uint64_t others = ends->hits;

    if (ends->count == 0) {
        buffer_append_text(line, "none");
    }
    for (size_t i = 0; i < ends->count && i < ENDS_LISTED; i++) {
        buffer_append_text(line, i > 0 ? ", " : "");
        put_end(line, ends->list[i].hits, ends->hits, ends->list[i].name);
        others -= ends->list[i].hits;
    }
    if (ends->count > ENDS_LISTED) {
        buffer_append_text(line, ", ");
        put_end(line, others, ends->hits, "otherwise");
    }
    if (source->contexts_max != 0) {
        stack_ends_put_contexts(line, source->contexts, source->contexts_max);
    }
}
