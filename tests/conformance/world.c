/* SPDX-License-Identifier: MIT */
/* world.c - see world.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 4096,
    PATTERN = 0xA5,
    MOST_COPIED_BYTES = 0x10000,
    BUFFER_PAGES = 4,
    LACKING_SOURCE =
        ProfileLoadInstructions, /* the simulated machine knows it, and has it not */
    ALL_OF_PROCESS = 0x1FFFFF,
    NO_QUERY_ACCESS = 0x1000
};

/* Where regions are; all apart from each other, and from the machine's own. */
#define VARIABLES 0x21000000ull
#define READ_ONLY 0x22000000ull
#define MIXED 0x23000000ull
#define HOLED 0x24000000ull
#define BUFFERS 0x34000000ull
#define BUFFER_2 0x38000000ull
#define ARRAYS 0x40000000ull
#define INFORMATION 0x48000000ull
#define UNMAPPED 0x50000000ull
#define HUGE_BUFFERS 0x100000000ull

/* Values of keys that neither row nor table gives. */
static const struct table_pair builtin[] = {
    {"mode", "user"},    {"privilege", "no"}, {"restricted", "no"},
    {"host", "64"},      {"active", "0xF"},   {"active1", "0xF"},
    {"groups", "1"},     {"group", "0"},      {"wow64", "no"},
    {"layout", "any"},   {"lacks", "none"},   {"call", "any"},
    {"groupcount", "0"}, {"array", "arr"},    {"m0", "1"},
    {"g0", "0"},         {"r0", "0"},         {"m1", "1"},
    {"g1", "0"},         {"r1", "0"},         {"affinity", "ones"},
    {"before", "none"},  {"form", "any"},     {"limits", "machine"},
};

