/* SPDX-License-Identifier: MIT */
/*
 * display_curses.c - the terminal through the wide functions of ncurses.
 *
 * curses does not read the terminal's size from the user's environment or the kernel:
 * it gets the bounded size of the screen. Its signal handlers are removed, since the
 * caller waits for signals as it does for keys.
 */
#include "view/screen/display_module.h"

#include "base/embedded.h"
#include "base/module_interface.h"
#include "base/text.h"
#include "view/screen/draw.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <curses.h>
#include <term.h>
#undef lines /* macros of <term.h> */
#undef columns

struct tui_display {
    SCREEN *screen;
    chtype styles[TUI_STYLES];
};

/* An escape after which nothing comes for this long is the Escape key, and not the
 * start of another key's sequence. */
enum { ESCAPE_MS = 50 };

/* Signals that newterm sets handlers for. */
static const int curses_signals[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};

enum { CURSES_SIGNALS = sizeof(curses_signals) / sizeof(curses_signals[0]) };

/* --- signals --- */

static void
keep_actions(struct sigaction *actions)
{
    for (size_t i = 0; i < CURSES_SIGNALS; i++) {
        sigaction(curses_signals[i], NULL, &actions[i]);
    }
}

static void
restore_actions(const struct sigaction *actions)
{
    for (size_t i = 0; i < CURSES_SIGNALS; i++) {
        sigaction(curses_signals[i], &actions[i], NULL);
    }
}

/* --- the terminal --- */

/* Write the reason to why. Returns NULL. */
__attribute__((format(printf, 3, 4))) static struct tui_display *
refuse_terminal(char *why, size_t size, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, size, format, arguments);
    va_end(arguments);
    return NULL;
}

/* Return a text of the terminal's description; "" if it has none of this name. */
static const char *
capability(const char *name)
{
    const char *const text = tigetstr(name);

    return text == NULL || text == (const char *)-1 ? "" : text;
}

static void
close_description(void)
{
    (void)del_curterm(cur_term);
}

/* Open the description of a terminal: the machine's, or else that inside of the
 * command. In place of a folder TERMINFO may have a description itself, as text that
 * begins with "hex:" or "b64:". result: as of setupterm. */
static bool
find_description(const char *type, int *result)
{
    const struct embedded_file *inside;
    char name[80];

    if (setupterm(type, STDOUT_FILENO, result) == OK) {
        return true;
    }
    snprintf(name, sizeof(name), "terminfo/%s", type);
    inside = embedded_find(name);
    return inside != NULL && setenv("TERMINFO", (const char *)inside->bytes, 1) == 0 &&
           setupterm(type, STDOUT_FILENO, result) == OK;
}

/* Open the description of the terminal, which close_description closes. Returns false
 * with the reason in why if the terminal cannot show a screen. */
static bool
open_description(char *why, size_t size)
{
    const char *const type = getenv("TERM");
    char shown[80];
    int result;

    if (type == NULL || type[0] == '\0') {
        refuse_terminal(why, size,
                        "TERM is not set: it says what kind of terminal this is");
        return false;
    }
    text_show(shown, sizeof(shown), type);
    if (!find_description(type, &result)) {
        refuse_terminal(
            why, size, "TERM is '%s', %s; try: TERM=xterm ntprof top", shown,
            result < 0 ? "but there is no database of terminals here (ncurses-base)"
                       : "of which nothing is known here");
        return false;
    }
    if (capability("cup")[0] == '\0' || capability("clear")[0] == '\0') {
        refuse_terminal(why, size,
                        "TERM is '%s', a terminal on which nothing can be placed",
                        shown);
        close_description();
        return false;
    }
    return true;
}

static bool
display_check(char *why, size_t size)
{
    const bool can = open_description(why, size);

    if (can) {
        close_description();
    }
    return can;
}

static bool
colors_wanted(void)
{
    const char *const no_color = getenv("NO_COLOR");

    return (no_color == NULL || no_color[0] == '\0') && has_colors();
}

/* Set the attributes of each style: colours if the terminal has them and
 * the user wants them. */
static void
choose_styles(struct tui_display *display)
{
    chtype *const styles = display->styles;

    styles[TUI_PLAIN] = A_NORMAL;
    styles[TUI_TITLE] = A_BOLD;
    styles[TUI_HEADER] = A_REVERSE;
    styles[TUI_CHOSEN] = A_REVERSE | A_BOLD;
    styles[TUI_HOT] = A_BOLD;
    styles[TUI_WARM] = A_NORMAL;
    styles[TUI_FAINT] = A_NORMAL;
    styles[TUI_KEYS] = A_REVERSE;
    styles[TUI_ALERT] = A_REVERSE | A_BOLD;
    if (!colors_wanted()) {
        return;
    }
    start_color();
    use_default_colors();
    init_pair(1, COLOR_RED, -1);
    init_pair(2, COLOR_GREEN, -1);
    init_pair(3, COLOR_CYAN, -1);
    styles[TUI_HOT] = A_BOLD | (chtype)COLOR_PAIR(1);
    styles[TUI_WARM] = (chtype)COLOR_PAIR(2);
    styles[TUI_FAINT] = (chtype)COLOR_PAIR(3);
}

