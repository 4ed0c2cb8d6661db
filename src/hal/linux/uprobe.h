/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/uprobe.h - uprobes: trace events that count executions of an instruction of
 * a file.
 *
 * An event of the uprobe PMU cannot be inherited: with one, the target's fork fails. So
 * the event is made in tracefs (uprobe_events), which only root may do, and opened as a
 * tracepoint.
 *
 * Trace events stay when the process that made them exits. Their names contain its pid
 * and its pid namespace: making one removes those of exited processes, except those
 * that are still in use, which the kernel keeps.
 */
#ifndef HAL_LINUX_UPROBE_H
#define HAL_LINUX_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_uprobe {
    char *image;     /* path, as given */
    uint64_t offset; /* in that file, of the first byte of an instruction */
    char event[64];  /* name in tracefs; "": not made */
    pid_t owner;     /* the process that made it, and the only one that removes it */
    void *page;      /* of the instruction, mapped while the event is tried; or NULL */
};

/* perf_uprobe_create - describe a trace event, which is not made yet. image has
 * image_bytes characters. Returns NULL if memory runs out. */
struct perf_uprobe *perf_uprobe_create(const char *image, size_t image_bytes,
                                       uint64_t offset);

/*
 * perf_uprobe_make - make the event.
 *
 *   id      out: the config of a tracepoint event, for perf_event_open
 *   reason  out: after a failure, why the event cannot be made and what would help
 *
 * Returns 0 or negative errno; after -EMFILE, -ENFILE and -ENOMEM it may be tried
 * again. Until perf_uprobe_tried the instruction is mapped into this process, so that
 * opening the event fails if the kernel cannot place a probe on it. perf_uprobe_tried
 * removes an event that does not work.
 */
int perf_uprobe_make(struct perf_uprobe *uprobe, uint64_t *id, char *reason,
                     size_t reason_bytes);
void perf_uprobe_tried(struct perf_uprobe *uprobe, bool works);

/* perf_uprobe_delete - remove the event and free it; NULL is ignored. Its perf events
 * must be closed. */
void perf_uprobe_delete(struct perf_uprobe *uprobe);

#endif
