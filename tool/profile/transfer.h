/* SPDX-License-Identifier: MIT */
/*
 * transfer.h - a profile over a wire, from the process that decoded its file.
 */
#ifndef PROFILE_TRANSFER_H
#define PROFILE_TRANSFER_H

#include "profile/profile.h"
#include "sandbox/wire.h"

void profile_send(const struct profile *profile, struct wire *wire);

/* What came is hostile: NULL if it makes no sense or memory ran out. */
struct profile *profile_receive(struct wire *wire);

#endif
