/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "breakpoints.h"
#include "guarded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

ntprof_session *session;
const char *backend = "perf";

static size_t descriptors_before;
static cpu_set_t processors_before;

/* ---- what is tested ---- */

static const struct kind {
    const char *name;
    unsigned has;
    bool for_few; /* an ordinary user needs capabilities for it */
} kinds[] = {
    {"perf", FIXTURE_WATCHES | FIXTURE_RINGS | FIXTURE_LINEAR, false},
    {"bpf", FIXTURE_EVENTS_OF_ALL | FIXTURE_MAPS, true},
};

static const struct kind *kind = &kinds[0];

/* All that it takes to count in the interrupt. */
static const unsigned capabilities[] = {CAP_PERFMON, CAP_BPF};

uint64_t
fixture_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool
is_root(void)
{
    return geteuid() == 0;
}

bool
fixture_has(unsigned what)
{
    return (kind->has & what) == what;
}

bool
may_profile_all(void)
{
    return is_root() || kind->for_few;
}

/* As meson.build sets it: a back end's name. */
static bool
choose_kind(void)
{
    const char *const wanted = getenv("NTPROF_TEST_BACKEND");

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (wanted == NULL || strcmp(wanted, kinds[i].name) == 0) {
            kind = &kinds[i];
            backend = kind->name;
            return true;
        }
    }
    fprintf(stderr, "NTPROF_TEST_BACKEND: no tests for %s\n", wanted);
    return false;
}

/* Why not, on standard output. */
static bool
is_usable(void)
{
    ntprof_backend_info info = {.size = sizeof(info)};

    for (uint32_t i = 0; NT_SUCCESS(ntprof_backend_next(i, &info)); i++) {
        if (strcmp(info.name, backend) == 0) {
            printf("%s%s%s\n", info.reason, info.remedy[0] != '\0' ? "; " : "",
                   info.remedy);
            return info.usable != 0;
        }
    }
    printf("the library has no back end %s\n", backend);
    return false;
}

/* ---- running ---- */

static size_t
count_descriptors(void)
{
    DIR *const folder = opendir("/proc/self/fd");
    size_t count = 0;

    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

int
fixture_setup(void **state)
{
    (void)state;
    descriptors_before = count_descriptors();
    sched_getaffinity(0, sizeof(processors_before), &processors_before);
    session = NULL;
    fixture_reopen(NULL);
    return 0;
}

int
fixture_teardown(void **state)
{
    (void)state;
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    session = NULL;
    guarded_finish();
    sched_setaffinity(0, sizeof(processors_before), &processors_before);
    if (count_descriptors() != descriptors_before) {
        fprintf(stderr, "descriptors were leaked\n");
        return -1;
    }
    return 0;
}

void
fixture_reopen(const ntprof_session_options *options)
{
    ntprof_session_options named = {.size = sizeof(named)};

    if (options != NULL) {
        named = *options;
    }
    named.backend = backend;
    ntprof_session_use(NULL);
    ntprof_session_close(session);
    session = NULL;
    assert_success(ntprof_session_open(&named, &session));
    ntprof_session_use(session);
}

void
skip_because(const char *reason)
{
    printf("%s\n", reason);
    fflush(stdout);
    skip();
}

/* ---- programs ---- */

/* Set in the environment by meson.build. */
static const char *const programs[] = {"PAGE_CALLER", "LIBRARY_1000", "LIBRARY_30",
                                       "SEGMENTS"};

static char staged[] = "/tmp/ntprof-integration-XXXXXX";
static char slots_file[sizeof(staged) + sizeof("/slots")];

static bool
copy_file(const char *from, const char *to)
{
    const int source = open(from, O_RDONLY | O_CLOEXEC);
    const int target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    ssize_t copied = -1;

    if (source >= 0 && target >= 0) {
        do {
            copied = sendfile(target, source, NULL, 1 << 20);
        } while (copied > 0);
    }
    close(source);
    close(target);
    return copied == 0;
}

static bool
make_slots_file(void)
{
    const size_t bytes = (size_t)SLOT_BYTES * SLOT_COUNT;
    bool written;
    int fd;

    snprintf(slots_file, sizeof(slots_file), "%s/slots", staged);
    fd = open(slots_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    written = fd >= 0 && write(fd, slots, bytes) == (ssize_t)bytes;
    if (fd >= 0) {
        close(fd);
    }
    return written;
}

/* The build folder may be out of an ordinary user's reach: puts the programs within it.
 */
static bool
stage_programs(void)
{
    if (mkdtemp(staged) == NULL || chmod(staged, 0755) != 0 || !make_slots_file()) {
        return false;
    }
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        const char *const from = getenv(programs[i]);
        char to[512];

        if (from == NULL) {
            continue;
        }
        snprintf(to, sizeof(to), "%s/%s", staged, basename(from));
        if (!copy_file(from, to)) {
            return false;
        }
        setenv(programs[i], to, 1);
    }
    return true;
}

static void
unstage_programs(void)
{
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (getenv(programs[i]) != NULL) {
            unlink(getenv(programs[i]));
        }
    }
    unlink(slots_file);
    rmdir(staged);
}

