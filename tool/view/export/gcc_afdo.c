/* SPDX-License-Identifier: MIT */
/*
 * gcc_afdo.c - the file that gcc 12 reads by -fauto-profile: names, and for each
 * function a count for each of its lines and what was inlined into it.
 *
 * All is little-endian; counts have 64 bits, all else 32. A section begins with its tag
 * and its length, which gcc skips: 0 here. Lines count from the one where the function
 * is declared. A line has the hits of all its code: where SQLite was tried, their
 * maximum gained half as much. How often a function was called is not known: the count
 * of its first line stands for it, without which gcc gains next to nothing. Functions
 * that gcc made of others, NAME.part.0 and the like, are NAME again, as it looks for
 * that. All of it is in the profile, so the program need not be there.
 *
 * gcc 12 takes a function of name 0 for a fault of its own and ends, so name 0 is the
 * empty one, which no function has.
 */
#include "view/export/export.h"

#include "base/text.h"
#include "view/export/debug_check.h"
#include "view/export/messages.h"
#include "view/export/one_image.h"
#include "view/export/sample_tree.h"

#include <stdlib.h>
#include <string.h>

enum {
    AFDO_VERSION = 2,
    LINE_MASK = 0xffff, /* lines have 16 bits */
    LINE_SHIFT = 16,
    DEPTH_MAX = 512, /* as many as readers of symbols report; deeper
                      * chains are forged */
};

static const uint32_t AFDO_MAGIC = 0x67636461;
static const uint32_t TAG_NAMES = 0xaa000000;
static const uint32_t TAG_FUNCTIONS = 0xac000000;
static const uint32_t TAG_MODULES = 0xae000000;

struct writer {
    FILE *out;
    const struct profile *profile;
    struct one_image image;
    struct sample_tree tree;
    struct sym_budget budget; /* of the tree */
    struct debug_check check;
    struct debug_place place; /* place of the row that is being counted */
    struct sym_frame frames[DEPTH_MAX];
    char *name; /* name of a function, cut at its first dot */
    size_t name_room;
    bool failed; /* memory or budget ran out */
};

/* --- rows --- */

static struct sym_frame
frame_of(const struct profile *profile, uint32_t number, uint32_t line)
{
    const struct profile_function *const function = &profile->functions[number];

    return (struct sym_frame){.system_name = function->system_name,
                              .line = line,
                              .start_line = function->start_line};
}

/* Set writer->place to the functions of a row, innermost first. Returns false if
 * there are too many. */
static bool
find_place(struct writer *writer, const struct profile_row *row)
{
    const struct profile *const profile = writer->profile;
    size_t count = 0;

    writer->frames[count++] = frame_of(profile, row->function, row->line);
    for (uint32_t at = row->caller; at != 0; at = profile->frames[at].caller) {
        if (count == DEPTH_MAX) {
            return false;
        }
        writer->frames[count++] =
            frame_of(profile, profile->frames[at].function, profile->frames[at].line);
    }
    writer->place =
        (struct debug_place){.frames = writer->frames, .count = count, .symbol = ""};
    return true;
}

/* Return whether all functions of writer->place have a name that gcc looks for. */
static bool
has_plain_names(const struct writer *writer)
{
    for (size_t i = 0; i < writer->place.count; i++) {
        if (writer->frames[i].system_name[0] == '.') {
            return false;
        }
    }
    return true;
}

/* Return a name up to its first dot, until the next call. NULL if memory runs out
 * (failed is set then). */
static const char *
plain_name(struct writer *writer, const char *name)
{
    const size_t length = strcspn(name, ".");

    if (length >= writer->name_room) {
        char *const larger = realloc(writer->name, length + 1);

        if (larger == NULL) {
            writer->failed = true;
            return NULL;
        }
        writer->name = larger;
        writer->name_room = length + 1;
    }
    memcpy(writer->name, name, length);
    writer->name[length] = '\0';
    return writer->name;
}

static struct sample_location
location_of(const struct sym_frame *frame)
{
    return (struct sample_location){.line =
                                        (frame->line - frame->start_line) & LINE_MASK};
}

/* Enter the chain of functions of writer->place into the tree, and count the hits at
 * its innermost location. */
static void
count_place(struct writer *writer, uint64_t hits)
{
    struct sample_location at = {.line = 0};
    uint32_t node = SAMPLE_TREE_NONE;

    for (size_t i = writer->place.count; i > 0; i--) {
        const struct sym_frame *const frame = &writer->frames[i - 1];
        const char *const name = plain_name(writer, frame->system_name);

        if (name == NULL) {
            return;
        }
        node = sample_tree_enter(&writer->tree, node, at, name);
        if (node == SAMPLE_TREE_NONE) {
            writer->failed = true;
            return;
        }
        at = location_of(frame);
    }
    writer->failed |= !sample_tree_count(&writer->tree, node, at, hits);
}

