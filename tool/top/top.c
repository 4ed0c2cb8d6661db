/* SPDX-License-Identifier: MIT */
/*
 * top.c - shows a recording, whose counters are read at each look, or a store.
 *
 * What can fail is tried before the terminal is switched to the screen, so that errors
 * are lines on standard error; and the terminal is restored before the closing
 * statistics are printed.
 */
#include "top/top.h"
#include "base/message.h"
#include "top/loop.h"
#include "view/report/report.h"

#include <stdio.h>
#include <stdlib.h>

static bool
watch(struct top *top)
{
    const char *why;

    if (top->options->pid_count > 0) {
        return targets_watch(&top->targets, &top->recording);
    }
    if (!NT_SUCCESS(recording_watch_all(&top->recording, &why))) {
        cmd_fail(
            "top",
            "cannot profile all processes: %s; for one of your own: ntprof top -p PID",
            why);
        return false;
    }
    return true;
}

static void
name_hal(struct top *top)
{
    ntprof_session_info info = {.size = sizeof(info)};

    ntprof_session_get_info(top->recording.session, &info);
    snprintf(top->hal, sizeof(top->hal), "%s%s%s", info.backend,
             info.limits[0] != '\0' ? ": " : "", info.limits);
}

static bool
record(struct top *top, struct top_loop *loop, char **words, recording_print *print)
{
    const struct record_options *const options = top->options;
    char children[1000];
    bool shown;

    if (!recording_open(&top->recording, options, options->pid_count == 0) ||
        !targets_open(&top->targets, options) || !watch(top) ||
        !recording_begin(&top->recording, words)) {
        return false;
    }
    name_hal(top);
    shown = top_loop_run(top, loop);
    recording_end(&top->recording);
    targets_describe_children(&top->targets, children, sizeof(children));
    top->recording.children_run = children;
    return shown && recording_conclude(&top->recording, print);
}

static bool
show_store(struct top *top, struct top_loop *loop)
{
    top->screen.whole = true;
    return top_loop_run(top, loop) &&
           (top->stored == NULL ||
            report_print_statistics(stderr, top->stored, /* advise */ NULL,
                                    /* verbose */ false));
}

/* Make what both show; record and store borrow it. Returns NULL after an error line. */
static struct top *
new_top(const struct record_options *options, struct top_store *store)
{
    struct top *const top = calloc(1, sizeof(*top));

    if (top == NULL) {
        cmd_fail("top", "out of memory");
        return NULL;
    }
    top->options = options;
    top->store = store;
    top->recording.options = options;
    tui_screen_init(&top->screen, options->sources, options->source_count);
    top->screen.stacks = options->stacks;
    return top;
}

static void
delete_top(struct top *top)
{
    top_list_finish(top);
    profile_delete(top->stored);
    tui_screen_finish(&top->screen);
    if (top->store == NULL) {
        recording_close(&top->recording);
    }
    targets_close(&top->targets);
    free(top);
}

bool
top_show_recording(const struct record_options *options, char **words,
                   recording_print *print)
{
    struct top *const top = new_top(options, /* store */ NULL);
    struct top_loop loop;
    bool done;

    if (top == NULL) {
        return false;
    }
    done = top_loop_prepare(&loop) && record(top, &loop, words, print);
    delete_top(top);
    top_loop_finish(&loop);
    return done;
}

bool
top_show_store(struct top_store *store)
{
    struct top *const top = new_top(&store->options, store);
    struct top_loop loop;
    bool done;

    if (top == NULL) {
        return false;
    }
    done = top_loop_prepare(&loop) && show_store(top, &loop);
    delete_top(top);
    top_loop_finish(&loop);
    return done;
}