const char *
program_path(const char *name)
{
    const char *const path = getenv(name);

    if (path == NULL) {
        fail_msg("%s is not set: run by meson test", name);
    }
    return path;
}

static bool
is_kept(unsigned long capability)
{
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
        if (kind->for_few && capability == capabilities[i]) {
            return true;
        }
    }
    return false;
}

/* Whatever runs from now on cannot get others again. */
static int
bound_capabilities(void)
{
    for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
        if (!is_kept(i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Those that are kept, and no others. */
static int
set_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

    for (unsigned i = 0; i < 32 * _LINUX_CAPABILITY_U32S_3; i++) {
        if (is_kept(i)) {
            data[i / 32].permitted |= 1u << i % 32;
        }
    }
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        data[i].effective = data[i].permitted;
        data[i].inheritable = data[i].permitted;
    }
    return syscall(SYS_capset, &header, data) != 0;
}

static int
become_user(void)
{
    return bound_capabilities() != 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 ||
           syscall(SYS_setgroups, 0, NULL) != 0 ||
           syscall(SYS_setresgid, 65534, 65534, 65534) != 0 ||
           syscall(SYS_setresuid, 65534, 65534, 65534) != 0 ||
           set_capabilities() != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0;
}

static int
run_as_user(const char *group, struct CMUnitTest *tests, size_t count)
{
    if (become_user() != 0) {
        perror("cannot become an ordinary user");
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        char *name;

        if (asprintf(&name, "%s__%s", tests[i].name,
                     kind->for_few ? "with_two_capabilities" : "as_user") < 0) {
            return 1;
        }
        tests[i].name = name;
    }
    return _cmocka_run_group_tests(group, tests, count, NULL, NULL) != 0;
}

/* Those whose needs the back end meets. Returns how many. */
static size_t
select_tests(const struct CMUnitTest *tests, size_t count, struct CMUnitTest *selected)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        const unsigned needs = (unsigned)(uintptr_t)tests[i].initial_state;

        if (fixture_has(needs)) {
            selected[kept] = tests[i];
            selected[kept++].initial_state = NULL;
        } else {
            printf("not of %s: %s\n", backend, tests[i].name);
        }
    }
    return kept;
}

/* NTPROF_TEST_USERS=caller leaves the ordinary user out, as in harness.py. */
static bool
runs_as_user(void)
{
    const char *const users = getenv("NTPROF_TEST_USERS");

    return is_root() && (users == NULL || strcmp(users, "caller") != 0);
}

static int
run_selected(const char *group, struct CMUnitTest *tests, size_t count)
{
    int status = 0;
    int failed;

    if (runs_as_user()) {
        const pid_t child = fork();

        if (child == 0) {
            exit(run_as_user(group, tests, count));
        }
        if (child < 0 || waitpid(child, &status, 0) != child) {
            return 1;
        }
    }
    failed = _cmocka_run_group_tests(group, tests, count, NULL, NULL);
    return failed != 0 || status != 0;
}

int
fixture_run(const char *group, const struct CMUnitTest *tests, size_t count)
{
    enum { SKIPPED = 77 };
    struct CMUnitTest *const selected = calloc(count, sizeof(*selected));
    int failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (selected == NULL || !choose_kind()) {
        return 1;
    }
    if (!is_usable()) {
        return SKIPPED;
    }
    if (!stage_programs()) {
        perror("cannot copy the programs");
        return 1;
    }
    failed = run_selected(group, selected, select_tests(tests, count, selected));
    unstage_programs();
    free(selected);
    return failed;
}

/* ---- slots ---- */

__asm__(".pushsection .text\n"
        "    .balign 4096\n"
        "    .globl slots\n"
        "slots:\n"
        "    .rept 256\n"
        "    ret\n"
        "    .balign 16\n"
        "    .endr\n"
        "    .popsection\n");

