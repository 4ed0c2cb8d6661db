/* SPDX-License-Identifier: MIT */
/*
 * host/linux/word.c - writes 32-bit words whose memory may be unmapped or read-only.
 *
 * FUTEX_WAKE_OP has the kernel do one atomic operation on a word of this process: a
 * missing page is made, another thread's write is neither lost nor undone, and memory
 * that cannot be written gives EFAULT instead of a signal.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* FUTEX_OP_ADD takes a signed number of 12 bits, or one power of two. */
enum { SMALL_BITS = 11, WORD_BYTES = 4 };

/* Have the kernel do an operation, FUTEX_OP_..., on a word with this argument. */
static int
word_operate(uintptr_t address, unsigned int operation, uint32_t argument)
{
    /* The call also wakes threads that wait for a first word: nobody waits for this. */
    uint32_t nobody = 0;
    const uint32_t command =
        operation << 28 | (uint32_t)FUTEX_OP_CMP_EQ << 24 | (argument & 0xFFF) << 12;

    if (syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, (void *)0,
                address, command) < 0) {
        return -errno;
    }
    return 0;
}

int
host_words_touch(uintptr_t first, uintptr_t last)
{
    const uintptr_t page_mask = host_page_bytes() - 1;
    uintptr_t address = first & ~(uintptr_t)(WORD_BYTES - 1);

    for (;;) {
        const int error = word_operate(address, FUTEX_OP_OR, 0);

        if (error != 0 || (address | page_mask) >= last) {
            return error;
        }
        address = (address | page_mask) + 1;
    }
}

uint32_t
host_word_add(uintptr_t address, uint32_t amount)
{
    const uint32_t small = amount & ((1u << SMALL_BITS) - 1);

    if (small != 0) {
        if (word_operate(address, FUTEX_OP_ADD, small) != 0) {
            return amount;
        }
        amount -= small;
    }
    for (uint32_t bit = SMALL_BITS; amount != 0; bit++) {
        if ((amount >> bit & 1) != 0) {
            if (word_operate(address, FUTEX_OP_ADD | FUTEX_OP_OPARG_SHIFT, bit) != 0) {
                return amount;
            }
            amount -= UINT32_C(1) << bit;
        }
    }
    return 0;
}
