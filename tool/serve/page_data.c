/* SPDX-License-Identifier: MIT */
/* page_data.c - writes the selection as JSON, which
 * tool/view/export/page/serve/selection.js reads. */
#include "serve/page_data.h"

#include "base/json.h"
#include "base/text.h"
#include "view/export/html_page.h"
#include "view/report/difference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DATA_BEGIN "<script type=\"application/json\" id=\"%s\">\n"
#define DATA_END "</script>\n"

/* Append a time in a form that store_parse_time reads, without parts of a second, of
 * UTC: the browser may be in another zone than the server. */
static void
put_time(struct buffer *json, int64_t time_ns)
{
    const time_t seconds = (time_t)(time_ns / STORE_SECOND_NS);
    struct tm date = {0};
    char text[64] = "";

    if (gmtime_r(&seconds, &date) != NULL) {
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &date);
    }
    json_put_text_element(json, text);
}

/* Append a member with two times, or with none if there is false. */
static void
put_time_range(struct buffer *json, const char *key, bool there, int64_t since_ns,
               int64_t until_ns)
{
    json_begin(json, key, '[');
    if (there) {
        put_time(json, overview_limit_time(since_ns));
        put_time(json, overview_limit_time(until_ns));
    }
    json_end_member(json, ']');
}

static void
put_names(struct buffer *json, const char *key, const struct string_set *names)
{
    json_begin(json, key, '[');
    for (size_t i = 0; i < names->count; i++) {
        json_put_text_element(json, names->texts[i]);
    }
    json_end_member(json, ']');
}

/* Return whether an argument is a date, with its time. A date ends with a digit or with
 * Z; an age such as 5m ends with its unit and stays as it was written. */
static bool
is_date(const char *name, const char *value, int64_t *time_ns)
{
    const char *const point = strrchr(name, '.');
    const char *const member = point != NULL ? point + 1 : name;
    const size_t length = strlen(value);

    return (strcmp(member, "since") == 0 || strcmp(member, "until") == 0) &&
           length > 0 && strchr("smhd", value[length - 1]) == NULL &&
           store_parse_time(value, 0, time_ns);
}

static void
put_argument(struct buffer *json, const char *name, const char *value)
{
    int64_t time_ns;

    buffer_append_byte(json, '[');
    json_put_text_element(json, name);
    if (is_date(name, value, &time_ns)) {
        put_time(json, time_ns);
    } else {
        json_put_text_element(json, value);
    }
    json_end_member(json, ']');
}

/* Put what the fields show: the arguments, and the times that the server chose if no
 * argument names one. */
static void
put_given(struct buffer *json, const struct page_data *data)
{
    bool timed = false;

    json_begin(json, "given", '[');
    for (size_t i = 0; i < data->query->count; i++) {
        const char *const name = data->query->names[i];

        timed |= strcmp(name, "since") == 0 || strcmp(name, "until") == 0;
        put_argument(json, name, data->query->values[i]);
    }
    if (!timed && data->last_ns != 0) {
        buffer_append_text(json, "[\"since\",");
        put_time(json, data->selection->since_ns);
        json_end_member(json, ']');
        buffer_append_text(json, "[\"until\",");
        put_time(json, data->selection->until_ns);
        json_end_member(json, ']');
    }
    json_end_member(json, ']');
}

/* Put the names that the fields offer. */
static void
put_offers(struct buffer *json, const struct store_overview *overview)
{
    put_names(json, "hosts", &overview->hosts);
    put_names(json, "units", &overview->units);
    put_names(json, "builds", &overview->builds);
    put_names(json, "labels", &overview->labels);
    put_names(json, "sources", &overview->sources);
    put_names(json, "images", &overview->images);
    put_names(json, "intervals", &overview->intervals);
}

/* Put pairs of times: "time" and "old_time" of what is shown, "wider" of three times
 * its length, "whole" of the store. */
