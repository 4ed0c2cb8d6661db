/* SPDX-License-Identifier: MIT */
/*
 * callers.c - hits are counted by their callers, at once or by the thread that asks for
 * rules, and whatever cannot be walked is not recorded; with what that is made of: maps
 * of code, and the pool.
 */
#include "record/collect/callers.h"
#include "core_dump.h"
#include "record/collect/sample_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JIT = 3, LIBRARY = 4, KERNEL = 5 };
enum { REGISTERS = SYM_REGISTERS + 1 };

static const uint64_t stack_at = UINT64_C(0x7fff0000);
static const struct stack_place place = {7, 0x100};

/* --- maps of code --- */

static struct stack_mapping
mapping(uint64_t start, uint64_t end)
{
    return (struct stack_mapping){
        .start = start, .end = end, .address = start, .image = JIT, .anonymous = true};
}

static void
map(struct code_map **code, uint64_t start, uint64_t end)
{
    const struct stack_mapping added = mapping(start, end);

    assert_true(code_map_add(code, &added));
}

static void
code_map__any_order__sorted_without_overlaps(void **state)
{
    struct code_map *code = NULL;

    (void)state;
    for (uint64_t i = 40; i > 0; i--) {
        map(&code, i * 0x1000, i * 0x1000 + 0x800);
    }
    assert_int_equal(code->count, 40);
    map(&code, 0x2400, 0x4400); /* over the ends of three */
    assert_int_equal(code->count, 38);
    for (size_t i = 1; i < code->count; i++) {
        assert_true(code->mappings[i - 1].end <= code->mappings[i].start);
    }
    assert_null(stack_mapping_find(code->mappings, code->count, 0x2000));
    assert_int_equal(stack_mapping_find(code->mappings, code->count, 0x4000)->start,
                     0x2400);
    code_map_remove(&code, 0x2400, 0x4400);
    assert_int_equal(code->count, 37);
    assert_null(stack_mapping_find(code->mappings, code->count, 0x4000));
    code_map_release(code);
}

static void
code_map__used_by_others__they_keep_theirs(void **state)
{
    struct code_map *code = NULL;
    struct code_map *kept;

    (void)state;
    map(&code, 0x1000, 0x2000);
    kept = code_map_use(code);
    map(&code, 0x3000, 0x4000);
    assert_ptr_not_equal(code, kept);
    assert_int_equal(kept->count, 1);
    assert_int_equal(code->count, 2);
    code_map_remove(&code, 0x1000, 0x2000);
    assert_int_equal(code->count, 1);
    assert_int_equal(kept->mappings[0].start, 0x1000);
    code_map_release(code);
    code_map_release(kept);
}

static void
code_map__empty__nothing_to_remove(void **state)
{
    struct code_map *code = NULL;

    (void)state;
    code_map_remove(&code, 0, UINT64_MAX);
    assert_null(code);
    assert_null(code_map_use(NULL));
    code_map_release(NULL);
}

/* --- the pool --- */

static void
sample_pool__full__room_after_removal(void **state)
{
    struct sample_pool *const pool = sample_pool_create(4096, 1000);
    uint32_t *samples[4];
    uint32_t *sample = NULL;
    uint32_t sum = 0;

    (void)state;
    assert_non_null(pool);
    assert_null(sample_pool_next(pool, NULL));
    for (uint32_t i = 0; i < 4; i++) {
        samples[i] = sample_pool_take(pool, 1000);
        assert_non_null(samples[i]);
        *samples[i] = 1u << i;
    }
    assert_null(sample_pool_take(pool, 1000));
    while ((sample = sample_pool_next(pool, sample)) != NULL) {
        sum += *sample;
        if (sample == samples[1] || sample == samples[3]) {
            sample_pool_remove(pool, sample);
        }
    }
    assert_int_equal(sum, 15);
    assert_ptr_equal(sample_pool_next(pool, NULL), samples[0]);
    assert_ptr_equal(sample_pool_next(pool, samples[0]), samples[2]);
    assert_null(sample_pool_next(pool, samples[2]));
    assert_ptr_equal(sample_pool_take(pool, 1000), samples[1]);
    assert_ptr_equal(sample_pool_take(pool, 1000), samples[3]);
    assert_null(sample_pool_take(pool, 1000));
    sample_pool_delete(pool);
}

