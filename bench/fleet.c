/* SPDX-License-Identifier: MIT */
/*
 * fleet.c - adds windows of many agents to a store.
 *
 *   fleet URL TEMPLATE HOSTS WINDOWS HITS START_S
 *
 * TEMPLATE is a profile of a real run. Each window of a minute is HITS hits that are
 * drawn from its rows by their shares, so that windows have as many rows, and as many
 * rare ones, as real ones have. Odd hosts have another build of the image with most
 * hits. Prints the number of windows, of rows, and the seconds that adding them took.
 */
#include "base/clock.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

enum { WINDOW_S = 60 };

struct fleet {
    struct profile *profile;
    struct profile_row *all; /* rows of the template */
    size_t all_count;
    uint64_t *ends;           /* by row: sum of the hits up to it */
    struct profile_row *rows; /* of the window */
    uint64_t *hits;           /* by row of the template, in the window */
    uint32_t top_image;
    const char *builds[2];
    uint64_t random;
};

static void
require(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "fleet: %s\n", what);
        exit(2);
    }
}

static uint64_t
next_random(struct fleet *fleet)
{
    fleet->random ^= fleet->random << 13;
    fleet->random ^= fleet->random >> 7;
    fleet->random ^= fleet->random << 17;
    return fleet->random;
}

/* Find the row whose share of the hits a random number falls into. */
static size_t
draw(struct fleet *fleet)
{
    const uint64_t at = next_random(fleet) % fleet->ends[fleet->all_count - 1];
    size_t low = 0;
    size_t high = fleet->all_count - 1;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (fleet->ends[middle] > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void
take_template(struct fleet *fleet, const char *path)
{
    struct pprof_error error;
    struct profile *const profile = pprof_read(path, &error);
    char *other;

    require(profile != NULL && profile->row_count > 0, "the template is no profile");
    profile_keep_source(profile, 0);
    profile_sort(profile);
    fleet->profile = profile;
    fleet->all = profile->rows;
    fleet->all_count = profile->row_count;
    fleet->ends = calloc(fleet->all_count, sizeof(*fleet->ends));
    fleet->hits = calloc(fleet->all_count, sizeof(*fleet->hits));
    fleet->rows = calloc(fleet->all_count, sizeof(*fleet->rows));
    require(fleet->ends != NULL && fleet->hits != NULL && fleet->rows != NULL,
            "memory");
    for (size_t i = 0; i < fleet->all_count; i++) {
        fleet->ends[i] = fleet->all[i].hits[0] + (i > 0 ? fleet->ends[i - 1] : 0);
    }
    for (size_t i = 0; i < fleet->all_count; i++) {
        /* A unit for each program. */
        require(profile_add_unit(profile, profile->processes[fleet->all[i].process],
                                 &fleet->all[i].unit),
                "memory");
    }
    fleet->top_image = fleet->all[0].image;
    fleet->builds[0] = profile->images[fleet->top_image].build_id;
    require(asprintf(&other, "0%s", fleet->builds[0]) > 0, "memory");
    fleet->builds[1] = profile_string(profile, other);
    free(other);
}

/* Make the window's rows. Returns their number. */
static size_t
make_window(struct fleet *fleet, uint64_t host, uint64_t start_s, uint64_t hits)
{
    struct profile *const profile = fleet->profile;
    struct profile_source *const source = &profile->sources[0];

    memset(fleet->hits, 0, fleet->all_count * sizeof(*fleet->hits));
    for (uint64_t i = 0; i < hits; i++) {
        fleet->hits[draw(fleet)]++;
    }
    profile->rows = fleet->rows;
    profile->row_count = 0;
    for (size_t i = 0; i < fleet->all_count; i++) {
        if (fleet->hits[i] != 0) {
            fleet->rows[profile->row_count] = fleet->all[i];
            fleet->rows[profile->row_count++].hits = &fleet->hits[i];
        }
    }
    profile->images[fleet->top_image].build_id = fleet->builds[host % 2];
    profile->time_ns = start_s * SECOND_NS;
    profile->duration_ns = WINDOW_S * SECOND_NS;
    *source = (struct profile_source){
        .name = source->name,
        .nt_name = source->nt_name,
        .unit = source->unit,
        .kernel_included = true,
        .asked = 101010,
        .granted = 101010,
        .measured = 101010,
        .expected = hits,
        .taken = hits,
        .counted = hits,
    };
    return profile->row_count;
}

int
main(int argc, char **argv)
{
    static const char *const labels[] = {"env=prod"};
    struct fleet fleet = {.random = UINT64_C(88172645463325252)};
    struct pprof_error error;
    struct store *store;
    uint64_t rows = 0;
    uint64_t spent_ns = 0;

    require(argc == 7, "usage: fleet URL TEMPLATE HOSTS WINDOWS HITS START_S");
    take_template(&fleet, argv[2]);
    store = store_open(argv[1], true, &error);
    require(store != NULL, error.text);
    for (uint64_t k = 0; k < strtoull(argv[4], NULL, 10); k++) {
        for (uint64_t host = 0; host < strtoull(argv[3], NULL, 10); host++) {
            char name[32];
            uint64_t started_ns;

            snprintf(name, sizeof(name), "host%05" PRIu64, host);
            rows +=
                make_window(&fleet, host, strtoull(argv[6], NULL, 10) + k * WINDOW_S,
                            strtoull(argv[5], NULL, 10));
            started_ns = clock_now_ns();
            require(store_add(store, fleet.profile,
                              &(struct store_window){.host = name,
                                                     .epoch = name,
                                                     .labels = labels,
                                                     .label_count = 1},
                              &error),
                    error.text);
            spent_ns += clock_now_ns() - started_ns;
        }
    }
    store_close(store);
    printf("%" PRIu64 " %.3f\n", rows, (double)spent_ns / 1e9);
    fleet.profile->rows = fleet.all;
    fleet.profile->row_count = fleet.all_count;
    profile_delete(fleet.profile);
    free(fleet.ends);
    free(fleet.hits);
    free(fleet.rows);
    return 0;
}
