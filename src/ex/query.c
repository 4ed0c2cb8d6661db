/* SPDX-License-Identifier: MIT */
/*
 * ex/query.c - NtQueryObject: facts of a handle, its object and its type.
 * docs/behaviour.md, Handles.
 *
 * Level: passive. The functions below stand in the order in which they are called.
 */
#include "ex/exp.h"
#include "mm/mm.h"
#include "rtl/memory.h"

enum { EXP_MOST_NAME = 16 }; /* UTF-16 units of the longest type name, with its zero */

/* EXP_OBJECT_INFORMATION - the answer to a query in the caller's layout: Bytes of Data.
 */
typedef struct _EXP_OBJECT_INFORMATION {
    const EX_LAYOUT *Layout;
    ULONG Bytes;
    /* All zeros before; 64-bit strings are the widest. */
    UCHAR Data[2 * sizeof(ULONG64) + EX_TYPE_FACTS_BYTES +
               EXP_MOST_NAME * sizeof(USHORT)];
} EXP_OBJECT_INFORMATION;

/* Probes the addresses of a user-mode caller; ReturnLength may be 0. */
static NTSTATUS
ExpProbeQuery(KSYSTEM *System, KPROCESSOR_MODE Mode, ULONG64 Information, ULONG Length,
              ULONG64 ReturnLength)
{
    NTSTATUS Status;

    if (Mode == KernelMode) {
        return STATUS_SUCCESS;
    }
    Status = MmProbeForWrite(&System->Host, Information, Length, sizeof(ULONG));
    if (!NT_SUCCESS(Status) || ReturnLength == 0) {
        return Status;
    }
    return MmProbeForWrite(&System->Host, ReturnLength, sizeof(ULONG), sizeof(ULONG));
}

static ULONG
ExpClampToUlong(ULONG64 Number)
{
    return Number > 0xFFFFFFFFu ? 0xFFFFFFFFu : (ULONG)Number;
}

/* Bytes of a type's name in UTF-16, without a zero; names are ASCII. */
static USHORT
ExpNameBytes(const OBJECT_TYPE *Type)
{
    USHORT Units = 0;

    while (Type->Name[Units] != '\0' && Units < EXP_MOST_NAME - 1) {
        Units++;
    }
    return (USHORT)(Units * sizeof(USHORT));
}

/* Bytes of the answer to a query for this type, with its name and a zero. */
static ULONG
ExpTypeBytes(const EX_LAYOUT *Layout, const OBJECT_TYPE *Type)
{
    return Layout->TypeInformationBytes + ExpNameBytes(Type) + (ULONG)sizeof(USHORT);
}

/* Answers a query for basic information. Object has one reference by the query. */
static void
ExpFillBasic(const OB_HANDLE_FACTS *Handle, const OB_OBJECT_FACTS *Object,
             EXP_OBJECT_INFORMATION *Information)
{
    const OBJECT_BASIC_INFORMATION Basic = {
        .Attributes = Handle->Attributes,
        .GrantedAccess = Handle->GrantedAccess,
        .HandleCount = ExpClampToUlong(Object->HandleCount),
        /* Without the query's own reference. */
        .PointerCount = ExpClampToUlong(Object->PointerCount - 1),
        .TypeInfoSize = ExpTypeBytes(Information->Layout, Object->Type),
    };

    Information->Bytes = sizeof(Basic);
    RtlCopyMemory(Information->Data, &Basic, sizeof(Basic));
}

/* Answers a query for an object's type. Address is that of the answer in the caller's
 * memory; the name follows it. */
