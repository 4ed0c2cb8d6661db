/* SPDX-License-Identifier: MIT */
/*
 * html.c - one page that holds a whole profile and shows it without a network: what is
 * in page/, with the data between its two halves. The data lies in script elements of a
 * type that browsers do not run; the page's policy allows its own script alone.
 */
#include "view/export/html_code.h"
#include "view/export/html_data.h"
#include "view/export/html_flame.h"
#include "view/export/html_page.h"

#include "view/export/export.h"
#include "view/report/summary.h"

#include <stdlib.h>
#include <string.h>

#define DATA_BEGIN "<script type=\"application/json\" id=\"profile\">\n"
#define DATA_END "</script>\n"
#define FLAMES_BEGIN "<script type=\"application/json\" id=\"flame-data\">\n"

/* The lines under a report, in memory of their own. NULL: out of memory. */
static char *
summary_text(const struct profile *profile)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    bool done;

    if (out == NULL) {
        return NULL;
    }
    done = report_print_statistics(out, profile, /* advise */ NULL, /* verbose */ true);
    if (fclose(out) != 0 || !done) {
        free(text);
        return NULL;
    }
    return text;
}

static bool
write_data(FILE *out, const struct profile *profile, const struct function_names *names)
{
    struct buffer json = {0};
    char *const summary = summary_text(profile);
    const bool done =
        summary != NULL && html_put_profile(&json, profile, names, summary);

    if (done) {
        fputs(DATA_BEGIN, out);
        fwrite(json.data, 1, json.size, out);
        fputs(DATA_END, out);
    }
    free(summary);
    buffer_finish(&json);
    return done;
}

static bool
write_flames(FILE *out, const struct flames *flames)
{
    struct buffer json = {0};
    const bool done = html_put_flames(&json, flames);

    if (done) {
        fputs(FLAMES_BEGIN, out);
        fwrite(json.data, 1, json.size, out);
        fputs(DATA_END, out);
    }
    buffer_finish(&json);
    return done;
}

/* Report which functions have no code in the page: in the page and, by a note, on the
 * terminal. */
static void
write_left_out(FILE *out, const struct export_options *options,
               const struct html_code *code, struct export_messages *messages)
{
    char text[sizeof(messages->note)] = "";

    fputs("<script type=\"application/json\" id=\"left-out\">[", out);
    if (code->listed < code->functions) {
        snprintf(text, sizeof(text), "the page has the code of %zu of %zu functions%s",
                 code->listed, code->functions,
                 code->full
                     ? ", as much as a page may hold; the others show buckets"
                     : ", those with the largest shares; --listings puts in more");
        fprintf(out, "\"%s\"", text);
    }
    if (options->listings > 0) { /* else it was asked for */
        memcpy(messages->note, text, sizeof(text));
    }
    fputs("]</script>\n", out);
}

bool
html_write_page(FILE *out, const struct html_page *page, const char *more,
                const struct profile *profile, const struct export_options *options,
                struct export_messages *messages)
{
    struct function_names names;
    struct html_code code;
    bool done;

    fwrite(page->before, 1, page->before_size, out);
    fputs(more, out);
    done = function_names_find(profile, DISPLAY_SHORT, &names) &&
           write_data(out, profile, &names) &&
           (options->flames == NULL || write_flames(out, options->flames)) &&
           html_write_code(out, profile, &names, options, &code);
    function_names_finish(&names);
    if (!done) {
        snprintf(messages->error, sizeof(messages->error), "out of memory");
        return false;
    }
    write_left_out(out, options, &code, messages);
    fwrite(page->after, 1, page->after_size, out);
    return true;
}

bool
export_html(FILE *out, const struct profile *profile,
            const struct export_options *options, struct export_messages *messages)
{
    return html_write_page(out, &html_page_of_file, "", profile, options, messages);
}

void
html_put_escaped_json(struct buffer *out, const char *json, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (json[i] == '<' || json[i] == '>' || json[i] == '&') {
            buffer_print(out, "\\u%04x", (unsigned)json[i]);
        } else {
            buffer_append_byte(out, (uint8_t)json[i]);
        }
    }
}