static void
put_times(struct buffer *json, const struct page_data *data)
{
    const struct store_selection *const selection = data->selection;
    const int64_t span_ns = selection->until_ns > selection->since_ns
                                ? selection->until_ns - selection->since_ns
                                : 0;

    put_time_range(json, "time", data->timed, selection->since_ns, selection->until_ns);
    put_time_range(json, "old_time", data->timed && data->old != NULL,
                   data->old != NULL ? data->old->since_ns : 0,
                   data->old != NULL ? data->old->until_ns : 0);
    put_time_range(json, "wider", data->last_ns != 0, selection->since_ns - span_ns,
                   span_ns > OVERVIEW_TIME_MAX_NS - selection->until_ns
                       ? OVERVIEW_TIME_MAX_NS
                       : selection->until_ns + span_ns);
    /* Rounded up, so that put_time does not leave the last window out. */
    put_time_range(json, "whole", data->last_ns != 0, data->first_ns,
                   data->last_ns + STORE_SECOND_NS - 1);
}

/* Put the timeline: the hits of each slot, and the times at which slots begin and the
 * last one ends. */
static void
put_line(struct buffer *json, const struct store_overview *overview)
{
    json_begin(json, "hits", '[');
    for (size_t i = 0; i < overview->slot_count; i++) {
        buffer_print(json, "%" PRIu64 ",", overview->hits[i]);
    }
    json_end_member(json, ']');
    json_begin(json, "times", '[');
    for (size_t i = 0; i <= overview->slot_count && overview->slot_count > 0; i++) {
        put_time(json, overview->start_ns + (int64_t)i * overview->slot_ns);
    }
    json_end_member(json, ']');
    json_put_text_member(json, "line_source", overview->source);
}

/* Put the commands that fill a store, if it is empty. */
static void
put_commands(struct buffer *json, const struct page_data *data)
{
    json_begin(json, "commands", '[');
    if (data->empty) {
        page_data_put_commands(json, data->text, data->url);
    }
    json_end_member(json, ']');
}

/* Append why nothing is shown as markup, for browsers that run no scripts. */
static void
put_plain_reason(struct buffer *html, const char *reason)
{
    struct buffer text = {0};

    text_escape(&text, reason);
    buffer_append_text(html, "<noscript><p class=\"noscript\">");
    for (size_t i = 0; i < text.size; i++) {
        if (strchr("<>&", text.data[i]) != NULL) {
            buffer_print(html, "&#%u;", (unsigned)text.data[i]);
        } else {
            buffer_append_byte(html, text.data[i]);
        }
    }
    buffer_append_text(html, "</p></noscript>\n");
    html->failed |= text.failed;
    buffer_finish(&text);
}

void
page_data_put(struct buffer *html, const struct page_data *data)
{
    struct buffer json = {0};

    buffer_append_byte(&json, '{');
    put_given(&json, data);
    put_offers(&json, data->overview);
    put_line(&json, data->overview);
    put_times(&json, data);
    put_commands(&json, data);
    json_put_bool_member(&json, "elsewhere", data->elsewhere);
    json_put_text_member(&json, "refused", data->refused);
    json_end(&json, '}');
    buffer_print(html, DATA_BEGIN, "selection-data");
    html_put_escaped_json(html, (const char *)json.data, json.size);
    buffer_append_text(html, DATA_END);
    html->failed |= json.failed;
    buffer_finish(&json);
    if (data->refused[0] != '\0') {
        put_plain_reason(html, data->refused);
    }
}

bool
page_data_put_diff(struct buffer *html, const struct diff *diff)
{
    static const struct report_options options = {.format = REPORT_JSON};
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    bool done;

    if (out == NULL) {
        return false;
    }
    done = diff_print(out, diff, &options);
    done = fclose(out) == 0 && done;
    if (done) {
        buffer_print(html, DATA_BEGIN, "diff");
        html_put_escaped_json(html, text, size);
        buffer_append_text(html, DATA_END);
    }
    free(text);
    return done;
}
