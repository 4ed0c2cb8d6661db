/* SPDX-License-Identifier: MIT */
/* print_text.c - a listing in columns: share, hits, bracket, address or line, text. */
#include "view/listing/print.h"

#include "base/buffer.h"
#include "base/path.h"
#include "base/text.h"
#include "profile/estimate.h"
#include "view/listing/listingp.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define CYAN "\033[36m"
#define RESET "\033[0m"

/* Number of targets that are listed; more are only counted. */
enum { TARGETS_SHOWN = 20 };

/* What a column has of a line: its hits, those of functions inlined there, or those
 * below it. */
enum column_kind { COLUMN_HITS, COLUMN_INLINED, COLUMN_BELOW };

struct column {
    size_t source;
    enum column_kind kind;
    size_t width;
};

struct printer {
    FILE *out;
    const struct profile *profile;
    const struct listing *listing;
    const struct listing_print_options *options;
    struct column *columns;
    size_t column_count;
    size_t place_width; /* of addresses, or of line numbers */
    uint64_t whole;     /* 100 % of the shares */
    struct buffer text; /* the current line, escaped, without colours */
};

/* --- columns --- */

/* Return the source that counts where only one can be shown: the chosen one, or the
 * first if all are shown. */
static size_t
main_source(const struct printer *printer)
{
    return printer->options->source == LISTING_ALL_SOURCES ? 0
                                                           : printer->options->source;
}

static size_t
digits(uint64_t number, unsigned int base)
{
    size_t count = 1;

    for (; number >= base; number /= base) {
        count++;
    }
    return count;
}

static uint64_t
column_hits(const struct printer *printer, const struct column *column,
            const struct listing_line *line)
{
    switch (column->kind) {
    case COLUMN_INLINED:
        return listing_line_inlined(printer->listing, line, column->source);
    case COLUMN_BELOW:
        return listing_line_below(printer->listing, line, column->source);
    case COLUMN_HITS:
        break;
    }
    return listing_line_hits(printer->listing, line, column->source);
}

/* Return whether any line has a number in a column of this kind. */
static bool
has_any(const struct listing *listing, enum column_kind kind)
{
    for (size_t i = 0; i < listing->count; i++) {
        const struct listing_line *const line = &listing->lines[i];

        if ((kind == COLUMN_BELOW ? line->below_at : line->inlined_at) !=
            LISTING_NO_HITS) {
            return true;
        }
    }
    return false;
}

static void
add_column(struct printer *printer, size_t source, enum column_kind kind)
{
    const struct column column = {.source = source, .kind = kind};

    printer->columns[printer->column_count++] = column;
}

/* Choose the columns of hits: one for each shown source; if there is only one, others
 * for hits below lines and those of inlined functions. Returns false if memory runs
 * out. */
static bool
choose_columns(struct printer *printer)
{
    const struct listing *listing = printer->listing;

    printer->columns = calloc(listing->source_count + 3, sizeof(*printer->columns));
    if (printer->columns == NULL) {
        return false;
    }
    for (size_t i = 0; i < listing->source_count; i++) {
        if (printer->options->source == LISTING_ALL_SOURCES ||
            printer->options->source == i) {
            add_column(printer, i, COLUMN_HITS);
        }
    }
    if (printer->column_count == 1) {
        if (has_any(listing, COLUMN_BELOW)) {
            add_column(printer, main_source(printer), COLUMN_BELOW);
        }
        if (has_any(listing, COLUMN_INLINED)) {
            add_column(printer, main_source(printer), COLUMN_INLINED);
        }
    }
    return true;
}

static void
put_title(const struct printer *printer, const struct column *column,
          struct buffer *out)
{
    if (column->kind != COLUMN_HITS) {
        buffer_append_text(out, column->kind == COLUMN_BELOW ? "below" : "inlined");
    } else if (printer->listing->source_count == 1) {
        buffer_append_text(out, "hits");
    } else {
        text_escape(out, printer->profile->sources[column->source].name);
    }
}

static void
widen(size_t *width, size_t wanted)
{
    *width = wanted > *width ? wanted : *width;
}

/* Return the width of the address or line number of a line. */
static size_t
place_digits(const struct printer *printer, const struct listing_line *line)
{
    if (line->kind == LISTING_SOURCE) {
        return printer->listing->has_instructions ? 0 : digits(line->line, 10);
    }
    return line->size > 0 ? digits(line->address, 16) : 0;
}

