/* SPDX-License-Identifier: MIT */
/*
 * whole_machine.c - watches of all processes: everybody is told, each hit counts once,
 * and nothing of a short life is missed.
 *
 * Whatever else runs on the machine is told too. Every notification goes through a
 * model of who lives and what is mapped, which finds what contradicts what came before.
 * Exact counts come from addresses that only the test's own processes run.
 */
#include "breakpoints.h"
#include "fixture.h"
#include "guarded.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOT = 30, PAGE_BYTES = 4096 };

/* ---- who lives ---- */

struct range {
    uint64_t base;
    uint64_t length;
};

struct life {
    uint32_t pid;
    uint32_t parent_pid;
    bool live;
    uint32_t starts;
    uint32_t execs;
    char name[64];
    struct range *ranges;
    size_t range_count;
    size_t range_capacity;
};

static struct world {
    struct life *lives;
    size_t count;
    size_t capacity;
    uint32_t starts;
    uint32_t losses;
    char complaint[160]; /* the first contradiction */
} world;

static void
world_clear(void)
{
    for (size_t i = 0; i < world.count; i++) {
        free(world.lives[i].ranges);
    }
    free(world.lives);
    memset(&world, 0, sizeof(world));
}

static struct life *
world_find(uint32_t pid)
{
    for (size_t i = 0; i < world.count; i++) {
        if (world.lives[i].pid == pid) {
            return &world.lives[i];
        }
    }
    return NULL;
}

static void
complain(const char *text, const ntprof_notification *notification)
{
    if (world.complaint[0] == 0) {
        snprintf(world.complaint, sizeof(world.complaint),
                 "%s: pid %" PRIu32 ", base 0x%" PRIx64 ", name %s", text,
                 notification->pid, notification->base, notification->name);
    }
}

static void
world_start(const ntprof_notification *notification)
{
    struct life *life = world_find(notification->pid);

    if (life == NULL) {
        if (world.count == world.capacity) {
            world.capacity = world.capacity * 2 + 256;
            world.lives = realloc(world.lives, world.capacity * sizeof(*life));
            if (world.lives == NULL) {
                abort();
            }
        }
        life = &world.lives[world.count++];
        *life = (struct life){.pid = notification->pid};
    }
    if (life->live) {
        complain("started twice", notification);
    }
    life->live = true;
    life->starts++;
    life->parent_pid = notification->parent_pid;
    life->range_count = 0;
    snprintf(life->name, sizeof(life->name), "%s", notification->name);
    world.starts++;
}

static void
world_map(struct life *life, const ntprof_notification *notification)
{
    for (size_t i = 0; i < life->range_count; i++) {
        const struct range *const range = &life->ranges[i];

        if (notification->base < range->base + range->length &&
            range->base < notification->base + notification->length) {
            complain("mapped over what is mapped", notification);
        }
    }
    if (life->range_count == life->range_capacity) {
        life->range_capacity = life->range_capacity * 2 + 16;
        life->ranges =
            realloc(life->ranges, life->range_capacity * sizeof(*life->ranges));
        if (life->ranges == NULL) {
            abort();
        }
    }
    life->ranges[life->range_count++] =
        (struct range){notification->base, notification->length};
}

static void
world_unmap(struct life *life, const ntprof_notification *notification)
{
    for (size_t i = 0; i < life->range_count; i++) {
        if (life->ranges[i].base == notification->base &&
            life->ranges[i].length == notification->length) {
            life->ranges[i] = life->ranges[--life->range_count];
            return;
        }
    }
    complain("unmapped what is not mapped", notification);
}

static void
world_change(struct life *life, const ntprof_notification *notification)
{
    switch (notification->kind) {
    case NTPROF_PROCESS_EXEC:
    case NTPROF_PROCESS_EXIT:
        if (life->range_count != 0) {
            complain("something is still mapped", notification);
        }
        life->live = notification->kind == NTPROF_PROCESS_EXEC;
        life->execs += notification->kind == NTPROF_PROCESS_EXEC;
        break;
    case NTPROF_IMAGE_MAP:
        world_map(life, notification);
        break;
    case NTPROF_IMAGE_UNMAP:
        world_unmap(life, notification);
        break;
    default:
        break;
    }
    if (notification->kind == NTPROF_PROCESS_EXEC ||
        notification->kind == NTPROF_PROCESS_NAME) {
        snprintf(life->name, sizeof(life->name), "%s", notification->name);
    }
}

