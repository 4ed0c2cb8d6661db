/* SPDX-License-Identifier: MIT */
/*
 * microhttpd_library.h - the functions of libmicrohttpd that are used, without the
 * prefix MHD_.
 */
#ifndef HTTP_MICROHTTPD_LIBRARY_H
#define HTTP_MICROHTTPD_LIBRARY_H

#include <microhttpd.h>
#include <stdbool.h>

#define MICROHTTPD_FUNCTIONS(f)                                               \
    f(add_response_header) f(create_response_from_buffer) f(destroy_response) \
        f(get_connection_values) f(lookup_connection_value) f(queue_response) \
            f(resume_connection) f(start_daemon) f(stop_daemon) f(suspend_connection)

struct microhttpd_library {
#define MICROHTTPD_MEMBER(name) __typeof__(MHD_##name) *name;
    MICROHTTPD_FUNCTIONS(MICROHTTPD_MEMBER)
#undef MICROHTTPD_MEMBER
};

/* microhttpd_load - load libmicrohttpd. Returns false if it is not installed. */
bool microhttpd_load(struct microhttpd_library *library);

#endif
