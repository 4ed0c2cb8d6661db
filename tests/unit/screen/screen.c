/* SPDX-License-Identifier: MIT */
/* screen.c - keys, order, filter, window and sizes of a live screen, without a
 * terminal. */
#include "view/screen/screen.h"

#include "looks.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {"time", "page-faults"};

static void
take(struct tui_screen *screen, struct profile *look)
{
    assert_true(tui_screen_take(screen, look));
    profile_delete(look);
}

/* hot 10, warm 5, cold 1, faulty 0 of time; hot has most of all looks only now. */
static int
setup(void **state)
{
    struct tui_screen *const screen = calloc(1, sizeof(*screen));
    struct profile *look = look_new();

    assert_non_null(screen);
    tui_screen_init(screen, names, 2);
    look_add(look, "/bin/b", "warm", 0x2000, 0, 100);
    look_add(look, "/bin/a", "hot", 0x2000, 0, 3);
    take(screen, look);
    look = look_new();
    look_add(look, "/bin/a", "hot", 0x2000, 0, 10);
    look_add(look, "/bin/b", "warm", 0x2000, 0, 5);
    look_add(look, "/bin/c", "cold", 0x2000, 0, 1);
    look_add(look, "/bin/a", "faulty", 0x3000, 1, 50);
    take(screen, look);
    *state = screen;
    return 0;
}

static int
teardown(void **state)
{
    struct tui_screen *const screen = *state;

    tui_screen_finish(screen);
    free(screen);
    return 0;
}

static const char *
name_at(const struct tui_screen *screen, size_t at)
{
    const char *const name =
        at < screen->shown_count
            ? tui_table_name(&screen->tables[screen->view], screen->shown[at])
            : "(none)";

    return name != NULL ? name : "(no name)";
}

static const char *
chosen(const struct tui_screen *screen)
{
    size_t row;

    if (!tui_screen_chosen(screen, &row)) {
        return "(none)";
    }
    return tui_table_name(&screen->tables[screen->view], row);
}

static void
press(struct tui_screen *screen, const char *keys)
{
    for (; *keys != '\0'; keys++) {
        assert_int_equal(tui_screen_key(screen, (uint32_t)*keys), TUI_NOTHING);
    }
}

static void
screen_key__orders__sort_and_come_round(void **state)
{
    struct tui_screen *const screen = *state;

    assert_string_equal(name_at(screen, 0), "hot");
    assert_string_equal(name_at(screen, 1), "warm");
    press(screen, "s");
    assert_int_equal(screen->order, TUI_BY_TOTAL);
    assert_string_equal(name_at(screen, 0), "warm");
    press(screen, "s");
    assert_string_equal(name_at(screen, 0), "cold");
    assert_string_equal(name_at(screen, 3), "warm");
    press(screen, "r");
    assert_string_equal(name_at(screen, 0), "warm");
    press(screen, "s");
    assert_int_equal(screen->order, TUI_BY_IMAGE);
    assert_false(screen->reversed);
    assert_string_equal(name_at(screen, 0), "hot");
    assert_string_equal(name_at(screen, 1), "faulty");
    assert_string_equal(name_at(screen, 2), "warm");
    press(screen, "s");
    assert_int_equal(screen->order, TUI_BY_RECENT);
    tui_screen_key(screen, TUI_KEY_LEFT);
    assert_int_equal(screen->order, TUI_BY_IMAGE);
    tui_screen_key(screen, TUI_KEY_RIGHT);
    assert_int_equal(screen->order, TUI_BY_RECENT);
}

static void
screen_key__next_source__orders_by_its_hits(void **state)
{
    struct tui_screen *const screen = *state;

    press(screen, "e");
    assert_int_equal(screen->source, 1);
    assert_string_equal(name_at(screen, 0), "faulty");
    press(screen, "e");
    assert_int_equal(screen->source, 0);
    assert_string_equal(name_at(screen, 0), "hot");
}

