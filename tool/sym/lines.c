/* SPDX-License-Identifier: MIT */
/*
 * lines.c - lines by libdw, functions by dwarf_reader.h, both from one copy of the
 * debug sections.
 *
 * A lookup is three binary searches: for the unit, its row of lines, and its innermost
 * scope. libdw decodes a unit's line program, and we read its functions, at the first
 * address in it.
 */
#include "sym/lines.h"

#include "sym/debug_file.h"
#include "sym/dwarf_split.h"
#include "sym/line_cost.h"
#include "util/buffer.h"
#include "util/string_set.h"

#include <elfutils/libdw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* libdw looks through a unit's table of abbreviations up to that of its root, and keeps
 * them. */
#define ABBREV_COST 64

/* Deeper chains are forged: the outer end is cut off. */
#define FRAMES_MAX 512

/* libdw 0.188 has some 300 KiB of rows on its stack, and whoever starts us may allow
 * less. */
#define DECODER_STACK_BYTES ((size_t)2 << 20)

/* Rows of lines that libdw may hold, some 40 bytes each, before it has to begin anew:
 * it cannot forget those of one unit. Places come in the order of addresses, so that
 * few units are read twice. */
#define ROWS_MAX ((size_t)1 << 18)

/* A row takes a byte of the section at least, so the section is decoded so often at
 * most; then all is kept. */
#define PASSES_MAX 8

/* libdw makes 48 bytes of each 16. */
#define ARANGES_COST 3

/* half - a file of debug information, as we and as libdw have it open. */
struct half {
    struct sym_dwarf *units;
    Elf *elf;
    Dwarf *lines;
};

struct sym_lines {
    struct half own;
    struct half supplement; /* shared with other files; units NULL: there is none */
    struct sym_dwarf_split *split;
    uintptr_t stack_low;  /* of the stack that was looked at last; 0: none was */
    uintptr_t stack_high; /* behind its end */
    struct sym_budget *budget;
    uint64_t taken;       /* of it, for what libdw holds */
    size_t rows;          /* that libdw holds */
    uint64_t rows_before; /* that it held and does not any more */
    /* Of files, joined with the folder of their compilation: copies, since libdw's may
     * go. */
    struct string_set paths;
    struct buffer path;
    struct sym_frame frames[FRAMES_MAX];
};

static void
half_close(struct half *half)
{
    dwarf_end(half->lines);
    elf_end(half->elf);
    sym_dwarf_close(half->units); /* its sections are under the two others */
    *half = (struct half){.units = NULL};
}

/* libdw cannot go on, and by itself would end us with a status and a line that tell
 * nothing. */
static void __attribute__((noreturn)) end_without_memory(void)
{
    fputs("ntprof: out of memory for the source lines of an image; --no-lines needs "
          "less\n",
          stderr);
    _exit(125);
}

static bool
half_begin_lines(struct half *half)
{
    half->lines =
        half->elf == NULL ? NULL : dwarf_begin_elf(half->elf, DWARF_C_READ, NULL);
    if (half->lines == NULL) {
        return false;
    }
    (void)dwarf_new_oom_handler(half->lines, end_without_memory);
    return true;
}

/* False if there is nothing to read; why is "" or says why not. */
static bool
half_open(const struct sym_elf *file, struct sym_budget *budget, struct half *half,
          char *why, size_t why_size)
{
    struct sym_dwarf_sections sections;
    const struct sym_dwarf_sections *kept;

    *half = (struct half){.units = NULL};
    if (!sym_dwarf_sections_copy(file, false, budget, &sections, why, why_size)) {
        return false;
    }
    half->units = sym_dwarf_open(&sections, false);
    if (half->units == NULL) {
        return false;
    }
    kept = &half->units->sections;
    if (!sym_budget_take(budget, ARANGES_COST * kept->items[SYM_DWARF_ARANGES].size)) {
        half_close(half);
        return false;
    }
    half->elf = elf_memory(kept->image, kept->image_bytes);
    if (!half_begin_lines(half)) {
        half_close(half);
        return false;
    }
    return true;
}

/* Without it names and folders that it holds are missing, no more. */
static void
open_supplement(struct sym_lines *lines, const struct sym_lines_source *source,
                char *note, size_t note_size)
{
    struct sym_debug_file found;
    struct sym_elf file;
    char why[512];

    sym_debug_file_open_supplement(source->file, source->path, source->root,
                                   source->download, &found, why, sizeof(why));
    if (found.fd >= 0 && sym_elf_open(&file, found.fd) == 0) {
        if (half_open(&file, source->budget, &lines->supplement, why, sizeof(why))) {
            lines->own.units->supplement = lines->supplement.units;
            dwarf_setalt(lines->own.lines, lines->supplement.lines);
        }
        sym_elf_close(&file);
    }
    if (found.fd >= 0) {
        close(found.fd);
    }
    if (why[0] != '\0') {
        snprintf(note, note_size, "%s", why);
    }
}

