/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * hal/bpf/profile.bpf.c - the counting routine in the kernel: what ke/profint.h does
 * for a hit, by the same headers, in the interrupt itself.
 *
 * For kernels from 5.15: it uses none of the kernel's own types, and loops with bounds
 * instead of callbacks. The state of a hit is in own, the struct bpf_processor of the
 * processor running_on: functions that are verified once get only numbers.
 *
 * A place is an address, or a selector and an offset (ke/index.h).
 *
 * scripts/make_bpf.py takes one section for each program, and one for the functions
 * that they call.
 */
#include <linux/bpf.h>

#include "hal/bpf/profile.h"

#define SECTION(name) __attribute__((section(name), used))

/*
 * The verifier checks each of these functions once, however often it is called, and so
 * allows only numbers as arguments: they look up again what their caller had. Each must
 * return a number: 0 if it has nothing to return.
 */
#define FUNCTION __attribute__((section("functions"), noinline))

#define INLINE static inline __attribute__((always_inline))
#define READ_ONCE(place) (*(const volatile __typeof__(place) *)&(place))
/* The compiler may use nothing that it knows of an index: the verifier must see the
 * comparison with the bound in the instructions before the use. */
#define OPAQUE(index) __asm__ volatile("" : "+r"(index))
#define WRITE_ONCE(place, value) (*(volatile __typeof__(place) *)&(place) = (value))

enum {
    /* Levels below a root in count_usual: of more than 20,000 profiles if they were
     * started in order. */
    USUAL_DEPTH = 4,
    VISITS = 256, /* nodes in one call of visit_many */
    CALLS = 64,   /* of visit_many in one hit: 16,384 nodes */
    NO_ENTRY = 0, /* the number of no entry of the table of processes */
    LDT = 4,      /* bit of a selector: in the process's own descriptor table */
    USER_MODE = 3 /* bits of a selector: the privilege level */
};

