/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - the rows of a profile as stacks.
 *
 * Invariant: a node's parent comes before it. Equal frames are one, and so are nodes
 * with equal parent and frame, so equal stacks are one node.
 */
#include "view/export/stacks.h"

#include "profile/stack_ends.h"
#include "view/export/function_names.h"
#include "view/export/names.h"

#include "base/array.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define NONE HASH_INDEX_NONE

/* builder - what is needed while stacks are built. Tables have the frame of each entry
 * of a table of the profile, by index; NONE until it is needed. */
struct builder {
    struct export_stacks *stacks;
    const struct profile *profile;
    bool places; /* frames get the source file and line of their functions */
    struct identities identities;
    struct display_name *names; /* by number of a function with machine code */
    enum display_detail
        *details; /* by function: that of its name where it was inlined */
    uint32_t *of_process, *of_image, *of_function;
    uint32_t *of_outer;  /* by number of a function with machine code */
    bool *with_image;    /* by that number: another one has the same name */
    struct buffer text;  /* one name */
    struct buffer chain; /* frames of one place, innermost first; uint32_t */
    struct buffer path;  /* calls of one stack, innermost first; uint32_t */
};

/* --- frames and nodes --- */

/* Find or add a frame. Returns NONE if memory runs out. */
static uint32_t
find_frame(struct export_stacks *stacks, const struct export_frame *wanted)
{
    const uint32_t hash = hash_mix(hash_mix(hash_mix(0, wanted->name), wanted->line),
                                   (uint64_t)(uintptr_t)wanted->file);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&stacks->by_frame, hash, &probe)) != NONE) {
        const struct export_frame *frame = &stacks->frames[at];

        if (frame->name == wanted->name && frame->line == wanted->line &&
            frame->file == wanted->file) {
            return at;
        }
    }
    if (!array_reserve((void **)&stacks->frames, stacks->frame_count,
                       &stacks->frame_capacity, sizeof(*wanted), NONE) ||
        !hash_index_add(&stacks->by_frame, hash, (uint32_t)stacks->frame_count)) {
        return NONE;
    }
    stacks->frames[stacks->frame_count] = *wanted;
    return (uint32_t)stacks->frame_count++;
}

/* Find or add the child of parent with a frame. Returns NONE if memory runs out. */
static uint32_t
find_node(struct export_stacks *stacks, uint32_t parent, uint32_t frame)
{
    const uint32_t hash = hash_mix(0, (uint64_t)parent << 32 | frame);
    size_t probe = 0;
    uint32_t at;

    while ((at = hash_index_find(&stacks->by_node, hash, &probe)) != NONE) {
        if (stacks->nodes[at].parent == parent && stacks->nodes[at].frame == frame) {
            return at;
        }
    }
    if (!array_reserve((void **)&stacks->nodes, stacks->node_count,
                       &stacks->node_capacity, sizeof(*stacks->nodes), NONE) ||
        !hash_index_add(&stacks->by_node, hash, (uint32_t)stacks->node_count)) {
        return NONE;
    }
    stacks->nodes[stacks->node_count] =
        (struct export_node){.parent = parent, .frame = frame};
    return (uint32_t)stacks->node_count++;
}

/* --- chains of rows --- */

/* Find or add the frame with the name in builder->text. Returns NONE if memory runs
 * out. */
static uint32_t
frame_of_text(struct builder *builder, const char *file, uint32_t line)
{
    const char *text = buffer_text(&builder->text);
    struct export_frame frame = {.line = line, .file = file};

    if (text == NULL) {
        return NONE;
    }
    frame.name = string_set_add(&builder->stacks->names, text, builder->text.size);
    return frame.name != NONE ? find_frame(builder->stacks, &frame) : NONE;
}

/* Return the frame called name, which is found once for each entry of a table and kept
 * in *kept. NONE if memory runs out. */
static uint32_t
frame_of_entry(struct builder *builder, uint32_t *kept, const char *name,
               const char *file, uint32_t line)
{
    if (*kept == NONE) {
        builder->text.size = 0;
        text_escape(&builder->text, name[0] != '\0' ? name : EXPORT_UNKNOWN);
        *kept = frame_of_text(builder, file, line);
    }
    return *kept;
}

/* Return the frame of a function, which is found once and kept in *kept. NONE
 * if memory runs out. */
static uint32_t
frame_of(struct builder *builder, uint32_t *kept, const struct display_name *name,
         bool with_image)
{
    const struct profile_function *const function = name->function;

    if (*kept == NONE) {
        builder->text.size = 0;
        display_function(function, name->image, name->detail, &builder->text);
        if (with_image) {
            buffer_append_text(&builder->text, " (");
            display_image(name->image, &builder->text);
            buffer_append_byte(&builder->text, ')');
        }
        *kept = frame_of_text(builder, builder->places ? identity_file(function) : "",
                              builder->places ? function->start_line : 0);
    }
    return *kept;
}

