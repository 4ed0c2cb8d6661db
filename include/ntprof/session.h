/* SPDX-License-Identifier: MIT */
/*
 * session.h - sessions: one instance of the NT profile facility each, with a host and a
 * HAL.
 *
 * Lifetime: open, any calls by any threads, close. Level of all calls: passive. A
 * session belongs to the process that opened it. In a forked child it counts nothing:
 * Nt calls give STATUS_INVALID_HANDLE and other calls STATUS_INVALID_PARAMETER, closing
 * it does not affect the parent's session, and the child may open its own (the default
 * session does). A child of vfork may call nothing here, as POSIX has it. No call is a
 * cancellation point: pthread_cancel ends a thread after the call, and in no callback.
 * Option and info structs begin with their own size; new members are added at the end.
 *
 * The default session is the one that Nt calls open if a thread uses no other. For it
 * calls that only read take NULL: ntprof_session_get_info, _flush, _fd, _poll, and
 * ntprof_source_lookup, _get, _next. If it cannot be opened, they give the status of
 * ntprof_session_open, and _fd gives -1.
 */
#ifndef NTPROF_SESSION_H
#define NTPROF_SESSION_H

#include <ntprof/notification.h>
#include <ntprof/source.h>

#include <ntprof/nt_names_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ntprof_session ntprof_session;

/* ntprof_session_options.flags */
enum {
    /* No thread: the caller delivers with ntprof_session_fd and ntprof_session_poll. */
    NTPROF_SESSION_POLLED = 1,
    /* Never hits in kernel mode, although the caller may see them. */
    NTPROF_SESSION_USER_ONLY = 2,
    /* The caller is a 32-bit program of a 64-bit NT: NtCreateProfile's Affinity is
     * truncated to 32 bits and zero-extended, so that all ones mean processors 0 to 31.
     * With NTPROF_ABI_X64. */
    NTPROF_SESSION_WOW64 = 4,
    /* An extension to NT: BucketSize 0 and 1 are allowed too, for buckets of one and
     * two bytes, so that a bucket contains a single instruction. With NTPROF_NT_NEWEST
     * and NTPROF_ABI_X64.
     */
    NTPROF_SESSION_FINE_BUCKETS = 8
};

/* ntprof_session_options.nt_version: the version whose rules apply. docs/behaviour.md,
 * Versions. */
enum {
    NTPROF_NT_NEWEST = 0, /* the newest, without its known defects */
    NTPROF_NT_3_10 = 310,
    NTPROF_NT_3_50 = 350,
    NTPROF_NT_3_51 = 351,
    NTPROF_NT_4_0 = 400,
    NTPROF_NT_4_0_SP4 = 404,
    NTPROF_NT_5_0 = 500, /* Windows 2000 */
    NTPROF_NT_5_1 = 501,
    NTPROF_NT_5_2 = 502,
    NTPROF_NT_6_0 = 600,
    NTPROF_NT_6_1 = 601,
    NTPROF_NT_6_2 = 602,
    NTPROF_NT_6_3 = 603,
    NTPROF_NT_10_0 = 1507, /* 10.0 and its releases */
    NTPROF_NT_1511 = 1511,
    NTPROF_NT_1607 = 1607,
    NTPROF_NT_1703 = 1703,
    NTPROF_NT_1709 = 1709,
    NTPROF_NT_1803 = 1803,
    NTPROF_NT_1809 = 1809 /* and later */
};

/*
 * ntprof_session_options.abi: the word size of the simulated NT, whatever the host's.
 * It governs ProfileBase and ProfileSize, where kernel space begins, segment profiles
 * and MDL limits.
 */
enum {
    NTPROF_ABI_HOST = 0, /* x64 on a 64-bit host, x86 on a 32-bit one */
    NTPROF_ABI_X64 = 1,
    NTPROF_ABI_X86 = 2 /* segments are profiled on machines that have them (x86) */
};

/* An initial interval; needs no privilege, because it belongs to the session. */
typedef struct ntprof_source_interval {
    const char *source; /* name as for ntprof_source_lookup */
    uint64_t interval;  /* 100 ns for ProfileTime, else events per hit; clamped */
} ntprof_source_interval;