/* Count the hits of the chosen image's rows, as far as they lack nothing. */
static void
count_rows(struct writer *writer, size_t source)
{
    const struct profile *const profile = writer->profile;

    for (size_t i = 0; i < profile->row_count && !writer->failed; i++) {
        const struct profile_row *const row = &profile->rows[i];
        const uint64_t hits = row->hits[source];
        enum debug_missing missing = DEBUG_MISSING_LINE;

        if (hits == 0 || writer->image.first_of[row->image] != writer->image.chosen) {
            continue;
        }
        if (row->function != 0 && find_place(writer, row)) {
            missing = debug_check_place(&writer->place);
        }
        if (missing == DEBUG_MISSING_NOTHING && !has_plain_names(writer)) {
            missing = DEBUG_MISSING_PLAIN_NAME;
        }
        writer->check.hits[missing] += hits;
        if (missing == DEBUG_MISSING_NOTHING) {
            count_place(writer, hits);
        }
    }
}

/* --- the file --- */

static void
put_word(FILE *out, uint32_t word)
{
    const unsigned char bytes[4] = {(unsigned char)word, (unsigned char)(word >> 8),
                                    (unsigned char)(word >> 16),
                                    (unsigned char)(word >> 24)};

    fwrite(bytes, 1, sizeof(bytes), out);
}

static void
put_count(FILE *out, uint64_t count)
{
    put_word(out, (uint32_t)count);
    put_word(out, (uint32_t)(count >> 32));
}

static void
put_names(FILE *out, const struct string_set *names)
{
    put_word(out, TAG_NAMES);
    put_word(out, 0);
    put_word(out, (uint32_t)names->count);
    for (size_t i = 0; i < names->count && !ferror(out); i++) {
        const size_t size = strlen(names->texts[i]) + 1;

        put_word(out, (uint32_t)size);
        fwrite(names->texts[i], 1, size, out);
    }
}

/* Write a function and what was inlined into it. The recursion is at
 * most DEPTH_MAX deep. */
static void
put_instance(FILE *out, const struct sample_tree *tree, const struct sample_node *node)
{
    put_word(out, node->name);
    put_word(out, node->count_count);
    put_word(out, node->child_count);
    for (uint32_t i = 0; i < node->count_count; i++) {
        const struct sample_count *const count = &tree->counts[node->first_count + i];

        put_word(out, count->at.line << LINE_SHIFT);
        put_word(out, 0); /* targets of calls */
        put_count(out, count->hits);
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct sample_node *const child =
            &tree->nodes[tree->children[node->first_child + i]];

        put_word(out, child->call.line << LINE_SHIFT);
        put_instance(out, tree, child);
    }
}

static void
put_file(FILE *out, const struct sample_tree *tree)
{
    put_word(out, AFDO_MAGIC);
    put_word(out, AFDO_VERSION);
    put_word(out, 0); /* gcc skips this word */
    put_names(out, &tree->names);
    put_word(out, TAG_FUNCTIONS);
    put_word(out, 0);
    put_word(out, tree->function_count);
    for (uint32_t i = 0; i < tree->function_count && !ferror(out); i++) {
        const struct sample_node *const node = &tree->nodes[tree->children[i]];

        put_count(out,
                  node->count_count > 0 ? tree->counts[node->first_count].hits : 0);
        put_instance(out, tree, node);
    }
    put_word(out, TAG_MODULES);
    put_word(out, 0);
    put_word(out, 0);
}

static bool
put_all(struct writer *writer, const struct export_options *options,
        struct export_messages *messages)
{
    char name[128];

    if (!one_image_choose(&writer->image, writer->profile, options, ONE_IMAGE_OF_FILE,
                          messages)) {
        return false;
    }
    one_image_note(&writer->image, options, messages);
    count_rows(writer, options->source);
    if (writer->budget.refused) {
        return export_refuse(messages, options,
                             "it would take more than 1 GiB of memory");
    }
    text_show(name, sizeof(name), writer->profile->images[writer->image.chosen].path);
    if (writer->failed || !debug_check_pass(&writer->check, name, options, messages) ||
        !sample_tree_sort(&writer->tree)) {
        return false;
    }
    put_file(writer->out, &writer->tree);
    return true;
}

/* Give number 0 to the empty name. Returns false if memory runs out. */
static bool
take_name_0(struct writer *writer)
{
    return string_set_add(&writer->tree.names, "", 0) == 0;
}

bool
export_gcc_afdo(FILE *out, const struct profile *profile,
                const struct export_options *options, struct export_messages *messages)
{
    struct writer *const writer = calloc(1, sizeof(*writer));
    bool done;

    if (writer == NULL) {
        return false;
    }
    writer->out = out;
    writer->profile = profile;
    writer->check = (struct debug_check){.remedy = "-g, and record without --no-lines",
                                         .discriminators = true};
    sym_budget_begin(&writer->budget, 0);
    writer->tree.budget = &writer->budget;
    writer->tree.sums = true;
    done = take_name_0(writer) && put_all(writer, options, messages);
    one_image_finish(&writer->image);
    sample_tree_finish(&writer->tree);
    free(writer->name);
    free(writer);
    return done;
}
