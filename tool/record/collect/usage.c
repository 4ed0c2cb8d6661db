/* SPDX-License-Identifier: MIT */
/* usage.c - memory that the process uses. */
#include "record/collect/usage.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t
usage_bytes(void)
{
    FILE *const status = fopen("/proc/self/status", "re");
    uint64_t bytes = 0;
    char line[256];

    while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
        uint64_t kilobytes;

        /* Counters are in shared memory, which the session maps a second time. */
        if (sscanf(line, "RssAnon: %" SCNu64, &kilobytes) == 1 ||
            sscanf(line, "RssShmem: %" SCNu64, &kilobytes) == 1) {
            bytes += kilobytes * 1024;
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return bytes;
}
