/* SPDX-License-Identifier: MIT */
/*
 * The model: which hits are at which instruction and source line. The sample (sample.S)
 * is the first argument, one with another build-id the second; the source is where they
 * were compiled.
 */
#include "fixture.h"

#include "view/listing/code_view.h"
#include "view/listing/print.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *sample;
static const char *other_build;
static char source_path[PATH_MAX];

/* sample_profile - hits in the function work of the sample. */
struct sample_profile {
    struct profile *profile;
    uint32_t image;
    uint32_t work;
};

static struct sample_profile
make(const char *path, uint32_t bucket_bytes)
{
    struct sample_profile made = {.profile = fixture_profile(bucket_bytes)};

    made.image = fixture_image(made.profile, path, SAMPLE_BUILD_ID);
    made.work = fixture_function(made.profile, "work", source_path, 7);
    return made;
}

static void
list_with(const struct annotator_settings *settings, const struct profile *profile,
          const char *text, enum listing_view view, struct listing *listing)
{
    struct annotator *annotator = annotator_new(settings);
    const struct listing_target target = fixture_target(profile, text);

    assert_non_null(annotator);
    assert_true(listing_make(annotator, profile, NULL, &target, view, listing));
    annotator_delete(annotator);
}

static void
list(const struct profile *profile, const char *text, enum listing_view view,
     struct listing *listing)
{
    list_with(NULL, profile, text, view, listing);
}

/* Hits of all lines together, each bracket once. */
static uint64_t
sum(const struct listing *listing, size_t source)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < listing->count; i++) {
        hits += listing_line_hits(listing, &listing->lines[i], source);
    }
    return hits;
}

static void
assert_hits(const struct listing *listing, uint64_t address, uint64_t hits)
{
    const struct listing_line *line = fixture_at(listing, address);

    assert_non_null(line);
    assert_int_equal(listing_line_hits(listing, line, 0), hits);
    assert_int_equal(listing_line_hits(listing, line, 1), hits / 10);
}

/* --- instructions --- */

