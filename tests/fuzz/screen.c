/* SPDX-License-Identifier: MIT */
/*
 * screen.c - fuzz target: any keys, any sizes of the terminal, any names, in any order,
 * on the screen of ntprof top. What is drawn keeps the rules of draw.h, and the cursor
 * is within its window.
 */
#include "../unit/screen/paper.h"

#include <locale.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More than a few draws of a large screen take too long for an input. */
enum { STEPS_MAX = 400, DRAWN_CELLS_MAX = 2000000, LINES = 40 };

struct input {
    const uint8_t *data;
    size_t size;
};

struct scene {
    struct tui_screen screen;
    struct listing listing;
    struct listing_line lines[LINES];
    uint64_t hits[2 * LINES];
    uint64_t sums[2];
    size_t drawn; /* cells */
};

static uint32_t
take_bytes(struct input *input, size_t count)
{
    uint32_t value = 0;

    for (; count > 0 && input->size > 0; count--) {
        value = value << 8 | *input->data++;
        input->size--;
    }
    return value;
}

static void
take_text(struct input *input, char *text, size_t room)
{
    size_t size = take_bytes(input, 1) % room;

    size = size < input->size ? size : input->size;
    memcpy(text, input->data, size);
    text[size] = '\0';
    input->data += size;
    input->size -= size;
}

/* Adds a call of one of the functions that there are, or an end, to a stack. */
static void
add_call(struct profile *look, struct input *input, struct profile_place *place)
{
    const uint32_t chosen = take_bytes(input, 1);
    const struct profile_call end = {.end = (chosen & 1) != 0 ? "[x]" : "whole"};
    const struct profile_call call = {.address = chosen,
                                      .image = place->image,
                                      .function =
                                          chosen % (uint32_t)look->function_count,
                                      .caller = place->stack};

    if (!profile_add_call(look, place->stack == 0 ? &end : &call, &place->stack)) {
        abort();
    }
}

static void
add_row(struct profile *look, struct input *input)
{
    char path[40];
    char name[120];
    const uint32_t chosen = take_bytes(input, 1);
    struct profile_image image = {.path = path, .build_id = ""};
    struct profile_function function = {.name = name, .system_name = name, .file = ""};
    struct profile_place place = {0};
    uint32_t calls;
    uint32_t source;

    take_text(input, path, sizeof(path));
    take_text(input, name, sizeof(name));
    image.start = take_bytes(input, 2);
    if (!profile_add_image(look, &image, &place.image) ||
        ((chosen & 1) != 0 &&
         !profile_add_function(look, &function, &place.function))) {
        abort();
    }
    place.address = take_bytes(input, 3);
    for (calls = (chosen & 128) != 0 ? take_bytes(input, 1) % 8 : 0; calls > 0;
         calls--) {
        add_call(look, input, &place);
    }
    source = chosen >> 1 & 1;
    if (!profile_add_hits_at(look, &place, source,
                             (uint64_t)take_bytes(input, 4) << (chosen >> 2 & 31))) {
        abort();
    }
}

/* Shows callers and callees of the row at the cursor, as key c does. */
static bool
show_calls(struct tui_screen *screen, const struct profile *all)
{
    struct tui_target target;
    size_t row;

    if (tui_screen_key(screen, 'c') != TUI_CALLED) {
        return true;
    }
    PAPER_CHECK(tui_screen_chosen(screen, &row));
    target = tui_table_target(&screen->tables[screen->view], row);
    return tui_screen_show_calls(screen, &target, all);
}

static void
do_look(struct scene *scene, struct input *input, bool calls)
{
    const struct profile_source time = {.name = "time", .nt_name = "", .unit = "100ns"};
    const struct profile_source other = {.name = "x", .nt_name = "", .unit = "events"};
    struct profile *const look = profile_new();
    uint32_t rows = take_bytes(input, 1) % 16;
    uint32_t index;

    if (look == NULL || !profile_add_source(look, &time, &index) ||
        !profile_add_source(look, &other, &index) ||
        !profile_add_process(look, "", &index)) {
        abort();
    }
    while (rows-- > 0) {
        add_row(look, input);
    }
    if (!(calls ? show_calls(&scene->screen, look)
                : tui_screen_take(&scene->screen, look))) {
        abort();
    }
    profile_delete(look);
}

