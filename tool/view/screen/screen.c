/* SPDX-License-Identifier: MIT */
/* screen.c - keys, order of rows, filter, and position of the window. */
#include "view/screen/screen.h"
#include "view/screen/filter.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_UNKNOWN = 24, COLUMNS_UNKNOWN = 80 };

const char *const tui_help[] = {
    "Functions and images, with their hits since the last look and the start.",
    "",
    "  up down  j k  PgUp PgDn  Home End   move",
    "  Enter  a         function: source and instructions; image: its functions",
    "  f  i  P          functions, in whose machine code hits are; images; processes",
    "  v                functions that were inlined, with what they are in; and back",
    "  c                callers and callees of the function, with -g; q goes back",
    "  s  left right    order: last look, start, name, image",
    "  r                the other way round",
    "  e                next source",
    "  /                only what has this in its name or image; * ? : a glob",
    "                   Enter keeps it, Esc does not; Esc again shows all",
    "  space  p         pause: the screen stays, and counting continues",
    "  l                look now",
    "  w                write a profile of what was shown, into the file of -o",
    "  q                quit, or go back",
    "  ?  h             this",
    "",
    "In a listing",
    "  n  N             next, previous line with hits",
    "  q  Esc  left     back",
};

size_t
tui_help_lines(void)
{
    return sizeof(tui_help) / sizeof(tui_help[0]);
}

const char *
tui_order_name(const struct tui_screen *screen)
{
    static const char *const names[TUI_ORDERS] = {
        [TUI_BY_RECENT] = "since the last look",
        [TUI_BY_TOTAL] = "since the start",
        [TUI_BY_NAME] = "by name",
        [TUI_BY_IMAGE] = "by image",
    };

    return screen->whole && screen->order == TUI_BY_RECENT ? "by hits"
                                                           : names[screen->order];
}

void
tui_screen_init(struct tui_screen *screen, const char *const *source_names,
                size_t source_count)
{
    *screen =
        (struct tui_screen){.source_names = source_names, .source_count = source_count};
    for (int kind = 0; kind < TUI_KINDS; kind++) {
        tui_table_init(&screen->tables[kind], (enum tui_rows)kind);
    }
    tui_screen_resize(screen, 0, 0);
}

void
tui_screen_finish(struct tui_screen *screen)
{
    for (int kind = 0; kind < TUI_KINDS; kind++) {
        tui_table_finish(&screen->tables[kind]);
    }
    free(screen->shown);
    screen->shown = NULL;
    screen->shown_count = 0;
    screen->shown_capacity = 0;
}

int
tui_screen_head(const struct tui_screen *screen)
{
    if (screen->page == TUI_PAGE_HELP) {
        return screen->lines >= 4;
    }
    return screen->lines >= 10 ? TUI_HEAD_WHOLE : screen->lines >= 4;
}

int
tui_screen_foot(const struct tui_screen *screen)
{
    return screen->lines >= 3;
}

int
tui_screen_window(const struct tui_screen *screen)
{
    return screen->lines - tui_screen_head(screen) - tui_screen_foot(screen);
}

void
tui_screen_say(struct tui_screen *screen, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(screen->message, sizeof(screen->message), format, arguments);
    va_end(arguments);
}

/* Return the first line of a window: the given one, moved as little as needed to have
 * the cursor in the window. */
static size_t
scroll(size_t first, size_t cursor, size_t count, size_t window)
{
    const size_t last = count > window ? count - window : 0;

    if (cursor < first) {
        first = cursor;
    } else if (window > 0 && cursor - first >= window) {
        first = cursor - (window - 1);
    }
    return first > last ? last : first;
}

static size_t
list_count(const struct tui_screen *screen)
{
    return screen->listing != NULL ? screen->listing->count : 0;
}

/* Keep the cursors on lines that exist, and the windows around them. */
static void
place_windows(struct tui_screen *screen)
{
    const size_t window = (size_t)tui_screen_window(screen);
    const size_t lines = list_count(screen);

    if (screen->cursor >= screen->shown_count) {
        screen->cursor = screen->shown_count > 0 ? screen->shown_count - 1 : 0;
    }
    screen->first = scroll(screen->first, screen->cursor, screen->shown_count, window);
    if (screen->list_cursor >= lines) {
        screen->list_cursor = lines > 0 ? lines - 1 : 0;
    }
    screen->list_first = scroll(screen->list_first, screen->list_cursor, lines, window);
    screen->help_first =
        scroll(screen->help_first, screen->help_first, tui_help_lines(), window);
}

