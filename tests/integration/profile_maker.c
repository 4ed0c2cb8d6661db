/* SPDX-License-Identifier: MIT */
/*
 * profile_maker.c - makes profile files of known content, for the tests of what reads
 * them.
 *
 *   profile-maker hard FILE                     what is hard to hold: hostile names,
 *                                               inlined code, several of all
 *   profile-maker image FILE PATH INTERVAL ADDRESS:HITS...   one image, sources time
 *                                                            and page-faults
 *   profile-maker functions FILE                two functions of one name, code
 *                                               without a name, inlined code, kernel
 *   profile-maker outside FILE HITS IN_KERNEL   one hit and these outside, some of
 *                                               which were in kernel mode; with
 *                                               one word more, as of --kernel
 *   profile-maker large FILE ROWS IMAGES        as many rows, spread over the images
 *
 * Prints the hits of each source, in the order of the sources.
 */
#include "profile/pprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE "a;b\nc\"d\\e,\xff\033[31m<script>\xe2\x80\xae \\x41"

enum { LONG_NAME_BYTES = 1 << 20 };

static void
require(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "profile-maker: %s\n", what);
        exit(2);
    }
}

static uint32_t
add_source(struct profile *profile, const char *name, uint64_t interval)
{
    const bool time = strcmp(name, "time") == 0;
    const struct profile_source source = {
        .name = name,
        .nt_name = time ? "ProfileTime" : "",
        .unit = time ? "100ns" : "events",
        .kernel_included = true,
        .asked = interval,
        .granted = interval,
        .measured = (double)interval,
        .outside = 3,
        .lost = 5,
    };
    uint32_t index;

    require(profile_add_source(profile, &source, &index), "source");
    return index;
}

static uint32_t
add_image(struct profile *profile, const char *path, const char *build_id,
          uint64_t start, uint64_t offset)
{
    const struct profile_image image = {.path = path,
                                        .build_id = build_id,
                                        .start = start,
                                        .limit = start + 0x100000,
                                        .offset = offset,
                                        .named = true};
    uint32_t index;

    require(profile_add_image(profile, &image, &index), "image");
    return index;
}

static uint32_t
add_function(struct profile *profile, const char *name, const char *file)
{
    const struct profile_function function = {
        .name = name, .system_name = name, .file = file, .start_line = 7};
    uint32_t index;

    require(profile_add_function(profile, &function, &index), "function");
    return index;
}

static uint32_t
add_frame(struct profile *profile, uint32_t function, uint32_t line, uint32_t caller)
{
    const struct profile_frame frame = {
        .function = function, .line = line, .caller = caller};
    uint32_t index;

    require(profile_add_frame(profile, &frame, &index), "frame");
    return index;
}

static void
add_hits(struct profile *profile, const struct profile_place *place, uint32_t source,
         uint64_t hits)
{
    require(profile_add_hits_at(profile, place, source, hits), "hits");
    profile->sources[source].counted += hits;
}

static struct profile *
begin(const char *command, const char *gaps)
{
    struct profile *profile = profile_new();

    require(profile != NULL, "profile");
    profile->command = strdup(command);
    profile->hal = strdup("perf");
    profile->limits = strdup(command);
    profile->gaps = strdup(gaps);
    profile->time_ns = UINT64_C(1700000000123456789);
    profile->duration_ns = UINT64_C(5012345678);
    profile->bucket_bytes = 4;
    return profile;
}

static uint32_t
add_process(struct profile *profile, const char *name)
{
    uint32_t index;

    require(profile_add_process(profile, name, &index), "process");
    return index;
}

/* --- hard --- */

/* A function with code in several images and processes, and hits of all sources. */
static void
add_everywhere(struct profile *profile, uint32_t function, uint32_t caller)
{
    static uint64_t serial;

    for (uint32_t image = 0; image < profile->image_count; image++) {
        const struct profile_place place = {
            .image = image,
            .process = (uint32_t)(serial % profile->process_count),
            .address = profile->images[image].start + 0x40 * serial,
            .function = function,
            .line = function != 0 ? 11 : 0,
            .caller = caller,
            .thread = (uint32_t)(serial % profile->thread_count),
            .cpu_plus_1 = (uint32_t)(serial % 3),
        };

        serial++;
        for (uint32_t source = 0; source < profile->source_count; source++) {
            if ((serial + source) % 3 != 0) {
                add_hits(profile, &place, source, serial * 17 + source);
            }
        }
    }
}

