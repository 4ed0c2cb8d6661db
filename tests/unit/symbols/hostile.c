/* SPDX-License-Identifier: MIT */
/*
 * Damaged and forged images: whatever the bytes, there are names or there are none, and
 * nothing else happens. Seeded, so that a failure comes again. The samples are the
 * arguments.
 */
#include "fixture.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static char **samples;
static int sample_count;

/* Asks everything of an image, twice of some. The number of names. */
static size_t
exercise(struct sym_reader *image, size_t size)
{
    const size_t step = size / 257 + 1;
    size_t named = 0;

    (void)sym_reader_build_id(image);
    (void)sym_reader_has_symbols(image);
    (void)sym_reader_note(image);
    for (size_t offset = 0; offset < size + 4096; offset += step) {
        struct sym_name name;

        if (fixture_lookup(image, offset, &name)) {
            assert_true(strlen(name.name) > 0 && strlen(name.system_name) > 0);
            named++;
        }
        assert_non_null(name.file);
    }
    return named;
}

static size_t
try_memory(const unsigned char *bytes, size_t size)
{
    struct sym_reader *image = sym_reader_open_memory(bytes, size, "/nowhere/forged");
    size_t named = 0;

    if (image != NULL) {
        named = exercise(image, size);
        sym_reader_close(image);
    }
    return named;
}

static size_t
try_file(const unsigned char *bytes, size_t size)
{
    const int fd = memfd_create("forged", MFD_CLOEXEC);
    struct sym_reader *image;
    size_t named = 0;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    image = sym_reader_open(fd, "/nowhere/forged", "");
    if (image != NULL) {
        named = exercise(image, size);
        sym_reader_close(image);
    }
    return named;
}

static void
image__cut_at_many_lengths__never_crashes(void **state)
{
    (void)state;
    for (int i = 0; i < sample_count; i++) {
        size_t size;
        unsigned char *bytes = fixture_read(samples[i], &size);

        assert_true(try_memory(bytes, size) > 0);
        for (size_t length = 0; length < 300; length += 3) {
            try_memory(bytes, length);
            try_file(bytes, length);
        }
        for (size_t length = 300; length < size; length += size / 150 + 1) {
            try_memory(bytes, length);
            try_file(bytes, length);
        }
        free(bytes);
    }
}

static void
image__cut_before_section_headers__still_has_addresses_and_exported_names(void **state)
{
    size_t size;
    unsigned char *bytes = fixture_read(samples[0], &size);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
    struct sym_reader *image = sym_reader_open_memory(bytes, header->e_shoff, "cut");
    const uint64_t offset = fixture_offset_of(samples[0], "sample_global");
    uint64_t address;

    (void)state;
    assert_non_null(image);
    assert_true(fixture_address(image, offset, &address));
    assert_true(sym_reader_has_symbols(image));
    fixture_assert_name(image, offset, "sample_global");
    assert_string_equal(sym_reader_build_id(image), SAMPLE_BUILD_ID);
    sym_reader_close(image);
    free(bytes);
}

/* Flips bytes in one stretch of the file, tries, and puts them back. */
static void
flip_and_try(unsigned char *bytes, size_t size, size_t from, size_t to, uint64_t *seed)
{
    unsigned char old[16];
    size_t at[16];
    const size_t count = 1 + fixture_random(seed) % 16;

    for (size_t i = 0; i < count; i++) {
        at[i] = from + fixture_random(seed) % (to - from);
        old[i] = bytes[at[i]];
        bytes[at[i]] =
            fixture_random(seed) % 4 == 0 ? 0xff : (unsigned char)fixture_random(seed);
    }
    if (fixture_random(seed) % 4 == 0) {
        try_file(bytes, size);
    } else {
        try_memory(bytes, size);
    }
    for (size_t i = count; i > 0;
         i--) { /* backwards: a place may have been hit twice */
        bytes[at[i - 1]] = old[i - 1];
    }
}

static void
image__bytes_flipped_at_random__never_crashes(void **state)
{
    uint64_t seed = 99;

    (void)state;
    for (int i = 0; i < sample_count; i++) {
        size_t size;
        unsigned char *bytes = fixture_read(samples[i], &size);
        const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
        const size_t sections = header->e_shoff;
        const size_t sections_end =
            sections + (size_t)header->e_shnum * header->e_shentsize;

        for (int round = 0; round < 150; round++) {
            flip_and_try(bytes, size, 0, size, &seed);
            flip_and_try(bytes, size, 4, 1024, &seed);
            flip_and_try(bytes, size, sections, sections_end, &seed);
            flip_and_try(bytes, size, sections - sections / 3, sections, &seed);
        }
        free(bytes);
    }
}

static const Elf64_Shdr *
find_section(const unsigned char *bytes, const char *name)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
    const Elf64_Shdr *sections =
        (const Elf64_Shdr *)(const void *)(bytes + header->e_shoff);
    const char *names = (const char *)bytes + sections[header->e_shstrndx].sh_offset;

    for (size_t i = 0; i < header->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, name) == 0) {
            return &sections[i];
        }
    }
    return NULL;
}

/* forgery - one field of a section header set to a value. */
struct forgery {
    const char *section;
    size_t field; /* offset in the header */
    size_t width;
};

