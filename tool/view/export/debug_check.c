/* SPDX-License-Identifier: MIT */
/* debug_check.c - counts the hits by what is missing, looks for a discriminator, and
 * decides. */
#include "view/export/debug_check.h"

#include "view/export/messages.h"

#include <inttypes.h>
#include <string.h>

static const char *const MISSING[DEBUG_MISSING_KINDS] = {
    [DEBUG_MISSING_LINE] = "source lines",
    [DEBUG_MISSING_DECLARATION] = "lines where functions are declared",
    [DEBUG_MISSING_LINKAGE_NAME] = "linkage names",
    [DEBUG_MISSING_PLAIN_NAME] = "names that do not begin with a dot",
};

/* Buckets that are looked up at once. */
enum { BUCKETS_AT_ONCE = 4096 };

void
debug_expect_buckets(const struct linked_code *code, size_t number)
{
    uint64_t places[BUCKETS_AT_ONCE];
    size_t count = 0;

    if (number % BUCKETS_AT_ONCE != 0) {
        return;
    }
    for (size_t i = number; i < code->count && count < BUCKETS_AT_ONCE; i++) {
        places[count++] = code->buckets[i].address;
    }
    sym_image_expect(code->file.image, /* by_offset */ false, places, count,
                     code->bytes);
}

struct debug_place
debug_place_find(struct sym_image *image, uint64_t address, uint64_t bytes)
{
    struct debug_place place = {.symbol = ""};
    struct sym_name name;

    if (sym_image_lookup_bucket(image, address, bytes, &name)) {
        place.symbol = name.caller_count > 0
                           ? name.callers[name.caller_count - 1].system_name
                           : name.system_name;
    }
    place.frames = name.frames;
    place.count = name.frame_count;
    place.at = name.at;
    if (name.has_start && name.code_start <= name.at && name.at < name.code_end) {
        place.start = name.code_start;
        place.end = name.code_end;
    }
    return place;
}

/* Return whether a name is a mangled one of C++ or Rust. Names of C are their
 * own linkage names. */
static bool
is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

enum debug_missing
debug_check_place(const struct debug_place *place)
{
    bool lines = place->count > 0;
    bool declarations = true;
    bool names = true;

    for (size_t i = 0; i < place->count; i++) {
        const struct sym_frame *const frame = &place->frames[i];

        lines = lines && frame->line > 0;
        declarations = declarations && frame->start_line > 0;
        /* Names with these characters are source names, not linkage names. */
        names = names && frame->system_name[0] != '\0' &&
                strpbrk(frame->system_name, " :(<") == NULL;
    }
    /* Where the symbol is mangled, the outermost frame must have a mangled name. */
    if (place->count > 0 && is_mangled(place->symbol)) {
        names = names && is_mangled(place->frames[place->count - 1].system_name);
    }
    return !lines          ? DEBUG_MISSING_LINE
           : !declarations ? DEBUG_MISSING_DECLARATION
           : !names        ? DEBUG_MISSING_LINKAGE_NAME
                           : DEBUG_MISSING_NOTHING;
}

/* search - the state of a search for a discriminator in rows of line tables. */
struct search {
    struct sym_image *image;
    bool found;
};

/* Look for a discriminator at a line row; a sym_line_row. Returns false
 * when one was found. */
static bool
check_row(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct search *const search = context;
    struct sym_name name;

    (void)file;
    (void)line;
    (void)sym_image_lookup_address(search->image, address, &name);
    for (size_t i = 0; i < name.frame_count && !search->found; i++) {
        search->found = name.frames[i].discriminator != 0;
    }
    return !search->found;
}

void
debug_check_code(struct debug_check *check, const struct linked_code *code)
{
    struct search search = {.image = code->file.image};
    uint64_t end = 0;

    for (size_t i = 0; i < code->count; i++) {
        struct debug_place place;

        debug_expect_buckets(code, i);
        place = debug_place_find(search.image, code->buckets[i].address, code->bytes);
        check->hits[debug_check_place(&place)] += code->buckets[i].hits;
        if (!search.found && place.at >= end && place.start < place.end) {
            end = place.end;
            (void)sym_image_line_rows(search.image, place.start, end, check_row,
                                      &search);
        }
    }
    check->discriminators = search.found;
}

bool
debug_check_pass(const struct debug_check *check, const char *name,
                 const struct export_options *options, struct export_messages *messages)
{
    enum debug_missing most = DEBUG_MISSING_LINE;
    uint64_t lacking = 0;

    for (int i = DEBUG_MISSING_LINE; i < DEBUG_MISSING_KINDS; i++) {
        lacking += check->hits[i];
        most = check->hits[i] > check->hits[most] ? (enum debug_missing)i : most;
    }
    if (lacking >= check->hits[DEBUG_MISSING_NOTHING]) {
        return export_refuse(messages, options,
                             "the debug information of %s has no %s for %" PRIu64
                             " of %" PRIu64 " hits: compile with %s%s",
                             name, MISSING[most], check->hits[most],
                             lacking + check->hits[DEBUG_MISSING_NOTHING],
                             check->remedy,
                             most == DEBUG_MISSING_LINKAGE_NAME
                                 ? "; gcc gives code of local types, such as "
                                   "lambdas, none"
                                 : "");
    }
    if (!check->discriminators) {
        return export_refuse(
            messages, options,
            "the debug information of %s has no discriminators: compile with %s", name,
            check->remedy);
    }
    if (lacking > 0) {
        export_note(
            messages, options,
            "%" PRIu64 " of %" PRIu64 " hits are of no use: their code has no %s",
            lacking, lacking + check->hits[DEBUG_MISSING_NOTHING], MISSING[most]);
    }
    return true;
}
