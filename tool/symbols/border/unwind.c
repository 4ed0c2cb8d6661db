/* SPDX-License-Identifier: MIT */
/* unwind.c - what the ABI and the kernel say of registers. */
#include "symbols/border/unwind.h"

#if SYM_UNWIND_MACHINE == EM_AARCH64

const uint8_t sym_saved_registers[SYM_SAVED_REGISTERS] = {19, 20, 21, 22, 23, 24,
                                                          25, 26, 27, 28, 29, 30};

/* sp points to the kernel's struct rt_sigframe, in which struct sigcontext, behind
 * siginfo_t and the rest of a ucontext, begins at byte 304 with the fault's address. */
const uint16_t sym_signal_offsets[SYM_REGISTERS + 1] = {
    312, 320, 328, 336, 344, 352, 360, 368, 376, 384, 392, 400, 408, 416, 424, 432, 440,
    448, 456, 464, 472, 480, 488, 496, 504, 512, 520, 528, 536, 544, 552, 560, 568};

#else

const uint8_t sym_saved_registers[SYM_SAVED_REGISTERS] = {
    3, SYM_REGISTER_FP, 12, 13, 14, 15};

/* rsp points to the kernel's struct ucontext, in which struct sigcontext begins at byte
 * 40 with r8. */
const uint16_t sym_signal_offsets[SYM_REGISTERS + 1] = {
    144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96, 168};

#endif
