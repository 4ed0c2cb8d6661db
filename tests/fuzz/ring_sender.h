/* SPDX-License-Identifier: MIT */
/* ring_sender.h - hands rings of stacks to a collector, as preload objects do. Ends the
 * program on any failure. */
#ifndef TESTS_FUZZ_RING_SENDER_H
#define TESTS_FUZZ_RING_SENDER_H

#include "preload/stack_ring.h"
#include "record/collect/preload_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void
ring_sender_check(int holds)
{
    if (!holds) {
        abort();
    }
}

/* Hand a file over. */
static void
ring_sender_send(const struct preload_memory *memory, int fd)
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
    ring_sender_check(
        connect(connected, (const struct sockaddr *)&address, sizeof(address)) == 0);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    ring_sender_check(sendmsg(connected, &message, 0) == 1);
    close(connected);
}

/* Make a ring of process 1, hand it over, and return it. */
static struct stack_ring *
ring_sender_make(const struct preload_memory *memory, uint32_t stack_bytes)
{
    const size_t bytes = stack_ring_bytes(memory->ring_slots, stack_bytes);
    const int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct stack_ring *ring;

    ring_sender_check(ftruncate(fd, (off_t)bytes) == 0 &&
                      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ring_sender_check(ring != MAP_FAILED);
    ring->magic = STACK_RING_MAGIC;
    ring->process = 1;
    ring_sender_send(memory, fd);
    close(fd);
    return ring;
}

#endif