static bool
open_all(struct sym_lines *lines, const struct sym_lines_source *source, char *note,
         size_t note_size)
{
    char why[256];

    lines->budget = source->budget;
    if (!half_open(source->file, source->budget, &lines->own, why, sizeof(why))) {
        if (why[0] != '\0') {
            snprintf(note, note_size, "no lines from %s: %s", source->path, why);
        }
        return false;
    }
    open_supplement(lines, source, note, note_size);
    lines->split =
        sym_dwarf_split_new(source->root, source->image, source->path, source->budget);
    return lines->split != NULL;
}

struct sym_lines *
sym_lines_open(const struct sym_lines_source *source, char *note, size_t note_size)
{
    struct sym_lines *lines = calloc(1, sizeof(*lines));

    if (lines != NULL && !open_all(lines, source, note, note_size)) {
        sym_lines_close(lines);
        return NULL;
    }
    return lines;
}

void
sym_lines_close(struct sym_lines *lines)
{
    if (lines == NULL) {
        return;
    }
    /* Split units lead to ours, and ours to those of the supplement. */
    sym_dwarf_split_delete(lines->split);
    half_close(&lines->own);
    half_close(&lines->supplement);
    string_set_finish(&lines->paths);
    buffer_finish(&lines->path);
    free(lines);
}

const char *
sym_lines_note(struct sym_lines *lines)
{
    return sym_dwarf_split_note(lines->split);
}

/* Some assemblers tell the places of their units in .debug_aranges alone. */
static struct sym_dwarf_unit *
find_unit(struct sym_lines *lines, uint64_t address)
{
    struct sym_dwarf_unit *unit = sym_dwarf_find_unit(lines->own.units, address);
    Dwarf_Die root;

    if (unit == NULL && dwarf_addrdie(lines->own.lines, address, &root) != NULL) {
        unit = sym_dwarf_unit_at(lines->own.units, dwarf_dieoffset(&root));
    }
    return unit;
}

/* --- on a stack that is large enough --- */

/* A first thread's stack gets memory as it grows: where that is limited, the answer to
 * growth may be a signal. */
static bool
is_memory_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

static void
measure_stack(struct sym_lines *lines)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;

    lines->stack_low = 0;
    lines->stack_high = 0;
    if (is_memory_limited() || pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        lines->stack_low = (uintptr_t)low;
        lines->stack_high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attributes);
}

/* Has our own stack the room? To ask costs as much as a thread, so it is done once for
 * a stack. */
static bool
stack_has_room(struct sym_lines *lines)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    if (here < lines->stack_low || here >= lines->stack_high) {
        measure_stack(lines);
    }
    return here < lines->stack_high && here > lines->stack_low &&
           here - lines->stack_low >= DECODER_STACK_BYTES;
}

static void *
decode_lines(void *root)
{
    Dwarf_Lines *rows;
    Dwarf_Files *files;
    size_t count;

    /* What fails is asked for again later, and fails there. */
    (void)dwarf_getsrclines(root, &rows, &count);
    (void)dwarf_getsrcfiles(root, &files, &count);
    return root;
}

