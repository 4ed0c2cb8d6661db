/* SPDX-License-Identifier: MIT */
/*
 * in_process.c - in place of tool/sandbox/process.c: readers are threads, so that
 * sanitizers and fuzzers see both ends of a conversation.
 */
#include "in_process.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* reader - a thread, and its end of the socket. */
struct reader {
    pthread_t thread;
    sandbox_work *work;
    int fd;
};

sandbox_work *in_process_work;

/* By the pid of their process; one of 0 is free. */
static struct reader readers[16];

static void *
reader_main(void *context)
{
    struct reader *const reader = context;
    struct wire wire;

    wire_init(&wire, reader->fd, NULL, NULL);
    reader->work(&wire);
    wire_finish(&wire);
    close(reader->fd);
    return NULL;
}

int
sandbox_prepare(void)
{
    return 0;
}

void
sandbox_finish(void)
{
}

int
sandbox_start(struct sandbox_process *process, const struct module *module,
              sandbox_work *work, const struct sandbox_limits *limits)
{
    pid_t pid = 1;
    int ends[2];

    (void)module; /* linked in */
    (void)limits;
    while (readers[pid].work != NULL) {
        pid++;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        abort();
    }
    *process = (struct sandbox_process){.pid = pid};
    wire_init(&process->wire, ends[0], NULL, NULL);
    readers[pid] = (struct reader){
        .work = in_process_work == NULL ? work : in_process_work, .fd = ends[1]};
    if (pthread_create(&readers[pid].thread, NULL, reader_main, &readers[pid]) != 0) {
        abort();
    }
    return 0;
}

uint64_t
sandbox_cpu_ns(const struct sandbox_process *process)
{
    (void)process;
    return 0;
}

uint64_t
sandbox_memory_bytes(const struct sandbox_process *process)
{
    (void)process;
    return 0;
}

void
sandbox_stop(struct sandbox_process *process)
{
    if (process->pid > 0) {
        close(process->wire.fd);
        wire_finish(&process->wire);
        pthread_join(readers[process->pid].thread, NULL);
        readers[process->pid].work = NULL;
        process->pid = 0;
    }
}

const char *
sandbox_why(const struct sandbox_process *process)
{
    (void)process;
    return "it ended";
}
