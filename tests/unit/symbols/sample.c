/* SPDX-License-Identifier: MIT */
/*
 * sample.c - a program with every kind of symbol, which tells where its functions are.
 *
 * Prints "NAME OFFSET LINE" for each: the offset in its own file of the first byte of
 * the code, taken from /proc/self/maps and so independent of any reader of ELF, and the
 * source line where it is known.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PLACED __attribute__((noinline, noclone, used))

struct place {
    uintptr_t start, end;
    uint64_t offset;
};

int sample_data[64] = {1};
volatile int sample_sink;

PLACED void
sample_global(void)
{
    sample_sink += 1;
}
enum { GLOBAL_LINE = __LINE__ - 3 };

PLACED static void
sample_static(void)
{
    sample_sink += 2;
}
enum { STATIC_LINE = __LINE__ - 3 };

/* Two names for one place: the one without underscores is for people. */
PLACED void
__sample_alias(void)
{
    sample_sink += 3;
}
void sample_alias(void) __attribute__((alias("__sample_alias")));

/* The strong name is for people, though the weak one sorts first. */
PLACED void
sample_strong(void)
{
    sample_sink += 4;
}
void a_weak_name(void) __attribute__((weak, alias("sample_strong")));

PLACED void sample_cxx(int value) __asm__("_ZN6sample5spaceEi");
void
sample_cxx(int value)
{
    sample_sink += value;
}

PLACED void sample_rust(void) __asm__("_RNvCskwGfYPst2Cb_3foo16example_function");
void
sample_rust(void)
{
    sample_sink += 6;
}

PLACED void
sample_versioned(void)
{
    sample_sink += 7;
}

static void *
resolve(void)
{
    return (void *)sample_versioned;
}
void sample_ifunc(void) __attribute__((ifunc("resolve")));

/* Symbols without size in code, with data behind them that no name reaches. */
__asm__(".pushsection .text.bare,\"ax\",%progbits\n"
        ".globl sample_bare\n"
        "sample_bare:\n"
        ".skip 16, 0x90\n"
        ".globl sample_bare_next\n"
        "sample_bare_next:\n"
        ".skip 16, 0x90\n"
        ".popsection\n");
extern const char sample_bare[], sample_bare_next[];

static int
find_place(uintptr_t address, struct place *place)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4096];
    int found = 0;

    while (maps != NULL && !found && fgets(line, sizeof(line), maps) != NULL) {
        found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64, &place->start,
                       &place->end, &place->offset) == 3 &&
                address >= place->start && address < place->end;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static void
tell(const char *name, const void *code, int line)
{
    struct place place;

    if (find_place((uintptr_t)code, &place)) {
        printf("%s %" PRIu64 " %d\n", name,
               (uintptr_t)code - place.start + place.offset, line);
    }
}

int
main(void)
{
    sample_global();
    sample_static();
    tell("sample_global", (const void *)sample_global, GLOBAL_LINE);
    tell("sample_static", (const void *)sample_static, STATIC_LINE);
    tell("sample_alias", (const void *)sample_alias, 0);
    tell("sample_strong", (const void *)a_weak_name, 0);
    tell("sample::space(int)", (const void *)sample_cxx, 0);
    tell("foo::example_function", (const void *)sample_rust, 0);
    tell("sample_bare", sample_bare, 0);
    tell("sample_bare_next", sample_bare_next, 0);
    tell("sample_data", sample_data, 0);
    puts("end 0 0");
    return sample_sink == 0;
}
