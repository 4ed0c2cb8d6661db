/* SPDX-License-Identifier: MIT */
/*
 * screen.h - state of a live screen and what keys do to it, without a terminal: its
 * tables, a listing, help, and a filter that the user types. One of the tables is of
 * callers and callees of a function, which is chosen in another table or in itself.
 *
 * Invariants for any keys and sizes: shown contains shown_count rows of the view's
 * table, each once. If there is any, cursor is the index of one of them and within the
 * window, which starts at first. The same is true of list_cursor and the lines of the
 * listing that are not hidden.
 */
#ifndef VIEW_SCREEN_SCREEN_H
#define VIEW_SCREEN_SCREEN_H

#include "view/listing/listing.h"
#include "view/screen/table.h"

enum tui_page { TUI_PAGE_TABLE, TUI_PAGE_LISTING, TUI_PAGE_HELP };

enum tui_order { TUI_BY_RECENT, TUI_BY_TOTAL, TUI_BY_NAME, TUI_BY_IMAGE, TUI_ORDERS };

/* Keys: a Unicode character, or one of these. */
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
    TUI_KEY_NONE /* a key without a meaning */
};

/* tui_action - what the caller has to do after a key. */
enum tui_action {
    TUI_NOTHING,
    TUI_QUIT,
    TUI_BACK,   /* forget a listing or callers that were asked for and did not come */
    TUI_LIST,   /* make a listing of tui_screen_chosen and pass it to tui_screen_list */
    TUI_CALLED, /* pass its target and all hits to tui_screen_show_calls */
    TUI_WRITE,  /* write a profile */
    TUI_LOOK    /* look now instead of at the next interval */
};

/* A terminal may report any size; of a larger one only this part is used. */
enum { TUI_LINES_MAX = 300, TUI_COLUMNS_MAX = 1000 };

/* Lines above the window: a title, two lines about it, and titles of columns. */
enum { TUI_HEAD_WHOLE = 4 };

enum { TUI_FILTER_MAX = 200, TUI_MESSAGE_MAX = 400 };

/* tui_status - the texts above the rows. Strings are printable. */
struct tui_status {
    char what[800];       /* "process 1234 by perf" */
    char statistics[200]; /* hits of the chosen source: taken, outside, lost */
    double interval_s;    /* since the look before the last */
    double cost;          /* processors that ntprof itself used; 0.01 is 1% of one */
    bool looking;         /* a look is in progress; when paused, it is the last one */
    bool slow;            /* the current job takes long */
};

struct tui_screen {
    struct tui_table tables[TUI_KINDS]; /* by enum tui_rows */
    const char *const *source_names;    /* sources of the tables; not escaped */
    size_t source_count;
    bool whole;  /* each look has all hits, and replaces the last: no totals */
    bool stacks; /* looks have stacks */
    struct tui_status status;
    int lines;
    int columns;
    enum tui_page page;
    enum tui_page help_of; /* the page to which help returns */
    enum tui_rows view;
    enum tui_rows calls_from; /* the view to which TUI_CALLS returns */
    enum tui_order order;
    bool reversed;
    size_t source;
    bool paused;
    char filter[TUI_FILTER_MAX + 1]; /* UTF-8 */
    bool typing;                     /* the user is typing the filter; */
    char before[TUI_FILTER_MAX + 1]; /* the filter before that */
    /* show only functions of this image; NULL: of all. Owned by its table */
    const char *only;
    char message[TUI_MESSAGE_MAX]; /* shown until the next key; not escaped */
    uint32_t *shown;               /* indexes of rows, in order */
    size_t shown_count;
    size_t shown_capacity;
    size_t cursor;           /* index into shown */
    size_t first;            /* index into shown of the top row in the window */
    bool follow;             /* the cursor follows its row when the order changes */
    uint32_t marked;         /* the row that it follows */
    struct listing *listing; /* borrowed; NULL: none */
    size_t list_cursor;      /* index into its lines */
    size_t list_first;
    size_t help_first;
};

/* Initialise a screen. source_names must outlive it. */
void tui_screen_init(struct tui_screen *screen, const char *const *source_names,
                     size_t source_count);
void tui_screen_finish(struct tui_screen *screen);

/* Set the size, which may be any; 0: unknown, then there are 24 lines or 80 columns. */
void tui_screen_resize(struct tui_screen *screen, unsigned lines, unsigned columns);

/* Add the hits since the last look; with whole, show these instead. Returns false if
 * memory runs out; some hits are missing then. */
bool tui_screen_take(struct tui_screen *screen, const struct profile *recent);

/* Handle a key, and return what the caller has to do. */
enum tui_action tui_screen_key(struct tui_screen *screen, uint32_t key);

/* Get the row at the cursor. Returns false if there is none. */
bool tui_screen_chosen(const struct tui_screen *screen, size_t *row);

/* Show the callers and callees of a function: those of a profile with all hits before
 * the next look, and from then on those of looks too. Returns false if memory runs out;
 * some may be missing then. */
bool tui_screen_show_calls(struct tui_screen *screen, const struct tui_target *target,
                           const struct profile *all);

/* Show a listing from its hottest line on; with again, one of the same function without
 * moving the window. It must stay valid until another one or NULL replaces it. */
void tui_screen_list(struct tui_screen *screen, struct listing *listing, bool again);

/* Show a message until the next key; as printf. */
__attribute__((format(printf, 2, 3))) void tui_screen_say(struct tui_screen *screen,
                                                          const char *format, ...);

/* Return the number of lines in the window of rows, of a listing or of help: at least
 * 0. */
int tui_screen_window(const struct tui_screen *screen);

/* Return the number of lines above the window: 0, 1 with the titles of columns, or
 * TUI_HEAD_WHOLE. */
int tui_screen_head(const struct tui_screen *screen);

/* Return the number of lines below it, for keys or the filter being typed. */
int tui_screen_foot(const struct tui_screen *screen);

/* Return whether rows are functions, inlined ones or not. */
bool tui_screen_shows_functions(const struct tui_screen *screen);

const char *tui_order_name(const struct tui_screen *screen);

/* The help page. */
extern const char *const tui_help[];
size_t tui_help_lines(void);

#endif
