/* SPDX-License-Identifier: MIT */
/*
 * hal/linux/descriptor.h - descriptors that forked children do not keep.
 *
 * A perf event, and a BPF program attached to it, lives as long as a descriptor of it
 * is open. A forked child that does not exec would keep its parent's events, and their
 * interrupts, alive after the parent was killed. So a child made by fork() closes them
 * before fork returns in it. One made by a bare clone() or _Fork() keeps them.
 *
 * Any thread. The set changes by single atomic operations and has no lock that a fork
 * could find taken. A child may keep a descriptor that another thread is just opening,
 * but never closes one that is not in the set.
 */
#ifndef HAL_LINUX_DESCRIPTOR_H
#define HAL_LINUX_DESCRIPTOR_H

/* perf_descriptor_own - have forked children close fd. Returns fd; a negative one is
 * ignored, so that a failed call may be passed on. */
int perf_descriptor_own(int fd);

/* perf_descriptor_close - close a descriptor that was given to perf_descriptor_own;
 * close() must not be used for it. A negative descriptor is ignored. */
void perf_descriptor_close(int fd);

#endif
