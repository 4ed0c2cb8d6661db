/* SPDX-License-Identifier: MIT */
/*
 * host/linux/linuxp.h - declarations for the files of host/linux.
 *
 * Functions that can fail return 0 or a negative errno. Members of the host table
 * return an NTSTATUS, which host_status makes of it.
 */
#ifndef HOST_LINUX_LINUXP_H
#define HOST_LINUX_LINUXP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/linux/linux.h"

/* table.c */

/* host_status - EFAULT: ACCESS_VIOLATION, EAGAIN: WORKING_SET_QUOTA, EACCES and EPERM:
 * ACCESS_DENIED, ESRCH: INVALID_CID, anything else: INSUFFICIENT_RESOURCES. */
NTSTATUS host_status(int error);

/*
 * host_refuse - return the status of a call, and remember the refusal for the error
 * text unless error is 0.
 *
 *   what, subject  as in struct host_linux_refusal
 *   status         the status for error, such as host_status(error)
 */
NTSTATUS host_refuse(void *Context, int what, ULONG64 subject, int error,
                     NTSTATUS status);

/* host_is_shortage - does a negative errno mean that descriptors or memory ran out? */
bool host_is_shortage(int error);

/* word.c - access to aligned 32-bit words of the caller; a fault is -EFAULT. */

/* host_words_touch - write the word at first, and one in every further page up to last,
 * without changing its value: fails if a page is unmapped or read-only. */
int host_words_touch(uintptr_t first, uintptr_t last);

/* host_word_add - add to a word, modulo 2^32; no other writer's change is lost. Returns
 * 0, or the amount that was not added because the word is unmapped or read-only. */
uint32_t host_word_add(uintptr_t address, uint32_t amount);

/* memory.c - copies from or to the caller's memory; a fault is -EFAULT. */
int host_copy_from(void *to, uintptr_t from, size_t bytes);
int host_copy_to(uintptr_t to, const void *from, size_t bytes);

/* file.c */

/* host_file_read - read a whole small file of /proc or /sys, NUL-terminated. Returns
 * the number of bytes without the NUL, or -errno; -EFBIG if it does not fit: then text
 * is its beginning, with a NUL. */
ssize_t host_file_read(const char *path, char *text, size_t capacity);

/* used.c */

/*
 * host_used_next - find the next page of shared anonymous memory that may have been
 * written; any may, once the system has swapped. Returns its offset, at least from, or
 * bytes if there is none. No page is allocated by this.
 */
size_t host_used_next(uintptr_t buffer, size_t bytes, size_t from);

/* locked.c - resident memory. Its functions for counters need the mutex of buffer.c. */

/* host_memory_lock - keep pages resident (mlock). -EAGAIN: not allowed, no memory, or
 * not mapped; then some pages may be locked, until host_memory_unlock. */
int host_memory_lock(uintptr_t start, size_t bytes);
void host_memory_unlock(uintptr_t start, size_t bytes);

struct host_slab;

struct host_counters {
    char *memory;
    size_t bytes;
    struct host_slab *slab; /* NULL: whole pages */
};

/* host_counters_make - allocate zeroed, resident memory, aligned for counters. -EAGAIN:
 * no more may be locked; -ENOMEM. Then counters is unchanged. */
int host_counters_make(struct host_counters *counters, size_t bytes);

/* host_counters_finish - free counters; all zero is allowed. */
void host_counters_finish(struct host_counters *counters);

/* pinned.c - pages of the caller that differences are added to. All need the mutex of
 * buffer.c. */

/*
 * host_pin - lock the pages of [start, start + bytes); pins may overlap.
 *
 *   number  of the host_lock that needs the pages; a later one has a greater number
 *
 * -EFAULT   the memory is not mapped, or cannot be written
 * -EAGAIN   no more may be locked
 * -ENOMEM   no memory
 */
int host_pin(uintptr_t start, size_t bytes, uint64_t number);

/* host_unpin - undo one host_pin of the same bytes. */
void host_unpin(uintptr_t start, size_t bytes);

/* host_pins_leave - note that these pages are the library's own now: the caller has
 * unmapped what was pinned there. */
void host_pins_leave(uintptr_t start, size_t bytes);

/* host_is_pinned - is the memory at address still that which the host_lock with this
 * number pinned? */
bool host_is_pinned(uintptr_t address, uint64_t number);

/* buffer.c - buffers of ntprof_buffer_alloc; see there for the invariants. */

struct host_buffer;

/* host_memory_enter, host_memory_leave - lock and unlock the mutex of process-wide
 * state. */
void host_memory_enter(void);
void host_memory_leave(void);

