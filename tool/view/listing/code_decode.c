/* SPDX-License-Identifier: MIT */
/* code_decode.c - decodes the instructions of a part, and chooses which of them are
 * shown. */
#include "view/listing/code_view.h"

#include "base/array.h"
#include "base/module.h"
#include "view/listing/decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most bytes of a part. A larger symbol is forged or too long to read; the rest is left
 * out. */
#define PART_BYTES_MAX (UINT64_C(4) << 20)
/* Instructions whose names are requested at once; those of the others are requested one
 * by one. */
enum { EXPECTED_MAX = 1 << 16 };

/* Most bytes of all parts of an image together. */
#define CODE_BYTES_MAX (UINT64_C(16) << 20)

/* Note the address of a line row, at which an instruction starts; a sym_line_row.
 * Returns false if memory runs out. */
static bool
add_start(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct code_view *code = context;
    uint64_t *larger;

    (void)file;
    (void)line;
    if (code->start_count > 0 && code->starts[code->start_count - 1] >= address) {
        return true;
    }
    larger =
        array_grow(code->starts, code->start_count, &code->start_room, sizeof(*larger));
    if (larger == NULL) {
        return code_out_of_memory(code);
    }
    code->starts = larger;
    code->starts[code->start_count++] = address;
    return true;
}

/* Add an instruction of the part; a decode_take. */
static bool
add_insn(void *context, const struct decoded *decoded)
{
    struct code_view *code = context;
    struct insn *const larger =
        array_grow(code->insns, code->insn_count, &code->insn_room, sizeof(*larger));

    if (larger == NULL) {
        return code_out_of_memory(code);
    }
    code->insns = larger;
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

/* Return the address to name if a part has no code: the one that was asked for if the
 * part is around it. */
static uint64_t
address_of(const struct code_view *code, const struct part *part)
{
    const struct listing_target *const target = code->view->target;
    const uint64_t asked = target->address + code->shift;

    return target->kind == LISTING_OF_ADDRESS && asked >= part->start &&
                   asked < part->end
               ? asked
               : part->start;
}

bool
code_read_part(struct code_view *code, const struct part *part)
{
    uint64_t size = part->end - part->start;

    if (size > PART_BYTES_MAX || size > CODE_BYTES_MAX - code->code_bytes) {
        size = PART_BYTES_MAX < CODE_BYTES_MAX - code->code_bytes
                   ? PART_BYTES_MAX
                   : CODE_BYTES_MAX - code->code_bytes;
        listing_add_note(
            code->listing, LISTING_NOTE_IMAGE,
            "the code is too large to be listed whole: code from 0x%" PRIx64
            " on is left out",
            part->start + size);
        code->listing->outside = true;
    }
    if (size == 0) {
        return false;
    }
    free(code->bytes);
    code->size = 0;
    code->bytes = malloc((size_t)size + 1);
    if (code->bytes == NULL) {
        return code_out_of_memory(code);
    }
    code->size = sym_image_read(code->image, part->start, code->bytes, (size_t)size);
    code->code_bytes += code->size;
    if (code->size == 0) {
        listing_add_note(code->listing, LISTING_NOTE_IMAGE,
                         "the file has no code at 0x%" PRIx64, address_of(code, part));
    }
    return code->size > 0;
}

/* Decode with capstone or, if that is not installed or the settings choose it, with
 * objdump. Returns false after adding a note with the reasons of both. */
static bool
decode(struct code_view *code, const struct decode_code *wanted)
{
    const bool inside =
        annotator_settings_of(code->view->annotator)->decoder == LISTING_DECODE_INSIDE;
    enum decode_result result = DECODE_ABSENT;
    char missing[MODULE_WHY_BYTES + 2] = "";
    char why[400];

    if (inside) {
        result = decode_by_capstone(wanted, add_insn, code, why, sizeof(why));
    }
    if (inside && result == DECODE_ABSENT) {
        snprintf(missing, sizeof(missing), "; %.*s", MODULE_WHY_BYTES - 1, why);
    }
    if (result == DECODE_DONE ||
        (result == DECODE_ABSENT &&
         decode_by_objdump(wanted, add_insn, code, why, sizeof(why)))) {
        return true;
    }
    listing_add_note(code->listing, LISTING_NOTE_DECODER, "no instructions: %s%s", why,
                     missing);
    return false;
}

/* Request the names at all instructions in one question to the reader, since each is
 * looked up twice later. Returns false if memory runs out. */
static bool
expect_names(struct code_view *code)
{
    const size_t count =
        code->insn_count < EXPECTED_MAX ? code->insn_count : EXPECTED_MAX;
    uint64_t *const addresses = calloc(count + 1, sizeof(*addresses));

    if (addresses == NULL) {
        return code_out_of_memory(code);
    }
    for (size_t i = 0; i < count; i++) {
        addresses[i] = code->insns[i].address;
    }
    sym_image_expect(code->image, /* by_offset */ false, addresses, count, 1);
    free(addresses);
    return true;
}

bool
code_decode_part(struct code_view *code, const struct part *part)
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

    code->start_count = 0;
    code->insn_count = 0;
    if (!sym_image_line_rows(code->image, part->start, part->start + code->size,
                             add_start, code)) {
        return false;
    }
    wanted.starts = code->starts;
    wanted.start_count = code->start_count;
    return decode(code, &wanted) && expect_names(code);
}

