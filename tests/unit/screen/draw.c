/* SPDX-License-Identifier: MIT */
/* draw.c - what each page puts where, in any size, whatever names are made of. */
#include "view/screen/draw.h"

#include "looks.h"
#include "paper.h"

#include <locale.h>

static const char *const names[] = {"time", "page-faults"};

/* Control, escape, bad UTF-8, direction, wide, joining. */
static const char hostile[] = "a\tb\n\033[31mred\033]0;t\a \xff\xc3( \xe2\x80\xae< "
                              "\xe4\xb8\x80\xe4\xba\x8c e\xcc\x81"
                              "\xcc\x81 \xc2\x9b\xed\xa0\x80 \xe2\x80\xa8";

static struct tui_screen screen;

static int
setup(void **state)
{
    struct profile *const look = look_new();

    (void)state;
    tui_screen_init(&screen, names, 2);
    look_add(look, "/usr/lib/liba.so", "hot", 0x2000, 0, 75);
    look_add(look, "/usr/lib/liba.so", NULL, 0x2010, 0, 20);
    look_add(look, "/usr/bin/b", NULL, 0x2000, 0, 4);
    look_add(look, "/usr/bin/b", hostile, 0x3000, 0, 1);
    assert_true(tui_screen_take(&screen, look));
    profile_delete(look);
    screen.status = (struct tui_status){.what = "all processes by perf",
                                        .statistics = "100 hits",
                                        .interval_s = 2,
                                        .cost = 0.012};
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    tui_screen_finish(&screen);
    return 0;
}

static void
press(const char *keys)
{
    for (; *keys != '\0'; keys++) {
        tui_screen_key(&screen, (uint32_t)*keys);
    }
}

static void
draw__functions__lines_as_wanted(void **state)
{
    struct paper paper;

    (void)state;
    tui_screen_resize(&screen, 12, 90);
    paper = paper_draw(&screen);
    assert_string_equal(paper_line(&paper, 0), "ntprof top: all processes by perf");
    assert_string_equal(paper_line(&paper, 1),
                        "time: 100 hits; ntprof itself: 1.2% of a processor");
    assert_string_equal(paper_line(&paper, 2), "functions since the last look; 4 of 4");
    assert_string_equal(paper_line(&paper, 3),
                        "     2s      hits   total      hits  "
                        "function                            image");
    assert_string_equal(paper_line(&paper, 4),
                        " 75.00%        75  75.00%        75  "
                        "hot                                 liba.so");
    assert_string_equal(paper_line(&paper, 5),
                        " 20.00%        20  20.00%        20  "
                        "[no symbols] in liba.so             liba.so");
    assert_non_null(strstr(paper_line(&paper, 6), "[no symbols] in b"));
    assert_non_null(strstr(paper_line(&paper, 11), "q quit"));
    assert_int_equal(paper.styles[4 * paper.columns], TUI_CHOSEN);
    assert_int_equal(paper.styles[5 * paper.columns], TUI_HOT);
    assert_int_equal(paper.styles[6 * paper.columns], TUI_WARM);
    paper_finish(&paper);
}

/* As tables do, in the middle of its template arguments. */
static void
draw__long_name__shortened_in_its_middle(void **state)
{
    struct profile *const look = look_new();
    struct paper paper;

    (void)state;
    look_add(look, "/usr/bin/b",
             "app::Engine<std::basic_string<char>, std::vector<int> >::run()", 0x3000,
             0, 900);
    assert_true(tui_screen_take(&screen, look));
    profile_delete(look);
    tui_screen_resize(&screen, 12, 90);
    paper = paper_draw(&screen);
    assert_non_null(strstr(paper_line(&paper, 4), "  app::Engine<std::"));
    assert_non_null(strstr(paper_line(&paper, 4), "..."));
    assert_non_null(strstr(paper_line(&paper, 4), "> >::run() "));
    paper_finish(&paper);
}

static void
draw__images__whole_paths(void **state)
{
    struct paper paper;

    (void)state;
    tui_screen_resize(&screen, 12, 90);
    press("i");
    paper = paper_draw(&screen);
    assert_non_null(strstr(paper_line(&paper, 4), "/usr/lib/liba.so"));
    assert_non_null(strstr(paper_line(&paper, 4), "95.00%"));
    assert_non_null(strstr(paper_line(&paper, 5), "/usr/bin/b"));
    paper_finish(&paper);
}

