/* SPDX-License-Identifier: MIT */
/* html_data.c - writes the page's JSON: rows sorted and cut into segments, columns as
 * varints in base64, and each text once. */
#include "view/export/html_data.h"

#include "base/arithmetic.h"
#include "base/json.h"
#include "base/string_set.h"
#include "base/text.h"
#include "profile/estimate.h"
#include "profile/join.h"
#include "view/report/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows further apart are in different segments: offsets stay exact in 53 bits. */
#define SEGMENT_BYTES_MAX (UINT64_C(1) << 52)

/* --- JSON --- */

/* Put a text that is escaped already, cut if it is too long. */
static void
put_escaped_bytes(struct buffer *json, const char *text, size_t size)
{
    size_t kept = size;

    if (size > HTML_TEXT_BYTES_MAX) {
        kept = HTML_TEXT_BYTES_MAX;
        while (kept > 0 && ((uint8_t)text[kept] & 0xc0) == 0x80) {
            kept--; /* not within a character */
        }
    }
    buffer_append_byte(json, '"');
    json_put_characters(json, (const uint8_t *)text, kept, /* in_html */ true);
    if (kept < size) {
        buffer_print(json, " [and %zu bytes more]", size - kept);
    }
    buffer_append_byte(json, '"');
}

void
html_put_escaped(struct buffer *json, const char *text)
{
    put_escaped_bytes(json, text, strlen(text));
}

void
html_put_text(struct buffer *json, const char *text)
{
    struct buffer escaped = {0};

    text_escape(&escaped, text != NULL ? text : "");
    if (buffer_text(&escaped) != NULL) {
        html_put_escaped(json, (const char *)escaped.data);
    } else {
        json->failed = true;
    }
    buffer_finish(&escaped);
}

static void
put_member_text(struct buffer *json, const char *key, const char *text)
{
    json_put_key(json, key);
    html_put_text(json, text);
    buffer_append_byte(json, ',');
}

/* Put a number as a string: 64 bits are more than numbers of JavaScript hold. */
static void
put_member_number(struct buffer *json, const char *key, uint64_t number)
{
    buffer_print(json, "\"%s\":\"%" PRIu64 "\",", key, number);
}

/* --- columns --- */

void
html_put_varint(struct buffer *column, uint64_t number)
{
    while (number >= 0x80) {
        buffer_append_byte(column, (uint8_t)(number | 0x80));
        number >>= 7;
    }
    buffer_append_byte(column, (uint8_t)number);
}

void
html_put_base64(struct buffer *json, const struct buffer *bytes)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t groups = (bytes->size + 2) / 3;
    uint8_t *out = buffer_reserve(json, groups * 4 + 2);

    json->failed |= bytes->failed;
    if (out == NULL) {
        return;
    }
    *out++ = '"';
    for (size_t i = 0; i < groups; i++) {
        const size_t left = bytes->size - i * 3;
        uint32_t bits = (uint32_t)bytes->data[i * 3] << 16;

        bits |= left > 1 ? (uint32_t)bytes->data[i * 3 + 1] << 8 : 0;
        bits |= left > 2 ? bytes->data[i * 3 + 2] : 0;
        *out++ = (uint8_t)digits[bits >> 18];
        *out++ = (uint8_t)digits[bits >> 12 & 0x3f];
        *out++ = left > 1 ? (uint8_t)digits[bits >> 6 & 0x3f] : '=';
        *out++ = left > 2 ? (uint8_t)digits[bits & 0x3f] : '=';
    }
    *out = '"';
    json->size += groups * 4 + 2;
}

void
html_put_column(struct buffer *json, const char *key, struct buffer *column)
{
    json_put_key(json, key);
    html_put_base64(json, column);
    buffer_append_byte(json, ',');
    column->size = 0;
}

/* --- the profile --- */

/* page - the state while a profile is written. */
struct page {
    struct buffer *json;
    const struct profile *profile;
    const struct function_names *names;
    struct string_set texts; /* each once; the page's numbers of them */
    struct buffer column;    /* in the making */
    uint32_t *order;         /* rows by image, address, process */
    bool failed;
};