void
world_fail(struct world *world, const char *format, ...)
{
    const struct world_case *const test = world->test;
    static const char *const forms[] = {"ex", "nine", "seven"};
    va_list arguments;

    world->failures++;
    printf("%s:%d: %s [%s %s %s%s%s", test->row->table->path, test->row->line,
           test->row->name, table_versions[test->version].name,
           test->abi == TABLE_X86 ? "x86" : "x64", forms[test->form],
           test->objects ? " objects" : "", test->narrow ? " layout-32" : "");
    for (size_t i = 0; i < test->input_count; i++) {
        printf(" %s=%s", test->inputs[i].key, test->inputs[i].value);
    }
    printf("]%s: ", world->note);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* ---- Keys ---- */

const char *
world_text(struct world *world, const char *key)
{
    const struct world_case *const test = world->test;
    const char *value;

    for (size_t i = 0; i < test->input_count; i++) {
        if (strcmp(test->inputs[i].key, key) == 0) {
            return test->inputs[i].value;
        }
    }
    value = table_find(&test->row->inputs, key);
    if (value != NULL) {
        return value;
    }
    value = table_find(&test->row->table->defaults, key);
    for (size_t i = 0; value == NULL && i < sizeof(builtin) / sizeof(builtin[0]); i++) {
        if (strcmp(builtin[i].key, key) == 0) {
            value = builtin[i].value;
        }
    }
    return value;
}

bool
world_is(struct world *world, const char *key, const char *value)
{
    const char *const text = world_text(world, key);

    return text != NULL && strcmp(text, value) == 0;
}

KPROCESSOR_MODE
world_mode(struct world *world)
{
    return world_is(world, "mode", "kernel") ? KernelMode : UserMode;
}

/* In the layout of 32 bits the callers of an x64 NT are wow64's. */
static bool
is_wow64(struct world *world)
{
    return (world->test->narrow && world->test->abi == TABLE_X64) ||
           world_is(world, "wow64", "yes");
}

uint64_t
world_word(struct world *world)
{
    return world->test->narrow && world_mode(world) == UserMode ? 4 : sizeof(void *);
}

uint64_t
world_read_word(struct world *world, const void *memory)
{
    uint64_t word = 0;

    memcpy(&word, memory, world_word(world));
    return word;
}

/* Mask, group and three reserved words. */
static uint64_t
element_bytes(struct world *world)
{
    return world_word(world) + 4 * sizeof(USHORT);
}

/* ---- The caller's memory ---- */

static struct world_region *
find_region(struct world *world, uint64_t address)
{
    for (size_t i = 0; i < world->region_count; i++) {
        if (address - world->regions[i].address < world->regions[i].bytes) {
            return &world->regions[i];
        }
    }
    return NULL;
}

/* The region at address, made and filled with the pattern when it is not there yet. */
static uint64_t
need_region(struct world *world, uint64_t address, uint64_t bytes)
{
    struct world_region *region = find_region(world, address);

    if (region != NULL) {
        return address;
    }
    assert_true(world->region_count < WORLD_MOST_REGIONS);
    region = &world->regions[world->region_count++];
    *region = (struct world_region){.address = address, .bytes = bytes};
    region->memory = host_sim_map(world->machine.host, address, bytes);
    assert_non_null(region->memory);
    if (bytes <= MOST_COPIED_BYTES) {
        memset(region->memory, PATTERN, bytes);
    }
    return address;
}

static uint64_t
need_read_only(struct world *world)
{
    need_region(world, READ_ONLY, PAGE);
    host_sim_protect(world->machine.host, READ_ONLY, PAGE, HOST_SIM_READ_ONLY);
    return READ_ONLY;
}

static uint64_t
need_middle(struct world *world, uint64_t address, enum host_sim_page rights)
{
    need_region(world, address, 3 * PAGE);
    host_sim_protect(world->machine.host, address + PAGE, PAGE, rights);
    return address;
}

static uint64_t
round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* The first profile's counters, zeroed: they end where their region does, so that a
 * guard follows. */
static uint64_t
need_buffer(struct world *world, uint64_t bytes)
{
    const uint64_t whole = round_up(bytes != 0 ? bytes : 1, sizeof(ULONG));
    const bool small = whole <= BUFFER_PAGES * PAGE;
    const uint64_t region = small ? BUFFERS : HUGE_BUFFERS;
    const uint64_t region_bytes = small ? BUFFER_PAGES * PAGE : round_up(whole, PAGE);
    const uint64_t address = region + region_bytes - whole;

    if (find_region(world, region) == NULL) {
        need_region(world, region, region_bytes);
        if (small) {
            memset(world_memory(world, address, whole), 0, bytes);
        }
    }
    return address;
}

/* The second's: one page, from its beginning. */
static uint64_t
need_second_buffer(struct world *world)
{
    if (find_region(world, BUFFER_2) == NULL) {
        need_region(world, BUFFER_2, PAGE);
        memset(world_memory(world, BUFFER_2, PAGE), 0, PAGE);
    }
    return BUFFER_2;
}

static uint64_t
need_array(struct world *world, uint64_t elements)
{
    const uint64_t bytes =
        round_up(elements != 0 ? elements * element_bytes(world) : 1, PAGE);

    need_region(world, ARRAYS, bytes);
    return ARRAYS + bytes - elements * element_bytes(world);
}

void *
world_memory(struct world *world, uint64_t address, uint64_t bytes)
{
    return host_sim_at(world->machine.host, address, bytes);
}

uint64_t
world_caller_address(struct world *world, uint64_t address)
{
    if (world_mode(world) == UserMode) {
        return address;
    }
    return (uint64_t)(uintptr_t)world_memory(world, address, 1);
}

/* ---- Names ---- */

/* Where the simulated NT has its spaces; not asked of the core. */
static uint64_t
split_of(const struct world *world, uint64_t host_split, uint64_t nt_split)
{
    const bool newest = table_versions[world->test->version].number == 0;

    return world->test->abi == TABLE_X86 && !newest ? nt_split : host_split;
}

static bool
constant(struct world *world, const char *name, uint64_t *value)
{
    const HOST_TABLE *const host = host_sim_host(world->machine.host).Table;
    const bool x86 = world->test->abi == TABLE_X86;
    const uint64_t word = world_word(world);
    const bool narrow = x86 || is_wow64(world);
    const struct {
        const char *name;
        uint64_t value;
    } constants[] = {
        {"none", 0},
        {"null", 0},
        {"self", ~(uint64_t)0 >> (word == 4 ? 32 : 0)}, /* NtCurrentProcess() */
        {"thread", ~(uint64_t)1}, /* the pseudo handle of a thread */
        {"code", MACHINE_CODE},
        {"unmapped", UNMAPPED},
        {"top", x86 ? 0x100000000 : 0}, /* 2^64 is 0 */
        {"ones", narrow ? 0xFFFFFFFF : ~(uint64_t)0},
        {"userend", split_of(world, host->HighestUserAddress, 0x7FFEFFFF) + 1},
        {"kernel", split_of(world, host->SystemRangeStart, 0x80000000)},
        {"hostkernel", host->SystemRangeStart},
        {"time", ProfileTime},
        {"fixup", ProfileAlignmentFixup},
        {"cycles", ProfileTotalCycles},
        {"lacking", LACKING_SOURCE},
        {"unknown", ProfileMaximum},
        {"pagefaults", ProfilePageFaults},
        {"pidown", MACHINE_PID},
        {"pidother", MACHINE_OTHER_PID},
        {"pidnone", 4711},
        {"word", word},
        {"bytes", element_bytes(world)}, /* of an array's element */
        {"string", 2 * word},
        {"typeinfo", 2 * word + 88},
    };

    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        if (strcmp(constants[i].name, name) == 0) {
            *value = constants[i].value;
            return true;
        }
    }
    return false;
}

