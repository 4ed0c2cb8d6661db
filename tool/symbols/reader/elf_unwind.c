/* SPDX-License-Identifier: MIT */
/*
 * elf_unwind.c - where functions begin and end, by .eh_frame: the table that exceptions
 * are unwound with. A file that was stripped still has it.
 *
 * It is a list of CIEs, each of which says how addresses are written in the FDEs that
 * refer to it, and of FDEs, one for each function, or for all stubs of a PLT.
 */
#include "symbols/reader/elf_code.h"
#include "symbols/reader/elf_symbols.h"

#include <errno.h>

/* How addresses are written (DW_EH_PE_...): the low half of the byte is the form, the
 * high half is what the address is relative to. */
enum {
    FORM_MASK = 0x0f,
    FORM_POINTER = 0x00,
    FORM_WORD_2 = 0x02,
    FORM_WORD_4 = 0x03,
    FORM_WORD_8 = 0x04,
    FORM_SIGNED_2 = 0x0a,
    FORM_SIGNED_4 = 0x0b,
    FORM_SIGNED_8 = 0x0c,
    BASE_MASK = 0xf0,
    BASE_NONE = 0x00,
    BASE_ITSELF = 0x10, /* the address at which it is written (pcrel) */
    ENCODING_UNKNOWN = 0xff
};

/* frames - the table, and how far it is read. */
struct frames {
    const struct sym_elf *file;
    uint64_t address; /* of its first byte */
    uint64_t offset;  /* in the file */
    uint64_t size;
    struct sym_elf_code code;
    uint64_t cie; /* the last one that was asked for, and what it says */
    uint8_t encoding;
};

/* cursor - a position in the table: offset at, below end. */
struct cursor {
    const struct frames *frames;
    uint64_t at;
    uint64_t end;
    bool failed;
};

/* Read a number of width bytes at the cursor, in the byte order of the file. */
static uint64_t
get_number(struct cursor *cursor, size_t width)
{
    const struct frames *const frames = cursor->frames;
    const unsigned char *bytes;
    uint64_t number = 0;

    if (cursor->failed || cursor->end - cursor->at < width) {
        cursor->failed = true;
        return 0;
    }
    bytes = frames->file->bytes + frames->offset + cursor->at;
    for (size_t i = 0; i < width; i++) {
        number |= (uint64_t)bytes[frames->file->big_endian ? width - 1 - i : i]
                  << 8 * i;
    }
    cursor->at += width;
    return number;
}

/* Skip a LEB128 number. */
static void
pass_number(struct cursor *cursor)
{
    while (!cursor->failed && (get_number(cursor, 1) & 0x80) != 0) {
    }
}

/* Return the size in bytes of an encoded address; 0: no linker uses this form here. */
static size_t
width_of(const struct frames *frames, uint8_t encoding)
{
    switch (encoding & FORM_MASK) {
    case FORM_POINTER:
        return frames->file->wide ? 8 : 4;
    case FORM_WORD_2:
    case FORM_SIGNED_2:
        return 2;
    case FORM_WORD_4:
    case FORM_SIGNED_4:
        return 4;
    case FORM_WORD_8:
    case FORM_SIGNED_8:
        return 8;
    default:
        return 0;
    }
}

/* Read an address of this encoding at the cursor, which fails for encodings that
 * executables do not have. */
static uint64_t
get_address(struct cursor *cursor, uint8_t encoding)
{
    const struct frames *const frames = cursor->frames;
    const uint64_t itself = frames->address + cursor->at;
    const size_t width = width_of(frames, encoding);
    const uint8_t base = encoding & BASE_MASK;
    uint64_t address = get_number(cursor, width);

    if (width == 0 || (base != BASE_NONE && base != BASE_ITSELF)) {
        cursor->failed = true;
        return 0;
    }
    if ((encoding & FORM_MASK) >= FORM_SIGNED_2 && width < 8 &&
        address >> (8 * width - 1) != 0) {
        address |= UINT64_MAX << 8 * width;
    }
    address += base == BASE_ITSELF ? itself : 0;
    return frames->file->wide ? address : (uint32_t)address;
}

/* --- entries --- */

/* Read the length of an entry and set the end of the cursor to that of the entry.
 * Returns false at the end of the section or at the zero that ends the table. */
static bool
begin_entry(struct cursor *cursor)
{
    uint64_t length = get_number(cursor, 4);

    if (length == UINT32_MAX) {
        length = get_number(cursor, 8);
    }
    if (cursor->failed || length == 0 || length > cursor->end - cursor->at) {
        return false;
    }
    cursor->end = cursor->at + length;
    return true;
}

/* Letters of an augmentation string; one with more is forged. */
enum { LETTERS_MAX = 8 };

/* Return the encoding of addresses in FDEs, which letter "R" of those behind "z" in a
 * CIE gives; the data of other letters is skipped. */
static uint8_t
read_letters(struct cursor *cursor, const char *letters)
{
    for (; *letters != '\0' && !cursor->failed; letters++) {
        switch (*letters) {
        case 'R':
            return (uint8_t)get_number(cursor, 1);
        case 'P':
            (void)get_number(cursor,
                             width_of(cursor->frames, (uint8_t)get_number(cursor, 1)));
            break;
        case 'L':
            (void)get_number(cursor, 1);
            break;
        case 'S':
        case 'B':
        case 'G':
            break;
        default:
            return ENCODING_UNKNOWN;
        }
    }
    return cursor->failed ? ENCODING_UNKNOWN : FORM_POINTER;
}

