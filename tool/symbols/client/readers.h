/* SPDX-License-Identifier: MIT */
/* readers.h - starts readers. Only tool/symbols/client includes it. */
#ifndef SYMBOLS_CLIENT_READERS_H
#define SYMBOLS_CLIENT_READERS_H

#include "sandbox/process.h"
#include "symbols/border/readers.h"

/* As sandbox_start, with -ELIBACC if module reader cannot be loaded; what is put on
 * its wire next belongs to the work. */
int readers_start(struct sandbox_process *process, enum reader_work work,
                  const struct sandbox_limits *limits);

#endif
