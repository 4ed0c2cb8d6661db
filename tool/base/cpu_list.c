/* SPDX-License-Identifier: MIT */
/* cpu_list.c - lists of processors such as 0,2-3. */
#include "base/cpu_list.h"

#include <errno.h>
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
    text[strcspn(text, "\n")] = '\0';
    return read && cpu_list_parse(text, words);
}
