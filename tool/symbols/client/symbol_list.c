/* SPDX-License-Identifier: MIT */
/* symbol_list.c - has the functions of an ELF file listed. */
#include "symbols/client/symbol_list.h"

#include "base/clock.h"
#include "base/command_log.h"
#include "sandbox/process.h"
#include "symbols/border/protocol.h"
#include "symbols/client/readers.h"

#include <errno.h>
#include <stdlib.h>

/* Limits of the reader: memory of the list by default, what it has beside, and
 * processor time. */
#define MEMORY_DEFAULT (UINT64_C(1) << 30)
#define MEMORY_BESIDE (UINT64_C(64) << 20)
#define CPU_NS_MAX (UINT64_C(30) * CLOCK_SECOND_NS)

static void
get_symbol(struct wire *wire, struct wire_names *names, struct sym_symbol *symbol)
{
    symbol->start = wire_get(wire);
    symbol->size = wire_get(wire);
    symbol->local = wire_get_most(wire, 1) != 0;
    symbol->name = wire_get_name(wire, names, TEXT_BYTES_MAX);
    symbol->file = wire_get_name(wire, names, TEXT_BYTES_MAX);
}

/* Receive the symbols, whose memory is at most most. Returns false if that failed, or
 * they are not in order of their starts, as they have to be, or one has no name. */
static bool
get_symbols(struct wire *wire, struct sym_symbol_list *list, uint64_t most)
{
    const size_t count = (size_t)wire_get_most(wire, most / sizeof(*list->items));

    list->items = calloc(count + 1, sizeof(*list->items));
    while (list->items != NULL && list->count < count) {
        struct sym_symbol *const symbol = &list->items[list->count];

        get_symbol(wire, &list->names, symbol);
        if (wire->failed || symbol->name[0] == '\0' ||
            (list->count > 0 && symbol[-1].start > symbol->start)) {
            return false;
        }
        list->count++;
    }
    return list->items != NULL && !wire->failed;
}

/* Receive the list. Returns 0 or a negative errno: that of the reader, or -EIO if that
 * is none, as Linux has them (-1 to -4095), or the reader failed. */
static int
get_list(struct wire *wire, struct sym_symbol_list *list, uint64_t most)
{
    const int64_t result = (int64_t)wire_get(wire);

    list->names.bytes_left = most;
    list->relocations = wire_get_most(wire, 1) != 0;
    return !get_symbols(wire, list, most) || result > 0 || result < -4095 ? -EIO
                                                                          : (int)result;
}

int
sym_symbol_list_read(int fd, uint64_t bytes, struct sym_symbol_list *list)
{
    const uint64_t most = bytes == 0 ? MEMORY_DEFAULT : bytes;
    const struct sandbox_limits limits = {most + MEMORY_BESIDE, CPU_NS_MAX};
    struct sandbox_process process;
    int result = readers_start(&process, READER_SYMBOLS, &limits);

    *list = (struct sym_symbol_list){.count = 0};
    if (result == 0) {
        COMMAND_LOG("reader %ld: asked for all symbols", (long)process.pid);
        wire_put(&process.wire, bytes);
        wire_send(&process.wire, fd);
        result = get_list(&process.wire, list, most);
        sandbox_stop(&process);
    }
    return result;
}
