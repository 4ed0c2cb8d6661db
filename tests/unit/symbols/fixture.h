/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - what the tests of tool/symbols/reader share: a folder of their own,
 * tools, and the sample program.
 */
#ifndef TESTS_SYMBOLS_FIXTURE_H
#define TESTS_SYMBOLS_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the ones above, and setjmp.h. */
#include <setjmp.h>

#include <cmocka.h>

#include "symbols/reader/reader.h"

#include <stdbool.h>
#include <stdlib.h>

#define SAMPLE_BUILD_ID "00112233445566778899aabbccddeeff00112233"

/* sample_place - a line of what the sample says. */
struct sample_place {
    char name[64];
    uint64_t offset;
    uint32_t line;
};

#define SAMPLE_PLACES_MAX 16

/* section - of debug information that a test writes. */
struct section {
    unsigned char bytes[1024];
    size_t size;
};

/* Adds a number in the byte order of this machine; bytes behind the eighth are 0. */
void section_put(struct section *section, uint64_t number, size_t width);

/* Makes a folder below TMPDIR, for every test of the file, and removes it with all in
 * it. */
int fixture_make_folder(void **state);
int fixture_remove_folder(void **state);

/* A path in the folder; of the last eight calls each has memory of its own. */
const char *fixture_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes a folder in the folder, with those above it. */
void fixture_make_path(const char *name);

/* Exit status of a shell command. */
int fixture_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool fixture_has(const char *command);

/* Is the command there that a build needs? Prints which build it is, or what it lacks.
 */
bool fixture_can_build(const char *build, const char *needs);

/* Runs a shell command in the folder, or fails the test with what it said. */
void fixture_build(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where a function of a file in the folder is, by nm. */
void fixture_find_symbol(const char *file, const char *name, uint64_t *start,
                         uint64_t *end);

/* Runs a sample program and reads what it says. The number of places. */
size_t fixture_sample_places(const char *program,
                             struct sample_place places[SAMPLE_PLACES_MAX]);

uint64_t fixture_offset_of(const char *program, const char *function);

/* Opens or fails the test. */
struct sym_reader *fixture_open(const char *path, const char *root);

/* The link-time address of a file offset; false if it has none. */
bool fixture_address(const struct sym_reader *image, uint64_t file_offset,
                     uint64_t *address);

/* The code of the symbol that covers an address; false if none does. */
bool fixture_range(struct sym_reader *image, uint64_t address, uint64_t *start,
                   uint64_t *end);

/* Names the code at a file offset. */
bool fixture_lookup(struct sym_reader *image, uint64_t file_offset,
                    struct sym_name *name);

/* Does the file, looked at as an image at that path, name offset so? name NULL: not at
 * all. */
void fixture_assert_name(struct sym_reader *image, uint64_t offset, const char *name);

/* All bytes of a file, malloc'd. */
unsigned char *fixture_read(const char *path, size_t *size);
void fixture_write(const char *path, const void *bytes, size_t size);

/* Seeded, the same everywhere. */
uint64_t fixture_random(uint64_t *seed);

#endif
