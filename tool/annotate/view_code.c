/* SPDX-License-Identifier: MIT */
/*
 * view_code.c - instructions with the hits of their buckets, source lines between them.
 *
 * A target is made of parts: the symbol that a function is, and each symbol that it was inlined into,
 * of which only instructions of the function are shown. A bucket in which an instruction that is shown
 * starts is shown with all instructions that start in it, or its hits would seem to be of that one.
 */
#include "annotate/decode.h"
#include "annotate/views.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A symbol of more code is forged, or nobody reads it: the rest is left out. */
#define PART_BYTES_MAX (UINT64_C(4) << 20)
/* Of all parts together. */
#define CODE_BYTES_MAX (UINT64_C(16) << 20)
/* Where no symbol is, code around an address, and rows that are this near are one part. */
#define AROUND_BYTES UINT64_C(256)

/* part - code that lies together. Addresses are the file's. */
struct part {
    uint64_t start;
    uint64_t end;
    bool inlined; /* only what is of the target is shown */
    bool symbol;  /* start is where an instruction starts */
};

/* insn - one instruction, or bytes that are not known. */
struct insn {
    uint64_t address;
    uint32_t size;
    const char *text; /* the listing's; NULL: not known */
    bool uncertain;
    bool shown;
};

/* code_view - what is being listed, and the part at hand. */
struct code_view {
    struct view *view;
    struct listing *listing;
    uint32_t image_index;
    struct sym_image *image;
    uint64_t
        shift; /* from addresses of the profile to those of the file, modulo 2^64 */
    struct view_row *rows;
    size_t row_count;
    struct part *parts;
    size_t part_count;
    /* of the part at hand: */
    unsigned char *bytes;
    size_t size;
    uint64_t *sync;
    size_t sync_count;
    size_t sync_room;
    struct insn *insns;
    size_t insn_count;
    size_t insn_room;
    size_t first_bucket; /* of the listing's */
    /* of what was told last: */
    const char *file;
    const char *function;
    uint32_t line;
    uint64_t code_bytes; /* of all parts until now */
    size_t first_line;   /* of the image, in the listing */
};

static bool
out_of_memory(struct code_view *code)
{
    code->listing->private->failed = true;
    return false;
}

/* --- parts --- */

/* Profiles of other tools have addresses as run: their mapping tells where that is in the file. */
static uint64_t
find_shift(const struct code_view *code)
{
    const struct profile_image *image = &code->view->profile->images[code->image_index];
    uint64_t linked;

    if (code->view->profile->bucket_bytes > 0 ||
        !sym_image_address(code->image, image->offset, &linked)) {
        return 0;
    }
    return linked - image->start;
}

static bool
is_outermost(const struct profile *profile, const struct listing_target *target,
             const struct profile_row *row)
{
    struct listing_place place = listing_first_place(row);

    while (listing_next_place(profile, &place)) {
    }
    return target->kind == LISTING_OF_FUNCTION &&
           listing_is_place(profile, target, &place);
}

/* The symbol of a row; a bucket may begin in the padding before it. */
static struct part
part_of_row(const struct code_view *code, const struct view_row *row)
{
    struct part part = {row->start + code->shift, row->end + code->shift, false, true};
    uint64_t start;
    uint64_t end;

    if (sym_image_range(code->image, part.start, &start, &end) ||
        sym_image_range(code->image, part.end - 1, &start, &end)) {
        part.start = start;
        part.end = end;
    } else {
        part.symbol = false;
    }
    part.inlined = !is_outermost(code->view->profile, code->view->target, row->row);
    return part;
}

/* Joins it to the last one if that has the same code. */
static void
add_part(struct code_view *code, struct part part)
{
    struct part *last =
        code->part_count == 0 ? NULL : &code->parts[code->part_count - 1];
    const uint64_t near = part.symbol ? 0 : AROUND_BYTES;

    if (last != NULL && last->symbol == part.symbol && part.start >= last->start &&
        (part.start < last->end || part.start - last->end < near)) {
        last->end = part.end > last->end ? part.end : last->end;
        last->inlined &= part.inlined;
        return;
    }
    code->parts[code->part_count++] = part;
}

static void
add_address_part(struct code_view *code)
{
    const uint64_t address = code->view->target->address + code->shift;
    struct part part = {.symbol = true};

    if (!sym_image_range(code->image, address, &part.start, &part.end)) {
        part.symbol = false;
        part.start = address > AROUND_BYTES ? address - AROUND_BYTES : 0;
        part.end =
            address < UINT64_MAX - AROUND_BYTES ? address + AROUND_BYTES : UINT64_MAX;
    }
    add_part(code, part);
}

