/* SPDX-License-Identifier: MIT */
/*
 * preload/images.c - which segment an address of this process belongs to.
 *
 * The table is made when the program starts, and only shrinks afterwards: dlclose takes
 * out what it unmapped. An address that is not in it counts by itself, and the command
 * finds out what is there: libraries that were loaded later, and code of JITs.
 *
 * A table is published by one store. Signal handlers may still read one that was
 * replaced, so it is unmapped at a later change, when no handler is running.
 */
#include "ke/bucket.h"
#include "preload/preload.h"
#include "rtl/assert.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct range {
    uintptr_t base;
    uintptr_t length;
    uint32_t segment;
};

struct table {
    size_t bytes; /* of this memory */
    struct table *next_retired;
    size_t count;
    struct range ranges[]; /* in order of their base */
};

static struct table *table; /* NULL: nothing is known */
static struct table *retired;
static unsigned readers; /* handlers that may be reading a table */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Reading /proc/self/maps ---- */

enum { LINE_MAX_BYTES = 4096 + 256, RANGES_MAX = 4096 };

/* The working memory of images_open, in pages that are unmapped at its end. */
struct scan {
    char text[2 * LINE_MAX_BYTES];
    size_t filled;
    struct preload_segment segment; /* its program is set, the rest by each line */
    uintptr_t stack;                /* an address of the caller's stack */
    uintptr_t stack_end;            /* of its mapping; 0: not found */
    size_t count;
    struct range ranges[RANGES_MAX];
};

/* Read a hexadecimal number. Returns where it ends. */
static const char *
read_hex(const char *at, uint64_t *number)
{
    *number = 0;
    for (;; at++) {
        const char digit = *at;

        if (digit >= '0' && digit <= '9') {
            *number = *number << 4 | (uint64_t)(digit - '0');
        } else if (digit >= 'a' && digit <= 'f') {
            *number = *number << 4 | (uint64_t)(digit - 'a' + 10);
        } else {
            return at;
        }
    }
}

/* Read a decimal number. Returns where it ends. */
static const char *
read_decimal(const char *at, uint64_t *number)
{
    for (*number = 0; *at >= '0' && *at <= '9'; at++) {
        *number = *number * 10 + (uint64_t)(*at - '0');
    }
    return at;
}

/* Is the path of a mapping that of a file, or of the vdso? Code of other mappings
 * counts by its addresses. */
static bool
has_image(const char *path)
{
    return (path[0] == '/' && strcmp(path, "/dev/zero (deleted)") != 0 &&
            strcmp(path, "/anon_hugepage (deleted)") != 0 &&
            strncmp(path, "/SYSV", 5) != 0) ||
           strcmp(path, "[vdso]") == 0;
}

/* Record the segment that a line describes, and add its range, if it is code of an
 * image. The line is BEGIN-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH. */
static void
take_line(struct preload_shared *shared, struct scan *scan, const char *line)
{
    uint64_t begin;
    uint64_t end;
    uint64_t major;
    uint64_t minor;
    const char *permissions = read_hex(read_hex(line, &begin) + 1, &end) + 1;
    const char *at = permissions + strlen("r-xp ");
    uint32_t number;

    if (scan->stack >= begin && scan->stack < end) {
        scan->stack_end = (uintptr_t)end;
    }
    if (permissions[0] == '\0' || permissions[2] != 'x' || scan->count == RANGES_MAX) {
        return;
    }
    at = read_hex(at, &scan->segment.offset) + 1;
    at = read_hex(read_hex(at, &major) + 1, &minor) + 1;
    at = read_decimal(at, &scan->segment.inode);
    while (*at == ' ') {
        at++;
    }
    if (!has_image(at) || end <= begin) {
        return;
    }
    scan->segment.length = end - begin;
    scan->segment.device_major = (uint32_t)major;
    scan->segment.device_minor = (uint32_t)minor;
    number = record_segment(shared, &scan->segment, at);
    if (number != 0) {
        scan->ranges[scan->count++] = (struct range){.base = (uintptr_t)begin,
                                                     .length = (uintptr_t)(end - begin),
                                                     .segment = number};
    }
}

/* Pass the complete lines of the text to take_line, and keep the rest. A line that is
 * too long is left out. */
static void
take_lines(struct preload_shared *shared, struct scan *scan)
{
    char *line = scan->text;
    char *end;

    while ((end = memchr(line, '\n', scan->filled - (size_t)(line - scan->text))) !=
           NULL) {
        *end = '\0';
        take_line(shared, scan, line);
        line = end + 1;
    }
    scan->filled -= (size_t)(line - scan->text);
    memmove(scan->text, line, scan->filled);
    if (scan->filled == sizeof(scan->text)) {
        scan->filled = 0;
    }
}

