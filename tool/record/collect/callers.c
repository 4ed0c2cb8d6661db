/* SPDX-License-Identifier: MIT */
/*
 * callers.c - walks stacks, at once or by threads that ask for rules.
 *
 * A sample is what a walk needs of a hit. It is in the pool from a walk that found a
 * rule missing until a walk that finds all, or until it is given up. A thread asks
 * about all missing rules of one image together, for samples that are far from each
 * other in time, and then walks these again; an image that is slow to answer keeps one
 * thread, and samples that wait for other images go on.
 *
 * The lock guards rules, contexts and samples, and is held for walks, but never while
 * readers are asked.
 */
#include "record/collect/callers.h"

#include "base/clock.h"
#include "base/command_log.h"
#include "record/collect/sample_pool.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Memory for samples that wait. */
enum { POOL_BYTES = 4 << 20 };

/* Threads that ask readers. They wait most of the time: on a busy machine for the
 * processor that the reader has to get. */
enum { THREADS = 8 };

/* Of ntprof_stack.kernel_chain. */
enum { KERNEL_CHAIN_MAX = 127 };

/* Of ntprof_stack.registers; the last is the address. */
enum { REGISTER_COUNT = SYM_REGISTERS + 1 };

/* Walks of one stack: each frame may need one, and rows may go meanwhile. */
enum { WALKS_MAX = 2 * STACK_FRAMES_MAX };

/* Time for the stacks that wait at the end. */
#define END_NS_MAX (UINT64_C(10) * CLOCK_SECOND_NS)

struct sample {
    uint64_t number; /* the oldest has the lowest; of those in the pool */
    /* The rule that is missing, of those in the pool: */
    uint32_t image;
    uint64_t address;
    uint32_t walks;
    struct stack_place place;
    uint64_t registers[REGISTER_COUNT]; /* with user */
    bool user;                          /* there is a user part */
    uint32_t kernel_image;
    uint32_t kernel_count;
    uint64_t kernel[KERNEL_CHAIN_MAX];
    uint32_t asked_bytes;
    uint32_t copied_bytes;
    uint64_t cut;          /* callers->cuts at the hit */
    struct code_map *code; /* may be NULL */
};

/* asking - one thread and its questions about an image. */
struct asking {
    struct callers *callers;
    pthread_t thread;
    uint32_t image; /* that it asks about; STACK_NO_IMAGE: none */
    size_t count;
    uint64_t places[SYM_UNWIND_ASKED_MAX];
    struct sym_unwind_answer answers[SYM_UNWIND_ASKED_MAX];
};

struct callers {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* an image has to be asked about, or all is done */
    size_t running;      /* threads */
    bool closing;
    uint64_t end_ns; /* with closing: when samples are given up */
    uint32_t stack_bytes;
    uint32_t kernel_depth; /* a kernel chain of that length may be cut */
    uint64_t cuts;         /* that were no repetitions */
    struct stack_rules *rules;
    struct stack_contexts *contexts;
    struct sample_pool *pool;
    uint64_t numbers;  /* of samples */
    uint64_t refused;  /* hits for which the pool had no room */
    uint64_t requests; /* about one image each */
    uint64_t questions;
    struct unwinders *unwinders;
    struct stack_walked user;   /* the user part of the last walk */
    struct stack_walked walked; /* all of it */
    struct asking asking[THREADS];
};

/* --- samples that wait --- */

static struct sample *
next_sample(const struct callers *callers, const struct sample *sample)
{
    return sample_pool_next(callers->pool, sample);
}

static void
remove_sample(struct callers *callers, struct sample *sample)
{
    code_map_release(sample->code);
    sample_pool_remove(callers->pool, sample);
}

/* The callers of all samples are not recorded. */
static void
give_up_all(struct callers *callers)
{
    struct sample *sample = NULL;

    while ((sample = next_sample(callers, sample)) != NULL) {
        remove_sample(callers, sample);
    }
}

/* --- creation --- */

