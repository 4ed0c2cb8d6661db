/* SPDX-License-Identifier: MIT */
/*
 * ke/index.h - the index that finds the started profiles whose ranges contain a place:
 * its nodes and the search.
 *
 * The ranges of a process are in search trees ordered by base, whose leaves contain the
 * ranges. A child's span in its parent runs from its lowest base to its highest last
 * place, so a search enters only children that contain a match, and the one path to the
 * place. It costs the logarithm of the number of ranges, and at most as much again for
 * each range that contains the place, however they overlap.
 *
 * A tree that hits can see never changes. A start or a stop makes new nodes from the
 * root to the changed leaf, and publishes the new root in one store: a hit sees all of
 * it or nothing.
 *
 * Nodes refer to each other by number, not by address, and the searcher looks the
 * numbers up: the core in its pool (ke/pool.h), a BPF program in a map. Includes
 * nothing but types; compiles for the host, for 32 bits and for BPF.
 */
#ifndef KE_INDEX_H
#define KE_INDEX_H

#include <ntprof/nt_types.h>

struct _KPROFILE;

enum {
    KI_NODE_BYTES = 1024,
    KI_FANOUT = 16,       /* entries of a node */
    KI_LEAST_ENTRIES = 4, /* of a node that is no root */
    KI_DEPTH_MAX = 13, /* nodes from a root to a leaf; ke/pool.h has too few for more */
    KI_LEAF = 1        /* in the number of a node */
};

/*
 * A place is an address, or a selector and an offset in its segment as one number, so
 * that profiles of different segments do not overlap. Each kind has a tree.
 */
enum { KI_TREE_ADDRESSES, KI_TREE_SEGMENTS, KI_TREES };
#define KI_OFFSET_MAX 0xFFFFFFFFu

/* KiSegmentPlace - return the place of an offset in a segment. With selector 0 it is
 * Offset, which is then an address and may have 64 bits. */
static inline ULONG64
KiSegmentPlace(ULONG Selector, ULONG64 Offset)
{
    return ((ULONG64)Selector << 32) + Offset;
}

/* KI_SPAN - places from Base to Last. Last is inclusive, because an exclusive end would
 * wrap at the top of memory. A node's entries are followed by a sentinel that contains
 * no place and ends a search: highest base, last 0. */
typedef struct _KI_SPAN {
    ULONG64 Base;
    ULONG64 Last;
} KI_SPAN;

/* KI_RANGE - what a hit needs of a profile that it matches: a copy, because reading the
 * profile would be one more cache miss. */
typedef struct _KI_RANGE {
    union {
        ULONG *Buffer;
        ULONG64 BufferBits; /* the same size on all hosts */
    };
    ULONG64 Processors; /* the first 64 of the affinity */
    ULONG Source;
    ULONG Segment;
    ULONG BucketLog2;
    ULONG Counters; /* whole ones that the buffer has */
} KI_RANGE;

/* KI_NODE - a leaf or an inner node. Entries are ordered by base, and with equal bases
 * by the order of starts. */
typedef struct _KI_NODE {
    KI_SPAN Spans[KI_FANOUT];
    union {
        KI_RANGE Ranges[KI_FANOUT]; /* leaf */
        ULONG Children[KI_FANOUT];  /* inner node: numbers */
    };
    union {
        struct _KPROFILE *Profiles[KI_FANOUT]; /* leaf */
        ULONG64 ProfilesRoom[KI_FANOUT];
    };
    /* Only for passive calls: Sequence of the profile, or of a child's first profile;
     * in free and retired nodes the number of the next one. */
    union {
        ULONG64 Sequences[KI_FANOUT];
        ULONG Next;
    };
} KI_NODE;

enum { KI_LINE_BYTES = 64 };

/* A BPF program can only read, and an unused read costs no wait. */
#if defined(__bpf__)
#define KI_FETCH(address) ((void)*(const volatile ULONG64 *)(address))
#else
#define KI_FETCH(address) __builtin_prefetch(address)
#endif

_Static_assert(sizeof(KI_RANGE) == 32, "no range lies in two cache lines");
_Static_assert(sizeof(KI_NODE) == KI_NODE_BYTES, "nodes are whole cache lines");

/* KiFindSpan - return the index of the first entry from From on whose span contains
 * Place, or KI_FANOUT. Level: interrupt. */
