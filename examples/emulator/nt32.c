/* SPDX-License-Identifier: MIT */
/*
 * nt32.c - a 32-bit guest of NT 5.2, which calls by int 2e: its profiles count in its
 * own pages, in its own layout, and agree with what it does to the tick. Then the
 * defects of two old versions stop the simulated NT, as they did.
 */
#include "guest.h"
#include "machine.h"

#include <stdio.h>

/* int 2e: eax has the service, edx the address of its arguments. */
static void
on_interrupt(uc_engine *cpu, uint32_t number, void *context)
{
    struct machine *const machine = context;
    uint64_t arguments[10] = {0};
    uint32_t eax = 0, edx = 0;

    uc_reg_read(cpu, UC_X86_REG_EAX, &eax);
    uc_reg_read(cpu, UC_X86_REG_EDX, &edx);
    for (unsigned i = 0; i < 10; i++) {
        uc_mem_read(cpu, edx + 4ull * i, &arguments[i], 4);
    }
    eax = machine_call(machine, number == 0x2E ? eax : 0, arguments);
    uc_reg_write(cpu, UC_X86_REG_EAX, &eax);
    if (machine->yields || machine->ended) {
        uc_emu_stop(cpu);
    }
}

/* Flat segments; Unicorn runs all in ring 0. What CS reads is the selector. */
static bool
prepare(struct machine *machine, uc_engine *cpu)
{
    static const uint64_t table[5] = {[SELECTOR / 8] = 0x00CF9A000000FFFF,
                                      [SELECTOR / 8 + 1] = 0x00CF92000000FFFF};
    const uc_x86_mmr gdtr = {.base = 0x1000, .limit = sizeof(table) - 1};
    const uint16_t code = SELECTOR, data = SELECTOR + 8;
    uc_hook hook;

    return uc_mem_map(cpu, gdtr.base, PAGE, UC_PROT_ALL) == UC_ERR_OK &&
           uc_mem_write(cpu, gdtr.base, table, sizeof(table)) == UC_ERR_OK &&
           uc_reg_write(cpu, UC_X86_REG_GDTR, &gdtr) == UC_ERR_OK &&
           uc_reg_write(cpu, UC_X86_REG_CS, &code) == UC_ERR_OK &&
           uc_reg_write(cpu, UC_X86_REG_SS, &data) == UC_ERR_OK &&
           uc_reg_write(cpu, UC_X86_REG_DS, &data) == UC_ERR_OK &&
           uc_hook_add(cpu, &hook, UC_HOOK_INTR, (void *)(uintptr_t)on_interrupt,
                       machine, (uint64_t)1, (uint64_t)0) == UC_ERR_OK;
}

static bool
run(const char *image, uint32_t version, uint64_t start, const char *crash)
{
    struct machine machine = {.kernel = 0x80001000,
                              .pc = UC_X86_REG_EIP,
                              .sp = UC_X86_REG_ESP,
                              .cx = UC_X86_REG_ECX,
                              .prepare = prepare};
    uint32_t words[2] = {0};
    bool good = machine_run(&machine, version, image, start);

    if (good && crash != NULL) {
        good = machine_crash(&machine, crash);
    } else if (good) {
        good = machine_counts(&machine);
        uc_mem_read(machine.cpu[0], SEGMENT_COUNTERS + LOOP_A / 16 * 4, &words[0], 4);
        uc_mem_read(machine.cpu[0], HANDLES + 16, &words[1], 4);
        good &= machine_check("segment 0x18, loop a, once", TIMES_A + 1, words[0]);
        good &= machine_check("word behind the handles", BEHIND_HANDLES, words[1]);
    }
    machine_finish(&machine);
    return good;
}

int
main(int argc, char **argv)
{
    const char *const image = argc > 1 ? argv[1] : "guest32.bin";
    bool good;

    printf("%-40s %12s %10s\n", "NT 5.2, 32 bits, int 2e", "construction", "counted");
    good = run(image, 502, CODE, NULL);
    good &= run(image, 502, CRASH_PARTIAL_BUCKET, "NT 5.2: the missing partial bucket");
    good &= run(image, 602, CRASH_END_INSIDE, "NT 6.2: a region's end counts");
    return good ? 0 : 1;
}
