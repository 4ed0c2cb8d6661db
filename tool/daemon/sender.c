/* SPDX-License-Identifier: MIT */
/*
 * sender.c - opens the store, adds the windows of the spool, and waits for more.
 *
 * The states of a sender:
 *
 *            sender_start          round done            sender_stop
 *   STOPPED -------------> SENDING ----------> WAITING -------------.
 *      ^                     |  ^                 |                 |
 *      |                     |  '-----------------'                 v
 *      |        sender_stop  |   sender_wake, or after a failure  CLOSING ---> LATE
 *      |                     |   the end of the pause               |   late_ns after
 *      |                     '------------------------------------->|   deadline_ns
 *      '------------------------------------------------------------'
 *        one more round, unless the last failed, until deadline_ns
 *
 *   STOPPED  apart is NULL: nothing runs, and nothing else is used
 *   SENDING  a round is under way; the store is open, or opening it failed
 *   WAITING  the store is closed, unless it is a server's and opened for less than
 *            open_ns; fresh is set by a window that comes meanwhile
 *   CLOSING  closing and deadline_ns are set; sender_stop waits for ended
 *   LATE     sender_stop has returned false; the last round ends by itself, or never
 *
 * assert_sender_state() is called by all who have just taken the lock, and
 * assert_store_state() before and after each round.
 */
#include "daemon/sender.h"

#include "base/apart.h"
#include "base/clock.h"
#include "base/command_log.h"
#include "base/message.h"
#include "base/text.h"
#include "daemon/metrics.h"
#include "store/recorded.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* First and longest pause after a failure. */
static const uint64_t pause_min_ns = 1000000000;
static const uint64_t pause_max_ns = UINT64_C(60000000000);

/* How long windows are still added when the agent ends. A reload waits for that, and
 * nothing is recorded meanwhile. The rest waits for the next agent. */
static const uint64_t closing_ns = UINT64_C(5000000000);

/* How much longer sender_stop waits for the sender, which nothing interrupts while it
 * waits for a file system that does not answer. */
static const uint64_t late_ns = UINT64_C(3000000000);

/* How long a server's store stays open. While it is open each name is sent once, so a
 * store that was dropped and made again gets all names after this time. */
static const uint64_t open_ns = UINT64_C(3600000000000);

/* outcome - what became of one window. A window that is LEFT is tried again in the next
 * round, and so is one that FAILED; after that, the round ends, as later windows would
 * fail, too. */
enum outcome { SENT, UNREADABLE, REFUSED, LEFT, FAILED };

#ifndef NDEBUG
/* Assert that the members which the lock guards agree. */
static bool
assert_sender_state(const struct sender *sender)
{
    assert(sender->spool != NULL && sender->url != NULL && sender->host != NULL);
    assert(sender->closing == (sender->deadline_ns != 0));
    assert(sender->busy <= sender->failures);
    return true;
}

/* Assert that outside of a round the store is open only if the next round can use
 * it. */
static bool
assert_store_state(const struct sender *sender)
{
    assert(sender->store == NULL ||
           (sender->opened_ns != 0 && store_is_remote(sender->store)));
    return true;
}
#endif

/* --- one window --- */

/* Decode a window and add it to the store. bytes: NULL if the file could not be read,
 * with errno. They are decoded in this process, as only the agent writes into its
 * spool. Returns LEFT also if memory or descriptors ran out. */
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
count_outcome(struct sender *sender, enum outcome outcome,
              const struct pprof_error *error)
{
    pthread_mutex_lock(&sender->lock);
    assert(assert_sender_state(sender));
    sender->sent += outcome == SENT;
    sender->unreadable += outcome == UNREADABLE;
    sender->refused += outcome == REFUSED;
    sender->failures += outcome == FAILED || outcome == LEFT;
    sender->busy += outcome == FAILED && error->busy;
    pthread_mutex_unlock(&sender->lock);
}

/* Return whether the agent ends and closing_ns have passed; for store_stop. */
static bool
is_late(void *context)
{
    struct sender *const sender = context;
    bool late;

    pthread_mutex_lock(&sender->lock);
    assert(assert_sender_state(sender));
    late = sender->closing && clock_now_ns() >= sender->deadline_ns;
    pthread_mutex_unlock(&sender->lock);
    return late;
}

/* Log what became of a window, and print a line if it will never be added. */
static void
report_outcome(enum outcome outcome, const char *name, const struct pprof_error *error)
{
    char shown[100];

    COMMAND_LOG("window %s of the spool: %s", name,
                outcome == SENT ? "in the store" : error->text);
    text_show(shown, sizeof(shown), name);
    if (outcome == UNREADABLE) {
        cmd_fail("agent", "%s of the spool is no profile and is removed", shown);
    } else if (outcome == REFUSED) {
        cmd_fail("agent", "--store: %s; the window stays in the spool as refused-%s",
                 error->text, shown);
    }
}

/* Return what is to become of a file of the spool after an attempt to add it. */
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

/* --- one round --- */

/* Add all windows. Returns false with the error set if one that can be added later
 * could not be added. */
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
            /* The next round adds the window again, which changes nothing in a
             * store. */
            snprintf(error->text, sizeof(error->text),
                     "the spool keeps a window that %s: %s",
                     outcome == SENT         ? "was added"
                     : outcome == UNREADABLE ? "is no profile"
                                             : "was refused",
                     strerror(errno));
            outcome = LEFT;
        }
        count_outcome(sender, outcome, error);
        report_outcome(outcome, name, error);
        complete = complete && outcome != FAILED && outcome != LEFT;
    }
    return complete;
}