static int
size_shown(unsigned reported, int unknown, int most)
{
    return reported == 0 ? unknown : reported > (unsigned)most ? most : (int)reported;
}

#ifndef NDEBUG
/* Is a cursor on one of count lines, and in the window of them from first on? */
static bool
assert_cursor_state(size_t first, size_t cursor, size_t count, size_t window)
{
    assert(count == 0 ? cursor == 0 : cursor < count);
    assert(window == 0 || (first <= cursor && cursor - first < window));
    return true;
}

/* Do the invariants of screen.h hold, as they do between any two calls? */
static bool
assert_screen_state(const struct tui_screen *screen)
{
    const int window = tui_screen_window(screen);

    assert(window >= 0);
    assert(screen->shown_count <= screen->tables[screen->view].count);
    assert(screen->source < screen->source_count || screen->source == 0);
    return assert_cursor_state(screen->first, screen->cursor, screen->shown_count,
                               (size_t)window) &&
           assert_cursor_state(screen->list_first, screen->list_cursor,
                               list_count(screen), (size_t)window);
}
#endif

void
tui_screen_resize(struct tui_screen *screen, unsigned lines, unsigned columns)
{
    screen->lines = size_shown(lines, LINES_UNKNOWN, TUI_LINES_MAX);
    screen->columns = size_shown(columns, COLUMNS_UNKNOWN, TUI_COLUMNS_MAX);
    place_windows(screen);
    assert(assert_screen_state(screen));
}

static const struct tui_table *
viewed(const struct tui_screen *screen)
{
    return &screen->tables[screen->view];
}

bool
tui_screen_shows_functions(const struct tui_screen *screen)
{
    return tui_rows_are_functions(screen->view);
}

/* Rows of an earlier look may have no hits any more. */
static bool
row_has_hits(const struct tui_table *table, size_t row)
{
    for (size_t i = 0; i < table->source_count; i++) {
        if (tui_table_total(table, row, i) > 0) {
            return true;
        }
    }
    return false;
}

/* Is a row shown: is it a head that has hits, of the chosen image, and does the filter
 * match? */
static bool
row_fits(const struct tui_screen *screen, size_t row)
{
    const struct tui_table *const table = viewed(screen);
    const char *const name = tui_table_name(table, row);
    const char *const image = tui_table_image(table, row);

    if (!tui_table_is_head(table, row) ||
        (screen->whole && !row_has_hits(table, row))) {
        return false;
    }
    if (tui_screen_shows_functions(screen) && screen->view != TUI_CALLS &&
        screen->only != NULL && strcmp(image, screen->only) != 0) {
        return false;
    }
    return tui_filter_fits(screen->filter, image) ||
           (name != NULL &&
            (tui_filter_fits(screen->filter, name) ||
             tui_filter_fits(screen->filter, tui_table_full_name(table, row))));
}

static int
compare_hits(uint64_t left, uint64_t right)
{
    return (left < right) - (left > right);
}

/* Rows without a name come last. */
static int
compare_names(const struct tui_table *table, uint32_t left, uint32_t right)
{
    const bool a = tui_table_full_name(table, left)[0] == '\0';
    const bool b = tui_table_full_name(table, right)[0] == '\0';

    if (a != b) {
        return a ? 1 : -1;
    }
    return tui_rows_are_functions(table->kind)
               ? strcmp(tui_table_name(table, left), tui_table_name(table, right))
               : 0;
}

static int
compare_images(const struct tui_table *table, uint32_t left, uint32_t right)
{
    return table->rows[left].image == table->rows[right].image
               ? 0
               : strcmp(tui_table_image(table, left), tui_table_image(table, right));
}