/* Read keys at once and without echo; Ctrl-C, Ctrl-Z and Ctrl-\ still send signals. */
static void
take_terminal(void)
{
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    scrollok(stdscr, FALSE);
    (void)curs_set(0);
}

/* Give curses a size to begin with where the terminal's description has none, as that
 * of the Linux console: by use_env(TRUE) it takes that of the environment. After
 * use_env(FALSE) and open_description. */
static void
give_first_size(void)
{
    if (tigetnum("lines") <= 0 || tigetnum("cols") <= 0) {
        setenv("LINES", "24", 1);
        setenv("COLUMNS", "80", 1);
        use_env(TRUE);
    }
}

static struct tui_display *
display_open(char *why, size_t size)
{
    struct tui_display *const display = calloc(1, sizeof(*display));
    struct sigaction actions[CURSES_SIGNALS];

    if (display == NULL) {
        return refuse_terminal(why, size, "out of memory");
    }
    use_env(FALSE);
    if (!open_description(why, size)) {
        free(display);
        return NULL;
    }
    give_first_size();
    close_description();
    keep_actions(actions);
    display->screen = newterm(NULL, stdout, stdin);
    if (display->screen == NULL) {
        free(display);
        return refuse_terminal(why, size, "curses cannot use this terminal");
    }
    restore_actions(actions);
    set_escdelay(ESCAPE_MS);
    take_terminal();
    choose_styles(display);
    return display;
}

static void
display_leave(struct tui_display *display)
{
    (void)display;
    endwin();
}

/* Take the terminal again, and draw everything anew, since another
 * program wrote on it. */
static void
display_enter(struct tui_display *display)
{
    (void)display;
    clearok(curscr, TRUE);
    refresh();
}

static void
display_close(struct tui_display *display)
{
    if (display == NULL) {
        return;
    }
    display_leave(display);
    delscreen(display->screen);
    free(display);
}

static void
display_ask_size(unsigned *lines, unsigned *columns)
{
    struct winsize size = {0};

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *lines = size.ws_row;
    *columns = size.ws_col;
}

static void
display_resize(struct tui_display *display, const struct tui_screen *screen)
{
    (void)display;
    (void)resize_term(screen->lines, screen->columns);
    clearok(curscr, TRUE);
}

/* --- drawing --- */

/* Show text on the terminal; for tui_canvas. */
static void
put(void *context, int line, int column, enum tui_style style, const wchar_t *text,
    int columns)
{
    const struct tui_display *const display = context;

    (void)columns;
    attrset((int)display->styles[style]);
    (void)mvaddwstr(line, column, text);
}

static void
display_draw(struct tui_display *display, const struct tui_screen *screen)
{
    const struct tui_canvas canvas = {.put = put, .context = display};

    erase();
    tui_draw(screen, &canvas);
    refresh();
}

/* --- keys --- */

/* Return the key of curses' code for it. */
static uint32_t
key_of_code(wint_t code)
{
    static const struct {
        wint_t code;
        uint32_t key;
    } keys[] = {
        {KEY_UP, TUI_KEY_UP},         {KEY_DOWN, TUI_KEY_DOWN},
        {KEY_LEFT, TUI_KEY_LEFT},     {KEY_RIGHT, TUI_KEY_RIGHT},
        {KEY_PPAGE, TUI_KEY_PAGE_UP}, {KEY_NPAGE, TUI_KEY_PAGE_DOWN},
        {KEY_HOME, TUI_KEY_HOME},     {KEY_END, TUI_KEY_END},
        {KEY_ENTER, TUI_KEY_ENTER},   {KEY_BACKSPACE, TUI_KEY_BACKSPACE},
        {KEY_F(1), TUI_KEY_HELP},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i].code == code) {
            return keys[i].key;
        }
    }
    return TUI_KEY_NONE;
}

static bool
display_key(struct tui_display *display, uint32_t *key)
{
    wint_t code;
    const int kind = get_wch(&code);

    (void)display;
    if (kind == ERR) {
        return false;
    }
    *key = kind == KEY_CODE_YES ? key_of_code(code) : (uint32_t)code;
    return true;
}

MODULE_INTERFACE(struct display_module, display) = {
    .check = display_check,
    .open = display_open,
    .close = display_close,
    .leave = display_leave,
    .enter = display_enter,
    .ask_size = display_ask_size,
    .resize = display_resize,
    .draw = display_draw,
    .key = display_key,
};
