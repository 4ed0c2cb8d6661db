/* SPDX-License-Identifier: MIT */
/*
 * rights.c - a reader that was taken over gets no memory beyond its limit, of whatever
 * kind, and finds no argument or variable of the command.
 */
#include "fixture.h"

#include "base/clock.h"
#include "sandbox/process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LIMITED = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
enum { LIMITED = 0 };
#else
enum { LIMITED = 1 };
#endif
#else
enum { LIMITED = 1 };
#endif

enum { MEBIBYTE = 1 << 20, LIMIT_MEBIBYTES = 64, TRIED_MEBIBYTES = 512 };

enum kind { PRIVATE, SHARED, SHARED_VALIDATE, STACK, GROWN_STACK, TABLES, START };

static const char secret[] = "SECRET=s3cret";
static char *argument;      /* a secret, where the kernel put it */
static char *variable;      /* the same */
static char *late_variable; /* where setenv put it */

/* How much can be had of a kind. */
static uint64_t
fill(int flags)
{
    uint64_t total = 0;

    while (total < TRIED_MEBIBYTES) {
        char *const part = mmap(NULL, (size_t)16 * MEBIBYTE, PROT_READ | PROT_WRITE,
                                flags | MAP_ANONYMOUS, -1, 0);

        if (part == MAP_FAILED) {
            break;
        }
        memset(part, 1, (size_t)16 * MEBIBYTE);
        total += 16;
    }
    return total;
}

/* The same by making the main stack larger. */
static uint64_t
grow_stack(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *const at = (char *)(getauxval(AT_RANDOM) & ~(page - 1));
    char *const moved =
        mremap(at, page, (size_t)TRIED_MEBIBYTES * MEBIBYTE, MREMAP_MAYMOVE);

    if (moved == MAP_FAILED) {
        return 0;
    }
    memset(moved, 1, (size_t)TRIED_MEBIBYTES * MEBIBYTE);
    return TRIED_MEBIBYTES;
}

/* The kernel's tables of pages that are only read, a page for each 2 MiB: they would be
 * 512 MiB of 256 GiB. */
static uint64_t
map_much(void)
{
    return mmap(NULL, (size_t)256 << 30, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED
               ? 0
               : TRIED_MEBIBYTES;
}

static uint64_t
count_secrets(void)
{
    uint64_t count = 0;

    for (char **each = environ; *each != NULL; each++) {
        count++;
    }
    return count + strlen(argument) + strlen(variable) + strlen(late_variable);
}

static void
try(struct wire *wire)
{
    uint64_t got = 0;

    switch ((enum kind)wire_get(wire)) {
    case PRIVATE:
        got = fill(MAP_PRIVATE);
        break;
    case SHARED:
        got = fill(MAP_SHARED);
        break;
    case SHARED_VALIDATE:
        got = fill(MAP_SHARED_VALIDATE);
        break;
    case STACK:
        got = fill(MAP_PRIVATE | MAP_GROWSDOWN);
        break;
    case GROWN_STACK:
        got = grow_stack();
        break;
    case TABLES:
        got = map_much();
        break;
    case START:
        got = count_secrets();
        break;
    }
    wire_put(wire, got);
    wire_send(wire, -1);
    (void)wire_get(wire);
}

/* What a reader with a limit answers; *why is NULL, or why it ended without one. */
static uint64_t
ask(enum kind kind, const char **why)
{
    const struct sandbox_limits limits = {.memory_bytes =
                                              (uint64_t)LIMIT_MEBIBYTES * MEBIBYTE,
                                          .cpu_ns = 60 * CLOCK_SECOND_NS};
    struct sandbox_process process;
    uint64_t got;
    bool failed;

    assert_int_equal(sandbox_start(&process, NULL, try, &limits), 0);
    wire_put(&process.wire, kind);
    wire_send(&process.wire, -1);
    got = wire_get(&process.wire);
    failed = process.wire.failed;
    sandbox_stop(&process);
    *why = failed ? sandbox_why(&process) : NULL;
    return got;
}

static void
need_limits(void)
{
    if (!LIMITED) {
        print_message("a sanitizer's shadow memory is counted as if it was used\n");
        skip();
    }
}

static void
memory__private__up_to_the_limit(void **state)
{
    const char *why;

    (void)state;
    need_limits();
    assert_in_range(ask(PRIVATE, &why), LIMIT_MEBIBYTES / 2, LIMIT_MEBIBYTES);
    assert_null(why);
}

static void
memory__that_no_limit_counts__refused(void **state)
{
    static const enum kind kinds[] = {SHARED, SHARED_VALIDATE, STACK};
    const char *why;

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        (void)ask(kinds[i], &why);
        assert_non_null(why);
        assert_string_equal(why, "it tried what it has no right to");
    }
}

static void
stack__made_larger_by_mremap__refused(void **state)
{
    const char *why;

    (void)state;
    assert_int_equal(ask(GROWN_STACK, &why), 0);
    assert_null(why);
}

static void
address_space__larger_than_any_file__refused(void **state)
{
    const char *why;

    (void)state;
    need_limits();
    assert_int_equal(ask(TABLES, &why), 0);
    assert_null(why);
}

static void
start__arguments_and_environment__empty(void **state)
{
    const char *why;

    (void)state;
    assert_int_equal(ask(START, &why), 0);
    assert_null(why);
    /* The command keeps its own. */
    assert_string_equal(argument, secret);
    assert_string_equal(getenv("LATE"), secret);
}

int
main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory__private__up_to_the_limit),
        cmocka_unit_test(memory__that_no_limit_counts__refused),
        cmocka_unit_test(stack__made_larger_by_mremap__refused),
        cmocka_unit_test(address_space__larger_than_any_file__refused),
        cmocka_unit_test(start__arguments_and_environment__empty),
    };
    char *const with_secret[] = {words[0], (char *)(uintptr_t)secret, NULL};

    if (count == 1) {
        setenv("SECRET", "s3cret", 1);
        execv("/proc/self/exe", with_secret);
        return 1;
    }
    argument = words[1];
    variable = getenv("SECRET");
    setenv("LATE", secret, 1);
    late_variable = getenv("LATE");
    assert_int_equal(sandbox_prepare(), 0);
    count = cmocka_run_group_tests(tests, NULL, NULL);
    sandbox_finish();
    return count;
}