static bool
open_store(struct sender *sender, struct pprof_error *error)
{
    if (sender->store == NULL) {
        sender->store =
            store_open_stoppable(sender->url, /* write */ true, &sender->stop, error);
        sender->opened_ns = clock_now_ns();
    }
    if (sender->store == NULL) {
        count_outcome(sender, FAILED, error);
    }
    return sender->store != NULL;
}

/* Close the store unless the next round can use it: that of a server, which did not
 * fail and was opened less than open_ns ago. */
static void
close_store(struct sender *sender, bool failing)
{
    if (sender->store != NULL && (failing || !store_is_remote(sender->store) ||
                                  clock_now_ns() - sender->opened_ns >= open_ns)) {
        store_close(sender->store);
        sender->store = NULL;
    }
}

/* A round: open the store and add all windows. Prints a line for the first of several
 * failures in a row, and one when they end. Returns whether all were added. */
static bool
send(struct sender *sender, bool *failing)
{
    struct pprof_error error = {.text = ""};
    bool sent;

    assert(assert_store_state(sender));
    sent = open_store(sender, &error) && send_all(sender, &error);
    close_store(sender, !sent);
    assert(assert_store_state(sender) && (sent || sender->store == NULL));
    if (!sent && !*failing) {
        cmd_fail("agent", "--store: %s; windows wait in the spool", error.text);
    } else if (sent && *failing) {
        fprintf(stderr, "ntprof: agent: the store takes windows again\n");
    }
    *failing = !sent;
    return sent;
}

/* --- what runs apart --- */

/* Wait for a new window, or pause_ns after a failure. Returns false if the sender has
 * to end. */
static bool
wait(struct sender *sender, uint64_t pause_ns)
{
    const struct timespec until = clock_timespec(clock_now_ns() + pause_ns);
    bool closing;

    pthread_mutex_lock(&sender->lock);
    assert(assert_sender_state(sender));
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

/* Send windows until closing is set. Runs apart: the store may be on a file system that
 * does not answer. */
static void
sender_main(void *argument)
{
    struct sender *const sender = argument;
    uint64_t pause_ns = 0;
    bool failing = false;

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
    close_store(sender, /* failing */ true);
    pthread_mutex_lock(&sender->lock);
    sender->ended = true;
    pthread_cond_signal(&sender->gone);
    pthread_mutex_unlock(&sender->lock);
}

/* --- from the agent's thread --- */

static void
free_texts(struct sender *sender)
{
    free(sender->url);
    free(sender->host);
    sender->url = sender->host = NULL;
}

static void
release(struct sender *sender)
{
    pthread_cond_destroy(&sender->wake);
    pthread_cond_destroy(&sender->gone);
    pthread_mutex_destroy(&sender->lock);
    free_texts(sender);
}

int
sender_start(struct sender *sender, struct spool *spool, const char *url,
             const char *host)
{
    pthread_condattr_t monotonic;
    int error;

    /* Copies, as the settings may be freed before a sender that is late ends. */
    *sender = (struct sender){.spool = spool, .url = strdup(url), .host = strdup(host)};
    if (sender->url == NULL || sender->host == NULL) {
        free_texts(sender);
        return -ENOMEM;
    }
    sender->stop = (struct store_stop){.asked = is_late, .context = sender};
    pthread_mutex_init(&sender->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sender->wake, &monotonic);
    pthread_cond_init(&sender->gone, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sender->apart =
        apart_start("ntprof-sender", sender_main, sender, /* detached */ false);
    error = sender->apart == NULL ? -errno : 0;
    if (error != 0) {
        release(sender);
    }
    return error;
}

void
sender_wake(struct sender *sender)
{
    if (sender->apart != NULL) {
        pthread_mutex_lock(&sender->lock);
        assert(assert_sender_state(sender) && !sender->closing);
        sender->fresh = true;
        pthread_cond_signal(&sender->wake);
        pthread_mutex_unlock(&sender->lock);
    }
}

/* Wait until sender_main has ended, or late_ns after the deadline. The lock is held.
 * Returns whether it has ended. */
static bool
wait_for_end(struct sender *sender)
{
    const struct timespec until = clock_timespec(sender->deadline_ns + late_ns);

    while (!sender->ended &&
           pthread_cond_timedwait(&sender->gone, &sender->lock, &until) != ETIMEDOUT) {
    }
    return sender->ended;
}

bool
sender_stop(struct sender *sender)
{
    struct apart *const apart = sender->apart;
    bool ended;

    if (apart == NULL) {
        return true;
    }
    sender->apart = NULL;
    pthread_mutex_lock(&sender->lock);
    assert(assert_sender_state(sender) && !sender->closing);
    sender->closing = true;
    sender->deadline_ns = clock_now_ns() + closing_ns;
    pthread_cond_signal(&sender->wake);
    ended = wait_for_end(sender);
    pthread_mutex_unlock(&sender->lock);
    if (!ended) {
        apart_leave(apart);
        return false;
    }
    apart_join(apart);
    release(sender);
    return true;
}

void
sender_get_metrics(struct sender *sender, struct metrics *metrics)
{
    metrics->has_store = sender->apart != NULL;
    if (sender->apart != NULL) {
        pthread_mutex_lock(&sender->lock);
        assert(assert_sender_state(sender));
        metrics->sent = sender->sent;
        metrics->send_failures = sender->failures;
        metrics->busy = sender->busy;
        metrics->unreadable = sender->unreadable;
        metrics->refused = sender->refused;
        pthread_mutex_unlock(&sender->lock);
    }
}
