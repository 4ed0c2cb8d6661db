/* SPDX-License-Identifier: MIT */
/* debug_check.c - see debug_check.h. */
#include "view/export/debug_check.h"

#include "view/export/messages.h"

#include <inttypes.h>
#include <string.h>

static const char *const LACKS[DEBUG_LACK_KINDS] = {
    [DEBUG_LACKS_LINE] = "source lines",
    [DEBUG_LACKS_DECLARATION] = "lines where functions are declared",
    [DEBUG_LACKS_LINKAGE_NAME] = "linkage names",
};

struct debug_place
debug_place_find(struct sym_image *image, uint64_t address)
{
    struct debug_place place = {.symbol = ""};
    struct sym_name name;

    if (sym_image_lookup_address(image, address, &name)) {
        place.symbol = name.caller_count > 0
                           ? name.callers[name.caller_count - 1].system_name
                           : name.system_name;
    }
    /* Lookups share the frames. */
    place.count = sym_image_frames(image, address, &place.frames);
    return place;
}

/* Names of C++ and Rust; those of C are their own linkage names. */
static bool
is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

enum debug_lack
debug_check_place(const struct debug_place *place)
{
    bool lines = place->count > 0;
    bool declarations = true;
    bool names = true;

    for (size_t i = 0; i < place->count; i++) {
        const struct sym_frame *const frame = &place->frames[i];

        lines = lines && frame->line > 0;
        declarations = declarations && frame->start_line > 0;
        names = names && frame->system_name[0] != '\0' &&
                strpbrk(frame->system_name, " :(<") == NULL;
    }
    if (place->count > 0 && is_mangled(place->symbol)) {
        names = names && is_mangled(place->frames[place->count - 1].system_name);
    }
    return !lines          ? DEBUG_LACKS_LINE
           : !declarations ? DEBUG_LACKS_DECLARATION
           : !names        ? DEBUG_LACKS_LINKAGE_NAME
                           : DEBUG_LACKS_NOTHING;
}

/* search - for a discriminator in rows. */
struct search {
    struct sym_image *image;
    bool found;
};

static bool
look_at_row(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct search *const search = context;
    const struct sym_frame *frames;
    const size_t count = sym_image_frames(search->image, address, &frames);

    (void)file;
    (void)line;
    for (size_t i = 0; i < count && !search->found; i++) {
        search->found = frames[i].discriminator != 0;
    }
    return !search->found;
}

void
debug_check_code(struct debug_check *check, const struct linked_code *code)
{
    struct search search = {.image = code->file.image};
    uint64_t end = 0;

    for (size_t i = 0; i < code->count; i++) {
        const uint64_t at =
            sym_image_place(search.image, code->buckets[i].address, code->bytes);
        const struct debug_place place = debug_place_find(search.image, at);
        uint64_t start;

        check->hits[debug_check_place(&place)] += code->buckets[i].hits;
        if (!search.found && at >= end &&
            sym_image_range(search.image, at, &start, &end)) {
            (void)sym_image_line_rows(search.image, start, end, look_at_row, &search);
        }
    }
    check->discriminators = search.found;
}

bool
debug_check_pass(const struct debug_check *check, const char *name,
                 const struct export_options *options, struct export_said *said)
{
    enum debug_lack most = DEBUG_LACKS_LINE;
    uint64_t lacking = 0;

    for (int i = DEBUG_LACKS_LINE; i < DEBUG_LACK_KINDS; i++) {
        lacking += check->hits[i];
        most = check->hits[i] > check->hits[most] ? (enum debug_lack)i : most;
    }
    if (lacking >= check->hits[DEBUG_LACKS_NOTHING]) {
        return export_refuse(said, options,
                             "the debug information of %s has no %s for %" PRIu64
                             " of %" PRIu64 " hits: compile with %s",
                             name, LACKS[most], check->hits[most],
                             lacking + check->hits[DEBUG_LACKS_NOTHING], check->remedy);
    }
    if (!check->discriminators) {
        return export_refuse(
            said, options,
            "the debug information of %s has no discriminators: compile with %s", name,
            check->remedy);
    }
    if (lacking > 0) {
        export_note(said, options,
                    "%" PRIu64 " of %" PRIu64
                    " hits are of no use: their code has no %s",
                    lacking, lacking + check->hits[DEBUG_LACKS_NOTHING], LACKS[most]);
    }
    return true;
}