static void
buckets_of_one_instruction__listed__hits_are_its_own(void **state)
{
    struct sample_profile made = make(sample, 2);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401006, made.work, 11, 0, 70);
    fixture_hits(made.profile, made.image, 0x40100c, made.work, 13, 0, 20);
    list(made.profile, "work", LISTING_BEST, &listing);
    assert_true(listing.has_instructions);
    assert_hits(&listing, 0x401006, 70);
    assert_hits(&listing, 0x40100c, 20);
    assert_hits(&listing, 0x401009, 0);
    assert_int_equal(fixture_at(&listing, 0x401006)->bracket, LISTING_BRACKET_NONE);
    assert_int_equal(sum(&listing, 0), 90);
    assert_int_equal(listing.own[0], 90);
    assert_int_equal(listing.bucket_count, 2);
    assert_int_equal(listing.buckets[0].instructions, 1);
    assert_false(listing.outside);
    /* All of the function is there, and nothing of the next. */
    assert_non_null(fixture_at(&listing, 0x401000));
    assert_non_null(fixture_at(&listing, 0x40100f));
    assert_null(fixture_at(&listing, 0x401010));
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
bucket_of_several__listed__bracket_with_hits_once(void **state)
{
    struct sample_profile made = make(sample, 8);
    const struct listing_line *first;
    struct listing listing;

    (void)state;
    /* [0x401000, 0x401008): push, mov, xor, add start in it. */
    fixture_hits(made.profile, made.image, 0x401000, made.work, 7, 0, 50);
    list(made.profile, "work", LISTING_INSTRUCTIONS, &listing);
    first = fixture_at(&listing, 0x401000);
    assert_int_equal(first->bracket, LISTING_BRACKET_FIRST);
    assert_int_equal(listing_line_hits(&listing, first, 0), 50);
    assert_int_equal(fixture_at(&listing, 0x401001)->bracket, LISTING_BRACKET_INSIDE);
    assert_int_equal(fixture_at(&listing, 0x401004)->bracket, LISTING_BRACKET_INSIDE);
    assert_int_equal(fixture_at(&listing, 0x401006)->bracket, LISTING_BRACKET_LAST);
    assert_int_equal(fixture_at(&listing, 0x401009)->bracket, LISTING_BRACKET_NONE);
    assert_int_equal(listing_line_hits(&listing, fixture_at(&listing, 0x401006), 0), 0);
    assert_int_equal(listing_bucket_hits(&listing, fixture_at(&listing, 0x401006), 0),
                     50);
    assert_int_equal(listing.buckets[0].instructions, 4);
    assert_int_equal(sum(&listing, 0), 50);
    assert_non_null(fixture_note(&listing, LISTING_NOTE_BUCKETS));
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
bucket_without_instruction__listed__a_line_of_its_own(void **state)
{
    struct sample_profile made = make(sample, 2);
    const struct listing_line *line;
    struct listing listing;

    (void)state;
    /* [0x401002, 0x401004) is inside of mov. */
    fixture_hits(made.profile, made.image, 0x401002, made.work, 8, 0, 30);
    list(made.profile, "work", LISTING_BEST, &listing);
    line = fixture_at(&listing, 0x401002);
    assert_non_null(line);
    assert_int_equal(line->kind, LISTING_BUCKET);
    assert_int_equal(listing_line_hits(&listing, line, 0), 30);
    assert_int_equal(listing.buckets[0].instructions, 0);
    assert_hits(&listing, 0x401001, 0);
    assert_int_equal(sum(&listing, 0), 30);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
bucket_over_the_border__listed__said(void **state)
{
    struct sample_profile made = make(sample, 32);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401000, made.work, 7, 0, 50);
    list(made.profile, "work", LISTING_BEST, &listing);
    assert_non_null(
        strstr(fixture_note(&listing, LISTING_NOTE_BUCKETS)->text, "neighbour"));
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
overlapping_buckets__listed__one_with_both_hits(void **state)
{
    struct sample_profile made = make(sample, 4);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401004, made.work, 9, 0, 10);
    fixture_hits(made.profile, made.image, 0x401006, made.work, 11, 0, 20);
    list(made.profile, "work", LISTING_BEST, &listing);
    assert_int_equal(listing.bucket_count, 1);
    assert_int_equal(listing.buckets[0].start, 0x401004);
    assert_int_equal(listing.buckets[0].end, 0x40100a);
    assert_int_equal(sum(&listing, 0), 30);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
jump__inside__marks_where_it_leads(void **state)
{
    struct sample_profile made = make(sample, 4);
    const struct listing_line *jump;
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x40100c, made.work, 13, 0, 10);
    list(made.profile, "work", LISTING_BEST, &listing);
    jump = fixture_at(&listing, 0x40100c);
    assert_true(jump->has_target);
    assert_false(jump->is_call);
    assert_int_equal(jump->target_address, 0x401006);
    assert_int_equal(listing.lines[jump->target].address, 0x401006);
    assert_int_equal(listing.lines[jump->target].jumps, 1);
    assert_non_null(strstr(jump->text, "<work+0x6>"));
    assert_int_equal(fixture_at(&listing, 0x401009)->jumps, 0);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
source_lines__between_instructions__where_the_line_changes(void **state)
{
    struct sample_profile made = make(sample, 4);
    const struct listing_line *line;
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x40100c, made.work, 13, 0, 10);
    list(made.profile, "work", LISTING_BEST, &listing);
    line = fixture_line(&listing, 13);
    assert_non_null(line);
    assert_string_equal(line->text, "    jl loop");
    assert_int_equal(line->hits_at, LISTING_NO_HITS);
    assert_int_equal(line[1].address, 0x40100c);
    assert_int_equal(line[1].line, 13);
    assert_null(fixture_line(&listing, 10));
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
address__in_a_function__all_of_it_and_marked(void **state)
{
    struct sample_profile made = make(sample, 4);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401004, 0, 0, 0, 10);
    {
        char text[PATH_MAX + 16];

        snprintf(text, sizeof(text), "%s+0x1007", sample);
        list(made.profile, text, LISTING_BEST, &listing);
    }
    assert_true(fixture_at(&listing, 0x401006)->chosen);
    assert_false(fixture_at(&listing, 0x401009)->chosen);
    assert_non_null(fixture_at(&listing, 0x401000));
    assert_int_equal(listing.own[0], 10);
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* The listing of a range of the sample. */
static void
list_range(const struct sample_profile *made, uint64_t address, uint64_t end,
           struct listing *listing)
{
    const struct listing_target target = {.kind = LISTING_OF_RANGE,
                                          .image = made->image,
                                          .name = "work",
                                          .system_name = "",
                                          .file = "",
                                          .address = address,
                                          .end = end};
    struct annotator *const annotator = annotator_new(NULL);

    assert_non_null(annotator);
    assert_true(listing_make(annotator, made->profile, NULL, &target,
                             LISTING_INSTRUCTIONS, listing));
    annotator_delete(annotator);
}

static void
range__within_a_function__its_instructions_and_hits_alone(void **state)
{
    struct sample_profile made = make(sample, 1);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401004, made.work, 9, 0, 10);
    fixture_hits(made.profile, made.image, 0x401006, made.work, 11, 0, 70);
    fixture_hits(made.profile, made.image, 0x40100c, made.work, 13, 0, 20);
    list_range(&made, 0x401006, 0x40100c, &listing);
    assert_true(listing.has_instructions);
    assert_hits(&listing, 0x401006, 70);
    assert_hits(&listing, 0x401009, 0);
    assert_null(fixture_at(&listing, 0x401004));
    assert_null(fixture_at(&listing, 0x40100c));
    assert_int_equal(listing.own[0], 70);
    assert_int_equal(sum(&listing, 0), 70);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
range__ends_within_a_bucket__the_bucket_ends_there(void **state)
{
    struct sample_profile made = make(sample, 8);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401008, made.work, 11, 0, 30);
    list_range(&made, 0x401000, 0x40100c, &listing);
    assert_int_equal(listing.bucket_count, 1);
    assert_int_equal(listing.buckets[0].start, 0x401008);
    assert_int_equal(listing.buckets[0].end, 0x40100c);
    assert_int_equal(listing.buckets[0].instructions, 1);
    assert_int_equal(sum(&listing, 0), 30);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
range__image_gone__buckets_by_their_distance_from_the_start(void **state)
{
    struct sample_profile made = make("/nonexistent/sample", 1);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401004, made.work, 9, 0, 10);
    fixture_hits(made.profile, made.image, 0x401006, made.work, 11, 0, 70);
    list_range(&made, 0x401000, 0x401006, &listing);
    assert_false(listing.has_instructions);
    assert_int_equal(listing.bucket_count, 1);
    assert_string_equal(fixture_at(&listing, 0x401004)->text, "work+0x4");
    assert_hits(&listing, 0x401004, 10);
    assert_int_equal(listing.own[0], 10);
    assert_non_null(fixture_note(&listing, LISTING_NOTE_IMAGE));
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
bytes_not_known__listed__as_such(void **state)
{
    const struct annotator_settings settings = {.decoder = LISTING_DECODE_OBJDUMP};
    struct sample_profile made = make(sample, 4);
    const uint32_t start = fixture_function(made.profile, "_start", source_path, 21);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x40101c, start, 24, 0, 10);
    list_with(&settings, made.profile, "_start", LISTING_BEST, &listing);
    assert_int_equal(fixture_at(&listing, 0x40101e)->kind, LISTING_BYTES);
    assert_int_equal(fixture_at(&listing, 0x40101e)->bytes[0], 0x06);
    assert_int_equal(fixture_at(&listing, 0x40101f)->kind, LISTING_INSTRUCTION);
    assert_false(fixture_at(&listing, 0x40101f)->uncertain);
    /* The call leads out of the listing, and no jump leads anywhere. */
    assert_true(fixture_at(&listing, 0x401010)->is_call);
    assert_int_equal(fixture_at(&listing, 0x401010)->target, LISTING_NONE);
    assert_non_null(strstr(fixture_at(&listing, 0x401010)->text, "<work>"));
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* --- source lines --- */

static void
lines_of_a_function__listed__hits_of_theirs(void **state)
{
    struct sample_profile made = make(sample, 2);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401006, made.work, 11, 0, 70);
    fixture_hits(made.profile, made.image, 0x40100c, made.work, 13, 0, 20);
    list(made.profile, "work", LISTING_SOURCE_ONLY, &listing);
    assert_false(listing.has_instructions);
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 11), 0), 70);
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 13), 1), 2);
    assert_string_equal(fixture_line(&listing, 11)->text, "    add $1, %eax");
    /* From the first line of the function to the last with code; 10 is a label. */
    assert_non_null(fixture_line(&listing, 7));
    assert_non_null(fixture_line(&listing, 15));
    assert_null(fixture_line(&listing, 16));
    assert_true(fixture_line(&listing, 12)->has_code);
    assert_int_equal(fixture_line(&listing, 12)->hits_at, LISTING_NO_HITS);
    assert_false(fixture_line(&listing, 10)->has_code);
    assert_int_equal(sum(&listing, 0), 90);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