static int
compare_by(const struct tui_screen *screen, enum tui_order order, uint32_t left,
           uint32_t right)
{
    const struct tui_table *const table = viewed(screen);
    const size_t source = screen->source;

    switch (order) {
    case TUI_BY_NAME:
        return compare_names(table, left, right);
    case TUI_BY_IMAGE:
        return compare_images(table, left, right);
    case TUI_BY_TOTAL:
        return compare_hits(tui_table_total(table, left, source),
                            tui_table_total(table, right, source));
    case TUI_BY_RECENT:
    default:
        return compare_hits(tui_table_recent(table, left, source),
                            tui_table_recent(table, right, source));
    }
}

/* Callers are before the function, and callees behind it. Equal rows are ordered by
 * hits and then by name. No two are equal then, so rows do not change places by
 * themselves. */
static int
compare_rows(const void *a, const void *b, void *context)
{
    static const enum tui_order then[] = {TUI_BY_RECENT, TUI_BY_TOTAL, TUI_BY_NAME,
                                          TUI_BY_IMAGE};
    const struct tui_screen *const screen = context;
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;
    const struct tui_row *const rows = viewed(screen)->rows;
    int order = compare_by(screen, screen->order, left, right);

    if (rows[left].relation != rows[right].relation) {
        return (int)rows[left].relation - (int)rows[right].relation;
    }
    if (screen->reversed) {
        order = -order;
    }
    for (size_t i = 0; order == 0 && i < sizeof(then) / sizeof(then[0]); i++) {
        order = compare_by(screen, then[i], left, right);
    }
    return order != 0 ? order : (left > right) - (left < right);
}

/* Move the cursor back to its row, if that is still shown. */
static void
follow_row(struct tui_screen *screen)
{
    for (size_t i = 0; screen->follow && i < screen->shown_count; i++) {
        if (screen->shown[i] == screen->marked) {
            screen->cursor = i;
            return;
        }
    }
}

/* Rebuild shown. Returns false if memory runs out; then no row is shown. */
static bool
arrange(struct tui_screen *screen)
{
    const size_t count = viewed(screen)->count;

    screen->shown_count = 0;
    if (count > screen->shown_capacity) {
        uint32_t *const shown = reallocarray(screen->shown, count * 2, sizeof(*shown));

        if (shown == NULL) {
            place_windows(screen);
            return false;
        }
        screen->shown = shown;
        screen->shown_capacity = count * 2;
    }
    for (size_t i = 0; i < count; i++) {
        if (row_fits(screen, i)) {
            screen->shown[screen->shown_count++] = (uint32_t)i;
        }
    }
    if (screen->shown_count > 1) {
        qsort_r(screen->shown, screen->shown_count, sizeof(*screen->shown),
                compare_rows, screen);
    }
    follow_row(screen);
    place_windows(screen);
    return true;
}

static void
arrange_or_say(struct tui_screen *screen)
{
    if (!arrange(screen)) {
        tui_screen_say(screen, "out of memory");
    }
}

bool
tui_screen_take(struct tui_screen *screen, const struct profile *recent)
{
    bool done = true;

    assert(assert_screen_state(screen));
    for (int kind = 0; kind < TUI_KINDS; kind++) {
        if (screen->whole) {
            tui_table_clear(&screen->tables[kind]);
        }
        done &= tui_table_take(&screen->tables[kind], recent);
    }
    return arrange(screen) && done;
}

bool
tui_screen_chosen(const struct tui_screen *screen, size_t *row)
{
    if (screen->shown_count == 0) {
        return false;
    }
    *row = screen->shown[screen->cursor];
    return true;
}

static size_t
hottest_line(const struct tui_screen *screen)
{
    const struct listing *const listing = screen->listing;
    uint64_t most = 0;
    size_t at = 0;

    for (size_t i = 0; i < list_count(screen); i++) {
        const uint64_t hits =
            listing_line_hits(listing, &listing->lines[i], screen->source);

        if (hits > most) {
            most = hits;
            at = i;
        }
    }
    return at;
}

void
tui_screen_list(struct tui_screen *screen, struct listing *listing, bool again)
{
    screen->listing = listing;
    if (!again) {
        const size_t middle = (size_t)tui_screen_window(screen) / 2;

        screen->list_cursor = hottest_line(screen);
        screen->list_first =
            screen->list_cursor > middle ? screen->list_cursor - middle : 0;
    }
    if (listing != NULL && !again) {
        screen->page = TUI_PAGE_LISTING;
        screen->typing = false;
    } else if (listing == NULL && screen->page == TUI_PAGE_LISTING) {
        screen->page = TUI_PAGE_TABLE;
    } else if (listing == NULL && screen->help_of == TUI_PAGE_LISTING) {
        screen->help_of = TUI_PAGE_TABLE;
    }
    place_windows(screen);
    assert(assert_screen_state(screen));
}

