/* SPDX-License-Identifier: MIT */
/*
 * preload/stacks.c - copies registers and stack of a hit for the command, which walks
 * them. Nothing is walked here.
 *
 * Where any step of making a ring fails, the process has none: its hits are counted as
 * without stacks, and their callers are not recorded. Only code of x86-64 and arm64 is
 * walked.
 */
#include "preload/preload.h"
#include "preload/stack_ring.h"
#include "rtl/assert.h"

#if defined(__x86_64__) || defined(__aarch64__)

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* The first thread's stack grows down to its limit, which may change. Linux leaves at
 * least 128 MB below its end free of other mappings. */
#define FIRST_STACK_BYTES ((uintptr_t)64 << 20)

/* How often a ring is sent. */
enum { SENDS_MAX = 3 };

/* Of the calling thread; set before it is armed. In memory that exists from the start
 * of each thread on: handlers may read it. */
static _Thread_local struct {
    uint32_t tid; /* 0: not known, no hit of it is copied */
    uintptr_t low;
    uintptr_t high;
} own __attribute__((tls_model("initial-exec")));

static struct {
    struct stack_ring *ring; /* NULL: there is none */
    uint32_t slots;
    uint32_t stack_bytes; /* 0: no stacks are wanted */
    struct preload_libc libc;
} state;

/* ---- The ring ---- */

/* Since Linux 6.3; where vm.memfd_noexec is 2, no file is made without it. */
#if !defined(MFD_NOEXEC_SEAL)
#define MFD_NOEXEC_SEAL 8U
#endif

/* Make a file of this size that can neither shrink nor grow, and that nobody opens
 * anew. Returns -1 if that fails. */
static int
make_file(size_t bytes)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    struct rlimit size;
    long fd;

    /* Beyond this limit the kernel would send the program a signal. */
    if (getrlimit(RLIMIT_FSIZE, &size) != 0 ||
        (size.rlim_cur != RLIM_INFINITY && size.rlim_cur < bytes)) {
        return -1;
    }
    fd = syscall(SYS_memfd_create, STACK_RING_NAME, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) {
        fd = syscall(SYS_memfd_create, STACK_RING_NAME, flags);
    }
    if (fd >= 0 &&
        (syscall(SYS_fchmod, fd, 0) != 0 || syscall(SYS_ftruncate, fd, bytes) != 0 ||
         syscall(SYS_fcntl, fd, F_ADD_SEALS,
                 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)) {
        (void)syscall(SYS_close, fd);
        return -1;
    }
    return (int)fd;
}

/* Map a ring, so that no child of fork and no core dump gets it. NULL: refused. */
static struct stack_ring *
map_file(int fd, size_t bytes)
{
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (madvise(memory, bytes, MADV_DONTFORK) != 0 ||
        madvise(memory, bytes, MADV_DONTDUMP) != 0) {
        (void)munmap(memory, bytes);
        return NULL;
    }
    return memory;
}

/* Is the other end of a socket root's or this user's? */
static bool
is_trusted(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

/* Connect to the command. Returns -1 if that fails. */
static int
connect_command(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    long fd;

    _Static_assert(sizeof(address.sun_path) >= RECORD_PATH_BYTES, "a path fits");
    if (!record_find_socket(address.sun_path)) {
        return -1;
    }
    fd = syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && (syscall(SYS_connect, fd, &address, sizeof(address)) != 0 ||
                    !is_trusted((int)fd))) {
        (void)syscall(SYS_close, fd);
        return -1;
    }
    return (int)fd;
}