/* Return the number of a text in the page's list, to which it is added once. */
static uint64_t
text_number(struct page *page, const char *text)
{
    const char *const given = text != NULL ? text : "";
    const uint32_t number = string_set_add(&page->texts, given, strlen(given));

    page->failed |= number == HASH_INDEX_NONE;
    return number;
}

static int
compare_rows(const void *left, const void *right, void *context)
{
    const struct profile *const profile = context;
    const struct profile_row *const a = &profile->rows[*(const uint32_t *)left];
    const struct profile_row *const b = &profile->rows[*(const uint32_t *)right];
    int order = compare_numbers(a->image, b->image);

    if (order == 0) {
        order = compare_numbers(a->address, b->address);
    }
    if (order == 0) {
        order = compare_numbers(a->process, b->process);
    }
    if (order == 0) {
        order = compare_numbers(a->thread, b->thread);
    }
    return order != 0 ? order : compare_numbers(a->cpu_plus_1, b->cpu_plus_1);
}

static bool
order_rows(struct page *page)
{
    const size_t count = page->profile->row_count;

    if (count > UINT32_MAX) {
        return false;
    }
    page->order = calloc(count + 1, sizeof(*page->order));
    if (page->order == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        page->order[i] = (uint32_t)i;
    }
    if (count > 1) {
        qsort_r(page->order, count, sizeof(*page->order), compare_rows,
                (void *)(uintptr_t)page->profile);
    }
    return true;
}

static const struct profile_row *
row_at(const struct page *page, size_t i)
{
    return &page->profile->rows[page->order[i]];
}

static uint64_t
source_total(const struct profile *profile, size_t source)
{
    uint64_t total = 0;

    for (size_t i = 0; i < profile->row_count; i++) {
        if (__builtin_add_overflow(total, profile->rows[i].hits[source], &total)) {
            return UINT64_MAX;
        }
    }
    return total;
}

/* Put a source: its members are read by page/data.js. */
static void
put_source(struct buffer *json, const struct profile *profile, size_t index)
{
    const struct profile_source *const source = &profile->sources[index];
    const uint64_t total = source_total(profile, index);

    buffer_append_byte(json, '{');
    put_member_text(json, "name", source->name);
    put_member_text(json, "nt_name", source->nt_name);
    put_member_text(json, "unit", source->unit);
    json_put_bool_member(json, "kernel_included", source->kernel_included);
    json_put_bool_member(json, "user_left_out", source->user_left_out);
    json_put_bool_member(json, "complete", report_is_complete(profile, source));
    json_put_bool_member(json, "time", report_is_time(source));
    json_put_bool_member(json, "exact", report_is_exact(source));
    json_put_real_member(json, "interval", report_interval(source));
    json_put_bool_member(json, "statistics",
                         report_has_statistics(profile, source, total));
    put_member_number(json, "total", total);
    put_member_number(json, "asked", source->asked);
    put_member_number(json, "granted", source->granted);
    json_put_real_member(json, "measured", source->measured);
    put_member_number(json, "expected", source->expected);
    put_member_number(json, "taken", source->taken);
    put_member_number(json, "counted", source->counted);
    put_member_number(json, "outside", source->outside);
    put_member_number(json, "outside_units", profile_outside(profile, source));
    json_put_real_member(json, "units_of_hit", profile_units_of_hit(profile, index));
    put_member_number(json, "lost", source->lost);
    put_member_number(json, "throttled", source->throttled);
    put_member_number(json, "missed", source->missed);
    put_member_number(json, "unfinished", source->unfinished);
    put_member_number(json, "excluded", source->excluded);
    json_end_member(json, '}');
}

