/* SPDX-License-Identifier: MIT */
/*
 * hal/bpf/btf.h - what a kernel that tells its types (BTF) calls its functions. Only what nothing depends on
 * may ask: many kernels tell nothing.
 */
#ifndef HAL_BPF_BTF_H
#define HAL_BPF_BTF_H

#include <stddef.h>
#include <stdint.h>

/* bpf_btf_find_function - the number of a function among the types in bytes. Returns it, -ENOENT, or -EBADMSG
 * if they make no sense. */
int bpf_btf_find_function(const void *bytes, size_t size, const char *name);

/* bpf_btf_find_in_kernel - among the running kernel's. Returns its number or negative errno. */
int bpf_btf_find_in_kernel(const char *name);

#endif
