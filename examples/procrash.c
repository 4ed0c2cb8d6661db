/* SPDX-License-Identifier: MIT */
/*
 * procrash.c - two published ways to make old NT write outside a profile's counters,
 * contained.
 *
 *   procrash 1|2 [--nt VERSION] [--abi x64|x86] [--corrupt]
 *
 *   1  NT 3.10 to 1607: the check of the buffer's size forgets a partial bucket at the
 *      end
 *   2  NT 6.2 to 1803: the end of the region is taken as inside
 *
 * The one counter is at the very end of a page, and no page is behind it: NT stops with
 * a bug check. With --corrupt it is in the middle of a page, and NT corrupts memory in
 * silence. Here nothing outside the counter is written: the session says what NT would
 * have done, and stops. VERSION is as ntprof_nt_version_lookup takes it, newest if not
 * given.
 *
 * Exit status: 0 if what was published for this version happened, 1 if not, 2 for
 * usage. Written from the published description alone (docs/behaviour.md, B); public
 * headers only.
 */
#include <ntprof/ntprof.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    PATTERN = 0xA5,
    STEPS = 3, /* executions inside the region */
    CLOCK_ROUNDS = 1000000,
    CLOCK_HITS = 50, /* enough to tell that the clock finds the loop */
    CLOCK_MOST_SECONDS = 20,
    LOW_ADDRESS = 0x10000000 /* a 32-bit program of NT could have it */
};

/* What is executed: a step that returns at once, and a loop that goes round as often as
 * it is told. The step's one instruction, and the loop's first, are where breakpoints
 * are. */
__asm__(".pushsection .text\n"
        "code_step:\n"
        "    ret\n"
        "code_loop:\n"
#if defined(__x86_64__)
        "    mov %edi, %eax\n"
        "1:  dec %eax\n"
        "    jnz 1b\n"
#elif defined(__i386__)
        "    mov 4(%esp), %eax\n"
        "1:  dec %eax\n"
        "    jnz 1b\n"
#elif defined(__aarch64__)
        "1:  subs w0, w0, #1\n"
        "    b.ne 1b\n"
#else
#error "procrash has no code for this processor"
#endif
        "    ret\n"
        "code_end:\n"
        "    .popsection\n");

#define IN_THIS_FILE __attribute__((visibility("hidden")))
extern const char code_step[] IN_THIS_FILE;
extern const char code_loop[] IN_THIS_FILE;
extern const char code_end[] IN_THIS_FILE;

struct demonstration {
    const char *defect;
    const char *published;
    uint32_t first, last; /* versions that have it */
    size_t region_bytes;
    ULONG bucket_log2;
    size_t behind; /* offset in the region of what has no counter */
};

static const struct demonstration demonstrations[] = {
    {"the size check forgets a partial bucket", "3.10 to 1607", NTPROF_NT_3_10,
     NTPROF_NT_1607, 79, 6, 64},
    {"the region's end is taken as inside", "6.2 to 1803", NTPROF_NT_6_2,
     NTPROF_NT_1803, 4, 2, 4},
};

struct procrash {
    const struct demonstration *demonstration;
    const char *version_name;
    uint32_t version;
    uint32_t abi;
    bool corrupt;

    ntprof_session *session;
    size_t page_bytes;
    char *code; /* a page: the region begins where it does */
    char *page; /* of the counter, and a second one behind it */
    ULONG *counter;
    KPROFILE_SOURCE step_source, loop_source;
    HANDLE step_profile, loop_profile; /* of the same region and counter */
    unsigned wrong;
};

/* ---- what is said ---- */

static void
expect(struct procrash *crash, bool holds, const char *what)
{
    if (!holds) {
        crash->wrong++;
        printf("NOT as published: %s\n", what);
    }
}

static bool
succeeds(const struct procrash *crash, NTSTATUS status, const char *what)
{
    const char *const why =
        crash->session != NULL ? ntprof_session_error(crash->session) : "";

    if (!NT_SUCCESS(status)) {
        fprintf(stderr, "procrash: %s: %s (%s)%s%s\n", what, ntprof_status_name(status),
                ntprof_status_text(status), why[0] != '\0' ? ": " : "", why);
    }
    return NT_SUCCESS(status);
}

static bool
is_defective(const struct procrash *crash)
{
    return crash->version >= crash->demonstration->first &&
           crash->version <= crash->demonstration->last;
}

/* The two oldest know the clock alone, and other calls. */
static bool
is_before_sources(const struct procrash *crash)
{
    return crash->version == NTPROF_NT_3_10 || crash->version == NTPROF_NT_3_50;
}

