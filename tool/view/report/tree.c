/* SPDX-License-Identifier: MIT */
/*
 * tree.c - the stacks of a profile as a tree, for the terminal, as JSON or as CSV.
 *
 * In text, what a function calls is indented below it. Where that is one function with
 * all of its hits, it stands right below, without indentation, so that long chains stay
 * readable; only what branches has a plus sign in front.
 */
#include "view/report/tree.h"

#include "base/arithmetic.h"
#include "base/csv.h"
#include "base/json.h"
#include "base/text.h"
#include "profile/display.h"
#include "profile/estimate.h"
#include "profile/filter.h"
#include "profile/join.h"
#include "profile/relation.h"
#include "profile/stack_ends.h"
#include "view/report/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBERS_COLUMNS = 18, /* of both shares, with the gaps behind them */
    NAME_LEAST = 20,      /* columns of a name, even if the line gets too long */
    NAME_MOST = 120,      /* where the output is no terminal */
};

struct printer {
    FILE *out;
    const struct profile *profile;
    const struct report_options *options;
    const struct report_tree *shown;
    struct identities identities;
    struct relation relation; /* which functions are chosen or skipped */
    struct call_tree tree;
    struct stack_ends ends;
    uint64_t hits;                /* of the source, also outside of all code */
    uint64_t hits_of_rows;        /* of them, those in rows */
    bool *rows;                   /* by row: whether it passes */
    enum display_detail *details; /* by number of a function */
    uint32_t *indents;            /* by node: columns in front of its name */
};

/* --- the tree --- */

static bool
is_inlined(const struct printer *printer)
{
    return report_has_key(&printer->options->by.keys, REPORT_BY_INLINE);
}

/* Choose the rows that pass, and count hits. Returns false if memory runs out. */
static bool
choose_rows(struct printer *printer)
{
    const struct profile *const profile = printer->profile;
    const size_t width = profile_width(profile);
    uint64_t *const outside = calloc(width + 1, sizeof(*outside));
    struct row_filter filter = {.kinds = {NULL}};
    bool done;

    printer->rows = calloc(profile->row_count + 1, sizeof(*printer->rows));
    done = printer->rows != NULL && outside != NULL &&
           row_filter_init(&filter, profile, &printer->options->by);
    for (size_t i = 0; done && i < profile->row_count; i++) {
        printer->rows[i] = row_filter_passes(&filter, &profile->rows[i]);
        printer->hits_of_rows += profile->rows[i].hits[0];
    }
    done = done && !row_filter_failed(&filter);
    if (done) {
        profile_set_outside(profile, PROFILE_OUTSIDE_ALL, outside);
        printer->hits = printer->hits_of_rows;
        add_clamped(&printer->hits, outside[0]); /* a file may say any number */
    }
    row_filter_finish(&filter);
    free(outside);
    return done;
}

/* Set the details of names, so that functions that differ read differently. Returns
 * false if memory runs out. */
static bool
tell_apart(struct printer *printer)
{
    const struct call_tree *const tree = &printer->tree;
    struct display_name *const names = calloc(tree->count + 1, sizeof(*names));
    bool done = names != NULL;

    printer->details = calloc(printer->identities.count + 1, sizeof(*printer->details));
    done = done && printer->details != NULL;
    for (size_t i = 1; done && i < tree->count; i++) {
        names[i - 1] = (struct display_name){
            .function = tree->nodes[i].function,
            .image = tree->nodes[i].image,
            .identity = tree->nodes[i].number,
            .detail = printer->options->full_names ? DISPLAY_FULL : DISPLAY_SHORT,
        };
    }
    done = done && display_tell_apart(names, tree->count - 1);
    for (size_t i = 1; done && i < tree->count; i++) {
        printer->details[tree->nodes[i].number] = names[i - 1].detail;
    }
    free(names);
    return done;
}

static bool
build(struct printer *printer)
{
    const struct report_relation *const relation = &printer->options->by.relation;
    struct call_tree_options options = {.direction = printer->shown->direction,
                                        .inlined = is_inlined(printer)};

    if (!choose_rows(printer) ||
        !identities_find(printer->profile, &printer->identities) ||
        !relation_init(&printer->relation, &printer->identities, relation,
                       options.inlined)) {
        return false;
    }
    options.chosen = relation->glob != NULL ? printer->relation.chosen : NULL;
    options.skipped = printer->relation.skipped;
    options.rows = printer->rows;
    if (printer->hits_of_rows > 0) { /* it is a share of these */
        options.minimum = printer->shown->minimum * (double)printer->hits /
                          (double)printer->hits_of_rows;
    }
    return call_tree_build(&printer->tree, printer->profile, &printer->identities,
                           &options) &&
           tell_apart(printer) && stack_ends_find(printer->profile, 0, &printer->ends);
}

/* --- text --- */

static double
share_of(const struct printer *printer, uint64_t hits)
{
    return printer->hits > 0 ? (double)hits / (double)printer->hits : 0;
}