/* Log levels */
enum {
    NTPROF_LOG_ERROR = 0,   /* a session has halted */
    NTPROF_LOG_WARNING = 1, /* messages were dropped */
    NTPROF_LOG_INFO = 2,    /* why no better back end is in use */
    NTPROF_LOG_DEBUG = 3    /* what happens, as ntprof_set_log lists it */
};

typedef void ntprof_log(void *context, int level, const char *message);

typedef struct ntprof_session_options {
    size_t size; /* sizeof(ntprof_session_options) */
    /* NULL: the best that works by itself; else a name, or several with commas between
     * them, of which the first that works is used: "perf,timer" also counts where Linux
     * refuses perf events, as in most containers, but takes a real-time signal of the
     * program then. */
    const char *backend;
    uint32_t flags;      /* NTPROF_SESSION_... */
    uint32_t nt_version; /* NTPROF_NT_... */
    const ntprof_source_interval *intervals;
    size_t interval_count;
    uint64_t simulation_seed; /* back end "sim" */
    /* Gets errors and information of this session; NULL: none. Called on any thread of
     * the session. ntprof_set_log gets more. */
    ntprof_log *log;
    void *log_context;
    uint32_t abi;      /* NTPROF_ABI_... */
    uint32_t reserved; /* must be 0 */
    /*
     * Directory of a cgroup, of version 2 or of the hierarchy with perf_event; NULL:
     * none. Only hits in it and in the cgroups below it count, by the process's cgroup
     * at the time of the hit; notifications report all processes. Back end perf
     * supports that only for watches and profiles of all processes: for others, what
     * would need events gives STATUS_NOT_SUPPORTED.
     */
    const char *cgroup;
    /* Bytes of the user stack that are copied with each hit of stack_sources, from the
     * stack pointer on: at most so many, and fewer if the rings have not the room
     * (ntprof_session_info.stack_bytes). 0: none; else at least
     * NTPROF_STACK_BYTES_MIN. ntprof_session_set_stacks gets them. */
    uint32_t stack_bytes;
    uint32_t stack_source_count;
    /* Names as for ntprof_source_lookup. Only "time" has stacks in this version: other
     * sources have no rate that bounds how fast copies fill the rings. */
    const char *const *stack_sources;
} ntprof_session_options;

/* The least of ntprof_session_options.stack_bytes. */
enum { NTPROF_STACK_BYTES_MIN = 512 };

/*
 * ntprof_set_log - have callback called with messages about what the library does in
 * this process, in all sessions and while they open: back ends tried and refused,
 * sessions, events opened, refused and closed, processes and mappings that are
 * followed, sizes of rings, deliveries that took long, calls that failed.
 *
 *   callback  in: NULL for none, as at the start
 *   context   in: for callback
 *   level     in: NTPROF_LOG_...: messages above it are not made, and take no time
 *
 * STATUS_INVALID_PARAMETER  level is none of NTPROF_LOG_...; or called by the callback
 *
 * A failure changes nothing. When it returns, no thread calls the callback that was set
 * before, or will; it waits for those that do. Messages of other threads during the
 * call may be lost.
 *
 * The callback gets lines of text in UTF-8, as far as names of files and processes are,
 * without line ends and control characters, of at most 1023 bytes. They are for people:
 * their words and which there are may change in any version. It is called at the end of
 * a call of the library or of a delivery, by the thread that made or delivered it,
 * while that thread holds no lock of the library, and by several threads at once. A
 * call from within a notification passes its messages on when the delivery has ended. A
 * thread with many messages waiting drops further ones, and reports how many. The
 * callback may take its time, which delays its thread and no other. It must return, and
 * must not call the library; messages of calls that it makes nevertheless are dropped.
 *
 * A forked child keeps the callback; messages that waited in its parent are the
 * parent's. Hits are never logged. Any thread, also before the first session and in a
 * notification; level: passive. Source: ntprof's own, NT has no such call.
 */
NTSTATUS ntprof_set_log(ntprof_log *callback, void *context, int level);

