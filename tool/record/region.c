/* SPDX-License-Identifier: MIT */
/* region.c - parses the text, and looks the symbol or range up in the image's file. */
#include "record/region.h"

#include "base/number.h"
#include "base/text.h"
#include "symbols/client/function.h"
#include "symbols/client/image.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How the user names an image, for messages. */
#define FORM "IMAGE:SYMBOL"

/* request - the text of --region in its parts, and where to explain a refusal. */
struct request {
    char *image;      /* NULL: the program */
    char *symbol;     /* NULL: a range */
    uint64_t bytes;   /* 0: those of the symbol */
    uint64_t address; /* start of the range */
    char shown[200];  /* path of the image's file, for messages */
    char *why;
    size_t why_size;
};

/* Explain a refusal. Returns false, so that callers can return its value. */
__attribute__((format(printf, 2, 3))) static bool
refuse_region(const struct request *request, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(request->why, request->why_size, format, arguments);
    va_end(arguments);
    return false;
}

/* --- the text --- */

/* Return the colon after IMAGE, or NULL. Names of C++ contain colons only in pairs. */
static const char *
find_colon(const char *text)
{
    const char *colon = strchr(text, ':');

    while (colon != NULL && colon[1] == ':') {
        colon = strchr(colon + 2, ':');
    }
    return colon;
}

/* Parse a hexadecimal number and advance *text past it. Returns false if it is none. */
static bool
take_address(const char **text, uint64_t *address)
{
    const char *digits = *text;
    char *end;

    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        digits += 2;
    }
    if (strspn(digits, "0123456789abcdefABCDEF") == 0) {
        return false;
    }
    errno = 0;
    *address = strtoull(digits, &end, 16);
    *text = end;
    return errno == 0;
}

/* Parse START-END. Returns false if text is something else. request->bytes is 0 if END
 * is not above START. */
static bool
take_range(struct request *request, const char *text)
{
    uint64_t end;

    if (!take_address(&text, &request->address) || *text++ != '-' ||
        !take_address(&text, &end) || *text != '\0') {
        return false;
    }
    request->bytes = end > request->address ? end - request->address : 0;
    return true;
}

/* Parse SYMBOL[+SIZE]. A plus that no number follows is part of a C++ operator. Returns
 * false after a refusal. */
static bool
take_symbol(struct request *request, const char *text)
{
    const char *const plus = strrchr(text, '+');
    size_t length = strlen(text);

    if (plus != NULL && plus[1] >= '0' && plus[1] <= '9') {
        if (!number_parse_bytes(plus + 1, &request->bytes) || request->bytes == 0) {
            return refuse_region(request,
                                 "SIZE is no number of bytes; such as +64 or +0x40");
        }
        length = (size_t)(plus - text);
    }
    if (length == 0) {
        return refuse_region(request,
                             "is neither [IMAGE:]SYMBOL[+SIZE] nor IMAGE:START-END");
    }
    request->symbol = strndup(text, length);
    return request->symbol != NULL || refuse_region(request, "out of memory");
}

/* Parse the text of --region. Returns false after a refusal. */
static bool
parse(struct request *request, const char *text)
{
    const char *const colon = find_colon(text);

    if (colon == NULL) {
        return take_symbol(request, text);
    }
    request->image = strndup(text, (size_t)(colon - text));
    if (request->image == NULL) {
        return refuse_region(request, "out of memory");
    }
    if (!take_range(request, colon + 1)) {
        return take_symbol(request, colon + 1);
    }
    return request->bytes > 0 || refuse_region(request, "END is not above START");
}

/* --- the image --- */

/* Whether all paths lead to one file, as those of a library and a link to it do. */
static bool
is_one_file(const glob_t *paths)
{
    struct stat first;
    struct stat status;

    for (size_t i = 0; i < paths->gl_pathc; i++) {
        if (stat(paths->gl_pathv[i], i == 0 ? &first : &status) != 0 ||
            (i > 0 &&
             (status.st_dev != first.st_dev || status.st_ino != first.st_ino))) {
            return false;
        }
    }
    return paths->gl_pathc > 0;
}

/* Find the one file that IMAGE matches as a glob. Returns false after a refusal. */
static bool
find_glob(const struct request *request, char *path, size_t path_size)
{
    glob_t paths = {.gl_pathc = 0};
    const int result = glob(request->image, 0, NULL, &paths);
    char first[100];
    char last[100];
    bool found = false;

    if (result == 0 && is_one_file(&paths)) {
        found = snprintf(path, path_size, "%s", paths.gl_pathv[0]) < (int)path_size ||
                refuse_region(request, "the path of the image is too long");
    } else if (result == 0) {
        refuse_region(
            request, "IMAGE matches %zu files, %s to %s; name one", paths.gl_pathc,
            text_show(first, sizeof(first), paths.gl_pathv[0]),
            text_show(last, sizeof(last), paths.gl_pathv[paths.gl_pathc - 1]));
    } else {
        refuse_region(request,
                      "no file matches IMAGE, which is a path or a glob of paths, "
                      "such as '/usr/lib/*/libc.so.6'");
    }
    globfree(&paths);
    return found;
}

/* Find the path of the image, or of the program without IMAGE. A path that exists is
 * used as it is, even if it contains *, ? or [: only otherwise is it a glob. Returns
 * false after a refusal. */