static void
world_notify(void *context, const ntprof_notification *notification)
{
    struct life *life;

    (void)context;
    if (notification->kind == NTPROF_RECORDS_LOST) {
        world.losses++;
        return;
    }
    if (notification->kind == NTPROF_PROCESS_START) {
        world_start(notification);
        return;
    }
    life = world_find(notification->pid);
    if (life == NULL || !life->live) {
        complain("told of a process that does not live", notification);
        return;
    }
    world_change(life, notification);
}

/* Nor after a loss, which is told, where this thread had no processor while a ring
 * filled. */
static void
assert_no_contradiction(void)
{
    assert_success(ntprof_session_flush(session));
    assert_string_equal(world.complaint, "");
}

static void
assert_world(void)
{
    assert_no_contradiction();
    assert_int_equal(world.losses, 0);
}

/* Runs a process with this number, more than as what its parent has not waited for? */
static bool
is_running(uint32_t pid)
{
    char path[64];
    char text[512];
    const char *behind_name;
    ssize_t got = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    if (got <= 0) {
        return false;
    }
    text[got] = 0;
    behind_name = strrchr(text, ')');
    return behind_name != NULL && behind_name[2] != 'Z' && behind_name[2] != 'X';
}

/* Will it be told whether this process lives? A birth is told a moment after it can be
 * seen, so this waits, far longer than any machine takes; unless the process ends, or a
 * new one has its number. */
static void
await_truth(uint32_t pid)
{
    const uint64_t until_ns = fixture_now_ns() + 60000000000;

    for (;;) {
        const struct life *const life = world_find(pid);
        const bool told = life != NULL && life->live;
        const bool runs = is_running(pid);

        if (told == runs) {
            return;
        }
        if (fixture_now_ns() > until_ns) {
            fail_msg("process %" PRIu32 " %s %s, parent %" PRIu32 ", but %s; %" PRIu32
                     " losses",
                     pid, told ? "is told as" : "is not told",
                     life != NULL ? life->name : "",
                     life != NULL ? life->parent_pid : 0,
                     runs ? "runs" : "does not run", world.losses);
        }
        usleep(1000);
        assert_success(ntprof_session_flush(session));
    }
}

/* Who runs is told, and who is told runs. Of those up to now: amid a storm more come
 * meanwhile, perhaps for ever. */
static void
assert_world_is_true(void)
{
    DIR *const folder = opendir("/proc");
    const struct dirent *entry;
    uint32_t *pids = NULL;
    size_t count = 0;

    assert_success(ntprof_session_flush(session));
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        const uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

        if (pid != 0) {
            pids = realloc(pids, (count + 1) * sizeof(*pids));
            assert_non_null(pids);
            pids[count++] = pid;
        }
    }
    closedir(folder);
    for (size_t i = 0; i < count; i++) {
        await_truth(pids[i]);
    }
    free(pids);
    count = world.count;
    for (size_t i = 0; i < count; i++) {
        if (world.lives[i].pid != 0) {
            await_truth(world.lives[i].pid);
        }
    }
    assert_string_equal(world.complaint, "");
}

/* ---- watching ---- */

static bool
may_watch_all(void)
{
    ntprof_backend_info info = {.size = sizeof(info)};

    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
        if (strcmp(info.name, backend) == 0) {
            return info.global != 0;
        }
    }
    return false;
}

static NTSTATUS
try_watch_all(const KPROFILE_SOURCE *sources, uint32_t count,
              const GROUP_AFFINITY *affinity)
{
    const ntprof_watch_options options = {
        .size = sizeof(options),
        .source_count = count,
        .sources = sources,
        .affinity = affinity,
        .affinity_count = affinity != NULL,
    };

    return ntprof_session_watch(session, NULL, &options);
}

/* Else it has been seen to be refused. */
static bool
is_allowed(void)
{
    if (!may_watch_all()) {
        assert_status(try_watch_all(NULL, 0, NULL), STATUS_PRIVILEGE_NOT_HELD);
        return false;
    }
    return true;
}