/* Samples have copies of stacks. */
static void
sample_pool__memory__in_no_core_dump(void **state)
{
    struct sample_pool *const pool = sample_pool_create(4096, 1024);
    const char *sample;

    (void)state;
    assert_non_null(pool);
    sample = sample_pool_take(pool, 1024);
    assert_non_null(sample);
    assert_true(is_in_no_core_dump(sample));
    assert_true(is_in_no_core_dump(sample + 1023));
    assert_false(is_in_no_core_dump(&pool)); /* Linux says so of other memory */
    sample_pool_delete(pool);
}

/* Of each sample only what it has takes room; short and long ones are refused alike. */
static void
sample_pool__samples_of_other_sizes__share_the_memory(void **state)
{
    struct sample_pool *const pool = sample_pool_create(4096, 1024);
    char *samples[7];

    (void)state;
    assert_non_null(pool);
    for (size_t i = 0; i < 7; i++) {
        samples[i] = sample_pool_take(pool, 512);
        assert_non_null(samples[i]);
        memset(samples[i], (int)i, 512);
    }
    assert_null(sample_pool_take(pool, 1024));
    assert_null(sample_pool_take(pool, 1));
    sample_pool_remove(pool, samples[1]);
    assert_null(sample_pool_take(pool, 1));
    sample_pool_remove(pool, samples[3]);
    sample_pool_remove(pool, samples[4]);
    assert_ptr_equal(sample_pool_take(pool, 1), samples[3]);
    assert_null(sample_pool_take(pool, 1));
    sample_pool_remove(pool, samples[3]);
    assert_ptr_equal(sample_pool_take(pool, 1024), samples[3]);
    assert_ptr_equal(sample_pool_next(pool, samples[0]), samples[2]);
    assert_ptr_equal(sample_pool_next(pool, samples[3]), samples[5]);
    assert_int_equal(samples[2][511], 2);
    assert_int_equal(samples[5][0], 5);
    for (char *sample = NULL; (sample = sample_pool_next(pool, sample)) != NULL;) {
        sample_pool_remove(pool, sample);
    }
    assert_ptr_equal(sample_pool_take(pool, 1024), samples[0]);
    sample_pool_delete(pool);
}

/* --- callers --- */

static uint32_t asked_image;
static bool is_file; /* that was not opened; else there is none */

static bool
find_nothing(void *context, uint32_t image, struct unwind_file *file)
{
    uint32_t *const asked = context;

    file->way.path = "/lib/x";
    *asked = image;
    return !is_file;
}

static uint64_t copy[64];
static uint64_t registers[REGISTERS];
static ntprof_stack stack;
static struct code_map *code;
static struct callers *callers;

static int
begin_with(uint32_t depth, size_t contexts)
{
    const struct callers_settings settings = {.stack_bytes = sizeof(copy),
                                              .kernel_depth = depth,
                                              .contexts = contexts,
                                              .find = find_nothing,
                                              .context = &asked_image};
    const struct stack_mapping library = {
        .start = 0x90000, .end = 0xa0000, .address = 0x400, .image = LIBRARY};

    asked_image = 0;
    is_file = false;
    code = NULL;
    map(&code, 0x50000, 0x60000);
    assert_true(code_map_add(&code, &library));
    callers = callers_new(&settings);
    assert_non_null(callers);
    memset(copy, 0, sizeof(copy));
    memset(registers, 0, sizeof(registers));
    /* Interrupted in JIT code, whose frame is at the start of the copy, and that was
     * called by JIT code without a caller. */
    registers[SYM_REGISTER_SP] = stack_at;
    registers[SYM_REGISTER_FP] = stack_at + 16;
    registers[SYM_REGISTERS] = 0x50010;
    copy[2] = 0;
    copy[3] = 0x50101;
    stack = (ntprof_stack){.size = sizeof(stack),
                           .mode = NTPROF_MODE_USER,
                           .word_bytes = 8,
                           .address = 0x50010,
                           .registers = registers,
                           .register_count = REGISTERS,
                           .stack = copy,
                           .stack_asked = sizeof(copy),
                           .stack_bytes = sizeof(copy)};
    return 0;
}

