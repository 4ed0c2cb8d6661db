/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/uprobe.h - events of the kernel's that count executions of an instruction
 * of a file.
 *
 * A uprobe of the PMU of that name cannot be inherited: the target's fork fails. So an
 * event is made in uprobe_events of tracefs, which takes root, and counted as a
 * tracepoint.
 *
 * Events in tracefs outlive who made them. Their names tell the maker's process and pid
 * namespace: what dead ones left goes when the next is made. The kernel keeps what is
 * in use.
 */
#ifndef HAL_LINUX_UPROBE_H
#define HAL_LINUX_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_uprobe {
    char *image;     /* path, as it was given */
    uint64_t offset; /* in that file, of the first byte of an instruction */
    char event[64];  /* in tracefs; "": not made */
    pid_t owner;     /* who made it: a forked child leaves it alone */
    void *page;      /* the instruction's, mapped while it is tried; or NULL */
};

/* perf_uprobe_create - an event that is not made yet. NULL without memory. */
struct perf_uprobe *perf_uprobe_create(const char *image, size_t image_bytes,
                                       uint64_t offset);

/*
 * perf_uprobe_make - make the event.
 *
 *   id      out: what perf_event_open takes as config of a tracepoint
 *   reason  out: why not, and what would help
 *
 * Returns 0 or negative errno; -EMFILE, -ENFILE and -ENOMEM are no answer for good.
 * Until perf_uprobe_tried the instruction is mapped into this process, so that opening
 * the event for it fails where the kernel cannot put a probe on that instruction. One
 * that does not work is removed then.
 */
int perf_uprobe_make(struct perf_uprobe *uprobe, uint64_t *id, char *reason,
                     size_t reason_bytes);
void perf_uprobe_tried(struct perf_uprobe *uprobe, bool works);

/* perf_uprobe_delete - NULL is deleted already. Its events are closed. */
void perf_uprobe_delete(struct perf_uprobe *uprobe);

#endif
