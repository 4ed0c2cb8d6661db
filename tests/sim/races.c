/* SPDX-License-Identifier: MIT */
/*
 * Many threads on one session of the public calls, with the real host and simulated
 * interrupts, racing on the same handles. Run it under TSan, too.
 *
 * Rounds: a few threads make a few calls on one profile while it is hit; each call's
 * beginning and end are stamped. Then a search looks for an order of all calls, in
 * which none comes before one that had ended when it began, and in which a model of one
 * profile, as simple as can be, gives every outcome. The rounds' stamps order memory,
 * which may hide races from TSan; so the same calls run without stamps as well, and
 * there the sums are checked.
 */
#include "api/api.h"
#include "hal/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "guarded.h"

#define SELF NtCurrentProcess()
#define BASE ((PVOID)(uintptr_t)0x10000)
enum { BUCKET_LOG2 = 6, REGION_BYTES = 1 << BUCKET_LOG2 };

static uint64_t
draw(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static ntprof_session *
open_session(uint32_t flags)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = "sim", .flags = flags};
    ntprof_session *session = NULL;

    assert_int_equal(ntprof_session_open(&options, &session), STATUS_SUCCESS);
    ntprof_session_use(session);
    return session;
}

static void
close_session(ntprof_session *session)
{
    ntprof_session_use(NULL);
    ntprof_session_close(session);
}

static NTSTATUS
create_profile(HANDLE *handle, ULONG *counter)
{
    return NtCreateProfileEx(handle, SELF, BASE, REGION_BYTES, BUCKET_LOG2, counter,
                             sizeof(*counter), ProfileTime, 0, NULL);
}

/* The number-th active processor of group 0, or the last. While no other thread calls:
 * the host is the session's, which has a lock for it. */
static ULONG
active_processor(const ntprof_session *session, ULONG number)
{
    KAFFINITY active = session->host.Table->ActiveProcessors(session->host.Context, 0);

    for (; number > 0 && (active & (active - 1)) != 0; number--) {
        active &= active - 1;
    }
    return (ULONG)__builtin_ctzll(active);
}

static ULONG
hit(const ntprof_session *session, ULONG processor)
{
    return sim_hit(session->backend_context, ProfileTime, processor, (uint64_t)getpid(),
                   (uintptr_t)BASE);
}

/* ---- One round: calls with stamps, and handles that grow in number ---- */

enum { CALLERS = 4, CALLS_EACH = 5, HITS = 4, CALLS = CALLERS * CALLS_EACH + HITS };
enum { FIRST_HANDLES = 3, STALE = FIRST_HANDLES, HANDLES = STALE + 1 + CALLS };
enum { ROUNDS = 2000 };

enum call_kind {
    CALL_START,
    CALL_STOP,
    CALL_DUPLICATE,
    CALL_QUERY,
    CALL_CLOSE,
    CALL_HIT
};

struct call {
    enum call_kind kind;
    int handle;          /* number in round.handles */
    int made;            /* CALL_DUPLICATE: the number of the new one */
    ACCESS_MASK desired; /* CALL_DUPLICATE */
    ULONG options;       /* CALL_DUPLICATE */
    NTSTATUS status;
    ULONG result;        /* CALL_QUERY: count of handles; CALL_HIT: counters */
    ACCESS_MASK granted; /* CALL_QUERY */
    uint64_t begin;
    uint64_t end;
};

struct round {
    ntprof_session *session;
    HANDLE handles[HANDLES]; /* atomic; NULL: not there yet */
    ACCESS_MASK access[HANDLES];
    struct call calls[CALLS];
    int count;
    uint64_t open_first; /* of handles, as bits */
    uint64_t clock;      /* atomic */
    pthread_barrier_t *barrier;
    ULONG processor; /* that is hit */
};

static uint64_t
stamp(struct round *round)
{
    return __atomic_add_fetch(&round->clock, 1, __ATOMIC_SEQ_CST);
}

/* ---- The model: what one call does to a profile, given what came before ---- */

struct model {
    uint64_t open; /* handles, as bits */
    bool running;
};

static void
model_close(struct model *model, int handle)
{
    model->open &= ~(1ull << handle);
    if (model->open == 0) {
        model->running = false; /* the last close stops it */
    }
}