void
call_address(uint64_t address, uint64_t times)
{
    void (*volatile const function)(void) = (void (*)(void))(uintptr_t)address;

    for (uint64_t i = 0; i < times; i++) {
        function();
    }
}

uint64_t
slot_address(size_t slot)
{
    return (uint64_t)(uintptr_t)slots + slot * SLOT_BYTES;
}

void
call_slot(size_t slot, uint64_t times)
{
    call_address(slot_address(slot), times);
}

void
write_slots(void *page)
{
    char *const to = page;

    memcpy(to, slots, (size_t)SLOT_BYTES * SLOT_COUNT);
    __builtin___clear_cache(to, to + (size_t)SLOT_BYTES * SLOT_COUNT);
}

const char *
slots_path(void)
{
    return slots_file;
}

int
map_fixed_slots(void)
{
    const int fd = open(slots_file, O_RDONLY | O_CLOEXEC);
    const void *page = MAP_FAILED;

    if (fd >= 0) {
        page = mmap((void *)(uintptr_t)FIXED_ADDRESS, (size_t)SLOT_BYTES * SLOT_COUNT,
                    PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
        close(fd);
    }
    return page != MAP_FAILED ? 0 : -1;
}

static bool
is_slot(uint64_t address)
{
    return address - slot_address(0) < (uint64_t)SLOT_BYTES * SLOT_COUNT;
}

/* Whether exact counts are a uprobe's. */
static bool
takes_uprobes(void)
{
    return !breakpoints_fire() && is_root() && strcmp(backend, "perf") == 0;
}

void
name_source_at(char *name, size_t size, uint64_t address)
{
    if (takes_uprobes() && is_slot(address)) {
        name_exact_source(name, size, address);
    } else {
        snprintf(name, size, "breakpoint:0x%" PRIx64, address);
    }
}

/* Skips the test where the source is not supported. */
static KPROFILE_SOURCE
named_source(ntprof_session *where, const char *name)
{
    ntprof_source_info info = {.size = sizeof(info)};
    KPROFILE_SOURCE source;

    assert_success(ntprof_source_lookup(where, name, &source));
    assert_success(ntprof_source_get(where, source, &info));
    if (!info.supported) {
        need_breakpoints();
        skip_because(info.reason);
    }
    return source;
}

KPROFILE_SOURCE
breakpoint_at(ntprof_session *where, uint64_t address)
{
    char name[64];

    name_source_at(name, sizeof(name), address);
    return named_source(where, name);
}

KPROFILE_SOURCE
file_source(ntprof_session *where, const char *path, uint64_t offset, uint64_t address)
{
    char name[512];

    if (!takes_uprobes()) {
        return breakpoint_at(where, address);
    }
    snprintf(name, sizeof(name), "uprobe:%s+0x%" PRIx64, path, offset);
    return named_source(where, name);
}

KPROFILE_SOURCE
fixed_source(ntprof_session *where)
{
    return file_source(where, slots_file, 0, FIXED_ADDRESS);
}

KPROFILE_SOURCE
slot_source(size_t slot)
{
    return breakpoint_at(session, slot_address(slot));
}

void
need_exact_source(void)
{
    if (!breakpoints_fire()) {
        (void)slot_source(0);
    }
}

/* ---- profiles ---- */

void
assert_status(NTSTATUS status, NTSTATUS expected)
{
    if (status != expected) {
        fail_msg("%s instead of %s (%s)", ntprof_status_name(status),
                 ntprof_status_name(expected),
                 session != NULL ? ntprof_session_error(session) : "");
    }
}

void
assert_success(NTSTATUS status)
{
    assert_status(status, STATUS_SUCCESS);
}

HANDLE
create_profile(HANDLE process, uint64_t base, uint64_t size, ULONG log2,
               ULONG *counters, size_t count, KPROFILE_SOURCE source)
{
    HANDLE profile;

    assert_success(NtCreateProfileEx(&profile, process, (PVOID)(uintptr_t)base,
                                     (SIZE_T)size, log2, counters,
                                     (ULONG)(count * sizeof(ULONG)), source, 0, NULL));
    return profile;
}

HANDLE
start_slots(HANDLE process, ULONG *counters, KPROFILE_SOURCE source)
{
    HANDLE profile = create_profile(process, slot_address(0), SLOT_BYTES * SLOT_COUNT,
                                    4, counters, SLOT_COUNT, source);

    assert_success(NtStartProfile(profile));
    return profile;
}

uint64_t
sum_counters(const ULONG *counters, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += counters[i];
    }
    return sum;
}

