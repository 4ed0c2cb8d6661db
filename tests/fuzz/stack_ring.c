/* SPDX-License-Identifier: MIT */
/*
 * stack_ring.c - fuzz target: a forged ring of hits with stacks, through what reads it.
 *
 * The data are pieces: a byte for the kind, two for the number, and the bytes of that
 * part of the ring, segment or path, as far as there are any. What must hold is
 * checked: statistics add up, and no place has more hits with callers than it has hits.
 */
#include "preload/stack_ring.h"
#include "record/collect/collectorp.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BYTES = 512, PIECE_BYTES_MAX = 256 };

static void
check(int holds)
{
    if (!holds) {
        abort();
    }
}

/* Hand a file over to the collector. */
static void
send_file(const struct preload_memory *memory, int fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char byte = 0;
    struct iovec data = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *const header = CMSG_FIRSTHDR(&message);
    const int connected = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d",
             memory->socket.place);
    check(connect(connected, (const struct sockaddr *)&address, sizeof(address)) == 0);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    check(sendmsg(connected, &message, 0) == 1);
    close(connected);
}

/* Make a ring of process 1, whose number in other namespaces is unknown. */
static struct stack_ring *
make_ring(struct preload_memory *memory)
{
    const size_t bytes = stack_ring_bytes(memory->ring_slots, BYTES);
    const int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct stack_ring *ring;

    check(ftruncate(fd, (off_t)bytes) == 0 &&
          fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(ring != MAP_FAILED);
    ring->magic = STACK_RING_MAGIC;
    ring->process = 1;
    send_file(memory, fd);
    close(fd);
    memory->shared->process_count = 1;
    memory->shared->processes[1] =
        (struct preload_process){.ready = 1, .pid = 1, .kind = PRELOAD_EXECED};
    return ring;
}

/* Where a piece goes, and how many bytes it may have. */
static uint8_t *
find_place(const struct preload_memory *memory, struct stack_ring *ring, uint8_t kind,
           uint16_t number, size_t *most)
{
    struct preload_shared *const shared = memory->shared;

    *most = PIECE_BYTES_MAX;
    switch (kind % 6) {
    case 0:
        *most = offsetof(struct stack_ring, events);
        return (uint8_t *)ring;
    case 1:
        *most = sizeof(ring->events[0]);
        return (uint8_t *)&ring->events[number % STACK_RING_EVENTS];
    case 2:
        *most = sizeof(ring->words[0]);
        return (uint8_t *)&ring->words[number % memory->ring_slots];
    case 3:
        return (uint8_t *)stack_ring_slot(ring, memory->ring_slots, BYTES,
                                          number % memory->ring_slots);
    case 4:
        shared->segment_count = 8;
        *most = sizeof(shared->segments[0]);
        return (uint8_t *)&shared->segments[number % 8];
    default:
        *most = 24;
        return (uint8_t *)&shared->paths[number];
    }
}

static void
forge(const struct preload_memory *memory, struct stack_ring *ring, const uint8_t *data,
      size_t size)
{
    while (size > 3) {
        const uint16_t number = (uint16_t)(data[1] | data[2] << 8);
        size_t bytes;
        uint8_t *const place = find_place(memory, ring, data[0], number, &bytes);

        data += 3;
        size -= 3;
        bytes = bytes < size ? bytes : size;
        memcpy(place, data, bytes);
        data += bytes;
        size -= bytes;
    }
}

/* Hits of a place of an image. */
static uint64_t
count_place(const struct counts *counts, uint64_t place, uint32_t program)
{
    uint64_t hits = 0;

    for (size_t i = 0; i < counts->count; i++) {
        hits += counts->items[i].place == place && counts->items[i].program == program
                    ? counts->items[i].hits
                    : 0;
    }
    return hits;
}

/* Each row with callers is of a place that has as many hits. */
static void
check_rows(const struct collector *collector)
{
    struct callers_cut *const cut = callers_cut_make(collector->callers, CALLERS_ALL);

    check(cut != NULL);
    for (size_t i = 0; i < collector->images.count; i++) {
        const struct counts *const fresh = &collector->images.images[i]->fresh;

        for (size_t j = 0; j < fresh->count; j++) {
            struct stack_place place = {.address = fresh->items[j].place};
            const struct stack_row *rows;
            uint64_t hits = 0;
            size_t count;

            check(callers_owner((uint32_t)i, fresh->items[j].program, 0, &place.owner));
            rows = callers_cut_rows(cut, &place, &count);
            for (size_t k = 0; k < count; k++) {
                hits += rows[k].hits;
            }
            check(hits <= count_place(fresh, place.address, fresh->items[j].program));
        }
    }
    callers_cut_delete(cut);
}

static void
check_collector(struct collector *collector)
{
    ntprof_source_info info;

    check(collector_read(collector));
    info = collector->session_statistics[0];
    check(info.taken == info.counted + info.outside);
    check(info.expected == info.taken + info.lost + info.missed + info.unfinished);
    check_rows(collector);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const KPROFILE_SOURCE sources[] = {ProfileTime};
    struct preload_memory memory;
    const struct collector_options options = {.preloaded = &memory,
                                              .sources = sources,
                                              .source_count = 1,
                                              .bucket_bytes = 1,
                                              .user = true,
                                              .stack_bytes = BYTES,
                                              .contexts = STACK_CONTEXTS_MIN};
    struct collector *collector;
    struct stack_ring *ring;

    check(preload_memory_open(&memory, 4000000, 0) == 0);
    check(preload_memory_add_stacks(&memory, BYTES) == 0);
    collector = collector_new(&options);
    check(collector != NULL);
    ring = make_ring(&memory);
    forge(&memory, ring, data, size);
    check_collector(collector);
    /* The program writes on meanwhile. */
    forge(&memory, ring, data + size / 2, size - size / 2);
    check_collector(collector);
    munmap(ring, stack_ring_bytes(memory.ring_slots, BYTES));
    collector_delete(collector);
    preload_memory_close(&memory);
    return 0;
}