static void
ExpFillType(const OBJECT_TYPE *Type, ULONG64 Address,
            EXP_OBJECT_INFORMATION *Information)
{
    const EX_LAYOUT *const Layout = Information->Layout;
    const USHORT NameBytes = ExpNameBytes(Type);
    const OBJECT_TYPE_INFORMATION Facts = {
        .TotalNumberOfObjects = ExpClampToUlong(Type->ObjectCount),
        .TotalNumberOfHandles = ExpClampToUlong(Type->HandleCount),
        .HighWaterNumberOfObjects = ExpClampToUlong(Type->MostObjects),
        .HighWaterNumberOfHandles = ExpClampToUlong(Type->MostHandles),
        .InvalidAttributes = Type->InvalidAttributes,
        .GenericMapping = {.GenericRead = Type->GenericRead,
                           .GenericWrite = Type->GenericWrite,
                           .GenericExecute = Type->GenericExecute,
                           .GenericAll = Type->GenericAll},
        .ValidAccessMask = Type->ValidAccess,
    };

    Information->Bytes = ExpTypeBytes(Layout, Type);
    ExPutString(Layout, Information->Data, NameBytes,
                (USHORT)(NameBytes + sizeof(USHORT)),
                Address + Layout->TypeInformationBytes);
    RtlCopyMemory(&Information->Data[Layout->UnicodeStringBytes],
                  (const UCHAR *)&Facts + sizeof(UNICODE_STRING), EX_TYPE_FACTS_BYTES);
    for (ULONG i = 0; i < NameBytes / sizeof(USHORT); i++) {
        const USHORT Unit = (UCHAR)Type->Name[i];

        RtlCopyMemory(
            &Information->Data[Layout->TypeInformationBytes + i * sizeof(Unit)], &Unit,
            sizeof(Unit));
    }
}

/* Answers a query for an object's name: the answer is all zeros, because objects have
 * no names. Information is all zeros before. */
static void
ExpFillName(EXP_OBJECT_INFORMATION *Information)
{
    Information->Bytes = Information->Layout->UnicodeStringBytes;
}

/* Is the caller's length sufficient? For basic information it must be exact. */
static BOOLEAN
ExpLengthFits(OBJECT_INFORMATION_CLASS Class, ULONG Length, ULONG Needed)
{
    return Class == ObjectBasicInformation ? Length == Needed : Length >= Needed;
}

/* Makes the answer to a query. Address is where the caller wants it.
 * STATUS_INVALID_INFO_CLASS, or the status of ExpReferenceHandle. */
static NTSTATUS
ExpGetInformation(KSYSTEM *System, HANDLE Handle, OBJECT_INFORMATION_CLASS Class,
                  ULONG64 Address, EXP_OBJECT_INFORMATION *Information)
{
    OB_HANDLE_FACTS Facts;
    OB_OBJECT_FACTS Object;
    NTSTATUS Status;

    if (Class != ObjectBasicInformation && Class != ObjectNameInformation &&
        Class != ObjectTypeInformation) {
        return STATUS_INVALID_INFO_CLASS;
    }
    Status = ExpReferenceHandle(System, Handle, &Facts);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    ObQueryObject(Facts.Body, &Object);
    if (Class == ObjectBasicInformation) {
        ExpFillBasic(&Facts, &Object, Information);
    } else if (Class == ObjectNameInformation) {
        ExpFillName(Information);
    } else {
        ExpFillType(Object.Type, Address, Information);
    }
    ObDereferenceObject(&System->Ob, Facts.Body);
    return STATUS_SUCCESS;
}

NTSTATUS
ExQueryObject(KSYSTEM *System, KPROCESSOR_MODE Mode, HANDLE Handle,
              OBJECT_INFORMATION_CLASS Class, ULONG64 Information,
              ULONG InformationLength, ULONG64 ReturnLength)
{
    EXP_OBJECT_INFORMATION Found = {.Layout = ExpLayout(System, Mode)};
    NTSTATUS Status = ExpEnter(System, /* Known */ TRUE);

    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpProbeQuery(System, Mode, Information, InformationLength, ReturnLength);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Status = ExpGetInformation(System, Handle, Class, Information, &Found);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    if (ReturnLength != 0) {
        Status =
            ExpWrite(System, Mode, ReturnLength, &Found.Bytes, sizeof(Found.Bytes));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
    if (!ExpLengthFits(Class, InformationLength, Found.Bytes)) {
        return STATUS_INFO_LENGTH_MISMATCH;
    }
    return ExpWrite(System, Mode, Information, Found.Data, Found.Bytes);
}
