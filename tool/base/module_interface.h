/* SPDX-License-Identifier: MIT */
/*
 * module_interface.h - how a module gives its interface:
 *
 *   MODULE_INTERFACE(struct type, name) = {...};
 *
 * The hash of all headers goes with it: what the command and a module share is what
 * these declare, so another hash is another build.
 */
#ifndef BASE_MODULE_INTERFACE_H
#define BASE_MODULE_INTERFACE_H

#include "base/headers_hash.h"

#define MODULE_EXPORTED __attribute__((visibility("default")))
#define MODULE_INTERFACE(type, name)                                          \
    extern const char ntprof_headers_##name[];                                \
    MODULE_EXPORTED const char ntprof_headers_##name[] = NTPROF_HEADERS_HASH; \
    extern const type ntprof_module_##name;                                   \
    MODULE_EXPORTED const type ntprof_module_##name

#endif