/*
 * ntprof_session_open - open a session.
 *
 *   options  in: NULL for defaults
 *   session  out
 *
 * STATUS_INVALID_PARAMETER       session NULL, size too small, unknown back end,
 *                                version, abi or flag, reserved not 0, WOW64 in an x86
 *                                session, x64 on a 32-bit host, stack_bytes less than
 *                                NTPROF_STACK_BYTES_MIN, or without sources, or in an
 *                                x86 session, stack_sources without bytes, an interval
 *                                or stacks for an unknown source, an interval of 0,
 *                                cgroup no directory of a cgroup file system, or in a
 *                                simulation
 * STATUS_NOT_FOUND               cgroup cannot be opened
 * STATUS_NOT_SUPPORTED           no back end, or none of those asked for, can be used:
 *                                ntprof_backend_next says why; or it copies no stacks,
 *                                or not of that source
 * STATUS_INSUFFICIENT_RESOURCES  memory or descriptors
 *
 * ntprof_session_error(NULL) says more after a failure.
 */
NTSTATUS ntprof_session_open(const ntprof_session_options *options,
                             ntprof_session **session);

/*
 * ntprof_session_close - stop all profiles, and close all handles and the session.
 * Earlier hits are counted, but there are no more notifications. Waits for the
 * session's thread. NULL is allowed. It must not be called from a notification, nor
 * while another thread uses the session.
 */
void ntprof_session_close(ntprof_session *session);

/*
 * ntprof_session_use - make the calling thread's Nt calls use this session; NULL for
 * the default session. In a notification callback they use the callback's session.
 */
void ntprof_session_use(ntprof_session *session);

/*
 * ntprof_nt_version_lookup - the version with this name.
 *
 *   text     in: "newest", "3.10" ... "4.0 SP4" ... "10.0", "1511" ... "1809"; not
 *            case-sensitive
 *   version  out: NTPROF_NT_...
 *
 * STATUS_INVALID_PARAMETER  an argument is NULL
 * STATUS_NOT_FOUND          no such version
 */
NTSTATUS ntprof_nt_version_lookup(const char *text, uint32_t *version);

/*
 * ntprof_session_info.halt: a session with a defective version's rules halts at a hit
 * for which NT would have written beyond the counters. Nothing is written there; all
 * profiles are stopped, and every call except NtClose gives STATUS_SYSTEM_SHUTDOWN.
 */
enum {
    NTPROF_HALT_NONE = 0,
    NTPROF_HALT_BUG_CHECK = 1, /* NT would have stopped with a bug check */
    NTPROF_HALT_CORRUPTION = 2 /* NT would have corrupted memory without any sign */
};

typedef struct ntprof_session_info {
    size_t size;
    char backend[16]; /* the one in use */
    char better[512]; /* why no better one is in use, and how to allow it; or "" */
    char limits[512]; /* what the one in use may not do here, and how to allow it; or ""
                       */
    uint32_t nt_version;
    uint32_t processors;  /* active now */
    uint64_t profiles;    /* profile objects that exist */
    uint64_t started;     /* of them started */
    uint64_t start_limit; /* 0: none */
    uint64_t processes;   /* watched processes alive */
    uint64_t late;        /* records that came out of time order */
    uint64_t ring_bytes;  /* memory of all rings */
    uint64_t delivery_ns; /* thread CPU time spent delivering */
    uint64_t deliveries;  /* times the rings were drained */
    uint32_t abi;         /* NTPROF_ABI_X64 or NTPROF_ABI_X86 */
    uint32_t halt;        /* NTPROF_HALT_... */
    uint32_t bug_check;   /* its code: 0x0A; 0 for corruption */
    uint32_t reserved;
    /* 0x0A and corruption: address that NT would have written, in the caller's mapping;
     * IRQL; 1 for a write; address of the instruction */
    uint64_t bug_check_parameters[4];
    /* Processes that a watch of all processes could not read, or not completely; and
     * starts and watches of running processes whose threads were not all found within a
     * second; and processors that came online and could not be counted at once.
     */
    uint64_t unread;
    /* Back end bpf: hits in user mode, counted as outside, of processes that it cannot
     * identify: those without a pid in the session's pid namespace and, unless that is
     * the initial one, those in a namespace below it. */
    uint64_t unnumbered;
    uint64_t counter_bytes; /* memory that the kernel has for counters: back end bpf */
    /*
     * Bytes of user stack that are copied with a hit: the least of what the options
     * ask for, an eighth of a ring, what lets a ring hold the hits of 32 ms at the
     * interval, and what fits into a record of Linux (64 kB, with registers and kernel
     * chain). A multiple of 8. 0: none are asked for, or no profile has been started
     * and nothing watched yet: the first of these makes the rings, and fails with
     * STATUS_NOT_SUPPORTED if that is less than NTPROF_STACK_BYTES_MIN. After a later
     * change of the interval it is that at least.
     */
    uint64_t stack_bytes;
} ntprof_session_info;

