/* SPDX-License-Identifier: MIT */
/* agent_serve.c - what the agent's server answers. */
#include "agent/agentp.h"

#include "cmd/cmd.h"
#include "util/clock.h"
#include "util/text.h"

#include <stdlib.h>

/* On the server's thread. */
static void
print_metrics(void *context, struct buffer *text)
{
    struct agent *const agent = context;
    struct metrics metrics;

    pthread_mutex_lock(&agent->metrics_lock);
    metrics = agent->metrics;
    pthread_mutex_unlock(&agent->metrics_lock);
    spool_get_statistics(&agent->spool, &metrics.spool);
    sender_get_metrics(&agent->sender, &metrics);
    metrics.cpu_ns = agent_read_usage(&metrics.memory_bytes);
    metrics_print(&metrics, text);
}

/* On the server's thread. Whether windows end in time. */
static bool
is_healthy(void *context)
{
    struct agent *const agent = context;
    uint64_t last_ns;

    pthread_mutex_lock(&agent->metrics_lock);
    last_ns = agent->metrics.last_window_ns;
    pthread_mutex_unlock(&agent->metrics_lock);
    return clock_now_ns() <
           last_ns + 2 * agent->settings->window_ns + 60 * CLOCK_SECOND_NS;
}

bool
agent_serve(struct agent *agent)
{
    const struct server_calls calls = {
        .print_metrics = print_metrics, .is_healthy = is_healthy, .context = agent};
    char why[200];
    char shown[100];

    if (agent->settings->listen == NULL) {
        return true;
    }
    agent->server = http_server_start(agent->settings, &calls, why, sizeof(why));
    if (agent->server == NULL) {
        cmd_fail("agent", "--listen %s: %s",
                 text_show(shown, sizeof(shown), agent->settings->listen), why);
    }
    return agent->server != NULL;
}

/* The look before a request leaves it only later hits. */
void
agent_take_request(struct agent *agent)
{
    struct agent_request *free_place = NULL;
    uint64_t seconds;

    for (size_t i = 0; i < SERVER_PROFILES_MAX; i++) {
        if (agent->requests[i].request == NULL) {
            free_place = &agent->requests[i];
        }
    }
    if (free_place == NULL) {
        return; /* its turn comes when another was answered */
    }
    *free_place = (struct agent_request){.start_real_ns = clock_ns(CLOCK_REALTIME),
                                         .start_ns = clock_now_ns()};
    (void)agent_look(agent);
    free_place->request = http_server_take(agent->server, &seconds);
    free_place->end_ns = free_place->start_ns + seconds * CLOCK_SECOND_NS;
}

/* Answer a request by what was counted for it until the last look, which began then;
 * without a complete profile it fails. */
static void
answer(struct agent *agent, struct agent_request *request, uint64_t now)
{
    struct profile *const profile = part_take(&request->part);
    void *bytes = NULL;
    size_t size = 0;

    if (profile != NULL && request->part.lost == 0 &&
        agent_describe(agent, profile, request->start_real_ns, now - request->start_ns,
                       "")) {
        (void)pprof_encode(profile, &bytes, &size);
    }
    profile_delete(profile);
    http_server_answer(agent->server, request->request, bytes, size);
    request->request = NULL;
}

void
agent_handle_requests(struct agent *agent)
{
    const uint64_t now = clock_now_ns();
    bool looked = false;

    for (size_t i = 0; i < SERVER_PROFILES_MAX; i++) {
        struct agent_request *const request = &agent->requests[i];

        if (request->request != NULL && now >= request->end_ns) {
            looked = looked || agent_look(agent);
            answer(agent, request, now);
        }
    }
}

uint64_t
agent_next_answer_ns(const struct agent *agent)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < SERVER_PROFILES_MAX; i++) {
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
    for (size_t i = 0; i < SERVER_PROFILES_MAX; i++) {
        struct agent_request *const request = &agent->requests[i];

        if (request->request != NULL) {
            profile_delete(part_take(&request->part));
            http_server_answer(agent->server, request->request, NULL, 0);
            request->request = NULL;
        }
    }
    http_server_stop(agent->server);
    agent->server = NULL;
}