static void
watch_all(KPROFILE_SOURCE source)
{
    assert_success(try_watch_all(&source, 1, NULL));
}

/* Notifications come at the test's own calls: what they change, it may look at in
 * between. */
static void
reopen_polled(const ntprof_source_interval *interval)
{
    const ntprof_session_options options = {
        .size = sizeof(options),
        .flags = NTPROF_SESSION_POLLED,
        .intervals = interval,
        .interval_count = interval != NULL,
    };

    fixture_reopen(&options);
}

static int
setup(void **state)
{
    const int result = fixture_setup(state);

    world_clear();
    if (result == 0) {
        reopen_polled(NULL);
    }
    return result;
}

static int
teardown(void **state)
{
    const int result = fixture_teardown(state);

    world_clear();
    return result;
}

#define world_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- refusals ---- */

static void
watch_all__without_the_privilege__refused_with_the_reason(void **state)
{
    const KPROFILE_SOURCE source = ProfileTime;
    ntprof_session_info info = {.size = sizeof(info)};

    (void)state;
    if (may_watch_all()) {
        return; /* the ordinary user's half of this program may not, as a rule */
    }
    ntprof_session_set_notify(session, world_notify, NULL);
    assert_status(try_watch_all(&source, 1, NULL), STATUS_PRIVILEGE_NOT_HELD);
    assert_non_null(strstr(ntprof_session_error(session), "all processes"));
    assert_true(strstr(ntprof_session_error(session), "perf_event_paranoid") != NULL ||
                strstr(ntprof_session_error(session), "seccomp") != NULL);
    assert_status(ntprof_session_watch(session, NULL, NULL), STATUS_PRIVILEGE_NOT_HELD);
    assert_int_equal(world.starts, 0);
    assert_success(ntprof_session_get_info(session, &info));
    assert_int_equal(info.processes, 0);
    assert_int_equal(info.unread, 0);
}

static void
watch_all__flags_of_one_process__refused(void **state)
{
    static const uint32_t flags[] = {NTPROF_WATCH_DESCENDANTS, NTPROF_WATCH_ON_EXEC,
                                     NTPROF_WATCH_DESCENDANTS | NTPROF_WATCH_ON_EXEC,
                                     0x80};

    (void)state;
    ntprof_session_set_notify(session, world_notify, NULL);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        const ntprof_watch_options options = {.size = sizeof(options),
                                              .flags = flags[i]};

        assert_status(ntprof_session_watch(session, NULL, &options),
                      STATUS_INVALID_PARAMETER);
    }
    assert_int_equal(world.starts, 0);
}

static void
watch_all__source_not_there__refused_before_all_else(void **state)
{
    const KPROFILE_SOURCE source = ProfileLoadInstructions;

    (void)state;
    ntprof_session_set_notify(session, world_notify, NULL);
    assert_status(try_watch_all(&source, 1, NULL), STATUS_NOT_SUPPORTED);
    assert_int_equal(world.starts, 0);
}

/* ---- who is told ---- */

static int
wait_for_the_end(const struct peer *test, void *argument)
{
    (void)argument;
    peer_tell(test, 1);
    peer_hear(test);
    return 0;
}

static const struct life *
assert_told(uint32_t pid)
{
    const struct life *const life = world_find(pid);

    if (life == NULL || !life->live) {
        fail_msg("process %" PRIu32 " was not told", pid);
        abort(); /* fail_msg never returns, which not every tool knows */
    }
    return life;
}

static bool
has_mapped(const struct life *life, uint64_t address)
{
    for (size_t i = 0; i < life->range_count; i++) {
        if (address - life->ranges[i].base < life->ranges[i].length) {
            return true;
        }
    }
    return false;
}