static bool
place(struct world *world, const char *name, uint64_t *value)
{
    const uint64_t highest =
        host_sim_host(world->machine.host).Table->HighestUserAddress;

    if (strcmp(name, "var") == 0) {
        *value =
            world_caller_address(world, need_region(world, VARIABLES, PAGE) + PAGE / 2);
    } else if (strcmp(name, "varend") == 0) {
        *value = need_region(world, VARIABLES, PAGE) + PAGE;
    } else if (strcmp(name, "readonly") == 0) {
        *value = need_read_only(world);
    } else if (strcmp(name, "mixed") == 0) {
        *value = need_middle(world, MIXED, HOST_SIM_READ_ONLY);
    } else if (strcmp(name, "holed") == 0) {
        *value = need_middle(world, HOLED, HOST_SIM_ABSENT);
    } else if (strcmp(name, "edge") == 0) { /* the end of the caller's user space */
        *value = need_region(world, highest + 1 - PAGE, PAGE) + PAGE;
    } else if (strcmp(name, "buf") == 0) {
        *value = need_buffer(world, world_number(world, "n"));
    } else if (strcmp(name, "buf2") == 0) {
        *value = need_second_buffer(world);
    } else if (strcmp(name, "arr") == 0) {
        *value = world_caller_address(
            world, need_array(world, world_number(world, "groupcount")));
    } else if (strcmp(name, "room") == 0) {
        *value = world_caller_address(world, need_region(world, INFORMATION, PAGE));
    } else {
        return false;
    }
    return true;
}

static bool
lookup(void *context, const char *name, uint64_t *value)
{
    struct world *const world = context;
    HANDLE handle;

    if (constant(world, name, value) || place(world, name, value)) {
        return true;
    }
    handle = world_handle(world, name);
    if (handle != NULL) {
        *value = (uint64_t)(uintptr_t)handle;
        return true;
    }
    if (world_text(world, name) == NULL || world->depth > 8) {
        return false;
    }
    world->depth++;
    *value = world_number(world, name);
    world->depth--;
    return true;
}

uint64_t
world_evaluate(struct world *world, const char *text)
{
    uint64_t value = 0;

    if (!value_evaluate(text, lookup, world, &value)) {
        world_fail(world, "no value: %s", text);
    }
    return value;
}

uint64_t
world_number(struct world *world, const char *key)
{
    const char *const text = world_text(world, key);

    if (text == NULL) {
        world_fail(world, "no value for %s", key);
        return 0;
    }
    return world_evaluate(world, text);
}

/* ---- Handles ---- */

void
world_set_handle(struct world *world, const char *name, HANDLE handle)
{
    assert_true(world->handle_count < WORLD_MOST_HANDLES);
    snprintf(world->handles[world->handle_count].name, sizeof(world->handles[0].name),
             "%s", name);
    world->handles[world->handle_count++].handle = handle;
}

static HANDLE
open_process(struct world *world, ACCESS_MASK access, uint64_t pid)
{
    HANDLE handle = NULL;
    const NTSTATUS status = handles_open_process(&world->table, access, pid, &handle);

    if (!NT_SUCCESS(status)) {
        world_fail(world, "a process cannot be opened: 0x%08X", (unsigned)status);
    }
    return handle;
}

