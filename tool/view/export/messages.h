/* SPDX-License-Identifier: MIT */
/* messages.h - the messages of an export. Only tool/view/export includes it. */
#ifndef VIEW_EXPORT_MESSAGES_H
#define VIEW_EXPORT_MESSAGES_H

#include "view/export/export.h"

/* Says why it failed, behind the form's name. Always false, for return. Names are
 * escaped already. */
__attribute__((format(printf, 3, 4))) bool
export_refuse(struct export_messages *messages, const struct export_options *options,
              const char *format, ...);

/* Adds to the note, which begins with the form's name; parts have a semicolon between
 * them. */
__attribute__((format(printf, 3, 4))) void
export_note(struct export_messages *messages, const struct export_options *options,
            const char *format, ...);

#endif