static bool
find_parts(struct code_view *code)
{
    code->parts = calloc(code->row_count + 1, sizeof(*code->parts));
    if (code->parts == NULL) {
        return out_of_memory(code);
    }
    if (code->view->target->kind == LISTING_OF_ADDRESS) {
        add_address_part(code);
    }
    for (size_t i = 0; i < code->row_count; i++) {
        if (code->rows[i].of_target) {
            add_part(code, part_of_row(code, &code->rows[i]));
        }
    }
    return code->part_count > 0;
}

/* --- bytes and instructions --- */

static bool
add_sync(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct code_view *code = context;
    uint64_t *larger;

    (void)file;
    (void)line;
    if (code->sync_count > 0 && code->sync[code->sync_count - 1] >= address) {
        return true;
    }
    if (code->sync_count == code->sync_room) {
        const size_t room = code->sync_room == 0 ? 256 : code->sync_room * 2;

        larger = reallocarray(code->sync, room, sizeof(*larger));
        if (larger == NULL) {
            return out_of_memory(code);
        }
        code->sync = larger;
        code->sync_room = room;
    }
    code->sync[code->sync_count++] = address;
    return true;
}

static bool
add_insn(void *context, const struct decoded *decoded)
{
    struct code_view *code = context;
    struct insn *larger;

    if (code->insn_count == code->insn_room) {
        const size_t room = code->insn_room == 0 ? 256 : code->insn_room * 2;

        larger = reallocarray(code->insns, room, sizeof(*larger));
        if (larger == NULL) {
            return out_of_memory(code);
        }
        code->insns = larger;
        code->insn_room = room;
    }
    code->insns[code->insn_count++] = (struct insn){
        .address = decoded->address,
        .size = decoded->size,
        .text = decoded->text == NULL
                    ? NULL
                    : listing_copy(code->listing, decoded->text, strlen(decoded->text)),
        .uncertain = decoded->uncertain,
    };
    return !listing_failed(code->listing);
}

/* The bytes of a part. False: there are none in the file, or all parts are too large. */
static bool
read_part(struct code_view *code, const struct part *part)
{
    uint64_t size = part->end - part->start;

    if (size > PART_BYTES_MAX || size > CODE_BYTES_MAX - code->code_bytes) {
        size = PART_BYTES_MAX < CODE_BYTES_MAX - code->code_bytes
                   ? PART_BYTES_MAX
                   : CODE_BYTES_MAX - code->code_bytes;
        listing_add_note(
            code->listing, LISTING_NOTE_IMAGE,
            "the code is too large to be listed whole: what is behind 0x%" PRIx64
            " is left out",
            part->start + size);
        code->listing->outside = true;
    }
    free(code->bytes);
    code->size = 0;
    code->bytes = malloc((size_t)size + 1);
    if (code->bytes == NULL) {
        return out_of_memory(code);
    }
    code->size = sym_image_read(code->image, part->start, code->bytes, (size_t)size);
    code->code_bytes += code->size;
    return code->size > 0;
}

static bool
decode(const struct code_view *code, const struct decode_code *wanted, char *why,
       size_t why_size)
{
    const struct annotator_settings *settings =
        annotator_settings_of(code->view->annotator);

    if (settings->decoder == LISTING_DECODE_INSIDE && decode_has_capstone()) {
        return decode_by_capstone(wanted, add_insn, (void *)(uintptr_t)code, why,
                                  why_size);
    }
    return decode_by_objdump(wanted, add_insn, (void *)(uintptr_t)code, why, why_size);
}

/* False after a note. */
static bool
decode_part(struct code_view *code, const struct part *part)
{
    const struct annotator_settings *settings =
        annotator_settings_of(code->view->annotator);
    struct decode_code wanted = {
        .kind = sym_image_code(code->image),
        .bytes = code->bytes,
        .size = code->size,
        .address = part->start,
        .intel = settings->intel,
        .objdump = settings->objdump,
    };
    char why[400];

    code->sync_count = 0;
    code->insn_count = 0;
    if (!sym_image_line_rows(code->image, part->start, part->start + code->size,
                             add_sync, code)) {
        return false;
    }
    wanted.sync = code->sync;
    wanted.sync_count = code->sync_count;
    if (!decode(code, &wanted, why, sizeof(why))) {
        listing_add_note(code->listing, LISTING_NOTE_DECODER, "no instructions: %s",
                         why);
        return false;
    }
    return true;
}