static HANDLE
open_closed(struct world *world, bool reuse)
{
    const HANDLE handle = open_process(world, ALL_OF_PROCESS, MACHINE_OTHER_PID);

    (void)handles_close(&world->table, handle);
    if (reuse) {
        (void)open_process(world, ALL_OF_PROCESS, MACHINE_OTHER_PID);
    }
    return handle;
}

/* A profile that has nothing to do with the row: 4 bytes, one counter. */
static HANDLE
create_profile(struct world *world)
{
    HANDLE handle = NULL;
    const EX_CREATE_PROFILE request = {
        .ProfileHandle = (ULONG64)(uintptr_t)&handle,
        .Process = NtCurrentProcess(),
        .ProfileBase = MACHINE_CODE,
        .ProfileSize = 4,
        .BucketSize = 2,
        .Buffer = need_second_buffer(world) + PAGE / 2,
        .BufferSize = 4,
        .Affinity = host_sim_host(world->machine.host)
                        .Table->ActiveProcessors(world->machine.host, 0),
    };
    const uint32_t version = table_versions[world->test->version].number;
    /* Whatever call the row is about: one that the version has. */
    const NTSTATUS status =
        handles_create(&world->table, KernelMode,
                       version == 310 || version == 350 ? EX_CREATE_PROFILE_310
                                                        : EX_CREATE_PROFILE_AFFINITY,
                       &request);

    if (!NT_SUCCESS(status)) {
        world_fail(world, "a profile cannot be created: 0x%08X", (unsigned)status);
    }
    return handle;
}

/* One more handle to the object of a profile's handle, with other access. */
static HANDLE
open_again(struct world *world, HANDLE profile, ACCESS_MASK access)
{
    HANDLE handle = NULL;

    if (!NT_SUCCESS(handles_open_again(&world->table, profile, access, &handle))) {
        world_fail(world, "a profile cannot be opened again");
    }
    return handle;
}

static HANDLE
open_handle(struct world *world, const char *name)
{
    if (strcmp(name, "other") == 0) {
        return open_process(world, PROCESS_QUERY_INFORMATION, MACHINE_OTHER_PID);
    }
    if (strcmp(name, "own") == 0) {
        return open_process(world, PROCESS_QUERY_INFORMATION, MACHINE_PID);
    }
    if (strcmp(name, "owndup") == 0) {
        return open_process(world, PROCESS_DUP_HANDLE, MACHINE_PID);
    }
    if (strcmp(name, "otherdup") == 0) {
        return open_process(world, PROCESS_DUP_HANDLE, MACHINE_OTHER_PID);
    }
    if (strcmp(name, "whole") == 0) {
        return open_process(world, ALL_OF_PROCESS, MACHINE_OTHER_PID);
    }
    if (strcmp(name, "weak") == 0) {
        return open_process(world, NO_QUERY_ACCESS, MACHINE_OTHER_PID);
    }
    if (strcmp(name, "closed") == 0) {
        return open_closed(world, false);
    }
    if (strcmp(name, "reused") == 0) {
        return open_closed(world, true);
    }
    if (strcmp(name, "profile") == 0) {
        return create_profile(world);
    }
    if (strcmp(name, "weakprofile") == 0) {
        return open_again(world, world_handle(world, "profile"), 0);
    }
    if (strcmp(name, "wideprofile") == 0) {
        return open_again(world, world_handle(world, "profile"), PROFILE_ALL_ACCESS);
    }
    if (strcmp(name, "again") == 0) {
        return open_again(world, world_handle(world, "profile"), PROFILE_CONTROL);
    }
    return NULL;
}

HANDLE
world_handle(struct world *world, const char *name)
{
    HANDLE handle;

    for (size_t i = 0; i < world->handle_count; i++) {
        if (strcmp(world->handles[i].name, name) == 0) {
            return world->handles[i].handle;
        }
    }
    handle = open_handle(world, name);
    if (handle != NULL) {
        world_set_handle(world, name, handle);
    }
    return handle;
}

/* ---- Requests ---- */

static const char *
second_key(char buffer[VALUE_MOST_CHARS], const char *key, bool second)
{
    snprintf(buffer, VALUE_MOST_CHARS, "%s%s", second ? "2." : "", key);
    return buffer;
}

