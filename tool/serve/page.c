/* SPDX-License-Identifier: MIT */
/* page.c - one page: reads what is selected of the store, and writes it as HTML. */
#include "serve/page_data.h"
#include "serve/serve.h"

#include "base/clock.h"
#include "profile/difference.h"
#include "view/export/html_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much of the store's end a page shows whose address names no time. */
static const int64_t default_ns = 3600 * STORE_SECOND_NS;

/* page - one that is being made. */
struct page {
    const struct serve_settings *settings;
    const struct serve_query *query;
    struct store_url url;
    struct store *store;
    struct store_selection selection;
    struct store_selection old;
    struct store_overview overview;
    int64_t first_ns; /* of the store */
    int64_t last_ns;
    struct profile *profile; /* empty if error is set */
    struct profile *old_profile;
    struct buffer data;
    struct pprof_error error; /* why nothing is shown; "" */
};

/* Complete the time of a selection, which the line over time needs. */
static void
complete_time(const struct page *page, struct store_selection *selection)
{
    const bool given = selection->since_ns != 0 || selection->until_ns != 0;

    if (selection->until_ns == 0) {
        selection->until_ns =
            (page->last_ns + STORE_SECOND_NS - 1) / STORE_SECOND_NS * STORE_SECOND_NS;
    }
    if (!given && selection->until_ns - default_ns > page->first_ns) {
        selection->since_ns = selection->until_ns - default_ns;
    } else if (selection->since_ns == 0) {
        selection->since_ns = page->first_ns / STORE_SECOND_NS * STORE_SECOND_NS;
    }
    selection->since_ns = overview_limit_time(selection->since_ns);
    selection->until_ns = overview_limit_time(selection->until_ns);
}

/* Read both selections, each on top of what the URL selects. An old one without a time
 * has the other's. */
static bool
select_both(struct page *page, int64_t now_ns)
{
    bool right;

    page->selection = page->url.selection;
    page->selection.rows_max = SERVE_ROWS_MAX;
    page->old = page->selection;
    right =
        serve_read_selection(page->query, "", now_ns, &page->selection, &page->error) &&
        serve_read_selection(page->query, "old.", now_ns, &page->old, &page->error);
    complete_time(page, &page->selection);
    if (page->old.since_ns == 0 && page->old.until_ns == 0) {
        page->old.since_ns = page->selection.since_ns;
        page->old.until_ns = page->selection.until_ns;
    }
    return right;
}

/* Put what changed against the old side. */
static void
compare(struct page *page)
{
    const struct diff_options options = {
        .report = {.format = REPORT_JSON, .rows = SERVE_CHANGES_MAX},
        .normalize = true};
    struct diff *const diff = diff_new(page->old_profile, page->profile, &options);

    if (diff == NULL || !page_data_put_diff(&page->data, diff)) {
        page->data.failed = true;
    }
    diff_delete(diff);
}

/* Read all that the page shows. */
static void
read_all(struct page *page, int64_t now_ns)
{
    const bool selected =
        store_get_extent(page->store, &page->first_ns, &page->last_ns, &page->error) &&
        select_both(page, now_ns);

    /* A page whose selection is wrong has its fields all the same. */
    if (selected && page->last_ns == 0) {
        snprintf(page->error.text, sizeof(page->error.text),
                 "the store has no windows yet");
    } else if (selected && store_get_overview(page->store, &page->selection,
                                              &page->overview, &page->error)) {
        page->profile = store_read(page->store, &page->selection, &page->error);
        if (page->profile != NULL && serve_compares(page->query)) {
            page->old_profile = store_read(page->store, &page->old, &page->error);
        }
    }
    if (page->profile == NULL) {
        page->profile = profile_new();
    }
}

static void
put_data(struct page *page)
{
    page_data_put(&page->data, &(struct page_data){.query = page->query,
                                                   .selection = &page->selection,
                                                   .overview = &page->overview,
                                                   .first_ns = page->first_ns,
                                                   .last_ns = page->last_ns,
                                                   .refused = page->error.text});
    if (page->old_profile != NULL) {
        compare(page);
    }
}

/* Write the page to memory. Returns false if that runs out. */
static bool
write_page(struct page *page, struct http_answer *answer)
{
    const char *const data = buffer_text(&page->data);
    struct export_said said = {.error = ""};
    char *text = NULL;
    size_t size = 0;
    FILE *const out =
        data != NULL && page->profile != NULL ? open_memstream(&text, &size) : NULL;
    bool done;

    if (out == NULL) {
        return false;
    }
    done = html_write_page(out, &html_page_of_store, data, page->profile,
                           &page->settings->html, &said);
    done = fclose(out) == 0 && done;
    if (!done) {
        free(text);
        return false;
    }
    *answer = (struct http_answer){.status = HTTP_OK,
                                   .type = "text/html; charset=utf-8",
                                   .policy = html_page_of_store.policy,
                                   .bytes = text,
                                   .size = size};
    return true;
}

void
serve_make_page(const struct serve_settings *settings, const struct serve_query *query,
                const struct store_stop *stop, struct http_answer *answer)
{
    const int64_t now_ns = (int64_t)clock_ns(CLOCK_REALTIME);
    struct page page = {.settings = settings, .query = query};
    char line[sizeof(page.error.text) + 1];

    if (store_url_parse(settings->url, now_ns, &page.url, &page.error)) {
        page.store = store_open_stoppable(settings->url, false, stop, &page.error);
    }
    if (page.store == NULL) {
        snprintf(line, sizeof(line), "%s\n", page.error.text);
        http_text(answer, HTTP_UNAVAILABLE, line);
    } else {
        read_all(&page, now_ns);
        put_data(&page);
        if (!write_page(&page, answer)) {
            http_text(answer, HTTP_FAILED, "out of memory for the page\n");
        }
    }
    store_overview_finish(&page.overview);
    store_close(page.store);
    store_url_finish(&page.url);
    profile_delete(page.profile);
    profile_delete(page.old_profile);
    buffer_finish(&page.data);
}
