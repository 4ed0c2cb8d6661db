/* SPDX-License-Identifier: MIT */
/* unwind.c - what the ABI and the kernel say of registers. */
#include "symbols/border/unwind.h"

const uint8_t sym_saved_registers[SYM_SAVED_REGISTERS] = {
    SYM_REGISTER_RBX, SYM_REGISTER_RBP, 12, 13, 14, 15};

/* rsp points to the kernel's struct ucontext, in which struct sigcontext begins at byte
 * 40 with r8. */
const uint8_t sym_signal_offsets[SYM_REGISTERS + 1] = {
    144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168};
