/* SPDX-License-Identifier: MIT */
/*
 * host/linux/spare.c - private pages of the caller's, made before they are needed.
 *
 * A profile of one page gives one back at each stop. Made one by one, each takes a call
 * of the kernel's and a fault; so some are made at once, and those that are left wait
 * for other stops. (MREMAP_DONTUNMAP would do with one page for all stops, but meets a
 * limit of memory only when the caller's page has gone already.)
 *
 * Invariant, with the mutex of arena.c held: at spares are spare_count pages of one
 * mapping, all zero. The last one goes first: the kernel need not cut the mapping in
 * two.
 */
#include "host/linux/linuxp.h"

#include <sys/mman.h>

enum { SPARES_AT_ONCE = 16 };

static char *spares;
static size_t spare_count;

static char *
private_map(size_t bytes, int flags)
{
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    return made != MAP_FAILED ? made : NULL;
}

/* The last spare; NULL if there is none, nor memory for some. */
static char *
spare_take(void)
{
    if (spare_count == 0) {
        spares = private_map(SPARES_AT_ONCE * host_page_bytes(), MAP_POPULATE);
        spare_count = spares != NULL ? SPARES_AT_ONCE : 0;
    }
    if (spare_count == 0) {
        return NULL;
    }
    spare_count--;
    return spares + spare_count * host_page_bytes();
}

char *
host_private_map(size_t bytes)
{
    char *made = bytes == host_page_bytes() ? spare_take() : NULL;

    return made != NULL ? made : private_map(bytes, 0);
}
