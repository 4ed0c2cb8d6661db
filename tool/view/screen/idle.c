/* SPDX-License-Identifier: MIT */
/* idle.c - names of the functions in which Linux idles, for kernels since 5.15. */
#include "view/screen/idle.h"

#include <string.h>

static const char *const idle_names[] = {
    "acpi_idle_do_entry",  "acpi_processor_ffh_cstate_enter",
    "acpi_safe_halt",      "amd_e400_idle",
    "arch_cpu_idle",       "cpu_do_idle",
    "default_idle",        "default_idle_call",
    "intel_idle",          "intel_idle_ibrs",
    "intel_idle_irq",      "intel_idle_xstate",
    "mwait_idle",          "mwait_idle_with_hints",
    "native_safe_halt",    "poll_idle",
    "pv_native_safe_halt",
};

/* Return whether a name is the wanted one, perhaps with a compiler's suffix, as
 * mwait_idle_with_hints.constprop.0. */
static bool
is_called(const char *name, const char *wanted)
{
    const size_t size = strlen(wanted);

    return strncmp(name, wanted, size) == 0 &&
           (name[size] == '\0' || name[size] == '.');
}

bool
tui_is_idle(const struct profile *profile, const struct profile_row *row)
{
    const char *const name =
        profile->functions[profile_outer_function(profile, row)].name;

    if (strcmp(profile->images[row->image].path, "[kernel]") != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(idle_names) / sizeof(idle_names[0]); i++) {
        if (is_called(name, idle_names[i])) {
            return true;
        }
    }
    return false;
}