static int
begin(void **state)
{
    (void)state;
    return begin_with(UINT32_MAX, STACK_CONTEXTS_MIN);
}

static int
end(void **state)
{
    (void)state;
    callers_delete(callers);
    code_map_release(code);
    return 0;
}

static void
take(void)
{
    const struct callers_hit hit = {place, &stack, code, KERNEL};

    callers_take(callers, &hit);
}

/* Return the hits of the place with callers, and the number of its rows. *node becomes
 * the innermost one of the last row. */
static uint64_t
counted_in(enum callers_part part, size_t *row_count, struct stack_node *node)
{
    struct callers_cut *const cut = callers_cut_make(callers, part);
    const struct stack_row *rows;
    uint64_t hits = 0;

    assert_non_null(cut);
    rows = callers_cut_rows(cut, &place, row_count);
    assert_int_equal(*row_count, cut->row_count);
    for (size_t i = 0; i < *row_count; i++) {
        hits += rows[i].hits;
        *node = cut->nodes[rows[i].node];
    }
    callers_cut_delete(cut);
    return hits;
}

static uint64_t
counted(size_t *row_count, struct stack_node *node)
{
    return counted_in(CALLERS_ALL, row_count, node);
}

static void
callers__no_rule_needed__counted_at_once(void **state)
{
    struct stack_node node;
    size_t rows;

    (void)state;
    take();
    take();
    assert_int_equal(counted(&rows, &node), 2);
    assert_int_equal(rows, 1);
    assert_int_equal(node.image, JIT);
    assert_int_equal(node.address, 0x50100);
    assert_int_equal(asked_image, 0);
}

static void
callers__rule_needed__counted_by_a_thread(void **state)
{
    struct stack_node node;
    size_t rows;

    (void)state;
    registers[SYM_REGISTERS] = 0x90010;
    take();
    take();
    assert_int_equal(counted(&rows, &node), 0);
    assert_int_equal(callers_start(callers), 0);
    callers_stop(callers);
    assert_int_equal(counted(&rows, &node), 2);
    assert_int_equal(rows, 1);
    assert_int_equal(asked_image, LIBRARY);
    assert_int_equal(node.address, STACK_NO_RULES);
    assert_int_equal(node.image, LIBRARY);
    assert_int_equal(node.caller, STACK_NO_NODE);
    assert_int_equal(callers_gaps(callers).images, 0);
}

static void
callers__file_not_opened__not_recorded_and_why(void **state)
{
    struct stack_node node;
    struct unwind_gaps gaps;
    size_t rows;

    (void)state;
    is_file = true;
    for (uint64_t i = 0; i < 20; i++) {
        registers[SYM_REGISTERS] = 0x90010 + i;
        take();
    }
    assert_int_equal(callers_start(callers), 0);
    callers_stop(callers);
    assert_int_equal(counted(&rows, &node), 20);
    assert_int_equal(node.address, STACK_NOT_RECORDED);
    gaps = callers_gaps(callers);
    assert_int_equal(gaps.images, 1);
    assert_string_equal(gaps.why, "/lib/x: it could not be opened");
}

static void
callers__cuts__recent_hits_once_and_repeated(void **state)
{
    struct stack_node node;
    size_t rows;

    (void)state;
    take();
    take();
    assert_int_equal(counted_in(CALLERS_REPEAT, &rows, &node), 0);
    assert_int_equal(counted_in(CALLERS_RECENT, &rows, &node), 2);
    assert_int_equal(counted_in(CALLERS_RECENT, &rows, &node), 0);
    copy[3] = 0x50201; /* another caller */
    take();
    assert_int_equal(counted_in(CALLERS_REPEAT, &rows, &node), 2);
    assert_int_equal(node.address, 0x50100);
    assert_int_equal(counted_in(CALLERS_RECENT, &rows, &node), 1);
    assert_int_equal(rows, 1);
    assert_int_equal(node.address, 0x50200);
    assert_int_equal(counted_in(CALLERS_REPEAT, &rows, &node), 3);
    assert_int_equal(counted(&rows, &node), 3);
    assert_int_equal(rows, 2);
}

