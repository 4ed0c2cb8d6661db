/* SPDX-License-Identifier: MIT */
/*
 * preload_stacks.c - hits with stacks that this process hands to a collector, as a
 * preload object would: each is counted once, with its callers where they can be found.
 */
#include "../../fuzz/ring_sender.h"
#include "record/collect/collectorp.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 512, CODE_BYTES = 4096 };

static const uint64_t stack_at = UINT64_C(0x7fff0000);

enum { NUMBERS = 256 }; /* of descriptors, from the start */

static struct preload_memory memory;
static struct collector *collector;
static uint8_t *code; /* without a file, as that of a JIT */
static struct stack_ring *ring;
static bool no_memory; /* to be shared */

void *__real_mmap64(void *at, size_t bytes, int rights, int flags, int fd,
                    off_t offset);
void *__wrap_mmap64(void *at, size_t bytes, int rights, int flags, int fd,
                    off_t offset);

void *
__wrap_mmap64(void *at, size_t bytes, int rights, int flags, int fd, off_t offset)
{
    if (no_memory && (flags & MAP_SHARED) != 0) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap64(at, bytes, rights, flags, fd, offset);
}

static bool denied; /* to be received */

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);

/* Where a security module refuses descriptors, messages come as if there was no room
 * for them. */
ssize_t
__wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    if (denied) {
        message->msg_controllen = 0;
    }
    return __real_recvmsg(fd, message, flags);
}

static bool no_profile; /* for want of memory */

struct profile *__real_profile_new(void);
struct profile *__wrap_profile_new(void);

struct profile *
__wrap_profile_new(void)
{
    return no_profile ? NULL : __real_profile_new();
}

static uint64_t
key_of(const void *address)
{
    return PRELOAD_KEY_PLAIN | UINT64_C(1) << PRELOAD_KEY_NUMBER_BIT |
           (uintptr_t)address;
}

/* Record a process as number 1. Its clock begins now: of more processor time than can
 * have passed since the collector began, some would be refused. */
static void
record_process(pid_t pid)
{
    struct timespec now = {0, 0};

    if (pid == getpid()) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    }
    memory.shared->process_count = 1;
    memory.shared->processes[1] = (struct preload_process){
        .ready = 1,
        .pid = (uint32_t)pid,
        .outer_pid = (uint32_t)pid,
        .kind = PRELOAD_EXECED,
        .program = "work",
        .begin_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
        .threads = 1};
}

/* Make a ring of process 1, and hand it over. */
static void
send_ring(void)
{
    ring = ring_sender_make(&memory, BYTES);
}

/* A hit at the start of the code, which code 256 bytes further on called, which nobody
 * did. */
static void
put_hit(void)
{
    const uint32_t at = stack_ring_take(ring, memory.ring_slots, 7);
    struct stack_ring_slot *const slot =
        stack_ring_slot(ring, memory.ring_slots, BYTES, at);
    const uint64_t frame[] = {0, (uintptr_t)code + 257};

    assert_true(at < memory.ring_slots);
    memset(slot, 0, stack_ring_slot_bytes(BYTES));
    slot->key = key_of(code);
    slot->event_count = ring->event_count;
    slot->stack_bytes = BYTES;
    slot->registers[SYM_REGISTER_SP] = stack_at;
    slot->registers[SYM_REGISTER_FP] = stack_at;
    slot->registers[SYM_REGISTERS] = (uintptr_t)code;
    memcpy(slot->stack, frame, sizeof(frame));
    stack_ring_publish(ring, at, 7);
}

/* Return the hits that have callers. */
static uint64_t
count_walked(void)
{
    struct callers_cut *const cut = callers_cut_make(collector->callers, CALLERS_ALL);
    uint64_t hits = 0;

    assert_non_null(cut);
    for (size_t i = 0; i < cut->row_count; i++) {
        const struct stack_node *const node = &cut->nodes[cut->rows[i].node];

        assert_int_equal(node->address, (uintptr_t)code + 256);
        hits += cut->rows[i].hits;
    }
    callers_cut_delete(cut);
    return hits;
}

/* Have the collector look, and check its statistics: all hits are in code that it has
 * found. */
static uint64_t
count_all(void)
{
    const ntprof_source_info *const info = collector->session_statistics;

    assert_true(collector_read(collector));
    assert_int_equal(info->taken, info->counted + info->outside);
    assert_int_equal(info->outside, 0);
    return info->counted;
}

static int
begin(void **state)
{
    static const KPROFILE_SOURCE sources[] = {ProfileTime};
    const struct collector_options options = {.preloaded = &memory,
                                              .sources = sources,
                                              .source_count = 1,
                                              .bucket_bytes = 1,
                                              .user = true,
                                              .stack_bytes = BYTES,
                                              .contexts = STACK_CONTEXTS_MIN};

    (void)state;
    code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    assert_true(code != MAP_FAILED);
    assert_int_equal(preload_memory_open(&memory, 1000000, 0), 0);
    assert_int_equal(preload_memory_add_stacks(&memory, BYTES), 0);
    collector = collector_new(&options);
    ring = NULL;
    return collector == NULL;
}

