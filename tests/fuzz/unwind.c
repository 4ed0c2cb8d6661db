/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - fuzz target: forged unwind tables, read through libdw.
 *
 * libdw is not instrumented: of its own faults only crashes are found, which cost a
 * reader of one file. It keeps a place for each register up to the highest that a table
 * names, GBs if that is forged. The process of a reader has a limit of memory, and its
 * client gives it up after some time; here large allocations fail, and questions end.
 *
 * An input is a byte (0: .eh_frame behind the table that PT_GNU_EH_FRAME names, 1:
 * .eh_frame, 2: .debug_frame), two bytes of address and two of the length of that
 * table, lowest first, and the bytes of all.
 */
#include "symbols/reader/reader.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

enum { BY_SEGMENT, BY_SECTION, DEBUG, KINDS };
enum { INPUT_HEADER = 5, QUESTIONS_MAX = 100, SECONDS_MAX = 2 };

/* Called by AddressSanitizer before main; the environment's options come after it. */
const char *
__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=32";
}

/* forged - the headers of an ELF file, which the bytes follow. */
struct forged {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    Elf64_Shdr sections[3];
    char names[32];
};

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

/* Headers for bytes at an address, the first of which are a sorted table. */
static void
forge(struct forged *forged, unsigned int kind, uint64_t address, uint64_t table,
      uint64_t size)
{
    *forged = (struct forged){
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                               ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_machine = SYM_UNWIND_MACHINE,
                   .e_version = EV_CURRENT,
                   .e_phoff = offsetof(struct forged, segments),
                   .e_shoff = offsetof(struct forged, sections),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = kind == BY_SEGMENT ? 2 : 1,
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 3,
                   .e_shstrndx = 2},
        .segments = {{.p_type = PT_LOAD,
                      .p_flags = PF_R | PF_X,
                      .p_offset = sizeof(*forged),
                      .p_vaddr = address,
                      .p_filesz = size,
                      .p_memsz = size},
                     {.p_type = PT_GNU_EH_FRAME,
                      .p_offset = sizeof(*forged),
                      .p_vaddr = address,
                      .p_filesz = table,
                      .p_memsz = table}},
        .sections = {{0},
                     {.sh_name = kind == DEBUG ? 11 : 1,
                      .sh_type = SHT_PROGBITS,
                      .sh_addr = address + table,
                      .sh_offset = sizeof(*forged) + table,
                      .sh_size = size - table,
                      .sh_addralign = 1},
                     {.sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(struct forged, names),
                      .sh_size = sizeof(forged->names)}},
        .names = "\0.eh_frame\0.debug_frame",
    };
}

static void
check_row(const struct sym_unwind_row *row)
{
    const struct sym_unwind_rule *const rule = &row->rule;

    require(row->start < row->end && rule->kind < SYM_UNWIND_KINDS &&
            rule->cfa < SYM_CFA_FORMS && rule->cfa_register < SYM_REGISTERS &&
            rule->base < SYM_REGISTERS);
    for (size_t i = 0; i < SYM_SAVED_REGISTERS; i++) {
        require(rule->places[i] < SYM_PLACES);
    }
}

/* Asks at an address and behind what comes, up to a processor time. */
static void
ask(struct sym_reader *reader, uint64_t address)
{
    const clock_t end = clock() + SECONDS_MAX * CLOCKS_PER_SEC;
    struct sym_unwind_row rows[SYM_UNWIND_ROWS_MAX];

    for (unsigned int i = 0; i < QUESTIONS_MAX && address < UINT64_MAX && clock() < end;
         i++) {
        const size_t count = sym_reader_unwind(reader, address, rows);

        require(count >= 1 && count <= SYM_UNWIND_ROWS_MAX);
        require(rows[0].start <= address && address < rows[0].end);
        for (size_t at = 0; at < count; at++) {
            check_row(&rows[at]);
            require(at == 0 || rows[at].start == rows[at - 1].end);
        }
        address = rows[count - 1].end;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sym_reader *reader;
    struct forged forged;
    uint64_t address;
    uint64_t table;
    uint8_t *file;

    if (size <= INPUT_HEADER || data[0] >= KINDS) {
        return 0;
    }
    address = (uint64_t)data[1] | (uint64_t)data[2] << 8;
    table = (uint64_t)data[3] | (uint64_t)data[4] << 8;
    size -= INPUT_HEADER;
    table = table < size ? table : size;
    forge(&forged, data[0], address, table, size);
    file = malloc(sizeof(forged) + size);
    require(file != NULL);
    memcpy(file, &forged, sizeof(forged));
    memcpy(file + sizeof(forged), data + INPUT_HEADER, size);
    reader = sym_reader_open_memory(file, sizeof(forged) + size, "/nowhere/forged");
    require(reader != NULL);
    ask(reader, address > 0x1000 ? address - 0x1000 : 0);
    ask(reader, address);
    ask(reader, 0x1000);
    sym_reader_close(reader);
    free(file);
    return 0;
}