static void
add_functions(struct profile *profile)
{
    static const char *const names[] = {
        HOSTILE,     "=1+1",       "[other]",
        "[unknown]", "(3) name",   "name 12 34",
        " ",         "# 1",        "fn=(1) x",
        "-x",        "operator;",  "{}",
        "\xff",      "</script>",  "+1",
        "@A1",       "\t=1",       "\033]0;t\a\r\x7f\xc2\x9b[1m",
        "]]>-->",    "&amp;'`${x}"};
    char *long_name = malloc(LONG_NAME_BYTES + 1);
    const uint32_t outer = add_function(profile, "outer", "outer.c");
    const uint32_t middle = add_function(profile, "middle;x", "middle.h");
    const uint32_t inner = add_function(profile, "inner", "inner.h");
    uint32_t caller;

    require(long_name != NULL, "long name");
    memset(long_name, 'L', LONG_NAME_BYTES);
    long_name[LONG_NAME_BYTES] = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        add_everywhere(profile, add_function(profile, names[i], HOSTILE), 0);
    }
    add_everywhere(profile, add_function(profile, long_name, "long.c"), 0);
    free(long_name);
    caller = add_frame(profile, outer, 100, 0);
    add_everywhere(profile, middle, caller);
    add_everywhere(profile, inner, add_frame(profile, middle, 50, caller));
    add_everywhere(profile, outer, 0);
    add_everywhere(profile, 0, 0);
}

/* The same file in two ranges, and another build of it; the kernel; a file without a
 * name. */
static void
add_images(struct profile *profile)
{
    add_image(profile, "/usr/bin/app", "aaaa", 0x1000, 0);
    add_image(profile, "/usr/bin/app", "aaaa", 0x400000, 0x300000);
    add_image(profile, "/usr/bin/app", "bbbb", 0x1000, 0);
    add_image(profile, "/opt/app", "cccc", 0x1000, 0);
    add_image(profile, "/tmp/" HOSTILE, HOSTILE, 0, 0);
    add_image(profile, "[kernel]", "", UINT64_C(0xffffffff81000000), 0);
    add_image(profile, "", "", 0x1000, 0);
}

static struct profile *
make_hard(void)
{
    struct profile *profile = begin(HOSTILE, HOSTILE);
    struct profile_place place = {.image = 0, .address = 0x80000};
    uint32_t thread;

    add_source(profile, "time", 10000);
    add_source(profile, "page-faults", 1);
    add_source(profile, HOSTILE, 1);
    add_source(profile, "a;b.c_d", 1);
    add_images(profile);
    add_process(profile, "one");
    add_process(profile, "two");
    add_process(profile, "");
    add_process(profile, HOSTILE);
    require(profile_add_thread(profile, "worker;1", &thread) &&
                profile_add_thread(profile, HOSTILE, &thread),
            "thread");
    add_functions(profile);
    add_hits(profile, &place, 0, 70000); /* more than 16 bits hold */
    place.address += 4;
    add_hits(profile, &place, 1, UINT64_C(5000000000)); /* and more than 32 */
    place.address += 4;
    add_hits(profile, &place, 1, 0);
    return profile;
}

/* --- image and large --- */

static struct profile *
make_image(int count, char **words)
{
    struct profile *profile = begin("image", "");
    const uint32_t time = add_source(profile, "time", strtoull(words[1], NULL, 10));
    const uint32_t faults = add_source(profile, "page-faults", 1);
    struct profile_place place = {0};

    require(count > 2, "PATH INTERVAL ADDRESS:HITS...");
    place.image = add_image(profile, words[0], "", 0, 0);
    place.process = add_process(profile, "one");
    for (int i = 2; i < count; i++) {
        char *colon = NULL;

        place.address = strtoull(words[i], &colon, 0);
        require(*colon == ':', "ADDRESS:HITS");
        add_hits(profile, &place, time, strtoull(colon + 1, NULL, 0));
        add_hits(profile, &place, faults, 2 * strtoull(colon + 1, NULL, 0));
    }
    return profile;
}

static void
add_placed(struct profile *profile, const char *name, const char *file,
           uint64_t address, uint64_t hits)
{
    const struct profile_function function = {.name = name,
                                              .system_name = name,
                                              .file = file,
                                              .start_line = 7,
                                              .has_address = true,
                                              .address = address};
    struct profile_place place = {.address = address + 0x10};

    for (place.image = 0; place.image < profile->image_count; place.image++) {
        require(profile_add_function(profile, &function, &place.function), "function");
        add_hits(profile, &place, 0, hits);
    }
}