/* --- which instructions are shown --- */

static bool
is_named(const struct listing_target *target, const char *name, const char *system_name)
{
    return name != NULL && strcmp(name, target->name) == 0 &&
           strcmp(system_name, target->system_name) == 0;
}

/* Is the code at an address of the target, or of what was inlined into it? */
static bool
is_of_target(struct code_view *code, uint64_t address)
{
    const struct listing_target *target = code->view->target;
    const bool by_line = target->kind == LISTING_OF_LINE;
    struct sym_name name;

    if (!sym_image_lookup_address(code->image, address, &name)) {
        return false;
    }
    if (by_line ? name.line == target->line && strcmp(name.file, target->file) == 0
                : is_named(target, name.name, name.system_name)) {
        return true;
    }
    for (size_t i = 0; i < name.caller_count; i++) {
        const struct sym_frame *frame = &name.callers[i];

        if (by_line
                ? frame->line == target->line && strcmp(frame->file, target->file) == 0
                : is_named(target, frame->name, frame->system_name)) {
            return true;
        }
    }
    return false;
}

static void
choose_insns(struct code_view *code, const struct part *part)
{
    const uint64_t known = part->symbol           ? part->start
                           : code->sync_count > 0 ? code->sync[0]
                                                  : part->end;

    for (size_t i = 0; i < code->insn_count; i++) {
        struct insn *insn = &code->insns[i];

        insn->shown = !part->inlined || is_of_target(code, insn->address);
        insn->uncertain |= insn->address < known;
    }
}

/* --- buckets --- */

