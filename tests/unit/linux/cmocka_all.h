/* SPDX-License-Identifier: MIT */
/* cmocka_all.h - cmocka with the headers that it wants before it. */
#ifndef TESTS_UNIT_PERF_CMOCKA_ALL_H
#define TESTS_UNIT_PERF_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
