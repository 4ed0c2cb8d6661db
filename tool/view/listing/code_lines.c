/* SPDX-License-Identifier: MIT */
/* code_lines.c - lines of a part: instructions, with source lines between them. */
#include "view/listing/code_view.h"

#include "base/path.h"
#include "view/listing/decode.h"

#include <inttypes.h>
#include <string.h>

/* Copy a text that may be NULL into the listing. */
static const char *
copy(struct code_view *code, const char *text)
{
    return listing_copy(code->listing, text == NULL ? "" : text,
                        text == NULL ? 0 : strlen(text));
}

/* Add the source line at which the next instructions begin. */
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

/* Add a line with the function and file of the next instruction, and one with its
 * source line, if they differ from those of the instruction before. */
static void
add_place(struct code_view *code, const struct sym_name *name)
{
    const char *const function = copy(code, name->name);
    const char *const file = copy(code, name->file);
    /* The copies of equal texts are one. */
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
            path_last_part(file), path_last_part(caller->file), caller->line);
    } else if (moved) {
        listing_add_line(code->listing, LISTING_PLACE)->text = listing_format(
            code->listing, "%s%s%s", function, file[0] == '\0' ? "" : "  ", file);
    }
    if (name->line > 0) {
        add_source_line(code);
    }
}

/* Return the text of a jump or call with the name of its target: "call 0x1030
 * <puts@plt>" for "call 0x1030". Returns the text itself if the target has no name. */
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
    /* The outermost name is that of the symbol. */
    const char *const shown =
        name.caller_count > 0 ? name.callers[name.caller_count - 1].name : name.name;

    return target == start ? listing_format(code->listing, "%s <%s>", text, shown)
                           : listing_format(code->listing, "%s <%s+0x%" PRIx64 ">",
                                            text, shown, target - start);
}

/* Add the line of an instruction, or of bytes that were not decoded. */
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

/* Add a line for a bucket in which no instruction starts. Interrupts find execution at
 * starts of instructions, so such a bucket should have no hits. */
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

/* Add the line of an instruction to its bucket. */
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

/* Add one line for count instructions of other functions that are not shown; none if
 * count is 0. */
static void
add_gap(struct code_view *code, size_t count)
{
    if (count > 0) {
        listing_add_line(code->listing, LISTING_GAP)->text =
            listing_format(code->listing, "%zu instructions of other functions", count);
        code->function = code->file = NULL;
    }
}

void
code_add_lines(struct code_view *code, const struct part *part)
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
        if (listing->buckets[bucket].instructions == 0 && !part->target_only) {
            add_odd_bucket(code, (uint32_t)bucket);
        }
    }
    add_gap(code, skipped);
}

void
code_add_heading(struct code_view *code, const struct part *part)
{
    struct sym_name name;
    const char *symbol = "";

    if (sym_image_lookup_address(code->image, part->start, &name)) {
        symbol = name.caller_count > 0 ? name.callers[name.caller_count - 1].name
                                       : name.name;
    }
    listing_add_line(code->listing, LISTING_HEADING)->text = listing_format(
        code->listing, "%s%s%s0x%" PRIx64 " to 0x%" PRIx64,
        part->target_only && code->view->target->kind == LISTING_OF_FUNCTION
            ? "inlined into "
            : "",
        symbol, symbol[0] != '\0' ? ", " : "", part->start, part->end);
    code->file = NULL;
    code->function = NULL;
    code->line = 0;
}
