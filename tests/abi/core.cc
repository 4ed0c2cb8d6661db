/* SPDX-License-Identifier: MIT */
/* The same in C++. */
#include "core.c"
