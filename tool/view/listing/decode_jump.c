/* SPDX-License-Identifier: MIT */
/* decode_jump.c - finds the targets of jumps and calls in the text of both decoders. */
#include "view/listing/decode.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum branch { BRANCH_NONE, BRANCH_JUMP, BRANCH_CALL };

static bool
is_word(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

static bool
starts_with(const char *text, size_t size, const char *start)
{
    return strlen(start) <= size && memcmp(text, start, strlen(start)) == 0;
}

static enum branch
branch_of_x86(const char *word, size_t size)
{
    if (starts_with(word, size, "call")) {
        return BRANCH_CALL;
    }
    return word[0] == 'j' || starts_with(word, size, "loop") ||
                   is_word(word, size, "xbegin")
               ? BRANCH_JUMP
               : BRANCH_NONE;
}

static enum branch
branch_of_arm64(const char *word, size_t size)
{
    if (is_word(word, size, "bl")) {
        return BRANCH_CALL;
    }
    return is_word(word, size, "b") || starts_with(word, size, "b.") ||
                   is_word(word, size, "cbz") || is_word(word, size, "cbnz") ||
                   is_word(word, size, "tbz") || is_word(word, size, "tbnz")
               ? BRANCH_JUMP
               : BRANCH_NONE;
}

/* Get the last operand if it is a plain address, as 0x401136. Returns false if it is
 * not. */
static bool
last_address(const char *text, uint64_t *address)
{
    const char *at = strstr(text, "0x");
    char *end;

    while (at != NULL && strstr(at + 2, "0x") != NULL) {
        at = strstr(at + 2, "0x");
    }
    if (at == NULL || at == text || strchr(" #,", at[-1]) == NULL) {
        return false;
    }
    errno = 0;
    *address = strtoull(at, &end, 16);
    return errno == 0 && end > at + 2 && *end == '\0';
}

struct decode_jump
decode_find_jump(const struct sym_code *kind, const char *text)
{
    const bool x86 = kind->machine == EM_X86_64 || kind->machine == EM_386;
    enum branch branch;
    uint64_t target;

    /* Skip prefixes. */
    while (x86 && (starts_with(text, strlen(text), "bnd ") ||
                   starts_with(text, strlen(text), "notrack "))) {
        text = strchr(text, ' ') + 1;
    }
    branch = x86                           ? branch_of_x86(text, strcspn(text, " ,"))
             : kind->machine == EM_AARCH64 ? branch_of_arm64(text, strcspn(text, " "))
                                           : BRANCH_NONE;
    if (branch == BRANCH_NONE || !last_address(text, &target)) {
        return (struct decode_jump){.has_target = false};
    }
    return (struct decode_jump){true, branch == BRANCH_CALL, target};
}
