/* SPDX-License-Identifier: MIT */
/*
 * transfer.h - a profile over a wire, from the process that decoded its file.
 */
#ifndef PROFILE_TRANSFER_H
#define PROFILE_TRANSFER_H

#include "profile/profile.h"
#include "sandbox/wire.h"

/* Put a profile on a wire, in the process that decoded it. */
void profile_send(const struct profile *profile, struct wire *wire);

/* Receive a profile from a process without rights, which may be hostile: everything is
 * checked. Returns NULL if it is invalid or memory ran out. */
struct profile *profile_receive(struct wire *wire);

#endif