struct callers *
callers_new(const struct callers_settings *settings)
{
    struct callers *const callers = calloc(1, sizeof(*callers));

    if (callers == NULL) {
        return NULL;
    }
    pthread_mutex_init(&callers->lock, NULL);
    pthread_cond_init(&callers->wake, NULL);
    callers->stack_bytes = settings->stack_bytes;
    callers->kernel_depth = settings->kernel_depth < KERNEL_CHAIN_MAX
                                ? settings->kernel_depth
                                : KERNEL_CHAIN_MAX;
    callers->rules = stack_rules_create();
    callers->contexts = stack_contexts_create(settings->contexts);
    callers->pool =
        sample_pool_create(POOL_BYTES, sizeof(struct sample) + settings->stack_bytes);
    callers->unwinders =
        unwinders_new(settings->find, settings->context, settings->symbols);
    for (size_t i = 0; i < THREADS; i++) {
        callers->asking[i].callers = callers;
        callers->asking[i].image = STACK_NO_IMAGE;
    }
    if (callers->rules == NULL || callers->contexts == NULL || callers->pool == NULL ||
        callers->unwinders == NULL) {
        callers_delete(callers);
        return NULL;
    }
    return callers;
}

void
callers_delete(struct callers *callers)
{
    if (callers == NULL) {
        return;
    }
    callers_stop(callers);
    if (callers->pool != NULL) {
        give_up_all(callers);
    }
    stack_rules_delete(callers->rules);
    stack_contexts_delete(callers->contexts);
    sample_pool_delete(callers->pool);
    unwinders_delete(callers->unwinders);
    pthread_cond_destroy(&callers->wake);
    pthread_mutex_destroy(&callers->lock);
    free(callers);
}

/* --- walks --- */

/* Append a frame. Returns false if there are too many. */
static bool
append(struct stack_walked *walked, struct stack_frame frame)
{
    if (walked->count == STACK_FRAMES_MAX) {
        walked->end = STACK_DEEP;
        walked->image = STACK_NO_IMAGE;
        return false;
    }
    walked->frames[walked->count++] = frame;
    return true;
}

/* Append the kernel's callers: behind the address of the hit there are return
 * addresses, and the byte before one is in the call. Returns false if the stack ends
 * there: what called the last of a chain that may be cut is not known. */
static bool
append_kernel(const struct callers *callers, const struct sample *sample,
              struct stack_walked *walked)
{
    for (uint32_t i = 1; i < sample->kernel_count; i++) {
        if (!append(walked, (struct stack_frame){sample->kernel[i] - 1,
                                                 sample->kernel_image})) {
            return false;
        }
    }
    if (sample->kernel_count >= callers->kernel_depth) {
        walked->end = STACK_KERNEL_CUT;
        return false;
    }
    return sample->user;
}

/* Append the code that called the kernel or was interrupted by it. Returns false if it
 * is unknown. */
static bool
append_entry(const struct sample *sample, struct stack_walked *walked)
{
    const uint64_t address = sample->registers[SYM_REGISTERS];
    const struct stack_mapping *const mapping =
        sample->code != NULL
            ? stack_mapping_find(sample->code->mappings, sample->code->count, address)
            : NULL;

    if (mapping == NULL) {
        walked->end = STACK_NO_RULES;
        return false;
    }
    return append(walked,
                  (struct stack_frame){address - mapping->start + mapping->address,
                                       mapping->image});
}

/* Walk the user part. Returns false if a rule is missing: that of the image and address
 * in callers->user. */
static bool
walk_user(struct callers *callers, const struct sample *sample, const uint8_t *copy)
{
    struct stack_sample user = {
        .address = sample->registers[SYM_REGISTERS],
        .copy = copy,
        .copied_bytes = sample->copied_bytes,
        .asked_bytes = sample->asked_bytes,
    };

    if (sample->code != NULL) {
        user.mappings = sample->code->mappings;
        user.mapping_count = sample->code->count;
    }
    memcpy(user.registers, sample->registers, sizeof(user.registers));
    return stack_walk(&user, callers->rules, &callers->user);
}

