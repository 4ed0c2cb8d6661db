/* SPDX-License-Identifier: MIT */
/*
 * screen.h - what a live screen shows and what keys do to it, without any terminal: two
 * tables, a listing, help, a filter that is being typed.
 *
 * Invariants, whatever keys and sizes come: shown_count rows of the view's table are in
 * shown, each once; if there is any, cursor is one of them and it is within the window
 * that begins at first. The same holds of list_cursor and the lines of the listing that
 * are not hidden.
 */
#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include "annotate/listing.h"
#include "tui/table.h"

enum tui_page { TUI_PAGE_TABLE, TUI_PAGE_LISTING, TUI_PAGE_HELP };

enum tui_order { TUI_BY_RECENT, TUI_BY_TOTAL, TUI_BY_NAME, TUI_BY_IMAGE, TUI_ORDERS };

/* Keys: a character of Unicode, or one of these. */
enum {
    TUI_KEY_UP = 0x110000,
    TUI_KEY_DOWN,
    TUI_KEY_LEFT,
    TUI_KEY_RIGHT,
    TUI_KEY_PAGE_UP,
    TUI_KEY_PAGE_DOWN,
    TUI_KEY_HOME,
    TUI_KEY_END,
    TUI_KEY_ENTER,
    TUI_KEY_BACKSPACE,
    TUI_KEY_ESCAPE,
    TUI_KEY_HELP,
    TUI_KEY_NONE /* one that means nothing */
};

/* What a key asks of whoever has the counters. */
enum tui_action {
    TUI_NOTHING,
    TUI_QUIT,
    TUI_LIST,  /* make a listing of tui_screen_chosen, and show it by tui_screen_list */
    TUI_WRITE, /* write a profile */
    TUI_LOOK   /* look now, and not when it is time */
};

/* Terminals tell any size; of a larger one a part is used. */
enum { TUI_LINES_MAX = 300, TUI_COLUMNS_MAX = 1000 };

enum { TUI_FILTER_MAX = 200, TUI_MESSAGE_MAX = 400 };

/* tui_status - what the top of the screen tells besides the rows; strings are trusted
 * to be printable. */
struct tui_status {
    char what[800];       /* "process 1234 by perf" */
    char statistics[200]; /* hits of the chosen source: taken, outside, lost */
    double interval_s;    /* of the last look */
    double cost;          /* of ntprof itself: processors, 0.01 is 1% of one */
    bool looking;         /* a look is under way: paused, one more comes */
    bool slow;            /* for long */
};

struct tui_screen {
    struct tui_table tables[2];      /* by enum tui_rows */
    const char *const *source_names; /* of the tables' sources; hostile */
    size_t source_count;
    struct tui_status status;
    int lines;
    int columns;
    enum tui_page page;
    enum tui_page help_of; /* where help goes back to */
    enum tui_rows view;
    enum tui_order order;
    bool reversed;
    size_t source;
    bool paused;
    char filter[TUI_FILTER_MAX + 1]; /* UTF-8 */
    bool typing;                     /* the filter is being typed; */
    char before[TUI_FILTER_MAX + 1]; /* it was this before */
    const char *only; /* functions of this image alone; NULL: of all. Its table's */
    char message[TUI_MESSAGE_MAX]; /* until the next key; hostile */
    uint32_t *shown;               /* numbers of rows, in order */
    size_t shown_count;
    size_t shown_capacity;
    size_t cursor;           /* index into shown */
    size_t first;            /* the same: topmost in the window */
    bool follow;             /* the cursor stays with its row, not with its place */
    uint32_t marked;         /* the row at the cursor */
    struct listing *listing; /* borrowed; NULL: none */
    size_t list_cursor;      /* index into its lines */
    size_t list_first;
    size_t help_first;
};

/* source_names must outlive the screen. */
void tui_screen_init(struct tui_screen *screen, const char *const *source_names,
                     size_t source_count);
void tui_screen_finish(struct tui_screen *screen);

/* Any size at all. */
void tui_screen_resize(struct tui_screen *screen, unsigned lines, unsigned columns);

/* Shows what came since the last look. False: out of memory, and some of it is missing.
 */
bool tui_screen_take(struct tui_screen *screen, const struct profile *recent);

/* Does what a key is for. */
enum tui_action tui_screen_key(struct tui_screen *screen, uint32_t key);

/* The row at the cursor. False: there is none. */
bool tui_screen_chosen(const struct tui_screen *screen, size_t *row);

/* Shows a listing, from its hottest line on, or another of the same, which leaves the
 * window where it was. It must stay until another or NULL takes its place. */
void tui_screen_list(struct tui_screen *screen, struct listing *listing, bool again);

/* Says something until the next key; printf. */
__attribute__((format(printf, 2, 3))) void tui_screen_say(struct tui_screen *screen,
                                                          const char *format, ...);

/* Lines of the window of rows, of a listing, of help: at least 0. */
int tui_screen_window(const struct tui_screen *screen);

/* Lines above the window: titles. */
int tui_screen_head(const struct tui_screen *screen);

/* Lines below it: keys or what is being typed. */
int tui_screen_foot(const struct tui_screen *screen);

const char *tui_order_name(enum tui_order order);

/* The help page. */
extern const char *const tui_help[];
size_t tui_help_lines(void);

#endif
