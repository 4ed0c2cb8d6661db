/* SPDX-License-Identifier: MIT */
/*
 * host/linux/memory.c - the library's memory, and access to the caller's.
 *
 * The caller's addresses are hostile and its other threads may unmap them at any time.
 * So the kernel does every access and reports the fault; no signal handler is involved.
 */
#include "host/linux/linuxp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void *
host_allocate(void *Context, SIZE_T Bytes)
{
    (void)Context;
    return calloc(1, Bytes == 0 ? 1 : Bytes);
}

void
host_free(void *Context, void *Memory, SIZE_T Bytes)
{
    (void)Context;
    (void)Bytes;
    free(Memory);
}

/* Check that all pages are writable, by writing to them. Pages of ntprof_buffer_alloc
 * are left out: they are writable, and a write would make them use memory. */
static int
memory_probe(uintptr_t start, size_t bytes)
{
    uintptr_t buffer;
    size_t buffer_bytes;

    while (host_buffer_overlap(start, bytes, &buffer, &buffer_bytes)) {
        const size_t done_bytes = buffer - start + buffer_bytes;
        const int error = buffer > start ? host_words_touch(start, buffer - 1) : 0;

        if (error != 0) {
            return error;
        }
        start += done_bytes;
        bytes -= done_bytes;
    }
    return bytes == 0 ? 0 : host_words_touch(start, start + (bytes - 1));
}

/* Does [Address, Address + Bytes) fit the address size of this process? */
static bool
memory_is_possible(ULONG64 Address, SIZE_T Bytes)
{
    return Address <= UINTPTR_MAX && Bytes <= UINTPTR_MAX - (uintptr_t)Address;
}

NTSTATUS
host_probe_for_write(void *Context, ULONG64 Address, SIZE_T Bytes)
{
    const int error = memory_is_possible(Address, Bytes)
                          ? memory_probe((uintptr_t)Address, Bytes)
                          : -EFAULT;

    return host_refuse(Context, HOST_REFUSED_ADDRESS, Address, error,
                       host_status(error));
}

/* Copy between own memory and an address of the caller by process_vm_readv or _writev
 * (number). A direct call, because sanitizers check the memory that libc's wrappers
 * get. */
static int
memory_transfer(long number, void *own, uintptr_t address, size_t bytes)
{
    const struct iovec local = {.iov_base = own, .iov_len = bytes};
    const struct iovec remote = {.iov_base = (void *)address, .iov_len = bytes};
    const long got = syscall(number, getpid(), &local, 1ul, &remote, 1ul, 0ul);

    if (got < 0) {
        return -errno;
    }
    return (size_t)got == bytes ? 0 : -EFAULT;
}

/* Copy bytes through a pipe: at most PIPE_BUF, which are written without blocking. */
static int
memory_pipe_piece(const int ends[2], uintptr_t to, uintptr_t from, size_t bytes)
{
    const long written = syscall(SYS_write, ends[1], from, bytes);
    size_t done_bytes = 0;

    if (written < 0) {
        return -errno;
    }
    while (done_bytes < (size_t)written) {
        const long got =
            syscall(SYS_read, ends[0], to + done_bytes, (size_t)written - done_bytes);

        if (got <= 0) {
            return got < 0 ? -errno : -EIO;
        }
        done_bytes += (size_t)got;
    }
    return (size_t)written == bytes ? 0 : -EFAULT;
}

/* Copy through a pipe, where process_vm_readv is refused: a bad address is an error. */
static int
memory_pipe(uintptr_t to, uintptr_t from, size_t bytes)
{
    int ends[2];
    int error = 0;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        return -errno;
    }
    for (size_t done_bytes = 0; done_bytes < bytes && error == 0;) {
        const size_t rest_bytes = bytes - done_bytes;
        const size_t piece_bytes = rest_bytes < PIPE_BUF ? rest_bytes : PIPE_BUF;

        error =
            memory_pipe_piece(ends, to + done_bytes, from + done_bytes, piece_bytes);
        done_bytes += piece_bytes;
    }
    close(ends[0]);
    close(ends[1]);
    return error;
}

/* Was the system call refused, as by a sandbox, whatever the address? */
static bool
memory_is_refused(int error)
{
    return error == -ENOSYS || error == -EPERM || error == -EACCES;
}

int
host_copy_from(void *to, uintptr_t from, size_t bytes)
{
    const int error = memory_transfer(SYS_process_vm_readv, to, from, bytes);

    return memory_is_refused(error) ? memory_pipe((uintptr_t)to, from, bytes) : error;
}

int
host_copy_to(uintptr_t to, const void *from, size_t bytes)
{
    const uintptr_t last = to + (bytes - 1);
    int error = 0;

    /* Check the whole range before the copy, which would write the pages before a
     * fault. */
    if (bytes != 0 &&
        (to & ~(host_page_bytes() - 1)) != (last & ~(host_page_bytes() - 1))) {
        error = host_words_touch(to, last);
    }
    if (error == 0) {
        error =
            memory_transfer(SYS_process_vm_writev, (void *)(uintptr_t)from, to, bytes);
    }
    return memory_is_refused(error) ? memory_pipe(to, (uintptr_t)from, bytes) : error;
}

NTSTATUS
host_copy_from_caller(void *Context, void *To, ULONG64 From, SIZE_T Bytes)
{
    int error = memory_is_possible(From, Bytes) ? 0 : -EFAULT;

    if (error == 0 && Bytes != 0) {
        error = host_copy_from(To, (uintptr_t)From, Bytes);
    }
    return host_refuse(Context, HOST_REFUSED_ADDRESS, From, error, host_status(error));
}

NTSTATUS
host_copy_to_caller(void *Context, ULONG64 To, const void *From, SIZE_T Bytes)
{
    int error = memory_is_possible(To, Bytes) ? 0 : -EFAULT;

    if (error == 0 && Bytes != 0) {
        error = host_copy_to((uintptr_t)To, From, Bytes);
    }
    return host_refuse(Context, HOST_REFUSED_ADDRESS, To, error, host_status(error));
}
