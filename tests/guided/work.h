/* SPDX-License-Identifier: MIT */
/* work.h - the parts of work.c. */
#ifndef WORK_H
#define WORK_H

unsigned one_part(unsigned value);
unsigned two_part(unsigned value);

#endif