static void
put_head(struct page *page, const char *summary)
{
    const struct profile *const profile = page->profile;
    struct buffer *const json = page->json;

    buffer_append_text(json, "{\"format\":\"ntprof.page\",\"version\":1,\n");
    put_member_text(json, "command", profile->command);
    put_member_text(json, "hal", profile->hal);
    put_member_text(json, "gaps", profile->gaps);
    put_member_number(json, "time_ns", profile->time_ns);
    put_member_number(json, "duration_ns", profile->duration_ns);
    put_member_number(json, "bucket_bytes", profile->bucket_bytes);
    buffer_append_text(json, "\n\"lines\":[");
    for (const char *line = summary; *line != '\0';) {
        const size_t size = strcspn(line, "\n");

        put_escaped_bytes(json, line, size);
        buffer_append_byte(json, ',');
        line += size + (line[size] == '\n');
    }
    json_end_member(json, ']');
    buffer_append_byte(json, '\n');
    json_begin(json, "sources", '[');
    for (size_t i = 0; i < profile->source_count; i++) {
        put_source(json, profile, i);
    }
    json_end_member(json, ']');
    buffer_append_byte(json, '\n');
}

/* Put the list of images. json_end_member removes the comma behind the last one. */
static void
put_images(struct page *page)
{
    const struct profile *const profile = page->profile;

    json_begin(page->json, "images", '[');
    for (size_t i = 0; i < profile->image_count; i++) {
        const struct profile_image *const image = &profile->images[i];

        buffer_print(page->json,
                     "[%" PRIu64 ",%" PRIu64 ",\"%" PRIx64 "\",\"%" PRIx64
                     "\",\"%" PRIx64 "\"],",
                     text_number(page, image->path), text_number(page, image->build_id),
                     image->start, image->limit, image->offset);
    }
    json_end_member(page->json, ']');
    buffer_append_byte(page->json, '\n');
}

static void
put_names(struct page *page, const char *key, const char **names, size_t count)
{
    json_begin(page->json, key, '[');
    for (size_t i = 0; i < count; i++) {
        buffer_print(page->json, "%" PRIu64 ",", text_number(page, names[i]));
    }
    json_end_member(page->json, ']');
    buffer_append_byte(page->json, '\n');
}

/* Put the names of the functions that others were inlined into. Those of rows are put
 * by put_function_names. */
static void
put_frame_names(struct page *page)
{
    const struct profile *const profile = page->profile;
    bool *const used = calloc(profile->function_count + 1, sizeof(*used));

    if (used == NULL) {
        page->failed = true;
        return;
    }
    for (size_t i = 1; i < profile->frame_count; i++) {
        used[profile->frames[i].function] = true;
    }
    for (size_t i = 0; i < profile->function_count; i++) {
        html_put_varint(&page->column,
                        text_number(page, used[i] ? profile->functions[i].name : ""));
    }
    html_put_column(page->json, "name", &page->column);
    free(used);
}

static void
put_functions(struct page *page)
{
    const struct profile *const profile = page->profile;

    buffer_print(page->json, "\"functions\":{\"count\":%zu,", profile->function_count);
    put_frame_names(page);
    for (size_t i = 0; i < profile->function_count; i++) {
        html_put_varint(&page->column, text_number(page, profile->functions[i].file));
    }
    html_put_column(page->json, "file", &page->column);
    for (size_t i = 0; i < profile->function_count; i++) {
        html_put_varint(&page->column, profile->functions[i].start_line);
    }
    html_put_column(page->json, "line", &page->column);
    json_end_member(page->json, '}');
    buffer_append_byte(page->json, '\n');
}

/* Put a list of escaped texts, all with their NULs. */
static void
put_escaped_list(struct page *page, const char *key, const struct buffer *texts,
                 const size_t *starts)
{
    json_begin(page->json, key, '[');
    for (size_t i = 0; i < page->names->count; i++) {
        const char *const text = (const char *)texts->data + starts[i];

        html_put_escaped(page->json, text);
        buffer_append_byte(page->json, ',');
    }
    json_end_member(page->json, ']');
    buffer_append_byte(page->json, '\n');
}

/* Put the full names of functions, for places with room; "" where the full name is the
 * one of rows. */
