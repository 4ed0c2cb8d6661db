/* SPDX-License-Identifier: MIT */
/*
 * llvm_sample.c - LLVM's sample profile as text, for -fprofile-sample-use of clang.
 *
 * "FUNCTION:TOTAL:HEAD", then a line for each location, one blank deeper:
 * "LINE[.DISCRIMINATOR]: COUNT", and for what was inlined there
 * "LINE[.DISCRIMINATOR]: FUNCTION:TOTAL" with its own locations below. Lines count from
 * the one where the function is declared, in 16 bits. HEAD, how often the function was
 * called, is not known: 0, and clang takes it from the counts.
 *
 * All code of functions with hits is written, also what was never hit: that it is cold
 * is worth as much as that other code is hot.
 */
#include "view/export/export.h"

#include "base/buffer.h"
#include "base/text.h"
#include "view/export/debug_check.h"
#include "view/export/linked_code.h"
#include "view/export/llvm_names.h"
#include "view/export/messages.h"
#include "view/export/sample_tree.h"

#include <inttypes.h>
#include <string.h>

/* LLVM has 16 bits for lines. */
enum { LINE_MASK = 0xffff };

struct writer {
    FILE *out;
    const struct linked_code *code;
    struct sample_tree tree;
    struct sym_budget budget; /* of the tree */
    struct debug_check check;
    struct buffer name;
    bool failed; /* memory or budget ran out */
};

/* Return the location of a frame relative to its function. */
static struct sample_location
location_of(const struct sym_frame *frame, uint32_t start_line)
{
    return (struct sample_location){
        .line = (frame->line - start_line) & LINE_MASK,
        .discriminator = llvm_base_discriminator(frame->discriminator),
    };
}

/* Return the name that clang gives the function before it optimises, until the
 * next call. NULL if a line of the format cannot hold it, or memory ran out
 * (failed is set then). */
static const char *
plain_name(struct writer *writer, const char *name)
{
    char *copy;

    writer->name.size = 0;
    text_escape_word(&writer->name, name);
    if (buffer_text(&writer->name) == NULL) {
        writer->failed = true;
        return NULL;
    }
    if (strcmp(buffer_text(&writer->name), name) != 0 || name[0] == '#' ||
        strchr(name, ':') != NULL) {
        return NULL;
    }
    copy = (char *)writer->name.data;
    llvm_cut_suffixes(copy);
    return copy;
}

/* Enter the functions of a place into the tree. Returns the node of the
 * innermost; SAMPLE_TREE_NONE if a name cannot be written, or memory ran out
 * (failed is set then). */
static uint32_t
enter(struct writer *writer, const struct debug_place *place)
{
    struct sample_location call = {.line = 0};
    uint32_t node = SAMPLE_TREE_NONE;

    for (size_t i = place->count; i > 0; i--) {
        const struct sym_frame *const frame = &place->frames[i - 1];
        const char *const name = plain_name(writer, frame->system_name);

        if (name == NULL) {
            return SAMPLE_TREE_NONE;
        }
        node = sample_tree_enter(&writer->tree, node, call, name);
        if (node == SAMPLE_TREE_NONE) {
            writer->failed = true;
            return node;
        }
        call = location_of(frame, frame->start_line);
    }
    return node;
}

/* Count hits at a place. Returns what the place lacks, if anything; the hits are
 * not counted then. */
static enum debug_missing
count_place(struct writer *writer, const struct debug_place *place, uint64_t hits)
{
    const enum debug_missing missing = debug_check_place(place);
    const struct sym_frame *const frame = place->frames;
    uint64_t times;
    uint32_t node;

    if (missing != DEBUG_MISSING_NOTHING) {
        return missing;
    }
    for (size_t i = 0; i < place->count; i++) {
        writer->check.discriminators |= frame[i].discriminator != 0;
    }
    node = enter(writer, place);
    if (node == SAMPLE_TREE_NONE) {
        return DEBUG_MISSING_LINKAGE_NAME;
    }
    if (__builtin_mul_overflow(hits, llvm_copies(frame->discriminator), &times)) {
        times = UINT64_MAX;
    }
    writer->failed |= !sample_tree_count(&writer->tree, node,
                                         location_of(frame, frame->start_line), times);
    return missing;
}

