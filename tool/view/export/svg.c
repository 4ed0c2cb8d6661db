/* SPDX-License-Identifier: MIT */
/*
 * svg.c - a flame graph as one picture: a box for each function under its caller, as
 * wide as its hits, with its name as text and its numbers as a title. It has no script
 * and loads nothing.
 *
 * Names are escaped as everywhere (base/text.h), which leaves no character that XML
 * forbids, and then for XML.
 */
#include "view/export/export.h"
#include "view/export/flames.h"

#include "base/buffer.h"
#include "base/path.h"
#include "base/text.h"
#include "profile/estimate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels. */
#define WIDTH 1200.0
#define MARGIN 10.0
#define ROW 18.0
#define HEAD 56.0
#define FOOT 34.0
#define COLUMN 6.7 /* of a name; fonts of browsers have 6 to 6.7 */
#define LEGEND_COLUMN 7.2

#define PAPER "#fffefb"
#define INK "#1d2025"
#define MUTED "#62666f"
#define NEUTRAL 0xe6e4dfU

enum {
    NAME_COLUMNS_MIN = 3,
    TITLE_COLUMNS_MAX = 1000,
    HEAD_COLUMNS = 140,
    NUMBERS_COLUMNS = 24,
    KEY_COLUMNS = 32
};

/* Of images in order of their own hits; others are neutral. The page has the same. */
static const uint32_t IMAGE_COLOURS[] = {0xf2c9a6, 0xa6cff2, 0xa6f2bd, 0xd4a6f2,
                                         0xf2e8a6, 0xf2a6cc, 0xa6f2ef, 0xc4f2a6,
                                         0xa6a9f2, 0xf2aea6};
enum { IMAGE_COLOUR_COUNT = sizeof(IMAGE_COLOURS) / sizeof(IMAGE_COLOURS[0]) };

/* The largest changes: less, more. */
static const uint32_t CHANGE_COLOURS[] = {0x5c9df5, 0xf2735a};

struct image_hits {
    uint32_t image;
    uint64_t self;
};

/* svg - the state while a picture is made. */
struct svg {
    FILE *out;
    const struct flame *tree;
    const struct flames *flames;
    const struct flames_source *source;
    const char *counted;       /* what its numbers are */
    struct image_hits *images; /* with the most own hits first */
    uint32_t *colours;         /* by image */
    uint64_t *next;            /* by node: hits left of the next that it called */
    uint32_t *depths;          /* by node */
    double change_max[2];      /* the largest changes: less, more */
    struct buffer text;        /* one name */
};

/* --- text --- */

/* Write escaped text for XML, at most this many characters of it. */
static void
put_xml(FILE *out, const char *text, size_t columns)
{
    const size_t size = text_bytes_of_columns(text, columns);

    for (size_t i = 0; i < size; i++) {
        switch (text[i]) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            fputc(text[i], out);
        }
    }
    if (text[size] != '\0') {
        fputs("..", out);
    }
}

/* Write a name from outside. */
static void
put_raw(struct svg *svg, const char *text, size_t columns)
{
    svg->text.size = 0;
    text_escape(&svg->text, text);
    if (buffer_text(&svg->text) != NULL) {
        put_xml(svg->out, buffer_text(&svg->text), columns);
    }
}

/* Write a number of hits, or of another tool's values, with a blank before it. */
static void
put_count(struct svg *svg, uint64_t number)
{
    fprintf(svg->out, " %" PRIu64 " ", number);
    put_raw(svg, svg->counted, NUMBERS_COLUMNS);
}

/* Return what a node is called. rest: room for what FLAME_REST is called. */
static const char *
name_of(const struct svg *svg, const struct flame_node *node, bool full, char *rest,
        size_t rest_size)
{
    const struct flame_frames *const frames = &svg->flames->frames;

    if (node->frame == FLAME_ALL) {
        return "all";
    }
    if (node->frame == FLAME_REST) {
        snprintf(rest, rest_size, "[%" PRIu32 " function%s below %g%%]", node->rest,
                 node->rest == 1 ? "" : "s", FLAME_SHARE_LEAST * 100);
        return rest;
    }
    return frames->names.texts[full ? frames->items[node->frame].full
                                    : frames->items[node->frame].name];
}