static int
end(void **state)
{
    (void)state;
    if (ring != NULL) {
        munmap(ring, stack_ring_bytes(memory.ring_slots, BYTES));
    }
    collector_delete(collector);
    preload_memory_close(&memory);
    return munmap(code, CODE_BYTES);
}

/* Have the collector look until hits that wait for a reading of mappings are taken. */
static void
look_for_ms(long milliseconds)
{
    for (long i = 0; i < milliseconds; i += 10) {
        preloaded_look(collector->preloaded);
        usleep(10000);
    }
}

static void
hit__in_a_ring__counted_once_with_its_callers(void **state)
{
    (void)state;
    record_process(getpid());
    send_ring();
    put_hit();
    put_hit();
    assert_int_equal(count_all(), 2);
    assert_int_equal(count_walked(), 2);
    put_hit();
    assert_int_equal(count_all(), 3);
    assert_int_equal(count_all(), 3);
    assert_int_equal(count_walked(), 3);
    assert_int_equal(memory.refused, 0);
}

static void
hit__without_a_ring__counted_without_callers(void **state)
{
    (void)state;
    record_process(getpid());
    send_ring();
    put_hit();
    assert_int_equal(count_all(), 1);
    memory.shared->slots[0] = (struct preload_slot){key_of(code), 4, 0};
    assert_int_equal(count_all(), 5);
    assert_int_equal(count_walked(), 1);
}

static void
hit__code_has_changed_since__counted_without_callers(void **state)
{
    (void)state;
    record_process(getpid());
    send_ring();
    put_hit();
    ring->events[0] = (struct stack_ring_event){.base = 0x1000, .length = 0x1000};
    ring->event_count = 1;
    put_hit();
    assert_int_equal(count_all(), 2);
    assert_int_equal(count_walked(), 1);
}

static void
hit__events_taken_back__counted_without_callers(void **state)
{
    (void)state;
    record_process(getpid());
    send_ring();
    ring->events[0] = (struct stack_ring_event){.base = 0x1000, .length = 0x1000};
    ring->event_count = 1;
    put_hit();
    assert_int_equal(count_all(), 1);
    assert_int_equal(count_walked(), 1);
    ring->event_count = 0;
    put_hit();
    assert_int_equal(count_all(), 2);
    assert_int_equal(count_walked(), 1);
}

static void
hit__in_code_that_is_not_known_yet__waits_for_the_next_reading(void **state)
{
    (void)state;
    assert_int_equal(mprotect(code, CODE_BYTES, PROT_READ), 0);
    record_process(getpid());
    send_ring();
    put_hit();
    preloaded_look(collector->preloaded);
    assert_int_equal(stack_ring_state(ring->words[0]), STACK_RING_READY);
    assert_int_equal(mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC), 0);
    memory.shared->processes[1].plain =
        1; /* as the preload object says of such a hit */
    look_for_ms(500);
    assert_int_equal(ring->words[0], STACK_RING_FREE);
    assert_int_equal(count_all(), 1);
    assert_int_equal(count_walked(), 1);
}

static void
ring__while_counting_is_paused__taken_and_left_out(void **state)
{
    (void)state;
    record_process(getpid());
    send_ring();
    put_hit();
    assert_true(collector_pause(collector));
    put_hit();
    put_hit();
    assert_true(collector_resume(collector));
    put_hit();
    assert_int_equal(count_all(), 4);
    assert_int_equal(collector->statistics[0].counted, 2);
    assert_int_equal(count_walked(), 2);
}

static void
ring__of_another_process__refused(void **state)
{
    /* One that takes no processor time: more than could have passed is refused. */
    const pid_t other = fork();

    (void)state;
    if (other == 0) {
        pause();
        _exit(0);
    }
    assert_true(other > 0);
    record_process(other);
    send_ring();
    put_hit();
    assert_int_equal(count_all(), 0);
    assert_int_equal(memory.refused, 1);
    assert_int_equal(stack_ring_state(ring->words[0]), STACK_RING_READY);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}

static void
ring__second_of_a_process__refused(void **state)
{
    struct stack_ring *first;

    (void)state;
    record_process(getpid());
    send_ring();
    assert_int_equal(count_all(), 0);
    first = ring;
    send_ring();
    put_hit();
    assert_int_equal(count_all(), 0);
    assert_int_equal(memory.refused, 1);
    munmap(ring, stack_ring_bytes(memory.ring_slots, BYTES));
    ring = first;
    put_hit();
    assert_int_equal(count_all(), 1);
}

static void
ring__of_no_process__refused(void **state)
{
    (void)state;
    send_ring();
    put_hit();
    ring->process = UINT32_MAX;
    assert_int_equal(count_all(), 0);
    assert_int_equal(memory.refused, 1);
}

