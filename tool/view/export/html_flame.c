/* SPDX-License-Identifier: MIT */
/* html_flame.c - writes the flame graphs of the page. */
#include "view/export/html_flame.h"

#include "base/json.h"
#include "view/export/flames.h"
#include "view/export/html_data.h"

#include <inttypes.h>
#include <stdlib.h>

/* numbering - the functions that are in a tree, by frame: their numbers plus 1. */
struct numbering {
    uint32_t *of_frame;
    size_t count;
};

/* Number the frames that are in a tree, in the order of all frames. */
static bool
number_frames(const struct flames *flames, struct numbering *numbering)
{
    *numbering = (struct numbering){
        .of_frame = calloc(flames->frames.count + 1, sizeof(*numbering->of_frame))};
    if (numbering->of_frame == NULL) {
        return false;
    }
    for (size_t i = 0; i < flames->count; i++) {
        const struct flame *const tree = &flames->sources[i].tree;

        for (size_t node = 0; node < tree->count; node++) {
            if (tree->nodes[node].frame < FLAME_REST) {
                numbering->of_frame[tree->nodes[node].frame] = 1;
            }
        }
    }
    for (size_t i = 0; i < flames->frames.count; i++) {
        if (numbering->of_frame[i] > 0) {
            numbering->of_frame[i] = (uint32_t)++numbering->count;
        }
    }
    return true;
}

static void
put_images(struct buffer *json, const struct string_set *images)
{
    json_begin(json, "images", '[');
    for (size_t i = 0; i < images->count; i++) {
        html_put_text(json, images->texts[i]);
        buffer_append_byte(json, ',');
    }
    json_end_member(json, ']');
    buffer_append_byte(json, '\n');
}

/* Put the names of functions; full ones are "" where they are no longer. */
static void
put_names(struct buffer *json, const char *key, const struct flame_frames *frames,
          const struct numbering *numbering, bool full)
{
    json_begin(json, key, '[');
    for (size_t i = 0; i < frames->count; i++) {
        const struct flame_frame *const frame = &frames->items[i];

        if (numbering->of_frame[i] > 0) {
            html_put_escaped(json, !full ? frames->names.texts[frame->name]
                                   : frame->full == frame->name
                                       ? ""
                                       : frames->names.texts[frame->full]);
            buffer_append_byte(json, ',');
        }
    }
    json_end_member(json, ']');
    buffer_append_byte(json, '\n');
}

static void
put_frames(struct buffer *json, struct buffer *column,
           const struct flame_frames *frames, const struct numbering *numbering)
{
    buffer_print(json, "\"frames\":{\"count\":%zu,", numbering->count);
    put_names(json, "short", frames, numbering, /* full */ false);
    put_names(json, "full", frames, numbering, /* full */ true);
    for (size_t i = 0; i < frames->count; i++) {
        if (numbering->of_frame[i] > 0) {
            html_put_varint(column, frames->items[i].image_plus_1);
        }
    }
    html_put_column(json, "image", column);
    json_end_member(json, '}');
    buffer_append_byte(json, '\n');
}

static void
put_self(struct buffer *json, struct buffer *column, const char *key,
         const struct flame *tree, enum flame_side side)
{
    for (size_t i = 0; i < tree->count; i++) {
        html_put_varint(column, tree->nodes[i].self[side]);
    }
    html_put_column(json, key, column);
}

static void
put_tree(struct buffer *json, struct buffer *column, const struct numbering *numbering,
         const struct flames_source *source)
{
    const struct flame *const tree = &source->tree;

    buffer_print(json, "{\"count\":%zu,", tree->count);
    for (size_t i = 0; i < tree->count; i++) {
        html_put_varint(column, i - tree->nodes[i].parent);
    }
    html_put_column(json, "up", column);
    for (size_t i = 0; i < tree->count; i++) {
        const uint32_t frame = tree->nodes[i].frame;

        html_put_varint(column, frame < FLAME_REST ? numbering->of_frame[frame] : 0);
    }
    html_put_column(json, "frame", column);
    for (size_t i = 0; i < tree->count; i++) {
        html_put_varint(column, tree->nodes[i].rest);
    }
    html_put_column(json, "rest", column);
    put_self(json, column, "self", tree, FLAME_NEW);
    if (source->all[FLAME_OLD] > 0) {
        put_self(json, column, "old", tree, FLAME_OLD);
        buffer_print(json, "\"old_total\":%" PRIu64 ",", source->all[FLAME_OLD]);
        json_put_real_member(json, "old_hits", source->counted[FLAME_OLD]);
        json_put_bool_member(json, "exact", source->exact);
    }
    json_end_member(json, '}');
    buffer_append_byte(json, '\n');
}

bool
html_put_flames(struct buffer *json, const struct flames *flames)
{
    struct buffer column = {0};
    struct numbering numbering;
    const bool done = number_frames(flames, &numbering);

    if (done) {
        buffer_append_byte(json, '{');
        json_put_real_member(json, "least", FLAME_SHARE_LEAST);
        put_images(json, &flames->frames.images);
        put_frames(json, &column, &flames->frames, &numbering);
        json_begin(json, "trees", '[');
        for (size_t i = 0; i < flames->count; i++) {
            put_tree(json, &column, &numbering, &flames->sources[i]);
        }
        json_end(json, ']');
        buffer_append_text(json, "}\n");
    }
    free(numbering.of_frame);
    buffer_finish(&column);
    return done && !json->failed;
}
