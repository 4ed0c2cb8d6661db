/* SPDX-License-Identifier: MIT */
/*
 * agent_attacker.c - a program that writes into the memory of its own preload object,
 * as one with a bug or an evil mind could.
 *
 * usage: agent_attacker ATTACK [SEED]. Prints "none" if there is no such memory, and
 * otherwise "done": what it does must harm nobody but itself.
 */
#include "preload/shared.h"
#include "preload/stack_ring.h"
#include "scenarios.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct preload_shared *shared;
static struct stack_ring *ring; /* NULL: without stacks */
static uint64_t seed = 1;

static uint64_t
random_number(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 16;
}

/* Find the preload object's memory in this process. */
static bool
find_memory(void)
{
    FILE *const maps = fopen("/proc/self/maps", "re");
    char line[512];

    must(maps != NULL, "/proc/self/maps");
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "memfd:ntprof-counters") != NULL) {
            shared = (struct preload_shared *)(uintptr_t)strtoull(line, NULL, 16);
        }
        if (strstr(line, "memfd:" STACK_RING_NAME) != NULL) {
            ring = (struct stack_ring *)(uintptr_t)strtoull(line, NULL, 16);
        }
    }
    fclose(maps);
    return shared != NULL;
}

/* Fill a part of it with random bytes; size_t of 0: up to its end. */
static void
fill_randomly(void *at, size_t bytes)
{
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        const uint64_t value = random_number() * 0x9E3779B97F4A7C15;

        memcpy((char *)at + i, &value, sizeof(value));
    }
}

/* ---- attacks, each repeated between pieces of work ---- */

static void
write_everything(void)
{
    fill_randomly(shared, sizeof(*shared));
}

static void
write_header(void)
{
    fill_randomly(shared, offsetof(struct preload_shared, processes));
}

static void
write_ones(void)
{
    memset(shared, 0xff, sizeof(*shared));
}

static void
write_zeros(void)
{
    memset(shared, 0, sizeof(*shared));
}

/* Records that look right, with numbers at and beyond every limit. */
static void
write_plausible(void)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     4096,
                                     UINT32_MAX,
                                     INT64_MAX,
                                     UINT64_MAX,
                                     UINT64_C(1) << 47,
                                     UINT64_C(1) << 57};

    shared->process_count = UINT32_MAX;
    shared->segment_count = UINT32_MAX;
    for (size_t i = 1; i < 2000; i++) {
        struct preload_process *const process = &shared->processes[i];
        struct preload_segment *const segment = &shared->segments[i];

        *process = (struct preload_process){
            .ready = 1,
            .pid = i % 3 == 0 ? 1 : (uint32_t)getpid(),
            .outer_pid = i % 5 == 0 ? 0 : (uint32_t)getpid(),
            .parent = (uint32_t)random_number(),
            .kind = 1 + i % 2,
            .begin_ns = edges[random_number() % 8],
            .end_ns = edges[random_number() % 8],
            .missed = (uint32_t)edges[random_number() % 8],
            .plain = (uint32_t)random_number(),
            .threads = UINT32_MAX,
            .unarmed = (uint32_t)random_number(),
            .error = (uint32_t)random_number(),
        };
        memset(process->program, 0x1b, sizeof(process->program));
        *segment = (struct preload_segment){
            .ready = 1,
            .path = (uint32_t)(random_number() % (PRELOAD_PATHS_BYTES + 10)),
            .offset = edges[random_number() % 8],
            .length = edges[random_number() % 8],
            .inode = random_number(),
            .process = (uint32_t)random_number() % (PRELOAD_PROCESSES * 2),
        };
    }
}

/* Paths of what must not be read as an image, or not be waited for. */
static void
write_paths(void)
{
    static const char *const paths[] = {
        "/dev/zero", "/dev/stdin",  "/proc/self/mem",   "/proc/kmsg",
        "/",         "/etc/shadow", "/tmp/../dev/full", "/dev/ptmx"};
    const uint32_t first = shared->segment_count;

    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t at = PRELOAD_PATHS_BYTES - (10 + i) * PRELOAD_PATH_MAX;
        struct preload_segment *const segment = &shared->segments[first + i];

        snprintf(&shared->paths[at], PRELOAD_PATH_MAX, "%s", paths[i]);
        *segment =
            (struct preload_segment){.path = at, .length = 1 << 20, .process = 1};
        segment->ready = 1;
        shared->slots[i * 1000].key = (uint64_t)(first + i) << PRELOAD_KEY_NUMBER_BIT;
        shared->slots[i * 1000].hits = 5;
    }
    shared->segment_count = first + 8;
}

/* More hits than there can be, in buckets that are there. */
static void
write_hits(void)
{
    for (size_t i = 0; i < PRELOAD_SLOTS; i++) {
        if (shared->slots[i].key != 0) {
            shared->slots[i].hits = UINT32_MAX;
        }
    }
    shared->lost = UINT32_MAX;
}

/* ---- attacks by the ring of stacks ---- */

static void
write_ring(void)
{
    must(ring != NULL, "ring");
    fill_randomly(ring, stack_ring_bytes(shared->ring_slots, shared->stack_bytes));
}