bucket_of_two_lines__source__shared(void **state)
{
    struct sample_profile made = make(sample, 4);
    const struct listing_line *line;
    struct listing listing;

    (void)state;
    /* [0x401004, 0x401008) has code of lines 9 and 11; [0x40100c, 0x401010) of 13, 14
     * and 15. */
    fixture_hits(made.profile, made.image, 0x401004, made.work, 9, 0, 40);
    list(made.profile, "work", LISTING_SOURCE_ONLY, &listing);
    line = fixture_line(&listing, 9);
    assert_int_equal(listing_line_hits(&listing, line, 0), 40);
    assert_int_equal(listing_line_shared(&listing, line, 0), 40);
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* A hit of an inlined line stands at that and at the call, and is one hit all the same.
 */
static void
inlined_code__at_two_lines_shown__one_hit_of_what_shares_are_of(void **state)
{
    const struct listing_print_options options = {.source = LISTING_ALL_SOURCES};
    struct sample_profile made = make(sample, 2);
    const char *const file = made.profile->functions[made.work].file;
    const uint32_t inner = fixture_function(made.profile, "inner", file, 8);
    const uint32_t frame = fixture_frame(made.profile, made.work, 12, 0);
    struct listing listing;
    char *text = NULL;
    char target[300];
    size_t size;
    FILE *out;

    (void)state;
    fixture_hits(made.profile, made.image, 0x40100a, inner, 9, frame, 60);
    fixture_hits(made.profile, made.image, 0x401008, made.work, 12, 0, 40);
    snprintf(target, sizeof(target), "%s:9", file);
    list(made.profile, target, LISTING_SOURCE_ONLY, &listing);
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 9), 0), 60);
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 12), 0), 100);
    assert_int_equal(listing.own[0], 60);
    assert_int_equal(listing.shown[0], 100);
    out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(listing_print_text(out, made.profile, &listing, &options));
    fclose(out);
    assert_non_null(strstr(text, "60 of 100 hits (60.00%)"));
    assert_non_null(strstr(text, "\n 60.00%"));
    assert_non_null(strstr(text, "\n100.00%"));
    free(text);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