static void
put_full_names(struct page *page, const struct buffer *shorts, const size_t *starts)
{
    struct buffer full = {0};

    json_begin(page->json, "full", '[');
    for (size_t i = 0; i < page->names->count; i++) {
        const struct display_name *const name = &page->names->items[i];
        const char *text;

        full.size = 0;
        display_function(name->function, name->image,
                         name->detail > DISPLAY_FULL ? name->detail : DISPLAY_FULL,
                         &full);
        text = buffer_text(&full) != NULL ? buffer_text(&full) : "";
        text = strcmp(text, (const char *)shorts->data + starts[i]) == 0 ? "" : text;
        html_put_escaped(page->json, text);
        buffer_append_byte(page->json, ',');
    }
    json_end_member(page->json, ']');
    buffer_append_byte(page->json, '\n');
    page->failed |= full.failed;
    buffer_finish(&full);
}

static void
put_name_places(struct page *page)
{
    const struct function_names *const names = page->names;

    for (size_t i = 0; i < names->count; i++) {
        html_put_varint(&page->column,
                        text_number(page, identity_file(names->items[i].function)));
    }
    html_put_column(page->json, "file", &page->column);
    for (size_t i = 0; i < names->count; i++) {
        html_put_varint(&page->column, names->items[i].function->start_line);
    }
    html_put_column(page->json, "line", &page->column);
    for (size_t i = 0; i < names->count; i++) {
        html_put_varint(&page->column,
                        function_has_name_or_bounds(names->items[i].function));
    }
    html_put_column(page->json, "known", &page->column);
}

/* Put the names of the functions of rows. */
static void
put_function_names(struct page *page)
{
    size_t *const starts = calloc(page->names->count + 1, sizeof(*starts));
    struct buffer texts = {0};

    if (starts == NULL || !function_names_short(page->names, &texts, starts)) {
        page->failed = true;
    } else {
        buffer_print(page->json, "\"names\":{\"count\":%zu,", page->names->count);
        put_escaped_list(page, "short", &texts, starts);
        put_full_names(page, &texts, starts);
        put_name_places(page);
        json_end_member(page->json, '}');
        buffer_append_byte(page->json, '\n');
    }
    buffer_finish(&texts);
    free(starts);
}

static void
put_frames(struct page *page)
{
    const struct profile *const profile = page->profile;

    buffer_print(page->json, "\"frames\":{\"count\":%zu,", profile->frame_count);
    for (size_t i = 0; i < profile->frame_count; i++) {
        html_put_varint(&page->column, profile->frames[i].function);
    }
    html_put_column(page->json, "function", &page->column);
    for (size_t i = 0; i < profile->frame_count; i++) {
        html_put_varint(&page->column, profile->frames[i].line);
    }
    html_put_column(page->json, "line", &page->column);
    for (size_t i = 0; i < profile->frame_count; i++) {
        html_put_varint(&page->column, profile->frames[i].caller);
    }
    html_put_column(page->json, "caller", &page->column);
    json_end_member(page->json, '}');
    buffer_append_byte(page->json, '\n');
}

/* Whether row i starts a new segment; base is the address at which the current one
 * starts. */
static bool
begins_segment(const struct page *page, size_t i, uint64_t base)
{
    return i == 0 || row_at(page, i)->image != row_at(page, i - 1)->image ||
           row_at(page, i)->address - base >= SEGMENT_BYTES_MAX;
}

/* Put segments as [image, base, rows], and on the way the column of steps between
 * addresses. */
static void
put_segments(struct page *page)
{
    const size_t count = page->profile->row_count;
    uint64_t base = 0;
    size_t first = 0;

    json_begin(page->json, "segments", '[');
    for (size_t i = 0; i < count; i++) {
        const struct profile_row *const row = row_at(page, i);

        if (begins_segment(page, i, base)) {
            base = row->address;
            first = i;
            buffer_print(page->json, "[%" PRIu32 ",\"%" PRIx64 "\",", row->image, base);
        }
        html_put_varint(&page->column,
                        i == first ? 0 : row->address - row_at(page, i - 1)->address);
        if (i + 1 == count || begins_segment(page, i + 1, base)) {
            buffer_print(page->json, "%zu],", i + 1 - first);
        }
    }
    json_end_member(page->json, ']');
    buffer_append_byte(page->json, '\n');
}