static void
watch_all__who_runs_already__is_told_once(void **state)
{
    const struct life *life;
    ntprof_session_info info = {.size = sizeof(info)};
    struct peer peer;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    peer_start(&peer, wait_for_the_end, NULL);
    peer_hear(&peer);
    ntprof_session_set_notify(session, world_notify, NULL);
    assert_success(ntprof_session_watch(session, NULL, NULL));
    life = assert_told((uint32_t)getpid());
    assert_true(has_mapped(life, slot_address(0)));
    assert_int_equal(life->parent_pid, 0);
    life = assert_told((uint32_t)peer.pid);
    assert_true(has_mapped(life, slot_address(0)));
    life = assert_told(0);
    assert_int_equal(life->range_count, 0);
    assert_world_is_true();

    assert_success(ntprof_session_get_info(session, &info));
    assert_true(info.processes >= 2);
    assert_true(info.ring_bytes > 0);

    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_world();
    assert_false(world_find((uint32_t)peer.pid)->live);
    assert_true(world_find((uint32_t)getpid())->live);
}

static void
watch_all__kernel_threads__have_names_and_no_mappings(void **state)
{
    const struct life *life;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    ntprof_session_set_notify(session, world_notify, NULL);
    assert_success(ntprof_session_watch(session, NULL, NULL));
    assert_world();
    life = assert_told(0);
    if (strcmp(life->name, "swapper") != 0) {
        assert_string_equal(life->name, "(others)");
        skip_because("kernel threads are not of this pid namespace");
    }
    life = assert_told(2);
    assert_string_equal(life->name, "kthreadd");
    assert_int_equal(life->range_count, 0);
}

/* A process that has ended but was not waited for is nobody. */
static void
watch_all__what_has_ended_already__is_not_told(void **state)
{
    const pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        _exit(0);
    }
    assert_true(child > 0);
    while (is_running((uint32_t)child)) {
        usleep(1000);
    }
    if (may_watch_all()) {
        ntprof_session_set_notify(session, world_notify, NULL);
        assert_success(ntprof_session_watch(session, NULL, NULL));
        assert_world();
        assert_null(world_find((uint32_t)child));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
}

/* ---- processes that come and go ---- */

/* Where the test's own processes alone have code, whatever else runs on the machine. */
static uint64_t
own_address(void)
{
    return UINT64_C(0x7eb000000000) +
           (uint64_t)getpid() * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Becomes the program that calls the first slot of a page at address so many times. The
 * page is anonymous memory, or where breakpoints do not fire of the file whose uprobe
 * counts. */
static void
become_caller(const char *program, uint64_t address, unsigned calls)
{
    const char *const mapped = breakpoints_fire() ? NULL : "0";
    char address_text[32];
    char calls_text[16];
    const int fd = open(slots_path(), O_RDONLY);

    snprintf(address_text, sizeof(address_text), "%" PRIx64, address);
    snprintf(calls_text, sizeof(calls_text), "%u", calls);
    if (fd < 0 || dup2(fd, 0) != 0) {
        _exit(125);
    }
    execl(program, program, address_text, calls_text, mapped, (char *)NULL);
    _exit(126);
}

static pid_t
spawn_caller(const char *program, uint64_t address, unsigned calls)
{
    const pid_t child = fork();

    if (child == 0) {
        become_caller(program, address, calls);
    }
    return child;
}

static bool
reap_one(void)
{
    int status;

    return wait(&status) > 0 && status == 0;
}

/* Runs count of them, so many at a time. */
static bool
spawn_callers(unsigned count, unsigned at_a_time, uint64_t address, unsigned calls)
{
    const char *const program = program_path("PAGE_CALLER");
    unsigned running = 0;
    bool fine = true;

    for (unsigned i = 0; i < count; i++) {
        if (spawn_caller(program, address, calls) < 0) {
            fine = false;
            break;
        }
        if (++running == at_a_time) {
            fine = reap_one() && fine;
            running--;
        }
    }
    for (; running > 0; running--) {
        fine = reap_one() && fine;
    }
    return fine;
}

enum { SHORT_LIVES = 500, SHORT_CALLS = 7 };

/* Each process gets a profile over its page, which its notification starts. */
static struct short_lives {
    uint64_t address;
    KPROFILE_SOURCE source;
    ULONG *counters; /* one a process */
    HANDLE profiles[SHORT_LIVES];
    uint32_t pids[SHORT_LIVES];
    size_t count;
    NTSTATUS failure;
} shorts;

static void
shorts_note(NTSTATUS status)
{
    if (!NT_SUCCESS(status)) {
        shorts.failure = status;
    }
}

static void
shorts_begin(const ntprof_notification *notification)
{
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)notification->pid};
    const size_t index = shorts.count;
    HANDLE process = NULL;

    if (index == SHORT_LIVES) {
        shorts.failure = STATUS_UNSUCCESSFUL;
        return;
    }
    shorts_note(NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &client));
    shorts_note(NtCreateProfileEx(
        &shorts.profiles[index], process, (PVOID)(uintptr_t)notification->base,
        (SIZE_T)notification->length, 12, &shorts.counters[index], sizeof(ULONG),
        shorts.source, 0, NULL));
    shorts_note(NtStartProfile(shorts.profiles[index]));
    shorts_note(NtClose(process));
    shorts.pids[index] = notification->pid;
    shorts.count++;
}