/* Hits that are ready, of code that is and is not there. */
static void
write_ready(void)
{
    must(ring != NULL, "ring");
    for (uint32_t i = 0; i < shared->ring_slots; i++) {
        struct stack_ring_slot *const slot =
            stack_ring_slot(ring, shared->ring_slots, shared->stack_bytes, i);

        fill_randomly(slot, stack_ring_slot_bytes(shared->stack_bytes));
        slot->key =
            random_number() % 8 << PRELOAD_KEY_NUMBER_BIT | random_number() % 4096;
        slot->event_count = ring->event_count;
        slot->stack_bytes = shared->stack_bytes;
        slot->registers[7] = UINT64_C(0x7fff0000);
        slot->registers[16] = ring->events[random_number() % 4].base;
        ring->words[i] = (uint32_t)gettid() << 2 | STACK_RING_READY;
    }
}

/* Send descriptors of other files, none and several at once to the command's socket. */
static void
send_others(void)
{
    static const char *const files[] = {"/dev/zero", "/proc/self/maps", "/dev/null"};
    unsigned numbers[3];

    must(getenv(PRELOAD_VARIABLE) != NULL &&
             sscanf(getenv(PRELOAD_VARIABLE), "%u:%u:%u", &numbers[0], &numbers[1],
                    &numbers[2]) == 3,
         PRELOAD_VARIABLE);
    for (size_t i = 0; i < 300; i++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        const int connected = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        int fds[3] = {open(files[i % 3], O_RDONLY | O_CLOEXEC), 1, 2};
        const size_t bytes = (1 + i % 3) * sizeof(int);
        char byte = 0;
        struct iovec data = {&byte, 1};
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {0};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = CMSG_SPACE(bytes)};
        struct cmsghdr *const header = CMSG_FIRSTHDR(&message);

        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/%u/fd/%u",
                 numbers[0], numbers[2]);
        must(connect(connected, (const struct sockaddr *)&address, sizeof(address)) ==
                 0,
             "connect");
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(header), fds, bytes);
        if (i % 7 != 0) { /* or nothing is sent */
            must(sendmsg(connected, &message, 0) == 1, "sendmsg");
        }
        close(fds[0]);
        close(connected);
    }
}

/* Make the file of the memory smaller, larger, or with holes. */
static void
change_file(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx",
             (unsigned long)(uintptr_t)shared,
             (unsigned long)(uintptr_t)shared +
                 ((sizeof(*shared) + page - 1) & ~(page - 1)));
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) { /* root only */
        must(ftruncate(fd, 0) < 0, "ftruncate");
        must(ftruncate(fd, 1 << 30) < 0, "ftruncate");
        must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
                       (off_t)sizeof(*shared) - 8192) == 0,
             "fallocate");
        close(fd);
    }
    must(madvise(shared, sizeof(*shared), MADV_REMOVE) == 0, "madvise");
}

/* ---- attacks of another kind ---- */

static void
make_children(int count)
{
    for (int i = 0; i < count; i++) {
        const pid_t child = fork();

        must(child >= 0, "fork");
        if (child == 0) {
            _exit(0);
        }
        must(waitpid(child, NULL, 0) == child, "waitpid");
    }
}

static void
fork_much(void)
{
    make_children(400);
}

/* More processes than there are records for. */
static void
fork_more_than_records(void)
{
    make_children(PRELOAD_PROCESSES + 1000);
}

/* Programs that are executed later find a header that makes no sense. */
static void
execute_after(void)
{
    fill_randomly(shared, offsetof(struct preload_shared, processes));
    shared->magic = PRELOAD_MAGIC;
    must(system("i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done") == 0, "system");
}

static void *
keep_writing(void *argument)
{
    for (;;) {
        fill_randomly(shared->processes, sizeof(shared->processes) / 64);
        fill_randomly(shared->segments, sizeof(shared->segments) / 64);
        shared->process_count = (uint32_t)random_number();
        shared->segment_count = (uint32_t)random_number();
        fill_randomly(&shared->slots[random_number() % (PRELOAD_SLOTS - 512)], 8192);
        pthread_testcancel();
    }
    return argument;
}

/* Write while the command reads. */
static void
write_meanwhile(void)
{
    pthread_t thread;

    must(pthread_create(&thread, NULL, keep_writing, NULL) == 0, "pthread_create");
    burn(300);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
}

static const struct {
    const char *name;
    void (*attack)(void);
    int times;
} attacks[] = {
    {"everything", write_everything, 4},
    {"header", write_header, 4},
    {"ones", write_ones, 4},
    {"zeros", write_zeros, 4},
    {"plausible", write_plausible, 4},
    {"paths", write_paths, 1},
    {"hits", write_hits, 4},
    {"file", change_file, 4},
    {"forks", fork_much, 1},
    {"many-forks", fork_more_than_records, 1},
    {"exec", execute_after, 1},
    {"meanwhile", write_meanwhile, 1},
    {"ring", write_ring, 4},
    {"ready", write_ready, 4},
    {"descriptors", send_others, 1},
};

int
main(int argc, char **argv)
{
    if (argc < 2 || !find_memory()) {
        puts("none");
        return 0;
    }
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        if (strcmp(attacks[i].name, argv[1]) == 0) {
            burn(60);
            for (int turn = 0; turn < attacks[i].times; turn++) {
                attacks[i].attack();
                burn(60); /* the command looks meanwhile */
            }
            puts("done");
            return 7;
        }
    }
    return 2;
}
