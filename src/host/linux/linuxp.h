/* SPDX-License-Identifier: MIT */
/*
 * host/linux/linuxp.h - what the files of host/linux share.
 *
 * Functions that can fail return 0 or a negative errno; host_status makes it an
 * NTSTATUS at the border, which is the host table.
 */
#ifndef HOST_LINUX_LINUXP_H
#define HOST_LINUX_LINUXP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "host/linux/linux.h"

/* table.c */

/* host_status - EFAULT: ACCESS_VIOLATION, EAGAIN: WORKING_SET_QUOTA, EACCES and EPERM:
 * ACCESS_DENIED, ESRCH: INVALID_CID, anything else: INSUFFICIENT_RESOURCES. */
NTSTATUS host_status(int error);

/*
 * host_refuse - the status of a call, which is remembered for words about it unless
 * error is 0.
 *
 *   what, subject  as in struct host_linux_refusal
 *   status         what error comes out as, such as host_status(error)
 */
NTSTATUS host_refuse(void *Context, int what, ULONG64 subject, int error,
                     NTSTATUS status);

/* host_is_shortage - of descriptors or memory: another time it may do. */
bool host_is_shortage(int error);

/* word.c - aligned 32-bit words of the caller, touched atomically; a fault is -EFAULT.
 */

/* host_word_touch - write the word with its own value, as one atomic operation. */
int host_word_touch(uintptr_t address);

/* host_words_touch - the word at first, and one in every further page up to last. */
int host_words_touch(uintptr_t first, uintptr_t last);

/* host_word_add - add to the word, modulo 2^32; no other writer's change is lost.
 * Returns what could not be added, since the word is not there, or not any more: 0 if
 * all is well. */
uint32_t host_word_add(uintptr_t address, uint32_t amount);

/* memory.c - copies between this process's own memory, with faults as -EFAULT. */
int host_copy_from(void *to, uintptr_t from, size_t bytes);
int host_copy_to(uintptr_t to, const void *from, size_t bytes);

/* file.c */

/*
 * host_file_read - read a small file of /proc or /sys whole, and end it with a 0.
 *
 * Returns the bytes without the 0, or -errno; -EFBIG if it does not fit.
 */
ssize_t host_file_read(const char *path, char *text, size_t capacity);

/* used.c */

/*
 * host_used_next - of shared pages without a file: the offset, at least from, of the
 * next page's part that may have been used, or bytes if there is none. None is made by
 * looking.
 */
size_t host_used_next(uintptr_t buffer, size_t bytes, size_t from);

/* maps.c - the mappings of this process, as /proc/self/maps tells them. */

struct host_mapping {
    uintptr_t start;
    uintptr_t last; /* last byte: an end could wrap */
    uint64_t offset;
    uint64_t device; /* major << 32 | minor */
    uint64_t inode;  /* 0: anonymous */
    int protection;  /* PROT_... */
    bool shared;
    bool stack; /* grows down, or of huge pages: not to be replaced page by page */
};

struct host_maps {
    struct host_mapping *list; /* ascending; empty while asks */
    size_t count;
    size_t capacity;
    bool asks;      /* the kernel, of one address at a time */
    int descriptor; /* while asks */
    struct host_mapping answer;
    uintptr_t answer_from; /* the answer is right from here up to its last byte */
    bool has_answer;
};

/* host_maps_read - all mappings at once: as many steps as there are. */
int host_maps_read(struct host_maps *maps);

/* host_maps_open - to look addresses up, of which this is the first: a few steps each,
 * but all mappings at once where the kernel does not answer (before 6.11). */
int host_maps_open(struct host_maps *maps, uintptr_t first);

/* host_maps_finish - undo either; also of zeros. */
void host_maps_finish(struct host_maps *maps);

/* host_maps_are_known - false if the kernel tells nothing of this process. */
bool host_maps_are_known(const struct host_maps *maps);

/* host_maps_find - the mapping that covers address, else the next above, else NULL.
 * What it returned is gone with the next call. */