/* Walk a stack. Returns false as walk_user does. The lock is held. */
static bool
walk(struct callers *callers, const struct sample *sample, const uint8_t *copy)
{
    struct stack_walked *const walked = &callers->walked;
    struct stack_walked *const user = &callers->user;

    walked->count = 0;
    walked->end = STACK_WHOLE;
    walked->image = STACK_NO_IMAGE;
    if (sample->kernel_count > 0 &&
        (!append_kernel(callers, sample, walked) || !append_entry(sample, walked))) {
        return true;
    }
    if (!walk_user(callers, sample, copy)) {
        return false;
    }
    for (size_t i = 0; i < user->count; i++) {
        if (!append(walked, user->frames[i])) {
            return true;
        }
    }
    walked->end = user->end;
    walked->image = user->image;
    if (user->end == STACK_NO_RULES && user->image == STACK_NO_IMAGE) {
        code_map_miss(sample->code);
    }
    return true;
}

/* Count the hit of the last walk. If memory runs out, its callers are not recorded. */
static void
count(struct callers *callers, const struct sample *sample)
{
    const struct stack_walked *const walked = &callers->walked;
    const struct stack_row hit = {
        .place = sample->place, .hits = 1, .taken = sample->cut != callers->cuts};

    (void)stack_contexts_add(callers->contexts, &hit, walked->frames, walked->count,
                             walked->end, walked->image);
}

/* --- threads --- */

static bool
is_asked(const struct callers *callers, uint32_t image)
{
    for (size_t i = 0; i < THREADS; i++) {
        if (callers->asking[i].image == image) {
            return true;
        }
    }
    return false;
}

/* Choose the image that the oldest sample waits for, of those about which no thread
 * asks. Returns STACK_NO_IMAGE if there is none. */
static uint32_t
choose_image(const struct callers *callers)
{
    const struct sample *oldest = NULL;

    for (const struct sample *sample = next_sample(callers, /* sample */ NULL);
         sample != NULL; sample = next_sample(callers, sample)) {
        if ((oldest == NULL || sample->number < oldest->number) &&
            !is_asked(callers, sample->image)) {
            oldest = sample;
        }
    }
    return oldest != NULL ? oldest->image : STACK_NO_IMAGE;
}

static bool
has_place(const struct asking *asking, uint64_t place)
{
    for (size_t i = 0; i < asking->count; i++) {
        if (asking->places[i] == place) {
            return true;
        }
    }
    return false;
}

/* Ask about a place, if there is room, its rule is missing and it is not asked yet. */
static void
add_question(const struct callers *callers, struct asking *asking, uint64_t place)
{
    if (asking->count < SYM_UNWIND_ASKED_MAX && !has_place(asking, place) &&
        stack_rules_find(callers->rules, asking->image, place) == NULL) {
        asking->places[asking->count++] = place;
    }
}

/* Ask about what may be return addresses in a mapping of the image: the walk will need
 * the rules of those that are, and each request takes long on a busy machine. */
static void
add_likely_questions(const struct callers *callers, struct asking *asking,
                     const struct sample *sample, const struct stack_mapping *mapping)
{
    const uint8_t *const copy = (const uint8_t *)(sample + 1);

    for (size_t at = 0; at + sizeof(uint64_t) <= sample->copied_bytes &&
                        asking->count < SYM_UNWIND_ASKED_MAX;
         at += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, copy + at, sizeof(word));
        if (word - 1 - mapping->start < mapping->end - mapping->start) {
            add_question(callers, asking, word - 1 - mapping->start + mapping->address);
        }
    }
}

/* Collect the questions of all samples that wait for the image: first those that they
 * wait for, then those that they are likely to have next. */
static void
collect_questions(struct callers *callers, struct asking *asking)
{
    const struct sample *sample = NULL;

    asking->count = 0;
    while ((sample = next_sample(callers, sample)) != NULL) {
        if (sample->image == asking->image) {
            add_question(callers, asking, sample->address);
        }
    }
    while ((sample = next_sample(callers, sample)) != NULL &&
           asking->count < SYM_UNWIND_ASKED_MAX) {
        for (size_t i = 0; sample->image == asking->image && i < sample->code->count;
             i++) {
            if (sample->code->mappings[i].image == asking->image) {
                add_likely_questions(callers, asking, sample,
                                     &sample->code->mappings[i]);
            }
        }
    }
}