static void
draw__paused_filtered_and_said__are_shown(void **state)
{
    struct paper paper;

    (void)state;
    tui_screen_resize(&screen, 12, 90);
    press("p/ho");
    paper = paper_draw(&screen);
    assert_non_null(strstr(paper_line(&paper, 0), "[paused] ntprof top"));
    assert_non_null(strstr(paper_line(&paper, 2), "1 of 4 with 'ho'"));
    assert_string_equal(paper_line(&paper, 11), "filter: ho_");
    assert_string_equal(paper_line(&paper, 5), "");
    paper_finish(&paper);
    press("\n");
    tui_screen_say(&screen, "wrote %s", "x\033[2J");
    paper = paper_draw(&screen);
    assert_string_equal(paper_line(&paper, 11), "wrote x\\x1b[2J");
    paper_finish(&paper);
    press("/zzz");
    paper = paper_draw(&screen);
    assert_string_equal(paper_line(&paper, 4), "nothing with this in its name");
    paper_finish(&paper);
}

static void
draw__look_under_way__is_told_if_paused_or_slow(void **state)
{
    static const struct {
        bool paused;
        bool looking;
        bool slow;
        const char *title;
    } rows[] = {
        {false, true, false, "ntprof top: "},
        {false, true, true, "[reading names] ntprof top: "},
        {true, true, true, "[pausing] ntprof top: "},
        {true, false, false, "[paused] ntprof top: "},
    };

    (void)state;
    tui_screen_resize(&screen, 12, 90);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct paper paper;

        screen.paused = rows[i].paused;
        screen.status.looking = rows[i].looking;
        screen.status.slow = rows[i].slow;
        paper = paper_draw(&screen);
        assert_int_equal(
            strncmp(paper_line(&paper, 0), rows[i].title, strlen(rows[i].title)), 0);
        paper_finish(&paper);
    }
}

static void
draw__hostile_name__is_escaped(void **state)
{
    struct paper paper;

    (void)state;
    tui_screen_resize(&screen, 12, 300);
    paper = paper_draw(&screen);
    assert_true(paper_has(&paper, "a\\x09b\\x0a\\x1b[31mred"));
    paper_finish(&paper);
}

/* paper_put ends the process where a rule is broken. */
static void
draw__any_page_in_any_size__within_the_screen(void **state)
{
    static const char *const pages[] = {"", "i", "f/", "\n?", "q"};
    static const unsigned sizes[] = {1,  2,  3,  4,  5,  9,  10, 11,  23,   24,   25,
                                     45, 46, 47, 69, 70, 71, 80, 200, 1000, 65535};
    const size_t count = sizeof(sizes) / sizeof(sizes[0]);

    (void)state;
    for (size_t page = 0; page < sizeof(pages) / sizeof(pages[0]); page++) {
        press(pages[page]);
        for (size_t i = 0; i < count * count; i++) {
            struct paper paper;

            tui_screen_resize(&screen, sizes[i / count], sizes[i % count]);
            paper = paper_draw(&screen);
            assert_int_equal(paper.lines, screen.lines);
            paper_finish(&paper);
        }
    }
}

