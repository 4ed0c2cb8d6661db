/* SPDX-License-Identifier: MIT */
/* page_data.c - see page_data.h; tool/view/export/page/serve/selection.js reads it. */
#include "serve/page_data.h"

#include "base/json.h"
#include "profile/difference.h"
#include "view/export/html_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DATA_BEGIN "<script type=\"application/json\" id=\"%s\">\n"
#define DATA_END "</script>\n"

/* Append a time as store_parse_time reads it. */
static void
put_time(struct buffer *json, int64_t time_ns)
{
    const time_t seconds = (time_t)(time_ns / STORE_SECOND_NS);
    struct tm date = {0};
    char text[64] = "";

    if (localtime_r(&seconds, &date) != NULL) {
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &date);
    }
    json_put_text(json, text);
    buffer_append_byte(json, ',');
}

static void
put_time_range(struct buffer *json, const char *key, int64_t since_ns, int64_t until_ns)
{
    json_put_key(json, key);
    buffer_append_byte(json, '[');
    put_time(json, overview_limit_time(since_ns));
    put_time(json, overview_limit_time(until_ns));
    json_end(json, ']');
    buffer_append_byte(json, ',');
}

static void
put_names(struct buffer *json, const char *key, const struct string_set *names)
{
    json_put_key(json, key);
    buffer_append_byte(json, '[');
    for (size_t i = 0; i < names->count; i++) {
        json_put_text(json, names->texts[i]);
        buffer_append_byte(json, ',');
    }
    json_end(json, ']');
    buffer_append_byte(json, ',');
}

/* What the fields show: the arguments, and the time that was taken without any. */
static void
put_given(struct buffer *json, const struct page_data *data)
{
    bool timed = false;

    json_put_key(json, "given");
    buffer_append_byte(json, '[');
    for (size_t i = 0; i < data->query->count; i++) {
        const char *const name = data->query->names[i];

        timed |= strcmp(name, "since") == 0 || strcmp(name, "until") == 0;
        buffer_append_byte(json, '[');
        json_put_text(json, name);
        buffer_append_byte(json, ',');
        json_put_text(json, data->query->values[i]);
        buffer_append_text(json, "],");
    }
    if (!timed) {
        buffer_append_text(json, "[\"since\",");
        put_time(json, data->selection->since_ns);
        json_end(json, ']');
        buffer_append_text(json, ",[\"until\",");
        put_time(json, data->selection->until_ns);
        json_end(json, ']');
        buffer_append_byte(json, ',');
    }
    json_end(json, ']');
    buffer_append_byte(json, ',');
}

static void
put_line(struct buffer *json, const struct store_overview *overview)
{
    json_put_key(json, "hits");
    buffer_append_byte(json, '[');
    for (size_t i = 0; i < overview->slot_count; i++) {
        buffer_print(json, "%" PRIu64 ",", overview->hits[i]);
    }
    json_end(json, ']');
    buffer_append_byte(json, ',');
    json_put_key(json, "times");
    buffer_append_byte(json, '[');
    for (size_t i = 0; i <= overview->slot_count && overview->slot_count > 0; i++) {
        put_time(json, overview->start_ns + (int64_t)i * overview->slot_ns);
    }
    json_end(json, ']');
    buffer_append_byte(json, ',');
    json_put_text_member(json, "line_source", overview->source);
}

void
page_data_put(struct buffer *html, const struct page_data *data)
{
    const struct store_selection *const selection = data->selection;
    const int64_t span_ns = selection->until_ns > selection->since_ns
                                ? selection->until_ns - selection->since_ns
                                : 0;
    struct buffer json = {0};

    buffer_append_byte(&json, '{');
    put_given(&json, data);
    put_names(&json, "hosts", &data->overview->hosts);
    put_names(&json, "units", &data->overview->units);
    put_names(&json, "builds", &data->overview->builds);
    put_names(&json, "labels", &data->overview->labels);
    put_names(&json, "sources", &data->overview->sources);
    put_line(&json, data->overview);
    put_time_range(&json, "wider", selection->since_ns - span_ns,
                   span_ns > OVERVIEW_TIME_MAX_NS - selection->until_ns
                       ? OVERVIEW_TIME_MAX_NS
                       : selection->until_ns + span_ns);
    put_time_range(&json, "whole", data->first_ns, data->last_ns + STORE_SECOND_NS - 1);
    json_put_text_member(&json, "refused", data->refused);
    json_end(&json, '}');
    buffer_print(html, DATA_BEGIN, "selection-data");
    html_put_escaped_json(html, (const char *)json.data, json.size);
    buffer_append_text(html, DATA_END);
    html->failed |= json.failed;
    buffer_finish(&json);
}

bool
page_data_put_diff(struct buffer *html, const struct diff *diff)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    bool done;

    if (out == NULL) {
        return false;
    }
    done = diff_print(out, diff);
    done = fclose(out) == 0 && done;
    if (done) {
        buffer_print(html, DATA_BEGIN, "diff");
        html_put_escaped_json(html, text, size);
        buffer_append_text(html, DATA_END);
    }
    free(text);
    return done;
}
