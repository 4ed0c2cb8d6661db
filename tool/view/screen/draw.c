/* SPDX-License-Identifier: MIT */
/* draw.c - the lines of each page. */
#include "view/screen/draw.h"
#include "base/path.h"
#include "view/screen/pen.h"

#include <inttypes.h>
#include <stdio.h>

/* Widths of columns, including the blanks after them. */
enum {
    SHARE_COLUMNS = 8,
    HITS_COLUMNS = 10,
    RELATION_COLUMNS = 7,
    NARROW = 46,    /* below this width there are no totals */
    TINY = 24,      /* below this width there is only one share */
    IMAGE_MIN = 70, /* from this width on there is a column of images */
    IMAGE_COLUMNS = 16
};

/* Rows with at least these shares of the last look are highlighted. */
static const double hot_share = 0.1;
static const double warm_share = 0.01;

static struct tui_pen
pen_on(const struct tui_screen *screen, const struct tui_canvas *canvas, int line)
{
    return (struct tui_pen){.canvas = canvas, .line = line, .end = screen->columns};
}

static double
share_of(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static void
put_share(struct tui_pen *pen, enum tui_style style, double share)
{
    char text[40];

    snprintf(text, sizeof(text), "%.2f%%", share * 100);
    tui_pen_number(pen, style, SHARE_COLUMNS - 1, text);
    tui_pen_text(pen, style, 1, "");
}

/* Print a whole number if it fits, else thousands, millions and so on. */
static void
put_hits(struct tui_pen *pen, enum tui_style style, uint64_t hits)
{
    static const char units[] = {'k', 'M', 'G', 'T', 'P', 'E'};
    char text[40];
    int unit = -1;
    uint64_t shown = hits;

    while (shown > 99999999) {
        shown /= 1000;
        unit++;
    }
    if (unit < 0) {
        snprintf(text, sizeof(text), "%" PRIu64, shown);
    } else {
        snprintf(text, sizeof(text), "%" PRIu64 "%c", shown, units[unit]);
    }
    tui_pen_number(pen, style, HITS_COLUMNS - 1, text);
    tui_pen_text(pen, style, 1, "");
}

/* Titles for all rows, and for one row. */
static const char *const singulars[TUI_KINDS] = {
    [TUI_FUNCTIONS] = "function", [TUI_IMAGES] = "image",   [TUI_PROCESSES] = "process",
    [TUI_INLINED] = "function",   [TUI_CALLS] = "function",
};

static const char *const relations[TUI_RELATIONS] = {
    [TUI_CALLER] = "caller",
    [TUI_ITSELF] = "itself",
    [TUI_CALLEE] = "callee",
};

static const struct tui_table *
viewed(const struct tui_screen *screen)
{
    return &screen->tables[screen->view];
}

/* --- titles --- */

/* Return the prefix of the title. */
static const char *
state_of(const struct tui_screen *screen)
{
    if (screen->paused) {
        return screen->status.looking ? "[pausing] " : "[paused] ";
    }
    return screen->status.slow ? "[reading names] " : "";
}

static void
draw_title(const struct tui_screen *screen, const struct tui_canvas *canvas,
           const char *name)
{
    struct tui_pen pen = pen_on(screen, canvas, 0);

    tui_pen_print(&pen, TUI_TITLE, "%s%s: ", state_of(screen), name);
    tui_pen_text(&pen, TUI_TITLE, 0, screen->status.what);
    tui_pen_fill(&pen, TUI_TITLE);
}

static void
draw_statistics(const struct tui_screen *screen, const struct tui_canvas *canvas,
                int line)
{
    struct tui_pen pen = pen_on(screen, canvas, line);

    if (screen->source < screen->source_count) {
        tui_pen_text(&pen, TUI_PLAIN, 0, screen->source_names[screen->source]);
        tui_pen_text(&pen, TUI_PLAIN, 0, ": ");
    }
    tui_pen_text(&pen, TUI_PLAIN, 0, screen->status.statistics);
    tui_pen_print(&pen, TUI_PLAIN, "; ntprof itself: %.1f%% of a processor",
                  screen->status.cost * 100);
}

/* Print the hits in no row, and their share of all: by a table of all hits, as that of
 * callers and callees has only those of its target. */
static void
put_idle(const struct tui_screen *screen, struct tui_pen *pen)
{
    const struct tui_table *const all = &screen->tables[TUI_IMAGES];
    const size_t source = screen->source;
    const uint64_t idle = all->looks > 0 ? all->idle_totals[source] : 0;

    if (idle > 0) {
        tui_pen_print(pen, TUI_PLAIN, "; idle, left out: %" PRIu64 " hit%s (%.1f%%)",
                      idle, idle == 1 ? "" : "s",
                      share_of(idle, idle + all->total_sums[source]) * 100);
    }
}

static const char *const view_names[TUI_KINDS] = {
    [TUI_FUNCTIONS] = "functions",
    [TUI_IMAGES] = "images",
    [TUI_PROCESSES] = "processes",
    [TUI_INLINED] = "functions, the inlined ones too,",
    [TUI_CALLS] = "callers and callees",
};

/* Print of what function callers and callees are, and its hits with theirs. */
static void
put_target(const struct tui_screen *screen, struct tui_pen *pen)
{
    const struct tui_table *const table = viewed(screen);
    const struct tui_table *const all = &screen->tables[TUI_IMAGES];
    const size_t source = screen->source;
    const uint64_t hits = table->looks > 0 ? table->total_sums[source] : 0;

    tui_pen_print(pen, TUI_PLAIN, "; %" PRIu64 " hit%s (%.1f%%) with ", hits,
                  hits == 1 ? "" : "s",
                  share_of(hits, all->looks > 0 ? all->total_sums[source] : 0) * 100);
    if (table->target.image != NULL) {
        const char *const name = table->target.function.name;

        tui_pen_text(pen, TUI_PLAIN, 0, name[0] != '\0' ? name : table->target.image);
    }
    tui_pen_text(pen, TUI_PLAIN, 0, " on the stack");
}

static void
draw_state(const struct tui_screen *screen, const struct tui_canvas *canvas, int line)
{
    struct tui_pen pen = pen_on(screen, canvas, line);

    tui_pen_print(&pen, TUI_PLAIN, "%s %s%s", view_names[screen->view],
                  tui_order_name(screen),
                  screen->reversed ? ", the other way round" : "");
    tui_pen_print(&pen, TUI_PLAIN, "; %zu of %zu", screen->shown_count,
                  viewed(screen)->head_count);
    if (screen->view == TUI_CALLS) {
        put_target(screen, &pen);
    } else if (tui_screen_shows_functions(screen) && screen->only != NULL) {
        tui_pen_text(&pen, TUI_PLAIN, 0, " of ");
        tui_pen_text(&pen, TUI_PLAIN, 0, screen->only);
    }
    if (screen->filter[0] != '\0') {
        tui_pen_text(&pen, TUI_PLAIN, 0, " with '");
        tui_pen_text(&pen, TUI_PLAIN, 0, screen->filter);
        tui_pen_text(&pen, TUI_PLAIN, 0, "'");
    }
    put_idle(screen, &pen);
}

/* Return the width of the column of images; 0: there is none. */
static int
image_columns(const struct tui_screen *screen)
{
    const int fifth = screen->columns / 5;

    if (!tui_screen_shows_functions(screen) || screen->columns < IMAGE_MIN) {
        return 0;
    }
    return fifth < IMAGE_COLUMNS ? IMAGE_COLUMNS : fifth;
}

static bool
has_totals(const struct tui_screen *screen)
{
    return screen->columns >= NARROW && !screen->whole;
}

static void
draw_columns(const struct tui_screen *screen, const struct tui_canvas *canvas, int line)
{
    struct tui_pen pen = pen_on(screen, canvas, line);
    const int images = image_columns(screen);
    char recent[40]; /* how long the look was that the hits are of */

    snprintf(recent, sizeof(recent), screen->whole ? "share" : "%.3gs",
             screen->status.interval_s);
    tui_pen_number(&pen, TUI_HEADER, SHARE_COLUMNS - 1, recent);
    tui_pen_text(&pen, TUI_HEADER, 1, "");
    if (screen->columns >= TINY) {
        tui_pen_number(&pen, TUI_HEADER, HITS_COLUMNS - 1, "hits");
        tui_pen_text(&pen, TUI_HEADER, 1, "");
    }
    if (has_totals(screen)) {
        tui_pen_number(&pen, TUI_HEADER, SHARE_COLUMNS - 1, "total");
        tui_pen_number(&pen, TUI_HEADER, HITS_COLUMNS, "hits");
        tui_pen_text(&pen, TUI_HEADER, 2, "");
    }
    if (screen->view == TUI_CALLS) {
        tui_pen_text(&pen, TUI_HEADER, RELATION_COLUMNS, "");
    }
    if (images > 0) {
        tui_pen_text(&pen, TUI_HEADER, screen->columns - images - pen.column,
                     "function");
        tui_pen_text(&pen, TUI_HEADER, 1, "");
    }
    tui_pen_text(&pen, TUI_HEADER, 0, images > 0 ? "image" : singulars[screen->view]);
    tui_pen_fill(&pen, TUI_HEADER);
}

static void
draw_head(const struct tui_screen *screen, const struct tui_canvas *canvas)
{
    const int head = tui_screen_head(screen);

    if (head == TUI_HEAD_WHOLE) {
        draw_title(screen, canvas, "ntprof top");
        draw_statistics(screen, canvas, 1);
        draw_state(screen, canvas, 2);
    }
    if (head > 0) {
        draw_columns(screen, canvas, head - 1);
    }
}

/* --- rows --- */

/* Put a row's function into a column of this width, or up to the pen's end if it is 0,
 * and fill the rest. */
static void
put_name(struct tui_pen *pen, const struct tui_table *table, size_t row,
         enum tui_style style, int columns)
{
    struct tui_pen part = *pen;

    if (columns > 0 && columns < pen->end - pen->column) {
        part.end = pen->column + columns;
    }
    tui_pen_function(&part, style, tui_table_name(table, row));
    tui_pen_fill(&part, style);
    pen->column = part.column;
}

static enum tui_style
style_of(double share)
{
    return share >= hot_share ? TUI_HOT : share >= warm_share ? TUI_WARM : TUI_PLAIN;
}

static void
draw_row(const struct tui_screen *screen, struct tui_pen *pen, size_t at)
{
    const struct tui_table *const table = viewed(screen);
    const size_t row = screen->shown[at];
    const size_t source = screen->source;
    const uint64_t recent = tui_table_recent(table, row, source);
    const uint64_t total = tui_table_total(table, row, source);
    const double share = share_of(recent, table->recent_sums[source]);
    const double all_share = share_of(total, table->total_sums[source]);
    const bool chosen = at == screen->cursor;
    const enum tui_style text = chosen ? TUI_CHOSEN : TUI_PLAIN;
    const int images = image_columns(screen);

    put_share(pen, chosen ? TUI_CHOSEN : style_of(share), share);
    if (screen->columns >= TINY) {
        put_hits(pen, text, recent);
    }
    if (has_totals(screen)) {
        put_share(pen, chosen ? TUI_CHOSEN : style_of(all_share), all_share);
        put_hits(pen, text, total);
        tui_pen_text(pen, text, 1, "");
    }
    if (!tui_screen_shows_functions(screen)) {
        tui_pen_text(pen, text, 0, tui_table_image(table, row));
        tui_pen_fill(pen, text);
        return;
    }
    if (screen->view == TUI_CALLS) {
        tui_pen_text(pen, text, RELATION_COLUMNS, relations[table->rows[row].relation]);
    }
    put_name(pen, table, row, text, images > 0 ? pen->end - images - pen->column : 0);
    if (images > 0) {
        tui_pen_text(pen, text, 1, "");
        tui_pen_text(pen, text, 0, path_last_part(tui_table_image(table, row)));
        tui_pen_fill(pen, text);
    }
}

static void
draw_table(const struct tui_screen *screen, const struct tui_canvas *canvas)
{
    const int head = tui_screen_head(screen);
    const int window = tui_screen_window(screen);

    draw_head(screen, canvas);
    for (int i = 0; i < window && screen->first + (size_t)i < screen->shown_count;
         i++) {
        struct tui_pen pen = pen_on(screen, canvas, head + i);

        draw_row(screen, &pen, screen->first + (size_t)i);
    }
    if (screen->shown_count == 0 && window > 0) {
        struct tui_pen pen = pen_on(screen, canvas, head);

        tui_pen_text(&pen, TUI_FAINT, 0,
                     viewed(screen)->count == 0 ? "no hits yet"
                                                : "nothing with this in its name");
    }
}

/* --- a listing --- */

static void
draw_listing_head(const struct tui_screen *screen, const struct tui_canvas *canvas)
{
    const struct listing *const listing = screen->listing;
    const int head = tui_screen_head(screen);
    struct tui_pen pen = pen_on(screen, canvas, head - 1);

    if (head == TUI_HEAD_WHOLE) {
        const size_t source = screen->source;
        const bool known = source < listing->source_count;
        const uint64_t own = known ? listing->own[source] : 0;
        struct tui_pen title = pen_on(screen, canvas, 0);
        struct tui_pen statistics = pen_on(screen, canvas, 1);
        struct tui_pen note = pen_on(screen, canvas, 2);

        tui_pen_text(&title, TUI_TITLE, 0, state_of(screen));
        tui_pen_text(&title, TUI_TITLE, 0, listing->title);
        tui_pen_fill(&title, TUI_TITLE);
        if (known) {
            tui_pen_text(&statistics, TUI_PLAIN, 0, screen->source_names[source]);
        }
        tui_pen_print(&statistics, TUI_PLAIN, ": %" PRIu64 " hit%s, %.2f%% of all", own,
                      own == 1 ? "" : "s",
                      share_of(own, known ? listing->totals[source] : 0) * 100);
        if (listing->note_count > 0) {
            tui_pen_text(&note, TUI_FAINT, 0, listing->notes[0].text);
        }
    }
    if (head > 0) {
        tui_pen_number(&pen, TUI_HEADER, SHARE_COLUMNS - 1, "share");
        tui_pen_number(&pen, TUI_HEADER, HITS_COLUMNS, "hits");
        tui_pen_text(&pen, TUI_HEADER, 0,
                     listing->has_instructions ? "    address and instruction, source"
                                               : "    source");
        tui_pen_fill(&pen, TUI_HEADER);
    }
}

static const char *
bracket_mark(enum listing_bracket bracket)
{
    switch (bracket) {
    case LISTING_BRACKET_FIRST:
        return "/ ";
    case LISTING_BRACKET_INSIDE:
        return "| ";
    case LISTING_BRACKET_LAST:
        return "\\ ";
    case LISTING_BRACKET_NONE:
    default:
        return "  ";
    }
}

static void
put_line_text(struct tui_pen *pen, const struct listing_line *line,
              enum tui_style style)
{
    const char *const text = line->text != NULL ? line->text : "";

    switch (line->kind) {
    case LISTING_SOURCE:
        tui_pen_print(pen, style, "%6" PRIu32 "  ", line->line);
        tui_pen_text(pen, style, 0, line->missing ? "(source is not there)" : text);
        break;
    case LISTING_INSTRUCTION:
    case LISTING_BYTES:
    case LISTING_BUCKET:
        tui_pen_print(pen, style, "%12" PRIx64 ": %s", line->address,
                      line->jumps > 0 ? "> " : "  ");
        tui_pen_text(pen, style, 0, text);
        break;
    case LISTING_HEADING:
    case LISTING_PLACE:
    case LISTING_GAP:
    default:
        tui_pen_text(pen, style, 0, text);
        break;
    }
}

static enum tui_style
line_style(const struct listing *listing, const struct listing_line *line)
{
    switch (line->kind) {
    case LISTING_SOURCE:
        return listing->has_instructions ? TUI_FAINT : TUI_PLAIN;
    case LISTING_HEADING:
        return TUI_WARM;
    case LISTING_PLACE:
    case LISTING_GAP:
        return TUI_FAINT;
    case LISTING_INSTRUCTION:
    case LISTING_BYTES:
    case LISTING_BUCKET:
    default:
        return TUI_PLAIN;
    }
}

/* Return the sum that shares refer to, as in print_text.c. */
static uint64_t
whole_of(const struct listing *listing, size_t source)
{
    return listing->own[source] > listing->shown[source] ? listing->own[source]
                                                         : listing->shown[source];
}

static void
draw_line(const struct tui_screen *screen, struct tui_pen *pen, size_t at)
{
    const struct listing *const listing = screen->listing;
    const struct listing_line *const line = &listing->lines[at];
    const bool known = screen->source < listing->source_count;
    const uint64_t hits = known ? listing_line_hits(listing, line, screen->source) : 0;
    const double share = share_of(hits, known ? whole_of(listing, screen->source) : 0);
    const bool chosen = at == screen->list_cursor;
    const enum tui_style style = chosen ? TUI_CHOSEN : line_style(listing, line);

    if (hits > 0) {
        put_share(pen, chosen ? TUI_CHOSEN : style_of(share), share);
        put_hits(pen, style, hits);
    } else {
        tui_pen_text(pen, style, SHARE_COLUMNS + HITS_COLUMNS, "");
    }
    tui_pen_text(pen, style, 2, bracket_mark(line->bracket));
    put_line_text(pen, line, style);
    tui_pen_fill(pen, style);
}

static void
draw_listing(const struct tui_screen *screen, const struct tui_canvas *canvas)
{
    const int head = tui_screen_head(screen);
    const int window = tui_screen_window(screen);

    draw_listing_head(screen, canvas);
    for (int i = 0;
         i < window && screen->list_first + (size_t)i < screen->listing->count; i++) {
        struct tui_pen pen = pen_on(screen, canvas, head + i);

        draw_line(screen, &pen, screen->list_first + (size_t)i);
    }
}

/* --- help and the last line --- */

static void
draw_help(const struct tui_screen *screen, const struct tui_canvas *canvas)
{
    const int head = tui_screen_head(screen);
    const int window = tui_screen_window(screen);

    if (head > 0) {
        draw_title(screen, canvas, "ntprof top, help");
    }
    for (int i = 0; i < window && screen->help_first + (size_t)i < tui_help_lines();
         i++) {
        struct tui_pen pen = pen_on(screen, canvas, head + i);

        tui_pen_text(&pen, TUI_PLAIN, 0, tui_help[screen->help_first + (size_t)i]);
    }
}

static const char *
keys_of(enum tui_page page)
{
    switch (page) {
    case TUI_PAGE_HELP:
        return "q back  up down";
    case TUI_PAGE_LISTING:
        return "q back  n N next line with hits  p pause  e source  ? help";
    case TUI_PAGE_TABLE:
    default:
        return "q quit  Enter annotate  f functions  c callers  i images  s order  "
               "/ filter  p pause  w write  ? help";
    }
}

static void
draw_foot(const struct tui_screen *screen, const struct tui_canvas *canvas)
{
    struct tui_pen pen = pen_on(screen, canvas, screen->lines - 1);
    enum tui_style style = TUI_KEYS;

    if (tui_screen_foot(screen) == 0) {
        return;
    }
    if (screen->typing) {
        tui_pen_text(&pen, style, 0, "filter: ");
        tui_pen_text(&pen, style, 0, screen->filter);
        tui_pen_text(&pen, style, 0, "_");
    } else if (screen->message[0] != '\0') {
        style = TUI_ALERT;
        tui_pen_text(&pen, style, 0, screen->message);
    } else {
        tui_pen_text(&pen, style, 0, keys_of(screen->page));
    }
    tui_pen_fill(&pen, style);
}

void
tui_draw(const struct tui_screen *screen, const struct tui_canvas *canvas)
{
    if (screen->page == TUI_PAGE_HELP) {
        draw_help(screen, canvas);
    } else if (screen->page == TUI_PAGE_LISTING && screen->listing != NULL) {
        draw_listing(screen, canvas);
    } else {
        draw_table(screen, canvas);
    }
    draw_foot(screen, canvas);
}
