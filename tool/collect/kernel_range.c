/* SPDX-License-Identifier: MIT */
/* kernel_range.c - the address range of kernel code, by architecture. */
#include "collect/kernel_range.h"

const struct kernel_range kernel_range = {
#if defined(__x86_64__)
    /* Kernel text and modules: the top 2 GB, minus its last bytes so that the end does
     * not wrap. */
    .begin = UINT64_C(0xffffffff80000000),
    .length = UINT64_C(0x7ffffff0),
#elif defined(__aarch64__)
    /* Modules and kernel image are within this distance above the start of the vmalloc
     * region. */
    .begin = UINT64_C(0xffff800000000000),
    .length = UINT64_C(0x100000000),
#elif UINTPTR_MAX == UINT32_MAX
    /* 32-bit kernels: the top 1 GB, minus its last bytes. */
    .begin = UINT64_C(0xc0000000),
    .length = UINT64_C(0x3ffffff0),
#else
    .length = 0,
#endif
};