static void
screen_key__filter__typed_kept_or_not(void **state)
{
    struct tui_screen *const screen = *state;

    press(screen, "/ot");
    assert_true(screen->typing);
    assert_int_equal(screen->shown_count, 1);
    assert_string_equal(chosen(screen), "hot");
    tui_screen_key(screen, TUI_KEY_BACKSPACE);
    assert_string_equal(screen->filter, "o");
    assert_int_equal(screen->shown_count, 2);
    press(screen, "ld");
    assert_string_equal(chosen(screen), "cold");
    tui_screen_key(screen, TUI_KEY_ENTER);
    assert_false(screen->typing);
    assert_int_equal(screen->shown_count, 1);
    press(screen, "/xyz");
    assert_int_equal(screen->shown_count, 0);
    assert_string_equal(chosen(screen), "(none)");
    assert_int_equal(tui_screen_key(screen, 0x1b), TUI_NOTHING);
    assert_string_equal(screen->filter, "old");
    assert_int_equal(screen->shown_count, 1);
    tui_screen_key(screen, TUI_KEY_ESCAPE);
    assert_string_equal(screen->filter, "");
    assert_int_equal(screen->shown_count, 4);
}

static void
screen_key__filter__letters_of_keys_are_text(void **state)
{
    struct tui_screen *const screen = *state;

    press(screen, "/qw?*");
    assert_string_equal(screen->filter, "qw?*");
    tui_screen_key(screen, 0x15);
    assert_string_equal(screen->filter, "");
    tui_screen_key(screen, 0xe9);
    tui_screen_key(screen, 0x20ac);
    tui_screen_key(screen, 0x1f600);
    assert_string_equal(screen->filter, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    tui_screen_key(screen, 0xd800);
    tui_screen_key(screen, 0x01);
    tui_screen_key(screen, 0x9b);
    tui_screen_key(screen, TUI_KEY_UP);
    tui_screen_key(screen, 0x7f);
    assert_string_equal(screen->filter, "\xc3\xa9\xe2\x82\xac");
    for (int i = 0; i < 1000; i++) {
        tui_screen_key(screen, 0x20ac);
    }
    assert_int_equal(strlen(screen->filter), 5 + 65 * 3);
    for (int i = 0; i < 1000; i++) {
        tui_screen_key(screen, '\b');
    }
    assert_string_equal(screen->filter, "");
}

static void
screen_key__filter_by_image__finds_its_functions(void **state)
{
    struct tui_screen *const screen = *state;

    press(screen, "//bin/a\n");
    assert_int_equal(screen->shown_count, 2);
    assert_string_equal(name_at(screen, 0), "hot");
    assert_string_equal(name_at(screen, 1), "faulty");
}

static void
screen_key__processes__are_rows_without_functions(void **state)
{
    struct tui_screen *const screen = *state;

    press(screen, "P");
    assert_int_equal(screen->view, TUI_PROCESSES);
    assert_true(screen->shown_count > 0);
    assert_int_equal(tui_screen_key(screen, TUI_KEY_ENTER), TUI_NOTHING);
    assert_non_null(strstr(screen->message, "ntprof top PID"));
    assert_int_equal(screen->view, TUI_PROCESSES);
    press(screen, "f");
    assert_int_equal(screen->view, TUI_FUNCTIONS);
}

static void
screen_key__inlined__switched_to_and_back(void **state)
{
    struct tui_screen *const screen = *state;
    struct profile *const look = look_new();

    look_add_inlined(look, "/bin/a", "step", "hot", 0x2004, 20);
    take(screen, look);
    assert_string_equal(name_at(screen, 0), "hot");
    assert_int_equal(screen->shown_count, 4);
    press(screen, "v");
    assert_int_equal(screen->view, TUI_INLINED);
    assert_int_equal(screen->shown_count, 5);
    assert_string_equal(name_at(screen, 0), "step inlined in hot");
    assert_int_equal(tui_screen_key(screen, TUI_KEY_ENTER), TUI_LIST);
    press(screen, "/step\n");
    assert_int_equal(screen->shown_count, 1);
    press(screen, "v");
    assert_int_equal(screen->view, TUI_FUNCTIONS);
    assert_int_equal(screen->shown_count, 0);
    tui_screen_key(screen, TUI_KEY_ESCAPE);
    assert_int_equal(
        tui_table_recent(&screen->tables[TUI_FUNCTIONS], screen->shown[0], 0), 20);
}

/* The look that tells the second apart from the first also changes how that reads. */
static void
screen_take__second_function_of_a_name__both_told_apart(void **state)
{
    struct tui_screen *const screen = *state;
    struct profile *look = look_new();

    look_add_placed(look, "/bin/d", "work", "/src/a.c", 0x2000, 0x2000, 70);
    take(screen, look);
    assert_string_equal(name_at(screen, 0), "work");
    look = look_new();
    look_add_placed(look, "/bin/d", "work", "/src/a.c", 0x2000, 0x2000, 70);
    look_add_placed(look, "/bin/d", "work", "/src/b.c", 0x3000, 0x3000, 60);
    take(screen, look);
    assert_string_equal(name_at(screen, 0), "work (a.c:9)");
    assert_string_equal(name_at(screen, 1), "work (b.c:9)");
}

static void
screen_key__views__enter_goes_from_image_to_functions(void **state)
{
    struct tui_screen *const screen = *state;

    press(screen, "i");
    assert_int_equal(screen->view, TUI_IMAGES);
    assert_int_equal(screen->shown_count, 3);
    assert_string_equal(tui_table_image(&screen->tables[TUI_IMAGES], screen->shown[0]),
                        "/bin/a");
    press(screen, "j\n");
    assert_int_equal(screen->view, TUI_FUNCTIONS);
    assert_string_equal(screen->only, "/bin/b");
    assert_int_equal(screen->shown_count, 1);
    assert_string_equal(chosen(screen), "warm");
    press(screen, "i");
    assert_int_equal(screen->shown_count, 3);
    press(screen, "f");
    assert_int_equal(screen->shown_count, 1);
    tui_screen_key(screen, TUI_KEY_ESCAPE);
    assert_int_equal(screen->shown_count, 4);
}

static void
screen_key__actions__are_asked_for(void **state)
{
    struct tui_screen *const screen = *state;

    assert_int_equal(tui_screen_key(screen, TUI_KEY_ENTER), TUI_LIST);
    assert_int_equal(tui_screen_key(screen, 'a'), TUI_LIST);
    assert_int_equal(tui_screen_key(screen, 'w'), TUI_WRITE);
    assert_int_equal(tui_screen_key(screen, 'l'), TUI_LOOK);
    assert_int_equal(tui_screen_key(screen, ' '), TUI_NOTHING);
    assert_true(screen->paused);
    assert_int_equal(tui_screen_key(screen, 'p'), TUI_LOOK);
    assert_false(screen->paused);
    assert_int_equal(tui_screen_key(screen, 'q'), TUI_QUIT);
    press(screen, "/nothing\n");
    assert_int_equal(tui_screen_key(screen, TUI_KEY_ENTER), TUI_NOTHING);
}

/* Shows the callers and callees of the row at the cursor, which is in all. */
static void
show_calls(struct tui_screen *screen, const struct profile *all)
{
    struct tui_target target;
    size_t row;

    assert_int_equal(tui_screen_key(screen, 'c'), TUI_CALLED);
    assert_true(tui_screen_chosen(screen, &row));
    target = tui_table_target(&screen->tables[screen->view], row);
    assert_true(tui_screen_show_calls(screen, &target, all));
}

/* Code that belongs to no file, and one that is called as the end of stacks is. */
static void
screen_key__calls_of_code_without_image__are_asked_for(void **state)
{
    struct tui_screen *const screen = *state;
    struct profile *const look = look_new();

    screen->stacks = true;
    look_add_stack(look, "", "mf", PROFILE_STACK_WHOLE, 1000);
    assert_true(tui_screen_take(screen, look));
    press(screen, "/\025f\n");
    assert_string_equal(chosen(screen), "f");
    show_calls(screen, look);
    assert_string_equal(name_at(screen, 0), "m");
    show_calls(screen, look);
    assert_string_equal(name_at(screen, 0), "[no caller]");
    assert_int_equal(tui_screen_key(screen, 'c'), TUI_NOTHING);
    assert_int_equal(tui_screen_key(screen, TUI_KEY_ENTER), TUI_NOTHING);
    profile_delete(look);
}

static void
screen_key__calls__callers_then_itself_then_callees_and_back(void **state)
{
    struct tui_screen *const screen = *state;
    struct profile *look = look_new();

    screen->stacks = true;
    look_add_stack(look, "/bin/a", "mf", PROFILE_STACK_WHOLE, 1000);
    look_add_stack(look, "/bin/a", "nf", PROFILE_STACK_WHOLE, 2000);
    look_add_stack(look, "/bin/a", "nfx", PROFILE_STACK_WHOLE, 5000);
    assert_true(tui_screen_take(screen, look));
    press(screen, "i/bin/a\n");
    assert_int_equal(tui_screen_key(screen, 'c'), TUI_NOTHING);
    assert_non_null(strstr(screen->message, "for functions"));
    press(screen, "\033f/\025f\n");
    assert_string_equal(chosen(screen), "f");
    show_calls(screen, look);
    assert_int_equal(screen->view, TUI_CALLS);
    assert_int_equal(screen->shown_count, 4);
    assert_string_equal(name_at(screen, 0), "n");
    assert_string_equal(name_at(screen, 1), "m");
    assert_string_equal(name_at(screen, 2), "f");
    assert_string_equal(name_at(screen, 3), "x");
    press(screen, "sr");
    assert_string_equal(name_at(screen, 0), "m");
    assert_string_equal(name_at(screen, 2), "f");
    tui_screen_key(screen, TUI_KEY_LEFT);
    profile_delete(look);
    look = look_new();
    look_add_stack(look, "/bin/a", "mf", PROFILE_STACK_WHOLE, 1);
    assert_true(tui_screen_take(screen, look));
    assert_string_equal(name_at(screen, 0), "m");
    show_calls(screen, look);
    assert_string_equal(name_at(screen, 0), "[no caller]");
    assert_int_equal(tui_screen_key(screen, 'c'), TUI_NOTHING);
    assert_non_null(strstr(screen->message, "no function"));
    assert_int_equal(tui_screen_key(screen, TUI_KEY_ENTER), TUI_NOTHING);
    assert_int_equal(tui_screen_key(screen, TUI_KEY_DOWN), TUI_NOTHING);
    assert_int_equal(tui_screen_key(screen, TUI_KEY_ENTER), TUI_LIST);
    assert_int_equal(tui_screen_key(screen, 'q'), TUI_BACK);
    assert_int_equal(screen->view, TUI_FUNCTIONS);
    assert_int_equal(tui_screen_key(screen, 'q'), TUI_QUIT);
    profile_delete(look);
}

static void
screen_key__calls_without_stacks__says_how(void **state)
{
    struct tui_screen *const screen = *state;

    assert_int_equal(tui_screen_key(screen, 'c'), TUI_NOTHING);
    assert_non_null(strstr(screen->message, "ntprof top -g"));
    screen->whole = true;
    assert_int_equal(tui_screen_key(screen, 'c'), TUI_NOTHING);
    assert_string_equal(screen->message, "stores keep no callers");
    assert_int_equal(screen->view, TUI_FUNCTIONS);
}

static void
screen_key__help__scrolls_and_goes_back(void **state)
{
    struct tui_screen *const screen = *state;

    tui_screen_resize(screen, 8, 80);
    press(screen, "?");
    assert_int_equal(screen->page, TUI_PAGE_HELP);
    tui_screen_key(screen, TUI_KEY_END);
    assert_int_equal(screen->help_first + (size_t)tui_screen_window(screen),
                     tui_help_lines());
    tui_screen_key(screen, TUI_KEY_NONE);
    assert_int_equal(screen->page, TUI_PAGE_HELP);
    assert_int_equal(tui_screen_key(screen, 'q'), TUI_NOTHING);
    assert_int_equal(screen->page, TUI_PAGE_TABLE);
}

static void
screen_take__cursor_moved__stays_with_its_row(void **state)
{
    struct tui_screen *const screen = *state;
    struct profile *look = look_new();

    press(screen, "j");
    assert_string_equal(chosen(screen), "warm");
    look_add(look, "/bin/c", "cold", 0x2000, 0, 30);
    look_add(look, "/bin/d", "new", 0x2000, 0, 20);
    take(screen, look);
    assert_string_equal(name_at(screen, 0), "cold");
    assert_string_equal(chosen(screen), "warm");
    assert_int_equal(screen->cursor, 2);
    press(screen, "g");
    assert_string_equal(chosen(screen), "cold");
    look = look_new();
    look_add(look, "/bin/d", "new", 0x2000, 0, 20);
    take(screen, look);
    assert_int_equal(screen->cursor, 0);
    assert_string_equal(chosen(screen), "new");
}

static void
assert_window(const struct tui_screen *screen)
{
    const size_t window = (size_t)tui_screen_window(screen);

    assert_true(tui_screen_window(screen) >= 0);
    assert_int_equal(tui_screen_head(screen) + tui_screen_window(screen) +
                         tui_screen_foot(screen),
                     screen->lines);
    assert_true(screen->shown_count == 0 || screen->cursor < screen->shown_count);
    if (window > 0 && screen->shown_count > 0) {
        assert_true(screen->first <= screen->cursor);
        assert_true(screen->cursor - screen->first < window);
    }
}

static void
screen_resize__any_size__window_holds_the_cursor(void **state)
{
    static const unsigned sizes[] = {0,  1,  2,   3,   4,   5,     9,     10,
                                     24, 80, 299, 300, 301, 65534, 65535, UINT32_MAX};
    struct tui_screen *const screen = *state;
    const size_t count = sizeof(sizes) / sizeof(sizes[0]);

    for (size_t i = 0; i < count * count; i++) {
        tui_screen_resize(screen, sizes[i / count], sizes[i % count]);
        assert_in_range(screen->lines, 1, TUI_LINES_MAX);
        assert_in_range(screen->columns, 1, TUI_COLUMNS_MAX);
        assert_window(screen);
        tui_screen_key(screen, TUI_KEY_PAGE_DOWN);
        assert_window(screen);
        tui_screen_key(screen, TUI_KEY_HOME);
        assert_window(screen);
    }
    tui_screen_resize(screen, 0, 0);
    assert_int_equal(screen->lines, 24);
    assert_int_equal(screen->columns, 80);
    tui_screen_resize(screen, 30, 100);
    assert_int_equal(screen->lines, 30);
    assert_int_equal(screen->columns, 100);
}

static void
screen_key__many_rows__scrolls_by_lines_and_pages(void **state)
{
    struct tui_screen *const screen = *state;
    struct profile *const look = look_new();
    char name[16];

    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "f%03d", i);
        look_add(look, "/bin/f", name, 0x2000 + 16 * (uint64_t)i, 0,
                 1000 - (uint64_t)i);
    }
    take(screen, look);
    tui_screen_resize(screen, 15, 80);
    assert_int_equal(tui_screen_window(screen), 10);
    for (int i = 0; i < 10; i++) {
        press(screen, "j");
    }
    assert_int_equal(screen->first, 1);
    assert_string_equal(chosen(screen), "f010");
    tui_screen_key(screen, TUI_KEY_PAGE_DOWN);
    assert_string_equal(chosen(screen), "f019");
    tui_screen_key(screen, TUI_KEY_END);
    assert_int_equal(screen->cursor, 203);
    assert_int_equal(screen->first, 194);
    tui_screen_resize(screen, 8, 80);
    assert_window(screen);
    tui_screen_resize(screen, 60, 80);
    assert_window(screen);
    assert_int_equal(screen->first, 149);
    tui_screen_key(screen, TUI_KEY_PAGE_UP);
    tui_screen_key(screen, TUI_KEY_PAGE_UP);
    tui_screen_key(screen, TUI_KEY_UP);
    assert_window(screen);
    assert_int_equal(screen->cursor, 203 - 54 - 54 - 1);
}

