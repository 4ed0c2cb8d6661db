/* SPDX-License-Identifier: MIT */
/*
 * elf_code.c - executable areas of a file, by its sections or its segments.
 */
#include "symbols/reader/elf_code.h"

#include <assert.h>
#include <stdlib.h>

static int
compare_areas(const void *left, const void *right)
{
    const struct sym_bound *const a = left;
    const struct sym_bound *const b = right;

    return (a->start > b->start) - (a->start < b->start);
}

static void
add_area(struct sym_elf_code *code, uint64_t start, uint64_t size)
{
    const uint64_t end = size <= UINT64_MAX - start ? start + size : UINT64_MAX;

    if (start < end) {
        code->areas[code->count++] = (struct sym_bound){start, end};
    }
}

static void
add_sections(struct sym_elf_code *code, const struct sym_elf *file)
{
    const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;

    for (size_t i = 1; i < file->section_count; i++) {
        if ((file->sections[i].sh_flags & wanted) == wanted) {
            add_area(code, file->sections[i].sh_addr, file->sections[i].sh_size);
        }
    }
}

static void
add_segments(struct sym_elf_code *code, const struct sym_elf *file)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *const segment = &file->segments[i];

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            add_area(code, segment->p_vaddr, segment->p_memsz);
        }
    }
}

/* Join areas that touch. */
static void
join_areas(struct sym_elf_code *code)
{
    size_t kept = 0;

    if (code->count == 0) {
        return;
    }
    qsort(code->areas, code->count, sizeof(*code->areas), compare_areas);
    for (size_t i = 1; i < code->count; i++) {
        const struct sym_bound area = code->areas[i];

        if (area.start > code->areas[kept].end) {
            code->areas[++kept] = area;
        } else if (area.end > code->areas[kept].end) {
            code->areas[kept].end = area.end;
        }
    }
    code->count = kept + 1;
}

bool
sym_elf_code_read(struct sym_elf_code *code, const struct sym_elf *file)
{
    const size_t most = file->section_count + file->segment_count + 1;

    *code = (struct sym_elf_code){.areas = calloc(most, sizeof(*code->areas))};
    if (code->areas == NULL) {
        return false;
    }
    add_sections(code, file);
    if (code->count == 0) {
        add_segments(code, file);
    }
    join_areas(code);
    for (size_t i = 0; i < code->count; i++) {
        assert(code->areas[i].start < code->areas[i].end);
        assert(i == 0 || code->areas[i - 1].end < code->areas[i].start);
    }
    return true;
}

void
sym_elf_code_finish(struct sym_elf_code *code)
{
    free(code->areas);
    *code = (struct sym_elf_code){.areas = NULL};
}

bool
sym_elf_code_holds(const struct sym_elf_code *code, uint64_t address)
{
    const size_t below = address == UINT64_MAX
                             ? 0
                             : sym_count_below(code->areas, code->count,
                                               sizeof(*code->areas), address + 1);

    return below > 0 && address < code->areas[below - 1].end;
}
