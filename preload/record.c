/* SPDX-License-Identifier: MIT */
/*
 * preload/record.c - appends to the shared memory, and counts in it.
 *
 * Any number of processes do so at once. A number is taken by an addition, the record
 * written, and published with release order by its member ready. Two processes that add
 * the same segment at once make two: the command adds them up.
 */
#include "preload/preload.h"
#include "rtl/assert.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- Finding the memory ---- */

/* Where the memory was found, and what is beside it: private to this process. */
static struct {
    unsigned pid;    /* of the command */
    unsigned fd;     /* its descriptor of the memory */
    unsigned socket; /* its descriptor of the socket for stacks; 0: there is none */
    dev_t device;    /* of the memory */
    ino_t inode;
} memory_at;

/* By number: musl has no function of the name that glibc gives it. */
#if defined(SYS_fcntl64)
enum { FCNTL = SYS_fcntl64 };
#else
enum { FCNTL = SYS_fcntl };
#endif

/* Is a descriptor that of the shared memory: a memfd of its size and magic, which
 * nobody can shorten while it is mapped? */
static bool
is_memory(int fd)
{
    const long seals = syscall(FCNTL, fd, F_GET_SEALS); /* -1: no file of memory */
    struct stat status;
    uint64_t magic = 0;

    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &status) == 0 &&
           S_ISREG(status.st_mode) &&
           status.st_size == (off_t)sizeof(struct preload_shared) &&
           pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
           magic == PRELOAD_MAGIC;
}

/* Map the shared memory, and leave it out of core dumps. NULL if memory runs out. */
static struct preload_shared *
map(int fd)
{
    void *const memory =
        mmap(NULL, sizeof(struct preload_shared), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_NORESERVE, fd, 0);

    struct stat status;

    if (memory == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(memory, sizeof(struct preload_shared), MADV_DONTDUMP);
    if (fstat(fd, &status) == 0) {
        memory_at.device = status.st_dev;
        memory_at.inode = status.st_ino;
    }
    return memory;
}

/* Read a decimal number of at most 9 digits. Returns where it ends; NULL: there is
 * none. */
static const char *
read_number(const char *text, unsigned *number)
{
    const char *at = text;

    *number = 0;
    while (*at >= '0' && *at <= '9' && at - text < 9) {
        *number = *number * 10 + (unsigned)(*at++ - '0');
    }
    return at != text ? at : NULL;
}

/* Write a decimal number, without a NUL. Returns where it ends. */
static char *
put_number(char *to, unsigned number)
{
    char digits[12];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (count > 0) {
        *to++ = digits[--count];
    }
    return to;
}

/* Write the path of descriptor fd of process pid. */
static void
put_path(char path[RECORD_PATH_BYTES], unsigned pid, unsigned fd)
{
    char *at = path;

    memcpy(at, "/proc/", 6);
    at = put_number(at + 6, pid);
    memcpy(at, "/fd/", 4);
    *put_number(at + 4, fd) = '\0';
}

void
record_put_command_path(char path[RECORD_PATH_BYTES], unsigned fd)
{
    put_path(path, memory_at.pid, fd);
}

/* Open descriptor fd of process pid if it is a file as large as the memory. In another
 * pid namespace pid may be any process, and to open a device may do something. Returns
 * -1 if not. */
static int
open_memory(unsigned pid, unsigned fd)
{
    char path[RECORD_PATH_BYTES];
    struct stat status;

    put_path(path, pid, fd);
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size != (off_t)sizeof(struct preload_shared)) {
        return -1;
    }
    return open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
}

/* Read PID:FD or PID:FD:SOCKET. Returns false if it is neither. */
static bool
read_variable(const char *text)
{
    const char *rest = text != NULL ? read_number(text, &memory_at.pid) : NULL;

    if (rest == NULL || *rest != ':') {
        return false;
    }
    rest = read_number(rest + 1, &memory_at.fd);
    if (rest != NULL && *rest == ':') {
        rest = read_number(rest + 1, &memory_at.socket);
    }
    return rest != NULL && *rest == '\0';
}

