/* SPDX-License-Identifier: MIT */
/* api/log.c - the receiver of the log. */
#include "api/api.h"

#include "log/log.h"

NTSTATUS
ntprof_set_log(ntprof_log *callback, void *context, int level)
{
    if (level < NTPROF_LOG_ERROR || level > NTPROF_LOG_DEBUG) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "level %d is none of NTPROF_LOG_...", level);
    }
    if (!log_set(callback, context, level)) {
        return api_refuse(NULL, STATUS_INVALID_PARAMETER,
                          "a log callback must not call the library");
    }
    return STATUS_SUCCESS;
}