static inline ULONG
KiFindSpan(const KI_NODE *Node, ULONG64 Place, ULONG From)
{
    for (ULONG i = From; i < KI_FANOUT && Node->Spans[i].Base <= Place; i++) {
        if (Node->Spans[i].Last >= Place) {
            return i;
        }
    }
    return KI_FANOUT;
}

/*
 * KiFetchNode - prefetch all that a search may read of a node: it is rarely in a cache,
 * and waiting for one cache line after the other is most of a hit's cost. Level:
 * interrupt.
 */
static inline void
KiFetchNode(const KI_NODE *Node, BOOLEAN Leaf)
{
    for (ULONG i = 0; i < KI_FANOUT; i += KI_LINE_BYTES / sizeof(KI_SPAN)) {
        KI_FETCH(&Node->Spans[i]);
    }
    if (Leaf) {
        for (ULONG i = 0; i < KI_FANOUT; i += KI_LINE_BYTES / sizeof(KI_RANGE)) {
            KI_FETCH(&Node->Ranges[i]);
        }
    } else {
        KI_FETCH(&Node->Children[0]);
    }
}

/*
 * KiDescend - return the child in which a search of an inner node continues; 0 if
 * nothing below contains Place; or Number, that of the node itself, if several children
 * may: then a KI_SEARCH is needed. Level: interrupt.
 */
static inline ULONG
KiDescend(const KI_NODE *Node, ULONG Number, ULONG64 Place)
{
    const ULONG At = KiFindSpan(Node, Place, 0);

    if (At == KI_FANOUT) {
        return 0;
    }
    if (At + 1 < KI_FANOUT && Node->Spans[At + 1].Base <= Place) {
        return Number;
    }
    return Node->Children[At];
}

/* KI_SEARCH - where to continue: in Next, from entry From on, and then in the stacked
 * nodes, the last first. These are inner nodes on one path from the root, which bounds
 * the stack. */
typedef struct _KI_SEARCH {
    ULONG64 Place;
    ULONG Next;
    ULONG From;
    ULONG Waiting;
    ULONG Numbers[KI_DEPTH_MAX];
    ULONG Froms[KI_DEPTH_MAX];
} KI_SEARCH;

/* KiBeginSearch - begin to search a tree for Place. Level: interrupt. */
static inline void
KiBeginSearch(KI_SEARCH *Search, ULONG Root, ULONG64 Place)
{
    Search->Place = Place;
    Search->Next = Root;
    Search->From = 0;
    Search->Waiting = 0;
}

/*
 * KiNextNode - number of the node to search next, or 0 at the end. In a leaf the caller
 * finds all spans that contain the place and calls KiLeaveLeaf; in an inner node it
 * calls KiEnterChild. Level: interrupt.
 */
static inline ULONG
KiNextNode(KI_SEARCH *Search)
{
    /* Wraps if the stack is empty: one compare tests for that, and satisfies the
     * verifier of BPF programs. */
    const ULONG Top = Search->Waiting - 1;

    if (Search->Next == 0 && Top < KI_DEPTH_MAX) {
        Search->Waiting = Top;
        Search->Next = Search->Numbers[Top];
        Search->From = Search->Froms[Top];
    }
    return Search->Next;
}

/* KiLeaveLeaf - end the search of a leaf; it continues in a stacked node. Level:
 * interrupt. */
static inline void
KiLeaveLeaf(KI_SEARCH *Search)
{
    Search->Next = 0;
}

/* KiEnterChild - continue with the first child that may contain a match; the node is
 * stacked if later children may too. Node is what KiNextNode returned. Level:
 * interrupt. */
static inline void
KiEnterChild(KI_SEARCH *Search, const KI_NODE *Node)
{
    const ULONG At = KiFindSpan(Node, Search->Place, Search->From);

    if (At + 1 < KI_FANOUT && Node->Spans[At + 1].Base <= Search->Place &&
        Search->Waiting < KI_DEPTH_MAX) {
        Search->Numbers[Search->Waiting] = Search->Next;
        Search->Froms[Search->Waiting] = At + 1;
        Search->Waiting++;
    }
    Search->Next = At < KI_FANOUT ? Node->Children[At] : 0;
    Search->From = 0;
}

#endif
