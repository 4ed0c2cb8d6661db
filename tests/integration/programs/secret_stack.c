/* SPDX-License-Identifier: MIT */
/*
 * secret_stack.c - works while two words, which $SECRET has in hexadecimal digits as
 * A:B, are all over its stack, beside an address of code that never runs. Until the
 * process has used so many milliseconds of processor time.
 *
 * usage: secret_stack MODE MILLISECONDS
 *   plain    the words are variables of a caller
 *   rules    unwind tables say that a word is a return address
 *   pointer  code without unwind tables has rbp lead to the words
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { TURNS = 1000000, ROOM_WORDS = 256 };

static uint64_t secrets[2];
static volatile uint64_t sink;

__attribute__((noinline)) static void
never_runs(void)
{
    sink = sink * 3 + 1;
}

__attribute__((noinline)) static void
spin(uint64_t turns, const uint64_t *words)
{
    while (turns-- > 0) {
        sink += words[0];
    }
}

/* The rule of its first instruction, that the return address is at rsp, is that of
 * all. */
void lying(uint64_t turns, uint64_t word);

__asm__(".text\n"
        ".type lying, @function\n"
        "lying:\n"
        ".cfi_startproc\n"
        "    push %rsi\n"
        "1:  dec %rdi\n"
        "    jnz 1b\n"
        "    pop %rsi\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size lying, . - lying\n");

static void
lie(uint64_t turns, const uint64_t *words)
{
    lying(turns / 2, words[0]);
    lying(turns / 2, words[1]);
}

typedef void leaf_function(uint64_t turns, const uint64_t *words);

/* push rbp; mov rbp, rsi; 1: dec rdi; jnz 1b; pop rbp; ret */
static const uint8_t pointer_code[] = {0x55, 0x48, 0x89, 0xf5, 0x48, 0xff,
                                       0xcf, 0x75, 0xfb, 0x5d, 0xc3};

static leaf_function *
make_code(void)
{
    void *const code = mmap(NULL, sizeof(pointer_code), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    leaf_function *leaf;

    if (code == MAP_FAILED) {
        return NULL;
    }
    memcpy(code, pointer_code, sizeof(pointer_code));
    if (mprotect(code, sizeof(pointer_code), PROT_READ | PROT_EXEC) != 0) {
        return NULL;
    }
    memcpy(&leaf, &code, sizeof(leaf));
    return leaf;
}

__attribute__((noinline)) static void
with_secrets(leaf_function *leaf)
{
    uint64_t room[ROOM_WORDS];

    for (size_t i = 0; i < ROOM_WORDS; i++) {
        room[i] = i % 3 < 2 ? secrets[i % 3] : (uint64_t)(uintptr_t)never_runs + 4;
    }
    leaf(TURNS, room);
    sink += room[sink % ROOM_WORDS];
}

int
main(int argc, char **argv)
{
    const char *const mode = argc == 3 ? argv[1] : "";
    const clock_t limit =
        (clock_t)(argc == 3 ? atol(argv[2]) : 0) * CLOCKS_PER_SEC / 1000;
    const char *const given = getenv("SECRET");
    leaf_function *const leaf = strcmp(mode, "rules") == 0     ? lie
                                : strcmp(mode, "pointer") == 0 ? make_code()
                                                               : spin;
    char *next;

    if (given == NULL || leaf == NULL) {
        return 2;
    }
    secrets[0] = strtoull(given, &next, 16);
    secrets[1] = strtoull(*next == ':' ? next + 1 : next, NULL, 16);
    while (clock() < limit) {
        with_secrets(leaf);
    }
    never_runs();
    return 0;
}