/* Hand a descriptor over a connection, which is closed. */
static bool
send_over(int connected, int fd)
{
    char byte = 0;
    struct iovec data = {&byte, 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *const header = CMSG_FIRSTHDR(&message);
    bool sent;

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    sent = syscall(SYS_sendmsg, connected, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
    (void)syscall(SYS_close, connected);
    return sent;
}

/* Hand a descriptor to the command. Once it is sent, it gets there even if this process
 * ends before the command looks. The command does not wait: a connection that it takes
 * before the descriptor is sent is closed, and made again. */
static bool
send_file(int fd)
{
    bool sent = false;

    for (int i = 0; !sent && i < SENDS_MAX; i++) {
        const int connected = connect_command();

        if (connected < 0) {
            return false;
        }
        sent = send_over(connected, fd);
    }
    return sent;
}

void
stacks_open(uint32_t process)
{
    const size_t bytes = stack_ring_bytes(state.slots, state.stack_bytes);
    struct stack_ring *ring;
    int fd;

    RTL_ASSERT(state.ring == NULL);
    if (state.stack_bytes == 0 || process == 0) {
        return;
    }
    fd = make_file(bytes);
    if (fd < 0) {
        return;
    }
    ring = map_file(fd, bytes);
    if (ring != NULL) {
        ring->process = process;
        ring->magic = STACK_RING_MAGIC;
        state.ring = ring;
        images_report();
        if (!send_file(fd)) {
            state.ring = NULL;
            (void)munmap(ring, bytes);
        }
    }
    (void)syscall(SYS_close, fd);
}

void
stacks_change_code(uintptr_t base, uintptr_t length, uint32_t segment)
{
    struct stack_ring *const ring = state.ring;

    if (ring == NULL) {
        return;
    }
    if (ring->event_count == STACK_RING_EVENTS) {
        /* Later hits could not be walked. */
        __atomic_store_n(&state.ring, NULL, __ATOMIC_RELAXED);
        return;
    }
    ring->events[ring->event_count] =
        (struct stack_ring_event){.base = base, .length = length, .segment = segment};
    __atomic_store_n(&ring->event_count, ring->event_count + 1, __ATOMIC_RELEASE);
}

/* ---- Threads ---- */

void
stacks_begin_thread(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;

    if (state.stack_bytes == 0 ||
        state.libc.pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    if (state.libc.pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        own.low = (uintptr_t)low;
        own.high = (uintptr_t)low + bytes;
    }
    (void)state.libc.pthread_attr_destroy(&attributes);
    own.tid = (uint32_t)syscall(SYS_gettid);
}

/* ---- Processes ---- */

void
stacks_begin(const struct preload_shared *shared, const struct preload_libc *libc,
             uintptr_t first_end)
{
    const uint32_t slots = shared->ring_slots;
    const uint32_t bytes = shared->stack_bytes;

    /* Programs with fewer rights than this one may have written there. */
    if (!stack_ring_allows(slots, bytes)) {
        return;
    }
    state.libc = *libc;
    state.slots = slots;
    state.stack_bytes = bytes;
    if (first_end > FIRST_STACK_BYTES) {
        own.low = first_end - FIRST_STACK_BYTES;
        own.high = first_end;
    }
    own.tid = (uint32_t)syscall(SYS_gettid);
}

void
stacks_after_fork(uint32_t process)
{
    state.ring = NULL; /* the parent's, which is not mapped here */
    if (own.tid != 0) {
        own.tid = (uint32_t)syscall(SYS_gettid);
    }
    stacks_open(process);
}

/* ---- Hits ---- */

#if defined(__x86_64__)

/* Return where the stack of interrupted code begins. */
static uintptr_t
stack_of(const ucontext_t *machine)
{
    return (uintptr_t)machine->uc_mcontext.gregs[REG_RSP];
}

/* Store its registers by DWARF's numbers. */
static void
store_registers(const ucontext_t *machine, uint64_t *registers)
{
    static const uint8_t places[STACK_RING_REGISTERS] = {
        REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
        REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

    for (size_t i = 0; i < STACK_RING_REGISTERS; i++) {
        registers[i] = (uint64_t)machine->uc_mcontext.gregs[places[i]];
    }
}

/* Copy without a call: a program's own memcpy, as that of AddressSanitizer, may refuse
 * to read stacks. bytes: a multiple of 8. */
static void
copy(void *to, const void *from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

#else

static uintptr_t
stack_of(const ucontext_t *machine)
{
    return (uintptr_t)machine->uc_mcontext.sp;
}

/* Copy without a call, as above. bytes: a multiple of 8. */
static void
copy(void *to, const void *from, size_t bytes)
{
    for (size_t left = bytes; left > 0; left -= sizeof(uint64_t)) {
        uint64_t word;

        __asm__ volatile("ldr %0, [%1], #8\n\tstr %0, [%2], #8"
                         : "=&r"(word), "+r"(from), "+r"(to)
                         :
                         : "memory");
    }
}

static void
store_registers(const ucontext_t *machine, uint64_t *registers)
{
    enum { NUMBERED = STACK_RING_REGISTERS - 2 };

    /* A compiler may make a call of memcpy of a loop. */
    copy(registers, machine->uc_mcontext.regs, NUMBERED * sizeof(registers[0]));
    registers[NUMBERED] = machine->uc_mcontext.sp;
    registers[NUMBERED + 1] = machine->uc_mcontext.pc;
}

#endif

bool
stacks_take(uint64_t key, const ucontext_t *machine)
{
    struct stack_ring *const ring = __atomic_load_n(&state.ring, __ATOMIC_RELAXED);
    const uintptr_t top = stack_of(machine);
    struct stack_ring_slot *slot;
    uintptr_t bytes = 0;
    uint32_t at;

    if (ring == NULL || own.tid == 0) {
        return false;
    }
    at = stack_ring_take(ring, state.slots, own.tid);
    if (at == state.slots) {
        return false;
    }
    slot = stack_ring_slot(ring, state.slots, state.stack_bytes, at);
    if (top >= own.low && top < own.high) {
        bytes = own.high - top < state.stack_bytes ? own.high - top : state.stack_bytes;
        bytes &= ~(uintptr_t)7;
    }
    slot->key = key;
    slot->event_count = __atomic_load_n(&ring->event_count, __ATOMIC_ACQUIRE);
    slot->stack_bytes = (uint32_t)bytes;
    store_registers(machine, slot->registers);
    copy(slot->stack, (const void *)top, bytes);
    stack_ring_publish(ring, at, own.tid);
    return true;
}

#else

void
stacks_begin(const struct preload_shared *shared, const struct preload_libc *libc,
             uintptr_t first_end)
{
    (void)shared;
    (void)libc;
    (void)first_end;
}

void
stacks_open(uint32_t process)
{
    (void)process;
}

void
stacks_change_code(uintptr_t base, uintptr_t length, uint32_t segment)
{
    (void)base;
    (void)length;
    (void)segment;
}

void
stacks_begin_thread(void)
{
}

void
stacks_after_fork(uint32_t process)
{
    (void)process;
}

bool
stacks_take(uint64_t key, const ucontext_t *machine)
{
    (void)key;
    (void)machine;
    return false;
}

#endif
