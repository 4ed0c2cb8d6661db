/* SPDX-License-Identifier: MIT */
/*
 * conformance.c - the same calls on the tested back end and on the simulated machine,
 * which the tables of tests/conformance hold to the rules: each status is the same, for
 * each version and word size.
 *
 * What is drawn has faults in many arguments at once, so that the order of checks is
 * compared as well. Sources that only some machines have are left out.
 */
#include "fixture.h"
#include "guarded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { COUNTERS = 1024, DRAWS = 60 };

/* ---- what is drawn ---- */

static uint64_t drawn;

static size_t
draw(size_t below)
{
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(drawn >> 33) % below;
}

/* Good ones come first and more often, or little would ever be created. */
static size_t
draw_mostly_first(size_t below)
{
    return draw(4) == 0 ? draw(below) : 0;
}

#define DRAW(array) ((array)[draw_mostly_first(sizeof(array) / sizeof((array)[0]))])

/* The first of each is good, with the others' first ones. */
static const uint64_t bases[] = {0x401000,
                                 0,
                                 0x33,
                                 0xFFFC,
                                 0x10000,
                                 0x401001,
                                 0x7FFEFFF0,
                                 0x80000000,
                                 0xFFFFFFF0,
                                 UINT64_C(0x7FFFFFFFF000),
                                 UINT64_C(0xFFFF800000000000),
                                 UINT64_C(0xFFFFFFFFFFFFFFF0)};
static const uint64_t sizes[] = {64, 0,    1,       4,          16,
                                 65, 4096, 0x10000, 0xFFFFFFFF, UINT64_C(1) << 40};
static const ULONG logs[] = {4, 0, 1, 2, 5, 12, 31, 32};
static const ULONG buffer_sizes[] = {16, 0, 3, 4, 6, 64, 4096, 0x80000000};
static const KPROFILE_SOURCE drawn_sources[] = {ProfileTime, 0x1000, ProfileMaximum,
                                                0x10000, 0xFFFFFFFF};

enum process { OWN, ALL, CLOSED, PROFILE, PROCESSES };
enum place { GOOD, MISALIGNED, READ_ONLY, UNMAPPED, PLACES };
enum call { EX, NINE, SEVEN, CALLS };

/* One request, the same for both sessions but for what is theirs. */
struct request {
    enum call call;
    enum process process;
    enum place buffer;
    enum place handle;
    uint64_t base;
    uint64_t size;
    ULONG log2;
    ULONG bytes;
    KPROFILE_SOURCE source;
    GROUP_AFFINITY group;
    USHORT groups;
    KAFFINITY affinity;
};

static struct request
draw_request(void)
{
    static const KAFFINITY masks[] = {~(KAFFINITY)0, 1, 0, (KAFFINITY)1 << 62};

    return (struct request){
        .call = (enum call)draw(CALLS),
        .process = (enum process)draw_mostly_first(PROCESSES),
        .buffer = (enum place)draw_mostly_first(PLACES),
        .handle = (enum place)draw_mostly_first(PLACES),
        .base = DRAW(bases),
        .size = DRAW(sizes),
        .log2 = DRAW(logs),
        .bytes = DRAW(buffer_sizes),
        .source = DRAW(drawn_sources),
        .group = {.Mask = DRAW(masks), .Group = (USHORT)draw_mostly_first(3)},
        .groups = (USHORT)draw_mostly_first(2),
        .affinity = DRAW(masks),
    };
}

/* ---- what comes out ---- */

enum { STEPS = 8 };

struct outcome {
    NTSTATUS statuses[STEPS];
    bool created;
};

/* What is of one session. */
struct side {
    ntprof_session *session;
    HANDLE profile; /* another one */
    HANDLE closed;
    ULONG *counters;
    unsigned char *read_only;
};

static void *
place_of(const struct side *side, enum place place, void *good)
{
    switch (place) {
    case GOOD:
        return good;
    case MISALIGNED:
        return (char *)good + 2;
    case READ_ONLY:
        return side->read_only;
    default:
        return (void *)(uintptr_t)0x5000;
    }
}

static HANDLE
process_of(const struct side *side, enum process process)
{
    switch (process) {
    case OWN:
        return NtCurrentProcess();
    case ALL:
        return NULL;
    case CLOSED:
        return side->closed;
    default:
        return side->profile;
    }
}

static NTSTATUS
create_as(const struct side *side, const struct request *request, HANDLE *made)
{
    HANDLE process = process_of(side, request->process);
    PVOID const base = (PVOID)(uintptr_t)request->base;
    ULONG *const counters = place_of(side, request->buffer, side->counters);
    GROUP_AFFINITY group = request->group;
    HANDLE *const handle =
        request->handle == MISALIGNED ? made : place_of(side, request->handle, made);

    switch (request->call) {
    case EX:
        return NtCreateProfileEx(handle, process, base, (SIZE_T)request->size,
                                 request->log2, counters, request->bytes,
                                 request->source, request->groups, &group);
    case NINE:
        return NtCreateProfile(handle, process, base, (SIZE_T)request->size,
                               request->log2, counters, request->bytes, request->source,
                               request->affinity);
    default:
        return ntprof_NtCreateProfile310(handle, process, base, (SIZE_T)request->size,
                                         request->log2, counters, request->bytes);
    }
}