static void
do_list(struct scene *scene, struct input *input)
{
    static const char *const texts[] = {"", "nop", "\033[0m", "\xff\xff", "x\ty"};
    const uint32_t chosen = take_bytes(input, 1);

    scene->listing = (struct listing){.title = texts[chosen % 5],
                                      .has_instructions = (chosen & 1) != 0,
                                      .lines = scene->lines,
                                      .count = take_bytes(input, 1) % (LINES + 1),
                                      .hits = scene->hits,
                                      .own = scene->sums,
                                      .shown = scene->sums,
                                      .totals = scene->sums,
                                      .source_count = 2};
    for (size_t i = 0; i < scene->listing.count; i++) {
        const uint32_t bytes = take_bytes(input, 3);

        scene->lines[i] = (struct listing_line){
            .kind = (enum listing_kind)(bytes % 7),
            .text = texts[bytes >> 3 & 3],
            .line = bytes,
            .address = UINT64_C(0x123456789abcdef) * bytes,
            .bracket = (enum listing_bracket)(bytes >> 5 & 3),
            .missing = (bytes & 128) != 0,
            .jumps = bytes >> 8 & 1,
            .hits_at = (bytes & 512) != 0 ? 2 * i : LISTING_NO_HITS,
            .shared_at = LISTING_NO_HITS,
        };
        scene->hits[2 * i] = bytes;
        scene->hits[2 * i + 1] = bytes & 1 ? UINT64_MAX : 0;
    }
    tui_screen_list(&scene->screen, (chosen & 64) != 0 ? NULL : &scene->listing,
                    (chosen & 32) != 0);
}

static void
check_window(size_t first, size_t cursor, size_t count, size_t window)
{
    PAPER_CHECK(count == 0 ? cursor == 0 : cursor < count);
    PAPER_CHECK(window == 0 || (first <= cursor && cursor - first < window));
}

static void
check(struct scene *scene)
{
    const struct tui_screen *const screen = &scene->screen;
    const size_t window = (size_t)tui_screen_window(screen);
    const size_t lines = screen->listing != NULL ? screen->listing->count : 0;

    PAPER_CHECK(tui_screen_window(screen) >= 0);
    PAPER_CHECK(screen->shown_count <= screen->tables[screen->view].count);
    check_window(screen->first, screen->cursor, screen->shown_count, window);
    check_window(screen->list_first, screen->list_cursor, lines, window);
    if (scene->drawn < DRAWN_CELLS_MAX) {
        struct paper paper = paper_draw(screen);

        scene->drawn += (size_t)paper.lines * (size_t)paper.columns;
        paper_finish(&paper);
    }
}

static void
step(struct scene *scene, struct input *input)
{
    const uint32_t what = take_bytes(input, 1);

    if (what < 128) {
        (void)tui_screen_key(&scene->screen, what);
    } else if (what < 160) {
        (void)tui_screen_key(&scene->screen, TUI_KEY_UP + (what - 128));
    } else if (what < 180) {
        (void)tui_screen_key(&scene->screen, take_bytes(input, 4));
    } else if (what < 200) {
        tui_screen_resize(&scene->screen, what & 1, take_bytes(input, 1));
    } else if (what < 220) {
        const unsigned lines = take_bytes(input, what & 1 ? 2 : 1);

        tui_screen_resize(&scene->screen, lines, take_bytes(input, what & 2 ? 2 : 1));
    } else if (what < 240) {
        do_look(scene, input, what >= 232);
    } else {
        do_list(scene, input);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const sources[] = {"time", "\033x"};
    static struct scene scene;
    struct input input = {data, size};

    (void)setlocale(LC_CTYPE, "C.UTF-8");
    memset(&scene, 0, sizeof(scene));
    tui_screen_init(&scene.screen, sources, 2);
    scene.screen.stacks = true;
    check(&scene);
    for (int i = 0; i < STEPS_MAX && input.size > 0; i++) {
        step(&scene, &input);
        check(&scene);
    }
    tui_screen_finish(&scene.screen);
    return 0;
}