/*
 * ntprof_session_get_info - the current state of the session. Statistics are per
 * source: ntprof_source_get.
 *
 *   session  in: NULL for the default session
 *
 * STATUS_INVALID_PARAMETER  info is NULL, or info->size too small
 */
NTSTATUS ntprof_session_get_info(ntprof_session *session, ntprof_session_info *info);

/*
 * ntprof_session_set_notify - have callback called for events of watched processes.
 *
 *   callback  in: NULL for none
 *
 * STATUS_INVALID_PARAMETER  session is NULL
 */
NTSTATUS ntprof_session_set_notify(ntprof_session *session, ntprof_notify *callback,
                                   void *context);

/* ntprof_hit.mode */
enum {
    NTPROF_MODE_OTHER = 0, /* of a virtual machine's guest, or unknown */
    NTPROF_MODE_USER = 1,
    NTPROF_MODE_KERNEL = 2
};

/* ntprof_hit - one hit that was counted. New members are added at the end. */
typedef struct ntprof_hit {
    size_t size; /* sizeof(ntprof_hit) */
    KPROFILE_SOURCE source;
    uint32_t processor; /* 0.., group times 64 plus number in the group */
    /* Interrupted process and thread, as the session's opener sees them. 0: an idle
     * processor, or a process outside the opener's pid namespace; UINT32_MAX: the
     * thread was ending and had no number any more. */
    uint32_t pid;
    uint32_t tid;
    uint32_t mode;     /* NTPROF_MODE_... */
    uint32_t counters; /* how many counters it was counted in, at least 1 */
    uint64_t address;  /* program counter */
    uint64_t time_ns;  /* as in ntprof_notification */
} ntprof_hit;

/*
 * ntprof_on_hit - called after each hit that a started profile counted, in one order of
 * time with the notifications: the process and its mappings are those of the hit. Hits
 * that are outside are not reported. The threads that call it, what it may call, and
 * how it must return are as for ntprof_notify; it should be quick, since no hit is
 * delivered meanwhile.
 */
typedef void ntprof_on_hit(void *context, const ntprof_hit *hit);

/*
 * ntprof_session_set_hits - have callback called for each hit that is counted, so that
 * hits of one counter can be distinguished, as by thread. Counters stay the truth: a
 * counter has as many hits as were reported for its bucket since the call.
 *
 *   callback  in: NULL for none
 *
 * STATUS_INVALID_PARAMETER  session is NULL
 * STATUS_NOT_SUPPORTED      the back end is not perf
 */
NTSTATUS ntprof_session_set_hits(ntprof_session *session, ntprof_on_hit *callback,
                                 void *context);

/*
 * ntprof_stack - a hit that was counted, with what its thread was doing. New members
 * are added at the end. Pointers are valid during the callback only.
 *
 * The bytes are another program's memory: whatever was on its stack, such as passwords.
 * The library keeps them in memory that no core dump contains, and nowhere else.
 */
typedef struct ntprof_stack {
    size_t size; /* sizeof(ntprof_stack) */
    /* As in ntprof_hit */
    KPROFILE_SOURCE source;
    uint32_t processor;
    uint32_t pid;
    uint32_t tid;
    uint32_t mode;
    /* Of the user registers: 8; 4 in a 32-bit process, whose registers are the lower
     * halves of 0 to 7 and of the last; 0: there are none, as in a kernel thread. */
    uint32_t word_bytes;
    uint64_t address; /* program counter */
    uint64_t time_ns;
    /*
     * User registers, by DWARF's numbers, and behind them the program counter. x86-64:
     * 17 (rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip); arm64: 33 (x0 to
     * x30, sp, pc). For a hit in kernel mode they are those of the system call or
     * interruption.
     */
    const uint64_t *registers;
    uint32_t register_count; /* 0: none */
    uint32_t kernel_count;   /* of kernel_chain, at most 127; 0 unless in kernel mode */
    /* Addresses in the kernel: address, and return addresses outwards. A chain of 127,
     * or of kernel.perf_event_max_stack if that is less, may be cut. */
    const uint64_t *kernel_chain;
    /*
     * The stack, from the user stack pointer on. Linux asked for stack_asked bytes:
     * what was granted, or less if the address space ends before; it could read
     * stack_bytes of them, which may be any number.
     */
    const void *stack; /* no alignment is promised */
    uint32_t stack_asked;
    uint32_t stack_bytes;
} ntprof_stack;