/* Print a name that may use so many columns. Returns false if memory runs out. */
static bool
print_name(const struct printer *printer, const struct call_tree_node *node,
           size_t columns)
{
    struct buffer name = {0};
    struct buffer shown = {0};
    bool done;

    display_function(node->function, node->image, printer->details[node->number],
                     &name);
    done = buffer_text(&name) != NULL;
    if (done) {
        display_shorten(buffer_text(&name), columns, &shown);
        buffer_append_text(&shown, "  ");
        display_image(node->image, &shown);
        done = buffer_text(&shown) != NULL;
    }
    if (done) {
        fprintf(printer->out, "%s\n", buffer_text(&shown));
    }
    buffer_finish(&name);
    buffer_finish(&shown);
    return done;
}

/* Return the columns that a name can have that follows indent columns. */
static size_t
room_of(const struct printer *printer, const struct call_tree_node *node, size_t indent)
{
    struct buffer image = {0};
    size_t used = NUMBERS_COLUMNS + indent + 2;

    if (printer->options->width <= 0) {
        return NAME_MOST;
    }
    display_image(node->image, &image);
    used += buffer_text(&image) != NULL ? text_columns(buffer_text(&image)) : 0;
    buffer_finish(&image);
    return used + NAME_LEAST < (size_t)printer->options->width
               ? (size_t)printer->options->width - used
               : NAME_LEAST;
}

/* Whether a node has all hits of its parent, so that it continues a chain. */
static bool
continues(const struct call_tree_node *node, const struct call_tree_node *parent)
{
    return parent->total == node->total;
}

static bool
print_node(struct printer *printer, uint32_t index)
{
    const struct call_tree_node *const node = &printer->tree.nodes[index];
    const uint32_t parent = printer->indents[node->parent];
    const bool branch = !continues(node, &printer->tree.nodes[node->parent]);

    printer->indents[index] = parent + (branch ? 2 : 0);
    fprintf(printer->out, "%6.2f%%  %6.2f%%  %*s%s",
            100 * share_of(printer, node->total), 100 * share_of(printer, node->self),
            (int)parent, "", branch ? "+ " : "");
    return print_name(printer, node, room_of(printer, node, printer->indents[index]));
}

/* Print the functions below a node that have too few hits. */
static void
print_merged(const struct printer *printer, uint32_t index)
{
    const struct call_tree_node *const node = &printer->tree.nodes[index];

    if (node->merged > 0) {
        fprintf(printer->out,
                "%6.2f%%           %*s+ %" PRIu32 " function%s with less than %g%%\n",
                100 * share_of(printer, node->merged_hits),
                (int)printer->indents[index], "", node->merged,
                node->merged == 1 ? "" : "s", 100 * printer->shown->minimum);
    }
}

/* Print all nodes, each after its parent, and what is merged after all that is below
 * its parent. */
static bool
print_nodes(struct printer *printer)
{
    const struct call_tree_node *const nodes = printer->tree.nodes;
    bool done = true;
    uint32_t at = 0;

    for (uint32_t i = 1; done && i < printer->tree.count; i++) {
        while (at != nodes[i].parent) {
            print_merged(printer, at);
            at = nodes[at].parent;
        }
        done = print_node(printer, i);
        at = i;
    }
    for (; done && at != 0; at = nodes[at].parent) {
        print_merged(printer, at);
    }
    print_merged(printer, 0);
    return done;
}

static bool
print_text(struct printer *printer)
{
    const struct call_tree_node *const root = &printer->tree.nodes[0];
    struct buffer line = {0};
    bool done;

    printer->indents = calloc(printer->tree.count, sizeof(*printer->indents));
    if (printer->indents == NULL) {
        return false;
    }
    /* Upwards, what a stack ends with has called nothing. */
    fprintf(printer->out, "  total     %s  function  image\n",
            printer->shown->direction == CALL_TREE_UP ? "ends" : "self");
    done = print_nodes(printer);
    if (root->self > 0) {
        fprintf(printer->out,
                "%6.2f%%           + in images that are passed over only\n",
                100 * share_of(printer, root->self));
    }
    fprintf(printer->out, "ntprof: %.2f%% of %" PRIu64 " ",
            100 * share_of(printer, root->total), printer->hits);
    text_escape(&line, report_numbers(&printer->profile->sources[0]));
    buffer_append_text(&line, " of ");
    text_escape(&line, printer->profile->sources[0].name);
    buffer_append_text(&line, "\nstacks: ");
    stack_ends_put(&printer->ends, &printer->profile->sources[0], &line);
    done = done && buffer_text(&line) != NULL;
    if (done) {
        fprintf(printer->out, "%s\n", buffer_text(&line));
    }
    buffer_finish(&line);
    return done;
}

/* --- JSON --- */

static void
put_ends(struct buffer *json, const struct stack_ends *ends)
{
    json_begin(json, "stacks", '[');
    for (size_t i = 0; i < ends->count; i++) {
        buffer_append_byte(json, '{');
        json_put_text_member(json, "end", ends->list[i].name);
        json_put_number_member(json, "hits", ends->list[i].hits);
        json_end_member(json, '}');
    }
    json_end_member(json, ']');
}

