/* SPDX-License-Identifier: MIT */
/* pool.c - memory of pools: nothing is given twice, all is zero, and all comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hal/bpf/pool.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PIECES = 400, STEPS = 20000 };

struct fixture {
    struct bpf_kernel kernel;
    struct bpf_pools pools;
};

static bool refuse_maps;
static size_t calls; /* of bpf() */

static long
call(int command, union bpf_attr *attr, size_t bytes)
{
    calls++;
    return refuse_maps && command == BPF_MAP_CREATE
               ? -ENOMEM
               : bpf_call_kernel(command, attr, bytes);
}

static void
open_pools(struct fixture *fixture)
{
    struct perf_refusal refusal;
    int result;

    refuse_maps = false;
    memset(fixture, 0, sizeof(*fixture));
    result = bpf_kernel_make(&fixture->kernel, call, 1, BPF_FOR_REPLAY, &refusal);
    if (result == -EPERM || result == -ENOSYS || result == -EOPNOTSUPP) {
        print_message("no BPF maps here: %s\n", refusal.reason);
        skip();
    }
    assert_int_equal(result, 0);
    assert_int_equal(bpf_pools_init(&fixture->pools, &fixture->kernel), 0);
}

static void
close_pools(struct fixture *fixture)
{
    for (uint32_t i = 0; i < fixture->pools.count; i++) {
        const struct bpf_pool *const pool = &fixture->pools.items[i];

        assert_null(memchr(pool->in_use, 1, pool->units)); /* all of it is free */
        assert_int_equal(pool->first_free, 0);
    }
    bpf_pools_finish(&fixture->pools);
    bpf_kernel_finish(&fixture->kernel);
}

struct piece {
    void *memory;
    size_t bytes;
    unsigned char mark;
};

static uint64_t
draw(uint64_t *random, uint64_t bound)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (*random >> 33) % bound;
}

static bool
holds_only(const struct piece *piece, unsigned char mark)
{
    const unsigned char *const bytes = piece->memory;

    for (size_t i = 0; i < piece->bytes; i++) {
        if (bytes[i] != mark) {
            return false;
        }
    }
    return true;
}

static void
take__random_sizes__zero_and_nobody_elses(void **state)
{
    struct piece pieces[PIECES] = {{0}};
    struct fixture fixture;
    uint64_t random = 7;

    (void)state;
    open_pools(&fixture);
    for (int step = 0; step < STEPS; step++) {
        struct piece *const piece = &pieces[draw(&random, PIECES)];

        if (piece->memory != NULL) {
            assert_true(holds_only(piece, piece->mark));
            bpf_pools_return(&fixture.pools, piece->memory, piece->bytes);
            piece->memory = NULL;
            continue;
        }
        piece->bytes = draw(&random, 4) == 0 ? 4096 * (1 + draw(&random, 8))
                                             : 4 * (1 + draw(&random, 1024));
        piece->mark = (unsigned char)(1 + draw(&random, 255));
        assert_int_equal(bpf_pools_take(&fixture.pools, piece->bytes, &piece->memory),
                         0);
        assert_true(holds_only(piece, 0));
        assert_int_equal((uintptr_t)piece->memory % 64, 0);
        if (piece->bytes >= 4096) {
            assert_int_equal((uintptr_t)piece->memory % 4096, 0);
        }
        memset(piece->memory, piece->mark, piece->bytes);
    }
    for (int i = 0; i < PIECES; i++) {
        if (pieces[i].memory != NULL) {
            assert_true(holds_only(&pieces[i], pieces[i].mark));
            bpf_pools_return(&fixture.pools, pieces[i].memory, pieces[i].bytes);
        }
    }
    close_pools(&fixture);
}

static void
take__more_than_a_pool_has__another_pool(void **state)
{
    struct fixture fixture;
    void *first = NULL;
    void *large = NULL;
    uint64_t location = 0;

    (void)state;
    open_pools(&fixture);
    assert_int_equal(bpf_pools_take(&fixture.pools, 100, &first), 0);
    assert_int_equal(bpf_pools_take(&fixture.pools, 3u << 20, &large), 0);
    assert_int_equal(fixture.pools.count, 2);
    assert_true(bpf_pools_locate(&fixture.pools, (char *)large + 8, &location));
    assert_int_equal(location >> BPF_LOCATION_POOL_SHIFT, 1);
    assert_int_equal(location & BPF_LOCATION_COUNTER_MASK, 2);
    assert_false(bpf_pools_locate(&fixture.pools, &fixture, &location));
    bpf_pools_return(&fixture.pools, large, 3u << 20);
    bpf_pools_return(&fixture.pools, first, 100);
    close_pools(&fixture);
}