/* Find the widths of all columns, and of how many hits shares are shares. Returns false
 * if memory runs out. */
static bool
measure(struct printer *printer)
{
    for (size_t i = 0; i < printer->column_count; i++) {
        struct column *column = &printer->columns[i];

        printer->text.size = 0;
        put_title(printer, column, &printer->text);
        if (buffer_text(&printer->text) == NULL) {
            return false;
        }
        column->width = text_columns(buffer_text(&printer->text));
        for (size_t k = 0; k < printer->listing->count; k++) {
            widen(
                &column->width,
                digits(column_hits(printer, column, &printer->listing->lines[k]), 10));
        }
    }
    printer->place_width = strlen("line");
    for (size_t k = 0; k < printer->listing->count; k++) {
        const struct listing_line *line = &printer->listing->lines[k];

        widen(&printer->place_width, place_digits(printer, line));
    }
    if (printer->listing->source_count > 0) {
        const uint64_t own = printer->listing->own[main_source(printer)];
        const uint64_t shown = printer->listing->shown[main_source(printer)];

        /* Lines around a requested one have hits that are not its own. */
        printer->whole = own > shown ? own : shown;
    }
    return true;
}

/* --- a line --- */

static double
share_of(const struct printer *printer, uint64_t hits)
{
    return printer->whole == 0 ? 0 : (double)hits / (double)printer->whole * 100;
}

/* Append the share of the main source and the hits in each column. */
static void
put_numbers(struct printer *printer, const struct listing_line *line)
{
    struct buffer *text = &printer->text;
    bool any = false;

    for (size_t i = 0; i < printer->column_count; i++) {
        any |= column_hits(printer, &printer->columns[i], line) > 0;
    }
    if (any && printer->listing->source_count > 0) {
        buffer_print(text, "%6.2f%%",
                     share_of(printer, listing_line_hits(printer->listing, line,
                                                         main_source(printer))));
    } else {
        buffer_print(text, "%7s", "");
    }
    for (size_t i = 0; i < printer->column_count; i++) {
        const struct column *column = &printer->columns[i];
        const uint64_t hits = column_hits(printer, column, line);

        if (any && (hits > 0 || i == 0)) {
            buffer_print(text, "  %*" PRIu64, (int)column->width, hits);
        } else {
            buffer_print(text, "  %*s", (int)column->width, "");
        }
    }
}

static const char *
bracket_of(const struct printer *printer, const struct listing_line *line)
{
    const bool utf8 = printer->options->utf8;

    switch (line->bracket) {
    case LISTING_BRACKET_FIRST:
        return utf8 ? "\xe2\x94\x8c" : "/";
    case LISTING_BRACKET_INSIDE:
        return utf8 ? "\xe2\x94\x82" : "|";
    case LISTING_BRACKET_LAST:
        return utf8 ? "\xe2\x94\x94" : "\\";
    case LISTING_BRACKET_NONE:
        break;
    }
    return " ";
}

/* Append four characters, which mark shared hits, a bracket, the requested line and the
 * target of a jump. */
static void
put_marks(struct printer *printer, const struct listing_line *line)
{
    const uint64_t shared =
        listing_line_shared(printer->listing, line, main_source(printer));
    const bool utf8 = printer->options->utf8;

    buffer_append_text(&printer->text, shared > 0 ? "~" : " ");
    buffer_append_text(&printer->text, bracket_of(printer, line));
    buffer_append_text(&printer->text, line->chosen ? "=" : " ");
    buffer_append_text(&printer->text, line->jumps == 0 ? " "
                                       : utf8           ? "\xe2\x96\xb8"
                                                        : ">");
}

static void
put_arrow(struct printer *printer, const struct listing_line *line)
{
    const bool up = line->target_address <= line->address;
    const bool utf8 = printer->options->utf8;

    if (line->target == LISTING_NONE || line->is_call) {
        return;
    }
    buffer_append_text(&printer->text, up ? (utf8 ? "  \xe2\x86\x91" : "  ^")
                                          : (utf8 ? "  \xe2\x86\x93" : "  v"));
}

/* Append the first 8 bytes of an instruction, and "+" if it has more. */
static void
put_bytes(struct printer *printer, const struct listing_line *line)
{
    const size_t size =
        line->size < sizeof(line->bytes) ? line->size : sizeof(line->bytes);

    for (size_t i = 0; i < 8; i++) {
        if (i < size) {
            buffer_print(&printer->text, "%02x", line->bytes[i]);
        } else {
            buffer_append_text(&printer->text, "  ");
        }
    }
    buffer_append_text(&printer->text, size > 8 ? "+ " : "  ");
}