/* --- listings --- */

static struct listing_line lines[100];
static uint64_t line_hits[200];

/* Lines of which 40, 60 and 70 have hits, 60 the most. */
static struct listing
listing_of_lines(void)
{
    struct listing listing = {.title = "hot in /bin/a",
                              .has_instructions = true,
                              .lines = lines,
                              .count = 100,
                              .hits = line_hits,
                              .source_count = 2};

    for (size_t i = 0; i < 100; i++) {
        lines[i] = (struct listing_line){.kind = LISTING_INSTRUCTION,
                                         .text = "nop",
                                         .hits_at = 2 * i,
                                         .shared_at = LISTING_NO_HITS};
        line_hits[2 * i] = i == 60 ? 9 : i == 40 || i == 70 ? 2 : 0;
        line_hits[2 * i + 1] = 0;
    }
    return listing;
}

static void
screen_list__new__shows_the_hottest_line_in_the_middle(void **state)
{
    struct tui_screen *const screen = *state;
    struct listing listing = listing_of_lines();

    tui_screen_list(screen, &listing, false);
    assert_int_equal(screen->page, TUI_PAGE_LISTING);
    assert_int_equal(screen->list_cursor, 60);
    assert_true(screen->list_first < 60);
    press(screen, "n");
    assert_int_equal(screen->list_cursor, 70);
    press(screen, "n");
    assert_int_equal(screen->list_cursor, 70);
    press(screen, "NN");
    assert_int_equal(screen->list_cursor, 40);
    press(screen, "G");
    assert_int_equal(screen->list_cursor, 99);
    assert_int_equal(tui_screen_key(screen, 'q'), TUI_NOTHING);
    assert_int_equal(screen->page, TUI_PAGE_TABLE);
    tui_screen_list(screen, NULL, false);
}

