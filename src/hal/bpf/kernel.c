/* SPDX-License-Identifier: MIT */
/* hal/bpf/kernel.c - creates maps; loads and attaches the programs of profile.bpf.c. */
#include "hal/bpf/kernel.h"

#include "log/log.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An instruction into which the loader puts the descriptor of a map. */
struct bpf_map_place {
    uint32_t instruction; /* its index */
    enum bpf_map map;
};

/* A program as instructions.h has it. Functions that are to be verified only once must
 * have types (BTF); the kernel needs no types of its own (CONFIG_DEBUG_INFO_BTF) for
 * that. */
struct bpf_program_text {
    const char *name;
    const uint64_t *instructions;
    const struct bpf_map_place *maps;
    const struct bpf_func_info *functions; /* the program itself first */
    const uint32_t *types;
    uint32_t instruction_count;
    uint32_t map_count;
    uint32_t function_count;
    uint32_t types_bytes;
};

#define BPF_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define BPF_PROGRAM_TEXT(program)                                                    \
    {                                                                                \
        "ntprof_" #program, program##_instructions, program##_maps,                  \
            program##_functions, program##_types, BPF_COUNT(program##_instructions), \
            BPF_COUNT(program##_maps), BPF_COUNT(program##_functions),               \
            (uint32_t)sizeof(program##_types)                                        \
    }

#include "hal/bpf/instructions.h"

#ifdef BPF_NO_PROGRAMS
static const struct bpf_program_text bpf_programs[BPF_PROGRAMS];
#endif

/* Size of the verifier's log; and how often loading a program is repeated when a signal
 * interrupts it. */
enum { LOG_BYTES = 1 << 20, LOAD_ATTEMPTS = 100 };

long
bpf_call_kernel(int command, union bpf_attr *attr, size_t bytes)
{
    const long result = syscall(SYS_bpf, command, attr, (unsigned)bytes);

    return result < 0 ? -errno : result;
}

/* ---- maps ---- */

struct map_kind {
    const char *name;
    uint32_t value_bytes;
    uint32_t elements;
    uint32_t flags;
    const struct map_kind *inner; /* of an array of maps; NULL: an array of values */
};

/* The maps in arrays of maps; each has its own number of elements. */
static const struct map_kind node_chunk = {"nt_chunk", KI_NODE_BYTES, 1,
                                           BPF_F_MMAPABLE | BPF_F_INNER_MAP, NULL};
static const struct map_kind counter_pool = {"nt_pool", BPF_PAGE_BYTES, 1,
                                             BPF_F_MMAPABLE | BPF_F_INNER_MAP, NULL};

/* Return the layout of one of the session's maps. */
static struct map_kind
kind_of(const struct bpf_kernel *kernel, enum bpf_map map)
{
    const uint32_t mapped = BPF_F_MMAPABLE;
    const uint32_t set_words = kernel->set_words > 1 ? BPF_SETS * kernel->set_words : 1;
    const struct map_kind kinds[BPF_MAPS] = {
        [BPF_MAP_SHARED] = {"nt_shared", sizeof(union bpf_shared), 1, mapped, NULL},
        [BPF_MAP_PROCESSORS] = {"nt_processors", sizeof(struct bpf_processor),
                                kernel->processors, mapped, NULL},
        [BPF_MAP_SETS] = {"nt_sets", sizeof(ULONG64), set_words, mapped, NULL},
        [BPF_MAP_FLAT] = {"nt_flat", sizeof(struct bpf_flat), 1, mapped, NULL},
        [BPF_MAP_CHUNKS] = {"nt_chunks", sizeof(uint32_t), KI_POOL_CHUNKS, 0,
                            &node_chunk},
        [BPF_MAP_POOLS] = {"nt_pools", sizeof(uint32_t), BPF_POOLS, 0, &counter_pool},
    };

    return kinds[map];
}

/* Create a map that is not mapped. Returns its descriptor or negative errno. */
static int
create_map(const struct bpf_kernel *kernel, const struct map_kind *kind)
{
    union bpf_attr attr;
    int inner_fd = 0;
    int fd;

    memset(&attr, 0, sizeof(attr));
    attr.map_type = BPF_MAP_TYPE_ARRAY;
    if (kind->inner != NULL) {
        /* The kernel wants an example of the maps that will be in it. */
        inner_fd = create_map(kernel, kind->inner);
        if (inner_fd < 0) {
            return inner_fd;
        }
        attr.map_type = BPF_MAP_TYPE_ARRAY_OF_MAPS;
        attr.inner_map_fd = (uint32_t)inner_fd;
    }
    attr.key_size = sizeof(uint32_t);
    attr.value_size = kind->value_bytes;
    attr.max_entries = kind->elements;
    attr.map_flags = kind->flags;
    snprintf(attr.map_name, sizeof(attr.map_name), "%s", kind->name);
    fd = (int)kernel->call(BPF_MAP_CREATE, &attr, sizeof(attr));
    if (kind->inner != NULL) {
        close(inner_fd);
    }
    return fd;
}

/* Return the size of a map's memory: whole pages. */
static size_t
mapped_bytes(const struct map_kind *kind)
{
    const size_t bytes = (size_t)kind->value_bytes * kind->elements;

    return (bytes + (BPF_PAGE_BYTES - 1)) & ~(size_t)(BPF_PAGE_BYTES - 1);
}

/* Map the memory of a map into this process. Returns 0 or negative errno. */
static int
map_memory(int fd, size_t bytes, void **memory)
{
    void *const mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (mapped == MAP_FAILED) {
        return -errno;
    }
    *memory = mapped;
    return 0;
}

/* Create one of the session's maps, and map its memory if it is of a type that can be
 * mapped. */
static int
make_map(struct bpf_kernel *kernel, enum bpf_map map, struct perf_refusal *refusal)
{
    const struct map_kind kind = kind_of(kernel, map);
    int result = create_map(kernel, &kind);

    if (result < 0) {
        bpf_refusal_explain(result, BPF_STAGE_MAP, refusal);
        return result;
    }
    kernel->maps[map] = result;
    if ((kind.flags & BPF_F_MMAPABLE) == 0) {
        return 0;
    }
    kernel->bytes[map] = mapped_bytes(&kind);
    LOG_DEBUG("map %d of a session: descriptor %d, %zu bytes", (int)map, result,
              kernel->bytes[map]);
    result = map_memory(kernel->maps[map], kernel->bytes[map], &kernel->memory[map]);
    if (result < 0) {
        bpf_refusal_explain(result, BPF_STAGE_MAP, refusal);
    }
    return result;
}

/* Put a map (fd) into an array of maps at an index. */
static int
update_map(const struct bpf_kernel *kernel, int map_fd, uint32_t at, int fd)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.map_fd = (uint32_t)map_fd;
    attr.key = (uintptr_t)&at;
    attr.value = (uintptr_t)&fd;
    return (int)kernel->call(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr));
}