static NTSTATUS
model_use(const struct round *round, const struct model *model, const struct call *call)
{
    if ((model->open >> call->handle & 1) == 0) {
        return STATUS_INVALID_HANDLE;
    }
    if ((call->kind == CALL_START || call->kind == CALL_STOP) &&
        (round->access[call->handle] & PROFILE_CONTROL) == 0) {
        return STATUS_ACCESS_DENIED;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS
model_switch(struct model *model, bool on)
{
    if (model->running == on) {
        return on ? STATUS_PROFILING_NOT_STOPPED : STATUS_PROFILING_NOT_STARTED;
    }
    model->running = on;
    return STATUS_SUCCESS;
}

static NTSTATUS
model_duplicate(const struct round *round, struct model *model, const struct call *call)
{
    const bool granted = (call->desired & ~round->access[call->handle]) == 0;

    if (granted) {
        model->open |= 1ull << call->made;
    }
    if ((call->options & DUPLICATE_CLOSE_SOURCE) != 0) {
        model_close(model, call->handle);
    }
    return granted ? STATUS_SUCCESS : STATUS_ACCESS_DENIED;
}

/* Is the outcome of this call what it would be now? */
static bool
model_apply(const struct round *round, struct model *model, const struct call *call)
{
    NTSTATUS status;

    if (call->kind == CALL_HIT) {
        return call->result == (model->running ? 1u : 0u);
    }
    status = model_use(round, model, call);
    if (NT_SUCCESS(status)) {
        switch (call->kind) {
        case CALL_START:
        case CALL_STOP:
            status = model_switch(model, call->kind == CALL_START);
            break;
        case CALL_DUPLICATE:
            status = model_duplicate(round, model, call);
            break;
        case CALL_QUERY:
            return NT_SUCCESS(call->status) &&
                   call->result == (ULONG)__builtin_popcountll(model->open) &&
                   call->granted == round->access[call->handle];
        case CALL_CLOSE:
            model_close(model, call->handle);
            break;
        default:
            break;
        }
    }
    return status == call->status;
}

/* ---- The search for an order ---- */

/* What the calls of a set leave behind does not depend on their order, so a set is
 * looked at once. */
enum { SEEN_SLOTS = 1 << 16 };
#define SEEN 0x80000000u /* CALLS are fewer than 31 */

struct search {
    const struct round *round;
    uint32_t seen[SEEN_SLOTS]; /* sets from which there is no way, with SEEN */
    struct model last;         /* when all calls are made */
};

static bool
search_seen(struct search *search, uint32_t set)
{
    uint32_t *const slot = &search->seen[set * 2654435761u >> 16];
    const uint32_t mark = set | SEEN;
    const bool seen = *slot == mark;

    *slot = mark; /* one that it drives out is looked at again, at worst */
    return seen;
}

static uint64_t
first_end(const struct round *round, uint32_t made)
{
    uint64_t first = UINT64_MAX;

    for (int i = 0; i < round->count; i++) {
        if ((made >> i & 1) == 0 && round->calls[i].end < first) {
            first = round->calls[i].end;
        }
    }
    return first;
}

static bool
search_order(struct search *search, uint32_t made, struct model model)
{
    const struct round *const round = search->round;
    const uint64_t limit = first_end(round, made);

    if (limit == UINT64_MAX) {
        search->last = model;
        return true;
    }
    if (search_seen(search, made)) {
        return false;
    }
    for (int i = 0; i < round->count; i++) {
        struct model next = model;

        if ((made >> i & 1) == 0 && round->calls[i].begin < limit &&
            model_apply(round, &next, &round->calls[i]) &&
            search_order(search, made | 1u << i, next)) {
            return true;
        }
    }
    return false;
}

static void
print_round(const struct round *round)
{
    static const char *const names[] = {"start", "stop",  "duplicate",
                                        "query", "close", "hit"};

    for (int i = 0; i < round->count; i++) {
        const struct call *const call = &round->calls[i];

        print_error("%3llu..%3llu %-9s %2d made %2d desired %x options %x: %08x %u\n",
                    (unsigned long long)call->begin, (unsigned long long)call->end,
                    names[call->kind], call->handle, call->made,
                    (unsigned)call->desired, (unsigned)call->options,
                    (unsigned)call->status, (unsigned)call->result);
    }
}

static bool
has_an_order(const struct round *round, struct model *last)
{
    static struct search search;
    const struct model first = {.open = round->open_first};

    memset(&search, 0, sizeof(search));
    search.round = round;
    if (!search_order(&search, 0, first)) {
        return false;
    }
    *last = search.last;
    return true;
}

/* Calls that were under way at the same time, in pairs. */
static uint64_t
count_overlaps(const struct round *round)
{
    uint64_t pairs = 0;

    for (int i = 0; i < round->count; i++) {
        for (int k = 0; k < i; k++) {
            pairs += round->calls[i].begin < round->calls[k].end &&
                     round->calls[k].begin < round->calls[i].end;
        }
    }
    return pairs;
}

/* ---- The search itself: what it accepts and what it does not ---- */

struct history_row {
    enum call_kind kind;
    int handle;
    NTSTATUS status;
    ULONG result;
    uint64_t begin;
    uint64_t end;
};

static bool
history_has_an_order(const struct history_row *rows, int count)
{
    struct round round = {.open_first = 3, .count = count};
    struct model last;

    for (int i = 0; i < HANDLES; i++) {
        round.access[i] = PROFILE_CONTROL;
    }
    for (int i = 0; i < count; i++) {
        round.calls[i] = (struct call){.kind = rows[i].kind,
                                       .handle = rows[i].handle,
                                       .status = rows[i].status,
                                       .result = rows[i].result,
                                       .granted = PROFILE_CONTROL,
                                       .begin = rows[i].begin,
                                       .end = rows[i].end};
    }
    return has_an_order(&round, &last);
}

#define HISTORY_HAS_AN_ORDER(rows) \
    history_has_an_order(rows, (int)(sizeof(rows) / sizeof((rows)[0])))

static void
search__histories_that_can_be__order_found(void **state)
{
    /* The second start ends first: the stop must come between. */
    static const struct history_row overlapping[] = {
        {CALL_START, 0, STATUS_SUCCESS, 0, 1, 6},
        {CALL_START, 1, STATUS_SUCCESS, 0, 2, 3},
        {CALL_STOP, 0, STATUS_SUCCESS, 0, 4, 5},
        {CALL_HIT, 0, 0, 1, 7, 8},
    };
    static const struct history_row last_close[] = {
        {CALL_START, 0, STATUS_SUCCESS, 0, 1, 2},
        {CALL_CLOSE, 0, STATUS_SUCCESS, 0, 3, 8},
        {CALL_CLOSE, 1, STATUS_SUCCESS, 0, 4, 7},
        {CALL_QUERY, 0, STATUS_SUCCESS, 1, 5, 6},
        {CALL_HIT, 0, 0, 0, 9, 10},
    };

    (void)state;
    assert_true(HISTORY_HAS_AN_ORDER(overlapping));
    assert_true(HISTORY_HAS_AN_ORDER(last_close));
}

static void
search__histories_that_cannot_be__no_order(void **state)
{
    static const struct history_row two_starts[] = {
        {CALL_START, 0, STATUS_SUCCESS, 0, 1, 4},
        {CALL_START, 1, STATUS_SUCCESS, 0, 2, 3},
    };
    static const struct history_row stop_too_early[] = {
        {CALL_STOP, 0, STATUS_SUCCESS, 0, 1, 2},
        {CALL_START, 0, STATUS_SUCCESS, 0, 3, 4},
    };
    static const struct history_row closed_twice[] = {
        {CALL_CLOSE, 0, STATUS_SUCCESS, 0, 1, 4},
        {CALL_CLOSE, 0, STATUS_SUCCESS, 0, 2, 3},
    };
    static const struct history_row wrong_count[] = {
        {CALL_CLOSE, 0, STATUS_SUCCESS, 0, 1, 2},
        {CALL_QUERY, 1, STATUS_SUCCESS, 2, 3, 4},
    };
    static const struct history_row hit_after_stop[] = {
        {CALL_START, 0, STATUS_SUCCESS, 0, 1, 2},
        {CALL_STOP, 0, STATUS_SUCCESS, 0, 3, 4},
        {CALL_HIT, 0, 0, 1, 5, 6},
    };

    (void)state;
    assert_false(HISTORY_HAS_AN_ORDER(two_starts));
    assert_false(HISTORY_HAS_AN_ORDER(stop_too_early));
    assert_false(HISTORY_HAS_AN_ORDER(closed_twice));
    assert_false(HISTORY_HAS_AN_ORDER(wrong_count));
    assert_false(HISTORY_HAS_AN_ORDER(hit_after_stop));
}

/* ---- The threads of a round ---- */

struct caller {
    pthread_t thread;
    struct round *round;
    int number;
    uint64_t random;
};

/* Any handle that is there by now, the one of an earlier round too. */
static int
choose_handle(struct round *round, uint64_t *random)
{
    for (;;) {
        const int number = (int)(draw(random) % HANDLES);

        if (__atomic_load_n(&round->handles[number], __ATOMIC_ACQUIRE) != NULL) {
            return number;
        }
    }
}

static void
prepare_call(struct round *round, struct call *call, uint64_t *random)
{
    static const enum call_kind kinds[] = {
        CALL_START, CALL_START, CALL_START, CALL_STOP,      CALL_STOP,
        CALL_STOP,  CALL_QUERY, CALL_CLOSE, CALL_DUPLICATE, CALL_DUPLICATE};

    call->kind = kinds[draw(random) % (sizeof(kinds) / sizeof(kinds[0]))];
    call->handle = choose_handle(round, random);
    call->made = STALE + 1 + (int)(call - round->calls);
    call->desired = draw(random) % 4 == 0 ? 0 : PROFILE_CONTROL;
    call->options = draw(random) % 4 == 0 ? DUPLICATE_CLOSE_SOURCE : 0;
}

static void
make_duplicate(struct round *round, struct call *call, HANDLE source)
{
    HANDLE made = NULL;

    round->access[call->made] = call->desired;
    call->status =
        NtDuplicateObject(SELF, source, SELF, &made, call->desired, 0, call->options);
    call->end = stamp(round);
    __atomic_store_n(&round->handles[call->made], made, __ATOMIC_RELEASE);
}

static void
make_query(struct call *call, HANDLE handle)
{
    OBJECT_BASIC_INFORMATION basic = {0};

    call->status =
        NtQueryObject(handle, ObjectBasicInformation, &basic, sizeof(basic), NULL);
    call->result = basic.HandleCount;
    call->granted = basic.GrantedAccess;
}

static void
make_call(struct round *round, struct call *call)
{
    const HANDLE handle =
        __atomic_load_n(&round->handles[call->handle], __ATOMIC_ACQUIRE);

    call->begin = stamp(round);
    switch (call->kind) {
    case CALL_START:
        call->status = NtStartProfile(handle);
        break;
    case CALL_STOP:
        call->status = NtStopProfile(handle);
        break;
    case CALL_DUPLICATE:
        make_duplicate(round, call, handle);
        return;
    case CALL_QUERY:
        make_query(call, handle);
        break;
    default:
        call->status = NtClose(handle);
        break;
    }
    call->end = stamp(round);
}

static void *
caller_main(void *argument)
{
    struct caller *const caller = argument;
    struct round *const round = caller->round;

    ntprof_session_use(round->session);
    for (int i = 0; i < ROUNDS; i++) {
        struct call *call = &round->calls[caller->number * CALLS_EACH];

        pthread_barrier_wait(round->barrier);
        for (int k = 0; k < CALLS_EACH; k++, call++) {
            prepare_call(round, call, &caller->random);
            make_call(round, call);
        }
        pthread_barrier_wait(round->barrier);
    }
    return NULL;
}

/* Interrupts, on one processor: on several, a start reaches one after the other. */
static void *
hitter_main(void *argument)
{
    struct round *const round = argument;
    for (int i = 0; i < ROUNDS; i++) {
        struct call *call = &round->calls[CALLERS * CALLS_EACH];

        pthread_barrier_wait(round->barrier);
        for (int k = 0; k < HITS; k++, call++) {
            call->kind = CALL_HIT;
            call->begin = stamp(round);
            call->result = hit(round->session, round->processor);
            call->end = stamp(round);
        }
        pthread_barrier_wait(round->barrier);
    }
    return NULL;
}

/* A profile with three handles, the third without the right to start it. */
static void
begin_round(struct round *round, ULONG *counter, HANDLE stale)
{
    HANDLE *const handles = round->handles;

    memset(handles, 0, sizeof(round->handles));
    memset(round->calls, 0, sizeof(round->calls));
    *counter = 0;
    round->clock = 0;
    round->count = CALLS;
    round->open_first = 7;
    assert_int_equal(create_profile(&handles[0], counter), STATUS_SUCCESS);
    assert_int_equal(NtDuplicateObject(SELF, handles[0], SELF, &handles[1], 0, 0,
                                       DUPLICATE_SAME_ACCESS),
                     STATUS_SUCCESS);
    assert_int_equal(NtDuplicateObject(SELF, handles[0], SELF, &handles[2], 0, 0, 0),
                     STATUS_SUCCESS);
    handles[STALE] = stale;
    round->access[0] = round->access[1] = PROFILE_CONTROL;
    round->access[2] = 0;
    round->access[STALE] = PROFILE_CONTROL;
}

/* What is left is what the order says, and every hit that counted is in the counter. */
static void
end_round(struct round *round, const struct model *last, const ULONG *counter)
{
    ntprof_session_info info = {.size = sizeof(info)};
    ULONG counted = 0;

    assert_int_equal(ntprof_session_get_info(round->session, &info), STATUS_SUCCESS);
    assert_int_equal(info.profiles, last->open != 0);
    assert_int_equal(info.started, last->running);
    for (int i = 0; i < HANDLES; i++) {
        if (round->handles[i] != NULL) {
            assert_int_equal(NtClose(round->handles[i]), (last->open >> i & 1) != 0
                                                             ? STATUS_SUCCESS
                                                             : STATUS_INVALID_HANDLE);
        }
    }
    for (int i = CALLERS * CALLS_EACH; i < CALLS; i++) {
        counted += round->calls[i].result;
    }
    assert_int_equal(*counter, counted);
    assert_int_equal(round->session->system.Ob.ObjectCount, 0);
}

static void
run_rounds(struct round *round)
{
    ULONG *const counter = guarded_counters(1);
    HANDLE stale;
    uint64_t overlaps = 0;

    /* From now on the machine knows the process, and the handle is one of the past. */
    assert_int_equal(create_profile(&stale, counter), STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(stale), STATUS_SUCCESS);
    assert_int_equal(NtClose(stale), STATUS_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        struct model last = {0};

        begin_round(round, counter, stale);
        stale = round->handles[0];
        pthread_barrier_wait(round->barrier);
        pthread_barrier_wait(round->barrier);
        if (!has_an_order(round, &last)) {
            print_round(round);
            fail_msg("round %d: no order of its calls gives these outcomes", i);
        }
        overlaps += count_overlaps(round);
        end_round(round, &last, counter);
    }
    print_message("%d rounds, %llu pairs of calls at the same time\n", ROUNDS,
                  (unsigned long long)overlaps);
}

/* rules: start-twice, stop-not-started, close-not-last, close-last-stops,
 * duplicate-handle, duplicate-close-source, query-object-basic, stop-final */
static void
calls__racing_on_the_same_handles__some_order_gives_each_outcome(void **state)
{
    static struct round round;
    struct caller callers[CALLERS];
    pthread_barrier_t barrier;
    pthread_t hitter;

    (void)state;
    round = (struct round){.session = open_session(NTPROF_SESSION_POLLED),
                           .barrier = &barrier};
    round.processor = active_processor(round.session, 0);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, CALLERS + 2), 0);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] =
            (struct caller){.round = &round, .number = i, .random = (uint64_t)i + 1};
        assert_int_equal(
            pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]), 0);
    }
    assert_int_equal(pthread_create(&hitter, NULL, hitter_main, &round), 0);
    run_rounds(&round);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
    }
    pthread_join(hitter, NULL);
    pthread_barrier_destroy(&barrier);
    assert_null(sim_complaint(round.session->backend_context));
    close_session(round.session);
}