static void
shorts_end(const ntprof_notification *notification)
{
    for (size_t i = 0; i < shorts.count; i++) {
        if (shorts.pids[i] == notification->pid && shorts.profiles[i] != NULL) {
            shorts_note(NtClose(shorts.profiles[i]));
            shorts.profiles[i] = NULL;
        }
    }
}

static void
shorts_notify(void *context, const ntprof_notification *notification)
{
    (void)context;
    if (notification->kind == NTPROF_RECORDS_LOST) {
        shorts.failure = STATUS_UNSUCCESSFUL;
    }
    if (notification->base == shorts.address) {
        if (notification->kind == NTPROF_IMAGE_MAP) {
            shorts_begin(notification);
        } else {
            shorts_end(notification);
        }
    }
}

static void
watch_all__500_short_processes__every_hit_is_counted(void **state)
{
    ULONG *const all = guarded_counters(1);
    HANDLE profile;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    fixture_reopen(NULL); /* its thread delivers */
    memset(&shorts, 0, sizeof(shorts));
    shorts.address = own_address();
    shorts.source = file_source(session, slots_path(), 0, shorts.address);
    shorts.counters = guarded_counters(SHORT_LIVES);
    ntprof_session_set_notify(session, shorts_notify, NULL);
    watch_all(shorts.source);
    profile =
        create_profile(NULL, shorts.address, PAGE_BYTES, 12, all, 1, shorts.source);
    assert_success(NtStartProfile(profile));

    assert_true(spawn_callers(SHORT_LIVES, 8, shorts.address, SHORT_CALLS));
    assert_success(ntprof_session_flush(session));
    ntprof_session_set_notify(session, NULL, NULL);
    assert_success(shorts.failure);
    assert_success(NtStopProfile(profile));
    assert_int_equal(all[0], SHORT_LIVES * SHORT_CALLS);
    assert_int_equal(shorts.count, SHORT_LIVES);
    for (size_t i = 0; i < SHORT_LIVES; i++) {
        assert_null(shorts.profiles[i]);
        assert_int_equal(shorts.counters[i], SHORT_CALLS);
    }
    assert_exact_statistics(session, shorts.source, SHORT_LIVES * SHORT_CALLS,
                            SHORT_LIVES * SHORT_CALLS);
    assert_success(NtClose(profile));
}

/* Forks, runs programs and ends without a pause, until the test says so. */
static int
make_a_storm(const struct peer *test, void *argument)
{
    pid_t workers[3];

    (void)argument;
    for (size_t i = 0; i < 3; i++) {
        workers[i] = fork();
        if (workers[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) {
                if (!spawn_callers(10, 3, own_address(), 1)) {
                    _exit(1);
                }
            }
        }
    }
    peer_tell(test, 1);
    peer_hear(test);
    for (size_t i = 0; i < 3; i++) {
        kill(workers[i], SIGKILL);
        waitpid(workers[i], NULL, 0);
    }
    return 0;
}

static void
watch_all__amid_a_storm_of_processes__nothing_contradicts(void **state)
{
    enum { ROUNDS = 20 };
    struct peer peer;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    peer_start(&peer, make_a_storm, NULL);
    peer_hear(&peer);
    for (int round = 0; round < ROUNDS; round++) {
        reopen_polled(NULL);
        world_clear();
        ntprof_session_set_notify(session, world_notify, NULL);
        assert_success(ntprof_session_watch(session, NULL, NULL));
        assert_no_contradiction();
        assert_true(world.starts > 4);
    }
    assert_world_is_true();
    peer_tell(&peer, 1);
    peer_finish(&peer);
    assert_no_contradiction();
    assert_world_is_true();
}

