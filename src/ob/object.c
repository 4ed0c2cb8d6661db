/* SPDX-License-Identifier: MIT */
/* ob/object.c - making, referencing and deleting objects. */
#include "ob/obp.h"

NTSTATUS
ObCreateObject(OB_SYSTEM *Ob, OBJECT_TYPE *Type, SIZE_T BodyBytes, void **Body)
{
    const SIZE_T Bytes = OBP_HEADER_BYTES + BodyBytes;
    OBJECT_HEADER *const Header = HostAllocate(&Ob->Host, Bytes);

    if (Header == NULL) {
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    Header->Type = Type;
    Header->Bytes = Bytes;
    Header->PointerCount = 1;
    Ob->ObjectCount++;
    Type->ObjectCount++;
    if (Type->ObjectCount > Type->MostObjects) {
        Type->MostObjects = Type->ObjectCount;
    }
    *Body = (char *)Header + OBP_HEADER_BYTES;
    return STATUS_SUCCESS;
}

void
ObReferenceObject(void *Body)
{
    ObpHeader(Body)->PointerCount++;
}

void
ObDereferenceObject(OB_SYSTEM *Ob, void *Body)
{
    OBJECT_HEADER *Header;

    if (Body == NULL) {
        return;
    }
    Header = ObpHeader(Body);
    Header->PointerCount--;
    if (Header->PointerCount != 0) {
        return;
    }
    Header->Type->Delete(Header->Type->DeleteContext, Body);
    Header->Type->ObjectCount--;
    Ob->ObjectCount--;
    HostFree(&Ob->Host, Header, Header->Bytes);
}

void
ObQueryObject(const void *Body, OB_OBJECT_FACTS *Facts)
{
    const OBJECT_HEADER *const Header =
        (const OBJECT_HEADER *)(const void *)((const char *)Body - OBP_HEADER_BYTES);

    *Facts = (OB_OBJECT_FACTS){.Type = Header->Type,
                               .PointerCount = Header->PointerCount,
                               .HandleCount = Header->HandleCount};
}

NTSTATUS
ObMapDesiredAccess(const OBJECT_TYPE *Type, ACCESS_MASK Desired, ACCESS_MASK Most,
                   ACCESS_MASK *Granted)
{
    const struct {
        ACCESS_MASK Asked;
        ACCESS_MASK Mapped;
    } Rows[] = {
        {0x80000000u, Type->GenericRead},    /* GENERIC_READ */
        {0x40000000u, Type->GenericWrite},   /* GENERIC_WRITE */
        {0x20000000u, Type->GenericExecute}, /* GENERIC_EXECUTE */
        {0x10000000u, Type->GenericAll},     /* GENERIC_ALL */
        {0x02000000u, Most},                 /* MAXIMUM_ALLOWED */
    };

    for (ULONG i = 0; i < sizeof(Rows) / sizeof(Rows[0]); i++) {
        if ((Desired & Rows[i].Asked) != 0) {
            Desired = (Desired & ~Rows[i].Asked) | Rows[i].Mapped;
        }
    }
    if ((Desired & ~Most) != 0) {
        return STATUS_ACCESS_DENIED;
    }
    *Granted = Desired;
    return STATUS_SUCCESS;
}