/* Move a cursor if the key does that. Returns false if the key has another meaning. */
static bool
move(size_t *cursor, size_t count, size_t window, uint32_t key)
{
    const size_t page = window > 1 ? window - 1 : 1;
    const size_t last = count > 0 ? count - 1 : 0;

    switch (key) {
    case TUI_KEY_UP:
    case 'k':
        *cursor -= *cursor > 0;
        return true;
    case TUI_KEY_DOWN:
    case 'j':
        *cursor += *cursor < last;
        return true;
    case TUI_KEY_PAGE_UP:
        *cursor -= *cursor < page ? *cursor : page;
        return true;
    case TUI_KEY_PAGE_DOWN:
        *cursor = last - *cursor < page ? last : *cursor + page;
        return true;
    case TUI_KEY_HOME:
    case 'g':
        *cursor = 0;
        return true;
    case TUI_KEY_END:
    case 'G':
        *cursor = last;
        return true;
    default:
        return false;
    }
}

/* --- the filter --- */

static void
filter_drop_last(char *filter)
{
    size_t size = strlen(filter);

    while (size > 0 && ((unsigned char)filter[size - 1] & 0xc0) == 0x80) {
        size--;
    }
    filter[size > 0 ? size - 1 : 0] = '\0';
}

static bool
is_text(uint32_t key)
{
    return key >= ' ' && (key < 0x7f || key >= 0xa0) && key <= 0x10ffff &&
           (key < 0xd800 || key > 0xdfff);
}

/* Encode a character as UTF-8. Returns the number of bytes. */
static size_t
encode(uint32_t character, char *bytes)
{
    const size_t more = character < 0x80      ? 0
                        : character < 0x800   ? 1
                        : character < 0x10000 ? 2
                                              : 3;
    static const unsigned char marks[] = {0, 0xc0, 0xe0, 0xf0};

    bytes[0] = (char)(marks[more] | (character >> (6 * more)));
    for (size_t i = 1; i <= more; i++) {
        bytes[i] = (char)(0x80 | ((character >> (6 * (more - i))) & 0x3f));
    }
    return more + 1;
}

static void
filter_add(char *filter, uint32_t character)
{
    char bytes[4];
    const size_t more = encode(character, bytes);
    const size_t size = strlen(filter);

    if (more <= TUI_FILTER_MAX - size) {
        memcpy(filter + size, bytes, more);
        filter[size + more] = '\0';
    }
}

static void
key_while_typing(struct tui_screen *screen, uint32_t key)
{
    enum { CONTROL_U = 0x15 };

    if (key == TUI_KEY_ENTER) {
        screen->typing = false;
    } else if (key == TUI_KEY_ESCAPE) {
        screen->typing = false;
        memcpy(screen->filter, screen->before, sizeof(screen->filter));
    } else if (key == TUI_KEY_BACKSPACE) {
        filter_drop_last(screen->filter);
    } else if (key == CONTROL_U) {
        screen->filter[0] = '\0';
    } else if (is_text(key)) {
        filter_add(screen->filter, key);
    } else {
        return;
    }
    arrange_or_say(screen);
}

/* --- pages --- */

static void
show_view(struct tui_screen *screen, enum tui_rows view)
{
    if (screen->view != view) {
        screen->view = view;
        screen->cursor = 0;
        screen->follow = false;
        arrange_or_say(screen);
    }
}

static void
show_order(struct tui_screen *screen, int steps)
{
    do {
        screen->order =
            (enum tui_order)(((int)screen->order + steps + TUI_ORDERS) % TUI_ORDERS);
    } while (screen->whole && screen->order == TUI_BY_TOTAL);
    screen->reversed = false;
    arrange_or_say(screen);
    tui_screen_say(screen, "order: %s", tui_order_name(screen));
}

