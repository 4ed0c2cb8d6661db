/* SPDX-License-Identifier: MIT */
/* serving.c - what the agent's server answers. */
#include "daemon/daemonp.h"

#include "base/clock.h"
#include "base/message.h"
#include "base/number.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* Put the agent's metrics. Called on the server's thread. */
static void
print_metrics(struct agent *agent, struct buffer *text)
{
    struct metrics metrics;

    pthread_mutex_lock(&agent->metrics_lock);
    metrics = agent->metrics;
    pthread_mutex_unlock(&agent->metrics_lock);
    spool_get_statistics(&agent->spool, &metrics.spool);
    sender_get_metrics(&agent->sender, &metrics);
    metrics.cpu_ns = agent_read_usage(&metrics.memory_bytes);
    metrics_print(&metrics, text);
}

/* Answer whether windows end in time, and when the last one did. Called on the server's
 * thread. */
static void
answer_health(struct agent *agent, struct http_answer *answer)
{
    /* as ntprof-agent(1) says */
    const uint64_t most_ns = 2 * agent->settings->window_ns + 30 * CLOCK_SECOND_NS;
    uint64_t age_ns;
    bool healthy;
    char text[120];

    pthread_mutex_lock(&agent->metrics_lock);
    age_ns = clock_now_ns() - agent->metrics.last_window_ns;
    pthread_mutex_unlock(&agent->metrics_lock);
    healthy = age_ns < most_ns;
    snprintf(text, sizeof(text), "%s\nthe last window ended %.1f s ago\n",
             healthy ? "ok" : "no window ended in time", (double)age_ns / 1e9);
    http_text(answer, healthy ? HTTP_OK : HTTP_UNAVAILABLE, text);
}

/* Answer with the agent's metrics. Called on the server's thread. */
static void
answer_metrics(struct agent *agent, struct http_answer *answer)
{
    struct buffer text = {0};

    print_metrics(agent, &text);
    if (text.failed) {
        buffer_finish(&text);
        http_text(answer, HTTP_FAILED, "out of memory\n");
        return;
    }
    *answer = (struct http_answer){
        .status = HTTP_OK,
        .type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
        .bytes = text.data,
        .size = text.size};
}

/* Parse ?seconds=N of a request for a profile. Returns false if N is wrong; without it
 * *seconds is the default. */
static bool
parse_seconds(const struct http_request *request, uint64_t *seconds)
{
    const char *const text = http_argument(request, "seconds");

    *seconds = AGENT_SECONDS_DEFAULT;
    return text == NULL || (number_parse_count(text, seconds) && *seconds >= 1 &&
                            *seconds <= AGENT_SECONDS_MAX);
}

/* Answer a request; for http_settings, on the server's thread. Returns false for a
 * profile: the request is queued, and the agent's thread answers it when its seconds
 * have passed. */
static bool
answer_request(void *context, const struct http_request *request,
               struct http_answer *answer)
{
    struct agent *const agent = context;
    const char *const path = http_path(request);
    char text[80];
    uint64_t seconds;

    if (strcmp(path, "/debug/pprof/profile") == 0) {
        if (parse_seconds(request, &seconds)) {
            return false;
        }
        snprintf(text, sizeof(text), "seconds must be a number from 1 to %d\n",
                 AGENT_SECONDS_MAX);
        http_text(answer, HTTP_BAD_REQUEST, text);
    } else if (strcmp(path, "/metrics") == 0) {
        answer_metrics(agent, answer);
    } else if (strcmp(path, "/healthz") == 0) {
        answer_health(agent, answer);
    } else {
        http_text(answer, HTTP_NOT_FOUND,
                  "there are /debug/pprof/profile?seconds=N, /metrics and /healthz\n");
    }
    return true;
}

bool
agent_serve(struct agent *agent)
{
    const struct http_settings settings = {
        .address = agent->settings->address,
        .queue_max = AGENT_PROFILES_MAX,
        .queue_full = "too many profiles are being made; try again later\n",
        .answer = answer_request,
        .context = agent};
    char why[300];
    char shown[100];

    if (agent->settings->listen == NULL) {
        return true;
    }
    agent->server = http_server_start(&settings, why, sizeof(why));
    if (agent->server == NULL) {
        cmd_fail("agent", "--listen %s: %s",
                 text_show(shown, sizeof(shown), agent->settings->listen), why);
    }
    return agent->server != NULL;
}