/*
 * ntprof_on_stack - called after each hit of a source with stacks that a started
 * profile counted, in one order of time with the notifications, and after ntprof_on_hit
 * for the same hit. Hits that are outside are not reported. The threads that call it,
 * what it may call, and how it must return are as for ntprof_notify. No hit is
 * delivered meanwhile, and hits with stacks fill the rings in 32 ms: what takes longer
 * than some microseconds belongs to another thread.
 */
typedef void ntprof_on_stack(void *context, const ntprof_stack *stack);

/*
 * ntprof_session_set_stacks - have callback called for each hit that is counted, with a
 * copy of the interrupted thread's stack and registers.
 *
 *   callback  in: NULL for none
 *
 * STATUS_INVALID_PARAMETER  session is NULL
 * STATUS_NOT_SUPPORTED      the session was opened without stack_bytes
 */
NTSTATUS ntprof_session_set_stacks(ntprof_session *session, ntprof_on_stack *callback,
                                   void *context);

/* ntprof_watch_options.flags */
enum {
    NTPROF_WATCH_DESCENDANTS = 1, /* and all processes that it forks from now on */
    NTPROF_WATCH_ON_EXEC =
        2 /* start at its next exec: for a child about to run a command */
};

typedef struct ntprof_watch_options {
    size_t size;
    uint32_t flags; /* NTPROF_WATCH_... */
    uint32_t source_count;
    const KPROFILE_SOURCE *sources; /* sampled from now on, profiles started or not */
    const GROUP_AFFINITY *affinity; /* processors to sample on; NULL: all */
    uint32_t affinity_count;
    uint32_t reserved; /* must be 0 */
} ntprof_watch_options;

/*
 * ntprof_session_watch - be notified of a process, or of all, with the hits in the same
 * order of time.
 *
 *   process  in: handle with PROCESS_QUERY_INFORMATION; NULL: all processes of the
 *            machine
 *   options  in: NULL for none; with process NULL, without flags
 *
 * The sources interrupt from now on, so a profile started in a notification misses no
 * hit. Hits that no started profile matches are counted as outside.
 *
 * All processes: each running process is reported before the call returns, as one that
 * is watched from now on. Each hit counts once in the profiles of its process and once
 * in those of all processes. This is the session's first and only watch, and begins
 * before profiles are started. These are reported as processes too:
 *   - kernel threads: their processes have no mappings;
 *   - pid 0, "swapper": what an idle processor runs. It never ends, and no process can
 *     be opened for it: profiles of all processes count its hits.
 * A process that cannot be read is counted in ntprof_session_info.unread: one that
 * ended while it was being read is not reported, one that the caller may not read is
 * reported with its name and without mappings. One that /proc hides (hidepid) is
 * reported when it next runs a program; its hits until then have a pid that was not
 * reported.
 *
 * "All" means all processes of the machine, in any pid namespace. In a session in a pid
 * namespace of its own, the processes of this namespace and those below it are
 * reported, by their pids in it; hits of all others have pid 0, which is named
 * "(others)" there.
 *
 * A watch of a process is refused while profiles of that process have been started with
 * one of its sources, with NTPROF_WATCH_DESCENDANTS while those of any single process
 * have: start them after it. With NTPROF_WATCH_DESCENDANTS it is also refused while
 * another watch of that process lacks that flag, whose events do not follow children.
 *
 * A watch of a running process waits for its threads as NtStartProfile does: for a
 * second at most, while other threads may make the same calls as there.
 *
 * Processors that come online later are sampled from a second later at most, if
 * options->affinity is NULL or has them.
 *
 * STATUS_INVALID_PARAMETER, STATUS_INVALID_HANDLE, STATUS_OBJECT_TYPE_MISMATCH,
 * STATUS_ACCESS_DENIED           also: Linux refuses events on that process
 * STATUS_NOT_SUPPORTED           a source is missing, or the back end cannot watch
 *                                processes ("bpf") or not all of them, or other watches
 *                                or started profiles rule it out
 * STATUS_PRIVILEGE_NOT_HELD      process NULL: Linux refuses events on all processes
 * STATUS_PROCESS_IS_TERMINATING
 * STATUS_INSUFFICIENT_RESOURCES  descriptors or ring memory
 *
 * ntprof_session_error says more after a failure.
 */
