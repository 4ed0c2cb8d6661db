/* SPDX-License-Identifier: MIT */
/* hal/bpf/index.c - nodes, sets of processors, roots and statistics in the maps. */
#include "hal/bpf/index.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int
bpf_index_init(struct bpf_index *index, struct bpf_kernel *kernel)
{
    int result;

    *index = (struct bpf_index){.kernel = kernel, .table = {.epoll_fd = -1}, .sets = 1};
    result = bpf_pools_init(&index->pools, kernel);
    return result < 0 ? result : bpf_table_init(&index->table, bpf_shared_of(kernel));
}

void
bpf_index_finish(struct bpf_index *index)
{
    if (index->kernel == NULL) {
        return;
    }
    for (uint32_t i = 0; i < KI_POOL_CHUNKS; i++) {
        struct bpf_chunk *const chunk = &index->chunks[i];

        if (chunk->memory != NULL) {
            munmap(chunk->memory, chunk->bytes);
            bpf_kernel_drop_map(index->kernel, BPF_MAP_CHUNKS, i, chunk->fd);
        }
    }
    bpf_pools_finish(&index->pools);
    bpf_table_finish(&index->table);
    *index = (struct bpf_index){0};
}

void *
bpf_index_nodes(struct bpf_index *index, uint32_t chunk, size_t bytes)
{
    struct bpf_chunk *const made = &index->chunks[chunk];

    assert(chunk < KI_POOL_CHUNKS);
    assert(bytes == ((size_t)KI_POOL_FIRST_CHUNK << chunk) * KI_NODE_BYTES);
    if (chunk < BPF_FLAT_CHUNKS) {
        const size_t first =
            ((size_t)KI_POOL_FIRST_CHUNK << chunk) - KI_POOL_FIRST_CHUNK;

        return &bpf_shared_of(index->kernel)->nodes[first];
    }
    if (made->memory == NULL) {
        const int fd = bpf_kernel_add_map(index->kernel, BPF_MAP_CHUNKS, chunk,
                                          bytes / KI_NODE_BYTES, &made->memory);

        if (fd < 0) {
            return NULL;
        }
        made->fd = fd;
        made->bytes = bytes;
    }
    return made->memory;
}

/* Find a set of processors in BPF_MAP_SETS, or add it. It stays: most profiles have the
 * same few sets. Set 0, of zeros, is there from the start. The first word, processors
 * below 64, is not compared: programs have it in the profile's KI_RANGE. */
static int
find_set(struct bpf_index *index, uint32_t words, const ULONG64 *processors,
         uint32_t *number)
{
    const uint32_t set_words = index->kernel->set_words;
    const size_t set_bytes = set_words * sizeof(*processors);
    ULONG64 *const sets = index->kernel->memory[BPF_MAP_SETS];
    ULONG64 *const next = sets + (size_t)index->sets * set_words;

    *number = 0;
    if (set_words == 1) {
        return 0;
    }
    for (uint32_t word = 1; word < set_words; word++) {
        next[word] = word < words ? processors[word] : 0;
    }
    while (memcmp(sets + (size_t)*number * set_words, next, set_bytes) != 0) {
        (*number)++;
    }
    if (*number == index->sets) {
        if (index->sets == BPF_SETS - 1) {
            return -ENOMEM; /* the last one is what others are compared with */
        }
        index->sets++;
    }
    return 0;
}

int
bpf_index_locate(struct bpf_index *index, const ULONG *counter, uint32_t words,
                 const ULONG64 *processors, ULONG64 *location)
{
    uint64_t counter_bits = 0;
    uint32_t set;
    int result;

    if (counter != NULL && !bpf_pools_locate(&index->pools, counter, &counter_bits)) {
        return -ENOMEM; /* not memory of HAL_PAGES: no location can express it */
    }
    result = find_set(index, words, processors, &set);
    if (result == 0) {
        assert((counter_bits >> BPF_LOCATION_SET_SHIFT & (BPF_SETS - 1)) == 0);
        *location = counter_bits | (uint64_t)set << BPF_LOCATION_SET_SHIFT;
    }
    return result;
}

void
bpf_index_publish_global(const struct bpf_index *index, const ULONG roots[KI_TREES])
{
    struct bpf_control *const control = bpf_control_of(index->kernel);

    for (int tree = 0; tree < KI_TREES; tree++) {
        __atomic_store_n(&control->global_roots[tree], roots[tree], __ATOMIC_RELEASE);
    }
}

void
bpf_index_query(const struct bpf_index *index, uint32_t slot,
                struct bpf_statistics *sum)
{
    assert(slot < BPF_SLOTS);
    *sum = (struct bpf_statistics){0};
    for (uint32_t i = 0; i < index->kernel->processors; i++) {
        const struct bpf_statistics *const statistics =
            &bpf_processors_of(index->kernel)[i].statistics[slot];

        /* The program adds to it last, so it is at most what outside is then. */
        sum->outside_kernel +=
            __atomic_load_n(&statistics->outside_kernel, __ATOMIC_ACQUIRE);
        sum->counted += __atomic_load_n(&statistics->counted, __ATOMIC_RELAXED);
        sum->outside += __atomic_load_n(&statistics->outside, __ATOMIC_RELAXED);
    }
}

struct bpf_totals
bpf_index_totals(const struct bpf_index *index)
{
    struct bpf_totals sum = {0};

    for (uint32_t i = 0; i < index->kernel->processors; i++) {
        const struct bpf_processor *const processor =
            &bpf_processors_of(index->kernel)[i];

        sum.cut += __atomic_load_n(&processor->cut, __ATOMIC_RELAXED);
        sum.unnumbered += __atomic_load_n(&processor->unnumbered, __ATOMIC_RELAXED);
    }
    return sum;
}
