/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - what the integration tests of the library share: every test runs with a
 * session on each real back end, once as the caller and once as an ordinary user.
 *
 * Hits are made by calling slots: instructions at known addresses, on which breakpoints
 * of interval 1 make one hit for each call, so that counts are exact.
 */
#ifndef TESTS_INTEGRATION_FIXTURE_H
#define TESTS_INTEGRATION_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ntprof/ntprof.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- running ---- */

/*
 * fixture_run - run the tests of a program on the back end NTPROF_TEST_BACKEND; "perf"
 * if that is not set.
 *
 * As root they run twice: as root, and before that in a child that has become an
 * ordinary user; the names of those end in "__as_user". Where no ordinary user can use
 * the back end, the child keeps CAP_BPF and CAP_PERFMON, no other, and they end in
 * "__with_two_capabilities". Returns the exit status of the program.
 */
int fixture_run(const char *group, const struct CMUnitTest *tests, size_t count);

/* Opens the session that tests use, before each; closes it and looks for leaks after.
 */
int fixture_setup(void **state);
int fixture_teardown(void **state);

#define fixture_test(name) fixture_test_of(name, 0)

/* A test about something that not all back ends have; it is not run on others. */
#define fixture_test_of(name, needs)                     \
    {                                                    \
#name, name, fixture_setup, fixture_teardown,    \
            (void *)(uintptr_t)(needs) /* fixture_run */ \
    }

/* What back ends differ in. */
enum {
    FIXTURE_WATCHES = 1, /* ntprof_session_watch */
    FIXTURE_RINGS =
        2, /* hits wait in memory, which may be short, until they are delivered */
    /* A source's statistics have the hits of all processes, profiles or not. */
    FIXTURE_EVENTS_OF_ALL = 4,
    /* Counters are in the kernel's own pages, which are there and stay, and no limit
     * knows. */
    FIXTURE_MAPS = 16,
    FIXTURE_LINEAR =
        8 /* of each hit, also of one of the clock in a segment with a base */
};

/* Has the back end all of these? */
bool fixture_has(unsigned what);

/* Its name. */
extern const char *backend;

/* The session of the test that runs; the calling thread's Nt calls go to it. */
extern ntprof_session *session;

/* Closes the session and opens one with other options; the back end is the tested one.
 */
void fixture_reopen(const ntprof_session_options *options);

/* The time by the clock that notifications and hits are said to have. */
uint64_t fixture_now_ns(void);

bool is_root(void);

/* Has the caller NT's privilege to profile all processes, and may it measure the
 * kernel? */
bool may_profile_all(void);

/* Says why and skips the test. */
void skip_because(const char *reason);

/* ---- slots ---- */

enum { SLOT_BYTES = 16, SLOT_COUNT = 256 };

/* SLOT_COUNT functions that do nothing, one page in all. */
extern const char slots[];

/* Executes the instruction at address times times. */
void call_address(uint64_t address, uint64_t times);
void call_slot(size_t slot, uint64_t times);
uint64_t slot_address(size_t slot);

/* Of the source that counts executions of the instruction there:
 * "breakpoint:0xADDRESS"; where breakpoints do not fire, as root over perf, a uprobe if
 * it is in a slot. */
void name_source_at(char *name, size_t size, uint64_t address);

/* That source; skips the test where there is none. */
KPROFILE_SOURCE breakpoint_at(ntprof_session *where, uint64_t address);
KPROFILE_SOURCE slot_source(size_t slot);

/* The same for a place of a file, which is mapped at the address in all that is
 * counted: where breakpoints do not fire, as root over perf, a uprobe. */
KPROFILE_SOURCE file_source(ntprof_session *where, const char *path, uint64_t offset,
                            uint64_t address);

/* need_exact_source - skips the test with the reason where slots have no such source:
 * its first statement, so that nothing is left open. need_breakpoints is for tests
 * about breakpoints, and of code outside of slots. */
void need_exact_source(void);

/* Where code is made at run time: nothing else uses it, and sanitizers leave it alone.
 */
#define FIXED_ADDRESS UINT64_C(0x7ea000000000)

/* Writes slots into memory that can be written. */
void write_slots(void *page);

/* A page of slots in a file that all users can read, and the source of its first slot
 * where it is mapped at FIXED_ADDRESS. */
const char *slots_path(void);
KPROFILE_SOURCE fixed_source(ntprof_session *where);

/* Maps that page there, without cmocka. Returns 0 or -1. */
int map_fixed_slots(void);

/* ---- profiles ---- */

HANDLE create_profile(HANDLE process, uint64_t base, uint64_t size, ULONG log2,
                      ULONG *counters, size_t count, KPROFILE_SOURCE source);

/* A started profile over all slots with a counter for each: SLOT_COUNT. */
HANDLE start_slots(HANDLE process, ULONG *counters, KPROFILE_SOURCE source);

void assert_status(NTSTATUS status, NTSTATUS expected);
void assert_success(NTSTATUS status);

uint64_t sum_counters(const ULONG *counters, size_t count);

/* All counters are 0 but this one. */
void assert_only(const ULONG *counters, size_t count, size_t index, ULONG value);

/* The statistics of a source, which must add up. */
ntprof_source_info read_statistics(ntprof_session *where, KPROFILE_SOURCE source);

/* They add up, and say that exactly so many hits were made and none went missing. */
void assert_exact_statistics(ntprof_session *where, KPROFILE_SOURCE source,
                             uint64_t taken, uint64_t counted);

/* The same where processes without profiles have made more, which are in the statistics
 * of events of all. */
void assert_statistics_beside(ntprof_session *where, KPROFILE_SOURCE source,
                              uint64_t own, uint64_t counted, uint64_t beside);

/* ---- processors and processes ---- */

/* The first processors that this process may use; returns how many there are, at most
 * limit. */
size_t usable_processors(size_t *processors, size_t limit);
void pin_to(size_t processor);

/* A forked child that waits for the word. In the body, no cmocka. */
struct peer {
    pid_t pid;
    int to_fd;
    int from_fd;
};

typedef int peer_body(const struct peer *test, void *argument);

void peer_start(struct peer *peer, peer_body *body, void *argument);
/* For both sides: a word to the other one, and from it. */
void peer_tell(const struct peer *peer, uint64_t word);
uint64_t peer_hear(const struct peer *peer);
/* Waits for its end, which must be exit status 0. */
void peer_finish(struct peer *peer);

HANDLE open_process(pid_t pid);

/* ntprof_session_watch of a peer with one source. */
void watch_peer(const struct peer *peer, uint32_t flags, KPROFILE_SOURCE source);

/* Path of a program or library of programs/, from the environment that meson.build
 * sets. */
const char *program_path(const char *name);

#endif