/* An inlined function, and the start of a function of the kernel that moves. */
static struct profile *
make_functions(void)
{
    struct profile *profile = begin("functions", "");
    const struct profile_function outer = {.name = "outer",
                                           .system_name = "outer",
                                           .file = "lines.h",
                                           .definition = "outer.c",
                                           .start_line = 7,
                                           .has_address = true,
                                           .address = 0x3000};
    struct profile_place place = {.address = 0x3010, .line = 3};
    uint32_t function;

    add_source(profile, "time", 10000);
    add_image(profile, "/usr/bin/app", "aaaa", 0x1000, 0x1000);
    add_image(profile, "[kernel]", "", 0, 0);
    add_process(profile, "one");
    add_placed(profile, "same", "a.c", 0x1000, 1);
    add_placed(profile, "same", "b.c", 0x2000, 2);
    add_placed(profile, "", "", 0x4000, 4);
    require(profile_add_function(profile, &outer, &function), "function");
    place.function = add_function(profile, "inner", "inner.h");
    place.caller = add_frame(profile, function, 5, 0);
    add_hits(profile, &place, 0, 8);
    place.image = 1;
    add_hits(profile, &place, 0, 8);
    return profile;
}

/* Hits outside of what is known, some of them in kernel mode. */
static struct profile *
make_outside(uint64_t outside, uint64_t in_kernel, bool user_left_out)
{
    struct profile *profile = begin("outside", "");
    struct profile_place place = {.address = 0x1000};

    add_source(profile, "time", 10000);
    place.image = add_image(profile, "/usr/bin/app", "aaaa", 0x1000, 0x1000);
    place.process = add_process(profile, "one");
    add_hits(profile, &place, 0, 1);
    profile->sources[0].outside = outside;
    profile->sources[0].outside_kernel = in_kernel;
    profile->sources[0].user_left_out = user_left_out;
    return profile;
}

static struct profile *
make_large(uint64_t rows, uint64_t images)
{
    enum { ROWS_OF_FUNCTION = 4 };
    struct profile *profile = begin("large", "");

    require(images > 0 && rows > 0, "ROWS IMAGES");
    add_source(profile, "time", 10000);
    add_process(profile, "one");
    add_process(profile, "two");
    for (uint64_t i = 0; i < images; i++) {
        char path[64];

        snprintf(path, sizeof(path), "/usr/lib/lib%" PRIu64 ".so", i);
        add_image(profile, path, path + 8, 0x1000, 0);
    }
    for (uint64_t i = 0; i < rows; i++) {
        char name[64];
        struct profile_place place = {
            .image = (uint32_t)(i % images),
            .process = (uint32_t)(i % 2),
            .address = 0x1000 + i / images * 8,
            .line = (uint32_t)(i % 5000),
        };

        snprintf(name, sizeof(name), "function_%" PRIu64 "_of_%" PRIu64,
                 i / images / ROWS_OF_FUNCTION, i % images);
        place.function = add_function(profile, name, "source.c");
        add_hits(profile, &place, 0, 1 + i % 1000);
    }
    return profile;
}

static struct profile *
make(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "hard") == 0) {
        return make_hard();
    }
    if (argc > 4 && strcmp(argv[1], "image") == 0) {
        return make_image(argc - 3, argv + 3);
    }
    if (argc == 3 && strcmp(argv[1], "functions") == 0) {
        return make_functions();
    }
    if (argc > 4 && strcmp(argv[1], "outside") == 0) {
        return make_outside(strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
                            argc > 5);
    }
    if (argc == 5 && strcmp(argv[1], "large") == 0) {
        return make_large(strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    }
    fprintf(stderr,
            "usage: profile-maker hard|image|functions|outside|large FILE ...\n");
    exit(2);
}

int
main(int argc, char **argv)
{
    struct profile *profile = make(argc, argv);
    struct pprof_error error;

    for (size_t i = 0; i < profile->source_count; i++) {
        struct profile_source *source = &profile->sources[i];

        printf("%" PRIu64 "\n", source->counted);
        source->taken = source->counted + source->outside;
        source->expected = source->taken + source->lost;
    }
    profile_sort(profile);
    require(pprof_write(profile, argv[2], &error), "write");
    profile_delete(profile);
    return 0;
}
