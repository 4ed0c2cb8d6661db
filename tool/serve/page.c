/* SPDX-License-Identifier: MIT */
/* page.c - one page: reads what is selected of the store, and writes it as HTML. */
#include "serve/page_data.h"
#include "serve/serve.h"

#include "base/clock.h"
#include "profile/join.h"
#include "view/export/html_page.h"
#include "view/report/difference.h"

#include <stdio.h>
#include <stdlib.h>

/* How much time, up to the end of the store, a page shows whose address names no
 * time. */
static const int64_t default_ns = 3600 * STORE_SECOND_NS;

/* page - a page that is being made. */
struct page {
    const struct serve_settings *settings;
    const struct serve_query *query;
    struct store_url url;
    struct store *store;
    struct store_selection selection;
    struct store_selection old;
    struct store_overview overview;
    int64_t first_ns;        /* start of the store's first window */
    int64_t last_ns;         /* end of its last one */
    bool empty;              /* the store has no windows */
    bool timed;              /* both selections have times */
    struct profile *profile; /* without rows if error is set */
    struct profile *old_profile;
    struct buffer data;
    struct pprof_error error; /* why nothing is shown; "" if something is */
};

/* Set the ends of a selection's time that the user left open, as the timeline needs
 * both: until is the end of the store, or now if since is behind that, and since an
 * hour before, or the start of the store if until was given. Ends of the store are
 * rounded outwards to seconds, as the page has them. The time is never empty, even if
 * it lies outside of the store's. */
static void
complete_time(const struct page *page, int64_t now_ns,
              struct store_selection *selection)
{
    const bool since = selection->since_ns != 0;
    const bool until = selection->until_ns != 0;
    const int64_t end_ns =
        (page->last_ns + STORE_SECOND_NS - 1) / STORE_SECOND_NS * STORE_SECOND_NS;

    if (!until) {
        selection->until_ns = end_ns > selection->since_ns   ? end_ns
                              : now_ns > selection->since_ns ? now_ns
                                                             : INT64_MAX;
    }
    if (!since && !until && selection->until_ns - default_ns > page->first_ns) {
        selection->since_ns = selection->until_ns - default_ns;
    } else if (!since) {
        selection->since_ns = page->first_ns / STORE_SECOND_NS * STORE_SECOND_NS;
    }
    if (!since && selection->since_ns >= selection->until_ns) {
        selection->since_ns = selection->until_ns - default_ns;
    }
    selection->since_ns = overview_limit_time(selection->since_ns);
    selection->until_ns = overview_limit_time(selection->until_ns);
    if (selection->since_ns == OVERVIEW_TIME_MAX_NS) {
        selection->since_ns -= STORE_SECOND_NS;
    }
}

/* Put in front of the error that it is about the old side. Returns false. */
static bool
fail_old(struct pprof_error *error)
{
    const struct pprof_error cause = *error;

    snprintf(error->text, sizeof(error->text), "what to compare with: %.400s",
             cause.text);
    return false;
}

/* Set the selections of both sides: what the store's URL selects, replaced by what the
 * arguments select. An old side without a time has the time of the other. Returns false
 * with the error set. */
static bool
select_both(struct page *page, int64_t now_ns)
{
    struct store_selection *const both[] = {&page->selection, &page->old};
    struct pprof_error *const error = &page->error;

    for (size_t i = 0; i < 2; i++) {
        *both[i] = page->url.selection;
        both[i]->rows_max = SERVE_ROWS_MAX;
    }
    if (!serve_read_selection(page->query, "", now_ns, &page->selection, error) ||
        !store_check_times(&page->selection, error)) {
        return false;
    }
    complete_time(page, now_ns, &page->selection);
    if (!serve_read_selection(page->query, "old.", now_ns, &page->old, error) ||
        !store_check_times(&page->old, error)) {
        return fail_old(error);
    }
    if (page->old.since_ns == 0 && page->old.until_ns == 0) {
        page->old.since_ns = page->selection.since_ns;
        page->old.until_ns = page->selection.until_ns;
    }
    complete_time(page, now_ns, &page->old);
    return true;
}

