/* SPDX-License-Identifier: MIT */
/*
 * ke/tree.c - copies of trees with or without a range. The old tree stays unchanged,
 * for hits that see it, and the new one shares with it all nodes outside the path to
 * the change. Level: passive.
 *
 * B+ trees, because a caller who chooses the addresses cannot unbalance them. Equal
 * bases are ordered by start, so that each range has exactly one place.
 *
 * A change takes the entries of the leaf, alters them, and packs them into new nodes;
 * these replace the old node's entry in the parent, and so on up to the root. The old
 * nodes of the path are retired.
 */
#include "ke/ki.h"
#include "rtl/memory.h"

/* KI_ENTRY - an entry of a leaf or of an inner node. */
typedef struct _KI_ENTRY {
    KI_SPAN Span;
    ULONG64 Sequence;
    KI_RANGE Range; /* leaf */
    KPROFILE *Profile;
    ULONG Child; /* inner node */
} KI_ENTRY;

/* KI_BUNDLE - entries of one node or of two adjacent ones, plus or minus one. */
typedef struct _KI_BUNDLE {
    ULONG Count;
    BOOLEAN Leaf;
    /* The entries that were replaced last: from ChangedAt to before ChangedEnd. */
    ULONG ChangedAt;
    ULONG ChangedEnd;
    KI_ENTRY Entries[2 * KI_FANOUT + 1];
} KI_BUNDLE;

/* KI_PATH - the nodes from the root to a leaf, and in each the entry that leads to the
 * next. */
typedef struct _KI_PATH {
    ULONG Depth;
    ULONG Numbers[KI_DEPTH_MAX];
    ULONG At[KI_DEPTH_MAX];
} KI_PATH;

/* ---- searching ---- */

/* Counts the entries of a node. There is at least one, and the sentinel behind the last
 * has Last 0. */
static ULONG
KiCountEntries(const KI_NODE *Node)
{
    ULONG Count = 1;

    while (Count < KI_FANOUT && Node->Spans[Count].Last >= Node->Spans[Count].Base) {
        Count++;
    }
    return Count;
}

/* Returns how many entries of a node are not greater than a key. */
static ULONG
KiEntriesUpTo(const KI_NODE *Node, ULONG64 Base, ULONG64 Sequence)
{
    const ULONG End = KiCountEntries(Node);
    ULONG Count = 0;

    while (Count < End &&
           (Node->Spans[Count].Base < Base ||
            (Node->Spans[Count].Base == Base && Node->Sequences[Count] <= Sequence))) {
        Count++;
    }
    return Count;
}

/* Finds the path to the leaf that a key belongs to. In the leaf, At is the number of
 * entries up to the key. */
static void
KiFindPath(const KI_POOL *Pool, ULONG Root, ULONG64 Base, ULONG64 Sequence,
           KI_PATH *Path)
{
    ULONG Number = Root;

    Path->Depth = 0;
    for (;;) {
        const KI_NODE *const Node = KiNodeAt(Pool, Number);
        const ULONG UpTo = KiEntriesUpTo(Node, Base, Sequence);
        const BOOLEAN Leaf = (Number & KI_LEAF) != 0;
        /* A key before all others belongs to the first child. */
        const ULONG At = Leaf || UpTo == 0 ? UpTo : UpTo - 1;

        Path->Numbers[Path->Depth] = Number;
        Path->At[Path->Depth] = At;
        Path->Depth++;
        if (Leaf) {
            return;
        }
        Number = Node->Children[At];
    }
}

/* ---- nodes of a change ---- */

/* Adds a node's entries before those of the bundle from At on, and retires the node. */
static void
KiTakeEntries(KI_POOL *Pool, ULONG Number, KI_BUNDLE *Bundle, ULONG At)
{
    const KI_NODE *const Node = KiNodeAt(Pool, Number);
    const ULONG Count = KiCountEntries(Node);
    KI_ENTRY *const Entries = &Bundle->Entries[At];
    ULONG i = 0;

    RtlMoveMemory(Entries + Count, Entries, (Bundle->Count - At) * sizeof(KI_ENTRY));
    do { /* no node is without entries */
        Entries[i].Span = Node->Spans[i];
        Entries[i].Sequence = Node->Sequences[i];
        if (Bundle->Leaf) {
            Entries[i].Range = Node->Ranges[i];
            Entries[i].Profile = Node->Profiles[i];
        } else {
            Entries[i].Child = Node->Children[i];
        }
        Bundle->Count++;
        i++;
    } while (i < Count);
    KiRetireNode(Pool, Number);
}