/* Record the segments that /proc/self/maps lists; none if it cannot be opened. */
static void
scan_maps(struct preload_shared *shared, struct scan *scan)
{
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;

    if (fd < 0) {
        return;
    }
    do {
        got = read(fd, scan->text + scan->filled, sizeof(scan->text) - scan->filled);
        if (got > 0) {
            scan->filled += (size_t)got;
            take_lines(shared, scan);
        }
    } while (got > 0);
    (void)close(fd);
}

/* ---- Without /proc: what the loader knows ---- */

/* The context of take_object. */
struct listing {
    struct preload_shared *shared;
    struct scan *scan;
};

/* Record an executable segment, and add its pages, as the loader has mapped them, to
 * the ranges. */
static void
take_header(const struct listing *listing, const struct dl_phdr_info *object,
            const ElfW(Phdr) * header)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct scan *const scan = listing->scan;
    const uint64_t first = object->dlpi_addr + header->p_vaddr;
    const uint64_t begin = first & ~(page - 1);
    const uint64_t end = (first + header->p_filesz + page - 1) & ~(page - 1);
    uint32_t number;

    if (end <= begin || scan->count == RANGES_MAX) {
        return;
    }
    scan->segment.offset = header->p_offset & ~(page - 1);
    scan->segment.length = end - begin;
    number = record_segment(listing->shared, &scan->segment, object->dlpi_name);
    if (number != 0) {
        scan->ranges[scan->count++] = (struct range){.base = (uintptr_t)begin,
                                                     .length = (uintptr_t)(end - begin),
                                                     .segment = number};
    }
}

/* Add the executable segments of a loaded library; for dl_iterate_phdr. */
static int
take_object(struct dl_phdr_info *object, size_t size, void *given)
{
    const struct listing *const listing = given;

    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum && object->dlpi_name[0] == '/'; i++) {
        if (object->dlpi_phdr[i].p_type == PT_LOAD &&
            (object->dlpi_phdr[i].p_flags & PF_X) != 0) {
            take_header(listing, object, &object->dlpi_phdr[i]);
        }
    }
    return 0;
}

/* ---- The table ---- */

/* Make a table of sorted ranges. NULL if memory runs out. */
static struct table *
new_table(const struct range *ranges, size_t count)
{
    const size_t bytes = sizeof(struct table) + count * sizeof(*ranges);
    struct table *const made =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (made == MAP_FAILED) {
        return NULL;
    }
    for (size_t i = 1; i < count; i++) {
        RTL_ASSERT(ranges[i - 1].base <= ranges[i].base);
    }
    made->bytes = bytes;
    made->count = count;
    memcpy(made->ranges, ranges, count * sizeof(*ranges));
    return made;
}

/* Sort ranges by address: the loader, which is asked where /proc is missing, has them
 * in any order. */
static void
sort(struct range *ranges, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct range moved = ranges[i];
        size_t at = i;

        for (; at > 0 && ranges[at - 1].base > moved.base; at--) {
            ranges[at] = ranges[at - 1];
        }
        ranges[at] = moved;
    }
}

uintptr_t
images_open(struct preload_shared *shared, uint32_t process, const char *program)
{
    struct scan *const scan = mmap(NULL, sizeof(*scan), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct listing listing = {shared, scan};
    uintptr_t stack_end;

    if (scan == MAP_FAILED) {
        return 0;
    }
    scan->stack = (uintptr_t)__builtin_frame_address(0);
    scan->segment.process = process;
    memcpy(scan->segment.program, program, PRELOAD_NAME_BYTES);
    scan_maps(shared, scan);
    if (scan->count == 0) { /* without /proc */
        (void)dl_iterate_phdr(take_object, &listing);
        sort(scan->ranges, scan->count);
    }
    __atomic_store_n(&table, new_table(scan->ranges, scan->count), __ATOMIC_RELEASE);
    stack_end = scan->stack_end;
    (void)munmap(scan, sizeof(*scan));
    return stack_end;
}

void
images_report(void)
{
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        const struct range *const range = &table->ranges[i];

        stacks_change_code(range->base, range->length, range->segment);
    }
}