static uint64_t
request_number(struct world *world, const char *key, bool second)
{
    char buffer[VALUE_MOST_CHARS];

    if (second && world_text(world, second_key(buffer, key, true)) == NULL) {
        return world_number(world, key); /* as the first's */
    }
    return world_number(world, second_key(buffer, key, second));
}

/* The array's elements as the row has them; those above the second are as the first. */
static void
write_array(struct world *world, const EX_CREATE_PROFILE *request)
{
    GROUP_AFFINITY elements[2];

    for (unsigned i = 0; i < 2; i++) {
        char key[3] = {'m', (char)('0' + i), '\0'};
        uint64_t reserved;

        elements[i].Mask = (KAFFINITY)world_number(world, key);
        key[0] = 'g';
        elements[i].Group = (USHORT)world_number(world, key);
        key[0] = 'r';
        reserved = world_number(world, key);
        for (unsigned k = 0; k < 3; k++) {
            elements[i].Reserved[k] = (USHORT)(reserved >> 16 * k);
        }
    }
    for (unsigned i = 0; i < request->GroupCount; i++) {
        const uint64_t address = request->AffinityArray + i * element_bytes(world);
        const GROUP_AFFINITY *const element = &elements[i < 2 ? i : 0];
        char *const to = world_mode(world) == KernelMode
                             ? (char *)(uintptr_t)address
                             : world_memory(world, address, element_bytes(world));

        if (to != NULL) {
            memcpy(to, &element->Mask, world_word(world));
            memcpy(to + world_word(world), &element->Group, 4 * sizeof(USHORT));
        }
    }
}

EX_CREATE_PROFILE
world_request(struct world *world, bool second)
{
    EX_CREATE_PROFILE request = {
        .ProfileHandle = request_number(world, "handle", second),
        .Process = (HANDLE)(uintptr_t)request_number(world, "process", second),
        .ProfileBase = request_number(world, "base", second),
        .ProfileSize = request_number(world, "size", second),
        .BucketSize = (ULONG)request_number(world, "bucket", second),
        .BufferSize = (ULONG)request_number(world, "n", second),
        .ProfileSource = (KPROFILE_SOURCE)request_number(world, "source", second),
        .GroupCount = (USHORT)request_number(world, "groupcount", second),
    };

    request.Buffer =
        second ? need_second_buffer(world) : request_number(world, "buffer", second);
    request.AffinityArray = request_number(world, "array", second);
    if (request.GroupCount != 0) {
        write_array(world, &request);
    }
    world->buffers[second] = request.Buffer;
    world->buffer_bytes[second] = request.BufferSize;
    return request;
}

/* All processors, unless the row says which: a wow64 caller has no number for all. */
static KAFFINITY
requested_affinity(struct world *world, bool second)
{
    const HOST host = host_sim_host(world->machine.host);

    if (world->test->narrow && world->test->abi == TABLE_X64 &&
        table_find(&world->test->row->inputs, "affinity") == NULL) {
        return host.Table->ActiveProcessors(host.Context,
                                            host.Table->CurrentGroup(host.Context));
    }
    return (KAFFINITY)request_number(world, "affinity", second);
}

NTSTATUS
world_create(struct world *world, KPROCESSOR_MODE mode,
             const EX_CREATE_PROFILE *request, bool second)
{
    static const ULONG services[] = {
        [WORLD_EX] = EX_CREATE_PROFILE_EX,
        [WORLD_NINE] = EX_CREATE_PROFILE_AFFINITY,
        [WORLD_SEVEN] = EX_CREATE_PROFILE_310,
    };
    EX_CREATE_PROFILE complete = *request;

    if (world->test->form == WORLD_NINE) {
        complete.Affinity = requested_affinity(world, second);
    }
    return handles_create(&world->table, mode, services[world->test->form], &complete);
}

static void
prepare_profile(struct world *world, bool second)
{
    EX_CREATE_PROFILE request = world_request(world, second);
    const uint64_t variable = world_evaluate(world, "var");
    const uint64_t memory =
        world_mode(world) == KernelMode
            ? variable
            : (uint64_t)(uintptr_t)world_memory(world, variable, world_word(world));
    HANDLE handle = NULL;
    NTSTATUS status;

    request.ProfileHandle = variable;
    status = world_create(world, world_mode(world), &request, second);
    if (NT_SUCCESS(status)) {
        handle =
            (HANDLE)(uintptr_t)world_read_word(world, (const void *)(uintptr_t)memory);
    } else {
        world_fail(world, "the row's profile cannot be created: 0x%08X",
                   (unsigned)status);
    }
    world_set_handle(world, second ? "profile2" : "profile", handle);
}