/* Walk a sample of the pool again: it is counted, given up after too many walks, or
 * waits for another rule. */
static void
walk_again(struct callers *callers, struct sample *sample)
{
    if (walk(callers, sample, (const uint8_t *)(sample + 1))) {
        count(callers, sample);
        remove_sample(callers, sample);
    } else if (++sample->walks == WALKS_MAX) {
        remove_sample(callers, sample);
    } else {
        sample->image = callers->user.image;
        sample->address = callers->user.address;
    }
}

/* Ask about an image, with the lock, which is released meanwhile, and walk the samples
 * that waited for the answers. */
static void
ask_image(struct callers *callers, struct asking *asking)
{
    struct sample *sample = NULL;

    collect_questions(callers, asking);
    if (asking->count > 0) {
        callers->requests++;
        callers->questions += asking->count;
        pthread_mutex_unlock(&callers->lock);
        unwinders_ask(callers->unwinders, asking->image, asking->places, asking->count,
                      asking->answers);
        pthread_mutex_lock(&callers->lock);
    }
    for (size_t i = 0; i < asking->count; i++) {
        stack_rules_add(callers->rules, asking->image, asking->answers[i].rows,
                        asking->answers[i].count);
    }
    while ((sample = next_sample(callers, sample)) != NULL) {
        if (sample->image == asking->image &&
            stack_rules_find(callers->rules, sample->image, sample->address) != NULL) {
            walk_again(callers, sample);
        }
    }
}

/* Wake a thread if samples wait for an image about which none asks. */
static void
wake_if_needed(struct callers *callers)
{
    if (choose_image(callers) != STACK_NO_IMAGE) {
        pthread_cond_signal(&callers->wake);
    }
}

/* Ask about images that samples wait for, one after the other, until callers_stop has
 * begun and no sample waits any more: who sees that first wakes the others. */
static void *
callers_main(void *argument)
{
    struct asking *const asking = argument;
    struct callers *const callers = asking->callers;

    pthread_setname_np(pthread_self(), "ntprof-callers");
    pthread_mutex_lock(&callers->lock);
    for (;;) {
        if (callers->closing && clock_now_ns() >= callers->end_ns) {
            give_up_all(callers);
        }
        asking->image = choose_image(callers);
        if (asking->image != STACK_NO_IMAGE) {
            wake_if_needed(callers);
            ask_image(callers, asking);
            asking->image = STACK_NO_IMAGE;
        } else if (callers->closing &&
                   next_sample(callers, /* sample */ NULL) == NULL) {
            pthread_cond_broadcast(&callers->wake);
            break;
        } else {
            pthread_cond_wait(&callers->wake, &callers->lock);
        }
    }
    pthread_mutex_unlock(&callers->lock);
    return NULL;
}

int
callers_start(struct callers *callers)
{
    sigset_t all;
    sigset_t old;
    int failure = 0;

    assert(callers->running == 0 && !callers->closing);
    /* The main thread handles all signals. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (callers->running < THREADS && failure == 0) {
        struct asking *const asking = &callers->asking[callers->running];

        failure = pthread_create(&asking->thread, NULL, callers_main, asking);
        callers->running += failure == 0;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    /* One is enough, where no more threads are allowed. */
    return callers->running > 0 ? 0 : -failure;
}

void
callers_stop(struct callers *callers)
{
    pthread_mutex_lock(&callers->lock);
    callers->closing = true;
    callers->end_ns = clock_now_ns() + END_NS_MAX;
    pthread_cond_broadcast(&callers->wake);
    pthread_mutex_unlock(&callers->lock);
    if (callers->running == 0) {
        return;
    }
    while (callers->running > 0) {
        pthread_join(callers->asking[--callers->running].thread, NULL);
    }
    pthread_mutex_lock(&callers->lock);
    COMMAND_LOG("callers: %" PRIu64 " stacks waited for rules, %" PRIu64
                " had no room; %" PRIu64 " rules in %" PRIu64 " requests",
                callers->numbers, callers->refused, callers->questions,
                callers->requests);
    pthread_mutex_unlock(&callers->lock);
}