/* Created, and then started and stopped once more than it may be. */
static struct outcome
try_on(const struct side *side, const struct request *request)
{
    struct outcome outcome;
    ULONG interval;
    HANDLE made = NULL;

    ntprof_session_use(side->session);
    outcome.statuses[0] = create_as(side, request, &made);
    outcome.created = NT_SUCCESS(outcome.statuses[0]);
    outcome.statuses[1] = NtStartProfile(made);
    outcome.statuses[2] = NtStartProfile(made);
    outcome.statuses[3] = NtStopProfile(made);
    outcome.statuses[4] = NtStopProfile(made);
    outcome.statuses[5] = NtQueryIntervalProfile(request->source, &interval);
    outcome.statuses[6] = NtClose(made);
    outcome.statuses[7] = NtClose(made);
    return outcome;
}

/* ---- both ---- */

static const char *const version_names[] = {"3.10", "3.50", "3.51", "4.0",  "4.0 SP4",
                                            "5.0",  "5.1",  "5.2",  "6.0",  "6.1",
                                            "6.2",  "6.3",  "10.0", "1511", "1607",
                                            "1703", "1709", "1803", "1809", "newest"};

static void
side_open(struct side *side, const char *name, uint32_t version, uint32_t abi)
{
    const ntprof_session_options options = {
        .size = sizeof(options), .backend = name, .nt_version = version, .abi = abi};
    struct request good = {.base = 0x401000, .size = 64, .log2 = 4, .bytes = 64};
    struct guarded page = guarded_make(1, MAP_PRIVATE);

    assert_success(ntprof_session_open(&options, &side->session));
    ntprof_session_use(side->session);
    side->counters = guarded_counters(COUNTERS);
    side->read_only = page.pages;
    assert_int_equal(mprotect(page.pages, page.bytes, PROT_READ), 0);
    good.affinity = ~(KAFFINITY)0;
    good.call = version == NTPROF_NT_3_10 || version == NTPROF_NT_3_50 ? SEVEN : NINE;
    assert_success(create_as(side, &good, &side->profile));
    assert_success(create_as(side, &good, &side->closed));
    assert_success(NtClose(side->closed));
}

static void
side_close(struct side *side)
{
    ntprof_session_use(NULL);
    ntprof_session_close(side->session);
}

static void
describe(char *text, size_t bytes, const struct request *request)
{
    snprintf(text, bytes,
             "call %d process %d buffer %d handle %d base 0x%llx size 0x%llx bucket %u "
             "n %u source 0x%x groups %u mask 0x%llx group %u affinity 0x%llx",
             request->call, request->process, request->buffer, request->handle,
             (unsigned long long)request->base, (unsigned long long)request->size,
             request->log2, request->bytes, request->source, request->groups,
             (unsigned long long)request->group.Mask, request->group.Group,
             (unsigned long long)request->affinity);
}

static size_t
compare(struct side sides[2], const char *version)
{
    const struct request request = draw_request();
    const struct outcome live = try_on(&sides[0], &request);
    const struct outcome simulated = try_on(&sides[1], &request);
    /* Whose privilege a create does not ask for, the kernel may ask for it at a start.
     */
    const size_t steps = request.process == ALL && !may_profile_all() ? 1 : STEPS;
    char text[512];

    for (size_t i = 0; i < steps; i++) {
        if (live.statuses[i] != simulated.statuses[i]) {
            describe(text, sizeof(text), &request);
            fail_msg("%s, step %zu: %s on %s, %s simulated: %s", version, i,
                     ntprof_status_name(live.statuses[i]), backend,
                     ntprof_status_name(simulated.statuses[i]), text);
        }
    }
    return live.created;
}

static void
calls__on_the_back_end_and_simulated__same_statuses(void **state)
{
    static const uint32_t abis[] = {NTPROF_ABI_X64, NTPROF_ABI_X86};
    size_t created = 0;
    size_t tried = 0;

    (void)state;
    drawn = 4;
    for (size_t i = 0; i < sizeof(version_names) / sizeof(version_names[0]); i++) {
        for (size_t j = 0; j < 2; j++) {
            struct side sides[2];
            uint32_t version;

            assert_success(ntprof_nt_version_lookup(version_names[i], &version));
            side_open(&sides[0], backend, version, abis[j]);
            side_open(&sides[1], "sim", version, abis[j]);
            for (size_t k = 0; k < DRAWS; k++) {
                created += compare(sides, version_names[i]);
                tried++;
            }
            side_close(&sides[1]);
            side_close(&sides[0]);
        }
    }
    ntprof_session_use(session);
    print_message("%zu requests, %zu created\n", tried, created);
    assert_true(created > tried / 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(calls__on_the_back_end_and_simulated__same_statuses),
    };

    return fixture_run("conformance", tests, sizeof(tests) / sizeof(tests[0]));
}
