/* SPDX-License-Identifier: MIT */
/* cpu_list.h - lists of processors such as 0,2-3, as the kernel writes them. */
#ifndef BASE_CPU_LIST_H
#define BASE_CPU_LIST_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CPU_LIST_GROUPS = 128,         /* words of 64 processors each */
    CPU_LIST_TEXT_BYTES = 4096 + 1 /* with pages of 4 kB the kernel writes no more */
};

/* Parse a list, which may end with a line feed, and set the bits of its processors:
 * processor n is bit n % 64 of words[n / 64]; other bits stay. Returns false if it is
 * not valid. */
bool cpu_list_parse(const char *text, uint64_t words[CPU_LIST_GROUPS]);

/* Read the list of the processors that are online, without a line feed, and set their
 * bits.
 *
 *   words  in: zeros
 *
 * Returns false if that fails, or the list does not fit. */
bool cpu_list_read_online(char text[CPU_LIST_TEXT_BYTES],
                          uint64_t words[CPU_LIST_GROUPS]);

#endif