/* ---- Many threads, many profiles, nothing that orders them ---- */

enum { WORKERS = 5, STEPS = 4000, PLACES = 8, HITTERS = 2 };

/* The simulated machine runs anywhere in user space: 2 GB a counter. */
enum { WIDE_COUNTERS = 0x10000, WIDE_LOG2 = 31 };

struct storm {
    ntprof_session *session;
    ULONG *counters;
    ULONG counter_count;
    PVOID base;
    SIZE_T size;
    ULONG bucket_log2;
    HANDLE places[PLACES]; /* atomic; NULL: free */
    int running;           /* atomic: workers */
};

struct worker {
    pthread_t thread;
    struct storm *storm;
    ULONG processor; /* of a hitter */
    uint64_t random;
    uint64_t opened; /* handles */
    uint64_t closed;
    uint64_t started;
    uint64_t stopped;
    uint64_t counted;    /* counters that this hitter's hits incremented */
    uint64_t impossible; /* statuses that no order gives */
};

static bool
is_one_of(NTSTATUS status, NTSTATUS first, NTSTATUS second)
{
    return status == STATUS_SUCCESS || status == STATUS_INVALID_HANDLE ||
           status == first || status == second;
}

static void
keep_handle(struct worker *worker, HANDLE handle)
{
    HANDLE *const place = &worker->storm->places[draw(&worker->random) % PLACES];
    HANDLE nothing = NULL;

    worker->opened++;
    if (!__atomic_compare_exchange_n(place, &nothing, handle, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        /* Nobody else knows it. */
        worker->impossible += NtClose(handle) != STATUS_SUCCESS;
        worker->closed++;
    }
}

static void
storm_create(struct worker *worker)
{
    const struct storm *const storm = worker->storm;
    HANDLE handle = NULL;
    const NTSTATUS status = NtCreateProfileEx(
        &handle, SELF, storm->base, storm->size, storm->bucket_log2, storm->counters,
        storm->counter_count * (ULONG)sizeof(ULONG), ProfileTime, 0, NULL);

    if (status == STATUS_SUCCESS) {
        keep_handle(worker, handle);
    } else {
        worker->impossible++;
    }
}

static void
storm_duplicate(struct worker *worker, HANDLE source)
{
    HANDLE handle = NULL;
    const NTSTATUS status =
        NtDuplicateObject(SELF, source, SELF, &handle, 0, 0, DUPLICATE_SAME_ACCESS);

    worker->impossible += !is_one_of(status, STATUS_SUCCESS, STATUS_SUCCESS);
    if (status == STATUS_SUCCESS) {
        keep_handle(worker, handle);
    }
}

/* Frees the place first, or closes what another thread may be closing. */
static void
storm_close(struct worker *worker, HANDLE *place)
{
    const HANDLE handle = draw(&worker->random) % 2 == 0
                              ? __atomic_exchange_n(place, NULL, __ATOMIC_RELAXED)
                              : __atomic_load_n(place, __ATOMIC_RELAXED);
    const NTSTATUS status = NtClose(handle);

    worker->impossible += !is_one_of(status, STATUS_SUCCESS, STATUS_SUCCESS);
    worker->closed += status == STATUS_SUCCESS;
    /* Whoever closed it, it is closed now, and never comes back. */
    worker->impossible += NtStopProfile(handle) != STATUS_INVALID_HANDLE;
}

static void
storm_step(struct worker *worker)
{
    HANDLE *const place = &worker->storm->places[draw(&worker->random) % PLACES];
    const HANDLE handle = __atomic_load_n(place, __ATOMIC_RELAXED);
    OBJECT_BASIC_INFORMATION basic;
    NTSTATUS status;

    switch (draw(&worker->random) % 8) {
    case 0:
    case 1:
        storm_create(worker);
        break;
    case 2:
        storm_duplicate(worker, handle);
        break;
    case 3:
        status =
            NtQueryObject(handle, ObjectBasicInformation, &basic, sizeof(basic), NULL);
        worker->impossible += !is_one_of(status, STATUS_SUCCESS, STATUS_SUCCESS);
        break;
    case 4:
        storm_close(worker, place);
        break;
    case 5:
        status = NtStopProfile(handle);
        worker->impossible += !is_one_of(status, STATUS_PROFILING_NOT_STARTED,
                                         STATUS_PROFILING_NOT_STARTED);
        worker->stopped += status == STATUS_SUCCESS;
        break;
    default:
        status = NtStartProfile(handle);
        worker->impossible += !is_one_of(status, STATUS_PROFILING_NOT_STOPPED,
                                         STATUS_PROFILING_NOT_STOPPED);
        worker->started += status == STATUS_SUCCESS;
        break;
    }
}

static void *
storm_main(void *argument)
{
    struct worker *const worker = argument;

    ntprof_session_use(worker->storm->session);
    for (int i = 0; i < STEPS; i++) {
        storm_step(worker);
    }
    __atomic_fetch_sub(&worker->storm->running, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *
storm_hitter_main(void *argument)
{
    struct worker *const worker = argument;

    while (__atomic_load_n(&worker->storm->running, __ATOMIC_RELAXED) != 0) {
        worker->counted += hit(worker->storm->session, worker->processor);
    }
    return NULL;
}

static uint64_t
storm_sum(const struct storm *storm)
{
    uint64_t sum = 0;

    for (ULONG i = 0; i < storm->counter_count; i++) {
        sum += storm->counters[i];
    }
    return sum;
}

/* Closes what is still open; all statistics of handles and profiles must then be even.
 */
static void
storm_settle(struct storm *storm, const struct worker *sum)
{
    ntprof_session_info info = {.size = sizeof(info)};
    uint64_t closed = sum->closed;

    assert_int_equal(sum->impossible, 0);
    assert_true(sum->stopped <= sum->started);
    assert_true(sum->started > 0);
    assert_int_equal(ntprof_session_get_info(storm->session, &info), STATUS_SUCCESS);
    assert_true(info.started <= sum->started - sum->stopped);
    assert_true(info.started <= info.profiles);
    assert_true(info.profiles <= PLACES);
    for (int i = 0; i < PLACES; i++) {
        closed += NT_SUCCESS(NtClose(storm->places[i]));
    }
    assert_int_equal(closed, sum->opened);
    assert_int_equal(ntprof_session_get_info(storm->session, &info), STATUS_SUCCESS);
    assert_int_equal(info.profiles, 0);
    assert_int_equal(info.started, 0);
    assert_int_equal(storm->session->system.Ob.ObjectCount, 0);
}

/* Returns the sums of all workers and hitters. */
static struct worker
storm_run(struct storm *storm, ULONG hitters)
{
    struct worker workers[WORKERS + HITTERS];
    struct worker sum = {0};

    storm->running = WORKERS;
    for (ULONG i = 0; i < WORKERS + hitters; i++) {
        workers[i] = (struct worker){
            .storm = storm,
            .random = i + 1,
            .processor =
                i < WORKERS ? 0 : active_processor(storm->session, i - WORKERS)};
    }
    for (ULONG i = 0; i < WORKERS + hitters; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL,
                                        i < WORKERS ? storm_main : storm_hitter_main,
                                        &workers[i]),
                         0);
    }
    for (ULONG i = 0; i < WORKERS + hitters; i++) {
        pthread_join(workers[i].thread, NULL);
        sum.opened += workers[i].opened;
        sum.closed += workers[i].closed;
        sum.started += workers[i].started;
        sum.stopped += workers[i].stopped;
        sum.counted += workers[i].counted;
        sum.impossible += workers[i].impossible;
    }
    return sum;
}

static ntprof_source_info
time_statistics(ntprof_session *session)
{
    ntprof_source_info info = {.size = sizeof(info)};

    assert_int_equal(ntprof_source_get(session, ProfileTime, &info), STATUS_SUCCESS);
    return info;
}

/* rules: hit-atomic, hit-statistics, stop-final, close-last-stops, handle-bad-values */
static void
calls__many_profiles_while_hit_on_two_processors__every_hit_counted(void **state)
{
    ULONG *const counter = guarded_counters(1);
    struct storm storm = {.session = open_session(NTPROF_SESSION_POLLED),
                          .counters = counter,
                          .counter_count = 1,
                          .base = BASE,
                          .size = REGION_BYTES,
                          .bucket_log2 = BUCKET_LOG2};
    const bool two =
        active_processor(storm.session, 0) != active_processor(storm.session, 1);
    struct worker sum;
    HANDLE handle;
    ntprof_source_info statistics;

    (void)state;
    /* From now on the machine knows the process. */
    assert_int_equal(create_profile(&handle, counter), STATUS_SUCCESS);
    assert_int_equal(NtStartProfile(handle), STATUS_SUCCESS);
    assert_int_equal(NtClose(handle), STATUS_SUCCESS);
    sum = storm_run(&storm, two ? HITTERS : 1);
    storm_settle(&storm, &sum);
    assert_int_equal(*counter, (ULONG)sum.counted);
    statistics = time_statistics(storm.session);
    assert_int_equal(statistics.taken, statistics.counted + statistics.outside);
    assert_true(statistics.counted <= sum.counted);
    assert_int_equal(hit(storm.session, active_processor(storm.session, 0)), 0);
    assert_null(sim_complaint(storm.session->backend_context));
    close_session(storm.session);
}

/*
 * The session's own thread delivers. A hit counts once in each profile that is started,
 * so the sum of all counters lies between the hits that counted and that many for each
 * profile that can be started at once: one in each place, and one that each worker is
 * closing.
 */
static void
calls__many_profiles_while_a_thread_delivers__counters_and_statistics_agree(
    void **state)
{
    const size_t bytes = WIDE_COUNTERS * sizeof(ULONG);
    const bool wide = sizeof(void *) == 8;
    struct storm storm = {.session = open_session(0),
                          .counters = ntprof_buffer_alloc(bytes),
                          .counter_count = wide ? WIDE_COUNTERS : 1,
                          .base = NULL,
                          .bucket_log2 = WIDE_LOG2};
    struct worker sum;
    ntprof_source_info statistics;
    uint64_t counted;

    (void)state;
    assert_non_null(storm.counters);
    storm.size = wide ? (SIZE_T)WIDE_COUNTERS << (WIDE_LOG2 & (sizeof(SIZE_T) * 8 - 1))
                      : (SIZE_T)1 << 31;
    sum = storm_run(&storm, 0);
    storm_settle(&storm, &sum);
    counted = storm_sum(&storm);
    statistics = time_statistics(storm.session);
    assert_int_equal(statistics.taken, statistics.counted + statistics.outside);
    assert_true(counted >= statistics.counted);
    assert_true(counted <= statistics.counted * (PLACES + WORKERS));
    assert_null(sim_complaint(storm.session->backend_context));
    close_session(storm.session);
    ntprof_buffer_free(storm.counters, bytes);
}

/* ---- The default session ---- */

struct opener {
    pthread_t thread;
    pthread_barrier_t *barrier;
    ULONG *counter;
    NTSTATUS status;
    HANDLE handle;
};

static void *
opener_main(void *argument)
{
    struct opener *const opener = argument;

    pthread_barrier_wait(opener->barrier);
    opener->status = create_profile(&opener->handle, opener->counter);
    return NULL;
}

/* Whether there is a back end here or not, all learn the same; and it is one session.
 * Stays open, as a default session does, so this is the last test. */
static void
default_session__first_calls_of_many_threads__one_session(void **state)
{
    enum { OPENERS = 8 };
    ULONG *const counter = guarded_counters(1);
    struct opener openers[OPENERS];
    pthread_barrier_t barrier;

    (void)state;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, OPENERS), 0);
    for (int i = 0; i < OPENERS; i++) {
        openers[i] = (struct opener){.barrier = &barrier, .counter = counter};
        assert_int_equal(
            pthread_create(&openers[i].thread, NULL, opener_main, &openers[i]), 0);
    }
    for (int i = 0; i < OPENERS; i++) {
        pthread_join(openers[i].thread, NULL);
    }
    for (int i = 0; i < OPENERS; i++) {
        assert_int_equal(openers[i].status, openers[0].status);
        for (int k = 0; k < i && NT_SUCCESS(openers[i].status); k++) {
            assert_ptr_not_equal(openers[i].handle, openers[k].handle);
        }
    }
    for (int i = 0; i < OPENERS && NT_SUCCESS(openers[0].status); i++) {
        assert_int_equal(NtClose(openers[i].handle), STATUS_SUCCESS);
    }
    pthread_barrier_destroy(&barrier);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search__histories_that_can_be__order_found),
        cmocka_unit_test(search__histories_that_cannot_be__no_order),
        cmocka_unit_test(
            calls__racing_on_the_same_handles__some_order_gives_each_outcome),
        cmocka_unit_test(
            calls__many_profiles_while_hit_on_two_processors__every_hit_counted),
        cmocka_unit_test(
            calls__many_profiles_while_a_thread_delivers__counters_and_statistics_agree),
        cmocka_unit_test(default_session__first_calls_of_many_threads__one_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