/* Answer a request that there is no profile. */
static void
refuse_request(struct agent *agent, struct agent_request *request)
{
    struct http_answer answer;

    http_text(&answer, HTTP_UNAVAILABLE,
              "no profile could be made: the agent ends, or memory ran out; try "
              "again\n");
    http_server_answer(agent->server, request->request, &answer);
    request->request = NULL;
}

/* Drop the requests of clients that have gone. */
static void
drop_gone_requests(struct agent *agent)
{
    for (size_t i = 0; i < AGENT_PROFILES_MAX; i++) {
        struct agent_request *const request = &agent->requests[i];

        if (request->request != NULL &&
            http_server_is_gone(agent->server, request->request)) {
            profile_delete(part_take(&request->part));
            refuse_request(agent, request);
        }
    }
}

/* A look comes first, so that the profile has only later hits. */
void
agent_take_request(struct agent *agent)
{
    struct agent_request *free_slot = NULL;
    uint64_t seconds;
    bool looked;

    drop_gone_requests(agent);
    for (size_t i = 0; i < AGENT_PROFILES_MAX; i++) {
        if (agent->requests[i].request == NULL) {
            free_slot = &agent->requests[i];
        }
    }
    if (free_slot == NULL) {
        /* All requests that the server queues have been taken, so this takes none, and
         * makes the descriptor unreadable. */
        (void)http_server_take(agent->server);
        return;
    }
    *free_slot = (struct agent_request){.start_real_ns = clock_ns(CLOCK_REALTIME),
                                        .start_ns = clock_now_ns()};
    looked = agent_look(agent);
    free_slot->request = http_server_take(agent->server);
    if (free_slot->request == NULL) {
        return;
    }
    if (!looked) {
        refuse_request(agent, free_slot);
        return;
    }
    (void)parse_seconds(free_slot->request, &seconds);
    free_slot->end_ns = free_slot->start_ns + seconds * CLOCK_SECOND_NS;
}

/* Mark the names of all images as known, even where they are not: otherwise go tool
 * pprof asks the agent for the missing ones, gets an error and fails. */
static void
claim_names(struct profile *profile)
{
    for (size_t i = 0; i < profile->image_count; i++) {
        profile->images[i].named = true;
    }
}

/* Answer a request with what was counted for it until the look at now. Refuse it if
 * that look failed (looked is false), hits were lost, or memory runs out. */
static void
answer(struct agent *agent, struct agent_request *request, uint64_t now, bool looked)
{
    struct profile *const profile = part_take(&request->part);
    struct http_answer answer = {.status = HTTP_OK, .type = "application/octet-stream"};

    if (looked && profile != NULL && request->part.lost == 0 &&
        agent_describe(agent, profile, request->start_real_ns, now - request->start_ns,
                       "")) {
        claim_names(profile);
        (void)pprof_encode(profile, &answer.bytes, &answer.size);
    }
    profile_delete(profile);
    if (answer.bytes == NULL) {
        refuse_request(agent, request);
    } else {
        http_server_answer(agent->server, request->request, &answer);
        request->request = NULL;
    }
}

void
agent_handle_requests(struct agent *agent)
{
    const uint64_t now = clock_now_ns();
    bool looked = false;

    for (size_t i = 0; i < AGENT_PROFILES_MAX; i++) {
        struct agent_request *const request = &agent->requests[i];

        if (request->request != NULL && now >= request->end_ns) {
            looked = looked || agent_look(agent);
            answer(agent, request, now, looked);
        }
    }
}

uint64_t
agent_next_answer_ns(const struct agent *agent)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < AGENT_PROFILES_MAX; i++) {
        const struct agent_request *const request = &agent->requests[i];

        if (request->request != NULL && request->end_ns < next) {
            next = request->end_ns;
        }
    }
    return next;
}

void
agent_stop_serving(struct agent *agent)
{
    for (size_t i = 0; i < AGENT_PROFILES_MAX; i++) {
        struct agent_request *const request = &agent->requests[i];

        if (request->request != NULL) {
            profile_delete(part_take(&request->part));
            refuse_request(agent, request);
        }
    }
    http_server_stop(agent->server);
    agent->server = NULL;
}