/* Return the encoding of addresses that the CIE at an offset gives for its FDEs. */
static uint8_t
read_cie(const struct frames *frames, uint64_t at)
{
    struct cursor cursor = {frames, at, frames->size, false};
    char letters[LETTERS_MAX + 1];
    size_t count = 0;
    uint64_t version;

    if (!begin_entry(&cursor) || get_number(&cursor, 4) != 0) {
        return ENCODING_UNKNOWN;
    }
    version = get_number(&cursor, 1);
    do {
        letters[count] = (char)get_number(&cursor, 1);
    } while (letters[count++] != '\0' && count <= LETTERS_MAX);
    if (cursor.failed || letters[count - 1] != '\0' || (version != 1 && version != 3)) {
        return ENCODING_UNKNOWN;
    }
    pass_number(&cursor); /* factors of code and data */
    pass_number(&cursor);
    if (version == 1) {
        (void)get_number(&cursor, 1); /* the register of the return address */
    } else {
        pass_number(&cursor);
    }
    if (letters[0] == '\0') {
        return FORM_POINTER;
    }
    pass_number(&cursor); /* the size of what the letters add */
    return letters[0] == 'z' ? read_letters(&cursor, letters + 1) : ENCODING_UNKNOWN;
}

/* Add the bounds of the function of an FDE; the cursor is after its length. Returns
 * false if memory or the budget ran out. */
static bool
take_entry(struct frames *frames, struct cursor *cursor, struct sym_table *table)
{
    const uint64_t own = cursor->at;
    const uint64_t back = get_number(cursor, 4);
    uint64_t start;
    uint64_t size;

    if (cursor->failed || back == 0 || back > own) { /* a CIE, or damaged */
        return true;
    }
    if (frames->cie != own - back) {
        frames->cie = own - back;
        frames->encoding = read_cie(frames, frames->cie);
    }
    start = get_address(cursor, frames->encoding);
    size = get_number(cursor, width_of(frames, frames->encoding));
    if (cursor->failed || size > UINT64_MAX - start ||
        !sym_elf_code_holds(&frames->code, start)) {
        return true; /* damaged, or of a function that the linker discarded */
    }
    return sym_table_add_bound(table, start, start + size);
}

/* Add the bounds of all entries to the table. Returns false if memory or the budget ran
 * out. */
static bool
take_entries(struct frames *frames, struct sym_table *table)
{
    struct cursor cursor = {frames, 0, frames->size, false};
    bool added = true;

    while (added && begin_entry(&cursor)) {
        const uint64_t next = cursor.end;

        added = take_entry(frames, &cursor, table);
        cursor = (struct cursor){frames, next, frames->size, false};
    }
    return added;
}

/* --- where the table is --- */

/* Find .eh_frame by its section. Returns false if there is none. */
static bool
find_by_section(struct frames *frames)
{
    const size_t index = sym_elf_find_section(frames->file, ".eh_frame");
    const GElf_Shdr *section;

    if (index == 0 || !sym_elf_section_in_file(frames->file, index)) {
        return false;
    }
    section = &frames->file->sections[index];
    frames->address = section->sh_addr;
    frames->offset = section->sh_offset;
    frames->size = section->sh_size;
    return (section->sh_flags & SHF_COMPRESSED) == 0;
}

/* Find .eh_frame by PT_GNU_EH_FRAME, the segment with the sorted table of all FDEs,
 * whose head says where .eh_frame is. */
static bool
find_by_segment(struct frames *frames)
{
    const struct sym_elf *const file = frames->file;
    struct cursor cursor = {frames, 0, 0, false};
    uint8_t encoding;
    size_t i = 0;

    while (i < file->segment_count && file->segments[i].p_type != PT_GNU_EH_FRAME) {
        i++;
    }
    if (i == file->segment_count ||
        !sym_elf_find_offset(file, file->segments[i].p_vaddr, &frames->offset,
                             &frames->size)) {
        return false;
    }
    frames->address = file->segments[i].p_vaddr;
    cursor.end = frames->size;
    if (get_number(&cursor, 1) != 1) {
        return false;
    }
    encoding = (uint8_t)get_number(&cursor, 1);
    (void)get_number(&cursor, 2); /* how the rest of the segment is written */
    frames->address = get_address(&cursor, encoding);
    return !cursor.failed &&
           sym_elf_find_offset(file, frames->address, &frames->offset, &frames->size);
}

int
sym_elf_add_unwind(const struct sym_elf *file, struct sym_table *table)
{
    struct frames frames = {.file = file, .cie = UINT64_MAX};
    bool added;

    if (file->segment_count == 0 ||
        (!find_by_section(&frames) && !find_by_segment(&frames))) {
        return 0;
    }
    added = sym_elf_code_read(&frames.code, file) && take_entries(&frames, table);
    sym_elf_code_finish(&frames.code);
    return added ? 1 : -ENOMEM;
}