static void
screen_list__again_and_shorter__window_stays_within(void **state)
{
    struct tui_screen *const screen = *state;
    struct listing listing = listing_of_lines();
    struct listing shorter = listing_of_lines();

    tui_screen_list(screen, &listing, false);
    tui_screen_list(screen, &listing, true);
    assert_int_equal(screen->list_cursor, 60);
    shorter.count = 5;
    tui_screen_list(screen, &shorter, true);
    assert_int_equal(screen->list_cursor, 4);
    assert_int_equal(screen->list_first, 0);
    shorter.count = 0;
    tui_screen_list(screen, &shorter, true);
    press(screen, "jknNgG");
    assert_int_equal(screen->list_cursor, 0);
    tui_screen_list(screen, NULL, true);
    assert_int_equal(screen->page, TUI_PAGE_TABLE);
}

static void
screen_list__help_over_it__goes_back_to_it_or_the_table(void **state)
{
    struct tui_screen *const screen = *state;
    struct listing listing = listing_of_lines();

    tui_screen_list(screen, &listing, false);
    press(screen, "?q");
    assert_int_equal(screen->page, TUI_PAGE_LISTING);
    press(screen, "?");
    tui_screen_list(screen, NULL, true);
    press(screen, "q");
    assert_int_equal(screen->page, TUI_PAGE_TABLE);
}