static void
draw__listing__hits_brackets_and_source(void **state)
{
    static uint64_t hits[] = {30, 0, 10, 0};
    static uint64_t own[] = {40, 0};
    static uint64_t totals[] = {80, 0};
    static uint64_t shown[] = {40, 0};
    struct listing_line lines[] = {
        {.kind = LISTING_SOURCE,
         .text = "\tx = y;\033[0m",
         .line = 12,
         .hits_at = LISTING_NO_HITS},
        {.kind = LISTING_INSTRUCTION,
         .text = "mov %eax,%ebx",
         .address = 0x401000,
         .hits_at = 0,
         .bracket = LISTING_BRACKET_FIRST},
        {.kind = LISTING_INSTRUCTION,
         .text = "jne 0x401000",
         .address = 0x401002,
         .hits_at = LISTING_NO_HITS,
         .bracket = LISTING_BRACKET_LAST},
        {.kind = LISTING_INSTRUCTION,
         .text = "ret",
         .address = 0x401004,
         .hits_at = 2,
         .jumps = 1},
        {.kind = LISTING_SOURCE,
         .text = "",
         .line = 13,
         .missing = true,
         .hits_at = LISTING_NO_HITS},
    };
    struct listing listing = {.title = "hot in liba.so",
                              .has_instructions = true,
                              .lines = lines,
                              .count = 5,
                              .hits = hits,
                              .source_count = 2,
                              .own = own,
                              .totals = totals,
                              .shown = shown};
    struct paper paper;

    (void)state;
    tui_screen_resize(&screen, 12, 60);
    tui_screen_list(&screen, &listing, false);
    paper = paper_draw(&screen);
    assert_string_equal(paper_line(&paper, 0), "hot in liba.so");
    assert_string_equal(paper_line(&paper, 1), "time: 40 hits, 50.00% of all");
    assert_string_equal(paper_line(&paper, 4),
                        "                        12  \\x09x = y;\\x1b[0m");
    assert_string_equal(paper_line(&paper, 5),
                        " 75.00%        30 /       401000:   mov %eax,%ebx");
    assert_string_equal(paper_line(&paper, 6),
                        "                  \\       401002:   jne 0x401000");
    assert_string_equal(paper_line(&paper, 7),
                        " 25.00%        10         401004: > ret");
    assert_string_equal(paper_line(&paper, 8),
                        "                        13  (source is not there)");
    assert_int_equal(paper.styles[5 * paper.columns], TUI_CHOSEN);
    paper_finish(&paper);
    for (unsigned size = 1; size < 100; size++) {
        tui_screen_resize(&screen, size % 13, size);
        paper = paper_draw(&screen);
        paper_finish(&paper);
    }
    tui_screen_list(&screen, NULL, true);
}

/* The lines around the one that was asked for have hits that are not its own. */
static void
draw__listing_of_a_line__shares_are_of_what_is_shown(void **state)
{
    static uint64_t hits[] = {10, 70};
    static uint64_t own[] = {10};
    static uint64_t totals[] = {100};
    static uint64_t shown[] = {80};
    struct listing_line lines[] = {
        {.kind = LISTING_SOURCE, .text = "asked();", .line = 1, .hits_at = 0},
        {.kind = LISTING_SOURCE, .text = "beside();", .line = 2, .hits_at = 1},
    };
    struct listing listing = {.title = "a.c:1",
                              .lines = lines,
                              .count = 2,
                              .hits = hits,
                              .source_count = 1,
                              .own = own,
                              .totals = totals,
                              .shown = shown};
    struct paper paper;

    (void)state;
    tui_screen_resize(&screen, 12, 60);
    tui_screen_list(&screen, &listing, false);
    paper = paper_draw(&screen);
    assert_string_equal(paper_line(&paper, 1), "time: 10 hits, 10.00% of all");
    assert_string_equal(paper_line(&paper, 4), " 12.50%        10        1  asked();");
    assert_string_equal(paper_line(&paper, 5), " 87.50%        70        2  beside();");
    paper_finish(&paper);
    tui_screen_list(&screen, NULL, true);
}

static void
draw__name_of_a_megabyte__cut(void **state)
{
    enum { SIZE = 1 << 20 };
    char *const name = malloc(SIZE + 1);
    struct profile *const look = look_new();
    struct paper paper;

    (void)state;
    assert_non_null(name);
    memset(name, '\033', SIZE);
    name[SIZE] = '\0';
    look_add(look, name, name, 0x2000, 0, 1000);
    assert_true(tui_screen_take(&screen, look));
    profile_delete(look);
    free(name);
    tui_screen_resize(&screen, 65535, 65535);
    paper = paper_draw(&screen);
    assert_non_null(strstr(paper_line(&paper, 4), "\\x1b\\x1b\\x1b"));
    paper_finish(&paper);
}

/* What this locale cannot show has no width in it. */
static void
draw__locale_without_unicode__question_marks(void **state)
{
    struct paper paper;

    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C"));
    tui_screen_resize(&screen, 12, 300);
    paper = paper_draw(&screen);
    assert_true(paper_has(&paper, "< ?? e"));
    paper_finish(&paper);
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    paper = paper_draw(&screen);
    assert_true(paper_has(&paper, "< #### e"));
    paper_finish(&paper);
}

