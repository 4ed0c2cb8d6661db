/* SPDX-License-Identifier: MIT */
/* name.c - one name of what symbol table and debug information know. */
#include "symbols/border/name.h"

#include <string.h>

bool
sym_name_join(struct sym_name *name, const struct sym_frame *frames, size_t count,
              struct sym_frame *joined)
{
    name->frames = count == 0 ? NULL : frames;
    name->frame_count = count;
    if (count == 0) {
        return name->name != NULL;
    }
    memcpy(joined, frames, count * sizeof(*joined));
    if (name->name != NULL) {
        joined[count - 1].name = name->name;
        joined[count - 1].system_name = name->system_name;
    }
    if (joined[0].name[0] != '\0') {
        name->name = joined[0].name;
        name->system_name = joined[0].system_name;
    }
    name->file = joined[0].file;
    name->line = joined[0].line;
    name->start_line = joined[0].start_line;
    name->definition = joined[0].definition;
    name->callers = joined + 1;
    name->caller_count = count - 1;
    return name->name != NULL;
}
