/* SPDX-License-Identifier: MIT */
/* readers.c - starts processes that read foreign files by module reader. */
#include "symbols/client/readers.h"

#include "base/command_log.h"

#include <assert.h>
#include <errno.h>

static const struct module needed = {
    .name = "reader", .library = "libdw", .package = "libdw1", .headers = "libdw-dev"};

/* A sandbox_work: have the module do the work that the wire names. */
static void
serve(struct wire *wire)
{
    char why[MODULE_WHY_BYTES];
    const struct reader_module *const reader = module_load(&needed, why, sizeof(why));

    assert(reader != NULL); /* the template has loaded it */
    reader->serve(wire);
}

int
readers_start(struct sandbox_process *process, enum reader_work work,
              const struct sandbox_limits *limits)
{
    const int error = sandbox_start(process, &needed, serve, limits);

    if (error == 0) {
        wire_put(&process->wire, work);
    } else if (process->module_why[0] != '\0') {
        COMMAND_LOG("%s", process->module_why);
        return -ELIBACC;
    }
    return error;
}
