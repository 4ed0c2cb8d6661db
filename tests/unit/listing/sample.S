/* SPDX-License-Identifier: MIT */
/* sample.S - code of known bytes at known addresses, for listings. Lines count: the tests know them. */
    .text
    .globl work
    .type work, @function
work:
    push %rbp
    mov %rsp, %rbp
    xor %eax, %eax
loop:
    add $1, %eax
    cmp $100, %eax
    jl loop
    pop %rbp
    ret
    .size work, . - work

    .globl _start
    .type _start, @function
_start:
    call work
    mov %eax, %edi
    mov $60, %eax
    syscall
    .byte 0x06
    nop
    .size _start, . - _start
    .section .note.GNU-stack, "", @progbits
