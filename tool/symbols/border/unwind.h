/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - unwind rows: how the caller's registers are found from those of code at an
 * address, as the unwind tables of its image say. Of x86-64 and arm64: of the machine
 * that this is compiled for.
 *
 * Readers send what compilers, assemblers and linkers write; all other rules are
 * SYM_UNWIND_UNSUPPORTED.
 */
#ifndef SYMBOLS_BORDER_UNWIND_H
#define SYMBOLS_BORDER_UNWIND_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* Tests set it, to try both on either. EM_NONE: stacks are not walked on this one. */
#if !defined(SYM_UNWIND_MACHINE)
#if defined(__x86_64__)
#define SYM_UNWIND_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define SYM_UNWIND_MACHINE EM_AARCH64
#else
#define SYM_UNWIND_MACHINE EM_NONE
#endif
#endif

/*
 * Registers by DWARF's numbers, from 0 on.
 *
 * Saved ones are those that a function has to leave as they were, beside the stack
 * pointer: rbx, rbp, r12 to r15; or x19 to x30, of which the last one, the link
 * register, is the return address. That of x86-64 is in memory, right below the CFA.
 */
#if SYM_UNWIND_MACHINE == EM_AARCH64
enum {
    SYM_REGISTER_FP = 29,
    SYM_REGISTER_RETURN = 30,
    SYM_REGISTER_SP = 31,
    SYM_REGISTERS = 32,
    SYM_SAVED_REGISTERS = 12
};
#else
enum {
    SYM_REGISTER_FP = 6,
    SYM_REGISTER_SP = 7,
    SYM_REGISTER_RETURN = 16,
    SYM_REGISTERS = 16,
    SYM_SAVED_REGISTERS = 6
};
#endif

/* Numbers of saved registers, in that order. */
extern const uint8_t sym_saved_registers[SYM_SAVED_REGISTERS];

enum sym_unwind_kind {
    SYM_UNWIND_NO_TABLES,   /* the image has no unwind tables at all */
    SYM_UNWIND_NONE,        /* its tables do not cover the address */
    SYM_UNWIND_UNSUPPORTED, /* its tables cover it, by other rules than those here */
    SYM_UNWIND_OUTERMOST,   /* there is no caller */
    SYM_UNWIND_SIGNAL,      /* the caller was interrupted: all of its registers are
                             * where the kernel stores them for a handler */
    SYM_UNWIND_CALL,        /* the caller made a call; other members of the rule are
                             * of this kind only */
    SYM_UNWIND_KINDS,
    SYM_UNWIND_UNREAD = SYM_UNWIND_KINDS /* the tables could not be read; no reader
                                          * sends this */
};

/* How the CFA is found, which is the caller's stack pointer. */
enum sym_unwind_cfa {
    SYM_CFA_REGISTER, /* register + offset */
    SYM_CFA_STUB,     /* of a PLT of x86-64: rsp + 8, and 8 more once the low four bits
                       * of the address are offset or more */
    SYM_CFA_VALUE,    /* the number in memory at register + offset */
    SYM_CFA_FORMS
};

/* Where the caller's value of a register is, in a register or in memory. */
enum sym_unwind_place {
    SYM_PLACE_SAME, /* in the register */
    SYM_PLACE_CFA,  /* in memory at CFA + offset */
    SYM_PLACE_BASE, /* in memory at base + offset */
    SYM_PLACE_LOST, /* nowhere */
    SYM_PLACES
};

struct sym_unwind_rule {
    int32_t cfa_offset;
    int32_t offsets[SYM_SAVED_REGISTERS]; /* of SYM_PLACE_CFA and _BASE; else 0 */
    uint8_t kind;
    uint8_t cfa;          /* form */
    uint8_t cfa_register; /* SYM_REGISTER_SP for a stub */
    uint8_t base;         /* register of SYM_PLACE_BASE; 0 if there is none */
    uint8_t places[SYM_SAVED_REGISTERS]; /* enum sym_unwind_place */
};

/* sym_unwind_row - the rule of all addresses in [start, end). Link-time addresses. */
struct sym_unwind_row {
    uint64_t start;
    uint64_t end;
    struct sym_unwind_rule rule;
};

/* Rows that a reader sends at once: that of an address, and 32 that follow it. */
enum { SYM_UNWIND_ROWS_MAX = 1 + 32 };

/* Addresses that are asked about at once. */
enum { SYM_UNWIND_ASKED_MAX = 32 };

/* sym_unwind_answer - the row of an address and those that follow it: in order, and not
 * overlapping. */
struct sym_unwind_answer {
    size_t count; /* at least 1 */
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];
};

/* Where the kernel stores the registers of what a signal interrupted, in bytes from
 * the stack pointer of the code that the handler returns to. By number; the last is
 * the address. */
extern const uint16_t sym_signal_offsets[SYM_REGISTERS + 1];

/* Where from there it stores start and size of the alternate signal stack: behind flags
 * and link of its struct ucontext, which on arm64 comes after siginfo_t. */
#if SYM_UNWIND_MACHINE == EM_AARCH64
enum { SYM_SIGNAL_STACK = 144, SYM_SIGNAL_STACK_BYTES = 160 };
#else
enum { SYM_SIGNAL_STACK = 16, SYM_SIGNAL_STACK_BYTES = 32 };
#endif

#endif
