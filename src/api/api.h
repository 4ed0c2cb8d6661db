/* SPDX-License-Identifier: MIT */
/*
 * api/api.h - sessions: the only place that knows all layers.
 *
 * One recursive lock a session: an Nt call holds it throughout, and so does the
 * delivery of hits and notifications, whose callback may make Nt calls. So passive
 * calls of the core and deliveries are serialised, and a notification sees the same
 * state as the hits around it.
 *
 * Only a call that waits for threads of a profiled process pauses: it releases the lock
 * while it sleeps. Meanwhile calls run that neither deliver nor change what is started
 * (api_lock_beside); all others, and deliveries, wait until it has ended.
 */
#ifndef API_API_H
#define API_API_H

#include "ex/ex.h"
#include "hal/backend.h"

#include <ntprof/ntprof.h>
#include <pthread.h>
#include <stdbool.h>

struct ntprof_session {
    /* Recursive; guards all members but those that are set at open and never again. */
    pthread_mutex_t lock;
    bool paused;            /* a call has released the lock and continues soon */
    pthread_cond_t resumed; /* signalled when paused becomes false */
    KSYSTEM system;
    HOST host;                  /* set at open */
    const HAL_BACKEND *backend; /* set at open */
    void *backend_context;      /* set at open */
    int cgroup_fd; /* set at open: only hits of this cgroup count; -1: all */
    /* Set at open: the process that opened the session. A forked child has a copy of
     * the memory, but not the rings. */
    pid_t owner;
    ntprof_notify *notify;
    void *notify_context;
    ntprof_on_hit *on_hit;
    void *on_hit_context;
    ntprof_on_stack *on_stack;
    void *on_stack_context;
    bool stacks; /* set at open: hits have stacks */
    /* stack frame that calls notify, on_hit or on_stack; NULL while none runs */
    void *notify_frame;
    /* One of these callbacks was left by longjmp or pthread_exit: the session is of no
     * use any more. Atomic. */
    bool abandoned;
    ntprof_log *log; /* set at open */
    void *log_context;
    pthread_t thread;     /* set at open, if threaded */
    bool threaded;        /* set at open */
    bool closing;         /* the thread is to end */
    bool idle;            /* the thread sleeps without a time limit */
    int wake_fd;          /* eventfd that wakes the thread; -1 if not threaded */
    int64_t flushed_ms;   /* when buffers were last brought up to date */
    uint64_t delivery_ns; /* processor time of all deliveries */
    uint64_t deliveries;
    bool halt_logged;
    char better[512]; /* why back ends were refused that were tried first; or "" */
    char limits[512]; /* what the back end in use cannot do here; or "" */
};

/* api_current_session - return the calling thread's session, or the default one, which
 * is opened if necessary; NULL with *status. */
ntprof_session *api_current_session(NTSTATUS *status);

/* api_named_session - return the session that a call which only reads was given: NULL
 * is the default one, which is opened if necessary; NULL with *status. */
ntprof_session *api_named_session(ntprof_session *session, NTSTATUS *status);

/* api_process_id - return the pid of the calling process. */
pid_t api_process_id(void);

/*
 * api_lock - lock a session while no call is paused. api_unlock unlocks it.
 *
 * Returns false, without the lock, if the session is abandoned. Only the thread that
 * runs a notification gets the lock while it runs; if that thread's stack pointer is
 * then above the notification's frame, longjmp left it. If the thread ended there,
 * the lock is robust and reports it.
 */
bool api_lock(ntprof_session *session);

/* api_lock_beside - do what api_lock does, but also while a call is paused: for calls
 * that neither deliver nor change what is started. */
bool api_lock_beside(ntprof_session *session);

/* api_unlock - unlock a session. The outermost unlock of a thread passes on what it has
 * logged. Returns false if the thread does not hold the lock. */
bool api_unlock(ntprof_session *session);

/*
 * api_enter - api_lock for a call; errors of earlier calls are cleared.
 *
 * Returns false, without the lock, in a child forked from the session's process, and if
 * the session is abandoned.
 */
bool api_enter(ntprof_session *session);

/* api_enter_beside - do what api_enter does, with api_lock_beside. */
bool api_enter_beside(ntprof_session *session);

/*
 * api_enter_named - api_enter for api_named_session. Returns the session, or NULL with
 * *status, and the error text set.
 */
ntprof_session *api_enter_named(ntprof_session *session, NTSTATUS *status);

/* api_pause - HAL_OPEN.Pause of a session: sleep with the lock released. A call from
 * within a notification keeps the lock. */
void api_pause(void *session, ULONG64 wait_ns);

/*
 * api_refuse - set the error text of a call that fails before it has locked the
 * session, or that has no session (NULL).
 *
 *   format  in: why; replaced if the session belongs to another process or is abandoned
 *
 * Returns status.
 */
NTSTATUS api_refuse(const ntprof_session *session, NTSTATUS status, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

/* api_lack - set the error text of a call without a session that lacks memory or
 * descriptors; error is a negative errno. Returns STATUS_INSUFFICIENT_RESOURCES. */
NTSTATUS api_lack(const char *what, int error);

/* api_leave - unlock; sets the error text if status is a failure. Returns status. */
NTSTATUS api_leave(ntprof_session *session, NTSTATUS status);

/* api_leave_because - do what api_leave does. format: in, why the call failed; used if
 * no lower layer has set a reason. */
NTSTATUS api_leave_because(ntprof_session *session, NTSTATUS status, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

/* api_describe_halt - describe in a sentence why the simulated NT halted; false if it
 * has not. */
bool api_describe_halt(const ntprof_session *session, char *text, size_t size);

/* api_read_options - copy and check options of any version's size. from: NULL for
 * defaults. STATUS_INVALID_PARAMETER. */
NTSTATUS api_read_options(const ntprof_session_options *from,
                          ntprof_session_options *options);

/* api_notice_halt - after hits were delivered: if the simulated NT has halted, stop all
 * profiles and log why, once. */
void api_notice_halt(ntprof_session *session);

/* api_deliver - deliver what is due. The session is locked. Returns milliseconds until
 * the next call, or -1: none is needed. */
int api_deliver(ntprof_session *session);

/* The session's thread: start it, wake it after a start, stop it. */
NTSTATUS api_start_thread(ntprof_session *session);
void api_wake_thread(ntprof_session *session);
void api_stop_thread(ntprof_session *session);

/* api_copy_out - copy a struct to the caller's, which begins with its size and may be
 * shorter. False if it is shorter than least, the first version's size. */
bool api_copy_out(void *to, const void *from, size_t bytes, size_t least);

_Static_assert((int)EX_ABI_X64 == (int)NTPROF_ABI_X64 &&
                   (int)EX_ABI_X86 == (int)NTPROF_ABI_X86 &&
                   (int)KE_HALT_CORRUPTION == (int)NTPROF_HALT_CORRUPTION,
               "public numbers are the core's");

#endif
