/* SPDX-License-Identifier: MIT */
/*
 * rtl/list.h - NT's doubly linked list: a head that points at itself is empty.
 */
#ifndef RTL_LIST_H
#define RTL_LIST_H

#include <ntprof/nt_types.h>

typedef struct _LIST_ENTRY {
    struct _LIST_ENTRY *Flink;
    struct _LIST_ENTRY *Blink;
} LIST_ENTRY;

/* The structure of Type whose member Field is at Address. */
#define CONTAINING_RECORD(Address, Type, Field) \
    ((Type *)(void *)((char *)(Address)-offsetof(Type, Field)))

static inline void
InitializeListHead(LIST_ENTRY *Head)
{
    Head->Flink = Head;
    Head->Blink = Head;
}

static inline BOOLEAN
IsListEmpty(const LIST_ENTRY *Head)
{
    return Head->Flink == Head;
}

static inline void
InsertTailList(LIST_ENTRY *Head, LIST_ENTRY *Entry)
{
    Entry->Flink = Head;
    Entry->Blink = Head->Blink;
    Head->Blink->Flink = Entry;
    Head->Blink = Entry;
}

static inline void
InsertHeadList(LIST_ENTRY *Head, LIST_ENTRY *Entry)
{
    /* Before the first, or before the head of an empty list. */
    InsertTailList(Head->Flink, Entry);
}

static inline void
RemoveEntryList(LIST_ENTRY *Entry)
{
    Entry->Flink->Blink = Entry->Blink;
    Entry->Blink->Flink = Entry->Flink;
}

#endif
