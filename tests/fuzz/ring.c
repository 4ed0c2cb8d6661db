/* SPDX-License-Identifier: MIT */
/*
 * ring.c - fuzz target: forged rings of the kernel's records, through parser, merge and
 * processes.
 *
 * The first byte says where in its ring the data begins, in steps of 8 bytes, so that
 * records wrap; the second where the data is cut in two rings. A sample of odd size
 * puts what follows it out of alignment. What must hold is checked: mappings sorted and
 * apart, no process without a thread, as many mappings told as there are, and parts of
 * samples within them.
 */
#include "hal/linux/procfs.h"
#include "hal/linux/stream.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RINGS = 2, RING_BYTES_MIN = 64 };

struct world {
    struct perf_stream stream;
    struct perf_watcher watcher;
    struct perf_ring rings[RINGS];
    int64_t mapped; /* maps told, less unmaps */
    int64_t alive;
};

static void
check(int holds)
{
    if (!holds) {
        abort();
    }
}

static void
told(void *context, const ntprof_notification *notification)
{
    struct world *world = context;

    check(notification->name != NULL);
    world->mapped += notification->kind == NTPROF_IMAGE_MAP;
    world->mapped -= notification->kind == NTPROF_IMAGE_UNMAP;
    world->alive += notification->kind == NTPROF_PROCESS_START;
    world->alive -= notification->kind == NTPROF_PROCESS_EXIT;
    if (notification->kind == NTPROF_IMAGE_MAP) {
        check(notification->length > 0);
        check(notification->base + notification->length > notification->base);
    }
}

/* A ring of its own allocation, so that a sanitizer sees what is read past its end. */
static void
make_ring(struct perf_ring *ring, const uint8_t *data, size_t size, uint64_t position)
{
    uint64_t bytes = RING_BYTES_MIN;
    uint8_t *memory;

    while (bytes < size) {
        bytes *= 2;
    }
    memory = calloc(1, bytes);
    check(memory != NULL);
    position = position * 8 % bytes;
    for (size_t i = 0; i < size; i++) {
        memory[(position + i) % bytes] = data[i];
    }
    *ring = (struct perf_ring){.data = memory,
                               .size_bytes = bytes,
                               .owner_fd = -1,
                               .scratch = aligned_alloc(8, 65536)};
    ring->tail = position;
    ring->head = position + size;
}

static void
check_process(const struct perf_process *process, size_t *mappings)
{
    check(process->threads.count > 0);
    for (size_t i = 0; i < process->mappings.count; i++) {
        const struct perf_mapping *mapping = &process->mappings.items[i];

        check(mapping->length > 0 && mapping->image->references > 0);
        check(i == 0 || mapping[-1].base + mapping[-1].length <= mapping->base);
    }
    *mappings += process->mappings.count;
}

static void
check_world(const struct world *world)
{
    size_t mappings = 0;

    for (size_t i = 0; i < world->stream.processes.by_pid.capacity; i++) {
        if (world->stream.processes.by_pid.entries[i].value != NULL) {
            check_process(world->stream.processes.by_pid.entries[i].value, &mappings);
        }
    }
    check(world->mapped == (int64_t)mappings);
    check(world->alive == (int64_t)world->stream.processes.by_pid.count);
}

/* Parse a sample by a layout: what it finds lies within the sample. */
static void
parse(const struct perf_sample *sample, const struct perf_sample_layout *layout)
{
    const uintptr_t begin = (uintptr_t)(sample + 1);
    const size_t size = sample->header.size - sizeof(*sample);
    struct perf_sample_parts parts;
    uint64_t offset;

    if (perf_sample_parse(sample, layout, &parts) != 0) {
        return;
    }
    check(parts.chain_count == 0 ||
          (uintptr_t)(parts.chain + parts.chain_count) <= begin + size);
    check(parts.registers == NULL ||
          (uintptr_t)(parts.registers + layout->registers) <= begin + size);
    check(parts.stack_bytes <= parts.stack_asked && parts.stack_asked <= size);
    check(parts.stack == NULL ||
          (uintptr_t)parts.stack + parts.stack_asked <= begin + size);
    check(perf_sample_selector(sample, layout, &parts, &offset) <= 0xFFFF);
}

/* No sample without its fixed part is delivered, and none is read past its own end,
 * whatever its event is said to ask for. */
static void
on_sample(void *context, struct perf_ring *ring, const struct perf_sample *delivered)
{
    static const uint8_t registers[] = {0, PERF_SELECTOR_REGISTERS, 17, 33};
    struct perf_sample *const sample = malloc(delivered->header.size);

    (void)context;
    (void)ring;
    check(sample != NULL && delivered->header.size >= sizeof(*delivered));
    memcpy(sample, delivered, delivered->header.size);
    for (size_t i = 0; i < sizeof(registers); i++) {
        for (unsigned fields = 0; fields < 4; fields++) {
            const struct perf_sample_layout layout = {.chain = (fields & 1) != 0,
                                                      .registers = registers[i],
                                                      .stack = (fields & 2) != 0};

            parse(sample, &layout);
        }
    }
    free(sample);
}

static void
on_record(void *context, struct perf_ring *ring, const struct perf_record *record)
{
    struct world *const world = context;

    check(ring->tail < ring->head);
    process_table_apply(&world->stream.processes, record, &world->watcher);
}

static const struct perf_stream_calls calls = {.on_sample = on_sample,
                                               .on_record = on_record};

/* The same bytes as the text of /proc/PID/maps, and what a resync makes of it. */
static void
resync(struct world *world, const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);
    struct perf_mappings mappings = {0};
    const uint32_t tids[] = {1, 2};

    check(text != NULL);
    memcpy(text, data, size);
    if (perf_procfs_parse_mappings(text, &mappings) == 0) {
        struct perf_process *process = process_table_find(&world->stream.processes, 1);
        const struct perf_found found = {.pid = 1,
                                         .name = "forged",
                                         .tids = tids,
                                         .tid_count = 2,
                                         .mappings = &mappings,
                                         .read_ns = size > 0 ? data[size - 1] : 0};

        if (process != NULL) {
            process_table_resync(&world->stream.processes, process, &found, 1);
        } else {
            process_table_attach(&world->stream.processes, &found, 1, NULL);
        }
    }
    free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world world = {.watcher.descendants = true};
    const uint64_t position = size > 0 ? data[0] : 0;
    size_t cut;

    if (size < 2) {
        return 0;
    }
    cut = (size - 2) * data[1] / 255 / 8 * 8;
    process_table_init(&world.stream.processes, told, &world);
    check(perf_stream_reserve(&world.stream, RINGS) == 0);
    world.stream.calls = &calls;
    world.stream.context = &world;
    world.stream.delivering = true;
    make_ring(&world.rings[0], data + 2, cut, position);
    make_ring(&world.rings[1], data + 2 + cut, size - 2 - cut, position / 2);
    for (size_t i = 0; i < RINGS; i++) {
        perf_stream_add(&world.stream, &world.rings[i]);
    }
    perf_stream_deliver(&world.stream, UINT64_MAX);
    for (size_t i = 0; i < RINGS; i++) {
        const struct perf_event_header *const rest = perf_ring_peek(&world.rings[i]);

        check(rest == NULL || perf_record_time(rest, rest->size) == UINT64_MAX);
    }
    check_world(&world);
    resync(&world, data + 2, size - 2);
    check_world(&world);

    perf_stream_finish(&world.stream);
    for (size_t i = 0; i < RINGS; i++) {
        free((void *)(uintptr_t)world.rings[i].data);
        free(world.rings[i].scratch);
    }
    return 0;
}