/* Fills a bundle with the entries of one node, and retires the node. */
static void
KiBundleNode(KI_POOL *Pool, ULONG Number, KI_BUNDLE *Bundle)
{
    Bundle->Count = 0;
    Bundle->Leaf = (Number & KI_LEAF) != 0;
    KiTakeEntries(Pool, Number, Bundle, 0);
}

/* Replaces Removed entries from At on by Added others. */
static void
KiReplaceEntries(KI_BUNDLE *Bundle, ULONG At, ULONG Removed, const KI_ENTRY *Entries,
                 ULONG Added)
{
    RtlMoveMemory(&Bundle->Entries[At + Added], &Bundle->Entries[At + Removed],
                  (Bundle->Count - At - Removed) * sizeof(KI_ENTRY));
    RtlCopyMemory(&Bundle->Entries[At], Entries, Added * sizeof(KI_ENTRY));
    Bundle->Count = Bundle->Count - Removed + Added;
    Bundle->ChangedAt = At;
    Bundle->ChangedEnd = At + Added;
}

/* Makes a node of Count entries from First on; returns the entry for its parent. */
static KI_ENTRY
KiMakeNode(KI_POOL *Pool, const KI_BUNDLE *Bundle, ULONG First, ULONG Count)
{
    const KI_ENTRY *const Entries = &Bundle->Entries[First];
    const ULONG Number = KiTakeNode(Pool) | (Bundle->Leaf ? KI_LEAF : 0);
    KI_NODE *const Node = KiNodeAt(Pool, Number);
    KI_ENTRY Made = {.Span = Entries[0].Span, .Sequence = Entries[0].Sequence};

    Made.Child = Number;
    for (ULONG i = 0; i < Count; i++) {
        Node->Spans[i] = Entries[i].Span;
        Node->Sequences[i] = Entries[i].Sequence;
        if (Bundle->Leaf) {
            Node->Ranges[i] = Entries[i].Range;
            Node->Profiles[i] = Entries[i].Profile;
        } else {
            Node->Children[i] = Entries[i].Child;
        }
        if (Entries[i].Span.Last > Made.Span.Last) {
            Made.Span.Last = Entries[i].Span.Last;
        }
    }
    for (ULONG i = Count; i < KI_FANOUT; i++) {
        Node->Spans[i] = (KI_SPAN){.Base = ~(ULONG64)0, .Last = 0};
    }
    return Made;
}

/* ---- bundles of entries ---- */

/*
 * Returns how many of a bundle's entries go to its first node. Profiles that are
 * started in ascending or descending order of addresses never fill earlier nodes again,
 * so these are left as full as possible: it makes trees lower.
 */
static ULONG
KiSplitBundle(const KI_BUNDLE *Bundle)
{
    if (Bundle->Count <= KI_FANOUT) {
        return Bundle->Count;
    }
    if (Bundle->ChangedEnd == Bundle->Count) {
        return Bundle->Count - KI_LEAST_ENTRIES;
    }
    return Bundle->ChangedAt == 0 ? KI_LEAST_ENTRIES : Bundle->Count / 2;
}

/* Makes one node of a bundle, or two. Returns how many. */
static ULONG
KiPackBundle(KI_POOL *Pool, const KI_BUNDLE *Bundle, KI_ENTRY Made[2])
{
    const ULONG First = KiSplitBundle(Bundle);

    Made[0] = KiMakeNode(Pool, Bundle, 0, First);
    if (First == Bundle->Count) {
        return 1;
    }
    Made[1] = KiMakeNode(Pool, Bundle, First, Bundle->Count - First);
    return 2;
}

/*
 * The bundle contains the entries of the child at At of Parent, too few for a node:
 * adds those of the previous child, or else of the next. Returns the index of the first
 * of the two entries of Parent that the bundle now replaces.
 */