static void
callers__cut_while_a_stack_waits__its_hit_is_of_the_cut(void **state)
{
    struct stack_node node;
    size_t rows;

    (void)state;
    registers[SYM_REGISTERS] = 0x90010;
    take();
    assert_int_equal(counted_in(CALLERS_RECENT, &rows, &node), 0);
    assert_int_equal(callers_start(callers), 0);
    callers_stop(callers);
    assert_int_equal(counted_in(CALLERS_RECENT, &rows, &node), 0);
    assert_int_equal(counted_in(CALLERS_REPEAT, &rows, &node), 1);
    assert_int_equal(counted(&rows, &node), 1);
}

static void
callers__pool_full__not_recorded(void **state)
{
    struct stack_node node;
    size_t rows;
    uint64_t hits;

    (void)state;
    registers[SYM_REGISTERS] = 0x90010;
    for (int i = 0; i < 10000; i++) {
        take();
    }
    assert_int_equal(callers_start(callers), 0);
    callers_stop(callers);
    hits = counted(&rows, &node);
    assert_true(hits >= 1000 && hits < 10000);
}

static void
callers__map_changes_meanwhile__that_of_the_hit(void **state)
{
    struct stack_node node;
    size_t rows;

    (void)state;
    registers[SYM_REGISTERS] = 0x90010;
    take();
    code_map_remove(&code, 0, UINT64_MAX);
    assert_int_equal(callers_start(callers), 0);
    callers_stop(callers);
    assert_int_equal(counted(&rows, &node), 1);
    assert_int_equal(node.image, LIBRARY);
}

static void
callers__32_bit__not_recorded(void **state)
{
    struct stack_node node;
    size_t rows;

    (void)state;
    stack.word_bytes = 4;
    take();
    assert_int_equal(counted(&rows, &node), 0);
}

static void
callers__in_the_kernel__its_callers_and_the_users(void **state)
{
    const uint64_t chain[] = {UINT64_C(0xffffffff81000010),
                              UINT64_C(0xffffffff81000101)};
    struct stack_node node;
    struct callers_cut *cut;
    size_t count;

    (void)state;
    stack.mode = NTPROF_MODE_KERNEL;
    stack.address = chain[0];
    stack.kernel_chain = chain;
    stack.kernel_count = 2;
    take();
    cut = callers_cut_make(callers, CALLERS_ALL);
    assert_non_null(cut);
    node = cut->nodes[callers_cut_rows(cut, &place, &count)->node];
    assert_int_equal(count, 1);
    assert_int_equal(node.image, KERNEL);
    assert_int_equal(node.address, UINT64_C(0xffffffff81000100));
    node = cut->nodes[node.caller];
    assert_int_equal(node.image, JIT);
    assert_int_equal(node.address, 0x50010); /* where it was interrupted */
    node = cut->nodes[node.caller];
    assert_int_equal(node.address, 0x50100);
    node = cut->nodes[node.caller];
    assert_int_equal(node.caller, STACK_NO_NODE);
    assert_int_equal(node.address, STACK_BY_FRAME_POINTER);
    callers_cut_delete(cut);
}

static void
callers__kernel_thread__whole(void **state)
{
    const uint64_t chain[] = {UINT64_C(0xffffffff81000010)};
    struct stack_node node;
    size_t rows;

    (void)state;
    stack.mode = NTPROF_MODE_KERNEL;
    stack.kernel_chain = chain;
    stack.kernel_count = 1;
    stack.register_count = 0;
    stack.word_bytes = 0;
    take();
    assert_int_equal(counted(&rows, &node), 1);
    assert_int_equal(node.address, STACK_WHOLE);
    assert_int_equal(node.caller, STACK_NO_NODE);
}

/* Take a hit with a kernel chain of some length, which no user part may follow if it is
 * cut. Returns the end of its stack; *calls becomes the number of its callers. */