static void
show_help(struct tui_screen *screen)
{
    screen->help_of = screen->page;
    screen->page = TUI_PAGE_HELP;
    screen->help_first = 0;
}

static void
show_next_source(struct tui_screen *screen)
{
    if (screen->source_count < 2) {
        tui_screen_say(screen, "there is only one source%s",
                       screen->whole ? "" : "; -e takes several");
        return;
    }
    screen->source = (screen->source + 1) % screen->source_count;
    arrange_or_say(screen);
}

/* Show the functions of the image at the cursor. */
static void
show_functions_of(struct tui_screen *screen, size_t row)
{
    screen->only = tui_table_image(viewed(screen), row);
    screen->filter[0] = '\0'; /* the filter was for images */
    show_view(screen, TUI_FUNCTIONS);
}

bool
tui_screen_show_calls(struct tui_screen *screen, const struct tui_target *target,
                      const struct profile *all)
{
    struct tui_table *const table = &screen->tables[TUI_CALLS];
    const bool done = tui_table_aim(table, target) && tui_table_take(table, all);

    tui_table_clear_recent(table);
    if (screen->view != TUI_CALLS) {
        screen->calls_from = screen->view;
    }
    screen->view = TUI_CALLS;
    screen->page = TUI_PAGE_TABLE;
    screen->typing = false;
    screen->message[0] = '\0';
    screen->filter[0] = '\0'; /* the filter was for other functions */
    screen->cursor = 0;
    screen->follow = false;
    return arrange(screen) && done;
}

static enum tui_action
key_calls(struct tui_screen *screen)
{
    size_t row;

    if (!screen->stacks) {
        tui_screen_say(screen, screen->whole
                                   ? "stores keep no callers"
                                   : "callers are recorded by: ntprof top -g");
    } else if (!tui_screen_shows_functions(screen)) {
        tui_screen_say(screen, "c is for functions, which f shows");
    } else if (tui_screen_chosen(screen, &row)) {
        if (!tui_table_is_end(viewed(screen), row)) {
            return TUI_CALLED;
        }
        tui_screen_say(screen, "this is the end of stacks, and no function");
    }
    return TUI_NOTHING;
}

static enum tui_action
key_enter(struct tui_screen *screen)
{
    size_t row;

    if (!tui_screen_chosen(screen, &row)) {
        return TUI_NOTHING;
    }
    if (tui_table_is_end(viewed(screen), row)) {
        tui_screen_say(screen, "this is the end of stacks, and no function");
        return TUI_NOTHING;
    }
    if (screen->view == TUI_IMAGES) {
        show_functions_of(screen, row);
        return TUI_NOTHING;
    }
    if (screen->view == TUI_PROCESSES) {
        tui_screen_say(screen, "functions of one process: ntprof top PID, or its name");
        return TUI_NOTHING;
    }
    return TUI_LIST;
}

static void
clear_filter(struct tui_screen *screen)
{
    screen->filter[0] = '\0';
    screen->only = NULL;
    arrange_or_say(screen);
}

/* Handle keys with the same meaning in the table and in a listing. */
static enum tui_action
key_anywhere(struct tui_screen *screen, uint32_t key)
{
    switch (key) {
    case '?':
    case 'h':
    case TUI_KEY_HELP:
        show_help(screen);
        return TUI_NOTHING;
    case ' ':
    case 'p':
        screen->paused = !screen->paused;
        return screen->paused ? TUI_NOTHING : TUI_LOOK;
    case 'e':
        show_next_source(screen);
        return TUI_NOTHING;
    case 'w':
        return TUI_WRITE;
    case 'l':
        return TUI_LOOK;
    default:
        return TUI_NOTHING;
    }
}

static enum tui_action
key_quit(struct tui_screen *screen)
{
    if (screen->view != TUI_CALLS) {
        return TUI_QUIT;
    }
    show_view(screen, screen->calls_from);
    return TUI_BACK;
}