/* --- which instructions are shown --- */

/* Return whether a function may be defined in this file: it is, or the file of either
 * is not known. */
static bool
is_defined_in(const struct profile_function *function, const char *file)
{
    return file == NULL || file[0] == '\0' || identity_file(function)[0] == '\0' ||
           strcmp(identity_file(function), file) == 0;
}

/* Return whether these are the names of the target's function. */
static bool
is_named(const struct listing_target *target, const char *name, const char *system_name)
{
    return name != NULL && strcmp(name, target->name) == 0 &&
           strcmp(system_name, target->system_name) == 0;
}

/* Return whether the code at an address of the file belongs to the target, or was
 * inlined into it. */
static bool
is_of_target(struct code_view *code, uint64_t address)
{
    const struct listing_target *target = code->view->target;
    const struct profile_function *const function =
        &code->view->profile->functions[target->function];
    const bool by_line = target->kind == LISTING_OF_LINE;
    struct sym_name name;

    if (!sym_image_lookup_address(code->image, address, &name)) {
        return false;
    }
    if (by_line ? name.line == target->line && strcmp(name.file, target->file) == 0
                : is_named(target, name.name, name.system_name) &&
                      is_defined_in(function, name.definition)) {
        return true;
    }
    if (target->inlined && target->id != LISTING_NONE) {
        return false; /* what was inlined into an inlined function has a listing of its
                       * own */
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

/* Show all instructions that start in a bucket of the target, also those of other
 * functions. A bucket's first bytes may belong to an instruction that starts before it,
 * which stays as it is. */
static void
show_buckets(struct code_view *code)
{
    /* index of an instruction: those before it start before the row or are shown */
    size_t at = 0;

    for (size_t i = 0; i < code->row_count; i++) {
        const uint64_t start = code->rows[i].start + code->shift;
        const uint64_t end = code->rows[i].end + code->shift;

        while (at < code->insn_count && code->insns[at].address < start) {
            at++;
        }
        while (code->rows[i].of_target && at < code->insn_count &&
               code->insns[at].address < end) {
            code->insns[at++].shown = true;
        }
    }
}

void
code_choose_insns(struct code_view *code, const struct part *part)
{
    const uint64_t known = part->symbol            ? part->start
                           : code->start_count > 0 ? code->starts[0]
                                                   : part->end;

    for (size_t i = 0; i < code->insn_count; i++) {
        struct insn *insn = &code->insns[i];

        insn->shown = !part->target_only || is_of_target(code, insn->address);
        insn->uncertain |= insn->address < known;
    }
    show_buckets(code);
}