/* Return the number of an image plus 1; 0: none. */
static uint32_t
image_of(const struct svg *svg, const struct flame_node *node)
{
    return node->frame < FLAME_REST
               ? svg->flames->frames.items[node->frame].image_plus_1
               : 0;
}

/* --- colours --- */

static int
compare_images(const void *left, const void *right)
{
    const struct image_hits *const a = left;
    const struct image_hits *const b = right;

    if (a->self != b->self) {
        return a->self > b->self ? -1 : 1;
    }
    return (a->image > b->image) - (a->image < b->image);
}

/* Give colours to the images with the most hits of their own, and find the largest
 * change, which has the strongest colour. */
static void
choose_colours(struct svg *svg)
{
    const size_t count = svg->flames->frames.images.count;
    double change, error;

    for (uint32_t i = 0; i < count; i++) {
        svg->images[i].image = i;
    }
    for (size_t i = 0; i < svg->tree->count; i++) {
        const struct flame_node *const node = &svg->tree->nodes[i];

        if (image_of(svg, node) > 0) {
            svg->images[image_of(svg, node) - 1].self += node->self[FLAME_NEW];
        }
        if (i > 0 && flames_change(svg->source, node, &change, &error)) {
            double *const most = &svg->change_max[change > 0];

            *most = fmax(*most, fabs(change));
        }
    }
    if (count > 1) {
        qsort(svg->images, count, sizeof(*svg->images), compare_images);
    }
    for (size_t i = 0; i < count; i++) {
        svg->colours[svg->images[i].image] =
            i < IMAGE_COLOUR_COUNT ? IMAGE_COLOURS[i] : NEUTRAL;
    }
}

/* Return a colour between two, part of the way from the first. */
static uint32_t
mix(uint32_t from, uint32_t to, double part)
{
    uint32_t mixed = 0;

    for (int shift = 0; shift < 24; shift += 8) {
        const double low = from >> shift & 0xff;
        const double high = to >> shift & 0xff;

        mixed |= (uint32_t)lround(low + (high - low) * part) << shift;
    }
    return mixed;
}

static uint32_t
colour_of(const struct svg *svg, const struct flame_node *node)
{
    const uint32_t image = image_of(svg, node);
    double change, error;

    if (svg->flames->compared && node->frame != FLAME_ALL) {
        return flames_change(svg->source, node, &change, &error)
                   ? mix(NEUTRAL, CHANGE_COLOURS[change > 0],
                         sqrt(fabs(change) / svg->change_max[change > 0]))
                   : NEUTRAL;
    }
    /* Neighbours of one image differ a little, always in the same way. */
    return image > 0 ? mix(svg->colours[image - 1], 0xffffff,
                           (double)(node->frame * 2654435761U % 5) * 0.07)
                     : NEUTRAL;
}

/* --- boxes --- */

static void
put_title(struct svg *svg, const struct flame_node *node)
{
    const struct flames_source *const source = svg->source;
    const double all = (double)source->all[FLAME_NEW];
    const double share = all > 0 ? (double)node->total[FLAME_NEW] / all : 0;
    char rest[64];
    double change, error;

    fputs("<title>", svg->out);
    put_xml(svg->out, name_of(svg, node, /* full */ true, rest, sizeof(rest)),
            TITLE_COLUMNS_MAX);
    if (image_of(svg, node) > 0) {
        fputs("\n", svg->out);
        put_raw(svg, svg->flames->frames.images.texts[image_of(svg, node) - 1],
                TITLE_COLUMNS_MAX);
    }
    fprintf(svg->out, "\n%.2f%%", share * 100);
    if (!source->exact) {
        error = report_error(share * source->counted[FLAME_NEW],
                             source->counted[FLAME_NEW]);
        fprintf(svg->out, " ± %.2f%%", error * 100);
    }
    fputs(",", svg->out);
    put_count(svg, node->total[FLAME_NEW]);
    if (node->self[FLAME_NEW] > 0 && all > 0) {
        fprintf(svg->out, ", self %.2f%%", (double)node->self[FLAME_NEW] / all * 100);
    }
    if (svg->flames->compared && source->all[FLAME_OLD] > 0) {
        flames_change(source, node, &change, &error);
        fprintf(svg->out, "\nwas %.2f%%: %+.2f%% ± %.2f%%", (share - change) * 100,
                change * 100, error * 100);
    }
    fputs("</title>", svg->out);
}