inlined_code__source_of_the_caller__at_the_call(void **state)
{
    struct sample_profile made = make(sample, 2);
    const uint32_t inner = fixture_function(made.profile, "inner", "/gone/inner.h", 1);
    const uint32_t frame = fixture_frame(made.profile, made.work, 12, 0);
    const struct listing_line *line;
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x40100a, inner, 3, frame, 60);
    fixture_hits(made.profile, made.image, 0x401008, made.work, 12, 0, 10);
    list(made.profile, "work", LISTING_SOURCE_ONLY, &listing);
    line = fixture_line(&listing, 12);
    assert_int_equal(listing_line_hits(&listing, line, 0), 70);
    assert_int_equal(listing_line_inlined(&listing, line, 0), 60);
    assert_int_equal(listing.own[0], 70);
    assert_int_equal(listing.inlined[0], 60);
    listing_finish(&listing);
    list(made.profile, "inner", LISTING_SOURCE_ONLY, &listing);
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 3), 0), 60);
    assert_true(fixture_line(&listing, 3)->missing);
    assert_non_null(strstr(fixture_note(&listing, LISTING_NOTE_SOURCE)->text,
                           "no source /gone/inner.h"));
    assert_non_null(strstr(fixture_note(&listing, LISTING_NOTE_SOURCE)->text,
                           "--source-dir /gone=DIR"));
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
line_asked_for__around__hits_of_all_functions(void **state)
{
    struct sample_profile made = make(sample, 2);
    const uint32_t start = fixture_function(made.profile, "_start", source_path, 21);
    char text[PATH_MAX + 16];
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x40100e, made.work, 14, 0, 5);
    fixture_hits(made.profile, made.image, 0x401010, start, 21, 0, 30);
    snprintf(text, sizeof(text), "%s:14", source_path);
    list(made.profile, text, LISTING_BEST, &listing);
    assert_false(listing.has_instructions);
    assert_true(fixture_line(&listing, 14)->chosen);
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 14), 0), 5);
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 21), 0), 30);
    assert_int_equal(listing.own[0], 5);
    assert_non_null(fixture_line(&listing, 4));
    assert_non_null(fixture_line(&listing, 24));
    assert_null(fixture_line(&listing, 25));
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
line_asked_for__largest_number__not_those_from_zero(void **state)
{
    struct sample_profile made = make(sample, 2);
    char text[PATH_MAX + 16];
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x40100e, made.work, 14, 0, 5);
    snprintf(text, sizeof(text), "%s:%" PRIu32, source_path, UINT32_MAX);
    list(made.profile, text, LISTING_BEST, &listing);
    assert_true(fixture_line(&listing, UINT32_MAX)->chosen);
    assert_null(fixture_line(&listing, 0));
    assert_null(fixture_line(&listing, 1));
    assert_int_equal(sum(&listing, 0), 0);
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* --- stacks --- */

/* Hits elsewhere, on a stack that is twice at a byte of the instruction at 0x401009, of
 * line 12, and hits of the function itself. */
static struct sample_profile
make_called(void)
{
    struct sample_profile made = make(sample, 2);
    struct profile_call call = {.end = PROFILE_STACK_WHOLE};
    struct profile_place place = {.image = made.image, .address = 0x408000};

    fixture_hits(made.profile, made.image, 0x401006, made.work, 11, 0, 70);
    assert_true(profile_add_call(made.profile, &call, &place.stack));
    for (int i = 0; i < 2; i++) {
        call = (struct profile_call){
            .image = made.image,
            .address = 0x40100a,
            .function = made.work,
            .line = 12,
            .caller = place.stack,
        };
        assert_true(profile_add_call(made.profile, &call, &place.stack));
    }
    assert_true(profile_add_hits_at(made.profile, &place, 0, 40));
    place.address += 2;
    assert_true(profile_add_hits_at(made.profile, &place, 0, 2));
    return made;
}

static void
calls__on_stacks__hits_below_their_lines_once(void **state)
{
    static const enum listing_view views[] = {LISTING_BEST, LISTING_SOURCE_ONLY};
    const struct annotator_settings settings = {.below = true};
    struct sample_profile made = make_called();

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct listing listing;
        const struct listing_line *line;
        uint64_t below = 0;

        list_with(&settings, made.profile, "work", views[i], &listing);
        assert_int_equal(listing.has_instructions, views[i] == LISTING_BEST);
        line = listing.has_instructions ? fixture_at(&listing, 0x401009)
                                        : fixture_line(&listing, 12);
        assert_int_equal(listing_line_below(&listing, line, 0), 42);
        assert_int_equal(listing_line_hits(&listing, line, 0), 0);
        for (size_t k = 0; k < listing.count; k++) {
            below += listing_line_below(&listing, &listing.lines[k], 0);
        }
        assert_int_equal(below, 42);
        assert_int_equal(listing.own[0], 70);
        assert_int_equal(sum(&listing, 0), 70);
        listing_fold(&listing, 0, 0);
        assert_false(line->hidden);
        listing_finish(&listing);
    }
    profile_delete(made.profile);
}

static void
calls__on_stacks__printed_in_a_column(void **state)
{
    const struct listing_print_options options = {.source = 0};
    const struct annotator_settings settings = {.below = true};
    struct sample_profile made = make_called();
    struct listing listing;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    list_with(&settings, made.profile, "work", LISTING_SOURCE_ONLY, &listing);
    assert_true(listing_print_text(out, made.profile, &listing, &options));
    assert_true(listing_print_json(out, made.profile, &listing));
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "  below    line  source"));
    assert_non_null(strstr(text, "  0.00%     0     42      12  "));
    assert_non_null(strstr(text, "\"below\":[42,0]"));
    free(text);
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* helper is called by other code, has hits, and was inlined into two functions. */
static void
calls__in_other_machine_code__not_below_the_function(void **state)
{
    static const struct {
        const char *text;
        uint64_t below;
    } wanted[] = {
        {"helper", 1},
        {"helper inlined in other", 2},
        {"helper inlined in third", 4},
        {"helper inlined in *", 6},
        {"other", 2},
    };
    const struct annotator_settings settings = {.below = true};
    struct profile *const profile = fixture_profile(4);
    const uint32_t image = fixture_image(profile, "/gone/app", SAMPLE_BUILD_ID);
    const uint32_t helper = fixture_function(profile, "helper", "/gone/a.c", 10);
    const uint32_t around[] = {fixture_function(profile, "other", "/gone/a.c", 30),
                               fixture_function(profile, "third", "/gone/a.c", 40)};

    (void)state;
    fixture_hits(profile, image, 0x401000, helper, 12, 0, 0);
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t address = 0x401100 + 16 * i;
        const uint32_t frame =
            i == 0 ? 0 : fixture_frame(profile, around[i - 1], 20 + i, 0);
        struct profile_call call = {.end = PROFILE_STACK_WHOLE};
        struct profile_place place = {.image = image, .address = 0x401800};

        fixture_hits(profile, image, address, helper, 12, frame, 0);
        assert_true(profile_add_call(profile, &call, &call.caller));
        call.end = NULL;
        call.image = image;
        call.address = address;
        call.function = helper;
        call.line = 12;
        call.inlined = frame;
        assert_true(profile_add_call(profile, &call, &place.stack));
        assert_true(profile_add_hits_at(profile, &place, 0, UINT64_C(1) << i));
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct listing listing;
        uint64_t below = 0;

        list_with(&settings, profile, wanted[i].text, LISTING_SOURCE_ONLY, &listing);
        for (size_t k = 0; k < listing.count; k++) {
            below += listing_line_below(&listing, &listing.lines[k], 0);
        }
        assert_int_equal(below, wanted[i].below);
        listing_finish(&listing);
    }
    profile_delete(profile);
}