/* Append a source line with its number. One that could not be read is shown as file and
 * line. */
static void
put_source(struct printer *printer, const struct listing_line *line)
{
    if (!printer->listing->has_instructions) {
        buffer_print(&printer->text, "%*" PRIu32 "  ", (int)printer->place_width,
                     line->line);
    } else if (!line->missing) {
        buffer_print(&printer->text, "%*s  %" PRIu32 "  ", (int)printer->place_width,
                     "", line->line);
    } else {
        buffer_print(&printer->text, "%*s  ", (int)printer->place_width, "");
        text_escape(&printer->text, path_file_name(line->file));
        buffer_print(&printer->text, ":%" PRIu32, line->line);
    }
    text_escape(&printer->text, line->text);
}

static void
put_code(struct printer *printer, const struct listing_line *line)
{
    const bool decoded = line->kind != LISTING_BUCKET;

    buffer_print(&printer->text, "%*" PRIx64 "  ", (int)printer->place_width,
                 line->address);
    if (printer->options->bytes && decoded) {
        put_bytes(printer, line);
    }
    if (line->kind == LISTING_BYTES && !printer->options->bytes) {
        for (size_t i = 0; i < line->size && i < sizeof(line->bytes); i++) {
            buffer_print(&printer->text, "%02x ", line->bytes[i]);
        }
    }
    buffer_append_text(&printer->text, line->uncertain ? "? " : "");
    text_escape(&printer->text, line->text);
    put_arrow(printer, line);
}

static void
put_line(struct printer *printer, const struct listing_line *line)
{
    printer->text.size = 0;
    switch (line->kind) {
    case LISTING_HEADING:
        text_escape(&printer->text, line->text);
        return;
    case LISTING_SOURCE:
    case LISTING_INSTRUCTION:
    case LISTING_BYTES:
    case LISTING_BUCKET:
        put_numbers(printer, line);
        put_marks(printer, line);
        if (line->kind == LISTING_SOURCE) {
            put_source(printer, line);
        } else {
            put_code(printer, line);
        }
        return;
    case LISTING_PLACE:
    case LISTING_GAP:
        put_numbers(printer, line);
        put_marks(printer, line);
        buffer_print(&printer->text, "%*s  %s", (int)printer->place_width, "",
                     line->kind == LISTING_GAP ? "... " : "");
        text_escape(&printer->text, line->text);
        return;
    }
}

/* Return the color of a line: for code and its source by its share of the hits, with
 * the limits of perf annotate. */
static const char *
color_of(const struct printer *printer, const struct listing_line *line)
{
    const double share = share_of(
        printer, listing_line_hits(printer->listing, line, main_source(printer)));

    if (!printer->options->color) {
        return "";
    }
    switch (line->kind) {
    case LISTING_HEADING:
        return BOLD;
    case LISTING_PLACE:
        return CYAN;
    case LISTING_GAP:
        return DIM;
    case LISTING_SOURCE:
    case LISTING_INSTRUCTION:
    case LISTING_BYTES:
    case LISTING_BUCKET:
        break;
    }
    if (share >= 0.5) {
        return share >= 5 ? RED : GREEN;
    }
    return line->kind == LISTING_SOURCE && printer->listing->has_instructions ? DIM
                                                                              : "";
}

/* Print the line without trailing blanks, cut to width columns; 0: not cut. Returns
 * false if memory ran out. */
static bool
print_cut(struct printer *printer, const char *color, int width)
{
    const char *text = buffer_text(&printer->text);
    size_t size;

    if (text == NULL) {
        return false;
    }
    size = width <= 0 ? printer->text.size : text_bytes_of_columns(text, (size_t)width);
    while (size > 0 && text[size - 1] == ' ') {
        size--;
    }
    fprintf(printer->out, "%s%.*s%s\n", color, (int)size, text,
            color[0] != '\0' ? RESET : "");
    return true;
}

static bool
print_text(struct printer *printer, const char *color)
{
    return print_cut(printer, color, printer->options->width);
}

static bool
print_gap(struct printer *printer, uint32_t lines)
{
    printer->text.size = 0;
    buffer_print(&printer->text, "%7s", "");
    for (size_t i = 0; i < printer->column_count; i++) {
        buffer_print(&printer->text, "  %*s", (int)printer->columns[i].width, "");
    }
    buffer_print(&printer->text, "    %*s  ... %" PRIu32 " lines",
                 (int)printer->place_width, "", lines);
    return print_text(printer, printer->options->color ? DIM : "");
}

