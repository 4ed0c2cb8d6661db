/* SPDX-License-Identifier: MIT */
/*
 * stage.h - points in the work of a reader at which a build for tests does what a
 * reader that was taken over might do. The command that is installed does nothing.
 */
#ifndef SANDBOX_STAGE_H
#define SANDBOX_STAGE_H

#include "sandbox/wire.h"

#ifdef NTPROF_TEST_HOSTILE
void sandbox_stage(const char *stage, struct wire *wire);
#else
static inline void
sandbox_stage(const char *stage, struct wire *wire)
{
    (void)stage;
    (void)wire;
}
#endif

#endif
