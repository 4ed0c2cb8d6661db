/* SPDX-License-Identifier: MIT */
/*
 * notification.h - what happened to watched processes, in time order with the hits.
 *
 * NT's load-image and create-process notify routines, for Linux. Freestanding.
 */
#ifndef NTPROF_NOTIFICATION_H
#define NTPROF_NOTIFICATION_H

#include <ntprof/nt_types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    /* A process was forked (parent_pid), or is watched from now on (parent_pid 0). One
     * NTPROF_IMAGE_MAP follows for each mapping that it has at the start. pid 0 is not
     * a process: idle processors run it (ntprof_session_watch, all processes). */
    NTPROF_PROCESS_START = 1,
    /* It runs a new program; one NTPROF_IMAGE_UNMAP for each mapping precedes; name is
     * set. */
    NTPROF_PROCESS_EXEC = 2,
    /* The main thread's name changed; name is set. */
    NTPROF_PROCESS_NAME = 3,
    /* The last thread ended; one NTPROF_IMAGE_UNMAP for each mapping precedes. Directly
     * after NTPROF_PROCESS_EXEC, without a mapping in between: the process is alive,
     * but runs a set-user-ID program with more rights than the session's opener, and
     * Linux no longer measures it. */
    NTPROF_PROCESS_EXIT = 4,
    /* Memory that can be executed was mapped, or made executable. */
    NTPROF_IMAGE_MAP = 5,
    /* A mapping was removed: another replaced it, or its process ended or ran a new
     * program. A mapping that is replaced in part is reported as unmapped, and the
     * remaining parts as mapped again. Linux does not report munmap(); it is reported
     * when another mapping takes the place. */
    NTPROF_IMAGE_UNMAP = 6,
    /* Records were lost (count is set): notifications may be missing. */
    NTPROF_RECORDS_LOST = 7
};

/* image_flags */
enum {
    NTPROF_IMAGE_ANONYMOUS = 1, /* no file: JIT code, heap, stack */
    NTPROF_IMAGE_KERNEL = 2     /* kernel code: same for all processes */
};

/*
 * ntprof_notification - one event. Pointers are valid during the callback only. Unused
 * members are 0.
 */
typedef struct ntprof_notification {
    size_t size;   /* sizeof(ntprof_notification) */
    uint32_t kind; /* NTPROF_PROCESS_START.. */
    uint32_t pid;  /* process, as the session's opener sees it */
    /* CLOCK_MONOTONIC_RAW; back end sim: simulated time */
    uint64_t time_ns;
    uint32_t parent_pid; /* NTPROF_PROCESS_START */
    uint32_t tid;        /* thread that caused the event, 0 if unknown */
    const char *name;    /* of the process, or mapping's path or [name]; untrusted */
    /* NTPROF_IMAGE_MAP and NTPROF_IMAGE_UNMAP */
    uint64_t base;         /* first byte, in the process */
    uint64_t length;       /* bytes; base + length does not wrap */
    uint64_t file_offset;  /* of base in the file, bytes */
    uint32_t device_major; /* the mapped inode; all 0 if anonymous */
    uint32_t device_minor;
    uint64_t inode;
    uint64_t inode_generation;
    uint32_t image_flags; /* NTPROF_IMAGE_... */
    uint32_t reserved;
    uint64_t count; /* NTPROF_RECORDS_LOST: records */
} ntprof_notification;

/*
 * ntprof_notify - called on the thread that delivers (the session's own, or the one in
 * ntprof_session_poll/flush), one call at a time. It may make any Nt call on its
 * session: a profile started here misses no hit that happened after the event, and
 * counts none from before it. It must not close the session.
 *
 * It must return: it must not be left by longjmp, an exception or pthread_exit, and
 * must not call the session on another stack than its own. Otherwise the session cannot
 * be used any more. The next call on the same thread from a caller of the delivery, or
 * any call if the thread ended, detects that: this call and all later ones fail (calls
 * of NT with STATUS_INVALID_HANDLE, others with STATUS_INVALID_PARAMETER),
 * ntprof_session_error says why, and ntprof_session_close does not free its memory.
 * Until it is detected, other threads that use the session wait.
 */
typedef void ntprof_notify(void *context, const ntprof_notification *notification);

#ifdef __cplusplus
}
#endif

#endif