static void
ring__without_memory_for_it__lost_and_not_refused(void **state)
{
    struct collector_gaps gaps;

    (void)state;
    record_process(getpid());
    send_ring();
    no_memory = true;
    assert_int_equal(count_all(), 0);
    no_memory = false;
    assert_int_equal(memory.refused, 0);
    assert_int_equal(memory.lost_rings, 1);
    memset(&gaps, 0, sizeof(gaps));
    preloaded_describe(collector->preloaded, &gaps);
    assert_int_equal(gaps.lost_rings, 1);
    assert_int_equal(gaps.unbelieved, 0);
}

/* Without room for its descriptor. Whoever receives may be a process of its own, with
 * the limit of when it began, so that is not changed but reached. */
static void
ring__without_a_number_for_it__lost_and_not_refused(void **state)
{
    int fds[NUMBERS];
    int count = 0;

    (void)state;
    record_process(getpid());
    send_ring();
    while (count < NUMBERS && (fds[count] = dup(0)) >= 0) {
        count++;
    }
    assert_in_range(count, 1, NUMBERS - 1);
    close(fds[--count]); /* for the connection only */
    assert_int_equal(count_all(), 0);
    while (count > 0) {
        close(fds[--count]);
    }
    assert_int_equal(memory.refused, 0);
    assert_int_equal(memory.lost_rings, 1);
}

static void
ring__refused_by_a_security_module__lost_and_told(void **state)
{
    struct collector_gaps gaps;

    (void)state;
    record_process(getpid());
    send_ring();
    denied = true;
    assert_int_equal(count_all(), 0);
    denied = false;
    assert_int_equal(memory.lost_rings, 0);
    assert_int_equal(memory.refused, 0);
    memset(&gaps, 0, sizeof(gaps));
    preloaded_describe(collector->preloaded, &gaps);
    assert_int_equal(gaps.denied_rings, 1);
}

static void
message__without_a_ring__passed_over(void **state)
{
    int fds[2];

    (void)state;
    record_process(getpid());
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    ring_sender_send(&memory, fds[0]);
    close(fds[0]);
    assert_int_equal(count_all(), 0);
    assert_int_equal(memory.refused, 1);
    /* Nobody holds the other end any more. */
    assert_int_equal(signal(SIGPIPE, SIG_IGN) == SIG_ERR, 0);
    assert_int_equal(write(fds[1], "", 1), -1);
    close(fds[1]);
    send_ring();
    put_hit();
    assert_int_equal(count_all(), 1);
}

static void
ring__of_a_process_that_exited__taken_to_its_end(void **state)
{
    int fds[2];
    char byte;
    pid_t child;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        record_process(getpid());
        send_ring();
        put_hit();
        _exit(write(fds[1], "", 1) != 1);
    }
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fds[0]);
    close(fds[1]);
    assert_true(collector_read(collector));
    /* Its mappings are not known any more. */
    assert_int_equal(collector->session_statistics[0].outside, 1);
    assert_int_equal(memory.refused, 0);
}

/* Who prints the last line of a recording has nothing but these. */
static void
snapshot__no_memory_for_a_profile__gaps_are_none(void **state)
{
    struct collector_gaps gaps;

    (void)state;
    memset(&gaps, 0xff, sizeof(gaps));
    no_profile = true;
    assert_null(collector_snapshot(collector, &gaps));
    no_profile = false;
    for (size_t i = 0; i < STACK_ENDS; i++) {
        assert_int_equal(gaps.stack_ends[i], 0);
    }
    assert_int_equal(gaps.contexts, 0);
    assert_int_equal(gaps.failures, 0);
    assert_string_equal(gaps.unread_why, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct rlimit numbers = {NUMBERS, NUMBERS};
    const struct CMUnitTest tests[] = {
        TEST(hit__in_a_ring__counted_once_with_its_callers),
        TEST(hit__without_a_ring__counted_without_callers),
        TEST(hit__code_has_changed_since__counted_without_callers),
        TEST(hit__events_taken_back__counted_without_callers),
        TEST(hit__in_code_that_is_not_known_yet__waits_for_the_next_reading),
        TEST(ring__while_counting_is_paused__taken_and_left_out),
        TEST(ring__of_another_process__refused),
        TEST(ring__second_of_a_process__refused),
        TEST(ring__of_no_process__refused),
        TEST(ring__without_memory_for_it__lost_and_not_refused),
        TEST(ring__without_a_number_for_it__lost_and_not_refused),
        TEST(ring__refused_by_a_security_module__lost_and_told),
        TEST(message__without_a_ring__passed_over),
        TEST(ring__of_a_process_that_exited__taken_to_its_end),
        TEST(snapshot__no_memory_for_a_profile__gaps_are_none),
    };

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &numbers), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