static void
calls__of_a_function_without_hits__found_and_listed(void **state)
{
    static const enum listing_view views[] = {LISTING_BEST, LISTING_SOURCE_ONLY};
    const struct annotator_settings settings = {.below = true};
    struct sample_profile made = make_called();
    struct listing_targets targets;

    (void)state;
    made.profile->rows[0].hits[0] = 0;
    made.profile->rows[0].address = 0x409000; /* elsewhere, of nothing */
    made.profile->rows[0].function = made.profile->rows[0].line = 0;
    assert_true(listing_find_targets(made.profile, "work", NULL, &targets));
    assert_int_equal(targets.count, 0);
    listing_targets_finish(&targets);
    assert_true(listing_add_calls(made.profile));
    for (size_t i = 0; i < 2; i++) {
        struct listing listing;
        const struct listing_line *line;

        list_with(&settings, made.profile, "work", views[i], &listing);
        assert_int_equal(listing.has_instructions, views[i] == LISTING_BEST);
        line = listing.has_instructions ? fixture_at(&listing, 0x401009)
                                        : fixture_line(&listing, 12);
        assert_int_equal(listing_line_below(&listing, line, 0), 42);
        assert_int_equal(listing.own[0], 0);
        assert_int_equal(listing.bucket_count, 0);
        listing_finish(&listing);
    }
    profile_delete(made.profile);
}

/* --- what is not there --- */

static void
image__of_another_build__source_and_said(void **state)
{
    struct sample_profile made = make(other_build, 4);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401006, made.work, 11, 0, 70);
    list(made.profile, "work", LISTING_BEST, &listing);
    assert_false(listing.has_instructions);
    assert_non_null(
        strstr(fixture_note(&listing, LISTING_NOTE_IMAGE)->text, "another build"));
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 11), 0), 70);
    listing_finish(&listing);
    list(made.profile, "work", LISTING_INSTRUCTIONS, &listing);
    assert_int_equal(fixture_at(&listing, 0x401006)->kind, LISTING_BUCKET);
    assert_hits(&listing, 0x401006, 70);
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* After as much code as a listing may have, the next part has code that is left out. */
static void
code__too_large__not_said_to_be_missing(void **state)
{
    struct sample_profile made = make(other_build, 4);
    const struct part part = {.start = 0x401000, .end = 0x401010, .symbol = true};
    struct code_view code = {.code_bytes = UINT64_C(16) << 20};
    struct listing listing;
    size_t notes;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401006, made.work, 11, 0, 70);
    list(made.profile, "work", LISTING_BEST, &listing);
    notes = listing.note_count;
    code.listing = &listing;
    assert_false(code_read_part(&code, &part));
    assert_int_equal(listing.note_count, notes + 1);
    assert_non_null(strstr(listing.notes[notes].text,
                           "too large to be listed whole: code from 0x401000 on"));
    assert_true(listing.outside);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
image__gone__found_in_image_dir(void **state)
{
    struct annotator_settings settings = {.image_dir = "/nonexistent"};
    char path[PATH_MAX];
    char dir[PATH_MAX];
    struct sample_profile made;
    struct listing listing;

    (void)state;
    snprintf(path, sizeof(path), "/nonexistent%s", strrchr(sample, '/'));
    snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(sample, '/') - sample), sample);
    made = make(path, 4);
    fixture_hits(made.profile, made.image, 0x401006, made.work, 0, 0, 70);
    list_with(&settings, made.profile, "work", LISTING_BEST, &listing);
    assert_false(listing.has_instructions);
    assert_non_null(
        strstr(fixture_note(&listing, LISTING_NOTE_IMAGE)->text, "not there"));
    assert_int_equal(fixture_at(&listing, 0x401006)->kind, LISTING_BUCKET);
    listing_finish(&listing);
    settings.image_dir = dir;
    list_with(&settings, made.profile, "work", LISTING_BEST, &listing);
    assert_true(listing.has_instructions);
    assert_hits(&listing, 0x401006, 70);
    assert_hits(&listing, 0x401004, 0);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
image__kernel_or_jit__buckets_and_why(void **state)
{
    static const char *const paths[] = {"[kernel]", "[anon:17]", ""};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct sample_profile made = make(paths[i], 4);
        struct listing listing;

        fixture_hits(made.profile, made.image, 0x401008, made.work, 0, 0, 70);
        list(made.profile, "work", LISTING_BEST, &listing);
        assert_int_equal(fixture_at(&listing, 0x401008)->kind, LISTING_BUCKET);
        assert_int_equal(sum(&listing, 0), 70);
        assert_non_null(fixture_note(&listing, LISTING_NOTE_IMAGE));
        listing_finish(&listing);
        profile_delete(made.profile);
    }
}