static void
take__five_pages_and_three__side_by_side(void **state)
{
    enum { PAGE = 4096 };
    struct fixture fixture;
    void *five = NULL;
    void *one = NULL;
    void *two = NULL;

    (void)state;
    open_pools(&fixture);
    assert_int_equal(bpf_pools_take(&fixture.pools, 5 * PAGE - 1, &five), 0);
    assert_int_equal(bpf_pools_take(&fixture.pools, PAGE, &one), 0);
    assert_int_equal(bpf_pools_take(&fixture.pools, 2 * PAGE, &two), 0);
    assert_ptr_equal(one, (char *)five + 5 * PAGE);
    assert_ptr_equal(two, (char *)five + 6 * PAGE);
    bpf_pools_return(&fixture.pools, five, 5 * PAGE - 1);
    bpf_pools_return(&fixture.pools, two, 2 * PAGE);
    bpf_pools_return(&fixture.pools, one, PAGE);
    close_pools(&fixture);
}

static void
take__no_memory_for_another_pool__says_so(void **state)
{
    struct fixture fixture;
    void *first = NULL;
    void *large = NULL;

    (void)state;
    open_pools(&fixture);
    assert_int_equal(bpf_pools_take(&fixture.pools, 100, &first), 0);
    refuse_maps = true;
    assert_int_equal(bpf_pools_take(&fixture.pools, 3u << 20, &large), -ENOMEM);
    assert_null(large);
    assert_int_equal(fixture.pools.count, 1);
    /* What is there still serves. */
    assert_int_equal(bpf_pools_take(&fixture.pools, 8192, &large), 0);
    bpf_pools_return(&fixture.pools, large, 8192);
    bpf_pools_return(&fixture.pools, first, 100);
    close_pools(&fixture);
}

static void
map__pages_that_were_taken__the_same_memory(void **state)
{
    struct fixture fixture;
    void *memory = NULL;
    void *mapping = NULL;

    (void)state;
    open_pools(&fixture);
    assert_int_equal(bpf_pools_take(&fixture.pools, 4096, &memory), 0);
    bpf_pools_return(&fixture.pools, memory, 4096);
    assert_int_equal(bpf_pools_take(&fixture.pools, 3 * 4096, &memory), 0);
    assert_int_equal(bpf_pools_map(&fixture.pools, memory, 3 * 4096, &mapping), 0);
    ((ULONG *)memory)[2000] = 11;
    assert_int_equal(((ULONG *)mapping)[2000], 11);
    assert_int_equal(munmap(mapping, 3 * 4096), 0);
    bpf_pools_return(&fixture.pools, memory, 3 * 4096);
    close_pools(&fixture);
}

/* Each pool costs a wait for the kernel's readers. What is given back serves again
 * without. */
static void
take__thousands_of_pages_and_pieces__few_pools_and_none_the_second_time(void **state)
{
    enum { TAKEN = 8192, POOLS = 8 };
    static void *memory[TAKEN];
    struct fixture fixture;
    size_t calls_before;

    (void)state;
    open_pools(&fixture);
    for (int round = 0; round < 2; round++) {
        calls_before = calls;
        for (size_t i = 0; i < TAKEN; i++) {
            assert_int_equal(
                bpf_pools_take(&fixture.pools, i % 4 == 0 ? 4096 : 64, &memory[i]), 0);
            *(ULONG *)memory[i] = (ULONG)i + 1;
        }
        if (round == 1) {
            assert_int_equal(calls, calls_before);
        }
        for (size_t i = 0; i < TAKEN; i++) {
            assert_int_equal(*(ULONG *)memory[i], i + 1);
            bpf_pools_return(&fixture.pools, memory[i], i % 4 == 0 ? 4096 : 64);
        }
    }
    assert_true(fixture.pools.count <= POOLS);
    close_pools(&fixture);
}

/* A caller may have its counters longer than the session that counted in them lasts. */
static void
map__pools_are_gone__mapping_stays(void **state)
{
    struct fixture fixture;
    void *memory = NULL;
    void *piece = NULL;
    void *mapping = NULL;

    (void)state;
    open_pools(&fixture);
    assert_int_equal(bpf_pools_take(&fixture.pools, 2 * 4096, &memory), 0);
    assert_int_equal(bpf_pools_take(&fixture.pools, 64, &piece), 0);
    assert_int_equal(bpf_pools_map(&fixture.pools, memory, 2 * 4096, &mapping), 0);
    ((ULONG *)memory)[1500] = 12;
    bpf_pools_finish(&fixture.pools); /* with all of it taken still */
    bpf_kernel_finish(&fixture.kernel);
    assert_int_equal(((ULONG *)mapping)[1500], 12);
    ((ULONG *)mapping)[1500] = 13;
    assert_int_equal(munmap(mapping, 2 * 4096), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take__random_sizes__zero_and_nobody_elses),
        cmocka_unit_test(take__more_than_a_pool_has__another_pool),
        cmocka_unit_test(take__five_pages_and_three__side_by_side),
        cmocka_unit_test(take__no_memory_for_another_pool__says_so),
        cmocka_unit_test(map__pages_that_were_taken__the_same_memory),
        cmocka_unit_test(
            take__thousands_of_pages_and_pieces__few_pools_and_none_the_second_time),
        cmocka_unit_test(map__pools_are_gone__mapping_stays),
    };

    return cmocka_run_group_tests_name("bpf pool", tests, NULL, NULL);
}
