/* SPDX-License-Identifier: MIT */
/*
 * step.h - what a row does before its call, and what it does and looks at afterwards:
 * README.md, Steps.
 */
#ifndef CONFORMANCE_STEP_H
#define CONFORMANCE_STEP_H

#include "world.h"

/* step_run - one step; what it finds wrong fails the case. */
void step_run(struct world *world, const char *text);

/* step_status_name - without STATUS_; "?" if unknown. step_status - the other way;
 * false: none. */
const char *step_status_name(NTSTATUS status);
bool step_status(const char *name, NTSTATUS *status);

#endif
