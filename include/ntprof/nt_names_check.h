/* SPDX-License-Identifier: MIT */
/*
 * nt_names_check.h - the first header that a unit includes decides whether NT's names
 * have the prefix ntprof_; both in one unit would be two sets of types, of which guards
 * let only the first in. For the other headers, each time that they are included: so it
 * has no guard.
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
