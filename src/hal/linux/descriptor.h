/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/descriptor.h - descriptors that forked children do not keep.
 *
 * An event, and what runs at it, lives as long as somebody has a descriptor of it.
 * Children that never run a program of their own would keep those of a session, and
 * with them interrupts for nobody, after their parent was killed. So a child made by
 * fork() closes them before fork returns there; it has no use for its parent's session.
 * One made by a bare clone() or _Fork() keeps them.
 *
 * Any thread. Nothing here takes a lock, so a fork at any moment finds it in order:
 * what another thread opens just then may be kept by the child, and nothing else is
 * ever closed.
 */
#ifndef HAL_LINUX_DESCRIPTOR_H
#define HAL_LINUX_DESCRIPTOR_H

/* perf_descriptor_own - have forked children close it. Returns it; below 0 nothing is
 * done. Without memory children keep it. */
int perf_descriptor_own(int fd);

/* perf_descriptor_close - close one that was owned, and no other than by this. */
void perf_descriptor_close(int fd);

#endif