bool
record_find_socket(char path[RECORD_PATH_BYTES])
{
    struct stat status;

    if (memory_at.socket == 0) {
        return false;
    }
    /* The process of that number may be another one by now, or in this /proc. */
    put_path(path, memory_at.pid, memory_at.fd);
    if (stat(path, &status) != 0 || status.st_dev != memory_at.device ||
        status.st_ino != memory_at.inode) {
        return false;
    }
    put_path(path, memory_at.pid, memory_at.socket);
    return stat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

struct preload_shared *
record_open(void)
{
    struct preload_shared *shared = NULL;
    int fd;

    if (!read_variable(getenv(PRELOAD_VARIABLE))) {
        return NULL;
    }
    /* The first program inherits it. The descriptor is not the program's own, and
     * closing it here hides it. */
    if (is_memory((int)memory_at.fd)) {
        shared = map((int)memory_at.fd);
        (void)close((int)memory_at.fd);
        return shared;
    }
    fd = open_memory(memory_at.pid, memory_at.fd);
    if (fd < 0) {
        return NULL;
    }
    if (is_memory(fd)) {
        shared = map(fd);
    }
    (void)close(fd);
    return shared;
}

/* ---- Records ---- */

/* Return the next number of an array of so many places, from 1 on; 0: the array is
 * full. */
static uint32_t
take_number(uint32_t *count, uint32_t places)
{
    const uint32_t number = __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);

    if (number < places) {
        return number;
    }
    /* The command reads the count to find out how many were refused. It must not wrap,
     * so it ends at twice the places. */
    if (number > 2 * places) {
        (void)__atomic_sub_fetch(count, 1, __ATOMIC_RELAXED);
    }
    return 0;
}