/* --- whole listing --- */

static bool
print_head(struct printer *printer)
{
    const struct listing *listing = printer->listing;
    const size_t source = main_source(printer);
    struct buffer *text = &printer->text;

    text->size = 0;
    text_escape(text, listing->title);
    if (source < listing->source_count) {
        const uint64_t total = listing->totals[source];

        buffer_print(text, ": %" PRIu64 " of %" PRIu64 " ", listing->own[source],
                     total);
        text_escape(text, report_numbers(&printer->profile->sources[source]));
        buffer_print(text, " (%.2f%%) of ",
                     total == 0 ? 0.0
                                : (double)listing->own[source] / (double)total * 100);
        text_escape(text, printer->profile->sources[source].name);
        if (listing->inlined[source] > 0) {
            buffer_print(text, ", %" PRIu64 " of them in what was inlined",
                         listing->inlined[source]);
        }
    }
    return print_cut(printer, printer->options->color ? BOLD : "", 0);
}

static bool
print_titles(struct printer *printer)
{
    struct buffer *text = &printer->text;
    const bool code =
        printer->listing->has_instructions || (printer->listing->bucket_count > 0);

    text->size = 0;
    buffer_print(text, "%7s", "share");
    for (size_t i = 0; i < printer->column_count; i++) {
        struct buffer title = {0};

        put_title(printer, &printer->columns[i], &title);
        if (buffer_text(&title) != NULL) {
            const size_t width = text_columns(buffer_text(&title));

            buffer_print(text, "  %*s%s", (int)(printer->columns[i].width - width), "",
                         buffer_text(&title));
        }
        buffer_finish(&title);
    }
    buffer_print(text, "    %*s  %s", (int)printer->place_width, code ? "addr" : "line",
                 printer->listing->has_instructions ? "instruction"
                 : code                             ? "place"
                                                    : "source");
    return print_text(printer, printer->options->color ? BOLD : "");
}

static bool
print_lines(struct printer *printer)
{
    for (size_t i = 0; i < printer->listing->count; i++) {
        const struct listing_line *line = &printer->listing->lines[i];

        if (line->hidden) {
            if (line->gap_lines > 0 && !print_gap(printer, line->gap_lines)) {
                return false;
            }
            continue;
        }
        put_line(printer, line);
        if (!print_text(printer, color_of(printer, line))) {
            return false;
        }
    }
    return true;
}

/* Print the notes, which are never cut, as their end says what to do. */
static bool
print_notes(struct printer *printer)
{
    for (size_t i = 0; i < printer->listing->note_count; i++) {
        printer->text.size = 0;
        text_escape(&printer->text, printer->listing->notes[i].text);
        if (buffer_text(&printer->text) == NULL) {
            return false;
        }
        fprintf(printer->out, "note: %s\n", buffer_text(&printer->text));
    }
    return true;
}

/* Explain the mark ~ if a line has it. */
static bool
print_legend(struct printer *printer)
{
    const struct listing *listing = printer->listing;

    for (size_t i = 0; i < listing->count; i++) {
        if (listing_line_shared(listing, &listing->lines[i], main_source(printer)) >
            0) {
            fputs("note: at ~ a bucket holds code of other lines too: its hits may be "
                  "theirs; the instructions show which\n",
                  printer->out);
            return true;
        }
    }
    return true;
}

bool
listing_print_text(FILE *out, const struct profile *profile,
                   const struct listing *listing,
                   const struct listing_print_options *options)
{
    struct printer printer = {
        .out = out, .profile = profile, .listing = listing, .options = options};
    bool done = choose_columns(&printer) && measure(&printer) && print_head(&printer);

    if (done && listing->count > 0) {
        done = print_titles(&printer) && print_lines(&printer);
    }
    done = done && print_legend(&printer) && print_notes(&printer);
    free(printer.columns);
    buffer_finish(&printer.text);
    return done && !ferror(out);
}

/* --- targets --- */

/* Digits of a build-id that identify it. */
enum { BUILD_ID_DIGITS = 12 };