const struct host_mapping *host_maps_find(struct host_maps *maps, uintptr_t address);

/* host_mapping_parse - one line, without its end. False if it is no such line. */
bool host_mapping_parse(const char *line, struct host_mapping *mapping);

/* locked.c - memory that stays resident. Its calls for counters need the mutex of
 * arena.c. */

/* host_memory_lock - make the pages resident and keep them so. -EAGAIN: not allowed, no
 * memory, or nothing there. What it fails with half done, host_memory_unlock undoes. */
int host_memory_lock(uintptr_t start, size_t bytes);
void host_memory_unlock(uintptr_t start, size_t bytes);

struct host_slab;

struct host_counters {
    char *memory;
    size_t bytes;
    struct host_slab *slab; /* NULL: pages of its own */
};

/* host_counters_make - zeroed, resident memory of ours, aligned for counters.
 * -EAGAIN: no more may be locked; -ENOMEM. Then counters is as it was. */
int host_counters_make(struct host_counters *counters, size_t bytes);

/* host_counters_finish - give it back; also of zeros. */
void host_counters_finish(struct host_counters *counters);

/* held.c - pages of the caller that differences are added to. All need the mutex of
 * arena.c. */

/*
 * host_hold - lock the pages that [start, start + bytes) lies in; several holds may
 * overlap.
 *
 *   number  of the lock that they are for; a later lock has a greater one
 *
 * -EFAULT   the memory is not there, or cannot be written
 * -EAGAIN   no more may be locked
 * -ENOMEM   no memory
 */
int host_hold(uintptr_t start, size_t bytes, uint64_t number);

/* host_unhold - undo one host_hold of the same bytes. */
void host_unhold(uintptr_t start, size_t bytes);

/* host_is_held - is the memory at address still what was there when this lock held it?
 */
bool host_is_held(uintptr_t address, uint64_t number);

/* host_held_run - the first bytes of whole pages that are all held, or all not: *held.
 */
size_t host_held_run(uintptr_t start, size_t bytes, bool *held);

/* spare.c */

/* host_private_map - whole zeroed pages as the caller's own memory has them, from now
 * on the caller's of this function; NULL: no memory. Needs the mutex of arena.c. */
char *host_private_map(size_t bytes);

/* supply.c - memory of page sources. All need the mutex of arena.c. */

/* Of one lock and of the ranges made of its pages. */
struct host_supply {
    TAILQ_ENTRY(host_supply) links;
    const struct host_page_source *source; /* NULL: it has gone */
    char *memory;
    size_t bytes;
    size_t references;
    bool seen; /* perhaps somebody has mappings of its pages that nobody takes away */
};

/* host_supply_take - new, with one reference. Returns 0 or negative errno. */
int host_supply_take(const struct host_page_source *source, size_t bytes,
                     struct host_supply **supply);

/* host_supply_release - one reference less; the last one gives it back. NULL is
 * allowed. */
void host_supply_release(struct host_supply *supply);

/* host_supply_map - another mapping of whole pages of it, while it has its source. */
int host_supply_map(const struct host_supply *supply, const char *supplied,
                    size_t bytes, char **mapping);

/* host_supplies_disown - the source goes; NULL: all do. What is mapped stays so. */
void host_supplies_disown(const struct host_page_source *source);

/* arena.c - shared counter pages; see there for the invariants. */

struct host_range {
    uintptr_t start; /* page-aligned address in the caller's space */
    size_t bytes;    /* whole pages */
    char *
        /* our own mapping of the same pages; NULL: not made yet, or the parent's */
        alias;
    size_t locks; /* pieces of locks that refer to it */
    bool buffer;  /* made by ntprof_buffer_alloc, which gives nothing back at unlock */
    bool listed; /* found by its address; false once the caller took the address back */
    struct host_supply *supply; /* NULL: the pages are anonymous */
    char *supplied;             /* where the supply has them */
};

/* host_arena_lock, host_arena_unlock - the mutex that all other host_range calls need.
 */