static uint64_t
process_clock_ns(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Return the pid of the calling process in /proc; 0: it is not in /proc. */
static uint32_t
pid_in_proc(void)
{
    char digits[12];
    const ssize_t length = readlink("/proc/self", digits, sizeof(digits) - 1);
    unsigned pid;

    digits[length > 0 ? length : 0] = '\0';
    return read_number(digits, &pid) != NULL ? pid : 0;
}

/* Return the pid of the calling process in the command's PID namespace; 0: unknown.
 * namespace, pid: in, its own. */
static uint32_t
find_outer_pid(const struct preload_shared *shared, uint32_t namespace, uint32_t pid)
{
    if (namespace == shared->pid_namespace) {
        return pid;
    }
    return shared->proc_device != 0 && preload_proc_device() == shared->proc_device
               ? pid_in_proc()
               : 0;
}

uint32_t
record_process(struct preload_shared *shared, uint32_t kind, pid_t pid,
               const char *program)
{
    const uint32_t number = take_number(&shared->process_count, PRELOAD_PROCESSES);
    struct preload_process *const process = &shared->processes[number];

    RTL_ASSERT(number < PRELOAD_PROCESSES);
    RTL_ASSERT(kind >= PRELOAD_EXECED && kind <= PRELOAD_SPAWNED);
    if (number != 0) {
        const bool own = kind != PRELOAD_SPAWNED;

        const uint32_t namespace = preload_pid_namespace();

        process->pid = (uint32_t)pid;
        process->pid_namespace = namespace;
        process->outer_pid = own ? find_outer_pid(shared, namespace, process->pid) : 0;
        process->parent = namespace == shared->pid_namespace
                              ? (uint32_t)(own ? getppid() : getpid())
                              : 0;
        process->kind = kind;
        process->leaving = !own;
        process->begin_ns = own ? process_clock_ns() : 0;
        memcpy(process->program, program, PRELOAD_NAME_BYTES);
        __atomic_store_n(&process->ready, 1, __ATOMIC_RELEASE);
    }
    return number;
}

/* Is this recorded segment the same as the wanted one, with this path? */
static bool
is_same(const struct preload_shared *shared, const struct preload_segment *segment,
        const struct preload_segment *wanted, const char *path)
{
    const bool ready = __atomic_load_n(&segment->ready, __ATOMIC_ACQUIRE) == 1;
    /* Read once: a process with fewer rights than this one may change it meanwhile. */
    const uint32_t at = __atomic_load_n(&segment->path, __ATOMIC_RELAXED);

    return ready && segment->inode == wanted->inode &&
           segment->offset == wanted->offset && segment->length == wanted->length &&
           segment->device_major == wanted->device_major &&
           segment->device_minor == wanted->device_minor &&
           memcmp(segment->program, wanted->program, PRELOAD_NAME_BYTES) == 0 &&
           at < PRELOAD_PATHS_BYTES - PRELOAD_PATH_MAX &&
           strncmp(&shared->paths[at], path, PRELOAD_PATH_MAX) == 0;
}

/* Return the number of a segment that is recorded already; 0: it is not. */
static uint32_t
find_segment(const struct preload_shared *shared, const struct preload_segment *wanted,
             const char *path)
{
    uint32_t count = __atomic_load_n(&shared->segment_count, __ATOMIC_RELAXED);

    if (count >= PRELOAD_SEGMENTS) {
        count = PRELOAD_SEGMENTS - 1;
    }
    for (uint32_t i = 1; i <= count; i++) {
        if (is_same(shared, &shared->segments[i], wanted, path)) {
            return i;
        }
    }
    return 0;
}

/* Copy a path to the shared memory. Returns its index in paths; PRELOAD_PATHS_BYTES:
 * there is no room. */
static uint32_t
record_path(struct preload_shared *shared, const char *path)
{
    const uint32_t bytes = (uint32_t)strlen(path) + 1;
    uint32_t at = __atomic_load_n(&shared->paths_bytes, __ATOMIC_RELAXED);

    do {
        if (at >= PRELOAD_PATHS_BYTES - PRELOAD_PATH_MAX || bytes > PRELOAD_PATH_MAX) {
            return PRELOAD_PATHS_BYTES;
        }
    } while (!__atomic_compare_exchange_n(&shared->paths_bytes, &at, at + bytes, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    memcpy(&shared->paths[at], path, bytes);
    return at;
}

uint32_t
record_segment(struct preload_shared *shared, const struct preload_segment *wanted,
               const char *path)
{
    uint32_t number = find_segment(shared, wanted, path);
    struct preload_segment *segment;
    uint32_t at;

    /* With ready set, the copy below would publish itself before it is complete. */
    RTL_ASSERT(wanted->ready == 0 && wanted->length > 0);
    RTL_ASSERT(wanted->process < PRELOAD_PROCESSES);
    if (number != 0) {
        return number;
    }
    at = record_path(shared, path);
    number = at < PRELOAD_PATHS_BYTES
                 ? take_number(&shared->segment_count, PRELOAD_SEGMENTS)
                 : 0;
    if (number == 0) {
        return 0;
    }
    segment = &shared->segments[number];
    *segment = *wanted;
    segment->path = at;
    __atomic_store_n(&segment->ready, 1, __ATOMIC_RELEASE);
    return number;
}

/* ---- Hits ---- */

/* Return the slot at which the search for a key starts. Multiplication spreads
 * neighbouring buckets (Fibonacci hashing). */
static uint32_t
slot_of(uint64_t key)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PRELOAD_SLOTS_LOG2));
}

void
record_hit(struct preload_shared *shared, uint64_t key)
{
    const uint32_t first = slot_of(key);

    RTL_ASSERT(key != 0 && first < PRELOAD_SLOTS);
    for (uint32_t i = 0; i < PRELOAD_PROBES; i++) {
        struct preload_slot *const slot = &shared->slots[(first + i) % PRELOAD_SLOTS];
        uint64_t found = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);

        if (found == 0 &&
            __atomic_compare_exchange_n(&slot->key, &found, key, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            found = key;
        }
        if (found == key) {
            (void)__atomic_fetch_add(&slot->hits, 1, __ATOMIC_RELEASE);
            return;
        }
    }
    (void)__atomic_fetch_add(&shared->lost, 1, __ATOMIC_RELAXED);
}
