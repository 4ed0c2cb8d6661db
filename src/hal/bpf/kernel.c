/* SPDX-License-Identifier: MIT */
/* hal/bpf/kernel.c - making and attaching what profile.bpf.c is and needs. */
#include "hal/bpf/kernel.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct bpf_map_place {
    uint32_t instruction; /* which loads the map */
    enum bpf_map map;
};

struct bpf_function {
    uint32_t first; /* instruction */
    const char *name;
};

struct bpf_program_text {
    const uint64_t *instructions;
    const struct bpf_map_place *maps;
    const struct bpf_function *functions; /* the program itself first */
    uint32_t instruction_count;
    uint32_t map_count;
    uint32_t function_count;
};

#define BPF_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define BPF_PROGRAM_TEXT(name)                                      \
    {                                                               \
        name##_instructions, name##_maps, name##_functions,         \
            BPF_COUNT(name##_instructions), BPF_COUNT(name##_maps), \
            BPF_COUNT(name##_functions)                             \
    }

#include "hal/bpf/instructions.h"

#ifdef BPF_NO_PROGRAMS
static const struct bpf_program_text bpf_programs[BPF_PROGRAMS];
#endif

enum { LOG_BYTES = 1 << 20, LOADS = 100 };

long
bpf_call_kernel(int command, union bpf_attr *attr, size_t bytes)
{
    const long result = syscall(SYS_bpf, command, attr, (unsigned)bytes);

    return result < 0 ? -errno : result;
}

/* ---- maps ---- */

struct map_kind {
    uint32_t type;
    uint32_t value_bytes;
    uint32_t elements;
    uint32_t flags;
    const char *name;
};

static struct map_kind
kind_of(const struct bpf_kernel *kernel, enum bpf_map map)
{
    const uint32_t shared = BPF_F_MMAPABLE;
    const uint32_t array = BPF_MAP_TYPE_ARRAY;
    const uint32_t processors = kernel->processors;
    const uint32_t set_elements =
        kernel->set_words > 1 ? BPF_SETS * kernel->set_words : 1;

    switch (map) {
    case BPF_MAP_SHARED:
        return (struct map_kind){array, sizeof(union bpf_shared), 1, shared,
                                 "nt_shared"};
    case BPF_MAP_PROCESSORS:
        return (struct map_kind){array, sizeof(struct bpf_processor), processors,
                                 shared, "nt_processors"};
    case BPF_MAP_SETS:
        return (struct map_kind){array, sizeof(ULONG64), set_elements, shared,
                                 "nt_sets"};
    case BPF_MAP_FLAT:
        return (struct map_kind){array, sizeof(struct bpf_flat), 1, shared, "nt_flat"};
    case BPF_MAP_CHUNKS:
        return (struct map_kind){BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(uint32_t),
                                 KI_POOL_CHUNKS, 0, "nt_chunks"};
    default:
        return (struct map_kind){BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(uint32_t),
                                 BPF_POOLS, 0, "nt_pools"};
    }
}

/* What the maps in an array of maps are; elements differ. */
static struct map_kind
inner_kind(enum bpf_map outer, uint32_t elements)
{
    struct map_kind kind = {.type = BPF_MAP_TYPE_ARRAY,
                            .elements = elements,
                            .flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP};

    if (outer == BPF_MAP_CHUNKS) {
        kind.value_bytes = KI_NODE_BYTES;
        kind.name = "nt_chunk";
    } else {
        kind.value_bytes = BPF_PAGE_BYTES;
        kind.name = "nt_pool";
    }
    return kind;
}

static int
create_map(const struct bpf_kernel *kernel, const struct map_kind *kind, int inner_fd)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.map_type = kind->type;
    attr.key_size = sizeof(uint32_t);
    attr.value_size = kind->value_bytes;
    attr.max_entries = kind->elements;
    attr.map_flags = kind->flags;
    attr.inner_map_fd = (uint32_t)inner_fd;
    snprintf(attr.map_name, sizeof(attr.map_name), "%s", kind->name);
    return (int)kernel->call(BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* An array of maps needs one of them to know what they are. */
static int
create_outer_map(const struct bpf_kernel *kernel, enum bpf_map map)
{
    const struct map_kind inner = inner_kind(map, 1);
    const struct map_kind outer = kind_of(kernel, map);
    const int inner_fd = create_map(kernel, &inner, 0);
    int fd;

    if (inner_fd < 0) {
        return inner_fd;
    }
    fd = create_map(kernel, &outer, inner_fd);
    close(inner_fd);
    return fd;
}

static size_t
mapped_bytes(const struct map_kind *kind)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = (size_t)kind->value_bytes * kind->elements;

    return (bytes + (page_bytes - 1)) & ~(page_bytes - 1);
}

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

static int
make_map(struct bpf_kernel *kernel, enum bpf_map map, struct bpf_refusal *refusal)
{
    const struct map_kind kind = kind_of(kernel, map);
    int result;

    if (kind.type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
        result = create_outer_map(kernel, map);
    } else {
        result = create_map(kernel, &kind, 0);
    }
    if (result < 0) {
        bpf_refusal_explain(result, BPF_STAGE_MAP, refusal);
        return result;
    }
    kernel->maps[map] = result;
    if ((kind.flags & BPF_F_MMAPABLE) != 0) {
        kernel->bytes[map] = mapped_bytes(&kind);
        result =
            map_memory(kernel->maps[map], kernel->bytes[map], &kernel->memory[map]);
        if (result < 0) {
            bpf_refusal_explain(result, BPF_STAGE_MEMORY, refusal);
            return result;
        }
    }
    return 0;
}

static int
update_map(const struct bpf_kernel *kernel, int map_fd, uint32_t at, int fd)
{
    union bpf_attr attr;
    const uint32_t value = (uint32_t)fd;

    memset(&attr, 0, sizeof(attr));
    attr.map_fd = (uint32_t)map_fd;
    attr.key = (uintptr_t)&at;
    attr.value = (uintptr_t)&value;
    return (int)kernel->call(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr));
}

int
bpf_kernel_add_map(struct bpf_kernel *kernel, enum bpf_map into, uint32_t at,
                   size_t elements, void **memory)
{
    const struct map_kind kind = inner_kind(into, (uint32_t)elements);
    const size_t bytes = mapped_bytes(&kind);
    void *mapped = NULL;
    int fd;
    int result;

    fd = create_map(kernel, &kind, 0);
    if (fd < 0) {
        return fd;
    }
    result = map_memory(fd, bytes, &mapped);
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
    munmap(mapped, bytes);
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

/* ---- types ---- */

/*
 * Functions that the verifier looks at once must have types (BTF), which the kernel
 * knows without having any of its own. All of ours take a number and return one;
 * programs are not looked at.
 */
enum {
    TYPE_INT = 1,
    TYPE_PROGRAM, /* a prototype without arguments */
    TYPE_FUNCTION,
    TYPE_FIRST, /* the program; its functions follow */
    FUNCTIONS_MAX = 8,
    STRINGS_BYTES = 256
};

struct types {
    struct btf_header header;
    struct {
        struct btf_type type;
        uint32_t encoding;
    } number;
    struct btf_type program;
    struct {
        struct btf_type type;
        struct btf_param argument;
    } function;
    struct btf_type functions[FUNCTIONS_MAX];
    char strings[STRINGS_BYTES]; /* moved up to the last function */
};

_Static_assert(offsetof(struct types, strings) ==
                   sizeof(struct btf_header) + 4 * sizeof(struct btf_type) -
                       sizeof(struct btf_type) + sizeof(uint32_t) +
                       sizeof(struct btf_param) +
                       FUNCTIONS_MAX * sizeof(struct btf_type),
               "types have no gaps");

static struct btf_type
type_of(uint32_t name, uint32_t kind, uint32_t information, uint32_t size_or_type)
{
    return (struct btf_type){
        .name_off = name,
        .info = kind << 24 | information,
        .size = size_or_type,
    };
}

/* A name's place among the strings, which it is added to. */
static uint32_t
add_name(struct types *types, const char *name)
{
    const uint32_t at = types->header.str_len;
    const size_t room = STRINGS_BYTES - at;
    const int length = snprintf(types->strings + at, room, "%s", name);

    types->header.str_len += (uint32_t)((size_t)length < room ? (size_t)length + 1 : 0);
    return at;
}

/* Fills in the types of a program and its functions. Returns their bytes. */
static size_t
fill_types(struct types *types, const struct bpf_program_text *text)
{
    const size_t functions_bytes = text->function_count * sizeof(struct btf_type);
    uint32_t name;

    *types = (struct types){
        .header = {.magic = 0xEB9F, .version = 1, .hdr_len = sizeof(types->header)},
    };
    types->header.str_len = 1; /* the first string is empty */
    name = add_name(types, "int");
    types->number.type = type_of(name, BTF_KIND_INT, 0, sizeof(int));
    types->number.encoding = 8 * sizeof(int);
    types->program = type_of(0, BTF_KIND_FUNC_PROTO, 0, TYPE_INT);
    types->function.type = type_of(0, BTF_KIND_FUNC_PROTO, 1, TYPE_INT);
    types->function.argument = (struct btf_param){.name_off = name, .type = TYPE_INT};
    for (uint32_t i = 0; i < text->function_count; i++) {
        name = add_name(types, text->functions[i].name);
        types->functions[i] = type_of(name, BTF_KIND_FUNC, BTF_FUNC_GLOBAL,
                                      i == 0 ? TYPE_PROGRAM : TYPE_FUNCTION);
    }
    types->header.type_len = (uint32_t)(offsetof(struct types, functions) -
                                        sizeof(struct btf_header) + functions_bytes);
    types->header.str_off = types->header.type_len;
    memmove((char *)types->functions + functions_bytes, types->strings,
            types->header.str_len);
    return sizeof(struct btf_header) + types->header.str_off + types->header.str_len;
}

static int
load_types(const struct bpf_kernel *kernel, const struct bpf_program_text *text)
{
    struct types types;
    union bpf_attr attr;

    if (text->function_count > FUNCTIONS_MAX) {
        return -E2BIG;
    }
    memset(&attr, 0, sizeof(attr));
    attr.btf_size = (uint32_t)fill_types(&types, text);
    attr.btf = (uintptr_t)&types;
    return (int)kernel->call(BPF_BTF_LOAD, &attr, sizeof(attr));
}

/* ---- programs ---- */

/* The last line of the log but for the verifier's statistics. */
static void
keep_log_end(char *log, char *end, size_t end_bytes)
{
    char *last;
    size_t length;

    last = strstr(log, "\nprocessed ");
    if (last != NULL) {
        *last = 0;
    }
    length = strlen(log);
    while (length > 0 && log[length - 1] == '\n') {
        log[--length] = 0;
    }
    last = strrchr(log, '\n');
    snprintf(end, end_bytes, "%s", last != NULL ? last + 1 : log);
    for (char *at = end; *at != 0; at++) {
        if (*at < ' ' || *at > '~') {
            *at = ' ';
        }
    }
}

/* Again, to be told why. */
static void
ask_why(const struct bpf_kernel *kernel, union bpf_attr *attr,
        struct bpf_refusal *refusal)
{
    char *log = calloc(1, LOG_BYTES);
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
    keep_log_end(log, refusal->log, sizeof(refusal->log));
    free(log);
}

static void
place_maps(const struct bpf_kernel *kernel, const struct bpf_program_text *text,
           uint64_t *instructions)
{
    memcpy(instructions, text->instructions,
           text->instruction_count * sizeof(*instructions));
    for (uint32_t i = 0; i < text->map_count; i++) {
        const struct bpf_map_place *const place = &text->maps[i];

        instructions[place->instruction] |= (uint64_t)(uint32_t)kernel->maps[place->map]
                                            << 32;
    }
}

/* A signal ends the verifier's work; who gets many of them has it begin anew. */
static long
load_in_spite_of_signals(const struct bpf_kernel *kernel, union bpf_attr *attr)
{
    long result = -EAGAIN;

    for (int i = 0; i < LOADS && result == -EAGAIN; i++) {
        result = kernel->call(BPF_PROG_LOAD, attr, sizeof(*attr));
    }
    return result;
}

static bool
is_of_verifier(long result)
{
    return result != -EPERM && result != -ENOSYS && result != -ENOMEM &&
           result != -EAGAIN;
}

static int
load_text(const struct bpf_kernel *kernel, const struct bpf_program_text *text,
          uint32_t type, int types_fd, const uint64_t *instructions,
          struct bpf_refusal *refusal)
{
    static const char license[] = "Dual MIT/GPL";
    struct bpf_func_info functions[FUNCTIONS_MAX];
    union bpf_attr attr;
    long result;

    for (uint32_t i = 0; i < text->function_count; i++) {
        functions[i] = (struct bpf_func_info){.insn_off = text->functions[i].first,
                                              .type_id = TYPE_FIRST + i};
    }
    memset(&attr, 0, sizeof(attr));
    attr.prog_type = type;
    attr.insns = (uintptr_t)instructions;
    attr.insn_cnt = text->instruction_count;
    attr.license = (uintptr_t)license;
    attr.prog_btf_fd = (uint32_t)types_fd;
    attr.func_info_rec_size = sizeof(functions[0]);
    attr.func_info = (uintptr_t)functions;
    attr.func_info_cnt = text->function_count;
    snprintf(attr.prog_name, sizeof(attr.prog_name), "ntprof_%.6s",
             text->functions[0].name);
    result = load_in_spite_of_signals(kernel, &attr);
    if (result < 0) {
        refusal->log[0] = 0;
        if (is_of_verifier(result)) {
            ask_why(kernel, &attr, refusal);
        }
        bpf_refusal_explain((int)result, BPF_STAGE_PROGRAM, refusal);
    }
    return (int)result;
}

static int
load_program(struct bpf_kernel *kernel, enum bpf_program program, uint32_t type,
             struct bpf_refusal *refusal)
{
    const struct bpf_program_text *const text = &bpf_programs[program];
    uint64_t *instructions;
    int types_fd;
    int result;

    types_fd = load_types(kernel, text);
    if (types_fd < 0) {
        bpf_refusal_explain(types_fd, BPF_STAGE_TYPES, refusal);
        return types_fd;
    }
    instructions = calloc(text->instruction_count, sizeof(uint64_t));
    if (instructions == NULL) {
        result = -ENOMEM;
        bpf_refusal_explain(result, BPF_STAGE_PROGRAM, refusal);
        goto close_types;
    }
    place_maps(kernel, text, instructions);
    result = load_text(kernel, text, type, types_fd, instructions, refusal);
    if (result >= 0) {
        kernel->programs[program] = result;
        result = 0;
    }
    free(instructions);
close_types:
    close(types_fd);
    return result;
}

static int
load_all(struct bpf_kernel *kernel, enum bpf_purpose purpose,
         struct bpf_refusal *refusal)
{
    const uint32_t raw = BPF_PROG_TYPE_RAW_TRACEPOINT;
    int result;

    if (purpose == BPF_FOR_REPLAY) {
        return load_program(kernel, BPF_PROGRAM_REPLAY, raw, refusal);
    }
    result =
        load_program(kernel, BPF_PROGRAM_SAMPLE, BPF_PROG_TYPE_PERF_EVENT, refusal);
    if (result == 0) {
        result = load_program(kernel, BPF_PROGRAM_EXEC, raw, refusal);
    }
    return result == 0 ? load_program(kernel, BPF_PROGRAM_EXIT, raw, refusal) : result;
}

/* ---- all of it ---- */

int
bpf_kernel_make(struct bpf_kernel *kernel, bpf_call *call, uint32_t processors,
                enum bpf_purpose purpose, struct bpf_refusal *refusal)
{
    int result = 0;

    *refusal = (struct bpf_refusal){0};
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
                 "there is no program for this kind of processor");
        result = -EOPNOTSUPP;
    }
    for (int i = 0; result == 0 && i < BPF_MAPS; i++) {
        result = make_map(kernel, (enum bpf_map)i, refusal);
    }
    if (result == 0) {
        bpf_control_of(kernel)->set_words = kernel->set_words;
        result = load_all(kernel, purpose, refusal);
    }
    if (result < 0) {
        bpf_kernel_finish(kernel);
    }
    return result;
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

/* ---- at work ---- */

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

static int
attach_tracepoint(const struct bpf_kernel *kernel, const char *name,
                  enum bpf_program program)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.raw_tracepoint.name = (uintptr_t)name;
    attr.raw_tracepoint.prog_fd = (uint32_t)kernel->programs[program];
    return (int)kernel->call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

int
bpf_kernel_attach_exec(const struct bpf_kernel *kernel)
{
    return attach_tracepoint(kernel, "sched_process_exec", BPF_PROGRAM_EXEC);
}

int
bpf_kernel_attach_exit(const struct bpf_kernel *kernel)
{
    return attach_tracepoint(kernel, "sched_process_exit", BPF_PROGRAM_EXIT);
}

int
bpf_kernel_replay(const struct bpf_kernel *kernel,
                  const uint64_t arguments[BPF_REPLAY_ARGUMENTS])
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.test.prog_fd = (uint32_t)kernel->programs[BPF_PROGRAM_REPLAY];
    attr.test.ctx_in = (uintptr_t)arguments;
    attr.test.ctx_size_in = BPF_REPLAY_ARGUMENTS * sizeof(uint64_t);
    return (int)kernel->call(BPF_PROG_TEST_RUN, &attr, sizeof(attr));
}

/*
 * A processor whose program takes so long is not running: the machine below us, if
 * there is one, has taken it away. The kernel's own wait then costs less than to look
 * again and again.
 */
enum { LOOKS = 2000 };

static bool
has_left(const struct bpf_processor *processor, uint64_t entered)
{
    return __atomic_load_n(&processor->left, __ATOMIC_ACQUIRE) >= entered;
}

static void
wait_for_processor(const struct bpf_processor *processor, uint64_t entered)
{
    int looks = 0;

    while (!has_left(processor, entered)) {
        if (++looks == LOOKS) {
            /* All programs run in read-side sections, which it waits for. */
            (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
            looks = 0;
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