/* Count 0 hits at a line row, so that its code is known not to have been
 * hit; a sym_line_row. */
static bool
count_row(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct writer *const writer = context;

    (void)file;
    if (line > 0) {
        const struct debug_place place =
            debug_place_find(writer->code->file.image, address, 1);

        (void)count_place(writer, &place, 0);
    }
    return !writer->failed;
}

/* Count the hits of all buckets, and 0 at all line rows of the
 * functions that have hits. */
static void
count_code(struct writer *writer)
{
    const struct linked_code *const code = writer->code;
    struct sym_image *const image = code->file.image;
    uint64_t end = 0;

    for (size_t i = 0; i < code->count && !writer->failed; i++) {
        const struct linked_bucket *const bucket = &code->buckets[i];
        struct debug_place place;

        debug_expect_buckets(code, i);
        place = debug_place_find(image, bucket->address, code->bytes);
        writer->check.hits[count_place(writer, &place, bucket->hits)] += bucket->hits;
        if (place.at >= end && place.start < place.end) {
            end = place.end;
            (void)sym_image_line_rows(image, place.start, end, count_row, writer);
        }
    }
}

/* --- text --- */

static void
put_location(const struct writer *writer, uint32_t depth, struct sample_location at)
{
    fprintf(writer->out, "%*s%" PRIu32, (int)depth, "", at.line);
    if (at.discriminator > 0) {
        fprintf(writer->out, ".%" PRIu32, at.discriminator);
    }
    fputs(": ", writer->out);
}

/* Write the counts of a function, and then what was inlined into it. The recursion is
 * at most FRAMES_MAX deep (symbols/border/protocol.h). */
static void
put_body(const struct writer *writer, const struct sample_node *node, uint32_t depth)
{
    const struct sample_tree *const tree = &writer->tree;

    for (uint32_t i = 0; i < node->count_count; i++) {
        const struct sample_count *const count = &tree->counts[node->first_count + i];

        put_location(writer, depth, count->at);
        fprintf(writer->out, "%" PRIu64 "\n", count->hits);
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct sample_node *const child =
            &tree->nodes[tree->children[node->first_child + i]];

        put_location(writer, depth, child->call);
        fprintf(writer->out, "%s:%" PRIu64 "\n", tree->names.texts[child->name],
                child->total);
        put_body(writer, child, depth + 1);
    }
}

static void
put_functions(const struct writer *writer)
{
    const struct sample_tree *const tree = &writer->tree;

    for (uint32_t i = 0; i < tree->function_count && !ferror(writer->out); i++) {
        const struct sample_node *const node = &tree->nodes[tree->children[i]];

        fprintf(writer->out, "%s:%" PRIu64 ":0\n", tree->names.texts[node->name],
                node->total);
        put_body(writer, node, 1);
    }
}

static bool
put_all(struct writer *writer, const struct export_options *options,
        struct export_messages *messages)
{
    char name[128];

    count_code(writer);
    if (writer->budget.refused) {
        return export_refuse(messages, options,
                             "it would take more than 1 GiB of memory");
    }
    if (writer->failed || !linked_code_check_read(writer->code, options, messages) ||
        !debug_check_pass(&writer->check,
                          linked_code_name(writer->code, name, sizeof(name)), options,
                          messages) ||
        !sample_tree_sort(&writer->tree)) {
        return false;
    }
    put_functions(writer);
    return true;
}

bool
export_llvm_sample(FILE *out, const struct profile *profile,
                   const struct export_options *options,
                   struct export_messages *messages)
{
    struct linked_code code;
    struct writer writer = {
        .out = out,
        .code = &code,
        .check = {.remedy = "-g1 -fdebug-info-for-profiling"},
    };
    bool done = linked_code_take(&code, profile, options, LINKED_FILE_NEEDED, messages);

    sym_budget_begin(&writer.budget, 0);
    writer.tree.budget = &writer.budget;
    done = done && put_all(&writer, options, messages);
    sample_tree_finish(&writer.tree);
    buffer_finish(&writer.name);
    linked_code_finish(&code);
    return done;
}