/* Put the data of the comparison with the old side. */
static void
compare(struct page *page)
{
    const struct diff_options options = {.rows = SERVE_CHANGES_MAX, .normalize = true};
    struct diff *const diff = diff_new(page->old_profile, page->profile, &options);

    if (diff == NULL || !page_data_put_diff(&page->data, diff)) {
        page->data.failed = true;
    }
    diff_delete(diff);
}

/* Read a selection into a profile, in which intervals of one source and sizes of
 * buckets are joined. Returns NULL with the error set. */
static struct profile *
read_selection(struct page *page, const struct store_selection *selection)
{
    struct profile *const profile = store_read(page->store, selection, &page->error);

    if (profile == NULL && page->error.no_window) {
        /* The engine's error gives advice for the terminal; the page shows itself what
         * there is. */
        snprintf(page->error.text, sizeof(page->error.text), "no window is selected");
    }
    if (profile != NULL && !profile_join_intervals(profile, &page->error)) {
        profile_delete(profile);
        return NULL;
    }
    if (profile != NULL) {
        profile_join_buckets(profile);
    }
    return profile;
}

/* Read the names that the fields offer, for a page whose selection is wrong: the user
 * corrects it there. There is no timeline. */
static void
read_names(struct page *page, int64_t now_ns)
{
    struct pprof_error ignored; /* page->error has a reason already */

    page->selection = page->url.selection;
    complete_time(page, now_ns, &page->selection);
    (void)store_get_overview(page->store, &page->selection, &page->overview, &ignored);
    page->overview.slot_count = 0;
}

/* Read the profiles of both sides. Returns false with the error set. */
static bool
read_both(struct page *page)
{
    page->profile = read_selection(page, &page->selection);
    if (page->profile == NULL || !serve_compares(page->query)) {
        return page->profile != NULL;
    }
    page->old_profile = read_selection(page, &page->old);
    return page->old_profile != NULL || fail_old(&page->error);
}

/* Read all that the page shows. After a failure the profile has no rows, and the page
 * shows the error. */
static void
read_all(struct page *page, int64_t now_ns)
{
    struct pprof_error *const error = &page->error;
    bool read = false;

    if (store_get_extent(page->store, &page->first_ns, &page->last_ns, error)) {
        page->empty = page->last_ns == 0;
        if (page->empty) {
            snprintf(error->text, sizeof(error->text),
                     "the store has no windows yet; to add some, type one of these "
                     "commands");
        } else if (select_both(page, now_ns)) {
            page->timed = true;
            read = store_get_overview(page->store, &page->selection, &page->overview,
                                      error) &&
                   read_both(page);
        } else {
            read_names(page, now_ns);
        }
    }
    if (!read) {
        profile_delete(page->profile);
        page->profile = profile_new();
    }
}

static void
put_data(struct page *page)
{
    page_data_put(
        &page->data,
        &(struct page_data){.query = page->query,
                            .selection = &page->selection,
                            .old = serve_compares(page->query) ? &page->old : NULL,
                            .overview = &page->overview,
                            .first_ns = page->first_ns,
                            .last_ns = page->last_ns,
                            .empty = page->empty,
                            .timed = page->timed,
                            .elsewhere = page->error.no_window,
                            .refused = page->error.text,
                            .text = page->settings->url,
                            .url = &page->url});
    if (page->old_profile != NULL) {
        compare(page);
    }
}

/* Write the page to memory, as the answer. Returns false if memory runs out. */
static bool
write_page(struct page *page, struct http_answer *answer)
{
    const char *const data = buffer_text(&page->data);
    struct export_messages messages = {.error = ""};
    char *text = NULL;
    size_t size = 0;
    FILE *const out =
        data != NULL && page->profile != NULL ? open_memstream(&text, &size) : NULL;
    bool done;

    if (out == NULL) {
        return false;
    }
    done = html_write_page(out, &html_page_of_store, data, page->profile,
                           &page->settings->html, &messages);
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
        page.store =
            store_open_stoppable(settings->url, /* write */ false, stop, &page.error);
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