static bool
find_path(const struct request *request, const struct program_choice *choice,
          char *path, size_t path_size)
{
    if (request->image == NULL) {
        return program_file_find(choice, FORM, path, path_size, request->why,
                                 request->why_size);
    }
    if (access(request->image, F_OK) != 0) {
        return find_glob(request, path, path_size);
    }
    return snprintf(path, path_size, "%s", request->image) < (int)path_size ||
           refuse_region(request, "the path of the image is too long");
}

/* Replace region->path by the path without links, such as that of /proc/PID/exe, unless
 * it cannot be resolved. */
static void
resolve_path(struct region *region)
{
    char *const real = realpath(region->path, NULL);

    if (real != NULL) {
        snprintf(region->path, sizeof(region->path), "%s", real);
    }
    free(real);
}

/* --- the code in it --- */

/* Explain why the image cannot be searched; error is a negative errno. Returns
 * false. */
static bool
refuse_image(const struct request *request, int error)
{
    switch (error) {
    case -ENOEXEC:
        return refuse_region(request,
                             "%s is no ELF program (a script?); name the image: %s",
                             request->shown, FORM);
    case -ETIME:
        return refuse_region(
            request,
            "it is not found in %d s of processor time in the symbols of %s; "
            "use IMAGE:START-END",
            SYM_FUNCTION_SECONDS, request->shown);
    case -EFBIG:
        return refuse_region(
            request,
            "the symbols of %s take more than --max-memory allows, 1 GiB "
            "without it",
            request->shown);
    default:
        return refuse_region(request, "%s cannot be read: %s", request->shown,
                             sym_image_error(-error));
    }
}

/* Check that exactly one piece of code was found, and its size is known. Returns
 * false after a refusal. */
static bool
check_found(const struct request *request, const struct sym_function *found)
{
    if (found->count == 0 && request->symbol == NULL) {
        return refuse_region(request, "%s has no code at 0x%" PRIx64, request->shown,
                             request->address);
    }
    if (found->count == 0) {
        return refuse_region(
            request,
            "no function of this name is in %s: neither in its symbol tables "
            "nor in those of its debug file; one of a library: %s",
            request->shown, FORM);
    }
    if (found->count > 1) {
        return refuse_region(request,
                             "%s has %zu functions of this name; use IMAGE:START-END",
                             request->shown, found->count);
    }
    if (request->bytes == 0 && found->bytes == 0) {
        return refuse_region(request, "its symbol in %s has no size; use SYMBOL+SIZE",
                             request->shown);
    }
    return true;
}

/* Find the symbol or the start of the range in an open image. Returns
 * false after a refusal. */
static bool
find_code(const struct request *request, int image, const char *path,
          uint64_t memory_max, struct sym_function *found)
{
    char address[24];
    int result;

    snprintf(address, sizeof(address), "0x%" PRIx64, request->address);
    result = sym_find_function(image, path,
                               request->symbol != NULL ? request->symbol : address,
                               memory_max, found);

    return result == 0 ? check_found(request, found) : refuse_image(request, result);
}

/* Set the region, if a profile object can count exactly its code. Returns
 * false after a refusal. */
static bool
set_code(struct region *region, const struct request *request, int image,
         const struct sym_function *found, uint32_t bucket_bytes)
{
    const uint64_t bytes = request->bytes != 0 ? request->bytes : found->bytes;
    struct stat status;
    uint64_t end;

    /* Figures come from the process that read the image, so sums may overflow. */
    if (bytes > found->segment_bytes ||
        __builtin_add_overflow(found->offset, bytes, &end) ||
        __builtin_add_overflow(found->address, bytes, &end)) {
        return refuse_region(request,
                             "only %" PRIu64 " bytes of code follow 0x%" PRIx64,
                             found->segment_bytes, found->address);
    }
    if (found->offset % bucket_bytes != 0) {
        return refuse_region(request,
                             "it starts at 0x%" PRIx64
                             " of the file, no multiple of --bucket "
                             "%" PRIu32 "; use a smaller one",
                             found->offset, bucket_bytes);
    }
    if (fstat(image, &status) != 0) {
        return refuse_region(request, "fstat: %s", strerror(errno));
    }
    region->address = found->address;
    region->code = (struct collector_region){
        .device = status.st_dev,
        .inode = status.st_ino,
        .offset = found->offset,
        .bytes = bytes,
    };
    return true;
}

/* Find the file and the addresses of a requested region, and set region. Returns false
 * with the reason in request->why. */
static bool
resolve(struct region *region, struct request *request,
        const struct program_choice *choice, uint32_t bucket_bytes, uint64_t memory_max)
{
    struct sym_function found;
    bool done;
    int image;

    if (!find_path(request, choice, region->path, sizeof(region->path))) {
        return false;
    }
    image = program_file_open(region->path, request->why, request->why_size);
    if (image < 0) {
        return false;
    }
    resolve_path(region);
    text_show(request->shown, sizeof(request->shown), region->path);
    done = find_code(request, image, region->path, memory_max, &found) &&
           set_code(region, request, image, &found, bucket_bytes);
    close(image);
    return done;
}

bool
region_resolve(struct region *region, const char *text,
               const struct program_choice *choice, uint32_t bucket_bytes,
               uint64_t memory_max, char *why, size_t why_size)
{
    struct request request = {.why = why, .why_size = why_size};
    const bool done = parse(&request, text) &&
                      resolve(region, &request, choice, bucket_bytes, memory_max);

    region->symbol = request.symbol;
    free(request.image);
    return done;
}

void
region_finish(struct region *region)
{
    free(region->symbol);
    *region = (struct region){.symbol = NULL};
}
