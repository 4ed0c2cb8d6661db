/* SPDX-License-Identifier: MIT */
/* preload_memory.c - makes the memory that preload objects count into, and checks what
 * it reads from it. */
#include "record/collect/preload_memory.h"
#include "base/memory_file.h"
#include "preload/stack_ring.h"
#include "record/collect/counts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Limit of addresses: Linux gives programs none above. So it limits lengths of code,
 * too. */
#define ADDRESS_LIMIT (UINT64_C(1) << 57)

/* Read a value once: programs may change it at any time. */
static uint32_t
read_32(const uint32_t *value)
{
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

/* Map the shared memory and write what preload objects have to know. Returns 0 or a
 * negative errno. */
static int
fill(struct preload_memory *memory)
{
    struct preload_shared *const shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
             memory->fd, 0);

    if (shared == MAP_FAILED) {
        return -errno;
    }
    (void)madvise(shared, sizeof(*shared), MADV_DONTDUMP);
    shared->interval_ns = memory->interval_ns;
    shared->bucket_log2 = memory->bucket_log2;
    shared->pid_namespace = preload_pid_namespace();
    shared->proc_device = preload_proc_device();
    shared->magic = PRELOAD_MAGIC;
    memory->shared = shared;
    return 0;
}

int
preload_memory_open(struct preload_memory *memory, uint64_t interval_ns,
                    uint32_t bucket_log2)
{
    int failure = 0;

    *memory = (struct preload_memory){
        .interval_ns = interval_ns, .bucket_log2 = bucket_log2, .socket = {-1, -1}};
    memory->fd = memory_file_create("ntprof-counters");
    if (memory->fd < 0) {
        return -errno;
    }
    if (ftruncate(memory->fd, (off_t)sizeof(struct preload_shared)) < 0 ||
        fcntl(memory->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        failure = -errno;
    }
    failure = failure == 0 ? fill(memory) : failure;
    if (failure != 0) {
        preload_memory_close(memory);
    }
    return failure;
}

/* Time in which a ring gets full of one process that uses all processors. */
#define FULL_NS UINT64_C(100000000)

/* Return how many slots rings have, an even number (stack_ring_allows). */
static uint32_t
choose_slots(uint64_t interval_ns)
{
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    const uint64_t hits =
        FULL_NS / interval_ns * (processors > 0 ? (uint64_t)processors : 1);

    return hits < STACK_RING_SLOTS_MIN   ? STACK_RING_SLOTS_MIN
           : hits > STACK_RING_SLOTS_MAX ? STACK_RING_SLOTS_MAX
                                         : (uint32_t)(hits + hits % 2);
}

int
preload_memory_add_stacks(struct preload_memory *memory, uint32_t stack_bytes)
{
    const int failure = stack_socket_open(&memory->socket);

    if (failure != 0) {
        return failure;
    }
    memory->ring_slots = choose_slots(memory->interval_ns);
    memory->stack_bytes = stack_bytes;
    memory->shared->ring_slots = memory->ring_slots;
    memory->shared->stack_bytes = stack_bytes;
    assert(stack_ring_allows(memory->ring_slots, stack_bytes));
    return 0;
}

void
preload_memory_close(struct preload_memory *memory)
{
    stack_socket_close(&memory->socket);
    if (memory->shared != NULL) {
        (void)munmap(memory->shared, sizeof(*memory->shared));
        memory->shared = NULL;
    }
    if (memory->fd >= 0) {
        (void)close(memory->fd);
        memory->fd = -1;
    }
}

/* ---- Records ---- */

/* Return the number of the last record. Preload objects increment count for a
 * record without a place too, so it may exceed the places. */
static uint32_t
last_number(const uint32_t *count, uint32_t places)
{
    const uint32_t asked = read_32(count);

    return asked < places ? asked : places - 1;
}

uint32_t
preload_memory_processes(const struct preload_memory *memory)
{
    return last_number(&memory->shared->process_count, PRELOAD_PROCESSES);
}

uint32_t
preload_memory_segments(const struct preload_memory *memory)
{
    return last_number(&memory->shared->segment_count, PRELOAD_SEGMENTS);
}

/* Return how many records had no place. */
static uint64_t
count_refused(const uint32_t *count, uint32_t places)
{
    const uint32_t asked = read_32(count);

    return asked < places ? 0 : asked - places + 1;
}

uint64_t
preload_memory_refused_processes(const struct preload_memory *memory)
{
    return count_refused(&memory->shared->process_count, PRELOAD_PROCESSES);
}

uint64_t
preload_memory_refusals(const struct preload_memory *memory)
{
    return preload_memory_refused_processes(memory) +
           count_refused(&memory->shared->segment_count, PRELOAD_SEGMENTS);
}

/* Has a record been written completely? Pairs with the writer's release. */
static bool
is_ready(const uint32_t *ready)
{
    return __atomic_load_n(ready, __ATOMIC_ACQUIRE) == 1;
}

/* Copy memory that others may be writing. */
static void
copy(void *to, const void *from, size_t bytes)
{
    const volatile char *const bytes_from = from;

    for (size_t i = 0; i < bytes; i++) {
        ((char *)to)[i] = bytes_from[i];
    }
}

bool
preload_memory_process(const struct preload_memory *memory, uint32_t number,
                       struct preload_process *process)
{
    const struct preload_process *const written = &memory->shared->processes[number];

    if (!is_ready(&written->ready)) {
        return false;
    }
    copy(process, written, sizeof(*process));
    process->program[PRELOAD_NAME_BYTES - 1] = '\0';
    return process->pid != 0 && process->pid <= INT32_MAX &&
           process->outer_pid <= INT32_MAX && process->kind >= PRELOAD_EXECED &&
           process->kind <= PRELOAD_SPAWNED;
}

bool
preload_memory_is_ready(const struct preload_memory *memory, uint32_t number)
{
    return is_ready(&memory->shared->segments[number].ready);
}

/* Copy the path that begins at paths[at]. Returns false if it cannot be one. */
static bool
copy_path(const struct preload_memory *memory, uint32_t at, char *path)
{
    if (at > PRELOAD_PATHS_BYTES - PRELOAD_PATH_MAX) {
        return false;
    }
    copy(path, &memory->shared->paths[at], PRELOAD_PATH_MAX);
    return memchr(path, '\0', PRELOAD_PATH_MAX) != NULL &&
           (path[0] == '/' || strcmp(path, "[vdso]") == 0);
}

bool
preload_memory_segment(struct preload_memory *memory, uint32_t number,
                       struct preload_code *code)
{
    const uint64_t bucket_mask = (UINT64_C(1) << memory->bucket_log2) - 1;
    struct preload_segment segment;
    uint64_t end;

    copy(&segment, &memory->shared->segments[number], sizeof(segment));
    *code = (struct preload_code){
        .offset = segment.offset,
        .length = segment.length,
        .inode = segment.inode,
        .device_major = segment.device_major,
        .device_minor = segment.device_minor,
        .process = segment.process < PRELOAD_PROCESSES ? segment.process : 0,
    };
    memcpy(code->program, segment.program, PRELOAD_NAME_BYTES);
    code->program[PRELOAD_NAME_BYTES - 1] = '\0';
    if (!copy_path(memory, segment.path, code->path) || code->length == 0 ||
        code->length > ADDRESS_LIMIT || (code->offset & bucket_mask) != 0 ||
        __builtin_add_overflow(code->offset, code->length, &end)) {
        memory->refused++;
        return false;
    }
    return true;
}

/* ---- Hits ---- */

/* Pass the hits of one slot to take, and reset them. Returns false if it refuses. */
static bool
take_slot(struct preload_memory *memory, struct preload_slot *slot,
          preload_memory_hits *take, void *context)
{
    /* Pairs with the release in record_hit: a slot with hits has its key. */
    uint32_t hits = __atomic_load_n(&slot->hits, __ATOMIC_ACQUIRE);
    const uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);

    if (hits == 0) {
        return true;
    }
    if (key == 0) {
        memory->refused++;
        __atomic_store_n(&slot->hits, 0, __ATOMIC_RELAXED);
        return true;
    }
    /* Not read and later subtracted: a program may reset it in between. */
    hits = __atomic_exchange_n(&slot->hits, 0, __ATOMIC_RELAXED);
    if (!take(context, key, hits)) {
        (void)__atomic_fetch_add(&slot->hits, hits, __ATOMIC_RELAXED);
        return false;
    }
    return true;
}