/* --- hits --- */

/* Make a sample of a hit, but for the copy. Returns false if it cannot be walked: there
 * is no walk of 32-bit code, nor of a kernel chain that is missing or too long. A hit
 * of a kernel thread has no user part: its word_bytes is 0. */
static bool
make_sample(const struct callers *callers, const struct callers_hit *hit,
            struct sample *sample)
{
    const ntprof_stack *const stack = hit->stack;
    const bool kernel = stack->mode == NTPROF_MODE_KERNEL;

    sample->user = stack->word_bytes == sizeof(uint64_t) &&
                   stack->register_count == REGISTER_COUNT;
    if (!sample->user && (!kernel || stack->word_bytes != 0)) {
        return false;
    }
    if (kernel &&
        (stack->kernel_count == 0 || stack->kernel_count > KERNEL_CHAIN_MAX)) {
        return false;
    }
    (void)callers; /* in builds without asserts */
    assert(stack->stack_bytes <= callers->stack_bytes);
    sample->place = hit->place;
    sample->code = hit->code;
    sample->kernel_image = hit->kernel_image;
    sample->kernel_count = kernel ? stack->kernel_count : 0;
    sample->asked_bytes = stack->stack_asked;
    sample->copied_bytes = stack->stack_bytes;
    if (kernel) {
        memcpy(sample->kernel, stack->kernel_chain,
               stack->kernel_count * sizeof(stack->kernel_chain[0]));
    }
    if (sample->user) {
        memcpy(sample->registers, stack->registers, sizeof(sample->registers));
    } else {
        memset(sample->registers, 0, sizeof(sample->registers));
    }
    return true;
}

/* Have a thread walk a sample for which the last walk found no rule. If there is no
 * room, its callers are not recorded. */
static void
keep_sample(struct callers *callers, const struct sample *sample, const void *copy)
{
    struct sample *const kept =
        sample_pool_take(callers->pool, sizeof(*sample) + sample->copied_bytes);

    if (kept == NULL) {
        callers->refused++;
        return;
    }
    *kept = *sample;
    kept->number = ++callers->numbers;
    kept->image = callers->user.image;
    kept->address = callers->user.address;
    kept->walks = 0;
    kept->code = code_map_use(sample->code);
    memcpy(kept + 1, copy, sample->copied_bytes);
    if (!is_asked(callers, kept->image)) {
        pthread_cond_signal(&callers->wake);
    }
}

void
callers_take(struct callers *callers, const struct callers_hit *hit)
{
    struct sample sample;

    if (!make_sample(callers, hit, &sample)) {
        return;
    }
    pthread_mutex_lock(&callers->lock);
    sample.cut = callers->cuts;
    if (walk(callers, &sample, hit->stack->stack)) {
        count(callers, &sample);
    } else {
        keep_sample(callers, &sample, hit->stack->stack);
    }
    pthread_mutex_unlock(&callers->lock);
}

/* --- what was counted --- */

static int
compare_places(const struct stack_place *a, const struct stack_place *b)
{
    if (a->owner != b->owner) {
        return a->owner < b->owner ? -1 : 1;
    }
    return (a->address > b->address) - (a->address < b->address);
}

static int
compare_rows(const void *left, const void *right)
{
    const struct stack_row *const a = left;
    const struct stack_row *const b = right;
    const int order = compare_places(&a->place, &b->place);

    return order != 0 ? order : (a->node > b->node) - (a->node < b->node);
}

static uint64_t
hits_of(const struct stack_row *row, enum callers_part part)
{
    switch (part) {
    case CALLERS_RECENT:
        return row->hits - row->taken;
    case CALLERS_REPEAT:
        return row->taken;
    case CALLERS_ALL:
    default:
        return row->hits;
    }
}

/* Copy rows that have hits, and all nodes, with the lock. Returns false if memory runs
 * out. */
static bool
copy_contexts(const struct stack_contexts *contexts, enum callers_part part,
              struct callers_cut *cut)
{
    size_t count;
    const struct stack_row *const rows = stack_contexts_rows(contexts, &count);