/* Return the frame of a function that was inlined. Its name does not
 * depend on the image. */
static uint32_t
frame_of_inlined(struct builder *builder, uint32_t index)
{
    const struct display_name name = {.function = &builder->profile->functions[index],
                                      .image = &builder->profile->images[0],
                                      .detail = builder->details[index]};

    return frame_of(builder, &builder->of_function[index], &name,
                    /* with_image */ false);
}

/* Return the frame of a function that has the machine code of a row or a call, or of
 * the end of a stack. */
static uint32_t
frame_of_outer(struct builder *builder, uint32_t number)
{
    return frame_of(builder, &builder->of_outer[number], &builder->names[number],
                    builder->with_image[number]);
}

/* Find or add the nodes of builder->chain, outermost first, as descendants of parent.
 * Returns the innermost; NONE if memory runs out. */
static uint32_t
node_of_chain(struct builder *builder, uint32_t parent)
{
    const uint32_t *const chain = (const uint32_t *)(const void *)builder->chain.data;
    uint32_t node = parent;

    for (size_t left = builder->chain.size / sizeof(*chain); node != NONE && left > 0;
         left--) {
        node = chain[left - 1] != NONE
                   ? find_node(builder->stacks, node, chain[left - 1])
                   : NONE;
    }
    return node;
}

/*
 * Set builder->chain to the frames of the functions at a place, innermost first.
 * Returns false if memory ran out.
 *
 *   inlined  index of the frame that function is inlined into, or 0
 *   outer    number of the function that has the machine code
 */
static bool
collect_chain(struct builder *builder, uint32_t function, uint32_t inlined,
              uint32_t outer)
{
    const struct profile_frame *frames = builder->profile->frames;
    uint32_t frame;

    builder->chain.size = 0;
    for (uint32_t at = inlined; at != 0; at = frames[at].caller) {
        frame = frame_of_inlined(builder, function);
        if (frame == NONE) {
            return false;
        }
        buffer_append(&builder->chain, &frame, sizeof(frame));
        function = frames[at].function;
    }
    frame = frame_of_outer(builder, outer);
    buffer_append(&builder->chain, &frame, sizeof(frame));
    return frame != NONE && !builder->chain.failed;
}

/* Find or add the nodes of a call as descendants of parent: the function that has the
 * code, and what was inlined there. Returns the innermost; NONE if memory runs out. */
static uint32_t
node_of_call(struct builder *builder, uint32_t parent, uint32_t index)
{
    const struct profile_call *const call = &builder->profile->calls[index];

    return collect_chain(builder, call->function, call->inlined,
                         builder->identities.calls[index])
               ? node_of_chain(builder, parent)
               : NONE;
}

/* Find or add the nodes of a row's callers, outermost first, as descendants of parent.
 * If the end of the stack is shown, it is the first of them. Returns the innermost;
 * NONE if memory runs out. */
static uint32_t
node_of_callers(struct builder *builder, uint32_t parent, uint32_t stack)
{
    const struct profile_call *const calls = builder->profile->calls;
    struct buffer *const path = &builder->path;
    uint32_t node = parent;

    path->size = 0;
    for (uint32_t at = stack; at != 0; at = calls[at].caller) {
        if (calls[at].end == NULL || profile_end_is_shown(calls[at].end)) {
            buffer_append(path, &at, sizeof(at));
        }
    }
    if (path->failed) {
        return NONE;
    }
    for (size_t left = path->size / sizeof(stack); node != NONE && left > 0; left--) {
        const uint32_t *const innermost = (const uint32_t *)(const void *)path->data;

        node = node_of_call(builder, node, innermost[left - 1]);
    }
    return node;
}

/* Find or add the node of a row's stack. Returns NONE if memory runs out. */
static uint32_t
node_of_row(struct builder *builder, const struct profile_row *row)
{
    struct export_stacks *stacks = builder->stacks;
    const struct profile *profile = builder->profile;
    const uint32_t process = frame_of_entry(builder, &builder->of_process[row->process],
                                            profile->processes[row->process], "", 0);
    uint32_t node = process != NONE ? find_node(stacks, 0, process) : NONE;
    uint32_t image;

    if (node != NONE && row->stack != 0) {
        node = node_of_callers(builder, node, row->stack);
    } else if (node != NONE) {
        image = frame_of_entry(builder, &builder->of_image[row->image],
                               export_image_name(&profile->images[row->image]), "", 0);
        node = image != NONE ? find_node(stacks, node, image) : NONE;
    }
    return node != NONE && collect_chain(builder, row->function, row->caller,
                                         builder->identities.outer[row - profile->rows])
               ? node_of_chain(builder, node)
               : NONE;
}

/* --- the whole profile --- */

/* Return a table of count times NONE, for free(); NULL if memory runs out. */
static uint32_t *
new_table(size_t count)
{
    uint32_t *table = reallocarray(NULL, count + 1, sizeof(*table));

    if (table != NULL) {
        memset(table, 0xff, (count + 1) * sizeof(*table)); /* NONE */
    }
    return table;
}