/* On a stack of its own. Signals stay with the threads that expect them. */
static bool
start_decoder(Dwarf_Die *root, pthread_t *thread)
{
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    bool started;

    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_attr_setstacksize(&attributes, DECODER_STACK_BYTES) == 0 &&
              pthread_create(thread, &attributes, decode_lines, root) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

static bool
run_decoder(struct sym_lines *lines, Dwarf_Die *root)
{
    pthread_t thread;

    if (stack_has_room(lines)) {
        (void)decode_lines(root);
        return true;
    }
    return start_decoder(root, &thread) && pthread_join(thread, NULL) == 0;
}

/* Takes what libdw will need for the unit's lines, before it reads any. */
static bool
take_lines(struct sym_lines *lines, struct sym_dwarf_unit *unit)
{
    const struct sym_dwarf_sections *const sections = &lines->own.units->sections;
    struct sym_dwarf_entry root;
    uint64_t cost = 0;

    if (!sym_dwarf_root(unit, &root) ||
        (root.comp_dir.form != 0 && unit->folder == NULL)) {
        return false;
    }
    if (root.stmt_list.form != 0) {
        cost = sym_line_cost(sections, root.stmt_list.number, unit->address_bytes,
                             unit->folder == NULL ? 0 : strlen(unit->folder),
                             sym_budget_left(lines->budget));
    }
    if (cost == SYM_LINE_COST_UNKNOWN) {
        return false;
    }
    if (!unit->first_abbrev && unit->abbrevs != NULL) {
        cost += unit->abbrevs->count * ABBREV_COST;
    }
    if (!sym_budget_take(lines->budget, cost)) {
        return false;
    }
    lines->taken += cost;
    return true;
}

/* Has libdw read the unit's lines once, which it keeps. */
static bool
read_lines(struct sym_lines *lines, struct sym_dwarf_unit *unit, Dwarf_Die *root)
{
    Dwarf_Lines *rows;
    size_t count;

    if (unit->lines_read || unit->lines_refused) {
        return unit->lines_read;
    }
    if (!take_lines(lines, unit)) {
        unit->lines_refused = true;
        return false;
    }
    unit->lines_read = run_decoder(lines, root);
    if (unit->lines_read && dwarf_getsrclines(root, &rows, &count) == 0) {
        lines->rows += count;
    }
    return unit->lines_read;
}

static bool
too_many_rows(const struct sym_lines *lines)
{
    return lines->rows >= ROWS_MAX &&
           (lines->rows_before + lines->rows) / PASSES_MAX <
               lines->own.units->sections.items[SYM_DWARF_LINE].size;
}

/* Has libdw begin anew. Without memory for that no lines are found any more. */
static void
forget_rows(struct sym_lines *lines)
{
    struct sym_dwarf *const units = lines->own.units;

    dwarf_end(lines->own.lines);
    for (size_t i = 0; i < units->unit_count; i++) {
        units->units[i].lines_read = false;
    }
    lines->rows_before += lines->rows;
    lines->rows = 0;
    sym_budget_give(lines->budget, lines->taken);
    lines->taken = 0;
    if (half_begin_lines(&lines->own) && lines->supplement.lines != NULL) {
        dwarf_setalt(lines->own.lines, lines->supplement.lines);
    }
}

/* --- frames --- */

/* place - what is known of the unit that an address is in. */
struct place {
    struct sym_lines *lines;
    struct sym_dwarf_unit *unit;
    Dwarf_Die root;
};

/* The file with the folder that it was compiled in before it, if that is needed; ours.
 */
static const char *
full_path(const struct place *place, const char *file)
{
    struct sym_lines *lines = place->lines;
    const char *folder = place->unit->folder;
    uint32_t number;
    size_t known;

    if (file == NULL) {
        return "";
    }
    if (file[0] == '/' || folder == NULL) {
        folder = "";
    }
    lines->path.size = 0;
    buffer_print(&lines->path, "%s%s%s", folder,
                 folder[0] == '\0' || folder[strlen(folder) - 1] == '/' ? "" : "/",
                 file);
    if (buffer_text(&lines->path) == NULL) {
        return "";
    }
    if (!sym_budget_take(lines->budget, lines->path.size)) {
        return "";
    }
    known = lines->paths.count;
    number = string_set_add(&lines->paths, buffer_text(&lines->path), lines->path.size);
    if (lines->paths.count == known) {
        sym_budget_give(lines->budget, lines->path.size);
    }
    return number == HASH_INDEX_NONE ? "" : lines->paths.texts[number];
}

static void
set_line(struct place *place, uint64_t address, struct sym_frame *frame)
{
    Dwarf_Line *row = dwarf_getsrc_die(&place->root, address);
    const char *file = row == NULL ? NULL : dwarf_linesrc(row, NULL, NULL);
    int line = 0;

    if (file != NULL && dwarf_lineno(row, &line) == 0 && line >= 0) {
        frame->file = full_path(place, file);
        frame->line = (uint32_t)line;
    }
}

static void
set_call(struct place *place, const struct sym_dwarf_scope *callee,
         struct sym_frame *frame)
{
    Dwarf_Files *files;
    const char *file = NULL;
    size_t count;

    if (dwarf_getsrcfiles(&place->root, &files, &count) == 0 &&
        callee->call_file < count) {
        file = dwarf_filesrc(files, callee->call_file, NULL, NULL);
    }
    frame->file = full_path(place, file);
    frame->line = callee->call_line;
}

/* Names the frame, and goes on with the scope around; NULL: that was the outermost. */
static struct sym_dwarf_scope *
take_scope(struct sym_dwarf_unit *unit, struct sym_dwarf_scope *scope,
           struct sym_frame *frame)
{
    sym_dwarf_name_scope(unit, scope);
    frame->name = scope->name;
    frame->system_name = scope->system_name;
    frame->start_line = scope->start_line;
    return scope->parent == SYM_DWARF_NO_SCOPE ? NULL
                                               : &unit->scopes->items[scope->parent];
}

static bool
find_place(struct sym_lines *lines, uint64_t address, struct place *place)
{
    place->lines = lines;
    place->unit = find_unit(lines, address);
    if (place->unit != NULL && !place->unit->lines_read && too_many_rows(lines)) {
        forget_rows(lines);
    }
    return place->unit != NULL &&
           dwarf_offdie(lines->own.lines, place->unit->first, &place->root) != NULL &&
           read_lines(lines, place->unit, &place->root);
}

size_t
sym_lines_find(struct sym_lines *lines, uint64_t address, struct sym_frame **frames)
{
    static const struct sym_frame nothing = {.name = "", .system_name = "", .file = ""};
    struct sym_dwarf_unit *functions;
    struct sym_dwarf_scope *scope;
    struct place place;
    size_t count = 0;

    *frames = lines->frames;
    if (!sym_budget_in_time(lines->budget) || !find_place(lines, address, &place)) {
        return 0;
    }
    functions = sym_dwarf_split_find(lines->split, place.unit);
    scope = sym_dwarf_find_scope(functions, address);
    lines->frames[0] = nothing;
    set_line(&place, address, &lines->frames[0]);
    if (scope == NULL) {
        return lines->frames[0].line > 0;
    }
    while (scope != NULL && count < FRAMES_MAX) {
        struct sym_dwarf_scope *around =
            take_scope(functions, scope, &lines->frames[count++]);

        if (around != NULL && count < FRAMES_MAX) {
            lines->frames[count] = nothing;
            set_call(&place, scope, &lines->frames[count]);
        }
        scope = around;
    }
    return count;
}

/* --- rows --- */

/* The last row that begins at or before address; count if there is none. */
static size_t
find_row(Dwarf_Lines *rows, size_t count, uint64_t address)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        Dwarf_Addr begin;

        if (dwarf_lineaddr(dwarf_onesrcline(rows, middle), &begin) != 0 ||
            begin > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low == 0 ? count : low - 1;
}

/* walk - rows of one unit that are asked for. */
struct walk {
    struct place place;
    Dwarf_Lines *rows;
    size_t count;
    uint64_t at; /* all before it is done */
    uint64_t end;
};

/* What a row says. False if it is damaged, or behind what is asked for. */
static bool
read_row(struct walk *walk, size_t index, struct sym_frame *row, Dwarf_Addr *begin,
         bool *sequence_ends)
{
    Dwarf_Line *const line = dwarf_onesrcline(walk->rows, index);
    const char *file = dwarf_linesrc(line, NULL, NULL);
    int number = 0;

    if (dwarf_lineaddr(line, begin) != 0 ||
        dwarf_lineendsequence(line, sequence_ends) != 0 || *begin >= walk->end) {
        return false;
    }
    row->file = full_path(&walk->place, file);
    row->line = dwarf_lineno(line, &number) == 0 && number > 0 ? (uint32_t)number : 0;
    return true;
}

/* From walk->at to the end of the unit's code that lies together. False if take ended
 * it. */
static bool
walk_rows(struct walk *walk, sym_line_row *take, void *context)
{
    uint64_t reached = walk->end;
    struct sym_frame row;
    bool sequence_ends;
    Dwarf_Addr begin;

    for (size_t i = find_row(walk->rows, walk->count, walk->at); i < walk->count; i++) {
        if (!read_row(walk, i, &row, &begin, &sequence_ends)) {
            break;
        }
        if (sequence_ends) {
            reached = begin;
            break;
        }
        if (!take(context, begin, row.file, row.line)) {
            return false;
        }
    }
    /* A table that goes nowhere is forged. */
    walk->at = reached > walk->at ? reached : walk->end;
    return true;
}

bool
sym_lines_rows(struct sym_lines *lines, uint64_t start, uint64_t end,
               sym_line_row *take, void *context)
{
    struct walk walk = {.at = start, .end = end};

    while (walk.at < end && find_place(lines, walk.at, &walk.place) &&
           dwarf_getsrclines(&walk.place.root, &walk.rows, &walk.count) == 0) {
        if (!walk_rows(&walk, take, context)) {
            return false;
        }
    }
    return true;
}