static bool
has_second(const struct world_case *test)
{
    for (size_t i = 0; i < test->row->inputs.count; i++) {
        if (strncmp(test->row->inputs.items[i].key, "2.", 2) == 0) {
            return true;
        }
    }
    return false;
}

void
world_prepare(struct world *world)
{
    prepare_profile(world, false);
    if (has_second(world->test)) {
        prepare_profile(world, true);
    }
}

/* ---- What must stay ---- */

struct world_balance
world_balance(struct world *world)
{
    const struct host_sim_balance balance = host_sim_balance(world->machine.host);

    return (struct world_balance){
        .objects = world->machine.system.Ob.ObjectCount,
        .profiles = world->machine.system.ProfileCount,
        .started = world->machine.system.StartedCount,
        .hal_started = sim_started(world->machine.sim),
        .locks = balance.locks,
        .mappings = balance.mappings,
        .open_processes = balance.open_processes,
    };
}

bool
world_has_halted(struct world *world)
{
    return KeQueryHalt(&world->machine.system.Ke, NULL);
}

void
world_remember(struct world *world)
{
    for (size_t i = 0; i < world->region_count; i++) {
        struct world_region *const region = &world->regions[i];

        if (region->bytes > MOST_COPIED_BYTES) {
            continue;
        }
        if (region->before == NULL) {
            region->before = malloc(region->bytes);
            assert_non_null(region->before);
        }
        memcpy(region->before, region->memory, region->bytes);
    }
    world->before = world_balance(world);
    world->halt_before = (KE_HALT){0};
    (void)KeQueryHalt(&world->machine.system.Ke, &world->halt_before);
}

/* May the k-th byte of a region change? A kernel-mode caller names it by its real
 * address. */
static bool
is_excused(const struct world_region *region, uint64_t k,
           const struct world_range *ranges, size_t range_count)
{
    const uint64_t real = (uint64_t)(uintptr_t)region->memory + k;

    for (size_t i = 0; i < range_count; i++) {
        if (region->address + k - ranges[i].address < ranges[i].bytes ||
            real - ranges[i].address < ranges[i].bytes) {
            return true;
        }
    }
    return false;
}

void
world_check_memory(struct world *world, const struct world_range *ranges,
                   size_t range_count)
{
    for (size_t i = 0; i < world->region_count; i++) {
        const struct world_region *const region = &world->regions[i];

        if (region->before == NULL ||
            memcmp(region->before, region->memory, region->bytes) == 0) {
            continue;
        }
        for (uint64_t k = 0; k < region->bytes; k++) {
            if (region->before[k] != region->memory[k] &&
                !is_excused(region, k, ranges, range_count)) {
                world_fail(world, "the byte at 0x%llx has changed",
                           (unsigned long long)(region->address + k));
                break;
            }
        }
    }
    if (!host_sim_guards_intact(world->machine.host)) {
        world_fail(world, "a guard has changed");
    }
}

void
world_check_balance(struct world *world)
{
    const struct world_balance now = world_balance(world);
    const struct world_balance *const before = &world->before;

    if (now.objects != before->objects || now.profiles != before->profiles) {
        world_fail(world, "objects are left: %lld, profiles %lld",
                   (long long)(now.objects - before->objects),
                   (long long)(now.profiles - before->profiles));
    }
    if (now.started != before->started || now.hal_started != before->hal_started) {
        world_fail(world, "started are now %lld more, interrupts %lld",
                   (long long)(now.started - before->started),
                   (long long)(now.hal_started - before->hal_started));
    }
    if (now.locks != before->locks || now.mappings != before->mappings ||
        now.open_processes != before->open_processes) {
        world_fail(world, "locks, mappings or open processes are left");
    }
}

/* ---- A HAL without limits of its own: limits=wide ---- */

static struct {
    HAL_TABLE table;
    KPROFILE_SOURCE source; /* the last one set, and to what */
    ULONG64 interval;
} wide;

static void
set_wide_interval(void *context, KPROFILE_SOURCE source, ULONG64 interval)
{
    (void)context;
    wide.source = source;
    wide.interval = interval;
}