static void
vdso__of_this_kernel__its_instructions(void **state)
{
    struct profile *profile = fixture_profile(4);
    struct sym_image *vdso = sym_image_open_vdso(NULL);
    struct sym_name name = {.name = NULL};
    struct profile_image image = {.path = "[vdso]"};
    uint64_t address = 0;
    struct listing listing;
    uint32_t index;

    (void)state;
    if (vdso == NULL) {
        skip();
    }
    while (address < 0x10000 && !sym_image_lookup_address(vdso, address, &name)) {
        address += 4;
    }
    assert_non_null(name.name);
    image.build_id = sym_image_build_id(vdso);
    assert_true(profile_add_image(profile, &image, &index));
    fixture_hits(profile, index, address, fixture_function(profile, name.name, "", 0),
                 0, 0, 20);
    sym_image_close(vdso);
    list(profile, profile->functions[1].name, LISTING_BEST, &listing);
    assert_true(listing.has_instructions);
    assert_int_equal(sum(&listing, 0), 20);
    listing_finish(&listing);
    /* The one of another kernel is another. */
    image.build_id = "0123";
    assert_true(profile_add_image(profile, &image, &index));
    fixture_hits(profile, index, address, fixture_function(profile, "other", "", 0), 0,
                 0, 20);
    list(profile, "other", LISTING_BEST, &listing);
    assert_false(listing.has_instructions);
    assert_non_null(
        strstr(fixture_note(&listing, LISTING_NOTE_IMAGE)->text, "another build"));
    listing_finish(&listing);
    profile_delete(profile);
}

static void
source__elsewhere__found_by_prefix(void **state)
{
    char dir[PATH_MAX];
    struct listing_prefix prefixes[] = {
        {"/built", "/nonexistent"}, {"/built/in/", dir}, {"/built/i", "/nonexistent"}};
    const struct annotator_settings settings = {.prefixes = prefixes,
                                                .prefix_count = 3};
    struct sample_profile made = make("/gone/app", 4);
    const uint32_t far = fixture_function(made.profile, "far", "/built/in/sample.S", 7);
    struct listing listing;

    (void)state;
    snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(source_path, '/') - source_path),
             source_path);
    fixture_hits(made.profile, made.image, 0x401006, far, 11, 0, 70);
    list_with(&settings, made.profile, "far", LISTING_BEST, &listing);
    assert_string_equal(fixture_line(&listing, 11)->text, "    add $1, %eax");
    assert_null(fixture_note(&listing, LISTING_NOTE_SOURCE));
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* A prefix of "" is for relative paths only. */
static void
source__relative_prefix__absolute_path_is_not_moved(void **state)
{
    char dir[PATH_MAX];
    struct listing_prefix prefix = {"", dir};
    const struct annotator_settings settings = {.prefixes = &prefix, .prefix_count = 1};

    (void)state;
    snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(source_path, '/') - source_path),
             source_path);
    for (int absolute = 0; absolute < 2; absolute++) {
        struct sample_profile made = make("/gone/app", 4);
        const uint32_t far = fixture_function(made.profile, "far",
                                              absolute ? "/sample.S" : "sample.S", 7);
        struct listing listing;

        fixture_hits(made.profile, made.image, 0x401006, far, 11, 0, 70);
        list_with(&settings, made.profile, "far", LISTING_BEST, &listing);
        assert_int_equal(fixture_note(&listing, LISTING_NOTE_SOURCE) != NULL, absolute);
        listing_finish(&listing);
        profile_delete(made.profile);
    }
}

static void
sources__several_missing__one_note_with_what_is_common(void **state)
{
    struct sample_profile made = make("/gone/app", 4);
    const uint32_t first = fixture_placed(made.profile, "f", "/gone/b/x.c", 0x401004);
    const uint32_t second = fixture_placed(made.profile, "f", "/gone/bc.h", 0x401004);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401004, first, 3, 0, 30);
    fixture_hits(made.profile, made.image, 0x401008, second, 4, 0, 70);
    list(made.profile, "f", LISTING_BEST, &listing);
    assert_string_equal(fixture_note(&listing, LISTING_NOTE_SOURCE)->text,
                        "no source /gone/bc.h: not there, nor 1 more; if they are "
                        "elsewhere: --source-dir /gone=DIR");
    assert_int_equal(sum(&listing, 0), 100);
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* Two functions of one name, the second also inlined into the first. */
static void
function_of_one_name__listed__only_its_own_code_with_what_was_inlined(void **state)
{
    struct profile *profile = fixture_profile(4);
    const uint32_t image = fixture_image(profile, "/gone/app", SAMPLE_BUILD_ID);
    const uint32_t first = fixture_placed(profile, "work", "/gone/a.c", 0x401000);
    const uint32_t second = fixture_placed(profile, "work", "/gone/b.c", 0x401100);
    const uint32_t inlined = fixture_function(profile, "work", "/gone/b.c", 9);
    const uint32_t frame = fixture_frame(profile, first, 12, 0);
    struct listing listing;

    (void)state;
    fixture_hits(profile, image, 0x401000, first, 10, 0, 100);
    fixture_hits(profile, image, 0x401008, inlined, 11, frame, 20);
    fixture_hits(profile, image, 0x401100, second, 11, 0, 50);
    list(profile, "work (a.c:9)", LISTING_SOURCE_ONLY, &listing);
    assert_int_equal(listing.own[0], 120);
    assert_int_equal(listing.inlined[0], 20);
    assert_int_equal(sum(&listing, 0), 120);
    assert_null(fixture_line(&listing, 11));
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 12), 0), 20);
    listing_finish(&listing);
    list(profile, "work (b.c:9)", LISTING_SOURCE_ONLY, &listing);
    assert_int_equal(listing.own[0], 50);
    assert_non_null(strstr(fixture_note(&listing, LISTING_NOTE_NAMES)->text,
                           "20 more hits are where it was inlined"));
    listing_finish(&listing);
    list(profile, "work inlined in *", LISTING_SOURCE_ONLY, &listing);
    assert_int_equal(listing.own[0], 20);
    assert_int_equal(listing_line_hits(&listing, fixture_line(&listing, 11), 0), 20);
    listing_finish(&listing);
    profile_delete(profile);
}