static void
put_node(const struct printer *printer, uint32_t index, struct buffer *json)
{
    const struct call_tree_node *const node = &printer->tree.nodes[index];
    struct buffer name = {0};

    buffer_append_text(json, "\n{");
    json_put_number_member(json, "parent", node->parent);
    json_put_number_member(json, "depth", node->depth);
    if (node->function != NULL) {
        display_function(node->function, node->image, DISPLAY_FULL, &name);
    }
    json_put_escaped_member(json, "function", &name);
    buffer_finish(&name);
    json_put_text_member(json, "image", node->image != NULL ? node->image->path : "");
    json_put_number_member(json, "self", node->self);
    json_put_number_member(json, "total", node->total);
    buffer_print(json, "\"self_share\":%.6f,\"total_share\":%.6f,",
                 share_of(printer, node->self), share_of(printer, node->total));
    json_put_number_member(json, "merged", node->merged);
    json_put_number_member(json, "merged_hits", node->merged_hits);
    json_end_member(json, '}');
}

static bool
print_json(struct printer *printer)
{
    const struct profile *const profile = printer->profile;
    struct buffer json = {0};

    buffer_append_text(&json, "{\"schema\":\"ntprof.tree\",\"version\":1,\n");
    json_put_text_member(&json, "command", profile->command);
    json_put_text_member(&json, "source", profile->sources[0].name);
    json_put_text_member(&json, "direction",
                         printer->shown->direction == CALL_TREE_UP ? "up" : "down");
    report_put_relation(&json, &printer->options->by.relation);
    json_put_real_member(&json, "minimum", printer->shown->minimum);
    json_put_number_member(&json, "hits", printer->hits);
    put_ends(&json, &printer->ends);
    json_begin(&json, "nodes", '[');
    for (uint32_t i = 0; i < printer->tree.count; i++) {
        put_node(printer, i, &json);
        json_flush(&json, printer->out);
    }
    json_end(&json, ']');
    buffer_append_text(&json, "}\n");
    return json_finish(&json, printer->out);
}

/* --- CSV --- */

static bool
print_csv(struct printer *printer)
{
    struct csv csv = {.out = printer->out};

    csv_print(&csv, "node,parent,depth,total,total_share,self,self_share,merged,"
                    "merged_hits,module,function");
    csv_end_line(&csv);
    for (uint32_t i = 0; i < printer->tree.count && !csv.text.failed; i++) {
        const struct call_tree_node *const node = &printer->tree.nodes[i];

        csv_print(&csv, "%" PRIu32 ",%" PRIu32 ",%" PRIu32, i, node->parent,
                  node->depth);
        csv_print(&csv, "%" PRIu64 ",%.6f,%" PRIu64 ",%.6f", node->total,
                  share_of(printer, node->total), node->self,
                  share_of(printer, node->self));
        csv_print(&csv, "%" PRIu32 ",%" PRIu64, node->merged, node->merged_hits);
        csv_put_text(&csv, node->image != NULL ? node->image->path : "");
        if (node->function != NULL) {
            display_function(node->function, node->image, DISPLAY_FULL, &csv.text);
        }
        csv_put_field(&csv);
        csv_end_line(&csv);
    }
    return csv_finish(&csv);
}

/* --- the report --- */

bool
report_check_tree(const struct profile *profile, const struct report_options *options,
                  char *why, size_t size)
{
    const struct report_keys *const keys = report_keys_used(&options->by.keys);

    if (keys->count != 1 ||
        (keys->list[0] != REPORT_BY_FUNCTION && keys->list[0] != REPORT_BY_INLINE)) {
        snprintf(why, size, "--tree: only by function, or by inline");
        return false;
    }
    for (size_t i = 0; i < options->by.filter_count; i++) {
        if (options->by.filters[i].kind != REPORT_FILTER_PROCESS) {
            snprintf(why, size,
                     "--%s: not with --tree; --callers-of and --callees-of choose "
                     "functions, --skip-image leaves images out",
                     filter_kind_name(options->by.filters[i].kind));
            return false;
        }
    }
    return report_check_stacks(profile, "--tree", why, size) &&
           report_check(profile, options, why, size);
}

bool
report_print_tree(FILE *out, const struct profile *profile,
                  const struct report_options *options, const struct report_tree *tree)
{
    struct printer printer = {
        .out = out, .profile = profile, .options = options, .shown = tree};
    bool done = build(&printer);

    if (done) {
        if (options->ready != NULL) {
            options->ready();
        }
        done = options->format == REPORT_JSON  ? print_json(&printer)
               : options->format == REPORT_CSV ? print_csv(&printer)
                                               : print_text(&printer);
    }
    free(printer.rows);
    free(printer.details);
    free(printer.indents);
    stack_ends_finish(&printer.ends);
    call_tree_finish(&printer.tree);
    relation_finish(&printer.relation);
    identities_finish(&printer.identities);
    return done && fflush(out) == 0 && !ferror(out);
}
