/* SPDX-License-Identifier: MIT */
/* in_process.h - see in_process.c. */
#ifndef TESTS_FUZZ_IN_PROCESS_H
#define TESTS_FUZZ_IN_PROCESS_H

#include "sandbox/process.h"

/* What readers do instead of their work; NULL: their work. */
extern sandbox_work *in_process_work;

#endif