int
bpf_kernel_add_map(struct bpf_kernel *kernel, enum bpf_map into, uint32_t at,
                   size_t elements, void **memory)
{
    struct map_kind kind = *kind_of(kernel, into).inner;
    void *mapped = NULL;
    int fd;
    int result;

    assert(at < kind_of(kernel, into).elements);
    kind.elements = (uint32_t)elements;
    fd = create_map(kernel, &kind);
    if (fd < 0) {
        return fd;
    }
    result = map_memory(fd, mapped_bytes(&kind), &mapped);
    if (result < 0) {
        goto close_fd;
    }
    result = update_map(kernel, kernel->maps[into], at, fd);
    if (result < 0) {
        goto unmap;
    }
    *memory = mapped;
    return fd;

unmap:
    munmap(mapped, mapped_bytes(&kind));
close_fd:
    close(fd);
    return result;
}

void
bpf_kernel_drop_map(struct bpf_kernel *kernel, enum bpf_map from, uint32_t at, int fd)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.map_fd = (uint32_t)kernel->maps[from];
    attr.key = (uintptr_t)&at;
    (void)kernel->call(BPF_MAP_DELETE_ELEM, &attr, sizeof(attr));
    close(fd);
}

/* ---- programs ---- */

/* Load a refused program once more, with a log, and keep the last line of the log
 * before its statistics. */
static void
ask_why(const struct bpf_kernel *kernel, union bpf_attr *attr,
        struct perf_refusal *refusal)
{
    char *log = calloc(1, LOG_BYTES);
    char *rest = log;
    const char *line;
    long fd;

    if (log == NULL) {
        return;
    }
    attr->log_level = 1;
    attr->log_buf = (uintptr_t)log;
    attr->log_size = LOG_BYTES;
    fd = kernel->call(BPF_PROG_LOAD, attr, sizeof(*attr));
    if (fd >= 0) {
        close((int)fd);
    }
    log[LOG_BYTES - 1] = 0;
    while ((line = strsep(&rest, "\n")) != NULL &&
           strncmp(line, "processed ", strlen("processed ")) != 0) {
        if (line[0] != 0) {
            snprintf(refusal->log, sizeof(refusal->log), "%s", line);
        }
    }
    free(log);
}