/* ---- each hit once ---- */

static int
call_when_told(const struct peer *test, void *argument)
{
    uint64_t times;

    if (argument != NULL) {
        pin_to(*(const size_t *)argument);
    }
    while ((times = peer_hear(test)) != 0) {
        if (times == UINT64_MAX) {
            return 1;
        }
        call_slot(SLOT, times);
        peer_tell(test, times);
    }
    return 0;
}

static void
have_it_call(const struct peer *peer, uint64_t times)
{
    peer_tell(peer, times);
    assert_int_equal(peer_hear(peer), times);
}

static void
end_caller(struct peer *peer)
{
    peer_tell(peer, 0);
    peer_finish(peer);
}

/* Profiles that are started later open nothing of their own. */
static void
watch_all__profiles_started_later__each_hit_counts_once(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    ULONG *const of_one = guarded_counters(SLOT_COUNT);
    struct peer peer;
    HANDLE process;
    HANDLE global;
    HANDLE one;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    peer_start(&peer, call_when_told, NULL);
    process = open_process(peer.pid);
    ntprof_session_set_notify(session, world_notify, NULL);
    watch_all(source);
    one = start_slots(process, of_one, source);
    global = start_slots(NULL, counters, source);
    have_it_call(&peer, 100);
    assert_world();
    assert_only(counters, SLOT_COUNT, SLOT, 100);
    assert_only(of_one, SLOT_COUNT, SLOT, 100);

    assert_success(NtStopProfile(one));
    have_it_call(&peer, 2000);
    assert_world();
    assert_only(counters, SLOT_COUNT, SLOT, 2100);
    assert_only(of_one, SLOT_COUNT, SLOT, 100);

    assert_success(NtStopProfile(global));
    have_it_call(&peer, 10000);
    assert_world();
    assert_only(counters, SLOT_COUNT, SLOT, 2100);
    assert_exact_statistics(session, source, 12100, 2100);
    end_caller(&peer);
    assert_success(NtClose(one));
    assert_success(NtClose(global));
    assert_success(NtClose(process));
}

/* It is the session's first and only watch. */
static void
watch_all__beside_other_watches_and_profiles__refused(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    ntprof_watch_options options = {
        .size = sizeof(options), .sources = &source, .source_count = 1};
    HANDLE profile;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    profile = start_slots(NtCurrentProcess(), counters, source);
    assert_status(try_watch_all(&source, 1, NULL), STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "first and only"));
    assert_status(ntprof_session_watch(session, NtCurrentProcess(), &options),
                  STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "after the watch"));
    assert_success(NtStopProfile(profile));

    watch_all(source);
    assert_success(NtStartProfile(profile));
    assert_status(try_watch_all(&source, 1, NULL), STATUS_NOT_SUPPORTED);
    assert_status(ntprof_session_watch(session, NtCurrentProcess(), &options),
                  STATUS_NOT_SUPPORTED);
    assert_non_null(strstr(ntprof_session_error(session), "already"));
    call_slot(SLOT, 30);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 30);
    assert_exact_statistics(session, source, 30, 30);
    assert_success(NtClose(profile));
}

/* What the watch of all does not count, profiles count as ever. */
static void
watch_all__of_another_source__profiles_have_their_own(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    const KPROFILE_SOURCE other = slot_source(SLOT + 1);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    struct peer peer;
    HANDLE process;
    HANDLE profile;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    peer_start(&peer, call_when_told, NULL);
    process = open_process(peer.pid);
    ntprof_session_set_notify(session, world_notify, NULL);
    watch_all(other);
    profile = start_slots(process, counters, source);
    have_it_call(&peer, 50);
    assert_world();
    assert_only(counters, SLOT_COUNT, SLOT, 50);
    assert_exact_statistics(session, source, 50, 50);
    assert_exact_statistics(session, other, 0, 0);
    end_caller(&peer);
    assert_world();
    assert_success(NtClose(profile));
    assert_success(NtClose(process));
}

