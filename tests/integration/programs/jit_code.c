/* SPDX-License-Identifier: MIT */
/*
 * jit_code.c - makes code at run time as JITs do, and names it in /tmp/perf-PID.map.
 *
 *   jit_code MEMORY NAME MILLISECONDS [remove | late | none | wrong]
 *
 *   MEMORY  what the code is in: anonymous, shared, memfd, shm (a removed file of
 *           /dev/shm), sysv or heap; unloaded: anonymous memory where libz was before
 *   remove  removes the perf map before it exits
 *   late    writes the perf map before it exits, not at its start
 *   none    writes no perf map
 *   wrong   writes one that names other addresses
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 65536, OFFSET = 256 };

#if defined(__x86_64__)
/* mov ecx, edi; 1: dec ecx; jnz 1b; ret */
static const unsigned char loop[] = {0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
#elif defined(__aarch64__)
/* 1: subs w0, w0, #1; b.ne 1b; ret */
static const unsigned char loop[] = {0x00, 0x04, 0x00, 0x71, 0xe1, 0xff,
                                     0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
#else
static const unsigned char loop[1];
#endif

/* code - the same memory twice: where it is written, and where it runs. */
struct code {
    unsigned char *written;
    unsigned char *run;
};

static void
fail(const char *what)
{
    perror(what);
    exit(2);
}

static unsigned char *
map(int protection, int flags, int fd)
{
    unsigned char *const memory = mmap(NULL, BYTES, protection, flags, fd, 0);

    if (memory == MAP_FAILED) {
        fail("mmap");
    }
    return memory;
}

/* .NET writes code through one mapping of a file and runs it through another. */
static struct code
map_file_twice(int fd)
{
    if (fd < 0 || ftruncate(fd, BYTES) != 0) {
        fail("file");
    }
    return (struct code){map(PROT_READ | PROT_WRITE, MAP_SHARED, fd),
                         map(PROT_READ | PROT_EXEC, MAP_SHARED, fd)};
}

static int
open_removed(void)
{
    char path[] = "/dev/shm/jit_code_XXXXXX";
    const int fd = mkstemp(path);

    unlink(path);
    return fd;
}

static unsigned char *
attach_sysv(void)
{
    const int id = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0700);
    unsigned char *const memory = shmat(id, NULL, SHM_EXEC);

    shmctl(id, IPC_RMID, NULL);
    if (memory == (void *)-1) {
        fail("shmat");
    }
    return memory;
}

static unsigned char *
grow_heap(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t room = (uintptr_t)sbrk((intptr_t)(BYTES + page));
    const uintptr_t begin = (room + page - 1) & ~(page - 1);

    if (mprotect((void *)begin, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        fail("mprotect");
    }
    return (unsigned char *)begin;
}

/* The first byte of the code of a library. */
static int
find_code(struct dl_phdr_info *info, size_t size, void *given)
{
    uintptr_t *const found = given;

    (void)size;
    for (int i = 0; strstr(info->dlpi_name, "libz.") != NULL && i < info->dlpi_phnum;
         i++) {
        if ((info->dlpi_phdr[i].p_flags & PF_X) != 0) {
            *found = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        }
    }
    return *found != 0;
}

static unsigned char *
replace_library(void)
{
    void *const library = dlopen("libz.so.1", RTLD_NOW);
    uintptr_t begin = 0;
    unsigned char *memory;

    dl_iterate_phdr(find_code, &begin);
    if (library == NULL || begin == 0) {
        fputs("no libz\n", stderr);
        exit(77);
    }
    dlclose(library);
    begin &= ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    memory = mmap((void *)begin, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != (void *)begin) {
        fail("where libz was");
    }
    return memory;
}

static struct code
make_memory(const char *kind)
{
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    unsigned char *memory;

    if (strcmp(kind, "memfd") == 0) {
        return map_file_twice(memfd_create("doublemapper", MFD_CLOEXEC));
    }
    if (strcmp(kind, "shm") == 0) {
        return map_file_twice(open_removed());
    }
    if (strcmp(kind, "shared") == 0) {
        memory = map(all, MAP_SHARED | MAP_ANONYMOUS, -1);
    } else if (strcmp(kind, "sysv") == 0) {
        memory = attach_sysv();
    } else if (strcmp(kind, "heap") == 0) {
        memory = grow_heap();
    } else if (strcmp(kind, "unloaded") == 0) {
        memory = replace_library();
    } else {
        memory = map(all, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    }
    return (struct code){memory, memory};
}

static const char *
map_path(void)
{
    static char path[64];

    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    return path;
}

static void
write_map(const unsigned char *begin, const char *name)
{
    FILE *const file = fopen(map_path(), "w");

    if (file == NULL) {
        fail(map_path());
    }
    fprintf(file, "%lx %zx %s\n", (unsigned long)begin, sizeof(loop), name);
    fclose(file);
}

static void
work(const unsigned char *begin, long milliseconds)
{
    const clock_t end = clock() + milliseconds * CLOCKS_PER_SEC / 1000;
    void (*run)(int);

    memcpy(&run, &begin, sizeof(run));
    while (clock() < end) {
        run(1000000);
    }
}

int
main(int count, char **words)
{
    const char *const how = count > 4 ? words[4] : "";
    struct code code;

    if (count < 4 || sizeof(loop) == 1) {
        return 77;
    }
    code = make_memory(words[1]);
    memcpy(code.written + OFFSET, loop, sizeof(loop));
    __builtin___clear_cache((char *)code.run, (char *)code.run + BYTES / 16);
    if (strcmp(how, "late") != 0 && strcmp(how, "none") != 0) {
        write_map(code.run + (strcmp(how, "wrong") == 0 ? 2 * OFFSET : OFFSET),
                  words[2]);
    }
    puts(map_path());
    fflush(stdout);
    work(code.run + OFFSET, atol(words[3]));
    if (strcmp(how, "late") == 0) {
        write_map(code.run + OFFSET, words[2]);
    } else if (strcmp(how, "remove") == 0) {
        unlink(map_path());
    }
    return 0;
}
