/* SPDX-License-Identifier: MIT */
/* hal/backend.c - the back ends, in the order in which they are tried. */
#include "hal/backend.h"

const HAL_BACKEND *const HalBackends[] = {
    &HalPerfBackend, &HalBpfBackend, &HalTimerBackend, &HalSimBackend, NULL,
};
