/* SPDX-License-Identifier: MIT */
/* core_dump.h - whether core dumps contain memory of this process. */
#ifndef TESTS_CORE_DUMP_H
#define TESTS_CORE_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Ask Linux for the flags of the mapping of an address: "dd" is in no core dump. */
static inline bool
is_in_no_core_dump(const void *address)
{
    FILE *const file = fopen("/proc/self/smaps", "re");
    const uintptr_t at = (uintptr_t)address;
    bool inside = false;
    bool found = false;
    char line[4096];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        unsigned long long start;
        unsigned long long end;

        if (sscanf(line, "%llx-%llx ", &start, &end) == 2) {
            inside = at >= start && at < end;
        } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
            found = strstr(line, " dd") != NULL;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

#endif