/* Return whether the listed targets have another build of the target's image. */
static bool
has_builds(const struct profile *profile, const struct listing_targets *targets,
           const struct listing_target *target)
{
    const char *const path = profile->images[target->image].path;

    for (size_t i = 0; i < targets->count && i < TARGETS_SHOWN; i++) {
        const uint32_t other = targets->items[i].image;

        if (other != LISTING_NONE && other != target->image &&
            strcmp(profile->images[other].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Append the name of a function as the user can type it to choose that one. */
static void
put_function(struct buffer *text, const struct profile *profile,
             const struct listing_target *target, enum display_detail detail)
{
    listing_target_name(profile, target, detail, text);
    if (target->inlined) {
        buffer_append_text(text, " inlined in *");
    }
    if (strcmp(target->name, target->system_name) != 0) {
        buffer_append_text(text, "  ");
        text_escape(text, target->system_name);
    }
}

static void
put_target(struct buffer *text, const struct profile *profile,
           const struct listing_targets *targets, const struct listing_target *target,
           enum display_detail detail)
{
    buffer_print(text, "  %10" PRIu64 "  ",
                 targets->source_count > 0 ? targets->hits[target->hits_at] : 0);
    if (target->kind == LISTING_OF_LINE) {
        text_escape(text, target->file);
        buffer_print(text, ":%" PRIu32, target->line);
    } else if (target->kind == LISTING_OF_FUNCTION) {
        put_function(text, profile, target, detail);
    }
    if (target->image != LISTING_NONE) {
        buffer_append_text(text, target->kind == LISTING_OF_ADDRESS ? "" : "  ");
        text_escape(text, profile->images[target->image].path);
    }
    if (target->kind == LISTING_OF_ADDRESS) {
        buffer_print(text, "+0x%" PRIx64,
                     target->address - profile->images[target->image].start +
                         profile->images[target->image].offset);
    }
    if (target->image != LISTING_NONE && has_builds(profile, targets, target)) {
        char id[BUILD_ID_DIGITS + 1];

        snprintf(id, sizeof(id), "%s", profile->images[target->image].build_id);
        buffer_append_text(text, "  build ");
        text_escape(text, id);
    }
    buffer_append_byte(text, '\n');
}

/* Return the identity of a target's function among those listed. Of one that was found
 * only around inlined code it is that of the first such target in any build of the
 * image; all targets are such ones then. */
static uint32_t
identity_of(const struct profile *profile, const struct listing_targets *targets,
            size_t number)
{
    const struct listing_target *const target = &targets->items[number];
    uint32_t first = 0;

    if (target->kind != LISTING_OF_FUNCTION) {
        return UINT32_MAX; /* lines and addresses are not named after functions */
    }
    if (target->id != LISTING_NONE) {
        return target->id;
    }
    while (first < number &&
           (strcmp(profile->images[targets->items[first].image].path,
                   profile->images[target->image].path) != 0 ||
            !listing_same_function(&profile->functions[targets->items[first].function],
                                   &profile->functions[target->function]))) {
        first++;
    }
    return first;
}

/* Choose how much detail the names of the first count targets need, so that different
 * functions read differently where that is possible. Returns the names, for free();
 * NULL if memory runs out. */
static struct display_name *
tell_apart(const struct profile *profile, const struct listing_targets *targets,
           size_t count)
{
    struct display_name *const names = calloc(count + 1, sizeof(*names));

    for (size_t i = 0; names != NULL && i < count; i++) {
        const struct listing_target *const target = &targets->items[i];

        names[i] = (struct display_name){
            .function = &profile->functions[target->function],
            .image =
                &profile->images[target->image == LISTING_NONE ? 0 : target->image],
            .identity = identity_of(profile, targets, i),
            .detail = DISPLAY_FULL,
        };
    }
    if (names != NULL && profile->image_count > 0 &&
        !display_tell_apart(names, count)) {
        free(names);
        return NULL;
    }
    return names;
}

bool
listing_print_targets(FILE *out, const struct profile *profile,
                      const struct listing_targets *targets)
{
    const size_t shown =
        targets->count < TARGETS_SHOWN ? targets->count : TARGETS_SHOWN;
    struct display_name *const names = tell_apart(profile, targets, shown);
    struct buffer text = {0};
    bool done;

    for (size_t i = 0; names != NULL && i < shown; i++) {
        put_target(&text, profile, targets, &targets->items[i], names[i].detail);
    }
    if (shown < targets->count) {
        buffer_print(&text, "  and %zu more\n", targets->count - shown);
    }
    done = names != NULL && buffer_text(&text) != NULL;
    if (done) {
        fputs(buffer_text(&text), out);
    }
    free(names);
    buffer_finish(&text);
    return done;
}