NTSTATUS ntprof_session_watch(ntprof_session *session, HANDLE process,
                              const ntprof_watch_options *options);

/*
 * ntprof_session_flush - deliver all hits and notifications from before the call, and
 * bring every started profile's buffer up to date.
 *
 *   session  in: NULL for the default session
 *
 * STATUS_INVALID_PARAMETER  session is another process's
 */
NTSTATUS ntprof_session_flush(ntprof_session *session);

/*
 * ntprof_session_freeze - take no later hits: when it returns, statistics and counters
 * only change by hits from before, which a flush still delivers. So both can be read as
 * of one moment, while the profiled processes continue. It cannot be undone. Earlier
 * events of processes are notified; later ones may be notified or not.
 *
 * STATUS_INVALID_PARAMETER  session is NULL
 * STATUS_NOT_SUPPORTED      the back end is simulated: nothing happens between calls
 */
NTSTATUS ntprof_session_freeze(ntprof_session *session);

/*
 * ntprof_session_fd - descriptor that polls readable when there is something to
 * deliver, for NTPROF_SESSION_POLLED; owned by the session. -1 if the back end has
 * none. NULL: of the default session, which has a thread that delivers; -1 too if that
 * session cannot be opened.
 */
int ntprof_session_fd(ntprof_session *session);

/*
 * ntprof_session_poll - deliver what is due; does not wait.
 *
 *   session  in: NULL for the default session
 *   wait_ms  out, may be NULL: call again after this many ms even if the descriptor
 *            does not poll readable; -1: not needed
 *
 * STATUS_INVALID_PARAMETER  session is another process's
 */
NTSTATUS ntprof_session_poll(ntprof_session *session, int *wait_ms);

/*
 * ntprof_session_error - return why the calling thread's last failed call on this
 * session failed: one sentence that says what refused, on what, and what would help; ""
 * if the status says it all.
 *
 *   session  in: NULL for the thread's last failing call of all, whichever session it
 *            was on: after ntprof_session_open, which failed and made none, and for the
 *            default session
 *
 * The text is valid until the thread's next call that fails.
 */
const char *ntprof_session_error(ntprof_session *session);

/*
 * ntprof_buffer_alloc - zeroed counters, page-aligned, that are live in every HAL.
 * Pages that are never hit take no memory, unless the back end counts in the interrupt.
 * A forked child shares the memory, or has a copy if the back end counts in the
 * interrupt. The memory belongs to the library: only ntprof_buffer_free frees it, and
 * the caller must not unmap or move it.
 *
 *   bytes  in: 1..; rounded up to whole pages
 *
 * Returns NULL when there is no memory. Any thread.
 */
ULONG *ntprof_buffer_alloc(size_t bytes);

/* ntprof_buffer_free - free a buffer; bytes as in ntprof_buffer_alloc. NULL is allowed.
 * A started profile keeps the pages that it counts in. */
void ntprof_buffer_free(ULONG *buffer, size_t bytes);

/*
 * ntprof_buffer_next - skip counters that were never hit, without making their pages.
 *
 *   buffer, bytes  in: from ntprof_buffer_alloc
 *   from           in: offset in bytes
 *
 * Returns the offset, at least from, of the next page's part that may hold counts, or
 * bytes if there is none. Any thread.
 */
size_t ntprof_buffer_next(const ULONG *buffer, size_t bytes, size_t from);

/* ntprof_status_name - "STATUS_..." or "unknown status". ntprof_status_text - in words.
 */
const char *ntprof_status_name(NTSTATUS status);
const char *ntprof_status_text(NTSTATUS status);

/* ntprof_version - the library's version, such as "0.1.0". */
const char *ntprof_version(void);

#ifdef __cplusplus
}
#endif

#include <ntprof/nt_names_end.h>

#endif

#include <ntprof/nt_names_check.h>
