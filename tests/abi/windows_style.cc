/* SPDX-License-Identifier: MIT */
/* The example in C++. */
#include "../../examples/windows_style.c"