/* Return how wide a name is, in columns: characters that are not ASCII may be wide. */
static size_t
columns_of(const char *text)
{
    size_t columns = 0;

    for (; *text != '\0'; text++) {
        columns += ((uint8_t)*text & 0xc0) == 0xc0 ? 2 : ((uint8_t)*text & 0x80) == 0;
    }
    return columns;
}

/* Write what has room of a name. */
static void
put_label(struct svg *svg, const struct flame_node *node, double x, double y,
          double width)
{
    char rest[64];
    const char *const name = name_of(svg, node, /* full */ false, rest, sizeof(rest));
    const size_t columns = width > 6 ? (size_t)((width - 6) / COLUMN) : 0;

    if (columns < NAME_COLUMNS_MIN) {
        return;
    }
    fprintf(svg->out, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + 12.5);
    if (columns_of(name) <= columns) {
        put_xml(svg->out, name, columns);
    } else {
        /* Half of it has room in any case. */
        put_xml(svg->out, name,
                columns_of(name) == text_columns(name) ? columns - 2 : columns / 2 - 1);
    }
    fputs("</text>", svg->out);
}

/* Draw each node below its caller, behind those drawn there before. */
static void
put_boxes(struct svg *svg)
{
    const struct flame_node *const nodes = svg->tree->nodes;
    const uint64_t all = nodes[0].total[FLAME_NEW];
    const double scale = all > 0 ? (WIDTH - 2 * MARGIN) / (double)all : 0;

    fputs("<g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, "
          "monospace\" font-size=\"11\" fill=\"" INK "\">\n",
          svg->out);
    for (size_t i = 0; i < svg->tree->count && !ferror(svg->out); i++) {
        const struct flame_node *const node = &nodes[i];
        const uint64_t left = i > 0 ? svg->next[node->parent] : 0;
        const double width = (double)node->total[FLAME_NEW] * scale;
        const double x = MARGIN + (double)left * scale;
        const double y = HEAD + ROW * svg->depths[i];

        svg->next[i] = left;
        svg->next[node->parent] = left + (i > 0 ? node->total[FLAME_NEW] : 0);
        if (node->total[FLAME_NEW] == 0 && i > 0) {
            continue;
        }
        fputs("<g>", svg->out);
        put_title(svg, node);
        fprintf(svg->out,
                "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" "
                "fill=\"#%06" PRIx32 "\"/>",
                x, y, fmax(width - (width > 3 ? 0.8 : 0), 0.2), ROW - 1,
                colour_of(svg, node));
        put_label(svg, node, x, y, width);
        fputs("</g>\n", svg->out);
    }
    fputs("</g>\n", svg->out);
}

/* --- around them --- */

/* Write an entry of the legend at x. Returns where the next one begins. */
static double
put_key(struct svg *svg, double x, double y, uint32_t colour, const char *text)
{
    size_t columns;

    fprintf(svg->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"2\" "
            "fill=\"#%06" PRIx32 "\"/><text x=\"%.1f\" y=\"%.1f\">",
            x, y - 10, colour, x + 16, y);
    put_raw(svg, text, KEY_COLUMNS);
    fputs("</text>\n", svg->out);
    columns = buffer_text(&svg->text) != NULL ? columns_of(buffer_text(&svg->text)) : 0;
    return x + 34 +
           LEGEND_COLUMN *
               (double)(columns < 2 * KEY_COLUMNS ? columns : 2 * KEY_COLUMNS);
}

