/* SPDX-License-Identifier: MIT */
/*
 * nt_names_check.h - reports an error if a unit includes headers both with and without
 * NTPROF_PREFIXED. That would need two sets of types, but the guards admit only the
 * first. The other headers include it each time, so it is without a guard.
 */
#ifdef NTPROF_PREFIXED
#ifdef NTPROF_NAMES_PLAIN
#error "NTPROF_PREFIXED comes too late: a header of ntprof was included before it"
#endif
#define NTPROF_NAMES_PREFIXED 1
#else
#ifdef NTPROF_NAMES_PREFIXED
#error "NTPROF_PREFIXED was defined for a header of ntprof before, and is not now"
#endif
#define NTPROF_NAMES_PLAIN 1
#endif
