/* SPDX-License-Identifier: MIT */
/* sender.c - see sender.h. */
#include "daemon/sender.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "daemon/metrics.h"
#include "store/recorded.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pauses between attempts. */
static const uint64_t pause_min_ns = 1000000000;
static const uint64_t pause_max_ns = UINT64_C(60000000000);

/* What of the spool is still added when the agent ends: a reload waits for it, during
 * which nothing is recorded. The rest waits for the next agent. */
static const uint64_t closing_ns = UINT64_C(5000000000);

/* How long a server's store stays open. Each name goes to it once in this time, so one
 * that was dropped and made again gets them then. */
static const uint64_t open_ns = UINT64_C(3600000000000);

/* outcome - of one window. LEFT is tried again, but later ones need not wait for it, as
 * they must for FAILED. */
enum outcome { SENT, UNREADABLE, REFUSED, LEFT, FAILED };

/* Decode a window and add it. The bytes are our own: the folder is ours alone. */
static enum outcome
add_window(const struct sender *sender, const void *bytes, size_t size,
           struct pprof_error *error)
{
    struct profile *profile;
    const struct store_window otherwise = {.host = sender->host, .epoch = "unknown"};
    bool added;

    if (bytes == NULL) {
        const int why = errno;

        snprintf(error->text, sizeof(error->text), "a file of the spool: %s",
                 strerror(why));
        return why == ENOMEM || why == EMFILE || why == ENFILE ? LEFT : REFUSED;
    }
    profile = pprof_decode(bytes, size, error);
    if (profile == NULL) {
        return strcmp(error->text, PPROF_OUT_OF_MEMORY) == 0 ? LEFT : UNREADABLE;
    }
    added = store_add_recorded(sender->store, profile, &otherwise, error);
    profile_delete(profile);
    return added ? SENT : error->lasting ? REFUSED : FAILED;
}

static void
count_outcome(struct sender *sender, enum outcome outcome)
{
    pthread_mutex_lock(&sender->lock);
    sender->sent += outcome == SENT;
    sender->unreadable += outcome == UNREADABLE;
    sender->refused += outcome == REFUSED;
    sender->failures += outcome == FAILED || outcome == LEFT;
    pthread_mutex_unlock(&sender->lock);
}

/* Whether the agent ends and has waited long enough. */
static bool
is_late(void *context)
{
    struct sender *const sender = context;
    bool late;

    pthread_mutex_lock(&sender->lock);
    late = sender->closing && clock_now_ns() >= sender->deadline_ns;
    pthread_mutex_unlock(&sender->lock);
    return late;
}

/* Print what was done with a window that cannot be added. */
static void
report_outcome(enum outcome outcome, const char *name, const struct pprof_error *error)
{
    char shown[100];

    text_show(shown, sizeof(shown), name);
    if (outcome == UNREADABLE) {
        cmd_fail("agent", "%s of the spool is no profile and is removed", shown);
    } else if (outcome == REFUSED) {
        cmd_fail("agent", "--store: %s; the window stays in the spool as refused-%s",
                 error->text, shown);
    }
}

static enum spool_fate
fate_of(enum outcome outcome)
{
    switch (outcome) {
    case SENT:
    case UNREADABLE:
        return SPOOL_REMOVE;
    case REFUSED:
        return SPOOL_SET_ASIDE;
    default:
        return SPOOL_KEEP;
    }
}

/* Add all windows. Returns false with the error set if one could not be added. */
static bool
send_all(struct sender *sender, struct pprof_error *error)
{
    char name[SPOOL_NAME_BYTES] = "";
    enum outcome outcome = SENT;
    void *bytes = NULL;
    size_t size = 0;
    bool complete = true;

    while (outcome != FAILED && !is_late(sender) &&
           spool_take(sender->spool, name, name, &bytes, &size)) {
        outcome = add_window(sender, bytes, size, error);
        free(bytes);
        if (!spool_done(sender->spool, name, fate_of(outcome))) {
            /* It is added again: a store counts the same window once. */
            snprintf(error->text, sizeof(error->text),
                     "the spool keeps a window that %s: %s",
                     outcome == SENT         ? "was added"
                     : outcome == UNREADABLE ? "is no profile"
                                             : "was refused",
                     strerror(errno));
            outcome = LEFT;
        }
        count_outcome(sender, outcome);
        report_outcome(outcome, name, error);
        complete = complete && outcome != FAILED && outcome != LEFT;
    }
    return complete;
}

