/* SPDX-License-Identifier: MIT */
/* said.h - what a form says about itself. For tool/view/export alone. */
#ifndef VIEW_EXPORT_MESSAGES_H
#define VIEW_EXPORT_MESSAGES_H

#include "view/export/export.h"

/* Says why it failed, behind the form's name. Always false, for return. Names are
 * escaped already. */
__attribute__((format(printf, 3, 4))) bool
export_refuse(struct export_said *said, const struct export_options *options,
              const char *format, ...);

/* Adds to the note, which begins with the form's name; parts have a semicolon between
 * them. */
__attribute__((format(printf, 3, 4))) void
export_note(struct export_said *said, const struct export_options *options,
            const char *format, ...);

#endif