/* Without bounds there is no code to show, but all hits are. */
static void
code_without_bounds__listed__all_buckets(void **state)
{
    struct profile *profile = fixture_profile(4);
    const uint32_t image = fixture_image(profile, "/gone/app", SAMPLE_BUILD_ID);
    struct listing listing;

    (void)state;
    fixture_hits(profile, image, 0x401000, 0, 0, 0, 100);
    fixture_hits(profile, image, 0x401800, 0, 0, 0, 20);
    list(profile, "[no symbols] in app", LISTING_BEST, &listing);
    assert_string_equal(listing.title, "[no symbols] in /gone/app");
    assert_int_equal(listing.own[0], 120);
    assert_hits(&listing, 0x401000, 100);
    assert_hits(&listing, 0x401800, 20);
    listing_finish(&listing);
    profile_delete(profile);
}

static void
hits_without_line__source__counted_as_outside(void **state)
{
    struct sample_profile made = make("/gone/app", 4);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401004, made.work, 0, 0, 30);
    fixture_hits(made.profile, made.image, 0x401008, made.work, 12, 0, 70);
    list(made.profile, "work", LISTING_BEST, &listing);
    assert_int_equal(sum(&listing, 0), 70);
    assert_int_equal(listing.own[0], 100);
    assert_true(listing.outside);
    assert_non_null(
        strstr(fixture_note(&listing, LISTING_NOTE_NAMES)->text, "30 of 100 hits"));
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
hits_in_no_row__listed__in_the_total_unless_rows_are_selected(void **state)
{
    static const uint64_t totals[] = {130, 100};

    (void)state;
    for (size_t selected = 0; selected < 2; selected++) {
        struct sample_profile made = make("/gone/app", 4);
        struct listing listing;

        fixture_hits(made.profile, made.image, 0x401004, made.work, 12, 0, 100);
        made.profile->sources[0].outside = 30;
        made.profile->rows_selected = selected != 0;
        list(made.profile, "work", LISTING_BEST, &listing);
        assert_int_equal(listing.totals[0], totals[selected]);
        assert_int_equal(listing.own[0], 100);
        listing_finish(&listing);
        profile_delete(made.profile);
    }
}

static void
lines_far_apart__listed__a_gap_between(void **state)
{
    struct sample_profile made = make("/gone/app", 4);
    const uint32_t far =
        fixture_function(made.profile, "far", "/nonexistent/x.c", UINT32_MAX);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401004, far, 1, 0, 30);
    fixture_hits(made.profile, made.image, 0x401008, far, UINT32_MAX, 0, 70);
    list(made.profile, "far", LISTING_BEST, &listing);
    assert_int_equal(sum(&listing, 0), 100);
    assert_true(listing.count < 10);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
texts__hostile__one_line_each(void **state)
{
    struct sample_profile made = make("/gone\n/\033[31mapp", 4);
    const uint32_t bad = fixture_function(made.profile, "bad\nname", "/no\nsuch.c", 1);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401004, bad, 3, 0, 30);
    list(made.profile, "bad\nname", LISTING_BEST, &listing);
    assert_null(strchr(listing.title, '\n'));
    for (size_t i = 0; i < listing.note_count; i++) {
        assert_null(strchr(listing.notes[i].text, '\n'));
    }
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* --- folding --- */

static void
fold__context__hides_what_is_far(void **state)
{
    struct sample_profile made = make(sample, 2);
    struct listing listing;
    uint32_t gaps = 0;
    size_t hidden = 0;

    (void)state;
    fixture_hits(made.profile, made.image, 0x40100e, made.work, 14, 0, 5);
    list(made.profile, "work", LISTING_SOURCE_ONLY, &listing);
    listing_fold(&listing, 1, 0);
    assert_false(fixture_line(&listing, 13)->hidden);
    assert_false(fixture_line(&listing, 15)->hidden);
    assert_true(fixture_line(&listing, 12)->hidden);
    for (size_t i = 0; i < listing.count; i++) {
        gaps += listing.lines[i].gap_lines;
        hidden += listing.lines[i].hidden;
    }
    assert_int_equal(gaps, hidden);
    listing_fold(&listing, UINT32_MAX, 0);
    for (size_t i = 0; i < listing.count; i++) {
        assert_false(listing.lines[i].hidden);
    }
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
fold__rows__only_the_hottest(void **state)
{
    struct sample_profile made = make(sample, 2);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401000, made.work, 7, 0, 5);
    fixture_hits(made.profile, made.image, 0x40100e, made.work, 14, 0, 50);
    list(made.profile, "work", LISTING_SOURCE_ONLY, &listing);
    listing_fold(&listing, 0, 1);
    assert_false(fixture_line(&listing, 14)->hidden);
    assert_true(fixture_line(&listing, 7)->hidden);
    listing_fold(&listing, 0, 99);
    assert_false(fixture_line(&listing, 7)->hidden);
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* Not more than are asked for, also if lines with as few hits as the last come
 * first. */
static void
fold__rows_with_equal_hits__the_first_behind_the_hottest(void **state)
{
    struct sample_profile made = make(sample, 2);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401000, made.work, 7, 0, 5);
    fixture_hits(made.profile, made.image, 0x401006, made.work, 11, 0, 5);
    fixture_hits(made.profile, made.image, 0x40100e, made.work, 14, 0, 9);
    list(made.profile, "work", LISTING_SOURCE_ONLY, &listing);
    listing_fold(&listing, 0, 2);
    assert_false(fixture_line(&listing, 7)->hidden);
    assert_true(fixture_line(&listing, 11)->hidden);
    assert_false(fixture_line(&listing, 14)->hidden);
    listing_finish(&listing);
    profile_delete(made.profile);
}