static ULONG
KiJoinNeighbour(KI_POOL *Pool, const KI_NODE *Parent, ULONG At, KI_BUNDLE *Bundle)
{
    /* Neither end of the bundle has changed, so KiSplitBundle makes equal halves: then
     * most removals pass until a node has too few entries again. */
    Bundle->ChangedAt = 1;
    Bundle->ChangedEnd = 1;
    if (At == 0) {
        KiTakeEntries(Pool, Parent->Children[1], Bundle, Bundle->Count);
        return 0;
    }
    KiTakeEntries(Pool, Parent->Children[At - 1], Bundle, 0);
    return At - 1;
}

/* Makes the tree in which a bundle replaces the leaf at the end of a path. Returns its
 * root. */
static ULONG
KiRebuildPath(KI_POOL *Pool, const KI_PATH *Path, KI_BUNDLE *Bundle)
{
    KI_ENTRY Made[2];

    for (ULONG Depth = Path->Depth - 1; Depth > 0; Depth--) {
        const ULONG Parent = Path->Numbers[Depth - 1];
        ULONG At = Path->At[Depth - 1];
        ULONG Replaced = 1;
        ULONG Count;

        if (Bundle->Count < KI_LEAST_ENTRIES) {
            At = KiJoinNeighbour(Pool, KiNodeAt(Pool, Parent), At, Bundle);
            Replaced = 2;
        }
        Count = KiPackBundle(Pool, Bundle, Made);
        KiBundleNode(Pool, Parent, Bundle);
        KiReplaceEntries(Bundle, At, Replaced, Made, Count);
    }
    if (Bundle->Count == 0) {
        return 0;
    }
    if (Bundle->Count == 1 && !Bundle->Leaf) {
        return Bundle->Entries[0].Child; /* the root has one child left */
    }
    if (KiPackBundle(Pool, Bundle, Made) == 2) {
        Bundle->Count = 0;
        Bundle->Leaf = FALSE;
        KiReplaceEntries(Bundle, 0, 0, Made, 2);
        (void)KiPackBundle(Pool, Bundle, Made);
    }
    return Made[0].Child;
}

/* ---- what the index calls ---- */

ULONG
KiInsertIntoTree(KI_POOL *Pool, ULONG Root, KI_SPAN Span, const KI_RANGE *Range,
                 KPROFILE *Profile)
{
    const KI_ENTRY Entry = {.Span = Span,
                            .Sequence = Profile->Sequence,
                            .Range = *Range,
                            .Profile = Profile};
    KI_PATH Path = {.Depth = 1, .At = {0}};
    KI_BUNDLE Bundle;

    Bundle.Count = 0;
    Bundle.Leaf = TRUE;
    if (Root != 0) {
        KiFindPath(Pool, Root, Span.Base, Profile->Sequence, &Path);
        KiBundleNode(Pool, Path.Numbers[Path.Depth - 1], &Bundle);
    }
    KiReplaceEntries(&Bundle, Path.At[Path.Depth - 1], 0, &Entry, 1);
    return KiRebuildPath(Pool, &Path, &Bundle);
}

ULONG
KiRemoveFromTree(KI_POOL *Pool, ULONG Root, ULONG64 Base, ULONG64 Sequence)
{
    KI_PATH Path;
    KI_BUNDLE Bundle;
    ULONG UpTo;

    KiFindPath(Pool, Root, Base, Sequence, &Path);
    UpTo = Path.At[Path.Depth - 1];
    KiBundleNode(Pool, Path.Numbers[Path.Depth - 1], &Bundle);
    KiReplaceEntries(&Bundle, UpTo - 1, 1, Bundle.Entries, 0);
    return KiRebuildPath(Pool, &Path, &Bundle);
}

void
KiFreeTree(KI_POOL *Pool, ULONG Root)
{
    ULONG Waiting = Root; /* subtrees, linked by Next of their roots */

    if (Root != 0) {
        KiNodeAt(Pool, Root)->Next = 0;
    }
    while (Waiting != 0) {
        const ULONG Number = Waiting;
        const KI_NODE *const Node = KiNodeAt(Pool, Number);
        const ULONG End = (Number & KI_LEAF) == 0 ? KiCountEntries(Node) : 0;

        Waiting = Node->Next;
        for (ULONG i = 0; i < End; i++) {
            KiNodeAt(Pool, Node->Children[i])->Next = Waiting;
            Waiting = Node->Children[i];
        }
        KiFreeNode(Pool, Number);
    }
}
