/* SPDX-License-Identifier: MIT */
/* loadable.c - reads headers of ELF files and the first lines of scripts. */
#include "record/loadable.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Linux executes a script of a script of a script.. only so deep. */
enum { SCRIPTS_MAX = 5 };

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__i386__)
enum { MACHINE = EM_386 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#elif defined(__arm__)
enum { MACHINE = EM_ARM };
#elif defined(__riscv)
enum { MACHINE = EM_RISCV };
#elif defined(__powerpc64__)
enum { MACHINE = EM_PPC64 };
#elif defined(__s390x__)
enum { MACHINE = EM_S390 };
#else
enum { MACHINE = EM_NONE };
#endif

enum { WORD_CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32 };

/* Copy the interpreter from a script's first line, "#!" INTERPRETER [ARGUMENT]. Returns
 * LOADABLE_YES if there is one, which is to be judged instead of the script, else
 * LOADABLE_UNKNOWN, also if the bytes end before it does. */
static enum loadable
judge_script(const unsigned char *bytes, size_t size, char *interpreter)
{
    size_t at = 2;
    size_t length = 0;

    while (at < size && (bytes[at] == ' ' || bytes[at] == '\t')) {
        at++;
    }
    while (at < size && bytes[at] != ' ' && bytes[at] != '\t' && bytes[at] != '\n' &&
           bytes[at] != '\0') {
        interpreter[length++] = (char)bytes[at++];
    }
    interpreter[length] = '\0';
    return length > 0 && at < size ? LOADABLE_YES : LOADABLE_UNKNOWN;
}

/* Whether one of count program headers, each of entry_bytes and the first at
 * offset, names a dynamic loader. They may be of either word size: the type is
 * their first member in both. */
static bool
has_loader(const unsigned char *bytes, size_t size, uint64_t offset, size_t entry_bytes,
           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t type;

        if (offset > size || (size - offset) / entry_bytes <= i) {
            return false;
        }
        memcpy(&type, bytes + offset + i * entry_bytes, sizeof(type));
        if (type == PT_INTERP) {
            return true;
        }
    }
    return false;
}

/* Whether the file is a 32-bit x86 program, and this machine is x86-64 and may run
 * it beside its own. */
static bool
is_i386(const unsigned char *bytes, size_t size)
{
    Elf32_Ehdr header;

    if (MACHINE != EM_X86_64 || size < sizeof(header)) {
        return false;
    }
    memcpy(&header, bytes, sizeof(header));
    return header.e_ident[EI_CLASS] == ELFCLASS32 && header.e_machine == EM_386;
}

/* Judge a 32-bit x86 program by whether it has a dynamic loader. */
static enum loadable
check_i386(const unsigned char *bytes, size_t size)
{
    Elf32_Ehdr header;

    memcpy(&header, bytes, sizeof(header));
    if (header.e_phentsize != sizeof(Elf32_Phdr)) {
        return LOADABLE_UNKNOWN;
    }
    return has_loader(bytes, size, header.e_phoff, sizeof(Elf32_Phdr), header.e_phnum)
               ? LOADABLE_I386
               : LOADABLE_STATIC;
}

enum loadable
loadable_judge(const unsigned char *bytes, size_t size, char *interpreter)
{
    ElfW(Ehdr) header;

    interpreter[0] = '\0';
    if (size >= 2 && bytes[0] == '#' && bytes[1] == '!') {
        return judge_script(bytes, size, interpreter);
    }
    if (size >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0 &&
        is_i386(bytes, size)) {
        return check_i386(bytes, size);
    }
    if (size < sizeof(header) || memcmp(bytes, ELFMAG, SELFMAG) != 0) {
        return LOADABLE_UNKNOWN;
    }
    memcpy(&header, bytes, sizeof(header));
    if (header.e_ident[EI_CLASS] != WORD_CLASS || header.e_machine != MACHINE) {
        return LOADABLE_FOREIGN;
    }
    if (header.e_phentsize != sizeof(ElfW(Phdr))) {
        return LOADABLE_UNKNOWN;
    }
    return has_loader(bytes, size, header.e_phoff, sizeof(ElfW(Phdr)), header.e_phnum)
               ? LOADABLE_YES
               : LOADABLE_STATIC;
}

/* Whether executing the file gives rights that we do not have: then the loader ignores
 * preload objects. A process with no_new_privs gets none, and root none by
 * capabilities of the file. */
static bool
gives_rights(int fd, const struct stat *status)
{
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) {
        return false;
    }
    return ((status->st_mode & S_ISUID) != 0 && status->st_uid != geteuid()) ||
           ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
            status->st_gid != getegid()) ||
           (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

/* Judge one file; if it is a script, *interpreter becomes what runs
 * it, otherwise "". */
static enum loadable
check_file(const char *path, char *interpreter)
{
    unsigned char bytes[LOADABLE_BYTES];
    /* A FIFO would block, and a device may do something. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum loadable result = LOADABLE_UNKNOWN;
    struct stat status;
    ssize_t got;

    interpreter[0] = '\0';
    if (fd < 0) {
        /* Programs can be executed without being readable: only the set-user-ID bit
         * can be seen then. */
        return stat(path, &status) == 0 && (status.st_mode & S_ISUID) != 0 &&
                       status.st_uid != geteuid()
                   ? LOADABLE_RIGHTS
                   : LOADABLE_UNKNOWN;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        got = pread(fd, bytes, sizeof(bytes), 0);
        result = got > 0 ? loadable_judge(bytes, (size_t)got, interpreter) : result;
        /* Linux ignores the rights that a script's file would give. */
        if ((result == LOADABLE_YES || result == LOADABLE_I386) &&
            interpreter[0] == '\0' && gives_rights(fd, &status)) {
            result = LOADABLE_RIGHTS;
        }
    }
    close(fd);
    return result;
}

enum loadable
loadable_check(const char *path)
{
    char interpreter[LOADABLE_BYTES];
    char next[LOADABLE_BYTES];
    enum loadable result = check_file(path, interpreter);

    for (int i = 0; i < SCRIPTS_MAX && interpreter[0] != '\0'; i++) {
        strcpy(next, interpreter);
        result = check_file(next, interpreter);
    }
    return result;
}

const char *
loadable_reason(enum loadable loadable)
{
    switch (loadable) {
    case LOADABLE_STATIC:
        return "it is linked statically, so no preload object can be loaded into it; "
               "link it dynamically";
    case LOADABLE_FOREIGN:
        return "it is of another machine or word size than the preload object; build "
               "ntprof for it";
    case LOADABLE_RIGHTS:
        return "it gets other rights by its file (set-user-ID, set-group-ID or "
               "capabilities), and loads no preload object then; run a copy "
               "without them";
    case LOADABLE_UNKNOWN:
        return "it cannot be read, or is no program of Linux, so it is not known "
               "whether a preload object can be loaded into it";
    case LOADABLE_YES:
    case LOADABLE_I386:
        break;
    }
    return "";
}
