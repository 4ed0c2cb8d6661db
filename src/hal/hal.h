/* SPDX-License-Identifier: MIT */
/*
 * hal/hal.h - the HAL contract as ke sees it. The contract itself is public:
 * <ntprof/hal.h>.
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