/* Load the types (BTF) of a program's functions. Returns a descriptor, or negative
 * errno with the refusal. */
static int
load_types(const struct bpf_kernel *kernel, const struct bpf_program_text *text,
           struct perf_refusal *refusal)
{
    union bpf_attr attr;
    int fd;

    memset(&attr, 0, sizeof(attr));
    attr.btf = (uintptr_t)text->types;
    attr.btf_size = text->types_bytes;
    fd = (int)kernel->call(BPF_BTF_LOAD, &attr, sizeof(attr));
    if (fd < 0) {
        bpf_refusal_explain(fd, BPF_STAGE_MAP, refusal);
    }
    return fd;
}

/* Has a load failed because of the program itself, so that the verifier has written a
 * log? */
static bool
is_of_verifier(long result)
{
    return result != -EPERM && result != -ENOSYS && result != -ENOMEM &&
           result != -EAGAIN;
}

/* Have the verifier check a program. Returns its descriptor, or negative errno with the
 * refusal. */
static int
load_instructions(const struct bpf_kernel *kernel, const struct bpf_program_text *text,
                  uint32_t type, int types_fd, const uint64_t *instructions,
                  struct perf_refusal *refusal)
{
    static const char license[] = "Dual MIT/GPL";
    union bpf_attr attr;
    long result = -EAGAIN;

    memset(&attr, 0, sizeof(attr));
    attr.prog_type = type;
    attr.insns = (uintptr_t)instructions;
    attr.insn_cnt = text->instruction_count;
    attr.license = (uintptr_t)license;
    attr.prog_btf_fd = (uint32_t)types_fd;
    attr.func_info_rec_size = sizeof(text->functions[0]);
    attr.func_info = (uintptr_t)text->functions;
    attr.func_info_cnt = text->function_count;
    snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", text->name);
    /* A signal interrupts the verifier, which then starts anew. */
    for (int i = 0; i < LOAD_ATTEMPTS && result == -EAGAIN; i++) {
        result = kernel->call(BPF_PROG_LOAD, &attr, sizeof(attr));
    }
    if (result < 0) {
        refusal->log[0] = 0;
        if (is_of_verifier(result)) {
            ask_why(kernel, &attr, refusal);
        }
        bpf_refusal_explain((int)result, BPF_STAGE_PROGRAM, refusal);
    }
    return (int)result;
}

/* Copy a program's instructions with the session's maps in them. NULL if memory runs
 * out. */
static uint64_t *
copy_instructions(const struct bpf_kernel *kernel, const struct bpf_program_text *text)
{
    uint64_t *const copy = calloc(text->instruction_count, sizeof(*copy));

    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, text->instructions, text->instruction_count * sizeof(*copy));
    for (uint32_t i = 0; i < text->map_count; i++) {
        const struct bpf_map_place *const place = &text->maps[i];

        assert(place->instruction < text->instruction_count);
        copy[place->instruction] |= (uint64_t)(uint32_t)kernel->maps[place->map] << 32;
    }
    return copy;
}

/* Load a program with the descriptors of the session's maps in it. Returns 0, or
 * negative errno with the refusal. */
static int
load_program(struct bpf_kernel *kernel, enum bpf_program program,
             struct perf_refusal *refusal)
{
    const struct bpf_program_text *const text = &bpf_programs[program];
    const uint32_t type = program == BPF_PROGRAM_SAMPLE ? BPF_PROG_TYPE_PERF_EVENT
                                                        : BPF_PROG_TYPE_RAW_TRACEPOINT;
    uint64_t *const instructions = copy_instructions(kernel, text);
    int types_fd;
    int result;

    if (instructions == NULL) {
        bpf_refusal_explain(-ENOMEM, BPF_STAGE_PROGRAM, refusal);
        return -ENOMEM;
    }
    types_fd = load_types(kernel, text, refusal);
    result = types_fd;
    if (types_fd >= 0) {
        result = load_instructions(kernel, text, type, types_fd, instructions, refusal);
        close(types_fd);
    }
    free(instructions);
    if (result < 0) {
        return result;
    }
    kernel->programs[program] = result;
    return 0;
}

/* ---- make and finish ---- */

/* Create all maps, and load the programs for a purpose. After a failure the caller
 * closes what there is. */
static int
make_all(struct bpf_kernel *kernel, enum bpf_purpose purpose,
         struct perf_refusal *refusal)
{
    int result = 0;