static void
introduce(const struct procrash *crash)
{
    const struct demonstration *const shown = crash->demonstration;

    printf("%s (published: NT %s)\n", shown->defect, shown->published);
    printf("rules: NT %s, %s\n", crash->version_name,
           crash->abi == NTPROF_ABI_X86 ? "x86" : "x64");
    printf("region: %zu bytes in buckets of %u; buffer: 4 bytes, one counter, %s\n",
           shown->region_bytes, 1u << shown->bucket_log2,
           crash->corrupt ? "in the middle of a page"
                          : "at the end of a page with none behind");
}

/* ---- memory ---- */

static bool
place_code(struct procrash *crash)
{
    const size_t step_bytes = (size_t)(code_loop - code_step);
    const size_t loop_bytes = (size_t)(code_end - code_loop);
    void *const code = mmap((void *)(uintptr_t)LOW_ADDRESS, crash->page_bytes,
                            PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (code == MAP_FAILED) {
        return false;
    }
    crash->code = code;
    memcpy(crash->code, code_step, step_bytes);
    memcpy(crash->code + crash->demonstration->behind, code_loop, loop_bytes);
    __builtin___clear_cache(crash->code, crash->code + crash->page_bytes);
    return mprotect(code, crash->page_bytes, PROT_READ | PROT_EXEC) == 0;
}

static bool
place_counter(struct procrash *crash)
{
    const size_t at =
        crash->corrupt ? crash->page_bytes / 2 : crash->page_bytes - sizeof(ULONG);
    void *const page = mmap(NULL, 2 * crash->page_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) {
        return false;
    }
    crash->page = page;
    memset(page, PATTERN, 2 * crash->page_bytes);
    crash->counter = (ULONG *)(void *)(crash->page + at);
    *crash->counter = 0;
    return mprotect(crash->page + crash->page_bytes, crash->page_bytes, PROT_NONE) == 0;
}

/* Is all of both pages as it was, but for the counter? */
static bool
is_untouched(const struct procrash *crash)
{
    const size_t at = (size_t)((char *)crash->counter - crash->page);
    const unsigned char *const bytes = (const unsigned char *)crash->page;

    if (mprotect(crash->page + crash->page_bytes, crash->page_bytes, PROT_READ) != 0) {
        return false;
    }
    for (size_t i = 0; i < 2 * crash->page_bytes; i++) {
        const bool is_counter = i >= at && i < at + sizeof(ULONG);

        if (!is_counter && bytes[i] != PATTERN) {
            return false;
        }
    }
    return true;
}

/* ---- the session and its profiles ---- */

static bool
open_session(struct procrash *crash)
{
    const ntprof_session_options options = {
        .size = sizeof(options),
        .flags = NTPROF_SESSION_USER_ONLY,
        .nt_version = crash->version,
        .abi = crash->abi,
    };

    if (!succeeds(crash, ntprof_session_open(&options, &crash->session),
                  "cannot open a session")) {
        return false;
    }
    ntprof_session_use(crash->session);
    return true;
}

/* A breakpoint hits at each execution of one instruction, so nothing is left to chance.
 */
static bool
find_breakpoint(const struct procrash *crash, const char *address,
                KPROFILE_SOURCE *source)
{
    ntprof_source_info info = {.size = sizeof(info)};
    char name[48];

    snprintf(name, sizeof(name), "breakpoint:0x%" PRIxPTR, (uintptr_t)address);
    if (!succeeds(crash, ntprof_source_lookup(crash->session, name, source), name) ||
        !succeeds(crash, ntprof_source_get(crash->session, *source, &info), name)) {
        return false;
    }
    if (!info.supported) {
        fprintf(stderr, "procrash: no breakpoints: %s\n", info.reason);
    }
    return info.supported != 0;
}

static bool
find_sources(struct procrash *crash)
{
    if (is_before_sources(crash)) {
        crash->step_source = crash->loop_source = ProfileTime;
        return true;
    }
    return find_breakpoint(crash, crash->code, &crash->step_source) &&
           find_breakpoint(crash, crash->code + crash->demonstration->behind,
                           &crash->loop_source);
}

static NTSTATUS
create_profile(const struct procrash *crash, KPROFILE_SOURCE source, HANDLE *profile)
{
    const struct demonstration *const shown = crash->demonstration;

    if (is_before_sources(crash)) {
        return ntprof_NtCreateProfile310(profile, NtCurrentProcess(), crash->code,
                                         shown->region_bytes, shown->bucket_log2,
                                         crash->counter, sizeof(ULONG));
    }
    return NtCreateProfile(profile, NtCurrentProcess(), crash->code,
                           shown->region_bytes, shown->bucket_log2, crash->counter,
                           sizeof(ULONG), source, ~(KAFFINITY)0);
}

/* False: there is nothing to start. */
static bool
create_profiles(struct procrash *crash)
{
    const bool too_small = crash->demonstration == &demonstrations[0];
    NTSTATUS status = create_profile(crash, crash->loop_source, &crash->loop_profile);

    printf("create: %s\n", ntprof_status_name(status));
    if (too_small && !is_defective(crash)) {
        expect(crash, status == STATUS_BUFFER_TOO_SMALL,
               "two buckets do not fit one counter, so create refuses");
        printf("refused: two buckets do not fit one counter\n");
        return false;
    }
    expect(crash, status == STATUS_SUCCESS, "create accepts the parameters");
    if (NT_SUCCESS(status) && !is_before_sources(crash)) {
        status = create_profile(crash, crash->step_source, &crash->step_profile);
        expect(crash, status == STATUS_SUCCESS, "and once more");
    }
    return NT_SUCCESS(status);
}

static bool
start_profiles(const struct procrash *crash)
{
    return succeeds(crash, NtStartProfile(crash->loop_profile), "cannot start") &&
           (crash->step_profile == NULL ||
            succeeds(crash, NtStartProfile(crash->step_profile), "cannot start"));
}

/* ---- execution ---- */

static void
execute(const struct procrash *crash, size_t offset, unsigned rounds)
{
    void (*const function)(unsigned) =
        (void (*)(unsigned))(uintptr_t)(crash->code + offset);

    function(rounds);
}

static ntprof_session_info
ask_session(const struct procrash *crash)
{
    ntprof_session_info info = {.size = sizeof(info)};

    ntprof_session_flush(crash->session);
    ntprof_session_get_info(crash->session, &info);
    return info;
}

static ntprof_source_info
ask_source(const struct procrash *crash, KPROFILE_SOURCE source)
{
    ntprof_source_info info = {.size = sizeof(info)};

    ntprof_source_get(crash->session, source, &info);
    return info;
}

/* Without breakpoints, by the clock: in the loop until it was hit. */
static void
execute_for_clock(const struct procrash *crash)
{
    const time_t end = time(NULL) + CLOCK_MOST_SECONDS;

    do {
        execute(crash, crash->demonstration->behind, CLOCK_ROUNDS);
    } while (ask_session(crash).halt == NTPROF_HALT_NONE &&
             ask_source(crash, ProfileTime).taken < CLOCK_HITS && time(NULL) < end);
    printf("executed: the loop at byte %zu of the region, until the clock had hit it\n",
           crash->demonstration->behind);
}

static void
execute_exactly(struct procrash *crash)
{
    ntprof_source_info step, loop;

    for (int i = 0; i < STEPS; i++) {
        execute(crash, 0, 0);
    }
    execute(crash, crash->demonstration->behind, 1);
    printf("executed: %d times byte 0 of the region, then once byte %zu\n", STEPS,
           crash->demonstration->behind);
    step = ask_source(crash, crash->step_source);
    loop = ask_source(crash, crash->loop_source);
    printf("hits: %" PRIu64 " counted, %" PRIu64 " outside\n",
           step.counted + loop.counted, step.outside + loop.outside);
    expect(crash, step.taken == STEPS && step.counted == STEPS,
           "executions of byte 0 are counted");
    expect(crash, loop.taken == 1 && loop.outside == 1,
           "the execution that has no counter is taken as outside");
}

static void
check_counter(struct procrash *crash)
{
    const ULONG counts = is_before_sources(crash) ? 0 : STEPS;

    printf("counter: %u\n", *crash->counter);
    expect(crash, *crash->counter == counts, "the counter holds byte 0's hits alone");
}

/* ---- what NT would have done ---- */

static uint64_t
published_irql(const struct procrash *crash)
{
    if (crash->abi == NTPROF_ABI_X64) {
        return 15;
    }
    return crash->version <= NTPROF_NT_5_2 ? 27 : 31;
}

static void
check_halt(struct procrash *crash, const ntprof_session_info *info)
{
    const uint64_t *const parameters = info->bug_check_parameters;
    const uint64_t behind = (uint64_t)(uintptr_t)(crash->counter + 1);

    if (crash->corrupt) {
        printf("memory corruption: NT would have added 1 at 0x%" PRIx64
               ", which is not the buffer's\n",
               parameters[0]);
        expect(crash, info->halt == NTPROF_HALT_CORRUPTION && info->bug_check == 0,
               "NT goes on with corrupted memory");
    } else {
        printf("bug check 0x%02X (0x%" PRIx64 ", %" PRIu64 ", %" PRIu64 ", 0x%" PRIx64
               "): NT would have written where no memory is\n",
               info->bug_check, parameters[0], parameters[1], parameters[2],
               parameters[3]);
        expect(crash, info->halt == NTPROF_HALT_BUG_CHECK && info->bug_check == 0x0A,
               "NT stops with bug check 0x0A");
    }
    expect(crash, parameters[0] == behind, "the address is the one behind the counter");
    expect(crash, parameters[1] == published_irql(crash),
           "the IRQL is that of profile interrupts");
    expect(crash, parameters[2] == 1 && parameters[3] != 0, "an instruction wrote");
}

/* Nothing goes on after a halt, but a handle can be closed. */
static void
check_stopped(struct procrash *crash)
{
    const NTSTATUS status = NtStopProfile(crash->loop_profile);

    printf("next call: %s\n", ntprof_status_name(status));
    expect(crash, status == STATUS_SYSTEM_SHUTDOWN, "the session has stopped");
    for (int i = 0; i < STEPS; i++) {
        execute(crash, 0, 0);
    }
    check_counter(crash);
}

static void
check_running(struct procrash *crash)
{
    const NTSTATUS status = NtStopProfile(crash->loop_profile);

    printf("nothing outside the region was counted\nnext call: %s\n",
           ntprof_status_name(status));
    expect(crash, status == STATUS_SUCCESS, "the session goes on");
    check_counter(crash);
}

static void
check_outcome(struct procrash *crash)
{
    const ntprof_session_info info = ask_session(crash);

    expect(crash, (info.halt != NTPROF_HALT_NONE) == is_defective(crash),
           is_defective(crash) ? "NT writes outside the counter"
                               : "NT does not write outside the counter");
    if (info.halt != NTPROF_HALT_NONE) {
        check_halt(crash, &info);
        check_stopped(crash);
    } else {
        check_running(crash);
    }
}

static void
close_profile(struct procrash *crash, HANDLE profile)
{
    if (profile != NULL) {
        expect(crash, NtClose(profile) == STATUS_SUCCESS, "a handle can be closed");
    }
}

/* False if the demonstration could not be made. */
static bool
demonstrate(struct procrash *crash)
{
    crash->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (!place_code(crash) || !place_counter(crash)) {
        perror("procrash: memory");
        return false;
    }
    if (!open_session(crash) || !find_sources(crash)) {
        return false;
    }
    introduce(crash);
    if (create_profiles(crash)) {
        if (!start_profiles(crash)) {
            return false;
        }
        if (is_before_sources(crash)) {
            execute_for_clock(crash);
        } else {
            execute_exactly(crash);
        }
        check_outcome(crash);
    }
    close_profile(crash, crash->loop_profile);
    close_profile(crash, crash->step_profile);
    expect(crash, is_untouched(crash), "no byte outside the counter has changed");
    printf("%s\n", crash->wrong == 0
                       ? "no byte outside the counter has changed: as published"
                       : "this is not what was published");
    return true;
}

/* ---- command line ---- */

static bool
read_option(struct procrash *crash, const char *option, const char *value)
{
    if (strcmp(option, "--nt") == 0 && value != NULL) {
        crash->version_name = value;
        return NT_SUCCESS(ntprof_nt_version_lookup(value, &crash->version));
    }
    if (strcmp(option, "--abi") == 0 && value != NULL) {
        crash->abi = strcmp(value, "x86") == 0   ? NTPROF_ABI_X86
                     : strcmp(value, "x64") == 0 ? NTPROF_ABI_X64
                                                 : NTPROF_ABI_HOST;
        return crash->abi != NTPROF_ABI_HOST;
    }
    return false;
}

static bool
read_arguments(struct procrash *crash, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--corrupt") == 0) {
            crash->corrupt = true;
        } else if (strcmp(argv[i], "1") == 0 || strcmp(argv[i], "2") == 0) {
            crash->demonstration = &demonstrations[argv[i][0] - '1'];
        } else if (!read_option(crash, argv[i], argv[i + 1])) {
            return false;
        } else {
            i++;
        }
    }
    return crash->demonstration != NULL;
}

int
main(int argc, char **argv)
{
    struct procrash crash = {
        .version_name = "newest",
        .abi = sizeof(void *) == 8 ? NTPROF_ABI_X64 : NTPROF_ABI_X86,
    };
    bool shown;

    if (!read_arguments(&crash, argc, argv)) {
        fprintf(
            stderr,
            "usage: procrash 1|2 [--nt VERSION] [--abi x64|x86] [--corrupt]\n"
            "VERSION: newest, 3.10, 3.50, 3.51, 4.0, \"4.0 SP4\", 5.0, 5.1, 5.2, 6.0, "
            "6.1, 6.2, 6.3,\n10.0, 1511, 1607, 1703, 1709, 1803, 1809\n");
        return 2;
    }
    shown = demonstrate(&crash);
    ntprof_session_close(crash.session);
    return shown && crash.wrong == 0 ? 0 : 1;
}