void host_arena_lock(void);
void host_arena_unlock(void);

/* host_range_find - the listed range that covers address, else the next above, else
 * NULL. */
struct host_range *host_range_find(uintptr_t address);

/* host_range_alias - make sure that there is an alias. */
int host_range_alias(struct host_range *range);

/*
 * host_range_splice - put shared pages with the same contents under whole private pages
 * of the caller: those at supplied, or anonymous ones (supply NULL). The caller of this
 * function has the range's first lock.
 *
 * -EFAULT the pages cannot be read -EAGAIN no more may be locked others there is no
 * memory, or no mapping left for it, or the kernel does not do it with
 *           this memory: nothing changed, and what is at supplied is zero
 */
int host_range_splice(uintptr_t start, size_t bytes, struct host_supply *supply,
                      char *supplied, struct host_range **range);

/* host_range_serves - does a lock whose counters must be in a source's pages (NULL:
 * anywhere) count in the range's? */
bool host_range_serves(const struct host_range *range,
                       const struct host_page_source *source);

/* host_range_serve - have a buffer that nobody has locked serve such locks, if it can
 * be. */
int host_range_serve(struct host_range *range, const struct host_page_source *source);

/* host_ranges_disown - the source goes, of which no lock is left. Takes the mutex
 * itself. */
void host_ranges_disown(const struct host_page_source *source);

/* host_range_is_intact - does the caller still have these pages of it there? */
bool host_range_is_intact(const struct host_range *range, struct host_maps *maps,
                          uintptr_t start, size_t bytes);

/*
 * host_range_duplicate - put one more mapping of whole pages of an intact range over
 * ours at place. -EFAULT: they are not the caller's any more. On failure, place may be
 * changed.
 */
int host_range_duplicate(const struct host_range *range, uintptr_t start, size_t bytes,
                         char *place);

/* host_range_unlist - the address is the caller's again; the pages live until unlocked.
 */
void host_range_unlist(struct host_range *range);

/* host_range_release - one lock less; the last gives spliced pages back. */
void host_range_release(struct host_range *range);

/*
 * host_buffer_overlap - the first part of [start, start + bytes) that
 * ntprof_buffer_alloc made. Takes the mutex itself.
 */
bool host_buffer_overlap(uintptr_t start, size_t bytes, uintptr_t *first,
                         size_t *overlap_bytes);

size_t host_page_bytes(void);

/* processors.c */

struct host_processors {
    uint64_t *groups; /* bit n of element g: processor 64 g + n is online */
    size_t count;     /* groups up to the last processor; at least 1 */
    int64_t read_ms;  /* CLOCK_MONOTONIC_COARSE when it was read; -1: never */
};

/* host_processors_parse - an ascending list such as "0-3,8"; -EINVAL leaves processors
 * as it was. */
int host_processors_parse(const char *text, struct host_processors *processors);

/* host_processors_refresh - read again unless done within the last 100 ms. What was
 * known stays where it cannot be read for want of descriptors or memory. Returns 0, or
 * -errno if nothing is known. */
int host_processors_refresh(struct host_processors *processors);
void host_processors_finish(struct host_processors *processors);

/* process.c */

/* host_stat_parse - a line of /proc/PID/stat. False if it is no such line. */
bool host_stat_parse(const char *text, char *state, uint64_t *threads,
                     uint64_t *start_time);

/* rights.c */

/*
 * host_event_open - try a disabled event that counts nothing, and close it again.
 *
 *   pid, cpu  as perf_event_open
 *
 * Returns 0 if the kernel allows it, or its -errno.
 */
int host_event_open(pid_t pid, int cpu, bool kernel);

/* host_linux - the Context of the host table. */
struct host_linux {
    HOST_TABLE table;
    struct host_page_source pages; /* where counters must be; take NULL: anywhere */
    struct host_processors processors;
    struct host_linux_refusal refusal; /* the last one */
};

/* Members of the table, in the file of their noun. */
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
