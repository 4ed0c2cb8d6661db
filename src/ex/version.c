/* SPDX-License-Identifier: MIT */
/* ex/version.c - the table of versions. */
#include "ex/version.h"
#include "host/host.h"

/* The most memory that an MDL can describe: as many pages of 4096 bytes as fit in an
 * MDL of 65,535 bytes; in later versions 2 or 4 GB less one page. */
#define EXP_OLD_MDL_32 (4096ull * (65535 - 0x1C) / 4)
#define EXP_OLD_MDL_64 (4096ull * (65535 - 0x30) / 8)
#define EXP_2_GB_MDL (0x80000000ull - 4096)
#define EXP_4_GB_MDL (0x100000000ull - 4096)

/* The newest one without defects follows all published ones. */
#define EXP_NEWEST 0xFFFFFFFFu

/* Does version At have a rule of versions First to Last, or of all from First on? */
#define EXP_IN(At, First, Last) ((At) >= (First) && (At) <= (Last))
#define EXP_SINCE(At, First) EXP_IN(At, First, EXP_NEWEST)

#define EXP_RESTRICTED(At)                                       \
    (EXP_SINCE(At, 1507)    ? HOST_RESTRICTED_BY_ACCESS_CHECK    \
     : EXP_IN(At, 603, 603) ? HOST_RESTRICTED_BY_INTEGRITY_LEVEL \
                            : 0)

#define EXP_MDL_BYTES(At, Old) \
    (EXP_SINCE(At, 601) ? EXP_4_GB_MDL : EXP_IN(At, 600, 600) ? EXP_2_GB_MDL : (Old))

/*
 * Sets a version's rules: one row for each rule, with its first and its last version.
 * At is the index in the order of versions, which is the order of their numbers.
 * Intervals are those of NT's HALs: 8192 times a second to once a second; for counters
 * at least 4096 events.
 */
/* clang-format off */
#define EXP_VERSION_AT(At, Public, Text)                            \
    {                                                               \
        .Number = (Public),                                         \
        .Name = (Text),                                             \
        .HasSources = EXP_SINCE(At, 351),                           \
        .HasGroups = EXP_SINCE(At, 601),                            \
        .RefusesEmptyBuffer = EXP_SINCE(At, 404),                   \
        .RefusesShortSegmentBuffer = EXP_IN(At, 404, 502),          \
        .ForgetsPartialBucket = EXP_IN(At, 310, 1607),              \
        .ChecksSource = EXP_SINCE(At, 602),                         \
        .RestrictedRule = EXP_RESTRICTED(At),                       \
        .InactiveMeansAll = EXP_IN(At, 404, 600),                   \
        .NarrowsSource = EXP_IN(At, 310, 601),                      \
        .LimitInside = EXP_IN(At, 602, 1803),                       \
        .LocksWholeBuffer = EXP_IN(At, 310, 1809),                  \
        .StartLimitPerProcessor = EXP_SINCE(At, 601) ? 8192 : 0,    \
        .MostMdlBytes32 = EXP_MDL_BYTES(At, EXP_OLD_MDL_32),        \
        .MostMdlBytes64 = EXP_MDL_BYTES(At, EXP_OLD_MDL_64),        \
        .ProfileIrql32 = EXP_SINCE(At, 600) ? 31 : 27,              \
        .SplitsIn32Bits = EXP_IN(At, 310, 1809),                    \
        .SetNeedsPrivilege = EXP_SINCE(At, 602),                    \
        .LeastTimeInterval = EXP_IN(At, 310, 1809) ? 1221 : 0,      \
        .MostTimeInterval = EXP_IN(At, 310, 1809) ? 10000000 : 0,   \
        .LeastEventInterval = EXP_IN(At, 310, 1809) ? 0x1000 : 0,   \
    }
/* clang-format on */
#define EXP_VERSION(Number, Text) EXP_VERSION_AT(Number, Number, Text)

static const EX_VERSION ExpVersions[] = {
    EXP_VERSION_AT(EXP_NEWEST, 0, "newest"),
    EXP_VERSION(1809, "1809"),
    EXP_VERSION(1803, "1803"),
    EXP_VERSION(1709, "1709"),
    EXP_VERSION(1703, "1703"),
    EXP_VERSION(1607, "1607"),
    EXP_VERSION(1511, "1511"),
    EXP_VERSION(1507, "10.0"),
    EXP_VERSION(603, "6.3"),
    EXP_VERSION(602, "6.2"),
    EXP_VERSION(601, "6.1"),
    EXP_VERSION(600, "6.0"),
    EXP_VERSION(502, "5.2"),
    EXP_VERSION(501, "5.1"),
    EXP_VERSION(500, "5.0"),
    EXP_VERSION(404, "4.0 SP4"),
    EXP_VERSION(400, "4.0"),
    EXP_VERSION(351, "3.51"),
    EXP_VERSION(350, "3.50"),
    EXP_VERSION(310, "3.10"),
};

const EX_VERSION *
ExNextVersion(ULONG Index)
{
    return Index < sizeof(ExpVersions) / sizeof(ExpVersions[0]) ? &ExpVersions[Index]
                                                                : NULL;
}

const EX_VERSION *
ExFindVersion(ULONG Number)
{
    for (ULONG i = 0; ExNextVersion(i) != NULL; i++) {
        if (ExpVersions[i].Number == Number) {
            return &ExpVersions[i];
        }
    }
    return NULL;
}
