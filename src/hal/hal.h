/* SPDX-License-Identifier: MIT */
/*
 * hal/hal.h - a back end as the core sees it: the public HAL table, <ntprof/hal.h>,
 * with its context.
 */
#ifndef HAL_HAL_H
#define HAL_HAL_H

#include <ntprof/hal.h>

/* HAL - a back end at work. */
typedef struct _HAL {
    const HAL_TABLE *Table;
    void *Context;
} HAL;

#endif