/* Return the first byte from at on, at most end, whose page was touched: reading one
 * that never was would allocate it. */
static off_t
next_touched(const struct preload_memory *memory, off_t at, off_t end)
{
    const off_t next = lseek(memory->fd, at, SEEK_DATA);

    if (next < 0) {
        return errno == ENXIO ? end : at; /* ENXIO: nothing from there on */
    }
    return next < end ? next : end;
}

bool
preload_memory_take(struct preload_memory *memory, preload_memory_hits *take,
                    void *context)
{
    const off_t begin = (off_t)offsetof(struct preload_shared, slots);
    const off_t end = begin + (off_t)sizeof(memory->shared->slots);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    bool complete = true;

    for (off_t at = next_touched(memory, begin, end); at < end;) {
        const size_t first = (size_t)(at - begin) / sizeof(struct preload_slot);
        /* Up to the end of the page; slots do not cross pages. */
        const off_t next = (off_t)(((size_t)at / page + 1) * page);
        const off_t until = next < end ? next : end;

        for (size_t i = first;
             i < (size_t)(until - begin) / sizeof(struct preload_slot); i++) {
            complete =
                take_slot(memory, &memory->shared->slots[i], take, context) && complete;
        }
        at = until < end ? next_touched(memory, until, end) : end;
    }
    return complete;
}

uint64_t
preload_memory_lost(const struct preload_memory *memory)
{
    return read_32(&memory->shared->lost);
}

uint64_t
preload_memory_unloaded(const struct preload_memory *memory)
{
    return read_32(&memory->shared->unloaded);
}