/* Return the range that contains an address; NULL: none, or the table is NULL. */
static const struct range *
find_range(const struct table *known, uintptr_t pc)
{
    size_t low = 0;
    size_t high = known != NULL ? known->count : 0;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (pc - known->ranges[middle].base < known->ranges[middle].length) {
            return &known->ranges[middle];
        }
        if (pc < known->ranges[middle].base) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

uint64_t
images_key(const struct preload_shared *shared, uintptr_t pc, uint32_t process)
{
    /* A shift by more, which another program may have written, is undefined. */
    const ULONG log2 = shared->bucket_log2 & KI_BUCKET_LOG2_MAX;
    const struct range *range;
    uint64_t key;

    RTL_ASSERT(process < PRELOAD_PROCESSES);
    __atomic_fetch_add(&readers, 1, __ATOMIC_SEQ_CST); /* pairs with publish */
    range = find_range(__atomic_load_n(&table, __ATOMIC_SEQ_CST), pc);
    if (range != NULL) {
        RTL_ASSERT(range->segment != 0 && range->segment < PRELOAD_SEGMENTS);
        RTL_ASSERT(pc - range->base < range->length);
        key = (uint64_t)range->segment << PRELOAD_KEY_NUMBER_BIT |
              KiBucketIndex(pc, range->base, range->length, log2);
    } else {
        key = PRELOAD_KEY_PLAIN | (uint64_t)process << PRELOAD_KEY_NUMBER_BIT |
              (((uint64_t)pc >> log2) & (PRELOAD_KEY_BUCKETS - 1));
    }
    __atomic_fetch_sub(&readers, 1, __ATOMIC_SEQ_CST);
    return key;
}

/* Replace the table, with the lock held. The caller counts as a reader; if there is no
 * other, all replaced tables are unmapped. */
static void
publish(struct table *replacing)
{
    struct table *const replaced = table;

    RTL_ASSERT(replaced != NULL && replacing->count < replaced->count);
    RTL_ASSERT(__atomic_load_n(&readers, __ATOMIC_SEQ_CST) > 0);
    __atomic_store_n(&table, replacing, __ATOMIC_SEQ_CST); /* pairs with images_key */
    replaced->next_retired = retired;
    retired = replaced;
    if (__atomic_load_n(&readers, __ATOMIC_SEQ_CST) != 1) {
        return;
    }
    while (retired != NULL) {
        struct table *const next = retired->next_retired;

        (void)munmap(retired, retired->bytes);
        retired = next;
    }
}

/* ---- Unloading ---- */

/* Which ranges of a table the loader still knows. */
struct kept {
    const struct table *known;
    bool loaded[RANGES_MAX];
};

/* Mark the known ranges of a library that is still loaded; for dl_iterate_phdr. */
static int
keep_object(struct dl_phdr_info *object, size_t size, void *given)
{
    struct kept *const kept = given;

    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *const header = &object->dlpi_phdr[i];
        const struct range *range;

        if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0) {
            continue;
        }
        range =
            find_range(kept->known, (uintptr_t)(object->dlpi_addr + header->p_vaddr));
        if (range != NULL) {
            kept->loaded[range - kept->known->ranges] = true;
        }
    }
    return 0;
}

/* Report the ranges of libraries that are not loaded any more. */
static void
report_dropped(const struct kept *kept)
{
    for (size_t i = 0; i < kept->known->count; i++) {
        const struct range *const range = &kept->known->ranges[i];

        if (!kept->loaded[i]) {
            stacks_change_code(range->base, range->length, 0);
        }
    }
}

/* Publish a table without the ranges of libraries that are not loaded any more. Without
 * memory the table stays. Returns false if another thread has changed it meanwhile: the
 * caller tries again. */
static bool
drop_unloaded(const struct kept *kept)
{
    struct table *const shorter = new_table(kept->known->ranges, kept->known->count);
    bool current;

    if (shorter == NULL) {
        return true;
    }
    shorter->count = 0;
    for (size_t i = 0; i < kept->known->count; i++) {
        if (kept->loaded[i]) {
            shorter->ranges[shorter->count++] = kept->known->ranges[i];
        }
    }
    (void)pthread_mutex_lock(&lock);
    current = table == kept->known;
    if (current && shorter->count < kept->known->count) {
        report_dropped(kept);
        publish(shorter);
    } else {
        (void)munmap(shorter, shorter->bytes);
    }
    (void)pthread_mutex_unlock(&lock);
    return current;
}

void
images_drop_unloaded(void)
{
    struct kept *const kept = mmap(NULL, sizeof(*kept), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (kept == MAP_FAILED) {
        return;
    }
    /* As a reader, which keeps the table mapped. Not with the lock, because
     * dl_iterate_phdr takes the loader's lock: a destructor that runs with that may
     * call dlclose, and so wait for our lock in drop_unloaded. */
    __atomic_fetch_add(&readers, 1, __ATOMIC_SEQ_CST);
    do {
        memset(kept->loaded, 0, sizeof(kept->loaded));
        kept->known = __atomic_load_n(&table, __ATOMIC_SEQ_CST);
        if (kept->known == NULL) {
            break;
        }
        (void)dl_iterate_phdr(keep_object, kept);
    } while (!drop_unloaded(kept));
    __atomic_fetch_sub(&readers, 1, __ATOMIC_SEQ_CST);
    (void)munmap(kept, sizeof(*kept));
}

void
images_after_fork(void)
{
    (void)pthread_mutex_init(&lock, NULL);
    readers = 0;
}
