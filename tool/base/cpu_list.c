/* SPDX-License-Identifier: MIT */
/* cpu_list.c - lists of processors such as 0,2-3. */
#include "base/cpu_list.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parse the next number or range of a list such as 0,2-3 and advance *text past it and
 * its comma. Returns false if it is not valid. */
static bool
next_range(const char **text, unsigned long *first, unsigned long *last)
{
    char *end;

    if (**text < '0' || **text > '9') {
        return false;
    }
    errno = 0;
    *first = *last = strtoul(*text, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
        *last = strtoul(end + 1, &end, 10);
    }
    if (errno != 0 || *last < *first || (*end != ',' && *end != '\0' && *end != '\n')) {
        return false;
    }
    *text = *end == ',' && end[1] != '\0' ? end + 1 : end;
    return *end != ',' || end[1] != '\0';
}

bool
cpu_list_parse(const char *text, uint64_t words[CPU_LIST_GROUPS])
{
    do {
        unsigned long first;
        unsigned long last;

        if (!next_range(&text, &first, &last) || last >= 64UL * CPU_LIST_GROUPS) {
            return false;
        }
        for (unsigned long cpu = first; cpu <= last; cpu++) {
            words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        }
    } while (*text != '\0' && *text != '\n');
    return true;
}

/* Is this processor in the set? */
static bool
is_in(const uint64_t words[CPU_LIST_GROUPS], unsigned cpu)
{
    return cpu < 64 * CPU_LIST_GROUPS && (words[cpu / 64] >> cpu % 64 & 1) != 0;
}

/* Add the processors that ntprof may run on, all of which are online: in containers
 * with lxcfs or Sysbox, the list has as many processors as the container may use, but
 * those from 0 on, whichever it runs on. */
static void
add_allowed(uint64_t words[CPU_LIST_GROUPS])
{
    uint64_t mask[CPU_LIST_GROUPS] = {0};

    if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)mask) != 0) {
        return; /* more processors than a list may have */
    }
    for (unsigned cpu = 0; cpu < 64 * CPU_LIST_GROUPS; cpu++) {
        if (CPU_ISSET_S(cpu, sizeof(mask), (const cpu_set_t *)mask)) {
            words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        }
    }
}

/* Write the list of a set. Returns false if it does not fit. */
static bool
write_list(char text[CPU_LIST_TEXT_BYTES], const uint64_t words[CPU_LIST_GROUPS])
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned cpu = 0; cpu < 64 * CPU_LIST_GROUPS; cpu++) {
        char item[32];
        const unsigned first = cpu;
        size_t length;

        if (!is_in(words, cpu)) {
            continue;
        }
        while (is_in(words, cpu + 1)) {
            cpu++;
        }
        length = (size_t)snprintf(item, sizeof(item), cpu == first ? "%s%u" : "%s%u-%u",
                                  used > 0 ? "," : "", first, cpu);
        if (used + length >= CPU_LIST_TEXT_BYTES) {
            return false;
        }
        memcpy(text + used, item, length + 1);
        used += length;
    }
    return true;
}

bool
cpu_list_read_online(char text[CPU_LIST_TEXT_BYTES], uint64_t words[CPU_LIST_GROUPS])
{
    FILE *const file = fopen("/sys/devices/system/cpu/online", "re");
    bool read = false;

    text[0] = '\0';
    if (file != NULL) {
        /* One that is cut may be valid, with the first digits of a number. */
        read = fgets(text, CPU_LIST_TEXT_BYTES, file) != NULL &&
               strchr(text, '\n') != NULL;
        fclose(file);
    }
    if (!read || !cpu_list_parse(text, words)) {
        return false;
    }
    add_allowed(words);
    return write_list(text, words);
}