static void
forge_section(unsigned char *bytes, size_t size, const struct forgery *forgery)
{
    static const uint64_t values[] = {
        0,          1,          2,          0x7fffffff,         0x80000000,
        0xffffffff, UINT64_MAX, 1ull << 62, 0x1000000000000000, UINT64_MAX - 0x1000,
    };
    const Elf64_Shdr *section = find_section(bytes, forgery->section);
    unsigned char *field;
    uint64_t old;

    if (section == NULL) {
        return;
    }
    field = bytes + ((const unsigned char *)section - bytes) + forgery->field;
    memcpy(&old, field, forgery->width);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        memcpy(field, &values[i], forgery->width);
        try_memory(bytes, size);
        try_file(bytes, size);
    }
    memcpy(field, &old, forgery->width);
}

static void
section_headers__each_field_forged__never_crashes(void **state)
{
    static const char *const names[] = {
        ".symtab",         ".strtab",
        ".dynsym",         ".dynstr",
        ".shstrtab",       ".plt",
        ".rela.plt",       ".text",
        ".debug_line",     ".debug_info",
        ".debug_str",      ".debug_abbrev",
        ".debug_aranges",  ".note.gnu.build-id",
        ".debug_line_str", ".debug_rnglists",
    };
    static const struct forgery fields[] = {
        {NULL, offsetof(Elf64_Shdr, sh_name), 4},
        {NULL, offsetof(Elf64_Shdr, sh_type), 4},
        {NULL, offsetof(Elf64_Shdr, sh_flags), 8},
        {NULL, offsetof(Elf64_Shdr, sh_addr), 8},
        {NULL, offsetof(Elf64_Shdr, sh_offset), 8},
        {NULL, offsetof(Elf64_Shdr, sh_size), 8},
        {NULL, offsetof(Elf64_Shdr, sh_link), 4},
        {NULL, offsetof(Elf64_Shdr, sh_info), 4},
        {NULL, offsetof(Elf64_Shdr, sh_addralign), 8},
        {NULL, offsetof(Elf64_Shdr, sh_entsize), 8},
    };
    size_t size;
    unsigned char *bytes = fixture_read(samples[0], &size);

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++) {
            struct forgery forgery = fields[k];

            forgery.section = names[i];
            forge_section(bytes, size, &forgery);
        }
    }
    assert_true(try_memory(bytes, size) > 0);
    free(bytes);
}

/* A file of 2^62 bytes with nothing in it costs nothing on disk, and must cost nothing
 * here. */
static void
sparse_file__claims_what_it_holds__memory_stays_bounded(void **state)
{
    static const size_t counts[] = {0, 0xfeff};
    Elf64_Ehdr header = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_shoff = 4096,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shstrndx = 1};
    Elf64_Shdr sections[4] = {
        {.sh_size = UINT64_C(1) << 40},
        {.sh_type = SHT_STRTAB, .sh_offset = 0, .sh_size = UINT64_C(1) << 44},
        {.sh_type = SHT_SYMTAB,
         .sh_offset = 0,
         .sh_size = UINT64_C(1) << 44,
         .sh_link = 3,
         .sh_entsize = sizeof(Elf64_Sym)},
        {.sh_type = SHT_STRTAB, .sh_offset = 0, .sh_size = UINT64_C(1) << 44},
    };
    struct rusage before;
    struct rusage after;

    (void)state;
    getrusage(RUSAGE_SELF, &before);
    for (size_t i = 0; i < 3; i++) {
        const int fd =
            open(fixture_path("sparse"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        struct sym_reader *image;

        assert_true(fd >= 0);
        header.e_shnum = i == 2 ? 4 : (Elf64_Half)counts[i];
        assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
        assert_int_equal(pwrite(fd, sections, sizeof(sections), 4096),
                         sizeof(sections));
        if (ftruncate(fd, (off_t)1 << 43) != 0) {
            close(fd);
            skip(); /* no sparse files here */
        }
        image = sym_reader_open(fd, fixture_path("sparse"), "");
        assert_true(image != NULL || i == 0);
        if (image != NULL) {
            assert_false(sym_reader_has_symbols(image));
            sym_reader_close(image);
        }
    }
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 300 * 1024);
}

/* Every function claims all that follows it. */
static void
symbols__sizes_without_end__innermost_still_found(void **state)
{
    size_t size;
    unsigned char *bytes = fixture_read(samples[0], &size);
    const Elf64_Shdr *section = find_section(bytes, ".symtab");
    const uint64_t offset = fixture_offset_of(samples[0], "sample_global");
    Elf64_Sym *symbols;
    size_t text = 0;
    struct sym_reader *image;
    struct sym_name name;

    (void)state;
    assert_non_null(section);
    symbols = (Elf64_Sym *)(void *)(bytes + section->sh_offset);
    for (size_t i = 0; i < section->sh_size / sizeof(*symbols); i++) {
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
            symbols[i].st_shndx != SHN_UNDEF) {
            symbols[i].st_size = UINT64_MAX;
            text++;
        }
    }
    assert_true(text > 8);
    image = sym_reader_open_memory(bytes, size, "endless");
    assert_non_null(image);
    assert_true(fixture_lookup(image, offset, &name));
    assert_string_equal(name.name, "sample_global");
    sym_reader_close(image);
    free(bytes);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(image__cut_at_many_lengths__never_crashes),
        cmocka_unit_test(
            image__cut_before_section_headers__still_has_addresses_and_exported_names),
        cmocka_unit_test(image__bytes_flipped_at_random__never_crashes),
        cmocka_unit_test(section_headers__each_field_forged__never_crashes),
        cmocka_unit_test(sparse_file__claims_what_it_holds__memory_stays_bounded),
        cmocka_unit_test(symbols__sizes_without_end__innermost_still_found),
    };

    samples = argv + 1;
    sample_count = argc - 1;
    if (sample_count < 3) {
        return 2;
    }
    return cmocka_run_group_tests(tests, fixture_make_folder, fixture_remove_folder);
}