    for (int i = 0; result == 0 && i < BPF_MAPS; i++) {
        result = make_map(kernel, (enum bpf_map)i, refusal);
    }
    for (int i = 0; result == 0 && i < BPF_PROGRAMS; i++) {
        if ((i == BPF_PROGRAM_REPLAY) == (purpose == BPF_FOR_REPLAY)) {
            result = load_program(kernel, (enum bpf_program)i, refusal);
        }
    }
    return result;
}

int
bpf_kernel_make(struct bpf_kernel *kernel, bpf_call *call, uint32_t processors,
                enum bpf_purpose purpose, struct perf_refusal *refusal)
{
    int result;

    *refusal = (struct perf_refusal){0};
    *kernel = (struct bpf_kernel){
        .call = call,
        .processors = processors,
        .set_words = (processors + 63) / 64,
    };
    for (int i = 0; i < BPF_MAPS; i++) {
        kernel->maps[i] = -1;
    }
    for (int i = 0; i < BPF_PROGRAMS; i++) {
        kernel->programs[i] = -1;
    }
    if (bpf_programs[BPF_PROGRAM_SAMPLE].instructions == NULL) {
        snprintf(refusal->reason, sizeof(refusal->reason),
                 "the library has no BPF program for this processor architecture");
        return -EOPNOTSUPP;
    }
    if (sysconf(_SC_PAGESIZE) != BPF_PAGE_BYTES) {
        snprintf(refusal->reason, sizeof(refusal->reason),
                 "pages have %ld bytes here, and counters are in pages of 4096",
                 sysconf(_SC_PAGESIZE));
        return -EOPNOTSUPP;
    }
    result = make_all(kernel, purpose, refusal);
    if (result < 0) {
        bpf_kernel_finish(kernel);
        return result;
    }
    bpf_control_of(kernel)->set_words = kernel->set_words;
    return 0;
}

void
bpf_kernel_finish(struct bpf_kernel *kernel)
{
    if (kernel->call == NULL) {
        return;
    }
    for (int i = 0; i < BPF_PROGRAMS; i++) {
        if (kernel->programs[i] >= 0) {
            close(kernel->programs[i]);
        }
    }
    for (int i = 0; i < BPF_MAPS; i++) {
        if (kernel->memory[i] != NULL) {
            munmap(kernel->memory[i], kernel->bytes[i]);
        }
        if (kernel->maps[i] >= 0) {
            close(kernel->maps[i]);
        }
    }
    *kernel = (struct bpf_kernel){0};
}

/* ---- attaching and waiting ---- */

int
bpf_kernel_attach_event(const struct bpf_kernel *kernel, int event_fd, uint64_t cookie)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.link_create.prog_fd = (uint32_t)kernel->programs[BPF_PROGRAM_SAMPLE];
    attr.link_create.target_fd = (uint32_t)event_fd;
    attr.link_create.attach_type = BPF_PERF_EVENT;
    attr.link_create.perf_event.bpf_cookie = cookie;
    return (int)kernel->call(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int
bpf_kernel_attach_tracepoint(const struct bpf_kernel *kernel, enum bpf_program program)
{
    const char *const name =
        program == BPF_PROGRAM_EXEC ? "sched_process_exec" : "sched_process_exit";
    union bpf_attr attr;

    assert(program == BPF_PROGRAM_EXEC || program == BPF_PROGRAM_EXIT);
    memset(&attr, 0, sizeof(attr));
    attr.raw_tracepoint.name = (uintptr_t)name;
    attr.raw_tracepoint.prog_fd = (uint32_t)kernel->programs[program];
    return (int)kernel->call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

/* After so many reads of a processor's counts, waiting by membarrier costs less: the
 * program takes so long because its virtual processor is not running. */
enum { READS = 2000 };

/* Wait until as many programs have left the processor as had entered it. */
static void
wait_for_processor(const struct bpf_processor *processor, uint64_t entered)
{
    int reads = 0;

    while (__atomic_load_n(&processor->left, __ATOMIC_ACQUIRE) < entered) {
        if (++reads == READS) {
            /* Waits for all read-side sections, and every program runs in one. */
            (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
            reads = 0;
        }
        sched_yield();
    }
}

void
bpf_kernel_wait(const struct bpf_kernel *kernel)
{
    const struct bpf_processor *const processors = bpf_processors_of(kernel);

    /* Pairs with the barrier of enter() in profile.bpf.c: a program that has not
     * entered yet sees what was stored before; one that has is seen here and waited
     * for. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < kernel->processors; i++) {
        const struct bpf_processor *const processor = &processors[i];

        wait_for_processor(processor,
                           __atomic_load_n(&processor->entered, __ATOMIC_ACQUIRE));
    }
}