static void
put_rows(struct page *page)
{
    const size_t count = page->profile->row_count;

    put_segments(page); /* leaves the steps between addresses in the column */
    buffer_print(page->json, "\"rows\":{\"count\":%zu,", count);
    html_put_column(page->json, "step", &page->column);
    for (size_t i = 0; i < count; i++) {
        html_put_varint(&page->column, row_at(page, i)->function);
    }
    html_put_column(page->json, "function", &page->column);
    for (size_t i = 0; i < count; i++) {
        html_put_varint(&page->column, page->names->outer[page->order[i]]);
    }
    html_put_column(page->json, "outer", &page->column);
    for (size_t i = 0; i < count; i++) {
        html_put_varint(&page->column, page->names->inner[page->order[i]]);
    }
    html_put_column(page->json, "inner", &page->column);
    for (size_t i = 0; i < count; i++) {
        html_put_varint(&page->column, row_at(page, i)->line);
    }
    html_put_column(page->json, "line", &page->column);
    for (size_t i = 0; i < count; i++) {
        html_put_varint(&page->column, row_at(page, i)->caller);
    }
    html_put_column(page->json, "caller", &page->column);
    for (size_t i = 0; i < count; i++) {
        html_put_varint(&page->column, row_at(page, i)->process);
    }
    html_put_column(page->json, "process", &page->column);
    for (size_t i = 0; i < count; i++) {
        html_put_varint(&page->column, row_at(page, i)->thread);
    }
    html_put_column(page->json, "thread", &page->column);
    for (size_t i = 0; i < count; i++) {
        html_put_varint(&page->column, row_at(page, i)->cpu_plus_1);
    }
    html_put_column(page->json, "cpu", &page->column);
    json_end_member(page->json, '}');
    buffer_append_byte(page->json, '\n');
}

/* Put for each source, for each row with hits: how many rows without were passed, and
 * its hits. */
static void
put_hits(struct page *page)
{
    json_begin(page->json, "hits", '[');
    for (size_t source = 0; source < page->profile->source_count; source++) {
        uint64_t passed = 0;

        for (size_t i = 0; i < page->profile->row_count; i++) {
            const uint64_t hits = row_at(page, i)->hits[source];

            if (hits == 0) {
                passed++;
                continue;
            }
            html_put_varint(&page->column, passed);
            html_put_varint(&page->column, hits);
            passed = 0;
        }
        html_put_base64(page->json, &page->column);
        buffer_append_byte(page->json, ',');
        page->column.size = 0;
    }
    json_end_member(page->json, ']');
    buffer_append_byte(page->json, '\n');
}

static void
put_texts(struct page *page)
{
    json_begin(page->json, "texts", '[');
    for (size_t i = 0; i < page->texts.count; i++) {
        html_put_text(page->json, page->texts.texts[i]);
        buffer_append_byte(page->json, ',');
    }
    json_end(page->json, ']');
}

bool
html_put_profile(struct buffer *json, const struct profile *profile,
                 const struct function_names *names, const char *summary)
{
    struct page page = {.json = json, .profile = profile, .names = names};

    page.failed = !order_rows(&page);
    if (!page.failed) {
        put_head(&page, summary);
        put_images(&page);
        put_names(&page, "processes", profile->processes, profile->process_count);
        put_names(&page, "threads", profile->threads, profile->thread_count);
        put_functions(&page);
        put_function_names(&page);
        put_frames(&page);
        put_rows(&page);
        put_hits(&page);
        put_texts(&page); /* last: all of them are known then */
        buffer_append_text(json, "}\n");
    }
    free(page.order);
    buffer_finish(&page.column);
    string_set_finish(&page.texts);
    return !page.failed && !json->failed;
}
