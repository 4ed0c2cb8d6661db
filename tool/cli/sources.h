/* SPDX-License-Identifier: MIT */
/* cli/sources.h - query that ntprof sources and ntprof doctor share. */
#ifndef CLI_SOURCES_H
#define CLI_SOURCES_H

#include <ntprof/ntprof.h>

/*
 * sources_query_breakpoints - find out whether execution breakpoints work here.
 *
 *   info  out: of a breakpoint on our own code, with the name breakpoint:0xADDRESS;
 *         reason says why it does not work
 */
void sources_query_breakpoints(ntprof_session *session, ntprof_source_info *info);

#endif