/* On the processor that is watched its hits count; on the other one the profile has its
 * own. */
static void
watch_all__on_one_processor__profiles_count_on_both(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    size_t processors[2];
    GROUP_AFFINITY affinity = {0};
    struct peer peers[2];
    HANDLE profile;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    if (usable_processors(processors, 2) < 2) {
        skip_because("one processor");
    }
    affinity.Group = (USHORT)(processors[0] / 64);
    affinity.Mask = (KAFFINITY)1 << (processors[0] % 64);
    assert_success(try_watch_all(&source, 1, &affinity));
    profile = start_slots(NULL, counters, source);
    for (size_t i = 0; i < 2; i++) {
        peer_start(&peers[i], call_when_told, &processors[i]);
        have_it_call(&peers[i], i == 0 ? 70 : 500);
    }
    assert_success(ntprof_session_flush(session));
    assert_only(counters, SLOT_COUNT, SLOT, 570);
    assert_success(NtStopProfile(profile));
    for (size_t i = 0; i < 2; i++) {
        have_it_call(&peers[i], 1000);
        end_caller(&peers[i]);
    }
    assert_success(ntprof_session_flush(session));
    assert_only(counters, SLOT_COUNT, SLOT, 570);
    assert_exact_statistics(session, source, 1570, 570);
    assert_success(NtClose(profile));
}

static void
watch_all__interval_changed__the_new_one_counts(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    size_t processor;
    struct peer peer;
    HANDLE profile;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    assert_int_equal(usable_processors(&processor, 1), 1);
    peer_start(&peer, call_when_told, &processor);
    ntprof_session_set_notify(session, world_notify, NULL);
    watch_all(source);
    profile = start_slots(NULL, counters, source);
    have_it_call(&peer, 5);
    assert_success(NtSetIntervalProfile(1000, source));
    have_it_call(&peer, 3000);
    assert_success(NtSetIntervalProfile(1, source));
    have_it_call(&peer, 40);
    end_caller(&peer);
    assert_world();
    assert_only(counters, SLOT_COUNT, SLOT, 48);
    assert_exact_statistics(session, source, 48, 48);
    assert_success(NtClose(profile));
}

static void
freeze__calls_after_it__in_no_statistics_and_no_counter(void **state)
{
    const KPROFILE_SOURCE source = slot_source(SLOT);
    ULONG *const counters = guarded_counters(SLOT_COUNT);
    size_t processor;
    struct peer peer;
    HANDLE profile;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    assert_int_equal(usable_processors(&processor, 1), 1);
    peer_start(&peer, call_when_told, &processor);
    watch_all(source);
    profile = start_slots(NULL, counters, source);
    have_it_call(&peer, 40);
    assert_success(ntprof_session_freeze(session));
    have_it_call(&peer, 70);
    assert_success(ntprof_session_flush(session));
    assert_only(counters, SLOT_COUNT, SLOT, 40);
    assert_exact_statistics(session, source, 40, 40);
    assert_success(NtStopProfile(profile));
    assert_success(NtStartProfile(profile));
    have_it_call(&peer, 5);
    assert_success(NtStopProfile(profile));
    assert_only(counters, SLOT_COUNT, SLOT, 40);
    end_caller(&peer);
    assert_success(NtClose(profile));
}

/* ---- statistics ---- */

/*
 * The kernel counts each processor's time, whatever runs there, so what is expected
 * lies between the time that the watch had at least and at most, but for an interval of
 * each processor. Nothing of it depends on how fast anything was.
 */