static void
put_legend(struct svg *svg, double y)
{
    const struct string_set *const images = &svg->flames->frames.images;
    double x = MARGIN;
    char text[64];

    if (svg->flames->compared) {
        snprintf(text, sizeof(text), "shrank, by up to %.2f%%",
                 svg->change_max[0] * 100);
        x = put_key(svg, x, y, CHANGE_COLOURS[0], text);
        x = put_key(svg, x, y, NEUTRAL, "no change beyond chance");
        snprintf(text, sizeof(text), "grew, by up to %.2f%%", svg->change_max[1] * 100);
        put_key(svg, x, y, CHANGE_COLOURS[1], text);
        return;
    }
    for (size_t i = 0; i < images->count && i < IMAGE_COLOUR_COUNT; i++) {
        const uint32_t image = svg->images[i].image;

        if (x > WIDTH - MARGIN - 34 * LEGEND_COLUMN) {
            break;
        }
        x = put_key(svg, x, y, svg->colours[image],
                    path_last_part(images->texts[image]));
    }
}

static void
put_head(struct svg *svg, const struct profile *profile, size_t source, double height)
{
    FILE *const out = svg->out;

    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"system-ui, 'DejaVu Sans', "
            "sans-serif\" font-size=\"12\" fill=\"" MUTED "\">\n<title>ntprof: ",
            WIDTH, height, WIDTH, height);
    put_raw(svg, profile->command, HEAD_COLUMNS);
    fprintf(out,
            "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"" PAPER "\"/>\n"
            "<text x=\"%.0f\" y=\"24\" font-size=\"15\" font-weight=\"bold\" "
            "fill=\"" INK "\">",
            MARGIN);
    put_raw(svg, profile->command, HEAD_COLUMNS);
    fprintf(out, "</text>\n<text x=\"%.0f\" y=\"43\">", MARGIN);
    put_raw(svg, profile->sources[source].name, HEAD_COLUMNS);
    fputs(",", out);
    put_count(svg, svg->tree->nodes[0].total[FLAME_NEW]);
    if (svg->flames->compared) {
        fputs(", compared with", out);
        put_count(svg, svg->tree->nodes[0].total[FLAME_OLD]);
    }
    fputs("</text>\n", out);
}

/* Set how deep each node is. Returns how many rows there are of nodes with hits. */
static uint32_t
find_depths(struct svg *svg)
{
    uint32_t rows = 1;

    for (size_t i = 1; i < svg->tree->count; i++) {
        const struct flame_node *const node = &svg->tree->nodes[i];

        svg->depths[i] = svg->depths[node->parent] + 1;
        if (node->total[FLAME_NEW] > 0 && svg->depths[i] >= rows) {
            rows = svg->depths[i] + 1;
        }
    }
    return rows;
}

static bool
svg_begin(struct svg *svg)
{
    const size_t images = svg->flames->frames.images.count;

    svg->images = calloc(images + 1, sizeof(*svg->images));
    svg->colours = calloc(images + 1, sizeof(*svg->colours));
    svg->next = calloc(svg->tree->count, sizeof(*svg->next));
    svg->depths = calloc(svg->tree->count, sizeof(*svg->depths));
    return svg->images != NULL && svg->colours != NULL && svg->next != NULL &&
           svg->depths != NULL;
}

bool
export_svg(FILE *out, const struct profile *profile,
           const struct export_options *options, struct export_messages *messages)
{
    const struct flames *const flames = options->flames;
    struct svg svg = {.out = out, .flames = flames};
    bool done;

    if (flames == NULL) {
        snprintf(messages->error, sizeof(messages->error), "%s",
                 profile->of_store
                     ? "stores keep no stacks, so there is no flame graph"
                     : "the profile has no stacks, so there is no flame graph: record "
                       "it with -g");
        return false;
    }
    svg.source = &flames->sources[options->source];
    svg.counted = report_numbers(&profile->sources[options->source]);
    svg.tree = &svg.source->tree;
    done = svg_begin(&svg);
    if (done) {
        const double bottom = HEAD + ROW * find_depths(&svg);

        choose_colours(&svg);
        put_head(&svg, profile, options->source, bottom + FOOT);
        put_boxes(&svg);
        put_legend(&svg, bottom + 22);
        fputs("</svg>\n", out);
    }
    done = done && !svg.text.failed;
    free(svg.images);
    free(svg.colours);
    free(svg.next);
    free(svg.depths);
    buffer_finish(&svg.text);
    return done;
}
