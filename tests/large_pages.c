/* SPDX-License-Identifier: MIT */
/*
 * large_pages.c - makes the program it is preloaded into see a machine with pages of
 * 64 kB: what the C library says, and what memory calls take and do.
 *
 * Pages stay smaller for the kernel: rings of perf events, and what a program maps of
 * the end of a file, do not work. Memory of the loader is as it was.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 65536 };

static uintptr_t
rounded_up(uintptr_t bytes)
{
    return (bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
}

static int
refuse(void)
{
    errno = EINVAL;
    return -1;
}

static void *
find_next(const char *name)
{
    void *const found = dlsym(RTLD_NEXT, name);

    if (found == NULL) {
        _exit(127);
    }
    return found;
}

long
sysconf(int name)
{
    static long (*next)(int name);

    if (name == _SC_PAGESIZE) {
        return PAGE;
    }
    if (next == NULL) {
        void *const found = find_next("sysconf");

        memcpy(&next, &found, sizeof(next));
    }
    return next(name);
}

int
getpagesize(void)
{
    return PAGE;
}

unsigned long
getauxval(unsigned long type)
{
    static unsigned long (*next)(unsigned long type);

    if (type == AT_PAGESZ) {
        return PAGE;
    }
    if (next == NULL) {
        void *const found = find_next("getauxval");

        memcpy(&next, &found, sizeof(next));
    }
    return next(type);
}

static void *
map(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

/* Map at a multiple of PAGE that the kernel chooses. */
static void *
map_anywhere(size_t bytes, int protection, int flags, int fd, off_t offset)
{
    unsigned char *const space =
        map(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *begin;
    void *made;

    if (space == MAP_FAILED) {
        return MAP_FAILED;
    }
    begin = space + (rounded_up((uintptr_t)space) - (uintptr_t)space);
    made = map(begin, bytes, protection, flags | MAP_FIXED, fd, offset);
    if (made == MAP_FAILED) {
        const int error = errno;

        syscall(SYS_munmap, space, bytes + PAGE);
        errno = error;
        return MAP_FAILED;
    }
    if (begin > space) {
        syscall(SYS_munmap, space, (size_t)(begin - space));
    }
    syscall(SYS_munmap, begin + bytes, (size_t)(space + PAGE - begin));
    return made;
}

void *
mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (offset % PAGE != 0 || bytes == 0 || bytes > SIZE_MAX - 2 * PAGE) {
        refuse();
        return MAP_FAILED;
    }
    bytes = rounded_up(bytes);
    if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == 0) {
        return map_anywhere(bytes, protection, flags, fd, offset);
    }
    if ((uintptr_t)address % PAGE != 0) {
        refuse();
        return MAP_FAILED;
    }
    return map(address, bytes, protection, flags, fd, offset);
}

/* With 64-bit offsets the headers call it mmap64, also in the definition above. */
__asm__(".globl mmap\n.set mmap, mmap64");

void *
mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list arguments;
    void *target;

    va_start(arguments, flags);
    target = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    if ((uintptr_t)old % PAGE != 0 || (uintptr_t)target % PAGE != 0) {
        refuse();
        return MAP_FAILED;
    }
    bytes = rounded_up(bytes);
    if ((flags & (MREMAP_MAYMOVE | MREMAP_FIXED)) == MREMAP_MAYMOVE) {
        flags |= MREMAP_FIXED;
        target = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return target == MAP_FAILED
               ? MAP_FAILED
               : (void *)syscall(SYS_mremap, old, rounded_up(old_bytes), bytes, flags,
                                 target);
}

int
munmap(void *address, size_t bytes)
{
    return (uintptr_t)address % PAGE != 0
               ? refuse()
               : (int)syscall(SYS_munmap, address, rounded_up(bytes));
}

int
mprotect(void *address, size_t bytes, int protection)
{
    return (uintptr_t)address % PAGE != 0
               ? refuse()
               : (int)syscall(SYS_mprotect, address, rounded_up(bytes), protection);
}

/* The kernel rounds what is locked to its pages. */
static int
call_by_whole_pages(long number, const void *address, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)address & ~(uintptr_t)(PAGE - 1);

    return (int)syscall(number, begin, rounded_up((uintptr_t)address + bytes) - begin);
}

int
mlock(const void *address, size_t bytes)
{
    return call_by_whole_pages(SYS_mlock, address, bytes);
}

int
munlock(const void *address, size_t bytes)
{
    return call_by_whole_pages(SYS_munlock, address, bytes);
}

int
madvise(void *address, size_t bytes, int advice)
{
    return (uintptr_t)address % PAGE != 0
               ? refuse()
               : (int)syscall(SYS_madvise, address, rounded_up(bytes), advice);
}

/* For pages of 4 kB: a page is resident if a part of it is. */
int
mincore(void *address, size_t bytes, unsigned char *resident)
{
    unsigned char *const begin = address;

    for (size_t page = 0; page < rounded_up(bytes) / PAGE; page++) {
        unsigned char parts[PAGE / 4096];

        if (syscall(SYS_mincore, begin + page * PAGE, (size_t)PAGE, parts) != 0) {
            return -1;
        }
        resident[page] = memchr(parts, 1, sizeof(parts)) != NULL;
    }
    return 0;
}
