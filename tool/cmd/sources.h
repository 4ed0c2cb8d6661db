/* SPDX-License-Identifier: MIT */
/* cmd/sources.h - what ntprof sources and ntprof doctor ask of a session. */
#ifndef CMD_SOURCES_H
#define CMD_SOURCES_H

#include <ntprof/ntprof.h>

/*
 * sources_query_breakpoints - do execution breakpoints work here?
 *
 *   info  out: of a breakpoint on code of our own, named breakpoint:0xADDRESS; why not
 *         in reason
 */
void sources_query_breakpoints(ntprof_session *session, ntprof_source_info *info);

#endif