static void
draw__idle_processors__told_and_in_no_share(void **state)
{
    struct profile *const look = look_new();
    struct paper paper;

    (void)state;
    look_add(look, "[kernel]", "pv_native_safe_halt", 0x1000, 0, 300);
    assert_true(tui_screen_take(&screen, look));
    profile_delete(look);
    tui_screen_resize(&screen, 12, 90);
    paper = paper_draw(&screen);
    assert_string_equal(
        paper_line(&paper, 2),
        "functions since the last look; 4 of 4; idle, left out: 300 hits (75.0%)");
    assert_string_equal(paper_line(&paper, 4),
                        "  0.00%         0  75.00%        75  "
                        "hot                                 liba.so");
    paper_finish(&paper);
    press("e");
    paper = paper_draw(&screen);
    assert_string_equal(paper_line(&paper, 2), "functions since the last look; 4 of 4");
    paper_finish(&paper);
}

static void
draw__calls__relations_and_what_they_are_of(void **state)
{
    const struct tui_target target = {
        .image = "/bin/a",
        .build_id = "",
        .function = {.name = "f", .system_name = "f", .file = ""},
    };
    struct profile *const look = look_new();
    struct paper paper;

    (void)state;
    look_add_stack(look, "/bin/a", "mfx", PROFILE_STACK_WHOLE, 75);
    look_add_stack(look, "/bin/a", "mf", PROFILE_STACK_WHOLE, 25);
    assert_true(tui_screen_take(&screen, look));
    assert_true(tui_screen_show_calls(&screen, &target, look));
    profile_delete(look);
    tui_screen_resize(&screen, 12, 90);
    paper = paper_draw(&screen);
    assert_string_equal(paper_line(&paper, 2),
                        "callers and callees since the last look; 3 of 3; 100 hits "
                        "(50.0%) with f on the stack");
    assert_string_equal(paper_line(&paper, 4), "  0.00%         0 100.00%       100  "
                                               "caller m                            a");
    assert_string_equal(paper_line(&paper, 5), "  0.00%         0  25.00%        25  "
                                               "itself f                            a");
    assert_string_equal(paper_line(&paper, 6), "  0.00%         0  75.00%        75  "
                                               "callee x                            a");
    paper_finish(&paper);
}

static void
draw__calls_with_idle_processors__told_and_in_no_share(void **state)
{
    const struct tui_target target = {
        .image = "[kernel]",
        .build_id = "",
        .function = {.name = "f", .system_name = "f", .file = ""},
    };
    struct profile *const look = look_new();
    const struct profile_call end = {.end = PROFILE_STACK_WHOLE};
    struct profile_place idle = {.image = look_image(look, "[kernel]"),
                                 .address = 0x3000,
                                 .function = look_function(look, "default_idle")};
    struct profile_call call = {
        .address = 0x4000, .image = idle.image, .function = look_function(look, "f")};
    struct paper paper;

    (void)state;
    assert_true(profile_add_call(look, &end, &call.caller));
    assert_true(profile_add_call(look, &call, &idle.stack));
    assert_true(profile_add_hits_at(look, &idle, 0, 9));
    look_add_stack(look, "[kernel]", "f", PROFILE_STACK_WHOLE, 1);
    tui_screen_finish(&screen);
    tui_screen_init(&screen, names, 2);
    assert_true(tui_screen_take(&screen, look));
    assert_true(tui_screen_show_calls(&screen, &target, look));
    profile_delete(look);
    tui_screen_resize(&screen, 12, 130);
    paper = paper_draw(&screen);
    assert_string_equal(paper_line(&paper, 2),
                        "callers and callees since the last look; 2 of 2; 1 hit "
                        "(100.0%) with f on the stack; idle, left out: 9 hits (90.0%)");
    paper_finish(&paper);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(draw__functions__lines_as_wanted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(draw__long_name__shortened_in_its_middle, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(draw__images__whole_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(draw__idle_processors__told_and_in_no_share,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(draw__paused_filtered_and_said__are_shown,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(draw__look_under_way__is_told_if_paused_or_slow,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(draw__hostile_name__is_escaped, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(draw__any_page_in_any_size__within_the_screen,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(draw__listing__hits_brackets_and_source, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            draw__listing_of_a_line__shares_are_of_what_is_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(draw__calls__relations_and_what_they_are_of,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            draw__calls_with_idle_processors__told_and_in_no_share, setup, teardown),
        cmocka_unit_test_setup_teardown(draw__name_of_a_megabyte__cut, setup, teardown),
        cmocka_unit_test_setup_teardown(draw__locale_without_unicode__question_marks,
                                        setup, teardown),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