static bool
open_store(struct sender *sender, struct pprof_error *error)
{
    if (sender->store == NULL) {
        sender->store = store_open_stoppable(sender->url, true, &sender->stop, error);
        sender->opened_ns = clock_now_ns();
    }
    if (sender->store == NULL) {
        count_outcome(sender, FAILED);
    }
    return sender->store != NULL;
}

/* Close the store unless the next round can use it. */
static void
close_store(struct sender *sender, bool failing)
{
    if (sender->store != NULL && (failing || !store_is_remote(sender->store) ||
                                  clock_now_ns() - sender->opened_ns >= open_ns)) {
        store_close(sender->store);
        sender->store = NULL;
    }
}

/* Open the store and add all windows. Prints the first of several failures. */
static bool
send(struct sender *sender, bool *failing)
{
    struct pprof_error error = {.text = ""};
    const bool sent = open_store(sender, &error) && send_all(sender, &error);

    close_store(sender, !sent);
    if (!sent && !*failing) {
        cmd_fail("agent", "--store: %s; windows wait in the spool", error.text);
    } else if (sent && *failing) {
        fprintf(stderr, "ntprof: agent: the store takes windows again\n");
    }
    *failing = !sent;
    return sent;
}

/* Wait for a new window or, after a failure, for the pause. Returns false if the thread
 * has to end. */
static bool
wait(struct sender *sender, uint64_t pause_ns)
{
    const struct timespec until = clock_timespec(clock_now_ns() + pause_ns);
    bool closing;

    pthread_mutex_lock(&sender->lock);
    while (!sender->closing && (pause_ns != 0 || !sender->fresh)) {
        if (pause_ns == 0) {
            pthread_cond_wait(&sender->wake, &sender->lock);
        } else if (pthread_cond_timedwait(&sender->wake, &sender->lock, &until) != 0) {
            break;
        }
    }
    sender->fresh = false;
    closing = sender->closing;
    pthread_mutex_unlock(&sender->lock);
    return !closing;
}

static void *
sender_main(void *argument)
{
    struct sender *const sender = argument;
    uint64_t pause_ns = 0;
    bool failing = false;

    pthread_setname_np(pthread_self(), "ntprof-sender");
    do {
        if (send(sender, &failing)) {
            pause_ns = 0;
        } else {
            pause_ns = pause_ns == 0 ? pause_min_ns : pause_ns * 2;
            pause_ns = pause_ns < pause_max_ns ? pause_ns : pause_max_ns;
        }
    } while (wait(sender, pause_ns));
    if (!failing) {
        (void)send(sender, &failing);
    }
    close_store(sender, true);
    return NULL;
}

int
sender_start(struct sender *sender, struct spool *spool, const char *url,
             const char *host)
{
    pthread_condattr_t monotonic;
    sigset_t all;
    sigset_t old;
    int failure;

    *sender = (struct sender){.spool = spool, .url = url, .host = host};
    sender->stop = (struct store_stop){.asked = is_late, .context = sender};
    pthread_mutex_init(&sender->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sender->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failure = pthread_create(&sender->thread, NULL, sender_main, sender);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    sender->running = failure == 0;
    return -failure;
}

void
sender_wake(struct sender *sender)
{
    if (sender->running) {
        pthread_mutex_lock(&sender->lock);
        sender->fresh = true;
        pthread_cond_signal(&sender->wake);
        pthread_mutex_unlock(&sender->lock);
    }
}

void
sender_stop(struct sender *sender)
{
    if (!sender->running) {
        return;
    }
    pthread_mutex_lock(&sender->lock);
    sender->closing = true;
    sender->deadline_ns = clock_now_ns() + closing_ns;
    pthread_cond_signal(&sender->wake);
    pthread_mutex_unlock(&sender->lock);
    pthread_join(sender->thread, NULL);
    pthread_cond_destroy(&sender->wake);
    pthread_mutex_destroy(&sender->lock);
    sender->running = false;
}

void
sender_get_metrics(struct sender *sender, struct metrics *metrics)
{
    metrics->has_store = sender->running;
    if (sender->running) {
        pthread_mutex_lock(&sender->lock);
        metrics->sent = sender->sent;
        metrics->send_failures = sender->failures;
        metrics->unreadable = sender->unreadable;
        metrics->refused = sender->refused;
        pthread_mutex_unlock(&sender->lock);
    }
}