/* The first row that ends behind address; rows of one profile have one size. */
static size_t
find_first_row(const struct code_view *code, uint64_t address)
{
    size_t low = 0;
    size_t high = code->row_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (code->rows[middle].end + code->shift <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Has the part a bucket that is of its neighbour as well? */
static void
note_border(struct code_view *code, const struct part *part,
            const struct listing_bucket *bucket)
{
    if (part->symbol && (bucket->start < part->start || bucket->end > part->end)) {
        listing_add_note(code->listing, LISTING_NOTE_BUCKETS,
                         "the bucket at 0x%" PRIx64 " holds code of the function's "
                         "neighbour as well: its hits may be of either",
                         bucket->start);
    }
}

/* Rows of the part as buckets that do not overlap. Hits of all who ran there are added up. */
static void
add_buckets(struct code_view *code, const struct part *part)
{
    struct listing *listing = code->listing;

    code->first_bucket = listing->bucket_count;
    for (size_t i = find_first_row(code, part->start);
         i < code->row_count && code->rows[i].start + code->shift < part->end; i++) {
        const uint64_t start = code->rows[i].start + code->shift;
        const uint64_t end = code->rows[i].end + code->shift;
        struct listing_bucket *bucket =
            listing->bucket_count == code->first_bucket
                ? NULL
                : &listing->buckets[listing->bucket_count - 1];

        if (bucket == NULL || start >= bucket->end) {
            const size_t hits_at = listing_add_hits(listing);

            bucket = listing_add_bucket(listing, start, end, code->image_index);
            bucket->hits_at = hits_at;
        }
        bucket->end = end > bucket->end ? end : bucket->end;
        listing_sum(listing, bucket->hits_at, code->rows[i].row->hits);
        if (code->view->target->kind == LISTING_OF_ADDRESS) {
            listing_add_clamped(listing->own, code->rows[i].row->hits,
                                listing->source_count);
        }
    }
}

/* Counts the instructions that start in each bucket, and shows all of a bucket or none. */
static void
count_insns(struct code_view *code)
{
    struct listing *listing = code->listing;
    size_t at = 0;

    for (size_t i = code->first_bucket; i < listing->bucket_count; i++) {
        struct listing_bucket *bucket = &listing->buckets[i];
        bool shown = false;
        size_t first;

        while (at < code->insn_count && code->insns[at].address < bucket->start) {
            at++;
        }
        for (first = at; at < code->insn_count && code->insns[at].address < bucket->end;
             at++) {
            bucket->instructions++;
            shown |= code->insns[at].shown;
        }
        for (size_t k = first; k < at && shown; k++) {
            code->insns[k].shown = true;
        }
    }
}

/* --- lines --- */

static const char *
copy(struct code_view *code, const char *text)
{
    return listing_copy(code->listing, text == NULL ? "" : text,
                        text == NULL ? 0 : strlen(text));
}

static void
add_source_line(struct code_view *code)
{
    struct listing_line *line = listing_add_line(code->listing, LISTING_SOURCE);
    const struct source_text *source;
    const char *text = NULL;

    line->file = code->file;
    line->line = code->line;
    line->function = code->function;
    line->has_code = true;
    line->missing = true;
    source = annotator_source(code->view->annotator, code->listing, code->file,
                              sym_image_written_s(code->image));
    if (source != NULL) {
        text = view_copy_line(code->view, source, code->line);
    }
    if (text != NULL) {
        line->text = text;
        line->missing = false;
    }
}

/* Says which function and line the instructions from here on are of, if that is another. */
static void
add_place(struct code_view *code, const struct sym_name *name)
{
    const char *const function = copy(code, name->name);
    const char *const file = copy(code, name->file);
    const bool moved = function != code->function || file != code->file;
    const struct sym_frame *caller = name->caller_count > 0 ? name->callers : NULL;

    if (!moved && name->line == code->line) {
        return;
    }
    code->function = function;
    code->file = file;
    code->line = name->line;
    if (moved && caller != NULL) {
        listing_add_line(code->listing, LISTING_PLACE)->text = listing_format(
            code->listing, "%s  %s, inlined at %s:%" PRIu32, function,
            listing_last_part(file), listing_last_part(caller->file), caller->line);
    } else if (moved) {
        listing_add_line(code->listing, LISTING_PLACE)->text = listing_format(
            code->listing, "%s%s%s", function, file[0] == '\0' ? "" : "  ", file);
    }
    if (name->line > 0) {
        add_source_line(code);
    }
}

/* "call 0x1030" to "call 0x1030 <puts@plt>". */
static const char *
name_target(struct code_view *code, const char *text, uint64_t target)
{
    struct sym_name name;
    uint64_t start;
    uint64_t end;

    if (!sym_image_range(code->image, target, &start, &end) ||
        !sym_image_lookup_address(code->image, start, &name)) {
        return text;
    }
    /* The outermost name is the symbol's. */
    const char *const shown =
        name.caller_count > 0 ? name.callers[name.caller_count - 1].name : name.name;

    return target == start ? listing_format(code->listing, "%s <%s>", text, shown)
                           : listing_format(code->listing, "%s <%s+0x%" PRIx64 ">",
                                            text, shown, target - start);
}

static struct listing_line *
add_insn_line(struct code_view *code, const struct part *part, const struct insn *insn)
{
    struct decode_jump jump = {.has_target = false};
    const char *text = "(not decoded)";
    const struct sym_code kind = sym_image_code(code->image);
    struct listing_line *line;
    const uint64_t asked = code->view->target->address + code->shift;

    if (insn->text != NULL) {
        jump = decode_find_jump(&kind, insn->text);
        text =
            jump.has_target ? name_target(code, insn->text, jump.target) : insn->text;
    }
    line = listing_add_line(code->listing,
                            insn->text == NULL ? LISTING_BYTES : LISTING_INSTRUCTION);
    line->text = text;
    line->file = code->file;
    line->line = code->line;
    line->function = code->function;
    line->address = insn->address;
    line->size = insn->size;
    line->uncertain = insn->uncertain;
    line->has_target = jump.has_target;
    line->target_address = jump.target;
    line->is_call = jump.is_call;
    line->chosen = code->view->target->kind == LISTING_OF_ADDRESS &&
                   insn->address <= asked && asked - insn->address < insn->size;
    memcpy(line->bytes, code->bytes + (insn->address - part->start),
           insn->size < sizeof(line->bytes) ? insn->size : sizeof(line->bytes));
    return line;
}

/* A bucket in which no instruction starts: hits of it should not be. */
static void
add_odd_bucket(struct code_view *code, uint32_t number)
{
    struct listing_bucket *bucket = &code->listing->buckets[number];
    struct listing_line *line = listing_add_line(code->listing, LISTING_BUCKET);

    line->text = copy(code, "(no instruction starts in this bucket)");
    line->file = code->file;
    line->line = code->line;
    line->function = code->function;
    line->address = bucket->start;
    line->size = bucket->end - bucket->start > UINT32_MAX
                     ? UINT32_MAX
                     : (uint32_t)(bucket->end - bucket->start);
    line->bucket = number;
    line->hits_at = bucket->hits_at;
    bucket->first_line = bucket->last_line = (uint32_t)(code->listing->count - 1);
}

/* Puts the line of an instruction into its bucket. */
static void
join_bucket(struct code_view *code, uint32_t number, struct listing_line *line)
{
    struct listing_bucket *bucket = &code->listing->buckets[number];

    line->bucket = number;
    bucket->last_line = (uint32_t)(code->listing->count - 1);
    if (bucket->first_line == LISTING_NONE) {
        bucket->first_line = bucket->last_line;
        line->hits_at = bucket->hits_at;
    }
}

/* Hidden instructions of another function leave one line behind. */
static void
add_gap(struct code_view *code, size_t count)
{
    if (count > 0) {
        listing_add_line(code->listing, LISTING_GAP)->text =
            listing_format(code->listing, "%zu instructions of other functions", count);
        code->function = code->file = NULL;
    }
}

static void
add_lines(struct code_view *code, const struct part *part)
{
    struct listing *listing = code->listing;
    size_t bucket = code->first_bucket;
    size_t skipped = 0;

    for (size_t i = 0; i < code->insn_count; i++) {
        const struct insn *insn = &code->insns[i];
        struct sym_name name;

        for (; bucket < listing->bucket_count &&
               listing->buckets[bucket].end <= insn->address;
             bucket++) {
            if (listing->buckets[bucket].instructions == 0 && skipped == 0) {
                add_odd_bucket(code, (uint32_t)bucket);
            }
        }
        if (!insn->shown) {
            skipped++;
            continue;
        }
        add_gap(code, skipped);
        skipped = 0;
        (void)sym_image_lookup_address(code->image, insn->address, &name);
        add_place(code, &name);
        struct listing_line *line = add_insn_line(code, part, insn);

        if (bucket < listing->bucket_count &&
            listing->buckets[bucket].start <= insn->address) {
            join_bucket(code, (uint32_t)bucket, line);
        }
    }
    for (; bucket < listing->bucket_count; bucket++) {
        if (listing->buckets[bucket].instructions == 0 && !part->inlined) {
            add_odd_bucket(code, (uint32_t)bucket);
        }
    }
    add_gap(code, skipped);
}

/* Forgets buckets of the part that no line shows: they are of other functions. */
static void
drop_hidden_buckets(struct code_view *code)
{
    struct listing *listing = code->listing;
    size_t kept = code->first_bucket;

    for (size_t i = code->first_bucket; i < listing->bucket_count; i++) {
        const struct listing_bucket bucket = listing->buckets[i];

        if (bucket.first_line == LISTING_NONE) {
            continue;
        }
        for (uint32_t k = bucket.first_line; k <= bucket.last_line; k++) {
            if (listing->lines[k].bucket == i) {
                listing->lines[k].bucket = (uint32_t)kept;
            }
        }
        listing->buckets[kept++] = bucket;
    }
    listing->bucket_count = kept;
}

/* A bracket where several lines share a bucket. */
static void
add_brackets(struct code_view *code, const struct part *part)
{
    struct listing *listing = code->listing;
    bool several = false;

    for (size_t i = code->first_bucket; i < listing->bucket_count; i++) {
        const struct listing_bucket *bucket = &listing->buckets[i];

        note_border(code, part, bucket);
        if (bucket->first_line == bucket->last_line) {
            continue;
        }
        several = true;
        for (uint32_t k = bucket->first_line; k <= bucket->last_line; k++) {
            listing->lines[k].bracket = LISTING_BRACKET_INSIDE;
        }
        listing->lines[bucket->first_line].bracket = LISTING_BRACKET_FIRST;
        listing->lines[bucket->last_line].bracket = LISTING_BRACKET_LAST;
    }
    if (several) {
        listing_add_note(listing, LISTING_NOTE_BUCKETS,
                         "a bracket is a bucket in which several instructions start: "
                         "its hits are of all of these together");
    }
}

static void
add_heading(struct code_view *code, const struct part *part)
{
    struct sym_name name;
    const char *symbol = "";

    if (sym_image_lookup_address(code->image, part->start, &name)) {
        symbol = name.caller_count > 0 ? name.callers[name.caller_count - 1].name
                                       : name.name;
    }
    listing_add_line(code->listing, LISTING_HEADING)->text =
        listing_format(code->listing, "%s%s%s0x%" PRIx64 " to 0x%" PRIx64,
                       part->inlined && code->view->target->kind == LISTING_OF_FUNCTION
                           ? "inlined into "
                           : "",
                       symbol, symbol[0] != '\0' ? ", " : "", part->start, part->end);
    code->file = NULL;
    code->function = NULL;
    code->line = 0;
}

/* False: nothing of it could be shown. */
static bool
list_part(struct code_view *code, const struct part *part)
{
    if (!read_part(code, part)) {
        listing_add_note(code->listing, LISTING_NOTE_IMAGE,
                         "the file has no code at 0x%" PRIx64, part->start);
        return false;
    }
    if (!decode_part(code, part)) {
        return false;
    }
    if (!part->symbol) {
        listing_add_note(code->listing, LISTING_NOTE_DECODER,
                         "no symbol tells where code begins around 0x%" PRIx64
                         ": the first instructions shown may be wrong",
                         part->start);
    }
    choose_insns(code, part);
    add_heading(code, part);
    add_buckets(code, part);
    count_insns(code);
    add_lines(code, part);
    if (!listing_failed(code->listing)) {
        drop_hidden_buckets(code);
        add_brackets(code, part);
    }
    return true;
}

/* --- jumps --- */

/* by_address - lines of instructions, to be searched. */
struct by_address {
    uint64_t address;
    uint32_t line;
};

static int
compare_addresses(const void *left, const void *right)
{
    const struct by_address *a = left;
    const struct by_address *b = right;

    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    return (a->line > b->line) - (a->line < b->line);
}

static void
mark_targets(struct code_view *code)
{
    struct listing *listing = code->listing;
    struct by_address *places = calloc(listing->count + 1, sizeof(*places));
    size_t count = 0;

    if (places == NULL) {
        out_of_memory(code);
        return;
    }
    for (size_t i = code->first_line; i < listing->count; i++) {
        if (listing->lines[i].kind == LISTING_INSTRUCTION) {
            places[count++] =
                (struct by_address){listing->lines[i].address, (uint32_t)i};
        }
    }
    qsort(places, count, sizeof(*places), compare_addresses);
    for (size_t i = code->first_line; i < listing->count; i++) {
        struct listing_line *line = &listing->lines[i];
        size_t low = 0;
        size_t high = line->has_target ? count : 0;

        while (low < high) {
            const size_t middle = low + (high - low) / 2;

            if (places[middle].address < line->target_address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (line->has_target && low < count &&
            places[low].address == line->target_address) {
            line->target = places[low].line;
            listing->lines[line->target].jumps += !line->is_call;
        }
    }
    free(places);
}

/* --- all --- */

static bool
list_image(struct view *view, uint32_t image)
{
    struct code_view code = {.view = view,
                             .listing = view->listing,
                             .image_index = image,
                             .first_line = view->listing->count};
    bool any = false;

    code.image = annotator_image(view->annotator, view->listing, view->profile, image);
    if (code.image != NULL) {
        code.shift = find_shift(&code);
        code.rows = view_rows(view, image, &code.row_count);
    }
    if (code.rows != NULL && find_parts(&code)) {
        for (size_t i = 0; i < code.part_count && !listing_failed(view->listing); i++) {
            any |= list_part(&code, &code.parts[i]);
        }
    }
    if (any) {
        mark_targets(&code);
    }
    free(code.rows);
    free(code.parts);
    free(code.bytes);
    free(code.sync);
    free(code.insns);
    return any;
}

/* The images that have code of a line. */
static bool
list_images(struct view *view)
{
    const struct profile *profile = view->profile;
    bool *images = calloc(profile->image_count + 1, sizeof(*images));
    bool any = false;

    for (size_t i = 0; images != NULL && i < profile->row_count; i++) {
        struct listing_place place;

        if (listing_find_place(profile, view->target, &profile->rows[i], &place)) {
            images[profile->rows[i].image] = true;
        }
    }
    for (uint32_t i = 0; images != NULL && i < profile->image_count; i++) {
        bool first = images[i];

        for (uint32_t k = 0; k < i && first; k++) {
            first = !images[k] || !listing_same_image(profile, i, k);
        }
        if (first) {
            any |= list_image(view, i);
        }
    }
    view->listing->private->failed |= images == NULL;
    free(images);
    return any;
}

bool
view_code(struct view *view)
{
    const bool any = view->target->image == LISTING_NONE
                         ? list_images(view)
                         : list_image(view, view->target->image);

    view->listing->has_instructions = any;
    return any;
}