static enum tui_action
key_on_table(struct tui_screen *screen, uint32_t key)
{
    switch (key) {
    case 'q':
        return key_quit(screen);
    case TUI_KEY_ENTER:
    case 'a':
        return key_enter(screen);
    case 'c':
        return key_calls(screen);
    case 'f':
        show_view(screen, TUI_FUNCTIONS);
        return TUI_NOTHING;
    case 'v':
        show_view(screen, screen->view == TUI_INLINED ? TUI_FUNCTIONS : TUI_INLINED);
        return TUI_NOTHING;
    case 'i':
        show_view(screen, TUI_IMAGES);
        return TUI_NOTHING;
    case 'P':
        show_view(screen, TUI_PROCESSES);
        return TUI_NOTHING;
    case 's':
    case TUI_KEY_RIGHT:
        show_order(screen, 1);
        return TUI_NOTHING;
    case TUI_KEY_LEFT:
        show_order(screen, -1);
        return TUI_NOTHING;
    case 'r':
        screen->reversed = !screen->reversed;
        arrange_or_say(screen);
        return TUI_NOTHING;
    case '/':
        screen->typing = true;
        memcpy(screen->before, screen->filter, sizeof(screen->before));
        return TUI_NOTHING;
    case TUI_KEY_ESCAPE:
        clear_filter(screen);
        return TUI_NOTHING;
    default:
        return key_anywhere(screen, key);
    }
}

/* Move to the next line with hits, forwards or backwards; stay if there is none. */
static void
next_hot_line(struct tui_screen *screen, bool forwards)
{
    const struct listing *const listing = screen->listing;
    size_t at = screen->list_cursor;

    while (forwards ? at + 1 < list_count(screen) : at > 0) {
        at = forwards ? at + 1 : at - 1;
        if (listing_line_hits(listing, &listing->lines[at], screen->source) > 0) {
            screen->list_cursor = at;
            return;
        }
    }
}

static enum tui_action
key_in_listing(struct tui_screen *screen, uint32_t key)
{
    switch (key) {
    case 'q':
    case TUI_KEY_ESCAPE:
    case TUI_KEY_LEFT:
    case TUI_KEY_BACKSPACE:
        screen->page = TUI_PAGE_TABLE;
        return TUI_NOTHING;
    case 'n':
    case 'N':
        next_hot_line(screen, key == 'n');
        return TUI_NOTHING;
    default:
        return key_anywhere(screen, key);
    }
}

static enum tui_action
key_in_help(struct tui_screen *screen, uint32_t key)
{
    const size_t window = (size_t)tui_screen_window(screen);
    const size_t lines = tui_help_lines();

    if (!move(&screen->help_first, lines, window, key) && key != TUI_KEY_NONE) {
        screen->page = screen->help_of;
    }
    return TUI_NOTHING;
}

/* Note that the user moved the cursor: it now follows its row, unless it is back at the
 * top. */
static void
mark_row(struct tui_screen *screen)
{
    screen->follow = screen->cursor > 0;
    if (screen->shown_count > 0) {
        screen->marked = screen->shown[screen->cursor];
    }
}

static enum tui_action
key_on_page(struct tui_screen *screen, uint32_t key)
{
    const size_t window = (size_t)tui_screen_window(screen);

    if (screen->page == TUI_PAGE_HELP) {
        return key_in_help(screen, key);
    }
    if (screen->page == TUI_PAGE_LISTING) {
        return move(&screen->list_cursor, list_count(screen), window, key)
                   ? TUI_NOTHING
                   : key_in_listing(screen, key);
    }
    if (move(&screen->cursor, screen->shown_count, window, key)) {
        mark_row(screen);
        return TUI_NOTHING;
    }
    return key_on_table(screen, key);
}

/* Return the key that a control character stands for: some keys arrive as such. */
static uint32_t
plain_key(uint32_t key)
{
    switch (key) {
    case '\n':
    case '\r':
        return TUI_KEY_ENTER;
    case '\b':
    case 0x7f:
        return TUI_KEY_BACKSPACE;
    case 0x1b:
        return TUI_KEY_ESCAPE;
    default:
        return key;
    }
}

enum tui_action
tui_screen_key(struct tui_screen *screen, uint32_t key)
{
    enum tui_action action = TUI_NOTHING;

    key = plain_key(key);
    screen->message[0] = '\0';
    if (screen->typing) {
        key_while_typing(screen, key);
    } else {
        action = key_on_page(screen, key);
    }
    place_windows(screen);
    assert(assert_screen_state(screen));
    return action;
}
