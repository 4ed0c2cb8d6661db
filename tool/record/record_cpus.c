/* SPDX-License-Identifier: MIT */
/* record_cpus.c - lists of processors such as 0,2-3. */
#include "record/record_cpus.h"
#include "base/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
refuse_value(const struct record_options *options, const char *option, const char *text,
             const char *allowed)
{
    return cmd_refuse_value(options->command, option, text, allowed);
}

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

/* Parse a list of processors and set their bits in words, one for each group. Returns
 * false if it is not valid. */
static bool
parse_cpu_list(const char *text, uint64_t *words)
{
    do {
        unsigned long first;
        unsigned long last;

        if (!next_range(&text, &first, &last) || last >= 64UL * RECORD_GROUPS_MAX) {
            return false;
        }
        for (unsigned long cpu = first; cpu <= last; cpu++) {
            words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        }
    } while (*text != '\0' && *text != '\n');
    return true;
}

/* Read the list of the processors that are online as text and as bits. Returns
 * false if that fails. */
static bool
read_online(char *text, size_t size, uint64_t *words)
{
    FILE *const file = fopen("/sys/devices/system/cpu/online", "re");
    bool read = false;

    if (file != NULL) {
        read = fgets(text, (int)size, file) != NULL;
        fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
    return read && parse_cpu_list(text, words);
}

bool
record_cpus_online(uint64_t *words)
{
    char list[1024] = "";

    return read_online(list, sizeof(list), words);
}

bool
record_cpus_parse(struct record_options *options, const char *text)
{
    uint64_t wanted[RECORD_GROUPS_MAX] = {0};
    uint64_t online[RECORD_GROUPS_MAX] = {0};
    char list[1024] = "";
    char allowed[1100];

    if (!read_online(list, sizeof(list), online)) {
        return refuse_value(options, "-C", text,
                            "cannot find out which processors there are: "
                            "/sys/devices/system/cpu/online cannot be read");
    }
    snprintf(allowed, sizeof(allowed),
             "must be a list of processors such as 0,2-3; there are %s", list);
    if (!parse_cpu_list(text, wanted)) {
        return refuse_value(options, "-C", text, allowed);
    }
    options->affinity_count = 0;
    for (uint16_t group = 0; group < RECORD_GROUPS_MAX; group++) {
        if ((wanted[group] & ~online[group]) != 0) {
            return refuse_value(options, "-C", text, allowed);
        }
        if (wanted[group] != 0) {
            options->affinity[options->affinity_count++] =
                (GROUP_AFFINITY){.Mask = (KAFFINITY)wanted[group], .Group = group};
        }
    }
    return true;
}

bool
record_cpus_list(struct record_options *options)
{
    uint64_t online[RECORD_GROUPS_MAX] = {0};
    char list[1024] = "";

    if (!options->per_cpu || options->affinity_count != 0) {
        return true;
    }
    if (!read_online(list, sizeof(list), online)) {
        return refuse_value(options, "--per", "cpu",
                            "cannot find out which processors there are: "
                            "/sys/devices/system/cpu/online cannot be read");
    }
    return record_cpus_parse(options, list);
}
