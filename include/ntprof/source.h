/* SPDX-License-Identifier: MIT */
/*
 * source.h - profile sources and back ends: which can be used, and why others cannot.
 */
#ifndef NTPROF_SOURCE_H
#define NTPROF_SOURCE_H

#include <ntprof/nt_profile.h>

#include <ntprof/nt_names_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ntprof_session;

enum { NTPROF_UNIT_100NS = 0, NTPROF_UNIT_EVENTS = 1 };

/*
 * ntprof_source_info - a source of a session, and its statistics.
 *
 * The statistics add up: taken = counted + outside, and expected = taken + lost +
 * throttled + missed + unfinished + excluded (expected is computed from the kernel's
 * event count). Counts that could not be added to a buffer are in unwritten. The name
 * of a uprobe whose image does not fit is "uprobe:..." with the end of its path.
 */
typedef struct ntprof_source_info {
    size_t size;
    KPROFILE_SOURCE source;
    uint32_t unit;             /* NTPROF_UNIT_... of all intervals */
    uint32_t supported;        /* 0 or 1 */
    uint32_t kernel_included;  /* 1: hits in kernel mode are taken too */
    char name[48];             /* what ntprof_source_lookup takes, such as "time" */
    char nt_name[48];          /* "ProfileTime", or "" for ntprof's own */
    char reason[192];          /* why it is not supported, and what would help; or "" */
    uint64_t interval_asked;   /* 0 if none was set */
    uint64_t interval_granted; /* in effect */
    uint64_t interval_default;
    uint64_t interval_minimum;
    uint64_t interval_maximum;
    double interval_measured; /* between hits taken, on average; 0: no hit */
    uint64_t expected;        /* hits that the kernel's event count gives */
    uint64_t taken;           /* hits delivered */
    uint64_t counted;         /* of them: matched at least one started profile */
    uint64_t outside;         /* of them: matched none */
    uint64_t lost;            /* dropped by the kernel because a ring was full */
    uint64_t throttled;       /* not made because the kernel limited the rate */
    uint64_t missed;          /* not made for another reason, such as late timers */
    /* intervals that had not elapsed when their thread or the measurement ended: at
     * most one for each thread and processor */
    uint64_t unfinished;
    /* in kernel mode, which the caller may not see; without that right, missed hits
     * cannot be distinguished and are included. Of time only: other sources have 0, and
     * if kernel_included is 0, how many hits that leaves out is not known */
    uint64_t excluded;
    /* Counts of stopped profiles that could not be added to their buffers, because the
     * caller had unmapped, replaced or write-protected that memory. For each hit in
     * counted and each profile that it matches, there is one increment of a buffer or
     * one count here. Memory of ntprof_buffer_alloc is counted into directly and adds
     * nothing here. */
    uint64_t unwritten;
    uint64_t outside_kernel; /* of outside: in kernel mode */
} ntprof_source_info;

/*
 * ntprof_source_lookup - the source with this name; makes it if it takes parameters.
 *
 *   session  in: open session; NULL for the default session
 *   text     in: "time", "page-faults", "cycles", "ProfileTime",
 *            "breakpoint:0xADDRESS", "uprobe:IMAGE+0xOFFSET", "raw:0xCONFIG" ... (see
 *            `ntprof sources`); not case-sensitive but in IMAGE
 *   source   out
 *
 * STATUS_INVALID_PARAMETER       text or source is NULL, or a parameter in text is bad
 * STATUS_NOT_FOUND               no source has this name
 * STATUS_INSUFFICIENT_RESOURCES  too many sources
 *
 * A source that the machine does not have is found; its info says why it is not
 * supported.
 *
 * A uprobe counts executions of the instruction at an offset in a file, in each
 * profiled process that maps the file. It needs root and back end perf; there may be
 * any number, and they use no debug registers. The session removes its event in the
 * kernel when it closes.
 */
NTSTATUS ntprof_source_lookup(struct ntprof_session *session, const char *text,
                              KPROFILE_SOURCE *source);

/*
 * ntprof_source_get - return a source and its statistics. First it delivers as
 * ntprof_session_flush does. session may be NULL: the default session.
 *
 * STATUS_INVALID_PARAMETER  info is NULL or info->size is too small
 * STATUS_NOT_FOUND          not a source that the session knows
 */
