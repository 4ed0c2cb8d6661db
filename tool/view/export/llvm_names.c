/* SPDX-License-Identifier: MIT */
/* llvm_names.c - unpacks discriminators, and cuts suffixes off names. */
#include "view/export/llvm_names.h"

#include <string.h>

/* Return the lowest number of a discriminator: 0 if the lowest bit is set; otherwise it
 * has 5 or 12 bits. */
static uint32_t
unpack_number(uint32_t packed)
{
    if ((packed & 1) != 0) {
        return 0;
    }
    packed >>= 1;
    return (packed & 0x20) != 0 ? (packed >> 1 & 0xfe0) | (packed & 0x1f)
                                : packed & 0x1f;
}

/* Return a discriminator without its lowest number. */
static uint32_t
skip_number(uint32_t packed)
{
    if ((packed & 1) != 0) {
        return packed >> 1;
    }
    return packed >> ((packed & 0x40) != 0 ? 14 : 7);
}

uint32_t
llvm_base_discriminator(uint32_t discriminator)
{
    return unpack_number(discriminator);
}

uint32_t
llvm_copies(uint32_t discriminator)
{
    const uint32_t copies = unpack_number(skip_number(discriminator));

    return copies > 1 ? copies : 1;
}

/* Cut ".SUFFIX.NUMBER" off the end of a name; suffix has both dots. */
static void
cut_suffix(char *name, const char *suffix)
{
    const size_t length = strlen(suffix);
    char *last = strrchr(name, '.');
    char *before = last;

    if (last == NULL || last == name) {
        return;
    }
    do {
        before--;
    } while (before > name && *before != '.');
    if (before > name && (size_t)(last - before) + 1 == length &&
        strncmp(before, suffix, length) == 0) {
        *before = '\0';
    }
}

void
llvm_cut_suffixes(char *name)
{
    cut_suffix(name, ".llvm.");
    cut_suffix(name, ".part.");
}
