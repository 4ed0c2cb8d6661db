/* SPDX-License-Identifier: MIT */
/* nt64.c - the same as nt32.c for a 64-bit guest of NT 10.0, which calls by syscall. */
#include "guest.h"
#include "machine.h"

#include <stdio.h>

/* syscall: eax has the service, r10, rdx, r8, r9 and the stack its arguments. */
static void
on_syscall(uc_engine *cpu, void *context)
{
    static const int registers[] = {UC_X86_REG_R10, UC_X86_REG_RDX, UC_X86_REG_R8,
                                    UC_X86_REG_R9};
    struct machine *const machine = context;
    uint64_t arguments[10] = {0}, rax = 0, rsp = 0;

    uc_reg_read(cpu, UC_X86_REG_RAX, &rax);
    uc_reg_read(cpu, UC_X86_REG_RSP, &rsp);
    for (unsigned i = 0; i < 10; i++) {
        if (i < 4) {
            uc_reg_read(cpu, registers[i], &arguments[i]);
        } else {
            uc_mem_read(cpu, rsp + 0x28 + 8ull * (i - 4), &arguments[i], 8);
        }
    }
    rax = machine_call(machine, (uint32_t)rax, arguments);
    uc_reg_write(cpu, UC_X86_REG_RAX, &rax);
    if (machine->yields || machine->ended) {
        uc_emu_stop(cpu);
    }
}

static bool
prepare(struct machine *machine, uc_engine *cpu)
{
    uc_hook hook;

    return uc_hook_add(cpu, &hook, UC_HOOK_INSN, (void *)(uintptr_t)on_syscall, machine,
                       (uint64_t)1, (uint64_t)0, UC_X86_INS_SYSCALL) == UC_ERR_OK;
}

static bool
run(const char *image, uint32_t version, uint64_t start, const char *crash)
{
    struct machine machine = {.wide = true,
                              .kernel = 0xFFFF800000001000,
                              .pc = UC_X86_REG_RIP,
                              .sp = UC_X86_REG_RSP,
                              .cx = UC_X86_REG_RCX,
                              .prepare = prepare};
    uint64_t behind = 0;
    bool good = machine_run(&machine, version, image, start);

    if (good && crash != NULL) {
        good = machine_crash(&machine, crash);
    } else if (good) {
        good = machine_counts(&machine);
        uc_mem_read(machine.cpu[0], HANDLES + 24, &behind, sizeof(behind));
        good &= machine_check("word behind the handles", BEHIND_HANDLES, behind);
    }
    machine_finish(&machine);
    return good;
}

int
main(int argc, char **argv)
{
    const char *const image = argc > 1 ? argv[1] : "guest64.bin";
    bool good;

    printf("%-40s %12s %10s\n", "NT 10.0, 64 bits, syscall", "construction", "counted");
    good = run(image, 1507, CODE, NULL);
    good &=
        run(image, 1507, CRASH_PARTIAL_BUCKET, "NT 10.0: the missing partial bucket");
    good &= run(image, 1507, CRASH_END_INSIDE, "NT 10.0: a region's end counts");
    return good ? 0 : 1;
}