static void
screen_init__no_looks__keys_do_no_harm(void **state)
{
    struct tui_screen screen;

    (void)state;
    tui_screen_init(&screen, names, 2);
    for (uint32_t key = 0; key < 256; key++) {
        (void)tui_screen_key(&screen, key);
        assert_window(&screen);
    }
    for (uint32_t key = TUI_KEY_UP; key <= TUI_KEY_NONE; key++) {
        (void)tui_screen_key(&screen, key);
        assert_window(&screen);
    }
    assert_int_equal(screen.shown_count, 0);
    tui_screen_finish(&screen);
}

/* Each look replaces the one before: a row without hits is not shown, until it has some
 * again. */
static void
screen_take__whole__shows_the_last_look_only(void **state)
{
    struct tui_screen *const screen = *state;
    struct profile *look = look_new();

    screen->whole = true;
    look_add(look, "/bin/b", "warm", 0x2000, 0, 7);
    look_add(look, "/bin/d", "new", 0x2000, 0, 9);
    take(screen, look);
    assert_int_equal(screen->shown_count, 2);
    assert_string_equal(name_at(screen, 0), "new");
    assert_string_equal(name_at(screen, 1), "warm");
    assert_int_equal(screen->tables[TUI_FUNCTIONS].total_sums[0], 16);
    look = look_new();
    look_add(look, "/bin/a", "hot", 0x2000, 0, 2);
    look_add(look, "/bin/b", "warm", 0x2000, 0, 7);
    look_add(look, "/bin/a", "faulty", 0x3000, 1, 1);
    take(screen, look);
    assert_int_equal(screen->shown_count, 3);
    assert_string_equal(name_at(screen, 0), "warm");
    assert_string_equal(name_at(screen, 1), "hot");
    assert_int_equal(screen->tables[TUI_FUNCTIONS].total_sums[0], 9);
    assert_int_equal(screen->tables[TUI_IMAGES].recent_sums[1], 1);
    take(screen, look_new());
    assert_int_equal(screen->shown_count, 0);
}

