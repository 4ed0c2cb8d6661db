/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "base/open_regular.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[PATH_MAX / 2];

void
section_put(struct section *section, uint64_t number, size_t width)
{
    assert_true(section->size + width <= sizeof(section->bytes));
    for (size_t i = 0; i < width; i++) {
        const size_t place = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? width - 1 - i : i;

        section->bytes[section->size + place] =
            i < sizeof(number) ? (unsigned char)(number >> 8 * i) : 0;
    }
    section->size += width;
}

int
fixture_make_folder(void **state)
{
    const char *above = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/ntprof-sym-XXXXXX",
             above != NULL ? above : "/tmp");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

int
fixture_remove_folder(void **state)
{
    (void)state;
    return fixture_run("rm -rf '%s'", folder);
}

const char *
fixture_path(const char *format, ...)
{
    static char paths[8][PATH_MAX];
    static unsigned int next;
    char *path = paths[next++ % 8];
    const int length = snprintf(path, PATH_MAX, "%s/", folder);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(path + length, PATH_MAX - (size_t)length, format, arguments);
    va_end(arguments);
    return path;
}

void
fixture_make_path(const char *name)
{
    assert_int_equal(fixture_run("mkdir -p '%s'", fixture_path("%s", name)), 0);
}

int
fixture_run(const char *format, ...)
{
    char command[4 * PATH_MAX];
    va_list arguments;
    int status;

    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool
fixture_has(const char *command)
{
    return fixture_run("command -v %s >/dev/null", command) == 0;
}

bool
fixture_can_build(const char *build, const char *needs)
{
    if (!fixture_has(needs)) {
        print_message("%s: there is no %s\n", build, needs);
        return false;
    }
    print_message("%s\n", build);
    return true;
}

void
fixture_build(const char *format, ...)
{
    char command[3 * PATH_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    if (fixture_run("cd '%s' && { %s; } >log 2>&1", folder, command) != 0) {
        (void)fixture_run("cat '%s/log' >&2", folder);
        fail_msg("cannot build: %s", command);
    }
}

void
fixture_find_symbol(const char *file, const char *name, uint64_t *start, uint64_t *end)
{
    char command[2 * PATH_MAX];
    char line[256];
    FILE *output;
    unsigned long long at = 0;
    unsigned long long size = 0;

    snprintf(command, sizeof(command), "nm -S '%s/%s' | grep ' %s$'", folder, file,
             name);
    output = popen(command, "re");
    assert_non_null(output);
    if (fgets(line, sizeof(line), output) == NULL) {
        fail_msg("%s has no %s", file, name);
    }
    assert_int_equal(sscanf(line, "%llx %llx", &at, &size), 2);
    assert_int_equal(pclose(output), 0);
    assert_true(size > 0);
    *start = at;
    *end = at + size;
}

size_t
fixture_sample_places(const char *program,
                      struct sample_place places[SAMPLE_PLACES_MAX])
{
    FILE *output = popen(program, "re");
    char line[256];
    size_t count = 0;

    assert_non_null(output);
    while (count < SAMPLE_PLACES_MAX && fgets(line, sizeof(line), output) != NULL) {
        struct sample_place *place = &places[count];
        char *last = strrchr(line, ' ');
        char *middle;

        assert_non_null(last);
        *last = '\0';
        middle = strrchr(line, ' ');
        assert_non_null(middle);
        *middle = '\0';
        snprintf(place->name, sizeof(place->name), "%.63s", line);
        place->offset = strtoull(middle + 1, NULL, 10);
        place->line = (uint32_t)strtoul(last + 1, NULL, 10);
        count += strcmp(line, "end") != 0;
    }
    assert_int_equal(pclose(output), 0);
    assert_true(count >= 8);
    return count;
}

uint64_t
fixture_offset_of(const char *program, const char *function)
{
    struct sample_place places[SAMPLE_PLACES_MAX];
    const size_t count = fixture_sample_places(program, places);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(places[i].name, function) == 0) {
            return places[i].offset;
        }
    }
    fail_msg("%s has no %s", program, function);
    return 0;
}

static struct stat opened; /* the image */

/* As the command does it: the image itself is no debug file. */
static int
open_file(void *context, const char *root, const char *path)
{
    const int fd = sym_open_regular(root, path);
    struct stat status;

    (void)context;
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_ino != opened.st_ino) {
        return fd;
    }
    close(fd);
    return -1;
}

struct sym_reader *
fixture_open(const char *path, const char *root)
{
    const struct sym_reader_settings settings = {.files = {.open = open_file}};
    char full[PATH_MAX];
    struct sym_reader *image;
    int fd;

    snprintf(full, sizeof(full), "%s%s", root, path);
    fd = open(full, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &opened), 0);
    image = sym_reader_open(fd, path, root);
    assert_non_null(image);
    sym_reader_configure(image, &settings);
    return image;
}

bool
fixture_address(const struct sym_reader *image, uint64_t file_offset, uint64_t *address)
{
    return sym_reader_bucket(image, file_offset, 1, address);
}

bool
fixture_range(struct sym_reader *image, uint64_t address, uint64_t *start,
              uint64_t *end)
{
    struct sym_name found;

    (void)sym_reader_lookup_address(image, address, &found);
    *start = found.code_start;
    *end = found.code_end;
    return found.code_end > 0;
}

bool
fixture_lookup(struct sym_reader *image, uint64_t file_offset, struct sym_name *name)
{
    uint64_t address;

    *name = (struct sym_name){.file = ""};
    if (!fixture_address(image, file_offset, &address)) {
        return false;
    }
    return sym_reader_lookup_address(image, address, name);
}

void
fixture_assert_name(struct sym_reader *image, uint64_t offset, const char *name)
{
    struct sym_name found;
    const bool named = fixture_lookup(image, offset, &found);

    if (name == NULL) {
        assert_false(named);
        assert_null(found.name);
    } else {
        assert_true(named);
        assert_string_equal(found.name, name);
    }
}

unsigned char *
fixture_read(const char *path, size_t *size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    unsigned char *bytes;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    *size = (size_t)status.st_size;
    bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, *size), *size);
    close(fd);
    return bytes;
}

void
fixture_write(const char *path, const void *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

uint64_t
fixture_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}