static uint64_t
end_of_chain(uint32_t length, uint32_t *calls)
{
    uint64_t chain[128];
    struct callers_cut *cut;
    struct stack_node node;
    size_t count;

    for (uint32_t i = 0; i < 128; i++) {
        chain[i] = UINT64_C(0xffffffff81000010) + i;
    }
    stack.mode = NTPROF_MODE_KERNEL;
    stack.address = chain[0];
    stack.kernel_chain = chain;
    stack.kernel_count = length;
    take();
    cut = callers_cut_make(callers, CALLERS_RECENT);
    assert_non_null(cut);
    node = cut->nodes[callers_cut_rows(cut, &place, &count)->node];
    assert_int_equal(count, 1);
    for (*calls = 0; node.caller != STACK_NO_NODE; ++*calls) {
        node = cut->nodes[node.caller];
    }
    callers_cut_delete(cut);
    return node.address;
}

static void
callers__kernel_chain_that_may_be_cut__ends_there(void **state)
{
    uint32_t calls;

    end(state);
    begin_with(UINT32_MAX, 1024);
    assert_int_equal(end_of_chain(126, &calls), STACK_BY_FRAME_POINTER);
    assert_int_equal(calls, 125 + 2);
    assert_int_equal(end_of_chain(127, &calls), STACK_KERNEL_CUT);
    assert_int_equal(calls, 126);
    end(state);
    begin_with(16, 1024);
    assert_int_equal(end_of_chain(15, &calls), STACK_BY_FRAME_POINTER);
    assert_int_equal(calls, 14 + 2);
    assert_int_equal(end_of_chain(16, &calls), STACK_KERNEL_CUT);
    assert_int_equal(calls, 15);
}

static void
callers__more_contexts_than_the_bound__no_hit_lost(void **state)
{
    struct stack_node node;
    size_t rows;

    (void)state;
    for (uint64_t i = 0; i < 4 * STACK_CONTEXTS_MIN; i++) {
        copy[3] = 0x50101 + i;
        take();
    }
    assert_int_equal(counted(&rows, &node), 4 * STACK_CONTEXTS_MIN);
    assert_true(rows <= STACK_CONTEXTS_MIN + 1);
}

static void
callers_owner__largest_numbers__apart_or_refused(void **state)
{
    uint64_t one;
    uint64_t other;

    (void)state;
    assert_true(callers_owner(65535, (1u << 23) - 1, (1u << 24) - 1, &one));
    assert_true(callers_owner(65535, (1u << 23) - 1, (1u << 24) - 2, &other));
    assert_int_not_equal(one, other);
    assert_true(callers_owner(65535, (1u << 23) - 2, (1u << 24) - 1, &other));
    assert_int_not_equal(one, other);
    assert_true(callers_owner(65534, (1u << 23) - 1, (1u << 24) - 1, &other));
    assert_int_not_equal(one, other);
    assert_false(callers_owner(0, 1u << 23, 0, &other));
    assert_false(callers_owner(0, 0, 1u << 24, &other));
    assert_false(callers_owner(1u << 17, 0, 0, &other));
}

int
main(void)
{
#define WITH_CALLERS(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_map__any_order__sorted_without_overlaps),
        cmocka_unit_test(code_map__used_by_others__they_keep_theirs),
        cmocka_unit_test(code_map__empty__nothing_to_remove),
        cmocka_unit_test(sample_pool__full__room_after_removal),
        cmocka_unit_test(sample_pool__memory__in_no_core_dump),
        cmocka_unit_test(sample_pool__samples_of_other_sizes__share_the_memory),
        WITH_CALLERS(callers__no_rule_needed__counted_at_once),
        WITH_CALLERS(callers__rule_needed__counted_by_a_thread),
        WITH_CALLERS(callers__file_not_opened__not_recorded_and_why),
        WITH_CALLERS(callers__cuts__recent_hits_once_and_repeated),
        WITH_CALLERS(callers__cut_while_a_stack_waits__its_hit_is_of_the_cut),
        WITH_CALLERS(callers__pool_full__not_recorded),
        WITH_CALLERS(callers__map_changes_meanwhile__that_of_the_hit),
        WITH_CALLERS(callers__32_bit__not_recorded),
        WITH_CALLERS(callers__in_the_kernel__its_callers_and_the_users),
        WITH_CALLERS(callers__kernel_thread__whole),
        WITH_CALLERS(callers__kernel_chain_that_may_be_cut__ends_there),
        WITH_CALLERS(callers__more_contexts_than_the_bound__no_hit_lost),
        cmocka_unit_test(callers_owner__largest_numbers__apart_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
