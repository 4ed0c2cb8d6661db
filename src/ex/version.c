/* SPDX-License-Identifier: MIT */
/* ex/version.c - the table of versions. */
#include "ex/version.h"

static const EX_VERSION ExpVersions[] = {
    {
        .Number = 0,
        .Name = "newest, defects mended",
        .LocksWholeBuffer = FALSE,
        .StartLimitPerProcessor = 8192,
        .MostMdlBytes = 0x100000000ull - 4096,
    },
};

const EX_VERSION *
ExFindVersion(ULONG Number)
{
    for (SIZE_T i = 0; i < sizeof(ExpVersions) / sizeof(ExpVersions[0]); i++) {
        if (ExpVersions[i].Number == Number) {
            return &ExpVersions[i];
        }
    }
    return NULL;
}
