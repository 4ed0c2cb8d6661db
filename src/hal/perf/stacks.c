/* SPDX-License-Identifier: MIT */
/* hal/perf/stacks.c - asks for copies of user stacks, and reports them. */
#include "hal/perf/stacks.h"

#include "hal/linux/procfs.h"
#include "hal/linux/stack.h"
#include "log/log.h"

#include <assert.h>
#include <errno.h>

/* ---- how much is copied ---- */

void
perf_stacks_init(struct perf *perf, const HAL_OPEN *open)
{
    long depth;

    if (open->StackBytes == 0) {
        return;
    }
    depth = perf_procfs_setting("kernel/perf_event_max_stack", PERF_STACK_CHAIN_MAX);
    if (depth > PERF_STACK_CHAIN_MAX) {
        depth = PERF_STACK_CHAIN_MAX;
    }
    perf->stacks = (struct perf_stacks){.report = open->Stack,
                                        .asked = open->StackBytes,
                                        .chain_depth = (uint16_t)depth};
}

/* Return the time between two hits of ProfileTime. */
static uint64_t
period_ns(const struct perf *perf)
{
    return perf_source_period(perf_sources_find(&perf->context.sources, ProfileTime));
}

/* Return for how many bytes of stack rings of this size have room. */
static size_t
grant(const struct perf *perf, size_t ring_bytes)
{
    return perf_stack_grant(perf->stacks.asked, ring_bytes, period_ns(perf),
                            perf->context.kernel);
}

/* Set how many bytes of stack events copy that are opened from now on. record_bytes
 * never gets smaller, since open events go on with what they were opened with. */
static void
set_granted(struct perf *perf, size_t bytes)
{
    const size_t record_bytes = perf_stack_record_bytes(bytes, perf->context.kernel);

    perf->stacks.granted = (uint32_t)bytes;
    if (record_bytes > perf->stacks.record_bytes) {
        perf->stacks.record_bytes = record_bytes;
    }
    LOG_DEBUG("stacks: %zu bytes a hit, of %u asked", bytes, perf->stacks.asked);
}

int
perf_stacks_settle(struct perf *perf, size_t ring_bytes)
{
    size_t bytes;

    if (perf->stacks.asked == 0) {
        return 0;
    }
    bytes = grant(perf, ring_bytes);
    if (bytes < PERF_STACK_BYTES_MIN) {
        return perf_context_fail(
            &perf->context, -EOPNOTSUPP,
            "cannot copy stacks: with a hit each %llu us, rings of %zu bytes have room "
            "for %zu bytes of each stack, and at least %d are needed: set a longer "
            "interval of time, or allow larger rings by kernel.perf_event_mlock_kb",
            (unsigned long long)period_ns(perf) / 1000, ring_bytes, bytes,
            (int)PERF_STACK_BYTES_MIN);
    }
    set_granted(perf, bytes);
    return 0;
}

void
perf_stacks_adapt(struct perf *perf)
{
    size_t bytes;

    if (perf->stacks.granted == 0) {
        return; /* none are asked for, or there are no rings yet */
    }
    bytes = grant(perf, perf->ring_bytes);
    set_granted(perf, bytes > PERF_STACK_BYTES_MIN ? bytes : PERF_STACK_BYTES_MIN);
}

void
perf_stacks_request(const struct perf *perf, struct perf_event_request *request)
{
    if (request->source != NULL && request->source->number == ProfileTime) {
        assert(perf->stacks.asked == 0 || perf->stacks.granted != 0);
        request->stack_bytes = perf->stacks.granted;
        request->chain_depth = perf->stacks.chain_depth;
    }
}

/* ---- reports ---- */

/* Copy the addresses of a chain, without the marks between them. Returns how many. */
static uint32_t
copy_chain(const struct perf_sample_parts *parts, uint64_t *addresses)
{
    uint32_t count = 0;

    for (size_t i = 0; i < parts->chain_count && count < PERF_STACK_CHAIN_MAX; i++) {
        if (parts->chain[i] < PERF_CONTEXT_MAX) {
            addresses[count++] = parts->chain[i];
        }
    }
    return count;
}

void
perf_stacks_report(const struct perf *perf, const ntprof_hit *hit,
                   const struct perf_sample_parts *parts)
{
    uint64_t registers[PERF_STACK_REGISTERS + 1];
    uint64_t chain[PERF_STACK_CHAIN_MAX];
    ntprof_stack stack = {
        .size = sizeof(stack),
        .source = hit->source,
        .processor = hit->processor,
        .pid = hit->pid,
        .tid = hit->tid,
        .mode = hit->mode,
        .address = hit->address,
        .time_ns = hit->time_ns,
        .registers = registers,
        .kernel_chain = chain,
        .kernel_count = copy_chain(parts, chain),
        .stack = parts->stack,
        .stack_asked = (uint32_t)parts->stack_asked,
        .stack_bytes = (uint32_t)parts->stack_bytes,
    };

    if (parts->registers != NULL) {
        perf_stack_order_registers(parts->registers, registers);
        stack.register_count = PERF_STACK_REGISTERS;
        stack.word_bytes = parts->abi == PERF_SAMPLE_REGS_ABI_32 ? 4 : 8;
    }
    perf->stacks.report(perf->hit_context, &stack);
}