    cut->node_count = stack_contexts_node_count(contexts);
    cut->contexts = stack_contexts_used(contexts);
    cut->rows = calloc(count + 1, sizeof(*cut->rows));
    cut->nodes = calloc(cut->node_count, sizeof(*cut->nodes));
    if (cut->rows == NULL || cut->nodes == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct stack_row *const row = &cut->rows[cut->row_count];

        *row = rows[i];
        row->hits = hits_of(row, part);
        cut->row_count += row->hits > 0;
    }
    for (size_t i = 0; i < cut->node_count; i++) {
        cut->nodes[i] = stack_contexts_node(contexts, (uint32_t)i);
    }
    return true;
}

/* Leave out the nodes that no row has: each would be named. Returns false if memory
 * runs out. */
static bool
keep_used_nodes(struct callers_cut *cut)
{
    enum { UNUSED = 0, USED = 1 }; /* at first; then numbers of nodes */
    uint32_t *const numbers = calloc(cut->node_count, sizeof(*numbers));
    uint32_t kept = 0;

    if (numbers == NULL) {
        return false;
    }
    numbers[STACK_NODE_OTHER] = USED;
    for (size_t i = 0; i < cut->row_count; i++) {
        for (uint32_t node = cut->rows[i].node;
             node != STACK_NO_NODE && numbers[node] == UNUSED;
             node = cut->nodes[node].caller) {
            numbers[node] = USED;
        }
    }
    for (size_t i = 0; i < cut->node_count; i++) {
        struct stack_node node = cut->nodes[i];

        if (numbers[i] == USED) {
            if (node.caller != STACK_NO_NODE) {
                node.caller = numbers[node.caller];
            }
            numbers[i] = kept;
            cut->nodes[kept++] = node;
        }
    }
    for (size_t i = 0; i < cut->row_count; i++) {
        cut->rows[i].node = numbers[cut->rows[i].node];
    }
    cut->node_count = kept;
    free(numbers);
    return true;
}

struct callers_cut *
callers_cut_make(struct callers *callers, enum callers_part part)
{
    struct callers_cut *const cut = calloc(1, sizeof(*cut));
    bool complete;

    if (cut == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&callers->lock);
    complete = copy_contexts(callers->contexts, part, cut);
    if (complete && part != CALLERS_REPEAT) {
        stack_contexts_take(callers->contexts);
        callers->cuts++;
    }
    pthread_mutex_unlock(&callers->lock);
    if (!complete || !keep_used_nodes(cut)) {
        callers_cut_delete(cut);
        return NULL;
    }
    qsort(cut->rows, cut->row_count, sizeof(*cut->rows), compare_rows);
    return cut;
}

void
callers_cut_delete(struct callers_cut *cut)
{
    if (cut != NULL) {
        free(cut->rows);
        free(cut->nodes);
        free(cut);
    }
}

struct sym_image *
callers_take_reader(struct callers *callers, uint32_t image)
{
    return unwinders_take(callers->unwinders, image);
}

struct unwind_gaps
callers_gaps(struct callers *callers)
{
    return unwinders_gaps(callers->unwinders);
}

const struct stack_row *
callers_cut_rows(const struct callers_cut *cut, const struct stack_place *place,
                 size_t *count)
{
    size_t low = 0;
    size_t high = cut->row_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (compare_places(&cut->rows[middle].place, place) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (high < cut->row_count &&
           compare_places(&cut->rows[high].place, place) == 0) {
        high++;
    }
    *count = high - low;
    return &cut->rows[low];
}

enum { THREAD_BITS = 24, PROGRAM_BITS = 23, IMAGE_BITS = 17 };

bool
callers_owner(uint32_t image, uint32_t program, uint32_t thread, uint64_t *owner)
{
    if (thread >> THREAD_BITS != 0 || program >> PROGRAM_BITS != 0 ||
        image >> IMAGE_BITS != 0) {
        return false;
    }
    *owner = (((uint64_t)image << PROGRAM_BITS | program) << THREAD_BITS) | thread;
    return true;
}