/* The kernel's helpers, by their numbers in <linux/bpf.h>. */
static void *(*const map_lookup)(void *map,
                                 const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static ULONG64 (*const get_pid_tgid)(void) = (void *)BPF_FUNC_get_current_pid_tgid;
static long (*const get_ns_pid_tgid)(ULONG64 device, ULONG64 inode,
                                     struct bpf_pidns_info *info, ULONG bytes) =
    (void *)BPF_FUNC_get_ns_current_pid_tgid;
static ULONG (*const get_processor)(void) = (void *)BPF_FUNC_get_smp_processor_id;
static ULONG64 (*const get_cookie)(void *context) = (void *)BPF_FUNC_get_attach_cookie;

/* Maps for lookups; kernel.c knows their layouts. */
char map_processors[1] SECTION("map.processors");
char map_sets[1] SECTION("map.sets");
char map_chunks[1] SECTION("map.chunks");
char map_pools[1] SECTION("map.pools");

/* Maps of one value, whose addresses the loader fills in. */
union bpf_shared shared SECTION("value.shared");
struct bpf_flat flat SECTION("value.flat");
#define control shared.control

/* ---- nodes, sets of processors and counters ---- */

/* Return a node of the shared map by its number: bit 0 is KI_LEAF, the next bits are
 * the offset in a chunk, the highest the chunk. NULL: the chunk has its own map. */
INLINE const KI_NODE *
flat_node_at(ULONG number)
{
    const ULONG chunk = number >> KI_NUMBER_CHUNK_SHIFT;
    const ULONG offset = (number >> 1) & ((1u << KI_NUMBER_OFFSET_BITS) - 1);
    const ULONG first = (ULONG)KI_POOL_FIRST_CHUNK;
    ULONG index = (first << chunk) - first + offset;

    if (index >= BPF_FLAT_NODES) {
        return 0;
    }
    OPAQUE(index);
    return &shared.nodes[index];
}

/* Return the node with this number, in the shared map or in its chunk's own. */
INLINE const KI_NODE *
node_at(ULONG number)
{
    const ULONG chunk = number >> KI_NUMBER_CHUNK_SHIFT;
    const ULONG offset = (number >> 1) & ((1u << KI_NUMBER_OFFSET_BITS) - 1);
    const KI_NODE *const flat_node = flat_node_at(number);
    void *nodes;

    if (flat_node != 0) {
        return flat_node;
    }
    nodes = map_lookup(map_chunks, &chunk);
    return nodes != 0 ? map_lookup(nodes, &offset) : 0;
}

/* Return the word of a profile's set of processors that has the hit's processor. */
INLINE ULONG64
set_word(const KI_RANGE *range, ULONG64 location, ULONG processor)
{
    const ULONG set = (ULONG)(location >> BPF_LOCATION_SET_SHIFT) & (BPF_SETS - 1);
    ULONG index;
    const ULONG64 *word;

    if (processor < 64) {
        return range->Processors;
    }
    index = set * control.set_words + processor / 64;
    word = set != 0 ? map_lookup(map_sets, &index) : 0;
    return word != 0 ? *word : 0;
}

/* Adds one to a counter of a pool. */
INLINE void
increment(ULONG64 location, ULONG64 number)
{
    const ULONG pool = (ULONG)(location >> BPF_LOCATION_POOL_SHIFT);
    ULONG64 counter = (location & BPF_LOCATION_COUNTER_MASK) + number;
    const ULONG index = (ULONG)(counter >> BPF_PAGE_COUNTERS_LOG2);
    struct bpf_page *page;
    void *pages;

    if (pool == 0) {
        if (counter < BPF_FLAT_COUNTERS) {
            OPAQUE(counter);
            __sync_fetch_and_add(&flat.counters[counter], 1);
        }
        return;
    }
    pages = map_lookup(map_pools, &pool);
    page = pages != 0 ? map_lookup(pages, &index) : 0;
    if (page != 0) {
        __sync_fetch_and_add(&page->counters[counter & (BPF_PAGE_COUNTERS - 1)], 1);
    }
}

/* ---- counting ---- */

/* A matching profile has no counter for the hit: note it. Of several such profiles,
 * keep the one that started first. */
INLINE void
note_overrun(struct bpf_processor *own, const KI_NODE *leaf, ULONG at, ULONG64 number)
{
    if (own->overrun_profile == 0 || leaf->Sequences[at] < own->overrun_sequence) {
        own->overrun_profile = leaf->ProfilesRoom[at];
        own->overrun_number = number;
        own->overrun_sequence = leaf->Sequences[at];
    }
}

/* Halts the session for the overrun that the trees of one list have noted, if any. Only
 * the first such hit is reported. */
INLINE void
report_overrun(struct bpf_processor *own)
{
    if (own->overrun_profile == 0) {
        return;
    }
    if (__sync_fetch_and_add(&control.halted, 1) == 0) {
        control.halt_profile = own->overrun_profile;
        control.halt_number = own->overrun_number;
        __sync_fetch_and_add(&control.halt_known, 1); /* pairs with notice_halt */
    }
    own->overrun_profile = 0;
}

/* Counts in entry own->at of own->leaf, whose span holds the hit's place, if the rest
 * matches too. Verified once: in the loop over a leaf's entries it would be checked for
 * each of them. */
FUNCTION int
count_at(ULONG running_on)
{
    struct bpf_processor *const own = map_lookup(map_processors, &running_on);
    const KI_NODE *const leaf = own != 0 ? node_at(own->leaf) : 0;
    const KI_RANGE *range;
    ULONG64 number;
    ULONG at;

    if (leaf == 0) {
        return 0;
    }
    at = own->at & (KI_FANOUT - 1);
    range = &leaf->Ranges[at];
    if (!KiHitMatches(range->Source, range->Segment,
                      set_word(range, range->BufferBits, own->processor),
                      (ULONG)(own->cookie >> 32), own->segment, own->processor)) {
        return 0;
    }
    number = KiBucketNumber(own->place, leaf->Spans[at].Base, range->BucketLog2 & 63);
    if (number < range->Counters) {
        increment(range->BufferBits, number);
        own->matches++;
    } else {
        note_overrun(own, leaf, at, number);
    }
    return 0;
}

/* Counts in all entries of own->leaf that match. */
FUNCTION int
count_in_leaf(ULONG running_on)
{
    struct bpf_processor *const own = map_lookup(map_processors, &running_on);
    const KI_NODE *const leaf = own != 0 ? node_at(own->leaf) : 0;
    ULONG64 place;

    if (leaf == 0) {
        return 0;
    }
    KiFetchNode(leaf, 1);
    place = own->place;
    for (ULONG at = 0; at < KI_FANOUT; at++) {
        if (leaf->Spans[at].Base > place) {
            break;
        }
        if (leaf->Spans[at].Last >= place) {
            own->at = at;
            count_at(running_on);
        }
    }
    return 0;
}

/* ---- searching a tree ---- */

/* Continues the processor's search by one node. Returns whether that was the last. */
FUNCTION int
visit(ULONG running_on)
{
    struct bpf_processor *const own = map_lookup(map_processors, &running_on);
    const ULONG number = own != 0 ? KiNextNode(&own->search) : 0;
    const KI_NODE *node;

    if (number == 0) {
        return 1;
    }
    if ((number & KI_LEAF) != 0) {
        own->leaf = number;
        count_in_leaf(running_on);
        KiLeaveLeaf(&own->search);
    } else {
        node = node_at(number);
        if (node == 0) {
            return 1;
        }
        KiFetchNode(node, 0);
        KiEnterChild(&own->search, node);
    }
    return own->search.Next == 0 && own->search.Waiting == 0;
}

/* Continues the search by up to VISITS nodes. Returns whether it has ended. */
FUNCTION int
visit_many(ULONG running_on)
{
    for (ULONG visits = 0; visits < VISITS; visits++) {
        if (visit(running_on)) {
            return 1;
        }
    }
    return 0;
}

/* ---- processes ---- */

/* Is this the first thread of its process? Its tid is the pid. */
INLINE int
is_first_thread(ULONG64 pid_tgid)
{
    return (ULONG)pid_tgid == (ULONG)(pid_tgid >> 32);
}

/* Return the pid of the current process in the session's pid namespace; 0: it has none
 * there. */
INLINE ULONG
current_process(ULONG64 pid_tgid)
{
    struct bpf_pidns_info info = {0, 0};

    if (control.namespace_inode == 0) {
        return (ULONG)(pid_tgid >> 32);
    }
    if (get_ns_pid_tgid(control.namespace_device, control.namespace_inode, &info,
                        sizeof(info)) != 0) {
        return 0;
    }
    return info.tgid;
}

/* Return the number of a process's entry in the table, or NO_ENTRY. */
INLINE int
find_in_table(ULONG pid)
{
    for (ULONG probe = 0; probe < BPF_PROBES; probe++) {
        const ULONG entry = bpf_table_entry(pid, probe);
        const ULONG there = READ_ONCE(shared.processes[entry].pid);

        if (there == 0) {
            return NO_ENTRY; /* also of pid 0 */
        }
        if (there == pid) {
            return (int)entry;
        }
    }
    return NO_ENTRY;
}

/* find_in_table for a hit. Verified once, so that its loop does not multiply what must
 * be verified of a hit. */
FUNCTION int
entry_of(ULONG pid)
{
    return find_in_table(pid);
}

/* Return the process of an entry; NULL for NO_ENTRY. */
INLINE struct bpf_process *
process_at(ULONG entry)
{
    OPAQUE(entry);
    if (entry == NO_ENTRY || entry >= BPF_ENTRIES) {
        return 0;
    }
    OPAQUE(entry);
    return &shared.processes[entry];
}

/* ---- a hit ---- */

/* Counts in the tree whose root is own->root. */
FUNCTION int
search(ULONG running_on)
{
    struct bpf_processor *const own = map_lookup(map_processors, &running_on);

    if (own == 0) {
        return 0;
    }
    KiBeginSearch(&own->search, own->root, own->place);
    for (ULONG calls = 0; calls < CALLS; calls++) {
        if (visit_many(running_on)) {
            return 0;
        }
    }
    own->cut++;
    return 0;
}

/* Searches a tree, if there is one (root is not 0), for own->places[kind]; kind is
 * KI_TREE_.... */
INLINE void
search_tree(struct bpf_processor *own, ULONG running_on, ULONG root, ULONG kind)
{
    if (root != 0) {
        own->root = root;
        own->place = own->places[kind];
        own->segment = kind == KI_TREE_SEGMENTS ? own->selector : 0;
        search(running_on);
    }
}

/* Searches the trees of the process, then those of all processes. */
INLINE void
search_all(struct bpf_processor *own, ULONG running_on)
{
    search_tree(own, running_on, own->roots[0], KI_TREE_ADDRESSES);
    search_tree(own, running_on, own->roots[1], KI_TREE_SEGMENTS);
    report_overrun(own);
    search_tree(own, running_on, own->roots[2], KI_TREE_ADDRESSES);
    search_tree(own, running_on, own->roots[3], KI_TREE_SEGMENTS);
    report_overrun(own);
}

/*
 * Does this hit count for the process of an entry? Not after the process has executed a
 * new program. Nor after the exit of its first thread, if the hit is in a first thread:
 * that is one of a later process with the same pid. Its other threads may continue.
 */
INLINE int
is_counted(const struct bpf_processor *own, const struct bpf_process *process)
{
    const ULONG ended = READ_ONCE(process->ended);

    return ended == BPF_RUNNING || (ended == BPF_FIRST_ENDED && !own->is_first);
}

/* Reads the roots of the trees that may hold profiles of this hit; 0: none. */
INLINE void
find_roots(struct bpf_processor *own, struct bpf_process *process)
{
    const int is_in_ldt = (own->selector & LDT) != 0;

    own->roots[0] = 0;
    own->roots[1] = 0;
    if (process != 0 && is_counted(own, process)) {
        own->roots[0] = READ_ONCE(process->roots[KI_TREE_ADDRESSES]);
        own->roots[1] = READ_ONCE(process->roots[KI_TREE_SEGMENTS]);
    }
    own->roots[2] = READ_ONCE(control.global_roots[KI_TREE_ADDRESSES]);
    own->roots[3] = READ_ONCE(control.global_roots[KI_TREE_SEGMENTS]);
    /* The interrupted frame has only the offset, which is no address. */
    if (is_in_ldt && (own->cookie & BPF_COOKIE_LINEAR) == 0) {
        own->roots[0] = 0;
        own->roots[2] = 0;
    }
    if (own->selector == 0 || own->places[KI_TREE_SEGMENTS] > KI_OFFSET_MAX) {
        own->roots[1] = 0;
        own->roots[3] = 0;
    }
    own->places[KI_TREE_SEGMENTS] =
        KiSegmentPlace(own->selector, own->places[KI_TREE_SEGMENTS]);
}

/* The first thing that a program does: count its entry, with a full barrier. Pairs with
 * the fence of bpf_kernel_wait: either that sees this entry and waits until leave(), or
 * this program sees all that was stored before the wait. */
INLINE void
enter(struct bpf_processor *own)
{
    const ULONG64 before = __sync_fetch_and_add(&own->entered, 1);

    /* An atomic addition is a full barrier only if its result is used. It is always 0
     * here, since the counter never gets that far. */
    own->matches = (ULONG)(before >> 63);
}

/* The last thing that a program does: count that it left, which wait_for_processor of
 * kernel.c waits for. */
INLINE void
leave(struct bpf_processor *own)
{
#if defined(BPF_TARGET_X86_64)
    /* x86 keeps the order of stores and atomic operations. */
    WRITE_ONCE(own->left, own->left + 1);
#else
    /* The result is used only to make the addition a full barrier (enter). */
    own->search.From = (ULONG)__sync_fetch_and_add(&own->left, 1);
#endif
}

/* ---- statistics ---- */

enum outcome { COUNTED, OUTSIDE, UNDECIDED };

/* Is the hit in the upper half of the address space, which is the kernel's? */
INLINE int
is_in_kernel(const struct bpf_processor *own)
{
    return own->places[KI_TREE_ADDRESSES] >> 63 != 0;
}

/* Counts the hit in the statistics of its source. */
INLINE void
keep_statistics(struct bpf_processor *own, enum outcome outcome)
{
    struct bpf_statistics *const statistics =
        &own->statistics[own->cookie & (BPF_SLOTS - 1)];

    if (outcome == COUNTED) {
        WRITE_ONCE(statistics->counted, statistics->counted + 1);
    } else {
        WRITE_ONCE(statistics->outside, statistics->outside + 1);
        if (is_in_kernel(own)) {
            WRITE_ONCE(statistics->outside_kernel, statistics->outside_kernel + 1);
        }
    }
}

/* ---- the usual kind of hit ---- */

/* Return the only leaf that may have a match; or NULL: there is none or, if *several is
 * set, there may be more than one. */
INLINE const KI_NODE *
find_leaf(ULONG number, ULONG64 place, int *several)
{
    const KI_NODE *node = flat_node_at(number);

    *several = number != 0;
    if (number == 0) {
        return 0;
    }
    for (ULONG depth = 0; depth < USUAL_DEPTH && (number & KI_LEAF) == 0; depth++) {
        ULONG child;

        if (node == 0) {
            return 0;
        }
        child = KiDescend(node, number, place);
        if (child == number) {
            return 0;
        }
        if (child == 0) {
            *several = 0;
            return 0;
        }
        number = child;
        node = flat_node_at(number);
        if (node != 0) {
            KiFetchNode(node, (number & KI_LEAF) != 0);
        }
    }
    return (number & KI_LEAF) != 0 ? node : 0;
}

/* Counts a usual hit in few steps. Nearly all are of a process with profiles of
 * addresses only, and in one profile, with its counters in the first pool, or in none.
 * UNDECIDED: the hit is of another kind, and nothing has changed. */
INLINE enum outcome
count_usual(struct bpf_processor *own, const struct bpf_process *process)
{
    const ULONG64 place = own->places[KI_TREE_ADDRESSES];
    const KI_RANGE *range;
    const KI_NODE *leaf;
    ULONG64 counter;
    ULONG64 bucket;
    int several;
    ULONG at;

    if ((READ_ONCE(control.global_roots[KI_TREE_ADDRESSES]) |
         READ_ONCE(control.global_roots[KI_TREE_SEGMENTS]) |
         READ_ONCE(process->roots[KI_TREE_SEGMENTS]) | READ_ONCE(process->ended) |
         (own->selector & LDT) | own->processor >> 6) != 0) {
        return UNDECIDED;
    }
    leaf = find_leaf(READ_ONCE(process->roots[KI_TREE_ADDRESSES]), place, &several);
    if (leaf == 0) {
        return several ? UNDECIDED : OUTSIDE;
    }
    at = KiFindSpan(leaf, place, 0);
    if (at == KI_FANOUT) {
        return OUTSIDE;
    }
    /* Read from memory: the verifier would check the rest for each value of a local. */
    own->at = at;
    at = READ_ONCE(own->at) & (KI_FANOUT - 1);
    if (at + 1 < KI_FANOUT && leaf->Spans[at + 1].Base <= place) {
        return UNDECIDED;
    }
    range = &leaf->Ranges[at];
    if (!KiHitMatches(range->Source, range->Segment, range->Processors,
                      (ULONG)(own->cookie >> 32), 0, own->processor)) {
        return OUTSIDE;
    }
    bucket = KiBucketNumber(place, leaf->Spans[at].Base, range->BucketLog2 & 63);
    counter = range->BufferBits + bucket;
    if (bucket >= range->Counters || counter >= BPF_FLAT_COUNTERS) {
        return UNDECIDED;
    }
    OPAQUE(counter);
    __sync_fetch_and_add(&flat.counters[counter], 1);
    return COUNTED;
}

/* ---- a hit ---- */

/* Counts the hit in all profiles that match. */
INLINE enum outcome
count(struct bpf_processor *own, ULONG running_on, struct bpf_process *process,
      ULONG pid)
{
    if (process != 0) {
        const enum outcome outcome = count_usual(own, process);

        if (outcome != UNDECIDED) {
            return outcome;
        }
    }
    find_roots(own, process);
    search_all(own, running_on);
    if (own->matches != 0) {
        return COUNTED;
    }
    if (pid == 0 && !is_in_kernel(own)) {
        own->unnumbered++;
    }
    return OUTSIDE;
}

/* Counts a hit, and adds it to the statistics. In: own->cookie, processor, places,
 * selector, is_first; pid: of the process, 0 if it has none (current_process). */
INLINE void
handle(struct bpf_processor *own, ULONG running_on, ULONG pid)
{
    enum outcome outcome = OUTSIDE;

    enter(own);
    own->overrun_profile = 0;
    if (READ_ONCE(control.halted) == 0) {
        outcome = count(own, running_on, process_at((ULONG)entry_of(pid)), pid);
    }
    keep_statistics(own, outcome);
    leave(own);
}

/* ---- programs ---- */

/* The context of programs for perf events, as in <linux/bpf_perf_event.h>: it starts
 * with the registers of user mode. */
struct registers {
#if defined(BPF_TARGET_X86_64)
    ULONG64 before[16];
    ULONG64 address;
    ULONG64 selector;
    ULONG64 after[3];
    ULONG64 period;
    ULONG64 event_address;
#elif defined(BPF_TARGET_ARM64)
    ULONG64 before[32];
    ULONG64 address;
#else
#error "which machine?"
#endif
};

/* Return the selector of the code segment; 0: none, or not of user mode. */
INLINE ULONG
code_selector(const struct registers *registers)
{
#if defined(BPF_TARGET_X86_64)
    /* With FRED there are flags above it. */
    const ULONG selector = (ULONG)registers->selector & 0xFFFF;

    return (selector & USER_MODE) == USER_MODE ? selector : 0;
#else
    (void)registers;
    return 0;
#endif
}

/* Return the linear address of a hit. With a selector of the LDT, whose segment may
 * have a base, the instruction pointer is only an offset in it: a breakpoint's event
 * has the linear address, other events do not. */
INLINE ULONG64
linear_address(const struct registers *registers, ULONG64 cookie, ULONG selector)
{
#if defined(BPF_TARGET_X86_64)
    /* Both are read: the verifier only allows constant offsets in the context. */
    const ULONG64 event_address = READ_ONCE(registers->event_address);
    const ULONG64 address = READ_ONCE(registers->address);

    return (selector & LDT) != 0 && (cookie & BPF_COOKIE_LINEAR) != 0 ? event_address
                                                                      : address;
#else
    (void)cookie;
    (void)selector;
    return registers->address;
#endif
}

/* Returns the cookie of the hit's event. one_cookie saves asking the kernel, which
 * costs as much as counting a hit. */
INLINE ULONG64
cookie_of(struct registers *context)
{
    const ULONG64 one = READ_ONCE(control.one_cookie);

    return one != 0 ? one & ~BPF_COOKIE_ONE : get_cookie(context);
}

/* Runs at each hit of an event. */
SECTION("program.sample")
int
sample(struct registers *context)
{
    const ULONG running_on = get_processor();
    const ULONG64 pid_tgid = get_pid_tgid();
    struct bpf_processor *const own = map_lookup(map_processors, &running_on);

    if (own == 0) {
        return 0;
    }
    own->cookie = cookie_of(context);
    own->processor = running_on;
    own->is_first = (ULONG)is_first_thread(pid_tgid);
    own->selector = code_selector(context);
    own->places[KI_TREE_ADDRESSES] =
        linear_address(context, own->cookie, own->selector);
    own->places[KI_TREE_SEGMENTS] = context->address;
    handle(own, running_on, current_process(pid_tgid));
    return 0;
}

/* For tests: does what sample does, for a hit from the arguments. */
SECTION("program.replay")
int
replay(const ULONG64 *arguments)
{
    const ULONG running_on = get_processor();
    struct bpf_processor *const own = map_lookup(map_processors, &running_on);

    if (own == 0) {
        return 0;
    }
    own->cookie = arguments[BPF_REPLAY_COOKIE];
    own->processor = (ULONG)arguments[BPF_REPLAY_PROCESSOR];
    own->places[KI_TREE_ADDRESSES] = arguments[BPF_REPLAY_ADDRESS];
    own->places[KI_TREE_SEGMENTS] = arguments[BPF_REPLAY_OFFSET];
    own->selector = (ULONG)arguments[BPF_REPLAY_SELECTOR];
    handle(own, running_on, (ULONG)arguments[BPF_REPLAY_PROCESS]);
    return 0;
}

/* Raw tracepoint sched_process_exec: the process has a new program, and has not run any
 * of it. The profiles of the old one have ended. */
SECTION("program.exec")
int
exec(void *context)
{
    struct bpf_process *const process =
        process_at((ULONG)find_in_table(current_process(get_pid_tgid())));

    (void)context;
    if (process != 0) {
        WRITE_ONCE(process->ended, BPF_ENDED);
    }
    return 0;
}

/* Raw tracepoint sched_process_exit: a thread ends, and will not be in user mode again.
 * The session has a pidfd to notice the process's end, but before it does, the pid may
 * be another process's. */
SECTION("program.exit")
int
exit(void *context)
{
    const ULONG64 pid_tgid = get_pid_tgid();
    struct bpf_process *process;

    (void)context;
    if (!is_first_thread(pid_tgid)) {
        return 0;
    }
    process = process_at((ULONG)find_in_table(current_process(pid_tgid)));
    if (process != 0 && READ_ONCE(process->ended) == BPF_RUNNING) {
        WRITE_ONCE(process->ended, BPF_FIRST_ENDED);
    }
    return 0;
}
