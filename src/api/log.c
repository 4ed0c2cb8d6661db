/* SPDX-License-Identifier: MIT */
/* api/log.c - the receiver of the log. */
#include "api/api.h"

#include "log/log.h"

NTSTATUS
ntprof_set_log(ntprof_log *callback, void *context, int level)
{
    bool set;

    if (level < NTPROF_LOG_ERROR || level > NTPROF_LOG_DEBUG) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "level %d is none of NTPROF_LOG_...", level);
    }
    log_enter();
    set = log_set(callback, context, level);
    log_leave();
    if (!set) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "a log callback must not call the library");
    }
    return STATUS_SUCCESS;
}
