/* SPDX-License-Identifier: MIT */
/* readers.h - starts readers. Only tool/symbols/client includes it. */
#ifndef SYMBOLS_CLIENT_READERS_H
#define SYMBOLS_CLIENT_READERS_H

#include "sandbox/process.h"
#include "symbols/border/readers.h"

/* Start a process as sandbox_start does, for one of the works of module reader. The
 * caller puts the parameters of the work on its wire next. Returns 0 or a negative
 * errno: those of sandbox_start, -ELIBACC if the module cannot be loaded. */
int readers_start(struct sandbox_process *process, enum reader_work work,
                  const struct sandbox_limits *limits);

#endif