static void
assert_statistics_have_all(uint32_t interval, uint64_t calls)
{
    const ntprof_source_interval asked = {.source = "time", .interval = interval};
    ntprof_session_info info = {.size = sizeof(info)};
    ntprof_source_info statistics;
    uint64_t called_ns, began_ns, read_ns, done_ns, interval_ns;

    reopen_polled(&asked);
    called_ns = fixture_now_ns();
    watch_all(ProfileTime);
    began_ns = fixture_now_ns();
    do {
        call_slot(SLOT, calls);
        usleep(calls > 0 ? 1000 : 300000); /* a processor that idles perhaps, too */
    } while (fixture_now_ns() - began_ns < 300000000);
    read_ns = fixture_now_ns();
    statistics = read_statistics(session, ProfileTime);
    done_ns = fixture_now_ns();
    assert_success(ntprof_session_get_info(session, &info));
    assert_true(statistics.interval_granted >= interval);
    interval_ns = (uint64_t)statistics.interval_granted * 100;
    assert_true(statistics.taken > 0);
    assert_int_equal(statistics.counted, 0);
    assert_true((statistics.expected + info.processors) * interval_ns >=
                (read_ns - began_ns) / 100 * 99 * info.processors);
    assert_true(statistics.expected * interval_ns <=
                (done_ns - called_ns) / 100 * 101 * info.processors);
    if (statistics.kernel_included) {
        assert_int_equal(statistics.excluded, 0);
    }
}

static void
watch_all__of_time__statistics_have_all_of_it(void **state)
{
    (void)state;
    if (is_allowed()) {
        assert_statistics_have_all(10000, 1000);
    }
}

/* The kernel throttles by its ticks, and a processor that idles has none. */
static void
watch_all__of_time_while_idle__statistics_have_all_of_it(void **state)
{
    (void)state;
    if (is_allowed()) {
        assert_statistics_have_all(1000, 0);
    }
}

/* All processes' profiles of the kernel have its hits, idle processors' too. */
static void
watch_all__of_time__the_kernels_half_is_counted(void **state)
{
    ULONG *const counters = guarded_counters(2);
    ntprof_source_info statistics = {.size = sizeof(statistics)};
    HANDLE kernel;
    HANDLE user;

    (void)state;
    if (!is_allowed()) {
        return;
    }
    assert_success(ntprof_source_get(session, ProfileTime, &statistics));
    if (!statistics.kernel_included || sizeof(void *) == 4) {
        skip_because("kernel mode is not counted here");
    }
    watch_all(ProfileTime);
    /* Buckets of 2 GB, the last of the address space and all of user space's. */
    kernel = create_profile(NULL, UINT64_C(0xffffffff80000000), 0x7fffffff, 31,
                            counters, 1, ProfileTime);
    user = create_profile(NULL, slot_address(0) & ~(uint64_t)0x7fffffff, 0x80000000u,
                          31, counters + 1, 1, ProfileTime);
    assert_success(NtStartProfile(kernel));
    assert_success(NtStartProfile(user));
    do {
        (void)getppid();
        call_slot(SLOT, 1000000);
        assert_success(ntprof_session_flush(session));
    } while (counters[0] == 0 || counters[1] == 0);
    assert_success(NtStopProfile(kernel));
    assert_success(NtStopProfile(user));
    statistics = read_statistics(session, ProfileTime);
    assert_true(statistics.counted >= counters[0] + counters[1]);
    assert_int_equal(statistics.excluded, 0);
    assert_success(NtClose(kernel));
    assert_success(NtClose(user));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(watch_all__without_the_privilege__refused_with_the_reason),
        world_test(watch_all__flags_of_one_process__refused),
        world_test(watch_all__source_not_there__refused_before_all_else),
        world_test(watch_all__who_runs_already__is_told_once),
        world_test(watch_all__kernel_threads__have_names_and_no_mappings),
        world_test(watch_all__what_has_ended_already__is_not_told),
        world_test(watch_all__500_short_processes__every_hit_is_counted),
        world_test(watch_all__amid_a_storm_of_processes__nothing_contradicts),
        world_test(watch_all__profiles_started_later__each_hit_counts_once),
        world_test(watch_all__beside_other_watches_and_profiles__refused),
        world_test(watch_all__of_another_source__profiles_have_their_own),
        world_test(watch_all__on_one_processor__profiles_count_on_both),
        world_test(watch_all__interval_changed__the_new_one_counts),
        world_test(freeze__calls_after_it__in_no_statistics_and_no_counter),
        world_test(watch_all__of_time__statistics_have_all_of_it),
        world_test(watch_all__of_time_while_idle__statistics_have_all_of_it),
        world_test(watch_all__of_time__the_kernels_half_is_counted),
    };

    return fixture_run("whole_machine", tests, sizeof(tests) / sizeof(tests[0]));
}