/* Find the functions that are called as one in another image. Only where there are
 * callers these can be taken for each other: elsewhere the frame outside is the image.
 * Returns false if memory runs out. */
static bool
find_alike(struct builder *builder)
{
    const uint32_t count = builder->identities.count;
    size_t *const starts = calloc(count + 1, sizeof(*starts));
    struct buffer texts = {0};
    bool done = starts != NULL;

    builder->with_image = calloc(count + 1, sizeof(*builder->with_image));
    if (done && builder->with_image != NULL && profile_has_stacks(builder->profile)) {
        for (uint32_t i = 0; i < count; i++) {
            const struct display_name *const name = &builder->names[i];

            starts[i] = texts.size;
            if (name->function != NULL) {
                display_function(name->function, name->image, name->detail, &texts);
            }
            buffer_append_byte(&texts, '\0');
        }
        done = !texts.failed &&
               display_find_alike(&texts, starts, count, builder->with_image);
    }
    free(starts);
    buffer_finish(&texts);
    return done && builder->with_image != NULL;
}

/* Find the node of the stack of each row with hits. Returns false if memory runs
 * out. */
static bool
build(struct builder *builder)
{
    const struct profile *profile = builder->profile;
    struct export_stacks *stacks = builder->stacks;

    builder->of_process = new_table(profile->process_count);
    builder->of_image = new_table(profile->image_count);
    builder->of_function = new_table(profile->function_count);
    builder->of_outer = new_table(builder->identities.count);
    builder->details = calloc(profile->function_count + 1, sizeof(*builder->details));
    stacks->node_of_row = calloc(profile->row_count + 1, sizeof(uint32_t));
    if (builder->of_outer == NULL || builder->details == NULL ||
        !function_names_inlined(profile, builder->details) ||
        builder->of_process == NULL || builder->of_image == NULL ||
        builder->of_function == NULL || stacks->node_of_row == NULL ||
        find_node(stacks, 0, NONE) == NONE) {
        return false;
    }
    for (size_t i = 0; i < profile->row_count; i++) {
        if (export_has_hits(profile, &profile->rows[i])) {
            const uint32_t node = node_of_row(builder, &profile->rows[i]);

            if (node == NONE) {
                return false;
            }
            stacks->node_of_row[i] = node;
        }
    }
    return true;
}

bool
export_stacks_build(struct export_stacks *stacks, const struct profile *profile,
                    bool places)
{
    struct builder builder = {.stacks = stacks, .profile = profile, .places = places};
    bool done = identities_find(profile, &builder.identities);

    if (done) {
        builder.names = function_names_outer(profile, &builder.identities);
        done = builder.names != NULL && find_alike(&builder) && build(&builder);
    }
    identities_finish(&builder.identities);
    free(builder.names);
    free(builder.details);
    free(builder.of_outer);
    free(builder.with_image);
    free(builder.of_process);
    free(builder.of_image);
    free(builder.of_function);
    buffer_finish(&builder.text);
    buffer_finish(&builder.chain);
    buffer_finish(&builder.path);
    hash_index_finish(&stacks->by_frame);
    hash_index_finish(&stacks->by_node);
    return done;
}

void
export_stacks_finish(struct export_stacks *stacks)
{
    string_set_finish(&stacks->names);
    hash_index_finish(&stacks->by_frame);
    hash_index_finish(&stacks->by_node);
    free(stacks->frames);
    free(stacks->nodes);
    free(stacks->node_of_row);
    memset(stacks, 0, sizeof(*stacks));
}

/* --- reading --- */

uint64_t *
export_stacks_hits(const struct export_stacks *stacks, const struct profile *profile,
                   size_t source)
{
    uint64_t *hits = calloc(stacks->node_count, sizeof(*hits));

    /* This cannot overflow: export_write has added up all hits. */
    for (size_t i = 0; hits != NULL && i < profile->row_count; i++) {
        hits[stacks->node_of_row[i]] += profile->rows[i].hits[source];
    }
    return hits;
}

bool
export_stacks_path(const struct export_stacks *stacks, uint32_t node,
                   struct buffer *path)
{
    size_t depth = 0;
    uint32_t *frames;

    for (uint32_t at = node; at != 0; at = stacks->nodes[at].parent) {
        depth++;
    }
    path->size = 0;
    frames = (uint32_t *)(void *)buffer_reserve(path, depth * sizeof(*frames));
    if (frames == NULL) {
        return false;
    }
    path->size = depth * sizeof(*frames);
    for (uint32_t at = node; at != 0; at = stacks->nodes[at].parent) {
        frames[--depth] = stacks->nodes[at].frame;
    }
    return true;
}

const char *
export_stacks_name(const struct export_stacks *stacks, uint32_t frame)
{
    return stacks->names.texts[stacks->frames[frame].name];
}