static void
screen_key__whole__no_order_by_totals(void **state)
{
    struct tui_screen *const screen = *state;

    screen->whole = true;
    assert_string_equal(tui_order_name(screen), "by hits");
    press(screen, "s");
    assert_string_equal(tui_order_name(screen), "by name");
    press(screen, "ss");
    assert_string_equal(tui_order_name(screen), "by hits");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(screen_key__orders__sort_and_come_round, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(screen_key__inlined__switched_to_and_back,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_take__second_function_of_a_name__both_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(screen_key__next_source__orders_by_its_hits,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(screen_key__filter__typed_kept_or_not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(screen_key__filter__letters_of_keys_are_text,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_key__filter_by_image__finds_its_functions, setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_key__views__enter_goes_from_image_to_functions, setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_key__processes__are_rows_without_functions, setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_key__calls_of_code_without_image__are_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_key__calls__callers_then_itself_then_callees_and_back, setup,
            teardown),
        cmocka_unit_test_setup_teardown(screen_key__calls_without_stacks__says_how,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(screen_key__actions__are_asked_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(screen_key__help__scrolls_and_goes_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(screen_take__cursor_moved__stays_with_its_row,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_resize__any_size__window_holds_the_cursor, setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_key__many_rows__scrolls_by_lines_and_pages, setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_list__new__shows_the_hottest_line_in_the_middle, setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_list__again_and_shorter__window_stays_within, setup, teardown),
        cmocka_unit_test_setup_teardown(
            screen_list__help_over_it__goes_back_to_it_or_the_table, setup, teardown),
        cmocka_unit_test_setup_teardown(screen_take__whole__shows_the_last_look_only,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(screen_key__whole__no_order_by_totals, setup,
                                        teardown),
        cmocka_unit_test(screen_init__no_looks__keys_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
