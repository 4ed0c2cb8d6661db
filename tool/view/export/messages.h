/* SPDX-License-Identifier: MIT */
/* messages.h - the messages of an export. Only tool/view/export includes it. */
#ifndef VIEW_EXPORT_MESSAGES_H
#define VIEW_EXPORT_MESSAGES_H

#include "view/export/export.h"

/* export_refuse - set messages->error to the name of the format and why it failed;
 * names in it must be escaped. Returns false. */
__attribute__((format(printf, 3, 4))) bool
export_refuse(struct export_messages *messages, const struct export_options *options,
              const char *format, ...);

/* export_note - append to messages->note, which begins with the name of the format;
 * several notes are separated by semicolons. */
__attribute__((format(printf, 3, 4))) void
export_note(struct export_messages *messages, const struct export_options *options,
            const char *format, ...);

#endif
