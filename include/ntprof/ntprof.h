/* SPDX-License-Identifier: MIT */
/*
 * ntprof.h - the profile objects of the Windows NT kernel, for Linux: all of the
 * interface.
 *
 * Profile yourself in six calls:
 *
 *   static ULONG Counters[1024];
 *   HANDLE Profile;
 *   NtCreateProfileEx(&Profile, NtCurrentProcess(), Base, 4096, 2, Counters,
 *                     sizeof(Counters), ProfileTime, 0, NULL);
 *   NtStartProfile(Profile);
 *   work();
 *   NtStopProfile(Profile);
 *   NtClose(Profile);
 *
 * A unit that has other definitions of NT's names, such as its own ULONG, HANDLE or
 * NtClose, says
 *
 *   #define NTPROF_PREFIXED
 *
 * before it includes the first of these headers (in the middle of a unit it is an
 * error): then every name of NT has the prefix ntprof_ (ntprof_ULONG,
 * ntprof_ProfileTime, ntprof_STATUS_SUCCESS, ntprof_NtCreateProfileEx), and nothing
 * else is defined but names that begin with ntprof_ or NTPROF_. The functions are the
 * same ones; the Zw names are left out. Definitions that agree with ours need no
 * prefix, before or after.
 *
 * Sections: nt_types.h, nt_status.h, nt_profile.h (the NT calls), source.h (sources and
 * back ends), notification.h, session.h. To embed the core in a kernel or an emulator:
 * host.h and hal.h, which this header leaves out.
 */
#ifndef NTPROF_NTPROF_H
#define NTPROF_NTPROF_H

#include <ntprof/notification.h>
#include <ntprof/nt_profile.h>
#include <ntprof/nt_status.h>
#include <ntprof/nt_types.h>
#include <ntprof/session.h>
#include <ntprof/source.h>

#endif

#include <ntprof/nt_names_check.h>