NTSTATUS ntprof_source_get(struct ntprof_session *session, KPROFILE_SOURCE source,
                           ntprof_source_info *info);

/*
 * ntprof_source_set_interval - change the interval of a source in this session only,
 * also while its profiles are started. Needs no privilege, unlike NtSetIntervalProfile,
 * and NT's limits do not apply.
 *
 *   interval  in: 100 ns for source time, else events for a hit; clamped to what the
 *             source can do: interval_granted of ntprof_source_get says which it is
 *
 * STATUS_INVALID_PARAMETER  session is NULL, or interval is 0
 * STATUS_NOT_FOUND          not a source that the session knows
 */
NTSTATUS ntprof_source_set_interval(struct ntprof_session *session,
                                    KPROFILE_SOURCE source, uint64_t interval);

/*
 * ntprof_source_next - list all sources that the session knows, supported or not.
 *
 *   session  in: NULL for the default session
 *   index    in: 0, 1, ...
 *   source   out
 *
 * STATUS_INVALID_PARAMETER, STATUS_NOT_FOUND (past the last)
 */
NTSTATUS ntprof_source_next(struct ntprof_session *session, uint32_t index,
                            KPROFILE_SOURCE *source);

/* ntprof_backend_info.cause: what refuses the back end, or a part of it. */
enum {
    NTPROF_CAUSE_NONE = 0,
    NTPROF_CAUSE_PARANOID = 1,   /* kernel.perf_event_paranoid, without CAP_PERFMON */
    NTPROF_CAUSE_CAPABILITY = 2, /* the caller lacks a capability */
    NTPROF_CAUSE_NAMESPACE = 3,  /* the caller has the capability in a user namespace
                                  * only */
    NTPROF_CAUSE_SECCOMP = 4,    /* a seccomp filter */
    NTPROF_CAUSE_KERNEL = 5,     /* the kernel does not support it */
    NTPROF_CAUSE_MACHINE = 6,    /* the machine does not support it */
    NTPROF_CAUSE_LOCKED_MEMORY = 7, /* perf_event_mlock_kb and RLIMIT_MEMLOCK */
    NTPROF_CAUSE_DESCRIPTORS = 8,   /* RLIMIT_NOFILE, or the system's limit */
    NTPROF_CAUSE_MEMORY = 9,        /* memory, or a control group's limit of it */
    NTPROF_CAUSE_BUSY = 10,         /* it is in use elsewhere */
    NTPROF_CAUSE_OWNER = 11,        /* the process belongs to another user */
    NTPROF_CAUSE_OTHER = 12         /* see reason; also for refusals that cannot be
                                     * distinguished */
};

/* ntprof_backend_info - a way to get hits, and whether this caller can use it here. */
typedef struct ntprof_backend_info {
    size_t size;
    char name[16];      /* "perf", "sim" ... */
    uint32_t usable;    /* 0 or 1 */
    uint32_t kernel;    /* 1: may count in kernel mode */
    uint32_t global;    /* 1: may count all processes */
    uint32_t watches;   /* 1: ntprof_session_watch works */
    char reason[256];   /* why it cannot be used, or not fully: which setting refuses */
    char remedy[256];   /* what would allow it */
    uint32_t error;     /* errno of the refusal; 0: no refusal, or one without errno */
    uint32_t cause;     /* NTPROF_CAUSE_... */
    uint32_t simulated; /* 1: a simulated machine, which shows nothing of this one */
    uint32_t reserved;  /* 0 */
} ntprof_backend_info;

/*
 * ntprof_backend_next - list the back ends in the order in which they are tried.
 *
 * With a size of offsetof(ntprof_backend_info, usable) only the name is set, and the
 * back end is not tried.
 *
 * STATUS_INVALID_PARAMETER, STATUS_NOT_FOUND (past the last)
 */
NTSTATUS ntprof_backend_next(uint32_t index, ntprof_backend_info *info);

#ifdef __cplusplus
}
#endif

#include <ntprof/nt_names_end.h>

#endif

#include <ntprof/nt_names_check.h>
