/* SPDX-License-Identifier: MIT */
/* ex/layout.c - see layout.h. Level: passive. */
#include "ex/layout.h"

#include "ex/ex.h"
#include "rtl/memory.h"

#define EXP_LAYOUT(Word)                                 \
    {                                                    \
        (Word), (Word) + 4 * sizeof(USHORT), 2 * (Word), \
            2 * (Word) + EX_TYPE_FACTS_BYTES             \
    }

static const EX_LAYOUT ExpLayouts[] = {
    [EX_LAYOUT_HOST] = EXP_LAYOUT(sizeof(void *)),
    [EX_LAYOUT_64] = EXP_LAYOUT(8),
    [EX_LAYOUT_32] = EXP_LAYOUT(4),
};

_Static_assert(sizeof(GROUP_AFFINITY) == sizeof(void *) + 4 * sizeof(USHORT) &&
                   sizeof(UNICODE_STRING) == 2 * sizeof(void *),
               "the host's layout is one of the table");

const EX_LAYOUT *
ExFindLayout(ULONG Number)
{
    if (Number > EX_LAYOUT_32 || ExpLayouts[Number].WordBytes > sizeof(void *)) {
        return NULL;
    }
    return &ExpLayouts[Number];
}

void
ExGetGroup(const EX_LAYOUT *Layout, const UCHAR *From, GROUP_AFFINITY *Group)
{
    ULONG Mask32;

    if (Layout->WordBytes == sizeof(Mask32)) {
        RtlCopyMemory(&Mask32, From, sizeof(Mask32));
        Group->Mask = Mask32;
    } else {
        RtlCopyMemory(&Group->Mask, From, sizeof(Group->Mask));
    }
    From += Layout->WordBytes;
    RtlCopyMemory(&Group->Group, From, sizeof(Group->Group));
    RtlCopyMemory(Group->Reserved, From + sizeof(Group->Group),
                  sizeof(Group->Reserved));
}

ULONG
ExPutWord(const EX_LAYOUT *Layout, UCHAR *To, ULONG64 Word)
{
    const ULONG Word32 = (ULONG)Word;

    if (Layout->WordBytes == sizeof(Word32)) {
        RtlCopyMemory(To, &Word32, sizeof(Word32));
    } else {
        RtlCopyMemory(To, &Word, sizeof(Word));
    }
    return Layout->WordBytes;
}

void
ExPutString(const EX_LAYOUT *Layout, UCHAR *To, USHORT Length, USHORT MaximumLength,
            ULONG64 Buffer)
{
    RtlCopyMemory(To, &Length, sizeof(Length));
    RtlCopyMemory(To + sizeof(Length), &MaximumLength, sizeof(MaximumLength));
    (void)ExPutWord(Layout, To + Layout->WordBytes, Buffer);
}
