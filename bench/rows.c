/* SPDX-License-Identifier: MIT */
/*
 * rows.c - writes a profile of as many rows as wanted, the same ones each time.
 *
 *   rows ROWS IMAGES FILE [SEED [HITS]]
 *
 * Each image has its share of the rows at addresses 16 bytes apart, a function for
 * every eight of them with three source lines, and hits that fall off steeply, as those
 * of real programs do. With HITS each row has about so many instead. Some functions
 * have no name. Four processes; two sources, time and page-faults.
 */
#include "base/number.h"
#include "profile/pprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_A_FUNCTION = 8, PROCESSES = 4, BUCKET_BYTES = 16 };

struct wanted {
    uint64_t rows;
    uint64_t images;
    uint64_t seed;
    uint64_t hits; /* of each row, and up to an eighth more; 0: they fall off steeply */
};

static void
require(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rows: %s\n", what);
        exit(1);
    }
}

static uint64_t
next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void
add_sources(struct profile *profile)
{
    const struct profile_source time = {
        .name = "time", .nt_name = "ProfileTime", .unit = "100ns", .granted = 10030};
    const struct profile_source faults = {
        .name = "page-faults", .nt_name = "", .unit = "events", .granted = 1};
    uint32_t index;

    require(profile_add_source(profile, &time, &index) &&
                profile_add_source(profile, &faults, &index),
            "out of memory");
}

static uint32_t
add_image(struct profile *profile, uint64_t number, uint64_t rows)
{
    char path[64];
    char build_id[41];
    const struct profile_image image = {
        .path = path,
        .build_id = build_id,
        .start = 0x1000,
        .limit = 0x1000 + rows * BUCKET_BYTES,
        .offset = 0x1000,
        .named = true,
    };
    uint32_t index;

    snprintf(path, sizeof(path), "/usr/lib/bench/libpart%" PRIu64 ".so.1", number);
    snprintf(build_id, sizeof(build_id), "%040" PRIx64, number);
    require(profile_add_image(profile, &image, &index), "out of memory");
    return index;
}

static uint32_t
add_function(struct profile *profile, uint64_t image, uint64_t number)
{
    char name[96];
    char file[64];
    const struct profile_function function = {.name = name,
                                              .system_name = name,
                                              .file = file,
                                              .start_line = (uint32_t)number * 20 + 1};
    uint32_t index;

    if (number % 16 == 15) {
        return 0;
    }
    snprintf(name, sizeof(name), "part%" PRIu64 "::Worker<int>::step_%" PRIu64 "(long)",
             image, number);
    snprintf(file, sizeof(file), "src/part%" PRIu64 "/worker_%" PRIu64 ".cc", image,
             number / 64);
    require(profile_add_function(profile, &function, &index), "out of memory");
    return index;
}

static uint64_t
hits_of_row(const struct wanted *wanted, uint64_t noise)
{
    return wanted->hits > 0 ? wanted->hits + noise % (wanted->hits / 8 + 1)
                            : 1 + (UINT64_C(1000) >> (noise % 16));
}

static void
add_image_rows(struct profile *profile, const struct wanted *wanted, uint64_t number,
               uint64_t *random)
{
    const uint64_t rows =
        wanted->rows / wanted->images + (number < wanted->rows % wanted->images);
    struct profile_place place = {.image = add_image(profile, number, rows)};

    for (uint64_t row = 0; row < rows; row++) {
        const uint64_t noise = next_random(random);

        if (row % ROWS_A_FUNCTION == 0) {
            place.function = add_function(profile, number, row / ROWS_A_FUNCTION);
        }
        place.address = 0x1000 + row * BUCKET_BYTES;
        place.line =
            (uint32_t)(row / ROWS_A_FUNCTION * 20 + row % ROWS_A_FUNCTION / 3 + 2);
        place.process = (uint32_t)(noise >> 32) % PROCESSES;
        require(profile_add_hits_at(profile, &place, 0, hits_of_row(wanted, noise)),
                "out of memory");
        if (noise % 8 == 0) {
            require(profile_add_hits_at(profile, &place, 1, 1 + noise % 5),
                    "out of memory");
        }
    }
}

static struct profile *
make(const struct wanted *wanted)
{
    static const char *const names[PROCESSES] = {"server", "worker", "helper", "cron"};
    struct profile *const profile = profile_new();
    uint64_t random = wanted->seed * 2 + 0x9e3779b97f4a7c15u;
    uint32_t index;

    require(profile != NULL, "out of memory");
    add_sources(profile);
    for (size_t i = 0; i < PROCESSES; i++) {
        require(profile_add_process(profile, names[i], &index), "out of memory");
    }
    for (uint64_t i = 0; i < wanted->images; i++) {
        add_image_rows(profile, wanted, i, &random);
    }
    profile->command = strdup("rows");
    profile->bucket_bytes = BUCKET_BYTES;
    profile_sort(profile);
    return profile;
}

int
main(int argc, char **argv)
{
    struct wanted wanted = {.seed = 1};
    struct pprof_error error;
    struct profile *profile;

    if (argc < 4 || argc > 6 || !number_parse_count(argv[1], &wanted.rows) ||
        !number_parse_count(argv[2], &wanted.images) || wanted.images == 0 ||
        (argc >= 5 && !number_parse_count(argv[4], &wanted.seed)) ||
        (argc == 6 && !number_parse_count(argv[5], &wanted.hits))) {
        fprintf(stderr, "usage: rows ROWS IMAGES FILE [SEED [HITS]]\n");
        return 2;
    }
    profile = make(&wanted);
    if (!pprof_write(profile, argv[3], &error)) {
        fprintf(stderr, "rows: %s\n", error.text);
        return 1;
    }
    profile_delete(profile);
    return 0;
}
