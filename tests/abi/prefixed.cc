/* SPDX-License-Identifier: MIT */
/* The same in C++. */
#include "prefixed.c"