void
assert_only(const ULONG *counters, size_t count, size_t index, ULONG value)
{
    for (size_t i = 0; i < count; i++) {
        const ULONG expected = i == index ? value : 0;

        if (counters[i] != expected) {
            fail_msg("counter %zu is %u instead of %u", i, counters[i], expected);
        }
    }
}

ntprof_source_info
read_statistics(ntprof_session *where, KPROFILE_SOURCE source)
{
    ntprof_source_info info = {.size = sizeof(info)};

    assert_success(ntprof_source_get(where, source, &info));
    assert_int_equal(info.taken, info.counted + info.outside);
    assert_int_equal(info.expected, info.taken + info.lost + info.throttled +
                                        info.missed + info.unfinished + info.excluded);
    return info;
}

void
assert_exact_statistics(ntprof_session *where, KPROFILE_SOURCE source, uint64_t taken,
                        uint64_t counted)
{
    assert_statistics_beside(where, source, taken, counted, 0);
}

void
assert_statistics_beside(ntprof_session *where, KPROFILE_SOURCE source, uint64_t own,
                         uint64_t counted, uint64_t beside)
{
    const ntprof_source_info info = read_statistics(where, source);
    const uint64_t taken = own + (fixture_has(FIXTURE_EVENTS_OF_ALL) ? beside : 0);

    assert_int_equal(info.taken, taken);
    assert_int_equal(info.counted, counted);
    assert_int_equal(info.expected, taken);
    assert_int_equal(info.lost, 0);
    assert_int_equal(info.throttled, 0);
    assert_int_equal(info.missed, 0);
    assert_int_equal(info.unfinished, 0);
    assert_int_equal(info.excluded, 0);
}

/* ---- processors and processes ---- */

size_t
usable_processors(size_t *processors, size_t limit)
{
    size_t count = 0;
    cpu_set_t set;

    CPU_ZERO(&set);
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    for (size_t i = 0; i < CPU_SETSIZE && count < limit; i++) {
        if (CPU_ISSET(i, &set)) {
            processors[count++] = i;
        }
    }
    return count;
}

void
pin_to(size_t processor)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

void
peer_start(struct peer *peer, peer_body *body, void *argument)
{
    int down[2];
    int up[2];

    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    fflush(NULL);
    peer->pid = fork();
    assert_true(peer->pid >= 0);
    if (peer->pid == 0) {
        const struct peer test = {.pid = getppid(), .to_fd = up[1], .from_fd = down[0]};

        /* Whatever becomes of the test, its child does not stay. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(down[1]);
        close(up[0]);
        _exit(body(&test, argument));
    }
    close(down[0]);
    close(up[1]);
    peer->to_fd = down[1];
    peer->from_fd = up[0];
}

void
peer_tell(const struct peer *peer, uint64_t word)
{
    if (write(peer->to_fd, &word, sizeof(word)) != sizeof(word)) {
        fprintf(stderr, "the other side is gone\n");
    }
}

uint64_t
peer_hear(const struct peer *peer)
{
    uint64_t word = UINT64_MAX;
    ssize_t got;

    do {
        got = read(peer->from_fd, &word, sizeof(word));
    } while (got < 0 && errno == EINTR);
    return got == sizeof(word) ? word : UINT64_MAX;
}

void
peer_finish(struct peer *peer)
{
    int status;

    assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
    close(peer->to_fd);
    close(peer->from_fd);
    if (WIFSIGNALED(status)) {
        fail_msg("the child died of signal %d", WTERMSIG(status));
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

HANDLE
open_process(pid_t pid)
{
    const CLIENT_ID client = {.UniqueProcess = (HANDLE)(uintptr_t)pid};
    HANDLE process;

    assert_success(NtOpenProcess(&process, PROCESS_QUERY_INFORMATION, NULL, &client));
    return process;
}

void
watch_peer(const struct peer *peer, uint32_t flags, KPROFILE_SOURCE source)
{
    const ntprof_watch_options options = {
        .size = sizeof(options),
        .flags = flags,
        .source_count = 1,
        .sources = &source,
    };
    HANDLE process = open_process(peer->pid);

    assert_success(ntprof_session_watch(session, process, &options));
    assert_success(NtClose(process));
}