/* host_buffer_find - return the buffer that contains [start, start + bytes), or NULL.
 * Needs the mutex. */
struct host_buffer *host_buffer_find(uintptr_t start, size_t bytes);

/*
 * host_buffer_lock - have the buffer's counters in pages of a supplier (NULL: anonymous
 * pages) until host_buffer_unlock. Both need the mutex. -EBUSY: it is locked with other
 * pages; -EAGAIN: the supplier may lock no more; another negative errno: no memory, or
 * it cannot be mapped.
 */
int host_buffer_lock(struct host_buffer *buffer,
                     const struct host_page_supplier *supplier);
void host_buffer_unlock(struct host_buffer *buffer);

/* host_buffer_counters - return a locked buffer's counter for a caller's address. */
char *host_buffer_counters(const struct host_buffer *buffer, uintptr_t address);

/* host_buffers_leave - move all buffers in pages of a supplier to anonymous pages,
 * before it is freed. No lock may use it. Takes the mutex itself. */
void host_buffers_leave(const struct host_page_supplier *supplier);

/*
 * host_buffer_overlap - find the first part of [start, start + bytes) in a buffer of
 * ntprof_buffer_alloc. Takes the mutex itself.
 */
bool host_buffer_overlap(uintptr_t start, size_t bytes, uintptr_t *first,
                         size_t *overlap_bytes);

/* host_page_bytes - return the size of a page of this machine. */
size_t host_page_bytes(void);

/* processors.c */

struct host_processors {
    uint64_t *groups; /* bit n of element g: processor 64 g + n is online */
    size_t count;     /* groups up to the last processor; at least 1 */
    int64_t read_ms;  /* CLOCK_MONOTONIC_COARSE when it was read; -1: never */
};

/* host_processors_parse - parse an ascending list such as "0-3,8"; -EINVAL leaves
 * processors unchanged. */
int host_processors_parse(const char *text, struct host_processors *processors);

/* host_processors_refresh - read the online processors, at most every 100 ms. If
 * descriptors or memory run out, the last list stays. Returns 0, or -errno if there is
 * no list. */
int host_processors_refresh(struct host_processors *processors);
void host_processors_finish(struct host_processors *processors);

/* process.c */

/* host_stat_parse - parse /proc/PID/stat. Returns false if it is malformed. */
bool host_stat_parse(const char *text, char *state, uint64_t *threads,
                     uint64_t *start_time);

/* rights.c */

/*
 * host_event_open - open a disabled event that counts nothing, and close it.
 *
 *   pid, cpu  as for perf_event_open
 *
 * Returns 0 if the kernel allows it, or its -errno.
 */
int host_event_open(pid_t pid, int cpu, bool kernel);

/* host_linux - the Context of the host table. */
struct host_linux {
    HOST_TABLE table;
    struct host_page_supplier pages; /* allocate is NULL: there is no supplier */
    struct host_processors processors;
    struct host_linux_refusal refusal; /* see host_linux_refusal */
};

/* Members of HOST_TABLE (host.h); each is in the file named after what it works on. */
void *host_allocate(void *Context, SIZE_T Bytes);
void host_free(void *Context, void *Memory, SIZE_T Bytes);
NTSTATUS host_probe_for_write(void *Context, ULONG64 Address, SIZE_T Bytes);
NTSTATUS host_copy_from_caller(void *Context, void *To, ULONG64 From, SIZE_T Bytes);
NTSTATUS host_copy_to_caller(void *Context, ULONG64 To, const void *From, SIZE_T Bytes);
NTSTATUS host_lock_pages(void *Context, MDL *Mdl);
NTSTATUS host_map_pages(void *Context, MDL *Mdl);
void host_flush_pages(void *Context, MDL *Mdl);
void host_unmap_pages(void *Context, MDL *Mdl);
void host_unlock_pages(void *Context, MDL *Mdl);
NTSTATUS host_check_system_profile_privilege(void *Context);
NTSTATUS host_check_restricted_caller(void *Context, ULONG Rule);
ULONG64 host_current_process_id(void *Context);
NTSTATUS host_open_process(void *Context, ULONG64 ProcessId, HOST_PROCESS *Process);
void host_close_process(void *Context, HOST_PROCESS *Process);
NTSTATUS host_check_process_access(void *Context, const HOST_PROCESS *Process);
BOOLEAN host_is_process_gone(void *Context, const HOST_PROCESS *Process);
USHORT host_group_count(void *Context);
KAFFINITY host_active_processors(void *Context, USHORT Group);
USHORT host_current_group(void *Context);

#endif