static void
query_wide_source(void *context, KPROFILE_SOURCE source, HAL_SOURCE *information)
{
    HalSimBackend.Hal->QuerySource(context, source, information);
    if (source == wide.source) {
        information->Interval = wide.interval;
    }
}

static void
widen_limits(struct world *world)
{
    wide.table = *HalSimBackend.Hal;
    wide.table.SetInterval = set_wide_interval;
    wide.table.QuerySource = query_wide_source;
    wide.source = ProfileMaximum;
    world->machine.system.Hal.Table = &wide.table;
}

/* ---- Opening and closing ---- */

static uint32_t
restriction(struct world *world)
{
    if (world_is(world, "restricted", "level")) {
        return HOST_RESTRICTED_BY_INTEGRITY_LEVEL;
    }
    if (world_is(world, "restricted", "check")) {
        return HOST_RESTRICTED_BY_ACCESS_CHECK;
    }
    return world_is(world, "restricted", "both")
               ? HOST_RESTRICTED_BY_INTEGRITY_LEVEL | HOST_RESTRICTED_BY_ACCESS_CHECK
               : 0;
}

void
world_apply_rights(struct world *world)
{
    host_sim_set_privilege(world->machine.host, world_is(world, "privilege", "yes"));
    host_sim_set_restricted(world->machine.host, restriction(world));
}

static void
apply_processors(struct world *world)
{
    struct host_sim *const host = world->machine.host;

    host_sim_set_active(host, 0, (KAFFINITY)world_number(world, "active"));
    host_sim_set_active(host, 1, (KAFFINITY)world_number(world, "active1"));
    host_sim_set_current_group(host, (uint16_t)world_number(world, "group"));
}

void
world_open(struct world *world, const struct world_case *test)
{
    struct machine_options options = {
        .ex = {.Version = table_versions[test->version].number,
               .Abi = test->abi == TABLE_X86 ? EX_ABI_X86 : EX_ABI_X64},
    };

    *world = (struct world){.test = test};
    options.ex.CallerLayout = test->narrow ? EX_LAYOUT_32 : EX_LAYOUT_HOST;
    options.ex.Wow64 = is_wow64(world);
    options.host.group_count = (uint16_t)atoi(world_text(world, "groups"));
    if (world_is(world, "host", "32")) {
        options.host.highest_user_address = 0x7FFEFFFF;
        options.host.system_range_start = 0x80000000;
    }
    options.sim.processor_count = (uint32_t)options.host.group_count * 64;
    machine_open(&world->machine, &options);
    handles_open(&world->table, &world->machine.system, test->objects, test->narrow);
    apply_processors(world);
    if (world_is(world, "limits", "wide")) {
        widen_limits(world);
    }
    if (!world_is(world, "lacks", "none")) {
        sim_set_supported(world->machine.sim,
                          (KPROFILE_SOURCE)world_number(world, "lacks"), false);
    }
}

static bool
is_clean(struct world *world)
{
    const struct host_sim_balance balance = host_sim_balance(world->machine.host);
    const char *const host = host_sim_complaint(world->machine.host);
    const char *const hal = sim_complaint(world->machine.sim);

    if (balance.allocations != 0 || balance.bytes != 0 || balance.locks != 0 ||
        balance.mappings != 0 || balance.open_processes != 0 ||
        sim_started(world->machine.sim) != 0 ||
        world->machine.system.StartedCount != 0) {
        world_fail(world, "something is left at the end: %llu allocations, %llu locks",
                   (unsigned long long)balance.allocations,
                   (unsigned long long)balance.locks);
    }
    if (!host_sim_guards_intact(world->machine.host)) {
        world_fail(world, "a guard has changed by the end");
    }
    if (host != NULL || hal != NULL) {
        world_fail(world, "the core breaks a contract: %s", host != NULL ? host : hal);
    }
    return world->failures == 0;
}

void
world_close(struct world *world)
{
    world->machine.system.StartedCount -= world->started_elsewhere;
    handles_finish(&world->table);
    ExFinishSystem(&world->machine.system);
    if (is_clean(world)) {
        machine_give_up(&world->machine);
    } else {
        sim_delete(world->machine.sim);
        host_sim_delete(world->machine.host);
    }
    for (size_t i = 0; i < world->region_count; i++) {
        free(world->regions[i].before);
    }
}
