/* SPDX-License-Identifier: MIT */
/*
 * replies.c - fuzz target: what a process sends that was taken over, to whoever asked
 * it. The first byte says who that is, the others are sent.
 */
#include "in_process.h"

#include "profile/pprof.h"
#include "symbols/client/function.h"
#include "symbols/client/image.h"
#include "symbols/client/perf_map.h"
#include "symbols/client/symbol_list.h"
#include "symbols/client/unwind.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *reply;
static size_t reply_size;

static void
require(bool good)
{
    if (!good) {
        abort();
    }
}

/* Numbers, which is what all of it is made of. */
static void
send_reply(struct wire *wire)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= reply_size; at += sizeof(uint64_t)) {
        uint64_t number;

        memcpy(&number, reply + at, sizeof(number));
        wire_put(wire, number);
    }
    wire_send(wire, -1);
}

static bool
check_row(void *context, uint64_t address, const char *file, uint32_t line)
{
    (void)context;
    (void)address;
    (void)line;
    require(strlen(file) < SIZE_MAX);
    return true;
}

static void
check_name(const struct sym_name *name, bool found)
{
    require(found == (name->name != NULL) && name->file != NULL);
    require(!found || name->name[0] != '\0');
    require(name->frame_count <= SYM_FRAMES_MAX);
    for (size_t i = 0; i < name->frame_count; i++) {
        require(strlen(name->frames[i].file) < SIZE_MAX);
    }
    for (size_t i = 0; i < name->caller_count; i++) {
        require(strlen(name->callers[i].name) + strlen(name->callers[i].system_name) +
                    strlen(name->callers[i].file) <
                SIZE_MAX);
    }
}

/* Rows in order that cover the address, of numbers that may be. */
static void
check_rows(const struct sym_unwind_row *rows, size_t count, uint64_t address)
{
    require(count >= 1 && count <= SYM_UNWIND_ROWS_MAX);
    require(rows[0].start <= address && rows[0].end > address);
    for (size_t i = 0; i < count; i++) {
        const struct sym_unwind_rule *const rule = &rows[i].rule;

        require(rows[i].start < rows[i].end);
        require(i == 0 || rows[i].start >= rows[i - 1].end);
        require(rule->kind < SYM_UNWIND_KINDS && rule->cfa < SYM_CFA_FORMS);
        require(rule->cfa_register < SYM_REGISTERS && rule->base < SYM_REGISTERS);
        for (size_t at = 0; at < SYM_SAVED_REGISTERS; at++) {
            require(rule->places[at] < SYM_PLACES);
        }
    }
}

static void
check_unwind(struct sym_image *image)
{
    static const uint64_t addresses[] = {16, 4096, 17};
    struct sym_unwind_answer answers[3];
    const size_t answered = sym_image_unwind(image, addresses, 3, answers);

    require(answered == 3 || sym_image_is_ended(image));
    for (size_t i = 0; i < answered; i++) {
        check_rows(answers[i].rows, answers[i].count, addresses[i]);
    }
}

/* with_file: names are asked for with the file, as the command does where it knows what
 * it will look up. */
static void
ask_image(int fd, bool with_file)
{
    static const uint64_t places[] = {0, 16, 4096};
    const struct sym_wanted wanted = {places, 3, 16};
    struct sym_clock clock = {0};
    const struct sym_settings settings = {.memory_max = 1 << 20, .clock = &clock};
    struct sym_image *image;
    struct sym_name name;
    unsigned char code[64];
    uint64_t start;
    uint64_t end;

    sym_clock_start(&clock, 10);
    image =
        sym_image_open_places(fd, "/forged", "", &settings, with_file ? &wanted : NULL);
    if (image == NULL) {
        return;
    }
    if (!with_file) {
        sym_image_expect(image, true, places, 3, 16);
    }
    for (size_t i = 0; i < 3; i++) {
        check_name(&name, sym_image_lookup_place(image, places[i], 16, &name));
    }
    check_name(&name, sym_image_lookup_address(image, 1, &name));
    require(!sym_image_range(image, 7, &start, &end) || (start <= 7 && end > 7));
    require(sym_image_line_rows(image, 0, 1, check_row, NULL));
    require(sym_image_read(image, 0, code, sizeof(code)) <= sizeof(code));
    require(strlen(sym_image_note(image)) < SIZE_MAX);
    require(strspn(sym_image_build_id(image), "0123456789abcdef") ==
            strlen(sym_image_build_id(image)));
    sym_image_close(image);
}

static void
ask_unwind(int fd)
{
    struct sym_image *const image = sym_image_open(fd, "/forged", "", NULL);

    if (image != NULL) {
        check_unwind(image);
        check_unwind(image);
        sym_image_close(image);
    }
}

static void
ask_map(int fd)
{
    static const uint64_t places[] = {1, 2, 3};
    const struct sym_wanted wanted = {places, 3, 1};
    struct sym_map *const map = sym_map_read_perf(fd, 100, &wanted);
    struct sym_name name;
    const char *module;

    for (uint64_t at = 0; map != NULL && at < 8; at++) {
        check_name(&name, sym_map_lookup(map, at, &name, &module));
    }
    sym_map_close(map);
    close(fd);
}

static void
ask_list(int fd)
{
    struct sym_symbol_list list;

    (void)sym_symbol_list_read(fd, 1 << 20, &list);
    for (size_t i = 0; i < list.count; i++) {
        require(list.items[i].name[0] != '\0' && list.items[i].file != NULL);
    }
    sym_symbol_list_finish(&list);
    close(fd);
}

static void
ask_profile(void)
{
    struct pprof_error error;
    struct profile *const profile = pprof_read("/dev/null", &error);
    void *bytes;
    size_t size;

    require(profile != NULL || error.text[0] != '\0');
    if (profile != NULL && pprof_encode(profile, &bytes, &size)) {
        free(bytes);
    }
    profile_delete(profile);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("file", MFD_CLOEXEC);
    struct sym_function found;

    require(fd >= 0);
    in_process_work = send_reply;
    reply = data + 1;
    reply_size = size == 0 ? 0 : size - 1;
    switch (size == 0 ? 0 : data[0] % 7) {
    case 0:
        ask_image(fd, false);
        return 0;
    case 1:
        ask_map(fd);
        return 0;
    case 2:
        ask_list(fd);
        return 0;
    case 3:
        ask_profile();
        break;
    case 4:
        (void)sym_find_function(fd, "/forged", "main", 0, &found);
        break;
    case 5:
        ask_image(fd, true);
        return 0;
    default:
        ask_unwind(fd);
        return 0;
    }
    close(fd);
    return 0;
}