static void
fold__bracket__whole(void **state)
{
    struct sample_profile made = make(sample, 8);
    struct listing listing;

    (void)state;
    fixture_hits(made.profile, made.image, 0x401000, made.work, 7, 0, 50);
    list(made.profile, "work", LISTING_BEST, &listing);
    listing_fold(&listing, 0, 0);
    assert_false(fixture_at(&listing, 0x401000)->hidden);
    assert_false(fixture_at(&listing, 0x401006)->hidden);
    assert_true(fixture_at(&listing, 0x40100e)->hidden);
    listing_finish(&listing);
    profile_delete(made.profile);
}

/* As the debug information of the sample has it, and so every profile of it. */
static void
read_source_path(void)
{
    struct sym_image *image =
        sym_image_open(open(sample, O_RDONLY | O_CLOEXEC), sample, "", NULL);
    struct sym_name name;

    assert_non_null(image);
    assert_true(sym_image_lookup_address(image, 0x401006, &name));
    assert_true(strlen(name.file) < sizeof(source_path));
    strcpy(source_path, name.file);
    sym_image_close(image);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_of_one_instruction__listed__hits_are_its_own),
        cmocka_unit_test(bucket_of_several__listed__bracket_with_hits_once),
        cmocka_unit_test(bucket_without_instruction__listed__a_line_of_its_own),
        cmocka_unit_test(bucket_over_the_border__listed__said),
        cmocka_unit_test(overlapping_buckets__listed__one_with_both_hits),
        cmocka_unit_test(jump__inside__marks_where_it_leads),
        cmocka_unit_test(source_lines__between_instructions__where_the_line_changes),
        cmocka_unit_test(address__in_a_function__all_of_it_and_marked),
        cmocka_unit_test(range__within_a_function__its_instructions_and_hits_alone),
        cmocka_unit_test(range__ends_within_a_bucket__the_bucket_ends_there),
        cmocka_unit_test(range__image_gone__buckets_by_their_distance_from_the_start),
        cmocka_unit_test(bytes_not_known__listed__as_such),
        cmocka_unit_test(lines_of_a_function__listed__hits_of_theirs),
        cmocka_unit_test(bucket_of_two_lines__source__shared),
        cmocka_unit_test(inlined_code__source_of_the_caller__at_the_call),
        cmocka_unit_test(line_asked_for__around__hits_of_all_functions),
        cmocka_unit_test(line_asked_for__largest_number__not_those_from_zero),
        cmocka_unit_test(
            inlined_code__at_two_lines_shown__one_hit_of_what_shares_are_of),
        cmocka_unit_test(image__of_another_build__source_and_said),
        cmocka_unit_test(calls__on_stacks__hits_below_their_lines_once),
        cmocka_unit_test(calls__in_other_machine_code__not_below_the_function),
        cmocka_unit_test(calls__of_a_function_without_hits__found_and_listed),
        cmocka_unit_test(calls__on_stacks__printed_in_a_column),
        cmocka_unit_test(code__too_large__not_said_to_be_missing),
        cmocka_unit_test(image__gone__found_in_image_dir),
        cmocka_unit_test(image__kernel_or_jit__buckets_and_why),
        cmocka_unit_test(vdso__of_this_kernel__its_instructions),
        cmocka_unit_test(source__elsewhere__found_by_prefix),
        cmocka_unit_test(source__relative_prefix__absolute_path_is_not_moved),
        cmocka_unit_test(sources__several_missing__one_note_with_what_is_common),
        cmocka_unit_test(
            function_of_one_name__listed__only_its_own_code_with_what_was_inlined),
        cmocka_unit_test(code_without_bounds__listed__all_buckets),
        cmocka_unit_test(hits_without_line__source__counted_as_outside),
        cmocka_unit_test(hits_in_no_row__listed__in_the_total_unless_rows_are_selected),
        cmocka_unit_test(lines_far_apart__listed__a_gap_between),
        cmocka_unit_test(texts__hostile__one_line_each),
        cmocka_unit_test(fold__context__hides_what_is_far),
        cmocka_unit_test(fold__rows__only_the_hottest),
        cmocka_unit_test(fold__rows_with_equal_hits__the_first_behind_the_hottest),
        cmocka_unit_test(fold__bracket__whole),
    };

    assert_true(argc == 3);
    sample = realpath(argv[1], NULL);
    other_build = realpath(argv[2], NULL);
    read_source_path();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
