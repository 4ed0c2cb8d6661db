/* SPDX-License-Identifier: MIT */
/*
 * secret.h - keeps secrets out of messages, which end in logs that others read.
 *
 * A secret is the text in a URL between the user's name and '@', and the value of a
 * parameter whose name says so, as in ?password=X. text_show leaves secrets out.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/buffer.h"

#include <stdbool.h>

/* Shown in place of a secret. */
#define SECRET_SHOWN "***"

/* secret_is_name - return whether the values of a parameter of this name are secret:
 * password, token, api_key ..., but not password-file. */
bool secret_is_name(const char *name);

/* secret_redact - append text without its secrets. What could be one in a URL that is
 * wrong is left out too. */
void secret_redact(struct buffer *out, const char *text);

#endif
