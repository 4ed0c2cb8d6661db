/* SPDX-License-Identifier: MIT */
/*
 * decode_process.c - has capstone decode in a process without rights.
 *
 * The bytes of the code are of a file that others may have written, and so is what the
 * process answers: instructions must follow each other without gaps, up to the end.
 */
#include "view/listing/decode.h"

#include "base/clock.h"
#include "base/command_log.h"
#include "sandbox/process.h"
#include "sandbox/stage.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory limit without the code: capstone's tables, and what is sent at once. */
#define MEMORY_BYTES (UINT64_C(128) << 20)
#define CPU_NS_MAX (30 * CLOCK_SECOND_NS)

enum { SENT_AT_ONCE = 1024, TEXT_BYTES = 512 };

/* Kinds of messages of the process. END comes last, with what decode returned. */
enum { END, UNKNOWN_BYTES, INSTRUCTION };

static const struct module needed = {.name = "capstone",
                                     .library = "libcapstone",
                                     .package = "libcapstone4",
                                     .headers = "libcapstone-dev"};

/* --- the process --- */

struct sender {
    struct wire *wire;
    size_t count; /* messages that were put since the last were sent */
};

/* Put an instruction, and send what was put from time to time; a decode_take. */
static bool
put_decoded(void *context, const struct decoded *decoded)
{
    struct sender *const sender = context;

    wire_put(sender->wire, decoded->text == NULL ? UNKNOWN_BYTES : INSTRUCTION);
    wire_put(sender->wire, decoded->size);
    wire_put(sender->wire, decoded->uncertain);
    wire_put_text(sender->wire, decoded->text == NULL ? "" : decoded->text);
    if (++sender->count == SENT_AT_ONCE) {
        wire_send(sender->wire, -1);
        sender->count = 0;
    }
    return !sender->wire->failed;
}

/* Get bytes as a copy, for free(); NULL with wire->failed set. */
static void *
get_copy(struct wire *wire, size_t *size)
{
    const void *const bytes = wire_get_bytes(wire, SIZE_MAX, size);
    void *const copy = bytes == NULL ? NULL : malloc(*size + 1);

    if (copy == NULL) {
        wire->failed = true;
    } else {
        memcpy(copy, bytes, *size);
    }
    return copy;
}

static void
get_code(struct wire *wire, struct decode_code *code)
{
    code->kind.machine = (uint16_t)wire_get_most(wire, UINT16_MAX);
    code->kind.wide = wire_get_most(wire, 1) != 0;
    code->kind.big_endian = wire_get_most(wire, 1) != 0;
    code->address = wire_get(wire);
    code->intel = wire_get_most(wire, 1) != 0;
    code->bytes = get_copy(wire, &code->size);
    code->starts = get_copy(wire, &code->start_count);
    code->start_count /= sizeof(*code->starts);
}

/* Decode the code that is asked for. Runs in the process without rights. */
static void
serve(struct wire *wire)
{
    struct decode_code code = {.size = 0};
    struct sender sender = {.wire = wire};
    const struct capstone_module *capstone;
    char why[MODULE_WHY_BYTES];
    bool done;

    get_code(wire, &code);
    sandbox_stage("decode", wire);
    if (!wire->failed) {
        capstone = module_load(&needed, why, sizeof(why));
        assert(capstone != NULL); /* the template has loaded it */
        done = capstone->decode(&code, put_decoded, &sender, why, sizeof(why));
        wire_put(wire, END);
        wire_put(wire, done);
        wire_put_text(wire, why);
        wire_send(wire, -1);
    }
    free((void *)(uintptr_t)code.bytes);
    free((void *)(uintptr_t)code.starts);
}

/* --- the command --- */

static void
put_code(struct wire *wire, const struct decode_code *code)
{
    wire_put(wire, code->kind.machine);
    wire_put(wire, code->kind.wide);
    wire_put(wire, code->kind.big_endian);
    wire_put(wire, code->address);
    wire_put(wire, code->intel);
    wire_put_bytes(wire, code->bytes, code->size);
    wire_put_bytes(wire, code->starts, code->start_count * sizeof(*code->starts));
    wire_send(wire, -1);
}

/* Pass what the process answers to take. Returns false if take did, with the reason in
 * why if the code cannot be decoded, or with wire->failed set if the answer makes no
 * sense. */
static bool
take_all(struct wire *wire, const struct decode_code *code, decode_take *take,
         void *context, char *why, size_t why_size)
{
    struct decoded decoded = {.address = code->address};
    size_t left = code->size;
    uint64_t kind;

    while ((kind = wire_get_most(wire, INSTRUCTION)) != END && !wire->failed) {
        decoded.size = (uint32_t)wire_get_most(wire, left);
        decoded.uncertain = wire_get_most(wire, 1) != 0;
        decoded.text = wire_get_text(wire, TEXT_BYTES);
        decoded.text = kind == UNKNOWN_BYTES ? NULL : decoded.text;
        wire->failed |= decoded.size == 0;
        if (wire->failed || !take(context, &decoded)) {
            return false;
        }
        decoded.address += decoded.size;
        left -= decoded.size;
    }
    if (wire_get_most(wire, 1) == 0) {
        snprintf(why, why_size, "%s", wire_get_text(wire, why_size - 1));
        return false;
    }
    wire->failed |= left != 0;
    return !wire->failed;
}

enum decode_result
decode_by_capstone(const struct decode_code *code, decode_take *take, void *context,
                   char *why, size_t why_size)
{
    /* Code and known starts are there twice: as received, and as a copy. */
    const struct sandbox_limits limits = {MEMORY_BYTES + 4 * (uint64_t)code->size,
                                          CPU_NS_MAX};
    struct sandbox_process process;
    const int error = sandbox_start(&process, &needed, serve, &limits);
    bool failed;
    bool done;

    why[0] = '\0';
    if (error != 0) {
        if (process.module_why[0] != '\0') {
            snprintf(why, why_size, "%s", process.module_why);
            return error == -ENOENT ? DECODE_ABSENT : DECODE_FAILED;
        }
        snprintf(why, why_size, "no process can be made to decode them: %s",
                 strerror(-error));
        return DECODE_FAILED;
    }
    COMMAND_LOG("reader %ld: asked for instructions of %zu bytes", (long)process.pid,
                (size_t)code->size);
    put_code(&process.wire, code);
    done = take_all(&process.wire, code, take, context, why, why_size);
    failed = process.wire.failed;
    sandbox_stop(&process);
    if (failed) {
        snprintf(why, why_size, "the process that decodes them failed: %s",
                 sandbox_why(&process));
    }
    return done ? DECODE_DONE : DECODE_FAILED;
}
