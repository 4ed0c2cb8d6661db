/* SPDX-License-Identifier: MIT */
/* function.c - has a function looked for in an image. */
#include "symbols/client/function.h"

#include "base/clock.h"
#include "base/command_log.h"
#include "sandbox/process.h"
#include "symbols/border/protocol.h"
#include "symbols/client/opener.h"
#include "symbols/client/readers.h"

#include <errno.h>

/* Limits of the reader's memory: that of tables by default, and what it has beside. */
#define MEMORY_DEFAULT (UINT64_C(1) << 30)
#define MEMORY_BESIDE (UINT64_C(64) << 20)

/* Receive the answer. Returns 0 with found set, or a negative errno: that of the
 * answer, or -EIO if that is none, as Linux has them (-1 to -4095), or the reader
 * failed. */
static int
get_function(struct opener *opener, struct wire *wire, struct sym_function *found)
{
    uint64_t reply;
    int64_t result;

    while ((reply = wire_get(wire)) != REPLY_ANSWER && !wire->failed) {
        wire->failed |= !opener_answer(opener, wire, reply);
    }
    result = (int64_t)wire_get(wire);
    found->offset = wire_get(wire);
    found->address = wire_get(wire);
    found->bytes = wire_get(wire);
    found->segment_bytes = wire_get(wire);
    found->fixed = wire_get_most(wire, 1) != 0;
    found->count = (size_t)wire_get(wire);
    return wire->failed || result > 0 || result < -4095 ? -EIO : (int)result;
}

int
sym_find_function(int fd, const char *path, const char *name, uint64_t bytes,
                  struct sym_function *found)
{
    const struct sandbox_limits limits = {
        .memory_bytes = (bytes == 0 ? MEMORY_DEFAULT : bytes) + MEMORY_BESIDE,
        .cpu_ns = SYM_FUNCTION_SECONDS * CLOCK_SECOND_NS,
    };
    struct opener opener = {.fd = fd, .root = "", .path = path, .last_fd = -1};
    struct sandbox_process process;
    int result = readers_start(&process, READER_FUNCTION, &limits);

    *found = (struct sym_function){0};
    if (result != 0) {
        return result;
    }
    COMMAND_LOG("reader %ld: asked for function %s of %s", (long)process.pid, name,
                path);
    wire_put(&process.wire, 0); /* no FLAG_... */
    wire_put(&process.wire, bytes);
    wire_put_text(&process.wire, path);
    wire_put_text(&process.wire, name);
    wire_send(&process.wire, fd);
    result = get_function(&opener, &process.wire, found);
    sandbox_stop(&process);
    return process.late || opener.late ? -ETIME : result;
}
